//! Compares which values are missing before and after a copy.

use std::sync::Arc;

use crate::common::{copy_of, document, holding, memory, options, value};
use zarr_core::store::Store;
use zarr_core::{Dialect, Json};
use zarr_nczarr::{Attribute, Dataset, NewDataset, Type, Values};

const V3_GROUP: &str = r#"{"zarr_format":3,"node_type":"group"}"#;

/// An array of v2 over `x`.
fn v2(dtype: &str, fill: &str, len: u64, chunk: u64) -> String {
    format!(
        r#"{{"zarr_format":2,"shape":[{len}],"dtype":"{dtype}","chunks":[{chunk}],"fill_value":{fill},"order":"C","compressor":null,"filters":null}}"#
    )
}

/// An array of v3 over `x`.
fn v3(data_type: &str, fill: &str, attributes: &str, len: u64, chunk: u64) -> String {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{len}],"data_type":"{data_type}","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{chunk}]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":{fill},"codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}],"dimension_names":["x"],"attributes":{attributes}}}"#
    )
}

/// A v2 group of one variable `a(x)`, of which chunk 0 holds `bytes`.
fn of_v2(array: &str, attributes: &str, bytes: &[u8]) -> Dataset {
    let store = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        ("a/.zarray", array),
        ("a/.zattrs", attributes),
    ]);
    put(&store, "a/0", bytes);
    Dataset::open(store, &options()).unwrap()
}

fn of_v3(array: &str, bytes: &[u8]) -> Dataset {
    let store = holding(&[("zarr.json", V3_GROUP), ("a/zarr.json", array)]);
    put(&store, "a/c/0", bytes);
    Dataset::open(store, &options()).unwrap()
}

fn put(store: &Arc<dyn Store>, key: &str, bytes: &[u8]) {
    if !bytes.is_empty() {
        let key = zarr_core::store::StoreKey::new(key).unwrap();
        store.to_sync().set(&key, bytes.to_vec().into()).unwrap();
    }
}

fn copied(from: &Dataset, new: &NewDataset) -> (Arc<dyn Store>, Dataset, Vec<String>) {
    let (store, lost) = copy_of(from, new);
    let copy = Dataset::open(store.clone(), &options()).unwrap();
    assert_eq!(
        copy.variable("a").unwrap().read().unwrap(),
        match from.variable("a").unwrap().read().unwrap() {
            Values::Bool(list) if *new == NewDataset::nczarr_v2() =>
                list.into_iter().map(u8::from).collect::<Vec<u8>>().into(),
            other => other,
        }
    );
    (store, copy, lost)
}

fn kinds(dialect: Dialect) -> [NewDataset; 2] {
    match dialect {
        Dialect::V3 => [NewDataset::nczarr_v3(), NewDataset::pure(Dialect::V3)],
        _ => [NewDataset::nczarr_v2(), NewDataset::pure(Dialect::V2)],
    }
}

fn member(store: &Arc<dyn Store>, key: &str, member: &str) -> Json {
    document(store, key).as_object().unwrap().get(member).unwrap().clone()
}

/// The attribute `_FillValue` as the document of `a` has it.
fn attribute(store: &Arc<dyn Store>, dialect: Dialect) -> Option<String> {
    let attributes = match dialect {
        Dialect::V3 => member(store, "a/zarr.json", "attributes"),
        _ => document(store, "a/.zattrs"),
    };
    attributes.as_object().unwrap().get("_FillValue").map(Json::to_string)
}

const X: &str = r#"{"_ARRAY_DIMENSIONS":["x"]}"#;

/// The fill value of v2 masks in v3 as the attribute, as xarray writes it; null masks nothing there.
#[test]
fn a_copy_of_v2_in_v3_masks_what_v2_masks() {
    for (dtype, fill, spelled, held) in [
        ("<i2", "0", Some("0"), "0"),
        ("<i2", "-99", Some("-99"), "-99"),
        ("<i2", "-32767", Some("-32767"), "-32767"),
        ("<i2", "null", None, "0"),
        ("<f4", "\"NaN\"", Some("\"AAAAAAAA+H8=\""), "\"NaN\""),
        ("<f8", "-999.9", Some("\"MzMzMzM/j8A=\""), "-999.9"),
        ("<f8", "null", None, "0.0"),
    ] {
        let bytes = if dtype == "<f8" { vec![1; 16] } else { vec![0, 1, 0, 1, 0, 0, 0, 0] };
        let from =
            of_v2(&v2(dtype, fill, 2, 2), X, &bytes[..2 * (dtype[2..].parse::<usize>().unwrap())]);
        for new in kinds(Dialect::V3) {
            let (store, copy, lost) = copied(&from, &new);
            assert_eq!(attribute(&store, Dialect::V3).as_deref(), spelled, "{dtype} {fill}");
            assert_eq!(member(&store, "a/zarr.json", "fill_value").to_string(), held, "{fill}");
            assert_eq!(lost, [""; 0], "{dtype} {fill}");
            // And back again.
            for new in kinds(Dialect::V2) {
                let (store, ..) = copied(&copy, &new);
                assert_eq!(member(&store, "a/.zarray", "fill_value").to_string(), fill, "{dtype}");
            }
        }
    }
}

/// Zeros, written or not, are zeros in v3, and stay zeros.
#[test]
fn a_copy_of_v3_masks_nothing_that_v3_does_not() {
    let from = of_v3(&v3("int16", "0", "{}", 4, 2), &[0, 0, 5, 0]);
    for new in kinds(Dialect::V2) {
        let (store, copy, lost) = copied(&from, &new);
        assert_eq!(member(&store, "a/.zarray", "fill_value"), Json::Null);
        assert_eq!(attribute(&store, Dialect::V2), None);
        assert!(copy.variable("a").unwrap().schema().unwrap().storage.no_fill);
        assert_eq!(lost, [""; 0]);
        // What was not stored reads as zero there, too.
        assert_eq!(value(&store, "a/1"), None);
    }
    for new in kinds(Dialect::V3) {
        let (store, ..) = copied(&from, &new);
        assert_eq!(member(&store, "a/zarr.json", "fill_value").to_string(), "0");
        assert_eq!(attribute(&store, Dialect::V3), None);
    }
}

/// Chunks that were not stored are written where their elements would change: up to a quarter.
#[test]
fn chunks_that_were_not_stored_keep_their_elements() {
    for (attributes, fill, masked) in [
        ("{}", "7", "null"),
        (r#"{"_FillValue":-9}"#, "7", "-9"),
        (r#"{"_FillValue":-9}"#, "0", "-9"),
    ] {
        // One of four.
        let from = of_v3(&v3("int16", fill, attributes, 8, 2), &[1; 4]);
        for chunk in ["a/c/1", "a/c/2"] {
            put(from.hierarchy().store(), chunk, &[2; 4]);
        }
        for new in kinds(Dialect::V2) {
            let (store, _, lost) = copied(&from, &new);
            assert_eq!(member(&store, "a/.zarray", "fill_value").to_string(), masked);
            assert!(value(&store, "a/3").is_some());
            assert_eq!(lost, [""; 0]);
        }
        // Three of four.
        let from = of_v3(&v3("int16", fill, attributes, 8, 2), &[1; 4]);
        for new in kinds(Dialect::V2) {
            let (store, copy, lost) = copied(&from, &new);
            assert_eq!(value(&store, "a/3"), None);
            let held = member(&store, "a/.zarray", "fill_value").to_string();
            if fill == "0" {
                // Undefined elements read as zeros; xarray takes the attribute then.
                assert_eq!((held.as_str(), lost.len()), ("null", 0));
                let schema = copy.variable("a").unwrap().schema().unwrap();
                assert_eq!(schema.attribute("_FillValue"), Some(&vec![-9i16].into()));
            } else {
                assert_eq!(held, fill);
                assert!(lost[0].contains("of 4 chunks are not stored"), "{lost:?}");
            }
        }
        // Final v3 has a word for each.
        for new in kinds(Dialect::V3) {
            let (store, _, lost) = copied(&from, &new);
            assert_eq!(member(&store, "a/zarr.json", "fill_value").to_string(), fill);
            assert_eq!(value(&store, "a/c/3"), None);
            assert_eq!(lost, [""; 0]);
        }
    }
}

/// Bools never get a missing value; for netcdf-c they become what xarray reads as bools.
#[test]
fn no_bool_goes_missing() {
    let of = |fill: &str| {
        let v2 = of_v2(&v2("|b1", fill, 2, 2), X, &[0, 1]);
        let v3 =
            of_v3(&v3("bool", if fill == "null" { "false" } else { fill }, "{}", 2, 2), &[0, 1]);
        [v2, v3]
    };
    for (fill, truth) in [("false", "false"), ("true", "true"), ("null", "false")] {
        for from in of(fill) {
            for new in kinds(Dialect::V3).into_iter().chain(kinds(Dialect::V2)) {
                let (store, copy, lost) = copied(&from, &new);
                let due = match new.dialect {
                    Dialect::V3 => {
                        *truth == *member(&store, "a/zarr.json", "fill_value").to_string()
                    }
                    _ => member(&store, "a/.zarray", "fill_value") == Json::Null,
                };
                assert!(due, "{fill}");
                assert_eq!(attribute(&store, new.dialect), None);
                let schema = copy.variable("a").unwrap().schema().unwrap();
                if new == NewDataset::nczarr_v2() {
                    assert_eq!(schema.ty, Type::Ubyte);
                    assert_eq!(schema.attribute("dtype"), Some(&"bool".into()));
                    assert_eq!(lost, ["/a: bools become ubytes, 0 and 1"]);
                } else {
                    assert_eq!((schema.ty, lost.len()), (Type::Bool, 0));
                }
            }
        }
    }
}

/// Arrays without the names of dimensions keep their fill value, and say no more.
#[test]
fn an_array_without_names_keeps_its_fill_value_alone() {
    let from = of_v2(&v2("<i2", "5", 2, 2), "{}", &[5, 0, 1, 0]);
    for new in kinds(Dialect::V3) {
        let (store, ..) = copied(&from, &new);
        assert_eq!(member(&store, "a/zarr.json", "fill_value").to_string(), "5");
        assert_eq!(attribute(&store, Dialect::V3), None);
    }
}

/// N-054: CDL of v3 takes the missing value only from the attribute; of v2 from the fill value.
#[cfg(feature = "cdl")]
#[test]
fn a_dump_of_v3_prints_zeros_as_zeros() {
    use std::error::Error;

    use zarr_nczarr::cdl::Printing;

    let dump = |dataset: &Dataset| {
        let mut out = Vec::new();
        dataset.print_cdl::<Box<dyn Error>>("d", &Printing::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let bytes = [0, 0, 9, 0];
    let text = dump(&of_v3(&v3("int16", "0", "{}", 3, 2), &bytes));
    assert!(!text.contains("_FillValue") && text.contains(" a = 0, 9, 0 ;"), "{text}");
    let text = dump(&of_v3(&v3("int16", "0", r#"{"_FillValue":9}"#, 3, 2), &bytes));
    assert!(text.contains("a:_FillValue = 9s ;") && text.contains(" a = 0, _, 0 ;"), "{text}");
    let text = dump(&of_v2(&v2("<i2", "0", 3, 2), X, &bytes));
    assert!(text.contains("a:_FillValue = 0s ;") && text.contains(" a = _, 9, _ ;"), "{text}");
    // The fill value wins, as xarray has it.
    let says = r#"{"_ARRAY_DIMENSIONS":["x"],"_FillValue":9}"#;
    let text = dump(&of_v2(&v2("<i2", "0", 3, 2), says, &bytes));
    assert!(text.contains("a:_FillValue = 0s ;"), "{text}");
    let text = dump(&of_v2(&v2("<i2", "null", 3, 2), says, &bytes));
    assert!(text.contains("a:_FillValue = 9s ;") && text.contains(" a = 0, _, 0 ;"), "{text}");
}

/// N-054: a variable that is defined with its own value for elements that were not written has it in v3.
#[test]
fn what_nobody_wrote_may_differ_from_what_is_missing() {
    let store = memory();
    let dataset = Dataset::create(store.clone(), &NewDataset::nczarr_v3(), &options()).unwrap();
    dataset.root().define_dimension(zarr_nczarr::Dimension::new("x", 2)).unwrap();
    let mut variable = zarr_nczarr::schema::Variable::new("a", Type::Float, ["x"]);
    variable.attributes = vec![Attribute::new("_FillValue", vec![-9f32])];
    variable.storage.unwritten = Some(vec![f32::NAN].into());
    let made = dataset.root().define_variable(&variable).unwrap();
    let Values::Float(read) = made.read().unwrap() else { panic!() };
    assert!(read.iter().all(|n| n.is_nan()));
    assert_eq!(attribute(&store, Dialect::V3).as_deref(), Some("\"AAAAAAAAIsA=\""));
    made.set_attribute("_FillValue", vec![-8f32]).unwrap();
    assert_eq!(made.read().unwrap(), vec![-8f32; 2].into());
}

/// N-023: netcdf-c opens no dataset with a filter on a scalar, so that a copy for it has none.
#[test]
fn a_scalar_for_netcdf_c_has_no_filter() {
    let packed = |key: &str| {
        let array = r#"{"zarr_format":2,"shape":[],"dtype":"<i4","chunks":[],"fill_value":null,"order":"C","compressor":COMPRESSOR,"filters":null}"#;
        array.replace("COMPRESSOR", key)
    };
    let store = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        ("a/.zarray", &packed(r#"{"id":"zlib","level":1}"#)),
    ]);
    // Of Python's zlib.
    put(&store, "a/0", b"\x78\x01\xd3\x62\x60\x60\x00\x00\x00\xac\x00\x2b");
    let from = Dataset::open(store, &options()).unwrap();
    let (store, copy, _) = copied(&from, &NewDataset::nczarr_v2());
    assert_eq!(member(&store, "a/.zarray", "compressor"), Json::Null);
    assert_eq!(copy.variable("a").unwrap().schema().unwrap().storage.filters, []);
    let (store, ..) = copied(&from, &NewDataset::nczarr_v3());
    assert!(document(&store, "a/zarr.json").to_string().contains("zlib"));
}

/// The default fill value, which netCDF masks without an attribute, gets an attribute for xarray in v3, and none for netCDF.
#[test]
fn a_default_fill_value_is_told_to_xarray_alone() {
    let store = memory();
    let dataset = Dataset::create(store, &NewDataset::nczarr_v2(), &options()).unwrap();
    dataset.root().define_dimension(zarr_nczarr::Dimension::new("x", 2)).unwrap();
    let a = zarr_nczarr::schema::Variable::new("a", Type::Double, ["x"]);
    dataset.root().define_variable(&a).unwrap();
    let (store, copy, lost) = copied(&dataset, &NewDataset::nczarr_v3());
    assert_eq!(
        (attribute(&store, Dialect::V3).as_deref(), lost.len()),
        (Some("\"AAAAAAAAnkc=\""), 0)
    );
    let notes = member(&store, "a/zarr.json", "attributes")
        .as_object()
        .unwrap()
        .get("_nczarr_attrs")
        .unwrap()
        .to_string();
    assert!(!notes.contains("_FillValue"), "{notes}");
    assert_eq!(copy.variable("a").unwrap().schema().unwrap().attributes, []);
    let (store, ..) = copied(&copy, &NewDataset::pure(Dialect::V3));
    assert_eq!(attribute(&store, Dialect::V3).as_deref(), Some("\"AAAAAAAAnkc=\""));
    let (store, ..) = copied(&copy, &NewDataset::nczarr_v2());
    assert_eq!(attribute(&store, Dialect::V2), None);
}

/// Complex numbers, in the words that xarray 2026.9 writes and reads in v3. In v2 it masks the fill value.
#[test]
fn complex_numbers_keep_their_missing_value() {
    let array = |fill: &str| {
        format!(
            r#"{{"zarr_format":2,"shape":[2],"dtype":"<c16","chunks":[2],"fill_value":{fill},"order":"C","compressor":null,"filters":null}}"#
        )
    };
    let names = r#"{"_ARRAY_DIMENSIONS":["x"]}"#;
    let store = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        ("v/.zarray", &array("[-1.0,2.0]")),
        ("v/.zattrs", names),
        ("zero/.zarray", &array("[0.0,0.0]")),
        ("zero/.zattrs", names),
        ("none/.zarray", &array("null")),
        ("none/.zattrs", names),
    ]);
    let original = Dataset::open(store, &options()).unwrap();
    let copied = |from: &Dataset, new: &NewDataset| {
        let (store, lost) = copy_of(from, new);
        assert_eq!(lost, [""; 0], "{new:?}");
        (Dataset::open(store.clone(), &options()).unwrap(), store)
    };
    let spelled = [
        ("v", Some(r#"["AAAAAAAA8L8=","AAAAAAAAAEA="]"#)),
        ("zero", Some(r#"["AAAAAAAAAAA=","AAAAAAAAAAA="]"#)),
        ("none", None),
    ];
    for new in [NewDataset::pure(Dialect::V3), NewDataset::nczarr_v3()] {
        let (copy, store) = copied(&original, &new);
        for (name, due) in spelled {
            let json = document(&store, &format!("{name}/zarr.json"));
            let attributes = json.as_object().unwrap().get("attributes").unwrap();
            let found = attributes.as_object().unwrap().get("_FillValue").map(Json::to_string);
            assert_eq!(found.as_deref(), due, "{new:?}: {name}");
        }
        let (_, store) = copied(&copy, &NewDataset::pure(Dialect::V2));
        for (name, due) in [("v", "[-1.0,2.0]"), ("zero", "[0.0,0.0]"), ("none", "null")] {
            let json = document(&store, &format!("{name}/.zarray"));
            let found = json.as_object().unwrap().get("fill_value").unwrap().to_string();
            assert_eq!(found, due, "{new:?}: {name}");
        }
    }
}

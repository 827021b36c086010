//! A dump that is made a dataset again is the same dump.
#![cfg(feature = "cdl")]

use std::error::Error;
use std::sync::Arc;

use crate::common::{copy_of, holding, memory, options};
use zarr_core::Dialect;
use zarr_core::store::{Store, StoreKey};
use zarr_nczarr::cdl::{Document, Precision, Printing};
use zarr_nczarr::{Dataset, Filter, NewDataset, Values};

fn dump(dataset: &Dataset) -> String {
    let precision = Precision { float: 9, double: 17 };
    let printing = Printing { precision, ..Printing::default() };
    let mut out = Vec::new();
    dataset.print_cdl::<Box<dyn Error>>("d", &printing, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn made(text: &str, new: &NewDataset) -> Dataset {
    let store = memory();
    let dataset = Dataset::create(store.clone(), new, &options()).unwrap();
    let document = Document::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    document.write_to(&dataset).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Dataset::open(store, &options()).unwrap()
}

fn put(store: &Arc<dyn Store>, key: &str, bytes: &[u8]) {
    let key = StoreKey::new(key).unwrap();
    store.to_sync().set(&key, bytes.to_vec().into()).unwrap();
}

/// N-006: bools and complex numbers go through CDL with the types that it declares for them.
#[test]
fn own_types_are_read_again() {
    let array = |dtype: &str, fill: &str, bytes: &str| {
        format!(
            r#"{{"zarr_format":2,"shape":[2,2],"dtype":"{dtype}","chunks":[2,2],"fill_value":{fill},"order":"C","compressor":null,"filters":null{bytes}}}"#
        )
    };
    let store = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        ("bools/.zarray", &array("|b1", "false", "")),
        ("single/.zarray", &array("<c8", "null", "")),
        ("double/.zarray", &array("<c16", "[0.0,0.0]", "")),
        (
            "scalar/.zarray",
            r#"{"zarr_format":2,"shape":[],"dtype":"|b1","chunks":[],"fill_value":true,"order":"C","compressor":null,"filters":null}"#,
        ),
    ]);
    put(&store, "bools/0.0", &[1, 0, 0, 1]);
    let singles = [1.5f32, -0.0, f32::NAN, f32::NEG_INFINITY, 0.1, 1e-40, 3.0, 4.0];
    put(&store, "single/0.0", &singles.map(f32::to_le_bytes).concat());
    let doubles = [1.5f64, -0.0, f64::NAN, f64::INFINITY, 0.1, 1e-310, 3.0, 4.0];
    put(&store, "double/0.0", &doubles.map(f64::to_le_bytes).concat());
    let original = Dataset::open(store, &options()).unwrap();
    let text = dump(&original);
    assert!(text.contains("ubyte enum _bool_t") && text.contains("{1.5, -0}"), "{text}");
    let kinds =
        [NewDataset::nczarr_v3(), NewDataset::pure(Dialect::V3), NewDataset::pure(Dialect::V2)];
    for new in kinds {
        let again = made(&text, &new);
        assert_eq!(dump(&again), text);
        for name in ["bools", "single", "double", "scalar"] {
            let read = |dataset: &Dataset| {
                format!("{:?}", dataset.variable(name).unwrap().read().unwrap())
            };
            assert_eq!(read(&again), read(&original), "{name}");
        }
        let bools = again.variable("bools").unwrap();
        assert_eq!(bools.read().unwrap(), Values::Bool(vec![true, false, false, true]));
        // Copies keep them as they are, too.
        let (store, lost) = copy_of(&original, &new);
        let copy = Dataset::open(store, &options()).unwrap();
        assert_eq!(copy.variable("bools").unwrap().read().unwrap(), bools.read().unwrap());
        assert_eq!(lost, [""; 0]);
    }
    // netcdf-c opens nothing that has them.
    let dataset = Dataset::create(memory(), &NewDataset::nczarr_v2(), &options()).unwrap();
    let error = Document::parse(&text).unwrap().write_to(&dataset).unwrap_err();
    assert_eq!(error.kind(), zarr_core::ErrorKind::Unsupported);
}

/// Names of attributes that plain Zarr has and netCDF does not.
#[test]
fn attributes_of_any_name_are_read_again() {
    let attributes =
        r#"{"":1,"a/b":"x","@id":2,"-":3,"%41":4,"ends ":5,"tab\t":6,"_ok":7,"1:2":8}"#;
    let array = r#"{"zarr_format":2,"shape":[1],"dtype":"<i4","chunks":[1],"fill_value":null,"order":"C","compressor":null,"filters":null}"#;
    let store = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        (".zattrs", attributes),
        ("a/.zarray", array),
        ("a/.zattrs", attributes),
        ("a/0", "\x01\0\0\0"),
    ]);
    let original = Dataset::open(store, &options()).unwrap();
    let text = dump(&original);
    assert!(text.contains("\t\ta: = 1 ;") && text.contains("\t\t: = 1 ;"), "{text}");
    for new in [NewDataset::nczarr_v2(), NewDataset::nczarr_v3(), NewDataset::pure(Dialect::V3)] {
        let again = made(&text, &new);
        assert_eq!(dump(&again), text);
        assert_eq!(again.schema().attributes, original.schema().attributes);
        assert_eq!(
            again.variable("a").unwrap().schema().unwrap().attributes,
            original.variable("a").unwrap().schema().unwrap().attributes
        );
    }
}

/// As ncgen 4.9.0: the last of two attributes of one name counts, in the place of the first.
#[test]
fn the_last_of_two_attributes_counts() {
    let text = "netcdf x { variables: int a ; a:u = \"one\" ; a:v = 1; a:u = \"two\" ;\n:g = 1; :g = 2.5; }";
    let document = Document::parse(text).unwrap();
    let a = &document.root.variables[0];
    let names: Vec<&str> = a.attributes.iter().map(|a| a.name.as_str()).collect();
    assert_eq!((names, a.attribute("u")), (vec!["u", "v"], Some(&"two".into())));
    assert_eq!(document.root.attribute("g"), Some(&vec![2.5].into()));
    let told: Vec<String> = document.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2);
    assert!(told[0].contains("`u`") && told[0].contains("line 1, column 56"), "{told:?}");
    assert!(told[1].contains("`g`") && told[1].contains("line 2"), "{told:?}");
}

/// As ncgen 4.9.0: a number between quotes is a fill value; what is no number is refused.
#[test]
fn a_fill_value_may_be_quoted() {
    let fill = |ty: &str, value: &str| {
        let text = format!("netcdf x {{ variables: {ty} a ; a:_FillValue = {value} ; }}");
        let found = Document::parse(&text).map(|document| document.root.variables[0].fill());
        found.map_err(|e| e.to_string())
    };
    assert_eq!(fill("float", "\"-9\""), Ok(vec![-9f32].into()));
    assert_eq!(fill("short", "\"-30000\""), Ok(vec![-30000i16].into()));
    assert_eq!(fill("double", "\" 1.5e3 \""), Ok(vec![1500.0].into()));
    assert!(fill("double", "\"x\"").unwrap_err().contains("expected a number"));
    assert!(fill("byte", "\"300\"").unwrap_err().contains("does not fit"));
    assert_eq!(fill("char", "\"7\""), Ok("7".into()));
    assert_eq!(fill("string", "\"7\""), Ok(vec!["7".to_owned()].into()));
}

/// A dimension of length 0 is unlimited in CDL, and so it is when the text is read.
#[test]
fn dimensions_of_length_0_are_read_again() {
    let array = r#"{"zarr_format":2,"shape":[0,2],"dtype":"<i4","chunks":[1,2],"fill_value":0,"order":"C","compressor":null,"filters":null}"#;
    let store = holding(&[(".zgroup", r#"{"zarr_format":2}"#), ("a/.zarray", array)]);
    let text = dump(&Dataset::open(store, &options()).unwrap());
    for new in [NewDataset::nczarr_v2(), NewDataset::nczarr_v3()] {
        assert_eq!(dump(&made(&text, &new)), text);
    }
}

/// xarray masks the fill value of plain Zarr in v2, but netCDF's default one in a netCDF file only if an attribute says so (N-054).
#[test]
fn the_default_fill_value_of_packed_numbers_in_plain_zarr_is_an_attribute() {
    for (dtype, fill, shown) in [
        ("<i2", "-32767", "-32767s"),
        ("<i4", "-2147483647", "-2147483647"),
        ("<f4", "9.969209968386869e36", "9.96920997e+36f"),
        ("|u1", "255", "255UB"),
    ] {
        let array = format!(
            r#"{{"zarr_format":2,"shape":[2],"dtype":"{dtype}","chunks":[2],"fill_value":{fill},"order":"C","compressor":null,"filters":null}}"#
        );
        let store = holding(&[
            (".zgroup", r#"{"zarr_format":2}"#),
            ("v/.zarray", &array),
            ("v/.zattrs", r#"{"_ARRAY_DIMENSIONS":["x"],"scale_factor":0.5}"#),
        ]);
        let text = dump(&Dataset::open(store, &options()).unwrap());
        assert!(text.contains(&format!("v:_FillValue = {shown} ;")), "{dtype}: {text}");
        for new in [
            NewDataset::nczarr_v2(),
            NewDataset::nczarr_v3(),
            NewDataset::pure(Dialect::V2),
            NewDataset::pure(Dialect::V3),
        ] {
            assert_eq!(dump(&made(&text, &new)), text, "{dtype}");
        }
    }
}

/// Names that CDL has for special attributes are those of attributes in plain Zarr: `ncdump` prints them as special ones.
#[test]
fn attributes_with_the_names_of_special_ones_are_read_again() {
    let array = r#"{"zarr_format":2,"shape":[2],"dtype":"<i4","chunks":[2],"fill_value":0,"order":"C","compressor":null,"filters":null}"#;
    let store = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        (".zattrs", r#"{"_Format":"mine","_IsNetcdf4":7,"_Storage":"here","ok":1}"#),
        ("v/.zarray", array),
        (
            "v/.zattrs",
            r#"{"_ARRAY_DIMENSIONS":["x"],"_Storage":"hello","_ChunkSizes":[1],"_NoFill":"maybe","_Codecs":"c","_Shuffle":"true","_Format":"f"}"#,
        ),
    ]);
    let original = Dataset::open(store, &options()).unwrap();
    let text = dump(&original);
    assert!(text.contains("v:\\_ChunkSizes = 1 ;") && text.contains(":\\_Format"), "{text}");
    let of_netcdf = vec![Filter::Shuffle, Filter::Deflate { level: 4 }];
    let blosc = Filter::Blosc { compressor: "zstd".into(), level: 3, shuffle: 1, block_size: 0 };
    // The attributes say nothing of filters: they are the usual ones.
    for (new, filters) in [
        (NewDataset::nczarr_v2(), of_netcdf.clone()),
        (NewDataset::nczarr_v3(), of_netcdf),
        (NewDataset::pure(Dialect::V2), vec![blosc]),
        (NewDataset::pure(Dialect::V3), vec![Filter::Zstd { level: 3 }]),
    ] {
        let again = made(&text, &new);
        assert_eq!(dump(&again), text);
        let variable = again.variable("v").unwrap().schema().unwrap();
        let due = original.variable("v").unwrap().schema().unwrap();
        assert_eq!(variable.attributes, due.attributes);
        assert_eq!(
            (&variable.storage.chunks[..], &variable.storage.filters[..]),
            (&[2][..], &filters[..])
        );
        // Copies into plain Zarr have them, those into NCZarr say that they do not.
        let plan = original.plan_copy(&new).unwrap();
        let count = if new.profile == zarr_nczarr::Profile::Pure { 0 } else { 9 };
        assert_eq!(plan.lost.len(), count, "{:?}", plan.lost);
    }
    // A name that is no special attribute here has to be escaped in the text.
    let text = "netcdf x { variables: int v ; :_Storage = \"chunked\" ; }";
    let error = Document::parse(text).unwrap_err().to_string();
    assert!(error.contains("`\\_Storage`"), "{error}");
    // And callers name no attribute so.
    assert!(original.root().set_attribute("_Storage", "x").is_err());
}

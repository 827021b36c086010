//! Which documents are written, and which are read.

use crate::common::{document, holding, memory, options, value, write_demo};
use zarr_core::{Dialect, Json};
use zarr_nczarr::schema::Variable;
use zarr_nczarr::{Attribute, Dataset, Dimension, NewDataset, Profile, Type, Values};

/// The names of an object's members, in order.
fn members(json: &Json) -> Vec<String> {
    json.as_object().unwrap().iter().map(|(name, _)| name.to_owned()).collect()
}

fn text_of(json: &Json, member: &str) -> String {
    json.as_object().unwrap().get(member).map(Json::to_string).unwrap_or_default()
}

/// N-021: a scalar of plain v2 has no axis, and its one chunk has the key `0`.
#[test]
fn a_scalar_of_plain_v2_has_no_axis() {
    let store = memory();
    let new = NewDataset::pure(Dialect::V2);
    let dataset = Dataset::create(store.clone(), &new, &options()).unwrap();
    let crs = dataset.root().define_variable(&Variable::new("crs", Type::Int, [""; 0])).unwrap();
    crs.write(vec![42]).unwrap();
    let array = document(&store, "crs/.zarray");
    assert_eq!((text_of(&array, "shape"), text_of(&array, "chunks")), ("[]".into(), "[]".into()));
    assert_eq!(text_of(&document(&store, "crs/.zattrs"), "_ARRAY_DIMENSIONS"), "[]");
    assert_eq!(value(&store, "crs/0"), Some(vec![42, 0, 0, 0]));
    let read = Dataset::open(store, &options()).unwrap().variable("crs").unwrap();
    assert_eq!((read.read().unwrap(), read.shape().unwrap().len()), (vec![42].into(), 0));
}

/// N-030: NCZarr's documents are attributes of the root, the groups and the arrays, and every reader of Zarr sees them.
#[test]
fn what_nczarr_says_is_in_attributes() {
    for (new, root, group, array) in [
        (NewDataset::nczarr_v2(), ".zattrs", "g1/.zattrs", "g1/id/.zattrs"),
        (NewDataset::nczarr_v3(), "zarr.json", "g1/zarr.json", "g1/id/zarr.json"),
    ] {
        let store = memory();
        let dataset = write_demo(store.clone(), &new);
        let names = |key: &str| {
            let json = document(&store, key);
            match new.dialect {
                Dialect::V3 => members(json.as_object().unwrap().get("attributes").unwrap()),
                _ => members(&json),
            }
        };
        let has = |key: &str, name: &str| names(key).iter().any(|other| other == name);
        assert!(has(root, "_nczarr_superblock") && has(root, "_nczarr_group"));
        assert!(has(group, "_nczarr_group") && has(array, "_nczarr_array"));
        let plain = zarr_core::Hierarchy::open(store.clone(), &options().zarr).unwrap();
        let id = plain.array(zarr_core::NodePath::new("/g1/id").unwrap()).unwrap();
        assert!(id.attributes().get("_nczarr_array").unwrap().as_object().is_some());
        assert_eq!(dataset.profile(), Profile::Nczarr);
    }
}

/// N-035: documents are UTF-8 without escapes; any style of JSON is read.
#[test]
fn the_style_of_json_is_free() {
    let store = memory();
    let dataset = Dataset::create(store.clone(), &NewDataset::nczarr_v2(), &options()).unwrap();
    dataset.root().set_attribute("ort", "Zürich 温度").unwrap();
    let text = String::from_utf8(value(&store, ".zattrs").unwrap()).unwrap();
    assert!(text.contains("Zürich 温度"), "{text}");
    let styled = text.replace("ü", "\\u00fc").replace('\n', "\r\n\t") + "\n\n";
    let group = "{ \"zarr_format\" :\n2 }\n";
    let dataset =
        Dataset::open(holding(&[(".zgroup", group), (".zattrs", &styled)]), &options()).unwrap();
    assert_eq!(dataset.profile(), Profile::Nczarr);
    assert_eq!(dataset.schema().attribute("ort"), Some(&"Zürich 温度".into()));
    assert_eq!(dataset.warnings().len(), 0, "{:?}", dataset.warnings());
}

/// N-038, N-039: the members that netcdf-c writes, and no others; names of dimensions without their groups.
#[test]
fn documents_have_the_members_that_netcdf_c_writes() {
    let store = memory();
    write_demo(store.clone(), &NewDataset::nczarr_v2());
    for group in [".zgroup", "g1/.zgroup", "g1/g2/.zgroup"] {
        assert_eq!(document(&store, group).to_string(), r#"{"zarr_format":2}"#);
    }
    let mut found = members(&document(&store, "temp/.zarray"));
    // netcdf-c leaves it out where it is `.`, which is the same.
    found.retain(|name| name != "dimension_separator");
    assert_eq!(text_of(&document(&store, "temp/.zarray"), "dimension_separator"), "\".\"");
    let mut due =
        ["zarr_format", "shape", "dtype", "chunks", "fill_value", "order", "compressor", "filters"];
    found.sort_unstable();
    due.sort_unstable();
    assert_eq!(found, due);

    let store = memory();
    write_demo(store.clone(), &NewDataset::nczarr_v3());
    let id = document(&store, "g1/id/zarr.json");
    for due in [
        "node_type",
        "zarr_format",
        "data_type",
        "fill_value",
        "shape",
        "chunk_grid",
        "chunk_key_encoding",
        "dimension_names",
        "codecs",
        "attributes",
    ] {
        assert!(members(&id).iter().any(|name| name == due), "{due}: {:?}", members(&id));
    }
    assert_eq!(text_of(&id, "dimension_names"), r#"["station","lat"]"#);
    // In the order of the other library.
    let temp = r#"{"node_type": "array", "zarr_format": 3, "data_type": "float32", "fill_value": -9, "shape": [2], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}, "dimension_names": ["x"], "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {"_FillValue": -9}}"#;
    let root = r#"{"node_type": "group", "zarr_format": 3}"#;
    let store = holding(&[("zarr.json", root), ("temp/zarr.json", temp)]);
    let temp = Dataset::open(store, &options()).unwrap().variable("temp").unwrap();
    assert_eq!(temp.schema().unwrap().dimensions, ["/x"]);
    assert_eq!(temp.schema().unwrap().attribute("_FillValue"), Some(&vec![-9f32].into()));
}

/// N-056: what says how a variable was quantized is an attribute of type int as any other.
#[test]
fn attributes_of_quantization_are_ordinary() {
    let names = [
        "_QuantizeBitGroomNumberOfSignificantDigits",
        "_QuantizeGranularBitRoundNumberOfSignificantDigits",
        "_QuantizeBitRoundNumberOfSignificantBits",
    ];
    for new in [NewDataset::nczarr_v2(), NewDataset::nczarr_v3(), NewDataset::pure(Dialect::V3)] {
        let store = memory();
        let dataset = Dataset::create(store.clone(), &new, &options()).unwrap();
        dataset.root().define_dimension(Dimension::new("x", 2)).unwrap();
        let mut v = Variable::new("v", Type::Float, ["x"]);
        v.attributes = names.map(|name| Attribute::new(name, vec![3])).to_vec();
        dataset.root().define_variable(&v).unwrap();
        let dataset = Dataset::open(store, &options()).unwrap();
        let schema = dataset.variable("v").unwrap().schema().unwrap();
        let found: Vec<&str> = schema.attributes.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(found, names);
        for name in names {
            assert_eq!(schema.attribute(name), Some(&Values::Int(vec![3])), "{name}");
        }
    }
}

//! Compares HDF5 and netCDF-4 files with what h5py and netCDF4-python read. The files are those of `zarr-hdf5`.

use std::path::PathBuf;

use zarr_core::store::StoreKey;
use zarr_core::{Array, Hierarchy, Json, Node};

use crate::common::{open, options};

fn data(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "zarr-hdf5", "tests", "data", name].iter().collect()
}

fn json(name: &str) -> Json {
    Json::parse(&std::fs::read(data(name)).unwrap()).unwrap()
}

/// Little-endian bytes as `make.py` writes them: digits, or their hash if they are many.
fn values(array: &Array) -> Result<String, String> {
    let bytes = array.read_le_bytes(..).map_err(|error| error.to_string())?;
    if bytes.len() <= 4096 {
        return Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
    }
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let hash = bytes
        .iter()
        .fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    Ok(format!("{hash:016x}"))
}

/// Why an array is not what h5py reads, if it is not.
fn difference(hierarchy: &Hierarchy, path: &str, described: &Json) -> Result<(), String> {
    let array = hierarchy.array(path).map_err(|error| error.to_string())?;
    let shape: Json = array.shape().iter().map(|n| Json::from(*n)).collect();
    // One with 400,000 chunks, nearly none of which is stored: its index is compared in `zarr-hdf5`.
    if array.len() > 100_000 {
        return Ok(());
    }
    if shape != described["shape"] {
        return Err(format!("shape {shape}, expected {}", described["shape"]));
    }
    let (found, expected) = match described.get("texts") {
        Some(texts) => {
            let found: Vec<String> = array.read(..).map_err(|error| error.to_string())?;
            let found: Json = found.into_iter().map(Json::from).collect();
            (found.to_string(), texts.to_string())
        }
        None => (values(&array)?, described["values"].as_str().unwrap_or_default().to_owned()),
    };
    if found == expected { Ok(()) } else { Err(format!("{found}, expected {expected}")) }
}

#[test]
fn elements_are_those_of_h5py() {
    let (mut compared, mut different) = (0, Vec::new());
    for (file, arrays) in json("elements.json").as_object().unwrap().iter() {
        let url = data(&format!("{file}.h5")).display().to_string();
        let hierarchy = open(&url, &options()).unwrap();
        for (path, described) in arrays.as_object().unwrap().iter() {
            compared += 1;
            if let Err(why) = difference(&hierarchy, path, described) {
                different.push(format!("{file}{path}: {why}"));
            }
        }
    }
    println!("{compared} arrays were compared");
    assert!(different.is_empty(), "{} of {compared}:\n{}", different.len(), different.join("\n"));
    assert!(compared > 250, "{compared}");
}

/// V-053: what cannot be read opens, its elements are an error that names the filter or type, and its siblings are read.
#[test]
fn what_cannot_be_read_says_why() {
    let hierarchy = open(&data("v114.h5").display().to_string(), &options()).unwrap();
    for (path, what) in [
        ("/filters/scale", "filter_6_scaleoffset"),
        ("/filters/nbit", "filter_5_nbit"),
        ("/layouts/virtual", "virtual_dataset"),
        ("/layouts/external", "external_files"),
        ("/types/ragged", "vlen(<i4)"),
        ("/types/reference", "object reference"),
        ("/types/gaps", "gaps"),
        ("/types/bits", "b2"),
    ] {
        let array = hierarchy.array(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let error = array.read_le_bytes(..).unwrap_err();
        assert!(error.to_string().contains(what), "{path}: {error}");
        assert_eq!(error.kind(), zarr_core::ErrorKind::Unsupported, "{path}: {error}");
    }
}

#[test]
fn attributes_are_exact() {
    for file in ["earliest", "v110", "v114", "v200"] {
        let hierarchy =
            open(&data(&format!("{file}.h5")).display().to_string(), &options()).unwrap();
        let group = hierarchy.group("/attributes").unwrap();
        let attributes = group.attributes();
        assert_eq!(attributes["unsigned"].as_u64(), Some((1 << 63) + 5));
        assert_eq!(attributes["int"].as_i64(), Some(i64::MAX));
        assert_eq!(attributes["text"], "text, « größer »");
        assert_eq!(attributes["texts"].to_string(), r#"["a","","ccc"]"#);
        assert_eq!(attributes["matrix"].to_string(), "[[0,1,2],[3,4,5]]");
        assert_eq!(attributes["flag"].to_string(), "true");
        assert_eq!(attributes["reference"], "/types/i1");
        assert_eq!(attributes["complex"].to_string(), r#"{"r":1.0,"i":-1.0}"#);
        assert_eq!(attributes["record"].to_string(), r#"{"a":1,"b":2.5}"#);
    }
}

#[test]
fn groups_list_nodes_and_name_what_is_left_out() {
    let url = format!("hdf5::{}", data("v110.h5").display());
    let store = options().store(&url).unwrap();
    let hierarchy = open(&url, &options()).unwrap();
    let names: Vec<String> = hierarchy
        .group("/links")
        .unwrap()
        .members()
        .unwrap()
        .iter()
        .map(|node| match node {
            Node::Array(array) => array.path().name().unwrap_or_default().to_owned(),
            Node::Group(group) => format!("{}/", group.path().name().unwrap_or_default()),
        })
        .collect();
    assert_eq!(names, ["a/", "absolute", "many/", "ordered/", "second/", "soft/", "日本 é"]);
    let keys = store.to_sync().list().unwrap();
    assert!(keys.contains(&StoreKey::new("links/second/c/zarr.json").unwrap()));
    assert!(!keys.iter().any(|key| key.as_str().contains("a/b/up/")));
    let chunks = keys.iter().filter(|key| key.as_str().starts_with("layouts/sparse/c/")).count();
    assert_eq!(chunks, 2);
    let warnings = store.warnings().join("\n");
    assert!(warnings.contains("`/links/external` is left out"), "{warnings}");
    for key in &keys {
        assert!(store.to_sync().value(key).unwrap().is_some(), "{key}");
    }
}

/// A user block of 1,024 bytes: the file is recognised, and its addresses count from the block's end.
#[test]
fn files_are_recognised_behind_a_user_block() {
    let hierarchy = open(&data("v114.h5").display().to_string(), &options()).unwrap();
    let array = hierarchy.array("/types/li4");
    assert!(array.is_err());
    assert_eq!(hierarchy.array("/types/li2").unwrap().shape(), [3]);
}

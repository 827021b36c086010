//! Plausible lines that cannot work: each answer says what to do instead.
#![cfg(all(feature = "filesystem", feature = "ndarray", feature = "zstd"))]

use ndarray::{Ix2, s};
use zarr::{DataType, Dialect, ErrorKind, Result, Selection};

/// What was typed, what came, the kind of the error, and what its message has to say.
struct Tried {
    line: &'static str,
    error: Option<zarr::Error>,
    kind: ErrorKind,
    says: &'static str,
}

/// Tries a line, and notes what it gave.
macro_rules! tried {
    ($($line:expr => $kind:ident, $says:literal;)*) => {
        vec![$(Tried { line: stringify!($line), error: $line.err(), kind: ErrorKind::$kind, says: $says }),*]
    };
}

#[test]
fn wrong_lines_are_answered_with_what_to_do() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |path: &str| folder.path().join(path);
    zarr::create_array(at("ocean.zarr/temperature"))?
        .shape([4, 6])
        .chunks([2, 3])
        .data_type(DataType::Float32)
        .dimension_names(["time", "lat"])
        .create()?;
    std::fs::create_dir(at("empty")).expect("a folder");
    std::fs::create_dir(at("other")).expect("a folder");
    std::fs::write(at("other/notes.txt"), "not an array").expect("a file");
    let group = zarr::open_group(at("ocean.zarr"))?;
    let array = zarr::open_array(at("ocean.zarr/temperature"))?;
    let writeable = zarr::open_rw(at("ocean.zarr/temperature"))?.into_array()?;
    let hierarchy = writeable.hierarchy();
    let new = || hierarchy.create_array("/new").shape([4, 6]);
    let typed = || new().data_type(DataType::Int16);

    let tried = tried! {
        zarr::open(at("ocaen.zarr")) => NotFound, "/ocean.zarr`?";
        zarr::open(at("nothing.zarr")) => NotFound, "`.zmetadata`; there is no such file or folder";
        zarr::open(at("empty")) => NotFound, "`.zmetadata`; the folder is empty";
        zarr::open(at("other")) => NotFound, "`.zmetadata`; the folder is there, but holds no Zarr data";
        zarr::open(at("other/notes.txt")) => NotFound, "this is a file, not a Zarr hierarchy";
        zarr::open_array(at("ocean.zarr/temprature")) => NotFound, "/ocean.zarr/temperature`?";
        zarr::open_array(at("ocaen.zarr/temperature")) => NotFound, "/ocean.zarr/temperature`?";
        group.array("temprature") => NotFound, "did you mean `/temperature`?";
        zarr::open_array(at("ocean.zarr")) => Argument, "is a group, not an array; give the path of one of its arrays";
        zarr::open_group(at("ocean.zarr/temperature")) => Argument, "is an array, not a group; open it as an array";
        zarr::open("s4://bucket/x.zarr") => Argument, "no store is registered for `s4://`; expected one of:";
        zarr::create(at("ocean.zarr"), Dialect::V2) => Argument, "holds a hierarchy in v3, not v2";
        zarr::create(at("ocean.zarr/salinity"), Dialect::V3) => Argument, "or call `zarr::create_array` or `zarr::create_group`";
        zarr::create_group(at("ocean.zarr/temperature")) => Exists, "erase it first, or create with `overwrite(true)`";
        array.write(.., &[0f32; 24]) => ReadOnly, "open it with `zarr::open_rw`";
        array.read::<f64>(..) => Argument, "elements are `float32`, not `f64`; read and write them as `f32`";
        array.read::<f32>(0) => Argument, "1 entry, but the array has 2 axes; give one entry for each axis, `..` for a whole axis";
        array.read::<f32>((4, ..)) => Argument, "index 4 is out of bounds for axis 0, which has length 4";
        array.read::<f32>((-5, ..)) => Argument, "index -5 is out of bounds for axis 0, which has length 4";
        array.read::<f32>((.., ..9)) => Argument, "region 0..9 exceeds axis 1, which has length 6";
        array.read::<f32>((zarr::steps(.., 0), ..)) => Argument, "use 1, or -1 to go backwards";
        array.read::<f32>(Selection::named("lta", 0)) => Argument, "no dimension `lta`; the array has `time`, `lat`";
        array.read::<f32>(s![.., .., ndarray::NewAxis]) => Argument, "leave it out, and insert the axis into what was read";
        array.read_element::<f32>((0, ..)) => Argument, "has 6 elements, expected 1; select one with a number for each axis";
        array.read_ndarray::<f32, Ix2>((0, ..)) => Argument, "a range such as `3..4` keeps an axis, a number removes it";
        array.chunk([2, 0]) => Argument, "there is no chunk [2, 0]; the array has [2, 2] chunks along its axes";
        writeable.write(.., &[0f32; 5]) => Argument, "24 elements, but 5 were given";
        writeable.write_ndarray(.., &ndarray::Array2::<f32>::zeros((6, 4))) => Argument, "shape [6, 4] does not fill a selection of [4, 6]";
        writeable.append(0, &[0f32; 7]) => Argument, "7 elements do not fill whole slices along axis 0; give a multiple of 6 elements";
        array.read::<f32>(Selection::blocks((2, 0))) => Argument, "in the grid of [2, 2] blocks: index 2 is out of bounds for axis 0";
        writeable.resize([4]) => Argument, "expected a shape of 2 lengths, found 1; give one length for each axis";
        hierarchy.create_array("/new").data_type(DataType::Int16).create() => Argument, "the shape is missing; set it with `shape`";
        new().create() => Argument, "the data type is missing; set it with `data_type`";
        new().data_type("flaot32").create() => Argument, "did you mean `float32`?";
        new().data_type("double").create() => Argument, "did you mean `float64`?";
        hierarchy.create_array("/new").shape([4, -6]).data_type("int8").create() => Argument, "axis 1 has length -6; the minimum is 0";
        typed().chunks([0, 2]).create() => Argument, "a chunk has length 0; the minimum is 1";
        typed().chunks([-1, 2]).create() => Argument, "chunks: axis 0 has length -1";
        typed().codec("zsdt:3").create() => Unsupported, "did you mean `zstd`?";
        typed().codec("zstandard").create() => Unsupported, "did you mean `zstd`?";
        typed().codec("zstd=3").create() => Argument, "did you mean `zstd:3`?";
        typed().codec("blosc:cname=zstd,clevel=5").create() => Argument, "as in `blosc-zstd-bitshuffle:5`";
        typed().codec("transpose:1,0").create() => Argument, r#"{"name": "transpose", "configuration": {"order": [1,0]}}"#;
        typed().codec("zstd:best").create() => Argument, "invalid level `best`, expected a number as in `zstd:3`";
        typed().fill_value("none").create() => Argument, "fill_value";
        typed().attributes(serde_json::json!([1])).create() => Argument, "attributes are a JSON object, not an array";
        typed().chunks([2, 3]).shards([3, 3]).create() => Argument, "shard";
        typed().codec("xor:3").create() => Unsupported, "expected one of:";
        writeable.fill(.., 1u8) => Argument, "elements are `float32`, not `u8`; read and write them as `f32`";
        zarr::open_with(at("ocean.zarr"), &zarr::OpenOptions::default()) => Argument, "give the options the registry of `zarr::standard`";
    };
    assert!(tried.len() >= 20, "{}", tried.len());
    for Tried { line, error, kind, says } in tried {
        let error = error.unwrap_or_else(|| panic!("`{line}` should fail"));
        assert!(error.to_string().contains(says), "`{line}`:\n  {error}\nshould say\n  {says}");
        assert_eq!(error.kind(), kind, "`{line}`: {error}");
    }
    Ok(())
}

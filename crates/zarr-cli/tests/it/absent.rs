//! What the program says where it finds no Zarr data (issue 13, point 26).

use std::fs;

use crate::common::{FORMATS, Folder};

fn ocean(folder: &Folder, target: &str, format: &str) {
    for name in ["ocean/temperature", "ocean/salinity", "time"] {
        folder.good(&format!(
            "create {target} --path {name} --format {format} --shape 4 --dtype int8"
        ));
    }
}

#[cfg(unix)]
#[test]
fn a_device_is_no_store_and_no_near_name() {
    let folder = Folder::new();
    let why = folder.bad("info /dev/null", 3);
    assert!(why.ends_with("/dev/null: this is neither a file nor a folder\n"), "{why}");
}

#[test]
fn a_missing_node_is_answered_with_the_names_that_are_there() {
    for format in FORMATS {
        let folder = Folder::new();
        ocean(&folder, "o.zarr", format);
        for (target, meant) in [
            ("o.zarr --path ocean/temprature", "did you mean `/ocean/temperature`?"),
            ("o.zarr/ocean/temprature", "did you mean `/ocean/temperature`?"),
            ("o.zarr/ocean --path temprature", "/temperature`?"),
            ("o.zarr --path Ocean/salinity", "did you mean `/ocean/salinity`?"),
            ("o.zarr --path temperature", "did you mean `/ocean/temperature`?"),
        ] {
            for verb in ["info", "get", "tree", "put", "attrs"] {
                let why = folder.bad(&format!("{verb} {target}"), 3);
                assert!(why.contains(meant), "{format}: {verb} {target}: {why}");
                assert!(!why.contains("2019"), "{format}: {why}");
            }
        }
        let why = folder.bad("info o.zarr --path ocean/depth", 3);
        assert!(why.contains("there is no node /ocean/depth"), "{format}: {why}");
        assert!(why.contains("/ocean has `salinity`, `temperature`"), "{format}: {why}");
        assert!(!why.contains("did you mean"), "{format}: {why}");
        let below = folder.bad("info o.zarr --path time/x", 3);
        assert!(below.contains("/time is an array"), "{format}: {below}");
    }
}

#[test]
fn a_missing_folder_is_said_to_be_missing_and_a_near_name_is_offered() {
    let folder = Folder::new();
    ocean(&folder, "ocean.zarr", "v3");
    for verb in ["info", "tree", "get", "dump", "rm --all", "attrs"] {
        let why = folder.bad(&format!("{verb} ocaen.zarr"), 3);
        assert!(why.contains("there is no such file or folder"), "{verb}: {why}");
        assert!(why.contains("did you mean `") && why.contains("/ocean.zarr`?"), "{verb}: {why}");
        assert!(!why.contains("2019"), "{verb}: {why}");
    }
    let why = folder.bad("copy ocaen.zarr new.zarr", 3);
    assert!(why.contains("/ocean.zarr`?") && !folder.path("new.zarr").exists(), "{why}");
    let why = folder.bad("info no/such/folder", 3);
    assert!(why.contains("there is no such file or folder"), "{why}");
}

#[test]
fn a_folder_without_zarr_data_is_described() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("empty")).unwrap();
    let why = folder.bad("info empty", 3);
    assert!(why.contains("the folder is empty"), "{why}");
    folder.write("mine/notes.txt", "");
    folder.write("mine/more/x.txt", "");
    let why = folder.bad("info mine", 3);
    assert!(why.contains("no Zarr data found, only") && why.contains("`notes.txt`"), "{why}");
    assert!(why.contains("`more/`") && why.contains("looked for `zarr.json`"), "{why}");
    ocean(&folder, "mine/o.zarr", "v2");
    let why = folder.bad("tree mine", 3);
    assert!(why.contains("did you mean `") && why.contains("mine/o.zarr`?"), "{why}");
    folder.write("plain.bin", [7; 100]);
    let why = folder.bad("info plain.bin", 3);
    assert!(why.contains("a file, not a Zarr hierarchy"), "{why}");
}

#[test]
fn another_dialect_than_the_one_asked_for_is_named() {
    let folder = Folder::new();
    ocean(&folder, "o.zarr", "v2");
    let why = folder.bad("info o.zarr --as v3", 3);
    assert!(why.contains("the hierarchy is in v2") && why.contains("--as"), "{why}");
}

/// Exit code 4: what is there is valid, but not Zarr.
#[test]
fn other_formats_are_named() {
    let folder = Folder::new();
    for (n, magic) in [b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"].into_iter().enumerate() {
        folder.write(&format!("{n}.tif"), [&magic[..], &[0; 60]].concat());
    }
    folder.write("a.npy", b"\x93NUMPY\x01\0 rest");
    folder.write("a.parquet", b"PAR1 rest");
    folder.write("ice/refs/branch.main/ref.json", "{}");
    folder.write("ice/snapshots/0", "x");
    folder.write("ice2/repo", "x");
    folder.write("ice2/snapshots/0", "x");
    for (target, format) in [
        ("0.tif", "TIFF"),
        ("1.tif", "TIFF"),
        ("2.tif", "TIFF"),
        ("3.tif", "TIFF"),
        ("a.npy", "NumPy"),
        ("a.parquet", "Parquet"),
        ("ice", "Icechunk"),
        ("ice2", "Icechunk"),
    ] {
        for verb in ["info", "tree", "get", "dump", "attrs"] {
            let why = folder.bad(&format!("{verb} {target}"), 4);
            assert!(why.contains(format), "{verb} {target}: {why}");
            assert!(!why.contains("2019"), "{verb} {target}: {why}");
        }
        let url = format!("file://{}", folder.path(target).display());
        assert!(folder.bad(&format!("info {url}"), 4).contains(format), "{url}");
    }
}

/// Data of other formats that are read in place, by their files alone.
#[test]
fn formats_that_are_read_in_place_are_found() {
    let folder = Folder::new();
    folder.write("n5/attributes.json", r#"{"n5": "2.5.1"}"#);
    let dataset =
        r#"{"dimensions":[9],"blockSize":[3],"dataType":"int8","compression":{"type":"raw"}}"#;
    folder.write("n5/c0/s0/attributes.json", dataset);
    let refs = r#"{"version": 1, "refs": {".zgroup": "{\"zarr_format\": 2}", "a/.zarray":
        {"zarr_format": 2, "shape": [9], "chunks": [9], "dtype": "|i1", "fill_value": 0, "order": "C", "compressor": null,
        "filters": null}, "a/0": ["bytes", 0, 9]}}"#;
    folder.write("refs.json", refs);
    folder.write("bytes", [7; 9]);
    for target in ["n5", "n5/c0", "n5/c0/s0", "refs.json", "refs.json/a"] {
        for verb in ["info", "tree", "attrs"] {
            folder.good(&format!("{verb} {target}"));
        }
    }
    assert_eq!(folder.good("get n5/c0/s0").text(), "[0,0,0,0,0,0,0,0,0]\n");
    assert_eq!(folder.good("get refs.json a").text(), "[7,7,7,7,7,7,7,7,7]\n");
    folder.good("copy refs.json copied.zarr");
    folder.good("diff refs.json copied.zarr");
    // Other readers of Zarr know no codec of N5.
    folder.good("copy n5 from-n5.zarr");
    folder.good("diff n5 from-n5.zarr");
    let document = std::fs::read_to_string(folder.path("from-n5.zarr/c0/s0/zarr.json")).unwrap();
    assert!(document.contains("zstd") && !document.contains("n5_default"), "{document}");
    folder.write("a.nc", b"CDF\x01 rest");
    let why = folder.bad("info a.nc", 5);
    assert!(why.contains("netcdf3::") || why.contains("byte"), "{why}");
    folder.write("a.h5", b"\x89HDF\r\n\x1a\n rest");
    // A user block of 512 bytes stands before.
    folder.write("block.h5", [&[0; 512][..], b"\x89HDF\r\n\x1a\n rest"].concat());
    for damaged in ["a.h5", "block.h5"] {
        let why = folder.bad(&format!("info {damaged}"), 5);
        assert!(why.contains("superblock"), "{why}");
    }
    let hdf5 = concat!(env!("CARGO_MANIFEST_DIR"), "/../zarr-hdf5/tests/data/netcdf.h5");
    folder.write("b.nc", fs::read(hdf5).unwrap());
    assert_eq!(folder.good("get b.nc/cloud").text(), "[0,1,255]\n");
    folder.good("copy b.nc b.zarr");
    folder.good("diff b.nc b.zarr");
    let outside = r#"{".zgroup": {"zarr_format": 2}, "a/.zarray": ["../refs.json", 0, 5]}"#;
    folder.write("inner/refs.json", outside);
    let why = folder.bad("get inner/refs.json a", 2);
    assert!(why.contains("--allow-target"), "{why}");
}

/// Exit code 2, and the way out.
#[test]
fn formats_that_are_read_in_place_are_not_written() {
    let folder = Folder::new();
    folder.write("x.n5/attributes.json", r#"{"n5": "2.5.1"}"#);
    folder.write("refs.json", r#"{".zgroup": {"zarr_format": 2}}"#);
    for target in ["x.n5", "refs.json"] {
        let why = folder.bad(&format!("attrs {target} --set a=1"), 2);
        assert!(why.contains("zarr copy") && why.contains("is read-only"), "{why}");
    }
}

#[test]
fn nothing_is_created_in_data_of_another_format() {
    let folder = Folder::new();
    folder.write("a.h5", b"\x89HDF\r\n\x1a\n rest");
    for (line, format) in
        [("create a.h5 --group", "HDF5"), ("create a.h5 --path a --shape 2 --dtype int8", "HDF5")]
    {
        let why = folder.bad(line, 2);
        assert!(why.contains(format) && why.contains("choose another place"), "{line}: {why}");
    }
    assert_eq!(fs::read(folder.path("a.h5")).unwrap(), b"\x89HDF\r\n\x1a\n rest");
}

//! `zarr get -o FILE`: the file is whole or absent, and its name says the format.

use std::fs;

use crate::common::Folder;

fn table() -> Folder {
    let folder = Folder::new();
    folder.good("create a.zarr/t --shape 2,3 --chunks 1,3 --dtype int16 --dims y,x --codec none");
    assert_eq!(folder.feed("put a.zarr/t", b"[[1,2,3],[4,5,6]]").code, 0);
    folder
}

#[test]
fn the_name_of_the_file_says_the_format() {
    let folder = table();
    for (name, format) in [
        ("t.npy", "npy"),
        ("t.csv", "csv"),
        ("t.json", "json"),
        ("t.jsonl", "jsonl"),
        ("t.TIF", "tiff"),
        ("t.bin", "raw"),
    ] {
        let run = folder.good(&format!("get a.zarr/t -o {name}"));
        assert!(run.out.is_empty());
        let printed = folder.good(&format!("get a.zarr/t --format {format}")).out;
        assert_eq!(fs::read(folder.path(name)).unwrap(), printed, "{name}");
    }
    folder.good("get a.zarr/t --format csv --header -o t.dat");
    assert!(fs::read_to_string(folder.path("t.dat")).unwrap().contains("y"));
    let why = folder.bad("get a.zarr/t -o t.dat", 2);
    assert!(why.contains("t.dat: unknown extension"), "{why}");
}

#[test]
fn a_file_that_cannot_be_made_whole_leaves_the_old_one() {
    let folder = table();
    folder.good("get a.zarr/t -o t.csv");
    let before = fs::read(folder.path("t.csv")).unwrap();
    fs::write(folder.path("a.zarr/t/c/1/0"), b"x").unwrap();
    folder.bad("get a.zarr/t -o t.csv", 5);
    folder.bad("get a.zarr/t -o new.csv", 5);
    assert_eq!(fs::read(folder.path("t.csv")).unwrap(), before);
    let mut names: Vec<_> =
        fs::read_dir(folder.path(".")).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.zarr", "t.csv"]);
    let why = folder.bad("get a.zarr/t --region 0,: -o a.zarr --format raw", 5);
    assert!(why.contains("cannot write the file of --output"), "{why}");
}

#[test]
fn a_dash_is_standard_output() {
    let folder = table();
    for options in ["--format csv", ""] {
        let printed = folder.good(&format!("get a.zarr/t {options}")).out;
        assert_eq!(folder.good(&format!("get a.zarr/t {options} -o -")).out, printed);
    }
    assert!(!folder.path("-").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_is_written_to() {
    let folder = table();
    let run = folder.good("get a.zarr/t --format json -o /dev/stdout");
    assert_eq!(run.text(), "[[1,2,3],[4,5,6]]\n");
}

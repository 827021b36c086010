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

/// What is read may be one file under several names.
#[test]
fn a_source_is_never_replaced() {
    let folder = table();
    folder.good("copy a.zarr q.zip");
    folder.good("copy a.zarr q.ozx");
    folder.good("copy a.zarr l.lmdb");
    let mut cases = vec![
        ("q.zip", "q.zip"),
        ("zip::q.zip", "q.zip"),
        ("q.ozx", "q.ozx"),
        ("l.lmdb", "l.lmdb/data.mdb"),
        ("a.zarr", "a.zarr/t/c/0/0"),
    ];
    fs::hard_link(folder.path("q.zip"), folder.path("hard.zip")).unwrap();
    cases.push(("q.zip", "hard.zip"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("q.zip", folder.path("link.zip")).unwrap();
        std::os::unix::fs::symlink("q.zip", folder.path("link.png")).unwrap();
        cases.extend([("q.zip", "link.zip"), ("link.zip", "q.zip")]);
        let why = folder.bad("plot q.zip --path t -o link.png", 2);
        assert!(why.contains("is the input"), "{why}");
    }
    for (source, output) in cases {
        let before = fs::read(folder.path(output)).unwrap();
        let why = folder.bad(&format!("get {source} --path t --format raw -o {output}"), 2);
        assert!(why.contains("is the input"), "{source}, {output}: {why}");
        assert!(fs::read(folder.path(output)).unwrap() == before, "{source}, {output}");
    }
    let digests = folder.good("checksum a.zarr --manifest --chunks").out;
    folder.write("digests", digests);
    let why = folder.bad("get a.zarr --path t --format raw --manifest digests -o digests", 2);
    assert!(why.contains("--manifest"), "{why}");
}

/// References lead to their data, which are a part of what is read.
#[test]
fn the_data_of_references_are_never_replaced() {
    let folder = Folder::new();
    folder.write("r/in.bin", "abcdefgh");
    folder.write("r/other.bin", "abcdefgh");
    folder.write(
        "r/x.json",
        r#"{"version": 1, "refs": {".zgroup": "{\"zarr_format\":2}", "x/.zarray": "{\"zarr_format\":2,\"shape\":[4],\"chunks\":[4],\"dtype\":\"|u1\",\"compressor\":null,\"fill_value\":0,\"filters\":null,\"order\":\"C\"}", "x/0": ["in.bin", 4, 4]}}"#,
    );
    for output in ["r/in.bin", "r/x.json"] {
        let before = fs::read(folder.path(output)).unwrap();
        let why = folder.bad(&format!("get r/x.json --path x --format raw -o {output}"), 2);
        assert!(why.contains("is the input"), "{output}: {why}");
        assert!(fs::read(folder.path(output)).unwrap() == before);
    }
    folder.good("get r/x.json --path x --format raw -o r/other.bin");
    assert_eq!(fs::read(folder.path("r/other.bin")).unwrap(), b"efgh");
}

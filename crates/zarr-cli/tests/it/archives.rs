//! Archives are opened by their first bytes, whatever they are called.

use std::fs;

use crate::common::Folder;

#[test]
fn an_archive_of_any_name_opens_for_every_verb() {
    let folder = Folder::new();
    folder.table("t.zip", "v3");
    for name in ["x.ozx", "x.ome.zarr.ozx", "x.bin", "archive"] {
        fs::copy(folder.path("t.zip"), folder.path(name)).unwrap();
        for line in [
            "info NAME",
            "tree NAME",
            "ls NAME",
            "get NAME --path a",
            "get NAME/a",
            "attrs NAME --path a",
            "stats NAME --path a",
            "dump -h NAME",
            "checksum NAME",
            "validate NAME",
            "diff NAME t.zip",
            "copy NAME copy-of-NAME",
            "copy t.zip NAME --at g",
            "attrs NAME --path a --set k=1",
            "rename NAME --path g h",
            "consolidate NAME",
            "repair NAME",
            "rm NAME --path h",
        ] {
            let run = folder.run(&line.replace("NAME", name));
            assert_eq!(run.code, 0, "{name}: {line}: {}", run.err);
        }
        assert!(folder.path(name).is_file());
        let head = fs::read(folder.path(name)).unwrap();
        assert!(head.starts_with(b"PK"), "{name}");
        folder.good(&format!("diff copy-of-{name} t.zip"));
    }
}

#[test]
fn a_new_ozx_is_an_archive() {
    let folder = Folder::new();
    folder.table("t.zarr", "v3");
    folder.good("copy t.zarr new.ozx");
    folder.good("create other.ozx --path a --shape 2 --dtype int8");
    for name in ["new.ozx", "other.ozx"] {
        assert!(fs::read(folder.path(name)).unwrap().starts_with(b"PK"), "{name}");
    }
    folder.good("diff t.zarr new.ozx");
}

/// Documents of office programs and packages are archives, too.
#[test]
fn nothing_is_created_in_an_archive_that_is_not_named_so() {
    let folder = Folder::new();
    folder.table("t.zip", "v3");
    folder.good("rm t.zip --all");
    fs::rename(folder.path("t.zip"), folder.path("empty.docx")).unwrap();
    folder.write("text.docx", b"PK\x03\x04 and so on");
    let before = fs::read(folder.path("text.docx")).unwrap();
    let run = folder.run("create text.docx --path a --shape 2 --dtype int8");
    assert_ne!(run.code, 0);
    assert_eq!(fs::read(folder.path("text.docx")).unwrap(), before);
}

/// A single-file OME-Zarr holds v3, whatever it is made of.
#[test]
fn an_ozx_holds_v3_with_the_documents_first() {
    let folder = Folder::new();
    folder.table("t.zarr", "v2");
    folder.good("copy t.zarr new.ozx");
    let archive = fs::read(folder.path("new.ozx")).unwrap();
    let find = |text: &str| archive.windows(text.len()).position(|it| it == text.as_bytes());
    // Behind the header of the first entry.
    assert_eq!(find("zarr.json"), Some(30));
    assert!(
        find(r#"{"ome":{"version":"0.5","zipFile":{"centralDirectory":{"jsonFirst":true}}}}"#)
            .is_some()
    );
    folder.good("diff t.zarr new.ozx");
    for line in [
        "copy t.zarr old.ozx --to v2",
        "create old.ozx --path a --shape 2 --dtype int8 --format v2",
    ] {
        let why = folder.bad(line, 2);
        assert!(why.contains(".ozx"), "{why}");
    }
    assert!(!folder.path("old.ozx").exists());
    // An archive holds one hierarchy, at its top.
    folder.good("copy t.zarr inside.ozx/inside");
    folder.good("diff t.zarr inside.ozx/inside");
    assert!(folder.good("ls inside.ozx").text().contains("inside"));
}

#[test]
fn nothing_is_created_under_the_name_of_another_format() {
    let folder = Folder::new();
    folder.table("t.zarr", "v3");
    for end in ["nc", "h5", "hdf5", "tif", "tiff", "grib", "NC"] {
        for line in [
            format!("copy t.zarr x.{end}"),
            format!("copy t.zarr x.{end} --dry-run"),
            format!("copy t.zarr x.{end} --to nczarr-v2"),
            format!("create x.{end} --path a --shape 2 --dtype int8"),
        ] {
            let why = folder.bad(&line, 2);
            assert!(why.contains("name it `x.zarr`"), "{line}: {why}");
            assert!(!folder.path(&format!("x.{end}")).exists(), "{line}");
        }
    }
    // What the hint names works; and what is there can be written to.
    folder.good("copy t.zarr x.nc#mode=nczarr,file --to nczarr-v2");
    fs::rename(folder.path("t.zarr"), folder.path("t.nc")).unwrap();
    folder.good("create t.nc --path b --shape 2 --dtype int8");
}

/// Some programs begin the names of entries with `./`.
#[test]
fn names_with_a_prefix_open_with_a_warning_and_validate_names_them() {
    let folder = Folder::new();
    folder.good("create x.zip --path x/a --shape 2 --dtype int8 --fill 7");
    let mut archive = fs::read(folder.path("x.zip")).unwrap();
    // As long as the names that they take the place of.
    for at in 0..archive.len() - 2 {
        if &archive[at..at + 2] == b"x/" {
            archive[at] = b'.';
        }
    }
    folder.write("x.zip", archive);
    let run = folder.run("get x.zip --path a");
    assert_eq!((run.code, run.text()), (0, "[7,7]\n"), "{}", run.err);
    assert!(run.err.contains("`./a/zarr.json` is read as `a/zarr.json`"), "{}", run.err);
    assert!(
        run.err.contains("`./zarr.json` is passed over, since `zarr.json` is there"),
        "{}",
        run.err
    );
    let run = folder.run("validate x.zip");
    assert_eq!(run.code, 1, "{}", run.text());
    assert!(
        run.text().contains("invalid_name: the archive's entry `./a/zarr.json`"),
        "{}",
        run.text()
    );
}

/// Some programs on Windows write `\` in the names of entries.
#[test]
fn names_with_backslashes_open_with_a_warning_and_are_copied_with_slashes() {
    let folder = Folder::new();
    folder.good("create s.zip --path g/a --shape 2 --dtype int8 --codec none");
    assert_eq!(folder.feed("put s.zip --path g/a", b"[5,6]").code, 0);
    // The same names in the local headers and in the directory.
    let mut archive = fs::read(folder.path("s.zip")).unwrap();
    for name in ["g/zarr.json", "g/a/zarr.json", "g/a/c/0"] {
        let turned = name.replace('/', "\\");
        while let Some(at) = archive.windows(name.len()).position(|it| it == name.as_bytes()) {
            archive[at..at + name.len()].copy_from_slice(turned.as_bytes());
        }
    }
    folder.write("w.zip", &archive);
    let run = folder.run("get w.zip --path g/a");
    assert_eq!((run.code, run.text()), (0, "[5,6]\n"), "{}", run.err);
    let warning = "w.zip: 3 entries, such as `g\\";
    assert!(run.err.contains(warning) && run.err.contains("read-only"), "{}", run.err);
    let run = folder.run("validate w.zip");
    assert!(run.code == 1 && run.text().contains(warning), "{}", run.text());
    let refused = folder.feed("put w.zip --path g/a", b"[7,8]");
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert_eq!(fs::read(folder.path("w.zip")).unwrap(), archive);
    assert_eq!(folder.run("copy w.zip c.zip").code, 0);
    folder.good("validate c.zip");
    folder.good("diff s.zip c.zip");
    assert_eq!(folder.good("get c.zip --path g/a").text(), "[5,6]\n");
}

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

//! Migrations into another place copy stored chunks, or refuse.

use std::fs;

use crate::common::Folder;

#[test]
fn a_migration_into_another_place_has_the_same_chunks() {
    for (from, to, chunks) in [
        ("v2", "v3", [("a/0.0", "a/c/0/0"), ("a/1.1", "a/c/1/1")]),
        ("v3", "v2", [("a/c/0/0", "a/0/0"), ("a/c/1/1", "a/1/1")]),
    ] {
        let folder = Folder::new();
        folder.table("old", from);
        folder.write("old/README.md", "about");
        let plan = folder.good(&format!("migrate old --to {to} --into new --dry-run"));
        assert!(plan.text().contains("1 array copied as stored, 0 encoded again"), "{from}");
        assert!(!folder.path("new").exists());
        folder.good(&format!("migrate old --to {to} --into new"));
        assert!(folder.good("info new").text().contains(&format!("in {to}")));
        for (old, new) in chunks {
            let read = |name: String| fs::read(folder.path(&name)).unwrap();
            assert_eq!(read(format!("old/{old}")), read(format!("new/{new}")), "{from}");
        }
        folder.good("diff old new");
        assert!(folder.path("new/README.md").exists());
        // The source is as it was.
        assert!(folder.good("info old").text().contains(&format!("in {from}")));
        let err = folder.bad(&format!("migrate old --to {to} --into new"), 2);
        assert!(err.contains("already exists"), "{err}");
        let err = folder.bad(&format!("migrate new --to {to} --into other"), 2);
        assert!(err.contains("already"), "{err}");
        let err = folder.bad(&format!("migrate old --to {to} --into old/a/b"), 2);
        assert!(!err.is_empty());
        // An archive, too.
        folder.good(&format!("migrate old --to {to} --into new.zip"));
        folder.good("diff old new.zip");
    }
}

/// Shards are v3's alone: their chunks would have to be encoded again.
#[test]
fn what_would_be_encoded_again_is_refused_by_name() {
    let folder = Folder::new();
    folder.table("s", "v3");
    folder.good("create s --path g/sharded --shape 8 --chunks 2 --shards 4 --dtype int16");
    let err = folder.bad("migrate s --to v2 --into new", 4);
    assert!(err.contains("/g/sharded: other chunks"), "{err}");
    assert!(!err.contains("/a: "), "{err}");
    assert!(err.contains("`zarr copy --to v2` encodes them again"), "{err}");
    assert!(!folder.path("new").exists());
    folder.good("copy s new --to v2");
}

/// What an interrupted migration left is told with the command that ends it.
#[test]
fn validate_names_the_command_that_finishes_a_migration() {
    let folder = Folder::new();
    folder.good("create s.zarr/a --format v2 --shape 4 --dtype int16");
    folder.good("migrate s.zarr --to v3");
    let run = folder.run("validate s.zarr");
    assert_eq!(run.code, 1, "{run:?}");
    let advice = "run the same command again; if it is complete, `zarr migrate TARGET --to v3 --finish` erases the old documents";
    assert!(run.text().contains(advice), "{run:?}");
    folder.good("migrate s.zarr --to v3 --finish");
    folder.good("validate s.zarr");
}

/// Attributes that were set after a migration are in the new documents: the old ones can go all the same.
#[test]
fn attributes_that_were_set_after_a_migration_are_kept() {
    let folder = Folder::new();
    folder.good("create a.zarr/t --format v2 --shape 4 --dtype float32");
    folder.good("migrate a.zarr --to v3");
    folder.run("attrs a.zarr/t --set units=K");
    let refused = folder.bad("migrate a.zarr --to v3 --finish", 2);
    assert!(refused.contains("`t/zarr.json` (attribute `units`)"), "{refused}");
    assert!(refused.contains("--keep-changes"), "{refused}");
    folder.good("migrate a.zarr --to v3 --finish --keep-changes");
    assert_eq!(folder.good("attrs a.zarr/t units").text(), "K\n");
    assert!(!folder.path("a.zarr/t/.zarray").exists());
}

/// A node inside a hierarchy would not be found there in another format, and a hierarchy that is not migrated yet is not finished.
#[test]
fn parts_and_unfinished_migrations_are_refused() {
    let folder = Folder::new();
    folder.good("create m.zarr/g/b --shape 4 --dtype int32 --format v2");
    for part in ["m.zarr/g", "m.zarr/g/b"] {
        let refused = folder.bad(&format!("migrate {part} --to v3"), 2);
        assert!(refused.contains("a node inside a hierarchy"), "{refused}");
    }
    let refused = folder.bad("migrate m.zarr --to v3 --finish", 2);
    assert!(refused.contains("run it again without `--finish` first"), "{refused}");
    // Back again, before the old documents are gone.
    folder.good("migrate m.zarr --to v3");
    let back = folder.run("migrate m.zarr --to v2");
    assert!(back.code == 0 && back.err.contains("wrote nothing"), "{}", back.err);
    folder.run("migrate m.zarr --to v2 --finish");
    assert!(folder.good("info m.zarr").text().contains("v2"));
}

/// NaN among the attributes that are consolidated does not look like a change.
#[test]
fn a_migration_with_nan_in_consolidated_metadata_is_finished() {
    let folder = Folder::new();
    folder.good("create n.zarr/a --shape 2 --dtype int32 --format v2");
    folder.write("n.zarr/a/.zattrs", r#"{"a": NaN}"#);
    folder.run("consolidate n.zarr");
    for _ in 0..2 {
        assert_eq!(folder.run("migrate n.zarr --to v3").code, 0);
    }
    let finished = folder.run("migrate n.zarr --to v3 --finish");
    assert_eq!(finished.code, 0, "{}", finished.err);
}

//! What `zarr copy` and `zarr tree` say of what they leave out or change, and their exit codes.

mod common;

use common::Folder;

/// Decision 0136: beyond a quarter of the chunks the fill value stays, and the program says so.
#[test]
fn a_missing_value_that_is_not_kept_is_told_and_refused_with_strict() {
    let folder = Folder::new();
    let create = "create a.zarr --format v3 --shape 8 --chunks 1 --dtype int32 --fill 7 --dims x --attr _FillValue=-9";
    assert_eq!(folder.run(create).code, 0);
    let copied = folder.run("copy a.zarr b.zarr --to v2");
    assert_eq!(copied.code, 0, "{}", copied.err);
    let said = "not kept: /: the missing value -9; 8 of 8 chunks were never stored, and readers of v2 mask their fill value 7";
    assert!(copied.err.contains(said), "{}", copied.err);
    let refused = folder.run("copy a.zarr c.zarr --to v2 --strict");
    assert_eq!(refused.code, 4, "{}", refused.err);
    assert!(!folder.path("c.zarr/.zarray").exists());
}

/// Issue 13, point 25.
#[test]
fn a_chunk_shape_of_another_rank_is_an_error() {
    let folder = Folder::new();
    assert_eq!(folder.run("create a.zarr --shape 8,8 --dtype int8").code, 0);
    let refused = folder.run("copy a.zarr b.zarr --chunks 2");
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("chunks of 1 axes for an array of 2"), "{}", refused.err);
    assert_eq!(folder.run("copy a.zarr b.zarr --chunks 2,2").code, 0);
}

/// Issue 13, point 26.
#[cfg(not(windows))]
#[test]
fn what_is_skipped_is_named() {
    let folder = Folder::new();
    for path in ["/good", "/x:y"] {
        let create = format!("create a.zarr --format v2 --path {path} --shape 2 --dtype int8");
        assert_eq!(folder.run(&create).code, 0);
    }
    let refused = folder.run("copy a.zarr b.zarr --to draft-2020");
    assert!(refused.code != 0 && refused.err.contains("x:y"), "{}", refused.err);
    let copied = folder.run("copy a.zarr b.zarr --to draft-2020 --skip-unsupported");
    assert_eq!(copied.code, 0, "{}", copied.err);
    let lines: Vec<_> = copied.err.lines().filter(|line| line.starts_with("skipped: ")).collect();
    assert_eq!(lines.len(), 1, "{}", copied.err);
    assert!(lines[0].starts_with("skipped: /x:y: "), "{}", copied.err);
    assert_eq!(folder.run("tree b.zarr").text(), "/\n└── good  int8 (2,)\n");
}

/// Decision 0137: a name is one line of the tree, whatever characters it has.
#[cfg(not(windows))]
#[test]
fn control_characters_of_names_are_escaped() {
    let folder = Folder::new();
    assert_eq!(folder.run("create a.zarr --format v2 --group").code, 0);
    folder.write("a.zarr/a\nb\u{1b}/.zgroup", r#"{"zarr_format": 2}"#);
    assert_eq!(folder.run("tree a.zarr").text(), "/\n└── a\\nb\\u{1b}\n");
}

/// Decision 0137.
#[test]
fn a_folder_without_a_document_is_shown_with_a_warning() {
    let folder = Folder::new();
    let create = "create a.zarr --format v2 --path A/1/a --shape 2 --dtype int8";
    assert_eq!(folder.run(create).code, 0);
    std::fs::remove_file(folder.path("a.zarr/A/.zgroup")).unwrap();
    let tree = folder.run("tree a.zarr");
    assert_eq!(tree.text(), "/\n└── A\n    └── 1\n        └── a  int8 (2,)\n");
    assert!(tree.err.contains("warning: /A: has no document"), "{}", tree.err);
    let copied = folder.run("copy a.zarr b.zarr --to v3");
    assert!(
        copied.err.contains("/A: the group has no document; the copy has one"),
        "{}",
        copied.err
    );
    assert!(folder.path("b.zarr/A/zarr.json").exists());
}

//! The program bounds what a store may make it hold, and says how to raise a bound.

use crate::common::Folder;

#[test]
fn a_document_beyond_the_limit_names_the_option_that_raises_it() {
    let folder = Folder::new();
    let group = r#"{"zarr_format":3,"node_type":"group","attributes":{"a":1}}"#;
    folder.write("s/zarr.json", group);
    let said = folder.bad(&format!("info s --max-document {}", group.len() - 1), 5);
    assert!(said.contains("--max-document"), "{said}");
    assert!(!said.contains("Limits::"), "{said}");
    folder.good(&format!("info s --max-document {}", group.len()));
}

#[test]
fn a_chunk_beyond_the_limit_names_the_option_that_raises_it() {
    let folder = Folder::new();
    folder.good("create s --path /a --format v3 --shape 4000000 --chunks 4000000 --dtype uint8 --codec gzip:1");
    folder.feed("put s --path /a --region 7:8 --format json", b"[5]");
    let said = folder.bad("get s --path /a --region 6:9 --max-decoded 1000000", 5);
    assert!(said.contains("--max-decoded"), "{said}");
    let said = folder.good("get s --path /a --region 6:9 --max-decoded 4000000");
    assert_eq!(said.text().trim(), "[0,5,0]");
}

/// What a document says is held once, at a small multiple of its size: neither a second time, nor as text.
#[test]
#[cfg(target_os = "linux")]
fn info_holds_a_hostile_document_once() {
    use std::process::Command;

    let folder = Folder::new();
    // 8 MB, which are 170 MB when they are held, and 340 MB when they are held twice.
    let attributes = format!(r#"{{"a":[{}]}}"#, vec!["[0]"; 2_000_000].join(","));
    folder.write("s/.zgroup", r#"{"zarr_format":2}"#);
    folder.write("s/.zattrs", &attributes);
    let limited = format!("ulimit -v 300000; exec {} info s --json", env!("CARGO_BIN_EXE_zarr"));
    let run = Command::new("sh").args(["-c", &limited]).current_dir(folder.path("")).output();
    let run = run.unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(run.stdout.len() > attributes.len());
}

/// Arrays near the end of what 64 bits count.
#[test]
fn arrays_of_gigantic_shapes_are_copied_or_refused() {
    let folder = Folder::new();
    folder.good("create hx.zarr --path a --shape 18446744073709551615 --dtype int32");
    let put = folder.feed("put hx.zarr/a --region=-1", b"[7]");
    assert_eq!((put.code, &*put.err), (0, ""));
    let copied = folder.run("copy hx.zarr hxo");
    assert_eq!(copied.code, 0, "{}", copied.err);
    assert_eq!(folder.good("get hxo/a --region=-1").text(), "[7]\n");
    let shape = "--shape 9223372036854775807,9223372036854775807 --chunks 512,512";
    folder.good(&format!("create c.zarr --path a {shape} --dtype int32"));
    folder.good("create c.zarr --path b --shape 1 --dtype int32");
    let why = folder.bad("copy c.zarr cc.zarr", 2);
    assert!(why.contains("/a: ") && why.contains("more chunks than 64 bits count"), "{why}");
    assert!(why.contains("--chunks") && !why.contains("--resume"), "{why}");
    assert!(!folder.path("cc.zarr").exists(), "nothing is written");
    let skipped = folder.run("copy c.zarr cc.zarr --skip-unsupported");
    assert_eq!(skipped.code, 0, "{}", skipped.err);
    folder.good("get cc.zarr/b");
    let told = folder.run("validate c.zarr --expect-complete");
    let said = format!("{}{}", told.text(), told.err);
    assert!(said.contains("more chunks than 64 bits count, of which 0 are stored"), "{said}");
    assert_ne!(told.code, 0, "{said}");
    let put = folder.feed("append c.zarr/a --axis 0", b"[1]");
    assert!(put.code == 2 && !put.err.contains("length 0"), "{}", put.err);
}

/// The input is wrong, and nothing that is stored.
#[test]
fn raw_input_that_is_no_element_is_wrong_input() {
    let folder = Folder::new();
    for (dtype, input) in [
        ("bool", &[2u8][..]),
        ("<U1", &[0, 0xd8, 0, 0]),
        ("string", &[1, 0, 0, 0, 0xff]),
        ("optional(int8)", &[3, 0]),
    ] {
        folder.good(&format!("create a --shape 1 --dtype '{dtype}' --overwrite"));
        let put = folder.feed("put a --format raw", input);
        let named = put.err.contains("standard input, read as raw elements: ");
        assert!(put.code == 2 && named, "{dtype}: {} {}", put.code, put.err);
    }
}

#[test]
fn small_messages_are_true() {
    let folder = Folder::new();
    folder.good("create e --path a --shape 2,0,2 --dtype int8");
    let why = folder.bad("get e/a --format csv", 2);
    assert!(why.contains("3 axes are not of length 1"), "{why}");
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let put = folder.feed("put e/a", deep.as_bytes());
    assert!(put.err.contains("standard input, read as JSON, nests deeper than"), "{}", put.err);
    let why = folder.bad(&format!("create f --path a --shape 1 --dtype int8 --fill {deep}"), 2);
    assert!(why.contains("--fill: the value nests deeper than 128 levels"), "{why}");
    let put = folder.feed("put e/a", b"[1");
    assert!(put.err.contains("standard input, read as JSON, is not JSON"), "{}", put.err);
    folder.write("k.zip.zarr-part", "");
    let why = folder.bad("info k.zip", 3);
    assert!(!why.contains("did you mean"), "{why}");
}

/// More elements than anybody waits for are refused by the limit's name, and not begun.
#[test]
fn an_array_that_nobody_can_print_is_refused_without_a_region() {
    let folder = Folder::new();
    for chunks in ["1,1", "1048576,1"] {
        let shape = format!("--shape 1099511627776,1099511627776 --chunks {chunks}");
        folder.good(&format!("create a --overwrite --dtype int32 {shape}"));
        for format in ["json", "raw", "jsonl"] {
            let why = folder.bad(&format!("get a --format {format}"), 2);
            assert!(why.contains("`MAX_PRINTED`") && why.contains("--region"), "{why}");
        }
        assert_eq!(folder.good("get a --region 5:7,9").text(), "[[0],[0]]\n");
    }
}

//! The program bounds what a store may make it hold, and says how to raise a bound (decision 0142).

mod common;

use common::Folder;

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

/// Decision 0142: what a document says is held once, at a small multiple of its size: neither a second time, nor as text.
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

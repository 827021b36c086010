//! What the program asks of a web server: `info` takes one round trip, and `tree` says what it cannot know.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use crate::server::Server;

fn zarr(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_zarr")).args(arguments).output();
    output.expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The files of a folder, by their paths in it.
fn files(folder: &Path, above: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            files(&entry.path(), &format!("{name}/"), found)
        } else {
            drop(found.insert(name, std::fs::read(entry.path()).expect("a file")))
        }
    }
}

/// A server that shows a group with an array in this format, consolidated or not.
fn served(format: &str, consolidated: bool) -> Server {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("x.zarr").display().to_string();
    let group = zarr(&["create", &place, "--format", format, "--group"]);
    assert!(group.status.success(), "{}", text(&group.stderr));
    let array =
        ["create", &place, "--path", "a", "--shape", "10", "--chunks", "5", "--dtype", "int32"];
    let array = zarr(&array);
    assert!(array.status.success(), "{}", text(&array.stderr));
    if consolidated {
        assert!(zarr(&["consolidate", &place]).status.success());
    }
    let mut found = BTreeMap::new();
    files(folder.path(), "", &mut found);
    let server = Server::start();
    found.iter().for_each(|(name, value)| server.set(name, value));
    server
}

/// All documents are asked for at once, and nothing after them, but for an index of a group's folder, which tells
/// copies that are under way.
#[test]
fn info_of_a_url_takes_one_round_trip() {
    for (format, consolidated, below, requests) in
        [("v3", false, "/a", 5), ("v3", false, "", 5), ("v3", true, "", 5), ("v2", false, "/a", 5)]
    {
        let server = served(format, consolidated);
        // Nobody is answered before so many ask at once.
        server.wait_for(requests);
        let url = server.url(&format!("x.zarr{below}"));
        let info = zarr(&["info", &url]);
        assert!(info.status.success(), "{}", text(&info.stderr));
        let (asked, at_once) = server.asked();
        let is_index = |request: &String| below.is_empty() && request == "GET x.zarr/";
        let others = asked[requests..].iter().filter(|request| !is_index(request)).count();
        assert_eq!(others, 0, "{format}{below}: {asked:?}");
        assert!(asked.len() <= requests + 1, "{format}{below}: {asked:?}");
        assert_eq!(at_once, requests);
    }
}

/// A group of v2 might be a dataset of netCDF 4.8.0, whose own document no other tells.
#[test]
fn info_of_a_group_of_v2_looks_for_one_document_more() {
    for consolidated in [false, true] {
        let server = served("v2", consolidated);
        server.wait_for(5);
        let info = zarr(&["info", &server.url("x.zarr")]);
        assert!(info.status.success(), "{}", text(&info.stderr));
        let (asked, _) = server.asked();
        assert_eq!(asked[5], "GET x.zarr/.nczarr", "{asked:?}");
        assert!(asked[6..].is_empty() || asked[6..] == ["GET x.zarr/"], "{asked:?}");
    }
}

#[test]
fn tree_of_a_store_that_cannot_list_says_what_would_do() {
    for format in ["v2", "v3", "draft-2020"] {
        let server = served(format, false);
        let tree = zarr(&["tree", &server.url("x.zarr")]);
        let said = text(&tree.stderr);
        assert_eq!(tree.status.code(), Some(2), "{said}");
        assert!(said.contains("the store is not listable"), "{said}");
        assert!(said.contains("zarr consolidate"), "{said}");
    }
    for format in ["v2", "v3"] {
        let server = served(format, true);
        let tree = zarr(&["tree", &server.url("x.zarr")]);
        assert!(tree.status.success(), "{}", text(&tree.stderr));
        assert!(text(&tree.stdout).contains('a'), "{}", text(&tree.stdout));
    }
}

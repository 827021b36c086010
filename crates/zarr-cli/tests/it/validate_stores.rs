//! `zarr validate` finds the same in every store that lists its keys, and says of others what it could not check.

use crate::common::Folder;
use crate::common::stores::stores;
use crate::server::Server;
use zarr::store::{Payload, StoreKey, SyncStore};
use zarr::{Json, Object};

/// The kind and the key of each object of a list in the program's answer.
fn listed(text: &str, list: &str) -> Vec<(String, String)> {
    let json = Json::parse(text.as_bytes()).unwrap();
    let of = |object: &Object, name: &str| {
        object.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
    };
    let list = json.as_object().unwrap().get(list).unwrap().as_array().unwrap();
    let list = list.iter().map(|problem| problem.as_object().unwrap());
    let mut list: Vec<_> = list.map(|problem| (of(problem, "kind"), of(problem, "key"))).collect();
    list.sort();
    list
}

fn key(text: &str) -> StoreKey {
    StoreKey::new(text).unwrap()
}

fn set(store: &dyn SyncStore, at: &str, value: &[u8]) {
    store.set(&key(at), Payload::from(value)).unwrap();
}

/// Damages chunks, keys and documents; returns what is to be found.
fn damage(store: &dyn SyncStore) -> Vec<(String, String)> {
    let chunk = store.value(&key("a/c/0/1")).unwrap().unwrap();
    set(store, "a/c/0/1", &chunk[..chunk.len() - 3]);
    store.erase(&key("a/c/1/0")).unwrap();
    set(store, "a/c/9/9", &chunk);
    set(store, "a/c/7/7/7", b"x");
    set(store, "b/zarr.json", b"{\"zarr_for");
    store.flush().unwrap();
    let expected = [
        ("missing_chunk", "a/c/1/0"),
        ("outside_grid", "a/c/9/9"),
        ("stray_key", "a/c/7/7/7"),
        ("undecodable", "a/c/0/1"),
        ("unreadable_document", "b/zarr.json"),
    ];
    expected.map(|(kind, key)| (kind.to_owned(), key.to_owned())).to_vec()
}

/// With `ZARR_TEST_S3` a bucket is among the stores, as in `.ci/full servers`.
#[test]
fn every_store_that_lists_shows_the_same_problems() {
    let folder = Folder::new();
    folder.table("source", "v3");
    for kind in stores(&folder) {
        let url = (kind.url)(0);
        let (code, _, err) = kind.run(&folder, &format!("copy source {url}"));
        assert_eq!(code, 0, "{}: {err}", kind.name);
        let line = format!("validate {url} --expect-complete --json");
        let (code, text, err) = kind.run(&folder, &line);
        assert_eq!((code, listed(&text, "problems")), (0, vec![]), "{}: {err}", kind.name);
        let expected = damage(&*kind.open(&url).unwrap().to_sync());
        let (code, text, err) = kind.run(&folder, &line);
        assert_eq!((code, listed(&text, "problems")), (1, expected), "{}: {err}", kind.name);
        assert_eq!(listed(&text, "notes"), [], "{}", kind.name);
        println!("validate: the problems of a {} are found", kind.name);
    }
}

/// A web server lists nothing.
#[test]
fn what_a_store_that_does_not_list_keeps_from_being_checked_is_said() {
    let folder = Folder::new();
    folder.table("data", "v3");
    let served = || {
        let server = Server::start();
        let store = stores(&folder)[0].open(&folder.path("data").display().to_string()).unwrap();
        let store = store.to_sync();
        for key in store.list().unwrap() {
            server.set(&format!("data/{key}"), &store.value(&key).unwrap().unwrap());
        }
        server
    };
    let not_checked = |text: &str| {
        let notes = listed(text, "notes");
        assert_eq!(notes, [("not_checked".to_owned(), String::new())], "{text}");
    };

    // Without consolidated metadata nothing leads to the array: that is said, and no more is claimed.
    let server = served();
    server.set("data/a/c/0/1", b"x");
    let url = server.url("data");
    let run = folder.run(&format!("validate {url} --json"));
    assert_eq!((run.code, listed(run.text(), "problems")), (0, vec![]));
    not_checked(run.text());
    assert!(run.text().contains("\"nodes\":1"), "{}", run.text());
    let run = folder.run(&format!("validate {url}"));
    for told in [
        "does not list its keys, and there are no consolidated metadata",
        "Not checked: nodes below it, stray keys, what writers left, chunks outside the grid",
        "no problems found in what could be checked: checked 1 node",
    ] {
        assert!(run.text().contains(told), "{told}: {}", run.text());
    }
    // The array itself is known by its URL.
    let run = folder.run(&format!("validate {url}/a --json"));
    assert_eq!((run.code, listed(run.text(), "problems").len()), (1, 1), "{}", run.text());

    // With them, documents and chunks are asked for. Strays and what is outside the grid stay hidden, which is said.
    folder.good("consolidate data");
    let server = served();
    let url = server.url("data");
    server.set("data/a/c/0/1", b"x");
    server.forget("data/a/c/1/0");
    server.set("data/a/c/9/9", b"x");
    server.set("data/a/notes.txt", b"x");
    let run = folder.run(&format!("validate {url} --expect-complete --json"));
    let expected = [("missing_chunk", "a/c/1/0"), ("undecodable", "a/c/0/1")];
    let expected = expected.map(|(kind, key)| (kind.to_owned(), key.to_owned()));
    assert_eq!((run.code, listed(run.text(), "problems")), (1, expected.to_vec()));
    not_checked(run.text());
    let run = folder.run(&format!("validate {url}"));
    let told = "Not checked: nodes that they do not name, stray keys, what writers left, chunks outside the grids";
    assert!(run.text().contains(told), "{}", run.text());
}

//! A session keeps what stores promise, for the keys that Icechunk has.

use std::collections::BTreeMap;
use std::sync::Arc;

use zarr::format::of_dialect;
use zarr::store::{
    GetOptions, ListOptions, Payload, Precondition, SnapshotOptions, Store, StoreKey, StorePrefix,
    SyncStore,
};
use zarr::{Dialect, ErrorKind, Hierarchy, StoreError};
use zarr_icechunk::{MAIN, Repository};
use zarr_testkit::check_contents;

use crate::fixtures::{Folder, elements, hierarchy, main_branch, options, with_shared_array};

fn key(key: &str) -> StoreKey {
    StoreKey::new(key).unwrap()
}

fn prefix(prefix: &str) -> StorePrefix {
    StorePrefix::new(prefix).unwrap()
}

const GROUP: &str = r#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#;

/// The document of an array of bytes.
fn array(shape: &[u64], chunks: &[u64]) -> String {
    format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": {shape:?}, "data_type": "uint8", "fill_value": 0,
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": {chunks:?}}}}},
            "chunk_key_encoding": {{"name": "default", "configuration": {{"separator": "/"}}}},
            "codecs": [{{"name": "bytes"}}], "attributes": {{}}}}"#
    )
}

/// Documents and chunks, of which some are kept in manifests and some in files of their own: the limit is 512 bytes.
fn contents() -> BTreeMap<String, Vec<u8>> {
    let large: Vec<u8> = (0..100_000u32).map(|i| (i / 7) as u8).collect();
    let entries: [(&str, Vec<u8>); 12] = [
        ("zarr.json", GROUP.into()),
        ("g/zarr.json", GROUP.into()),
        ("g/h/zarr.json", array(&[4, 6], &[2, 2]).into()),
        ("g/h/c/0/0", b"four".into()),
        ("g/h/c/1/2", b"last".into()),
        ("g/h/c/1/0", large),
        ("scalar/zarr.json", array(&[], &[]).into()),
        ("scalar/c", b"1".into()),
        ("empty/zarr.json", array(&[9], &[3]).into()),
        // Neighbours in the order of keys, and names that look like others' keys.
        ("g.a/zarr.json", GROUP.into()),
        ("c/zarr.json", array(&[600], &[600]).into()),
        ("c/c/0", vec![7; 600]),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn fill(store: &dyn SyncStore) {
    // In the order of their paths documents come before chunks.
    let mut contents: Vec<_> = contents().into_iter().collect();
    contents.sort_by_key(|(key, _)| !key.ends_with("zarr.json"));
    for (name, value) in contents {
        store.set(&key(&name), Payload::new(value)).unwrap();
    }
}

fn names(store: &dyn SyncStore, below: &str) -> Vec<String> {
    let listing = store.list_prefix(&prefix(below)).unwrap();
    listing.keys.iter().map(ToString::to_string).collect()
}

/// A new session of a new repository.
fn session(folder: &Folder) -> (Repository, Arc<dyn Store>) {
    let repository = Repository::create(folder.path()).unwrap();
    let session = repository.writable_session(MAIN).unwrap();
    (repository, session.store())
}

#[test]
fn what_is_set_is_read_before_and_after_the_commit() {
    let folder = Folder::new();
    let repository = Repository::create(folder.path()).unwrap();
    let session = repository.writable_session(MAIN).unwrap();
    check_contents(&session.store(), &BTreeMap::new());
    fill(&*session.store().to_sync());
    check_contents(&session.store(), &contents());
    session.commit("everything").unwrap();
    check_contents(&session.store(), &contents());
    let again = Repository::open(folder.path()).unwrap();
    check_contents(&again.writable_session(MAIN).unwrap().store(), &contents());
    let reader = again.readonly_session(&main_branch()).unwrap().store();
    assert!(!reader.capabilities().write && !reader.capabilities().swap);
    check_contents(&reader, &contents());
    let refused = reader.to_sync().set(&key("zarr.json"), Payload::new(GROUP.as_bytes()));
    assert!(matches!(refused, Err(StoreError::NotCapable { .. })), "{refused:?}");
}

#[test]
fn other_keys_are_absent_and_cannot_be_set() {
    let folder = Folder::new();
    let (_repository, store) = session(&folder);
    let store = store.to_sync();
    fill(&*store);
    for other in [".zgroup", "g/.zattrs", "notes.txt", "g/h/c.0.0", "g/h/0.0", "gc/0", "c/c/00"] {
        assert_eq!(store.value(&key(other)).unwrap(), None, "{other}");
        assert!(store.open(&key(other), SnapshotOptions::default()).unwrap().is_none(), "{other}");
        store.erase(&key(other)).unwrap();
        let refused = store.set(&key(other), Payload::new(b"v")).unwrap_err();
        assert!(matches!(refused, StoreError::InvalidKey { .. }), "{other}: {refused}");
        assert!(refused.to_string().contains("zarr.json"), "{refused}");
    }
    // Keys of chunks that the arrays do not have.
    for other in ["g/c/0", "absent/c/0", "g/h/c/0", "g/h/c/0/0/0", "g/h/c/2/0", "scalar/c/0"] {
        assert_eq!(store.value(&key(other)).unwrap(), None, "{other}");
        store.erase(&key(other)).unwrap();
        let refused = store.set(&key(other), Payload::new(b"v")).unwrap_err();
        assert!(matches!(refused, StoreError::InvalidKey { .. }), "{other}: {refused}");
    }
    assert_eq!(names(&*store, ""), contents().into_keys().collect::<Vec<_>>());
}

#[test]
fn documents_and_chunks_that_icechunk_refuses_are_errors_and_change_nothing() {
    let folder = Folder::new();
    let (_repository, store) = session(&folder);
    let store = store.to_sync();
    fill(&*store);
    for (name, value) in [
        ("zarr.json", "no JSON"),
        ("zarr.json", r#"{"zarr_format": 3, "node_type": "other"}"#),
        ("new/zarr.json", r#"{"zarr_format": 3, "node_type": "array"}"#),
        ("g/h/c/0/0", ""),
        ("g/zarr.json", &array(&[2], &[2])),
    ] {
        let refused = store.set(&key(name), Payload::new(value.as_bytes()));
        let refused = refused.expect_err(name).to_string();
        assert!(!refused.contains('\n') && !refused.contains("context"), "{refused}");
    }
    for (name, value) in contents() {
        assert_eq!(store.value(&key(&name)).unwrap().as_deref(), Some(&value[..]), "{name}");
    }
    assert_eq!(names(&*store, "").len(), contents().len());
}

#[test]
fn erasing_a_prefix_erases_all_keys_below_it_and_no_others() {
    for below in ["", "g/", "g/h/", "g/h/c/", "g/h/c/1/", "c/", "absent/", "scalar/", "empty/c/"] {
        // Of chunks and nodes of the session itself, and of those of an earlier commit.
        for is_committed in [false, true] {
            let folder = Folder::new();
            let (repository, mut store) = session(&folder);
            fill(&*store.to_sync());
            if is_committed {
                let session = repository.writable_session(MAIN).unwrap();
                fill(&*session.store().to_sync());
                session.commit("everything").unwrap();
                store = repository.writable_session(MAIN).unwrap().store();
            }
            store.to_sync().erase_prefix(&prefix(below)).unwrap();
            let mut left = contents();
            left.retain(|key, _| !key.starts_with(below));
            check_contents(&store, &left);
        }
    }
}

#[test]
fn nodes_without_their_groups_are_listed_and_erased() {
    let folder = Folder::new();
    let (_repository, store) = session(&folder);
    let sync = store.to_sync();
    sync.set(&key("a/b/zarr.json"), Payload::new(array(&[2], &[1]).as_bytes())).unwrap();
    sync.set(&key("a/b/c/1"), Payload::new(b"v")).unwrap();
    let expected = BTreeMap::from([
        ("a/b/zarr.json".to_owned(), array(&[2], &[1]).into_bytes()),
        ("a/b/c/1".to_owned(), b"v".to_vec()),
    ]);
    check_contents(&store, &expected);
    sync.erase_prefix(&prefix("a/")).unwrap();
    check_contents(&store, &BTreeMap::new());
}

#[test]
fn prefixes_are_listed_level_by_level() {
    let folder = Folder::new();
    let (_repository, store) = session(&folder);
    let store = store.to_sync();
    fill(&*store);
    let listed = |below: &str, how| {
        let listing = store.list_dir(&prefix(below), how).unwrap();
        let names = listing.keys.iter().map(ToString::to_string);
        names.chain(listing.prefixes.iter().map(ToString::to_string)).collect::<Vec<_>>()
    };
    let exactly = ListOptions::default();
    assert_eq!(listed("", exactly), ["zarr.json", "c/", "empty/", "g.a/", "g/", "scalar/"]);
    assert_eq!(listed("g/", exactly), ["g/zarr.json", "g/h/"]);
    assert_eq!(listed("g/h/", exactly), ["g/h/zarr.json", "g/h/c/"]);
    assert_eq!(listed("g/h/c/", exactly), ["g/h/c/0/", "g/h/c/1/"]);
    assert_eq!(listed("g/h/c/1/", exactly), ["g/h/c/1/0", "g/h/c/1/2"]);
    assert_eq!(listed("scalar/", exactly), ["scalar/c", "scalar/zarr.json"]);
    assert_eq!(listed("empty/", exactly), ["empty/zarr.json"]);
    assert_eq!(listed("empty/", ListOptions::CANDIDATES), ["empty/zarr.json", "empty/c/"]);
}

/// Of a document, of a chunk that is kept in a manifest, and of one in a file.
#[test]
fn a_value_is_swapped_only_if_it_is_what_it_was() {
    let folder = Folder::new();
    let (_repository, store) = session(&folder);
    let store = store.to_sync();
    fill(&*store);
    let (one, two) = (vec![1; 600], vec![2; 600]);
    let (g1, g2) = (GROUP.to_owned(), GROUP.replace("{}", r#"{"a": 1}"#));
    for (name, first, second) in [
        ("g/h/c/0/2", b"one".to_vec(), b"two".to_vec()),
        ("g/h/c/0/1", one, two),
        ("new/zarr.json", g1.into_bytes(), g2.into_bytes()),
    ] {
        let key = key(name);
        let put = |value: Option<&[u8]>, only_if: Precondition<'_>| {
            store.put(&key, value.map(Payload::new), only_if).unwrap()
        };
        let version =
            || store.get(&key, GetOptions::versioned()).unwrap().unwrap().version.unwrap();
        assert!(put(Some(&first), Precondition::Absent), "{name}");
        assert!(!put(Some(&second), Precondition::Absent), "{name}");
        let was = version();
        assert!(put(Some(&second), Precondition::Version(&was)), "{name}");
        let is = version();
        assert!(!put(Some(&first), Precondition::Version(&was)), "{name}");
        assert!(!put(None, Precondition::Version(&was)), "{name}");
        assert_eq!(store.value(&key).unwrap().as_deref(), Some(&second[..]), "{name}");
        assert!(put(None, Precondition::Version(&is)), "{name}");
        assert_eq!(store.value(&key).unwrap(), None, "{name}");
        assert!(!put(Some(&first), Precondition::Version(&is)), "{name}");
    }
}

#[test]
fn threads_of_one_session_lose_no_change_of_each_other() {
    let folder = Folder::new();
    let repository = Repository::create(folder.path()).unwrap();
    with_shared_array(&repository);
    let session = repository.writable_session(MAIN).unwrap();
    let hierarchy = hierarchy(&session);
    let array = hierarchy.array("/shared").unwrap();
    std::thread::scope(|scope| {
        // Both write into each chunk, which has two elements.
        for thread in 0..2 {
            let array = &array;
            scope.spawn(move || {
                for round in 1..=20 {
                    for chunk in 0..4 {
                        array.write(chunk * 2 + thread..chunk * 2 + thread + 1, &[round]).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(array.read::<i32>(..).unwrap(), [20; 8]);
}

/// Every change is of a value that no other thread has changed meanwhile: so many changes, so high the number.
#[test]
fn threads_that_swap_count_every_change() {
    const THREADS: usize = 4;
    const CHANGES: usize = 150;
    let folder = Folder::new();
    let (_repository, store) = session(&folder);
    let store = store.to_sync();
    fill(&*store);
    let document = |number| GROUP.replace("{}", &format!(r#"{{"number": {number}}}"#));
    let number = |value: &[u8]| {
        let digits: Vec<u8> = value.iter().copied().filter(u8::is_ascii_digit).collect();
        // The document's first digit is of `"zarr_format": 3`.
        let digits = if value.starts_with(b"{") { &digits[1..] } else { &digits[..] };
        std::str::from_utf8(digits).unwrap().parse::<usize>().unwrap()
    };
    // In a manifest, in a file, and a document.
    type Write<'a> = &'a (dyn Fn(usize) -> Vec<u8> + Sync);
    let cases: [(&str, Write<'_>); 3] = [
        ("g/h/c/0/1", &|number| format!("{number}").into_bytes()),
        ("g/h/c/0/2", &|number| format!("{number:0600}").into_bytes()),
        ("g/zarr.json", &|number| document(number).into_bytes()),
    ];
    for (name, write) in cases {
        let key = key(name);
        store.set(&key, Payload::new(write(0))).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let mut changes = 0;
                    while changes < CHANGES {
                        let got = store.get(&key, GetOptions::versioned()).unwrap().unwrap();
                        let next = write(number(&got.bytes.unwrap()) + 1);
                        let was = got.version.unwrap();
                        let only_if = Precondition::Version(&was);
                        changes +=
                            usize::from(store.put(&key, Some(next.into()), only_if).unwrap());
                    }
                });
            }
        });
        let value = store.value(&key).unwrap().unwrap();
        assert_eq!(number(&value), THREADS * CHANGES, "{name}");
    }
}

#[test]
fn one_of_several_creators_of_a_node_succeeds() {
    let folder = Folder::new();
    let (_repository, store) = session(&folder);
    let created = std::thread::scope(|scope| {
        let create = || {
            Hierarchy::create(store.clone(), of_dialect(Dialect::V3), &options().read_write())
                .map_err(|e| e.kind())
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(create)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap().map(drop)).collect::<Vec<_>>()
    });
    assert_eq!(created.iter().filter(|result| result.is_ok()).count(), 1, "{created:?}");
    assert_eq!(created.iter().filter(|&&result| result == Err(ErrorKind::Exists)).count(), 3);
}

#[test]
fn other_dialects_are_refused() {
    let folder = Folder::new();
    let (_repository, store) = session(&folder);
    let refused =
        Hierarchy::create(store, of_dialect(Dialect::V2), &options().read_write()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Argument);
    assert!(refused.to_string().contains("only Zarr v3"), "{refused}");
}

/// A copy keeps a journal in its target, and sets documents after all chunks; in a session neither is possible.
#[test]
fn a_hierarchy_is_copied_into_a_session() {
    let folder = Folder::new();
    let from = zarr::create("memory://copied into a session", Dialect::V2).unwrap();
    let array = from.create_array("/g/a").shape(&[100]).chunks(&[30]);
    let array = array.data_type(zarr::DataType::Int32).create().unwrap();
    let numbers: Vec<i32> = (0..100).collect();
    array.write(.., &numbers).unwrap();

    let repository = Repository::create(folder.path()).unwrap();
    let session = repository.writable_session(MAIN).unwrap();
    let copy = |to: &Hierarchy, at: &str| {
        zarr::tools::copy(&from.node("/").unwrap(), to, at, &Default::default()).unwrap();
    };
    let options = options().read_write();
    let place = zarr::tools::copy_place_in(session.store(), "/", None, Dialect::V3, &options);
    copy(&place.unwrap().hierarchy, "/");
    copy(&session.hierarchy(&options).unwrap(), "/below");
    let keys = names(&*session.store().to_sync(), "");
    let has_document = |path: &str| keys.contains(&format!("{path}zarr.json"));
    assert!(["", "g/", "g/a/", "below/", "below/g/", "below/g/a/"].into_iter().all(has_document));
    assert_eq!(keys.len(), 6 + 2 * 4, "{keys:?}");
    session.commit("two copies").unwrap();
    for name in ["g/a", "below/g/a"] {
        assert_eq!(elements(&folder.path(), &main_branch(), name), numbers);
    }
}

#[test]
fn a_session_with_an_unfinished_copy_is_not_committed() {
    let folder = Folder::new();
    let repository = Repository::create(folder.path()).unwrap();
    let first = with_shared_array(&repository);
    let session = repository.writable_session(MAIN).unwrap();
    let from = zarr::create("memory://half copied into a session", Dialect::V3).unwrap();
    let array = from.create_array("/a").shape(&[100]).chunks(&[10]);
    let array = array.data_type(zarr::DataType::Int32).create().unwrap();
    array.write(.., &vec![1i32; 100]).unwrap();
    let chunk = key("a/c/7");
    from.store().to_sync().set(&chunk, Payload::new(b"damaged")).unwrap();

    let to = session.hierarchy(&options()).unwrap();
    let node = from.node("/a").unwrap();
    let chunks = zarr::tools::CopyOptions { chunks: Some(vec![50]), ..Default::default() };
    zarr::tools::copy(&node, &to, "/a", &chunks).unwrap_err();
    let refused = session.commit("a half").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Argument);
    assert!(refused.to_string().contains("CopyOptions::resume"), "{refused}");
    assert_eq!(crate::fixtures::history(&folder.path())[0], first);

    from.store().to_sync().erase(&chunk).unwrap();
    let anew = zarr::tools::CopyOptions { overwrite: true, ..chunks };
    zarr::tools::copy(&node, &to, "/a", &anew).unwrap();
    session.commit("all of it").unwrap();
    let mut expected = vec![1; 100];
    expected[70..80].fill(0);
    assert_eq!(elements(&folder.path(), &main_branch(), "a"), expected);
}

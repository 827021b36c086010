//! A wrapped store keeps the promises of the store behind it.

#![cfg(all(feature = "wrappers", feature = "memory", feature = "filesystem"))]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use zarr_core::StoreError;
use zarr_core::store::{
    ByteRange, Capabilities, GetOptions, ListOptions, Payload, Precondition, SnapshotOptions,
    Store, StoreKey, StorePrefix, SyncStore, Target, from_sync,
};
use zarr_stores::{Call, FilesystemStore, MemoryStore, ObservedStore, PrefixStore, ReadOnlyStore};
use zarr_testkit::{Counters, Faults, Latency, Remote, check_contents, check_store, sample};

fn key(key: &str) -> StoreKey {
    StoreKey::new(key).unwrap()
}

/// Copies between folders let the system copy open files, through these wrappers, too.
#[test]
fn values_of_a_folder_lend_their_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    std::fs::write(folder.path().join("a/b"), "value").unwrap();
    let store: Arc<dyn Store> = from_sync(FilesystemStore::new(folder.path()));
    let below: Arc<dyn Store> =
        Arc::new(PrefixStore::new(store.clone(), StorePrefix::new("a/").unwrap()));
    let read_only: Arc<dyn Store> = Arc::new(ReadOnlyStore::new(store.clone()));
    for (store, name) in [(store, "a/b"), (below, "b"), (read_only, "a/b")] {
        let store = store.to_sync();
        assert!(store.capabilities().local, "{store:?}");
        let value = store.open(&key(name), SnapshotOptions::default()).unwrap().unwrap();
        assert!(value.file().is_some(), "{store:?}");
    }
}

/// F-111.
#[test]
fn sync_stores_keep_the_promises_of_stores() {
    check_store(|| from_sync(MemoryStore::new()));
}

/// Checks a wrapper over memory, and over a folder if asked for: most of the time goes into files.
fn check<W: Store>(over_a_folder: bool, make: impl Fn(Arc<dyn Store>) -> W) {
    check_store(|| Arc::new(make(from_sync(MemoryStore::new()))));
    if !over_a_folder {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let made = AtomicU32::new(0);
    check_store(|| {
        let n = made.fetch_add(1, Ordering::Relaxed);
        Arc::new(make(from_sync(FilesystemStore::new(folder.path().join(n.to_string())))))
    });
}

/// V24, D-130 … D-132, D-134 … D-137, Q14, F-110, F-111.
#[test]
fn wrapped_stores_keep_the_promises_of_stores() {
    let all = sample(false, true);
    check(all, |store| ObservedStore::new(store, |_: &Call<'_>| {}));
    check(all, |store| ObservedStore::new(store, Counters::default()));
    check(all, |store| ObservedStore::new(store, Faults::every(0, [])));
    check(true, |store| {
        let latency = Latency { request: Duration::from_micros(10), ..Latency::default() };
        ObservedStore::new(store, latency)
    });
    check(all, Remote);
    check(all, |store| PrefixStore::new(store, StorePrefix::root()));
    check(true, |store| PrefixStore::new(store, StorePrefix::new("a/b/").unwrap()));
    check(all, |store| {
        let outer = PrefixStore::new(store, StorePrefix::new("a/").unwrap());
        PrefixStore::new(Arc::new(outer), StorePrefix::new("b/").unwrap())
    });
}

/// D-133: nothing is claimed that the store behind cannot do.
#[test]
fn a_wrapper_is_capable_of_what_the_store_behind_it_is() {
    let read_only =
        || -> Arc<dyn Store> { Arc::new(ReadOnlyStore::new(from_sync(MemoryStore::new()))) };
    let wrapped: [Arc<dyn Store>; 3] = [
        read_only(),
        Arc::new(ObservedStore::new(read_only(), |_: &Call<'_>| {})),
        Arc::new(PrefixStore::new(read_only(), StorePrefix::root())),
    ];
    for store in wrapped {
        let Capabilities { read, list, write, swap, create, .. } = store.capabilities();
        assert!(read && list && !write && !swap && !create);
        let put = store.to_sync().set(&key("k"), Payload::new(b"v"));
        assert!(matches!(put, Err(StoreError::NotCapable { .. })));
    }
}

/// Of a remote store many calls are made at the same time, wrapped or not; and a slow one is remote.
#[test]
fn a_remote_store_stays_one() {
    let latency = Latency { request: Duration::from_micros(10), ..Latency::default() };
    assert!(!ObservedStore::new(from_sync(MemoryStore::new()), latency).capabilities().local);
    let remote = || -> Arc<dyn Store> { Arc::new(Remote(from_sync(MemoryStore::new()))) };
    assert!(ReadOnlyStore::new(from_sync(MemoryStore::new())).capabilities().local);
    assert!(!ReadOnlyStore::new(remote()).capabilities().local);
    let wrapped = Arc::new(PrefixStore::new(remote(), StorePrefix::root()));
    assert!(!ObservedStore::new(wrapped, Counters::default()).capabilities().local);
    check_store(|| Arc::new(PrefixStore::new(remote(), StorePrefix::root())));
}

#[test]
fn a_read_only_store_has_what_is_in_it() {
    let memory = MemoryStore::new();
    let contents: BTreeMap<String, Vec<u8>> =
        ["zarr.json", "a/zarr.json", "a/c/0"].map(|name| (name.into(), name.into())).into();
    for (name, value) in &contents {
        memory.set(&key(name), Payload::new(&value[..])).unwrap();
    }
    let store: Arc<dyn Store> = Arc::new(ReadOnlyStore::new(from_sync(memory)));
    check_contents(&store, &contents);
}

/// A prefix is where it says, and nothing outside of it is seen or erased.
#[test]
fn a_prefix_leaves_the_rest_alone() {
    let memory = MemoryStore::named("with a prefix");
    let store = PrefixStore::new(from_sync(memory.clone()), StorePrefix::new("a/b/").unwrap());
    let store = (Arc::new(store) as Arc<dyn Store>).to_sync();
    assert_eq!(store.name(), "memory://with a prefix/a/b");
    memory.set(&key("a/c"), Payload::new(b"outside")).unwrap();
    store.set(&key("c"), Payload::new(b"inside")).unwrap();
    assert_eq!(memory.list().unwrap(), [key("a/b/c"), key("a/c")]);
    store.erase_prefix(&StorePrefix::root()).unwrap();
    assert_eq!(memory.list().unwrap(), [key("a/c")]);
}

/// What is reported of each call, without the duration.
fn logged(use_it: impl FnOnce(&dyn SyncStore)) -> Vec<String> {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let tell = move |call: &Call<'_>| {
        let line = call.to_string();
        let (line, _) = line.rsplit_once(" in ").unwrap();
        kept.lock().unwrap().push(line.to_owned());
    };
    let store: Arc<dyn Store> = Arc::new(ObservedStore::new(from_sync(MemoryStore::new()), tell));
    use_it(&*store.to_sync());
    let lines = lines.lock().unwrap();
    lines.clone()
}

#[test]
fn every_call_is_reported() {
    let key = StoreKey::new("a/k").unwrap();
    let lines = logged(|store| {
        store.value(&key).unwrap();
        store.set(&key, Payload::new(b"value")).unwrap();
        store.get(&key, GetOptions::into(Target::Vec(&mut Vec::new()))).unwrap();
        let ranges = [ByteRange::From(1), ByteRange::Suffix(2)];
        let opened = store.open(&key, SnapshotOptions::default()).unwrap().unwrap();
        opened.read(&ranges).unwrap();
        opened.read(&ranges[..1]).unwrap();
        opened.read(&[ByteRange::From(9)]).unwrap_err();
        store.put(&key, None, Precondition::Absent).unwrap();
        store.list_dir(&StorePrefix::root(), ListOptions::default()).unwrap();
        store.erase_prefix(&key.parent()).unwrap();
    });
    assert_eq!(
        lines,
        [
            "get a/k: absent",
            "put a/k: 5 bytes",
            "get a/k: 5 bytes",
            "read a/k (from 1 to the end, the last 2 bytes): 6 bytes",
            "read a/k (from 1 to the end): 4 bytes",
            "read a/k (from 9 to the end): range from 9 to the end lies outside \
             `a/k`, which has 5 bytes",
            "put_if a/k: lost to another writer",
            "list_dir /: 1 entry",
            "erase_prefix a/: done",
        ]
    );
}

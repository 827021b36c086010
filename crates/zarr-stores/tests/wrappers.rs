//! A wrapped store keeps the promises of the store behind it.

#![cfg(all(feature = "wrappers", feature = "memory", feature = "filesystem"))]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use zarr_core::store::{
    ListableStore, Offloaded, Payload, Store, StoreKey, StorePrefix, WriteableStore, aio,
};
use zarr_core::testkit::{check_async_store, check_contents, check_store};
use zarr_stores::{
    Call, Counters, Faults, FilesystemStore, Latency, MemoryStore, PrefixStore, ReadOnlyStore,
    TapStore, wrap,
};

fn key(key: &str) -> StoreKey {
    StoreKey::new(key).unwrap()
}

/// Memory, for callers that wait.
fn ready() -> Arc<dyn aio::Store> {
    Arc::new(aio::Ready::new(Arc::new(MemoryStore::new())))
}

/// F-111, decision 0108: on threads of their own, too.
#[test]
fn stores_for_callers_that_wait_keep_the_promises_of_stores() {
    check_async_store(ready);
    check_async_store(|| Arc::new(Offloaded::new(Arc::new(MemoryStore::new()))));
}

/// Checks a wrapper over memory, and over a folder.
fn check<W: aio::Store>(make: impl Fn(Arc<dyn aio::Store>) -> W) {
    check_async_store(|| Arc::new(make(ready())));
    let folder = tempfile::tempdir().unwrap();
    let made = AtomicU32::new(0);
    check_store(|| {
        let n = made.fetch_add(1, Ordering::Relaxed);
        wrap(Arc::new(FilesystemStore::new(folder.path().join(n.to_string()))), &make)
    });
}

/// V24, D-130 … D-132, D-134 … D-137, Q14, F-110, F-111.
#[test]
fn wrapped_stores_keep_the_promises_of_stores() {
    check(|store| TapStore::new(store, |_: &Call<'_>| {}));
    check(|store| TapStore::new(store, Counters::default()));
    check(|store| TapStore::new(store, Faults::every(0, [])));
    check(|store| {
        let latency = Latency { request: Duration::from_micros(10), ..Latency::default() };
        TapStore::new(store, latency)
    });
    check(|store| PrefixStore::new(store, StorePrefix::root()));
    check(|store| PrefixStore::new(store, StorePrefix::new("a/b/").unwrap()));
    check(|store| {
        let outer = PrefixStore::new(store, StorePrefix::new("a/").unwrap());
        PrefixStore::new(Arc::new(outer), StorePrefix::new("b/").unwrap())
    });
}

/// D-133: nothing is claimed that the store behind cannot do.
#[test]
fn a_wrapper_has_the_sides_of_the_store_behind_it() {
    let read_only = || wrap(Arc::new(MemoryStore::new()), ReadOnlyStore::new);
    let wrapped: [Arc<dyn Store>; 3] = [
        read_only(),
        wrap(read_only(), |store| TapStore::new(store, |_: &Call<'_>| {})),
        wrap(read_only(), |store| PrefixStore::new(store, StorePrefix::root())),
    ];
    for store in wrapped {
        assert!(store.readable().is_some() && store.listable().is_some());
        assert!(store.writeable().is_none() && store.conditional().is_none());
    }
}

/// Decision 0110: of a store that waits many calls are made at once, wrapped or not; and a slow one is one that waits.
#[test]
fn a_store_that_waits_stays_one() {
    let latency = Latency { request: Duration::from_micros(10), ..Latency::default() };
    let near = || -> Arc<dyn Store> { Arc::new(MemoryStore::new()) };
    let slow = || wrap(near(), |store| TapStore::new(store, latency));
    assert!(wrap(near(), ReadOnlyStore::new).waiting().is_none());
    assert!(slow().waiting().is_some());
    assert!(wrap(slow(), ReadOnlyStore::new).waiting().is_some());
    let wrapped = wrap(slow(), |store| PrefixStore::new(store, StorePrefix::root()));
    let tapped = wrap(wrapped, |store| TapStore::new(store, Counters::default()));
    assert!(tapped.waiting().is_some());
    check_store(|| wrap(slow(), |store| PrefixStore::new(store, StorePrefix::root())));
}

#[test]
fn a_read_only_store_has_what_is_in_it() {
    let memory = MemoryStore::new();
    let contents: BTreeMap<String, Vec<u8>> =
        ["zarr.json", "a/zarr.json", "a/c/0"].map(|name| (name.into(), name.into())).into();
    for (name, value) in &contents {
        memory.set(&key(name), Payload::new(&value[..])).unwrap();
    }
    check_contents(&wrap(Arc::new(memory), ReadOnlyStore::new), &contents);
}

/// A prefix is where it says, and nothing outside of it is seen or erased.
#[test]
fn a_prefix_leaves_the_rest_alone() {
    let memory = MemoryStore::named("with a prefix");
    let store = wrap(Arc::new(memory.clone()), |store| {
        PrefixStore::new(store, StorePrefix::new("a/b/").unwrap())
    });
    assert_eq!(store.name(), "memory://with a prefix/a/b");
    memory.set(&key("a/c"), Payload::new(b"outside")).unwrap();
    let writeable = store.writeable().unwrap();
    writeable.set(&key("c"), Payload::new(b"inside")).unwrap();
    assert_eq!(memory.list().unwrap(), [key("a/b/c"), key("a/c")]);
    writeable.erase_prefix(&StorePrefix::root()).unwrap();
    assert_eq!(memory.list().unwrap(), [key("a/c")]);
}

//! A process that was forked off cannot write into its parent's archive.
//!
//! This program runs itself again, as a child with nothing but this test, which then forks.

#![cfg(all(target_os = "linux", feature = "zip"))]
#![allow(unsafe_code, reason = "the standard library does not fork")]

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use zarr_core::store::{ConditionalStore, Payload, ReadableStore, StoreKey, WriteableStore};
use zarr_stores::ZipStore;

const PLACE: &str = "ZARR_STORES_TEST_ARCHIVE";

// SAFETY: these are the C library's, with its types.
unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    safe fn _exit(status: i32) -> !;
}

/// What the forked process tries: whether it was told that it may not.
fn is_refused(store: ZipStore, key: &StoreKey) -> bool {
    let told = |e: zarr_core::StoreError| e.to_string().contains("this one was forked off it");
    let refused = store.set(key, Payload::new(b"the child's")).is_err_and(told)
        && store.set_if(key, None, None).is_err_and(told)
        && store.erase(key).is_err_and(told)
        && store.flush().is_err_and(told);
    // It may read; and neither that nor the end of its handle changes the parent's files.
    let reads = store.get(key).is_ok_and(|value| value.is_some_and(|value| value == "two"));
    drop(store);
    refused && reads
}

fn fork_and_write(path: &Path) {
    let key = StoreKey::new("a").unwrap();
    let store = ZipStore::open(path).unwrap();
    store.set(&key, Payload::new(b"one")).unwrap();
    store.flush().unwrap();
    store.set(&key, Payload::new(b"two")).unwrap();
    // SAFETY: the child calls nothing that another thread may hold a lock of: the only other thread waits for this one.
    let child = unsafe { fork() };
    if child == 0 {
        _exit(i32::from(!is_refused(store, &key)));
    }
    let mut status = -1;
    // SAFETY: the status is this function's own.
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child was not refused");
    // The parent still has its lock and its copy.
    let other = ZipStore::open(path).unwrap();
    assert!(other.set(&key, Payload::new(b"other")).is_err());
    store.set(&StoreKey::new("b").unwrap(), Payload::new(b"three")).unwrap();
    store.flush().unwrap();
}

#[test]
fn a_forked_process_cannot_write_into_its_parents_archive() {
    if let Some(path) = env::var_os(PLACE) {
        return fork_and_write(Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zip");
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["a_forked_process_cannot_write_into_its_parents_archive", "--exact"]);
    assert!(child.env(PLACE, &path).status().unwrap().success());
    let store = ZipStore::open(&path).unwrap();
    for (key, value) in [("a", "two"), ("b", "three")] {
        assert_eq!(store.get(&StoreKey::new(key).unwrap()).unwrap().unwrap(), value);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

//! A process that was forked off cannot write into its parent's archive, and cannot use its parent's LMDB file.
//!
//! This program runs itself again, as a child with nothing but one test, which then forks.

#![cfg(all(target_os = "linux", feature = "zip", feature = "lmdb"))]
#![allow(unsafe_code, reason = "the standard library does not fork")]

use std::env;
use std::fs;
use std::path::Path;

use zarr_core::store::{ByteRange, Payload, StoreKey, StorePrefix, SyncStore};
use zarr_stores::{LmdbStore, ZipStore};
use zarr_testkit::{ShortCalls, run_test_again};

const PLACE: &str = "ZARR_STORES_TEST_ARCHIVE";

// SAFETY: these are the C library's, with its types.
unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    safe fn _exit(status: i32) -> !;
}

/// 0 in the child.
fn forked() -> i32 {
    // SAFETY: the child calls nothing that another thread may hold a lock of: the only other thread waits for this one.
    unsafe { fork() }
}

fn wait_for(child: i32) {
    let mut status = -1;
    // SAFETY: the status is this function's own.
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child was not refused");
}

/// Whether the forked process gets the error that it may not write.
fn is_refused(store: ZipStore, key: &StoreKey) -> bool {
    let told = |e: zarr_core::StoreError| e.to_string().contains("this one was forked from it");
    let refused = store.set(key, Payload::new(b"the child's")).is_err_and(told)
        && store.swap(key, None, None).is_err_and(told)
        && store.erase(key).is_err_and(told)
        && store.flush().is_err_and(told);
    // It may read; and neither that nor the end of its handle changes the parent's files.
    let reads = store.value(key).is_ok_and(|value| value.is_some_and(|value| value == "two"));
    drop(store);
    refused && reads
}

fn fork_and_write(path: &Path) {
    let key = StoreKey::new("a").unwrap();
    let store = ZipStore::open(path).unwrap();
    store.set(&key, Payload::new(b"one")).unwrap();
    store.flush().unwrap();
    store.set(&key, Payload::new(b"two")).unwrap();
    let child = forked();
    if child == 0 {
        _exit(i32::from(!is_refused(store, &key)));
    }
    wait_for(child);
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
    run_test_again(
        module_path!(),
        "a_forked_process_cannot_write_into_its_parents_archive",
        [(PLACE, &path)],
    );
    let store = ZipStore::open(&path).unwrap();
    for (key, value) in [("a", "two"), ("b", "three")] {
        assert_eq!(store.value(&StoreKey::new(key).unwrap()).unwrap().unwrap(), value);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// What the forked process tries with the parent's LMDB file: whether each call said that it may not.
fn is_refused_everything(store: &LmdbStore, path: &Path, key: &StoreKey) -> bool {
    let told = |e: zarr_core::StoreError| {
        let is_told = e.to_string().contains("this one was forked from it");
        if !is_told {
            eprintln!("{e}");
        }
        is_told
    };
    let value = || Payload::new(b"the child's");
    store.set(key, value()).is_err_and(told)
        && store.swap(key, Some(value()), None).is_err_and(told)
        && store.create(key, value(), &[], &[]).is_err_and(told)
        && store.erase(key).is_err_and(told)
        && store.erase_prefix(&StorePrefix::root()).is_err_and(told)
        && store.flush().is_err_and(told)
        && store.value(key).is_err_and(told)
        && store.snapshot(key).is_err_and(told)
        && store.list().is_err_and(told)
        && LmdbStore::open(path).value(key).is_err_and(told)
}

fn fork_and_use_lmdb(path: &Path) {
    let (key, other) = (StoreKey::new("a").unwrap(), StoreKey::new("b").unwrap());
    let store = LmdbStore::open(path);
    store.set(&key, Payload::new(b"one")).unwrap();
    let child = forked();
    if child == 0 {
        // The end of the last handle closes nothing, so the file is still the parent's.
        drop(store);
        _exit(i32::from(!is_refused_everything(&LmdbStore::open(path), path, &key)));
    }
    wait_for(child);
    let pinned = store.snapshot(&key).unwrap().unwrap();
    let child = forked();
    if child == 0 {
        let is_refused =
            is_refused_everything(&store, path, &key) && pinned.read(&[ByteRange::ALL]).is_err();
        // The end of a reading changes nothing of the parent's, and does not open the file for the child.
        drop((pinned, store));
        let is_refused = is_refused
            && is_refused_everything(&LmdbStore::open(path), path, &key)
            && LmdbStore::open(path.with_extension("other"))
                .set(&key, Payload::new(b"own"))
                .is_ok();
        _exit(i32::from(!is_refused));
    }
    wait_for(child);
    // The parent's reading has its place still: what is written now does not take the pages that it reads.
    for round in 0..20 {
        store.set(&key, Payload::new(format!("{round}").as_bytes())).unwrap();
        store.set(&other, Payload::new(&[round; 5000])).unwrap();
    }
    assert_eq!(pinned.read(&[ByteRange::ALL]).unwrap(), ["one"]);
    drop(pinned);
    assert_eq!(store.value(&key).unwrap().unwrap(), "19");
}

#[test]
fn a_forked_process_cannot_use_its_parents_lmdb_file() {
    if let Some(path) = env::var_os(PLACE) {
        return fork_and_use_lmdb(Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.lmdb");
    run_test_again(
        module_path!(),
        "a_forked_process_cannot_use_its_parents_lmdb_file",
        [(PLACE, &path)],
    );
    let store = LmdbStore::open(&path);
    assert_eq!(store.value(&StoreKey::new("a").unwrap()).unwrap().unwrap(), "19");
}

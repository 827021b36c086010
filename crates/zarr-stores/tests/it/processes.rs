//! Processes that write to one folder keep each other's values, even when one is killed.
//!
//! Each test runs this test program again, as a child that does only one test; variables of the environment make it a child
//! and have the folder to write to.

#![cfg(feature = "filesystem")]

use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use zarr_core::store::{Payload, Store, StoreKey, StorePrefix, SyncStore, from_sync};
use zarr_stores::FilesystemStore;
use zarr_testkit::{ShortCalls, test_command};

const FOLDER: &str = "ZARR_STORES_TEST_FOLDER";
const CHILDREN: usize = 6;
const ROUNDS: usize = 50;

/// Where to write, if this is a child.
fn child_folder() -> Option<PathBuf> {
    env::var_os(FOLDER).map(PathBuf::from)
}

fn spawn(test: &str, path: &Path) -> Child {
    let mut command = test_command(module_path!(), test);
    command.env(FOLDER, path).stdout(Stdio::piped()).spawn().unwrap()
}

fn key(key: &str) -> StoreKey {
    StoreKey::new(key).unwrap()
}

/// Lets processes that run `test` count in one store.
fn count_together(test: &str, open: fn(&Path) -> Arc<dyn Store>) {
    let counter = key("data/root/x/c0");
    if let Some(path) = child_folder() {
        let store = open(&path);
        let swapper = store.to_sync();
        for _ in 0..ROUNDS {
            loop {
                let now = swapper.versioned(&counter).unwrap();
                let (value, version) = now.unzip();
                let count = value.map_or(0, |v| u32::from_le_bytes(v[..].try_into().unwrap()));
                let next = Payload::new((count + 1).to_le_bytes().to_vec());
                if swapper.swap(&counter, Some(next), version.as_ref()).unwrap() {
                    break;
                }
            }
            // So that lock files vanish again and again while the others wait for them.
            store.to_sync().flush().unwrap();
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counted");
    let children: Vec<Child> = (0..CHILDREN).map(|_| spawn(test, &path)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let count = open(&path).to_sync().value(&counter).unwrap().unwrap();
    assert_eq!(count[..], ((CHILDREN * ROUNDS) as u32).to_le_bytes());
    assert!(!path.join("data/root/x/.zarr-lock").exists(), "a lock file stays");
}

/// The same among threads, each of which opens and drops its own handle in every round.
#[test]
fn threads_whose_handles_come_and_go_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let counter = key("k");
    thread::scope(|scope| {
        for _ in 0..CHILDREN {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let store = FilesystemStore::new(folder.path());
                    loop {
                        let (value, version) = store.versioned(&counter).unwrap().unzip();
                        let next = Payload::new([value.unwrap_or_default(), "x".into()].concat());
                        if store.swap(&counter, Some(next), version.as_ref()).unwrap() {
                            break;
                        }
                    }
                }
            });
        }
    });
    let count = std::fs::metadata(folder.path().join("k")).unwrap().len();
    assert_eq!(count, (CHILDREN * ROUNDS) as u64);
    assert!(!folder.path().join(".zarr-lock").exists(), "a lock file stays");
}

#[test]
fn processes_counting_together_lose_nothing() {
    count_together("processes_counting_together_lose_nothing", |path| {
        from_sync(FilesystemStore::new(path))
    });
}

#[cfg(feature = "lmdb")]
#[test]
fn processes_counting_together_in_lmdb_lose_nothing() {
    count_together("processes_counting_together_in_lmdb_lose_nothing", |path| {
        from_sync(zarr_stores::LmdbStore::open(path))
    });
}

/// T-61: a value is `size` times one letter, and no two letters have the same size.
fn whole(value: &[u8]) -> bool {
    let letter = value[0];
    value.len() == size(letter) && value.iter().all(|&b| b == letter)
}

fn size(letter: u8) -> usize {
    400_000 + usize::from(letter) * 1000
}

/// T-61, F-112, Z2-080.
#[test]
fn a_killed_writer_leaves_the_old_value_or_the_new_one_and_no_lock() {
    let key = key("c/0");
    if let Some(folder) = child_folder() {
        let store = FilesystemStore::new(folder);
        for letter in (b'a'..=b'z').cycle() {
            let value = Payload::new(vec![letter; size(letter)]);
            if letter % 2 == 0 {
                store.set(&key, value).unwrap();
            } else {
                let was = store.versioned(&key).unwrap().map(|(_, version)| version);
                store.swap(&key, Some(value), was.as_ref()).unwrap();
            }
            println!("wrote");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let store = FilesystemStore::new(folder.path());
    let first = vec![b'A'; size(b'A')];
    for round in 0..25u64 {
        store.set(&key, Payload::new(&first[..])).unwrap();
        let name = "a_killed_writer_leaves_the_old_value_or_the_new_one_and_no_lock";
        let mut child = spawn(name, store.root());
        wait_for(&mut child, "wrote");
        thread::sleep(Duration::from_micros(round * 700));
        child.kill().unwrap();
        child.wait().unwrap();
        let (value, version) = store.versioned(&key).unwrap().expect("it was there");
        assert!(whole(&value), "the value is a mixture of two");
        assert_ne!(value[0], first[0], "the child wrote");
        assert_eq!(store.list().unwrap(), std::slice::from_ref(&key));
        let next = Payload::new(&first[..]);
        assert!(store.swap(&key, Some(next), Some(&version)).unwrap());
    }
    store.erase_prefix(&StorePrefix::root()).unwrap();
    let left = std::fs::read_dir(store.root()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| name == ".zarr-lock"), "unfinished files stay");
}

/// Reads what the child prints until it says `word`.
fn wait_for(child: &mut Child, word: &str) {
    let lines = BufReader::new(child.stdout.as_mut().expect("it is piped")).lines();
    let said = lines.map_while(Result::ok).any(|line| line.ends_with(word));
    assert!(said, "the child ended without saying `{word}`");
}

#[test]
fn a_killed_process_gives_its_lock_back() {
    if let Some(folder) = child_folder() {
        let lock = File::create(folder.join(".zarr-lock")).unwrap();
        lock.lock().unwrap();
        println!("locked");
        loop {
            thread::park();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let store = FilesystemStore::new(folder.path());
    let mut child = spawn("a_killed_process_gives_its_lock_back", store.root());
    wait_for(&mut child, "locked");
    let (done, waits) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            store.put_unchecked(&key("k"), Some(Payload::new(b"loose"))).unwrap();
            done.send("unguarded").unwrap();
            store.set(&key("k"), Payload::new(b"v")).unwrap();
            done.send("guarded").unwrap();
        });
        assert_eq!(waits.recv_timeout(Duration::from_secs(10)), Ok("unguarded"));
        let early = waits.recv_timeout(Duration::from_millis(100));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(early.is_err(), "set did not wait for the lock");
        assert_eq!(waits.recv_timeout(Duration::from_secs(10)), Ok("guarded"));
    });
}

//! An LMDB file is a store like any other, whole at every moment, whatever its size.

#![cfg(feature = "lmdb")]

use std::fs::{self, File};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use tempfile::tempdir;
use zarr_core::store::{ByteRange, Payload, Store, StoreKey, StorePrefix, SyncStore, from_sync};
use zarr_core::{Access, Registry, StoreError};
use zarr_stores::LmdbStore;
use zarr_testkit::ShortCalls;
use zarr_testkit::check_store;

fn key(key: &str) -> StoreKey {
    StoreKey::new(key).unwrap()
}

fn set(store: &LmdbStore, name: &str, value: &[u8]) {
    store.set(&key(name), Payload::new(value)).unwrap();
}

fn get(store: &LmdbStore, name: &str) -> Option<Vec<u8>> {
    store.value(&key(name)).unwrap().map(Vec::from)
}

fn names(store: &dyn SyncStore) -> Vec<String> {
    store.list().unwrap().iter().map(ToString::to_string).collect()
}

/// LMDB would follow it, and make a file where it leads.
#[cfg(unix)]
#[test]
fn a_lock_file_that_is_a_link_is_refused() {
    let within = tempdir().unwrap();
    let outside = within.path().join("outside");
    fs::create_dir(within.path().join("x.lmdb")).unwrap();
    File::create(within.path().join("x.mdb")).unwrap();
    for (name, lock) in [("x.mdb", "x.mdb-lock"), ("x.lmdb", "x.lmdb/lock.mdb")] {
        std::os::unix::fs::symlink(&outside, within.path().join(lock)).unwrap();
        let store = LmdbStore::open(within.path().join(name));
        let refused = store.set(&key("k"), Payload::new(b"v".as_slice()));
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("is a symbolic link"), "{error}");
        assert!(!outside.exists());
    }
}

/// What is behind it is not known to be absent, and no file is made where it leads.
#[cfg(unix)]
#[test]
fn a_file_that_is_a_link_to_nothing_is_an_error() {
    let within = tempdir().unwrap();
    for name in ["x.mdb", "x.lmdb"] {
        let path = within.path().join(name);
        std::os::unix::fs::symlink(within.path().join("unmounted"), &path).unwrap();
        let error = LmdbStore::open(&path).value(&key("k")).unwrap_err().to_string();
        assert!(error.contains("is a symbolic link to") && error.contains("unmounted"), "{error}");
    }
    assert!(!within.path().join("unmounted").exists());
}

#[test]
fn it_keeps_the_promises_of_a_store() {
    let within = tempdir().unwrap();
    let made = AtomicU32::new(0);
    let next = |name: &str| {
        let n = made.fetch_add(1, Ordering::Relaxed);
        within.path().join(format!("{n}{name}"))
    };
    check_store(|| from_sync(LmdbStore::open(next(".lmdb"))));
    check_store(|| {
        let file = next(".mdb");
        File::create(&file).unwrap();
        from_sync(LmdbStore::open(file))
    });
    let below = StorePrefix::new("some/group/").unwrap();
    check_store(|| from_sync(LmdbStore::open(next(".lmdb")).below(&below)));
}

/// A file that does not exist is an empty store; only the first write makes it.
#[test]
fn nothing_is_made_by_looking() {
    let within = tempdir().unwrap();
    let path = within.path().join("x.lmdb");
    let store = LmdbStore::open(&path);
    assert_eq!(get(&store, "a"), None);
    assert_eq!(names(&store), [""; 0]);
    store.flush().unwrap();
    let read_only = LmdbStore::open(&path).access(Access::ReadOnly);
    let refused = read_only.set(&key("a"), Payload::new(&b"1"[..]));
    assert!(matches!(refused, Err(StoreError::ReadOnly)));
    assert!(!path.exists());
    set(&store, "a", b"1");
    assert!(path.join("data.mdb").is_file());
    assert_eq!(get(&read_only, "a").as_deref(), Some(&b"1"[..]));
}

/// Handles of one file, also by other names of it, see what each of them writes.
#[test]
fn a_file_opened_twice_is_one() {
    let within = tempdir().unwrap();
    let (path, other) = (within.path().join("x.lmdb"), within.path().join("./y/../x.lmdb"));
    fs::create_dir(within.path().join("y")).unwrap();
    let one = LmdbStore::open(&path);
    set(&one, "a", b"1");
    let two = LmdbStore::open(other);
    set(&two, "b", b"2");
    assert_eq!(names(&one), ["a", "b"]);
    drop((one, two));
    assert_eq!(names(&LmdbStore::open(path)), ["a", "b"]);
}

/// Values that do not fit into the map make it larger, while others read and write.
#[test]
fn the_map_grows_by_itself() {
    let within = tempdir().unwrap();
    let store = LmdbStore::open(within.path().join("x.lmdb")).map_size(1 << 16);
    let value = |n: u8| vec![n; 100_000 + usize::from(n)];
    thread::scope(|scope| {
        for n in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for round in 0..10 {
                    let name = format!("c/{n}/{round}");
                    set(store, &name, &value(n * 10 + round));
                    assert_eq!(get(store, &name), Some(value(n * 10 + round)));
                }
            });
        }
    });
    assert_eq!(names(&store).len(), 40);
    for n in 0..40 {
        assert_eq!(get(&store, &format!("c/{}/{}", n / 10, n % 10)), Some(value(n)));
    }
}

/// A value that is being read in parts stays what it was; a version tells when it is another.
#[test]
fn a_pinned_value_stays() {
    let within = tempdir().unwrap();
    let store = LmdbStore::open(within.path().join("x.lmdb"));
    set(&store, "c", &[1; 10_000]);
    let pinned = store.snapshot(&key("c")).unwrap().unwrap();
    let version = pinned.version().unwrap();
    assert!(store.snapshot_of(&key("c"), &version).unwrap().is_some());
    set(&store, "c", &[2; 20_000]);
    for n in 0..50 {
        set(&store, &format!("d/{n}"), &[3; 10_000]);
    }
    let part = pinned.read(&[ByteRange::Bounded { start: 5, len: 3 }, ByteRange::Suffix(2)]);
    assert_eq!(part.unwrap(), [&[1; 3][..], &[1; 2][..]]);
    assert_eq!(pinned.size(), 10_000);
    assert!(store.snapshot_of(&key("c"), &version).unwrap().is_none());
}

/// The map cannot grow while a value is read; a writer that waits for that gets an error in the end.
#[test]
fn a_full_map_and_a_pinned_value_end_in_an_error() {
    let within = tempdir().unwrap();
    let store = LmdbStore::open(within.path().join("x.lmdb")).map_size(1 << 17);
    set(&store, "c", &[1; 10]);
    let pinned = store.snapshot(&key("c")).unwrap();
    let error = store.set(&key("d"), Payload::new(vec![2; 1 << 20])).unwrap_err();
    assert!(error.to_string().contains("open the file with a larger one"), "{error}");
    drop(pinned);
    set(&store, "d", &vec![2; 1 << 20]);
    assert_eq!(get(&store, "d").map(|value| value.len()), Some(1 << 20));
}

#[test]
fn keys_that_are_too_long_are_refused() {
    let within = tempdir().unwrap();
    let store = LmdbStore::open(within.path().join("x.lmdb"));
    let error = store.set(&key(&"a".repeat(600)), Payload::default()).unwrap_err();
    assert!(error.to_string().contains("at most 511 bytes"), "{error}");
    assert_eq!(get(&store, &"a".repeat(600)), None);
    set(&store, &"a".repeat(511), b"");
    assert_eq!(get(&store, &"a".repeat(511)), Some(Vec::new()));
    let listing = store.dir(&StorePrefix::root()).unwrap();
    assert_eq!(listing.keys, [key(&"a".repeat(511))]);
    let far = StorePrefix::new(format!("{}/", "b".repeat(600))).unwrap();
    assert_eq!(store.keys_below(&far).unwrap(), []);
    assert_eq!(store.dir(&far).unwrap().keys, []);
    store.erase_prefix(&far).unwrap();
    store.erase(&key(&"a".repeat(600))).unwrap();
}

#[test]
fn other_files_are_no_lmdb_files() {
    let within = tempdir().unwrap();
    for (name, bytes) in [("text.lmdb", &b"hello"[..]), ("zeros.lmdb", &[0; 8192])] {
        let path = within.path().join(name);
        fs::write(&path, bytes).unwrap();
        let error = LmdbStore::open(&path).value(&key("a")).unwrap_err();
        assert!(error.to_string().contains("not an LMDB file"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

/// What another program made and left empty stays so; nothing is put beside a file that is not LMDB's.
#[test]
fn reading_changes_no_file() {
    let within = tempdir().unwrap();
    let (file, folder) = (within.path().join("empty.lmdb"), within.path().join("folder.lmdb"));
    fs::create_dir(&folder).unwrap();
    for (path, data) in [(&file, file.clone()), (&folder, folder.join("data.mdb"))] {
        File::create(&data).unwrap();
        let store = LmdbStore::open(path);
        assert_eq!(get(&store, "a"), None);
        assert_eq!(names(&store), [""; 0]);
        assert_eq!(fs::metadata(&data).unwrap().len(), 0);
    }
    let text = within.path().join("text.lmdb");
    fs::write(&text, "hello").unwrap();
    LmdbStore::open(&text).value(&key("a")).unwrap_err();
    let found = fs::read_dir(within.path()).unwrap().count();
    assert_eq!((found, fs::read_dir(&folder).unwrap().count()), (3, 1));
    set(&LmdbStore::open(&file), "a", b"1");
    assert_eq!(get(&LmdbStore::open(&file), "a").as_deref(), Some(&b"1"[..]));
}

/// LMDB goes on with a file that was deleted, where no other process finds what is written.
#[cfg(unix)]
#[test]
fn a_file_that_was_replaced_is_not_written_to() {
    let within = tempdir().unwrap();
    let path = within.path().join("x.lmdb");
    let old = LmdbStore::open(&path);
    set(&old, "a", b"1");
    for replaced in [false, true] {
        if path.exists() {
            fs::rename(&path, within.path().join("old.lmdb")).unwrap();
        }
        if replaced {
            fs::create_dir(&path).unwrap();
            fs::copy(within.path().join("old.lmdb/data.mdb"), path.join("data.mdb")).unwrap();
        }
        let errors = [
            old.set(&key("a"), Payload::new(&b"2"[..])).unwrap_err(),
            LmdbStore::open(&path).set(&key("a"), Payload::new(&b"2"[..])).unwrap_err(),
        ];
        for error in errors {
            assert!(error.to_string().contains("deleted or replaced"), "{replaced}: {error}");
        }
        let _ = fs::remove_dir_all(&path);
    }
    drop(old);
    let new = LmdbStore::open(&path);
    set(&new, "a", b"3");
    drop(new);
    assert_eq!(get(&LmdbStore::open(&path), "a").as_deref(), Some(&b"3"[..]));
}

/// A path into a file, and the URL of one.
#[test]
fn urls_name_files_and_what_is_in_them() {
    let within = tempdir().unwrap();
    let path = within.path().join("a b.lmdb");
    let store = LmdbStore::open(&path);
    set(&store, "g/x/zarr.json", b"{}");
    let registry = Registry::new().with(zarr_stores::register);
    let open = |url: &str| registry.open_store(url, Access::ReadOnly).unwrap();
    let found = |store: &Arc<dyn Store>| names(&*store.to_sync());
    assert_eq!(found(&open(path.to_str().unwrap())), ["g/x/zarr.json"]);
    assert_eq!(found(&open(path.join("g").to_str().unwrap())), ["x/zarr.json"]);
    let url = store.name();
    assert!(url.starts_with("lmdb:///") && url.ends_with("/a%20b.lmdb"), "{url}");
    assert_eq!(found(&open(&url)), ["g/x/zarr.json"]);
    assert_eq!(open(&format!("{url}/g/x")).name(), format!("{url}/g/x"));
}

/// A folder that holds no such file is none, however it is called.
#[cfg(feature = "filesystem")]
#[test]
fn a_folder_of_that_name_is_a_folder() {
    let within = tempdir().unwrap();
    let path = within.path().join("plain.lmdb");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("zarr.json"), "{}").unwrap();
    let registry = Registry::new().with(zarr_stores::register);
    let store = registry.open_store(path.to_str().unwrap(), Access::ReadOnly).unwrap();
    assert_eq!(names(&*store.to_sync()), ["zarr.json"]);
}

/// Runs one test of this program in a process that a shell has prepared, and that finds the path in its environment.
#[cfg(target_os = "linux")]
fn prepared(prepare: &str, test: &str, path: &std::path::Path) -> std::process::Output {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &format!("{prepare}; exec \"$0\" \"$@\"")]);
    command.arg(std::env::current_exe().unwrap());
    command.args([&*zarr_testkit::test_name(module_path!(), test), "--exact", "--nocapture"]);
    command.env(CHILD, path).output().unwrap()
}

#[cfg(target_os = "linux")]
const CHILD: &str = "ZARR_STORES_TEST_LMDB";

/// The process's umask decides who may use a file; LMDB would make it only for its owner.
#[cfg(target_os = "linux")]
#[test]
fn files_follow_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    if let Some(path) = std::env::var_os(CHILD) {
        return set(&LmdbStore::open(path), "a", b"one");
    }
    for (umask, mode) in [("0002", 0o664), ("0027", 0o640)] {
        let within = tempdir().unwrap();
        let (folder, file) = (within.path().join("x.lmdb"), within.path().join("y.mdb"));
        File::create(&file).unwrap().set_permissions(PermissionsExt::from_mode(mode)).unwrap();
        for path in [&folder, &file] {
            let test = "files_follow_the_umask";
            assert!(prepared(&format!("umask {umask}"), test, path).status.success());
            assert_eq!(get(&LmdbStore::open(path), "a").unwrap(), b"one");
        }
        for name in ["x.lmdb/data.mdb", "x.lmdb/lock.mdb", "y.mdb", "y.mdb-lock"] {
            let made = std::fs::metadata(within.path().join(name)).unwrap().permissions().mode();
            assert_eq!(made & 0o777, mode, "{name}, umask {umask}");
        }
    }
}

/// If a process may not have the address space, the error has its size, and the way to reduce it.
#[cfg(target_os = "linux")]
#[test]
fn a_map_that_the_system_refuses_is_named_with_its_size() {
    if let Some(path) = std::env::var_os(CHILD) {
        let refused = LmdbStore::open(&path).set(&key("a"), Payload::new(b"one")).unwrap_err();
        println!("refused: {refused:?} {refused}");
        return set(&LmdbStore::open(path).map_size(1 << 20), "a", b"one");
    }
    let within = tempdir().unwrap();
    let path = within.path().join("x.lmdb");
    let test = "a_map_that_the_system_refuses_is_named_with_its_size";
    let output = prepared("ulimit -v 8000000", test, &path);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("17179869184 bytes of address space"), "{said}");
    assert!(said.contains("LmdbStore::map_size"), "{said}");
    assert_eq!(get(&LmdbStore::open(path), "a").unwrap(), b"one");
}

/// LMDB maps its lock file, and a process that writes where the disk has no room for it ends by a signal: the room is taken when the file
/// is created.
#[cfg(target_os = "linux")]
#[test]
fn the_lock_file_has_its_place_on_the_disk() {
    use std::os::unix::fs::MetadataExt;
    let within = tempdir().unwrap();
    let path = within.path().join("x.lmdb");
    set(&LmdbStore::open(&path), "a", b"one");
    let lock = fs::metadata(path.join("lock.mdb")).unwrap();
    assert!(lock.blocks() * 512 >= lock.len() && lock.len() > 64 * 1024, "{lock:?}");
}

//! The file system store keeps its promises on a disk.

#![cfg(feature = "filesystem")]

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use tempfile::{TempDir, tempdir};
use zarr_core::store::{
    ByteRange, GetOptions, Payload, SnapshotOptions, Store, StoreKey, StorePrefix, SyncStore,
    Target, from_sync,
};
use zarr_core::{Access, StoreError};
use zarr_stores::FilesystemStore;
use zarr_testkit::{ShortCalls, check_store, check_store_folding_case};

fn key(key: &str) -> StoreKey {
    StoreKey::new(key).unwrap()
}

fn prefix(prefix: &str) -> StorePrefix {
    StorePrefix::new(prefix).unwrap()
}

/// A store in a new folder that does not exist yet, and is removed with the test.
fn fresh() -> (TempDir, FilesystemStore) {
    let within = tempdir().unwrap();
    let store = FilesystemStore::new(within.path().join("a b.zarr"));
    (within, store)
}

fn set(store: &FilesystemStore, name: &str, value: &[u8]) {
    store.set(&key(name), Payload::new(value)).unwrap();
}

fn get(store: &FilesystemStore, name: &str) -> Option<Vec<u8>> {
    store.value(&key(name)).unwrap().map(Vec::from)
}

fn names(store: &FilesystemStore) -> Vec<String> {
    store.list().unwrap().iter().map(ToString::to_string).collect()
}

/// Every entry below a folder, of whatever kind, sorted.
fn entries(folder: &Path) -> Vec<String> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
            if path.is_dir() && !path.is_symlink() {
                walk(root, &path, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, folder, &mut found);
    found.sort();
    found
}

/// V24, D-130 … D-132, D-134 … D-137, Q14, Q22, F-110, F-111.
#[test]
fn keeps_the_promises_of_stores() {
    let within = tempdir().unwrap();
    let folds_case = FilesystemStore::new(within.path()).folds_case().unwrap();
    let made = Cell::new(0);
    let make = || -> Arc<dyn Store> {
        made.set(made.get() + 1);
        from_sync(FilesystemStore::new(within.path().join(made.get().to_string())))
    };
    if folds_case { check_store_folding_case(make) } else { check_store(make) }
}

#[test]
fn keeps_them_without_the_systems_locks_too() {
    let within = tempdir().unwrap();
    let made = Cell::new(0);
    check_store_folding_case(|| {
        made.set(made.get() + 1);
        let root = within.path().join(made.get().to_string());
        from_sync(FilesystemStore::new(root).locking(false))
    });
    let store = FilesystemStore::new(within.path().join("last")).locking(false);
    assert!(store.swap(&key("k"), Some(Payload::new(b"v")), None).unwrap());
    assert_eq!(entries(store.root()), ["k"]);
}

#[test]
fn synchronised_writes_are_as_good_as_others() {
    let (_within, store) = fresh();
    let store = store.sync(true);
    set(&store, "a/b/c", b"one");
    set(&store, "a/b/c", b"two");
    let (_, version) = store.versioned(&key("a/b/c")).unwrap().unwrap();
    assert!(store.swap(&key("a/b/c"), Some(Payload::new(b"three")), Some(&version)).unwrap());
    assert_eq!(get(&store, "a/b/c").as_deref(), Some(&b"three"[..]));
    store.erase(&key("a/b/c")).unwrap();
    set(&store, "a/b/c", b"four");
    store.erase_prefix(&prefix("a/")).unwrap();
    assert!(entries(store.root()).is_empty());
}

/// D-130, D-132: refused by the key's own rules or by the store, nothing touched.
#[test]
fn keys_that_could_lead_elsewhere_are_refused_and_nothing_is_written() {
    let (within, store) = fresh();
    let absolute = within.path().join("absolute").to_string_lossy().into_owned();
    let (long, deep) = (format!("c/{}", "9".repeat(1000)), vec!["d"; 3000].join("/"));
    for bad in [
        "../x",
        "a/../../x",
        "/etc/passwd",
        "a//b",
        "a/./b",
        "",
        "a/",
        "\0",
        "a\0b",
        "..",
        ".",
        "C:\\x",
        "a\\..\\b",
        #[cfg(windows)]
        "a/C:/x",
        ".zarr-lock",
        "a/.zarr-lock",
        ".zarr-tmp-0/a",
        &long,
        &deep,
        &absolute,
    ] {
        let refused = |result: Result<(), StoreError>| match result {
            Err(StoreError::InvalidKey { key, .. }) => {
                assert_eq!(key.trim_end_matches('/'), bad.trim_end_matches('/'))
            }
            other => panic!("{bad:?}: {other:?}"),
        };
        match StoreKey::new(bad) {
            Err(e) => refused(Err(e)),
            Ok(key) => {
                let mut buf = vec![];
                refused(store.value(&key).map(drop));
                refused(store.get(&key, GetOptions::into(Target::Vec(&mut buf))).map(drop));
                refused(store.ranges(&key, &[ByteRange::ALL]).map(drop));
                refused(store.set(&key, Payload::new(b"v")));
                refused(store.put_unchecked(&key, Some(Payload::new(b"v"))));
                refused(store.swap(&key, Some(Payload::new(b"v")), None).map(drop));
                refused(store.erase(&key));
                let prefix = prefix(&format!("{bad}/"));
                refused(store.keys_below(&prefix).map(drop));
                refused(store.dir(&prefix).map(drop));
                refused(store.erase_prefix(&prefix));
            }
        }
    }
    assert!(entries(within.path()).is_empty());
}

/// Q10.
#[test]
fn a_folder_is_no_value_and_a_file_is_no_folder() {
    let (_within, store) = fresh();
    set(&store, "a/b", b"v");
    assert_eq!(get(&store, "a"), None);
    assert!(store.get(&key("a"), GetOptions::into(Target::Vec(&mut vec![1]))).unwrap().is_none());
    assert_eq!(store.ranges(&key("a"), &[ByteRange::ALL]).unwrap(), None);
    assert_eq!(get(&store, "a/b/c"), None);
    store.erase(&key("a")).unwrap();
    store.erase(&key("a/b/c")).unwrap();
    store.erase_prefix(&prefix("a/b/")).unwrap();
    assert_eq!(store.keys_below(&prefix("a/b/")).unwrap(), []);
    for refused in ["a", "a/b/c"] {
        let refused = store.set(&key(refused), Payload::new(b"v"));
        assert!(matches!(refused, Err(StoreError::Io { operation: "set", .. })), "{refused:?}");
    }
    assert_eq!(get(&store, "a/b").as_deref(), Some(&b"v"[..]));
    let left = entries(store.root());
    assert_eq!(left, [".zarr-lock", "a", "a/.zarr-lock", "a/b"], "no unfinished file stays");
}

/// Z2-083, T-59: absence is one thing, failure another.
#[cfg(unix)]
#[test]
fn what_keeps_a_value_from_being_read_is_an_error() {
    let (_within, store) = fresh();
    set(&store, "k", b"v");
    std::os::unix::fs::symlink("loop", store.root().join("loop")).unwrap();
    std::os::unix::fs::symlink("/dev/null", store.root().join("device")).unwrap();
    for name in ["loop", "device"] {
        let failed = store.value(&key(name));
        assert!(matches!(failed, Err(StoreError::Io { operation: "get", .. })), "{name}");
    }
    assert_eq!(names(&store), ["device", "k", "loop"]);
}

/// What is behind a link to nothing is not known to be absent: a clone of git-annex has such links before its files are fetched.
#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_an_error_and_not_an_absent_value() {
    use std::os::unix::fs::symlink;
    let (within, store) = fresh();
    set(&store, "a/k", b"v");
    let root = store.root();
    symlink("../.git/annex/objects/x/y", root.join("a/chunk")).unwrap();
    symlink("gone", root.join("a/c")).unwrap();
    for name in ["a/chunk", "a/c/0/1", "a/c"] {
        let mut out = [0; 4];
        let whole = GetOptions::into(Target::Exact(&mut out));
        let failed = [
            store.value(&key(name)).err(),
            store.get(&key(name), whole).err(),
            store.open(&key(name), Default::default()).err(),
            store.swap(&key(name), Some(Payload::new(b"new".as_slice())), None).err(),
        ];
        for failed in failed {
            let error = failed.expect(name).to_string();
            let (link, to) =
                if name == "a/chunk" { ("a/chunk", ".git/annex") } else { ("a/c", "gone") };
            let told =
                error.contains(&format!("`{link}` is a symbolic link to")) && error.contains(to);
            assert!(told && error.contains("datalad get") == (name == "a/chunk"), "{error}");
        }
    }
    assert!(store.list_prefix(&prefix("a/c/")).is_err());
    assert!(store.dir(&prefix("a/c/x/")).is_err());
    assert_eq!(names(&store), ["a/c", "a/chunk", "a/k"]);
    assert_eq!(get(&store, "a/no/such"), None);
    // The link itself can be replaced and erased.
    set(&store, "a/chunk", b"mine");
    assert_eq!(get(&store, "a/chunk").as_deref(), Some(&b"mine"[..]));
    let refused = store.set(&key("a/c/0"), Payload::new(b"x".as_slice())).unwrap_err();
    assert!(refused.to_string().contains("`a/c` is a symbolic link"), "{refused}");
    store.erase(&key("a/c")).unwrap();
    assert_eq!(names(&store), ["a/chunk", "a/k"]);

    symlink("unmounted", within.path().join("linked.zarr")).unwrap();
    let store = FilesystemStore::new(within.path().join("linked.zarr"));
    assert!(store.value(&key("zarr.json")).unwrap_err().to_string().contains("unmounted"));
    assert!(store.list().is_err());
}

/// Who may place a link must not decide where journals, what a repair moves away, locks and unfinished files are written.
#[cfg(unix)]
#[test]
fn files_of_our_own_are_never_reached_through_a_link() {
    use std::os::unix::fs::symlink;
    let (within, store) = fresh();
    let outside = within.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("k"), "theirs").unwrap();
    set(&store, "k", b"v");
    for folder in [".zarr-copy", ".zarr-quarantine", "a/.zarrkit-run"] {
        fs::create_dir_all(store.root().join("a")).unwrap();
        let link = store.root().join(folder);
        for at in [link.clone(), link.join("deep")] {
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            symlink(&outside, &at).unwrap();
            let name = at.strip_prefix(store.root()).unwrap().to_str().unwrap().to_owned();
            let value = key(&format!("{name}/k"));
            let new = || Payload::new(b"x".as_slice());
            let failed = [
                store.value(&value).err(),
                store.set(&value, new()).err(),
                store.set_all(&[(value.clone(), b"x")], true).err().map(|e| e.error),
                store.create(&value, new(), &[], &[]).err(),
                store.erase(&value).err(),
                store.erase_prefix(&prefix(&format!("{name}/"))).err(),
                store.list_prefix(&prefix(&format!("{name}/"))).err(),
            ];
            for (call, failed) in failed.into_iter().enumerate() {
                let error = failed.unwrap_or_else(|| panic!("call {call} on {name}")).to_string();
                assert!(error.contains(&format!("`{name}` is a symbolic link")), "{error}");
            }
            assert_eq!(names(&store), ["k"]);
            assert_eq!(entries(&outside), ["k"]);
            assert_eq!(fs::read(outside.join("k")).unwrap(), b"theirs");
            fs::remove_file(&at).unwrap();
        }
    }
    // The lock that the store has here goes first.
    store.flush().unwrap();
    symlink(outside.join("made"), store.root().join(".zarr-lock")).unwrap();
    let refused = store.set(&key("k"), Payload::new(b"new".as_slice())).unwrap_err();
    assert!(refused.to_string().contains("is a symbolic link"), "{refused}");
    assert_eq!(entries(&outside), ["k"]);
}

/// Others who may read a file, or may not, still may, or may not, when it is replaced.
#[cfg(unix)]
#[test]
fn a_file_that_replaces_another_has_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let (_within, store) = fresh();
    let mode = |name: &str| {
        let found = fs::metadata(store.root().join(name)).unwrap();
        found.permissions().mode() & 0o777
    };
    set(&store, "new", b"v");
    let usual = mode("new");
    for (name, kept) in [("open", 0o666), ("closed", 0o600), ("fixed", 0o444)] {
        set(&store, name, b"v");
        fs::set_permissions(store.root().join(name), fs::Permissions::from_mode(kept)).unwrap();
        set(&store, name, b"set");
        assert_eq!(mode(name), kept);
        let (_, version) = store.versioned(&key(name)).unwrap().unwrap();
        let swapped = Payload::new(b"swapped".as_slice());
        assert!(store.swap(&key(name), Some(swapped), Some(&version)).unwrap());
        assert_eq!(mode(name), kept);
        store.set_all(&[(key(name), b"all")], true).unwrap();
        assert_eq!((mode(name), get(&store, name).unwrap()), (kept, b"all".to_vec()));
        store.erase(&key(name)).unwrap();
        set(&store, name, b"v");
        assert_eq!(mode(name), usual, "a new file has what the system gives");
    }
}

/// A pipe has no end, and perhaps no writer: it is refused at once.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_no_value() {
    let (_folder, store) = fresh();
    fs::create_dir_all(store.root()).unwrap();
    let made = std::process::Command::new("mkfifo").arg(store.root().join("pipe")).status();
    assert!(made.unwrap().success());
    let error = store.value(&key("pipe")).unwrap_err();
    assert!(error.to_string().contains("neither a file nor a folder"), "{error}");
}

#[test]
fn nothing_is_there_before_the_first_write() {
    let (within, store) = fresh();
    assert_eq!(get(&store, "k"), None);
    assert!(names(&store).is_empty());
    store.erase(&key("k")).unwrap();
    store.erase_prefix(&StorePrefix::root()).unwrap();
    assert!(store.swap(&key("a/k"), None, None).unwrap());
    let (_, version) = {
        let other = FilesystemStore::new(within.path().join("other"));
        set(&other, "k", b"v");
        other.versioned(&key("k")).unwrap().unwrap()
    };
    assert!(!store.swap(&key("a/k"), None, Some(&version)).unwrap());
    assert!(!store.root().exists());
}

#[test]
fn read_only_stores_write_nothing() {
    let (within, store) = fresh();
    let store = store.access(Access::ReadOnly);
    let value = || Payload::new(b"v");
    for refused in [
        store.set(&key("k"), value()),
        store.put_unchecked(&key("k"), Some(value())),
        store.erase(&key("k")),
        store.erase_prefix(&StorePrefix::root()),
        store.swap(&key("k"), Some(value()), None).map(drop),
        store.folds_case().map(drop),
    ] {
        assert!(matches!(refused, Err(StoreError::ReadOnly)));
    }
    assert!(entries(within.path()).is_empty());
}

/// F-112, Z2-080: other programs' files, our own, and folders with nothing in them.
#[test]
fn listings_show_keys_and_nothing_else() {
    let (_within, store) = fresh();
    set(&store, "a/k", b"v");
    let root = store.root();
    for folder in ["empty/deeper", "locked"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for file in [".zarr-tmp-0123", "locked/.zarr-lock", "a/.zarr-tmp-4567", ".DS_Store"] {
        fs::write(root.join(file), "x").unwrap();
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        for name in [&b"back\\slash"[..], b"line\nbreak", b"C:x"] {
            fs::write(root.join(std::ffi::OsStr::from_bytes(name)), "x").unwrap();
        }
        // The file system of macOS refuses such a name.
        #[cfg(target_os = "linux")]
        fs::write(root.join(std::ffi::OsStr::from_bytes(b"not \xff UTF-8")), "x").unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
    }
    // Off Windows a colon and a line break are ordinary.
    let odd: &[&str] = if cfg!(unix) { &["C:x", "line\nbreak"] } else { &[] };
    let mut all = [&[".DS_Store", "a/k"], odd].concat();
    // What is behind it is not known to be absent.
    #[cfg(unix)]
    all.push("dangling");
    all.sort_unstable();
    assert_eq!(names(&store), all);
    let listing = store.dir(&StorePrefix::root()).unwrap();
    all.retain(|name| !name.contains('/'));
    assert_eq!(listing.keys, all.iter().map(|name| key(name)).collect::<Vec<_>>());
    assert_eq!(listing.prefixes, [prefix("a/")]);
    assert_eq!(store.dir(&prefix("empty/")).unwrap(), Default::default());
}

#[test]
fn erasing_a_prefix_leaves_no_folders_but_the_root() {
    let (_within, store) = fresh();
    for name in ["g/zarr.json", "g/x/zarr.json", "g/x/c/0/0", "g/x/c/0/1", "g/x/c/1/0"] {
        set(&store, name, b"v");
    }
    fs::write(store.root().join("g/x/c/0/.zarr-tmp-0123"), "a crash left it").unwrap();
    store.erase_prefix(&prefix("g/x/")).unwrap();
    assert_eq!(entries(store.root()), ["g", "g/.zarr-lock", "g/zarr.json"]);

    // An emptied folder above goes as well, with the lock file that is left in it.
    set(&store, "g/y/c/0", b"v");
    store.erase(&key("g/zarr.json")).unwrap();
    store.erase_prefix(&prefix("g/y/c/")).unwrap();
    assert!(entries(store.root()).is_empty());

    set(&store, "k", b"v");
    store.erase_prefix(&StorePrefix::root()).unwrap();
    assert_eq!(entries(store.root()), [".zarr-lock"]);
}

#[cfg(unix)]
#[test]
fn erasing_a_prefix_keeps_what_is_no_key() {
    let (_within, store) = fresh();
    set(&store, "a/k", b"v");
    fs::write(store.root().join("a/back\\slash"), "x").unwrap();
    store.erase_prefix(&prefix("a/")).unwrap();
    assert_eq!(entries(store.root()), ["a", "a/.zarr-lock", "a/back\\slash"]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_erasing_takes_the_link_alone() {
    use std::os::unix::fs::symlink;
    let (within, store) = fresh();
    let outside = within.path().join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    fs::write(outside.join("deep/k"), "behind").unwrap();
    set(&store, "a/k", b"v");
    let root = store.root();
    symlink(&outside, root.join("linked")).unwrap();
    symlink(outside.join("deep/k"), root.join("a/link")).unwrap();

    assert_eq!(get(&store, "a/link").as_deref(), Some(&b"behind"[..]));
    assert_eq!(get(&store, "linked/deep/k").as_deref(), Some(&b"behind"[..]));
    assert_eq!(names(&store), ["a/k", "a/link", "linked/deep/k"]);
    let listing = store.dir(&StorePrefix::root()).unwrap();
    assert_eq!(listing.prefixes, [prefix("a/"), prefix("linked/")]);

    // The key of a link to a folder is absent, and so erasing it changes nothing.
    assert_eq!(get(&store, "linked"), None);
    store.erase(&key("linked")).unwrap();
    assert!(root.join("linked").is_symlink());

    set(&store, "a/link", b"mine");
    assert_eq!(fs::read(outside.join("deep/k")).unwrap(), b"behind");
    symlink(outside.join("deep"), root.join("a/folder")).unwrap();
    store.erase_prefix(&prefix("a/")).unwrap();
    store.erase_prefix(&prefix("linked/")).unwrap();
    assert!(!root.join("linked").is_symlink() && !root.join("a").exists());
    assert_eq!(fs::read(outside.join("deep/k")).unwrap(), b"behind");
}

#[cfg(unix)]
#[test]
fn links_in_circles_do_not_keep_a_listing_busy() {
    use std::os::unix::fs::symlink;
    let (_within, store) = fresh();
    set(&store, "a/k", b"v");
    set(&store, "b/k", b"v");
    let root = store.root();
    symlink(root, root.join("a/up")).unwrap();
    symlink(".", root.join("a/same")).unwrap();
    symlink("../b", root.join("a/over")).unwrap();
    symlink("../a", root.join("b/back")).unwrap();
    symlink("self", root.join("self")).unwrap();
    assert_eq!(names(&store), ["a/k", "a/over/k", "b/back/k", "b/k", "self"]);
    let listing = store.dir(&prefix("a/over/")).unwrap();
    assert_eq!((listing.keys, listing.prefixes), (vec![key("a/over/k")], vec![]));
}

/// Values that are set in one call: which one failed is told, what was set before it stays, and nothing unfinished is left.
#[test]
fn of_several_values_the_one_that_cannot_be_set_is_told() {
    let (_within, store) = fresh();
    set(&store, "b/2/in", b"v");
    let names = ["a/0", "b/1", "b/2", "b/3", "c/4"].map(key);
    let values = names.clone().map(|name| (name, &b"new"[..]));
    let not_set = store.set_all(&values, true).unwrap_err();
    assert_eq!(not_set.at, 2, "{:?}", not_set.error);
    assert!(
        matches!(not_set.error, StoreError::Io { operation: "set", ref key, .. } if key == "b/2")
    );
    let is_set = names.each_ref().map(|name| get(&store, name.as_str()).is_some());
    assert_eq!(is_set, [true, true, false, false, false]);
    store.flush().unwrap();
    assert_eq!(entries(store.root()), ["a", "a/0", "b", "b/1", "b/2", "b/2/in"]);
    let refused = store.set_all(&[(key("a/0"), b"x"), (key("a/.zarr-lock"), b"x")], true);
    assert_eq!(refused.unwrap_err().at, 1);
    assert_eq!(get(&store, "a/0").as_deref(), Some(&b"new"[..]));
    let refused = store.clone().access(Access::ReadOnly).set_all(&values, true);
    assert!(matches!(refused.unwrap_err().error, StoreError::ReadOnly));
}

/// Values that are set in one call wait for a writer that compares and swaps.
#[test]
fn several_values_wait_for_the_lock_of_their_folder() {
    let (_within, store) = fresh();
    let names = ["a/0", "a/1"].map(key);
    let values = names.each_ref().map(|name| (name.clone(), &b"v"[..]));
    store.set_all(&values, true).unwrap();
    let held = fs::File::open(store.root().join("a/.zarr-lock")).unwrap();
    held.lock().unwrap();
    let new = names.each_ref().map(|name| (name.clone(), &b"new"[..]));
    let (send, receive) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| send.send(store.set_all(&new, true).is_ok()).unwrap());
        assert!(receive.recv_timeout(std::time::Duration::from_millis(50)).is_err());
        assert_eq!(get(&store, "a/0").as_deref(), Some(&b"v"[..]));
        store.set_all(&values, false).expect("without the guard nobody waits");
        held.unlock().unwrap();
        assert!(receive.recv_timeout(std::time::Duration::from_secs(20)).unwrap());
    });
    assert_eq!(get(&store, "a/1").as_deref(), Some(&b"new"[..]));
}

/// The lock file is erased with its folder, and writers begin again.
#[test]
fn writers_whose_folder_is_erased_under_them_begin_anew() {
    let (_within, store) = fresh();
    let done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        let eraser = scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                store.erase_prefix(&prefix("a/")).unwrap();
            }
        });
        let writers: [_; 3] = std::array::from_fn(|i| {
            let store = &store;
            scope.spawn(move || {
                let name = format!("a/b/{i}");
                for round in 0..200u8 {
                    let beside = key(&format!("{name}x"));
                    let both = [(key(&name), &[round][..]), (beside.clone(), &[round][..])];
                    store.set_all(&both, true).unwrap();
                    store.erase(&beside).unwrap();
                    let now = store.versioned(&key(&name)).unwrap();
                    let version = now.map(|(_, version)| version);
                    let value = (round % 2 == 0).then(|| Payload::new(vec![round]));
                    store.swap(&key(&name), value, version.as_ref()).unwrap();
                    store.erase(&key(&name)).unwrap();
                    assert!(store.keys_below(&prefix("a/")).unwrap().len() <= 6);
                }
            })
        });
        let ended = writers.map(|writer| writer.join());
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        eraser.join().unwrap();
        ended.into_iter().for_each(Result::unwrap);
    });
    store.erase_prefix(&prefix("a/")).unwrap();
    assert!(entries(store.root()).is_empty());
}

/// A store that cannot lock refuses guarded writes; it never writes unguarded.
#[test]
fn a_lock_that_cannot_be_had_is_an_error_unless_it_is_not_wanted() {
    let (_within, store) = fresh();
    fs::create_dir_all(store.root().join(".zarr-lock")).unwrap();
    let value = || Payload::new(b"v");
    for refused in
        [store.set(&key("k"), value()), store.swap(&key("k"), Some(value()), None).map(drop)]
    {
        assert!(matches!(refused, Err(StoreError::LockRefused { .. })), "{refused:?}");
    }
    assert_eq!(entries(store.root()), [".zarr-lock"], "no unfinished file stays");
    store.put_unchecked(&key("k"), Some(value())).unwrap();
    assert!(matches!(store.erase(&key("k")), Err(StoreError::LockRefused { .. })));
    store.put_unchecked(&key("k"), None).unwrap();
    set(&store.clone().locking(false), "k", b"v");
}

#[test]
fn urls_name_the_store() {
    let (within, store) = fresh();
    set(&store, "k", b"v");
    assert!(store.name().ends_with("/a%20b.zarr"));
    let registry = zarr_core::Registry::new().with(zarr_stores::register);
    let path = within.path().join("a b.zarr");
    for location in [store.name(), path.to_string_lossy().into_owned()] {
        let opened = registry.open_store(&location, Access::ReadOnly).unwrap();
        assert_eq!(opened.name(), store.name());
        let value = opened.to_sync().value(&key("k")).unwrap();
        assert_eq!(value.as_deref(), Some(&b"v"[..]), "{location}");
        let refused = opened.to_sync().erase(&key("k"));
        assert!(matches!(refused, Err(StoreError::ReadOnly)));
    }
    let absolute = FilesystemStore::new("relative.zarr");
    assert_eq!(absolute.root(), std::env::current_dir().unwrap().join("relative.zarr"));
}

#[test]
fn ranges_are_read_alone_from_files_larger_than_memory() {
    let (_within, store) = fresh();
    set(&store, "k", b"beginning");
    let file = fs::File::options().write(true).open(store.root().join("k")).unwrap();
    let size = 1u64 << 42;
    if file.set_len(size).is_err() {
        zarr_testkit::skipped("filesystem", "no file can have 4 TiB here");
        return;
    }
    let ranges =
        [ByteRange::Bounded { start: 0, len: 9 }, ByteRange::Suffix(4), ByteRange::From(size - 2)];
    let parts = store.ranges(&key("k"), &ranges).unwrap().unwrap();
    assert_eq!(parts, [&b"beginning"[..], &[0; 4], &[0; 2]]);
}

/// The handle that wrote removes the lock files, at the flush and at its end; also one that a killed writer
/// left there.
#[cfg(unix)]
#[test]
fn lock_files_go_with_the_handle_that_wrote() {
    let (_within, store) = fresh();
    let write = |store: &FilesystemStore| {
        for name in ["zarr.json", "a/zarr.json", "a/c/0/0"] {
            set(store, name, b"v");
        }
        store.erase(&key("a/c/0/0")).unwrap();
        let was = store.versioned(&key("b/k")).unwrap().map(|(_, version)| version);
        assert!(store.swap(&key("b/k"), Some(Payload::new(b"v")), was.as_ref()).unwrap());
    };
    let locks = || entries(store.root()).into_iter().filter(|name| name.ends_with(".zarr-lock"));
    fs::create_dir_all(store.root()).unwrap();
    fs::write(store.root().join(".zarr-lock"), "").unwrap();
    write(&store);
    assert_eq!(locks().count(), 4);
    store.flush().unwrap();
    assert_eq!(locks().count(), 0);

    let other = FilesystemStore::new(store.root());
    write(&store);
    write(&other.clone());
    drop(other);
    assert_eq!(locks().count(), 0);
    // Another process holds the lock file, and will remove it.
    set(&store, "zarr.json", b"w");
    let held = fs::File::open(store.root().join(".zarr-lock")).unwrap();
    held.lock_shared().unwrap();
    store.flush().unwrap();
    assert_eq!(locks().collect::<Vec<_>>(), [".zarr-lock"]);
    drop(held);
    store.flush().unwrap();
    assert_eq!(locks().count(), 0);
    // A reader leaves none, and removes none.
    fs::write(store.root().join(".zarr-lock"), "").unwrap();
    let reader = FilesystemStore::new(store.root()).access(Access::ReadOnly);
    assert!(reader.value(&key("zarr.json")).unwrap().is_some());
    drop(reader);
    assert_eq!(locks().collect::<Vec<_>>(), [".zarr-lock"]);
}

/// The next writer in a folder removes unfinished files that are older than an hour: no writer writes to them any more.
#[test]
fn unfinished_files_of_dead_writers_go_with_the_next_writer() {
    let (_within, store) = fresh();
    set(&store, "a/k", b"v");
    set(&store, "b/k", b"v");
    store.flush().unwrap();
    let root = store.root();
    let hour = Duration::from_secs(3600);
    for (name, age) in [("a/.zarr-tmp-dead", hour * 2), ("a/.zarr-tmp-live", hour / 2)] {
        let file = fs::File::create(root.join(name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    let file = fs::File::create(root.join("b/.zarr-tmp-dead")).unwrap();
    file.set_modified(SystemTime::now() - hour * 2).unwrap();
    let next = FilesystemStore::new(root);
    set(&next, "a/k", b"w");
    drop(next);
    assert_eq!(entries(root), ["a", "a/.zarr-tmp-live", "a/k", "b", "b/.zarr-tmp-dead", "b/k"]);
}

#[test]
fn an_open_value_says_when_it_was_set() {
    let (_within, store) = fresh();
    set(&store, "k", b"v");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let file = fs::File::options().write(true).open(store.root().join("k")).unwrap();
    file.set_modified(time).unwrap();
    let value = store.open(&key("k"), SnapshotOptions::default()).unwrap().unwrap();
    assert_eq!(value.modified(), Some(time));
}

//! A cached value is the value that the store has.

#![cfg(all(feature = "cache", feature = "memory"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use tempfile::{TempDir, tempdir};
use zarr_core::StoreError;
use zarr_core::store::{ByteRange, Payload, Store, StoreKey, StorePrefix, SyncStore, from_sync};
use zarr_stores::{
    ByteCache, CacheFolder, CacheStore, Call, FilesystemStore, MemoryStore, ObservedStore,
};
use zarr_testkit::{Counters, ShortCalls, check_store, sample};

fn key(key: &str) -> StoreKey {
    StoreKey::new(key).unwrap()
}

fn folder(limit: u64) -> (TempDir, CacheFolder) {
    let within = tempdir().unwrap();
    let folder = CacheFolder::open(within.path().join("cache"), limit).unwrap();
    (within, folder)
}

fn set(store: &dyn SyncStore, name: &str, value: &[u8]) {
    store.set(&key(name), Payload::new(value)).unwrap();
}

fn get(store: &dyn SyncStore, name: &str) -> Option<Vec<u8>> {
    store.value(&key(name)).unwrap().map(Vec::from)
}

/// A number is written into each lock file: never into what a link leads to.
#[cfg(unix)]
#[test]
fn a_lock_of_the_cache_that_is_a_link_is_not_written_to() {
    let (within, cache) = folder(1 << 20);
    let outside = within.path().join("theirs");
    std::fs::write(&outside, "theirs").unwrap();
    for number in 0..64 {
        let lock = within.path().join(format!("cache/locks/{number:02x}"));
        std::os::unix::fs::symlink(&outside, lock).unwrap();
    }
    let store: Arc<dyn Store> = Arc::new(cache.store(from_sync(MemoryStore::new())));
    let store = store.to_sync();
    let _ = store.set(&key("k"), Payload::new(b"value".as_slice()));
    let _ = store.value(&key("k"));
    assert_eq!(std::fs::read(&outside).unwrap(), b"theirs");
}

/// A cache as the tests use it.
fn sync(store: CacheStore) -> Arc<dyn SyncStore> {
    (Arc::new(store) as Arc<dyn Store>).to_sync()
}

/// A store in memory, and it behind `make`, its calls counted.
fn counted(
    memory: &MemoryStore,
    make: impl FnOnce(ObservedStore) -> CacheStore,
) -> (Arc<dyn SyncStore>, CacheStore, Counters) {
    let counters = Counters::default();
    let cached = make(ObservedStore::new(from_sync(memory.clone()), counters.clone()));
    (sync(cached.clone()), cached, counters)
}

/// V24, D-130 … D-132, D-134 … D-137, Q14, F-110, F-111. Of a full cache, too, that keeps hardly anything.
#[test]
fn cached_stores_keep_the_promises_of_stores() {
    let within = tempdir().unwrap();
    let made = AtomicU32::new(0);
    let fresh = || within.path().join(made.fetch_add(1, Ordering::Relaxed).to_string());
    for limit in [64 << 20, 2000] {
        let cache = ByteCache::new(limit);
        let folder = || CacheFolder::open(fresh(), limit).unwrap();
        // Both caches with each limit; both stores behind each cache.
        let is_first = limit > 2000;
        if is_first || sample(false, true) {
            check_store(|| Arc::new(cache.store(from_sync(MemoryStore::new()))));
            check_store(|| Arc::new(folder().store(from_sync(FilesystemStore::new(fresh())))));
        }
        if !is_first || sample(false, true) {
            check_store(|| Arc::new(cache.store(from_sync(FilesystemStore::new(fresh())))));
            check_store(|| Arc::new(folder().store(from_sync(MemoryStore::new()))));
        }
    }
}

/// Checks both kinds of cache.
fn both(check: impl Fn(&dyn Fn(ObservedStore) -> CacheStore)) {
    let cache = ByteCache::new(16 << 20);
    check(&|store| cache.store(Arc::new(store)));
    let (_within, folder) = folder(16 << 20);
    check(&|store| folder.store(Arc::new(store)));
}

/// Values, parts, and that there is none are asked for once.
#[test]
fn what_is_kept_is_not_asked_for() {
    both(|make| {
        let memory = MemoryStore::new();
        set(&memory, "whole", b"value");
        set(&memory, "parts", &[7; 1000]);
        let (store, _, counters) = counted(&memory, make);
        let parts = [ByteRange::Suffix(3), ByteRange::Bounded { start: 10, len: 20 }];
        let mut read = Vec::new();
        for _ in 0..3 {
            let readable = &*store;
            assert_eq!(get(&*store, "whole").unwrap(), b"value");
            assert_eq!(get(&*store, "absent"), None);
            let pinned = readable.snapshot(&key("parts")).unwrap().unwrap();
            read.push(pinned.read(&parts).unwrap());
            assert_eq!(pinned.size(), 1000);
            let again = readable.snapshot_of(&key("parts"), &pinned.version().unwrap()).unwrap();
            assert_eq!(again.unwrap().read(&parts[..1]).unwrap(), read[0][..1]);
            assert_eq!(counters.total().calls, 3);
        }
        assert_eq!(read[0], read[2]);
        // Only what is not kept.
        let more = [parts[0], ByteRange::Bounded { start: 500, len: 5 }];
        let values = store.ranges(&key("parts"), &more).unwrap();
        assert_eq!(values.unwrap().concat(), [7; 8]);
        assert_eq!(counters.of("read").bytes, 23 + 5);
    });
}

/// What is larger than allowed is fetched again, but whether it changed is not asked.
#[test]
fn of_what_is_large_only_the_version_is_kept() {
    both(|make| {
        let memory = MemoryStore::new();
        set(&memory, "large", &[7; 1000]);
        set(&memory, "small", &[8; 10]);
        let (store, _, counters) = counted(&memory, |store| make(store).largest(100));
        let all = [ByteRange::ALL];
        let large = store.snapshot(&key("large")).unwrap().unwrap();
        assert_eq!(large.read(&all).unwrap().concat(), [7; 1000]);
        let (version, calls) = (large.version().unwrap(), counters.total().calls);
        for _ in 0..3 {
            let again = store.snapshot_of(&key("large"), &version).unwrap().unwrap();
            again.read(&[]).unwrap();
            assert_eq!((again.size(), again.version()), (1000, Some(version.clone())));
        }
        assert_eq!(counters.total().calls, calls, "the store was not asked");
        let again = store.snapshot_of(&key("large"), &version).unwrap().unwrap();
        assert_eq!(again.read(&all).unwrap().concat(), [7; 1000]);
        assert!(counters.total().calls > calls, "its bytes were not kept");
        assert_eq!(again.read(&[ByteRange::Suffix(100)]).unwrap().concat(), [7; 100]);
        let calls = counters.total().calls;
        assert_eq!(again.read(&[ByteRange::Suffix(100)]).unwrap().concat(), [7; 100]);
        assert_eq!(counters.total().calls, calls, "a small part was kept");

        for (name, asked) in [("large", 3), ("small", 1)] {
            let before = counters.total().calls;
            (0..3).for_each(|_| assert!(get(&*store, name).is_some()));
            assert_eq!(counters.total().calls - before, asked, "{name}");
        }
        set(&*store, "large", &[9; 1000]);
        assert_eq!(get(&*store, "large").unwrap(), [9; 1000], "an own write is seen at once");
        let changed = store.snapshot_of(&key("large"), &version);
        let changed = changed.and_then(|found| found.map_or(Ok(vec![]), |found| found.read(&all)));
        assert!(changed.is_err() || changed.unwrap().is_empty(), "the old version is gone");
    });
}

/// One's own writes are seen at once; others' when they are asked for.
#[test]
fn what_others_write_is_seen_when_it_is_asked_for() {
    both(|make| {
        let memory = MemoryStore::new();
        let (store, cached, _) = counted(&memory, make);
        set(&*store, "a", b"own");
        assert_eq!(get(&*store, "a").unwrap(), b"own");
        set(&memory, "a", b"theirs");
        assert_eq!(get(&*store, "a").unwrap(), b"own");
        // An update starts from the stored value.
        let conditional = &*store;
        let (value, was) = conditional.versioned(&key("a")).unwrap().unwrap();
        assert_eq!(value, &b"theirs"[..]);
        set(&memory, "a", b"theirs again");
        let new = || Some(Payload::new(b"new"));
        assert!(!conditional.swap(&key("a"), new(), Some(&was)).unwrap());
        // A lost update tells that what is kept is old.
        assert_eq!(get(&*store, "a").unwrap(), b"theirs again");
        let was = memory.versioned(&key("a")).unwrap().unwrap().1;
        assert!(conditional.swap(&key("a"), new(), Some(&was)).unwrap());
        assert_eq!(get(&*store, "a").unwrap(), b"new");

        memory.erase(&key("a")).unwrap();
        assert_eq!(get(&*store, "a").unwrap(), b"new");
        cached.forget(&StorePrefix::root()).unwrap();
        assert_eq!(get(&*store, "a"), None);
        set(&memory, "a", b"back");
        assert_eq!(get(&*store, "a"), None, "that there is none is kept, too");
        let now = sync(cached.max_age(Duration::ZERO));
        thread::sleep(Duration::from_millis(2));
        assert_eq!(get(&*now, "a").unwrap(), b"back");
    });
}

/// Parts of a value are of one version, kept or not.
#[test]
fn parts_are_never_of_two_versions() {
    both(|make| {
        let memory = MemoryStore::new();
        set(&memory, "a", b"old-old");
        let (store, ..) = counted(&memory, make);
        let readable = &*store;
        let part = |start| [ByteRange::Bounded { start, len: 3 }];
        let first = readable.snapshot(&key("a")).unwrap().unwrap();
        assert_eq!(first.read(&part(0)).unwrap().concat(), b"old");
        set(&memory, "a", b"new-new");
        let again = readable.snapshot(&key("a")).unwrap().unwrap();
        assert_eq!(again.read(&part(0)).unwrap().concat(), b"old");
        assert!(matches!(again.read(&part(4)), Err(StoreError::Changed { .. })));
        // A reader that begins again gets the new value.
        let anew = readable.snapshot(&key("a")).unwrap().unwrap();
        assert_eq!(anew.read(&[part(0), part(4)].concat()).unwrap().concat(), b"newnew");
        assert_ne!(anew.version(), first.version());
    });
}

/// The limit holds for all stores together, and what goes with a store makes room.
#[test]
fn stores_share_a_limit() {
    let cache = ByteCache::new(100_000);
    let memory = MemoryStore::new();
    for n in 0..100 {
        set(&memory, &n.to_string(), &[n; 5000]);
    }
    let stores = [(); 3].map(|()| sync(cache.store(from_sync(memory.clone()))));
    for store in &stores {
        for n in 0..100 {
            assert_eq!(get(&**store, &n.to_string()).unwrap(), [n; 5000]);
            assert!(cache.size() <= 100_000);
        }
    }
    assert!(cache.size() > 50_000);
    set(&memory, "large", &[1; 200_000]);
    assert_eq!(get(&*stores[0], "large").unwrap().len(), 200_000);
    assert!(cache.size() <= 100_000);
    drop(stores);
    assert_eq!(cache.size(), 0);
}

fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("locks") => {}
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// The next process reads the values kept in a folder; those that were damaged are fetched again.
#[test]
fn a_folder_outlasts_its_process_and_damage() {
    let within = tempdir().unwrap();
    let memory = MemoryStore::named("damaged");
    let names: Vec<String> = (0..6).map(|n| format!("{n}")).collect();
    for name in &names {
        set(&memory, name, name.repeat(50).as_bytes());
    }
    let round = || {
        let folder = CacheFolder::open(within.path(), 1 << 20).unwrap();
        let (store, _, counters) = counted(&memory, |store| folder.store(Arc::new(store)));
        for name in &names {
            assert_eq!(get(&*store, name).unwrap(), name.repeat(50).as_bytes());
        }
        counters.total().calls
    };
    assert_eq!((round(), round()), (6, 0));
    let files = files(within.path());
    assert_eq!(files.len(), 6);
    let whole = fs::read(&files[0]).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let mut damaged: Vec<Vec<u8>> = (0..whole.len()).step_by(sample(5, 1)).map(flipped).collect();
    damaged.extend((0..whole.len()).step_by(sample(29, 7)).map(|len| whole[..len].to_vec()));
    damaged.push([&whole[..], b"more"].concat());
    damaged.push(fs::read(&files[1]).unwrap());
    for bytes in damaged {
        fs::write(&files[0], bytes).unwrap();
        assert_eq!(round(), 1);
        assert_eq!(round(), 0);
    }
}

#[test]
fn a_folder_stays_below_its_limit() {
    let (within, folder) = folder(80_000);
    let memory = MemoryStore::named("large");
    let store = sync(folder.store(from_sync(memory.clone())));
    let size = || -> u64 {
        files(within.path()).iter().map(|file| fs::metadata(file).unwrap().len()).sum()
    };
    for n in 0..100u8 {
        set(&*store, &n.to_string(), &[n; 5000]);
        assert_eq!(get(&*store, "0").unwrap(), [0; 5000]);
        assert!(size() <= 80_000, "{}", size());
    }
    assert!(size() > 60_000);
    set(&*store, "large", &[1; 20_000]);
    assert_eq!(get(&*store, "large").unwrap().len(), 20_000);
    assert!(size() <= 80_000);
    // What is asked for again and again stays.
    let (store, _, counters) = counted(&memory, |store| folder.store(Arc::new(store)));
    assert_eq!(get(&*store, "0").unwrap(), [0; 5000]);
    assert_eq!(get(&*store, "99").unwrap(), [99; 5000]);
    assert_eq!(counters.total().calls, 0);
}

/// What was read is not kept if the key was written before the reading was done.
#[test]
fn what_was_overtaken_is_not_kept() {
    both(|make| {
        let memory = MemoryStore::new();
        set(&memory, "k", b"old");
        let writer = Arc::new(OnceLock::<Arc<dyn SyncStore>>::new());
        let overtake = writer.clone();
        let observer = move |call: &Call<'_>| {
            // The old value was got, and is on its way.
            if call.operation == "get" && call.bytes == 3 {
                set(&**overtake.get().unwrap(), "k", b"newer");
            }
        };
        let cached = make(ObservedStore::new(from_sync(memory.clone()), observer));
        let store = writer.get_or_init(|| sync(cached));
        assert_eq!(get(&**store, "k").unwrap(), b"old");
        assert_eq!(get(&**store, "k").unwrap(), b"newer");
    });
}

/// Writers and readers with folders opened each for itself, as processes do, beside each other: at the end, what is
/// kept is what was written last.
#[test]
fn what_is_kept_is_what_was_written_last() {
    let cache = ByteCache::new(1 << 20);
    let within = tempdir().unwrap();
    let memory = MemoryStore::named("last");
    let in_folder = || {
        let folder = CacheFolder::open(within.path(), 1 << 20).unwrap();
        sync(folder.store(from_sync(memory.clone())))
    };
    let in_memory = sync(cache.store(from_sync(memory.clone())));
    let beside: [Vec<Arc<dyn SyncStore>>; 2] =
        [(0..4).map(|_| in_folder()).collect(), vec![in_memory; 4]];
    for stores in beside {
        for round in 0..25 {
            thread::scope(|scope| {
                for (n, store) in stores.iter().enumerate() {
                    scope.spawn(move || {
                        for step in 0..8 {
                            match (n + step) % 3 {
                                0 => set(&**store, "k", format!("{round} {n} {step}").as_bytes()),
                                _ => drop(get(&**store, "k")),
                            }
                        }
                    });
                }
            });
            let last = get(&memory, "k");
            for store in &stores {
                assert_eq!(get(&**store, "k"), last);
            }
        }
    }
}

/// Names leave out the query, which may say which data it is.
#[cfg(feature = "http")]
#[test]
fn stores_that_differ_by_their_query_share_no_entry() {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Answers with the first line of the request.
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            let _ = lines.find(String::is_empty);
            let length = first.len();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            let _ = (&stream).write_all(format!("{head}{first}").as_bytes());
        }
    });
    let (_within, cache) = folder(1 << 20);
    let value = |query: &str| {
        let url = format!("http://127.0.0.1:{port}/x{query}");
        let options = [("max_retries", "0")];
        let store = zarr_stores::ObjectStore::open(&url, zarr_core::Access::ReadOnly, options);
        let store = sync(cache.store(store.unwrap().into_store()));
        assert_eq!(get(&*store, "k"), get(&*store, "k"));
        String::from_utf8(get(&*store, "k").unwrap()).unwrap()
    };
    assert_eq!(value("?id=1"), "GET /x/k?id=1 HTTP/1.1");
    assert_eq!(value("?id=2"), "GET /x/k?id=2 HTTP/1.1");
    assert_eq!(value(""), "GET /x/k HTTP/1.1");
}

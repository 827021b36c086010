//! A zip archive is a store like any other, whole at every moment.

#![cfg(feature = "zip")]

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use tempfile::{TempDir, tempdir};
use zarr_core::store::{
    ByteRange, Payload, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore, Version, from_sync,
};
use zarr_core::{Access, Registry, StoreError};
use zarr_stores::ZipStore;
use zarr_testkit::ShortCalls;
use zarr_testkit::check_store;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

fn key(key: &str) -> StoreKey {
    StoreKey::new(key).unwrap()
}

fn set(store: &ZipStore, name: &str, value: &[u8]) {
    store.set(&key(name), Payload::new(value)).unwrap();
}

fn get(store: &ZipStore, name: &str) -> Option<Vec<u8>> {
    store.value(&key(name)).unwrap().map(Vec::from)
}

fn names(store: &ZipStore) -> Vec<String> {
    store.list().unwrap().iter().map(ToString::to_string).collect()
}

/// A path for an archive in a new folder.
fn fresh() -> (TempDir, PathBuf) {
    let within = tempdir().unwrap();
    let path = within.path().join("a b.zip");
    (within, path)
}

/// What is in the folder of an archive.
fn beside(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// An archive as others make it: names and values, compressed so.
fn archive(method: CompressionMethod, entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, value) in entries {
        match name.strip_suffix('/') {
            Some(folder) => zip.add_directory(folder, options).unwrap(),
            None => {
                zip.start_file(*name, options).unwrap();
                zip.write_all(value).unwrap();
            }
        }
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn it_keeps_the_promises_of_a_store() {
    let within = tempdir().unwrap();
    let made = AtomicU32::new(0);
    check_store(|| {
        let n = made.fetch_add(1, Ordering::Relaxed);
        from_sync(ZipStore::open(within.path().join(format!("{n}.zip"))).unwrap())
    });
}

/// The archive changes at the flush, and only then; what was replaced or erased is not in it.
#[test]
fn a_flush_puts_everything_in_place_at_once() {
    let (_within, path) = fresh();
    let store = ZipStore::open(&path).unwrap();
    set(&store, "a", b"one");
    set(&store, "b/c", &[7; 1000]);
    assert!(!path.exists());
    assert_eq!(get(&store, "a").unwrap(), b"one");
    store.flush().unwrap();
    assert_eq!(beside(&path), ["a b.zip"]);
    let first = fs::read(&path).unwrap();

    let reader = ZipStore::open_inside(&path, "", Access::ReadOnly).unwrap();
    set(&store, "a", b"two");
    set(&store, "d", b"new");
    store.erase(&key("b/c")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), first);
    assert_eq!(names(&store), ["a", "d"]);
    assert_eq!(names(&reader), ["a", "b/c"]);
    store.flush().unwrap();
    store.flush().unwrap();
    assert_eq!(beside(&path), ["a b.zip"]);
    assert!(fs::metadata(&path).unwrap().len() < 400, "the thousand bytes are gone");
    // What was open stays what it was.
    assert_eq!(get(&reader, "b/c").unwrap(), [7; 1000]);
    assert_eq!(get(&reader, "a").unwrap(), b"one");
    assert_eq!(get(&store, "a").unwrap(), b"two");

    let mut others = ZipArchive::new(fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(others.len(), 2);
    assert_eq!(others.by_name("d").unwrap().compression(), CompressionMethod::Stored);
}

/// The last handle flushes; a handle that wrote nothing makes no file.
#[test]
fn the_end_of_the_last_handle_is_a_flush() {
    let (_within, path) = fresh();
    drop(ZipStore::open(&path).unwrap());
    assert_eq!(beside(&path), [""; 0]);
    let store = ZipStore::open(&path).unwrap();
    let other = store.clone();
    set(&store, "a", b"one");
    drop(store);
    assert!(!path.exists());
    drop(other);
    assert_eq!(get(&ZipStore::open(&path).unwrap(), "a").unwrap(), b"one");
}

/// The files of a writer that died do not hinder other writers, and the archive is unchanged.
#[test]
fn a_writer_that_dies_changes_nothing() {
    let (_within, path) = fresh();
    let store = ZipStore::open(&path).unwrap();
    set(&store, "a", b"one");
    drop(store);
    let before = fs::read(&path).unwrap();
    for left in [&b""[..], b"half an entry", &before] {
        fs::write(path.with_extension("zip.zarr-part"), left).unwrap();
        let store = ZipStore::open(&path).unwrap();
        assert_eq!(names(&store), ["a"]);
        set(&store, "b", b"two");
        store.erase(&key("b")).unwrap();
        drop(store);
        assert_eq!(names(&ZipStore::open(&path).unwrap()), ["a"]);
        assert_eq!(beside(&path), ["a b.zip"]);
    }
}

/// A link beside an archive of another user would have us write where it leads.
#[cfg(unix)]
#[test]
fn a_part_file_that_is_a_link_is_refused() {
    let (within, path) = fresh();
    set(&ZipStore::open(&path).unwrap(), "a", b"one");
    let before = fs::read(&path).unwrap();
    let outside = within.path().join("outside");
    std::os::unix::fs::symlink(&outside, path.with_extension("zip.zarr-part")).unwrap();
    let refused = ZipStore::open(&path).unwrap().set(&key("b"), Payload::new(b"two".as_slice()));
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("is a symbolic link"), "{error}");
    assert!(!outside.exists());
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// What is behind it is not known to be absent, so that there is no new archive.
#[cfg(unix)]
#[test]
fn an_archive_that_is_a_link_to_nothing_is_an_error() {
    let (within, path) = fresh();
    std::os::unix::fs::symlink(within.path().join("unmounted/x.zip"), &path).unwrap();
    let error = ZipStore::open(&path).unwrap_err().to_string();
    assert!(error.contains("is a symbolic link to") && error.contains("unmounted"), "{error}");
}

/// One writer may write at a time, and others get an error; after the flush another one opens the archive as it is then.
#[test]
fn a_second_writer_is_refused_and_then_sees_what_the_first_wrote() {
    let (_within, path) = fresh();
    let first = ZipStore::open(&path).unwrap();
    let second = ZipStore::open(&path).unwrap();
    set(&first, "a", b"one");
    let refused = second.set(&key("b"), Payload::new(&b"two"[..])).unwrap_err();
    assert!(refused.to_string().contains("another writer"), "{refused}");
    assert!(second.swap(&key("a"), Some(Payload::new(&b"x"[..])), None).is_err());
    first.flush().unwrap();
    // It was opened before there was an archive, and does not take the key for absent now.
    assert!(!second.swap(&key("a"), Some(Payload::new(&b"x"[..])), None).unwrap());
    let (_, version) = second.versioned(&key("a")).unwrap().unwrap();
    assert!(second.swap(&key("a"), None, Some(&version)).unwrap());
    set(&second, "b", b"two");
    assert!(first.set(&key("c"), Payload::new(&b"x"[..])).is_err());
    drop(second);
    set(&first, "c", b"three");
    drop(first);
    assert_eq!(names(&ZipStore::open(&path).unwrap()), ["b", "c"]);
}

/// Z2-081, N-114: folders are passed over, and the only one that holds a hierarchy is its root.
#[test]
fn a_hierarchy_lies_at_the_top_or_in_the_only_folder() {
    let (_within, path) = fresh();
    let open = |entries: &[(&str, &[u8])]| {
        fs::write(&path, archive(CompressionMethod::Deflated, entries)).unwrap();
        names(&ZipStore::open(&path).unwrap())
    };
    assert_eq!(
        open(&[("x/", b""), ("x/.zgroup", b"{}"), ("x/a/.zarray", b"{}")]),
        [".zgroup", "a/.zarray"]
    );
    assert_eq!(open(&[("x/zarr.json", b"{}"), ("zarr.json", b"{}")]), ["x/zarr.json", "zarr.json"]);
    assert_eq!(
        open(&[("x/zarr.json", b"{}"), ("y/zarr.json", b"{}")]),
        ["x/zarr.json", "y/zarr.json"]
    );
    assert_eq!(open(&[("x/y/zarr.json", b"{}")]), ["x/y/zarr.json"]);

    // Where the caller says it, the folder is that, and new keys go there.
    let inside = ZipStore::open_inside(&path, "x/y/", Access::ReadWrite).unwrap();
    assert_eq!(names(&inside), ["zarr.json"]);
    set(&inside, "c/0", b"new");
    drop(inside);
    assert_eq!(names(&ZipStore::open(&path).unwrap()), ["x/y/c/0", "x/y/zarr.json"]);
}

/// Z2-081: where a writer appended what replaces an older entry, the last one counts.
#[test]
fn of_entries_with_one_name_the_last_counts() {
    let (_within, path) = fresh();
    let values: [(&str, &[u8]); 3] = [("c/0", b"old"), ("c/1", b"other"), ("c/2", b"newer")];
    let mut bytes = archive(CompressionMethod::Stored, &values);
    // No name can be written twice here; so another one is changed where it stands.
    while let Some(at) = bytes.windows(3).position(|name| name == b"c/2") {
        bytes[at + 2] = b'0';
    }
    fs::write(&path, bytes).unwrap();
    let store = ZipStore::open(&path).unwrap();
    assert_eq!(names(&store), ["c/0", "c/1"]);
    assert_eq!(get(&store, "c/0").unwrap(), b"newer");
    set(&store, "c/3", b"more");
    store.flush().unwrap();
    let store = ZipStore::open(&path).unwrap();
    assert_eq!(names(&store), ["c/0", "c/1", "c/3"]);
    assert_eq!(get(&store, "c/0").unwrap(), b"newer");
}

/// Entries of others: inflated or not, whole or in part; what others compressed stays compressed.
#[test]
fn entries_of_others_are_read_and_kept() {
    let (_within, path) = fresh();
    let value: Vec<u8> = (0..100_000u32).map(|n| (n / 100) as u8).collect();
    #[cfg_attr(not(feature = "zip-methods"), expect(unused_mut))]
    let mut methods = vec![CompressionMethod::Stored, CompressionMethod::Deflated];
    #[cfg(feature = "zip-methods")]
    methods.extend([CompressionMethod::Bzip2, CompressionMethod::Zstd, CompressionMethod::Xz]);
    for method in methods {
        fs::write(&path, archive(method, &[("v", &value)])).unwrap();
        let store = ZipStore::open(&path).unwrap();
        set(&store, "w", b"more");
        store.erase(&key("w")).unwrap();
        store.flush().unwrap();
        for store in [store, ZipStore::open(&path).unwrap()] {
            assert_eq!(get(&store, "v").unwrap(), value, "{method}");
            let pinned = store.snapshot(&key("v")).unwrap().unwrap();
            let parts = pinned
                .read(&[
                    ByteRange::Bounded { start: 500, len: 3 },
                    ByteRange::Suffix(2),
                    ByteRange::From(100_000),
                ])
                .unwrap();
            assert_eq!(parts[0], value[500..503]);
            assert_eq!(parts[1], value[99_998..]);
            assert!(parts[2].is_empty());
            assert!(pinned.read(&[ByteRange::Bounded { start: 99_999, len: 2 }]).is_err());
            let mut out = vec![0; value.len()];
            assert_eq!(store.exactly(&key("v"), &mut out).unwrap(), Some(100_000));
            assert_eq!(out, value);
            assert_eq!(store.exactly(&key("v"), &mut [0; 4]).unwrap(), Some(100_000));
        }
        let mut others = ZipArchive::new(fs::File::open(&path).unwrap()).unwrap();
        assert_eq!(others.by_name("v").unwrap().compression(), method);
    }
}

/// Bytes that are no archive, or a damaged one, are errors; names that lead out of it are no keys.
#[test]
fn damage_is_told() {
    let (_within, path) = fresh();
    let whole = archive(CompressionMethod::Stored, &[("a", b"0123456789"), ("b", &[1; 100])]);
    for cut in [0, 1, 30, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).unwrap();
        let refused = ZipStore::open(&path).unwrap_err();
        assert!(refused.to_string().contains("a b.zip"), "{refused}");
        assert!(refused.to_string().contains("truncated; get it again"), "{refused}");
        // Nor is it replaced by a new one.
        assert_eq!(fs::read(&path).unwrap(), &whole[..cut]);
    }
    let mut damaged = whole.clone();
    let at = whole.windows(4).position(|bytes| bytes == b"0123").unwrap();
    damaged[at] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let store = ZipStore::open(&path).unwrap();
    assert!(store.value(&key("a")).is_err());
    assert!(store.exactly(&key("a"), &mut [0; 10]).is_err());
    assert_eq!(get(&store, "b").unwrap(), [1; 100]);

    let hostile = archive(
        CompressionMethod::Stored,
        &[("../out", b"x"), ("/etc/passwd", b"x"), ("a//b", b"x"), ("ok", b"y")],
    );
    fs::write(&path, hostile).unwrap();
    // Inside the archive `/etc/passwd` is a name like any other.
    assert_eq!(names(&ZipStore::open(&path).unwrap()), ["etc/passwd", "ok"]);
    // A folder of that name is no archive.
    let folder = path.with_file_name("folder.zip");
    fs::create_dir(&folder).unwrap();
    assert!(ZipStore::open(&folder).is_err());
}

/// A small entry that inflates beyond its stated size is not held.
#[test]
fn a_bomb_is_not_inflated() {
    let (_within, path) = fresh();
    fs::write(&path, archive(CompressionMethod::Deflated, &[("a", &vec![0; 100 << 20])])).unwrap();
    let store = ZipStore::open(&path).unwrap();
    let refused = store.value(&key("a")).unwrap_err();
    assert!(refused.to_string().contains("inflate"), "{refused}");
    assert_eq!(store.exactly(&key("a"), &mut [0; 16]).unwrap(), Some(100 << 20));
    // It may be due.
    assert_eq!(store.exactly(&key("a"), &mut vec![1; 100 << 20]).unwrap(), Some(100 << 20));
}

/// Paths and URLs.
#[test]
fn archives_are_found_by_their_names() {
    let (_within, path) = fresh();
    fs::write(&path, archive(CompressionMethod::Stored, &[("x/zarr.json", b"{}")])).unwrap();
    let registry = Registry::new().with(zarr_stores::register);
    let text = path.to_str().unwrap();
    let url = format!("file://{}", text.replace(' ', "%20"));
    let open = |url: &str| registry.open_store(url, Access::ReadOnly).unwrap();
    let keys = |store: Arc<dyn Store>| store.to_sync().list().unwrap().len();
    for way in [text, &url, &url.replace("file", "zip")] {
        assert_eq!(open(way).name(), url.replace("file", "zip"), "{way}");
        assert_eq!(keys(open(way)), 1);
        let inside = open(&format!("{way}/x"));
        assert_eq!(inside.name(), format!("{}/x", url.replace("file", "zip")));
        assert!(inside.to_sync().value(&key("zarr.json")).unwrap().is_some());
        assert_eq!(keys(open(&format!("{way}/y"))), 0);
    }
    let read_only = open(text);
    let refused = read_only.to_sync().erase_prefix(&StorePrefix::root());
    assert!(matches!(refused, Err(StoreError::ReadOnly)));
    // What is not there is an empty store until something is written.
    assert_eq!(keys(open(&text.replace("a b", "none"))), 0);
}

/// Who asks for an archive by its scheme gets one, with the keys in the folder that is named, though neither is
/// there yet.
#[test]
fn a_new_archive_may_begin_in_a_folder() {
    let (_within, path) = fresh();
    let registry = Registry::new().with(zarr_stores::register);
    let url = format!("zip://{}/inner", path.display());
    let store = registry.open_store(&url, Access::ReadWrite).unwrap();
    store.to_sync().set(&key(".zgroup"), Payload::new(b"{}")).unwrap();
    store.to_sync().flush().unwrap();
    let mut archive = ZipArchive::new(fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(archive.by_index(0).unwrap().name().unwrap(), "inner/.zgroup");
    assert_eq!(get(&ZipStore::open(&path).unwrap(), ".zgroup").as_deref(), Some(&b"{}"[..]));
}

/// A path to it opens it, for reading and for writing; so does the end of its name, where there is no file yet.
#[test]
#[cfg(feature = "filesystem")]
fn an_archive_is_known_by_its_first_bytes_or_by_its_name() {
    let (_within, path) = fresh();
    set(&ZipStore::open(&path).unwrap(), "g/a", b"value");
    let registry = Registry::new().with(zarr_stores::register);
    for name in ["x.ozx", "X.OZX", "x.ome.zarr", "x"] {
        let other = path.with_file_name(name);
        fs::copy(&path, &other).unwrap();
        for access in [Access::ReadOnly, Access::ReadWrite] {
            let store = registry.open_store(other.to_str().unwrap(), access).unwrap();
            assert!(store.name().starts_with("zip://"), "{name}: {}", store.name());
            let inside = registry.open_store(&format!("{}/g", other.display()), access).unwrap();
            assert_eq!(inside.to_sync().value(&key("a")).unwrap().as_deref(), Some(&b"value"[..]));
        }
    }
    let new = path.with_file_name("new.ozx");
    let store = registry.open_store(new.to_str().unwrap(), Access::ReadWrite).unwrap();
    assert!(store.name().starts_with("zip://"));
    // Neither a short file nor an empty one is an archive.
    for content in [&b"P"[..], b"", b"PK\x03"] {
        let other = path.with_file_name("other");
        fs::write(&other, content).unwrap();
        let store = registry.open_store(other.to_str().unwrap(), Access::ReadOnly).unwrap();
        assert!(store.name().starts_with("file://"));
    }
}

/// A value that fails after its first bytes.
fn failing_value() -> Payload<'static> {
    struct Fails;
    impl SyncSnapshot for Fails {
        fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
            match ranges {
                [ByteRange::Bounded { start: 0, len }] => Ok(vec![vec![7; *len as usize].into()]),
                _ => Err(StoreError::Changed { key: "elsewhere".into() }),
            }
        }
        fn size(&self) -> u64 {
            1 << 20
        }
    }
    let value: Arc<dyn SyncSnapshot> = Arc::new(Fails);
    Payload::default().and_kept(&value, 0..1 << 20)
}

/// After a write that failed half-way the old archive stays, and every further call says why.
#[test]
fn a_failed_write_ends_the_handle_and_keeps_the_archive() {
    for replaces in [true, false] {
        let (_within, path) = fresh();
        let store = ZipStore::open(&path).unwrap();
        set(&store, "a", b"one");
        set(&store, "b", b"two");
        store.flush().unwrap();
        let before = fs::read(&path).unwrap();

        set(&store, "c", b"three");
        let name = key(if replaces { "a" } else { "d" });
        assert!(store.set(&name, failing_value()).is_err());
        assert_eq!(beside(&path), ["a b.zip"], "the part file goes");
        let version = Version::of_content("one".into());
        let refused = [
            store.value(&key("a")).map(drop).unwrap_err(),
            store.snapshot(&key("a")).map(drop).unwrap_err(),
            store.exactly(&key("a"), &mut [0; 3]).map(drop).unwrap_err(),
            store.versioned(&key("a")).map(drop).unwrap_err(),
            store.list().map(drop).unwrap_err(),
            store.set(&key("e"), Payload::new(b"x")).unwrap_err(),
            store.swap(&key("a"), None, Some(&version)).map(drop).unwrap_err(),
            store.erase(&key("b")).unwrap_err(),
            store.erase_prefix(&StorePrefix::root()).unwrap_err(),
            store.flush().unwrap_err(),
        ];
        for refused in refused {
            let said = refused.to_string();
            assert!(said.contains("an earlier write to this archive failed"), "{said}");
            assert!(said.contains("elsewhere") && said.contains("open it again"), "{said}");
        }
        drop(store);
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(beside(&path), ["a b.zip"]);
        let store = ZipStore::open(&path).unwrap();
        set(&store, "c", b"three");
        drop(store);
        assert_eq!(names(&ZipStore::open(&path).unwrap()), ["a", "b", "c"]);
    }
}

/// A value that panics while it is written is a write that failed.
#[test]
fn a_panic_in_a_value_counts_as_a_failed_write() {
    struct Panics;
    impl SyncSnapshot for Panics {
        fn read(&self, _: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
            std::panic::resume_unwind(Box::new("no value"))
        }
        fn size(&self) -> u64 {
            10
        }
    }
    let (_within, path) = fresh();
    let store = ZipStore::open(&path).unwrap();
    set(&store, "a", b"one");
    store.flush().unwrap();
    let value: Arc<dyn SyncSnapshot> = Arc::new(Panics);
    let set = || store.set(&key("a"), Payload::new(b"x").and_kept(&value, 0..10));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(set)).is_err());
    let refused = store.flush().unwrap_err().to_string();
    assert!(refused.contains("a panic cut it short"), "{refused}");
    drop(store);
    assert_eq!(get(&ZipStore::open(&path).unwrap(), "a").unwrap(), b"one");
    assert_eq!(beside(&path), ["a b.zip"]);
}

/// A write that cannot begin loses nothing: the handle reads on, and the next write may succeed.
#[test]
fn a_write_that_cannot_begin_leaves_the_handle_as_it_was() {
    let (_within, path) = fresh();
    let store = ZipStore::open(&path).unwrap();
    set(&store, "a", b"one");
    store.flush().unwrap();
    let part = path.with_extension("zip.zarr-part");
    fs::create_dir(&part).unwrap();
    assert!(store.set(&key("a"), Payload::new(b"two")).is_err());
    assert_eq!(get(&store, "a").unwrap(), b"one");
    fs::remove_dir(&part).unwrap();
    set(&store, "a", b"two");
    drop(store);
    assert_eq!(get(&ZipStore::open(&path).unwrap(), "a").unwrap(), b"two");
}

/// What a killed writer left of a flush goes with the next write.
#[test]
fn the_half_made_copy_of_a_killed_flush_goes() {
    let (_within, path) = fresh();
    for left in ["zip.zarr-compact", "zip.zarr-part"] {
        fs::write(path.with_extension(left), "half a copy").unwrap();
    }
    let store = ZipStore::open(&path).unwrap();
    set(&store, "a", b"one");
    drop(store);
    assert_eq!(beside(&path), ["a b.zip"]);
}

/// An entry whose own header is not where the directory says is no value, whole or in part.
#[test]
fn a_local_header_with_another_signature_is_refused() {
    let (_within, path) = fresh();
    let mut bytes = archive(CompressionMethod::Stored, &[("a", b"0123456789")]);
    assert_eq!(bytes[..4], *b"PK\x03\x04");
    bytes[3] = 5;
    fs::write(&path, bytes).unwrap();
    let store = ZipStore::open(&path).unwrap();
    assert_eq!(names(&store), ["a"]);
    assert!(store.value(&key("a")).is_err());
    let refused = store.snapshot(&key("a")).map(drop).unwrap_err().to_string();
    assert!(refused.contains("no entry where the directory has one"), "{refused}");
}

/// The next directory is written where the old one began, and nothing of the old one stays, in front of the new one or
/// behind it: a reader looks for the directory from the end.
#[test]
fn nothing_of_an_old_directory_stays() {
    let (_within, path) = fresh();
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for n in 10..40 {
        zip.start_file(format!("a{n}"), SimpleFileOptions::default()).unwrap();
        zip.write_all(b"one").unwrap();
    }
    zip.set_comment("about this archive").unwrap();
    let mut bytes = zip.finish().unwrap().into_inner();
    // All entries get one name. Of those only the last is kept, so that the next directory is much shorter.
    for n in 10..40 {
        let name = format!("a{n}");
        while let Some(at) = bytes.windows(3).position(|bytes| bytes == name.as_bytes()) {
            bytes[at + 1..at + 3].copy_from_slice(b"aa");
        }
    }
    let directory = |bytes: &[u8]| bytes.windows(4).filter(|sign| sign == b"PK\x01\x02").count();
    assert_eq!(directory(&bytes), 30);
    let start = bytes.windows(4).position(|sign| sign == b"PK\x01\x02").unwrap();
    fs::write(&path, bytes).unwrap();
    let store = ZipStore::open(&path).unwrap();
    set(&store, "b", b"two");
    store.flush().unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(directory(&bytes), 2);
    assert_eq!(bytes[start..start + 4], *b"PK\x03\x04", "the next entry follows the last");
    assert!(bytes.ends_with(b"about this archive"));
    assert_eq!(names(&ZipStore::open(&path).unwrap()), ["aaa", "b"]);
    assert_eq!(get(&store, "aaa").unwrap(), b"one");
}

/// Writing at the beginning of the directory would overwrite the entries after it.
#[test]
fn an_archive_with_entries_behind_its_directory_is_not_written_to() {
    let (_within, path) = fresh();
    let whole = archive(CompressionMethod::Stored, &[("a", b"0123456789")]);
    // The entry again, behind its directory, whose header leads there; and an end that leads to the directory.
    let start = whole.windows(4).position(|sign| sign == b"PK\x01\x02").unwrap();
    let end = whole.windows(4).position(|sign| sign == b"PK\x05\x06").unwrap();
    let mut bytes = whole[..end].to_vec();
    bytes[start + 42..start + 46].copy_from_slice(&(end as u32).to_le_bytes());
    bytes.extend_from_slice(&whole[..start]);
    bytes.extend_from_slice(&whole[end..]);
    fs::write(&path, &bytes).unwrap();
    let store = ZipStore::open(&path).unwrap();
    assert_eq!(get(&store, "a").unwrap(), b"0123456789");
    let refused = store.set(&key("b"), Payload::new(b"x")).unwrap_err().to_string();
    assert!(refused.contains("an entry lies behind the directory"), "{refused}");
    assert_eq!(get(&store, "a").unwrap(), b"0123456789");
    drop(store);
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(beside(&path), ["a b.zip"]);
}

/// The name of an entry that is no key is reported, and hides no other.
#[test]
fn a_name_that_is_no_key_is_told() {
    let (_within, path) = fresh();
    let entries: [(&str, &[u8]); 4] =
        [("a/../b", b"1"), ("a/zarr.json", b"{}"), ("c//d", b"2"), ("zarr.json", b"{}")];
    fs::write(&path, archive(CompressionMethod::Stored, &entries)).unwrap();
    let store = ZipStore::open(&path).unwrap();
    let below = store.list_prefix(&StorePrefix::root()).unwrap();
    assert_eq!(below.keys, [key("a/zarr.json"), key("zarr.json")]);
    assert_eq!(below.left_out, ["a/../b", "c//d"]);
    let a = StorePrefix::new("a/").unwrap();
    assert_eq!(store.list_prefix(&a).unwrap().left_out, ["a/../b"]);
    let listing = store.dir(&a).unwrap();
    assert_eq!((listing.keys.len(), listing.left_out.as_slice()), (1, &["a/../b".to_owned()][..]));
    let top = store.dir(&StorePrefix::root()).unwrap();
    assert_eq!(top.prefixes, ["a/", "c/"].map(|prefix| StorePrefix::new(prefix).unwrap()));
    assert_eq!(store.dir(&top.prefixes[1]).unwrap().left_out, ["c//d"]);
}

/// What is in an archive, in the order of its directory, which must be that of the file; and its comment.
fn stored(path: &Path) -> (Vec<String>, String) {
    let archive = ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    let entries = archive.metadata();
    let entries: Vec<_> = (0..entries.len()).map(|n| entries.entry(n).unwrap()).collect();
    assert!(entries.is_sorted_by_key(|entry| entry.header_start()));
    assert!(entries.iter().all(|entry| entry.compression() == CompressionMethod::Stored));
    let names = entries.iter().map(|entry| entry.name().unwrap().into_owned()).collect();
    (names, String::from_utf8(archive.comment().to_vec()).unwrap())
}

const JSON_FIRST: &str = r#""zipFile":{"centralDirectory":{"jsonFirst":true}}"#;

/// OME's RFC-9.
#[test]
fn a_single_file_ome_zarr_has_its_documents_first_and_says_so() {
    let within = tempdir().unwrap();
    let path = within.path().join("x.OZX");
    let store = ZipStore::open(&path).unwrap();
    for name in
        ["b/s/zarr.json", "c/0", "b/c/0/0", "b/zarr.json", "README", "a/zarr.json", "a/s/zarr.json"]
    {
        set(&store, name, name.as_bytes());
    }
    store.flush().unwrap();
    // Of a copy that is under way the root's document comes last.
    let (names, comment) = stored(&path);
    assert_eq!((names[0].as_str(), comment.as_str()), ("b/s/zarr.json", ""));
    set(&store, "zarr.json", br#"{"attributes": {"ome": {"version": "0.6"}}}"#);
    store.flush().unwrap();
    let documents = ["zarr.json", "a/zarr.json", "b/zarr.json", "a/s/zarr.json", "b/s/zarr.json"];
    let (names, comment) = stored(&path);
    assert_eq!(names, [&documents[..], &["c/0", "b/c/0/0", "README"]].concat());
    assert_eq!(comment, format!(r#"{{"ome":{{"version":"0.6",{JSON_FIRST}}}}}"#));
    assert_eq!(get(&store, "b/c/0/0").unwrap(), b"b/c/0/0");

    // It stays one, whatever is written later and however it is called.
    drop(store);
    let path = within.path().join("other.zip");
    fs::rename(within.path().join("x.OZX"), &path).unwrap();
    let store = ZipStore::open(&path).unwrap();
    set(&store, "d/zarr.json", b"{}");
    set(&store, "zarr.json", b"{}");
    store.flush().unwrap();
    let (names, comment) = stored(&path);
    assert_eq!(
        names[..5],
        ["zarr.json", "a/zarr.json", "b/zarr.json", "d/zarr.json", "a/s/zarr.json"]
    );
    assert_eq!(comment, format!(r#"{{"ome":{{"version":"0.5",{JSON_FIRST}}}}}"#));
    // A chunk needs no new order.
    set(&store, "c/1", b"1");
    store.flush().unwrap();
    assert_eq!(stored(&path).0.last().unwrap(), "c/1");
    assert_eq!(stored(&path).1, comment);
    // Without the root's document it is none any more.
    store.erase(&key("zarr.json")).unwrap();
    store.flush().unwrap();
    assert!(stored(&path).1.contains(r#""jsonFirst":false"#), "{}", stored(&path).1);
}

#[test]
fn the_comment_of_an_archive_stays() {
    let within = tempdir().unwrap();
    for (name, before, after) in [
        ("x.zip", "by hand", "by hand".to_owned()),
        ("free.ozx", "by hand", "by hand".to_owned()),
        (
            "json.ozx",
            r#"{"n":1,"ome":{"zipFile":{"k":2}}}"#,
            format!(
                r#"{{"n":1,"ome":{{"zipFile":{{"k":2,{},"version":"0.5"}}}}"#,
                r#""centralDirectory":{"jsonFirst":true}}"#
            ),
        ),
        (
            "long.ozx",
            &format!("{{\"n\":\"{}\"}}", "x".repeat(65_500)),
            format!("{{\"n\":\"{}\"}}", "x".repeat(65_500)),
        ),
    ] {
        let path = within.path().join(name);
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        zip.set_raw_comment(before.as_bytes().into()).unwrap();
        zip.start_file(
            "zarr.json",
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored),
        )
        .unwrap();
        zip.write_all(b"{}").unwrap();
        fs::write(&path, zip.finish().unwrap().into_inner()).unwrap();
        let store = ZipStore::open(&path).unwrap();
        // With a gap that goes, and without one.
        set(&store, "zarr.json", b"{ }");
        store.flush().unwrap();
        assert_eq!(stored(&path).1, after, "{name}");
        set(&store, "c", b"1");
        store.flush().unwrap();
        assert_eq!(stored(&path).1, after, "{name}");
    }
}

/// Some programs begin names with `./` or `/`.
#[test]
fn names_with_a_prefix_are_read_and_a_name_without_one_counts() {
    let (_within, path) = fresh();
    let entries: [(&str, &[u8]); 8] = [
        ("./zarr.json", b"root"),
        ("a/c", b"exact"),
        ("./a/c", b"prefixed"),
        ("/b", b"first"),
        (".//./b", b"second"),
        ("/", b""),
        ("./../up", b"out"),
        ("/a/../up", b"out"),
    ];
    fs::write(&path, archive(CompressionMethod::Stored, &entries)).unwrap();
    let store = ZipStore::open(&path).unwrap();
    assert_eq!(names(&store), ["a/c", "b", "zarr.json"]);
    let values = ["zarr.json", "a/c", "b"].map(|name| get(&store, name).unwrap());
    assert_eq!(values, [&b"root"[..], b"exact", b"second"]);
    let warnings = SyncStore::warnings(&store);
    assert_eq!(warnings.len(), 4, "{warnings:?}");
    assert!(warnings[0].contains("`./zarr.json` is read as `zarr.json`"), "{warnings:?}");
    assert!(warnings[1].contains("`./a/c` is passed over, since `a/c` is there"), "{warnings:?}");
    assert!(warnings[3].contains("in place of one before it"), "{warnings:?}");
    // Parts of paths are none.
    let left_out = store.list_prefix(&StorePrefix::root()).unwrap().left_out;
    assert_eq!(left_out, ["./../up", "/a/../up"]);

    // What is replaced or erased does not come back under another name.
    set(&store, "b", b"new");
    store.erase(&key("a/c")).unwrap();
    store.flush().unwrap();
    let reopened = ZipStore::open(&path).unwrap();
    assert_eq!(names(&reopened), ["b", "zarr.json"]);
    assert_eq!(get(&reopened, "b").unwrap(), b"new");
    assert_eq!(SyncStore::warnings(&reopened).len(), 1);
}

/// Some programs on Windows write `\` for `/`.
#[test]
fn names_with_backslashes_are_read_with_slashes_and_not_written() {
    let (_within, path) = fresh();
    let entries: [(&str, &[u8]); 6] = [
        (".zgroup", b"root"),
        (r"x\.zarray", b"array"),
        (r"x\0.0", b"chunk"),
        (r".\y\.zgroup", b"group"),
        (r"..\up", b"out"),
        (r"unix/a\b", b"a letter like others"),
    ];
    let whole = archive(CompressionMethod::Stored, &entries);
    fs::write(&path, &whole).unwrap();
    let store = ZipStore::open(&path).unwrap();
    assert_eq!(names(&store), [".zgroup", r"unix/a\b", "x/.zarray", "x/0.0", "y/.zgroup"]);
    let values = ["x/.zarray", "x/0.0", "y/.zgroup"].map(|name| get(&store, name).unwrap());
    assert_eq!(values, [&b"array"[..], b"chunk", b"group"]);
    assert_eq!(store.list_prefix(&StorePrefix::root()).unwrap().left_out, [r"..\up"]);
    let warnings = SyncStore::warnings(&store);
    let [warning, _] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.contains(&store.name()) && warning.contains("4 entries"), "{warning}");
    assert!(warning.contains(r"`x\.zarray`") && warning.contains("read-only"), "{warning}");

    assert!(!SyncStore::capabilities(&store).write);
    let refused = store.set(&key("x/0.0"), b"new"[..].into()).unwrap_err();
    assert!(refused.to_string().contains("is read-only: copy it"), "{refused}");
    drop(store);
    assert_eq!(fs::read(&path).unwrap(), whole);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside");
}

#[test]
fn entries_that_have_one_name_with_slashes_are_an_error() {
    for names in [[r"x\0", "x/0"], ["x/0", r"x\0"]] {
        let (_within, path) = fresh();
        let entries = names.map(|name| (name, &b"1"[..]));
        fs::write(&path, archive(CompressionMethod::Stored, &entries)).unwrap();
        let refused = ZipStore::open(&path).unwrap_err().to_string();
        assert!(refused.contains(r"`x\0` and `x/0` have the same name"), "{refused}");
    }
}

#[test]
fn warnings_of_names_are_few() {
    let (_within, path) = fresh();
    let names: Vec<String> = (0..1000).map(|n| format!("./{n}")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b"1"[..])).collect();
    fs::write(&path, archive(CompressionMethod::Stored, &entries)).unwrap();
    let store = ZipStore::open(&path).unwrap();
    assert_eq!(store.list().unwrap().len(), 1000);
    let warnings = SyncStore::warnings(&store);
    assert_eq!(warnings.len(), 21);
    assert!(warnings[20].starts_with("980 more"), "{}", warnings[20]);
}

#[cfg(feature = "wrappers")]
#[test]
fn wrappers_pass_on_what_a_store_warns_of() {
    use zarr_stores::{ObservedStore, PrefixStore, ReadOnlyStore};
    let (_within, path) = fresh();
    fs::write(&path, archive(CompressionMethod::Stored, &[("./a", b"1")])).unwrap();
    let store: Arc<dyn Store> = from_sync(ZipStore::open(&path).unwrap());
    assert_eq!(store.warnings().len(), 1);
    let wrapped: [Arc<dyn Store>; 3] = [
        Arc::new(ReadOnlyStore::new(store.clone())),
        Arc::new(PrefixStore::new(store.clone(), StorePrefix::root())),
        Arc::new(ObservedStore::new(store.clone(), |_: &zarr_stores::Call<'_>| {})),
    ];
    for wrapper in wrapped {
        assert_eq!(wrapper.warnings(), store.warnings());
        assert_eq!(wrapper.to_sync().warnings(), store.warnings());
    }
}

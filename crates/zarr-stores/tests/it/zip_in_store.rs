//! An archive in another store is read like one on a disk, and fetches no more bytes than that takes.

#![cfg(all(feature = "zip", feature = "memory", feature = "wrappers"))]

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::sync::Arc;

use tempfile::tempdir;
use zarr_core::runtime::block_on;
use zarr_core::store::{
    ByteRange, Bytes, Capabilities, GetOptions, Payload, Store, StoreKey, SyncStore, async_trait,
    from_sync,
};
use zarr_core::{Access, Registry, StoreError};
use zarr_stores::{Call, MemoryStore, ObservedStore, Observer, RemoteZipStore, ZipStore};
use zarr_testkit::{Counters, ShortCalls, check_contents};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

fn key(key: &str) -> StoreKey {
    StoreKey::new(key).unwrap()
}

fn archive(entries: &BTreeMap<String, Vec<u8>>, method: CompressionMethod, wide: bool) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method).large_file(wide);
    for (name, value) in entries {
        zip.start_file(&**name, options).unwrap();
        zip.write_all(value).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn chunks(count: usize, size: usize) -> BTreeMap<String, Vec<u8>> {
    let value = |n: usize| (0..size).map(|i| (i * n / 7) as u8).collect();
    let mut entries: BTreeMap<_, _> =
        (0..count).map(|n| (format!("array/with/a/long/name/c/{n}"), value(n))).collect();
    entries.insert("zarr.json".into(), b"{}".to_vec());
    entries
}

/// The archive in memory, its reading seen by `observer`.
fn observed(archive: Vec<u8>, observer: impl Observer) -> Arc<dyn Store> {
    let memory = MemoryStore::new();
    memory.set(&key("a/x.zip"), Payload::new(archive)).unwrap();
    Arc::new(ObservedStore::new(from_sync(memory), observer))
}

fn open(store: Arc<dyn Store>) -> Result<Arc<dyn SyncStore>, StoreError> {
    Ok(open_async(store)?.to_sync())
}

fn open_async(store: Arc<dyn Store>) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(block_on(RemoteZipStore::open(store, &key("a/x.zip"), ""))?))
}

/// D-130 … D-137, F-110, F-111.
#[test]
fn it_has_what_the_archive_has() {
    let entries = chunks(40, 999);
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        for wide in [false, true] {
            let store = observed(archive(&entries, method, wide), Counters::default());
            let store = open_async(store).unwrap();
            check_contents(&store, &entries);
            let Capabilities { write, swap, .. } = store.capabilities();
            assert!(!write && !swap);
        }
    }
}

/// Opening fetches the end and the directory; a value, its entry; a part, its bytes and a header.
#[test]
fn no_more_is_fetched_than_is_needed() {
    let entries = chunks(3000, 5000);
    let name = "array/with/a/long/name/c/1234";
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let bytes = archive(&entries, method, false);
        let counters = Counters::default();
        let archive_size = bytes.len() as u64;
        let store = open(observed(bytes, counters.clone())).unwrap();
        let opened = counters.total();
        // 3,000 entries of 46 + 29 bytes and some, beyond the last 64 KiB.
        assert_eq!(opened.calls, 2);
        assert!(opened.bytes < 300_000 && opened.bytes < archive_size, "{opened:?}");
        let get = || store.value(&key(name)).unwrap().unwrap();
        assert_eq!(get(), entries[name]);
        let got = counters.total();
        assert_eq!(got.calls - opened.calls, 1);
        assert!(got.bytes - opened.bytes < 5000 + 200, "{got:?}");
        if method == CompressionMethod::Stored {
            let part = ByteRange::Bounded { start: 4000, len: 10 };
            let pinned = store.snapshot(&key(name)).unwrap().unwrap();
            for due in [1, 2] {
                assert_eq!(pinned.read(&[part]).unwrap().concat(), entries[name][4000..4010]);
                assert_eq!(counters.total().calls - got.calls, due);
            }
            assert!(counters.total().bytes - got.bytes < 200);
        }
        assert!(store.value(&key("absent")).unwrap().is_none());
        store.list().unwrap();
        assert!(counters.total().calls <= got.calls + 2);
    }
}

/// What is fetched of a value is bounded by its size, which a reader's limit bounds, not by the size that the
/// directory says it is stored in.
#[test]
fn a_stored_size_that_no_compression_makes_is_not_fetched() {
    let next =
        |n: &u64| Some(n.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
    let noise = std::iter::successors(Some(1), next).map(|n: u64| (n >> 56) as u8).take(4 << 20);
    let mut entries = BTreeMap::from([("b".to_owned(), noise.collect::<Vec<u8>>())]);
    entries.insert("a.json".into(), b"{\"a\": 1}".to_vec());
    let mut bytes = archive(&entries, CompressionMethod::Deflated, false);
    let is_entry = |at: usize| {
        bytes[at..].starts_with(b"PK\x01\x02") && bytes[at + 46..].starts_with(b"a.json")
    };
    let entry = (0..bytes.len() - 60).rfind(|&at| is_entry(at)).unwrap();
    let most = bytes.len() as u32;
    bytes[entry + 20..entry + 24].copy_from_slice(&most.to_le_bytes());
    let counters = Counters::default();
    let store = open(observed(bytes, counters.clone())).unwrap();
    let opened = counters.total();
    let found = store.get(&key("a.json"), GetOptions::at_most(100)).unwrap().unwrap();
    assert_eq!(found.bytes.as_deref(), Some(&entries["a.json"][..]));
    let fetched = counters.total().bytes - opened.bytes;
    assert!(most > 1 << 20 && fetched < 200_000, "{fetched} of {most}");
}

/// Values are found behind local headers that are longer than the directory lets expect.
#[test]
fn long_headers_are_read() {
    let value: Vec<u8> = (0..100).collect();
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let aligned = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .with_alignment(4096);
    for n in 0..3 {
        zip.start_file(format!("{n}"), aligned).unwrap();
        zip.write_all(&value).unwrap();
    }
    let archive = zip.finish().unwrap().into_inner();
    let store = open_async(observed(archive, Counters::default())).unwrap();
    let entries = (0..3).map(|n| (n.to_string(), value.clone())).collect();
    check_contents(&store, &entries);
}

/// What is wrong with an archive is an error here where it is one on a disk, and nowhere a panic.
#[test]
fn damage_is_told_as_on_a_disk() {
    let within = tempdir().unwrap();
    let path = within.path().join("x.zip");
    let entries = chunks(3, 50);
    let whole = archive(&entries, CompressionMethod::Deflated, false);
    let flipped = (0..whole.len()).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x11;
        bytes
    });
    let cut = (0..whole.len()).step_by(11).map(|len| whole[..len].to_vec());
    let read = |store: &dyn SyncStore| -> Vec<Option<Option<Bytes>>> {
        entries.keys().map(|name| store.value(&key(name)).ok()).collect()
    };
    for bytes in flipped.chain(cut) {
        std::fs::write(&path, &bytes).unwrap();
        let on_disk = ZipStore::open(&path).map(|store| read(&store));
        let here = open(observed(bytes, Counters::default()));
        let here = here.map(|store| read(&*store));
        assert_eq!(here.ok(), on_disk.ok());
    }
}

/// Tells of each reading but the first ones that the archive is another by now.
struct Replaced(u64);

#[async_trait]
impl Observer for Replaced {
    async fn after(&self, call: &Call<'_>) -> Result<(), StoreError> {
        if call.number < self.0 {
            Ok(())
        } else {
            Err(StoreError::Changed { key: call.key.to_owned() })
        }
    }
}

/// The archive that was opened is gone, and nothing of the new one is taken for a part of it.
#[test]
fn an_archive_that_is_replaced_is_an_error() {
    let bytes = archive(&chunks(3, 50), CompressionMethod::Stored, false);
    let store = open(observed(bytes, Replaced(1))).unwrap();
    let said = store.value(&key("zarr.json")).unwrap_err().to_string();
    assert!(said.ends_with("the archive was replaced while it was read; open it again"), "{said}");
    let pinned = store.snapshot(&key("zarr.json")).unwrap().unwrap();
    assert!(matches!(pinned.read(&[ByteRange::ALL]), Err(StoreError::Io { .. })));
}

#[test]
fn urls_lead_into_archives() {
    let registry = Registry::new().with(zarr_stores::register);
    let memory = MemoryStore::named("holds archives/in");
    let entries = [("a/zarr.json", "{}"), ("a/b/zarr.json", "{ }")]
        .map(|(name, value)| (name.to_owned(), value.into()))
        .into();
    let bytes = archive(&entries, CompressionMethod::Deflated, false);
    memory.set(&key("x.zip"), Payload::new(&bytes[..])).unwrap();
    let within = tempdir().unwrap();
    let path = within.path().join("x.zip");
    std::fs::write(&path, &bytes).unwrap();
    let path = path.to_str().unwrap();
    // A hierarchy in the archive's only folder is at its top.
    for (url, value) in [
        ("zip::memory://holds archives/in/x.zip".to_owned(), "{}"),
        ("zip::memory://holds archives/in/x.zip/b".to_owned(), "{ }"),
        ("zip://b::memory://holds archives/in/x.zip".to_owned(), "{ }"),
        (format!("zip::file://{path}"), "{}"),
        (format!("zip::{path}/b"), "{ }"),
        (format!("zip://b::{path}"), "{ }"),
        (format!("zip://{path}/b"), "{ }"),
        (format!("{path}/b"), "{ }"),
    ] {
        let store = registry.open_store(&url, Access::ReadOnly).unwrap();
        let found = store.to_sync().value(&key("zarr.json")).unwrap();
        assert_eq!(found.as_deref(), Some(value.as_bytes()), "{url}");
    }
    let store = registry.open_store("zip::memory://holds archives/in/x.zip", Access::ReadOnly);
    assert_eq!(store.unwrap().name(), "zip::memory://holds archives/in/x.zip/a");
    for (url, access, why) in [
        ("zip::memory://holds archives/in/x.zip", Access::ReadWrite, "can only be read"),
        ("zip::memory://holds archives/in/y.zip", Access::ReadOnly, "there is no such archive"),
        ("zip::memory://holds archives", Access::ReadOnly, "names no archive in a store"),
        ("zip::nobody://x/y.zip", Access::ReadOnly, "no store is registered for `nobody://`"),
    ] {
        let said = registry.open_store(url, access).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
}

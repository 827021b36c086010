//! Decoded chunks are kept for the handles of a hierarchy, and never used after their object changed.
#![cfg(all(
    feature = "memory",
    feature = "filesystem",
    feature = "zstd",
    feature = "sharding",
    feature = "vlen-utf8"
))]

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use zarr::store::{
    GetOptions, Got, ObservedStore, SnapshotOptions, Store, StoreKey, SyncSnapshot, SyncStore,
    Version, from_sync,
};
use zarr::stores::{FilesystemStore, MemoryStore};
use zarr::{Array, Dialect, Hierarchy, OpenOptions, StoreError};
use zarr_testkit::{Counters, Latency, Remote};

const SIDE: u64 = 32;

/// An array of 4 × 4 × 4 chunks, or of 2 × 2 × 2 shards of as many inner chunks.
fn create(store: Arc<dyn Store>, dialect: Dialect, sharded: bool) -> Vec<i32> {
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy =
        Hierarchy::create(store, zarr::format::of_dialect(dialect), &options).expect("created");
    let array = hierarchy.create_array("/a").shape(&[SIDE; 3]).data_type_named("int32");
    let array = array.chunks(&[8; 3]).codec(zarr::tools::codec("zstd:1").expect("a codec"));
    let array = if sharded { array.shards(&[16; 3]) } else { array };
    let elements: Vec<i32> = (1..=(SIDE * SIDE * SIDE) as i32).collect();
    array.create().expect("created").write(.., &elements).expect("written");
    elements
}

fn open(store: &Arc<dyn Store>, cache: u64) -> (Array, Hierarchy, Counters) {
    let counters = Counters::default();
    let observed: Arc<dyn Store> = Arc::new(ObservedStore::new(store.clone(), counters.clone()));
    let options = OpenOptions::new(zarr::standard()).read_write().chunk_cache(cache);
    let hierarchy = Hierarchy::open(observed, &options).expect("opened");
    let array = hierarchy.array("/a").expect("there");
    counters.take();
    (array, hierarchy, counters)
}

fn stores() -> [Arc<dyn Store>; 2] {
    let memory: Arc<dyn Store> = from_sync(MemoryStore::new());
    [memory, Arc::new(Remote(from_sync(MemoryStore::new())))]
}

fn cases() -> impl Iterator<Item = (Arc<dyn Store>, Dialect, bool)> {
    let dialects =
        [(Dialect::V2, false), (Dialect::V3, false), (Dialect::V3, true), (Dialect::Draft, false)];
    dialects.into_iter().flat_map(|(dialect, sharded)| stores().map(|s| (s, dialect, sharded)))
}

/// A read of more than the cache holds leaves what is kept: all of the array has 128 KiB, the cache 96, a chunk 2.
#[test]
fn a_read_of_more_than_the_cache_leaves_what_is_kept() {
    for (store, dialect, sharded) in cases() {
        let elements = create(store.clone(), dialect, sharded);
        let (array, _, counters) = open(&store, 96 << 10);
        let corner: Vec<i32> = array.read((0..8, 0..8, 0..8)).expect("read");
        let all: Vec<i32> = array.read(..).expect("read");
        assert!(all == elements, "{dialect:?}, sharded: {sharded}");
        counters.take();
        let again: Vec<i32> = array.read((0..8, 0..8, 0..8)).expect("read");
        assert!(corner == again);
        // Whether the chunk is unchanged is asked, and none of its bytes.
        let most = 0;
        let bytes = counters.total().bytes;
        assert!(bytes <= most, "{bytes} bytes, {dialect:?}, sharded: {sharded}");
        let last: Vec<i32> = array.read((24.., 24.., 24..)).expect("read");
        assert_eq!(last.last(), elements.last());
        let read = counters.total().bytes - bytes;
        assert!(read > 0, "all of it is not kept: {dialect:?}, sharded: {sharded}");
    }
}

/// All planes along one axis: each chunk's bytes come from the store once; without the cache eight times.
#[test]
fn planes_decode_each_chunk_once() {
    for (store, dialect, sharded) in cases() {
        let elements = create(store.clone(), dialect, sharded);
        let mut bytes = Vec::new();
        for cache in [1 << 24, 0] {
            let (array, _, counters) = open(&store, cache);
            for x in 0..SIDE {
                let plane: Vec<i32> = array.read((.., .., x)).expect("read");
                let due = elements.iter().skip(x as usize).step_by(SIDE as usize);
                assert!(plane.iter().eq(due), "plane {x} of {dialect:?}, sharded: {sharded}");
            }
            bytes.push(counters.total().bytes);
        }
        let [once, again] = bytes[..] else { panic!("two runs") };
        assert!(once * 6 < again, "{once} of {again} bytes, {dialect:?}, sharded: {sharded}");
        // A second handle uses the first one's chunks.
        let (array, hierarchy, counters) = open(&store, 1 << 24);
        let _: Vec<i32> = array.read(..).expect("read");
        counters.take();
        let other = hierarchy.array("/a").expect("there");
        counters.take();
        assert_eq!(other.read::<i32>((0, 0, ..)).expect("read"), elements[..SIDE as usize]);
        assert!(counters.total().bytes < 600, "{counters}");
    }
}

/// What another program writes is seen by the next read.
#[test]
fn changes_of_others_are_seen() {
    for (store, dialect, sharded) in cases() {
        create(store.clone(), dialect, sharded);
        let (array, ..) = open(&store, 1 << 24);
        let (writer, ..) = open(&store, 0);
        for value in 100..120 {
            writer.write((0..3, 0..2, 0..9), &[value; 54]).expect("written");
            assert_eq!(array.read::<i32>((2, 1, 8)).expect("read"), [value]);
            assert_eq!(array.read::<i32>((0, 0, 0)).expect("read"), [value]);
        }
        // And what this handle writes.
        array.write((2, 1, 8), &[7]).expect("written");
        assert_eq!(array.read::<i32>((2, 1, 7..9)).expect("read"), [119, 7]);
        let keys = store.to_sync().list().expect("listed");
        for key in keys.iter().filter(|key| {
            !key.as_str().contains("zarr")
                && !key.as_str().contains(".z")
                && !key.as_str().contains("meta")
        }) {
            store.to_sync().erase(key).expect("erased");
        }
        assert_eq!(array.read::<i32>((2, 1, 7..9)).expect("read"), [0, 0]);
    }
}

/// The version of a file that is only just written says nothing: its chunk is not kept until it does.
#[test]
fn files_that_change_within_a_moment_are_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = folder.path().join("a.zarr").display().to_string();
    let create = OpenOptions::new(zarr::standard()).read_write();
    let array = zarr::create_with(&url, Dialect::V3, &create).expect("created");
    let array = array.create_array("/a").shape(&[8]).chunks(&[8]).data_type_named("int32");
    let writer =
        array.codec(zarr::tools::codec("zstd:1").expect("a codec")).create().expect("created");
    let cached = OpenOptions::new(zarr::standard()).chunk_cache(1 << 20);
    let reader = zarr::open_with(&url, &cached).expect("opened").into_group().expect("a group");
    let reader = reader.array("a").expect("there");
    for value in 0..2000 {
        writer.write(.., &[value; 8]).expect("written");
        assert_eq!(reader.read::<i32>(..).expect("read"), [value; 8]);
    }
}

/// A folder that counts the calls on chunks.
#[derive(Debug)]
struct Counted {
    folder: FilesystemStore,
    opened: Arc<AtomicU64>,
    asked: Arc<AtomicU64>,
}

impl SyncStore for Counted {
    zarr_testkit::forward_calls!(folder: name capabilities put create erase_prefix list_prefix list_dir link flush);

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        self.opened.fetch_add(u64::from(key.as_str().contains("/c/")), Relaxed);
        self.folder.get(key, how)
    }
    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        self.opened.fetch_add(u64::from(key.as_str().contains("/c/")), Relaxed);
        self.folder.open(key, how)
    }
    fn is_unchanged(&self, key: &StoreKey, version: &Version) -> Result<bool, StoreError> {
        self.asked.fetch_add(1, Relaxed);
        self.folder.is_unchanged(key, version)
    }
}

/// Planes through the chunks of a folder: a file is opened once, and after that only looked at. A file that another writer
/// replaced is opened again.
#[test]
fn files_whose_elements_are_cached_are_not_opened() {
    for sharded in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let files = || FilesystemStore::new(folder.path());
        let mut elements = create(from_sync(files()), Dialect::V3, sharded);
        // Files that were written a moment ago have no version.
        std::thread::sleep(Duration::from_millis(150));
        let [opened, asked] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let counted = Counted { folder: files(), opened: opened.clone(), asked: asked.clone() };
        let (store, [objects, per_plane]) =
            (from_sync(counted), if sharded { [8, 4] } else { [64, 16] });
        let options = OpenOptions::new(zarr::standard()).read_write().chunk_cache(1 << 24);
        let open = |store, options| Hierarchy::open(store, options).and_then(|h| h.array("/a"));
        let array = open(store, &options).expect("opened");
        let planes = |elements: &[i32]| {
            for x in 0..SIDE {
                let plane: Vec<i32> = array.read((.., .., x)).expect("read");
                assert!(plane.iter().eq(elements.iter().skip(x as usize).step_by(SIDE as usize)));
            }
        };
        planes(&elements);
        // Each shard is opened for its index, and again when inner chunks are needed that are not cached.
        let once = opened.swap(0, Relaxed);
        assert_eq!(once, if sharded { 4 * 4 } else { objects }, "sharded: {sharded}");
        assert_eq!(asked.swap(0, Relaxed), SIDE * per_plane - objects, "sharded: {sharded}");
        planes(&elements);
        assert_eq!(opened.swap(0, Relaxed), 0, "sharded: {sharded}");
        let other = OpenOptions::new(zarr::standard()).read_write();
        let writer = open(from_sync(files()), &other).expect("opened");
        writer.write((0, 0, 0..3), &[7, 8, 9]).expect("written");
        elements[..3].copy_from_slice(&[7, 8, 9]);
        planes(&elements);
        assert!(opened.swap(0, Relaxed) >= 1, "sharded: {sharded}");
    }
}

/// A store that takes a while to say whether a value is unchanged, notes who asked, and may fail at one chunk.
#[derive(Debug)]
struct Slow {
    values: MemoryStore,
    askers: Arc<Mutex<HashSet<ThreadId>>>,
    fails: Arc<AtomicBool>,
}

impl SyncStore for Slow {
    zarr_testkit::forward_calls!(values: name capabilities get open put create erase_prefix list_prefix list_dir link flush);

    fn is_unchanged(&self, key: &StoreKey, version: &Version) -> Result<bool, StoreError> {
        std::thread::sleep(Duration::from_micros(200));
        self.askers.lock().expect("no thread panics").insert(std::thread::current().id());
        if self.fails.load(Relaxed) && key.as_str().ends_with("c/2/1/3") {
            return Err(StoreError::ReadOnly);
        }
        self.values.is_unchanged(key, version)
    }
}

/// Several threads copy what is in the cache: chunks that others changed or erased are read again, and a failure is told.
#[test]
fn threads_share_what_is_in_the_cache() {
    let values = MemoryStore::new();
    let mut elements = create(from_sync(values.clone()), Dialect::V3, false);
    let (askers, fails) = (Arc::new(Mutex::default()), Arc::new(AtomicBool::new(false)));
    let slow = Slow { values: values.clone(), askers: askers.clone(), fails: fails.clone() };
    let options = OpenOptions::new(zarr::standard()).read_write().chunk_cache(1 << 24).threads(4);
    let reader = Hierarchy::open(from_sync(slow), &options).expect("opened");
    let reader = reader.array("/a").expect("there");
    let (writer, ..) = open(&(from_sync(values.clone()) as Arc<dyn Store>), 0);
    for round in 0..20 {
        assert_eq!(reader.read::<i32>(..).expect("read"), elements, "round {round}");
        // One that the first thread reads early, and one of the last.
        for at in [round, (SIDE * SIDE * SIDE - 1 - round)] {
            let index = [at / SIDE / SIDE, at / SIDE % SIDE, at % SIDE];
            writer.write((index[0], index[1], index[2]), &[-1]).expect("written");
            elements[at as usize] = -1;
        }
    }
    for _ in 0..2 {
        // By the second time all is in the cache.
        askers.lock().expect("no thread panics").clear();
        assert_eq!(reader.read::<i32>(..).expect("read"), elements);
    }
    assert!(askers.lock().expect("no thread panics").len() > 1);
    fails.store(true, Relaxed);
    let error = reader.read::<i32>(..).expect_err("the store fails").to_string();
    assert!(error.contains("c/2/1/3"), "{error}");
    fails.store(false, Relaxed);
    assert_eq!(reader.read::<i32>(..).expect("read"), elements);
    let key = StoreKey::new("a/c/1/2/3").expect("a key");
    assert!(values.value(&key).expect("read").is_some());
    values.erase(&key).expect("erased");
    for (at, element) in (0..).zip(&mut elements) {
        if [at / SIDE / SIDE, at / SIDE % SIDE, at % SIDE].map(|i: u64| i / 8) == [1, 2, 3] {
            *element = 0;
        }
    }
    assert_eq!(reader.read::<i32>(..).expect("read"), elements);
}

/// An array that replaces another with the same keys is not read by the old one's elements.
#[test]
fn another_array_of_the_same_name_has_other_elements() {
    for store in stores() {
        create(store.clone(), Dialect::V2, false);
        let (array, hierarchy, _) = open(&store, 1 << 24);
        let before: Vec<i32> = array.read((0, 0, 0..2)).expect("read");
        assert_eq!(before, [1, 2]);
        let document = StoreKey::new("a/.zarray").expect("a key");
        let text = store.to_sync().value(&document).expect("read").expect("there");
        let text = String::from_utf8(text.to_vec()).expect("text").replace("<i4", "<f4");
        store.to_sync().set(&document, text.into_bytes().into()).expect("set");
        let after: Vec<f32> =
            hierarchy.array("/a").expect("there").read((0, 0, 0..2)).expect("read");
        assert_eq!(after, [f32::from_bits(1), f32::from_bits(2)]);
    }
}

/// Readers of one chunk at the same time fetch and decode it once.
#[test]
fn one_reader_decodes_for_all() {
    for store in stores() {
        create(store.clone(), Dialect::V2, false);
        let request = Duration::from_millis(10);
        let slow = ObservedStore::new(store.clone(), Latency { request, ..Latency::default() });
        let keys = store.to_sync().list().expect("listed");
        let first =
            |key: &&StoreKey| key.as_str().ends_with("0.0.0") || key.as_str().ends_with("0/0/0");
        let size = store.to_sync().value(keys.iter().find(first).expect("a chunk"));
        let size = size.expect("read").expect("there").len() as u64;
        for store in [&store, &(Arc::new(slow) as Arc<dyn Store>)] {
            let (array, _, counters) = open(store, 1 << 24);
            let start = Barrier::new(8);
            std::thread::scope(|scope| {
                for n in 0..8 {
                    let (array, start) = (&array, &start);
                    scope.spawn(move || {
                        start.wait();
                        assert_eq!(array.read::<i32>((0, 0, n)).expect("read"), [n + 1]);
                    });
                }
            });
            assert_eq!(counters.total().bytes, size, "{counters}");
        }
    }
}

/// However small the cache is, the elements are right; texts are not kept.
#[test]
fn small_caches_and_texts() {
    for (store, dialect, sharded) in cases() {
        let elements = create(store.clone(), dialect, sharded);
        for cache in [1, 2000, 8192, 20_000, 100_000] {
            let (array, ..) = open(&store, cache);
            for _ in 0..2 {
                assert_eq!(array.read::<i32>(..).expect("read"), elements);
                let found: Vec<i32> = array.read((1..32, 5, 3..30)).expect("read");
                assert_eq!(found[0], elements[(32 * 32 + 5 * 32 + 3) as usize]);
            }
        }
    }
    let [store, _] = stores();
    let options = OpenOptions::new(zarr::standard()).read_write().chunk_cache(1 << 20);
    let hierarchy =
        Hierarchy::create(store, zarr::format::of_dialect(Dialect::V3), &options).expect("created");
    let array = hierarchy.create_array("/a").shape(&[4]).chunks(&[2]).data_type_named("string");
    let array = array.create().expect("created");
    let texts = ["a", "", "ccc", "ä"].map(String::from);
    array.write(.., &texts).expect("written");
    for _ in 0..2 {
        assert_eq!(array.read::<String>(..).expect("read"), texts);
    }
}

/// A far store that is not asked again for what it said: cached chunks then cost no request. Own writes are seen, and a
/// change of a part begins with what is stored.
#[cfg(feature = "cache")]
#[test]
fn a_far_store_is_asked_once_within_an_age() {
    use zarr::store::StorePrefix;
    use zarr::stores::{ByteCache, CacheStore};

    let aged = |store: &Arc<dyn Store>| -> (Array, CacheStore, Counters) {
        let counters = Counters::default();
        let observed = ObservedStore::new(store.clone(), counters.clone());
        let hour = Duration::from_secs(3600);
        let known = ByteCache::new(1 << 20).store(Arc::new(observed)).max_age(hour).largest(100);
        let options = OpenOptions::new(zarr::standard()).read_write().chunk_cache(1 << 24);
        let hierarchy = Hierarchy::open(Arc::new(known.clone()), &options).expect("opened");
        (hierarchy.array("/a").expect("there"), known, counters)
    };
    for sharded in [false, true] {
        let store: Arc<dyn Store> = Arc::new(Remote(from_sync(MemoryStore::new())));
        let mut elements = create(store.clone(), Dialect::V3, sharded);
        let (array, known, counters) = aged(&store);
        assert_eq!(array.read::<i32>(..).expect("read"), elements);
        counters.take();
        for x in 0..SIDE {
            let plane: Vec<i32> = array.read((.., .., x)).expect("read");
            assert!(plane.iter().eq(elements.iter().skip(x as usize).step_by(SIDE as usize)));
        }
        assert_eq!(counters.total().calls, 0, "sharded: {sharded}; {counters}");

        let (other, ..) = aged(&store);
        assert_eq!(other.read::<i32>(..).expect("read"), elements);
        for n in 0..40_u64 {
            let (writer, value) = (if n % 2 == 0 { &array } else { &other }, -(n as i32) - 1);
            let (y, x) = (n % 7, n * 5 % 29);
            writer.write((0, y, x..x + 3), &[value; 3]).expect("written");
            elements[(y * SIDE + x) as usize..][..3].fill(value);
            assert_eq!(writer.read::<i32>((0, y, x..x + 3)).expect("read"), [value; 3]);
        }
        known.forget(&StorePrefix::root()).expect("forgotten");
        let (fresh, ..) = open(&store, 0);
        assert_eq!(fresh.read::<i32>(..).expect("read"), elements, "sharded: {sharded}");
        assert_eq!(array.read::<i32>(..).expect("read"), elements, "sharded: {sharded}");
    }
}

//! Rows of chunks that are read ahead are in the cache when they are needed, and change nothing that a read gives.
#![cfg(all(
    feature = "memory",
    feature = "gzip",
    feature = "zstd",
    feature = "sharding",
    feature = "transpose",
    feature = "reshape",
    feature = "vlen-utf8"
))]

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::selections::case;
use proptest::prelude::*;
use zarr::store::{ObservedStore, Payload, Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, Hierarchy, OpenOptions, Region};
use zarr_testkit::{Counters, Latency, Remote};

const SIDE: u64 = 32;
/// Bytes of the elements of one row of chunks: 8 of 32 planes.
const ROW: u64 = 8 * SIDE * SIDE * 4;

/// An array of 4 × 4 × 4 chunks, or of 2 × 2 × 2 shards of as many inner chunks.
fn create(store: &Arc<dyn Store>, dialect: Dialect, sharded: bool) -> Vec<i32> {
    create_in_chunks(store, dialect, &[8; 3], sharded)
}

fn create_in_chunks(
    store: &Arc<dyn Store>,
    dialect: Dialect,
    chunks: &[u64],
    sharded: bool,
) -> Vec<i32> {
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy = Hierarchy::create(store.clone(), zarr::format::of_dialect(dialect), &options)
        .expect("created");
    let array = hierarchy.create_array("/a").shape(&[SIDE; 3]).data_type_named("int32");
    let array = array.chunks(chunks).codec(zarr::tools::codec("zstd:1").expect("a codec"));
    let array = if sharded { array.shards(&[16; 3]) } else { array };
    let elements: Vec<i32> = (1..=(SIDE * SIDE * SIDE) as i32).collect();
    array.create().expect("created").write(.., &elements).expect("written");
    elements
}

fn open(store: &Arc<dyn Store>, cache: u64, rows: usize) -> (Array, Counters) {
    let counters = Counters::default();
    let observed: Arc<dyn Store> = Arc::new(ObservedStore::new(store.clone(), counters.clone()));
    let options = OpenOptions::new(zarr::standard()).chunk_cache(cache).read_ahead(rows);
    let hierarchy = Hierarchy::open(observed, &options).expect("opened");
    let array = hierarchy.array("/a").expect("there");
    counters.take();
    (array, counters)
}

/// Waits until more than this number of bytes were read.
fn wait_for(counters: &Counters, bytes: u64, what: &str) {
    let begun = Instant::now();
    while counters.total().bytes <= bytes {
        assert!(begun.elapsed() < Duration::from_secs(20), "no more than {counters}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The bytes that were read, once there are no more for a while.
fn settled(counters: &Counters) -> u64 {
    settled_for(counters, Duration::from_millis(60))
}

fn settled_for(counters: &Counters, while_quiet: Duration) -> u64 {
    let (mut before, mut quiet) = (counters.total().bytes, Instant::now());
    while quiet.elapsed() < while_quiet {
        std::thread::sleep(Duration::from_millis(5));
        let now = counters.total().bytes;
        if now != before {
            (before, quiet) = (now, Instant::now());
        }
    }
    before
}

fn stores() -> [Arc<dyn Store>; 2] {
    [from_sync(MemoryStore::new()), Arc::new(Remote(from_sync(MemoryStore::new())))]
}

/// After two planes the next row of chunks comes by itself, and each chunk's bytes come once.
#[test]
fn the_next_row_is_there_before_it_is_read() {
    let cases =
        [(Dialect::V2, false), (Dialect::V3, false), (Dialect::V3, true), (Dialect::Draft, false)];
    for ((dialect, sharded), store) in cases.into_iter().flat_map(|c| stores().map(|s| (c, s))) {
        let what = format!("{dialect:?}, sharded: {sharded}, {}", store.name());
        let elements = create(&store, dialect, sharded);
        let (all, counters) = open(&store, 0, 0);
        let _: Vec<i32> = all.read(..).expect("read");
        let once = counters.total().bytes;
        let (array, counters) = open(&store, 1 << 24, 1);
        let row = once / 4;
        for x in 0..SIDE {
            // Handles with other options are of one array, and their reads follow one another.
            let array = array.with_options(|options| options.threads = 1 + x as usize % 2);
            let plane: Vec<i32> = array.read((x, .., ..)).expect("read");
            let due = &elements[(x * SIDE * SIDE) as usize..][..(SIDE * SIDE) as usize];
            assert_eq!(plane, due, "plane {x}, {what}");
            match x {
                0 => assert!(settled(&counters) < row + row / 3, "{counters}, {what}"),
                // Planes 8 and 16 have the next row read, unless the thread before has not ended; then those after them do.
                1 | 11 | 19 => {
                    wait_for(&counters, (x / 8 + 1) * row + row / 2, &what);
                    settled(&counters);
                }
                _ => {}
            }
        }
        let total = settled(&counters);
        assert!(total < once + once / 3, "{total} bytes for {once}, {what}");
    }
}

/// Also where each read is one whole chunk.
#[test]
fn the_next_chunk_is_there_before_it_is_read() {
    for store in stores() {
        let elements = create_in_chunks(&store, Dialect::V3, &[1, SIDE, SIDE], false);
        let (all, counters) = open(&store, 0, 0);
        let _: Vec<i32> = all.read(..).expect("read");
        let plane = counters.total().bytes / SIDE;
        let (array, counters) = open(&store, 1 << 24, 1);
        for x in 0..2 {
            let found: Vec<i32> = array.read((x, .., ..)).expect("read");
            assert_eq!(found, elements[(x * SIDE * SIDE) as usize..][..(SIDE * SIDE) as usize]);
        }
        wait_for(&counters, 2 * plane + plane / 2, &store.name());
    }
}

/// Not: reads in another order, without a cache, with a cache that has too little space, when not asked.
#[test]
fn nothing_else_is_read_ahead() {
    for store in stores() {
        create(&store, Dialect::V3, false);
        let rows = |cache: u64, rows: usize, order: &[u64]| {
            let (array, counters) = open(&store, cache, rows);
            for &x in order {
                let _: Vec<i32> = array.read((x, .., ..)).expect("read");
            }
            settled(&counters)
        };
        let (one, none) = (rows(1 << 24, 1, &[0]), rows(1 << 24, 0, &[0, 1, 2]));
        // A look at a cached chunk of a remote store costs no bytes.
        assert!(none < one + one / 4, "{none} of {one}");
        for (cache, ahead, order) in [
            (1 << 24, 0, [0, 1, 2]),
            (1 << 24, 1, [2, 1, 0]),
            (1 << 24, 1, [1, 1, 1]),
            (1 << 24, 1, [0, 2, 5]),
            (2 * ROW - 1, 1, [0, 1, 2]),
            (4 * ROW - 1, 3, [0, 1, 2]),
        ] {
            let found = rows(cache, ahead, &order);
            assert!(found < one + one / 4, "{found} of {one}: {cache}, {ahead}, {order:?}");
        }
        let (array, counters) = open(&store, 2 * ROW, 1);
        for x in 0..2 {
            let _: Vec<i32> = array.read((x, .., ..)).expect("read");
        }
        wait_for(&counters, one + one / 2, "the cache has space for two rows");
        // Rows of the chunks that are read, and not of others.
        let (array, counters) = open(&store, 1 << 24, 3);
        for x in 0..2 {
            let _: Vec<i32> = array.read((x, 9..10, 3)).expect("read");
        }
        let found = settled(&counters);
        assert!(found < one / 2, "{found} of {one}");
    }
}

/// What others write after a row was read ahead is seen, and a chunk that cannot be decoded is an error of the read that needs it.
#[test]
fn what_others_write_is_seen_and_errors_come_when_their_time_has_come() {
    for store in stores() {
        let elements = create(&store, Dialect::V3, false);
        let (array, counters) = open(&store, 1 << 24, 2);
        let plane = (SIDE * SIDE) as usize;
        let key = StoreKey::new("a/c/1/2/2").expect("a key");
        let sound = store.to_sync().value(&key).expect("read").expect("there");
        store.to_sync().set(&key, Payload::from(vec![1, 2, 3])).expect("set");
        for x in 0..8 {
            let found: Vec<i32> = array.read((x, .., ..)).expect("only the next row is damaged");
            assert_eq!(found, elements[x as usize * plane..][..plane]);
        }
        settled(&counters);
        let error = array.read::<i32>((8, .., ..)).unwrap_err();
        assert!(error.to_string().contains("a/c/1/2/2"), "{error}");
        store.to_sync().set(&key, Payload::from(sound.to_vec())).expect("set");
        assert_eq!(array.read::<i32>((8, .., ..)).expect("sound"), elements[8 * plane..][..plane]);
        assert_eq!(array.read::<i32>((9, .., ..)).expect("sound"), elements[9 * plane..][..plane]);
        settled(&counters);
        let options = OpenOptions::new(zarr::standard()).read_write();
        let writer =
            Hierarchy::open(store.clone(), &options).expect("opened").array("/a").expect("there");
        writer.write((16..20, 3, 4), &[-1; 4]).expect("written");
        let found = array.read::<i32>((16, 3, ..)).expect("read");
        assert_eq!(found[3..6], [elements[16 * plane + 99], -1, elements[16 * plane + 101]]);
    }
}

/// Rows of which nothing was requested when the last handle was dropped are not.
#[test]
fn it_ends_with_the_last_handle() {
    let memory = from_sync(MemoryStore::new());
    create(&memory, Dialect::V3, false);
    let delay = Latency { request: Duration::from_millis(100), ..Latency::default() };
    let slow: Arc<dyn Store> = Arc::new(ObservedStore::new(memory.clone(), delay));
    let (array, counters) = open(&slow, 1 << 24, 3);
    let other = array.clone();
    for x in 0..2 {
        let _: Vec<i32> = array.read((x, .., ..)).expect("read");
    }
    drop((array, other));
    let (all, once) = open(&memory, 0, 0);
    let _: Vec<i32> = all.read(..).expect("read");
    let found = settled_for(&counters, Duration::from_secs(1));
    let all = once.total().bytes;
    assert!(found < all * 5 / 8, "{found} of {all}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Slabs one after the other of arrays of all kinds, some of whose chunks are damaged: the same elements, and errors at the same slabs.
    #[test]
    fn slabs_are_the_same(
        case in case(),
        thick in 1u64..4,
        rows in 1usize..4,
        cache in prop_oneof![Just(1u64 << 24), 500u64..4000],
        damaged in proptest::option::of((any::<usize>(), any::<usize>())),
    ) {
        let local: Arc<dyn Store> = from_sync(MemoryStore::new());
        let array = case.create(local.clone(), "<i4");
        let shape = array.shape();
        let count: u64 = shape.iter().product();
        array.write(.., &(1..=count as i32).collect::<Vec<_>>()).expect("written");
        if let Some((which, at)) = damaged {
            let keys = local.to_sync().list().expect("memory lists");
            let is_chunk = |key: &&StoreKey| {
                !key.as_str().contains(".z") && !key.as_str().ends_with("json")
            };
            let chunks: Vec<_> = keys.iter().filter(is_chunk).collect();
            if !chunks.is_empty() {
                let key = chunks[which % chunks.len()];
                let mut value = local.to_sync().value(key).expect("read").expect("there").to_vec();
                value.truncate(at % value.len().max(1));
                local.to_sync().set(key, Payload::from(value)).expect("set");
            }
        }
        let Some(len) = shape.first().copied() else { return Ok(()) };
        let slab = |start: u64| {
            let others = shape[1..].iter().map(|len| 0..*len);
            Region::new(std::iter::once(start..(start + thick).min(len)).chain(others))
        };
        let remote: Arc<dyn Store> = Arc::new(Remote(local.clone()));
        let plain = Hierarchy::open(local.clone(), &OpenOptions::new(zarr::standard()));
        let plain = plain.expect("opened").array(array.path()).expect("there");
        for store in [&local, &remote] {
            let options = OpenOptions::new(zarr::standard()).chunk_cache(cache).read_ahead(rows);
            let hierarchy = Hierarchy::open(store.clone(), &options).expect("opened");
            let ahead = hierarchy.array(array.path()).expect("there");
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            for start in (0..len).step_by(thick as usize) {
                let due = plain.read::<i32>(slab(start)).map_err(|e| e.to_string());
                let found = ahead.read::<i32>(slab(start)).map_err(|e| e.to_string());
                prop_assert_eq!(found.is_ok(), due.is_ok());
                if due.is_ok() {
                    prop_assert_eq!(found, due.clone());
                }
            }
            let by_async = runtime.block_on(hierarchy.as_async().array(array.path())).expect("there");
            for start in (0..len).step_by(thick as usize) {
                let due = plain.read::<i32>(slab(start)).ok();
                let found = runtime.block_on(by_async.read::<i32>(slab(start))).ok();
                prop_assert_eq!(found, due);
            }
        }
    }
}

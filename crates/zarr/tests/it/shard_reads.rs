//! Which bytes of shards a partial read fetches, and of which version.
#![cfg(all(feature = "filesystem", feature = "memory", feature = "zstd", feature = "sharding"))]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use zarr::format::of_dialect;
use zarr::store::{
    ByteRange, Bytes, Capabilities, GetOptions, Got, Payload, Precondition, SnapshotOptions, Store,
    StoreKey, SyncSnapshot, SyncStore, Version, from_sync,
};
use zarr::stores::{FilesystemStore, MemoryStore};
use zarr::{
    Array, Dialect, Hierarchy, NodePath, OpenOptions, Region, Result, Selection, StoreError, steps,
};
use zarr_testkit::{Records, record};

/// What was read of chunks: the key, the ranges, how many bytes came.
type Calls = Records<(String, Vec<ByteRange>, u64)>;

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn logged(store: Arc<dyn Store>) -> (Arc<dyn Store>, Calls) {
    record(store, |call| {
        let is_read = matches!(call.operation, "get" | "open" | "read");
        let note = || (call.key.to_owned(), call.ranges.to_vec(), call.bytes);
        (is_read && call.key.contains("/c/")).then(note)
    })
}

/// The sizes of what was read since the last time.
fn sizes(calls: &Calls) -> Vec<u64> {
    calls.take().into_iter().map(|(_, _, bytes)| bytes).collect()
}

fn create(store: Arc<dyn Store>, options: &OpenOptions) -> Hierarchy {
    Hierarchy::create(store, of_dialect(Dialect::V3), options).unwrap()
}

fn path() -> NodePath {
    NodePath::new("/a").unwrap()
}

/// Shards of 4 × 4 inner chunks of 5 × 5 bytes each, uncompressed; 2 × 2 of them.
fn plain(hierarchy: &Hierarchy) -> Array {
    let builder = hierarchy.create_array(path()).shape(&[40, 40]).chunks(&[5, 5]).shards(&[20, 20]);
    let array = builder.data_type_named("uint8").create().unwrap();
    let elements: Vec<u8> = (0..1600u32).map(|n| (n % 251 + 1) as u8).collect();
    array.write(.., &elements).unwrap();
    array
}

fn element(row: u64, column: u64) -> u8 {
    ((row * 40 + column) % 251 + 1) as u8
}

/// 16 entries of 16 bytes, and their checksum.
const INDEX: u64 = 260;
const CHUNK: u64 = 25;

#[test]
fn an_index_is_fetched_once_for_a_handle() -> Result<()> {
    let (store, calls) = logged(from_sync(MemoryStore::new()));
    let hierarchy = create(store, &options());
    let array = plain(&hierarchy);
    sizes(&calls);
    for (row, column) in [(0, 0), (0, 1), (7, 13), (19, 19)] {
        assert_eq!(array.read::<u8>((row, column))?, [element(row, column)]);
    }
    assert_eq!(sizes(&calls), [INDEX, CHUNK, CHUNK, CHUNK, CHUNK]);
    assert_eq!(array.clone().read::<u8>((1, 1))?, [element(1, 1)]);
    assert_eq!(sizes(&calls), [CHUNK], "a clone is the same handle");
    let other = hierarchy.array(path())?;
    assert_eq!(other.read::<u8>((1, 1))?, [element(1, 1)]);
    assert_eq!(sizes(&calls), [INDEX, CHUNK], "another handle begins anew");
    // Another writer replaced the object: the cached index is that of the old one.
    for writer in [&array, &other] {
        writer.write((0, 0), &[99u8])?;
        sizes(&calls);
        for _ in 0..2 {
            assert_eq!(array.read::<u8>((7, 13))?, [element(7, 13)]);
        }
        assert_eq!(sizes(&calls), [INDEX, CHUNK, CHUNK]);
    }
    array.chunk(&[0, 0])?.erase()?;
    assert_eq!(array.read::<u8>((7, 13))?, [0]);
    Ok(())
}

/// The memory for indices is bounded in bytes.
#[test]
fn indices_take_no_more_memory_than_they_may() -> Result<()> {
    for (limit, expected) in [(0, vec![INDEX, CHUNK, INDEX, CHUNK]), (1 << 10, vec![CHUNK; 2])] {
        let (store, calls) = logged(from_sync(MemoryStore::new()));
        let mut options = options();
        options.options.index_memory = Some(limit);
        let array = plain(&create(store, &options));
        let shards = [(0, 0), (0, 20), (20, 0)];
        for place in shards {
            array.read::<u8>(place)?;
        }
        sizes(&calls);
        for _ in 0..2 {
            array.read::<u8>((20, 0))?;
        }
        assert_eq!(sizes(&calls), expected, "{limit}");
        if limit > 0 {
            array.read::<u8>((0, 0))?;
            assert_eq!(sizes(&calls), [INDEX, CHUNK], "it went when others came");
        }
    }
    Ok(())
}

/// The index of a file that could be mistaken for its successor is not cached; that of an older file is.
#[cfg(unix)]
#[test]
fn indices_of_files_are_remembered_once_no_other_file_can_look_like_them() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (store, calls) = logged(from_sync(FilesystemStore::new(folder.path())));
    let hierarchy = create(store, &options());
    let array = plain(&hierarchy);
    let other = hierarchy.array(path())?;
    for round in 0..3u8 {
        std::thread::sleep(Duration::from_millis(150));
        sizes(&calls);
        for _ in 0..3 {
            array.read::<u8>((0, 0))?;
        }
        let read = sizes(&calls);
        assert_eq!(&read[read.len() - 2..], [CHUNK, CHUNK]);
        // Replaced twice at once: the file may be given the number of the first. Of inner chunks that lie
        // elsewhere now, an index of before would know nothing.
        other.write((0..5, 0..5), &[0u8; 25])?;
        other.write((5, 5), &[100 + round])?;
        assert_eq!(array.read::<u8>((0, 0))?, [0]);
        assert_eq!(array.read::<u8>((5, 5))?, [100 + round]);
        assert_eq!(array.read::<u8>((12, 7))?, [element(12, 7)]);
        other.write((0..5, 0..5), &[1u8; 25])?;
    }
    Ok(())
}

/// T-10: the index of an inner shard is remembered, too; nothing is decoded but what is asked for.
#[test]
fn nested_shards_are_read_by_their_inner_indices() -> Result<()> {
    let (store, calls) = logged(from_sync(MemoryStore::new()));
    let hierarchy = create(store, &options());
    let inner = r#"{"name":"sharding_indexed","configuration":{"chunk_shape":[5,5],
        "codecs":[{"name":"bytes"}],"index_location":"start",
        "index_codecs":[{"name":"bytes","configuration":{"endian":"big"}}]}}"#;
    let outer = format!(
        r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[10,10],
        "codecs":[{inner}],
        "index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}},{{"name":"crc32c"}}]}}}}"#
    );
    let builder = hierarchy.create_array(path()).shape(&[40, 40]).chunks(&[20, 20]);
    let builder = builder.data_type_named("uint8").codec(zarr::tools::codec(&outer)?);
    let array = builder.create()?;
    let elements: Vec<u8> = (0..1600u32).map(|n| (n % 251 + 1) as u8).collect();
    array.write(.., &elements)?;
    sizes(&calls);
    const OUTER: u64 = 4 * 16 + 4;
    const INNER: u64 = 4 * 16;
    assert_eq!(array.read::<u8>((3, 4))?, [element(3, 4)]);
    assert_eq!(sizes(&calls), [OUTER, INNER, CHUNK]);
    assert_eq!(array.read::<u8>((8, 9))?, [element(8, 9)]);
    assert_eq!(sizes(&calls), [CHUNK]);
    assert_eq!(array.read::<u8>((12, 3))?, [element(12, 3)]);
    assert_eq!(sizes(&calls), [INNER, CHUNK]);
    assert_eq!(array.read::<u8>((3, 4))?, [element(3, 4)]);
    assert_eq!(sizes(&calls), [CHUNK]);
    // One inner shard whole, a part of its neighbour: its index with the neighbour's bytes.
    let region = array.read::<u8>((0..10, 0..11))?;
    let expected: Vec<u8> =
        (0..10).flat_map(|row| (0..11).map(move |column| element(row, column))).collect();
    assert_eq!(region, expected);
    // A change of one element keeps what is not touched, at both levels.
    array.write((3, 4), &[250u8])?;
    sizes(&calls);
    assert_eq!(array.read::<u8>((3, 4))?, [250]);
    assert_eq!(array.read::<u8>((8, 9))?, [element(8, 9)]);
    assert_eq!(sizes(&calls), [OUTER, INNER, CHUNK, CHUNK]);
    Ok(())
}

/// A thousand points, one after the other: each shard's index once, each point its inner chunk, and no byte
/// more. Then regions: neighbours come as one range, what is not asked for does not come.
#[test]
fn points_and_regions_cost_the_index_and_the_inner_chunks_they_touch() -> Result<()> {
    let (store, calls) = logged(from_sync(MemoryStore::new()));
    let hierarchy = create(store, &options());
    let array = plain(&hierarchy);
    let mut seed = 1u64;
    let mut random = |end: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % end
    };
    sizes(&calls);
    let mut shards = BTreeSet::new();
    for _ in 0..1000 {
        let (row, column) = (random(40), random(40));
        assert_eq!(array.read::<u8>((row, column))?, [element(row, column)]);
        shards.insert((row / 20, column / 20));
    }
    assert_eq!(shards.len(), 4);
    assert_eq!(sizes(&calls).iter().sum::<u64>(), 4 * INDEX + 1000 * CHUNK);

    for _ in 0..200 {
        let mut within = || {
            let (a, b) = (random(41), random(41));
            a.min(b)..a.max(b)
        };
        let (rows, columns) = (within(), within());
        let array = hierarchy.array(path())?;
        calls.take();
        let found = array.read::<u8>(&Region::new([rows.clone(), columns.clone()]))?;
        let inside = |row: u64| columns.clone().map(move |column| element(row, column));
        assert_eq!(found, rows.clone().flat_map(inside).collect::<Vec<u8>>());
        // By shard: the entries of the inner chunks that are touched.
        let mut expected: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for (row, column) in rows.flat_map(|row| columns.clone().map(move |column| (row, column))) {
            let shard = format!("a/c/{}/{}", row / 20, column / 20);
            expected.entry(shard).or_default().insert(row % 20 / 5 * 4 + column % 20 / 5);
        }
        let found = calls.take();
        for (shard, entries) in expected {
            let calls = found.iter().filter(|(key, ..)| *key == shard);
            let calls: Vec<(&[ByteRange], u64)> =
                calls.map(|(_, ranges, bytes)| (&ranges[..], *bytes)).collect();
            if entries.len() == 16 {
                assert_eq!(calls, [(&[][..], 16 * CHUNK + INDEX)], "all of it, in one call");
                continue;
            }
            let bytes = entries.len() as u64 * CHUNK;
            let runs = entries.iter().filter(|e| **e == 0 || !entries.contains(&(*e - 1)));
            assert_eq!(calls.len(), 2);
            assert_eq!(calls[0], (&[ByteRange::Suffix(INDEX)][..], INDEX));
            assert_eq!((calls[1].0.len(), calls[1].1), (runs.count(), bytes));
        }
    }
    Ok(())
}

/// What a stored shard's index says: where each inner chunk lies, if it is stored.
fn entries(shard: &[u8], inner_chunks: usize) -> Vec<Option<(u64, u64)>> {
    let index = &shard[shard.len() - 16 * inner_chunks - 4..][..16 * inner_chunks];
    let numbers: Vec<u64> =
        index.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    let entry = |entry: &[u64; 2]| (entry[0] != u64::MAX).then_some((entry[0], entry[1]));
    numbers.as_chunks::<2>().0.iter().map(entry).collect()
}

/// A thousand points of 64 MiB through one handle, inner chunks compressed and a third of them not stored: of
/// each shard its index once, and for each point exactly the bytes that the index says.
#[test]
fn a_thousand_points_of_a_large_array_cost_no_byte_more_than_they_must() -> Result<()> {
    const LEN: u64 = 8192;
    const SHARD: u64 = 2048;
    const INNER: u64 = 64;
    const INNER_CHUNKS: u64 = (SHARD / INNER) * (SHARD / INNER);
    let memory = MemoryStore::new();
    let (store, calls) = logged(from_sync(memory.clone()));
    let hierarchy = create(store, &options());
    let builder = hierarchy.create_array(path()).shape(&[LEN, LEN]).chunks(&[INNER, INNER]);
    let builder = builder.shards(&[SHARD, SHARD]).data_type_named("uint8");
    let array = builder.codec(zarr::tools::codec("zstd:1")?).create()?;
    let element = |row: u64, column: u64| match (row / INNER + column / INNER) % 3 {
        0 => 0,
        other => (row / INNER * other + column / INNER + row % 7 + 1) as u8,
    };
    for row in (0..LEN).step_by(SHARD as usize) {
        for column in (0..LEN).step_by(SHARD as usize) {
            let rows = row..row + SHARD;
            let elements: Vec<u8> = rows
                .clone()
                .flat_map(|row| (column..column + SHARD).map(move |c| element(row, c)))
                .collect();
            array.write((rows, column..column + SHARD), &elements)?;
        }
    }
    let mut seed = 7u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % LEN
    };
    let mut indices = BTreeMap::new();
    for _ in 0..1000 {
        let (row, column) = (random(), random());
        calls.take();
        assert_eq!(array.read::<u8>((row, column))?, [element(row, column)]);
        let read = calls.take();
        let key = format!("a/c/{}/{}", row / SHARD, column / SHARD);
        let is_new = !indices.contains_key(&key);
        let index = indices.entry(key.clone()).or_insert_with(|| {
            let shard = memory.value(&StoreKey::new(key.as_str()).unwrap()).unwrap().unwrap();
            entries(&shard, INNER_CHUNKS as usize)
        });
        let place = row % SHARD / INNER * (SHARD / INNER) + column % SHARD / INNER;
        let whole_index = ByteRange::Suffix(16 * INNER_CHUNKS + 4);
        let mut due: Vec<(String, Vec<ByteRange>, u64)> = Vec::new();
        due.extend(is_new.then(|| (key.clone(), vec![whole_index], 16 * INNER_CHUNKS + 4)));
        let inner = index[place as usize].map(|(start, len)| ByteRange::Bounded { start, len });
        due.extend(inner.map(|range| (key, vec![range], index[place as usize].unwrap().1)));
        assert_eq!(read, due, "({row}, {column})");
    }
    assert_eq!(indices.len(), 16, "every shard is met");
    Ok(())
}

/// A thousand points at once, and other scattered selections, blocking and waiting: of each shard the index,
/// then in one call the inner chunks that are touched, neighbours as one range, and no byte more.
#[test]
fn scattered_elements_cost_the_index_and_the_inner_chunks_they_touch() -> Result<()> {
    const SIDE: u64 = 400;
    // 20 × 20 inner chunks of 5 × 5 bytes, and their index.
    const INDEX: u64 = 400 * 16 + 4;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for f_order in [false, true] {
        let (store, calls) = logged(from_sync(MemoryStore::new()));
        let hierarchy = create(store, &options());
        let builder = hierarchy.create_array(path()).shape(&[SIDE, SIDE]).chunks(&[5, 5]);
        let builder = builder.shards(&[100, 100]).f_order(f_order).data_type_named("uint8");
        let array = builder.create()?;
        let element = |row: u64, column: u64| ((row * SIDE + column) % 251 + 1) as u8;
        let all: Vec<u8> = (0..SIDE * SIDE).map(|n| element(n / SIDE, n % SIDE)).collect();
        array.write(.., &all)?;
        let waiting = hierarchy.as_async();
        let mut seed = 7u64;
        let mut random = |count: usize| -> Vec<u64> {
            let mut next = || {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (seed >> 33) % SIDE
            };
            (0..count).map(|_| next()).collect()
        };

        let (rows, columns) = (random(1000), random(1000));
        let mask: Vec<bool> = random((SIDE * SIDE) as usize).iter().map(|n| *n == 0).collect();
        let masked = (0..SIDE * SIDE).filter(|n| mask[*n as usize]).map(|n| (n / SIDE, n % SIDE));
        let (some, others) = (random(9), random(12));
        let crossed = some.iter().flat_map(|row| others.iter().map(move |column| (*row, *column)));
        let stepped =
            (3..SIDE).step_by(97).flat_map(|r| (0..SIDE).rev().step_by(13).map(move |c| (r, c)));
        let selections: [(Selection, Vec<(u64, u64)>); 4] = [
            (
                Selection::points([rows.clone(), columns.clone()]),
                rows.into_iter().zip(columns).collect(),
            ),
            (Selection::mask(&[SIDE, SIDE], mask.clone()), masked.collect()),
            ((some.clone(), others.clone()).into(), crossed.collect()),
            ((steps(3.., 97), steps(.., -13)).into(), stepped.collect()),
        ];
        for (selection, coordinates) in selections {
            let due: Vec<u8> = coordinates.iter().map(|(r, c)| element(*r, *c)).collect();
            // By shard: the entries of the inner chunks that are touched.
            let mut touched: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
            for (row, column) in coordinates {
                let shard = format!("a/c/{}/{}", row / 100, column / 100);
                let entry = row % 100 / 5 * 20 + column % 100 / 5;
                touched.entry(shard).or_default().insert(entry);
            }
            for waits in [false, true] {
                let (array, waiting) =
                    (hierarchy.array(path())?, runtime.block_on(waiting.array(&path()))?);
                calls.take();
                let found = if waits {
                    runtime.block_on(waiting.read::<u8>(&selection))?
                } else {
                    array.read::<u8>(&selection)?
                };
                assert_eq!(found, due);
                let found = calls.take();
                assert_eq!(found.len(), 2 * touched.len());
                for (shard, entries) in &touched {
                    let calls: Vec<_> = found.iter().filter(|(key, ..)| key == shard).collect();
                    assert_eq!(calls[0].1, [ByteRange::Suffix(INDEX)]);
                    let runs = entries.iter().filter(|e| **e == 0 || !entries.contains(&(*e - 1)));
                    assert_eq!(calls[1].1.len(), runs.count());
                    assert_eq!(calls[1].2, entries.len() as u64 * CHUNK);
                }
            }
        }
    }
    Ok(())
}

/// A store that gives no answer before it was asked for two objects.
#[derive(Debug, Default)]
struct Both {
    inner: MemoryStore,
    asked: Mutex<BTreeSet<String>>,
    came: Condvar,
}

impl SyncStore for Both {
    zarr_testkit::forward_calls!(inner: get put erase_prefix);

    fn name(&self) -> String {
        "both".into()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { read: true, write: true, ..Capabilities::NONE }
    }
    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        let mut asked = self.asked.lock().unwrap();
        asked.insert(key.to_string());
        self.came.notify_all();
        let wait = self.came.wait_timeout_while(asked, Duration::from_secs(60), |a| a.len() < 2);
        assert!(!wait.unwrap().1.timed_out(), "only one shard is asked for at a time");
        self.inner.open(key, how)
    }
}

#[cfg(feature = "rayon")]
#[test]
fn shards_are_read_side_by_side() -> Result<()> {
    let mut options = options();
    options.options.threads = 2;
    let array = plain(&create(from_sync(Both::default()), &options));
    assert_eq!(array.read::<u8>((3, 18..22))?, [18, 19, 20, 21].map(|column| element(3, column)));
    Ok(())
}

/// A store behind a network: each request is an object's bytes, on condition of its version if one is known.
#[derive(Debug, Default)]
struct Remote {
    objects: Mutex<BTreeMap<String, (u64, Bytes)>>,
    requests: Arc<Mutex<Vec<String>>>,
    /// The number of further requests for a chunk before each of which it is replaced.
    busy: Arc<Mutex<u32>>,
}

struct RemoteValue {
    key: StoreKey,
    etag: u64,
    /// The tail of the object, which came with the first request; then the size is known, too.
    tail: Option<(u64, Bytes)>,
    store: Arc<Remote>,
}

impl Remote {
    fn request(&self, key: &StoreKey, what: &str) -> Option<(u64, Bytes)> {
        let mut objects = self.objects.lock().unwrap();
        if key.as_str().contains("/c/") {
            self.requests.lock().unwrap().push(what.to_owned());
            let mut busy = self.busy.lock().unwrap();
            if *busy > 0
                && let Some((etag, value)) = objects.get_mut(key.as_str())
            {
                *busy -= 1;
                *etag += 1;
                // The inner chunks change places: an index of before points at others now.
                let mut bytes = value.to_vec();
                let (data, index) = bytes.split_at_mut(3);
                data.swap(0, 1);
                let (first, second) = index[..32].split_at_mut(16);
                first.swap_with_slice(second);
                *value = bytes.into();
            }
        }
        objects.get(key.as_str()).cloned()
    }
}

#[derive(Clone, Debug)]
struct RemoteStore(Arc<Remote>);

impl SyncStore for RemoteStore {
    fn name(&self) -> String {
        "remote".into()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { read: true, write: true, ..Capabilities::NONE }
    }
    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        match self.0.request(key, "get") {
            Some((_, value)) => how.answer(key, value, None),
            None => Ok(None),
        }
    }
    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        let (key, store) = (key.clone(), self.0.clone());
        let value = match how.expect {
            Some(version) => {
                let is = |etag: &u64| Version::new(etag.to_le_bytes().to_vec()) == *version;
                let etag = (0..1000).find(is).expect("a version of this store");
                RemoteValue { key, etag, tail: None, store }
            }
            None => {
                let Some((etag, value)) = self.0.request(&key, "tail") else { return Ok(None) };
                let tail = (value.len() as u64, value.slice(value.len().saturating_sub(48)..));
                RemoteValue { key, etag, tail: Some(tail), store }
            }
        };
        Ok(Some(Box::new(value)))
    }
    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        _: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        let value = value.map(Payload::into_bytes).transpose()?;
        let mut objects = self.0.objects.lock().unwrap();
        let etag = objects.get(key.as_str()).map_or(1, |(etag, _)| etag + 1);
        match value {
            Some(value) => objects.insert(key.to_string(), (etag, value)),
            None => objects.remove(key.as_str()),
        };
        Ok(true)
    }
}

impl SyncSnapshot for RemoteValue {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        if let (Some((size, tail)), [range]) = (&self.tail, ranges)
            && let Some(start) =
                range.resolve(&self.key, *size)?.start.checked_sub(size - tail.len() as u64)
        {
            let len =
                range.resolve(&self.key, *size)?.end as usize - (size - tail.len() as u64) as usize;
            return Ok(vec![tail.slice(start as usize..len)]);
        }
        match self.store.request(&self.key, &format!("{ranges:?} if {}", self.etag)) {
            Some((etag, value)) if etag == self.etag => {
                let part = |range: &ByteRange| {
                    let range = range.resolve(&self.key, value.len() as u64)?;
                    Ok(value.slice(range.start as usize..range.end as usize))
                };
                ranges.iter().map(part).collect()
            }
            _ => Err(StoreError::Changed { key: self.key.to_string() }),
        }
    }

    fn size(&self) -> u64 {
        self.tail.as_ref().map_or(0, |(size, _)| *size)
    }

    fn version(&self) -> Option<Version> {
        Some(Version::new(self.etag.to_le_bytes().to_vec()))
    }
}

/// The version is checked by the request for the inner chunk itself; one that has changed makes
/// the reader begin again, with the index.
#[test]
fn a_version_is_checked_without_a_request_of_its_own() -> Result<()> {
    let remote = Arc::new(Remote::default());
    let hierarchy = create(from_sync(RemoteStore(remote.clone())), &options());
    let index = r#"{"name":"sharding_indexed","configuration":{"chunk_shape":[1],
        "codecs":[{"name":"bytes"}],
        "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}"#;
    let builder = hierarchy.create_array(path()).shape(&[3]).chunks(&[3]);
    let array = builder.data_type_named("uint8").codec(zarr::tools::codec(index)?).create()?;
    array.write(.., &[7u8, 9, 11])?;
    let requests = || std::mem::take(&mut *remote.requests.lock().unwrap());
    requests();
    for expected in [2, 1, 1] {
        assert_eq!(array.read::<u8>(1)?, [9]);
        let requests = requests();
        assert_eq!(requests.len(), expected, "{requests:?}");
    }
    // It is replaced before the request: that fails, and the index is fetched anew.
    *remote.busy.lock().unwrap() = 1;
    assert_eq!(array.read::<u8>(1)?, [9]);
    assert_eq!(requests().len(), 3);
    assert_eq!(array.read::<u8>(1)?, [9]);
    assert_eq!(requests().len(), 1);
    // Again and again: the reader keeps at it, and gives up in the end.
    *remote.busy.lock().unwrap() = 20;
    assert_eq!(array.read::<u8>(0)?, [7]);
    *remote.busy.lock().unwrap() = u32::MAX;
    let error = array.read::<u8>(0).unwrap_err().to_string();
    assert!(error.contains("was replaced while it was read"), "{error}");
    *remote.busy.lock().unwrap() = 0;
    array.chunk(&[0])?.erase()?;
    assert_eq!(array.read::<u8>(0)?, [0], "gone is fill");
    Ok(())
}

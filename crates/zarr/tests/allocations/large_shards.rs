//! A shard of any size is read from a far store with few requests and within a bound on memory.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use zarr::runtime::pause;
use zarr::store::{
    ByteRange, Bytes, Capabilities, GetOptions, Got, Snapshot, SnapshotOptions, Store, StoreKey,
    Version, async_trait, from_sync,
};
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, Hierarchy, NodePath, OpenOptions, Result, Selection, StoreError};

use crate::{peak_of, turn};

const MIB: usize = 1 << 20;
/// What may be under way beside the result.
const BOUND: usize = 64 * MIB;

/// A store in memory that answers like a far one: after a while, with bytes of the caller's own.
#[derive(Clone, Debug)]
struct Far {
    values: Arc<dyn Store>,
    /// What was requested: `open KEY`, `read KEY BYTES`.
    asked: Arc<Mutex<Vec<String>>>,
    /// After this many reads, `other` replaces the value that is read.
    replaced: Arc<Mutex<Option<(usize, Bytes)>>>,
}

impl Far {
    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

#[async_trait]
impl Store for Far {
    fn name(&self) -> String {
        "far".into()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { in_flight: 256, ..Capabilities::READ_ONLY }
    }

    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        self.note(format!("get {key}"));
        self.values.get(key, how).await
    }

    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>, StoreError> {
        self.note(format!("open {key}"));
        pause(Duration::from_millis(1)).await;
        let opened = self.values.open(key, how).await?;
        let far = |value| FarSnapshot { store: self.clone(), key: key.clone(), value };
        Ok(opened.map(|value| Box::new(far(value)) as Box<dyn Snapshot>))
    }
}

struct FarSnapshot {
    store: Far,
    key: StoreKey,
    value: Box<dyn Snapshot>,
}

#[async_trait]
impl Snapshot for FarSnapshot {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        let read = self.value.read(ranges).await?;
        // The index came with the opening.
        if ranges.iter().any(|range| matches!(range, ByteRange::Suffix(_))) {
            return Ok(read);
        }
        pause(Duration::from_millis(1)).await;
        let size: usize = read.iter().map(Bytes::len).sum();
        self.store.note(format!("read {} {size}", self.key));
        let other = self.store.replaced.lock().unwrap().as_mut().and_then(|(left, other)| {
            *left = left.wrapping_sub(1);
            (*left == 0).then(|| other.clone())
        });
        if let Some(other) = other {
            self.store.values.to_sync().set(&self.key, other.into())?;
        }
        let now = self.store.values.get(&self.key, GetOptions::versioned()).await?;
        if now.and_then(|got| got.version) != self.value.version() {
            return Err(StoreError::Changed { key: self.key.to_string() });
        }
        Ok(read.iter().map(|bytes| Bytes::copy_from_slice(bytes)).collect())
    }

    fn size(&self) -> u64 {
        self.value.size()
    }

    fn version(&self) -> Option<Version> {
        self.value.version()
    }
}

fn elements(len: usize, seed: usize) -> Vec<u8> {
    let mut elements = vec![0; len];
    for (n, block) in elements.chunks_mut(1 << 16).enumerate() {
        block.fill((n * 37 % 251 + seed) as u8);
    }
    elements
}

/// An array of bytes in shards of `shard` MiB with inner chunks of 1 MiB, in a far store.
fn far(len: usize, shard: usize, seed: usize) -> Result<Far> {
    let values: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy = Hierarchy::begin(values.clone(), options.format(Dialect::V3), &options)?;
    let array = hierarchy.create_array(NodePath::root()).shape(&[len as u64]);
    let array = array.chunks(&[MIB as u64]).shards(&[(shard * MIB) as u64]);
    array.data_type_named("uint8").create()?.write(.., &elements(len, seed))?;
    Ok(Far { values, asked: Arc::default(), replaced: Arc::default() })
}

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).threads(2)
}

/// Reads all of an array, and finds its elements within the bound; the array, and what was asked for.
fn read_whole(store: &Far, len: usize) -> Result<(Array, Vec<String>)> {
    let array = Hierarchy::open(Arc::new(store.clone()), &options())?.array(NodePath::root())?;
    store.asked();
    let mut out = vec![1u8; len];
    let (read, most) = peak_of(|| array.read_into(.., &mut out));
    read?;
    assert!(out == elements(len, 0));
    assert!(most <= BOUND, "{} MiB beside the result", most / MIB);
    let asked = store.asked();
    Ok((array, asked))
}

/// One request for the index, then one for each 4 MiB; 64 MiB beside the result, for both kinds of callers.
#[test]
fn a_shard_of_256_mib_takes_64_mib() -> Result<()> {
    let _turn = turn();
    let len = 256 * MIB;
    let store = far(len, 256, 0)?;
    let (_array, asked) = read_whole(&store, len)?;
    assert_eq!((asked.len(), &*asked[0]), (65, "open c/0"), "{asked:?}");
    assert!(asked[1..].iter().all(|read| *read == format!("read c/0 {}", 4 * MIB)), "{asked:?}");
    // The index is known now.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (read, most) = peak_of(|| {
        runtime.block_on(async {
            let hierarchy = zarr::aio::Hierarchy::open(Arc::new(store.clone()), &options()).await?;
            hierarchy.array(NodePath::root()).await?.read::<u8>(..).await
        })
    });
    assert!(read? == elements(len, 0));
    assert!(most <= len + BOUND, "{} MiB with the result", most / MIB);
    Ok(())
}

/// The indices of several shards are requested before the inner chunks of the first.
#[test]
fn several_shards_are_under_way_together() -> Result<()> {
    let _turn = turn();
    let len = 128 * MIB;
    let store = far(len, 32, 0)?;
    let (array, asked) = read_whole(&store, len)?;
    assert_eq!(asked.len(), 4 + 32, "{asked:?}");
    assert_eq!(asked[..4], ["open c/0", "open c/1", "open c/2", "open c/3"]);
    // A part: only the inner chunks that it touches, four with each request.
    let part = 10 * MIB as u64..21 * MIB as u64;
    assert!(array.read::<u8>(part)? == elements(len, 0)[10 * MIB..21 * MIB]);
    let asked = store.asked();
    assert_eq!(asked.iter().filter(|asked| asked.starts_with("read")).count(), 3, "{asked:?}");
    Ok(())
}

/// A shard that is replaced while it is read is read again, so that all elements are of one version.
#[test]
fn a_large_shard_that_is_replaced_is_read_again() -> Result<()> {
    let _turn = turn();
    let len = 48 * MIB;
    let (store, other) = (far(len, 48, 0)?, far(len, 48, 3)?);
    let key = StoreKey::new("c/0")?;
    let value = other.values.to_sync().value(&key)?.expect("the shard was written");
    *store.replaced.lock().unwrap() = Some((7, value));
    let array = Hierarchy::open(Arc::new(store.clone()), &options())?.array(NodePath::root())?;
    assert!(array.read::<u8>(..)? == elements(len, 3));
    let opened = store.asked().iter().filter(|asked| *asked == "open c/0").count();
    assert_eq!(opened, 2);
    Ok(())
}

/// Few elements, of which each needs a large chunk: chunks that can only be decoded whole are counted whole, and inner chunks
/// of a shard are read in groups.
#[test]
fn single_elements_of_large_chunks_take_64_mib() -> Result<()> {
    let _turn = turn();
    let len = 128 * MIB;
    let places: Vec<u64> = (0..128).map(|n| ((n * 37 % 128) * MIB + n * 5) as u64).collect();
    let all = elements(len, 0);
    let expected: Vec<u8> = places.iter().map(|&at| all[at as usize]).collect();
    let shards = far(len, 128, 0)?;
    let values: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy = Hierarchy::begin(values.clone(), options.format(Dialect::V3), &options)?;
    let array = hierarchy.create_array(NodePath::root()).shape(&[len as u64]);
    let array = array.chunks(&[4 * MIB as u64]).codec(zarr::tools::codec("crc32c")?);
    array.data_type_named("uint8").create()?.write(.., &elements(len, 0))?;
    let chunks = Far { values, asked: Arc::default(), replaced: Arc::default() };
    for (store, requests) in [(shards, 33), (chunks, 32)] {
        let array = Hierarchy::open(Arc::new(store.clone()), &self::options())?;
        let array = array.array(NodePath::root())?;
        store.asked();
        let (read, most) = peak_of(|| array.read::<u8>(Selection::points([places.clone()])));
        assert!(read? == expected);
        let asked = store.asked();
        assert_eq!(asked.len(), requests, "{asked:?}");
        assert!(most <= BOUND, "{} MiB", most / MIB);
    }
    Ok(())
}

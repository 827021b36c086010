//! Keeps values in memory, up to a number of bytes.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use zarr_core::store::{Store, StoreKey, StorePrefix, Version};
use zarr_core::sync::{self, MutexGuard};

use super::{CacheBackend, CacheEntry, CacheStore, EntryState};

const LOCKS: usize = 64;

/// What an entry takes beside its key and its bytes, about.
const OVERHEAD: u64 = 128;

/// Memory for values, up to a number of bytes in all, for any number of stores. Clones share it.
///
/// When it is full, what was not asked for in a long time makes room. Each [`CacheStore`] has its own entries.
///
/// ```
/// use std::sync::Arc;
/// use zarr_stores::ByteCache;
/// # fn of(store: Arc<dyn zarr_core::store::Store>) {
/// let cache = ByteCache::new(256 << 20);
/// let store = cache.store(store);
/// # }
/// ```
#[derive(Clone)]
pub struct ByteCache(Arc<Inner>);

struct Inner {
    /// It has its own locks: each call holds one of ours, or [`sync::hold`], so that no process forks.
    entries: Cache<CacheKey, Entry, Weights>,
    stores: AtomicU64,
    hasher: RandomState,
    /// How often keys were forgotten, for each of some groups of them.
    generations: [Mutex<u64>; LOCKS],
}

/// A store's number, a key, and the part of a version of the value if it is not the whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CacheKey {
    store: u64,
    key: StoreKey,
    part: Option<(Version, u64, u64)>,
}

#[derive(Clone, Debug)]
enum Entry {
    Key(CacheEntry),
    Part(Bytes),
}

#[derive(Clone)]
struct Weights;

impl Weighter<CacheKey, Entry> for Weights {
    fn weight(&self, cache_key: &CacheKey, entry: &Entry) -> u64 {
        let bytes = match entry {
            Entry::Key(CacheEntry { state: EntryState::Whole(bytes), .. }) | Entry::Part(bytes) => {
                bytes.len()
            }
            Entry::Key(_) => 0,
        };
        OVERHEAD + (cache_key.key.as_str().len() + bytes) as u64
    }
}

impl ByteCache {
    /// Memory for `limit` bytes.
    pub fn new(limit: u64) -> Self {
        // Only for how its tables are laid out at first.
        let expected = (limit >> 16).clamp(64, 1 << 16) as usize;
        ByteCache(Arc::new(Inner {
            entries: Cache::with_weighter(expected, limit, Weights),
            stores: AtomicU64::new(0),
            hasher: RandomState::new(),
            generations: std::array::from_fn(|_| Mutex::new(0)),
        }))
    }

    /// `store`, of whose values some are kept here.
    pub fn store(&self, store: Arc<dyn Store>) -> CacheStore {
        let number = self.0.stores.fetch_add(1, Ordering::Relaxed);
        CacheStore::new(store, Arc::new(MemoryBackend { cache: self.0.clone(), number }))
    }

    /// How many bytes are kept now, with keys and what else they take.
    pub fn size(&self) -> u64 {
        self.0.entries.weight()
    }
}

impl fmt::Debug for ByteCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ByteCache of {} bytes, {} kept", self.0.entries.capacity(), self.size())
    }
}

/// The entries of one store.
struct MemoryBackend {
    cache: Arc<Inner>,
    number: u64,
}

impl fmt::Debug for MemoryBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ByteCache(self.cache.clone()).fmt(f)
    }
}

impl MemoryBackend {
    fn cache_key(&self, key: &StoreKey, part: Option<(Version, u64, u64)>) -> CacheKey {
        CacheKey { store: self.number, key: key.clone(), part }
    }

    fn lock(&self, key: &StoreKey) -> MutexGuard<'_, u64> {
        let at = self.cache.hasher.hash_one((self.number, key)) as usize % LOCKS;
        sync::lock(&self.cache.generations[at])
    }
}

impl CacheBackend for MemoryBackend {
    fn generation(&self, key: &StoreKey) -> io::Result<u64> {
        Ok(*self.lock(key))
    }

    fn get(&self, key: &StoreKey) -> Option<CacheEntry> {
        let _hold = sync::hold();
        match self.cache.entries.get(&self.cache_key(key, None))? {
            Entry::Key(entry) => Some(entry),
            Entry::Part(_) => None,
        }
    }

    fn put(&self, key: &StoreKey, generation: u64, entry: CacheEntry, written: bool) -> bool {
        let mut lock = self.lock(key);
        let is_now = *lock == generation;
        if is_now {
            *lock += u64::from(written);
            self.cache.entries.insert(self.cache_key(key, None), Entry::Key(entry));
        }
        is_now
    }

    fn part(&self, key: &StoreKey, version: &Version, start: u64, len: u64) -> Option<Bytes> {
        let _hold = sync::hold();
        let cache_key = self.cache_key(key, Some((version.clone(), start, len)));
        match self.cache.entries.get(&cache_key)? {
            Entry::Part(bytes) => Some(bytes),
            Entry::Key(_) => None,
        }
    }

    fn put_part(&self, key: &StoreKey, version: &Version, start: u64, part: Bytes) {
        let _hold = sync::hold();
        let cache_key = self.cache_key(key, Some((version.clone(), start, part.len() as u64)));
        // A part may be a slice of much more, which it would hold.
        self.cache.entries.insert(cache_key, Entry::Part(Bytes::copy_from_slice(&part)));
    }

    fn forget(&self, key: &StoreKey) -> io::Result<u64> {
        let mut lock = self.lock(key);
        *lock += 1;
        self.cache.entries.remove(&self.cache_key(key, None));
        Ok(*lock)
    }

    fn forget_below(&self, prefix: &StorePrefix) -> io::Result<()> {
        let locks = self.cache.generations.iter().map(|lock| {
            let mut lock = sync::lock(lock);
            *lock += 1;
            lock
        });
        let _locks: Vec<_> = locks.collect();
        self.cache.entries.retain(|cache_key, _| {
            let is_below = cache_key.store == self.number && prefix.strip(&cache_key.key).is_some();
            !is_below
        });
        Ok(())
    }

    fn takes_parts_of(&self, _: &Version) -> bool {
        true
    }

    fn is_on_disk(&self) -> bool {
        false
    }
}

impl Drop for MemoryBackend {
    fn drop(&mut self) {
        let _hold = sync::hold();
        self.cache.entries.retain(|cache_key, _| cache_key.store != self.number);
    }
}

//! Caches the indices of shards.
//!
//! An index is kept with the version of its chunk, so that it is never used with the bytes of another version (decision
//! 0108). The memory is limited: the indices that were not used for the longest time are removed first.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use crate::codec::ChunkIndex;
use crate::store::{StoreKey, Version};
use crate::sync::{MutexGuard, lock};

/// About the bytes of an entry without its index and key.
const ENTRY: u64 = 256;

/// The indices of the shards of one array.
#[derive(Debug)]
pub(crate) struct IndexCache {
    limit: u64,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_key: HashMap<StoreKey, Entry>,
    /// The keys by the time of their last use.
    uses: BTreeMap<u64, StoreKey>,
    size: u64,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    version: Version,
    index: ChunkIndex,
    size: u64,
    used: u64,
}

impl IndexCache {
    /// A cache of at most `limit` bytes.
    pub fn new(limit: u64) -> IndexCache {
        IndexCache { limit, entries: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        lock(&self.entries)
    }

    /// The cached shard index of a chunk, and the version of the chunk.
    pub fn get(&self, key: &StoreKey) -> Option<(Version, ChunkIndex)> {
        let mut entries = self.lock();
        let Entries { by_key, uses, clock, .. } = &mut *entries;
        let entry = by_key.get_mut(key)?;
        let key = uses.remove(&entry.used)?;
        *clock += 1;
        entry.used = *clock;
        uses.insert(entry.used, key);
        Some((entry.version.clone(), entry.index.clone()))
    }

    /// Caches the index of a version of a chunk.
    pub fn put(&self, key: &StoreKey, version: Version, index: ChunkIndex) {
        let size = index.size().saturating_add(key.as_str().len() as u64 * 2 + ENTRY);
        let mut entries = self.lock();
        entries.forget(key);
        if size > self.limit {
            return;
        }
        entries.put(key, Entry { version, index, size, used: 0 });
        while entries.size > self.limit
            && let Some((_, oldest)) = entries.uses.pop_first()
        {
            entries.forget(&oldest);
        }
    }

    /// Removes the index of a chunk that is written.
    pub fn forget(&self, key: &StoreKey) {
        self.lock().forget(key);
    }
}

impl Entries {
    fn put(&mut self, key: &StoreKey, mut entry: Entry) {
        self.clock += 1;
        entry.used = self.clock;
        self.size += entry.size;
        self.uses.insert(entry.used, key.clone());
        self.by_key.insert(key.clone(), entry);
    }

    fn forget(&mut self, key: &StoreKey) -> Option<Entry> {
        let entry = self.by_key.remove(key)?;
        self.uses.remove(&entry.used);
        self.size -= entry.size;
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn key(n: usize) -> StoreKey {
        StoreKey::new(format!("c/{n}")).unwrap()
    }

    /// Decision 0108: bounded in bytes, oldest use first.
    #[test]
    fn what_was_not_used_for_longest_is_forgotten() {
        let index_cache = IndexCache::new(10_000);
        let index = || ChunkIndex::new(Arc::new(()), 1000);
        let version = |n: u64| Version::of_mark([n, 0, 0, 0]);
        for n in 0..100 {
            index_cache.put(&key(n), version(n as u64), index());
            assert!(index_cache.get(&key(0)).is_some(), "the first is used again and again");
            assert!(index_cache.lock().size <= 10_000);
        }
        let kept: Vec<usize> = (0..100).filter(|n| index_cache.get(&key(*n)).is_some()).collect();
        assert_eq!(kept, [0, 94, 95, 96, 97, 98, 99]);
        assert_eq!(index_cache.get(&key(99)).unwrap().0, version(99));
        index_cache.put(&key(99), version(1), index());
        assert_eq!(index_cache.get(&key(99)).unwrap().0, version(1));
        index_cache.put(&key(99), version(2), ChunkIndex::new(Arc::new(()), 10_000));
        assert!(index_cache.get(&key(99)).is_none(), "it alone would be too much");
        (0..100).for_each(|n| index_cache.forget(&key(n)));
        let entries = index_cache.lock();
        assert_eq!((entries.size, entries.uses.len(), entries.by_key.len()), (0, 0, 0));
    }
}

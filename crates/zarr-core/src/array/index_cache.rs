//! Caches the indices of shards.
//!
//! Each is kept under the version of its chunk, so that one is never used with the bytes of another (decision 0108).
//! Bounded in bytes: what was not used for longest is forgotten first.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use crate::codec::ChunkIndex;
use crate::store::{StoreKey, Version};
use crate::sync::{MutexGuard, lock};

/// About as many bytes go with everything that is remembered.
const ENTRY: u64 = 256;

/// What the handles of one array remember of its chunks.
#[derive(Debug)]
pub(crate) struct IndexCache {
    limit: u64,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    index_cache: HashMap<StoreKey, Entry>,
    /// Which was used when.
    uses: BTreeMap<u64, StoreKey>,
    size: u64,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    version: Version,
    memo: ChunkIndex,
    size: u64,
    used: u64,
}

impl IndexCache {
    /// Remembers as much as takes at most `limit` bytes.
    pub fn new(limit: u64) -> IndexCache {
        IndexCache { limit, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        lock(&self.held)
    }

    /// What is remembered of a chunk, and of which version of it.
    pub fn get(&self, key: &StoreKey) -> Option<(Version, ChunkIndex)> {
        let mut held = self.held();
        let entry = held.forget(key)?;
        let found = (entry.version.clone(), entry.memo.clone());
        held.put(key, entry);
        Some(found)
    }

    /// Remembers what was learnt of a version of a chunk.
    pub fn put(&self, key: &StoreKey, version: Version, memo: ChunkIndex) {
        let size = memo.size().saturating_add(key.as_str().len() as u64 * 2 + ENTRY);
        let mut held = self.held();
        held.forget(key);
        if size > self.limit {
            return;
        }
        held.put(key, Entry { version, memo, size, used: 0 });
        while held.size > self.limit
            && let Some((_, oldest)) = held.uses.pop_first()
        {
            held.forget(&oldest);
        }
    }

    /// Forgets a chunk that is about to be written.
    pub fn forget(&self, key: &StoreKey) {
        self.held().forget(key);
    }
}

impl Held {
    fn put(&mut self, key: &StoreKey, mut entry: Entry) {
        self.clock += 1;
        entry.used = self.clock;
        self.size += entry.size;
        self.uses.insert(entry.used, key.clone());
        self.index_cache.insert(key.clone(), entry);
    }

    fn forget(&mut self, key: &StoreKey) -> Option<Entry> {
        let entry = self.index_cache.remove(key)?;
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
        let memo = || ChunkIndex::new(Arc::new(()), 1000);
        let version = |n: u64| Version::of_mark([n, 0, 0, 0]);
        for n in 0..100 {
            index_cache.put(&key(n), version(n as u64), memo());
            assert!(index_cache.get(&key(0)).is_some(), "the first is used again and again");
            assert!(index_cache.held().size <= 10_000);
        }
        let kept: Vec<usize> = (0..100).filter(|n| index_cache.get(&key(*n)).is_some()).collect();
        assert_eq!(kept, [0, 94, 95, 96, 97, 98, 99]);
        assert_eq!(index_cache.get(&key(99)).unwrap().0, version(99));
        index_cache.put(&key(99), version(1), memo());
        assert_eq!(index_cache.get(&key(99)).unwrap().0, version(1));
        index_cache.put(&key(99), version(2), ChunkIndex::new(Arc::new(()), 10_000));
        assert!(index_cache.get(&key(99)).is_none(), "it alone would be too much");
        (0..100).for_each(|n| index_cache.forget(&key(n)));
        let held = index_cache.held();
        assert_eq!((held.size, held.uses.len(), held.index_cache.len()), (0, 0, 0));
    }
}

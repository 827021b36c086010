//! Caches the indices of shards.
//!
//! An index is kept with the version of its chunk, so that it is never used with the bytes of another version
//! (docs/internals/design/reading.md).

use std::sync::Mutex;

use super::lru::Lru;
use crate::codec::ChunkIndex;
use crate::store::{StoreKey, Version};
use crate::sync::lock;

/// The indices of the shards of one array.
#[derive(Debug)]
pub(crate) struct IndexCache(Mutex<Lru<StoreKey, (Version, ChunkIndex)>>);

impl IndexCache {
    /// A cache of at most `limit` bytes.
    pub fn new(limit: u64) -> IndexCache {
        IndexCache(Mutex::new(Lru::new(limit)))
    }

    /// The cached shard index of a chunk, and the version of the chunk.
    pub fn get(&self, key: &StoreKey) -> Option<(Version, ChunkIndex)> {
        lock(&self.0).get(key).cloned()
    }

    /// Caches the index of a version of a chunk.
    pub fn put(&self, key: &StoreKey, version: Version, index: ChunkIndex) {
        let size = index.size().saturating_add(key.as_str().len() as u64 * 2);
        lock(&self.0).put(key, (version, index), size);
    }

    /// Removes the index of a chunk that is written.
    pub fn forget(&self, key: &StoreKey) {
        lock(&self.0).forget(key);
    }
}

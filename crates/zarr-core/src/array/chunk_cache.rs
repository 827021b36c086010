//! Keeps decoded chunks, and decoded inner chunks of shards, for all handles of a hierarchy.
//!
//! An entry is kept with the version of its object, and used for that version only (docs/internals/design/reading.md).
//! `read::cached` asks the store which version an object has.

use std::sync::Mutex;

use bytes::Bytes;

use super::lru::Lru;
use crate::region::byte_count;
use crate::store::{StoreKey, Version};
use crate::sync::lock;

/// The place of a chunk that is kept as a whole; inner chunks have that of their first byte.
pub(super) const WHOLE: u64 = u64::MAX;

/// How the array is stored, the key of the object, the place in it.
pub(super) type Place = (u64, StoreKey, u64);

/// The decoded chunks of one hierarchy.
#[derive(Debug)]
pub(crate) struct ChunkCache {
    /// The most bytes that it keeps.
    pub(super) limit: u64,
    entries: Mutex<Lru<Place, (Version, Bytes)>>,
}

impl ChunkCache {
    /// A cache of at most `limit` bytes.
    pub fn new(limit: u64) -> ChunkCache {
        ChunkCache { limit, entries: Mutex::new(Lru::new(limit)) }
    }

    /// The bytes of the elements of a chunk, if it is kept: a few of its size must have space.
    pub(super) fn size(&self, shape: &[u64], element: usize) -> Option<usize> {
        let size = byte_count(shape, element)?;
        if size <= self.limit / 4 { usize::try_from(size).ok() } else { None }
    }

    /// The elements of a chunk, and the version of its object.
    pub(super) fn get(&self, place: &Place) -> Option<(Version, Bytes)> {
        lock(&self.entries).get(place).cloned()
    }

    pub(super) fn put(&self, place: &Place, version: Version, elements: Bytes) {
        let size = (elements.len() + 2 * place.1.as_str().len()) as u64;
        lock(&self.entries).put(place, (version, elements), size);
    }

    pub(super) fn forget(&self, place: &Place) {
        lock(&self.entries).forget(place);
    }
}

//! Keeps decoded chunks, and decoded inner chunks of shards, for all handles of a hierarchy.
//!
//! An entry is kept with the version of its object, and used for that version only (docs/internals/design/reading.md).
//! `cached_read` asks the store which version an object has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::key_queue::QueuePlace;
use super::lru::Lru;
use crate::error::Result;
use crate::grid::ChunkProjection;
use crate::memory::unset;
use crate::region::byte_count;
use crate::selection::ResolvedSelection;
use crate::store::{StoreKey, Version};
use crate::sync::lock;
use crate::view::{View, ViewMut};

/// The place of a chunk that is kept as a whole; inner chunks have that of their first byte.
pub(super) const WHOLE: u64 = u64::MAX;

/// How the array is stored, the key of the object, the place in it.
type Place = (u64, StoreKey, u64);

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
        usize::try_from(size).ok().filter(|_| size <= self.limit / 4)
    }

    /// The elements of a chunk, and the version of its object.
    pub(super) fn get(&self, place: &Place) -> Option<(Version, Bytes)> {
        lock(&self.entries).get(place).cloned()
    }

    fn put(&self, place: &Place, version: Version, elements: Bytes) {
        let size = (elements.len() + 2 * place.1.as_str().len()) as u64;
        lock(&self.entries).put(place, (version, elements), size);
    }

    pub(super) fn forget(&self, place: &Place) {
        lock(&self.entries).forget(place);
    }
}

/// One version of an object, whose decoded chunks are kept.
pub(super) struct CachedObject {
    pub cache: Arc<ChunkCache>,
    /// How the array is stored.
    pub array: u64,
    pub key: StoreKey,
    pub version: Version,
    /// Chunks that a read counts on, even if the cache removes them.
    pub pinned: Mutex<HashMap<u64, Bytes>>,
    /// Until it is released, other readers of the chunk wait for this one.
    pub _queue_place: Option<QueuePlace>,
}

impl CachedObject {
    /// Whether the chunk at this place is cached. Then it remains so for this read.
    pub fn pin(&self, start: u64) -> bool {
        let found = self.get(start);
        let pin = |elements| lock(&self.pinned).insert(start, elements);
        found.map(pin).is_some()
    }

    fn get(&self, start: u64) -> Option<Bytes> {
        if let Some(elements) = lock(&self.pinned).get(&start) {
            return Some(elements.clone());
        }
        let found = self.cache.get(&(self.array, self.key.clone(), start));
        found.filter(|(version, _)| *version == self.version).map(|(_, elements)| elements)
    }

    /// Reads the part `at` of the chunk at this place, which is cached, or decoded and put into the cache. `decode` decodes any
    /// part of it.
    pub fn read(
        &self,
        start: u64,
        at: &ChunkProjection,
        mut out: ViewMut<'_>,
        mut decode: impl FnMut(&ChunkProjection, ViewMut<'_>) -> Result<()>,
    ) -> Result<()> {
        let (shape, element) = (&at.chunk_shape, out.element_size());
        let Some(size) = self.cache.size(shape, element) else { return decode(at, out) };
        let found = self.get(start).filter(|elements| elements.len() == size);
        let elements = match found.map_or_else(|| Err(unset::<u8>(size)), Ok) {
            Ok(elements) => elements,
            // There is no memory for it.
            Err(None) => return decode(at, out),
            Err(Some(mut elements)) => {
                let all = ResolvedSelection::all(shape);
                let all = ChunkProjection { within: all.clone(), output: all, ..at.clone() };
                match decode(&all, ViewMut::new(&mut elements, shape, element)) {
                    // The inner chunk that is missing may be outside the part that the caller reads.
                    Err(e) if e.is_missing_chunk() => return decode(at, out),
                    decoded => decoded?,
                }
                let elements = Bytes::from(elements);
                let place = (self.array, self.key.clone(), start);
                self.cache.put(&place, self.version.clone(), elements.clone());
                elements
            }
        };
        out.gather(&at.within, &View::new(&elements, shape, element));
        Ok(())
    }
}

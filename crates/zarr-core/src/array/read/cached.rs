//! Chunks that are kept decoded, before a local or a remote source (docs/internals/design/reading.md).
//!
//! What is cached is used for the version of the object that it was decoded from, and no other: each read asks the source whether
//! the object still has that version. So a read sees what others write, as it would without the cache.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::local::LocalChunk;
use super::source::{ChunkSource, DecodeSegment, FetchedRanges, OpenChunk, WholeChunk};
use crate::array::chunk_cache::{ChunkCache, Place, WHOLE};
use crate::array::chunk_store::{ChunkStore, chunk_error};
use crate::array::key_queue::QueuePlace;
use crate::array::layout::{ChunkLayout, FieldBytes};
use crate::error::{Result, StoreError};
use crate::grid::ChunkProjection;
use crate::memory::for_overwrite;
use crate::options::{MissingChunks, Options};
use crate::selection::ResolvedSelection;
use crate::store::{
    ByteRange, Snapshot, SnapshotOptions, Store, StoreKey, SyncSnapshot, SyncStore, Version,
};
use crate::sync::lock;
use crate::view::output::Output;
use crate::view::{View, ViewMut};

/// How long a reader waits for another one that decodes the same chunk. Then it decodes the chunk itself.
const DECODE_TIMEOUT: Duration = Duration::from_secs(1);

/// A source whose chunks are kept decoded.
pub(super) struct CachedSource<'a> {
    inner: Box<dyn ChunkSource + 'a>,
    store: ChunkStore<'a>,
    layout: &'a ChunkLayout,
    cache: &'a Arc<ChunkCache>,
    /// How the chunks are decoded: what is cached of another array at the same keys is not theirs.
    array: u64,
}

impl<'a> CachedSource<'a> {
    pub fn new(
        inner: Box<dyn ChunkSource + 'a>,
        store: ChunkStore<'a>,
        layout: &'a ChunkLayout,
        cache: &'a Arc<ChunkCache>,
    ) -> CachedSource<'a> {
        // A shard that was compressed as a whole is kept with fill in place of inner chunks that are not stored.
        let array =
            layout.state().cache_id() ^ u64::from(store.options.missing == MissingChunks::Error);
        CachedSource { inner, store, layout, cache, array }
    }

    /// The store, if it is local and parts of its values are cheap.
    fn cheap_local(&self) -> Option<&'a Arc<dyn SyncStore>> {
        self.store.local().filter(|store| store.capabilities().cheap_ranges)
    }

    fn object(&self, key: &StoreKey, version: Version) -> CachedObject {
        CachedObject {
            cache: self.cache.clone(),
            array: self.array,
            key: key.clone(),
            version,
            pinned: Mutex::default(),
        }
    }

    /// The chunk that is the value of a key, if it is cached as a whole, and the source says that it is unchanged.
    async fn unchanged(&self, key: &StoreKey) -> Result<Option<CachedChunk>> {
        let place = (self.array, key.clone(), WHOLE);
        let Some((version, elements)) = self.cache.get(&place) else { return Ok(None) };
        if !self.inner.is_unchanged(key, &version).await? {
            self.cache.forget(&place);
            return Ok(None);
        }
        let object = self.object(key, version);
        lock(&object.pinned).insert(WHOLE, elements);
        let inner = Box::new(WholeChunk { bytes: Bytes::new(), version: None });
        Ok(Some(CachedChunk { inner, object, _queue_place: None }))
    }

    async fn get_and_keep(&self, key: &StoreKey, limit: u64) -> Result<Option<Box<dyn OpenChunk>>> {
        if let Some(cached) = self.unchanged(key).await? {
            return Ok(Some(Box::new(cached)));
        }
        // Who reads through another cache would not find there what this one decodes.
        let queue = format!("decoded in {:p}, {:x}", Arc::as_ptr(self.cache), self.array);
        let queue_place = QueuePlace::acquire(&queue, key, DECODE_TIMEOUT).await;
        if let Some(cached) = self.unchanged(key).await? {
            return Ok(Some(Box::new(cached)));
        }
        let Some(inner) = self.inner.get(key, limit).await? else { return Ok(None) };
        let Some(version) = inner.version() else { return Ok(Some(inner)) };
        let object = self.object(key, version);
        Ok(Some(Box::new(CachedChunk { inner, object, _queue_place: queue_place })))
    }
}

impl ChunkSource for CachedSource<'_> {
    fn store(&self) -> (&dyn Store, &Options) {
        self.inner.store()
    }

    fn open<'a>(
        &'a self,
        key: &'a StoreKey,
        options: SnapshotOptions<'a>,
        has_inner_chunks: bool,
    ) -> BoxFuture<'a, Result<Option<Box<dyn OpenChunk>>, StoreError>> {
        Box::pin(async move {
            let opened = match (options.expect, self.cheap_local()) {
                (Some(version), Some(store)) => {
                    let is_unchanged = store.is_unchanged(key, version)?;
                    is_unchanged.then(|| OpenedWhenRead::chunk(store, key, version))
                }
                _ => self.inner.open(key, options, has_inner_chunks).await?,
            };
            let Some(inner) = opened else { return Ok(None) };
            let is_variable = self.layout.metadata().data_type.is_variable();
            match inner.version() {
                Some(version) if has_inner_chunks && !is_variable => {
                    let object = self.object(key, version);
                    Ok(Some(Box::new(CachedChunk { inner, object, _queue_place: None })
                        as Box<dyn OpenChunk>))
                }
                _ => Ok(Some(inner)),
            }
        })
    }

    fn get<'a>(
        &'a self,
        key: &'a StoreKey,
        limit: u64,
    ) -> BoxFuture<'a, Result<Option<Box<dyn OpenChunk>>>> {
        Box::pin(self.get_and_keep(key, limit))
    }

    fn is_unchanged<'a>(
        &'a self,
        key: &'a StoreKey,
        version: &'a Version,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.inner.is_unchanged(key, version)
    }

    fn keeps_decoded(&self) -> bool {
        true
    }

    /// It is kept if it has one key, takes time to decode or to fetch, and the cache has space.
    fn keeps_whole(&self, projection: &ChunkProjection) -> bool {
        let cheap_ranges = self.store.store().capabilities().cheap_ranges;
        let metadata = self.layout.metadata();
        (!self.layout.chunks().chain.is_memory() || !cheap_ranges)
            && self.cache.size(&projection.chunk_shape, self.layout.span().element).is_some()
            && !metadata.data_type.is_variable()
            && metadata.shards.is_none()
            && self.layout.other_key(&projection.key_index).is_none()
    }

    fn copy_decoded(
        &self,
        projection: &ChunkProjection,
        span: FieldBytes,
        out: &mut Output<'_>,
    ) -> Result<bool> {
        let Some(store) = self.store.local() else { return Ok(false) };
        let shape = &projection.chunk_shape;
        let has_one_key = self.layout.metadata().shards.is_none()
            && self.layout.other_key(&projection.key_index).is_none();
        if !has_one_key {
            return Ok(false);
        }
        let Some(size) = self.cache.size(shape, span.element) else { return Ok(false) };
        let place: Place = (self.array, self.layout.key(&projection.key_index), WHOLE);
        let found = self.cache.get(&place).filter(|(_, elements)| elements.len() == size);
        let Some((version, elements)) = found else { return Ok(false) };
        let key = &place.1;
        if !store.is_unchanged(key, &version).map_err(|e| chunk_error(projection, key, e))? {
            self.cache.forget(&place);
            return Ok(false);
        }
        let elements = View::new(&elements, shape, span.element);
        out.gather(&projection.within, &elements.span(span.offset, span.size));
        Ok(true)
    }
}

/// One version of an object, whose decoded chunks are kept.
struct CachedObject {
    cache: Arc<ChunkCache>,
    /// How the array is stored.
    array: u64,
    key: StoreKey,
    version: Version,
    /// Chunks that a read counts on, even if the cache removes them.
    pinned: Mutex<HashMap<u64, Bytes>>,
}

impl CachedObject {
    fn get(&self, start: u64) -> Option<Bytes> {
        if let Some(elements) = lock(&self.pinned).get(&start) {
            return Some(elements.clone());
        }
        let found = self.cache.get(&(self.array, self.key.clone(), start));
        found.filter(|(version, _)| *version == self.version).map(|(_, elements)| elements)
    }

    fn put(&self, start: u64, elements: Bytes) {
        let place = (self.array, self.key.clone(), start);
        self.cache.put(&place, self.version.clone(), elements);
    }
}

/// A chunk whose segments are looked for in the cache, and put into it when they are decoded.
struct CachedChunk {
    inner: Box<dyn OpenChunk>,
    object: CachedObject,
    /// Until it is released, other readers of the chunk wait for this one.
    _queue_place: Option<QueuePlace>,
}

impl OpenChunk for CachedChunk {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn version(&self) -> Option<Version> {
        Some(self.object.version.clone())
    }

    fn remote_value(&self) -> Option<&dyn Snapshot> {
        self.inner.remote_value()
    }

    fn hold(&mut self, ranges: FetchedRanges) {
        self.inner.hold(ranges);
    }

    fn bytes<'b>(&'b self, range: ByteRange, buffer: &'b mut Vec<u8>) -> Result<Option<&'b [u8]>> {
        self.inner.bytes(range, buffer)
    }

    fn is_decoded(&self, start: u64) -> bool {
        let Some(elements) = self.object.get(start) else { return false };
        lock(&self.object.pinned).insert(start, elements);
        true
    }

    fn read_segment(
        &self,
        range: ByteRange,
        projection: &ChunkProjection,
        mut out: ViewMut<'_>,
        buffer: &mut Vec<u8>,
        decode: &mut DecodeSegment<'_>,
    ) -> Result<()> {
        let shape = &projection.chunk_shape;
        let element = out.element_size();
        let Some(size) = self.object.cache.size(shape, element) else {
            return self.inner.read_segment(range, projection, out, buffer, decode);
        };
        let start = if let ByteRange::Bounded { start, .. } = range { start } else { WHOLE };
        let elements = match self.object.get(start).filter(|elements| elements.len() == size) {
            Some(elements) => elements,
            None => {
                let Some(mut elements) = for_overwrite::<u8>(size) else {
                    return self.inner.read_segment(range, projection, out, buffer, decode);
                };
                let all = ResolvedSelection::all(shape);
                let all =
                    ChunkProjection { within: all.clone(), output: all, ..projection.clone() };
                let whole = ViewMut::new(&mut elements, shape, element);
                match self.inner.read_segment(range, &all, whole, buffer, decode) {
                    // The inner chunk that is missing may be outside the part that the caller reads.
                    Err(e) if e.is_missing_chunk() => {
                        return self.inner.read_segment(range, projection, out, buffer, decode);
                    }
                    decoded => decoded?,
                }
                let elements = Bytes::from(elements);
                self.object.put(start, elements.clone());
                elements
            }
        };
        out.gather(&projection.within, &View::new(&elements, shape, element));
        Ok(())
    }
}

/// A version of a value of a local store, which is opened when some of it is read: not, if all segments are cached.
struct OpenedWhenRead {
    store: Arc<dyn SyncStore>,
    key: StoreKey,
    version: Version,
    opened: OnceLock<Box<dyn SyncSnapshot>>,
}

impl OpenedWhenRead {
    fn chunk(store: &Arc<dyn SyncStore>, key: &StoreKey, version: &Version) -> Box<dyn OpenChunk> {
        let store = store.clone();
        let key = key.clone();
        let version = version.clone();
        let value = OpenedWhenRead { store, key, version, opened: OnceLock::new() };
        Box::new(LocalChunk(Box::new(value)))
    }

    fn opened(&self) -> Result<&dyn SyncSnapshot, StoreError> {
        if let Some(value) = self.opened.get() {
            return Ok(&**value);
        }
        let value = self.store.open(&self.key, SnapshotOptions::expect(&self.version))?;
        let value = value.ok_or_else(|| StoreError::Changed { key: self.key.to_string() })?;
        Ok(&**self.opened.get_or_init(|| value))
    }
}

impl SyncSnapshot for OpenedWhenRead {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        self.opened()?.read(ranges)
    }
    fn read_into(&self, range: ByteRange, buf: &mut Vec<u8>) -> Result<(), StoreError> {
        self.opened()?.read_into(range, buf)
    }
    fn size(&self) -> u64 {
        self.opened.get().map_or(0, |value| value.size())
    }
    fn version(&self) -> Option<Version> {
        Some(self.version.clone())
    }
}

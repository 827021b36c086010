//! Says which chunks are cached, and asks the store whether an object still is of the version that is cached: a read sees
//! what others write as it would without the cache.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::iter::Peekable;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::chunk_cache::{CachedObject, WHOLE};
use super::executor::{self, Work};
use super::key_queue::QueuePlace;
use super::segments::has_index;
use super::{ArrayCore, ArrayState, ChunkLayout, FieldBytes};
use crate::codec::PartialRead;
use crate::error::{Result, StoreError};
use crate::grid::ChunkProjection;
use crate::metadata::ArrayMetadata;
use crate::options::MissingChunks;
use crate::store::{
    ByteRange, SnapshotOptions, StoreKey, SyncSnapshot, SyncStore, Version, abandoned, check_size,
};
use crate::sync::{into_inner, lock};
use crate::view::{View, ViewMut};

/// How long a reader waits for another one that decodes the same chunk. Then it decodes the chunk itself.
const DECODE_WAIT: Duration = Duration::from_secs(1);

/// After this time, the calling thread knows how long it takes to copy what is in the cache.
const SOON: Duration = Duration::from_micros(5);

/// Another thread is woken for so much of that time. It takes up to half of it until it is awake.
const WORTH_WAKING: Duration = Duration::from_micros(80);

fn next_of<T>(left: &Mutex<(Vec<T>, impl Iterator<Item = T>)>) -> Option<T> {
    let mut left = lock(left);
    let begun = left.0.pop();
    begun.or_else(|| left.1.next())
}

impl ArrayCore {
    /// An object of which the inner chunks are cached: the hierarchy has a cache, and the object a version.
    pub(super) fn cached_segments(
        &self,
        layout: &ChunkLayout,
        partial: &PartialRead<'_>,
        key: &StoreKey,
        version: Option<Version>,
    ) -> Option<CachedObject> {
        let cached = !layout.metadata.data_type.is_variable() && has_index(partial);
        cached.then(|| self.cached_object(layout, key, version)).flatten()
    }

    fn cached_object(
        &self,
        layout: &ChunkLayout,
        key: &StoreKey,
        version: Option<Version>,
    ) -> Option<CachedObject> {
        let cache = self.context.chunk_cache.clone()?;
        let (array, key, version) = (self.cache_id(layout), key.clone(), version?);
        Some(CachedObject {
            cache,
            array,
            key,
            version,
            pinned: Mutex::default(),
            _queue_place: None,
        })
    }

    /// Tells apart how the chunks of arrays are decoded.
    fn cache_id(&self, layout: &ChunkLayout) -> u64 {
        // A shard that was compressed as a whole is kept with fill in place of inner chunks that are not stored.
        layout.cache_id() ^ u64::from(self.options.missing == MissingChunks::Error)
    }

    /// Whether a chunk is cached as a whole: it has one key and no inner chunks, it takes time to decode or to fetch, and the
    /// cache has space.
    pub(super) fn caches_whole(&self, layout: &ChunkLayout, tile: &ChunkProjection) -> bool {
        let Some(cache) = &self.context.chunk_cache else { return false };
        let (chain, shape) = (&layout.chunks().chain, &tile.chunk_shape);
        let slow = !chain.is_memory() || !self.context.store.capabilities().cheap_ranges;
        slow && cache.size(shape, layout.span().element).is_some()
            && !layout.metadata.data_type.is_variable()
            && layout.metadata.shards.is_none()
            && layout.other_key(&tile.key_index).is_none()
            && chain.partial(shape, &tile.within).is_none_or(|partial| !has_index(&partial))
    }

    /// The encoded bytes of a chunk that is cached as a whole, none if its elements are in the cache; `None` if it is not
    /// stored.
    pub(super) async fn fetch_for_cache(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        key: &StoreKey,
    ) -> Result<Option<(Bytes, Option<CachedObject>)>> {
        let hit = |cached| Ok(Some((Bytes::new(), Some(cached))));
        if let Some(cached) = self.unchanged(layout, key).await? {
            return hit(cached);
        }
        let queue = format!("{} {:x} decoded", self.context.store.name(), self.cache_id(layout));
        let queue_place = QueuePlace::acquire(&queue, key, DECODE_WAIT).await;
        if let Some(cached) = self.unchanged(layout, key).await? {
            return hit(cached);
        }
        let (store, all) = (self.context.store.readable()?, [ByteRange::ALL]);
        let limit = self.most_stored(layout, Some(&tile.chunk_shape));
        let how = SnapshotOptions { limit, ..SnapshotOptions::first(&all) };
        loop {
            self.options.check_cancelled()?;
            let Some(value) = store.open(key, how).await? else { return Ok(None) };
            check_size(key, value.size(), limit)?;
            let bytes = match value.read(&all).await {
                Err(StoreError::Changed { .. }) => continue,
                read => read?.pop().unwrap_or_default(),
            };
            let cached = self.cached_object(layout, key, value.version());
            return Ok(Some((
                bytes,
                cached.map(|cached| CachedObject { _queue_place: queue_place, ..cached }),
            )));
        }
    }

    /// Reads a chunk of a local store from the cache. Returns `false` if it is not there, or of another version.
    pub(super) fn read_cached(
        &self,
        layout: &ChunkLayout,
        store: &dyn SyncStore,
        tile: &ChunkProjection,
        span: FieldBytes,
        out: &mut ViewMut<'_>,
    ) -> Result<bool> {
        let Some(cache) = &self.context.chunk_cache else { return Ok(false) };
        let shape = &tile.chunk_shape;
        let has_other =
            layout.metadata.shards.is_some() || layout.other_key(&tile.key_index).is_some();
        let Some(size) = cache.size(shape, span.element).filter(|_| !has_other) else {
            return Ok(false);
        };
        let place = (self.cache_id(layout), layout.key(&tile.key_index), WHOLE);
        let found = cache.get(&place).filter(|(_, elements)| elements.len() == size);
        let Some((version, elements)) = found else { return Ok(false) };
        if !store.is_unchanged(&place.1, &version).map_err(|e| self.at_chunk(tile, &place.1, e))? {
            cache.forget(&place);
            return Ok(false);
        }
        let elements = View::new(&elements, shape, span.element);
        out.gather(&tile.within, &elements.span(span.offset, span.size));
        Ok(true)
    }

    /// The pieces that are not in the cache and those that follow, and the work on them; those before are copied from the cache.
    pub(super) async fn after_cached<'m, G>(
        &self,
        layout: &ChunkLayout,
        store: &dyn SyncStore,
        span: FieldBytes,
        mut kind: Work,
        groups: impl Iterator<Item = G> + Send,
        done: impl Fn(&ChunkProjection, bool) + Sync,
    ) -> Result<(Work, impl Iterator<Item = Peekable<G::IntoIter>> + Send)>
    where
        G: IntoIterator<Item = (ChunkProjection, ViewMut<'m>), IntoIter: Send> + Send,
    {
        let left = Mutex::new((Vec::new(), groups.map(|group| group.into_iter().peekable())));
        if self.context.chunk_cache.is_some() {
            abandoned::wait_for(|| self.context.store.name(), layout.prefix()).await;
            let (missed, failed) = (AtomicBool::new(false), Mutex::new(None));
            // Copies pieces until one is not in the cache, or that time is over. Returns how many bytes it copied.
            let copy = |time: Duration| -> Result<u64> {
                let (begun, mut copied) = (Instant::now(), 0);
                while let Some(mut group) = next_of(&left) {
                    while let Some((tile, out)) = group.peek_mut() {
                        self.options.check_cancelled()?;
                        let over = missed.load(Relaxed) || begun.elapsed() > time;
                        if over || !self.read_cached(layout, store, tile, span, out)? {
                            missed.fetch_or(!over, Relaxed);
                            lock(&left).0.push(group);
                            return Ok(copied);
                        }
                        copied += out.size();
                        done(tile, true);
                        group.next();
                    }
                }
                Ok(copied)
            };
            let begun = Instant::now();
            let copied = copy(SOON)?;
            let more = kind.total as f64 / copied as f64 - 1.0;
            let others = begun.elapsed().div_duration_f64(WORTH_WAKING) * more;
            let rest = || {
                if let Err(error) = copy(Duration::MAX) {
                    missed.store(true, Relaxed);
                    *lock(&failed) = Some(error);
                }
            };
            let together =
                !missed.load(Relaxed) && executor::together(&self.options, others as usize, rest);
            if let Some(error) = lock(&failed).take() {
                return Err(error);
            }
            kind.many &= !together || missed.into_inner();
        }
        let (begun, groups) = into_inner(left);
        Ok((kind, begun.into_iter().chain(groups)))
    }

    /// Opens a chunk that has segments. If they may be cached, it is opened when one of them is not.
    pub(super) fn open<'a>(
        &self,
        store: &'a dyn SyncStore,
        key: &'a StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot + 'a>>, StoreError> {
        let Some(version) = how.expect.filter(|_| self.context.chunk_cache.is_some()) else {
            return store.open(key, how).map(|value| value.map(|value| value as _));
        };
        let opened = OnceLock::new();
        let value = || Box::new(OpenedLater { store, key, version: version.clone(), opened }) as _;
        Ok(store.is_unchanged(key, version)?.then(value))
    }

    /// The object of a whole chunk whose elements are cached, if the store says that it is unchanged.
    async fn unchanged(
        &self,
        layout: &ChunkLayout,
        key: &StoreKey,
    ) -> Result<Option<CachedObject>> {
        let Some(cache) = &self.context.chunk_cache else { return Ok(None) };
        let place = (self.cache_id(layout), key.clone(), WHOLE);
        let Some((version, elements)) = cache.get(&place) else { return Ok(None) };
        let store = self.context.store.readable()?;
        let look = match store.open(key, SnapshotOptions::expect(&version)).await {
            // A remote store may ask only when something is read.
            Ok(Some(value)) => value.read(&[]).await.map(|_| true),
            Ok(None) => Ok(false),
            Err(e) => Err(e),
        };
        match look {
            Ok(true) => {
                let cached = self.cached_object(layout, key, Some(version));
                let pin = |cached: &CachedObject| {
                    _ = crate::sync::lock(&cached.pinned).insert(WHOLE, elements)
                };
                Ok(cached.inspect(pin))
            }
            Ok(false) | Err(StoreError::Changed { .. }) => {
                cache.forget(&place);
                Ok(None)
            }
            Err(e) => Err(e.into()),
        }
    }
}

/// A version of a value of a local store, which is opened when some of it is read.
struct OpenedLater<'a> {
    store: &'a dyn SyncStore,
    key: &'a StoreKey,
    version: Version,
    opened: OnceLock<Box<dyn SyncSnapshot>>,
}

impl OpenedLater<'_> {
    fn opened(&self) -> Result<&dyn SyncSnapshot, StoreError> {
        if let Some(value) = self.opened.get() {
            return Ok(&**value);
        }
        let value = self.store.open(self.key, SnapshotOptions::expect(&self.version))?;
        let value = value.ok_or_else(|| StoreError::Changed { key: self.key.to_string() })?;
        Ok(&**self.opened.get_or_init(|| value))
    }
}

impl SyncSnapshot for OpenedLater<'_> {
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

impl ArrayState {
    /// Tells arrays apart whose chunks are decoded to other elements, also where one replaced another at its keys.
    fn cache_id(&self) -> u64 {
        *self.cache_id.get_or_init(|| {
            let ArrayMetadata { data_type, codecs, grid, fill_value, .. } = &*self.metadata;
            let mut hasher = DefaultHasher::new();
            format!("{data_type:?} {codecs:?} {grid:?} {fill_value:?}").hash(&mut hasher);
            hasher.finish()
        })
    }
}

//! Reads the chunks that a part of an array touches. Every chunk is read here, in one of the ways of [`ReadPlan`].
//!
//! From a local store a thread of the pool reads each chunk into its buffer and decodes it into its piece of the output;
//! segments go to several threads. From a remote store requests are made first, many at a time, and what they bring is
//! decoded on the pool. Segments are found and decoded by [`SegmentRead`] in either case.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::executor::{self, Spawner};
use super::select::work;
use super::storage_transformer::Shard;
use super::{ArrayCore, ChunkLayout, FieldBytes, zeroed};
use crate::codec::{ChunkIndex, PartialRead, budget, most_encoded};
use crate::error::{Cause, CodecError, Error, Result, StoreError};
use crate::grid::{ChunkProjection, SplitOutput, tiles};
use crate::selection::ResolvedSelection;
use crate::store::{
    self, ByteRange, GetOptions, SnapshotOptions, StoreKey, SyncStore, Target, Version, abandoned,
    block_on, coalesce, find,
};
use crate::sync::lock;
use crate::var_buffer::VarBuffer;
use crate::view::{View, ViewMut};

/// How many versions of a chunk are begun, each of which another writer replaces, before the reading is given up.
const MOST_VERSIONS: u32 = 100;

/// Chunks of a known size of at most so many bytes are fetched without asking for it first.
const SMALL: u64 = 1 << 20;

/// Segments of which at most so many bytes are read go to one thread.
const FEW_BYTES: u64 = 1 << 16;

/// Ranges of a chunk that were fetched by one request, each with its offset; in order, none overlaps another.
type Ranges = Vec<(u64, Bytes)>;

/// How one chunk is read.
enum ReadPlan<'a> {
    /// Out of an object that it shares with other chunks, by the draft's storage transformer.
    Shared,
    /// Only the segments that the part touches.
    Segments(PartialRead<'a>),
    /// All of its bytes.
    Whole,
}

/// The bytes of one chunk that a read needs, as a remote store brought them.
pub(super) struct Fetched {
    key: StoreKey,
    bytes: FetchedBytes,
}

enum FetchedBytes {
    /// The encoded chunk.
    Whole(Bytes),
    /// Some ranges of it, and its index.
    Ranges(Vec<Ranges>, Option<ChunkIndex>),
}

impl ArrayCore {
    /// Reads `part` into native elements, for a caller that may block. Each chunk owns its piece of the memory, unless
    /// its elements are scattered over it: then they are decoded apart and copied.
    pub fn read(
        self: &Arc<Self>,
        layout: &ChunkLayout,
        part: &ResolvedSelection,
        span: FieldBytes,
        memory: &mut [u8],
        var_buffer: Option<&Arc<VarBuffer>>,
    ) -> Result<()> {
        let out = ViewMut::new(memory, &part.shape(), span.size);
        self.read_into(layout, part, span, out, var_buffer)
    }

    /// The same, into memory with any strides, which has the shape of `part`.
    pub fn read_into(
        self: &Arc<Self>,
        layout: &ChunkLayout,
        part: &ResolvedSelection,
        span: FieldBytes,
        out: ViewMut<'_>,
        var_buffer: Option<&Arc<VarBuffer>>,
    ) -> Result<()> {
        let out = out.with_var_buffer(var_buffer.map(|var_buffer| &**var_buffer));
        let local = self.context.store.as_sync().filter(|store| store.capabilities().read);
        let local = local.map(|store| &**store);
        let (grid, shape) = (&*layout.grid, &layout.metadata.shape);
        let (options, kind) = (&self.context.options, work(grid, part, span.element));
        let scattered = match (SplitOutput::new(grid, shape, part, out), local) {
            (Ok(pieces), Some(store)) => {
                return executor::for_each(options, kind, pieces, |buffer, (tile, out)| {
                    self.read_chunk(layout, store, &tile, span, buffer, out)
                });
            }
            (Ok(pieces), None) => {
                let at_once = kind.at_once(self.context.store.capabilities().in_flight);
                return executor::with_pool(options, |spawner| {
                    block_on(self.read_pieces(layout, span, pieces, at_once, spawner))
                });
            }
            (Err((_, out)), None) => {
                return block_on(self.read_async(layout, part, span, out, var_buffer.cloned()));
            }
            (Err(scattered), Some(store)) => (scattered, store),
        };
        let ((tiles, out), store) = scattered;
        let (var_buffer, out) = (out.var_buffer(), Mutex::new(out));
        executor::for_each(options, kind, tiles, |buffer, tile| {
            let shape = tile.within.shape();
            let elements = zeroed(&shape, span.size, "the region");
            let mut elements = elements.map_err(|e| self.at(e))?;
            let here = ViewMut::new(&mut elements, &shape, span.size).with_var_buffer(var_buffer);
            self.read_chunk(layout, store, &tile, span, buffer, here)?;
            let mut out = lock(&out);
            out.scatter(&tile.place, &View::new(&elements, &shape, span.size));
            Ok(())
        })
    }

    /// Reads pieces of a caller's memory from a remote store: `at_once` chunks are under way, each is decoded straight
    /// into its piece.
    async fn read_pieces<'s>(
        &'s self,
        layout: &'s ChunkLayout,
        span: FieldBytes,
        pieces: impl Iterator<Item = (ChunkProjection, ViewMut<'s>)>,
        at_once: usize,
        spawner: &Spawner<'_, 's>,
    ) -> Result<()> {
        let chunks = stream::iter(pieces).map(|(tile, mut out)| async move {
            match self.fetch(layout, &tile).await? {
                None => {
                    out.fill(layout.fill_of(span));
                    Ok(())
                }
                Some(fetched) => {
                    let decode = move || self.decode(layout, &tile, span, &fetched, out);
                    spawner.run(decode).await
                }
            }
        });
        chunks.buffer_unordered(at_once).try_collect().await
    }

    /// Reads `part` into `out` for an async caller, or one whose memory is scattered: each chunk is decoded apart on the
    /// pool, and copied by the thread that polls.
    pub async fn read_async(
        self: &Arc<Self>,
        layout: &ChunkLayout,
        part: &ResolvedSelection,
        span: FieldBytes,
        mut out: ViewMut<'_>,
        var_buffer: Option<Arc<VarBuffer>>,
    ) -> Result<()> {
        let (grid, var_buffer) = (&*layout.grid, &var_buffer);
        let at_once =
            work(grid, part, span.element).at_once(self.context.store.capabilities().in_flight);
        let chunks =
            stream::iter(tiles(grid, &layout.metadata.shape, part)).map(|tile| async move {
                let Some(fetched) = self.fetch(layout, &tile).await? else {
                    return Ok::<_, Error>((tile, None));
                };
                let (core, layout, var_buffer) = (self.clone(), layout.clone(), var_buffer.clone());
                let decode = move || {
                    let shape = tile.within.shape();
                    let mut elements = zeroed(&shape, span.size, "the region")?;
                    let out = ViewMut::new(&mut elements, &shape, span.size)
                        .with_var_buffer(var_buffer.as_deref());
                    core.decode(&layout, &tile, span, &fetched, out)?;
                    Ok((tile, Some(elements)))
                };
                executor::on_pool(&self.context.options, decode).await
            });
        let mut chunks = std::pin::pin!(chunks.buffer_unordered(at_once));
        while let Some((tile, elements)) = chunks.try_next().await? {
            match elements {
                Some(elements) => {
                    let elements = View::new(&elements, &tile.within.shape(), span.size);
                    out.scatter(&tile.place, &elements);
                }
                None => out.reborrow().fill_with(&tile.place, |mut piece| -> Result<()> {
                    piece.fill(layout.fill_of(span));
                    Ok(())
                })?,
            }
        }
        Ok(())
    }

    fn plan<'a>(&self, layout: &'a ChunkLayout, tile: &ChunkProjection) -> ReadPlan<'a> {
        if layout.metadata.shards.is_some() {
            return ReadPlan::Shared;
        }
        match layout.chain.partial(&tile.chunk_shape, &tile.within) {
            Some(partial) => ReadPlan::Segments(partial),
            None => ReadPlan::Whole,
        }
    }

    /// Reads one chunk of a local store into `out`; `buffer` is reused.
    fn read_chunk(
        &self,
        layout: &ChunkLayout,
        store: &dyn SyncStore,
        tile: &ChunkProjection,
        span: FieldBytes,
        buffer: &mut Vec<u8>,
        out: ViewMut<'_>,
    ) -> Result<()> {
        // The store is called here, not by the adapter that waits for dropped calls (decision 0141).
        block_on(abandoned::wait_for(|| self.context.store.name(), layout.prefix()));
        self.with_records(span, out, |mut out| match self.plan(layout, tile) {
            ReadPlan::Segments(partial) if store.capabilities().cheap_ranges => {
                self.read_segments(layout, store, tile, &partial, out)
            }
            ReadPlan::Whole => self.read_whole(layout, store, tile, buffer, out),
            ReadPlan::Segments(_) | ReadPlan::Shared => match block_on(self.fetch(layout, tile))? {
                Some(fetched) => {
                    self.decode(layout, tile, FieldBytes::of(layout.repr), &fetched, out)
                }
                None => {
                    out.fill(&layout.fill);
                    Ok(())
                }
            },
        })
    }

    /// Has `read` read all bytes of each element; of one field of records those are read apart, and the field copied.
    fn with_records(
        &self,
        span: FieldBytes,
        mut out: ViewMut<'_>,
        read: impl FnOnce(ViewMut<'_>) -> Result<()>,
    ) -> Result<()> {
        if span.is_whole() {
            return read(out);
        }
        let shape = out.shape();
        let mut records = zeroed(&shape, span.element, "a chunk").map_err(|e| self.at(e))?;
        read(ViewMut::new(&mut records, &shape, span.element))?;
        out.copy_from(&View::new(&records, &shape, span.element).span(span.offset, span.size));
        Ok(())
    }

    /// Reads segments of a chunk of a local store, each by whichever thread is free: it goes from the store through that
    /// thread's buffer to its place. All bytes are of one version of the chunk, and so is its index.
    fn read_segments(
        &self,
        layout: &ChunkLayout,
        store: &dyn SyncStore,
        tile: &ChunkProjection,
        partial: &PartialRead<'_>,
        mut out: ViewMut<'_>,
    ) -> Result<()> {
        let key = layout.key(&tile.indices).map_err(|e| self.at(e))?;
        let at = |e: Error| self.at_chunk(tile, &key, e);
        let expected = layout.chain.encoded_size(&tile.chunk_shape);
        let mut known = layout.index_cache.get(&key);
        for _ in 0..MOST_VERSIONS {
            let (version, index) = known.take().unzip();
            let pinned = match &version {
                Some(version) => store.open(&key, SnapshotOptions::expect(version)),
                None => store.open(&key, SnapshotOptions::default()),
            };
            let value = match pinned {
                Ok(Some(value)) => value,
                Ok(None) if version.is_none() => {
                    out.fill(&layout.fill);
                    return Ok(());
                }
                // The chunk was replaced: its new index is not known.
                Ok(None) | Err(StoreError::Changed { .. }) => continue,
                Err(e) => return Err(at(e.into())),
            };
            let bytes = SegmentBytes::Local(&*value);
            let segments = SegmentRead { core: self, layout, key: &key, bytes };
            let read = segments.read(partial, index, || value.version(), out.reborrow());
            match read {
                Err(e) if is_changed(&e) => continue,
                read => {
                    check_size(expected, value.size()).map_err(|e| at(e.into()))?;
                    return read.map_err(at);
                }
            }
        }
        Err(at(StoreError::Changed { key: key.to_string() }.into()))
    }

    /// Reads all bytes of a chunk of a local store.
    fn read_whole(
        &self,
        layout: &ChunkLayout,
        store: &dyn SyncStore,
        tile: &ChunkProjection,
        buffer: &mut Vec<u8>,
        mut out: ViewMut<'_>,
    ) -> Result<()> {
        let (chain, shape) = (&layout.chain, &tile.chunk_shape);
        let mut key = layout.key(&tile.indices).map_err(|e| self.at(e))?;
        let other = layout.other_key(&tile.indices).map_err(|e| self.at(e))?;
        let whole = chain.is_memory() && tile.within.is_all(shape);
        if other.is_none()
            && let Some(expected) = chain.plain_size(shape)
            && (whole && out.as_bytes_mut().is_some() || expected <= SMALL)
        {
            let at = |e: Error| self.at_chunk(tile, &key, e);
            let mut memory = out.as_bytes_mut().filter(|_| whole);
            let direct = memory.is_some();
            let found = match &mut memory {
                // Nothing is between the file and the caller's memory.
                Some(memory) => store.get(&key, GetOptions::into(Target::Exact(memory))),
                None => {
                    buffer.resize(expected as usize, 0);
                    store.get(&key, GetOptions::into(Target::Exact(buffer)))
                }
            };
            return match found.map_err(|e| at(e.into()))?.map(|got| got.size) {
                None => {
                    out.fill(&layout.fill);
                    Ok(())
                }
                Some(found) if found != expected => {
                    Err(at(chain.wrong_plain_size(expected, found).into()))
                }
                Some(_) if direct => chain.check(&mut out).map_err(|e| at(e.into())),
                Some(_) => self.decode_whole(layout, tile, &key, buffer, out),
            };
        }
        let most = self.most_stored(layout, Some(shape));
        let get = |key: &StoreKey, buffer: &mut Vec<u8>| {
            let how = GetOptions { limit: most, ..GetOptions::into(Target::Vec(buffer)) };
            let got = store.get(key, how).map_err(|e| self.at_chunk(tile, key, e))?;
            Ok::<_, Error>(got.is_some())
        };
        let mut found = get(&key, buffer)?;
        if let Some(other) = other {
            if found {
                let warned = block_on(self.warn_if_stored_twice(&key, &other));
                warned.map_err(|e| self.at_chunk(tile, &key, e))?;
            } else {
                key = other;
                found = get(&key, buffer)?;
            }
        }
        if !found {
            out.fill(&layout.fill);
            return Ok(());
        }
        self.decode_whole(layout, tile, &key, buffer, out)
    }

    fn decode_whole(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        key: &StoreKey,
        encoded: &[u8],
        out: ViewMut<'_>,
    ) -> Result<()> {
        let (encoded, shape) = (Cow::Borrowed(encoded), &tile.chunk_shape);
        let decode = || layout.chain.decode_into(encoded, shape, &tile.within, out);
        self.decoding(decode).map_err(|e| self.at_chunk(tile, key, e))
    }

    /// Decodes what was fetched of a chunk into `out`.
    fn decode(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        span: FieldBytes,
        fetched: &Fetched,
        out: ViewMut<'_>,
    ) -> Result<()> {
        let key = &fetched.key;
        self.with_records(span, out, |out| {
            let partial = layout.chain.partial(&tile.chunk_shape, &tile.within);
            let (bytes, index, partial) = match (&fetched.bytes, partial) {
                (FetchedBytes::Whole(encoded), Some(partial)) if has_index(&partial) => {
                    (SegmentBytes::Whole(encoded), None, partial)
                }
                (FetchedBytes::Ranges(ranges, index), Some(partial)) => {
                    (SegmentBytes::Fetched(ranges), index.clone(), partial)
                }
                (FetchedBytes::Whole(encoded), _) => {
                    return self.decode_whole(layout, tile, key, encoded, out);
                }
                (FetchedBytes::Ranges(..), None) => {
                    return Err(self.at_chunk(tile, key, not_fetched()));
                }
            };
            let segments = SegmentRead { core: self, layout, key, bytes };
            let read = segments.read(&partial, index, || None, out);
            read.map_err(|e| self.at_chunk(tile, key, e))
        })
    }

    /// Fetches the bytes of a chunk that a part of it needs; `None` if it is not stored.
    async fn fetch(&self, layout: &ChunkLayout, tile: &ChunkProjection) -> Result<Option<Fetched>> {
        if let ReadPlan::Segments(partial) = self.plan(layout, tile)
            && !partial.is_all()
        {
            return self.fetch_segments(layout, tile, &partial).await;
        }
        let found = self.fetch_whole(layout, &tile.indices, Some(&tile.chunk_shape)).await?;
        Ok(found.map(|(key, bytes)| Fetched { key, bytes: FetchedBytes::Whole(bytes) }))
    }

    /// Fetches the segments of a chunk that a part touches, the index first. All bytes are of one version of the chunk,
    /// and so is its index.
    async fn fetch_segments(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        partial: &PartialRead<'_>,
    ) -> Result<Option<Fetched>> {
        let key = layout.key(&tile.indices).map_err(|e| self.at(e))?;
        let at = |e: Error| self.at_chunk(tile, &key, e);
        let store = self.context.store.readable().map_err(|e| self.at(e))?;
        let expected = layout.chain.encoded_size(&tile.chunk_shape);
        let range = self.decoding(|| partial.decoder().index()).map_err(|e| at(e.into()))?;
        let first = match range {
            Some(range) => vec![range],
            None => {
                let all = SegmentRead::fetched(self, layout, &key, &[]).missing(partial, None);
                all.map_err(&at)?.into_iter().map(ByteRange::from).collect()
            }
        };
        let mut known = layout.index_cache.get(&key);
        for _ in 0..MOST_VERSIONS {
            let (version, index) = known.take().unzip();
            let pinned = match &version {
                Some(version) => store.open(&key, SnapshotOptions::expect(version)).await,
                None => store.open(&key, SnapshotOptions::first(&first)).await,
            };
            let value = match pinned {
                Ok(Some(value)) => value,
                Ok(None) if version.is_none() => return Ok(None),
                // The chunk was replaced: its new index is not known.
                Ok(None) | Err(StoreError::Changed { .. }) => continue,
                Err(e) => return Err(at(e.into())),
            };
            let read = self.fetch_ranges(layout, tile, &key, partial, &*value, index).await;
            let (ranges, index) = match read {
                Err(e) if is_changed(&e) => continue,
                read => {
                    // A chunk of another size is damaged, also where the part is in it.
                    check_size(expected, value.size()).map_err(|e| at(e.into()))?;
                    read.map_err(at)?
                }
            };
            if let Some((version, index)) = value.version().zip(index.clone()) {
                layout.index_cache.put(&key, version, index);
            }
            return Ok(Some(Fetched { key, bytes: FetchedBytes::Ranges(ranges, index) }));
        }
        Err(at(StoreError::Changed { key: key.to_string() }.into()))
    }

    /// The ranges of one version of a chunk that the part needs, and its index, which may be known before.
    async fn fetch_ranges(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        key: &StoreKey,
        partial: &PartialRead<'_>,
        value: &dyn store::Snapshot,
        mut index: Option<ChunkIndex>,
    ) -> Result<(Vec<Ranges>, Option<ChunkIndex>)> {
        let mut is_read = index.is_none();
        if let (None, Some(range)) = (&index, self.decoding(|| partial.decoder().index())?) {
            let bytes = value.read(&[range]).await.map_err(outside)?.pop().unwrap_or_default();
            index = Some(partial.decoder().parse_index(&bytes)?);
        }
        let most = self.most_stored(layout, Some(&tile.chunk_shape));
        let (mut ranges, mut size) = (Vec::new(), 0u64);
        loop {
            let read = SegmentRead::fetched(self, layout, key, &ranges);
            let missing = coalesce(read.missing(partial, index.as_ref())?, 0);
            if missing.is_empty() {
                break;
            }
            // Segments may each be larger than their elements, not all of them together.
            let sizes = missing.iter().map(|range| range.end - range.start);
            size = sizes.fold(size, u64::saturating_add);
            if size > most {
                let why = format!(
                    "its inner chunks are said to have {size} bytes, more than the limit of {most}"
                );
                return Err(CodecError::corrupt("codecs", why).into());
            }
            let needed: Vec<ByteRange> = missing.iter().cloned().map(ByteRange::from).collect();
            let bytes = value.read(&needed).await.map_err(outside)?;
            is_read = true;
            let sizes = missing.iter().map(|range| range.end - range.start);
            if !bytes.iter().map(|bytes| bytes.len() as u64).eq(sizes) {
                return Err(CodecError::corrupt("codecs", "the chunk is cut short").into());
            }
            ranges.push(missing.iter().map(|range| range.start).zip(bytes).collect());
        }
        if !is_read && value.size() == 0 {
            // Nothing told yet that this still is the version whose index is known.
            value.read(&[]).await?;
        }
        Ok((ranges, index))
    }

    /// Bytes that a stored chunk of `shape` may have; see [`most_encoded`]. Where the elements, or the shape, do not
    /// tell, [`crate::Limits::decoded`] (decision 0142).
    pub fn most_stored(&self, layout: &ChunkLayout, shape: Option<&[u64]>) -> u64 {
        let shape = shape.filter(|_| !layout.metadata.data_type.is_variable());
        let size = shape.map(|shape| {
            let count = shape.iter().chain(layout.metadata.shards.iter().flatten());
            count.fold(layout.repr.size() as u64, |size, &len| size.saturating_mul(len))
        });
        self.decoding(|| most_encoded(size))
    }

    /// Fetches an encoded chunk, of `shape` if that is known, from the key at which it is stored.
    async fn fetch_whole(
        &self,
        layout: &ChunkLayout,
        indices: &[i64],
        shape: Option<&[u64]>,
    ) -> Result<Option<(StoreKey, Bytes)>> {
        let store = self.context.store.readable().map_err(|e| self.at(e))?;
        let most = self.most_stored(layout, shape);
        if let Some(per_shard) = &layout.metadata.shards {
            let shard = Shard::of(indices, per_shard);
            let key = layout.key(&shard.indices)?;
            let at = |e: Error| self.at(e).at_chunk(indices).at_key(&key);
            let Some(object) = store.get_at_most(&key, most).await.map_err(|e| at(e.into()))?
            else {
                return Ok(None);
            };
            let chunk = shard.chunk(&object).map_err(|e| at(e.into()))?;
            return Ok(chunk.map(|bytes| (key, bytes)));
        }
        let (first, other) = (layout.key(indices)?, layout.other_key(indices)?);
        for key in [Some(&first), other.as_ref()].into_iter().flatten() {
            let at = |e: Error| self.at(e).at_chunk(indices).at_key(key);
            let found = store.get_at_most(key, most).await.map_err(|e| at(e.into()))?;
            let Some(bytes) = found else { continue };
            if let (Some(other), true) = (&other, *key == first) {
                self.warn_if_stored_twice(key, other).await.map_err(at)?;
            }
            return Ok(Some((key.clone(), bytes)));
        }
        Ok(None)
    }

    /// Warns if a chunk that is stored at `key` is stored at `other`, too (V07c).
    async fn warn_if_stored_twice(&self, key: &StoreKey, other: &StoreKey) -> Result<()> {
        if self.context.size(other).await?.is_some() {
            let what =
                format!("the same chunk is stored at `{key}` and at `{other}`; the first is taken");
            self.context.warn(self.path.as_str(), vec![what]);
        }
        Ok(())
    }

    /// The bytes of a chunk as they are stored.
    pub async fn encoded(&self, layout: &ChunkLayout, indices: &[i64]) -> Result<Option<Bytes>> {
        Ok(self.fetch_whole(layout, indices, None).await?.map(|(_, bytes)| bytes))
    }

    /// Decodes within the limit that the caller gave (decision 0142).
    pub fn decoding<T>(&self, decode: impl FnOnce() -> T) -> T {
        budget::limited(self.context.options.limits.decoded, decode)
    }
}

/// Where the bytes of segments come from.
enum SegmentBytes<'a> {
    /// A value of a local store.
    Local(&'a dyn store::SyncSnapshot),
    /// Ranges that were fetched.
    Fetched(&'a [Ranges]),
    /// All bytes of the chunk.
    Whole(&'a [u8]),
}

impl SegmentBytes<'_> {
    /// Some bytes of the chunk, perhaps in `buffer`; `None` if they are not fetched yet.
    fn get<'b>(&'b self, range: ByteRange, buffer: &'b mut Vec<u8>) -> Result<Option<&'b [u8]>> {
        match self {
            SegmentBytes::Local(value) => {
                value.read_into(range, buffer).map_err(outside)?;
                Ok(Some(buffer))
            }
            SegmentBytes::Fetched(ranges) => {
                let range = range.within(u64::MAX);
                Ok(range.and_then(|range| ranges.iter().find_map(|ranges| find(ranges, &range))))
            }
            SegmentBytes::Whole(bytes) => {
                let found = range.within(bytes.len() as u64);
                let found = found.map(|range| &bytes[range.start as usize..range.end as usize]);
                let leaves = || format!("{range} leave its {} bytes", bytes.len());
                Ok(Some(found.ok_or_else(|| CodecError::corrupt("codecs", leaves()))?))
            }
        }
    }
}

/// Reads segments of one version of one chunk.
struct SegmentRead<'a> {
    core: &'a ArrayCore,
    layout: &'a ChunkLayout,
    key: &'a StoreKey,
    bytes: SegmentBytes<'a>,
}

/// Which bytes of its chunk a segment has at most. Of a chunk the store knows the end.
const ALL: Range<u64> = 0..u64::MAX;

impl<'a> SegmentRead<'a> {
    /// The segments in ranges that were fetched so far.
    fn fetched(
        core: &'a ArrayCore,
        layout: &'a ChunkLayout,
        key: &'a StoreKey,
        ranges: &'a [Ranges],
    ) -> Self {
        SegmentRead { core, layout, key, bytes: SegmentBytes::Fetched(ranges) }
    }

    /// Reads a part of the chunk. The index is kept under the version of the chunk, if that is known.
    fn read(
        &self,
        partial: &PartialRead<'_>,
        index: Option<ChunkIndex>,
        version: impl Fn() -> Option<Version>,
        out: ViewMut<'_>,
    ) -> Result<()> {
        let keep = |index: &ChunkIndex| {
            if let Some(version) = version() {
                self.layout.index_cache.put(self.key, version, index.clone());
            }
        };
        let range = self.core.decoding(|| partial.decoder().index())?;
        let index = match (index, range) {
            (None, Some(range)) => {
                let mut buffer = Vec::new();
                let bytes = self.bytes.get(range, &mut buffer)?.ok_or_else(not_fetched)?;
                let index = partial.decoder().parse_index(bytes)?;
                keep(&index);
                Some(index)
            }
            (index, _) => index,
        };
        let size = index.as_ref().map(ChunkIndex::size);
        self.segments(partial, ALL, index.as_ref(), out)?;
        // Indices of segments were added to it.
        index.iter().filter(|index| Some(index.size()) != size).for_each(keep);
        Ok(())
    }

    /// Reads the segments of what is stored in the bytes `place` of the chunk.
    fn segments(
        &self,
        partial: &PartialRead<'_>,
        place: Range<u64>,
        index: Option<&ChunkIndex>,
        out: ViewMut<'_>,
    ) -> Result<()> {
        let decoder = partial.decoder();
        let read_one =
            |buffer: &mut Vec<u8>, at: &ChunkProjection, mut out: ViewMut<'_>| -> Result<()> {
                let Some(range) = decoder.segment(index, at)? else {
                    out.fill(&self.layout.fill);
                    return Ok(());
                };
                let range = inside(&place, range, at)?;
                if let Some(inner) = decoder.inner(at) {
                    let found = self.inner_index(&inner, &range, index, buffer)?;
                    let index = found.map_err(|_| not_fetched())?;
                    return self.segments(&inner, range, index.as_ref(), out);
                }
                let bytes = self.bytes.get(range.into(), buffer)?.ok_or_else(not_fetched)?;
                Ok(decoder.decode(bytes, at, out)?)
            };
        // Other threads read some of them, under the same limit.
        let read = |buffer: &mut Vec<u8>, at: &ChunkProjection, out: ViewMut<'_>| {
            self.core.decoding(|| read_one(buffer, at, out))
        };
        let (grid, shape, within) = (decoder.grid(), partial.shape(), partial.within());
        let mut kind = work(grid, within, out.element_size());
        kind.many &= kind.total > FEW_BYTES;
        match SplitOutput::new(grid, shape, within, partial.transposed(out)) {
            Ok(pieces) => {
                let options = &self.core.context.options;
                executor::for_each(options, kind, pieces, |buffer, (at, out)| {
                    read(buffer, &at, out)
                })
            }
            Err((tiles, mut out)) => {
                let mut buffer = Vec::new();
                tiles.into_iter().try_for_each(|at| {
                    out.reborrow().fill_with(&at.place, |piece| read(&mut buffer, &at, piece))
                })
            }
        }
    }

    /// Which ranges of the chunk are needed and not fetched yet.
    fn missing(
        &self,
        partial: &PartialRead<'_>,
        index: Option<&ChunkIndex>,
    ) -> Result<Vec<Range<u64>>> {
        let mut missing = Vec::new();
        self.core.decoding(|| self.find_missing(partial, ALL, index, &mut missing))?;
        Ok(missing)
    }

    fn find_missing(
        &self,
        partial: &PartialRead<'_>,
        place: Range<u64>,
        index: Option<&ChunkIndex>,
        missing: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        for at in partial.tiles() {
            let Some(range) = partial.decoder().segment(index, &at)? else { continue };
            let range = inside(&place, range, &at)?;
            let mut buffer = Vec::new();
            match partial.decoder().inner(&at).filter(|inner| !inner.is_all()) {
                Some(inner) => match self.inner_index(&inner, &range, index, &mut buffer)? {
                    Ok(index) => self.find_missing(&inner, range, index.as_ref(), missing)?,
                    Err(range) => missing.push(range),
                },
                None => {
                    if self.bytes.get(range.clone().into(), &mut buffer)?.is_none() {
                        missing.push(range);
                    }
                }
            }
        }
        Ok(())
    }

    /// The index of a segment in the bytes `place` of the chunk, kept inside the `outer` one; `None` if it has none.
    /// `Err` says which bytes have to be fetched first.
    fn inner_index(
        &self,
        inner: &PartialRead<'_>,
        place: &Range<u64>,
        outer: Option<&ChunkIndex>,
        buffer: &mut Vec<u8>,
    ) -> Result<Result<Option<ChunkIndex>, Range<u64>>> {
        let Some(range) = inner.decoder().index()? else { return Ok(Ok(None)) };
        if let Some(known) = outer.and_then(|outer| outer.inner(place.start)) {
            return Ok(Ok(Some(known)));
        }
        let found = range.within(place.end - place.start).ok_or_else(|| {
            CodecError::corrupt("codecs", format!("{range} leave a segment at {place:?}"))
        })?;
        let range = place.start + found.start..place.start + found.end;
        let Some(bytes) = self.bytes.get(range.clone().into(), buffer)? else {
            return Ok(Err(range));
        };
        let index = inner.decoder().parse_index(bytes)?;
        let kept = outer.map(|outer| outer.keep_inner(place.start, index.clone()));
        Ok(Ok(Some(kept.unwrap_or(index))))
    }
}

fn has_index(partial: &PartialRead<'_>) -> bool {
    !matches!(partial.decoder().index(), Ok(None))
}

fn not_fetched() -> CodecError {
    CodecError::corrupt("codecs", "bytes of a segment were not fetched")
}

fn is_changed(error: &Error) -> bool {
    matches!(error.cause(), Cause::Store(StoreError::Changed { .. }))
}

/// A chunk of another size than `expected` is damaged.
fn check_size(expected: Option<u64>, found: u64) -> Result<(), CodecError> {
    match expected {
        Some(expected) if expected != found => {
            Err(CodecError::Length { codec: "codecs", expected, found })
        }
        _ => Ok(()),
    }
}

/// Bytes of what is stored in the bytes `place` of a chunk, as bytes of the chunk.
fn inside(
    place: &Range<u64>,
    range: Range<u64>,
    at: &ChunkProjection,
) -> Result<Range<u64>, CodecError> {
    let end = place.start.checked_add(range.end).filter(|&end| end <= place.end);
    end.map(|end| place.start + range.start..end).ok_or_else(|| {
        let why = format!("bytes {range:?} leave inner chunk {:?}", at.indices);
        CodecError::corrupt("codecs", why)
    })
}

/// An index that points out of its chunk is damage.
pub(super) fn outside(error: StoreError) -> Error {
    match error {
        StoreError::Range { .. } => CodecError::corrupt("codecs", error).into(),
        other => other.into(),
    }
}

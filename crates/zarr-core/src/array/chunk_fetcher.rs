//! Fetches the bytes of a chunk that a read needs, all of them or some ranges, and decodes them on the pool.
//!
//! A remote store is read this way, and from a local one the chunks that have two keys, share an object, or are cached whole.

use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::chunk_cache::{CachedObject, WHOLE};
use super::executor::{self, Spawner};
use super::large_parts::LargePart;
use super::segments::{Ranges, SegmentBytes, SegmentReader, has_index, not_fetched, outside};
use super::storage_transformer::Shard;
use super::{ArrayCore, ChunkLayout, FieldBytes, zeroed};
use crate::codec::{ChunkIndex, PartialRead};
use crate::error::{CodecError, Error, Result};
use crate::grid::ChunkProjection;
use crate::store::{ByteRange, Snapshot, Store, StoreKey, SyncStore, coalesce};
use crate::sync::{into_inner, lock};
use crate::var_buffer::VarBuffer;
use crate::view::ViewMut;

/// The bytes of one chunk that a read needs, fetched from a store.
pub(super) struct Fetched {
    key: StoreKey,
    bytes: FetchedBytes,
}

pub(super) enum FetchedBytes {
    /// The encoded chunk, unless its elements are cached.
    Whole(Bytes, Option<CachedObject>),
    /// Some ranges of it, and its index.
    Ranges(Vec<Ranges>, Option<ChunkIndex>, Option<CachedObject>),
    /// None: they are decoded already.
    Decoded,
}

/// Where segments come from, and where they go.
pub(super) enum Source<'a> {
    /// Each thread reads a segment and decodes it into its piece of `out`.
    Local { store: &'a dyn SyncStore, span: FieldBytes, out: ViewMut<'a> },
    /// Their bytes are fetched together, to be decoded on the pool.
    Remote(&'a dyn Store, Option<&'a LargePart<'a>>),
}

impl ArrayCore {
    /// Fetches a chunk and decodes it on the pool into `out`, a piece of memory that the caller lends. Returns whether it is
    /// stored.
    pub(super) async fn read_piece<'s>(
        self: &'s Arc<Self>,
        layout: &'s ChunkLayout,
        tile: ChunkProjection,
        (span, in_flight): (FieldBytes, usize),
        out: ViewMut<'s>,
        spawner: &Spawner<'_, 's>,
    ) -> Result<(ChunkProjection, bool)> {
        let memory = Mutex::new(out);
        let out = &|copy: &mut dyn FnMut(ViewMut<'_>)| copy(lock(&memory).reborrow());
        let large = LargePart { core: self, span, in_flight, out };
        let fetched = self.fetch(layout, &tile, Some(&large)).await?;
        let out = into_inner(memory);
        let Some(fetched) = fetched else {
            self.fill_missing(layout, &tile, span, out)?;
            return Ok((tile, false));
        };
        let decode = move || self.decode(layout, &tile, span, &fetched, out).map(|()| (tile, true));
        spawner.run(decode).await
    }

    /// Fetches a chunk and decodes its elements on the pool; `None` if it is not stored. Those of a large part it copies to `out`
    /// and returns none, if they are a box there.
    pub(super) async fn fetch_elements(
        self: &Arc<Self>,
        layout: &ChunkLayout,
        tile: ChunkProjection,
        (span, in_flight): (FieldBytes, usize),
        var_buffer: Option<&Arc<VarBuffer>>,
        out: &Mutex<ViewMut<'_>>,
    ) -> Result<(ChunkProjection, Option<Vec<u8>>)> {
        let elements = Mutex::new(Vec::new());
        let out = &|copy: &mut dyn FnMut(ViewMut<'_>)| {
            if let Some(region) = tile.output.as_region() {
                return copy(lock(out).reborrow().part(region));
            }
            let (mut elements, shape) = (lock(&elements), tile.within.shape());
            elements.resize(shape.iter().product::<u64>() as usize * span.size, 0);
            copy(ViewMut::new(&mut elements, &shape, span.size));
        };
        let large = LargePart { core: self, span, in_flight, out };
        let fetched = self.fetch(layout, &tile, Some(&large)).await?;
        let Some(fetched) = fetched else { return Ok((tile, None)) };
        if let FetchedBytes::Decoded = fetched.bytes {
            return Ok((tile, Some(into_inner(elements))));
        }
        let (core, layout, var_buffer) = (self.clone(), layout.clone(), var_buffer.cloned());
        let decode = move || {
            let shape = tile.within.shape();
            let mut elements = zeroed(&shape, span.size, "the region")?;
            let out = ViewMut::new(&mut elements, &shape, span.size)
                .with_var_buffer(var_buffer.as_deref());
            core.decode(&layout, &tile, span, &fetched, out)?;
            Ok((tile, Some(elements)))
        };
        executor::on_pool(&self.options, decode).await
    }

    /// Decodes the bytes that were fetched of a chunk into `out`.
    pub(super) fn decode(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        span: FieldBytes,
        fetched: &Fetched,
        out: ViewMut<'_>,
    ) -> Result<()> {
        let key = &fetched.key;
        let partial = layout.chunks().chain.partial(&tile.chunk_shape, &tile.within);
        let (bytes, index, partial, cached) = match (&fetched.bytes, partial) {
            (FetchedBytes::Whole(encoded, cached), Some(partial)) if has_index(&partial) => {
                (SegmentBytes::Whole(encoded), None, partial, cached)
            }
            (FetchedBytes::Ranges(ranges, index, cached), Some(partial)) => {
                (SegmentBytes::Fetched(ranges), index.clone(), partial, cached)
            }
            (FetchedBytes::Whole(encoded, Some(cached)), _) => {
                let whole = layout.span();
                return self.with_records(span, out, |out| {
                    cached.read(WHOLE, tile, out, |tile, out| {
                        self.decode_whole(layout, tile, whole, key, encoded, out)
                    })
                });
            }
            (FetchedBytes::Whole(encoded, None), _) => {
                return self.decode_whole(layout, tile, span, key, encoded, out);
            }
            (FetchedBytes::Ranges(..), None) => {
                return Err(self.at_chunk(tile, key, not_fetched()));
            }
            (FetchedBytes::Decoded, _) => return Ok(()),
        };
        let segments = SegmentReader { core: self, layout, bytes, cached: cached.as_ref() };
        let read = |out: ViewMut<'_>| segments.read(&partial, index, |_| (), out);
        self.with_records(span, out, read).map_err(|e| self.at_chunk(tile, key, e))
    }

    /// Fetches the bytes of a chunk that a part of it needs; `None` if it is not stored.
    pub(super) async fn fetch(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        large: Option<&LargePart<'_>>,
    ) -> Result<Option<Fetched>> {
        let key = layout.key(&tile.key_index);
        let (cached, plan) = (self.context.chunk_cache.is_some(), self.plan(layout, tile));
        let takes = |large: &&LargePart<'_>| plan.iter().any(|plan| large.takes(layout, plan));
        let large = large.filter(takes);
        let parts = cached || large.is_some();
        let found = if self.caches_whole(layout, tile) {
            // Boxed: the futures of reads without a cache stay small.
            let found = Box::pin(self.fetch_for_cache(layout, tile, &key)).await;
            let found = found.map_err(|e| self.at_chunk(tile, &key, e))?;
            found.map(|(bytes, cached)| FetchedBytes::Whole(bytes, cached))
        } else if let Some(partial) = plan.filter(|partial| parts || !partial.is_all()) {
            let store = self.context.store.readable().map_err(|e| self.at(e))?;
            let mut source = Source::Remote(store, large);
            self.read_segments(layout, tile, &partial, &mut source).await?
        } else {
            let shape = Some(&tile.chunk_shape[..]);
            let found = self.fetch_whole(layout, &tile.key_index, shape).await?;
            let whole = |bytes| FetchedBytes::Whole(bytes, None);
            return Ok(found.map(|(key, bytes)| Fetched { key, bytes: whole(bytes) }));
        };
        Ok(found.map(|bytes| Fetched { key, bytes }))
    }

    /// The ranges of a chunk that a read without its index needs first.
    pub(super) fn first_ranges(
        &self,
        layout: &ChunkLayout,
        partial: &PartialRead<'_>,
    ) -> Result<Vec<ByteRange>> {
        if let Some(index) = self.decoding(|| partial.decoder().index())? {
            return Ok(vec![index]);
        }
        let bytes = SegmentBytes::Fetched(&[]);
        let none = SegmentReader { core: self, layout, bytes, cached: None };
        Ok(none.missing(partial, None)?.into_iter().map(ByteRange::from).collect())
    }

    /// Fetches the ranges of one version of a chunk that the part needs, and its index if that is not known.
    pub(super) async fn fetch_ranges(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        partial: &PartialRead<'_>,
        (value, cached): (&dyn Snapshot, Option<&CachedObject>),
        mut index: Option<ChunkIndex>,
    ) -> Result<(Vec<Ranges>, Option<ChunkIndex>)> {
        let mut is_read = index.is_none();
        if is_read {
            index = self.fetch_index(partial, value).await?;
        }
        let (mut ranges, mut sizes) = (Vec::new(), Vec::new());
        loop {
            let bytes = SegmentBytes::Fetched(&ranges);
            let missing = SegmentReader { core: self, layout, bytes, cached }
                .missing(partial, index.as_ref())?;
            let missing = coalesce(missing, 0);
            if missing.is_empty() {
                break;
            }
            self.options.check_cancelled()?;
            sizes.extend(missing.iter().map(|range| range.end - range.start));
            self.check_stored(layout, tile, sizes.iter().copied())?;
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
            // A request must confirm that this still is the version whose index is known.
            value.read(&[]).await?;
        }
        Ok((ranges, index))
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
            let key = layout.key(&shard.indices);
            let at = |e: Error| self.at(e).at_chunk(indices).at_key(&key);
            let Some(object) = store.get_at_most(&key, most).await.map_err(|e| at(e.into()))?
            else {
                return Ok(None);
            };
            let chunk = shard.chunk(&object).map_err(|e| at(e.into()))?;
            return Ok(chunk.map(|bytes| (key, bytes)));
        }
        let (first, other) = (layout.key(indices), layout.other_key(indices));
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
        let found = self.fetch_whole(layout, indices, None).await?;
        if found.is_none() {
            self.check_not_gone().await?;
        }
        Ok(found.map(|(_, bytes)| bytes))
    }
}

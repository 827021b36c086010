//! Bounds the memory for what is under way from a remote store (docs/internals/design/reading.md).
//!
//! A large part of a shard is read some MiB of neighbouring inner chunks at a time, each decoded and copied to its place before
//! more are fetched, so that memory does not grow with the shard.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::ready;
use futures::stream::TryStreamExt;

use super::executor::{self, UNDER_WAY, Work};
use super::segments::{ALL, has_index, inside, not_fetched, outside};
use super::{ArrayCore, ChunkLayout, FieldBytes, unset};
use crate::codec::{ChunkIndex, PartialRead};
use crate::error::Result;
use crate::grid::ChunkProjection;
use crate::region::{Region, element_count};
use crate::selection::ResolvedSelection;
use crate::store::{ByteRange, Snapshot};
use crate::view::{View, ViewMut};

/// About as many bytes are fetched together; that many elements are decoded from them.
const GROUP: u64 = 4 << 20;

/// How large parts are read, and where one goes.
pub(super) struct LargePart<'a> {
    pub core: &'a Arc<ArrayCore>,
    pub span: FieldBytes,
    /// How many groups are under way at the same time.
    pub in_flight: usize,
    pub out: &'a Lend<'a>,
}

/// Calls a function with memory for the part.
type Lend<'a> = dyn Fn(&mut dyn FnMut(ViewMut<'_>)) + Sync + 'a;

/// The bytes of an inner chunk, if it is stored, and what is read of it.
type Segment = (Option<Range<u64>>, ChunkProjection);

/// The elements of an inner chunk, their shape, and their place in the part.
type Decoded = (ResolvedSelection, Vec<u64>, Vec<u8>);

impl ArrayCore {
    /// How many chunks of a remote store are under way, and how many groups of a large part of each. A chunk of which no part can
    /// be decoded is held whole.
    pub(super) fn in_flight(&self, layout: &ChunkLayout, kind: Work) -> (usize, usize) {
        let shape = layout.metadata.chunk_extent();
        let first = Region::all(&vec![1; shape.len()]);
        let partial = layout.chunks().chain.partial(&shape, &(&first).into());
        let total = if partial.is_some() { kind.total } else { u64::MAX };
        let requests = self.context.store.capabilities().in_flight;
        let chunks = Work { total, ..kind }.in_flight(requests);
        let together = (kind.total / kind.size.max(1)).clamp(1, chunks as u64);
        (chunks, (UNDER_WAY / (2 * GROUP * together)).max(1) as usize)
    }

    /// The index of a chunk, if it has one.
    pub(super) async fn fetch_index(
        &self,
        partial: &PartialRead<'_>,
        value: &dyn Snapshot,
    ) -> Result<Option<ChunkIndex>> {
        let Some(range) = self.decoding(|| partial.decoder().index())? else { return Ok(None) };
        let bytes = value.read(&[range]).await.map_err(outside)?.pop().unwrap_or_default();
        Ok(Some(partial.decoder().parse_index(&bytes)?))
    }
}

impl LargePart<'_> {
    /// Whether a part is read this way: it is large, and the chunk is a shard whose inner chunks are none.
    pub fn takes(&self, layout: &ChunkLayout, partial: &PartialRead<'_>) -> bool {
        let sizes = partial.chunk_projections().map(|at| self.size(&at));
        has_index(partial)
            && sizes.fold(0, u64::saturating_add) > 2 * GROUP
            && !layout.metadata.data_type.is_variable()
            && self.core.context.chunk_cache.is_none()
            && partial.chunk_projections().all(|at| partial.decoder().inner(&at).is_none())
    }

    /// The bytes of an inner chunk, decoded.
    fn size(&self, at: &ChunkProjection) -> u64 {
        let count = element_count(&at.chunk_shape).unwrap_or(u64::MAX);
        count.saturating_mul(self.span.element as u64)
    }

    /// Reads the part of one version of a chunk. Returns its index.
    pub async fn read(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        partial: &PartialRead<'_>,
        value: &dyn Snapshot,
        mut index: Option<ChunkIndex>,
    ) -> Result<Option<ChunkIndex>> {
        if index.is_none() {
            index = self.core.fetch_index(partial, value).await?;
        }
        let mut segments = Vec::new();
        for at in partial.chunk_projections() {
            let range = self.core.decoding(|| partial.decoder().segment(index.as_ref(), &at))?;
            if range.is_none() {
                self.core.check_missing_inner(&at)?;
            }
            segments.push((range.map(|range| inside(&ALL, range, &at)).transpose()?, at));
        }
        segments.sort_by_key(|(range, _)| range.as_ref().map_or(0, |range| range.start));
        let stored =
            |(range, _): &Segment| range.as_ref().map_or(0, |range| range.end - range.start);
        self.core.check_stored(layout, tile, segments.iter().map(stored))?;
        let bytes = |segment: &Segment| self.size(&segment.1).max(stored(segment));
        let (decoding, fetching) =
            self.under_way(segments.iter().map(stored).sum(), segments.iter().map(bytes).sum());
        let mut segments = segments.into_iter().peekable();
        let groups = std::iter::from_fn(|| {
            let mut group = vec![segments.next()?];
            let mut left = GROUP.saturating_sub(bytes(&group[0]));
            while let Some(next) = segments.next_if(|next| bytes(next) <= left) {
                left -= bytes(&next);
                group.push(next);
            }
            Some(group)
        });
        let fetch = |group| Self::fetch_group(value, group);
        let fetched = executor::in_flight(&self.core.options, fetching, groups, fetch);
        let decode = |(group, bytes)| self.decode_group(layout, tile, group, bytes);
        let decoded = fetched.map_ok(decode).try_buffer_unordered(decoding);
        let copied = decoded.try_for_each(|group| {
            (self.out)(&mut |out| {
                let mut out = partial.transposed(out);
                for (place, shape, elements) in &group {
                    out.scatter(place, &View::new(elements, shape, self.span.size));
                }
            });
            ready(Ok(()))
        });
        copied.await?;
        Ok(index)
    }

    /// How many groups are decoded, and how many are fetched, at the same time: those that are fetched have no elements yet. All inner chunks have
    /// `stored` bytes, and `bytes` with the larger of each and its elements.
    fn under_way(&self, stored: u64, bytes: u64) -> (usize, usize) {
        let decoding = (self.in_flight as u64).div_ceil(2);
        let stored = (stored / bytes.div_ceil(GROUP).max(1)).max(GROUP / 16);
        let left = (2 * GROUP * self.in_flight as u64).saturating_sub(decoding * (GROUP + stored));
        (decoding as usize, (left / stored).max(1) as usize)
    }

    /// The bytes of some inner chunks.
    async fn fetch_group(
        value: &dyn Snapshot,
        group: Vec<Segment>,
    ) -> Result<(Vec<Segment>, Vec<Bytes>)> {
        let ranges = group.iter().filter_map(|(range, _)| range.clone());
        let ranges: Vec<ByteRange> = ranges.map(ByteRange::from).collect();
        // Without ranges this still confirms the version.
        let fetched = value.read(&ranges).await.map_err(outside)?;
        Ok((group, fetched))
    }

    /// Decodes some inner chunks on the pool.
    async fn decode_group(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        group: Vec<Segment>,
        fetched: Vec<Bytes>,
    ) -> Result<Vec<Decoded>> {
        let (core, layout, span) = (self.core.clone(), layout.clone(), self.span);
        let (chunk_shape, within) = (tile.chunk_shape.clone(), tile.within.clone());
        let decode = move || {
            let partial = layout.chunks().chain.partial(&chunk_shape, &within);
            let (partial, mut fetched) = (partial.ok_or_else(not_fetched)?, fetched.iter());
            let decode = |(range, at): Segment| {
                let shape = at.within.shape();
                let mut elements = unset(&shape, span.size, "an inner chunk")?;
                let mut out = ViewMut::new(&mut elements, &shape, span.size);
                if range.is_some() {
                    let bytes = fetched.next().ok_or_else(not_fetched)?;
                    core.with_records(span, out, |out| {
                        let decode = || partial.decoder().decode(bytes, &at, out);
                        let decoded = core.decoding_to_read(decode);
                        Ok(decoded.map_err(|e| e.in_inner_chunk(&at.key_index))?)
                    })?;
                } else {
                    out.fill(layout.fill_of(span));
                }
                Ok((at.output, shape, elements))
            };
            group.into_iter().map(decode).collect()
        };
        executor::on_pool(&self.core.options, decode).await
    }
}

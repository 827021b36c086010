//! Bounds the memory for what is under way from a remote store (docs/internals/design/reading.md).
//!
//! A large part of a shard is read some MiB of neighbouring inner chunks at a time, each decoded and copied to its place before
//! more are fetched, so that memory does not grow with the shard.

use std::ops::Range;

use bytes::Bytes;
use futures::future::ready;
use futures::stream::TryStreamExt;

use super::decode::Decoding;
use super::missing::{check_missing_inner, decode_to_read};
use super::remote::fetch_index;
use super::segments::inside;
use super::source::{ALL, not_fetched};
use crate::array::chunk_store::{check_stored_bytes, decode_limited, read_error};
use crate::array::element_memory::for_overwrite;
use crate::array::layout::ChunkLayout;
use crate::codec::{ChunkIndex, PartialRead};
use crate::error::Result;
use crate::grid::ChunkProjection;
use crate::region::{Region, element_count};
use crate::runtime::pool::{self, Work};
use crate::runtime::tuning::MAX_BYTES_IN_FLIGHT;
use crate::selection::ResolvedSelection;
use crate::store::{ByteRange, Snapshot};
use crate::view::{View, ViewMut};

/// About as many bytes are fetched together; that many elements are decoded from them.
const GROUP_BYTES: u64 = 4 << 20;

/// How large parts are read, and where one goes.
pub(super) struct LargePart<'a> {
    pub decoding: Decoding<'a>,
    /// How many groups are under way at the same time.
    pub in_flight: usize,
    pub out: &'a LendMemory<'a>,
}

/// Calls a function with memory for the part.
pub(super) type LendMemory<'a> = dyn Fn(&mut dyn FnMut(ViewMut<'_>)) + Sync + 'a;

/// The bytes of an inner chunk, if it is stored, and what is read of it.
type Segment = (Option<Range<u64>>, ChunkProjection);

/// The elements of an inner chunk, their shape, and their place in the part.
type DecodedSegment = (ResolvedSelection, Vec<u64>, Vec<u8>);

/// How many chunks of a store that takes `requests` are under way, and how many groups of a large part of each. A chunk of which
/// no part can be decoded is held whole.
pub(super) fn in_flight(layout: &ChunkLayout, requests: usize, work: Work) -> (usize, usize) {
    let shape = layout.metadata().chunk_extent();
    let first = Region::all(&vec![1; shape.len()]);
    let partial = layout.chunks().chain.partial(&shape, &(&first).into());
    let total = if partial.is_some() { work.total } else { u64::MAX };
    let chunks = Work { total, ..work }.in_flight(requests);
    let touched = (work.total / work.size.max(1)).clamp(1, chunks as u64);
    (chunks, (MAX_BYTES_IN_FLIGHT / (2 * GROUP_BYTES * touched)).max(1) as usize)
}

/// The bytes that are stored of an inner chunk.
fn stored_bytes((range, _): &Segment) -> u64 {
    range.as_ref().map_or(0, |range| range.end - range.start)
}

impl LargePart<'_> {
    /// Whether a part is read this way: it is large, and the chunk is a shard whose inner chunks are none.
    pub fn takes(&self, partial: &PartialRead<'_>) -> bool {
        let sizes = partial.chunk_projections().map(|projection| self.decoded_bytes(&projection));
        partial.has_index()
            && sizes.fold(0, u64::saturating_add) > 2 * GROUP_BYTES
            && !self.decoding.layout.metadata().data_type.is_variable()
            && partial
                .chunk_projections()
                .all(|projection| partial.decoder().inner(&projection).is_none())
    }

    /// The bytes of an inner chunk, decoded.
    fn decoded_bytes(&self, projection: &ChunkProjection) -> u64 {
        let count = element_count(&projection.chunk_shape).unwrap_or(u64::MAX);
        count.saturating_mul(self.decoding.span.element as u64)
    }

    /// The bytes of an inner chunk, stored or decoded, whichever are more.
    fn held_bytes(&self, segment: &Segment) -> u64 {
        self.decoded_bytes(&segment.1).max(stored_bytes(segment))
    }

    /// Reads the part of one version of a chunk. Returns its index.
    pub async fn read(
        &self,
        projection: &ChunkProjection,
        partial: &PartialRead<'_>,
        value: &dyn Snapshot,
        mut index: Option<ChunkIndex>,
    ) -> Result<Option<ChunkIndex>> {
        let Decoding { layout, options, span } = self.decoding;
        if index.is_none() {
            index = fetch_index(options, partial, Some(value)).await?;
        }
        let segments = self.segments(partial, index.as_ref())?;
        check_stored_bytes(layout, options, projection, segments.iter().map(stored_bytes))?;
        let held = segments.iter().map(|segment| self.held_bytes(segment)).sum();
        let (decoding, fetching) = self.under_way(segments.iter().map(stored_bytes).sum(), held);
        let mut segments = segments.into_iter().peekable();
        let groups = std::iter::from_fn(|| {
            let mut group = vec![segments.next()?];
            let mut left = GROUP_BYTES.saturating_sub(self.held_bytes(&group[0]));
            while let Some(next) = segments.next_if(|next| self.held_bytes(next) <= left) {
                left -= self.held_bytes(&next);
                group.push(next);
            }
            Some(group)
        });
        let fetched =
            pool::in_flight(options, fetching, groups, |group| Self::fetch_group(value, group));
        let decoded = fetched
            .map_ok(|(group, bytes)| self.decode_group(projection, group, bytes))
            .try_buffer_unordered(decoding);
        let copied = decoded.try_for_each(|group| {
            (self.out)(&mut |out| {
                let mut out = partial.transposed(out);
                for (place, shape, elements) in &group {
                    out.scatter(place, &View::new(elements, shape, span.size));
                }
            });
            ready(Ok(()))
        });
        copied.await?;
        Ok(index)
    }

    /// The inner chunks of the part, in the order of their bytes.
    fn segments(
        &self,
        partial: &PartialRead<'_>,
        index: Option<&ChunkIndex>,
    ) -> Result<Vec<Segment>> {
        let options = self.decoding.options;
        let mut segments = Vec::new();
        for projection in partial.chunk_projections() {
            let range = decode_limited(options, || partial.decoder().segment(index, &projection))?;
            if range.is_none() {
                check_missing_inner(options, &projection)?;
            }
            let range = range.map(|range| inside(&ALL, range, &projection)).transpose()?;
            segments.push((range, projection));
        }
        segments.sort_by_key(|(range, _)| range.as_ref().map_or(0, |range| range.start));
        Ok(segments)
    }

    /// How many groups are decoded, and how many are fetched, at the same time: those that are fetched have no elements yet.
    /// All inner chunks have `stored` bytes, and `held` with the larger of each and its elements.
    fn under_way(&self, stored: u64, held: u64) -> (usize, usize) {
        let decoding = (self.in_flight as u64).div_ceil(2);
        let stored = (stored / held.div_ceil(GROUP_BYTES).max(1)).max(GROUP_BYTES / 16);
        let left = (2 * GROUP_BYTES * self.in_flight as u64)
            .saturating_sub(decoding * (GROUP_BYTES + stored));
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
        let fetched = value.read(&ranges).await.map_err(read_error)?;
        Ok((group, fetched))
    }

    /// Decodes some inner chunks on the pool.
    async fn decode_group(
        &self,
        projection: &ChunkProjection,
        group: Vec<Segment>,
        fetched: Vec<Bytes>,
    ) -> Result<Vec<DecodedSegment>> {
        let Decoding { layout, options, span } = self.decoding;
        let layout = layout.clone();
        let owned_options = options.clone();
        let chunk_shape = projection.chunk_shape.clone();
        let within = projection.within.clone();
        pool::on_pool(options, move || {
            let partial = layout.chunks().chain.partial(&chunk_shape, &within);
            let partial = partial.ok_or_else(not_fetched)?;
            let decoding = Decoding { layout: &layout, options: &owned_options, span };
            let mut fetched = fetched.iter();
            let mut decoded = Vec::with_capacity(group.len());
            for (range, projection) in group {
                let shape = projection.within.shape();
                let mut elements = for_overwrite(&shape, span.size, "an inner chunk")?;
                let mut out = ViewMut::new(&mut elements, &shape, span.size);
                if range.is_some() {
                    let bytes = fetched.next().ok_or_else(not_fetched)?;
                    decode_inner_chunk(decoding, &partial, &projection, bytes, out)?;
                } else {
                    out.fill(layout.fill_of(span));
                }
                decoded.push((projection.output, shape, elements));
            }
            Ok(decoded)
        })
        .await
    }
}

fn decode_inner_chunk(
    decoding: Decoding<'_>,
    partial: &PartialRead<'_>,
    projection: &ChunkProjection,
    bytes: &[u8],
    out: ViewMut<'_>,
) -> Result<()> {
    decoding.with_records(out, |out| {
        let decoded =
            decode_to_read(decoding.options, || partial.decoder().decode(bytes, projection, out));
        Ok(decoded.map_err(|e| e.in_inner_chunk(&projection.key_index))?)
    })
}

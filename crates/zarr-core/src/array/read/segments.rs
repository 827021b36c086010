//! Walks over the segments of one version of one chunk: decodes them, or finds the bytes that a read of them needs.

use std::ops::Range;

use super::missing::{check_missing_inner, decode_to_read};
use super::source::{ALL, OpenChunk, not_fetched};
use crate::array::chunk_store::decode_limited;
use crate::array::layout::ChunkLayout;
use crate::array::work::work_on_chunks;
use crate::codec::{ChunkIndex, PartialRead};
use crate::error::{CodecError, Result};
use crate::grid::{ChunkProjection, SplitOutput, only_projection};
use crate::options::Options;
use crate::runtime::pool;
use crate::view::ViewMut;

/// Segments of which a read needs at most this many bytes go to one thread.
const MAX_BYTES_FOR_ONE_THREAD: u64 = 1 << 16;

/// Reads segments of one version of one chunk.
pub(super) struct SegmentReader<'a> {
    pub layout: &'a ChunkLayout,
    pub options: &'a Options,
    pub chunk: &'a dyn OpenChunk,
}

impl SegmentReader<'_> {
    /// Reads a part of the chunk. Calls `keep` with the index when it was read, and when indices of segments were added.
    pub fn read(
        &self,
        partial: &PartialRead<'_>,
        index: Option<ChunkIndex>,
        keep: impl Fn(&ChunkIndex),
        out: ViewMut<'_>,
    ) -> Result<()> {
        let range = decode_limited(self.options, || partial.decoder().index())?;
        let index = match (index, range) {
            (None, Some(range)) => {
                let mut buffer = Vec::new();
                let bytes = self.chunk.bytes(range, &mut buffer)?.ok_or_else(not_fetched)?;
                let index = partial.decoder().parse_index(bytes)?;
                keep(&index);
                Some(index)
            }
            (index, _) => index,
        };
        let size = index.as_ref().map(ChunkIndex::size);
        self.read_segments(partial, ALL, index.as_ref(), out)?;
        if let Some(index) = index.filter(|index| Some(index.size()) != size) {
            keep(&index);
        }
        Ok(())
    }

    /// Reads the segments that are in the bytes `place` of the chunk.
    fn read_segments(
        &self,
        partial: &PartialRead<'_>,
        place: Range<u64>,
        index: Option<&ChunkIndex>,
        out: ViewMut<'_>,
    ) -> Result<()> {
        // Other threads read some of the segments, under the same limit.
        let read = |buffer: &mut Vec<u8>, projection: &ChunkProjection, out: ViewMut<'_>| {
            decode_limited(self.options, || {
                self.read_segment(partial, &place, index, projection, buffer, out)
            })
        };
        let decoder = partial.decoder();
        let grid = decoder.grid();
        let shape = partial.shape();
        let within = partial.within();
        if let Some(projection) = only_projection(grid, shape, within) {
            // The elements of one segment are all of the output.
            return read(&mut Vec::new(), &projection, partial.transposed(out));
        }
        let mut work = work_on_chunks(grid, within, out.element_size());
        work.many &= work.total > MAX_BYTES_FOR_ONE_THREAD;
        match SplitOutput::new(grid, shape, within, partial.transposed(out).into()) {
            Ok(pieces) => {
                let groups = pieces.groups(work.row > 1, false);
                pool::for_each(self.options, work, groups, |buffer, (projection, out)| {
                    read(buffer, &projection, out.into_view())
                })
            }
            Err(scattered) => {
                let mut buffer = Vec::new();
                let (mut projections, out) = *scattered;
                let mut out = out.into_view();
                projections.try_for_each(|projection| {
                    self.options.check_cancelled()?;
                    let out = out.reborrow();
                    out.fill_with(&projection.output, |piece| read(&mut buffer, &projection, piece))
                })
            }
        }
    }

    /// Reads the part `projection` of one segment, which is in the bytes `place` of the chunk.
    fn read_segment(
        &self,
        partial: &PartialRead<'_>,
        place: &Range<u64>,
        index: Option<&ChunkIndex>,
        projection: &ChunkProjection,
        buffer: &mut Vec<u8>,
        mut out: ViewMut<'_>,
    ) -> Result<()> {
        let decoder = partial.decoder();
        let Some(range) = decoder.segment(index, projection)? else {
            check_missing_inner(self.options, projection)?;
            out.fill(self.layout.fill());
            return Ok(());
        };
        let range = inside(place, range, projection)?;
        if let Some(inner) = decoder.inner(projection) {
            let found = self.inner_index(&inner, &range, index, buffer)?;
            let index = found.map_err(|_| not_fetched())?;
            let read = self.read_segments(&inner, range, index.as_ref(), out);
            return read.map_err(|e| e.in_inner_chunk(&projection.key_index));
        }
        self.chunk.read_segment(range.into(), projection, out, buffer, &mut |bytes, part, out| {
            let decoded = decode_to_read(self.options, || decoder.decode(bytes, part, out));
            Ok(decoded.map_err(|e| e.in_inner_chunk(&projection.key_index))?)
        })
    }

    /// The ranges of the chunk that the part needs and that are not fetched yet.
    pub fn missing(
        &self,
        partial: &PartialRead<'_>,
        index: Option<&ChunkIndex>,
    ) -> Result<Vec<Range<u64>>> {
        let mut missing = Vec::new();
        decode_limited(self.options, || self.find_missing(partial, ALL, index, &mut missing))?;
        Ok(missing)
    }

    fn find_missing(
        &self,
        partial: &PartialRead<'_>,
        place: Range<u64>,
        index: Option<&ChunkIndex>,
        missing: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        for projection in partial.chunk_projections() {
            let Some(range) = partial.decoder().segment(index, &projection)? else {
                check_missing_inner(self.options, &projection)?;
                continue;
            };
            let range = inside(&place, range, &projection)?;
            let mut buffer = Vec::new();
            match partial.decoder().inner(&projection).filter(|inner| !inner.is_all()) {
                Some(inner) => match self.inner_index(&inner, &range, index, &mut buffer)? {
                    Ok(index) => {
                        let found = self.find_missing(&inner, range, index.as_ref(), missing);
                        found.map_err(|e| e.in_inner_chunk(&projection.key_index))?;
                    }
                    Err(range) => missing.push(range),
                },
                None => {
                    if !self.chunk.is_decoded(range.start)
                        && self.chunk.bytes(range.clone().into(), &mut buffer)?.is_none()
                    {
                        missing.push(range);
                    }
                }
            }
        }
        Ok(())
    }

    /// The index of the segment that is in the bytes `place` of the chunk, kept inside the `outer` one; `None` if it has
    /// none. `Err` has the bytes to fetch first.
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
            let why = format!("{range} are outside the segment at {place:?}");
            CodecError::corrupt("codecs", why)
        })?;
        let range = place.start + found.start..place.start + found.end;
        let Some(bytes) = self.chunk.bytes(range.clone().into(), buffer)? else {
            return Ok(Err(range));
        };
        let index = inner.decoder().parse_index(bytes)?;
        let kept = outer.map(|outer| outer.keep_inner(place.start, index.clone()));
        Ok(Ok(Some(kept.unwrap_or(index))))
    }
}

/// A range of the value that is in the bytes `place` of a chunk, as a range of the chunk.
pub(super) fn inside(
    place: &Range<u64>,
    range: Range<u64>,
    projection: &ChunkProjection,
) -> Result<Range<u64>, CodecError> {
    let end = place.start.checked_add(range.end).filter(|&end| end <= place.end);
    end.map(|end| place.start + range.start..end).ok_or_else(|| {
        let why = format!("bytes {range:?} are outside inner chunk {:?}", projection.key_index);
        CodecError::corrupt("codecs", why)
    })
}

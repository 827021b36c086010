//! Reads the segments of one version of one chunk, and finds the bytes that it needs for that.
//!
//! A local store reads the bytes of each segment when it is decoded; a remote store has fetched them before.

use std::ops::Range;

use super::chunk_cache::CachedObject;
use super::executor;
use super::select::work;
use super::{ArrayCore, ChunkLayout};
use crate::codec::{ChunkIndex, PartialRead};
use crate::error::{CodecError, Error, Result, StoreError};
use crate::grid::{ChunkProjection, SplitOutput, only_projection};
use crate::store::{ByteRange, Bytes, SyncSnapshot, find};
use crate::view::ViewMut;

/// Segments of which a read needs at most this many bytes go to one thread.
const FEW_BYTES: u64 = 1 << 16;

/// The bytes of a segment at the outermost level. The store knows where the chunk ends.
pub(super) const ALL: Range<u64> = 0..u64::MAX;

/// Ranges of a chunk that one request fetched, each with its offset, sorted; no two overlap.
pub(super) type Ranges = Vec<(u64, Bytes)>;

/// Where the bytes of segments come from.
pub(super) enum SegmentBytes<'a> {
    /// A value of a local store.
    Local(&'a dyn SyncSnapshot),
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
pub(super) struct SegmentReader<'a> {
    pub core: &'a ArrayCore,
    pub layout: &'a ChunkLayout,
    pub bytes: SegmentBytes<'a>,
    /// Where decoded segments of this version of the chunk are kept.
    pub cached: Option<&'a CachedObject>,
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
        self.read_segments(partial, ALL, index.as_ref(), out)?;
        index.iter().filter(|index| Some(index.size()) != size).for_each(keep);
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
        let decoder = partial.decoder();
        let read_one =
            |buffer: &mut Vec<u8>, at: &ChunkProjection, mut out: ViewMut<'_>| -> Result<()> {
                let Some(range) = decoder.segment(index, at)? else {
                    self.core.check_missing_inner(at)?;
                    out.fill(&self.layout.fill);
                    return Ok(());
                };
                let range = inside(&place, range, at)?;
                if let Some(inner) = decoder.inner(at) {
                    let found = self.inner_index(&inner, &range, index, buffer)?;
                    let index = found.map_err(|_| not_fetched())?;
                    let read = self.read_segments(&inner, range, index.as_ref(), out);
                    return read.map_err(|e| e.in_inner_chunk(&at.key_index));
                }
                let start = range.start;
                let mut decode = |part: &ChunkProjection, out: ViewMut<'_>| -> Result<()> {
                    let range = range.clone().into();
                    let bytes = self.bytes.get(range, buffer)?.ok_or_else(not_fetched)?;
                    let decode = || decoder.decode(bytes, part, out);
                    let decoded = self.core.decoding_to_read(decode);
                    Ok(decoded.map_err(|e| e.in_inner_chunk(&at.key_index))?)
                };
                match self.cached {
                    Some(cached) => cached.read(start, at, out, decode),
                    None => decode(at, out),
                }
            };
        // Other threads read some of the segments, under the same limit.
        let read = |buffer: &mut Vec<u8>, at: &ChunkProjection, out: ViewMut<'_>| {
            self.core.decoding(|| read_one(buffer, at, out))
        };
        let (grid, shape, within) = (decoder.grid(), partial.shape(), partial.within());
        if let Some(at) = only_projection(grid, shape, within) {
            // The elements of one segment are all of the output.
            return read(&mut Vec::new(), &at, partial.transposed(out));
        }
        let mut kind = work(grid, within, out.element_size());
        kind.many &= kind.total > FEW_BYTES;
        match SplitOutput::new(grid, shape, within, partial.transposed(out)) {
            Ok(pieces) => {
                let read = |buffer: &mut Vec<u8>, (at, out)| read(buffer, &at, out);
                executor::for_each(&self.core.options, kind, pieces.groups(kind.row > 1), read)
            }
            Err(scattered) => {
                let (mut buffer, options) = (Vec::new(), &self.core.options);
                let (mut tiles, mut out) = *scattered;
                tiles.try_for_each(|at| {
                    options.check_cancelled()?;
                    out.reborrow().fill_with(&at.output, |piece| read(&mut buffer, &at, piece))
                })
            }
        }
    }

    /// The ranges of the chunk that the part needs and that are not fetched yet.
    pub fn missing(
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
        for at in partial.chunk_projections() {
            let Some(range) = partial.decoder().segment(index, &at)? else {
                self.core.check_missing_inner(&at)?;
                continue;
            };
            let range = inside(&place, range, &at)?;
            let mut buffer = Vec::new();
            match partial.decoder().inner(&at).filter(|inner| !inner.is_all()) {
                Some(inner) => match self.inner_index(&inner, &range, index, &mut buffer)? {
                    Ok(index) => {
                        let found = self.find_missing(&inner, range, index.as_ref(), missing);
                        found.map_err(|e| e.in_inner_chunk(&at.key_index))?;
                    }
                    Err(range) => missing.push(range),
                },
                None => {
                    let is_cached = self.cached.is_some_and(|cached| cached.pin(range.start));
                    if !is_cached && self.bytes.get(range.clone().into(), &mut buffer)?.is_none() {
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

pub(super) fn has_index(partial: &PartialRead<'_>) -> bool {
    !matches!(partial.decoder().index(), Ok(None))
}

pub(super) fn not_fetched() -> CodecError {
    CodecError::corrupt("codecs", "bytes of a segment were not fetched")
}

/// A range of the value that is in the bytes `place` of a chunk, as a range of the chunk.
pub(super) fn inside(
    place: &Range<u64>,
    range: Range<u64>,
    at: &ChunkProjection,
) -> Result<Range<u64>, CodecError> {
    let end = place.start.checked_add(range.end).filter(|&end| end <= place.end);
    end.map(|end| place.start + range.start..end).ok_or_else(|| {
        let why = format!("bytes {range:?} leave inner chunk {:?}", at.key_index);
        CodecError::corrupt("codecs", why)
    })
}

/// The error of a read. A range that leaves the chunk comes from a damaged index.
pub(super) fn outside(error: StoreError) -> Error {
    match error {
        StoreError::Range { .. } => CodecError::corrupt("codecs", error).into(),
        other => other.into(),
    }
}

//! Reads and writes the index of a shard: where each inner chunk is (F-088 … F-091).

use std::borrow::Cow;
use std::ops::Range;

use zarr_core::CodecError;
use zarr_core::codec::CodecChain;
use zarr_core::grid::ChunkProjection;
use zarr_core::selection::ResolvedSelection;
use zarr_core::store::ByteRange;
use zarr_core::view::{View, ViewMut};
use zarr_core::{Region, region};

use super::CODEC;
use zarr_core::codec::buffer_pool::zeroed;

/// Where the index is in a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    Start,
    End,
}

/// An offset and a length, both all ones for an inner chunk that is not stored.
type Entry = [u64; 2];

const ABSENT: Entry = [u64::MAX; 2];

/// The entries of a shard's inner chunks, in C order.
#[derive(Clone, Debug)]
pub(super) struct Index {
    counts: Vec<u64>,
    entries: Vec<Entry>,
}

/// How an index is stored.
#[derive(Clone, Debug)]
pub(super) struct IndexForm {
    pub chain: CodecChain,
    pub location: Location,
}

impl IndexForm {
    /// Bytes of the stored index of a shard of `counts` inner chunks along each axis.
    pub fn size(&self, counts: &[u64]) -> Option<u64> {
        self.chain.encoded_size(&shape_of(counts))
    }

    /// Which bytes of a shard its index is.
    pub fn range(&self, size: u64) -> ByteRange {
        match self.location {
            Location::Start => ByteRange::Bounded { start: 0, len: size },
            Location::End => ByteRange::Suffix(size),
        }
    }

    /// From which byte of a shard on inner chunks are written.
    pub fn begin(&self, counts: &[u64]) -> u64 {
        match self.location {
            Location::Start => self.size(counts).unwrap_or(0),
            Location::End => 0,
        }
    }

    /// The index out of a whole shard.
    pub fn of_shard(&self, shard: &[u8], counts: &[u64]) -> Result<Index, CodecError> {
        let size = self.size(counts).and_then(|size| usize::try_from(size).ok());
        let bytes = size.and_then(|size| match self.location {
            Location::Start => shard.get(..size),
            Location::End => shard.len().checked_sub(size).map(|at| &shard[at..]),
        });
        self.decode(bytes.unwrap_or(shard), counts)
    }

    /// The index from its bytes.
    pub fn decode(&self, bytes: &[u8], counts: &[u64]) -> Result<Index, CodecError> {
        if self.size(counts) != Some(bytes.len() as u64) {
            let why = format!("{} bytes are too short for the index", bytes.len());
            return Err(CodecError::corrupt(CODEC, why));
        }
        let shape = shape_of(counts);
        let count = region::element_count(&shape).unwrap_or(u64::MAX);
        let mut memory = zeroed(CODEC, count.saturating_mul(8))?;
        let out = ViewMut::new(&mut memory, &shape, 8);
        self.chain.decode_into(
            Cow::Borrowed(bytes),
            &shape,
            &ResolvedSelection::all(&shape),
            out,
        )?;
        let (numbers, _) = memory.as_chunks::<8>();
        let numbers: Vec<u64> = numbers.iter().map(|n| u64::from_ne_bytes(*n)).collect();
        let entries = numbers.as_chunks::<2>().0.to_vec();
        Ok(Index { counts: counts.to_vec(), entries })
    }

    /// The bytes of an index.
    pub fn encode(&self, index: &Index) -> Result<Vec<u8>, CodecError> {
        let memory: Vec<u8> =
            index.entries.iter().flatten().flat_map(|number| number.to_ne_bytes()).collect();
        let view = View::new(&memory, &shape_of(&index.counts), 8);
        Ok(self.chain.encode(view)?.into_owned())
    }

    /// A shard of these inner chunks: their bytes, after room for the index if that comes first.
    pub fn close(&self, mut bytes: Vec<u8>, index: &Index) -> Result<Vec<u8>, CodecError> {
        let encoded = self.encode(index)?;
        match self.location {
            Location::End => bytes.extend_from_slice(&encoded),
            Location::Start => bytes[..encoded.len()].copy_from_slice(&encoded),
        }
        Ok(bytes)
    }
}

fn shape_of(counts: &[u64]) -> Vec<u64> {
    counts.iter().copied().chain([2]).collect()
}

/// Which entry is an inner chunk's, in a shard of `counts` inner chunks along each axis.
pub(super) fn entry_of(tile: &ChunkProjection, counts: &[u64]) -> usize {
    let place = tile.key_index.iter().zip(counts);
    place.fold(0, |entry, (&index, &count)| entry * count as usize + index as usize)
}

impl Index {
    /// An index of inner chunks none of which is stored.
    pub fn empty(counts: &[u64]) -> Result<Index, CodecError> {
        let mut entries = Vec::new();
        let count = region::element_count(counts).and_then(|n| usize::try_from(n).ok());
        let count = count.filter(|&count| entries.try_reserve_exact(count).is_ok());
        let limit = CodecError::Limit { codec: CODEC, limit: isize::MAX as u64 };
        entries.resize(count.ok_or(limit)?, ABSENT);
        Ok(Index { counts: counts.to_vec(), entries })
    }

    /// How many bytes of memory it takes.
    pub fn memory(&self) -> u64 {
        size_of_val(&self.entries[..]) as u64
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Where in the shard the elements of an entry's inner chunk lie.
    pub fn place(&self, entry: usize, inner_shape: &[u64]) -> Region {
        let mut rest = entry as u64;
        let axes = self.counts.iter().zip(inner_shape).rev();
        let mut intervals: Vec<Range<u64>> = axes
            .map(|(&count, &len)| {
                let start = rest % count * len;
                rest /= count;
                start..start + len
            })
            .collect();
        intervals.reverse();
        Region::new(intervals)
    }

    /// Which bytes of the shard are an inner chunk's; `None` if it is not stored.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for half an entry, or one that ends beyond what can be.
    pub fn get(&self, entry: usize) -> Result<Option<Range<u64>>, CodecError> {
        let configuration @ [offset, length] = self.entries[entry];
        if configuration == ABSENT {
            return Ok(None);
        }
        match offset.checked_add(length).filter(|_| !configuration.contains(&u64::MAX)) {
            Some(end) => Ok(Some(offset..end)),
            None => {
                let why = format!(
                    "the index entry of inner chunk {entry} claims {length} bytes at {offset}"
                );
                Err(CodecError::corrupt(CODEC, why))
            }
        }
    }

    /// Notes where an inner chunk is.
    pub fn set(&mut self, entry: usize, range: Range<u64>) {
        self.entries[entry] = [range.start, range.end - range.start];
    }

    /// Whether no inner chunk is stored.
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(|entry| *entry == ABSENT)
    }
}

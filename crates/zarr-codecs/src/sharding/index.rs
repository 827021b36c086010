//! Where in a shard is each inner chunk? (F-088 … F-091)

use std::borrow::Cow;
use std::ops::Range;

use zarr_core::CodecError;
use zarr_core::codec::Chain;
use zarr_core::store::ByteRange;
use zarr_core::view::{View, ViewMut};
use zarr_core::{Region, region};

use super::CODEC;
use crate::stream::zeroed;

/// Where the index lies in a shard.
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
    pub chain: Chain,
    pub location: Location,
}

impl IndexForm {
    /// Bytes of the stored index of a shard of so many inner chunks along each axis.
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

    /// The index out of a whole shard, and the bytes that inner chunks may lie in.
    pub fn of_shard(&self, shard: &[u8], counts: &[u64]) -> Result<Index, CodecError> {
        let size = self.size(counts).and_then(|size| usize::try_from(size).ok());
        let bytes = size.and_then(|size| match self.location {
            Location::Start => shard.get(..size),
            Location::End => shard.len().checked_sub(size).map(|at| &shard[at..]),
        });
        let bytes = bytes.ok_or_else(|| {
            CodecError::corrupt(CODEC, format!("{} bytes do not hold the index", shard.len()))
        })?;
        self.decode(bytes, counts)
    }

    /// The index out of its own bytes.
    pub fn decode(&self, bytes: &[u8], counts: &[u64]) -> Result<Index, CodecError> {
        let shape = shape_of(counts);
        let count = region::element_count(&shape).unwrap_or(u64::MAX);
        let mut memory = zeroed(CODEC, count.saturating_mul(8))?;
        let out = ViewMut::new(&mut memory, &shape, 8);
        self.chain.decode_into(Cow::Borrowed(bytes), &shape, &Region::all(&shape), out)?;
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

    /// A shard of these inner chunks: their bytes, and where in those each of them is.
    pub fn shard(&self, mut bytes: Vec<u8>, mut index: Index) -> Result<Vec<u8>, CodecError> {
        match self.location {
            Location::End => {
                bytes.extend_from_slice(&self.encode(&index)?);
                Ok(bytes)
            }
            Location::Start => {
                let size = self.size(&index.counts).unwrap_or(0);
                for entry in index.entries.iter_mut().filter(|entry| **entry != ABSENT) {
                    entry[0] += size;
                }
                let mut shard = self.encode(&index)?;
                shard.extend_from_slice(&bytes);
                Ok(shard)
            }
        }
    }
}

fn shape_of(counts: &[u64]) -> Vec<u64> {
    counts.iter().copied().chain([2]).collect()
}

impl Index {
    /// An index of inner chunks none of which is stored.
    pub fn empty(counts: &[u64]) -> Result<Index, CodecError> {
        let limit = CodecError::Limit { codec: CODEC, limit: isize::MAX as u64 };
        let count = region::element_count(counts).and_then(|n| usize::try_from(n).ok());
        let count = count.filter(|n| n.checked_mul(16).is_some()).ok_or(limit)?;
        Ok(Index { counts: counts.to_vec(), entries: vec![ABSENT; count] })
    }

    fn at(&self, chunk: &[u64]) -> usize {
        let place = chunk.iter().zip(&self.counts);
        place.fold(0, |at, (&index, &count)| at * count as usize + index as usize)
    }

    /// The bytes of an inner chunk; `None` if it is not stored.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for half an entry, or one that ends beyond what can be.
    pub fn get(&self, chunk: &[u64]) -> Result<Option<Range<u64>>, CodecError> {
        let entry @ [offset, length] = self.entries[self.at(chunk)];
        if entry == ABSENT {
            return Ok(None);
        }
        match offset.checked_add(length).filter(|_| !entry.contains(&u64::MAX)) {
            Some(end) => Ok(Some(offset..end)),
            None => {
                let why = format!("inner chunk {chunk:?} is said to be {length} bytes at {offset}");
                Err(CodecError::corrupt(CODEC, why))
            }
        }
    }

    /// Notes where an inner chunk is.
    pub fn set(&mut self, chunk: &[u64], range: Range<u64>) {
        let at = self.at(chunk);
        self.entries[at] = [range.start, range.end - range.start];
    }

    /// Whether no inner chunk is stored.
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(|entry| *entry == ABSENT)
    }
}

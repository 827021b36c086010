//! Encodes a whole shard piece by piece, without holding all of it.
//!
//! Its inner chunks are encoded in C order when they are asked for, some at the same time if there are threads for them; behind
//! them comes the index. Where the index comes first, it tells of bytes that are not made yet, so all are made at once.

use std::borrow::Cow;
use std::vec;

use zarr_core::CodecError;
use zarr_core::codec::{EncodedParts, Threads};
use zarr_core::view::View;

use super::index::{Index, Location};
use super::{CODEC, Sharding};
use zarr_core::codec::buffer_pool::zeroed;

/// An inner chunk; `None` if it is not stored.
type Encoded<'a> = Result<Option<Cow<'a, [u8]>>, CodecError>;

/// Making the bytes of a shard.
pub(super) struct ShardWrite<'a> {
    sharding: &'a Sharding,
    chunk: View<'a>,
    index: Index,
    threads: Threads<'a>,
    /// The inner chunk that is next.
    entry: usize,
    /// Those that are encoded, from that one on.
    encoded: vec::IntoIter<Encoded<'a>>,
    /// How many bytes there are so far.
    end: u64,
}

/// Bytes of small inner chunks that are handed on together, at least; of those that several threads encoded.
const STEP_BYTES: usize = 1 << 18;
const STEP_BYTES_OF_THREADS: usize = 1 << 22;

/// Bytes of elements that several threads encode together, if that are enough inner chunks for all of them.
const TOGETHER: u64 = 1 << 23;
const MAX_INNER_CHUNKS_TOGETHER: u64 = 4096;

impl<'a> ShardWrite<'a> {
    pub fn new(
        sharding: &'a Sharding,
        chunk: View<'a>,
        threads: Threads<'a>,
    ) -> Result<Self, CodecError> {
        let counts = sharding.counts(&chunk.shape())?;
        let (index, end) = (Index::empty(&counts)?, sharding.index.begin(&counts));
        let (threads, encoded) = (sharding.threads(threads), vec![].into_iter());
        Ok(ShardWrite { sharding, chunk, index, threads, entry: 0, encoded, end })
    }

    /// All bytes at once.
    pub fn whole(mut self) -> Result<Vec<u8>, CodecError> {
        let mut bytes = zeroed(CODEC, self.end)?;
        while let Some(inner) = self.next_inner()? {
            bytes.extend_from_slice(&inner);
        }
        self.sharding.index.close(bytes, &self.index)
    }

    /// All bytes, part after part; `None` if the index comes first.
    pub fn parts(mut self) -> Option<EncodedParts<'a>> {
        if self.sharding.index.location == Location::Start {
            return None;
        }
        let mut has_index = false;
        Some(Box::new(std::iter::from_fn(move || self.next_part(&mut has_index).transpose())))
    }

    fn next_part(&mut self, has_index: &mut bool) -> Result<Option<Cow<'a, [u8]>>, CodecError> {
        let mut part = Cow::Borrowed(&[][..]);
        let step = if self.threads.count > 1 { STEP_BYTES_OF_THREADS } else { STEP_BYTES };
        while part.len() < step && !*has_index {
            match self.next_inner()? {
                Some(inner) if part.is_empty() => part = inner,
                Some(inner) => part.to_mut().extend_from_slice(&inner),
                None => {
                    part.to_mut().extend_from_slice(&self.sharding.index.encode(&self.index)?);
                    *has_index = true;
                }
            }
        }
        Ok((!part.is_empty()).then_some(part))
    }

    /// The next inner chunk that is stored.
    fn next_inner(&mut self) -> Encoded<'a> {
        while self.entry < self.index.len() {
            let Some(encoded) = self.encoded.next() else {
                self.encoded = self.encode_some().into_iter();
                continue;
            };
            self.entry += 1;
            if let Some(bytes) = encoded? {
                let start = self.end;
                self.end += bytes.len() as u64;
                self.index.set(self.entry - 1, start..self.end);
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// The next inner chunks, encoded on all threads.
    fn encode_some(&self) -> Vec<Encoded<'a>> {
        let (shape, left) = (&self.sharding.inner_shape, self.index.len() - self.entry);
        let some =
            match self.threads.count {
                1 => 1,
                count => count
                    .max((TOGETHER / self.sharding.inner_size()).min(MAX_INNER_CHUNKS_TOGETHER)
                        as usize),
            };
        self.threads.map(some.min(left), |n| {
            let inner = self.chunk.part(&self.index.place(self.entry + n, shape));
            let is_stored = !self.sharding.is_fill(&inner);
            is_stored.then(|| self.sharding.inner.encode(inner)).transpose()
        })
    }
}

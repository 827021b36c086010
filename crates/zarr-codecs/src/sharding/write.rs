//! Encodes a whole shard piece by piece, without holding all of it.
//!
//! Its inner chunks are encoded one after the other, in C order, each when it is asked for; behind them comes
//! the index. Where the index comes first, it tells of bytes that are not made yet, so all are made at once.

use std::borrow::Cow;

use zarr_core::CodecError;
use zarr_core::codec::EncodedParts;
use zarr_core::view::View;

use super::index::{Index, Location};
use super::{CODEC, Sharding};
use zarr_core::codec::buffer_pool::zeroed;

/// Making the bytes of a shard.
pub(super) struct ShardWrite<'a> {
    sharding: &'a Sharding,
    chunk: View<'a>,
    index: Index,
    /// The inner chunk that is next.
    entry: usize,
    /// How many bytes there are so far.
    end: u64,
}

/// Bytes of small inner chunks that are handed on together, at least.
const STEP: usize = 1 << 18;

impl<'a> ShardWrite<'a> {
    pub fn new(sharding: &'a Sharding, chunk: View<'a>) -> Result<Self, CodecError> {
        let counts = sharding.counts(&chunk.shape())?;
        let (index, end) = (Index::empty(&counts)?, sharding.index.begin(&counts));
        Ok(ShardWrite { sharding, chunk, index, entry: 0, end })
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
        while part.len() < STEP && !*has_index {
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
    fn next_inner(&mut self) -> Result<Option<Cow<'a, [u8]>>, CodecError> {
        while self.entry < self.index.len() {
            let entry = self.entry;
            self.entry += 1;
            let inner = self.chunk.part(&self.index.place(entry, &self.sharding.inner_shape));
            if self.sharding.is_fill(&inner) {
                continue;
            }
            let bytes = self.sharding.inner.encode(inner)?;
            let start = self.end;
            self.end += bytes.len() as u64;
            self.index.set(entry, start..self.end);
            return Ok(Some(bytes));
        }
        Ok(None)
    }
}

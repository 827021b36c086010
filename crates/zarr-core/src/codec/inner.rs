//! Describes how a chunk is divided into inner chunks.

use std::fmt;
use std::ops::Range;

use super::{Chain, Memo};
use crate::error::CodecError;
use crate::grid::{RegularGrid, Tile};
use crate::selection::Part;
use crate::store::ByteRange;

/// The inner chunks of an encoded chunk, each of which is encoded on its own: what a shard is to whoever reads
/// inner chunks side by side.
pub trait InnerChunks: fmt::Debug + Send + Sync {
    /// Where in a chunk of this shape they lie.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for a shape that they do not fill.
    fn grid(&self, shape: &[u64]) -> Result<RegularGrid, CodecError>;

    /// The codecs of each.
    fn chain(&self) -> &Chain;

    /// Which bytes of the encoded chunk tell where they are.
    ///
    /// # Errors
    /// As [`InnerChunks::grid`]; [`CodecError::Limit`] for more bytes than may be held.
    fn index_range(&self, shape: &[u64]) -> Result<ByteRange, CodecError>;

    /// What those bytes say; worth being remembered as what [`super::ChunkRead::memo`] gives.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for bytes that cannot be right.
    fn index(&self, shape: &[u64], bytes: &[u8]) -> Result<Memo, CodecError>;

    /// Which bytes of the encoded chunk are an inner chunk; `None` if it is all fill and not stored.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for an index that cannot be right: one that says more bytes than
    /// [`super::most_encoded`] is not believed.
    fn range(&self, index: &Memo, tile: &Tile) -> Result<Option<Range<u64>>, CodecError>;
}

/// The part of a chunk of inner chunks that is to be read, its axes turned as the chain turns them.
pub(crate) struct InnerPart<'a> {
    pub chunks: &'a dyn InnerChunks,
    pub shape: Vec<u64>,
    pub within: Part,
    /// How axes of memory for the part are turned.
    pub order: Vec<Vec<usize>>,
}

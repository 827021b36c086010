//! Reads and changes a part of one encoded chunk without the rest of it.
//!
//! Some encoded chunks are made of *segments*: ranges of bytes that are decoded independently of each other, such as the
//! inner chunks of a shard. A [`PartialDecoder`] says where they are and decodes each; a [`PartialEncoder`] replaces some
//! of them. Both are free of I/O: the array gets the bytes from the store and hands them over.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::Threads;
use crate::error::CodecError;
use crate::grid::{ChunkGrid, ChunkProjection, chunk_projections};
use crate::selection::ResolvedSelection;
use crate::store::{ByteRange, Bytes};
use crate::sync::lock;
use crate::view::{View, ViewMut};

/// An encoded chunk, part after part, each made when it is asked for; it ends with the first error.
pub type EncodedParts<'a> = Box<dyn Iterator<Item = Result<Cow<'a, [u8]>, CodecError>> + 'a>;

/// The index of one encoded chunk, which says where its segments are; and the indices of segments that have one
/// themselves, as far as they were read.
#[derive(Clone)]
pub struct ChunkIndex {
    parsed: Arc<dyn Any + Send + Sync>,
    /// By the first byte of the segment.
    inner: Arc<Mutex<HashMap<u64, ChunkIndex>>>,
    /// Bytes of memory of the outermost index and all that are in it.
    size: Arc<AtomicU64>,
}

/// About as many bytes of memory go with every index.
const BYTES_PER_INDEX: u64 = 128;

impl fmt::Debug for ChunkIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChunkIndex of {} bytes", self.size())
    }
}

impl ChunkIndex {
    /// An index that takes `size` bytes of memory.
    pub fn new(parsed: Arc<dyn Any + Send + Sync>, size: u64) -> Self {
        let size = Arc::new(AtomicU64::new(size.saturating_add(BYTES_PER_INDEX)));
        ChunkIndex { parsed, inner: Arc::default(), size }
    }

    /// What the codec made of it, if that is a `T`.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.parsed.downcast_ref()
    }

    /// How many bytes of memory the outermost index takes now, with those inside it.
    pub fn size(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    /// The index of the segment that begins at this byte.
    pub(crate) fn inner(&self, start: u64) -> Option<ChunkIndex> {
        lock(&self.inner).get(&start).cloned()
    }

    /// Keeps the index of the segment that begins at this byte; returns the one that is kept from now on.
    pub(crate) fn keep_inner(&self, start: u64, mut index: ChunkIndex) -> ChunkIndex {
        let mut inner = lock(&self.inner);
        if let Some(known) = inner.get(&start) {
            return known.clone();
        }
        self.size.fetch_add(index.size(), Ordering::Relaxed);
        index.size = self.size.clone();
        inner.insert(start, index.clone());
        index
    }
}

/// The segments of one encoded chunk, and how each is decoded.
pub trait PartialDecoder: Send + Sync {
    /// Where in the chunk the elements of each segment are.
    fn grid(&self) -> &dyn ChunkGrid;

    /// Which bytes of the encoded chunk are its index; `None` if segments are found without one. Then a codec hands out
    /// a decoder only for parts that take fewer bytes than all.
    ///
    /// # Errors
    /// [`CodecError::Limit`] for an index that is too large to be held.
    fn index(&self) -> Result<Option<ByteRange>, CodecError> {
        Ok(None)
    }

    /// The index in these bytes.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for bytes that cannot be right.
    fn parse_index(&self, bytes: &[u8]) -> Result<ChunkIndex, CodecError> {
        let _ = bytes;
        Ok(ChunkIndex::new(Arc::new(()), 0))
    }

    /// Which bytes of the encoded chunk hold the part `at` of a segment; `None` if the segment is not stored, because
    /// all of its elements are the fill value.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for an index that cannot be right.
    fn segment(
        &self,
        index: Option<&ChunkIndex>,
        at: &ChunkProjection,
    ) -> Result<Option<Range<u64>>, CodecError>;

    /// How a part of a segment is read without all its bytes, if it can be.
    fn inner(&self, at: &ChunkProjection) -> Option<PartialRead<'_>> {
        let _ = at;
        None
    }

    /// Decodes the bytes of a segment into `out`, which has the shape of the part `at`.
    ///
    /// # Errors
    /// As [`super::ArrayToBytes::decode_into`].
    fn decode(
        &self,
        bytes: &[u8],
        at: &ChunkProjection,
        out: ViewMut<'_>,
    ) -> Result<(), CodecError>;
}

/// A part of a chunk that is read segment by segment, its axes as the serializer has them.
pub struct PartialRead<'a> {
    decoder: Box<dyn PartialDecoder + 'a>,
    shape: Vec<u64>,
    within: ResolvedSelection,
    /// How the chain transposes memory of the part's shape.
    orders: Vec<Vec<usize>>,
}

impl<'a> PartialRead<'a> {
    pub(super) fn new(
        decoder: Box<dyn PartialDecoder + 'a>,
        shape: Vec<u64>,
        within: ResolvedSelection,
        orders: Vec<Vec<usize>>,
    ) -> Self {
        PartialRead { decoder, shape, within, orders }
    }

    /// The segments and their codecs.
    pub fn decoder(&self) -> &dyn PartialDecoder {
        &*self.decoder
    }

    /// The shape of the chunk.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The part of the chunk that is read.
    pub fn within(&self) -> &ResolvedSelection {
        &self.within
    }

    /// What of each segment is read.
    pub fn chunk_projections(&self) -> impl Iterator<Item = ChunkProjection> {
        chunk_projections(self.decoder.grid(), &self.shape, &self.within)
    }

    /// Memory for the part, its axes transposed as the chain does.
    pub fn transposed<'m>(&self, out: ViewMut<'m>) -> ViewMut<'m> {
        self.orders.iter().fold(out, |out, order| out.transposed(order))
    }

    /// Whether the segments are found by an index: they are the inner chunks of a shard.
    pub(crate) fn has_index(&self) -> bool {
        !matches!(self.decoder.index(), Ok(None))
    }

    /// Whether this takes every byte of every segment.
    pub fn is_all(&self) -> bool {
        if matches!(self.decoder.index(), Ok(None)) {
            return false;
        }
        let mut found = 0;
        let whole = self.chunk_projections().all(|at| {
            found += 1;
            self.decoder.inner(&at).is_none_or(|inner| inner.is_all())
        });
        whole && crate::grid::chunk_count(self.decoder.grid(), &self.shape) == Some(found)
    }
}

/// Merging elements into a part of one encoded chunk.
pub trait PartialEncoder: Send {
    /// Which bytes of the encoded chunk are needed now; none if the elements can be merged.
    fn needs(&self) -> Vec<ByteRange>;

    /// The bytes of each range that was needed.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for bytes that cannot be right.
    fn supply(&mut self, bytes: Vec<Bytes>) -> Result<(), CodecError>;

    /// The encoded chunk with `part` merged into it.
    ///
    /// # Errors
    /// As [`super::ArrayToBytes::decode_into`] and [`super::ArrayToBytes::encode`].
    fn apply(&self, part: &View<'_>, threads: Threads<'_>) -> Result<Splice, CodecError>;
}

/// An encoded chunk after a change.
#[derive(Clone, Debug)]
pub struct Splice {
    /// Its bytes, which follow each other.
    pub parts: Vec<SplicePart>,
    /// Whether all of its elements are the fill value.
    pub is_fill: bool,
}

/// Some bytes of an encoded chunk after a change.
#[derive(Clone, Debug)]
pub enum SplicePart {
    /// These bytes of the chunk as it was.
    Copied(Range<u64>),
    /// New bytes.
    New(Vec<u8>),
}

/// Merging elements into a part of a chunk, its axes transposed as the chain does.
pub struct PartialWrite {
    encoder: Box<dyn PartialEncoder>,
    orders: Vec<Vec<usize>>,
}

impl PartialWrite {
    pub(super) fn new(encoder: Box<dyn PartialEncoder>, orders: Vec<Vec<usize>>) -> Self {
        PartialWrite { encoder, orders }
    }

    /// See [`PartialEncoder::needs`].
    pub fn needs(&self) -> Vec<ByteRange> {
        self.encoder.needs()
    }

    /// See [`PartialEncoder::supply`].
    ///
    /// # Errors
    /// Those of [`PartialEncoder::supply`].
    pub fn supply(&mut self, bytes: Vec<Bytes>) -> Result<(), CodecError> {
        self.encoder.supply(bytes)
    }

    /// See [`PartialEncoder::apply`].
    ///
    /// # Errors
    /// Those of [`PartialEncoder::apply`].
    pub fn apply(&self, part: &View<'_>, threads: Threads<'_>) -> Result<Splice, CodecError> {
        let part = self.orders.iter().fold(part.clone(), |part, order| part.transposed(order));
        self.encoder.apply(&part, threads)
    }
}

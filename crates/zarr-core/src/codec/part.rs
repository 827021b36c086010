//! Defines how a part of one encoded chunk is read or changed without the rest of it.
//!
//! Free of input and output: a reading says which bytes of the chunk it wants, is given them, and so on until
//! it wants no more; then it decodes. A change says what is new and what of the old bytes stays.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::error::CodecError;
use crate::store::{ByteRange, Bytes};
use crate::view::{View, ViewMut};

/// What a reading has learnt of a chunk, worth knowing when another part of the same bytes is read: a
/// shard's index.
#[derive(Clone)]
pub struct Memo {
    what: Arc<dyn Any + Send + Sync>,
    size: u64,
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memo of {} bytes", self.size)
    }
}

impl Memo {
    /// Something that takes so many bytes of memory.
    pub fn new(what: Arc<dyn Any + Send + Sync>, size: u64) -> Self {
        Memo { what, size }
    }

    /// What it is, if it is a `T`.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.what.clone().downcast().ok()
    }

    /// The same, lent.
    pub fn get_ref<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.what.downcast_ref()
    }

    /// How many bytes of memory it takes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

/// An encoded chunk, part after part, each made when it is asked for; it ends with the first error.
pub type EncodedParts<'a> = Box<dyn Iterator<Item = Result<Cow<'a, [u8]>, CodecError>> + 'a>;

/// Reading a part of one encoded chunk.
pub trait ChunkRead: Send {
    /// Begins, or begins again with the chunk as it is by then. The memo is of the same bytes.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for a chunk that cannot be right, by the memo.
    fn begin(&mut self, memo: Option<&Memo>) -> Result<(), CodecError>;

    /// Which bytes of the encoded chunk are wanted now; none if it can be decoded.
    fn wants(&self) -> Vec<ByteRange>;

    /// The bytes of each range that was wanted.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for bytes that cannot be right.
    fn supply(&mut self, bytes: Vec<Bytes>) -> Result<(), CodecError>;

    /// Decodes the part into `out`, which has its shape.
    ///
    /// # Errors
    /// As [`super::ArrayToBytes::decode_into`].
    fn decode_into(&self, out: ViewMut<'_>) -> Result<(), CodecError>;

    /// What has been learnt of the chunk so far.
    fn memo(&self) -> Option<Memo> {
        None
    }
}

/// Laying elements over a part of one encoded chunk.
pub trait ChunkEdit: Send {
    /// See [`ChunkRead::wants`].
    fn wants(&self) -> Vec<ByteRange>;

    /// See [`ChunkRead::supply`].
    ///
    /// # Errors
    /// As there.
    fn supply(&mut self, bytes: Vec<Bytes>) -> Result<(), CodecError>;

    /// The encoded chunk with `part` laid over it.
    ///
    /// # Errors
    /// As [`super::ArrayToBytes::decode_into`] and [`super::ArrayToBytes::encode`].
    fn lay(&self, part: &View<'_>) -> Result<Patch, CodecError>;
}

/// An encoded chunk after a change.
#[derive(Clone, Debug)]
pub struct Patch {
    /// Its bytes, which follow each other.
    pub pieces: Vec<Piece>,
    /// Whether nothing but fill is in it.
    pub is_fill: bool,
}

/// Some bytes of an encoded chunk after a change.
#[derive(Clone, Debug)]
pub enum Piece {
    /// They are these bytes of the chunk as it was.
    Kept(Range<u64>),
    /// They are new.
    New(Vec<u8>),
}

/// Reading a part of a chunk, its axes turned as the chain turns them.
pub struct PartRead {
    read: Box<dyn ChunkRead>,
    order: Vec<Vec<usize>>,
}

impl PartRead {
    pub(super) fn new(read: Box<dyn ChunkRead>, order: Vec<Vec<usize>>) -> Self {
        PartRead { read, order }
    }

    /// See [`ChunkRead::begin`].
    ///
    /// # Errors
    /// As there.
    pub fn begin(&mut self, memo: Option<&Memo>) -> Result<(), CodecError> {
        self.read.begin(memo)
    }

    /// See [`ChunkRead::wants`].
    pub fn wants(&self) -> Vec<ByteRange> {
        self.read.wants()
    }

    /// See [`ChunkRead::supply`].
    ///
    /// # Errors
    /// As there.
    pub fn supply(&mut self, bytes: Vec<Bytes>) -> Result<(), CodecError> {
        self.read.supply(bytes)
    }

    /// See [`ChunkRead::decode_into`].
    ///
    /// # Errors
    /// As there.
    pub fn decode_into(&self, out: ViewMut<'_>) -> Result<(), CodecError> {
        self.read.decode_into(self.order.iter().fold(out, |out, order| out.permuted(order)))
    }

    /// See [`ChunkRead::memo`].
    pub fn memo(&self) -> Option<Memo> {
        self.read.memo()
    }
}

/// Laying elements over a part of a chunk, its axes turned as the chain turns them.
pub struct PartEdit {
    edit: Box<dyn ChunkEdit>,
    order: Vec<Vec<usize>>,
}

impl PartEdit {
    pub(super) fn new(edit: Box<dyn ChunkEdit>, order: Vec<Vec<usize>>) -> Self {
        PartEdit { edit, order }
    }

    /// See [`ChunkEdit::wants`].
    pub fn wants(&self) -> Vec<ByteRange> {
        self.edit.wants()
    }

    /// See [`ChunkEdit::supply`].
    ///
    /// # Errors
    /// As there.
    pub fn supply(&mut self, bytes: Vec<Bytes>) -> Result<(), CodecError> {
        self.edit.supply(bytes)
    }

    /// See [`ChunkEdit::lay`].
    ///
    /// # Errors
    /// As there.
    pub fn lay(&self, part: &View<'_>) -> Result<Patch, CodecError> {
        let part = self.order.iter().fold(part.clone(), |part, order| part.permuted(order));
        self.edit.lay(&part)
    }
}

//! What is handed to a store to keep?

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{ByteRange, Pinned};
use crate::error::StoreError;

/// A value on its way into a store: pieces of bytes that follow each other.
///
/// Pieces may be borrowed, so that a chunk need not be copied before it is written; or they may be kept from
/// a pinned value, and are then read a little at a time while the new value is written, so that a large
/// value is changed in part without being held (DECISIONS 12).
#[derive(Clone, Default)]
pub struct Payload<'a>(Vec<Piece<'a>>);

#[derive(Clone)]
enum Piece<'a> {
    Lent(Cow<'a, [u8]>),
    Shared(Bytes),
    Kept { value: Arc<dyn Pinned>, range: Range<u64> },
}

/// How many bytes of a kept piece are read at a time.
const STEP: usize = 1 << 18;

impl fmt::Debug for Payload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload of {} bytes in {} pieces", self.size(), self.0.len())
    }
}

impl Piece<'_> {
    fn size(&self) -> u64 {
        match self {
            Piece::Lent(bytes) => bytes.len() as u64,
            Piece::Shared(bytes) => bytes.len() as u64,
            Piece::Kept { range, .. } => range.end - range.start,
        }
    }

    fn parts(&self) -> impl Iterator<Item = Result<Cow<'_, [u8]>, StoreError>> {
        let (here, kept) = match self {
            Piece::Lent(bytes) => (Some(&bytes[..]), None),
            Piece::Shared(bytes) => (Some(&bytes[..]), None),
            Piece::Kept { value, range } => (None, Some((value, range))),
        };
        let kept = kept.into_iter().flat_map(|(value, range)| {
            range.clone().step_by(STEP).map(|start| {
                let len = (range.end - start).min(STEP as u64);
                let bytes = value.read(&[ByteRange::Bounded { start, len }])?.pop();
                Ok(Cow::Owned(Vec::from(bytes.unwrap_or_default())))
            })
        });
        here.map(|bytes| Ok(Cow::Borrowed(bytes))).into_iter().chain(kept)
    }
}

impl<'a> Payload<'a> {
    /// A value of one piece.
    pub fn new(bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Payload::default().and(bytes)
    }

    /// The same value with one more piece at its end.
    pub fn and(mut self, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        self.0.push(Piece::Lent(bytes.into()));
        self
    }

    /// The same value with these shared bytes at its end.
    pub fn and_shared(mut self, bytes: Bytes) -> Self {
        self.0.push(Piece::Shared(bytes));
        self
    }

    /// The same value with some bytes of a pinned one at its end.
    pub fn and_kept(mut self, value: &Arc<dyn Pinned>, range: Range<u64>) -> Self {
        self.0.push(Piece::Kept { value: value.clone(), range });
        self
    }

    /// The value, part after part; what is kept of a pinned value is read now.
    ///
    /// # Errors
    /// Each part: what kept it from being read.
    pub fn parts(&self) -> impl Iterator<Item = Result<Cow<'_, [u8]>, StoreError>> {
        self.0.iter().flat_map(Piece::parts)
    }

    /// The value's size in bytes.
    pub fn size(&self) -> u64 {
        self.0.iter().map(Piece::size).sum()
    }

    /// The same value, nothing of it borrowed.
    pub fn into_owned(self) -> Payload<'static> {
        let owned = |piece| match piece {
            Piece::Lent(bytes) => Piece::Lent(Cow::Owned(bytes.into_owned())),
            Piece::Shared(bytes) => Piece::Shared(bytes),
            Piece::Kept { value, range } => Piece::Kept { value, range },
        };
        Payload(self.0.into_iter().map(owned).collect())
    }

    /// The value in one owned piece; copies unless it is one already.
    ///
    /// # Errors
    /// What kept a part from being read.
    pub fn into_bytes(mut self) -> Result<Bytes, StoreError> {
        match self.0.pop() {
            Some(Piece::Lent(bytes)) if self.0.is_empty() => Ok(Bytes::from(bytes.into_owned())),
            Some(Piece::Shared(bytes)) if self.0.is_empty() => Ok(bytes),
            last => {
                self.0.extend(last);
                let mut value = Vec::with_capacity(self.size() as usize);
                for part in self.parts() {
                    value.extend_from_slice(&part?);
                }
                Ok(value.into())
            }
        }
    }
}

impl From<Vec<u8>> for Payload<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Payload::new(bytes)
    }
}

impl<'a> From<&'a [u8]> for Payload<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Payload::new(bytes)
    }
}

impl<'a> From<Cow<'a, [u8]>> for Payload<'a> {
    fn from(bytes: Cow<'a, [u8]>) -> Self {
        Payload::new(bytes)
    }
}

impl From<Bytes> for Payload<'_> {
    fn from(bytes: Bytes) -> Self {
        Payload::default().and_shared(bytes)
    }
}

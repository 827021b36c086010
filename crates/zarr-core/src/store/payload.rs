//! Holds a value that a store is to set, in pieces.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{ByteRange, SyncSnapshot};
use crate::error::StoreError;
use crate::runtime::tuning::PAYLOAD_STEP_BYTES;

/// A value on its way into a store: pieces of bytes that follow each other.
///
/// Pieces may be borrowed, so that a chunk need not be copied before it is written; or they may be kept from
/// a pinned value, and are then read a little at a time while the new value is written, so that a large
/// value is changed in part without being held; or they are made while they are written.
#[derive(Clone, Default)]
pub struct Payload<'a>(Vec<Piece<'a>>);

#[derive(Clone)]
enum Piece<'a> {
    Lent(Cow<'a, [u8]>),
    Shared(Bytes),
    Kept { value: Arc<dyn SyncSnapshot>, range: Range<u64> },
    Made(Arc<dyn Fn() -> Parts<'a> + Send + Sync + 'a>),
}

/// Bytes that follow each other; what comes after an error means nothing.
type Parts<'a> = Box<dyn Iterator<Item = Result<Cow<'a, [u8]>, StoreError>> + 'a>;

impl fmt::Debug for Payload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload of {:?} bytes in {} pieces", self.size(), self.0.len())
    }
}

impl Piece<'_> {
    fn size(&self) -> Option<u64> {
        match self {
            Piece::Lent(bytes) => Some(bytes.len() as u64),
            Piece::Shared(bytes) => Some(bytes.len() as u64),
            Piece::Kept { range, .. } => Some(range.end - range.start),
            Piece::Made(_) => None,
        }
    }

    fn parts(&self) -> Parts<'_> {
        match self {
            Piece::Lent(bytes) => Box::new(std::iter::once(Ok(Cow::Borrowed(&bytes[..])))),
            Piece::Shared(bytes) => Box::new(std::iter::once(Ok(Cow::Borrowed(&bytes[..])))),
            Piece::Kept { value, range } => {
                Box::new(range.clone().step_by(PAYLOAD_STEP_BYTES).map(move |start| {
                    let len = (range.end - start).min(PAYLOAD_STEP_BYTES as u64);
                    let bytes = value.read(&[ByteRange::Bounded { start, len }])?.pop();
                    Ok(Cow::Owned(Vec::from(bytes.unwrap_or_default())))
                }))
            }
            #[expect(clippy::map_identity, reason = "it shortens for how long a part is lent")]
            Piece::Made(make) => Box::new(make().map(|part| part)),
        }
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
    pub fn and_kept(mut self, value: &Arc<dyn SyncSnapshot>, range: Range<u64>) -> Self {
        self.0.push(Piece::Kept { value: value.clone(), range });
        self
    }

    /// The same value with bytes at its end that are made when they are asked for, the same each time.
    pub fn and_made<P>(mut self, make: impl Fn() -> P + Send + Sync + 'a) -> Self
    where
        P: Iterator<Item = Result<Cow<'a, [u8]>, StoreError>> + 'a,
    {
        self.0.push(Piece::Made(Arc::new(move || Box::new(make()))));
        self
    }

    /// The value, part after part; what is kept of a pinned value is read now, and what is not made yet is
    /// made.
    ///
    /// # Errors
    /// Each part: what kept it from being read or made. What follows an error means nothing.
    pub fn parts(&self) -> impl Iterator<Item = Result<Cow<'_, [u8]>, StoreError>> {
        self.0.iter().flat_map(Piece::parts)
    }

    /// The pinned value and the range of it that is all there is of this one, if it is kept from one and nothing else.
    pub fn kept_whole(&self) -> Option<(&dyn SyncSnapshot, Range<u64>)> {
        match &self.0[..] {
            [Piece::Kept { value, range }] => Some((&**value, range.clone())),
            _ => None,
        }
    }

    /// The value's size in bytes; `None` if some of it is not made yet.
    pub fn size(&self) -> Option<u64> {
        self.0.iter().map(Piece::size).sum()
    }

    /// The same value, all of it made: for a store that must know the size beforehand, or writes while it
    /// keeps others waiting.
    ///
    /// # Errors
    /// What kept a part from being made.
    pub fn made(self) -> Result<Self, StoreError> {
        let mut pieces = self.0;
        for piece in &mut pieces {
            if let Piece::Made(_) = piece {
                let mut value = Vec::new();
                for part in piece.parts() {
                    value.extend_from_slice(&part?);
                }
                *piece = Piece::Lent(Cow::Owned(value));
            }
        }
        Ok(Payload(pieces))
    }

    /// The same value, all of it made and nothing borrowed.
    ///
    /// # Errors
    /// As [`Payload::made`].
    pub fn into_owned(self) -> Result<Payload<'static>, StoreError> {
        let pieces = self.made()?.0.into_iter().filter_map(|piece| match piece {
            Piece::Lent(bytes) => Some(Piece::Lent(Cow::Owned(bytes.into_owned()))),
            Piece::Shared(bytes) => Some(Piece::Shared(bytes)),
            Piece::Kept { value, range } => Some(Piece::Kept { value, range }),
            // There is none after `made`.
            Piece::Made(_) => None,
        });
        Ok(Payload(pieces.collect()))
    }

    /// The value in one owned piece; copies unless it is one already.
    ///
    /// # Errors
    /// What kept a part from being read or made.
    pub fn into_bytes(self) -> Result<Bytes, StoreError> {
        let mut made = self.made()?;
        match made.0.pop() {
            Some(Piece::Lent(bytes)) if made.0.is_empty() => Ok(Bytes::from(bytes.into_owned())),
            Some(Piece::Shared(bytes)) if made.0.is_empty() => Ok(bytes),
            last => {
                made.0.extend(last);
                let mut value = Vec::with_capacity(made.size().unwrap_or(0) as usize);
                for part in made.parts() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_has_no_size_until_it_is() {
        let parts = |letters: &'static [u8]| letters.chunks(2).map(|part| Ok(Cow::Borrowed(part)));
        let value = || Payload::new(b"a").and_made(move || parts(b"bcdef")).and(&b"g"[..]);
        assert_eq!(value().size(), None);
        let twice = value();
        for _ in 0..2 {
            let all = twice.parts().collect::<Result<Vec<_>, _>>().unwrap();
            assert_eq!(all, [&b"a"[..], b"bc", b"de", b"f", b"g"]);
        }
        assert_eq!(value().made().unwrap().size(), Some(7));
        assert_eq!(value().into_owned().unwrap().size(), Some(7));
        assert_eq!(value().into_bytes().unwrap(), &b"abcdefg"[..]);
    }

    #[test]
    fn what_cannot_be_made_is_an_error() {
        let make = || [Ok(Cow::Borrowed(&b"a"[..])), Err(StoreError::ReadOnly)].into_iter();
        let value = || Payload::default().and_made(make);
        assert!(value().made().is_err());
        assert!(value().into_owned().is_err());
        assert!(value().into_bytes().is_err());
    }
}

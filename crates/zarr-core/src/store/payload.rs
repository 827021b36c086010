//! What is handed to a store to keep?

use std::borrow::Cow;

use bytes::Bytes;

/// A value on its way into a store: pieces of bytes that follow each other.
///
/// Pieces may be borrowed, so that a chunk need not be copied before it is written, and untouched
/// pieces of an old value can be passed on (DECISIONS 12).
#[derive(Clone, Debug, Default)]
pub struct Payload<'a>(Vec<Cow<'a, [u8]>>);

impl<'a> Payload<'a> {
    /// A value of one piece.
    pub fn new(bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Payload(vec![bytes.into()])
    }

    /// The same value with one more piece at its end.
    pub fn and(mut self, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        self.0.push(bytes.into());
        self
    }

    /// The pieces, in order.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|part| &**part)
    }

    /// The value's size in bytes.
    pub fn size(&self) -> u64 {
        self.parts().map(|part| part.len() as u64).sum()
    }

    /// The value in one owned piece; copies unless it is one already.
    pub fn into_bytes(mut self) -> Bytes {
        match self.0.len() {
            1 => Bytes::from(self.0.remove(0).into_owned()),
            _ => Bytes::from(self.0.concat()),
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
        Payload(vec![bytes])
    }
}

impl From<Bytes> for Payload<'_> {
    fn from(bytes: Bytes) -> Self {
        Payload::new(Vec::from(bytes))
    }
}

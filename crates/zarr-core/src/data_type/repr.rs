//! Defines how elements are represented in memory.

use super::Scalar;

/// How a data type's elements are represented in memory: all that most codecs need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Repr {
    /// One number.
    Scalar(Scalar),
    /// `n` bytes without byte order.
    Opaque(usize),
    /// UTF-32: `n` units of four bytes.
    Utf32(usize),
    /// Variable-length bytes. In memory a view has references to them; see [`crate::var_buffer`].
    Variable,
    /// `n` bytes of several fields, which the data type knows.
    Record(usize),
    /// `n` bytes, of which the first says whether there are others: see [`Optional`](super::Optional).
    Optional(usize),
}

impl From<Scalar> for Repr {
    fn from(scalar: Scalar) -> Self {
        Repr::Scalar(scalar)
    }
}

impl Repr {
    /// How many bytes an element has in a view.
    pub fn size(self) -> usize {
        match self {
            Repr::Scalar(scalar) => scalar.size(),
            Repr::Utf32(n) => 4 * n,
            Repr::Variable => crate::var_buffer::VAR_REF_SIZE,
            Repr::Opaque(n) | Repr::Record(n) | Repr::Optional(n) => n,
        }
    }

    /// The bits of each byte that are stored: what fills a byte above a narrower number is not (F-053).
    pub fn stored_mask(self) -> u8 {
        match self {
            Repr::Scalar(scalar) => scalar.stored_mask(),
            _ => 0xff,
        }
    }

    /// The number of bytes that a change of byte order reverses together; 1 if there is no byte order. Only
    /// [`ByteSwap`](super::ByteSwap) knows the units of a record's fields, and of an element that may be missing.
    pub fn swap_unit(self) -> usize {
        match self {
            Repr::Scalar(scalar) => scalar.part().size(),
            Repr::Utf32(_) => 4,
            Repr::Opaque(_) | Repr::Record(_) | Repr::Variable | Repr::Optional(_) => 1,
        }
    }
}

/// The largest element that this library handles, in bytes: a document may claim any size.
pub(crate) const MAX_ELEMENT: usize = 1 << 24;

//! Defines one element in native byte order.

use bytes::Bytes;

use crate::data_type::{Repr, Rounding, Scalar, ScalarValue};

/// One element in native byte order; a clone shares its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FillValue(pub(crate) Bytes);

impl FillValue {
    /// From the bytes of one element in native byte order.
    pub fn new(element: impl AsRef<[u8]>) -> Self {
        FillValue(Bytes::copy_from_slice(element.as_ref()))
    }

    /// An element of zero bytes.
    pub fn zero(size: usize) -> Self {
        FillValue(vec![0; size].into())
    }

    /// An element of zero bytes of this representation; an empty one if it has any number, and one of ones
    /// where numbers have no zero (F-054).
    pub fn zero_of(repr: Repr) -> Self {
        match repr {
            Repr::Variable => FillValue::zero(0),
            Repr::Scalar(scalar @ (Scalar::Float(_) | Scalar::Complex(_))) => {
                let bits = [0, 1].into_iter().find_map(|number| {
                    scalar.cast(ScalarValue::Integer(number), Rounding::NearestEven, None)
                });
                let bits = bits.unwrap_or_default();
                FillValue::new(scalar.element(bits).repeat(scalar.size() / scalar.part().size()))
            }
            _ => FillValue::zero(repr.size()),
        }
    }

    /// The bytes of the element, in native byte order.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

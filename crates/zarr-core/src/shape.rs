//! Defines what callers write for a shape: integers of any type, in a list or a tuple.

use crate::error::AccessError;
use crate::selection::Coordinate;

/// A length for each axis, as callers write it: `[365, 180, 360]`, `&vec`, `(100, 100)`, `100` for a single axis, `()` for none.
/// The integers may have any type.
///
/// ```
/// use zarr_core::ToShape;
///
/// assert_eq!([2, 3].to_shape()?, [2, 3]);
/// assert_eq!((2u8, 3usize).to_shape()?, [2, 3]);
/// assert!(().to_shape()?.is_empty());
/// assert!([2, -3].to_shape().is_err());
/// # Ok::<(), zarr_core::AccessError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    note = "a shape is an array, a slice, a vector or a tuple of integers, as in `[365, 180, 360]`, or one integer"
)]
pub trait ToShape {
    /// The lengths.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for one below 0.
    fn to_shape(&self) -> Result<Vec<u64>, AccessError>;
}

fn length(axis: usize, length: impl Coordinate) -> Result<u64, AccessError> {
    u64::try_from(length.value()).map_err(|_| {
        let why = format!("axis {axis} has length {}; the minimum is 0", length.value());
        AccessError::Argument(why)
    })
}

impl<L: Coordinate> ToShape for [L] {
    fn to_shape(&self) -> Result<Vec<u64>, AccessError> {
        self.iter().enumerate().map(|(axis, &len)| length(axis, len)).collect()
    }
}

impl<L: Coordinate, const N: usize> ToShape for [L; N] {
    fn to_shape(&self) -> Result<Vec<u64>, AccessError> {
        self[..].to_shape()
    }
}

impl<L: Coordinate> ToShape for Vec<L> {
    fn to_shape(&self) -> Result<Vec<u64>, AccessError> {
        self[..].to_shape()
    }
}

impl<S: ToShape + ?Sized> ToShape for &S {
    fn to_shape(&self) -> Result<Vec<u64>, AccessError> {
        (**self).to_shape()
    }
}

impl ToShape for () {
    fn to_shape(&self) -> Result<Vec<u64>, AccessError> {
        Ok(Vec::new())
    }
}

macro_rules! single_lengths {
    ($($integer:ty)*) => {$(
        impl ToShape for $integer {
            fn to_shape(&self) -> Result<Vec<u64>, AccessError> {
                [*self].to_shape()
            }
        }
    )*};
}

single_lengths! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize }

macro_rules! tuples {
    ($($($L:ident $axis:tt),+;)*) => {$(
        impl<$($L: Coordinate),+> ToShape for ($($L,)+) {
            fn to_shape(&self) -> Result<Vec<u64>, AccessError> {
                Ok(vec![$(length($axis, self.$axis)?),+])
            }
        }
    )*};
}

tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
}

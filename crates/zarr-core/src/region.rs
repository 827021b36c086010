//! Which elements of an array are meant?

use std::fmt;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use crate::error::AccessError;

/// A box of elements: one half-open interval of coordinates per axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region(Vec<Range<u64>>);

impl Region {
    /// A region from its intervals; an interval that ends before it begins is empty.
    pub fn new(intervals: impl IntoIterator<Item = Range<u64>>) -> Self {
        Region(intervals.into_iter().map(|r| r.start..r.end.max(r.start)).collect())
    }

    /// All of an array of this shape.
    pub fn all(shape: &[u64]) -> Self {
        Region(shape.iter().map(|&len| 0..len).collect())
    }

    /// The intervals, one per axis.
    pub fn intervals(&self) -> &[Range<u64>] {
        &self.0
    }

    /// How many axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// How many coordinates along each axis.
    pub fn shape(&self) -> Vec<u64> {
        self.0.iter().map(|r| r.end - r.start).collect()
    }

    /// How many elements; `None` if that is more than 64 bits can count.
    pub fn element_count(&self) -> Option<u64> {
        element_count(&self.shape())
    }

    /// Whether there is no element in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().any(|r| r.is_empty())
    }

    /// The region, if it lies inside an array of this shape.
    ///
    /// # Errors
    /// [`AccessError::Rank`], [`AccessError::OutOfBounds`].
    pub fn within(self, shape: &[u64]) -> Result<Self, AccessError> {
        if self.rank() != shape.len() {
            return Err(AccessError::Rank { expected: shape.len(), found: self.rank() });
        }
        for (axis, (r, &len)) in self.0.iter().zip(shape).enumerate() {
            if r.end > len {
                return Err(AccessError::OutOfBounds { axis, start: r.start, end: r.end, len });
            }
        }
        Ok(self)
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes: Vec<String> = self.0.iter().map(|r| format!("{}..{}", r.start, r.end)).collect();
        write!(f, "({})", axes.join(", "))
    }
}

/// How many elements an array of this shape has; `None` if 64 bits cannot count them.
pub fn element_count(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u64, |count, &len| count.checked_mul(len))
}

/// What a caller may give for one axis: an index (the axis stays, with length 1), any range, `..`.
pub trait IntoInterval {
    /// The interval on an axis of length `len`. It may leave the axis; that is checked afterwards.
    fn into_interval(self, len: u64) -> Range<u64>;
}

impl IntoInterval for u64 {
    fn into_interval(self, _: u64) -> Range<u64> {
        self..self.saturating_add(1)
    }
}
impl IntoInterval for Range<u64> {
    fn into_interval(self, _: u64) -> Range<u64> {
        self
    }
}
impl IntoInterval for RangeInclusive<u64> {
    fn into_interval(self, _: u64) -> Range<u64> {
        *self.start()..self.end().saturating_add(1)
    }
}
impl IntoInterval for RangeFrom<u64> {
    fn into_interval(self, len: u64) -> Range<u64> {
        // A start past the end is out of bounds, not empty.
        self.start..len.max(self.start)
    }
}
impl IntoInterval for RangeTo<u64> {
    fn into_interval(self, _: u64) -> Range<u64> {
        0..self.end
    }
}
impl IntoInterval for RangeToInclusive<u64> {
    fn into_interval(self, _: u64) -> Range<u64> {
        0..self.end.saturating_add(1)
    }
}
impl IntoInterval for RangeFull {
    fn into_interval(self, len: u64) -> Range<u64> {
        0..len
    }
}

/// What a caller may give for a region: `..` for everything, a [`Region`], a tuple with one
/// [`IntoInterval`] per axis such as `(0, .., 10..20)`, a bare interval for an array of one axis, or a
/// slice of ranges.
pub trait IntoRegion {
    /// The region in an array of this shape.
    ///
    /// # Errors
    /// [`AccessError::Rank`] and [`AccessError::OutOfBounds`]: a region never reaches outside.
    fn into_region(self, shape: &[u64]) -> Result<Region, AccessError>;
}

impl IntoRegion for RangeFull {
    fn into_region(self, shape: &[u64]) -> Result<Region, AccessError> {
        Ok(Region::all(shape))
    }
}
impl IntoRegion for Region {
    fn into_region(self, shape: &[u64]) -> Result<Region, AccessError> {
        self.within(shape)
    }
}
impl IntoRegion for &Region {
    fn into_region(self, shape: &[u64]) -> Result<Region, AccessError> {
        self.clone().within(shape)
    }
}
impl IntoRegion for &[Range<u64>] {
    fn into_region(self, shape: &[u64]) -> Result<Region, AccessError> {
        Region::new(self.iter().cloned()).within(shape)
    }
}
impl<const N: usize> IntoRegion for [Range<u64>; N] {
    fn into_region(self, shape: &[u64]) -> Result<Region, AccessError> {
        Region::new(self).within(shape)
    }
}
impl IntoRegion for () {
    fn into_region(self, shape: &[u64]) -> Result<Region, AccessError> {
        Region::new([]).within(shape)
    }
}

macro_rules! one_axis {
    ($($T:ty),*) => {$(
        impl IntoRegion for $T {
            fn into_region(self, shape: &[u64]) -> Result<Region, AccessError> {
                (self,).into_region(shape)
            }
        }
    )*};
}

one_axis!(
    u64,
    Range<u64>,
    RangeInclusive<u64>,
    RangeFrom<u64>,
    RangeTo<u64>,
    RangeToInclusive<u64>
);

macro_rules! tuples {
    ($($($T:ident $axis:tt),+;)*) => {$(
        impl<$($T: IntoInterval),+> IntoRegion for ($($T,)+) {
            fn into_region(self, shape: &[u64]) -> Result<Region, AccessError> {
                let len = |axis: usize| shape.get(axis).copied().unwrap_or(0);
                let region = Region(vec![$(self.$axis.into_interval(len($axis))),+]);
                if region.rank() != shape.len() {
                    return Err(AccessError::Rank { expected: shape.len(), found: region.rank() });
                }
                for (axis, (r, &len)) in region.0.iter().zip(shape).enumerate() {
                    if r.start > r.end || r.start > len {
                        let (start, end) = (r.start, r.end);
                        return Err(AccessError::OutOfBounds { axis, start, end, len });
                    }
                }
                region.within(shape)
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
    A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_mean_one_interval_per_axis() {
        let region = (0, .., 10..20).into_region(&[4, 5, 30]).unwrap();
        assert_eq!(region.intervals(), [0..1, 0..5, 10..20]);
        assert_eq!(region.shape(), [1, 5, 10]);
        assert_eq!((2.., ..=3).into_region(&[4, 5]).unwrap().intervals(), [2..4, 0..4]);
    }

    #[test]
    fn a_region_out_of_bounds_is_an_error() {
        let message = (90..110,).into_region(&[100]).unwrap_err().to_string();
        assert_eq!(message, "region 90..110 exceeds axis 0, which has length 100");
        assert!((4,).into_region(&[4]).is_err());
        assert!((5..,).into_region(&[4]).is_err());
        assert!((0, 0).into_region(&[4]).is_err());
        assert!((u64::MAX,).into_region(&[4]).is_err());
    }
}

//! A box of elements.

use std::fmt;
use std::ops::Range;

use smallvec::SmallVec;

use crate::error::AccessError;

/// A value for each axis, on the stack for few axes.
pub(crate) type ByAxis<T> = SmallVec<[T; 4]>;

/// A box of elements: one half-open interval of coordinates per axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region(ByAxis<Range<u64>>);

impl Region {
    /// A region from its intervals; an interval that ends before it begins is empty.
    pub fn new(intervals: impl IntoIterator<Item = Range<u64>>) -> Self {
        Region(intervals.into_iter().map(|r| r.start..r.end.max(r.start)).collect())
    }

    /// A region from intervals none of which ends before it begins.
    pub(crate) fn of(intervals: ByAxis<Range<u64>>) -> Self {
        Region(intervals)
    }

    /// All of an array of this shape.
    pub fn all(shape: &[u64]) -> Self {
        Region(shape.iter().map(|&len| 0..len).collect())
    }

    /// Whether it is all of an array of this shape.
    pub fn is_all(&self, shape: &[u64]) -> bool {
        self.0.iter().map(|r| (r.start, r.end)).eq(shape.iter().map(|&len| (0, len)))
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
        self.lengths().to_vec()
    }

    /// The same, on the stack for few axes.
    pub(crate) fn lengths(&self) -> ByAxis<u64> {
        self.0.iter().map(|r| r.end - r.start).collect()
    }

    /// How many elements; `None` if that is more than 64 bits can count.
    pub fn element_count(&self) -> Option<u64> {
        product(self.0.iter().map(|r| r.end - r.start))
    }

    /// The shape of the shortest beginning in C order, of an array of this shape, that has all elements of the region and is a box.
    pub(crate) fn start_of(&self, shape: &[u64]) -> Vec<u64> {
        let cut = shape.iter().position(|&len| len != 1);
        let start = shape.iter().zip(&self.0).enumerate();
        start.map(|(axis, (&len, r))| if cut == Some(axis) { r.end } else { len }).collect()
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
    product(shape.iter().copied())
}

/// How many bytes elements of `size` bytes in this shape have; `None` if 64 bits cannot count them.
pub fn byte_count(shape: &[u64], size: usize) -> Option<u64> {
    element_count(shape)?.checked_mul(size as u64)
}

/// The product of some lengths; `None` if 64 bits cannot count it.
pub(crate) fn product(mut lengths: impl Iterator<Item = u64> + Clone) -> Option<u64> {
    if lengths.clone().any(|len| len == 0) {
        return Some(0);
    }
    lengths.try_fold(1u64, u64::checked_mul)
}

/// `1 axis`, `2 axes`, for messages.
pub(crate) fn axes(rank: usize) -> String {
    match rank {
        1 => "1 axis".into(),
        rank => format!("{rank} axes"),
    }
}

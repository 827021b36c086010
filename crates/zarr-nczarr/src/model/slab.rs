//! Selects elements of a variable by start, count and stride.

use std::sync::Arc;

use zarr_core::grid::{Pieces, RegularGrid};
use zarr_core::{AccessError, Region, Result, Selection, steps};

/// A hyperslab: along each dimension the first element, how many, and how far from one to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slab {
    /// The first element along each dimension.
    pub start: Vec<u64>,
    /// How many elements along each dimension.
    pub count: Vec<u64>,
    /// How far it is from one element to the next, along each dimension; at least 1.
    pub stride: Vec<u64>,
}

impl Slab {
    /// `count` elements along each dimension from `start` on.
    pub fn new(start: impl Into<Vec<u64>>, count: impl Into<Vec<u64>>) -> Self {
        let (start, count) = (start.into(), count.into());
        let stride = vec![1; count.len()];
        Slab { start, count, stride }
    }

    /// All elements of a variable of this shape.
    pub fn all(shape: &[u64]) -> Self {
        Slab::new(vec![0; shape.len()], shape)
    }

    /// The same, of only every `stride`th element.
    #[must_use]
    pub fn with_stride(mut self, stride: impl Into<Vec<u64>>) -> Self {
        self.stride = stride.into();
        self
    }

    /// How many elements; `None` if they cannot be counted.
    pub fn len(&self) -> Option<u64> {
        zarr_core::region::element_count(&self.count)
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.count.contains(&0)
    }

    /// One past the last coordinate along each dimension.
    ///
    /// # Errors
    /// [`AccessError::Rank`] if it has not `rank` dimensions; [`AccessError::Argument`] for a stride of 0, and for
    /// coordinates that 64 bits cannot hold.
    pub fn end(&self, rank: usize) -> Result<Vec<u64>, AccessError> {
        for found in [self.start.len(), self.count.len(), self.stride.len()] {
            if found != rank {
                return Err(AccessError::Rank { expected: rank, found });
            }
        }
        (0..rank)
            .map(|axis| {
                let (start, count, stride) =
                    (self.start[axis], self.count[axis], self.stride[axis]);
                if stride == 0 {
                    let why = format!("the stride along axis {axis} is 0; it is at least 1");
                    return Err(AccessError::Argument(why));
                }
                let Some(steps) = count.checked_sub(1) else { return Ok(start) };
                let last = steps.checked_mul(stride).and_then(|span| start.checked_add(span));
                last.and_then(|last| last.checked_add(1)).ok_or_else(|| {
                    AccessError::Argument(format!("the slab ends beyond 64 bits along axis {axis}"))
                })
            })
            .collect()
    }

    /// The part of it that an array of `shape` has: how many elements along each axis.
    pub(crate) fn within(&self, shape: &[u64]) -> Vec<u64> {
        (0..shape.len())
            .map(|axis| {
                let room = shape[axis].saturating_sub(self.start[axis]);
                self.count[axis].min(room.div_ceil(self.stride[axis]))
            })
            .collect()
    }

    /// What `count` elements from its start are to Zarr.
    pub(crate) fn selection(&self, count: &[u64]) -> Selection {
        Selection::outer((0..count.len()).map(|axis| {
            let (start, stride) = (self.start[axis], self.stride[axis]);
            let stop = match count[axis] {
                0 => start,
                n => start + (n - 1) * stride + 1,
            };
            steps(start..stop, i64::try_from(stride).unwrap_or(i64::MAX))
        }))
    }
}

impl From<&Region> for Slab {
    fn from(region: &Region) -> Slab {
        let start: Vec<u64> = region.intervals().iter().map(|r| r.start).collect();
        Slab::new(start, region.shape())
    }
}

/// Pieces of at most `max_bytes` of a variable of `shape`, along the borders of its chunks. The array of a variable may be shorter than
/// an unlimited dimension, so it cannot be asked for them.
///
/// # Errors
/// For a shape that is no array's.
pub(crate) fn pieces(
    shape: &[u64],
    chunks: &[u64],
    element_size: u64,
    max_bytes: u64,
) -> Result<Pieces> {
    let chunks: Vec<u64> = shape
        .iter()
        .enumerate()
        .map(|(axis, &len)| chunks.get(axis).map_or(1, |&chunk| chunk.clamp(1, len.max(1))))
        .collect();
    let grid = Arc::new(RegularGrid::new(&chunks, shape)?);
    Ok(Pieces::of_shape(grid, shape, element_size, max_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_have_ends() {
        let slab = Slab::new([1, 0], [3, 2]).with_stride([2, 1]);
        assert_eq!(slab.end(2).unwrap(), [6, 2]);
        assert_eq!((slab.len(), slab.is_empty()), (Some(6), false));
        assert_eq!(slab.within(&[4, 9]), [2, 2]);
        assert_eq!(slab.within(&[0, 1]), [0, 1]);
        assert_eq!(Slab::new([7], [0]).end(1).unwrap(), [7]);
        assert!(slab.end(3).is_err());
        assert!(Slab::new([0], [1]).with_stride([0]).end(1).is_err());
        assert!(Slab::new([u64::MAX], [2]).end(1).is_err());
        assert_eq!(Slab::new([u64::MAX, 0], [u64::MAX, 3]).len(), None);
    }
}

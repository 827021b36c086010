//! Dataspaces: the shapes of datasets and attributes.

use crate::error::Result;
use crate::source::Cursor;

/// The highest rank of HDF5.
pub(crate) const MAX_RANK: usize = 32;

/// A shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dataspace {
    /// No elements and no shape.
    Null,
    /// The lengths of the axes; none for a scalar, which has one element.
    Simple {
        /// The present lengths.
        shape: Vec<u64>,
        /// The largest lengths, `None` for an unlimited axis.
        max_shape: Vec<Option<u64>>,
    },
}

impl Dataspace {
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Dataspace> {
        let version = cursor.version(1..=2)?;
        let rank = usize::from(cursor.u8()?);
        let flags = cursor.u8()?;
        let class = cursor.u8()?;
        if version == 1 {
            cursor.skip(4)?;
        } else if class == 2 {
            return Ok(Dataspace::Null);
        }
        if rank > MAX_RANK {
            let what = format!("expected at most {MAX_RANK} axes, found {rank}");
            return Err(cursor.place.damaged(what));
        }
        let mut shape = Vec::with_capacity(rank);
        for _ in 0..rank {
            shape.push(cursor.length()?);
        }
        let mut max_shape: Vec<Option<u64>> = shape.iter().copied().map(Some).collect();
        if flags & 1 != 0 {
            let unlimited = u64::MAX >> (64 - 8 * cursor.sizes.length);
            for max in &mut max_shape {
                let length = cursor.length()?;
                *max = if length == unlimited { None } else { Some(length) };
            }
        }
        Ok(Dataspace::Simple { shape, max_shape })
    }

    /// The lengths of the axes, `None` without a shape.
    pub fn shape(&self) -> Option<&[u64]> {
        match self {
            Dataspace::Null => None,
            Dataspace::Simple { shape, .. } => Some(shape),
        }
    }

    /// The number of elements, `None` if it is 2^64 or more.
    pub fn element_count(&self) -> Option<u64> {
        match self {
            Dataspace::Null => Some(0),
            Dataspace::Simple { shape, .. } if shape.contains(&0) => Some(0),
            Dataspace::Simple { shape, .. } => {
                shape.iter().try_fold(1, |count: u64, length| count.checked_mul(*length))
            }
        }
    }
}

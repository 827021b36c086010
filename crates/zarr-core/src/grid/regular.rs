//! A grid whose chunks all have one shape (D-040 … D-043, F-060 … F-062).

use super::{ChunkExtent, ChunkGrid};
use crate::dialect::Dialect;
use crate::error::MetadataError;
use crate::json::{Json, Object};
use crate::region::axes;

/// A grid of equal chunks, aligned at the origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegularGrid {
    chunk_shape: Vec<u64>,
}

impl RegularGrid {
    /// A grid of chunks of this shape, for an array of that one.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] when ranks differ, or a chunk has no extent where the array has one.
    /// A chunk length of 0 on an axis of length 0 is read as 1 (D-021, F-060).
    pub fn new(chunk_shape: &[u64], shape: &[u64]) -> Result<Self, MetadataError> {
        if chunk_shape.len() != shape.len() {
            let why =
                format!("chunks have {}, the array has {}", axes(chunk_shape.len()), shape.len());
            return Err(MetadataError::invalid("chunk_shape", why));
        }
        if let Some(axis) = (0..shape.len()).find(|&a| chunk_shape[a] == 0 && shape[a] > 0) {
            let why = format!("chunks have length 0 on axis {axis}");
            return Err(MetadataError::invalid("chunk_shape", why));
        }
        Ok(RegularGrid { chunk_shape: chunk_shape.iter().map(|&n| n.max(1)).collect() })
    }
}

impl ChunkGrid for RegularGrid {
    fn rank(&self) -> usize {
        self.chunk_shape.len()
    }

    fn count(&self, axis: usize, len: u64) -> u64 {
        len.div_ceil(self.chunk_shape[axis])
    }

    fn span(&self, axis: usize, ordinal: u64) -> ChunkExtent {
        let len = self.chunk_shape[axis];
        ChunkExtent {
            index: ordinal as i64,
            before: 0,
            start: ordinal.saturating_mul(len),
            len,
            stored: len,
        }
    }

    fn locate(&self, axis: usize, coordinate: u64) -> u64 {
        coordinate / self.chunk_shape[axis]
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        Some(self.chunk_shape.clone())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<Json> {
        let chunk_shape = Object::new().with("chunk_shape", &self.chunk_shape[..]);
        Some(match dialect {
            Dialect::V3 => Object::extension("regular", chunk_shape).into(),
            Dialect::Draft => Object::new()
                .with("type", "regular")
                .with("chunk_shape", &self.chunk_shape[..])
                .into(),
            Dialect::V2 => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-021, D-041, D-042, F-061.
    #[test]
    fn counts_and_places() {
        let shape = [10, 200, 3000];
        let grid = RegularGrid::new(&[5, 20, 400], &shape).unwrap();
        let counts: Vec<u64> = (0..3).map(|a| grid.count(a, shape[a])).collect();
        assert_eq!(counts, [2, 10, 8]);
        let chunk: Vec<u64> =
            [7, 150, 900].iter().enumerate().map(|(a, &c)| grid.locate(a, c)).collect();
        assert_eq!(chunk, [1, 7, 2]);
        let starts: Vec<u64> = (0..3).map(|a| grid.span(a, chunk[a]).start).collect();
        assert_eq!([7 - starts[0], 150 - starts[1], 900 - starts[2]], [2, 10, 100]);
        assert_eq!(grid.span(2, 2).start, 800);
        assert_eq!(RegularGrid::new(&[1], &[u64::MAX]).unwrap().count(0, u64::MAX), u64::MAX);
        assert!(RegularGrid::new(&[0], &[4]).is_err());
        assert!(RegularGrid::new(&[0], &[0]).is_ok());
        assert!(RegularGrid::new(&[2], &[4, 4]).is_err());
    }
}

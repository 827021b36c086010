//! Grids of chunks, and where the bytes of each chunk are.

use crate::{Blocks, Chunk, Dataset, File, Result, Storage};

/// Elements in one run of bytes are divided into chunks of at most so many bytes.
const MAX_CHUNK_BYTES: u64 = 64 << 20;

/// How an array is divided into chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The array's shape.
    pub shape: Vec<u64>,
    /// The chunks' shape, at least 1 along each axis.
    pub chunk_shape: Vec<u64>,
    /// The axis whose last chunk is shorter than the others: a rectilinear grid, not a regular one.
    pub short_axis: Option<usize>,
}

impl Grid {
    /// The number of chunks along each axis.
    pub fn counts(&self) -> Vec<u64> {
        self.shape.iter().zip(&self.chunk_shape).map(|(n, chunk)| n.div_ceil(*chunk)).collect()
    }

    /// Whether a chunk extends beyond the shape of a dataset.
    fn is_partial(&self, shape: &[u64], coordinates: &[u64]) -> bool {
        let axes = coordinates.iter().zip(&self.chunk_shape).zip(shape);
        axes.into_iter().any(|((coordinate, chunk), length)| {
            coordinate.saturating_add(1).saturating_mul(*chunk) > *length
        })
    }
}

/// Where the bytes of a chunk are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// Nowhere: the chunk has the fill value.
    Absent,
    /// Here.
    Inline(Vec<u8>),
    /// In the file, in bytes from its beginning.
    Range {
        /// The first byte.
        offset: u64,
        /// How many bytes.
        length: u64,
    },
    /// In the file, but filters were skipped: [`apply_skipped`](super::apply_skipped) makes the bytes of the array's codecs.
    Skipped {
        /// The first byte.
        offset: u64,
        /// How many bytes.
        length: u64,
        /// The filters that were skipped, a bit each.
        mask: u32,
    },
}

/// The grid of a dataset whose elements each have `inner` further axes.
pub(super) fn grid(dataset: &Dataset, shape: &[u64], inner: &[u64], element_bytes: u64) -> Grid {
    let mut full: Vec<u64> = shape.to_vec();
    full.extend_from_slice(inner);
    match &dataset.storage {
        Storage::Chunked(storage) => {
            let mut chunk_shape = storage.chunk_shape.clone();
            chunk_shape.extend_from_slice(inner);
            Grid { shape: full, chunk_shape, short_axis: None }
        }
        Storage::Contiguous { .. } => divided(full, element_bytes),
        Storage::Unallocated | Storage::Compact(_) | Storage::Elsewhere(_) => {
            let chunk_shape = full.iter().map(|length| (*length).max(1)).collect();
            Grid { shape: full, chunk_shape, short_axis: None }
        }
    }
}

/// Divides elements in one run along the first axis that leaves chunks small enough.
fn divided(shape: Vec<u64>, element_bytes: u64) -> Grid {
    let mut chunk_shape: Vec<u64> = shape.iter().map(|length| (*length).max(1)).collect();
    let total = chunk_shape.iter().fold(element_bytes, |n, length| n.saturating_mul(*length));
    if total <= MAX_CHUNK_BYTES {
        return Grid { shape, chunk_shape, short_axis: None };
    }
    let mut row = total;
    for axis in 0..shape.len() {
        row /= chunk_shape[axis];
        let rows = MAX_CHUNK_BYTES / row.max(1);
        if rows == 0 {
            chunk_shape[axis] = 1;
            continue;
        }
        if rows >= chunk_shape[axis] {
            return Grid { shape, chunk_shape, short_axis: None };
        }
        // A length that divides the axis leaves no short chunk.
        let divisor =
            (rows / 2 + 1..=rows).rev().take(10_000).find(|n| shape[axis].is_multiple_of(*n));
        chunk_shape[axis] = divisor.unwrap_or(rows);
        let short_axis = if divisor.is_some() { None } else { Some(axis) };
        return Grid { shape, chunk_shape, short_axis };
    }
    Grid { shape, chunk_shape, short_axis: None }
}

/// Where a chunk is.
pub(super) fn locate(
    file: &File,
    blocks: &Blocks,
    dataset: &Dataset,
    grid: &Grid,
    element_bytes: u64,
    coordinates: &[u64],
) -> Result<Location> {
    let counts = grid.counts();
    let is_inside = coordinates.len() == counts.len()
        && coordinates.iter().zip(&counts).all(|(coordinate, count)| coordinate < count);
    if !is_inside {
        return Ok(Location::Absent);
    }
    match &dataset.storage {
        Storage::Unallocated | Storage::Elsewhere(_) => Ok(Location::Absent),
        Storage::Compact(bytes) => Ok(Location::Inline(bytes.clone())),
        Storage::Contiguous { address, .. } => {
            Ok(in_one_run(*address, grid, element_bytes, coordinates))
        }
        Storage::Chunked(storage) => {
            let rank = storage.chunk_shape.len();
            let Some(chunk) = file.chunk(blocks, storage, &coordinates[..rank])? else {
                return Ok(Location::Absent);
            };
            let Chunk { address: offset, length, filter_mask, .. } = chunk;
            let shape = dataset.dataspace.shape().unwrap_or(&[]);
            let is_unfiltered =
                storage.edge_chunks_unfiltered && grid.is_partial(shape, &coordinates[..rank]);
            let mask = if is_unfiltered { u32::MAX } else { filter_mask };
            let used = (1_u64 << dataset.filters.len().min(32)) - 1;
            if u64::from(mask) & used == 0 {
                return Ok(Location::Range { offset, length });
            }
            Ok(Location::Skipped { offset, length, mask })
        }
    }
}

/// A chunk of elements in one run: all axes before the divided one have chunks of length 1, all behind it are whole.
fn in_one_run(address: u64, grid: &Grid, element_bytes: u64, coordinates: &[u64]) -> Location {
    let (mut offset, mut length, mut stride) = (0_u64, element_bytes, element_bytes);
    for axis in (0..coordinates.len()).rev() {
        let start = coordinates[axis] * grid.chunk_shape[axis];
        let rows = grid.chunk_shape[axis].min(grid.shape[axis] - start);
        // The dataset's bytes lie in the file, so that nothing overflows.
        offset = offset.saturating_add(start.saturating_mul(stride));
        length = length.saturating_mul(rows);
        stride = stride.saturating_mul(grid.shape[axis]);
    }
    Location::Range { offset: address.saturating_add(offset), length }
}

#[cfg(test)]
mod tests {
    use super::{Location, divided, in_one_run};

    #[test]
    fn large_runs_are_divided_into_equal_chunks() {
        let grid = divided(vec![1000, 1 << 20], 4);
        assert_eq!(
            (grid.chunk_shape.as_slice(), grid.short_axis),
            ([10, 1 << 20].as_slice(), None)
        );
        let location = in_one_run(100, &grid, 4, &[3, 0]);
        assert_eq!(location, Location::Range { offset: 100 + (30 << 22), length: 10 << 22 });
        let grid = divided(vec![10_007, 1 << 20], 4);
        assert_eq!((grid.chunk_shape[0], grid.short_axis), (16, Some(0)));
        let grid = divided(vec![3, 100, 1 << 22], 8);
        assert_eq!(grid.chunk_shape, [1, 2, 1 << 22]);
        let location = in_one_run(0, &grid, 8, &[2, 7, 0]);
        assert_eq!(location, Location::Range { offset: 214 << 25, length: 2 << 25 });
    }
}

//! Reads elements at the crossings of some columns and some rows.

use zarr_core::data_type::Scalar;
use zarr_core::{Array, AxisSelection, NodePath, Selection};

use super::MapError;
use crate::meaning::Meaning;
use crate::picture::decoded;

/// Columns and rows of the sample that a range of colours is taken from.
const SAMPLE: u64 = 256;

/// The axes of x and of y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axes {
    pub x: usize,
    pub y: usize,
}

/// A plane of an array.
pub(super) struct Source<'a> {
    pub array: &'a Array,
    pub meaning: &'a Meaning,
    pub axes: Axes,
    /// A position on each axis; those on x and y do not count.
    pub positions: &'a [u64],
    /// Bytes of decoded chunks that are read at most.
    pub most_decoded: u64,
    /// The group of the OME image that the array is a level of.
    pub image: Option<&'a NodePath>,
}

impl Source<'_> {
    /// Columns and rows there are.
    pub fn size(&self) -> (u64, u64) {
        let shape = self.array.shape();
        (shape[self.axes.x], shape[self.axes.y])
    }

    /// The decoded elements of some columns and rows, both rising and within the array, row after row; NaN where they are
    /// missing.
    ///
    /// # Errors
    /// [`MapError::TooLarge`] if that takes more than the bytes of decoded chunks; what reading fails with.
    pub fn read(&self, columns: &[u64], rows: &[u64]) -> Result<Vec<f64>, MapError> {
        if columns.is_empty() || rows.is_empty() {
            return Ok(Vec::new());
        }
        let Some(scalar) = self.meaning.scalar(&self.array.data_type()) else {
            return Err(MapError::Refused("elements are not real numbers".into()));
        };
        self.check(columns, rows, scalar)?;
        let along = (0..self.array.rank()).map(|axis| {
            if axis == self.axes.x {
                selection(columns)
            } else if axis == self.axes.y {
                selection(rows)
            } else {
                AxisSelection::Index(self.positions.get(axis).copied().unwrap_or(0))
            }
        });
        let along: Vec<AxisSelection> = along.collect();
        let bytes = self.array.read_bytes(Selection::outer(along))?;
        let values = decoded(self.meaning, scalar, &bytes);
        if self.axes.y < self.axes.x || values.len() != columns.len() * rows.len() {
            return Ok(values);
        }
        // The array has the columns one after the other.
        let mut by_rows = Vec::with_capacity(values.len());
        for row in 0..rows.len() {
            by_rows.extend((0..columns.len()).map(|column| values[column * rows.len() + row]));
        }
        Ok(by_rows)
    }

    /// Refuses what touches too many bytes of chunks.
    fn check(&self, columns: &[u64], rows: &[u64], scalar: Scalar) -> Result<(), MapError> {
        let size = scalar.size() as u64;
        let elements = (columns.len() as u64).saturating_mul(rows.len() as u64);
        // Decoded, they are held as 64-bit floats.
        self.check_bytes(elements.saturating_mul(size_of::<f64>() as u64))?;
        let Some(chunk) = self.array.chunk_shape() else {
            // Chunks of several shapes: at least what is read.
            return self.check_bytes(elements.saturating_mul(size));
        };
        let chunks =
            touched_chunks(columns, chunk[self.axes.x]) * touched_chunks(rows, chunk[self.axes.y]);
        let of_one =
            zarr_core::region::element_count(&chunk).unwrap_or(u64::MAX).saturating_mul(size);
        self.refuse_more(chunks.saturating_mul(of_one), of_one)
    }

    /// Refuses to hold so many bytes of decoded elements.
    pub fn check_bytes(&self, bytes: u64) -> Result<(), MapError> {
        self.refuse_more(bytes, 0)
    }

    fn refuse_more(&self, bytes: u64, of_one: u64) -> Result<(), MapError> {
        if bytes <= self.most_decoded {
            return Ok(());
        }
        let (path, mib) = (self.array.path(), |bytes: u64| bytes.div_ceil(1 << 20));
        let most = mib(self.most_decoded);
        let remedy = match self.image {
            _ if of_one > self.most_decoded => {
                "choose smaller chunks: `zarr copy SOURCE TARGET --chunks ...`".to_owned()
            }
            Some(group) => format!("add levels of lower resolution: `zarr pyramid SOURCE{group}`"),
            None if self.array.dimension_names().is_some() => {
                let group = path.parent().unwrap_or_else(NodePath::root);
                format!("add levels of lower resolution: `zarr pyramid SOURCE{group} --convention geo`")
            }
            None => "request a larger zoom, or add levels of lower resolution, which `multiscales` of its group lists".to_owned(),
        };
        let why = format!(
            "this tile needs {} MiB of chunks of {path}, but at most {most} MiB are decoded for a tile; {remedy}",
            mib(bytes)
        );
        Err(MapError::TooLarge(why))
    }

    /// Columns and rows for a sample of the plane: up to 256 of each, in as many chunks as may be decoded, which are spread
    /// evenly.
    pub fn sample(&self) -> (Vec<u64>, Vec<u64>) {
        let (columns, rows) = self.size();
        let size = self.meaning.scalar(&self.array.data_type()).map_or(8, Scalar::size) as u64;
        let chunk = self.array.chunk_shape().unwrap_or_else(|| vec![1; self.array.rank()]);
        let bytes =
            zarr_core::region::element_count(&chunk).unwrap_or(u64::MAX).saturating_mul(size);
        // As many chunks along x as along y, in half of what may be decoded.
        let most = ((self.most_decoded / 2 / bytes.max(1)) as f64).sqrt().floor().max(1.0) as u64;
        let (of_columns, of_rows) = (chunk[self.axes.x], chunk[self.axes.y]);
        (spread(columns, of_columns, most), spread(rows, of_rows, most))
    }
}

/// How many chunks along an axis have the elements of a sorted list.
fn touched_chunks(list: &[u64], len: u64) -> u64 {
    let len = len.max(1);
    1 + list.windows(2).filter(|pair| pair[0] / len != pair[1] / len).count() as u64
}

/// Up to about [`SAMPLE`] positions along an axis, in at most so many chunks.
fn spread(len: u64, chunk: u64, most_chunks: u64) -> Vec<u64> {
    let chunk = chunk.max(1);
    let chunks = len.div_ceil(chunk);
    let chosen = chunks.min(most_chunks).min(SAMPLE);
    if chosen == chunks || chosen == 0 {
        return evenly(len, len.min(SAMPLE)).collect();
    }
    let of_each = SAMPLE.div_ceil(chosen).min(chunk);
    evenly(chunks, chosen)
        .flat_map(|n| evenly(chunk, of_each).map(move |at| n * chunk + at))
        .filter(|&at| at < len)
        .collect()
}

/// So many positions at equal distances.
fn evenly(len: u64, count: u64) -> impl Iterator<Item = u64> {
    (0..count)
        .map(move |n| ((2 * u128::from(n) + 1) * u128::from(len) / (2 * u128::from(count))) as u64)
}

/// A range where each follows the one before, else a list.
fn selection(list: &[u64]) -> AxisSelection {
    match (list.first(), list.last()) {
        (Some(&first), Some(&last)) if last - first + 1 == list.len() as u64 => {
            (first..last + 1).into()
        }
        _ => AxisSelection::List(list.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_few_chunks() {
        assert_eq!(spread(5, 2, 100), [0, 1, 2, 3, 4]);
        assert_eq!(spread(0, 2, 100), [0_u64; 0]);
        for (len, chunk, most) in
            [(100_000, 1_000, 8), (u64::MAX, 1 << 40, 3), (1_000, 1, 10), (999, 100, 4)]
        {
            let found = spread(len, chunk, most);
            let mut chunks: Vec<u64> = found.iter().map(|at| at / chunk).collect();
            chunks.dedup();
            assert!(chunks.len() as u64 <= most && found.len() <= 2 * SAMPLE as usize, "{found:?}");
            assert!(found.windows(2).all(|pair| pair[0] < pair[1]) && found.last() < Some(&len));
        }
    }
}

//! Reads the plane of an array that a view shows, in a bounded number of pixels.

use zarr_core::data_type::{FloatFormat, Scalar, ScalarValue};
use zarr_core::{Array, Selection};

use super::{Along, PictureError, View};
use crate::meaning::{Meaning, number};

/// The most pixels that a plane has.
pub const MOST_PIXELS: u64 = 1 << 26;
/// About how many bytes of elements are held while blocks are averaged.
const SLAB: u64 = 64 << 20;

/// The most elements that are averaged unless that is asked for: some seconds of work.
pub(crate) const MOST_AVERAGED: u64 = 1 << 28;

/// How a block of elements becomes one pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// The element in its middle; chunks between are not read.
    Nearest,
    /// The mean of those that are finite and not missing.
    Mean,
}

/// Decoded values of a plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Row after row; NaN where an element is missing.
    pub values: Vec<f64>,
    /// How many elements each pixel stands for, across and down; at the ends of the axes fewer.
    pub block: (u64, u64),
    /// Whether a pixel is the mean of its elements, not one of them.
    pub is_mean: bool,
    /// Whether 32-bit floats hold each value.
    pub is_single: bool,
}

impl Plane {
    /// Of values, row after row of `width`.
    pub fn of(width: usize, values: Vec<f64>) -> Plane {
        let height = values.len().checked_div(width).unwrap_or(0);
        Plane { width, height, values, block: (1, 1), is_mean: false, is_single: false }
    }

    /// Whether both have as many pixels across and down.
    pub fn fits(&self, other: &Plane) -> bool {
        (self.width, self.height) == (other.width, other.height)
    }
}

/// Reads what a view shows, decoded by `meaning`, NaN where it is missing: a plane of `height` rows and `width` columns, in the order
/// of the view's positions. Position `(r, c)` is row `r` from the top.
///
/// With `at_most` pixels across and down, blocks of elements become one pixel: by `reduce`, or if it is `None` by their means
/// where that costs no more chunks than the elements in the middle of blocks, and no more than seconds. Without it, each element is a pixel.
///
/// # Errors
/// Elements that are no real numbers; more than [`MOST_PIXELS`] pixels; what reading fails with.
pub fn slice(
    array: &Array,
    meaning: &Meaning,
    view: &View,
    at_most: Option<(u64, u64)>,
    reduce: Option<Reduce>,
) -> Result<Plane, PictureError> {
    slice_in_blocks(array, meaning, view, blocks(view, at_most), reduce)
}

/// As [`slice()`], each `block` of elements, across and down, as one pixel.
///
/// # Errors
/// As [`slice()`].
pub fn slice_in_blocks(
    array: &Array,
    meaning: &Meaning,
    view: &View,
    block: (u64, u64),
    reduce: Option<Reduce>,
) -> Result<Plane, PictureError> {
    let block = (block.0.max(1), block.1.max(1));
    let data_type = array.data_type();
    let Some(scalar) = meaning.scalar(&data_type) else {
        return Err(PictureError::Refused(format!(
            "cannot draw elements of type {data_type}, only real numbers; `zarr get` shows them"
        )));
    };
    let (across, down) = view.size();
    let size = (across.div_ceil(block.0), down.div_ceil(block.1));
    if size.0.checked_mul(size.1).is_none_or(|pixels| pixels > MOST_PIXELS) {
        return Err(PictureError::Refused(format!(
            "a picture of {} × {} pixels is too large; choose a region, or a size",
            size.0, size.1
        )));
    }
    let reader = Reader { array, meaning, scalar, view };
    let (width, height) = (size.0 as usize, size.1 as usize);
    let is_mean =
        block != (1, 1) && reduce.unwrap_or_else(|| cheapest(array, view, block)) == Reduce::Mean;
    let values = if width == 0 || height == 0 {
        Vec::new()
    } else if is_mean {
        reader.means(block, (width, height))?
    } else {
        reader.read(axis(view, view.x).thinned(block.0), axis(view, view.y).thinned(block.1))?
    };
    let is_single = !is_mean && meaning.affine.is_identity() && is_single(scalar);
    Ok(Plane { width, height, values, block, is_mean, is_single })
}

/// How many bytes of decoded chunks [`slice()`] reads, if the grid of chunks is regular.
pub fn bytes_to_read(
    array: &Array,
    view: &View,
    at_most: Option<(u64, u64)>,
    reduce: Option<Reduce>,
) -> Option<u64> {
    let block = blocks(view, at_most);
    let is_mean =
        block != (1, 1) && reduce.unwrap_or_else(|| cheapest(array, view, block)) == Reduce::Mean;
    let chunks = chunks(array, view, if is_mean { (1, 1) } else { block })?;
    let size =
        array.data_type().resolved().and_then(|kind| kind.scalar()).map_or(8, Scalar::size) as u64;
    let elements = zarr_core::region::element_count(&array.chunk_shape()?)?;
    Some(chunks.saturating_mul(elements.saturating_mul(size)))
}

/// How many elements each pixel stands for, across and down.
fn blocks(view: &View, at_most: Option<(u64, u64)>) -> (u64, u64) {
    let (across, down) = view.size();
    let Some((width, height)) = at_most else { return (1, 1) };
    (across.div_ceil(width.max(1)).max(1), down.div_ceil(height.max(1)).max(1))
}

/// Means, unless they cost more chunks, or are of very many elements.
fn cheapest(array: &Array, view: &View, block: (u64, u64)) -> Reduce {
    let (across, down) = view.size();
    match chunks(array, view, (1, 1)).zip(chunks(array, view, block)) {
        Some((all, few)) if all <= few && across.saturating_mul(down) <= MOST_AVERAGED => {
            Reduce::Mean
        }
        _ => Reduce::Nearest,
    }
}

/// How many chunks have an element that is shown.
fn chunks(array: &Array, view: &View, block: (u64, u64)) -> Option<u64> {
    let shape = array.chunk_shape()?;
    touched(view, &shape, view.x, block.0).checked_mul(touched(view, &shape, view.y, block.1))
}

/// How many chunks of a shape a view in blocks touches along an axis.
fn touched(view: &View, shape: &[u64], axis: Option<usize>, by: u64) -> u64 {
    let Some(axis) = axis else { return 1 };
    let along = view.along[axis].thinned(by);
    let len = shape[axis].max(1);
    if along.step.unsigned_abs() >= len {
        return along.len;
    }
    let bounds = along.bounds();
    if bounds.is_empty() { 0 } else { (bounds.end - 1) / len - bounds.start / len + 1 }
}

/// The positions along an axis of the view; one, where there is no such axis.
fn axis(view: &View, axis: Option<usize>) -> Along {
    axis.map_or(Along::one(0), |axis| view.along[axis])
}

/// Whether matplotlib computes with such elements in 32-bit floats.
fn is_single(scalar: Scalar) -> bool {
    match scalar {
        Scalar::Bool | Scalar::Int(..=16) | Scalar::Uint(..=16) => true,
        Scalar::Float(format) => format.bits() == 32,
        _ => false,
    }
}

struct Reader<'a> {
    array: &'a Array,
    meaning: &'a Meaning,
    scalar: Scalar,
    view: &'a View,
}

impl Reader<'_> {
    /// The elements at these positions, row after row.
    fn read(&self, across: Along, down: Along) -> Result<Vec<f64>, PictureError> {
        let along = self.view.along.iter().enumerate().map(|(n, along)| match n {
            n if Some(n) == self.view.x => across,
            n if Some(n) == self.view.y => down,
            _ => along.part(0, along.len.min(1)),
        });
        let along: Vec<Along> = along.collect();
        let bytes = self.array.read_bytes(Selection::outer(&along))?;
        let values = decoded(self.meaning, self.scalar, &bytes);
        let (width, height) = (across.len as usize, down.len as usize);
        if self.view.y.is_none_or(|y| Some(y) < self.view.x) || values.len() != width * height {
            return Ok(values);
        }
        // The array has the columns one after the other.
        let mut rows = Vec::with_capacity(values.len());
        for row in 0..height {
            rows.extend((0..width).map(|column| values[column * height + row]));
        }
        Ok(rows)
    }

    /// The means of blocks. Elements are read in slabs of whole blocks.
    fn means(
        &self,
        block: (u64, u64),
        (width, height): (usize, usize),
    ) -> Result<Vec<f64>, PictureError> {
        let (across, down) = (axis(self.view, self.view.x), axis(self.view, self.view.y));
        // Decoded, an element has eight bytes. Whole blocks are added up together where they fit.
        let most = SLAB / 8;
        let whole =
            |len: u64, block: u64| if len < block { len.max(1) } else { len / block * block };
        let columns = whole(most, block.0).min(across.len);
        let rows = whole(most / columns, block.1);
        let mut sums = vec![(0.0, 0_u32); width * height];
        for top in (0..down.len).step_by(rows as usize) {
            let slab_rows = rows.min(down.len - top);
            for left in (0..across.len).step_by(columns as usize) {
                let slab_columns = columns.min(across.len - left);
                let values =
                    self.read(across.part(left, slab_columns), down.part(top, slab_rows))?;
                for (r, row) in values.chunks_exact(slab_columns as usize).enumerate() {
                    let to = ((top + r as u64) / block.1) as usize * width;
                    for (c, value) in row.iter().enumerate().filter(|(_, value)| value.is_finite())
                    {
                        let sum = &mut sums[to + ((left + c as u64) / block.0) as usize];
                        *sum = (sum.0 + value, sum.1.saturating_add(1));
                    }
                }
            }
        }
        Ok(sums.into_iter().map(|(sum, count)| sum / f64::from(count)).collect())
    }
}

/// What stored elements stand for, NaN where they are missing.
pub(crate) fn decoded(meaning: &Meaning, scalar: Scalar, bytes: &[u8]) -> Vec<f64> {
    let elements = bytes.chunks_exact(scalar.size());
    // Where f64 holds each value and nothing needs a table of them, the short way.
    if meaning.missing.is_empty() {
        macro_rules! short {
            ($($pattern:pat => $kind:ty),*) => {
                match scalar {
                    $($pattern => {
                        return elements
                            .map(|element| {
                                let bytes = element.try_into().unwrap_or_default();
                                meaning.affine.apply(f64::from(<$kind>::from_ne_bytes(bytes)))
                            })
                            .collect();
                    })*
                    _ => {}
                }
            };
        }
        short!(
            Scalar::Bool | Scalar::Uint(8) => u8, Scalar::Int(8) => i8, Scalar::Uint(16) => u16, Scalar::Int(16) => i16,
            Scalar::Uint(32) => u32, Scalar::Int(32) => i32, Scalar::Float(FloatFormat::FLOAT32) => f32,
            Scalar::Float(FloatFormat::FLOAT64) => f64
        );
    }
    elements
        .map(|element| {
            let value: ScalarValue = scalar.load(element);
            if meaning.missing.contains(value) {
                f64::NAN
            } else {
                meaning.affine.apply(number(value))
            }
        })
        .collect()
}

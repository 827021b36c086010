//! NumPy's index expressions as selections: `a[0, ::2, ...]`.

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PySlice, PyTuple};

use crate::region::Region;
use zarr::{AxisSelection, Selection, steps};

/// What an index expression selects, and the shape of the result.
pub struct Key {
    /// The elements, in the order in which they are in the array; axes that count backwards are reversed by the selection.
    pub selection: Selection,
    /// The length of each axis of the result.
    pub shape: Vec<u64>,
    /// Whether every axis is a single number: the result is a scalar.
    pub is_scalar: bool,
}

/// What a basic index expression selects: integers, slices and at most one ellipsis, as NumPy reads them.
///
/// # Errors
/// `IndexError` for an integer that is outside, for too many axes and two ellipses; `TypeError` for other objects.
pub fn basic(key: &Bound<'_, PyAny>, array_shape: &[u64]) -> PyResult<Key> {
    let parts: Vec<Bound<'_, PyAny>> = if let Ok(tuple) = key.cast::<PyTuple>() {
        tuple.iter().collect()
    } else if let Ok(region) = key.cast::<Region>() {
        region.get().slices(key.py())?.iter().collect()
    } else {
        vec![key.clone()]
    };
    let is_ellipsis = |part: &Bound<'_, PyAny>| part.is_instance_of::<PyEllipsis>();
    let ellipses = parts.iter().filter(|part| is_ellipsis(part)).count();
    if ellipses > 1 {
        return Err(PyIndexError::new_err("an index may have one ellipsis (`...`)"));
    }
    let (named, rank) = (parts.len() - ellipses, array_shape.len());
    if named > rank {
        return Err(PyIndexError::new_err(format!(
            "the index has {named} axes, the array has {rank}"
        )));
    }
    let mut axes = Vec::with_capacity(rank);
    for part in &parts {
        if is_ellipsis(part) {
            axes.extend((0..rank - named).map(|_| None));
        } else {
            axes.push(Some(part));
        }
    }
    axes.resize(rank, None);
    let mut shape = Vec::with_capacity(rank);
    let mut selected = Vec::with_capacity(rank);
    for (axis, (part, &len)) in axes.into_iter().zip(array_shape).enumerate() {
        let Some(part) = part else {
            shape.push(len);
            selected.push(steps(0..len, 1));
            continue;
        };
        let (along, result_len) = along(part, axis, len)?;
        shape.extend(result_len);
        selected.push(along);
    }
    let is_scalar = shape.is_empty() && ellipses == 0;
    Ok(Key { selection: Selection::outer(selected), shape, is_scalar })
}

/// What an integer or a slice selects along an axis, and how many elements; `None` if the result has no such axis.
fn along(part: &Bound<'_, PyAny>, axis: usize, len: u64) -> PyResult<(AxisSelection, Option<u64>)> {
    if let Ok(slice) = part.cast::<PySlice>() {
        let len = isize::try_from(len).unwrap_or(isize::MAX);
        let indices = slice.indices(len)?;
        let (start, step) = (indices.start as i64, indices.step as i64);
        let count = indices.slicelength as u64;
        if count == 0 {
            return Ok((steps(0..0, 1), Some(0)));
        }
        let last = start + (count as i64 - 1) * step;
        let (low, high) = (start.min(last) as u64, start.max(last) as u64);
        return Ok((steps(low..=high, step), Some(count)));
    }
    let index = part.call_method0("__index__").map_err(|_| {
        PyTypeError::new_err(format!(
            "an index is made of integers, slices and an ellipsis, not {}; `oindex` and `vindex` take lists and masks",
            part.get_type()
        ))
    })?;
    let outside = || {
        PyIndexError::new_err(format!(
            "index {index} is out of bounds for axis {axis} of {len} elements"
        ))
    };
    let index: i64 = index.extract().map_err(|_| outside())?;
    let at = if index < 0 { i128::from(index) + i128::from(len) } else { index.into() };
    match u64::try_from(at) {
        Ok(at) if at < len => Ok((AxisSelection::Index(at), None)),
        _ => Err(outside()),
    }
}

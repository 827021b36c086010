//! Arrays of integers and masks as coordinates.

use numpy::{
    PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyIndexError, PyMemoryError};
use pyo3::prelude::*;

use crate::keys::shape_text;
use crate::np;

/// An array of integers, or a mask, in C order.
pub struct Coordinates {
    /// How many elements along each axis.
    pub shape: Vec<u64>,
    /// The elements.
    pub indices: Indices,
}

/// What an array selects by.
pub enum Indices {
    /// Coordinates along one axis; negative ones count from its end.
    List(Vec<i64>),
    /// Whether an element is selected.
    Mask(Vec<bool>),
}

/// The coordinates that an array, or what NumPy makes one of, has; `None` for an integer.
///
/// # Errors
/// `IndexError` for other objects.
pub fn of(item: &Bound<'_, PyAny>) -> PyResult<Option<Coordinates>> {
    let is_array = item.is_instance_of::<PyUntypedArray>();
    let array: Bound<'_, PyUntypedArray> = match item.cast::<PyUntypedArray>() {
        Ok(array) => array.clone(),
        Err(_) => np::asarray(item, None)?,
    };
    let kind = array.dtype().kind();
    if array.ndim() == 0 {
        return match kind {
            b'i' | b'u' => Ok(None),
            b'b' => refused(format!(
                "{item} would add an axis, as `np.newaxis` does; a mask has the axes of the array"
            )),
            _ => refused(format!(
                "only integers, slices (`:`), ellipsis (`...`), integer and boolean arrays, and names of fields are valid indices, \
                 not {}",
                item.get_type().name()?
            )),
        };
    }
    let shape: Vec<u64> = array.shape().iter().map(|&len| len as u64).collect();
    let indices = match kind {
        b'b' => {
            let mask = array.cast::<PyArrayDyn<bool>>()?.try_readonly()?;
            Indices::Mask(mask.as_array().iter().copied().collect())
        }
        b'u' if array.dtype().itemsize() == 8 => {
            let list = np::asarray(item, Some(&numpy::dtype::<u64>(item.py())))?;
            let list = list.cast::<PyArrayDyn<u64>>()?.try_readonly()?;
            let list = list.as_array();
            let indices = list.iter().map(|at| {
                i64::try_from(*at)
                    .map_err(|_| PyIndexError::new_err(format!("index {at} is out of bounds")))
            });
            Indices::List(indices.collect::<PyResult<_>>()?)
        }
        b'i' | b'u' => {
            let list = np::asarray(&array, Some(&numpy::dtype::<i64>(item.py())))?;
            let list = list.cast::<PyArrayDyn<i64>>()?.try_readonly()?;
            Indices::List(list.as_array().iter().copied().collect())
        }
        // An empty list has no type.
        _ if array.len() == 0 && !is_array => Indices::List(Vec::new()),
        _ => {
            return refused(format!(
                "arrays used as indices must be of integer (or boolean) type, not {}",
                array.dtype()
            ));
        }
    };
    Ok(Some(Coordinates { shape, indices }))
}

/// The error of what is no list of coordinates.
fn refused(why: String) -> PyResult<Option<Coordinates>> {
    Err(PyIndexError::new_err(why))
}

impl Coordinates {
    /// One coordinate without an axis.
    pub fn one(index: i64) -> Coordinates {
        Coordinates { shape: Vec::new(), indices: Indices::List(vec![index]) }
    }

    /// The lengths of the axes of what is selected.
    pub fn lens(&self) -> Vec<u64> {
        match &self.indices {
            Indices::List(_) => self.shape.clone(),
            Indices::Mask(mask) => vec![mask.iter().filter(|taken| **taken).count() as u64],
        }
    }

    /// The coordinates along one axis, in C order of the array that had them.
    ///
    /// # Errors
    /// `IndexError` for a coordinate outside, or a mask of another length.
    pub fn list(&self, axis: usize, len: u64) -> PyResult<Vec<u64>> {
        match &self.indices {
            Indices::List(list) => list.iter().map(|&at| inside(at, axis, len)).collect(),
            Indices::Mask(mask) => {
                check_mask(&self.shape, &[len], axis)?;
                Ok((0..).zip(mask).filter(|(_, taken)| **taken).map(|(at, _)| at).collect())
            }
        }
    }

    /// A list for each axis that is selected of; `lens` are the lengths of these axes, the first of which is `axis`.
    ///
    /// # Errors
    /// As [`Coordinates::list`].
    pub fn by_axis(self, lens: &[u64], axis: usize) -> PyResult<Vec<Coordinates>> {
        let Indices::Mask(mask) = &self.indices else { return Ok(vec![self]) };
        let rank = self.shape.len();
        check_mask(&self.shape, &lens[..rank], axis)?;
        let mut lists = vec![Vec::new(); rank];
        for (mut at, _) in (0i64..).zip(mask).filter(|(_, taken)| **taken) {
            for (list, &len) in lists.iter_mut().zip(&self.shape).rev() {
                list.push(at % len as i64);
                at /= len as i64;
            }
        }
        Ok(lists
            .into_iter()
            .map(|list| Coordinates {
                shape: vec![list.len() as u64],
                indices: Indices::List(list),
            })
            .collect())
    }
}

/// The coordinate that an index means, which counts from the end if it is negative.
///
/// # Errors
/// `IndexError` if it is outside.
pub fn inside(index: i64, axis: usize, len: u64) -> PyResult<u64> {
    let at = if index < 0 { i128::from(index) + i128::from(len) } else { index.into() };
    match u64::try_from(at) {
        Ok(at) if at < len => Ok(at),
        _ => Err(PyIndexError::new_err(format!(
            "index {index} is out of bounds for axis {axis} with size {len}"
        ))),
    }
}

/// Refuses a mask of other lengths than the axes that it selects of, the first of which is `axis`.
///
/// # Errors
/// `IndexError`.
pub fn check_mask(mask: &[u64], lens: &[u64], axis: usize) -> PyResult<()> {
    for (number, (found, len)) in mask.iter().zip(lens).enumerate() {
        if found != len {
            let axis = axis + number;
            return Err(PyIndexError::new_err(format!(
                "boolean index did not match indexed array along axis {axis}; size of axis is {len} but size of corresponding boolean \
                 axis is {found}"
            )));
        }
    }
    Ok(())
}

/// The shape to which lists of coordinates are broadcast, and the coordinates of each of its elements along every axis.
///
/// # Errors
/// `IndexError` for shapes that do not fit each other, and for coordinates outside; `MemoryError` for more than memory holds.
pub fn broadcast(all: &[Coordinates], lens: &[u64]) -> PyResult<(Vec<u64>, Vec<Vec<u64>>)> {
    let rank = all.iter().map(|coordinates| coordinates.shape.len()).max().unwrap_or(0);
    let mut shape = vec![1u64; rank];
    for coordinates in all {
        for (len, &own) in
            shape[rank - coordinates.shape.len()..].iter_mut().zip(&coordinates.shape)
        {
            if *len == 1 {
                *len = own;
            } else if own != 1 && own != *len {
                let shapes: Vec<_> = all.iter().map(|each| shape_text(&each.shape)).collect();
                return Err(PyIndexError::new_err(format!(
                    "shape mismatch: indexing arrays could not be broadcast together with shapes {}",
                    shapes.join(" ")
                )));
            }
        }
    }
    let too_many = || {
        PyMemoryError::new_err(format!(
            "not enough memory for points in the shape {}",
            shape_text(&shape)
        ))
    };
    let count = shape.iter().try_fold(1u64, |count, &len| count.checked_mul(len));
    let count = count.and_then(|count| usize::try_from(count).ok()).ok_or_else(too_many)?;
    let mut lists = Vec::with_capacity(all.len());
    for (axis, (coordinates, &len)) in all.iter().zip(lens).enumerate() {
        let own = coordinates.list(axis, len)?;
        if own.len() == count {
            lists.push(own);
            continue;
        }
        let mut list = Vec::new();
        list.try_reserve_exact(count).map_err(|_| too_many())?;
        // The steps, in its elements, along each axis of the common shape.
        let mut strides = vec![0; rank];
        let mut stride = 1;
        for (at, &len) in coordinates.shape.iter().enumerate().rev() {
            strides[rank - coordinates.shape.len() + at] = if len == 1 { 0 } else { stride };
            stride *= len as usize;
        }
        for mut number in 0..count {
            let mut at = 0;
            for (&stride, &len) in strides.iter().zip(&shape).rev() {
                at += number % len as usize * stride;
                number /= len as usize;
            }
            list.push(own[at]);
        }
        lists.push(list);
    }
    Ok((shape, lists))
}

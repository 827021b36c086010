//! The memory of NumPy arrays as the library's views. All other unsafe code of this crate is in `strings`.

#![allow(unsafe_code)]

use numpy::npyffi::{NPY_ARRAY_WRITEABLE, PyArrayObject};
use numpy::{
    PY_ARRAY_API, PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyTuple};
use zarr::{View, ViewMut};

use crate::keys::shape_text;

/// The elements of a NumPy array, wherever they are in memory. It keeps the array alive.
///
/// As with every extension module, Python code that changes the array from another thread during a call changes what is written, or
/// overwrites what is read.
pub struct Memory {
    first: *mut u8,
    shape: Vec<u64>,
    strides: Vec<isize>,
    element_size: usize,
    _owner: Py<PyUntypedArray>,
}

// SAFETY: the array, and so its memory, lives as long as this value; nothing but the library touches the memory through it.
unsafe impl Send for Memory {}
// SAFETY: a shared `Memory` only reads.
unsafe impl Sync for Memory {}

impl Memory {
    /// The memory of an array whose elements have a fixed size and are no references.
    pub fn of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Memory> {
        let dtype = array.dtype();
        if dtype.has_object() {
            return Err(PyValueError::new_err(format!(
                "an array of dtype {dtype} holds references to Python objects, not elements"
            )));
        }
        let object: *mut PyArrayObject = array.as_array_ptr();
        Ok(Memory {
            // SAFETY: the pointer is that of a live array.
            first: unsafe { (*object).fields.data }.cast(),
            shape: array.shape().iter().map(|&len| len as u64).collect(),
            strides: array.strides().to_vec(),
            element_size: dtype.itemsize(),
            _owner: array.clone().unbind(),
        })
    }

    /// The same elements in another shape, repeated along axes of one element and along new ones in front: as NumPy assigns a value.
    ///
    /// # Errors
    /// `ValueError`, with NumPy's text, if the shapes do not fit.
    pub fn broadcast(mut self, shape: &[u64]) -> PyResult<Memory> {
        if self.shape == shape {
            return Ok(self);
        }
        let refused = || {
            PyValueError::new_err(format!(
                "could not broadcast input array from shape {} into shape {}",
                shape_text(&self.shape),
                shape_text(shape)
            ))
        };
        let extra = self.shape.len().saturating_sub(shape.len());
        if self.shape[..extra].iter().any(|&len| len != 1) {
            return Err(refused());
        }
        let (own, own_strides) = (&self.shape[extra..], &self.strides[extra..]);
        let new = shape.len() - own.len();
        let mut strides = vec![0; shape.len()];
        for (axis, (&len, &stride)) in own.iter().zip(own_strides).enumerate() {
            if len == shape[new + axis] {
                strides[new + axis] = stride;
            } else if len != 1 {
                return Err(refused());
            }
        }
        (self.shape, self.strides) = (shape.to_vec(), strides);
        Ok(self)
    }

    /// The shape of the array.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// How many bytes the elements have.
    pub fn size(&self) -> u64 {
        self.shape.iter().fold(self.element_size as u64, |size, &len| size.saturating_mul(len))
    }

    /// The bytes of the one element that there is, if there is one, in whatever shape.
    pub fn only_element(&self) -> Option<Vec<u8>> {
        let is_one = self.shape.iter().all(|&len| len == 1);
        // SAFETY: there is an element of that size, and `self` keeps the array alive.
        is_one
            .then(|| unsafe { std::slice::from_raw_parts(self.first, self.element_size) }.to_vec())
    }

    /// The elements, to be read.
    ///
    /// # Errors
    /// As [`View::strided`].
    pub fn view(&self) -> zarr::Result<View<'_>> {
        // SAFETY: NumPy describes memory that it owns or keeps alive, and `self` keeps the array alive.
        Ok(unsafe { View::from_raw(self.first, &self.shape, &self.strides, self.element_size) }?)
    }

    /// The elements, to be written.
    ///
    /// # Errors
    /// As [`ViewMut::strided`]: elements may not overlap.
    pub fn view_mut(&mut self) -> zarr::Result<ViewMut<'_>> {
        // SAFETY: as above, and the caller has checked that the array is writeable.
        Ok(unsafe { ViewMut::from_raw(self.first, &self.shape, &self.strides, self.element_size) }?)
    }

    /// The memory of an array that may be written to.
    pub fn writeable(array: &Bound<'_, PyUntypedArray>) -> PyResult<Memory> {
        // SAFETY: the pointer is that of a live array.
        let flags = unsafe { (*array.as_array_ptr()).fields.flags };
        if flags & NPY_ARRAY_WRITEABLE == 0 {
            return Err(PyValueError::new_err("`out` is read-only"));
        }
        Memory::of(array)
    }
}

/// A new array in C order, of zeros.
///
/// # Errors
/// `MemoryError` if no memory holds it.
pub fn zeros<'py>(
    py: Python<'py>,
    shape: &[u64],
    dtype: &Bound<'py, PyArrayDescr>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let size = shape.iter().map(|&len| len.max(1)).try_fold(1u64, u64::checked_mul);
    let size = size.and_then(|size| size.checked_mul(dtype.itemsize().max(1) as u64));
    if size.is_none_or(|size| isize::try_from(size).is_err()) {
        return Err(PyMemoryError::new_err(format!(
            "not enough memory for elements of {} bytes in the shape {}; read a smaller part",
            dtype.itemsize(),
            shape_text(shape)
        )));
    }
    if shape.len() > 32 {
        // NumPy's limit depends on its version.
        let shape = PyTuple::new(py, shape)?;
        return Ok(crate::np::zeros(py)?.call1((shape, dtype))?.cast_into()?);
    }
    let is_plain = !shape.contains(&0) && !dtype.has_object() && !dtype.has_subarray();
    if let Some(size) = size.filter(|&size| is_plain && size >= MIN_ALIGNED_BYTES)
        // Where there is too little memory, NumPy's error below names the array that was asked for.
        && let Ok(elements) = cache_aligned_zeros(py, shape, dtype, size as usize)
    {
        return Ok(elements);
    }
    let mut lens: Vec<isize> = shape.iter().map(|&len| len as isize).collect();
    // SAFETY: `lens` has as many lengths as are announced; the call takes over a reference to the dtype.
    unsafe {
        let array = PY_ARRAY_API.PyArray_Zeros(
            py,
            lens.len() as i32,
            lens.as_mut_ptr(),
            dtype.clone().into_dtype_ptr(),
            0,
        );
        Ok(Bound::from_owned_ptr_or_err(py, array)?.cast_into_unchecked())
    }
}

/// Arrays of at least this number of bytes begin at a line of the processor's cache.
const MIN_ALIGNED_BYTES: u64 = 1 << 20;
const LINE: usize = 64;

/// As [`zeros`], of `size` bytes that begin at a line of the cache. NumPy's begin 16 bytes past one, so that most rows of a chunk share their first and last line
/// with those of its neighbours, and reading takes up to a fifth longer.
fn cache_aligned_zeros<'py>(
    py: Python<'py>,
    shape: &[u64],
    dtype: &Bound<'py, PyArrayDescr>,
    size: usize,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let bytes = crate::np::zeros(py)?.call1((size + LINE, "u1"))?.cast_into::<PyUntypedArray>()?;
    // SAFETY: the pointer is that of a live array.
    let begin = unsafe { (*bytes.as_array_ptr()).fields.data }.align_offset(LINE);
    let part = PySlice::new(py, begin as isize, (begin + size) as isize, 1);
    let elements = bytes.get_item(part)?.call_method1("view", (dtype,))?;
    Ok(elements.call_method1("reshape", (PyTuple::new(py, shape)?,))?.cast_into()?)
}

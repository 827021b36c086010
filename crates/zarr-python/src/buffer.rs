//! The memory of NumPy arrays as the library's views. All unsafe code of this crate is here.

#![allow(unsafe_code)]

use numpy::npyffi::PyArrayObject;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use zarr::{View, ViewMut};

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
        if !array.getattr("flags")?.getattr("writeable")?.extract::<bool>()? {
            return Err(PyValueError::new_err("`out` is read-only"));
        }
        Memory::of(array)
    }
}

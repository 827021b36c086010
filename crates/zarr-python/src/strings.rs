//! Arrays of NumPy's `StringDType`, filled and read without an object for each string.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr;

use numpy::npyffi::PyArrayObject;
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyCapsule;
use zarr::var_buffer::VarStream;

/// A string as NumPy shows it.
#[repr(C)]
struct UnpackedString {
    size: usize,
    first: *const c_char,
}

type Allocator = *mut c_void;

type Load = unsafe extern "C" fn(Allocator, *const c_void, *mut UnpackedString) -> c_int;
type Pack = unsafe extern "C" fn(Allocator, *mut c_void, *const c_char, usize) -> c_int;
type Acquire = unsafe extern "C" fn(*const c_void) -> Allocator;
type Release = unsafe extern "C" fn(Allocator);

/// NumPy's functions for strings, of which the crate `numpy` has none: numbers of its table of functions since NumPy 2.0.
struct Functions {
    load: Load,
    pack: Pack,
    acquire: Acquire,
    release: Release,
}

const LOAD: usize = 313;
const PACK: usize = 314;
const ACQUIRE: usize = 316;
const RELEASE: usize = 318;

fn functions(py: Python<'_>) -> PyResult<&Functions> {
    static FUNCTIONS: PyOnceLock<Functions> = PyOnceLock::new();
    crate::fork::kept(py, &FUNCTIONS, || {
        let module = py.import("numpy._core._multiarray_umath")?;
        let capsule = module.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
        let table = capsule.pointer_checked(None)?.as_ptr() as *const *const c_void;
        // SAFETY: NumPy 2.0 and later, which the package requires, have functions of these types at these places
        // (numpy/__multiarray_api.h), and the module is never unloaded.
        unsafe {
            Ok(Functions {
                load: transmute::<*const c_void, Load>(*table.add(LOAD)),
                pack: transmute::<*const c_void, Pack>(*table.add(PACK)),
                acquire: transmute::<*const c_void, Acquire>(*table.add(ACQUIRE)),
                release: transmute::<*const c_void, Release>(*table.add(RELEASE)),
            })
        }
    })
}

/// The strings of an array, which no other thread may change concurrently: NumPy has a lock for each array's strings.
struct Strings<'py> {
    functions: &'py Functions,
    allocator: Allocator,
    _dtype: Bound<'py, PyArrayDescr>,
}

impl Drop for Strings<'_> {
    fn drop(&mut self) {
        // SAFETY: it was acquired, once.
        unsafe { (self.functions.release)(self.allocator) }
    }
}

impl<'py> Strings<'py> {
    fn of(array: &Bound<'py, PyUntypedArray>) -> PyResult<Strings<'py>> {
        let (functions, dtype) = (functions(array.py())?, array.dtype());
        if dtype.char() != b'T' {
            return Err(PyValueError::new_err(format!("{dtype} is not a StringDType")));
        }
        // SAFETY: the dtype is a `StringDType`, and is kept.
        let allocator = unsafe { (functions.acquire)(dtype.as_dtype_ptr() as *const c_void) };
        Ok(Strings { functions, allocator, _dtype: dtype })
    }
}

/// The strings in a stream, each after its length of four little-endian bytes, to a new array in C order.
///
/// # Errors
/// `MemoryError`; `ValueError` for bytes that are no UTF-8.
pub fn fill(array: &Bound<'_, PyUntypedArray>, stream: &[u8]) -> PyResult<()> {
    let strings = Strings::of(array)?;
    let size = array.dtype().itemsize();
    let object: *mut PyArrayObject = array.as_array_ptr();
    // SAFETY: the pointer is that of a live array.
    let first = unsafe { (*object).fields.data }.cast::<u8>();
    let mut elements = VarStream::new(stream);
    for number in 0..array.len() {
        let element = elements.next().unwrap_or_default();
        std::str::from_utf8(element)
            .map_err(|e| PyValueError::new_err(format!("string {number} is not UTF-8: {e}")))?;
        // SAFETY: the array was just made, in C order: it has that number of elements, one after the other.
        let packed = unsafe {
            let place = first.add(number * size).cast::<c_void>();
            (strings.functions.pack)(
                strings.allocator,
                place,
                element.as_ptr().cast(),
                element.len(),
            )
        };
        if packed < 0 {
            return Err(PyMemoryError::new_err("not enough memory for these strings"));
        }
    }
    Ok(())
}

/// Calls `each` with every string of an array, in C order.
///
/// # Errors
/// `ValueError` for a missing string; those of `each`.
pub fn each(
    array: &Bound<'_, PyUntypedArray>,
    mut each: impl FnMut(&[u8]) -> PyResult<()>,
) -> PyResult<()> {
    let strings = Strings::of(array)?;
    let (shape, strides) = (array.shape(), array.strides());
    if shape.contains(&0) {
        return Ok(());
    }
    let object: *mut PyArrayObject = array.as_array_ptr();
    // SAFETY: the pointer is that of a live array.
    let first = unsafe { (*object).fields.data }.cast::<u8>().cast_const();
    let mut at = vec![0; shape.len()];
    loop {
        let offset: isize = at.iter().zip(strides).map(|(&at, &stride)| at as isize * stride).sum();
        let mut shown = UnpackedString { size: 0, first: ptr::null() };
        // SAFETY: NumPy describes where its elements are, and `at` is inside the shape.
        let loaded = unsafe {
            (strings.functions.load)(strings.allocator, first.offset(offset).cast(), &mut shown)
        };
        match loaded {
            0 if shown.size == 0 => each(&[])?,
            // SAFETY: NumPy has that number of bytes there for as long as the lock is held.
            0 => each(unsafe { std::slice::from_raw_parts(shown.first.cast(), shown.size) })?,
            1 => {
                return Err(PyValueError::new_err(
                    "a missing string cannot be stored; replace it with a string, such as the empty one",
                ));
            }
            _ => return Err(PyMemoryError::new_err("NumPy could not load a string")),
        }
        // The next in C order.
        let mut axis = shape.len();
        loop {
            if axis == 0 {
                return Ok(());
            }
            axis -= 1;
            at[axis] += 1;
            if at[axis] < shape[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
}

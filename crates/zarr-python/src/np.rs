//! The functions of NumPy that are called often, each looked up once.

use numpy::{PyArrayDescr, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::fork;

/// A function of the module `numpy`, which is kept.
macro_rules! kept {
    ($($(#[$doc:meta])* $name:ident = $numpy:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
            static KEPT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let found = fork::kept(py, &KEPT, || {
                Ok(py.import("numpy")?.getattr($numpy)?.unbind())
            })?;
            Ok(found.bind(py))
        }
    )*};
}

kept! {
    /// `numpy.asarray`
    asarray_function = "asarray";
    /// `numpy.broadcast_to`
    broadcast_to = "broadcast_to";
    /// `numpy.dtype`
    dtype = "dtype";
    /// `numpy.frombuffer`
    frombuffer = "frombuffer";
    /// `numpy.copyto`
    copyto = "copyto";
    /// `numpy.zeros`
    zeros = "zeros";
    /// `numpy.logical_not`
    logical_not = "logical_not";
    /// `numpy.ma`
    ma = "ma";
}

/// An array of what `numpy.asarray` takes; with another dtype, a copy.
pub fn asarray<'py>(
    value: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyArrayDescr>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let function = asarray_function(value.py())?;
    let array = match dtype {
        Some(dtype) => function.call1((value, dtype))?,
        None => function.call1((value,))?,
    };
    Ok(array.cast_into()?)
}

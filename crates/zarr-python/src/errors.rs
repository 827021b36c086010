//! Errors of the library as exceptions of Python. Their classes are in `zarrkit/_errors.py`: each is one of Python's own, too.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::py_store;

/// The exception for an error of the library. If that comes from an exception of a store of Python's, this one is its `__cause__`.
pub fn exception(py: Python<'_>, error: &zarr::Error) -> PyErr {
    made(py, error, false)
}

/// The exception for an error of looking up a member of a group: one that is not there is a `KeyError`, too.
pub fn member_exception(py: Python<'_>, error: &zarr::Error) -> PyErr {
    made(py, error, true)
}

fn made(py: Python<'_>, error: &zarr::Error, is_lookup: bool) -> PyErr {
    let cause = py_store::cause(error).map(|cause| cause.clone_ref(py));
    if let Some(exit) = cause.as_ref().filter(|cause| !cause.is_instance_of::<PyException>(py)) {
        // Such as that of Ctrl-C, which is no error of the store's.
        return exit.clone_ref(py);
    }
    match build(py, error, is_lookup) {
        Ok(made) => {
            made.set_cause(py, cause);
            made
        }
        Err(failed) => failed,
    }
}

/// The exception, without its cause.
fn build(py: Python<'_>, error: &zarr::Error, is_lookup: bool) -> PyResult<PyErr> {
    let details = PyDict::new(py);
    details.set_item("errno", errno(error))?;
    details.set_item("store", error.store())?;
    details.set_item("path", error.path().map(|path| path.as_str()))?;
    details.set_item("key", error.key().map(|key| key.as_str()))?;
    details.set_item("chunk", error.chunk().map(<[i64]>::to_vec))?;
    details.set_item("hint", error.hint())?;
    details.set_item("hint_id", error.hint_id())?;
    let make = py.import("zarrkit._errors")?.getattr("exception")?;
    let made = make.call1((error.kind().name(), error.message(), details, is_lookup))?;
    Ok(PyErr::from_value(made))
}

/// What the system calls "permission denied".
const EACCES: i32 = 13;

/// The number of the system's call that failed; what a server does not permit has that of a file.
fn errno(error: &zarr::Error) -> Option<i32> {
    let mut next: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            let is_denied = error.kind() == std::io::ErrorKind::PermissionDenied;
            return error.raw_os_error().or(is_denied.then_some(EACCES));
        }
        next = error.source();
    }
    None
}

/// Turns errors of the library into exceptions.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Into<zarr::Error>> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error.into()))
    }
}

/// Messages of the library, with the names that things have in Python.
pub fn in_words_of_python(py: Python<'_>, messages: &[String]) -> PyResult<Vec<String>> {
    let words = py.import("zarrkit._errors")?.getattr("in_words_of_python")?;
    messages.iter().map(|message| words.call1((message,))?.extract()).collect()
}

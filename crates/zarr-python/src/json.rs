//! JSON values as Python's objects, and back.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use zarr::{Json, Object};

/// The most containers in each other that attributes may have.
const MOST_DEPTH: usize = 128;

/// A JSON value as Python's own: numbers are `int` or `float`, objects are `dict`.
pub fn to_python<'py>(py: Python<'py>, value: &Json) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Json::Null => py.None().into_bound(py),
        Json::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Json::String(text) => PyString::new(py, text).into_any(),
        Json::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Json::Object(object) => object_to_python(py, object)?.into_any(),
        // Numbers: Python's parser keeps integers of any size.
        number => py.import("json")?.getattr("loads")?.call1((number.to_string(),))?,
    })
}

/// A JSON object as a `dict`.
pub fn object_to_python<'py>(py: Python<'py>, object: &Object) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in object.iter() {
        dict.set_item(name, to_python(py, value)?)?;
    }
    Ok(dict)
}

/// A Python value as JSON: `None`, bools, numbers, text, lists, tuples, dicts, and NumPy's scalars and arrays.
///
/// # Errors
/// `TypeError` for other values; `ValueError` for values nested too deep.
pub fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Json> {
    nested(value, 0)
}

fn nested(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Json> {
    if depth > MOST_DEPTH {
        return Err(PyValueError::new_err(format!("a value has more than {MOST_DEPTH} levels")));
    }
    if value.is_none() {
        return Ok(Json::Null);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Json::Bool(flag.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Json::from(text.to_str()?));
    }
    if value.cast::<PyInt>().is_ok() || value.cast::<PyFloat>().is_ok() {
        let text = value.py().import("json")?.getattr("dumps")?.call1((value,))?;
        let (json, _) = Json::parse_tolerant(text.extract::<&str>()?.as_bytes())
            .map_err(PyValueError::new_err)?;
        return Ok(json);
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return Ok(Json::Object(object_nested(dict, depth)?));
    }
    if value.cast::<PyList>().is_ok() || value.cast::<PyTuple>().is_ok() {
        let items = value.try_iter()?.map(|item| nested(&item?, depth + 1));
        return Ok(Json::Array(items.collect::<PyResult<_>>()?));
    }
    // NumPy makes numbers of some times, objects of others.
    if let Ok(dtype) = value.getattr("dtype")
        && let Ok(kind) = dtype.getattr("kind")?.extract::<char>()
        && matches!(kind, 'm' | 'M')
    {
        return Err(PyTypeError::new_err(format!(
            "JSON has no value for {dtype}; give text, such as `str(value)`, or numbers with their units in another attribute"
        )));
    }
    // NumPy's scalars and arrays.
    if let Ok(plain) = value.call_method0("tolist") {
        return nested(&plain, depth + 1);
    }
    Err(PyTypeError::new_err(format!("JSON has no value for {}", value.get_type())))
}

/// A `dict` as a JSON object.
///
/// # Errors
/// As [`from_python`]; `TypeError` for names that are not text.
pub fn object_from_python(dict: &Bound<'_, PyDict>) -> PyResult<Object> {
    object_nested(dict, 0)
}

fn object_nested(dict: &Bound<'_, PyDict>, depth: usize) -> PyResult<Object> {
    let mut object = Object::new();
    for (name, value) in dict.iter() {
        let name = name.cast::<PyString>().map_err(|_| {
            PyTypeError::new_err(format!("attribute names must be strings, not {name:?}"))
        })?;
        object.insert(name.to_str()?, nested(&value, depth + 1)?);
    }
    Ok(object)
}

//! Data types as NumPy's dtypes, and back.

use numpy::PyArrayDescr;
use pyo3::exceptions::PyModuleNotFoundError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use zarr::Json;
use zarr::data_type::{DataType, Endian};

use crate::json;

/// The dtype of a data type's elements in memory: NumPy's, one of `ml_dtypes`, or a `StringDType`.
///
/// # Errors
/// `NotImplementedError` for types that NumPy cannot hold; `ModuleNotFoundError` if `ml_dtypes` is needed and not installed.
pub fn of_data_type<'py>(
    py: Python<'py>,
    data_type: &DataType,
) -> PyResult<Bound<'py, PyArrayDescr>> {
    of_data_type_in(py, data_type, Endian::NATIVE)
}

/// As [`of_data_type`], of elements in this byte order.
pub fn of_data_type_in<'py>(
    py: Python<'py>,
    data_type: &DataType,
    endian: Endian,
) -> PyResult<Bound<'py, PyArrayDescr>> {
    let Some(descr) = data_type.numpy_descr(endian) else {
        return Err(pyo3::exceptions::PyNotImplementedError::new_err(format!(
            "NumPy has no dtype for {data_type}"
        )));
    };
    of_descr(py, &descr)
}

/// The dtype that a `descr` names.
pub fn of_descr<'py>(py: Python<'py>, descr: &Json) -> PyResult<Bound<'py, PyArrayDescr>> {
    let numpy = py.import("numpy")?;
    let argument = match descr {
        Json::String(name) if name == "T" => {
            return Ok(numpy.getattr("dtypes")?.call_method0("StringDType")?.cast_into()?);
        }
        Json::String(name) if name.starts_with(['<', '>', '|', '=']) => json::to_python(py, descr)?,
        Json::String(name) => ml_dtypes(py, name)?.getattr(name.as_str())?,
        Json::Array(fields) => fields_of(py, fields)?.into_any(),
        other => json::to_python(py, other)?,
    };
    Ok(numpy.getattr("dtype")?.call1((argument,))?.cast_into()?)
}

/// The package that brings the small numbers which NumPy has not.
fn ml_dtypes<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import("ml_dtypes").map_err(|missing| {
        let why = format!("elements of type {name} need the package `ml_dtypes`; install it");
        let error = PyModuleNotFoundError::new_err(why);
        error.set_cause(py, Some(missing));
        error
    })
}

/// The fields of a record as NumPy takes them: tuples.
fn fields_of<'py>(py: Python<'py>, fields: &[Json]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for field in fields {
        let Json::Array(parts) = field else { continue };
        let mut items = Vec::new();
        for (position, part) in parts.iter().enumerate() {
            items.push(match (position, part) {
                (1, descr) => of_descr(py, descr)?.into_any(),
                (2, Json::Array(shape)) => {
                    let lens = shape.iter().map(|len| json::to_python(py, len));
                    PyTuple::new(py, lens.collect::<PyResult<Vec<_>>>()?)?.into_any()
                }
                (_, name) => json::to_python(py, name)?,
            });
        }
        list.append(PyTuple::new(py, items)?)?;
    }
    Ok(list)
}

/// The data type that elements of a dtype have, and the byte order in which they are to be stored, if the dtype says one.
///
/// `value` is what `numpy.dtype` takes, or the name of a data type of any dialect.
///
/// # Errors
/// `TypeError` or `ValueError` for what names no type.
pub fn to_descr(value: &Bound<'_, PyAny>) -> PyResult<Json> {
    let helper = value.py().import("zarrkit._dtype")?.getattr("descr_of")?;
    json::from_python(&helper.call1((value,))?)
}

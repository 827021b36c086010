//! Groups of NCZarr datasets for xarray: dimensions, typed attributes, and the arrays of variables.

use numpy::{Element, PyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use zarr::OpenOptions;
use zarr::nczarr::{Attribute, Dataset, DatasetOptions, Values};

use crate::array::Array;
use crate::errors::OrRaise;
use crate::group::Group;
use crate::open;

/// What a group of an NCZarr dataset defines; None for a group of other Zarr data. A dict:
///
/// - `attrs`: the attributes, with the types of netCDF;
/// - `unlimited`: the names of its dimensions that grow;
/// - `variables`: by name, dicts of `array`, `type` (as in CDL), `dims`, `shape` (the present lengths of the dimensions: the array may be
///   shorter, that of a scalar has one axis), `fill` and `attrs`;
/// - `groups`: the names of the groups in it;
/// - `left_out`: by name, why an array is no variable.
///
/// # Errors
/// For documents that break NCZarr's rules.
#[pyfunction]
pub fn netcdf_group<'py>(py: Python<'py>, group: &Group) -> PyResult<Option<Bound<'py, PyDict>>> {
    let hierarchy = group.inner.hierarchy();
    let opened: zarr::Result<_> = py.detach(|| {
        if !Dataset::is_nczarr(hierarchy) {
            return Ok(None);
        }
        let options = DatasetOptions::of(OpenOptions::new(open::REGISTRY.clone()));
        let dataset = Dataset::open(hierarchy.store().clone(), &options)?;
        let found = dataset.group(group.inner.path().as_str())?;
        Ok(Some((dataset, found)))
    });
    let Some((dataset, found)) = opened.or_raise(py)? else { return Ok(None) };
    let schema = found.schema().or_raise(py)?;
    let variables = PyDict::new(py);
    for defined in &schema.variables {
        let variable = found.variable(&defined.name).or_raise(py)?;
        let array = variable.array().or_raise(py)?;
        let dims: Vec<String> = defined
            .dimensions
            .iter()
            .map(|full| full.rsplit('/').next().unwrap_or_default().to_owned())
            .collect();
        let item = PyDict::new(py);
        item.set_item("array", Py::new(py, Array::new(array, group.origin.clone()))?)?;
        item.set_item("type", defined.ty.name())?;
        item.set_item("dims", dims)?;
        item.set_item("shape", variable.shape().or_raise(py)?)?;
        item.set_item("fill", value(py, &defined.fill(), true)?)?;
        item.set_item("attrs", attributes(py, &defined.attributes)?)?;
        variables.set_item(&defined.name, item)?;
    }
    let unlimited = schema.dimensions.iter().filter(|dimension| dimension.unlimited);
    let unlimited: Vec<&str> = unlimited.map(|dimension| dimension.name.as_str()).collect();
    let groups: Vec<&str> = schema.groups.iter().map(|group| group.name.as_str()).collect();
    let left_out = PyDict::new(py);
    for opaque in &schema.opaque {
        left_out.set_item(&opaque.name, &opaque.why)?;
    }
    let defined = PyDict::new(py);
    defined.set_item("attrs", attributes(py, &schema.attributes)?)?;
    defined.set_item("unlimited", unlimited)?;
    defined.set_item("variables", variables)?;
    defined.set_item("groups", groups)?;
    defined.set_item("left_out", left_out)?;
    defined.set_item("profile", dataset.profile().name())?;
    Ok(Some(defined))
}

fn attributes<'py>(py: Python<'py>, attributes: &[Attribute]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for attribute in attributes {
        let as_element = attribute.name == "_FillValue";
        dict.set_item(&attribute.name, value(py, &attribute.value, as_element)?)?;
    }
    Ok(dict)
}

/// Values as Python's netCDF4 gives them: text as `str`, one number as NumPy's scalar, several as an array. Characters that are an element
/// are bytes.
fn value<'py>(py: Python<'py>, values: &Values, as_element: bool) -> PyResult<Bound<'py, PyAny>> {
    Ok(match values {
        Values::Char(text) if as_element => PyBytes::new(py, text).into_any(),
        Values::Char(text) => String::from_utf8_lossy(text).into_bound_py_any(py)?,
        Values::String(texts) => match &texts[..] {
            [text] => text.into_bound_py_any(py)?,
            texts => PyList::new(py, texts)?.into_any(),
        },
        Values::Byte(numbers) => array(py, numbers)?,
        Values::Ubyte(numbers) => array(py, numbers)?,
        Values::Short(numbers) => array(py, numbers)?,
        Values::Ushort(numbers) => array(py, numbers)?,
        Values::Int(numbers) => array(py, numbers)?,
        Values::Uint(numbers) => array(py, numbers)?,
        Values::Int64(numbers) => array(py, numbers)?,
        Values::Uint64(numbers) => array(py, numbers)?,
        Values::Float(numbers) => array(py, numbers)?,
        Values::Double(numbers) => array(py, numbers)?,
        Values::Bool(flags) => array(py, flags)?,
        Values::Complex64(pairs) => {
            let wide: Vec<[f64; 2]> = pairs.iter().map(|pair| pair.map(f64::from)).collect();
            complex(py, &wide, "complex64")?
        }
        Values::Complex128(pairs) => complex(py, pairs, "complex128")?,
    })
}

fn array<'py, T: Element + Copy>(py: Python<'py>, numbers: &[T]) -> PyResult<Bound<'py, PyAny>> {
    let all = PyArray1::from_slice(py, numbers).into_any();
    if numbers.len() == 1 { all.get_item(0) } else { Ok(all) }
}

fn complex<'py>(py: Python<'py>, pairs: &[[f64; 2]], dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    let parts: Vec<f64> = pairs.iter().flatten().copied().collect();
    let all = PyArray1::from_vec(py, parts).call_method1("view", ("complex128",))?;
    let all = all.call_method1("astype", (dtype,))?;
    if pairs.len() == 1 { all.get_item(0) } else { Ok(all) }
}

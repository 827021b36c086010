//! Reads and writes fields of records: `a["x"]`, `a["x", 0:3]`, `a[["x", "y"]]`.

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::array::{CallOptions, arrange, as_selected, size_of};
use crate::call::Call;
use crate::elements::Layout;
use crate::keys::{Fields, Key};
use crate::{call, np};

/// The names of fields, and a dtype that has only them.
fn picked<'py>(
    dtype: &Bound<'py, PyArrayDescr>,
    fields: &Fields,
) -> PyResult<(Vec<String>, Bound<'py, PyArrayDescr>)> {
    let py = dtype.py();
    let names = match fields {
        Fields::One(name) => vec![name.clone()],
        Fields::Many(names) => names.clone(),
    };
    let Some(known) = dtype.names().filter(|_| dtype.has_fields()) else {
        return Err(PyIndexError::new_err(format!("elements are {dtype} and have no fields")));
    };
    let list = PyList::empty(py);
    for name in &names {
        if !known.contains(name) {
            return Err(PyValueError::new_err(format!(
                "no field of name {name}; the fields are {}",
                known.join(", ")
            )));
        }
        list.append((name, dtype.get_item(name.as_str())?))?;
    }
    Ok((names, np::dtype(py)?.call1((list,))?.cast_into()?))
}

/// Reads fields into a new array: of the field's elements, or of records of several fields.
pub fn read<'py>(
    py: Python<'py>,
    layout: &Layout,
    array: &zarr::Array,
    how: &CallOptions<'py>,
    key: Key,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(fields) = &key.fields else {
        return Err(PyIndexError::new_err("no field is named"));
    };
    let (names, native) = picked(layout.native.bind(py), fields)?;
    let (_, dtype) = picked(layout.dtype.bind(py), fields)?;
    let selected = PyTuple::new(py, &key.selected)?;
    let records = match &names[..] {
        [name] => {
            let bytes = bytes_of(py, array, how, &key, name, native.itemsize())?;
            np::frombuffer(py)?.call1((bytes, native))?.call_method1("reshape", (selected,))?
        }
        names => {
            let records = crate::buffer::zeros(py, &key.selected, &native)?.into_any();
            for name in names {
                let of_field = PyList::new(py, [(name, native.get_item(name.as_str())?)])?;
                let field = np::dtype(py)?.call1((of_field,))?;
                let size = field.getattr("itemsize")?.extract()?;
                let bytes = bytes_of(py, array, how, &key, name, size)?;
                let elements = np::frombuffer(py)?.call1((bytes, field))?;
                let elements = elements.call_method1("reshape", (&selected,))?;
                records.set_item(name, elements.get_item(name)?)?;
            }
            records
        }
    };
    let records = arrange(records, key.arranged.as_ref())?;
    // A copy: what was read may not be written to.
    let records = records.call_method1("astype", (dtype,))?;
    match fields {
        Fields::One(name) => records.get_item(name),
        Fields::Many(_) => Ok(records),
    }
}

fn bytes_of<'py>(
    py: Python<'py>,
    array: &zarr::Array,
    how: &CallOptions<'py>,
    key: &Key,
    name: &str,
    itemsize: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let size = size_of(&key.selected, itemsize);
    let (selection, field) = (key.selection.clone(), name.to_owned());
    let call = how.call(&key.selection, size);
    let bytes = call::on_array(py, array, call, (), move |array, ()| {
        array.read_field_bytes(&field, selection)
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Writes fields; the others stay as they are. Several fields are written one after the other.
pub fn write<'py>(
    py: Python<'py>,
    layout: &Layout,
    array: &zarr::Array,
    how: &CallOptions<'py>,
    key: Key,
    value: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let Some(fields) = &key.fields else {
        return Err(PyIndexError::new_err("no field is named"));
    };
    let (names, native) = picked(layout.native.bind(py), fields)?;
    let records = crate::buffer::zeros(py, &key.shape(), &native)?.into_any();
    match fields {
        Fields::One(name) => {
            let field = records.get_item(name)?;
            field.set_item(py.Ellipsis(), value)?;
        }
        Fields::Many(_) => records.set_item(py.Ellipsis(), value)?,
    }
    let records = as_selected(records.cast_into()?, &key)?;
    for name in &names {
        let bytes = records.get_item(name)?.call_method0("tobytes")?;
        let bytes = bytes.cast::<PyBytes>()?.as_bytes().to_vec();
        let (selection, field) = (key.selection.clone(), name.clone());
        let call = Call { writes: true, ..how.call(&key.selection, bytes.len() as u64) };
        call::on_array(py, array, call, bytes, move |array, bytes| {
            array.write_field_bytes(&field, selection, bytes)
        })?;
    }
    Ok(())
}

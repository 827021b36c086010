//! The class `Array`: reading and writing. Its other properties are in `properties`.

use std::sync::Arc;

use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use zarr::{DataType, Dialect, Error, Hierarchy, MetadataError, Selection};

use crate::buffer::{Memory, zeros};
use crate::call::Call;
use crate::elements::{Form, Layout};
use crate::errors::OrRaise;
use crate::keys::{self, Key};
use crate::open::Origin;
use crate::{call, fork, np};

/// An array in a store. It is indexed as NumPy's; what is selected is read when it is asked for.
#[pyclass(frozen, module = "zarrkit", weakref)]
pub struct Array {
    pub inner: zarr::Array,
    pub origin: Arc<Origin>,
    layout: PyOnceLock<Layout>,
}

/// How a caller asks for one read or write.
#[derive(Default)]
pub struct CallOptions<'py> {
    /// How many threads read, write and (de)compress chunks.
    pub threads: Option<i64>,
    /// What is called with the progress.
    pub progress: Option<Bound<'py, PyAny>>,
}

impl<'py> CallOptions<'py> {
    /// A call that reads or writes a selection, of `bytes` bytes of elements.
    pub fn call<'a>(&self, selection: &'a Selection, bytes: u64) -> Call<'a>
    where
        'py: 'a,
    {
        Call {
            threads: self.threads,
            progress: self.progress.clone(),
            selection: Some(selection),
            bytes,
            ..Call::default()
        }
    }
}

/// Whether v2 declares Python's objects, and no codec that the library knows says what they are.
fn are_objects(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Unknown { declared, .. } if declared.as_str() == Some("|O"))
}

impl Array {
    pub fn new(inner: zarr::Array, origin: Arc<Origin>) -> Array {
        Array { inner, origin, layout: PyOnceLock::new() }
    }

    /// How the elements are in NumPy's arrays.
    pub fn layout(&self, py: Python<'_>) -> PyResult<&Layout> {
        fork::kept(py, &self.layout, || self.layout_now(py))
    }

    fn layout_now(&self, py: Python<'_>) -> PyResult<Layout> {
        let metadata = self.inner.metadata();
        let hierarchy: &Hierarchy = self.inner.hierarchy();
        let in_type = hierarchy.dialect() != Dialect::V3;
        let layout =
            Layout::new(py, &metadata.data_type, in_type.then_some(&metadata.declared_type));
        // Elements of no type that NumPy has: what the library says of them says more.
        match (layout, metadata.unsupported.iter().find(|it| it.what == "codec")) {
            (Err(error), Some(codec)) if error.is_instance_of::<PyNotImplementedError>(py) => {
                let error = Error::from(MetadataError::from(codec.clone()));
                let store = hierarchy.store().name();
                Err(error.at_store(store).at_path(self.inner.path())).or_raise(py)
            }
            (Err(error), None)
                if are_objects(&metadata.data_type)
                    && error.is_instance_of::<PyNotImplementedError>(py) =>
            {
                let codecs: Vec<String> = metadata.codecs.iter().map(ToString::to_string).collect();
                Err(PyNotImplementedError::new_err(format!(
                    "NumPy has no dtype for the objects that the codecs store: {}",
                    codecs.join(", ")
                )))
            }
            (layout, _) => layout,
        }
    }

    /// The dtype of the elements.
    pub fn dtype_of<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        Ok(self.layout(py)?.dtype.bind(py).clone())
    }

    /// Bytes of an element in memory.
    pub fn itemsize(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.dtype_of(py)?.itemsize() as u64)
    }

    /// Reads what a key selects into `out`, or into a new array.
    pub fn read_key<'py>(
        &self,
        py: Python<'py>,
        how: &CallOptions<'py>,
        key: Key,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let layout = self.layout(py)?;
        let is_scalar = key.is_scalar;
        let out = out.map(|out| out_array(out, &key, self, layout)).transpose()?;
        // Chunks are decoded straight into what the caller gets, if it has the same form.
        let direct = out.as_ref().filter(|out| {
            key.fields.is_none()
                && key.arranged.is_none()
                && layout.is_fixed()
                && out.dtype().is_equiv_to(layout.memory(py))
        });
        if let Some(out) = direct {
            read_into(py, &self.inner, how, key, out, true)?;
            return Ok(out.clone().into_any());
        }
        let elements = if key.fields.is_some() {
            crate::fields::read(py, layout, &self.inner, how, key)?
        } else {
            read_new(py, layout, &self.inner, how, key)?
        };
        if let Some(out) = out {
            if matches!(layout.form, Form::Optional(_))
                && !out.is_instance(np::ma(py)?.getattr("MaskedArray")?.as_any())?
            {
                return Err(PyValueError::new_err(
                    "elements may be missing: `out` must be a numpy.ma.MaskedArray",
                ));
            }
            out.set_item(py.Ellipsis(), elements)?;
            return Ok(out.into_any());
        }
        if is_scalar { elements.get_item(PyTuple::empty(py)) } else { Ok(elements) }
    }

    /// Writes a value, broadcast to the shape of what a key selects.
    pub fn write_key<'py>(
        &self,
        py: Python<'py>,
        how: &CallOptions<'py>,
        key: Key,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let layout = self.layout(py)?;
        if key.fields.is_some() {
            return crate::fields::write(py, layout, &self.inner, how, key, value);
        }
        let size = size_of(&key.selected, layout.memory(py).itemsize());
        let selection = key.selection.clone();
        let call = Call { writes: true, ..how.call(&key.selection, size) };
        if !layout.is_fixed() {
            let value = layout.objects(value, key.is_scalar)?;
            if value.len() == 1 {
                // However many elements are selected, memory has one.
                let element = layout.to_list(&value)?.pop().unwrap_or_default();
                return call::on_array(py, &self.inner, call, element, |array, element| {
                    array.write_fill(selection, element)
                });
            }
            let stream = layout.to_stream(&as_selected(value, &key)?)?;
            return call::on_array(py, &self.inner, call, stream, |array, stream| {
                array.write_bytes(selection, stream)
            });
        }
        let mut value = layout.given_by_caller(value)?;
        if key.arranged.is_some() {
            value = as_selected(value, &key)?;
        }
        let memory = Memory::of(&value)?;
        let element = memory.only_element();
        let memory = memory.broadcast(&key.selected)?;
        match element {
            Some(element) => call::on_array(py, &self.inner, call, element, |array, element| {
                array.write_fill(selection, element)
            }),
            None => call::on_array(py, &self.inner, call, memory, |array, memory| {
                array.write_view(selection, memory.view()?)
            }),
        }
    }
}

/// Bytes of elements in a shape.
pub fn size_of(shape: &[u64], itemsize: usize) -> u64 {
    shape.iter().fold(itemsize as u64, |size, &len| size.saturating_mul(len))
}

/// The caller's memory for a result, if it fits.
fn no_memory(out: &Bound<'_, PyAny>) -> PyErr {
    let kind = out.get_type();
    PyTypeError::new_err(format!(
        "`out` must be memory to read into, such as a NumPy array, not {kind}"
    ))
}

fn out_array<'py>(
    out: &Bound<'py, PyAny>,
    key: &Key,
    array: &Array,
    layout: &Layout,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = out.py();
    // Whatever has memory: NumPy's arrays, and others by the buffer protocol.
    let view: Bound<'py, PyUntypedArray> = match out.cast::<PyUntypedArray>() {
        Ok(array) => array.clone(),
        Err(_) => {
            let view = py.import("builtins")?.getattr("memoryview")?.call1((out,));
            np::asarray(&view.map_err(|_| no_memory(out))?, None)?
        }
    };
    let shape: Vec<u64> = view.shape().iter().map(|&len| len as u64).collect();
    if shape != key.shape() && key.fields.is_none() {
        return Err(PyValueError::new_err(format!(
            "`out` has the shape {}, the selection {}",
            keys::shape_text(&shape),
            keys::shape_text(&key.shape())
        )));
    }
    if key.fields.is_none() && !view.dtype().eq(layout.dtype.bind(py))? {
        // Elements in the other byte order are converted.
        let native = view.dtype().call_method1("newbyteorder", ("=",));
        let fits = native.and_then(|dtype| dtype.eq(layout.native.bind(py))).unwrap_or(false);
        if !fits {
            return Err(PyValueError::new_err(format!(
                "`out` has elements of dtype {}, {} has {}",
                view.dtype(),
                array.inner.path(),
                layout.dtype.bind(py)
            )));
        }
    }
    Ok(view)
}

/// Reads elements of a fixed size into memory of the library's form.
fn read_into<'py>(
    py: Python<'py>,
    array: &zarr::Array,
    how: &CallOptions<'py>,
    key: Key,
    out: &Bound<'py, PyUntypedArray>,
    is_lent: bool,
) -> PyResult<()> {
    let memory = Memory::writeable(out)?;
    let size = size_of(&key.selected, out.dtype().itemsize());
    let call = Call { fills_lent_memory: is_lent, ..how.call(&key.selection, size) };
    let selection = key.selection.clone();
    call::on_array(py, array, call, memory, |array, memory| {
        array.read_view(selection, memory.view_mut()?)
    })
}

/// Reads elements into a new array.
fn read_new<'py>(
    py: Python<'py>,
    layout: &Layout,
    array: &zarr::Array,
    how: &CallOptions<'py>,
    mut key: Key,
) -> PyResult<Bound<'py, PyAny>> {
    let arranged = key.arranged.take();
    let elements = if layout.is_fixed() {
        let elements = zeros(py, &key.selected, layout.memory(py))?;
        read_into(py, array, how, key, &elements, false)?;
        layout.finished(elements.into_any())?
    } else {
        let (selected, itemsize) = (key.selected, layout.memory(py).itemsize());
        let selection = key.selection.clone();
        let call = how.call(&key.selection, size_of(&selected, itemsize));
        let stream = call::on_array(py, array, call, (), |array, ()| array.read_bytes(selection))?;
        layout.of_stream(py, &stream, &selected)?
    };
    arrange(elements, arranged.as_ref())
}

/// A result in the shape and order of axes that a key asks for.
pub fn arrange<'py>(
    elements: Bound<'py, PyAny>,
    arranged: Option<&keys::Arranged>,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(arranged) = arranged else { return Ok(elements) };
    let shape = PyTuple::new(elements.py(), &arranged.shape)?;
    let elements = elements.call_method1("reshape", (shape,))?;
    if arranged.order.is_sorted() {
        return Ok(elements);
    }
    elements.call_method1("transpose", (&arranged.order,))
}

/// A value broadcast to the shape of what a key selects, in the shape and order that the library selects in.
pub fn as_selected<'py>(
    value: Bound<'py, PyUntypedArray>,
    key: &Key,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = value.py();
    // NumPy assigns what has more axes, if those in front have one element.
    let extra = value.ndim().saturating_sub(key.shape().len());
    let mut value = value.into_any();
    if value
        .getattr("shape")?
        .cast::<PyTuple>()?
        .iter()
        .take(extra)
        .all(|len| len.eq(1).unwrap_or(false))
    {
        for _ in 0..extra {
            value = value.get_item(0)?;
        }
    }
    let shape = PyTuple::new(py, key.shape())?;
    let broadcast = np::broadcast_to(py)?.call1((&value, &shape));
    let value = broadcast.map_err(|_| {
        let own = value.getattr("shape").map(|shape| shape.to_string()).unwrap_or_default();
        PyValueError::new_err(format!(
            "could not broadcast input array from shape {own} into shape {shape}"
        ))
    })?;
    let Some(arranged) = &key.arranged else { return Ok(value.cast_into()?) };
    let mut back = vec![0; arranged.order.len()];
    for (at, &axis) in arranged.order.iter().enumerate() {
        back[axis] = at;
    }
    let value = value.call_method1("transpose", (back,))?;
    Ok(value.call_method1("reshape", (PyTuple::new(py, &key.selected)?,))?.cast_into()?)
}

#[pymethods]
impl Array {
    fn __len__(&self) -> PyResult<usize> {
        match self.inner.shape().first() {
            Some(&len) => Ok(usize::try_from(len)?),
            None => Err(PyTypeError::new_err("len() of an array of rank 0")),
        }
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let key = keys::numpy(key, &self.inner.shape())?;
        self.read_key(py, &CallOptions::default(), key, None)
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let key = keys::numpy(key, &self.inner.shape())?;
        self.write_key(py, &CallOptions::default(), key, value)
    }

    fn __delitem__(&self, _key: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyValueError::new_err("cannot delete elements; overwrite them, or `resize` the array"))
    }

    /// Reads what `key` selects, as `a[key]` does.
    ///
    /// `out` is memory to read into, of the selection's shape and the array's dtype, in any strides: a NumPy array, or whatever has
    /// the buffer protocol; it is returned. `threads` is how many threads read and decompress chunks; `progress` is `True` for a
    /// bar on the terminal, or a function that is called with a `Progress`.
    ///
    /// Raises `IndexError` for what leaves the array, `ValueError` if `out` does not fit, `MemoryError` for what memory does not
    /// hold. After an error `out` may have some of the elements.
    #[pyo3(signature = (key = None, *, out = None, threads = None, progress = None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        key: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<i64>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let all = py.Ellipsis().into_bound(py);
        let key = keys::numpy(key.unwrap_or(&all), &self.inner.shape())?;
        self.read_key(py, &CallOptions { threads, progress }, key, out)
    }

    /// Writes `value`, broadcast to what `key` selects, as `a[key] = value` does. `threads` and `progress` are those of `read`.
    ///
    /// Raises `IndexError` for what leaves the array, `ValueError` if the value does not fit, `PermissionError` for an array that
    /// was opened for reading.
    #[pyo3(signature = (key, value, *, threads = None, progress = None))]
    fn write<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
        threads: Option<i64>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let key = keys::numpy(key, &self.inner.shape())?;
        self.write_key(py, &CallOptions { threads, progress }, key, value)
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err(
                "the elements are in a store, so reading them makes a copy",
            ));
        }
        let all = keys::basic(&py.Ellipsis().into_bound(py), &self.inner.shape())?;
        let elements = self.read_key(py, &CallOptions::default(), all, None)?;
        match dtype {
            Some(dtype) => np::asarray_function(py)?.call1((elements, dtype)),
            None => Ok(elements),
        }
    }

    /// Reads the document again: other writers may have changed shape or attributes.
    ///
    /// Raises `ConflictError` if an array of another dtype was created here since: it must be opened again.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.origin.forget().and_then(|()| self.inner.refresh())).or_raise(py)?;
        let Some(layout) = self.layout.get(py) else { return Ok(()) };
        if layout.dtype.bind(py).eq(self.layout_now(py)?.dtype)? {
            return Ok(());
        }
        let error = zarr::Error::from(zarr::AccessError::Replaced);
        Err(error.at_store(self.inner.hierarchy().store().name()).at_path(self.inner.path()))
            .or_raise(py)
    }
}

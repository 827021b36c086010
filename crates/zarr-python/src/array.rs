//! The class `Array`: properties, reading and writing.

use std::sync::Arc;

use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use crate::buffer::Memory;
use crate::call::Call;
use crate::errors::OrRaise;
use crate::keys::{self, Key};
use crate::open::Origin;
use crate::{call, dtype, json};

/// An array in a store. It is indexed as NumPy's; what is selected is read when it is asked for.
#[pyclass(frozen, module = "zarrkit", weakref)]
pub struct Array {
    pub inner: zarr::Array,
    pub origin: Arc<Origin>,
    dtype: PyOnceLock<Py<PyArrayDescr>>,
}

impl Array {
    pub fn new(inner: zarr::Array, origin: Arc<Origin>) -> Array {
        Array { inner, origin, dtype: PyOnceLock::new() }
    }

    /// The dtype of the elements.
    pub fn dtype_of<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        let made = || dtype::of_data_type(py, &self.inner.data_type()).map(Bound::unbind);
        Ok(self.dtype.get_or_try_init(py, made)?.bind(py).clone())
    }

    /// Bytes of an element in memory.
    pub fn itemsize(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.dtype_of(py)?.itemsize() as u64)
    }

    /// An array of NumPy's for elements of this array, with zeros.
    fn allocated<'py>(
        &self,
        py: Python<'py>,
        shape: &[u64],
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let shape = PyTuple::new(py, shape)?;
        let zeros = py.import("numpy")?.getattr("zeros")?;
        Ok(zeros.call1((shape, self.dtype_of(py)?))?.cast_into()?)
    }

    /// Reads what a key selects into `out`, or into a new array.
    fn read_key<'py>(
        &self,
        py: Python<'py>,
        key: Key,
        out: Option<Bound<'py, PyUntypedArray>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fills_lent_memory = out.is_some();
        let target = match out {
            Some(out) => out,
            None => self.allocated(py, &key.shape)?,
        };
        let memory = Memory::writeable(&target)?;
        let call = Call {
            selection: Some(&key.selection),
            bytes: target.getattr("nbytes")?.extract()?,
            fills_lent_memory,
            ..Call::default()
        };
        let selection = key.selection.clone();
        call::on_array(py, &self.inner, call, memory, move |array, memory| {
            array.read_view(selection, memory.view_mut()?)
        })?;
        if key.is_scalar { target.get_item(PyTuple::empty(py)) } else { Ok(target.into_any()) }
    }

    /// Writes a value, broadcast to the shape of what a key selects.
    fn write_key(&self, py: Python<'_>, key: Key, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let numpy = py.import("numpy")?;
        let value = numpy.getattr("asarray")?.call1((value, self.dtype_of(py)?))?;
        let shape = PyTuple::new(py, &key.shape)?;
        let value: Bound<'_, PyUntypedArray> =
            numpy.getattr("broadcast_to")?.call1((value, shape))?.cast_into()?;
        let memory = Memory::of(&value)?;
        let call = Call {
            selection: Some(&key.selection),
            bytes: value.getattr("nbytes")?.extract()?,
            writes: true,
            ..Call::default()
        };
        let selection = key.selection.clone();
        call::on_array(py, &self.inner, call, memory, move |array, memory| {
            array.write_view(selection, memory.view()?)
        })
    }
}

#[pymethods]
impl Array {
    /// The path in its hierarchy, such as `/ocean/temperature`.
    #[getter]
    fn path(&self) -> &str {
        self.inner.path().as_str()
    }

    /// How many elements along each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.shape())
    }

    /// How many axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.inner.rank()
    }

    /// How many elements.
    #[getter]
    fn size(&self) -> u64 {
        self.inner.len()
    }

    /// The dtype of an element.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        self.dtype_of(py)
    }

    /// The shape of the chunks that are read; in a shard, of its inner chunks. None if they differ.
    #[getter]
    fn chunks<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.inner.chunk_shape().map(|shape| PyTuple::new(py, shape)).transpose()
    }

    /// The shape of the shards, the objects that are stored; None without shards.
    #[getter]
    fn shards<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.inner.shard_shape().map(|shape| PyTuple::new(py, shape)).transpose()
    }

    /// The attributes when the array was opened, or last changed through it.
    #[getter]
    fn attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json::object_to_python(py, &self.inner.attributes())
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.inner.shape().first() {
            Some(&len) => Ok(usize::try_from(len)?),
            None => Err(pyo3::exceptions::PyTypeError::new_err("an array of rank 0 has no length")),
        }
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let key = keys::basic(key, &self.inner.shape())?;
        self.read_key(py, key, None)
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let key = keys::basic(key, &self.inner.shape())?;
        self.write_key(py, key, value)
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
                "the elements are in a store: reading them is a copy",
            ));
        }
        let all = keys::basic(&py.Ellipsis().into_bound(py), &self.inner.shape())?;
        let elements = self.read_key(py, all, None)?;
        match dtype {
            Some(dtype) => elements.call_method1("astype", (dtype,)),
            None => Ok(elements),
        }
    }

    /// Reads the document again: other writers may have changed shape or attributes.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.inner.refresh()).or_raise(py)
    }

    fn __repr__(&self) -> String {
        let (path, shape) = (self.inner.path(), self.inner.shape());
        format!("<zarrkit.Array {path} {shape:?} {}>", self.inner.data_type())
    }
}

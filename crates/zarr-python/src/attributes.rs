//! What arrays and groups have in common: attributes, names of axes, and what describes them.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use zarr::{AccessError, Object};

use crate::array::Array;
use crate::call;
use crate::create::settle;
use crate::errors::OrRaise;
use crate::group::{Group, in_python};
use crate::json;
use crate::open::dialect_name;

/// A change of attributes.
struct Change {
    /// What is set.
    set: Object,
    /// What is removed.
    remove: Vec<String>,
    /// Whether all others are removed.
    replace: bool,
    /// Whether what is there keeps its value.
    only_absent: bool,
}

impl Change {
    fn of(
        set: &Bound<'_, PyDict>,
        remove: Vec<String>,
        replace: bool,
        only_absent: bool,
    ) -> PyResult<Change> {
        Ok(Change { set: json::object_from_python(set)?, remove, replace, only_absent })
    }

    /// Makes the change; returns which attributes were to be removed and are not there.
    fn make(&self, attributes: &mut Object) -> Vec<String> {
        let missing: Vec<String> =
            self.remove.iter().filter(|name| !attributes.contains(name)).cloned().collect();
        if !missing.is_empty() {
            return missing;
        }
        for name in &self.remove {
            attributes.remove(name);
        }
        if self.replace {
            *attributes = Object::new();
        }
        for (name, value) in self.set.iter() {
            if !(self.only_absent && attributes.contains(name)) {
                attributes.insert(name, value.clone());
            }
        }
        missing
    }
}

fn attributes_of<'py>(node: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    node.py().import("zarrkit._attributes")?.getattr("Attributes")?.call1((node,))
}

#[pymethods]
impl Array {
    /// The attributes: a mutable mapping, each change of which is written at once.
    #[getter]
    fn attrs<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        attributes_of(slf.as_any())
    }

    #[pyo3(name = "_attributes")]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json::object_to_python(py, &self.inner.attributes())
    }

    #[pyo3(name = "_update_attributes", signature = (set, remove = Vec::new(), replace = false, only_absent = false))]
    fn update_attributes(
        &self,
        py: Python<'_>,
        set: &Bound<'_, PyDict>,
        remove: Vec<String>,
        replace: bool,
        only_absent: bool,
    ) -> PyResult<Vec<String>> {
        let change = Change::of(set, remove, replace, only_absent)?;
        self.call_store(py, move |array| {
            let mut missing = Vec::new();
            array.update_attributes(|attributes| missing = change.make(attributes))?;
            settle(array.hierarchy())?;
            Ok(missing)
        })
    }

    /// The names of the axes, a tuple as long as `shape`; None for an axis without a name. In NCZarr they are those of the
    /// dimensions. Setting them writes the document.
    #[getter]
    fn dims<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.dims_of(py)
    }

    #[setter]
    fn set_dims(&self, py: Python<'_>, names: Vec<String>) -> PyResult<()> {
        self.call_store(py, move |array| {
            array.rename_dimensions(&names)?;
            settle(array.hierarchy())
        })
    }

    /// The names of the axes that the document has.
    #[getter(_dims)]
    fn document_dims<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.inner.dimension_names().map(|names| PyTuple::new(py, names)).transpose()
    }

    /// The last part of the path; empty for a root.
    #[getter]
    fn name(&self) -> String {
        self.inner.path().name().unwrap_or_default().to_owned()
    }

    /// The store, as its URL or a description.
    #[getter]
    fn store(&self) -> String {
        self.inner.hierarchy().store().name()
    }

    /// The dialect: "v2", "v3" or "draft".
    #[getter]
    fn dialect(&self) -> &'static str {
        dialect_name(self.inner.hierarchy().dialect())
    }

    /// The format of the documents: "v2", "v3", "draft-2020" or "draft-2019".
    #[getter]
    fn format(&self) -> &'static str {
        self.inner.hierarchy().format_name()
    }

    /// The name of the data type.
    #[getter]
    fn data_type(&self) -> String {
        self.inner.data_type().to_string()
    }

    /// The fill value as the document says it.
    #[pyo3(name = "_fill")]
    fn fill<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.inner.metadata().declared_fill)
    }

    /// How many chunks are stored, or shards, and in how many bytes: one listing, and a look at each.
    fn stored_size(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let size = self.call_store(py, zarr::Array::stored_size)?;
        Ok((size.chunks, size.bytes))
    }

    /// Puts what was written where other readers find it, in stores that gather it until then, such as zip archives.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.call_store(py, |array| array.hierarchy().flush())
    }

    /// How many chunks are stored, or shards: one listing.
    #[getter]
    fn nchunks_initialized(&self, py: Python<'_>) -> PyResult<u64> {
        self.call_store(py, zarr::Array::stored_chunks)
    }

    /// How many bytes the stored chunks have: one listing, and a look at each.
    fn nbytes_stored(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.stored_size(py)?.1)
    }

    /// What the array is, as text: `array.info` shows it, `array.info()` returns it, and `array.info(stored=True)` also counts the stored chunks,
    /// which lists them.
    #[getter]
    fn info<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "Info", (slf,))
    }

    /// A view whose elements are converted to `dtype` when they are read: `a.astype("f4")[0]`.
    fn astype<'py>(
        slf: &Bound<'py, Self>,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "AsType", (slf, dtype))
    }

    fn __float__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "number", (slf, "float"))
    }

    fn __int__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "number", (slf, "int"))
    }

    fn __complex__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "number", (slf, "complex"))
    }

    /// All elements, read, for libraries that take DLPack: `torch.from_dlpack(array)`.
    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "dlpack", (slf, options))
    }

    /// The device of what `__dlpack__` gives: the processor.
    fn __dlpack_device__(&self) -> (i32, i32) {
        // `kDLCPU` of dlpack.h.
        (1, 0)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// As `flush`.
    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        if self.origin.writeable { self.flush(py) } else { Ok(()) }
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "array_repr", (slf,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "array_html", (slf,))
    }
}

impl Array {
    /// Runs `work` on the array without Python's lock. A signal ends it.
    fn call_store<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&zarr::Array) -> zarr::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let array = self.inner.clone();
        let is_local = array.hierarchy().store().as_sync().is_some();
        call::on_store(py, is_local, move || work(&array))
    }

    /// The names of the axes, one for each.
    pub fn axis_names(&self, py: Python<'_>) -> Vec<Option<String>> {
        let names = self.inner.dimension_names().or_else(|| py.detach(|| self.netcdf_dims()));
        names.unwrap_or_else(|| vec![None; self.inner.rank()])
    }

    /// The names of the axes by which elements are selected: those of [`Self::axis_names`], else those of the OME-Zarr image that
    /// the array is a level of.
    pub fn names_for_selections(&self, py: Python<'_>) -> Vec<Option<String>> {
        let names = self.axis_names(py);
        if names.iter().any(Option::is_some) {
            return names;
        }
        let axes = py.detach(|| zarr::tools::image_axes(&self.inner));
        axes.map_or(names, |axes| axes.into_iter().map(Some).collect())
    }

    /// The names of the axes as NCZarr's documents have them.
    fn netcdf_dims(&self) -> Option<Vec<Option<String>>> {
        let schema = self.origin.dataset(self.inner.hierarchy())?.schema();
        let names = &schema.variable(self.inner.path().as_str())?.dimensions;
        (names.len() == self.inner.rank())
            .then(|| names.iter().map(|name| name.rsplit('/').next().map(str::to_owned)).collect())
    }
}

#[pymethods]
impl Group {
    /// The attributes: a mutable mapping, each change of which is written at once.
    #[getter]
    fn attrs<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        attributes_of(slf.as_any())
    }

    #[pyo3(name = "_attributes")]
    fn attributes_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json::object_to_python(py, &self.attributes())
    }

    #[pyo3(name = "_update_attributes", signature = (set, remove = Vec::new(), replace = false, only_absent = false))]
    fn update_attributes(
        &self,
        py: Python<'_>,
        set: &Bound<'_, PyDict>,
        remove: Vec<String>,
        replace: bool,
        only_absent: bool,
    ) -> PyResult<Vec<String>> {
        let change = Change::of(set, remove, replace, only_absent)?;
        let (missing, after) = self.call(py, move |group| {
            let mut missing = Vec::new();
            let after = group.update_attributes(|attributes| missing = change.make(attributes))?;
            settle(group.hierarchy())?;
            Ok((missing, after))
        })?;
        self.set_attributes(after);
        Ok(missing)
    }

    /// Reads the document again: other writers may have changed the attributes.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        self.origin.forget().or_raise(py)?;
        let node = self.call(py, |group| group.hierarchy().node(group.path()))?;
        let group = match node {
            zarr::Node::Group(group) => group,
            zarr::Node::Array(_) => return Err(AccessError::Replaced).or_raise(py),
        };
        self.set_attributes(group.attributes().clone());
        Ok(())
    }
}

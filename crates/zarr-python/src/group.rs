//! The class `Group`.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::OrRaise;
use crate::json;
use crate::open::{Origin, node_to_python};

/// A group: a mapping of the names of its members to groups and arrays.
#[pyclass(frozen, module = "zarrkit", weakref)]
pub struct Group {
    pub inner: zarr::Group,
    pub origin: Arc<Origin>,
}

impl Group {
    pub fn new(inner: zarr::Group, origin: Arc<Origin>) -> Group {
        Group { inner, origin }
    }
}

#[pymethods]
impl Group {
    /// The path in its hierarchy, such as `/ocean`.
    #[getter]
    fn path(&self) -> &str {
        self.inner.path().as_str()
    }

    /// The attributes when the group was opened.
    #[getter]
    fn attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json::object_to_python(py, self.inner.attributes())
    }

    fn __getitem__(&self, py: Python<'_>, path: &str) -> PyResult<Py<PyAny>> {
        let node = py.detach(|| self.inner.node(path)).or_raise(py)?;
        node_to_python(py, node, &self.origin)
    }

    /// The names of the members, sorted.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let children = py.detach(|| self.inner.children()).or_raise(py)?;
        Ok(children.iter().filter_map(|child| child.path.name()).map(str::to_owned).collect())
    }

    fn __repr__(&self) -> String {
        format!("<zarrkit.Group {}>", self.inner.path())
    }
}

//! Opens and creates what URLs name.

use std::sync::{Arc, LazyLock};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zarr::{Dialect, Node, OpenOptions, Registry};

use crate::array::Array;
use crate::group::Group;
use crate::py_store::{self, Source};
use crate::{call, threads};

/// What this build knows.
pub static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(zarr::standard()));

/// How a node was opened, so that another process can open it again.
#[derive(Debug, Default)]
pub struct Origin {
    /// The path or URL of the hierarchy's root; `None` if it cannot be opened again, such as that of a Python store.
    pub url: Option<String>,
    /// The store of Python's, if it is one.
    pub source: Option<Py<PyAny>>,
    /// Whether it was opened for writing.
    pub writeable: bool,
    /// The options of the store as they were given: some may be secrets.
    pub storage_options: Vec<(String, String)>,
    /// Threads for reading and writing; 0 for as many as the machine has.
    pub threads: usize,
}

impl Origin {
    /// The options with which it is opened.
    pub fn options(&self) -> OpenOptions {
        let mut options = OpenOptions::new(REGISTRY.clone()).threads(self.threads);
        if self.writeable {
            options = options.read_write();
        }
        for (name, value) in &self.storage_options {
            options = options.store_option(name, value);
        }
        options
    }
}

/// A node as an object of Python.
pub fn node_to_python(py: Python<'_>, node: Node, origin: &Arc<Origin>) -> PyResult<Py<PyAny>> {
    Ok(match node {
        Node::Array(array) => Py::new(py, Array::new(array, origin.clone()))?.into_any(),
        Node::Group(group) => Py::new(py, Group::new(group, origin.clone()))?.into_any(),
    })
}

/// The text of a path or URL: `str` or `os.PathLike`.
pub fn url_of(target: &Bound<'_, PyAny>) -> PyResult<String> {
    target.py().import("os")?.call_method1("fspath", (target,))?.extract()
}

/// Whether a path or URL names a place on this machine.
pub fn is_near(url: &str) -> bool {
    let (scheme, _) = url.split_once("://").unwrap_or(("file", ""));
    ["file", "memory", "zip", "lmdb"].contains(&scheme) && !url.contains("::")
}

/// The store's options as text; `True` is `true`.
pub fn storage_options(options: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let Some(options) = options else { return Ok(Vec::new()) };
    let text = |value: &Bound<'_, PyAny>| -> PyResult<String> {
        match value.extract::<bool>() {
            Ok(flag) => Ok(flag.to_string()),
            Err(_) => Ok(value.str()?.to_str()?.to_owned()),
        }
    };
    options.iter().map(|(name, value)| Ok((name.extract()?, text(&value)?))).collect()
}

/// The dialect that a name means.
pub fn dialect(name: &str) -> PyResult<Dialect> {
    Ok(match name {
        "v2" => Dialect::V2,
        "v3" => Dialect::V3,
        "draft" => Dialect::Draft,
        other => {
            return Err(PyValueError::new_err(format!("`{other}` is no dialect: v2, v3 or draft")));
        }
    })
}

/// The group or array that a path or URL names: a hierarchy's root, or a node inside.
///
/// In place of a URL, a store: one of zarr-python's or obstore's, or a mapping of keys to bytes, such as a `dict`.
#[pyfunction]
#[pyo3(signature = (url, mode = "r", *, storage_options = None, threads = None))]
pub fn open(
    py: Python<'_>,
    url: &Bound<'_, PyAny>,
    mode: &str,
    storage_options: Option<&Bound<'_, PyDict>>,
    threads: Option<usize>,
) -> PyResult<Py<PyAny>> {
    let writeable = match mode {
        "r" => false,
        "r+" => true,
        other => {
            return Err(PyValueError::new_err(format!(
                "mode {other:?} is not known: \"r\" to read, \"r+\" to read and write"
            )));
        }
    };
    let mut origin = Origin {
        writeable,
        storage_options: self::storage_options(storage_options)?,
        threads: threads::checked(threads.unwrap_or(0))?,
        ..Origin::default()
    };
    let options = origin.options();
    let node = match py_store::source_of(url)? {
        Source::Url(url) => {
            let located = url.clone();
            let node =
                call::on_store(py, is_near(&url), move || zarr::open_with(&located, &options))?;
            origin.url = Some(url);
            node
        }
        Source::Store(store) => {
            origin.source = Some(url.clone().unbind());
            call::on_store(py, false, move || zarr::Hierarchy::open(store, &options)?.node("/"))?
        }
    };
    node_to_python(py, node, &Arc::new(origin))
}

//! Handles in other processes: pickled, compared, and named to Dask.
//!
//! A pickle has the URL of the store, the options that are no secrets, and the path. `zarrkit/_pickle.py` opens them again, once
//! in a process.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use zarr::store::Store;
use zarr::{Hierarchy, NodePath};

use crate::array::Array;
use crate::call;
use crate::group::Group;
use crate::open::{self, Origin, Reading, node_to_python};
use crate::py_store::{self, Source};

/// What is the same of arrays and groups.
struct Handle<'a> {
    class: &'static str,
    hierarchy: &'a Hierarchy,
    path: &'a NodePath,
    origin: &'a Origin,
    version: u128,
}

impl Array {
    fn handle(&self) -> Handle<'_> {
        let inner = &self.inner;
        let found = inner.metadata();
        let version = version(&(
            (&found.shape, &found.declared_type, &found.grid, &found.chunk_keys, &found.codecs),
            (&found.declared_fill, &found.attributes, &found.dimension_names, &found.unknown),
            &found.shards,
        ));
        let (hierarchy, path) = (inner.hierarchy(), inner.path());
        Handle { class: "zarrkit.Array", hierarchy, path, origin: &self.origin, version }
    }
}

impl Group {
    fn handle(&self) -> Handle<'_> {
        let inner = &self.inner;
        let version = version(inner.metadata());
        let (hierarchy, path) = (inner.hierarchy(), inner.path());
        Handle { class: "zarrkit.Group", hierarchy, path, origin: &self.origin, version }
    }
}

/// A number that tells what a document says from what it said before.
fn version(metadata: &impl std::fmt::Debug) -> u128 {
    let text = format!("{metadata:?}");
    half(0, &text) << 64 | half(1, &text)
}

/// A half of the hash of a text.
fn half(number: u8, text: &str) -> u128 {
    let mut hasher = DefaultHasher::new();
    (number, text).hash(&mut hasher);
    u128::from(hasher.finish())
}

/// Whether the name of a store leaves out the query of its URL, so that it does not open the store again.
pub fn hides_query(name: &str) -> bool {
    name.ends_with("?…")
}

impl Handle<'_> {
    fn store(&self) -> &Arc<dyn Store> {
        self.hierarchy.store()
    }

    /// The store's URL, without secrets, if the store can be opened again by it.
    fn url(&self) -> Option<String> {
        let name = self.store().name();
        let lasts =
            self.origin.url.is_some() && !name.starts_with("memory:") && !hides_query(&name);
        lasts.then_some(name)
    }

    /// What tells the node from others, also in another process, through whichever of the groups above it the handle was opened.
    fn node(&self) -> (String, Vec<(String, String)>) {
        let (name, path) = (self.store().name(), self.path.as_str());
        let url = format!("{}/{}", name.trim_end_matches('/'), path.trim_start_matches('/'));
        let url = url.trim_end_matches('/').to_owned();
        if self.url().is_some() {
            return (url, self.store().public_options());
        }
        // In no other process is there the same store.
        let process = std::process::id();
        if self.origin.url.is_some() && name != "memory://" && !hides_query(&name) {
            return (format!("{url}#{process}"), Vec::new());
        }
        let address = Arc::as_ptr(self.store()).cast::<()>().addr();
        (format!("{url}#{process}.{address:x}"), Vec::new())
    }

    fn reduce<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let module = py.import("zarrkit._pickle")?;
        if self.origin.manifest.is_some() {
            return Err(PyTypeError::new_err(format!(
                "{} {} cannot be pickled: it is checked against a manifest; open it in each process",
                self.class, self.path,
            )));
        }
        let (place, options) = match (self.url(), &self.origin.source) {
            (Some(url), _) => {
                let options = PyTuple::new(py, self.store().public_options())?;
                (url.into_pyobject(py)?.into_any(), options)
            }
            (None, Some(source)) => {
                let source = module.call_method1("checked", (source.bind(py),))?;
                (source, PyTuple::empty(py))
            }
            (None, None) if hides_query(&self.store().name()) => {
                return Err(PyTypeError::new_err(format!(
                    "{} {} cannot be pickled: its URL {} has a query, which may be a secret; open it in each process",
                    self.class,
                    self.path,
                    self.store().name(),
                )));
            }
            (None, None) => {
                return Err(PyTypeError::new_err(format!(
                    "{} {} cannot be pickled: its store {} is in the memory of this process; keep it in a folder, an archive or a bucket",
                    self.class,
                    self.path,
                    self.store().name(),
                )));
            }
        };
        let path = self.path.as_str();
        let origin = self.origin;
        let (threads, reading) = (origin.threads, origin.reading());
        let how = (place, path, origin.writeable, options, threads, self.version, reading);
        (module.getattr("load")?, how).into_pyobject(py)
    }

    fn is_same(&self, other: &Handle<'_>) -> bool {
        self.class == other.class
            && self.origin.writeable == other.origin.writeable
            && self.node() == other.node()
    }

    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.class, self.node().0).hash(&mut hasher);
        hasher.finish()
    }

    /// What Dask makes a name of.
    fn token<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (node, options) = self.node();
        (self.class, node, options, self.version).into_pyobject(py)
    }
}

macro_rules! handles {
    ($($class:ident)*) => { $(
        #[pymethods]
        impl $class {
            fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
                self.handle().reduce(py)
            }

            fn __copy__(this: Bound<'_, Self>) -> Bound<'_, Self> {
                this
            }

            fn __deepcopy__<'py>(this: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
                this
            }

            /// Whether both are handles of the same node, opened in the same mode. No elements are compared.
            fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
                other.cast::<$class>().is_ok_and(|other| self.handle().is_same(&other.get().handle()))
            }

            fn __hash__(&self) -> u64 {
                self.handle().hash()
            }

            /// Another one if the document has changed since: a computation on it has another name. A change of elements is not
            /// noticed.
            fn __dask_tokenize__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
                self.handle().token(py)
            }

            /// Which document this handle knows.
            #[getter]
            fn _version(&self) -> u128 {
                self.handle().version
            }
        }
    )* };
}

handles!(Array Group);

/// A hierarchy that a pickle names.
#[pyclass(frozen, module = "zarrkit._zarrkit")]
pub struct Root {
    hierarchy: Hierarchy,
    path: NodePath,
    origin: Arc<Origin>,
}

#[pymethods]
impl Root {
    #[new]
    fn new(
        py: Python<'_>,
        place: &Bound<'_, PyAny>,
        writeable: bool,
        options: Vec<(String, String)>,
        threads: usize,
        reading: Reading,
    ) -> PyResult<Root> {
        let mut origin =
            Origin { writeable, storage_options: options, threads, ..Origin::default() };
        origin.set_reading(py, reading)?;
        let options = origin.options();
        let (hierarchy, path) = match py_store::source_of(place)? {
            Source::Url(url) => {
                origin.url = Some(url.clone());
                call::on_store(py, open::is_near(&url), move || zarr::locate(&url, &options))?
            }
            Source::Store(store) => {
                origin.source = Some(Arc::new(place.clone().unbind()));
                let store = origin.aged(store);
                call::on_store(py, false, move || {
                    Ok((Hierarchy::open(store, &options)?, NodePath::root()))
                })?
            }
        };
        Ok(Root { hierarchy, path, origin: Arc::new(origin) })
    }

    /// The node at a path.
    fn node(&self, py: Python<'_>, path: &str) -> PyResult<Py<PyAny>> {
        let (hierarchy, root, path) = (self.hierarchy.clone(), self.path.clone(), path.to_owned());
        let is_local = hierarchy.store().as_sync().is_some();
        let node = call::on_store(py, is_local, move || {
            hierarchy.node(root.join(path.trim_start_matches('/'))?)
        })?;
        node_to_python(py, node, &self.origin)
    }
}

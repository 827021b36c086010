//! Stores of Python's as stores of the library: those of zarr-python and obstore, and mappings.
//!
//! `zarrkit/_python_store.py` gives each kind of them the few blocking calls that this module makes.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyTuple};
use zarr::StoreError;
use zarr::store::{
    ByteRange, Bytes, Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition,
    SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore, Version, from_sync,
};

use crate::store::RawStore;

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// What can be opened: the place that a path, a URL or an object names, or a store of Python's.
pub enum Source {
    Url(String),
    Store(Arc<dyn Store>),
}

/// What an object of Python says to open: a path, a URL, a store of zarr-python's or obstore's, or a mapping. A store that only names a
/// place that the library has a store for, such as a folder, is that place.
///
/// # Errors
/// `TypeError` for other objects.
pub fn source_of(target: &Bound<'_, PyAny>) -> PyResult<Source> {
    let resolve = target.py().import("zarrkit._python_store")?.getattr("resolve")?;
    let found = resolve.call1((target,))?;
    if let Ok(ours) = found.cast::<RawStore>() {
        return Ok(Source::Store(ours.get().store.clone()));
    }
    Ok(match found.extract() {
        Ok(url) => Source::Url(url),
        Err(_) => Source::Store(from_sync(PyStore::new(&found)?)),
    })
}

/// A store of Python's behind the calls of `_python_store.Adapter`.
///
/// The calls take Python's lock, so a thread that waits for one must not hold it.
#[derive(Debug)]
struct PyStore {
    adapter: Arc<Py<PyAny>>,
    name: String,
    capabilities: Capabilities,
    /// Whether parts of a value are read without the others.
    ranges: bool,
}

impl PyStore {
    fn new(adapter: &Bound<'_, PyAny>) -> PyResult<PyStore> {
        let flag = |name| adapter.getattr(name)?.extract::<bool>();
        let capabilities = Capabilities {
            write: flag("writeable")?,
            list: flag("listable")?,
            swap: flag("swaps")?,
            ..Capabilities::READ_ONLY
        };
        Ok(PyStore {
            name: adapter.getattr("name")?.extract()?,
            capabilities,
            ranges: flag("ranges")?,
            adapter: Arc::new(adapter.clone().unbind()),
        })
    }
}

/// Calls Python. Its exception is the source of the error.
fn call<T>(adapter: &Py<PyAny>, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T> {
    Python::attach(|py| work(adapter.bind(py))).map_err(|e| StoreError::Backend(Box::new(e)))
}

/// A value with its version, as Python has it: `(bytes, version or None)`.
type Versioned = (PyBackedBytes, Option<PyBackedBytes>);

fn bytes_of(value: PyBackedBytes) -> Bytes {
    Bytes::from_owner(value)
}

fn version_of(token: PyBackedBytes) -> Version {
    Version::new(Bytes::from_owner(token))
}

impl SyncStore for PyStore {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        let found = call(&self.adapter, |adapter| {
            adapter.call_method1("get", (key.as_str(),))?.extract::<Option<Versioned>>()
        })?;
        let Some((value, token)) = found else { return Ok(None) };
        how.answer(key, bytes_of(value), token.map(version_of))
    }

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>> {
        // What is to be replaced is read in one step, since nothing keeps others from replacing it in the meantime.
        if !self.ranges || how.for_update {
            return Ok(how.in_memory(key, self.get(key, how.to_get())?));
        }
        let found = call(&self.adapter, |adapter| {
            let found = adapter.call_method1("head", (key.as_str(),))?;
            found.extract::<Option<(u64, Option<PyBackedBytes>)>>()
        })?;
        let Some((size, token)) = found else { return Ok(None) };
        let version = token.map(version_of);
        if !how.accepts(version.as_ref()) {
            return Ok(None);
        }
        let adapter = self.adapter.clone();
        Ok(Some(Box::new(PySnapshot { adapter, key: key.clone(), size, version })))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool> {
        // Parts may be made by threads that need Python's lock.
        let value = value.map(Payload::into_bytes).transpose()?;
        call(&self.adapter, |adapter| {
            let value = value.map(|value| PyBytes::new(adapter.py(), &value));
            let key = key.as_str();
            match (value, only_if) {
                (None, _) => adapter.call_method1("delete", (key,))?,
                (Some(value), Precondition::Absent) => {
                    let done = adapter.call_method1("swap", (key, value, adapter.py().None()))?;
                    return done.extract();
                }
                (Some(value), Precondition::Version(was)) => {
                    let was = PyBytes::new(adapter.py(), was.token().map_or(&[], |token| token));
                    return adapter.call_method1("swap", (key, value, was))?.extract();
                }
                (Some(value), _) => adapter.call_method1("set", (key, value))?,
            };
            Ok(true)
        })
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        let erase = |adapter: &Bound<'_, PyAny>| {
            adapter.call_method1("erase_prefix", (prefix.as_str(),)).map(drop)
        };
        call(&self.adapter, erase)
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        let names = call(&self.adapter, |adapter| {
            let names = adapter.call_method1("list_prefix", (prefix.as_str(),))?;
            names.try_iter()?.map(|name| name?.extract()).collect::<PyResult<Vec<PyBackedStr>>>()
        })?;
        let mut listing = Listing::default();
        for name in names.iter().filter(|name| name.starts_with(prefix.as_str())) {
            match StoreKey::new(&**name) {
                Ok(key) => listing.keys.push(key),
                Err(_) => listing.left_out.push(name.to_string()),
            }
        }
        listing.keys.sort();
        listing.keys.dedup();
        Ok(listing)
    }

    fn list_dir(&self, prefix: &StorePrefix, _: ListOptions) -> Result<Listing> {
        let names = call(&self.adapter, |adapter| {
            let names = adapter.call_method1("list_dir", (prefix.as_str(),))?;
            names.try_iter()?.map(|name| name?.extract()).collect::<PyResult<Vec<PyBackedStr>>>()
        })?;
        Ok(Listing::of_names(prefix, names.iter().map(|name| &**name)))
    }
}

/// A value of a store of Python's, whose parts are read one by one.
struct PySnapshot {
    adapter: Arc<Py<PyAny>>,
    key: StoreKey,
    size: u64,
    version: Option<Version>,
}

impl SyncSnapshot for PySnapshot {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let resolved = ranges.iter().map(|range| range.resolve(&self.key, self.size));
        let resolved = resolved.collect::<Result<Vec<_>>>()?;
        let found = call(&self.adapter, |adapter| {
            let py = adapter.py();
            let ranges = resolved.iter().map(|range| (range.start, range.end));
            let ranges = PyTuple::new(py, ranges.collect::<Vec<_>>())?;
            let token = self.version.as_ref().and_then(Version::token);
            let token = token.map(|token| PyBytes::new(py, token));
            let parts = adapter.call_method1("read", (self.key.as_str(), ranges, token))?;
            parts.extract::<Option<Vec<PyBackedBytes>>>()
        })?;
        let changed = || StoreError::Changed { key: self.key.to_string() };
        let parts = found.ok_or_else(changed)?;
        let is_whole = parts.len() == resolved.len()
            && parts
                .iter()
                .zip(&resolved)
                .all(|(part, range)| part.len() as u64 == range.end - range.start);
        if is_whole { Ok(parts.into_iter().map(bytes_of).collect()) } else { Err(changed()) }
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn version(&self) -> Option<Version> {
        self.version.clone()
    }
}

/// The exception of Python that an error of the library comes from, if it comes from one.
pub fn cause(error: &zarr::Error) -> Option<&PyErr> {
    let mut source = std::error::Error::source(error);
    while let Some(found) = source {
        if let Some(raised) = found.downcast_ref::<PyErr>() {
            return Some(raised);
        }
        source = found.source();
    }
    None
}

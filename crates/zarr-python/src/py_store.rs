//! Stores of Python's as stores of the library: those of zarr-python and obstore, and mappings.
//!
//! `zarrkit/_python_store.py` gives each kind of them the few blocking calls that this module makes.

use std::ops::Range;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyTuple};
use zarr::StoreError;
use zarr::store::{
    ByteRange, Bytes, Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition,
    SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore, Version, from_sync,
};

use crate::py_remote::RemotePyStore;
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
        Err(_) => Source::Store(PyStore::new(&found)?.into_store()),
    })
}

/// As [`source_of`], of what will be written.
///
/// # Errors
/// As [`source_of`]; `ReadOnlyError` for a store that was opened for reading.
pub fn writeable_source_of(target: &Bound<'_, PyAny>) -> PyResult<Source> {
    let stores = target.py().import("zarrkit._python_store")?;
    stores.call_method1("refuse_read_only", (target,))?;
    source_of(target)
}

/// A store of Python's behind the calls of `_python_store.Adapter`.
///
/// The calls take Python's lock, so a thread that waits for one must not hold it.
#[derive(Debug)]
pub struct PyStore {
    pub adapter: Arc<Py<PyAny>>,
    pub name: String,
    pub capabilities: Capabilities,
    /// Whether parts of a value are read without the others.
    pub ranges: bool,
    /// Whether its calls may wait for a network.
    remote: bool,
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
            remote: flag("remote")?,
            adapter: Arc::new(adapter.clone().unbind()),
        })
    }

    fn into_store(self) -> Arc<dyn Store> {
        if self.remote { Arc::new(RemotePyStore(self)) } else { from_sync(self) }
    }
}

/// Calls Python. Its exception is the source of the error.
fn call<T>(adapter: &Py<PyAny>, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T> {
    Python::attach(|py| work(adapter.bind(py))).map_err(|e| StoreError::Backend(Box::new(e)))
}

/// A value and its version of what `get` returned: `(bytes, version or None)` or None.
pub fn value_of(found: &Bound<'_, PyAny>) -> PyResult<Option<(Bytes, Option<Version>)>> {
    let found: Option<(PyBackedBytes, Option<PyBackedBytes>)> = found.extract()?;
    Ok(found.map(|(value, token)| (Bytes::from_owner(value), token.map(version_of))))
}

/// A value's size and version of what `head` returned.
pub fn head_of(found: &Bound<'_, PyAny>) -> PyResult<Option<(u64, Option<Version>)>> {
    let found: Option<(u64, Option<PyBackedBytes>)> = found.extract()?;
    Ok(found.map(|(size, token)| (size, token.map(version_of))))
}

fn version_of(token: PyBackedBytes) -> Version {
    Version::new(Bytes::from_owner(token))
}

/// The names that a listing returned.
pub fn names_of(names: &Bound<'_, PyAny>) -> PyResult<Vec<PyBackedStr>> {
    names.try_iter()?.map(|name| name?.extract()).collect()
}

/// The keys that begin with a prefix, of what `list_prefix` returned.
pub fn all_keys(prefix: &StorePrefix, names: &[PyBackedStr]) -> Listing {
    let mut listing = Listing::default();
    for name in names.iter().filter(|name| name.starts_with(prefix.as_str())) {
        match StoreKey::new(&**name) {
            Ok(key) => listing.keys.push(key),
            Err(_) => listing.left_out.push(name.to_string()),
        }
    }
    listing.keys.sort();
    listing.keys.dedup();
    listing
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
            value_of(&adapter.call_method1("get", (key.as_str(),))?)
        })?;
        let Some((value, version)) = found else { return Ok(None) };
        how.answer(key, value, version)
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
            head_of(&adapter.call_method1("head", (key.as_str(),))?)
        })?;
        let Some((size, version)) = found else { return Ok(None) };
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
        call(&self.adapter, |adapter: &Bound<'_, PyAny>| {
            adapter.call_method1("erase_prefix", (prefix.as_str(),)).map(drop)
        })
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        let names = call(&self.adapter, |adapter| {
            names_of(&adapter.call_method1("list_prefix", (prefix.as_str(),))?)
        })?;
        Ok(all_keys(prefix, &names))
    }

    fn list_dir(&self, prefix: &StorePrefix, _: ListOptions) -> Result<Listing> {
        let names = call(&self.adapter, |adapter| {
            names_of(&adapter.call_method1("list_dir", (prefix.as_str(),))?)
        })?;
        Ok(Listing::of_names(prefix, names.iter().map(|name| &**name)))
    }
}

/// A value of a store of Python's, whose parts are read one by one.
pub struct PySnapshot {
    pub adapter: Arc<Py<PyAny>>,
    pub key: StoreKey,
    pub size: u64,
    pub version: Option<Version>,
}

impl PySnapshot {
    /// The ranges as bytes of the value.
    pub fn resolved(&self, ranges: &[ByteRange]) -> Result<Vec<Range<u64>>> {
        ranges.iter().map(|range| range.resolve(&self.key, self.size)).collect()
    }

    /// The arguments of `read`.
    pub fn arguments<'py>(
        &self,
        py: Python<'py>,
        ranges: &[Range<u64>],
    ) -> PyResult<Bound<'py, PyTuple>> {
        let ranges: Vec<(u64, u64)> = ranges.iter().map(|range| (range.start, range.end)).collect();
        let token = self.version.as_ref().and_then(Version::token);
        let token = token.map(|token| PyBytes::new(py, token));
        (self.key.as_str(), PyTuple::new(py, ranges)?, token).into_pyobject(py)
    }

    /// The parts that `read` returned.
    pub fn parts(&self, read: &Bound<'_, PyAny>, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let parts = read.extract::<Option<Vec<PyBackedBytes>>>();
        let parts = parts.map_err(|e| StoreError::Backend(Box::new(e)))?.unwrap_or_default();
        let is_whole = parts.len() == ranges.len()
            && parts
                .iter()
                .zip(ranges)
                .all(|(part, range)| part.len() as u64 == range.end - range.start);
        if is_whole {
            Ok(parts.into_iter().map(Bytes::from_owner).collect())
        } else {
            Err(StoreError::Changed { key: self.key.to_string() })
        }
    }
}

impl SyncSnapshot for PySnapshot {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let resolved = self.resolved(ranges)?;
        let read = call(&self.adapter, |adapter| {
            let read = adapter.call_method1("read", self.arguments(adapter.py(), &resolved)?)?;
            Ok(read.unbind())
        })?;
        Python::attach(|py| self.parts(read.bind(py), &resolved))
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

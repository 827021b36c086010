//! Any of the library's stores for Python: what `zarrkit.Store` is made of.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use zarr::runtime::Parallel;
use zarr::store::{
    ByteRange, Bytes, ListOptions, Payload, Precondition, SnapshotOptions, Store, StoreKey,
    StorePrefix, SyncStore,
};
use zarr::{OpenOptions, StoreError};

use crate::errors::OrRaise;
use crate::open;
use crate::pickle::hides_query;
use crate::py_store::{self, Source};

/// How often a value is read anew that another writer replaced in the meantime.
const MAX_READ_ATTEMPTS: usize = 16;

/// The most threads that ask a store at once which keys it has.
const MAX_THREADS_ASKING: usize = 16;

/// A store of the library with blocking calls, which run without Python's lock. Values are arrays of `uint8`; keys and prefixes are text
/// as in the specification.
#[pyclass(frozen, module = "zarrkit._zarrkit")]
pub struct RawStore {
    pub store: Arc<dyn Store>,
    calls: Arc<dyn SyncStore>,
    /// Whether its name opens it again.
    #[pyo3(get)]
    reopens: bool,
    /// Whether it is a place, not a store of Python's.
    #[pyo3(get)]
    is_place: bool,
}

/// The size of a value; `None` if the key is absent.
fn size(store: &dyn SyncStore, key: &StoreKey) -> Result<Option<u64>, StoreError> {
    let last = [ByteRange::Suffix(1)];
    let Some(value) = store.open(key, SnapshotOptions::first(&last))? else { return Ok(None) };
    if value.size() == 0 {
        // A remote store knows the size after the first response only.
        value.read(&last)?;
    }
    Ok(Some(value.size()))
}

/// Which keys a store has. A store that answers late is asked by several threads.
pub fn are_stored(
    store: &dyn SyncStore,
    is_near: bool,
    keys: &[StoreKey],
) -> Result<Vec<bool>, StoreError> {
    let ask = |keys: &[StoreKey]| -> Result<Vec<bool>, StoreError> {
        keys.iter().map(|key| Ok(size(store, key)?.is_some())).collect()
    };
    if is_near || keys.len() < 2 {
        return ask(keys);
    }
    let parallel = Parallel { name: "zarrkit-keys", threads: MAX_THREADS_ASKING, cancel: None };
    let mut stored = Vec::with_capacity(keys.len());
    let parts = keys.chunks(keys.len().div_ceil(MAX_THREADS_ASKING));
    for part in parallel.each(parts, ask) {
        stored.extend(part?);
    }
    Ok(stored)
}

/// A range as Python says it: from the first to before the second byte, or to the end; a negative first byte counts from the end.
type PyRange = (i64, Option<u64>);

fn range_of((start, end): PyRange) -> ByteRange {
    match (u64::try_from(start), end) {
        (Err(_), _) => ByteRange::Suffix(start.unsigned_abs()),
        (Ok(start), None) => ByteRange::From(start),
        (Ok(start), Some(end)) => (start..end.max(start)).into(),
    }
}

/// The part of a range that is inside of `size` bytes.
fn clipped(range: ByteRange, size: u64) -> ByteRange {
    let (start, end) = match range {
        ByteRange::Bounded { start, len } => (start, start.saturating_add(len)),
        ByteRange::From(start) => (start, size),
        ByteRange::Suffix(len) => (size.saturating_sub(len), size),
    };
    let end = end.min(size);
    (start.min(end)..end).into()
}

fn array(py: Python<'_>, bytes: Bytes) -> Bound<'_, PyArray1<u8>> {
    PyArray1::from_vec(py, Vec::from(bytes))
}

/// Ranges of one value, as far as they are inside of it; `None` if the key is absent.
fn read(
    store: &dyn SyncStore,
    key: &StoreKey,
    ranges: &[ByteRange],
) -> Result<Option<Vec<Bytes>>, StoreError> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        match read_once(store, key, ranges) {
            Err(StoreError::Changed { .. }) if attempt < MAX_READ_ATTEMPTS => {}
            read => return read,
        }
    }
}

/// Reads the ranges, as far as the value has them.
fn read_once(
    store: &dyn SyncStore,
    key: &StoreKey,
    ranges: &[ByteRange],
) -> Result<Option<Vec<Bytes>>, StoreError> {
    let Some(value) = store.open(key, SnapshotOptions::first(ranges))? else {
        return Ok(None);
    };
    let size = match value.read(ranges) {
        Err(StoreError::Range { size, .. }) => size,
        read => return read.map(Some),
    };
    let inside: Vec<ByteRange> = ranges.iter().map(|&range| clipped(range, size)).collect();
    value.read(&inside).map(Some)
}

impl RawStore {
    fn call<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&dyn SyncStore) -> Result<T, StoreError> + Send,
    ) -> PyResult<T> {
        let called = py.detach(|| call(&*self.calls));
        called.map_err(|e| zarr::Error::from(e).at_store(self.calls.name())).or_raise(py)
    }
}

#[pymethods]
impl RawStore {
    /// The store at a path or URL, or that a store of Python's is.
    #[new]
    #[pyo3(signature = (target, writeable, storage_options = None))]
    fn new(
        target: &Bound<'_, PyAny>,
        writeable: bool,
        storage_options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<RawStore> {
        let py = target.py();
        let mut options = OpenOptions::new(open::REGISTRY.clone());
        if writeable {
            options = options.read_write();
        }
        for (name, value) in open::storage_options(storage_options)? {
            options = options.store_option(name, value);
        }
        let source = if writeable {
            py_store::writeable_source_of(target)
        } else {
            py_store::source_of(target)
        };
        let (store, is_place) = match source? {
            Source::Store(store) => (store, false),
            Source::Url(url) => {
                let opened = py.detach(|| options.store(&url));
                (opened.map_err(|e| zarr::Error::from(e).at_store(&url)).or_raise(py)?, true)
            }
        };
        let calls = store.to_sync();
        // Each `memory://` is another.
        let name = calls.name();
        let reopens = is_place && name != "memory://" && !hides_query(&name);
        Ok(RawStore { store, calls, reopens, is_place })
    }

    /// Its URL, without secrets.
    #[getter]
    fn name(&self) -> String {
        zarr::without_secrets(&self.calls.name())
    }

    /// The options that are no secrets.
    #[getter]
    fn public_options(&self) -> Vec<(String, String)> {
        self.store.public_options()
    }

    #[getter]
    fn writeable(&self) -> bool {
        self.store.capabilities().write
    }

    #[getter]
    fn listable(&self) -> bool {
        let capabilities = self.store.capabilities();
        capabilities.list || capabilities.lists_some
    }

    /// Whether it never waits for a network.
    #[getter]
    fn local(&self) -> bool {
        self.store.capabilities().local
    }

    /// How many calls are best made at a time.
    #[getter]
    fn in_flight(&self) -> usize {
        self.store.capabilities().in_flight
    }

    /// The value of a key; None if it is absent.
    fn get<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Option<Bound<'py, PyArray1<u8>>>> {
        let value = self.call(py, |store| store.value(&StoreKey::new(key)?))?;
        Ok(value.map(|value| array(py, value)))
    }

    /// Ranges of a value, truncated at its end; None if the key is absent.
    fn get_ranges<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        ranges: Vec<PyRange>,
    ) -> PyResult<Option<Vec<Bound<'py, PyArray1<u8>>>>> {
        let ranges: Vec<ByteRange> = ranges.into_iter().map(range_of).collect();
        let parts = self.call(py, |store| read(store, &StoreKey::new(key)?, &ranges))?;
        Ok(parts.map(|parts| parts.into_iter().map(|part| array(py, part)).collect()))
    }

    /// How many bytes a value has; None if the key is absent.
    fn size(&self, py: Python<'_>, key: &str) -> PyResult<Option<u64>> {
        self.call(py, |store| size(store, &StoreKey::new(key)?))
    }

    fn set(&self, py: Python<'_>, key: &str, value: PyBackedBytes) -> PyResult<()> {
        let value = Bytes::from_owner(value);
        self.call(py, |store| store.set(&StoreKey::new(key)?, Payload::from(value)))
    }

    /// Sets a value if the key is absent; False if it is not. One step, unless the store cannot compare and swap.
    fn set_if_absent(&self, py: Python<'_>, key: &str, value: PyBackedBytes) -> PyResult<bool> {
        let value = Payload::from(Bytes::from_owner(value));
        self.call(py, |store| {
            let key = StoreKey::new(key)?;
            if store.capabilities().swap {
                return store.put(&key, Some(value), Precondition::Absent);
            }
            let is_absent = store.open(&key, SnapshotOptions::default())?.is_none();
            if is_absent {
                store.set(&key, value)?;
            }
            Ok(is_absent)
        })
    }

    fn delete(&self, py: Python<'_>, key: &str) -> PyResult<()> {
        self.call(py, |store| store.erase(&StoreKey::new(key)?))
    }

    fn erase_prefix(&self, py: Python<'_>, prefix: &str) -> PyResult<()> {
        self.call(py, |store| store.erase_prefix(&StorePrefix::new(prefix)?))
    }

    fn list_prefix(&self, py: Python<'_>, prefix: &str) -> PyResult<Vec<String>> {
        let found = self.call(py, |store| store.list_prefix(&StorePrefix::new(prefix)?))?;
        Ok(found.keys.iter().map(ToString::to_string).collect())
    }

    /// The names of the keys and prefixes directly below a prefix, without it and without the last `/`.
    fn list_dir(&self, py: Python<'_>, prefix: &str) -> PyResult<Vec<String>> {
        let prefix = StorePrefix::new(prefix).or_raise(py)?;
        let found = self.call(py, |store| store.list_dir(&prefix, ListOptions::default()))?;
        let keys = found.keys.iter().map(|key| key.as_str());
        let prefixes = found.prefixes.iter().map(|prefix| prefix.as_str().trim_end_matches('/'));
        let mut names: Vec<String> =
            keys.chain(prefixes).map(|at| at[prefix.as_str().len()..].to_owned()).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Puts what was set where other readers of the store find it.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, |store| store.flush())
    }
}

//! Stores of Python's whose calls wait for a network: many of them are on their way at a time.
//!
//! `Adapter.submit` begins a call, in zarr-python's event loop or in a thread, and returns a `concurrent.futures.Future`; when that is done, Python
//! calls [`Done`], which wakes the library's future.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures::lock::{Mutex as AsyncMutex, OwnedMutexGuard};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use zarr::StoreError;
use zarr::store::{
    ByteRange, Bytes, Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition,
    Snapshot, SnapshotOptions, Store, StoreKey, StorePrefix, Version, async_trait,
};

use crate::py_store::{self, PySnapshot, PyStore};

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// How many calls are on their way at a time.
const IN_FLIGHT: usize = 32;

/// How many locks guard the keys of all stores.
const LOCKS: usize = 64;

/// A store of Python's that is not near. Where it cannot compare and swap, a lock for each group of keys guards changes within this
/// process.
#[derive(Debug)]
pub struct RemotePyStore(pub PyStore);

/// What a call has brought, and who waits for it.
#[derive(Default)]
struct State {
    result: Option<PyResult<Py<PyAny>>>,
    waker: Option<Waker>,
}

/// Not counted for `fork`, as locks of the library are: a thread that holds Python's lock may not wait for a fork, which needs that lock.
fn locked(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    zarr::sync::lock_uncounted(state)
}

/// What Python calls with a future that is done.
#[pyclass(frozen)]
struct Done {
    state: Arc<Mutex<State>>,
    /// Held until the change is made, also if its caller no longer waits for it. It is released by the call, and not with this object: the
    /// traceback of an exception may keep that.
    lock: Mutex<Option<OwnedMutexGuard<()>>>,
}

#[pymethods]
impl Done {
    fn __call__(&self, future: &Bound<'_, PyAny>) {
        let result = future.call_method0("result").map(Bound::unbind);
        drop(zarr::sync::lock_uncounted(&self.lock).take());
        let waker = {
            let mut state = locked(&self.state);
            state.result = Some(result);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A call of Python's that is under way.
struct Pending(Arc<Mutex<State>>);

impl Future for Pending {
    type Output = PyResult<Py<PyAny>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = locked(&self.0);
        match state.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// The lock of a key: the same for every handle of a store of that name in this process.
async fn lock_of(store: &str, key: &StoreKey) -> OwnedMutexGuard<()> {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    type Table = Vec<Arc<AsyncMutex<()>>>;
    // A process after a fork has its own: a lock that was held then is never released there.
    static TABLES: Mutex<BTreeMap<u32, Table>> = Mutex::new(BTreeMap::new());
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let at = hasher.hash_one((store, key.as_str())) as usize % LOCKS;
    let lock = {
        let mut tables = zarr::sync::lock(&TABLES);
        let table = tables.entry(std::process::id());
        table.or_insert_with(|| (0..LOCKS).map(|_| Arc::default()).collect())[at].clone()
    };
    lock.lock_owned().await
}

/// One argument.
fn one(py: Python<'_>, text: &str) -> PyResult<Py<PyTuple>> {
    Ok(PyTuple::new(py, [text])?.unbind())
}

fn backend(error: PyErr) -> StoreError {
    StoreError::Backend(Box::new(error))
}

/// Calls the adapter, and waits for what that brings.
async fn call(
    adapter: &Py<PyAny>,
    name: &'static str,
    lock: Option<OwnedMutexGuard<()>>,
    arguments: impl FnOnce(Python<'_>) -> PyResult<Py<PyTuple>> + Send,
) -> Result<Py<PyAny>> {
    let state = Arc::<Mutex<State>>::default();
    Python::attach(|py: Python<'_>| -> PyResult<()> {
        let future = adapter.bind(py).call_method1("submit", (name, arguments(py)?))?;
        let done = Done { state: state.clone(), lock: Mutex::new(lock) };
        future.call_method1("add_done_callback", (Py::new(py, done)?,)).map(drop)
    })
    .map_err(backend)?;
    Pending(state).await.map_err(backend)
}

impl RemotePyStore {
    async fn call(
        &self,
        name: &'static str,
        arguments: impl FnOnce(Python<'_>) -> PyResult<Py<PyTuple>> + Send,
    ) -> Result<Py<PyAny>> {
        call(&self.0.adapter, name, None, arguments).await
    }

    async fn value(&self, key: &StoreKey) -> Result<Option<(Bytes, Option<Version>)>> {
        let found = self.call("get", |py| one(py, key.as_str())).await?;
        Python::attach(|py| py_store::value_of(found.bind(py))).map_err(backend)
    }
}

#[async_trait]
impl Store for RemotePyStore {
    fn name(&self) -> String {
        self.0.name.clone()
    }

    fn capabilities(&self) -> Capabilities {
        let swap_erase = !self.0.capabilities.swap;
        Capabilities { swap: true, swap_erase, in_flight: IN_FLIGHT, ..self.0.capabilities }
    }

    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        let Some((value, version)) = self.value(key).await? else { return Ok(None) };
        let is_needed = how.version && version.is_none();
        let version = if is_needed { Some(Version::of_content(value.clone())) } else { version };
        how.answer(key, value, version)
    }

    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>> {
        if !self.0.ranges || how.for_update {
            return Ok(how.in_memory(key, self.get(key, how.to_get()).await?));
        }
        let found = self.call("head", |py| one(py, key.as_str())).await?;
        let found = Python::attach(|py| py_store::head_of(found.bind(py))).map_err(backend)?;
        let Some((size, version)) = found else { return Ok(None) };
        if !how.accepts(version.as_ref()) {
            return Ok(None);
        }
        let adapter = self.0.adapter.clone();
        let snapshot = PySnapshot { adapter, key: key.clone(), size, version };
        Ok(Some(Box::new(RemotePySnapshot(snapshot))))
    }

    async fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool> {
        let value = value.map(Payload::into_bytes).transpose()?;
        if self.0.capabilities.swap {
            let token = match only_if {
                Precondition::Version(version) => version.token().cloned(),
                _ => None,
            };
            if let (true, Some(value)) = (only_if.compares(), &value) {
                let done = self.call("swap", |py| {
                    let token = token.map(|token| PyBytes::new(py, &token));
                    Ok((key.as_str(), PyBytes::new(py, value), token).into_pyobject(py)?.unbind())
                });
                let done = done.await?;
                return Python::attach(|py| done.extract(py)).map_err(backend);
            }
        }
        // What need not be compared waits for those who compare, too: it may not be overwritten by an older value.
        let lock = lock_of(&self.0.name, key).await;
        if only_if.compares() {
            let is = self.value(key).await?.map(|(value, _)| Version::of_content(value));
            if !only_if.holds(is.as_ref()) {
                return Ok(false);
            }
        }
        let name = if value.is_some() { "set" } else { "delete" };
        call(&self.0.adapter, name, Some(lock), |py: Python<'_>| match value {
            Some(value) => Ok((key.as_str(), PyBytes::new(py, &value)).into_pyobject(py)?.unbind()),
            None => one(py, key.as_str()),
        })
        .await?;
        Ok(true)
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        self.call("erase_prefix", |py| one(py, prefix.as_str())).await.map(drop)
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        let names = self.call("list_prefix", |py| one(py, prefix.as_str())).await?;
        let names = Python::attach(|py| py_store::names_of(names.bind(py))).map_err(backend)?;
        Ok(py_store::all_keys(prefix, &names))
    }

    async fn list_dir(&self, prefix: &StorePrefix, _: ListOptions) -> Result<Listing> {
        let names = self.call("list_dir", |py| one(py, prefix.as_str())).await?;
        let names = Python::attach(|py| py_store::names_of(names.bind(py))).map_err(backend)?;
        Ok(Listing::of_names(prefix, names.iter().map(|name| &**name)))
    }
}

/// A value whose parts are read one by one.
struct RemotePySnapshot(PySnapshot);

#[async_trait]
impl Snapshot for RemotePySnapshot {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let resolved = self.0.resolved(ranges)?;
        let read =
            call(&self.0.adapter, "read", None, |py| Ok(self.0.arguments(py, &resolved)?.unbind()))
                .await?;
        Python::attach(|py| self.0.parts(read.bind(py), &resolved))
    }

    fn size(&self) -> u64 {
        self.0.size
    }

    fn version(&self) -> Option<Version> {
        self.0.version.clone()
    }
}

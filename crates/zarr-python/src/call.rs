//! Calls into the library without Python's lock, which Ctrl-C ends, and which report their progress.
//!
//! A signal's handler runs on Python's main thread only, and between two calls. So a call of the main thread that may take
//! long is made on another thread, and the main thread looks for signals while it waits. After a signal the call is
//! cancelled. What is slow to notice that is left behind, with the memory that it needs; memory that a caller lends to be
//! written to is waited for.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use zarr::{Array, CancelToken, ChunkProgress, ProgressCallback, Selection};

use crate::errors::OrRaise;
use crate::progress::{self, Reporter};
use crate::threads;

/// How often a long call looks for signals such as that of Ctrl-C, and reports its progress.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

/// How long a call that was cancelled is waited for.
const GRACE: Duration = Duration::from_millis(100);

/// A call to a local store that touches chunks of fewer bytes is over before anybody could interrupt it.
const MAX_BYTES_IN_PLACE: u64 = 16 << 20;

/// A call that touches chunks of fewer bytes is faster without other threads.
const TINY: u64 = 256 << 10;

/// How one call is made.
#[derive(Default)]
pub struct Call<'py> {
    /// The keyword `threads` of the call.
    pub threads: Option<i64>,
    /// The keyword `progress` of the call.
    pub progress: Option<Bound<'py, PyAny>>,
    /// What is read or written, if that is one selection.
    pub selection: Option<&'py Selection>,
    /// How many bytes of elements are read or written.
    pub bytes: u64,
    /// Whether elements are written: objects of a store are written whole.
    pub writes: bool,
    /// What [`touched`] says of this call, if it was asked before.
    pub touched: Option<u64>,
    /// Whether the caller lends memory that the call fills. It is not touched after the call, however that ends.
    pub fills_lent_memory: bool,
}

thread_local! {
    /// Cancels the calls of this thread: that of a task of asyncio.
    static OF_TASK: RefCell<Option<CancelToken>> = const { RefCell::new(None) };
}

/// Runs `work` on an array without Python's lock. `memory` is what it reads from or writes to; it is dropped with the lock.
///
/// # Errors
/// Those of `work`; what a signal's handler or the progress callback raises. Chunks are stored whole or not at all.
pub fn on_array<M: Send + 'static, T: Send + 'static>(
    py: Python<'_>,
    array: &Array,
    call: Call<'_>,
    mut memory: M,
    work: impl FnOnce(&Array, &mut M) -> zarr::Result<T> + Send + 'static,
) -> PyResult<T> {
    let touched = call.touched.unwrap_or_else(|| touched(array, &call));
    let is_local = array.hierarchy().store().as_sync().is_some();
    let chosen = match call.threads {
        Some(threads) => threads::checked(threads)?,
        None if touched <= TINY && is_local => 1,
        None => match array.hierarchy().options().threads {
            0 => threads::default(py)?,
            threads => threads,
        },
    };
    let reporter = progress::reporter(py, call.progress)?;
    let of_task = OF_TASK.with_borrow(Option::clone);
    let is_short = reporter.is_none() && touched < MAX_BYTES_IN_PLACE && is_local;
    if is_short || (reporter.is_none() && !is_main_thread(py)?) {
        let array = array.with_options(|options| {
            options.threads = chosen;
            options.cancel = of_task;
        });
        return py.detach(|| work(&array, &mut memory)).or_raise(py);
    }
    let cancel = of_task.unwrap_or_default();
    let latest = reporter.is_some().then(Latest::default);
    let array = array.with_options(|options| {
        options.threads = chosen;
        options.cancel = Some(cancel.clone());
        options.progress = latest.as_ref().map(Latest::callback);
    });
    let done = begin(move || (work(&array, &mut memory), memory));
    let watch = Watch { cancel, reporter, latest, waits: call.fills_lent_memory };
    let (result, _memory) = watch.wait(py, done)?;
    result.or_raise(py)
}

/// Runs `work` that may call a store, such as opening, without Python's lock. `is_local`: whether the store answers at once.
///
/// # Errors
/// Those of `work`; what a signal's handler raises.
pub fn on_store<T: Send + 'static>(
    py: Python<'_>,
    is_local: bool,
    work: impl FnOnce() -> zarr::Result<T> + Send + 'static,
) -> PyResult<T> {
    if is_local || !is_main_thread(py)? {
        return py.detach(work).or_raise(py);
    }
    let cancel = CancelToken::new();
    let watch = Watch { cancel, reporter: None, latest: None, waits: false };
    let done = begin(work);
    watch.wait(py, done)?.or_raise(py)
}

/// Runs `work`, which looks at `cancel`, without Python's lock. A signal cancels it.
///
/// # Errors
/// Those of `work`; what a signal's handler raises.
pub fn cancellable<T: Send + 'static>(
    py: Python<'_>,
    cancel: CancelToken,
    work: impl FnOnce() -> zarr::Result<T> + Send + 'static,
) -> PyResult<T> {
    if !is_main_thread(py)? {
        return py.detach(work).or_raise(py);
    }
    let watch = Watch { cancel, reporter: None, latest: None, waits: false };
    let done = begin(work);
    watch.wait(py, done)?.or_raise(py)
}

/// What a thread does; a panic is passed on.
struct Done<T> {
    ended: Receiver<()>,
    result: Arc<Mutex<Option<thread::Result<T>>>>,
}

impl<T> Done<T> {
    /// The result of what has ended; `None` before that.
    fn take(&self) -> Option<thread::Result<T>> {
        self.result.lock().ok()?.take()
    }
}

/// Has another thread do the work; this one, if the system starts none.
fn begin<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Done<T> {
    let result = Arc::default();
    let slot: Arc<Mutex<Option<thread::Result<T>>>> = Arc::clone(&result);
    let ended = on_thread(Box::new(move || {
        let done = catch_unwind(AssertUnwindSafe(work));
        if let Ok(mut slot) = slot.lock() {
            *slot = Some(done);
        }
    }));
    Done { ended, result }
}

/// Not generic: a thread is much code. The receiver hears of the end.
fn on_thread(work: Box<dyn FnOnce() + Send>) -> Receiver<()> {
    let (send, receive) = channel();
    let work = Arc::new(Mutex::new(Some((work, send))));
    let there = work.clone();
    if zarr::runtime::spawn_thread("zarrkit-call", move || run(&there)).is_err() {
        run(&work);
    }
    receive
}

/// What a thread does, and where it tells that it is done.
type Work = (Box<dyn FnOnce() + Send>, Sender<()>);

/// Runs the work if nobody has run it yet, and tells the receiver.
fn run(work: &Mutex<Option<Work>>) {
    let taken = work.lock().ok().and_then(|mut work| work.take());
    if let Some((work, send)) = taken {
        work();
        let _ = send.send(());
    }
}

/// The newest progress of a call. The threads that decode leave it here: they never wait for Python.
#[derive(Clone, Default)]
struct Latest(Arc<Mutex<Option<ChunkProgress>>>);

impl Latest {
    fn callback(&self) -> ProgressCallback {
        let latest = self.0.clone();
        ProgressCallback::new(move |now| {
            if let Ok(mut latest) = latest.lock()
                && latest.is_none_or(|before| before.chunks_done < now.chunks_done)
            {
                *latest = Some(now);
            }
        })
    }

    fn take(&self) -> Option<ChunkProgress> {
        self.0.lock().ok()?.take()
    }
}

/// Waits for a call that another thread makes.
struct Watch {
    cancel: CancelToken,
    reporter: Option<Reporter>,
    latest: Option<Latest>,
    /// Whether the end of a cancelled call is waited for, however long it takes.
    waits: bool,
}

impl Watch {
    fn wait<T: Send>(&self, py: Python<'_>, done: Done<T>) -> PyResult<T> {
        let Done { ended, result } = done;
        let (done, raised) = self.until_ended(py, ended);
        let done = Done { ended: done, result };
        raised?;
        let reported = self.report(py);
        if let Some(reporter) = &self.reporter {
            reporter.close(py);
        }
        match done.take() {
            Some(result) => {
                let result = result.unwrap_or_else(|panic| resume_unwind(panic));
                reported.map(|()| result)
            }
            None => Err(PyRuntimeError::new_err("a thread ended before its call was done")),
        }
    }

    /// Waits, and looks for signals. What a signal's handler, or the progress callback, raises, cancels the call.
    fn until_ended(&self, py: Python<'_>, mut ended: Receiver<()>) -> (Receiver<()>, PyResult<()>) {
        loop {
            let received;
            (received, ended) = py.detach(move || (ended.recv_timeout(BETWEEN_SIGNALS), ended));
            if !matches!(received, Err(RecvTimeoutError::Timeout)) {
                return (ended, Ok(()));
            }
            if let Err(raised) = py.check_signals().and_then(|()| self.report(py)) {
                self.cancel.cancel();
                ended = self.end(py, ended);
                return (ended, Err(raised));
            }
        }
    }

    fn report(&self, py: Python<'_>) -> PyResult<()> {
        let Some(reporter) = &self.reporter else { return Ok(()) };
        match self.latest.as_ref().and_then(Latest::take) {
            Some(now) => reporter.report(py, now),
            None => Ok(()),
        }
    }

    /// Waits for the end of a call that was cancelled, as long as it must.
    fn end(&self, py: Python<'_>, ended: Receiver<()>) -> Receiver<()> {
        let waits = self.waits;
        let ended = py.detach(move || {
            let _ = if waits { ended.recv().ok() } else { ended.recv_timeout(GRACE).ok() };
            ended
        });
        if let Some(reporter) = &self.reporter {
            reporter.close(py);
        }
        ended
    }
}

/// About how many bytes the chunks have that a call touches, decoded.
pub fn touched(array: &Array, call: &Call<'_>) -> u64 {
    /// As many chunks are counted; of more the most is taken that there can be.
    const COUNTED: usize = 64;
    if call.bytes >= MAX_BYTES_IN_PLACE {
        return call.bytes;
    }
    let metadata = array.metadata();
    let shard = metadata.shard_shape().filter(|_| call.writes);
    let Some(chunk) = shard.or_else(|| metadata.inner_chunk_shape()) else { return u64::MAX };
    let element = metadata.data_type.repr().map_or(1, |repr| repr.size().max(1)) as u64;
    let chunk_bytes = product(chunk.iter().copied()).saturating_mul(element);
    let counted = call.selection.and_then(|selection| {
        let count = array.chunks(selection).ok()?.take(COUNTED).count();
        (count < COUNTED).then_some(count as u64)
    });
    let counted = counted.unwrap_or_else(|| {
        let along = metadata.shape.iter().zip(&chunk);
        let all = product(along.map(|(len, chunk)| len.div_ceil((*chunk).max(1))));
        all.min(call.bytes.div_ceil(element))
    });
    // A piece of a shard is one chunk here, and may be many inner ones.
    counted.saturating_mul(chunk_bytes).max(call.bytes)
}

/// The product of lengths.
fn product(lens: impl Iterator<Item = u64>) -> u64 {
    lens.fold(1, u64::saturating_mul)
}

/// Whether this is the thread on which Python runs the handlers of signals.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    static THREADS: PyOnceLock<(Py<PyAny>, Py<PyAny>)> = PyOnceLock::new();
    let (current, main) = crate::fork::kept(py, &THREADS, || {
        let threading = py.import("threading")?;
        let get = |name| threading.getattr(name).map(Bound::unbind);
        PyResult::Ok((get("current_thread")?, get("main_thread")?))
    })?;
    Ok(current.bind(py).call0()?.is(main.bind(py).call0()?))
}

/// Cancels the calls that [`run_cancellable`] makes.
#[pyclass(frozen, module = "zarrkit._zarrkit")]
#[derive(Default)]
pub struct Cancel(CancelToken);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Cancel {
        Cancel::default()
    }

    /// Has the calls end: nothing further is read or written.
    fn cancel(&self) {
        self.0.cancel();
    }
}

/// Calls `function(*args, **kwargs)`. Reads and writes that it makes on this thread end when `cancel` is cancelled.
#[pyfunction]
#[pyo3(signature = (cancel, function, *args, **kwargs))]
pub fn run_cancellable<'py>(
    cancel: &Cancel,
    function: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    struct Before(Option<CancelToken>);
    impl Drop for Before {
        fn drop(&mut self) {
            OF_TASK.set(self.0.take());
        }
    }
    let _before = Before(OF_TASK.replace(Some(cancel.0.clone())));
    function.call(args, kwargs)
}

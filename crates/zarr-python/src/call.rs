//! Calls into the library without Python's lock, which Ctrl-C ends.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use zarr::{Array, CancelToken};

use crate::errors::OrRaise;

/// How often a long call looks for signals such as that of Ctrl-C.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

/// A call that moves fewer bytes than this, from or to a store that is near, is over before a signal could be noticed.
const SHORT: u64 = 1 << 20;

/// Runs `work` on an array without Python's lock. `bytes` is how much it reads or writes. A signal ends a long call: its handler's
/// exception is raised, and chunks are stored whole or not at all.
pub fn on_array<T: Send>(
    py: Python<'_>,
    array: &Array,
    bytes: u64,
    work: impl FnOnce(&Array) -> zarr::Result<T> + Send,
) -> PyResult<T> {
    let is_short = bytes < SHORT && array.hierarchy().store().as_sync().is_some();
    if is_short || !is_main_thread(py)? {
        return py.detach(|| work(array)).or_raise(py);
    }
    let cancel = CancelToken::new();
    let array = array.with_options(|options| options.cancel = Some(cancel.clone()));
    interruptible(py, &cancel, || work(&array))
}

/// Runs `work` on another thread, without Python's lock, and cancels it when a signal's handler raises an exception.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    cancel: &CancelToken,
    work: impl FnOnce() -> zarr::Result<T> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let result = py.detach(|| {
        thread::scope(|scope| {
            let (done, wait) = channel::<()>();
            let worker = scope.spawn(move || {
                let _done = done;
                work()
            });
            while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(BETWEEN_SIGNALS) {
                if raised.is_none()
                    && let Err(signal) = Python::attach(|py| py.check_signals())
                {
                    raised = Some(signal);
                    cancel.cancel();
                }
            }
            worker.join()
        })
    });
    match (raised, result) {
        (Some(signal), _) => Err(signal),
        (None, Ok(result)) => result.or_raise(py),
        (None, Err(panic)) => std::panic::resume_unwind(panic),
    }
}

/// Whether this is the thread on which Python runs the handlers of signals.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    threading.call_method0("current_thread")?.eq(threading.call_method0("main_thread")?)
}

//! Lets the process fork while its threads read and write.

use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use pyo3::wrap_pyfunction;
use zarr::fork;

use crate::open::REGISTRY;

/// How long locks of other threads are waited for.
const LOCKS_TIMEOUT: Duration = Duration::from_secs(10);

/// How long they are waited for with Python's lock: most are held for less.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

#[pyfunction]
fn before_fork(py: Python<'_>) {
    // No thread is in the middle of making it.
    LazyLock::force(&REGISTRY);
    let give_up = Instant::now() + LOCKS_TIMEOUT;
    // Afterwards no thread takes one of the library's locks, also none that has Python's: it is not given up between here and
    // the fork. Threads that hold one may need Python's, to read a store of Python's.
    while !fork::prepare_within(POLL_INTERVAL) && Instant::now() < give_up {
        fork::parent();
        py.detach(|| thread::sleep(POLL_INTERVAL));
    }
}

/// Sleeps without Python's lock.
fn sleep(time: Duration) {
    if Python::try_attach(|py| py.detach(|| thread::sleep(time))).is_none() {
        thread::sleep(time);
    }
}

/// What `lock` keeps, made by `make` at the first use.
///
/// `get_or_try_init` gives up Python's lock, so another thread could fork while the value is half made. The forked process
/// would wait for it for ever: the thread that makes it is not there. So the fork waits until it is made.
pub fn kept<'a, T>(
    py: Python<'_>,
    lock: &'a PyOnceLock<T>,
    make: impl FnOnce() -> PyResult<T>,
) -> PyResult<&'a T> {
    if let Some(kept) = lock.get(py) {
        return Ok(kept);
    }
    let _hold = fork::hold();
    lock.get_or_try_init(py, make)
}

#[pyfunction]
fn after_fork_in_parent() {
    fork::parent();
}

#[pyfunction]
fn after_fork_in_child() {
    fork::child();
}

/// Has Python call the library before and after each fork.
pub fn register(py: Python<'_>) -> PyResult<()> {
    let os = py.import("os")?;
    // Windows cannot fork.
    let Ok(register_at_fork) = os.getattr("register_at_fork") else { return Ok(()) };
    // The `numpy` crate looks its functions up at the first use: here, while no other thread can fork.
    numpy::dtype::<u8>(py);
    // The functions that other packages registered run between ours and the fork, and may give up Python's lock.
    fork::sleep_by(sleep);
    let calls = PyDict::new(py);
    calls.set_item("before", wrap_pyfunction!(before_fork, py)?)?;
    calls.set_item("after_in_parent", wrap_pyfunction!(after_fork_in_parent, py)?)?;
    calls.set_item("after_in_child", wrap_pyfunction!(after_fork_in_child, py)?)?;
    register_at_fork.call((), Some(&calls))?;
    Ok(())
}

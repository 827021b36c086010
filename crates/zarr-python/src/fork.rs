//! Lets the process fork while its threads read and write.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::wrap_pyfunction;
use zarr::fork;

#[pyfunction]
fn before_fork(py: Python<'_>) {
    // Threads that hold a lock may need Python's, to report progress or read a store of Python's.
    py.detach(fork::prepare);
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
    let calls = PyDict::new(py);
    calls.set_item("before", wrap_pyfunction!(before_fork, py)?)?;
    calls.set_item("after_in_parent", wrap_pyfunction!(after_fork_in_parent, py)?)?;
    calls.set_item("after_in_child", wrap_pyfunction!(after_fork_in_child, py)?)?;
    register_at_fork.call((), Some(&calls))?;
    Ok(())
}

//! How many threads a call uses, if its caller does not choose.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The variable of the environment that chooses.
const VARIABLE: &str = "ZARRKIT_THREADS";

/// More threads are of no use, and a process may not get them.
const MAX_THREADS: usize = 1024;

/// How many threads: those that the environment chooses; else 1 in a worker of Dask or of a `DataLoader` of PyTorch, which has
/// as many workers as are good for the machine; else 0, as many as the machine has. Neither package is imported here.
///
/// # Errors
/// `ValueError` if the environment chooses no number.
pub fn default(py: Python<'_>) -> PyResult<usize> {
    if let Some(chosen) = std::env::var_os(VARIABLE).filter(|chosen| !chosen.is_empty()) {
        let number = chosen.to_str().and_then(|chosen| chosen.trim().parse().ok());
        return number.map(checked).unwrap_or_else(|| {
            Err(PyValueError::new_err(format!(
                "invalid {VARIABLE}={chosen:?}; expected a number of threads, 0 for as many as the machine has"
            )))
        });
    }
    Ok(if is_worker_of_dask(py)? || is_worker_of_torch(py)? { 1 } else { 0 })
}

/// A number of threads that a caller chooses.
///
/// # Errors
/// `ValueError` if there are too many, or fewer than none.
pub fn checked(threads: i64) -> PyResult<usize> {
    match usize::try_from(threads) {
        Ok(threads) if threads <= MAX_THREADS => Ok(threads),
        Ok(_) => Err(PyValueError::new_err(format!(
            "{threads} threads are too many; the maximum is {MAX_THREADS}"
        ))),
        Err(_) => Err(PyValueError::new_err(format!(
            "invalid number of threads {threads}; 0 is as many as the machine has"
        ))),
    }
}

/// A module, if it is imported already.
fn imported<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let modules = py.import("sys")?.getattr("modules")?;
    let module = modules.call_method1("get", (name,))?;
    Ok(Some(module).filter(|module| !module.is_none()))
}

fn is_worker_of_dask(py: Python<'_>) -> PyResult<bool> {
    let Some(module) = imported(py, "distributed.worker")? else { return Ok(false) };
    // It raises `ValueError` elsewhere. While the module is being imported it has no such function.
    Ok(module.getattr("get_worker").and_then(|get_worker| get_worker.call0()).is_ok())
}

fn is_worker_of_torch(py: Python<'_>) -> PyResult<bool> {
    let Some(module) = imported(py, "torch.utils.data")? else { return Ok(false) };
    let info = module.getattr("get_worker_info").and_then(|get_info| get_info.call0());
    Ok(info.is_ok_and(|info| !info.is_none()))
}

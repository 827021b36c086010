//! Reports the progress of a call to Python.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use zarr::ChunkProgress;

/// How far a call has come that reads or writes chunks.
#[pyclass(frozen, get_all, module = "zarrkit")]
pub struct Progress {
    /// Chunks that are done; a shard is one.
    chunks_done: u64,
    /// Chunks that the call touches.
    chunks_total: u64,
    /// Bytes of elements in the chunks that are done, as far as the call selects them.
    bytes_done: u64,
}

#[pymethods]
impl Progress {
    fn __repr__(&self) -> String {
        let Progress { chunks_done, chunks_total, bytes_done } = self;
        format!("<zarrkit.Progress {chunks_done} of {chunks_total} chunks, {bytes_done} bytes>")
    }
}

/// What a call reports its progress to.
pub struct Reporter(Py<PyAny>);

/// What the keyword `progress` of a call names: a function that takes a [`Progress`]; `True` for a bar on the terminal; `None`
/// or `False` for nothing.
///
/// # Errors
/// `TypeError` for other values.
pub fn reporter(py: Python<'_>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Option<Reporter>> {
    let Some(progress) = progress.filter(|progress| !progress.is_none()) else { return Ok(None) };
    if let Ok(shown) = progress.extract::<bool>() {
        if !shown {
            return Ok(None);
        }
        let bar = py.import("zarrkit._progress")?.call_method0("bar")?;
        return Ok(Some(Reporter(bar.unbind())));
    }
    if !progress.is_callable() {
        let found = progress.get_type();
        let why = format!("`progress` must be a function, True or False, not {found}");
        return Err(PyTypeError::new_err(why));
    }
    Ok(Some(Reporter(progress.unbind())))
}

impl Reporter {
    /// Calls the function.
    ///
    /// # Errors
    /// What it raises.
    pub fn report(&self, py: Python<'_>, now: ChunkProgress) -> PyResult<()> {
        let ChunkProgress { chunks_done, chunks_total, bytes_done, .. } = now;
        self.0.call1(py, (Progress { chunks_done, chunks_total, bytes_done },)).map(drop)
    }

    /// Ends a bar on the terminal. Other functions have nothing to end.
    pub fn close(&self, py: Python<'_>) {
        let module = self.0.bind(py).get_type().module();
        if module.is_ok_and(|module| module == "zarrkit._progress") {
            // A terminal that takes no text is no reason for a read to fail.
            let _ = self.0.call_method0(py, "close");
        }
    }
}

//! Runs the program `zarr`, for `python -m zarrkit` and the script `zarrkit`.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program with these arguments, the first of which is its own name. Returns its exit code.
#[pyfunction]
#[pyo3(name = "run_program")]
pub fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| zarr_cli::exit_code(zarr::standard(), arguments.into_iter()))
}

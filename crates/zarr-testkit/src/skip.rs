//! Names the tests that do not run where this machine lacks something.

use std::env;
use std::io::Write;

/// Says on standard error that a test, or a part of one, does not run here, and why. CI names all of them at its end.
///
/// # Panics
/// If the environment has `ZARR_TEST_REQUIRED`.
pub fn skipped(test: &str, why: &str) {
    assert!(env::var_os("ZARR_TEST_REQUIRED").is_none(), "{test}: {why}");
    // Not by `eprintln!`: of a test that passes the runner shows nothing that this prints.
    let line = format!("SKIPPED: {test}: {why}\n");
    drop(std::io::stderr().write_all(line.as_bytes()));
}

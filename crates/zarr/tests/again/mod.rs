//! A test that runs a part of itself in a process of its own.

use std::env;
use std::ffi::OsStr;
use std::process::Command;

/// Runs one test of this program again, with `variable` set. What it prints is shown only if it fails: between two
/// words of the parent's line for a test, it would hide that the test ran.
pub fn run_again(test: &str, variable: &str, value: impl AsRef<OsStr>) {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(variable, value);
    let child = child.output().unwrap();
    let [said, errors] =
        [child.stdout, child.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{}: {said}{errors}",
        child.status
    );
}

//! Lets a test run a part of itself in a separate process.

use std::env;
use std::ffi::OsStr;
use std::process::Command;

/// Runs one test of this program again, with these variables set; returns what it says on stderr. What it prints is shown
/// only if it fails: between two words of the parent's line for a test, it would hide that the test ran.
pub fn run_again<'a>(
    test: &str,
    variables: impl IntoIterator<Item = (&'a str, impl AsRef<OsStr>)>,
) -> String {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args([test, "--exact", "--nocapture", "--test-threads=1"]).envs(variables);
    let child = child.output().unwrap();
    let [said, errors] =
        [child.stdout, child.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    let is_passed = child.status.success() && said.contains("1 passed");
    assert!(is_passed, "{}: {said}{errors}", child.status);
    errors
}

//! Runs one test of a test program again, in a process of its own.
//!
//! All integration tests of a crate are one program, whose tests share a process. A test that forks, limits what its process may use, measures
//! its memory, or is killed calls itself in a child process: an environment variable tells the child which part it has.

use std::env;
use std::ffi::OsStr;
use std::process::Command;

/// The name of a test as the test program knows it: `kills::writers` of the module path `it::kills` and the function `writers`.
///
/// ```
/// assert_eq!(zarr_testkit::test_name("it::kills", "writers"), "kills::writers");
/// assert_eq!(zarr_testkit::test_name("it", "writers"), "writers");
/// ```
pub fn test_name(module_path: &str, function: &str) -> String {
    match module_path.split_once("::") {
        Some((_, module)) => format!("{module}::{function}"),
        None => function.to_owned(),
    }
}

/// A command that runs only one test of this program, in one thread, without capturing its output.
///
/// `module_path` is the caller's `module_path!()`.
///
/// # Panics
/// If the system does not say which program this is.
pub fn test_command(module_path: &str, function: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("the path of this program"));
    command.arg(test_name(module_path, function));
    command.args(["--exact", "--nocapture", "--test-threads=1"]);
    command
}

/// Runs one test of this program in a child process, with these variables set; returns what it writes to stderr.
///
/// What the child prints is shown only if it fails: within the parent's line for a test, it would hide that the test ran.
///
/// # Panics
/// If the child fails, or if it does not run exactly one test, as after a test was renamed.
pub fn run_test_again<'a>(
    module_path: &str,
    function: &str,
    variables: impl IntoIterator<Item = (&'a str, impl AsRef<OsStr>)>,
) -> String {
    let mut command = test_command(module_path, function);
    let output = command.envs(variables).output().expect("a child process");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let is_passed = output.status.success() && stdout.contains("1 passed");
    assert!(is_passed, "{}: {stdout}{stderr}", output.status);
    stderr.into_owned()
}

/// The most memory that this process has held since it started, in bytes; nothing where the system does not tell, which is everywhere but on
/// Linux. It never falls, so what measures it runs in a child process.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

//! Measures how much memory a hostile store costs.
//!
//! A process's peak never falls, so each case runs in a process of its own: the runner calls itself.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use zarr::{Json, Object};

use crate::compare::parse;
use crate::{Check, malformed};

const STORE: &str = "CONFORMANCE_PROBE_STORE";
const CASE: &str = "CONFORMANCE_PROBE_CASE";

/// Checks the peak of a case that gives `max_memory_mib`; elsewhere than on Linux there is no way to ask.
pub fn check(id: &str, store: &Path, case: &Object) -> Check {
    let Some(limit) = case.get("max_memory_mib").and_then(Json::as_u64) else {
        return Ok(());
    };
    if peak().is_none() {
        return Ok(());
    }
    let program = env::current_exe().map_err(|e| e.to_string())?;
    let mut child = Command::new(program);
    child.env(STORE, store).env(CASE, Json::Object(case.clone()).to_string());
    let output = child.output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let grown: u64 = match text.trim().parse() {
        Ok(kib) if output.status.success() => kib,
        _ => {
            return Err(format!(
                "{id}: the probe failed: {text} {}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
    };
    if grown <= limit * 1024 {
        Ok(())
    } else {
        Err(format!("the peak grew by {} MiB, {limit} MiB are allowed", grown / 1024))
    }
}

/// Runs one case and tells by how many KiB the peak grew, if this process was started for that.
pub fn as_probe() -> Option<ExitCode> {
    let (store, case) = (env::var_os(STORE)?, env::var(CASE).ok()?);
    let before = peak().unwrap_or(0);
    let outcome = match parse(case.as_bytes(), CASE) {
        Ok(Json::Object(case)) => malformed::check(Path::new(&store), &case),
        Ok(_) => Err("not an object".into()),
        Err(message) => Err(message),
    };
    Some(match outcome {
        Ok(()) => {
            println!("{}", peak().unwrap_or(0) - before);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    })
}

/// The most memory this process ever held, in KiB.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

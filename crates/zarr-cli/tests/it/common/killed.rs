//! Runs of the program that are killed after a number of changes of a store, which `--trace` tells.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// Numbers that look random, the same in every run; `ZARR_KILLS_SEED` gives others.
pub struct Random(u64);

impl Random {
    pub fn new() -> Random {
        let seed = std::env::var("ZARR_KILLS_SEED").ok().and_then(|text| text.parse().ok());
        Random(seed.unwrap_or(15))
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % end.max(1)
    }
}

/// Whether a line of `--trace` tells of a change of the store.
fn is_change(line: &str) -> bool {
    line.starts_with("trace: put") || line.starts_with("trace: erase")
}

/// How many changes a run makes, and how long it takes to the first of them and to its end.
pub fn measure(mut child: Child) -> (u64, Duration, Duration) {
    let (begun, mut first, mut changes) = (Instant::now(), None, 0);
    let mut messages = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok) {
        if is_change(&line) {
            first.get_or_insert(begun.elapsed());
            changes += 1;
        } else if !line.starts_with("trace:") {
            messages += &line;
        }
    }
    assert!(child.wait().unwrap().success(), "{messages}");
    (changes, first.unwrap(), begun.elapsed())
}

/// Kills a run with `--trace` once it has told of so many changes, and a time has passed; whether it was still running.
pub fn kill_after_changes(mut child: Child, changes: u64, delay: Duration) -> bool {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let told = lines.by_ref().filter(|line| is_change(line)).take(changes as usize).count() as u64;
    thread::sleep(delay);
    child.kill().unwrap();
    lines.for_each(drop);
    let status = child.wait().unwrap();
    assert!(told == changes || status.success(), "{status}");
    !status.success()
}

/// How many runs are killed in each way: `ZARR_COPY_KILLS=200`, or 3.
pub fn kills() -> u32 {
    std::env::var("ZARR_COPY_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

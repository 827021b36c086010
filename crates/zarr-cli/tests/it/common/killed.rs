//! Runs of the program that are killed after a number of changes of a store, which `--trace` tells.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Folder;

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

fn traced(folder: &Folder, line: &str) -> Child {
    let mut command = folder.command(&format!("{line} --trace"));
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Kills `kills()` runs of a line, each in a place of its own, which `prepare` makes and `check` looks at after the kill.
pub fn kill_all(
    folder: &Folder,
    name: &str,
    line: impl Fn(&str) -> String,
    prepare: impl Fn(&str),
    check: impl Fn(&str, &str),
) {
    let mut random = Random::new();
    prepare("measured");
    let (changes, first, end) = measure(traced(folder, &line("measured")));
    assert!(changes > 2, "{name}: {changes} changes");
    let one = (end - first).div_f64(changes as f64).as_nanos() as u64;
    let (mut killed, mut ended) = (0, 0);
    while killed < kills() {
        assert!(ended < 20 + 4 * kills(), "{name}: too few were killed");
        let target = format!("t{}", killed + ended);
        prepare(&target);
        let after = random.below(changes + 1);
        let most = if after == 0 { first.as_nanos() as u64 } else { 4 * one };
        let delay = Duration::from_nanos(random.below(most));
        if kill_after_changes(traced(folder, &line(&target)), after, delay) {
            killed += 1;
            check(&target, &format!("{name}: {delay:?} after change {after} of {changes}"));
        } else {
            ended += 1;
        }
        std::fs::remove_dir_all(folder.path(&target)).unwrap_or_default();
    }
    std::fs::remove_dir_all(folder.path("measured")).unwrap();
    println!("kills: {name}: {killed} killed and continued, {ended} ended before");
}

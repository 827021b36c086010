//! The lock files of a folder: threads are processes here, each with its own handles.

use std::path::Path;

use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicI64, Ordering};
use shuttle::thread;

use super::lock::{self, Held, Mode};
use super::path::LOCK;
use super::tidy::Written;
use crate::system::fs;

const FOLDER: &str = "/x.zarr/c";
const KEY: &str = "/x.zarr/c/0";

/// Who is at the keys: the number of those that share, or -1 for one that does not.
#[derive(Debug, Default)]
struct Inside(AtomicI64);

impl Inside {
    /// Is at the keys for some steps.
    fn visit(&self, mode: Mode) {
        let (by, allowed) = if mode == Mode::Exclusive { (-1, 0..=0) } else { (1, 0..=i64::MAX) };
        let before = self.0.fetch_add(by, Ordering::SeqCst);
        assert!(allowed.contains(&before), "{mode:?} while {before} are at the keys");
        fs::write(Path::new(KEY));
        let after = self.0.fetch_sub(by, Ordering::SeqCst);
        assert!(allowed.contains(&(after - by)), "{mode:?} while {after} are at the keys");
    }
}

/// As `set` and `set_if` do, then ends; or is killed after its change.
fn write(mode: Mode, inside: &Inside, is_killed: bool) {
    let written = Written::default();
    let folder = Path::new(FOLDER);
    loop {
        fs::create_dir_all(folder).expect("it can be made");
        let Some(held) = lock::lock(folder, mode).expect("it can be locked") else { continue };
        written.note(folder);
        inside.visit(mode);
        drop(held);
        break;
    }
    if is_killed {
        std::mem::forget(written);
    }
}

/// As `erase_prefix` does with a folder.
fn erase(inside: &Inside) {
    let folder = Path::new(FOLDER);
    let Some(held) = lock::lock(folder, Mode::Exclusive).expect("it can be locked") else { return };
    inside.visit(Mode::Exclusive);
    // Whatever other processes keep there.
    let _ = fs::remove_file(Path::new(KEY));
    lock::unlink(folder).expect("it can be removed");
    let _ = fs::remove_dir(folder);
    drop(held);
}

fn run(processes: impl IntoIterator<Item = Process>) {
    fs::reset();
    fs::create_dir_all(Path::new(FOLDER)).expect("it can be made");
    run_on(processes);
}

/// As [`run`], in a folder that may have a lock file.
fn run_on(processes: impl IntoIterator<Item = Process>) {
    let inside = Arc::new(Inside::default());
    let processes: Vec<_> = processes
        .into_iter()
        .map(|process| {
            let inside = inside.clone();
            thread::spawn(move || process(&inside))
        })
        .collect();
    processes.into_iter().for_each(|process| process.join().expect("it ends"));
    let left = fs::names();
    assert!(!left.iter().any(|name| name.ends_with(LOCK)), "a lock file stays: {left:?}");
}

fn writer(mode: Mode) -> Process {
    Box::new(move |inside| write(mode, inside, false))
}

type Process = Box<dyn FnOnce(&Inside) + Send>;

/// Three processes, of which two may be at the keys together.
pub fn writers() {
    run([writer(Mode::Exclusive), writer(Mode::Shared), writer(Mode::Shared)]);
}

/// Three that tidy after each of their changes, so that lock files come and go.
pub fn tidy_writers() {
    let writer = || -> Process {
        Box::new(|inside| {
            write(Mode::Exclusive, inside, false);
            write(Mode::Exclusive, inside, false);
        })
    };
    run([writer(), writer(), writer()]);
}

/// Two writers, and what erases the folder under them.
pub fn eraser() {
    run([writer(Mode::Exclusive), writer(Mode::Shared), Box::new(erase)]);
}

pub fn two_writers() {
    run([writer(Mode::Exclusive), writer(Mode::Exclusive)]);
}

pub fn writer_and_eraser() {
    run([writer(Mode::Shared), Box::new(erase)]);
}

/// Its lock is free, and its lock file goes with the other.
pub fn killed_writer() {
    fs::reset();
    fs::create_dir_all(Path::new(FOLDER)).expect("it can be made");
    write(Mode::Exclusive, &Inside::default(), true);
    run_on([writer(Mode::Exclusive), writer(Mode::Shared)]);
}

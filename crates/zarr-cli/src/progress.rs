//! Shows how far long work has come.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use zarr::NodePath;

use crate::human::printable;

/// Whether `--quiet` was given.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Whether no bar is shown from now on.
pub(crate) fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// A bar on standard error, if that is a terminal; else nothing. The thread that reports progress draws
/// it: the system may refuse a further thread.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for `total` bytes. With `hidden`, or in a pipe, nothing is shown.
    pub fn of_bytes(total: u64, hidden: bool) -> Progress {
        let template = "{wide_msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        Progress::new(total, hidden, template)
    }

    /// A bar for values of a store.
    pub fn of_values(hidden: bool) -> Progress {
        Progress::new(0, hidden, "{wide_msg} {bar:30} {human_pos}/{human_len} values {eta}")
    }

    /// A number of calls to a store, of an unknown whole.
    pub fn of_calls() -> Progress {
        Progress::new(0, false, "{spinner} {human_pos} store calls, {msg} read, {elapsed}")
    }

    fn new(total: u64, hidden: bool, template: &str) -> Progress {
        let hidden = hidden || QUIET.load(Ordering::Relaxed);
        let shown = io::stderr().is_terminal() && !hidden;
        let target = if shown {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Progress(bar)
    }

    /// Says what is being worked on. A name is data: the terminal must not obey it.
    pub fn message(&self, text: &str) {
        let text = printable(text);
        if self.0.message() != text {
            self.0.set_message(text);
        }
    }

    /// Says how many of how many bytes are done, and at which node.
    pub fn at(&self, done: u64, total: u64, path: Option<&NodePath>) {
        self.total(total);
        self.done(done);
        if let Some(path) = path {
            self.message(path.as_str());
        }
    }

    /// Says how many bytes there are.
    pub fn total(&self, bytes: u64) {
        if self.0.length() != Some(bytes) {
            self.0.set_length(bytes);
        }
    }

    /// Says how many bytes are done.
    pub fn done(&self, bytes: u64) {
        self.0.set_position(bytes);
    }

    /// Whether a terminal shows it.
    pub fn is_shown(&self) -> bool {
        !self.0.is_hidden()
    }

    /// Whether there is something to show.
    pub fn has_begun(&self) -> bool {
        self.0.position() > 0
    }

    /// Writes something else on the terminal, in the bar's place, and then the bar again.
    pub fn apart<T>(&self, write: impl FnOnce() -> T) -> T {
        self.0.suspend(write)
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_and_not_obeyed() {
        let bar = Progress::of_bytes(1, true);
        let path = NodePath::new("/a\u{1b}[2Jb\nc").unwrap();
        bar.at(1, 2, Some(&path));
        assert_eq!(bar.0.message(), "/a\\u{1b}[2Jb\\nc");
        assert_eq!((bar.0.position(), bar.0.length()), (1, Some(2)));
    }
}

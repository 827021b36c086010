//! Shows how far long work has come.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error, if that is a terminal; else nothing. The thread that reports progress draws
/// it: the system may refuse a further thread.
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

    fn new(total: u64, hidden: bool, template: &str) -> Progress {
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

    /// Says what is being worked on.
    pub fn message(&self, text: String) {
        if self.0.message() != text {
            self.0.set_message(text);
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
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

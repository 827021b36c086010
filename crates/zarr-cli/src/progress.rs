//! Shows how far long work has come.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error, if that is a terminal; else nothing. The thread that reports progress draws
/// it: the system may refuse a further thread.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for `total` bytes. With `hidden`, or in a pipe, nothing is shown.
    pub fn of_bytes(total: u64, hidden: bool) -> Progress {
        let shown = io::stderr().is_terminal() && !hidden;
        let target = if shown {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        let template = "{wide_msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
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

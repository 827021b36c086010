//! Counts what stores were asked.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use zarr::stores::{Call, Outcome};

use crate::human;
use crate::progress::Progress;

/// How often stores were asked, and how much they gave and took.
#[derive(Debug)]
pub(crate) struct Calls {
    began: Instant,
    calls: AtomicU64,
    read: AtomicU64,
    written: AtomicU64,
    bar: OnceLock<Progress>,
}

impl Default for Calls {
    fn default() -> Calls {
        let zero = AtomicU64::default;
        Calls {
            began: Instant::now(),
            calls: zero(),
            read: zero(),
            written: zero(),
            bar: OnceLock::new(),
        }
    }
}

impl Calls {
    pub fn count(&self, call: &Call<'_>) {
        let calls = self.calls.fetch_add(1, Ordering::Relaxed);
        if let Some(bar) = self.bar.get() {
            bar.done(calls + 1);
        }
        let bytes = match call.outcome {
            Outcome::Found => &self.read,
            Outcome::Done => &self.written,
            _ => return,
        };
        bytes.fetch_add(call.bytes, Ordering::Relaxed);
    }

    /// Shows the number on a terminal.
    pub fn show(&self) {
        self.bar.get_or_init(Progress::of_calls);
    }

    pub fn is_shown(&self) -> bool {
        self.bar.get().is_some()
    }

    /// Takes the number away.
    pub fn hide(&self) {
        if let Some(bar) = self.bar.get() {
            bar.clear();
        }
    }

    /// `12 calls to stores, 3.4 MiB read, 0 bytes written, 0.52 s`.
    pub fn summary(&self) -> String {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        format!(
            "{} to stores, {} read, {} written, {:.2} s",
            human::plural(load(&self.calls), "call"),
            human::size(load(&self.read)),
            human::size(load(&self.written)),
            self.began.elapsed().as_secs_f64()
        )
    }
}

//! Counts what stores were asked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use zarr::stores::{Call, Outcome};

use crate::human;

/// How often stores were asked, and how much they gave and took.
#[derive(Debug)]
pub(crate) struct Calls {
    began: Instant,
    calls: AtomicU64,
    read: AtomicU64,
    written: AtomicU64,
}

impl Default for Calls {
    fn default() -> Calls {
        let zero = AtomicU64::default;
        Calls { began: Instant::now(), calls: zero(), read: zero(), written: zero() }
    }
}

impl Calls {
    pub fn count(&self, call: &Call<'_>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let bytes = match call.outcome {
            Outcome::Found => &self.read,
            Outcome::Done => &self.written,
            _ => return,
        };
        bytes.fetch_add(call.bytes, Ordering::Relaxed);
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

//! Counts what stores were asked.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zarr::stores::{Call, Outcome};

use crate::human;
use crate::progress::Progress;

/// From this many calls, or this much time, on there is something to show: a short command shows nothing.
const MIN_CALLS_TO_SHOW: u64 = 50;
const MIN_TIME_TO_SHOW: Duration = Duration::from_millis(500);

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
        let calls = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        match call.outcome {
            Outcome::Found => self.read.fetch_add(call.bytes, Ordering::Relaxed),
            Outcome::Done => self.written.fetch_add(call.bytes, Ordering::Relaxed),
            _ => 0,
        };
        if let Some(bar) = self.bar.get()
            && (calls >= MIN_CALLS_TO_SHOW || self.began.elapsed() >= MIN_TIME_TO_SHOW)
        {
            bar.message(&human::size(self.read.load(Ordering::Relaxed)));
            bar.done(calls);
        }
    }

    /// Shows on a terminal from now on how often stores were asked, and what they gave.
    pub fn show(&self) {
        let bar = Progress::of_calls();
        if bar.is_shown() {
            self.bar.get_or_init(|| bar);
        }
    }

    /// Writes something else on the terminal, in the place of the number, which follows.
    pub fn apart<T>(&self, write: impl FnOnce() -> T) -> T {
        match self.bar.get().filter(|bar| bar.has_begun()) {
            Some(bar) => bar.apart(write),
            None => write(),
        }
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

    /// `12 store calls, 3.4 MiB read, 0 bytes written, 0.52 s`.
    pub fn summary(&self) -> String {
        format!(
            "{}, {} read, {} written, {:.2} s",
            human::plural(load(&self.calls), "store call"),
            human::size(load(&self.read)),
            human::size(load(&self.written)),
            self.began.elapsed().as_secs_f64()
        )
    }
}

/// What was counted up to now.
fn load(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

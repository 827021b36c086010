//! Counts what the server does, and prints it as Prometheus reads it.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters, from the start on, and gauges.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Answers by their status: 2xx, 3xx, 4xx, 5xx.
    answers: [AtomicU64; 4],
    /// Bytes that were sent, headers among them.
    pub sent: Arc<AtomicU64>,
    /// Connections that are open.
    pub connections: AtomicU64,
    /// Requests that are being answered.
    pub under_way: AtomicU64,
    /// Chunks that were decoded and encoded anew.
    pub recoded: AtomicU64,
    /// Chunks that were in the cache.
    pub from_cache: AtomicU64,
    /// Bytes in the cache.
    pub cached: AtomicU64,
    /// Nanoseconds from each request to the end of its answer.
    nanoseconds: AtomicU64,
}

impl Metrics {
    /// Counts an answer that has ended.
    pub fn answered(&self, status: u16, nanoseconds: u64) {
        let class = usize::from(status / 100).clamp(2, 5) - 2;
        self.answers[class].fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// The text for Prometheus.
    pub fn text(&self) -> String {
        let mut text = String::new();
        text.push_str("# HELP zarr_requests_total Requests answered, by class of status.\n# TYPE zarr_requests_total counter\n");
        for (class, counter) in (2..).zip(&self.answers) {
            let _ = writeln!(text, "zarr_requests_total{{status=\"{class}xx\"}} {}", read(counter));
        }
        let seconds = read(&self.nanoseconds) as f64 / 1e9;
        let simple = [
            (
                "zarr_request_seconds_total",
                "counter",
                "Time from a request to the end of its response, in seconds.",
                seconds,
            ),
            (
                "zarr_sent_bytes_total",
                "counter",
                "Bytes sent, with headers.",
                read(&self.sent) as f64,
            ),
            ("zarr_connections", "gauge", "Open connections.", read(&self.connections) as f64),
            (
                "zarr_requests_under_way",
                "gauge",
                "Requests that are being answered.",
                read(&self.under_way) as f64,
            ),
            (
                "zarr_chunks_recoded_total",
                "counter",
                "Chunks re-encoded for the v3 view.",
                read(&self.recoded) as f64,
            ),
            (
                "zarr_chunks_from_cache_total",
                "counter",
                "Re-encoded chunks served from the cache.",
                read(&self.from_cache) as f64,
            ),
            (
                "zarr_cache_bytes",
                "gauge",
                "Bytes in the cache of re-encoded chunks.",
                read(&self.cached) as f64,
            ),
        ];
        for (name, kind, help, value) in simple {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        }
        text
    }
}

/// What was counted up to now.
fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

//! Cancels a call that reads or writes many chunks, and reports its progress.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::error::{AccessError, Result};
use crate::selection::ResolvedSelection;
use crate::sync::lock;

/// Cancels calls from another thread: set it in [`crate::Options::cancel`], keep a clone, and call [`CancelToken::cancel`].
///
/// A call looks at its token before each chunk, before each inner chunk of a shard, before each request to a remote
/// store, and right before it stores a chunk. Each chunk of a cancelled write is stored either as it was or as it was to be.
/// A token stays cancelled: later calls need another one.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Has the calls with this token, or a clone of it, end with [`AccessError::Cancelled`].
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(AccessError::Cancelled.into()) } else { Ok(()) }
    }
}

/// How far one call has come that reads or writes chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkProgress {
    /// Chunks that are done; a shard is one.
    pub chunks_done: u64,
    /// Chunks that the call touches.
    pub chunks_total: u64,
    /// Bytes of native elements in the chunks that are done, as far as the call selects them. A variable-length element
    /// counts as a reference of fixed size.
    pub bytes_done: u64,
}

/// A function that is called with the progress of a call. See [`crate::Options::progress`].
#[derive(Clone)]
pub struct ProgressCallback(Arc<dyn Fn(ChunkProgress) + Send + Sync>);

impl ProgressCallback {
    /// Calls `report` once for each chunk that is done, from the thread that has done it. Several threads may call it at the
    /// same time, so that a call with a larger `chunks_done` may arrive before one with a smaller; no two have the same.
    pub fn new(report: impl Fn(ChunkProgress) + Send + Sync + 'static) -> ProgressCallback {
        ProgressCallback(Arc::new(report))
    }
}

impl fmt::Debug for ProgressCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressCallback")
    }
}

/// Counts the chunks of one call, if the caller asked for its progress.
pub(crate) struct Counter<'a>(Option<Counts<'a>>);

struct Counts<'a> {
    report: &'a ProgressCallback,
    total: u64,
    /// How many chunks are done, and their bytes.
    done: Mutex<(u64, u64)>,
}

impl Counter<'_> {
    /// A counter of as many chunks as `total` returns.
    pub fn new(report: &Option<ProgressCallback>, total: impl FnOnce() -> usize) -> Counter<'_> {
        Counter(report.as_ref().map(|report| Counts {
            report,
            total: total() as u64,
            done: Mutex::default(),
        }))
    }

    /// Reports a chunk of which `elements` elements of `size` bytes each are done.
    pub fn chunk_done(&self, elements: &ResolvedSelection, size: usize) {
        let Some(counts) = &self.0 else { return };
        let bytes = elements.element_count().unwrap_or(u64::MAX).saturating_mul(size as u64);
        let (chunks_done, bytes_done) = {
            let mut done = lock(&counts.done);
            *done = (done.0 + 1, done.1.saturating_add(bytes));
            *done
        };
        // Without the lock: this is code of a third party.
        (counts.report.0)(ChunkProgress { chunks_done, chunks_total: counts.total, bytes_done });
    }
}

//! Does work on several threads, while the calling thread hears what is done.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use zarr_core::codec::buffer_pool::zeroed;
use zarr_core::runtime::Parallel;
use zarr_core::sync::lock;
use zarr_core::{AccessError, CancelToken, Region, Result};

/// Hears of each region that is copied, on the calling thread.
pub(crate) type Done<'a> = &'a mut dyn FnMut(&Region) -> Result<()>;

/// Memory that workers use again and again. What a worker has not touched of it takes no room.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Buffers {
    /// Forgets what is too small for the next work, or more than it needs.
    fn prepare(&self, count: usize, size: usize) {
        let mut kept = lock(&self.0);
        kept.retain(|buffer| buffer.len() >= size && buffer.len() <= size + size / 4);
        kept.truncate(count);
    }

    /// A buffer of at least `size` bytes of any value.
    fn take(&self, size: usize) -> Result<Vec<u8>> {
        if let Some(kept) = lock(&self.0).pop() {
            return Ok(kept);
        }
        // Zeroed memory comes from the system as it is needed.
        Ok(zeroed("copy", size as u64)?)
    }

    fn give(&self, buffer: Vec<u8>) {
        lock(&self.0).push(buffer);
    }
}

/// How work is done.
pub(crate) struct Workers<'a> {
    /// How many threads work at the same time; with one, it is the calling thread.
    pub count: usize,
    /// The bytes that each brings along.
    pub buffer: usize,
    pub buffers: &'a Buffers,
    pub cancel: Option<&'a CancelToken>,
    /// Set when other work has failed that needs this one.
    pub stop: Option<&'a AtomicBool>,
}

impl Workers<'_> {
    fn check(&self) -> Result<()> {
        let is_cancelled = self.cancel.is_some_and(CancelToken::is_cancelled);
        let is_stopped = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        if is_cancelled || is_stopped { Err(AccessError::Cancelled.into()) } else { Ok(()) }
    }

    /// Calls `work` for every item, with a buffer and a way to tell what is done. Stops after the first error, and when
    /// the caller cancels.
    pub fn run<T: Send, D: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        work: impl Fn(&mut [u8], T, &mut dyn FnMut(D) -> Result<()>) -> Result<()> + Sync,
        done: &mut dyn FnMut(&D) -> Result<()>,
    ) -> Result<()> {
        self.buffers.prepare(self.count, self.buffer);
        let parallel = Parallel { name: "zarr-copy", threads: self.count, cancel: None };
        let buffers = parallel.as_done(
            items,
            || self.buffers.take(self.buffer),
            |buffer: &mut Vec<u8>, item, tell: &mut dyn FnMut(D) -> Result<()>| {
                self.check()?;
                work(buffer, item, tell)
            },
            |what| done(&what),
        )?;
        buffers.into_iter().for_each(|buffer| self.buffers.give(buffer));
        Ok(())
    }
}

//! Does work on several threads, while the calling thread hears what is done.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;

use zarr_core::codec::buffer_pool::zeroed;
use zarr_core::fork::on_thread;
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
        if self.count <= 1 {
            let mut buffer = self.buffers.take(self.buffer)?;
            let result = items.into_iter().try_for_each(|item| {
                self.check()?;
                work(&mut buffer, item, &mut |what| done(&what))
            });
            self.buffers.give(buffer);
            return result;
        }
        let (items, is_stopped) = (Mutex::new(items), AtomicBool::new(false));
        let failed = Mutex::new(None);
        let fail = |error| {
            is_stopped.store(true, Ordering::Relaxed);
            lock(&failed).get_or_insert(error);
        };
        let (tell, told) = mpsc::channel::<D>();
        let each = |tell: mpsc::Sender<D>| {
            let mut buffer = match self.buffers.take(self.buffer) {
                Ok(buffer) => buffer,
                Err(error) => return fail(error),
            };
            while !is_stopped.load(Ordering::Relaxed) {
                let next = lock(&items).next();
                let Some(item) = next else { break };
                let mut tell = |what| {
                    // The calling thread hears until all are done.
                    let _ = tell.send(what);
                    Ok(())
                };
                if let Err(error) = self.check().and_then(|()| work(&mut buffer, item, &mut tell)) {
                    fail(error);
                }
            }
            self.buffers.give(buffer);
        };
        thread::scope(|scope| {
            let mut begun = 0;
            for n in 0..self.count {
                let (tell, each) = (tell.clone(), &each);
                let name = thread::Builder::new().name(format!("zarr-copy-{n}"));
                begun +=
                    usize::from(name.spawn_scoped(scope, on_thread(move || each(tell))).is_ok());
            }
            if begun == 0 {
                // The system starts no thread: this one does the work.
                each(tell.clone());
            }
            drop(tell);
            for what in told {
                if let Err(error) = done(&what) {
                    fail(error);
                }
            }
        });
        let failed = lock(&failed).take();
        failed.map_or(Ok(()), Err)
    }
}

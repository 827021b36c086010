//! Threads for what decodes and draws: the same few ones, so that the allocator keeps little memory for each.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use tokio::sync::{Semaphore, oneshot};
use zarr::sync::lock;

type Job = Box<dyn FnOnce() + Send>;

/// A number of threads, which end with it.
pub(crate) struct Workers {
    jobs: Sender<Job>,
    places: Arc<Semaphore>,
}

impl Workers {
    /// Starts `count` threads.
    pub fn new(count: usize) -> Workers {
        let (jobs, waiting) = channel::<Job>();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..count {
            let waiting = waiting.clone();
            // Without a thread its share of the work waits for the others.
            let _ = std::thread::Builder::new().name("answer".into()).spawn(move || work(&waiting));
        }
        Workers { jobs, places: Arc::new(Semaphore::new(count)) }
    }

    /// The result of a call, once a thread is free; nothing if it panicked. `before` is waited for in between: what it returns
    /// is of no use to a call that waits.
    pub async fn run<B, T: Send + 'static, E>(
        &self,
        before: impl AsyncFnOnce() -> Result<B, E>,
        call: impl FnOnce(B) -> T + Send + 'static,
    ) -> Result<Option<T>, E>
    where
        B: Send + 'static,
    {
        let Ok(place) = self.places.clone().acquire_owned().await else { return Ok(None) };
        let before = before().await?;
        let (done, result) = oneshot::channel();
        let job = move || {
            let _place = place;
            // The client may have gone.
            let _ = done.send(call(before));
        };
        let _ = self.jobs.send(Box::new(job));
        Ok(result.await.ok())
    }
}

fn work(waiting: &Mutex<Receiver<Job>>) {
    loop {
        let job = lock(waiting).recv();
        let Ok(job) = job else { return };
        // What panicked has no result, and the thread goes on.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_one_call_only() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let workers = Workers::new(1);
        let run = |call: fn(()) -> u8| {
            runtime.block_on(workers.run(async || Ok::<_, ()>(()), call)).unwrap()
        };
        assert_eq!(run(|()| panic!("as it should")), None);
        assert_eq!(run(|()| 7), Some(7));
        assert_eq!(runtime.block_on(workers.run(async || Err::<(), _>(3), |()| 7)), Err(3));
    }
}

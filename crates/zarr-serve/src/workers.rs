//! Threads for what decodes and draws: the same few ones, so that the allocator keeps little memory for each.

use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};
use zarr::runtime;

/// A number of threads, which end with it.
pub(crate) struct Workers {
    threads: runtime::Workers,
    places: Arc<Semaphore>,
}

impl Workers {
    /// Starts `count` threads.
    pub fn new(count: usize) -> Workers {
        let threads = runtime::Workers::start("answer", count);
        Workers { threads, places: Arc::new(Semaphore::new(count)) }
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
        self.threads.run(move || {
            let _place = place;
            // The client may have gone.
            let _ = done.send(call(before));
        });
        Ok(result.await.ok())
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

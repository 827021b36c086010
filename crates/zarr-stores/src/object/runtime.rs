//! Where do requests go on while their callers wait?
//!
//! On a few threads of this library's own, made when they are first needed and anew in a forked process, so that
//! callers need no runtime, and may be inside any (DECISIONS 10, 30).

use std::sync::{Mutex, PoisonError};

use futures::channel::oneshot::{self, Receiver};
use tokio::runtime::{Builder, Handle};
use tokio::task::AbortHandle;
use zarr_core::StoreError;

/// They wait for sockets; decoding has threads of its own.
const THREADS: usize = 2;

/// The way to this process' threads.
pub(super) fn handle() -> Result<Handle, StoreError> {
    static RUNTIME: Mutex<Option<(u32, Handle)>> = Mutex::new(None);
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    match &*runtime {
        Some((process, handle)) if *process == std::process::id() => Ok(handle.clone()),
        _ => {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(THREADS).thread_name("zarr-requests").enable_all();
            let made = builder.build().map_err(|source| {
                let key = String::from("a thread for requests");
                StoreError::Io { operation: "start", key, source }
            })?;
            let handle = made.handle().clone();
            // It lasts as long as the process: nobody waits for requests whose callers are gone.
            std::mem::forget(made);
            *runtime = Some((std::process::id(), handle.clone()));
            Ok(handle)
        }
    }
}

/// Work on those threads, ended when nobody waits for it any more, unless it is one that must be finished.
///
/// The answer comes by a channel that knows nothing of runtimes: those of tokio's own refuse an answer to a task
/// that has had many and did not yield, as a task that calls a blocking store cannot.
pub(super) struct Task<T> {
    answer: Receiver<T>,
    /// `None`: it is finished, whoever waits.
    work: Option<AbortHandle>,
}

impl<T: Send + 'static> Task<T> {
    pub fn start(work: impl Future<Output = T> + Send + 'static) -> Result<Task<T>, StoreError> {
        let (send, answer) = oneshot::channel();
        let work = handle()?.spawn(async move {
            let _ = send.send(work.await);
        });
        Ok(Task { answer, work: Some(work.abort_handle()) })
    }

    /// As [`Task::done`], of work that goes on when the caller goes away.
    pub async fn finishing(mut self) -> Result<T, StoreError> {
        self.work = None;
        self.done().await
    }

    pub async fn done(mut self) -> Result<T, StoreError> {
        let ended = |_| StoreError::Backend("a request ended before it was done".into());
        (&mut self.answer).await.map_err(ended)
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if let Some(work) = &self.work {
            work.abort();
        }
    }
}

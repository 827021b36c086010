//! Runs requests while their callers wait.
//!
//! They run on a few threads of this library's own, made when they are first needed and anew in a forked process, so
//! that callers need no runtime, and may be inside any (docs/internals/design/stores.md,
//! docs/internals/design/threads-and-memory.md). A thread that cannot be had is an error.

use std::future::pending;
use std::io;
use std::sync::{Mutex, mpsc};

use futures::channel::oneshot::{self, Receiver};
use tokio::runtime::{Builder, Handle};
use tokio::task::AbortHandle;
use zarr_core::runtime::spawn_thread;
use zarr_core::store::Result;
use zarr_core::{StoreError, sync};

use super::answer::Exchange;

/// They wait for sockets; decoding has its own threads.
const REQUEST_THREADS: usize = 2;

/// The threads of one process, which take turns.
struct Threads {
    process: u32,
    handles: Vec<Handle>,
    next: usize,
}

/// The way to one of this process' threads.
fn handle() -> Result<Handle> {
    static THREADS_OF_PROCESS: Mutex<Option<Threads>> = Mutex::new(None);
    let mut known = sync::lock(&THREADS_OF_PROCESS);
    let threads = match &mut *known {
        Some(threads) if threads.process == std::process::id() => threads,
        _ => {
            let first = start().map_err(StoreError::io("start", "a thread for requests"))?;
            // One is enough where there are no more.
            let more = (1..REQUEST_THREADS).map_while(|_| start().ok());
            let handles = std::iter::once(first).chain(more).collect();
            known.insert(Threads { process: std::process::id(), handles, next: 0 })
        }
    };
    threads.next = (threads.next + 1) % threads.handles.len();
    Ok(threads.handles[threads.next].clone())
}

/// A thread with a runtime, which lasts as long as the process. tokio's own threads are not used: it panics where it
/// gets none.
fn start() -> io::Result<Handle> {
    let (send, started) = mpsc::channel();
    spawn_thread("zarr-requests", move || {
        let built = Builder::new_current_thread().enable_all().build();
        match built {
            Ok(runtime) => {
                let _ = send.send(Ok(runtime.handle().clone()));
                runtime.block_on(pending::<()>());
            }
            Err(e) => drop(send.send(Err(e))),
        }
    })?;
    started.recv().map_err(io::Error::other)?
}

/// Work on those threads, ended when its caller no longer waits for it, unless it must be finished.
///
/// The answer comes by a channel that knows nothing of runtimes: those of tokio's own refuse an answer to a task
/// that has had many and did not yield, as a task that calls a blocking store cannot.
pub(super) struct Task<T> {
    answer: Receiver<T>,
    /// `None`: it is finished, also when no caller waits.
    work: Option<AbortHandle>,
}

impl<T: Send + 'static> Task<T> {
    pub fn start(work: impl Future<Output = T> + Send + 'static) -> Result<Task<T>> {
        let (send, answer) = oneshot::channel();
        let work = handle()?.spawn(Exchange::default().scope(async move {
            let _ = send.send(work.await);
        }));
        Ok(Task { answer, work: Some(work.abort_handle()) })
    }

    /// As [`Task::done`], of work that goes on when the caller goes away.
    pub async fn finishing(mut self) -> Result<T> {
        self.work = None;
        self.done().await
    }

    pub async fn done(mut self) -> Result<T> {
        (&mut self.answer)
            .await
            .map_err(|_| StoreError::Backend("a request ended before it was done".into()))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if let Some(work) = &self.work {
            work.abort();
        }
    }
}

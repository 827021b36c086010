//! Runs the work of the crate `icechunk`, which needs tokio, so that callers need no runtime and may be inside any.
//!
//! It runs on two threads of this crate's own, made when they are first needed and anew in a forked process.

use std::future::pending;
use std::io;
use std::sync::{Mutex, mpsc};

use futures::channel::oneshot;
use tokio::runtime::{Builder, Handle};
use zarr_core::runtime::spawn_thread;
use zarr_core::{StoreError, sync};

/// They wait for files and sockets. Of the larger computations, compressing metadata, a commit has a few.
const WORKER_THREADS: usize = 2;

/// The threads of one process, which take turns.
struct Workers {
    process: u32,
    handles: Vec<Handle>,
    next: usize,
}

/// The way to one of this process' threads.
fn handle() -> Result<Handle, StoreError> {
    static WORKERS: Mutex<Option<Workers>> = Mutex::new(None);
    let mut known = sync::lock(&WORKERS);
    let workers = match &mut *known {
        Some(workers) if workers.process == std::process::id() => workers,
        _ => {
            let first = start().map_err(StoreError::io("start", "a thread for Icechunk"))?;
            // One is enough where there are no more.
            let more = (1..WORKER_THREADS).map_while(|_| start().ok());
            let handles = std::iter::once(first).chain(more).collect();
            known.insert(Workers { process: std::process::id(), handles, next: 0 })
        }
    };
    workers.next = (workers.next + 1) % workers.handles.len();
    Ok(workers.handles[workers.next].clone())
}

/// A thread with a runtime, which lasts as long as the process. tokio's own threads are not used: it panics where it
/// gets none.
fn start() -> io::Result<Handle> {
    let (send, started) = mpsc::channel();
    spawn_thread("zarr-icechunk", move || {
        match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                // The receiver waits for exactly this.
                let _ = send.send(Ok(runtime.handle().clone()));
                runtime.block_on(pending::<()>());
            }
            Err(e) => drop(send.send(Err(e))),
        }
    })?;
    started.recv().map_err(io::Error::other)?
}

/// The result of work on those threads. The work is finished even if its caller stops waiting: a change is made
/// wholly or not at all.
///
/// # Errors
/// If no thread can be had, or the work panicked.
pub async fn run<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, StoreError> {
    let (send, answer) = oneshot::channel();
    handle()?.spawn(async move {
        // Nobody may wait any more.
        let _ = send.send(work.await);
    });
    answer.await.map_err(|_| StoreError::Backend("Icechunk stopped before it was done".into()))
}

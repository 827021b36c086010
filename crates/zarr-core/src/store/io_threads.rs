//! Makes blocking calls for callers that must not block.
//!
//! Such calls run on a few threads, made when they are first needed and anew in a forked process; the caller waits on a
//! channel. A thread that may block anyway makes the call itself.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, mpsc};

use futures::channel::oneshot;

use crate::sync::{lock, lock_uncounted};

/// How many threads there are.
pub(super) const THREADS: usize = 8;

type Job = Box<dyn FnOnce() + Send>;

thread_local! {
    /// Whether this thread may block now.
    static MAY_BLOCK: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread may block now: it waits for a future with [`block_on`](super::block_on), or is one of the threads
/// below.
pub(crate) fn may_block() -> bool {
    MAY_BLOCK.get()
}

/// Marks this thread as one that may block, until the result is dropped.
pub(super) fn allow_blocking() -> impl Drop {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            MAY_BLOCK.set(self.0);
        }
    }
    Before(MAY_BLOCK.replace(true))
}

/// What `work` gives, done on a thread that may block; `None` if that thread panicked.
///
/// Such a thread does itself what it asks for: were it to wait for another, all might.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    if MAY_BLOCK.get() {
        return Some(work());
    }
    let (send, receive) = oneshot::channel();
    let job: Job = Box::new(move || {
        // The call is not made if its caller no longer waits.
        if !send.is_canceled() {
            let _ = send.send(work());
        }
    });
    match threads() {
        Some(threads) => threads.send(job).ok()?,
        None => job(),
    }
    receive.await.ok()
}

/// The way to this process' threads; `None` if it gets none.
fn threads() -> Option<mpsc::Sender<Job>> {
    static THREAD_POOLS: Mutex<BTreeMap<u32, mpsc::Sender<Job>>> = Mutex::new(BTreeMap::new());
    let mut pools = lock(&THREAD_POOLS);
    if let Some(pool) = pools.get(&std::process::id()) {
        return Some(pool.clone());
    }
    let (send, receive) = mpsc::channel::<Job>();
    let receive = Arc::new(Mutex::new(receive));
    let mut started = 0;
    for n in 0..THREADS {
        let receive = receive.clone();
        let work = move || {
            MAY_BLOCK.set(true);
            loop {
                let job = lock_uncounted(&receive).recv();
                match job {
                    // A job that panics must not take the thread with it; its caller sees a closed channel.
                    Ok(job) => drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(job))),
                    Err(mpsc::RecvError) => return,
                }
            }
        };
        started += usize::from(
            std::thread::Builder::new()
                .name(format!("zarr-store-{n}"))
                .spawn(crate::fork::on_thread(work))
                .is_ok(),
        );
    }
    if started == 0 {
        return None;
    }
    pools.insert(std::process::id(), send.clone());
    Some(send)
}

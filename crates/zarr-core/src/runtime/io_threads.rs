//! Threads that do one job after another, and those of them that make blocking calls for callers that must not block.
//!
//! Blocking calls run on a few threads, made when they are first needed and anew in a forked process; the caller waits on a
//! channel. A thread that may block anyway makes the call itself.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};

use futures::channel::oneshot;

use super::spawn_thread;
use super::tuning::IO_THREADS;
use crate::sync::{lock, lock_uncounted};

type Job = Box<dyn FnOnce() + Send>;

thread_local! {
    /// Whether this thread may block now.
    static MAY_BLOCK: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread may block now: it waits for a future with [`block_on`](super::block_on), or is one of [`Workers`].
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

/// Threads that do one job after another, and may block. They end when this is dropped and all jobs are done.
#[derive(Clone, Debug)]
pub struct Workers {
    jobs: mpsc::Sender<Job>,
    count: usize,
}

impl Workers {
    /// Starts `count` threads, whose names begin with `name`. The system may refuse some: then fewer work.
    pub fn start(name: &str, count: usize) -> Workers {
        let (jobs, waiting) = mpsc::channel::<Job>();
        let waiting = Arc::new(Mutex::new(waiting));
        let mut started = 0;
        for number in 0..count {
            let waiting = waiting.clone();
            if spawn_thread(&format!("{name}-{number}"), move || work(&waiting)).is_err() {
                break;
            }
            started += 1;
        }
        Workers { jobs, count: started }
    }

    /// How many threads there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Has a thread do `job`, once it is done with those before. If there is none, the calling thread does it, now. A job that
    /// panics ends nothing but itself.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        if self.count == 0 {
            return do_job(Box::new(job));
        }
        // A thread has the other end for as long as this one is there.
        if let Err(mpsc::SendError(job)) = self.jobs.send(Box::new(job)) {
            do_job(job);
        }
    }
}

fn work(waiting: &Mutex<mpsc::Receiver<Job>>) {
    MAY_BLOCK.set(true);
    loop {
        let job = lock_uncounted(waiting).recv();
        match job {
            Ok(job) => do_job(job),
            Err(mpsc::RecvError) => return,
        }
    }
}

/// A job that panics must not take its thread along; whoever waits for it sees a closed channel.
fn do_job(job: Job) {
    drop(catch_unwind(AssertUnwindSafe(job)));
}

/// The result of `work`, done on a thread that may block; `None` if it panicked.
///
/// Such a thread does itself what it asks for: were it to wait for another, all might.
pub async fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if MAY_BLOCK.get() {
        return Some(work());
    }
    let (send, receive) = oneshot::channel();
    io_workers().run(move || {
        // The call is not made if its caller no longer waits.
        if !send.is_canceled() {
            let _ = send.send(work());
        }
    });
    receive.await.ok()
}

/// The threads of this process that make blocking calls.
fn io_workers() -> Workers {
    static WORKERS: Mutex<BTreeMap<u32, Workers>> = Mutex::new(BTreeMap::new());
    let mut by_process = lock(&WORKERS);
    if let Some(workers) = by_process.get(&std::process::id()) {
        return workers.clone();
    }
    let workers = Workers::start("zarr-store", IO_THREADS);
    // If the system starts none now, it may do so later.
    if workers.count() > 0 {
        by_process.insert(std::process::id(), workers.clone());
    }
    workers
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::runtime::block_on;

    #[test]
    fn a_panic_ends_one_job_only() {
        let workers = Workers::start("test", 1);
        let results = [3u8, 0, 7].map(|number| {
            let (send, receive) = mpsc::channel();
            workers.run(move || {
                assert_ne!(number, 0, "as it should");
                assert!(may_block());
                send.send(number).unwrap();
            });
            receive.recv().ok()
        });
        assert_eq!(results, [Some(3), None, Some(7)]);
    }

    #[test]
    fn without_threads_the_caller_does_the_job() {
        let workers = Workers::start("test", 0);
        let (send, receive) = mpsc::channel();
        let caller = std::thread::current().id();
        workers.run(move || send.send(std::thread::current().id() == caller).unwrap());
        assert_eq!(receive.try_recv(), Ok(true));
        workers.run(|| panic!("as it should"));
    }

    /// `block_on` would let this thread make the call itself.
    fn poll_until_ready<T>(future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
                return result;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_call_that_panics_has_no_result() {
        assert_eq!(poll_until_ready(spawn_blocking(|| 7)), Some(7));
        assert_eq!(poll_until_ready(spawn_blocking(|| -> u8 { panic!("as it should") })), None);
        let caller = std::thread::current().id();
        let other = poll_until_ready(spawn_blocking(|| std::thread::current().id()));
        assert_ne!(other, Some(caller));
        assert_eq!(block_on(spawn_blocking(|| std::thread::current().id())), Some(caller));
    }
}

//! Waits for a future on this thread.
//!
//! The caller's thread polls the future itself, and sleeps until it is woken. So a future that is ready at the first poll
//! costs nothing, and no runtime is entered: a caller may be inside one.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// A thread that sleeps, and whether it was woken: what wakes it may be for another future that it waits for further out.
struct Sleeper(Thread, AtomicBool);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.1.store(true, Ordering::Release);
        self.0.unpark();
    }
}

/// The result of a future, for which this thread sleeps as long as it takes. It must not need the runtime of the
/// caller.
#[inline]
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let _may_block = super::io_threads::allow_blocking();
    let mut future = pin!(future);
    // Most are ready at once, and need no waker.
    if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return value;
    }
    let sleeper = Arc::new(Sleeper(thread::current(), AtomicBool::new(false)));
    let waker = Waker::from(sleeper.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        while !sleeper.1.swap(false, Ordering::Acquire) {
            super::timer::park();
        }
    }
}

/// Starts a thread of this name that waits for the future of `work`. If the system starts none, nothing is done.
pub(crate) fn spawn_future<F: Future<Output = ()>>(
    name: &str,
    work: impl FnOnce() -> F + Send + 'static,
) {
    drop(super::spawn_thread(name, move || block_on(work())));
}

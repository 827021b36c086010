//! Lets a process fork while its threads use this library.
//!
//! A forked process has one thread only. A lock that another thread held at that moment stays locked there for ever, and
//! whatever needs it hangs. So every lock that these crates take is counted while it is held ([`crate::sync`]):
//! [`prepare`] waits until no thread holds one and lets no thread take another, until the process has forked.
//!
//! ```
//! use zarr_core::fork;
//!
//! // For Python: os.register_at_fork(before=prepare, after_in_parent=parent, after_in_child=child)
//! fork::prepare();
//! // The system's `fork` is called here. In the process that called it:
//! fork::parent();
//! ```
//!
//! In the forked process, which calls [`child`], handles of arrays and stores go on working: threads and connections are
//! made anew when they are first needed. LMDB does not allow that; its store returns an error which says so.
//!
//! A thread pool that the caller made ([`Options::pool`](crate::Options)) has no threads in the forked process, which uses
//! the library's own instead.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::primitives::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::primitives::thread;
use crate::runtime::tuning::{FORK_LOCK_TIMEOUT, FORK_POLL_INTERVAL};

/// Threads that hold a lock, counted in several places so that threads rarely write to the same line of the cache.
static HOLDING: [Slot; 64] = [const { Slot(AtomicUsize::new(0)) }; 64];

/// How a thread sleeps that needs a lock while another is about to fork.
static SLEEP: OnceLock<fn(Duration)> = OnceLock::new();

#[repr(align(128))]
struct Slot(AtomicUsize);

/// Whether a thread is about to fork, and no other may take a lock.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether this process was forked off another.
pub(crate) static IS_CHILD: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Locks that this thread holds.
    static HELD: Cell<usize> = const { Cell::new(0) };
    /// Where this thread is counted.
    static SLOT: Cell<Option<usize>> = const { Cell::new(None) };
    /// Whether this thread called [`prepare`].
    static FORKS: Cell<bool> = const { Cell::new(false) };
}

std::thread_local! {
    /// Dropped when the standard library has done what it does as this thread ends.
    static ENDING: std::cell::Cell<Option<Counted>> = const { std::cell::Cell::new(None) };
}

/// A thread that starts or ends, counted as one that holds a lock.
struct Counted(&'static AtomicUsize);

impl Counted {
    fn new() -> Counted {
        let _hold = hold();
        slot().fetch_add(1, Ordering::SeqCst);
        Counted(slot())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// `work` for a thread that is started right after this call. The standard library takes a lock as a thread starts and as it ends, which
/// no forked process may find locked: no thread of it could start. So [`prepare`] waits for both.
pub fn guard_thread<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let starting = Counted::new();
    move || {
        drop(starting);
        let done = work();
        ENDING.set(Some(Counted::new()));
        done
    }
}

fn slot() -> &'static AtomicUsize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = SLOT.get().unwrap_or_else(|| {
        let number = NEXT.fetch_add(1, Ordering::Relaxed) % HOLDING.len();
        SLOT.set(Some(number));
        number
    });
    &HOLDING[number].0
}

/// A lock that this thread holds, or is about to take: no other thread can fork until it is dropped.
#[derive(Debug)]
pub struct Hold(PhantomData<*const ()>);

/// Keeps other threads from forking until the result is dropped; waits for one that is about to.
pub fn hold() -> Hold {
    // A thread that holds a lock goes on, so that it ends; the one that forks has nothing to wait for.
    if HELD.get() == 0 {
        let slot = slot();
        slot.fetch_add(1, Ordering::SeqCst);
        while CLOSED.load(Ordering::SeqCst) {
            slot.fetch_sub(1, Ordering::SeqCst);
            while CLOSED.load(Ordering::Relaxed) {
                SLEEP.get().map_or_else(
                    || thread::sleep(FORK_POLL_INTERVAL),
                    |sleep| sleep(FORK_POLL_INTERVAL),
                );
            }
            slot.fetch_add(1, Ordering::SeqCst);
        }
    }
    HELD.set(HELD.get() + 1);
    Hold(PhantomData)
}

impl Drop for Hold {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
        if HELD.get() == 0 {
            slot().fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Has threads that wait for a fork to be over sleep by `sleep`. An interpreter's threads give up its lock for that time: the
/// one that forks may need it. The first call holds for the process.
pub fn sleep_by(sleep: fn(Duration)) {
    let _ = SLEEP.set(sleep);
}

/// Waits until no other thread holds a lock of this library, and lets none take another. The caller forks, and calls
/// [`parent`] or [`child`]. The calling thread itself may go on using the library.
///
/// Returns whether that is so. A thread that holds a lock for more than 10 seconds is not waited for, because it may
/// need something that the caller holds; then the forked process may hang where it needs the same lock.
pub fn prepare() -> bool {
    prepare_within(FORK_LOCK_TIMEOUT)
}

/// As [`prepare`], with another time after which it gives up.
pub fn prepare_within(patience: Duration) -> bool {
    if FORKS.replace(true) {
        return true;
    }
    while CLOSED.swap(true, Ordering::SeqCst) {
        thread::sleep(FORK_POLL_INTERVAL);
    }
    let give_up = Instant::now() + patience;
    if HELD.get() == 0 {
        slot().fetch_add(1, Ordering::SeqCst);
    }
    HELD.set(HELD.get() + 1);
    // One is this thread.
    while HOLDING.iter().map(|slot| slot.0.load(Ordering::SeqCst)).sum::<usize>() > 1 {
        if Instant::now() > give_up {
            return false;
        }
        thread::sleep(FORK_POLL_INTERVAL);
    }
    true
}

/// Lets all threads go on: called after a fork in the process that forked.
pub fn parent() {
    if FORKS.replace(false) {
        CLOSED.store(false, Ordering::SeqCst);
        drop(Hold(PhantomData));
    }
}

/// Forgets the threads that are not there: called after a fork in the process that was forked.
pub fn child() {
    IS_CHILD.store(true, Ordering::SeqCst);
    HELD.set(HELD.get() - usize::from(FORKS.replace(false)));
    HOLDING.iter().for_each(|slot| slot.0.store(0, Ordering::SeqCst));
    slot().store(usize::from(HELD.get() > 0), Ordering::SeqCst);
    CLOSED.store(false, Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::sync::{Condition, lock};

    #[test]
    fn no_thread_holds_a_lock_between_prepare_and_parent() {
        let (counts, stop) = (Arc::new(Mutex::new([0u64; 2])), Arc::new(AtomicBool::new(false)));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (counts, stop) = (counts.clone(), stop.clone());
                thread::spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let mut counts = lock(&counts);
                        counts[0] += 1;
                        // A lock inside of a lock is not waited for.
                        drop(lock(&Mutex::new(())));
                        thread::yield_now();
                        counts[1] += 1;
                    }
                })
            })
            .collect();
        for _ in 0..300 {
            assert!(prepare());
            // Free, though nothing but the count of holders says so; and the forking thread may lock.
            let before = *counts.try_lock().expect("no thread holds it");
            assert_eq!(before[0], before[1]);
            assert!(prepare(), "asked again, it waits for nothing");
            thread::sleep(Duration::from_micros(200));
            assert_eq!(*lock(&counts), before);
            parent();
        }
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        parent();
        assert_eq!(HELD.get(), 0);
    }

    #[test]
    fn a_fork_waits_for_a_thread_that_starts_or_ends() {
        let work = guard_thread(|| {});
        assert!(!prepare_within(Duration::from_millis(20)), "a thread is about to start");
        parent();
        thread::spawn(work).join().unwrap();
        assert!(prepare(), "it has ended");
        parent();
        // What is counted as a thread ends stays so until the standard library is done with it.
        let counted = thread::spawn(|| {
            guard_thread(|| {})();
            slot().load(Ordering::SeqCst)
        });
        assert!(counted.join().unwrap() > 0);
        assert!(prepare(), "it has ended");
        parent();
    }

    #[test]
    fn conditions_wake_all_who_wait() {
        static TURN: Mutex<u64> = Mutex::new(0);
        static CHANGED: Condition = Condition::new();
        static DONE: AtomicU64 = AtomicU64::new(0);
        let threads: Vec<_> = (0..8)
            .map(|own| {
                thread::spawn(move || {
                    for round in 0..200 {
                        let mut turn = lock(&TURN);
                        while *turn != round * 8 + own {
                            turn = CHANGED.wait(&TURN, turn, None);
                        }
                        *turn += 1;
                        drop(turn);
                        CHANGED.notify_all();
                    }
                    DONE.fetch_add(1, Ordering::SeqCst);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((DONE.load(Ordering::SeqCst), *lock(&TURN)), (8, 1600));
    }
}

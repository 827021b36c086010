//! Locks, conditions, and the guard of forks.

use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

use crate::fork;
use crate::sync::{Condition, lock};

fn run(threads: impl IntoIterator<Item = impl FnOnce() + Send + 'static>) {
    let threads: Vec<_> = threads.into_iter().map(thread::spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
}

/// Three threads take turns.
pub fn condition() {
    let shared = Arc::new((Mutex::new(0), Condition::new()));
    run((0..3).map(|own| {
        let shared = shared.clone();
        move || {
            let (turn, changed) = &*shared;
            for round in 0..2 {
                let mut now = lock(turn);
                while *now != round * 3 + own {
                    now = changed.wait(turn, now, None);
                }
                *now += 1;
                drop(now);
                changed.notify_all();
            }
        }
    }));
    assert_eq!(*lock(&shared.0), 6);
}

/// Two threads change two numbers under a lock; a third one forks, and must find no thread in between.
pub fn forks() {
    let shared = Arc::new((Mutex::new(()), AtomicBool::new(false)));
    let worker = |shared: Arc<(Mutex<()>, AtomicBool)>| {
        move || {
            for _ in 0..2 {
                let held = lock(&shared.0);
                shared.1.store(true, Ordering::SeqCst);
                // A lock inside of a lock is not waited for.
                drop(lock(&Mutex::new(())));
                shared.1.store(false, Ordering::SeqCst);
                drop(held);
            }
        }
    };
    let mut threads: Vec<_> = (0..2).map(|_| thread::spawn(worker(shared.clone()))).collect();
    threads.push(thread::spawn({
        let shared = shared.clone();
        move || {
            assert!(fork::prepare());
            assert!(!shared.1.load(Ordering::SeqCst), "a thread holds the lock at a fork");
            // The one that forks may lock.
            drop(lock(&shared.0));
            assert!(!shared.1.load(Ordering::SeqCst), "a thread took the lock before the fork");
            fork::parent();
        }
    }));
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
}

/// A thread that waits for a condition holds nothing: the process forks, and then wakes it.
pub fn fork_while_waiting() {
    let shared = Arc::new((Mutex::new(false), Condition::new()));
    let waiting = thread::spawn({
        let shared = shared.clone();
        move || {
            let (is_set, changed) = &*shared;
            let mut now = lock(is_set);
            while !*now {
                now = changed.wait(is_set, now, None);
            }
        }
    });
    assert!(fork::prepare());
    *lock(&shared.0) = true;
    fork::parent();
    shared.1.notify_all();
    waiting.join().expect("it is woken");
}

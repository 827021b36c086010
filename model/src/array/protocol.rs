//! The queue of writers at a key, and the latest state of an array.

use std::time::Duration;

use shuttle::future::block_on;
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use shuttle::thread;
use zarr_core::store::StoreKey;

use super::key_queue::QueuePlace;
use super::latest_state::{LatestState, MOST_READINGS};
use super::state::ArrayState;
use crate::runtime::pause;

/// Patience that does not end in an execution, and one that may end at once.
pub const PATIENT: Duration = Duration::from_secs(3600);
const IMPATIENT: Duration = Duration::from_millis(1);

/// Writers at one key, each of which waits so long; how many had the place.
fn writers(patience: &[Duration]) -> u64 {
    let shared = Arc::new((AtomicBool::new(false), AtomicU64::new(0)));
    let threads: Vec<_> = patience
        .iter()
        .map(|&patience| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (is_held, count) = &*shared;
                let key = StoreKey::new("k").expect("a key");
                let Some(place) = block_on(QueuePlace::acquire("test://queue", &key, patience))
                else {
                    return;
                };
                assert!(!is_held.swap(true, Ordering::SeqCst), "two writers have the place");
                count.fetch_add(1, Ordering::SeqCst);
                is_held.store(false, Ordering::SeqCst);
                drop(place);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
    // No place is lost: it is free for the next one, who does not wait.
    let key = StoreKey::new("k").expect("a key");
    assert!(block_on(QueuePlace::acquire("test://queue", &key, PATIENT)).is_some());
    shared.1.load(Ordering::SeqCst)
}

pub fn queue() {
    assert_eq!(writers(&[PATIENT; 4]), 4);
}

pub fn impatient_queue() {
    assert!(writers(&[PATIENT, IMPATIENT, PATIENT, IMPATIENT]) >= 2);
}

/// Threads change a document, and report what they read and wrote; others look.
pub fn latest_state() {
    let document = Arc::new(AtomicU64::new(0));
    let latest = Arc::new(LatestState::new(ArrayState(0)));
    let mut threads: Vec<_> = (0..3)
        .map(|n| {
            let (document, latest) = (document.clone(), latest.clone());
            thread::spawn(move || {
                if n > 0 {
                    document.fetch_add(1, Ordering::SeqCst);
                }
                // As `refresh` does.
                let least = document.load(Ordering::SeqCst);
                for _ in 0..MOST_READINGS {
                    let before = latest.get();
                    let read = document.load(Ordering::SeqCst);
                    thread::yield_now();
                    if latest.replace(&before, &Arc::new(ArrayState(read))) {
                        break;
                    }
                }
                let now = latest.get().0;
                assert!(now >= least, "a refresh that began at {least} ended at {now}");
            })
        })
        .collect();
    threads.push(thread::spawn({
        let latest = latest.clone();
        move || {
            let mut before = 0;
            for _ in 0..4 {
                let now = latest.get().0;
                assert!(now >= before, "the state went from {before} back to {now}");
                before = now;
            }
        }
    }));
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
}

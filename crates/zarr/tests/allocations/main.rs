//! How much is allocated for reads and writes.
//!
//! A program of its own, since an allocator that counts is the whole program's, and its tests take turns.

#![cfg(all(feature = "filesystem", feature = "memory", feature = "gzip", feature = "sharding"))]
#![allow(unsafe_code, reason = "an allocator that counts")]

mod large_shards;
mod strided_memory;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The system's allocator, which counts bytes.
struct Counting;

/// The bytes that are allocated now.
static CURRENT: AtomicUsize = AtomicUsize::new(0);
/// The most bytes that were allocated at once since [`peak_of`] began.
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// The bytes of all allocations so far.
static TOTAL: AtomicUsize = AtomicUsize::new(0);

fn count(size: usize) {
    TOTAL.fetch_add(size, SeqCst);
    PEAK.fetch_max(CURRENT.fetch_add(size, SeqCst) + size, SeqCst);
}

// SAFETY: the system's allocator does all the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        CURRENT.fetch_sub(layout.size(), SeqCst);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Held by a test that counts, so that no other test allocates beside it.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result of some work, and how many bytes it held at once beside what was allocated before.
fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = CURRENT.load(SeqCst);
    PEAK.store(before, SeqCst);
    let result = work();
    (result, PEAK.load(SeqCst) - before)
}

/// The result of some work, and how many bytes it allocated in all.
fn allocated_by<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = TOTAL.load(SeqCst);
    let result = work();
    (result, TOTAL.load(SeqCst) - before)
}

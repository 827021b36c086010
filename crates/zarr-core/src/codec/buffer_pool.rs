//! Keeps memory for decoded bytes between chunks.
//!
//! A thread needs memory of the same size for each chunk. Memory that a chain no longer uses is kept for the next chunk, so
//! that it is neither allocated nor zeroed again. All of it was written: a vector is as long as what is known of its memory.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::CodecError;
use crate::runtime::tuning::{
    MAX_KEPT_BYTES, MAX_KEPT_BYTES_PER_THREAD, MAX_KEPT_PIECES_PER_THREAD,
};

thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(Kept(Vec::new())) };
}

/// Bytes that threads keep.
static OF_ALL: AtomicUsize = AtomicUsize::new(0);

/// The memory that one thread keeps.
struct Kept(Vec<Vec<u8>>);

impl Kept {
    /// Memory that was written up to `size` bytes, if there is any, or else has room for them. A small piece of a large one is not
    /// taken if there is a smaller one: what it is cut off would be cleared when the large one is needed again.
    fn take(&mut self, size: usize) -> Option<Vec<u8>> {
        let written = self.smallest(size, Vec::len);
        let fits = written.or_else(|| self.smallest(size, Vec::capacity))?;
        Some(self.remove(fits))
    }

    /// Memory that has room for `size` bytes.
    fn take_room(&mut self, size: usize) -> Option<Vec<u8>> {
        let fits = self.smallest(size, Vec::capacity)?;
        Some(self.remove(fits))
    }

    /// The index of the smallest memory that has at least `size` bytes.
    fn smallest(&self, size: usize, bytes_of: fn(&Vec<u8>) -> usize) -> Option<usize> {
        let pieces = self.0.iter().map(bytes_of).enumerate();
        let fits = pieces.filter(|(_, bytes)| *bytes >= size).min_by_key(|(_, bytes)| *bytes);
        fits.map(|(index, _)| index)
    }

    fn remove(&mut self, index: usize) -> Vec<u8> {
        let memory = self.0.swap_remove(index);
        OF_ALL.fetch_sub(memory.capacity(), Ordering::Relaxed);
        memory
    }

    fn give(&mut self, memory: Vec<u8>) {
        let size = memory.capacity();
        let held: usize = self.0.iter().map(Vec::capacity).sum();
        if self.0.len() >= MAX_KEPT_PIECES_PER_THREAD
            || held.saturating_add(size) > MAX_KEPT_BYTES_PER_THREAD
        {
            return;
        }
        if OF_ALL.fetch_add(size, Ordering::Relaxed).saturating_add(size) <= MAX_KEPT_BYTES {
            self.0.push(memory)
        } else {
            OF_ALL.fetch_sub(size, Ordering::Relaxed);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let held: usize = self.0.iter().map(Vec::capacity).sum();
        OF_ALL.fetch_sub(held, Ordering::Relaxed);
    }
}

/// Memory of `size` bytes, all of which the caller overwrites; `None` if it cannot be allocated.
///
/// It holds zeros, or what this thread last [released](release_vec).
pub fn acquire(size: usize) -> Option<Vec<u8>> {
    let mut memory = KEPT.with_borrow_mut(|kept| kept.take(size)).unwrap_or_default();
    crate::memory::resize_for_overwrite(&mut memory, size).map(|()| memory)
}

/// Makes memory `size` bytes long, as [`acquire`] gives it.
///
/// # Errors
/// [`CodecError::Limit`] if it cannot be allocated; then it is empty.
pub(crate) fn resize(
    codec: &'static str,
    memory: &mut Vec<u8>,
    size: u64,
) -> Result<(), CodecError> {
    let size = usize::try_from(size).ok();
    let resized = size.and_then(|size| crate::memory::resize_for_overwrite(memory, size));
    resized.ok_or(CodecError::Limit { codec, limit: isize::MAX as u64 })
}

/// Empty memory with room for at least `size` bytes; `None` if it cannot be allocated.
pub fn room(size: usize) -> Option<Vec<u8>> {
    let mut memory = KEPT.with_borrow_mut(|kept| kept.take_room(size)).unwrap_or_default();
    memory.clear();
    memory.try_reserve_exact(size).is_ok().then_some(memory)
}

/// Zeroed memory of `size` bytes.
///
/// # Errors
/// [`CodecError::Limit`] if it cannot be allocated, or the size cannot be counted.
pub fn zeroed(codec: &'static str, size: impl Into<Option<u64>>) -> Result<Vec<u8>, CodecError> {
    let size = size.into().and_then(|size| usize::try_from(size).ok());
    let memory = size.and_then(|size| bytemuck::allocation::try_zeroed_vec(size).ok());
    memory.ok_or(CodecError::Limit { codec, limit: isize::MAX as u64 })
}

/// Releases owned bytes like [`release_vec`]; borrowed ones stay with their owner.
pub fn release(bytes: Cow<'_, [u8]>) {
    if let Cow::Owned(memory) = bytes {
        release_vec(memory);
    }
}

/// Keeps memory for the next [`acquire`] of this thread.
pub fn release_vec(memory: Vec<u8>) {
    KEPT.with_borrow_mut(|kept| kept.give(memory));
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, Mutex};
    use std::thread;

    use super::*;

    /// What all threads keep is one number, so that these tests run one after the other.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn memory_comes_back_with_the_size_that_is_asked_for() {
        let _alone = ALONE.lock();
        release_vec(vec![1; 1000]);
        let place = |memory: &[u8]| memory.as_ptr();
        let first = acquire(500).unwrap();
        assert_eq!(first.len(), 500);
        let at = place(&first);
        release_vec(first);
        let again = acquire(900).unwrap();
        assert_eq!((again.len(), place(&again)), (900, at));
        // What was released is there, and nothing else: the part that was cut off is written anew.
        assert_eq!(again, [&[1; 500][..], &[0xa5; 400]].concat());
        assert_eq!(acquire(900).unwrap(), [0xa5; 900]);
        assert!(acquire(isize::MAX as usize).is_none());
    }

    #[test]
    fn small_memory_is_not_cut_off_large_memory() {
        let _alone = ALONE.lock();
        release_vec(vec![1; 500]);
        release_vec(vec![2; 4000]);
        assert_eq!(acquire(300).unwrap(), [1; 300]);
        assert_eq!(acquire(4000).unwrap(), [2; 4000]);
    }

    #[test]
    fn a_thread_keeps_no_more_than_its_share() {
        let _alone = ALONE.lock();
        for _ in 0..10 {
            release_vec(Vec::with_capacity(MAX_KEPT_BYTES_PER_THREAD / 2));
        }
        let held = || KEPT.with_borrow(|kept| kept.0.iter().map(Vec::capacity).sum::<usize>());
        assert_eq!(held(), MAX_KEPT_BYTES_PER_THREAD);
    }

    /// What is kept does not grow with the number of threads.
    #[test]
    fn threads_together_keep_no_more_than_their_share() {
        let _alone = ALONE.lock();
        let all_have = Barrier::new(16);
        let held: usize = thread::scope(|scope| {
            let thread = || {
                release_vec(Vec::with_capacity(MAX_KEPT_BYTES_PER_THREAD));
                all_have.wait();
                KEPT.with_borrow(|kept| kept.0.iter().map(Vec::capacity).sum::<usize>())
            };
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(thread)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert!(held <= MAX_KEPT_BYTES, "{held}");
    }
}

//! Where do decoded bytes lie on their way?
//!
//! Chunk after chunk a thread needs memory of the same size. What a chain is done with waits here for the
//! next one, so that it is neither asked of the system nor zeroed again.

use std::borrow::Cow;
use std::cell::RefCell;

/// A thread keeps no more than so many bytes, and so many pieces.
const MOST_BYTES: usize = 64 << 20;
const MOST_PIECES: usize = 4;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Memory of `size` bytes, whatever they are; `None` if there is not so much.
pub fn take(size: usize) -> Option<Vec<u8>> {
    let kept = KEPT.with_borrow_mut(|kept| {
        let fits = kept.iter().rposition(|memory| memory.capacity() >= size)?;
        Some(kept.swap_remove(fits))
    });
    match kept {
        Some(mut memory) => {
            memory.resize(size, 0);
            Some(memory)
        }
        None => bytemuck::allocation::try_zeroed_vec(size).ok(),
    }
}

/// As [`give`], of bytes that may be lent.
pub fn give_back(bytes: Cow<'_, [u8]>) {
    if let Cow::Owned(memory) = bytes {
        give(memory);
    }
}

/// Keeps memory for the next [`take`] of this thread.
pub fn give(memory: Vec<u8>) {
    KEPT.with_borrow_mut(|kept| {
        let held: usize = kept.iter().map(Vec::capacity).sum();
        if kept.len() < MOST_PIECES && held.saturating_add(memory.capacity()) <= MOST_BYTES {
            kept.push(memory);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_with_the_size_that_is_asked_for() {
        give(vec![1; 1000]);
        let place = |memory: &[u8]| memory.as_ptr();
        let first = take(500).unwrap();
        assert_eq!(first.len(), 500);
        let at = place(&first);
        give(first);
        let again = take(900).unwrap();
        assert_eq!((again.len(), place(&again)), (900, at));
        assert_eq!(take(900).unwrap(), vec![0; 900]);
        assert!(take(isize::MAX as usize).is_none());
    }

    #[test]
    fn a_thread_keeps_no_more_than_its_share() {
        for _ in 0..10 {
            give(Vec::with_capacity(MOST_BYTES / 2));
        }
        let held = KEPT.with_borrow(|kept| kept.iter().map(Vec::capacity).sum::<usize>());
        assert_eq!(held, MOST_BYTES);
    }
}

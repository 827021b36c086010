//! Allocates memory for many elements.
#![allow(unsafe_code)]

use std::fmt;
use std::mem::MaybeUninit;
use std::slice;
use std::sync::atomic::AtomicUsize;

use bytemuck::Pod;

use crate::runtime::tuning::{MAX_BYTES_CLEARED_BY_PIECES, MIN_BYTES_FOR_HUGE_PAGES};
use crate::view::ViewMut;
use crate::view::output::{CLEARED, Output};

/// Zeroed memory; `None` if there is too little. Large memory has huge pages where the system gives them, which makes filling
/// it cheaper (docs/internals/design/threads-and-memory.md).
pub(crate) fn zeroed<T: bytemuck::Zeroable>(count: usize) -> Option<Vec<T>> {
    let mut memory = bytemuck::allocation::try_zeroed_vec(count).ok()?;
    advise_huge_pages(&mut memory);
    Some(memory)
}

/// Memory for elements that are all written before one of them is read; `None` if there is too little. It is zeroed, so that
/// an element that nobody writes shows nothing of what was in the memory before. A build for tests fills it with another
/// value, so that such an element is noticed.
pub(crate) fn for_overwrite<T: Pod>(count: usize) -> Option<Vec<T>> {
    let mut memory = zeroed(count)?;
    if cfg!(debug_assertions) {
        bytemuck::cast_slice_mut::<T, u8>(&mut memory).fill(CLEARED);
    }
    Some(memory)
}

/// Makes `memory` as long as `size`, for bytes that are all written before one of them is read; `None` if there is too little.
/// What it held stays where it was; where it becomes longer it is as [`for_overwrite`] gives it.
pub(crate) fn resize_for_overwrite(memory: &mut Vec<u8>, size: usize) -> Option<()> {
    if size > memory.capacity() {
        // What it held is not copied, and its memory is given back before other memory is taken.
        *memory = Vec::new();
        *memory = for_overwrite(size)?;
    } else {
        memory.resize(size, CLEARED);
    }
    Some(())
}

/// New elements, all of which a read writes, before anybody sees one.
///
/// Memory that allocators keep for the next result would have to be cleared as a whole, by one thread, to be shown to a decoder.
/// So each piece of it is cleared by the thread that decodes into it, just before, when it has it in its cache anyway; and
/// not at all if bytes are only copied there.
pub struct NewElements<T> {
    /// As many as are wanted, zeroed, or none, in memory for as many.
    elements: Vec<T>,
    count: usize,
    /// How many bytes of the memory are written.
    written: AtomicUsize,
    as_bytes: fn(&mut [T]) -> &mut [u8],
}

/// Takes memory for a number of elements; `None` if there is too little.
pub type AllocateElements<T> = fn(usize) -> Option<NewElements<T>>;

impl<T> fmt::Debug for NewElements<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NewElements({})", self.count)
    }
}

impl<T: Pod> NewElements<T> {
    /// Memory for `count` elements; `None` if there is too little.
    pub fn new(count: usize) -> Option<NewElements<T>> {
        let size = count.checked_mul(size_of::<T>())?;
        let elements = if size > MAX_BYTES_CLEARED_BY_PIECES {
            for_overwrite(count)?
        } else {
            let mut elements = Vec::new();
            elements.try_reserve_exact(count).ok()?;
            advise_huge_pages(&mut elements.spare_capacity_mut()[..count]);
            elements
        };
        let written = AtomicUsize::new(0);
        Some(NewElements { elements, count, written, as_bytes: bytemuck::cast_slice_mut })
    }
}

impl<T> NewElements<T> {
    /// The memory, to be written: `shape` elements of `element_size` bytes, which need not be those of `T`.
    ///
    /// # Panics
    /// If these are not exactly as many bytes.
    pub(crate) fn output(&mut self, shape: &[u64], element_size: usize) -> Output<'_> {
        if self.elements.len() == self.count {
            let memory = (self.as_bytes)(&mut self.elements);
            return ViewMut::new(memory, shape, element_size).into();
        }
        let memory = &mut self.elements.spare_capacity_mut()[..self.count];
        let (size, begin) = (size_of_val(memory), memory.as_mut_ptr());
        // SAFETY: the same memory, borrowed as long. Any bytes may be uninitialised.
        let memory = unsafe { slice::from_raw_parts_mut(begin.cast::<MaybeUninit<u8>>(), size) };
        Output::unwritten(memory, shape, element_size, &self.written)
    }

    /// The elements; `None` if not all of them are written.
    pub(crate) fn finish(mut self) -> Option<Vec<T>> {
        if self.elements.len() < self.count {
            if *self.written.get_mut() != self.count * size_of::<T>() {
                return None;
            }
            // SAFETY: the elements have room, every byte of them is written (pieces of an output share none), and since `new`
            // wants a `Pod`, any bytes are elements.
            unsafe { self.elements.set_len(self.count) };
        }
        Some(self.elements)
    }
}

/// Asks for huge pages in memory that is still to be written. Miri has none.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise_huge_pages<T>(memory: &mut [T]) {
    const HUGE_PAGE_BYTES: usize = 2 << 20;
    let size = size_of_val(memory);
    if size < MIN_BYTES_FOR_HUGE_PAGES {
        return;
    }
    let begin = memory.as_mut_ptr().cast::<u8>();
    let before_first_page = begin.align_offset(HUGE_PAGE_BYTES);
    let pages = size.saturating_sub(before_first_page) / HUGE_PAGE_BYTES;
    // SAFETY: whole pages inside memory that is borrowed mutably. The advice changes none of its bytes, and a system that does
    // not take it says so, which is as good.
    unsafe {
        let first_page = begin.wrapping_add(before_first_page);
        libc::madvise(first_page.cast(), pages * HUGE_PAGE_BYTES, libc::MADV_HUGEPAGE);
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
fn advise_huge_pages<T>(_: &mut [T]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_any_size_is_zero_and_can_be_filled() {
        for count in [0, 1, 1 << 10, (5 << 20) + 3, 17 << 20] {
            let mut memory: Vec<u16> = zeroed(count).unwrap();
            assert!(memory.len() == count && memory.iter().all(|&n| n == 0));
            memory.fill(7);
        }
        assert!(zeroed::<u64>(usize::MAX / 8).is_none());
    }

    #[test]
    fn new_elements_are_there_when_all_of_them_are_written() {
        for count in [0, 1, 6, 5 << 20, MAX_BYTES_CLEARED_BY_PIECES / 2 + 2] {
            let shape = [2, count as u64 / 2];
            let mut elements = NewElements::<u16>::new(count & !1).unwrap();
            let (first, mut second) = elements.output(&shape, 2).split_at(0, 1);
            second.view().fill(&7u16.to_ne_bytes());
            first.into_view().fill(&7u16.to_ne_bytes());
            let elements = elements.finish().unwrap();
            assert!(elements.len() == count & !1 && elements.iter().all(|&n| n == 7));
        }
        let mut elements = NewElements::<u16>::new(6).unwrap();
        let (mut first, second) = elements.output(&[2, 3], 2).split_at(0, 1);
        first.view().fill(&[1, 2]);
        drop(second);
        assert!(elements.finish().is_none());
        assert!(NewElements::<u64>::new(usize::MAX / 8).is_none());
        assert!(NewElements::<u64>::new(usize::MAX).is_none());
    }

    #[test]
    fn tests_notice_memory_that_is_not_overwritten() {
        for count in [0, 1, 1 << 10, (5 << 20) + 3] {
            let mut memory: Vec<u16> = for_overwrite(count).unwrap();
            assert!(memory.len() == count && memory.iter().all(|&n| n == 0xa5a5));
            memory.fill(7);
        }
        assert!(for_overwrite::<u64>(usize::MAX / 8).is_none());
        let mut memory = vec![1u8, 2, 3, 4];
        for (count, expected) in
            [(2, &[1, 2][..]), (4, &[1, 2, 0xa5, 0xa5]), (6, &[0xa5; 6]), (0, &[])]
        {
            resize_for_overwrite(&mut memory, count).unwrap();
            assert_eq!(memory, expected);
        }
        assert!(resize_for_overwrite(&mut memory, isize::MAX as usize).is_none());
    }
}

//! Allocates memory for many elements.
#![allow(unsafe_code)]

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
pub(crate) fn for_overwrite<T: bytemuck::Pod>(count: usize) -> Option<Vec<T>> {
    let mut memory = zeroed(count)?;
    if cfg!(debug_assertions) {
        bytemuck::cast_slice_mut::<T, u8>(&mut memory).fill(UNWRITTEN);
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
        memory.resize(size, if cfg!(debug_assertions) { UNWRITTEN } else { 0 });
    }
    Some(())
}

/// What a build with debug assertions has in memory that is still to be written.
const UNWRITTEN: u8 = 0xa5;

/// Asks for huge pages in memory that is still to be written. Miri has none.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise_huge_pages<T>(memory: &mut [T]) {
    const HUGE_PAGE_BYTES: usize = 2 << 20;
    let size = size_of_val(memory);
    if size < crate::runtime::tuning::MIN_BYTES_FOR_HUGE_PAGES {
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

//! Allocates memory for many elements.
#![allow(unsafe_code)]

/// Zeroed memory; `None` if there is too little. Large memory has large pages where the system has them at hand, which makes
/// filling it cheaper (docs/internals/design/threads-and-memory.md).
pub(crate) fn zeroed<T: bytemuck::Zeroable>(count: usize) -> Option<Vec<T>> {
    let mut memory = bytemuck::allocation::try_zeroed_vec(count).ok()?;
    advise(&mut memory);
    Some(memory)
}

/// The same, of any value: for elements that are all written before one of them is read
/// (docs/internals/design/threads-and-memory.md).
pub(crate) fn unset<T: bytemuck::Pod>(count: usize) -> Option<Vec<T>> {
    let mut memory = Vec::new();
    resize(&mut memory, count).map(|()| memory)
}

/// Makes `memory` as long as `count`, with any values; `None` if there is too little. A build for tests fills what is new, so
/// that what is not written is noticed (docs/internals/design/threads-and-memory.md).
pub(crate) fn resize<T: bytemuck::Pod>(memory: &mut Vec<T>, count: usize) -> Option<()> {
    let is_new = count > memory.capacity();
    if is_new {
        // What it had is not copied, and given back first.
        *memory = Vec::new();
        memory.try_reserve_exact(count).ok()?;
    }
    let known = memory.len().min(count);
    memory.truncate(count);
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    // SAFETY: an instruction that the compiler does not look into may have written the memory it is given the address
    // of, which belongs to the vector: any bytes in it are elements, for the type is `Pod`.
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) memory.as_mut_ptr(), options(nostack, preserves_flags));
        memory.set_len(count);
    }
    memory.resize(count, T::zeroed());
    if is_new {
        advise(memory);
    }
    if cfg!(debug_assertions) {
        bytemuck::cast_slice_mut::<T, u8>(&mut memory[known..]).fill(0xa5);
    }
    Some(())
}

/// Asks for large pages in memory that is still to be written: for a sixteenth of them at first, and for all if clearing
/// those was cheap. Miri has neither large pages nor the clock of a thread.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise<T>(memory: &mut [T]) {
    const PAGE: usize = 2 << 20;
    // From this size on, memory comes fresh from the system, and large pages are worth their while.
    const MIN_LARGE_PAGE_BYTES: usize = 4 << 20;
    // A large page at hand is cleared in 0.2 ms; one that the machine must first get from its host, or put together from
    // small ones, takes 4.
    const DEAR: std::time::Duration = std::time::Duration::from_millis(1);
    let size = size_of_val(memory);
    if size < MIN_LARGE_PAGE_BYTES {
        return;
    }
    let begin = memory.as_mut_ptr().cast::<u8>();
    let skipped = begin.align_offset(PAGE);
    let pages = size.saturating_sub(skipped) / PAGE;
    let first = pages.div_ceil(16);
    let page = |n: usize| begin.wrapping_add(skipped + n * PAGE);
    // SAFETY: whole pages inside memory that is borrowed mutably. The advice changes none of its bytes, and
    // a system that does not take it says so, which is as good.
    let advise = |from: usize, to: usize| unsafe {
        libc::madvise(page(from).cast(), (to - from) * PAGE, libc::MADV_HUGEPAGE)
    };
    // What this thread took of the processor's time.
    let used = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call fills the structure, or leaves it zero.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        std::time::Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    advise(0, first);
    let is_cheap = |n: usize| {
        let before = used();
        // SAFETY: the first byte of such a page.
        unsafe { page(n).write_volatile(0) };
        used().saturating_sub(before) < DEAR
    };
    if (0..first).all(is_cheap) {
        advise(first, pages);
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
fn advise<T>(_: &mut [T]) {}

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
    fn memory_of_any_value_is_not_zero_in_tests() {
        for count in [0, 1, 1 << 10, (5 << 20) + 3] {
            let mut memory: Vec<u16> = unset(count).unwrap();
            assert!(memory.len() == count && memory.iter().all(|&n| n == 0xa5a5));
            memory.fill(7);
        }
        assert!(unset::<u64>(usize::MAX / 8).is_none());
        let mut memory = vec![1u8, 2, 3, 4];
        for (count, expected) in
            [(2, &[1, 2][..]), (4, &[1, 2, 0xa5, 0xa5]), (6, &[0xa5; 6]), (0, &[])]
        {
            resize(&mut memory, count).unwrap();
            assert_eq!(memory, expected);
        }
    }
}

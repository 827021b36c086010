//! Allocates memory for many elements.
#![allow(unsafe_code)]

/// From this size on, memory comes fresh from the system, and large pages are worth their while.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// Zeroed memory; `None` if there is too little. Large memory has large pages where the system offers them, which makes
/// filling it cheaper.
pub(crate) fn zeroed<T: bytemuck::Zeroable>(count: usize) -> Option<Vec<T>> {
    let mut memory = bytemuck::allocation::try_zeroed_vec(count).ok()?;
    advise(&mut memory);
    Some(memory)
}

#[cfg(target_os = "linux")]
fn advise<T>(memory: &mut [T]) {
    const PAGE: usize = 2 << 20;
    let size = size_of_val(memory);
    if size < LARGE {
        return;
    }
    let begin = memory.as_mut_ptr().cast::<u8>();
    let skipped = begin.align_offset(PAGE);
    let Some(inside) = size.checked_sub(skipped).map(|rest| rest / PAGE * PAGE).filter(|&n| n > 0)
    else {
        return;
    };
    // SAFETY: whole pages inside memory that is borrowed mutably; the advice changes none of its bytes, and
    // a system that does not take it says so, which is as good.
    unsafe {
        libc::madvise(begin.add(skipped).cast(), inside, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
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
}

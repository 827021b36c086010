//! Allocates memory for elements; too much of it is an error that says how much it would have been.

use crate::error::{AccessError, Result};
use crate::memory;
use crate::region::{byte_count, element_count};

/// Zeroed memory for elements, or an error that says how much it would have been.
pub(super) fn zeroed(shape: &[u64], element: usize, what: &'static str) -> Result<Vec<u8>> {
    bytes(shape, element, what, memory::zeroed)
}

/// The same, for elements that are all written before one of them is read.
pub(super) fn unset(shape: &[u64], element: usize, what: &'static str) -> Result<Vec<u8>> {
    bytes(shape, element, what, memory::for_overwrite)
}

fn bytes(
    shape: &[u64],
    element: usize,
    what: &'static str,
    alloc: fn(usize) -> Option<Vec<u8>>,
) -> Result<Vec<u8>> {
    let hint = "read or write a smaller region";
    Ok(allocated(shape, element, what, hint, |count| alloc(count * element))?)
}

/// The memory that `alloc` gives for that number of elements.
pub(super) fn allocated<T>(
    shape: &[u64],
    element: usize,
    what: &'static str,
    hint: &'static str,
    alloc: impl FnOnce(usize) -> Option<Vec<T>>,
) -> Result<Vec<T>, AccessError> {
    let size = byte_count(shape, element);
    let fits = size.filter(|&size| isize::try_from(size).is_ok()).and(element_count(shape));
    let count = fits.and_then(|count| usize::try_from(count).ok());
    let too_large = AccessError::TooLarge { what, size: size.unwrap_or(u64::MAX), hint };
    count.and_then(alloc).ok_or(too_large)
}

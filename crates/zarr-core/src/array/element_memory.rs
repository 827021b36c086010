//! Allocates memory for elements. Too much of it is an error that says how much it would have been.

use crate::error::{AccessError, Result};
use crate::memory;
use crate::region::{byte_count, element_count};

/// Memory of zeros for elements of this shape and of `element_size` bytes; errors call it `what`.
pub(super) fn zeroed(shape: &[u64], element_size: usize, what: &'static str) -> Result<Vec<u8>> {
    byte_memory(shape, element_size, what, memory::zeroed)
}

/// The same, for elements that are all written before one of them is read.
pub(super) fn for_overwrite(
    shape: &[u64],
    element_size: usize,
    what: &'static str,
) -> Result<Vec<u8>> {
    byte_memory(shape, element_size, what, memory::for_overwrite)
}

fn byte_memory(
    shape: &[u64],
    element_size: usize,
    what: &'static str,
    allocate_bytes: fn(usize) -> Option<Vec<u8>>,
) -> Result<Vec<u8>> {
    let hint = "read or write a smaller region";
    Ok(allocate(shape, element_size, what, hint, |count| allocate_bytes(count * element_size))?)
}

/// What `allocate_elements` returns for the number of elements of this shape.
///
/// # Errors
/// [`AccessError::TooLarge`] if there are more than can be counted, or `allocate_elements` returns `None`.
pub(super) fn allocate<M>(
    shape: &[u64],
    element_size: usize,
    what: &'static str,
    hint: &'static str,
    allocate_elements: impl FnOnce(usize) -> Option<M>,
) -> Result<M, AccessError> {
    let size = byte_count(shape, element_size);
    let fits = size.filter(|&size| isize::try_from(size).is_ok()).and(element_count(shape));
    let count = fits.and_then(|count| usize::try_from(count).ok());
    let too_large = AccessError::TooLarge { what, size: size.unwrap_or(u64::MAX), hint };
    count.and_then(allocate_elements).ok_or(too_large)
}

//! Calls LZ4 where the crate's own functions would need memory that is cleared first.
#![allow(unsafe_code)]

use lz4::liblz4::{LZ4_compress_fast, LZ4_decompress_safe};

/// Appends the block of `decoded` to `out`, within its spare capacity; `false` if it has no room for it.
pub(super) fn compress(decoded: &[u8], acceleration: i32, out: &mut Vec<u8>) -> bool {
    let room = out.spare_capacity_mut();
    let Ok(len) = i32::try_from(decoded.len()) else { return false };
    let most = i32::try_from(room.len()).unwrap_or(i32::MAX);
    // SAFETY: both pointers are good for the lengths that go with them, within which LZ4 stays.
    let written = unsafe {
        LZ4_compress_fast(
            decoded.as_ptr().cast(),
            room.as_mut_ptr().cast(),
            len,
            most,
            acceleration,
        )
    };
    append_written(out, written) > 0
}

/// Appends what `block` holds, at most `size` bytes, to `out`, within its spare capacity; returns how many bytes that is. `None`
/// if the block is damaged, or there is no room for it.
pub(super) fn decompress(block: &[u8], size: usize, out: &mut Vec<u8>) -> Option<usize> {
    let room = out.spare_capacity_mut().get_mut(..size)?;
    let (len, size) = (i32::try_from(block.len()).ok()?, i32::try_from(size).ok()?);
    // SAFETY: both pointers are good for the lengths that go with them, within which LZ4 stays.
    let written =
        unsafe { LZ4_decompress_safe(block.as_ptr().cast(), room.as_mut_ptr().cast(), len, size) };
    if written < 0 { None } else { Some(append_written(out, written)) }
}

/// Lengthens `out` by what LZ4 says it wrote to its spare capacity, and returns that. Negative is an error of LZ4.
fn append_written(out: &mut Vec<u8>, written: i32) -> usize {
    let written = usize::try_from(written).unwrap_or(0).min(out.capacity() - out.len());
    // SAFETY: LZ4 has written these bytes from the first of the spare capacity on.
    unsafe { out.set_len(out.len() + written) };
    written
}

//! Calls C-Blosc.
//!
//! Only the calls that keep no state are used, with one thread. This is the one file to
//! change for another binding; see `docs/internals/design/dependencies.md`.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

/// Bytes of a header, and the most by which encoding lengthens bytes.
pub(super) const OVERHEAD: usize = blosc_src::BLOSC_MAX_OVERHEAD as usize;

/// The most bytes that one buffer holds.
pub(super) const MAX_SIZE: usize = blosc_src::BLOSC_MAX_BUFFERSIZE as usize;

/// How a buffer is made.
pub(super) struct Recipe<'a> {
    pub(super) level: u8,
    pub(super) shuffle: u8,
    pub(super) type_size: usize,
    pub(super) block_size: usize,
    pub(super) compressor: &'a CStr,
}

/// Encodes `decoded` into `out`, which has room for `OVERHEAD` more; `false` if C-Blosc refuses.
pub(super) fn compress(recipe: &Recipe<'_>, decoded: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    // SAFETY: both pointers are good for the lengths that go with them, and the name ends in a NUL. C-Blosc returns how many
    // bytes it wrote.
    unsafe {
        let written = blosc_src::blosc_compress_ctx(
            c_int::from(recipe.level),
            c_int::from(recipe.shuffle),
            recipe.type_size,
            decoded.len(),
            decoded.as_ptr().cast::<c_void>(),
            out.as_mut_ptr().cast::<c_void>(),
            out.capacity(),
            recipe.compressor.as_ptr(),
            recipe.block_size,
            1,
        );
        out.set_len(usize::try_from(written).map_or(0, |written| written.min(out.capacity())));
    }
    !out.is_empty()
}

unsafe extern "C" {
    /// LZ4, which C-Blosc is linked with.
    fn LZ4_decompress_safe(
        encoded: *const c_char,
        out: *mut c_char,
        encoded_size: c_int,
        out_size: c_int,
    ) -> c_int;
}

/// Decodes a block of LZ4, which fills `out`, or returns `false`.
pub(super) fn lz4(encoded: &[u8], out: &mut [u8]) -> bool {
    let (Ok(len), Ok(size)) = (c_int::try_from(encoded.len()), c_int::try_from(out.len())) else {
        return false;
    };
    // SAFETY: both pointers are good for the lengths that go with them, within which LZ4 stays.
    let written =
        unsafe { LZ4_decompress_safe(encoded.as_ptr().cast(), out.as_mut_ptr().cast(), len, size) };
    written == size
}

/// How many bytes a buffer says it decodes to, if its header fits the buffer.
pub(super) fn declared_size(encoded: &[u8]) -> Option<usize> {
    let mut size = 0;
    // SAFETY: the pointer is good for the length; at most the header is read, and only if it is there.
    let result = unsafe {
        blosc_src::blosc_cbuffer_validate(
            encoded.as_ptr().cast::<c_void>(),
            encoded.len(),
            &mut size,
        )
    };
    (result == 0).then_some(size)
}

/// Decodes `encoded` into `out`; returns how many bytes were written. `None` if it is damaged.
///
/// The caller has seen that `declared_size` of `encoded` is the length of `out`.
pub(super) fn decompress(encoded: &[u8], out: &mut [u8]) -> Option<usize> {
    if declared_size(encoded)? != out.len() {
        return None;
    }
    // SAFETY: the header's encoded size was just found to be the buffer's length, within which C-Blosc
    // stays when it reads; it writes at most `out.len()` bytes.
    let written = unsafe {
        blosc_src::blosc_decompress_ctx(
            encoded.as_ptr().cast::<c_void>(),
            out.as_mut_ptr().cast::<c_void>(),
            out.len(),
            1,
        )
    };
    usize::try_from(written).ok()
}

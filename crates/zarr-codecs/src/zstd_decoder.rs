//! Decodes Zstandard frames with one decoder a thread.

use std::cell::RefCell;

use zstd::zstd_safe::{DCtx, ResetDirective, SafeResult, WriteBuf};

thread_local! {
    // Making one costs as much as decoding a small chunk; each call begins it anew.
    pub(crate) static DECODER: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Decodes all frames of `encoded` into `out`, a slice or the capacity of a vector; returns how many bytes they gave, or the
/// library's error.
pub(crate) fn decompress(encoded: &[u8], out: &mut (impl WriteBuf + ?Sized)) -> SafeResult {
    DECODER.with_borrow_mut(|decoder| {
        decoder.reset(ResetDirective::SessionAndParameters)?;
        decoder.decompress(out, encoded)
    })
}

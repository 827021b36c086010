//! Decodes Zstandard frames with one decoder a thread.

use std::cell::RefCell;

use zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, SafeResult};

/// The bytes of a frame that tell how long its header is.
const FRAME_HEADER: usize = 5;

thread_local! {
    // Making one costs as much as decoding a small chunk; each call begins it anew.
    static DECODER: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Decodes all frames of `encoded` into `out`; returns how many bytes they gave, or the library's error.
pub(crate) fn decompress(encoded: &[u8], out: &mut [u8]) -> SafeResult {
    DECODER.with_borrow_mut(|decoder| {
        decoder.reset(ResetDirective::SessionAndParameters)?;
        decoder.decompress(out, encoded)
    })
}

/// Decodes blocks of one frame until `out`, which has room for all of them, has `needed` bytes. `None` if these are damaged.
pub(crate) fn decompress_start(mut encoded: &[u8], out: &mut [u8], needed: usize) -> Option<()> {
    let mut out = OutBuffer::around(out);
    let mut next = FRAME_HEADER;
    DECODER.with_borrow_mut(|decoder| {
        decoder.reset(ResetDirective::SessionAndParameters).ok()?;
        decoder.set_parameter(DParameter::StableOutBuffer(true)).ok()?;
        while out.pos() < needed {
            // A step takes what the one before asked for: a block, and the header of the next. What is more, it would copy.
            let mut input = InBuffer::around(encoded.get(..next)?);
            next = decoder.decompress_stream(&mut out, &mut input).ok().filter(|&next| next > 0)?;
            encoded = &encoded[input.pos..];
        }
        Some(())
    })
}

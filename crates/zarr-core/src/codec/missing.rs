//! Tells codecs whether an inner chunk that is not stored is an error for the reader.
//!
//! Mostly the array looks for inner chunks itself, segment by segment. Only a codec that decodes a whole shard, such as one
//! that was compressed as a whole, finds for itself that an inner chunk is not stored. A codec decodes on one thread, so the
//! thread knows.

use std::cell::Cell;

use crate::error::CodecError;
use crate::options::MissingChunks;

thread_local! {
    static MISSING: Cell<MissingChunks> = const { Cell::new(MissingChunks::Fill) };
}

/// Decodes a chunk for a reader that asked for this.
pub(crate) fn decoding_for<T>(missing: MissingChunks, decode: impl FnOnce() -> T) -> T {
    struct Restore(MissingChunks);
    impl Drop for Restore {
        fn drop(&mut self) {
            MISSING.set(self.0);
        }
    }
    let _restore = Restore(MISSING.replace(missing));
    decode()
}

/// Checks whether the elements of an inner chunk that is not stored may be the fill value. A codec whose chunks have inner chunks
/// calls this in [`ArrayToBytes::decode_into`](super::ArrayToBytes::decode_into) before it fills one.
///
/// # Errors
/// [`CodecError::MissingChunk`] if the reader asked for an error ([`MissingChunks::Error`]).
pub fn check_missing_inner_chunk(indices: &[i64]) -> Result<(), CodecError> {
    match MISSING.get() {
        MissingChunks::Fill => Ok(()),
        MissingChunks::Error => Err(CodecError::missing_inner_chunk(indices)),
    }
}

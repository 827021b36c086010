//! Decodes a stream without trusting it.
//!
//! Nothing here believes a size in the data. Memory is asked for as data arrive, or at
//! once where the format's best ratio shows that the encoded bytes can hold all decoded ones.

use std::io::{ErrorKind, Read};

use zarr_core::CodecError;
use zarr_core::codec::{DecodedSize, buffer_pool};

/// Scratch of `size` bytes to be overwritten, if `encoded` bytes can hold that many when each holds at most `ratio`.
///
/// # Errors
/// [`CodecError::Length`] if they cannot.
pub(crate) fn scratch_for(
    codec: &'static str,
    size: u64,
    encoded: usize,
    ratio: u64,
) -> Result<Vec<u8>, CodecError> {
    let scratch = buffer_pool::acquire(believed_size(codec, size, encoded, ratio)?);
    scratch.ok_or(CodecError::Limit { codec, limit: isize::MAX as u64 })
}

/// The same, empty and with room for at least `size` bytes: for decoders that write into the spare capacity of a vector.
///
/// # Errors
/// [`CodecError::Length`] if they cannot.
pub(crate) fn room_for(
    codec: &'static str,
    size: u64,
    encoded: usize,
    ratio: u64,
) -> Result<Vec<u8>, CodecError> {
    let room = buffer_pool::room(believed_size(codec, size, encoded, ratio)?);
    room.ok_or(CodecError::Limit { codec, limit: isize::MAX as u64 })
}

fn believed_size(
    codec: &'static str,
    size: u64,
    encoded: usize,
    ratio: u64,
) -> Result<usize, CodecError> {
    let most = (encoded as u64).saturating_mul(ratio);
    if size > most {
        return Err(CodecError::Length { codec, expected: size, found: most });
    }
    usize::try_from(size).map_err(|_| CodecError::Limit { codec, limit: isize::MAX as u64 })
}

/// All that `reader` gives, if that is what is expected. It is read to its end, where checksums are.
///
/// # Errors
/// [`CodecError::Length`], [`CodecError::Limit`], [`CodecError::Corrupt`].
pub(crate) fn read_all(
    codec: &'static str,
    reader: impl Read,
    size: DecodedSize,
) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::new();
    // One byte more than may come tells too long from long enough.
    let result = reader.take(size.limit().saturating_add(1)).read_to_end(&mut out);
    result.map_err(|e| broken(codec, &e, out.len(), Some(size)))?;
    size.check(codec, out.len() as u64)?;
    Ok(out)
}

/// Fills `out` with exactly what `reader` gives. It is read to its end, where checksums stand.
///
/// # Errors
/// [`CodecError::Length`], [`CodecError::Corrupt`].
pub(crate) fn read_into(
    codec: &'static str,
    mut reader: impl Read,
    out: &mut [u8],
) -> Result<(), CodecError> {
    let size = DecodedSize::Exactly(out.len() as u64);
    let mut filled = 0;
    loop {
        let mut extra = [0];
        let rest = if filled < out.len() { &mut out[filled..] } else { &mut extra[..] };
        match reader.read(rest) {
            Ok(0) => return size.check(codec, filled as u64),
            Ok(n) => filled += n,
            Err(e) => return Err(broken(codec, &e, filled, Some(size))),
        }
        if filled > out.len() {
            return size.check(codec, filled as u64);
        }
    }
}

fn broken(
    codec: &'static str,
    error: &std::io::Error,
    read: usize,
    size: Option<DecodedSize>,
) -> CodecError {
    match (error.kind(), size) {
        (ErrorKind::UnexpectedEof, Some(DecodedSize::Exactly(expected))) => {
            CodecError::corrupt(codec, format!("stream ends after {read} of {expected} bytes"))
        }
        (ErrorKind::UnexpectedEof, _) => {
            CodecError::corrupt(codec, format!("stream ends after {read} bytes"))
        }
        (ErrorKind::OutOfMemory, _) => CodecError::Limit { codec, limit: read as u64 },
        _ => CodecError::corrupt(codec, error),
    }
}

/// Makes sure that nothing follows a complete stream.
///
/// # Errors
/// [`CodecError::Corrupt`] if something does.
pub(crate) fn no_rest(codec: &'static str, rest: &[u8]) -> Result<(), CodecError> {
    match rest.len() {
        0 => Ok(()),
        n => Err(CodecError::corrupt(codec, format!("{n} bytes follow the end of the stream"))),
    }
}

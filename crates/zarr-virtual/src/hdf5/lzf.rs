//! LZF, h5py's own filter (32000), as VirtualiZarr names it: a raw stream whose decoded length only the array knows.

use std::borrow::Cow;

use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Names, Parameters,
};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

/// The names of the codec.
pub(super) const NAMES: Names =
    Names { v3: &["imagecodecs_lzf"], v2: &["imagecodecs_lzf"], draft: &[] };

const CODEC: &str = "imagecodecs_lzf";

#[derive(Clone, Copy, Debug)]
struct Lzf;

/// Builds the codec, which has no configuration.
///
/// # Errors
/// There is a configuration.
pub(super) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    Parameters::new(spec).finish()?;
    Ok(Codec::bytes_to_bytes(Lzf))
}

impl BytesToBytes for Lzf {
    /// Literals alone: files of HDF5 are not written, and every reader decodes them.
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        let mut encoded = Vec::with_capacity(decoded.len() + decoded.len().div_ceil(32));
        for run in decoded.chunks(32) {
            encoded.push(run.len() as u8 - 1);
            encoded.extend_from_slice(run);
        }
        Ok(Cow::Owned(encoded))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let decoded =
            decode(&encoded, size.limit()).map_err(|why| CodecError::corrupt(CODEC, why))?;
        size.check(CODEC, decoded.len() as u64)?;
        Ok(Cow::Owned(decoded))
    }

    fn encoded_size(&self, _: u64) -> Result<Option<u64>, CodecError> {
        Ok(None)
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        NAMES.to_metadata(dialect, Object::new())
    }
}

/// Each control byte is followed by up to 32 literal bytes, or says how many bytes to repeat from how far back.
fn decode(encoded: &[u8], limit: u64) -> Result<Vec<u8>, String> {
    let mut decoded: Vec<u8> = Vec::new();
    let mut rest = encoded;
    while !rest.is_empty() {
        let control = next_byte(&mut rest)?;
        if control < 32 {
            let Some((literals, others)) = rest.split_at_checked(control + 1) else {
                return Err(format!(
                    "expected {} literal bytes, found {}",
                    control + 1,
                    rest.len()
                ));
            };
            decoded.extend_from_slice(literals);
            rest = others;
        } else {
            let mut length = control >> 5;
            if length == 7 {
                length += next_byte(&mut rest)?;
            }
            let back = ((control & 0x1f) << 8 | next_byte(&mut rest)?) + 1;
            let Some(start) = decoded.len().checked_sub(back) else {
                return Err(format!("byte {} repeats from {back} bytes before", decoded.len()));
            };
            // What is repeated may be longer than what is there yet.
            for position in start..start + length + 2 {
                decoded.push(decoded[position]);
            }
        }
        if decoded.len() as u64 > limit {
            return Err(format!("expected at most {limit} bytes, found more"));
        }
    }
    Ok(decoded)
}

/// Takes a byte of the stream.
fn next_byte(rest: &mut &[u8]) -> Result<usize, String> {
    let (first, others) = rest.split_first().ok_or("the stream ends within a repetition")?;
    *rest = others;
    Ok(usize::from(*first))
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn repetitions_overlap() {
        // "ab", then 2 + 2 bytes from 2 bytes back.
        assert_eq!(decode(&[1, b'a', b'b', 2 << 5, 1], 100).as_deref(), Ok(b"ababab".as_slice()));
        for wrong in [&[3, 1][..], &[1 << 5, 0], &[1 << 5], &[0, 1, 7 << 5, 0]] {
            assert!(decode(wrong, 100).is_err(), "{wrong:?}");
        }
        assert!(decode(&[0, 1, 7 << 5, 255, 0], 100).is_err());
    }
}

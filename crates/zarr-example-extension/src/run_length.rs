//! A codec: stores runs of one byte as a count and the byte.
//!
//! Encoded are pairs: how often, 1 to 255, and which byte. There are no parameters.

use std::borrow::Cow;

use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Names, Parameters,
};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

/// The codec's name in final v3 and in the drafts.
pub const URI: &str = "https://example.org/zarr/codec/run-length/1.0";

/// The codec's `id` in v2.
pub const ID: &str = "example.run-length";

/// What the codec is called in each dialect.
pub const NAMES: Names = Names { v3: &[URI], v2: &[ID], draft: &[URI] };

/// What the codec is called in messages.
const CODEC: &str = "run-length";

/// The codec.
#[derive(Clone, Copy, Debug)]
struct RunLength;

/// Makes the codec from its metadata.
///
/// # Errors
/// [`MetadataError::Invalid`] for any parameter in final v3.
pub fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    Parameters::new(spec).finish()?;
    Ok(Codec::bytes_to_bytes(RunLength))
}

/// The pairs of a count and a byte.
fn pairs(encoded: &[u8]) -> Result<&[[u8; 2]], CodecError> {
    match encoded.as_chunks() {
        (pairs, []) if pairs.iter().all(|[count, _]| *count > 0) => Ok(pairs),
        (_, []) => Err(CodecError::corrupt(CODEC, "a run of no bytes")),
        _ => Err(CodecError::corrupt(CODEC, "a count without its byte")),
    }
}

impl BytesToBytes for RunLength {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        let runs = decoded.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(255));
        Ok(runs.flat_map(|run| [run.len() as u8, run[0]]).collect::<Vec<u8>>().into())
    }

    /// The size is added up, and compared with what is expected, before any memory is taken.
    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let pairs = pairs(&encoded)?;
        let total = pairs.iter().map(|[count, _]| u64::from(*count)).sum();
        size.check(CODEC, total)?;
        let mut decoded = Vec::with_capacity(total as usize);
        for [count, byte] in pairs {
            decoded.extend(std::iter::repeat_n(*byte, usize::from(*count)));
        }
        Ok(decoded.into())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        NAMES.to_metadata(dialect, Object::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(decoded: &[u8]) -> Vec<u8> {
        RunLength.encode(decoded.into()).unwrap().into_owned()
    }

    fn decode(encoded: &[u8], size: DecodedSize) -> Result<Vec<u8>, CodecError> {
        RunLength.decode(encoded.into(), size).map(Cow::into_owned)
    }

    #[test]
    fn runs_become_pairs_and_pairs_runs() {
        let long = [7; 600];
        let cases: [(&[u8], &[u8]); 4] = [
            (b"", b""),
            (b"a", b"\x01a"),
            (b"aaab", b"\x03a\x01b"),
            (&long, &[255, 7, 255, 7, 90, 7]),
        ];
        for (decoded, encoded) in cases {
            assert_eq!(encode(decoded), encoded);
            let size = DecodedSize::Exactly(decoded.len() as u64);
            assert_eq!(decode(encoded, size).unwrap(), decoded);
            let mut out = vec![0; decoded.len()];
            RunLength.decode_into(encoded.into(), &mut out).unwrap();
            assert_eq!(out, decoded);
        }
        // Not the fewest pairs, but pairs.
        assert_eq!(decode(b"\x01a\x02a", DecodedSize::AtMost(3)).unwrap(), b"aaa");
    }

    #[test]
    fn sizes_are_heeded_and_garbage_is_refused() {
        for other in [2, 4, u64::MAX] {
            let found = decode(b"\x03a", DecodedSize::Exactly(other));
            assert!(matches!(found, Err(CodecError::Length { found: 3, .. })));
        }
        let limited = decode(b"\xffa\xffa", DecodedSize::AtMost(509));
        assert!(matches!(limited, Err(CodecError::Limit { limit: 509, .. })));
        for garbage in [&b"\x03"[..], b"\x00a", b"\x03a\x01"] {
            let found = decode(garbage, DecodedSize::AtMost(100));
            assert!(matches!(found, Err(CodecError::Corrupt { .. })));
        }
        let noise: Vec<u8> =
            (0..9999u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
        for end in 0..300 {
            let _ = decode(&noise[..end], DecodedSize::AtMost(1 << 16));
        }
    }

    #[test]
    fn every_dialect_has_words_for_it() {
        let name = |dialect| RunLength.to_metadata(dialect).unwrap().to_string();
        assert_eq!(name(Dialect::V3), URI);
        assert_eq!(name(Dialect::Draft), URI);
        assert_eq!(name(Dialect::V2), ID);
    }
}

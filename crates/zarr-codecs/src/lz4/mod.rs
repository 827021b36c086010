//! Compresses bytes as numcodecs' LZ4.
//!
//! The decoded size in four bytes, least significant first, then one raw LZ4 block without a frame
//! (v2.md 7). Nothing may follow the block.

mod ffi;

use std::borrow::Cow;

use lz4::block::{compress_bound, decompress_to_buffer};
use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Parameters, buffer_pool,
};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::util::bounded_read::room_for;
use crate::util::metadata::in_every_dialect;

/// The most bytes that a block holds: `LZ4_MAX_INPUT_SIZE`.
const MAX_SIZE: u64 = 0x7E00_0000;

const CODEC: &str = "lz4";

/// The bytes of the decoded size before the block.
const SIZE_BYTES: usize = size_of::<u32>();

/// The most decoded bytes that one byte of a block holds: a byte lengthens a match by 255.
const BEST_RATIO: u64 = 255;

/// The lz4 codec.
#[derive(Clone, Copy, Debug)]
struct Lz4 {
    acceleration: i32,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let range = i32::MIN.into()..=i32::MAX.into();
    let acceleration = parameters.integer("acceleration", range, Some(1))? as i32;
    parameters.finish()?;
    Ok(Codec::bytes_to_bytes(Lz4 { acceleration }))
}

impl BytesToBytes for Lz4 {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        let bound = compress_bound(decoded.len()).map_err(|_| too_long(decoded.len()))?;
        let out = buffer_pool::room(SIZE_BYTES + bound);
        let mut out = out.ok_or(CodecError::Limit { codec: CODEC, limit: isize::MAX as u64 })?;
        out.extend_from_slice(&(decoded.len() as u32).to_le_bytes());
        if !ffi::compress(&decoded, self.acceleration, &mut out) {
            return Err(too_long(decoded.len()));
        }
        buffer_pool::release(decoded);
        Ok(Cow::Owned(out))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let (declared, block) = split(&encoded)?;
        size.check(CODEC, declared.into())?;
        let mut out = room_for(CODEC, declared.into(), block.len(), BEST_RATIO)?;
        let found = ffi::decompress(block, declared as usize, &mut out).ok_or_else(damaged)?;
        DecodedSize::Exactly(declared.into()).check(CODEC, found as u64)?;
        Ok(Cow::Owned(out))
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        let (declared, block) = split(&encoded)?;
        DecodedSize::Exactly(out.len() as u64).check(CODEC, declared.into())?;
        decode_block(block, out)
    }

    fn most_decoded(&self) -> Option<u64> {
        Some(MAX_SIZE)
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let configuration = Object::new().with("acceleration", i64::from(self.acceleration));
        in_every_dialect(dialect, "numcodecs.lz4", "lz4", configuration)
    }
}

/// The error of more bytes than LZ4 compresses at once.
fn too_long(len: usize) -> CodecError {
    CodecError::Value { codec: CODEC, why: format!("{len} bytes are more than a block holds") }
}

/// The decoded size that precedes the block, and the block.
fn split(encoded: &[u8]) -> Result<(u32, &[u8]), CodecError> {
    match encoded.split_first_chunk() {
        Some((size, block)) => Ok((u32::from_le_bytes(*size), block)),
        None => Err(CodecError::corrupt(CODEC, "the size is truncated")),
    }
}

fn decode_block(block: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
    let (Ok(size), Ok(_)) = (i32::try_from(out.len()), i32::try_from(block.len())) else {
        return Err(CodecError::corrupt(CODEC, "a block is at most 2 GiB long"));
    };
    let found = decompress_to_buffer(block, Some(size), out).map_err(|_| damaged())?;
    DecodedSize::Exactly(out.len() as u64).check(CODEC, found as u64)
}

fn damaged() -> CodecError {
    CodecError::corrupt(CODEC, "the block is damaged, or does not end there")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{behaves, build, decode, encode, hex, metadata, refusal};

    fn lz4() -> std::sync::Arc<dyn BytesToBytes> {
        build(Dialect::V2, "lz4", "{}")
    }

    #[test]
    fn it_behaves() {
        behaves(&*lz4());
        behaves(&*build(Dialect::V3, "lz4", r#"{"acceleration":65537}"#));
    }

    /// v2.md 7; zarr-python 2.18, draft-v3.md 3.1.
    #[test]
    fn blocks_are_as_numcodecs_writes_them() {
        let eight = hex("08000000 806161616161616161");
        assert_eq!(encode(&*lz4(), b"aaaaaaaa"), eight);
        assert_eq!(decode(&*lz4(), &eight, 8), b"aaaaaaaa");
        let numbers = hex("08000000800100020003000400");
        assert_eq!(decode(&*lz4(), &numbers, 8), hex("0100020003000400"));
        assert_eq!(encode(&*lz4(), b""), hex("00000000 00"));
    }

    /// A size is compared with what is due before it is believed, a negative one is a huge one.
    #[test]
    fn absurd_sizes_are_not_believed() {
        for encoded in ["ffffff7f61626364", "fbffffff61626364"] {
            for size in [DecodedSize::Exactly(16), DecodedSize::AtMost(16)] {
                let result = lz4().decode(hex(encoded).into(), size);
                assert!(!matches!(result, Ok(_) | Err(CodecError::Corrupt { .. })), "{result:?}");
            }
            let claimed = u32::from_le_bytes(hex(encoded)[..4].try_into().unwrap());
            let result = lz4().decode(hex(encoded).into(), DecodedSize::Exactly(claimed.into()));
            assert!(matches!(result, Err(CodecError::Length { .. })), "{result:?}");
        }
        let bomb = encode(&*lz4(), &vec![0; 1 << 24]);
        assert!(lz4().decode(Cow::Borrowed(&bomb), DecodedSize::Exactly(64)).is_err());
        assert_eq!(decode(&*lz4(), &bomb, 1 << 24).len(), 1 << 24);
    }

    #[test]
    fn words_are_checked_and_spelled() {
        refusal(Dialect::V3, "numcodecs.lz4", r#"{"acceleration":"fast"}"#);
        assert_eq!(
            metadata(&*lz4()).map(Option::unwrap),
            [
                r#"numcodecs.lz4 {"acceleration":1}"#,
                r#"lz4 {"acceleration":1}"#,
                r#"https://purl.org/zarr/spec/codec/lz4/1.0 {"acceleration":1}"#
            ]
        );
    }
}

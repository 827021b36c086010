//! HDF5's filter LZ4 (32004): numbers with the most significant byte first, then blocks.
//!
//! Eight bytes are the decoded length, four the length of a decoded block. Each block has its encoded length in four bytes; one that
//! is as long as its content is stored.

use std::borrow::Cow;

use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Names, Parameters,
};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

/// The codec's name in final v3; the other dialects have none.
pub(super) const NAMES: Names = Names { v3: &["hdf5.lz4"], v2: &[], draft: &[] };

const CODEC: &str = "hdf5.lz4";

/// The codec. It is only decoded.
#[derive(Clone, Copy, Debug)]
struct Lz4;

/// Makes the codec.
///
/// # Errors
/// [`MetadataError::Invalid`] for any parameter.
pub(super) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    Parameters::new(spec).finish()?;
    Ok(Codec::bytes_to_bytes(Lz4))
}

impl BytesToBytes for Lz4 {
    fn encode<'a>(&self, _: Cow<'a, [u8]>) -> CodecResult<'a> {
        self.check_encodes()?;
        Ok(Cow::Borrowed(&[]))
    }

    fn check_encodes(&self) -> Result<(), CodecError> {
        let why = "it is only decoded; write with another codec".into();
        Err(CodecError::Value { codec: CODEC, why })
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let decoded = decode(&encoded, size).map_err(|why| CodecError::corrupt(CODEC, why))?;
        size.check(CODEC, decoded.len() as u64)?;
        Ok(decoded.into())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        NAMES.to_metadata(dialect, Object::new())
    }
}

/// The header that this filter and bitshuffle have: the decoded length, and that of a block.
pub(super) fn header(encoded: &[u8]) -> Result<(u64, usize, &[u8]), String> {
    let (total, rest) = encoded.split_first_chunk().ok_or("the header is truncated")?;
    let (block, rest) = rest.split_first_chunk().ok_or("the header is truncated")?;
    Ok((u64::from_be_bytes(*total), u32::from_be_bytes(*block) as usize, rest))
}

/// The encoded bytes of the next block.
pub(super) fn next_block<'e>(rest: &mut &'e [u8]) -> Result<&'e [u8], String> {
    let (length, behind) = rest.split_first_chunk().ok_or("the length of a block is truncated")?;
    let length = u32::from_be_bytes(*length) as usize;
    let (block, behind) = behind
        .split_at_checked(length)
        .ok_or_else(|| format!("a block of {length} bytes ends early, at {}", behind.len()))?;
    *rest = behind;
    Ok(block)
}

fn decode(encoded: &[u8], size: DecodedSize) -> Result<Vec<u8>, String> {
    let (total, block_length, mut rest) = header(encoded)?;
    if total > size.limit() {
        return Err(format!("it decodes to {total} bytes, at most {} are expected", size.limit()));
    }
    if block_length == 0 {
        return Err("its blocks have no bytes".into());
    }
    let mut decoded = Vec::new();
    while (decoded.len() as u64) < total {
        let left = total - decoded.len() as u64;
        let expected = left.min(block_length as u64) as usize;
        let block = next_block(&mut rest)?;
        let start = decoded.len();
        if block.len() == expected {
            decoded.extend_from_slice(block);
        } else {
            crate::lz4::decode_block(block, expected, &mut decoded)?;
        }
        if decoded.len() - start != expected {
            let found = decoded.len() - start;
            return Err(format!("a block of {found} bytes, expected {expected}"));
        }
    }
    Ok(decoded)
}

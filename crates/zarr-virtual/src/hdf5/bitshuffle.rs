//! HDF5's filter bitshuffle (32008): the bits of elements gathered by significance, block by block, and then perhaps LZ4.
//!
//! A block of n elements, n a multiple of 8, becomes the lowest bits of all, then the next ones, and so on. What is left behind the
//! last eight elements stays as it is. With LZ4 a header comes before, and the length of each encoded block before it.

use std::borrow::Cow;

use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Names, Parameters,
};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use super::lz4::{header, next_block};

/// The codec's name in final v3; the other dialects have none.
pub(super) const NAMES: Names = Names { v3: &["hdf5.bitshuffle"], v2: &[], draft: &[] };

const CODEC: &str = "hdf5.bitshuffle";

/// The bytes of a block unless the file says otherwise, and how many elements it has at least.
const DEFAULT_BLOCK_BYTES: usize = 8192;
const MIN_BLOCK_ELEMENTS: usize = 128;

/// The codec. It is only decoded.
#[derive(Clone, Copy, Debug)]
struct Bitshuffle {
    /// The length of an element in bytes.
    element: usize,
    /// The number of elements in a block, 0 for the default.
    block: usize,
    has_lz4: bool,
}

/// Makes the codec.
///
/// # Errors
/// [`MetadataError::Invalid`] for a parameter that is missing, invalid or unknown.
pub(super) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let element = parameters.integer("elementsize", 1..=i32::MAX.into(), None)? as usize;
    let block = parameters.integer("blocksize", 0..=i32::MAX.into(), Some(0))? as usize;
    let has_lz4 = parameters.boolean("lz4", false)?;
    if !block.is_multiple_of(8) {
        return Err(parameters.invalid("blocksize", "is a multiple of 8"));
    }
    parameters.finish()?;
    Ok(Codec::bytes_to_bytes(Bitshuffle { element, block, has_lz4 }))
}

impl BytesToBytes for Bitshuffle {
    fn encode<'a>(&self, _: Cow<'a, [u8]>) -> CodecResult<'a> {
        self.check_encodes()?;
        Ok(Cow::Borrowed(&[]))
    }

    fn check_encodes(&self) -> Result<(), CodecError> {
        let why = "it is only decoded; write with another codec".into();
        Err(CodecError::Value { codec: CODEC, why })
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let decoded = if self.has_lz4 {
            self.decode_lz4(&encoded, size)
        } else {
            size.check(CODEC, encoded.len() as u64)?;
            Ok(self.decode_plain(&encoded))
        };
        let decoded = decoded.map_err(|why| CodecError::corrupt(CODEC, why))?;
        size.check(CODEC, decoded.len() as u64)?;
        Ok(decoded.into())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let configuration = Object::new()
            .with("elementsize", self.element as u64)
            .with("blocksize", self.block as u64)
            .with("lz4", self.has_lz4);
        NAMES.to_metadata(dialect, configuration)
    }
}

impl Bitshuffle {
    /// The number of elements in a block.
    fn block_elements(&self) -> usize {
        if self.block > 0 {
            return self.block;
        }
        (DEFAULT_BLOCK_BYTES / self.element / 8 * 8).max(MIN_BLOCK_ELEMENTS)
    }

    fn decode_plain(&self, encoded: &[u8]) -> Vec<u8> {
        let mut decoded = Vec::with_capacity(encoded.len());
        let mut rest = encoded;
        while rest.len() >= 8 * self.element {
            let eights = (rest.len() / self.element / 8 * 8).min(self.block_elements());
            let (block, behind) = rest.split_at(eights * self.element);
            self.unshuffle(block, &mut decoded);
            rest = behind;
        }
        decoded.extend_from_slice(rest);
        decoded
    }

    fn decode_lz4(&self, encoded: &[u8], size: DecodedSize) -> Result<Vec<u8>, String> {
        let (total, block_bytes, mut rest) = header(encoded)?;
        if total > size.limit() {
            return Err(format!(
                "it decodes to {total} bytes, at most {} are expected",
                size.limit()
            ));
        }
        let elements = block_bytes / self.element / 8 * 8;
        if elements == 0 || block_bytes % self.element != 0 {
            return Err(format!("blocks of {block_bytes} bytes, elements of {}", self.element));
        }
        let mut decoded = Vec::new();
        let mut shuffled = Vec::new();
        loop {
            let left = (total - decoded.len() as u64) / self.element as u64;
            let eights = (left / 8 * 8).min(elements as u64) as usize;
            if eights == 0 {
                break;
            }
            let expected = eights * self.element;
            shuffled.clear();
            crate::lz4::decode_block(next_block(&mut rest)?, expected, &mut shuffled)?;
            if shuffled.len() != expected {
                return Err(format!("a block of {} bytes, expected {expected}", shuffled.len()));
            }
            self.unshuffle(&shuffled, &mut decoded);
        }
        let left = (total - decoded.len() as u64) as usize;
        let stored = rest.get(..left).ok_or("the last elements are truncated")?;
        decoded.extend_from_slice(stored);
        Ok(decoded)
    }

    /// Appends the elements of a block whose number is a multiple of 8.
    fn unshuffle(&self, block: &[u8], decoded: &mut Vec<u8>) {
        let row = block.len() / self.element / 8;
        let start = decoded.len();
        decoded.resize(start + block.len(), 0);
        let out = &mut decoded[start..];
        for byte in 0..self.element {
            for bit in 0..8 {
                let bits = &block[(8 * byte + bit) * row..][..row];
                for (group, packed) in bits.iter().enumerate() {
                    for position in 0..8 {
                        let value = packed >> position & 1;
                        out[(8 * group + position) * self.element + byte] |= value << bit;
                    }
                }
            }
        }
    }
}

//! Decodes what Java's `LZ4BlockOutputStream` wrote: N5's compression `lz4`.
//!
//! Blocks follow each other. Each has the text `LZ4Block`, a byte whose upper half is the method (1 stored, 2 LZ4), the numbers of
//! bytes encoded and decoded and a checksum of what is decoded, all `i32` with the least significant byte first. A block of no
//! bytes is the end. z5, which writes N5 in C++, has one block of LZ4 without all that; it is decoded, too.

use std::borrow::Cow;

use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Names, Parameters,
};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::lz4;

/// The codec's name in final v3; the other dialects have none.
pub(super) const NAME: &str = "n5:lz4";

/// What the codec is called in each dialect.
pub(crate) const NAMES: Names = Names { v3: &[NAME], v2: &[], draft: &[] };

const CODEC: &str = "n5:lz4";
const MAGIC: &[u8; 8] = b"LZ4Block";
const HEADER: usize = 21;
const STORED: u8 = 0x10;
const COMPRESSED: u8 = 0x20;
/// What the checksum begins with, and which of its bits are kept.
const SEED: u32 = 0x9747_b28c;
const CHECKSUM_MASK: u32 = 0x0fff_ffff;

/// The codec. It is only decoded.
#[derive(Clone, Copy, Debug)]
struct Lz4Block;

/// Makes the codec.
///
/// # Errors
/// [`MetadataError::Invalid`] for any parameter.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    Parameters::new(spec).finish()?;
    Ok(Codec::bytes_to_bytes(Lz4Block))
}

fn corrupt(why: impl std::fmt::Display) -> CodecError {
    CodecError::corrupt(CODEC, why)
}

impl BytesToBytes for Lz4Block {
    fn encode<'a>(&self, _: Cow<'a, [u8]>) -> CodecResult<'a> {
        self.check_encodes()?;
        Ok(Cow::Borrowed(&[]))
    }

    fn check_encodes(&self) -> Result<(), CodecError> {
        let why = "it is only decoded; write with another codec".into();
        Err(CodecError::Value { codec: CODEC, why })
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let mut rest = &encoded[..];
        let mut decoded = Vec::new();
        if !encoded.starts_with(MAGIC) {
            // z5 writes a block of LZ4 alone.
            let limit = usize::try_from(size.limit()).unwrap_or(usize::MAX);
            lz4::decode_block(&encoded, limit, &mut decoded).map_err(corrupt)?;
            size.check(CODEC, decoded.len() as u64)?;
            return Ok(decoded.into());
        }
        while !rest.is_empty() {
            let header =
                rest.get(..HEADER).ok_or_else(|| corrupt("a block's header is truncated"))?;
            if &header[..8] != MAGIC {
                return Err(corrupt("expected `LZ4Block` at the beginning of a block"));
            }
            let (compressed, original, checksum) =
                (number(header, 9), number(header, 13), number(header, 17));
            if original == 0 {
                break;
            }
            let end = HEADER.saturating_add(compressed as usize);
            let body = rest.get(HEADER..end).ok_or_else(|| {
                corrupt(format!("a block of {compressed} bytes ends early, at {}", rest.len()))
            })?;
            let total = (decoded.len() as u64).saturating_add(u64::from(original));
            if total > size.limit() {
                size.check(CODEC, total)?;
            }
            let start = decoded.len();
            match header[8] & 0xf0 {
                STORED => decoded.extend_from_slice(body),
                COMPRESSED => {
                    lz4::decode_block(body, original as usize, &mut decoded).map_err(corrupt)?;
                }
                other => return Err(corrupt(format!("a block of method {:#x}", other >> 4))),
            }
            let found = decoded.len() - start;
            if found != original as usize {
                return Err(corrupt(format!("a block of {found} bytes, expected {original}")));
            }
            if xxhash32(&decoded[start..], SEED) & CHECKSUM_MASK != checksum {
                return Err(corrupt("the checksum of a block differs"));
            }
            rest = &rest[end..];
        }
        size.check(CODEC, decoded.len() as u64)?;
        Ok(decoded.into())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        NAMES.to_metadata(dialect, Object::new())
    }
}

/// A number of four bytes.
fn number(header: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// The 32-bit xxHash of some bytes.
fn xxhash32(bytes: &[u8], seed: u32) -> u32 {
    const PRIMES: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];
    let (stripes, rest) = bytes.as_chunks::<16>();
    let mut hash = if stripes.is_empty() {
        seed.wrapping_add(PRIMES[4])
    } else {
        let mut lanes = [
            seed.wrapping_add(PRIMES[0]).wrapping_add(PRIMES[1]),
            seed.wrapping_add(PRIMES[1]),
            seed,
            seed.wrapping_sub(PRIMES[0]),
        ];
        for stripe in stripes {
            let (words, _) = stripe.as_chunks::<4>();
            for (lane, word) in lanes.iter_mut().zip(words) {
                let word = u32::from_le_bytes(*word).wrapping_mul(PRIMES[1]);
                *lane = lane.wrapping_add(word).rotate_left(13).wrapping_mul(PRIMES[0]);
            }
        }
        let [a, b, c, d] = lanes;
        a.rotate_left(1)
            .wrapping_add(b.rotate_left(7))
            .wrapping_add(c.rotate_left(12))
            .wrapping_add(d.rotate_left(18))
    };
    hash = hash.wrapping_add(bytes.len() as u32);
    let (words, tail) = rest.as_chunks::<4>();
    for word in words {
        let word = u32::from_le_bytes(*word).wrapping_mul(PRIMES[2]);
        hash = hash.wrapping_add(word).rotate_left(17).wrapping_mul(PRIMES[3]);
    }
    for byte in tail {
        let byte = u32::from(*byte).wrapping_mul(PRIMES[4]);
        hash = hash.wrapping_add(byte).rotate_left(11).wrapping_mul(PRIMES[0]);
    }
    hash = (hash ^ (hash >> 15)).wrapping_mul(PRIMES[1]);
    hash = (hash ^ (hash >> 13)).wrapping_mul(PRIMES[2]);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of one method, and the end.
    fn framed(method: u8, body: &[u8], decoded: &[u8]) -> Vec<u8> {
        let header = |method: u8, compressed: usize, original: usize, checksum: u32| {
            let numbers = [compressed as u32, original as u32, checksum].map(u32::to_le_bytes);
            [&MAGIC[..], &[method], &numbers.concat()].concat()
        };
        let checksum = xxhash32(decoded, SEED) & CHECKSUM_MASK;
        let block = header(method, body.len(), decoded.len(), checksum);
        [block, body.to_vec(), header(STORED, 0, 0, 0)].concat()
    }

    fn decode(encoded: &[u8], size: u64) -> Result<Vec<u8>, CodecError> {
        Lz4Block.decode(encoded.into(), DecodedSize::Exactly(size)).map(Cow::into_owned)
    }

    /// The values that the specification of xxHash's reference implementation prints.
    #[test]
    fn the_hash_is_xxhash() {
        assert_eq!(xxhash32(b"", 0), 0x02cc_5d05);
        assert_eq!(xxhash32(b"abc", 0), 0x32d1_53ff);
        assert_eq!(xxhash32(b"Nobody inspects the spammish repetition", 0), 0xe229_3b2f);
    }

    #[test]
    fn blocks_are_decoded_and_checked() {
        let text = b"abcabcabcabcabcabc!";
        // Three literals, a match of 14 at distance 3, two literals.
        let body = [0x3a, b'a', b'b', b'c', 3, 0, 0x20, b'c', b'!'];
        let encoded = framed(COMPRESSED | 5, &body, text);
        assert_eq!(decode(&encoded, 19).unwrap(), text);
        assert_eq!(decode(&framed(STORED, text, text), 19).unwrap(), text);
        assert!(matches!(decode(&encoded, 18), Err(CodecError::Length { .. })));
        for at in 0..encoded.len() - HEADER {
            let mut damaged = encoded.clone();
            damaged[at] ^= 0x55;
            // The level in the lower half of the method's byte means nothing.
            if at != 8 {
                assert!(decode(&damaged, 19).is_err(), "byte {at}");
            }
        }
        for end in 1..encoded.len() - HEADER {
            assert!(decode(&encoded[..end], 19).is_err(), "{end} bytes");
        }
    }
}

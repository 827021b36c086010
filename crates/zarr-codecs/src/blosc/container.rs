//! Decodes the blocks of a Blosc buffer.
//!
//! C-Blosc does it for BloscLZ and for shuffled bits. Of blocks of Snappy it has no decoder here, for LZ4 it allocates memory each
//! time, for Zstandard it makes a decoder each time, and zlib is decoded faster by libdeflate. The container itself is small: a header,
//! the offset of each block, and in each block one or `typesize` streams, each with its length before
//! it. Blocks may be shuffled by bytes or bits.

use zarr_core::CodecError;
use zarr_core::codec::buffer_pool;

use super::{BIT_SHUFFLED, BYTE_SHUFFLED, CODEC, Header, UNSPLIT};
use crate::util::shuffle_kernel::scatter;

/// Blosc splits blocks into a stream for each byte of an element only up to this element size,
const MAX_SPLITS: usize = 16;
/// and only if each stream has at least this number of bytes.
const MIN_STREAM: usize = 128;

/// Fills its second argument from its first, or returns `false`.
pub(super) type Decompress = fn(&[u8], &mut [u8]) -> bool;

fn damaged(why: &str) -> CodecError {
    CodecError::corrupt(CODEC, why)
}

/// Decodes the blocks of `encoded` into `out`. The header's sizes have been compared with both lengths.
pub(super) fn decode(
    header: &Header,
    encoded: &[u8],
    out: &mut [u8],
    decompress: Decompress,
) -> Result<(), CodecError> {
    header.check_blocks()?;
    let mut blocks = out.chunks_mut(header.block_size.max(1)).enumerate();
    blocks.try_for_each(|(number, out)| decode_block(header, encoded, number, out, decompress))
}

/// Decodes one block into `out`, which has its size.
pub(super) fn decode_block(
    header: &Header,
    encoded: &[u8],
    number: usize,
    out: &mut [u8],
    decompress: Decompress,
) -> Result<(), CodecError> {
    let (type_size, block_size, len) = (header.type_size, header.block_size, out.len());
    let (starts, _) = encoded.get(super::HEADER..).unwrap_or_default().as_chunks::<4>();
    let start = starts.get(number).map(|s| u32::from_le_bytes(*s) as usize);
    let rest = start.and_then(|start| encoded.get(start..));
    let rest = rest.ok_or_else(|| damaged("a block begins outside the buffer"))?;
    let split = !header.is(UNSPLIT)
        && type_size <= MAX_SPLITS
        && block_size / type_size >= MIN_STREAM
        && len == block_size;
    let streams = if split { type_size } else { 1 };
    let put_back = match (header.is(BYTE_SHUFFLED) && type_size > 1, header.is(BIT_SHUFFLED)) {
        (true, _) => scatter,
        (_, true) if len >= type_size => unshuffle_bits,
        _ => return decode_streams(rest, streams, out, decompress),
    };
    let scratch = buffer_pool::acquire(len);
    let mut scratch = scratch.ok_or_else(|| damaged("a block is larger than memory"))?;
    decode_streams(rest, streams, &mut scratch, decompress)?;
    put_back(type_size, &scratch, out);
    buffer_pool::release_vec(scratch);
    Ok(())
}

/// Decodes the streams of one block, each of the same length.
fn decode_streams(
    mut encoded: &[u8],
    streams: usize,
    out: &mut [u8],
    decompress: Decompress,
) -> Result<(), CodecError> {
    let len = out.len() / streams;
    if len * streams != out.len() {
        return Err(damaged("a block is not made of whole elements"));
    }
    for out in out.chunks_exact_mut(len) {
        let (size, rest) =
            encoded.split_first_chunk().ok_or_else(|| damaged("a stream's length is truncated"))?;
        let (stream, rest) = rest
            .split_at_checked(u32::from_le_bytes(*size) as usize)
            .ok_or_else(|| damaged("a stream leaves the buffer"))?;
        // A stream that did not become shorter is stored as it is.
        if stream.len() == len {
            out.copy_from_slice(stream);
        } else if !decompress(stream, out) {
            return Err(damaged("a stream is damaged"));
        }
        encoded = rest;
    }
    Ok(())
}

/// Puts the bits of elements back together. Blosc gathers those of a multiple of eight elements only,
/// or of none.
fn unshuffle_bits(type_size: usize, from: &[u8], to: &mut [u8]) {
    let count = from.len() / type_size;
    if !count.is_multiple_of(8) {
        return to.copy_from_slice(from);
    }
    // Row `8 * byte + bit` holds that bit of every element, eight elements in a byte.
    let row = count / 8;
    let whole = count * type_size;
    to[whole..].copy_from_slice(&from[whole..]);
    for byte in 0..type_size {
        for group in 0..row {
            let mut square = 0u64;
            for bit in 0..8 {
                square |= u64::from(from[(byte * 8 + bit) * row + group]) << (8 * bit);
            }
            for (element, value) in transposed(square).to_le_bytes().into_iter().enumerate() {
                to[(group * 8 + element) * type_size + byte] = value;
            }
        }
    }
}

/// The transpose of eight rows of eight bits, each row a byte.
fn transposed(mut square: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)]
    {
        let swap = (square ^ (square >> shift)) & mask;
        square ^= swap ^ (swap << shift);
    }
    square
}

/// C-Blosc is the oracle: what it makes with LZ4 and Zstandard is taken apart here with the same libraries.
#[cfg(all(test, feature = "lz4"))]
mod tests {
    use zarr_core::codec::DecodedSize;

    use super::*;
    use crate::blosc::ffi;
    use crate::testing::{noise, ramp};

    fn lz4(stream: &[u8], out: &mut [u8]) -> bool {
        lz4::block::decompress_to_buffer(stream, Some(out.len() as i32), out)
            .is_ok_and(|n| n == out.len())
    }

    fn zstd(stream: &[u8], out: &mut [u8]) -> bool {
        crate::zstd_decoder::decompress(stream, out) == Ok(out.len())
    }

    const DECODERS: &[(&std::ffi::CStr, Decompress)] = &[
        (c"lz4", lz4),
        (c"zstd", zstd),
        #[cfg(feature = "libdeflate")]
        (c"zlib", crate::util::libdeflate::zlib),
    ];

    #[test]
    fn blocks_come_apart_as_c_blosc_joined_them() {
        for ((compressor, decompress), shuffle) in
            DECODERS.iter().flat_map(|decoder| [0, 1, 2].map(|shuffle| (*decoder, shuffle)))
        {
            for type_size in [1, 2, 3, 4, 8, 16, 17, 32] {
                for block_size in [0, 128, 1000, 4096] {
                    for decoded in [ramp(9999), ramp(10_000), noise(3000), ramp(130)] {
                        let mut encoded = Vec::with_capacity(decoded.len() + ffi::OVERHEAD);
                        let recipe =
                            ffi::Recipe { level: 5, shuffle, type_size, block_size, compressor };
                        assert!(ffi::compress(&recipe, &decoded, &mut encoded));
                        let header = Header::read(&encoded).unwrap();
                        if header.is(super::super::STORED) {
                            continue;
                        }
                        let mut out = vec![0; decoded.len()];
                        decode(&header, &encoded, &mut out, decompress).unwrap();
                        assert!(out == decoded, "{shuffle} {type_size} {block_size}");
                    }
                }
            }
        }
    }

    /// Both decoders refuse the same damage, or make the same of it.
    #[test]
    fn damage_is_met_alike() {
        DECODERS.iter().copied().for_each(damage);
    }

    fn damage((compressor, decompress): (&std::ffi::CStr, Decompress)) {
        let decoded = ramp(2000);
        let mut encoded = Vec::with_capacity(decoded.len() + ffi::OVERHEAD);
        let recipe =
            ffi::Recipe { level: 5, shuffle: 1, type_size: 4, block_size: 1024, compressor };
        assert!(ffi::compress(&recipe, &decoded, &mut encoded));
        for at in 16..encoded.len() {
            for flip in [1, 0x10, 0x80] {
                let mut damaged = encoded.clone();
                damaged[at] ^= flip;
                let header = Header::read(&damaged).unwrap();
                let (mut ours, mut theirs) = (vec![0; 2000], vec![0; 2000]);
                let here = decode(&header, &damaged, &mut ours, decompress);
                let there = ffi::decompress(&damaged, &mut theirs);
                let there =
                    there.filter(|&n| DecodedSize::Exactly(2000).check(CODEC, n as u64).is_ok());
                assert_eq!(here.is_ok(), there.is_some(), "{at} {flip}: {here:?}");
                assert!(here.is_err() || ours == theirs);
            }
        }
    }
}

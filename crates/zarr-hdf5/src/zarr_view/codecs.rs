//! HDF5's filters as codecs, and chunks for which a filter was skipped.

use super::json;
use crate::Filter;

/// The registered numbers of the filters that have codecs.
const DEFLATE: u16 = 1;
const SHUFFLE: u16 = 2;
const FLETCHER32: u16 = 3;
const BZIP2: u16 = 307;
const LZF: u16 = 32000;
const BLOSC: u16 = 32001;
const LZ4: u16 = 32004;
const BITSHUFFLE: u16 = 32008;
const ZSTD: u16 = 32015;
/// They lose digits before others compress, so that there is nothing to undo.
const BIT_GROOM: u16 = 32022;
const GRANULAR_BIT_ROUND: u16 = 32023;

/// A codec of final v3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codec {
    /// Its name.
    pub name: String,
    /// Its configuration as JSON text.
    pub configuration: String,
}

impl Codec {
    pub(super) fn new(name: &str, configuration: &[(&str, String)]) -> Codec {
        let members = configuration.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Codec { name: name.to_owned(), configuration: json::object(members) }
    }
}

/// The codec of a filter, `None` if there is nothing to undo. A filter that no codec undoes becomes one that no reader knows, so
/// that its array opens, and its elements are refused by that name.
pub fn codec_of(filter: &Filter) -> Option<Codec> {
    Some(match filter.id {
        DEFLATE => Codec::new("numcodecs.zlib", &[("level", parameter_or(filter, 0, 6))]),
        SHUFFLE => Codec::new("numcodecs.shuffle", &[("elementsize", parameter_or(filter, 0, 0))]),
        FLETCHER32 => Codec::new("numcodecs.fletcher32", &[]),
        BZIP2 => Codec::new("numcodecs.bz2", &[("level", parameter_or(filter, 0, 9))]),
        ZSTD => Codec::new(
            "zstd",
            &[("level", parameter_or(filter, 0, 3)), ("checksum", "false".to_owned())],
        ),
        BLOSC => blosc(filter)?,
        LZF => Codec::new("imagecodecs_lzf", &[]),
        LZ4 => Codec::new("hdf5.lz4", &[]),
        BITSHUFFLE => bitshuffle(filter),
        BIT_GROOM | GRANULAR_BIT_ROUND => return None,
        _ => unsupported(filter),
    })
}

/// A parameter of a filter as text, or the default.
fn parameter_or(filter: &Filter, number: usize, default: u32) -> String {
    filter.parameters.get(number).copied().unwrap_or(default).to_string()
}

fn unsupported(filter: &Filter) -> Codec {
    let known = match filter.id {
        4 => "szip",
        5 => "nbit",
        6 => "scaleoffset",
        BITSHUFFLE => "bitshuffle",
        32013 => "zfp",
        32017 => "sz",
        32019 => "jpeg",
        32026 => "blosc2",
        _ => filter.name.as_deref().unwrap_or("unknown"),
    };
    let name: String = known
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' })
        .take(40)
        .collect();
    Codec::new(&format!("hdf5.filter_{}_{name}", filter.id), &[])
}

fn bitshuffle(filter: &Filter) -> Codec {
    let parameter = |number: usize| filter.parameters.get(number).copied().unwrap_or(0);
    // The version of the library, two numbers, comes before.
    let has_lz4 = match parameter(4) {
        0 => false,
        2 => true,
        // Zstandard.
        _ => return unsupported(filter),
    };
    Codec::new(
        "hdf5.bitshuffle",
        &[
            ("elementsize", parameter(2).to_string()),
            ("blocksize", parameter(3).to_string()),
            ("lz4", has_lz4.to_string()),
        ],
    )
}

fn blosc(filter: &Filter) -> Option<Codec> {
    let parameter =
        |number: usize, default| filter.parameters.get(number).copied().unwrap_or(default);
    let compressors = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];
    let Some(compressor) = compressors.get(parameter(6, 0) as usize) else {
        return Some(unsupported(filter));
    };
    let shuffle = ["noshuffle", "shuffle", "bitshuffle"];
    let Some(shuffle) = shuffle.get(parameter(5, 1) as usize) else {
        return Some(unsupported(filter));
    };
    let type_size = parameter(2, 1).clamp(1, 255);
    Some(Codec::new(
        "blosc",
        &[
            ("typesize", type_size.to_string()),
            ("cname", json::text(compressor)),
            ("clevel", parameter(4, 5).min(9).to_string()),
            ("shuffle", json::text(shuffle)),
            ("blocksize", "0".to_owned()),
        ],
    ))
}

/// The bytes of a chunk as they would be if no filter had been skipped, so that all chunks of an array have the same codecs.
///
/// What was skipped is applied in the form that costs least: stored blocks in place of compressed ones. The bit i of `mask` says
/// that the filter i was skipped; bits beyond the filters have no meaning.
///
/// # Errors
/// A filter that was skipped has no such form, or one that was applied after it cannot be undone here.
///
/// ```
/// use zarr_hdf5::{Filter, zarr_view::apply_skipped};
///
/// let shuffle = Filter { id: 2, name: None, is_optional: true, parameters: vec![2] };
/// assert_eq!(apply_skipped(&[shuffle], 1, vec![1, 2, 3, 4])?, [1, 3, 2, 4]);
/// # Ok::<(), String>(())
/// ```
pub fn apply_skipped(
    filters: &[Filter],
    mask: u32,
    stored: Vec<u8>,
) -> std::result::Result<Vec<u8>, String> {
    let is_skipped = |number: usize| number < 32 && mask & (1 << number) != 0;
    let Some(first) = (0..filters.len()).find(|number| is_skipped(*number)) else {
        return Ok(stored);
    };
    let mut bytes = stored;
    for number in (first..filters.len()).rev() {
        if !is_skipped(number) {
            bytes = undo(&filters[number], bytes)?;
        }
    }
    for filter in &filters[first..] {
        bytes = apply(filter, bytes)?;
    }
    Ok(bytes)
}

fn undo(filter: &Filter, mut bytes: Vec<u8>) -> std::result::Result<Vec<u8>, String> {
    match filter.id {
        BIT_GROOM | GRANULAR_BIT_ROUND => Ok(bytes),
        FLETCHER32 => {
            let Some(length) = bytes.len().checked_sub(4) else {
                return Err(format!("expected a checksum of 4 bytes, found {}", bytes.len()));
            };
            bytes.truncate(length);
            Ok(bytes)
        }
        SHUFFLE => Ok(shuffle(&bytes, element_size(filter), false)),
        id => Err(format!("filter {id} was applied after one that was skipped")),
    }
}

fn apply(filter: &Filter, bytes: Vec<u8>) -> std::result::Result<Vec<u8>, String> {
    match filter.id {
        BIT_GROOM | GRANULAR_BIT_ROUND => Ok(bytes),
        SHUFFLE => Ok(shuffle(&bytes, element_size(filter), true)),
        FLETCHER32 => {
            let sum = fletcher32(&bytes);
            let mut bytes = bytes;
            bytes.extend_from_slice(&sum.to_le_bytes());
            Ok(bytes)
        }
        DEFLATE => Ok(stored_zlib(&bytes)),
        LZ4 => Ok(stored_lz4(&bytes)),
        ZSTD => Ok(raw_zstd(&bytes)),
        LZF => Ok(literal_lzf(&bytes)),
        BLOSC => copied_blosc(&bytes, filter),
        id => Err(format!(
            "filter {id} was skipped when the chunk was written, and cannot be applied here"
        )),
    }
}

fn element_size(filter: &Filter) -> usize {
    filter.parameters.first().map_or(1, |size| (*size).max(1) as usize)
}

/// Gathers first bytes, second bytes and so on, or scatters them. Bytes after the last whole element stay where they are.
fn shuffle(bytes: &[u8], element: usize, gather: bool) -> Vec<u8> {
    let count = bytes.len() / element;
    let mut out = bytes.to_vec();
    for position in 0..element {
        for number in 0..count {
            let (apart, together) = (number * element + position, position * count + number);
            if gather {
                out[together] = bytes[apart];
            } else {
                out[apart] = bytes[together];
            }
        }
    }
    out
}

/// HDF5's checksum of pairs of bytes, the first the more significant.
fn fletcher32(bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (0_u64, 0_u64);
    for pair in bytes.chunks(2) {
        let value = u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
        low = fold(low + value);
        high = fold(high + low);
    }
    (fold(high) << 16 | fold(low)) as u32
}

/// Adds what is beyond 16 bits.
fn fold(sum: u64) -> u64 {
    (sum & 0xffff) + (sum >> 16)
}

/// A zlib stream of stored blocks.
fn stored_zlib(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(0xffff).peekable();
    if blocks.peek().is_none() {
        out.extend_from_slice(&[1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        out.push(u8::from(blocks.peek().is_none()));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    let (mut a, mut b) = (1_u32, 0_u32);
    // The sums stay below 2^32 for 5,552 bytes.
    for run in bytes.chunks(5552) {
        for byte in run {
            a += u32::from(*byte);
            b += a;
        }
        a %= 65521;
        b %= 65521;
    }
    out.extend_from_slice(&(b << 16 | a).to_be_bytes());
    out
}

/// A zstd frame of raw blocks.
fn raw_zstd(bytes: &[u8]) -> Vec<u8> {
    /// The longest block of the format.
    const BLOCK: usize = 128 << 10;
    // The magic number; a frame of one segment whose length has eight bytes.
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    let mut blocks = bytes.chunks(BLOCK).peekable();
    if blocks.peek().is_none() {
        out.extend_from_slice(&[1, 0, 0]);
    }
    while let Some(block) = blocks.next() {
        let header = (block.len() as u32) << 3 | u32::from(blocks.peek().is_none());
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.extend_from_slice(block);
    }
    out
}

/// LZF of literals alone.
fn literal_lzf(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len().div_ceil(32));
    for run in bytes.chunks(32) {
        out.push(run.len() as u8 - 1);
        out.extend_from_slice(run);
    }
    out
}

/// The filter LZ4's frame of one stored block after the other.
fn stored_lz4(bytes: &[u8]) -> Vec<u8> {
    /// Any length is allowed.
    const BLOCK: usize = 1 << 30;
    let block = bytes.len().clamp(1, BLOCK);
    let mut out = (bytes.len() as u64).to_be_bytes().to_vec();
    out.extend_from_slice(&(block as u32).to_be_bytes());
    for part in bytes.chunks(block) {
        out.extend_from_slice(&(part.len() as u32).to_be_bytes());
        out.extend_from_slice(part);
    }
    out
}

/// A Blosc frame that is a copy.
fn copied_blosc(bytes: &[u8], filter: &Filter) -> std::result::Result<Vec<u8>, String> {
    let header = 16_u32;
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length < u32::MAX - header);
    let Some(length) = length else {
        return Err(format!("a chunk of {} bytes does not fit a Blosc frame", bytes.len()));
    };
    let type_size = filter.parameters.get(2).copied().unwrap_or(1).clamp(1, 255) as u8;
    // Version 2 of the format, version 1 of the compressor, a copy.
    let mut out = vec![2, 1, 0x02, type_size];
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&length.max(1).to_le_bytes());
    out.extend_from_slice(&(length + header).to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(out)
}

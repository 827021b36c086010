//! Tests that parts of a chunk are decoded block by block, or as far as needed.

use proptest::prelude::*;
use zarr_core::codec::{ChunkContext, CodecChain};
use zarr_core::data_type::CoreType;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Region, Registry};

use crate::testing::{noise, ramp, spec};

fn chain(shape: &[u64], codec: &str, configuration: &str, transposed: bool) -> CodecChain {
    let order: Vec<usize> = (0..shape.len()).rev().collect();
    let turn = spec(Dialect::V3, "transpose", &format!("{{\"order\":{order:?}}}"));
    let specs = [
        turn,
        spec(Dialect::V3, "bytes", r#"{"endian":"little"}"#),
        spec(Dialect::V3, codec, configuration),
    ];
    let context = ChunkContext::new(CoreType::Uint16, shape.to_vec());
    let registry = Registry::new().with(crate::register);
    CodecChain::build(&specs[usize::from(!transposed)..], &context, &registry).unwrap()
}

/// Reads the region of such a chunk; whether it is what slicing the whole gives.
fn read(
    chain: &CodecChain,
    encoded: &[u8],
    (elements, shape): (&[u8], &[u64]),
    region: &Region,
) -> Result<bool, CodecError> {
    let due = View::new(elements, shape, 2).part(region).to_bytes().into_owned();
    let mut found = vec![0xa5; due.len()];
    let out = ViewMut::new(&mut found, &region.shape(), 2);
    chain.decode_into(encoded.into(), shape, &region.into(), out)?;
    Ok(found == due)
}

proptest! {
    /// A part is what slicing the whole gives, whatever its place in the blocks is.
    #[test]
    fn parts_of_blocks_are_slices(
        shape in prop::collection::vec(1u64..40, 1..4),
        ends in prop::collection::vec((0u64..40, 0u64..40), 3),
        name in prop::sample::select(vec!["lz4", "zstd", "zlib", "blosclz"]),
        shuffle in prop::sample::select(vec!["noshuffle", "shuffle", "bitshuffle"]),
        block in prop::sample::select(vec![0usize, 128, 300, 1000, 4096]),
        transposed: bool,
        random: bool,
    ) {
        let configuration = format!(
            r#"{{"cname":"{name}","clevel":5,"shuffle":"{shuffle}","typesize":2,"blocksize":{block}}}"#
        );
        let chain = chain(&shape, "blosc", &configuration, transposed);
        let count = shape.iter().product::<u64>() as usize;
        let elements = if random { noise(2 * count) } else { ramp(2 * count) };
        let encoded = chain.encode(View::new(&elements, &shape, 2)).unwrap();
        let within = shape.iter().zip(&ends).map(|(&len, &(a, b))| {
            let (a, b) = (a % len, b % len);
            a.min(b)..a.max(b) + 1
        });
        let region = Region::new(within);
        let equal = read(&chain, &encoded, (&elements, &shape), &region).unwrap();
        prop_assert!(equal, "{region:?} of {shape:?}, {configuration}");
        // All of it, into rows with elements of others between them.
        let mut wide: Vec<u64> = shape.clone();
        *wide.last_mut().unwrap() += 3;
        let mut memory = vec![0xa5; wide.iter().product::<u64>() as usize * 2];
        let all = Region::all(&shape);
        let out = ViewMut::new(&mut memory, &wide, 2).part(&all);
        chain.decode_into(encoded, &shape, &(&all).into(), out).unwrap();
        let there = View::new(&memory, &wide, 2).part(&all).to_bytes().into_owned();
        prop_assert!(there == elements);
    }

}

/// Shapes of chunks of 360 KiB: three blocks.
const SHAPES: [&[u64]; 4] = [&[1, 90, 1, 2048], &[90, 2048], &[184_320], &[5, 3, 12_288]];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The same of Zstandard, which decodes from the beginning to the last element of the part.
    #[test]
    fn parts_of_frames_are_slices(
        shape in prop::sample::select(SHAPES.map(Vec::from).to_vec()),
        ends in prop::collection::vec((0.0..1.0, 0.0..1.0), 4),
        level in -5..4,
        checksum: bool,
        transposed: bool,
        random: bool,
    ) {
        let configuration = format!(r#"{{"level":{level},"checksum":{checksum}}}"#);
        let chain = chain(&shape, "zstd", &configuration, transposed);
        let count = shape.iter().product::<u64>() as usize;
        let elements = if random { noise(2 * count) } else { ramp(2 * count) };
        let encoded = chain.encode(View::new(&elements, &shape, 2)).unwrap();
        let within = shape.iter().zip(&ends).map(|(&len, &(a, b))| {
            let (a, b): (f64, f64) = (a * len as f64, b * len as f64);
            a.min(b) as u64..a.max(b) as u64 + 1
        });
        let region = Region::new(within);
        let equal = read(&chain, &encoded, (&elements, &shape), &region).unwrap();
        prop_assert!(equal, "{region:?} of {shape:?}, {configuration}");
    }
}

/// Only blocks that a part touches are decoded; a damaged one is an error where it is touched.
#[test]
fn other_blocks_are_not_decoded() {
    let shape = [64u64; 3];
    let configuration =
        r#"{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":2,"blocksize":65536}"#;
    let chain = chain(&shape, "blosc", configuration, false);
    let elements = ramp(2 * 64 * 64 * 64);
    let mut encoded = chain.encode(View::new(&elements, &shape, 2)).unwrap().into_owned();
    let word = |at: usize| u32::from_le_bytes(encoded[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((word(4), word(8)), (1 << 19, 1 << 17), "four blocks of sixteen planes");
    let third = word(16 + 4 * 2);
    encoded[third..third + 4].fill(0xff);
    let read = |region: Region| read(&chain, &encoded, (&elements, &shape), &region);
    assert!(read(Region::new([0..32, 3..9, 0..64])).is_ok_and(|equal| equal));
    assert!(read(Region::new([48..64, 3..9, 1..2])).is_ok_and(|equal| equal));
    assert!(read(Region::new([31..33, 0..1, 0..1])).is_err());
    assert!(read(Region::all(&shape)).is_err());
}

/// A frame is decoded to the end of the block that has the last element of the part; damage behind it is an error where that is
/// read, and everywhere if the frame is cut off or has a checksum.
#[test]
fn the_end_of_a_frame_is_not_decoded() {
    let shape = [64u64; 3];
    let elements = noise(2 * 64 * 64 * 64);
    let parts = [
        Region::new([0..32, 3..9, 0..64]),
        Region::new([31..33, 0..1, 0..1]),
        Region::new([48..64, 3..9, 1..2]),
        Region::all(&shape),
    ];
    let results = |checksum: bool, damage: fn(&mut Vec<u8>)| {
        let configuration = format!(r#"{{"level":3,"checksum":{checksum}}}"#);
        let chain = chain(&shape, "zstd", &configuration, false);
        let mut encoded = chain.encode(View::new(&elements, &shape, 2)).unwrap().into_owned();
        damage(&mut encoded);
        parts.each_ref().map(|part| match read(&chain, &encoded, (&elements, &shape), part) {
            Ok(true) => "equal",
            Ok(false) => "wrong",
            Err(CodecError::Corrupt { .. }) => "corrupt",
            Err(_) => "another error",
        })
    };
    assert_eq!(results(false, |_| ()), ["equal"; 4]);
    assert_eq!(results(true, |_| ()), ["equal"; 4]);
    // Noise stays as it is: four blocks of 128 KiB, each with a header of three bytes. This one says now that it is compressed.
    let third = |encoded: &mut Vec<u8>| {
        let header = encoded.len() - 2 * ((1 << 17) + 3);
        encoded[header] ^= 4;
    };
    assert_eq!(results(false, third), ["equal", "corrupt", "corrupt", "corrupt"]);
    assert_eq!(results(true, third), ["corrupt"; 4]);
    assert_eq!(results(true, |encoded| *encoded.last_mut().unwrap() ^= 1), ["corrupt"; 4]);
    assert_eq!(results(false, |encoded| encoded.truncate(encoded.len() - 1)), ["corrupt"; 4]);
    assert_eq!(results(false, |encoded| encoded.push(0)), ["corrupt"; 4]);
}

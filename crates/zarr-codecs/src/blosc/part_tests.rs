//! Tests that parts of a chunk are decoded block by block.

use proptest::prelude::*;
use zarr_core::codec::{ChunkContext, CodecChain};
use zarr_core::data_type::CoreType;
use zarr_core::view::{View, ViewMut};
use zarr_core::{Dialect, Region, Registry};

use crate::testing::{noise, ramp, spec};

fn chain(shape: &[u64], configuration: &str, transposed: bool) -> CodecChain {
    let order: Vec<usize> = (0..shape.len()).rev().collect();
    let turn = spec(Dialect::V3, "transpose", &format!("{{\"order\":{order:?}}}"));
    let specs = [
        turn,
        spec(Dialect::V3, "bytes", r#"{"endian":"little"}"#),
        spec(Dialect::V3, "blosc", configuration),
    ];
    let context = ChunkContext::new(CoreType::Uint16, shape.to_vec());
    let registry = Registry::new().with(crate::register);
    CodecChain::build(&specs[usize::from(!transposed)..], &context, &registry).unwrap()
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
        let chain = chain(&shape, &configuration, transposed);
        let count = shape.iter().product::<u64>() as usize;
        let elements = if random { noise(2 * count) } else { ramp(2 * count) };
        let encoded = chain.encode(View::new(&elements, &shape, 2)).unwrap();
        let within = shape.iter().zip(&ends).map(|(&len, &(a, b))| {
            let (a, b) = (a % len, b % len);
            a.min(b)..a.max(b) + 1
        });
        let region = Region::new(within);
        let due = View::new(&elements, &shape, 2).part(&region).to_bytes().into_owned();
        let mut found = vec![0xa5; due.len()];
        let out = ViewMut::new(&mut found, &region.shape(), 2);
        chain.decode_into(encoded.clone(), &shape, &(&region).into(), out).unwrap();
        prop_assert!(found == due, "{region:?} of {shape:?}, {configuration}");
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

/// Only blocks that a part touches are decoded; a damaged one is an error where it is touched.
#[test]
fn other_blocks_are_not_decoded() {
    let shape = [64u64; 3];
    let configuration =
        r#"{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":2,"blocksize":65536}"#;
    let chain = chain(&shape, configuration, false);
    let elements = ramp(2 * 64 * 64 * 64);
    let mut encoded = chain.encode(View::new(&elements, &shape, 2)).unwrap().into_owned();
    let word = |at: usize| u32::from_le_bytes(encoded[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((word(4), word(8)), (1 << 19, 1 << 17), "four blocks of sixteen planes");
    let third = word(16 + 4 * 2);
    encoded[third..third + 4].fill(0xff);
    let read = |region: Region| {
        let mut found = vec![0; region.element_count().unwrap() as usize * 2];
        let out = ViewMut::new(&mut found, &region.shape(), 2);
        let due = View::new(&elements, &shape, 2).part(&region).to_bytes().into_owned();
        let encoded = (&encoded[..]).into();
        chain.decode_into(encoded, &shape, &(&region).into(), out).map(|()| found == due)
    };
    assert!(read(Region::new([0..32, 3..9, 0..64])).is_ok_and(|equal| equal));
    assert!(read(Region::new([48..64, 3..9, 1..2])).is_ok_and(|equal| equal));
    assert!(read(Region::new([31..33, 0..1, 0..1])).is_err());
    assert!(read(Region::all(&shape)).is_err());
}

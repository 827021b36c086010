//! Properties of chains of codecs on a chunk.
#![cfg(all(feature = "bytes", feature = "transpose"))]

use proptest::prelude::*;
use zarr_core::codec::{ChunkContext, CodecChain};
use zarr_core::data_type::CoreType;
use zarr_core::selection::ResolvedSelection;
use zarr_core::view::{View, ViewMut};
use zarr_core::{Dialect, Region};

use crate::common::{WORDS, registry, spec};

/// Chains for 16-bit integers of rank 3, as final v3 says them.
fn chains() -> Vec<CodecChain> {
    let array = |name: &str, configuration: &str| spec(Dialect::V3, name, configuration);
    let bytes = |endian: &str| array("bytes", &format!("{{\"endian\":\"{endian}\"}}"));
    let turn = |order: &str| array("transpose", &format!("{{\"order\":{order}}}"));
    let mut lists = vec![
        vec![bytes("little")],
        vec![bytes("big")],
        vec![turn("[2,0,1]"), bytes("big")],
        vec![turn("[1,2,0]"), turn("[0,2,1]"), bytes("little")],
    ];
    let registry = registry();
    let known = registry.codec_names(Dialect::V3);
    if known.contains(&"delta") {
        let delta = array("numcodecs.delta", r#"{"dtype":"<i2","astype":"<i4"}"#);
        lists.push(vec![turn("[2,0,1]"), delta.clone(), bytes("big")]);
        lists.push(vec![delta, turn("[1,2,0]"), bytes("little")]);
    }
    let plain = lists.clone();
    for (name, configuration) in WORDS {
        if known.contains(&name) && !["delta", "blosc", "crc32c"].contains(&name) {
            for list in &plain {
                let mut list = list.clone();
                let written = format!("numcodecs.{name}");
                list.push(spec(Dialect::V3, &written, configuration));
                lists.push(list);
            }
        }
    }
    let context = ChunkContext::new(CoreType::Int16, vec![3, 4, 5]);
    let built = lists.iter().map(|list| CodecChain::build(list, &context, &registry).unwrap());
    built.collect()
}

proptest! {
    /// T-67: decoding a part of a chunk, perhaps an empty one, is decoding the chunk and taking the part.
    #[test]
    fn a_part_is_a_part_of_the_whole(
        elements in prop::collection::vec(any::<i16>(), 60),
        starts in (0u64..3, 0u64..4, 0u64..5),
        lens in (0u64..4, 0u64..5, 0u64..6),
    ) {
        let shape = [3, 4, 5];
        let memory: Vec<u8> = elements.iter().flat_map(|v| v.to_ne_bytes()).collect();
        let part = Region::new([
            starts.0..(starts.0 + lens.0).min(3),
            starts.1..(starts.1 + lens.1).min(4),
            starts.2..(starts.2 + lens.2).min(5),
        ]);
        let want = View::new(&memory, &shape, 2).part(&part).to_bytes().into_owned();
        for chain in chains() {
            let encoded = chain.encode(View::new(&memory, &shape, 2)).unwrap();
            let mut whole = vec![0; memory.len()];
            let out = ViewMut::new(&mut whole, &shape, 2);
            let all = ResolvedSelection::all(&shape);
            chain.decode_into(encoded.clone(), &shape, &all, out).unwrap();
            prop_assert_eq!(&whole, &memory);
            let mut out = vec![0; want.len()];
            let view = ViewMut::new(&mut out, &part.shape(), 2);
            chain.decode_into(encoded, &shape, &(&part).into(), view).unwrap();
            prop_assert_eq!(&out, &want);
        }
    }
}

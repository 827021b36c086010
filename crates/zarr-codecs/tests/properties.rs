//! What holds for every codec of this build, alone and in chains?

use std::borrow::Cow;
use std::sync::Arc;

use proptest::prelude::*;
use zarr_core::codec::{BytesToBytes, Chain, ChunkContext, Codec, CodecSpec, DecodedSize};
use zarr_core::data_type::CoreType;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Json, Region, Registry};

/// Codecs on bytes that take any bytes, with some of their configurations.
const WORDS: [(&str, &str); 17] = [
    ("gzip", r#"{"level":1}"#),
    ("gzip", r#"{"level":9}"#),
    ("zlib", r#"{"level":5}"#),
    ("zstd", r#"{"level":1,"checksum":true}"#),
    ("zstd", r#"{"level":0,"checksum":false}"#),
    ("lz4", r#"{"acceleration":1}"#),
    ("bz2", r#"{"level":1}"#),
    ("lzma", r#"{"preset":1}"#),
    ("lzma", r#"{"format":2,"preset":0}"#),
    ("crc32c", "{}"),
    ("shuffle", r#"{"elementsize":4}"#),
    ("shuffle", r#"{"elementsize":3}"#),
    ("delta", r#"{"dtype":"|u1"}"#),
    ("blosc", r#"{"cname":"lz4","shuffle":1}"#),
    ("blosc", r#"{"cname":"blosclz","shuffle":2}"#),
    ("blosc", r#"{"cname":"zstd","shuffle":0}"#),
    ("blosc", r#"{"cname":"zlib","shuffle":-1}"#),
];

fn spec(dialect: Dialect, name: &str, configuration: &str) -> CodecSpec {
    match Json::parse(configuration.as_bytes()) {
        Ok(Json::Object(object)) => CodecSpec::new(dialect, name, object),
        other => panic!("{configuration}: {other:?}"),
    }
}

fn registry() -> Registry {
    Registry::new().with(zarr_codecs::register)
}

fn context() -> ChunkContext {
    ChunkContext {
        data_type: CoreType::Int32.into(),
        shape: vec![4],
    }
}

/// Those of this build.
fn codecs() -> Vec<Arc<dyn BytesToBytes>> {
    let registry = registry();
    let known = registry.codec_names(Dialect::V2);
    let words = WORDS.iter().filter(|(name, _)| known.contains(name));
    let built = words.map(|(name, words)| {
        let spec = spec(Dialect::V2, name, words);
        match registry.build_codec(&spec, &context()) {
            Ok(Codec::BytesToBytes(codec)) => codec,
            other => panic!("{other:?}"),
        }
    });
    built.collect()
}

/// Bytes with and without repetitions.
fn some_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..600),
        prop::collection::vec(0u8..3, 0..3000),
        (any::<u8>(), 0usize..5000).prop_map(|(byte, len)| vec![byte; len]),
    ]
}

fn sizes() -> impl Strategy<Value = DecodedSize> {
    let size = prop_oneof![0u64..5000, Just(1 << 42), Just(u64::MAX)];
    prop_oneof![
        size.prop_map(DecodedSize::Exactly),
        (0u64..100_000).prop_map(DecodedSize::AtMost),
    ]
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(bytes in some_bytes()) {
        for codec in codecs() {
            let encoded = codec.encode(Cow::Borrowed(&bytes)).unwrap();
            let size = DecodedSize::Exactly(bytes.len() as u64);
            let decoded = codec.decode(encoded.clone(), size).unwrap();
            prop_assert_eq!(&decoded[..], &bytes[..]);
            let mut out = vec![0; bytes.len()];
            codec.decode_into(encoded.clone(), &mut out).unwrap();
            prop_assert_eq!(&out, &bytes);
            if let Some(size) = codec.encoded_size(bytes.len() as u64).unwrap() {
                prop_assert_eq!(size, encoded.len() as u64);
            }
        }
    }

    /// No bytes make a decoder panic, run on, or give more than was asked for.
    #[test]
    fn any_bytes_decode_or_are_refused(bytes in some_bytes(), size in sizes()) {
        for codec in codecs() {
            match (codec.decode(Cow::Borrowed(&bytes), size), size) {
                (Ok(out), DecodedSize::Exactly(due)) => prop_assert_eq!(out.len() as u64, due),
                (Ok(out), DecodedSize::AtMost(limit)) => prop_assert!(out.len() as u64 <= limit),
                (Err(_), _) => {}
            }
        }
    }

    /// Damage to a stream is an error, or gives other bytes of the right length.
    #[test]
    fn damage_is_met(
        bytes in some_bytes(),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        size in sizes(),
    ) {
        for codec in codecs() {
            let mut encoded = codec.encode(Cow::Borrowed(&bytes)).unwrap().into_owned();
            if encoded.is_empty() {
                continue;
            }
            for (place, byte) in &places {
                let at = place.index(encoded.len());
                encoded[at] = *byte;
            }
            if let Some(cut) = cut {
                encoded.truncate(cut.index(encoded.len()));
            }
            let due = DecodedSize::Exactly(bytes.len() as u64);
            if let Ok(out) = codec.decode(Cow::Borrowed(&encoded), due) {
                prop_assert_eq!(out.len(), bytes.len());
            }
            let mut out = vec![0; bytes.len()];
            let _ = codec.decode_into(Cow::Borrowed(&encoded), &mut out);
            if let Ok(out) = codec.decode(Cow::Borrowed(&encoded), size) {
                prop_assert!(out.len() as u64 <= size.limit());
            }
        }
    }

    /// A size that is not the right one is told as such.
    #[test]
    fn other_sizes_are_refused(bytes in some_bytes(), other in 0u64..6000) {
        for codec in codecs() {
            let encoded = codec.encode(Cow::Borrowed(&bytes)).unwrap();
            if other == bytes.len() as u64 {
                continue;
            }
            let result = codec.decode(encoded, DecodedSize::Exactly(other));
            prop_assert!(matches!(result, Err(CodecError::Length { .. })), "{:?}", result);
        }
    }
}

/// Chains for 16-bit integers of rank 3, as final v3 says them.
#[cfg(all(feature = "bytes", feature = "transpose"))]
fn chains() -> Vec<Chain> {
    let array = |name: &str, words: &str| spec(Dialect::V3, name, words);
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
    for (name, words) in WORDS {
        if known.contains(&name) && !["delta", "blosc", "crc32c"].contains(&name) {
            for list in &plain {
                let mut list = list.clone();
                let written = format!("numcodecs.{name}");
                list.push(spec(Dialect::V3, &written, words));
                lists.push(list);
            }
        }
    }
    let context = ChunkContext {
        data_type: CoreType::Int16.into(),
        shape: vec![3, 4, 5],
    };
    let built = lists
        .iter()
        .map(|list| Chain::build(list, &context, &registry).unwrap());
    built.collect()
}

#[cfg(all(feature = "bytes", feature = "transpose"))]
proptest! {
    /// Decoding a part of a chunk is decoding the chunk and taking the part.
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
            let all = Region::all(&shape);
            chain.decode_into(encoded.clone(), &shape, &all, out).unwrap();
            prop_assert_eq!(&whole, &memory);
            let mut out = vec![0; want.len()];
            let view = ViewMut::new(&mut out, &part.shape(), 2);
            chain.decode_into(encoded, &shape, &part, view).unwrap();
            prop_assert_eq!(&out, &want);
        }
    }
}

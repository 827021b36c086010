//! Properties of every codec of this build.

use std::borrow::Cow;
use std::sync::Arc;

use proptest::prelude::*;
use zarr_core::codec::{BytesToBytes, ChunkContext, Codec, DecodedSize};
use zarr_core::data_type::CoreType;
use zarr_core::{CodecError, Dialect};

use crate::common::{WORDS, registry, spec};
use zarr_testkit::sample;

fn context() -> ChunkContext {
    ChunkContext::new(CoreType::Int32, vec![4])
}

/// Those of this build.
fn codecs() -> Vec<Arc<dyn BytesToBytes>> {
    let registry = registry();
    let known = registry.codec_names(Dialect::V2);
    let configuration = WORDS.iter().filter(|(name, _)| known.contains(name));
    let built = configuration.map(|(name, configuration)| {
        let spec = spec(Dialect::V2, name, configuration);
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
    prop_oneof![size.prop_map(DecodedSize::Exactly), (0u64..100_000).prop_map(DecodedSize::AtMost),]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sample(64, 256)))]

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

    /// Z2-064: no bytes make a decoder panic, run on, or give more than was asked for.
    #[test]
    fn any_bytes_decode_or_are_refused(bytes in some_bytes(), size in sizes()) {
        for codec in codecs() {
            match (codec.decode(Cow::Borrowed(&bytes), size), size) {
                (Ok(out), DecodedSize::Exactly(expected)) => prop_assert_eq!(out.len() as u64, expected),
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
            let expected = DecodedSize::Exactly(bytes.len() as u64);
            if let Ok(out) = codec.decode(Cow::Borrowed(&encoded), expected) {
                prop_assert_eq!(out.len(), bytes.len());
            }
            let mut out = vec![0; bytes.len()];
            let _ = codec.decode_into(Cow::Borrowed(&encoded), &mut out);
            if let Ok(out) = codec.decode(Cow::Borrowed(&encoded), size) {
                prop_assert!(out.len() as u64 <= size.limit());
            }
        }
    }

    /// Z2-022, Z2-064, F-072: a size that is not the right one is told as such.
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

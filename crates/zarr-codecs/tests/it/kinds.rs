//! The name of a codec decides what kind of codec it is.
#![cfg(all(feature = "bytes", feature = "gzip", feature = "transpose"))]

use std::collections::{BTreeMap, BTreeSet};

use zarr_core::codec::{ChunkContext, Codec, CodecChain, CodecSpec};
use zarr_core::data_type::{CoreType, DataType};
use zarr_core::{Dialect, MetadataError};

use crate::common::{WORDS, registry, spec};

/// Parameters for those that have no defaults.
const MORE: [(&str, &str); 15] = [
    ("bytes", r#"{"endian":"little"}"#),
    ("transpose", r#"{"order":[1,0]}"#),
    ("gzip", r#"{"level":1}"#),
    ("zstd", r#"{"level":1}"#),
    ("blosc", r#"{"cname":"lz4","clevel":1,"shuffle":"shuffle","typesize":1,"blocksize":0}"#),
    ("reshape", r#"{"shape":[-1]}"#),
    ("bitround", r#"{"keepbits":3}"#),
    ("quantize", r#"{"digits":1}"#),
    ("astype", r#"{"encode_dtype":"<i8","decode_dtype":"<i4"}"#),
    ("delta", r#"{"dtype":"<i4"}"#),
    ("fixedscaleoffset", r#"{"dtype":"<f8","offset":1,"scale":1}"#),
    ("categorize", r#"{"labels":["a"]}"#),
    ("conditional", r#"{"codecs":[]}"#),
    (
        "n5_default",
        r#"{"codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}}]}"#,
    ),
    (
        "sharding_indexed",
        r#"{"chunk_shape":[1,1],"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#,
    ),
];

fn contexts() -> Vec<ChunkContext> {
    let core = [CoreType::Bool, CoreType::Uint8, CoreType::Int32, CoreType::Float64];
    let mut types: Vec<DataType> = core.into_iter().map(DataType::from).collect();
    types.push(DataType::FixedUtf32 { len: 2 });
    types.push(DataType::String);
    types.push(DataType::Bytes);
    types.into_iter().map(|data_type| ChunkContext::new(data_type, vec![2, 2])).collect()
}

/// Every way in which a test of this crate says a codec.
fn ways(dialect: Dialect, name: &str) -> Vec<CodecSpec> {
    let bare = name.rsplit('/').find(|part| part.parse::<f32>().is_err()).unwrap_or(name);
    let bare = bare.strip_prefix("numcodecs.").unwrap_or(bare);
    let said = WORDS.iter().chain(&MORE).filter(|(other, _)| *other == bare);
    let said = said.map(|(_, configuration)| spec(dialect, name, configuration));
    said.chain([spec(dialect, name, "{}")]).collect()
}

fn kind(codec: &Codec) -> &'static str {
    match codec {
        Codec::ArrayToArray(_) => "array to array",
        Codec::ArrayToBytes(_) => "array to bytes",
        Codec::BytesToBytes(_) => "bytes to bytes",
    }
}

/// T-53, F-070: neither parameters nor the type of the elements change the kind.
#[test]
fn a_name_has_one_kind() {
    let registry = registry();
    for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
        let mut kinds: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for name in registry.codec_names(dialect) {
            for spec in ways(dialect, name) {
                for context in contexts() {
                    let built = registry.build_codec(&spec, &context);
                    kinds.entry(name).or_default().extend(built.as_ref().ok().map(kind));
                }
            }
        }
        for (name, kinds) in &kinds {
            assert!(kinds.len() <= 1, "{dialect}: {name} is {kinds:?}");
        }
        let known = kinds.values().filter(|kinds| kinds.len() == 1).count();
        assert!(2 * known >= kinds.len(), "{dialect}: {kinds:?}");
    }
}

/// T-53, F-070: a codec in the place of another kind is refused by its name; one that nobody knows, like the
/// `numcodecs.pcodec` that was once registered as another kind than it is, is unsupported wherever it stands.
#[test]
fn a_codec_in_anothers_place_is_refused() {
    let registry = registry();
    let context = ChunkContext::new(CoreType::Int32, vec![2, 2]);
    let said = |name: &str| ways(Dialect::V3, name).swap_remove(0);
    let build = |names: [&str; 3]| CodecChain::build(&names.map(said), &context, &registry);
    assert!(build(["transpose", "bytes", "gzip"]).is_ok());
    for names in [
        ["gzip", "bytes", "transpose"],
        ["bytes", "transpose", "gzip"],
        ["bytes", "gzip", "transpose"],
        ["transpose", "gzip", "bytes"],
        ["gzip", "transpose", "bytes"],
        ["bytes", "bytes", "gzip"],
    ] {
        let refused = build(names);
        assert!(matches!(refused, Err(MetadataError::Invalid { .. })), "{names:?}: {refused:?}");
    }
    for names in [
        ["numcodecs.zork", "bytes", "gzip"],
        ["transpose", "numcodecs.zork", "gzip"],
        ["transpose", "bytes", "numcodecs.zork"],
    ] {
        let refused = build(names);
        assert!(matches!(refused, Err(MetadataError::Unsupported(_))), "{names:?}: {refused:?}");
    }
}

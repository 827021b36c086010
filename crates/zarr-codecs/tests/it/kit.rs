//! Every codec of this build passes the kit that third parties use.

use zarr_core::codec::ChunkContext;
use zarr_core::data_type::{CoreType, DataType, Optional};
use zarr_core::{Dialect, Json};
use zarr_testkit::{
    check_codec, check_codec_on, check_data_type, check_data_types_differ, check_lossy_codec,
    check_lossy_codec_on, sample,
};

use crate::common::{WORDS, registry, spec};

/// Codecs on arrays, in final v3's words.
const ARRAYS: [(&str, &str); 23] = [
    ("bytes", r#"{"endian":"little"}"#),
    ("bytes", r#"{"endian":"big"}"#),
    ("bytes", "{}"),
    ("transpose", r#"{"order":[]}"#),
    ("transpose", r#"{"order":[0]}"#),
    ("transpose", r#"{"order":[1,0]}"#),
    ("transpose", r#"{"order":[2,0,1]}"#),
    ("transpose", r#"{"order":[3,1,0,2]}"#),
    ("numcodecs.delta", r#"{"dtype":"<i4"}"#),
    ("numcodecs.delta", r#"{"dtype":"<u2","astype":"<i8"}"#),
    ("numcodecs.astype", r#"{"encode_dtype":"<i8","decode_dtype":"<i4"}"#),
    ("numcodecs.packbits", "{}"),
    ("packbits", "{}"),
    ("reshape", r#"{"shape":[-1]}"#),
    ("zarrs.squeeze", "{}"),
    ("reshape", r#"{"shape":[[0],1,-1]}"#),
    ("packbits", r#"{"padding_encoding":"first_byte"}"#),
    ("packbits", r#"{"padding_encoding":"last_byte","first_bit":null}"#),
    ("scale_offset", "{}"),
    ("numcodecs.pcodec", "{}"),
    ("pcodec", r#"{"level":1,"delta_encoding_order":1}"#),
    ("bitround", r#"{"keepbits":64}"#),
    ("numcodecs.bitround", r#"{"keepbits":52}"#),
];

/// Codecs that round.
const LOSSY: [(Dialect, &str, &str); 18] = [
    (Dialect::V3, "numcodecs.delta", r#"{"dtype":"<f4"}"#),
    (Dialect::V2, "delta", r#"{"dtype":">f8","astype":">f4"}"#),
    (
        Dialect::V3,
        "numcodecs.fixedscaleoffset",
        r#"{"dtype":"<f8","astype":"<i2","offset":1000,"scale":10}"#,
    ),
    (
        Dialect::V2,
        "fixedscaleoffset",
        r#"{"dtype":"<f4","astype":"|u1","offset":-2.5,"scale":0.1}"#,
    ),
    (Dialect::V2, "fixedscaleoffset", r#"{"dtype":">u2","astype":">u2","offset":3,"scale":1}"#),
    (Dialect::V3, "numcodecs.quantize", r#"{"digits":2}"#),
    (Dialect::V3, "numcodecs.quantize", r#"{"digits":2,"dtype":"<f8","astype":"<f4"}"#),
    (Dialect::V2, "quantize", r#"{"digits":-1,"dtype":">f4"}"#),
    (Dialect::V3, "bitround", r#"{"keepbits":3}"#),
    (Dialect::V3, "numcodecs.bitround", r#"{"keepbits":0}"#),
    (Dialect::V2, "bitround", r#"{"keepbits":5}"#),
    (Dialect::V3, "numcodecs.astype", r#"{"encode_dtype":"<i2","decode_dtype":"<f8"}"#),
    (Dialect::V2, "astype", r#"{"encode_dtype":">f2","decode_dtype":">i4"}"#),
    (Dialect::V3, "cast_value", r#"{"data_type":"float32","out_of_range":"clamp"}"#),
    (Dialect::V3, "cast_value", r#"{"data_type":"bfloat16","out_of_range":"clamp"}"#),
    (Dialect::V2, "packbits", "{}"),
    (Dialect::V3, "packbits", r#"{"first_bit":2,"last_bit":5}"#),
    (Dialect::V3, "packbits", r#"{"first_bit":3,"last_bit":6,"padding_encoding":"last_byte"}"#),
];

fn is_here(dialect: Dialect, name: &str) -> bool {
    registry().codec_names(dialect).contains(&name)
}

/// Checks a codec on bytes: on elements of every size, or by default on those of one size, another one for each `n`.
fn check_on_bytes(n: usize, dialect: Dialect, name: &str, configuration: &str) {
    const TYPES: [CoreType; 4] =
        [CoreType::Float32, CoreType::Uint8, CoreType::Complex128, CoreType::Int16];
    const SHAPES: [&[u64]; 3] = [&[4, 3], &[7], &[3, 2, 4]];
    let spec = spec(dialect, name, configuration);
    // `delta` takes elements of its own size alone.
    if name == "delta" || sample(false, true) {
        check_codec(&registry(), &spec);
    } else {
        let shape = SHAPES[n % SHAPES.len()];
        let context = ChunkContext::new(TYPES[n % TYPES.len()], shape.to_vec());
        check_codec_on(&registry(), &spec, &context);
    }
}

/// Of v2, unless a test says otherwise; those that have several words take them one after the other.
fn check_flat(names: &[&str]) {
    let words = WORDS.iter().enumerate().filter(|(_, (name, _))| names.contains(name));
    for (n, (name, configuration)) in words {
        if is_here(Dialect::V2, name) {
            check_on_bytes(n, Dialect::V2, name, configuration);
        }
    }
}

#[test]
fn codecs_on_arrays_keep_their_promises() {
    for (name, configuration) in ARRAYS.into_iter().filter(|(name, _)| is_here(Dialect::V3, name)) {
        check_codec(&registry(), &spec(Dialect::V3, name, configuration));
    }
}

/// Shards of 24 inner chunks, of 6 that are compressed, and of 2 shards of 3 each, their axes turned.
#[test]
fn shards_keep_their_promises() {
    const BYTES: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    let shards = |shape: &str, codecs: &str, index: &str, location: &str| {
        format!(
            r#"{{"chunk_shape":{shape},"codecs":[{codecs}],"index_codecs":[{index}],"index_location":"{location}"}}"#
        )
    };
    let sum = format!(r#"{BYTES},{{"name":"crc32c"}}"#);
    let packed = format!(r#"{BYTES},{{"name":"gzip","configuration":{{"level":1}}}}"#);
    let inner = shards("[2,1]", BYTES, BYTES, "start");
    let nested = format!(
        r#"{{"name":"transpose","configuration":{{"order":[1,0]}}}},{{"name":"sharding_indexed","configuration":{inner}}}"#
    );
    let context = ChunkContext::new(CoreType::Int32, [4, 6]);
    for configuration in [
        shards("[1,1]", BYTES, BYTES, "end"),
        shards("[2,2]", &packed, &sum, "start"),
        shards("[2,2]", &packed, &sum, "end"),
        shards("[2,6]", &nested, &sum, "end"),
    ] {
        if ["sharding_indexed", "gzip", "crc32c", "transpose"]
            .iter()
            .all(|name| is_here(Dialect::V3, name))
        {
            check_codec_on(
                &registry(),
                &spec(Dialect::V3, "sharding_indexed", &configuration),
                &context,
            );
        }
    }
}

/// Final v3's codecs that others are part of, besides shards.
#[test]
fn codecs_with_codecs_inside_keep_their_promises() {
    const GZIP: &str = r#"{"name":"gzip","configuration":{"level":1}}"#;
    let shuffle = r#"{"name":"shuffle","configuration":{"elementsize":4}}"#;
    let registry = registry();
    if ["conditional", "gzip", "shuffle", "crc32c"].iter().all(|name| is_here(Dialect::V3, name)) {
        for codecs in ["", GZIP, r#""crc32c""#, &format!(r#"{shuffle},{GZIP},"crc32c""#)] {
            let configuration = format!(r#"{{"codecs":[{codecs}],"header_bits":16}}"#);
            check_codec(&registry, &spec(Dialect::V3, "conditional", &configuration));
        }
    }
    if ["n5_default", "gzip"].iter().all(|name| is_here(Dialect::V3, name)) {
        for (order, last) in [("[]", ""), ("[0]", GZIP), ("[1,0]", ""), ("[2,1,0]", GZIP)] {
            let comma = if last.is_empty() { "" } else { "," };
            let configuration = format!(
                r#"{{"codecs":[{{"name":"transpose","configuration":{{"order":{order}}}}},{{"name":"bytes","configuration":{{"endian":"big"}}}}{comma}{last}]}}"#
            );
            check_codec(&registry, &spec(Dialect::V3, "n5_default", &configuration));
        }
    }
}

/// Elements that may be missing, once and twice over, the parts in codecs of their own.
#[test]
fn chunks_with_gaps_keep_their_promises() {
    const BYTES: &str = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
    const GZIP: &str = r#"{"name":"gzip","configuration":{"level":1}}"#;
    let chains =
        |mask: &str, data: &str| format!(r#"{{"mask_codecs":[{mask}],"data_codecs":[{data}]}}"#);
    let packed = || chains("\"packbits\"", BYTES);
    let optional = |inner: DataType| DataType::from(Optional::new(inner).expect("a fixed size"));
    let int = || optional(CoreType::Int16.into());
    let nested = format!(r#"{{"name":"optional","configuration":{}}}"#, packed());
    for (data_type, configuration) in [
        (int(), packed()),
        (int(), chains(BYTES, &format!("{BYTES},{GZIP}"))),
        (int(), chains(&format!("\"packbits\",{GZIP}"), BYTES)),
        (optional(CoreType::Bool.into()), chains("\"packbits\"", "\"packbits\"")),
        (optional(int()), chains("\"packbits\"", &nested)),
    ] {
        for shape in [&[4, 3][..], &[3, 2, 4], &[7], &[1], &[], &[0]] {
            let context = ChunkContext::new(data_type.clone(), shape.to_vec());
            if ["zarrs.optional", "gzip"].iter().all(|name| is_here(Dialect::V3, name)) {
                check_codec_on(
                    &registry(),
                    &spec(Dialect::V3, "zarrs.optional", &configuration),
                    &context,
                );
            }
        }
    }
}

#[test]
fn optional_types_keep_their_promises() {
    let json = |text: &str| Json::parse(text.as_bytes()).expect("JSON");
    let of = |inner: &str| format!(r#"{{"name":"zarrs.optional","configuration":{inner}}}"#);
    let int = r#"{"name":"int32","configuration":{}}"#;
    if is_here(Dialect::V3, "zarrs.optional") {
        let fills = ["null", "[-7]"].map(json);
        check_data_type(&registry(), Dialect::V3, &json(&of(int)), &fills);
        let fills = ["null", "[null]", "[[7]]"].map(json);
        check_data_type(&registry(), Dialect::V3, &json(&of(&of(int))), &fills);
    }
    let configuration =
        [int.to_owned(), of(int), of(&of(int))].map(|configuration| json(&configuration));
    check_data_types_differ(&registry(), Dialect::V3, &configuration);
}

#[test]
fn lossy_codecs_keep_their_promises() {
    // Every second, which are all codecs with some of their configurations, or all.
    let lossy = LOSSY.into_iter().step_by(sample(2, 1));
    for (dialect, name, configuration) in lossy.filter(|(d, name, _)| is_here(*d, name)) {
        check_lossy_codec(&registry(), &spec(dialect, name, configuration));
    }
}

#[test]
fn checksums_and_filters_keep_their_promises() {
    check_flat(&["crc32c", "shuffle", "delta"]);
}

#[test]
fn other_checksums_and_base64_keep_their_promises() {
    check_flat(&["crc32", "adler32", "fletcher32", "jenkins_lookup3", "base64"]);
}

#[test]
fn texts_keep_their_promises() {
    let unicode = DataType::FixedUtf32 { len: 2 };
    let bytes = DataType::FixedBytes { len: 2 };
    for (data_type, configuration) in [
        (&unicode, r#"{"labels":["a","bc"],"dtype":"<U2","astype":"<u2"}"#),
        (&unicode, r#"{"labels":[],"dtype":">U2"}"#),
        (&unicode, r#"{"labels":["a"]}"#),
        (&bytes, r#"{"labels":["","a"],"dtype":"|S2","astype":">i4"}"#),
    ] {
        let context = ChunkContext::new(data_type.clone(), vec![3, 4]);
        for (dialect, name) in [(Dialect::V2, "categorize"), (Dialect::V3, "numcodecs.categorize")]
        {
            if is_here(dialect, name) {
                check_lossy_codec_on(&registry(), &spec(dialect, name, configuration), &context);
            }
        }
    }
}

#[test]
fn deflate_keeps_its_promises() {
    check_flat(&["gzip", "zlib"]);
}

#[test]
fn zstd_and_lz4_keep_their_promises() {
    check_flat(&["zstd", "lz4"]);
}

#[test]
fn blosc_keeps_its_promises() {
    check_flat(&["blosc"]);
}

#[test]
fn bz2_and_lzma_keep_their_promises() {
    check_flat(&["bz2", "lzma"]);
}

/// Each name that v3 and the drafts have for a codec on bytes, with no parameters but the defaults.
#[test]
fn every_other_name_keeps_the_same_promises() {
    for dialect in [Dialect::V3, Dialect::Draft] {
        let others = ["crc32", "base64"];
        let names = ["gzip", "zlib", "zstd", "lz4", "bz2", "crc32c", "blosc"];
        for (n, name) in names.into_iter().chain(others).enumerate() {
            if !is_here(dialect, name) {
                continue;
            }
            let configuration = match name {
                "blosc" => r#"{"cname":"lz4","clevel":5,"shuffle":"shuffle","blocksize":0}"#,
                "zstd" => r#"{"level":3,"checksum":false}"#,
                "crc32c" | "crc32" | "adler32" | "fletcher32" | "jenkins_lookup3" | "base64" => {
                    "{}"
                }
                "lz4" => r#"{"acceleration":1}"#,
                _ => r#"{"level":3}"#,
            };
            check_on_bytes(n, dialect, name, configuration);
        }
    }
}

fn of_any_length(data_type: DataType, shape: &[u64]) -> ChunkContext {
    ChunkContext::new(data_type, shape.to_vec())
}

/// Elements of any length, and the codecs that make bytes of them.
#[test]
fn codecs_of_elements_of_any_length_keep_their_promises() {
    let items = || DataType::List(Box::new(CoreType::Int32.into()));
    for shape in [&[4, 3][..], &[3, 2, 4], &[7], &[1], &[], &[0]] {
        for (dialect, name, configuration, variable) in [
            (Dialect::V3, "vlen-utf8", "{}", DataType::String),
            (Dialect::V2, "vlen-utf8", "{}", DataType::String),
            (Dialect::V3, "vlen-bytes", "{}", DataType::Bytes),
            (Dialect::V2, "vlen-bytes", "{}", DataType::Bytes),
            (Dialect::V2, "vlen-array", r#"{"dtype":"<i4"}"#, items()),
        ] {
            if is_here(dialect, name) {
                let context = of_any_length(variable, shape);
                check_codec_on(&registry(), &spec(dialect, name, configuration), &context);
            }
        }
        // The empty value, which nobody wrote, becomes null.
        for name in ["json2", "json", "msgpack2", "msgpack"] {
            if is_here(Dialect::V2, name) {
                let context = of_any_length(DataType::Json, shape);
                check_lossy_codec_on(&registry(), &spec(Dialect::V2, name, "{}"), &context);
            }
        }
    }
}

#[test]
fn types_of_any_length_keep_their_promises() {
    let fills = |configuration: &[&str]| -> Vec<Json> {
        configuration.iter().map(|&word| word.into()).collect()
    };
    if is_here(Dialect::V3, "vlen-utf8") {
        let fills = fills(&["x", "füll 日本", "AQID"]);
        check_data_type(&registry(), Dialect::V3, &"string".into(), &fills);
    }
    if is_here(Dialect::V3, "vlen-bytes") {
        for name in ["variable_length_bytes", "bytes"] {
            check_data_type(&registry(), Dialect::V3, &name.into(), &fills(&["AQID", "/w=="]));
        }
    }
    let configuration: [Json; 3] = ["string", "variable_length_bytes", "r128"].map(Json::from);
    check_data_types_differ(&registry(), Dialect::V3, &configuration[..1]);
    check_data_types_differ(&registry(), Dialect::V3, &configuration[1..]);
}

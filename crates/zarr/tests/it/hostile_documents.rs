//! Whatever the documents of v2 and v3 say, opening, listing, reading and copying ends in an answer or in an
//! error, never in a panic.
#![cfg(all(feature = "memory", feature = "gzip", feature = "sharding"))]

use std::sync::Arc;

use proptest::prelude::*;
use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::{ErrorKind, Hierarchy, Node, NodePath, OpenOptions};

use crate::common::harm::{harm, harmed, read_all};

const V3_ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[3,4],"data_type":"int16","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,2]}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":7,"codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"sharding_indexed","configuration":{"chunk_shape":[1,2],"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"gzip","configuration":{"level":1}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"end"}}],"attributes":{"n":1.50},"dimension_names":["y",null],"storage_transformers":[],"x":{"must_understand":false}}"#;
const V3_TEXTS: &str = r#"{"zarr_format":3,"node_type":"array","shape":[5],"data_type":"string","chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[1,[2,2]]]}},"chunk_key_encoding":{"name":"v2"},"fill_value":"x","codecs":["vlen-utf8"]}"#;
const V3_RECORDS: &str = r#"{"zarr_format":3,"node_type":"array","shape":[],"data_type":{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"float32"},{"name":"t","data_type":{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}}]}},"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},"chunk_key_encoding":{"name":"default"},"fill_value":{"a":"0x7fc00001","t":"NaT"},"codecs":[{"name":"bytes","configuration":{"endian":"big"}}]}"#;
const V2_ARRAY: &str = r#"{"zarr_format":2,"shape":[3,4],"chunks":[2,2],"dtype":"<i2","compressor":{"id":"gzip","level":1},"fill_value":7,"order":"F","filters":[{"id":"delta","dtype":"<i2"}],"dimension_separator":"/"}"#;
const V2_RECORDS: &str = r#"{"zarr_format":2,"shape":[3],"chunks":[2],"dtype":[["a","<f4",[2]],["b",[["c","|S3"]]]],"compressor":null,"fill_value":"AAAAAAAAAAAAAAA=","order":"C","filters":null}"#;
const GROUP: &str = r#"{"zarr_format":3,"node_type":"group","attributes":{"k":1},"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"a":DOCUMENT}}}"#;
const COPIES: &str = r#"{"zarr_consolidated_format":1,"metadata":{".zgroup":{"zarr_format":2},".zattrs":{"k":1},"a/.zarray":DOCUMENT}}"#;

const VALUES: [&str; 45] = [
    "null",
    "true",
    "0",
    "1",
    "-1",
    "1.5",
    "1e400",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999",
    r#""""#,
    r#""x""#,
    r#""\u0000""#,
    r#""/""#,
    r#""../..""#,
    r#""r0""#,
    r#""r24""#,
    r#""r18446744073709551608""#,
    r#""|V99999999999""#,
    r#""<U4294967295""#,
    r#""<M8[18446744073709551615s]""#,
    r#""0x7fc00001""#,
    r#""complex128""#,
    "[]",
    "[0]",
    "[1,1]",
    "[0,0]",
    "[4294967296,4294967296]",
    "[18446744073709551615,18446744073709551615]",
    "[9223372036854775807,1]",
    "[[[[[]]]]]",
    "{}",
    "[\"bytes\"]",
    "[{\"name\":\"bytes\"},{\"name\":\"crc32c\"}]",
    r#"[{"name":"vlen-utf8"}]"#,
    r#"[{"name":"reshape","configuration":{"shape":[-1]}},"bytes"]"#,
    r#"["bytes",{"name":"conditional","configuration":{"codecs":["crc32c"],"header_bits":9223372036854775800}}]"#,
    r#"[{"name":"n5_default","configuration":{"codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}}]}}]"#,
    r#"{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[[1,18446744073709551615]],1]}}"#,
    r#"{"name":"regular","configuration":{"chunk_shape":[18446744073709551615,2]}}"#,
    r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":4294967292}}"#,
    r#"{"name":"struct","configuration":{"fields":[]}}"#,
    r#"{"id":"blosc","blocksize":18446744073709551615}"#,
    r#"{"id":"zlib","level":-9223372036854775808}"#,
];

fn chunk() -> impl Strategy<Value = Vec<u8>> {
    let numbers = prop::sample::select(vec![0u64, 2, 8, 31, 32, 5 << 32, u64::MAX, 1 << 63]);
    prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(any::<u8>(), 0..80),
        // What may pass for the index of a shard, or for texts.
        prop::collection::vec(numbers, 1..10)
            .prop_map(|numbers| numbers.iter().flat_map(|n| n.to_le_bytes()).collect()),
    ]
}

fn set(store: &Arc<dyn Store>, key: &str, value: &[u8]) {
    let key = StoreKey::new(key).expect("a good key");
    store.to_sync().set(&key, value.into()).expect("memory sets");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(768))]

    /// T-68, F-021: documents in their own place, and copies of them.
    #[test]
    fn no_document_is_hostile_enough(
        document in prop::sample::select(vec![V3_ARRAY, V3_TEXTS, V3_RECORDS, V2_ARRAY, V2_RECORDS]),
        consolidated in any::<bool>(),
        harms in prop::collection::vec(harm(&VALUES), 1..4),
        chunks in prop::collection::vec((prop::sample::select(vec!["c/0/0", "c/0", "0/0", "0", "c", "1"]), chunk()), 0..3),
        strict in prop::bool::weighted(0.2),
    ) {
        let is_v3 = document.contains("node_type");
        let (document, at) = match (consolidated, is_v3) {
            (false, true) => (document.to_owned(), "a/zarr.json"),
            (false, false) => (document.to_owned(), "a/.zarray"),
            (true, true) => (GROUP.replace("DOCUMENT", document), "zarr.json"),
            (true, false) => (COPIES.replace("DOCUMENT", document), ".zmetadata"),
        };
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        let group = if is_v3 { ("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#) } else { (".zgroup", r#"{"zarr_format":2}"#) };
        set(&store, group.0, group.1.as_bytes());
        let harmed = harms.iter().fold(document.into_bytes(), |bytes, harm| harmed(&bytes, harm));
        set(&store, at, &harmed);
        for (key, value) in chunks {
            set(&store, &format!("a/{key}"), &value);
        }
        let mut options = OpenOptions::new(zarr::standard()).threads(1);
        if strict {
            options = options.strict();
        }
        read_all(store, &options);
    }
}

/// T-26: numbers of any length are kept to the letter in attributes; where a number is due they are refused; what
/// is nested deeper than anybody needs is refused, too.
#[test]
fn huge_numbers_and_deep_nesting_do_no_harm() {
    let digits = "9".repeat(400);
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let group = |value: &str| {
        format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{{"n":{value}}}}}"#)
    };
    let array = |member: &str, value: &str| V3_TEXTS.replace(member, value);
    let open = |key: &str, document: &str| {
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        set(&store, ".zgroup", br#"{"zarr_format":2}"#);
        set(&store, key, document.as_bytes());
        let options = OpenOptions::new(zarr::standard());
        Hierarchy::open(store, &options)?.node(NodePath::root())
    };
    for number in [digits.as_str(), "1e400", "-0.0", "1.000000000000000000000000000000000001"] {
        for (key, document) in
            [("zarr.json", group(number)), (".zattrs", format!(r#"{{"n":{number}}}"#))]
        {
            let Ok(Node::Group(group)) = open(key, &document) else { panic!("{key}: {number}") };
            let kept = group.attributes().get("n").map(ToString::to_string);
            assert_eq!(kept.as_deref(), Some(number), "{key}");
        }
    }
    for (key, document) in [
        ("zarr.json", group(&deep)),
        (".zattrs", format!(r#"{{"n":{deep}}}"#)),
        ("zarr.json", array("[5]", &format!("[{digits}]"))),
        ("zarr.json", array("[5]", &deep)),
        ("zarr.json", array("\"string\"", &deep)),
        ("zarr.json", array("[1,[2,2]]", &format!("[1,[2,{digits}]]"))),
        ("zarr.json", array("\"string\"", "\"float64\"").replace("\"x\"", "1e400")),
    ] {
        let refused = open(key, &document).expect_err(key);
        assert_eq!(refused.kind(), ErrorKind::InvalidMetadata, "{refused:.200}");
    }
}

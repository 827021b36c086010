//! Whatever the documents of a draft say, and whatever lies around them, opening, listing, reading and copying
//! ends in an answer or in an error, never in a panic, and takes no more memory than stored bytes justify.
#![cfg(all(feature = "memory", feature = "gzip"))]

use std::sync::Arc;

use proptest::prelude::*;
use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Consolidated, Era, Json, OpenOptions};

use crate::common::harm::{harm, harmed, read_all, value};

const HTTP: &str = "http://purl.org/zarr/spec/protocol/core/3.0";
const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";
const SHARDS: &str = r#"[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"indexed","configuration":{"chunks_per_shard":[2,1]}}]"#;

/// An array's document with all that one may hold.
fn array(era: Era) -> String {
    let own = match era {
        Era::E0 | Era::E1 => format!(
            r#""zarr_format":"{HTTP}","chunk_codecs":[{{"codec":"http://purl.org/zarr/spec/codec/gzip","level":1}}]"#
        ),
        _ => format!(
            r#""compressor":{{"codec":"{HTTP}/../../codec/gzip/1.0","configuration":{{"level":1}}}},"storage_transformers":{SHARDS}"#
        )
        .replace("protocol/core/3.0/../../", ""),
    };
    format!(
        r#"{{"shape":[3,4],"data_type":"<i2","chunk_grid":{{"type":"regular","chunk_shape":[2,2],"separator":"/"}},"chunk_memory_layout":"F",{own},"fill_value":7,"extensions":[{{"extension":"http://e/x","must_understand":false,"configuration":{{"a":1}}}}],"attributes":{{"filters":[{{"id":"delta","dtype":"<i2","astype":"<i2"}}],"_ARRAY_DIMENSIONS":["y","x"],"n":1.50}}}}"#
    )
}

/// The keys and values of a hierarchy.
fn keys(era: Era) -> Vec<(String, Vec<u8>)> {
    let entry = match era {
        Era::E0 | Era::E1 => return vec![("a.json".into(), array(era).into())],
        Era::E2 => format!(
            r#"{{"zarr_format":"{HTTP}","metadata_encoding":"application/json","extensions":[]}}"#
        ),
        Era::E3 => {
            format!(r#"{{"zarr_format":"{CORE}","metadata_encoding":"{CORE}","extensions":[]}}"#)
        }
        _ => format!(
            r#"{{"zarr_format":"{CORE}","metadata_encoding":"{CORE}","metadata_key_suffix":".json","extensions":[{{"extension":"http://e/x","must_understand":false}}]}}"#
        ),
    };
    let suffix = if era == Era::E4 { ".json" } else { "" };
    let group = r#"{"attributes":{"k":"v"},"extensions":[]}"#;
    vec![
        ("zarr.json".into(), entry.into()),
        (format!("meta/root/g/a.array{suffix}"), array(era).into()),
        (format!("meta/root/g.group{suffix}"), group.into()),
    ]
}

const VALUES: [&str; 40] = [
    "null",
    "true",
    "0",
    "1",
    "-1",
    "2",
    "1.5",
    "1e2",
    "1e400",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999",
    r#""""#,
    r#""x""#,
    r#""\u0000""#,
    r#""é""#,
    r#""/""#,
    r#"".""#,
    r#"".array""#,
    r#""../..""#,
    r#""r24""#,
    r#""r18446744073709551608""#,
    r#""|V99999999999""#,
    r#""<U4294967295""#,
    r#""<M8[18446744073709551615s]""#,
    r#""0x00""#,
    "[]",
    "[0]",
    "[1,1]",
    "[0,0]",
    "[4294967296,4294967296]",
    "[18446744073709551615,18446744073709551615]",
    "[9223372036854775807,1]",
    "[[[[[]]]]]",
    "{}",
    r#"{"extension":"http://e/t","type":[1],"fallback":"<i4"}"#,
    r#"{"extension":"http://e/t","type":"regular","configuration":{"chunk_shape":[1,1]}}"#,
    r#"{"codec":"https://purl.org/zarr/spec/codec/blosc/1.0","configuration":{"cname":"lz4","clevel":5,"shuffle":1,"blocksize":18446744073709551615}}"#,
    r#"{"id":"delta"}"#,
];

/// A key that may lie around.
fn odd_key() -> impl Strategy<Value = String> {
    let segment = prop::sample::select(vec![
        "a",
        "g",
        "b",
        "root",
        "meta",
        "data",
        "c0",
        "0.0",
        "0",
        "c",
        ".array",
        ".group",
        ".array.json",
        ".json",
        "...",
        "a b",
        "é",
        "x.array.json",
        "x.array",
        "y.group.json",
        "y.group.array",
        "zarr.json",
        ".zmetadata",
        "consolidated",
        "-",
        "_",
        "~",
        "\\",
    ]);
    let begin = prop::sample::select(vec![
        "meta/root/",
        "meta/",
        "data/root/g/a/",
        "data/g/a/",
        "data/",
        "",
    ]);
    (begin, prop::collection::vec(segment, 1..4)).prop_map(|(b, s)| format!("{b}{}", s.join("/")))
}

fn odd_value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        Just(b"{}".to_vec()),
        Just(array(Era::E4).into_bytes()),
        prop::collection::vec(any::<u8>(), 0..80),
        // What may pass for a footer of shards.
        prop::collection::vec(
            prop::sample::select(vec![0u64, 2, 8, 31, 32, u64::MAX, 1 << 63]),
            2..8
        )
        .prop_map(|numbers| numbers.iter().flat_map(|n| n.to_le_bytes()).collect()),
    ]
}

/// Where chunks lie, or the objects that they share.
fn chunk_key() -> impl Strategy<Value = String> {
    let prefix = vec!["data/root/g/a/c", "data/g/a/", "data/", ""];
    let name = vec!["0/0", "0/1", "1/0", "1/1", "0.0", "0.1"];
    (prop::sample::select(prefix), prop::sample::select(name)).prop_map(|(p, n)| format!("{p}{n}"))
}

fn is_good(key: &str) -> Option<StoreKey> {
    StoreKey::new(key).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// V23, D-015.
    #[test]
    fn no_document_is_hostile_enough(
        era in prop::sample::select(vec![Era::E0, Era::E1, Era::E2, Era::E3, Era::E4]),
        which in any::<usize>(),
        harms in prop::collection::vec(harm(&VALUES), 1..4),
        around in prop::collection::vec((prop_oneof![odd_key(), chunk_key()], odd_value()), 0..6),
        told in prop::option::of(prop::sample::select(vec![Era::E0, Era::E2, Era::E3, Era::E4])),
        strict in prop::bool::weighted(0.2),
    ) {
        let mut keys = keys(era);
        let which = if which.is_multiple_of(2) { 1.min(keys.len() - 1) } else { which % keys.len() };
        for harm in &harms {
            keys[which].1 = harmed(&keys[which].1, harm);
        }
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        for (key, value) in around.into_iter().chain(keys) {
            if let Some(key) = is_good(&key) {
                store.to_sync().set(&key, value.into()).expect("set");
            }
        }
        let mut options = OpenOptions::new(zarr::standard()).threads(1);
        if strict {
            options = options.strict();
        }
        if let Some(era) = told {
            options = options.era(era);
        }
        read_all(store, &options);
    }
}

/// The copies of documents that a consolidated one may hold.
fn copies() -> impl Strategy<Value = Vec<u8>> {
    let key = prop_oneof![
        3 => prop::sample::select(vec!["zarr.json", "meta/root/g/a.array.json", "meta/root/g.group.json"])
            .prop_map(str::to_owned),
        1 => odd_key(),
        1 => prop::sample::select(vec!["", "/", "../x", "meta//x", "meta/root/x/", "data/root/g/a/c0/0"])
            .prop_map(str::to_owned),
    ];
    let document = prop_oneof![Just(array(Era::E4)), value(&VALUES)];
    let form = prop::sample::select(vec!["1", "2", "null", "\"1\""]);
    (prop::collection::vec((key, document), 0..5), form).prop_map(|(copies, form)| {
        let copies: Vec<String> = copies
            .iter()
            .map(|(key, document)| format!("{}:{document}", Json::from(&**key)))
            .collect();
        format!(r#"{{"metadata":{{{}}},"zarr_consolidated_format":{form}}}"#, copies.join(","))
            .into_bytes()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// draft-v3.md 3.4.
    #[test]
    fn no_copy_of_documents_is_hostile_enough(
        copies in copies(),
        harms in prop::collection::vec(harm(&VALUES), 0..2),
        at_own_key in any::<bool>(),
    ) {
        let own = "meta/root/own";
        let at = if at_own_key { own } else { "meta/root/consolidated/.zmetadata" };
        let copies = harms.iter().fold(copies, |bytes, harm| harmed(&bytes, harm));
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        for (key, value) in keys(Era::E4).into_iter().chain([(at.to_owned(), copies)]) {
            let key = is_good(&key).expect("a good key");
            store.to_sync().set(&key, value.into()).expect("set");
        }
        let consolidated = if at_own_key {
Consolidated::At(is_good(own).expect("a good key"))
} else {
Consolidated::Use
};
        read_all(store, &OpenOptions::new(zarr::standard()).threads(1).consolidated(consolidated));
    }
}

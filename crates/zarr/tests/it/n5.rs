//! Blocks of N5 are found where N5 stores them (F-102).
#![cfg(feature = "full")]

use std::sync::Arc;

use crate::common::{document, hierarchy, keys, path};
use zarr::store::{Store, StoreKey};
use zarr::tools::CopyOptions;
use zarr::{Dialect, ErrorKind, Node, Result};

const BLOCKS: &str = r#"{"name":"n5_default","configuration":{"codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}}]}}"#;

/// 3 x 5 numbers from 256 on in blocks of 2 x 3, which tensorstore 0.1.86 wrote by its driver `n5`.
const STORED: [(&str, &str); 4] = [
    ("a/0/0", "000000020000000200000003010001050101010601020107"),
    ("a/0/1", "000000020000000200000003010301080104010900000000"),
    ("a/1/0", "000000020000000200000003010a0000010b0000010c0000"),
    ("a/1/1", "000000020000000200000003010d0000010e000000000000"),
];

/// The same, but blocks end where the array does, as N5's own library has it.
const CUT: [(&str, &str); 4] = [
    STORED[0],
    ("a/0/1", "0000000200000002000000020103010801040109"),
    ("a/1/0", "000000020000000100000003010a010b010c"),
    ("a/1/1", "000000020000000100000002010d010e"),
];

fn hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("digits"))
        .collect()
}

fn numbers() -> Vec<i16> {
    (256..271).collect()
}

fn set(store: &Arc<dyn Store>, key: &str, value: Vec<u8>) {
    let key = StoreKey::new(key).expect("a good key");
    store.to_sync().set(&key, value.into()).expect("memory sets");
}

fn metadata(chunk_key_encoding: &str) -> Vec<u8> {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[3,5],"data_type":"int16","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2,3]}}}},"chunk_key_encoding":{chunk_key_encoding},"fill_value":0,"codecs":[{BLOCKS}]}}"#
    )
    .into_bytes()
}

const KEYS: &str = r#"{"name":"v2","configuration":{"separator":"/"}}"#;

/// F-102: whole blocks and cut ones, also in one array.
#[test]
fn blocks_of_others_are_read() -> Result<()> {
    for blocks in [STORED, CUT, [STORED[0], CUT[1], STORED[2], CUT[3]]] {
        let (store, hierarchy) = hierarchy(Dialect::V3);
        set(&store, "a/zarr.json", metadata(KEYS));
        for (key, block) in blocks {
            set(&store, key, hex(block));
        }
        let array = hierarchy.array(path("/a"))?;
        assert_eq!(array.read::<i16>(..)?, numbers());
        let part = zarr::Region::new([1..3, 2..5]);
        assert_eq!(array.read::<i16>(&part)?, [263, 264, 265, 268, 269, 270]);
        array.write(&part, &[-1i16; 6])?;
        let due = [256, 257, 258, 259, 260, 261, 262, -1, -1, -1, 266, 267, -1, -1, -1];
        assert_eq!(array.read::<i16>(..)?, due);
    }
    Ok(())
}

/// F-102: what is written are the bytes that tensorstore wrote, at the same keys, whatever separator was said.
#[test]
fn blocks_are_written_as_others_write_them() -> Result<()> {
    let (store, hierarchy) = hierarchy(Dialect::V3);
    let builder = hierarchy.create_array(path("/a")).shape(&[3, 5]).chunks(&[2, 3]);
    let builder =
        builder.data_type_named("int16").codec(zarr::tools::codec(BLOCKS)?).separator('.');
    builder.create()?.write(.., &numbers())?;
    let metadata = document(&store, "a/zarr.json");
    let found = metadata.as_object().and_then(|object| object.get("chunk_key_encoding"));
    assert_eq!(found.map(ToString::to_string).as_deref(), Some(KEYS));
    for (key, block) in STORED {
        let key = StoreKey::new(key)?;
        let stored = store.to_sync().value(&key)?;
        assert_eq!(stored.as_deref(), Some(&hex(block)[..]), "{key}");
    }
    Ok(())
}

/// F-102: an array whose keys are not N5's is refused.
#[test]
fn other_keys_are_refused() -> Result<()> {
    for encoding in [
        r#"{"name":"default","configuration":{"separator":"/"}}"#,
        r#"{"name":"v2","configuration":{"separator":"."}}"#,
        r#""v2""#,
    ] {
        let (store, hierarchy) = hierarchy(Dialect::V3);
        set(&store, "a/zarr.json", metadata(encoding));
        let refused = hierarchy.array(path("/a")).and_then(|array| array.read::<i16>(..));
        let refused = refused.expect_err(encoding);
        assert_eq!(refused.kind(), ErrorKind::InvalidMetadata, "{refused}");
        let why = "`chunk_key_encoding`: the codec `n5_default` needs `v2` with the separator `/`";
        assert!(refused.to_string().contains(why), "{refused}");
    }
    Ok(())
}

/// F-102: an array of v2 with the keys of its kind becomes one of blocks.
#[test]
fn a_copy_takes_the_keys_of_n5() -> Result<()> {
    let (_, from) = hierarchy(Dialect::V2);
    let builder = from.create_array(path("/a")).shape(&[3, 5]).chunks(&[2, 3]).separator('.');
    let array = builder.data_type_named("int16").create()?;
    array.write(.., &numbers())?;
    let (store, to) = hierarchy(Dialect::V3);
    let options = CopyOptions { codecs: Some(vec![BLOCKS.into()]), ..CopyOptions::default() };
    zarr::tools::copy(&Node::Array(array), &to, path("/a"), &options)?;
    assert_eq!(to.array(path("/a"))?.read::<i16>(..)?, numbers());
    assert!(STORED.iter().all(|(key, _)| keys(&store).iter().any(|found| found == key)));
    Ok(())
}

//! Nullable elements are read and written as zarrs reads and writes them.
#![cfg(feature = "full")]

use std::sync::Arc;

use zarr::data_type::{DataType, Optional};
use zarr::format::of_dialect;
use zarr::store::{StoreKey, SyncStore, from_sync, from_sync_arc};
use zarr::stores::MemoryStore;
use zarr::tools::CopyOptions;
use zarr::{
    Array, Dialect, Element, ErrorKind, Hierarchy, Json, Node, NodePath, OpenOptions, Result,
};

/// `array_optional.zarr` of zarrs' own tests, of 4 × 4 elements:
///
/// ```text
///  0  N  2  3
///  N  5  N  7
///  8  9  N  N
/// 12  N  N  N
/// ```
const PLAIN: [(&str, &str); 3] = [
    ("a/c/0/0", "01000000000000000200000000000000 09 0005"),
    ("a/c/0/1", "01000000000000000300000000000000 0b 020307"),
    ("a/c/1/0", "01000000000000000300000000000000 07 08090c"),
];

/// Its `array_optional_nested.zarr`; what nobody wrote is there, and missing inside (S):
///
/// ```text
///  N  S  2  3
///  N  5  N  7
///  S  S  N  N
///  S  S  N  N
/// ```
const NESTED: [(&str, &str); 3] = [
    ("a/c/0/0", "01000000000000001200000000000000 0a 01000000000000000100000000000000 02 05"),
    ("a/c/0/1", "01000000000000001400000000000000 0b 01000000000000000300000000000000 07 020307"),
    ("a/c/1/1", "01000000000000000000000000000000 00"),
];

const BYTES: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;

fn codec(data: &str) -> String {
    format!(
        r#"{{"name":"optional","configuration":{{"mask_codecs":[{{"name":"packbits"}}],"data_codecs":[{data}]}}}}"#
    )
}

fn document(inner: &str, fill: &str, codec: &str) -> String {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[4,4],"data_type":{{"name":"optional","configuration":{inner}}},
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2,2]}}}},
        "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},
        "fill_value":{fill},"codecs":[{codec}],"attributes":{{}},"dimension_names":["y","x"]}}"#
    )
}

const UINT8: &str = r#"{"name":"uint8","configuration":{}}"#;

fn plain() -> String {
    document(UINT8, "null", &codec(BYTES))
}

fn nested() -> String {
    let inner = format!(r#"{{"name":"optional","configuration":{UINT8}}}"#);
    document(&inner, "[null]", &codec(&codec(BYTES)))
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).expect("digits"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect()
}

fn path() -> NodePath {
    NodePath::new("/a").expect("a good path")
}

/// An array of this document and these chunks.
fn stored(document: &str, chunks: &[(&str, &str)]) -> (Arc<MemoryStore>, Result<Array>) {
    let store = Arc::new(MemoryStore::new());
    put(&store, "a/zarr.json", document.as_bytes());
    for (key, bytes) in chunks {
        put(&store, key, &hex(bytes));
    }
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy =
        Hierarchy::create(from_sync_arc(store.clone()), of_dialect(Dialect::V3), &options);
    (store, hierarchy.and_then(|hierarchy| hierarchy.array(path())))
}

fn put(store: &MemoryStore, key: &str, bytes: &[u8]) {
    let key = StoreKey::new(key).expect("a good key");
    store.set(&key, bytes.to_vec().into()).expect("written");
}

fn get(store: &MemoryStore, key: &str) -> Option<Vec<u8>> {
    let key = StoreKey::new(key).expect("a good key");
    store.value(&key).expect("readable").map(|bytes| bytes.to_vec())
}

const N: Option<u8> = None;
const fn some(n: u8) -> Option<u8> {
    Some(n)
}

#[rustfmt::skip]
const PLAIN_ELEMENTS: [Option<u8>; 16] = [
    some(0), N, some(2), some(3),
    N, some(5), N, some(7),
    some(8), some(9), N, N,
    some(12), N, N, N,
];

#[rustfmt::skip]
const NESTED_ELEMENTS: [Option<Option<u8>>; 16] = [
    None, Some(N), Some(some(2)), Some(some(3)),
    None, Some(some(5)), None, Some(some(7)),
    Some(N), Some(N), None, None,
    Some(N), Some(N), None, None,
];

/// Reads what zarrs wrote, in parts, too, and writes it again, as a whole and one by one: the same bytes.
fn agrees<T: Element + Copy + PartialEq + std::fmt::Debug>(
    document: &str,
    chunks: &[(&str, &str)],
    elements: &[T; 16],
) -> Result<()> {
    let (_, array) = stored(document, chunks);
    let array = array?;
    assert_eq!(array.read::<T>(..)?, elements);
    assert_eq!(array.read::<T>((1..3, 0..3))?, [&elements[4..7], &elements[8..11]].concat());
    assert_eq!(array.read::<T>((3, 2))?, [elements[14]]);
    let keys = ["a/c/0/0", "a/c/0/1", "a/c/1/0", "a/c/1/1"];
    for one_by_one in [false, true] {
        let (store, array) = stored(document, &[]);
        let array = array?;
        if one_by_one {
            for (at, element) in (0u64..).zip(elements) {
                array.write((at / 4, at % 4), &[*element])?;
            }
        } else {
            array.write(.., elements)?
        }
        for key in keys {
            let due = chunks.iter().find(|(name, _)| *name == key).map(|(_, bytes)| hex(bytes));
            assert_eq!(get(&store, key), due, "{key}");
        }
    }
    Ok(())
}

#[test]
fn what_zarrs_wrote_is_read_and_written_again() -> Result<()> {
    agrees(&plain(), &PLAIN, &PLAIN_ELEMENTS)?;
    agrees(&nested(), &NESTED, &NESTED_ELEMENTS)
}

/// Callers that wait see the same elements.
#[tokio::test]
async fn they_are_read_and_written_waiting() -> Result<()> {
    let (store, array) = stored(&plain(), &PLAIN);
    array?;
    let options = OpenOptions::new(zarr::standard()).read_write();
    let store = store;
    let array =
        zarr::aio::Hierarchy::open(from_sync_arc(store), &options).await?.array(&path()).await?;
    assert_eq!(array.read::<Option<u8>>(..).await?, PLAIN_ELEMENTS);
    array.write((.., 1..3), vec![N, some(1), some(2), N, N, some(3), some(4), N]).await?;
    let row = [some(0), N, some(1), some(3), N, some(2), N, some(7)];
    assert_eq!(array.read::<Option<u8>>((0..2, ..)).await?, row);
    Ok(())
}

/// Elements of another type, also of the type inside, are none of the array's.
#[test]
fn elements_are_options_of_the_type_inside() -> Result<()> {
    let array = stored(&plain(), &PLAIN).1?;
    assert_eq!(array.data_type().to_string(), "optional(uint8)");
    let kinds = [
        array.read::<u8>(..).expect_err("not optional").kind(),
        array.read::<Option<u16>>(..).expect_err("another type").kind(),
        array.read::<Option<Option<u8>>>(..).expect_err("nested").kind(),
        array.read::<[u8; 2]>(..).expect_err("bytes").kind(),
    ];
    assert_eq!(kinds, [ErrorKind::Argument; 4]);
    assert_eq!(array.read_bytes((0, 0..2))?, [1, 0, 0, 0]);
    array.write_bytes((0, 0..2), &[0, 77, 1, 4])?;
    assert_eq!(array.read::<Option<u8>>((0, ..))?, [N, some(4), some(2), some(3)]);
    assert_eq!(array.read_bytes((0, 0..2))?, [0, 0, 1, 4]);
    let refused = array.write_bytes((0, 0..2), &[2, 0, 1, 4]).expect_err("neither there nor not");
    assert_eq!(refused.kind(), ErrorKind::CorruptData);
    Ok(())
}

fn create(data_type: DataType, codecs: &[&str], shards: bool) -> Result<Array> {
    let hierarchy = zarr::create("memory://", Dialect::V3)?;
    let mut builder = hierarchy.create_array(path()).shape(&[5, 6]).chunks(&[2, 3]);
    if shards {
        builder = builder.shards(&[4, 6]);
    }
    for codec in codecs {
        builder = builder.codec(zarr::tools::codec(codec)?);
    }
    let array = builder.data_type(data_type).create()?;
    // What was created is what its document says.
    array.hierarchy().array(path())
}

fn optional(inner: DataType) -> DataType {
    Optional::new(inner).expect("it has a fixed size").into()
}

fn inner(name: &str) -> DataType {
    let json = match Json::parse(name.as_bytes()) {
        Ok(json @ Json::Object(_)) => json,
        _ => Json::from(name),
    };
    zarr::standard().parse_data_type(&json, Dialect::V3).expect("a type").data_type
}

/// Elements with every so many missing, of bytes that any type has elements of.
fn some_of(data_type: &DataType, seed: usize, out: &mut Vec<u8>) {
    let size = data_type.repr().expect("known").size();
    match data_type {
        DataType::Optional(optional) if seed.is_multiple_of(3) => {
            out.resize(out.len() + 1 + optional.inner().repr().expect("known").size(), 0);
        }
        DataType::Optional(optional) => {
            out.push(1);
            some_of(optional.inner(), seed / 2, out);
        }
        _ => {
            out.push((seed % 2) as u8);
            out.resize(out.len() + size - 1, 0);
        }
    }
}

#[test]
fn every_type_of_fixed_size_may_be_missing() -> Result<()> {
    let record = r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"},{"name":"b","data_type":"bool"}]}}"#;
    let time = r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}"#;
    let text = r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}"#;
    for name in [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "r24",
        "int2",
        "uint4",
        "bfloat16",
        "float8_e4m3",
        record,
        time,
        text,
    ] {
        for data_type in [optional(inner(name)), optional(optional(optional(inner(name))))] {
            for (codecs, shards) in [(&[][..], false), (&["gzip:1"], false), (&["crc32c"], true)] {
                let array = create(data_type.clone(), codecs, shards)?;
                assert_eq!(array.data_type(), data_type);
                let mut bytes = Vec::new();
                (0..30).for_each(|seed| some_of(&data_type, seed, &mut bytes));
                array.write_bytes(.., &bytes)?;
                assert_eq!(array.read_bytes(..)?, bytes, "{data_type}");
                let size = bytes.len() / 30;
                array.write_bytes((1..4, 2..4), &vec![0; 6 * size])?;
                for (row, at) in [(1, 8), (2, 14), (3, 20)] {
                    bytes[at * size..(at + 2) * size].fill(0);
                    let part = array.read_bytes((row, 1..5))?;
                    assert_eq!(part, bytes[(at - 1) * size..(at + 3) * size], "{data_type}");
                }
                let copy = zarr::create("memory://", Dialect::V3)?;
                let node = Node::Array(array.clone());
                zarr::tools::copy(&node, &copy, path(), &CopyOptions::default())?;
                assert_eq!(copy.array(path())?.read_bytes(..)?, bytes, "{data_type}");
            }
        }
    }
    Ok(())
}

/// The elements inside have a byte order of their own, and codecs.
#[test]
fn each_part_has_codecs_of_its_own() -> Result<()> {
    let big = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
    let gzip = r#"{"name":"gzip","configuration":{"level":1}}"#;
    let int16 = r#"{"name":"int16","configuration":{}}"#;
    let optional = codec(&format!("{big},{gzip}"))
        .replace("[{\"name\":\"packbits\"}]", &format!("[{BYTES},{gzip}]"));
    let turned = r#"{"name":"transpose","configuration":{"order":[1,0]}}"#;
    let chain = format!(
        r#"{turned},{optional},{{"name":"zstd","configuration":{{"level":1,"checksum":true}}}}"#
    );
    let array = stored(&document(int16, "[-1]", &chain), &[]).1?;
    let elements: Vec<Option<i16>> = (0..16).map(|n| (n % 3 > 0).then_some(n * 1000)).collect();
    assert_eq!(array.read::<Option<i16>>((0, 0))?, [Some(-1)]);
    array.write(.., &elements)?;
    assert_eq!(array.read::<Option<i16>>(..)?, elements);

    let (store, array) = stored(&document(int16, "null", &codec(big)), &[]);
    array?.write((0, 0), &[Some(0x0102i16)])?;
    let due = hex("01000000000000000200000000000000 01 0102");
    assert_eq!(get(&store, "a/c/0/0"), Some(due));
    Ok(())
}

#[test]
fn chunks_of_nothing_but_fill_are_not_stored() -> Result<()> {
    for (fill, elements) in [("null", [N; 4]), ("[7]", [some(7); 4])] {
        let (store, array) = stored(&document(UINT8, fill, &codec(BYTES)), &[]);
        let array = array?;
        assert_eq!(array.read::<Option<u8>>((0..2, 0..2))?, elements);
        array.write((0..2, 0..2), &[some(1); 4])?;
        array.write((0..2, 0..2), &elements)?;
        assert_eq!(get(&store, "a/c/0/0"), None);
    }
    Ok(())
}

/// Every damage is an error, none a panic.
#[test]
fn sizes_and_counts_that_are_wrong_are_told() {
    let read = |document: &str, chunk: &str| {
        let (_, array) = stored(document, &[("a/c/0/0", chunk)]);
        array.and_then(|array| array.read::<Option<u8>>(..)).map_err(|e| (e.kind(), e.to_string()))
    };
    let plain = plain();
    for chunk in [
        "",
        "0100000000000000",
        "01000000000000000200000000000000",
        // A part leaves the chunk; the sizes overflow; something follows.
        "01000000000000000300000000000000 09 0005",
        "ffffffffffffffff0200000000000000 09 0005",
        "ffffffffffffffffffffffffffffffff 09 0005",
        "01000000000000000200000000000000 09 000500",
        // A mask of too many bytes; fewer elements than it says, more, some where it says none.
        "02000000000000000200000000000000 0900 0005",
        "01000000000000000200000000000000 0b 0005",
        "01000000000000000200000000000000 01 0005",
        "01000000000000000200000000000000 00 0005",
        "00000000000000000200000000000000 0005",
    ] {
        let (kind, why) = read(&plain, chunk).expect_err(chunk);
        assert_eq!(kind, ErrorKind::CorruptData, "{chunk}: {why}");
    }
    // A mask whose bytes are no bools.
    let bytes = plain.replace(r#"{"name":"packbits"}"#, BYTES);
    let good = "04000000000000000200000000000000 01000100 0005";
    assert_eq!(read(&bytes, good).expect("good")[..2], [some(0), N]);
    let (kind, why) = read(&bytes, &good.replace("01000100", "01000200")).expect_err("no bool");
    assert!(kind == ErrorKind::CorruptData && why.contains("a bool is stored as 2"), "{why}");
}

/// Large chunks of which little is stored take no memory.
#[test]
fn no_memory_is_taken_for_what_is_not_stored() {
    let large =
        plain().replace("[4,4]", "[2147483648,2147483648]").replace("[2,2]", "[2147483648,65536]");
    let (_, array) = stored(&large, &[("a/c/0/0", "01000000000000000200000000000000 09 0005")]);
    let refused = array.and_then(|array| array.read::<Option<u8>>((0, 0))).expect_err("too short");
    assert_eq!(refused.kind(), ErrorKind::CorruptData, "{refused}");
}

/// The array opens and shows its metadata; reading says why there is no more.
#[test]
fn what_is_inside_has_a_fixed_size() -> Result<()> {
    let text = document(
        r#"{"name":"string","configuration":{}}"#,
        "null",
        &codec(r#"{"name":"vlen-utf8"}"#),
    );
    let array = stored(&text, &[]).1?;
    assert_eq!(array.shape(), [4, 4]);
    let refused = array.read::<Option<String>>(..).expect_err("not read here");
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(refused.to_string().contains("a fixed size"), "{refused}");
    for (document, why) in [
        (
            plain().replace(
                "\"name\":\"optional\",\"configuration\":{\"mask",
                "\"name\":\"zarrs.optional\",\"configuration\":{\"maske",
            ),
            "mask_codecs",
        ),
        (document(UINT8, "7", &codec(BYTES)), "expected null, or a list of one value"),
        (document(UINT8, "null", BYTES), "needs `zarrs.optional`"),
        (
            plain()
                .replace(
                    r#"{"name":"optional","configuration":{"name":"uint8","configuration":{}}}"#,
                    "\"uint8\"",
                )
                .replace("null", "0"),
            "is to be optional",
        ),
    ] {
        let refused = stored(&document, &[]).1.expect_err(why).to_string();
        assert!(refused.contains(why), "{refused}");
    }
    Ok(())
}

#[test]
fn final_v3_alone_has_words_for_it() -> Result<()> {
    let array = stored(&plain(), &PLAIN).1?;
    for (dialect, format) in [(Dialect::V2, "v2"), (Dialect::Draft, "draft-2020")] {
        for codecs in [None, Some(vec!["gzip".to_owned()])] {
            let target = zarr::create("memory://", dialect)?;
            let options = CopyOptions { codecs, ..CopyOptions::default() };
            let node = Node::Array(array.clone());
            let refused =
                zarr::tools::copy(&node, &target, path(), &options).expect_err("no words");
            assert_eq!(refused.kind(), ErrorKind::Unsupported);
            let due = format!("{format} cannot represent the nullable type `optional(uint8)`");
            assert!(refused.to_string().contains(&due), "{refused}");
        }
        let hierarchy = zarr::create("memory://", dialect)?;
        let builder = hierarchy.create_array(path()).shape(&[2]);
        assert!(builder.data_type_named("optional(uint8)").create().is_err());
    }
    Ok(())
}

/// What is created is said in zarrs' words.
#[test]
fn a_new_array_is_said_as_zarrs_says_it() -> Result<()> {
    let store = from_sync(MemoryStore::new());
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy = Hierarchy::create(store.clone(), of_dialect(Dialect::V3), &options)?;
    let builder = hierarchy.create_array(path()).shape(&[2]).fill_value(Json::Null);
    builder.data_type_named("optional(int32)").create()?;
    let document = Json::parse(
        &store
            .to_sync()
            .value(&StoreKey::new("a/zarr.json").unwrap())
            .unwrap()
            .expect("a document"),
    )
    .expect("JSON");
    let member = |name: &str| document.as_object().and_then(|o| o.get(name)).map(Json::to_string);
    let words = r#"{"name":"zarrs.optional","configuration":{"name":"int32","configuration":{}}}"#;
    assert_eq!(member("data_type").as_deref(), Some(words));
    assert_eq!(member("fill_value").as_deref(), Some("null"));
    let words = format!(
        r#"[{{"name":"zarrs.optional","configuration":{{"mask_codecs":[{{"name":"packbits","configuration":{{}}}}],"data_codecs":[{BYTES}]}}}}]"#
    );
    assert_eq!(member("codecs"), Some(words));
    Ok(())
}

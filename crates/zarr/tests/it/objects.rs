//! Objects of v2 that final v3 has no words for: JSON values and arrays of any length.
#![cfg(all(
    feature = "memory",
    feature = "transpose",
    feature = "json2",
    feature = "msgpack2",
    feature = "vlen-array"
))]

use std::sync::Arc;

use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::CopyOptions;
use zarr::{Array, Dialect, ErrorKind, Hierarchy, Json, Node, NodePath, OpenOptions, Result};

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

/// The array at the root of a store of v2.
fn open(shape: &str, order: &str, filter: &str, chunks: &[(&str, &[u8])]) -> Result<Array> {
    let document = format!(
        r#"{{"zarr_format":2,"shape":{shape},"chunks":{shape},"dtype":"|O","compressor":null,"fill_value":0,"order":"{order}","filters":[{filter}]}}"#
    );
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    for (key, value) in chunks.iter().chain([&(".zarray", document.as_bytes())]) {
        let key = StoreKey::new(*key).expect("a good key");
        store.to_sync().set(&key, (*value).into()).expect("memory sets");
    }
    Hierarchy::open(store, &options())?.array(NodePath::root())
}

fn chunk(array: &Array, key: &str) -> Vec<u8> {
    let key = StoreKey::new(key).expect("a good key");
    let readable = array.hierarchy().store().to_sync();
    readable.value(&key).expect("readable").expect("it is there").to_vec()
}

fn values(array: &Array) -> Result<Vec<String>> {
    let values = array.read::<Vec<u8>>(..)?;
    Ok(values.into_iter().map(|v| String::from_utf8(v).expect("JSON is UTF-8")).collect())
}

fn json(values: &[&str]) -> Vec<Vec<u8>> {
    values.iter().map(|value| value.as_bytes().to_vec()).collect()
}

const JSON2: &str = r#"{"id":"json2","encoding":"utf-8","strict":true}"#;

/// Z2-042; the chunks are numcodecs'.
#[test]
fn values_are_read_and_written_as_numcodecs_does() -> Result<()> {
    let text = br#"[["a",null],[{"b":[1,2]},1.5],"|O",[2,2]]"#;
    let msgpack =
        b"\x94\x92\xa1a\xc0\x92\x81\xa1b\x92\x01\x02\xcb\x3f\xf8\0\0\0\0\0\0\xa2|O\x92\x02\x02";
    for (filter, stored) in [(JSON2, &text[..]), (r#"{"id":"msgpack2"}"#, msgpack)] {
        let array = open("[2,2]", "C", filter, &[("0.0", stored)])?;
        assert_eq!(values(&array)?, [r#""a""#, "null", r#"{"b":[1,2]}"#, "1.5"]);
        let all = array.read::<Vec<u8>>(..)?;
        array.write((0, 0), &json(&["7"]))?;
        assert_eq!(values(&array)?[..2], ["7", "null"]);
        array.write(.., &all)?;
        assert_eq!(chunk(&array, "0.0"), stored);
        // Texts are not what JSON values are.
        assert_eq!(array.read::<String>(..).unwrap_err().kind(), ErrorKind::Argument);
        assert!(array.write((0, 0), &json(&["{"])).is_err());
        let copy = copied(&array, Dialect::V2)?;
        assert_eq!(chunk(&copy, "a/0.0"), stored);
        let copy = copied(&array, Dialect::Draft)?;
        assert_eq!(copy.read::<Vec<u8>>(..)?, all);
    }
    Ok(())
}

/// Python's numbers that JSON does not have stay numbers beside an element that is written, and in a copy. The chunks are
/// numcodecs 0.15.2's.
#[test]
fn writing_one_element_leaves_its_neighbours_as_they_were() -> Result<()> {
    let text = br#"["a",NaN,{"b":-Infinity},Infinity,"|O",[4]]"#;
    let msgpack = b"\x96\xa1a\xcb\x7f\xf8\0\0\0\0\0\0\x81\xa1b\xcb\xff\xf0\0\0\0\0\0\0\xcb\x7f\xf0\0\0\0\0\0\0\xa2|O\x91\x04";
    for (filter, stored) in [(JSON2, &text[..]), (r#"{"id":"msgpack2"}"#, msgpack)] {
        let array = open("[4]", "C", filter, &[("0", stored)])?;
        assert_eq!(values(&array)?, [r#""a""#, "NaN", r#"{"b":-Infinity}"#, "Infinity"]);
        array.write(0..1, &json(&[r#""z""#]))?;
        let mut expected = stored.to_vec();
        let first = expected.iter().position(|&byte| byte == b'a').expect("the first element");
        expected[first] = b'z';
        assert_eq!(chunk(&array, "0"), expected);
        for dialect in [Dialect::V2, Dialect::Draft] {
            let target: Arc<dyn Store> = from_sync(MemoryStore::new());
            let target = Hierarchy::create(target, zarr::format::of_dialect(dialect), &options())?;
            let options = CopyOptions { chunks: Some(vec![2]), ..CopyOptions::default() };
            zarr::tools::copy(&Node::Array(array.clone()), &target, "/a", &options)?;
            let copy = target.array("/a")?;
            assert_eq!(values(&copy)?, [r#""z""#, "NaN", r#"{"b":-Infinity}"#, "Infinity"]);
        }
    }
    Ok(())
}

/// zarr-python 2.18 reads the list in the order in which it stands, whatever the order of axes.
#[test]
fn values_in_f_order_are_as_zarr_python_reads_them() -> Result<()> {
    let stored = br#"[["a","b"],["d","e"],"|O",[2,2]]"#;
    let array = open("[2,2]", "F", JSON2, &[("0.0", stored)])?;
    assert_eq!(values(&array)?, [r#""a""#, r#""d""#, r#""b""#, r#""e""#]);
    let array = open("[2,3]", "F", JSON2, &[])?;
    array.write(.., &json(&["1", "2", "3", "4", "5", "6"]))?;
    assert_eq!(chunk(&array, "0.0"), br#"[[1,4],[2,5],[3,6],"|O",[3,2]]"#);
    assert_eq!(values(&array)?, ["1", "2", "3", "4", "5", "6"]);
    Ok(())
}

/// Z2-041; the chunk is numcodecs'.
#[test]
fn arrays_of_any_length_are_read_and_written() -> Result<()> {
    let stored = b"\x02\0\0\0\x08\0\0\0\x01\0\0\0\x02\0\0\0\0\0\0\0";
    let filter = r#"{"id":"vlen-array","dtype":"<i4"}"#;
    let array = open("[2]", "C", filter, &[("0", stored)])?;
    assert_eq!(array.data_type().to_string(), "array of int32");
    assert_eq!(array.read::<Vec<u8>>(..)?, [vec![1, 0, 0, 0, 2, 0, 0, 0], vec![]]);
    let error = array.write(.., &[vec![0u8; 3], vec![]]).unwrap_err();
    assert!(error.to_string().contains("not a valid array of int32"), "{error}");
    array.write(1, &[vec![9u8, 0, 0, 0]])?;
    let copy = copied(&array, Dialect::Draft)?;
    assert_eq!(copy.read::<Vec<u8>>(1)?, [[9, 0, 0, 0]]);
    assert_eq!(copied(&copy, Dialect::V2)?.data_type(), array.data_type());
    Ok(())
}

/// Final v3 has neither; that is told before anything is written.
#[test]
fn final_v3_has_no_words_for_them() -> Result<()> {
    for filter in [JSON2, r#"{"id":"msgpack2"}"#, r#"{"id":"vlen-array","dtype":"<f8"}"#] {
        let array = open("[2]", "C", filter, &[])?;
        let error = copied(&array, Dialect::V3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        let codec = array.metadata().codecs[0].name.clone();
        assert!(error.to_string().contains(&codec), "{error}");
    }
    Ok(())
}

/// The filter stays a filter: readers look for it there alone (Z2-040).
#[test]
fn the_codec_of_objects_is_the_first_filter() -> Result<()> {
    for filter in [JSON2, r#"{"id":"msgpack2"}"#, r#"{"id":"json"}"#] {
        let copy = copied(&open("[2]", "C", filter, &[])?, Dialect::V2)?;
        let document = Json::parse(&chunk(&copy, "a/.zarray")).expect("a document");
        let document = document.as_object().expect("an object");
        assert_eq!(document.get("compressor"), Some(&Json::Null), "{filter}");
        let filters = document.get("filters").and_then(Json::as_array).expect("filters");
        assert_eq!(filters[0].to_string(), filter);
    }
    Ok(())
}

const V3: &str = r#"{"zarr_format":3,"node_type":"array","shape":[3],"data_type":"string","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":"x","codecs":[{"name":"vlen-utf8"}],"attributes":{}}"#;
const V2: &str = r#"{"zarr_format":2,"shape":[3],"chunks":[2],"dtype":"|O","compressor":null,"fill_value":"","order":"C","filters":[{"id":"ID","dtype":"<i4"}]}"#;

/// Words that a document may have in the place of others.
const WORDS: [&str; 27] = [
    "null",
    "0",
    "-1",
    "1.5",
    "18446744073709551615",
    "true",
    "\"\"",
    "\"x\"",
    "\"AQ==\"",
    "[]",
    "[0]",
    "[1]",
    "[4294967296]",
    "[1152921504606846975]",
    "[3,3]",
    "{}",
    "\"|O\"",
    "\"F\"",
    "\"<i4\"",
    "\"bytes\"",
    "[{\"id\":\"json2\"}]",
    "[{\"id\":\"msgpack\"}]",
    "[{\"id\":\"pickle\"}]",
    "[{\"name\":\"bytes\"}]",
    "[{\"name\":\"vlen-bytes\"}]",
    "{\"id\":\"vlen-utf8\"}",
    "[{\"id\":\"vlen-array\",\"dtype\":\"|O\"}]",
];

/// One member or two of a document are others: it opens or does not, and so with its elements.
#[test]
fn damaged_documents_end_in_errors_or_elements() {
    let ids = ["vlen-utf8", "vlen-bytes", "vlen-array", "json2", "json", "msgpack2", "msgpack"];
    let mut documents = vec![("zarr.json", V3.to_owned(), "c/0")];
    documents.extend(ids.map(|id| (".zarray", V2.replace("ID", id), "0")));
    let chunks: [&[u8]; 5] = [
        b"\x02\0\0\0\x01\0\0\0a\0\0\0\0",
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
        b"[\"a\",[1],\"|O\",[2]]",
        b"\x94\x01\xa1b\xa2|O\x91\x02",
        b"\xdd\xff\xff\xff\xff\xdf\xff\xff\xff\xff",
    ];
    let (mut read, mut refused) = (0, 0);
    for (key, document, at) in documents {
        let Ok(Json::Object(object)) = Json::parse(document.as_bytes()) else {
            panic!("an object")
        };
        let names: Vec<String> = object.iter().map(|(name, _)| name.to_owned()).collect();
        for (n, first) in names.iter().enumerate() {
            for (m, word) in WORDS.iter().enumerate() {
                let value = |word: &str| Json::parse(word.as_bytes()).expect("JSON");
                let mut damaged = object.clone();
                damaged.insert(first, value(word));
                if m % 2 == 0 {
                    let other = &names[(n + m) % names.len()];
                    damaged.insert(other, value(WORDS[(m * 7 + n) % WORDS.len()]));
                }
                let damaged = Json::Object(damaged).to_string();
                let good = [document.contains("vlen"), false, document.contains("json2"), true];
                let good = good.iter().position(|&good| good).unwrap_or_default();
                let chunk = if m % 3 == 0 { chunks[(n + m) % chunks.len()] } else { chunks[good] };
                match attack(&[(key, damaged.as_bytes()), (at, chunk)]) {
                    Ok(()) => read += 1,
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(read > 50 && refused > 1000, "{read} read, {refused} refused");
}

/// Opens, reads, writes and copies what there is.
fn attack(values: &[(&str, &[u8])]) -> Result<()> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    for (key, value) in values {
        let key = StoreKey::new(*key).expect("a good key");
        store.to_sync().set(&key, (*value).into()).expect("memory sets");
    }
    let array = Hierarchy::open(store, &options())?.array(NodePath::root())?;
    let count = array.shape().iter().fold(1u64, |n, &len| n.saturating_mul(len));
    let chunk = array.metadata().chunk_shape().unwrap_or_default();
    let small = chunk.iter().fold(1u64, |n, &len| n.saturating_mul(len)) < 1 << 16;
    if count > 1 << 16 {
        let first = zarr::Region::new(array.shape().iter().map(|&len| 0..len.min(1)));
        return array.read_bytes(first).map(drop);
    }
    let read = array.read_bytes(..);
    if let (Ok(bytes), true) = (&read, small) {
        array.write_bytes(.., bytes)?;
        assert_eq!(&array.read_bytes(..)?, bytes, "what was read is written");
        for dialect in [Dialect::V2, Dialect::V3, Dialect::Draft] {
            if let Ok(copy) = copied(&array, dialect) {
                assert_eq!(&copy.read_bytes(..)?, bytes, "what was read is copied");
            }
        }
    }
    read.map(drop)
}

fn copied(array: &Array, to: Dialect) -> Result<Array> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let format = zarr::format::of_dialect(to);
    let target = Hierarchy::create(store, format, &options())?;
    let path = NodePath::new("/a")?;
    zarr::tools::copy(&Node::Array(array.clone()), &target, &path, &CopyOptions::default())?;
    target.array(&path)
}

//! Texts and bytes of any length, in every dialect: written, read, appended, resized, filled, copied.
#![cfg(all(
    feature = "memory",
    feature = "gzip",
    feature = "transpose",
    feature = "vlen-utf8",
    feature = "vlen-bytes"
))]

use std::sync::Arc;

use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::CopyOptions;
use zarr::{
    Array, ArrayBuilder, Dialect, Error, ErrorKind, Hierarchy, Node, NodePath, OpenOptions, Result,
};
use zarr_testkit::ShortCalls;

const DIALECTS: [Dialect; 3] = [Dialect::V3, Dialect::V2, Dialect::Draft];

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn hierarchy(dialect: Dialect) -> Hierarchy {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let format = zarr::format::of_dialect(dialect);
    Hierarchy::create(store, format, &options()).expect("a new hierarchy")
}

fn path() -> NodePath {
    NodePath::new("/a").expect("a good path")
}

fn builder(dialect: Dialect, data_type: &str, shape: &[u64], chunks: &[u64]) -> ArrayBuilder {
    let builder = hierarchy(dialect).create_array(path()).shape(shape).chunks(chunks);
    builder.data_type_named(data_type).fill_value("")
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// So many texts of different lengths, some of them empty.
fn many(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("é{n}").repeat(n % 4)).collect()
}

fn keys(array: &Array) -> Vec<String> {
    let store = array.hierarchy().store();
    let keys = store.to_sync().list().expect("memory lists");
    let is_chunk = |key: &String| {
        let documents = ["zarr.json", ".zarray", ".zgroup", ".zattrs", ".json"];
        !documents.iter().any(|name| key.ends_with(name))
    };
    keys.iter().map(ToString::to_string).filter(is_chunk).collect()
}

fn get(array: &Array, key: &str) -> Vec<u8> {
    let readable = array.hierarchy().store().to_sync();
    let key = StoreKey::new(key).expect("a good key");
    readable.value(&key).expect("readable").expect("it is there").to_vec()
}

fn set(store: &Arc<dyn Store>, key: &str, value: &[u8]) {
    let key = StoreKey::new(key).expect("a good key");
    store.to_sync().set(&key, value.into()).expect("memory sets");
}

fn again(array: &Array) -> Array {
    let store = array.hierarchy().store().clone();
    Hierarchy::open(store, &options()).expect("it opens").array(path()).expect("it is there")
}

/// The array at the root of a store of these documents and chunks.
fn open(values: &[(&str, &[u8])]) -> Result<Array> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    values.iter().for_each(|(key, value)| set(&store, key, value));
    Hierarchy::open(store, &options())?.array(NodePath::root())
}

fn kind<T>(result: Result<T>) -> (ErrorKind, String) {
    let error: Error = result.err().expect("an error is due");
    (error.kind(), error.to_string())
}

#[test]
fn what_is_written_reads_back_in_every_dialect() -> Result<()> {
    for dialect in DIALECTS {
        for codec in [None, Some("gzip:1")] {
            let make = |data_type| {
                let builder = builder(dialect, data_type, &[5, 3], &[2, 2]);
                match codec {
                    Some(codec) => builder.codec(zarr::tools::codec(codec)?),
                    None => builder,
                }
                .create()
            };
            let array = make("string")?;
            let data = many(15);
            array.write(.., &data)?;
            assert_eq!(array.read::<String>(..)?, data);
            assert_eq!(again(&array).read::<String>(..)?, data, "{dialect}");
            assert_eq!(array.read::<String>((1..3, 2))?, [data[5].as_str(), data[8].as_str()]);
            let mut out = texts(&["x", "y", "z"]);
            array.read_into((4, ..), &mut out)?;
            assert_eq!(out, data[12..]);
            // Texts are bytes, too.
            assert_eq!(array.read::<Vec<u8>>((0, 1))?, [data[1].as_bytes()]);

            let array = make("variable_length_bytes")?;
            let data: Vec<Vec<u8>> = (0..15u8).map(|n| vec![n ^ 0xf0; n as usize % 4]).collect();
            array.write(.., &data)?;
            assert_eq!(again(&array).read::<Vec<u8>>(..)?, data);
        }
    }
    Ok(())
}

#[test]
fn scalars_and_arrays_without_elements_have_texts() -> Result<()> {
    for dialect in DIALECTS {
        let scalar = builder(dialect, "string", &[], &[]).fill_value("fill").create()?;
        assert_eq!(scalar.read::<String>(..)?, ["fill"]);
        scalar.write(.., &texts(&["日本"]))?;
        assert_eq!(again(&scalar).read::<String>(..)?, ["日本"], "{dialect}");
        let empty = builder(dialect, "string", &[0, 3], &[1, 2]).create()?;
        assert!(empty.read::<String>(..)?.is_empty());
        empty.write(.., &texts(&[]))?;
        assert!(keys(&empty).is_empty(), "{dialect}");
        assert_eq!(empty.append(0, &texts(&["a", "b", "c"]))?, 0);
        assert_eq!(again(&empty).read::<String>(..)?, ["a", "b", "c"]);
    }
    Ok(())
}

#[test]
fn two_writers_of_parts_of_one_chunk_lose_nothing() -> Result<()> {
    for dialect in DIALECTS {
        let array = builder(dialect, "string", &[64], &[64]).create()?;
        std::thread::scope(|scope| {
            for half in 0..2u64 {
                let array = again(&array);
                scope.spawn(move || {
                    for n in (0..64).filter(|n| n % 2 == half) {
                        array.write(n, &[format!("{half}: {n}")]).expect("written");
                    }
                });
            }
        });
        let due: Vec<String> = (0..64).map(|n| format!("{}: {n}", n % 2)).collect();
        assert_eq!(array.read::<String>(..)?, due, "{dialect}");
    }
    Ok(())
}

#[test]
fn appends_of_several_threads_all_arrive() -> Result<()> {
    let array = builder(Dialect::V3, "string", &[0], &[7]).create()?;
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let array = again(&array);
            scope.spawn(move || {
                for n in 0..10 {
                    let both = [format!("{writer}.{n}"), format!("{writer}.{n}'")];
                    let at = array.append(0, &both).expect("appended");
                    assert_eq!(array.read::<String>(at..at + 2).expect("read"), both);
                }
            });
        }
    });
    array.refresh()?;
    let mut found = array.read::<String>(..)?;
    let mut due: Vec<String> = (0..4)
        .flat_map(|w| (0..10).flat_map(move |n| [format!("{w}.{n}"), format!("{w}.{n}'")]))
        .collect();
    found.sort();
    due.sort();
    assert_eq!(found, due);
    Ok(())
}

/// T-29: a fill value of bytes is base64.
#[test]
fn what_nobody_wrote_is_the_fill_value() -> Result<()> {
    for dialect in DIALECTS {
        let array = builder(dialect, "string", &[5], &[2]).fill_value("füll").create()?;
        assert_eq!(again(&array).read::<String>(..)?, vec!["füll"; 5], "{dialect}");
        array.write(1..2, &texts(&["x"]))?;
        array.write(4.., &texts(&["y"]))?;
        assert_eq!(array.read::<String>(..)?, ["füll", "x", "füll", "füll", "y"]);
        assert_eq!(keys(&array).len(), 2);

        // A chunk of nothing but fill is erased, whether it is written as a whole or in parts.
        array.write(1..2, &texts(&["füll"]))?;
        assert_eq!(keys(&array).len(), 1, "{dialect}");
        array.write(0..2, &texts(&["füll", "füll"]))?;
        array.write(4.., &texts(&["füll"]))?;
        assert!(keys(&array).is_empty(), "{dialect}");

        let bytes = builder(dialect, "variable_length_bytes", &[2], &[2]);
        let bytes = bytes.fill_value("AQID").create()?;
        assert_eq!(again(&bytes).read::<Vec<u8>>(..)?, vec![vec![1, 2, 3]; 2], "{dialect}");
    }
    Ok(())
}

#[test]
fn what_is_cut_off_does_not_come_back() -> Result<()> {
    for (dialect, fill) in DIALECTS.into_iter().flat_map(|d| [(d, ""), (d, "fill")]) {
        let array = builder(dialect, "string", &[5, 3], &[4, 2]).fill_value(fill).create()?;
        let data = many(15);
        array.write(.., &data)?;
        array.resize(&[2, 3])?;
        let before = keys(&array);
        array.resize(&[5, 4])?;
        let found = again(&array).read::<String>(..)?;
        for (n, text) in found.iter().enumerate() {
            let (row, column) = (n / 4, n % 4);
            let due = if row < 2 && column < 3 { &data[row * 3 + column] } else { fill };
            assert_eq!(text, due, "{dialect}: {row}, {column}");
        }
        assert_eq!(keys(&array), before);
    }
    Ok(())
}

/// A chunk that holds fill already where the array was cut off stays as it is stored.
#[test]
fn cutting_off_fill_writes_nothing() -> Result<()> {
    let array = builder(Dialect::V3, "string", &[4], &[4]).fill_value("fill").create()?;
    array.write(0..2, &texts(&["a", "b"]))?;
    let readable = array.hierarchy().store().to_sync();
    let key = StoreKey::new("a/c/0").expect("a good key");
    let version = || readable.versioned(&key).expect("readable").expect("it is there").1;
    let before = version();
    array.resize(&[2])?;
    assert_eq!(version(), before);
    Ok(())
}

/// T-46, T-47: what is stored follows the order of the axes, whatever the caller's memory.
#[test]
fn axes_are_turned_under_texts() -> Result<()> {
    let data = texts(&["a", "bb", "ccc", "", "é", "f"]);
    let framed = |order: [usize; 6]| {
        let mut bytes = 6u32.to_le_bytes().to_vec();
        for text in order.map(|n| &data[n]) {
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes
    };
    for dialect in DIALECTS {
        for (f_order, order) in [(false, [0, 1, 2, 3, 4, 5]), (true, [0, 3, 1, 4, 2, 5])] {
            let array = builder(dialect, "string", &[2, 3], &[2, 3]).f_order(f_order).create()?;
            array.write(.., &data)?;
            let key = keys(&array).pop().expect("a chunk is stored");
            assert_eq!(get(&array, &key), framed(order), "{dialect}");
            let array = again(&array);
            assert_eq!(array.read::<String>(..)?, data);
            assert_eq!(array.read::<String>((.., 1..3))?, ["bb", "ccc", "é", "f"]);
            array.write((.., 1), &texts(&["B", "É"]))?;
            assert_eq!(array.read::<String>(..)?, ["a", "B", "ccc", "", "É", "f"]);
        }
    }
    Ok(())
}

#[cfg(feature = "ndarray")]
#[test]
fn ndarray_arrays_are_written_in_any_memory_order() -> Result<()> {
    use ndarray::{Array2, ShapeBuilder};
    let data = many(6);
    let c_order = Array2::from_shape_vec((2, 3), data.clone()).expect("six elements");
    let mut f_order = Array2::from_elem((2, 3).f(), String::new());
    f_order.assign(&c_order);
    let array = builder(Dialect::V3, "string", &[2, 3], &[2, 2]).create()?;
    for view in [c_order.view(), f_order.view()] {
        array.write(.., &vec![String::new(); 6])?;
        array.write_ndarray(.., view)?;
        assert_eq!(array.read::<String>(..)?, data);
        assert_eq!(
            array.read_ndarray::<String, zarr::ndarray::IxDyn>(..)?,
            c_order.clone().into_dyn()
        );
    }
    array.write_ndarray((0..2, 0..2), f_order.slice(ndarray::s![.., 1..]))?;
    assert_eq!(array.read_ndarray::<String, zarr::ndarray::IxDyn>((1, 1))?.first(), Some(&data[5]));
    Ok(())
}

/// F-046, T-39: a document keeps the name that it has for bytes.
#[test]
fn the_older_name_of_bytes_is_kept() -> Result<()> {
    for (name, fill) in [("bytes", "[1,2,3]"), ("variable_length_bytes", r#""AQID""#)] {
        let document =
            V3.replace("NAME", name).replace("FILL", fill).replace("CODEC", "vlen-bytes");
        let array = open(&[("zarr.json", document.as_bytes())])?;
        assert_eq!(array.read::<Vec<u8>>(..)?, vec![vec![1, 2, 3]; 4]);
        array.update_attributes(|a| drop(a.insert("x", 1u64)))?;
        array.resize(&[3])?;
        let text = String::from_utf8(get(&array, "zarr.json")).expect("JSON is UTF-8");
        assert!(text.contains(&format!("\"data_type\": \"{name}\"")), "{text}");
        let copy = copied(&array, Dialect::V3)?;
        let text = String::from_utf8(get(&copy, "a/zarr.json")).expect("JSON is UTF-8");
        assert!(text.contains(&format!("\"data_type\": \"{name}\"")), "{text}");
        assert!(text.contains("\"fill_value\": \"AQID\""), "{text}");
    }
    Ok(())
}

const V3: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"NAME","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":FILL,"codecs":[{"name":"CODEC"}],"attributes":{}}"#;

fn v3(fill: &str, codec: &str, chunk: &[u8]) -> Result<Array> {
    let document = V3.replace("NAME", "string").replace("FILL", fill).replace("CODEC", codec);
    open(&[("zarr.json", document.as_bytes()), ("c/1", chunk)])
}

/// F-045, F-095.
#[test]
fn texts_are_no_texts_of_another_codec_or_fill() {
    for fill in ["0", "null", "[1]", "{}"] {
        let (kind, why) = kind(v3(fill, "vlen-utf8", b""));
        assert_eq!(kind, ErrorKind::InvalidMetadata, "{why}");
        assert!(why.contains("fill_value"), "{why}");
    }
    for codec in ["bytes", "vlen-bytes"] {
        let (kind, why) = kind(v3(r#""""#, codec, b""));
        assert_eq!(kind, ErrorKind::InvalidMetadata, "{why}");
        assert!(why.contains("string") && why.contains(codec), "{why}");
    }
}

/// F-095: what is no UTF-8 is refused on the way in and out, and the chunk is named.
#[test]
fn what_is_no_utf_8_is_refused() -> Result<()> {
    let array = v3(r#""""#, "vlen-utf8", b"\x02\0\0\0\x01\0\0\0a\x01\0\0\0\xff")?;
    assert_eq!(array.read::<String>(0..2)?, ["", ""]);
    for region in [2..3, 2..4] {
        let (found, why) = kind(array.read::<String>(region));
        assert_eq!(found, ErrorKind::CorruptData);
        assert!(why.contains("an element is not a valid string") && why.contains("c/1"), "{why}");
    }
    let (found, _) = kind(array.read_bytes(3..4));
    assert_eq!(found, ErrorKind::CorruptData);
    // A chunk that cannot be read is not overwritten in part, but as a whole.
    assert_eq!(kind(array.write(2..3, &texts(&["x"]))).0, ErrorKind::CorruptData);
    array.write(2..4, &texts(&["x", "y"]))?;
    assert_eq!(array.read::<String>(2..)?, ["x", "y"]);

    let (_, why) = kind(array.write(0..1, &[vec![0xffu8]]));
    assert!(why.contains("an element is not a valid string"), "{why}");
    assert!(array.write_bytes(0..1, b"\x01\0\0\0\xff").is_err());
    assert_eq!(array.read::<String>(0..1)?, [""]);
    Ok(())
}

#[test]
fn elements_of_another_type_are_refused() -> Result<()> {
    let array = builder(Dialect::V3, "string", &[2], &[2]).create()?;
    for (found, why) in [
        kind(array.read::<i32>(..)),
        kind(array.read::<[u8; 16]>(..)),
        kind(array.write(.., &[1u8, 2])),
        kind(array.append(0, &[1.0f64])),
    ] {
        assert_eq!(found, ErrorKind::Argument, "{why}");
        assert!(why.contains("string"), "{why}");
    }
    assert_eq!(array.shape(), [2]);
    let bytes = builder(Dialect::V3, "variable_length_bytes", &[2], &[2]).create()?;
    assert_eq!(kind(bytes.read::<String>(..)).0, ErrorKind::Argument);
    let numbers = builder(Dialect::V3, "int32", &[2], &[2]).fill_value(0u64).create()?;
    assert_eq!(kind(numbers.read::<String>(..)).0, ErrorKind::Argument);
    assert_eq!(kind(numbers.write(.., &texts(&["a", "b"]))).0, ErrorKind::Argument);
    assert_eq!(kind(array.write(.., &texts(&["a"]))).0, ErrorKind::Argument);
    Ok(())
}

/// A stream is each element after its length.
#[test]
fn bytes_of_texts_are_a_stream_of_them() -> Result<()> {
    let array = builder(Dialect::V2, "string", &[3], &[2]).create()?;
    let stream = b"\x02\0\0\0\xc3\xa9\0\0\0\0\x01\0\0\0x";
    array.write_bytes(.., stream)?;
    assert_eq!(array.read::<String>(..)?, ["é", "", "x"]);
    assert_eq!(array.read_bytes(..)?, stream);
    assert_eq!(array.read_le_bytes(1..)?, b"\0\0\0\0\x01\0\0\0x");
    for broken in [&stream[..3], &stream[..5], &stream[..10], b"\xff\xff\xff\xff", b""] {
        assert_eq!(kind(array.write_bytes(.., broken)).0, ErrorKind::Argument, "{broken:?}");
    }
    let longer = [&stream[..], b"\0\0\0\0"].concat();
    assert_eq!(kind(array.write_bytes(.., &longer)).0, ErrorKind::Argument);
    assert_eq!(array.read_bytes(..)?, stream);
    Ok(())
}

fn copied(array: &Array, to: Dialect) -> Result<Array> {
    copied_with(array, to, CopyOptions::default())
}

fn copied_with(array: &Array, to: Dialect, options: CopyOptions<'_>) -> Result<Array> {
    let target = hierarchy(to);
    zarr::tools::copy(&Node::Array(array.clone()), &target, path(), &options)?;
    target.array(path())
}

#[test]
fn copies_go_among_all_dialects() -> Result<()> {
    for (from, to) in DIALECTS.into_iter().flat_map(|from| DIALECTS.map(|to| (from, to))) {
        let what = format!("{from} to {to}");
        for codecs in [None, Some(vec![]), Some(vec!["gzip:3".to_owned()])] {
            for f_order in [false, true] {
                let array = builder(from, "string", &[5, 3], &[2, 2]).fill_value("fill");
                let array = array.codec(zarr::tools::codec("gzip:1")?).f_order(f_order).create()?;
                let data = many(6);
                array.write((0..2, ..), &data)?;
                let options = CopyOptions { codecs: codecs.clone(), ..CopyOptions::default() };
                let copy = again(&copied_with(&array, to, options)?);
                assert_eq!(copy.read::<String>((0..2, ..))?, data, "{what}");
                assert_eq!(copy.read::<String>((2.., ..))?, vec!["fill"; 9], "{what}");
                let bytes = if codecs.as_ref().is_some_and(Vec::is_empty) { 0 } else { 1 };
                let gzip = |spec: &&zarr::codec::CodecSpec| spec.name.contains("gzip");
                assert_eq!(copy.metadata().codecs.iter().filter(gzip).count(), bytes, "{what}");
                // What came of the copy is written to, as well.
                copy.write((4, ..), &texts(&["x", "y", "z"]))?;
                assert_eq!(again(&copy).read::<String>((4, ..))?, ["x", "y", "z"], "{what}");
            }
        }
        let scalar = builder(from, "variable_length_bytes", &[], &[]).create()?;
        scalar.write(.., &[vec![1u8, 0xff]])?;
        assert_eq!(again(&copied(&scalar, to)?).read::<Vec<u8>>(..)?, [[1, 0xff]], "{what}");
    }
    Ok(())
}

/// Behind texts stand bytes: what a codec is told of elements is their size, 1.
#[cfg(feature = "blosc")]
#[test]
fn blosc_is_told_that_it_has_bytes() -> Result<()> {
    let created =
        builder(Dialect::V3, "string", &[3], &[3]).codec(zarr::tools::codec("blosc")?).create()?;
    let filters = r#"[{"id":"vlen-utf8"}]"#;
    let compressor = r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":-1,"blocksize":0}"#;
    let array = open(&[(".zarray", v2(filters, compressor, "\"\"").as_bytes())])?;
    array.write(.., &many(3))?;
    let copy = copied(&array, Dialect::V3)?;
    assert_eq!(copy.read::<String>(..)?, many(3));
    for array in [created, copy] {
        let blosc = array.metadata().codecs.last().cloned().expect("it has codecs");
        assert_eq!(blosc.configuration.get("typesize"), Some(&1u64.into()), "{blosc}");
    }
    Ok(())
}

/// draft-v3.md 3.3: the filter is hidden among the attributes, as zarr-python 2.18 does it.
#[test]
fn the_draft_hides_the_filter() -> Result<()> {
    let array = builder(Dialect::Draft, "string", &[3], &[2]).create()?;
    let text = String::from_utf8(get(&array, "meta/root/a.array.json")).expect("JSON is UTF-8");
    assert!(text.contains(r#""id": "vlen-utf8""#) && text.contains(r#""type": "|O""#), "{text}");
    assert!(array.attributes().is_empty());
    array.update_attributes(|a| drop(a.insert("x", 1u64)))?;
    array.write(.., &texts(&["a", "b", "c"]))?;
    assert_eq!(again(&array).read::<String>(..)?, ["a", "b", "c"]);
    Ok(())
}

fn v2(filters: &str, compressor: &str, fill: &str) -> String {
    format!(
        r#"{{"zarr_format":2,"shape":[3],"chunks":[2],"dtype":"|O","compressor":{compressor},"fill_value":{fill},"order":"C","filters":{filters}}}"#
    )
}

/// Z2-044.
#[test]
fn zero_null_and_nothing_are_the_empty_text() -> Result<()> {
    for fill in ["0", "null", r#""""#] {
        let document = v2(r#"[{"id":"vlen-utf8"}]"#, "null", fill);
        let array = open(&[(".zarray", document.as_bytes())])?;
        assert_eq!(array.read::<String>(..)?, ["", "", ""], "{fill}");
        array.write(2..3, &texts(&["x"]))?;
        assert_eq!(array.read::<String>(..)?, ["", "", "x"], "{fill}");
    }
    // Another number is no text; zarr-python 2 took it, and a warning says how it is read.
    let document = v2(r#"[{"id":"vlen-utf8"}]"#, "null", "1");
    let array = open(&[(".zarray", document.as_bytes())])?;
    assert_eq!(array.read::<String>(..)?, ["", "", ""]);
    assert!(array.hierarchy().warnings()[0].to_string().contains("taken as null"));
    assert!(open(&[(".zarray", v2(r#"[{"id":"vlen-utf8"}]"#, "null", "{}").as_bytes())]).is_err());
    Ok(())
}

/// Z2-040: a few old files have the codec of objects as the compressor.
#[test]
fn the_compressor_may_make_the_bytes_of_objects() -> Result<()> {
    let document = v2("null", r#"{"id":"vlen-utf8"}"#, "0");
    let chunk: &[u8] = b"\x02\0\0\0\x01\0\0\0a\0\0\0\0";
    let array = open(&[(".zarray", document.as_bytes()), ("0", chunk)])?;
    assert_eq!(array.read::<String>(..)?, ["a", "", ""]);
    let copy = copied(&array, Dialect::V2)?;
    let text = String::from_utf8(get(&copy, "a/.zarray")).expect("JSON is UTF-8");
    let json = zarr::Json::parse(text.as_bytes()).expect("a document");
    let member = |name: &str| json.as_object().and_then(|o| o.get(name)).map(ToString::to_string);
    assert_eq!(member("compressor").as_deref(), Some("null"));
    assert_eq!(member("filters").as_deref(), Some(r#"[{"id":"vlen-utf8"}]"#));
    Ok(())
}

/// Z2-040.
#[test]
fn objects_need_a_codec_that_makes_bytes_of_them() {
    for (filters, compressor, named) in [
        ("null", "null", "`vlen-utf8`"),
        ("[]", "null", "`vlen-utf8`"),
        ("null", r#"{"id":"gzip","level":1}"#, "`gzip`"),
        (r#"[{"id":"gzip","level":1},{"id":"vlen-utf8"}]"#, "null", "`gzip`"),
        (r#"[{"id":"vlen-array"}]"#, "null", "dtype"),
    ] {
        let (kind, why) = kind(open(&[(".zarray", v2(filters, compressor, "0").as_bytes())]));
        assert_eq!(kind, ErrorKind::InvalidMetadata, "{why}");
        assert!(why.contains(named), "{why}");
    }
}

/// Z2-040, Z2-043: pickled objects run code. The array opens all the same.
#[test]
fn pickle_and_unknown_codecs_are_refused_by_name() -> Result<()> {
    for id in ["pickle", "no-such-codec"] {
        let document = v2(&format!(r#"[{{"id":"{id}"}}]"#), "null", "0");
        let array = open(&[(".zarray", document.as_bytes()), ("0", b"\x80\x04.")])?;
        for (found, why) in [
            kind(array.read::<String>(..)),
            kind(array.read_bytes(..)),
            kind(array.write(.., &texts(&["a", "b", "c"]))),
        ] {
            assert_eq!(found, ErrorKind::Unsupported, "{why}");
            assert!(why.contains(id), "{why}");
        }
        array.update_attributes(|a| drop(a.insert("x", 1u64)))?;
    }
    for dtype in [">i4", "|O", "<M8[ns", "[[\"a\",\"<i4\"]]"] {
        let dtype = if dtype.starts_with('[') { dtype.to_owned() } else { format!("\"{dtype}\"") };
        let filters = format!(r#"[{{"id":"vlen-array","dtype":{dtype}}}]"#);
        let opened = open(&[(".zarray", v2(&filters, "null", "0").as_bytes())]);
        let refused = opened.and_then(|array| array.read_bytes(..).map(drop));
        let (found, why) = kind(refused);
        assert!([ErrorKind::Unsupported, ErrorKind::InvalidMetadata].contains(&found), "{why}");
    }
    Ok(())
}

/// Neither documents nor chunks make anything large.
#[test]
fn hostile_chunks_are_refused() -> Result<()> {
    let chunks: [&[u8]; 8] = [
        b"",
        b"\x02\0\0",
        b"\xff\xff\xff\xff",
        b"\x02\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x02\0\0\0\0\0\0\0\xff\xff\xff\x7fa",
        b"\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"\x02\0\0\0\0\0\0\0\0\0\0\0\0",
        b"\x01\0\0\0\0\0\0\0",
    ];
    for chunk in chunks {
        let array = v3(r#""""#, "vlen-utf8", chunk)?;
        let (found, why) = kind(array.read::<String>(2..3));
        assert_eq!(found, ErrorKind::CorruptData, "{why}");
        assert!(why.contains("c/1"), "{why}");
    }
    let huge = V3.replace("NAME", "string").replace("FILL", "\"\"").replace("CODEC", "vlen-utf8");
    let huge = huge.replace("[4]", "[1152921504606846975]").replace("[2]", "[4294967295]");
    let array = open(&[("zarr.json", huge.as_bytes()), ("c/0", b"\xff\xff\xff\xff\0\0\0\0")])?;
    assert_eq!(kind(array.read::<String>(5..7)).0, ErrorKind::CorruptData);
    assert_eq!(array.read::<String>(1u64 << 40..(1 << 40) + 2)?, ["", ""]);
    assert!(array.read::<String>(..).is_err());
    assert!(array.read_bytes(..).is_err());
    Ok(())
}

#[test]
fn chunks_are_had_as_wholes() -> Result<()> {
    let array = builder(Dialect::V3, "string", &[5], &[2]).create()?;
    for mut chunk in array.chunks(..)? {
        let texts: Vec<String> =
            chunk.region().intervals()[0].clone().map(|n| n.to_string()).collect();
        chunk.write(&texts)?;
        assert_eq!(chunk.read::<String>()?, texts);
    }
    let mut last = array.chunk(&[2])?;
    let stored = last.encoded()?.expect("it is stored");
    assert_eq!(&stored[..], b"\x02\0\0\0\x01\0\0\x004\0\0\0\0");
    last.erase()?;
    assert_eq!(array.read::<String>(..)?, ["0", "1", "2", "3", ""]);
    Ok(())
}

#[tokio::test]
async fn callers_that_wait_read_and_write_texts() -> Result<()> {
    for dialect in DIALECTS {
        let array = builder(dialect, "string", &[5, 3], &[2, 2]).fill_value("fill").create()?;
        let hierarchy = array.hierarchy().as_async();
        let waiting = hierarchy.array(&path()).await?;
        assert_eq!(waiting.read::<String>(..).await?, vec!["fill"; 15]);
        let data = many(15);
        waiting.write(.., data.clone()).await?;
        assert_eq!(array.read::<String>(..)?, data, "{dialect}");
        let writers = (0..15u64).map(|n| {
            let waiting = waiting.clone();
            tokio::spawn(async move { waiting.write((n / 3, n % 3), vec![format!("<{n}>")]).await })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.expect("no panic")?;
        }
        let due: Vec<String> = (0..15).map(|n| format!("<{n}>")).collect();
        assert_eq!(waiting.read::<String>(..).await?, due, "{dialect}");
        assert_eq!(waiting.read::<String>((1..3, 2)).await?, ["<5>", "<8>"]);
        assert_eq!(waiting.append(0, texts(&["a", "b", "c"])).await?, 5);
        waiting.resize(&[6, 2]).await?;
        assert_eq!(waiting.read::<String>((4.., ..)).await?, ["<12>", "<13>", "a", "b"]);
        assert_eq!(waiting.read_bytes((5, 0)).await?, b"\x01\0\0\0a");
        let (out, result) = waiting.read_into((5, ..), texts(&["", ""])).await;
        result?;
        assert_eq!(out, ["a", "b"]);
        assert!(waiting.write((0, 0), vec![vec![0xffu8]]).await.is_err());
        assert_eq!(kind(waiting.read::<i64>(..).await).0, ErrorKind::Argument);
        assert_eq!(waiting.chunk(&[0, 0])?.read::<String>().await?.len(), 4);
    }
    Ok(())
}

#[test]
fn a_large_text_passes() -> Result<()> {
    let array = builder(Dialect::V3, "string", &[3], &[3]).create()?;
    let data = texts(&["", &"日本".repeat(1 << 20), "x"]);
    array.write(.., &data)?;
    assert_eq!(again(&array).read::<String>(..)?, data);
    array.write(2, &texts(&["y"]))?;
    assert_eq!(array.read::<String>(1..)?, [data[1].as_str(), "y"]);
    assert_eq!(array.read::<String>(1..2)?, data[1..2]);
    Ok(())
}

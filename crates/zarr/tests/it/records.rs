//! Records are read, written and converted, whole and field by field.
#![cfg(feature = "filesystem")]

use std::sync::{Arc, Barrier};

use bytemuck::{Pod, Zeroable};
use zarr::data_type::Endian;
use zarr::tools::CopyOptions;
use zarr::{Array, Dialect, ErrorKind, Guard, Hierarchy, Json, Node, OpenOptions, Result};

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];

/// Fields of every kind that all dialects know, in two byte orders.
const WORDS: &str =
    r#"[["a","<i4"],["b",">f8"],["c","<U2"],["d","|S3"],["e",[["x",">i2"],["y","|b1"]]]]"#;

#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
struct Inner {
    x: i16,
    y: u8,
}
zarr::record!(Inner { x: i16, y: u8 });

#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
struct Outer {
    a: i32,
    b: f64,
    c: [u32; 2],
    d: [u8; 3],
    e: Inner,
}
zarr::record!(Outer { a: i32, b: f64, c: [u32; 2], d: [u8; 3], e: Inner });

fn outer(n: u8) -> Outer {
    let e = Inner { x: i16::from(n) - 3, y: n % 2 };
    let text = [u32::from('a') + u32::from(n), u32::from('漢')];
    Outer { a: -i32::from(n), b: f64::from(n) / 4.0, c: text, d: [n, 0, 7], e }
}

fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("x.zarr").to_str().expect("a plain path").to_owned();
    (folder, path)
}

fn create(hierarchy: &Hierarchy, words: &str) -> Result<Array> {
    let array = hierarchy.create_array("/a").shape(&[10]).chunks(&[4]);
    array.data_type_named(words).codec(zarr::tools::codec("zlib:1")?).create()
}

fn le_hex(array: &Array) -> Result<String> {
    Ok(array.read_le_bytes(..)?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Z2-036, F-050: a struct goes in and comes out, whatever byte orders it is stored in.
#[test]
fn structs_are_elements() -> Result<()> {
    // zarr-python 2.18 knows zlib in every dialect, final v3 does not.
    for (dialect, codec) in
        [(Dialect::V2, "zlib:1"), (Dialect::Draft, "zlib:1"), (Dialect::V3, "gzip:1")]
    {
        for words in [WORDS, &WORDS.replace('<', ">"), &WORDS.replace('>', "<")] {
            let (_folder, path) = folder();
            let array = zarr::create(&path, dialect)?.create_array("/a").shape(&[10]);
            let array = array.chunks(&[4]).data_type_named(words).codec(zarr::tools::codec(codec)?);
            let array = array.create()?;
            let data: Vec<Outer> = (0..10).map(outer).collect();
            array.write(.., &data)?;
            array.append(0, &[outer(77)])?;
            let array = zarr::open(&path)?.into_group()?.array("a")?;
            assert_eq!(array.read::<Outer>(0..10)?, data);
            assert_eq!(array.read::<Outer>(10)?, [outer(77)]);
            let name = "{a: int32, b: float64, c: U2, d: |S3, e: {x: int16, y: bool}}";
            assert_eq!(array.data_type().to_string(), name);
            assert!(array.read::<Inner>(..).is_err() && array.read::<i32>(..).is_err());
        }
    }
    Ok(())
}

/// A struct has a byte where the record has a bool, and four where it has a code point.
#[test]
fn structs_that_are_no_elements_are_refused() -> Result<()> {
    let hierarchy = zarr::create("memory://", Dialect::V2)?;
    let array = create(&hierarchy, WORDS)?;
    let mut bad = outer(1);
    bad.e.y = 2;
    assert_eq!(array.write(0, &[bad]).unwrap_err().kind(), ErrorKind::CorruptData);
    assert_eq!(array.append(0, &[bad]).unwrap_err().kind(), ErrorKind::CorruptData);
    assert_eq!(array.write_field("e", 0, &[bad.e]).unwrap_err().kind(), ErrorKind::CorruptData);
    bad = outer(1);
    bad.c = [0xd800, 0];
    assert_eq!(array.write(0, &[bad]).unwrap_err().kind(), ErrorKind::CorruptData);
    let units = bytemuck::bytes_of(&[0xd800u32, 0]).to_vec();
    assert!(array.write_field_bytes("c", 0, &units).is_err());
    assert_eq!(array.shape(), [10]);
    Ok(())
}

#[test]
fn fields_are_read_and_written_by_themselves() -> Result<()> {
    for dialect in DIALECTS {
        let (_folder, path) = folder();
        let hierarchy = zarr::create(&path, dialect)?;
        let array = hierarchy.create_array("/a").shape(&[5, 3]).chunks(&[2, 2]);
        let array = array.data_type_named(WORDS).create()?;
        array.write_field("b", (1..4, ..), &[0.5; 9])?;
        array.write_field("e.x", (.., 1), &[1i16, -2, 3, -4, 5])?;
        array.write_field("e.y", (0, 0..2), &[true, false])?;
        array.write_field("d", (4, 2), &[*b"abc"])?;
        let c = outer(2).c;
        array.write_field_bytes("c", (4, 2), bytemuck::bytes_of(&c))?;
        let array = zarr::open(&path)?.into_group()?.array("a")?;
        assert_eq!(array.read_field::<f64>("b", (.., 2))?, [0.0, 0.5, 0.5, 0.5, 0.0]);
        assert_eq!(array.read_field::<i16>("e.x", (1..3, ..))?, [0, -2, 0, 0, 3, 0]);
        assert_eq!(array.read_field::<bool>("e.y", (0, ..))?, [true, false, false]);
        assert_eq!(array.read_field::<Inner>("e", (0, 1))?, [Inner { x: 1, y: 0 }]);
        assert_eq!(array.read_field_bytes("d", (4, 1..))?, *b"\0\0\0abc");
        let last = Outer { c, d: *b"abc", ..Outer::default() };
        assert_eq!(array.read::<Outer>((4, 2))?, [last]);
        assert!(array.read_field::<i32>("a", (0..0, ..))?.is_empty());
        let why = |result: Result<Vec<f32>>| result.unwrap_err().to_string();
        assert!(why(array.read_field("b", ..)).contains("the field `b` of type `float64`"));
        assert!(why(array.read_field("z", ..)).contains("there is no field `z`"));
        assert!(array.write_field("b", .., &[0.5f64; 14]).is_err());
    }
    let plain = zarr::create("memory://", Dialect::V3)?;
    let plain = create_plain(&plain)?;
    let why = plain.read_field::<f64>("b", ..).unwrap_err().to_string();
    assert!(why.contains("elements are `float64` and have no fields"), "{why}");
    Ok(())
}

fn create_plain(hierarchy: &Hierarchy) -> Result<Array> {
    hierarchy.create_array("/p").shape(&[2]).data_type_named("float64").create()
}

/// Z2-035: a field with a shape has several elements in each record.
#[test]
fn a_field_with_a_shape_is_read_and_written_whole() -> Result<()> {
    let array =
        create(&zarr::create("memory://", Dialect::V2)?, r#"[["n","|u1"],["q",">i2",[2,3]]]"#)?;
    let data: Vec<i16> = (0..60).collect();
    array.write_field("q", .., &data)?;
    array.write_field("n", 3..5, &[8u8, 9])?;
    assert_eq!(array.read_field::<i16>("q", 4..6)?, data[24..36]);
    assert_eq!(array.read_field::<u8>("n", 2..6)?, [0, 8, 9, 0]);
    assert!(array.write_field("q", 0, &[1i16; 5]).is_err());
    let cannot = zarr::create("memory://", Dialect::V3)?;
    let from = array.hierarchy().node("/a")?;
    let refused = zarr::tools::copy(&from, &cannot, "/a", &CopyOptions::default()).unwrap_err();
    assert!(
        refused.to_string().contains("the data type `{n: uint8, q: int16[2, 3]}`"),
        "{refused}"
    );
    Ok(())
}

/// What nobody wrote of a chunk is fill, field by field; a chunk that is all fill again is not kept.
#[test]
fn a_field_lies_over_the_fill_value() -> Result<()> {
    let (_folder, path) = folder();
    let array = zarr::create(&path, Dialect::V3)?.create_array("/a").shape(&[3]);
    let array = array.data_type_named(r#"[["a","<i4"],["b",">i2"]]"#);
    let fill = Json::parse(br#"{"a":7,"b":-1}"#).expect("JSON");
    let array = array.fill_value(fill).create()?;
    assert_eq!(array.read_field::<i16>("b", ..)?, [-1; 3]);
    array.write_field("a", 1, &[8])?;
    assert_eq!(array.read_field::<i16>("b", ..)?, [-1; 3]);
    assert_eq!(array.read_field::<i32>("a", ..)?, [7, 8, 7]);
    array.write_field("a", 1, &[7])?;
    assert!(array.chunk(&[0])?.encoded()?.is_none());
    Ok(())
}

/// Threads that each write a field of the same records, one of them a whole record.
#[test]
fn writers_of_different_fields_lose_nothing() -> Result<()> {
    const ROUNDS: i32 = 60;
    for dialect in DIALECTS {
        let (_folder, path) = folder();
        let hierarchy = zarr::create(&path, dialect)?;
        let array = hierarchy.create_array("/a").shape(&[6]).chunks(&[6]);
        array
            .data_type_named(r#"[["a","<i4"],["b",">i4"],["c",[["d","<i4"],["e","<i4"]]]]"#)
            .create()?;
        let fields = ["a", "b", "c.d", "c.e"];
        let start = Arc::new(Barrier::new(fields.len()));
        let workers = fields.map(|field| {
            let (start, path) = (start.clone(), path.clone());
            std::thread::spawn(move || -> Result<()> {
                let array = zarr::open_rw(&path)?.into_group()?.array("a")?;
                start.wait();
                for round in 1..=ROUNDS {
                    array.write_field(field, .., &[round; 6])?;
                    assert_eq!(array.read_field::<i32>(field, ..)?, [round; 6], "my own field");
                }
                Ok(())
            })
        });
        workers.into_iter().try_for_each(|worker| worker.join().expect("no panic"))?;
        let array = hierarchy.array("/a")?;
        for field in fields {
            assert_eq!(array.read_field::<i32>(field, ..)?, [ROUNDS; 6], "{dialect} {field}");
        }
    }
    Ok(())
}

/// Without the guard a field is still laid over what is there.
#[test]
fn an_unguarded_field_leaves_the_others() -> Result<()> {
    let (_folder, path) = folder();
    create(&zarr::create(&path, Dialect::V2)?, WORDS)?.write(.., &[outer(5); 10])?;
    let options = OpenOptions::new(zarr::standard()).read_write().guard(Guard::Off);
    let (hierarchy, _) = Hierarchy::locate(&path, &options)?;
    let array = hierarchy.array("/a")?;
    array.write_field("a", .., &[1; 10])?;
    assert_eq!(array.read::<Outer>(9)?, [Outer { a: 1, ..outer(5) }]);
    Ok(())
}

/// Values, names and, where the target can say them, byte orders outlive a conversion.
#[test]
fn conversion_keeps_values_and_names() -> Result<()> {
    let from = zarr::create("memory://", Dialect::V2)?;
    let made = from.create_array("/a").shape(&[10]).chunks(&[4]).data_type_named(WORDS);
    let fill = Json::from("CQAAAEAEAAAAAAAAZgAAAAAAAABwcQABAgE=");
    let array = made.fill_value(fill).create()?;
    array.write(0..7, &(0..7).map(outer).collect::<Vec<_>>())?;
    let expected = le_hex(&array)?;
    let mut node = from.node("/a")?;
    let mut kept = Vec::new();
    for to in [Dialect::Draft, Dialect::V2, Dialect::V3, Dialect::Draft, Dialect::V3, Dialect::V2] {
        let target = zarr::create("memory://", to)?;
        zarr::tools::copy(&node, &target, "/a", &CopyOptions::default())?;
        let copied = target.array("/a")?;
        assert_eq!(copied.data_type(), array.data_type());
        assert_eq!(copied.metadata().fill_value, array.metadata().fill_value);
        assert_eq!(le_hex(&copied)?, expected);
        assert_eq!(copied.read::<Outer>(..)?, array.read::<Outer>(..)?);
        kept.push(copied.metadata().declared_type.to_string().contains(">f8"));
        node = target.node("/a")?;
    }
    // Final v3 has one byte order for all fields, and then it is gone.
    assert_eq!(kept, [true, true, false, false, false, false]);
    let big = from.create_array("/big").shape(&[1]);
    let big = big.data_type_named(r#"[["a",">i4"],["b",">f8"]]"#).create()?;
    assert_eq!(big.metadata().endian(), Endian::Big);
    let target = zarr::create("memory://", Dialect::V3)?;
    let node = from.node("/big")?;
    zarr::tools::copy(&node, &target, "/big", &CopyOptions::default())?;
    assert_eq!(target.array("/big")?.metadata().endian(), Endian::Big);
    Ok(())
}

/// F-051: what zarr-python 3.1 called `structured` is copied as `struct`.
#[test]
fn the_old_name_is_not_written() -> Result<()> {
    let (_folder, path) = folder();
    std::fs::create_dir_all(&path).expect("a folder");
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[1],
        "data_type":{"name":"structured","configuration":{"fields":[["x","float32"],["y","float32"]]}},
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},
        "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},
        "fill_value":"AACAPwAAAEA=","codecs":[{"name":"bytes"}],"attributes":{}}"#;
    std::fs::write(format!("{path}/zarr.json"), document).expect("a document");
    let target = zarr::create("memory://", Dialect::V3)?;
    zarr::tools::copy(&zarr::open(&path)?, &target, "/a", &CopyOptions::default())?;
    let metadata = target.array("/a")?.metadata();
    assert!(metadata.declared_type.to_string().contains(r#""name":"struct""#));
    assert_eq!(metadata.declared_fill.to_string(), r#"{"x":1.0,"y":2.0}"#);
    Ok(())
}

#[tokio::test]
async fn callers_that_wait_have_fields_too() -> Result<()> {
    let (_folder, path) = folder();
    let blocking = create(&zarr::create(&path, Dialect::V2)?, WORDS)?;
    let hierarchy = blocking.hierarchy().as_async();
    let array = hierarchy.array("/a").await?;
    let data: Vec<Outer> = (0..10).map(outer).collect();
    array.write(.., data.clone()).await?;
    assert_eq!(array.read::<Outer>(2..9).await?, data[2..9]);
    let fields = ["a", "e.x"].map(|field| {
        let array = array.clone();
        tokio::spawn(async move {
            for n in 0..10u64 {
                match field {
                    "a" => array.write_field(field, n, vec![n as i32]).await?,
                    _ => array.write_field(field, n, vec![n as i16]).await?,
                }
            }
            Ok::<_, zarr::Error>(())
        })
    });
    for field in fields {
        field.await.expect("no panic")?;
    }
    assert_eq!(array.read_field::<i32>("a", ..).await?, (0..10).collect::<Vec<_>>());
    assert_eq!(array.read_field::<i16>("e.x", 3..5).await?, [3, 4]);
    assert_eq!(array.read_field::<bool>("e.y", 3..5).await?, [true, false]);
    assert_eq!(array.read_field_bytes("d", 1..3).await?, [1, 0, 7, 2, 0, 7]);
    assert_eq!(blocking.read_field::<f64>("b", ..)?[9], 2.25);
    let mut bad = data[0];
    bad.e.y = 3;
    assert!(array.write(0, vec![bad]).await.is_err());
    assert!(array.read_field::<f32>("b", ..).await.is_err());
    Ok(())
}

/// F-049, F-050: as zarr-python 3.4.2 writes raw bytes in a record, which it would not open with a list for a fill value.
#[test]
fn a_copy_spells_the_fill_value_of_raw_bytes_in_a_record_as_its_type() -> Result<()> {
    let raw = r#"{"name":"raw_bytes","configuration":{"length_bytes":2}}"#;
    let fill = r#"{"a":1,"b":"AAE=","c":{"d":"/wA="},"e":[0,1]}"#;
    let fields = format!(
        r#"[{{"name":"a","data_type":"uint8"}},{{"name":"b","data_type":{raw}}},{{"name":"c","data_type":{{"name":"struct",
        "configuration":{{"fields":[{{"name":"d","data_type":{raw}}}]}}}}}},{{"name":"e","data_type":"r16"}}]"#
    );
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[2],"data_type":{{"name":"struct","configuration":{{"fields":{fields}}}}},
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2]}}}},"chunk_key_encoding":{{"name":"default"}},
        "fill_value":{fill},"codecs":[{{"name":"bytes"}}]}}"#
    );
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir(at("a.zarr")).expect("a folder");
    std::fs::write(at("a.zarr/zarr.json"), document).expect("a file");
    let source = zarr::open_array(&at("a.zarr"))?;
    let target = zarr::create(&at("b.zarr"), Dialect::V3)?;
    zarr::tools::copy(&Node::Array(source), &target, "/copy", &CopyOptions::default())?;
    let copied = std::fs::read(at("b.zarr/copy/zarr.json")).expect("a document");
    let copied = Json::parse(&copied).expect("JSON");
    let copied = copied.as_object().and_then(|it| it.get("fill_value")).expect("a fill value");
    assert_eq!(copied.to_string(), fill);
    Ok(())
}

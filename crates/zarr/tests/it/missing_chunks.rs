//! A reader that says so takes no fill value for a chunk, or an inner chunk of a shard, that is not stored: the read is an error with its place.
#![cfg(all(feature = "memory", feature = "sharding", feature = "gzip", feature = "vlen-utf8"))]

use std::sync::Arc;

use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::{
    Array, Cause, ChunkPart, CodecError, Dialect, Error, ErrorKind, Hierarchy, MissingChunks,
    OpenOptions, Result, Selection, ViewMut,
};
use zarr_testkit::Remote;

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn refusing() -> OpenOptions {
    options().missing(MissingChunks::Error)
}

fn memory() -> Arc<dyn Store> {
    from_sync(MemoryStore::new())
}

/// Each way to the values of a store: a local one, and a remote one; each with a cache of decoded chunks, and without.
fn openings(store: &Arc<dyn Store>) -> Vec<(String, Hierarchy)> {
    let mut openings = Vec::new();
    let stores: [(&str, Arc<dyn Store>); 2] =
        [("local", store.clone()), ("remote", Arc::new(Remote(store.clone())))];
    for (place, store) in stores {
        for cache in [0, 1 << 20] {
            let opened = Hierarchy::open(store.clone(), &refusing().chunk_cache(cache));
            openings.push((format!("{place}, cache of {cache}"), opened.expect("it is there")));
        }
    }
    openings
}

fn set(store: &Arc<dyn Store>, key: &str, value: &[u8]) {
    let key = StoreKey::new(key).expect("a good key");
    store.to_sync().set(&key, value.into()).expect("memory takes it");
}

fn erase(store: &Arc<dyn Store>, key: &str) {
    let key = StoreKey::new(key).expect("a good key");
    let store = store.to_sync();
    assert!(store.value(&key).expect("readable").is_some(), "{key} is stored");
    store.erase(&key).expect("memory erases");
}

/// Checks that a read failed for the chunk of these indices, and what it says.
fn check_missing(error: &Error, chunk: &[i64], what: &str, context: &str) {
    assert_eq!(error.kind(), ErrorKind::CorruptData, "{context}: {error}");
    assert!(
        matches!(error.cause(), Cause::Codec(CodecError::MissingChunk { .. })),
        "{context}: {error}"
    );
    assert_eq!(error.chunk(), Some(chunk), "{context}: {error}");
    assert_eq!(error.hint_id(), Some("missing_chunk"), "{context}: {error}");
    assert!(error.message().contains(what), "{context}: {error}, expected {what}");
}

/// 1s but for one chunk that was lost: (1, 0) of chunks of 2 × 2.
fn one_lost(dialect: Dialect) -> Result<(Arc<dyn Store>, &'static str)> {
    let store = memory();
    let hierarchy = Hierarchy::create(store.clone(), options().format(dialect), &options())?;
    let array = hierarchy.create_array("/g/a").shape(&[6, 4]).chunks(&[2, 2]);
    let array = array.data_type_named("int32").fill_value(7).create()?;
    array.write(.., &[1; 24])?;
    let key = match dialect {
        Dialect::V2 => "g/a/1/0",
        Dialect::V3 => "g/a/c/1/0",
        _ => "data/root/g/a/c1/0",
    };
    erase(&store, key);
    Ok((store, key))
}

fn part_of(chunk: [u64; 2]) -> ChunkPart {
    ChunkPart {
        chunk: chunk.to_vec(),
        within: Selection::from((0..2, 0..2)),
        place: Selection::from((0..2, 0..2)),
    }
}

/// Every kind of reading that touches the lost chunk.
fn readings(array: &Array) -> Vec<(&'static str, Result<()>)> {
    let mut out = [0; 24];
    let mut memory = [0u8; 96];
    let mut strided = [0u8; 96];
    let mut parts = [0u8; 16];
    let points = Selection::points([vec![0, 3, 5], vec![0, 1, 3]]);
    vec![
        ("whole", array.read::<i32>(..).map(drop)),
        ("one chunk", array.read::<i32>((2..4, 0..2)).map(drop)),
        ("one element", array.read::<i32>((3, 1)).map(drop)),
        ("a region", array.read::<i32>((1..5, 1..3)).map(drop)),
        ("points", array.read::<i32>(points).map(drop)),
        ("into memory", array.read_into(.., &mut out)),
        ("bytes", array.read_bytes(..).map(drop)),
        ("little-endian bytes", array.read_le_bytes(..).map(drop)),
        ("a view", array.read_view(.., ViewMut::new(&mut memory, &[6, 4], 4))),
        (
            "a strided view",
            ViewMut::strided(&mut strided, 0, &[6, 4], &[4, 24], 4)
                .map_err(Error::from)
                .and_then(|view| array.read_view(.., view)),
        ),
        (
            "chunks",
            array
                .chunks(..)
                .and_then(|mut chunks| chunks.try_for_each(|chunk| chunk.read::<i32>().map(drop))),
        ),
        (
            "parts of chunks",
            array
                .read_chunks_into(&[part_of([1, 0])], ViewMut::new(&mut parts, &[2, 2], 4))
                .map(drop),
        ),
    ]
}

#[test]
fn every_read_that_touches_a_lost_chunk_names_it() -> Result<()> {
    for dialect in DIALECTS {
        let (store, key) = one_lost(dialect)?;
        for (opening, hierarchy) in openings(&store) {
            let array = hierarchy.array("/g/a")?;
            for again in ["first", "second"] {
                for (reading, read) in readings(&array) {
                    let context = format!("{dialect:?}, {opening}, {reading}, {again} time");
                    let error = read.expect_err(&context);
                    check_missing(&error, &[1, 0], "the chunk is not stored", &context);
                    assert_eq!(error.key().map(StoreKey::as_str), Some(key), "{context}");
                    assert_eq!(error.path().map(ToString::to_string), Some("/g/a".into()));
                    let told = error.to_string();
                    assert!(told.contains("copy the array again"), "{told}");
                }
            }
            // The others can be read, also those of no elements.
            assert_eq!(array.read::<i32>((0..2, ..))?, [1; 8]);
            assert_eq!(array.read::<i32>((.., 2..))?, [1; 12]);
            assert_eq!(array.read::<i32>((2..2, ..))?.len(), 0);
            let points = Selection::points([vec![0, 5, 2], vec![0, 3, 2]]);
            assert_eq!(array.read::<i32>(points)?, [1; 3]);
            let mut memory = [0u8; 16];
            let view = ViewMut::new(&mut memory, &[2, 2], 4);
            assert_eq!(array.read_chunks_into(&[part_of([2, 0])], view)?, [true]);
            // The bytes of a chunk that is not stored are none, and no fill value stands for them.
            assert_eq!(array.chunk(&[1, 0])?.encoded()?, None);
            // By default the specification's fill value is taken.
            let filling = array.with_options(|options| options.missing = MissingChunks::default());
            assert_eq!(filling.read::<i32>((2..4, ..))?, [7, 7, 1, 1, 7, 7, 1, 1]);
        }
    }
    Ok(())
}

#[tokio::test]
async fn async_reads_name_it_too() -> Result<()> {
    let (store, _) = one_lost(Dialect::V3)?;
    for (opening, hierarchy) in openings(&store) {
        let array = hierarchy.array("/g/a")?.as_async();
        let selections: [Selection; 4] = [
            Selection::from(..),
            (2..4, 0..2).into(),
            (1..5, 1..3).into(),
            Selection::points([vec![0, 3], vec![0, 1]]),
        ];
        for selection in selections {
            let error = array.read::<i32>(selection).await.expect_err(&opening);
            check_missing(&error, &[1, 0], "the chunk is not stored", &opening);
        }
        let (_, read) = array.read_into(.., vec![0i32; 24]).await;
        check_missing(&read.expect_err(&opening), &[1, 0], "not stored", &opening);
        assert_eq!(array.read::<i32>((0..2, ..)).await?, [1; 8]);
    }
    Ok(())
}

/// The document of an array of 8 × 8 bytes, fill value 7, with these codecs.
fn of_codecs(chunk: u64, codecs: &str) -> String {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[8,8],"data_type":"uint8","fill_value":7,
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{chunk},{chunk}]}}}},
        "chunk_key_encoding":{{"name":"default"}},"codecs":{codecs}}}"#
    )
}

fn sharding(inner: u64, codecs: &str) -> String {
    format!(
        r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[{inner},{inner}],"codecs":{codecs},
        "index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}}}]"#
    )
}

const BYTES: &str = r#"[{"name":"bytes"}]"#;

/// Codecs, then gzip.
fn compressed(codecs: &str) -> String {
    let end = codecs.rfind(']').expect("a list");
    format!(r#"{},{{"name":"gzip","configuration":{{"level":1}}}}]"#, &codecs[..end])
}

#[test]
fn inner_chunks_of_shards_are_named() -> Result<()> {
    let nested = |inner: &str| sharding(4, inner);
    let flat = sharding(2, BYTES);
    let inner = "inner chunk (0, 1) is not stored";
    let deep = "inner chunk (0, 1) of inner chunk (1, 0) is not stored";
    // Shards of 8 × 8 with inner chunks of 2 × 2, in the array, in shards, and compressed as a whole.
    let cases = [
        ("flat", flat.clone(), [0, 2], inner),
        ("compressed inner chunks", sharding(2, &compressed(BYTES)), [0, 2], inner),
        ("compressed shard", compressed(&flat), [0, 2], inner),
        ("nested", nested(&flat), [4, 2], deep),
        ("compressed inner shard", nested(&compressed(&flat)), [4, 2], deep),
        ("compressed nested shard", compressed(&nested(&flat)), [4, 2], deep),
    ];
    for (case, codecs, [row, column], what) in cases {
        let store = memory();
        set(&store, "zarr.json", of_codecs(8, &codecs).as_bytes());
        let array = Hierarchy::open(store.clone(), &options())?.array("/")?;
        let mut elements: Vec<u8> = (100..164).collect();
        let place = |n: usize| (row as usize + n / 2) * 8 + column as usize + n % 2;
        (0..4).for_each(|n| elements[place(n)] = 7);
        array.write(.., &elements)?;
        assert_eq!(array.read::<u8>(..)?, elements);
        let lost = (row..row + 2, column..column + 2);
        for (opening, hierarchy) in openings(&store) {
            let context = &format!("{case}, {opening}");
            let array = hierarchy.array("/")?;
            // A handle that fills puts what it decoded into the cache, if there is one.
            let filling = array.with_options(|options| options.missing = MissingChunks::Fill);
            assert_eq!(filling.read::<u8>(..)?, elements, "{context}");
            for _ in 0..2 {
                let error = array.read::<u8>(..).expect_err(context);
                check_missing(&error, &[0, 0], what, context);
                assert_eq!(error.key().map(StoreKey::as_str), Some("c/0/0"), "{context}");
                let error = array.read::<u8>(lost.clone()).expect_err(context);
                check_missing(&error, &[0, 0], what, context);
                let scattered = Selection::points([vec![0, row], vec![0, column + 1]]);
                let error = array.read::<u8>(scattered).expect_err(context);
                check_missing(&error, &[0, 0], what, context);
                // Beside it nothing is missing.
                assert_eq!(array.read::<u8>((0..2, 0..2))?, [100, 101, 108, 109], "{context}");
                let last = 7..8;
                assert_eq!(array.read::<u8>((last, 0..8))?, elements[56..], "{context}");
            }
            assert_eq!(filling.read::<u8>(lost.clone())?, [7; 4], "{context}");
        }
        // A whole shard that is lost is a chunk that is not stored.
        erase(&store, "c/0/0");
        for (opening, hierarchy) in openings(&store) {
            let error = hierarchy.array("/")?.read::<u8>((0..2, 0..2)).expect_err(&opening);
            check_missing(&error, &[0, 0], "the chunk is not stored", &opening);
        }
    }
    Ok(())
}

/// Large parts of remote shards are read some inner chunks at a time.
#[test]
fn inner_chunks_of_large_parts_are_named() -> Result<()> {
    let store = memory();
    let hierarchy = Hierarchy::create(store.clone(), options().format(Dialect::V3), &options())?;
    let array = hierarchy.create_array("/a").shape(&[16, 1 << 20]).chunks(&[1, 1 << 20]);
    let array = array.shards(&[16, 1 << 20]).data_type_named("uint8").create()?;
    array.write((0..13, ..), &vec![1u8; 13 << 20])?;
    array.write((14..16, ..), &vec![1u8; 2 << 20])?;
    for (opening, hierarchy) in openings(&store) {
        let array = hierarchy.array("/a")?;
        let error = array.read::<u8>(..).expect_err(&opening);
        check_missing(&error, &[0, 0], "inner chunk (13, 0) is not stored", &opening);
        assert!(array.read::<u8>((0..13, ..))?.iter().all(|&byte| byte == 1), "{opening}");
    }
    Ok(())
}

#[test]
fn texts_scalars_and_fields_are_no_exception() -> Result<()> {
    for dialect in DIALECTS {
        let store = memory();
        let hierarchy = Hierarchy::create(store.clone(), options().format(dialect), &options())?;
        let texts = hierarchy.create_array("/texts").shape(&[4]).chunks(&[2]);
        let made = texts.data_type_named("string").fill_value("none").create();
        let has_texts = match made {
            Ok(texts) => texts.write(0..2, &["a".to_owned(), "b".to_owned()]).map(|()| true)?,
            // The drafts have no such type.
            Err(e) => {
                assert_eq!((dialect, e.kind()), (Dialect::Draft, ErrorKind::Unsupported), "{e}");
                false
            }
        };
        let scalar = hierarchy.create_array("/scalar").shape(()).data_type_named("int32");
        scalar.create()?;
        let empty = hierarchy.create_array("/empty").shape(&[0, 5]).chunks(&[1, 5]);
        empty.data_type_named("int32").create()?;
        for (opening, hierarchy) in openings(&store) {
            let context = &format!("{dialect:?}, {opening}");
            if has_texts {
                let texts = hierarchy.array("/texts")?;
                assert_eq!(texts.read::<String>(0..2)?, ["a", "b"]);
                let error = texts.read::<String>(..).expect_err(context);
                check_missing(&error, &[1], "the chunk is not stored", context);
            }
            let error = hierarchy.array("/scalar")?.read::<i32>(..).expect_err(context);
            check_missing(&error, &[], "the chunk is not stored", context);
            // An array without elements has no chunks.
            assert_eq!(hierarchy.array("/empty")?.read::<i32>(..)?.len(), 0);
        }
        let scalar = hierarchy.array("/scalar")?;
        scalar.write(.., &[5])?;
        for (opening, hierarchy) in openings(&store) {
            assert_eq!(hierarchy.array("/scalar")?.read::<i32>(..)?, [5], "{opening}");
        }
    }
    let store = memory();
    let hierarchy = Hierarchy::create(store.clone(), options().format(Dialect::V2), &options())?;
    let records = hierarchy.create_array("/records").shape(&[4]).chunks(&[2]);
    let records = records.data_type_named(r#"[["a","<i4"],["b","<f8"]]"#);
    let records = records.create()?;
    records.write_field("a", 0..2, &[1i32, 2])?;
    for (opening, hierarchy) in openings(&store) {
        let records = hierarchy.array("/records")?;
        assert_eq!(records.read_field::<i32>("a", 0..2)?, [1, 2], "{opening}");
        let error = records.read_field::<i32>("a", 1..3).expect_err(&opening);
        check_missing(&error, &[1], "the chunk is not stored", &opening);
    }
    Ok(())
}

/// An undefined fill value says nothing of elements that are not stored: where the reader asks for that, they are an error.
#[test]
fn arrays_without_a_fill_value_have_missing_chunks_too() -> Result<()> {
    let store = memory();
    let hierarchy = Hierarchy::create(store.clone(), options().format(Dialect::V2), &options())?;
    let array = hierarchy.create_array("/a").shape(&[4]).chunks(&[2]).data_type_named("int32");
    array.undefined_fill().create()?.write(0..2, &[0, 0])?;
    for (opening, hierarchy) in openings(&store) {
        let array = hierarchy.array("/a")?;
        assert_eq!(array.read::<i32>(0..2)?, [0, 0], "{opening}");
        check_missing(&array.read::<i32>(..).expect_err(&opening), &[1], "not stored", &opening);
    }
    Ok(())
}

/// A draft has two keys for the chunk of a scalar.
#[test]
fn both_keys_of_a_draft_are_named() -> Result<()> {
    let store = memory();
    let hierarchy = Hierarchy::create(store.clone(), options().format(Dialect::Draft), &options())?;
    hierarchy.create_array("/s").shape(()).data_type_named("uint8").create()?;
    for (opening, hierarchy) in openings(&store) {
        let error = hierarchy.array("/s")?.read::<u8>(..).expect_err(&opening);
        let what =
            "at `data/root/s/c`: the chunk is not stored, neither there nor at `data/root/s/c0`";
        check_missing(&error, &[], what, &opening);
    }
    set(&store, "data/root/s/c0", &[9]);
    for (opening, hierarchy) in openings(&store) {
        assert_eq!(hierarchy.array("/s")?.read::<u8>(..)?, [9], "{opening}");
    }
    Ok(())
}

/// The sharding of zarr-python 2.13 to 2.18 puts several chunks into one object.
#[test]
fn chunks_that_share_an_object_are_named() -> Result<()> {
    let store = memory();
    let core = "https://purl.org/zarr/spec/protocol/core/3.0";
    let entry = format!(
        r#"{{"zarr_format":"{core}","metadata_encoding":"{core}","metadata_key_suffix":".json","extensions":[]}}"#
    );
    set(&store, "zarr.json", entry.as_bytes());
    let array = r#"{"shape":[4],"data_type":"|u1","chunk_grid":{"type":"regular","chunk_shape":[1],"separator":"/"},
        "chunk_memory_layout":"C","fill_value":7,"extensions":[],"attributes":{},"storage_transformers":[
        {"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"indexed","configuration":{"chunks_per_shard":[2]}}]}"#;
    set(&store, "meta/root/a.array.json", array.as_bytes());
    let entry = |offset: u64, len: u64| [offset.to_le_bytes(), len.to_le_bytes()].concat();
    let object = [vec![5], entry(0, 1), entry(u64::MAX, u64::MAX)].concat();
    set(&store, "data/root/a/c0", &object);
    for (opening, hierarchy) in openings(&store) {
        let array = hierarchy.array("/a")?;
        assert_eq!(array.read::<u8>(0..1)?, [5], "{opening}");
        for (index, key) in [(1u64, "data/root/a/c0"), (2, "data/root/a/c1"), (3, "data/root/a/c1")]
        {
            let error = array.read::<u8>(index).expect_err(&opening);
            check_missing(&error, &[index as i64], "the chunk is not stored", &opening);
            assert_eq!(error.key().map(StoreKey::as_str), Some(key), "{opening}");
        }
    }
    Ok(())
}

/// An array that is gone is no array of missing chunks.
#[test]
fn an_array_that_is_gone_is_gone() -> Result<()> {
    for dialect in DIALECTS {
        let (store, _) = one_lost(dialect)?;
        let opened: Vec<(String, Array)> = openings(&store)
            .into_iter()
            .map(|(opening, hierarchy)| Ok((opening, hierarchy.array("/g/a")?)))
            .collect::<Result<_>>()?;
        let other = Hierarchy::open(store.clone(), &options())?;
        other.erase("/g/a")?;
        for (opening, array) in opened {
            for (reading, read) in readings(&array) {
                let error = read.expect_err(reading);
                let context = format!("{dialect:?}, {opening}, {reading}: {error}");
                assert_eq!(error.kind(), ErrorKind::NotFound, "{context}");
            }
        }
    }
    Ok(())
}

/// A write of a part of a chunk begins with the fill value, as for any other writer.
#[test]
fn parts_of_missing_chunks_can_be_written() -> Result<()> {
    for codecs in [BYTES.to_owned(), sharding(2, BYTES), compressed(&sharding(2, BYTES))] {
        let store = memory();
        set(&store, "zarr.json", of_codecs(4, &codecs).as_bytes());
        let array = Hierarchy::open(store.clone(), &refusing())?.array("/")?;
        array.write((0, 0), &[1u8])?;
        array.write((0, 1), &[2u8])?;
        assert_eq!(array.read::<u8>((0..2, 0..2))?, [1, 2, 7, 7]);
        assert!(array.read::<u8>((5, 5)).is_err());
        let error = array.read::<u8>((0..4, 0..4));
        assert_eq!(error.is_err(), codecs != BYTES, "{codecs}");
    }
    Ok(())
}

/// What is read ahead is not what the caller asked for.
#[test]
fn reading_ahead_reports_nothing() -> Result<()> {
    let (store, _) = one_lost(Dialect::V3)?;
    erase(&store, "g/a/c/2/1");
    let ahead = refusing().chunk_cache(1 << 20).read_ahead(2);
    for store in [store.clone(), Arc::new(Remote(store))] {
        let array = Hierarchy::open(store, &ahead)?.array("/g/a")?;
        assert_eq!(array.read::<i32>((0, ..))?, [1; 4]);
        assert_eq!(array.read::<i32>((1, ..))?, [1; 4]);
        check_missing(&array.read::<i32>((2, ..)).expect_err("lost"), &[1, 0], "not stored", "");
        assert_eq!(array.read::<i32>((4, 0..2))?, [1; 2]);
    }
    Ok(())
}

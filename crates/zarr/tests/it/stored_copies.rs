//! Copies whose chunks are those of the source byte for byte are copied as stored: nothing is decoded.
#![cfg(all(
    feature = "memory",
    feature = "filesystem",
    feature = "gzip",
    feature = "zlib",
    feature = "zstd",
    feature = "blosc",
    feature = "shuffle",
    feature = "lz4",
    feature = "crc32c",
    feature = "sharding"
))]

use std::sync::Arc;

use zarr::format::{Draft, Format, of_dialect};
use zarr::store::{Precondition, Store, StoreKey, from_sync};
use zarr::stores::{FilesystemStore, MemoryStore};
use zarr::tools::{CopyOptions, Steps, Verify};
use zarr::{Array, CodecError, Dialect, ErrorKind, Hierarchy, Node, NodePath, OpenOptions};

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];

fn begun(dialect: Dialect) -> Hierarchy {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = OpenOptions::new(zarr::standard()).read_write();
    Hierarchy::create(store, of_dialect(dialect), &options).unwrap()
}

/// An array of 40 × 30 elements in chunks of 10 × 10, of which those of the last row are not stored.
fn array(hierarchy: &Hierarchy, data_type: &str, codecs: &[&str]) -> zarr::Result<Array> {
    let mut builder = hierarchy.create_array("/a").shape(&[40, 30]).chunks(&[10, 10]);
    builder = builder.data_type_named(data_type);
    for codec in codecs {
        builder = builder.codec(zarr::tools::codec(codec).unwrap());
    }
    let array = builder.create()?;
    let elements: Vec<u8> = (1..=30 * 30u32).flat_map(u32::to_le_bytes).collect();
    array.write_le_bytes((0..30, ..), &elements)?;
    Ok(array)
}

fn chunk_key(array: &Array, indices: &[u64]) -> StoreKey {
    array.chunk(indices).unwrap().key().unwrap()
}

fn stored(array: &Array, indices: &[u64]) -> Option<Vec<u8>> {
    let store = array.hierarchy().store().to_sync();
    store.value(&chunk_key(array, indices)).unwrap().map(|bytes| bytes.to_vec())
}

fn put(array: &Array, indices: &[u64], bytes: &[u8]) {
    let (store, key) = (array.hierarchy().store().to_sync(), chunk_key(array, indices));
    assert!(store.put(&key, Some(bytes.into()), Precondition::Always).unwrap());
}

/// Whether a copy is made without decoding: of a chunk that cannot be decoded, too. `None` if the source's dialect has no words
/// for the chain, or the target's none.
fn is_copied_as_stored(
    from: Dialect,
    to: Dialect,
    data_type: &str,
    codecs: &[&str],
) -> Option<bool> {
    let (source, target) = (begun(from), begun(to));
    let array = array(&source, data_type, codecs).ok()?;
    let plan =
        zarr::tools::plan_copy(&Node::Array(array.clone()), &target, "/a", &CopyOptions::default());
    let is_stored = plan.ok()?.recoded().next().is_none();
    let copied =
        zarr::tools::copy(&Node::Array(array.clone()), &target, "/a", &CopyOptions::default());
    copied.unwrap();
    let copy = target.array("/a").unwrap();
    assert_eq!(copy.read_bytes(..).unwrap(), array.read_bytes(..).unwrap());
    if is_stored {
        for row in 0..4 {
            for column in 0..3 {
                assert_eq!(stored(&copy, &[row, column]), stored(&array, &[row, column]));
            }
        }
        assert!(stored(&copy, &[3, 0]).is_none(), "a missing chunk stays missing");
        // What cannot be decoded was not decoded.
        let target = begun(to);
        put(&array, &[1, 1], b"no such chunk");
        zarr::tools::copy(&Node::Array(array), &target, "/a", &CopyOptions::default()).unwrap();
        let copy = target.array("/a").unwrap();
        assert_eq!(stored(&copy, &[1, 1]).as_deref(), Some(&b"no such chunk"[..]));
    }
    Some(is_stored)
}

/// The table of docs/copying.md is what happens.
#[test]
fn the_documented_chains_are_copied_as_stored() {
    let chains: [(&str, &str, &[&str]); 9] = [
        ("no codec", "<i4", &[]),
        ("big-endian", ">i4", &[]),
        ("`gzip`", "<i4", &["gzip:5"]),
        ("`zlib`", "<i4", &["zlib:5"]),
        ("`zstd`", "<i4", &["zstd:3"]),
        ("`blosc`", "<i4", &["blosc-zstd:5"]),
        ("`shuffle`, `zlib`", "<i4", &["shuffle", "zlib:4"]),
        ("`lz4`", "<i4", &["lz4"]),
        ("`crc32c`", "<i4", &["crc32c"]),
    ];
    let mut table = String::from("| chain |");
    let pairs = || DIALECTS.iter().flat_map(|&from| DIALECTS.map(|to| (from, to)));
    let name = |dialect: Dialect| match dialect {
        Dialect::Draft => "draft",
        other => other.name(),
    };
    for (from, to) in pairs() {
        table += &format!(" {} → {} |", name(from), name(to));
    }
    table += "\n|";
    table += &" --- |".repeat(10);
    for (words, data_type, codecs) in chains {
        table += &format!("\n| {words} |");
        for (from, to) in pairs() {
            table += match is_copied_as_stored(from, to, data_type, codecs) {
                Some(true) => " stored |",
                Some(false) => " recoded |",
                None => " — |",
            };
        }
    }
    let page = include_str!("../../../../docs/copying.md");
    assert!(page.contains(&table), "docs/copying.md should have this table:\n{table}");
}

/// zarr-python 2.18 and GDAL look for the chunk of a draft's scalar at `c0` alone, and the text of 2020 says `c`
/// (draft-v3.md D-046, row 9, V07b).
#[test]
fn a_scalar_copied_as_stored_is_where_readers_of_the_draft_look() {
    for from in DIALECTS {
        let source = begun(from);
        let builder = source.create_array("/s").shape(()).data_type_named("int32");
        let scalar = builder.create().unwrap();
        scalar.write(.., &[7i32]).unwrap();
        for plain_draft in [false, true] {
            let store: Arc<dyn Store> = from_sync(MemoryStore::new());
            let options = OpenOptions::new(zarr::standard()).read_write();
            let format: Arc<dyn Format> = if plain_draft {
                Arc::new(Draft::new().plain_text())
            } else {
                of_dialect(Dialect::Draft)
            };
            let target = Hierarchy::create(store, format, &options).unwrap();
            let (node, settings) = (Node::Array(scalar.clone()), CopyOptions::default());
            let plan = zarr::tools::plan_copy(&node, &target, "/s", &settings).unwrap();
            assert_eq!(plan.recoded().count(), 0, "{from:?}");
            zarr::tools::copy(&node, &target, "/s", &settings).unwrap();
            assert_eq!(target.array("/s").unwrap().read::<i32>(..).unwrap(), [7]);
            let store = target.store().to_sync();
            let is_there = |name: &str| {
                let key = StoreKey::new(format!("data/root/s/{name}")).unwrap();
                store.value(&key).unwrap().is_some()
            };
            let found = (is_there("c0"), is_there("c"));
            assert_eq!(found, (!plain_draft, plain_draft), "{from:?}");
        }
    }
}

/// A filter of v2 may write another byte order than its array has. In final v3 the order is that of `bytes`, which must be
/// the filter's: else a chunk that is copied as stored would be read with its bytes turned.
#[test]
fn filters_of_v2_keep_the_byte_order_in_which_they_write() {
    let orders = ["<", ">"];
    let mut stored = 0;
    for (of_array, of_filter) in orders.iter().flat_map(|a| orders.map(|b| (*a, b))) {
        let filters = [
            format!(
                r#"{{"id": "quantize", "digits": 2, "dtype": "{of_array}f8", "astype": "{of_filter}f4"}}"#
            ),
            format!(
                r#"{{"id": "astype", "encode_dtype": "{of_filter}f4", "decode_dtype": "{of_array}f8"}}"#
            ),
            format!(r#"{{"id": "delta", "dtype": "{of_array}f8", "astype": "{of_filter}f4"}}"#),
            format!(
                r#"{{"id": "fixedscaleoffset", "offset": 1, "scale": 10, "dtype": "{of_array}f8", "astype": "{of_filter}i2"}}"#
            ),
        ];
        for filter in filters {
            let source = begun(Dialect::V2);
            let document = format!(
                r#"{{"zarr_format": 2, "shape": [7], "chunks": [2], "dtype": "{of_array}f8", "fill_value": 0.0,
                "order": "C", "compressor": null, "filters": [{filter}]}}"#
            );
            let key = StoreKey::new("a/.zarray").unwrap();
            let store = source.store().to_sync();
            store.put(&key, Some(document.as_bytes().into()), Precondition::Always).unwrap();
            let array = source.array("/a").unwrap();
            array.write(.., &[0.5f64, -1.25, 3.0, 1000.0, 0.0, 7.5, 2.0]).unwrap();
            let elements = array.read::<f64>(..).unwrap();
            for recode in [false, true] {
                let options = CopyOptions { recode, ..CopyOptions::default() };
                let target = begun(Dialect::V3);
                let node = Node::Array(array.clone());
                let plan = zarr::tools::plan_copy(&node, &target, "/a", &options).unwrap();
                stored += usize::from(plan.recoded().next().is_none());
                zarr::tools::copy(&node, &target, "/a", &options).unwrap();
                let copy = target.array("/a").unwrap();
                assert_eq!(copy.read::<f64>(..).unwrap(), elements, "{document}, recode: {recode}");
            }
        }
    }
    assert_eq!(stored, 16, "every chain has words in final v3 for the bytes that are stored");
}

#[test]
fn shards_and_regions_at_chunk_borders_are_copied_as_stored() {
    let source = begun(Dialect::V3);
    let builder = source.create_array("/s").shape(&[40, 30]).chunks(&[5, 5]).shards(&[20, 10]);
    let sharded = builder.data_type_named("int32").create().unwrap();
    sharded.write(.., &(1..=1200).collect::<Vec<i32>>()).unwrap();
    let target = begun(Dialect::V3);
    zarr::tools::copy(&Node::Array(sharded.clone()), &target, "/s", &CopyOptions::default())
        .unwrap();
    assert_eq!(stored(&target.array("/s").unwrap(), &[1, 2]), stored(&sharded, &[1, 2]));

    let array = array(&source, "<i4", &["gzip:1"]).unwrap();
    for (axes, is_stored) in [
        ([(10, 20), (0, 30)], true),
        ([(10, 30), (20, 10)], true),
        ([(10, 15), (0, 30)], false),
        ([(5, 10), (0, 30)], false),
    ] {
        let steps = axes.map(|(start, len)| Steps { start, step: 1, len }).to_vec();
        let regions = [(NodePath::new("/a").unwrap(), steps)].into();
        let options = CopyOptions { regions, ..CopyOptions::default() };
        let target = begun(Dialect::V2);
        let plan =
            zarr::tools::plan_copy(&Node::Array(array.clone()), &target, "/a", &options).unwrap();
        assert_eq!(plan.recoded().next().is_none(), is_stored, "{axes:?}");
        plan.copy(&source, &target, &options).unwrap();
        let [rows, columns] = axes.map(|(start, len)| start..start + len);
        let copy = target.array("/a").unwrap().read::<i32>(..).unwrap();
        assert_eq!(copy, array.read::<i32>((rows, columns)).unwrap(), "{axes:?}");
    }
}

#[test]
fn what_is_asked_for_is_encoded_again() {
    let source = begun(Dialect::V3);
    let array = Node::Array(array(&source, "<i4", &["gzip:1"]).unwrap());
    let other = |options: CopyOptions<'_>| {
        let plan = zarr::tools::plan_copy(&array, &begun(Dialect::V3), "/a", &options).unwrap();
        let mut recoded = plan.recoded();
        recoded.next().map(|(_, why)| why.to_owned())
    };
    let default = CopyOptions::default;
    assert_eq!(other(default()), None);
    let recode = other(CopyOptions { recode: true, ..default() });
    assert_eq!(recode.as_deref(), Some("it was requested"));
    let chunks = other(CopyOptions { chunks: Some(vec![20, 20]), ..default() });
    assert_eq!(chunks.as_deref(), Some("other chunks"));
    let codecs = other(CopyOptions { codecs: Some(vec!["gzip:9".into()]), ..default() });
    assert_eq!(codecs.as_deref(), Some("other codecs"));
}

/// Chunks that are missing read as the source's fill value in the copy, though its own is another one.
#[test]
fn missing_chunks_are_written_where_the_fill_value_differs() {
    let source = begun(Dialect::V2);
    let builder = source.create_array("/a").shape(&[40]).chunks(&[10]).data_type_named("<f8");
    let array = builder.fill_value(7.0).dimension_names(["x"]).create().unwrap();
    array.write(0..30, &(0..30).map(f64::from).collect::<Vec<_>>()).unwrap();
    let target = begun(Dialect::V3);
    let copied = zarr::tools::copy(
        &Node::Group(source.root().unwrap()),
        &target,
        "/",
        &CopyOptions::default(),
    );
    copied.unwrap();
    let copy = target.array("/a").unwrap();
    assert_eq!(stored(&copy, &[1]), stored(&array, &[1]));
    assert_eq!(copy.read::<f64>(..).unwrap(), array.read::<f64>(..).unwrap());
}

/// The same where the copy has no fill value, or the missing value that xarray sees for its own.
#[test]
fn missing_chunks_are_written_where_v2_has_the_missing_value_for_its_fill_value() {
    for missing in [None, Some(9u64)] {
        let source = begun(Dialect::V3);
        let builder = source.create_array("/a").shape(&[40]).chunks(&[10]).data_type_named("int32");
        let array = builder.fill_value(7u64).dimension_names(["x"]).create().unwrap();
        if let Some(missing) = missing {
            array.update_attributes(|all| drop(all.insert("_FillValue", missing))).unwrap();
        }
        array.write(0..30, &(0..30).collect::<Vec<i32>>()).unwrap();
        let (node, target) = (Node::Array(array.clone()), begun(Dialect::V2));
        let plan = zarr::tools::plan_copy(&node, &target, "/a", &CopyOptions::default()).unwrap();
        assert_eq!(plan.recoded().count(), 0, "{missing:?}");
        plan.copy(&source, &target, &CopyOptions::default()).unwrap();
        let copy = target.array("/a").unwrap();
        let fill = copy.metadata().declared_fill.clone();
        assert_eq!(fill, missing.map_or(zarr::Json::Null, zarr::Json::from));
        assert_eq!(stored(&copy, &[1]), stored(&array, &[1]));
        assert_eq!(copy.read::<i32>(..).unwrap(), array.read::<i32>(..).unwrap(), "{missing:?}");
    }
}

/// An array with a codec that this build lacks is copied into the same dialect, documents and chunks as they are.
#[test]
fn unknown_codecs_and_types_are_copied_into_the_same_dialect() {
    let folder = tempfile::tempdir().unwrap();
    let open = OpenOptions::new(zarr::standard()).read_write();
    for (dialect, documents, chunks) in [
        (
            Dialect::V3,
            &[
                (
                    "a/zarr.json",
                    r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":{"name":"org.example.packed","configuration":{"bits":5}},"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"org.example.codec","configuration":{"k":[1]}}],"attributes":{"n":1}}"#,
                ),
                ("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#),
            ][..],
            ["a/c/0", "a/c/1"],
        ),
        (
            Dialect::V2,
            &[
                (
                    "a/.zarray",
                    r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<i4","compressor":{"id":"org.example.codec","k":1},"fill_value":0,"order":"C","filters":null}"#,
                ),
                ("a/.zattrs", r#"{"n":1}"#),
                (".zgroup", r#"{"zarr_format":2}"#),
            ],
            ["a/0", "a/1"],
        ),
    ] {
        let place = folder.path().join(dialect.name());
        let store = FilesystemStore::new(place.join("source"));
        let store: Arc<dyn Store> = from_sync(store);
        let set = |key: &str, value: &[u8]| {
            let key = StoreKey::new(key).unwrap();
            store.to_sync().put(&key, Some(value.into()), Precondition::Always).unwrap();
        };
        documents.iter().for_each(|(key, text)| set(key, text.as_bytes()));
        chunks.iter().for_each(|key| set(key, key.as_bytes()));
        let source = Hierarchy::open(store.clone(), &open).unwrap();
        let copy: Arc<dyn Store> = from_sync(FilesystemStore::new(place.join("copy")));
        let target = Hierarchy::of_format(copy.clone(), of_dialect(dialect), &open);
        let root = Node::Group(source.root().unwrap());
        let options = CopyOptions { verify: Verify::Stored, ..CopyOptions::default() };
        let copied = zarr::tools::copy(&root, &target, "/", &options).unwrap();
        assert!(copied.notes.iter().any(|note| note.contains("org.example")), "{copied:?}");
        let keys = documents.iter().map(|(key, _)| *key).chain(chunks);
        for key in keys.filter(|key| key.starts_with("a/")) {
            let key = StoreKey::new(key).unwrap();
            let value = |store: &Arc<dyn Store>| store.to_sync().value(&key).unwrap().unwrap();
            assert_eq!(value(&copy), value(&store), "{key}");
        }
        // Another dialect may have other words for it.
        let other = begun(if dialect == Dialect::V3 { Dialect::V2 } else { Dialect::V3 });
        let refused = zarr::tools::copy(&root, &other, "/", &CopyOptions::default()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
    }
}

/// An object that the target does not keep is noticed, and erased.
#[test]
fn verify_compares_stored_objects() {
    use zarr::store::{Capabilities, GetOptions, Got, Listing, Payload, StorePrefix, SyncStore};

    /// A store that changes the last byte of the chunk that it is to set. It may be one that sets several values together.
    #[derive(Debug)]
    struct Forgetful(MemoryStore, bool);

    impl SyncStore for Forgetful {
        fn name(&self) -> String {
            "forgetful".into()
        }
        fn capabilities(&self) -> Capabilities {
            Capabilities { set_all: self.1, ..SyncStore::capabilities(&self.0) }
        }
        fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> zarr::store::Result<Option<Got>> {
            SyncStore::get(&self.0, key, how)
        }
        fn put(
            &self,
            key: &StoreKey,
            value: Option<Payload<'_>>,
            only_if: Precondition<'_>,
        ) -> zarr::store::Result<bool> {
            let Some(value) = value else { return SyncStore::put(&self.0, key, None, only_if) };
            let mut bytes = value.into_bytes()?.to_vec();
            if key.as_str() == "a/c/1/1" {
                *bytes.last_mut().unwrap() ^= 1;
            }
            SyncStore::put(&self.0, key, Some(bytes.into()), only_if)
        }
        fn erase_prefix(&self, prefix: &StorePrefix) -> zarr::store::Result<()> {
            SyncStore::erase_prefix(&self.0, prefix)
        }
        fn list_prefix(&self, prefix: &StorePrefix) -> zarr::store::Result<Listing> {
            SyncStore::list_prefix(&self.0, prefix)
        }
    }

    let source = begun(Dialect::V3);
    let array = Node::Array(array(&source, "<i4", &["gzip:1"]).unwrap());
    for set_all in [false, true] {
        let store: Arc<dyn Store> = from_sync(Forgetful(MemoryStore::new(), set_all));
        let open = OpenOptions::new(zarr::standard()).read_write();
        let target = Hierarchy::of_format(store.clone(), of_dialect(Dialect::V3), &open);
        let options = CopyOptions { verify: Verify::Stored, ..CopyOptions::default() };
        let error = zarr::tools::copy(&array, &target, "/a", &options).unwrap_err();
        let is_found = matches!(error.cause(), zarr::Cause::Codec(CodecError::Corrupt { .. }));
        assert!(is_found, "{set_all}: {error}");
        let key = StoreKey::new("a/c/1/1").unwrap();
        assert!(store.to_sync().value(&key).unwrap().is_none(), "{set_all}: it is erased");
    }
}

/// What was damaged in the source already is equal by its bytes, and an error where elements are compared.
#[test]
fn comparing_elements_finds_chunks_that_cannot_be_decoded() {
    let source = begun(Dialect::V3);
    let array = array(&source, "<i4", &["gzip:1"]).unwrap();
    let node = Node::Array(array.clone());
    let copy = |verify: Verify| {
        let target = begun(Dialect::V3);
        let options = CopyOptions { verify, ..CopyOptions::default() };
        zarr::tools::copy(&node, &target, "/a", &options)
    };
    copy(Verify::Elements).unwrap();
    put(&array, &[1, 1], b"no such chunk");
    copy(Verify::Stored).unwrap();
    let error = copy(Verify::Elements).unwrap_err();
    assert!(matches!(error.cause(), zarr::Cause::Codec(_)), "{error}");
    assert!(error.to_string().contains("chunk (1, 1)"), "{error}");
}

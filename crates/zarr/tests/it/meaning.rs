//! Copies keep what data mean: missing values, names of axes, nodes and copies of documents; or they say what is lost.
#![cfg(all(feature = "filesystem", feature = "memory", feature = "zip", feature = "lmdb"))]

use std::sync::Arc;

use crate::common::{document, keys, path};
use zarr::format::of_dialect;
use zarr::store::{Payload, Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::{CopyOptions, Progress};
use zarr::{
    Array, Dialect, ErrorKind, Hierarchy, Json, Node, NodeKind, Object, OpenOptions, Result,
};

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

/// A new hierarchy in memory.
fn begun(dialect: Dialect) -> (Arc<dyn Store>, Hierarchy) {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let made = Hierarchy::create(store.clone(), of_dialect(dialect), &options());
    (store, made.expect("a new hierarchy"))
}

fn names(names: &[&str]) -> Vec<Option<String>> {
    names.iter().map(|name| Some((*name).to_owned())).collect()
}

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).expect("JSON")
}

fn set(store: &Arc<dyn Store>, key: &str, text: &str) {
    let key = StoreKey::new(key).expect("a good key");
    let writeable = store.to_sync();
    writeable.set(&key, Payload::from(text.as_bytes().to_vec())).expect("set");
}

fn copied(from: &Hierarchy, to: &Hierarchy) -> Result<Progress> {
    zarr::tools::copy(&from.node(path("/"))?, to, path("/"), &CopyOptions::default())
}

/// An array `/a` of 16 integers in chunks of one, whose axis is called `x`; so many of its chunks are never stored.
fn sparse(dialect: Dialect, fill: &str, missing: Option<&str>, holes: usize) -> Result<Hierarchy> {
    let (_, hierarchy) = begun(dialect);
    let mut builder = hierarchy.create_array(path("/a")).shape(&[16]).chunks(&[1]);
    builder = builder.data_type_named("int32").fill_value(json(fill));
    if let Some(missing) = missing {
        builder = builder.attributes(Object::new().with("_FillValue", json(missing)));
    }
    let array = builder.dimension_names(names(&["x"])).create()?;
    array.write(holes as u64..16, &(holes as i32..16).map(|n| n + 100).collect::<Vec<_>>())?;
    Ok(hierarchy)
}

/// The fill value and the attribute `_FillValue` of `/a`, as the document has them.
fn said(store: &Arc<dyn Store>, dialect: Dialect) -> (String, Option<String>) {
    let (key, attributes) = match dialect {
        Dialect::V2 => ("a/.zarray", document(store, "a/.zattrs")),
        _ => ("a/zarr.json", document(store, "a/zarr.json")),
    };
    let attributes = match dialect {
        Dialect::V2 => Some(&attributes),
        _ => attributes.as_object().and_then(|object| object.get("attributes")),
    };
    let missing = attributes.and_then(|json| json.as_object()?.get("_FillValue"));
    let array = document(store, key);
    let fill = array.as_object().and_then(|object| object.get("fill_value"));
    (fill.expect("a fill value").to_string(), missing.map(Json::to_string))
}

/// The documents are those that xarray writes for the same dataset in the other dialect.
#[test]
fn a_missing_value_is_the_same_in_the_copy() -> Result<()> {
    use Dialect::{V2, V3};
    for (from, fill, missing, to, becomes) in [
        (V2, "0", None, V3, ("0", Some("0"))),
        (V3, "0", None, V2, ("null", None)),
        (V3, "0", Some("-9"), V2, ("-9", None)),
        (V3, "7", Some("7"), V2, ("7", None)),
        (V3, "7", Some("8"), V3, ("7", Some("8"))),
        (V2, "7", None, V2, ("7", None)),
    ] {
        let source = sparse(from, fill, missing, 0)?;
        let (store, target) = begun(to);
        let progress = copied(&source, &target)?;
        let (fill_value, attribute) = said(&store, to);
        assert_eq!((&*fill_value, attribute.as_deref()), becomes, "{from} to {to}: {fill}");
        assert!(progress.not_kept.is_empty() && progress.notes.is_empty(), "{progress:?}");
        assert_eq!(
            target.array(path("/a"))?.read::<i32>(..)?,
            source.array(path("/a"))?.read::<i32>(..)?
        );
    }
    Ok(())
}

/// Arrays whose axes have no names are nobody's variables.
#[test]
fn an_array_without_names_keeps_its_fill_value() -> Result<()> {
    for (from, to) in [(Dialect::V2, Dialect::V3), (Dialect::V3, Dialect::V2)] {
        for shape in [&[4u64][..], &[]] {
            let (_, source) = begun(from);
            let builder = source.create_array(path("/a")).shape(shape).chunks(shape);
            builder.data_type_named("int16").fill_value(7u64).create()?;
            // A scalar's own document says nothing in v3: its neighbour has no names.
            let other = source.create_array(path("/b")).shape(&[1]).data_type_named("int8");
            other.create()?;
            let (store, target) = begun(to);
            copied(&source, &target)?;
            let key = if to == Dialect::V2 { "a/.zarray" } else { "a/zarr.json" };
            let array = document(&store, key);
            let fill = array.as_object().and_then(|object| object.get("fill_value"));
            assert_eq!(fill.map(Json::to_string).as_deref(), Some("7"));
            assert!(target.array(path("/a"))?.attributes().is_empty());
        }
    }
    Ok(())
}

fn stored(array: &Array) -> u64 {
    array.stored_chunks().expect("memory lists")
}

/// An array of which nothing was ever stored has values, too.
#[test]
fn an_array_that_was_never_written_keeps_its_values() -> Result<()> {
    let (_, from) = begun(Dialect::V3);
    let array = from.create_array("/a").shape(&[3]).chunks(&[4]).data_type_named("int32");
    array.fill_value(json("7")).dimension_names(names(&["x"])).create()?;
    let (store, to) = begun(Dialect::V2);
    copied(&from, &to)?;
    assert_eq!(said(&store, Dialect::V2).0, "null");
    assert_eq!(to.array("/a")?.read::<i32>(..)?, [7; 3]);
    Ok(())
}

/// Chunks that were never stored and would change their value are written, up to a quarter of all.
#[test]
fn chunks_never_stored_are_written_where_their_value_would_change() -> Result<()> {
    for (holes, missing, fill_value, chunks, is_kept) in [
        (4, Some("-9"), "-9", 16, true),
        (5, Some("-9"), "7", 11, false),
        (4, None, "null", 16, true),
        (5, None, "7", 11, false),
    ] {
        let source = sparse(Dialect::V3, "7", missing, holes)?;
        let (store, target) = begun(Dialect::V2);
        let progress = copied(&source, &target)?;
        let array = target.array(path("/a"))?;
        assert_eq!(said(&store, Dialect::V2).0, fill_value, "{holes} holes, {missing:?}");
        assert_eq!(stored(&array), chunks, "{holes} holes, {missing:?}");
        assert_eq!(array.read::<i32>(..)?, source.array(path("/a"))?.read::<i32>(..)?);
        assert_eq!(progress.not_kept.is_empty(), is_kept, "{:?}", progress.not_kept);
        let (_, strict) = begun(Dialect::V2);
        let exact = CopyOptions { strict: true, ..CopyOptions::default() };
        let refused = zarr::tools::copy(&source.node(path("/"))?, &strict, path("/"), &exact);
        assert_eq!(
            refused.map_err(|e| e.kind()).err(),
            (!is_kept).then_some(ErrorKind::Unsupported)
        );
        assert_eq!(strict.children(path("/"))?.len(), usize::from(is_kept), "nothing is written");
    }
    Ok(())
}

/// What is undefined reads as zeros: a sparse array stays sparse, and its zeros are values.
#[test]
fn a_sparse_array_of_zeros_stays_sparse() -> Result<()> {
    for (holes, chunks) in [(4, 16), (12, 4)] {
        let source = sparse(Dialect::V3, "0", None, holes)?;
        let (store, target) = begun(Dialect::V2);
        let progress = copied(&source, &target)?;
        assert_eq!(said(&store, Dialect::V2), ("null".into(), None));
        let array = target.array(path("/a"))?;
        assert_eq!(stored(&array), chunks);
        assert_eq!(array.read::<i32>(..)?, source.array(path("/a"))?.read::<i32>(..)?);
        assert!(progress.not_kept.is_empty());
        // zarr-python 2 leaves there what memory held.
        assert_eq!(progress.notes.len(), usize::from(holes > 4), "{:?}", progress.notes);
    }
    Ok(())
}

/// The inner chunks of a shard count each, whether or not the shard is stored.
#[test]
fn inner_chunks_never_stored_are_counted() -> Result<()> {
    for (holes, fill_value) in [(4, "-9"), (5, "7")] {
        let (_, source) = begun(Dialect::V3);
        let builder = source.create_array(path("/a")).shape(&[16]).chunks(&[1]).shards(&[8]);
        let builder = builder.data_type_named("int32").fill_value(7u64);
        let builder = builder.attributes(Object::new().with("_FillValue", json("-9")));
        let array = builder.dimension_names(names(&["x"])).create()?;
        array.write(holes..16, &vec![1i32; 16 - holes as usize])?;
        let (store, target) = begun(Dialect::V2);
        copied(&source, &target)?;
        assert_eq!(said(&store, Dialect::V2).0, fill_value, "{holes} holes");
        assert_eq!(target.array(path("/a"))?.read::<i32>(..)?, array.read::<i32>(..)?);
    }
    Ok(())
}

/// v3 has no words for the missing value of a text; xarray would open nothing of the dataset.
#[test]
fn a_missing_value_without_words_is_named() -> Result<()> {
    let (store, source) = begun(Dialect::V2);
    set(
        &store,
        "a/.zarray",
        r#"{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<U3", "fill_value": "none", "order": "C", "compressor": null, "filters": null}"#
            .replace("none", "abc")
            .as_str(),
    );
    set(&store, "a/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["x"]}"#);
    let (_, target) = begun(Dialect::V3);
    let progress = copied(&source, &target)?;
    assert_eq!(
        progress.not_kept,
        ["/a: the missing value \"abc\"; v3 cannot represent one of type `U3`"]
    );
    assert!(target.array(path("/a"))?.attributes().is_empty());
    Ok(())
}

/// Issue 13, point 14: as xarray wants them.
#[test]
fn names_of_axes_are_said_once() -> Result<()> {
    let (_, source) = begun(Dialect::V3);
    let scalar = source.create_array(path("/crs")).shape(()).data_type_named("int32");
    scalar.create()?.write(.., &[0i32])?;
    let array = source.create_array(path("/x")).shape(&[2]).data_type_named("int32");
    array.dimension_names(names(&["x"])).create()?;
    for flat in [Dialect::V2, Dialect::Draft] {
        let (_, between) = begun(flat);
        copied(&source, &between)?;
        for (name, due) in [("/crs", "[]"), ("/x", r#"["x"]"#)] {
            let attributes = between.array(path(name))?.attributes();
            let found = attributes.get("_ARRAY_DIMENSIONS").map(Json::to_string);
            assert_eq!(found.as_deref(), Some(due), "{flat} {name}");
        }
        let (store, back) = begun(Dialect::V3);
        copied(&between, &back)?;
        for (name, due) in [("crs", "[]"), ("x", r#"["x"]"#)] {
            let array = back.array(path(name))?;
            assert!(!array.attributes().contains("_ARRAY_DIMENSIONS"), "{flat} {name}");
            let document = document(&store, &format!("{name}/zarr.json"));
            let found = document.as_object().and_then(|object| object.get("dimension_names"));
            assert_eq!(found.map(Json::to_string).as_deref(), Some(due), "{flat} {name}");
        }
    }
    Ok(())
}

/// Every kind of store, new and empty.
fn stores() -> (tempfile::TempDir, Vec<Arc<dyn Store>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let open = |url: String| options().store(&url).expect("a new store");
    let list = vec![
        from_sync(MemoryStore::new()) as Arc<dyn Store>,
        open(at("folder")),
        open(format!("zip://{}", at("x.zip"))),
        open(format!("lmdb://{}", at("x.lmdb"))),
    ];
    (folder, list)
}

/// Off Windows these are ordinary names.
#[cfg(not(windows))]
#[test]
fn a_node_of_any_name_is_listed_and_copied() -> Result<()> {
    let odd = ["T:1", "a\nb", "x:y", "\u{7f}"];
    for dialect in [Dialect::V2, Dialect::V3] {
        let (_folder, stores) = stores();
        for store in stores {
            let place = store.name();
            let source = Hierarchy::create(store, of_dialect(dialect), &options())?;
            for name in odd {
                let group = path("/").child(name)?;
                source.create_group(&group, Object::new())?;
                let array = source.create_array(&group.child("a:b")?).shape(&[1]);
                array.data_type_named("uint8").create()?.write(.., &[7u8])?;
            }
            source.flush()?;
            for (to, is_writable) in
                [(Dialect::V2, true), (Dialect::V3, true), (Dialect::Draft, false)]
            {
                let (_, target) = begun(to);
                let copied = copied(&source, &target);
                if !is_writable {
                    let error = copied.expect_err("a draft has no such names");
                    assert!(error.to_string().contains("T:1"), "{error}");
                    continue;
                }
                copied?;
                let children = target.children(path("/"))?;
                let found: Vec<_> = children.iter().filter_map(|child| child.path.name()).collect();
                assert_eq!(found, odd, "{place} to {to}");
                for child in &children {
                    let array = target.array(&child.path.child("a:b")?)?;
                    assert_eq!(array.read::<u8>(..)?, [7], "{place} to {to}");
                }
            }
        }
    }
    Ok(())
}

/// As in the plates of OME's writers: `A/1/a`, and no document for `A` and `A/1`.
#[test]
fn nodes_below_a_folder_without_a_document_are_listed_and_copied() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for dialect in [Dialect::V2, Dialect::V3] {
        let (_folder, stores) = stores();
        for store in stores {
            let place = format!("{dialect} in {}", store.name());
            let made = Hierarchy::create(store.clone(), of_dialect(dialect), &options())?;
            let array = made.create_array(path("/A/1/a")).shape(&[1]).data_type_named("uint8");
            array.create()?.write(.., &[7u8])?;
            let document = if dialect == Dialect::V2 { ".zgroup" } else { "zarr.json" };
            let writeable = store.to_sync();
            for folder in ["A", "A/1"] {
                writeable.erase(&StoreKey::new(format!("{folder}/{document}"))?)?;
            }
            // Neither a leftover nor a stranger's folder is a group.
            set(&store, "left/c/0", "x");
            made.flush()?;
            let source = Hierarchy::open(store.clone(), &options())?;
            let tree = source.tree(path("/"))?;
            let found: Vec<_> =
                tree.iter().map(|node| (node.path.as_str(), node.kind, node.implicit)).collect();
            let group = Some(NodeKind::Group);
            let due = [
                ("/", group, false),
                ("/A", group, true),
                ("/A/1", group, true),
                ("/A/1/a", Some(NodeKind::Array), false),
            ];
            assert_eq!(found, due, "{place}");
            assert!(source.warnings().iter().any(|warning| warning.place == "/A"), "{place}");
            let opened = source.nodes(path("/"))?;
            let opened: Vec<_> = opened.iter().map(|node| node.path().as_str()).collect();
            assert_eq!(opened, ["/", "/A", "/A/1", "/A/1/a"], "{place}");
            let offloaded = store.clone();
            let listed = runtime.block_on(async {
                let waiting = zarr::aio::Hierarchy::open(offloaded, &options()).await?;
                waiting.tree(&path("/")).await
            });
            assert_eq!(listed?, tree, "{place}, for callers that wait");
            for to in [Dialect::V2, Dialect::V3, Dialect::Draft] {
                let (store, target) = begun(to);
                let progress = copied(&source, &target)?;
                let said = progress.notes.iter().any(|note| note.starts_with("/A/1: "));
                assert!(said, "{place} to {to}: {:?}", progress.notes);
                assert_eq!(target.array(path("/A/1/a"))?.read::<u8>(..)?, [7], "{place} to {to}");
                let document = match to {
                    Dialect::V2 => "A/1/.zgroup",
                    Dialect::V3 => "A/1/zarr.json",
                    _ => "meta/root/A/1.group.json",
                };
                assert!(keys(&store).iter().any(|key| key == document), "{place} to {to}");
            }
        }
    }
    Ok(())
}

/// What no key can say, and what no node may be called, is named.
#[cfg(target_os = "linux")]
#[test]
fn a_name_that_cannot_be_is_named() -> Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().expect("a folder");
    let store = options().store(&folder.path().display().to_string()).expect("a new store");
    let source = Hierarchy::create(store.clone(), of_dialect(Dialect::V3), &options())?;
    source.create_group(path("/good"), Object::new())?;
    let document = folder.path().join("good/zarr.json");
    for name in [&b"a\\b"[..], b"b\xff", b"__reserved"] {
        let odd = folder.path().join(std::ffi::OsStr::from_bytes(name));
        std::fs::create_dir(&odd).expect("a folder");
        std::fs::copy(&document, odd.join("zarr.json")).expect("copied");
    }
    // These are the store's own.
    std::fs::write(folder.path().join(".zarr-lock"), "").expect("written");
    let source = Hierarchy::open(store, &options())?;
    assert_eq!(source.tree(path("/"))?.len(), 2);
    let warnings = source.warnings();
    for name in ["`a\\b`", "`b\u{fffd}`", "`__reserved`"] {
        assert!(warnings.iter().any(|warning| warning.what.contains(name)), "{name}: {warnings:?}");
    }
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    Ok(())
}

/// Attributes without a group's document are that group's.
#[test]
fn attributes_of_a_folder_without_a_document_are_copied() -> Result<()> {
    let (store, source) = begun(Dialect::V2);
    source.create_group(path("/A/b"), Object::new())?;
    store.to_sync().erase(&StoreKey::new("A/.zgroup")?)?;
    set(&store, "A/.zattrs", r#"{"well": 1}"#);
    let (_, target) = begun(Dialect::V3);
    copied(&source, &target)?;
    assert_eq!(target.group(path("/A"))?.attributes(), &Object::new().with("well", 1u64));
    Ok(())
}

/// Issue 13, point 17: the name of `bytes` before final v3.
#[test]
fn the_codec_endian_is_copied_as_bytes() -> Result<()> {
    let (store, source) = begun(Dialect::V3);
    let builder = source.create_array(path("/a")).shape(&[2]).data_type_named("int32");
    builder.big_endian(true).create()?.write(.., &[1i32, 2])?;
    let key = StoreKey::new("a/zarr.json")?;
    let text = store.to_sync().value(&key)?.expect("there");
    let text = String::from_utf8_lossy(&text).replace("\"bytes\"", "\"endian\"");
    assert!(text.contains("\"endian\""));
    set(&store, "a/zarr.json", &text);
    for to in [Dialect::V2, Dialect::Draft, Dialect::V3] {
        let (_, target) = begun(to);
        copied(&source, &target)?;
        let array = target.array(path("/a"))?;
        assert_eq!(array.read::<i32>(..)?, [1, 2], "{to}");
        assert_eq!(array.metadata().endian().name(), "big", "{to}");
    }
    Ok(())
}

/// Issue 13, point 19.
#[test]
fn a_copy_has_consolidated_metadata_where_its_source_has() -> Result<()> {
    for from in [Dialect::V2, Dialect::V3, Dialect::Draft] {
        for to in [Dialect::V2, Dialect::V3, Dialect::Draft] {
            for has in [true, false] {
                let (store, source) = begun(from);
                source.create_group(path("/g"), Object::new())?;
                if has {
                    source.consolidate()?;
                }
                let source = Hierarchy::open(store, &OpenOptions::new(zarr::standard()))?;
                let (store, target) = begun(to);
                copied(&source, &target)?;
                let copy = Hierarchy::open(store, &options())?;
                assert_eq!(copy.is_consolidated()?, has, "{from} to {to}");
                if has {
                    assert!(copy.check_consolidated()?.is_empty(), "{from} to {to}");
                }
                let paths: Vec<_> = copy.tree(path("/"))?.into_iter().map(|n| n.path).collect();
                assert_eq!(paths, [path("/"), path("/g")], "{from} to {to}");
            }
        }
    }
    Ok(())
}

/// The group that zarr-python 2.18 makes for a draft's copies is no group of the user's; one that holds nodes is.
#[test]
fn the_helper_group_of_a_draft_is_not_listed() -> Result<()> {
    let (store, source) = begun(Dialect::Draft);
    source.create_group(path("/g"), Object::new())?;
    source.consolidate()?;
    set(&store, "meta/root/consolidated.group.json", r#"{"attributes": {}}"#);
    let listed = |hierarchy: &Hierarchy| -> Result<Vec<String>> {
        let children = hierarchy.children(path("/"))?;
        let nodes = hierarchy.nodes(path("/"))?;
        assert_eq!(nodes.len(), hierarchy.tree(path("/"))?.len());
        assert_eq!(nodes.len(), children.len() + 1);
        Ok(children.iter().map(|child| child.path.to_string()).collect())
    };
    assert_eq!(listed(&Hierarchy::open(store.clone(), &options())?)?, ["/g"]);
    set(&store, "meta/root/consolidated/own.group.json", r#"{"attributes": {}}"#);
    let children = Hierarchy::open(store, &options())?.children(path("/"))?;
    assert!(children.iter().any(|child| child.path.as_str() == "/consolidated"));
    Ok(())
}

/// Issue 13, point 26.
#[test]
fn what_cannot_be_copied_is_skipped_by_name_if_asked() -> Result<()> {
    let (store, source) = begun(Dialect::V3);
    for name in ["/good", "/T:1/inner"] {
        source.create_array(path(name)).shape(&[1]).data_type_named("int8").create()?;
    }
    let unknown = document(&store, "good/zarr.json").to_string().replace("int8", "int8191");
    set(&store, "unknown/zarr.json", &unknown);
    let root = source.node(path("/"))?;
    let (_, target) = begun(Dialect::Draft);
    assert!(zarr::tools::copy(&root, &target, path("/"), &CopyOptions::default()).is_err());
    assert!(target.children(path("/"))?.is_empty());
    let skipping = CopyOptions { skip_unsupported: true, ..CopyOptions::default() };
    let progress = zarr::tools::copy(&root, &target, path("/"), &skipping)?;
    let tree: Vec<_> = target.tree(path("/"))?.into_iter().map(|node| node.path).collect();
    assert_eq!(tree, [path("/"), path("/good")]);
    assert_eq!(progress.skipped.len(), 2, "{:?}", progress.skipped);
    assert!(progress.skipped[0].contains("/T:1: "), "{:?}", progress.skipped);
    assert!(progress.skipped[1].starts_with("/unknown: "), "{:?}", progress.skipped);
    Ok(())
}

/// Issue 13, point 25.
#[test]
fn a_chunk_shape_for_no_array_is_an_error() -> Result<()> {
    let (_, source) = begun(Dialect::V3);
    for (name, shape) in [("/line", &[4u64][..]), ("/plane", &[4, 4])] {
        source.create_array(path(name)).shape(shape).data_type_named("int8").create()?;
    }
    let with = |chunks: &[u64]| CopyOptions { chunks: Some(chunks.to_vec()), ..Default::default() };
    let (_, target) = begun(Dialect::V3);
    let line = Node::Array(source.array(path("/line"))?);
    let refused = zarr::tools::copy(&line, &target, path("/one"), &with(&[2, 2]));
    assert_eq!(refused.map_err(|e| e.kind()).err(), Some(ErrorKind::Argument));
    let root = source.node(path("/"))?;
    let refused = zarr::tools::copy(&root, &target, path("/"), &with(&[2, 2, 2]));
    assert_eq!(refused.map_err(|e| e.kind()).err(), Some(ErrorKind::Argument));
    let progress = zarr::tools::copy(&root, &target, path("/"), &with(&[2, 2]))?;
    assert_eq!(target.array(path("/plane"))?.chunk_shape(), Some(vec![2, 2]));
    assert_eq!(target.array(path("/line"))?.chunk_shape(), Some(vec![4]));
    assert!(progress.notes[0].starts_with("/line: has 1 axis, not 2"), "{:?}", progress.notes);
    Ok(())
}

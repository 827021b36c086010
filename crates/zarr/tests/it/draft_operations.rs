//! What the operations of the draft protocol do to a store, also to one that lacks a capability.
#![cfg(feature = "memory")]

use std::sync::Arc;

use zarr::store::{Capabilities, Store, StoreKey, SyncStore, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Dialect, ErrorKind, Hierarchy, Json, NodeKind, NodePath, Object, OpenOptions, Result};
use zarr_testkit::record;

const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";

/// A store that lacks some of its capabilities.
#[derive(Debug)]
struct Lacking {
    store: Arc<dyn SyncStore>,
    readable: bool,
    writeable: bool,
    listable: bool,
}

impl SyncStore for Lacking {
    zarr_testkit::forward_calls!(store: get open put create erase_prefix list_prefix list_dir link flush);

    fn name(&self) -> String {
        format!("a part of {}", self.store.name())
    }
    fn capabilities(&self) -> Capabilities {
        let all = self.store.capabilities();
        let all = if self.writeable { all } else { all.read_only() };
        Capabilities { read: self.readable, list: self.listable, ..all }
    }
}

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn path(text: &str) -> NodePath {
    NodePath::new(text).expect("a good path")
}

fn begun(store: &Arc<dyn Store>) -> Result<Hierarchy> {
    Hierarchy::create(store.clone(), zarr::format::of_dialect(Dialect::Draft), &options())
}

fn make_array(hierarchy: &Hierarchy, at: &str) -> Result<()> {
    let array = hierarchy.create_array(path(at)).shape(&[2]).data_type_named("u1").create()?;
    array.write(.., &[1u8, 2])
}

/// A hierarchy with the array `/a`, the group `/g` and the array `/i/a`.
fn filled() -> Result<Arc<dyn Store>> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let hierarchy = begun(&store)?;
    hierarchy.create_group(path("/g"), Object::new().with("k", "v"))?;
    make_array(&hierarchy, "/a")?;
    make_array(&hierarchy, "/i/a")?;
    Ok(store)
}

/// D-070, D-071, D-073 … D-075, D-140, D-150, row 3: the four members, each as the specification gives it, and no other.
#[test]
fn the_entry_point_is_written_as_the_text_has_it() -> Result<()> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    begun(&store)?;
    let key = StoreKey::new("zarr.json").expect("a key");
    let found = store.to_sync().value(&key).expect("read").expect("it is there");
    let read = |bytes: &[u8]| Json::parse(bytes).expect("JSON");
    assert_eq!(read(&found), read(entry_point().as_bytes()));
    Ok(())
}

fn set(store: &Arc<dyn Store>, key: &str, value: &str) {
    let key = StoreKey::new(key).expect("a key");
    store.to_sync().set(&key, value.as_bytes().into()).expect("set");
}

fn entry_point() -> String {
    format!(
        r#"{{"zarr_format":"{CORE}","metadata_encoding":"{CORE}","metadata_key_suffix":".json","extensions":[]}}"#
    )
}

const ARRAY: &str = r#"{"shape":[3],"data_type":"<i2","chunk_grid":{"type":"regular","chunk_shape":[2],"separator":"/"},"chunk_memory_layout":"C","fill_value":7,"extensions":[],"attributes":{}}"#;

/// D-160: the specification's own example.
#[test]
fn children_are_documents_and_prefixes() -> Result<()> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    set(&store, "zarr.json", &entry_point());
    set(&store, "meta/root/foo/bar.group.json", r#"{"attributes":{}}"#);
    set(&store, "meta/root/foo/baz/qux.array.json", ARRAY);
    let hierarchy = Hierarchy::open(store, &options())?;
    let children = |of: &str| -> Result<Vec<(String, Option<NodeKind>, bool)>> {
        let children = hierarchy.children(path(of))?.into_iter();
        Ok(children.map(|child| (child.path.to_string(), child.kind, child.implicit)).collect())
    };
    let (group, array) = (Some(NodeKind::Group), Some(NodeKind::Array));
    assert_eq!(children("/")?, [("/foo".into(), group, true)]);
    assert_eq!(
        children("/foo")?,
        [("/foo/bar".into(), group, false), ("/foo/baz".into(), group, true)]
    );
    assert_eq!(children("/foo/baz")?, [("/foo/baz/qux".into(), array, false)]);
    assert_eq!(children("/foo/bar")?, []);
    Ok(())
}

/// D-073, D-077, D-080: errors name the encoding, the extension, the member.
#[test]
fn errors_name_what_is_in_the_way() {
    let foo = r#"[{"extension":"http://example.org/zarr/extension/foo","must_understand":true}]"#;
    let encoding = format!(r#""metadata_encoding":"{CORE}""#);
    let entry = entry_point();
    let cases = [
        (entry.replace(&encoding, r#""metadata_encoding":"https://e/cbor""#), ARRAY.into(), "cbor"),
        (entry.replace("[]", foo), ARRAY.into(), "http://example.org/zarr/extension/foo"),
        (
            entry.clone(),
            ARRAY.replace(r#""extensions":[]"#, &format!(r#""extensions":{foo}"#)),
            "http://example.org/zarr/extension/foo",
        ),
        (entry.clone(), ARRAY.replace(r#""shape":[3],"#, ""), "`shape`"),
        (entry.clone(), ARRAY.replace(r#""data_type":"<i2","#, ""), "`data_type`"),
    ];
    for (entry, array, named) in cases {
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        set(&store, "zarr.json", &entry);
        set(&store, "meta/root/a.array.json", &array);
        let read = Hierarchy::open(store, &options())
            .and_then(|hierarchy| hierarchy.array(path("/a")))
            .and_then(|array| array.read::<i16>(..));
        let error = read.expect_err(named).to_string();
        assert!(error.contains(named), "{named}: {error}");
    }
}

/// D-161, D-163: what is known opens, what has to be discovered is not there, and discovery itself says
/// that it cannot be had.
#[test]
fn without_listing_known_paths_open_and_nothing_is_discovered() -> Result<()> {
    let store = filled()?;
    let blind =
        Lacking { store: store.to_sync(), readable: true, writeable: true, listable: false };
    let hierarchy = Hierarchy::open(from_sync(blind), &options())?;
    assert_eq!(hierarchy.array(path("/a"))?.read::<u8>(..)?, [1, 2]);
    assert_eq!(hierarchy.array(path("/i/a"))?.read::<u8>(..)?, [1, 2]);
    assert_eq!(hierarchy.group(path("/g"))?.attributes().len(), 1);
    let of_nothing = hierarchy.node(path("/i")).map(drop).unwrap_err();
    assert_eq!(of_nothing.kind(), ErrorKind::NotFound, "{of_nothing}");
    for refused in
        [hierarchy.children(NodePath::root()).map(drop), hierarchy.tree(path("/g")).map(drop)]
    {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotCapable, "{error}");
    }
    Ok(())
}

/// D-133: never an empty answer in place of a missing side.
#[test]
fn a_store_without_a_side_says_so() -> Result<()> {
    let store = filled()?;
    let mute = Lacking { store: store.to_sync(), readable: true, writeable: false, listable: true };
    let hierarchy = Hierarchy::open(from_sync(mute), &options())?;
    assert_eq!(hierarchy.tree(NodePath::root())?.len(), 5);
    let array = hierarchy.array(path("/a"))?;
    for refused in [
        array.write(.., &[3u8, 4]),
        hierarchy.create_group(path("/new"), Object::new()).map(drop),
        hierarchy.erase(path("/a")),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotCapable, "{error}");
    }
    let blind =
        Lacking { store: store.to_sync(), readable: false, writeable: true, listable: true };
    let error = Hierarchy::open(from_sync(blind), &options()).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotCapable, "{error}");
    Ok(())
}

/// D-170, D-172, D-174: an interrupted erase leaves chunks without a document, never an array whose chunks
/// are gone.
#[test]
fn documents_are_erased_before_chunks() -> Result<()> {
    let store = filled()?;
    let (log, erased) = record(store, |call| {
        call.operation.starts_with("erase").then(|| format!("{} {}", call.operation, call.key))
    });
    let hierarchy = Hierarchy::open(log, &options())?;
    for (node, documents) in [
        ("/a", ["erase meta/root/a.array.json", "erase meta/root/a.group.json"]),
        ("/g", ["erase meta/root/g.array.json", "erase meta/root/g.group.json"]),
    ] {
        erased.take();
        hierarchy.erase(path(node))?;
        let mut calls = erased.take();
        let data = calls.pop();
        assert_eq!(data, Some(format!("erase_prefix data/root{node}/")), "the last of all");
        assert!(documents.iter().any(|key| calls.contains(&(*key).to_owned())), "{calls:?}");
        assert!(calls.iter().all(|call| call.contains(" meta/root/")), "{calls:?}");
    }
    Ok(())
}

/// Q24, D-180: an interrupted resize leaves chunks outside the grid, never an array without its chunks.
#[test]
fn documents_are_written_before_chunks_change() -> Result<()> {
    let (store, changed) = record(from_sync(MemoryStore::new()), |call| {
        let changes =
            ["put", "create", "erase"].iter().any(|name| call.operation.starts_with(name));
        changes.then(|| call.key.to_owned())
    });
    let hierarchy = begun(&store)?;
    assert_eq!(changed.take().first().map(String::as_str), Some("zarr.json"));
    let array = hierarchy
        .create_array(path("/a"))
        .shape(&[6])
        .chunks(&[2])
        .data_type_named("u1")
        .create()?;
    assert_eq!(changed.take(), ["meta/root/a.array.json"]);
    array.write(.., &[1u8, 2, 3, 4, 5, 6])?;
    assert_eq!(changed.take().len(), 3);
    array.resize(&[2])?;
    let calls = changed.take();
    assert_eq!(calls.first().map(String::as_str), Some("meta/root/a.array.json"), "{calls:?}");
    for gone in ["data/root/a/c1", "data/root/a/c2"] {
        assert!(calls.contains(&gone.to_owned()), "{calls:?}");
    }
    Ok(())
}

/// D-001, D-165: an array opens as one with any nodes below it; a listing shows those, and they open by their own paths.
#[test]
fn an_array_hides_nothing_below_it() -> Result<()> {
    let store = filled()?;
    let hierarchy = Hierarchy::open(store.clone(), &options())?;
    for make in [make_array(&hierarchy, "/a/below"), make_array(&hierarchy, "/a/b/c")] {
        let error = make.expect_err("nothing may be below an array");
        assert!(error.to_string().contains("/a is an array"), "{error}");
    }
    assert!(hierarchy.create_group(path("/a/g"), Object::new()).is_err());
    // Other writers do that.
    make_array(&hierarchy, "/other")?;
    for (from, to) in [
        ("meta/root/other.array.json", "meta/root/a/below.array.json"),
        ("data/root/other/c0", "data/root/a/below/c0"),
    ] {
        let keys = [from, to].map(|key| StoreKey::new(key).expect("a good key"));
        let sync = store.to_sync();
        let value = sync.value(&keys[0]).expect("read").expect("it is there").to_vec();
        sync.set(&keys[1], value.into()).expect("set");
        sync.erase(&keys[0]).expect("erased");
    }
    assert_eq!(hierarchy.children(path("/a"))?[0].path, path("/a/below"));
    assert_eq!(hierarchy.array(path("/a"))?.read::<u8>(..)?, [1, 2]);
    assert_eq!(hierarchy.array(path("/a/below"))?.read::<u8>(..)?, [1, 2]);
    let tree = hierarchy.tree(NodePath::root())?;
    let kinds: Vec<(&str, Option<NodeKind>)> =
        tree.iter().map(|child| (child.path.as_str(), child.kind)).collect();
    assert!(kinds.contains(&("/a", Some(NodeKind::Array))), "{kinds:?}");
    assert!(kinds.contains(&("/a/below", Some(NodeKind::Array))), "{kinds:?}");
    Ok(())
}

/// D-042: the chunk of element (7, 150, 900) in the specification's example, and its place there.
#[test]
fn an_element_lies_where_quotient_and_remainder_say() -> Result<()> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let hierarchy = begun(&store)?;
    let array = hierarchy
        .create_array(path("/a"))
        .shape(&[10, 200, 3000])
        .chunks(&[5, 20, 400])
        .data_type_named("u1")
        .create()?;
    array.write((7, 150, 900), &[1u8])?;
    let key = StoreKey::new("data/root/a/c1/7/2").expect("a key");
    let chunk = store.to_sync().value(&key).expect("read").expect("it is there");
    assert_eq!(chunk.len(), 5 * 20 * 400);
    assert_eq!(chunk.iter().position(|&byte| byte == 1), Some(2 * 20 * 400 + 10 * 400 + 100));
    assert_eq!(chunk.iter().filter(|&&byte| byte != 0).count(), 1);
    Ok(())
}

/// Writers put the one chunk of a scalar at `c` or at `c0`. It is gone from both once it is erased: neither comes back.
#[test]
fn an_erased_scalar_is_at_neither_of_its_keys() -> Result<()> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let hierarchy = begun(&store)?;
    let builder = hierarchy.create_array(path("/s")).shape(()).data_type_named("u1");
    let array = builder.fill_value(9u64).create()?;
    let keys = ["data/root/s/c", "data/root/s/c0"];
    for key in keys {
        set(&store, key, "7");
    }
    assert_eq!(array.read::<u8>(..)?, *b"7");
    array.chunk(())?.erase()?;
    assert_eq!(array.read::<u8>(..)?, [9]);
    for key in keys {
        let value = store.to_sync().value(&StoreKey::new(key).expect("a key")).expect("read");
        assert_eq!(value, None, "{key}");
    }
    Ok(())
}

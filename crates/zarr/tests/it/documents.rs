//! Documents of every dialect: what is kept, what is noted, what is detected.
#![cfg(feature = "memory")]

use std::sync::Arc;

use zarr::store::{Store, StoreKey, SyncStore, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Dialect, Hierarchy, Json, Node, NodeKind, NodePath, Object, OpenOptions, Result};

const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";

fn store(documents: &[(&str, &str)]) -> Arc<dyn Store> {
    let store = MemoryStore::new();
    for (key, value) in documents {
        let key = StoreKey::new(*key).expect("a good key");
        store.set(&key, value.as_bytes().into()).expect("set");
    }
    from_sync(store)
}

fn text(store: &Arc<dyn Store>, key: &str) -> Option<String> {
    let value = store.to_sync().value(&StoreKey::new(key).ok()?).expect("read")?;
    Some(String::from_utf8(value.to_vec()).expect("UTF-8"))
}

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn open(store: &Arc<dyn Store>) -> Result<Hierarchy> {
    Hierarchy::open(store.clone(), &options())
}

fn keys(store: &Arc<dyn Store>) -> Vec<String> {
    let keys = store.to_sync().list().expect("listed");
    keys.iter().map(ToString::to_string).collect()
}

/// D-078, D-107, F-009, F-012, Z2-006, Z2-010, T-40: a change of attributes or shape keeps all the rest.
#[test]
fn what_is_not_changed_stays_to_the_letter() -> Result<()> {
    let v3 = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "float32",
        "chunk_grid": {"name":"regular","configuration":{"chunk_shape":[2]}}, "chunk_key_encoding": {"name": "default"},
        "fill_value": 1.50, "codecs": [{"name":"bytes","configuration":{"endian":"big"}}],
        "ext": {"must_understand": false, "n": 18446744073709551617},
        "dimension_names": ["r\u00f6w"],
        "attributes": {"z": 9007199254740993, "a": [1.0, 1e2, null], "é": {"deep": true}}}"#;
    let v2 = [
        (
            ".zarray",
            r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<f4","compressor":null,"fill_value":1.50,"order":"C","filters":null,"_nczarr_array":{"x":1}}"#,
        ),
        (".zattrs", r#"{"z": 9007199254740993, "a": [1.0, 1e2, null], "é": {"deep": true}}"#),
    ];
    let entry = format!(
        r#"{{"zarr_format":"{CORE}","metadata_encoding":"{CORE}","metadata_key_suffix":".json","extensions":[]}}"#
    );
    let draft = [
        ("zarr.json", entry.as_str()),
        (
            "meta/root.array.json",
            r#"{"shape":[4],"data_type":"<f4","chunk_grid":{"type":"regular","chunk_shape":[2],"separator":"/"},"chunk_memory_layout":"C","fill_value":1.50,
            "extensions":[{"extension":"http://example.org/foo","must_understand":false,"configuration":{"foo":"bar"}}],
            "attributes":{"z": 9007199254740993, "a": [1.0, 1e2, null], "é": {"deep": true}},"mystery":[0.10]}"#,
        ),
    ];
    for (documents, attributes_at, shape_at, kept) in [
        (&[("zarr.json", v3)][..], "zarr.json", "zarr.json", r#"18446744073709551617"#),
        (&v2[..], ".zattrs", ".zarray", r#""_nczarr_array": {"#),
        (&draft[..], "meta/root.array.json", "meta/root.array.json", "0.10"),
    ] {
        let store = store(documents);
        let array = open(&store)?.array(NodePath::root())?;
        array.update_attributes(|a| drop(a.insert("a", Json::from("new"))))?;
        let after = text(&store, attributes_at).expect("it is there");
        let at = |needle: &str| after.find(needle).unwrap_or_else(|| panic!("{needle} in {after}"));
        assert!(
            at("9007199254740993") < at("\"new\"") && at("\"new\"") < at("é"),
            "members keep their order"
        );
        array.resize(&[3])?;
        let after = text(&store, shape_at).expect("it is there");
        assert!(after.contains(kept) && after.contains("1.50"), "{after}");
        assert_eq!(open(&store)?.array(NodePath::root())?.shape(), [3]);
        let again = open(&store)?.array(NodePath::root())?;
        assert_eq!(again.attributes().len(), 3);
        assert_eq!(again.metadata().dimension_names, array.metadata().dimension_names);
    }
    Ok(())
}

/// D-151, D-152, D-154, D-170, V12, V13: the drafts create no ancestors, and erase one node alone.
#[test]
fn the_draft_creates_one_document_a_node() -> Result<()> {
    let store = store(&[]);
    let hierarchy =
        Hierarchy::create(store.clone(), zarr::format::of_dialect(Dialect::Draft), &options())?;
    let array = |path: &str| -> Result<()> {
        hierarchy.create_array(path).shape(&[2]).data_type_named("u1").create().map(|_| ())
    };
    array("/foo/bar/baz")?;
    std::thread::scope(|scope| {
        for n in 0..16 {
            scope.spawn(move || array(&format!("/g/a{n}")).expect("created"));
        }
    });
    let found = keys(&store);
    assert_eq!(found.len(), 2 + 1 + 16, "{found:?}");
    assert!(found.contains(&"meta/root/foo/bar/baz.array.json".to_owned()));
    let tree: Vec<String> =
        hierarchy.tree(NodePath::root())?.iter().map(|c| c.path.to_string()).collect();
    assert!(tree.contains(&"/foo/bar".to_owned()), "{tree:?}");
    assert!(matches!(hierarchy.node("/foo/bar")?, Node::Group(g) if g.metadata().implicit));
    // An attribute makes an implicit group explicit, and nothing else.
    hierarchy.group("/foo")?.update_attributes(|a| drop(a.insert("k", "v")))?;
    assert_eq!(keys(&store).len(), 20);
    // Erasing `/x` leaves `/xy`.
    for path in ["/x", "/xy", "/x.y"] {
        array(path)?;
        hierarchy.array(path)?.write(.., &[1u8, 2])?;
    }
    let before = keys(&store);
    hierarchy.erase("/x")?;
    let gone: Vec<String> = before.into_iter().filter(|k| !keys(&store).contains(k)).collect();
    assert_eq!(gone, ["data/root/x/c0", "meta/root/x.array.json"]);
    Ok(())
}

/// F-007, Z2-003: groups above a new node are created, and those that are there stay.
#[test]
fn v2_and_v3_create_the_groups_above() -> Result<()> {
    for (dialect, document) in [(Dialect::V3, "zarr.json"), (Dialect::V2, ".zgroup")] {
        let store = store(&[]);
        let hierarchy =
            Hierarchy::create(store.clone(), zarr::format::of_dialect(dialect), &options())?;
        hierarchy.create_group("/a", Object::new().with("k", "v"))?;
        hierarchy.create_group("/a/b/c", Object::new())?;
        for path in ["", "a/", "a/b/", "a/b/c/"] {
            assert!(text(&store, &format!("{path}{document}")).is_some(), "{path}");
        }
        assert_eq!(hierarchy.group("/a")?.attributes().len(), 1);
        hierarchy.erase("/a")?;
        assert_eq!(hierarchy.tree(NodePath::root())?.len(), 1);
        assert!(hierarchy.erase("/a").is_err());
    }
    Ok(())
}

/// T-35: one child that cannot be read does not hide the others; it opens, only its elements do not.
#[test]
fn an_unknown_codec_hides_nothing() -> Result<()> {
    let array = |codec: &str| {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":7,"codecs":[{{"name":"{codec}"}}],"attributes":{{"units":"K"}}}}"#
        )
    };
    let store = store(&[
        ("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#),
        ("good/zarr.json", &array("bytes")),
        ("odd/zarr.json", &array("sprintz")),
        ("broken/zarr.json", "{"),
    ]);
    let hierarchy = open(&store)?;
    let tree: Vec<(String, Option<NodeKind>)> = hierarchy
        .tree(NodePath::root())?
        .into_iter()
        .map(|c| (c.path.to_string(), c.kind))
        .collect();
    assert_eq!(tree.len(), 3, "{tree:?}");
    assert!(hierarchy.warnings().iter().any(|w| w.place == "/broken"));
    let odd = hierarchy.array("/odd")?;
    assert_eq!(odd.attributes().get("units"), Some(&Json::from("K")));
    assert_eq!(odd.read::<u8>(..).unwrap_err().kind(), zarr::ErrorKind::Unsupported);
    odd.update_attributes(|a| drop(a.remove("units")))?;
    hierarchy.erase("/odd")?;
    Ok(())
}

/// Z2-091; `zarr.json` wins over documents of v2.
#[test]
fn detection_is_by_the_documents_and_can_be_overridden() -> Result<()> {
    let v2 = r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"|u1","compressor":null,"fill_value":0,"order":"C","filters":null}"#;
    let v3 = r#"{"zarr_format":3,"node_type":"group"}"#;
    let both = store(&[("zarr.json", v3), (".zarray", v2)]);
    assert_eq!(open(&both)?.dialect(), Dialect::V3);
    assert_eq!(open(&both)?.warnings().len(), 1);
    assert_eq!(
        Hierarchy::open(both, &options().dialect(Dialect::V2))?.array(NodePath::root())?.shape(),
        [4]
    );
    let broken = store(&[("zarr.json", "{"), (".zarray", v2)]);
    assert!(open(&broken).is_err());
    assert!(Hierarchy::open(broken, &options().dialect(Dialect::V2)).is_ok());
    let odd = store(&[(".zarray", &v2.replace(",\"filters\":null", ""))]);
    assert_eq!(open(&odd)?.array(NodePath::root())?.hierarchy().warnings().len(), 1);
    assert!(Hierarchy::open(odd, &options().strict())?.array(NodePath::root()).is_err());
    Ok(())
}

/// What zarr-python wrote though its specification says otherwise: `bytes` without a byte order behind a
/// codec that makes wider elements (3.1.6), and raw bytes in the draft as a record with one nameless
/// field (2.18.7).
#[cfg(feature = "delta")]
#[test]
fn habits_of_zarr_python_are_read() -> Result<()> {
    let v3 = r#"{"zarr_format":3,"node_type":"array","shape":[3],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[3]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"numcodecs.delta","configuration":{"dtype":"|i1","astype":"<i2"}},{"name":"bytes"}]}"#;
    let delta = store(&[("zarr.json", v3)]);
    let key = StoreKey::new("c/0").expect("a key");
    delta.to_sync().set(&key, (&[5u8, 0, 1, 0, 0xfe, 0xff][..]).into()).expect("set");
    assert_eq!(open(&delta)?.array(NodePath::root())?.read::<i8>(..)?, [5, 6, 4]);

    let entry = format!(
        r#"{{"zarr_format":"{CORE}","metadata_encoding":"{CORE}","metadata_key_suffix":".json","extensions":[]}}"#
    );
    let raw = r#"{"shape":[2],"data_type":{"extension":"TODO: structured array protocol URL","type":[["","|V4"]],"fallback":null},"chunk_grid":{"type":"regular","chunk_shape":[2],"separator":"/"},"chunk_memory_layout":"C","fill_value":"AAAAAQ==","extensions":[],"attributes":{}}"#;
    let draft = store(&[("zarr.json", &entry), ("meta/root.array.json", raw)]);
    let array = open(&draft)?.array(NodePath::root())?;
    assert_eq!(array.read::<[u8; 4]>(..)?, [[0, 0, 0, 1]; 2]);
    Ok(())
}

/// A node that was erased cannot be changed, and leaves nothing behind that looks like one.
#[test]
fn erased_nodes_stay_erased() -> Result<()> {
    for dialect in [Dialect::V2, Dialect::V3] {
        let store = store(&[]);
        let hierarchy =
            Hierarchy::create(store.clone(), zarr::format::of_dialect(dialect), &options())?;
        let path = "/x";
        let array = hierarchy.create_array(path).shape(&[2]).data_type_named("u1").create()?;
        hierarchy.erase(path)?;
        let refused = array.update_attributes(|a| drop(a.insert("k", "v"))).unwrap_err();
        assert_eq!(refused.kind(), zarr::ErrorKind::NotFound);
        assert_eq!(keys(&store).len(), 1);
    }
    Ok(())
}

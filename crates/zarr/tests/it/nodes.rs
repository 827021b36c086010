//! All nodes below a node are opened, and each of their documents is read once.
#![cfg(feature = "memory")]

use std::sync::Arc;

use zarr::format::of_dialect;
use zarr::store::{Payload, Store, StoreKey, from_sync};
use zarr::stores::{Call, MemoryStore};
use zarr::{Dialect, Hierarchy, NodeKind, NodePath, Object, OpenOptions, Result};
use zarr_testkit::record;

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn path(text: &str) -> NodePath {
    NodePath::new(text).expect("a good path")
}

/// Groups and arrays, two levels deep.
fn filled(dialect: Dialect) -> Result<Arc<dyn Store>> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let hierarchy = Hierarchy::create(store.clone(), of_dialect(dialect), &options())?;
    for group in ["/g", "/g/empty", "/h"] {
        hierarchy.create_group(path(group), Object::new().with("name", group))?;
    }
    for array in ["/a", "/g/a", "/g/b", "/h/a"] {
        let builder = hierarchy.create_array(path(array)).shape(&[4]).chunks(&[2]);
        builder.data_type_named("uint16").create()?.write(.., &[1u16, 2, 3, 4])?;
    }
    Ok(store)
}

const DIALECTS: [Dialect; 3] = [Dialect::V3, Dialect::V2, Dialect::Draft];

#[test]
fn they_are_those_of_the_tree() -> Result<()> {
    for dialect in DIALECTS {
        let hierarchy = Hierarchy::open(filled(dialect)?, &options())?;
        for at in ["/", "/g", "/g/a"] {
            let tree = hierarchy.tree(path(at))?;
            let nodes = hierarchy.nodes(path(at))?;
            let listed: Vec<_> = tree.iter().map(|c| (c.path.clone(), c.kind)).collect();
            let opened: Vec<_> = nodes.iter().map(|n| (n.path().clone(), Some(n.kind()))).collect();
            assert_eq!(opened, listed, "{dialect:?} {at}");
            for array in nodes.iter().filter_map(|node| node.as_array()) {
                assert_eq!(array.read::<u16>(..)?, [1, 2, 3, 4]);
            }
            for group in nodes.iter().filter_map(|node| node.as_group()) {
                let name = group.path().as_str();
                let is_named = group.attributes().get("name").and_then(|name| name.as_str());
                assert_eq!(is_named, Some(name).filter(|&name| name != "/"), "{dialect:?}");
            }
        }
        assert!(hierarchy.nodes(path("/none")).is_err());
    }
    Ok(())
}

/// T-35.
#[test]
fn broken_ones_are_left_out_with_a_warning() -> Result<()> {
    let store = filled(Dialect::V3)?;
    let writeable = store.to_sync();
    let shapeless = br#"{"zarr_format":3,"node_type":"array"}"#;
    for (name, text) in [("g/a", &b"{"[..]), ("h/a", shapeless)] {
        let key = StoreKey::new(format!("{name}/zarr.json")).expect("a key");
        writeable.set(&key, Payload::new(text)).expect("set");
    }
    let hierarchy = Hierarchy::open(store, &options())?;
    let nodes = hierarchy.nodes(NodePath::root())?;
    let arrays = nodes.iter().filter(|node| node.kind() == NodeKind::Array);
    assert_eq!(arrays.map(|a| a.path().to_string()).collect::<Vec<_>>(), ["/a", "/g/b"]);
    let warned: Vec<_> = hierarchy.warnings().iter().map(ToString::to_string).collect();
    for name in ["/g/a", "/h/a"] {
        assert!(warned.iter().any(|w| w.contains(name) && w.contains("left out")), "{warned:?}");
    }
    Ok(())
}

/// A hierarchy of eight nodes: no document is got twice, and each group is listed once.
#[test]
fn each_document_is_read_once() -> Result<()> {
    for dialect in DIALECTS {
        let store = filled(dialect)?;
        let note = |call: &Call<'_>| Some(format!("{} {}", call.operation, call.key));
        let (log, calls) = record(store, note);
        let hierarchy = Hierarchy::open(log, &options())?;
        calls.take();
        hierarchy.nodes(path("/g"))?;
        let calls = calls.take();
        let mut once = calls.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), calls.len(), "{dialect:?} {calls:?}");
    }
    Ok(())
}

#[test]
fn keys_that_are_not_zarrs_are_listed_and_stay_where_their_node_is_erased() -> Result<()> {
    for dialect in DIALECTS {
        let store = filled(dialect)?;
        let hierarchy = Hierarchy::open(store.clone(), &options())?;
        assert!(hierarchy.foreign_keys(path("/g"))?.is_empty(), "{dialect}");
        let below = if dialect == Dialect::Draft { "data/root/g" } else { "g" };
        let notes = StoreKey::new(format!("{below}/a/notes.txt"))?;
        store.to_sync().set(&notes, Payload::new(b"work".to_vec()))?;
        assert_eq!(hierarchy.foreign_keys(path("/g"))?, std::slice::from_ref(&notes), "{dialect}");
        assert!(hierarchy.foreign_keys(path("/h"))?.is_empty(), "{dialect}");
        // A group in the place of another, then nothing.
        hierarchy.erase(path("/g"))?;
        assert_eq!(store.to_sync().value(&notes)?.as_deref(), Some(&b"work"[..]), "{dialect}");
        let left = store.to_sync().list()?;
        let is_of_g =
            |key: &&StoreKey| key.as_str().contains("/g/") || key.as_str().starts_with("g");
        assert_eq!(left.iter().filter(is_of_g).collect::<Vec<_>>(), [&notes], "{dialect}");
        assert!(hierarchy.interrupted_keys(path("/g"))?.is_empty(), "{dialect}");
    }
    Ok(())
}

/// What a copy under way and a repair keep is in no tree, is no user's file, and gives no warning.
#[test]
fn folders_of_tools_are_no_nodes() -> Result<()> {
    for dialect in DIALECTS {
        let store = filled(dialect)?;
        let before: Vec<_> = {
            let hierarchy = Hierarchy::open(store.clone(), &options())?;
            hierarchy.tree(NodePath::root())?.into_iter().map(|child| child.path).collect()
        };
        for folder in zarr::format::TOOL_FOLDERS {
            for below in ["", "g/"] {
                for name in ["zarr.json", ".zgroup", "x/zarr.json", "x/.zarray", "notes.txt"] {
                    let key = StoreKey::new(format!("{below}{folder}/{name}"))?;
                    store.to_sync().set(&key, Payload::new(b"{"))?;
                }
            }
        }
        let hierarchy = Hierarchy::open(store.clone(), &options())?;
        let after: Vec<_> =
            hierarchy.tree(NodePath::root())?.into_iter().map(|child| child.path).collect();
        assert_eq!(after, before, "{dialect}");
        assert_eq!(hierarchy.nodes(NodePath::root())?.len(), before.len(), "{dialect}");
        assert!(hierarchy.foreign_keys(NodePath::root())?.is_empty(), "{dialect}");
        hierarchy.consolidate()?;
        assert!(hierarchy.check_consolidated()?.is_empty(), "{dialect}");
        let warnings = hierarchy.warnings();
        assert!(warnings.is_empty(), "{dialect}: {warnings:?}");
    }
    Ok(())
}

//! Nodes that cannot be created, in any dialect.
#![cfg(feature = "memory")]

use std::sync::Arc;

use zarr::store::{Store, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Dialect, ErrorKind, Hierarchy, NodePath, Object, OpenOptions, Result};

const DIALECTS: [Dialect; 3] = [Dialect::V3, Dialect::V2, Dialect::Draft];

fn path(text: &str) -> NodePath {
    NodePath::new(text).expect("a good path")
}

fn hierarchy(dialect: Dialect) -> Result<Hierarchy> {
    let options = OpenOptions::new(zarr::standard()).read_write();
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    Hierarchy::create(store, zarr::format::of_dialect(dialect), &options)
}

fn keys(hierarchy: &Hierarchy) -> Vec<String> {
    let keys = hierarchy.store().to_sync().list().expect("memory lists");
    keys.iter().map(ToString::to_string).collect()
}

/// T-63, F-060, Z2-012: chunks of length 0, as long as 64 bits can count (which is what -1 becomes), or for other
/// axes than the array has.
#[test]
fn chunks_that_cannot_be() -> Result<()> {
    for dialect in DIALECTS {
        let hierarchy = hierarchy(dialect)?;
        let before = keys(&hierarchy);
        for (shape, chunks) in [
            (vec![4u64, 4], vec![0u64, 2]),
            (vec![0, 4], vec![0, 2]),
            (vec![4, 4], vec![2]),
            (vec![4, 4], vec![2, 2, 2]),
            (vec![4, 4], vec![]),
            (vec![], vec![1]),
            (vec![4, 4], vec![u64::MAX, u64::MAX]),
        ] {
            let builder = hierarchy.create_array(path("/a")).shape(&shape).chunks(&chunks);
            let refused = builder.data_type_named("int16").create();
            let Err(error) = refused else { panic!("{dialect}: {shape:?} in {chunks:?}") };
            assert_eq!(error.kind(), ErrorKind::Argument, "{dialect}: {shape:?}: {error}");
        }
        assert_eq!(keys(&hierarchy), before, "{dialect}");
        // No length at all is one; an axis that is there to grow has long chunks.
        let builder = hierarchy.create_array(path("/a")).shape(&[0, 4]).data_type_named("int16");
        assert_eq!(builder.create()?.chunk_shape(), Some(vec![1 << 17, 4]), "{dialect}");
    }
    Ok(())
}

/// T-65, F-007, Z2-003: below an array, however deep.
#[test]
fn nothing_lies_below_an_array() -> Result<()> {
    for dialect in [Dialect::V3, Dialect::V2] {
        let hierarchy = hierarchy(dialect)?;
        hierarchy.create_array(path("/a")).shape(&[4]).data_type_named("u1").create()?;
        let before = keys(&hierarchy);
        for below in ["/a/b", "/a/b/c", "/a/c/0"] {
            assert!(hierarchy.create_group(path(below), Object::new()).is_err(), "{below}");
            let builder = hierarchy.create_array(path(below)).shape(&[4]);
            assert!(builder.data_type_named("u1").create().is_err(), "{below}");
        }
        assert_eq!(keys(&hierarchy), before, "{dialect}");
    }
    Ok(())
}

/// T-65, F-020: names that others reserve, anywhere in a path.
#[test]
fn names_that_are_taken() -> Result<()> {
    let taken: [(Dialect, &[&str]); 2] = [
        (
            Dialect::V3,
            &["/__x", "/__x/a", "/a/__x", "/...", "/a/.../b", "/zarr.json", "/zarr.json/a"],
        ),
        (Dialect::V2, &["/.zarray", "/.zgroup/a", "/a/.zattrs", "/.zmetadata"]),
    ];
    for (dialect, paths) in taken {
        let hierarchy = hierarchy(dialect)?;
        let before = keys(&hierarchy);
        for at in paths {
            let refused = hierarchy.create_group(path(at), Object::new());
            assert_eq!(refused.expect_err(at).kind(), ErrorKind::Argument, "{at}");
            let builder = hierarchy.create_array(path(at)).shape(&[4]).data_type_named("u1");
            assert_eq!(builder.create().expect_err(at).kind(), ErrorKind::Argument, "{at}");
        }
        assert_eq!(keys(&hierarchy), before, "{dialect}");
    }
    for at in ["/a/../b", "/..", "/a//b", "/."] {
        assert!(NodePath::new(at).is_err(), "{at}");
    }
    Ok(())
}

/// Z2-003, F-007: what is overwritten leaves nothing, and groups above that are there stay as they are.
#[test]
fn overwriting_erases_first() -> Result<()> {
    for dialect in DIALECTS {
        let hierarchy = hierarchy(dialect)?;
        hierarchy.create_group(path("/g"), Object::new().with("keep", 1u64))?;
        hierarchy.create_group(path("/g/a"), Object::new().with("old", 1u64))?;
        let builder = hierarchy.create_array(path("/g/a/x")).shape(&[4]).chunks(&[2]);
        builder.data_type_named("u1").create()?.write(.., &[1u8, 2, 3, 4])?;
        let builder = hierarchy.create_array(path("/g/a")).shape(&[4]).data_type_named("u1");
        let array = builder.overwrite(true).create()?;
        assert_eq!(array.read::<u8>(..)?, [0; 4], "{dialect}");
        assert!(array.attributes().is_empty() && hierarchy.node(path("/g/a/x")).is_err());
        assert!(keys(&hierarchy).iter().all(|key| !key.contains("a/x")), "{dialect}");
        assert!(hierarchy.group(path("/g"))?.attributes().contains("keep"), "{dialect}");
    }
    Ok(())
}

/// Attributes that no reader here would take are refused before anything is written, whoever brings them; so are the names of folders
/// that listings do not show.
#[test]
fn attributes_that_nest_too_deep_and_names_of_tools() -> Result<()> {
    let deep = |levels: usize| {
        let text = "[".repeat(levels) + &"]".repeat(levels);
        zarr::Json::parse(text.as_bytes()).expect("JSON within the limit")
    };
    for dialect in DIALECTS {
        let hierarchy = hierarchy(dialect)?;
        let array = hierarchy.create_array("/a").shape(&[2]).chunks(&[2]).data_type_named("int8");
        let array = array.create()?;
        let before = keys(&hierarchy);
        let error = array.update_attributes(|all| drop(all.insert("k", deep(122)))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{dialect}: {error}");
        assert!(error.to_string().contains("attribute `k` nests deeper than 120"), "{error}");
        let attributes = || [("k".to_owned(), deep(122))].into_iter().collect::<Object>();
        hierarchy.create_group(path("/g"), attributes()).unwrap_err();
        for name in ["/.zarr-copy", "/.zarr-quarantine/a"] {
            let error = hierarchy.create_group(path(name), Object::new()).unwrap_err();
            assert!(error.to_string().contains("tools use this name"), "{dialect}: {error}");
        }
        assert_eq!(keys(&hierarchy), before, "{dialect}");
        array.update_attributes(|all| drop(all.insert("k", deep(120))))?;
        hierarchy.consolidate()?;
        let again = Hierarchy::open(hierarchy.store().clone(), &OpenOptions::new(zarr::standard()));
        assert_eq!(again?.array("/a")?.attributes().get("k"), Some(&deep(120)), "{dialect}");
    }
    Ok(())
}

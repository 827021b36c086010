//! A node whose name begins like another's is never taken for a part of it.
#![cfg(feature = "memory")]

use std::sync::Arc;

use zarr::store::{Store, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Dialect, Hierarchy, NodePath, Object, OpenOptions, Result};

fn path(text: &str) -> NodePath {
    NodePath::new(text).expect("a good path")
}

fn array(hierarchy: &Hierarchy, at: &str) -> Result<()> {
    let builder = hierarchy.create_array(path(at)).shape(&[4]).chunks(&[2]);
    builder.data_type_named("int16").create()?.write(.., &[1i16, 2, 3, 4])
}

/// T-58, F-110, Z2-005: listing, erasing, overwriting, purging and resizing stop at `/`.
#[test]
fn a_longer_name_is_another_node() -> Result<()> {
    for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        let options = OpenOptions::new(zarr::standard()).read_write();
        let format = zarr::format::of_dialect(dialect);
        let hierarchy = Hierarchy::create(store, format, &options)?;
        hierarchy.create_group(path("/foo"), Object::new())?;
        hierarchy.create_group(path("/foobar"), Object::new())?;
        for at in ["/foo/a", "/foobar/b", "/foo/a1", "/foo.d"] {
            array(&hierarchy, at)?;
        }
        let children = |at: &str| -> Result<Vec<String>> {
            let children = hierarchy.children(path(at))?;
            Ok(children.iter().map(|child| child.path.to_string()).collect())
        };
        let values = |at: &str| hierarchy.array(path(at))?.read::<i16>(..);
        assert_eq!(children("/foo")?, ["/foo/a", "/foo/a1"], "{dialect}");
        assert_eq!(children("/foobar")?, ["/foobar/b"], "{dialect}");
        hierarchy.array(path("/foo/a"))?.resize(&[0])?;
        assert_eq!(values("/foo/a1")?, [1, 2, 3, 4], "{dialect}");
        let builder = hierarchy.create_array(path("/foo/a")).shape(&[4]).chunks(&[2]);
        builder.data_type_named("int16").overwrite(true).purge(true).create()?;
        assert_eq!(values("/foo/a")?, [0; 4], "{dialect}");
        assert_eq!(values("/foo/a1")?, [1, 2, 3, 4], "{dialect}");
        hierarchy.erase(path("/foo"))?;
        assert_eq!(children("/")?, ["/foo.d", "/foobar"], "{dialect}");
        assert_eq!(values("/foobar/b")?, [1, 2, 3, 4], "{dialect}");
        assert_eq!(values("/foo.d")?, [1, 2, 3, 4], "{dialect}");
    }
    Ok(())
}

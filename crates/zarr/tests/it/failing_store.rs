//! A value that the store fails to read is never taken for absent.
#![cfg(all(feature = "memory", feature = "sharding"))]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zarr::store::{Capabilities, GetOptions, Got, StoreKey, SyncStore, from_sync_arc};
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, ErrorKind, Hierarchy, NodePath, OpenOptions, Result, StoreError};

/// A store that from some time on may not read: its owner withdrew the right.
#[derive(Debug)]
struct Withdrawn {
    store: MemoryStore,
    from_now: AtomicBool,
}

impl Withdrawn {
    fn check(&self, key: &StoreKey) -> Result<(), StoreError> {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        if self.from_now.load(Ordering::SeqCst) {
            Err(StoreError::Io { operation: "get", key: key.to_string(), source })
        } else {
            Ok(())
        }
    }
}

impl SyncStore for Withdrawn {
    zarr_testkit::forward_calls!(store: put erase_prefix list_prefix list_dir);

    fn name(&self) -> String {
        "withdrawn".into()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { create: false, ..self.store.capabilities() }
    }
    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        self.check(key)?;
        self.store.get(key, how)
    }
}

fn withdrawn(dialect: Dialect) -> Result<(Arc<Withdrawn>, Hierarchy)> {
    let store = Arc::new(Withdrawn { store: MemoryStore::new(), from_now: AtomicBool::new(false) });
    let options = OpenOptions::new(zarr::standard()).read_write();
    let format = zarr::format::of_dialect(dialect);
    let hierarchy = Hierarchy::create(from_sync_arc(store.clone()), format, &options)?;
    Ok((store, hierarchy))
}

fn refused<T>(result: Result<T>) {
    let Err(error) = result else { panic!("it was taken for absent") };
    assert_eq!(error.kind(), ErrorKind::Store, "{error}");
    assert!(error.to_string().contains("denied"), "{error}");
}

/// Everything that is read of an array whose chunks all hold ones.
fn check(store: &Withdrawn, array: &Array) -> Result<()> {
    array.write(.., &[1u16; 64])?;
    let before = store.store.list()?.len();
    store.from_now.store(true, Ordering::SeqCst);
    refused(array.read::<u16>(..));
    refused(array.read::<u16>((3, 3)));
    refused(array.read_le_bytes((0..8, 0..2)));
    // A part of a chunk needs the rest of it.
    refused(array.write((0, 0), &[0u16]));
    refused(array.write((0..3, 0..8), &[0u16; 24]));
    assert_eq!(store.store.list()?.len(), before);
    store.from_now.store(false, Ordering::SeqCst);
    let elements = array.read::<u16>(..)?;
    assert!(elements[32..] == [1; 32] && elements[0] == 1, "{elements:?}");
    Ok(())
}

/// F-073, T-59, Z2-083, Z2-023: of chunks and of parts of shards.
#[test]
fn a_chunk_that_cannot_be_read_is_not_fill() -> Result<()> {
    for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
        let (store, hierarchy) = withdrawn(dialect)?;
        let builder = hierarchy.create_array(&NodePath::new("/a")?).shape(&[8, 8]);
        check(&store, &builder.chunks(&[4, 4]).data_type_named("uint16").create()?)?;
    }
    let (store, hierarchy) = withdrawn(Dialect::V3)?;
    let builder = hierarchy.create_array(&NodePath::new("/a")?).shape(&[8, 8]).chunks(&[2, 2]);
    check(&store, &builder.shards(&[4, 4]).data_type_named("uint16").create()?)
}

/// F-073, F-113, Z2-083: of documents; neither a node nor a document that would prevent one is absent.
#[test]
fn a_document_that_cannot_be_read_is_not_absent() -> Result<()> {
    for dialect in [Dialect::V3, Dialect::V2] {
        let (store, hierarchy) = withdrawn(dialect)?;
        let path = NodePath::new("/a")?;
        hierarchy.create_array(&path).shape(&[8]).data_type_named("uint16").create()?;
        store.from_now.store(true, Ordering::SeqCst);
        refused(hierarchy.node(&path));
        refused(hierarchy.node(&NodePath::new("/b")?));
        refused(hierarchy.create_group(&NodePath::new("/b/c")?, zarr::Object::new()));
        let options = OpenOptions::new(zarr::standard());
        refused(Hierarchy::open(from_sync_arc(store), &options));
    }
    Ok(())
}

//! What an interrupted erase left, or a writer that raced it, does not come back; and one node is created once.
#![cfg(all(feature = "filesystem", feature = "memory", feature = "zip", feature = "lmdb"))]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;

use zarr::store::{
    Payload, Precondition, Store, StoreKey, StorePrefix, SyncStore, from_sync, from_sync_arc,
};
use zarr::stores::{FilesystemStore, LmdbStore, MemoryStore, ZipStore};
use zarr::{Array, Dialect, ErrorKind, Hierarchy, NodePath, OpenOptions, Result, StoreError};

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn path(text: &str) -> NodePath {
    text.parse().expect("a good path")
}

fn key(text: &str) -> StoreKey {
    StoreKey::new(text).expect("a good key")
}

/// Opens a store, each time by a handle of its own.
type Open = Box<dyn Fn() -> Arc<dyn Store> + Send + Sync>;

/// A new store of each kind. Handles of one folder, archive or file are made anew for each caller.
fn stores() -> Vec<(&'static str, Open)> {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let at = |name: &str| (folder.clone(), folder.path().join(name));
    let (a, b, c) = (at("a.zarr"), at("b.zip"), at("c.lmdb"));
    let archive: Arc<dyn Store> = from_sync(ZipStore::open(&b.1).expect("a new archive"));
    let memory: Arc<dyn Store> = from_sync(MemoryStore::new());
    vec![
        ("memory", Box::new(move || memory.clone())),
        ("folder", Box::new(move || (from_sync(FilesystemStore::new(&a.1)), &a.0).0)),
        // One handle may write to an archive at a time.
        ("zip", Box::new(move || (archive.clone(), &b.0).0)),
        ("lmdb", Box::new(move || (from_sync(LmdbStore::open(&c.1)), &c.0).0)),
    ]
}

fn create(hierarchy: &Hierarchy, at: &str) -> Result<Array> {
    let array = hierarchy.create_array(path(at)).shape(&[8]).chunks(&[2]).separator('/');
    array.data_type_named("u1").create()
}

/// The documents of `/a`, of which the first that is erased makes it vanish.
fn documents(dialect: Dialect, at: &str) -> Vec<StoreKey> {
    match dialect {
        Dialect::V2 => vec![key(&format!("{at}/.zarray"))],
        Dialect::V3 => vec![key(&format!("{at}/zarr.json"))],
        _ => vec![key(&format!("meta/root/{at}.array.json"))],
    }
}

#[test]
fn chunks_that_an_interrupted_erase_left_do_not_come_back() -> Result<()> {
    for dialect in DIALECTS {
        for (name, store) in stores() {
            let hierarchy = Hierarchy::create(store(), options().format(dialect), &options())?;
            create(&hierarchy, "/a")?.write(.., &[7u8; 8])?;
            // An erase that ends here is one that was killed.
            for document in documents(dialect, "a") {
                store().to_sync().erase(&document)?;
            }
            // Nothing tells them from those of an array that lost its document.
            let refused = create(&hierarchy, "/a").unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Exists, "{name}, {dialect}: {refused}");
            assert_eq!(hierarchy.interrupted_keys(path("/a"))?.len(), 4, "{name}, {dialect}");
            let again = hierarchy.create_array(path("/a")).shape(&[8]).chunks(&[2]).separator('/');
            let again = again.data_type_named("u1").overwrite(true).create()?;
            assert_eq!(again.read::<u8>(..)?, [0; 8], "{name}, {dialect}");
            assert_eq!(again.stored_chunks()?, 0, "{name}, {dialect}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn they_do_not_come_back_for_callers_that_wait() -> Result<()> {
    for (name, store) in stores() {
        let blocking = Hierarchy::create(store(), options().format(Dialect::V3), &options())?;
        create(&blocking, "/a")?.write(.., &[7u8; 8])?;
        store().to_sync().erase(&key("a/zarr.json"))?;
        let hierarchy = blocking.as_async();
        let array = hierarchy.create_array(path("/a")).shape(&[8]).chunks(&[2]);
        let array = array.data_type_named("u1");
        let refused = array.clone().create().await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Exists, "{name}: {refused}");
        let array = array.purge(true).create().await?;
        assert_eq!(array.read::<u8>(..).await?, [0; 8], "{name}");
    }
    Ok(())
}

/// An interrupted erase can be repeated, and what lies beside is left alone.
#[test]
fn an_interrupted_erase_can_be_repeated() -> Result<()> {
    for dialect in DIALECTS {
        for (name, store) in stores() {
            let hierarchy = Hierarchy::create(store(), options().format(dialect), &options())?;
            create(&hierarchy, "/a")?.write(.., &[7u8; 8])?;
            create(&hierarchy, "/ab")?.write(.., &[8u8; 8])?;
            for document in documents(dialect, "a") {
                store().to_sync().erase(&document)?;
            }
            assert_eq!(hierarchy.interrupted_keys(path("/a"))?.len(), 4, "{name}, {dialect}");
            hierarchy.erase(path("/a"))?;
            let left = store().to_sync().list()?;
            let of_a =
                |key: &&StoreKey| key.as_str().contains("a/c") || key.as_str().contains("a/0");
            assert_eq!(left.iter().find(of_a), None, "{name}, {dialect}");
            assert_eq!(hierarchy.array(path("/ab"))?.read::<u8>(..)?, [8; 8]);
            // Now there is nothing to erase, nor was there ever anything beside it.
            for nothing in ["/a", "/never"] {
                let error = hierarchy.erase(path(nothing)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NotFound, "{name}, {dialect}: {error}");
            }
        }
    }
    Ok(())
}

/// Files of the user's own are no leftovers.
#[test]
fn a_repeated_erase_spares_files_that_are_not_zarrs() -> Result<()> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let hierarchy = Hierarchy::create(store.clone(), options().format(Dialect::V3), &options())?;
    let blocking = store.to_sync();
    blocking.set(&key("photos/one.jpg"), b"1".as_slice().into())?;
    assert_eq!(hierarchy.erase(path("/photos")).unwrap_err().kind(), ErrorKind::NotFound);
    blocking.set(&key("photos/c/0"), b"1".as_slice().into())?;
    hierarchy.erase(path("/photos"))?;
    assert!(blocking.value(&key("photos/one.jpg"))?.is_some());
    assert!(blocking.value(&key("photos/c/0"))?.is_none());
    Ok(())
}

/// Two writers that create one node at once, each in a dialect of its own: one succeeds.
#[test]
fn a_node_is_created_in_one_dialect() -> Result<()> {
    const ROUNDS: usize = 40;
    for (name, store) in stores() {
        for nested in [false, true] {
            let begun = [Dialect::V2, Dialect::V3].map(|dialect| {
                Hierarchy::of_format(store(), options().format(dialect), &options())
            });
            for round in 0..ROUNDS {
                let (barrier, created) = (Barrier::new(2), AtomicUsize::new(0));
                let at = path(&if nested { format!("/g{round}/a") } else { format!("/n{round}") });
                thread::scope(|scope| {
                    for hierarchy in &begun {
                        let (barrier, created, at) = (&barrier, &created, &at);
                        scope.spawn(move || {
                            let array = hierarchy.create_array(at).shape(&[2]).chunks(&[2]);
                            let array = array.data_type_named("u1");
                            barrier.wait();
                            match array.create() {
                                Ok(_) => drop(created.fetch_add(1, SeqCst)),
                                Err(e) => assert_eq!(e.kind(), ErrorKind::Exists, "{e}"),
                            }
                        });
                    }
                });
                assert_eq!(created.into_inner(), 1, "{name}, round {round}");
            }
        }
    }
    Ok(())
}

/// The same with an array and a group of one dialect.
#[test]
fn a_node_is_created_as_one_kind() -> Result<()> {
    for dialect in DIALECTS {
        for (name, store) in stores() {
            let hierarchy = Hierarchy::create(store(), options().format(dialect), &options())?;
            for round in 0..20 {
                let (barrier, created) = (Barrier::new(2), AtomicUsize::new(0));
                let at = path(&format!("/{round}"));
                let count = |made: Result<()>| match made {
                    Ok(()) => drop(created.fetch_add(1, SeqCst)),
                    Err(e) => assert_eq!(e.kind(), ErrorKind::Exists, "{e}"),
                };
                thread::scope(|scope| {
                    scope.spawn(|| {
                        let array = hierarchy.create_array(&at).shape(&[2]).data_type_named("u1");
                        barrier.wait();
                        count(array.create().map(drop));
                    });
                    scope.spawn(|| {
                        barrier.wait();
                        count(hierarchy.create_group(&at, zarr::Object::new()).map(drop));
                    });
                });
                assert_eq!(created.into_inner(), 1, "{name}, {dialect}, round {round}");
            }
        }
    }
    Ok(())
}

/// An array takes the place of a root group that was erased for it.
#[test]
fn the_root_can_be_overwritten() -> Result<()> {
    for dialect in DIALECTS {
        for (name, store) in stores() {
            let hierarchy = Hierarchy::create(store(), options().format(dialect), &options())?;
            create(&hierarchy, "/a")?.write(.., &[7u8; 8])?;
            for _ in 0..2 {
                let array = hierarchy.create_array(NodePath::root()).shape(&[2]).chunks(&[2]);
                let array = array.data_type_named("u1").overwrite(true).create()?;
                array.write(.., &[3u8; 2])?;
                let read = Hierarchy::open(store(), &options())?.array(NodePath::root())?;
                assert_eq!(read.read::<u8>(..)?, [3; 2], "{name}, {dialect}");
            }
            assert_eq!(hierarchy.tree(NodePath::root())?.len(), 1, "{name}, {dialect}");
        }
    }
    Ok(())
}

/// What `Store::create` promises, for async and for blocking callers.
#[tokio::test]
async fn creating_in_one_step_changes_all_or_nothing() -> Result<()> {
    for (name, store) in stores() {
        let store = store();
        assert!(store.capabilities().create, "{name}");
        let blocking = store.to_sync();
        let [document, beside, chunk] = ["a/zarr.json", "a/.zarray", "a/c/0"].map(key);
        let (absent, leftovers) = ([beside.clone()], [chunk.clone(), key("a/c/1")]);
        for waits in [false, true] {
            let create = async || {
                if waits {
                    store.create(&document, b"{}".as_slice().into(), &absent, &leftovers).await
                } else {
                    blocking.create(&document, b"{}".as_slice().into(), &absent, &leftovers)
                }
            };
            blocking.set(&chunk, b"left".as_slice().into())?;
            blocking.set(&beside, b"{}".as_slice().into())?;
            assert_eq!(create().await?, Some(beside.clone()), "{name}");
            assert!(
                blocking.value(&document)?.is_none() && blocking.value(&chunk)?.is_some(),
                "{name}"
            );
            blocking.erase(&beside)?;
            assert_eq!(create().await?, None, "{name}");
            assert!(
                blocking.value(&document)?.is_some() && blocking.value(&chunk)?.is_none(),
                "{name}"
            );
            blocking.set(&chunk, b"live".as_slice().into())?;
            assert_eq!(create().await?, Some(document.clone()), "{name}");
            assert!(blocking.value(&chunk)?.is_some(), "{name}");
            blocking.erase(&document)?;
        }
    }
    Ok(())
}

/// Memory that erases one chunk below a prefix, and then fails.
#[derive(Debug, Default)]
struct CutShort(MemoryStore);

impl SyncStore for CutShort {
    zarr_testkit::forward_calls!(0: capabilities get open put create list_prefix list_dir);

    fn name(&self) -> String {
        "cut short".into()
    }
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let is_chunk = |key: &StoreKey| key.as_str().ends_with(char::is_numeric);
        let first = self.0.list_prefix(prefix)?.keys.into_iter().find(is_chunk);
        if let Some(first) = first {
            self.0.put(&first, None, Precondition::Always)?;
        }
        let source = std::io::Error::other("cut short");
        Err(StoreError::Io { operation: "erase", key: prefix.to_string(), source })
    }
}

/// An array below the group lost its chunks before its document, and read as fill.
#[test]
fn an_erase_of_a_group_that_is_cut_short_leaves_no_array_without_its_chunks() -> Result<()> {
    for dialect in DIALECTS {
        let store = Arc::new(CutShort::default());
        let hierarchy =
            Hierarchy::create(from_sync_arc(store.clone()), options().format(dialect), &options())?;
        create(&hierarchy, "/g/h/a")?.write(.., &[7u8; 8])?;
        create(&hierarchy, "/ga")?.write(.., &[8u8; 8])?;
        assert!(hierarchy.erase(path("/g")).is_err());
        for other in [&hierarchy, &Hierarchy::open(from_sync_arc(store.clone()), &options())?] {
            match other.array(path("/g/h/a")) {
                Ok(array) => assert_eq!(array.read::<u8>(..)?, [7; 8], "{dialect}"),
                Err(e) => assert_eq!(e.kind(), ErrorKind::NotFound, "{dialect}: {e}"),
            }
            assert_eq!(other.array(path("/ga"))?.read::<u8>(..)?, [8; 8], "{dialect}");
        }
        let _ = hierarchy.erase(path("/g"));
        assert_eq!(create(&hierarchy, "/g/h/a")?.read::<u8>(..)?, [0; 8], "{dialect}");
    }
    Ok(())
}

/// Memory that erases a number of keys, and then fails.
#[derive(Debug)]
struct Erases {
    inner: MemoryStore,
    left: AtomicUsize,
}

impl SyncStore for Erases {
    zarr_testkit::forward_calls!(inner: name capabilities get open create list_prefix list_dir);

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        let one_less = |left: usize| left.checked_sub(1);
        if value.is_none() && self.left.fetch_update(SeqCst, SeqCst, one_less).is_err() {
            let source = std::io::Error::other("cut short");
            return Err(StoreError::Io { operation: "erase", key: key.to_string(), source });
        }
        self.inner.put(key, value, only_if)
    }
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let keys = self.inner.list_prefix(prefix)?.keys;
        keys.iter().try_for_each(|key| self.put(key, None, Precondition::Always).map(drop))
    }
}

/// What an interrupted erase has left is erased by the next one, which may be interrupted, too: an array that still has its document has all of
/// its chunks.
#[test]
fn an_erase_of_what_another_one_left_takes_documents_first() -> Result<()> {
    for dialect in [Dialect::V2, Dialect::V3] {
        for erases in 0..40 {
            let left = AtomicUsize::new(usize::MAX);
            let store = Arc::new(Erases { inner: MemoryStore::new(), left });
            let open = || Hierarchy::open(from_sync_arc(store.clone()), &options());
            let hierarchy = Hierarchy::create(
                from_sync_arc(store.clone()),
                options().format(dialect),
                &options(),
            )?;
            create(&hierarchy, "/g/h/a")?.write(.., &[7u8; 8])?;
            for document in match dialect {
                Dialect::V2 => ["g/.zgroup", "g/h/.zgroup"],
                _ => ["g/zarr.json", "g/h/zarr.json"],
            } {
                store.inner.erase(&StoreKey::new(document)?)?;
            }
            store.left.store(erases, SeqCst);
            let ended = open()?.erase(path("/g"));
            match open()?.array(path("/g/h/a")) {
                Ok(array) => assert_eq!(array.read::<u8>(..)?, [7; 8], "{dialect}, {erases}"),
                Err(e) => assert_eq!(e.kind(), ErrorKind::NotFound, "{dialect}, {erases}: {e}"),
            }
            if ended.is_ok() {
                assert!(erases > 2, "{dialect}: {erases}");
                break;
            }
            assert!(erases < 39, "{dialect}: {ended:?}");
        }
    }
    Ok(())
}

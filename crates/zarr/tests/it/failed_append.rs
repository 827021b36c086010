//! An append that fails gives its place back, and so does a prepend.
#![cfg(feature = "memory")]

use crate::common;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use zarr::store::{Payload, Precondition, StoreKey, SyncStore, from_sync_arc};
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, Hierarchy, OpenOptions, Result, StoreError};

/// Memory that, when it is full, takes documents and no chunk from the third on, nor those before the one before the first.
#[derive(Debug, Default)]
struct Full {
    memory: MemoryStore,
    is_full: AtomicBool,
    /// Which change of the root's document fails from now on, if it is not 0.
    fails_at: AtomicU64,
    /// Called before a chunk is refused.
    others: std::sync::Mutex<Option<Array>>,
}

impl Full {
    fn check(&self, key: &StoreKey) -> Result<(), StoreError> {
        let is_counted = key.as_str() == "zarr.json" && self.fails_at.load(SeqCst) > 0;
        if is_counted && self.fails_at.fetch_sub(1, SeqCst) == 1 {
            let source = io::Error::from(io::ErrorKind::StorageFull);
            return Err(StoreError::Io { operation: "set", key: key.to_string(), source });
        }
        let chunk = key.as_str().rsplit(['/', 'c', '.']).next().and_then(|n| n.parse::<i64>().ok());
        if !self.is_full.load(SeqCst) || chunk.is_none_or(|chunk| (-1..3).contains(&chunk)) {
            return Ok(());
        }
        if let Some(array) = self.others.lock().unwrap().take() {
            self.is_full.store(false, SeqCst);
            array.append(0, &[8u8; 2]).expect("the memory is not full");
            self.is_full.store(true, SeqCst);
        }
        let source = io::Error::from(io::ErrorKind::StorageFull);
        Err(StoreError::Io { operation: "set", key: key.to_string(), source })
    }
}

impl SyncStore for Full {
    zarr_testkit::forward_calls!(memory: capabilities get open create erase_prefix list_prefix list_dir);

    fn name(&self) -> String {
        "full".into()
    }
    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        if value.is_some() {
            self.check(key)?;
        }
        self.memory.put(key, value, only_if)
    }
}

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];

/// An array of three elements in chunks of two.
fn begun(dialect: Dialect) -> Result<(Arc<Full>, Array)> {
    let store = Arc::new(Full::default());
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy =
        Hierarchy::create(from_sync_arc(store.clone()), options.format(dialect), &options)?;
    let array = hierarchy.create_array("/a").shape(&[3]).chunks(&[2]);
    let array = array.data_type_named("u1").create()?;
    array.write(.., &[1u8, 2, 3])?;
    Ok((store, array))
}

/// Each retry on a full disk left as many rows of fill.
#[tokio::test]
async fn a_failed_append_leaves_the_array_as_it_was() -> Result<()> {
    for dialect in DIALECTS {
        let (store, array) = begun(dialect)?;
        let waiting = array.hierarchy().as_async();
        let waiting = waiting.array(array.path()).await?;
        let before = store.memory.list()?;
        store.is_full.store(true, SeqCst);
        for _ in 0..3 {
            let error = array.append(0, &[9u8; 6]).unwrap_err().to_string();
            assert!(error.contains("no storage space"), "{error}");
            assert_eq!(array.shape(), [3], "{dialect}");
            waiting.append(0, vec![9u8; 6]).await.unwrap_err();
            assert_eq!(waiting.shape(), [3], "{dialect}");
        }
        store.is_full.store(false, SeqCst);
        array.refresh()?;
        assert_eq!(array.read::<u8>(..)?, [1, 2, 3], "{dialect}");
        assert_eq!(store.memory.list()?, before, "{dialect}");
        assert_eq!(array.append(0, &[4u8; 6])?, 3);
        assert_eq!(array.read::<u8>(..)?, [1, 2, 3, 4, 4, 4, 4, 4, 4]);
    }
    Ok(())
}

/// What others have appended behind stays, and so does the place between, which the error names.
#[test]
fn a_place_that_others_appended_behind_is_kept_and_named() -> Result<()> {
    for dialect in DIALECTS {
        let (store, array) = begun(dialect)?;
        let options = OpenOptions::new(zarr::standard()).read_write();
        let other = Hierarchy::open(from_sync_arc(store.clone()), &options)?.array(array.path())?;
        *store.others.lock().unwrap() = Some(other);
        store.is_full.store(true, SeqCst);
        let error = array.append(0, &[9u8; 6]).unwrap_err().to_string();
        assert!(error.contains("elements 3..9 along axis 0 read as the fill value"), "{error}");
        store.is_full.store(false, SeqCst);
        array.refresh()?;
        assert_eq!(array.shape(), [11], "{dialect}");
        assert_eq!(array.read::<u8>(9..)?, [8, 8], "{dialect}");
    }
    Ok(())
}

/// What a prepend that failed has stored is gone, also from the chunk that it shares with the array's first elements.
#[tokio::test]
async fn a_failed_prepend_leaves_the_array_as_it_was() -> Result<()> {
    for dialect in [Dialect::V3, Dialect::Draft] {
        for origin in [0, 1] {
            let store = Arc::new(Full::default());
            let options = common::knowing().read_write();
            let hierarchy =
                Hierarchy::create(from_sync_arc(store.clone()), options.format(dialect), &options)?;
            let array = hierarchy.create_array("/a").shape(&[3]).data_type_named("u1");
            let array = array.grid(common::offset(&[2], &[origin], &[3])).create()?;
            array.write(.., &[1u8, 2, 3])?;
            let waiting = array.hierarchy().as_async();
            let waiting = waiting.array(array.path()).await?;
            let contents = || -> Result<Vec<_>> {
                let keys = store.memory.list()?;
                let value = |key: StoreKey| Ok((store.memory.value(&key)?, key));
                keys.into_iter().map(value).collect()
            };
            let before = contents()?;
            store.is_full.store(true, SeqCst);
            for _ in 0..3 {
                let error = array.prepend(0, &[9u8; 6]).unwrap_err().to_string();
                assert!(error.contains("no storage space"), "{error}");
                assert!(!error.contains("fill value"), "{error}");
                assert_eq!(array.shape(), [3], "{dialect}");
                waiting.prepend(0, vec![9u8; 6]).await.unwrap_err();
                assert_eq!(waiting.shape(), [3], "{dialect}");
            }
            store.is_full.store(false, SeqCst);
            assert!(contents()? == before, "{dialect}, {origin}");
            assert_eq!(array.read::<u8>(..)?, [1, 2, 3]);
            array.prepend(0, &[4u8; 6])?;
            assert_eq!(array.read::<u8>(..)?, [4, 4, 4, 4, 4, 4, 1, 2, 3]);
            // Where others have appended meanwhile the place stays, and is named.
            let other =
                Hierarchy::open(from_sync_arc(store.clone()), &options)?.array(array.path())?;
            *store.others.lock().unwrap() = Some(other);
            store.is_full.store(true, SeqCst);
            let error = array.prepend(0, &[9u8; 6]).unwrap_err().to_string();
            assert!(error.contains("elements 0..6 along axis 0 read as the fill value"), "{error}");
            store.is_full.store(false, SeqCst);
            array.refresh()?;
            assert_eq!(array.shape(), [17], "{dialect}");
            assert_eq!(array.read::<u8>(6..)?, [4, 4, 4, 4, 4, 4, 1, 2, 3, 8, 8]);
        }
    }
    Ok(())
}

/// The place is taken in the array's document. The copies of that one are marked as stale before, and made again after it:
/// where that fails, the place stayed.
#[tokio::test]
async fn an_append_whose_copies_fail_leaves_the_array_as_it_was() -> Result<()> {
    for fails_at in [2, 1] {
        let store = Arc::new(Full::default());
        let options = common::knowing().read_write();
        let hierarchy =
            Hierarchy::create(from_sync_arc(store.clone()), options.format(Dialect::V3), &options)?;
        let array = hierarchy.create_array("/a").shape(&[3]).data_type_named("u1");
        let array = array.grid(common::offset(&[2], &[0], &[3])).create()?;
        array.write(.., &[1u8, 2, 3])?;
        hierarchy.consolidate()?;
        let waiting = hierarchy.as_async();
        let waiting = waiting.array(array.path()).await?;
        let fail = || store.fails_at.store(fails_at, SeqCst);
        for _ in 0..2 {
            fail();
            let mut errors = vec![array.append(0, &[9u8; 6]).unwrap_err()];
            fail();
            errors.push(array.prepend(0, &[9u8; 6]).unwrap_err());
            fail();
            errors.push(waiting.append(0, vec![9u8; 6]).await.unwrap_err());
            fail();
            errors.push(waiting.prepend(0, vec![9u8; 6]).await.unwrap_err());
            for error in errors.iter().map(ToString::to_string) {
                assert!(error.contains("no storage space"), "{error}");
                assert!(!error.contains("is made") && !error.contains("fill value"), "{error}");
            }
            let reading = Hierarchy::open(from_sync_arc(store.clone()), &common::knowing())?;
            assert_eq!(reading.array(array.path())?.read::<u8>(..)?, [1, 2, 3], "{fails_at}");
            array.refresh()?;
            assert_eq!(array.read::<u8>(..)?, [1, 2, 3], "{fails_at}");
        }
        assert_eq!(array.append(0, &[4u8; 2])?, 3);
        array.prepend(0, &[5u8; 2])?;
        assert_eq!(array.read::<u8>(..)?, [5, 5, 1, 2, 3, 4, 4]);
        // A change of the shape that is asked for stays, and the error says so.
        store.fails_at.store(2, SeqCst);
        let error = array.resize(&[2]).unwrap_err().to_string();
        assert!(error.contains("the change was made"), "{error}");
        assert_eq!(array.read::<u8>(..)?, [5, 5]);
        assert_eq!(store.memory.list()?.len(), 3, "what was cut off is gone");
    }
    Ok(())
}

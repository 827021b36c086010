//! Chunks of few bytes go to the store several in one call.
#![cfg(all(feature = "filesystem", feature = "rayon"))]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use zarr::store::{NotSet, StoreKey, SyncStore, from_sync};
use zarr::stores::FilesystemStore;
use zarr::{Array, Dialect, ErrorKind, Hierarchy, OpenOptions, Result};

/// In chunks of two elements; the last chunk has one.
const LEN: u64 = 2047;

fn array(root: &Path) -> Result<Array> {
    let options = OpenOptions::new(zarr::standard()).read_write().threads(2);
    let store = from_sync(FilesystemStore::new(root));
    let hierarchy = Hierarchy::create(store, options.format(Dialect::V3), &options)?;
    hierarchy
        .create_array("/a")
        .shape(&[LEN])
        .chunks(&[2])
        .data_type_named("uint16")
        .fill_value(7u64)
        .create()
}

/// Every tenth chunk is all fill.
fn elements(factor: u16) -> Vec<u16> {
    (0..LEN as u16).map(|i| if i / 2 % 10 == 3 { 7 } else { i.wrapping_mul(factor) }).collect()
}

/// A call of `set_all`: the thread, and the keys.
type Call = (ThreadId, Vec<String>);

/// A folder that notes each `set_all`.
#[derive(Debug)]
struct Noting {
    folder: FilesystemStore,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl SyncStore for Noting {
    zarr_testkit::forward_calls!(folder: name capabilities get open put create erase_prefix list_prefix list_dir flush);

    fn set_all(
        &self,
        values: &[(StoreKey, &[u8])],
        guarded: bool,
    ) -> std::result::Result<(), NotSet> {
        let keys = values.iter().map(|(key, _)| key.to_string()).collect();
        self.calls.lock().unwrap().push((thread::current().id(), keys));
        self.folder.set_all(values, guarded)
    }
}

/// Writes a new array of these numbers of rows and columns, in chunks of `chunk`; the calls of the store.
fn calls(shape: [u64; 2], chunk: [u64; 2], threads: usize) -> Result<Vec<Call>> {
    let root = tempfile::tempdir().unwrap();
    let (folder, calls) = (FilesystemStore::new(root.path()), Arc::<Mutex<Vec<Call>>>::default());
    let store = from_sync(Noting { folder, calls: calls.clone() });
    let options = OpenOptions::new(zarr::standard()).read_write().threads(threads);
    let hierarchy = Hierarchy::create(store, options.format(Dialect::V3), &options)?;
    let array = hierarchy.create_array("/a").shape(&shape).chunks(&chunk);
    let array = array.data_type_named("uint16").create()?;
    let elements: Vec<u16> = (1..).take((shape[0] * shape[1]) as usize).collect();
    array.write(.., &elements)?;
    assert_eq!(array.read::<u16>(..)?, elements);
    Ok(std::mem::take(&mut calls.lock().unwrap()))
}

/// Of three chunks in a row one is at the edge, and merged into what is stored by itself.
#[test]
fn a_chunk_at_the_edge_does_not_keep_others_from_going_together() -> Result<()> {
    let counts = calls([64, 5], [2, 2], 1)?.into_iter().map(|(_, keys)| keys.len());
    assert_eq!(counts.collect::<Vec<_>>(), [11, 11, 10, 11, 11, 10]);
    Ok(())
}

/// A row of chunks has a folder, and one thread writes it: two would wait for each other.
#[test]
fn each_folder_is_written_by_one_thread() -> Result<()> {
    for (columns, expected) in [(24, &[12][..]), (32, &[16]), (40, &[16, 4])] {
        let mut folders = BTreeMap::<String, Vec<(ThreadId, usize)>>::new();
        for (thread, keys) in calls([200, columns], [1, 2], 2)? {
            let folder = |key: &String| key.rsplit_once('/').unwrap().0.to_owned();
            let first = folder(&keys[0]);
            assert!(keys.iter().all(|key| folder(key) == first), "{keys:?}");
            folders.entry(first).or_default().push((thread, keys.len()));
        }
        assert_eq!(folders.len(), 200);
        for calls in folders.values() {
            let counts: Vec<usize> = calls.iter().map(|(_, count)| *count).collect();
            assert_eq!(counts, expected);
            assert!(calls.iter().all(|(thread, _)| *thread == calls[0].0), "{calls:?}");
        }
    }
    Ok(())
}

/// Each counts once as progress, and chunks of fill are erased.
#[test]
fn chunks_that_are_written_together_are_all_written() -> Result<()> {
    let root = tempfile::tempdir().unwrap();
    let array = array(root.path())?;
    let chunk = |index: usize| root.path().join(format!("a/c/{index}"));
    array.write(.., &vec![1u16; LEN as usize])?;
    assert!(chunk(3).exists());
    let counted = Arc::new(AtomicU64::new(0));
    let count = counted.clone();
    let watched = array.with_options(|options| {
        options.progress = Some(zarr::ProgressCallback::new(move |progress| {
            count.fetch_max(progress.chunks_done, Ordering::SeqCst);
        }));
    });
    watched.write(.., &elements(3))?;
    assert_eq!(counted.load(Ordering::SeqCst), 1024);
    assert_eq!(array.read::<u16>(..)?, elements(3));
    assert!(!chunk(3).exists() && chunk(4).exists() && chunk(1022).exists());
    assert_eq!(fs::read(chunk(2)).unwrap(), [12, 0, 15, 0]);
    // A part begins and ends within chunks.
    array.write(1..LEN - 2, &elements(5)[1..LEN as usize - 2])?;
    let mut expected = elements(5);
    (expected[0], expected[2045], expected[2046]) = (0, 2045 * 3, 7);
    assert_eq!(array.read::<u16>(..)?, expected);
    Ok(())
}

#[test]
fn the_one_that_cannot_be_written_is_named() -> Result<()> {
    let root = tempfile::tempdir().unwrap();
    let array = array(root.path())?;
    // A folder in place of the chunk.
    fs::create_dir_all(root.path().join("a/c/101/in")).unwrap();
    let error = array.write(.., &elements(1)).expect_err("a folder is in the way");
    assert_eq!(error.kind(), ErrorKind::Store, "{error}");
    let text = error.to_string();
    assert!(text.contains("chunk (101)") && text.contains("a/c/101"), "{text}");
    let left = fs::read_dir(root.path().join("a/c")).unwrap().flatten();
    assert!(left.into_iter().all(|entry| !entry.file_name().to_string_lossy().contains("tmp")));
    Ok(())
}

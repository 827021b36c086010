//! Readers of parts of a shard see one version of it at a time, while writers replace it in a loop.
//!
//! Every version holds `number + place` at each place, so that a mixture of two shows, and its inner chunks
//! have other sizes than those of the version before, so that an index used with other bytes shows as well.
#![cfg(all(feature = "filesystem", feature = "memory", feature = "gzip", feature = "sharding"))]

use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use zarr::format::of_dialect;
use zarr::store::{Store, from_sync};
use zarr::stores::{FilesystemStore, MemoryStore};
use zarr::{Array, Dialect, Hierarchy, NodePath, OpenOptions, Region};
use zarr_testkit::run_test_again;

const FOLDER: &str = "ZARR_TEST_REPLACED_SHARD";
const SHAPE: [u64; 2] = [16, 32];

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn path() -> NodePath {
    NodePath::new("/a").unwrap()
}

/// What writes in another process, and reads here: a folder, or a file of LMDB's in it.
fn on_disk(kind: &str, folder: &Path) -> Arc<dyn Store> {
    match kind {
        #[cfg(feature = "lmdb")]
        "lmdb" => from_sync(zarr::stores::LmdbStore::open(folder.join("a.lmdb"))),
        _ => from_sync(FilesystemStore::new(folder)),
    }
}

fn create(store: Arc<dyn Store>) -> Hierarchy {
    let hierarchy = Hierarchy::create(store, of_dialect(Dialect::V3), &options()).unwrap();
    let builder = hierarchy.create_array(path()).shape(&SHAPE).chunks(&[4, 4]).shards(&SHAPE);
    let builder = builder.data_type_named("uint64").codec(zarr::tools::codec("gzip:1").unwrap());
    let array = builder.create().unwrap();
    array.write(.., &version(1)).unwrap();
    hierarchy
}

/// Small numbers are packed more tightly than large ones.
fn version(n: u64) -> Vec<u64> {
    let number = n << (n % 5 * 11);
    (0..SHAPE.iter().product::<u64>()).map(|place| number + place).collect()
}

/// Replaces the shard, now as a whole, now so that the bytes of one of its inner chunks are kept.
fn replace(array: &Array, rounds: std::ops::Range<u64>) {
    for n in rounds {
        array.write(.., &version(n)).unwrap();
        // The same elements again, by which the inner chunks are laid out anew.
        array.write((0..5, ..), &version(n)[..5 * 32]).unwrap();
    }
}

fn regions() -> impl Iterator<Item = Region> {
    (0..12)
        .flat_map(|row| [Region::new([row..row + 3, 3..21]), Region::new([row..row + 1, 30..31])])
}

fn check(region: &Region, found: &[u64]) {
    let [rows, columns] = region.intervals() else { unreachable!("two axes") };
    let places = rows.clone().flat_map(|row| columns.clone().map(move |c| row * SHAPE[1] + c));
    let number = found[0] - (rows.start * SHAPE[1] + columns.start);
    for (element, place) in found.iter().zip(places) {
        assert_eq!(*element, number + place, "two versions in {region:?}");
    }
}

fn read_until(array: &Array, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        for region in regions() {
            check(&region, &array.read::<u64>(&region).expect("a part of one version"));
        }
    }
}

/// Does `work`, and sets `done` even if that fails: else those who read until then would go on for ever.
fn finish(done: &AtomicBool, work: impl FnOnce()) {
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    done.store(true, Ordering::Relaxed);
    result.unwrap_or_else(|failure| panic::resume_unwind(failure));
}

fn read_while(array: &Array, write: impl FnOnce()) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| read_until(array, &done));
        }
        finish(&done, write);
    });
    let all = array.read::<u64>(..).unwrap();
    assert_eq!(array.read::<u64>((0, 0)).unwrap(), all[..1], "the last version is met");
}

#[test]
fn threads_see_one_version_in_memory() {
    let hierarchy = create(from_sync(MemoryStore::new()));
    let (array, other) = (hierarchy.array(path()).unwrap(), hierarchy.array(path()).unwrap());
    read_while(&array, || replace(&array, 2..150));
    read_while(&array, || replace(&other, 150..300));
}

#[test]
fn callers_that_wait_see_one_version() {
    let hierarchy = create(from_sync(MemoryStore::new()));
    let waiting = hierarchy.as_async();
    let writer = hierarchy.array(path()).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| finish(&done, || replace(&writer, 2..100)));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let array = waiting.array(&path()).await.unwrap();
            while !done.load(Ordering::Relaxed) {
                for region in regions() {
                    check(&region, &array.read::<u64>(&region).await.expect("one version"));
                }
            }
        });
    });
}

#[test]
fn threads_and_processes_see_one_version_on_disk() {
    one_version_on_disk("filesystem", "threads_and_processes_see_one_version_on_disk");
}

#[cfg(feature = "lmdb")]
#[test]
fn threads_and_processes_see_one_version_in_lmdb() {
    one_version_on_disk("lmdb", "threads_and_processes_see_one_version_in_lmdb");
}

/// Calls `test` again in a process of its own, to write while threads read here.
fn one_version_on_disk(kind: &str, test: &str) {
    if let Some(folder) = env::var_os(FOLDER) {
        let store = on_disk(kind, Path::new(&folder));
        let hierarchy = Hierarchy::open(store, &options()).unwrap();
        let array = hierarchy.array(path()).unwrap();
        for round in 0..6 {
            replace(&array, round * 20..round * 20 + 20);
            // Long enough for readers to remember the index.
            thread::sleep(Duration::from_millis(130));
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hierarchy = create(on_disk(kind, folder.path()));
    let array = hierarchy.array(path()).unwrap();
    read_while(&array, || {
        run_test_again(module_path!(), test, [(FOLDER, folder.path())]);
    });
    read_while(&array, || replace(&array, 200..250));
}

//! A process forks while its threads read and write arrays; the process that is forked off reads, and ends.
//!
//! The test runs this program again, so that no thread of the test runner is there when it forks.

#![cfg(all(
    target_os = "linux",
    feature = "filesystem",
    feature = "memory",
    feature = "sharding",
    feature = "cache"
))]
#![allow(unsafe_code, reason = "the standard library does not fork")]

use std::env;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use zarr::{Array, DataType, Hierarchy, NodePath, OpenOptions, fork, standard};
use zarr_testkit::{run_test_again, sample};

const MARK: &str = "ZARR_TEST_FORKS";
/// A process that was forked off and hangs is ended after this time.
const DEADLINE: Duration = Duration::from_secs(30);

// SAFETY: these are the C library's, with its types.
unsafe extern "C" {
    #[link_name = "fork"]
    fn system_fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    safe fn kill(process: i32, signal: i32) -> i32;
    safe fn _exit(status: i32) -> !;
}

/// Whether the process ended well, and in time.
fn ends_well(child: i32) -> bool {
    const NO_HANG: i32 = 1;
    let (mut status, start) = (-1, Instant::now());
    loop {
        // SAFETY: the status is this function's own.
        match unsafe { waitpid(child, &raw mut status, NO_HANG) } {
            0 if start.elapsed() > DEADLINE => {
                kill(child, 9);
                // SAFETY: as above.
                unsafe { waitpid(child, &raw mut status, 0) };
                return false;
            }
            0 => thread::sleep(Duration::from_micros(200)),
            _ => return status == 0,
        }
    }
}

fn array(hierarchy: &Hierarchy, name: &str, sharded: bool) -> Array {
    let path = NodePath::new(name).unwrap();
    let builder = hierarchy.create_array(&path).shape(&[64, 64]).chunks(&[16, 16]);
    let builder = if sharded { builder.shards(&[32, 32]) } else { builder };
    let array = builder.data_type(DataType::from(zarr::CoreType::Int32)).create().unwrap();
    array.write::<i32>(.., &(0..64 * 64).collect::<Vec<_>>()).unwrap();
    array
}

/// What the forked process does: reads what no thread changes, and changes and reads what its parent's threads do.
fn is_usable(hierarchy: &Hierarchy, array: &Array, shared: &Array) -> bool {
    let expected: Vec<i32> = (0..64 * 64).collect();
    let again = hierarchy.array(array.path()).and_then(|array| array.read::<i32>(..));
    array.read::<i32>(..).is_ok_and(|found| found == expected)
        && again.is_ok_and(|found| found == expected)
        && shared.write::<i32>((3..5, 60), &[-1, -2]).is_ok()
        && shared.read::<i32>((60, ..)).is_ok_and(|found| found.len() == 64)
}

fn forks(url: &str) {
    let mut options = OpenOptions::new(standard()).read_write().threads(2);
    #[cfg(feature = "rayon")]
    if url.starts_with("memory") {
        // Its threads are not in the forked process.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        options.options.pool = Some(std::sync::Arc::new(pool));
    }
    if url.ends_with("cached") {
        let cache = zarr::stores::ByteCache::new(1 << 20);
        options = options.wrap(move |store| std::sync::Arc::new(cache.store(store)));
    }
    if url.ends_with("ahead") {
        options = options.chunk_cache(1 << 20).read_ahead(2);
    }
    let hierarchy =
        Hierarchy::create(options.store(url).unwrap(), options.format(zarr::Dialect::V3), &options)
            .unwrap();
    let kept = array(&hierarchy, "/kept", true);
    let shared = [array(&hierarchy, "/plain", false), array(&hierarchy, "/sharded", true)];
    let (stop, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    let forks = sample(40, 200);
    let hung = thread::scope(|scope| {
        for n in 0..4u64 {
            let (shared, stop, rounds) = (&shared[n as usize % 2], &stop, &rounds);
            let kept = hierarchy.array(kept.path()).unwrap();
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    shared.write::<i32>((n * 9..n * 9 + 7, 5..41), &[n as i32; 7 * 36]).unwrap();
                    // One row after the other, which are read ahead.
                    let row = rounds.fetch_add(1, Ordering::Relaxed) / 4 % 64;
                    for row in row..(row + 20).min(64) {
                        assert_eq!(kept.read::<i32>((row, 2..4)).unwrap().len(), 2);
                    }
                }
            });
        }
        let hung = (0..forks).filter(|n| {
            thread::sleep(Duration::from_micros(*n as u64 * 37 % 500));
            assert!(fork::prepare());
            // SAFETY: no other thread holds a lock that the child needs.
            let child = unsafe { system_fork() };
            if child == 0 {
                fork::child();
                _exit(i32::from(!is_usable(&hierarchy, &kept, &shared[n % 2])));
            }
            fork::parent();
            assert!(child > 0);
            !ends_well(child)
        });
        let hung = hung.count();
        stop.store(true, Ordering::Relaxed);
        hung
    });
    assert_eq!(hung, 0, "of {forks} processes, amid {} rounds", rounds.load(Ordering::Relaxed));
    assert!(rounds.load(Ordering::Relaxed) > 0);
}

#[test]
fn forked_processes_read_and_write_while_the_parents_threads_do() {
    if let Some(url) = env::var_os(MARK) {
        return forks(url.to_str().unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    let file = format!("file://{}/x.zarr", folder.path().display());
    let ahead = format!("file://{}/ahead", folder.path().display());
    for url in [&file, "memory://fork", "memory://cached", &ahead] {
        let test = "forked_processes_read_and_write_while_the_parents_threads_do";
        run_test_again(module_path!(), test, [(MARK, url)]);
    }
}

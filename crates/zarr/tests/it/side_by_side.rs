//! Two writers never lose data: threads, handles of their own, and processes.
#![cfg(feature = "filesystem")]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::Duration;

use zarr::runtime::pause;
use zarr::store::{
    Capabilities, GetOptions, Got, Payload, Precondition, Store, StoreKey, SyncStore, async_trait,
    from_sync,
};
use zarr::{Array, Dialect, Guard, Hierarchy, OpenOptions, Result, StoreError};

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];
const THREADS: u64 = 16;
const PROCESSES: u64 = 4;

/// How often each thread writes its part.
fn rounds() -> u64 {
    zarr_testkit::sample(40, 200)
}

fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("x.zarr").to_str().expect("a plain path").to_owned();
    (folder, path)
}

fn open(path: &str) -> Result<Array> {
    zarr::open_rw(path)?.into_group()?.array("a")
}

/// This process' writers: each thread writes its own two elements of the one chunk, again and again.
fn write_my_parts(path: &str, process: u64) -> Result<()> {
    let workers: Vec<_> = (0..THREADS)
        .map(|thread| {
            let path = path.to_owned();
            std::thread::spawn(move || -> Result<()> {
                let array = open(&path)?;
                let at = 2 * (process * THREADS + thread);
                for round in 1..=rounds() {
                    // Now and then the part is all fill, so that the chunk may be erased under the others.
                    let value = if round % 7 == 0 && round < rounds() {
                        0
                    } else {
                        (at * 1000 + round) as i64
                    };
                    array.write(at..at + 2, &[value, value])?;
                    if round % 20 == 0 {
                        assert_eq!(
                            array.read::<i64>(at..at + 2)?,
                            [value, value],
                            "my own part is what I wrote"
                        );
                    }
                }
                Ok(())
            })
        })
        .collect();
    workers.into_iter().try_for_each(|worker| worker.join().expect("no panic"))
}

/// Runs one test of this file in a process of its own, with a word to it.
fn child(test: &str, path: &str, word: &str) -> std::process::Child {
    zarr_testkit::test_command(module_path!(), test)
        .env("ZARR_TEST_PATH", path)
        .env("ZARR_TEST_WORD", word)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("a process")
}

/// The path and the word, if this process is a child.
fn being_child() -> Option<(String, String)> {
    Some((std::env::var("ZARR_TEST_PATH").ok()?, std::env::var("ZARR_TEST_WORD").ok()?))
}

/// Q23.
#[test]
fn sixteen_threads_of_four_processes_share_one_chunk() -> Result<()> {
    if let Some((path, word)) = being_child() {
        return write_my_parts(&path, word.parse().expect("a number"));
    }
    let len = 2 * PROCESSES * THREADS;
    let (_folder, path) = folder();
    zarr::create(&path, Dialect::V3)?
        .create_array("/a")
        .shape(&[len])
        .chunks(&[len])
        .data_type_named("int64")
        .codec(zarr::tools::codec("gzip:1")?)
        .create()?;
    let name = "sixteen_threads_of_four_processes_share_one_chunk";
    let mut children: Vec<_> = (0..PROCESSES).map(|n| child(name, &path, &n.to_string())).collect();
    assert!(children.iter_mut().all(|c| c.wait().expect("it ends").success()));
    let want: Vec<i64> = (0..len).map(|i| (i / 2 * 2 * 1000 + rounds()) as i64).collect();
    assert_eq!(open(&path)?.read::<i64>(..)?, want);
    Ok(())
}

#[test]
fn attributes_and_appends_of_two_processes_all_arrive() -> Result<()> {
    const TIMES: u64 = 50;
    if let Some((path, word)) = being_child() {
        let array = open(&path)?;
        for n in 0..TIMES {
            array.update_attributes(|attributes| {
                attributes.insert(format!("{word}-{n}"), n);
            })?;
            let value: i32 = word.parse::<i32>().expect("a number") * 1000 + n as i32;
            array.append(0, &[value, value, value])?;
        }
        return Ok(());
    }
    for dialect in DIALECTS {
        let (_folder, path) = folder();
        zarr::create(&path, dialect)?
            .create_array("/a")
            .shape(&[0])
            .chunks(&[4])
            .data_type_named("int32")
            .fill_value(-1i64)
            .create()?;
        let name = "attributes_and_appends_of_two_processes_all_arrive";
        let mut children: Vec<_> = (1..=2).map(|n| child(name, &path, &n.to_string())).collect();
        assert!(children.iter_mut().all(|c| c.wait().expect("it ends").success()));
        let array = open(&path)?;
        assert_eq!(array.attributes().len() as u64, 2 * TIMES, "{dialect}");
        let mut values = array.read::<i32>(..)?;
        assert!(
            values.chunks(3).all(|c| c[0] == c[1] && c[1] == c[2]),
            "no append was cut in two: {values:?}"
        );
        values.sort_unstable();
        let want: Vec<i32> =
            (1..=2).flat_map(|p| (0..TIMES as i32).flat_map(move |n| [p * 1000 + n; 3])).collect();
        assert_eq!(values, want, "{dialect}");
    }
    Ok(())
}

#[test]
fn a_reader_sees_the_old_or_the_new_chunk() -> Result<()> {
    let (_folder, path) = folder();
    let array = zarr::create(&path, Dialect::V3)?
        .create_array("/a")
        .shape(&[20_000])
        .chunks(&[20_000])
        .data_type_named("int32")
        .codec(zarr::tools::codec("zstd")?)
        .create()?;
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| -> Result<()> {
            let array = open(&path)?;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let elements = array.read::<i32>(..)?;
                assert!(elements.iter().all(|e| *e == elements[0]), "a mixture of two versions");
            }
            Ok(())
        });
        for round in 0..200 {
            array.write(.., &vec![round % 3; 20_000])?;
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        reader.join().expect("no panic")
    })
}

#[test]
fn whole_chunks_and_parts_meet_without_loss() -> Result<()> {
    let (_folder, path) = folder();
    let array = zarr::create(&path, Dialect::V2)?
        .create_array("/a")
        .shape(&[64])
        .chunks(&[64])
        .data_type_named("int32")
        .create()?;
    for round in 1..100i32 {
        let (start, mine, whole) = (Barrier::new(2), [round; 8], [-round; 64]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                open(&path).and_then(|array| array.write(.., &whole)).expect("written");
            });
            start.wait();
            open(&path).and_then(|array| array.write(8..16, &mine)).expect("written");
        });
        let found = array.read::<i32>(..)?;
        assert!(
            found[..8].iter().chain(&found[16..]).all(|e| *e == -round),
            "the whole chunk arrived: {found:?}"
        );
        // The part came before or after the whole, but came.
        assert!(found[8..16] == mine || found[8..16] == whole[8..16], "{found:?}");
    }
    Ok(())
}

/// A store that makes two writers read before either writes.
#[derive(Debug)]
struct Meeting {
    inner: Arc<dyn SyncStore>,
    gate: Mutex<usize>,
    opened: Condvar,
}

impl Meeting {
    /// The first two reads of a chunk wait for each other.
    fn meet(&self, key: &StoreKey) {
        if key.as_str() != "a/c/0" {
            return;
        }
        let mut arrived = self.gate.lock().expect("unpoisoned");
        *arrived += 1;
        self.opened.notify_all();
        while *arrived < 2 {
            let (guard, timeout) =
                self.opened.wait_timeout(arrived, Duration::from_secs(20)).expect("unpoisoned");
            assert!(!timeout.timed_out(), "the other writer never came");
            arrived = guard;
        }
    }
}

impl SyncStore for Meeting {
    zarr_testkit::forward_calls!(inner: capabilities put create erase_prefix list_prefix list_dir link flush);

    fn name(&self) -> String {
        format!("meeting at {}", self.inner.name())
    }
    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        let value = self.inner.get(key, how);
        self.meet(key);
        value
    }
}

/// How many of two parts arrive when both writers read before either writes.
fn parts_that_arrive(guard: Guard) -> Result<usize> {
    let (_folder, path) = folder();
    zarr::create(&path, Dialect::V3)?
        .create_array("/a")
        .shape(&[8])
        .chunks(&[8])
        .data_type_named("int32")
        .create()?;
    let options = OpenOptions::new(zarr::standard()).read_write().guard(guard);
    let inner = options.store(&path)?.to_sync();
    let store = from_sync(Meeting { inner, gate: Mutex::new(0), opened: Condvar::new() });
    let array = Hierarchy::open(store, &options)?.array("/a")?;
    std::thread::scope(|scope| {
        let writers = [0, 4].map(|at| {
            let array = array.clone();
            scope.spawn(move || array.write(at..at + 4, &[at + 1; 4]))
        });
        writers.into_iter().try_for_each(|writer| writer.join().expect("no panic"))
    })?;
    let found = open(&path)?.read::<i32>(..)?;
    Ok([0, 4].into_iter().filter(|&at| found[at..at + 4] == [at as i32 + 1; 4]).count())
}

#[test]
fn the_guard_is_what_saves_the_second_part() -> Result<()> {
    assert_eq!(
        parts_that_arrive(Guard::Off)?,
        1,
        "without the guard one part is lost: the control"
    );
    assert_eq!(parts_that_arrive(Guard::On)?, 2, "with the guard none is");
    Ok(())
}

/// A remote store whose calls take some time. It counts the attempts to set the chunk.
#[derive(Debug)]
struct SlowStore {
    inner: Arc<dyn Store>,
    attempts: AtomicUsize,
}

#[async_trait]
impl Store for SlowStore {
    fn name(&self) -> String {
        format!("slow {}", self.inner.name())
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { local: false, ..self.inner.capabilities() }
    }
    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        pause(Duration::from_millis(5)).await;
        self.inner.get(key, how).await
    }
    async fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        if key.as_str() == "a/c/0" {
            self.attempts.fetch_add(1, SeqCst);
        }
        pause(Duration::from_millis(5)).await;
        self.inner.put(key, value, only_if).await
    }
    async fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        self.inner.create(key, value, absent, leftovers).await
    }
}

/// Writers that lose several attempts queue. Without the queue the last of 64 would try 64 times.
#[cfg(feature = "memory")]
#[test]
fn async_writers_of_one_chunk_queue() -> Result<()> {
    const WRITERS: u64 = 64;
    let slow = Arc::new(SlowStore {
        inner: from_sync(zarr::stores::MemoryStore::new()),
        attempts: AtomicUsize::new(0),
    });
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy = Hierarchy::create(slow.clone(), options.format(Dialect::V3), &options)?;
    let array = hierarchy.create_array("/a").shape(&[WRITERS]).chunks(&[WRITERS]);
    let array = array.data_type_named("int32").purge(false).create()?;
    let waiting = array.as_async();
    let write = |n: u64| {
        let array = waiting.clone();
        async move { array.write(n..n + 1, vec![n as i32 + 1]).await }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
    runtime.expect("a runtime").block_on(async {
        let mut tasks: Vec<_> = (0..WRITERS).map(|n| tokio::spawn(write(n))).collect();
        // A writer that is dropped while it waits does not stop the others.
        for n in 0..WRITERS {
            let dropped = tokio::spawn(write(n));
            pause(Duration::from_millis(1)).await;
            dropped.abort();
        }
        for task in tasks.drain(..) {
            task.await.expect("no panic")?;
        }
        Ok::<_, zarr::Error>(())
    })?;
    assert_eq!(array.read::<i32>(..)?, (1..=WRITERS as i32).collect::<Vec<_>>());
    let attempts = slow.attempts.load(SeqCst) as u64;
    assert!(attempts <= 12 * WRITERS, "{attempts} attempts of {WRITERS} writers");
    Ok(())
}

#[cfg(feature = "rayon")]
#[test]
fn a_pool_of_one_thread_does_not_deadlock() -> Result<()> {
    let (_folder, path) = folder();
    zarr::create(&path, Dialect::V3)?
        .create_array("/a")
        .shape(&[64])
        .chunks(&[16])
        .data_type_named("int32")
        .create()?;
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool"));
    let mut options = OpenOptions::new(zarr::standard()).read_write();
    options.options.pool = Some(pool.clone());
    let array = zarr::open_with(&path, &options)?.into_group()?.array("a")?;
    // Many writers of parts of the same chunks, all through one worker, some from inside it.
    std::thread::scope(|scope| {
        for n in 0..8u64 {
            let (array, pool) = (array.clone(), pool.clone());
            scope.spawn(move || {
                for _ in 0..20 {
                    let part = [n as i32 + 1; 8];
                    let write = || array.write(8 * n..8 * n + 8, &part).expect("written");
                    if n % 2 == 0 { pool.install(write) } else { write() }
                }
            });
        }
    });
    let want: Vec<i32> = (0..64).map(|i| i / 8 + 1).collect();
    assert_eq!(array.read::<i32>(..)?, want);
    Ok(())
}

/// A thread of the caller's own pool finishes a call before it begins the caller's next task: it would hold the
/// memory of all of them otherwise.
#[cfg(feature = "rayon")]
#[test]
fn a_callers_pool_does_one_call_after_the_other() -> Result<()> {
    use rayon::iter::{IntoParallelIterator, ParallelIterator};
    use std::sync::atomic::{AtomicUsize, Ordering};

    let (_folder, path) = folder();
    let mut options = OpenOptions::new(zarr::standard()).read_write();
    options.options.threads = 2;
    let array = zarr::create_with(&path, Dialect::V3, &options)?
        .create_array("/a")
        .shape(&[1 << 21])
        .chunks(&[1 << 16])
        .data_type_named("int32")
        .create()?;
    let numbers: Vec<i32> = (0..1 << 21).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let (calls, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    pool.install(|| {
        (0..16).into_par_iter().try_for_each(|_| {
            most.fetch_max(calls.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            array.write(.., &numbers)?;
            assert_eq!(array.read::<i32>(..)?, numbers);
            calls.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, zarr::Error>(())
        })
    })?;
    assert_eq!(most.into_inner(), 1);
    Ok(())
}

/// A store that cannot compare and swap.
#[derive(Debug)]
struct Plain(Arc<dyn SyncStore>);

impl SyncStore for Plain {
    zarr_testkit::forward_calls!(0: get open put erase_prefix list_prefix list_dir link flush);

    fn name(&self) -> String {
        format!("plain {}", self.0.name())
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { swap: false, swap_erase: false, create: false, ..self.0.capabilities() }
    }
}

#[test]
fn a_store_without_compare_and_swap_is_guarded_within_the_process_and_says_so() -> Result<()> {
    let (_folder, path) = folder();
    let options = OpenOptions::new(zarr::standard()).read_write();
    let store = from_sync(Plain(options.store(&path)?.to_sync()));
    let format = zarr::format::of_dialect(Dialect::V3);
    let array = Hierarchy::create(store.clone(), format, &options)?
        .create_array("/a")
        .shape(&[16])
        .chunks(&[16])
        .data_type_named("int32")
        .create()?;
    let hierarchy = Hierarchy::open(store, &options)?;
    assert_eq!(hierarchy.warnings().len(), 1, "it says so, once");
    let other = hierarchy.array("/a")?;
    std::thread::scope(|scope| {
        for n in 0..8u64 {
            let array = if n % 2 == 0 { &array } else { &other };
            scope.spawn(move || {
                for round in 0..100 {
                    array.write(2 * n..2 * n + 2, &[round, n as i32]).expect("written");
                }
            });
        }
    });
    let want: Vec<i32> = (0..8).flat_map(|n| [99, n]).collect();
    assert_eq!(array.read::<i32>(..)?, want);
    Ok(())
}

#[test]
fn a_hierarchy_can_be_begun_by_many_at_once() -> Result<()> {
    for dialect in DIALECTS {
        let (_folder, path) = folder();
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..8)
                .map(|n| {
                    let path = &path;
                    scope.spawn(move || {
                        let node = format!("/g/a{n}");
                        let hierarchy = zarr::create(path, dialect)?;
                        hierarchy
                            .create_array(&node)
                            .shape(&[2])
                            .data_type_named("u1")
                            .create()
                            .map(|_| ())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("no panic"))
        })?;
        assert_eq!(zarr::open(&path)?.into_group()?.tree()?.len(), 2 + 8, "{dialect}");
    }
    Ok(())
}

/// A store that does something else once, just before a change of one key.
struct Between {
    inner: Arc<dyn SyncStore>,
    key: &'static str,
    act: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Between {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Between")
    }
}

impl SyncStore for Between {
    zarr_testkit::forward_calls!(inner: name capabilities get open create erase_prefix list_prefix list_dir link flush);

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        if key.as_str() == self.key
            && only_if.compares()
            && let Some(act) = self.act.lock().expect("unpoisoned").take()
        {
            act();
        }
        self.inner.put(key, value, only_if)
    }
}

/// A shrinking that worked out its change of a chunk must not wipe what was appended meanwhile, though
/// the chunk holds the very bytes it held before.
#[test]
fn a_late_shrink_does_not_wipe_a_new_append() -> Result<()> {
    let (_folder, path) = folder();
    let array = zarr::create(&path, Dialect::V3)?
        .create_array("/a")
        .shape(&[8])
        .chunks(&[4])
        .data_type_named("int32")
        .create()?;
    array.write(.., &[1; 8])?;
    let options = OpenOptions::new(zarr::standard()).read_write();
    let other = path.clone();
    let act = move || {
        let at = open(&other).and_then(|array| array.append(0, &[1, 1, 1])).expect("appended");
        assert_eq!(at, 5);
    };
    let inner = options.store(&path)?.to_sync();
    let store = Between { inner, key: "a/c/1", act: Mutex::new(Some(Box::new(act))) };
    Hierarchy::open(from_sync(store), &options)?.array("/a")?.resize(&[5])?;
    assert_eq!(open(&path)?.read::<i32>(..)?, [1; 8]);
    Ok(())
}

/// What a shrinking left behind that was killed, or overtaken, does not come back when the array grows.
#[test]
fn what_was_cut_off_does_not_come_back() -> Result<()> {
    for dialect in DIALECTS {
        let (_folder, path) = folder();
        let array = zarr::create(&path, dialect)?
            .create_array("/a")
            .shape(&[4, 40])
            .chunks(&[4, 4])
            .data_type_named("int32")
            .create()?;
        array.write(.., &[7; 160])?;
        // As a kill right after the document was changed leaves it.
        let document =
            ["a/.zarray", "a/zarr.json", "meta/root/a.array.json"].map(|d| format!("{path}/{d}"));
        let document =
            document.into_iter().find(|d| std::path::Path::new(d).exists()).expect("a document");
        let text =
            std::fs::read_to_string(&document).expect("read").replacen("[4, 40]", "[4, 6]", 1);
        std::fs::write(&document, text).expect("written");
        let array = open(&path)?;
        assert_eq!(array.shape(), [4, 6]);
        array.append(1, &[8; 4 * 3])?;
        array.resize(&[4, 40])?;
        let want = [[7; 6].as_slice(), &[8; 3], &[0; 31]].concat().repeat(4);
        assert_eq!(array.read::<i32>(..)?, want, "{dialect}");
    }
    Ok(())
}

/// Clones of one handle append side by side, and handles whose other axes are old do no harm.
#[test]
fn appends_use_the_newest_shape() -> Result<()> {
    let array = zarr::create("memory://", Dialect::V3)?
        .create_array("/a")
        .shape(&[0])
        .chunks(&[4])
        .data_type_named("int32")
        .create()?;
    std::thread::scope(|scope| {
        for n in 1..=4 {
            let array = &array;
            scope.spawn(move || {
                for _ in 0..100 {
                    array.append(0, &[n; 3]).expect("appended");
                }
            });
        }
    });
    array.refresh()?;
    let mut found = array.read::<i32>(..)?;
    found.sort_unstable();
    assert_eq!(found, (1..=4).flat_map(|n| [n; 300]).collect::<Vec<_>>());

    let (_folder, path) = folder();
    let hierarchy = zarr::create(&path, Dialect::V3)?;
    hierarchy.create_array("/a").shape(&[2, 4]).data_type_named("int32").create()?;
    let stale = open(&path)?;
    open(&path)?.append(1, &[1; 4])?;
    assert!(stale.append(0, &[2; 8]).is_err(), "two rows of four are no rows of six");
    assert_eq!(open(&path)?.shape(), [2, 6], "and the array is as it was");
    assert_eq!(stale.append(0, &[2; 6])?, 2);
    Ok(())
}

/// V07c, Q2: of a scalar's two keys one is left, and it holds what was written.
#[test]
fn a_scalar_at_two_keys_is_written_at_one() -> Result<()> {
    let (_folder, path) = folder();
    let hierarchy = zarr::create(&path, Dialect::Draft)?;
    let scalar = hierarchy.create_array("/a").shape(()).data_type_named("u1").create()?;
    scalar.write((), &[5u8])?;
    std::fs::write(format!("{path}/data/root/a/c"), [9]).expect("written");
    assert_eq!(scalar.read::<u8>(())?, [9]);
    scalar.write((), &[0u8])?;
    assert_eq!(scalar.read::<u8>(())?, [0]);
    Ok(())
}

/// Attributes that others set while an array is being created stay (v2 keeps them in a file of its own).
#[test]
fn creating_does_not_wipe_attributes() -> Result<()> {
    let (_folder, path) = folder();
    zarr::create(&path, Dialect::V2)?;
    let options = OpenOptions::new(zarr::standard()).read_write();
    let other = path.clone();
    let act = move || {
        let change = |attributes: &mut zarr::Object| drop(attributes.insert("theirs", "2"));
        open(&other).and_then(|array| array.update_attributes(change)).expect("changed");
    };
    let inner = options.store(&path)?.to_sync();
    let store = Between { inner, key: "a/.zattrs", act: Mutex::new(Some(Box::new(act))) };
    zarr::create(&path, Dialect::V2)?.create_group("/g", zarr::Object::new())?;
    Hierarchy::open(from_sync(store), &options)?
        .create_array("/a")
        .shape(&[1])
        .data_type_named("u1")
        .attributes(zarr::Object::new().with("ours", "1"))
        .create()?;
    assert_eq!(open(&path)?.attributes().len(), 2);
    Ok(())
}

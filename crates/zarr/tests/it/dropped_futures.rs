//! A dropped call changes nothing after a later call on the same keys.
#![cfg(all(
    feature = "filesystem",
    feature = "memory",
    feature = "zip",
    feature = "lmdb",
    feature = "s3",
    feature = "sharding"
))]

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use crate::server::Server;
use tokio::runtime::{Builder, Runtime};
use zarr::store::{Capabilities, Payload, Precondition, Store, StoreKey, SyncStore, from_sync};
use zarr::stores::{MemoryStore, ObjectStore};
use zarr::{Access, Dialect, Hierarchy, NodePath, OpenOptions, Result, StoreError};
use zarr_testkit::sample;

/// Elements of a stored chunk.
const CHUNK: u64 = 4096;

fn runtimes() -> [Runtime; 2] {
    let many = Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    [Builder::new_current_thread().build().expect("a runtime"), many]
}

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

/// An array `/a` of `i32` in a new hierarchy, in chunks or in shards of four chunks.
fn array(store: Arc<dyn Store>, len: u64, shards: bool) -> Result<zarr::Array> {
    let hierarchy = Hierarchy::begin(store, options().format(Dialect::V3), &options())?;
    let path: NodePath = "/a".parse()?;
    let array = hierarchy.create_array(&path).shape(&[len]).data_type_named("int32");
    // The server of this process lists nothing.
    let array = array.purge(false);
    if shards {
        array.chunks(&[CHUNK / 4]).shards(&[CHUNK]).create()
    } else {
        array.chunks(&[CHUNK]).create()
    }
}

/// The same array for callers that wait, by a handle of its own.
async fn waiting(array: &zarr::Array) -> Result<zarr::aio::Array> {
    array.hierarchy().as_async().array(array.path()).await
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Lets a future begin, and drops it somewhere on its way; whether it was done before.
fn begin_and_drop<T>(future: impl Future<Output = T>, random: &mut Random, pause: u64) -> bool {
    let mut future = pin!(future);
    for _ in 0..1 + random.below(5) {
        if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return true;
        }
        thread::sleep(Duration::from_micros(random.below(pause)));
    }
    false
}

/// Lets a dropped write and then an awaited one go to each chunk, by each kind of runtime; the number of chunks that do not hold what the
/// awaited one wrote.
fn overwritten(make: &dyn Fn() -> Arc<dyn Store>, shards: bool, pause: u64) -> Result<usize> {
    let rounds = sample(60, 500);
    let mut wrong = 0;
    for runtime in runtimes() {
        let blocking = array(make(), CHUNK * rounds, shards)?;
        let (mut random, mut dropped) = (Random(88172645463325252), 0);
        runtime.block_on(async {
            let (one, other) = (waiting(&blocking).await?, waiting(&blocking).await?);
            for round in 0..rounds {
                let region = round * CHUNK..(round + 1) * CHUNK;
                // Whole chunks, and now and then a part.
                let first = match round % 5 {
                    0 => region.start..region.start + 100,
                    _ => region.clone(),
                };
                let old = vec![-1; (first.end - first.start) as usize];
                // On a busy machine many a write is done before it can be dropped.
                let is_dropped = (0..8).any(|_| {
                    let write = one.write(first.clone(), old.clone());
                    !begin_and_drop(write, &mut random, pause)
                });
                dropped += u64::from(is_dropped);
                let new = vec![round as i32 + 1; CHUNK as usize];
                match round % 4 {
                    0 => blocking.write(region, &new)?,
                    1 => other.write(region, new).await?,
                    _ => one.write(region, new).await?,
                }
            }
            Ok::<_, zarr::Error>(())
        })?;
        // How many depends on how busy the machine is.
        assert!(dropped > 0, "none of {rounds} was dropped on its way");
        thread::sleep(Duration::from_millis(300));
        let found = blocking.read::<i32>(..)?;
        let chunks = found.chunks(CHUNK as usize).enumerate();
        wrong += chunks.filter(|(n, chunk)| chunk.iter().any(|&e| e != *n as i32 + 1)).count();
    }
    Ok(wrong)
}

fn in_folder(name: &str) -> impl Fn() -> Arc<dyn Store> + use<> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (count, name) = (AtomicUsize::new(0), name.to_owned());
    move || {
        let path = folder.path().join(format!("{}{name}", count.fetch_add(1, SeqCst)));
        let path = path.to_str().expect("a plain path");
        options().store(path).expect("a store")
    }
}

#[test]
fn in_memory_no_dropped_write_lands_after_a_later_one() -> Result<()> {
    for shards in [false, true] {
        let store = || from_sync(MemoryStore::new()) as Arc<dyn Store>;
        assert_eq!(overwritten(&store, shards, 200)?, 0, "shards: {shards}");
    }
    Ok(())
}

#[test]
fn in_a_folder_no_dropped_write_lands_after_a_later_one() -> Result<()> {
    for shards in [false, true] {
        assert_eq!(overwritten(&in_folder(".zarr"), shards, 300)?, 0, "shards: {shards}");
    }
    Ok(())
}

#[test]
fn in_an_archive_no_dropped_write_lands_after_a_later_one() -> Result<()> {
    for shards in [false, true] {
        assert_eq!(overwritten(&in_folder(".zip"), shards, 200)?, 0, "shards: {shards}");
    }
    Ok(())
}

#[test]
fn in_lmdb_no_dropped_write_lands_after_a_later_one() -> Result<()> {
    for shards in [false, true] {
        assert_eq!(overwritten(&in_folder(".lmdb"), shards, 300)?, 0, "shards: {shards}");
    }
    Ok(())
}

/// A bucket on a server of this process, which takes its time.
fn bucket() -> Arc<dyn Store> {
    let server = Server::start();
    server.manners(|manners| manners.delay = Duration::from_micros(300));
    let endpoint = server.url("");
    let options = [
        ("aws_endpoint", endpoint.as_str()),
        ("aws_allow_http", "true"),
        ("aws_skip_signature", "true"),
        ("region", "us-east-1"),
    ];
    let store = ObjectStore::open("s3://bucket/data", Access::ReadWrite, options);
    Arc::new(store.expect("a store"))
}

#[test]
fn in_a_bucket_no_dropped_write_lands_after_a_later_one() -> Result<()> {
    for shards in [false, true] {
        assert_eq!(overwritten(&bucket, shards, 1500)?, 0, "shards: {shards}");
    }
    Ok(())
}

/// What was dropped in the middle is done as far as it had come; nothing of it is done later.
#[test]
fn a_dropped_resize_does_not_shrink_the_array_later() -> Result<()> {
    let len = 20;
    for make in [in_folder(".zarr"), in_folder(".lmdb"), in_folder(".zip")] {
        for runtime in runtimes() {
            let store = make();
            let hierarchy = Hierarchy::begin(store, options().format(Dialect::V3), &options())?;
            let array = hierarchy.create_array("/a").shape(&[len]).chunks(&[1]);
            let blocking = array.data_type_named("int32").create()?;
            let mut random = Random(88172645463325252);
            runtime.block_on(async {
                let array = waiting(&blocking).await?;
                for round in 0..sample(20, 100) {
                    begin_and_drop(array.resize(&[2]), &mut random, 400);
                    array.resize(&[len]).await?;
                    let new = vec![round; len as usize];
                    array.write(.., new.clone()).await?;
                    thread::sleep(Duration::from_micros(500));
                    array.refresh().await?;
                    assert_eq!(array.read::<i32>(..).await?, new, "round {round}");
                }
                Ok::<_, zarr::Error>(())
            })?;
        }
    }
    Ok(())
}

/// Memory, of which some calls of `set` wait until they are let go on.
#[derive(Debug)]
struct Gated {
    memory: MemoryStore,
    /// How many calls of `set` on chunks are still to wait.
    gates: AtomicUsize,
    entered: Mutex<Sender<()>>,
    let_go: Mutex<Receiver<()>>,
}

impl Gated {
    fn begin(gates: usize) -> (Arc<dyn Store>, Receiver<()>, Sender<()>) {
        let ((entered, has_entered), (go, let_go)) = (channel(), channel());
        let gated = Gated {
            memory: MemoryStore::new(),
            gates: AtomicUsize::new(gates),
            entered: Mutex::new(entered),
            let_go: Mutex::new(let_go),
        };
        (from_sync(gated), has_entered, go)
    }
}

impl SyncStore for Gated {
    zarr_testkit::forward_calls!(memory: get open create erase_prefix);

    fn name(&self) -> String {
        format!("gated://{:p}", self)
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { list: false, ..self.memory.capabilities() }
    }
    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        let passes = |gates: usize| gates.checked_sub(1);
        if only_if == Precondition::Always
            && value.is_some()
            && key.as_str().contains("/c/")
            && self.gates.fetch_update(SeqCst, SeqCst, passes).is_ok()
        {
            self.entered.lock().unwrap().send(()).expect("somebody waits for it");
            self.let_go.lock().unwrap().recv().expect("somebody lets it go on");
        }
        self.memory.put(key, value, only_if)
    }
}

/// Polls a future until a `set` has begun, and drops it.
fn drop_after_it_began<T>(future: impl Future<Output = T>, has_entered: &Receiver<()>) {
    let mut future = pin!(future);
    loop {
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "it cannot end");
        if has_entered.recv_timeout(Duration::from_millis(1)).is_ok() {
            return;
        }
    }
}

/// Later calls wait for what was begun, by whichever handle: for callers that wait, and for those that block.
#[test]
fn what_a_dropped_write_began_ends_before_a_later_call() -> Result<()> {
    for later in ["the same handle", "another handle", "blocking write", "blocking read"] {
        let (store, has_entered, go) = Gated::begin(1);
        let blocking = array(store, CHUNK, false)?;
        let [runtime, _] = runtimes();
        let (one, other) = runtime.block_on(async {
            Ok::<_, zarr::Error>((waiting(&blocking).await?, waiting(&blocking).await?))
        })?;
        drop_after_it_began(one.write(.., vec![1; CHUNK as usize]), &has_entered);
        let letting_go = thread::spawn(move || {
            // Time enough for a call that does not wait to come first.
            thread::sleep(Duration::from_millis(50));
            go.send(()).expect("the write waits");
        });
        let new = vec![2; CHUNK as usize];
        let expected = match later {
            "the same handle" => runtime.block_on(one.write(.., new)).map(|()| 2)?,
            "another handle" => runtime.block_on(other.write(.., new)).map(|()| 2)?,
            "blocking write" => blocking.write(.., &new).map(|()| 2)?,
            _ => {
                assert_eq!(blocking.read::<i32>(0..1)?, [1], "the write had begun");
                1
            }
        };
        letting_go.join().expect("no panic");
        thread::sleep(Duration::from_millis(20));
        let found = blocking.read::<i32>(..)?;
        assert!(found.iter().all(|&element| element == expected), "{later}: {}", found[0]);
    }
    Ok(())
}

/// Eight threads serve all blocking stores: what waits for one when its caller goes away is never done.
#[test]
fn what_a_dropped_write_has_not_begun_is_not_done() -> Result<()> {
    let (store, has_entered, go) = Gated::begin(8);
    let blocking = array(store, CHUNK * 9, false)?;
    let [runtime, _] = runtimes();
    let array = runtime.block_on(waiting(&blocking))?;
    for n in 0..8 {
        let region = n * CHUNK..(n + 1) * CHUNK;
        drop_after_it_began(array.write(region, vec![1; CHUNK as usize]), &has_entered);
    }
    let mut ninth = Box::pin(array.write(8 * CHUNK.., vec![1; CHUNK as usize]));
    for _ in 0..20 {
        assert!(ninth.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        thread::sleep(Duration::from_millis(1));
    }
    drop(ninth);
    (0..8).for_each(|_| go.send(()).expect("the writes wait"));
    assert!(blocking.read::<i32>(..8 * CHUNK)?.iter().all(|&element| element == 1));
    // The ninth was before this one in the queue.
    runtime.block_on(array.read::<i32>(..))?;
    assert!(blocking.read::<i32>(8 * CHUNK..)?.iter().all(|&element| element == 0));
    Ok(())
}

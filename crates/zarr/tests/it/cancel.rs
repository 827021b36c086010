//! Calls that are cancelled, report their progress, or have options of their own.
#![cfg(all(feature = "memory", feature = "sharding", feature = "rayon"))]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use zarr::store::{
    ByteRange, Bytes, GetOptions, Got, Payload, Precondition, SnapshotOptions, StoreKey,
    SyncSnapshot, SyncStore, Version, from_sync,
};
use zarr::stores::MemoryStore;
use zarr::{
    Array, CancelToken, ChunkProgress, Dialect, ErrorKind, Hierarchy, OpenOptions,
    ProgressCallback, Result, StoreError,
};
use zarr_testkit::Remote;

/// Chunks of the array, and elements of each.
const CHUNKS: u64 = 100;
const LEN: u64 = 16;
const THREADS: usize = 3;
/// Requests to a remote store that are under way, of a store that blocks.
const IN_FLIGHT: usize = 8;

/// Counts the calls for chunks, and cancels a token in one of them.
#[derive(Debug, Default)]
struct Watch {
    calls: AtomicUsize,
    cancel: Mutex<Option<(usize, CancelToken)>>,
}

impl Watch {
    fn call(&self, key: &StoreKey) {
        if key.as_str().contains("/c/") {
            let calls = self.calls.fetch_add(1, SeqCst) + 1;
            if let Some((at, token)) = &*self.cancel.lock().unwrap()
                && *at == calls
            {
                token.cancel();
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A slow store.
#[derive(Debug)]
struct Slow {
    inner: Arc<dyn SyncStore>,
    watch: Arc<Watch>,
}

impl SyncStore for Slow {
    zarr_testkit::forward_calls!(inner: name capabilities create erase_prefix list_prefix list_dir);

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        self.watch.call(key);
        self.inner.get(key, how)
    }
    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        let value = self.inner.open(key, how)?;
        let (key, watch) = (key.clone(), self.watch.clone());
        Ok(value.map(|value| Box::new(SlowSnapshot { value, key, watch }) as _))
    }
    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        self.watch.call(key);
        self.inner.put(key, value, only_if)
    }
}

struct SlowSnapshot {
    value: Box<dyn SyncSnapshot>,
    key: StoreKey,
    watch: Arc<Watch>,
}

impl SyncSnapshot for SlowSnapshot {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        self.watch.call(&self.key);
        self.value.read(ranges)
    }
    fn size(&self) -> u64 {
        self.value.size()
    }
    fn version(&self) -> Option<Version> {
        self.value.version()
    }
}

/// An array of ones, in chunks or in one shard, and the watch of its store.
fn array(remote: bool, one_shard: bool) -> Result<(Array, Arc<Watch>)> {
    let watch = Arc::<Watch>::default();
    let inner = from_sync(MemoryStore::new()).to_sync();
    let mut store = from_sync(Slow { inner, watch: watch.clone() });
    if remote {
        store = Arc::new(Remote(store));
    }
    let options = OpenOptions::new(zarr::standard()).read_write().threads(THREADS);
    let hierarchy = Hierarchy::create(store, options.format(Dialect::V3), &options)?;
    let array = hierarchy.create_array("/a").shape(&[CHUNKS * LEN]).chunks(&[LEN]);
    let array = if one_shard { array.shards(&[CHUNKS * LEN]) } else { array };
    // 64 bytes an element: the inner chunks are too large for one thread.
    let array = array.data_type_named("complex128").purge(false).create()?;
    array.write_bytes(.., &bytes(1, CHUNKS * LEN))?;
    watch.calls.store(0, SeqCst);
    Ok((array, watch))
}

const SIZE: u64 = 16;

fn bytes(value: u8, elements: u64) -> Vec<u8> {
    vec![value; (elements * SIZE) as usize]
}

/// The call of a blocking or an async handle, cancelled in the call `at` for a chunk; how many calls there were.
fn cancelled(
    (array, watch): &(Array, Arc<Watch>),
    at: usize,
    call: impl FnOnce(&Array) -> Result<()>,
) -> usize {
    let token = CancelToken::new();
    *watch.cancel.lock().unwrap() = Some((at, token.clone()));
    watch.calls.store(0, SeqCst);
    let error = call(&array.with_options(|options| options.cancel = Some(token)));
    let error = error.expect_err("it is cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert_eq!(
        (error.kind().name(), error.path().map(|path| path.as_str())),
        ("cancelled", Some("/a"))
    );
    *watch.cancel.lock().unwrap() = None;
    watch.calls.load(SeqCst)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime")
}

fn read_async(array: &Array) -> Result<()> {
    runtime().block_on(array.as_async().read_bytes(..)).map(drop)
}

/// Points in an order that scatters each chunk over the output.
fn scattered() -> zarr::Selection {
    let all = CHUNKS * LEN;
    zarr::Selection::outer([(0..all).map(|n| n * 7 % all).collect::<Vec<u64>>()])
}

#[test]
fn a_cancelled_read_ends_after_the_chunks_under_way() -> Result<()> {
    type Read = fn(&Array) -> Result<()>;
    let reads: [Read; 3] = [
        |array| array.read_bytes(..).map(drop),
        |array| array.read_bytes(scattered()).map(drop),
        read_async,
    ];
    for remote in [false, true] {
        for one_shard in [false, true] {
            // One request fetches all inner chunks of a shard.
            if remote && one_shard {
                continue;
            }
            let watched = array(remote, one_shard)?;
            let expected = bytes(1, CHUNKS * LEN);
            for read in reads {
                let calls = cancelled(&watched, 10, read);
                let under_way = if remote { IN_FLIGHT } else { THREADS + 1 };
                assert!(calls <= 10 + under_way, "{calls} calls, remote: {remote}, {one_shard}");
                assert!(watched.0.read_bytes(..)? == expected, "a later read is whole");
            }
        }
    }
    Ok(())
}

#[test]
fn a_read_that_is_cancelled_before_it_begins_makes_no_request() -> Result<()> {
    for remote in [false, true] {
        let (array, watch) = array(remote, false)?;
        let token = CancelToken::new();
        let cancelled = array.with_options(|options| options.cancel = Some(token.clone()));
        assert!(!token.is_cancelled());
        token.cancel();
        assert!(token.is_cancelled());
        let one = || cancelled.read_bytes(..LEN);
        for error in [cancelled.read_bytes(..).err(), read_async(&cancelled).err(), one().err()] {
            assert_eq!(error.expect("an error").kind(), ErrorKind::Cancelled);
        }
        let error = cancelled.write_bytes(.., &bytes(2, CHUNKS * LEN)).expect_err("an error");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(watch.calls.load(SeqCst), 0);
    }
    Ok(())
}

#[test]
fn a_cancelled_write_leaves_each_chunk_old_or_new() -> Result<()> {
    // All elements of all chunks, or all but the first and the last: those of two chunks are merged.
    for part in [0..CHUNKS * LEN, 3..CHUNKS * LEN - 3] {
        for remote in [false, true] {
            for is_async in [false, true] {
                let watched = array(remote, false)?;
                let twos = bytes(2, part.end - part.start);
                let calls = cancelled(&watched, 10, |array| {
                    if is_async {
                        runtime().block_on(array.as_async().write_bytes(part.clone(), twos))
                    } else {
                        array.write_bytes(part.clone(), &twos)
                    }
                });
                assert!(calls <= 10 + 2 * IN_FLIGHT + 8, "{calls} calls");
                let found = watched.0.read_bytes(..)?;
                let mut new = 0;
                for chunk in 0..CHUNKS {
                    let inside = (chunk * LEN).max(part.start)..((chunk + 1) * LEN).min(part.end);
                    let inside =
                        &found[(inside.start * SIZE) as usize..(inside.end * SIZE) as usize];
                    assert!(inside.iter().all(|&byte| byte == inside[0]), "chunk {chunk} is torn");
                    new += u64::from(inside[0] == 2);
                }
                assert!(0 < new && new < CHUNKS, "{new} chunks were written");
                let outside = found[..(part.start * SIZE) as usize].iter();
                assert!(outside.chain(&found[(part.end * SIZE) as usize..]).all(|&byte| byte == 1));
            }
        }
    }
    Ok(())
}

#[test]
fn each_chunk_is_reported_once() -> Result<()> {
    for remote in [false, true] {
        let (array, _) = array(remote, false)?;
        let reports = Arc::<Mutex<Vec<ChunkProgress>>>::default();
        let log = reports.clone();
        let watched = array.with_options(|options| {
            let report = move |progress| log.lock().unwrap().push(progress);
            options.progress = Some(ProgressCallback::new(report));
        });
        let ones = bytes(1, CHUNKS * LEN);
        type Call<'a> = Box<dyn Fn(&Array) -> Result<()> + 'a>;
        let calls: [Call<'_>; 8] = [
            Box::new(|array| array.read_bytes(..).map(drop)),
            Box::new(|array| array.read_bytes(scattered()).map(drop)),
            Box::new(read_async),
            Box::new(|array| array.write_bytes(.., &ones)),
            Box::new(|array| runtime().block_on(array.as_async().write_bytes(.., ones.clone()))),
            // Parts of two chunks.
            Box::new(|array| array.write_bytes(LEN / 2..LEN + LEN / 2, &bytes(1, LEN))),
            // One chunk, and half of it.
            Box::new(|array| array.read_bytes(LEN..2 * LEN).map(drop)),
            Box::new(|array| array.read_bytes(LEN + 1..LEN + 1 + LEN / 2).map(drop)),
        ];
        for (n, call) in calls.iter().enumerate() {
            call(&watched)?;
            let mut found = std::mem::take(&mut *reports.lock().unwrap());
            found.sort_by_key(|report| report.chunks_done);
            let (chunks, elements) = match n {
                0..5 => (CHUNKS, CHUNKS * LEN),
                5 => (2, LEN),
                6 => (1, LEN),
                _ => (1, LEN / 2),
            };
            let done: Vec<u64> = found.iter().map(|report| report.chunks_done).collect();
            assert_eq!(done, (1..=chunks).collect::<Vec<_>>(), "call {n}, remote: {remote}");
            assert!(found.iter().all(|report| report.chunks_total == chunks));
            assert_eq!(found.last().map(|report| report.bytes_done), Some(elements * SIZE));
            assert!(found.is_sorted_by_key(|report| report.bytes_done));
        }
        array.read_bytes(..)?;
        assert!(
            reports.lock().unwrap().is_empty(),
            "the handle without the callback reports nothing"
        );
    }
    Ok(())
}

#[test]
fn handles_with_other_options_are_of_one_array() -> Result<()> {
    let (array, _) = array(false, false)?;
    let names = Arc::<Mutex<Vec<Option<String>>>>::default();
    let log = names.clone();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).thread_name(|_| "mine".into());
    let pool = Arc::new(pool.build().expect("a pool"));
    let other = array.with_options(|options| {
        options.pool = Some(pool);
        options.progress = Some(ProgressCallback::new(move |_| {
            log.lock().unwrap().push(thread::current().name().map(str::to_owned));
        }));
    });
    other.read_bytes(..)?;
    let found = std::mem::take(&mut *names.lock().unwrap());
    assert!(found.iter().all(|name| name.as_deref() == Some("mine")), "{found:?}");
    let one = other.with_options(|options| (options.pool, options.threads) = (None, 1));
    one.read_bytes(..)?;
    let found = std::mem::take(&mut *names.lock().unwrap());
    let this = thread::current().name().map(str::to_owned);
    assert!(found.len() == CHUNKS as usize && found.iter().all(|name| *name == this), "{found:?}");
    // A change of the array through one of them shows in the others.
    one.resize(&[LEN])?;
    assert_eq!((array.shape(), other.shape()), (vec![LEN], vec![LEN]));
    Ok(())
}

/// The calls of a write that is cancelled in its first one, and what is stored then.
fn cancelled_in_its_first_call(
    one_shard: bool,
    remote: bool,
    part: std::ops::Range<u64>,
) -> Result<()> {
    let watched = array(remote, one_shard)?;
    let twos = bytes(2, part.end - part.start);
    cancelled(&watched, 1, |array| array.write_bytes(part.clone(), &twos));
    let found = watched.0.read_bytes(..)?;
    assert!(found == bytes(1, CHUNKS * LEN), "stored: {part:?}, {one_shard}, remote: {remote}");
    Ok(())
}

#[test]
fn what_a_cancelled_write_has_begun_to_merge_is_not_stored() -> Result<()> {
    // The first call reads the chunk into which the elements are merged.
    for remote in [false, true] {
        cancelled_in_its_first_call(false, remote, 3..LEN - 3)?;
    }
    Ok(())
}

#[test]
fn a_shard_that_a_cancelled_write_has_begun_to_encode_is_not_stored() -> Result<()> {
    // The first call puts the shard, whose inner chunks are encoded while the store takes their bytes.
    cancelled_in_its_first_call(true, false, 0..CHUNKS * LEN)
}

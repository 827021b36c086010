//! Neighbouring ranges of one target are read together (V-005), whoever asks for them, and with what goes wrong.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use futures::future::{FutureExt, join_all};
use futures::stream::{self, StreamExt};
use zarr_core::runtime::block_on;
use zarr_core::store::{
    ByteRange, Bytes, GetOptions, ObservedStore, Payload, Result, Store, StoreKey,
};
use zarr_core::{ErrorKind, StoreError};
use zarr_stores::MemoryStore;
use zarr_testkit::{Latency, Records, Remote, record};
use zarr_virtual::reach::Reach;
use zarr_virtual::references::{ReferenceOptions, References};
use zarr_virtual::{ReferenceStore, Target};

use crate::common::options;

/// The bytes of a chunk.
const CHUNK: u64 = 1000;
/// How many chunks there are.
const COUNT: u64 = 1000;

/// A store of references, and what it reads of the file that they lead to: the ranges of each request, or `None` of one that failed.
struct Referring {
    store: Arc<dyn Store>,
    /// The store of the file.
    behind: Arc<dyn Store>,
    requests: Records<Option<Vec<ByteRange>>>,
}

/// What the byte at an offset of the file is.
fn byte(offset: u64) -> u8 {
    (offset % 251) as u8
}

fn key(number: u64) -> StoreKey {
    StoreKey::new(format!("a/c/{number}")).unwrap()
}

/// A store whose chunk `n` is at `n * step` of a file, which is behind a network.
fn referring(step: u64, chunks: u64) -> Referring {
    referring_to(step, chunks, |store| store)
}

/// The same; the store of the file is wrapped before its requests are recorded.
fn referring_to(
    step: u64,
    chunks: u64,
    wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
) -> Referring {
    let behind = zarr_core::store::from_sync(MemoryStore::new());
    let mut refs = vec![
        (r#""zarr.json":{"zarr_format":3,"node_type":"group"}"#).to_owned(),
        format!(
            r#""a/zarr.json":{{"zarr_format":3,"node_type":"array","shape":[{}],"data_type":"uint8",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{CHUNK}]}}}},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":0,
            "codecs":[{{"name":"bytes"}},{{"name":"gzip","configuration":{{"level":1}}}}]}}"#,
            chunks * CHUNK
        ),
    ];
    refs.extend((0..chunks).map(|n| format!(r#""{}":["file",{},{CHUNK}]"#, key(n), n * step)));
    let text = format!("{{{}}}", refs.join(","));
    let file: Vec<u8> = (0..(chunks - 1) * step + CHUNK).map(byte).collect();
    let blocking = behind.to_sync();
    for (name, bytes) in [("refs.json", text.into_bytes()), ("file", file)] {
        blocking.set(&StoreKey::new(name).unwrap(), Payload::new(bytes.as_slice())).unwrap();
    }
    let remote = wrap(Arc::new(Remote(behind.clone())));
    let (recorded, requests) = record(remote, |call| {
        assert_eq!(call.operation, "read", "{call}");
        Some(
            (!matches!(call.outcome, zarr_core::store::Outcome::Failed(_)))
                .then(|| call.ranges.to_vec()),
        )
    });
    let refs = Target::new(Arc::new(Remote(behind.clone())), StoreKey::new("refs.json").unwrap());
    let reach = Reach::new("s3://bucket/refs.json", None, []).unwrap();
    let options =
        ReferenceOptions { name: "kerchunk::".into(), reach, ..ReferenceOptions::default() };
    let source = References::open(&refs, options, Arc::new(move |_| Ok(recorded.clone())));
    let store = ReferenceStore::over(block_on(source).unwrap());
    Referring { store, behind, requests }
}

async fn get(store: &Arc<dyn Store>, number: u64) -> Result<Bytes> {
    let got = store.get(&key(number), GetOptions::at_most(CHUNK)).await?;
    Ok(got.and_then(|got| got.bytes).expect("a reference"))
}

fn is_chunk(bytes: &Bytes, step: u64, number: u64) -> bool {
    bytes.iter().copied().eq((number * step..number * step + CHUNK).map(byte))
}

/// Reads all chunks in this order by one task, `count` at a time.
fn read_all(referring: &Referring, step: u64, order: &[u64], count: usize) {
    let reads = stream::iter(order).map(|&n| get(&referring.store, n).map(move |bytes| (n, bytes)));
    let all: Vec<(u64, Result<Bytes>)> = block_on(reads.buffer_unordered(count).collect());
    assert_eq!(all.len(), order.len());
    for (number, bytes) in all {
        assert!(is_chunk(&bytes.unwrap(), step, number), "{number}");
    }
}

/// The numbers of all chunks in an order that looks random.
fn mixed() -> Vec<u64> {
    (0..COUNT).map(|n| n * 387 % COUNT).collect()
}

#[test]
fn a_thousand_neighbours_that_are_read_at_the_same_time_are_one_request() {
    let in_order: Vec<u64> = (0..COUNT).collect();
    for order in [in_order, mixed()] {
        let referring = referring(CHUNK, COUNT);
        read_all(&referring, CHUNK, &order, COUNT as usize);
        let whole = ByteRange::Bounded { start: 0, len: COUNT * CHUNK };
        assert!(referring.requests.take() == [Some(vec![whole])]);
    }
}

/// As many as a store asks for are under way; when a request is done, those that follow are read together again.
#[test]
fn neighbours_are_read_together_again_and_again() {
    let latency = Latency { request: Duration::from_millis(5), ..Latency::default() };
    let slow = |store| Arc::new(ObservedStore::new(store, latency)) as Arc<dyn Store>;
    let referring = referring_to(CHUNK, COUNT, slow);
    assert_eq!(referring.store.capabilities().in_flight, 256);
    read_all(&referring, CHUNK, &(0..COUNT).collect::<Vec<_>>(), 256);
    let requests = referring.requests.take();
    assert_eq!(requests.len(), 4);
}

/// Ranges with small gaps are one call, which leaves it to the store whether to fetch the gaps; beyond 64 KiB it is not offered.
#[test]
fn gaps_of_up_to_64_kib_are_bridged() {
    let small = CHUNK + (64 << 10);
    for (step, calls) in [(small, 1), (small + 1, 50)] {
        let referring = referring(step, 50);
        let order: Vec<u64> = (0..50).rev().collect();
        read_all(&referring, step, &order, 50);
        let requests = referring.requests.take();
        assert_eq!(requests.len(), calls);
        assert!(requests.iter().flatten().all(|ranges| ranges.len() == 50 / calls));
    }
}

/// 40 MiB in pieces of at most 16 MiB, so that memory is free before all is read.
#[test]
fn blocks_have_at_most_16_mib() {
    let (step, chunks) = (CHUNK + (60 << 10), 700);
    let referring = referring(step, chunks);
    read_all(
        &referring,
        step,
        &mixed()[..].iter().copied().filter(|&n| n < chunks).collect::<Vec<_>>(),
        700,
    );
    let requests = referring.requests.take();
    assert_eq!(requests.len(), 3);
    for ranges in requests.into_iter().flatten() {
        let ends = ranges.iter().map(|range| range.resolve(&key(0), u64::MAX).unwrap());
        let (start, end) = ends.fold((u64::MAX, 0), |(start, end), range| {
            (start.min(range.start), end.max(range.end))
        });
        assert!(end - start <= 16 << 20);
    }
}

/// Readers on several threads share requests, too, and none waits for a reader that is not polled.
#[test]
fn readers_that_are_dropped_stop_no_others() {
    let latency = Latency { request: Duration::from_millis(5), ..Latency::default() };
    let slow = |store| Arc::new(ObservedStore::new(store, latency)) as Arc<dyn Store>;
    let referring = referring_to(CHUNK, COUNT, slow);
    // The first opens the target.
    block_on(get(&referring.store, 0)).unwrap();
    let reads = || (0..20).map(|n| get(&referring.store, n).boxed()).collect::<Vec<_>>();

    // Before the batch is closed: by the one that opened it, and in the middle.
    let mut readers = reads();
    for reader in &mut readers {
        assert!(reader.now_or_never().is_none());
    }
    drop((readers.remove(10), readers.remove(0)));
    let read = block_on(join_all(readers));
    assert!(
        read.iter().all(|bytes| bytes.as_ref().is_ok_and(|bytes| bytes.len() == CHUNK as usize))
    );
    assert_eq!(referring.requests.take().len(), 2);

    // While the request is under way: by the one that polls it.
    let mut readers = reads();
    for _ in 0..3 {
        for reader in &mut readers {
            assert!(reader.now_or_never().is_none());
        }
    }
    drop((readers.remove(19), readers.remove(0)));
    let read = block_on(join_all(readers));
    assert!(read.iter().enumerate().all(|(n, bytes)| is_chunk(
        bytes.as_ref().unwrap(),
        CHUNK,
        n as u64 + 1
    )));
    assert_eq!(referring.requests.take().len(), 1);

    // A reader that is polled once and never again keeps nobody waiting.
    let mut stuck = get(&referring.store, 5).boxed();
    assert!((&mut stuck).now_or_never().is_none());
    assert!(is_chunk(&block_on(get(&referring.store, 6)).unwrap(), CHUNK, 6));
    assert!(is_chunk(&block_on(stuck).unwrap(), CHUNK, 5));

    // Nobody waits any more: nothing is read.
    referring.requests.take();
    let mut readers = reads();
    for reader in &mut readers {
        assert!(reader.now_or_never().is_none());
    }
    drop(readers);
    assert!(is_chunk(&block_on(get(&referring.store, 7)).unwrap(), CHUNK, 7));
    let alone = ByteRange::Bounded { start: 7 * CHUNK, len: CHUNK };
    assert_eq!(referring.requests.take(), [Some(vec![alone])]);
}

#[test]
fn a_range_that_is_read_alone_is_a_request_of_its_own() {
    let referring = referring(CHUNK, COUNT);
    for number in [3, 4, 3] {
        assert!(is_chunk(&block_on(get(&referring.store, number)).unwrap(), CHUNK, number));
        let range = ByteRange::Bounded { start: number * CHUNK, len: CHUNK };
        assert_eq!(referring.requests.take(), [Some(vec![range])]);
    }
}

/// The request of the first of two blocks fails.
#[test]
fn an_error_reaches_all_readers_of_its_block_and_no_others() {
    let fails = |store: Arc<dyn Store>| {
        let observer = FailingAt(30 * CHUNK);
        Arc::new(ObservedStore::new(store, observer)) as Arc<dyn Store>
    };
    let referring = referring_to(CHUNK, COUNT, fails);
    let numbers: Vec<u64> = (0..10).chain(30..40).chain(600..610).collect();
    // Only the gap before the last ten is too large.
    let read = block_on(join_all(numbers.iter().map(|&n| get(&referring.store, n))));
    for (number, bytes) in numbers.iter().zip(read) {
        match (number / 100, bytes) {
            (6, Ok(bytes)) => assert!(is_chunk(&bytes, CHUNK, *number)),
            (0, Err(StoreError::Io { source, .. })) => {
                assert_eq!(source.kind(), std::io::ErrorKind::PermissionDenied);
                assert!(source.to_string().contains("403"), "{source}");
            }
            (_, other) => panic!("{number}: {:?}", other.map(|bytes| bytes.len())),
        }
    }
    assert_eq!(referring.requests.take().len(), 2);
}

/// Refuses the request that reads this byte.
struct FailingAt(u64);

#[zarr_core::store::async_trait]
impl zarr_core::store::Observer for FailingAt {
    async fn before(&self, request: &zarr_core::store::Request<'_>) -> Result<()> {
        let reads = |range: &ByteRange| {
            range.resolve(&key(0), u64::MAX).is_ok_and(|range| range.contains(&self.0))
        };
        if request.ranges.iter().any(reads) {
            let refused =
                std::io::Error::new(std::io::ErrorKind::PermissionDenied, "403 Forbidden");
            return Err(StoreError::io("get", request.key)(refused));
        }
        Ok(())
    }

    async fn after(&self, _: &zarr_core::store::Call<'_>) -> Result<()> {
        Ok(())
    }
}

/// Waits for a future on a thread of which nobody says that it may block, as those of applications' runtimes: there, async reads
/// of several chunks are under way at the same time.
fn run<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Each reader's error has its own chunk and key, as of a request of its own.
#[test]
fn an_error_names_the_key_of_each_reader() {
    let fails = |store| Arc::new(ObservedStore::new(store, FailingAt(5 * CHUNK))) as Arc<dyn Store>;
    let referring = referring_to(CHUNK, 10, fails);
    let hierarchy = block_on(zarr_core::aio::Hierarchy::open(referring.store.clone(), &options()));
    let array = block_on(hierarchy.unwrap().array("a")).unwrap();
    let reads = (0..10).map(|n| array.read_bytes(n * CHUNK..(n + 1) * CHUNK));
    for (number, read) in run(join_all(reads)).into_iter().enumerate() {
        let error = read.unwrap_err();
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Store);
        assert!(text.contains(&format!("c/{number}")) && text.contains("403"), "{text}");
    }
    assert_eq!(referring.requests.take().len(), 1);
}

/// A reference beyond the end of the file is the error of its own key.
#[test]
fn a_reference_that_is_wrong_fails_alone() {
    let referring = referring(CHUNK, 10);
    let file = StoreKey::new("file").unwrap();
    let half: Vec<u8> = (0..5 * CHUNK + 500).map(byte).collect();
    referring.behind.to_sync().set(&file, Payload::new(half.as_slice())).unwrap();
    for _ in 0..2 {
        let read = block_on(join_all((0..10).map(|n| get(&referring.store, n))));
        for (number, bytes) in read.into_iter().enumerate() {
            match bytes {
                Ok(bytes) => assert!(number < 5 && is_chunk(&bytes, CHUNK, number as u64)),
                Err(error) => {
                    let text = error.to_string();
                    assert!(number >= 5 && text.contains("5500 bytes"), "{number}: {text}");
                }
            }
        }
    }
}

/// V-006 holds for what is read together, and for blocks that are read at the same time.
#[test]
fn all_ranges_are_of_one_version_of_the_file() {
    let referring = referring(CHUNK, COUNT);
    block_on(get(&referring.store, 0)).unwrap();
    let file = StoreKey::new("file").unwrap();
    let other = vec![0; (COUNT * CHUNK) as usize];
    referring.behind.to_sync().set(&file, Payload::new(other.as_slice())).unwrap();
    for bytes in block_on(join_all((0..100).map(|n| get(&referring.store, n)))) {
        let error = bytes.unwrap_err();
        assert!(matches!(error, StoreError::Changed { .. }), "{error}");
    }
}

/// Two readers that began before a version was known, and found two.
#[test]
fn readers_at_the_same_time_never_get_bytes_of_two_versions() {
    let behind = zarr_core::store::from_sync(MemoryStore::new());
    let latency = Latency { request: Duration::from_millis(5), ..Latency::default() };
    let slow = Arc::new(ObservedStore::new(Arc::new(Remote(behind.clone())), latency));
    let file = StoreKey::new("file").unwrap();
    let set = |value| behind.to_sync().set(&file, Payload::new(&[value; 100][..])).unwrap();
    let target = Target::new(slow, file.clone());
    let mut readers = Vec::new();
    for (value, range) in [(1, 0..10), (2, 90..100)] {
        set(value);
        let target = target.clone();
        let mut reader = async move { target.read(std::slice::from_ref(&range)).await }.boxed();
        // It joins a batch, and then opens the file.
        for _ in 0..2 {
            let is_pending =
                block_on(poll_fn(|context| Poll::Ready(reader.poll_unpin(context).is_pending())));
            assert!(is_pending);
        }
        readers.push(reader);
    }
    let read = block_on(join_all(readers));
    let changed = read.iter().filter(|read| matches!(read, Err(StoreError::Changed { .. })));
    assert_eq!((changed.count(), read.iter().filter(|read| read.is_ok()).count()), (1, 1));
}

//! Runs the work on many chunks: on a pool of threads, or as many requests to a remote store that are under way.
//!
//! The pool belongs to this library. It is made when it is first needed, and again in a forked process; it is never the
//! global one (docs/internals/design/threads-and-memory.md). Without the feature `rayon`, or with one thread, the calling
//! thread does all the work.

use std::cell::RefCell;
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::stream::{self, Stream, StreamExt};

use crate::codec::Threads;
use crate::control::CancelToken;
use crate::error::{AccessError, Error, Result};
use crate::fork::on_thread;
use crate::options::Options;
use crate::store::{block_on, pause};

/// How often a call that waits for requests looks whether its caller cancelled it: a server may never answer.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The amount of work on some chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Whether there is more than one chunk.
    pub many: bool,
    /// About how many bytes each chunk has.
    pub size: u64,
    /// How many bytes of all chunks are read or written.
    pub total: u64,
    /// How many chunks along the last axis go to one thread.
    pub row: u64,
}

/// The chunks that are under way from or to a remote store together take about this many bytes of memory at most, unless
/// they are no more than [`FEWEST`].
pub(super) const UNDER_WAY: u64 = 1 << 26;
const FEWEST: usize = 4;
/// A connection reads a chunk through a buffer of up to this many bytes.
const BUFFER: u64 = 400 << 10;

impl Work {
    /// How many chunks are under way at the same time, for a store that takes `requests`.
    pub fn in_flight(&self, requests: usize) -> usize {
        let size = self.size.min(self.total).max(1);
        let most = UNDER_WAY / size.saturating_add(size.min(BUFFER));
        usize::try_from(most).unwrap_or(usize::MAX).max(FEWEST).min(requests)
    }
}

/// One thread gets up to this many bytes of neighbouring chunks: two threads should not write to the two halves of a line of
/// the cache.
pub(super) const TOGETHER: u64 = 1 << 18;

/// What is worth fewer threads is done by one, if the pool has other work.
#[cfg(feature = "rayon")]
const FEW_OTHERS: usize = 4;

/// About how long it takes to wake a thread.
#[cfg(feature = "rayon")]
const WAKING: Duration = Duration::from_micros(50);

/// A thread of another pool, which belongs to the caller, reads or writes up to this many bytes itself.
#[cfg(feature = "rayon")]
const LITTLE: u64 = 1 << 22;

/// Calls `work` for every item of every group, on several threads if there are many; each thread takes some groups and has a
/// buffer that it reuses. Stops after the first error, and when the caller cancels.
pub(crate) fn for_each<T, G: IntoIterator<Item = T> + Send>(
    options: &Options,
    kind: Work,
    groups: impl Iterator<Item = G> + Send,
    work: impl Fn(&mut Vec<u8>, T) -> Result<()> + Sync,
) -> Result<()> {
    let work = until_cancelled(options, work);
    #[cfg(feature = "rayon")]
    if let Some(pool) = kind.many.then(|| pool(options)).flatten() {
        use rayon::iter::{ParallelBridge, ParallelIterator};

        // A thread of another pool would begin another task of the caller while it waits for this one, and one more in
        // that: each holds its chunks. A thread that belongs to no pool only waits.
        let foreign =
            rayon::current_thread_index().is_some() && pool.current_thread_index().is_none();
        if foreign && kind.total <= LITTLE {
            return serially(groups, work);
        }
        let most = TOGETHER / kind.size.saturating_mul(kind.row).max(1);
        let left = std::sync::Mutex::new(Some(groups));
        let left = || crate::sync::lock(&left).take();
        let on_pool = || {
            let Some(mut groups) = left() else { return Ok(()) };
            let mut taken = 0;
            // Batches grow with the number of groups taken, so that few groups also go to several threads.
            let batches = std::iter::from_fn(|| {
                let count = (taken / 16).clamp(1, most.clamp(1, 64) as usize);
                taken += count;
                let batch: Vec<G> = groups.by_ref().take(count).collect();
                (!batch.is_empty()).then_some(batch)
            });
            let all = || {
                batches.par_bridge().try_for_each_init(Vec::new, |buffer, batch| {
                    batch.into_iter().flatten().try_for_each(|item| work(buffer, item))
                })
            };
            pool.install(all)
        };
        if !foreign {
            return on_pool();
        }
        return std::thread::scope(|scope| {
            match std::thread::Builder::new().spawn_scoped(scope, on_thread(on_pool)) {
                Ok(waiting) => {
                    waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                }
                // The system starts no thread: this one does the work.
                Err(_) => left().map_or(Ok(()), |groups| serially(groups, &work)),
            }
        });
    }
    let _ = kind;
    serially(groups, work)
}

/// Calls `work` on this thread, and on up to `others` threads of the pool as they wake; its calls share what is to do. Returns
/// when all have ended. Where it would wait for other work of the pool to end, this thread does what is little, and of more it
/// calls nothing and returns `false`.
pub(crate) fn together(options: &Options, others: usize, work: impl Fn() + Sync) -> bool {
    #[cfg(feature = "rayon")]
    if let Some(pool) = (others > 0).then(|| pool(options)).flatten() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        use std::time::Instant;

        // Each call that uses a pool of this library holds what `pool` gave. Here two do: this call, and the map of pools.
        let idle = options.pool.is_none() && std::sync::Arc::strong_count(&pool) == 2;
        if !idle || rayon::current_thread_index().is_some() {
            let little = others < FEW_OTHERS;
            if little {
                work();
            }
            return little;
        }
        let others = others.min(pool.current_num_threads() - 1);
        let ended = AtomicUsize::new(0);
        pool.in_place_scope(|scope| {
            for _ in 0..others {
                scope.spawn(|_| {
                    work();
                    ended.fetch_add(1, Ordering::Release);
                });
            }
            work();
            // The others end about now: to sleep and to be woken takes longer.
            let begun = Instant::now();
            while ended.load(Ordering::Acquire) < others && begun.elapsed() < WAKING {
                std::hint::spin_loop();
            }
        });
        return true;
    }
    let _ = (options, others);
    work();
    true
}

/// Elements of fewer bytes are encoded by one thread.
#[cfg(feature = "rayon")]
const MIN_BYTES_FOR_THREADS: u64 = 1 << 20;

/// The threads that may encode parts of a chunk of `size` bytes. For a thread of the pool only itself: the others have
/// their own chunks.
pub(crate) fn threads(options: &Options, size: u64) -> Threads<'_> {
    #[cfg(feature = "rayon")]
    if let Some(pool) = (size >= MIN_BYTES_FOR_THREADS).then(|| pool(options)).flatten()
        && pool.current_thread_index().is_none()
    {
        let each = |options: Option<&Options>, count: usize, work: &(dyn Fn(usize) + Sync)| {
            let Some(options) = options else { return };
            let size = 32 * TOGETHER / count.max(1) as u64;
            let kind = Work { many: true, size, total: u64::MAX, row: 1 };
            // It fails only if the caller cancels.
            _ = for_each(options, kind, (0..count).map(Some), |_, n| {
                crate::codec::budget::limited(options.limits.decoded, || work(n));
                Ok(())
            });
        };
        return Threads { count: pool.current_num_threads(), options: Some(options), each };
    }
    let _ = (options, size);
    Threads::ONE
}

/// The result of `work`, which may start threads that borrow from the caller.
pub(crate) fn with_scope<'e, R>(
    work: impl for<'s> AsyncFnOnce(&'s std::thread::Scope<'s, 'e>) -> R,
) -> R {
    std::thread::scope(|scope| block_on(work(scope)))
}

/// The items of `make`; if there are threads, another one makes those that follow while the caller uses one.
pub(crate) fn made_ahead<'s, T: Send + 's, I: Iterator<Item = T> + 's>(
    scope: &'s std::thread::Scope<'s, '_>,
    threads: Threads<'_>,
    make: impl Fn() -> I + Copy + Send + 's,
) -> Box<dyn Iterator<Item = T> + 's> {
    if threads.count > 1 {
        let (send, receive) = std::sync::mpsc::sync_channel(1);
        let work = move || _ = make().try_for_each(|item| send.send(item));
        if std::thread::Builder::new().spawn_scoped(scope, on_thread(work)).is_ok() {
            return Box::new(receive.into_iter());
        }
    }
    Box::new(make())
}

/// As [`for_each`], of work that calls a local store: each thread waits for the future of its item.
pub(crate) fn for_each_async<T, G: IntoIterator<Item = T> + Send>(
    options: &Options,
    kind: Work,
    groups: impl Iterator<Item = G> + Send,
    work: impl AsyncFn(&mut Vec<u8>, T) -> Result<()> + Sync,
) -> Result<()> {
    for_each(options, kind, groups, |buffer, item| block_on(work(buffer, item)))
}

/// The results of `work` for every item, as they come; `count` items are under way at the same time. Stops when the caller
/// cancels, and drops what is under way.
pub(crate) fn in_flight<T, R, F: Future<Output = Result<R>>>(
    options: &Options,
    count: usize,
    items: impl Iterator<Item = T>,
    work: impl Fn(T) -> F,
) -> impl Stream<Item = Result<R>> {
    let begin = move |item| {
        let begun = options.check_cancelled().map(|()| work(item));
        async move { begun?.await }
    };
    let mut running = Box::pin(stream::iter(items).map(begin).buffer_unordered(count));
    let mut look = options.cancel.is_some().then(|| pause(BETWEEN_LOOKS));
    stream::poll_fn(move |context| {
        while look.as_mut().is_some_and(|look| look.poll_unpin(context).is_ready()) {
            if let Err(cancelled) = options.check_cancelled() {
                return Poll::Ready(Some(Err(cancelled)));
            }
            look = Some(pause(BETWEEN_LOOKS));
        }
        running.poll_next_unpin(context)
    })
}

fn serially<T>(
    groups: impl Iterator<Item = impl IntoIterator<Item = T>>,
    work: impl Fn(&mut Vec<u8>, T) -> Result<()>,
) -> Result<()> {
    let mut buffer = Vec::new();
    groups.flatten().try_for_each(|item| work(&mut buffer, item))
}

/// Runs work that borrows from a caller, on a pool or on the calling thread.
pub(crate) struct Spawner<'a, 's> {
    #[cfg(feature = "rayon")]
    scope: Option<&'a rayon::Scope<'s>>,
    #[cfg(not(feature = "rayon"))]
    scope: std::marker::PhantomData<(&'a (), &'s ())>,
}

impl<'s> Spawner<'_, 's> {
    /// The result of `work`.
    pub async fn run<T: Send + 's>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 's,
    ) -> Result<T> {
        #[cfg(feature = "rayon")]
        if let Some(scope) = self.scope {
            let (send, receive) = futures::channel::oneshot::channel();
            scope.spawn(move |_| drop(send.send(work())));
            return receive.await.unwrap_or_else(|_| Err(lost_worker()));
        }
        let _ = self.scope;
        work()
    }
}

/// The result of `poll`, which this thread waits for. Its work borrows from the caller and runs on the pool; on a thread of
/// the pool itself, in place: another thread might be waiting for this one. Without a pool it runs on this thread.
pub(crate) fn in_scope<'s, T>(
    options: &Options,
    poll: impl AsyncFnOnce(&Spawner<'_, 's>) -> T,
) -> T {
    #[cfg(feature = "rayon")]
    if let Some(pool) = pool(options).filter(|pool| pool.current_thread_index().is_none()) {
        return pool.in_place_scope(|scope| block_on(poll(&Spawner { scope: Some(scope) })));
    }
    let _ = options;
    block_on(poll(&Spawner { scope: Default::default() }))
}

/// The result of `work`, which runs on the pool; on a thread of the pool itself, in place. Without a pool it runs on a thread
/// that may block.
pub(crate) async fn on_pool<T: Send + 'static>(
    options: &Options,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    #[cfg(feature = "rayon")]
    if let Some(pool) = pool(options) {
        if pool.current_thread_index().is_some() {
            return work();
        }
        let (send, receive) = futures::channel::oneshot::channel();
        pool.spawn(move || drop(send.send(work())));
        return receive.await.unwrap_or_else(|_| Err(lost_worker()));
    }
    let _ = options;
    elsewhere(work).await
}

thread_local! {
    /// Cancels the work of this thread, because the future that began it was dropped.
    static DROPPED: RefCell<Option<CancelToken>> = const { RefCell::new(None) };
}

/// `work`, unless the caller cancelled or dropped its future.
fn until_cancelled<T>(
    options: &Options,
    work: impl Fn(&mut Vec<u8>, T) -> Result<()> + Sync,
) -> impl Fn(&mut Vec<u8>, T) -> Result<()> + Sync {
    let dropped = DROPPED.with_borrow(Option::clone);
    move |buffer, item| {
        options.check_cancelled()?;
        dropped.as_ref().map_or(Ok(()), CancelToken::check)?;
        work(buffer, item)
    }
}

/// The result of `work`, done by a thread that may block and may wait for the pool; on a thread of the pool itself, in place.
/// If the future is dropped, the work begins no further chunk.
pub(crate) async fn off_thread<T: Send + 'static, F: Future<Output = T>>(
    options: &Options,
    work: impl FnOnce() -> F + Send + 'static,
) -> Result<T> {
    struct CancelOnDrop(CancelToken);
    impl Drop for CancelOnDrop {
        fn drop(&mut self) {
            self.0.cancel();
        }
    }
    struct Before(Option<CancelToken>);
    impl Drop for Before {
        fn drop(&mut self) {
            DROPPED.set(self.0.take());
        }
    }
    #[cfg(feature = "rayon")]
    if pool(options).is_some_and(|pool| pool.current_thread_index().is_some()) {
        return Ok(block_on(work()));
    }
    let _ = options;
    let guard = CancelOnDrop(CancelToken::new());
    let dropped = guard.0.clone();
    let work = move || {
        let _before = Before(DROPPED.replace(Some(dropped)));
        block_on(work())
    };
    crate::store::run(work).await.ok_or_else(lost_worker)
}

/// The result of `work`, which runs on a thread that may block.
///
/// # Errors
/// Those of `work`; an error if the thread ended before the work was done.
pub async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    crate::store::run(work).await.unwrap_or_else(|| Err(lost_worker()))
}

fn lost_worker() -> Error {
    AccessError::Argument("a worker thread ended before its work was done".into()).into()
}

/// The pool for these options; `None` if one thread does all the work.
#[cfg(feature = "rayon")]
fn pool(options: &Options) -> Option<std::sync::Arc<rayon::ThreadPool>> {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    /// By process and number of threads.
    type Pools = BTreeMap<(u32, usize), Arc<rayon::ThreadPool>>;
    static POOLS: Mutex<Pools> = Mutex::new(BTreeMap::new());
    // In a process that was forked off, threads that its caller made before are gone.
    let is_child = crate::fork::IS_CHILD.load(std::sync::atomic::Ordering::Relaxed);
    if let Some(pool) = options.pool.as_ref().filter(|_| !is_child) {
        return Some(pool.clone());
    }
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    if threads == 1 {
        return None;
    }
    let mut pools = crate::sync::lock(&POOLS);
    let key = (std::process::id(), threads);
    if let Some(pool) = pools.get(&key) {
        return Some(pool.clone());
    }
    // The system starts no threads: the calling thread does the work.
    let start = |thread: rayon::ThreadBuilder| {
        let named = std::thread::Builder::new().name(format!("zarr-{}", thread.index()));
        named.spawn(on_thread(|| thread.run())).map(drop)
    };
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).spawn_handler(start);
    let pool = Arc::new(builder.build().ok()?);
    pools.insert(key, pool.clone());
    Some(pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_large_chunks_are_in_flight() {
        let in_flight = |size, total| Work { many: true, size, total, row: 1 }.in_flight(64);
        assert_eq!(in_flight(1 << 19, 1 << 30), 64);
        assert_eq!(Work { many: true, size: 1 << 19, total: 1 << 30, row: 1 }.in_flight(256), 71);
        assert_eq!(in_flight(1 << 25, 1 << 30), 4);
        assert_eq!(in_flight(u64::MAX, u64::MAX), 4);
        // A small part of large chunks takes little memory.
        assert_eq!(in_flight(1 << 25, 1 << 12), 64);
        assert_eq!(in_flight(0, 0), 64);
        assert_eq!(Work { many: true, size: 1 << 40, total: 1 << 41, row: 1 }.in_flight(2), 2);
    }

    /// A thread of the pool that others keep busy for long is not waited for.
    #[cfg(feature = "rayon")]
    #[test]
    fn a_busy_pool_is_not_waited_for() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        use std::sync::{Arc, Barrier, mpsc};

        let options = Options { threads: 3, ..Options::default() };
        let calls = Arc::new(AtomicUsize::new(0));
        let count = |others: usize| {
            let (options, calls, (send, receive)) =
                (options.clone(), calls.clone(), mpsc::channel());
            std::thread::spawn(move || {
                let called =
                    together(&options, others, || _ = calls.fetch_add(1, Ordering::SeqCst));
                send.send((called, calls.swap(0, Ordering::SeqCst)))
            });
            receive.recv_timeout(Duration::from_secs(60)).expect("it waits for nobody")
        };
        assert_eq!(count(2), (true, 3));
        assert_eq!(count(9), (true, 3));
        let (begun, end) = (Barrier::new(2), Barrier::new(2));
        let work = |_: &mut Vec<u8>, ()| {
            begun.wait();
            end.wait();
            Ok(())
        };
        let busy = || {
            let kind = Work { many: true, size: 1, total: 1, row: 1 };
            for_each(&options, kind, [Some(())].into_iter(), work).expect("nothing fails");
        };
        std::thread::scope(|scope| {
            scope.spawn(busy);
            begun.wait();
            let [little, much] = [count(3), count(4)];
            end.wait();
            assert_eq!((little, much), ((true, 1), (false, 0)));
        });
    }
}

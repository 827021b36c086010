//! Runs the work on many chunks: on a pool of threads, or as many requests to a remote store that are under way.
//!
//! The pool belongs to this library. It is made when it is first needed, and again in a forked process; it is never the
//! global one (docs/internals/design/threads-and-memory.md). Without the feature `rayon`, or with one thread, the calling
//! thread does all the work.

use std::cell::RefCell;
use std::task::Poll;

use futures::FutureExt;
use futures::stream::{self, Stream, StreamExt};

use super::parallel::spawn_scoped;
use super::tuning::{
    CANCEL_POLL_INTERVAL, CONNECTION_BUFFER_BYTES, MAX_BYTES_IN_FLIGHT, MIN_CHUNKS_IN_FLIGHT,
};
#[cfg(feature = "rayon")]
use super::tuning::{MAX_BYTES_ON_FOREIGN_THREAD, MAX_BYTES_PER_BATCH, MIN_THREADS_WORTH_A_POOL};
use super::{block_on, pause};
use crate::control::CancelToken;
use crate::error::{AccessError, Error, Result};
use crate::options::Options;

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

impl Work {
    /// How many chunks are under way at the same time, for a store that takes `requests`.
    pub fn in_flight(&self, requests: usize) -> usize {
        let size = self.size.min(self.total).max(1);
        let fit = MAX_BYTES_IN_FLIGHT / size.saturating_add(size.min(CONNECTION_BUFFER_BYTES));
        usize::try_from(fit).unwrap_or(usize::MAX).max(MIN_CHUNKS_IN_FLIGHT).min(requests)
    }
}

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
        // A thread of another pool would begin another task of the caller while it waits for this one, and one more in
        // that: each holds its chunks. A thread that belongs to no pool only waits.
        let foreign =
            rayon::current_thread_index().is_some() && pool.current_thread_index().is_none();
        if !foreign {
            return on_threads_of(&pool, kind, groups, work);
        }
        if kind.total <= MAX_BYTES_ON_FOREIGN_THREAD {
            return serially(groups, work);
        }
        let groups = std::sync::Mutex::new(Some(groups));
        return std::thread::scope(|scope| {
            let waiting =
                spawn_scoped(scope, "zarr-wait", || match crate::sync::lock(&groups).take() {
                    Some(groups) => on_threads_of(&pool, kind, groups, &work),
                    None => Ok(()),
                });
            match waiting {
                Ok(waiting) => {
                    waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                }
                // The system starts no thread: this one does the work.
                Err(_) => match crate::sync::lock(&groups).take() {
                    Some(groups) => serially(groups, &work),
                    None => Ok(()),
                },
            }
        });
    }
    let _ = kind;
    serially(groups, work)
}

/// Gives the groups to the threads of a pool.
#[cfg(feature = "rayon")]
fn on_threads_of<T, G: IntoIterator<Item = T> + Send>(
    pool: &rayon::ThreadPool,
    kind: Work,
    mut groups: impl Iterator<Item = G> + Send,
    work: impl Fn(&mut Vec<u8>, T) -> Result<()> + Sync,
) -> Result<()> {
    use rayon::iter::{ParallelBridge, ParallelIterator};

    let most = MAX_BYTES_PER_BATCH / kind.size.saturating_mul(kind.row).max(1);
    let mut taken = 0;
    // Batches grow with the number of groups taken, so that few groups also go to several threads.
    let batches = std::iter::from_fn(|| {
        let count = (taken / 16).clamp(1, most.clamp(1, 64) as usize);
        taken += count;
        let batch: Vec<G> = groups.by_ref().take(count).collect();
        (!batch.is_empty()).then_some(batch)
    });
    pool.install(|| {
        batches.par_bridge().try_for_each_init(Vec::new, |buffer, batch| {
            batch.into_iter().flatten().try_for_each(|item| work(buffer, item))
        })
    })
}

/// Calls `work` on this thread and on up to `others` more, as many as the options allow; its calls share what is to do. Returns
/// when all have ended. The threads are its own: those of the pool may have other work for long. Where the caller has a pool, and
/// so decides how many threads there are, this one does what is little, and of more it calls nothing and returns `false`.
pub(crate) fn together(options: &Options, others: usize, work: impl Fn() + Sync) -> bool {
    #[cfg(feature = "rayon")]
    if options.pool.is_some() || rayon::current_thread_index().is_some() {
        let is_little = others < MIN_THREADS_WORTH_A_POOL;
        if is_little {
            work();
        }
        return is_little;
    }
    let others = others.min(super::available_threads(options.threads) - 1);
    super::run_together("zarr-copy", others, work);
    true
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
    threads: usize,
    make: impl Fn() -> I + Copy + Send + 's,
) -> Box<dyn Iterator<Item = T> + 's> {
    if threads > 1 {
        let (send, receive) = std::sync::mpsc::sync_channel(1);
        let started = spawn_scoped(scope, "zarr-make", move || {
            // The receiver is gone if the caller has stopped reading.
            let _ = make().try_for_each(|item| send.send(item));
        });
        if started.is_ok() {
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
    let calls = stream::iter(items).map(move |item| {
        let begun = options.check_cancelled().map(|()| work(item));
        async move { begun?.await }
    });
    let mut running = Box::pin(calls.buffer_unordered(count));
    let mut look = options.cancel.is_some().then(|| pause(CANCEL_POLL_INTERVAL));
    stream::poll_fn(move |context| {
        while look.as_mut().is_some_and(|look| look.poll_unpin(context).is_ready()) {
            if let Err(cancelled) = options.check_cancelled() {
                return Poll::Ready(Some(Err(cancelled)));
            }
            look = Some(pause(CANCEL_POLL_INTERVAL));
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
    spawn_blocking(work).await
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
    let done = super::spawn_blocking(move || {
        let _before = Before(DROPPED.replace(Some(dropped)));
        block_on(work())
    });
    done.await.ok_or_else(lost_worker)
}

/// As [`spawn_blocking`](super::spawn_blocking), of work that may fail: that it panicked is an error.
pub(crate) async fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    super::spawn_blocking(work).await.unwrap_or_else(|| Err(lost_worker()))
}

fn lost_worker() -> Error {
    AccessError::Argument("a worker thread ended before its work was done".into()).into()
}

/// The pool for these options; `None` if one thread does all the work.
#[cfg(feature = "rayon")]
pub(crate) fn pool(options: &Options) -> Option<std::sync::Arc<rayon::ThreadPool>> {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    /// By process and number of threads.
    type Pools = BTreeMap<(u32, usize), Arc<rayon::ThreadPool>>;
    static POOLS: Mutex<Pools> = Mutex::new(BTreeMap::new());
    // In a process that was forked off, threads that its caller made before are gone.
    let is_child = super::fork::IS_CHILD.load(std::sync::atomic::Ordering::Relaxed);
    if let Some(pool) = &options.pool
        && !is_child
    {
        return Some(pool.clone());
    }
    let threads = super::available_threads(options.threads);
    if threads == 1 {
        return None;
    }
    let mut pools = crate::sync::lock(&POOLS);
    let key = (std::process::id(), threads);
    if let Some(pool) = pools.get(&key) {
        return Some(pool.clone());
    }
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).spawn_handler(|thread| {
        super::spawn_thread(&format!("zarr-{}", thread.index()), || thread.run()).map(drop)
    });
    // If the system starts no threads, there is no pool: the calling thread does the work.
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
        use std::sync::Barrier;
        use std::sync::atomic::{AtomicUsize, Ordering};

        let options = Options { threads: 3, ..Options::default() };
        let count = |others: usize| {
            let calls = AtomicUsize::new(0);
            let called = together(&options, others, || _ = calls.fetch_add(1, Ordering::SeqCst));
            (called, calls.into_inner())
        };
        let (begun, end) = (Barrier::new(2), Barrier::new(2));
        let work = |_: &mut Vec<u8>, ()| {
            begun.wait();
            end.wait();
            Ok(())
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let kind = Work { many: true, size: 1, total: 1, row: 1 };
                for_each(&options, kind, [Some(())].into_iter(), work).expect("nothing fails");
            });
            begun.wait();
            let counts = [count(0), count(2), count(9)];
            end.wait();
            assert_eq!(counts, [(true, 1), (true, 3), (true, 3)]);
        });
        let own = Options { pool: pool(&options), ..options.clone() };
        let calls = AtomicUsize::new(0);
        let call = || _ = calls.fetch_add(1, Ordering::SeqCst);
        assert!(together(&own, 3, call) && !together(&own, 4, call));
        assert_eq!(calls.into_inner(), 1);
    }
}

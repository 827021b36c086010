//! Runs the work on many chunks in parallel.
//!
//! A pool of this library's own, made when it is first needed and anew in a forked process; never the
//! global one (decision 0130). Without the feature `rayon`, or with one thread, the caller does it all.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{AccessError, Error, Result};
use crate::options::Options;

/// What the work on many chunks is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Whether there is more than one chunk.
    pub many: bool,
    /// About as many bytes are in each.
    pub size: u64,
    /// As many bytes are wanted of all.
    pub total: u64,
}

/// Chunks on their way from or to a far store together hold about so many bytes of elements at most, if they are not
/// fewer than [`FEWEST`].
const UNDER_WAY: u64 = 1 << 27;
const FEWEST: usize = 4;

impl Work {
    /// How many chunks are under way at once, of a store that likes `liked` requests.
    pub fn at_once(&self, liked: usize) -> usize {
        let most = UNDER_WAY / self.size.min(self.total).max(1);
        usize::try_from(most).unwrap_or(usize::MAX).max(FEWEST).min(liked)
    }
}

/// Neighbours are handed out together up to so many bytes: two threads should not write to the two halves of a line
/// of the cache.
#[cfg(feature = "rayon")]
const TOGETHER: u64 = 1 << 18;

/// So many bytes a thread of the caller's own pool reads or writes itself.
#[cfg(feature = "rayon")]
const LITTLE: u64 = 1 << 22;

/// Calls `work` for every item, on several threads if there are many; each thread brings a buffer that it reuses.
/// Stops early after an error.
#[cfg(feature = "rayon")]
pub(crate) fn for_each<T: Send>(
    options: &Options,
    Work { many, size, total }: Work,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(&mut Vec<u8>, T) -> Result<()> + Sync,
) -> Result<()> {
    use rayon::iter::{ParallelBridge, ParallelIterator};

    use crate::sync::lock;

    let items = Stop::until_stopped(items);
    let Some(pool) = pool(options).filter(|_| many) else { return serially(items, work) };
    // A thread of the caller's own pool would begin another of the caller's tasks while it waits for this one, and
    // another one in that: each holds its chunks. One that belongs to no pool just waits.
    let foreign = rayon::current_thread_index().is_some() && pool.current_thread_index().is_none();
    if foreign && total <= LITTLE {
        return serially(items, work);
    }
    let most = usize::try_from(TOGETHER / size.max(1)).unwrap_or(usize::MAX).clamp(1, 64);
    let all = |items| {
        let batches = Batches { items, taken: 0, most };
        batches.par_bridge().try_for_each_init(Vec::new, |buffer, batch| {
            batch.into_iter().try_for_each(|item| work(buffer, item))
        })
    };
    if !foreign {
        return pool.install(|| all(items));
    }
    let left = std::sync::Mutex::new(Some(items));
    let taken = || lock(&left).take();
    std::thread::scope(|scope| {
        let wait = || taken().map_or(Ok(()), |items| pool.install(|| all(items)));
        match std::thread::Builder::new().spawn_scoped(scope, wait) {
            Ok(waiting) => waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // A machine that gives no thread gets the work done by this one.
            Err(_) => taken().map_or(Ok(()), |items| serially(items, &work)),
        }
    })
}

/// Items that follow each other, more at a time the more were taken, so that few are shared out as well.
#[cfg(feature = "rayon")]
struct Batches<I> {
    items: I,
    taken: usize,
    most: usize,
}

#[cfg(feature = "rayon")]
impl<I: Iterator> Iterator for Batches<I> {
    type Item = Vec<I::Item>;

    fn next(&mut self) -> Option<Self::Item> {
        let count = (self.taken / 16).clamp(1, self.most);
        let batch: Vec<I::Item> = self.items.by_ref().take(count).collect();
        self.taken += batch.len();
        (!batch.is_empty()).then_some(batch)
    }
}

/// Calls `work` for every item; stops after an error.
#[cfg(not(feature = "rayon"))]
pub(crate) fn for_each<T: Send>(
    _: &Options,
    _: Work,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(&mut Vec<u8>, T) -> Result<()> + Sync,
) -> Result<()> {
    serially(Stop::until_stopped(items), work)
}

fn serially<T>(
    mut items: impl Iterator<Item = T>,
    work: impl Fn(&mut Vec<u8>, T) -> Result<()>,
) -> Result<()> {
    let mut buffer = Vec::new();
    items.try_for_each(|item| work(&mut buffer, item))
}

/// Does work that borrows from a caller, on a pool's threads or on the caller's own.
pub(crate) struct Spawner<'a, 's> {
    #[cfg(feature = "rayon")]
    scope: Option<&'a rayon::Scope<'s>>,
    #[cfg(not(feature = "rayon"))]
    scope: std::marker::PhantomData<(&'a (), &'s ())>,
}

impl<'s> Spawner<'_, 's> {
    /// What `work` gives.
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

/// What `poll` gives, whose work borrows from the caller and is done on the pool. On a thread of the pool itself the work
/// is done in place: waiting for another thread might be waiting for itself.
#[cfg(feature = "rayon")]
pub(crate) fn with_pool<'s, T>(options: &Options, poll: impl FnOnce(&Spawner<'_, 's>) -> T) -> T {
    match pool(options).filter(|pool| pool.current_thread_index().is_none()) {
        Some(pool) => pool.in_place_scope(|scope| poll(&Spawner { scope: Some(scope) })),
        None => poll(&Spawner { scope: None }),
    }
}

/// What `poll` gives, whose work is done on the caller's thread.
#[cfg(not(feature = "rayon"))]
pub(crate) fn with_pool<'s, T>(_: &Options, poll: impl FnOnce(&Spawner<'_, 's>) -> T) -> T {
    poll(&Spawner { scope: std::marker::PhantomData })
}

/// What `work` gives, done on the pool; on a thread of the pool itself, in place.
#[cfg(feature = "rayon")]
pub(crate) async fn on_pool<T: Send + 'static>(
    options: &Options,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let Some(pool) = pool(options) else { return elsewhere(work).await };
    if pool.current_thread_index().is_some() {
        return work();
    }
    let (send, receive) = futures::channel::oneshot::channel();
    pool.spawn(move || drop(send.send(work())));
    receive.await.unwrap_or_else(|_| Err(lost_worker()))
}

/// What `work` gives, done on a thread that may be busy.
#[cfg(not(feature = "rayon"))]
pub(crate) async fn on_pool<T: Send + 'static>(
    _: &Options,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    elsewhere(work).await
}

/// Whether work that was begun for a future is still wanted.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

thread_local! {
    /// Tells this thread to begin no further chunk.
    static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

impl Stop {
    /// Does work that [`for_each`] ends early once the future is gone.
    pub fn watch<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Before(Option<Stop>);
        impl Drop for Before {
            fn drop(&mut self) {
                STOP.set(self.0.take());
            }
        }
        let _before = Before(STOP.replace(Some(self.clone())));
        work()
    }

    /// The items, until nothing more is wanted.
    fn until_stopped<T>(items: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        let stop = STOP.with_borrow(Option::clone);
        items.take_while(move |_| !stop.as_ref().is_some_and(|stop| stop.0.load(Ordering::Relaxed)))
    }
}

/// What `work` gives, done on a thread that may block, and may wait for the pool; on a thread of the pool itself, in
/// place. The work is told to stop if the future is dropped.
pub(crate) async fn off_thread<T: Send + 'static>(
    options: &Options,
    work: impl FnOnce(&Stop) -> T + Send + 'static,
) -> Option<T> {
    struct Dropped(Stop);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.0.store(true, Ordering::Relaxed);
        }
    }
    #[cfg(feature = "rayon")]
    if pool(options).is_some_and(|pool| pool.current_thread_index().is_some()) {
        return Some(work(&Stop::default()));
    }
    let _ = options;
    let dropped = Dropped(Stop::default());
    let stop = dropped.0.clone();
    crate::store::run(move || work(&stop)).await
}

/// What `work` gives, done on a thread that may block.
///
/// # Errors
/// The work's own; that the thread ended before it was done.
pub async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    crate::store::run(work).await.unwrap_or_else(|| Err(lost_worker()))
}

pub(crate) fn lost_worker() -> Error {
    AccessError::Argument("a worker thread ended before its work was done".into()).into()
}

/// The pool for these options; `None` if one thread is to do it.
#[cfg(feature = "rayon")]
fn pool(options: &Options) -> Option<std::sync::Arc<rayon::ThreadPool>> {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use crate::sync::lock;

    /// By process and number of threads.
    type Pools = BTreeMap<(u32, usize), Arc<rayon::ThreadPool>>;
    static POOLS: Mutex<Pools> = Mutex::new(BTreeMap::new());
    if let Some(pool) = options.pool.as_ref().filter(|_| !crate::fork::is_child()) {
        return Some(pool.clone());
    }
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    if threads == 1 {
        return None;
    }
    let mut pools = lock(&POOLS);
    let key = (std::process::id(), threads);
    if let Some(pool) = pools.get(&key) {
        return Some(pool.clone());
    }
    // A machine that gives no threads gets its work done by the caller's.
    let builder =
        rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|n| format!("zarr-{n}"));
    let pool = Arc::new(builder.build().ok()?);
    pools.insert(key, pool.clone());
    Some(pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_chunks_are_few_at_once() {
        let at_once = |size, total| Work { many: true, size, total }.at_once(64);
        assert_eq!(at_once(1 << 19, 1 << 30), 64);
        assert_eq!(at_once(1 << 25, 1 << 30), 4);
        assert_eq!(at_once(u64::MAX, u64::MAX), 4);
        // Of a small part of large ones little is held.
        assert_eq!(at_once(1 << 25, 1 << 12), 64);
        assert_eq!(at_once(0, 0), 64);
        assert_eq!(Work { many: true, size: 1 << 40, total: 1 << 41 }.at_once(2), 2);
    }
}

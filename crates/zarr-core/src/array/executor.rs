//! Runs the work on many chunks in parallel.
//!
//! A pool of this library's own, made when it is first needed and anew in a forked process; never the
//! global one (decision 0130). Without the feature `rayon`, or with one thread, the caller does it all.

use crate::error::Result;
use crate::hierarchy::Options;

/// What the work on many chunks is like.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "rayon"),
    expect(dead_code, reason = "one thread does it, whatever it is")
)]
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
    let taken = || left.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
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
    serially(items, work)
}

fn serially<T>(
    mut items: impl Iterator<Item = T>,
    work: impl Fn(&mut Vec<u8>, T) -> Result<()>,
) -> Result<()> {
    let mut buffer = Vec::new();
    items.try_for_each(|item| work(&mut buffer, item))
}

/// The pool for these options; `None` if one thread is to do it.
#[cfg(feature = "rayon")]
pub(crate) fn pool(options: &Options) -> Option<std::sync::Arc<rayon::ThreadPool>> {
    use std::collections::HashMap;
    use std::sync::{Arc, LazyLock, Mutex};

    /// By process and number of threads.
    type Pools = HashMap<(u32, usize), Arc<rayon::ThreadPool>>;
    static POOLS: LazyLock<Mutex<Pools>> = LazyLock::new(Default::default);
    if let Some(pool) = &options.pool {
        return Some(pool.clone());
    }
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    if threads == 1 {
        return None;
    }
    let mut pools = POOLS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
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

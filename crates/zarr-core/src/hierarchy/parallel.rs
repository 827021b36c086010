//! Who does the work on many chunks?
//!
//! A pool of this library's own, made when it is first needed and anew in a forked process; never the
//! global one (DECISIONS 30). Without the feature `rayon`, or with one thread, the caller does it all.

use super::options::Options;
use crate::error::Result;

/// Calls `work` for every item, on several threads if there are `many`; each thread brings a buffer
/// that it reuses. Stops early after an error.
#[cfg(feature = "rayon")]
pub(crate) fn for_each<T: Send>(
    options: &Options,
    many: bool,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(&mut Vec<u8>, T) -> Result<()> + Sync,
) -> Result<()> {
    use rayon::iter::{ParallelBridge, ParallelIterator};

    match pool(options).filter(|_| many) {
        Some(pool) => pool.install(|| {
            items.par_bridge().try_for_each_init(Vec::new, |buffer, item| work(buffer, item))
        }),
        None => serially(items, work),
    }
}

/// Calls `work` for every item; stops after an error.
#[cfg(not(feature = "rayon"))]
pub(crate) fn for_each<T: Send>(
    _: &Options,
    _: bool,
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

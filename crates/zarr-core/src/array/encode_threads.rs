//! Which threads may encode the parts of one chunk.

use crate::codec::Threads;
use crate::options::Options;

/// The threads that may encode parts of a chunk of `size` bytes. For a thread of the pool only itself: the others have
/// their own chunks.
pub(super) fn encode_threads(options: &Options, size: u64) -> Threads<'_> {
    #[cfg(feature = "rayon")]
    if size >= crate::runtime::tuning::MIN_BYTES_FOR_ENCODE_THREADS
        && let Some(pool) = crate::runtime::pool::pool(options)
        && pool.current_thread_index().is_none()
    {
        let each = encode_each;
        return Threads { count: pool.current_num_threads(), options: Some(options), each };
    }
    let _ = (options, size);
    Threads::ONE
}

/// Calls `work` with each number below `count`, on the threads of the pool.
#[cfg(feature = "rayon")]
fn encode_each(options: Option<&Options>, count: usize, work: &(dyn Fn(usize) + Sync)) {
    use crate::codec::budget;
    use crate::runtime::pool::{Work, for_each};
    use crate::runtime::tuning::MAX_BYTES_PER_BATCH;

    let Some(options) = options else { return };
    let size = 32 * MAX_BYTES_PER_BATCH / count.max(1) as u64;
    let kind = Work { many: true, size, total: u64::MAX, row: 1 };
    // It fails only if the caller cancels.
    _ = for_each(options, kind, (0..count).map(Some), |_, n| {
        budget::limited(options.limits.decoded, || work(n));
        Ok(())
    });
}

//! Shares the pieces of a validation among threads, and hands out their results in order.

use zarr_core::Result;
use zarr_core::runtime::Parallel;

use super::Context;
use super::problem::ValidateProgress;

/// The most pieces that a thread takes at once.
const MAX_PIECES_AT_ONCE: usize = 64;

/// Calls `work` with each number below `count`, on several threads, and `deliver` with the results, in order, on this one.
pub(super) fn run<T: Send>(
    context: &Context<'_>,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    mut deliver: impl FnMut(usize, T),
) -> Result<()> {
    let threads = context.threads.min(count);
    // One thread looks between any two pieces whether its caller cancelled, and hands out nothing late.
    let at_once = if threads > 1 { count / (threads * 8) } else { 1 };
    let at_once = at_once.clamp(1, MAX_PIECES_AT_ONCE);
    let parallel =
        Parallel { name: "zarr-validate", threads, cancel: context.options.cancel.as_ref() };
    let mut done = 0;
    parallel.in_order(
        (0..count).step_by(at_once),
        || Ok(()),
        |(): &mut (), from: usize| -> Result<Vec<T>> {
            Ok((from..count.min(from + at_once)).map(&work).collect())
        },
        |results: Vec<T>| {
            for result in results {
                deliver(done, result);
                done += 1;
            }
            if let Some(progress) = context.options.progress {
                progress(&ValidateProgress { done: done as u64, total: count as u64 });
            }
            Ok(())
        },
    )?;
    context.check_cancelled()
}

/// The results of `work` for each number below `count`, in order.
pub(super) fn map<T: Send>(
    context: &Context<'_>,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Result<Vec<T>> {
    let mut results = Vec::with_capacity(count);
    run(context, count, work, |_, result| results.push(result))?;
    Ok(results)
}

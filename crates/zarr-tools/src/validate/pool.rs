//! Does independent pieces of work on several threads, and hands out their results in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use zarr_core::Result;
use zarr_core::fork::on_thread;

use super::Context;
use super::problem::ValidateProgress;

/// The most pieces that a thread takes at once.
const MOST_AT_ONCE: usize = 64;

/// Calls `work` with each number below `count`, on several threads, and `deliver` with the results, in order, on this one.
pub(super) fn run<T: Send>(
    context: &Context<'_>,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    mut deliver: impl FnMut(usize, T),
) -> Result<()> {
    let report = |done: usize| {
        if let Some(progress) = context.options.progress {
            progress(&ValidateProgress { done: done as u64, total: count as u64 });
        }
    };
    let one_by_one = |deliver: &mut dyn FnMut(usize, T)| {
        for at in 0..count {
            context.check_cancelled()?;
            deliver(at, work(at));
            report(at + 1);
        }
        Ok(())
    };
    let threads = context.threads.min(count);
    if threads <= 1 {
        return one_by_one(&mut deliver);
    }
    let at_once = (count / (threads * 8)).clamp(1, MOST_AT_ONCE);
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let (send, receive) = mpsc::sync_channel::<(usize, Vec<T>)>(threads * 4);
    std::thread::scope(|scope| {
        for started in 0..threads {
            let send = send.clone();
            let (next, stop, work) = (&next, &stop, &work);
            let worker = move || {
                loop {
                    let from = next.fetch_add(at_once, Ordering::Relaxed);
                    if from >= count || stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let done = (from..count.min(from + at_once)).map(work).collect();
                    if send.send((from, done)).is_err() {
                        return;
                    }
                }
            };
            // The system may refuse a further thread: fewer do.
            match std::thread::Builder::new().spawn_scoped(scope, on_thread(worker)) {
                Ok(_) => {}
                Err(_) if started == 0 => return one_by_one(&mut deliver),
                Err(_) => break,
            }
        }
        drop(send);
        // Results that arrived before an earlier one.
        let mut early: BTreeMap<usize, Vec<T>> = BTreeMap::new();
        let (mut due, mut done) = (0, 0);
        let mut cancelled = Ok(());
        for (from, results) in receive {
            done += results.len();
            report(done);
            early.insert(from, results);
            while let Some(results) = early.remove(&due) {
                for result in results {
                    deliver(due, result);
                    due += 1;
                }
            }
            cancelled = context.check_cancelled();
            if cancelled.is_err() {
                stop.store(true, Ordering::Relaxed);
                break;
            }
        }
        cancelled
    })
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

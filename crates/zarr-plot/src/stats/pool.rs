//! Works on parts with several threads, and merges what comes of them in the order of the parts.

use std::collections::BTreeMap;
use std::sync::Mutex;

use zarr_core::Result;
use zarr_core::fork::on_thread;
use zarr_core::sync::{Condition, into_inner, lock};

/// How many results may wait for the one before them.
const WAITING: u64 = 256;

struct State<I, P, M> {
    parts: I,
    /// The number of the part that comes next, and of the result that is merged next.
    next: (u64, u64),
    waiting: BTreeMap<u64, P>,
    merge: M,
    failed: Option<zarr_core::Error>,
}

/// Calls `work` for each part on up to `threads` threads, each of which has what `own` makes. Results go to `merge` in the order of
/// the parts, whichever thread is faster. Returns what the threads had, in no order; the first error ends all.
pub(crate) fn run<T: Send, S: Send, P: Send>(
    threads: usize,
    parts: impl Iterator<Item = T> + Send,
    own: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) -> Result<P> + Sync,
    merge: impl FnMut(P) + Send,
) -> Result<Vec<S>> {
    let state = State { parts, next: (0, 0), waiting: BTreeMap::new(), merge, failed: None };
    let (shared, merged, kept) = (Mutex::new(state), Condition::default(), Mutex::new(Vec::new()));
    let worker = || {
        let mut mine = own();
        loop {
            let (number, part) = {
                let mut state = lock(&shared);
                while state.failed.is_none() && state.next.0 >= state.next.1 + WAITING {
                    state = merged.wait(&shared, state, None);
                }
                if state.failed.is_some() {
                    break;
                }
                let Some(part) = state.parts.next() else { break };
                state.next.0 += 1;
                (state.next.0 - 1, part)
            };
            let result = work(&mut mine, part);
            let mut guard = lock(&shared);
            let state = &mut *guard;
            match result {
                Ok(result) => {
                    state.waiting.insert(number, result);
                    while let Some(result) = state.waiting.remove(&state.next.1) {
                        (state.merge)(result);
                        state.next.1 += 1;
                    }
                }
                Err(e) => {
                    state.failed.get_or_insert(e);
                }
            }
            merged.notify_all();
        }
        lock(&kept).push(mine);
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // The system may refuse a further thread: fewer do.
            if std::thread::Builder::new().spawn_scoped(scope, on_thread(worker)).is_err() {
                break;
            }
        }
        worker();
    });
    match into_inner(shared).failed {
        Some(e) => Err(e),
        None => Ok(into_inner(kept)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zarr_core::AccessError;

    #[test]
    fn results_come_in_the_order_of_the_parts() {
        for threads in [1, 2, 7] {
            let mut merged = Vec::new();
            let own = run(
                threads,
                0..1_000u64,
                || 0,
                |own, n| {
                    *own += 1;
                    if n % 97 == 0 {
                        std::thread::yield_now();
                    }
                    Ok(n * n)
                },
                |square| merged.push(square),
            );
            assert_eq!(own.unwrap().iter().sum::<u64>(), 1_000);
            assert_eq!(merged, (0..1_000).map(|n| n * n).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn the_first_error_ends_all() {
        for threads in [1, 3] {
            let work = |_: &mut (), n: u64| match n {
                5 => Err(AccessError::Cancelled.into()),
                n => Ok(n),
            };
            assert!(run(threads, 0.., || (), work, |_| ()).is_err());
        }
    }
}

//! Bounds the decoded bytes that the process holds at once (docs/internals/design/limits.md).
//!
//! Before a thread decodes a large chunk it takes its bytes out of one budget for all threads and all handles, and waits while
//! others have them. It holds none while it waits, so that no two threads wait for each other. A decoding inside a
//! decoding, such as that of an inner chunk, takes more without waiting.

use std::cell::Cell;

use crate::error::CodecError;
use crate::limits::Limits;
use crate::primitives::sync::Mutex;
use crate::runtime::tuning::{MIN_COUNTED_BYTES, MIN_ENCODED_LIMIT_BYTES};
use crate::sync::{self, Condition, MutexGuard};

thread_local! {
    static LIMIT: Cell<Option<u64>> = const { Cell::new(None) };
    static HELD: Cell<u64> = const { Cell::new(0) };
}

/// Bytes that threads hold, and the process whose threads they are.
struct Budget {
    process: u32,
    held: u64,
}

static BUDGET: Mutex<Budget> = Mutex::new(Budget { process: 0, held: 0 });
static RETURNED: Condition = Condition::new();

fn lock() -> MutexGuard<'static, Budget> {
    let mut budget = sync::lock(&BUDGET);
    let process = std::process::id();
    if budget.process != process {
        // The threads of the process that forked this one are not here.
        *budget = Budget { process, held: 0 };
    }
    budget
}

/// Does work under a limit; see [`Limits::decoded`].
pub fn limited<T>(limit: u64, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<u64>);
    impl Drop for Restore {
        fn drop(&mut self) {
            LIMIT.set(self.0);
        }
    }
    let _restore = Restore(LIMIT.replace(Some(limit)));
    work()
}

/// The limit under which this thread works.
pub(super) fn limit() -> u64 {
    LIMIT.get().unwrap_or_else(|| Limits::default().decoded)
}

/// The most bytes that an encoded chunk may have whose elements are `decoded` bytes: four times as many, and 64 MiB at
/// least. Where that is not known, [`Limits::decoded`]. Nothing larger is fetched, whatever an index or a server
/// says.
pub fn most_encoded(decoded: Option<u64>) -> u64 {
    let limit = limit();
    match decoded {
        Some(size) if limit != u64::MAX => size.saturating_mul(4).max(MIN_ENCODED_LIMIT_BYTES),
        _ => limit,
    }
}

/// Bytes that were taken, until they are dropped.
#[must_use]
pub(super) struct Taken(u64);

/// Takes `size` bytes as soon as that many are left.
///
/// # Errors
/// [`CodecError::Limit`] if that is more than the limit allows at all.
pub(super) fn take(size: u64) -> Result<Taken, CodecError> {
    let limit = limit();
    if size > limit {
        return Err(CodecError::Limit { codec: "codecs", limit });
    }
    if size <= MIN_COUNTED_BYTES {
        return Ok(Taken(0));
    }
    let mut budget = lock();
    if HELD.get() == 0 {
        while budget.held > 0 && budget.held.saturating_add(size) > limit {
            budget = RETURNED.wait(&BUDGET, budget, None);
        }
    }
    budget.held = budget.held.saturating_add(size);
    HELD.set(HELD.get().saturating_add(size));
    Ok(Taken(size))
}

impl Drop for Taken {
    fn drop(&mut self) {
        if self.0 == 0 {
            return;
        }
        HELD.set(HELD.get().saturating_sub(self.0));
        let mut budget = lock();
        budget.held = budget.held.saturating_sub(self.0);
        drop(budget);
        RETURNED.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    /// Threads together stay below the limit, and all of them come to an end.
    #[test]
    fn threads_share_one_budget() {
        let (now, most) = (AtomicU64::new(0), AtomicU64::new(0));
        let size = 100 << 20;
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        limited(250 << 20, || {
                            let taken = take(size).unwrap();
                            // A decoding inside waits for nothing.
                            let _inner = take(2 << 20).unwrap();
                            most.fetch_max(
                                now.fetch_add(size, Ordering::SeqCst) + size,
                                Ordering::SeqCst,
                            );
                            thread::yield_now();
                            now.fetch_sub(size, Ordering::SeqCst);
                            drop(taken);
                        });
                    }
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 2 * size);
        assert!(limited(99, || take(100)).is_err());
        assert_eq!(limit(), Limits::default().decoded);
    }
}

//! Counts the requests to a store, and their bytes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use zarr_core::store::{Call, Observer, Outcome};
use zarr_core::{StoreError, sync};

/// The calls of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Their number.
    pub calls: u64,
    /// Bytes of the values that were written or read.
    pub bytes: u64,
    /// How many of the calls failed.
    pub failed: u64,
    /// The sum of their durations.
    pub duration: Duration,
}

/// Counts the calls on a store, by operation, as an [`Observer`]. Clones share the counts.
///
/// ```
/// use std::sync::Arc;
/// use zarr_core::store::{ObservedStore, Store};
/// use zarr_testkit::Counters;
/// # fn of(store: Arc<dyn Store>) {
/// let counters = Counters::default();
/// let store = ObservedStore::new(store, counters.clone());
/// // ... the store is used ...
/// assert!(counters.total().calls < 10);
/// println!("{counters}");
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Counters(Arc<Mutex<BTreeMap<&'static str, Count>>>);

impl Counters {
    /// The counts of one operation, by its name in [`Request`](zarr_core::store::Request).
    pub fn of(&self, operation: &str) -> Count {
        self.by_operation().get(operation).copied().unwrap_or_default()
    }

    /// The counts of every operation that was called.
    pub fn by_operation(&self) -> BTreeMap<&'static str, Count> {
        sync::lock(&self.0).clone()
    }

    /// The counts of all operations together.
    pub fn total(&self) -> Count {
        self.by_operation().values().fold(Count::default(), |sum, count| Count {
            calls: sum.calls + count.calls,
            bytes: sum.bytes + count.bytes,
            failed: sum.failed + count.failed,
            duration: sum.duration + count.duration,
        })
    }

    /// The counts so far, which are set to zero.
    pub fn take(&self) -> BTreeMap<&'static str, Count> {
        std::mem::take(&mut *sync::lock(&self.0))
    }
}

impl fmt::Display for Counters {
    /// `get: 12 calls, 4096 bytes, 0 failed`, a line for each operation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (operation, count) in self.by_operation() {
            let Count { calls, bytes, failed, .. } = count;
            writeln!(f, "{operation}: {calls} calls, {bytes} bytes, {failed} failed")?;
        }
        Ok(())
    }
}

#[async_trait]
impl Observer for Counters {
    async fn after(&self, call: &Call<'_>) -> Result<(), StoreError> {
        let mut counts = sync::lock(&self.0);
        let count = counts.entry(call.operation).or_default();
        count.calls += 1;
        count.bytes += call.bytes;
        count.failed += u64::from(matches!(call.outcome, Outcome::Failed(_)));
        count.duration += call.duration;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::store::{ObservedStore, Payload, Store, StoreKey, from_sync};

    use super::*;
    use crate::memory::Memory;

    #[test]
    fn calls_and_bytes_are_counted_by_operation() {
        let counters = Counters::default();
        let store = ObservedStore::new(from_sync(Memory::default()), counters.clone());
        let store = (Arc::new(store) as Arc<dyn Store>).to_sync();
        let key = StoreKey::new("k").unwrap();
        store.set(&key, Payload::new(b"value")).unwrap();
        for _ in 0..2 {
            store.value(&key).unwrap();
        }
        let (set, get) = (counters.of("put"), counters.of("get"));
        assert_eq!((set.calls, set.bytes, get.calls, get.bytes), (1, 5, 2, 10));
        assert_eq!((counters.total().calls, counters.of("erase")), (3, Count::default()));
        assert!(counters.to_string().starts_with("get: 2 calls, 10 bytes, 0 failed\n"));
        assert_eq!(counters.take().len(), 2);
        assert_eq!(counters.total(), Count::default());
    }
}

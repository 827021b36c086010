//! Makes a store as slow as a remote one, for tests.

use std::time::Duration;

use async_trait::async_trait;
use zarr_core::StoreError;
use zarr_core::store::pause;

use super::observe::{Call, Observer, Request};

/// Holds up every call on a store, as an [`Observer`]: for trying out how a program does with a distant one.
///
/// Calls are delayed side by side, as many as are in flight. An async caller is not blocked.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use zarr_stores::{Latency, ObservedStore};
/// # fn of(store: Arc<dyn zarr_core::store::Store>) {
/// let latency = Latency { request: Duration::from_millis(20), ..Latency::default() };
/// let store = ObservedStore::new(store, latency);
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Latency {
    /// For each call, before the store is asked.
    pub request: Duration,
    /// For each MiB that a call carried, and for a part of one as much less.
    pub mebibyte: Duration,
}

#[async_trait]
impl Observer for Latency {
    fn waits(&self) -> bool {
        true
    }

    async fn before(&self, _: &Request<'_>) -> Result<(), StoreError> {
        pause(self.request).await;
        Ok(())
    }

    async fn after(&self, call: &Call<'_>) -> Result<(), StoreError> {
        let nanos = self.mebibyte.as_nanos().saturating_mul(call.bytes.into()) >> 20;
        pause(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))).await;
        Ok(())
    }
}

#[cfg(all(test, feature = "memory"))]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::Instant;

    use futures::executor::block_on;
    use futures::future::join_all;
    use zarr_core::store::{GetOptions, Payload, Precondition, Store, StoreKey, from_sync};

    use super::*;
    use crate::{MemoryStore, ObservedStore};

    /// Slow is at least as slow as it was told, and calls in flight wait beside each other: one after the other they
    /// would take a minute.
    #[test]
    fn calls_are_held_up_beside_each_other() {
        let latency =
            Latency { request: Duration::from_millis(30), mebibyte: Duration::from_secs(1024) };
        let store = ObservedStore::new(from_sync(MemoryStore::new()), latency);
        let key = StoreKey::new("k").unwrap();
        let start = Instant::now();
        let value = Some(Payload::new(&[0; 100][..]));
        block_on(store.put(&key, value, Precondition::Always)).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(30 + 97), "{:?}", start.elapsed());
        let values = block_on(join_all((0..500).map(|_| store.get(&key, GetOptions::default()))));
        assert!(values.into_iter().all(|value| value.unwrap().is_some()));
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    }

    #[test]
    fn callers_that_block_are_held_up_too() {
        let latency = Latency { request: Duration::from_millis(20), ..Latency::default() };
        let store = ObservedStore::new(from_sync(MemoryStore::new()), latency);
        let store = (Arc::new(store) as Arc<dyn Store>).to_sync();
        let start = Instant::now();
        thread::scope(|scope| {
            for n in 0..4 {
                let store = &store;
                scope.spawn(move || {
                    let key = StoreKey::new(format!("{n}")).unwrap();
                    assert!(store.value(&key).unwrap().is_none());
                });
            }
        });
        assert!(start.elapsed() >= Duration::from_millis(20));
    }
}

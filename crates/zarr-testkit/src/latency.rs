//! Makes a store as slow as a remote one.

use std::time::Duration;

use async_trait::async_trait;
use zarr_core::StoreError;
use zarr_core::runtime::pause;
use zarr_core::store::{Call, Observer, Request};

/// Delays every call on a store, as an [`Observer`], and makes the store a remote one.
///
/// Calls in flight are delayed at the same time. An async caller is not blocked.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use zarr_core::store::{ObservedStore, Store};
/// use zarr_testkit::Latency;
/// # fn of(store: Arc<dyn Store>) {
/// let latency = Latency { request: Duration::from_millis(20), ..Latency::default() };
/// let store = ObservedStore::new(store, latency);
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Latency {
    /// The delay of each call, before the store is called.
    pub request: Duration,
    /// The delay for each MiB that a call carried, after the store answered; a part of a MiB has a part of it.
    pub mebibyte: Duration,
}

#[async_trait]
impl Observer for Latency {
    fn is_remote(&self) -> bool {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::Instant;

    use futures::executor::block_on;
    use futures::future::join_all;
    use zarr_core::store::{
        GetOptions, ObservedStore, Payload, Precondition, Store, StoreKey, from_sync,
    };

    use super::*;
    use crate::memory::Memory;

    /// Calls take at least as long as they are delayed, and calls in flight are delayed at the same time: one after the other
    /// they would take a minute.
    #[test]
    fn calls_in_flight_are_delayed_at_the_same_time() {
        let latency =
            Latency { request: Duration::from_millis(30), mebibyte: Duration::from_secs(1024) };
        let store = ObservedStore::new(from_sync(Memory::default()), latency);
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
    fn blocking_callers_are_delayed_too() {
        let latency = Latency { request: Duration::from_millis(20), ..Latency::default() };
        let store = ObservedStore::new(from_sync(Memory::default()), latency);
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

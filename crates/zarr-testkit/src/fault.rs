//! Lets some calls on a store fail.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use zarr_core::StoreError;
use zarr_core::runtime::pause;
use zarr_core::store::{Call, Observer, Request};

/// In which way a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The store refuses the call, as a server does with status 503: nothing was done.
    Unavailable,
    /// The connection ends after the store made the change, and before it could answer.
    Dropped,
    /// The connection ends in the middle of the store's answer.
    Truncated,
    /// The store waits for this time, and then makes the change.
    Stall(Duration),
}

/// Lets every n-th call on a store fail, as an [`Observer`].
///
/// Calls are numbered in the order in which they arrive at an [`ObservedStore`](zarr_core::store::ObservedStore). Which numbers fail, and how, follows from the
/// seed: the same each time.
///
/// ```
/// use std::sync::Arc;
/// use zarr_core::store::{ObservedStore, Store};
/// use zarr_testkit::{Fault, Faults};
/// # fn of(store: Arc<dyn Store>) {
/// let faults = Faults::every(5, [Fault::Unavailable, Fault::Dropped]).seed(7);
/// let store = ObservedStore::new(store, faults.clone());
/// // ... the store is used ...
/// println!("{} calls failed", faults.count());
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Faults {
    every: u64,
    kinds: Arc<[Fault]>,
    seed: u64,
    /// The number of the call from which on all fail.
    dead_from: u64,
    count: Arc<AtomicU64>,
}

impl Faults {
    /// Every `n`-th call fails, in one of these ways. None fails if `n` is 0 or there are no ways.
    pub fn every(n: u64, kinds: impl Into<Vec<Fault>>) -> Self {
        let kinds = kinds.into().into();
        Faults { every: n, kinds, seed: 0, dead_from: u64::MAX, count: Arc::default() }
    }

    /// So many calls succeed, and none after them: what a process that is killed then leaves.
    pub fn dead_after(calls: u64) -> Self {
        Faults { dead_from: calls, ..Faults::every(0, []) }
    }

    /// The same faults, at other calls.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The number of calls that failed or were delayed so far; clones count together.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The fault of the call of this number.
    fn of(&self, number: u64) -> Option<Fault> {
        if number >= self.dead_from {
            return Some(Fault::Unavailable);
        }
        let at = number.wrapping_add(self.seed);
        if self.kinds.is_empty() || self.every == 0 || !at.is_multiple_of(self.every) {
            return None;
        }
        let kind = mixed(number ^ self.seed.rotate_left(32)) % self.kinds.len() as u64;
        Some(self.kinds[kind as usize])
    }
}

#[async_trait]
impl Observer for Faults {
    async fn before(&self, request: &Request<'_>) -> Result<(), StoreError> {
        let fault = self.of(request.number);
        self.count.fetch_add(u64::from(fault.is_some()), Ordering::Relaxed);
        match fault {
            Some(Fault::Unavailable) => {
                let Request { operation, key, .. } = *request;
                Err(failed(operation, key, ErrorKind::Other, "503 Service Unavailable"))
            }
            Some(Fault::Stall(time)) => {
                pause(time).await;
                Ok(())
            }
            Some(Fault::Dropped | Fault::Truncated) | None => Ok(()),
        }
    }

    async fn after(&self, call: &Call<'_>) -> Result<(), StoreError> {
        match self.of(call.number) {
            Some(Fault::Dropped) => {
                let why = "the connection was dropped";
                Err(failed(call.operation, call.key, ErrorKind::ConnectionReset, why))
            }
            Some(Fault::Truncated) => {
                let why = "the connection ended in the middle of the value";
                Err(failed(call.operation, call.key, ErrorKind::UnexpectedEof, why))
            }
            Some(Fault::Unavailable | Fault::Stall(_)) | None => Ok(()),
        }
    }
}

/// A number that looks random, and follows from `number` (splitmix64).
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn failed(operation: &'static str, key: &str, kind: ErrorKind, why: &str) -> StoreError {
    let source = io::Error::new(kind, format!("{why} (a fault made on purpose)"));
    StoreError::Io { operation, key: key.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use zarr_core::store::{
        ObservedStore, Payload, Store, StoreKey, StorePrefix, SyncStore, from_sync, from_sync_arc,
    };

    use super::*;
    use crate::memory::Memory;

    /// The errors of twelve sets, and the number of keys that the store has then.
    fn run(faults: &Faults) -> (Vec<Option<String>>, usize) {
        let memory = Arc::new(Memory::default());
        let store = ObservedStore::new(from_sync_arc(memory.clone()), faults.clone());
        let store = (Arc::new(store) as Arc<dyn Store>).to_sync();
        let set = |n: usize| {
            let key = StoreKey::new(format!("{n}")).unwrap();
            let set = store.set(&key, Payload::new(b"v"));
            set.err().map(|e| e.to_string())
        };
        let errors = (0..12).map(set).collect();
        (errors, memory.list_prefix(&StorePrefix::root()).unwrap().keys.len())
    }

    #[test]
    fn every_fifth_call_fails_the_same_way_each_time() {
        let all = [Fault::Unavailable, Fault::Dropped, Fault::Truncated];
        for seed in 0..4 {
            let faults = Faults::every(5, all).seed(seed);
            let (errors, _) = run(&faults);
            let failed: Vec<usize> = (0..12).filter(|&n| errors[n].is_some()).collect();
            let first = (5 - seed as usize) % 5;
            assert_eq!(failed, (first..12).step_by(5).collect::<Vec<_>>());
            assert_eq!(faults.count(), failed.len() as u64);
            assert_eq!(run(&Faults::every(5, all).seed(seed)).0, errors);
        }
    }

    /// A refused call changed nothing; a call that was cut off may have.
    #[test]
    fn each_fault_is_what_it_says() {
        assert_eq!(run(&Faults::every(2, [Fault::Unavailable])).1, 6);
        assert_eq!(run(&Faults::every(2, [Fault::Dropped])).1, 12);
        let (errors, kept) = run(&Faults::every(3, [Fault::Stall(Duration::from_millis(1))]));
        assert_eq!((errors, kept), (vec![None; 12], 12));
        for faults in [Faults::every(0, [Fault::Dropped]), Faults::every(1, [])] {
            assert_eq!(run(&faults), (vec![None; 12], 12));
        }
        let faults = Faults::every(1, [Fault::Truncated]);
        let store = ObservedStore::new(from_sync(Memory::default()), faults);
        let got = (Arc::new(store) as Arc<dyn Store>).to_sync().value(&StoreKey::new("k").unwrap());
        assert!(matches!(got, Err(StoreError::Io { operation: "get", .. })));
    }
}

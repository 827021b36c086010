//! How does a store that waits serve callers that block?
//!
//! The caller's thread sleeps until the answer is there.

use std::sync::Arc;

use bytes::Bytes;

use super::aio::{self, now};
use super::{
    ByteRange, ConditionalStore, ListableStore, Listing, Payload, Pinned, ReadableStore, Store,
    StoreKey, StorePrefix, Version, Versioned, WriteableStore,
};
use crate::error::StoreError;

/// A store that waits, for callers that block. It may be used within any runtime: what its calls wait for
/// goes on without the caller's thread.
#[derive(Clone, Debug)]
pub struct Awaited(Arc<dyn aio::Store>);

impl Awaited {
    /// The same store, its callers asleep until it answers.
    pub fn new(store: Arc<dyn aio::Store>) -> Self {
        Awaited(store)
    }
}

const NO_SIDE: &str = "sides are handed out only where the store has them";

impl Store for Awaited {
    fn name(&self) -> String {
        self.0.name()
    }
    fn readable(&self) -> Option<&dyn ReadableStore> {
        self.0.readable().map(|_| self as _)
    }
    fn writeable(&self) -> Option<&dyn WriteableStore> {
        self.0.writeable().map(|_| self as _)
    }
    fn listable(&self) -> Option<&dyn ListableStore> {
        self.0.listable().map(|_| self as _)
    }
    fn conditional(&self) -> Option<&dyn ConditionalStore> {
        self.0.conditional().map(|_| self as _)
    }
    fn waiting(&self) -> Option<Arc<dyn aio::Store>> {
        Some(self.0.clone())
    }
}

impl ReadableStore for Awaited {
    fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        now(self.0.readable().expect(NO_SIDE).get(key))
    }
    fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        now(self.0.readable().expect(NO_SIDE).get_partial_values(key, ranges))
    }
    fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        Ok(now(self.0.readable().expect(NO_SIDE).pin(key))?.map(awaited))
    }
    fn pin_as(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        Ok(now(self.0.readable().expect(NO_SIDE).pin_as(key, version))?.map(awaited))
    }
}

/// A value of a store that waits.
struct AwaitedPinned(Box<dyn aio::Pinned>);

fn awaited(pinned: Box<dyn aio::Pinned>) -> Box<dyn Pinned> {
    Box::new(AwaitedPinned(pinned))
}

impl Pinned for AwaitedPinned {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        now(self.0.read(ranges))
    }
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn version(&self) -> Option<Version> {
        self.0.version()
    }
}

impl WriteableStore for Awaited {
    fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        now(self.0.writeable().expect(NO_SIDE).set(key, value))
    }
    fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        now(self.0.writeable().expect(NO_SIDE).erase(key))
    }
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        now(self.0.writeable().expect(NO_SIDE).erase_prefix(prefix))
    }
    fn flush(&self) -> Result<(), StoreError> {
        now(self.0.writeable().expect(NO_SIDE).flush())
    }
    fn set_unguarded(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        now(self.0.writeable().expect(NO_SIDE).set_unguarded(key, value))
    }
    fn erase_unguarded(&self, key: &StoreKey) -> Result<(), StoreError> {
        now(self.0.writeable().expect(NO_SIDE).erase_unguarded(key))
    }
}

impl ConditionalStore for Awaited {
    fn get_versioned(&self, key: &StoreKey) -> Result<Option<(Bytes, Version)>, StoreError> {
        now(self.0.conditional().expect(NO_SIDE).get_versioned(key))
    }
    fn pin_versioned(&self, key: &StoreKey) -> Result<Option<Versioned>, StoreError> {
        let found = now(self.0.conditional().expect(NO_SIDE).pin_versioned(key))?;
        Ok(found.map(|(value, version)| (awaited(value), version)))
    }
    fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        now(self.0.conditional().expect(NO_SIDE).set_if(key, value, was))
    }
}

impl ListableStore for Awaited {
    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
        now(self.0.listable().expect(NO_SIDE).list_prefix(prefix))
    }
    fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        now(self.0.listable().expect(NO_SIDE).list_dir(prefix))
    }
}

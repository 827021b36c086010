//! Serves blocking callers with an async store.
//!
//! The caller's thread polls the future itself, and sleeps until it is woken. So a future that is ready at once costs
//! nothing, and no runtime is entered: a caller may be inside one.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use bytes::Bytes;

use super::aio;
use super::{
    ByteRange, ConditionalStore, ListableStore, Listing, Payload, Pinned, ReadableStore, Store,
    StoreKey, StorePrefix, Version, Versioned, WriteableStore,
};
use crate::error::StoreError;

/// A store that waits, for callers that block. Its futures must not need the runtime of their caller.
///
/// Has the sides of the store behind it, and no others.
#[derive(Clone, Debug)]
pub struct Blocking(Arc<dyn aio::Store>);

impl Blocking {
    /// The same store, its calls returning when they are done.
    pub fn new(store: Arc<dyn aio::Store>) -> Self {
        Blocking(store)
    }
}

struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The result of a future, for which this thread sleeps as long as it takes. It must not need the runtime of the
/// caller.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    let _may_block = super::offload::may_block();
    let mut future = pin!(future);
    // Most are ready at once, and need nobody to wake.
    if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return value;
    }
    let waker = Waker::from(Arc::new(Sleeper(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

const NO_SIDE: &str = "sides are handed out only where the store has them";

impl Store for Blocking {
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
        self.0.waits().then(|| self.0.clone())
    }
}

/// A value of a store that waits, for callers that block.
struct BlockingPinned(Arc<dyn aio::Pinned>);

impl dyn aio::Pinned {
    /// The same value, its reading done when it returns.
    pub fn into_blocking(self: Arc<Self>) -> Arc<dyn Pinned> {
        Arc::new(BlockingPinned(self))
    }
}

fn blocking(pinned: Box<dyn aio::Pinned>) -> Box<dyn Pinned> {
    Box::new(BlockingPinned(pinned.into()))
}

impl Pinned for BlockingPinned {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        wait(self.0.read(ranges))
    }
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn version(&self) -> Option<Version> {
        self.0.version()
    }
}

impl ReadableStore for Blocking {
    fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        wait(self.0.readable().expect(NO_SIDE).get(key))
    }
    fn get_at_most(&self, key: &StoreKey, limit: u64) -> Result<Option<Bytes>, StoreError> {
        wait(self.0.readable().expect(NO_SIDE).get_at_most(key, limit))
    }
    fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        wait(self.0.readable().expect(NO_SIDE).get_partial_values(key, ranges))
    }
    fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        Ok(wait(self.0.readable().expect(NO_SIDE).pin(key))?.map(blocking))
    }
    fn pin_as(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        Ok(wait(self.0.readable().expect(NO_SIDE).pin_as(key, version))?.map(blocking))
    }
}

impl WriteableStore for Blocking {
    fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        wait(self.0.writeable().expect(NO_SIDE).set(key, value))
    }
    fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        wait(self.0.writeable().expect(NO_SIDE).erase(key))
    }
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        wait(self.0.writeable().expect(NO_SIDE).erase_prefix(prefix))
    }
    fn is_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        wait(self.0.writeable().expect(NO_SIDE).is_link(prefix))
    }
    fn erase_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        wait(self.0.writeable().expect(NO_SIDE).erase_link(prefix))
    }
    fn flush(&self) -> Result<(), StoreError> {
        wait(self.0.writeable().expect(NO_SIDE).flush())
    }
    fn set_unguarded(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        wait(self.0.writeable().expect(NO_SIDE).set_unguarded(key, value))
    }
    fn erase_unguarded(&self, key: &StoreKey) -> Result<(), StoreError> {
        wait(self.0.writeable().expect(NO_SIDE).erase_unguarded(key))
    }
}

impl ConditionalStore for Blocking {
    fn get_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StoreError> {
        wait(self.0.conditional().expect(NO_SIDE).get_versioned(key, limit))
    }
    fn pin_versioned(&self, key: &StoreKey, limit: u64) -> Result<Option<Versioned>, StoreError> {
        let found = wait(self.0.conditional().expect(NO_SIDE).pin_versioned(key, limit))?;
        Ok(found.map(|(value, version)| (blocking(value), version)))
    }
    fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        wait(self.0.conditional().expect(NO_SIDE).set_if(key, value, was))
    }
    fn erases(&self) -> bool {
        self.0.conditional().expect(NO_SIDE).erases()
    }
    fn creates(&self) -> bool {
        self.0.conditional().expect(NO_SIDE).creates()
    }
    fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        wait(self.0.conditional().expect(NO_SIDE).create(key, value, absent, leftovers))
    }
}

impl ListableStore for Blocking {
    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
        wait(self.0.listable().expect(NO_SIDE).list_prefix(prefix))
    }
    fn list_below(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        wait(self.0.listable().expect(NO_SIDE).list_below(prefix))
    }
    fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        wait(self.0.listable().expect(NO_SIDE).list_dir(prefix))
    }
    fn list_dir_candidates(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        wait(self.0.listable().expect(NO_SIDE).list_dir_candidates(prefix))
    }
}

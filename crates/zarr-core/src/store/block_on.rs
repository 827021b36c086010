//! Waits for a future on this thread; gives async stores to callers that block.
//!
//! The caller's thread polls the future itself, and sleeps until it is woken. So a future that is ready at the first poll
//! costs nothing, and no runtime is entered: a caller may be inside one.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::SystemTime;

use super::{
    ByteRange, Bytes, Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition,
    Snapshot, SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore, Version,
};
use crate::error::StoreError;

/// A thread that sleeps, and whether it was woken: what wakes it may be for another future that it waits for further out.
struct Sleeper(Thread, AtomicBool);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.1.store(true, Ordering::Release);
        self.0.unpark();
    }
}

/// The result of a future, for which this thread sleeps as long as it takes. It must not need the runtime of the
/// caller.
#[inline]
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let _may_block = super::io_threads::allow_blocking();
    let mut future = pin!(future);
    // Most are ready at once, and need no waker.
    if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return value;
    }
    let sleeper = Arc::new(Sleeper(thread::current(), AtomicBool::new(false)));
    let waker = Waker::from(sleeper.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        while !sleeper.1.swap(false, Ordering::Acquire) {
            super::timer::park();
        }
    }
}

/// Starts a thread of this name that waits for the future of `work`. If the system starts none, nothing is done.
pub(crate) fn spawn<F: Future<Output = ()>>(name: &str, work: impl FnOnce() -> F + Send + 'static) {
    let builder = thread::Builder::new().name(name.into());
    drop(builder.spawn(crate::fork::on_thread(move || block_on(work()))));
}

impl dyn Store {
    /// The same store for callers that block: each call is done when it returns.
    pub fn to_sync(self: &Arc<Self>) -> Arc<dyn SyncStore> {
        match self.as_sync() {
            Some(store) => store.clone(),
            None => Arc::new(BlockOn(self.clone())),
        }
    }
}

impl dyn Snapshot {
    /// The same value for callers that block.
    pub fn to_sync(self: Arc<Self>) -> Arc<dyn SyncSnapshot> {
        self.as_sync().unwrap_or_else(|| Arc::new(BlockOnSnapshot(self)))
    }

    /// The same value for callers that block, by its futures.
    pub fn blocking_on(self: Arc<Self>) -> Arc<dyn SyncSnapshot> {
        Arc::new(BlockOnSnapshot(self))
    }
}

/// A store whose futures are awaited on the calling thread.
#[derive(Debug)]
pub(super) struct BlockOn(pub(super) Arc<dyn Store>);

impl SyncStore for BlockOn {
    fn name(&self) -> String {
        self.0.name()
    }
    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        block_on(self.0.get(key, how))
    }
    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        let opened = block_on(self.0.open(key, how))?;
        Ok(opened.map(|value| Box::new(Shared(Arc::<dyn Snapshot>::from(value).to_sync())) as _))
    }
    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        block_on(self.0.put(key, value, only_if))
    }
    fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        block_on(self.0.create(key, value, absent, leftovers))
    }
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        block_on(self.0.erase_prefix(prefix))
    }
    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        block_on(self.0.list_prefix(prefix))
    }
    fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing, StoreError> {
        block_on(self.0.list_dir(prefix, how))
    }
    fn link(&self, prefix: &StorePrefix, erase: bool) -> Result<bool, StoreError> {
        block_on(self.0.link(prefix, erase))
    }
    fn flush(&self) -> Result<(), StoreError> {
        block_on(self.0.flush())
    }
}

/// A snapshot that is shared.
struct Shared(Arc<dyn SyncSnapshot>);

impl SyncSnapshot for Shared {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        self.0.read(ranges)
    }
    fn read_into(&self, range: ByteRange, buf: &mut Vec<u8>) -> Result<(), StoreError> {
        self.0.read_into(range, buf)
    }
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn version(&self) -> Option<Version> {
        self.0.version()
    }
    fn modified(&self) -> Option<SystemTime> {
        self.0.modified()
    }
}

/// A snapshot whose futures are awaited on the calling thread.
pub(super) struct BlockOnSnapshot(pub(super) Arc<dyn Snapshot>);

impl SyncSnapshot for BlockOnSnapshot {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        block_on(self.0.read(ranges))
    }
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn version(&self) -> Option<Version> {
        self.0.version()
    }
    fn modified(&self) -> Option<SystemTime> {
        self.0.modified()
    }
}

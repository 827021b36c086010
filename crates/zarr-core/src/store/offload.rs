//! Serves async and blocking callers from one blocking store.
//!
//! A call runs in place on a thread that may block: one that waits for a future with [`super::wait`], or one of the
//! threads below. For other callers it runs on a few threads, made when they are first needed and anew in a forked
//! process; the caller waits on a channel. So the handles of both faces share one store, and all that is known of it.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, mpsc};

use async_trait::async_trait;
use bytes::Bytes;
use futures::channel::oneshot;

use super::aio::{self, ConditionalStore, ListableStore, ReadableStore, Ready, WriteableStore};
use super::begun::{self, Touched};
use super::{ByteRange, Listing, Payload, Pinned, Store, StoreKey, StorePrefix, Version};
use crate::error::StoreError;

const THREADS: usize = 8;

type Job = Box<dyn FnOnce() + Send>;

/// A blocking store for async callers, and for blocking ones.
#[derive(Clone, Debug)]
pub struct Offloaded(Arc<dyn Store>, Ready);

impl Offloaded {
    /// The same store, its calls made on other threads unless the calling one may block.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Offloaded(store.clone(), Ready(store))
    }

    /// The store whose calls run in place, if this thread may block.
    fn here(&self) -> Option<&Ready> {
        MAY_BLOCK.get().then_some(&self.1)
    }

    /// Reads on another thread, after what dropped calls are still changing there.
    async fn call<T: Send + 'static>(
        &self,
        touched: impl Into<Touched>,
        call: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        begun::settled(|| self.0.name(), touched).await;
        let store = self.0.clone();
        run(move || call(&*store)).await.unwrap_or_else(|| Err(lost_thread()))
    }

    /// Changes keys on another thread. If the caller goes away, a change that has not begun is not made, and
    /// one that has begun ends before later calls on these keys (decision 0141).
    async fn change<T: Send + 'static>(
        &self,
        touched: impl Into<Touched>,
        change: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let touched = touched.into();
        begun::settled(|| self.0.name(), touched.clone()).await;
        let store = self.0.clone();
        let (caller, worker) = begun::change(|| self.0.name(), touched);
        let changed = run(move || Some(worker.begin()?.run(|| change(&*store))));
        let changed = changed.await.flatten();
        drop(caller);
        changed.unwrap_or_else(|| Err(lost_thread()))
    }
}

thread_local! {
    /// Whether this thread may block now.
    static MAY_BLOCK: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as one that may block, until the result is dropped.
pub(super) fn may_block() -> impl Drop {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            MAY_BLOCK.set(self.0);
        }
    }
    Before(MAY_BLOCK.replace(true))
}

impl dyn aio::Store {
    /// Whether its calls run in place on this thread, one after the other, and are done when their futures are first
    /// polled.
    pub(crate) fn runs_in_place(&self) -> bool {
        MAY_BLOCK.get() && self.blocking().is_some()
    }
}

/// What `work` gives, done on a thread that may block; `None` if that thread panicked.
///
/// Such a thread does itself what it asks for: were it to wait for another, all might.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    if MAY_BLOCK.get() {
        return Some(work());
    }
    let (send, receive) = oneshot::channel();
    let job: Job = Box::new(move || {
        // A caller that no longer waits does not want it done.
        if !send.is_canceled() {
            let _ = send.send(work());
        }
    });
    match threads() {
        Some(threads) => threads.send(job).ok()?,
        None => job(),
    }
    receive.await.ok()
}

/// The way to this process' threads; `None` if it gets none.
fn threads() -> Option<mpsc::Sender<Job>> {
    static THREAD_POOLS: LazyLock<Mutex<HashMap<u32, mpsc::Sender<Job>>>> =
        LazyLock::new(Default::default);
    let mut pools = THREAD_POOLS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(pool) = pools.get(&std::process::id()) {
        return Some(pool.clone());
    }
    let (send, receive) = mpsc::channel::<Job>();
    let receive = Arc::new(Mutex::new(receive));
    let mut started = 0;
    for n in 0..THREADS {
        let receive = receive.clone();
        let work = move || {
            MAY_BLOCK.set(true);
            loop {
                let job = receive.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).recv();
                match job {
                    // A job that panics must not take the thread with it; its caller sees a closed channel.
                    Ok(job) => drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(job))),
                    Err(mpsc::RecvError) => return,
                }
            }
        };
        started += usize::from(
            std::thread::Builder::new().name(format!("zarr-store-{n}")).spawn(work).is_ok(),
        );
    }
    if started == 0 {
        return None;
    }
    pools.insert(std::process::id(), send.clone());
    Some(send)
}

const NO_SIDE: &str = "sides are handed out only where the store has them";

impl aio::Store for Offloaded {
    fn name(&self) -> String {
        self.0.name()
    }
    fn readable(&self) -> Option<&dyn ReadableStore> {
        match self.here() {
            Some(here) => here.readable(),
            None => self.0.readable().map(|_| self as _),
        }
    }
    fn writeable(&self) -> Option<&dyn WriteableStore> {
        match self.here() {
            Some(here) => here.writeable(),
            None => self.0.writeable().map(|_| self as _),
        }
    }
    fn listable(&self) -> Option<&dyn ListableStore> {
        match self.here() {
            Some(here) => here.listable(),
            None => self.0.listable().map(|_| self as _),
        }
    }
    fn conditional(&self) -> Option<&dyn ConditionalStore> {
        match self.here() {
            Some(here) => here.conditional(),
            None => self.0.conditional().map(|_| self as _),
        }
    }
    fn in_flight(&self) -> usize {
        THREADS
    }
    fn blocking(&self) -> Option<&Arc<dyn Store>> {
        Some(&self.0)
    }
}

#[async_trait]
impl ReadableStore for Offloaded {
    async fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        let (touched, key) = (Touched::from(key), key.clone());
        self.call(touched, move |store| store.readable().expect(NO_SIDE).get(&key)).await
    }
    async fn get_at_most(&self, key: &StoreKey, limit: u64) -> Result<Option<Bytes>, StoreError> {
        let (touched, key) = (Touched::from(key), key.clone());
        let get =
            move |store: &dyn Store| store.readable().expect(NO_SIDE).get_at_most(&key, limit);
        self.call(touched, get).await
    }
    async fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        let (touched, key, ranges) = (Touched::from(key), key.clone(), ranges.to_vec());
        self.call(touched, move |store| {
            store.readable().expect(NO_SIDE).get_partial_values(&key, &ranges)
        })
        .await
    }
    async fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn aio::Pinned>>, StoreError> {
        let (touched, key) = (Touched::from(key), key.clone());
        let pin = move |store: &dyn Store| store.readable().expect(NO_SIDE).pin(&key);
        let pinned = self.call(touched, pin).await?;
        Ok(pinned.map(offloaded))
    }
    async fn pin_as(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn aio::Pinned>>, StoreError> {
        let (touched, key, version) = (Touched::from(key), key.clone(), version.clone());
        let pin = move |store: &dyn Store| store.readable().expect(NO_SIDE).pin_as(&key, &version);
        Ok(self.call(touched, pin).await?.map(offloaded))
    }
}

/// A value of a blocking store, read on other threads.
struct OffloadedPinned(Arc<dyn Pinned>);

fn offloaded(pinned: Box<dyn Pinned>) -> Box<dyn aio::Pinned> {
    Box::new(OffloadedPinned(pinned.into()))
}

#[async_trait]
impl aio::Pinned for OffloadedPinned {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        let (pinned, ranges) = (self.0.clone(), ranges.to_vec());
        run(move || pinned.read(&ranges)).await.unwrap_or_else(|| Err(lost_thread()))
    }
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn version(&self) -> Option<Version> {
        self.0.version()
    }
    fn blocking(&self) -> Option<Arc<dyn Pinned>> {
        Some(self.0.clone())
    }
}

fn lost_thread() -> StoreError {
    StoreError::Backend("a thread of the store ended before its call was done".into())
}

#[async_trait]
impl WriteableStore for Offloaded {
    async fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        let (touched, key, value) = (Touched::from(key), key.clone(), value.into_owned()?);
        self.change(touched, move |store| store.writeable().expect(NO_SIDE).set(&key, value)).await
    }
    async fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        let (touched, key) = (Touched::from(key), key.clone());
        self.change(touched, move |store| store.writeable().expect(NO_SIDE).erase(&key)).await
    }
    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let (touched, prefix) = (Touched::from(prefix), prefix.clone());
        self.change(touched, move |store| store.writeable().expect(NO_SIDE).erase_prefix(&prefix))
            .await
    }
    async fn is_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        let (touched, prefix) = (Touched::from(prefix), prefix.clone());
        self.change(touched, move |store| store.writeable().expect(NO_SIDE).is_link(&prefix)).await
    }
    async fn erase_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        let (touched, prefix) = (Touched::from(prefix), prefix.clone());
        self.change(touched, move |store| store.writeable().expect(NO_SIDE).erase_link(&prefix))
            .await
    }
    async fn flush(&self) -> Result<(), StoreError> {
        let all = StorePrefix::root();
        self.change(&all, |store| store.writeable().expect(NO_SIDE).flush()).await
    }
    async fn set_unguarded(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        let (touched, key, value) = (Touched::from(key), key.clone(), value.into_owned()?);
        self.change(touched, move |store| {
            store.writeable().expect(NO_SIDE).set_unguarded(&key, value)
        })
        .await
    }
    async fn erase_unguarded(&self, key: &StoreKey) -> Result<(), StoreError> {
        let (touched, key) = (Touched::from(key), key.clone());
        self.change(touched, move |store| store.writeable().expect(NO_SIDE).erase_unguarded(&key))
            .await
    }
}

#[async_trait]
impl ConditionalStore for Offloaded {
    async fn get_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StoreError> {
        let (touched, key) = (Touched::from(key), key.clone());
        self.call(touched, move |store| {
            store.conditional().expect(NO_SIDE).get_versioned(&key, limit)
        })
        .await
    }
    async fn pin_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Box<dyn aio::Pinned>, Version)>, StoreError> {
        let (touched, key) = (Touched::from(key), key.clone());
        let pin =
            move |store: &dyn Store| store.conditional().expect(NO_SIDE).pin_versioned(&key, limit);
        Ok(self.call(touched, pin).await?.map(|(value, version)| (offloaded(value), version)))
    }
    async fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        let value = value.map(Payload::into_owned).transpose()?;
        let (touched, key, was) = (Touched::from(key), key.clone(), was.cloned());
        self.change(touched, move |store| {
            store.conditional().expect(NO_SIDE).set_if(&key, value, was.as_ref())
        })
        .await
    }
    fn erases(&self) -> bool {
        self.0.conditional().expect(NO_SIDE).erases()
    }
    fn creates(&self) -> bool {
        self.0.conditional().expect(NO_SIDE).creates()
    }
    async fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        let (touched, key, value) = (Touched::from(key), key.clone(), value.into_owned()?);
        let (absent, leftovers) = (absent.to_vec(), leftovers.to_vec());
        self.change(touched, move |store| {
            store.conditional().expect(NO_SIDE).create(&key, value, &absent, &leftovers)
        })
        .await
    }
}

#[async_trait]
impl ListableStore for Offloaded {
    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
        let (touched, prefix) = (Touched::from(prefix), prefix.clone());
        self.call(touched, move |store| store.listable().expect(NO_SIDE).list_prefix(&prefix)).await
    }
    async fn list_below(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let (touched, prefix) = (Touched::from(prefix), prefix.clone());
        self.call(touched, move |store| store.listable().expect(NO_SIDE).list_below(&prefix)).await
    }
    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let (touched, prefix) = (Touched::from(prefix), prefix.clone());
        self.call(touched, move |store| store.listable().expect(NO_SIDE).list_dir(&prefix)).await
    }
    async fn list_dir_candidates(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let (touched, prefix) = (Touched::from(prefix), prefix.clone());
        self.call(touched, move |store| {
            store.listable().expect(NO_SIDE).list_dir_candidates(&prefix)
        })
        .await
    }
}

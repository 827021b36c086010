//! Caches the values of a remote store.
//!
//! A whole value is kept under its key, parts of a value under its version: so what is put together is of one version,
//! whatever others write concurrently. Where it is kept, a [`Shelf`] knows: in memory or in a folder.

mod folder;
mod memory;
mod pinned;

use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use zarr_core::StoreError;
use zarr_core::store::aio::{
    ConditionalStore, ListableStore, Pinned, ReadableStore, Store, WriteableStore,
};
use zarr_core::store::{
    ByteRange, Listing, Payload, StoreKey, StorePrefix, Version, Whole, check_size, run,
};

pub use self::folder::CacheFolder;
pub use self::memory::ByteCache;
use self::pinned::CachePinned;
use super::Sides;

/// What is known of a key.
#[derive(Clone, Debug)]
struct Kept {
    since: SystemTime,
    version: Version,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// There is no value.
    Absent,
    Whole(Bytes),
    /// The value has this number of bytes; parts of it may be kept.
    Size(u64),
}

/// Where things are kept for one store. Nothing is there for long: what is kept may be gone at any time.
trait Shelf: Debug + Send + Sync {
    /// A number that is another one once the key was forgotten.
    fn epoch(&self, key: &StoreKey) -> io::Result<u64>;
    fn get(&self, key: &StoreKey) -> Option<Kept>;
    /// Keeps it, unless that epoch of the key has ended; then tells so. What was written ends the epoch itself: readers
    /// that began in it may have the value of before.
    fn put(&self, key: &StoreKey, epoch: u64, kept: Kept, written: bool) -> bool;
    fn part(&self, key: &StoreKey, version: &Version, start: u64, len: u64) -> Option<Bytes>;
    fn put_part(&self, key: &StoreKey, version: &Version, start: u64, part: Bytes);
    /// Forgets what is known of a key; the new epoch.
    fn forget(&self, key: &StoreKey) -> io::Result<u64>;
    /// Forgets what is known of the keys of a prefix, at least.
    fn forget_below(&self, prefix: &StorePrefix) -> io::Result<()>;
    /// Whether parts of values of this version may be kept.
    fn takes_parts_of(&self, version: &Version) -> bool;
    /// Whether it is on a disk: then what is written is kept, too, and async callers must not be blocked.
    fn is_on_disk(&self) -> bool;
}

/// Any store, of whose values a [`ByteCache`] or a [`CacheFolder`] keeps some.
///
/// Has the sides of the store behind it, and no others. Values, parts of them, and that a key has none, are kept when
/// they are read, and handed out again without asking the store. Listings are not kept.
///
/// **Own writes** through this store, its clones, and whatever shares its cache and is of the same store, are seen
/// at once: what was kept of the key is forgotten, or replaced.
///
/// **Others' writes** are not seen while an old value is kept: until it must make room, is older than
/// [`CacheStore::max_age`] allows, or [`CacheStore::forget`] is called. Parts of different versions of a value are never
/// mixed. Compare-and-swap always asks the store itself: an update of an old value is not lost
/// upon a new one.
#[derive(Clone, Debug)]
pub struct CacheStore {
    store: Arc<dyn Store>,
    shelf: Arc<dyn Shelf>,
    max_age: Option<Duration>,
}

/// A version of our own, for a value of which the store told none: it is never given twice.
fn own_version() -> Version {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    Version::new(format!("kept as {count} by {} at {now}", std::process::id()))
}

fn failed(key: &impl ToString) -> impl FnOnce(io::Error) -> StoreError {
    let key = key.to_string();
    move |source| StoreError::Io { operation: "forget", key, source }
}

impl CacheStore {
    fn new(store: Arc<dyn Store>, shelf: Arc<dyn Shelf>) -> Self {
        CacheStore { store, shelf, max_age: None }
    }

    /// The same store; what is known of a key is asked for anew when it is older than this. It never is unless told so.
    #[must_use]
    pub fn max_age(mut self, max_age: Duration) -> Self {
        self.max_age = Some(max_age);
        self
    }

    /// Forgets what is kept of the keys of a prefix, so that others' writes are seen.
    ///
    /// # Errors
    /// When files cannot be removed.
    pub fn forget(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.shelf.forget_below(prefix).map_err(failed(prefix))
    }

    /// What the shelf does, on a thread that may wait for a disk.
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Shelf) -> T + Send + 'static,
    ) -> Option<T> {
        if !self.shelf.is_on_disk() {
            return Some(ask(&*self.shelf));
        }
        let shelf = self.shelf.clone();
        run(move || ask(&*shelf)).await
    }

    async fn kept(&self, key: &StoreKey) -> Option<Kept> {
        let asked = key.clone();
        let kept = self.ask(move |shelf| shelf.get(&asked)).await.flatten()?;
        // A clock that went back makes everything old.
        let age = kept.since.elapsed().ok();
        let fresh = self.max_age.is_none_or(|most| age.is_some_and(|age| age <= most));
        fresh.then_some(kept)
    }

    /// The epoch before a store is asked; `None` if nothing can be kept.
    async fn epoch(&self, key: &StoreKey) -> Option<u64> {
        let key = key.clone();
        self.ask(move |shelf| shelf.epoch(&key).ok()).await.flatten()
    }

    async fn put(&self, key: &StoreKey, epoch: Option<u64>, version: Version, what: What) -> bool {
        let Some(epoch) = epoch else { return false };
        let (key, kept) = (key.clone(), Kept { since: SystemTime::now(), version, what });
        self.ask(move |shelf| shelf.put(&key, epoch, kept, false)).await.unwrap_or(false)
    }

    async fn put_written(&self, key: &StoreKey, epoch: u64, what: What) -> bool {
        let kept = Kept { since: SystemTime::now(), version: own_version(), what };
        let key = key.clone();
        self.ask(move |shelf| shelf.put(&key, epoch, kept, true)).await.unwrap_or(false)
    }

    async fn forget_key(&self, key: &StoreKey) -> Result<u64, StoreError> {
        let asked = key.clone();
        let forgotten = self.ask(move |shelf| shelf.forget(&asked)).await;
        let lost = || Err(io::Error::other("the thread that did it ended"));
        forgotten.unwrap_or_else(lost).map_err(failed(key))
    }

    async fn forget_below(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let below = prefix.clone();
        let forgotten = self.ask(move |shelf| shelf.forget_below(&below)).await;
        forgotten.unwrap_or(Ok(())).map_err(failed(prefix))
    }

    fn pinned(
        &self,
        key: &StoreKey,
        epoch: Option<u64>,
        value: Box<dyn Pinned>,
    ) -> Box<dyn Pinned> {
        Box::new(CachePinned::new(self, key, epoch, value))
    }

    /// Changes a key, and keeps what it then `is`, if that is known.
    async fn change<T>(
        &self,
        key: &StoreKey,
        change: impl Future<Output = Result<T, StoreError>>,
        is: impl FnOnce(&T) -> Option<What>,
    ) -> Result<T, StoreError> {
        // What others read from now on is kept only if it is not forgotten below.
        let epoch = self.forget_key(key).await?;
        let interrupted = Interrupted { shelf: &*self.shelf, key };
        let changed = change.await;
        std::mem::forget(interrupted);
        let is = changed.as_ref().ok().and_then(is).filter(|_| self.shelf.is_on_disk());
        let kept = match is {
            Some(what) => self.put_written(key, epoch, what).await,
            None => false,
        };
        if !kept {
            self.forget_key(key).await?;
        }
        changed
    }

    /// The value as it is to be written; all in one piece if it is to be kept, too.
    fn written<'a>(&self, value: Payload<'a>) -> Result<(Payload<'a>, Option<Bytes>), StoreError> {
        if !self.shelf.is_on_disk() {
            return Ok((value, None));
        }
        let bytes = value.into_bytes()?;
        Ok((bytes.clone().into(), Some(bytes)))
    }
}

/// A change whose caller went away: it is unknown whether it was made.
struct Interrupted<'a> {
    shelf: &'a dyn Shelf,
    key: &'a StoreKey,
}

impl Drop for Interrupted<'_> {
    fn drop(&mut self) {
        let _ = self.shelf.forget(self.key);
    }
}

impl Store for CacheStore {
    fn name(&self) -> String {
        self.store.name()
    }
    fn readable(&self) -> Option<&dyn ReadableStore> {
        self.store.readable().map(|_| self as _)
    }
    fn writeable(&self) -> Option<&dyn WriteableStore> {
        self.store.writeable().map(|_| self as _)
    }
    fn listable(&self) -> Option<&dyn ListableStore> {
        self.store.listable().map(|_| self as _)
    }
    fn conditional(&self) -> Option<&dyn ConditionalStore> {
        self.store.conditional().map(|_| self as _)
    }
    fn in_flight(&self) -> usize {
        self.store.in_flight()
    }
    fn waits(&self) -> bool {
        self.store.waits()
    }
}

#[async_trait]
impl ReadableStore for CacheStore {
    async fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        self.get_at_most(key, u64::MAX).await
    }

    async fn get_at_most(&self, key: &StoreKey, limit: u64) -> Result<Option<Bytes>, StoreError> {
        match self.kept(key).await.map(|kept| kept.what) {
            Some(What::Whole(value)) => {
                check_size(key, value.len() as u64, limit)?;
                return Ok(Some(value));
            }
            Some(What::Absent) => return Ok(None),
            Some(What::Size(_)) | None => {}
        }
        let epoch = self.epoch(key).await;
        let value = self.store.reader("get")?.get_at_most(key, limit).await?;
        let what = value.clone().map_or(What::Absent, What::Whole);
        self.put(key, epoch, own_version(), what).await;
        Ok(value)
    }

    async fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        match self.pin_for(key, ranges).await? {
            Some(value) => value.read(ranges).await.map(Some),
            None => Ok(None),
        }
    }

    async fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        self.pin_for(key, &[]).await
    }

    async fn pin_for(
        &self,
        key: &StoreKey,
        first: &[ByteRange],
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        match self.kept(key).await {
            Some(Kept { version, what: What::Whole(value), .. }) => {
                return Ok(Some(Box::new(Whole::new(key, value).with_version(version))));
            }
            Some(Kept { what: What::Absent, .. }) => return Ok(None),
            Some(Kept { version, what: What::Size(size), .. }) => {
                return Ok(Some(Box::new(CachePinned::known(self, key, version, size))));
            }
            None => {}
        }
        let epoch = self.epoch(key).await;
        let value = match first {
            [] => self.store.reader("get")?.pin(key).await?,
            first => self.store.reader("get")?.pin_for(key, first).await?,
        };
        if value.is_none() {
            self.put(key, epoch, own_version(), What::Absent).await;
        }
        Ok(value.map(|value| self.pinned(key, epoch, value)))
    }

    async fn pin_as(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        if self.kept(key).await.is_some_and(|kept| kept.version == *version) {
            return self.pin(key).await;
        }
        let epoch = self.epoch(key).await;
        let value = self.store.reader("get")?.pin_as(key, version).await?;
        Ok(value.map(|value| self.pinned(key, epoch, value)))
    }
}

#[async_trait]
impl WriteableStore for CacheStore {
    async fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        let (value, is) = self.written(value)?;
        let set = self.store.writer("set")?.set(key, value);
        self.change(key, set, |()| is.map(What::Whole)).await
    }

    async fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        let erase = self.store.writer("erase")?.erase(key);
        self.change(key, erase, |()| Some(What::Absent)).await
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let erased = self.store.writer("erase_prefix")?.erase_prefix(prefix).await;
        self.forget_below(prefix).await?;
        erased
    }

    async fn is_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        self.store.writer("is_link")?.is_link(prefix).await
    }

    async fn erase_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        let erased = self.store.writer("erase_link")?.erase_link(prefix).await?;
        if erased {
            self.forget_below(prefix).await?;
        }
        Ok(erased)
    }

    async fn flush(&self) -> Result<(), StoreError> {
        self.store.writer("flush")?.flush().await
    }

    async fn set_unguarded(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        let (value, is) = self.written(value)?;
        let set = self.store.writer("set")?.set_unguarded(key, value);
        self.change(key, set, |()| is.map(What::Whole)).await
    }

    async fn erase_unguarded(&self, key: &StoreKey) -> Result<(), StoreError> {
        let erase = self.store.writer("erase")?.erase_unguarded(key);
        self.change(key, erase, |()| Some(What::Absent)).await
    }
}

#[async_trait]
impl ConditionalStore for CacheStore {
    async fn get_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StoreError> {
        self.store.swapper("get")?.get_versioned(key, limit).await
    }

    async fn pin_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Box<dyn Pinned>, Version)>, StoreError> {
        self.store.swapper("get")?.pin_versioned(key, limit).await
    }

    async fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        let (value, is) = value.map(|value| self.written(value)).transpose()?.unzip();
        let is = is.map_or(Some(What::Absent), |is| is.map(What::Whole));
        let set = self.store.swapper("set_if")?.set_if(key, value, was);
        self.change(key, set, |won| is.filter(|_| *won)).await
    }

    fn erases(&self) -> bool {
        self.store.conditional().is_some_and(ConditionalStore::erases)
    }

    fn creates(&self) -> bool {
        self.store.conditional().is_some_and(ConditionalStore::creates)
    }

    async fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        let (value, is) = self.written(value)?;
        for key in leftovers {
            self.forget_key(key).await?;
        }
        let created = self.store.swapper("create")?.create(key, value, absent, leftovers);
        let created = self
            .change(key, created, |there| is.map(What::Whole).filter(|_| there.is_none()))
            .await;
        for key in leftovers {
            self.forget_key(key).await?;
        }
        created
    }
}

#[async_trait]
impl ListableStore for CacheStore {
    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
        self.store.lister("list")?.list_prefix(prefix).await
    }
    async fn list_below(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.store.lister("list")?.list_below(prefix).await
    }
    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.store.lister("list")?.list_dir(prefix).await
    }
    async fn list_dir_candidates(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.store.lister("list")?.list_dir_candidates(prefix).await
    }
}

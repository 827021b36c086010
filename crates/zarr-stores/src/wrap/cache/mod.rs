//! Caches the values of a remote store.
//!
//! A whole value is kept under its key, parts of a value under its version: so what is put together is of one version,
//! whatever others write concurrently. Where it is kept, a [`CacheBackend`] knows: in memory or in a folder.

mod folder;
mod memory;
mod snapshot;

use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use zarr_core::StoreError;
use zarr_core::runtime::spawn_blocking;
use zarr_core::store::{
    Capabilities, GetOptions, Got, InMemorySnapshot, ListOptions, Listing, Payload, Precondition,
    Result, Snapshot, SnapshotOptions, Store, StoreKey, StorePrefix, Version, check_size,
};

pub use self::folder::CacheFolder;
pub use self::memory::ByteCache;
use self::snapshot::CacheSnapshot;

/// What is known of a key.
#[derive(Clone, Debug)]
struct CacheEntry {
    since: SystemTime,
    version: Version,
    state: EntryState,
}

#[derive(Clone, Debug)]
enum EntryState {
    /// There is no value.
    Absent,
    Whole(Bytes),
    /// The value has this number of bytes; parts of it may be kept.
    Size(u64),
}

/// Where things are kept for one store. Nothing is there for long: what is kept may be gone at any time.
trait CacheBackend: Debug + Send + Sync {
    /// A number that is another one once the key was forgotten.
    fn generation(&self, key: &StoreKey) -> io::Result<u64>;
    fn get(&self, key: &StoreKey) -> Option<CacheEntry>;
    /// Keeps it, unless that generation of the key has ended; then tells so. What was written ends the generation itself: readers
    /// that began in it may have the value of before.
    fn put(&self, key: &StoreKey, generation: u64, cached: CacheEntry, written: bool) -> bool;
    fn part(&self, key: &StoreKey, version: &Version, start: u64, len: u64) -> Option<Bytes>;
    fn put_part(&self, key: &StoreKey, version: &Version, start: u64, part: Bytes);
    /// Forgets what is known of a key; the new generation.
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
/// It is capable of what the store behind it is. Values, parts of them, and that a key has none, are kept when
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
    backend: Arc<dyn CacheBackend>,
    max_age: Duration,
    largest: u64,
}

/// A version of our own, for a value of which the store told none: it is never given twice.
fn own_version() -> Version {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    Version::new(format!("kept as {count} by {} at {now}", std::process::id()))
}

impl CacheStore {
    fn new(store: Arc<dyn Store>, backend: Arc<dyn CacheBackend>) -> Self {
        CacheStore { store, backend, max_age: Duration::MAX, largest: u64::MAX }
    }

    /// The same store; what is known of a key is asked for anew when it is older than this. It never is unless told so.
    #[must_use]
    pub fn max_age(mut self, max_age: Duration) -> Self {
        self.max_age = max_age;
        self
    }

    /// The same store; of a value, or a part of one, of more than this many bytes only the version and the size are kept. So
    /// a reader that has decoded it need not ask whether it changed.
    #[must_use]
    pub fn largest(mut self, bytes: u64) -> Self {
        self.largest = bytes;
        self
    }

    /// Forgets what is kept of the keys of a prefix, so that others' writes are seen.
    ///
    /// # Errors
    /// When files cannot be removed.
    pub fn forget(&self, prefix: &StorePrefix) -> Result<()> {
        self.backend.forget_below(prefix).map_err(StoreError::io("forget", prefix))
    }

    /// What the backend does, on a thread that may wait for a disk.
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn CacheBackend) -> T + Send + 'static,
    ) -> Option<T> {
        if !self.backend.is_on_disk() {
            return Some(ask(&*self.backend));
        }
        let backend = self.backend.clone();
        spawn_blocking(move || ask(&*backend)).await
    }

    async fn entry(&self, key: &StoreKey) -> Option<CacheEntry> {
        let asked = key.clone();
        let cached = self.ask(move |backend| backend.get(&asked)).await.flatten()?;
        // A clock that went back makes everything old.
        let forever = self.max_age == Duration::MAX;
        let fresh = forever || cached.since.elapsed().is_ok_and(|age| age <= self.max_age);
        fresh.then_some(cached)
    }

    /// The generation before a store is asked; `None` if nothing can be kept.
    async fn generation(&self, key: &StoreKey) -> Option<u64> {
        let key = key.clone();
        self.ask(move |backend| backend.generation(&key).ok()).await.flatten()
    }

    async fn put(
        &self,
        key: &StoreKey,
        generation: Option<u64>,
        version: Version,
        state: EntryState,
        written: bool,
    ) -> bool {
        let size = if let EntryState::Whole(value) = &state { value.len() as u64 } else { 0 };
        let Some(generation) = generation.filter(|_| size <= self.largest) else { return false };
        let (key, cached) = (key.clone(), CacheEntry { since: SystemTime::now(), version, state });
        self.ask(move |backend| backend.put(&key, generation, cached, written))
            .await
            .unwrap_or(false)
    }

    async fn forget_key(&self, key: &StoreKey) -> Result<u64> {
        let asked = key.clone();
        let forgotten = self.ask(move |backend| backend.forget(&asked)).await;
        forgotten
            .unwrap_or_else(|| Err(io::Error::other("the thread that did it ended")))
            .map_err(StoreError::io("forget", key))
    }

    async fn forget_below(&self, prefix: &StorePrefix) -> Result<()> {
        let below = prefix.clone();
        let forgotten = self.ask(move |backend| backend.forget_below(&below)).await;
        forgotten.unwrap_or(Ok(())).map_err(StoreError::io("forget", prefix))
    }

    /// Changes a key, and keeps what it then `is`, if that is known.
    async fn change<T>(
        &self,
        key: &StoreKey,
        change: impl Future<Output = Result<T>>,
        is: impl FnOnce(&T) -> Option<EntryState>,
    ) -> Result<T> {
        // What others read from now on is kept only if it is not forgotten below.
        let generation = self.forget_key(key).await?;
        let interrupted = Interrupted { backend: &*self.backend, key };
        let changed = change.await;
        std::mem::forget(interrupted);
        let is = changed.as_ref().ok().and_then(is).filter(|_| self.backend.is_on_disk());
        let cached = match is {
            Some(state) => self.put(key, Some(generation), own_version(), state, true).await,
            None => false,
        };
        if !cached {
            self.forget_key(key).await?;
        }
        changed
    }

    /// The value as it is to be written; all in one piece if it is to be kept, too.
    fn written<'a>(&self, value: Payload<'a>) -> Result<(Payload<'a>, Option<Bytes>)> {
        if !self.backend.is_on_disk() {
            return Ok((value, None));
        }
        let bytes = value.into_bytes()?;
        Ok((bytes.clone().into(), Some(bytes)))
    }
}

/// A change whose caller went away: it is unknown whether it was made.
struct Interrupted<'a> {
    backend: &'a dyn CacheBackend,
    key: &'a StoreKey,
}

impl Drop for Interrupted<'_> {
    fn drop(&mut self) {
        let _ = self.backend.forget(self.key);
    }
}

#[async_trait]
impl Store for CacheStore {
    fn name(&self) -> String {
        self.store.name()
    }

    fn warnings(&self) -> Vec<String> {
        self.store.warnings()
    }

    async fn places(&self) -> Result<Vec<String>> {
        self.store.places().await
    }

    async fn refused_targets(&self) -> Result<Vec<StoreError>> {
        self.store.refused_targets().await
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.store.public_options()
    }

    /// What a part costs depends on whether it is kept.
    fn capabilities(&self) -> Capabilities {
        Capabilities { cheap_ranges: false, ..self.store.capabilities() }
    }

    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        if how.version {
            // For a change: what is kept may be old.
            return self.store.get(key, how).await;
        }
        match self.entry(key).await.map(|cached| cached.state) {
            Some(EntryState::Whole(value)) => return how.answer(key, value, None),
            Some(EntryState::Absent) => return Ok(None),
            Some(EntryState::Size(_)) | None => {}
        }
        let generation = self.generation(key).await;
        let got = self.store.get(key, GetOptions::at_most(how.limit)).await?;
        let value = got.as_ref().and_then(|got| got.bytes.clone());
        let state = value.map_or(EntryState::Absent, EntryState::Whole);
        self.put(key, generation, own_version(), state, false).await;
        Ok(got.map(|got| how.into.take(got)))
    }

    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>> {
        if how.for_update {
            return self.store.open(key, how).await;
        }
        let cached = self.entry(key).await;
        let cached = cached.filter(|cached| how.accepts(Some(&cached.version)));
        match cached {
            Some(CacheEntry { version, state: EntryState::Whole(value), .. }) => {
                check_size(key, value.len() as u64, how.limit)?;
                let whole = InMemorySnapshot::new(key, value).with_version(version);
                return Ok(Some(Box::new(whole)));
            }
            Some(CacheEntry { state: EntryState::Absent, .. }) => return Ok(None),
            Some(CacheEntry { version, state: EntryState::Size(size), .. }) => {
                check_size(key, size, how.limit)?;
                return Ok(Some(Box::new(CacheSnapshot::known(self, key, version, size))));
            }
            None => {}
        }
        let generation = self.generation(key).await;
        let value = self.store.open(key, how).await?;
        if value.is_none() && how.expect.is_none() {
            self.put(key, generation, own_version(), EntryState::Absent, false).await;
        }
        Ok(value.map(|value| Box::new(CacheSnapshot::new(self, key, generation, value)) as _))
    }

    async fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool> {
        let (value, is) = value.map(|value| self.written(value)).transpose()?.unzip();
        let is = is.map_or(Some(EntryState::Absent), |is| is.map(EntryState::Whole));
        let put = self.store.put(key, value, only_if);
        self.change(key, put, |won| is.filter(|_| *won)).await
    }

    async fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>> {
        let (value, is) = self.written(value)?;
        for key in leftovers {
            self.forget_key(key).await?;
        }
        let created = self.store.create(key, value, absent, leftovers);
        let created = self
            .change(key, created, |there| is.map(EntryState::Whole).filter(|_| there.is_none()))
            .await;
        for key in leftovers {
            self.forget_key(key).await?;
        }
        created
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        let erased = self.store.erase_prefix(prefix).await;
        self.forget_below(prefix).await?;
        erased
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        self.store.list_prefix(prefix).await
    }

    async fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing> {
        self.store.list_dir(prefix, how).await
    }

    async fn link(&self, prefix: &StorePrefix, erase: bool) -> Result<bool> {
        let is_link = self.store.link(prefix, erase).await?;
        if is_link && erase {
            self.forget_below(prefix).await?;
        }
        Ok(is_link)
    }

    async fn flush(&self) -> Result<()> {
        self.store.flush().await
    }
}

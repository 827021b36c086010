//! Observes the calls to a store and their outcomes.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use zarr_core::StoreError;
use zarr_core::store::aio::{
    ConditionalStore, ListableStore, Pinned, ReadableStore, Store, WriteableStore,
};
use zarr_core::store::{ByteRange, Listing, Payload, StoreKey, StorePrefix, Version};

use super::Sides;

/// One call on a store.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// How many calls on this [`TapStore`] and its clones there were before.
    pub number: u64,
    /// The trait's method: `get`, `set_if`, `list_dir` ...
    pub operation: &'static str,
    /// The key or the prefix.
    pub key: &'a str,
    /// The ranges asked for; none for other calls than `get_partial_values`.
    pub ranges: &'a [ByteRange],
}

/// One call that a store answered.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// What was asked; its members are read as the call's own.
    pub request: Request<'a>,
    /// Bytes of values that went in or came out.
    pub bytes: u64,
    /// How long it took.
    pub duration: Duration,
    /// What became of it.
    pub outcome: Outcome<'a>,
}

impl<'a> Deref for Call<'a> {
    type Target = Request<'a>;

    fn deref(&self) -> &Request<'a> {
        &self.request
    }
}

/// What became of a call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// It was set or erased.
    Done,
    /// The value was read.
    Found,
    /// This number of keys and prefixes was listed.
    Listed(usize),
    /// The key was absent.
    Absent,
    /// The value was no longer what it had to be: nothing was set.
    Lost,
    /// It failed.
    Failed(&'a StoreError),
}

impl fmt::Display for Call<'_> {
    /// `get zarr.json: 312 bytes in 41µs`, `get c/0: absent in 9µs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { operation, key, ranges, .. } = self.request;
        let key = if key.is_empty() { "/" } else { key };
        write!(f, "{operation} {key}")?;
        for (i, range) in ranges.iter().enumerate() {
            f.write_str(if i == 0 { " (" } else { ", " })?;
            write!(f, "{range}")?;
        }
        if !ranges.is_empty() {
            f.write_str(")")?;
        }
        match self.outcome {
            Outcome::Done if self.bytes == 0 => f.write_str(": done")?,
            Outcome::Done | Outcome::Found => write!(f, ": {} bytes", self.bytes)?,
            Outcome::Listed(1) => f.write_str(": 1 entry")?,
            Outcome::Listed(count) => write!(f, ": {count} entries")?,
            Outcome::Absent => f.write_str(": absent")?,
            Outcome::Lost => f.write_str(": lost to another writer")?,
            Outcome::Failed(error) => write!(f, ": {error}")?,
        }
        write!(f, " in {:.0?}", self.duration)
    }
}

/// Observes each call on a store, and may delay it or let it fail. A closure only observes.
#[async_trait]
pub trait Tap: Send + Sync + 'static {
    /// Called before the store is.
    ///
    /// # Errors
    /// Then the store is not called, and the caller gets this.
    async fn before(&self, _: &Request<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    /// Called after the store answered.
    ///
    /// # Errors
    /// Then the caller gets this, whatever the store did.
    async fn after(&self, call: &Call<'_>) -> Result<(), StoreError>;

    /// Whether it makes a store async, of which many calls are better made at once.
    fn waits(&self) -> bool {
        false
    }
}

#[async_trait]
impl<F: Fn(&Call<'_>) + Send + Sync + 'static> Tap for F {
    async fn after(&self, call: &Call<'_>) -> Result<(), StoreError> {
        self(call);
        Ok(())
    }
}

/// Any store, whose calls a [`Tap`] observes: a closure, [`Counters`], [`Latency`], [`Faults`].
///
/// Has the sides of the store behind it, and no others. Several calls may be observed at once. A value that was pinned
/// is observed when it is read.
///
/// [`Counters`]: crate::Counters
/// [`Latency`]: crate::Latency
/// [`Faults`]: crate::Faults
///
/// ```
/// use std::sync::Arc;
/// use zarr_stores::{Call, TapStore, wrap};
/// # fn of(store: Arc<dyn zarr_core::store::Store>) {
/// let store = wrap(store, |store| TapStore::new(store, |call: &Call<'_>| eprintln!("{call}")));
/// # }
/// ```
#[derive(Clone)]
pub struct TapStore {
    store: Arc<dyn Store>,
    tap: Arc<dyn Tap>,
    calls: Arc<AtomicU64>,
}

impl fmt::Debug for TapStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TapStore").field(&self.store).finish()
    }
}

/// What a call carried, and what became of it if it did not fail.
type Carried = (u64, Outcome<'static>);

fn found(bytes: Option<usize>) -> Carried {
    match bytes {
        Some(bytes) => (bytes as u64, Outcome::Found),
        None => (0, Outcome::Absent),
    }
}

fn parts(parts: &[Bytes]) -> usize {
    parts.iter().map(Bytes::len).sum()
}

fn listed(listing: &Listing) -> Carried {
    (0, Outcome::Listed(listing.keys.len() + listing.prefixes.len()))
}

impl TapStore {
    /// `store`, whose calls `tap` observes.
    pub fn new(store: Arc<dyn Store>, tap: impl Tap) -> Self {
        TapStore { store, tap: Arc::new(tap), calls: Arc::default() }
    }

    async fn call<T>(
        &self,
        operation: &'static str,
        key: &str,
        ranges: &[ByteRange],
        ask: impl Future<Output = Result<T, StoreError>>,
        carried: impl FnOnce(&T) -> Carried,
    ) -> Result<T, StoreError> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let request = Request { number, operation, key, ranges };
        self.tap.before(&request).await?;
        let start = Instant::now();
        let result = ask.await;
        let duration = start.elapsed();
        let (bytes, outcome) = match &result {
            Ok(value) => carried(value),
            Err(error) => (0, Outcome::Failed(error)),
        };
        self.tap.after(&Call { request, bytes, duration, outcome }).await?;
        result
    }

    fn pinned(&self, key: &StoreKey, value: Box<dyn Pinned>) -> Box<dyn Pinned> {
        Box::new(TapPinned { value: value.into(), key: key.clone(), store: self.clone() })
    }

    /// What was pinned; that nothing was counts as a reading.
    async fn pinning<T>(
        &self,
        key: &StoreKey,
        pinned: Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match pinned {
            Ok(Some(value)) => Ok(Some(value)),
            other => {
                let ask = async { other };
                self.call("get_partial_values", key.as_str(), &[], ask, |_| found(None)).await
            }
        }
    }
}

impl Store for TapStore {
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
        self.store.waits() || self.tap.waits()
    }
}

#[async_trait]
impl ReadableStore for TapStore {
    async fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        let ask = self.store.reader("get")?.get(key);
        let carried = |value: &Option<Bytes>| found(value.as_ref().map(Bytes::len));
        self.call("get", key.as_str(), &[], ask, carried).await
    }

    async fn get_at_most(&self, key: &StoreKey, limit: u64) -> Result<Option<Bytes>, StoreError> {
        let ask = self.store.reader("get")?.get_at_most(key, limit);
        let carried = |value: &Option<Bytes>| found(value.as_ref().map(Bytes::len));
        self.call("get", key.as_str(), &[], ask, carried).await
    }

    async fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        let operation = "get_partial_values";
        let ask = self.store.reader(operation)?.get_partial_values(key, ranges);
        let carried = |values: &Option<Vec<Bytes>>| found(values.as_deref().map(parts));
        self.call(operation, key.as_str(), ranges, ask, carried).await
    }

    async fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        let pinned = self.store.reader("get_partial_values")?.pin(key).await;
        Ok(self.pinning(key, pinned).await?.map(|value| self.pinned(key, value)))
    }

    async fn pin_for(
        &self,
        key: &StoreKey,
        first: &[ByteRange],
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        let pinned = self.store.reader("get_partial_values")?.pin_for(key, first).await;
        Ok(self.pinning(key, pinned).await?.map(|value| self.pinned(key, value)))
    }

    async fn pin_as(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        let pinned = self.store.reader("get_partial_values")?.pin_as(key, version).await?;
        Ok(pinned.map(|value| self.pinned(key, value)))
    }
}

/// A value whose readings are observed.
#[derive(Clone)]
struct TapPinned {
    value: Arc<dyn Pinned>,
    key: StoreKey,
    store: TapStore,
}

#[async_trait]
impl Pinned for TapPinned {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        let ask = self.value.read(ranges);
        let carried = |values: &Vec<Bytes>| found(Some(parts(values)));
        self.store.call("get_partial_values", self.key.as_str(), ranges, ask, carried).await
    }
    fn size(&self) -> u64 {
        self.value.size()
    }
    fn version(&self) -> Option<Version> {
        self.value.version()
    }
    fn blocking(&self) -> Option<Arc<dyn zarr_core::store::Pinned>> {
        self.value.blocking()?;
        Some((Arc::new(self.clone()) as Arc<dyn Pinned>).into_blocking())
    }
}

/// A value and its size, for which all of it must be made.
fn sized(value: Payload<'_>) -> Result<(Payload<'_>, u64), StoreError> {
    let value = value.made()?;
    let size = value.size().unwrap_or(0);
    Ok((value, size))
}

#[async_trait]
impl WriteableStore for TapStore {
    async fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        let (value, size) = sized(value)?;
        let ask = self.store.writer("set")?.set(key, value);
        self.call("set", key.as_str(), &[], ask, |()| (size, Outcome::Done)).await
    }

    async fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        let ask = self.store.writer("erase")?.erase(key);
        self.call("erase", key.as_str(), &[], ask, |()| (0, Outcome::Done)).await
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let ask = self.store.writer("erase_prefix")?.erase_prefix(prefix);
        self.call("erase_prefix", prefix.as_str(), &[], ask, |()| (0, Outcome::Done)).await
    }

    async fn is_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        self.store.writer("is_link")?.is_link(prefix).await
    }

    /// Not told of: stores without links are not asked.
    async fn erase_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        self.store.writer("erase_link")?.erase_link(prefix).await
    }

    async fn flush(&self) -> Result<(), StoreError> {
        let ask = self.store.writer("flush")?.flush();
        self.call("flush", "", &[], ask, |()| (0, Outcome::Done)).await
    }

    async fn set_unguarded(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        let (value, size) = sized(value)?;
        let ask = self.store.writer("set_unguarded")?.set_unguarded(key, value);
        self.call("set_unguarded", key.as_str(), &[], ask, |()| (size, Outcome::Done)).await
    }

    async fn erase_unguarded(&self, key: &StoreKey) -> Result<(), StoreError> {
        let ask = self.store.writer("erase_unguarded")?.erase_unguarded(key);
        self.call("erase_unguarded", key.as_str(), &[], ask, |()| (0, Outcome::Done)).await
    }
}

#[async_trait]
impl ConditionalStore for TapStore {
    async fn get_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StoreError> {
        let ask = self.store.swapper("get_versioned")?.get_versioned(key, limit);
        let carried =
            |value: &Option<(Bytes, Version)>| found(value.as_ref().map(|(bytes, _)| bytes.len()));
        self.call("get_versioned", key.as_str(), &[], ask, carried).await
    }

    async fn pin_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Box<dyn Pinned>, Version)>, StoreError> {
        let pinned = self.store.swapper("get_partial_values")?.pin_versioned(key, limit).await;
        let pinned = self.pinning(key, pinned).await?;
        Ok(pinned.map(|(value, version)| (self.pinned(key, value), version)))
    }

    async fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        let (value, size) = value.map(sized).transpose()?.unzip();
        let size = size.unwrap_or(0);
        let ask = self.store.swapper("set_if")?.set_if(key, value, was);
        let carried = |won: &bool| match won {
            true => (size, Outcome::Done),
            false => (0, Outcome::Lost),
        };
        self.call("set_if", key.as_str(), &[], ask, carried).await
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
        let (value, size) = sized(value)?;
        let ask = self.store.swapper("create")?.create(key, value, absent, leftovers);
        let carried = |there: &Option<StoreKey>| match there {
            None => (size, Outcome::Done),
            Some(_) => (0, Outcome::Lost),
        };
        // For those who count calls it is one: to set a document if there is none.
        self.call("set_if", key.as_str(), &[], ask, carried).await
    }
}

#[async_trait]
impl ListableStore for TapStore {
    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
        let ask = self.store.lister("list_prefix")?.list_prefix(prefix);
        let carried = |keys: &Vec<StoreKey>| (0, Outcome::Listed(keys.len()));
        self.call("list_prefix", prefix.as_str(), &[], ask, carried).await
    }

    async fn list_below(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let ask = self.store.lister("list_prefix")?.list_below(prefix);
        self.call("list_prefix", prefix.as_str(), &[], ask, listed).await
    }

    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let ask = self.store.lister("list_dir")?.list_dir(prefix);
        self.call("list_dir", prefix.as_str(), &[], ask, listed).await
    }

    async fn list_dir_candidates(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let ask = self.store.lister("list_dir")?.list_dir_candidates(prefix);
        self.call("list_dir", prefix.as_str(), &[], ask, listed).await
    }
}

#[cfg(all(test, feature = "memory"))]
mod tests {
    use std::sync::Mutex;

    use zarr_core::store;

    use super::*;
    use crate::{MemoryStore, wrap};

    /// What each call said of itself, without how long it took.
    fn logged(use_it: impl FnOnce(&dyn store::Store)) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        let tell = move |call: &Call<'_>| {
            let line = call.to_string();
            let (line, _) = line.rsplit_once(" in ").unwrap();
            kept.lock().unwrap().push(line.to_owned());
        };
        use_it(&*wrap(Arc::new(MemoryStore::new()), |store| TapStore::new(store, tell)));
        let lines = lines.lock().unwrap();
        lines.clone()
    }

    #[test]
    fn tells_of_every_call() {
        let key = StoreKey::new("a/k").unwrap();
        let lines = logged(|store| {
            let (readable, writeable) = (store.readable().unwrap(), store.writeable().unwrap());
            readable.get(&key).unwrap();
            writeable.set(&key, Payload::new(b"value")).unwrap();
            readable.get_into(&key, u64::MAX, &mut Vec::new()).unwrap();
            let ranges = [ByteRange::From(1), ByteRange::Suffix(2)];
            readable.get_partial_values(&key, &ranges).unwrap();
            readable.pin(&key).unwrap().unwrap().read(&ranges[..1]).unwrap();
            readable.get_partial_values(&key, &[ByteRange::From(9)]).unwrap_err();
            store.conditional().unwrap().set_if(&key, None, None).unwrap();
            store.listable().unwrap().list_dir(&StorePrefix::root()).unwrap();
            writeable.erase_prefix(&key.parent()).unwrap();
        });
        assert_eq!(
            lines,
            [
                "get a/k: absent",
                "set a/k: 5 bytes",
                "get a/k: 5 bytes",
                "get_partial_values a/k (from 1 to the end, the last 2 bytes): 6 bytes",
                "get_partial_values a/k (from 1 to the end): 4 bytes",
                "get_partial_values a/k (from 9 to the end): range from 9 to the end lies outside \
                 `a/k`, which has 5 bytes",
                "set_if a/k: lost to another writer",
                "list_dir /: 1 entry",
                "erase_prefix a/: done",
            ]
        );
    }
}

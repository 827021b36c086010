//! Observes the calls to a store and their outcomes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;

use super::{
    ByteRange, Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition,
    Snapshot, SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, Version,
};
use crate::error::StoreError;
use crate::printable::printable;

/// One call on a store.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The number of earlier calls on this [`ObservedStore`] and its clones.
    pub number: u64,
    /// `get`; `open` (only if it opened nothing); `read` (of a snapshot); `put` and `erase`, `put_unchecked` and
    /// `erase_unchecked` (without a guard), `put_if` (compare-and-swap, of either); `create`; `erase_prefix`, `list_prefix`,
    /// `list_dir`, `flush`.
    pub operation: &'static str,
    /// The key or the prefix.
    pub key: &'a str,
    /// The ranges that are read; none for other calls than `read`.
    pub ranges: &'a [ByteRange],
}

/// One call that a store answered.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// See [`Request::number`].
    pub number: u64,
    /// See [`Request::operation`].
    pub operation: &'static str,
    /// See [`Request::key`].
    pub key: &'a str,
    /// See [`Request::ranges`].
    pub ranges: &'a [ByteRange],
    /// Bytes of the values that were written or read.
    pub bytes: u64,
    /// How long it took.
    pub duration: Duration,
    /// Its result.
    pub outcome: Outcome<'a>,
}

/// The result of a call.
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
    /// The precondition did not hold: nothing was set.
    Lost,
    /// It failed.
    Failed(&'a StoreError),
}

impl fmt::Display for Call<'_> {
    /// `get zarr.json: 312 bytes in 41µs`, `get c/0: absent in 9µs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if self.key.is_empty() { "/" } else { self.key };
        write!(f, "{} {}", self.operation, printable(key))?;
        for (i, range) in self.ranges.iter().enumerate() {
            f.write_str(if i == 0 { " (" } else { ", " })?;
            write!(f, "{range}")?;
        }
        if !self.ranges.is_empty() {
            f.write_str(")")?;
        }
        match self.outcome {
            Outcome::Done if self.bytes == 0 => f.write_str(": done")?,
            Outcome::Done | Outcome::Found => write!(f, ": {} bytes", self.bytes)?,
            Outcome::Listed(1) => f.write_str(": 1 entry")?,
            Outcome::Listed(count) => write!(f, ": {count} entries")?,
            Outcome::Absent => f.write_str(": absent")?,
            Outcome::Lost => f.write_str(": lost to another writer")?,
            Outcome::Failed(error) => write!(f, ": {}", printable(&error.to_string()))?,
        }
        write!(f, " in {:.0?}", self.duration)
    }
}

/// Observes each call on a store, and may delay it or let it fail. A closure only observes.
#[async_trait]
pub trait Observer: Send + Sync + 'static {
    /// Called before the store is.
    ///
    /// # Errors
    /// The caller gets this error, and the store is not called.
    async fn before(&self, _: &Request<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    /// Called after the store answered.
    ///
    /// # Errors
    /// The caller gets this error in place of the store's answer.
    async fn after(&self, call: &Call<'_>) -> Result<(), StoreError>;

    /// Whether the store is to be treated as remote, of which many calls are made at the same time.
    fn is_remote(&self) -> bool {
        false
    }
}

#[async_trait]
impl<F: Fn(&Call<'_>) + Send + Sync + 'static> Observer for F {
    async fn after(&self, call: &Call<'_>) -> Result<(), StoreError> {
        self(call);
        Ok(())
    }
}

/// Any store, whose calls an [`Observer`] observes, such as a closure. The crate `zarr-testkit` has observers for tests.
///
/// It has the capabilities of the store behind it. Several calls may be reported at the same time. A snapshot is reported when
/// it is read.
///
/// ```
/// use std::sync::Arc;
/// use zarr_core::store::{Call, ObservedStore, Store};
/// # fn of(store: Arc<dyn Store>) {
/// let store = ObservedStore::new(store, |call: &Call<'_>| eprintln!("{call}"));
/// # }
/// ```
#[derive(Clone)]
pub struct ObservedStore {
    store: Arc<dyn Store>,
    observer: Arc<dyn Observer>,
    calls: Arc<AtomicU64>,
}

impl fmt::Debug for ObservedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObservedStore").field(&self.store).finish()
    }
}

/// The bytes that a call carried, and its result if it did not fail.
type Carried = (u64, Outcome<'static>);

fn found(bytes: Option<u64>) -> Carried {
    match bytes {
        Some(bytes) => (bytes, Outcome::Found),
        None => (0, Outcome::Absent),
    }
}

/// A value of this size was set, or the precondition did not hold.
fn set(size: u64, has_won: bool) -> Carried {
    if has_won { (size, Outcome::Done) } else { (0, Outcome::Lost) }
}

fn size(parts: &[Bytes]) -> u64 {
    parts.iter().map(|part| part.len() as u64).sum()
}

fn listed(listing: &Listing) -> Carried {
    (0, Outcome::Listed(listing.keys.len() + listing.prefixes.len()))
}

impl ObservedStore {
    /// `store`, whose calls `observer` observes.
    pub fn new(store: Arc<dyn Store>, observer: impl Observer) -> Self {
        ObservedStore { store, observer: Arc::new(observer), calls: Arc::default() }
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
        self.observer.before(&Request { number, operation, key, ranges }).await?;
        let start = Instant::now();
        let result = ask.await;
        let duration = start.elapsed();
        let (bytes, outcome) = match &result {
            Ok(value) => carried(value),
            Err(error) => (0, Outcome::Failed(error)),
        };
        let call = Call { number, operation, key, ranges, bytes, duration, outcome };
        self.observer.after(&call).await?;
        result
    }
}

/// A value and its size. All parts of the value are made first.
fn sized(value: Option<Payload<'_>>) -> Result<(Option<Payload<'_>>, u64), StoreError> {
    let value = value.map(Payload::made).transpose()?;
    let size = value.as_ref().and_then(Payload::size).unwrap_or(0);
    Ok((value, size))
}

#[async_trait]
impl Store for ObservedStore {
    fn name(&self) -> String {
        self.store.name()
    }

    fn warnings(&self) -> Vec<String> {
        self.store.warnings()
    }

    async fn places(&self) -> Result<Vec<String>, StoreError> {
        self.store.places().await
    }

    async fn refused_targets(&self) -> Result<Vec<StoreError>, StoreError> {
        self.store.refused_targets().await
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.store.public_options()
    }

    /// Without `cheap_ranges`, so that ranges close to each other are one reported call, and without `set_all`.
    fn capabilities(&self) -> Capabilities {
        let behind = self.store.capabilities();
        let local = behind.local && !self.observer.is_remote();
        Capabilities { local, cheap_ranges: false, set_all: false, ..behind }
    }

    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        let ask = self.store.get(key, how);
        self.call("get", key.as_str(), &[], ask, |got| found(got.as_ref().map(|got| got.size)))
            .await
    }

    /// Reported only if there is no value, or the store failed. Other snapshots are reported when they are read.
    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>, StoreError> {
        let opened = match self.store.open(key, how).await {
            Ok(None) if how.expect.is_some() => return Ok(None),
            Err(e) if how.expect.is_some() => return Err(e),
            Ok(Some(value)) => Some(value),
            other => {
                let ask = async { other };
                self.call("open", key.as_str(), &[], ask, |_| found(None)).await?
            }
        };
        Ok(opened.map(|value| {
            Box::new(ObservedSnapshot {
                value: value.into(),
                key: key.clone(),
                store: self.clone(),
            }) as _
        }))
    }

    async fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        let operation = match (only_if, &value) {
            (Precondition::Always, Some(_)) => "put",
            (Precondition::Always, None) => "erase",
            (Precondition::Unchecked, Some(_)) => "put_unchecked",
            (Precondition::Unchecked, None) => "erase_unchecked",
            (Precondition::Absent | Precondition::Version(_), _) => "put_if",
        };
        let (value, size) = sized(value)?;
        let ask = self.store.put(key, value, only_if);
        self.call(operation, key.as_str(), &[], ask, |&won| set(size, won)).await
    }

    async fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        let (value, size) = sized(Some(value))?;
        let ask = self.store.create(key, value.unwrap_or_default(), absent, leftovers);
        self.call("create", key.as_str(), &[], ask, |there| set(size, there.is_none())).await
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let ask = self.store.erase_prefix(prefix);
        self.call("erase_prefix", prefix.as_str(), &[], ask, |()| (0, Outcome::Done)).await
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let ask = self.store.list_prefix(prefix);
        self.call("list_prefix", prefix.as_str(), &[], ask, listed).await
    }

    async fn list_dir(
        &self,
        prefix: &StorePrefix,
        how: ListOptions,
    ) -> Result<Listing, StoreError> {
        let ask = self.store.list_dir(prefix, how);
        self.call("list_dir", prefix.as_str(), &[], ask, listed).await
    }

    /// Not reported: stores without links are not asked.
    async fn link(&self, prefix: &StorePrefix, erase: bool) -> Result<bool, StoreError> {
        self.store.link(prefix, erase).await
    }

    async fn flush(&self) -> Result<(), StoreError> {
        let ask = self.store.flush();
        self.call("flush", "", &[], ask, |()| (0, Outcome::Done)).await
    }
}

/// A value whose readings are reported.
#[derive(Clone)]
struct ObservedSnapshot {
    value: Arc<dyn Snapshot>,
    key: StoreKey,
    store: ObservedStore,
}

#[async_trait]
impl Snapshot for ObservedSnapshot {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        let ask = self.value.read(ranges);
        let key = self.key.as_str();
        self.store.call("read", key, ranges, ask, |values| found(Some(size(values)))).await
    }
    fn size(&self) -> u64 {
        self.value.size()
    }
    fn version(&self) -> Option<Version> {
        self.value.version()
    }
    fn modified(&self) -> Option<SystemTime> {
        self.value.modified()
    }
    fn as_sync(&self) -> Option<Arc<dyn SyncSnapshot>> {
        self.value.as_sync()?;
        Some((Arc::new(self.clone()) as Arc<dyn Snapshot>).blocking_on())
    }
}

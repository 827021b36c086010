//! The same store traits for stores that wait.
//!
//! Everything that touches a store is written once, against these traits. `Ready` lends them to a
//! blocking store for callers that may block: its futures are ready at the first poll. `now` has the
//! result of any of them for a caller that may block.
//!
//! A store's futures go on by themselves, whoever polls them: none needs a runtime of its caller's.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::begun::{self, Touched};
pub(crate) use super::blocking::wait as now;
use super::{ByteRange, Listing, Payload, StoreKey, StorePrefix, Version};
use crate::error::StoreError;

/// A key/value store whose calls wait. See [`super::Store`].
pub trait Store: Debug + Send + Sync + 'static {
    /// What it is called in messages.
    fn name(&self) -> String;
    /// The store's reading side, if it has one.
    fn readable(&self) -> Option<&dyn ReadableStore> {
        None
    }
    /// The store's writing side, if it has one.
    fn writeable(&self) -> Option<&dyn WriteableStore> {
        None
    }
    /// The store's listing side, if it has one.
    fn listable(&self) -> Option<&dyn ListableStore> {
        None
    }
    /// The store's compare-and-swap, if it has one.
    fn conditional(&self) -> Option<&dyn ConditionalStore> {
        None
    }
    /// How many requests it likes in flight.
    fn in_flight(&self) -> usize {
        16
    }
    /// Whether its calls wait for something far away, so that many are better in flight at once. A store around
    /// another says what that one says.
    fn waits(&self) -> bool {
        true
    }
    /// The store as a blocking one, if its calls never wait.
    fn blocking(&self) -> Option<&Arc<dyn super::Store>> {
        None
    }
}

/// Getting values. See [`super::ReadableStore`].
#[async_trait]
pub trait ReadableStore: Send + Sync {
    /// The value of `key`; `None` if it is absent.
    async fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError>;

    /// As [`ReadableStore::get`], for a value of at most `limit` bytes.
    async fn get_at_most(&self, key: &StoreKey, limit: u64) -> Result<Option<Bytes>, StoreError> {
        let value = self.get(key).await?;
        super::check_size(key, value.as_ref().map_or(0, |value| value.len() as u64), limit)?;
        Ok(value)
    }

    /// Some bytes of the value of `key`; `None` if it is absent.
    async fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError>;

    /// The value of `key` as it is now, to be read from in several calls.
    async fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        Ok(self.get(key).await?.map(|value| Box::new(super::Whole::new(key, value)) as _))
    }

    /// As [`ReadableStore::pin`], for a caller that will read these ranges first: a store far away may bring
    /// them with the same request. Ranges that leave the value are told by the reading.
    async fn pin_for(
        &self,
        key: &StoreKey,
        first: &[ByteRange],
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        let _ = first;
        self.pin(key).await
    }

    /// The value of `key` if it still is the one that an earlier [`Pinned::version`] told.
    async fn pin_as(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        Ok(self.pin(key).await?.filter(|value| value.version().as_ref() == Some(version)))
    }
}

/// A value as it was when it was pinned. See [`super::Pinned`].
#[async_trait]
pub trait Pinned: Send + Sync {
    /// Some bytes of the value.
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError>;
    /// How many bytes the value has; 0 until that is known.
    fn size(&self) -> u64;
    /// What tells this value from every other that its key had or will have.
    fn version(&self) -> Option<Version> {
        None
    }
    /// The value as one that a thread which may block can read.
    fn blocking(&self) -> Option<Arc<dyn super::Pinned>> {
        None
    }
}

/// Setting and erasing values. See [`super::WriteableStore`].
#[async_trait]
pub trait WriteableStore: Send + Sync {
    /// Sets the value of `key`, whatever it was.
    async fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError>;
    /// Erases `key`; an absent key is no error.
    async fn erase(&self, key: &StoreKey) -> Result<(), StoreError>;
    /// Erases every key that begins with `prefix`.
    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError>;
    /// Whether `prefix` is a link.
    async fn is_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        let _ = prefix;
        Ok(false)
    }
    /// Removes the link that `prefix` is, and nothing of what is behind it; whether it was one.
    async fn erase_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        let _ = prefix;
        Ok(false)
    }
    /// Puts what was set and erased where other readers of the store find it.
    async fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }
    /// As [`WriteableStore::set`], for callers who turned the guard off.
    async fn set_unguarded(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        self.set(key, value).await
    }
    /// As [`WriteableStore::erase`], for callers who turned the guard off.
    async fn erase_unguarded(&self, key: &StoreKey) -> Result<(), StoreError> {
        self.erase(key).await
    }
}

/// Compare-and-swap on one key. See [`super::ConditionalStore`].
#[async_trait]
pub trait ConditionalStore: Send + Sync {
    /// The value of `key`, of at most `limit` bytes, and its version.
    async fn get_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StoreError>;
    /// The value of `key`, of at most `limit` bytes, to be read in part, and its version.
    async fn pin_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Box<dyn Pinned>, Version)>, StoreError> {
        let found = self.get_versioned(key, limit).await?;
        Ok(found.map(|(value, version)| (Box::new(super::Whole::new(key, value)) as _, version)))
    }
    /// Sets the value of `key`, if it still is what it `was`.
    async fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError>;
    /// Whether it can also erase a value that still is what it was.
    fn erases(&self) -> bool {
        true
    }
    /// Whether it creates in one step.
    fn creates(&self) -> bool {
        false
    }
    /// Sets the value of `key` if it and every key of `absent` are absent, and erases `leftovers`.
    async fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        let _ = (key, value, absent, leftovers);
        Err(StoreError::not_capable("create", "able to create in one step"))
    }
}

/// Listing keys. See [`super::ListableStore`].
#[async_trait]
pub trait ListableStore: Send + Sync {
    /// Every key that begins with `prefix`.
    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError>;
    /// The same, and with what is left out.
    async fn list_below(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        Ok(Listing { keys: self.list_prefix(prefix).await?, ..Listing::default() })
    }
    /// The keys and prefixes directly below `prefix`.
    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError>;
    /// The same, with prefixes perhaps below which there is no key.
    async fn list_dir_candidates(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.list_dir(prefix).await
    }
}

/// A blocking store, its futures ready at once: for callers that may block. Only while a dropped call is still
/// changing the same key, which another thread does, they are not.
#[derive(Clone, Debug)]
pub struct Ready(pub(crate) Arc<dyn super::Store>);

impl Ready {
    /// The same store; its calls are done when their futures are first polled.
    pub fn new(store: Arc<dyn super::Store>) -> Self {
        Ready(store)
    }

    /// Waits for what dropped calls are still changing (decision 0141); almost always there is nothing.
    pub(crate) async fn settled(&self, touched: impl Into<Touched>) {
        begun::settled(|| self.0.name(), touched).await;
    }
}

const NO_SIDE: &str = "sides are handed out only where the store has them";

impl Store for Ready {
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
    fn waits(&self) -> bool {
        false
    }
    fn blocking(&self) -> Option<&Arc<dyn super::Store>> {
        Some(&self.0)
    }
}

#[async_trait]
impl ReadableStore for Ready {
    async fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        self.settled(key).await;
        self.0.readable().expect(NO_SIDE).get(key)
    }
    async fn get_at_most(&self, key: &StoreKey, limit: u64) -> Result<Option<Bytes>, StoreError> {
        self.settled(key).await;
        self.0.readable().expect(NO_SIDE).get_at_most(key, limit)
    }
    async fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        self.settled(key).await;
        self.0.readable().expect(NO_SIDE).get_partial_values(key, ranges)
    }
    async fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        self.settled(key).await;
        Ok(self.0.readable().expect(NO_SIDE).pin(key)?.map(ready))
    }
    async fn pin_as(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        self.settled(key).await;
        Ok(self.0.readable().expect(NO_SIDE).pin_as(key, version)?.map(ready))
    }
}

/// A value of a blocking store, its futures ready at once.
struct ReadyPinned(Arc<dyn super::Pinned>);

fn ready(pinned: Box<dyn super::Pinned>) -> Box<dyn Pinned> {
    Box::new(ReadyPinned(pinned.into()))
}

#[async_trait]
impl Pinned for ReadyPinned {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        self.0.read(ranges)
    }
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn version(&self) -> Option<Version> {
        self.0.version()
    }
    fn blocking(&self) -> Option<Arc<dyn super::Pinned>> {
        Some(self.0.clone())
    }
}

#[async_trait]
impl WriteableStore for Ready {
    async fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        self.settled(key).await;
        self.0.writeable().expect(NO_SIDE).set(key, value)
    }
    async fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        self.settled(key).await;
        self.0.writeable().expect(NO_SIDE).erase(key)
    }
    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.settled(prefix).await;
        self.0.writeable().expect(NO_SIDE).erase_prefix(prefix)
    }
    async fn is_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        self.settled(prefix).await;
        self.0.writeable().expect(NO_SIDE).is_link(prefix)
    }
    async fn erase_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        self.settled(prefix).await;
        self.0.writeable().expect(NO_SIDE).erase_link(prefix)
    }
    async fn flush(&self) -> Result<(), StoreError> {
        self.0.writeable().expect(NO_SIDE).flush()
    }
    async fn set_unguarded(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        self.settled(key).await;
        self.0.writeable().expect(NO_SIDE).set_unguarded(key, value)
    }
    async fn erase_unguarded(&self, key: &StoreKey) -> Result<(), StoreError> {
        self.settled(key).await;
        self.0.writeable().expect(NO_SIDE).erase_unguarded(key)
    }
}

#[async_trait]
impl ConditionalStore for Ready {
    async fn get_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StoreError> {
        self.settled(key).await;
        self.0.conditional().expect(NO_SIDE).get_versioned(key, limit)
    }
    async fn pin_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Box<dyn Pinned>, Version)>, StoreError> {
        self.settled(key).await;
        let found = self.0.conditional().expect(NO_SIDE).pin_versioned(key, limit)?;
        Ok(found.map(|(value, version)| (ready(value), version)))
    }
    async fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        self.settled(key).await;
        self.0.conditional().expect(NO_SIDE).set_if(key, value, was)
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
        self.settled(key).await;
        self.0.conditional().expect(NO_SIDE).create(key, value, absent, leftovers)
    }
}

#[async_trait]
impl ListableStore for Ready {
    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
        self.settled(prefix).await;
        self.0.listable().expect(NO_SIDE).list_prefix(prefix)
    }
    async fn list_below(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.settled(prefix).await;
        self.0.listable().expect(NO_SIDE).list_below(prefix)
    }
    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.settled(prefix).await;
        self.0.listable().expect(NO_SIDE).list_dir(prefix)
    }
    async fn list_dir_candidates(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.settled(prefix).await;
        self.0.listable().expect(NO_SIDE).list_dir_candidates(prefix)
    }
}

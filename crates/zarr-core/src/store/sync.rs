//! Defines stores whose calls block.

use std::fmt::Debug;

use super::{
    Bytes, Capabilities, GetOptions, Got, ListOptions, Listing, NotSet, Payload, Precondition,
    SnapshotOptions, StoreKey, StorePrefix, SyncSnapshot, Version,
};
use crate::error::StoreError;

/// A key/value store whose calls are done when they return: folders, memory, archives, databases.
///
/// As [`Store`](super::Store), call by call. [`SyncStore::name`], [`SyncStore::capabilities`] and [`SyncStore::get`] have to be written;
/// and of the others those that the capabilities promise.
pub trait SyncStore: Debug + Send + Sync + 'static {
    /// Its name in messages: its URL, if it has one.
    fn name(&self) -> String;

    /// The options that it was opened with, but for secrets.
    fn public_options(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What it can do; [`Capabilities::local`] and [`Capabilities::in_flight`] do not count.
    fn capabilities(&self) -> Capabilities;

    /// What a reader should know of what is stored, in a sentence each: names that are read as others, for example. A hierarchy
    /// warns of it when it is opened, and `validate` names it. At most some dozens.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// The URLs of the places that its values are read from.
    ///
    /// # Errors
    /// As [`Store::places`](super::Store::places).
    fn places(&self) -> Result<Vec<String>, StoreError> {
        Ok(vec![self.name()])
    }

    /// The references that may not be followed.
    ///
    /// # Errors
    /// As [`Store::refused_targets`](super::Store::refused_targets).
    fn refused_targets(&self) -> Result<Vec<StoreError>, StoreError> {
        Ok(Vec::new())
    }

    /// The value of `key`; `None` if it is absent. A store that holds all of it returns [`GetOptions::answer`].
    ///
    /// # Errors
    /// As [`Store::get`](super::Store::get).
    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError>;

    /// The value of `key` as it is now, to be read from in several calls.
    ///
    /// # Errors
    /// As [`Store::open`](super::Store::open).
    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        Ok(how.in_memory(key, self.get(key, how.to_get())?))
    }

    /// Whether the value of `key` still is of this version, which a [`SyncSnapshot::version`] returned. A store that can tell
    /// without opening the value does so: a reader whose elements are cached asks for each chunk.
    ///
    /// # Errors
    /// As [`Store::open`](super::Store::open).
    fn is_unchanged(&self, key: &StoreKey, version: &Version) -> Result<bool, StoreError> {
        let value = self.open(key, SnapshotOptions::expect(version));
        match value.and_then(|value| value.map(|value| value.read(&[])).transpose()) {
            Err(StoreError::Changed { .. }) => Ok(false),
            read => Ok(read?.is_some()),
        }
    }

    /// Sets the value of `key`, or erases it (`None`), if the precondition holds.
    ///
    /// # Errors
    /// As [`Store::put`](super::Store::put).
    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        let _ = (key, value, only_if);
        Err(StoreError::not_capable("write", "writeable"))
    }

    /// Sets values as [`SyncStore::put`] does one after the other; a store may take a lock once for several.
    ///
    /// # Errors
    /// As [`Store::set_all`](super::Store::set_all).
    fn set_all(&self, values: &[(StoreKey, &[u8])], guarded: bool) -> Result<(), NotSet> {
        for (at, (key, value)) in values.iter().enumerate() {
            let set = self.put(key, Some(Payload::new(*value)), Precondition::always(guarded));
            set.map_err(|error| NotSet { at, error })?;
        }
        Ok(())
    }

    /// Sets the value of `key` if it and every key of `absent` are absent, and erases `leftovers`.
    ///
    /// # Errors
    /// As [`Store::create`](super::Store::create).
    fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        let _ = (key, value, absent, leftovers);
        Err(StoreError::not_capable("create", "able to create in one step"))
    }

    /// Erases every key that begins with `prefix`.
    ///
    /// # Errors
    /// As [`Store::erase_prefix`](super::Store::erase_prefix).
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let _ = prefix;
        Err(StoreError::not_capable("erase_prefix", "writeable"))
    }

    /// Every key that begins with `prefix`, sorted.
    ///
    /// # Errors
    /// As [`Store::list_prefix`](super::Store::list_prefix).
    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let _ = prefix;
        Err(StoreError::not_capable("list", "listable"))
    }

    /// The keys and prefixes directly below `prefix`.
    ///
    /// # Errors
    /// As [`Store::list_dir`](super::Store::list_dir).
    fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing, StoreError> {
        let _ = how;
        Ok(self.list_prefix(prefix)?.folded(prefix))
    }

    /// Whether `prefix` is a link; with `erase` the link is removed.
    ///
    /// # Errors
    /// As [`Store::link`](super::Store::link).
    fn link(&self, prefix: &StorePrefix, erase: bool) -> Result<bool, StoreError> {
        let _ = (prefix, erase);
        Ok(false)
    }

    /// Puts what was set and erased where other readers of the store find it.
    ///
    /// # Errors
    /// As [`Store::flush`](super::Store::flush).
    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Short for [`SyncStore::get`]: the bytes of a value.
    ///
    /// # Errors
    /// As [`Store::get`](super::Store::get).
    fn value(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        Ok(self.get(key, GetOptions::default())?.map(|got| got.bytes.unwrap_or_default()))
    }

    /// Short for [`SyncStore::list_prefix`]: every key, sorted.
    ///
    /// # Errors
    /// As [`Store::list_prefix`](super::Store::list_prefix).
    fn list(&self) -> Result<Vec<StoreKey>, StoreError> {
        Ok(self.list_prefix(&StorePrefix::root())?.keys)
    }

    /// Short for [`SyncStore::put`]: sets a value, whatever it was.
    ///
    /// # Errors
    /// As [`Store::put`](super::Store::put).
    fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        self.put(key, Some(value), Precondition::Always).map(drop)
    }

    /// Short for [`SyncStore::put`]: erases a value, whatever it was.
    ///
    /// # Errors
    /// As [`Store::put`](super::Store::put).
    fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        self.put(key, None, Precondition::Always).map(drop)
    }
}

//! Stores: keys and values, in a folder, in memory, in an archive, behind a network.
//!
//! [`Store`] is the one trait that the library calls; it is async. A store whose calls block implements [`SyncStore`],
//! and [`from_sync`] makes a [`Store`] of it. What a store can do, it says in its [`Capabilities`]: the drafts' three,
//! readable, writeable and listable (D-133 … D-137), and compare-and-swap, which guarded writes need. A call that a store
//! is not capable of is a clear error.

pub mod abandoned;
mod block_on;
mod from_sync;
mod key;
mod listing;
mod observe;
mod options;
mod payload;
mod process_cas;
mod range;
mod snapshot;
mod sync;
mod version;

use std::fmt::Debug;
use std::sync::Arc;

/// The attribute on implementations of [`Store`] and [`Snapshot`].
pub use async_trait::async_trait;
/// A value that was read: bytes that are shared, not copied.
pub use bytes::Bytes;

pub use self::from_sync::{from_sync, from_sync_arc};
pub use self::key::{StoreKey, StorePrefix};
pub use self::listing::Listing;
pub use self::observe::{Call, ObservedStore, Observer, Outcome, Request};
pub use self::options::{
    Capabilities, GetOptions, Got, ListOptions, NotSet, Precondition, SnapshotOptions, Target,
};
pub use self::payload::Payload;
pub(crate) use self::process_cas::guarded;
pub(crate) use self::range::find;
pub use self::range::{ByteRange, coalesce, slice};
pub use self::snapshot::{InMemorySnapshot, Snapshot, SyncSnapshot};
pub use self::sync::SyncStore;
pub use self::version::Version;
use crate::error::StoreError;

/// What calls on stores return.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A key/value store.
///
/// A store's futures make progress on their own threads or on the thread that polls them; none needs a runtime of its
/// caller.
///
/// Every call fails with [`StoreError::NotCapable`] where the [`Capabilities`] lack it, and with another
/// [`StoreError`] when the store failed.
#[async_trait]
pub trait Store: Debug + Send + Sync + 'static {
    /// Its name in messages: its URL, if it has one.
    fn name(&self) -> String;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// The options that open it again together with its name, by [`OpenOptions::store_option`](crate::OpenOptions::store_option):
    /// as they were given, without those that may be secret.
    fn public_options(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What a reader should know of what is stored, in a sentence each: names that are read as others, for example. A hierarchy
    /// warns of it when it is opened, and `validate` names it. At most some dozens.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// The URLs of the places that its values are read from, be they files or stores: its own name, and of a store of references
    /// all that these lead to. Whatever replaces or erases one of them destroys what this store reads. A store of references may have
    /// to read all of them for it.
    ///
    /// # Errors
    /// When the references could not be read.
    async fn places(&self) -> Result<Vec<String>, StoreError> {
        Ok(vec![self.name()])
    }

    /// The references that may not be followed under the options with which the store was opened: for each place that they lead to,
    /// the error that reading one of them gives. Only those that are known without a request to a server.
    ///
    /// # Errors
    /// When the references could not be read.
    async fn refused_targets(&self) -> Result<Vec<StoreError>, StoreError> {
        Ok(Vec::new())
    }

    /// The same store for callers that block, if its calls never wait for a network. Its readers skip the futures.
    fn as_sync(&self) -> Option<&Arc<dyn SyncStore>> {
        None
    }

    /// The value of `key`; `None` if it is absent, which is neither an empty value nor an error (D-134).
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] for a value above the limit, which is not held; what else kept it from being read
    /// (F-073).
    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError>;

    /// The value of `key` as it is now, to be read from in several calls; `None` if it is absent, or is not the version
    /// that is expected.
    ///
    /// A store that can read a part of a value without fetching all of it does so here. To check the expected version a
    /// store need not ask its server: the first reading may find out, and then fails with [`StoreError::Changed`].
    ///
    /// # Errors
    /// As [`Store::get`].
    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>, StoreError> {
        Ok(how.in_memory(key, self.get(key, how.to_get()).await?))
    }

    /// Sets the value of `key`, or erases it (`None`), if the precondition holds. A key holds the old value or the new
    /// one, never a mixture. Erasing an absent key is no error (D-135).
    ///
    /// Returns `false`, having changed nothing, if the precondition does not hold.
    ///
    /// Parts of a payload may be made while it is written, by several threads. A store that makes others wait in the
    /// meantime, or must know the size first, calls [`Payload::made`] before: else these threads may wait, too.
    ///
    /// # Errors
    /// When the value could not be made or stored; then the old one is still there.
    async fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        let _ = (key, value, only_if);
        Err(StoreError::not_capable("write", "writeable"))
    }

    /// Sets values, whatever they were, each as [`Store::put`] does: a store may take a lock once for several. Without `guarded`
    /// as under [`Precondition::Unchecked`].
    ///
    /// # Errors
    /// For the first value that could not be set. Each of the others was set once or is as it was.
    async fn set_all(&self, values: &[(StoreKey, &[u8])], guarded: bool) -> Result<(), NotSet> {
        set_each(self, values, guarded).await
    }

    /// Sets the value of `key` if it and every key of `absent` are absent, and erases `leftovers` in the same step, so
    /// that of several writers who create a node in different dialects one succeeds. Those other documents
    /// are in the same folder as `key`.
    ///
    /// Returns one of them that exists, having changed nothing; `None` if `key` was set.
    ///
    /// # Errors
    /// [`StoreError::NotCapable`] unless [`Capabilities::create`].
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

    /// Erases every key that begins with `prefix`; none is no error (D-135).
    ///
    /// # Errors
    /// When the store failed.
    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let _ = prefix;
        Err(StoreError::not_capable("erase_prefix", "writeable"))
    }

    /// Every key that begins with `prefix`, sorted, and [`Listing::left_out`]; no prefixes.
    ///
    /// # Errors
    /// When the store failed.
    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let _ = prefix;
        Err(StoreError::not_capable("list", "listable"))
    }

    /// The keys and prefixes directly below `prefix`.
    ///
    /// # Errors
    /// When the store failed.
    async fn list_dir(
        &self,
        prefix: &StorePrefix,
        how: ListOptions,
    ) -> Result<Listing, StoreError> {
        let _ = how;
        Ok(self.list_prefix(prefix).await?.folded(prefix))
    }

    /// Whether `prefix` is a link, in a store that has links. With `erase` the link is removed, and nothing of what is
    /// behind it. Stores without links, most of them, have nothing to do.
    ///
    /// # Errors
    /// When the store failed.
    async fn link(&self, prefix: &StorePrefix, erase: bool) -> Result<bool, StoreError> {
        let _ = (prefix, erase);
        Ok(false)
    }

    /// Puts what was set and erased where other readers of the store find it, for stores that gather it until then,
    /// such as archives; others have nothing to do.
    ///
    /// # Errors
    /// When the store failed.
    async fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Sets one value after the other.
async fn set_each<S: Store + ?Sized>(
    store: &S,
    values: &[(StoreKey, &[u8])],
    guarded: bool,
) -> Result<(), NotSet> {
    for (at, (key, value)) in values.iter().enumerate() {
        let set = store.put(key, Some(Payload::new(*value)), Precondition::always(guarded));
        set.await.map_err(|error| NotSet { at, error })?;
    }
    Ok(())
}

impl dyn Store {
    /// The store, if it can be read.
    pub(crate) fn readable(&self) -> Result<&Self, StoreError> {
        let can = self.capabilities().read;
        can.then_some(self).ok_or(StoreError::not_capable("read", "readable"))
    }

    /// The store, if it can be written.
    pub(crate) fn writeable(&self) -> Result<&Self, StoreError> {
        let can = self.capabilities().write;
        can.then_some(self).ok_or(StoreError::not_capable("write", "writeable"))
    }

    /// The store, if it can be listed.
    pub(crate) fn listable(&self) -> Result<&Self, StoreError> {
        let can = self.capabilities().list;
        can.then_some(self).ok_or(StoreError::not_capable("list", "listable"))
    }

    /// The store, if it can be listed, or may be in part.
    pub(crate) fn maybe_listable(&self) -> Result<&Self, StoreError> {
        if self.capabilities().lists_some { Ok(self) } else { self.listable() }
    }

    /// The bytes of a value of at most `limit` bytes.
    pub(crate) async fn get_at_most(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<Bytes>, StoreError> {
        let got = self.get(key, GetOptions::at_most(limit)).await?;
        Ok(got.map(|got| got.bytes.unwrap_or_default()))
    }

    /// Sets a value if the key is absent; `false` if it is not.
    pub(crate) async fn set_if_absent(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
    ) -> Result<bool, StoreError> {
        self.put(key, Some(value), Precondition::Absent).await
    }

    /// Erases a value, whatever it was.
    pub(crate) async fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        self.put(key, None, Precondition::Always).await.map(drop)
    }
}

/// Refuses a value of `size` bytes for a reader that takes at most `limit`.
///
/// # Errors
/// [`StoreError::TooLarge`].
pub fn check_size(key: &StoreKey, size: u64, limit: u64) -> Result<(), StoreError> {
    if size <= limit {
        return Ok(());
    }
    Err(StoreError::TooLarge { key: key.to_string(), size: Some(size), limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of which only `list_prefix` is known.
    #[derive(Debug)]
    struct Keys(Vec<StoreKey>);

    impl SyncStore for Keys {
        fn name(&self) -> String {
            "keys".into()
        }
        fn capabilities(&self) -> Capabilities {
            Capabilities { list: true, ..Capabilities::NONE }
        }
        fn get(&self, _: &StoreKey, _: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
            Ok(None)
        }
        fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
            let below = self.0.iter().filter(|key| prefix.strip(key).is_some());
            Ok(below.cloned().collect::<Vec<_>>().into())
        }
    }

    fn keys(names: &[&str]) -> Keys {
        Keys(names.iter().map(|name| StoreKey::new(*name).unwrap()).collect())
    }

    /// D-136, D-137, row 24: the specification's own examples.
    #[test]
    fn listings_follow_from_list_prefix() {
        let prefix = |prefix: &str| StorePrefix::new(prefix).unwrap();
        let text = |keys: &[StoreKey]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
        let store = keys(&["a/b", "a/c/d", "e/f/g"]);
        let below = |name| store.list_prefix(&prefix(name)).unwrap().keys;
        assert_eq!(text(&below("a/")), ["a/b", "a/c/d"]);
        assert_eq!(text(&below("")), ["a/b", "a/c/d", "e/f/g"]);
        let store = keys(&["a/b", "a/c", "a/d/e", "a/f/g"]);
        let list_dir = |name| store.list_dir(&prefix(name), ListOptions::default()).unwrap();
        let listing = list_dir("a/");
        assert_eq!(text(&listing.keys), ["a/b", "a/c"]);
        assert_eq!(listing.prefixes, [prefix("a/d/"), prefix("a/f/")]);
        assert_eq!(list_dir("b/"), Listing::default());
    }
}

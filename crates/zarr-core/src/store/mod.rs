//! Defines the store traits: where keys and values are stored.
//!
//! A store has any of four capabilities: the drafts' three, *readable*, *writeable* and *listable*
//! (D-133 … D-137), and *conditional*, the compare-and-swap on which guarded writes stand. Asking for
//! a missing one is a clear error. [`aio`] holds the same traits for stores that wait.

pub mod aio;
pub mod begun;
mod blocking;
mod in_process;
mod key;
mod offload;
mod payload;
mod pinned;
mod range;

use std::fmt::{self, Debug};
use std::sync::Arc;

/// A value that was read: bytes that are shared, not copied.
pub use bytes::Bytes;

pub use self::blocking::{Blocking, wait};
pub(crate) use self::in_process::InProcess;
pub use self::key::{StoreKey, StorePrefix};
pub use self::offload::Offloaded;
pub use self::offload::run;
pub use self::payload::Payload;
pub use self::pinned::{Pinned, Whole};
pub(crate) use self::range::find;
pub use self::range::{ByteRange, coalesce, slice};
use crate::error::StoreError;

/// A key/value store whose calls return when they are done.
pub trait Store: Debug + Send + Sync + 'static {
    /// What it is called in messages: its URL, if it has one.
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

    /// The same store for callers that wait, if each of its calls waits for something far away. Then whatever
    /// is asked of many chunks is asked of this one, as many requests at a time as it likes.
    fn waiting(&self) -> Option<Arc<dyn aio::Store>> {
        None
    }
}

/// Getting values.
pub trait ReadableStore: Send + Sync {
    /// The value of `key`; `None` if it is absent, which is neither an empty value nor an error (D-134).
    ///
    /// # Errors
    /// Whatever else kept the value from being read (F-073).
    fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError>;

    /// As [`ReadableStore::get`], for a value of at most `limit` bytes.
    ///
    /// Stores that know a value's size before they hold its bytes, or receive them piece by piece, refuse a larger
    /// one here without holding it.
    ///
    /// # Errors
    /// As [`ReadableStore::get`]; [`StoreError::TooLarge`] for a larger value.
    fn get_at_most(&self, key: &StoreKey, limit: u64) -> Result<Option<Bytes>, StoreError> {
        let value = self.get(key)?;
        check_size(key, value.as_ref().map_or(0, |value| value.len() as u64), limit)?;
        Ok(value)
    }

    /// Some bytes of the value of `key`; `None` if it is absent.
    ///
    /// # Errors
    /// As [`ReadableStore::get`]; [`StoreError::Range`] when a range leaves the value.
    fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        self.pin(key)?.map(|value| value.read(ranges)).transpose()
    }

    /// The value of `key` as it is now, to be read from in several calls; `None` if it is absent.
    ///
    /// Stores that can read a part of a value without fetching it as a whole do so here.
    ///
    /// # Errors
    /// As [`ReadableStore::get`].
    fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        Ok(self.get(key)?.map(|value| Box::new(Whole::new(key, value)) as _))
    }

    /// The value of `key` if it still is the one that an earlier [`Pinned::version`] told; `None` if it is
    /// not.
    ///
    /// A store that would have to ask for that alone may let the first reading find out, which then fails
    /// with [`StoreError::Changed`]: so what is remembered of a value costs no request to be checked.
    ///
    /// # Errors
    /// As [`ReadableStore::get`].
    fn pin_as(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        Ok(self.pin(key)?.filter(|value| value.version().as_ref() == Some(version)))
    }

    /// Whether parts of a pinned value cost no more than their bytes, as those of a file do. Then inner chunks of a
    /// shard are read one by one, by several threads; of other stores neighbours are asked for together
    /// (decision 0131).
    fn is_near(&self) -> bool {
        false
    }

    /// Puts the value of `key`, of at most `limit` bytes, into `buf`, in place of what was there; `false` if it is
    /// absent.
    ///
    /// Local stores fill a reused buffer without allocating.
    ///
    /// # Errors
    /// As [`ReadableStore::get_at_most`].
    fn get_into(&self, key: &StoreKey, limit: u64, buf: &mut Vec<u8>) -> Result<bool, StoreError> {
        let value = self.get_at_most(key, limit)?;
        buf.clear();
        buf.extend_from_slice(value.as_deref().unwrap_or_default());
        Ok(value.is_some())
    }

    /// Puts the value of `key` straight into `out`, if it is exactly as long. Returns the value's size,
    /// whatever it is; `None` if it is absent. With another size, `out` holds nothing of meaning.
    ///
    /// # Errors
    /// As [`ReadableStore::get`].
    fn get_exactly(&self, key: &StoreKey, out: &mut [u8]) -> Result<Option<u64>, StoreError> {
        let Some(value) = self.get(key)? else {
            return Ok(None);
        };
        if value.len() == out.len() {
            out.copy_from_slice(&value);
        }
        Ok(Some(value.len() as u64))
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

/// Setting and erasing values. A key holds the old value or the new one, never a mixture.
pub trait WriteableStore: Send + Sync {
    /// Sets the value of `key`, whatever it was.
    ///
    /// Parts of it may be made while it is written. A store that keeps others waiting meanwhile, or must know
    /// the size first, asks for [`Payload::made`] before.
    ///
    /// # Errors
    /// When the value could not be made or stored; then the old one is still there.
    fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError>;

    /// Erases `key`; an absent key is no error (D-135).
    ///
    /// # Errors
    /// When the store failed.
    fn erase(&self, key: &StoreKey) -> Result<(), StoreError>;

    /// Erases every key that begins with `prefix`; none is no error (D-135).
    ///
    /// # Errors
    /// When the store failed.
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError>;

    /// Whether `prefix` is a link, in a store that has links, so that [`WriteableStore::erase_link`] would remove it.
    ///
    /// # Errors
    /// When the store failed.
    fn is_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        let _ = prefix;
        Ok(false)
    }

    /// Removes the link that `prefix` is, in a store that has links, and nothing of what is behind it (decision 0144).
    /// Whether it was one; else nothing changes. Stores without links, most of them, have nothing to do.
    ///
    /// # Errors
    /// When the store failed.
    fn erase_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        let _ = prefix;
        Ok(false)
    }

    /// Puts what was set and erased where other readers of the store find it, for stores that gather it until
    /// then, such as archives; others have nothing to do.
    ///
    /// # Errors
    /// When the store failed.
    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// As [`WriteableStore::set`], without the care that lets others rely on
    /// [`ConditionalStore::set_if`] meanwhile. For callers who turned the guard off.
    ///
    /// # Errors
    /// As [`WriteableStore::set`].
    fn set_unguarded(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        self.set(key, value)
    }

    /// As [`WriteableStore::erase`], without that care.
    ///
    /// # Errors
    /// As [`WriteableStore::erase`].
    fn erase_unguarded(&self, key: &StoreKey) -> Result<(), StoreError> {
        self.erase(key)
    }
}

/// What a value was when it was read: equal versions mean equal values, nowise changed since.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Version {
    token: Option<Bytes>,
    /// What tells a value from an equal one that was set later, where the store knows.
    mark: Option<[u64; 4]>,
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.token.as_ref().map(Bytes::len);
        write!(f, "Version of {size:?} bytes, {:?}", self.mark)
    }
}

impl Version {
    /// A version from whatever the store tells states apart by: an ETag, a count.
    pub fn new(token: impl Into<Bytes>) -> Self {
        Version { token: Some(token.into()), mark: None }
    }

    /// The version of a value by its content: the value itself, shared, not copied. Comparing two is
    /// exact.
    pub fn of_content(value: Bytes) -> Self {
        Version { token: Some(value), mark: None }
    }

    /// The version of a value that its mark alone tells from others.
    pub fn of_mark(mark: [u64; 4]) -> Self {
        Version { token: None, mark: Some(mark) }
    }

    /// What a store told it by, or the value itself: what a mark adds is known to the store alone.
    pub fn token(&self) -> Option<&Bytes> {
        self.token.as_ref()
    }

    /// Whether nothing but a mark is known.
    pub fn is_mark(&self) -> bool {
        self.token.is_none()
    }

    /// The same version of a value that bears this mark, such as a file's number and time of change.
    #[must_use]
    pub fn marked(mut self, mark: [u64; 4]) -> Self {
        self.mark = Some(mark);
        self
    }
}

/// A value to be read in part, and its version.
pub type Versioned = (Box<dyn Pinned>, Version);

/// Compare-and-swap on one key.
pub trait ConditionalStore: Send + Sync {
    /// The value of `key`, which has at most `limit` bytes, and its version; `None` if it is absent.
    ///
    /// # Errors
    /// As [`ReadableStore::get_at_most`].
    fn get_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StoreError>;

    /// The value of `key`, which has at most `limit` bytes, to be read in part, and its version; `None` if it is
    /// absent. The version need not be good for longer than the value is pinned.
    ///
    /// # Errors
    /// As [`ReadableStore::get_at_most`].
    fn pin_versioned(&self, key: &StoreKey, limit: u64) -> Result<Option<Versioned>, StoreError> {
        let found = self.get_versioned(key, limit)?;
        Ok(found.map(|(value, version)| (Box::new(Whole::new(key, value)) as _, version)))
    }

    /// Sets the value of `key` (`None`: erases it), if it still is what it `was` (`None`: absent).
    ///
    /// Returns `false`, having changed nothing, if someone was faster.
    ///
    /// # Errors
    /// When the store failed.
    fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError>;

    /// Whether it can also erase a value that still is what it was. Who cannot is never asked to: a chunk that
    /// became all fill is then stored as such (decision 0103).
    fn erases(&self) -> bool {
        true
    }

    /// Whether [`ConditionalStore::create`] is one step here.
    fn creates(&self) -> bool {
        false
    }

    /// Sets the value of `key` if it and every key of `absent` are absent, and erases `leftovers` in the same step, so
    /// that of several writers who create a node in different words one succeeds. Those other documents lie beside
    /// `key`.
    ///
    /// Returns one of them that is there, having changed nothing; `None` if `key` was set.
    ///
    /// # Errors
    /// [`StoreError::NotCapable`] unless the store [`creates`](ConditionalStore::creates); when the store failed.
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
}

/// The keys and prefixes directly below a prefix, both in full (D-137), sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Keys with no further `/`.
    pub keys: Vec<StoreKey>,
    /// Prefixes one level down, with their `/`.
    pub prefixes: Vec<StorePrefix>,
    /// Names as the store has them, of which no key can be made: they have a segment `..`, for example. They are told
    /// to the caller, who cannot reach them (decision 0137).
    pub left_out: Vec<String>,
}

impl Listing {
    /// The listing of `prefix`, folded from all the keys below it.
    pub fn fold(prefix: &StorePrefix, keys: impl IntoIterator<Item = StoreKey>) -> Self {
        let mut listing = Listing::default();
        for key in keys {
            let Some(rest) = prefix.strip(&key) else {
                continue;
            };
            match rest.find('/') {
                None => listing.keys.push(key),
                Some(at) => {
                    let end = prefix.as_str().len() + at + 1;
                    if let Ok(prefix) = StorePrefix::new(&key.as_str()[..end]) {
                        listing.prefixes.push(prefix);
                    }
                }
            }
        }
        listing.keys.sort();
        listing.prefixes.sort();
        listing.prefixes.dedup();
        listing
    }

    /// The listing of `prefix`, folded from names below it as the store has them. What no key can say is named.
    pub fn of_names<'a>(prefix: &StorePrefix, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut listing = Listing::default();
        for name in names {
            let Some(rest) = name.strip_prefix(prefix.as_str()) else { continue };
            match rest.find('/') {
                None => match StoreKey::new(name) {
                    Ok(key) => listing.keys.push(key),
                    Err(_) => listing.left_out.push(name.to_owned()),
                },
                Some(at) => match StorePrefix::new(&name[..=prefix.as_str().len() + at]) {
                    Ok(prefix) => listing.prefixes.push(prefix),
                    Err(_) => listing.left_out.push(name.to_owned()),
                },
            }
        }
        listing.keys.sort();
        listing.prefixes.sort();
        listing.prefixes.dedup();
        listing
    }
}

/// Listing keys.
pub trait ListableStore: Send + Sync {
    /// Every key that begins with `prefix`, sorted.
    ///
    /// # Errors
    /// When the store failed.
    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError>;

    /// As [`ListableStore::list_prefix`], and with [`Listing::left_out`]; no prefixes are told.
    ///
    /// # Errors
    /// When the store failed.
    fn list_below(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        Ok(Listing { keys: self.list_prefix(prefix)?, ..Listing::default() })
    }

    /// The keys and prefixes directly below `prefix`.
    ///
    /// # Errors
    /// When the store failed.
    fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        Ok(Listing::fold(prefix, self.list_prefix(prefix)?))
    }

    /// As [`ListableStore::list_dir`], for callers that go on to look below each prefix: where it takes another
    /// look to know, a prefix may be among them below which there is no key.
    ///
    /// # Errors
    /// When the store failed.
    fn list_dir_candidates(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.list_dir(prefix)
    }

    /// Every key, sorted.
    ///
    /// # Errors
    /// When the store failed.
    fn list(&self) -> Result<Vec<StoreKey>, StoreError> {
        self.list_prefix(&StorePrefix::root())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of which only `list_prefix` is known.
    struct Keys(Vec<StoreKey>);

    impl ListableStore for Keys {
        fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
            Ok(self.0.iter().filter(|key| prefix.strip(key).is_some()).cloned().collect())
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
        assert_eq!(text(&store.list_prefix(&prefix("a/")).unwrap()), ["a/b", "a/c/d"]);
        assert_eq!(text(&store.list().unwrap()), ["a/b", "a/c/d", "e/f/g"]);
        let store = keys(&["a/b", "a/c", "a/d/e", "a/f/g"]);
        let listing = store.list_dir(&prefix("a/")).unwrap();
        assert_eq!(text(&listing.keys), ["a/b", "a/c"]);
        assert_eq!(listing.prefixes, [prefix("a/d/"), prefix("a/f/")]);
        assert_eq!(store.list_dir(&prefix("b/")).unwrap(), Listing::default());
    }
}

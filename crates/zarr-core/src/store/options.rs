//! What a store can do, and how it is asked.

use super::{ByteRange, Bytes, InMemorySnapshot, StoreKey, Version, check_size};
use crate::error::StoreError;

/// What a store can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Values can be read.
    pub read: bool,
    /// Values can be set and erased.
    pub write: bool,
    /// Keys can be listed, and a key that is not in a listing is absent.
    pub list: bool,
    /// Listing may find keys, but need not: a web server may give an index of its folders, and an index may hide names. It is enough to find
    /// nodes, not to know that a key is absent. Where there is no index, listing is refused as not capable.
    pub lists_some: bool,
    /// [`Precondition::Absent`] and [`Precondition::Version`] are checked in the same step as the value is set.
    pub swap: bool,
    /// They are checked for erasing, too. A store without is never asked to: a chunk that became all fill is then
    /// stored as such.
    pub swap_erase: bool,
    /// [`Store::create`](super::Store::create) is one step.
    pub create: bool,
    /// No call waits for a network. Calls on other stores are better made many at a time.
    pub local: bool,
    /// Parts of a value cost no more than their bytes, as those of a file do. Then inner chunks of a shard are read one
    /// by one, by several threads; of other stores neighbours are read together.
    pub cheap_ranges: bool,
    /// Values are in memory, and [`Target::Bytes`] copies none of them.
    pub in_memory: bool,
    /// A [`Payload`](super::Payload) of several parts is written while they are made; other stores hold the whole value.
    pub streams: bool,
    /// [`Store::set_all`](super::Store::set_all) takes less time than a `put` for each value. Then small chunks are set so; into other stores
    /// each by itself, and a caller who cancels waits for one.
    pub set_all: bool,
    /// How many requests are best in flight.
    pub in_flight: usize,
}

impl Capabilities {
    /// Nothing; the base of others.
    pub const NONE: Capabilities = Capabilities {
        read: false,
        write: false,
        list: false,
        lists_some: false,
        swap: false,
        swap_erase: false,
        create: false,
        local: false,
        cheap_ranges: false,
        in_memory: false,
        streams: false,
        set_all: false,
        in_flight: 16,
    };

    /// Reading and listing.
    pub const READ_ONLY: Capabilities = Capabilities { read: true, list: true, ..Self::NONE };

    /// Reading, listing, writing and compare-and-swap.
    pub const FULL: Capabilities =
        Capabilities { write: true, swap: true, swap_erase: true, ..Self::READ_ONLY };

    /// These without all that changes a store.
    #[must_use]
    pub fn read_only(self) -> Capabilities {
        Capabilities { write: false, swap: false, swap_erase: false, create: false, ..self }
    }
}

/// How a value is read.
#[derive(Debug)]
pub struct GetOptions<'a> {
    /// A larger value, in bytes, is [`StoreError::TooLarge`]. Stores that know the size before they hold the bytes, or
    /// receive them piece by piece, refuse it without holding it.
    pub limit: u64,
    /// Where the bytes go.
    pub into: Target<'a>,
    /// Whether the version is needed. A store with [`Capabilities::swap`] then returns it.
    pub version: bool,
}

/// Where the bytes of a value go.
#[derive(Debug, Default)]
pub enum Target<'a> {
    /// Into [`Got::bytes`].
    #[default]
    Bytes,
    /// In place of what this buffer holds.
    Vec(&'a mut Vec<u8>),
    /// Into this memory, if the value is exactly as long. With another size the memory holds anything.
    Exact(&'a mut [u8]),
}

/// A value that was read.
#[derive(Debug)]
pub struct Got {
    /// How many bytes it has.
    pub size: u64,
    /// The bytes, unless they went into another [`Target`].
    pub bytes: Option<Bytes>,
    /// Its version, if it was requested.
    pub version: Option<Version>,
}

impl Default for GetOptions<'_> {
    fn default() -> Self {
        GetOptions { limit: u64::MAX, into: Target::Bytes, version: false }
    }
}

impl<'a> GetOptions<'a> {
    /// A value of at most `limit` bytes.
    pub fn at_most(limit: u64) -> Self {
        GetOptions { limit, ..Self::default() }
    }

    /// A value and its version.
    pub fn versioned() -> Self {
        GetOptions { version: true, ..Self::default() }
    }

    /// A value that goes there.
    pub fn into(into: Target<'a>) -> Self {
        GetOptions { into, ..Self::default() }
    }

    /// The answer of a store that holds the whole value.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`].
    pub fn answer(
        self,
        key: &StoreKey,
        value: impl Into<Bytes>,
        version: Option<Version>,
    ) -> Result<Option<Got>, StoreError> {
        let value = value.into();
        check_size(key, value.len() as u64, self.limit)?;
        Ok(Some(self.into.take(Got { size: value.len() as u64, bytes: Some(value), version })))
    }
}

impl Target<'_> {
    /// Moves the bytes of a value to where they go.
    #[must_use]
    pub fn take(self, mut got: Got) -> Got {
        match self {
            Target::Bytes => {}
            Target::Vec(buf) => {
                buf.clear();
                buf.extend_from_slice(&got.bytes.take().unwrap_or_default());
            }
            Target::Exact(out) => {
                if let Some(value) = got.bytes.take()
                    && value.len() == out.len()
                {
                    out.copy_from_slice(&value);
                }
            }
        }
        got
    }
}

/// How a value is opened, to be read from in several calls.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotOptions<'a> {
    /// The ranges that will be read first: a remote store may fetch them with the same request. Ranges that leave the
    /// value are errors of the reading, not of the opening.
    pub first: &'a [ByteRange],
    /// Only this version, which an earlier [`Snapshot::version`](super::Snapshot::version) returned.
    pub expect: Option<&'a Version>,
    /// The value is to be replaced: a store with [`Capabilities::swap`] returns a snapshot whose version
    /// [`Precondition::Version`] accepts. It need not be valid for longer than the snapshot exists.
    pub for_update: bool,
    /// A value of more bytes may be [`StoreError::TooLarge`].
    pub limit: u64,
}

impl Default for SnapshotOptions<'_> {
    fn default() -> Self {
        SnapshotOptions { first: &[], expect: None, for_update: false, limit: u64::MAX }
    }
}

impl<'a> SnapshotOptions<'a> {
    /// A value of which these ranges will be read first.
    pub fn first(first: &'a [ByteRange]) -> Self {
        SnapshotOptions { first, ..Self::default() }
    }

    /// This version of a value.
    pub fn expect(version: &'a Version) -> Self {
        SnapshotOptions { expect: Some(version), ..Self::default() }
    }

    /// A value that is to be replaced.
    pub fn for_update() -> Self {
        SnapshotOptions { for_update: true, ..Self::default() }
    }

    /// Whether a value of this version is the expected one.
    pub fn accepts(&self, version: Option<&Version>) -> bool {
        self.expect.is_none_or(|expected| version == Some(expected))
    }

    /// How a store reads all of the value instead.
    pub fn to_get(&self) -> GetOptions<'static> {
        let version = self.for_update || self.expect.is_some();
        GetOptions { version, ..GetOptions::at_most(self.limit) }
    }

    /// A snapshot of a value that was read as [`SnapshotOptions::to_get`] specifies: an [`InMemorySnapshot`], or a box of
    /// one. `None` if the key is absent or the value is not the expected version.
    pub fn in_memory<S: From<InMemorySnapshot>>(
        &self,
        key: &StoreKey,
        got: Option<Got>,
    ) -> Option<S> {
        let Got { bytes, version, .. } = got.filter(|got| self.accepts(got.version.as_ref()))?;
        let mut whole = InMemorySnapshot::new(key, bytes.unwrap_or_default());
        whole.version = version;
        Some(whole.into())
    }
}

/// How keys directly below a prefix are listed.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ListOptions {
    /// The caller will look below each prefix: where it takes a further request to know, a prefix may be listed below
    /// which there is no key.
    pub candidates: bool,
    /// This number of keys and prefixes is enough, any of them: a store may leave out the others.
    pub limit: Option<usize>,
}

impl ListOptions {
    /// Prefixes need not have keys.
    pub const CANDIDATES: ListOptions = ListOptions { candidates: true, limit: None };

    /// This number of keys and prefixes is enough.
    pub fn at_most(limit: usize) -> Self {
        ListOptions { limit: Some(limit), ..Self::default() }
    }
}

/// What must hold for a value to be set or erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition<'a> {
    /// Nothing.
    Always,
    /// Nothing, and the store need not take care that others who compare and swap see it. For callers who work without
    /// the guard.
    Unchecked,
    /// The key is absent.
    Absent,
    /// The value has this version.
    Version(&'a Version),
}

/// The value that could not be set, of those that [`Store::set_all`](super::Store::set_all) was given.
#[derive(Debug)]
pub struct NotSet {
    /// Its index.
    pub at: usize,
    /// Why.
    pub error: StoreError,
}

impl<'a> Precondition<'a> {
    /// Nothing, for callers with or without the guard.
    pub fn always(guarded: bool) -> Self {
        if guarded { Precondition::Always } else { Precondition::Unchecked }
    }

    /// This version, or absent.
    pub fn unchanged(was: Option<&'a Version>) -> Self {
        was.map_or(Precondition::Absent, Precondition::Version)
    }

    /// Whether a key may be changed whose value has this version now (`None`: absent).
    pub fn holds(&self, is: Option<&Version>) -> bool {
        match self {
            Precondition::Always | Precondition::Unchecked => true,
            Precondition::Absent => is.is_none(),
            Precondition::Version(was) => is == Some(*was),
        }
    }

    /// Whether the key's value matters.
    pub fn compares(&self) -> bool {
        matches!(self, Precondition::Absent | Precondition::Version(_))
    }

    /// The same without borrowing the version, which is the second; [`Precondition::with_version`] puts them together.
    pub(super) fn split(self) -> (Precondition<'static>, Option<Version>) {
        match self {
            Precondition::Always => (Precondition::Always, None),
            Precondition::Unchecked => (Precondition::Unchecked, None),
            Precondition::Absent => (Precondition::Absent, None),
            Precondition::Version(version) => (Precondition::Absent, Some(version.clone())),
        }
    }

    pub(super) fn with_version(self, version: Option<&'a Version>) -> Self {
        version.map_or(self, Precondition::Version)
    }
}

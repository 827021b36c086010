//! Short forms of the calls that tests of stores make most.

use bytes::Bytes;

use zarr_core::StoreError;
use zarr_core::store::{
    ByteRange, GetOptions, ListOptions, Listing, Payload, Precondition, SnapshotOptions, StoreKey,
    StorePrefix, SyncSnapshot, SyncStore, Target, Version,
};

/// Short forms of the calls on a [`SyncStore`], for tests; their errors are those of the calls.
pub trait ShortCalls: SyncStore {
    /// A value and its version.
    fn versioned(&self, key: &StoreKey) -> Result<Option<(Bytes, Version)>, StoreError> {
        let got = self.get(key, GetOptions::versioned())?;
        Ok(got.and_then(|got| Some((got.bytes?, got.version?))))
    }

    /// Sets or erases a value if it still has this version (`None`: is absent).
    fn swap(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        self.put(key, value, Precondition::unchanged(was))
    }

    /// Sets or erases a value without a guard.
    fn put_unchecked(&self, key: &StoreKey, value: Option<Payload<'_>>) -> Result<(), StoreError> {
        self.put(key, value, Precondition::Unchecked).map(drop)
    }

    /// The value as it is, to be read from.
    fn snapshot(&self, key: &StoreKey) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        self.open(key, SnapshotOptions::default())
    }

    /// This version of the value, to be read from.
    fn snapshot_of(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        self.open(key, SnapshotOptions::expect(version))
    }

    /// Parts of a value.
    fn ranges(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        self.open(key, SnapshotOptions::first(ranges))?.map(|value| value.read(ranges)).transpose()
    }

    /// Reads a value into memory of exactly its size; returns the size of the value.
    fn exactly(&self, key: &StoreKey, out: &mut [u8]) -> Result<Option<u64>, StoreError> {
        Ok(self.get(key, GetOptions::into(Target::Exact(out)))?.map(|got| got.size))
    }

    /// The keys below a prefix.
    fn keys_below(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
        Ok(self.list_prefix(prefix)?.keys)
    }

    /// The keys and prefixes directly below a prefix.
    fn dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.list_dir(prefix, ListOptions::default())
    }
}

impl<S: SyncStore + ?Sized> ShortCalls for S {}

//! The calls on a store as the hierarchy makes them; goes call by call.

use super::{
    ByteRange, Bytes, GetOptions, ListOptions, Listing, Payload, Precondition, Snapshot,
    SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore, Target, Version,
};
use crate::error::StoreError;

type Result<T> = std::result::Result<T, StoreError>;

/// A store that is capable of what it will be asked.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a>(&'a dyn Store);

impl dyn Store {
    pub(crate) fn readable(&self) -> Option<Side<'_>> {
        self.capabilities().read.then_some(Side(self))
    }
    pub(crate) fn writeable(&self) -> Option<Side<'_>> {
        self.capabilities().write.then_some(Side(self))
    }
    pub(crate) fn listable(&self) -> Option<Side<'_>> {
        self.capabilities().list.then_some(Side(self))
    }
    pub(crate) fn conditional(&self) -> Option<Side<'_>> {
        self.capabilities().swap.then_some(Side(self))
    }
    pub(crate) fn in_flight(&self) -> usize {
        self.capabilities().in_flight
    }
}

impl dyn SyncStore {
    pub(crate) fn is_near(&self) -> bool {
        self.capabilities().cheap_ranges
    }
    pub(crate) fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn SyncSnapshot>>> {
        self.open(key, SnapshotOptions::default())
    }
    pub(crate) fn pin_as(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn SyncSnapshot>>> {
        self.open(key, SnapshotOptions::expect(version))
    }
    pub(crate) fn get_into(&self, key: &StoreKey, limit: u64, buf: &mut Vec<u8>) -> Result<bool> {
        Ok(self.get(key, GetOptions { limit, ..GetOptions::into(Target::Vec(buf)) })?.is_some())
    }
    pub(crate) fn get_exactly(&self, key: &StoreKey, out: &mut [u8]) -> Result<Option<u64>> {
        Ok(self.get(key, GetOptions::into(Target::Exact(out)))?.map(|got| got.size))
    }
}

impl Side<'_> {
    pub(crate) async fn get_at_most(self, key: &StoreKey, limit: u64) -> Result<Option<Bytes>> {
        let got = self.0.get(key, GetOptions::at_most(limit)).await?;
        Ok(got.map(|got| got.bytes.unwrap_or_default()))
    }
    pub(crate) async fn pin_for(
        self,
        key: &StoreKey,
        first: &[ByteRange],
    ) -> Result<Option<Box<dyn Snapshot>>> {
        self.0.open(key, SnapshotOptions::first(first)).await
    }
    pub(crate) async fn pin_as(
        self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn Snapshot>>> {
        self.0.open(key, SnapshotOptions::expect(version)).await
    }
    pub(crate) async fn pin_versioned(
        self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Box<dyn Snapshot>, Version)>> {
        let how = SnapshotOptions { limit, ..SnapshotOptions::for_update() };
        let opened = self.0.open(key, how).await?;
        let Some(value) = opened else { return Ok(None) };
        let version = value.version().ok_or_else(no_version)?;
        Ok(Some((value, version)))
    }
    pub(crate) async fn set(self, key: &StoreKey, value: Payload<'_>) -> Result<()> {
        self.0.put(key, Some(value), Precondition::Always).await.map(drop)
    }
    pub(crate) async fn erase(self, key: &StoreKey) -> Result<()> {
        self.0.put(key, None, Precondition::Always).await.map(drop)
    }
    pub(crate) async fn set_unguarded(self, key: &StoreKey, value: Payload<'_>) -> Result<()> {
        self.0.put(key, Some(value), Precondition::Unchecked).await.map(drop)
    }
    pub(crate) async fn erase_unguarded(self, key: &StoreKey) -> Result<()> {
        self.0.put(key, None, Precondition::Unchecked).await.map(drop)
    }
    pub(crate) async fn set_if(
        self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool> {
        self.0.put(key, value, Precondition::unchanged(was)).await
    }
    pub(crate) fn erases(self) -> bool {
        self.0.capabilities().swap_erase
    }
    pub(crate) fn creates(self) -> bool {
        self.0.capabilities().create
    }
    pub(crate) async fn create(
        self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>> {
        self.0.create(key, value, absent, leftovers).await
    }
    pub(crate) async fn erase_prefix(self, prefix: &StorePrefix) -> Result<()> {
        self.0.erase_prefix(prefix).await
    }
    pub(crate) async fn is_link(self, prefix: &StorePrefix) -> Result<bool> {
        self.0.link(prefix, false).await
    }
    pub(crate) async fn erase_link(self, prefix: &StorePrefix) -> Result<bool> {
        self.0.link(prefix, true).await
    }
    pub(crate) async fn flush(self) -> Result<()> {
        self.0.flush().await
    }
    pub(crate) async fn list_prefix(self, prefix: &StorePrefix) -> Result<Vec<StoreKey>> {
        Ok(self.0.list_prefix(prefix).await?.keys)
    }
    pub(crate) async fn list_below(self, prefix: &StorePrefix) -> Result<Listing> {
        self.0.list_prefix(prefix).await
    }
    pub(crate) async fn list_dir(self, prefix: &StorePrefix) -> Result<Listing> {
        self.0.list_dir(prefix, ListOptions::default()).await
    }
    pub(crate) async fn list_dir_candidates(self, prefix: &StorePrefix) -> Result<Listing> {
        self.0.list_dir(prefix, ListOptions::CANDIDATES).await
    }
}

fn no_version() -> StoreError {
    StoreError::Backend("the store compares and swaps, but returned no version of a value".into())
}

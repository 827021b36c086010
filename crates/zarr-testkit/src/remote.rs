//! Makes a store a remote one.

use std::sync::Arc;

use async_trait::async_trait;
use zarr_core::StoreError;
use zarr_core::store::{
    ByteRange, Bytes, Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition,
    Snapshot, SnapshotOptions, Store, StoreKey, StorePrefix, Version,
};

/// Any store, as a remote one: readers use its futures and those of its snapshots, with many requests in flight at the same
/// time.
///
/// ```
/// use std::sync::Arc;
///
/// use zarr_core::store::Store;
/// use zarr_testkit::Remote;
/// # fn of(store: Arc<dyn Store>) {
/// let store: Arc<dyn Store> = Arc::new(Remote(store));
/// assert!(!store.capabilities().local && store.as_sync().is_none());
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Remote(pub Arc<dyn Store>);

#[async_trait]
impl Store for Remote {
    fn name(&self) -> String {
        self.0.name()
    }

    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    async fn places(&self) -> Result<Vec<String>, StoreError> {
        self.0.places().await
    }

    async fn refused_targets(&self) -> Result<Vec<StoreError>, StoreError> {
        self.0.refused_targets().await
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.0.public_options()
    }

    /// Those of the store, but not `local`, and without `cheap_ranges`.
    fn capabilities(&self) -> Capabilities {
        Capabilities { local: false, cheap_ranges: false, ..self.0.capabilities() }
    }
    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        self.0.get(key, how).await
    }
    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>, StoreError> {
        let opened = self.0.open(key, how).await?;
        Ok(opened.map(|value| Box::new(RemoteSnapshot(value)) as _))
    }
    async fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        self.0.put(key, value, only_if).await
    }
    async fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        self.0.create(key, value, absent, leftovers).await
    }
    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.0.erase_prefix(prefix).await
    }
    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.0.list_prefix(prefix).await
    }
    async fn list_dir(
        &self,
        prefix: &StorePrefix,
        how: ListOptions,
    ) -> Result<Listing, StoreError> {
        self.0.list_dir(prefix, how).await
    }
    async fn link(&self, prefix: &StorePrefix, erase: bool) -> Result<bool, StoreError> {
        self.0.link(prefix, erase).await
    }
    async fn flush(&self) -> Result<(), StoreError> {
        self.0.flush().await
    }
}

/// A value whose readings are futures.
struct RemoteSnapshot(Box<dyn Snapshot>);

#[async_trait]
impl Snapshot for RemoteSnapshot {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        self.0.read(ranges).await
    }
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn version(&self) -> Option<Version> {
        self.0.version()
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::store::from_sync;

    use super::*;
    use crate::check_store;
    use crate::memory::Memory;

    #[test]
    fn a_remote_store_keeps_the_promises_of_stores() {
        let make = || -> Arc<dyn Store> { Arc::new(Remote(from_sync(Memory::default()))) };
        check_store(make);
        assert!(!make().capabilities().local && make().as_sync().is_none());
    }
}

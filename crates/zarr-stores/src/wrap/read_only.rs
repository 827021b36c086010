//! Keeps a store from being changed.

use std::sync::Arc;

use async_trait::async_trait;
use zarr_core::StoreError;
use zarr_core::store::{
    Capabilities, GetOptions, Got, ListOptions, Listing, Result, Snapshot, SnapshotOptions, Store,
    StoreKey, StorePrefix,
};

/// Any store, to be read and listed only: it is not capable of changes.
///
/// ```
/// use std::sync::Arc;
/// use zarr_stores::ReadOnlyStore;
/// # fn of(store: Arc<dyn zarr_core::store::Store>) {
/// let store = ReadOnlyStore::new(store);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ReadOnlyStore(Arc<dyn Store>);

impl ReadOnlyStore {
    /// `store`, without its ways to write.
    pub fn new(store: Arc<dyn Store>) -> Self {
        ReadOnlyStore(store)
    }
}

#[async_trait]
impl Store for ReadOnlyStore {
    fn name(&self) -> String {
        self.0.name()
    }

    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    async fn places(&self) -> Result<Vec<String>> {
        self.0.places().await
    }

    async fn refused_targets(&self) -> Result<Vec<StoreError>> {
        self.0.refused_targets().await
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.0.public_options()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities().read_only()
    }

    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        self.0.get(key, how).await
    }

    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>> {
        self.0.open(key, how).await
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        self.0.list_prefix(prefix).await
    }

    async fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing> {
        self.0.list_dir(prefix, how).await
    }
}

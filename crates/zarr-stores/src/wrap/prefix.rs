//! Makes a store of the part of a store below a prefix.

use std::sync::Arc;

use async_trait::async_trait;
use zarr_core::StoreError;
use zarr_core::store::{
    Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition, Result, Snapshot,
    SnapshotOptions, Store, StoreKey, StorePrefix,
};

/// What is below a prefix of any store; its keys are the rests that follow the prefix.
///
/// It is capable of what the store behind it is. Errors name keys in full.
///
/// ```
/// use std::sync::Arc;
/// use zarr_core::store::StorePrefix;
/// use zarr_stores::PrefixStore;
/// # fn of(store: Arc<dyn zarr_core::store::Store>) -> Result<(), zarr_core::StoreError> {
/// let prefix = StorePrefix::new("ocean/2026/")?;
/// let store = PrefixStore::new(store, prefix);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PrefixStore {
    store: Arc<dyn Store>,
    prefix: StorePrefix,
}

impl PrefixStore {
    /// What is below `prefix` in `store`.
    pub fn new(store: Arc<dyn Store>, prefix: StorePrefix) -> Self {
        PrefixStore { store, prefix }
    }

    fn key(&self, key: &StoreKey) -> Result<StoreKey> {
        self.prefix.key(key.as_str())
    }

    fn keys(&self, keys: &[StoreKey]) -> Result<Vec<StoreKey>> {
        keys.iter().map(|key| self.key(key)).collect()
    }

    fn below(&self, prefix: &StorePrefix) -> Result<StorePrefix> {
        StorePrefix::new(format!("{}{prefix}", self.prefix))
    }

    /// What a listing found, as keys of this store.
    fn own(&self, keys: &[StoreKey]) -> Result<Vec<StoreKey>> {
        keys.iter().filter_map(|key| self.prefix.strip(key)).map(StoreKey::new).collect()
    }

    fn listing(&self, found: Listing) -> Result<Listing> {
        let len = self.prefix.as_str().len();
        let prefixes = found.prefixes.iter().map(|below| StorePrefix::new(&below.as_str()[len..]));
        let (keys, prefixes) = (self.own(&found.keys)?, prefixes.collect::<Result<_>>()?);
        Ok(Listing { keys, prefixes, ..found })
    }
}

#[async_trait]
impl Store for PrefixStore {
    fn name(&self) -> String {
        let (name, prefix) = (self.store.name(), self.prefix.as_str());
        // The slashes of `memory://` are no ending.
        let slash = if name.ends_with('/') || prefix.is_empty() { "" } else { "/" };
        format!("{name}{slash}{}", prefix.trim_end_matches('/'))
    }

    fn warnings(&self) -> Vec<String> {
        self.store.warnings()
    }

    async fn places(&self) -> Result<Vec<String>> {
        let places = self.store.places().await?;
        // What references lead to is not below the prefix.
        let is_own = places == [self.store.name()];
        Ok(if is_own { vec![self.name()] } else { places })
    }

    async fn refused_targets(&self) -> Result<Vec<StoreError>> {
        self.store.refused_targets().await
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.store.public_options()
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        self.store.get(&self.key(key)?, how).await
    }

    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>> {
        self.store.open(&self.key(key)?, how).await
    }

    async fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool> {
        self.store.put(&self.key(key)?, value, only_if).await
    }

    async fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>> {
        let (absent, leftovers) = (self.keys(absent)?, self.keys(leftovers)?);
        let there = self.store.create(&self.key(key)?, value, &absent, &leftovers).await?;
        Ok(there.map(|there| self.own(&[there])).transpose()?.and_then(|mut own| own.pop()))
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        self.store.erase_prefix(&self.below(prefix)?).await
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        self.listing(self.store.list_prefix(&self.below(prefix)?).await?)
    }

    async fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing> {
        self.listing(self.store.list_dir(&self.below(prefix)?, how).await?)
    }

    async fn link(&self, prefix: &StorePrefix, erase: bool) -> Result<bool> {
        self.store.link(&self.below(prefix)?, erase).await
    }

    async fn flush(&self) -> Result<()> {
        self.store.flush().await
    }
}

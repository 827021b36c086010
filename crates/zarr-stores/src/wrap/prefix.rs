//! Makes a store of the part of a store below a prefix.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use zarr_core::StoreError;
use zarr_core::store::aio::{
    ConditionalStore, ListableStore, Pinned, ReadableStore, Store, WriteableStore,
};
use zarr_core::store::{ByteRange, Listing, Payload, StoreKey, StorePrefix, Version};

use super::Sides;

/// The part of a store below a prefix; keys are those that follow the prefix.
///
/// Has the sides of the store behind it, and no others. Errors name keys in full.
///
/// ```
/// use std::sync::Arc;
/// use zarr_core::store::StorePrefix;
/// use zarr_stores::{PrefixStore, wrap};
/// # fn of(store: Arc<dyn zarr_core::store::Store>) -> Result<(), zarr_core::StoreError> {
/// let prefix = StorePrefix::new("ocean/2026/")?;
/// let store = wrap(store, |store| PrefixStore::new(store, prefix));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PrefixStore {
    store: Arc<dyn Store>,
    prefix: StorePrefix,
}

impl PrefixStore {
    /// The part of `store` below `prefix`.
    pub fn new(store: Arc<dyn Store>, prefix: StorePrefix) -> Self {
        PrefixStore { store, prefix }
    }

    fn key(&self, key: &StoreKey) -> Result<StoreKey, StoreError> {
        self.prefix.key(key.as_str())
    }

    fn below(&self, prefix: &StorePrefix) -> Result<StorePrefix, StoreError> {
        StorePrefix::new(format!("{}{prefix}", self.prefix))
    }

    /// What a listing found, as keys of this store.
    fn own(&self, keys: &[StoreKey]) -> Result<Vec<StoreKey>, StoreError> {
        keys.iter().filter_map(|key| self.prefix.strip(key)).map(StoreKey::new).collect()
    }

    fn listing(&self, found: Listing) -> Result<Listing, StoreError> {
        let len = self.prefix.as_str().len();
        let prefixes = found.prefixes.iter().map(|below| StorePrefix::new(&below.as_str()[len..]));
        Ok(Listing {
            keys: self.own(&found.keys)?,
            prefixes: prefixes.collect::<Result<_, _>>()?,
            left_out: found.left_out,
        })
    }
}

impl Store for PrefixStore {
    fn name(&self) -> String {
        let (name, prefix) = (self.store.name(), self.prefix.as_str());
        // The slashes of `memory://` are no ending.
        let slash = if name.ends_with('/') || prefix.is_empty() { "" } else { "/" };
        format!("{name}{slash}{}", prefix.trim_end_matches('/'))
    }
    fn readable(&self) -> Option<&dyn ReadableStore> {
        self.store.readable().map(|_| self as _)
    }
    fn writeable(&self) -> Option<&dyn WriteableStore> {
        self.store.writeable().map(|_| self as _)
    }
    fn listable(&self) -> Option<&dyn ListableStore> {
        self.store.listable().map(|_| self as _)
    }
    fn conditional(&self) -> Option<&dyn ConditionalStore> {
        self.store.conditional().map(|_| self as _)
    }
    fn in_flight(&self) -> usize {
        self.store.in_flight()
    }
    fn waits(&self) -> bool {
        self.store.waits()
    }
}

#[async_trait]
impl ReadableStore for PrefixStore {
    async fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        self.store.reader("get")?.get(&self.key(key)?).await
    }
    async fn get_at_most(&self, key: &StoreKey, limit: u64) -> Result<Option<Bytes>, StoreError> {
        self.store.reader("get")?.get_at_most(&self.key(key)?, limit).await
    }
    async fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        self.store.reader("get")?.get_partial_values(&self.key(key)?, ranges).await
    }
    async fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        self.store.reader("get")?.pin(&self.key(key)?).await
    }
    async fn pin_for(
        &self,
        key: &StoreKey,
        first: &[ByteRange],
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        self.store.reader("get")?.pin_for(&self.key(key)?, first).await
    }
    async fn pin_as(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        self.store.reader("get")?.pin_as(&self.key(key)?, version).await
    }
}

#[async_trait]
impl WriteableStore for PrefixStore {
    async fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        self.store.writer("set")?.set(&self.key(key)?, value).await
    }
    async fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        self.store.writer("erase")?.erase(&self.key(key)?).await
    }
    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.store.writer("erase_prefix")?.erase_prefix(&self.below(prefix)?).await
    }
    async fn is_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        self.store.writer("is_link")?.is_link(&self.below(prefix)?).await
    }
    async fn erase_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        self.store.writer("erase_link")?.erase_link(&self.below(prefix)?).await
    }
    async fn flush(&self) -> Result<(), StoreError> {
        self.store.writer("flush")?.flush().await
    }
    async fn set_unguarded(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        self.store.writer("set")?.set_unguarded(&self.key(key)?, value).await
    }
    async fn erase_unguarded(&self, key: &StoreKey) -> Result<(), StoreError> {
        self.store.writer("erase")?.erase_unguarded(&self.key(key)?).await
    }
}

#[async_trait]
impl ConditionalStore for PrefixStore {
    async fn get_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StoreError> {
        self.store.swapper("get")?.get_versioned(&self.key(key)?, limit).await
    }
    async fn pin_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Box<dyn Pinned>, Version)>, StoreError> {
        self.store.swapper("get")?.pin_versioned(&self.key(key)?, limit).await
    }
    async fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        self.store.swapper("set_if")?.set_if(&self.key(key)?, value, was).await
    }

    fn erases(&self) -> bool {
        self.store.conditional().is_some_and(ConditionalStore::erases)
    }

    fn creates(&self) -> bool {
        self.store.conditional().is_some_and(ConditionalStore::creates)
    }

    async fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        let keys = |keys: &[StoreKey]| -> Result<Vec<_>, StoreError> {
            keys.iter().map(|key| self.key(key)).collect()
        };
        let (absent, leftovers) = (keys(absent)?, keys(leftovers)?);
        let created = self.store.swapper("create")?;
        let there = created.create(&self.key(key)?, value, &absent, &leftovers).await?;
        Ok(there.map(|there| self.own(&[there])).transpose()?.and_then(|mut own| own.pop()))
    }
}

#[async_trait]
impl ListableStore for PrefixStore {
    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
        let found = self.store.lister("list")?.list_prefix(&self.below(prefix)?).await?;
        self.own(&found)
    }
    async fn list_below(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.listing(self.store.lister("list")?.list_below(&self.below(prefix)?).await?)
    }
    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.listing(self.store.lister("list")?.list_dir(&self.below(prefix)?).await?)
    }
    async fn list_dir_candidates(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.listing(self.store.lister("list")?.list_dir_candidates(&self.below(prefix)?).await?)
    }
}

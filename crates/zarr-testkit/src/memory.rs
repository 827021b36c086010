//! Stores the arrays that the checks write.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::bytes::register_bytes;
use zarr_core::store::{
    Capabilities, GetOptions, Got, Listing, Payload, Precondition, Store, StoreKey, StorePrefix,
    SyncStore, from_sync,
};
use zarr_core::{
    Array, ArrayMetadata, Dialect, Hierarchy, NodePath, OpenOptions, Registry, Result, StoreError,
    sync,
};

/// A map.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<BTreeMap<StoreKey, Bytes>>);

impl Memory {
    fn map(&self) -> sync::MutexGuard<'_, BTreeMap<StoreKey, Bytes>> {
        sync::lock(&self.0)
    }
}

impl SyncStore for Memory {
    fn name(&self) -> String {
        "the kit's memory".into()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { write: true, ..Capabilities::READ_ONLY }
    }
    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        let Some(value) = self.map().get(key).cloned() else { return Ok(None) };
        how.answer(key, value, None)
    }
    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        _: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        match value.map(Payload::into_bytes).transpose()? {
            Some(value) => self.map().insert(key.clone(), value),
            None => self.map().remove(key),
        };
        Ok(true)
    }
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.map().retain(|key, _| prefix.strip(key).is_none());
        Ok(())
    }
    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let keys = self.map().keys().filter(|key| prefix.strip(key).is_some()).cloned().collect();
        Ok(Listing { keys, ..Listing::default() })
    }
}

/// One array in its own store, in some dialect.
pub(super) struct Home {
    store: Arc<dyn Store>,
    path: NodePath,
}

impl Home {
    /// Creates an array in a new store, with this registry.
    pub fn create(
        registry: &Registry,
        dialect: Dialect,
        metadata: ArrayMetadata,
    ) -> Result<(Home, Array)> {
        let store = from_sync(Memory::default());
        let home = Home { store, path: "/a".parse()? };
        let options = options(registry).dialect(dialect);
        let format = zarr_core::format::of_dialect(dialect);
        let hierarchy = Hierarchy::create(home.store.clone(), format, &options)?;
        let array = hierarchy.create_array(&home.path).from_metadata(metadata).create()?;
        Ok((home, array))
    }

    /// Opens the array again, with another registry.
    pub fn open(&self, registry: &Registry) -> Result<Array> {
        Hierarchy::open(self.store.clone(), &options(registry))?.array(&self.path)
    }
}

/// Handles that write, on one thread, with `bytes` if the registry lacks it.
fn options(registry: &Registry) -> OpenOptions {
    OpenOptions::new(registry.clone().with(register_bytes)).read_write().threads(1)
}

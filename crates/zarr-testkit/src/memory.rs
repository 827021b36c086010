//! Stores the arrays that the checks write.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::bytes::register_bytes;
use zarr_core::data_type::CoreType;
use zarr_core::store::{
    Capabilities, GetOptions, Got, Listing, Payload, Precondition, Store, StoreKey, StorePrefix,
    SyncStore, from_sync,
};
use zarr_core::{
    Array, ArrayMetadata, Dialect, Hierarchy, Json, NodePath, Object, OpenOptions, Registry,
    Result, StoreError, sync,
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
        Capabilities { write: true, local: true, ..Capabilities::READ_ONLY }
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

    /// The keys of its store, in order.
    pub fn keys(&self) -> Vec<String> {
        let listed = self.store.to_sync().list_prefix(&StorePrefix::root());
        let keys = listed.expect("memory is listed").keys;
        keys.into_iter().map(|key| key.as_str().to_owned()).collect()
    }

    /// Changes the array's document, of final v3.
    pub fn edit_document(&self, edit: impl FnOnce(&mut Object)) {
        let (store, key) = (self.store.to_sync(), StoreKey::new("a/zarr.json"));
        let key = key.expect("a good key");
        let got = store.get(&key, GetOptions::default()).expect("memory is read");
        let bytes = got.and_then(|got| got.bytes).expect("the array has a document");
        let json = Json::parse(&bytes).expect("it is JSON");
        let mut document = json.as_object().expect("it is an object").clone();
        edit(&mut document);
        let text = Json::from(document).to_string().into_bytes();
        let put = store.put(&key, Some(text.into()), Precondition::Always);
        assert!(put.expect("memory is written"), "nothing else is asked for");
    }

    /// Opens the array again, with another registry.
    pub fn open(&self, registry: &Registry) -> Result<Array> {
        Hierarchy::open(self.store.clone(), &options(registry))?.array(&self.path)
    }
}

/// An array of `uint16` with a regular grid.
pub(super) fn described(shape: &[u64], chunks: &[u64]) -> ArrayMetadata {
    ArrayMetadata::new(shape, CoreType::Uint16.into(), chunks).expect("such an array can be")
}

/// Handles that write, on one thread, with `bytes` if the registry lacks it.
fn options(registry: &Registry) -> OpenOptions {
    OpenOptions::new(registry.clone().with(register_bytes)).read_write().threads(1)
}

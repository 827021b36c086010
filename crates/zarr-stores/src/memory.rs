//! Stores keys and values in a map in this process's memory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, RwLock};

use bytes::Bytes;
use zarr_core::store::{
    Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition, Result,
    SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore, Version, from_sync,
};
use zarr_core::{Access, StoreError, sync};

/// A map from keys to values. Clones share it; it ends with the last of them.
///
/// Values are the store's own: what a caller does with its buffers after `set`, or with what `get`
/// returned, changes nothing here (T-62). A value is handed out without copying.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    name: Option<Box<str>>,
    read_only: bool,
    values: Arc<RwLock<Values>>,
}

#[derive(Debug, Default)]
struct Values {
    /// Ordered, so that the keys of a prefix lie together.
    map: BTreeMap<Box<str>, Value>,
    /// How many values were ever set: no two of them share a number, so a number is a version.
    sets: u64,
}

#[derive(Debug)]
struct Value {
    bytes: Bytes,
    set: u64,
}

impl Value {
    fn version(&self) -> Version {
        Version::new(self.set.to_le_bytes().to_vec())
    }
}

impl Values {
    fn set(&mut self, key: &StoreKey, bytes: Bytes) {
        self.sets += 1;
        let value = Value { bytes, set: self.sets };
        self.map.insert(key.as_str().into(), value);
    }

    /// The keys from `from` on, in order.
    fn from<'a>(&'a self, from: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let range = (Bound::Included(from), Bound::Unbounded);
        self.map.range::<str, _>(range).map(|(key, _)| &**key)
    }

    /// The keys that begin with `prefix`, in order.
    fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.from(prefix).take_while(move |key| key.starts_with(prefix))
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same map, seen through a handle that may do only so much.
    pub fn access(mut self, access: Access) -> Self {
        self.read_only = access == Access::ReadOnly;
        self
    }

    /// The store of this name in this process; made empty when it was not named before.
    ///
    /// A named store lives as long as the process.
    pub fn named(name: &str) -> Self {
        static NAMED: Mutex<BTreeMap<Box<str>, MemoryStore>> = Mutex::new(BTreeMap::new());
        let mut named = sync::lock(&NAMED);
        let store = named
            .entry(name.into())
            .or_insert_with(|| MemoryStore { name: Some(name.into()), ..MemoryStore::default() });
        store.clone()
    }

    // A poisoned lock is taken all the same: no step on the map can be left half done.
    fn values(&self) -> sync::RwLockReadGuard<'_, Values> {
        sync::read(&self.values)
    }

    fn values_mut(&self) -> Result<sync::RwLockWriteGuard<'_, Values>> {
        if self.read_only { Err(StoreError::ReadOnly) } else { Ok(sync::write(&self.values)) }
    }
}

/// `memory://` opens a fresh store, `memory://NAME` the process's store of that name.
pub(crate) fn open(url: &str, access: Access) -> Result<Arc<dyn Store>> {
    let name = url.split_once("://").map_or(url, |(_, name)| name);
    let store = match name {
        "" => MemoryStore::new(),
        name => MemoryStore::named(name),
    };
    Ok(from_sync(store.access(access)))
}

impl SyncStore for MemoryStore {
    fn name(&self) -> String {
        format!("memory://{}", self.name.as_deref().unwrap_or_default())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { create: true, cheap_ranges: true, ..Capabilities::FULL }
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        let values = self.values();
        let Some(value) = values.map.get(key.as_str()) else { return Ok(None) };
        let version = how.version.then(|| value.version());
        how.answer(key, value.bytes.clone(), version)
    }

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>> {
        // Versions are small here, and always known.
        Ok(how.in_memory(key, self.get(key, GetOptions { version: true, ..how.to_get() })?))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool> {
        let bytes = value.map(Payload::into_bytes).transpose()?;
        let mut values = self.values_mut()?;
        if only_if.compares() {
            let is = values.map.get(key.as_str()).map(Value::version);
            if !only_if.holds(is.as_ref()) {
                return Ok(false);
            }
        }
        match bytes {
            Some(bytes) => values.set(key, bytes),
            None => {
                values.map.remove(key.as_str());
            }
        }
        Ok(true)
    }

    fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>> {
        let bytes = value.into_bytes()?;
        let mut values = self.values_mut()?;
        let mut keys = [key].into_iter().chain(absent);
        if let Some(there) = keys.find(|key| values.map.contains_key(key.as_str())) {
            return Ok(Some(there.clone()));
        }
        for key in leftovers {
            values.map.remove(key.as_str());
        }
        values.set(key, bytes);
        Ok(None)
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        let mut values = self.values_mut()?;
        let below: Vec<Box<str>> = values.below(prefix.as_str()).map(Box::from).collect();
        for key in below {
            values.map.remove(&key);
        }
        Ok(())
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        let values = self.values();
        let keys = values.below(prefix.as_str()).map(StoreKey::new);
        Ok(keys.collect::<Result<Vec<_>, _>>()?.into())
    }

    /// Steps over what is below each prefix it finds.
    fn list_dir(&self, prefix: &StorePrefix, _: ListOptions) -> Result<Listing> {
        let values = self.values();
        let prefix = prefix.as_str();
        let mut listing = Listing::default();
        let mut from = prefix.to_owned();
        while let Some(key) = values.from(&from).next().filter(|key| key.starts_with(prefix)) {
            match key[prefix.len()..].find('/') {
                None => {
                    listing.keys.push(StoreKey::new(key)?);
                    from = format!("{key}\0");
                }
                Some(at) => {
                    let end = prefix.len() + at;
                    listing.prefixes.push(StorePrefix::new(&key[..=end])?);
                    // `0` is what follows `/`, so this is the first text past everything below.
                    from = format!("{}0", &key[..end]);
                }
            }
        }
        Ok(listing)
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::store::Target;

    use super::*;

    /// V24, D-130 … D-132, D-134 … D-137, Q14, F-110, F-111.
    #[test]
    fn keeps_the_promises_of_stores() {
        zarr_testkit::check_store(|| from_sync(MemoryStore::new()));
    }

    #[test]
    fn clones_share_and_named_stores_are_found_again() {
        let key = StoreKey::new("k").unwrap();
        let one = MemoryStore::named("found again");
        one.clone().set(&key, Payload::new(b"v")).unwrap();
        assert_eq!(one.name(), "memory://found again");
        let again = open("memory://found again", Access::ReadOnly).unwrap();
        let again = again.to_sync();
        let value = again.value(&key).unwrap();
        assert_eq!(value.as_deref(), Some(b"v".as_slice()));
        let refused = again.erase(&key);
        assert!(matches!(refused, Err(StoreError::ReadOnly)));
        let fresh = open("memory://", Access::ReadWrite).unwrap();
        assert_eq!(fresh.to_sync().value(&key).unwrap(), None);
    }

    /// T-62.
    #[test]
    fn callers_buffers_are_their_own() {
        let store = MemoryStore::new();
        let key = StoreKey::new("k").unwrap();
        let mut buffer = vec![1, 2, 3];
        store.set(&key, Payload::new(&buffer[..])).unwrap();
        buffer.fill(9);
        assert_eq!(store.value(&key).unwrap().unwrap()[..], [1, 2, 3]);
        store.get(&key, GetOptions::into(Target::Vec(&mut buffer))).unwrap();
        buffer.fill(9);
        let before = store.value(&key).unwrap().unwrap();
        store.set(&key, Payload::new(vec![4])).unwrap();
        assert_eq!(before[..], [1, 2, 3]);
        assert_eq!(store.value(&key).unwrap().unwrap()[..], [4]);
    }

    #[test]
    fn a_value_set_again_has_another_version() {
        let store = MemoryStore::new();
        let key = StoreKey::new("k").unwrap();
        store.set(&key, Payload::new(b"v")).unwrap();
        let first = store.get(&key, GetOptions::versioned()).unwrap().unwrap().version.unwrap();
        store.erase(&key).unwrap();
        store.set(&key, Payload::new(b"v")).unwrap();
        assert!(!store.put(&key, None, Precondition::Version(&first)).unwrap());
    }
}

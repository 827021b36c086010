//! Stores keys and values in a map in this process's memory.

use std::array;
use std::collections::{BTreeMap, BTreeSet, HashMap};
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
    values: Arc<Values>,
}

/// Who adds or erases keys holds `keys`, and then the locks of their parts; who reads or replaces a value only that of its part.
#[derive(Debug)]
struct Values {
    keys: RwLock<Keys>,
    /// The values, in parts with separate locks: threads that read different keys rarely share one.
    parts: [Slot; PARTS],
}

const PARTS: usize = 64;

/// The part of a key's value. Keys of neighbouring chunks differ at their end.
fn part_of(key: &str) -> usize {
    key.bytes().rev().take(8).fold(0, |sum, byte| sum * 31 + usize::from(byte)) % PARTS
}

/// All keys in order, so that those of a prefix lie together.
#[derive(Debug, Default)]
struct Keys(BTreeSet<Arc<str>>);

/// A part, in lines of the processor's cache that no other part shares.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot(RwLock<Part>);

/// Values by their keys.
#[derive(Debug, Default)]
struct Part {
    map: HashMap<Arc<str>, Value>,
    /// How many values were ever set here: no two of a key share a number, so a number is a version.
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

impl Part {
    fn holds(&self, key: &str, only_if: Precondition<'_>) -> bool {
        !only_if.compares() || only_if.holds(self.map.get(key).map(Value::version).as_ref())
    }

    fn set(&mut self, key: impl Into<Arc<str>> + AsRef<str>, bytes: Bytes) {
        self.sets += 1;
        let value = Value { bytes, set: self.sets };
        match self.map.get_mut(key.as_ref()) {
            Some(there) => *there = value,
            None => drop(self.map.insert(key.into(), value)),
        }
    }
}

impl Default for Values {
    fn default() -> Self {
        Values { keys: RwLock::default(), parts: array::from_fn(|_| Slot::default()) }
    }
}

impl Keys {
    /// Sets or erases a value, if the precondition holds.
    fn put(
        &mut self,
        part: &mut Part,
        key: &str,
        value: Option<Bytes>,
        only_if: Precondition<'_>,
    ) -> bool {
        let holds = part.holds(key, only_if);
        match value {
            _ if !holds => {}
            Some(bytes) => {
                let key: Arc<str> = key.into();
                self.0.insert(Arc::clone(&key));
                part.set(key, bytes);
            }
            None => {
                self.0.remove(key);
                part.map.remove(key);
            }
        }
        holds
    }

    /// The keys from `from` on, in order.
    fn from<'a>(&'a self, from: &str) -> impl Iterator<Item = &'a Arc<str>> + use<'a> {
        self.0.range::<str, _>((Bound::Included(from), Bound::Unbounded))
    }

    /// The keys that begin with `prefix`, in order.
    fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
        self.from(prefix).take_while(move |key| key.starts_with(prefix))
    }
}

/// A store that one caller has for itself.
struct All<'a> {
    keys: sync::RwLockWriteGuard<'a, Keys>,
    parts: [sync::RwLockWriteGuard<'a, Part>; PARTS],
}

impl All<'_> {
    fn put(&mut self, key: &str, value: Option<Bytes>) {
        self.keys.put(&mut self.parts[part_of(key)], key, value, Precondition::Always);
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

    /// The store of this name in this process; created empty if the name is new.
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

    // A poisoned lock is taken all the same: no step on the maps can be left half done.
    fn keys(&self) -> sync::RwLockReadGuard<'_, Keys> {
        sync::read(&self.values.keys)
    }

    fn check_writeable(&self) -> Result<()> {
        if self.read_only { Err(StoreError::ReadOnly) } else { Ok(()) }
    }

    fn part(&self, key: &str) -> &RwLock<Part> {
        &self.values.parts[part_of(key)].0
    }

    /// All of it, so that no reader sees half of a change.
    fn all(&self) -> Result<All<'_>> {
        self.check_writeable()?;
        let keys = sync::write(&self.values.keys);
        Ok(All { keys, parts: self.values.parts.each_ref().map(|slot| sync::write(&slot.0)) })
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
        Capabilities {
            create: true,
            local: true,
            cheap_ranges: true,
            in_memory: true,
            ..Capabilities::FULL
        }
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        let part = sync::read(self.part(key.as_str()));
        let Some(value) = part.map.get(key.as_str()) else { return Ok(None) };
        let (bytes, version) = (value.bytes.clone(), how.version.then(|| value.version()));
        drop(part);
        how.answer(key, bytes, version)
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
        self.check_writeable()?;
        let key = key.as_str();
        if let Some(bytes) = &bytes {
            let mut part = sync::write(self.part(key));
            if part.map.contains_key(key) {
                let holds = part.holds(key, only_if);
                if holds {
                    part.set(key, bytes.clone());
                }
                return Ok(holds);
            }
        }
        let mut keys = sync::write(&self.values.keys);
        let mut part = sync::write(self.part(key));
        Ok(keys.put(&mut part, key, bytes, only_if))
    }

    fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>> {
        let bytes = value.into_bytes()?;
        let mut all = self.all()?;
        let mut wanted = [key].into_iter().chain(absent);
        if let Some(there) = wanted.find(|key| all.keys.0.contains(key.as_str())) {
            return Ok(Some(there.clone()));
        }
        leftovers.iter().for_each(|key| all.put(key.as_str(), None));
        all.put(key.as_str(), Some(bytes));
        Ok(None)
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        let mut all = self.all()?;
        let below: Vec<Arc<str>> = all.keys.below(prefix.as_str()).cloned().collect();
        below.iter().for_each(|key| all.put(key, None));
        Ok(())
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        let keys = self.keys();
        let below = keys.below(prefix.as_str()).map(|key| StoreKey::new(&**key));
        Ok(below.collect::<Result<Vec<_>, _>>()?.into())
    }

    /// Steps over what is below each prefix it finds.
    fn list_dir(&self, prefix: &StorePrefix, _: ListOptions) -> Result<Listing> {
        let keys = self.keys();
        let prefix = prefix.as_str();
        let mut listing = Listing::default();
        let mut from = prefix.to_owned();
        while let Some(key) = keys.from(&from).next().filter(|key| key.starts_with(prefix)) {
            match key[prefix.len()..].find('/') {
                None => {
                    listing.keys.push(StoreKey::new(&**key)?);
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

    #[test]
    fn what_is_listed_has_a_value_whoever_changed_it() {
        let store = MemoryStore::new();
        let keys: Vec<StoreKey> = (0..21)
            .map(|number| StoreKey::new(format!("{}/{number}", number % 3)).unwrap())
            .collect();
        let change = |thread: usize| {
            for round in 0..20 {
                let key = &keys[(round * (thread + 1)) % keys.len()];
                match thread % 4 {
                    0 => store.set(key, Payload::new(b"set")).unwrap(),
                    1 => store.erase(key).unwrap(),
                    2 => store.erase_prefix(&key.parent()).unwrap(),
                    _ => drop(store.create(key, Payload::new(b"new"), &[], &keys[..2]).unwrap()),
                }
            }
        };
        for _ in 0..100 {
            std::thread::scope(|scope| {
                (0..8).for_each(|thread| drop(scope.spawn(move || change(thread))));
            });
            let listed = store.list().unwrap();
            for key in &keys {
                assert_eq!(listed.contains(key), store.value(key).unwrap().is_some(), "{key}");
            }
        }
    }
}

//! Guards changes within this process, for stores that cannot compare and swap.
//!
//! A lock for each of some groups of keys; other processes are not seen.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use super::block_on::BlockOn;
use super::{
    Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition, SnapshotOptions,
    Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore, Version, from_sync_arc,
};
use crate::error::StoreError;
use crate::primitives::sync::Mutex;
use crate::sync::{MutexGuard, lock};

/// The store as the library uses it: a local one is a [`SyncStore`] behind the one adapter, with a guard within this
/// process if it has none.
pub(crate) fn guarded(store: Arc<dyn Store>) -> Arc<dyn Store> {
    let Capabilities { read, write, swap, local, .. } = store.capabilities();
    let sync: Arc<dyn SyncStore> = match store.as_sync() {
        Some(_) if swap || !(read && write) => return store,
        Some(sync) => sync.clone(),
        None if local => Arc::new(BlockOn(store)),
        None => return store,
    };
    if read && write && !swap {
        from_sync_arc(Arc::new(ProcessCas(sync)))
    } else {
        from_sync_arc(sync)
    }
}

/// A store that can be read and written, with a compare-and-swap that holds within this process.
#[derive(Debug)]
struct ProcessCas(Arc<dyn SyncStore>);

/// Locks for all keys of all stores: two keys of one lock only wait for each other.
const KEY_LOCKS: usize = 64;

impl ProcessCas {
    /// The lock of a key: the same for every handle of a store of that name. Only calls of the store are made while it
    /// is held.
    fn lock(&self, key: &StoreKey) -> MutexGuard<'static, ()> {
        static TABLE: [Mutex<()>; KEY_LOCKS] = [const { Mutex::new(()) }; KEY_LOCKS];
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let at = hasher.hash_one((self.0.name(), key.as_str())) as usize % KEY_LOCKS;
        lock(&TABLE[at])
    }
}

impl SyncStore for ProcessCas {
    fn name(&self) -> String {
        self.0.name()
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.0.public_options()
    }

    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    fn places(&self) -> Result<Vec<String>, StoreError> {
        self.0.places()
    }

    fn refused_targets(&self) -> Result<Vec<StoreError>, StoreError> {
        self.0.refused_targets()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { swap: true, swap_erase: true, create: false, ..self.0.capabilities() }
    }

    /// A version is the content.
    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        if !how.version {
            return self.0.get(key, how);
        }
        let Some(got) = self.0.get(key, GetOptions::at_most(how.limit))? else { return Ok(None) };
        let version = got.bytes.clone().map(Version::of_content);
        Ok(Some(how.into.take(Got { version, ..got })))
    }

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        if !how.for_update {
            return self.0.open(key, how);
        }
        Ok(how.in_memory(key, self.get(key, how.to_get())?))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        if only_if == Precondition::Unchecked {
            return self.0.put(key, value, only_if);
        }
        let value = match value {
            Some(value) if only_if == Precondition::Always => Some(value.made()?),
            value => value,
        };
        let _lock = self.lock(key);
        if only_if.compares()
            && !only_if.holds(self.0.value(key)?.map(Version::of_content).as_ref())
        {
            return Ok(false);
        }
        self.0.put(key, value, Precondition::Always)
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.0.erase_prefix(prefix)
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.0.list_prefix(prefix)
    }

    fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing, StoreError> {
        self.0.list_dir(prefix, how)
    }

    fn link(&self, prefix: &StorePrefix, erase: bool) -> Result<bool, StoreError> {
        self.0.link(prefix, erase)
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.0.flush()
    }
}

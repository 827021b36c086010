//! Guards partial writes in a store that cannot compare and swap.
//!
//! Within this process, by a lock for each of some groups of keys; other processes are not seen.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use bytes::Bytes;

use super::{
    ConditionalStore, ListableStore, Payload, ReadableStore, Store, StoreKey, StorePrefix, Version,
    WriteableStore,
};
use crate::error::StoreError;

/// A store that can be read and written, with a compare-and-swap that holds within this process.
#[derive(Debug)]
pub(crate) struct InProcess(pub Arc<dyn Store>);

const LOCKS: usize = 64;
const SIDES: &str = "only a store that can be read and written is wrapped";

impl InProcess {
    /// The lock of a key: the same for every handle of a store of that name. Nothing but calls of the
    /// store is made while it is held.
    fn lock(&self, key: &StoreKey) -> MutexGuard<'static, ()> {
        static TABLE: LazyLock<([Mutex<()>; LOCKS], RandomState)> =
            LazyLock::new(|| (std::array::from_fn(|_| Mutex::new(())), RandomState::new()));
        let (locks, hasher) = &*TABLE;
        let at = hasher.hash_one((self.0.name(), key.as_str())) as usize % LOCKS;
        locks[at].lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn inner(&self) -> (&dyn ReadableStore, &dyn WriteableStore) {
        (self.0.readable().expect(SIDES), self.0.writeable().expect(SIDES))
    }
}

impl Store for InProcess {
    fn name(&self) -> String {
        self.0.name()
    }
    fn readable(&self) -> Option<&dyn ReadableStore> {
        self.0.readable()
    }
    fn writeable(&self) -> Option<&dyn WriteableStore> {
        Some(self)
    }
    fn listable(&self) -> Option<&dyn ListableStore> {
        self.0.listable()
    }
    fn conditional(&self) -> Option<&dyn ConditionalStore> {
        Some(self)
    }
}

impl WriteableStore for InProcess {
    fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        let value = value.made()?;
        let _lock = self.lock(key);
        self.inner().1.set(key, value)
    }
    fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        let _lock = self.lock(key);
        self.inner().1.erase(key)
    }
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.inner().1.erase_prefix(prefix)
    }
    fn is_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        self.inner().1.is_link(prefix)
    }
    fn erase_link(&self, prefix: &StorePrefix) -> Result<bool, StoreError> {
        self.inner().1.erase_link(prefix)
    }
    fn flush(&self) -> Result<(), StoreError> {
        self.inner().1.flush()
    }
    fn set_unguarded(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        self.inner().1.set_unguarded(key, value)
    }
    fn erase_unguarded(&self, key: &StoreKey) -> Result<(), StoreError> {
        self.inner().1.erase_unguarded(key)
    }
}

impl ConditionalStore for InProcess {
    fn get_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StoreError> {
        let value = self.inner().0.get_at_most(key, limit)?;
        Ok(value.map(|bytes| (bytes.clone(), Version::of_content(bytes))))
    }

    fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        let (readable, writeable) = self.inner();
        let _lock = self.lock(key);
        let is = readable.get(key)?.map(Version::of_content);
        if is.as_ref() != was {
            return Ok(false);
        }
        match value {
            Some(value) => writeable.set(key, value)?,
            None => writeable.erase(key)?,
        }
        Ok(true)
    }
}

//! Gives async stores to callers that block: each call waits for its future ([`block_on`]).

use std::fs::File;
use std::sync::Arc;
use std::time::SystemTime;

use super::{
    ByteRange, Bytes, Capabilities, GetOptions, Got, ListOptions, Listing, NotSet, Payload,
    Precondition, Snapshot, SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore,
    Version,
};
use crate::error::StoreError;
use crate::runtime::block_on;

impl dyn Store {
    /// The same store for callers that block: each call is done when it returns.
    pub fn to_sync(self: &Arc<Self>) -> Arc<dyn SyncStore> {
        match self.as_sync() {
            Some(store) => store.clone(),
            None => Arc::new(BlockOn(self.clone())),
        }
    }
}

impl dyn Snapshot {
    /// The same value for callers that block.
    pub fn to_sync(self: Arc<Self>) -> Arc<dyn SyncSnapshot> {
        self.as_sync().unwrap_or_else(|| Arc::new(BlockOnSnapshot(self)))
    }

    /// The same value for callers that block, by its futures.
    pub fn blocking_on(self: Arc<Self>) -> Arc<dyn SyncSnapshot> {
        Arc::new(BlockOnSnapshot(self))
    }
}

/// A store whose futures are awaited on the calling thread.
#[derive(Debug)]
pub(super) struct BlockOn(pub(super) Arc<dyn Store>);

impl SyncStore for BlockOn {
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
        block_on(self.0.places())
    }

    fn refused_targets(&self) -> Result<Vec<StoreError>, StoreError> {
        block_on(self.0.refused_targets())
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        block_on(self.0.get(key, how))
    }
    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        let opened = block_on(self.0.open(key, how))?;
        Ok(opened.map(|value| Box::new(Shared(Arc::<dyn Snapshot>::from(value).to_sync())) as _))
    }
    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        block_on(self.0.put(key, value, only_if))
    }
    fn set_all(&self, values: &[(StoreKey, &[u8])], guarded: bool) -> Result<(), NotSet> {
        block_on(self.0.set_all(values, guarded))
    }
    fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        block_on(self.0.create(key, value, absent, leftovers))
    }
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        block_on(self.0.erase_prefix(prefix))
    }
    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        block_on(self.0.list_prefix(prefix))
    }
    fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing, StoreError> {
        block_on(self.0.list_dir(prefix, how))
    }
    fn link(&self, prefix: &StorePrefix, erase: bool) -> Result<bool, StoreError> {
        block_on(self.0.link(prefix, erase))
    }
    fn flush(&self) -> Result<(), StoreError> {
        block_on(self.0.flush())
    }
}

/// A snapshot that is shared.
struct Shared(Arc<dyn SyncSnapshot>);

impl SyncSnapshot for Shared {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        self.0.read(ranges)
    }
    fn read_into(&self, range: ByteRange, buf: &mut Vec<u8>) -> Result<(), StoreError> {
        self.0.read_into(range, buf)
    }
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn file(&self) -> Option<&File> {
        self.0.file()
    }
    fn version(&self) -> Option<Version> {
        self.0.version()
    }
    fn modified(&self) -> Option<SystemTime> {
        self.0.modified()
    }
}

/// A snapshot whose futures are awaited on the calling thread.
pub(super) struct BlockOnSnapshot(pub(super) Arc<dyn Snapshot>);

impl SyncSnapshot for BlockOnSnapshot {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        block_on(self.0.read(ranges))
    }
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn version(&self) -> Option<Version> {
        self.0.version()
    }
    fn modified(&self) -> Option<SystemTime> {
        self.0.modified()
    }
}

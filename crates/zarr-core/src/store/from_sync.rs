//! Makes a [`Store`] of a store whose calls block.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::abandoned::{self, AffectedKeys};
use super::{
    ByteRange, Bytes, Capabilities, GetOptions, Got, ListOptions, Listing, NotSet, Payload,
    Precondition, Snapshot, SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore,
    Version, set_each,
};
use crate::error::StoreError;
use crate::runtime::tuning::IO_THREADS;
use crate::runtime::{may_block, spawn_blocking};

/// A [`Store`] of a store whose calls block.
///
/// A call runs in place on a thread that may block: a thread in [`block_on`](crate::runtime::block_on), and the threads of the
/// library that make blocking calls. For other callers it runs on one of those threads, so that no async runtime is
/// stopped. A change whose future is dropped before it has begun is not made; one that has begun ends before later calls
/// on these keys (docs/internals/design/crash-safety.md).
pub fn from_sync(store: impl SyncStore) -> Arc<dyn Store> {
    from_sync_arc(Arc::new(store))
}

/// As [`from_sync`], for a store that is shared.
pub fn from_sync_arc(store: Arc<dyn SyncStore>) -> Arc<dyn Store> {
    Arc::new(FromSync(store))
}

#[derive(Debug)]
struct FromSync(Arc<dyn SyncStore>);

impl FromSync {
    /// Waits for what dropped calls are still changing; almost always there is nothing.
    async fn wait_for_abandoned(&self, keys: impl Into<AffectedKeys>) {
        abandoned::wait_for(|| self.0.name(), keys).await;
    }

    async fn spawn_blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn SyncStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.0.clone();
        spawn_blocking(move || call(&*store)).await.unwrap_or_else(|| Err(lost_thread()))
    }

    /// Changes keys on another thread.
    async fn change<T: Send + 'static>(
        &self,
        keys: impl Into<AffectedKeys>,
        change: impl FnOnce(&dyn SyncStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.0.clone();
        let (caller, worker) = abandoned::change(|| self.0.name(), keys.into());
        let changed = spawn_blocking(move || Some(worker.begin()?.run(|| change(&*store))));
        let changed = changed.await.flatten();
        drop(caller);
        changed.unwrap_or_else(|| Err(lost_thread()))
    }
}

fn lost_thread() -> StoreError {
    StoreError::Backend("a thread of the store ended before its call was done".into())
}

#[async_trait]
impl Store for FromSync {
    fn name(&self) -> String {
        self.0.name()
    }

    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    async fn places(&self) -> Result<Vec<String>, StoreError> {
        if may_block() {
            return self.0.places();
        }
        self.spawn_blocking(|store| store.places()).await
    }

    async fn refused_targets(&self) -> Result<Vec<StoreError>, StoreError> {
        if may_block() {
            return self.0.refused_targets();
        }
        self.spawn_blocking(|store| store.refused_targets()).await
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.0.public_options()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { local: true, in_flight: IO_THREADS, ..self.0.capabilities() }
    }

    fn as_sync(&self) -> Option<&Arc<dyn SyncStore>> {
        Some(&self.0)
    }

    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        self.wait_for_abandoned(key).await;
        if may_block() {
            return self.0.get(key, how);
        }
        let key = key.clone();
        let GetOptions { limit, into, version } = how;
        let got = self
            .spawn_blocking(move |store| {
                store.get(&key, GetOptions { version, ..GetOptions::at_most(limit) })
            })
            .await?;
        Ok(got.map(|got| into.take(got)))
    }

    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>, StoreError> {
        self.wait_for_abandoned(key).await;
        let opened = if may_block() {
            self.0.open(key, how)?
        } else {
            let key = key.clone();
            let first = how.first.to_vec();
            let expect = how.expect.cloned();
            let SnapshotOptions { for_update, limit, .. } = how;
            self.spawn_blocking(move |store| {
                let first = &first[..];
                let expect = expect.as_ref();
                store.open(&key, SnapshotOptions { first, expect, for_update, limit })
            })
            .await?
        };
        Ok(opened.map(|value| Box::new(FromSyncSnapshot(value.into())) as _))
    }

    async fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        self.wait_for_abandoned(key).await;
        if may_block() {
            return self.0.put(key, value, only_if);
        }
        let value = value.map(Payload::into_owned).transpose()?;
        let (owned, (only_if, version)) = (key.clone(), only_if.split());
        self.change(key, move |store| {
            store.put(&owned, value, only_if.with_version(version.as_ref()))
        })
        .await
    }

    async fn set_all(&self, values: &[(StoreKey, &[u8])], guarded: bool) -> Result<(), NotSet> {
        if !may_block() {
            return set_each(self, values, guarded).await;
        }
        for (key, _) in values {
            self.wait_for_abandoned(key).await;
        }
        self.0.set_all(values, guarded)
    }

    async fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        self.wait_for_abandoned(key).await;
        if may_block() {
            return self.0.create(key, value, absent, leftovers);
        }
        let owned = key.clone();
        let value = value.into_owned()?;
        let absent = absent.to_vec();
        let leftovers = leftovers.to_vec();
        self.change(key, move |store| store.create(&owned, value, &absent, &leftovers)).await
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.wait_for_abandoned(prefix).await;
        if may_block() {
            return self.0.erase_prefix(prefix);
        }
        let owned = prefix.clone();
        self.change(prefix, move |store| store.erase_prefix(&owned)).await
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.wait_for_abandoned(prefix).await;
        if may_block() {
            return self.0.list_prefix(prefix);
        }
        let prefix = prefix.clone();
        self.spawn_blocking(move |store| store.list_prefix(&prefix)).await
    }

    async fn list_dir(
        &self,
        prefix: &StorePrefix,
        how: ListOptions,
    ) -> Result<Listing, StoreError> {
        self.wait_for_abandoned(prefix).await;
        if may_block() {
            return self.0.list_dir(prefix, how);
        }
        let prefix = prefix.clone();
        self.spawn_blocking(move |store| store.list_dir(&prefix, how)).await
    }

    async fn link(&self, prefix: &StorePrefix, erase: bool) -> Result<bool, StoreError> {
        self.wait_for_abandoned(prefix).await;
        if may_block() {
            return self.0.link(prefix, erase);
        }
        let owned = prefix.clone();
        self.change(prefix, move |store| store.link(&owned, erase)).await
    }

    async fn flush(&self) -> Result<(), StoreError> {
        let all = StorePrefix::root();
        self.wait_for_abandoned(&all).await;
        if may_block() {
            return self.0.flush();
        }
        self.change(&all, |store| store.flush()).await
    }
}

/// A value of a store whose calls block.
struct FromSyncSnapshot(Arc<dyn SyncSnapshot>);

#[async_trait]
impl Snapshot for FromSyncSnapshot {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        if may_block() {
            return self.0.read(ranges);
        }
        let value = self.0.clone();
        let ranges = ranges.to_vec();
        spawn_blocking(move || value.read(&ranges)).await.unwrap_or_else(|| Err(lost_thread()))
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
    fn as_sync(&self) -> Option<Arc<dyn SyncSnapshot>> {
        Some(self.0.clone())
    }
}

//! Reads parts of one version of a value, some of them from the cache.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use zarr_core::StoreError;
use zarr_core::store::{
    ByteRange, Result, Snapshot, SnapshotOptions, StoreKey, SyncSnapshot, Version,
};

use super::{CacheStore, EntryState};

/// A value whose parts are kept.
#[derive(Clone)]
pub(super) struct CacheSnapshot {
    store: CacheStore,
    key: StoreKey,
    generation: Option<u64>,
    /// Its version and size, once they are known.
    known: OnceLock<(Version, u64)>,
    /// The store's own, once it was needed.
    value: OnceLock<Arc<dyn Snapshot>>,
}

impl CacheSnapshot {
    /// A value that the store has just opened.
    pub fn new(
        store: &CacheStore,
        key: &StoreKey,
        generation: Option<u64>,
        value: Box<dyn Snapshot>,
    ) -> Self {
        let (store, key, value) = (store.clone(), key.clone(), OnceLock::from(Arc::from(value)));
        CacheSnapshot { store, key, generation, known: OnceLock::new(), value }
    }

    /// The value of this version and size, which the store need not be asked for yet.
    pub fn known(store: &CacheStore, key: &StoreKey, version: Version, size: u64) -> Self {
        let (store, key, known) = (store.clone(), key.clone(), OnceLock::from((version, size)));
        CacheSnapshot { store, key, generation: None, known, value: OnceLock::new() }
    }

    /// The store's own value, of the version that is known.
    async fn value(&self) -> Result<Arc<dyn Snapshot>> {
        if let Some(value) = self.value.get() {
            return Ok(value.clone());
        }
        let opened = match self.known.get() {
            Some((version, _)) => {
                self.store.store.open(&self.key, SnapshotOptions::expect(version)).await?
            }
            None => None,
        };
        let value = opened.ok_or_else(|| StoreError::Changed { key: self.key.to_string() })?;
        Ok(self.value.get_or_init(|| value.into()).clone())
    }

    async fn part(&self, range: ByteRange) -> Option<Bytes> {
        let (version, size) = self.known.get()?.clone();
        let range = range.within(size)?;
        let key = self.key.clone();
        let (start, len) = (range.start, range.end - range.start);
        self.store.ask(move |backend| backend.part(&key, &version, start, len)).await.flatten()
    }

    /// The parts that the store has to be asked for.
    async fn fetch(&self, missing: &[ByteRange]) -> Result<Vec<Bytes>> {
        let value = self.value().await?;
        let parts = value.read(missing).await?;
        let Some(version) = value.version().filter(|v| self.store.backend.takes_parts_of(v)) else {
            return Ok(parts);
        };
        let size = value.size();
        if self.known.set((version.clone(), size)).is_ok() {
            self.store
                .put(&self.key, self.generation, version.clone(), EntryState::Size(size), false)
                .await;
        }
        let small = missing.iter().zip(&parts).filter_map(|(range, part)| {
            let is_small = part.len() as u64 <= self.store.largest;
            is_small.then_some((range.within(size)?.start, part.clone()))
        });
        let small: Vec<_> = small.collect();
        let key = self.key.clone();
        self.store
            .ask(move |backend: &dyn super::CacheBackend| {
                small.into_iter().for_each(|(at, part)| backend.put_part(&key, &version, at, part));
            })
            .await;
        Ok(parts)
    }
}

#[async_trait]
impl Snapshot for CacheSnapshot {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let mut parts = Vec::with_capacity(ranges.len());
        for range in ranges {
            parts.push(self.part(*range).await);
        }
        let missing: Vec<ByteRange> = ranges
            .iter()
            .zip(&parts)
            .filter_map(|(range, part)| part.is_none().then_some(*range))
            .collect();
        if missing.is_empty() && self.known.get().is_some() {
            return Ok(parts.into_iter().flatten().collect());
        }
        let fetched = self.fetch(&missing).await;
        if matches!(fetched, Err(StoreError::Changed { .. })) {
            // A reader that begins again finds what is there now.
            self.store.forget_key(&self.key).await?;
        }
        let mut fetched = fetched?.into_iter();
        Ok(parts.into_iter().filter_map(|part| part.or_else(|| fetched.next())).collect())
    }

    fn size(&self) -> u64 {
        let size = self.known.get().map(|(_, size)| *size);
        size.or_else(|| self.value.get().map(|value| value.size())).unwrap_or(0)
    }

    fn version(&self) -> Option<Version> {
        let version = self.known.get().map(|(version, _)| version.clone());
        version.or_else(|| self.value.get()?.version())
    }

    fn as_sync(&self) -> Option<Arc<dyn SyncSnapshot>> {
        // One that may yet have to be opened may be of a remote store.
        self.value.get()?.as_sync()?;
        Some((Arc::new(self.clone()) as Arc<dyn Snapshot>).blocking_on())
    }
}

//! Reads a v3 dataset whose documents are in its root's only (N-101).
//!
//! A branch of netcdf-c writes so, in words that are not JSON. As a store around the store, for reading: documents
//! come out of the root's, chunks from where they lie.

use std::collections::BTreeMap;
use std::sync::Arc;

use zarr_core::store::{
    Bytes, Capabilities, GetOptions, Got, InMemorySnapshot, Listing, Snapshot, SnapshotOptions,
    Store, StoreKey, StorePrefix, async_trait,
};
use zarr_core::{Json, Limits, StoreError};

use crate::documents::lenient;

/// A store, and documents that are not in it.
#[derive(Debug)]
struct Inline {
    store: Arc<dyn Store>,
    documents: BTreeMap<StoreKey, Bytes>,
}

/// The store with the documents that its root's holds; `None` if it holds none.
///
/// # Errors
/// What the store met.
pub(crate) fn store(
    store: &Arc<dyn Store>,
    limits: &Limits,
) -> Result<Option<Arc<dyn Store>>, StoreError> {
    if !store.capabilities().read {
        return Ok(None);
    }
    let how = GetOptions::at_most(limits.document);
    let root = store.to_sync().get(&StoreKey::new("zarr.json")?, how)?;
    let documents = root.and_then(|got| documents(&got.bytes?));
    Ok(documents.map(|documents| Arc::new(Inline { store: store.clone(), documents }) as _))
}

fn documents(root: &[u8]) -> Option<BTreeMap<StoreKey, Bytes>> {
    let text = lenient::to_json(std::str::from_utf8(root).ok()?)?;
    let (root, _) = Json::parse_tolerant(text.as_bytes()).ok()?;
    let root = root.as_object()?;
    let kind = root.get("kind").and_then(Json::as_str);
    let all = root.get("metadata").and_then(Json::as_object).filter(|_| kind == Some("inline"))?;
    all.iter()
        .map(|(name, json)| {
            let key = StoreKey::new(name.trim_start_matches('/')).ok()?;
            Some((key, json.to_string().into()))
        })
        .collect()
}

#[async_trait]
impl Store for Inline {
    fn name(&self) -> String {
        self.store.name()
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.store.public_options()
    }

    fn warnings(&self) -> Vec<String> {
        self.store.warnings()
    }

    async fn places(&self) -> Result<Vec<String>, StoreError> {
        self.store.places().await
    }

    async fn refused_targets(&self) -> Result<Vec<StoreError>, StoreError> {
        self.store.refused_targets().await
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { list: true, ..self.store.capabilities().read_only() }
    }

    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        match self.documents.get(key) {
            Some(document) => {
                GetOptions { limit: u64::MAX, ..how }.answer(key, document.clone(), None)
            }
            None => self.store.get(key, how).await,
        }
    }

    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>, StoreError> {
        match self.documents.get(key) {
            Some(document) => Ok(Some(Box::new(InMemorySnapshot::new(key, document.clone())))),
            None => self.store.open(key, how).await,
        }
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let mut listing = if self.store.capabilities().list {
            self.store.list_prefix(prefix).await?
        } else {
            Listing::default()
        };
        let own = self.documents.keys().filter(|key| prefix.strip(key).is_some()).cloned();
        listing.keys.extend(own);
        listing.keys.sort();
        listing.keys.dedup();
        Ok(listing)
    }
}

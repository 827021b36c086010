//! Reads a v3 dataset whose documents are in its root's only (N-101).
//!
//! A branch of netcdf-c writes so, in words that are not JSON. As a store around the store, for reading: documents
//! come out of the root's, chunks from where they lie.

use std::collections::BTreeMap;
use std::sync::Arc;

use zarr_core::store::{
    Bytes, ListableStore, Listing, Pinned, ReadableStore, Store, StoreKey, StorePrefix, Whole,
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
    let Some(readable) = store.readable() else { return Ok(None) };
    let root = readable.get_at_most(&StoreKey::new("zarr.json")?, limits.document)?;
    let documents = root.and_then(|bytes| documents(&bytes));
    Ok(documents.map(|documents| Arc::new(Inline { store: store.clone(), documents }) as _))
}

fn documents(root: &[u8]) -> Option<BTreeMap<StoreKey, Bytes>> {
    let text = lenient::to_json(std::str::from_utf8(root).ok()?)?;
    let (root, _) = Json::parse_tolerant(text.as_bytes()).ok()?;
    let root = root.as_object()?;
    let kind = root.get("kind").and_then(Json::as_str);
    let all = root.get("metadata").and_then(Json::as_object).filter(|_| kind == Some("inline"))?;
    let document = |(name, json): (&str, &Json)| {
        Some((StoreKey::new(name.trim_start_matches('/')).ok()?, json.to_string().into()))
    };
    all.iter().map(document).collect()
}

impl Inline {
    fn inner(&self) -> Result<&dyn ReadableStore, StoreError> {
        let lacks = StoreError::not_capable("read", "readable");
        self.store.readable().ok_or(lacks)
    }
}

impl Store for Inline {
    fn name(&self) -> String {
        self.store.name()
    }
    fn readable(&self) -> Option<&dyn ReadableStore> {
        Some(self)
    }
    fn listable(&self) -> Option<&dyn ListableStore> {
        Some(self)
    }
}

impl ReadableStore for Inline {
    fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        match self.documents.get(key) {
            Some(document) => Ok(Some(document.clone())),
            None => self.inner()?.get(key),
        }
    }

    fn get_at_most(&self, key: &StoreKey, limit: u64) -> Result<Option<Bytes>, StoreError> {
        match self.documents.get(key) {
            Some(document) => Ok(Some(document.clone())),
            None => self.inner()?.get_at_most(key, limit),
        }
    }

    fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        match self.documents.get(key) {
            Some(document) => Ok(Some(Box::new(Whole::new(key, document.clone())))),
            None => self.inner()?.pin(key),
        }
    }
}

impl ListableStore for Inline {
    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
        let listed = self.store.listable().map(|store| store.list_prefix(prefix)).transpose()?;
        let own = self.documents.keys().filter(|key| prefix.strip(key).is_some()).cloned();
        let mut keys: Vec<StoreKey> = listed.unwrap_or_default().into_iter().chain(own).collect();
        keys.sort();
        keys.dedup();
        Ok(keys)
    }

    fn list_below(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let listed = self.store.listable().map(|store| store.list_below(prefix)).transpose()?;
        let left_out = listed.unwrap_or_default().left_out;
        Ok(Listing { keys: self.list_prefix(prefix)?, left_out, ..Listing::default() })
    }
}

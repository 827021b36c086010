//! Serves documents from their consolidated copies.
//!
//! A store wrapper takes documents and the listing of documents from the copies, everything else from the store. Arrays need
//! not know of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::dialect::Dialect;
use crate::error::{MetadataError, StoreError};
use crate::format::consolidated::{self, ConsolidatedDocument};
use crate::format::{Documents, Format};
use crate::metadata::NodeMetadata;
use crate::store::{
    Capabilities, GetOptions, Got, ListOptions, Listing, Snapshot, SnapshotOptions, Store,
    StoreKey, StorePrefix, SyncStore,
};

/// The documents of a hierarchy according to their copies.
#[derive(Debug)]
pub(crate) struct ConsolidatedView {
    dialect: Dialect,
    documents: BTreeMap<String, Bytes>,
    /// Keys whose documents are read from the store.
    invalid: BTreeSet<String>,
}

impl ConsolidatedView {
    /// The copies in a consolidated document; `None` if that is a group's document without any.
    pub fn new(
        holder: &ConsolidatedDocument,
        format: &dyn Format,
        bytes: &Bytes,
    ) -> Result<Option<ConsolidatedView>, MetadataError> {
        let Some((documents, invalid)) = holder.documents(format, bytes)? else { return Ok(None) };
        Ok(Some(ConsolidatedView {
            dialect: format.dialect(),
            documents: documents
                .into_iter()
                .map(|(key, bytes)| (key.as_str().to_owned(), bytes))
                .collect(),
            invalid: invalid.into_iter().map(|key| key.as_str().to_owned()).collect(),
        }))
    }

    /// The copies of `keys`, where there are any; `None` if one is invalid.
    pub fn documents(&self, keys: &[StoreKey]) -> Option<Documents> {
        let mut found = Documents::new();
        for key in keys {
            if self.invalid.contains(key.as_str()) {
                return None;
            }
            if let Some(copy) = self.documents.get(key.as_str()) {
                found.push((key.clone(), copy.clone()));
            }
        }
        Some(found)
    }

    /// The keys below a prefix that have a copy, or may have a document.
    fn below(&self, prefix: &StorePrefix) -> Vec<StoreKey> {
        let mut keys = BTreeSet::new();
        for (key, _) in self.documents.range(prefix.as_str().to_owned()..) {
            if !key.starts_with(prefix.as_str()) {
                break;
            }
            keys.insert(key);
        }
        // In a draft every listed key makes a node, so that one which may be absent must not be listed.
        if self.dialect != Dialect::Draft {
            for key in self.invalid.range(prefix.as_str().to_owned()..) {
                if !key.starts_with(prefix.as_str()) {
                    break;
                }
                keys.insert(key);
            }
        }
        keys.into_iter().filter_map(|key| StoreKey::new(key.as_str()).ok()).collect()
    }
}

/// A store whose documents are read from copies.
#[derive(Debug)]
pub(crate) struct ConsolidatedStore {
    inner: Arc<dyn Store>,
    copied: Arc<ConsolidatedView>,
}

impl ConsolidatedStore {
    pub fn new(inner: Arc<dyn Store>, copied: Arc<ConsolidatedView>) -> Self {
        ConsolidatedStore { inner, copied }
    }

    /// Whether the value of a key is read from the copies.
    fn has(&self, key: &StoreKey) -> bool {
        consolidated::is_document(self.copied.dialect, key)
            && !self.copied.invalid.contains(key.as_str())
    }

    /// Whether a prefix is listed from the copies.
    fn lists(&self, prefix: &StorePrefix) -> bool {
        self.copied.dialect == Dialect::Draft && prefix.as_str().starts_with("meta/")
    }
}

#[async_trait]
impl Store for ConsolidatedStore {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.inner.public_options()
    }

    fn warnings(&self) -> Vec<String> {
        self.inner.warnings()
    }

    async fn places(&self) -> Result<Vec<String>, StoreError> {
        self.inner.places().await
    }

    async fn refused_targets(&self) -> Result<Vec<StoreError>, StoreError> {
        self.inner.refused_targets().await
    }

    fn capabilities(&self) -> Capabilities {
        let inner = self.inner.capabilities();
        Capabilities { read: true, list: true, ..inner.read_only() }
    }

    /// Chunks are read where they are stored.
    fn as_sync(&self) -> Option<&Arc<dyn SyncStore>> {
        self.inner.as_sync()
    }

    /// Copies are in memory: no limit applies.
    async fn get(
        &self,
        key: &StoreKey,
        options: GetOptions<'_>,
    ) -> Result<Option<Got>, StoreError> {
        if !self.has(key) {
            return self.inner.get(key, options).await;
        }
        let Some(copy) = self.copied.documents.get(key.as_str()) else { return Ok(None) };
        GetOptions { limit: u64::MAX, ..options }.answer(key, copy.clone(), None)
    }

    async fn open(
        &self,
        key: &StoreKey,
        options: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>, StoreError> {
        self.inner.open(key, options).await
    }

    /// Lists the documents of a draft, and the chunks of any array.
    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        if self.lists(prefix) {
            Ok(self.copied.below(prefix).into())
        } else {
            self.inner.list_prefix(prefix).await
        }
    }

    /// Lists children only.
    async fn list_dir(&self, prefix: &StorePrefix, _: ListOptions) -> Result<Listing, StoreError> {
        Ok(Listing::fold(prefix, self.copied.below(prefix)))
    }
}

/// Whether two describe the same node, however their documents are written.
pub(super) fn agree(a: &NodeMetadata, b: &NodeMetadata) -> bool {
    match (a, b) {
        (NodeMetadata::Group(a), NodeMetadata::Group(b)) => a.attributes == b.attributes,
        (NodeMetadata::Array(a), NodeMetadata::Array(b)) => {
            a.shape == b.shape
                && a.attributes == b.attributes
                && a.dimension_names == b.dimension_names
                && a.stores_elements_as(b)
                && a.has_grid_of(b)
        }
        _ => false,
    }
}

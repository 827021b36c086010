//! Serves documents from their consolidated copies.
//!
//! As a store around the store: documents and the listing of documents come from the copies, everything
//! else from where it lies. The array never learns of it.

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

/// The documents of a hierarchy, as copies have them.
#[derive(Debug)]
pub(crate) struct ConsolidatedView {
    dialect: Dialect,
    documents: BTreeMap<String, Bytes>,
    /// Those that are to be looked for where they lie.
    stale: BTreeSet<String>,
}

impl ConsolidatedView {
    /// What copies in a holder's document say; `None` if it is a group's without any.
    pub fn new(
        holder: &ConsolidatedDocument,
        format: &dyn Format,
        bytes: &Bytes,
    ) -> Result<Option<ConsolidatedView>, MetadataError> {
        let text = |key: StoreKey| String::from(key.as_str());
        Ok(holder.documents(format, bytes)?.map(|(documents, stale)| ConsolidatedView {
            dialect: format.dialect(),
            documents: documents.into_iter().map(|(key, bytes)| (text(key), bytes)).collect(),
            stale: stale.into_iter().map(text).collect(),
        }))
    }

    /// Those of `keys` that there are copies of; `None` if one is not to be trusted.
    pub fn documents(&self, keys: &[StoreKey]) -> Option<Documents> {
        let found = |key: &StoreKey| Some((key.clone(), self.documents.get(key.as_str())?.clone()));
        let stale = keys.iter().any(|key| self.stale.contains(key.as_str()));
        (!stale).then(|| keys.iter().filter_map(found).collect())
    }

    /// The keys below a prefix of which there are copies, or may be documents.
    fn below(&self, prefix: &StorePrefix) -> Vec<StoreKey> {
        let from = prefix.as_str().to_owned();
        let is_below = |key: &&String| key.starts_with(prefix.as_str());
        let copied = self.documents.range(from.clone()..).map(|(key, _)| key).take_while(is_below);
        let stale = self.stale.range(from..).take_while(is_below);
        // In a draft the listing alone tells what a node is, so that a key must not stand there by chance.
        let stale = stale.filter(|_| self.dialect != Dialect::Draft);
        let keys: BTreeSet<&String> = copied.chain(stale).collect();
        keys.into_iter().filter_map(|key| StoreKey::new(key.as_str()).ok()).collect()
    }
}

/// A store that is read, its documents out of copies.
#[derive(Debug)]
pub(crate) struct ConsolidatedStore {
    inner: Arc<dyn Store>,
    copied: Arc<ConsolidatedView>,
}

impl ConsolidatedStore {
    pub fn new(inner: Arc<dyn Store>, copied: Arc<ConsolidatedView>) -> Self {
        ConsolidatedStore { inner, copied }
    }

    /// Whether the value of a key is that of the copies.
    fn has(&self, key: &StoreKey) -> bool {
        consolidated::is_document(self.copied.dialect, key)
            && !self.copied.stale.contains(key.as_str())
    }

    /// Whether the copies tell what lies below a prefix.
    fn lists(&self, prefix: &StorePrefix) -> bool {
        self.copied.dialect == Dialect::Draft && prefix.as_str().starts_with("meta/")
    }
}

#[async_trait]
impl Store for ConsolidatedStore {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        let inner = self.inner.capabilities();
        Capabilities { read: true, list: true, ..inner.read_only() }
    }

    /// Chunks are read where they are stored.
    fn as_sync(&self) -> Option<&Arc<dyn SyncStore>> {
        self.inner.as_sync()
    }

    /// Copies are in memory already: no limit applies.
    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        if !self.has(key) {
            return self.inner.get(key, how).await;
        }
        let Some(copy) = self.copied.documents.get(key.as_str()) else { return Ok(None) };
        GetOptions { limit: u64::MAX, ..how }.answer(key, copy.clone(), None)
    }

    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>, StoreError> {
        self.inner.open(key, how).await
    }

    /// Asked for the documents of a draft, and for the chunks of any array.
    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        if self.lists(prefix) {
            Ok(self.copied.below(prefix).into())
        } else {
            self.inner.list_prefix(prefix).await
        }
    }

    /// Asked for children only.
    async fn list_dir(&self, prefix: &StorePrefix, _: ListOptions) -> Result<Listing, StoreError> {
        Ok(Listing::fold(prefix, self.copied.below(prefix)))
    }
}

/// Whether two say the same of a node, in whatever words.
pub(crate) fn agree(a: &NodeMetadata, b: &NodeMetadata) -> bool {
    match (a, b) {
        (NodeMetadata::Group(a), NodeMetadata::Group(b)) => a.attributes == b.attributes,
        (NodeMetadata::Array(a), NodeMetadata::Array(b)) => {
            let words = |array: &crate::ArrayMetadata| {
                format!("{:?} {:?} {:?}", array.data_type, array.grid, array.shards)
            };
            a.shape == b.shape
                && a.fill_value == b.fill_value
                && a.chunk_keys == b.chunk_keys
                && a.codecs == b.codecs
                && a.attributes == b.attributes
                && a.dimension_names == b.dimension_names
                && words(a) == words(b)
        }
        _ => false,
    }
}

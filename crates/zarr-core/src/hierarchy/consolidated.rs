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
use crate::format::consolidated::{self, Holder};
use crate::format::{Documents, Format};
use crate::metadata::NodeMetadata;
use crate::store::aio::{ListableStore, Pinned, ReadableStore, Store};
use crate::store::{ByteRange, Listing, StoreKey, StorePrefix, Version};

/// The documents of a hierarchy, as copies have them.
#[derive(Debug)]
pub(crate) struct Copied {
    dialect: Dialect,
    documents: BTreeMap<String, Bytes>,
    /// Those that are to be looked for where they lie.
    stale: BTreeSet<String>,
}

impl Copied {
    /// What copies in a holder's document say; `None` if it is a group's without any.
    pub fn new(
        holder: &Holder,
        format: &dyn Format,
        bytes: &Bytes,
    ) -> Result<Option<Copied>, MetadataError> {
        let text = |key: StoreKey| String::from(key.as_str());
        Ok(holder.documents(format, bytes)?.map(|(documents, stale)| Copied {
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
    copied: Arc<Copied>,
}

impl ConsolidatedStore {
    pub fn new(inner: Arc<dyn Store>, copied: Arc<Copied>) -> Self {
        ConsolidatedStore { inner, copied }
    }

    fn inner(&self) -> Result<&dyn ReadableStore, StoreError> {
        let lacks = StoreError::not_capable("read", "readable");
        self.inner.readable().ok_or(lacks)
    }
}

impl Store for ConsolidatedStore {
    fn name(&self) -> String {
        self.inner.name()
    }
    fn readable(&self) -> Option<&dyn ReadableStore> {
        Some(self)
    }
    fn listable(&self) -> Option<&dyn ListableStore> {
        Some(self)
    }
    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }
    fn blocking(&self) -> Option<&Arc<dyn crate::store::Store>> {
        self.inner.blocking()
    }
}

#[async_trait]
impl ReadableStore for ConsolidatedStore {
    async fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        let is_document = consolidated::is_document(self.copied.dialect, key);
        match is_document && !self.copied.stale.contains(key.as_str()) {
            true => Ok(self.copied.documents.get(key.as_str()).cloned()),
            false => self.inner()?.get(key).await,
        }
    }

    /// Copies lie in memory already.
    async fn get_at_most(&self, key: &StoreKey, limit: u64) -> Result<Option<Bytes>, StoreError> {
        let is_document = consolidated::is_document(self.copied.dialect, key);
        match is_document && !self.copied.stale.contains(key.as_str()) {
            true => self.get(key).await,
            false => self.inner()?.get_at_most(key, limit).await,
        }
    }

    async fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        self.inner()?.get_partial_values(key, ranges).await
    }

    async fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        self.inner()?.pin(key).await
    }

    async fn pin_for(
        &self,
        key: &StoreKey,
        first: &[ByteRange],
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        self.inner()?.pin_for(key, first).await
    }

    async fn pin_as(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        self.inner()?.pin_as(key, version).await
    }
}

impl ConsolidatedStore {
    /// Whether the copies tell what lies below a prefix.
    fn lists(&self, prefix: &StorePrefix) -> bool {
        self.copied.dialect == Dialect::Draft && prefix.as_str().starts_with("meta/")
    }
}

#[async_trait]
impl ListableStore for ConsolidatedStore {
    /// Asked for the documents of a draft, and for the chunks of any array.
    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
        if self.lists(prefix) {
            return Ok(self.copied.below(prefix));
        }
        let lacks = StoreError::not_capable("list", "listable");
        self.inner.listable().ok_or(lacks)?.list_prefix(prefix).await
    }

    async fn list_below(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        match self.inner.listable() {
            Some(inner) if !self.lists(prefix) => inner.list_below(prefix).await,
            _ => Ok(Listing { keys: self.list_prefix(prefix).await?, ..Listing::default() }),
        }
    }

    /// Asked for children alone.
    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
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

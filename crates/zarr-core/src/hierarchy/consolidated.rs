//! How do copies of documents stand for the documents?
//!
//! As a store around the store: documents and the listing of documents come from the copies, everything
//! else from where it lies. The array never learns of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::dialect::Dialect;
use crate::error::StoreError;
use crate::format::{Documents, consolidated};
use crate::store::aio::{ListableStore, Pinned, ReadableStore, Store};
use crate::store::{ByteRange, Listing, StoreKey, StorePrefix};

/// A store that is read, its documents out of copies.
#[derive(Debug)]
pub(crate) struct ConsolidatedStore {
    inner: Arc<dyn Store>,
    dialect: Dialect,
    copies: BTreeMap<StoreKey, Bytes>,
}

impl ConsolidatedStore {
    pub fn new(inner: Arc<dyn Store>, dialect: Dialect, copies: Documents) -> Self {
        ConsolidatedStore { inner, dialect, copies: copies.into_iter().collect() }
    }

    fn below(&self, prefix: &StorePrefix) -> Vec<StoreKey> {
        self.copies.keys().filter(|key| prefix.strip(key).is_some()).cloned().collect()
    }

    fn inner(&self) -> Result<&dyn ReadableStore, StoreError> {
        let lacks = StoreError::NotCapable { operation: "read", capability: "readable" };
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
        match consolidated::is_document(self.dialect, key) {
            true => Ok(self.copies.get(key).cloned()),
            false => self.inner()?.get(key).await,
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
}

#[async_trait]
impl ListableStore for ConsolidatedStore {
    /// Asked for the documents of a draft, and for the chunks of any array.
    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
        if self.dialect == Dialect::Draft && prefix.as_str().starts_with("meta/") {
            return Ok(self.below(prefix));
        }
        let lacks = StoreError::NotCapable { operation: "list", capability: "listable" };
        self.inner.listable().ok_or(lacks)?.list_prefix(prefix).await
    }

    /// Asked for children alone.
    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        Ok(Listing::fold(prefix, self.below(prefix)))
    }
}

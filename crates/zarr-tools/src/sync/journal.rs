//! Marks the target of a sync that is under way: `.zarr-copy/<id>/sync.json`, beside where copies keep their journals.
//!
//! A sync that is killed goes on by comparing anew. The mark tells that half of a hierarchy is the sync's own, and from which
//! source.

use std::sync::Arc;

use zarr_core::format::copy_journal;
use zarr_core::store::{GetOptions, StoreKey, StorePrefix, SyncStore};
use zarr_core::{AccessError, Error, Hierarchy, Json, NodePath, Object, Result};

use crate::errors::at_key;

/// A mark is small.
const MAX_BYTES: u64 = 1 << 20;

/// The mark of a sync to one place.
pub(super) struct Journal {
    store: Arc<dyn SyncStore>,
    prefix: StorePrefix,
    at: NodePath,
    /// The URL of the source's store, and the node in it.
    source: (String, NodePath),
}

impl Journal {
    pub fn new(
        (from, path): (&Hierarchy, &NodePath),
        (target, at): (&Hierarchy, &NodePath),
    ) -> Journal {
        Journal {
            store: target.store().to_sync(),
            prefix: copy_journal(at),
            at: at.clone(),
            source: (from.store().name(), path.clone()),
        }
    }

    fn key(&self) -> Result<StoreKey> {
        Ok(self.prefix.key("sync.json")?)
    }

    /// Whether a sync from this source was begun and has not ended.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if one from another source was; what the store reports.
    pub fn check(&self) -> Result<bool> {
        let key = self.key()?;
        let got = self.store.get(&key, GetOptions::at_most(MAX_BYTES));
        let Some(got) = got.map_err(|e| at_key(e, &*self.store, &key))? else { return Ok(false) };
        let bytes = got.bytes.unwrap_or_default();
        let found = Json::parse(&bytes).ok();
        let source = found.as_ref().and_then(Json::as_object).and_then(|it| it.get("source"));
        let source = source.and_then(Json::as_object);
        let text = |member| source.and_then(|source| source.get(member)).and_then(Json::as_str);
        if (text("store"), text("path")) == (Some(&*self.source.0), Some(self.source.1.as_str())) {
            return Ok(true);
        }
        let other = text("store").unwrap_or("an unknown place");
        let why = format!("a sync from {other} to this place has not ended");
        let hint = format!("finish it with `zarr sync {other} …`, or erase `{key}` to abandon it");
        let error = at_key(AccessError::Argument(why), &*self.store, &key);
        Err(error.at_path(&self.at).with_hint(hint))
    }

    /// Whether a node is the target of a sync that has not ended.
    ///
    /// # Errors
    /// What the store reports.
    pub fn is_target(hierarchy: &Hierarchy, path: &NodePath) -> Result<bool> {
        let store = hierarchy.store().to_sync();
        let key = copy_journal(path).key("sync.json")?;
        crate::transfer::is_stored(&*store, &key)
    }

    /// Marks the target.
    ///
    /// # Errors
    /// What the store reports.
    pub fn put(&self) -> Result<()> {
        let (store, path) = &self.source;
        let source = Object::new().with("store", store.as_str()).with("path", path.as_str());
        let mark = Object::new().with("zarr_sync", 1u64).with("source", source);
        let (key, text) = (self.key()?, Json::from(mark).to_string());
        let set = self.store.set(&key, text.as_bytes().into());
        set.map_err(|e| Error::from(e).at_store(self.store.name()).at_key(&key))
    }

    /// Erases the mark.
    ///
    /// # Errors
    /// What the store reports.
    pub fn erase(&self) -> Result<()> {
        let key = self.key()?;
        let got = self.store.get(&key, GetOptions::at_most(MAX_BYTES));
        if got.map_err(|e| at_key(e, &*self.store, &key))?.is_none() {
            return Ok(());
        }
        self.store.erase(&key).map_err(|e| at_key(e, &*self.store, &key))?;
        // The empty folder goes, too. A copy that began meanwhile has its journal there.
        let listed = self.store.list_prefix(&self.prefix);
        if listed.map_err(|e| at_key(e, &*self.store, &key))?.keys.is_empty() {
            self.store.erase_prefix(&self.prefix).map_err(|e| at_key(e, &*self.store, &key))?;
        }
        Ok(())
    }
}

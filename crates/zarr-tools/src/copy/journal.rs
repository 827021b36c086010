//! Keeps the journal of a copy under way in the target's store: its plan, and which parts are done.
//!
//! `.zarr-copy/<id>/plan.json` is put first, and erased last but for what has no meaning without it. `cleared-<begun>`
//! says that what others had left at the copy's place is erased; before it no chunk is written. `done/<part>` says that
//! all objects of a part are stored.

use std::collections::BTreeSet;
use std::sync::Arc;

use zarr_core::format::copy_journal;
use zarr_core::store::{GetOptions, Precondition, StoreKey, StorePrefix, SyncStore};
use zarr_core::{Error, Hierarchy, Json, Limits, NodePath, Result};

use super::plan::Plan;
use crate::errors::at_key;

/// The journal of a copy to one place.
pub(super) struct Journal {
    store: Arc<dyn SyncStore>,
    prefix: StorePrefix,
    limits: Limits,
}

impl Journal {
    pub fn new(target: &Hierarchy, at: &NodePath) -> Journal {
        let store = target.store().to_sync();
        Journal { store, prefix: copy_journal(at), limits: target.options().limits }
    }

    fn key(&self, name: &str) -> Result<StoreKey> {
        Ok(self.prefix.key(name)?)
    }

    fn get(&self, key: &StoreKey) -> Result<Option<Vec<u8>>> {
        let got = self.store.get(key, GetOptions::at_most(self.limits.document));
        let got = got.map_err(|e| Error::from(e).at_store(self.store.name()).at_key(key))?;
        Ok(got.map(|got| got.bytes.unwrap_or_default().to_vec()))
    }

    /// The plan of the copy that is under way here, if one is.
    pub fn plan(&self) -> Result<Option<Plan>> {
        let key = self.key("plan.json")?;
        if !self.store.capabilities().read {
            return Ok(None);
        }
        let Some(bytes) = self.get(&key)? else { return Ok(None) };
        let plan = Json::parse(&bytes).and_then(|json| Plan::from_value(&json));
        let plan = plan.map_err(|why| {
            let error = Error::from(zarr_core::MetadataError::invalid("plan", why));
            error.at_store(self.store.name()).at_key(&key).with_hint(
                "this version cannot continue from this journal; erase what was copied with `zarr rm`, and copy again",
            )
        })?;
        Ok(Some(plan))
    }

    /// Puts the plan of a new copy; `false` if there is one.
    pub fn put_plan(&self, plan: &Plan) -> Result<bool> {
        put_new(&*self.store, &self.key("plan.json")?, plan.to_json().as_bytes())
    }

    fn cleared(&self, plan: &Plan) -> Result<StoreKey> {
        self.key(&format!("cleared-{}", plan.begun))
    }

    /// Whether the place of the copy is known to have nothing of others.
    pub fn is_cleared(&self, plan: &Plan) -> Result<bool> {
        Ok(self.get(&self.cleared(plan)?)?.is_some())
    }

    /// Notes that the place of the copy has nothing of others. Marks of earlier copies go before.
    pub fn set_cleared(&self, plan: &Plan) -> Result<()> {
        self.forget_parts()?;
        Ok(self.store.set(&self.cleared(plan)?, b"{}"[..].into())?)
    }

    fn done(&self) -> Result<StorePrefix> {
        Ok(StorePrefix::new(format!("{}done/", self.prefix.as_str()))?)
    }

    /// Notes that a part is done.
    pub fn set_done(&self, part: usize) -> Result<()> {
        Ok(self.store.set(&self.done()?.key(&part.to_string())?, b"{}"[..].into())?)
    }

    /// The parts that are done.
    pub fn parts_done(&self, plan: &Plan) -> Result<BTreeSet<usize>> {
        let done = self.done()?;
        if !self.store.capabilities().list {
            let mut parts = BTreeSet::new();
            for part in 0..plan.parts().len() {
                if self.get(&done.key(&part.to_string())?)?.is_some() {
                    parts.insert(part);
                }
            }
            return Ok(parts);
        }
        let listing = self.store.list_prefix(&done)?;
        Ok(listing
            .keys
            .iter()
            .filter_map(|key| done.strip(key)?.parse().ok())
            .filter(|&n: &usize| n < plan.parts().len())
            .collect())
    }

    /// Forgets which parts are done.
    pub fn forget_parts(&self) -> Result<()> {
        Ok(self.store.erase_prefix(&self.done()?)?)
    }

    /// Erases the journal: the plan first, without which the rest has no meaning.
    pub fn erase(&self) -> Result<()> {
        self.store.erase(&self.key("plan.json")?)?;
        Ok(self.store.erase_prefix(&self.prefix)?)
    }
}

/// Sets a value if the key is absent; `false` if it is not.
pub(crate) fn put_new(store: &dyn SyncStore, key: &StoreKey, value: &[u8]) -> Result<bool> {
    if store.capabilities().swap {
        return store
            .put(key, Some(value.into()), Precondition::Absent)
            .map_err(|e| at_key(e, store, key));
    }
    if store.get(key, GetOptions::default()).map_err(|e| at_key(e, store, key))?.is_some() {
        return Ok(false);
    }
    store.put(key, Some(value.into()), Precondition::Always).map_err(|e| at_key(e, store, key))
}

//! Finds the keys below a node that no format here writes: files of the user's own, which erasing would take along.

use super::context::HierarchyContext;
use crate::error::Result;
use crate::format::is_zarr_key;
use crate::path::NodePath;
use crate::store::{StoreKey, StorePrefix};

impl HierarchyContext {
    /// The keys that erasing the node at `path` would take along, sorted, though they are not Zarr's. What is behind a
    /// link stays, and is not among them.
    pub async fn foreign_keys(&self, path: &NodePath) -> Result<Vec<StoreKey>> {
        let at = |e: crate::Error| self.at(path, e);
        let (_, prefixes) = self.format.erasure(path).map_err(|e| at(e.into()))?;
        let mut foreign = Vec::new();
        if path.is_root() && self.is_link(&StorePrefix::root()).await.map_err(at)? {
            return Ok(foreign);
        }
        for prefix in &prefixes {
            // Of links only they go (decision 0144).
            if self.is_link(prefix).await.map_err(at)? {
                continue;
            }
            let keys = self.list_prefix(prefix).await.map_err(at)?;
            for key in keys.into_iter().filter(|key| !is_zarr_key(key)) {
                if !self.is_behind_link(prefix, &key).await.map_err(at)? {
                    foreign.push(key);
                }
            }
        }
        foreign.sort();
        foreign.dedup();
        Ok(foreign)
    }

    /// Whether a folder between `prefix` and `key` is a link.
    async fn is_behind_link(&self, prefix: &StorePrefix, key: &StoreKey) -> Result<bool> {
        let below = prefix.strip(key).unwrap_or_default();
        for (at, _) in below.match_indices('/') {
            let folder = [prefix.as_str(), &below[..=at]].concat();
            if self.is_link(&StorePrefix::new(folder)?).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn is_link(&self, prefix: &StorePrefix) -> Result<bool> {
        Ok(self.store.capabilities().write && self.store.link(prefix, false).await?)
    }
}

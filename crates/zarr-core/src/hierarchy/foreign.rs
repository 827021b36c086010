//! Finds the keys below a node that no format here writes: files of the user's own, which erasing would take along.

use super::room::Room;
use crate::error::Result;
use crate::format::is_zarr_key;
use crate::path::NodePath;
use crate::store::StoreKey;

impl Room {
    /// The keys that erasing the node at `path` would take along, sorted, though they are not Zarr's.
    pub async fn foreign_keys(&self, path: &NodePath) -> Result<Vec<StoreKey>> {
        let at = |e: crate::Error| self.at(path, e);
        let (_, prefixes) = self.format.erasure(path).map_err(|e| at(e.into()))?;
        let mut foreign = Vec::new();
        for prefix in &prefixes {
            let keys = self.list_prefix(prefix).await.map_err(at)?;
            foreign.extend(keys.into_iter().filter(|key| !is_zarr_key(key)));
        }
        foreign.sort();
        foreign.dedup();
        Ok(foreign)
    }
}

//! What is done with what lies where a new node is to be? (draft-v3.md row 27)
//!
//! The directory store of zarr-python 2.18 erases a draft's documents and leaves the chunks; whoever
//! creates an array of that name again would read them.

use std::collections::HashSet;

use super::room::{Room, get};
use crate::error::{AccessError, Error, Result, StoreError};
use crate::format::consolidated::is_document;
use crate::metadata::ArrayMetadata;
use crate::path::NodePath;

/// How the ground is made for a new node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ground {
    /// Whether a node that is there is erased first.
    pub overwrite: bool,
    /// Whether chunks without an array are erased first.
    pub purge: bool,
}

impl Room {
    /// Erases what would be read as chunks of an array that is about to be created: keys of its rank and
    /// separator, outside other nodes. Never a whole prefix, below which other nodes may lie.
    pub async fn purge(&self, path: &NodePath, array: &ArrayMetadata) -> Result<()> {
        let document = self.format.shape_place(path)?.key;
        if get(&*self.store, &document).await?.is_some() {
            return Err(Error::from(AccessError::Exists("an array")).at_key(&document));
        }
        let prefix = self.format.chunk_prefix(path)?;
        let lacks = StoreError::NotCapable {
            operation: "find the chunks to purge",
            capability: "listable",
        };
        let hint = "create the array without purging; what lies there is then read as its chunks";
        let listable = self.store.listable();
        let listable = listable.ok_or_else(|| Error::from(lacks).with_hint(hint))?;
        let keys = listable.list_prefix(&prefix).await?;
        let below: Vec<&str> = keys.iter().filter_map(|key| prefix.strip(key)).collect();
        let dialect = self.format.dialect();
        // Folders of nodes below: a chunk `0/1` would be the chunk `1` of an array called `0`.
        let nodes: HashSet<&str> = keys
            .iter()
            .filter(|key| is_document(dialect, key))
            .filter_map(|key| prefix.strip(key)?.rsplit_once('/'))
            .map(|(folder, _)| folder)
            .collect();
        let is_in_node =
            |key: &str| key.match_indices('/').any(|(end, _)| nodes.contains(&key[..end]));
        let writeable = self.writeable()?;
        for name in below.into_iter().filter(|name| !is_in_node(name)) {
            if array.chunk_keys.parse(name, array.rank()).is_some() {
                let key = prefix.key(name)?;
                writeable.erase(&key).await.map_err(|e| Error::from(e).at_key(&key))?;
            }
        }
        Ok(())
    }
}

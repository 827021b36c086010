//! Finds the chunks that lie where a new array is to be, or where an interrupted erase left them (decision 0139).
//!
//! An erase that was cut short, a writer that raced it, or the directory store of zarr-python 2.18
//! (draft-v3.md 2.1, row 27) leave chunks without a document. An array that is created there later must not show them.

use std::collections::{BTreeSet, HashSet};
use std::io::ErrorKind::{PermissionDenied, Unsupported};

use super::context::HierarchyContext;
use crate::error::{Cause, Error, ErrorKind, Result, StoreError};
use crate::format::consolidated::is_document;
use crate::format::is_zarr_key;
use crate::metadata::ArrayMetadata;
use crate::path::NodePath;
use crate::store::{StoreKey, StorePrefix};

/// How the ground is made for a new node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CreateMode {
    /// Whether a node that is there is erased first.
    pub overwrite: bool,
    /// Whether chunks without an array are erased first; `None`: where the store can list.
    pub purge: Option<bool>,
}

/// Whether the store will list nothing, however often it is asked.
fn is_refusal(error: &Error) -> bool {
    let refusals = [PermissionDenied, Unsupported];
    matches!(error.cause(), Cause::Store(StoreError::Io { source, .. }) if refusals.contains(&source.kind()))
}

impl HierarchyContext {
    /// The keys that would be read as chunks of an array that is about to be created: those of its rank and
    /// separator, outside other nodes. One listing.
    pub async fn leftovers(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
        ground: CreateMode,
    ) -> Result<Vec<StoreKey>> {
        match (ground.purge, self.store.capabilities().list) {
            (Some(false), _) | (None, false) => return Ok(Vec::new()),
            (_, true) => {}
            (Some(true), false) => {
                let hint =
                    "create the array without purging; what lies there is then read as its chunks";
                let lacks = StoreError::not_capable("find the chunks to purge", "listable");
                return Err(Error::from(lacks).with_hint(hint));
            }
        }
        let prefix = self.format.chunk_prefix(path)?;
        let keys = match self.list_prefix(&prefix).await {
            // Who may write to a bucket may be forbidden to list it, and some servers do not know how.
            Err(e) if ground.purge.is_none() && is_refusal(&e) => {
                let what = "the store does not list its keys, so that chunks which an erased array left were not looked for";
                self.warn(path.as_str(), vec![what.into()]);
                return Ok(Vec::new());
            }
            listed => listed?,
        };
        let dialect = self.format.dialect();
        // Folders of nodes below: a chunk `0/1` would be the chunk `1` of an array called `0`.
        let nodes: HashSet<&str> = keys
            .iter()
            .filter(|key| is_document(dialect, key))
            .filter_map(|key| prefix.strip(key)?.rsplit_once('/'))
            .map(|(folder, _)| folder)
            .collect();
        let is_leftover = |key: &&StoreKey| {
            let Some(name) = prefix.strip(key) else { return false };
            let in_node = name.match_indices('/').any(|(end, _)| nodes.contains(&name[..end]));
            !in_node && array.chunk_keys.parse(name, array.rank()).is_some()
        };
        Ok(keys.iter().filter(is_leftover).cloned().collect())
    }

    /// The keys that an interrupted erase left at `path`, where no document is: all that a dialect may have written.
    /// Other files stay.
    pub async fn interrupted(&self, path: &NodePath) -> Result<Vec<StoreKey>> {
        let (_, prefixes) = self.format.erasure(path)?;
        if !self.store.capabilities().list {
            return Ok(Vec::new());
        }
        let mut left = Vec::new();
        for prefix in &prefixes {
            left.extend(self.list_prefix(prefix).await?.into_iter().filter(is_zarr_key));
        }
        Ok(left)
    }

    /// The same; none if there is a node.
    pub async fn interrupted_keys(&self, path: &NodePath) -> Result<Vec<StoreKey>> {
        match self.node(path).await {
            Ok(_) => Ok(Vec::new()),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                self.interrupted(path).await.map_err(|e| self.at(path, e))
            }
            Err(e) => Err(e),
        }
    }

    /// Erases them, if there are any; `false` if there are none.
    pub(super) async fn erase_interrupted(&self, path: &NodePath) -> Result<bool> {
        let left = self.interrupted(path).await?;
        let writeable = self.writeable()?;
        // A link goes, and nothing of what the listing saw behind it (decision 0144). Outer folders sort before inner ones.
        let (_, prefixes) = self.format.erasure(path)?;
        let mut folders = BTreeSet::new();
        for key in &left {
            let begins = prefixes.iter().find_map(|p| p.strip(key).map(|_| p.as_str().len()));
            let ends = key.as_str().match_indices('/').map(|(end, _)| end + 1);
            let ends = ends.filter(|end| begins.is_some_and(|begins| *end >= begins));
            folders.extend(ends.map(|end| &key.as_str()[..end]));
        }
        for folder in folders {
            writeable.link(&StorePrefix::new(folder)?, true).await?;
        }
        // Documents first, as ever (D-174).
        let (documents, others): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|key| is_document(self.format.dialect(), key));
        for key in documents.iter().chain(&others) {
            writeable.erase(key).await.map_err(|e| Error::from(e).at_key(key))?;
        }
        Ok(!(documents.is_empty() && others.is_empty()))
    }
}

//! Finds chunks without an array at the place of a new array (docs/internals/design/crash-safety.md).
//!
//! An interrupted erase, a writer that raced it, or the directory store of zarr-python 2.18 (draft-v3.md 2.1, row 27)
//! leave chunks without a document. An array that is created there later must not show them. But nothing tells them from
//! those of an array that lost its document, or from files of the user with names such as `1`. So they are erased only if
//! the caller says so.

use std::collections::HashSet;
use std::io::ErrorKind::{PermissionDenied, Unsupported};

use crate::context::StoreContext;
use crate::error::{AccessError, Cause, Error, Result, StoreError};
use crate::format::consolidated::is_document;
use crate::metadata::{ArrayMetadata, NodeKind};
use crate::path::NodePath;
use crate::store::StoreKey;

/// What happens to what is stored at the place of a new node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CreateMode {
    /// Whether an existing node is erased first.
    pub overwrite: bool,
    /// Whether chunks without an array are erased first; `None`: with `overwrite` they are, else they are an error. Both
    /// only where the store can list.
    pub purge: Option<bool>,
}

impl CreateMode {
    /// Whether the caller has asked for chunks without an array to be erased.
    fn erases_chunks(self) -> bool {
        self.purge.unwrap_or(self.overwrite)
    }
}

/// The chunks without an array that are to be erased for a new array: as [`find_leftovers`], but an error if there are any
/// and the caller has not asked for that.
pub async fn leftovers_to_erase(
    context: &StoreContext,
    path: &NodePath,
    array: &ArrayMetadata,
    mode: CreateMode,
) -> Result<Vec<StoreKey>> {
    let found = find_leftovers(context, path, array, mode).await?;
    let Some(first) = found.first().filter(|_| !mode.erases_chunks()) else { return Ok(found) };
    // Another writer may have created the array meanwhile, and begun to write chunks.
    let documents = context.documents(path).await?;
    if let Ok(Some(NodeKind::Array)) = context.format.kind(path, &documents) {
        return Err(AccessError::Exists("an array").into());
    }
    Err(AccessError::ChunksWithoutArray { key: first.to_string(), count: found.len() }.into())
}

/// Whether the store refuses every listing.
fn is_refusal(error: &Error) -> bool {
    let refusals = [PermissionDenied, Unsupported];
    matches!(error.cause(), Cause::Store(StoreError::Io { source, .. }) if refusals.contains(&source.kind()))
}

/// The keys that would be read as chunks of a new array: those of its rank and separator, outside other nodes. Makes
/// one listing.
pub async fn find_leftovers(
    context: &StoreContext,
    path: &NodePath,
    array: &ArrayMetadata,
    mode: CreateMode,
) -> Result<Vec<StoreKey>> {
    match (mode.purge, context.store.capabilities().list) {
        (Some(false), _) | (None, false) => return Ok(Vec::new()),
        (_, true) => {}
        (Some(true), false) => {
            let hint =
                "create the array without purging; what is stored there is then read as its chunks";
            let lacks = StoreError::not_capable("find the chunks to purge", "listable");
            return Err(Error::from(lacks).with_hint(hint));
        }
    }
    let prefix = context.format.chunk_prefix(path)?;
    let keys = match context.list_prefix(&prefix).await {
        // A writer may be forbidden to list a bucket, and some servers cannot list.
        Err(e) if mode.purge.is_none() && is_refusal(&e) => {
            let what = "the store cannot list its keys, so chunks left by an erased array were not looked for";
            context.warn(path.as_str(), vec![what.into()]);
            return Ok(Vec::new());
        }
        listed => listed?,
    };
    let dialect = context.format.dialect();
    // Folders of nodes below: a key `0/1` may be the chunk `1` of an array called `0`.
    let nodes: HashSet<&str> = keys
        .iter()
        .filter(|key| is_document(dialect, key))
        .filter_map(|key| prefix.strip(key)?.rsplit_once('/'))
        .map(|(folder, _)| folder)
        .collect();
    let mut leftovers = Vec::new();
    for key in &keys {
        let Some(name) = prefix.strip(key) else { continue };
        let in_node = name.match_indices('/').any(|(end, _)| nodes.contains(&name[..end]));
        if !in_node && array.chunk_keys.parse(name, array.rank()).is_some() {
            leftovers.push(key.clone());
        }
    }
    Ok(leftovers)
}

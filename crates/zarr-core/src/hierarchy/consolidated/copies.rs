//! Reads and writes single consolidated documents, and finds the documents of which they have the only copies
//! (docs/internals/design/crash-safety.md).
//!
//! Some writers put all documents into the consolidated metadata and none at their nodes; a document may also be lost while its copy is left.

use std::collections::BTreeSet;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::view::ConsolidatedView;
use crate::array::swap::{Edited, update};
use crate::context::{StoreContext, document, documents};
use crate::error::{AccessError, Error, MetadataError, Result};
use crate::format::consolidated::{ConsolidatedDocument, ConsolidatedEntries};
use crate::format::{Documents, Format};
use crate::hierarchy::context::HierarchyContext;
use crate::json::Json;
use crate::store::{StoreKey, check_size};

/// The most documents that are read at the same time to see whether they are there.
const MAX_READ_TOGETHER: usize = 1000;

/// What to do about documents that only copies have.
pub(crate) const RESTORE_HINT: &str = "`zarr repair --apply` writes them where they belong; `zarr rm` erases a node that is no longer wanted";

/// A document, not its copy.
pub async fn live_document(hierarchy: &HierarchyContext, key: &StoreKey) -> Result<Option<Bytes>> {
    document(&*hierarchy.live, key, &hierarchy.context.options.limits).await
}

/// The copies in a consolidated document, to read from; `None` if there are none.
pub fn parse_view(
    format: &dyn Format,
    holder: &ConsolidatedDocument,
    bytes: Option<Bytes>,
) -> Result<Option<ConsolidatedView>, MetadataError> {
    bytes.map_or(Ok(None), |bytes| ConsolidatedView::new(holder, format, &bytes))
}

/// The documents of which `holder`, whose value is `bytes`, has the only copies. Those in `known` are there.
pub async fn only_copied(
    hierarchy: &HierarchyContext,
    holder: &ConsolidatedDocument,
    bytes: Option<&Bytes>,
    known: &Documents,
) -> Result<BTreeSet<StoreKey>> {
    let mut missing = bytes.map(|bytes| holder.described(bytes)).unwrap_or_default();
    // The entry point of a draft is no node's.
    missing.retain(|key| holder.covers(key) && key.as_str() != "zarr.json");
    for (key, _) in known {
        missing.remove(key);
    }
    let keys: Vec<StoreKey> = missing.iter().cloned().collect();
    for keys in keys.chunks(MAX_READ_TOGETHER) {
        for (key, _) in live_documents(hierarchy, keys.to_vec()).await? {
            missing.remove(&key);
        }
    }
    Ok(missing)
}

/// An error if a consolidated document has the only copies of documents: they would be lost with it (Z2-073).
pub async fn check_not_only_copies(
    hierarchy: &HierarchyContext,
    holder: &ConsolidatedDocument,
    known: &Documents,
) -> Result<()> {
    let bytes = live_document(hierarchy, &holder.key).await?;
    let only = only_copied(hierarchy, holder, bytes.as_ref(), known).await?;
    match only.first() {
        Some(first) => Err(only_copies_error(holder, first, only.len())),
        None => Ok(()),
    }
}

fn only_copies_error(holder: &ConsolidatedDocument, first: &StoreKey, count: usize) -> Error {
    let why = match count {
        1 => format!(
            "these consolidated metadata have the only copy of `{first}`, which would be lost"
        ),
        count => format!(
            "these consolidated metadata have the only copies of {count} documents, such as `{first}`, which would be lost"
        ),
    };
    Error::from(AccessError::Argument(why)).at_key(&holder.key).with_hint(RESTORE_HINT)
}

/// The copies in a consolidated document.
pub async fn read_copies(
    hierarchy: &HierarchyContext,
    holder: &ConsolidatedDocument,
) -> Result<Option<ConsolidatedEntries>> {
    Ok(usable_copies(holder, live_document(hierarchy, &holder.key).await?.as_ref()))
}

/// A consolidated document with these copies, if it can have any. One that no reader would take, as it is larger than
/// [`Limits::document`](crate::Limits::document), is not written: in v3 it is the document of the group itself.
pub fn encode_copies(
    context: &StoreContext,
    holder: &ConsolidatedDocument,
    old: Option<&Bytes>,
    copies: &ConsolidatedEntries,
) -> Result<Edited> {
    let Some(document) = holder.with_copies(old, Some(copies))? else {
        return Ok(Edited::Keep);
    };
    check_copies_size(context, holder, document.len() as u64)?;
    Ok(Edited::Set(document.into()))
}

/// Refuses a consolidated document of more bytes than readers take.
pub fn check_copies_size(
    context: &StoreContext,
    holder: &ConsolidatedDocument,
    size: u64,
) -> Result<()> {
    check_size(&holder.key, size, context.options.limits.document).map_err(|e| {
        let hint = "consolidate the groups below it, each by itself; or raise `Limits::document`, as all readers then must";
        Error::from(e).with_hint(hint)
    })
}

/// Documents, not their copies.
pub async fn live_documents(
    hierarchy: &HierarchyContext,
    keys: Vec<StoreKey>,
) -> Result<Documents> {
    documents(&*hierarchy.live, keys, &hierarchy.context.options.limits).await
}

/// Documents as JSON.
pub fn decode_documents(format: &dyn Format, found: Documents) -> Result<Vec<(StoreKey, Json)>> {
    let mut decoded = Vec::with_capacity(found.len());
    for (key, bytes) in found {
        let json = if key.as_str() == "zarr.json" {
            Json::parse_tolerant(&bytes)
        } else {
            format.encoding().decode(&bytes)
        };
        match json {
            Ok((json, _)) => decoded.push((key, json)),
            Err(e) => return Err(Error::from(MetadataError::Json(e)).at_key(&key)),
        }
    }
    Ok(decoded)
}

/// Removes all copies from a consolidated document.
pub fn remove_copies<'a>(
    hierarchy: &'a HierarchyContext,
    holder: &'a ConsolidatedDocument,
) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        check_not_only_copies(hierarchy, holder, &Documents::new()).await?;
        update(&hierarchy.context, &holder.key, &mut |old: Option<&Bytes>| {
            if old.is_none() {
                return Ok(Edited::Keep);
            }
            let without = holder.with_copies(old, None)?;
            Ok(without.map_or(Edited::Erase, |document| Edited::Set(document.into())))
        })
        .await
    })
}

/// The copies in a consolidated document. Broken ones count as none: opening has warned of them, and no reader uses them.
pub fn usable_copies(
    holder: &ConsolidatedDocument,
    document: Option<&Bytes>,
) -> Option<ConsolidatedEntries> {
    holder.copies(document?).ok().flatten()
}

/// The error for consolidated metadata that are required, and absent.
pub fn no_copies(holder: &ConsolidatedDocument) -> Error {
    let looked_for = format!("consolidated metadata in `{}`", holder.key);
    AccessError::NotFound { looked_for }.into()
}

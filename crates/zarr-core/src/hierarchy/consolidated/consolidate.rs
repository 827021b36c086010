//! Creates and removes consolidated copies of documents.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::copies;
use super::refresh::{self, AffectedNodes, Change};
use crate::array::swap::{MAX_ATTEMPTS, update};
use crate::context::StoreContext;
use crate::dialect::Dialect;
use crate::error::{AccessError, Error, Result};
use crate::format::Documents;
use crate::format::consolidated::{ConsolidatedDocument, ConsolidatedEntries, DRAFT_GROUP};
use crate::hierarchy::context::HierarchyContext;
use crate::hierarchy::{create, list};
use crate::json::Json;
use crate::metadata::NodeKind;
use crate::path::NodePath;
use crate::store::{ListOptions, Listing, StoreKey};
use crate::sync::lock;

/// The most documents of drafts that are read before their sizes are summed.
const MAX_READ_TOGETHER: usize = 1000;

/// Makes copies of all documents from `path` on; returns how many nodes they describe.
pub async fn consolidate(hierarchy: &HierarchyContext, path: &NodePath) -> Result<usize> {
    consolidate_below(hierarchy, path).await.map_err(|e| hierarchy.context.with_context(path, e))
}

async fn consolidate_below(hierarchy: &HierarchyContext, path: &NodePath) -> Result<usize> {
    let context = &hierarchy.context;
    context.writeable()?;
    let dialect = context.format.dialect();
    let holder = ConsolidatedDocument::at(dialect, path)?;
    if dialect == Dialect::Draft && !path.is_root() {
        let why = "a draft has consolidated metadata of the whole hierarchy only";
        return Err(AccessError::Argument(why.into()).into());
    }
    if (dialect == Dialect::V3 || !path.is_root())
        && list::read_node(hierarchy, path).await?.kind() == NodeKind::Array
    {
        let why = "an array has no nodes below it to consolidate";
        return Err(AccessError::Argument(why.into()).into());
    }
    let mut is_checked = false;
    if dialect == Dialect::Draft {
        // What only copies have is refused before anything is written.
        copies::check_not_only_copies(hierarchy, &holder, &Documents::new()).await?;
        is_checked = true;
        // zarr-python 2.18 makes a group for a draft's copies.
        create::create_implied_group(context, &NodePath::new(DRAFT_GROUP)?).await?;
        hierarchy.draft_copies.store(true, Ordering::Relaxed);
    }
    for _ in 0..MAX_ATTEMPTS {
        let (nodes, found) = all_documents(hierarchy, &holder, path).await?;
        if !is_checked {
            copies::check_not_only_copies(hierarchy, &holder, &found).await?;
            is_checked = true;
        }
        let documents = copies::decode_documents(&*context.format, found.clone())?;
        let write = write_copies(context, &holder, documents.into_iter().collect());
        // In v3 the copies are in the group's document, of which groups above may have copies.
        let written = if dialect == Dialect::V3 && !path.is_root() {
            let affected = AffectedNodes { path, above: &[], change: Change::Edit };
            refresh::with_invalidation(hierarchy, affected, write).await
        } else {
            write.await
        };
        written.map_err(|e| e.at_key(&holder.key))?;
        // A writer that changed a document before the copies existed did not refresh them.
        if all_documents(hierarchy, &holder, path).await?.1 == found {
            if path.is_root() {
                *lock(&hierarchy.watched) = None;
            }
            return Ok(nodes);
        }
    }
    Err(AccessError::Conflict { attempts: MAX_ATTEMPTS }.into())
}

/// Puts copies of these documents in place of all copies that `holder` has.
async fn write_copies(
    context: &StoreContext,
    holder: &ConsolidatedDocument,
    documents: BTreeMap<StoreKey, Json>,
) -> Result<()> {
    update(context, &holder.key, &mut |old: Option<&Bytes>| {
        let mut entries = other_entries(holder, old);
        entries.extend(documents.clone());
        let copies = ConsolidatedEntries { entries, invalid: Vec::new() };
        copies::encode_copies(context, holder, old, &copies)
    })
    .await
}

/// Entries of consolidated metadata that are not documents of nodes: other writers put them there.
fn other_entries(holder: &ConsolidatedDocument, old: Option<&Bytes>) -> BTreeMap<StoreKey, Json> {
    let copies = old.and_then(|old| holder.copies(old).ok().flatten()).unwrap_or_default();
    let mut entries = copies.entries;
    entries.retain(|key, _| !holder.covers(key));
    entries
}

/// Removes the copies of all documents from `path` on, those that [`consolidate`] makes there; `false` if there are
/// none.
pub async fn remove_consolidated(hierarchy: &HierarchyContext, path: &NodePath) -> Result<bool> {
    remove_all_copies(hierarchy, path).await.map_err(|e| hierarchy.context.with_context(path, e))
}

async fn remove_all_copies(hierarchy: &HierarchyContext, path: &NodePath) -> Result<bool> {
    hierarchy.context.writeable()?;
    let dialect = hierarchy.context.format.dialect();
    if dialect == Dialect::Draft && !path.is_root() {
        return Ok(false);
    }
    let holder = ConsolidatedDocument::at(dialect, path)?;
    let bytes = copies::live_document(hierarchy, &holder.key).await?;
    // Broken copies are removed, too.
    let exist = bytes.is_some_and(|bytes| !matches!(holder.copies(&bytes), Ok(None)));
    if exist {
        let remove = copies::remove_copies(hierarchy, &holder);
        if dialect == Dialect::V3 && !path.is_root() {
            let affected = AffectedNodes { path, above: &[], change: Change::Edit };
            refresh::with_invalidation(hierarchy, affected, remove).await?;
        } else {
            remove.await?;
        }
    }
    if path.is_root() {
        *lock(&hierarchy.watched) = None;
    }
    Ok(exist)
}

/// The documents from `path` on that `holder` gets copies of, and how many nodes they describe. No chunk is read.
///
/// # Errors
/// As soon as so much is read that the copies cannot fit into a document.
async fn all_documents(
    hierarchy: &HierarchyContext,
    holder: &ConsolidatedDocument,
    path: &NodePath,
) -> Result<(usize, Documents)> {
    let context = &hierarchy.context;
    let read = AtomicU64::new(0);
    if let Some(prefix) = context.format.tree_prefix() {
        let keys = context.list_prefix(&prefix).await?;
        let tree = context.format.tree(&NodePath::root(), &keys, &mut Vec::new());
        let mut keys = vec![StoreKey::new("zarr.json")?];
        let mut all = Documents::new();
        for child in tree.iter() {
            keys.extend(context.format.document_keys(&child.path)?);
        }
        for keys in keys.chunks(MAX_READ_TOGETHER) {
            let found = copies::live_documents(hierarchy, keys.to_vec()).await?;
            check_copies_fit(context, holder, &found, &read)?;
            all.extend(found);
        }
        return Ok((tree.len(), all));
    }
    let mut level = vec![path.clone()];
    let mut nodes = 0;
    let mut all = Documents::new();
    while !level.is_empty() {
        let found = std::mem::take(&mut level).into_iter().map(async |path| {
            let path = &path;
            let keys = context.format.document_keys(path)?;
            let found = copies::live_documents(hierarchy, keys).await?;
            let kind = context.format.kind(path, &found);
            let kind = kind.map_err(|e| context.with_context(path, e))?;
            check_copies_fit(context, holder, &found, &read)?;
            // A folder without a document may have nodes below it, which must not be hidden by the copies.
            let has_children = match kind {
                Some(kind) => kind == NodeKind::Group,
                None => list::implied_group(hierarchy, path, &found).await?.is_some(),
            };
            let listing = if has_children {
                let prefix = context.format.children_prefix(path)?;
                context.listable()?.list_dir(&prefix, ListOptions::default()).await?
            } else {
                Listing::default()
            };
            let children = context.format.children(path, &listing, &mut Vec::new());
            Ok::<_, Error>((kind.is_some().then_some(found), children))
        });
        for (found, children) in context.join_bounded(found).await? {
            nodes += usize::from(found.is_some());
            let found = found.unwrap_or_default();
            all.extend(found.into_iter().filter(|(key, _)| holder.covers(key)));
            level.extend(children.into_iter().map(|child| child.path));
        }
    }
    all.sort();
    Ok((nodes, all))
}

/// Refuses to read on where the copies cannot fit into a document: `read` counts the bytes that they have at least.
fn check_copies_fit(
    context: &StoreContext,
    holder: &ConsolidatedDocument,
    found: &Documents,
    read: &AtomicU64,
) -> Result<()> {
    let copied = found.iter().filter(|(key, _)| holder.covers(key));
    let size = copied.map(|(_, bytes)| least_copy(bytes)).sum();
    let size = read.fetch_add(size, Ordering::Relaxed) + size;
    copies::check_copies_size(context, holder, size).map_err(|e| e.at_key(&holder.key))
}

/// Bytes that the copy of a document has at least: without blanks, and with one byte for each character that is escaped.
fn least_copy(document: &[u8]) -> u64 {
    let mut size = 0;
    let mut rest = document.iter();
    while let Some(byte) = rest.next() {
        size += u64::from(!matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
        if *byte == b'\\' && rest.next() == Some(&b'u') {
            rest.nth(3);
        }
    }
    size
}

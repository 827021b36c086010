//! Keeps the consolidated copies of documents up to date.
//!
//! A change of documents first marks their copies as invalid, in every consolidated document that has some. Then the change
//! is made. Then the copies are made again from the documents, and the marks are removed. Each step is a compare-and-swap of
//! the consolidated document. If one is interrupted, the marks say which copies readers must not use. Of several writers the
//! last one makes the copy of what all of them left (Z2-072, F-014).

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::future::{BoxFuture, try_join_all};

use super::copies::{self, RESTORE_HINT, usable_copies};
use crate::array::swap::{Edited, MAX_ATTEMPTS, compare_and_swap, update, whole};
use crate::dialect::Dialect;
use crate::error::{AccessError, Error, Result};
use crate::format::consolidated::{
    ConsolidatedDocument, ConsolidatedEntries, documents_with_copies,
};
use crate::format::{Documents, Format};
use crate::hierarchy::context::HierarchyContext;
use crate::metadata::NodeKind;
use crate::path::NodePath;
use crate::store::{Precondition, Snapshot, StoreKey};
use crate::sync::lock;

/// The nodes whose documents a change affects.
#[derive(Clone, Copy)]
pub(crate) struct AffectedNodes<'a> {
    /// The node that is changed.
    pub path: &'a NodePath,
    /// Nodes above that are created with it.
    pub above: &'a [NodePath],
    /// What is done to it.
    pub change: Change,
}

/// What is done to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is created.
    Create,
    /// It is erased with everything below it, and created anew.
    Overwrite,
    /// One of its documents is changed.
    Edit,
    /// It is erased with everything below it.
    Erase,
}

impl Change {
    /// Whether the node is erased with everything below it.
    fn erases(self) -> bool {
        matches!(self, Change::Overwrite | Change::Erase)
    }
}

/// The copies that a change has marked as invalid in one consolidated document.
struct Invalidated {
    holder: ConsolidatedDocument,
    keys: BTreeSet<StoreKey>,
}

impl AffectedNodes<'_> {
    /// The affected documents that a consolidated document has copies of, or may have.
    fn keys(
        &self,
        format: &dyn Format,
        holder: &ConsolidatedDocument,
        copies: &ConsolidatedEntries,
    ) -> Result<BTreeSet<StoreKey>> {
        let mut keys = BTreeSet::new();
        for path in self.above.iter().chain([self.path]) {
            keys.extend(format.document_keys(path)?);
        }
        if self.change.erases() {
            let (_, prefixes) = format.erasure(self.path)?;
            for key in copies.entries.keys().chain(&copies.invalid) {
                if prefixes.iter().any(|prefix| prefix.strip(key).is_some()) {
                    keys.insert(key.clone());
                }
            }
        }
        keys.retain(|key| holder.covers(key));
        Ok(keys)
    }
}

/// Changes documents, and refreshes the copies of them.
pub async fn with_invalidation<T>(
    hierarchy: &HierarchyContext,
    affected: AffectedNodes<'_>,
    change: impl Future<Output = Result<T>>,
) -> Result<T> {
    let (changed, refreshed) = change_and_refresh(hierarchy, affected, change).await?;
    refreshed.map(|()| changed)
}

/// As [`with_invalidation`]; the second result says whether the copies could be refreshed after the
/// change was made.
pub async fn change_and_refresh<T>(
    hierarchy: &HierarchyContext,
    affected: AffectedNodes<'_>,
    change: impl Future<Output = Result<T>>,
) -> Result<(T, Result<()>)> {
    let invalidated = invalidate(hierarchy, &affected).await?;
    let changed = change.await;
    let refreshed = refresh(hierarchy, &affected, invalidated).await;
    let hint =
        "the change was made, and its consolidated copies are marked as stale; consolidate again";
    Ok((changed?, refreshed.map_err(|e| e.with_hint(hint))))
}

/// The consolidated documents that have copies of a node's documents, and the copies.
fn find_copies<'a>(
    hierarchy: &'a HierarchyContext,
    path: &'a NodePath,
) -> BoxFuture<'a, Result<Vec<(ConsolidatedDocument, ConsolidatedEntries)>>> {
    Box::pin(async move {
        let dialect = hierarchy.context.format.dialect();
        if dialect == Dialect::Draft && !hierarchy.draft_copies.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let found = documents_with_copies(dialect, path)?.into_iter().map(async |holder| {
            let copies = copies::read_copies(hierarchy, &holder).await?;
            Ok::<_, Error>(copies.map(|copies| (holder, copies)))
        });
        Ok(try_join_all(found).await?.into_iter().flatten().collect())
    })
}

/// Whether affected documents have copies.
pub async fn are_copied(
    hierarchy: &HierarchyContext,
    affected: &AffectedNodes<'_>,
) -> Result<bool> {
    for (holder, copies) in find_copies(hierarchy, affected.path).await? {
        let keys = affected.keys(&*hierarchy.context.format, &holder, &copies)?;
        if keys.iter().any(|key| copies.entries.contains_key(key)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Marks the copies of affected documents as invalid. Copies of what is to be erased are removed: other programs do not know the
/// marks, and would read an array whose chunks are being erased. A mark without a copy says that an erase has begun.
fn invalidate<'a>(
    hierarchy: &'a HierarchyContext,
    affected: &'a AffectedNodes<'a>,
) -> BoxFuture<'a, Result<Vec<Invalidated>>> {
    let context = &hierarchy.context;
    Box::pin(async move {
        let mut invalidated = Vec::new();
        for (holder, found) in find_copies(hierarchy, affected.path).await? {
            let mut keys = BTreeSet::new();
            keep_only_copies(hierarchy, affected, &holder, &found).await?;
            if context.options.drop_consolidated {
                copies::remove_copies(hierarchy, &holder).await?;
                continue;
            }
            let updated = update(context, &holder.key, &mut |old: Option<&Bytes>| {
                let Some(mut copies) = usable_copies(&holder, old) else {
                    return Ok(Edited::Keep);
                };
                keys = affected.keys(&*context.format, &holder, &copies)?;
                if affected.change.erases() {
                    copies.entries.retain(|key, _| !keys.contains(key));
                }
                copies.invalid.extend(keys.iter().cloned());
                copies::encode_copies(context, &holder, old, &copies)
            })
            .await;
            updated?;
            invalidated.push(Invalidated { holder, keys });
        }
        Ok(invalidated)
    })
}

/// Keeps what only copies have from being lost by a change: refuses to create a node, or a group above one, in the place of one that
/// only the copies describe; writes attributes of v2 that only they have, before the copies are made again.
async fn keep_only_copies(
    hierarchy: &HierarchyContext,
    affected: &AffectedNodes<'_>,
    holder: &ConsolidatedDocument,
    copies: &ConsolidatedEntries,
) -> Result<()> {
    let context = &hierarchy.context;
    // An overwritten node is erased with its copies.
    let created = (affected.change == Change::Create).then_some(affected.path);
    for path in created.into_iter().chain(affected.above) {
        let mut keys = context.format.document_keys(path)?;
        keys.retain(|key| !key.as_str().ends_with(".zattrs"));
        let copied = keys.iter().find(|key| copies.entries.contains_key(key));
        if let Some(first) = copied
            && copies::live_documents(hierarchy, keys.clone()).await?.is_empty()
        {
            let why = format!(
                "the consolidated metadata in `{}` describe {path}, whose document `{first}` is not there",
                holder.key
            );
            let error = Error::from(AccessError::Argument(why));
            return Err(error.at_path(path).with_hint(RESTORE_HINT));
        }
    }
    if affected.change != Change::Edit || context.format.dialect() != Dialect::V2 {
        return Ok(());
    }
    let place = context.format.attributes_member(affected.path, NodeKind::Group)?;
    let copy = copies.entries.get(&place.key);
    if let Some(copy) = copy
        && copy.as_object().is_some_and(|attributes| !attributes.is_empty())
        && copies::live_document(hierarchy, &place.key).await?.is_none()
    {
        let bytes = copy.to_pretty().into_bytes();
        let payload = Some(bytes.into());
        context.writeable()?.put(&place.key, payload, Precondition::Absent).await?;
    }
    Ok(())
}

/// Makes the copies of affected documents again, also in consolidated documents that were created during the change.
fn refresh<'a>(
    hierarchy: &'a HierarchyContext,
    affected: &'a AffectedNodes<'a>,
    invalidated: Vec<Invalidated>,
) -> BoxFuture<'a, Result<()>> {
    let context = &hierarchy.context;
    Box::pin(async move {
        for (holder, copies) in find_copies(hierarchy, affected.path).await? {
            if context.options.drop_consolidated {
                copies::remove_copies(hierarchy, &holder).await?;
                continue;
            }
            let mut keys = affected.keys(&*context.format, &holder, &copies)?;
            let marks = invalidated.iter().find(|it| it.holder.key == holder.key);
            let mut marks = marks.map(|it| it.keys.clone()).unwrap_or_default();
            keys.extend(marks.iter().cloned());
            let keys: Vec<StoreKey> = keys.into_iter().collect();
            loop {
                let seen = Mutex::new(Documents::new());
                let done = compare_and_swap(
                    context,
                    context.options.guard,
                    &holder.key,
                    context.options.limits.document,
                    |old| copy_again(hierarchy, &holder, old, &keys, &marks, &seen),
                    MAX_ATTEMPTS,
                );
                if !done.await? {
                    return Err(AccessError::Conflict { attempts: MAX_ATTEMPTS }.into());
                }
                marks.clear();
                // The consolidated document may have become what it was before, so that the comparison finds no change.
                if copies::live_documents(hierarchy, keys.clone()).await? == *lock(&seen) {
                    break;
                }
            }
        }
        Ok(())
    })
}

/// The consolidated document with new copies of `keys`, and without one of each of `marks`.
async fn copy_again(
    hierarchy: &HierarchyContext,
    holder: &ConsolidatedDocument,
    old: Option<Arc<dyn Snapshot>>,
    keys: &[StoreKey],
    marks: &BTreeSet<StoreKey>,
    seen: &Mutex<Documents>,
) -> Result<Edited> {
    // The documents are read after the consolidated one: a writer that changes them later changes that one later, too.
    let old = whole(old.as_deref()).await?;
    let found = copies::live_documents(hierarchy, keys.to_vec()).await?;
    *lock(seen) = found.clone();
    let Some(mut copies) = usable_copies(holder, old.as_ref()) else {
        return Ok(Edited::Keep);
    };
    for key in keys {
        copies.entries.remove(key);
    }
    copies.entries.extend(copies::decode_documents(&*hierarchy.context.format, found)?);
    for mark in marks {
        if let Some(at) = copies.invalid.iter().position(|key| key == mark) {
            copies.invalid.swap_remove(at);
        }
    }
    copies::encode_copies(&hierarchy.context, holder, old.as_ref(), &copies)
}

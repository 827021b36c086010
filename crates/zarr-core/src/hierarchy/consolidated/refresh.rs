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

use crate::array::compare_and_swap::{Edited, MAX_ATTEMPTS, compare_and_swap, update, whole};
use crate::context::documents;
use crate::dialect::Dialect;
use crate::error::{AccessError, Error, MetadataError, Result};
use crate::format::Documents;
use crate::format::consolidated::{
    ConsolidatedDocument, ConsolidatedEntries, documents_with_copies,
};
use crate::hierarchy::context::HierarchyContext;
use crate::json::Json;
use crate::path::NodePath;
use crate::store::{Snapshot, StoreKey, check_size};
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
        context: &HierarchyContext,
        holder: &ConsolidatedDocument,
        copies: &ConsolidatedEntries,
    ) -> Result<BTreeSet<StoreKey>> {
        let mut keys = BTreeSet::new();
        for path in self.above.iter().chain([self.path]) {
            keys.extend(context.format.document_keys(path)?);
        }
        if self.change.erases() {
            let (_, prefixes) = context.format.erasure(self.path)?;
            let is_erased =
                |key: &&StoreKey| prefixes.iter().any(|prefix| prefix.strip(key).is_some());
            let copied = copies.entries.keys().chain(&copies.invalid);
            keys.extend(copied.filter(is_erased).cloned());
        }
        keys.retain(|key| holder.covers(key));
        Ok(keys)
    }
}

impl HierarchyContext {
    /// Changes documents, and refreshes the copies of them.
    pub async fn with_invalidation<T>(
        &self,
        affected: AffectedNodes<'_>,
        change: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let (changed, refreshed) = self.change_and_refresh(affected, change).await?;
        refreshed.map(|()| changed)
    }

    /// As [`HierarchyContext::with_invalidation`]; the second result says whether the copies could be refreshed after the
    /// change was made.
    pub async fn change_and_refresh<T>(
        &self,
        affected: AffectedNodes<'_>,
        change: impl Future<Output = Result<T>>,
    ) -> Result<(T, Result<()>)> {
        let invalidated = self.invalidate(&affected).await?;
        let changed = change.await;
        let refreshed = self.refresh(&affected, invalidated).await;
        let hint = "the change is made, and its consolidated copies are marked as stale; consolidate again";
        Ok((changed?, refreshed.map_err(|e| e.with_hint(hint))))
    }

    /// The consolidated documents that have copies of a node's documents, and the copies.
    fn find_copies<'a>(
        &'a self,
        path: &'a NodePath,
    ) -> BoxFuture<'a, Result<Vec<(ConsolidatedDocument, ConsolidatedEntries)>>> {
        Box::pin(async move {
            let dialect = self.format.dialect();
            if dialect == Dialect::Draft && !self.draft_copies.load(Ordering::Relaxed) {
                return Ok(Vec::new());
            }
            let found = documents_with_copies(dialect, path)?.into_iter().map(async |holder| {
                let copies = self.copies(&holder).await?;
                Ok::<_, Error>(copies.map(|copies| (holder, copies)))
            });
            Ok(try_join_all(found).await?.into_iter().flatten().collect())
        })
    }

    /// Whether affected documents have copies.
    pub(in crate::hierarchy) async fn are_copied(
        &self,
        affected: &AffectedNodes<'_>,
    ) -> Result<bool> {
        for (holder, copies) in self.find_copies(affected.path).await? {
            let keys = affected.keys(self, &holder, &copies)?;
            if keys.iter().any(|key| copies.entries.contains_key(key)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The copies in a consolidated document.
    async fn copies(&self, holder: &ConsolidatedDocument) -> Result<Option<ConsolidatedEntries>> {
        Ok(usable_copies(holder, self.live_document(&holder.key).await?.as_ref()))
    }

    /// Marks the copies of affected documents as invalid. Copies of what is to be erased are removed: other programs do not know the
    /// marks, and would read an array whose chunks are being erased. A mark without a copy says that an erase has begun.
    fn invalidate<'a>(
        &'a self,
        affected: &'a AffectedNodes<'a>,
    ) -> BoxFuture<'a, Result<Vec<Invalidated>>> {
        Box::pin(async move {
            let mut invalidated = Vec::new();
            for (holder, found) in self.find_copies(affected.path).await? {
                let mut keys = BTreeSet::new();
                self.keep_only_copies(affected, &holder, &found).await?;
                if self.options.drop_consolidated {
                    self.remove_copies(&holder).await?;
                    continue;
                }
                let mut edit = |old: Option<&Bytes>| {
                    let Some(mut copies) = usable_copies(&holder, old) else {
                        return Ok(Edited::Keep);
                    };
                    keys = affected.keys(self, &holder, &copies)?;
                    if affected.change.erases() {
                        copies.entries.retain(|key, _| !keys.contains(key));
                    }
                    copies.invalid.extend(keys.iter().cloned());
                    self.with_copies(&holder, old, &copies)
                };
                update(self, &holder.key, &mut edit).await?;
                invalidated.push(Invalidated { holder, keys });
            }
            Ok(invalidated)
        })
    }

    /// Makes the copies of affected documents again, also in consolidated documents that were created during the change.
    fn refresh<'a>(
        &'a self,
        affected: &'a AffectedNodes<'a>,
        invalidated: Vec<Invalidated>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            for (holder, copies) in self.find_copies(affected.path).await? {
                if self.options.drop_consolidated {
                    self.remove_copies(&holder).await?;
                    continue;
                }
                let mut keys = affected.keys(self, &holder, &copies)?;
                let marks = invalidated.iter().find(|it| it.holder.key == holder.key);
                let mut marks = marks.map(|it| it.keys.clone()).unwrap_or_default();
                keys.extend(marks.iter().cloned());
                let keys: Vec<StoreKey> = keys.into_iter().collect();
                loop {
                    let seen = Mutex::new(Documents::new());
                    let done = compare_and_swap(
                        self,
                        self.options.guard,
                        &holder.key,
                        self.options.limits.document,
                        |old| self.copy_again(&holder, old, &keys, &marks, &seen),
                        MAX_ATTEMPTS,
                    );
                    if !done.await? {
                        return Err(AccessError::Conflict { attempts: MAX_ATTEMPTS }.into());
                    }
                    marks.clear();
                    // The consolidated document may have become what it was before, so that the comparison finds no change.
                    if self.live_documents(keys.clone()).await? == *lock(&seen) {
                        break;
                    }
                }
            }
            Ok(())
        })
    }

    /// The consolidated document with new copies of `keys`, and without one of each of `marks`.
    async fn copy_again(
        &self,
        holder: &ConsolidatedDocument,
        old: Option<Arc<dyn Snapshot>>,
        keys: &[StoreKey],
        marks: &BTreeSet<StoreKey>,
        seen: &Mutex<Documents>,
    ) -> Result<Edited> {
        // The documents are read after the consolidated one: a writer that changes them later changes that one later, too.
        let old = whole(old.as_deref()).await?;
        let found = self.live_documents(keys.to_vec()).await?;
        *lock(seen) = found.clone();
        let Some(mut copies) = usable_copies(holder, old.as_ref()) else {
            return Ok(Edited::Keep);
        };
        for key in keys {
            copies.entries.remove(key);
        }
        copies.entries.extend(self.decoded(found)?);
        for mark in marks {
            if let Some(at) = copies.invalid.iter().position(|key| key == mark) {
                copies.invalid.swap_remove(at);
            }
        }
        self.with_copies(holder, old.as_ref(), &copies)
    }

    /// A consolidated document with these copies, if it can have any. One that no reader would take, as it is larger than
    /// [`Limits::document`](crate::Limits::document), is not written: in v3 it is the document of the group itself.
    pub(super) fn with_copies(
        &self,
        holder: &ConsolidatedDocument,
        old: Option<&Bytes>,
        copies: &ConsolidatedEntries,
    ) -> Result<Edited> {
        let Some(document) = holder.with_copies(old, Some(copies))? else {
            return Ok(Edited::Keep);
        };
        self.check_copies(holder, document.len() as u64)?;
        Ok(Edited::Set(document.into()))
    }

    /// Refuses a consolidated document of more bytes than readers take.
    pub(super) fn check_copies(&self, holder: &ConsolidatedDocument, size: u64) -> Result<()> {
        check_size(&holder.key, size, self.options.limits.document).map_err(|e| {
            let hint = "consolidate the groups below it, each by itself; or raise `Limits::document`, as all readers then must";
            Error::from(e).with_hint(hint)
        })
    }

    /// Documents, not their copies.
    pub(super) async fn live_documents(&self, keys: Vec<StoreKey>) -> Result<Documents> {
        documents(&*self.live, keys, &self.options.limits).await
    }

    pub(super) fn decoded(&self, found: Documents) -> Result<Vec<(StoreKey, Json)>> {
        let decoded = found.into_iter().map(|(key, bytes)| {
            let json = if key.as_str() == "zarr.json" {
                Json::parse_tolerant(&bytes)
            } else {
                self.format.encoding().decode(&bytes)
            };
            match json {
                Ok((json, _)) => Ok((key, json)),
                Err(e) => Err(Error::from(MetadataError::Json(e)).at_key(&key)),
            }
        });
        decoded.collect()
    }

    /// Removes all copies from a consolidated document.
    pub(super) fn remove_copies<'a>(
        &'a self,
        holder: &'a ConsolidatedDocument,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.check_not_only_copies(holder, &Documents::new()).await?;
            let mut edit = |old: Option<&Bytes>| match old {
                None => Ok(Edited::Keep),
                old => {
                    let without = holder.with_copies(old, None)?;
                    Ok(without.map_or(Edited::Erase, |document| Edited::Set(document.into())))
                }
            };
            update(self, &holder.key, &mut edit).await
        })
    }
}

/// The copies in a consolidated document. Broken ones count as none: opening has warned of them, and no reader uses them.
fn usable_copies(
    holder: &ConsolidatedDocument,
    document: Option<&Bytes>,
) -> Option<ConsolidatedEntries> {
    holder.copies(document?).ok().flatten()
}

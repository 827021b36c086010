//! Creates and removes consolidated copies of documents.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::refresh::{AffectedNodes, Change};
use crate::array::compare_and_swap::{MAX_ATTEMPTS, update};
use crate::dialect::Dialect;
use crate::error::{AccessError, Error, Result};
use crate::format::Documents;
use crate::format::consolidated::{ConsolidatedDocument, ConsolidatedEntries, DRAFT_GROUP};
use crate::hierarchy::context::HierarchyContext;
use crate::json::Json;
use crate::metadata::NodeKind;
use crate::path::NodePath;
use crate::store::{ListOptions, Listing, StoreKey};
use crate::sync::lock;

/// The most documents of drafts that are read before their sizes are summed.
const READ_TOGETHER: usize = 1000;

impl HierarchyContext {
    /// Makes copies of all documents from `path` on; returns how many nodes they describe.
    pub async fn consolidate(&self, path: &NodePath) -> Result<usize> {
        self.consolidate_below(path).await.map_err(|e| self.at(path, e))
    }

    async fn consolidate_below(&self, path: &NodePath) -> Result<usize> {
        self.writeable()?;
        let dialect = self.format.dialect();
        let holder = ConsolidatedDocument::at(dialect, path)?;
        let refuse = |why: &str| Err(AccessError::Argument(why.into()).into());
        if dialect == Dialect::Draft && !path.is_root() {
            return refuse("a draft has consolidated metadata of the whole hierarchy only");
        }
        if (dialect == Dialect::V3 || !path.is_root())
            && self.node(path).await?.kind() == NodeKind::Array
        {
            return refuse("an array has nothing below it to consolidate");
        }
        let mut is_checked = false;
        if dialect == Dialect::Draft {
            // What only copies have is refused before anything is written.
            self.check_not_only_copies(&holder, &Documents::new()).await?;
            is_checked = true;
            // zarr-python 2.18 makes a group for a draft's copies.
            self.create_implied_group(&NodePath::new(DRAFT_GROUP)?).await?;
            self.draft_copies.store(true, Ordering::Relaxed);
        }
        for _ in 0..MAX_ATTEMPTS {
            let (nodes, found) = self.all_documents(&holder, path).await?;
            if !is_checked {
                self.check_not_only_copies(&holder, &found).await?;
                is_checked = true;
            }
            let documents: BTreeMap<_, _> = self.decoded(found.clone())?.into_iter().collect();
            let mut edit = |old: Option<&_>| {
                let mut entries = self.other_entries(&holder, old);
                entries.extend(documents.clone());
                self.with_copies(
                    &holder,
                    old,
                    &ConsolidatedEntries { entries, invalid: Vec::new() },
                )
            };
            let update = update(self, &holder.key, &mut edit);
            // In v3 the copies are in the group's document, of which groups above may have copies.
            let updated = if dialect == Dialect::V3 && !path.is_root() {
                let affected = AffectedNodes { path, above: &[], change: Change::Edit };
                self.with_invalidation(affected, update).await
            } else {
                update.await
            };
            updated.map_err(|e| e.at_key(&holder.key))?;
            // A writer that changed a document before the copies existed did not refresh them.
            if self.all_documents(&holder, path).await?.1 == found {
                if path.is_root() {
                    *lock(&self.watched) = None;
                }
                return Ok(nodes);
            }
        }
        Err(AccessError::Conflict { attempts: MAX_ATTEMPTS }.into())
    }

    /// Entries of consolidated metadata that are not documents of nodes: other writers put them there.
    fn other_entries(
        &self,
        holder: &ConsolidatedDocument,
        old: Option<&Bytes>,
    ) -> BTreeMap<StoreKey, Json> {
        let copies = old.and_then(|old| holder.copies(old).ok().flatten()).unwrap_or_default();
        let mut entries = copies.entries;
        entries.retain(|key, _| !holder.covers(key));
        entries
    }

    /// Removes the copies of all documents from `path` on, those that [`HierarchyContext::consolidate`] makes there; `false` if there are
    /// none.
    pub async fn remove_consolidated(&self, path: &NodePath) -> Result<bool> {
        self.remove_all_copies(path).await.map_err(|e| self.at(path, e))
    }

    async fn remove_all_copies(&self, path: &NodePath) -> Result<bool> {
        self.writeable()?;
        let dialect = self.format.dialect();
        if dialect == Dialect::Draft && !path.is_root() {
            return Ok(false);
        }
        let holder = ConsolidatedDocument::at(dialect, path)?;
        let bytes = self.live_document(&holder.key).await?;
        // Broken copies are removed, too.
        let exist = bytes.is_some_and(|bytes| !matches!(holder.copies(&bytes), Ok(None)));
        if exist {
            let remove = self.remove_copies(&holder);
            if dialect == Dialect::V3 && !path.is_root() {
                let affected = AffectedNodes { path, above: &[], change: Change::Edit };
                self.with_invalidation(affected, remove).await?;
            } else {
                remove.await?;
            }
        }
        if path.is_root() {
            *lock(&self.watched) = None;
        }
        Ok(exist)
    }

    /// The documents from `path` on that `holder` gets copies of, and how many nodes they describe. No chunk is read.
    ///
    /// # Errors
    /// As soon as so much is read that the copies cannot fit into a document.
    async fn all_documents(
        &self,
        holder: &ConsolidatedDocument,
        path: &NodePath,
    ) -> Result<(usize, Documents)> {
        let least = AtomicU64::new(0);
        let check = |found: &Documents| {
            let copied = found.iter().filter(|(key, _)| holder.covers(key));
            let size = copied.map(|(_, bytes)| least_copy(bytes)).sum();
            let least = least.fetch_add(size, Ordering::Relaxed) + size;
            self.check_copies(holder, least).map_err(|e| e.at_key(&holder.key))
        };
        if let Some(prefix) = self.format.tree_prefix() {
            let keys = self.list_prefix(&prefix).await?;
            let tree = self.format.tree(&NodePath::root(), &keys, &mut Vec::new());
            let (mut keys, mut all) = (vec![StoreKey::new("zarr.json")?], Documents::new());
            for child in tree.iter() {
                keys.extend(self.format.document_keys(&child.path)?);
            }
            for keys in keys.chunks(READ_TOGETHER) {
                let found = self.live_documents(keys.to_vec()).await?;
                check(&found)?;
                all.extend(found);
            }
            return Ok((tree.len(), all));
        }
        let mut level = vec![path.clone()];
        let (mut nodes, mut all) = (0, Documents::new());
        while !level.is_empty() {
            let found = std::mem::take(&mut level).into_iter().map(async |path| {
                let path = &path;
                let found = self.live_documents(self.format.document_keys(path)?).await?;
                let kind = self.format.kind(path, &found).map_err(|e| self.at(path, e))?;
                check(&found)?;
                // A folder without a document may have nodes below it, which must not be hidden by the copies.
                let has_children = match kind {
                    Some(kind) => kind == NodeKind::Group,
                    None => self.folder(path, &found).await?.is_some(),
                };
                let listing = if has_children {
                    let prefix = self.format.children_prefix(path)?;
                    self.listable()?.list_dir(&prefix, ListOptions::default()).await?
                } else {
                    Listing::default()
                };
                let children = self.format.children(path, &listing, &mut Vec::new());
                Ok::<_, Error>((kind.is_some().then_some(found), children))
            });
            for (found, children) in self.join_bounded(found).await? {
                nodes += usize::from(found.is_some());
                let found = found.unwrap_or_default();
                all.extend(found.into_iter().filter(|(key, _)| holder.covers(key)));
                level.extend(children.into_iter().map(|child| child.path));
            }
        }
        all.sort();
        Ok((nodes, all))
    }
}

/// Bytes that the copy of a document has at least: without blanks, and with one byte for each character that is escaped.
fn least_copy(document: &[u8]) -> u64 {
    let (mut size, mut rest) = (0, document.iter());
    while let Some(byte) = rest.next() {
        size += u64::from(!matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
        if *byte == b'\\' && rest.next() == Some(&b'u') {
            rest.nth(3);
        }
    }
    size
}

//! Creates and removes consolidated copies of documents.

use std::sync::atomic::{AtomicU64, Ordering};

use super::refresh::AffectedNodes;
use crate::array::compare_and_swap::{MAX_ATTEMPTS, update};
use crate::dialect::Dialect;
use crate::error::{AccessError, Error, Result};
use crate::format::Documents;
use crate::format::consolidated::{ConsolidatedDocument, ConsolidatedEntries, DRAFT_GROUP};
use crate::hierarchy::context::HierarchyContext;
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
        self.check_not_only_copies(&holder).await?;
        if dialect == Dialect::Draft {
            // zarr-python 2.18 makes a group for a draft's copies.
            self.create_implied_group(&NodePath::new(DRAFT_GROUP)?).await?;
            self.draft_copies.store(true, Ordering::Relaxed);
        }
        for _ in 0..MAX_ATTEMPTS {
            let (nodes, found) = self.all_documents(&holder, path).await?;
            let entries = self.decoded(found.clone())?.into_iter().collect();
            let copies = ConsolidatedEntries { entries, invalid: Vec::new() };
            let mut edit = |old: Option<&_>| self.with_copies(&holder, old, &copies);
            let update = update(self, &holder.key, &mut edit);
            // In v3 the copies are in the group's document, of which groups above may have copies.
            let updated = if dialect == Dialect::V3 && !path.is_root() {
                let affected = AffectedNodes { path, above: &[], below: false };
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

    /// Removes the copies of all documents; `false` if there are none.
    pub async fn remove_consolidated(&self) -> Result<bool> {
        self.remove_all_copies().await.map_err(|e| self.at(&NodePath::root(), e))
    }

    async fn remove_all_copies(&self) -> Result<bool> {
        self.writeable()?;
        let holder = ConsolidatedDocument::usual(self.format.dialect())?;
        let bytes = self.live_document(&holder.key).await?;
        // Broken copies are removed, too.
        let exist = bytes.is_some_and(|bytes| !matches!(holder.copies(&bytes), Ok(None)));
        if exist {
            self.remove_copies(&holder).await?;
        }
        *lock(&self.watched) = None;
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
                let listing = match kind {
                    Some(NodeKind::Group) => {
                        let prefix = self.format.children_prefix(path)?;
                        self.listable()?.list_dir(&prefix, ListOptions::default()).await?
                    }
                    _ => Listing::default(),
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

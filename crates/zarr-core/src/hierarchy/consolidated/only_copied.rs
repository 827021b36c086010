//! Finds the documents that exist as consolidated copies only, so that no change loses them
//! (docs/internals/design/crash-safety.md).
//!
//! Some writers put all documents into the consolidated metadata and none at their nodes; a document may also be lost while its copy is left.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::refresh::{AffectedNodes, Change};
use crate::dialect::Dialect;
use crate::error::{AccessError, Error, Result};
use crate::format::consolidated::{
    ConsolidatedDocument, ConsolidatedEntries, documents_with_copies,
};
use crate::format::{Child, Documents};
use crate::hierarchy::context::HierarchyContext;
use crate::metadata::NodeKind;
use crate::path::NodePath;
use crate::store::{Precondition, StoreKey};
use crate::sync::lock;

/// The most documents that are read at the same time to see whether they are there.
const READ_TOGETHER: usize = 1000;

/// What to do about documents that only copies have.
pub(crate) const RESTORE_HINT: &str =
    "`zarr repair --apply` writes them where they belong; `zarr rm` erases a node that is to go";

impl HierarchyContext {
    /// The documents of which `holder`, whose value is `bytes`, has the only copies. Those in `known` are there.
    pub(super) async fn only_copied(
        &self,
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
        for keys in keys.chunks(READ_TOGETHER) {
            for (key, _) in self.live_documents(keys.to_vec()).await? {
                missing.remove(&key);
            }
        }
        Ok(missing)
    }

    /// An error if a consolidated document has the only copies of documents: they would be lost with it (Z2-073).
    pub(super) async fn check_not_only_copies(
        &self,
        holder: &ConsolidatedDocument,
        known: &Documents,
    ) -> Result<()> {
        let bytes = self.live_document(&holder.key).await?;
        let only = self.only_copied(holder, bytes.as_ref(), known).await?;
        match only.first() {
            Some(first) => Err(self.are_only_copies(holder, first, only.len())),
            None => Ok(()),
        }
    }

    fn are_only_copies(
        &self,
        holder: &ConsolidatedDocument,
        first: &StoreKey,
        count: usize,
    ) -> Error {
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

    /// Keeps what only copies have from being lost by a change: refuses to create a node, or a group above one, in the place of one that
    /// only the copies describe; writes attributes of v2 that only they have, before the copies are made again.
    pub(super) async fn keep_only_copies(
        &self,
        affected: &AffectedNodes<'_>,
        holder: &ConsolidatedDocument,
        copies: &ConsolidatedEntries,
    ) -> Result<()> {
        let created = match affected.change {
            Change::Create => Some(affected.path),
            Change::Overwrite | Change::Edit | Change::Erase => None,
        };
        for path in created.into_iter().chain(affected.above) {
            let mut keys = self.format.document_keys(path)?;
            keys.retain(|key| !key.as_str().ends_with(".zattrs"));
            let copied = keys.iter().find(|key| copies.entries.contains_key(key));
            if let Some(first) = copied
                && self.live_documents(keys.clone()).await?.is_empty()
            {
                let why = format!(
                    "the consolidated metadata in `{}` describe {path}, whose document `{first}` is not there",
                    holder.key
                );
                let error = Error::from(AccessError::Argument(why));
                return Err(error.at_path(path).with_hint(RESTORE_HINT));
            }
        }
        if affected.change != Change::Edit || self.format.dialect() != Dialect::V2 {
            return Ok(());
        }
        let place = self.format.attributes_member(affected.path, NodeKind::Group)?;
        let copy = copies.entries.get(&place.key);
        let says_something =
            copy.and_then(|copy| copy.as_object()).is_some_and(|it| !it.is_empty());
        if let Some(copy) = copy.filter(|_| says_something)
            && self.live_document(&place.key).await?.is_none()
        {
            let bytes = copy.to_pretty().into_bytes();
            let payload = Some(bytes.into());
            self.writeable()?.put(&place.key, payload, Precondition::Absent).await?;
        }
        Ok(())
    }

    /// Warns of a node that was read from its copy, as `found`, and that has no document. A store that is not local is not asked: who reads
    /// copies there does so to save requests.
    pub(in crate::hierarchy) async fn warn_if_only_copied(
        &self,
        path: &NodePath,
        found: &Documents,
    ) -> Result<()> {
        let Some((key, _)) = found.first().filter(|_| self.copied.is_some()) else { return Ok(()) };
        // One is named: a hierarchy may have no other nodes.
        if !self.live.capabilities().local || self.is_only_copied_told.load(Ordering::Relaxed) {
            return Ok(());
        }
        // Copies replace what is got, not what is opened.
        if self.size(key).await?.is_none() {
            self.is_only_copied_told.store(true, Ordering::Relaxed);
            let what = format!(
                "only consolidated metadata describe it, and perhaps other nodes: its document `{key}` is not there; `zarr repair \
                 --apply` writes such documents"
            );
            self.warn(path.as_str(), vec![what]);
        }
        Ok(())
    }

    /// Whether the copies at the root describe a node. A writer knows them.
    pub(in crate::hierarchy) fn has_watched_copy(&self, path: &NodePath) -> Result<bool> {
        let Some(watched) = lock(&self.watched).clone() else { return Ok(false) };
        let found = watched.documents(&self.format.document_keys(path)?).unwrap_or_default();
        Ok(found.iter().any(|(key, _)| !key.as_str().ends_with(".zattrs")))
    }

    /// The nodes at `path` and below it that consolidated metadata describe, and that have no document there, sorted.
    pub async fn only_copied_nodes(&self, path: &NodePath) -> Result<Vec<NodePath>> {
        self.find_only_copied(path).await.map_err(|e| self.at(path, e))
    }

    async fn find_only_copied(&self, path: &NodePath) -> Result<Vec<NodePath>> {
        let dialect = self.format.dialect();
        let mut holders = documents_with_copies(dialect, path)?;
        if dialect != Dialect::Draft {
            // Of a node that cannot be opened only the copies above can have something.
            let below = self.tree(path).await.unwrap_or_default();
            let groups = below.iter().filter(|child| child.kind == Some(NodeKind::Group));
            for Child { path, .. } in groups {
                holders.push(ConsolidatedDocument::at(dialect, path)?);
            }
        }
        let (documents, prefixes) =
            (self.format.document_keys(path)?, self.format.erasure(path)?.1);
        let is_within = |key: &StoreKey| {
            documents.contains(key) || prefixes.iter().any(|prefix| prefix.strip(key).is_some())
        };
        let mut nodes = BTreeSet::new();
        for holder in holders {
            let bytes = self.live_document(&holder.key).await?;
            let only = self.only_copied(&holder, bytes.as_ref(), &Documents::new()).await?;
            let only = only.iter().filter(|key| !key.as_str().ends_with(".zattrs"));
            nodes.extend(only.filter(|key| is_within(key)).filter_map(|key| self.node_of(key)));
        }
        Ok(nodes.into_iter().collect())
    }

    /// The node of a document.
    fn node_of(&self, key: &StoreKey) -> Option<NodePath> {
        match self.format.tree_prefix() {
            Some(_) => {
                let keys = std::slice::from_ref(key);
                let tree = self.format.tree(&NodePath::root(), keys, &mut Vec::new());
                tree.into_iter().map(|child| child.path).max_by_key(|path| path.names().count())
            }
            None => NodePath::new(key.as_str().rsplit_once('/').map_or("", |(at, _)| at)).ok(),
        }
    }
}

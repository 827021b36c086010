//! Finds consolidated copies when a hierarchy is opened, and compares them with documents.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::view::{ConsolidatedView, agree};
use crate::context::{document, is_too_large};
use crate::dialect::{Dialect, Era, Strictness};
use crate::error::{AccessError, Error, MetadataError, Result};
use crate::format::Documents;
use crate::format::consolidated::{ConsolidatedDocument, is_optional};
use crate::hierarchy::context::HierarchyContext;
use crate::hierarchy::options::{Consolidated, OpenOptions};
use crate::metadata::NodeMetadata;
use crate::path::NodePath;
use crate::registry::Access;
use crate::store::StoreKey;
use crate::sync::lock;

impl HierarchyContext {
    /// A document, not its copy.
    pub(super) async fn live_document(&self, key: &StoreKey) -> Result<Option<Bytes>> {
        document(&*self.live, key, &self.options.limits).await
    }

    /// Reads documents from their copies, if the options say so, or else compares them with their copies. `found` are the
    /// documents that were read before.
    pub async fn with_consolidated(
        mut self,
        found: &Documents,
        consolidated: &Consolidated,
    ) -> Result<HierarchyContext> {
        let dialect = self.format.dialect();
        let usual = ConsolidatedDocument::usual(dialect)?;
        let (holder, required) = match consolidated {
            Consolidated::Ignore => return Ok(self),
            Consolidated::IfFound | Consolidated::Check => (usual, false),
            Consolidated::Use => (usual, true),
            Consolidated::At(key) => (usual.moved(key.clone()), true),
        };
        let at = |e: Error| e.at_store(self.store.name()).at_key(&holder.key);
        let writing = self.access == Access::ReadWrite;
        if required && writing {
            let why = "consolidated metadata are for reading; open without them to write";
            return Err(at(AccessError::Argument(why.into()).into()));
        }
        let checks = *consolidated == Consolidated::Check;
        let known = found.iter().find(|(key, _)| *key == holder.key);
        let bytes = match known {
            Some((_, bytes)) => Some(bytes.clone()),
            None if required || (dialect == Dialect::Draft && checks) => {
                self.live_document(&holder.key).await.map_err(at)?
            }
            None => None,
        };
        let tolerant = !required && self.options.strictness == Strictness::Tolerant;
        let view = match self.view(&holder, bytes) {
            Err(e) if tolerant => {
                let what = format!("consolidated metadata are passed over: {e}");
                self.warn(holder.key.as_str(), vec![what]);
                return Ok(self);
            }
            view => view.map_err(|e| at(e.into()))?,
        };
        let Some(view) = view.map(Arc::new) else {
            return if required { Err(at(no_copies(&holder))) } else { Ok(self) };
        };
        self.draft_copies.store(dialect == Dialect::Draft && writing, Ordering::Relaxed);
        if writing || checks {
            *lock(&self.watched) = Some(view);
        } else {
            self = self.read_from(view, holder.key);
        }
        Ok(self)
    }

    /// The copies in a consolidated document; `None` if there are none.
    fn view(
        &self,
        holder: &ConsolidatedDocument,
        bytes: Option<Bytes>,
    ) -> Result<Option<ConsolidatedView>, MetadataError> {
        bytes.map_or(Ok(None), |bytes| ConsolidatedView::new(holder, &*self.format, &bytes))
    }

    /// Whether a writer has found copies of v2 or v3 documents here.
    pub fn has_copies(&self) -> bool {
        lock(&self.watched).is_some() && self.format.dialect() != Dialect::Draft
    }

    /// The warnings about documents that hold nothing but copies.
    pub fn warnings_of_copies(&self) -> Vec<String> {
        let all = self.warnings().into_iter();
        let is_of_copies = |place: &str| StoreKey::new(place).is_ok_and(|key| is_optional(&key));
        all.filter(|warning| is_of_copies(&warning.place)).map(|warning| warning.what).collect()
    }

    /// Whether there are copies of all documents from `path` on.
    pub async fn is_consolidated(&self, path: &NodePath) -> Result<bool> {
        if path.is_root() && (self.copied.is_some() || lock(&self.watched).is_some()) {
            return Ok(true);
        }
        let dialect = self.format.dialect();
        if self.format.era().is_some_and(|era| era <= Era::E1)
            || dialect == Dialect::Draft && !path.is_root()
        {
            return Ok(false);
        }
        let holder = ConsolidatedDocument::at(dialect, path)?;
        let bytes = match self.live_document(&holder.key).await {
            Err(e) if is_too_large(&e) && is_optional(&holder.key) => None,
            other => other?,
        };
        // Copies that cannot be used count as none.
        Ok(self.view(&holder, bytes).is_ok_and(|view| view.is_some()))
    }

    /// Warns if the copies of a node differ from its documents, if copies are compared at all.
    pub async fn compare_with_copies(&self, path: &NodePath, node: &NodeMetadata) -> Result<()> {
        let Some(watched) = lock(&self.watched).clone() else { return Ok(()) };
        if self.agrees(&watched, path, node)? {
            return Ok(());
        }
        // Another writer may have refreshed them since they were read.
        let holder = ConsolidatedDocument::usual(self.format.dialect())?;
        let bytes = self.live_document(&holder.key).await?;
        let Ok(Some(now)) = self.view(&holder, bytes) else { return Ok(()) };
        if !self.agrees(&now, path, node)? {
            let what = "its consolidated copy says otherwise; consolidate again";
            self.warn(path.as_str(), vec![what.into()]);
        }
        *lock(&self.watched) = Some(Arc::new(now));
        Ok(())
    }

    fn agrees(
        &self,
        copied: &ConsolidatedView,
        path: &NodePath,
        node: &NodeMetadata,
    ) -> Result<bool> {
        let Some(found) = copied.documents(&self.format.document_keys(path)?) else {
            return Ok(true);
        };
        let copy = self.format.parse(path, &found, &mut self.reading());
        Ok(matches!(copy, Ok(Some(copy)) if agree(&copy, node)))
    }

    /// The nodes from `path` on whose copies there differ from their documents, sorted.
    pub async fn check_consolidated(&self, path: &NodePath) -> Result<Vec<NodePath>> {
        let at = |e: Error| self.at(path, e);
        let dialect = self.format.dialect();
        let at_root = dialect == Dialect::Draft || path.is_root();
        let holder = if at_root {
            ConsolidatedDocument::usual(dialect)?
        } else {
            ConsolidatedDocument::at(dialect, path)?
        };
        let bytes = self.live_document(&holder.key).await.map_err(at)?;
        let view = self.view(&holder, bytes);
        let view = view.map_err(|e| at(Error::from(e).at_key(&holder.key)))?;
        let view = view.ok_or_else(|| at(no_copies(&holder)))?;
        let mut options = OpenOptions::new(self.registry.clone());
        options.options = self.options.clone();
        let context =
            || HierarchyContext::new(self.live.clone(), self.format.clone(), &options, Vec::new());
        let (live, copied) = (context(), context().read_from(Arc::new(view), holder.key));
        let mut paths = BTreeSet::new();
        for context in [&live, &copied] {
            let tree = context.tree(path).await?;
            paths.extend(tree.into_iter().map(|child| child.path));
        }
        let mut differing = Vec::new();
        for path in paths {
            let same = match (live.node(&path).await, copied.node(&path).await) {
                (Ok(live), Ok(copied)) => agree(&live, &copied),
                (Err(live), Err(copied)) => live.kind() == copied.kind(),
                _ => false,
            };
            if !same {
                differing.push(path);
            }
        }
        Ok(differing)
    }
}

fn no_copies(holder: &ConsolidatedDocument) -> Error {
    let looked_for = format!("consolidated metadata in `{}`", holder.key);
    AccessError::NotFound { looked_for }.into()
}

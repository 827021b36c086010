//! Makes the consolidated copies of documents, and keeps them true.
//!
//! A change of documents says first, in every holder of copies of them, that those are `stale`; then it is
//! made; then the copies are made again of what lies there, and the word taken back. Each step is a
//! compare-and-swap on the holder. Whatever is cut short leaves copies that tell by themselves which of
//! them not to trust; the last of several writers makes the copy of what all of them left (Z2-072, F-014).

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::future::try_join_all;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::consolidated::{ConsolidatedView, agree};
use super::context::{HierarchyContext, NewDocument};
use super::options::{Consolidated, OpenOptions};
use crate::array::compare_and_swap::{self, Edited, MAX_ATTEMPTS, whole};
use crate::context::{document, documents, is_too_large};
use crate::dialect::{Dialect, Era, Strictness};
use crate::error::{AccessError, Cause, Error, MetadataError, Result};
use crate::format::Documents;
use crate::format::consolidated::{
    ConsolidatedDocument, ConsolidatedEntries, DRAFT_GROUP, holders, is_optional,
};
use crate::json::Json;
use crate::metadata::{GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::registry::Access;
use crate::store::{ListOptions, Listing, Snapshot, StoreKey};
use crate::sync::lock;

fn set(document: Bytes) -> Edited {
    Edited::Set(document.into())
}

/// The documents that a change is about.
pub(crate) struct AffectedNodes<'a> {
    /// The node that is changed.
    pub path: &'a NodePath,
    /// Nodes above that are created with it.
    pub above: &'a [NodePath],
    /// Whether all below it goes.
    pub below: bool,
}

/// The marks that a change has set in one holder.
struct Marked {
    holder: ConsolidatedDocument,
    keys: BTreeSet<StoreKey>,
}

impl AffectedNodes<'_> {
    /// The keys in question of which a holder has copies, or may have.
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
        if self.below {
            let (_, prefixes) = context.format.erasure(self.path)?;
            let goes = |key: &&StoreKey| prefixes.iter().any(|prefix| prefix.strip(key).is_some());
            keys.extend(copies.entries.keys().chain(&copies.stale).filter(goes).cloned());
        }
        keys.retain(|key| holder.covers(key));
        Ok(keys)
    }
}

impl HierarchyContext {
    /// Takes documents out of their copies, if that is what the caller wants, or else watches over them.
    /// `found` are the documents that are known already.
    pub(super) async fn with_copies(
        mut self,
        found: &Documents,
        consolidated: &Consolidated,
    ) -> Result<HierarchyContext> {
        let dialect = self.format.dialect();
        let usual = ConsolidatedDocument::usual(dialect)?;
        let (holder, asked) = match consolidated {
            Consolidated::Ignore => return Ok(self),
            Consolidated::IfFound | Consolidated::Check => (usual, false),
            Consolidated::Use => (usual, true),
            Consolidated::At(key) => (usual.moved(key.clone()), true),
        };
        let at = |e: Error| e.at_store(self.store.name()).at_key(&holder.key);
        let writing = self.access == Access::ReadWrite;
        if asked && writing {
            let why = "consolidated metadata are for reading; open without them to write";
            return Err(at(AccessError::Argument(why.into()).into()));
        }
        let known = found.iter().find(|(key, _)| *key == holder.key);
        let looks = asked || (dialect == Dialect::Draft && *consolidated == Consolidated::Check);
        let bytes = match known {
            Some((_, bytes)) => Some(bytes.clone()),
            None if looks => {
                document(&*self.live, &holder.key, &self.options.limits).await.map_err(at)?
            }
            None => None,
        };
        let copied = bytes.map(|bytes| self.copied(&holder, &bytes)).transpose();
        let tolerant = !asked && self.options.strictness == Strictness::Tolerant;
        let copied = match copied {
            Ok(copied) => copied.flatten(),
            Err(e) if tolerant => {
                let what = format!("consolidated metadata are passed over: {e}");
                self.warn(holder.key.as_str(), vec![what]);
                return Ok(self);
            }
            Err(e) => return Err(at(e.into())),
        };
        let Some(copied) = copied else {
            let looked_for = format!("consolidated metadata in `{}`", holder.key);
            return if asked {
                Err(at(AccessError::NotFound { looked_for }.into()))
            } else {
                Ok(self)
            };
        };
        let watches = writing || *consolidated == Consolidated::Check;
        self.draft_copies.store(dialect == Dialect::Draft && writing, Ordering::Relaxed);
        if watches {
            *lock(&self.watched) = Some(Arc::new(copied))
        } else {
            self = self.read_from(Arc::new(copied))
        }
        Ok(self)
    }

    fn copied(
        &self,
        holder: &ConsolidatedDocument,
        bytes: &Bytes,
    ) -> Result<Option<ConsolidatedView>, MetadataError> {
        ConsolidatedView::new(holder, &*self.format, bytes)
    }

    /// Whether a writer has seen copies of v2 or v3 documents here.
    pub(super) fn has_copies(&self) -> bool {
        lock(&self.watched).is_some() && self.format.dialect() != Dialect::Draft
    }

    /// Whether copies of all documents from `path` on are there.
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
        let bytes = match document(&*self.live, &holder.key, &self.options.limits).await {
            Err(e) if is_too_large(&e) && is_optional(&holder.key) => None,
            other => other?,
        };
        let copied = bytes.map(|bytes| self.copied(&holder, &bytes));
        // Copies that cannot be used are as good as none.
        Ok(copied.is_some_and(|copied| copied.is_ok_and(|copied| copied.is_some())))
    }

    /// Warns if the copies of a node say otherwise than its documents, where somebody watches.
    pub(super) async fn watch(&self, path: &NodePath, node: &NodeMetadata) -> Result<()> {
        let Some(watched) = lock(&self.watched).clone() else { return Ok(()) };
        if self.agrees(&watched, path, node)? {
            return Ok(());
        }
        // Others may have refreshed them since they were read.
        let holder = ConsolidatedDocument::usual(self.format.dialect())?;
        let Some(bytes) = document(&*self.live, &holder.key, &self.options.limits).await? else {
            return Ok(());
        };
        let Ok(Some(now)) = self.copied(&holder, &bytes) else { return Ok(()) };
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

    /// Makes a change of documents, and keeps the copies of them true.
    pub(super) async fn changing<T>(
        &self,
        touched: AffectedNodes<'_>,
        change: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let marked = self.mark(&touched).await?;
        let changed = change.await;
        let refreshed = self.refresh(&touched, marked).await;
        let changed = changed?;
        refreshed.map_err(copies_are_stale)?;
        Ok(changed)
    }

    /// As [`HierarchyContext::changing`]; the second result says whether the copies could be made again after the change was made.
    pub(super) async fn change_and_copy<T>(
        &self,
        touched: AffectedNodes<'_>,
        change: impl Future<Output = Result<T>>,
    ) -> Result<(T, Result<()>)> {
        let marked = self.mark(&touched).await?;
        let changed = change.await;
        let refreshed = self.refresh(&touched, marked).await;
        let changed = changed?;
        Ok((changed, refreshed.map_err(copies_are_stale)))
    }

    /// The holders that have copies of a node's documents, with what they hold.
    async fn holding(
        &self,
        path: &NodePath,
    ) -> Result<Vec<(ConsolidatedDocument, ConsolidatedEntries)>> {
        let dialect = self.format.dialect();
        if dialect == Dialect::Draft && !self.draft_copies.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let found = holders(dialect, path)?.into_iter().map(async |holder| {
            let bytes = document(&*self.live, &holder.key, &self.options.limits).await?;
            // What is broken has warned whoever opened it, and nobody reads it.
            let copies = bytes.and_then(|bytes| holder.copies(&bytes).ok().flatten());
            Ok::<_, Error>(copies.map(|copies| (holder, copies)))
        });
        Ok(try_join_all(found).await?.into_iter().flatten().collect())
    }

    async fn mark(&self, touched: &AffectedNodes<'_>) -> Result<Vec<Marked>> {
        let mut marked = Vec::new();
        for (holder, _) in self.holding(touched.path).await? {
            let mut keys = BTreeSet::new();
            if self.options.drop_consolidated {
                self.remove_copies(&holder).await?;
                continue;
            }
            self.change_copies(&holder, |copies| {
                keys = touched.keys(self, &holder, copies)?;
                copies.stale.extend(keys.iter().cloned());
                Ok(())
            })
            .await?;
            marked.push(Marked { holder, keys });
        }
        Ok(marked)
    }

    /// Makes the copies of what was touched again, also where somebody has consolidated meanwhile.
    async fn refresh(&self, touched: &AffectedNodes<'_>, marked: Vec<Marked>) -> Result<()> {
        for (holder, copies) in self.holding(touched.path).await? {
            if self.options.drop_consolidated {
                self.remove_copies(&holder).await?;
                continue;
            }
            let mut keys = touched.keys(self, &holder, &copies)?;
            let marks = marked.iter().find(|marked| marked.holder.key == holder.key);
            let mut marks = marks.map(|marked| marked.keys.clone()).unwrap_or_default();
            keys.extend(marks.iter().cloned());
            let keys: Vec<StoreKey> = keys.into_iter().collect();
            loop {
                let seen = Mutex::new(Documents::new());
                let done = compare_and_swap::compare_and_swap(
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
                // A holder may come to be again what it was, and a comparison takes it for unchanged.
                if documents(&*self.live, keys.clone(), &self.options.limits).await? == *lock(&seen)
                {
                    break;
                }
            }
        }
        Ok(())
    }

    /// A holder's document with the copies of `keys` made again, and one of each of `marks` taken back.
    async fn copy_again(
        &self,
        holder: &ConsolidatedDocument,
        old: Option<Arc<dyn Snapshot>>,
        keys: &[StoreKey],
        marks: &BTreeSet<StoreKey>,
        seen: &Mutex<Documents>,
    ) -> Result<Edited> {
        // The documents are read after the holder was: whoever changes them later changes the holder later.
        let old = whole(old.as_deref()).await?;
        let found = documents(&*self.live, keys.to_vec(), &self.options.limits).await?;
        *lock(seen) = found.clone();
        let Some(mut copies) = old.as_ref().and_then(|old| holder.copies(old).ok().flatten())
        else {
            return Ok(Edited::Keep);
        };
        for key in keys {
            copies.entries.remove(key);
        }
        copies.entries.extend(self.decoded(found)?);
        for mark in marks {
            if let Some(at) = copies.stale.iter().position(|key| key == mark) {
                copies.stale.swap_remove(at);
            }
        }
        let bytes = holder.with_copies(old.as_ref(), Some(&copies))?;
        Ok(bytes.map_or(Edited::Keep, set))
    }

    fn decoded(&self, found: Documents) -> Result<Vec<(StoreKey, Json)>> {
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

    async fn change_copies(
        &self,
        holder: &ConsolidatedDocument,
        mut change: impl FnMut(&mut ConsolidatedEntries) -> Result<()>,
    ) -> Result<()> {
        let edit = |old: Option<&Bytes>| {
            let Some(mut copies) = old.and_then(|old| holder.copies(old).ok().flatten()) else {
                return Ok(Edited::Keep);
            };
            change(&mut copies)?;
            Ok(holder.with_copies(old, Some(&copies))?.map_or(Edited::Keep, set))
        };
        compare_and_swap::update(self, &holder.key, edit).await
    }

    async fn remove_copies(&self, holder: &ConsolidatedDocument) -> Result<()> {
        self.holds_copies_alone(holder).await?;
        let edit = |old: Option<&Bytes>| match old {
            None => Ok(Edited::Keep),
            old => Ok(holder.with_copies(old, None)?.map_or(Edited::Erase, set)),
        };
        compare_and_swap::update(self, &holder.key, edit).await
    }

    /// An error if the documents of v2 lie in their copies alone (Z2-073).
    async fn holds_copies_alone(&self, holder: &ConsolidatedDocument) -> Result<()> {
        let bytes = document(&*self.live, &holder.key, &self.options.limits).await?;
        let Some(copies) = bytes.and_then(|bytes| holder.copies(&bytes).ok().flatten()) else {
            return Ok(());
        };
        let root = [".zgroup", ".zarray"].map(|name| holder.prefix.key(name));
        let root = root.into_iter().collect::<Result<Vec<_>, _>>()?;
        let copied = root.iter().any(|key| copies.entries.contains_key(key));
        if copied && documents(&*self.live, root, &self.options.limits).await?.is_empty() {
            let why = "the documents lie in these copies alone, and would be lost; copy the hierarchy first";
            return Err(Error::from(AccessError::Argument(why.into())).at_key(&holder.key));
        }
        Ok(())
    }

    /// Makes copies of all documents from `path` on; returns how many nodes they are of.
    pub async fn consolidate(&self, path: &NodePath) -> Result<usize> {
        let at = |e: Error| self.at(path, e);
        self.writeable().map_err(at)?;
        let dialect = self.format.dialect();
        let holder = ConsolidatedDocument::at(dialect, path)?;
        if dialect == Dialect::Draft && !path.is_root() {
            let why = "a draft has consolidated metadata of the whole hierarchy only";
            return Err(at(AccessError::Argument(why.into()).into()));
        }
        if (dialect == Dialect::V3 || !path.is_root())
            && self.node(path).await?.kind() == NodeKind::Array
        {
            let why = "an array has nothing below it to consolidate";
            return Err(at(AccessError::Argument(why.into()).into()));
        }
        self.holds_copies_alone(&holder).await.map_err(at)?;
        if dialect == Dialect::Draft {
            self.create_draft_group().await.map_err(at)?;
            self.draft_copies.store(true, Ordering::Relaxed);
        }
        for _ in 0..MAX_ATTEMPTS {
            let (nodes, found) = self.all_documents(&holder, path).await.map_err(at)?;
            let entries = self.decoded(found.clone()).map_err(at)?.into_iter().collect();
            let copies = ConsolidatedEntries { entries, stale: Vec::new() };
            let edit = |old: Option<&Bytes>| {
                Ok(holder.with_copies(old, Some(&copies))?.map_or(Edited::Keep, set))
            };
            let update = compare_and_swap::update(self, &holder.key, edit);
            // In v3 they are in the group's document, of which groups above may have copies.
            let updated = if dialect == Dialect::V3 && !path.is_root() {
                self.changing(AffectedNodes { path, above: &[], below: false }, update).await
            } else {
                update.await
            };
            updated.map_err(|e| at(e).at_key(&holder.key))?;
            // Who changed a document before the copies were there did not know of them.
            if self.all_documents(&holder, path).await.map_err(at)?.1 == found {
                if path.is_root() {
                    *lock(&self.watched) = None;
                }
                return Ok(nodes);
            }
        }
        Err(at(AccessError::Conflict { attempts: MAX_ATTEMPTS }.into()))
    }

    /// Takes the copies of all documents away; `false` if there are none.
    pub async fn remove_consolidated(&self) -> Result<bool> {
        let root = NodePath::root();
        let at = |e: Error| self.at(&root, e);
        self.writeable().map_err(at)?;
        let holder = ConsolidatedDocument::usual(self.format.dialect())?;
        let bytes = document(&*self.live, &holder.key, &self.options.limits).await.map_err(at)?;
        let there = match bytes.map(|bytes| holder.copies(&bytes)) {
            None | Some(Ok(None)) => false,
            Some(Ok(Some(_)) | Err(_)) => true,
        };
        if there {
            self.remove_copies(&holder).await.map_err(at)?;
        }
        *lock(&self.watched) = None;
        Ok(there)
    }

    /// The nodes of which the copies say otherwise than the documents, sorted.
    pub async fn check_consolidated(&self) -> Result<Vec<NodePath>> {
        let at = |e: Error| self.at(&NodePath::root(), e);
        let holder = ConsolidatedDocument::usual(self.format.dialect())?;
        let bytes = document(&*self.live, &holder.key, &self.options.limits).await.map_err(at)?;
        let copied = bytes.map(|bytes| self.copied(&holder, &bytes)).transpose();
        let copied = copied.map_err(|e| at(Error::from(e).at_key(&holder.key)))?.flatten();
        let Some(copied) = copied else {
            let looked_for = format!("consolidated metadata in `{}`", holder.key);
            return Err(at(AccessError::NotFound { looked_for }.into()));
        };
        let mut options = OpenOptions::new(self.registry.clone());
        options.options = self.options.clone();
        let context =
            || HierarchyContext::new(self.live.clone(), self.format.clone(), &options, Vec::new());
        let (live, copied) = (context(), context().read_from(Arc::new(copied)));
        let mut paths = BTreeSet::new();
        for context in [&live, &copied] {
            paths
                .extend(context.tree(&NodePath::root()).await?.into_iter().map(|child| child.path));
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

    /// The documents that `holder` is to have copies of, those from `path` on, and how many nodes they describe; no
    /// chunk is looked at.
    async fn all_documents(
        &self,
        holder: &ConsolidatedDocument,
        path: &NodePath,
    ) -> Result<(usize, Documents)> {
        if let Some(prefix) = self.format.tree_prefix() {
            let keys = self.list_prefix(&prefix).await?;
            let tree = self.format.tree(&NodePath::root(), &keys, &mut Vec::new());
            let documented = tree.iter().map(|child| self.format.document_keys(&child.path));
            let documented: Vec<_> = documented.collect::<Result<_, _>>()?;
            let mut keys: Vec<StoreKey> = documented.into_iter().flatten().collect();
            let nodes = tree.len();
            keys.push(StoreKey::new("zarr.json")?);
            return Ok((nodes, documents(&*self.live, keys, &self.options.limits).await?));
        }
        let mut level = vec![path.clone()];
        let (mut nodes, mut all) = (0, Documents::new());
        while !level.is_empty() {
            let found = stream::iter(&level).map(async |path| {
                let found =
                    documents(&*self.live, self.format.document_keys(path)?, &self.options.limits)
                        .await?;
                let kind = self.format.kind(path, &found).map_err(|e| self.at(path, e))?;
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
            let found: Vec<_> =
                found.buffered(self.live.capabilities().in_flight).try_collect().await?;
            level.clear();
            for (found, children) in found {
                nodes += usize::from(found.is_some());
                let found = found.unwrap_or_default();
                all.extend(found.into_iter().filter(|(key, _)| holder.covers(key)));
                level.extend(children.into_iter().map(|child| child.path));
            }
        }
        all.sort();
        Ok((nodes, all))
    }

    /// The group that zarr-python 2.18 makes for a draft's copies.
    async fn create_draft_group(&self) -> Result<()> {
        let group = NodeMetadata::Group(GroupMetadata::default());
        for (key, bytes) in self.format.create(&NodePath::new(DRAFT_GROUP)?, &group)? {
            match self.create_document(NewDocument::of(&key, Vec::new()), bytes, "a group").await {
                Err(e) if matches!(e.cause(), Cause::Access(AccessError::Exists(_))) => {}
                other => other?,
            }
        }
        Ok(())
    }
}

/// The error of a change that is made, and whose copies are not.
fn copies_are_stale(error: Error) -> Error {
    error.with_hint(
        "the change is made, and its consolidated copies are marked as stale; consolidate again",
    )
}

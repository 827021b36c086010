//! Reads nodes, and finds those below a node.

use futures::future::BoxFuture;

use super::consolidated::RESTORE_HINT;
use super::context::HierarchyContext;
use super::under_way::copy_under_way;
use crate::context::is_forbidden;
use crate::dialect::Dialect;
use crate::error::{AccessError, Error, ErrorKind, Result, StoreError};
use crate::format::consolidated::{DRAFT, DRAFT_GROUP, is_document};
use crate::format::{Child, Documents, PROBES};
use crate::metadata::{GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::store::{ListOptions, StoreKey, StorePrefix};

impl HierarchyContext {
    /// The node at `path` (D-163, F-113).
    pub fn node<'a>(&'a self, path: &'a NodePath) -> BoxFuture<'a, Result<NodeMetadata>> {
        Box::pin(async move {
            let found = self.documents(path).await.map_err(|e| self.at(path, e))?;
            self.node_in(path, found).await
        })
    }

    /// The node at `path`, where probing has found these documents. If they are those of the node, no other request is
    /// needed (docs/internals/design/remote-stores.md).
    pub async fn probed_node(&self, path: &NodePath, probed: Documents) -> Result<NodeMetadata> {
        let keys = self.format.document_keys(path).map_err(|e| self.at(path, e))?;
        let is_probed = keys.iter().all(|key| PROBES.contains(&key.as_str()));
        if keys.is_empty() || !is_probed || self.copied.is_some() {
            return self.node(path).await;
        }
        let found = probed.into_iter().filter(|(key, _)| keys.contains(key)).collect();
        self.node_in(path, found).await
    }

    async fn node_in(&self, path: &NodePath, found: Documents) -> Result<NodeMetadata> {
        if let Some(node) = self.parse(path, &found).map_err(|e| self.at(path, e))? {
            self.compare_with_copies(path, &node).await.map_err(|e| self.at(path, e))?;
            self.warn_if_only_copied(path, &found).await.map_err(|e| self.at(path, e))?;
            return Ok(node);
        }
        let is_implicit = !self.format.groups_are_explicit()
            && (path.is_root()
                || self.store.maybe_listable().is_ok() && self.has_children(path).await?);
        // The root of a draft needs no document.
        if !(is_implicit && path.is_root())
            && let Some(e) = copy_under_way(&*self.live, path, &self.options.limits).await
        {
            return Err(e);
        }
        if is_implicit {
            return Ok(implicit_group());
        }
        // If the store cannot list here, there may be no group.
        if let Ok(Some(group)) = self.folder(path, &found).await {
            return Ok(NodeMetadata::Group(group));
        }
        let keys = self.format.document_keys(path).map_err(|e| self.at(path, e))?;
        let looked_for = if keys.is_empty() {
            "a node in a document of May 2019, which describes one alone: `/`".into()
        } else {
            keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
        };
        let attributes = found.first().filter(|(key, _)| key.as_str().ends_with(".zattrs"));
        let error = match attributes {
            Some((key, _)) => AccessError::AttributesAlone { key: key.to_string() },
            None => AccessError::NotFound { looked_for },
        };
        let error = self.at(path, error);
        if self.has_watched_copy(path).map_err(|e| self.at(path, e))? {
            let hint = format!("only consolidated metadata describe it: {RESTORE_HINT}");
            return Err(error.with_hint(hint));
        }
        if attributes.is_some() {
            let hint = "if they are a group's, create it there again, which keeps them: `zarr create TARGET --group --format v2`";
            return Err(error.with_hint(hint));
        }
        Err(error)
    }

    /// Whether there are nodes below `path`. None are known of where the store turns out not to list.
    async fn has_children(&self, path: &NodePath) -> Result<bool> {
        match self.children(path).await {
            Ok(children) => Ok(!children.is_empty()),
            Err(e) if e.kind() == ErrorKind::NotCapable => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// The children of the node at `path`: an array has none (D-165 lets those of a draft have some, which are reached by
    /// their own paths).
    pub async fn children_of(&self, path: &NodePath) -> Result<Vec<Child>> {
        if !self.format.groups_are_explicit() {
            // One listing has all children (D-160). Only if it is empty, the node is looked up.
            let children = self.children(path).await?;
            if children.is_empty() {
                self.node(path).await?;
            }
            return Ok(children);
        }
        match self.node(path).await? {
            NodeMetadata::Array(_) => Ok(Vec::new()),
            NodeMetadata::Group(_) => self.children(path).await,
        }
    }

    /// The children of a group, sorted. Broken ones give a warning, and are left out (T-35).
    pub async fn children(&self, path: &NodePath) -> Result<Vec<Child>> {
        let children = self.list_children(path).await?;
        let known =
            self.join_bounded(children.into_iter().map(|child| self.with_kind(child))).await;
        Ok(known.map_err(|e| self.at(path, e))?.into_iter().flatten().collect())
    }

    /// The same, and those that the store could not read, each with its error. What would fail for the others, too, such as a connection
    /// that breaks, ends the call.
    pub async fn children_and_unreadable(
        &self,
        path: &NodePath,
    ) -> Result<(Vec<Child>, Vec<(NodePath, Error)>)> {
        let children = self.list_children(path).await?;
        let looked_up = children.into_iter().map(async |child| {
            let path = child.path.clone();
            match self.with_kind(child).await {
                Err(e) if self.is_of_one_node(&e) => Ok(Err((path.clone(), self.at(&path, e)))),
                known => known.map(Ok),
            }
        });
        let looked_up = self.join_bounded(looked_up).await.map_err(|e| self.at(path, e))?;
        let (mut known, mut unreadable) = (Vec::new(), Vec::new());
        for child in looked_up {
            match child {
                Ok(child) => known.extend(child),
                Err(failed) => unreadable.push(failed),
            }
        }
        Ok((known, unreadable))
    }

    /// Whether the store failed on one node, and may read the others.
    fn is_of_one_node(&self, error: &Error) -> bool {
        error.kind() == ErrorKind::Store && (self.store.as_sync().is_some() || is_forbidden(error))
    }

    /// The children of a group in one listing, which may not tell their kinds.
    async fn list_children(&self, path: &NodePath) -> Result<Vec<Child>> {
        let at = |e: Error| self.at(path, e);
        let prefix = self.format.children_prefix(path).map_err(|e| at(e.into()))?;
        let listable = self.maybe_listable().map_err(|e| at(unlisted(e)))?;
        // Where groups are explicit, the documents of every candidate are looked up anyway.
        let how = if self.format.groups_are_explicit() {
            ListOptions::CANDIDATES
        } else {
            ListOptions::default()
        };
        let listing = listable.list_dir(&prefix, how).await.map_err(|e| at(unlisted(e)))?;
        self.warn_of_left_out(path.as_str(), &listing);
        let mut warnings = Vec::new();
        let children = self.format.children(path, &listing, &mut warnings);
        self.warn(path.as_str(), warnings);
        self.without_copies_group(children).await.map_err(at)
    }

    /// The nodes without the group that writers of a draft create for consolidated metadata, if nothing else is in it.
    async fn without_copies_group(&self, mut nodes: Vec<Child>) -> Result<Vec<Child>> {
        if self.format.dialect() != Dialect::Draft {
            return Ok(nodes);
        }
        let copies = nodes.iter().position(|node| node.path.as_str() == DRAFT_GROUP);
        if let (Some(at), Ok(listable)) = (copies, self.live.maybe_listable()) {
            let prefix = StorePrefix::new(format!("meta/root{DRAFT_GROUP}/"))?;
            let listing = listable.list_dir(&prefix, ListOptions::default()).await?;
            let holds_copies = listing.keys.iter().map(|key| key.as_str()).eq([DRAFT]);
            if holds_copies && listing.prefixes.is_empty() {
                nodes.remove(at);
            }
        }
        Ok(nodes)
    }

    /// The group that a folder without a document is, if there are nodes below it (docs/internals/design/strictness.md).
    /// Only where groups are explicit; `found` may be the attributes of v2, which make no node.
    pub(super) async fn folder(
        &self,
        path: &NodePath,
        found: &Documents,
    ) -> Result<Option<GroupMetadata>> {
        let listable =
            self.store.maybe_listable().ok().filter(|_| self.format.groups_are_explicit());
        let Some(listable) = listable else { return Ok(None) };
        let mut folders = vec![path.clone()];
        let mut other = None;
        while let Some(folder) = folders.pop() {
            let listing = listable
                .list_dir(&self.format.children_prefix(&folder)?, ListOptions::CANDIDATES)
                .await?;
            let dialect = self.format.dialect();
            let makes_node =
                |key: &StoreKey| is_document(dialect, key) && !key.as_str().ends_with(".zattrs");
            let mut has_node = false;
            for key in listing.keys.iter().filter(|key| makes_node(key)) {
                // Copies that are marked as invalid are listed, too, and their documents may be gone.
                has_node = self.copied.is_none() || self.document(key).await?.is_some();
                if has_node {
                    break;
                }
            }
            if has_node {
                let what = "has no document; taken for a group, since nodes lie below it";
                self.warn(path.as_str(), vec![what.into()]);
                let attributes = found.first().and_then(|(_, bytes)| {
                    let (json, _) = self.format.encoding().decode(bytes).ok()?;
                    json.as_object().cloned()
                });
                let attributes = attributes.unwrap_or_default();
                let group = GroupMetadata { attributes, implicit: true, ..Default::default() };
                return Ok(Some(group));
            }
            // In v2 and v3, a document of the other makes a node of the folder for other readers
            // (docs/internals/design/strictness.md).
            let of_other: &[&str] =
                if dialect == Dialect::V3 { &[".zarray", ".zgroup"] } else { &["zarr.json"] };
            let is_other = |key: &&StoreKey| {
                of_other.contains(&key.as_str().rsplit('/').next().unwrap_or_default())
            };
            other = other.or_else(|| listing.keys.iter().find(is_other).cloned());
            let below = self.format.children(&folder, &listing, &mut Vec::new());
            folders.extend(below.into_iter().map(|child| child.path));
        }
        if let Some(key) = other {
            let (here, dialect) = match self.format.dialect() {
                Dialect::V3 => ("v3", "v2"),
                _ => ("v2", "v3"),
            };
            let what = format!(
                "readers of {here} pass over it, since `{key}` is a document of {dialect}; left out"
            );
            self.warn(path.as_str(), vec![what]);
        }
        Ok(None)
    }

    /// The child with its kind looked up; `None` if it is no node.
    async fn with_kind(&self, child: Child) -> Result<Option<Child>> {
        if child.kind.is_some() {
            return Ok(Some(child));
        }
        let found = self.documents(&child.path).await?;
        match self.unless_broken(&child.path, self.format.kind(&child.path, &found)) {
            None => Ok(None),
            Some(Some(kind)) => {
                // A key may tell a group whose document is broken; nodes below it are found all the same.
                if kind == NodeKind::Group && self.parse(&child.path, &found).is_err() {
                    self.warn(child.path.as_str(), vec!["its document is broken".into()]);
                }
                Ok(Some(Child { kind: Some(kind), ..child }))
            }
            Some(None) => {
                let folder = self.folder(&child.path, &found).await?;
                Ok(folder.map(|_| Child { kind: Some(NodeKind::Group), implicit: true, ..child }))
            }
        }
    }

    /// The node of some documents; a warning if they are broken.
    pub fn unless_broken<T, E>(&self, path: &NodePath, node: Result<T, E>) -> Option<T> {
        if node.is_err() {
            self.warn(path.as_str(), vec!["its document is broken; left out".into()]);
        }
        node.ok()
    }

    /// The node of a child's documents; `None` if there is none.
    async fn parse_child(&self, child: Child) -> Result<Option<(NodePath, NodeMetadata)>> {
        let found = self.documents(&child.path).await.map_err(|e| self.at(&child.path, e))?;
        let node = match self.unless_broken(&child.path, self.parse(&child.path, &found)) {
            Some(None) if child.implicit => Some(implicit_group()),
            Some(None) => self.folder(&child.path, &found).await?.map(NodeMetadata::Group),
            node => {
                self.warn_if_only_copied(&child.path, &found).await?;
                node.flatten()
            }
        };
        Ok(node.map(|node| (child.path, node)))
    }

    /// The node and all below it, sorted by path. Each document is read once. Broken ones give a warning, and are left out.
    pub fn nodes<'a>(
        &'a self,
        path: &'a NodePath,
    ) -> BoxFuture<'a, Result<Vec<(NodePath, NodeMetadata)>>> {
        Box::pin(async move {
            if self.format.tree_prefix().is_some() {
                let listed = self.tree(path).await?;
                let parsed = listed.into_iter().map(|child| self.parse_child(child));
                return Ok(self.join_bounded(parsed).await?.into_iter().flatten().collect());
            }
            let mut nodes = vec![(path.clone(), self.node(path).await?)];
            let mut done = 0;
            while done < nodes.len() {
                let groups =
                    nodes[done..].iter().filter(|(_, node)| node.kind() == NodeKind::Group);
                let groups: Vec<NodePath> = groups.map(|(path, _)| path.clone()).collect();
                let level = groups.into_iter().map(async |group| self.list_children(&group).await);
                let level = self.join_bounded(level).await?;
                done = nodes.len();
                let parsed = level.into_iter().flatten().map(|child| self.parse_child(child));
                nodes.extend(self.join_bounded(parsed).await?.into_iter().flatten());
            }
            nodes.sort_by(|(a, _), (b, _)| a.cmp(b));
            Ok(nodes)
        })
    }

    /// The children of a group, sorted by path, with their metadata.
    pub async fn members(&self, path: &NodePath) -> Result<Vec<(NodePath, NodeMetadata)>> {
        let children = self.list_children(path).await?;
        let parsed = children.into_iter().map(|child| self.parse_child(child));
        let mut members: Vec<_> = self.join_bounded(parsed).await?.into_iter().flatten().collect();
        members.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(members)
    }

    /// The node and all below it, sorted by path (D-162).
    pub async fn tree(&self, path: &NodePath) -> Result<Vec<Child>> {
        Ok(self.walked(path, false).await?.0)
    }

    /// The same, and those below it that the store could not read, each with its error, as [`HierarchyContext::children_and_unreadable`]
    /// has it.
    pub async fn tree_and_unreadable(
        &self,
        path: &NodePath,
    ) -> Result<(Vec<Child>, Vec<(NodePath, Error)>)> {
        self.walked(path, true).await
    }

    /// The node and all below it. With `goes_on` the walk does not end at a node that cannot be read.
    async fn walked(
        &self,
        path: &NodePath,
        goes_on: bool,
    ) -> Result<(Vec<Child>, Vec<(NodePath, Error)>)> {
        let top = async || {
            let top = self.node(path).await?;
            let implicit = matches!(&top, NodeMetadata::Group(group) if group.implicit);
            Ok::<_, Error>(Child { path: path.clone(), kind: Some(top.kind()), implicit })
        };
        if let Some(prefix) = self.format.tree_prefix() {
            let at = |e| self.at(path, unlisted(e));
            let listable = self.maybe_listable().map_err(at)?;
            let listing = listable.list_prefix(&prefix).await.map_err(at)?;
            self.warn_of_left_out(path.as_str(), &listing);
            let mut warnings = Vec::new();
            let nodes = self.format.tree(path, &listing.keys, &mut warnings);
            self.warn(path.as_str(), warnings);
            let mut nodes = self.without_copies_group(nodes).await.map_err(|e| self.at(path, e))?;
            if nodes.is_empty() {
                nodes.push(top().await?);
            }
            return Ok((nodes, Vec::new()));
        }
        let (mut nodes, mut unreadable) = (vec![top().await?], Vec::new());
        let mut done = 0;
        while done < nodes.len() {
            let groups = nodes[done..].iter().filter(|node| node.kind == Some(NodeKind::Group));
            let groups: Vec<NodePath> = groups.map(|group| group.path.clone()).collect();
            let level = groups.into_iter().map(async |group| {
                if !goes_on {
                    return Ok((self.children(&group).await?, Vec::new()));
                }
                match self.children_and_unreadable(&group).await {
                    // A group whose folder may not be listed is there, with what is below it.
                    Err(e) if self.is_of_one_node(&e) && group != *path => {
                        Ok((Vec::new(), vec![(group, e)]))
                    }
                    children => children,
                }
            });
            let level = self.join_bounded(level).await?;
            done = nodes.len();
            for (children, failed) in level {
                nodes.extend(children);
                unreadable.extend(failed);
            }
        }
        nodes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok((nodes, unreadable))
    }
}

fn implicit_group() -> NodeMetadata {
    NodeMetadata::Group(GroupMetadata { implicit: true, ..GroupMetadata::default() })
}

/// The error of a store that cannot list, with a hint.
fn unlisted(error: StoreError) -> Error {
    if !matches!(error, StoreError::NotCapable { .. }) {
        return error.into();
    }
    Error::from(error).with_hint(
        "this web server gives no index of its folders; consolidated metadata, which `zarr consolidate` makes where the data are written, \
         would name the nodes",
    )
}

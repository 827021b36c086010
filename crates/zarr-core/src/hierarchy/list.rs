//! Finds the nodes below a node.

use super::context::HierarchyContext;
use crate::dialect::Dialect;
use crate::error::{Error, Result, StoreError};
use crate::format::consolidated::{DRAFT, DRAFT_GROUP, is_document};
use crate::format::{Child, Documents};
use crate::metadata::{GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::store::{ListOptions, StoreKey, StorePrefix};

impl HierarchyContext {
    /// The children of whatever node is at `path`: an array has none (D-165 lets a draft's have some,
    /// which are reached by their own paths).
    pub async fn members(&self, path: &NodePath) -> Result<Vec<Child>> {
        if !self.format.groups_are_explicit() {
            // One listing tells all (D-160); only where it shows nothing, the node must be looked for.
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

    /// The children of a group, sorted; broken ones are noted and left out (T-35).
    pub async fn children(&self, path: &NodePath) -> Result<Vec<Child>> {
        let children = self.listed(path).await?;
        let known =
            self.join_bounded(children.into_iter().map(|child| self.with_kind(child))).await;
        Ok(known.map_err(|e| self.at(path, e))?.into_iter().flatten().collect())
    }

    /// What the listing tells of the children.
    async fn listed(&self, path: &NodePath) -> Result<Vec<Child>> {
        let at = |e: Error| self.at(path, e);
        let prefix = self.format.children_prefix(path).map_err(|e| at(e.into()))?;
        let listable = self.listable().map_err(|e| at(unlisted(e)))?;
        // Where groups are told by their documents, those are looked for anyway.
        let listing = if self.format.groups_are_explicit() {
            listable.list_dir(&prefix, ListOptions::CANDIDATES).await
        } else {
            listable.list_dir(&prefix, ListOptions::default()).await
        };
        let listing = listing.map_err(|e| at(e.into()))?;
        self.warn_of_left_out(path.as_str(), &listing);
        let mut warnings = Vec::new();
        let children = self.format.children(path, &listing, &mut warnings);
        self.warn(path.as_str(), warnings);
        self.without_helper(children).await.map_err(at)
    }

    /// The nodes without the group that a draft's writers make for the copies of documents, if it holds nothing else.
    async fn without_helper(&self, mut nodes: Vec<Child>) -> Result<Vec<Child>> {
        if self.format.dialect() != Dialect::Draft {
            return Ok(nodes);
        }
        let helper = nodes.iter().position(|node| node.path.as_str() == DRAFT_GROUP);
        if let (Some(at), Ok(listable)) = (helper, self.live.listable()) {
            let prefix = StorePrefix::new(format!("meta/root{DRAFT_GROUP}/"))?;
            let listing = listable.list_dir(&prefix, ListOptions::default()).await?;
            let holds_copies = listing.keys.iter().map(|key| key.as_str()).eq([DRAFT]);
            if holds_copies && listing.prefixes.is_empty() {
                nodes.remove(at);
            }
        }
        Ok(nodes)
    }

    /// The group that a folder without a document is, if nodes lie below it (decision 0137). Only where groups are
    /// explicit; `found` may be the attributes of v2, which make no node.
    pub(super) async fn folder(
        &self,
        path: &NodePath,
        found: &Documents,
    ) -> Result<Option<GroupMetadata>> {
        let Ok(listable) = self.store.listable() else { return Ok(None) };
        if !self.format.groups_are_explicit() {
            return Ok(None);
        }
        let mut folders = vec![path.clone()];
        while let Some(folder) = folders.pop() {
            let listing = listable
                .list_dir(&self.format.children_prefix(&folder)?, ListOptions::CANDIDATES)
                .await?;
            let dialect = self.format.dialect();
            let makes_node =
                |key: &StoreKey| is_document(dialect, key) && !key.as_str().ends_with(".zattrs");
            if listing.keys.iter().any(makes_node) {
                let what = "has no document; taken for a group, since nodes lie below it";
                self.warn(path.as_str(), vec![what.into()]);
                let attributes = found.first().and_then(|(_, bytes)| {
                    let (json, _) = self.format.encoding().decode(bytes).ok()?;
                    json.as_object().cloned()
                });
                let attributes = attributes.unwrap_or_default();
                return Ok(Some(GroupMetadata {
                    attributes,
                    implicit: true,
                    ..GroupMetadata::default()
                }));
            }
            let below = self.format.children(&folder, &listing, &mut Vec::new());
            folders.extend(below.into_iter().map(|child| child.path));
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
            Some(Some(kind)) => Ok(Some(Child { kind: Some(kind), ..child })),
            Some(None) => {
                let folder = self.folder(&child.path, &found).await?;
                let group = Child { kind: Some(NodeKind::Group), implicit: true, ..child };
                Ok(folder.map(|_| group))
            }
        }
    }

    /// What was made of a node's documents, unless that is an error, which is noted.
    pub fn unless_broken<T, E>(&self, path: &NodePath, node: Result<T, E>) -> Option<T> {
        if node.is_err() {
            self.warn(path.as_str(), vec!["its document is broken; left out".into()]);
        }
        node.ok()
    }

    /// What a child's documents say; `None` if it is no node.
    async fn said(&self, child: Child) -> Result<Option<(NodePath, NodeMetadata)>> {
        let found = self.documents(&child.path).await.map_err(|e| self.at(&child.path, e))?;
        let said = self.unless_broken(&child.path, self.parse(&child.path, &found));
        let implicit = GroupMetadata { implicit: true, ..GroupMetadata::default() };
        let node = match said {
            Some(None) if child.implicit => Some(NodeMetadata::Group(implicit)),
            Some(None) => self.folder(&child.path, &found).await?.map(NodeMetadata::Group),
            said => said.flatten(),
        };
        Ok(node.map(|node| (child.path, node)))
    }

    /// What the documents of the node and of all below it say, sorted by path. Each is read once; broken ones are
    /// noted and left out.
    pub async fn nodes(&self, path: &NodePath) -> Result<Vec<(NodePath, NodeMetadata)>> {
        if self.format.tree_prefix().is_some() {
            let listed = self.tree(path).await?;
            let said = self.join_bounded(listed.into_iter().map(|child| self.said(child))).await?;
            return Ok(said.into_iter().flatten().collect());
        }
        let mut nodes = vec![(path.clone(), self.node(path).await?)];
        let mut done = 0;
        while done < nodes.len() {
            let groups = nodes[done..].iter().filter(|(_, node)| node.kind() == NodeKind::Group);
            let level = self.join_bounded(groups.map(|(group, _)| self.listed(group))).await?;
            done = nodes.len();
            let said = level.into_iter().flatten().map(|child| self.said(child));
            nodes.extend(self.join_bounded(said).await?.into_iter().flatten());
        }
        nodes.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(nodes)
    }

    /// The node and all below it, sorted by path (D-162).
    pub async fn tree(&self, path: &NodePath) -> Result<Vec<Child>> {
        let top = async || {
            let top = self.node(path).await?;
            let implicit = matches!(&top, NodeMetadata::Group(group) if group.implicit);
            Ok::<_, Error>(Child { path: path.clone(), kind: Some(top.kind()), implicit })
        };
        if let Some(prefix) = self.format.tree_prefix() {
            let listable = self.listable().map_err(|e| self.at(path, unlisted(e)))?;
            let listing = listable.list_prefix(&prefix).await.map_err(|e| self.at(path, e))?;
            self.warn_of_left_out(path.as_str(), &listing);
            let mut warnings = Vec::new();
            let nodes = self.format.tree(path, &listing.keys, &mut warnings);
            self.warn(path.as_str(), warnings);
            let mut nodes = self.without_helper(nodes).await.map_err(|e| self.at(path, e))?;
            if nodes.is_empty() {
                nodes.push(top().await?);
            }
            return Ok(nodes);
        }
        let mut nodes = vec![top().await?];
        let mut groups: Vec<NodePath> = nodes
            .iter()
            .filter(|n| n.kind == Some(NodeKind::Group))
            .map(|n| n.path.clone())
            .collect();
        while !groups.is_empty() {
            let parents = std::mem::take(&mut groups).into_iter();
            let level =
                self.join_bounded(parents.map(async |group| self.children(&group).await)).await?;
            for child in level.into_iter().flatten() {
                if child.kind == Some(NodeKind::Group) {
                    groups.push(child.path.clone());
                }
                nodes.push(child);
            }
        }
        nodes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(nodes)
    }
}

/// Why the nodes of a store that cannot list are not found, and what would do.
fn unlisted(error: StoreError) -> Error {
    Error::from(error).with_hint(
        "plain web servers do not list; consolidated metadata, which `zarr consolidate` makes where the data are written, \
         would name the nodes",
    )
}

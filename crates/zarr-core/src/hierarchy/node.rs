//! Opens, creates and changes nodes for the handles.

use std::sync::Arc;

use super::{ArrayNode, CreateMode, HierarchyContext};
use crate::array::{MetadataOrigin, wrong_kind};
use crate::error::{Error, Result};
use crate::json::{Json, Object};
use crate::metadata::{ArrayMetadata, GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;

/// A node, for the handles of both faces.
pub(crate) enum NodeCore {
    Array(ArrayNode),
    Group(GroupCore),
}

/// A group as it was when it was opened.
#[derive(Clone, Debug)]
pub(crate) struct GroupCore {
    pub path: NodePath,
    pub metadata: Arc<GroupMetadata>,
}

impl GroupCore {
    fn new(path: &NodePath, metadata: GroupMetadata) -> Self {
        GroupCore { path: path.clone(), metadata: Arc::new(metadata) }
    }
}

impl HierarchyContext {
    /// The path that a caller wrote.
    pub fn node_path(&self, text: &str) -> Result<NodePath> {
        NodePath::new(text).map_err(|e| Error::from(e).at_store(self.store.name()))
    }

    pub(super) fn node_core(
        self: &Arc<Self>,
        path: &NodePath,
        metadata: NodeMetadata,
    ) -> Result<NodeCore> {
        Ok(match metadata {
            NodeMetadata::Array(metadata) => {
                let (path, origin) = (path.clone(), MetadataOrigin::Store);
                NodeCore::Array(ArrayNode::new(self.clone(), path, *metadata, origin)?)
            }
            NodeMetadata::Group(metadata) => NodeCore::Group(GroupCore::new(path, metadata)),
        })
    }

    /// The node at `path`.
    pub async fn open_node(self: &Arc<Self>, path: &NodePath) -> Result<NodeCore> {
        match self.node(path).await {
            Ok(metadata) => self.node_core(path, metadata),
            Err(e) => Err(self.with_near_name(path, e).await),
        }
    }

    /// The node at `path` and all below it, sorted by path. Broken ones give a warning, and are left out (T-35).
    pub async fn open_nodes(self: &Arc<Self>, path: &NodePath) -> Result<Vec<NodeCore>> {
        self.opened(self.nodes(path).await?)
    }

    /// The children of a group, opened.
    pub async fn open_members(self: &Arc<Self>, path: &NodePath) -> Result<Vec<NodeCore>> {
        self.opened(self.members(path).await?)
    }

    fn opened(self: &Arc<Self>, nodes: Vec<(NodePath, NodeMetadata)>) -> Result<Vec<NodeCore>> {
        let nodes = nodes.into_iter();
        let opened = nodes.map(|(path, node)| (self.node_core(&path, node), path));
        Ok(opened.filter_map(|(node, path)| self.unless_broken(&path, node)).collect())
    }

    /// Creates a group.
    pub async fn create_group(&self, path: &NodePath, attributes: Object) -> Result<GroupCore> {
        let metadata = GroupMetadata { attributes, ..GroupMetadata::default() };
        let node = NodeMetadata::Group(metadata.clone());
        self.create(path, &node, CreateMode::default()).await?;
        Ok(GroupCore::new(path, metadata))
    }

    /// Creates an array.
    pub async fn create_array(
        self: &Arc<Self>,
        path: &NodePath,
        metadata: ArrayMetadata,
        mode: CreateMode,
    ) -> Result<ArrayNode> {
        let node = NodeMetadata::Array(Box::new(metadata));
        match self.node_core(path, self.create(path, &node, mode).await?)? {
            NodeCore::Array(core) => Ok(core),
            NodeCore::Group(_) => Err(self.at(path, wrong_kind(NodeKind::Group))),
        }
    }

    /// Sets one of a node's attributes in its newest document.
    pub async fn set_attribute(
        &self,
        path: &NodePath,
        kind: NodeKind,
        name: &str,
        value: Json,
    ) -> Result<()> {
        self.update_attributes(path, kind, |attributes| {
            attributes.insert(name, value.clone());
        })
        .await?;
        Ok(())
    }

    /// Changes a node's attributes in its newest document; returns what they are afterwards.
    pub async fn update_attributes(
        &self,
        path: &NodePath,
        kind: NodeKind,
        mut change: impl FnMut(&mut Object) + Send,
    ) -> Result<Object> {
        let place = self.format.attributes_member(path, kind).map_err(|e| self.at(path, e))?;
        if place.may_be_absent {
            // A document of attributes makes no node, and none must be left where a node was erased.
            self.node(path).await?;
        }
        let edit = |json| {
            let mut attributes = match json {
                Json::Object(attributes) => attributes,
                _ => Object::new(),
            };
            let hidden = self.take_hidden(kind, &mut attributes);
            let before = attributes.clone();
            change(&mut attributes);
            self.check_attributes(kind, &before, &attributes, &hidden)?;
            Ok(Json::Object(attributes.into_iter().chain(hidden).collect()))
        };
        let after = self.edit(path, &place, edit).await?;
        let mut attributes = after.as_object().cloned().unwrap_or_default();
        self.take_hidden(kind, &mut attributes);
        Ok(attributes)
    }
}

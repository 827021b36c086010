//! Opens nodes for the handles.

use std::sync::Arc;

use super::context::HierarchyContext;
use super::{list, near_name};
use crate::array::{ArrayCore, MetadataOrigin};
use crate::context::StoreContext;
use crate::error::Result;
use crate::metadata::{GroupMetadata, NodeMetadata};
use crate::path::NodePath;

/// A node, for the handles of both faces.
pub(crate) enum NodeCore {
    Array(Arc<ArrayCore>),
    Group(GroupCore),
}

impl NodeCore {
    /// The node that a document of the store describes.
    pub fn new(
        context: &Arc<StoreContext>,
        path: &NodePath,
        metadata: NodeMetadata,
    ) -> Result<NodeCore> {
        Ok(match metadata {
            NodeMetadata::Array(metadata) => {
                let context = context.clone();
                let path = path.clone();
                let array = ArrayCore::new(context, path, *metadata, MetadataOrigin::Store)?;
                NodeCore::Array(Arc::new(array))
            }
            NodeMetadata::Group(metadata) => NodeCore::Group(GroupCore::new(path, metadata)),
        })
    }
}

/// A group as it was when it was opened.
#[derive(Clone, Debug)]
pub(crate) struct GroupCore {
    pub path: NodePath,
    pub metadata: Arc<GroupMetadata>,
}

impl GroupCore {
    pub fn new(path: &NodePath, metadata: GroupMetadata) -> GroupCore {
        GroupCore { path: path.clone(), metadata: Arc::new(metadata) }
    }
}

/// The node at `path`.
pub async fn open_node(hierarchy: &HierarchyContext, path: &NodePath) -> Result<NodeCore> {
    match list::read_node(hierarchy, path).await {
        Ok(metadata) => NodeCore::new(&hierarchy.context, path, metadata),
        Err(e) => Err(near_name::with_near_name(&hierarchy.context, path, e).await),
    }
}

/// The node at `path` and all below it, sorted by path. Broken ones give a warning, and are left out (T-35).
pub async fn open_nodes(hierarchy: &HierarchyContext, path: &NodePath) -> Result<Vec<NodeCore>> {
    Ok(intact_nodes(&hierarchy.context, list::read_nodes(hierarchy, path).await?))
}

/// The children of a group, opened.
pub async fn open_members(hierarchy: &HierarchyContext, path: &NodePath) -> Result<Vec<NodeCore>> {
    Ok(intact_nodes(&hierarchy.context, list::read_members(hierarchy, path).await?))
}

/// The nodes of some documents, without those of which no node can be made.
fn intact_nodes(
    context: &Arc<StoreContext>,
    nodes: Vec<(NodePath, NodeMetadata)>,
) -> Vec<NodeCore> {
    let mut intact = Vec::with_capacity(nodes.len());
    for (path, metadata) in nodes {
        let node = NodeCore::new(context, &path, metadata);
        intact.extend(list::unless_broken(context, &path, node));
    }
    intact
}

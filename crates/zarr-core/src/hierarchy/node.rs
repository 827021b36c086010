//! The handles of a node and of a group.

use std::sync::Arc;

use super::array::Array;
use super::builder::ArrayBuilder;
use super::{Hierarchy, change_attributes};
use crate::array::wrong_kind;
use crate::error::Result;
use crate::format::Child;
use crate::json::Object;
use crate::metadata::{GroupMetadata, NodeKind};
use crate::path::NodePath;
use crate::store::block_on;

/// A group or an array.
#[derive(Clone, Debug)]
pub enum Node {
    /// An array.
    Array(Array),
    /// A group.
    Group(Group),
}

impl Node {
    /// Where it is.
    pub fn path(&self) -> &NodePath {
        match self {
            Node::Array(array) => array.path(),
            Node::Group(group) => group.path(),
        }
    }

    /// Whether it is a group or an array.
    pub fn kind(&self) -> NodeKind {
        match self {
            Node::Array(_) => NodeKind::Array,
            Node::Group(_) => NodeKind::Group,
        }
    }

    /// The hierarchy it is part of.
    pub fn hierarchy(&self) -> &Hierarchy {
        match self {
            Node::Array(array) => array.hierarchy(),
            Node::Group(group) => group.hierarchy(),
        }
    }

    /// The user's attributes.
    pub fn attributes(&self) -> Object {
        match self {
            Node::Array(array) => array.attributes(),
            Node::Group(group) => group.attributes().clone(),
        }
    }

    /// Changes the user's attributes; see [`Group::update_attributes`].
    ///
    /// # Errors
    /// As there.
    pub fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        match self {
            Node::Array(array) => array.update_attributes(change),
            Node::Group(group) => group.update_attributes(change),
        }
    }

    /// The array, if it is one.
    pub fn as_array(&self) -> Option<&Array> {
        match self {
            Node::Array(array) => Some(array),
            Node::Group(_) => None,
        }
    }

    /// The group, if it is one.
    pub fn as_group(&self) -> Option<&Group> {
        match self {
            Node::Group(group) => Some(group),
            Node::Array(_) => None,
        }
    }

    /// The array.
    ///
    /// # Errors
    /// [`crate::AccessError::NodeKind`] if it is a group.
    pub fn into_array(self) -> Result<Array> {
        match self {
            Node::Array(array) => Ok(array),
            Node::Group(group) => {
                Err(group.hierarchy.context.at(&group.path, wrong_kind(NodeKind::Group)))
            }
        }
    }

    /// The group.
    ///
    /// # Errors
    /// [`crate::AccessError::NodeKind`] if it is an array.
    pub fn into_group(self) -> Result<Group> {
        match self {
            Node::Group(group) => Ok(group),
            Node::Array(array) => {
                Err(array.hierarchy().context.at(array.path(), wrong_kind(NodeKind::Array)))
            }
        }
    }
}

/// A group of a hierarchy.
#[derive(Clone, Debug)]
pub struct Group {
    pub(super) hierarchy: Hierarchy,
    pub(super) path: NodePath,
    pub(super) metadata: Arc<GroupMetadata>,
}

impl Group {
    /// Where it is.
    pub fn path(&self) -> &NodePath {
        &self.path
    }

    /// The hierarchy it is part of.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// What was known of it when it was opened.
    pub fn metadata(&self) -> &GroupMetadata {
        &self.metadata
    }

    /// The user's attributes when it was opened.
    pub fn attributes(&self) -> &Object {
        &self.metadata.attributes
    }

    fn below(&self, path: &str) -> Result<NodePath> {
        self.path.join(path).map_err(|e| self.hierarchy.context.at(&self.path, e))
    }

    /// Makes copies of the documents of this group and of all below it, for readers that open it by itself. Returns the
    /// number of nodes.
    ///
    /// # Errors
    /// As [`Hierarchy::consolidate`]; [`crate::AccessError::Argument`] for a group of a draft that is not the root.
    pub fn consolidate(&self) -> Result<usize> {
        block_on(self.hierarchy.context.consolidate(&self.path))
    }

    /// Whether copies of these documents are there, as [`Group::consolidate`] makes them.
    ///
    /// # Errors
    /// What the store meets.
    pub fn is_consolidated(&self) -> Result<bool> {
        block_on(self.hierarchy.context.is_consolidated(&self.path))
    }

    /// The node at `path`, from here.
    ///
    /// # Errors
    /// As [`Hierarchy::node`].
    pub fn node(&self, path: &str) -> Result<Node> {
        self.hierarchy.node(&self.below(path)?)
    }

    /// The array at `path`, from here.
    ///
    /// # Errors
    /// As [`Hierarchy::array`].
    pub fn array(&self, path: &str) -> Result<Array> {
        self.hierarchy.array(&self.below(path)?)
    }

    /// The group at `path`, from here.
    ///
    /// # Errors
    /// As [`Hierarchy::group`].
    pub fn group(&self, path: &str) -> Result<Group> {
        self.hierarchy.group(&self.below(path)?)
    }

    /// Its children, sorted.
    ///
    /// # Errors
    /// As [`Hierarchy::children`].
    pub fn children(&self) -> Result<Vec<Child>> {
        block_on(self.hierarchy.context.children(&self.path))
    }

    /// Itself and all nodes below it, sorted by path.
    ///
    /// # Errors
    /// As [`Hierarchy::tree`].
    pub fn tree(&self) -> Result<Vec<Child>> {
        self.hierarchy.tree(&self.path)
    }

    /// Itself and all nodes below it, sorted by path and opened.
    ///
    /// # Errors
    /// As [`Hierarchy::nodes`].
    pub fn nodes(&self) -> Result<Vec<Node>> {
        self.hierarchy.nodes(&self.path)
    }

    /// Creates a group at `path`, from here.
    ///
    /// # Errors
    /// As [`Hierarchy::create_group`].
    pub fn create_group(&self, path: &str) -> Result<Group> {
        self.hierarchy.create_group(&self.below(path)?, Object::new())
    }

    /// Begins an array at `path`, from here.
    ///
    /// # Errors
    /// [`crate::AccessError::Argument`] for text that is no path.
    pub fn create_array(&self, path: &str) -> Result<ArrayBuilder> {
        Ok(self.hierarchy.create_array(&self.below(path)?))
    }

    /// Erases the node at `path`, from here, with everything below it.
    ///
    /// # Errors
    /// As [`Hierarchy::erase`].
    pub fn erase(&self, path: &str) -> Result<()> {
        self.hierarchy.erase(&self.below(path)?)
    }

    /// Changes the user's attributes: `change` is laid over what they are now, and again if another
    /// writer was faster, so that nobody's change is lost. Returns what they are afterwards.
    ///
    /// # Errors
    /// [`crate::AccessError::ReadOnly`]; [`crate::AccessError::Argument`] for attributes that the format reserves.
    pub fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        block_on(change_attributes(&self.hierarchy.context, &self.path, NodeKind::Group, change))
    }
}

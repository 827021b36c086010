//! A group or an array, where a caller does not know which.

use std::fmt;

use super::{Array, Group, Hierarchy};
use crate::array::wrong_kind;
#[cfg(doc)]
use crate::error::AccessError;
use crate::error::Result;
use crate::handles::text;
use crate::hierarchy::{NodeCore, attributes, node};
use crate::json::{Json, Object};
use crate::metadata::NodeKind;
use crate::path::NodePath;

/// A group or an array.
#[derive(Clone)]
pub enum Node {
    /// An array.
    Array(Array),
    /// A group.
    Group(Group),
}

impl Node {
    /// Its path in the hierarchy.
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

    /// The hierarchy that it is part of.
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
    /// [`AccessError::NodeKind`] if it is a group.
    pub fn into_array(self) -> Result<Array> {
        match self {
            Node::Array(array) => Ok(array),
            Node::Group(group) => {
                let context = &group.hierarchy.core.context;
                Err(context.with_context(group.path(), wrong_kind(NodeKind::Group)))
            }
        }
    }

    /// The group.
    ///
    /// # Errors
    /// [`AccessError::NodeKind`] if it is an array.
    pub fn into_group(self) -> Result<Group> {
        match self {
            Node::Group(group) => Ok(group),
            Node::Array(array) => Err(array.core.at(wrong_kind(NodeKind::Array))),
        }
    }

    /// Itself and all nodes below it, drawn as a tree: see [`Group::tree_text`]. An array is a single line.
    ///
    /// # Errors
    /// As [`Group::tree_text`].
    pub async fn tree_text(&self) -> Result<String> {
        let nodes = match self {
            Node::Array(array) => vec![NodeCore::Array(array.core.clone())],
            Node::Group(group) => node::open_nodes(&group.hierarchy.core, group.path()).await?,
        };
        Ok(text::draw_nodes(self.path(), &nodes))
    }

    /// Sets one of the user's attributes; see [`Group::set_attribute`].
    ///
    /// # Errors
    /// As [`Group::update_attributes`].
    pub async fn set_attribute(&self, name: &str, value: impl Into<Json>) -> Result<()> {
        let core = &self.hierarchy().core;
        let path = self.path();
        let value = value.into();
        match self {
            Node::Array(array) => {
                attributes::set_array_attribute(core, &array.core, name, value).await
            }
            Node::Group(_) => {
                attributes::set_attribute(core, path, NodeKind::Group, name, value).await
            }
        }
    }

    /// Changes the user's attributes; see [`Group::update_attributes`].
    ///
    /// # Errors
    /// As [`Group::update_attributes`].
    pub async fn update_attributes(
        &self,
        change: impl FnMut(&mut Object) + Send,
    ) -> Result<Object> {
        let core = &self.hierarchy().core;
        let path = self.path();
        match self {
            Node::Array(array) => {
                attributes::update_array_attributes(core, &array.core, change).await
            }
            Node::Group(_) => {
                attributes::update_attributes(core, path, NodeKind::Group, change).await
            }
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Array(array) => array.fmt(f),
            Node::Group(group) => group.fmt(f),
        }
    }
}

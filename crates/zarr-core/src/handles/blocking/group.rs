//! A group of a hierarchy, and what is below it.
// @generated from async/group.rs by tests/it/generated_handles.rs of this crate. Change that file, then run
// `UPDATE=1 cargo test -p zarr-core --test it generated_handles`.

use std::fmt;

use super::{Array, ArrayBuilder, Hierarchy, Node};
#[cfg(doc)]
use crate::error::AccessError;
use crate::error::Result;
use crate::format::Child;
use crate::handles::{aio, blocking, text};
use crate::hierarchy::consolidated::{consolidate, inspect};
use crate::hierarchy::{GroupCore, attributes, create, erase, list, node};
use crate::json::{Json, Object};
use crate::metadata::{GroupMetadata, NodeKind};
use crate::path::NodePath;
use crate::runtime::block_on;

/// A group of a hierarchy.
#[derive(Clone)]
pub struct Group {
    pub(in crate::handles) hierarchy: Hierarchy,
    pub(in crate::handles) core: GroupCore,
}

impl Group {
    /// Its path in the hierarchy.
    pub fn path(&self) -> &NodePath {
        &self.core.path
    }

    /// The hierarchy that it is part of.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// What its document said when it was opened.
    pub fn metadata(&self) -> &GroupMetadata {
        &self.core.metadata
    }

    /// The user's attributes when it was opened: changes since then, through this handle too, are in those of [`Group::refreshed`].
    pub fn attributes(&self) -> &Object {
        &self.core.metadata.attributes
    }

    /// The group as it is now, with its newest attributes.
    ///
    /// # Errors
    /// As [`Hierarchy::group`].
    pub fn refreshed(&self) -> Result<Group> {
        let node = block_on(node::open_node(&self.hierarchy.core, self.path()))?;
        self.hierarchy.handle(node).into_group()
    }

    /// Describes an array that is to be created at `path`, relative to this group. [`ArrayBuilder::create`] refuses text
    /// that is not a path.
    pub fn create_array(&self, path: impl AsRef<str>) -> ArrayBuilder {
        let path = path.as_ref();
        match self.path().join(path) {
            Ok(path) => self.hierarchy.create_array(path),
            Err(_) => self.hierarchy.create_array(format!("{}/{path}", self.path())),
        }
    }

    /// Makes copies of the documents of this group and of all below it, for readers that open it by itself.
    /// Returns the number of nodes.
    ///
    /// # Errors
    /// As [`Hierarchy::consolidate`]; [`AccessError::Argument`] for a group of a draft that is not the root.
    pub fn consolidate(&self) -> Result<usize> {
        block_on(consolidate::consolidate(&self.hierarchy.core, self.path()))
    }

    /// Removes the copies that [`Group::consolidate`] makes; `false` if there were none.
    ///
    /// # Errors
    /// As [`Hierarchy::remove_consolidated`].
    pub fn remove_consolidated(&self) -> Result<bool> {
        block_on(consolidate::remove_consolidated(&self.hierarchy.core, self.path()))
    }

    /// The nodes whose copies in this group differ from their documents, sorted.
    ///
    /// # Errors
    /// As [`Hierarchy::check_consolidated`].
    pub fn check_consolidated(&self) -> Result<Vec<NodePath>> {
        block_on(inspect::check_consolidated(&self.hierarchy.core, self.path()))
    }

    /// Whether there are copies of these documents, as [`Group::consolidate`] makes them.
    ///
    /// # Errors
    /// What the store reports.
    pub fn is_consolidated(&self) -> Result<bool> {
        block_on(inspect::is_consolidated(&self.hierarchy.core, self.path()))
    }

    /// Opens the node at `path`, relative to this group.
    ///
    /// # Errors
    /// As [`Hierarchy::node`].
    pub fn node(&self, path: impl AsRef<str>) -> Result<Node> {
        let node = block_on(node::open_node(&self.hierarchy.core, &self.below(path)?))?;
        Ok(self.hierarchy.handle(node))
    }

    /// Opens the array at `path`, relative to this group.
    ///
    /// # Errors
    /// As [`Hierarchy::array`].
    pub fn array(&self, path: impl AsRef<str>) -> Result<Array> {
        let node = block_on(node::open_node(&self.hierarchy.core, &self.below(path)?))?;
        self.hierarchy.handle(node).into_array()
    }

    /// Opens the group at `path`, relative to this group.
    ///
    /// # Errors
    /// As [`Hierarchy::group`].
    pub fn group(&self, path: impl AsRef<str>) -> Result<Group> {
        let node = block_on(node::open_node(&self.hierarchy.core, &self.below(path)?))?;
        self.hierarchy.handle(node).into_group()
    }

    /// Its children, sorted.
    ///
    /// # Errors
    /// As [`Hierarchy::children`].
    pub fn children(&self) -> Result<Vec<Child>> {
        block_on(list::list_children(&self.hierarchy.core, self.path()))
    }

    /// Itself and all nodes below it, sorted by path.
    ///
    /// # Errors
    /// As [`Hierarchy::tree`].
    pub fn tree(&self) -> Result<Vec<Child>> {
        block_on(list::tree(&self.hierarchy.core, self.path()))
    }

    /// Its children, sorted by path and opened, with kind, shape and data type: each document is read once.
    /// Broken ones are noted as warnings and left out.
    ///
    /// # Errors
    /// As [`Hierarchy::children`].
    pub fn members(&self) -> Result<Vec<Node>> {
        let nodes = block_on(node::open_members(&self.hierarchy.core, self.path()))?;
        Ok(nodes.into_iter().map(|node| self.hierarchy.handle(node)).collect())
    }

    /// Itself and all nodes below it, sorted by path and opened.
    ///
    /// # Errors
    /// As [`Hierarchy::nodes`].
    pub fn nodes(&self) -> Result<Vec<Node>> {
        let nodes = block_on(node::open_nodes(&self.hierarchy.core, self.path()))?;
        Ok(nodes.into_iter().map(|node| self.hierarchy.handle(node)).collect())
    }

    /// Itself and all nodes below it, drawn as a tree: a line for each node, of arrays with data type, shape and the names of
    /// their dimensions. Broken nodes are noted as warnings and left out.
    ///
    /// ```
    /// # fn example(group: &zarr_core::Group) -> zarr_core::Result<()> {
    /// println!("{}", group.tree_text()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Hierarchy::nodes`].
    pub fn tree_text(&self) -> Result<String> {
        let nodes = block_on(node::open_nodes(&self.hierarchy.core, self.path()))?;
        Ok(text::draw_nodes(self.path(), &nodes))
    }

    /// Creates a group at `path`, relative to this group.
    ///
    /// # Errors
    /// As [`Hierarchy::create_group`].
    pub fn create_group(&self, path: impl AsRef<str>) -> Result<Group> {
        let path = self.below(path)?;
        let core = block_on(create::create_group(&self.hierarchy.core, &path, Object::new()))?;
        Ok(self.hierarchy.group_of(core))
    }

    /// Erases the node at `path`, relative to this group, with everything below it.
    ///
    /// # Errors
    /// As [`Hierarchy::erase`].
    pub fn erase(&self, path: impl AsRef<str>) -> Result<()> {
        block_on(erase::erase(&self.hierarchy.core, &self.below(path)?))
    }

    /// Sets one of the user's attributes: `set_attribute("units", "K")`. What other writers set concurrently stays.
    ///
    /// # Errors
    /// As [`Group::update_attributes`].
    pub fn set_attribute(&self, name: &str, value: impl Into<Json>) -> Result<()> {
        let core = &self.hierarchy.core;
        let path = self.path();
        let value = value.into();
        block_on(attributes::set_attribute(core, path, NodeKind::Group, name, value))
    }

    /// Changes the user's attributes: `change` is applied to what they are now, and again if another writer was
    /// faster, so that no change is lost. Returns what they are afterwards.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] for attributes that the format reserves.
    pub fn update_attributes(&self, change: impl FnMut(&mut Object) + Send) -> Result<Object> {
        let core = &self.hierarchy.core;
        block_on(attributes::update_attributes(core, self.path(), NodeKind::Group, change))
    }

    /// The same group for async callers.
    pub fn as_async(&self) -> aio::Group {
        self.hierarchy.as_async().group_of(self.core.clone())
    }

    /// The same group for blocking callers.
    pub fn as_blocking(&self) -> blocking::Group {
        self.hierarchy.as_blocking().group_of(self.core.clone())
    }

    fn below(&self, path: impl AsRef<str>) -> Result<NodePath> {
        self.path()
            .join(path.as_ref())
            .map_err(|e| self.hierarchy.core.context.with_context(self.path(), e))
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::debug_node(f, "Group", &**self.hierarchy.store(), self.path(), None)
    }
}

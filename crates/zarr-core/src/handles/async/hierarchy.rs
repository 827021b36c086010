//! A tree of groups and arrays in a store.

use std::fmt;
use std::sync::Arc;

use super::{Array, ArrayBuilder, Group, Node};
use crate::array::{ArrayCore, MetadataOrigin};
use crate::dialect::{Dialect, Era, Warning};
#[cfg(doc)]
use crate::error::{AccessError, StoreError};
use crate::error::{Error, Result};
use crate::format::{Child, Format};
use crate::handles::{aio, blocking, text};
use crate::hierarchy::consolidated::{consolidate, inspect};
use crate::hierarchy::{
    CreateMode, GroupCore, HierarchyContext, NodeCore, OpenOptions, check, create, erase,
    leftovers, list, node, open,
};
use crate::json::Object;
use crate::metadata::ArrayMetadata;
use crate::options::Options;
use crate::path::NodePath;
use crate::registry::Registry;
use crate::store::{Store, StoreKey};

/// A node that the store could not read, and why.
type Unreadable = (NodePath, Error);

/// A tree of groups and arrays in a store.
#[derive(Clone)]
pub struct Hierarchy {
    pub(in crate::handles) core: Arc<HierarchyContext>,
}

/// # Opening and creating
impl Hierarchy {
    /// The hierarchy that begins at a store's root.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if none does; for an entry point that is broken or not known.
    pub async fn open(store: Arc<dyn Store>, options: &OpenOptions) -> Result<Hierarchy> {
        let core = open::open_root(store, options).await?;
        Ok(Hierarchy { core })
    }

    /// A new hierarchy of this format at a store's root. It has only its root group.
    ///
    /// # Errors
    /// [`AccessError::Exists`] if there is a hierarchy.
    pub async fn create(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Result<Hierarchy> {
        let core = open::create_whole(store, format, options).await?;
        Ok(Hierarchy { core })
    }

    /// As [`Hierarchy::create`], but where groups are explicit without the root group: the caller is about to
    /// create the root node.
    ///
    /// # Errors
    /// As [`Hierarchy::create`].
    pub async fn begin(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Result<Hierarchy> {
        let core = open::begin(store, format, options).await?;
        Ok(Hierarchy { core })
    }

    /// The hierarchy of a dialect at a URL or path, for reading and writing; a new one, as of
    /// [`Hierarchy::begin`], if there is none.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if there is one of another dialect; as [`Hierarchy::open`].
    pub async fn open_or_create(
        url: &str,
        dialect: Dialect,
        options: &OpenOptions,
    ) -> Result<Hierarchy> {
        let core = open::open_or_create(url, dialect, options).await?;
        Ok(Hierarchy { core })
    }

    /// The hierarchy that a URL or a path names, and the node in it: a store's root, or a node inside.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] listing what was looked for; otherwise as [`Hierarchy::open`].
    pub async fn locate(url: &str, options: &OpenOptions) -> Result<(Hierarchy, NodePath)> {
        let (core, path, _) = open::locate(url, options).await?;
        Ok((Hierarchy { core }, path))
    }

    /// The node that a URL or a path names. It takes fewer requests than [`Hierarchy::locate`] and then
    /// [`Hierarchy::node`]: documents that were read to find it are not read again.
    ///
    /// # Errors
    /// As those.
    pub async fn open_node(url: &str, options: &OpenOptions) -> Result<Node> {
        let (core, node) = open::open_url(url, options).await?;
        Ok(Hierarchy { core }.handle(node))
    }

    /// A hierarchy of a format that the caller knows. Nothing is read: this opens hierarchies whose documents
    /// do not tell their format.
    pub fn of_format(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Hierarchy {
        Hierarchy { core: open::with_format(store, format, options) }
    }

    /// The same hierarchy for async callers. Both share warnings and copies of documents.
    pub fn as_async(&self) -> aio::Hierarchy {
        aio::Hierarchy { core: self.core.clone() }
    }

    /// The same hierarchy for blocking callers. Both share warnings and copies of documents.
    pub fn as_blocking(&self) -> blocking::Hierarchy {
        blocking::Hierarchy { core: self.core.clone() }
    }
}

/// # What the hierarchy is
impl Hierarchy {
    /// The dialect of its documents.
    pub fn dialect(&self) -> Dialect {
        self.core.context.format.dialect()
    }

    /// Which of the drafts it follows, if any.
    pub fn era(&self) -> Option<Era> {
        self.core.context.format.era()
    }

    /// `v2`, `v3`, `draft-2020` or `draft-2019`.
    pub fn format_name(&self) -> &'static str {
        self.core.context.format.name()
    }

    /// Where its documents are stored, and how they become the model.
    #[doc(hidden)]
    pub fn format(&self) -> &Arc<dyn Format> {
        &self.core.context.format
    }

    /// The store of its keys and values.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.core.unguarded
    }

    /// How arrays are read and written.
    pub fn options(&self) -> &Options {
        &self.core.context.options
    }

    /// The data types, codecs and stores that are known.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.core.context.registry
    }

    /// What tolerant reading has overlooked so far.
    pub fn warnings(&self) -> Vec<Warning> {
        self.core.context.warnings()
    }

    /// Whether nodes may be created and chunks written.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`], [`AccessError::Frozen`]; [`StoreError::NotCapable`].
    pub fn check_writeable(&self) -> Result<()> {
        match self.core.context.writeable() {
            Ok(_) => Ok(()),
            Err(e) => Err(self.core.context.with_context(&NodePath::root(), e)),
        }
    }

    /// Makes written values visible to other readers, for stores that gather them until then, such as zip
    /// archives. The end of the last handle does so, too, but cannot report a failure.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn flush(&self) -> Result<()> {
        self.core.flush().await
    }
}

/// # Nodes
impl Hierarchy {
    /// The node at `path`.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; for a document that breaks its specification.
    pub async fn node(&self, path: impl AsRef<str>) -> Result<Node> {
        let node = node::open_node(&self.core, &self.node_path(path)?).await?;
        Ok(self.handle(node))
    }

    /// The array at `path`.
    ///
    /// # Errors
    /// As [`Hierarchy::node`]; [`AccessError::NodeKind`] if it is a group.
    pub async fn array(&self, path: impl AsRef<str>) -> Result<Array> {
        let node = node::open_node(&self.core, &self.node_path(path)?).await?;
        self.handle(node).into_array()
    }

    /// The group at `path`.
    ///
    /// # Errors
    /// As [`Hierarchy::node`]; [`AccessError::NodeKind`] if it is an array.
    pub async fn group(&self, path: impl AsRef<str>) -> Result<Group> {
        let node = node::open_node(&self.core, &self.node_path(path)?).await?;
        self.handle(node).into_group()
    }

    /// The root group.
    ///
    /// # Errors
    /// As [`Hierarchy::group`].
    pub async fn root(&self) -> Result<Group> {
        let node = node::open_node(&self.core, &NodePath::root()).await?;
        self.handle(node).into_group()
    }

    /// The children of the node at `path`, sorted; an array has none.
    ///
    /// # Errors
    /// As [`Hierarchy::node`]; [`StoreError::NotCapable`] if the store cannot list (D-161).
    pub async fn children(&self, path: impl AsRef<str>) -> Result<Vec<Child>> {
        list::children_of(&self.core, &self.node_path(path)?).await
    }

    /// The node at `path` and all nodes below it, sorted by path.
    ///
    /// # Errors
    /// As [`Hierarchy::node`] and [`Hierarchy::children`].
    pub async fn tree(&self, path: impl AsRef<str>) -> Result<Vec<Child>> {
        list::tree(&self.core, &self.node_path(path)?).await
    }

    /// The node and all below it, sorted by path and opened: each document is read once. Broken ones are noted
    /// as warnings and left out (T-35).
    ///
    /// # Errors
    /// As [`Hierarchy::tree`].
    pub async fn nodes(&self, path: impl AsRef<str>) -> Result<Vec<Node>> {
        let nodes = node::open_nodes(&self.core, &self.node_path(path)?).await?;
        Ok(nodes.into_iter().map(|node| self.handle(node)).collect())
    }

    /// Describes an array that is to be created at `path`. [`ArrayBuilder::create`] refuses text that is no path.
    pub fn create_array(&self, path: impl AsRef<str>) -> ArrayBuilder {
        ArrayBuilder::new(self.clone(), path.as_ref())
    }

    /// Creates a group, and those above it where the format has explicit groups.
    ///
    /// # Errors
    /// [`AccessError::Exists`]; [`AccessError::ReadOnly`]; [`AccessError::Argument`] for a name that no node
    /// may have.
    pub async fn create_group(&self, path: impl AsRef<str>, attributes: Object) -> Result<Group> {
        let core = create::create_group(&self.core, &self.node_path(path)?, attributes).await?;
        Ok(self.group_of(core))
    }

    /// Erases the node at `path` with everything below it. Files that are not Zarr's stay where the store can list:
    /// [`Hierarchy::foreign_keys`] lists them.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; [`AccessError::ReadOnly`].
    pub async fn erase(&self, path: impl AsRef<str>) -> Result<()> {
        erase::erase(&self.core, &self.node_path(path)?).await
    }
}

/// # Consolidated metadata
impl Hierarchy {
    /// Makes copies of all documents, so that readers need no others: `.zmetadata` in v2 (Z2-070), inline in
    /// the root group in v3 (F-013), where zarr-python 2.18 puts them in a draft (draft-v3.md 3.4). A change of
    /// a document through this crate changes its copy, too. Returns the number of nodes.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] for a v3 array at the root, and if the copies that
    /// are there are the only ones of a document ([`Hierarchy::only_copied_nodes`]); for a document that is
    /// broken; [`StoreError::NotCapable`] if the store cannot list.
    pub async fn consolidate(&self) -> Result<usize> {
        consolidate::consolidate(&self.core, &NodePath::root()).await
    }

    /// Whether there are copies of all documents, as [`Hierarchy::consolidate`] makes them.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn is_consolidated(&self) -> Result<bool> {
        inspect::is_consolidated(&self.core, &NodePath::root()).await
    }

    /// Removes those copies; `false` if there were none.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] if they are the only copies of a document.
    pub async fn remove_consolidated(&self) -> Result<bool> {
        consolidate::remove_consolidated(&self.core, &NodePath::root()).await
    }

    /// The nodes whose copies differ from their documents, sorted.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if there are no copies; for copies of a form that is not known.
    pub async fn check_consolidated(&self) -> Result<Vec<NodePath>> {
        inspect::check_consolidated(&self.core, &NodePath::root()).await
    }

    /// The nodes at a path and below it that have no document, and that consolidated metadata describe all the same,
    /// sorted: some writers put documents there alone. Readers that use the copies have them; no writer has.
    /// `zarr repair` writes their documents.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn only_copied_nodes(&self, path: impl AsRef<str>) -> Result<Vec<NodePath>> {
        inspect::only_copied_nodes(&self.core, &self.node_path(path)?).await
    }
}

/// # For tools
///
/// Copies, repairs and listings of all that is stored need these; programs that read and write arrays do not.
impl Hierarchy {
    /// The array at `path` that has this metadata, whether or not a document says so: the store is not read. With
    /// the guard off its chunks can be written before the document.
    ///
    /// # Errors
    /// For metadata of which no array can be made.
    pub fn array_of_metadata(&self, path: &NodePath, metadata: ArrayMetadata) -> Result<Array> {
        let context = self.core.context.clone();
        let path = path.clone();
        let core = ArrayCore::new(context, path, metadata, MetadataOrigin::Caller)?;
        Ok(self.array_of(Arc::new(core)))
    }

    /// Whether an array like this could be created at `path`: its name, its metadata and its codecs. The store
    /// is not read.
    ///
    /// # Errors
    /// As [`ArrayBuilder::create`].
    pub fn check_array(&self, path: impl AsRef<str>, metadata: &ArrayMetadata) -> Result<()> {
        check::check_array(&self.core.context, &self.node_path(path)?, metadata)
    }

    /// Whether a group with these attributes could be created at `path`: its name and its attributes. The store
    /// is not read.
    ///
    /// # Errors
    /// As [`Hierarchy::create_group`].
    pub fn check_group(&self, path: impl AsRef<str>, attributes: &Object) -> Result<()> {
        check::check_group(&self.core.context, &self.node_path(path)?, attributes)
    }

    /// The keys that are stored as chunks of an array at `path` with this metadata, whether or not there is one,
    /// by one listing; none if the store cannot list.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn chunk_keys(
        &self,
        path: &NodePath,
        metadata: &ArrayMetadata,
    ) -> Result<Vec<StoreKey>> {
        leftovers::find_leftovers(&self.core.context, path, metadata, CreateMode::default()).await
    }

    /// The keys below the node at `path` that are no documents and no chunks of an array, sorted: files of the user, which
    /// [`Hierarchy::erase`] leaves. A name such as `7` is a chunk's only where an array may have it. No node need be at
    /// `path`; such names then count as chunks that an interrupted erase left.
    ///
    /// # Errors
    /// [`StoreError::NotCapable`] if the store cannot list.
    pub async fn foreign_keys(&self, path: impl AsRef<str>) -> Result<Vec<StoreKey>> {
        erase::foreign_keys(&self.core, &self.node_path(path)?).await
    }

    /// The keys that an interrupted erase of the node at `path` left: all below it that Zarr may have written,
    /// if there is no node. None if there is one, or the store cannot list.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn interrupted_keys(&self, path: impl AsRef<str>) -> Result<Vec<StoreKey>> {
        erase::interrupted_keys(&self.core, &self.node_path(path)?).await
    }

    /// As [`Hierarchy::tree`], for tools that show what they can: what the store could not read is not an error of the call, but
    /// returned beside the nodes, each with its error. A group among the nodes is there, too, if its members could not be listed.
    ///
    /// # Errors
    /// As [`Hierarchy::tree`], of the node itself.
    pub async fn tree_and_unreadable(
        &self,
        path: impl AsRef<str>,
    ) -> Result<(Vec<Child>, Vec<Unreadable>)> {
        list::tree_and_unreadable(&self.core, &self.node_path(path)?).await
    }

    /// As [`Group::children`], and those that the store could not read, each with its error.
    ///
    /// # Errors
    /// As [`Hierarchy::children`], of the node itself.
    pub async fn children_and_unreadable(
        &self,
        path: impl AsRef<str>,
    ) -> Result<(Vec<Child>, Vec<Unreadable>)> {
        list::children_and_unreadable(&self.core, &self.node_path(path)?).await
    }
}

impl Hierarchy {
    fn node_path(&self, path: impl AsRef<str>) -> Result<NodePath> {
        self.core.node_path(path.as_ref())
    }

    pub(super) fn handle(&self, node: NodeCore) -> Node {
        match node {
            NodeCore::Array(core) => Node::Array(self.array_of(core)),
            NodeCore::Group(core) => Node::Group(self.group_of(core)),
        }
    }

    pub(in crate::handles) fn array_of(&self, core: Arc<ArrayCore>) -> Array {
        Array { hierarchy: self.clone(), core }
    }

    pub(in crate::handles) fn group_of(&self, core: GroupCore) -> Group {
        Group { hierarchy: self.clone(), core }
    }
}

impl fmt::Debug for Hierarchy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("Hierarchy {}", self.format_name());
        text::debug_node(f, &name, &**self.store(), &NodePath::root(), None)
    }
}

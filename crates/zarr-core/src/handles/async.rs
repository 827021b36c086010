//! The same names for callers that wait.
//!
//! Planning, documents and codecs are those of the blocking handles; only the two loops over tiles are
//! written again. Fetches are in flight as many at a time as the store likes, (de)compression runs on
//! the pool. Handles own their memory: data go in and come out as vectors, so a dropped future leaves
//! nothing half-read behind, and nothing is stored before a chunk's final `set`.
//!
//! A future may be dropped at any time. Changes that have not begun are then not made; a change of a key that has begun is
//! finished, and later calls on that key wait for its end, so that it never lands after a later one. A call that
//! changes several keys stops between two of them.

use std::sync::Arc;

use super::context::HierarchyContext;
use super::options::OpenOptions;
use super::{ArrayBuilder, ArrayNode, Chunk, CreateMode, change_attributes, wrong_kind};
use crate::array::ArrayState;
use crate::dialect::{Dialect, Warning};
use crate::element::Element;
use crate::error::{AccessError, Error, Result};
use crate::format::{Child, Format};
use crate::grid::Pieces;
use crate::json::Object;
use crate::metadata::{ArrayMetadata, GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::region::Region;
use crate::selection::Selection;
use crate::store::{Store, guarded};

pub use crate::array::executor::elsewhere;

/// A tree of groups and arrays in a store that waits. See [`crate::Hierarchy`].
#[derive(Clone, Debug)]
pub struct Hierarchy {
    context: Arc<HierarchyContext>,
}

/// A group or an array. See [`crate::Node`].
#[derive(Clone, Debug)]
pub enum Node {
    /// An array.
    Array(Array),
    /// A group.
    Group(Group),
}

/// A group. See [`crate::Group`].
#[derive(Clone, Debug)]
pub struct Group {
    context: Arc<HierarchyContext>,
    path: NodePath,
    metadata: Arc<GroupMetadata>,
}

/// An array. See [`crate::Array`].
#[derive(Clone, Debug)]
pub struct Array {
    pub(super) core: ArrayNode,
}

impl Hierarchy {
    /// See [`crate::Hierarchy::open`].
    ///
    /// # Errors
    /// As there.
    pub async fn open(store: Arc<dyn Store>, options: &OpenOptions) -> Result<Hierarchy> {
        let name = store.name();
        match HierarchyContext::open(guarded(store), options, None).await? {
            Some((context, _)) => Ok(Hierarchy { context: Arc::new(context) }),
            None => {
                let looked_for =
                    "`zarr.json`, `.zarray`, `.zgroup`, `.zattrs`, `.zmetadata`".into();
                Err(Error::from(AccessError::NotFound { looked_for }).at_store(name))
            }
        }
    }

    /// See [`crate::Hierarchy::create`].
    ///
    /// # Errors
    /// As there.
    pub async fn create(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Result<Hierarchy> {
        let (name, store) = (store.name(), guarded(store));
        if HierarchyContext::probe(store.clone(), &options.clone().any_dialect()).await?.is_some() {
            return Err(Error::from(AccessError::Exists("a hierarchy")).at_store(name));
        }
        let context = HierarchyContext::new(store, format, options, Vec::new());
        context.create_entry_point().await.map_err(|e| e.at_store(name))?;
        if context.format.groups_are_explicit() {
            let root = NodeMetadata::Group(GroupMetadata::default());
            context.create(&NodePath::root(), &root, CreateMode::default()).await?;
        }
        Ok(Hierarchy { context: Arc::new(context) })
    }

    /// The same hierarchy as a blocking one, its store's calls made on other threads. Both share what they know:
    /// warnings, copies of documents.
    pub fn from_blocking(hierarchy: &crate::Hierarchy) -> Hierarchy {
        Hierarchy { context: hierarchy.context.clone() }
    }

    /// See [`crate::Hierarchy::locate`]; the store's calls are made on other threads.
    ///
    /// # Errors
    /// As there.
    pub async fn locate(url: &str, options: &OpenOptions) -> Result<(Hierarchy, NodePath)> {
        let (url, options) = (url.to_owned(), options.clone());
        let found = elsewhere(move || crate::Hierarchy::locate(&url, &options)).await?;
        Ok((Hierarchy::from_blocking(&found.0), found.1))
    }

    /// See [`crate::Hierarchy::open_node`]; the store's calls are made on other threads.
    ///
    /// # Errors
    /// As there.
    pub async fn open_node(url: &str, options: &OpenOptions) -> Result<Node> {
        let (url, options) = (url.to_owned(), options.clone());
        Ok(match elsewhere(move || crate::Hierarchy::open_node(&url, &options)).await? {
            crate::Node::Array(array) => Node::Array(Array::from_blocking(&array)),
            crate::Node::Group(group) => Node::Group(Group {
                context: group.hierarchy.context,
                path: group.path,
                metadata: group.metadata,
            }),
        })
    }

    /// The dialect of its documents.
    pub fn dialect(&self) -> Dialect {
        self.context.format.dialect()
    }

    /// What tolerant reading has overlooked so far.
    pub fn warnings(&self) -> Vec<Warning> {
        self.context.warnings.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// See [`crate::Hierarchy::node`].
    ///
    /// # Errors
    /// As there.
    pub async fn node(&self, path: &NodePath) -> Result<Node> {
        let metadata = self.context.node(path).await?;
        self.node_of(path, metadata)
    }

    pub(crate) fn node_of(&self, path: &NodePath, metadata: NodeMetadata) -> Result<Node> {
        Ok(match metadata {
            NodeMetadata::Array(metadata) => Node::Array(self.array_of(path, *metadata)?),
            NodeMetadata::Group(metadata) => Node::Group(self.group_of(path, metadata)),
        })
    }

    fn array_of(&self, path: &NodePath, metadata: ArrayMetadata) -> Result<Array> {
        Ok(Array { core: ArrayNode::new(self.context.clone(), path.clone(), metadata)? })
    }

    fn group_of(&self, path: &NodePath, metadata: GroupMetadata) -> Group {
        Group { context: self.context.clone(), path: path.clone(), metadata: Arc::new(metadata) }
    }

    /// See [`crate::Hierarchy::array`].
    ///
    /// # Errors
    /// As there.
    pub async fn array(&self, path: &NodePath) -> Result<Array> {
        self.node(path).await?.into_array()
    }

    /// See [`crate::Hierarchy::group`].
    ///
    /// # Errors
    /// As there.
    pub async fn group(&self, path: &NodePath) -> Result<Group> {
        match self.node(path).await? {
            Node::Group(group) => Ok(group),
            Node::Array(_) => Err(self.context.at(path, wrong_kind(NodeKind::Array))),
        }
    }

    /// See [`crate::Hierarchy::children`].
    ///
    /// # Errors
    /// As there.
    pub async fn children(&self, path: &NodePath) -> Result<Vec<Child>> {
        self.context.members(path).await
    }

    /// See [`crate::Hierarchy::tree`].
    ///
    /// # Errors
    /// As there.
    pub async fn tree(&self, path: &NodePath) -> Result<Vec<Child>> {
        self.context.tree(path).await
    }

    /// See [`crate::Hierarchy::nodes`].
    ///
    /// # Errors
    /// As there.
    pub async fn nodes(&self, path: &NodePath) -> Result<Vec<Node>> {
        let nodes = self.context.nodes(path).await?.into_iter();
        let opened = nodes.map(|(path, node)| (self.node_of(&path, node), path));
        Ok(opened.filter_map(|(node, path)| self.context.unless_broken(&path, node)).collect())
    }

    /// See [`crate::Hierarchy::create_group`].
    ///
    /// # Errors
    /// As there.
    pub async fn create_group(&self, path: &NodePath, attributes: Object) -> Result<Group> {
        let metadata = GroupMetadata { attributes, ..GroupMetadata::default() };
        let group = NodeMetadata::Group(metadata.clone());
        self.context.create(path, &group, CreateMode::default()).await?;
        Ok(self.group_of(path, metadata))
    }

    /// See [`crate::Hierarchy::create_array`].
    pub fn create_array(&self, path: &NodePath) -> ArrayBuilder<Hierarchy> {
        ArrayBuilder::new(self.clone(), self.context.clone(), path.clone())
    }

    /// See [`crate::Hierarchy::erase`].
    ///
    /// # Errors
    /// As there.
    pub async fn erase(&self, path: &NodePath) -> Result<()> {
        self.context.erase(path).await
    }

    /// See [`crate::Hierarchy::foreign_keys`].
    ///
    /// # Errors
    /// As there.
    pub async fn foreign_keys(&self, path: &NodePath) -> Result<Vec<crate::store::StoreKey>> {
        self.context.foreign_keys(path).await
    }

    /// See [`crate::Hierarchy::interrupted_keys`].
    ///
    /// # Errors
    /// As there.
    pub async fn interrupted_keys(&self, path: &NodePath) -> Result<Vec<crate::store::StoreKey>> {
        self.context.interrupted_keys(path).await
    }

    /// See [`crate::Hierarchy::flush`].
    ///
    /// # Errors
    /// As there.
    pub async fn flush(&self) -> Result<()> {
        self.context.flush().await
    }

    /// See [`crate::Hierarchy::consolidate`].
    ///
    /// # Errors
    /// As there.
    pub async fn consolidate(&self) -> Result<usize> {
        self.context.consolidate(&NodePath::root()).await
    }

    /// See [`crate::Hierarchy::is_consolidated`].
    ///
    /// # Errors
    /// As there.
    pub async fn is_consolidated(&self) -> Result<bool> {
        self.context.is_consolidated(&NodePath::root()).await
    }

    /// See [`crate::Hierarchy::remove_consolidated`].
    ///
    /// # Errors
    /// As there.
    pub async fn remove_consolidated(&self) -> Result<bool> {
        self.context.remove_consolidated().await
    }

    /// See [`crate::Hierarchy::check_consolidated`].
    ///
    /// # Errors
    /// As there.
    pub async fn check_consolidated(&self) -> Result<Vec<NodePath>> {
        self.context.check_consolidated().await
    }
}

impl Node {
    /// See [`crate::Node::into_array`].
    ///
    /// # Errors
    /// As there.
    pub fn into_array(self) -> Result<Array> {
        match self {
            Node::Array(array) => Ok(array),
            Node::Group(group) => Err(group.context.at(&group.path, wrong_kind(NodeKind::Group))),
        }
    }

    /// See [`crate::Node::into_group`].
    ///
    /// # Errors
    /// As there.
    pub fn into_group(self) -> Result<Group> {
        match self {
            Node::Group(group) => Ok(group),
            Node::Array(array) => Err(array.core.at(wrong_kind(NodeKind::Array))),
        }
    }
}

impl Group {
    /// Where it is.
    pub fn path(&self) -> &NodePath {
        &self.path
    }

    /// The user's attributes when it was opened.
    pub fn attributes(&self) -> &Object {
        &self.metadata.attributes
    }

    /// See [`crate::Group::consolidate`].
    ///
    /// # Errors
    /// As there.
    pub async fn consolidate(&self) -> Result<usize> {
        self.context.consolidate(&self.path).await
    }

    /// See [`crate::Group::is_consolidated`].
    ///
    /// # Errors
    /// As there.
    pub async fn is_consolidated(&self) -> Result<bool> {
        self.context.is_consolidated(&self.path).await
    }

    /// See [`crate::Group::children`].
    ///
    /// # Errors
    /// As there.
    pub async fn children(&self) -> Result<Vec<Child>> {
        self.context.children(&self.path).await
    }

    /// See [`crate::Group::array`].
    ///
    /// # Errors
    /// As there.
    pub async fn array(&self, path: &str) -> Result<Array> {
        let path = self.path.join(path).map_err(|e| self.context.at(&self.path, e))?;
        Hierarchy { context: self.context.clone() }.array(&path).await
    }

    /// See [`crate::Group::group`].
    ///
    /// # Errors
    /// As there.
    pub async fn group(&self, path: &str) -> Result<Group> {
        let path = self.path.join(path).map_err(|e| self.context.at(&self.path, e))?;
        Hierarchy { context: self.context.clone() }.group(&path).await
    }

    /// See [`crate::Group::update_attributes`].
    ///
    /// # Errors
    /// As there.
    pub async fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        change_attributes(&self.context, &self.path, NodeKind::Group, change).await
    }
}

impl Array {
    /// The same array as a blocking one: both share what they know of it.
    pub fn from_blocking(array: &crate::Array) -> Array {
        Array { core: array.core.clone() }
    }

    /// Where it is.
    pub fn path(&self) -> &NodePath {
        &self.core.path
    }

    /// See [`crate::Array::metadata`].
    pub fn metadata(&self) -> Arc<ArrayMetadata> {
        self.core.state().metadata.clone()
    }

    /// How many elements along each axis.
    pub fn shape(&self) -> Vec<u64> {
        self.metadata().shape.clone()
    }

    /// See [`crate::Array::pieces`].
    ///
    /// # Errors
    /// Those of the selection, as [`crate::Array::read`].
    pub fn pieces(&self, selection: impl Into<Selection>, max_bytes: u64) -> Result<Pieces> {
        self.core.pieces(selection, max_bytes)
    }

    /// See [`crate::Array::read`].
    ///
    /// # Errors
    /// As there.
    pub async fn read<T: Element>(&self, selection: impl Into<Selection>) -> Result<Vec<T>> {
        let (layout, selected) = self.core.prepare(selection)?;
        self.core.check_type::<T>(&layout)?;
        let elements = self.core.alloc_output::<T>(&selected.shape)?;
        let span = layout.span();
        let read = self.core.read_elements_async(layout, selected.part, span, elements);
        let (elements, result) = read.await;
        result.map(|()| elements)
    }

    /// Reads what is selected into memory that is handed over and comes back, whatever happens.
    ///
    /// # Errors
    /// As [`crate::Array::read_into`].
    pub async fn read_into<T: Element>(
        &self,
        selection: impl Into<Selection>,
        out: Vec<T>,
    ) -> (Vec<T>, Result<()>) {
        let prepared = self.core.prepare(selection).and_then(|(layout, selected)| {
            self.core.check_type::<T>(&layout)?;
            self.core.check_count(&selected.shape, out.len())?;
            Ok((layout, selected.part))
        });
        match prepared {
            Ok((layout, part)) => {
                let span = layout.span();
                self.core.read_elements_async(layout, part, span, out).await
            }
            Err(e) => (out, Err(e)),
        }
    }

    /// See [`crate::Array::read_bytes`].
    ///
    /// # Errors
    /// As there.
    pub async fn read_bytes(&self, selection: impl Into<Selection>) -> Result<Vec<u8>> {
        let (layout, selected) = self.core.prepare(selection)?;
        let span = layout.span();
        self.core.read_bytes_async(layout, selected.part, span).await
    }

    /// See [`crate::Array::write`]. The elements are taken, so that a dropped future needs nothing of
    /// its caller's.
    ///
    /// # Errors
    /// As there.
    pub async fn write<T: Element>(
        &self,
        selection: impl Into<Selection>,
        elements: Vec<T>,
    ) -> Result<()> {
        let (layout, selected) = self.core.prepare(selection)?;
        self.core.check_elements(&layout, &elements)?;
        self.core.check_count(&selected.shape, elements.len())?;
        self.core.check_still_there(&layout, &selected.part).await?;
        self.core.write_async(&layout, &selected.part, layout.span(), elements).await
    }

    async fn write_at<T: Element>(
        &self,
        state: &Arc<ArrayState>,
        place: &Region,
        elements: Vec<T>,
    ) -> Result<()> {
        let layout = state.layout()?;
        self.core.write_async(&layout, &place.into(), layout.span(), elements).await
    }

    /// See [`crate::Array::write_plan`].
    ///
    /// # Errors
    /// As there.
    pub fn write_plan(&self, region: impl Into<Selection>, parts: usize) -> Result<Vec<Region>> {
        self.core.write_plan(region, parts)
    }

    /// See [`crate::Array::chunk`].
    ///
    /// # Errors
    /// As there.
    pub fn chunk(&self, indices: &[u64]) -> Result<Chunk<Array>> {
        Chunk::new(self.clone(), &self.core, indices)
    }

    /// See [`crate::Array::chunks`].
    ///
    /// # Errors
    /// As there.
    pub fn chunks(
        &self,
        selection: impl Into<Selection>,
    ) -> Result<impl Iterator<Item = Chunk<Array>>> {
        let (layout, selected) = self.core.prepare(selection)?;
        Chunk::all(self.clone(), &self.core, &layout, &selected.part)
    }

    /// See [`crate::Array::append`]. A dropped future leaves the place that it took.
    ///
    /// # Errors
    /// As there.
    pub async fn append<T: Element>(&self, axis: usize, elements: Vec<T>) -> Result<u64> {
        self.core.check_elements(&self.core.state(), &elements)?;
        let (state, place) = self.core.grow(axis, elements.len()).await?;
        let start = place.intervals()[axis].start;
        match self.write_at(&state, &place, elements).await {
            Ok(()) => Ok(start),
            Err(e) => Err(self.core.give_back(axis, &place, e).await),
        }
    }

    /// See [`crate::Array::prepend`].
    ///
    /// # Errors
    /// As there.
    pub async fn prepend<T: Element>(&self, axis: usize, elements: Vec<T>) -> Result<()> {
        self.core.check_elements(&self.core.state(), &elements)?;
        let grown = self.core.grow_before(axis, elements.len()).await?;
        match self.write_at(&grown.state, &grown.place, elements).await {
            Ok(()) => Ok(()),
            Err(e) => Err(self.core.give_back_before(&grown, e).await),
        }
    }

    /// See [`crate::Array::refresh`].
    ///
    /// # Errors
    /// As there.
    pub async fn refresh(&self) -> Result<()> {
        self.core.refresh().await
    }

    /// See [`crate::Array::stored_chunks`].
    ///
    /// # Errors
    /// As there.
    pub async fn stored_chunks(&self) -> Result<u64> {
        self.core.stored_chunks().await
    }

    /// See [`crate::Array::stored_size`].
    ///
    /// # Errors
    /// As there.
    pub async fn stored_size(&self) -> Result<crate::StoredSize> {
        self.core.stored_size().await
    }

    /// See [`crate::Array::resize`].
    ///
    /// # Errors
    /// As there.
    pub async fn resize(&self, shape: &[u64]) -> Result<()> {
        self.core.resize(shape).await
    }

    /// See [`crate::Array::update_attributes`].
    ///
    /// # Errors
    /// As there.
    pub async fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        let context = &self.core.context;
        let before = self.core.state();
        let attributes = change_attributes(context, self.path(), NodeKind::Array, change).await?;
        self.core.set_attributes(&before, attributes.clone()).await?;
        Ok(attributes)
    }
}

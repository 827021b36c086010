//! The async handles: the same methods for async callers.
//!
//! Requests to remote stores are under way at the same time, as many as the store likes; (de)compression runs on the
//! pool. Calls of a local store run on other threads. Elements are handed over as vectors and come back, so a dropped
//! future leaves no memory half-read, and no chunk is stored before it is complete.
//!
//! A future may be dropped at any time. Changes that have not begun are then not made; a change of a key that has begun is
//! finished, and later calls on that key wait for its end, so that it never is stored after a later one. A call that
//! changes several keys stops between two of them.

use std::sync::Arc;

use bytes::Bytes;

use super::builder::ArrayBuilderOf;
use super::chunk::ChunkOf;
use super::common::handles;
use crate::array::transfer::Input;
use crate::array::untyped::Strided;
use crate::array::{ChunkPart, StoredSize, wrong_kind};
use crate::codec::CodecSpec;
use crate::data_type::{DataType, FillValue};
use crate::dialect::{Dialect, Era, Warning};
use crate::element::Element;
use crate::error::{AccessError, Result};
use crate::format::{Child, Format};
use crate::grid::Pieces;
use crate::hierarchy::{ArrayNode, GroupCore, HierarchyContext, NodeCore, OpenOptions};
use crate::json::Object;
use crate::metadata::{ArrayMetadata, GroupMetadata, NodeKind};
use crate::options::Options;
use crate::path::NodePath;
use crate::region::{Region, element_count};
use crate::registry::Registry;
use crate::selection::Selection;
use crate::store::{Store, StoreKey};
use crate::view::strided::StridedBuffer;
#[cfg(doc)]
use crate::{CodecError, MetadataError, StoreError};

handles!();

impl Hierarchy {
    /// The hierarchy that begins at a store's root.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if none does; for an entry point that is broken or not known.
    pub async fn open(store: Arc<dyn Store>, options: &OpenOptions) -> Result<Hierarchy> {
        HierarchyContext::at_root(store, options).await.map(|context| Hierarchy { context })
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
        HierarchyContext::create_whole(store, format, options)
            .await
            .map(|context| Hierarchy { context })
    }

    /// As [`Hierarchy::create`], but where groups are explicit without the root group: the caller is about to create the
    /// root node.
    ///
    /// # Errors
    /// As [`Hierarchy::create`].
    pub async fn begin(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Result<Hierarchy> {
        HierarchyContext::begin(store, format, options).await.map(|context| Hierarchy { context })
    }

    /// The hierarchy of a dialect at a URL or path, for reading and writing; a new one, as of [`Hierarchy::begin`], if there
    /// is none.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if there is one of another dialect; as [`Hierarchy::open`].
    pub async fn open_or_create(
        url: &str,
        dialect: Dialect,
        options: &OpenOptions,
    ) -> Result<Hierarchy> {
        HierarchyContext::open_or_create(url, dialect, options)
            .await
            .map(|context| Hierarchy { context })
    }

    /// The hierarchy that a URL or a path names, and the node in it: a store's root, or a node inside (decision 0121).
    ///
    /// # Errors
    /// [`AccessError::NotFound`] listing what was looked for; otherwise as [`Hierarchy::open`].
    pub async fn locate(url: &str, options: &OpenOptions) -> Result<(Hierarchy, NodePath)> {
        HierarchyContext::locate(url, options)
            .await
            .map(|(context, path, _)| (Hierarchy { context }, path))
    }

    /// The node that a URL or a path names. It takes fewer requests than [`Hierarchy::locate`] and then
    /// [`Hierarchy::node`]: documents that were read to find it are not read again.
    ///
    /// # Errors
    /// As those.
    pub async fn open_node(url: &str, options: &OpenOptions) -> Result<Node> {
        HierarchyContext::open_url(url, options)
            .await
            .map(|(context, node)| Hierarchy { context }.handle(node))
    }

    /// The node at `path`.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; for a document that breaks its specification.
    pub async fn node(&self, path: impl AsRef<str>) -> Result<Node> {
        self.context.open_node(&self.node_path(path)?).await.map(|node| self.handle(node))
    }

    /// The array at `path`.
    ///
    /// # Errors
    /// As [`Hierarchy::node`]; [`AccessError::NodeKind`] if it is a group.
    pub async fn array(&self, path: impl AsRef<str>) -> Result<Array> {
        self.context.open_array(&self.node_path(path)?).await.map(|core| self.array_of(core))
    }

    /// The group at `path`.
    ///
    /// # Errors
    /// As [`Hierarchy::node`]; [`AccessError::NodeKind`] if it is an array.
    pub async fn group(&self, path: impl AsRef<str>) -> Result<Group> {
        self.context.open_group(&self.node_path(path)?).await.map(|core| self.group_of(core))
    }

    /// The root group.
    ///
    /// # Errors
    /// As [`Hierarchy::group`].
    pub async fn root(&self) -> Result<Group> {
        self.context.open_group(&NodePath::root()).await.map(|core| self.group_of(core))
    }

    /// The children of the node at `path`, sorted; an array has none.
    ///
    /// # Errors
    /// As [`Hierarchy::node`]; [`StoreError::NotCapable`] if the store cannot list (D-161).
    pub async fn children(&self, path: impl AsRef<str>) -> Result<Vec<Child>> {
        self.context.children_of(&self.node_path(path)?).await
    }

    /// The node at `path` and all nodes below it, sorted by path.
    ///
    /// # Errors
    /// As [`Hierarchy::node`] and [`Hierarchy::children`].
    pub async fn tree(&self, path: impl AsRef<str>) -> Result<Vec<Child>> {
        self.context.tree(&self.node_path(path)?).await
    }

    /// The node and all below it, sorted by path and opened: each document is read once. Broken ones are noted as
    /// warnings and left out (T-35).
    ///
    /// # Errors
    /// As [`Hierarchy::tree`].
    pub async fn nodes(&self, path: impl AsRef<str>) -> Result<Vec<Node>> {
        self.context
            .open_nodes(&self.node_path(path)?)
            .await
            .map(|nodes| nodes.into_iter().map(|node| self.handle(node)).collect())
    }

    /// Creates a group, and those above it where the format has explicit groups.
    ///
    /// # Errors
    /// [`AccessError::Exists`]; [`AccessError::ReadOnly`]; [`AccessError::Argument`] for a name that no
    /// node may have.
    pub async fn create_group(&self, path: impl AsRef<str>, attributes: Object) -> Result<Group> {
        self.context
            .create_group(&self.node_path(path)?, attributes)
            .await
            .map(|core| self.group_of(core))
    }

    /// Erases the node at `path` with everything below it, also files that are not Zarr's:
    /// [`Hierarchy::foreign_keys`] lists them.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; [`AccessError::ReadOnly`].
    pub async fn erase(&self, path: impl AsRef<str>) -> Result<()> {
        self.context.erase(&self.node_path(path)?).await
    }

    /// The keys below the node at `path` that no format writes, sorted: files of the user, which
    /// [`Hierarchy::erase`] would erase, too. They are recognised by their names only; no node need be at `path`.
    ///
    /// # Errors
    /// [`StoreError::NotCapable`] if the store cannot list.
    pub async fn foreign_keys(&self, path: impl AsRef<str>) -> Result<Vec<StoreKey>> {
        self.context.foreign_keys(&self.node_path(path)?).await
    }

    /// The keys that an interrupted erase of the node at `path` left: all below it that Zarr may have written, if there
    /// is no node. None if there is one, or the store cannot list.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn interrupted_keys(&self, path: impl AsRef<str>) -> Result<Vec<StoreKey>> {
        self.context.interrupted_keys(&self.node_path(path)?).await
    }

    /// Makes written values visible to other readers, for stores that gather them until then, such as zip archives. The end
    /// of the last handle does so, too, but cannot report a failure.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn flush(&self) -> Result<()> {
        self.context.flush().await
    }

    /// Makes copies of all documents, so that readers need no others: `.zmetadata` in v2 (Z2-070), inline in
    /// the root group in v3 (F-013), where zarr-python 2.18 puts them in a draft (draft-v3.md 3.4). A change of a document
    /// through this crate changes its copy, too. Returns the number of nodes.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] for a v3 array at the root, and for a hierarchy
    /// whose documents are only in such copies; for a document that is broken;
    /// [`StoreError::NotCapable`] if the store cannot list.
    pub async fn consolidate(&self) -> Result<usize> {
        self.context.consolidate(&NodePath::root()).await
    }

    /// Whether there are copies of all documents, as [`Hierarchy::consolidate`] makes them.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn is_consolidated(&self) -> Result<bool> {
        self.context.is_consolidated(&NodePath::root()).await
    }

    /// Removes those copies; `false` if there were none.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] if the documents are only in the copies.
    pub async fn remove_consolidated(&self) -> Result<bool> {
        self.context.remove_consolidated().await
    }

    /// The nodes whose copies differ from their documents, sorted.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if there are no copies; for copies of a form that is not known.
    pub async fn check_consolidated(&self) -> Result<Vec<NodePath>> {
        self.context.check_consolidated().await
    }
}

impl Node {
    /// Changes the user's attributes; see [`Group::update_attributes`].
    ///
    /// # Errors
    /// As [`Group::update_attributes`].
    pub async fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        match self {
            Node::Array(array) => array.update_attributes(change).await,
            Node::Group(group) => group.update_attributes(change).await,
        }
    }
}

impl Group {
    /// Makes copies of the documents of this group and of all below it, for readers that open it by itself. Returns the
    /// number of nodes.
    ///
    /// # Errors
    /// As [`Hierarchy::consolidate`]; [`AccessError::Argument`] for a group of a draft that is not the root.
    pub async fn consolidate(&self) -> Result<usize> {
        self.hierarchy.context.consolidate(self.path()).await
    }

    /// Whether there are copies of these documents, as [`Group::consolidate`] makes them.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn is_consolidated(&self) -> Result<bool> {
        self.hierarchy.context.is_consolidated(self.path()).await
    }

    /// The node at `path`, from here.
    ///
    /// # Errors
    /// As [`Hierarchy::node`].
    pub async fn node(&self, path: impl AsRef<str>) -> Result<Node> {
        self.hierarchy.node(&self.below(path)?).await
    }

    /// The array at `path`, from here.
    ///
    /// # Errors
    /// As [`Hierarchy::array`].
    pub async fn array(&self, path: impl AsRef<str>) -> Result<Array> {
        self.hierarchy.array(&self.below(path)?).await
    }

    /// The group at `path`, from here.
    ///
    /// # Errors
    /// As [`Hierarchy::group`].
    pub async fn group(&self, path: impl AsRef<str>) -> Result<Group> {
        self.hierarchy.group(&self.below(path)?).await
    }

    /// Its children, sorted.
    ///
    /// # Errors
    /// As [`Hierarchy::children`].
    pub async fn children(&self) -> Result<Vec<Child>> {
        self.hierarchy.context.children(self.path()).await
    }

    /// Itself and all nodes below it, sorted by path.
    ///
    /// # Errors
    /// As [`Hierarchy::tree`].
    pub async fn tree(&self) -> Result<Vec<Child>> {
        self.hierarchy.tree(self.path()).await
    }

    /// Its children, sorted by path and opened, with kind, shape and data type: each document is read once. Broken ones
    /// are noted as warnings and left out.
    ///
    /// # Errors
    /// As [`Hierarchy::children`].
    pub async fn members(&self) -> Result<Vec<Node>> {
        let nodes = self.hierarchy.context.open_members(self.path()).await?;
        Ok(nodes.into_iter().map(|node| self.hierarchy.handle(node)).collect())
    }

    /// Itself and all nodes below it, sorted by path and opened.
    ///
    /// # Errors
    /// As [`Hierarchy::nodes`].
    pub async fn nodes(&self) -> Result<Vec<Node>> {
        self.hierarchy.nodes(self.path()).await
    }

    /// Creates a group at `path`, from here.
    ///
    /// # Errors
    /// As [`Hierarchy::create_group`].
    pub async fn create_group(&self, path: impl AsRef<str>) -> Result<Group> {
        self.hierarchy.create_group(&self.below(path)?, Object::new()).await
    }

    /// Erases the node at `path`, from here, with everything below it.
    ///
    /// # Errors
    /// As [`Hierarchy::erase`].
    pub async fn erase(&self, path: impl AsRef<str>) -> Result<()> {
        self.hierarchy.erase(&self.below(path)?).await
    }

    /// Changes the user's attributes: `change` is applied to what they are now, and again if another
    /// writer was faster, so that no change is lost. Returns what they are afterwards.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] for attributes that the format reserves.
    pub async fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        self.hierarchy.context.update_attributes(self.path(), NodeKind::Group, change).await
    }
}

impl Array {
    /// Reads the document again: others may have resized the array.
    ///
    /// # Errors
    /// As [`Hierarchy::array`].
    pub async fn refresh(&self) -> Result<()> {
        self.core.refresh().await
    }

    /// Reads what is selected.
    ///
    /// # Errors
    /// [`AccessError::ElementType`]; [`AccessError::OutOfBounds`], [`AccessError::Index`] and
    /// [`AccessError::Argument`] for the selection; [`AccessError::TooLarge`]; what the store or a codec
    /// reports.
    pub async fn read<T: Element>(&self, selection: impl Into<Selection>) -> Result<Vec<T>> {
        self.core.read_vec(None, selection.into()).await
    }

    /// Reads what is selected into memory that the caller hands over and gets back, whatever happens. It must have exactly
    /// the size of the selection.
    ///
    /// # Errors
    /// As [`Array::read`]; [`AccessError::Count`].
    pub async fn read_into<T: Element>(
        &self,
        selection: impl Into<Selection>,
        out: Vec<T>,
    ) -> (Vec<T>, Result<()>) {
        self.core.read_owned(selection.into(), out).await
    }

    /// Reads what is selected as bytes: native elements of any type in C order; variable-length elements
    /// each after their length, a little-endian number of four bytes.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub async fn read_bytes(&self, selection: impl Into<Selection>) -> Result<Vec<u8>> {
        self.core.read_native(None, selection.into()).await
    }

    /// Reads what is selected as bytes: little-endian elements in C order. Above an integer of fewer bits than its
    /// byte are zeros, as in stored ones (F-053).
    ///
    /// # Errors
    /// As [`Array::read`].
    pub async fn read_le_bytes(&self, selection: impl Into<Selection>) -> Result<Vec<u8>> {
        self.core.read_little_endian(selection.into()).await
    }

    /// Writes what is selected, after a look at the array's document: where another writer has shortened or erased the
    /// array since it was opened, that is an error, and nothing is written (not with the guard off). Parts of chunks are
    /// merged into what others write concurrently; no element is lost. Of elements for the same place the last one in C order
    /// stays. The elements are handed over, so that a dropped
    /// future needs nothing of its caller's.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`], [`AccessError::ElementType`], [`AccessError::Count`]; [`AccessError::NotFound`],
    /// [`AccessError::Replaced`] if the array is gone or another is in its place; those of
    /// [`Array::read`] for the selection; what the store or a codec reports.
    pub async fn write<T: Element>(
        &self,
        selection: impl Into<Selection>,
        elements: Vec<T>,
    ) -> Result<()> {
        self.core.write_typed(None, selection.into(), Input::Owned(elements)).await
    }

    /// Writes what is selected from bytes, as [`Array::read_bytes`] gives them.
    ///
    /// # Errors
    /// As [`Array::write`]; [`CodecError::Corrupt`] for bytes that are no elements of the type.
    pub async fn write_bytes(&self, selection: impl Into<Selection>, bytes: Vec<u8>) -> Result<()> {
        self.core.write_native(None, selection.into(), Input::Owned(bytes)).await
    }

    /// Writes what is selected from bytes: little-endian elements in C order.
    ///
    /// # Errors
    /// As [`Array::write_bytes`].
    pub async fn write_le_bytes(
        &self,
        selection: impl Into<Selection>,
        bytes: Vec<u8>,
    ) -> Result<()> {
        self.core.write_little_endian(selection.into(), Input::Owned(bytes)).await
    }

    /// Reads what is selected into memory of any strides, which the caller hands over and gets back, whatever happens:
    /// native elements of any type that has a fixed size. `out` has the shape of the selection, without the axes of single
    /// numbers.
    ///
    /// # Errors
    /// As [`Array::read`]; [`AccessError::Argument`] if `out` has another shape or element size, its elements overlap, or
    /// the array's have no fixed size: those are read by [`Array::read_bytes`] or as `String`.
    pub async fn read_view(
        &self,
        selection: impl Into<Selection>,
        out: StridedBuffer,
    ) -> (StridedBuffer, Result<()>) {
        self.core.read_view_owned(selection.into(), out).await
    }

    /// Reads parts of chunks, each to its place in memory of any strides, which the caller hands over and gets back: native elements of any type that has a fixed size.
    /// Returns for each part whether its chunk is stored; one that is not reads as the fill value. The shape of `out` is
    /// any; what no part is placed in stays as it is. Where places overlap, it has the elements of one of them.
    ///
    /// For callers that plan chunk by chunk. Others use [`Array::read_view`], which reads each chunk once.
    ///
    /// # Errors
    /// As [`Array::read_view`]; [`AccessError::Argument`] for a chunk that is not there, or a place of another shape than its
    /// elements.
    pub async fn read_chunks_into(
        &self,
        parts: &[ChunkPart],
        out: StridedBuffer,
    ) -> (StridedBuffer, Result<Vec<bool>>) {
        self.core.read_chunk_parts_owned(parts, out).await
    }

    /// Writes what is selected from memory of any strides: native elements of any type that has a fixed size. `elements`
    /// has the shape of the selection, without the axes of single numbers; where its stride is 0, an element is repeated.
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] as [`Array::read_view`]; [`CodecError::Corrupt`] for bytes that are
    /// no elements of the type.
    pub async fn write_view(
        &self,
        selection: impl Into<Selection>,
        elements: StridedBuffer,
    ) -> Result<()> {
        self.core.write_view(selection.into(), Strided::Owned(elements)).await
    }

    /// Writes one element, in native bytes, everywhere in a selection: in memory of a few chunks, however much is
    /// selected. Whole chunks of the fill value are erased, as by [`Array::write`]. An element of a string or bytes may
    /// have any length.
    ///
    /// # Errors
    /// As [`Array::write_view`].
    pub async fn write_fill(&self, selection: impl Into<Selection>, element: &[u8]) -> Result<()> {
        self.core.write_fill(selection.into(), element).await
    }

    /// Reads one field of the records that are selected; `e.x` is the field `x` of the field `e`. A field with
    /// a shape gives all its elements for each record, in C order.
    ///
    /// # Errors
    /// As [`Array::read`]; [`AccessError::Argument`] if there is no such field.
    pub async fn read_field<T: Element>(
        &self,
        field: &str,
        selection: impl Into<Selection>,
    ) -> Result<Vec<T>> {
        self.core.read_vec(Some(field), selection.into()).await
    }

    /// Reads one field as bytes: native elements of any type.
    ///
    /// # Errors
    /// As [`Array::read_field`].
    pub async fn read_field_bytes(
        &self,
        field: &str,
        selection: impl Into<Selection>,
    ) -> Result<Vec<u8>> {
        self.core.read_native(Some(field), selection.into()).await
    }

    /// Writes one field of the records that are selected. The other fields stay as they are, even if others write them
    /// concurrently (decision 0116).
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] if there is no such field.
    pub async fn write_field<T: Element>(
        &self,
        field: &str,
        selection: impl Into<Selection>,
        elements: Vec<T>,
    ) -> Result<()> {
        self.core.write_typed(Some(field), selection.into(), Input::Owned(elements)).await
    }

    /// Writes one field from bytes: native elements of any type.
    ///
    /// # Errors
    /// As [`Array::write_field`]; [`CodecError::Corrupt`] for bytes that are no such elements.
    pub async fn write_field_bytes(
        &self,
        field: &str,
        selection: impl Into<Selection>,
        bytes: Vec<u8>,
    ) -> Result<()> {
        self.core.write_native(Some(field), selection.into(), Input::Owned(bytes)).await
    }

    /// How many of its chunks are stored, or shards, where it has those: one listing. If there are none where some are
    /// expected, the chunk keys may be written otherwise than the document says.
    ///
    /// # Errors
    /// [`StoreError::NotCapable`] if the store cannot list; what the store reports.
    pub async fn stored_chunks(&self) -> Result<u64> {
        self.core.stored_chunks().await
    }

    /// As [`Array::stored_chunks`], and in how many bytes: one listing, and a look at each chunk.
    ///
    /// # Errors
    /// As [`Array::stored_chunks`].
    pub async fn stored_size(&self) -> Result<StoredSize> {
        self.core.stored_size().await
    }

    /// Gives the array a new shape. What is cut off is forgotten, inside edge chunks, too, unless
    /// [`Options::keep_cut_off`] is set; what is added reads as the fill value.
    ///
    /// # Errors
    /// [`AccessError::Rank`], [`AccessError::ReadOnly`]; what the store reports.
    pub async fn resize(&self, shape: &[u64]) -> Result<()> {
        self.core.resize(shape).await
    }

    /// As [`Array::resize`], to what `to` makes of the shape that the array has. `to` is called again whenever
    /// another writer was faster: so one that only lengthens never cuts off what others have appended concurrently.
    /// Returns the shape that the array had.
    ///
    /// # Errors
    /// Those of `to`; as [`Array::resize`].
    pub async fn reshape(
        &self,
        to: impl Fn(&[u64]) -> Result<Vec<u64>, AccessError>,
    ) -> Result<Vec<u64>> {
        self.core.reshape(to).await.map(|(_, old)| old)
    }

    /// Gives the axes other names: in final v3 the document's, else those that xarray looks for among the attributes.
    ///
    /// # Errors
    /// [`AccessError::Rank`] if there is not one for each axis; [`AccessError::ReadOnly`]; what the store reports.
    pub async fn rename_dimensions(&self, names: &[String]) -> Result<()> {
        self.core.rename_dimensions(names).await
    }

    /// Makes the array longer along `axis` and writes `elements` there, all in C order; returns the
    /// coordinate at which they begin. Concurrent appends all arrive, each in a separate place.
    ///
    /// The place is taken before the elements are stored. If they cannot be stored, the array gets the shape back
    /// that it had, unless others have appended concurrently (decision 0140). An append that is killed, or whose future
    /// is dropped, leaves the place: what was not stored reads as the fill value.
    ///
    /// # Errors
    /// [`AccessError::Count`] if the elements do not fill whole slices; otherwise as [`Array::write`].
    pub async fn append<T: Element>(&self, axis: usize, elements: Vec<T>) -> Result<u64> {
        self.core.append(axis, Input::Owned(elements)).await
    }

    /// As [`Array::append`], with native elements of any type that has a fixed size, in memory of any strides. Along all axes
    /// but `axis` it is as long as the array.
    ///
    /// # Errors
    /// As [`Array::append`]; [`AccessError::Argument`] for another shape or element size; as [`Array::write_view`].
    pub async fn append_view(&self, axis: usize, elements: StridedBuffer) -> Result<u64> {
        self.core.append_view(axis, Strided::Owned(elements)).await
    }

    /// Makes the array longer before its first element along `axis`, and writes `elements` there, all in C
    /// order: what had coordinate 0 has the coordinate after them. No stored element moves. Only a chunk
    /// grid that reaches before its origin can do so; those are extensions.
    ///
    /// As with [`Array::append`] the place is taken before the elements are stored, and given back if they cannot be,
    /// unless others have changed the array's shape or grid concurrently. A prepend that is killed, or whose future is
    /// dropped, leaves the place: what was not stored reads as the fill value.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for another grid; otherwise as [`Array::append`].
    pub async fn prepend<T: Element>(&self, axis: usize, elements: Vec<T>) -> Result<()> {
        self.core.prepend(axis, Input::Owned(elements)).await
    }

    /// Changes the user's attributes; see [`Group::update_attributes`].
    ///
    /// # Errors
    /// As [`Group::update_attributes`].
    pub async fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        self.core.update_attributes(change).await
    }

    #[cfg(feature = "ndarray")]
    /// Reads what is selected as an `ndarray` array of the selection's shape.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub async fn read_ndarray<T: Element>(
        &self,
        selection: impl Into<Selection>,
    ) -> Result<ndarray::ArrayD<T>> {
        self.core.read_ndarray(selection.into()).await
    }

    #[cfg(feature = "ndarray")]
    /// Writes what is selected from an `ndarray` array of the selection's shape, in any memory order.
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] if the shapes differ.
    pub async fn write_ndarray<T: Element, D: ndarray::Dimension>(
        &self,
        selection: impl Into<Selection>,
        elements: ndarray::Array<T, D>,
    ) -> Result<()> {
        let shape: Vec<u64> = elements.shape().iter().map(|&n| n as u64).collect();
        let elements = in_c_order(elements);
        self.core.write_shaped(selection.into(), &shape, Input::Owned(elements)).await
    }
}

/// One chunk of an array. See [`ChunkOf`].
pub type Chunk = ChunkOf<Array>;

impl Chunk {
    /// Reads its elements.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub async fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.array().read(self.region()).await
    }

    /// Writes all its elements.
    ///
    /// # Errors
    /// As [`Array::write`].
    pub async fn write<T: Element>(&mut self, elements: Vec<T>) -> Result<()> {
        self.array().write(self.region(), elements).await
    }

    /// Its bytes as they are stored; `None` if it is not.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn encoded(&self) -> Result<Option<Bytes>> {
        self.get_encoded().await
    }

    /// Erases it: its elements are fill from then on.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; what the store reports.
    pub async fn erase(&mut self) -> Result<()> {
        self.remove().await
    }
}

/// An array that is about to be created. See [`ArrayBuilderOf`].
pub type ArrayBuilder = ArrayBuilderOf<Hierarchy>;

impl ArrayBuilder {
    /// Creates the array.
    ///
    /// # Errors
    /// [`AccessError::Exists`], [`AccessError::ReadOnly`]; [`AccessError::Argument`] for a wrong or missing
    /// property; [`MetadataError::CannotRepresent`] for what the format cannot represent;
    /// [`StoreError::NotCapable`] where chunks are to be purged and the store cannot list.
    pub async fn create(self) -> Result<Array> {
        self.build().await.map(|(hierarchy, core)| hierarchy.array_of(core))
    }
}

/// The elements of an array in C order.
#[cfg(feature = "ndarray")]
fn in_c_order<T: Clone, D: ndarray::Dimension>(elements: ndarray::Array<T, D>) -> Vec<T> {
    if !elements.is_standard_layout() {
        return elements.iter().cloned().collect();
    }
    let count = elements.len();
    let (mut memory, first) = elements.into_raw_vec_and_offset();
    memory.drain(..first.unwrap_or(0));
    memory.truncate(count);
    memory
}

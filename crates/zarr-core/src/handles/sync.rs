//! The blocking handles: each call returns when it is done.

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
use crate::store::{Store, StoreKey, block_on};
use crate::view::{View, ViewMut};
#[cfg(doc)]
use crate::{CodecError, MetadataError, StoreError};

handles!();

impl Hierarchy {
    /// The hierarchy that begins at a store's root.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if none does; for an entry point that is broken or not known.
    pub fn open(store: Arc<dyn Store>, options: &OpenOptions) -> Result<Hierarchy> {
        block_on(HierarchyContext::at_root(store, options)).map(|context| Hierarchy { context })
    }

    /// A new hierarchy of this format at a store's root. It has only its root group.
    ///
    /// # Errors
    /// [`AccessError::Exists`] if there is a hierarchy.
    pub fn create(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Result<Hierarchy> {
        block_on(HierarchyContext::create_whole(store, format, options))
            .map(|context| Hierarchy { context })
    }

    /// As [`Hierarchy::create`], but where groups are explicit without the root group: the caller is about to create the
    /// root node.
    ///
    /// # Errors
    /// As [`Hierarchy::create`].
    pub fn begin(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Result<Hierarchy> {
        block_on(HierarchyContext::begin(store, format, options))
            .map(|context| Hierarchy { context })
    }

    /// The hierarchy of a dialect at a URL or path, for reading and writing; a new one, as of [`Hierarchy::begin`], if there
    /// is none.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if there is one of another dialect; as [`Hierarchy::open`].
    pub fn open_or_create(url: &str, dialect: Dialect, options: &OpenOptions) -> Result<Hierarchy> {
        block_on(HierarchyContext::open_or_create(url, dialect, options))
            .map(|context| Hierarchy { context })
    }

    /// The hierarchy that a URL or a path names, and the node in it: a store's root, or a node inside (decision 0121).
    ///
    /// # Errors
    /// [`AccessError::NotFound`] listing what was looked for; otherwise as [`Hierarchy::open`].
    pub fn locate(url: &str, options: &OpenOptions) -> Result<(Hierarchy, NodePath)> {
        block_on(HierarchyContext::locate(url, options))
            .map(|(context, path, _)| (Hierarchy { context }, path))
    }

    /// The node that a URL or a path names. It takes fewer requests than [`Hierarchy::locate`] and then
    /// [`Hierarchy::node`]: documents that were read to find it are not read again.
    ///
    /// # Errors
    /// As those.
    pub fn open_node(url: &str, options: &OpenOptions) -> Result<Node> {
        block_on(HierarchyContext::open_url(url, options))
            .map(|(context, node)| Hierarchy { context }.handle(node))
    }

    /// The node at `path`.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; for a document that breaks its specification.
    pub fn node(&self, path: impl AsRef<str>) -> Result<Node> {
        block_on(self.context.open_node(&self.node_path(path)?)).map(|node| self.handle(node))
    }

    /// The array at `path`.
    ///
    /// # Errors
    /// As [`Hierarchy::node`]; [`AccessError::NodeKind`] if it is a group.
    pub fn array(&self, path: impl AsRef<str>) -> Result<Array> {
        block_on(self.context.open_array(&self.node_path(path)?)).map(|core| self.array_of(core))
    }

    /// The group at `path`.
    ///
    /// # Errors
    /// As [`Hierarchy::node`]; [`AccessError::NodeKind`] if it is an array.
    pub fn group(&self, path: impl AsRef<str>) -> Result<Group> {
        block_on(self.context.open_group(&self.node_path(path)?)).map(|core| self.group_of(core))
    }

    /// The root group.
    ///
    /// # Errors
    /// As [`Hierarchy::group`].
    pub fn root(&self) -> Result<Group> {
        block_on(self.context.open_group(&NodePath::root())).map(|core| self.group_of(core))
    }

    /// The children of the node at `path`, sorted; an array has none.
    ///
    /// # Errors
    /// As [`Hierarchy::node`]; [`StoreError::NotCapable`] if the store cannot list (D-161).
    pub fn children(&self, path: impl AsRef<str>) -> Result<Vec<Child>> {
        block_on(self.context.children_of(&self.node_path(path)?))
    }

    /// The node at `path` and all nodes below it, sorted by path.
    ///
    /// # Errors
    /// As [`Hierarchy::node`] and [`Hierarchy::children`].
    pub fn tree(&self, path: impl AsRef<str>) -> Result<Vec<Child>> {
        block_on(self.context.tree(&self.node_path(path)?))
    }

    /// The node and all below it, sorted by path and opened: each document is read once. Broken ones are noted as
    /// warnings and left out (T-35).
    ///
    /// # Errors
    /// As [`Hierarchy::tree`].
    pub fn nodes(&self, path: impl AsRef<str>) -> Result<Vec<Node>> {
        block_on(self.context.open_nodes(&self.node_path(path)?))
            .map(|nodes| nodes.into_iter().map(|node| self.handle(node)).collect())
    }

    /// Creates a group, and those above it where the format has explicit groups.
    ///
    /// # Errors
    /// [`AccessError::Exists`]; [`AccessError::ReadOnly`]; [`AccessError::Argument`] for a name that no
    /// node may have.
    pub fn create_group(&self, path: impl AsRef<str>, attributes: Object) -> Result<Group> {
        block_on(self.context.create_group(&self.node_path(path)?, attributes))
            .map(|core| self.group_of(core))
    }

    /// Erases the node at `path` with everything below it, also files that are not Zarr's:
    /// [`Hierarchy::foreign_keys`] lists them.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; [`AccessError::ReadOnly`].
    pub fn erase(&self, path: impl AsRef<str>) -> Result<()> {
        block_on(self.context.erase(&self.node_path(path)?))
    }

    /// The keys below the node at `path` that no format writes, sorted: files of the user, which
    /// [`Hierarchy::erase`] would erase, too. They are recognised by their names only; no node need be at `path`.
    ///
    /// # Errors
    /// [`StoreError::NotCapable`] if the store cannot list.
    pub fn foreign_keys(&self, path: impl AsRef<str>) -> Result<Vec<StoreKey>> {
        block_on(self.context.foreign_keys(&self.node_path(path)?))
    }

    /// The keys that an interrupted erase of the node at `path` left: all below it that Zarr may have written, if there
    /// is no node. None if there is one, or the store cannot list.
    ///
    /// # Errors
    /// What the store reports.
    pub fn interrupted_keys(&self, path: impl AsRef<str>) -> Result<Vec<StoreKey>> {
        block_on(self.context.interrupted_keys(&self.node_path(path)?))
    }

    /// Makes written values visible to other readers, for stores that gather them until then, such as zip archives. The end
    /// of the last handle does so, too, but cannot report a failure.
    ///
    /// # Errors
    /// What the store reports.
    pub fn flush(&self) -> Result<()> {
        block_on(self.context.flush())
    }

    /// Makes copies of all documents, so that readers need no others: `.zmetadata` in v2 (Z2-070), inline in
    /// the root group in v3 (F-013), where zarr-python 2.18 puts them in a draft (draft-v3.md 3.4). A change of a document
    /// through this crate changes its copy, too. Returns the number of nodes.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] for a v3 array at the root, and for a hierarchy
    /// whose documents are only in such copies; for a document that is broken;
    /// [`StoreError::NotCapable`] if the store cannot list.
    pub fn consolidate(&self) -> Result<usize> {
        block_on(self.context.consolidate(&NodePath::root()))
    }

    /// Whether there are copies of all documents, as [`Hierarchy::consolidate`] makes them.
    ///
    /// # Errors
    /// What the store reports.
    pub fn is_consolidated(&self) -> Result<bool> {
        block_on(self.context.is_consolidated(&NodePath::root()))
    }

    /// Removes those copies; `false` if there were none.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] if the documents are only in the copies.
    pub fn remove_consolidated(&self) -> Result<bool> {
        block_on(self.context.remove_consolidated())
    }

    /// The nodes whose copies differ from their documents, sorted.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if there are no copies; for copies of a form that is not known.
    pub fn check_consolidated(&self) -> Result<Vec<NodePath>> {
        block_on(self.context.check_consolidated())
    }
}

impl Node {
    /// Changes the user's attributes; see [`Group::update_attributes`].
    ///
    /// # Errors
    /// As [`Group::update_attributes`].
    pub fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        match self {
            Node::Array(array) => array.update_attributes(change),
            Node::Group(group) => group.update_attributes(change),
        }
    }
}

impl Group {
    /// Makes copies of the documents of this group and of all below it, for readers that open it by itself. Returns the
    /// number of nodes.
    ///
    /// # Errors
    /// As [`Hierarchy::consolidate`]; [`AccessError::Argument`] for a group of a draft that is not the root.
    pub fn consolidate(&self) -> Result<usize> {
        block_on(self.hierarchy.context.consolidate(self.path()))
    }

    /// Whether there are copies of these documents, as [`Group::consolidate`] makes them.
    ///
    /// # Errors
    /// What the store reports.
    pub fn is_consolidated(&self) -> Result<bool> {
        block_on(self.hierarchy.context.is_consolidated(self.path()))
    }

    /// The node at `path`, from here.
    ///
    /// # Errors
    /// As [`Hierarchy::node`].
    pub fn node(&self, path: impl AsRef<str>) -> Result<Node> {
        self.hierarchy.node(&self.below(path)?)
    }

    /// The array at `path`, from here.
    ///
    /// # Errors
    /// As [`Hierarchy::array`].
    pub fn array(&self, path: impl AsRef<str>) -> Result<Array> {
        self.hierarchy.array(&self.below(path)?)
    }

    /// The group at `path`, from here.
    ///
    /// # Errors
    /// As [`Hierarchy::group`].
    pub fn group(&self, path: impl AsRef<str>) -> Result<Group> {
        self.hierarchy.group(&self.below(path)?)
    }

    /// Its children, sorted.
    ///
    /// # Errors
    /// As [`Hierarchy::children`].
    pub fn children(&self) -> Result<Vec<Child>> {
        block_on(self.hierarchy.context.children(self.path()))
    }

    /// Itself and all nodes below it, sorted by path.
    ///
    /// # Errors
    /// As [`Hierarchy::tree`].
    pub fn tree(&self) -> Result<Vec<Child>> {
        self.hierarchy.tree(self.path())
    }

    /// Its children, sorted by path and opened, with kind, shape and data type: each document is read once. Broken ones
    /// are noted as warnings and left out.
    ///
    /// # Errors
    /// As [`Hierarchy::children`].
    pub fn members(&self) -> Result<Vec<Node>> {
        block_on(self.hierarchy.context.open_members(self.path()))
            .map(|nodes| nodes.into_iter().map(|node| self.hierarchy.handle(node)).collect())
    }

    /// Itself and all nodes below it, sorted by path and opened.
    ///
    /// # Errors
    /// As [`Hierarchy::nodes`].
    pub fn nodes(&self) -> Result<Vec<Node>> {
        self.hierarchy.nodes(self.path())
    }

    /// Creates a group at `path`, from here.
    ///
    /// # Errors
    /// As [`Hierarchy::create_group`].
    pub fn create_group(&self, path: impl AsRef<str>) -> Result<Group> {
        self.hierarchy.create_group(&self.below(path)?, Object::new())
    }

    /// Erases the node at `path`, from here, with everything below it.
    ///
    /// # Errors
    /// As [`Hierarchy::erase`].
    pub fn erase(&self, path: impl AsRef<str>) -> Result<()> {
        self.hierarchy.erase(&self.below(path)?)
    }

    /// Changes the user's attributes: `change` is applied to what they are now, and again if another
    /// writer was faster, so that no change is lost. Returns what they are afterwards.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] for attributes that the format reserves.
    pub fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        block_on(self.hierarchy.context.update_attributes(self.path(), NodeKind::Group, change))
    }
}

impl Array {
    /// Reads the document again: others may have resized the array.
    ///
    /// # Errors
    /// As [`Hierarchy::array`].
    pub fn refresh(&self) -> Result<()> {
        block_on(self.core.refresh())
    }

    /// Reads what is selected.
    ///
    /// # Errors
    /// [`AccessError::ElementType`]; [`AccessError::OutOfBounds`], [`AccessError::Index`] and
    /// [`AccessError::Argument`] for the selection; [`AccessError::TooLarge`]; what the store or a codec
    /// reports.
    pub fn read<T: Element>(&self, selection: impl Into<Selection>) -> Result<Vec<T>> {
        block_on(self.core.read_vec(None, selection.into()))
    }

    /// Reads what is selected into memory of the caller's, which must have exactly its size.
    ///
    /// # Errors
    /// As [`Array::read`]; [`AccessError::Count`].
    pub fn read_into<T: Element>(
        &self,
        selection: impl Into<Selection>,
        out: &mut [T],
    ) -> Result<()> {
        block_on(self.core.read_into(selection.into(), out))
    }

    /// Reads what is selected as bytes: native elements of any type in C order; variable-length elements
    /// each after their length, a little-endian number of four bytes.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read_bytes(&self, selection: impl Into<Selection>) -> Result<Vec<u8>> {
        block_on(self.core.read_native(None, selection.into()))
    }

    /// Reads what is selected as bytes: little-endian elements in C order. Above an integer of fewer bits than its
    /// byte are zeros, as in stored ones (F-053).
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read_le_bytes(&self, selection: impl Into<Selection>) -> Result<Vec<u8>> {
        block_on(self.core.read_little_endian(selection.into()))
    }

    /// Writes what is selected, after a look at the array's document: where another writer has shortened or erased the
    /// array since it was opened, that is an error, and nothing is written (not with the guard off). Parts of chunks are
    /// merged into what others write concurrently; no element is lost. Of elements for the same place the last one in C order
    /// stays.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`], [`AccessError::ElementType`], [`AccessError::Count`]; [`AccessError::NotFound`],
    /// [`AccessError::Replaced`] if the array is gone or another is in its place; those of
    /// [`Array::read`] for the selection; what the store or a codec reports.
    pub fn write<T: Element>(&self, selection: impl Into<Selection>, elements: &[T]) -> Result<()> {
        block_on(self.core.write_typed(None, selection.into(), Input::Lent(elements)))
    }

    /// Writes what is selected from bytes, as [`Array::read_bytes`] gives them.
    ///
    /// # Errors
    /// As [`Array::write`]; [`CodecError::Corrupt`] for bytes that are no elements of the type.
    pub fn write_bytes(&self, selection: impl Into<Selection>, bytes: &[u8]) -> Result<()> {
        block_on(self.core.write_native(None, selection.into(), Input::Lent(bytes)))
    }

    /// Writes what is selected from bytes: little-endian elements in C order.
    ///
    /// # Errors
    /// As [`Array::write_bytes`].
    pub fn write_le_bytes(&self, selection: impl Into<Selection>, bytes: &[u8]) -> Result<()> {
        block_on(self.core.write_little_endian(selection.into(), Input::Lent(bytes)))
    }

    /// Reads what is selected into memory of any strides: native elements of any type that has a fixed size. `out` has the
    /// shape of the selection, without the axes of single numbers. Chunks are decoded straight into it.
    ///
    /// After an error, `out` may have some of the elements.
    ///
    /// ```
    /// # use zarr_core::ViewMut;
    /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
    /// // Two rows of three 4-byte elements in Fortran order.
    /// let mut memory = [0; 24];
    /// let out = ViewMut::strided(&mut memory, 0, &[2, 3], &[4, 8], 4)?;
    /// array.read_view((0..2, 0..3), out)
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Array::read`]; [`AccessError::Argument`] if `out` has another shape or element size, or elements have no fixed
    /// size: those are read by [`Array::read_bytes`] or as `String`.
    pub fn read_view(&self, selection: impl Into<Selection>, out: ViewMut<'_>) -> Result<()> {
        block_on(self.core.read_view(selection.into(), out))
    }

    /// Reads parts of chunks, each to its place in memory of any strides: native elements of any type that has a fixed size.
    /// Returns for each part whether its chunk is stored; one that is not reads as the fill value. The shape of `out` is
    /// any; what no part is placed in stays as it is. Where places overlap, it has the elements of one of them.
    ///
    /// For callers that plan chunk by chunk. Others use [`Array::read_view`], which reads each chunk once.
    ///
    /// ```
    /// # use zarr_core::{ChunkPart, ViewMut};
    /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
    /// let mut memory = [0; 4];
    /// let part = |chunk: u64, place: u64| ChunkPart {
    ///     chunk: vec![chunk],
    ///     within: (0..2).into(),
    ///     place: (place..place + 2).into(),
    /// };
    /// // The first two bytes of chunks 7 and 5.
    /// let out = ViewMut::new(&mut memory, &[4], 1);
    /// let stored = array.read_chunks_into(&[part(7, 0), part(5, 2)], out)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Array::read_view`]; [`AccessError::Argument`] for a chunk that is not there, or a place of another shape than its
    /// elements.
    pub fn read_chunks_into(&self, parts: &[ChunkPart], out: ViewMut<'_>) -> Result<Vec<bool>> {
        block_on(self.core.read_chunk_parts(parts, out))
    }

    /// Writes what is selected from memory of any strides: native elements of any type that has a fixed size. `elements`
    /// has the shape of the selection, without the axes of single numbers; where its stride is 0, an element is repeated.
    ///
    /// ```
    /// # use zarr_core::View;
    /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
    /// // The same row of three bytes, a thousand times.
    /// array.write_view((..1000, ..3), View::strided(&[1, 2, 3], 0, &[1000, 3], &[0, 1], 1)?)
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] as [`Array::read_view`]; [`CodecError::Corrupt`] for bytes that are
    /// no elements of the type.
    pub fn write_view(&self, selection: impl Into<Selection>, elements: View<'_>) -> Result<()> {
        block_on(self.core.write_view(selection.into(), Strided::Lent(elements)))
    }

    /// Writes one element, in native bytes, everywhere in a selection: in memory of a few chunks, however much is
    /// selected. Whole chunks of the fill value are erased, as by [`Array::write`]. An element of a string or bytes may
    /// have any length.
    ///
    /// ```
    /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
    /// array.write_fill(.., &0f64.to_ne_bytes())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Array::write_view`].
    pub fn write_fill(&self, selection: impl Into<Selection>, element: &[u8]) -> Result<()> {
        block_on(self.core.write_fill(selection.into(), element))
    }

    /// Reads one field of the records that are selected; `e.x` is the field `x` of the field `e`. A field with
    /// a shape gives all its elements for each record, in C order. Whole records are decoded, and the field is copied out of them.
    ///
    /// ```
    /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
    /// let heights = array.read_field::<f64>("height", 10..20)?;
    /// array.write_field("height", 10..20, &heights)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Array::read`]; [`AccessError::Argument`] if there is no such field.
    pub fn read_field<T: Element>(
        &self,
        field: &str,
        selection: impl Into<Selection>,
    ) -> Result<Vec<T>> {
        block_on(self.core.read_vec(Some(field), selection.into()))
    }

    /// Reads one field as bytes: native elements of any type.
    ///
    /// # Errors
    /// As [`Array::read_field`].
    pub fn read_field_bytes(
        &self,
        field: &str,
        selection: impl Into<Selection>,
    ) -> Result<Vec<u8>> {
        block_on(self.core.read_native(Some(field), selection.into()))
    }

    /// Writes one field of the records that are selected. The other fields stay as they are, even if others write them
    /// concurrently (decision 0116).
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] if there is no such field.
    pub fn write_field<T: Element>(
        &self,
        field: &str,
        selection: impl Into<Selection>,
        elements: &[T],
    ) -> Result<()> {
        block_on(self.core.write_typed(Some(field), selection.into(), Input::Lent(elements)))
    }

    /// Writes one field from bytes: native elements of any type.
    ///
    /// # Errors
    /// As [`Array::write_field`]; [`CodecError::Corrupt`] for bytes that are no such elements.
    pub fn write_field_bytes(
        &self,
        field: &str,
        selection: impl Into<Selection>,
        bytes: &[u8],
    ) -> Result<()> {
        block_on(self.core.write_native(Some(field), selection.into(), Input::Lent(bytes)))
    }

    /// How many of its chunks are stored, or shards, where it has those: one listing. If there are none where some are
    /// expected, the chunk keys may be written otherwise than the document says.
    ///
    /// # Errors
    /// [`StoreError::NotCapable`] if the store cannot list; what the store reports.
    pub fn stored_chunks(&self) -> Result<u64> {
        block_on(self.core.stored_chunks())
    }

    /// As [`Array::stored_chunks`], and in how many bytes: one listing, and a look at each chunk.
    ///
    /// # Errors
    /// As [`Array::stored_chunks`].
    pub fn stored_size(&self) -> Result<StoredSize> {
        block_on(self.core.stored_size())
    }

    /// Gives the array a new shape. What is cut off is forgotten, inside edge chunks, too, unless
    /// [`Options::keep_cut_off`] is set; what is added reads as the fill value.
    ///
    /// # Errors
    /// [`AccessError::Rank`], [`AccessError::ReadOnly`]; what the store reports.
    pub fn resize(&self, shape: &[u64]) -> Result<()> {
        block_on(self.core.resize(shape))
    }

    /// As [`Array::resize`], to what `to` makes of the shape that the array has. `to` is called again whenever
    /// another writer was faster: so one that only lengthens never cuts off what others have appended concurrently.
    /// Returns the shape that the array had.
    ///
    /// # Errors
    /// Those of `to`; as [`Array::resize`].
    pub fn reshape(
        &self,
        to: impl Fn(&[u64]) -> Result<Vec<u64>, AccessError>,
    ) -> Result<Vec<u64>> {
        block_on(self.core.reshape(to)).map(|(_, old)| old)
    }

    /// Gives the axes other names: in final v3 the document's, else those that xarray looks for among the attributes.
    ///
    /// # Errors
    /// [`AccessError::Rank`] if there is not one for each axis; [`AccessError::ReadOnly`]; what the store reports.
    pub fn rename_dimensions(&self, names: &[String]) -> Result<()> {
        block_on(self.core.rename_dimensions(names))
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
    pub fn append<T: Element>(&self, axis: usize, elements: &[T]) -> Result<u64> {
        block_on(self.core.append(axis, Input::Lent(elements)))
    }

    /// As [`Array::append`], with native elements of any type that has a fixed size, in memory of any strides. Along all axes
    /// but `axis` it is as long as the array.
    ///
    /// # Errors
    /// As [`Array::append`]; [`AccessError::Argument`] for another shape or element size; as [`Array::write_view`].
    pub fn append_view(&self, axis: usize, elements: View<'_>) -> Result<u64> {
        block_on(self.core.append_view(axis, Strided::Lent(elements)))
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
    pub fn prepend<T: Element>(&self, axis: usize, elements: &[T]) -> Result<()> {
        block_on(self.core.prepend(axis, Input::Lent(elements)))
    }

    /// Changes the user's attributes; see [`Group::update_attributes`].
    ///
    /// # Errors
    /// As [`Group::update_attributes`].
    pub fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        block_on(self.core.update_attributes(change))
    }

    #[cfg(feature = "ndarray")]
    /// Reads what is selected as an `ndarray` array of the selection's shape.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read_ndarray<T: Element>(
        &self,
        selection: impl Into<Selection>,
    ) -> Result<ndarray::ArrayD<T>> {
        block_on(self.core.read_ndarray(selection.into()))
    }

    #[cfg(feature = "ndarray")]
    /// Writes what is selected from an `ndarray` array of the selection's shape, in any memory order.
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] if the shapes differ.
    pub fn write_ndarray<T: Element, D: ndarray::Dimension>(
        &self,
        selection: impl Into<Selection>,
        elements: ndarray::ArrayView<'_, T, D>,
    ) -> Result<()> {
        let shape: Vec<u64> = elements.shape().iter().map(|&n| n as u64).collect();
        let copy: Vec<T>;
        let elements = match elements.as_slice() {
            Some(elements) => elements,
            None => {
                copy = elements.iter().cloned().collect();
                &copy
            }
        };
        block_on(self.core.write_shaped(selection.into(), &shape, Input::Lent(elements)))
    }
}

/// One chunk of an array. See [`ChunkOf`].
pub type Chunk = ChunkOf<Array>;

impl Chunk {
    /// Reads its elements.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.array().read(self.region())
    }

    /// Writes all its elements.
    ///
    /// # Errors
    /// As [`Array::write`].
    pub fn write<T: Element>(&mut self, elements: &[T]) -> Result<()> {
        self.array().write(self.region(), elements)
    }

    /// Its bytes as they are stored; `None` if it is not.
    ///
    /// # Errors
    /// What the store reports.
    pub fn encoded(&self) -> Result<Option<Bytes>> {
        block_on(self.get_encoded())
    }

    /// Erases it: its elements are fill from then on.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; what the store reports.
    pub fn erase(&mut self) -> Result<()> {
        block_on(self.remove())
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
    pub fn create(self) -> Result<Array> {
        block_on(self.build()).map(|(hierarchy, core)| hierarchy.array_of(core))
    }
}

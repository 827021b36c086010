//! The handles' types and those of their methods that wait for nothing, once for both faces.

/// Imports what both faces name, and defines [`Hierarchy`](crate::Hierarchy), `Node`, `Group` and `Array` in the module of a
/// face.
macro_rules! handles {
    () => {
        use std::fmt;
        use std::sync::Arc;

        use bytes::Bytes;

        use super::builder::ArrayBuilderOf;
        use super::chunk::ChunkOf;
        use super::text;
        use crate::array::untyped::Strided;
        use crate::array::{ChunkPart, MetadataOrigin, StoredSize, wrong_kind};
        use crate::codec::CodecSpec;
        use crate::data_type::{DataType, FillValue};
        use crate::dialect::{Dialect, Era, Warning};
        use crate::element::Element;
        use crate::error::{AccessError, Result};
        use crate::format::{Child, Format};
        use crate::grid::Pieces;
        use crate::hierarchy::{
            ArrayNode, CreateMode, GroupCore, HierarchyContext, NodeCore, OpenOptions,
        };
        use crate::json::{Json, Object};
        use crate::metadata::{ArrayMetadata, GroupMetadata, NodeKind};
        use crate::options::Options;
        use crate::path::NodePath;
        use crate::region::{Region, element_count};
        use crate::registry::Registry;
        use crate::selection::Selection;
        use crate::shape::ToShape;
        use crate::store::{Store, StoreKey};
        #[cfg(doc)]
        use crate::{CodecError, MetadataError, StoreError};

        /// A tree of groups and arrays in a store.
        #[derive(Clone)]
        pub struct Hierarchy {
            pub(super) context: Arc<HierarchyContext>,
        }

        /// A group or an array.
        #[derive(Clone)]
        pub enum Node {
            /// An array.
            Array(Array),
            /// A group.
            Group(Group),
        }

        /// A group of a hierarchy.
        #[derive(Clone)]
        pub struct Group {
            pub(super) hierarchy: Hierarchy,
            pub(super) core: GroupCore,
        }

        /// An array of a hierarchy.
        ///
        /// What is read or written is a [`Selection`]: `..` for all, `(0, .., 10..20)`, a [`Region`], lists, masks,
        /// points, names. Data are in C order of the selection's shape. Every chunk is read at most once, however
        /// often and in whatever order its elements are selected. A selection that leaves the array is an error.
        #[derive(Clone)]
        pub struct Array {
            pub(super) hierarchy: Hierarchy,
            pub(super) core: ArrayNode,
        }

        impl fmt::Debug for Hierarchy {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let name = format!("Hierarchy {}", self.format_name());
                text::debug_node(f, &name, &**self.store(), &NodePath::root(), None)
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

        impl fmt::Debug for Group {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                text::debug_node(f, "Group", &**self.hierarchy.store(), self.path(), None)
            }
        }

        impl fmt::Debug for Array {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (store, metadata) = (self.hierarchy.store(), self.metadata());
                text::debug_node(f, "Array", &**store, self.path(), Some(&metadata))
            }
        }

        impl Hierarchy {
            /// A hierarchy of a format that the caller knows. Nothing is read: this opens hierarchies whose documents
            /// do not tell their format.
            pub fn of_format(
                store: Arc<dyn Store>,
                format: Arc<dyn Format>,
                options: &OpenOptions,
            ) -> Hierarchy {
                Hierarchy { context: HierarchyContext::of_format(store, format, options) }
            }

            /// Which of the drafts it follows, if any.
            pub fn era(&self) -> Option<Era> {
                self.context.format.era()
            }

            /// The dialect of its documents.
            pub fn dialect(&self) -> Dialect {
                self.context.format.dialect()
            }

            /// `v2`, `v3`, `draft-2020` or `draft-2019`.
            pub fn format_name(&self) -> &'static str {
                self.context.format.name()
            }

            /// Where its documents are stored, and how they become the model.
            #[doc(hidden)]
            pub fn format(&self) -> &Arc<dyn Format> {
                &self.context.format
            }

            /// The store of its keys and values.
            pub fn store(&self) -> &Arc<dyn Store> {
                &self.context.unguarded
            }

            /// Whether nodes may be created and chunks written.
            ///
            /// # Errors
            /// [`AccessError::ReadOnly`], [`AccessError::Frozen`]; [`StoreError::NotCapable`].
            pub fn check_writeable(&self) -> Result<()> {
                let writeable = self.context.writeable();
                writeable.map(drop).map_err(|e| self.context.at(&NodePath::root(), e))
            }

            /// The array at `path` that has this metadata, whether or not a document says so: the store is not read. With
            /// the guard off its chunks can be written before the document.
            ///
            /// # Errors
            /// For metadata of which no array can be made.
            pub fn array_of_metadata(
                &self,
                path: &NodePath,
                metadata: ArrayMetadata,
            ) -> Result<Array> {
                let (context, origin) = (self.context.clone(), MetadataOrigin::Caller);
                Ok(self.array_of(ArrayNode::new(context, path.clone(), metadata, origin)?))
            }

            /// How arrays are read and written.
            pub fn options(&self) -> &Options {
                &self.context.options
            }

            /// The data types, codecs and stores that are known.
            pub fn registry(&self) -> &Arc<Registry> {
                &self.context.registry
            }

            /// What tolerant reading has overlooked so far.
            pub fn warnings(&self) -> Vec<Warning> {
                self.context.warnings()
            }

            /// Whether an array like this could be created at `path`: its name, its metadata and its codecs. The store
            /// is not read.
            ///
            /// # Errors
            /// As [`ArrayBuilder::create`].
            pub fn check_array(
                &self,
                path: impl AsRef<str>,
                metadata: &ArrayMetadata,
            ) -> Result<()> {
                self.context.check_array(&self.node_path(path)?, metadata)
            }

            /// Whether a group with these attributes could be created at `path`: its name and its attributes. The store
            /// is not read.
            ///
            /// # Errors
            /// As [`Hierarchy::create_group`].
            pub fn check_group(&self, path: impl AsRef<str>, attributes: &Object) -> Result<()> {
                self.context.check_group(&self.node_path(path)?, attributes)
            }

            /// Describes an array that is to be created at `path`. [`ArrayBuilder::create`] refuses text that is no path.
            pub fn create_array(&self, path: impl AsRef<str>) -> ArrayBuilder {
                ArrayBuilder::new(self.clone(), self.context.clone(), path.as_ref())
            }

            fn node_path(&self, path: impl AsRef<str>) -> Result<NodePath> {
                self.context.node_path(path.as_ref())
            }

            fn handle(&self, node: NodeCore) -> Node {
                match node {
                    NodeCore::Array(core) => Node::Array(self.array_of(core)),
                    NodeCore::Group(core) => Node::Group(self.group_of(core)),
                }
            }

            pub(super) fn array_of(&self, core: ArrayNode) -> Array {
                Array { hierarchy: self.clone(), core }
            }

            pub(super) fn group_of(&self, core: GroupCore) -> Group {
                Group { hierarchy: self.clone(), core }
            }
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
                        let context = &group.hierarchy.context;
                        Err(context.at(group.path(), wrong_kind(NodeKind::Group)))
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

            /// The user's attributes when it was opened.
            pub fn attributes(&self) -> &Object {
                &self.core.metadata.attributes
            }

            /// Describes an array that is to be created at `path`, from here. [`ArrayBuilder::create`] refuses text that is
            /// no path.
            pub fn create_array(&self, path: impl AsRef<str>) -> ArrayBuilder {
                let path = path.as_ref();
                match self.path().join(path) {
                    Ok(path) => self.hierarchy.create_array(path),
                    Err(_) => self.hierarchy.create_array(format!("{}/{path}", self.path())),
                }
            }

            fn text_of(&self, nodes: &[Node]) -> String {
                let line = |node: &Node| {
                    let path = text::path_from(self.path(), node.path());
                    let detail = node.as_array().map(|array| text::array_detail(&array.metadata()));
                    (path, detail.unwrap_or_default())
                };
                let mut lines: Vec<_> = nodes.iter().map(line).collect();
                // `/a-b` comes before `/a/b` as text; as paths the children of `/a` come first.
                lines.sort_by(|(a, _), (b, _)| a.split('/').cmp(b.split('/')));
                text::draw_tree(&lines)
            }

            fn below(&self, path: impl AsRef<str>) -> Result<NodePath> {
                self.path()
                    .join(path.as_ref())
                    .map_err(|e| self.hierarchy.context.at(self.path(), e))
            }
        }

        impl Array {
            /// The array at `path` of which the caller has the document: nothing is read from the store. Its dialect
            /// is that of the options, else the document's. The document is that of the array itself: `zarr.json`,
            /// `.zarray`, with or without a member `attributes`, or a draft's `x.array.json`.
            ///
            /// As with any handle, a write compares the stored document first.
            ///
            /// # Errors
            /// [`MetadataError`] for a document that breaks its specification; [`AccessError::NodeKind`] for one of a
            /// group.
            pub fn from_document(
                store: Arc<dyn Store>,
                path: &NodePath,
                document: &[u8],
                options: &OpenOptions,
            ) -> Result<Array> {
                let core = HierarchyContext::array_of_document(store, path, document, options)?;
                Ok(Hierarchy { context: core.context.clone() }.array_of(core))
            }

            /// The same array, its chunks read and written with other options: threads, pool, cancel token, progress, guard,
            /// fill chunks. Both handles share the array's newest metadata and the cached indices of shards. Options for
            /// documents keep the values with which the hierarchy was opened.
            ///
            /// ```
            /// # fn read(array: &zarr_core::Array) -> zarr_core::Result<Vec<f32>> {
            /// let cancel = zarr_core::CancelToken::new();
            /// let one_thread = array.with_options(|options| {
            ///     options.threads = 1;
            ///     options.cancel = Some(cancel.clone());
            /// });
            /// // Another thread may call `cancel.cancel()`.
            /// one_thread.read(..)
            /// # }
            /// ```
            #[must_use]
            pub fn with_options(&self, change: impl FnOnce(&mut Options)) -> Array {
                self.hierarchy.array_of(self.core.with_options(change))
            }

            /// How its chunks are read and written.
            pub fn options(&self) -> &Options {
                &self.core.options
            }

            /// Its path in the hierarchy.
            pub fn path(&self) -> &NodePath {
                &self.core.path
            }

            /// The hierarchy that it is part of.
            pub fn hierarchy(&self) -> &Hierarchy {
                &self.hierarchy
            }

            /// Its metadata when it was opened, or last changed through one of its handles.
            pub fn metadata(&self) -> Arc<ArrayMetadata> {
                self.core.state().metadata.clone()
            }

            /// How many elements it has along each axis.
            pub fn shape(&self) -> Vec<u64> {
                self.metadata().shape.clone()
            }

            /// How many axes it has.
            pub fn rank(&self) -> usize {
                self.metadata().rank()
            }

            /// How many elements it has; [`u64::MAX`] if 64 bits cannot count them.
            pub fn len(&self) -> u64 {
                element_count(&self.metadata().shape).unwrap_or(u64::MAX)
            }

            /// Whether it has no elements: an axis has length 0.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The type of an element.
            pub fn data_type(&self) -> DataType {
                self.metadata().data_type.clone()
            }

            /// The axes' names, if they have any; a single axis may have none. In v2 and in the drafts they are those that
            /// xarray looks for among the attributes.
            pub fn dimension_names(&self) -> Option<Vec<Option<String>>> {
                self.metadata().dimension_names.clone()
            }

            /// The value of elements that were never written; `None` if that is undefined: they read as zero bytes, and
            /// times as "not a time".
            pub fn fill_value(&self) -> Option<FillValue> {
                self.metadata().fill_value.clone()
            }

            /// The codecs of a stored object, in the order in which they encode. Those of the chunks in a shard are in the
            /// configuration of its codec.
            pub fn codecs(&self) -> Vec<CodecSpec> {
                self.metadata().codecs.clone()
            }

            /// The shape of the chunks that are read, if all have one: in a shard, of its inner chunks.
            pub fn chunk_shape(&self) -> Option<Vec<u64>> {
                self.metadata().inner_chunk_shape()
            }

            /// The shape of a shard, the object that is stored, if there are shards and all have one.
            pub fn shard_shape(&self) -> Option<Vec<u64>> {
                self.metadata().shard_shape()
            }

            /// The user's attributes.
            pub fn attributes(&self) -> Object {
                self.metadata().attributes.clone()
            }

            /// Cuts a selection into pieces of at most `max_bytes` or one chunk, along the borders of stored chunks, for
            /// callers that read or write it piece by piece. An element of variable length counts as 256 bytes.
            ///
            /// ```
            /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
            /// let mut sum = 0.0;
            /// for piece in array.pieces(.., 64 << 20)? {
            ///     sum += array.read::<f64>(&piece.selection)?.iter().sum::<f64>();
            /// }
            /// # Ok(())
            /// # }
            /// ```
            ///
            /// # Errors
            /// Those of the selection, as [`Array::read`].
            pub fn pieces(
                &self,
                selection: impl Into<Selection>,
                max_bytes: u64,
            ) -> Result<Pieces> {
                self.core.pieces(selection, max_bytes)
            }

            /// Cuts a region along chunk borders into at most `parts` regions of about equal size, for concurrent
            /// writers: no two of the regions touch the same chunk.
            ///
            /// # Errors
            /// As [`Array::read`], for the selection; [`AccessError::Argument`] for one that is no region.
            pub fn write_plan(
                &self,
                region: impl Into<Selection>,
                parts: usize,
            ) -> Result<Vec<Region>> {
                self.core.write_plan(region, parts)
            }

            /// The chunk with these indices.
            ///
            /// # Errors
            /// [`AccessError::Argument`] if the array has no such chunk.
            pub fn chunk(&self, indices: impl ToShape) -> Result<Chunk> {
                let indices = indices.to_shape().map_err(|e| self.core.at(e))?;
                Chunk::new(self.clone(), &self.core, &indices)
            }

            /// The chunks that a selection touches, each once: handles for concurrent writers.
            ///
            /// # Errors
            /// As [`Array::read`], for the selection.
            pub fn chunks(
                &self,
                selection: impl Into<Selection>,
            ) -> Result<impl Iterator<Item = Chunk>> {
                let (layout, selected) = self.core.prepare(selection)?;
                Ok(Chunk::all(self.clone(), &self.core, layout, &selected.part))
            }
        }
    };
}
pub(super) use handles;

//! An array of a hierarchy. What takes memory of the caller's is in `elements.rs`, once for each face.
// @generated from async/array.rs by tests/it/generated_handles.rs of this crate. Change that file, then run
// `UPDATE=1 cargo test -p zarr-core --test it generated_handles`.

use std::fmt;
use std::sync::Arc;

#[cfg(doc)]
use super::Group;
use super::{Chunk, Hierarchy};
use crate::array::{ArrayCore, StoredSize};
use crate::codec::CodecSpec;
use crate::data_type::{DataType, FillValue};
use crate::element::Element;
use crate::error::{AccessError, Result};
#[cfg(doc)]
use crate::error::{MetadataError, StoreError};
use crate::grid::Pieces;
use crate::handles::{aio, blocking, text};
use crate::hierarchy::{OpenOptions, array_document, attributes, open, resize};
use crate::json::{Json, Object};
use crate::metadata::ArrayMetadata;
use crate::options::Options;
use crate::path::NodePath;
use crate::region::{Region, element_count};
use crate::runtime::block_on;
use crate::selection::Selection;
use crate::shape::ToShape;
use crate::store::Store;

/// An array of a hierarchy.
///
/// What is read or written is a [`Selection`]: `..` for all, `(0, .., 10..20)`, a [`Region`], lists, masks,
/// points, names. Data are in C order of the selection's shape. Every chunk is read at most once, however
/// often and in whatever order its elements are selected. A selection that leaves the array is an error.
#[derive(Clone)]
pub struct Array {
    pub(in crate::handles) hierarchy: Hierarchy,
    pub(in crate::handles) core: Arc<ArrayCore>,
}

/// # The handle
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
        let (core, array) = open::array_of_document(store, path, document, options)?;
        Ok(Hierarchy { core }.array_of(array))
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
        self.hierarchy.array_of(Arc::new(self.core.with_options(change)))
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

    /// The same array for async callers. Both share the array's newest metadata.
    pub fn as_async(&self) -> aio::Array {
        self.hierarchy.as_async().array_of(self.core.clone())
    }

    /// The same array for blocking callers. Both share the array's newest metadata.
    pub fn as_blocking(&self) -> blocking::Array {
        self.hierarchy.as_blocking().array_of(self.core.clone())
    }
}

/// # What the document says
///
/// All of it, of one version of the document, is in [`Array::metadata`].
impl Array {
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

    /// Reads the document again: others may have resized the array.
    ///
    /// # Errors
    /// As [`Hierarchy::array`].
    pub fn refresh(&self) -> Result<()> {
        block_on(array_document::refresh_array(&self.hierarchy.core, &self.core))
    }
}

/// # Chunks, and plans made of them
impl Array {
    /// The chunk with these indices.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if the array has no such chunk.
    pub fn chunk(&self, indices: impl ToShape) -> Result<Chunk> {
        let indices = indices.to_shape().map_err(|e| self.core.at(e))?;
        Chunk::new(self.clone(), &indices)
    }

    /// The chunks that a selection touches, each once: handles for concurrent writers.
    ///
    /// # Errors
    /// As [`Array::read`], for the selection.
    pub fn chunks(&self, selection: impl Into<Selection>) -> Result<impl Iterator<Item = Chunk>> {
        let (layout, selected) = self.core.prepare(selection)?;
        Ok(Chunk::all(self.clone(), layout, &selected.part))
    }

    /// How many of its chunks are stored, or shards, where it has those: one listing. If there are none where
    /// some are expected, the chunk keys may be written otherwise than the document says.
    ///
    /// # Errors
    /// [`StoreError::NotCapable`] if the store cannot list; what the store reports.
    pub fn stored_chunks(&self) -> Result<u64> {
        block_on(self.core.stored_chunks())
    }

    /// Returns the number of stored chunks and their total size; lists the keys once, and asks for the size of each
    /// chunk if the listing has no sizes.
    ///
    /// # Errors
    /// As [`Array::stored_chunks`].
    pub fn stored_size(&self) -> Result<StoredSize> {
        block_on(self.core.stored_size())
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
    pub fn pieces(&self, selection: impl Into<Selection>, max_bytes: u64) -> Result<Pieces> {
        self.core.pieces(selection, max_bytes)
    }

    /// Cuts a region along chunk borders into at most `parts` regions of about equal size, for concurrent
    /// writers: no two of the regions touch the same chunk.
    ///
    /// # Errors
    /// As [`Array::read`], for the selection; [`AccessError::Argument`] for one that is no region.
    pub fn write_plan(&self, region: impl Into<Selection>, parts: usize) -> Result<Vec<Region>> {
        self.core.write_plan(region, parts)
    }
}

/// # Elements
///
/// They are read and written as Rust values, as bytes, or in memory of any strides.
impl Array {
    /// Reads what is selected.
    ///
    /// # Errors
    /// [`AccessError::ElementType`]; [`AccessError::OutOfBounds`], [`AccessError::Index`] and
    /// [`AccessError::Argument`] for the selection; [`AccessError::TooLarge`]; what the store or a codec
    /// reports.
    pub fn read<T: Element>(&self, selection: impl Into<Selection>) -> Result<Vec<T>> {
        block_on(self.core.read_vec(None, selection.into()))
    }

    /// Reads one element: `read_element::<f32>((0, 10, -1))`.
    ///
    /// # Errors
    /// As [`Array::read`]; [`AccessError::Argument`] if not exactly one is selected.
    pub fn read_element<T: Element>(&self, selection: impl Into<Selection>) -> Result<T> {
        block_on(self.core.read_element(selection.into()))
    }

    /// Reads what is selected as bytes: native elements of any type in C order; variable-length elements each
    /// after their length, a little-endian number of four bytes.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read_bytes(&self, selection: impl Into<Selection>) -> Result<Vec<u8>> {
        block_on(self.core.read_native(None, selection.into()))
    }

    /// Reads what is selected as bytes: little-endian elements in C order. Above an integer of fewer bits than
    /// its byte are zeros, as in stored ones (F-053).
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read_le_bytes(&self, selection: impl Into<Selection>) -> Result<Vec<u8>> {
        block_on(self.core.read_little_endian(selection.into()))
    }

    /// Reads one field of the records that are selected; `e.x` is the field `x` of the field `e`. A field with
    /// a shape gives all its elements for each record, in C order. Whole records are decoded, and the field is copied out of them.
    ///
    /// ```
    /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
    /// let heights = array.read_field::<f64>("height", 10..20)?;
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

    /// Reads what is selected as an `ndarray` array of the selection's shape: `read_ndarray::<f32, Ix2>`, or
    /// `let table: Array2<f32> = array.read_ndarray((0, .., 10..20))?`. Where the number of axes is known only at run time, it is
    /// `IxDyn`.
    ///
    /// # Errors
    /// As [`Array::read`]; [`AccessError::Argument`] if the selection has another number of axes: a single number
    /// for an axis removes that axis.
    #[cfg(feature = "ndarray")]
    pub fn read_ndarray<T: Element, D: ndarray::Dimension>(
        &self,
        selection: impl Into<Selection>,
    ) -> Result<ndarray::Array<T, D>> {
        block_on(self.core.read_ndarray(selection.into()))
    }

    /// Writes one value everywhere in a selection: in memory of a few chunks, however much is selected.
    ///
    /// ```
    /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
    /// array.fill((0, ..), 21.5f32)
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Array::write`].
    pub fn fill<T: Element>(&self, selection: impl Into<Selection>, value: T) -> Result<()> {
        block_on(self.core.fill(selection.into(), value))
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
}

/// # Changes of the document
impl Array {
    /// Gives the array a new shape. Removed elements are erased, also inside edge chunks, unless
    /// [`Options::keep_cut_off`] is set; added ones read as the fill value.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if there is not one length for each axis; [`AccessError::ReadOnly`]; what the store
    /// reports.
    pub fn resize(&self, shape: impl ToShape) -> Result<()> {
        let shape = shape.to_shape().map_err(|e| self.core.at(e))?;
        block_on(resize::resize(&self.hierarchy.core, &self.core, &shape))
    }

    /// As [`Array::resize`], to what `to` makes of the shape that the array has. `to` is called again whenever
    /// another writer was faster: so one that only lengthens never cuts off what others have appended
    /// concurrently. Returns the shape that the array had.
    ///
    /// # Errors
    /// Those of `to`; as [`Array::resize`].
    pub fn reshape(
        &self,
        to: impl Fn(&[u64]) -> Result<Vec<u64>, AccessError> + Sync,
    ) -> Result<Vec<u64>> {
        let (_, old) = block_on(resize::reshape(&self.hierarchy.core, &self.core, to))?;
        Ok(old)
    }

    /// Gives the axes other names: in final v3 the document's, else those that xarray looks for among the
    /// attributes.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if there is not one for each axis; [`AccessError::ReadOnly`]; what the store
    /// reports.
    pub fn rename_dimensions(&self, names: &[String]) -> Result<()> {
        block_on(attributes::rename_dimensions(&self.hierarchy.core, &self.core, names))
    }

    /// Sets one of the user's attributes: `set_attribute("units", "K")`. What other writers set concurrently stays.
    ///
    /// # Errors
    /// As [`Group::update_attributes`].
    pub fn set_attribute(&self, name: &str, value: impl Into<Json>) -> Result<()> {
        block_on(attributes::set_array_attribute(
            &self.hierarchy.core,
            &self.core,
            name,
            value.into(),
        ))
    }

    /// Changes the user's attributes; see [`Group::update_attributes`].
    ///
    /// # Errors
    /// As [`Group::update_attributes`].
    pub fn update_attributes(&self, change: impl FnMut(&mut Object) + Send) -> Result<Object> {
        block_on(attributes::update_array_attributes(&self.hierarchy.core, &self.core, change))
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = self.hierarchy.store();
        let metadata = self.metadata();
        text::debug_node(f, "Array", &**store, self.path(), Some(&metadata))
    }
}

//! The handle of an array: reads and writes it.

use std::sync::Arc;

use super::{ArrayNode, Chunk, Hierarchy, change_attributes};
use crate::data_type::{ByteSwap, DataType, Endian, Origin, Repr};
use crate::dialect::Dialect;
use crate::element::Element;
use crate::error::{AccessError, Result};
use crate::grid::Pieces;
use crate::json::{Json, Object};
use crate::metadata::{ArrayMetadata, NodeKind};
use crate::path::NodePath;
use crate::region::{Region, element_count};
use crate::selection::Selection;
use crate::store::block_on;

/// An array of a hierarchy.
///
/// What is read or written is a [`Selection`]: `..` for all, `(0, .., 10..20)`, a [`Region`], lists, masks,
/// points, names. Data are in C order of the selection's shape. Every chunk is read at most once, however
/// often and in whatever order its elements are meant. A selection that leaves the array is an error.
#[derive(Clone, Debug)]
pub struct Array {
    hierarchy: Hierarchy,
    pub(super) core: ArrayNode,
}

impl Array {
    pub(crate) fn new(hierarchy: Hierarchy, core: ArrayNode) -> Array {
        Array { hierarchy, core }
    }

    /// Where it is.
    pub fn path(&self) -> &NodePath {
        &self.core.path
    }

    /// The hierarchy it is part of.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// What is known of it: as it was when it was opened, or last changed through one of its handles.
    pub fn metadata(&self) -> Arc<ArrayMetadata> {
        self.core.state().metadata.clone()
    }

    /// How many elements along each axis.
    pub fn shape(&self) -> Vec<u64> {
        self.metadata().shape.clone()
    }

    /// The type of an element.
    pub fn data_type(&self) -> DataType {
        self.metadata().data_type.clone()
    }

    /// The chunk shape, if all chunks have one.
    pub fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.metadata().chunk_shape()
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
        block_on(self.core.refresh())
    }

    /// Cuts a selection into pieces of at most `max_bytes` or one chunk, along the borders of stored chunks, for callers that read or
    /// write it piece by piece. An element of variable length counts as 256 bytes.
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

    /// Reads what is selected.
    ///
    /// # Errors
    /// [`AccessError::ElementType`]; [`AccessError::OutOfBounds`], [`AccessError::Index`] and
    /// [`AccessError::Argument`] for the selection; [`AccessError::TooLarge`]; what the store or a codec
    /// meets.
    pub fn read<T: Element>(&self, selection: impl Into<Selection>) -> Result<Vec<T>> {
        let (layout, selected) = self.core.prepare(selection)?;
        self.core.check_type::<T>(&layout)?;
        let mut elements = self.core.alloc_output::<T>(&selected.shape)?;
        self.core.read_elements(&layout, &selected.part, layout.span(), &mut elements)?;
        Ok(elements)
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
        let (layout, selected) = self.core.prepare(selection)?;
        self.core.check_type::<T>(&layout)?;
        self.core.check_count(&selected.shape, out.len())?;
        self.core.read_elements(&layout, &selected.part, layout.span(), out)
    }

    /// Reads what is selected as bytes: native elements in C order, whatever their type; elements of any length
    /// each after their length, a little-endian number of four bytes.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read_bytes(&self, selection: impl Into<Selection>) -> Result<Vec<u8>> {
        let (layout, selected) = self.core.prepare(selection)?;
        self.core.read_bytes(&layout, &selected.part, layout.span())
    }

    /// Reads what is selected as bytes: little-endian elements in C order. Above an integer of fewer bits than its
    /// byte are zeros, as in stored ones (F-053).
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read_le_bytes(&self, selection: impl Into<Selection>) -> Result<Vec<u8>> {
        let mut bytes = self.read_bytes(selection)?;
        self.turn_to_little_endian(&mut bytes);
        match self.data_type().stored_mask() {
            0xff => {}
            mask => bytes.iter_mut().for_each(|byte| *byte &= mask),
        }
        Ok(bytes)
    }

    fn turn_to_little_endian(&self, bytes: &mut [u8]) {
        if Endian::NATIVE == Endian::Big {
            ByteSwap::of_all(&self.data_type()).apply(bytes);
        }
    }

    /// Writes what is selected, after a look at the array's document: where another writer has shortened or erased the
    /// array since it was opened, that is an error, and nothing is written (not with the guard off). Parts of chunks are laid over what others write meanwhile; no element is
    /// lost. Of elements for the same place the last one in C order stays.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`], [`AccessError::ElementType`], [`AccessError::Count`]; [`AccessError::NotFound`],
    /// [`AccessError::Replaced`] if the array is gone or another is in its place; those of
    /// [`Array::read`] for the selection; what the store or a codec meets.
    pub fn write<T: Element>(&self, selection: impl Into<Selection>, elements: &[T]) -> Result<()> {
        let (layout, selected) = self.core.prepare(selection)?;
        self.core.check_elements(&layout, elements)?;
        self.core.check_count(&selected.shape, elements.len())?;
        block_on(self.core.check_still_there(&layout, &selected.part))?;
        self.core.write_elements(&layout, &selected.part, elements)
    }

    /// Writes what is selected from bytes, as [`Array::read_bytes`] gives them.
    ///
    /// # Errors
    /// As [`Array::write`]; [`crate::CodecError::Corrupt`] for bytes that are no elements of the type.
    pub fn write_bytes(&self, selection: impl Into<Selection>, bytes: &[u8]) -> Result<()> {
        let (layout, selected) = self.core.prepare(selection)?;
        let (part, span) = (&selected.part, layout.span());
        if layout.repr == Repr::Variable {
            let count = element_count(&selected.shape).unwrap_or(u64::MAX);
            let cells = layout.cells_of_stream(bytes, count).map_err(|e| self.core.at(e))?;
            block_on(self.core.check_still_there(&layout, part))?;
            return self.core.write(&layout, part, span, &cells.memory, Some(&cells.var_buffer));
        }
        let whole = bytes.len().is_multiple_of(span.size);
        let count = if whole { bytes.len() / span.size } else { usize::MAX };
        self.core.check_count(&selected.shape, count)?;
        self.core.check_bytes(&layout.metadata.data_type, bytes)?;
        block_on(self.core.check_still_there(&layout, part))?;
        self.core.write(&layout, part, span, bytes, None)
    }

    /// Writes what is selected from bytes: little-endian elements in C order.
    ///
    /// # Errors
    /// As [`Array::write_bytes`].
    pub fn write_le_bytes(&self, selection: impl Into<Selection>, bytes: &[u8]) -> Result<()> {
        let data_type = self.data_type();
        let narrow = data_type.stored_mask() != 0xff;
        if Endian::NATIVE == Endian::Little && !narrow {
            return self.write_bytes(selection, bytes);
        }
        let mut bytes = bytes.to_vec();
        self.turn_to_little_endian(&mut bytes);
        if narrow {
            data_type.check(&mut bytes, Origin::Store).map_err(|e| self.core.at(e))?;
        }
        self.write_bytes(selection, &bytes)
    }

    /// Cuts a region along chunk borders into at most `parts` regions of about equal size, for writers
    /// that work side by side: no two of them touch the same chunk.
    ///
    /// # Errors
    /// As [`Array::read`], for the selection; [`AccessError::Argument`] for one that is no region.
    pub fn write_plan(&self, region: impl Into<Selection>, parts: usize) -> Result<Vec<Region>> {
        self.core.write_plan(region, parts)
    }

    /// The chunk with these indices.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if the array has no such chunk.
    pub fn chunk(&self, indices: &[u64]) -> Result<Chunk> {
        Chunk::new(self.clone(), &self.core, indices)
    }

    /// The chunks that a selection touches, each once: handles that parallel writers can share out.
    ///
    /// # Errors
    /// As [`Array::read`], for the selection.
    pub fn chunks(&self, selection: impl Into<Selection>) -> Result<impl Iterator<Item = Chunk>> {
        let (layout, selected) = self.core.prepare(selection)?;
        Chunk::all(self.clone(), &self.core, &layout, &selected.part)
    }

    /// How many of its chunks are stored, or shards, where it has those: one listing. None at all, where there
    /// should be some, is a sign of chunk keys that their writer spelled otherwise than the document says.
    ///
    /// # Errors
    /// [`crate::StoreError::NotCapable`] if the store cannot list; what the store meets.
    pub fn stored_chunks(&self) -> Result<u64> {
        block_on(self.core.stored_chunks())
    }

    /// As [`Array::stored_chunks`], and in how many bytes: one listing, and a look at each chunk.
    ///
    /// # Errors
    /// As [`Array::stored_chunks`].
    pub fn stored_size(&self) -> Result<super::StoredSize> {
        block_on(self.core.stored_size())
    }

    /// Gives the array a new shape. What is cut off is forgotten, inside edge chunks, too, unless
    /// [`super::Options::keep_cut_off`] says otherwise; what is added reads as the fill value.
    ///
    /// # Errors
    /// [`AccessError::Rank`], [`AccessError::ReadOnly`]; what the store meets.
    pub fn resize(&self, shape: &[u64]) -> Result<()> {
        block_on(self.core.resize(shape))
    }

    /// As [`Array::resize`], to what `to` makes of the shape that the array has, which it is asked again whenever
    /// another writer was faster: so one that only lengthens never cuts off what others have appended meanwhile.
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
    /// [`AccessError::Rank`] if there is not one for each axis; [`AccessError::ReadOnly`]; what the store meets.
    pub fn rename_dimensions(&self, names: &[String]) -> Result<()> {
        let (core, expected) = (&self.core, self.shape().len());
        if names.len() != expected {
            return Err(core.at(AccessError::Rank { expected, found: names.len() }));
        }
        let names: Json = names.iter().map(|name| Json::from(name.as_str())).collect();
        let mut place = core.context.format.attributes_place(&core.path, NodeKind::Array)?;
        match self.hierarchy.dialect() {
            Dialect::V3 => {
                place.member = Some("dimension_names");
                block_on(core.context.edit(&core.path, &place, |_| Ok(names.clone())))?;
            }
            Dialect::V2 | Dialect::Draft => {
                self.update_attributes(|attributes| {
                    attributes.insert("_ARRAY_DIMENSIONS", names.clone());
                })?;
            }
        }
        self.refresh()
    }

    /// Makes the array longer along `axis` and writes `elements` there, all in C order; returns the
    /// coordinate at which they begin. Appends of several writers all arrive, each in a place of its own.
    ///
    /// The place is taken before the elements are stored. If they cannot be stored, the array gets the shape back
    /// that it had, unless others have appended meanwhile (decision 0140). An append that is killed, or whose future
    /// is dropped, leaves the place: what was not stored reads as the fill value.
    ///
    /// # Errors
    /// [`AccessError::Count`] if the elements do not fill whole slices; otherwise as [`Array::write`].
    pub fn append<T: Element>(&self, axis: usize, elements: &[T]) -> Result<u64> {
        self.core.check_elements(&self.core.state(), elements)?;
        let (state, place) = block_on(self.core.grow(axis, elements.len()))?;
        let start = place.intervals()[axis].start;
        let write = |layout| self.core.write_elements(&layout, &(&place).into(), elements);
        match state.layout().and_then(write) {
            Ok(()) => Ok(start),
            Err(e) => Err(block_on(self.core.give_back(axis, &place, e))),
        }
    }

    /// Makes the array longer before its first element along `axis`, and writes `elements` there, all in C
    /// order: what had coordinate 0 has the coordinate after them. No stored element moves. Only a chunk
    /// grid that reaches before its origin can do so; those come from extensions.
    ///
    /// As with [`Array::append`] the place is taken before the elements are stored, and given back if they cannot be,
    /// unless others have changed the array's shape or grid meanwhile. A prepend that is killed, or whose future is
    /// dropped, leaves the place: what was not stored reads as the fill value.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for another grid; otherwise as [`Array::append`].
    pub fn prepend<T: Element>(&self, axis: usize, elements: &[T]) -> Result<()> {
        self.core.check_elements(&self.core.state(), elements)?;
        let grown = block_on(self.core.grow_before(axis, elements.len()))?;
        let write = |layout| self.core.write_elements(&layout, &(&grown.place).into(), elements);
        match grown.state.layout().and_then(write) {
            Ok(()) => Ok(()),
            Err(e) => Err(block_on(self.core.give_back_before(&grown, e))),
        }
    }

    /// Changes the user's attributes; see [`super::Group::update_attributes`].
    ///
    /// # Errors
    /// As there.
    pub fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        let context = &self.hierarchy.context;
        let before = self.core.state();
        let attributes =
            block_on(change_attributes(context, self.path(), NodeKind::Array, change))?;
        block_on(self.core.set_attributes(&before, attributes.clone()))?;
        Ok(attributes)
    }
}

#[cfg(feature = "ndarray")]
impl Array {
    /// Reads what is selected as an `ndarray` array of the selection's shape.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read_ndarray<T: Element>(
        &self,
        selection: impl Into<Selection>,
    ) -> Result<ndarray::ArrayD<T>> {
        let (layout, selected) = self.core.prepare(selection)?;
        self.core.check_type::<T>(&layout)?;
        let mut elements = self.core.alloc_output::<T>(&selected.shape)?;
        self.core.read_elements(&layout, &selected.part, layout.span(), &mut elements)?;
        let shape: Vec<usize> = selected.shape.iter().map(|&n| n as usize).collect();
        Ok(ndarray::ArrayD::from_shape_vec(shape, elements)
            .expect("as many elements as are selected"))
    }

    /// Writes what is selected from an `ndarray` array of the selection's shape, in whatever memory order.
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] if the shapes differ.
    pub fn write_ndarray<T: Element, D: ndarray::Dimension>(
        &self,
        selection: impl Into<Selection>,
        elements: ndarray::ArrayView<'_, T, D>,
    ) -> Result<()> {
        let selection = selection.into();
        let due = self.core.prepare(&selection)?.1.shape;
        let shape: Vec<u64> = elements.shape().iter().map(|&n| n as u64).collect();
        if shape != due {
            let why = format!("an array of shape {shape:?} does not fill a selection of {due:?}");
            return Err(self.core.at(AccessError::Argument(why)));
        }
        match elements.as_slice() {
            Some(slice) => self.write(selection, slice),
            None => self.write(selection, &elements.iter().cloned().collect::<Vec<T>>()),
        }
    }
}

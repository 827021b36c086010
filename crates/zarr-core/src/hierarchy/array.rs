//! How is an array read and written?

use std::sync::Arc;

use super::elements::Cells;
use super::fields::Span;
use super::opened::{Opened, State, zeroed};
use super::plan::touches_many;
use super::update::ROUNDS_WITHOUT_TURN;
use super::{Chunk, Hierarchy, change_attributes, parallel};
use crate::data_type::{ByteSwap, DataType, Endian, Origin, Repr};
use crate::element::Element;
use crate::error::{AccessError, Result};
use crate::grid::{Cut, Tile, tiles};
use crate::heap::Heap;
use crate::json::Object;
use crate::metadata::{ArrayMetadata, NodeKind};
use crate::path::NodePath;
use crate::region::{IntoRegion, Region};
use crate::store::aio::now;
use crate::view::{View, ViewMut};

/// An array of a hierarchy.
///
/// Regions are one interval per axis: `..` for all, `(0, .., 10..20)`, a [`Region`]. Data are in C
/// order. A region that leaves the array is an error.
#[derive(Clone, Debug)]
pub struct Array {
    hierarchy: Hierarchy,
    pub(super) opened: Arc<Opened>,
}

impl Array {
    pub(crate) fn new(hierarchy: Hierarchy, opened: Arc<Opened>) -> Array {
        Array { hierarchy, opened }
    }

    /// Where it is.
    pub fn path(&self) -> &NodePath {
        &self.opened.path
    }

    /// The hierarchy it is part of.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// What is known of it: as it was when it was opened, or last changed through one of its handles.
    pub fn metadata(&self) -> Arc<ArrayMetadata> {
        self.opened.state().metadata.clone()
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
        now(self.opened.refresh()).map(|_| ())
    }

    /// Reads a region.
    ///
    /// # Errors
    /// [`AccessError::ElementType`], [`AccessError::OutOfBounds`], [`AccessError::TooLarge`]; what the
    /// store or a codec meets.
    pub fn read<T: Element>(&self, region: impl IntoRegion) -> Result<Vec<T>> {
        let (state, region) = self.opened.prepare(region)?;
        self.opened.check_type::<T>(&state)?;
        let mut elements = self.opened.room_for::<T>(&region)?;
        self.read_elements(&state, &region, state.span()?, &mut elements)?;
        Ok(elements)
    }

    /// Reads a region into memory of the caller's, which must have exactly its size.
    ///
    /// # Errors
    /// As [`Array::read`]; [`AccessError::Count`].
    pub fn read_into<T: Element>(&self, region: impl IntoRegion, out: &mut [T]) -> Result<()> {
        let (state, region) = self.opened.prepare(region)?;
        self.opened.check_type::<T>(&state)?;
        self.opened.check_count(&region, out.len())?;
        self.read_elements(&state, &region, state.span()?, out)
    }

    pub(super) fn read_elements<T: Element>(
        &self,
        state: &State,
        region: &Region,
        span: Span,
        out: &mut [T],
    ) -> Result<()> {
        if state.metadata.data_type.is_variable() {
            self.read_cells(state, region)?.to_elements(out);
            return Ok(());
        }
        if let Some(memory) = T::memory(out) {
            return self.read_memory(state, region, span, memory, None);
        }
        let mut bytes =
            zeroed(&region.shape(), span.size, "the region").map_err(|e| self.opened.at(e))?;
        self.read_memory(state, region, span, &mut bytes, None)?;
        for (element, bytes) in out.iter_mut().zip(bytes.chunks_exact(size_of::<T>())) {
            *element = T::from_bytes(bytes);
        }
        Ok(())
    }

    /// Reads a region as bytes: native elements in C order, whatever their type; elements of any length
    /// each after their length, a little-endian number of four bytes.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read_bytes(&self, region: impl IntoRegion) -> Result<Vec<u8>> {
        let (state, region) = self.opened.prepare(region)?;
        let (_, _, repr) = state.access().map_err(|e| self.opened.at(e))?;
        if repr == Repr::Variable {
            return Ok(self.read_cells(&state, &region)?.to_stream());
        }
        let mut bytes =
            zeroed(&region.shape(), repr.size(), "the region").map_err(|e| self.opened.at(e))?;
        self.read_memory(&state, &region, state.span()?, &mut bytes, None)?;
        Ok(bytes)
    }

    /// Reads elements of any length.
    fn read_cells(&self, state: &State, region: &Region) -> Result<Cells> {
        let mut cells = state.cells(&region.shape()).map_err(|e| self.opened.at(e))?;
        self.read_memory(state, region, state.span()?, &mut cells.memory, Some(&cells.heap))?;
        Ok(cells)
    }

    /// Reads a region as bytes: little-endian elements in C order. Above an integer of fewer bits than its
    /// byte are zeros, as in stored ones (F-053).
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read_le_bytes(&self, region: impl IntoRegion) -> Result<Vec<u8>> {
        let mut bytes = self.read_bytes(region)?;
        self.turn_to_little_endian(&mut bytes);
        match self.data_type().repr().map_or(0xff, |repr| repr.stored_mask()) {
            0xff => {}
            mask => bytes.iter_mut().for_each(|byte| *byte &= mask),
        }
        Ok(bytes)
    }

    fn turn_to_little_endian(&self, bytes: &mut [u8]) {
        if Endian::NATIVE == Endian::Big {
            ByteSwap::of_all(&self.data_type()).turn(bytes);
        }
    }

    /// Reads into native bytes, tile by tile, each tile owning its piece of the memory.
    pub(super) fn read_memory(
        &self,
        state: &State,
        region: &Region,
        span: Span,
        memory: &mut [u8],
        heap: Option<&Heap>,
    ) -> Result<()> {
        let (_, grid, _) = state.access().map_err(|e| self.opened.at(e))?;
        let out = ViewMut::new(memory, &region.shape(), span.size).with_heap(heap);
        let cut = Cut::new(grid, &state.metadata.shape, region, out);
        let many = touches_many(grid, region);
        parallel::for_each(&self.hierarchy.room.options, many, cut, |buffer, (tile, out)| {
            self.opened.read_span(state, &tile, span, buffer, out)
        })
    }

    /// Writes a region. Parts of chunks are laid over what others write meanwhile; no element is lost.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`], [`AccessError::ElementType`], [`AccessError::OutOfBounds`],
    /// [`AccessError::Count`]; what the store or a codec meets.
    pub fn write<T: Element>(&self, region: impl IntoRegion, elements: &[T]) -> Result<()> {
        let (state, region) = self.opened.prepare(region)?;
        self.opened.check_elements(&state, elements)?;
        self.opened.check_count(&region, elements.len())?;
        self.write_elements(&state, &region, elements)
    }

    fn write_elements<T: Element>(
        &self,
        state: &State,
        region: &Region,
        elements: &[T],
    ) -> Result<()> {
        match T::as_memory(elements) {
            Some(memory) => self.write_memory(state, region, state.span()?, memory, None),
            None => {
                let contents = elements.iter().map(T::as_bytes);
                let cells = state.cells_of(contents).map_err(|e| self.opened.at(e))?;
                self.write_memory(state, region, state.span()?, &cells.memory, Some(&cells.heap))
            }
        }
    }

    /// Writes a region from bytes, as [`Array::read_bytes`] gives them.
    ///
    /// # Errors
    /// As [`Array::write`]; [`crate::CodecError::Corrupt`] for bytes that are no elements of the type.
    pub fn write_bytes(&self, region: impl IntoRegion, bytes: &[u8]) -> Result<()> {
        let (state, region) = self.opened.prepare(region)?;
        let (_, _, repr) = state.access().map_err(|e| self.opened.at(e))?;
        if repr == Repr::Variable {
            let count = region.element_count().unwrap_or(u64::MAX);
            let cells = state.cells_of_stream(bytes, count).map_err(|e| self.opened.at(e))?;
            return self.write_memory(
                &state,
                &region,
                state.span()?,
                &cells.memory,
                Some(&cells.heap),
            );
        }
        let whole = bytes.len().is_multiple_of(repr.size());
        self.opened
            .check_count(&region, if whole { bytes.len() / repr.size() } else { usize::MAX })?;
        self.opened.check_bytes(&state.metadata.data_type, bytes)?;
        self.write_memory(&state, &region, state.span()?, bytes, None)
    }

    /// Writes a region from bytes: little-endian elements in C order.
    ///
    /// # Errors
    /// As [`Array::write_bytes`].
    pub fn write_le_bytes(&self, region: impl IntoRegion, bytes: &[u8]) -> Result<()> {
        let data_type = self.data_type();
        let narrow = data_type.repr().is_some_and(|repr| repr.stored_mask() != 0xff);
        if Endian::NATIVE == Endian::Little && !narrow {
            return self.write_bytes(region, bytes);
        }
        let mut bytes = bytes.to_vec();
        self.turn_to_little_endian(&mut bytes);
        if narrow {
            data_type.check(&mut bytes, Origin::Store).map_err(|e| self.opened.at(e))?;
        }
        self.write_bytes(region, &bytes)
    }

    pub(super) fn write_memory(
        &self,
        state: &State,
        region: &Region,
        span: Span,
        memory: &[u8],
        heap: Option<&Heap>,
    ) -> Result<()> {
        let (_, grid, _) = state.access().map_err(|e| self.opened.at(e))?;
        self.opened.writeable(state)?;
        let data = View::new(memory, &region.shape(), span.size).with_heap(heap);
        // Where others keep being faster, the calling thread itself goes on, never a pool's (DECISIONS 4).
        let contended: std::sync::Mutex<Vec<Tile>> = Default::default();
        let tiles = tiles(grid, &state.metadata.shape, region);
        let many = touches_many(grid, region);
        parallel::for_each(&self.hierarchy.room.options, many, tiles, |_, tile| {
            let part = data.part(&tile.place);
            if !self.opened.write_tile(state, &tile, part, span, ROUNDS_WITHOUT_TURN)? {
                contended.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(tile);
            }
            Ok(())
        })?;
        for tile in contended.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            let rounds = u32::MAX;
            let part = data.part(&tile.place);
            if !self.opened.write_tile(state, &tile, part, span, rounds)? {
                return Err(self.opened.at(AccessError::Conflict { rounds }));
            }
        }
        Ok(())
    }

    /// Cuts a region along chunk borders into at most `parts` regions of about equal size, for writers
    /// that work side by side: no two of them touch the same chunk.
    ///
    /// # Errors
    /// As [`Array::read`], for the region.
    pub fn write_plan(&self, region: impl IntoRegion, parts: usize) -> Result<Vec<Region>> {
        self.opened.write_plan(region, parts)
    }

    /// The chunk with these indices.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if the array has no such chunk.
    pub fn chunk(&self, indices: &[u64]) -> Result<Chunk> {
        Chunk::new(self.clone(), &self.opened, indices)
    }

    /// The chunks that a region touches, each once: handles that parallel writers can share out.
    ///
    /// # Errors
    /// As [`Array::read`], for the region.
    pub fn chunks(&self, region: impl IntoRegion) -> Result<impl Iterator<Item = Chunk>> {
        let (state, region) = self.opened.prepare(region)?;
        Chunk::all(self.clone(), &self.opened, &state, &region)
    }

    /// How many of its chunks are stored, or shards, where it has those: one listing. None at all, where there
    /// should be some, is a sign of chunk keys that their writer spelled otherwise than the document says.
    ///
    /// # Errors
    /// [`crate::StoreError::NotCapable`] if the store cannot list; what the store meets.
    pub fn stored_chunks(&self) -> Result<u64> {
        now(self.opened.stored_chunks())
    }

    /// Gives the array a new shape. What is cut off is forgotten, inside edge chunks, too, unless
    /// [`super::Options::keep_cut_off`] says otherwise; what is added reads as the fill value.
    ///
    /// # Errors
    /// [`AccessError::Rank`], [`AccessError::ReadOnly`]; what the store meets.
    pub fn resize(&self, shape: &[u64]) -> Result<()> {
        now(self.opened.resize(shape))
    }

    /// Makes the array longer along `axis` and writes `elements` there, all in C order; returns the
    /// coordinate at which they begin. Appends of several writers all arrive, each in a place of its own.
    ///
    /// # Errors
    /// [`AccessError::Count`] if the elements do not fill whole slices; otherwise as [`Array::write`].
    pub fn append<T: Element>(&self, axis: usize, elements: &[T]) -> Result<u64> {
        self.opened.check_elements(&self.opened.state(), elements)?;
        let (state, place) = now(self.opened.grow(axis, elements.len()))?;
        self.write_elements(&state, &place, elements)?;
        Ok(place.intervals()[axis].start)
    }

    /// Makes the array longer before its first element along `axis`, and writes `elements` there, all in C
    /// order: what had coordinate 0 has the coordinate after them. No stored element moves. Only a chunk
    /// grid that reaches before its origin can do so; those come from extensions.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for another grid; otherwise as [`Array::append`].
    pub fn prepend<T: Element>(&self, axis: usize, elements: &[T]) -> Result<()> {
        self.opened.check_elements(&self.opened.state(), elements)?;
        let (state, place) = now(self.opened.grow_before(axis, elements.len()))?;
        self.write_elements(&state, &place, elements)
    }

    /// Changes the user's attributes; see [`super::Group::update_attributes`].
    ///
    /// # Errors
    /// As there.
    pub fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        let room = &self.hierarchy.room;
        let attributes = now(change_attributes(room, self.path(), NodeKind::Array, change))?;
        self.opened.set_attributes(attributes.clone())?;
        Ok(attributes)
    }
}

#[cfg(feature = "ndarray")]
impl Array {
    /// Reads a region as an `ndarray` array.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read_ndarray<T: Element>(&self, region: impl IntoRegion) -> Result<ndarray::ArrayD<T>> {
        let (state, region) = self.opened.prepare(region)?;
        self.opened.check_type::<T>(&state)?;
        let mut elements = self.opened.room_for::<T>(&region)?;
        self.read_elements(&state, &region, state.span()?, &mut elements)?;
        let shape: Vec<usize> = region.shape().iter().map(|&n| n as usize).collect();
        Ok(ndarray::ArrayD::from_shape_vec(shape, elements)
            .expect("as many elements as the region has"))
    }

    /// Writes a region from an `ndarray` array of its shape, in whatever memory order.
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] if the shapes differ.
    pub fn write_ndarray<T: Element, D: ndarray::Dimension>(
        &self,
        region: impl IntoRegion,
        elements: ndarray::ArrayView<'_, T, D>,
    ) -> Result<()> {
        let (_, region) = self.opened.prepare(region)?;
        let shape: Vec<u64> = elements.shape().iter().map(|&n| n as u64).collect();
        if shape != region.shape() {
            let why = format!(
                "an array of shape {shape:?} does not fill the region {region} of shape {:?}",
                region.shape()
            );
            return Err(self.opened.at(AccessError::Argument(why)));
        }
        match elements.as_slice() {
            Some(slice) => self.write(region, slice),
            None => self.write(region, &elements.iter().cloned().collect::<Vec<T>>()),
        }
    }
}

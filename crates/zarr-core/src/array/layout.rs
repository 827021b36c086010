//! How the chunks of an array are stored: its codecs, its grid, its keys, its fill value.

use std::sync::Arc;

use bytes::Bytes;

use super::index_cache::IndexCache;
use super::state::{ArrayState, Chunks};
use crate::data_type::Repr;
use crate::error::{AccessError, Result};
use crate::grid::{ChunkPlace, chunk_place};
use crate::metadata::ArrayMetadata;
use crate::primitives::Guard;
use crate::store::{StoreKey, StorePrefix};
use crate::view::View;

/// An [`ArrayState`] whose chunks can be read: how they are stored.
///
/// Taken from the latest state for one call. A clone may be kept: it holds none of the few places that a thread has for states which it
/// takes without counting.
#[derive(Debug)]
pub(crate) struct ChunkLayout(Guard<Arc<ArrayState>>);

impl Clone for ChunkLayout {
    fn clone(&self) -> ChunkLayout {
        ChunkLayout(Guard::from_inner(Arc::clone(&self.0)))
    }
}

impl ChunkLayout {
    /// An error if its chunks cannot be read here.
    pub fn new(state: Guard<Arc<ArrayState>>) -> Result<ChunkLayout> {
        state.supported().map(drop)?;
        Ok(ChunkLayout(state))
    }

    /// The layout of an array in this state, also if the array has a newer one; an error if its chunks cannot be read here.
    pub fn from_state(state: Arc<ArrayState>) -> Result<ChunkLayout> {
        ChunkLayout::new(Guard::from_inner(state))
    }

    /// The array of which this is the layout.
    pub fn state(&self) -> &ArrayState {
        &self.0
    }

    pub fn metadata(&self) -> &ArrayMetadata {
        &self.0.metadata
    }

    /// How its chunks are stored.
    #[inline]
    pub fn chunks(&self) -> &Chunks {
        self.0.chunks().expect("a layout is of a state that has them")
    }

    /// All bytes of an element.
    pub fn span(&self) -> FieldBytes {
        FieldBytes::all(self.chunks().repr)
    }

    /// The key of the chunk with these indices.
    pub fn key(&self, indices: &[i64]) -> StoreKey {
        self.0.key(indices)
    }

    /// The other key at which a chunk may be stored.
    pub fn other_key(&self, indices: &[i64]) -> Option<StoreKey> {
        self.0.other_key(indices)
    }

    /// What the keys of all chunks begin with.
    pub fn prefix(&self) -> &StorePrefix {
        self.0.prefix()
    }

    /// The indices of the chunk at this place of the grid, as its key names them, and its region in the array.
    pub fn place_of_chunk(&self, grid_index: &[u64]) -> Result<ChunkPlace, AccessError> {
        let grid = &self.chunks().grid;
        let shape = &self.metadata().shape;
        let counts: Vec<u64> =
            shape.iter().enumerate().map(|(axis, &len)| grid.count(axis, len)).collect();
        let is_there = grid_index.len() == counts.len()
            && grid_index.iter().zip(&counts).all(|(&index, &count)| index < count);
        if !is_there {
            let why = format!(
                "there is no chunk {grid_index:?}; the array has {counts:?} chunks along its axes"
            );
            return Err(AccessError::Argument(why));
        }
        Ok(chunk_place(&**grid, grid_index, shape))
    }

    /// The fill value as an element of a view.
    pub fn fill(&self) -> &Bytes {
        &self.0.fill
    }

    /// These bytes of the fill value.
    pub fn fill_of(&self, span: FieldBytes) -> &[u8] {
        &self.0.fill[span.offset..span.offset + span.size]
    }

    /// The bytes of the fill value, which every variable-length buffer of the array holds.
    pub fn fill_content(&self) -> &Bytes {
        &self.0.content
    }

    /// Whether an element of nothing but fill need not be stored: an undefined fill value is no value.
    pub fn is_fill(&self, elements: &View<'_>) -> bool {
        self.0.is_fill(elements)
    }

    /// The indices of its shards.
    pub fn index_cache(&self) -> &IndexCache {
        &self.0.index_cache
    }
}

/// The bytes of each element that are read or written: all, or those of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldBytes {
    pub offset: usize,
    pub size: usize,
    /// Bytes of a whole element.
    pub element: usize,
}

impl FieldBytes {
    /// All bytes.
    pub fn all(repr: Repr) -> FieldBytes {
        FieldBytes { offset: 0, size: repr.size(), element: repr.size() }
    }

    pub fn is_whole(self) -> bool {
        self.size == self.element
    }
}

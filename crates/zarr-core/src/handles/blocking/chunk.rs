//! One whole chunk of an array, for one writer.
// @generated from async/chunk.rs by tests/it/generated_handles.rs of this crate. Change that file, then run
// `UPDATE=1 cargo test -p zarr-core --test it generated_handles`.

use std::sync::Arc;

use bytes::Bytes;

use super::Array;
use crate::array::ChunkLayout;
use crate::element::Element;
#[cfg(doc)]
use crate::error::AccessError;
use crate::error::Result;
use crate::grid::Walk;
use crate::region::{ByAxis, Region};
use crate::runtime::block_on;
use crate::selection::ResolvedSelection;
use crate::store::StoreKey;

/// One chunk of an array. [`Array::chunks`] gives each once, and it cannot be cloned, so that no two concurrent writers have
/// the same chunk.
#[derive(Debug)]
pub struct Chunk {
    owner: Arc<Owner>,
    indices: ByAxis<i64>,
    region: Region,
}

/// The array of some chunks, and its layout when they were selected.
#[derive(Debug)]
struct Owner {
    array: Array,
    layout: ChunkLayout,
}

impl Chunk {
    pub(super) fn new(array: Array, grid_index: &[u64]) -> Result<Chunk> {
        let layout = array.core.layout()?;
        let (indices, region) = layout.place_of_chunk(grid_index).map_err(|e| array.core.at(e))?;
        Ok(Chunk { owner: Arc::new(Owner { array, layout }), indices, region })
    }

    pub(super) fn all(
        array: Array,
        layout: ChunkLayout,
        selected: &ResolvedSelection,
    ) -> impl Iterator<Item = Chunk> + use<> {
        let mut walk = Walk::new(&*layout.chunks().grid, selected);
        let owner = Arc::new(Owner { array, layout });
        std::iter::from_fn(move || {
            let layout = &owner.layout;
            let (indices, region) =
                walk.next_place(&*layout.chunks().grid, &layout.metadata().shape)?;
            Some(Chunk { owner: owner.clone(), indices, region })
        })
    }

    pub(super) fn array(&self) -> &Array {
        &self.owner.array
    }

    /// Its indices, as its key names them.
    pub fn indices(&self) -> &[i64] {
        &self.indices
    }

    /// Its elements' place in the array; what an edge chunk overhangs is left out.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Its key.
    ///
    /// # Errors
    /// None for an array that could be opened.
    pub fn key(&self) -> Result<StoreKey> {
        Ok(self.owner.layout.key(&self.indices))
    }

    /// Reads its elements.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        block_on(self.array().core.read_vec(None, self.region().into()))
    }

    /// Its bytes as they are stored; `None` if it is not.
    ///
    /// # Errors
    /// What the store reports.
    pub fn encoded(&self) -> Result<Option<Bytes>> {
        block_on(self.array().core.chunk(&self.owner.layout, &self.indices).encoded())
    }

    /// The key at which it is written, which is not its usual one for scalars of the draft of 2020 that
    /// zarr-python 2.18 shall read (draft-v3.md 5, row 9). Of two objects that are stored for it, the one that
    /// readers pass over is erased.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; what the store reports.
    pub fn key_to_write(&self) -> Result<StoreKey> {
        let shape = self.region.shape();
        block_on(self.array().core.chunk(&self.owner.layout, &self.indices).key_to_write(&shape))
    }

    /// Erases it: its elements are fill from then on.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; what the store reports.
    pub fn erase(&mut self) -> Result<()> {
        block_on(self.array().core.chunk(&self.owner.layout, &self.indices).erase())
    }
}

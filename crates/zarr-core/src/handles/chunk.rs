//! The handle of one whole chunk.

use std::sync::Arc;

use bytes::Bytes;

use crate::array::{ArrayCore, ChunkLayout};
use crate::error::Result;
use crate::grid::chunk_projections;
use crate::region::Region;
use crate::selection::ResolvedSelection;
use crate::store::StoreKey;

/// One chunk of an array. [`Array::chunks`](crate::Array::chunks) gives each once, and it cannot be cloned, so that no two
/// concurrent writers have the same chunk.
///
/// `A` is the array's handle: [`crate::Array`] or [`crate::aio::Array`].
#[derive(Debug)]
pub struct ChunkOf<A> {
    array: A,
    core: Arc<ArrayCore>,
    layout: ChunkLayout,
    indices: Vec<i64>,
    region: Region,
}

impl<A: Clone> ChunkOf<A> {
    pub(super) fn new(array: A, core: &Arc<ArrayCore>, grid_index: &[u64]) -> Result<Self> {
        let layout = core.layout()?;
        let (indices, region) = core.chunk_place(&layout, grid_index)?;
        Ok(ChunkOf { array, core: core.clone(), layout, indices, region })
    }

    pub(super) fn all(
        array: A,
        core: &Arc<ArrayCore>,
        layout: &ChunkLayout,
        part: &ResolvedSelection,
    ) -> Result<impl Iterator<Item = Self> + use<A>> {
        let chunks = chunk_projections(&*layout.chunks.grid, &layout.metadata.shape, part);
        let places = chunks.map(|tile| core.chunk_place(layout, &tile.grid_index));
        let places = places.collect::<Result<Vec<_>>>()?;
        let (core, layout) = (core.clone(), layout.clone());
        Ok(places.into_iter().map(move |(indices, region)| {
            let (array, core, layout) = (array.clone(), core.clone(), layout.clone());
            ChunkOf { array, core, layout, indices, region }
        }))
    }
}

impl<A> ChunkOf<A> {
    pub(super) fn array(&self) -> &A {
        &self.array
    }

    pub(super) async fn get_encoded(&self) -> Result<Option<Bytes>> {
        self.core.encoded(&self.layout, &self.indices).await
    }

    pub(super) async fn remove(&self) -> Result<()> {
        self.core.erase_chunk(&self.layout, &self.indices).await
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
        self.layout.key(&self.indices)
    }
}

//! The handle of one whole chunk.

use std::sync::Arc;

use bytes::Bytes;

use crate::array::{ArrayCore, ChunkLayout};
use crate::error::Result;
use crate::grid::Walk;
use crate::region::{ByAxis, Region};
use crate::selection::ResolvedSelection;
use crate::store::StoreKey;

/// One chunk of an array. [`Array::chunks`](crate::Array::chunks) gives each once, and it cannot be cloned, so that no two
/// concurrent writers have the same chunk.
///
/// `A` is the array's handle: [`crate::Array`] or [`crate::aio::Array`].
#[derive(Debug)]
pub struct ChunkOf<A> {
    owner: Arc<Owner<A>>,
    indices: ByAxis<i64>,
    region: Region,
}

/// The array of some chunks.
#[derive(Debug)]
struct Owner<A> {
    array: A,
    core: Arc<ArrayCore>,
    layout: ChunkLayout,
}

impl<A> Owner<A> {
    fn new(array: A, core: &Arc<ArrayCore>, layout: &ChunkLayout) -> Arc<Owner<A>> {
        Arc::new(Owner { array, core: core.clone(), layout: layout.clone() })
    }
}

impl<A> ChunkOf<A> {
    pub(super) fn new(array: A, core: &Arc<ArrayCore>, grid_index: &[u64]) -> Result<Self> {
        let layout = core.layout()?;
        let (indices, region) = core.chunk_place(&layout, grid_index)?;
        Ok(ChunkOf { owner: Owner::new(array, core, &layout), indices, region })
    }

    pub(super) fn all(
        array: A,
        core: &Arc<ArrayCore>,
        layout: ChunkLayout,
        part: &ResolvedSelection,
    ) -> impl Iterator<Item = Self> + use<A> {
        let mut walk = Walk::new(&*layout.chunks().grid, part);
        let owner = Owner::new(array, core, &layout);
        std::iter::from_fn(move || {
            let layout = &owner.layout;
            let place = walk.next_place(&*layout.chunks().grid, &layout.metadata.shape);
            place.map(|(indices, region)| ChunkOf { owner: owner.clone(), indices, region })
        })
    }

    pub(super) fn array(&self) -> &A {
        &self.owner.array
    }

    pub(super) async fn get_encoded(&self) -> Result<Option<Bytes>> {
        self.owner.core.encoded(&self.owner.layout, &self.indices).await
    }

    pub(super) async fn remove(&self) -> Result<()> {
        self.owner.core.erase_chunk(&self.owner.layout, &self.indices).await
    }

    pub(super) async fn find_key_to_write(&self) -> Result<StoreKey> {
        let shape = self.region.shape();
        self.owner.core.write_key(&self.owner.layout, &self.indices, &shape).await
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
}

//! The handle of one whole chunk.

use std::sync::Arc;

use bytes::Bytes;

use super::{Array, aio};
use crate::array::{ArrayCore, ChunkLayout};
use crate::error::Result;
use crate::region::Region;
use crate::selection::ResolvedSelection;
use crate::store::StoreKey;

/// One chunk of an array. [`Array::chunks`] gives each once, and it cannot be cloned, so that no two concurrent writers
/// have the same chunk.
///
/// For async callers, `A` is [`crate::aio::Array`].
#[derive(Debug)]
pub struct Chunk<A = Array> {
    array: A,
    core: Arc<ArrayCore>,
    layout: ChunkLayout,
    indices: Vec<i64>,
    region: Region,
}

impl<A: Clone> Chunk<A> {
    pub(super) fn new(array: A, core: &Arc<ArrayCore>, ordinals: &[u64]) -> Result<Self> {
        let layout = core.layout()?;
        let (indices, region) = core.chunk_place(&layout, ordinals)?;
        Ok(Chunk { array, core: core.clone(), layout, indices, region })
    }

    pub(super) fn all(
        array: A,
        core: &Arc<ArrayCore>,
        layout: &ChunkLayout,
        part: &ResolvedSelection,
    ) -> Result<impl Iterator<Item = Self> + use<A>> {
        let place = |ordinals: Vec<u64>| core.chunk_place(layout, &ordinals);
        let places = core.chunks_of(layout, part).into_iter().map(place);
        let places = places.collect::<Result<Vec<_>>>()?;
        let (core, layout) = (core.clone(), layout.clone());
        Ok(places.into_iter().map(move |(indices, region)| {
            let (array, core, layout) = (array.clone(), core.clone(), layout.clone());
            Chunk { array, core, layout, indices, region }
        }))
    }
}

impl<A> Chunk<A> {
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

/// Chunks may go to other threads.
const _: fn() = || {
    fn sendable<T: Send>() {}
    sendable::<Chunk>();
    sendable::<Chunk<aio::Array>>();
};

//! How is one chunk had as a whole?

use std::sync::Arc;

use bytes::Bytes;

use super::array::Array;
use super::opened::{State, encoded_chunk};
use crate::element::Element;
use crate::error::{AccessError, Result};
use crate::grid::{Tile, tiles};
use crate::region::Region;
use crate::store::StoreKey;
use crate::store::aio::now;

/// One chunk of an array: handed out once by [`Array::chunks`] and not cloned, so that writers who
/// share the handles out among themselves never meet in a chunk.
#[derive(Debug)]
pub struct Chunk {
    array: Array,
    state: Arc<State>,
    indices: Vec<i64>,
    region: Region,
}

impl Chunk {
    pub(super) fn new(array: Array, indices: &[u64]) -> Result<Chunk> {
        let state = array.opened().state();
        let at = |e| array.opened().at(e);
        let (_, grid, _) = state.access().map_err(at)?;
        let shape = state.metadata.shape.clone();
        let fits = indices.len() == shape.len()
            && (0..shape.len()).all(|a| indices[a] < grid.count(a, shape[a]));
        if !fits {
            let counts: Vec<u64> = (0..shape.len()).map(|a| grid.count(a, shape[a])).collect();
            let why = format!(
                "there is no chunk {indices:?}; the array has {counts:?} chunks along its axes"
            );
            return Err(at(AccessError::Argument(why).into()));
        }
        let spans: Vec<_> =
            indices.iter().enumerate().map(|(axis, &o)| grid.span(axis, o)).collect();
        let region = Region::new(
            spans
                .iter()
                .zip(&shape)
                .map(|(s, &len)| s.start..s.start.saturating_add(s.len).min(len)),
        );
        let indices = spans.iter().map(|s| s.index).collect();
        Ok(Chunk { array, state, indices, region })
    }

    pub(super) fn all(
        array: Array,
        state: Arc<State>,
        region: Region,
    ) -> Result<impl Iterator<Item = Chunk>> {
        let shape = state.metadata.shape.clone();
        let (_, grid, _) = state.access().map_err(|e| array.opened().at(e))?;
        let places: Vec<(Vec<i64>, Region)> = tiles(grid, &shape, &region)
            .map(|tile| {
                let whole = Region::new(tile.indices.iter().enumerate().map(|(axis, _)| {
                    let asked = &region.intervals()[axis];
                    let first = asked.start + tile.place.intervals()[axis].start;
                    let span = grid.span(axis, grid.locate(axis, first));
                    span.start..span.start.saturating_add(span.len).min(shape[axis])
                }));
                (tile.indices, whole)
            })
            .collect();
        Ok(places.into_iter().map(move |(indices, region)| Chunk {
            array: array.clone(),
            state: state.clone(),
            indices,
            region,
        }))
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
        self.state.key(&self.indices)
    }

    /// Reads its elements.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.array.read(&self.region)
    }

    /// Writes all its elements.
    ///
    /// # Errors
    /// As [`Array::write`].
    pub fn write<T: Element>(&mut self, elements: &[T]) -> Result<()> {
        self.array.write(&self.region, elements)
    }

    /// Its bytes as they are stored; `None` if it is not.
    ///
    /// # Errors
    /// What the store meets.
    pub fn encoded(&self) -> Result<Option<Bytes>> {
        let opened = self.array.opened();
        now(async {
            let key = self.key()?;
            match encoded_chunk(&*opened.room.store, &key)
                .await
                .map_err(|e| opened.at(e).at_key(&key))?
            {
                Some(bytes) => Ok(Some(bytes)),
                None => match self.state.other_key(&self.indices)? {
                    Some(other) => encoded_chunk(&*opened.room.store, &other).await,
                    None => Ok(None),
                },
            }
        })
    }

    /// Erases it: its elements are fill from then on.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; what the store meets.
    pub fn erase(&mut self) -> Result<()> {
        let opened = self.array.opened();
        now(async {
            let writeable = opened.room.writeable().map_err(|e| opened.at(e))?;
            for key in
                [Some(self.key()?), self.state.other_key(&self.indices)?].into_iter().flatten()
            {
                writeable
                    .erase(&key)
                    .await
                    .map_err(|e| opened.at(e).at_chunk(&self.indices).at_key(&key))?;
            }
            Ok(())
        })
    }
}

/// A tile is `Send`: chunks may be shared out among threads.
const _: fn() = || {
    fn sendable<T: Send>() {}
    sendable::<Tile>();
    sendable::<Chunk>();
};

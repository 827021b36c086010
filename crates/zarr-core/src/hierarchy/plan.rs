//! Which parts of an array will be touched?
//!
//! Everything about a request that can be told without the store, for callers that block and callers
//! that wait.

use std::sync::Arc;

use super::opened::{Opened, State};
use crate::error::{AccessError, Result};
use crate::grid::{ChunkGrid, tiles};
use crate::region::{IntoRegion, Region};

impl Opened {
    /// The array as it is known, and a region that lies inside it.
    pub fn prepare(&self, region: impl IntoRegion) -> Result<(Arc<State>, Region)> {
        let state = self.state();
        state.access().map_err(|e| self.at(e))?;
        let region = region.into_region(&state.metadata.shape).map_err(|e| self.at(e))?;
        Ok((state, region))
    }

    /// Regions along chunk borders that cover `region`, at most `parts` of them.
    pub fn write_plan(&self, region: impl IntoRegion, parts: usize) -> Result<Vec<Region>> {
        let (state, region) = self.prepare(region)?;
        let (_, grid, _) = state.access().map_err(|e| self.at(e))?;
        if region.is_empty() {
            return Ok(Vec::new());
        }
        let ordinals = |axis: usize| {
            let r = &region.intervals()[axis];
            grid.locate(axis, r.start)..grid.locate(axis, r.end - 1) + 1
        };
        let longest = (0..region.rank())
            .max_by_key(|&axis| (ordinals(axis).end - ordinals(axis).start, usize::MAX - axis));
        let Some(axis) = longest else {
            return Ok(vec![region]);
        };
        let chunks = ordinals(axis);
        let count = chunks.end - chunks.start;
        let parts = (parts.max(1) as u64).min(count);
        let border = |part: u64| {
            let ordinal =
                chunks.start + (u128::from(count) * u128::from(part) / u128::from(parts)) as u64;
            let asked = &region.intervals()[axis];
            match part {
                0 => asked.start,
                part if part == parts => asked.end,
                _ => grid.span(axis, ordinal).start.clamp(asked.start, asked.end),
            }
        };
        let part = |n: u64| {
            let mut intervals = region.intervals().to_vec();
            intervals[axis] = border(n)..border(n + 1);
            Region::new(intervals)
        };
        Ok((0..parts).map(part).collect())
    }

    /// The indices and the place in the array of the chunk with these ordinals.
    pub fn chunk_place(&self, state: &State, ordinals: &[u64]) -> Result<(Vec<i64>, Region)> {
        let (_, grid, _) = state.access().map_err(|e| self.at(e))?;
        let shape = &state.metadata.shape;
        let counts: Vec<u64> = (0..shape.len()).map(|a| grid.count(a, shape[a])).collect();
        if ordinals.len() != counts.len()
            || ordinals.iter().zip(&counts).any(|(o, count)| o >= count)
        {
            let why = format!(
                "there is no chunk {ordinals:?}; the array has {counts:?} chunks along its axes"
            );
            return Err(self.at(AccessError::Argument(why)));
        }
        let spans = ordinals.iter().enumerate().map(|(axis, &o)| grid.span(axis, o));
        let place = spans
            .zip(shape)
            .map(|(s, &len)| (s.index, s.start..s.start.saturating_add(s.len).min(len)));
        let (indices, intervals): (Vec<_>, Vec<_>) = place.unzip();
        Ok((indices, Region::new(intervals)))
    }

    /// The ordinals of the chunks that a region touches, each once.
    pub fn chunks_of(&self, state: &State, region: &Region) -> Result<Vec<Vec<u64>>> {
        let (_, grid, _) = state.access().map_err(|e| self.at(e))?;
        let first = |tile: crate::grid::Tile| {
            let place = tile.place.intervals().iter().zip(region.intervals()).enumerate();
            place
                .map(|(axis, (place, asked))| grid.locate(axis, asked.start + place.start))
                .collect()
        };
        Ok(tiles(grid, &state.metadata.shape, region).map(first).collect())
    }
}

/// Whether a region lies in more than one chunk.
pub(crate) fn touches_many(grid: &dyn ChunkGrid, region: &Region) -> bool {
    !region.is_empty()
        && region
            .intervals()
            .iter()
            .enumerate()
            .any(|(axis, r)| grid.locate(axis, r.start) != grid.locate(axis, r.end - 1))
}

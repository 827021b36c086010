//! Plans a read or a write without the store: which chunks of an array it touches.

use super::executor::{TOGETHER, Work};
use super::{ArrayCore, ChunkLayout};
use crate::error::{AccessError, Result};
use crate::grid::{ChunkGrid, ChunkPlace, Pieces, chunk_place, cut_along_borders};
use crate::region::Region;
use crate::selection::{Resolved, ResolvedSelection, Selection};

impl ArrayCore {
    /// The latest layout of the array, and what is selected of it.
    pub fn prepare(&self, selection: impl Into<Selection>) -> Result<(ChunkLayout, Resolved)> {
        let layout = self.layout()?;
        let selected = selection.into().of(&layout.metadata).map_err(|e| self.at(e))?;
        Ok((layout, selected))
    }

    /// See [`Array::pieces`](crate::Array::pieces).
    pub fn pieces(&self, selection: impl Into<Selection>, max_bytes: u64) -> Result<Pieces> {
        Pieces::of(selection.into(), &self.state().metadata, max_bytes).map_err(|e| self.at(e))
    }

    /// Cuts `region` along chunk borders into at most `parts` regions.
    pub fn write_plan(&self, region: impl Into<Selection>, parts: usize) -> Result<Vec<Region>> {
        let (layout, selected) = self.prepare(region)?;
        let grid = &layout.chunks().grid;
        let Some(region) = selected.part.as_region().cloned() else {
            let why = "a plan is made of a region, one range of step 1 for each axis";
            return Err(self.at(AccessError::Argument(why.into())));
        };
        Ok(cut_along_borders(&**grid, &region, parts))
    }

    /// The indices of the chunk at this place of the grid, as its key names them, and its region in the array.
    pub fn chunk_place(&self, layout: &ChunkLayout, grid_index: &[u64]) -> Result<ChunkPlace> {
        let (grid, shape) = (&layout.chunks().grid, &layout.metadata.shape);
        let counts = || shape.iter().enumerate().map(|(axis, &len)| grid.count(axis, len));
        if grid_index.len() != shape.len() || grid_index.iter().zip(counts()).any(|(&o, n)| o >= n)
        {
            let counts: Vec<u64> = counts().collect();
            let why = format!(
                "there is no chunk {grid_index:?}; the array has {counts:?} chunks along its axes"
            );
            return Err(self.at(AccessError::Argument(why)));
        }
        Ok(chunk_place(&**grid, grid_index, shape))
    }
}

/// How much work the chunks are that a part touches, of elements of `element_size` bytes.
pub(crate) fn work(grid: &dyn ChunkGrid, part: &ResolvedSelection, element_size: usize) -> Work {
    let (mut many, mut size, mut row) = (false, element_size as u64, 1);
    let wanted = part.element_count().unwrap_or(u64::MAX);
    let total = wanted.saturating_mul(element_size as u64);
    if part.is_empty() {
        return Work { many, size, total, row };
    }
    for (axis, range) in part.bounds().intervals().iter().enumerate() {
        let first = grid.locate(axis, range.start);
        row = grid.locate(axis, range.end - 1).abs_diff(first).saturating_add(1);
        many |= row > 1;
        size = size.saturating_mul(grid.span(axis, first).len);
    }
    // Of fewer than 64 rows, threads take chunks.
    let most = TOGETHER.min(total / 64);
    let row = if size.saturating_mul(row) > most { 1 } else { row };
    Work { many, size, total, row }
}

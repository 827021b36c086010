//! Splits output memory along chunk borders.
//!
//! Each chunk's projection owns its piece of the output. Ownership makes the pieces disjoint, so a broken grid of a third
//! party can do no harm.

use std::sync::Arc;

use super::ChunkGrid;
use super::chunk_projection::{Axis, ChunkProjection, ChunkProjections, Piece, tile};
use crate::selection::ResolvedSelection;
use crate::view::output::Output;

/// The chunks that a part touches, each with its own piece of `out`.
pub(crate) struct SplitOutput<'a, 'm> {
    grid: &'a dyn ChunkGrid,
    shape: &'a [u64],
    axes: Arc<Vec<Axis>>,
    /// For each axis that is cut: the rest of the memory, if there is any, and the position at which that begins.
    left: Vec<(Option<Output<'m>>, u64)>,
    pieces: Vec<Piece>,
    /// Whether all memory is cleared before it is cut.
    is_to_be_cleared: bool,
}

impl<'a, 'm> SplitOutput<'a, 'm> {
    /// Cuts `out`, which has the shape of `part`. Returns it with the chunks if the elements of a chunk are scattered over
    /// it.
    pub fn new(
        grid: &'a dyn ChunkGrid,
        shape: &'a [u64],
        part: &ResolvedSelection,
        out: Output<'m>,
    ) -> Result<Self, Box<(ChunkProjections<'a>, Output<'m>)>> {
        let axes = match ChunkProjections::new(grid, shape, part).into_axes() {
            Ok(axes) => Arc::new(axes),
            Err(tiles) => return Err(Box::new((tiles, out))),
        };
        let left = Vec::with_capacity(axes.len() + 1);
        let pieces = Vec::with_capacity(axes.len());
        let mut cut = SplitOutput { grid, shape, axes, left, pieces, is_to_be_cleared: false };
        if !part.is_empty() {
            cut.left.push((Some(out), 0));
        }
        Ok(cut)
    }

    /// The same in groups, each a chunk or a row of them along the last axis. Threads take groups one after the other, and
    /// cut them without waiting for each other.
    ///
    /// Rows of small chunks are cleared as a whole by the thread that takes them, if `clear`: the pieces of one are many short
    /// runs, which take longer to clear one by one.
    pub fn groups(mut self, are_rows: bool, clear: bool) -> impl Iterator<Item = Self> {
        let depth = self.axes.len().saturating_sub(are_rows.into());
        std::iter::from_fn(move || {
            let memory = self.next_at(depth)?;
            let left = (0..depth).map(|_| (None, 0)).chain([(Some(memory), 0)]).collect();
            Some(SplitOutput {
                grid: self.grid,
                shape: self.shape,
                axes: self.axes.clone(),
                left,
                pieces: self.pieces.clone(),
                is_to_be_cleared: are_rows && clear,
            })
        })
    }

    /// The next part of the memory that is cut along this number of axes.
    fn next_at(&mut self, depth: usize) -> Option<Output<'m>> {
        while let Some((memory, from)) = self.left.pop() {
            let axis = self.left.len();
            self.pieces.truncate(axis);
            let Some(memory) = memory else { continue };
            if axis == depth {
                return Some(memory);
            }
            let piece = self.axes[axis].piece(self.grid, axis, from);
            let (here, rest) = if memory.len_along(axis) as u64 == piece.count {
                (memory, None)
            } else {
                let (here, rest) = memory.split_at(axis, piece.count);
                (here, Some(rest))
            };
            self.left.push((rest, from + piece.count));
            self.pieces.push(piece);
            self.left.push((Some(here), 0));
        }
        None
    }
}

impl<'m> Iterator for SplitOutput<'_, 'm> {
    type Item = (ChunkProjection, Output<'m>);

    fn next(&mut self) -> Option<Self::Item> {
        if std::mem::take(&mut self.is_to_be_cleared) {
            for memory in self.left.iter_mut().filter_map(|(memory, _)| memory.as_mut()) {
                memory.view();
            }
        }
        let memory = self.next_at(self.axes.len())?;
        Some((tile(&self.axes, &self.pieces, self.shape), memory))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RegularGrid, chunk_projections};
    use super::*;
    use crate::region::Region;
    use crate::view::ViewMut;

    #[test]
    fn pieces_are_those_of_the_tiles() {
        let shape = [7, 9, 4];
        let grid = RegularGrid::new(&[3, 4, 3], &shape).unwrap();
        for region in
            [Region::all(&shape), Region::new([2..7, 3..9, 1..2]), Region::new([0..1, 8..9, 3..4])]
        {
            let size = region.element_count().unwrap() as usize;
            let mut memory = vec![0u8; size];
            let out = ViewMut::new(&mut memory, &region.shape(), 1);
            let mut found = Vec::new();
            let cut = SplitOutput::new(&grid, &shape, &(&region).into(), out.into());
            let cut = cut.unwrap_or_else(|_| panic!("a region is cut in boxes"));
            for (n, (tile, piece)) in cut.enumerate() {
                let mut piece = piece.into_view();
                assert_eq!(piece.shape(), tile.output.shape());
                piece.fill(&[n as u8 + 1]);
                found.push(tile);
            }
            assert_eq!(found, chunk_projections(&grid, &shape, &region).collect::<Vec<_>>());
            assert!(memory.iter().all(|&b| b > 0));
        }
    }

    #[test]
    fn groups_have_the_pieces_in_their_order() {
        // Each with the chunks of a row.
        let shapes: [(&[u64], &[u64], usize); 4] =
            [(&[7, 9, 4], &[3, 4, 3], 2), (&[5], &[2], 3), (&[], &[], 1), (&[3, 0], &[2, 2], 0)];
        for (shape, chunks, row) in shapes {
            let grid = RegularGrid::new(chunks, shape).unwrap();
            let all = Region::all(shape);
            let tiles: Vec<_> = chunk_projections(&grid, shape, &all).collect();
            let mut memory = vec![0u8; all.element_count().unwrap() as usize];
            for are_rows in [false, true] {
                let out = ViewMut::new(&mut memory, shape, 1);
                let cut = SplitOutput::new(&grid, shape, &(&all).into(), out.into());
                let cut = cut.unwrap_or_else(|_| panic!("a region is cut in boxes"));
                let groups: Vec<Vec<_>> =
                    cut.groups(are_rows, are_rows).map(Iterator::collect).collect();
                let len = if are_rows { row } else { row.min(1) };
                assert!(groups.iter().all(|group| group.len() == len), "{shape:?} {are_rows}");
                let pieces: Vec<_> = groups.into_iter().flatten().collect();
                assert_eq!(pieces.len(), tiles.len());
                for (tile, (found, piece)) in tiles.iter().zip(pieces) {
                    assert_eq!((tile, tile.output.shape()), (&found, piece.into_view().shape()));
                }
            }
        }
    }
}

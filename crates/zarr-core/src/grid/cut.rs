//! How is memory handed out along chunk borders?
//!
//! Each tile owns its piece of the output: that pieces are disjoint is a fact of ownership, so no
//! grid, not even a third party's, needs to be trusted with it.

use super::ChunkGrid;
use super::tiles::{Tile, tile};
use crate::region::Region;
use crate::view::ViewMut;

/// The tiles of a region, in C order of chunks, each with its own piece of `out`.
pub(crate) struct Cut<'a, 'm> {
    grid: &'a dyn ChunkGrid,
    shape: &'a [u64],
    region: &'a Region,
    /// For each axis that is cut: what is left of the memory, and the next chunk's ordinal.
    left: Vec<(ViewMut<'m>, u64)>,
    ordinals: Vec<u64>,
    scalar: Option<ViewMut<'m>>,
}

impl<'a, 'm> Cut<'a, 'm> {
    /// Cuts `out`, which has the shape of `region`.
    pub fn new(
        grid: &'a dyn ChunkGrid,
        shape: &'a [u64],
        region: &'a Region,
        out: ViewMut<'m>,
    ) -> Self {
        let mut cut =
            Cut { grid, shape, region, left: Vec::new(), ordinals: Vec::new(), scalar: None };
        match (region.is_empty(), region.rank()) {
            (true, _) => {}
            (false, 0) => cut.scalar = Some(out),
            (false, _) => cut.descend(out),
        }
        cut
    }

    /// Begins the next axis with this much memory.
    fn descend(&mut self, memory: ViewMut<'m>) {
        let axis = self.left.len();
        let first = self.grid.locate(axis, self.region.intervals()[axis].start);
        self.left.push((memory, first));
        self.ordinals.push(first);
    }
}

impl<'m> Iterator for Cut<'_, 'm> {
    type Item = (Tile, ViewMut<'m>);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(out) = self.scalar.take() {
            return Some((tile(self.grid, self.shape, self.region, &[]), out));
        }
        while let Some((memory, ordinal)) = self.left.pop() {
            let axis = self.left.len();
            self.ordinals.truncate(axis);
            let remaining = memory.shape()[axis];
            if remaining == 0 {
                continue;
            }
            let asked = &self.region.intervals()[axis];
            let span = self.grid.span(axis, ordinal);
            let end = span.start.saturating_add(span.len).min(asked.end);
            let here = end.saturating_sub(asked.start.max(span.start)).clamp(1, remaining);
            let (piece, rest) = memory.split_at(axis, here);
            self.left.push((rest, ordinal + 1));
            self.ordinals.push(ordinal);
            if axis + 1 < self.region.rank() {
                self.descend(piece);
                continue;
            }
            return Some((tile(self.grid, self.shape, self.region, &self.ordinals), piece));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RegularGrid, tiles};
    use super::*;

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
            for (n, (tile, mut piece)) in Cut::new(&grid, &shape, &region, out).enumerate() {
                assert_eq!(piece.shape(), tile.place.shape());
                piece.fill(&[n as u8 + 1]);
                found.push(tile);
            }
            assert_eq!(found, tiles(&grid, &shape, &region).collect::<Vec<_>>());
            assert!(memory.iter().all(|&b| b > 0));
        }
    }
}

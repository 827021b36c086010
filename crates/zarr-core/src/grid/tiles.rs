//! Which chunks does a region touch, and which part of each?

use super::ChunkGrid;
use crate::region::Region;

/// The part of one chunk that a region touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The chunk's indices.
    pub indices: Vec<i64>,
    /// The shape of the chunk as it is stored.
    pub chunk_shape: Vec<u64>,
    /// Which elements of the stored chunk.
    pub within: Region,
    /// Where they lie in the region that was cut.
    pub place: Region,
    /// Whether every element that the array has in this chunk is touched.
    pub whole: bool,
}

/// How many chunks an array of this shape has; `None` if they cannot be counted.
pub fn chunk_count(grid: &dyn ChunkGrid, shape: &[u64]) -> Option<u64> {
    let counts: Vec<u64> =
        shape.iter().enumerate().map(|(axis, &len)| grid.count(axis, len)).collect();
    crate::region::element_count(&counts)
}

/// The tiles of `region` in an array of this shape, in C order of chunks, cut as they are asked for.
pub fn tiles<'a>(
    grid: &'a dyn ChunkGrid,
    shape: &'a [u64],
    region: &'a Region,
) -> impl Iterator<Item = Tile> + 'a {
    let ordinals: Vec<(u64, u64)> = region
        .intervals()
        .iter()
        .enumerate()
        .map(|(axis, r)| match r.is_empty() {
            true => (0, 0),
            false => (grid.locate(axis, r.start), grid.locate(axis, r.end - 1) + 1),
        })
        .collect();
    let mut next: Option<Vec<u64>> =
        (!region.is_empty()).then(|| ordinals.iter().map(|(first, _)| *first).collect());
    std::iter::from_fn(move || {
        let at = next.take()?;
        let tile = tile(grid, shape, region, &at);
        let mut following = at;
        for axis in (0..following.len()).rev() {
            following[axis] += 1;
            if following[axis] < ordinals[axis].1 {
                next = Some(following);
                break;
            }
            following[axis] = ordinals[axis].0;
        }
        Some(tile)
    })
}

pub(super) fn tile(grid: &dyn ChunkGrid, shape: &[u64], region: &Region, ordinals: &[u64]) -> Tile {
    let rank = ordinals.len();
    let mut tile = Tile {
        indices: Vec::with_capacity(rank),
        chunk_shape: Vec::with_capacity(rank),
        within: Region::new([]),
        place: Region::new([]),
        whole: true,
    };
    let (mut within, mut place) = (Vec::with_capacity(rank), Vec::with_capacity(rank));
    for (axis, asked) in region.intervals().iter().enumerate() {
        let span = grid.span(axis, ordinals[axis]);
        let end = span.start.saturating_add(span.len).min(shape[axis]);
        let (from, to) = (asked.start.max(span.start), asked.end.min(end));
        tile.whole &= from == span.start && to == end;
        within.push(span.before + from - span.start..span.before + to - span.start);
        place.push(from - asked.start..to - asked.start);
        tile.indices.push(span.index);
        tile.chunk_shape.push(span.stored);
    }
    Tile { within: Region::new(within), place: Region::new(place), ..tile }
}

#[cfg(test)]
mod tests {
    use super::super::RegularGrid;
    use super::*;

    /// D-040.
    #[test]
    fn tiles_cover_the_region_once() {
        let shape = [7, 9];
        let grid = RegularGrid::new(&[3, 4], &shape).unwrap();
        let region = Region::new([2..7, 3..9]);
        let mut seen = vec![0; 30];
        for tile in tiles(&grid, &shape, &region) {
            for y in tile.place.intervals()[0].clone() {
                for x in tile.place.intervals()[1].clone() {
                    seen[(y * 6 + x) as usize] += 1;
                }
            }
            assert_eq!(tile.within.shape(), tile.place.shape());
        }
        assert_eq!(seen, [1; 30]);
        let whole: Vec<bool> = tiles(&grid, &shape, &region).map(|t| t.whole).collect();
        assert_eq!(whole, [false, false, false, false, true, true, false, true, true]);
    }

    #[test]
    fn scalars_have_one_tile_and_nothing_has_none() {
        let grid = RegularGrid::new(&[], &[]).unwrap();
        assert_eq!(tiles(&grid, &[], &Region::new([])).count(), 1);
        let grid = RegularGrid::new(&[2], &[0]).unwrap();
        assert_eq!(tiles(&grid, &[0], &Region::all(&[0])).count(), 0);
    }
}

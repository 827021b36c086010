//! Lists the chunks that a part of an array touches, and the elements of each.

use super::{ChunkExtent, ChunkGrid};
use crate::region::{ByAxis, Region, element_count};
use crate::selection::{AxisIndices, Elements, ResolvedSelection, distinct};

/// The elements of one chunk that a part touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkProjection {
    /// The chunk's place in the grid, counted from the first chunk along each axis.
    pub grid_index: Vec<u64>,
    /// The chunk's index along each axis, as its key has it.
    pub key_index: Vec<i64>,
    /// The shape of the chunk as it is stored.
    pub chunk_shape: Vec<u64>,
    /// The elements in the stored chunk.
    pub within: ResolvedSelection,
    /// Their places in output of the shape of the part.
    pub output: ResolvedSelection,
    /// Whether every element that the array has in this chunk is touched.
    pub whole: bool,
}

impl ChunkProjection {
    /// Whether every element of the stored chunk is touched, also what overhangs the array.
    pub fn covers_stored_chunk(&self) -> bool {
        if !self.whole {
            return false;
        }
        match self.within.as_region() {
            Some(region) => region.is_all(&self.chunk_shape),
            None => self.within.bounds().is_all(&self.chunk_shape),
        }
    }
}

/// The extents, along each axis, of the chunk at this place in the grid.
pub(crate) fn extents(grid: &dyn ChunkGrid, grid_index: &[u64]) -> ByAxis<ChunkExtent> {
    grid_index.iter().enumerate().map(|(axis, &ordinal)| grid.span(axis, ordinal)).collect()
}

/// The indices of a chunk, as its key has them, and its elements' region in the array.
pub(crate) type ChunkPlace = (ByAxis<i64>, Region);

/// The chunk at this place in the grid, in an array of this shape.
pub(crate) fn chunk_place(grid: &dyn ChunkGrid, grid_index: &[u64], shape: &[u64]) -> ChunkPlace {
    place(extents(grid, grid_index).into_iter(), shape)
}

fn place(spans: impl Iterator<Item = ChunkExtent>, shape: &[u64]) -> ChunkPlace {
    let mut indices = ByAxis::new();
    let mut intervals = ByAxis::new();
    for (span, &len) in spans.zip(shape) {
        indices.push(span.index);
        // Of a broken grid of a third party it may end before it begins.
        let end = span.start.saturating_add(span.len).min(len);
        intervals.push(span.start..end.max(span.start));
    }
    (indices, Region::of(intervals))
}

/// How many chunks an array of this shape has; `None` if they cannot be counted.
pub fn chunk_count(grid: &dyn ChunkGrid, shape: &[u64]) -> Option<u64> {
    let counts: Vec<u64> =
        shape.iter().enumerate().map(|(axis, &len)| grid.count(axis, len)).collect();
    element_count(&counts)
}

/// The chunks that a part of an array of this shape touches, each once, in C order of chunks unless the part has another
/// order. The iterator makes each when it is needed.
pub fn chunk_projections<'a>(
    grid: &'a dyn ChunkGrid,
    shape: &'a [u64],
    part: impl Into<ResolvedSelection>,
) -> impl Iterator<Item = ChunkProjection> + 'a {
    ChunkProjections::new(grid, shape, &part.into())
}

/// The projection of a part that is a region in one chunk; `None` if it is in several, or in none.
pub(crate) fn only_projection(
    grid: &dyn ChunkGrid,
    shape: &[u64],
    part: &ResolvedSelection,
) -> Option<ChunkProjection> {
    let region = part.as_region().filter(|region| !region.is_empty())?;
    let rank = region.rank();
    let mut whole = true;
    let mut grid_index = Vec::with_capacity(rank);
    let mut key_index = Vec::with_capacity(rank);
    let mut chunk_shape = Vec::with_capacity(rank);
    let mut within = ByAxis::new();
    for (axis, r) in region.intervals().iter().enumerate() {
        let ordinal = grid.locate(axis, r.start);
        let span = grid.span(axis, ordinal);
        let len = r.end - r.start;
        if r.start < span.start || r.end > span.start.saturating_add(span.len) {
            return None;
        }
        let start = span.before.saturating_add(r.start - span.start);
        whole &= len == extent(&span, shape[axis]);
        grid_index.push(ordinal);
        key_index.push(span.index);
        chunk_shape.push(span.stored);
        within.push(start..start.saturating_add(len));
    }
    let within = Region::of(within).into();
    let output = Region::all(&region.lengths()).into();
    Some(ChunkProjection { grid_index, key_index, chunk_shape, within, output, whole })
}

/// See [`chunk_projections`].
pub(crate) struct ChunkProjections<'a> {
    grid: &'a dyn ChunkGrid,
    shape: &'a [u64],
    walk: Walk,
}

impl<'a> ChunkProjections<'a> {
    pub fn new(grid: &'a dyn ChunkGrid, shape: &'a [u64], part: &ResolvedSelection) -> Self {
        ChunkProjections { grid, shape, walk: Walk::new(grid, part) }
    }

    /// The axes, if along each of them the elements of every chunk follow each other, so that memory of the
    /// part's shape can be handed out in boxes.
    pub fn into_axes(self) -> Result<Vec<Axis>, Self> {
        match self.walk {
            Walk::Axes(axes, _) if axes.iter().all(|axis| axis.order.is_none()) => Ok(axes),
            _ => Err(self),
        }
    }
}

impl Iterator for ChunkProjections<'_> {
    type Item = ChunkProjection;

    fn next(&mut self) -> Option<ChunkProjection> {
        self.walk.next_as(self.grid, self.shape, tile, |points| points)
    }
}

/// Which chunks a part touches, and those that came already. Each call has the grid and the shape with which it was made.
pub(crate) enum Walk {
    /// Axis by axis, with the positions of each axis that are in the next chunk; before the first one with none.
    Axes(Vec<Axis>, Option<Vec<Piece>>),
    Points(Points),
}

impl Walk {
    pub fn new(grid: &dyn ChunkGrid, part: &ResolvedSelection) -> Walk {
        match part.elements() {
            Elements::Points { coordinates, count } => {
                Walk::Points(Points::new(grid, coordinates.clone(), *count))
            }
            _ => {
                let axes = part.by_axis().enumerate();
                let axes = axes.map(|(axis, picks)| Axis::new(grid, axis, picks)).collect();
                Walk::Axes(axes, (!part.is_empty()).then(Vec::new))
            }
        }
    }

    /// The place of the next chunk, without its projection.
    pub fn next_place(&mut self, grid: &dyn ChunkGrid, shape: &[u64]) -> Option<ChunkPlace> {
        self.next_as(
            grid,
            shape,
            |_, pieces, shape| place(pieces.iter().map(|piece| piece.span), shape),
            |points| chunk_place(grid, &points.grid_index, shape),
        )
    }

    /// What one of the two makes of the next chunk.
    fn next_as<T>(
        &mut self,
        grid: &dyn ChunkGrid,
        shape: &[u64],
        of_axes: impl FnOnce(&[Axis], &[Piece], &[u64]) -> T,
        of_points: impl FnOnce(ChunkProjection) -> T,
    ) -> Option<T> {
        match self {
            Walk::Points(points) => points.next(grid, shape).map(of_points),
            Walk::Axes(axes, next) => {
                let mut pieces = next.take()?;
                let begun = pieces.len();
                pieces.extend((begun..axes.len()).map(|a| axes[a].piece(grid, a, 0)));
                let made = of_axes(axes, &pieces, shape);
                for axis in (0..pieces.len()).rev() {
                    let end = pieces[axis].from + pieces[axis].count;
                    if end < axes[axis].picks.len() {
                        pieces[axis] = axes[axis].piece(grid, axis, end);
                        *next = Some(pieces);
                        break;
                    }
                    if pieces[axis].from > 0 {
                        pieces[axis] = axes[axis].piece(grid, axis, 0);
                    }
                }
                Some(made)
            }
        }
    }
}

/// The elements that a part has along one axis.
pub(crate) struct Axis {
    pub picks: AxisIndices,
    /// The positions of a list in the order of chunks, unless the list is in that order itself.
    order: Option<Vec<u64>>,
}

/// The positions of an axis that are in one chunk: `count` from `from` on, in the order of chunks.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    ordinal: u64,
    span: ChunkExtent,
    from: u64,
    pub count: u64,
}

impl Axis {
    fn new(grid: &dyn ChunkGrid, axis: usize, picks: AxisIndices) -> Axis {
        let AxisIndices::List(list) = &picks else { return Axis { picks, order: None } };
        let ordinals: Vec<u64> = list.iter().map(|&at| grid.locate(axis, at)).collect();
        let order = (!ordinals.is_sorted()).then(|| {
            let mut order: Vec<u64> = (0..list.len() as u64).collect();
            // Stable: within a chunk positions stay in their order.
            order.sort_by_key(|&position| ordinals[position as usize]);
            order
        });
        Axis { picks, order }
    }

    fn at(&self, position: u64) -> u64 {
        match &self.order {
            None => self.picks.at(position),
            Some(order) => self.picks.at(order[position as usize]),
        }
    }

    /// The positions in the chunk of the position `from`, which is less than the number of positions.
    pub fn piece(&self, grid: &dyn ChunkGrid, axis: usize, from: u64) -> Piece {
        let first = self.at(from);
        let ordinal = grid.locate(axis, first);
        let span = grid.span(axis, ordinal);
        let end = span.start.saturating_add(span.len);
        let left = self.picks.len() - from;
        let count = match self.picks {
            AxisIndices::Steps { step, .. } if step > 0 => {
                end.saturating_sub(first).div_ceil(step.unsigned_abs())
            }
            AxisIndices::Steps { step, .. } => {
                first.saturating_sub(span.start) / step.unsigned_abs().max(1) + 1
            }
            AxisIndices::List(_) => {
                let chunk = span.start..end;
                (from..from + left)
                    .take_while(|&position| chunk.contains(&self.at(position)))
                    .count() as u64
            }
        };
        // At least one, also with a broken grid of a third party: else the walk would not end.
        Piece { ordinal, span, from, count: count.clamp(1, left) }
    }

    /// Their elements in the stored chunk.
    fn within(&self, piece: &Piece) -> AxisIndices {
        let Piece { span, from, count, .. } = *piece;
        match &self.picks {
            AxisIndices::Steps { step, .. } => AxisIndices::Steps {
                start: in_chunk(&span, self.at(from)),
                step: *step,
                len: count,
            },
            AxisIndices::List(_) => AxisIndices::list(
                (from..from + count).map(|position| in_chunk(&span, self.at(position))).collect(),
            ),
        }
    }

    /// Their places in the output.
    fn output(&self, piece: &Piece) -> AxisIndices {
        match &self.order {
            None => AxisIndices::range(piece.from, piece.count),
            Some(order) => {
                AxisIndices::list(order[piece.from as usize..][..piece.count as usize].to_vec())
            }
        }
    }
}

/// How many elements along an axis of length `len` the array has in a chunk.
fn extent(span: &ChunkExtent, len: u64) -> u64 {
    span.start.saturating_add(span.len).min(len).saturating_sub(span.start)
}

/// The projection on the chunk that has these positions.
pub(crate) fn tile(axes: &[Axis], pieces: &[Piece], shape: &[u64]) -> ChunkProjection {
    let mut whole = true;
    let within = axes.iter().zip(pieces).zip(shape).map(|((axis, piece), &len)| {
        let here = axis.within(piece);
        whole &= here.cover(extent(&piece.span, len));
        here
    });
    let within = ResolvedSelection::outer(within);
    let output = axes.iter().zip(pieces).map(|(axis, piece)| axis.output(piece));
    let output = ResolvedSelection::outer(output);
    ChunkProjection {
        grid_index: pieces.iter().map(|piece| piece.ordinal).collect(),
        key_index: pieces.iter().map(|piece| piece.span.index).collect(),
        chunk_shape: pieces.iter().map(|piece| piece.span.stored).collect(),
        within,
        output,
        whole,
    }
}

/// Single elements, those of each chunk together.
pub(crate) struct Points {
    coordinates: Vec<Vec<u64>>,
    /// The places of the points' chunks in the grid, along each axis.
    ordinals: Vec<Vec<u64>>,
    /// The points in the order of chunks.
    order: Vec<u64>,
    next: usize,
}

impl Points {
    fn new(grid: &dyn ChunkGrid, coordinates: Vec<Vec<u64>>, count: u64) -> Points {
        let ordinals: Vec<Vec<u64>> = coordinates
            .iter()
            .enumerate()
            .map(|(axis, list)| list.iter().map(|&at| grid.locate(axis, at)).collect())
            .collect();
        let mut order: Vec<u64> = (0..count).collect();
        // Stable: within a chunk points stay in their order.
        order.sort_by(|&a, &b| {
            let a = ordinals.iter().map(|list| list[a as usize]);
            a.cmp(ordinals.iter().map(|list| list[b as usize]))
        });
        Points { coordinates, ordinals, order, next: 0 }
    }

    fn next(&mut self, grid: &dyn ChunkGrid, shape: &[u64]) -> Option<ChunkProjection> {
        let rest = &self.order[self.next..];
        let first = *rest.first()? as usize;
        let in_chunk_of_first = rest.iter().take_while(|&&point| {
            self.ordinals.iter().all(|list| list[point as usize] == list[first])
        });
        let points = &rest[..in_chunk_of_first.count()];
        self.next += points.len();
        let ordinals: Vec<u64> = self.ordinals.iter().map(|list| list[first]).collect();
        let spans = extents(grid, &ordinals);
        let coordinates: Vec<Vec<u64>> = spans
            .iter()
            .zip(&self.coordinates)
            .map(|(span, list)| {
                points.iter().map(|&point| in_chunk(span, list[point as usize])).collect()
            })
            .collect();
        let whole = cover(&coordinates, &spans, shape, points.len());
        let count = points.len() as u64;
        Some(ChunkProjection {
            grid_index: ordinals,
            key_index: spans.iter().map(|span| span.index).collect(),
            chunk_shape: spans.iter().map(|span| span.stored).collect(),
            within: ResolvedSelection::points(coordinates, count),
            output: ResolvedSelection::outer([AxisIndices::list(points.to_vec())].into_iter()),
            whole,
        })
    }
}

/// Whether the `points` of a chunk are every element that the array has in it.
fn cover(coordinates: &[Vec<u64>], spans: &[ChunkExtent], shape: &[u64], points: usize) -> bool {
    let extents: Vec<u64> = spans.iter().zip(shape).map(|(span, &len)| extent(span, len)).collect();
    let Some(all) = element_count(&extents).filter(|&all| all <= points as u64) else {
        return false;
    };
    // The number of each element in the chunk, in C order.
    let numbers = (0..points).map(|point| {
        let axes = coordinates.iter().zip(spans).zip(&extents);
        axes.fold(0, |n, ((list, span), len)| n * len + (list[point] - span.before))
    });
    distinct(numbers.collect()) == all
}

/// Where an element of the array is in its chunk, along one axis.
fn in_chunk(span: &ChunkExtent, at: u64) -> u64 {
    span.before.saturating_add(at.saturating_sub(span.start))
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
        for tile in chunk_projections(&grid, &shape, &region) {
            let place = tile.output.as_region().unwrap();
            for y in place.intervals()[0].clone() {
                for x in place.intervals()[1].clone() {
                    seen[(y * 6 + x) as usize] += 1;
                }
            }
            assert_eq!(tile.within.shape(), tile.output.shape());
        }
        assert_eq!(seen, [1; 30]);
        let whole: Vec<bool> = chunk_projections(&grid, &shape, &region).map(|t| t.whole).collect();
        assert_eq!(whole, [false, false, false, false, true, true, false, true, true]);
    }

    #[test]
    fn a_region_in_one_chunk_has_its_only_projection() {
        let shape = [7, 9];
        let grid = RegularGrid::new(&[3, 4], &shape).unwrap();
        for (y, x) in (0..=7).flat_map(|y| (y..=7).map(move |end| y..end)).flat_map(|y| {
            (0..=9).flat_map(move |x| (x..=9).map(move |end| x..end)).map(move |x| (y.clone(), x))
        }) {
            let region = Region::new([y, x]);
            let mut all = chunk_projections(&grid, &shape, &region);
            let only = all.next().filter(|_| all.next().is_none());
            assert_eq!(only_projection(&grid, &shape, &region.clone().into()), only, "{region}");
        }
        let scalar = RegularGrid::new(&[], &[]).unwrap();
        assert!(only_projection(&scalar, &[], &Region::new([]).into()).is_some());
    }

    /// An element that is named twice is no element more: with it the chunk would be replaced, and those that are not named lost.
    #[test]
    fn an_element_that_is_named_twice_does_not_make_a_chunk_whole() {
        let shape = [5];
        let grid = RegularGrid::new(&[3], &shape).unwrap();
        for (list, is_whole) in [
            (vec![0, 0, 2], [false, true]),
            (vec![2, 2, 2, 2], [false, true]),
            (vec![2, 0, 1], [true, true]),
            (vec![1, 0, 2, 1, 0], [true, true]),
        ] {
            // The second chunk has two elements, and both are named.
            let list = [list, vec![4, 3]].concat();
            let points = ResolvedSelection::points(vec![list.clone()], list.len() as u64);
            let outer = ResolvedSelection::outer([AxisIndices::list(list.clone())].into_iter());
            for part in [points, outer] {
                let whole = chunk_projections(&grid, &shape, part).map(|tile| tile.whole);
                assert_eq!(whole.collect::<Vec<bool>>(), is_whole, "{list:?}");
            }
        }
        // In two axes, as many points as the chunk has elements.
        let shape = [2, 2];
        let grid = RegularGrid::new(&[2, 2], &shape).unwrap();
        for (columns, is_whole) in [([0, 1, 0, 1], true), ([0, 1, 1, 1], false)] {
            let part = ResolvedSelection::points(vec![vec![0, 0, 1, 1], columns.to_vec()], 4);
            let whole = chunk_projections(&grid, &shape, part).map(|tile| tile.whole);
            assert_eq!(whole.collect::<Vec<bool>>(), [is_whole], "{columns:?}");
        }
    }

    #[test]
    fn scalars_have_one_tile_and_nothing_has_none() {
        let grid = RegularGrid::new(&[], &[]).unwrap();
        assert_eq!(chunk_projections(&grid, &[], &Region::new([])).count(), 1);
        let grid = RegularGrid::new(&[2], &[0]).unwrap();
        assert_eq!(chunk_projections(&grid, &[0], &Region::all(&[0])).count(), 0);
    }
}

//! Cuts a large selection into pieces along the borders of chunks, so that little memory is held.

use std::ops::Range;
use std::sync::Arc;

use super::ChunkGrid;
use crate::error::AccessError;
use crate::metadata::ArrayMetadata;
use crate::region::Region;
use crate::selection::{AxisIndices, AxisSelection, Elements, Selection, steps};

/// How many bytes an element of variable length is taken to have.
const ASSUMED_VARIABLE_BYTES: u64 = 256;

/// A row of chunks is one piece in C order if it has at most this many times the bytes of a piece.
const MAX_PIECES_PER_ROW: u64 = 16;

/// A part of a selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its elements in the array. It has every axis of the array, also those that the whole selection has a single number for.
    pub selection: Selection,
    /// Where it is in the whole selection, counted along the same axes; of points along their one axis.
    pub place: Region,
}

impl Piece {
    /// How many elements it has; `None` if that is more than 64 bits can count.
    pub fn element_count(&self) -> Option<u64> {
        self.place.element_count()
    }
}

/// The pieces of a selection, computed one by one: each element is in exactly one. A selection without elements has none.
///
/// A piece has at most the bytes that the caller gave, or is the selected part of one chunk. Pieces end at the borders of stored
/// chunks, so no chunk is read or written twice, unless a list of coordinates goes back to a chunk. See [`Pieces::in_c_order`]
/// for pieces that follow each other in memory.
#[derive(Clone, Debug)]
pub struct Pieces {
    /// Without one there are no borders.
    grid: Option<Arc<dyn ChunkGrid>>,
    axes: Vec<AxisIndices>,
    /// Of points, the coordinates along each axis; `axes` is then their one axis.
    points: Option<Vec<Vec<u64>>>,
    element: u64,
    max_bytes: u64,
    ends: Vec<End>,
    /// Where the next piece begins.
    next: Option<Vec<u64>>,
}

/// Where a piece ends along an axis.
#[derive(Clone, Copy, Debug)]
enum End {
    /// With its first position.
    One,
    /// Behind this many runs of neighbouring positions in one chunk, each of at most `longest`.
    Runs { count: u64, longest: u64 },
    /// At the last border of a chunk among the first `fit` positions; if there is none, at the first behind them, but at most
    /// `most` from the start; else after `fit`.
    Row { fit: u64, most: u64 },
    /// With the axis.
    All,
}

impl Pieces {
    /// Pieces of at most `max_bytes` of the whole of an array of `shape`, whose elements have `element_size` bytes.
    pub fn of_shape(
        grid: Arc<dyn ChunkGrid>,
        shape: &[u64],
        element_size: u64,
        max_bytes: u64,
    ) -> Pieces {
        let axes = shape.iter().map(|&len| AxisIndices::range(0, len)).collect();
        Pieces::new(Some(grid), axes, None, element_size, max_bytes)
    }

    /// See [`Array::pieces`](crate::Array::pieces).
    pub(crate) fn of(
        selection: Selection,
        metadata: &ArrayMetadata,
        max_bytes: u64,
    ) -> Result<Pieces, AccessError> {
        let element = match metadata.data_type.repr() {
            Some(_) if metadata.data_type.is_variable() => ASSUMED_VARIABLE_BYTES,
            repr => repr.map_or(1, |repr| repr.size() as u64),
        };
        let part = selection.of(metadata)?.part;
        let (axes, points) = match part.elements() {
            Elements::Points { coordinates, count } => {
                (vec![AxisIndices::range(0, *count)], Some(coordinates.clone()))
            }
            _ => (part.by_axis().collect(), None),
        };
        Ok(Pieces::new(metadata.grid.clone(), axes, points, element, max_bytes))
    }

    fn new(
        grid: Option<Arc<dyn ChunkGrid>>,
        axes: Vec<AxisIndices>,
        points: Option<Vec<Vec<u64>>>,
        element: u64,
        max_bytes: u64,
    ) -> Pieces {
        let next = axes.iter().all(|axis| axis.len() > 0).then(|| vec![0; axes.len()]);
        let element = element.max(1);
        let ends = Vec::new();
        let mut pieces = Pieces { grid, axes, points, element, max_bytes, ends, next };
        pieces.ends = match pieces.points {
            Some(_) => vec![End::Row { fit: (max_bytes / pieces.element).max(1), most: 0 }],
            None => pieces.runs(),
        };
        pieces
    }

    /// The same elements, in pieces whose elements one after the other are the selection in C order.
    ///
    /// A piece has at most the bytes that the caller gave, or is a row of chunks of at most sixteen times as many. A longer row is
    /// cut inside its chunks, which are then read or written more than once.
    #[must_use]
    pub fn in_c_order(mut self) -> Pieces {
        if self.points.is_none() {
            self.ends = self.rows();
        }
        self
    }

    /// Leaves out the pieces that are before `position`, counted in C order, of pieces that are in C order; the next piece
    /// has the position, and begins at the border of a chunk before it, or where the one that was next begins.
    pub fn skip_to(&mut self, mut position: u64) {
        let Some(next) = &self.next else { return };
        let mut start = vec![0; self.axes.len()];
        for (axis, along) in self.axes.iter().enumerate().rev() {
            (start[axis], position) = (position % along.len(), position / along.len());
        }
        if position > 0 {
            self.next = None;
            return;
        }
        if start <= *next {
            return;
        }
        if let Some(cut) = self.ends.iter().position(|end| matches!(end, End::Row { .. })) {
            start[cut + 1..].fill(0);
            if self.points.is_none() {
                let lower = if start[..cut] == next[..cut] { next[cut] } else { 0 };
                let most = match self.ends[cut] {
                    End::Row { fit, most } => fit.max(most),
                    _ => 1,
                };
                let wanted = start[cut];
                let first = self.run(cut, wanted, lower).0;
                // A run that is no piece is not begun so far before; one that is cut has the position in a later piece.
                let mut begin = if wanted - first < most { first } else { wanted };
                while self.end(cut, begin) <= wanted {
                    begin = self.end(cut, begin);
                }
                start[cut] = begin;
            }
        }
        self.next = Some(start);
    }

    /// The most positions that a run along an axis is taken to have.
    fn longest(&self, axis: usize) -> u64 {
        let len = self.axes[axis].len().max(1);
        let Some(grid) = &self.grid else { return len };
        grid.stored_lengths(axis).into_iter().max().unwrap_or(1).clamp(1, len)
    }

    /// Boxes of whole chunks: all of the inner axes, as far as they fit.
    fn runs(&self) -> Vec<End> {
        let rank = self.axes.len();
        let longest: Vec<u64> = (0..rank).map(|axis| self.longest(axis)).collect();
        let mut size = longest.iter().fold(self.element, |size, &len| size.saturating_mul(len));
        let mut ends: Vec<End> =
            longest.iter().map(|&longest| End::Runs { count: 1, longest }).collect();
        for axis in (0..rank).rev() {
            let len = self.axes[axis].len();
            // Without the chunk along this axis, what a position of it has.
            let position = size / longest[axis];
            if position.saturating_mul(len) <= self.max_bytes {
                ends[axis] = End::All;
                size = position.saturating_mul(len);
                continue;
            }
            let count = (self.max_bytes / size).max(1);
            ends[axis] = End::Runs { count, longest: longest[axis] };
            break;
        }
        ends
    }

    /// Rows along one axis: one position along those before it, all along those behind it.
    fn rows(&self) -> Vec<End> {
        let rank = self.axes.len();
        let mut row: Vec<u64> = vec![self.element; rank];
        for axis in (1..rank).rev() {
            row[axis - 1] = row[axis].saturating_mul(self.axes[axis].len().max(1));
        }
        let most = self.max_bytes.saturating_mul(MAX_PIECES_PER_ROW);
        let last = rank.saturating_sub(1);
        let mut cut = 0;
        while cut < last {
            let longest = self.longest(cut);
            // Nothing is read twice if chunks have one position along the axis.
            let is_thin = longest == 1 && row[cut] > self.max_bytes;
            if !is_thin && longest.saturating_mul(row[cut]) <= most {
                break;
            }
            cut += 1;
        }
        (0..rank)
            .map(|axis| match axis.cmp(&cut) {
                std::cmp::Ordering::Less => End::One,
                std::cmp::Ordering::Equal => {
                    End::Row { fit: (self.max_bytes / row[axis]).max(1), most: most / row[axis] }
                }
                std::cmp::Ordering::Greater => End::All,
            })
            .collect()
    }

    /// The positions around `at`, not before `lower`, that follow each other in the same chunk: the first, and the one after
    /// the last.
    fn run(&self, axis: usize, at: u64, lower: u64) -> (u64, u64) {
        let along = &self.axes[axis];
        let Some(grid) = &self.grid else { return (lower, along.len()) };
        let here = along.at(at);
        let span = grid.span(axis, grid.locate(axis, here));
        let end = span.start.saturating_add(span.len.max(1));
        match along {
            AxisIndices::Steps { step, len, .. } => {
                let by = step.unsigned_abs().max(1);
                let below = here.saturating_sub(span.start) / by;
                let above = (end - 1).saturating_sub(here) / by;
                let (before, after) = if *step > 0 { (below, above) } else { (above, below) };
                (at.saturating_sub(before).max(lower), (at + 1).saturating_add(after).min(*len))
            }
            AxisIndices::List(list) => {
                let inside = span.start..end;
                let (before, after) = list.split_at(at as usize);
                let before = &before[lower as usize..];
                let before = before.iter().rev().take_while(|at| inside.contains(at)).count();
                let after = after.iter().take_while(|at| inside.contains(at)).count();
                (at - before as u64, at + after as u64)
            }
        }
    }

    /// Where the piece that begins at `start` ends along an axis.
    fn end(&self, axis: usize, start: u64) -> u64 {
        let len = self.axes[axis].len();
        match self.ends[axis] {
            End::One => start + 1,
            End::All => len,
            End::Runs { count, longest } => {
                let mut end = start;
                for _ in 0..count {
                    if end == len {
                        break;
                    }
                    end = self.run(axis, end, end).1.min(end.saturating_add(longest));
                }
                end
            }
            End::Row { fit, most } => {
                let end = start.saturating_add(fit).min(len);
                if end == len || self.points.is_some() {
                    return end;
                }
                let (first, after) = self.run(axis, end, start);
                match first > start {
                    true => first,
                    false if after - start <= most => after,
                    false => end,
                }
            }
        }
    }

    /// The coordinates at positions, which there are.
    fn along(&self, axis: usize, start: u64, end: u64) -> AxisSelection {
        match &self.axes[axis] {
            along @ AxisIndices::Steps { step, .. } => {
                let (first, last) = (along.at(start), along.at(end - 1));
                steps(first.min(last)..=first.max(last), *step)
            }
            AxisIndices::List(list) => {
                AxisSelection::List(list[start as usize..end as usize].to_vec())
            }
        }
    }
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let start = self.next.take()?;
        let ends: Vec<u64> = (0..start.len()).map(|axis| self.end(axis, start[axis])).collect();
        let selection = match &self.points {
            Some(coordinates) => {
                let range = start[0] as usize..ends[0] as usize;
                Selection::points(coordinates.iter().map(|list| list[range.clone()].to_vec()))
            }
            None => Selection::outer(
                (0..start.len()).map(|axis| self.along(axis, start[axis], ends[axis])),
            ),
        };
        let mut following = start.clone();
        for axis in (0..start.len()).rev() {
            following[axis] = ends[axis];
            if ends[axis] < self.axes[axis].len() {
                self.next = Some(following);
                break;
            }
            following[axis] = 0;
        }
        let place = Region::new(start.into_iter().zip(ends).map(|(start, end)| start..end));
        Some(Piece { selection, place })
    }
}

/// Cuts a region into at most `parts` regions, along the borders of chunks across its axis with the most chunks.
pub(crate) fn cut_along_borders(
    grid: &dyn ChunkGrid,
    region: &Region,
    parts: usize,
) -> Vec<Region> {
    if region.is_empty() {
        return Vec::new();
    }
    // The first one of several.
    let longest = (0..region.rank()).rev().max_by_key(|&axis| {
        let chunks = chunks_along(grid, region, axis);
        chunks.end - chunks.start
    });
    let Some(axis) = longest else { return vec![region.clone()] };
    let asked = &region.intervals()[axis];
    let chunks = chunks_along(grid, region, axis);
    let count = chunks.end - chunks.start;
    let parts = (parts.max(1) as u64).min(count);
    let mut regions = Vec::with_capacity(parts as usize);
    let mut start = asked.start;
    for part in 1..=parts {
        let end = if part == parts {
            asked.end
        } else {
            let ordinal = (u128::from(count) * u128::from(part) / u128::from(parts)) as u64;
            grid.span(axis, chunks.start + ordinal).start.clamp(asked.start, asked.end)
        };
        let mut intervals = region.intervals().to_vec();
        intervals[axis] = start..end;
        regions.push(Region::new(intervals));
        start = end;
    }
    regions
}

/// The ordinals of the chunks along an axis that a region touches; it is not empty.
fn chunks_along(grid: &dyn ChunkGrid, region: &Region, axis: usize) -> Range<u64> {
    let asked = &region.intervals()[axis];
    grid.locate(axis, asked.start)..grid.locate(axis, asked.end - 1) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::CoreType;
    use crate::grid::{RectilinearGrid, RegularGrid};
    use crate::json::Json;
    use proptest::prelude::*;

    fn places(pieces: Pieces) -> Vec<String> {
        pieces.map(|piece| piece.place.to_string()).collect()
    }

    fn of_shape(shape: &[u64], chunks: &[u64], limit: u64) -> Pieces {
        let grid = Arc::new(RegularGrid::new(chunks, shape).unwrap());
        Pieces::of_shape(grid, shape, 2, limit)
    }

    #[test]
    fn boxes_of_chunks_are_as_large_as_fits() {
        let cut = |limit| places(of_shape(&[10, 4], &[3, 2], limit)).len();
        assert_eq!(cut(80), 1);
        assert_eq!(cut(79), 2);
        assert_eq!(cut(24), 4);
        assert_eq!(cut(23), 8);
        assert_eq!(cut(0), 8);
        assert_eq!(places(of_shape(&[], &[], 1)), ["()"]);
        assert!(places(of_shape(&[3, 0], &[1, 1], 8)).is_empty());
    }

    #[test]
    fn pieces_in_c_order_are_rows_of_chunks() {
        let cut = |limit| places(of_shape(&[10, 4], &[3, 2], limit).in_c_order());
        assert_eq!(cut(80).len(), 1);
        assert_eq!(cut(79), ["(0..9, 0..4)", "(9..10, 0..4)"]);
        assert_eq!(cut(50), ["(0..6, 0..4)", "(6..10, 0..4)"]);
        assert_eq!(cut(2), ["(0..3, 0..4)", "(3..6, 0..4)", "(6..9, 0..4)", "(9..10, 0..4)"]);
        // A row of chunks that is too long is cut inside its chunks.
        assert_eq!(cut(1)[..3], ["(0..1, 0..2)", "(0..1, 2..4)", "(1..2, 0..2)"]);
        assert_eq!(
            places(of_shape(&[2, 10], &[1, 5], 10).in_c_order()),
            ["(0..1, 0..5)", "(0..1, 5..10)", "(1..2, 0..5)", "(1..2, 5..10)"]
        );
    }

    #[test]
    fn very_many_pieces_are_neither_listed_nor_counted_through() {
        let shape = [1 << 30, 1 << 30];
        let mut pieces = of_shape(&shape, &[1, 1 << 20], 2 << 20).in_c_order();
        assert_eq!(pieces.next().unwrap().place, Region::new([0..1, 0..1 << 20]));
        pieces.skip_to((1 << 60) - 1);
        let last = Region::new([(1 << 30) - 1..1 << 30, (1 << 30) - (1 << 20)..1 << 30]);
        assert_eq!(pieces.next().unwrap().place, last);
        assert_eq!(pieces.next(), None);
    }

    /// What a test selects along an axis of `len` elements.
    #[test]
    fn a_piece_that_is_skipped_to_has_the_position() {
        let grid = RectilinearGrid::new(&[2u64.into(), 1u64.into()], &[1, 1]).unwrap();
        let mut metadata = ArrayMetadata::new(&[1, 1], CoreType::Uint16.into(), &[1, 1]).unwrap();
        metadata.grid = Some(Arc::new(grid));
        let axes = [6, 3].map(|len| AxisSelection::List(vec![0; len]));
        let mut pieces = Pieces::of(Selection::outer(axes), &metadata, 1).unwrap().in_c_order();
        pieces.skip_to(3);
        assert_eq!(pieces.next().unwrap().place, Region::new([1..2, 0..3]));
    }

    fn axis(len: u64) -> BoxedStrategy<AxisSelection> {
        let ranges = (0..=len, 0..=len).prop_map(|(a, b)| (a.min(b)..a.max(b)).into());
        let strides = (0..=len, 0..=len, 1i64..4, any::<bool>())
            .prop_map(|(a, b, by, back)| steps(a.min(b)..a.max(b), if back { -by } else { by }));
        let lists = proptest::collection::vec(0..len.max(1), 0..8)
            .prop_map(move |list| AxisSelection::List(if len == 0 { Vec::new() } else { list }));
        prop_oneof![ranges, strides, lists].boxed()
    }

    fn case() -> impl Strategy<Value = (Vec<u64>, Vec<Json>, Vec<AxisSelection>)> {
        let one = (0u64..12).prop_flat_map(|len| {
            let regular = (1u64..6).prop_map(Json::from);
            let edges = proptest::collection::vec(1u64..5, 1..12).prop_map(move |mut edges| {
                edges.push(len.max(1));
                edges.into_iter().map(Json::from).collect::<Json>()
            });
            (Just(len), prop_oneof![regular, edges], axis(len))
        });
        proptest::collection::vec(one, 0..4).prop_map(|axes| {
            let (mut shape, mut chunks, mut selected) = (Vec::new(), Vec::new(), Vec::new());
            for (len, chunk, along) in axes {
                shape.push(len);
                chunks.push(chunk);
                selected.push(along);
            }
            (shape, chunks, selected)
        })
    }

    proptest! {
        /// Pieces have each element of the selection once, and are as small as they should be.
        #[test]
        fn pieces_cover_a_selection_once(
            (shape, chunks, selected) in case(), limit in prop_oneof![0u64..3, 0u64..300], in_order in any::<bool>(), skipped in 0.0..1.0,
        ) {
            let grid: Arc<dyn ChunkGrid> = Arc::new(RectilinearGrid::new(&chunks, &shape).unwrap());
            let ones = vec![1; shape.len()];
            let mut metadata = ArrayMetadata::new(&shape, CoreType::Uint16.into(), &ones).unwrap();
            metadata.grid = Some(grid.clone());
            let whole = Selection::outer(selected);
            let coordinates = |selection: Selection| -> Vec<Vec<u64>> {
                match selection.of(&metadata).unwrap().part.elements() {
                    Elements::Region(region) => {
                        region.intervals().iter().map(|r| r.clone().collect()).collect()
                    }
                    Elements::Outer(axes) => axes.iter().map(|axis| axis.iter().collect()).collect(),
                    Elements::Points { .. } => Vec::new(),
                }
            };
            let all = coordinates(whole.clone());
            let total: usize = all.iter().map(Vec::len).product();
            let mut seen = vec![0u8; total];
            let mut after = 0;
            let pieces = Pieces::of(whole, &metadata, limit).unwrap();
            let pieces = if in_order { pieces.in_c_order() } else { pieces };
            if in_order && total > 0 {
                let (mut rest, position) = (pieces.clone(), (skipped * total as f64) as u64);
                rest.skip_to(position);
                let number = |place: &Region, at: fn(&std::ops::Range<u64>) -> u64| {
                    place.intervals().iter().zip(&all).fold(0, |number, (r, list)| number * list.len() as u64 + at(r))
                };
                let mut end = None;
                for piece in rest {
                    let (first, last) = (number(&piece.place, |r| r.start), number(&piece.place, |r| r.end - 1));
                    match end {
                        None => prop_assert!((first..=last).contains(&position)),
                        Some(end) => prop_assert_eq!(first, end),
                    }
                    end = Some(last + 1);
                }
                prop_assert_eq!(end, Some(total as u64));
            }
            for piece in pieces {
                let found = coordinates(piece.selection.clone());
                let mut positions = vec![0usize];
                let mut chunks_of_axes = Vec::new();
                for (axis, place) in piece.place.intervals().iter().enumerate() {
                    let place = place.start as usize..place.end as usize;
                    prop_assert_eq!(&found[axis], &all[axis][place.clone()]);
                    let len = all[axis].len();
                    positions = positions.iter().flat_map(|at| place.clone().map(move |i| at * len + i)).collect();
                    let mut ordinals: Vec<u64> = found[axis].iter().map(|&at| grid.locate(axis, at)).collect();
                    ordinals.dedup();
                    chunks_of_axes.push(ordinals.len());
                }
                let bytes = positions.len() as u64 * 2;
                if in_order {
                    prop_assert_eq!(positions[0], after);
                    prop_assert!(positions.windows(2).all(|two| two[1] == two[0] + 1));
                    after += positions.len();
                    prop_assert!(bytes <= limit.max(2) || bytes <= 16 * limit, "{} bytes", bytes);
                } else {
                    let is_in_one = chunks_of_axes.iter().all(|&count| count == 1);
                    prop_assert!(bytes <= limit || is_in_one, "{} bytes in {:?}", bytes, chunks_of_axes);
                }
                positions.iter().for_each(|&at| seen[at] += 1);
            }
            prop_assert!(seen.iter().all(|&count| count == 1), "{:?}", seen);
        }

        /// Points are cut by their number.
        #[test]
        fn points_are_cut_by_their_number(points in proptest::collection::vec((0u64..10, 0u64..7), 0..20), limit in 0u64..30) {
            let metadata = ArrayMetadata::new(&[10, 7], CoreType::Uint16.into(), &[4, 3]).unwrap();
            let (rows, columns): (Vec<u64>, Vec<u64>) = points.iter().copied().unzip();
            let mut found = Vec::new();
            for piece in Pieces::of(Selection::points([rows, columns]), &metadata, limit).unwrap() {
                let part = piece.selection.of(&metadata).unwrap().part;
                let Elements::Points { coordinates, count } = part.elements() else { panic!("points") };
                prop_assert!(count * 2 <= limit.max(2));
                found.extend(coordinates[0].iter().copied().zip(coordinates[1].iter().copied()));
            }
            prop_assert_eq!(found, points);
        }
    }
}

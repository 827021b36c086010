//! In which pieces is a region read or written, so that little memory is held?

use std::ops::ControlFlow;

use zarr::Region;
use zarr::grid::ChunkGrid;

/// About how many bytes are held at once.
pub(crate) const SIZE: u64 = 64 << 20;

/// Calls `each` with regions that together are `region`, in C order: one after the other, their
/// elements are those of the region.
///
/// A piece has at most `limit` bytes, or is one row of chunks: pieces are cut along the first axis that
/// is longer than 1, at chunk borders, so that no chunk is read or written twice. An empty region is
/// one empty piece. `last` tells the last piece.
pub(crate) fn each<B>(
    grid: Option<&dyn ChunkGrid>,
    region: &Region,
    element_size: u64,
    limit: u64,
    mut each: impl FnMut(Region, bool) -> ControlFlow<B>,
) -> ControlFlow<B> {
    match grid.filter(|_| !region.is_empty()) {
        None => each(region.clone(), true),
        Some(grid) => cut(grid, region, 0, element_size, limit, true, &mut each),
    }
}

fn cut<B>(
    grid: &dyn ChunkGrid,
    region: &Region,
    axis: usize,
    element_size: u64,
    limit: u64,
    last: bool,
    each: &mut impl FnMut(Region, bool) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let shape = region.shape();
    let size = |shape: &[u64]| {
        shape.iter().fold(element_size.max(1), |size, &len| size.saturating_mul(len))
    };
    if axis == shape.len() || size(&shape) <= limit {
        return each(region.clone(), last);
    }
    let whole = &region.intervals()[axis];
    let fitting = (limit / size(&shape[axis + 1..])).max(1);
    let mut start = whole.start;
    while start < whole.end {
        let mut end = start.saturating_add(fitting).min(whole.end);
        if end < whole.end {
            let span = grid.span(axis, grid.locate(axis, end));
            end = match span.start > start {
                true => span.start,
                // Not even one row of chunks fits: take it all the same.
                false => span.start.saturating_add(span.len.max(1)).min(whole.end),
            };
        }
        let mut intervals = region.intervals().to_vec();
        intervals[axis] = start..end;
        let last = last && end == whole.end;
        let piece = Region::new(intervals);
        match end - start {
            1 => cut(grid, &piece, axis + 1, element_size, limit, last, each)?,
            _ => each(piece, last)?,
        }
        start = end;
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use zarr::grid::RegularGrid;

    fn pieces(shape: &[u64], chunks: &[u64], region: &Region, limit: u64) -> Vec<String> {
        let grid = RegularGrid::new(chunks, shape).unwrap();
        let mut pieces = Vec::new();
        let mut lasts = 0;
        let flow = each::<()>(Some(&grid), region, 2, limit, |piece, last| {
            pieces.push(piece.to_string());
            lasts += usize::from(last);
            ControlFlow::Continue(())
        });
        assert!(flow.is_continue());
        assert_eq!(lasts, 1, "{pieces:?}");
        pieces
    }

    #[test]
    fn pieces_end_at_chunk_borders() {
        let all = Region::all(&[10, 4]);
        let cut = |limit| pieces(&[10, 4], &[3, 2], &all, limit);
        assert_eq!(cut(80), ["(0..10, 0..4)"]);
        assert_eq!(cut(79), ["(0..9, 0..4)", "(9..10, 0..4)"]);
        assert_eq!(cut(50), ["(0..6, 0..4)", "(6..10, 0..4)"]);
        assert_eq!(
            cut(1),
            ["(0..3, 0..4)", "(3..6, 0..4)", "(6..9, 0..4)", "(9..10, 0..2)", "(9..10, 2..4)"]
        );
        let part = Region::new([2..8, 1..3]);
        assert_eq!(
            pieces(&[10, 4], &[3, 2], &part, 8),
            ["(2..3, 1..3)", "(3..6, 1..3)", "(6..8, 1..3)"]
        );
    }

    #[test]
    fn rows_of_length_one_are_cut_further() {
        let all = Region::all(&[2, 10]);
        assert_eq!(
            pieces(&[2, 10], &[1, 5], &all, 10),
            ["(0..1, 0..5)", "(0..1, 5..10)", "(1..2, 0..5)", "(1..2, 5..10)"]
        );
    }

    #[test]
    fn scalars_and_empty_regions_are_one_piece() {
        assert_eq!(pieces(&[], &[], &Region::all(&[]), 1), ["()"]);
        let nothing = Region::new([1..1, 0..3]);
        assert_eq!(pieces(&[4, 3], &[2, 2], &nothing, 1), ["(1..1, 0..3)"]);
    }

    #[test]
    fn huge_arrays_are_not_enumerated_beforehand() {
        let shape = [1 << 40, 1 << 20];
        let grid = RegularGrid::new(&[1, 1], &shape).unwrap();
        let mut count = 0;
        let flow = each(Some(&grid), &Region::all(&shape), 8, SIZE, |piece, _| {
            assert!(piece.element_count().unwrap() * 8 <= SIZE);
            count += 1;
            if count == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(flow.is_break());
    }
}

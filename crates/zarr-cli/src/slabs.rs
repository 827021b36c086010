//! Cuts a region into pieces that are read or written one after the other, so that little memory is held.

use std::ops::ControlFlow;

use zarr::grid::ChunkGrid;

use crate::region::{Along, Elements};

/// About how many bytes are held at once.
pub(crate) const SIZE: u64 = 64 << 20;

/// Calls `each` with pieces that together are `elements`, in C order, one after the other.
///
/// A piece has at most `limit` bytes, or is one row of chunks: pieces are cut along the first axis that
/// is longer than 1, at chunk borders, so that no chunk is read or written twice, unless a list goes to and
/// fro between chunks. No elements are one empty piece. `last` tells the last piece.
pub(crate) fn each<B>(
    grid: Option<&dyn ChunkGrid>,
    elements: &Elements,
    element_size: u64,
    limit: u64,
    mut each: impl FnMut(&Elements, bool) -> ControlFlow<B>,
) -> ControlFlow<B> {
    match grid.filter(|_| !elements.is_empty()) {
        None => each(elements, true),
        Some(grid) => cut(grid, elements, 0, element_size, limit, true, &mut each),
    }
}

fn cut<B>(
    grid: &dyn ChunkGrid,
    elements: &Elements,
    axis: usize,
    element_size: u64,
    limit: u64,
    last: bool,
    each: &mut impl FnMut(&Elements, bool) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let shape = elements.shape();
    let size = |shape: &[u64]| {
        shape.iter().fold(element_size.max(1), |size, &len| size.saturating_mul(len))
    };
    if axis == shape.len() || size(&shape) <= limit {
        return each(elements, last);
    }
    let (along, len) = (&elements.axes()[axis], shape[axis]);
    let fitting = (limit / size(&shape[axis + 1..])).max(1);
    let mut start = 0;
    while start < len {
        let mut end = start.saturating_add(fitting).min(len);
        if end < len {
            let (first, after) = of_chunk(grid, axis, along, end, start);
            // If not even one row of chunks fits, it is taken all the same.
            end = if first > start { first } else { after };
        }
        let piece = elements.part(axis, start, end);
        let last = last && end == len;
        match end - start {
            1 => cut(grid, &piece, axis + 1, element_size, limit, last, each)?,
            _ => each(&piece, last)?,
        }
        start = end;
    }
    ControlFlow::Continue(())
}

/// The positions around `at`, not before `start`, whose coordinates are in the same chunk: the first, and the
/// one after the last.
fn of_chunk(grid: &dyn ChunkGrid, axis: usize, along: &Along, at: u64, start: u64) -> (u64, u64) {
    let span = grid.span(axis, grid.locate(axis, along.at(at)));
    let end = span.start.saturating_add(span.len.max(1));
    match along {
        Along::Steps { step, len, .. } => {
            let (here, by) = (along.at(at), step.unsigned_abs());
            let (below, above) =
                (here.saturating_sub(span.start) / by, (end - 1).saturating_sub(here) / by);
            let (before, after) = if *step > 0 { (below, above) } else { (above, below) };
            (at.saturating_sub(before).max(start), (at + 1).saturating_add(after).min(*len))
        }
        Along::List(list) => {
            let inside = |at: &&u64| (span.start..end).contains(at);
            let (before, after) = list.split_at(at as usize);
            let before = before[start as usize..].iter().rev().take_while(inside).count();
            (at - before as u64, at + after.iter().take_while(inside).count() as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zarr::grid::RegularGrid;

    /// `(0..3, 7..=1 by -3, [4, 1])`.
    fn told(elements: &Elements) -> String {
        let along = |along: &Along| match along {
            Along::Steps { start, step: 1, len } => format!("{start}..{}", start + len),
            Along::Steps { start, step, len } => {
                format!("{start}..={} by {step}", along.at(len - 1))
            }
            Along::List(list) => format!("{list:?}"),
        };
        format!("({})", elements.axes().iter().map(along).collect::<Vec<_>>().join(", "))
    }

    fn pieces(shape: &[u64], chunks: &[u64], region: &str, limit: u64) -> Vec<String> {
        let grid = RegularGrid::new(chunks, shape).unwrap();
        let region = Elements::of_region(Some(region), shape).unwrap();
        let mut pieces = Vec::new();
        let mut lasts = 0;
        let flow = each::<()>(Some(&grid), &region, 2, limit, |piece, last| {
            pieces.push(told(piece));
            lasts += usize::from(last);
            ControlFlow::Continue(())
        });
        assert!(flow.is_continue());
        assert_eq!(lasts, 1, "{pieces:?}");
        pieces
    }

    #[test]
    fn pieces_end_at_chunk_borders() {
        let cut = |limit| pieces(&[10, 4], &[3, 2], ":,:", limit);
        assert_eq!(cut(80), ["(0..10, 0..4)"]);
        assert_eq!(cut(79), ["(0..9, 0..4)", "(9..10, 0..4)"]);
        assert_eq!(cut(50), ["(0..6, 0..4)", "(6..10, 0..4)"]);
        assert_eq!(
            cut(1),
            ["(0..3, 0..4)", "(3..6, 0..4)", "(6..9, 0..4)", "(9..10, 0..2)", "(9..10, 2..4)"]
        );
        assert_eq!(
            pieces(&[10, 4], &[3, 2], "2:8,1:3", 8),
            ["(2..3, 1..3)", "(3..6, 1..3)", "(6..8, 1..3)"]
        );
    }

    #[test]
    fn rows_of_length_one_are_cut_further() {
        assert_eq!(
            pieces(&[2, 10], &[1, 5], ":,:", 10),
            ["(0..1, 0..5)", "(0..1, 5..10)", "(1..2, 0..5)", "(1..2, 5..10)"]
        );
    }

    #[test]
    fn scalars_and_empty_regions_are_one_piece() {
        assert_eq!(pieces(&[], &[], "", 1), ["()"]);
        assert_eq!(pieces(&[4, 3], &[2, 2], "1:1,:", 1), ["(1..1, 0..3)"]);
    }

    #[test]
    fn scattered_elements_are_cut_between_chunks() {
        let cut = |region, limit| pieces(&[10], &[3], region, limit);
        assert_eq!(cut("::-2", 4), ["(9..=7 by -2)", "(5..=3 by -2)", "(1..=1 by -2)"]);
        assert_eq!(cut("::4", 4), ["(0..=4 by 4)", "(8..=8 by 4)"]);
        assert_eq!(cut("[8,7,1,0,2,9]", 6), ["([8, 7])", "([1, 0, 2])", "([9])"]);
        assert_eq!(cut("[8,7,1,0,2,9]", 2), ["([8, 7])", "([1, 0, 2])", "([9])"]);
    }

    #[test]
    fn huge_arrays_are_not_enumerated_beforehand() {
        let shape = [1 << 40, 1 << 20];
        let grid = RegularGrid::new(&[1, 1], &shape).unwrap();
        let mut count = 0;
        let flow = each(Some(&grid), &Elements::all(&shape), 8, SIZE, |piece, _| {
            assert!(piece.count().unwrap() * 8 <= SIZE);
            count += 1;
            if count == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(flow.is_break());
    }
}

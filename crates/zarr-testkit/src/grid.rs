//! Checks that a chunk grid keeps what [`ChunkGrid`] promises.

mod array;

use std::sync::Arc;

use super::shared::{DIALECTS, calm, in_time, spread};
use zarr_core::Registry;
use zarr_core::grid::{ChunkExtent, ChunkGrid};
use zarr_core::region::element_count;

/// The most elements that the array of a check may have.
const MAX_ELEMENTS: u64 = 1 << 20;

/// Checks every promise of a grid for arrays of this shape, which `registry` can build: chunks follow each other without gap or
/// overlap; counts, extents and coordinates agree for every length up to the shape's; absurd lengths neither panic nor take long;
/// in each dialect that it has metadata in, they build the same grid; growing before the first element moves no stored one; and
/// an array of it, read and written in any regions, is like plain memory.
///
/// # Panics
/// At the first broken promise, naming it; if the array would have more than a million elements.
pub fn check_grid(registry: &Registry, grid: &Arc<dyn ChunkGrid>, shape: &[u64]) {
    let small = element_count(shape).is_some_and(|count| count <= MAX_ELEMENTS);
    let short = shape.iter().all(|&len| len <= MAX_ELEMENTS);
    assert!(
        small && short,
        "{grid:?}: the check needs an array of at most {MAX_ELEMENTS} elements"
    );
    let rank = calm(format_args!("{grid:?}: rank"), || grid.rank());
    assert!(rank == shape.len(), "{grid:?}: rank is {rank} for an array of {} axes", shape.len());
    for (axis, &len) in shape.iter().enumerate() {
        check_axis(grid, axis, len);
        check_absurd_lengths(grid, axis, len);
        check_growing_before(grid, axis, shape);
    }
    check_chunk_shape(grid, shape);
    array::check(registry, grid, shape);
}

/// Checks the chunks of an axis, from the first to the last.
fn spans(grid: &Arc<dyn ChunkGrid>, axis: usize, len: u64) -> Vec<ChunkExtent> {
    let what = format!("{grid:?}: axis {axis} of length {len}");
    let shared = grid.clone();
    let (count, spans) = in_time(format_args!("{what}: count and span"), move || {
        let count = shared.count(axis, len);
        // More chunks than elements fail below.
        (count, (0..count.min(len)).map(|ordinal| shared.span(axis, ordinal)).collect::<Vec<_>>())
    });
    assert!(count <= len, "{what}: count gives {count} chunks, more than there are elements");
    spans
}

fn check_axis(grid: &Arc<dyn ChunkGrid>, axis: usize, len: u64) {
    let what = format!("{grid:?}: axis {axis} of length {len}");
    let spans = spans(grid, axis, len);
    let mut end = 0;
    for (ordinal, span) in spans.iter().enumerate() {
        let here = format!("{what}: chunk {ordinal}, {span:?},");
        assert!(span.start >= end, "{here} overlaps the one before it, which ends at {end}");
        assert!(
            span.start == end,
            "{here} leaves a gap after the one before it, which ends at {end}"
        );
        assert!(span.len > 0, "{here} has some coordinate");
        assert!(span.start < len, "{here} begins inside the array, or is not counted");
        let needed = span.before.checked_add(span.len);
        let stored = needed.is_some_and(|needed| span.stored >= needed);
        assert!(stored, "{here} stores at least what lies before it and its own elements");
        let first = ordinal == 0 || span.before == 0;
        assert!(first, "{here} stores elements before its start, which only the first chunk may");
        if ordinal > 0 {
            let (before, index) = (spans[ordinal - 1].index, span.index);
            let next = before.checked_add(1) == Some(index);
            assert!(next, "{here} has an index that is not one more than {before}");
        }
        end = span.start.saturating_add(span.len);
        for step in spread(span.len.min(len - span.start) as usize, 8) {
            let coordinate = span.start + step as u64;
            let found = calm(format_args!("{what}: locate"), || grid.locate(axis, coordinate));
            let same = found == ordinal as u64;
            assert!(same, "{here} holds {coordinate}, but locate says chunk {found}");
        }
    }
    assert!(end >= len, "{what}: its chunks end at {end}, and leave the rest out");
    for shorter in spread(len as usize + 1, 300) {
        let due = spans.partition_point(|span| span.start < shorter as u64) as u64;
        let found = calm(format_args!("{what}: count"), || grid.count(axis, shorter as u64));
        let what = format!("{grid:?}: axis {axis}: count({shorter})");
        assert!(found == due, "{what} is {found}, but {due} chunks begin before {shorter}");
        let again = (shorter > 0).then(|| grid.span(axis, due - 1));
        let same = again == spans.get(due.wrapping_sub(1) as usize).copied();
        assert!(same, "{what}: a chunk's span does not change with the array's length");
    }
}

/// Checks lengths that no array here has: an answer that makes sense, in short time.
fn check_absurd_lengths(grid: &Arc<dyn ChunkGrid>, axis: usize, len: u64) {
    let longer =
        [1, 2, 3, 100, 1 << 31, 1 << 32, 1 << 62, i64::MAX as u64, 1 << 63, u64::MAX - 1, u64::MAX];
    for len in longer.into_iter().filter(|&longer| longer > len) {
        let what = format!("{grid:?}: axis {axis} of length {len}");
        let shared = grid.clone();
        let what_is_asked = format_args!("{what}: count, span and locate");
        let (found, last, before) = in_time(what_is_asked, move || {
            let count = shared.count(axis, len);
            let last = count.checked_sub(1).map(|last| (last, shared.span(axis, last)));
            let before = last.and_then(|(last, _)| last.checked_sub(1));
            let before = before.map(|before| shared.span(axis, before));
            shared.span(axis, u64::MAX);
            (shared.locate(axis, len - 1), last, before)
        });
        let Some((ordinal, last)) = last else { continue };
        assert!(last.start < len, "{what}: the last chunk, {last:?}, begins inside");
        if let Some(before) = before {
            let end = before.start.saturating_add(before.len);
            assert!(last.start == end, "{what}: the last chunk, {last:?}, follows {before:?}");
        }
        let covers = last.start.saturating_add(last.len) >= len;
        assert!(
            !covers || found == ordinal,
            "{what}: locate finds its last element in the last chunk"
        );
    }
}

/// Checks that every element is stored in the same place as before.
fn check_growing_before(grid: &Arc<dyn ChunkGrid>, axis: usize, shape: &[u64]) {
    let len = shape[axis];
    let chunk =
        calm(format_args!("{grid:?}: span"), || grid.span(axis, 0)).stored.min(MAX_ELEMENTS);
    for count in [1, 2, chunk, chunk * 3 + 1] {
        let what = format!("{grid:?}: grown_before(axis {axis}, {count})");
        let grown = calm(format_args!("{what}"), || grid.grown_before(axis, count));
        let Some(grown) = grown else { continue };
        assert!(grown.rank() == shape.len(), "{what} has as many axes as before");
        check_axis(&grown, axis, len + count);
        for coordinate in spread(len as usize, 100) {
            let (old, new) = (coordinate as u64, coordinate as u64 + count);
            let (was, is) = (place(grid, axis, old), place(&grown, axis, new));
            assert!(
                was == is,
                "{what}: element {old} lay at (index, offset, stored) {was:?}, now at {is:?}"
            );
        }
        for other in (0..shape.len()).filter(|&other| other != axis) {
            let same = spans(grid, other, shape[other]) == spans(&grown, other, shape[other]);
            assert!(same, "{what}: axis {other} is as it was");
        }
    }
    for count in [u64::MAX, i64::MAX as u64] {
        let shared = grid.clone();
        let what = format!("{grid:?}: grown_before(axis {axis}, {count})");
        in_time(format_args!("{what}"), move || shared.grown_before(axis, count));
    }
}

/// The chunk of a coordinate, and the index of its stored element.
fn place(grid: &Arc<dyn ChunkGrid>, axis: usize, coordinate: u64) -> (i64, u64, u64) {
    let span = grid.span(axis, grid.locate(axis, coordinate));
    (span.index, span.before + coordinate - span.start, span.stored)
}

fn check_chunk_shape(grid: &Arc<dyn ChunkGrid>, shape: &[u64]) {
    let told = calm(format_args!("{grid:?}: chunk_shape"), || grid.chunk_shape());
    let Some(told) = told else { return };
    assert!(
        told.len() == shape.len(),
        "{grid:?}: chunk_shape {told:?} has one length for each axis"
    );
    for (axis, &len) in shape.iter().enumerate() {
        let other = spans(grid, axis, len).into_iter().find(|span| span.stored != told[axis]);
        assert!(
            other.is_none(),
            "{grid:?}: chunk_shape is {told:?}, but axis {axis} has {other:?}"
        );
    }
}

/// Checks that two grids give the same answers for an array of this shape.
fn check_alike(a: &Arc<dyn ChunkGrid>, b: &Arc<dyn ChunkGrid>, shape: &[u64], what: &str) {
    for (axis, &len) in shape.iter().enumerate() {
        let (a, b) = (spans(a, axis, len), spans(b, axis, len));
        let other = a.iter().zip(&b).find(|(a, b)| a != b);
        assert!(
            a.len() == b.len() && other.is_none(),
            "{what} cuts axis {axis} in another way: {other:?}"
        );
    }
    let same = a.chunk_shape() == b.chunk_shape();
    assert!(same, "{what} has the chunk shape {:?}, not {:?}", b.chunk_shape(), a.chunk_shape());
    for dialect in DIALECTS {
        let (a, b) = (a.to_metadata(dialect), b.to_metadata(dialect));
        assert!(a == b, "{what} is spelled {b:?} in {dialect}, not {a:?}");
    }
}

#[cfg(test)]
mod tests;

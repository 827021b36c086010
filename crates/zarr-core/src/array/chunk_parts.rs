//! Reads parts of chunks that a caller names one by one, each to a place in its memory.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::layout::ChunkLayout;
use super::read::Reader;
use super::read_call::ReadCall;
use super::stale_handle::{check_not_gone, missing_or_gone};
use crate::control::Counter;
use crate::error::{AccessError, Error, Result};
use crate::grid::{ChunkProjection, extents};
use crate::region::{Region, byte_count};
use crate::runtime::may_block;
use crate::runtime::pool::Work;
use crate::selection::ResolvedSelection;
use crate::selection::Selection;
use crate::sync::{into_inner, lock};
use crate::view::ViewMut;

/// Elements of one chunk, and where they go in memory of the caller's.
#[derive(Clone, Debug)]
pub struct ChunkPart {
    /// The chunk, counted from the first one along each axis; of a sharded array the shard.
    pub chunk: Vec<u64>,
    /// Elements of the chunk, by their coordinates in it. Of a chunk at the array's edge those in the array.
    pub within: Selection,
    /// Their place in the output, by coordinates there. It has the shape of `within`.
    pub place: Selection,
}

/// Reads parts of chunks to their places in `out`, whose elements have the size of the array's; returns for each part whether its
/// chunk is stored.
pub(super) async fn read_chunk_parts(
    call: ReadCall<'_>,
    layout: &ChunkLayout,
    parts: &[ChunkPart],
    out: ViewMut<'_>,
) -> Result<Vec<bool>> {
    let options = call.store.options;
    let span = layout.span();
    let shape = out.shape();
    let projections: Vec<ChunkProjection> =
        parts.iter().map(|part| projection(layout, part, &shape)).collect::<Result<_>>()?;
    let counter = Counter::new(&options.progress, || projections.len());
    let missing = Mutex::new(BTreeSet::new());
    let may_split = call.store.local().is_some() || may_block();
    let boxes = if may_split { separable_boxes(&projections) } else { None };
    let chunks = match boxes {
        Some(boxes) => {
            let mut pieces = Vec::new();
            split(out, vec![0; shape.len()], boxes, &mut pieces);
            Ok(pieces.into_iter().map(|(n, out)| {
                let projection = projections[n].clone();
                let out = out.with_axes_of_one(&projection.within.shape());
                Some((projection, out.into()))
            }))
        }
        None => Err(Box::new((projections.iter().cloned(), out.into()))),
    };
    let reader = Reader::new(call.store, layout, span, None);
    let work = work_on_parts(&projections, span.element);
    let read = reader
        .read_chunks(work, chunks, &|projection, found| {
            if !found {
                lock(&missing).insert(projection.grid_index.clone());
            }
            counter.chunk_done(&projection.within, span.size);
        })
        .await;
    if let Err(e) = read {
        return Err(missing_or_gone(call.store, call.was_stored, e).await);
    }
    let missing = into_inner(missing);
    if !parts.is_empty() && parts.iter().all(|part| missing.contains(&part.chunk)) {
        check_not_gone(call.store, call.was_stored).await?;
    }
    Ok(parts.iter().map(|part| !missing.contains(&part.chunk)).collect())
}

/// How much work it is to read parts of chunks, of elements of `element_size` bytes.
fn work_on_parts(projections: &[ChunkProjection], element_size: usize) -> Work {
    let mut work = Work { many: projections.len() > 1, size: 0, total: 0, row: 1 };
    for projection in projections {
        let chunk = byte_count(&projection.chunk_shape, element_size).unwrap_or(u64::MAX);
        let part = byte_count(&projection.within.shape(), element_size).unwrap_or(u64::MAX);
        work.size = work.size.max(chunk);
        work.total = work.total.saturating_add(part);
    }
    work
}

/// The places of the parts and their numbers, if all are boxes that cuts can separate.
fn separable_boxes(projections: &[ChunkProjection]) -> Option<Vec<(usize, Region)>> {
    let regions = projections.iter().map(|projection| projection.output.as_region().cloned());
    let boxes: Option<Vec<_>> = regions.enumerate().map(|(n, region)| Some((n, region?))).collect();
    boxes.filter(|boxes| can_split(boxes))
}

fn projection(layout: &ChunkLayout, part: &ChunkPart, out: &[u64]) -> Result<ChunkProjection> {
    let (indices, region) = layout.place_of_chunk(&part.chunk)?;
    let (within, place) =
        resolved(part, &region.shape(), out).map_err(|e| Error::from(e).at_chunk(&indices))?;
    let spans = extents(&*layout.chunks().grid, &part.chunk);
    Ok(ChunkProjection {
        grid_index: part.chunk.clone(),
        chunk_shape: spans.iter().map(|span| span.stored).collect(),
        key_index: indices.to_vec(),
        within: within.moved(|axis, at| at.saturating_add(spans[axis].before)),
        output: place,
        whole: false,
    })
}

/// The elements of a part, in a chunk of this shape, and their place in the output.
fn resolved(
    part: &ChunkPart,
    chunk: &[u64],
    out: &[u64],
) -> Result<(ResolvedSelection, ResolvedSelection), AccessError> {
    let within = part.within.clone().of_shape(chunk)?;
    let place = part.place.clone().of_shape(out)?;
    if within.shape != place.shape {
        let (from, to) = (within.shape, place.shape);
        let why = format!("elements of shape {from:?} do not fit a region of shape {to:?}");
        return Err(AccessError::Argument(why));
    }
    Ok((within.part, place.part))
}

/// An axis across which boxes are in groups, and the groups in order, each with the coordinate at which it begins.
type Groups = (usize, Vec<(u64, Vec<(usize, Region)>)>);

/// Groups of boxes that a cut across one axis separates; `None` if no cut separates any.
fn groups(boxes: &[(usize, Region)]) -> Option<Groups> {
    let rank = boxes.first().map_or(0, |(_, region)| region.rank());
    (0..rank).find_map(|axis| {
        let mut sorted = boxes.to_vec();
        sorted.sort_by_key(|(_, region)| region.intervals()[axis].start);
        let mut groups: Vec<(u64, Vec<(usize, Region)>)> = Vec::new();
        let mut end = 0;
        for (n, region) in sorted {
            let range = region.intervals()[axis].clone();
            match groups.last_mut() {
                Some((_, group)) if range.start < end => group.push((n, region)),
                _ => groups.push((range.start, vec![(n, region)])),
            }
            end = end.max(range.end);
        }
        (groups.len() > 1).then_some((axis, groups))
    })
}

/// Whether cuts can separate all boxes: so they do those of a chunk grid. None is empty.
fn can_split(boxes: &[(usize, Region)]) -> bool {
    if boxes.iter().any(|(_, region)| region.is_empty()) {
        return false;
    }
    boxes.len() < 2
        || groups(boxes).is_some_and(|(_, groups)| groups.iter().all(|(_, group)| can_split(group)))
}

/// Cuts `out`, whose first element has the coordinates `from`, into its pieces at boxes that [`can_split`].
fn split<'m>(
    out: ViewMut<'m>,
    from: Vec<u64>,
    boxes: Vec<(usize, Region)>,
    pieces: &mut Vec<(usize, ViewMut<'m>)>,
) {
    if let [(n, region)] = &boxes[..] {
        let intervals = region.intervals().iter().zip(&from);
        let region = Region::new(intervals.map(|(r, from)| r.start - from..r.end - from));
        pieces.push((*n, out.part(&region)));
        return;
    }
    let Some((axis, groups)) = groups(&boxes) else { return };
    let mut rest = Some(out);
    let mut begin = from[axis];
    let mut groups = groups.into_iter().peekable();
    while let (Some(memory), Some((_, group))) = (rest.take(), groups.next()) {
        let mut here_from = from.clone();
        here_from[axis] = begin;
        let here = match groups.peek() {
            Some((next, _)) => {
                let (here, after) = memory.split_at(axis, next - begin);
                (rest, begin) = (Some(after), *next);
                here
            }
            None => memory,
        };
        split(here, here_from, group, pieces);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::View;

    #[test]
    fn boxes_that_cuts_separate_get_their_pieces() {
        let shape = [6, 7];
        let grid = [0..2, 2..5, 5..6].into_iter().flat_map(|rows| {
            [1..3, 3..4, 4..7].map(|columns| Region::new([rows.clone(), columns]))
        });
        let mut boxes: Vec<(usize, Region)> = grid.enumerate().collect();
        boxes.reverse();
        assert!(can_split(&boxes));
        let mut memory = vec![255; 42];
        let mut pieces = Vec::new();
        split(ViewMut::new(&mut memory, &shape, 1), vec![0, 0], boxes.clone(), &mut pieces);
        assert_eq!(pieces.len(), 9);
        pieces.into_iter().for_each(|(n, mut piece)| piece.fill(&[n as u8]));
        for (n, region) in &boxes {
            let found = View::new(&memory, &shape, 1).part(region);
            assert!(found.is_all(&[*n as u8]), "{region}");
        }
        assert_eq!(memory.iter().filter(|&&byte| byte == 255).count(), 6);
        for (one, other) in [([0..2, 0..2], [1..3, 1..3]), ([0..1, 0..1], [0..1, 0..1])] {
            assert!(!can_split(&[(0, Region::new(one)), (1, Region::new(other))]));
        }
        let wheel = [[0..1, 0..2], [0..2, 2..3], [2..3, 1..3], [1..3, 0..1], [1..2, 1..2]];
        let wheel: Vec<_> = wheel.map(Region::new).into_iter().enumerate().collect();
        assert!(!can_split(&wheel), "no straight cut separates these");
        assert!(!can_split(&[(0, Region::new([1..1, 0..2]))]));
        assert!(can_split(&[(0, Region::new([]))]) && can_split(&[]));
    }
}

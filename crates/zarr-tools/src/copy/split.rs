//! Cuts the stored objects of a copy into parts.

use std::ops::Range;

use zarr_core::grid::ChunkGrid;
use zarr_core::{Json, Region};

/// About how many objects a part has, if the caller does not say how many parts there are.
const OBJECTS: u64 = 64;
/// About how many bytes of elements a part has, if there are few objects.
const BYTES: u64 = 256 << 20;
/// The most parts that a copy has, if the caller does not say how many.
const MOST_PARTS: u64 = 1024;

/// A part of a copy: objects that one process writes, and that are done or not done together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// For some arrays, by their numbers in the plan, the chunks, or shards, counted in C order.
    pub(super) chunks: Vec<(usize, Range<u64>)>,
}

impl Part {
    /// How many chunks it has; a shard is one.
    pub fn chunks(&self) -> u64 {
        self.chunks.iter().map(|(_, chunks)| chunks.end - chunks.start).sum()
    }

    pub(super) fn to_json(&self) -> Json {
        let triple = |(array, chunks): &(usize, Range<u64>)| {
            Json::from(&[*array as u64, chunks.start, chunks.end][..])
        };
        self.chunks.iter().map(triple).collect()
    }

    /// A part as [`Part::to_json`] writes it, of arrays with this number of chunks each.
    pub(super) fn from_json(json: &Json, counts: &[u64]) -> Option<Part> {
        let triple = |json: &Json| {
            let [array, start, end] = json.as_array()? else { return None };
            let array = usize::try_from(array.as_u64()?).ok()?;
            let chunks = start.as_u64()?..end.as_u64()?;
            (chunks.start <= chunks.end && chunks.end <= *counts.get(array)?)
                .then_some((array, chunks))
        };
        Some(Part { chunks: json.as_array()?.iter().map(triple).collect::<Option<_>>()? })
    }
}

/// Cuts arrays, each with a number of chunks and of bytes, into parts of about equal bytes. The same numbers give the same parts.
pub(super) fn parts(arrays: &[(u64, u64)], wanted: Option<u64>) -> Vec<Part> {
    let objects = arrays.iter().fold(0u64, |sum, (chunks, _)| sum.saturating_add(*chunks));
    // An array without bytes has a weight, too.
    let weight = |&(chunks, bytes): &(u64, u64)| u128::from(bytes.max(chunks));
    let total: u128 = arrays.iter().map(weight).sum();
    let count = wanted.unwrap_or_else(|| {
        let by_bytes = u64::try_from(total / u128::from(BYTES)).unwrap_or(u64::MAX);
        (objects / OBJECTS).max(by_bytes).clamp(1, MOST_PARTS.min(objects.max(1)))
    });
    let mut parts = Vec::new();
    for part in 0..u128::from(count.max(1)) {
        // What begins at these weights.
        let [from, to] = [part, part + 1].map(|at| bound(total, at, count.max(1).into()));
        let (mut before, mut chunks) = (0u128, Vec::new());
        for (array, of) in arrays.iter().enumerate() {
            let first = |at: u128| first_chunk(at.saturating_sub(before), weight(of), of.0);
            let range = first(from)..first(to);
            if !range.is_empty() {
                chunks.push((array, range));
            }
            before += weight(of);
        }
        parts.push(Part { chunks });
    }
    parts
}

fn bound(total: u128, part: u128, count: u128) -> u128 {
    (total / count) * part + (total % count) * part / count
}

/// The first of `chunks` chunks, with `weight` together, that begins at `at` or behind it.
fn first_chunk(at: u128, weight: u128, chunks: u64) -> u64 {
    let (mut low, mut high) = (0, chunks);
    while low < high {
        let middle = low + (high - low) / 2;
        // A number of 64 bits times a number of 64 bits.
        let begins = weight * u128::from(middle) / u128::from(chunks);
        if begins >= at { high = middle } else { low = middle + 1 }
    }
    low
}

/// The boxes of chunks, by ordinals, that a range in C order consists of.
pub(super) fn boxes(counts: &[u64], range: Range<u64>) -> Vec<Vec<Range<u64>>> {
    let Some((&count, inner)) = counts.split_first() else {
        return if range.is_empty() { Vec::new() } else { vec![Vec::new()] };
    };
    let stride: u64 = inner.iter().product();
    let mut found = Vec::new();
    let mut at = range.start;
    while at < range.end && stride > 0 {
        let row = at / stride;
        if row >= count {
            break;
        }
        let in_row = at % stride;
        let left = range.end - at;
        if in_row == 0 && left >= stride {
            let rows = (left / stride).min(count - row);
            let whole = inner.iter().map(|&count| 0..count);
            found.push(std::iter::once(row..row + rows).chain(whole).collect());
            at += rows * stride;
        } else {
            let end = stride.min(in_row + left);
            let rest = boxes(inner, in_row..end).into_iter();
            found.extend(rest.map(|b| std::iter::once(row..row + 1).chain(b).collect()));
            at += end - in_row;
        }
    }
    found
}

/// The elements of a box of chunks in an array of this shape.
pub(super) fn region(grid: &dyn ChunkGrid, shape: &[u64], chunks: &[Range<u64>]) -> Region {
    Region::new(chunks.iter().enumerate().map(|(axis, chunks)| {
        let last = grid.span(axis, chunks.end - 1);
        grid.span(axis, chunks.start).start..(last.start + last.len).min(shape[axis])
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chunk_is_in_one_part() {
        for arrays in [
            vec![(7, 700)],
            vec![(1, 4), (1000, 64_000_000), (0, 0), (3, 1)],
            vec![(5, 0), (5, u64::MAX), (5, u64::MAX)],
            vec![],
        ] {
            for wanted in [None, Some(1), Some(2), Some(8), Some(100)] {
                let parts = parts(&arrays, wanted);
                assert!(wanted.is_none_or(|wanted| parts.len() as u64 == wanted));
                for (array, (chunks, _)) in arrays.iter().enumerate() {
                    let mut next = 0;
                    for part in &parts {
                        for (_, range) in part.chunks.iter().filter(|(of, _)| *of == array) {
                            assert_eq!(range.start, next);
                            next = range.end;
                        }
                    }
                    assert_eq!(next, *chunks, "{arrays:?} in {wanted:?}");
                }
                let counts: Vec<u64> = arrays.iter().map(|(chunks, _)| *chunks).collect();
                for part in &parts {
                    assert_eq!(Part::from_json(&part.to_json(), &counts).as_ref(), Some(part));
                }
            }
        }
        let equal = parts(&[(80, 80 << 20)], Some(8));
        assert!(equal.iter().all(|part| part.chunks() == 10));
    }

    #[test]
    fn boxes_are_the_range() {
        for counts in [vec![], vec![5], vec![2, 3], vec![3, 1, 4], vec![2, 2, 2, 3]] {
            let all: u64 = counts.iter().product();
            for start in 0..=all {
                for end in start..=all {
                    let mut found = Vec::new();
                    for b in boxes(&counts, start..end) {
                        let mut of_box = vec![0];
                        for (range, count) in b.iter().zip(&counts) {
                            let longer = |at: u64| range.clone().map(move |n| at * count + n);
                            of_box = of_box.into_iter().flat_map(longer).collect();
                        }
                        found.extend(of_box);
                    }
                    assert_eq!(found, (start..end).collect::<Vec<_>>(), "{counts:?}");
                }
            }
        }
    }
}

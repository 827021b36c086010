//! Cuts the stored objects of a copy into parts.

use std::ops::Range;

use zarr_core::grid::{ChunkGrid, chunk_count};
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{AccessError, Error, Json, Region, Result};

use super::rechunk::gcd;

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
        self.chunks
            .iter()
            .map(|(array, chunks)| Json::from(&[*array as u64, chunks.start, chunks.end][..]))
            .collect()
    }

    /// A part as [`Part::to_json`] writes it, of arrays with this number of chunks each.
    pub(super) fn from_json(json: &Json, counts: &[u64]) -> Option<Part> {
        Some(Part {
            chunks: json
                .as_array()?
                .iter()
                .map(|json| {
                    let [array, start, end] = json.as_array()? else { return None };
                    let array = usize::try_from(array.as_u64()?).ok()?;
                    let chunks = start.as_u64()?..end.as_u64()?;
                    (chunks.start <= chunks.end && chunks.end <= *counts.get(array)?)
                        .then_some((array, chunks))
                })
                .collect::<Option<_>>()?,
        })
    }
}

/// The least number of chunks of a copy, in C order, of whose multiples each shares no chunk of the source with the next; 1 if
/// there is none. Chunks of the source have the shape `source`, those of the copy `copy`.
pub(super) fn unit(source: &[u64], copy: &[u64], shape: &[u64]) -> u64 {
    if [source.len(), copy.len()] != [shape.len(); 2] {
        return 1;
    }
    let counts: Vec<u64> =
        shape.iter().zip(copy).map(|(len, &chunk)| len.div_ceil(chunk.max(1))).collect();
    let mut finest = 1;
    for axis in 0..shape.len() {
        // This number of rows of the copy's chunks ends where a chunk of the source does.
        let rows = source[axis] / gcd(source[axis], copy[axis]);
        if axis > 0 && !counts[axis].is_multiple_of(rows.max(1)) {
            // Rows along this axis begin anew within each along the ones before.
            break;
        }
        finest =
            counts[axis + 1..].iter().fold(rows, |product, &count| product.saturating_mul(count));
        if rows != 1 {
            break;
        }
    }
    finest.max(1)
}

/// Cuts arrays, each with a number of chunks, of bytes, and the chunks of a [`unit`], into parts of about equal bytes, which end
/// at units where these are smaller. The same numbers give the same parts.
pub(super) fn parts(arrays: &[(u64, u64, u64)], wanted: Option<u64>) -> Vec<Part> {
    let objects = arrays.iter().fold(0u64, |sum, (chunks, ..)| sum.saturating_add(*chunks));
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
            let &(chunks_of_array, _, unit) = of;
            let share = chunks_of_array as f64 * total as f64 / weight(of) as f64 / count as f64;
            let first = |at: u128| {
                let first = first_chunk(at.saturating_sub(before), weight(of), chunks_of_array);
                if unit as f64 > share || first == chunks_of_array {
                    return first;
                }
                (first.saturating_add(unit / 2) / unit * unit).min(chunks_of_array)
            };
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

/// How much work an array is: an array without bytes has a weight, too.
fn weight(&(chunks, bytes, _): &(u64, u64, u64)) -> u128 {
    u128::from(bytes.max(chunks))
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
    let stride = inner.iter().fold(1u64, |all, &count| all.saturating_mul(count));
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

/// How many objects the chunks, or shards, of a copy are. Refuses more than 64 bits count: a part of a copy is a range of their
/// numbers.
pub(super) fn countable_chunks(metadata: &ArrayMetadata) -> Result<u64> {
    // A grid that this build does not know is refused with its name, later.
    let Some(grid) = metadata.grid.as_deref() else { return Ok(u64::MAX) };
    chunk_count(grid, &metadata.shape).ok_or_else(|| {
        let shape = &metadata.shape;
        let why = format!("the copy, of shape {shape:?}, would have more chunks than 64 bits count");
        Error::from(AccessError::Argument(why)).with_hint(
            "give it larger chunks with `--chunks` (library: `CopyOptions::chunks`), or copy a part with `--region` \
             (library: `CopyOptions::regions`)",
        )
    })
}

/// The elements of a box of chunks in an array of this shape.
pub(super) fn region(grid: &dyn ChunkGrid, shape: &[u64], chunks: &[Range<u64>]) -> Region {
    Region::new(chunks.iter().enumerate().map(|(axis, chunks)| {
        let last = grid.span(axis, chunks.end - 1);
        grid.span(axis, chunks.start).start..last.start.saturating_add(last.len).min(shape[axis])
    }))
}

#[cfg(test)]
mod tests {
    use zarr_core::grid::RegularGrid;

    use super::*;

    /// The last chunk of an axis that is as long as 64 bits count reaches beyond them.
    #[test]
    fn the_last_chunk_of_the_longest_axis_ends_with_it() {
        let (chunk, shape) = (1 << 20, [u64::MAX]);
        let grid = RegularGrid::new(&[chunk], &shape).unwrap();
        let last = u64::MAX / chunk;
        let found = region(&grid, &shape, std::slice::from_ref(&(last..last + 1)));
        assert_eq!(found.intervals()[0], last * chunk..u64::MAX);
        assert!(boxes(&[2, u64::MAX, u64::MAX, 0], 0..0).is_empty());
    }

    #[test]
    fn each_chunk_is_in_one_part() {
        for arrays in [
            vec![(7, 700, 1)],
            vec![(1, 4, 1), (1000, 64_000_000, 10), (0, 0, 1), (3, 1, 7)],
            vec![(5, 0, 1), (5, u64::MAX, u64::MAX), (5, u64::MAX, 2)],
            vec![],
        ] {
            for wanted in [None, Some(1), Some(2), Some(8), Some(100)] {
                let parts = parts(&arrays, wanted);
                assert!(wanted.is_none_or(|wanted| parts.len() as u64 == wanted));
                for (array, (chunks, ..)) in arrays.iter().enumerate() {
                    let mut next = 0;
                    for part in &parts {
                        for (_, range) in part.chunks.iter().filter(|(of, _)| *of == array) {
                            assert_eq!(range.start, next);
                            next = range.end;
                        }
                    }
                    assert_eq!(next, *chunks, "{arrays:?} in {wanted:?}");
                }
                let counts: Vec<u64> = arrays.iter().map(|(chunks, ..)| *chunks).collect();
                for part in &parts {
                    assert_eq!(Part::from_json(&part.to_json(), &counts).as_ref(), Some(part));
                }
            }
        }
        let equal = parts(&[(80, 80 << 20, 1)], Some(8));
        assert!(equal.iter().all(|part| part.chunks() == 10));
    }

    #[test]
    fn parts_end_at_units_where_these_are_smaller() {
        let ends = |unit, count| -> Vec<u64> {
            let parts = parts(&[(64, 64 << 20, unit)], Some(count));
            parts.iter().flat_map(|part| &part.chunks).map(|(_, chunks)| chunks.end).collect()
        };
        assert_eq!(ends(16, 3), [16, 48, 64]);
        assert_eq!(ends(1, 3), [22, 43, 64]);
        assert_eq!(ends(16, 5), [13, 26, 39, 52, 64]);
    }

    /// Beside what a search finds: the least number of chunks at whose multiples no chunk of the source is on both sides.
    #[test]
    fn units_share_no_chunk_of_the_source() {
        let along = |len: u64, chunk: u64| {
            (0..len.div_ceil(chunk)).map(move |n| n * chunk..((n + 1) * chunk).min(len))
        };
        for (source, copy, shape) in [
            ([1u64, 12], [4u64, 3], [8u64, 12]),
            ([4, 3], [4, 3], [8, 12]),
            ([4, 6], [4, 3], [8, 12]),
            ([4, 6], [4, 3], [8, 9]),
            ([3, 12], [2, 4], [12, 12]),
            ([8, 1], [2, 3], [8, 7]),
            ([5, 5], [2, 3], [9, 9]),
        ] {
            // For each chunk of the copy, in C order, the chunks of the source that it has elements of.
            let of = |axis: usize, range: &Range<u64>| {
                range.start / source[axis]..range.end.div_ceil(source[axis])
            };
            let mut read = Vec::new();
            for y in along(shape[0], copy[0]) {
                for x in along(shape[1], copy[1]) {
                    let (y, x) = (of(0, &y), of(1, &x));
                    read.push(y.flat_map(|y| x.clone().map(move |x| (y, x))).collect::<Vec<_>>());
                }
            }
            let shares = |unit: usize| {
                (unit..read.len()).step_by(unit).any(|at| {
                    read[..at]
                        .iter()
                        .flatten()
                        .any(|chunk| read[at..].iter().flatten().any(|other| other == chunk))
                })
            };
            let unit = unit(&source, &copy, &shape) as usize;
            assert!(!shares(unit), "{source:?} into {copy:?}: {unit}");
            let least = (1..).find(|&unit| !shares(unit)).unwrap();
            assert!(
                unit == least || unit >= read.len(),
                "{source:?} into {copy:?}: {unit}, not {least}"
            );
        }
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

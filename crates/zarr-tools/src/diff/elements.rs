//! Compares the elements of two arrays, piece by piece.

use std::collections::BTreeMap;

use zarr_core::data_type::{DataType, Scalar, ScalarValue};
use zarr_core::runtime::{Parallel, available_threads, join};
use zarr_core::{AccessError, Array, CancelToken, Region, Result};

use super::DiffOptions;
use super::values::{Difference, ElementPart, Tolerance, as_double, element_parts, text};
use crate::checksum::blocks::Division;
use crate::checksum::lines::{Canonical, Pieces, piece_lengths};
use crate::checksum::logical::{Elements, Logical};
use crate::copy::holes::touched_blocks;
use crate::size::byte_count;
use crate::tree_progress::TreeProgress;

/// A thread compares no fewer elements than these.
const MIN_ELEMENTS_PER_THREAD: usize = 4096;

/// The most chunks of a piece, unless one block of elements has more.
const MAX_CHUNKS_PER_PIECE: u64 = 1 << 16;

/// How many regions are remembered.
const MAX_REGIONS: usize = 1000;

/// How the elements of two arrays differ.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ElementsDiff {
    /// How many elements were compared.
    pub compared: u64,
    /// How many of them differ.
    pub different: u64,
    /// The largest difference of two numbers; of integers it is exact.
    pub max_absolute: Option<ScalarValue>,
    /// The largest difference in proportion to the larger number.
    pub max_relative: Option<f64>,
    /// The first places that differ, in the order in which they were found.
    pub places: Vec<Place>,
    /// In which part of each logical block elements differ: the first thousand of them.
    pub regions: Vec<Region>,
    /// Whether there are more regions.
    pub more_regions: bool,
    /// Of records, how many values of each field differ.
    pub fields: BTreeMap<String, u64>,
}

/// A place where two arrays differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The coordinates of the element.
    pub index: Vec<u64>,
    /// The field that differs, of a record.
    pub field: String,
    /// The value in the first array.
    pub first: String,
    /// The value in the second array.
    pub second: String,
}

/// The arrays that are compared, and how.
pub(super) struct Pair<'a> {
    pub arrays: [&'a Array; 2],
    pub logical: [&'a Logical; 2],
    /// What both have.
    pub shape: Vec<u64>,
    pub tolerance: Tolerance,
}

/// What is compared of two elements.
struct Parts {
    parts: Vec<ElementPart>,
    /// The type of the second array's numbers, if it is another.
    other: Option<DataType>,
    /// The type that elements of variable length are shown as.
    variable: Option<DataType>,
}

impl Pair<'_> {
    /// How elements are compared; `None` if the types have nothing in common.
    fn parts(&self) -> Option<Parts> {
        let [a, b] = self.logical;
        let is_text = a.data_type == "string" || a.data_type == "json";
        let shown_as = if is_text { DataType::String } else { DataType::Bytes };
        let variable = (a.elements != Elements::Fixed).then_some(shown_as);
        if a.data_type == b.data_type {
            return Some(Parts { parts: element_parts(&a.stored_type), other: None, variable });
        }
        // Numbers of other types are compared by their values.
        let (one, other) = (a.stored_type.scalar()?, b.stored_type.scalar()?);
        if matches!(one, Scalar::Time(_)) || matches!(other, Scalar::Time(_)) {
            return None;
        }
        let parts = element_parts(&a.stored_type);
        Some(Parts { parts, other: Some(b.stored_type.clone()), variable })
    }

    /// Compares all elements; `None` if those of these types cannot be compared.
    pub fn compare(
        &self,
        options: &DiffOptions<'_>,
        progress: &mut TreeProgress,
    ) -> Result<Option<ElementsDiff>> {
        let Some(parts) = self.parts() else { return Ok(None) };
        let element = self.logical[0].element_size().max(self.logical[1].element_size());
        let division = Division::new(&self.shape, element);
        let first = self.arrays[0];
        let chunk = first.chunk_shape().unwrap_or_else(|| first.metadata().chunk_extent());
        let memory = if options.memory == 0 { 256 << 20 } else { options.memory };
        // A piece of very small chunks is shorter: where one of its chunks is stored, all of them are asked for.
        let small = [0, 1].map(|n| self.arrays[n].metadata().chunk_extent());
        let small = small.iter().map(|chunk| byte_count(element, chunk)).min().unwrap_or(1);
        let memory_of_chunks = small.saturating_mul(4 * MAX_CHUNKS_PER_PIECE);
        let lengths = piece_lengths(&division, &chunk, element, memory_of_chunks.min(memory / 2));
        let mut found = Found::default();
        // Where neither side stores a chunk, one piece tells for all.
        let of = |n: usize| touched_blocks(self.arrays[n], &self.shape, &lengths, memory);
        let touched = [of(0)?, of(1)?];
        let (mut are_fills_equal, mut do_fills_differ) = (false, false);
        let pieces = Pieces::new(&self.shape, lengths);
        for number in 0..pieces.count() {
            let piece = pieces.region(number);
            if options.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
                return Err(AccessError::Cancelled.into());
            }
            let read = piece.element_count().unwrap_or(u64::MAX).saturating_mul(element);
            progress.bytes_done = progress.bytes_done.saturating_add(read);
            let is_fill =
                |n: usize| touched[n].as_ref().is_some_and(|blocks| !blocks.contains(&number));
            let are_fills = [is_fill(0), is_fill(1)];
            let is_fill = are_fills == [true, true];
            let in_piece = piece.element_count().unwrap_or(u64::MAX);
            if is_fill && are_fills_equal {
                found.diff.compared += in_piece;
                continue;
            }
            // Once no more places are told, the others differ as those do.
            if is_fill && do_fills_differ && found.has_all_places(options.places) {
                found.diff.compared += in_piece;
                found.diff.different += in_piece;
                found.whole(&piece, &division);
                continue;
            }
            let different = found.diff.different;
            let [one, other] = self.read(&piece, are_fills)?;
            let count = one.len().min(other.len());
            found.diff.compared += count as u64;
            if self.logical[0].data_type != self.logical[1].data_type || one != other {
                let slices = count.div_ceil(MIN_ELEMENTS_PER_THREAD).max(1);
                let slices = available_threads(options.threads).min(slices);
                let parallel = Parallel { name: "zarr-diff", threads: slices, cancel: None };
                let compared = parallel.each(0..slices, |slice| {
                    let range = count * slice / slices..count * (slice + 1) / slices;
                    self.compare_range(range, (&one, &other), &parts, &piece, &division)
                });
                for part in compared {
                    found.merge(part, options.places);
                }
            }
            are_fills_equal |= is_fill && found.diff.different == different;
            do_fills_differ |= is_fill && found.diff.different == different + in_piece;
            if let Some(call) = options.progress {
                call(progress);
            }
        }
        Ok(Some(found.finish()))
    }

    /// Reads a piece of both arrays at the same time.
    fn read(&self, piece: &Region, are_fills: [bool; 2]) -> Result<[Canonical; 2]> {
        let read = |n: usize| {
            let read = if are_fills[n] { Canonical::read_fill } else { Canonical::read };
            read(self.arrays[n], self.logical[n], piece)
        };
        let (one, other) = join("zarr-diff", || read(0), || read(1));
        Ok([one?, other?])
    }

    fn compare_range(
        &self,
        range: std::ops::Range<usize>,
        (one, other): (&Canonical, &Canonical),
        parts: &Parts,
        piece: &Region,
        division: &Division,
    ) -> Found {
        let mut found = Found::default();
        let shape = piece.shape();
        let other_scalar = parts.other.as_ref().and_then(DataType::scalar);
        for n in range {
            let (a, b) = (one.get(n), other.get(n));
            let is_same_type = self.logical[0].data_type == self.logical[1].data_type;
            if is_same_type && a == b {
                continue;
            }
            let mut differs = false;
            if let Some(data_type) = &parts.variable {
                differs = true;
                let shown = |bytes: &[u8]| text(bytes.get(4..).unwrap_or_default(), data_type);
                found.place(n, &shape, piece, "", || (shown(a), shown(b)));
            }
            for part in parts.parts.iter().filter(|_| parts.variable.is_none()) {
                let scalar = other_scalar.or(part.scalar);
                let (a, b) = (part.bytes_in(a, part.scalar), part.bytes_in(b, scalar));
                let Some(how) = self.tolerance.compare((a, part.scalar), (b, scalar)) else {
                    continue;
                };
                differs = true;
                found.note(how);
                if !part.field.is_empty() {
                    *found.diff.fields.entry(part.field.clone()).or_default() += 1;
                }
                found.place(n, &shape, piece, &part.field, || {
                    let of_second = parts.other.as_ref().unwrap_or(&part.data_type);
                    (text(a, &part.data_type), text(b, of_second))
                });
            }
            if differs {
                found.diff.different += 1;
                found.region(&index(n, &shape, piece), division);
            }
        }
        found
    }
}

/// The coordinates of the `n`th element of a piece.
fn index(mut n: usize, shape: &[u64], piece: &Region) -> Vec<u64> {
    let mut index: Vec<u64> = piece.intervals().iter().map(|range| range.start).collect();
    for (at, len) in index.iter_mut().zip(shape).rev() {
        *at += n as u64 % len;
        n /= *len as usize;
    }
    index
}

/// What one thread found.
#[derive(Default)]
struct Found {
    diff: ElementsDiff,
    /// The box of what differs in a block, by the block's number.
    boxes: BTreeMap<u64, Vec<(u64, u64)>>,
}

/// How many places a thread remembers.
const PLACES: usize = 100;

impl Found {
    fn note(&mut self, how: Difference) {
        let Difference::Number { absolute, relative } = how else { return };
        let is_larger = self.diff.max_absolute.is_none_or(|old| match (absolute, old) {
            (ScalarValue::Integer(new), ScalarValue::Integer(old)) => new > old,
            (new, old) => as_double(new) > as_double(old),
        });
        if is_larger {
            self.diff.max_absolute = Some(absolute);
        }
        if self.diff.max_relative.is_none_or(|old| relative > old) {
            self.diff.max_relative = Some(relative);
        }
    }

    fn place(
        &mut self,
        n: usize,
        shape: &[u64],
        piece: &Region,
        field: &str,
        values: impl FnOnce() -> (String, String),
    ) {
        if self.diff.places.len() < PLACES {
            let (first, second) = values();
            let (index, field) = (index(n, shape, piece), field.to_owned());
            self.diff.places.push(Place { index, field, first, second });
        }
    }

    fn region(&mut self, index: &[u64], division: &Division) {
        let block: Vec<u64> = index.iter().zip(&division.block).map(|(at, len)| at / len).collect();
        let number = division.number(&block);
        if self.boxes.len() >= MAX_REGIONS && !self.boxes.contains_key(&number) {
            self.diff.more_regions = true;
            return;
        }
        let axes =
            self.boxes.entry(number).or_insert_with(|| index.iter().map(|&at| (at, at)).collect());
        for (axis, &at) in axes.iter_mut().zip(index) {
            *axis = (axis.0.min(at), axis.1.max(at));
        }
    }

    /// Whether nothing but counts and regions would be added by more elements that differ as others do.
    fn has_all_places(&self, places: usize) -> bool {
        self.diff.fields.is_empty() && self.diff.places.len() >= places.min(PLACES)
    }

    /// Notes that all elements of a piece differ.
    fn whole(&mut self, piece: &Region, division: &Division) {
        let ranges = piece.intervals();
        let first: Vec<u64> =
            ranges.iter().zip(&division.block).map(|(range, len)| range.start / len).collect();
        let mut block = first.clone();
        while self.boxes.len() < MAX_REGIONS {
            let part = block.iter().zip(&division.block).zip(ranges).map(|((at, len), range)| {
                range.start.max(at * len)..range.end.min((at + 1).saturating_mul(*len))
            });
            let part: Vec<std::ops::Range<u64>> = part.collect();
            let ends = |of: &dyn Fn(&std::ops::Range<u64>) -> u64| part.iter().map(of).collect();
            let corners: [Vec<u64>; 2] = [ends(&|range| range.start), ends(&|range| range.end - 1)];
            corners.iter().for_each(|corner| self.region(corner, division));
            // The next block in the piece, in C order.
            let Some(axis) = (0..block.len()).rev().find(|&axis| {
                (block[axis] + 1).saturating_mul(division.block[axis]) < ranges[axis].end
            }) else {
                return;
            };
            block[axis] += 1;
            block[axis + 1..].copy_from_slice(&first[axis + 1..]);
        }
        self.diff.more_regions = true;
    }

    fn merge(&mut self, other: Found, places: usize) {
        let Found { diff, boxes } = other;
        self.diff.different += diff.different;
        self.diff.more_regions |= diff.more_regions;
        if let (Some(absolute), Some(relative)) = (diff.max_absolute, diff.max_relative) {
            self.note(Difference::Number { absolute, relative });
        }
        let room = places.saturating_sub(self.diff.places.len());
        self.diff.places.extend(diff.places.into_iter().take(room));
        for (field, count) in diff.fields {
            *self.diff.fields.entry(field).or_default() += count;
        }
        for (number, axes) in boxes {
            if let Some(own) = self.boxes.get_mut(&number) {
                for (own, axis) in own.iter_mut().zip(axes) {
                    *own = (own.0.min(axis.0), own.1.max(axis.1));
                }
            } else if self.boxes.len() < MAX_REGIONS {
                self.boxes.insert(number, axes);
            } else {
                self.diff.more_regions = true;
            }
        }
    }

    fn finish(mut self) -> ElementsDiff {
        self.diff.regions = self
            .boxes
            .values()
            .map(|axes| Region::new(axes.iter().map(|(a, b)| *a..b + 1)))
            .collect();
        self.diff
    }
}

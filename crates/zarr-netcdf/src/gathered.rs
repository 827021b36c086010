//! Keeps elements that a program writes, until they are whole chunks or many.
//!
//! Programs write record by record, column by column or element by element. Without this each call would read, change and
//! store all chunks again that it touches, and make all variables longer that have the dimension. What is kept reaches the
//! store when it is a row of whole chunks, when it is more than the file's cache has room for, before the variable is read,
//! and by `sync` and `close`. Then each chunk is stored once, whatever the order of the calls was.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_int;

use zarr::nczarr::{Slab, Type};

use crate::codes::{EINTERNAL, ENOMEM, Failure, Result};
use crate::index::{File, Variable};

/// The elements of a call that are kept are at most this part of all that may be kept; more are written at once.
const MAX_CALL_PART: usize = 4;
/// The most boxes of a variable that are looked through at each read of it; where there are more, they are written first.
const MAX_BOXES_TO_READ: usize = 256;
/// The most elements that are written as points at a time: each needs a coordinate along every dimension.
const MAX_POINTS: usize = 2 << 20;

/// Which variable: its group's place, its number.
pub type Key = (usize, c_int);

/// Elements that are not written yet, by their variables.
#[derive(Debug, Default)]
pub struct Gathered {
    logs: HashMap<Key, Log>,
    /// The bytes of all logs.
    bytes: usize,
}

/// Elements as Zarr has them.
#[derive(Clone, Debug)]
pub enum Elements {
    /// Native elements of `size` bytes each.
    Native {
        size: usize,
        bytes: Vec<u8>,
    },
    Texts(Vec<String>),
}

/// The elements of one variable, in boxes in the order in which they were written.
#[derive(Debug)]
struct Log {
    /// The lengths of what is stored as one object: a chunk, or a shard.
    chunks: Vec<u64>,
    /// For each box the first coordinate along each axis, then its length along each.
    boxes: Vec<u64>,
    /// The number of the first element of each box.
    firsts: Vec<usize>,
    /// The elements of all boxes, each in C order.
    elements: Elements,
    /// How many pairs of a box and a chunk there are that overlap.
    overlaps: u64,
}

/// What is kept of elements that are read.
#[derive(Debug)]
pub enum Kept {
    Nothing,
    /// All: their bytes, in C order.
    All(Vec<u8>),
    /// Some, or it would take long to tell.
    Some,
}

/// A box of elements.
#[derive(Clone, Copy, Debug)]
struct Block<'a> {
    start: &'a [u64],
    count: &'a [u64],
}

/// Whether elements of the variable are kept at all. Texts of a fixed width are not: one that is too long is an error of the
/// call that writes it.
pub fn may_gather(file: &File, variable: &Variable, slab: &Slab, bytes: usize) -> Result<bool> {
    let most = max_bytes(file) / MAX_CALL_PART;
    // The parts of complex numbers are no axis of Zarr's.
    let rank = slab.count.len() - usize::from(variable.is_complex);
    if rank == 0 || bytes > most || slab.is_empty() {
        return Ok(false);
    }
    let headers = box_count(slab).saturating_mul(2 * rank as u64 * size_of::<u64>() as u64);
    if headers > most as u64 {
        return Ok(false);
    }
    if variable.zarr_type != Type::String {
        return Ok(true);
    }
    let array = variable.handle()?.array().map_err(|e| Failure::in_write(&e))?;
    Ok(array.data_type().is_variable())
}

/// The most bytes that are kept of all variables of a file: as many as of chunks that were read.
fn max_bytes(file: &File) -> usize {
    usize::try_from(file.cache_bytes).unwrap_or(usize::MAX)
}

/// The last axis along which a slab leaves elements out.
fn last_strided_axis(slab: &Slab) -> Option<usize> {
    (0..slab.count.len()).rev().find(|&axis| slab.stride[axis] != 1 && slab.count[axis] > 1)
}

/// How many boxes a slab is: one, unless it leaves elements out.
fn box_count(slab: &Slab) -> u64 {
    let cut = last_strided_axis(slab).map_or(0, |axis| axis + 1);
    slab.count[..cut].iter().fold(1, |boxes, &count| boxes.saturating_mul(count))
}

impl Gathered {
    /// Keeps the elements of a slab, and writes what is whole then or too much to keep.
    ///
    /// # Errors
    /// What the store meets, of these elements or of earlier ones; what could not be written is kept.
    pub fn write(&mut self, file: &File, key: Key, slab: &Slab, elements: Elements) -> Result<()> {
        let variable = file.group(key.0)?.variable(key.1)?;
        let added = elements.cost();
        while self.bytes.saturating_add(added) > max_bytes(file) {
            // Before more is kept, so that a store that is full does not fill the memory. The largest first: the chunks of
            // the others may be whole soon.
            let largest = self.logs.iter().max_by_key(|(_, log)| log.cost()).map(|(key, _)| *key);
            let Some(largest) = largest else { break };
            self.write_out(file, largest)?;
        }
        let log = match self.logs.entry(key) {
            Entry::Occupied(kept) => kept.into_mut(),
            Entry::Vacant(place) => {
                let log = Log::new(variable, elements.empty())?;
                if last_strided_axis(slab).is_none() {
                    let block = Block { start: &slab.start, count: &slab.count };
                    if log.is_whole(block, file, variable) {
                        return write_box(variable, block, &elements, 0);
                    }
                }
                place.insert(log)
            }
        };
        let before = log.cost();
        log.add(slab, elements)?;
        self.bytes = self.bytes - before + log.cost();
        let is_whole = log.firsts.len() == 1 && log.is_whole(log.block(0), file, variable);
        let is_too_much = self.bytes > max_bytes(file);
        if is_whole || is_too_much { self.write_out(file, key) } else { Ok(()) }
    }

    /// What is kept of a slab, so that programs which read and write in turn do not have each element stored before the next is
    /// read.
    pub fn find(&self, key: Key, slab: &Slab) -> Kept {
        let Some(log) = self.logs.get(&key) else { return Kept::Nothing };
        if log.firsts.len() > MAX_BOXES_TO_READ {
            return Kept::Some;
        }
        let rank = log.rank();
        // Of a slab that leaves elements out, the box around it. The parts of complex numbers are no axis of Zarr's.
        let around = (0..rank).map(|axis| (slab.count[axis] - 1) * slab.stride[axis] + 1);
        let around: Vec<u64> = around.collect();
        let asked = Block { start: &slab.start[..rank], count: &around };
        let blocks = (0..log.firsts.len()).rev().map(|number| (number, log.block(number)));
        let Some((number, block)) = blocks.into_iter().find(|(_, block)| block.meets(asked)) else {
            return Kept::Nothing;
        };
        let is_box = slab.count == around;
        let Elements::Native { size, bytes } = &log.elements else { return Kept::Some };
        if !is_box || !block.contains(asked) {
            return Kept::Some;
        }
        let mut found = Vec::new();
        let row = around[rank - 1] as usize;
        let copied = block.each_row(asked, |_, from| {
            let first = log.firsts[number] + from;
            found.extend_from_slice(&bytes[first * size..(first + row) * size]);
            Ok(())
        });
        if copied.is_ok() { Kept::All(found) } else { Kept::Some }
    }

    /// Writes what is kept of a variable. After an error it is kept still.
    ///
    /// # Errors
    /// What the store meets.
    pub fn write_out(&mut self, file: &File, key: Key) -> Result<()> {
        let Some(log) = self.logs.get(&key) else { return Ok(()) };
        log.store(file.group(key.0)?.variable(key.1)?)?;
        self.bytes -= log.cost();
        self.logs.remove(&key);
        Ok(())
    }

    /// Writes all that is kept.
    ///
    /// # Errors
    /// What the store meets; what could not be written is kept still.
    pub fn write_all(&mut self, file: &File) -> Result<()> {
        let keys: Vec<Key> = self.logs.keys().copied().collect();
        keys.into_iter().try_for_each(|key| self.write_out(file, key))
    }
}

impl Elements {
    /// None of the same kind.
    fn empty(&self) -> Elements {
        match self {
            Elements::Native { size, .. } => Elements::Native { size: *size, bytes: Vec::new() },
            Elements::Texts(_) => Elements::Texts(Vec::new()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Elements::Native { size, bytes } => bytes.len() / size,
            Elements::Texts(texts) => texts.len(),
        }
    }

    /// Bytes of memory.
    fn cost(&self) -> usize {
        match self {
            Elements::Native { bytes, .. } => bytes.len(),
            Elements::Texts(texts) => {
                texts.iter().map(|text| text.len() + size_of::<String>()).sum()
            }
        }
    }

    /// Adds others of the same kind.
    fn append(&mut self, more: Elements) -> Result<()> {
        match (self, more) {
            (Elements::Native { bytes, .. }, Elements::Native { bytes: more, .. }) => {
                if bytes.is_empty() {
                    *bytes = more;
                    return Ok(());
                }
                bytes.try_reserve(more.len()).map_err(|_| ENOMEM)?;
                bytes.extend_from_slice(&more);
            }
            (Elements::Texts(texts), Elements::Texts(more)) => texts.extend(more),
            _ => return Err(EINTERNAL.into()),
        }
        Ok(())
    }

    /// Adds some of another's.
    fn extend_from(&mut self, other: &Elements, first: usize, count: usize) -> Result<()> {
        match (self, other) {
            (Elements::Native { size, bytes }, Elements::Native { bytes: from, .. }) => {
                let from = &from[first * *size..(first + count) * *size];
                bytes.try_reserve(from.len()).map_err(|_| ENOMEM)?;
                bytes.extend_from_slice(from);
            }
            (Elements::Texts(texts), Elements::Texts(from)) => {
                texts.extend_from_slice(&from[first..first + count]);
            }
            _ => return Err(EINTERNAL.into()),
        }
        Ok(())
    }

    /// As many as `count` that are to be replaced.
    fn blank(&self, count: usize) -> Result<Elements> {
        Ok(match self {
            Elements::Native { size, .. } => {
                Elements::Native { size: *size, bytes: crate::read::zeroed(count, *size)? }
            }
            Elements::Texts(_) => Elements::Texts(vec![String::new(); count]),
        })
    }

    /// Puts some of another's in place of those from `at` on.
    fn replace(&mut self, at: usize, other: &Elements, first: usize, count: usize) -> Result<()> {
        match (self, other) {
            (Elements::Native { size, bytes }, Elements::Native { bytes: from, .. }) => {
                let place = &mut bytes[at * *size..(at + count) * *size];
                place.copy_from_slice(&from[first * *size..(first + count) * *size]);
            }
            (Elements::Texts(texts), Elements::Texts(from)) => {
                texts[at..at + count].clone_from_slice(&from[first..first + count]);
            }
            _ => return Err(EINTERNAL.into()),
        }
        Ok(())
    }
}

impl<'a> Block<'a> {
    fn end(self, axis: usize) -> u64 {
        self.start[axis].saturating_add(self.count[axis])
    }

    /// Whether both have an element.
    fn meets(self, other: Block<'_>) -> bool {
        (0..self.start.len())
            .all(|axis| self.start[axis] < other.end(axis) && other.start[axis] < self.end(axis))
    }

    fn contains(self, other: Block<'_>) -> bool {
        (0..self.start.len())
            .all(|axis| self.start[axis] <= other.start[axis] && other.end(axis) <= self.end(axis))
    }

    /// How many elements; a box that is kept has no more than memory has.
    fn len(self) -> usize {
        self.count.iter().fold(1, |len, &count| len.saturating_mul(count as usize))
    }

    /// The axis along which `next` continues the box so that the elements of both, one after the other, are those of one box in
    /// C order.
    fn axis_of_next(self, next: Block<'_>) -> Option<usize> {
        let axis = (0..self.start.len()).find(|&axis| self.start[axis] != next.start[axis])?;
        let before_are_single =
            self.count[..axis].iter().chain(&next.count[..axis]).all(|&n| n == 1);
        let is_next = next.start[axis] == self.end(axis);
        let behind = axis + 1..self.start.len();
        let same_behind = self.start[behind.clone()] == next.start[behind.clone()]
            && self.count[behind.clone()] == next.count[behind];
        (before_are_single && is_next && same_behind).then_some(axis)
    }

    /// The first and the last chunk along an axis that it overlaps.
    fn chunks_along(self, axis: usize, len: u64) -> (u64, u64) {
        (self.start[axis] / len, (self.end(axis) - 1) / len)
    }

    /// How many chunks it overlaps.
    fn overlaps(self, chunks: &[u64]) -> u64 {
        (0..chunks.len()).fold(1, |overlaps: u64, axis| {
            let (first, last) = self.chunks_along(axis, chunks[axis]);
            overlaps.saturating_mul(last - first + 1)
        })
    }

    /// Calls for each row of elements along the last axis of `part`, which lies in this box, with the coordinates of its first
    /// element and that one's number in this box.
    fn each_row(
        self,
        part: Block<'_>,
        mut call: impl FnMut(&[u64], usize) -> Result<()>,
    ) -> Result<()> {
        let rank = self.start.len();
        let mut at = part.start.to_vec();
        loop {
            let number = (0..rank).fold(0, |number: usize, axis| {
                number * self.count[axis] as usize + (at[axis] - self.start[axis]) as usize
            });
            call(&at, number)?;
            let Some(axis) = (0..rank - 1).rev().find(|&axis| at[axis] + 1 < part.end(axis)) else {
                return Ok(());
            };
            at[axis] += 1;
            at[axis + 1..].copy_from_slice(&part.start[axis + 1..]);
        }
    }
}

impl Log {
    fn new(variable: &Variable, elements: Elements) -> Result<Log> {
        let array = variable.handle()?.array().map_err(|e| Failure::in_write(&e))?;
        let rank = array.shape().len();
        // Where chunks have no common shape, any will do: it tells only when to write.
        let chunks = array.shard_shape().or_else(|| array.chunk_shape());
        let chunks = chunks.unwrap_or_else(|| vec![1; rank]);
        let chunks = chunks.into_iter().map(|len| len.max(1)).collect();
        Ok(Log { chunks, boxes: Vec::new(), firsts: Vec::new(), elements, overlaps: 0 })
    }

    fn rank(&self) -> usize {
        self.chunks.len()
    }

    /// The box of this number.
    fn block(&self, number: usize) -> Block<'_> {
        let rank = self.rank();
        let (start, count) = self.boxes[2 * rank * number..][..2 * rank].split_at(rank);
        Block { start, count }
    }

    /// Bytes of memory, with those of the list of overlaps that `store` may make.
    fn cost(&self) -> usize {
        let overlaps = usize::try_from(self.overlaps).unwrap_or(usize::MAX);
        let overlaps = overlaps.saturating_mul(size_of::<Overlap>());
        let headers = size_of_val(&self.boxes[..]) + size_of_val(&self.firsts[..]);
        (self.elements.cost() + headers).saturating_add(overlaps)
    }

    /// Whether a box is of whole chunks; along the first axis it may begin in the middle of one.
    fn is_whole(&self, block: Block<'_>, file: &File, variable: &Variable) -> bool {
        (0..self.rank()).all(|axis| {
            let (len, end) = (self.chunks[axis], block.end(axis));
            let dimension = &file.dimensions[variable.dimensions[axis]];
            let ends =
                end.is_multiple_of(len) || (!dimension.is_unlimited && end == dimension.len as u64);
            ends && (axis == 0 || block.start[axis].is_multiple_of(len))
        })
    }

    /// Adds the elements of a slab.
    fn add(&mut self, slab: &Slab, elements: Elements) -> Result<()> {
        self.elements.append(elements)?;
        let rank = self.rank();
        let cut = last_strided_axis(slab).map_or(0, |axis| axis + 1);
        let (mut start, mut count) = (slab.start.clone(), slab.count.clone());
        count[..cut].fill(1);
        // Which of the slab's elements along the axes that leave some out.
        let mut at = vec![0; cut];
        loop {
            for axis in 0..cut {
                start[axis] = slab.start[axis] + at[axis] * slab.stride[axis];
            }
            self.add_box(&start, &count);
            let Some(axis) = (0..cut).rev().find(|&axis| at[axis] + 1 < slab.count[axis]) else {
                debug_assert_eq!(self.boxes.len(), 2 * rank * self.firsts.len());
                return Ok(());
            };
            at[axis] += 1;
            at[axis + 1..].fill(0);
        }
    }

    /// Adds a box, whose elements are there.
    fn add_box(&mut self, start: &[u64], count: &[u64]) {
        let first = match self.firsts.last() {
            None => 0,
            Some(&first) => first + self.block(self.firsts.len() - 1).len(),
        };
        self.firsts.push(first);
        self.boxes.extend_from_slice(start);
        self.boxes.extend_from_slice(count);
        let added = self.block(self.firsts.len() - 1).overlaps(&self.chunks);
        self.overlaps = self.overlaps.saturating_add(added);
        while self.join_last() {}
    }

    /// Makes the last two boxes one, if they are one.
    fn join_last(&mut self) -> bool {
        let Some(last) = self.firsts.len().checked_sub(1).filter(|&last| last > 0) else {
            return false;
        };
        let (before, next) = (self.block(last - 1), self.block(last));
        let Some(axis) = before.axis_of_next(next) else { return false };
        let more = next.count[axis];
        let apart = before.overlaps(&self.chunks).saturating_add(next.overlaps(&self.chunks));
        let rank = self.rank();
        self.boxes.truncate(2 * rank * last);
        self.firsts.pop();
        self.boxes[2 * rank * (last - 1) + rank + axis] += more;
        let joined = self.block(last - 1).overlaps(&self.chunks);
        self.overlaps = self.overlaps.saturating_sub(apart).saturating_add(joined);
        true
    }

    /// The smallest box that has all.
    fn bounds(&self) -> (Vec<u64>, Vec<u64>) {
        let rank = self.rank();
        let (mut start, mut end) = (vec![u64::MAX; rank], vec![0; rank]);
        for number in 0..self.firsts.len() {
            let block = self.block(number);
            for axis in 0..rank {
                start[axis] = start[axis].min(block.start[axis]);
                end[axis] = end[axis].max(block.end(axis));
            }
        }
        let count = (0..rank).map(|axis| end[axis] - start[axis]).collect();
        (start, count)
    }

    /// Writes all.
    fn store(&self, variable: &Variable) -> Result<()> {
        if self.firsts.len() == 1 {
            return write_box(variable, self.block(0), &self.elements, 0);
        }
        let (start, count) = self.bounds();
        let bounds = Block { start: &start, count: &count };
        if let Some(all) = self.filled(bounds)? {
            return write_box(variable, bounds, &all, 0);
        }
        self.store_points(bounds, variable)
    }

    /// The elements of the box `bounds`, if the boxes fill it.
    fn filled(&self, bounds: Block<'_>) -> Result<Option<Elements>> {
        let len = bounds.len();
        if len > self.elements.len() {
            return Ok(None);
        }
        let mut all = self.elements.blank(len)?;
        let mut is_there = vec![false; len];
        for number in 0..self.firsts.len() {
            let block = self.block(number);
            let row = block.count[self.rank() - 1] as usize;
            block.each_row(block, |at, from| {
                let place = (0..self.rank()).fold(0, |place: usize, axis| {
                    place * bounds.count[axis] as usize + (at[axis] - bounds.start[axis]) as usize
                });
                is_there[place..place + row].fill(true);
                all.replace(place, &self.elements, self.firsts[number] + from, row)
            })?;
        }
        Ok(is_there.into_iter().all(|there| there).then_some(all))
    }

    /// Writes all as points, the chunks one after the other.
    fn store_points(&self, bounds: Block<'_>, variable: &Variable) -> Result<()> {
        let Some(overlaps) = self.overlaps_by_chunk(bounds)? else {
            // There are more chunks between the elements than numbers.
            for number in 0..self.firsts.len() {
                write_box(variable, self.block(number), &self.elements, self.firsts[number])?;
            }
            return Ok(());
        };
        let rank = self.rank();
        let mut points = Points::new(rank, self.elements.empty());
        let (mut start, mut count) = (vec![0; rank], vec![0; rank]);
        for in_chunk in overlaps.chunk_by(|a, b| a.chunk == b.chunk) {
            for overlap in in_chunk {
                let number = overlap.block as usize;
                let block = self.block(number);
                let mut chunk = overlap.chunk;
                for axis in (0..rank).rev() {
                    let (first, last) = bounds.chunks_along(axis, self.chunks[axis]);
                    let places = last - first + 1;
                    let begin = (first + chunk % places) * self.chunks[axis];
                    chunk /= places;
                    start[axis] = begin.max(block.start[axis]);
                    let end = begin.saturating_add(self.chunks[axis]).min(block.end(axis));
                    count[axis] = end - start[axis];
                }
                let part = Block { start: &start, count: &count };
                block.each_row(part, |at, from| {
                    let from = self.firsts[number] + from;
                    points.add_row(at, count[rank - 1], &self.elements, from)?;
                    if points.len() >= MAX_POINTS { points.write(variable) } else { Ok(()) }
                })?;
            }
        }
        points.write(variable)
    }

    /// Which boxes overlap which chunks, by the number of the chunk within `bounds` and then by the box; `None` if there are more
    /// chunks than numbers.
    fn overlaps_by_chunk(&self, bounds: Block<'_>) -> Result<Option<Vec<Overlap>>> {
        let rank = self.rank();
        let along = |axis: usize, block: Block<'_>| block.chunks_along(axis, self.chunks[axis]);
        let mut places: u64 = 1;
        for axis in 0..rank {
            let (first, last) = along(axis, bounds);
            let Some(more) = places.checked_mul(last - first + 1) else { return Ok(None) };
            places = more;
        }
        let expected = usize::try_from(self.overlaps).map_err(|_| ENOMEM)?;
        let mut overlaps = Vec::new();
        overlaps.try_reserve_exact(expected).map_err(|_| ENOMEM)?;
        for number in 0..self.firsts.len() {
            let block = self.block(number);
            let mut at: Vec<u64> = (0..rank).map(|axis| along(axis, block).0).collect();
            loop {
                let chunk = (0..rank).fold(0, |chunk, axis| {
                    let (first, last) = along(axis, bounds);
                    chunk * (last - first + 1) + (at[axis] - first)
                });
                overlaps.push(Overlap { chunk, block: number as u64 });
                let next = (0..rank).rev().find(|&axis| at[axis] < along(axis, block).1);
                let Some(axis) = next else { break };
                at[axis] += 1;
                for (behind, place) in at.iter_mut().enumerate().skip(axis + 1) {
                    *place = along(behind, block).0;
                }
            }
        }
        // Stable, so that of elements for one place the last ones stay.
        overlaps.sort_by_key(|overlap| overlap.chunk);
        Ok(Some(overlaps))
    }
}

/// That a box has elements of a chunk.
struct Overlap {
    chunk: u64,
    block: u64,
}

/// Elements with their coordinates.
struct Points {
    coordinates: Vec<Vec<u64>>,
    elements: Elements,
}

impl Points {
    fn new(rank: usize, elements: Elements) -> Points {
        Points { coordinates: vec![Vec::new(); rank], elements }
    }

    fn len(&self) -> usize {
        self.elements.len()
    }

    /// Adds `count` elements that follow each other along the last axis.
    fn add_row(&mut self, at: &[u64], count: u64, from: &Elements, first: usize) -> Result<()> {
        self.elements.extend_from(from, first, count as usize)?;
        let last = at.len() - 1;
        for (axis, list) in self.coordinates.iter_mut().enumerate() {
            list.try_reserve(count as usize).map_err(|_| ENOMEM)?;
            if axis == last {
                list.extend(at[axis]..at[axis] + count);
            } else {
                list.resize(list.len() + count as usize, at[axis]);
            }
        }
        Ok(())
    }

    /// Writes them, and has none then.
    fn write(&mut self, variable: &Variable) -> Result<()> {
        if self.len() == 0 {
            return Ok(());
        }
        let none = Points::new(self.coordinates.len(), self.elements.empty());
        let Points { coordinates, elements } = std::mem::replace(self, none);
        let handle = variable.handle()?;
        let written = match elements {
            Elements::Native { bytes, .. } => handle.write_points_from(coordinates, &bytes),
            Elements::Texts(texts) => handle.write_points(coordinates, texts),
        };
        written.map_err(|e| Failure::in_write(&e))
    }
}

/// Writes a box of elements, the first of which has this number.
fn write_box(
    variable: &Variable,
    block: Block<'_>,
    elements: &Elements,
    first: usize,
) -> Result<()> {
    let slab = Slab::new(block.start, block.count);
    let (handle, len) = (variable.handle()?, block.len());
    let written = match elements {
        Elements::Native { size, bytes } => {
            handle.write_slab_from(&slab, &bytes[first * size..(first + len) * size])
        }
        Elements::Texts(texts) => handle.write_slab(&slab, texts[first..first + len].to_vec()),
    };
    written.map_err(|e| Failure::in_write(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(chunks: &[u64]) -> Log {
        let elements = Elements::Native { size: 1, bytes: Vec::new() };
        Log {
            chunks: chunks.to_vec(),
            boxes: Vec::new(),
            firsts: Vec::new(),
            elements,
            overlaps: 0,
        }
    }

    fn bytes(count: u64) -> Elements {
        Elements::Native { size: 1, bytes: (0..count).map(|n| n as u8).collect() }
    }

    #[test]
    fn elements_that_follow_each_other_are_one_box() {
        let mut log = log(&[2, 3]);
        for row in 0..4 {
            for column in 0..6 {
                log.add(&Slab::new([row, column], [1, 1]), bytes(1)).unwrap();
            }
        }
        // The last row is a box of its own until it is whole.
        assert_eq!(log.boxes, [0, 0, 4, 6]);
        assert_eq!(log.overlaps, 4);
        log.add(&Slab::new([4, 0], [2, 6]), bytes(12)).unwrap();
        assert_eq!(log.boxes, [0, 0, 6, 6]);
        log.add(&Slab::new([7, 0], [1, 6]), bytes(6)).unwrap();
        assert_eq!((log.boxes.len(), log.firsts), (8, vec![0, 36]));
    }

    #[test]
    fn columns_fill_a_box() {
        let mut log = log(&[2, 3]);
        for column in [2, 0, 1, 1] {
            log.add(&Slab::new([1, column], [3, 1]), bytes(3)).unwrap();
        }
        let (start, count) = log.bounds();
        assert_eq!((&start[..], &count[..]), (&[1, 0][..], &[3, 3][..]));
        let filled = log.filled(Block { start: &start, count: &count }).unwrap();
        let Some(Elements::Native { bytes: found, .. }) = filled else { panic!("{filled:?}") };
        assert_eq!(found, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
        log.add(&Slab::new([0, 5], [1, 1]), bytes(1)).unwrap();
        let (start, count) = log.bounds();
        assert!(log.filled(Block { start: &start, count: &count }).unwrap().is_none());
    }

    #[test]
    fn slabs_that_leave_elements_out_are_many_boxes() {
        let mut log = log(&[4, 4]);
        let slab = Slab::new([0, 1], [2, 3]).with_stride([3, 2]);
        assert_eq!(box_count(&slab), 6);
        log.add(&slab, bytes(6)).unwrap();
        let found: Vec<&[u64]> = (0..6).map(|number| log.block(number).start).collect();
        assert_eq!(found, [[0, 1], [0, 3], [0, 5], [3, 1], [3, 3], [3, 5]]);
        let rows = Slab::new([0, 0], [2, 3]).with_stride([3, 1]);
        assert_eq!(box_count(&rows), 2);
    }
}

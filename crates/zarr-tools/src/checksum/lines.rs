//! Reads an array piece by piece and hashes the lines of its blocks.
//!
//! A piece has whole chunks along all axes but the last, and whole lines of blocks along that one. So a chunk is decoded
//! once, but for those that a piece cuts along the last axis, and what waits for the rest of its block is a hash for each line,
//! not the line.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest as _, Sha256};
use zarr_core::data_type::{Endian, unpadded, utf32_chars};
use zarr_core::runtime::run_together;
use zarr_core::sync::lock;
use zarr_core::var_buffer::VarStream;
use zarr_core::{AccessError, Array, Json, Region, Result, Selection};

use super::blocks::{Division, Tree, block_hash};
use super::logical::{Elements, Logical};
use super::{Digest, canonical_json};
use crate::size::byte_count;

/// Elements in canonical bytes, in C order.
#[derive(PartialEq)]
pub(crate) struct Canonical {
    bytes: Vec<u8>,
    /// Where each element begins, and where the last one ends; nothing if all have `size` bytes.
    ends: Vec<usize>,
    size: usize,
}

impl Canonical {
    /// Reads a region of an array.
    pub fn read(array: &Array, logical: &Logical, region: &Region) -> Result<Canonical> {
        // NCZarr stores a scalar as an array of one element.
        let selection = match (region.rank(), array.rank()) {
            (0, _) => Selection::from(..),
            _ => Selection::from(region.clone()),
        };
        match logical.elements {
            Elements::Variable | Elements::Json => {
                let bytes = array.read_bytes(selection)?;
                Ok(Canonical::of_variable(bytes, logical.elements == Elements::Json))
            }
            Elements::Fixed => {
                let bytes = array.read_le_bytes(selection)?;
                let size = logical.stored_type.repr().map_or(1, |repr| repr.size());
                Ok(Canonical { bytes, ends: Vec::new(), size: size.max(1) })
            }
            Elements::PaddedBytes | Elements::PaddedUtf32 => {
                let bytes = array.read_le_bytes(selection)?;
                let size = logical.stored_type.repr().map_or(1, |repr| repr.size()).max(1);
                let texts = bytes.chunks_exact(size).map(|element| match logical.elements {
                    Elements::PaddedBytes => unpadded(element, 1).to_vec(),
                    _ => {
                        let text = utf32_chars(unpadded(element, 4), Endian::Little);
                        text.collect::<String>().into_bytes()
                    }
                });
                Ok(Canonical::of_texts(texts))
            }
        }
    }

    /// What [`Canonical::read`] gives for a region in which no chunk is stored. One element is read: to ask for each of the
    /// chunks could take hours where they are small.
    pub fn read_fill(array: &Array, logical: &Logical, region: &Region) -> Result<Canonical> {
        let first =
            Region::new(region.intervals().iter().map(|range| range.start..range.start + 1));
        let one = Canonical::read(array, logical, &first)?;
        let count = region.element_count().and_then(|count| usize::try_from(count).ok());
        let count = count.ok_or(AccessError::TooLarge {
            what: "a block of elements that are not stored",
            size: u64::MAX,
            hint: "give less memory",
        })?;
        let ends = match one.size {
            0 => (0..=count).map(|n| n * one.bytes.len()).collect(),
            _ => Vec::new(),
        };
        Ok(Canonical { bytes: one.bytes.repeat(count), ends, size: one.size })
    }

    fn of_variable(bytes: Vec<u8>, is_json: bool) -> Canonical {
        let mut ends = vec![0];
        let mut stream = VarStream::new(&bytes);
        while stream.next().is_some() {
            ends.push(bytes.len() - stream.rest().len());
        }
        let plain = Canonical { bytes, ends, size: 0 };
        if !is_json {
            return plain;
        }
        let count = plain.len();
        Canonical::of_texts((0..count).map(|n| canonical_element(&plain.get(n)[4..])))
    }

    fn of_texts(texts: impl Iterator<Item = Vec<u8>>) -> Canonical {
        let (mut bytes, mut ends) = (Vec::new(), vec![0]);
        for text in texts {
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text);
            ends.push(bytes.len());
        }
        Canonical { bytes, ends, size: 0 }
    }

    pub fn len(&self) -> usize {
        match self.size {
            0 => self.ends.len() - 1,
            size => self.bytes.len() / size,
        }
    }

    /// The bytes of these elements.
    fn range(&self, elements: Range<usize>) -> &[u8] {
        match self.size {
            0 => &self.bytes[self.ends[elements.start]..self.ends[elements.end]],
            size => &self.bytes[elements.start * size..elements.end * size],
        }
    }

    /// The bytes of an element; of variable length with the length before it.
    pub fn get(&self, element: usize) -> &[u8] {
        self.range(element..element + 1)
    }
}

/// An element that is JSON; one that is not stays as it is, and the empty one is `null`.
fn canonical_element(text: &[u8]) -> Vec<u8> {
    if text.is_empty() {
        return b"null".to_vec();
    }
    match Json::parse_tolerant(text) {
        Ok((json, _)) => canonical_json::text_of(&json).into_bytes(),
        Err(_) => text.to_vec(),
    }
}

/// The lengths of the pieces in which an array is read.
pub(crate) fn piece_lengths(
    division: &Division,
    chunk: &[u64],
    size: u64,
    memory: u64,
) -> Vec<u64> {
    let (shape, rank) = (&division.shape, division.shape.len());
    let mut piece: Vec<u64> =
        (0..rank).map(|axis| line_step(division, chunk, axis).min(shape[axis].max(1))).collect();
    if let (Some(last), Some(length)) = (piece.last_mut(), chunk.last()) {
        // All of a chunk, and all of each line that begins in it.
        let step = line_step(division, chunk, rank - 1);
        *last = length.next_multiple_of(step).min(shape[rank - 1].max(1));
    }
    let usual = (memory / 4).max(1);
    if byte_count(size, &piece) > memory {
        // A chunk that is too large is read in parts.
        for axis in 0..rank {
            while byte_count(size, &piece) > usual && piece[axis] > 1 {
                let half = piece[axis].div_ceil(2);
                let least = if axis + 1 == rank { division.block[axis] } else { 1 };
                let shorter = half.next_multiple_of(least);
                if shorter >= piece[axis] {
                    break;
                }
                piece[axis] = shorter;
            }
        }
        return piece;
    }
    for axis in (0..rank).rev() {
        let position = byte_count(size, &piece) / piece[axis].max(1);
        let step = line_step(division, chunk, axis);
        let fit = usual / position.max(1) / step * step;
        piece[axis] = piece[axis].max(fit).min(shape[axis].max(1));
        if piece[axis] < shape[axis] {
            break;
        }
    }
    piece
}

/// The lengths that a piece may have along an axis are multiples of this one.
fn line_step(division: &Division, chunk: &[u64], axis: usize) -> u64 {
    if axis + 1 == division.shape.len() {
        division.block[axis]
    } else {
        chunk.get(axis).copied().unwrap_or(1).max(1)
    }
}

/// The pieces of an array, numbered in C order.
pub(crate) struct Pieces<'a> {
    shape: &'a [u64],
    lengths: Vec<u64>,
    /// How many there are along each axis.
    counts: Vec<u64>,
}

impl<'a> Pieces<'a> {
    pub fn new(shape: &'a [u64], lengths: Vec<u64>) -> Pieces<'a> {
        let counts = shape.iter().zip(&lengths).map(|(len, piece)| len.div_ceil(*piece)).collect();
        Pieces { shape, lengths, counts }
    }

    /// How many there are; the largest number if 64 bits cannot count them.
    pub fn count(&self) -> u64 {
        if self.counts.contains(&0) {
            return 0;
        }
        self.counts.iter().fold(1, |all, &count| all.saturating_mul(count))
    }

    /// The elements of a piece.
    pub fn region(&self, mut number: u64) -> Region {
        let mut ranges = Vec::with_capacity(self.shape.len());
        for ((&count, &length), &end) in self.counts.iter().zip(&self.lengths).zip(self.shape).rev()
        {
            let start = number % count * length;
            ranges.push(start..start.saturating_add(length).min(end));
            number /= count;
        }
        ranges.reverse();
        Region::new(ranges)
    }
}

fn check_count(region: &Region, elements: &Canonical) -> Result<()> {
    let (expected, found) = (region.element_count().unwrap_or(u64::MAX), elements.len() as u64);
    if found == expected { Ok(()) } else { Err(AccessError::Count { expected, found }.into()) }
}

/// Blocks of which lines are missing: the hashes of the lines, and how many are missing.
type Open = HashMap<u64, (Vec<u8>, u64)>;

/// Hashes the blocks of an array.
pub(super) struct LineHasher<'a> {
    pub division: &'a Division,
    pub threads: usize,
    open: Mutex<Open>,
}

impl<'a> LineHasher<'a> {
    pub fn new(division: &'a Division, threads: usize) -> LineHasher<'a> {
        LineHasher { division, threads, open: Mutex::default() }
    }

    /// Hashes the lines of a piece, and adds the blocks that are complete.
    ///
    /// # Errors
    /// [`AccessError::Count`] if the elements are not as many as the piece has.
    pub fn add(&self, piece: &Region, elements: &Canonical, tree: &mut Tree) -> Result<()> {
        check_count(piece, elements)?;
        let blocks = self.blocks_of(piece);
        let next = AtomicUsize::new(0);
        let finished = Mutex::new(Vec::new());
        let is_small = elements.bytes.len() < 1 << 20;
        let helpers = if is_small { 0 } else { self.threads.min(blocks.len()).saturating_sub(1) };
        run_together("zarr-checksum", helpers, || {
            while let Some(index) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Some(done) = self.add_to_block(index, piece, elements) {
                    lock(&finished).push(done);
                }
            }
        });
        for (number, hashes) in lock(&finished).drain(..) {
            tree.add(number, block_hash(&hashes));
        }
        Ok(())
    }

    /// The hash of a block, from its elements.
    ///
    /// # Errors
    /// As of [`LineHasher::add`].
    pub fn whole(&self, number: u64, block: &Region, elements: &Canonical) -> Result<Digest> {
        check_count(block, elements)?;
        let lines = self.add_to_block(&self.division.index(number), block, elements);
        Ok(block_hash(&lines.expect("no line is missing").1))
    }

    /// The blocks that a piece touches.
    fn blocks_of(&self, piece: &Region) -> Vec<Vec<u64>> {
        let mut all = vec![Vec::with_capacity(piece.rank())];
        for (range, block) in piece.intervals().iter().zip(&self.division.block) {
            let along = range.start / block..range.end.div_ceil(*block);
            all = all
                .into_iter()
                .flat_map(|index| {
                    along.clone().map(move |at| index.iter().copied().chain([at]).collect())
                })
                .collect();
        }
        all
    }

    /// Hashes the lines that a piece has of a block. Returns the hashes of all its lines once none is missing.
    fn add_to_block(
        &self,
        index: &[u64],
        piece: &Region,
        elements: &Canonical,
    ) -> Option<(u64, Vec<u8>)> {
        let block = self.division.intervals(index);
        let common: Vec<Range<u64>> = block
            .iter()
            .zip(piece.intervals())
            .map(|(block, piece)| block.start.max(piece.start)..block.end.min(piece.end))
            .collect();
        let outer = common.len().saturating_sub(1);
        let length = common.last().map_or(1, |range| range.end - range.start);
        let mut hashes: Vec<(usize, [u8; 32])> = Vec::new();
        let mut at: Vec<u64> = common.iter().map(|range| range.start).collect();
        'lines: loop {
            let first = position_in(piece.intervals(), &at);
            let hash = Sha256::digest(elements.range(first..first + length as usize));
            hashes.push((position_in(&block[..outer], &at), hash.into()));
            let mut axis = outer;
            loop {
                if axis == 0 {
                    break 'lines;
                }
                axis -= 1;
                at[axis] += 1;
                if at[axis] < common[axis].end {
                    break;
                }
                at[axis] = common[axis].start;
            }
        }
        let number = self.division.number(index);
        let lines = self.division.lines(index);
        let mut open = lock(&self.open);
        let entry = open.entry(number);
        let (all, missing) = entry.or_insert_with(|| (vec![0; 32 * lines as usize], lines));
        *missing -= hashes.len() as u64;
        for (line, hash) in hashes {
            all[32 * line..32 * line + 32].copy_from_slice(&hash);
        }
        match *missing {
            0 => open.remove(&number).map(|(all, _)| (number, all)),
            _ => None,
        }
    }
}

/// The number of an element of a box in C order, by as many of the axes as `ranges` has.
fn position_in(ranges: &[Range<u64>], at: &[u64]) -> usize {
    let position = at
        .iter()
        .zip(ranges)
        .fold(0, |position, (at, range)| position * (range.end - range.start) + (at - range.start));
    position as usize
}

//! The parts of a file that are in memory.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Fault, Place, Result};

/// What [`Blocks::plan`] asks for at most, in bytes.
pub const MAX_FETCH_BYTES: u64 = 8 << 20;

/// How many structures are remembered as verified.
const MAX_VERIFIED: usize = 1 << 18;

/// Blocks of a file, as far as they were fetched.
///
/// The file must not change while it is read. All blocks have the same size, except for the last one of the file.
///
/// ```
/// use zarr_hdf5::Blocks;
///
/// let mut blocks = Blocks::new(10, 4);
/// assert!(blocks.get(2..6).is_err());
/// let range = blocks.plan(&(2..6));
/// assert_eq!(range, 0..8);
/// blocks.insert(0, b"abcdefgh")?;
/// assert_eq!(&*blocks.get(2..6)?, b"cdef");
/// # Ok::<(), zarr_hdf5::Fault>(())
/// ```
#[derive(Debug)]
pub struct Blocks {
    file_length: u64,
    block_length: u64,
    blocks: HashMap<u64, Block>,
    budget: u64,
    cached: u64,
    clock: AtomicU64,
    /// The end of the last planned fetch and its length, which the next one doubles if it goes on there.
    last_fetch: Range<u64>,
    verified: Mutex<HashSet<(u64, u64)>>,
}

#[derive(Debug)]
struct Block {
    bytes: Vec<u8>,
    last_use: AtomicU64,
}

impl Blocks {
    /// What [`trim`](Self::trim) leaves unless told otherwise, in bytes.
    pub const DEFAULT_BUDGET: u64 = 64 << 20;

    /// No blocks yet, of a file of `file_length` bytes, in blocks of `block_length` bytes (at least 1).
    pub fn new(file_length: u64, block_length: u64) -> Blocks {
        Blocks {
            file_length,
            block_length: block_length.max(1),
            blocks: HashMap::new(),
            budget: Self::DEFAULT_BUDGET,
            cached: 0,
            clock: AtomicU64::new(0),
            last_fetch: 0..0,
            verified: Mutex::new(HashSet::new()),
        }
    }

    /// Keeps at most `budget` bytes at each [`trim`](Self::trim). While a step runs, up to four times as many may be cached.
    #[must_use]
    pub fn with_budget(mut self, budget: u64) -> Blocks {
        self.budget = budget;
        self
    }

    /// The whole file, in one block.
    pub fn whole(bytes: Vec<u8>) -> Blocks {
        let length = bytes.len() as u64;
        let mut blocks = Blocks::new(length, length).with_budget(length);
        blocks.cached = length;
        blocks.blocks.insert(0, Block { bytes, last_use: AtomicU64::new(0) });
        blocks
    }

    /// The file's length in bytes.
    pub fn file_length(&self) -> u64 {
        self.file_length
    }

    /// The bytes of a range of the file: borrowed from a block, or copied where the range lies in several.
    ///
    /// # Errors
    /// [`Fault::Missing`] with the part that is not cached; an error if the range ends beyond the file.
    pub fn get(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>> {
        if range.end > self.file_length || range.start > range.end {
            return Err(Place::new("file", range.start).damaged(format!(
                "a structure extends to byte {}, but the file has {} bytes",
                range.end, self.file_length
            )));
        }
        if range.is_empty() {
            return Ok(Cow::Borrowed(&[]));
        }
        let first = range.start / self.block_length;
        let last = (range.end - 1) / self.block_length;
        for number in first..=last {
            if !self.blocks.contains_key(&number) {
                let start = range.start.max(number * self.block_length);
                return Err(Fault::Missing(start..range.end));
            }
        }
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let block = |number: u64| {
            let block = &self.blocks[&number];
            block.last_use.store(now, Ordering::Relaxed);
            let block_start = number * self.block_length;
            let start = range.start.max(block_start) - block_start;
            let end = range.end.min(block_start + self.block_length) - block_start;
            &block.bytes[start as usize..end as usize]
        };
        if first == last {
            return Ok(Cow::Borrowed(block(first)));
        }
        let mut joined = Vec::with_capacity((range.end - range.start) as usize);
        for number in first..=last {
            joined.extend_from_slice(block(number));
        }
        Ok(Cow::Owned(joined))
    }

    /// The range to fetch for a missing one: whole blocks, and twice as many as before (at most [`MAX_FETCH_BYTES`]) where
    /// the file is read on from the end of the last fetch.
    pub fn plan(&mut self, missing: &Range<u64>) -> Range<u64> {
        let start = missing.start / self.block_length * self.block_length;
        let last_length = self.last_fetch.end - self.last_fetch.start;
        let mut length = self.block_length;
        if start == self.last_fetch.end && last_length > 0 {
            length = (2 * last_length).min(MAX_FETCH_BYTES.max(self.block_length));
        }
        let mut end = start.saturating_add(length).max(missing.end);
        end = end.div_ceil(self.block_length).saturating_mul(self.block_length);
        // What is cached is not fetched again.
        let mut number = start / self.block_length + 1;
        while number * self.block_length < end {
            if number * self.block_length >= missing.end && self.blocks.contains_key(&number) {
                end = number * self.block_length;
            }
            number += 1;
        }
        let range = start..end.min(self.file_length);
        self.last_fetch = range.clone();
        range
    }

    /// Adds bytes that begin at `start`, which is the beginning of a block; they end where a block or the file ends.
    ///
    /// # Errors
    /// The bytes are not whole blocks of the file, or one step needed more than four times the budget.
    pub fn insert(&mut self, start: u64, bytes: &[u8]) -> Result<()> {
        let place = Place::new("file", start);
        let end = start.saturating_add(bytes.len() as u64);
        let whole = end.is_multiple_of(self.block_length) || end == self.file_length;
        if !start.is_multiple_of(self.block_length)
            || end > self.file_length
            || !whole
            || bytes.is_empty()
        {
            return Err(place.damaged(format!(
                "expected whole blocks of {} bytes within the {} bytes of the file, found {} bytes",
                self.block_length,
                self.file_length,
                bytes.len()
            )));
        }
        let limit = self.budget.max(MAX_FETCH_BYTES).saturating_mul(4);
        if self.cached.saturating_add(bytes.len() as u64) > limit {
            return Err(
                place.limit(format!("one step needs more than {limit} bytes of metadata at once"))
            );
        }
        let first = start / self.block_length;
        for (number, part) in (first..).zip(bytes.chunks(self.block_length as usize)) {
            let last_use = AtomicU64::new(self.clock.load(Ordering::Relaxed));
            self.cached += part.len() as u64;
            if let Some(old) = self.blocks.insert(number, Block { bytes: part.to_vec(), last_use })
            {
                self.cached -= old.bytes.len() as u64;
            }
        }
        Ok(())
    }

    /// Drops the blocks that were not used for the longest time until the budget is kept. A driver calls it between steps:
    /// within a step, blocks that were fetched must stay, or the step would never end.
    pub fn trim(&mut self) {
        if self.cached <= self.budget {
            return;
        }
        let mut by_use: Vec<(u64, u64)> =
            self.blocks.iter().map(|(n, b)| (b.last_use.load(Ordering::Relaxed), *n)).collect();
        by_use.sort_unstable();
        for (_, number) in by_use {
            if self.cached <= self.budget {
                break;
            }
            if let Some(block) = self.blocks.remove(&number) {
                self.cached -= block.bytes.len() as u64;
            }
        }
    }

    /// Whether the checksum of this range was found right before.
    pub(crate) fn is_verified(&self, start: u64, length: u64) -> bool {
        let verified = self.verified.lock();
        verified.is_ok_and(|verified| verified.contains(&(start, length)))
    }

    /// Remembers that the checksum of this range is right.
    pub(crate) fn set_verified(&self, start: u64, length: u64) {
        if let Ok(mut verified) = self.verified.lock() {
            if verified.len() >= MAX_VERIFIED {
                verified.clear();
            }
            verified.insert((start, length));
        }
    }
}

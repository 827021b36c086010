//! Divides an array into logical blocks, which depend on its shape and its data type only, and joins the blocks' hashes.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest as _, Sha256};

use super::Digest;

/// The most bytes of a block.
const BLOCK: u64 = 1 << 20;
/// The most bytes of a line before other axes are cut longer.
const LINE: u64 = 1 << 10;
/// How many hashes one hash of the next level joins.
pub(super) const FAN: u64 = 256;

const BLOCK_TAG: &str = "zarr.block.1\n";
const LEVEL_TAG: &str = "zarr.level.1\n";

/// The shape of the blocks of an array of this shape, whose elements have `size` bytes.
///
/// A block has one element. It doubles along the last axis while a line has at most 1 KiB, then again and again along the
/// axis where it is shortest, of several the last one, while it has at most 1 MiB. It is never longer than needed: an axis
/// along which it reaches the end of the array doubles no more.
pub(super) fn block_shape(shape: &[u64], size: u64) -> Vec<u64> {
    let mut block = vec![1; shape.len()];
    let size = size.max(1);
    if let (Some(last), Some(&len)) = (block.last_mut(), shape.last()) {
        while *last < len && *last * 2 * size <= LINE {
            *last *= 2;
        }
    }
    let mut bytes = block.iter().product::<u64>() * size;
    while bytes * 2 <= BLOCK {
        let open = (0..shape.len()).rev().filter(|&axis| block[axis] < shape[axis]);
        let Some(axis) = open.min_by_key(|&axis| block[axis]) else { break };
        block[axis] *= 2;
        bytes *= 2;
    }
    block
}

/// How an array is divided into blocks.
#[derive(Clone, Debug)]
pub(crate) struct Division {
    pub shape: Vec<u64>,
    pub block: Vec<u64>,
    /// How many blocks along each axis.
    pub counts: Vec<u64>,
}

impl Division {
    pub fn new(shape: &[u64], size: u64) -> Division {
        let block = block_shape(shape, size);
        let counts = shape.iter().zip(&block).map(|(len, block)| len.div_ceil(*block)).collect();
        Division { shape: shape.to_vec(), block, counts }
    }

    /// How many blocks; `None` if 64 bits cannot count them.
    pub fn count(&self) -> Option<u64> {
        zarr_core::region::element_count(&self.counts)
    }

    /// The number of a block in C order.
    pub fn number(&self, index: &[u64]) -> u64 {
        index.iter().zip(&self.counts).fold(0, |number, (at, count)| number * count + at)
    }

    /// Which block has this number.
    pub fn index(&self, mut number: u64) -> Vec<u64> {
        let mut index = vec![0; self.counts.len()];
        for (at, count) in index.iter_mut().zip(&self.counts).rev() {
            (*at, number) = (number % count, number / count);
        }
        index
    }

    /// The elements of a block, which ends where the array does.
    pub fn intervals(&self, index: &[u64]) -> Vec<std::ops::Range<u64>> {
        let axes = index.iter().zip(&self.block).zip(&self.shape);
        axes.map(|((at, block), len)| {
            let start = at * block;
            start..start.saturating_add(*block).min(*len)
        })
        .collect()
    }

    /// How many lines a block has: runs of elements along the last axis.
    pub fn lines(&self, index: &[u64]) -> u64 {
        let intervals = self.intervals(index);
        let outer = intervals.len().saturating_sub(1);
        intervals[..outer].iter().map(|range| range.end - range.start).product()
    }
}

/// The hash of a block, from those of its lines in C order.
pub(super) fn block_hash(lines: &[u8]) -> Digest {
    joined(BLOCK_TAG, lines)
}

fn joined(tag: &str, hashes: &[u8]) -> Digest {
    Digest(Sha256::new().chain_update(tag).chain_update(hashes).finalize().into())
}

/// Joins the hashes of blocks, in whatever order they come.
pub(super) struct Tree {
    count: u64,
    /// Groups of which hashes are missing: the hashes, and how many are missing.
    open: HashMap<u64, (Vec<u8>, u64)>,
    /// The hashes of level 1.
    first: BTreeMap<u64, Digest>,
    /// The hashes of the blocks, if they are to be kept.
    blocks: Option<BTreeMap<u64, Vec<u8>>>,
}

impl Tree {
    pub fn new(count: u64, keeps_blocks: bool) -> Tree {
        let blocks = keeps_blocks.then(BTreeMap::new);
        Tree { count, open: HashMap::new(), first: BTreeMap::new(), blocks }
    }

    /// Adds the hash of a block, once.
    pub fn add(&mut self, number: u64, hash: Digest) {
        let group = number / FAN;
        let size = FAN.min(self.count - group * FAN);
        let open = self.open.entry(group);
        let (hashes, missing) = open.or_insert_with(|| (vec![0; 32 * size as usize], size));
        let at = 32 * (number % FAN) as usize;
        hashes[at..at + 32].copy_from_slice(&hash.0);
        *missing -= 1;
        if *missing == 0
            && let Some((hashes, _)) = self.open.remove(&group)
        {
            self.first.insert(group, joined(LEVEL_TAG, &hashes));
            if let Some(blocks) = &mut self.blocks {
                blocks.insert(group, hashes);
            }
        }
    }

    /// All levels, the blocks' first if they were kept, the root last.
    ///
    /// # Panics
    /// If the hash of a block is missing.
    pub fn levels(self) -> Vec<Vec<Digest>> {
        assert!(self.open.is_empty(), "every block was added");
        let mut levels = Vec::new();
        if let Some(blocks) = &self.blocks {
            let hashes = blocks.values().flat_map(|hashes| hashes.as_chunks::<32>().0);
            levels.push(hashes.map(|hash| Digest(*hash)).collect());
        }
        let mut level: Vec<Digest> = self.first.into_values().collect();
        if level.is_empty() {
            level.push(joined(LEVEL_TAG, &[]));
        }
        while level.len() > 1 {
            let groups = level.chunks(FAN as usize);
            let next = groups
                .map(|group| {
                    let bytes: Vec<u8> = group.iter().flat_map(|hash| hash.0).collect();
                    joined(LEVEL_TAG, &bytes)
                })
                .collect();
            levels.push(std::mem::replace(&mut level, next));
        }
        levels.push(level);
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_near_cubes_of_at_most_a_mebibyte() {
        for (shape, size, expected) in [
            (vec![], 8, vec![]),
            (vec![10], 4, vec![16]),
            (vec![1 << 30], 4, vec![1 << 18]),
            (vec![1 << 30], 8, vec![1 << 17]),
            (vec![5000, 5000], 4, vec![512, 512]),
            (vec![5000, 5000], 3, vec![512, 512]),
            (vec![365, 180, 360], 4, vec![32, 32, 256]),
            (vec![3, 100_000], 4, vec![4, 1 << 16]),
            (vec![100_000, 3], 4, vec![1 << 16, 4]),
            (vec![2, 0, 7], 1, vec![2, 1, 8]),
            (vec![100], 5000, vec![128]),
            (vec![100], 2 << 20, vec![1]),
        ] {
            assert_eq!(block_shape(&shape, size), expected, "{shape:?} of {size}");
        }
    }

    #[test]
    fn the_order_in_which_blocks_come_does_not_matter() {
        let hash = |n: u64| joined("", &n.to_le_bytes());
        for count in [0, 1, 255, 256, 257, 70_000] {
            let (mut one, mut other) = (Tree::new(count, true), Tree::new(count, false));
            for n in 0..count {
                one.add(n, hash(n));
                other.add(count - 1 - n, hash(count - 1 - n));
            }
            let (one, other) = (one.levels(), other.levels());
            assert_eq!(one[0].len() as u64, count);
            assert_eq!(one[1..], other);
            assert_eq!(
                other.len(),
                if count > 65_536 {
                    3
                } else if count > 256 {
                    2
                } else {
                    1
                }
            );
            let bytes: Vec<u8> = one[0].iter().take(256).flat_map(|hash| hash.0).collect();
            assert_eq!(one[1][0], joined(LEVEL_TAG, &bytes));
        }
    }

    #[test]
    fn numbers_and_indices_of_blocks_agree() {
        let division = Division::new(&[100, 70, 3000], 8);
        assert_eq!(division.block, [32, 32, 128]);
        let count = division.count().unwrap();
        let mut elements = 0;
        for number in 0..count {
            let index = division.index(number);
            assert_eq!(division.number(&index), number);
            let last = division.intervals(&index)[2].clone();
            elements += division.lines(&index) * (last.end - last.start);
        }
        assert_eq!(elements, 100 * 70 * 3000);
    }
}

//! Chunks in a B-tree of version 1: all datasets of HDF5 1.8 and before, and many since.

use std::cmp::Ordering;

use super::{Entry, Grid};
use crate::error::{Place, Result};
use crate::source::{Cursor, Source};
use crate::tree::btree1::{Keys, Node};

/// A key: the chunk's stored length and filter mask, and the place of its first element.
struct Key {
    length: u64,
    filter_mask: u32,
    start: Vec<u64>,
}

fn key(cursor: &mut Cursor<'_>, rank: usize) -> Result<Key> {
    let length = cursor.u32()?.into();
    let filter_mask = cursor.u32()?;
    let mut start = Vec::with_capacity(rank);
    for _ in 0..rank {
        start.push(cursor.u64()?);
    }
    // The place within an element, which is 0.
    cursor.skip(8)?;
    Ok(Key { length, filter_mask, start })
}

pub(super) fn lookup(
    source: &Source<'_>,
    root: u64,
    grid: &Grid,
    coordinates: &[u64],
) -> Result<Option<Entry>> {
    let rank = grid.rank();
    let wanted: Option<Vec<u64>> =
        coordinates.iter().zip(&grid.chunk_shape).map(|(c, chunk)| c.checked_mul(*chunk)).collect();
    let Some(wanted) = wanted else { return Ok(None) };
    let (mut address, mut parent_level) = (root, None);
    loop {
        let node = Node::read(source, address, Keys::Chunks { rank })?;
        if let Some(level) = parent_level {
            node.check_below(level)?;
        }
        // The last child whose key is not above the wanted one.
        let (mut low, mut high) = (0, node.count);
        while low < high {
            let middle = usize::midpoint(low, high);
            let found = key(&mut node.entry(middle)?, rank)?;
            if found.start.cmp(&wanted) == Ordering::Greater {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let Some(number) = low.checked_sub(1) else { return Ok(None) };
        let mut cursor = node.entry(number)?;
        let found = key(&mut cursor, rank)?;
        let child = cursor.defined_address("chunk or node")?;
        if node.level > 0 {
            (address, parent_level) = (child, Some(node.level));
            continue;
        }
        if found.start != wanted {
            return Ok(None);
        }
        let Key { length, filter_mask, .. } = found;
        return Ok(Some(Entry { address: child, length, filter_mask }));
    }
}

/// What a node has: chunks in a leaf, else children.
pub(super) struct Read {
    pub level: u8,
    pub children: Vec<u64>,
    pub chunks: Vec<(Vec<u64>, Entry)>,
}

pub(super) fn read(
    source: &Source<'_>,
    address: u64,
    parent_level: Option<u8>,
    grid: &Grid,
) -> Result<Read> {
    let place = Place::new("B-tree node", address);
    let rank = grid.rank();
    let node = Node::read(source, address, Keys::Chunks { rank })?;
    if let Some(level) = parent_level {
        node.check_below(level)?;
    }
    let mut read = Read { level: node.level, children: Vec::new(), chunks: Vec::new() };
    for number in 0..node.count {
        let mut cursor = node.entry(number)?;
        let Key { length, filter_mask, start } = key(&mut cursor, rank)?;
        let address = cursor.defined_address("chunk or node")?;
        if node.level > 0 {
            read.children.push(address);
            continue;
        }
        let mut coordinates = Vec::with_capacity(rank);
        for (start, chunk) in start.iter().zip(&grid.chunk_shape) {
            if start % chunk != 0 {
                let what = format!("a chunk begins at {start}, expected a multiple of {chunk}");
                return Err(place.damaged(what));
            }
            coordinates.push(start / chunk);
        }
        read.chunks.push((coordinates, Entry { address, length, filter_mask }));
    }
    Ok(read)
}

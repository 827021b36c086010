//! Chunk indices: where the chunks of a dataset are.

mod btree1;
mod btree2;
mod extensible;
mod fixed;
mod grid;

use std::collections::HashSet;

use crate::error::{Place, Result};
use crate::messages::layout::Index;
use crate::source::{Cursor, Source};
use crate::tree::btree2::NodeAddress;

pub(crate) use self::grid::Grid;

/// A stored chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its place in the grid of chunks, one number per axis.
    pub coordinates: Vec<u64>,
    /// Where it begins, in bytes from the file's beginning.
    pub address: u64,
    /// Its stored length in bytes.
    pub length: u64,
    /// The filters that were skipped: the bit i stands for the filter i.
    pub filter_mask: u32,
}

/// The chunks of a dataset, found one by one.
#[derive(Clone, Debug)]
pub(crate) struct Chunks {
    pub grid: Grid,
    pub index: Index,
    /// Where the index is, `None` before any chunk was written.
    pub address: Option<u64>,
    /// The length of a chunk without filters, in bytes.
    pub chunk_bytes: u64,
    /// The address of the dataset, for errors.
    pub dataset: u64,
}

/// What an index says of one chunk. The address is relative to the file's base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    address: u64,
    length: u64,
    filter_mask: u32,
}

impl Chunks {
    /// The chunk at these coordinates, or `None` if it is not stored.
    pub fn lookup(&self, source: &Source<'_>, coordinates: &[u64]) -> Result<Option<Chunk>> {
        let Some(address) = self.address else { return Ok(None) };
        if !self.grid.contains(coordinates) {
            return Ok(None);
        }
        let entry = match self.index {
            Index::BTree1 => btree1::lookup(source, address, &self.grid, coordinates)?,
            Index::BTree2 => {
                btree2::lookup(source, address, &self.grid, self.chunk_bytes, coordinates)?
            }
            Index::Single(filtered) => Some(self.single(address, filtered)),
            Index::Implicit => Some(self.implicit(address, self.grid.number(coordinates))?),
            Index::FixedArray => {
                fixed::lookup(source, address, self.chunk_bytes, self.grid.number(coordinates))?
            }
            Index::ExtensibleArray => extensible::lookup(
                source,
                address,
                self.chunk_bytes,
                self.grid.number(coordinates),
            )?,
        };
        entry.map(|entry| self.chunk(source, coordinates.to_vec(), entry)).transpose()
    }

    fn single(&self, address: u64, filtered: Option<(u64, u32)>) -> Entry {
        let (length, filter_mask) = filtered.unwrap_or((self.chunk_bytes, 0));
        Entry { address, length, filter_mask }
    }

    fn implicit(&self, address: u64, number: u64) -> Result<Entry> {
        let start = number.checked_mul(self.chunk_bytes).and_then(|n| n.checked_add(address));
        let Some(address) = start else {
            let place = Place::new("implicit chunk index", address);
            return Err(place.damaged(format!("the chunk {number} lies beyond 2^64")));
        };
        Ok(Entry { address, length: self.chunk_bytes, filter_mask: 0 })
    }

    /// The chunk of an entry, whose bytes must lie in the file.
    fn chunk(&self, source: &Source<'_>, coordinates: Vec<u64>, entry: Entry) -> Result<Chunk> {
        let address = source.absolute(Place::new("chunk", entry.address))?;
        let end = address.checked_add(entry.length);
        let file_length = source.blocks.file_length();
        if end.is_none_or(|end| end > file_length) {
            return Err(Place::new("dataset", self.dataset).damaged(format!(
                "the chunk {coordinates:?} has {} bytes at {address}, but the file has {file_length}",
                entry.length
            )));
        }
        let Entry { length, filter_mask, .. } = entry;
        Ok(Chunk { coordinates, address, length, filter_mask })
    }
}

/// Goes through all stored chunks of a dataset. Its place is kept when bytes are missing.
#[derive(Clone, Debug)]
pub struct ChunkCursor {
    state: State,
    visited: HashSet<u64>,
}

#[derive(Clone, Debug)]
enum State {
    /// Nodes of a B-tree that wait to be read, with the level of their parents.
    BTree1(Vec<(u64, Option<u8>)>),
    /// Whether the root was found, and the nodes that wait to be read.
    BTree2(bool, Vec<NodeAddress>),
    /// The number of the next chunk.
    Numbered(u64),
    End,
}

/// What one unit of a numbered index has, and where the next unit begins.
struct Unit {
    entries: Vec<(u64, Entry)>,
    next: u64,
}

impl ChunkCursor {
    pub(crate) fn new(chunks: &Chunks) -> ChunkCursor {
        let state = match (chunks.address, chunks.index) {
            (None, _) => State::End,
            (Some(address), Index::BTree1) => State::BTree1(vec![(address, None)]),
            (Some(_), Index::BTree2) => State::BTree2(false, Vec::new()),
            (Some(_), _) => State::Numbered(0),
        };
        ChunkCursor { state, visited: HashSet::new() }
    }

    /// The next chunks, one node's or one page's, or `None` at the end.
    pub(crate) fn next(
        &mut self,
        source: &Source<'_>,
        chunks: &Chunks,
    ) -> Result<Option<Vec<Chunk>>> {
        let Some(address) = chunks.address else { return Ok(None) };
        loop {
            let found = match &mut self.state {
                State::End => return Ok(None),
                State::BTree1(waiting) => {
                    let Some(&(node, parent)) = waiting.last() else { return Ok(None) };
                    let read = btree1::read(source, node, parent, &chunks.grid)?;
                    waiting.pop();
                    check_first_visit(&mut self.visited, node)?;
                    waiting
                        .extend(read.children.iter().rev().map(|child| (*child, Some(read.level))));
                    read.chunks
                }
                State::BTree2(is_open, waiting) => {
                    let tree = btree2::open(source, address)?;
                    if !*is_open {
                        *is_open = true;
                        waiting.extend(tree.root);
                    }
                    let Some(&node) = waiting.last() else { return Ok(None) };
                    let read = btree2::read(source, &tree, node, &chunks.grid, chunks.chunk_bytes)?;
                    waiting.pop();
                    check_first_visit(&mut self.visited, node.address)?;
                    waiting.extend(read.children.iter().rev());
                    read.chunks
                }
                State::Numbered(next) => {
                    let Some(unit) = chunks.unit(source, address, *next)? else {
                        self.state = State::End;
                        return Ok(None);
                    };
                    *next = unit.next;
                    unit.entries
                        .into_iter()
                        .map(|(number, entry)| (chunks.grid.coordinates(number), entry))
                        .collect()
                }
            };
            let mut result = Vec::with_capacity(found.len());
            for (coordinates, entry) in found {
                if chunks.grid.contains(&coordinates) {
                    result.push(chunks.chunk(source, coordinates, entry)?);
                }
            }
            if !result.is_empty() {
                return Ok(Some(result));
            }
        }
    }
}

fn check_first_visit(visited: &mut HashSet<u64>, node: u64) -> Result<()> {
    if visited.insert(node) {
        return Ok(());
    }
    Err(Place::new("chunk index", node).damaged("the index has this node twice"))
}

impl Chunks {
    /// The unit of a numbered index that begins at this number, or `None` at the end.
    fn unit(&self, source: &Source<'_>, address: u64, next: u64) -> Result<Option<Unit>> {
        match self.index {
            Index::Single(filtered) => Ok((next == 0)
                .then(|| Unit { entries: vec![(0, self.single(address, filtered))], next: 1 })),
            Index::Implicit => {
                /// How many chunks are made at once.
                const UNIT: u64 = 1024;
                let count = self.grid.max_count();
                if next >= count {
                    return Ok(None);
                }
                let end = count.min(next + UNIT);
                let mut entries = Vec::new();
                for number in next..end {
                    entries.push((number, self.implicit(address, number)?));
                }
                // A damaged extent must not be counted to its end.
                let last = entries.last().map_or(0, |(_, entry)| entry.address);
                if last > source.blocks.file_length() {
                    let place = Place::new("implicit chunk index", address);
                    return Err(
                        place.damaged(format!("the chunk {end} lies beyond the file's end"))
                    );
                }
                Ok(Some(Unit { entries, next: end }))
            }
            Index::FixedArray => fixed::unit(source, address, self.chunk_bytes, next),
            Index::ExtensibleArray => extensible::unit(source, address, self.chunk_bytes, next),
            Index::BTree1 | Index::BTree2 => Ok(None),
        }
    }
}

/// How entries of arrays of chunks are stored.
#[derive(Clone, Copy, Debug)]
struct EntryFormat {
    entry_length: usize,
    /// The length of a chunk's length in bytes, 0 without filters.
    length_size: usize,
    chunk_bytes: u64,
}

impl EntryFormat {
    /// `class` is 0 without filters, 1 with them.
    fn new(
        source: &Source<'_>,
        class: u8,
        entry_length: usize,
        chunk_bytes: u64,
        place: Place,
    ) -> Result<EntryFormat> {
        let offset = source.sizes.offset;
        let length_size = match class {
            0 if entry_length == offset => 0,
            1 if (offset + 5..=offset + 12).contains(&entry_length) => entry_length - offset - 4,
            0 | 1 => {
                let what =
                    format!("entries of {entry_length} bytes are too short for a chunk's place");
                return Err(place.damaged(what));
            }
            _ => {
                let what = format!("expected an array of chunks of type 0 or 1, found {class}");
                return Err(place.damaged(what));
            }
        };
        Ok(EntryFormat { entry_length, length_size, chunk_bytes })
    }

    fn parse(&self, cursor: &mut Cursor<'_>) -> Result<Option<Entry>> {
        let address = cursor.address()?;
        let (mut length, mut filter_mask) = (self.chunk_bytes, 0);
        if self.length_size > 0 {
            length = cursor.uint(self.length_size)?;
            filter_mask = cursor.u32()?;
        }
        Ok(address.map(|address| Entry { address, length, filter_mask }))
    }

    /// The entry `number` of several that begin at the cursor.
    fn nth(&self, cursor: &mut Cursor<'_>, number: u64) -> Result<Option<Entry>> {
        cursor.skip(number as usize * self.entry_length)?;
        self.parse(cursor)
    }

    /// The stored ones of `count` entries, the first of which has the number `first`.
    fn all(&self, cursor: &mut Cursor<'_>, first: u64, count: u64) -> Result<Vec<(u64, Entry)>> {
        let mut entries = Vec::new();
        for number in first..first + count {
            entries.extend(self.parse(cursor)?.map(|entry| (number, entry)));
        }
        Ok(entries)
    }

    /// The length of `count` entries and their checksum.
    fn checked_length(&self, count: u64, place: Place) -> Result<u64> {
        let length = count.checked_mul(self.entry_length as u64).and_then(|n| n.checked_add(4));
        length.ok_or_else(|| place.damaged(format!("it has {count} entries")))
    }
}

/// Whether a bit of a bitmap is set; the first one is the highest of its byte.
fn bit(bitmap: &[u8], number: u64) -> bool {
    let byte = usize::try_from(number / 8).ok().and_then(|byte| bitmap.get(byte));
    byte.is_some_and(|byte| byte & (0x80 >> (number % 8)) != 0)
}

//! Chunks in a B-tree of version 2: datasets with several unlimited axes since HDF5 1.10.

use super::{Entry, Grid};
use crate::error::{Place, Result};
use crate::source::{Cursor, Source};
use crate::tree::btree2::{self, Node, NodeAddress, Tree};

/// The types of the trees, without and with filters.
const UNFILTERED: u8 = 10;
const FILTERED: u8 = 11;

pub(super) fn open(source: &Source<'_>, address: u64) -> Result<Tree> {
    Tree::open(source, address, "B-tree of chunks")
}

/// The entry and the coordinates of a record.
fn parse(
    tree: &Tree,
    cursor: &mut Cursor<'_>,
    rank: usize,
    chunk_bytes: u64,
) -> Result<(Vec<u64>, Entry)> {
    let fixed_length = cursor.sizes.offset + 8 * rank;
    let length_size = match tree.class {
        UNFILTERED if tree.record_length == fixed_length => 0,
        FILTERED if (fixed_length + 5..=fixed_length + 12).contains(&tree.record_length) => {
            tree.record_length - fixed_length - 4
        }
        class => {
            return Err(cursor.place.damaged(format!(
                "records of {} bytes in a tree of type {class} are no chunks of {rank} axes",
                tree.record_length
            )));
        }
    };
    let address = cursor.defined_address("chunk")?;
    let (mut length, mut filter_mask) = (chunk_bytes, 0);
    if length_size > 0 {
        length = cursor.uint(length_size)?;
        filter_mask = cursor.u32()?;
    }
    let mut coordinates = Vec::with_capacity(rank);
    for _ in 0..rank {
        coordinates.push(cursor.u64()?);
    }
    Ok((coordinates, Entry { address, length, filter_mask }))
}

pub(super) fn lookup(
    source: &Source<'_>,
    root: u64,
    grid: &Grid,
    chunk_bytes: u64,
    coordinates: &[u64],
) -> Result<Option<Entry>> {
    let tree = open(source, root)?;
    btree2::search(source, &tree, |record| {
        let (found, entry) = parse(&tree, record, grid.rank(), chunk_bytes)?;
        Ok((found.as_slice().cmp(coordinates), entry))
    })
}

/// The chunks and the children of a node.
pub(super) struct Read {
    pub children: Vec<NodeAddress>,
    pub chunks: Vec<(Vec<u64>, Entry)>,
}

pub(super) fn read(
    source: &Source<'_>,
    tree: &Tree,
    address: NodeAddress,
    grid: &Grid,
    chunk_bytes: u64,
) -> Result<Read> {
    let node = Node::read(source, tree, address)?;
    let place = Place::new("B-tree of chunks", address.address);
    let mut read = Read { children: Vec::new(), chunks: Vec::new() };
    for number in 0..node.count() {
        let mut record = node.record(number)?;
        record.place = place;
        read.chunks.push(parse(tree, &mut record, grid.rank(), chunk_bytes)?);
    }
    if address.level > 0 {
        for number in 0..=node.count() {
            read.children.push(node.child(number)?);
        }
    }
    Ok(read)
}

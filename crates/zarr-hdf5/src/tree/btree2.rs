//! B-trees of version 2: links and attributes of large objects, huge objects, and chunks.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

use crate::error::{Place, Result};
use crate::source::{Cursor, Source, bytes_for};

/// The signature, version and type before, and the checksum after the records of a node.
const NODE_OVERHEAD: u64 = 4 + 1 + 1 + 4;
/// Enough for more records than 2^64.
const MAX_DEPTH: u16 = 64;
/// How many records a tree may have that is read as a whole.
const MAX_RECORDS: u64 = 10_000_000;

/// The header of a tree, and what follows from it about nodes.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub class: u8,
    pub record_length: usize,
    pub root: Option<NodeAddress>,
    structure: &'static str,
    /// What is known of the nodes of each level, from the leaves up.
    levels: Vec<Level>,
}

/// A node, and what its parent says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeAddress {
    pub address: u64,
    pub level: u16,
    pub count: u64,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    max_records: u64,
    /// The length of the number of records in a node of this level, in bytes.
    count_size: usize,
    /// The length of the number of records in and below such a node, 0 for leaves.
    total_size: usize,
}

impl Tree {
    pub fn open(source: &Source<'_>, address: u64, structure: &'static str) -> Result<Tree> {
        let place = Place::new(structure, address);
        let sizes = source.sizes;
        let length = 4 + 1 + 1 + 4 + 2 + 2 + 1 + 1 + sizes.offset + 2 + sizes.length + 4;
        let bytes = source.checked(place, length as u64)?;
        let mut cursor = source.cursor(&bytes, place);
        cursor.signature(b"BTHD")?;
        cursor.version(0..=0)?;
        let class = cursor.u8()?;
        let node_length = u64::from(cursor.u32()?);
        let record_length = usize::from(cursor.u16()?);
        let depth = cursor.u16()?;
        cursor.skip(2)?;
        let root = cursor.address()?;
        let count = u64::from(cursor.u16()?);
        if depth > MAX_DEPTH {
            return Err(place.limit(format!("it has {depth} levels, at most {MAX_DEPTH} are read")));
        }
        if record_length == 0 || node_length <= NODE_OVERHEAD + record_length as u64 {
            return Err(place.damaged(format!(
                "nodes of {node_length} bytes hold no record of {record_length}"
            )));
        }
        let max_records = (node_length - NODE_OVERHEAD) / record_length as u64;
        let leaf = Level { max_records, count_size: bytes_for(max_records), total_size: 0 };
        let mut levels = vec![leaf];
        let mut total = max_records;
        for _ in 0..depth {
            let below = levels[levels.len() - 1];
            let pointer = (sizes.offset + leaf.count_size + below.total_size) as u64;
            let available = node_length.saturating_sub(NODE_OVERHEAD + pointer);
            let max_records = available / (record_length as u64 + pointer);
            if max_records == 0 {
                return Err(place.damaged(format!("nodes of {node_length} bytes hold no children")));
            }
            total = (max_records + 1).saturating_mul(total).saturating_add(max_records);
            levels.push(Level {
                max_records,
                count_size: bytes_for(max_records),
                total_size: bytes_for(total),
            });
        }
        let root = root.filter(|_| count > 0);
        let root = root.map(|address| NodeAddress { address, level: depth, count });
        Ok(Tree { class, record_length, root, structure, levels })
    }
}

/// A node's records, and its children if it is no leaf.
pub(crate) struct Node<'a> {
    place: Place,
    source: Source<'a>,
    bytes: Cow<'a, [u8]>,
    record_length: usize,
    pub address: NodeAddress,
    child_count_size: usize,
    child_total_size: usize,
}

impl<'a> Node<'a> {
    pub fn read(source: &Source<'a>, tree: &Tree, address: NodeAddress) -> Result<Node<'a>> {
        let place = Place::new(tree.structure, address.address);
        let level = tree.levels[usize::from(address.level)];
        if address.count > level.max_records {
            return Err(place.damaged(format!(
                "expected at most {} records in a node, found {}",
                level.max_records, address.count
            )));
        }
        let mut length = NODE_OVERHEAD + address.count * tree.record_length as u64;
        let (mut child_count_size, mut child_total_size) = (0, 0);
        if address.level > 0 {
            // The library sizes this field for leaves, whichever the children are: no other node has more records.
            child_count_size = tree.levels[0].count_size;
            child_total_size = tree.levels[usize::from(address.level) - 1].total_size;
            let pointer = source.sizes.offset + child_count_size + child_total_size;
            length += (address.count + 1) * pointer as u64;
        }
        let bytes = source.checked(place, length)?;
        let mut cursor = source.cursor(&bytes, place);
        cursor.signature(if address.level == 0 { b"BTLF" } else { b"BTIN" })?;
        cursor.version(0..=0)?;
        let class = cursor.u8()?;
        if class != tree.class {
            let what = format!("expected a node of type {}, found {class}", tree.class);
            return Err(place.damaged(what));
        }
        Ok(Node {
            place,
            source: *source,
            bytes,
            record_length: tree.record_length,
            address,
            child_count_size,
            child_total_size,
        })
    }

    pub fn count(&self) -> usize {
        self.address.count as usize
    }

    pub fn record(&self, number: usize) -> Result<Cursor<'_>> {
        let start = 6 + number * self.record_length;
        let Some(bytes) = self.bytes.get(start..start + self.record_length) else {
            return Err(self.place.damaged(format!("it has no record {number}")));
        };
        Ok(self.source.cursor(bytes, self.place))
    }

    /// The child before the record `number`, or the last one.
    pub fn child(&self, number: usize) -> Result<NodeAddress> {
        let mut cursor = self.source.cursor(&self.bytes, self.place);
        let pointer = self.source.sizes.offset + self.child_count_size + self.child_total_size;
        cursor.skip(6 + self.count() * self.record_length + number * pointer)?;
        let address = cursor.defined_address("child of a B-tree node")?;
        let count = cursor.uint(self.child_count_size)?;
        Ok(NodeAddress { address, level: self.address.level - 1, count })
    }
}

/// The record for which `compare` says `Equal`; it says whether a record's key is less or greater than the wanted one.
pub(crate) fn search<T>(
    source: &Source<'_>,
    tree: &Tree,
    mut compare: impl FnMut(&mut Cursor<'_>) -> Result<(Ordering, T)>,
) -> Result<Option<T>> {
    let mut next = tree.root;
    while let Some(address) = next {
        let node = Node::read(source, tree, address)?;
        let (mut low, mut high) = (0, node.count());
        while low < high {
            let middle = usize::midpoint(low, high);
            let (order, found) = compare(&mut node.record(middle)?)?;
            match order {
                Ordering::Equal => return Ok(Some(found)),
                Ordering::Greater => high = middle,
                Ordering::Less => low = middle + 1,
            }
        }
        next = if address.level > 0 { Some(node.child(low)?) } else { None };
    }
    Ok(None)
}

/// Calls `each` with the tree's type and each record, in an order that is not that of the keys.
pub(crate) fn visit(
    source: &Source<'_>,
    address: u64,
    structure: &'static str,
    mut each: impl FnMut(u8, &mut Cursor<'_>) -> Result<()>,
) -> Result<()> {
    let tree = Tree::open(source, address, structure)?;
    let place = Place::new(structure, address);
    let mut visited = HashSet::new();
    let mut waiting: Vec<NodeAddress> = tree.root.into_iter().collect();
    let mut records = 0;
    while let Some(address) = waiting.pop() {
        if !visited.insert(address.address) {
            let what = format!("it has the node at {:#x} twice", address.address);
            return Err(place.damaged(what));
        }
        let node = Node::read(source, &tree, address)?;
        records += address.count;
        if records > MAX_RECORDS {
            return Err(place.limit(format!("it has more than {MAX_RECORDS} records")));
        }
        for number in 0..node.count() {
            each(tree.class, &mut node.record(number)?)?;
        }
        if address.level > 0 {
            for number in 0..=node.count() {
                waiting.push(node.child(number)?);
            }
        }
    }
    Ok(())
}

//! B-trees of version 1: the names of old groups, and chunks.

use std::borrow::Cow;

use crate::error::{Place, Result};
use crate::source::{Cursor, Source};

/// What a tree's keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Places of names in a local heap.
    Names,
    /// Chunks of a dataset of this rank.
    Chunks { rank: usize },
}

/// A node: `count` children with a key before each one and one after the last.
pub(crate) struct Node<'a> {
    place: Place,
    source: Source<'a>,
    bytes: Cow<'a, [u8]>,
    /// 0 for a leaf, whose children are no nodes.
    pub level: u8,
    pub count: usize,
    key_length: usize,
}

impl<'a> Node<'a> {
    pub fn read(source: &Source<'a>, address: u64, keys: Keys) -> Result<Node<'a>> {
        let place = Place::new("B-tree node", address);
        let prefix_length = 8 + 2 * source.sizes.offset;
        let prefix = source.bytes(place, prefix_length as u64)?;
        let mut cursor = source.cursor(&prefix, place);
        cursor.signature(b"TREE")?;
        let (expected, key_length) = match keys {
            Keys::Names => (0, source.sizes.length),
            // The length, the filter mask, and the element's place along each axis and within the element.
            Keys::Chunks { rank } => (1, 4 + 4 + 8 * (rank + 1)),
        };
        let class = cursor.u8()?;
        if class != expected {
            let what = format!("expected a node of type {expected}, found {class}");
            return Err(place.damaged(what));
        }
        let level = cursor.u8()?;
        let count = usize::from(cursor.u16()?);
        let entries = count * (key_length + source.sizes.offset) + key_length;
        let entries_place = Place::new("B-tree node", address.saturating_add(prefix_length as u64));
        let bytes = source.bytes(entries_place, entries as u64)?;
        Ok(Node { place, source: *source, bytes, level, count, key_length })
    }

    /// The key before the child `number`, and the child's address after it.
    pub fn entry(&self, number: usize) -> Result<Cursor<'_>> {
        let mut cursor = self.source.cursor(&self.bytes, self.place);
        cursor.skip(number * (self.key_length + self.source.sizes.offset))?;
        Ok(cursor)
    }

    /// The address of a child.
    pub fn child(&self, number: usize) -> Result<u64> {
        let mut cursor = self.entry(number)?;
        cursor.skip(self.key_length)?;
        cursor.defined_address("child of a B-tree node")
    }

    /// Checks that a child is one level below its parent, so that every walk down ends.
    pub fn check_below(&self, parent_level: u8) -> Result<()> {
        if self.level + 1 == parent_level {
            return Ok(());
        }
        Err(self.place.damaged(format!(
            "expected a node of level {}, found {}",
            i32::from(parent_level) - 1,
            self.level
        )))
    }
}

//! The global heap: elements of variable length.

use std::collections::HashMap;

use crate::error::{Place, Result};
use crate::source::Source;

/// The place of an object in the global heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeapObject {
    pub collection: u64,
    pub index: u16,
}

/// Collections whose objects were listed, so that many objects of one collection are found at once.
#[derive(Debug, Default)]
pub(crate) struct GlobalHeap {
    collections: HashMap<u64, HashMap<u16, Span>>,
    listed_bytes: u64,
}

/// Where an object lies within its collection.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u64,
    length: u64,
}

impl GlobalHeap {
    /// The first bytes of an object, at most `length`.
    pub fn object(
        &mut self,
        source: &Source<'_>,
        object: HeapObject,
        length: u64,
    ) -> Result<Vec<u8>> {
        let place = Place::new("global heap", object.collection);
        if !self.collections.contains_key(&object.collection) {
            let listed = list(source, place)?;
            // Collections do not overlap; else listing them would be quadratic work.
            self.listed_bytes = self.listed_bytes.saturating_add(listed.length);
            if self.listed_bytes > source.blocks.file_length() {
                return Err(place.damaged("it overlaps another one"));
            }
            self.collections.insert(object.collection, listed.objects);
        }
        let Some(span) = self.collections[&object.collection].get(&object.index) else {
            return Err(place.damaged(format!("it has no object {}", object.index)));
        };
        let place = Place::new("global heap object", object.collection.saturating_add(span.start));
        Ok(source.bytes(place, span.length.min(length))?.into_owned())
    }
}

/// The objects of a collection, and its length in bytes.
struct Listed {
    objects: HashMap<u16, Span>,
    length: u64,
}

fn list(source: &Source<'_>, place: Place) -> Result<Listed> {
    // The headers of the collection and of each object are padded to eight bytes, as the objects are.
    let padding = (8 + source.sizes.length).next_multiple_of(8) - (8 + source.sizes.length);
    let prefix_length = 8 + source.sizes.length + padding;
    let prefix = source.bytes(place, prefix_length as u64)?;
    let mut cursor = source.cursor(&prefix, place);
    cursor.signature(b"GCOL")?;
    cursor.version(1..=1)?;
    cursor.skip(3)?;
    let total = cursor.length()?;
    let bytes = source.bytes(place, total)?;
    let mut cursor = source.cursor(&bytes, place);
    cursor.skip(prefix_length)?;
    let mut objects = HashMap::new();
    while cursor.remaining() >= prefix_length {
        let index = cursor.u16()?;
        cursor.skip(6)?;
        let length = cursor.length()?;
        // The object 0 is the free space, which ends the collection.
        if index == 0 {
            break;
        }
        cursor.skip(padding)?;
        let start = cursor.position() as u64;
        let available = cursor.remaining() as u64;
        if length > available {
            return Err(place.damaged(format!(
                "the object {index} has {length} bytes, but {available} are left"
            )));
        }
        objects.insert(index, Span { start, length });
        // The last one may end without padding.
        cursor.skip(length.next_multiple_of(8).min(available) as usize)?;
    }
    Ok(Listed { objects, length: total })
}

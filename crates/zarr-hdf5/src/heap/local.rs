//! Local heaps: the names in a group of the old kind.

use std::borrow::Cow;

use crate::error::{Place, Result};
use crate::source::{Source, text};

/// The names of a group, as one run of bytes.
pub(crate) struct LocalHeap<'a> {
    place: Place,
    names: Cow<'a, [u8]>,
}

impl<'a> LocalHeap<'a> {
    pub fn open(source: &Source<'a>, address: u64) -> Result<LocalHeap<'a>> {
        let place = Place::new("local heap", address);
        let sizes = source.sizes;
        let header = source.bytes(place, (8 + 2 * sizes.length + sizes.offset) as u64)?;
        let mut cursor = source.cursor(&header, place);
        cursor.signature(b"HEAP")?;
        cursor.version(0..=0)?;
        cursor.skip(3)?;
        let length = cursor.length()?;
        cursor.length()?;
        let address = cursor.defined_address("names")?;
        let place = Place::new("local heap", address);
        Ok(LocalHeap { place, names: source.bytes(place, length)? })
    }

    /// The name that begins at `offset`.
    pub fn name(&self, offset: u64) -> Result<String> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.names.get(offset..));
        let end = rest.and_then(|rest| rest.iter().position(|byte| *byte == 0));
        match (rest, end) {
            (Some(rest), Some(end)) => Ok(text(&rest[..end])),
            _ => Err(self.place.damaged(format!("it has no name at byte {offset}"))),
        }
    }
}

//! Messages that are stored once and shared: in committed data types, and in the file's table of shared messages.

use crate::error::{Place, Result};
use crate::heap::fractal::FractalHeap;
use crate::source::Source;
use crate::{header, header::kind};

/// How many indices the file's table may have.
const MAX_INDICES: u8 = 8;

/// The file's table of shared messages: the heap of each kind of message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// The kinds of messages, a bit each, and their heap's address.
    heaps: Vec<(u16, Option<u64>)>,
}

impl Table {
    /// The table that the superblock's extension at `address` names, if it does.
    pub fn of_extension(source: &Source<'_>, address: u64) -> Result<Option<Table>> {
        let messages = header::read(source, address)?;
        let Some(message) = messages.iter().find(|m| m.kind == kind::SHARED_TABLE) else {
            return Ok(None);
        };
        let place = Place::new("shared message table", address);
        let mut cursor = source.cursor(&message.body, place);
        cursor.version(0..=0)?;
        let address = cursor.defined_address("table of shared messages")?;
        let count = cursor.u8()?;
        if count > MAX_INDICES {
            let what = format!("expected at most {MAX_INDICES} indices, found {count}");
            return Err(place.damaged(what));
        }
        let place = Place::new("shared message table", address);
        let index_length = 2 + 2 + 4 + 3 * 2 + 2 * source.sizes.offset;
        let bytes = source.checked(place, 4 + u64::from(count) * index_length as u64 + 4)?;
        let mut cursor = source.cursor(&bytes, place);
        cursor.signature(b"SMTB")?;
        let mut heaps = Vec::new();
        for _ in 0..count {
            cursor.skip(2)?;
            let kinds = cursor.u16()?;
            cursor.skip(4 + 3 * 2)?;
            cursor.address()?;
            heaps.push((kinds, cursor.address()?));
        }
        Ok(Some(Table { heaps }))
    }

    /// The shared message of a kind that has this identifier of eight bytes.
    pub fn message(
        &self,
        source: &Source<'_>,
        kind: u16,
        id: &[u8],
        place: Place,
    ) -> Result<Vec<u8>> {
        let heap = self.heaps.iter().find(|(kinds, _)| kind < 16 && kinds & (1 << kind) != 0);
        let Some((_, Some(address))) = heap else {
            return Err(place.damaged(format!("no heap has shared messages of type {kind}")));
        };
        FractalHeap::open(source, *address)?.object(source, id)
    }
}

/// The body of the message that `body`, of a message whose flag says that it is shared, refers to.
pub(crate) fn resolve(
    source: &Source<'_>,
    table: Option<&Table>,
    kind: u16,
    body: &[u8],
    place: Place,
) -> Result<Vec<u8>> {
    let mut cursor = source.cursor(body, place);
    let version = cursor.version(1..=3)?;
    let class = cursor.u8()?;
    if version == 1 {
        cursor.skip(6)?;
        // The place in a local heap, which was always that of a committed type's header.
        cursor.skip(cursor.sizes.length)?;
    }
    if version == 3 && class == 1 {
        let id = cursor.take(8)?;
        let Some(table) = table else {
            return Err(place.damaged("a message is shared, but the file has no table of them"));
        };
        return table.message(source, kind, id, place);
    }
    let address = cursor.defined_address("shared message")?;
    let messages = header::read(source, address)?;
    let Some(message) = messages.into_iter().find(|message| message.kind == kind) else {
        let what = format!("expected a message of type {kind} at {address:#x}, found none");
        return Err(place.damaged(what));
    };
    if message.is_shared() {
        // One step more leads to the table; a committed type is never another committed one.
        let mut cursor = source.cursor(&message.body, place);
        if let (Ok(3), Ok(1), Ok(id), Some(table)) =
            (cursor.u8(), cursor.u8(), cursor.take(8), table)
        {
            return table.message(source, kind, id, place);
        }
        return Err(place.damaged(format!("the shared message at {address:#x} is shared itself")));
    }
    Ok(message.body)
}

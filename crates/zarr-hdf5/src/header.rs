//! Object headers: the messages that describe an object.

use std::collections::HashSet;

use crate::error::{Place, Result};
use crate::source::Source;

/// The numbers of the messages that are read.
pub(crate) mod kind {
    pub const DATASPACE: u16 = 0x01;
    pub const LINK_INFO: u16 = 0x02;
    pub const DATATYPE: u16 = 0x03;
    pub const OLD_FILL: u16 = 0x04;
    pub const FILL: u16 = 0x05;
    pub const LINK: u16 = 0x06;
    pub const EXTERNAL_FILES: u16 = 0x07;
    pub const LAYOUT: u16 = 0x08;
    pub const GROUP_INFO: u16 = 0x0a;
    pub const FILTERS: u16 = 0x0b;
    pub const ATTRIBUTE: u16 = 0x0c;
    pub const SHARED_TABLE: u16 = 0x0f;
    pub const CONTINUATION: u16 = 0x10;
    pub const SYMBOL_TABLE: u16 = 0x11;
    pub const ATTRIBUTE_INFO: u16 = 0x15;
}

/// How many parts an object header may have.
const MAX_PARTS: usize = 1 << 16;
/// The bytes of all messages of an object at most.
const MAX_HEADER_BYTES: usize = 64 << 20;

/// The flag of a message whose body is a reference to the message itself.
const SHARED: u8 = 0x02;

/// One message of an object header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub kind: u16,
    flags: u8,
    pub body: Vec<u8>,
    /// Where the header is.
    pub address: u64,
}

impl Message {
    pub fn is_shared(&self) -> bool {
        self.flags & SHARED != 0
    }
}

/// A part of an object header: where it is and how long.
struct Part {
    address: u64,
    length: u64,
}

/// The messages of the object at `address`, in their order, continuations included.
pub(crate) fn read(source: &Source<'_>, address: u64) -> Result<Vec<Message>> {
    let place = Place::new("object header", address);
    let start = source.bytes(place, 4)?;
    if *start == *b"OHDR" { read_new(source, place) } else { read_old(source, place) }
}

fn read_old(source: &Source<'_>, place: Place) -> Result<Vec<Message>> {
    let prefix = source.bytes(place, 16)?;
    let mut cursor = source.cursor(&prefix, place);
    cursor.version(1..=1)?;
    cursor.skip(1)?;
    let count = usize::from(cursor.u16()?);
    cursor.skip(4)?;
    let length = u64::from(cursor.u32()?);
    let mut messages = Messages::new(place);
    let first =
        place.address.checked_add(16).ok_or_else(|| place.damaged("it ends beyond 2^64"))?;
    messages.parts.push(Part { address: first, length });
    while let Some(part) = messages.next_part()? {
        let part_place = Place::new("object header", part.address);
        let bytes = source.bytes(part_place, part.length)?;
        let mut cursor = source.cursor(&bytes, part_place);
        while cursor.remaining() >= 8 && messages.seen < count {
            let kind = cursor.u16()?;
            let size = cursor.u16()?;
            let flags = cursor.u8()?;
            cursor.skip(3)?;
            let body = cursor.take(size.into())?;
            messages.add(source, kind, flags, body)?;
        }
    }
    Ok(messages.found)
}

fn read_new(source: &Source<'_>, place: Place) -> Result<Vec<Message>> {
    let prefix = source.bytes(place, 6)?;
    let mut cursor = source.cursor(&prefix, place);
    cursor.skip(4)?;
    cursor.version(2..=2)?;
    let flags = cursor.u8()?;
    let times = if flags & 0x20 != 0 { 16 } else { 0 };
    let phase_change = if flags & 0x10 != 0 { 4 } else { 0 };
    let size_length = 1 << (flags & 3);
    let prefix_length = 6 + times + phase_change + size_length;
    let prefix = source.bytes(place, prefix_length as u64)?;
    let mut cursor = source.cursor(&prefix, place);
    cursor.skip(prefix_length - size_length)?;
    let size = cursor.uint(size_length)?;
    let total = size
        .checked_add(prefix_length as u64 + 4)
        .ok_or_else(|| place.damaged(format!("it has {size} bytes of messages")))?;
    let mut messages = Messages::new(place);
    let first = source.checked(place, total)?;
    messages.add_all(source, &first[prefix_length..], place, flags)?;
    while let Some(part) = messages.next_part()? {
        let part_place = Place::new("object header continuation", part.address);
        let bytes = source.checked(part_place, part.length)?;
        source.cursor(&bytes, part_place).signature(b"OCHK")?;
        messages.add_all(source, &bytes[4..], part_place, flags)?;
    }
    Ok(messages.found)
}

/// The messages that were found, and the parts that are still to be read.
struct Messages {
    place: Place,
    found: Vec<Message>,
    /// How many messages were read, including those that are not kept.
    seen: usize,
    bytes: usize,
    parts: Vec<Part>,
    read_parts: usize,
    visited: HashSet<u64>,
}

impl Messages {
    fn new(place: Place) -> Messages {
        Messages {
            place,
            found: Vec::new(),
            seen: 0,
            bytes: 0,
            parts: Vec::new(),
            read_parts: 0,
            visited: HashSet::from([place.address]),
        }
    }

    /// The next part. Continuations are read in the order in which they are mentioned.
    fn next_part(&mut self) -> Result<Option<Part>> {
        let Some(part) = self.parts.get(self.read_parts) else { return Ok(None) };
        self.read_parts += 1;
        if self.read_parts > MAX_PARTS {
            return Err(self.place.limit(format!("it has more than {MAX_PARTS} parts")));
        }
        if !self.visited.insert(part.address) {
            let what = format!("it continues twice at {:#x}", part.address);
            return Err(self.place.damaged(what));
        }
        Ok(Some(Part { address: part.address, length: part.length }))
    }

    fn add_all(
        &mut self,
        source: &Source<'_>,
        bytes: &[u8],
        place: Place,
        header_flags: u8,
    ) -> Result<()> {
        let order_length = if header_flags & 0x04 != 0 { 2 } else { 0 };
        let mut cursor = source.cursor(bytes, place);
        // What is shorter than a message's header is a gap.
        while cursor.remaining() >= 4 + order_length {
            let kind = cursor.u8()?;
            let size = cursor.u16()?;
            let flags = cursor.u8()?;
            cursor.skip(order_length)?;
            let body = cursor.take(size.into())?;
            self.add(source, kind.into(), flags, body)?;
        }
        Ok(())
    }

    fn add(&mut self, source: &Source<'_>, kind: u16, flags: u8, body: &[u8]) -> Result<()> {
        self.seen += 1;
        if kind == kind::CONTINUATION {
            let mut cursor = source.cursor(body, self.place);
            let address = cursor.defined_address("continuation")?;
            let length = cursor.length()?;
            self.parts.push(Part { address, length });
            return Ok(());
        }
        // 0 is empty space.
        if kind == 0 {
            return Ok(());
        }
        self.bytes += body.len() + size_of::<Message>();
        if self.bytes > MAX_HEADER_BYTES {
            let what = format!("its messages have more than {MAX_HEADER_BYTES} bytes");
            return Err(self.place.limit(what));
        }
        self.found.push(Message { kind, flags, body: body.to_vec(), address: self.place.address });
        Ok(())
    }
}

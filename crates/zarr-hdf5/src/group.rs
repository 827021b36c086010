//! The links of a group, in each of the three ways in which they are stored.

use std::collections::HashSet;

use crate::error::{Place, Result};
use crate::header::{Message, kind};
use crate::heap::fractal::FractalHeap;
use crate::heap::local::LocalHeap;
use crate::messages::link::{Link, Target};
use crate::source::{Cursor, Source};
use crate::tree::{btree1, btree2};

/// How many links a group may have.
const MAX_LINKS: usize = 1_000_000;
/// The kind of a symbol that is a soft link.
const SOFT_LINK: u32 = 2;

/// All links of the group with these messages, in no particular order.
pub(crate) fn links(source: &Source<'_>, messages: &[Message]) -> Result<Vec<Link>> {
    let mut links = Vec::new();
    for message in messages {
        let mut cursor = source.cursor(&message.body, Place::new("object header", message.address));
        match message.kind {
            kind::SYMBOL_TABLE => {
                let tree = cursor.defined_address("B-tree of names")?;
                let heap = cursor.defined_address("heap of names")?;
                symbols(source, tree, heap, &mut links)?;
            }
            kind::LINK => links.push(Link::parse(&mut cursor)?),
            kind::LINK_INFO => dense(source, &mut cursor, &mut links)?,
            _ => {}
        }
    }
    Ok(links)
}

fn check_count(place: Place, links: &[Link]) -> Result<()> {
    if links.len() <= MAX_LINKS {
        return Ok(());
    }
    Err(place.limit(format!("the group has more than {MAX_LINKS} links")))
}

/// The addresses of a heap of links and of the index of their names.
fn dense(source: &Source<'_>, cursor: &mut Cursor<'_>, links: &mut Vec<Link>) -> Result<()> {
    cursor.version(0..=0)?;
    let flags = cursor.u8()?;
    if flags & 1 != 0 {
        cursor.skip(8)?;
    }
    let (Some(heap), Some(names)) = (cursor.address()?, cursor.address()?) else { return Ok(()) };
    let place = cursor.place;
    let heap = FractalHeap::open(source, heap)?;
    btree2::visit(source, names, "index of links", |class, record| {
        if class != 5 {
            return Err(place.damaged(format!("expected an index of type 5, found {class}")));
        }
        // The hash of the name.
        record.skip(4)?;
        let body = heap.object(source, record.take(7)?)?;
        links.push(Link::parse(&mut source.cursor(&body, place))?);
        check_count(place, links)
    })
}

/// The links of an old group: a B-tree whose leaves are nodes of symbols.
fn symbols(source: &Source<'_>, tree: u64, heap: u64, links: &mut Vec<Link>) -> Result<()> {
    let heap = LocalHeap::open(source, heap)?;
    let mut visited = HashSet::new();
    let mut waiting = vec![(tree, None)];
    while let Some((address, parent_level)) = waiting.pop() {
        let place = Place::new("B-tree node", address);
        if !visited.insert(address) {
            return Err(place.damaged("a group has this node twice"));
        }
        let node = btree1::Node::read(source, address, btree1::Keys::Names)?;
        if let Some(level) = parent_level {
            node.check_below(level)?;
        }
        for number in (0..node.count).rev() {
            let child = node.child(number)?;
            if node.level > 0 {
                waiting.push((child, Some(node.level)));
            } else if visited.insert(child) {
                symbol_node(source, child, &heap, links)?;
                check_count(place, links)?;
            } else {
                return Err(place.damaged(format!("it has the symbols at {child:#x} twice")));
            }
        }
    }
    Ok(())
}

fn symbol_node(
    source: &Source<'_>,
    address: u64,
    heap: &LocalHeap<'_>,
    links: &mut Vec<Link>,
) -> Result<()> {
    let place = Place::new("symbol table node", address);
    let prefix = source.bytes(place, 8)?;
    let mut cursor = source.cursor(&prefix, place);
    cursor.signature(b"SNOD")?;
    cursor.version(1..=1)?;
    cursor.skip(1)?;
    let count = cursor.u16()?;
    let entry_length = 2 * source.sizes.offset + 4 + 4 + 16;
    let bytes = source.bytes(place, 8 + u64::from(count) * entry_length as u64)?;
    let mut cursor = source.cursor(&bytes, place);
    cursor.skip(8)?;
    for _ in 0..count {
        let name = cursor.uint(source.sizes.offset)?;
        let object = cursor.address()?;
        let class = cursor.u32()?;
        cursor.skip(4)?;
        let value = cursor.u32()?;
        cursor.skip(12)?;
        let name = heap.name(name)?;
        let target = match (class, object) {
            (SOFT_LINK, _) => Target::Soft(heap.name(value.into())?),
            (_, Some(object)) => Target::Hard(object),
            (_, None) => {
                return Err(place.damaged(format!("the name \"{name}\" leads to no object")));
            }
        };
        links.push(Link { name, target });
    }
    Ok(())
}

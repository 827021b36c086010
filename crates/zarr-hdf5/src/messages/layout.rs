//! Data layouts: where the bytes of a dataset are.

use crate::error::Result;
use crate::source::Cursor;

use super::dataspace::MAX_RANK;

/// The flag of chunks at the edge that are stored without filters.
const EDGE_CHUNKS_UNFILTERED: u8 = 0x01;
/// The flag of a single chunk that passed through filters.
const SINGLE_CHUNK_FILTERED: u8 = 0x02;

/// A layout message as stored. Sizes may contradict the dataspace; who uses it checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Compact(Vec<u8>),
    Contiguous {
        address: Option<u64>,
        /// The number of bytes. Versions 1 and 2 do not say it.
        length: Option<u64>,
    },
    Chunked {
        /// The chunk's lengths, one per axis, all above 0.
        chunk_shape: Vec<u64>,
        /// The length of an element in bytes, as the layout repeats it.
        element_size: u64,
        edge_chunks_unfiltered: bool,
        address: Option<u64>,
        index: Index,
    },
    Virtual,
}

/// How the chunks of a dataset are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    BTree1,
    /// One chunk, and its length and filter mask if it is filtered.
    Single(Option<(u64, u32)>),
    Implicit,
    FixedArray,
    ExtensibleArray,
    BTree2,
}

impl Layout {
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Layout> {
        let version = cursor.version(1..=5)?;
        match version {
            1 | 2 => parse_1(cursor),
            3 => parse_3(cursor),
            _ => parse_4(cursor),
        }
    }
}

fn parse_1(cursor: &mut Cursor<'_>) -> Result<Layout> {
    let rank = usize::from(cursor.u8()?);
    let class = cursor.u8()?;
    cursor.skip(5)?;
    if rank > MAX_RANK + 1 {
        return Err(cursor.place.damaged(format!("a layout has {rank} axes")));
    }
    let address = if class == 0 { None } else { cursor.address()? };
    let mut lengths = Vec::with_capacity(rank);
    for _ in 0..rank {
        lengths.push(u64::from(cursor.u32()?));
    }
    match class {
        0 => {
            let length = cursor.u32()?;
            Ok(Layout::Compact(cursor.take(length as usize)?.to_vec()))
        }
        1 => Ok(Layout::Contiguous { address, length: None }),
        2 => {
            // After the axes comes the length of an element.
            let (chunk_shape, element_size) = split_lengths(cursor, lengths)?;
            Ok(Layout::Chunked {
                chunk_shape,
                element_size,
                edge_chunks_unfiltered: false,
                address,
                index: Index::BTree1,
            })
        }
        _ => Err(unknown_class(cursor, class)),
    }
}

fn parse_3(cursor: &mut Cursor<'_>) -> Result<Layout> {
    match cursor.u8()? {
        0 => compact(cursor),
        1 => contiguous(cursor),
        2 => {
            let rank = usize::from(cursor.u8()?);
            let address = cursor.address()?;
            let lengths = chunk_lengths(cursor, rank, 4)?;
            let (chunk_shape, element_size) = split_lengths(cursor, lengths)?;
            Ok(Layout::Chunked {
                chunk_shape,
                element_size,
                edge_chunks_unfiltered: false,
                address,
                index: Index::BTree1,
            })
        }
        class => Err(unknown_class(cursor, class)),
    }
}

/// Versions 4 and 5. They differ in how long the lengths in chunk indices are, which each index says itself.
fn parse_4(cursor: &mut Cursor<'_>) -> Result<Layout> {
    match cursor.u8()? {
        0 => compact(cursor),
        1 => contiguous(cursor),
        2 => {
            let flags = cursor.u8()?;
            let rank = usize::from(cursor.u8()?);
            let size = usize::from(cursor.u8()?);
            if !(1..=8).contains(&size) {
                let what = format!("chunk lengths have {size} bytes, expected 1 to 8");
                return Err(cursor.place.damaged(what));
            }
            let lengths = chunk_lengths(cursor, rank, size)?;
            let (chunk_shape, element_size) = split_lengths(cursor, lengths)?;
            let index = match cursor.u8()? {
                1 if flags & SINGLE_CHUNK_FILTERED != 0 => {
                    Index::Single(Some((cursor.length()?, cursor.u32()?)))
                }
                1 => Index::Single(None),
                2 => Index::Implicit,
                // The parameters are in the indices' own headers, too.
                3 => {
                    cursor.skip(1)?;
                    Index::FixedArray
                }
                4 => {
                    cursor.skip(5)?;
                    Index::ExtensibleArray
                }
                5 => {
                    cursor.skip(6)?;
                    Index::BTree2
                }
                index => {
                    let what = format!("expected a chunk index of type 1 to 5, found {index}");
                    return Err(cursor.place.unsupported(what));
                }
            };
            Ok(Layout::Chunked {
                chunk_shape,
                element_size,
                edge_chunks_unfiltered: flags & EDGE_CHUNKS_UNFILTERED != 0,
                address: cursor.address()?,
                index,
            })
        }
        3 => Ok(Layout::Virtual),
        class => Err(unknown_class(cursor, class)),
    }
}

fn compact(cursor: &mut Cursor<'_>) -> Result<Layout> {
    let length = cursor.u16()?;
    Ok(Layout::Compact(cursor.take(length.into())?.to_vec()))
}

fn contiguous(cursor: &mut Cursor<'_>) -> Result<Layout> {
    let address = cursor.address()?;
    Ok(Layout::Contiguous { address, length: Some(cursor.length()?) })
}

fn chunk_lengths(cursor: &mut Cursor<'_>, rank: usize, size: usize) -> Result<Vec<u64>> {
    if rank > MAX_RANK + 1 {
        return Err(cursor.place.damaged(format!("a chunk has {rank} axes")));
    }
    let mut lengths = Vec::with_capacity(rank);
    for _ in 0..rank {
        lengths.push(cursor.uint(size)?);
    }
    Ok(lengths)
}

/// The chunk's shape, and the length of an element, which is stored after it.
fn split_lengths(cursor: &Cursor<'_>, mut lengths: Vec<u64>) -> Result<(Vec<u64>, u64)> {
    if lengths.len() < 2 || lengths.contains(&0) {
        let what = format!("expected a chunk's shape and the element's size, found {lengths:?}");
        return Err(cursor.place.damaged(what));
    }
    let element_size = lengths.pop().expect("there are two lengths at least");
    Ok((lengths, element_size))
}

fn unknown_class(cursor: &Cursor<'_>, class: u8) -> crate::error::Fault {
    cursor.place.unsupported(format!("expected a layout of class 0 to 3, found {class}"))
}

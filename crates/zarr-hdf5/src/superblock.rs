//! The superblock: where a file's root is, and how long its addresses and lengths are.

use crate::blocks::Blocks;
use crate::error::{Fault, Place, Result};
use crate::source::{Sizes, Source, compare_checksums};

/// What an HDF5 file begins with, after its user block.
pub const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// The user block's largest size that is looked behind, in bytes.
const MAX_USER_BLOCK_BYTES: u64 = 1 << 30;

/// The superblock of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// The version, 0 to 3.
    pub version: u8,
    /// Where the superblock was found, in bytes: the length of the user block.
    pub start: u64,
    /// What is added to every address of the file.
    pub base: u64,
    /// The address of the root group's object header.
    pub root: u64,
    pub(crate) sizes: Sizes,
    pub(crate) extension: Option<u64>,
    /// The B-tree and the local heap of the root group, as version 0 and 1 repeat them.
    pub(crate) end_of_file: Option<u64>,
}

/// Where the signature is: at 0, 512, 1024, 2048 and so on.
fn find_signature(blocks: &Blocks) -> Result<u64> {
    let mut start = 0;
    while start <= MAX_USER_BLOCK_BYTES && start + 8 <= blocks.file_length() {
        if *blocks.get(start..start + 8)? == SIGNATURE {
            return Ok(start);
        }
        start = if start == 0 { 512 } else { 2 * start };
    }
    Err(Place::new("file", 0).damaged("expected HDF5's signature at 0, 512, 1024, …, found none"))
}

impl Superblock {
    /// Finds and reads the superblock.
    pub(crate) fn parse(blocks: &Blocks) -> Result<Superblock> {
        let start = find_signature(blocks)?;
        let place = Place::new("superblock", start);
        let available = (blocks.file_length() - start).min(120);
        let bytes = blocks.get(start..start + available)?;
        let sizes = Sizes { offset: 8, length: 8 };
        let source = Source { blocks, base: 0, sizes };
        let mut cursor = source.cursor(&bytes, place);
        cursor.skip(8)?;
        let version = cursor.version(0..=3)?;
        if version >= 2 {
            let (offset, length) = (cursor.u8()?, cursor.u8()?);
            cursor.sizes = sizes_of(place, offset, length)?;
            cursor.skip(1)?;
            let base = cursor.defined_address("file's beginning")?;
            let extension = cursor.address()?;
            let end_of_file = cursor.address()?;
            let root = cursor.defined_address("root group")?;
            let end = cursor.position();
            let stored = cursor.u32()?;
            compare_checksums(place, crate::checksum::lookup3(&bytes[..end]), stored)?;
            let sizes = cursor.sizes;
            return Ok(Superblock { version, start, base, root, sizes, extension, end_of_file });
        }
        cursor.skip(4)?;
        let (offset, length) = (cursor.u8()?, cursor.u8()?);
        cursor.sizes = sizes_of(place, offset, length)?;
        // A reserved byte, the nodes' sizes and flags.
        cursor.skip(1 + 2 + 2 + 4)?;
        if version == 1 {
            cursor.skip(4)?;
        }
        let base = cursor.defined_address("file's beginning")?;
        cursor.address()?;
        let end_of_file = cursor.address()?;
        let driver = cursor.address()?;
        if let Some(driver) = driver {
            check_driver(blocks, base.saturating_add(driver))?;
        }
        cursor.skip(cursor.sizes.offset)?;
        let root = cursor.defined_address("root group")?;
        let sizes = cursor.sizes;
        Ok(Superblock { version, start, base, root, sizes, extension: None, end_of_file })
    }

    /// Errors if the file is shorter than it was when it was closed.
    pub(crate) fn check_length(&self, blocks: &Blocks) -> Result<()> {
        let expected = self.end_of_file.and_then(|end| end.checked_add(self.base));
        // The end is stored relative to the base, or, by some writers, to the file's beginning.
        let least = self.end_of_file.unwrap_or(0);
        if blocks.file_length() >= least {
            return Ok(());
        }
        Err(Place::new("superblock", self.start).damaged(format!(
            "expected a file of {} bytes, found {}; it is truncated",
            expected.unwrap_or(least),
            blocks.file_length()
        )))
    }
}

/// The sizes of addresses and lengths.
fn sizes_of(place: Place, offset: u8, length: u8) -> Result<Sizes> {
    if matches!(offset, 2 | 4 | 8) && matches!(length, 2 | 4 | 8) {
        return Ok(Sizes { offset: offset.into(), length: length.into() });
    }
    Err(place.unsupported(format!(
        "expected addresses and lengths of 2, 4 or 8 bytes, found {offset} and {length}"
    )))
}

/// Files of the family and multi drivers consist of several; what is in the others cannot be addressed here.
fn check_driver(blocks: &Blocks, address: u64) -> Result<()> {
    let place = Place::new("driver information", address);
    let end = address.saturating_add(16);
    if end > blocks.file_length() {
        return Err(place.damaged("it lies beyond the end of the file"));
    }
    let bytes = match blocks.get(address..end) {
        Ok(bytes) => bytes,
        Err(fault @ Fault::Missing(_)) => return Err(fault),
        Err(error) => return Err(error),
    };
    Err(place.unsupported(format!(
        "the file is one part of several (driver \"{}\")",
        bytes[8..16].escape_ascii()
    )))
}

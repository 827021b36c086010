//! Reading structures: the file with its sizes of addresses and lengths, and a cursor over bytes of it.

use std::borrow::Cow;

use crate::blocks::Blocks;
use crate::checksum::lookup3;
use crate::error::{Place, Result};

/// How many bytes addresses and lengths take in a file: 2, 4 or 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub offset: usize,
    pub length: usize,
}

/// The longest structure that is read, in bytes. The library writes none that comes near.
const MAX_STRUCTURE_BYTES: u64 = 64 << 20;

/// The cached blocks of a file whose sizes are known. Addresses are relative to `base`, the end of the user block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub blocks: &'a Blocks,
    pub base: u64,
    pub sizes: Sizes,
}

impl<'a> Source<'a> {
    /// The bytes of a structure.
    pub fn bytes(&self, place: Place, length: u64) -> Result<Cow<'a, [u8]>> {
        let start = self.absolute(place)?;
        let end = start.checked_add(length).filter(|end| *end <= self.blocks.file_length());
        let Some(end) = end else {
            return Err(place.damaged(format!(
                "it has {length} bytes, which end beyond the {} bytes of the file",
                self.blocks.file_length()
            )));
        };
        if length > MAX_STRUCTURE_BYTES {
            return Err(place.limit(format!(
                "it has {length} bytes, and at most {MAX_STRUCTURE_BYTES} are read at once"
            )));
        }
        self.blocks.get(start..end)
    }

    /// The place of a structure in the file.
    pub fn absolute(&self, place: Place) -> Result<u64> {
        place
            .address
            .checked_add(self.base)
            .ok_or_else(|| place.damaged("the address is too large"))
    }

    /// The bytes of a structure whose last four are the checksum of the others, without these.
    pub fn checked(&self, place: Place, length: u64) -> Result<Cow<'a, [u8]>> {
        let Some(payload) = length.checked_sub(4) else {
            return Err(place.damaged(format!("expected at least 4 bytes, found {length}")));
        };
        let bytes = self.bytes(place, length)?;
        let payload = payload as usize;
        if !self.blocks.is_verified(place.address, length) {
            let found = lookup3(&bytes[..payload]);
            let stored = u32::from_le_bytes(
                bytes[payload..].try_into().expect("four bytes follow the payload"),
            );
            compare_checksums(place, found, stored)?;
            self.blocks.set_verified(place.address, length);
        }
        Ok(match bytes {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..payload]),
            Cow::Owned(mut bytes) => {
                bytes.truncate(payload);
                Cow::Owned(bytes)
            }
        })
    }

    /// A cursor over bytes that belong to `place`.
    pub fn cursor<'b>(&self, bytes: &'b [u8], place: Place) -> Cursor<'b> {
        Cursor { bytes, at: 0, place, sizes: self.sizes }
    }
}

/// An error if a computed checksum differs from the stored one.
pub(crate) fn compare_checksums(place: Place, found: u32, stored: u32) -> Result<()> {
    if found == stored {
        return Ok(());
    }
    Err(place.damaged(format!("expected the checksum {stored:08x}, found {found:08x}")))
}

/// Reads little-endian values one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    pub place: Place,
    pub sizes: Sizes,
}

impl<'a> Cursor<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let Some(end) = end else {
            return Err(self.place.damaged(format!(
                "expected {count} bytes at byte {}, found {}",
                self.at,
                self.bytes.len() - self.at
            )));
        };
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    pub fn skip(&mut self, count: usize) -> Result<()> {
        self.take(count).map(|_| ())
    }

    /// An unsigned number of at most eight bytes.
    pub fn uint(&mut self, size: usize) -> Result<u64> {
        debug_assert!(size <= 8, "a number has at most eight bytes");
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(self.take(size)?);
        Ok(u64::from_le_bytes(bytes))
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub fn u16(&mut self) -> Result<u16> {
        Ok(self.uint(2)? as u16)
    }

    pub fn u32(&mut self) -> Result<u32> {
        Ok(self.uint(4)? as u32)
    }

    pub fn u64(&mut self) -> Result<u64> {
        self.uint(8)
    }

    /// A length, in the file's size of lengths.
    pub fn length(&mut self) -> Result<u64> {
        self.uint(self.sizes.length)
    }

    /// An address, or `None` for the undefined one, all of whose bits are set.
    pub fn address(&mut self) -> Result<Option<u64>> {
        let size = self.sizes.offset;
        let address = self.uint(size)?;
        let undefined = if size == 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
        Ok(if address == undefined { None } else { Some(address) })
    }

    /// An address that must be defined.
    pub fn defined_address(&mut self, what: &str) -> Result<u64> {
        self.address()?.ok_or_else(|| {
            self.place.damaged(format!("expected an address of the {what}, found none"))
        })
    }

    /// Checks the four letters that structures begin with.
    pub fn signature(&mut self, expected: &[u8; 4]) -> Result<()> {
        let found = self.take(4)?;
        if found == expected {
            return Ok(());
        }
        Err(self.place.damaged(format!(
            "expected the signature \"{}\", found \"{}\"",
            expected.escape_ascii(),
            found.escape_ascii()
        )))
    }

    /// Checks a version.
    pub fn version(&mut self, supported: std::ops::RangeInclusive<u8>) -> Result<u8> {
        let found = self.u8()?;
        if supported.contains(&found) {
            return Ok(found);
        }
        let (first, last) = (supported.start(), supported.end());
        let expected = if first == last { first.to_string() } else { format!("{first} to {last}") };
        Err(self.place.unsupported(format!("expected version {expected}, found {found}")))
    }

    /// The bytes up to a zero, which is read, too.
    pub fn c_string(&mut self) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let Some(end) = rest.iter().position(|byte| *byte == 0) else {
            return Err(self.place.damaged("expected a zero at the end of a text, found none"));
        };
        self.at += end + 1;
        Ok(&rest[..end])
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }
}

/// Text of the file: UTF-8, where anything else is replaced.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The number of bytes that hold numbers up to `limit`, at least 1.
pub(crate) fn bytes_for(limit: u64) -> usize {
    (64 - limit.max(1).leading_zeros() as usize).div_ceil(8)
}

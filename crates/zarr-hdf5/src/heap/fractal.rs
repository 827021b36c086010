//! Fractal heaps: links and attributes of large objects, and shared messages.
//!
//! Objects lie in a linear space of bytes that is cut into direct blocks, which double in size row by row. The root is a direct
//! block, or an indirect block of addresses of direct and further indirect blocks.

use crate::checksum::lookup3;
use crate::error::{Place, Result};
use crate::source::{Cursor, Source, bytes_for, compare_checksums};
use crate::tree::btree2;

/// How deep indirect blocks may lie in each other.
const MAX_DEPTH: usize = 64;

/// The longest object that is read, in bytes.
const MAX_OBJECT_BYTES: u64 = 64 << 20;

/// The header of a heap.
pub(crate) struct FractalHeap {
    place: Place,
    id_length: usize,
    has_filters: bool,
    blocks_have_checksums: bool,
    max_managed_length: u64,
    huge_objects: Option<u64>,
    width: u64,
    start_block: u64,
    max_direct_block: u64,
    /// The number of bits of a place in the heap.
    max_bits: u16,
    root: Option<u64>,
    /// The rows of the root, 0 if it is a direct block.
    root_rows: u16,
}

/// What an identifier says of its object's place.
const MANAGED: u8 = 0;
const HUGE: u8 = 1;
const TINY: u8 = 2;

impl FractalHeap {
    pub fn open(source: &Source<'_>, address: u64) -> Result<FractalHeap> {
        let place = Place::new("fractal heap", address);
        let sizes = source.sizes;
        let length =
            4 + 1 + 2 + 2 + 1 + 4 + 12 * sizes.length + 3 * sizes.offset + 2 + 2 + 2 + 2 + 4;
        // With filters it is longer, and its checksum elsewhere; those heaps are not read.
        let bytes = source.bytes(place, length as u64)?;
        let mut cursor = source.cursor(&bytes, place);
        cursor.signature(b"FRHP")?;
        cursor.version(0..=0)?;
        let id_length = usize::from(cursor.u16()?);
        let has_filters = cursor.u16()? != 0;
        let flags = cursor.u8()?;
        let max_managed_length = u64::from(cursor.u32()?);
        cursor.length()?;
        let huge_objects = cursor.address()?;
        cursor.length()?;
        cursor.address()?;
        cursor.skip(8 * sizes.length)?;
        let width = u64::from(cursor.u16()?);
        let start_block = cursor.length()?;
        let max_direct_block = cursor.length()?;
        let max_bits = cursor.u16()?;
        cursor.u16()?;
        let root = cursor.address()?;
        let root_rows = cursor.u16()?;
        if !has_filters {
            source.checked(place, length as u64)?;
        }
        let is_valid = id_length > 0
            && width.is_power_of_two()
            && start_block.is_power_of_two()
            && max_direct_block.is_power_of_two()
            && start_block <= max_direct_block
            && max_direct_block <= MAX_OBJECT_BYTES
            && (1..=64).contains(&max_bits);
        if !is_valid {
            return Err(place.damaged(format!(
                "invalid table of blocks: {width} wide, {start_block} to {max_direct_block} bytes, {max_bits} bits"
            )));
        }
        Ok(FractalHeap {
            place,
            id_length,
            has_filters,
            blocks_have_checksums: flags & 2 != 0,
            max_managed_length,
            huge_objects,
            width,
            start_block,
            max_direct_block,
            max_bits,
            root,
            root_rows,
        })
    }

    /// The bytes of the object with this identifier, of which only the heap's length of it counts.
    pub fn object(&self, source: &Source<'_>, id: &[u8]) -> Result<Vec<u8>> {
        let id = &id[..id.len().min(self.id_length)];
        let mut cursor = source.cursor(id, self.place);
        let first = cursor.u8()?;
        if first >> 6 != 0 {
            let what = format!("expected an identifier of version 0, found {}", first >> 6);
            return Err(self.place.unsupported(what));
        }
        match (first >> 4) & 3 {
            MANAGED => {
                let offset = cursor.uint(self.offset_size())?;
                let max_direct = (self.max_direct_block.trailing_zeros() as usize).div_ceil(8);
                let length = cursor.uint(max_direct.min(bytes_for(self.max_managed_length)))?;
                self.managed(source, offset, length)
            }
            HUGE => self.huge(source, &mut cursor),
            TINY => self.tiny(first, &mut cursor),
            class => Err(self
                .place
                .unsupported(format!("expected an identifier of type 0 to 2, found {class}"))),
        }
    }

    /// The length of a place in the heap, in bytes.
    fn offset_size(&self) -> usize {
        usize::from(self.max_bits).div_ceil(8)
    }

    fn tiny(&self, first: u8, cursor: &mut Cursor<'_>) -> Result<Vec<u8>> {
        let low = usize::from(first & 0x0f);
        // With identifiers of more than 18 bytes the length has twelve bits.
        let length =
            if self.id_length > 18 { (low << 8 | usize::from(cursor.u8()?)) + 1 } else { low + 1 };
        Ok(cursor.take(length)?.to_vec())
    }

    fn huge(&self, source: &Source<'_>, cursor: &mut Cursor<'_>) -> Result<Vec<u8>> {
        if self.has_filters {
            return Err(self.filters_unsupported());
        }
        let sizes = source.sizes;
        // The identifier holds address and length if they fit, else a key into a B-tree.
        if sizes.offset + sizes.length < self.id_length {
            let address = cursor.defined_address("huge object")?;
            let length = cursor.length()?;
            return self.read_huge(source, address, length);
        }
        let key = cursor.uint((self.id_length - 1).min(8))?;
        let Some(tree) = self.huge_objects else {
            return Err(self.place.damaged("it has no index of huge objects"));
        };
        let tree = btree2::Tree::open(source, tree, "index of huge objects")?;
        if tree.class != 1 {
            let what = format!("expected an index of huge objects of type 1, found {}", tree.class);
            return Err(self.place.unsupported(what));
        }
        let found = btree2::search(source, &tree, |record| {
            let address = record.defined_address("huge object")?;
            let length = record.length()?;
            Ok((record.length()?.cmp(&key), (address, length)))
        })?;
        let Some((address, length)) = found else {
            return Err(self.place.damaged(format!("it has no huge object {key}")));
        };
        self.read_huge(source, address, length)
    }

    fn read_huge(&self, source: &Source<'_>, address: u64, length: u64) -> Result<Vec<u8>> {
        let place = Place::new("huge object of a fractal heap", address);
        if length > MAX_OBJECT_BYTES {
            let what = format!("it has {length} bytes, at most {MAX_OBJECT_BYTES} are read");
            return Err(place.limit(what));
        }
        Ok(source.bytes(place, length)?.into_owned())
    }

    fn filters_unsupported(&self) -> crate::error::Fault {
        self.place.unsupported("its objects are compressed")
    }

    /// The bytes that an object at `offset` of the heap's space has.
    fn managed(&self, source: &Source<'_>, offset: u64, length: u64) -> Result<Vec<u8>> {
        if self.has_filters {
            return Err(self.filters_unsupported());
        }
        let Some(mut address) = self.root else {
            return Err(self.place.damaged("it has no blocks"));
        };
        let mut rows = u64::from(self.root_rows);
        let mut rest = offset;
        let mut block_offset = 0;
        for _ in 0..MAX_DEPTH {
            if rows == 0 {
                return self.in_direct_block(source, address, self.start_block, rest, length);
            }
            let Some((row, column)) = self.row_and_column(rows, &mut rest) else {
                let what = format!("the place {offset} lies beyond its blocks");
                return Err(self.place.damaged(what));
            };
            let child =
                self.child(source, address, rows, row * self.width + column, block_offset)?;
            let size = self.row_size(row);
            if size <= self.max_direct_block {
                return self.in_direct_block(source, child, size, rest, length);
            }
            // The rows of a block that covers as many bytes: 1 + 1 + 2 + 4 … times the first row.
            let Some(quotient) = size.checked_div(self.start_block * self.width).filter(|q| *q > 0)
            else {
                return Err(self.place.damaged("an indirect block is smaller than a row"));
            };
            block_offset = offset - rest;
            rows = u64::from(quotient.ilog2()) + 1;
            address = child;
        }
        Err(self.place.limit(format!("it is deeper than {MAX_DEPTH} blocks")))
    }

    /// The size of the blocks in a row, at most 2^63.
    fn row_size(&self, row: u64) -> u64 {
        let doublings = row.saturating_sub(1).min(63) as u32;
        self.start_block.checked_shl(doublings).filter(|size| *size > 0).unwrap_or(1 << 63)
    }

    /// The block of an indirect block in which a place lies; `rest` becomes the place within that block.
    fn row_and_column(&self, rows: u64, rest: &mut u64) -> Option<(u64, u64)> {
        // No more rows than bits: each one doubles the size.
        for row in 0..rows.min(128) {
            let size = self.row_size(row);
            let span = size.saturating_mul(self.width);
            if *rest < span {
                let column = *rest / size;
                *rest %= size;
                return Some((row, column));
            }
            *rest -= span;
        }
        None
    }

    /// The address of a block that an indirect block of so many rows names.
    fn child(
        &self,
        source: &Source<'_>,
        address: u64,
        rows: u64,
        number: u64,
        block_offset: u64,
    ) -> Result<u64> {
        let place = Place::new("indirect block of a fractal heap", address);
        let prefix = 4 + 1 + source.sizes.offset + self.offset_size();
        let entries = rows * self.width * source.sizes.offset as u64;
        let bytes = source.checked(place, prefix as u64 + entries + 4)?;
        let mut cursor = source.cursor(&bytes, place);
        cursor.signature(b"FHIB")?;
        cursor.version(0..=0)?;
        self.check_owner(&mut cursor, block_offset)?;
        cursor.skip(number as usize * source.sizes.offset)?;
        cursor.defined_address("block of a fractal heap")
    }

    /// Checks that a block says to belong to this heap, at this place.
    fn check_owner(&self, cursor: &mut Cursor<'_>, block_offset: u64) -> Result<()> {
        let owner = cursor.defined_address("heap's header")?;
        let found = cursor.uint(self.offset_size())?;
        if owner == self.place.address && found == block_offset {
            return Ok(());
        }
        Err(cursor.place.damaged(format!(
            "expected the block {block_offset} of the heap {:#x}, found the block {found} of {owner:#x}",
            self.place.address
        )))
    }

    fn in_direct_block(
        &self,
        source: &Source<'_>,
        address: u64,
        size: u64,
        start: u64,
        length: u64,
    ) -> Result<Vec<u8>> {
        let place = Place::new("direct block of a fractal heap", address);
        let end = start.checked_add(length).filter(|end| *end <= size);
        let Some(end) = end else {
            return Err(place.damaged(format!(
                "an object has {length} bytes at byte {start} of a block of {size}"
            )));
        };
        let bytes = source.bytes(place, size)?;
        source.cursor(&bytes, place).signature(b"FHDB")?;
        if self.blocks_have_checksums && !source.blocks.is_verified(address, size) {
            // It is computed as if it were zero itself.
            let at = 4 + 1 + source.sizes.offset + self.offset_size();
            let mut copy = bytes.to_vec();
            let Some(field) = copy.get_mut(at..at + 4) else {
                return Err(place.damaged(format!("it has only {size} bytes")));
            };
            let stored = u32::from_le_bytes(field.try_into().expect("it has four bytes"));
            field.fill(0);
            compare_checksums(place, lookup3(&copy), stored)?;
            source.blocks.set_verified(address, size);
        }
        Ok(bytes[start as usize..end as usize].to_vec())
    }
}

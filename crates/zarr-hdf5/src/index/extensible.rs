//! Chunks in an extensible array: datasets with one unlimited axis.
//!
//! An index block has the first entries, then addresses of the first data blocks, then addresses of super blocks, which have
//! addresses of further data blocks. Super block u stands for 2^(u/2) data blocks of 2^((u+1)/2) times the smallest size. Large
//! data blocks consist of pages; a super block says which pages were written.

use std::borrow::Cow;

use super::{Entry, EntryFormat, Unit, bit};
use crate::error::{Place, Result};
use crate::source::Source;

const STRUCTURE: &str = "extensible array of chunks";

/// An array's header.
struct Array {
    place: Place,
    class: u8,
    format: EntryFormat,
    /// The number of bits of an entry's number.
    max_bits: u8,
    /// The number of entries in the index block.
    index_entries: u64,
    /// The number of entries in the smallest data block.
    min_entries: u64,
    /// The number of data blocks of the smallest super block that has a block of its own.
    min_blocks: u64,
    page_entries: u64,
    /// One more than the highest number that was ever set.
    end: u64,
    index_block: Option<u64>,
}

impl Array {
    fn open(source: &Source<'_>, address: u64, chunk_bytes: u64) -> Result<Array> {
        let place = Place::new(STRUCTURE, address);
        let length = 4 + 1 + 1 + 6 + 6 * source.sizes.length + source.sizes.offset + 4;
        let bytes = source.checked(place, length as u64)?;
        let mut cursor = source.cursor(&bytes, place);
        cursor.signature(b"EAHD")?;
        cursor.version(0..=0)?;
        let class = cursor.u8()?;
        let entry_length = usize::from(cursor.u8()?);
        let max_bits = cursor.u8()?;
        let index_entries = u64::from(cursor.u8()?);
        let min_entries = u64::from(cursor.u8()?);
        let min_blocks = u64::from(cursor.u8()?);
        let page_bits = cursor.u8()?;
        cursor.skip(4 * source.sizes.length)?;
        let end = cursor.length()?;
        cursor.length()?;
        let index_block = cursor.address()?;
        let is_valid = (1..=64).contains(&max_bits)
            && min_entries.is_power_of_two()
            && min_blocks.is_power_of_two()
            && min_blocks >= 2
            && u32::from(max_bits) >= min_entries.ilog2()
            && page_bits < 64;
        if !is_valid {
            return Err(place.damaged(format!(
                "invalid sizes of blocks: {min_entries} entries, {min_blocks} blocks, pages of 2^{page_bits}"
            )));
        }
        Ok(Array {
            place,
            class,
            format: EntryFormat::new(source, class, entry_length, chunk_bytes, place)?,
            max_bits,
            index_entries,
            min_entries,
            min_blocks,
            page_entries: 1 << page_bits,
            end,
            index_block,
        })
    }

    /// The length of an entry's number, in bytes.
    fn number_size(&self) -> usize {
        usize::from(self.max_bits).div_ceil(8)
    }

    fn super_block_count(&self) -> u64 {
        1 + u64::from(self.max_bits) - u64::from(self.min_entries.ilog2())
    }

    /// The first so many super blocks have their data blocks' addresses in the index block.
    fn direct_super_blocks(&self) -> u64 {
        2 * u64::from(self.min_blocks.ilog2())
    }

    fn direct_data_blocks(&self) -> u64 {
        2 * (self.min_blocks - 1)
    }

    /// The super block of an entry that is not in the index block.
    fn super_block(&self, number: u64) -> SuperBlock {
        let mut block = SuperBlock {
            number: 0,
            block_count: 1,
            block_entries: self.min_entries,
            first: self.index_entries,
            first_block: 0,
        };
        // Sizes double every second time, so that there are at most 64 rounds.
        loop {
            let span = block.block_count.saturating_mul(block.block_entries);
            let next = block.first.saturating_add(span);
            if number < next || block.number >= 64 {
                return block;
            }
            block.first = next;
            block.first_block += block.block_count;
            block.number += 1;
            block.block_count = 1 << (block.number / 2);
            block.block_entries = self.min_entries.saturating_mul(1 << block.number.div_ceil(2));
        }
    }

    /// Checks the beginning of a block.
    fn check_block(
        &self,
        source: &Source<'_>,
        bytes: &[u8],
        place: Place,
        signature: &[u8; 4],
    ) -> Result<()> {
        let mut cursor = source.cursor(bytes, place);
        cursor.signature(signature)?;
        cursor.version(0..=0)?;
        let class = cursor.u8()?;
        let owner = cursor.defined_address("array's header")?;
        if class == self.class && owner == self.place.address {
            return Ok(());
        }
        Err(place.damaged(format!(
            "expected a block of the array {:#x}, found one of {owner:#x}",
            self.place.address
        )))
    }
}

/// A super block: so many data blocks of so many entries.
struct SuperBlock {
    number: u64,
    block_count: u64,
    block_entries: u64,
    /// The number of its first entry.
    first: u64,
    /// The number of its first data block, counted over all super blocks.
    first_block: u64,
}

impl SuperBlock {
    fn end(&self) -> u64 {
        self.first.saturating_add(self.block_count.saturating_mul(self.block_entries))
    }
}

/// Where an entry is.
enum Found {
    Run(Run),
    /// Nowhere, as all others before this number.
    Absent {
        end: u64,
    },
}

/// A run of entries that ends with a checksum.
struct Run {
    place: Place,
    /// The bytes before the entries, which the checksum covers, too.
    prefix: u64,
    /// The bytes between the entries and the checksum.
    suffix: u64,
    /// What the run begins with, if it has a beginning of its own.
    signature: Option<&'static [u8; 4]>,
    /// The number of the first entry.
    first: u64,
    count: u64,
}

impl Run {
    /// The bytes of the run, entries after the prefix.
    fn bytes<'a>(&self, source: &Source<'a>, array: &Array) -> Result<Cow<'a, [u8]>> {
        let entries = array.format.checked_length(self.count, self.place)?;
        let length = entries.saturating_add(self.prefix).saturating_add(self.suffix);
        let bytes = source.checked(self.place, length)?;
        if let Some(signature) = self.signature {
            array.check_block(source, &bytes, self.place, signature)?;
        }
        Ok(bytes)
    }
}

fn find(source: &Source<'_>, array: &Array, index_block: u64, number: u64) -> Result<Found> {
    let place = Place::new(STRUCTURE, index_block);
    let offset_size = source.sizes.offset as u64;
    let prefix = 4 + 1 + 1 + offset_size;
    let super_block_addresses =
        array.super_block_count().saturating_sub(array.direct_super_blocks());
    let addresses = (array.direct_data_blocks() + super_block_addresses) * offset_size;
    if number < array.index_entries {
        return Ok(Found::Run(Run {
            place,
            prefix,
            suffix: addresses,
            signature: Some(b"EAIB"),
            first: 0,
            count: array.index_entries,
        }));
    }
    let entries = array.format.checked_length(array.index_entries, place)? - 4;
    let bytes = source.checked(place, prefix + entries + addresses + 4)?;
    array.check_block(source, &bytes, place, b"EAIB")?;
    let mut cursor = source.cursor(&bytes, place);
    cursor.skip((prefix + entries) as usize)?;
    let super_block = array.super_block(number);
    let block = (number - super_block.first) / super_block.block_entries;
    let first = super_block.first + block * super_block.block_entries;
    if super_block.number < array.direct_super_blocks() {
        cursor.skip(((super_block.first_block + block) * offset_size) as usize)?;
        let Some(address) = cursor.address()? else {
            return Ok(Found::Absent { end: first + super_block.block_entries });
        };
        return Ok(data_block(source, array, address, first, super_block.block_entries));
    }
    let super_number = super_block.number - array.direct_super_blocks();
    cursor.skip(((array.direct_data_blocks() + super_number) * offset_size) as usize)?;
    let Some(address) = cursor.address()? else {
        return Ok(Found::Absent { end: super_block.end() });
    };
    in_super_block(source, array, &super_block, address, number)
}

fn data_block(source: &Source<'_>, array: &Array, address: u64, first: u64, count: u64) -> Found {
    Found::Run(Run {
        place: Place::new(STRUCTURE, address),
        prefix: (4 + 1 + 1 + source.sizes.offset + array.number_size()) as u64,
        suffix: 0,
        signature: Some(b"EADB"),
        first,
        count,
    })
}

fn in_super_block(
    source: &Source<'_>,
    array: &Array,
    super_block: &SuperBlock,
    address: u64,
    number: u64,
) -> Result<Found> {
    let place = Place::new(STRUCTURE, address);
    let prefix = (4 + 1 + 1 + source.sizes.offset + array.number_size()) as u64;
    let is_paged = super_block.block_entries > array.page_entries;
    let pages = if is_paged { super_block.block_entries / array.page_entries } else { 0 };
    let bitmap = super_block.block_count.saturating_mul(pages.div_ceil(8));
    let addresses = super_block.block_count.saturating_mul(source.sizes.offset as u64);
    let length = bitmap.saturating_add(addresses).saturating_add(prefix + 4);
    let bytes = source.checked(place, length)?;
    array.check_block(source, &bytes, place, b"EASB")?;
    let mut cursor = source.cursor(&bytes, place);
    cursor.skip(prefix as usize)?;
    let bitmap = cursor.take(bitmap as usize)?;
    let block = (number - super_block.first) / super_block.block_entries;
    let first = super_block.first + block * super_block.block_entries;
    cursor.skip(block as usize * source.sizes.offset)?;
    let Some(address) = cursor.address()? else {
        return Ok(Found::Absent { end: first + super_block.block_entries });
    };
    if !is_paged {
        return Ok(data_block(source, array, address, first, super_block.block_entries));
    }
    let page = (number - first) / array.page_entries;
    let first = first + page * array.page_entries;
    if !bit(bitmap, block * pages + page) {
        return Ok(Found::Absent { end: first + array.page_entries });
    }
    let place = Place::new(STRUCTURE, address);
    // The data block's own beginning has a checksum, too, and comes before the pages.
    let start = source.checked(place, prefix + 4)?;
    array.check_block(source, &start, place, b"EADB")?;
    let page_length = array.format.checked_length(array.page_entries, place)?;
    let start = page.checked_mul(page_length).and_then(|n| n.checked_add(address + prefix + 4));
    let Some(start) = start else {
        return Err(place.damaged(format!("the page {page} lies beyond 2^64")));
    };
    Ok(Found::Run(Run {
        place: Place::new(STRUCTURE, start),
        prefix: 0,
        suffix: 0,
        signature: None,
        first,
        count: array.page_entries,
    }))
}

pub(super) fn lookup(
    source: &Source<'_>,
    address: u64,
    chunk_bytes: u64,
    number: u64,
) -> Result<Option<Entry>> {
    let array = Array::open(source, address, chunk_bytes)?;
    let Some(index_block) = array.index_block else { return Ok(None) };
    match find(source, &array, index_block, number)? {
        Found::Absent { .. } => Ok(None),
        Found::Run(run) => {
            let bytes = run.bytes(source, &array)?;
            let mut cursor = source.cursor(&bytes[run.prefix as usize..], run.place);
            array.format.nth(&mut cursor, number - run.first)
        }
    }
}

pub(super) fn unit(
    source: &Source<'_>,
    address: u64,
    chunk_bytes: u64,
    next: u64,
) -> Result<Option<Unit>> {
    let array = Array::open(source, address, chunk_bytes)?;
    let Some(index_block) = array.index_block.filter(|_| next < array.end) else { return Ok(None) };
    match find(source, &array, index_block, next)? {
        Found::Absent { end } => Ok(Some(Unit { entries: Vec::new(), next: end })),
        Found::Run(run) => {
            let bytes = run.bytes(source, &array)?;
            let mut cursor = source.cursor(&bytes[run.prefix as usize..], run.place);
            let entries = array.format.all(&mut cursor, run.first, run.count)?;
            Ok(Some(Unit { entries, next: run.first + run.count }))
        }
    }
}

//! Chunks in a fixed array: datasets that cannot grow.

use super::{Entry, EntryFormat, Unit, bit};
use crate::error::{Place, Result};
use crate::source::Source;

const STRUCTURE: &str = "fixed array of chunks";

/// An array's header.
struct Array {
    place: Place,
    class: u8,
    format: EntryFormat,
    count: u64,
    /// The number of entries in a page.
    page_entries: u64,
    data: Option<u64>,
}

impl Array {
    fn open(source: &Source<'_>, address: u64, chunk_bytes: u64) -> Result<Array> {
        let place = Place::new(STRUCTURE, address);
        let length = 4 + 1 + 1 + 1 + 1 + source.sizes.length + source.sizes.offset + 4;
        let bytes = source.checked(place, length as u64)?;
        let mut cursor = source.cursor(&bytes, place);
        cursor.signature(b"FAHD")?;
        cursor.version(0..=0)?;
        let class = cursor.u8()?;
        let entry_length = usize::from(cursor.u8()?);
        let page_bits = cursor.u8()?;
        if page_bits >= 64 {
            return Err(place.damaged(format!("it has pages of 2^{page_bits} entries")));
        }
        let count = cursor.length()?;
        let data = cursor.address()?;
        let format = EntryFormat::new(source, class, entry_length, chunk_bytes, place)?;
        Ok(Array { place, class, format, count, page_entries: 1 << page_bits, data })
    }

    fn page_count(&self) -> u64 {
        if self.count > self.page_entries { self.count.div_ceil(self.page_entries) } else { 0 }
    }
}

/// The place of a run of entries that ends with a checksum.
struct Run {
    place: Place,
    /// The number of its first entry.
    first: u64,
    count: u64,
    /// The bytes before the entries, which the checksum covers, too.
    prefix: u64,
}

/// The run in which an entry lies, or `None` if its page was never written.
fn run(source: &Source<'_>, array: &Array, data: u64, number: u64) -> Result<Option<Run>> {
    let place = Place::new(STRUCTURE, data);
    let mut prefix = (4 + 1 + 1 + source.sizes.offset) as u64;
    let pages = array.page_count();
    if pages == 0 {
        return Ok(Some(Run { place, first: 0, count: array.count, prefix }));
    }
    let bitmap_start = prefix as usize;
    prefix += pages.div_ceil(8);
    let bytes = source.checked(place, prefix + 4)?;
    check_block(source, array, &bytes, place)?;
    let page = number / array.page_entries;
    if !bit(&bytes[bitmap_start..], page) {
        return Ok(None);
    }
    let page_length = array.format.checked_length(array.page_entries, place)?;
    let start = page.checked_mul(page_length).and_then(|n| n.checked_add(data + prefix + 4));
    let Some(start) = start else {
        return Err(place.damaged(format!("the page {page} lies beyond 2^64")));
    };
    let first = page * array.page_entries;
    let count = array.page_entries.min(array.count - first);
    Ok(Some(Run { place: Place::new(STRUCTURE, start), first, count, prefix: 0 }))
}

/// Checks the beginning of a block of entries.
fn check_block(source: &Source<'_>, array: &Array, bytes: &[u8], place: Place) -> Result<()> {
    let mut cursor = source.cursor(bytes, place);
    cursor.signature(b"FADB")?;
    cursor.version(0..=0)?;
    let class = cursor.u8()?;
    let owner = cursor.defined_address("array's header")?;
    if class == array.class && owner == array.place.address {
        return Ok(());
    }
    Err(place.damaged(format!(
        "expected a block of the array {:#x}, found one of {owner:#x}",
        array.place.address
    )))
}

pub(super) fn lookup(
    source: &Source<'_>,
    address: u64,
    chunk_bytes: u64,
    number: u64,
) -> Result<Option<Entry>> {
    let array = Array::open(source, address, chunk_bytes)?;
    let Some(data) = array.data.filter(|_| number < array.count) else { return Ok(None) };
    let Some(run) = run(source, &array, data, number)? else { return Ok(None) };
    let length = array.format.checked_length(run.count, run.place)?;
    let bytes = source.checked(run.place, run.prefix.saturating_add(length))?;
    if run.prefix > 0 {
        check_block(source, &array, &bytes, run.place)?;
    }
    let mut cursor = source.cursor(&bytes[run.prefix as usize..], run.place);
    array.format.nth(&mut cursor, number - run.first)
}

pub(super) fn unit(
    source: &Source<'_>,
    address: u64,
    chunk_bytes: u64,
    next: u64,
) -> Result<Option<Unit>> {
    let array = Array::open(source, address, chunk_bytes)?;
    let Some(data) = array.data.filter(|_| next < array.count) else { return Ok(None) };
    let Some(run) = run(source, &array, data, next)? else {
        // The page was never written. The next one begins after it.
        let next = (next / array.page_entries + 1).saturating_mul(array.page_entries);
        return Ok(Some(Unit { entries: Vec::new(), next }));
    };
    let length = array.format.checked_length(run.count, run.place)?;
    let bytes = source.checked(run.place, run.prefix.saturating_add(length))?;
    if run.prefix > 0 {
        check_block(source, &array, &bytes, run.place)?;
    }
    let mut cursor = source.cursor(&bytes[run.prefix as usize..], run.place);
    let entries = array.format.all(&mut cursor, run.first, run.count)?;
    Ok(Some(Unit { entries, next: run.first + run.count }))
}

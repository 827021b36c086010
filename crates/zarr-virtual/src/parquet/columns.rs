//! Reads the columns of a flat Parquet file: enough for the references that kerchunk and VirtualiZarr write (V-026, V-027).
//!
//! Columns of integers and of bytes, without lists; pages of both versions, plain or with a dictionary; not compressed, or with zstd
//! or Snappy.

use std::io::Read;

use zarr_core::store::Bytes;

use super::thrift::{Fields, Reader, Value};

const MAGIC: &[u8; 4] = b"PAR1";
/// The most rows of a file.
const MAX_ROWS: usize = 10_000_000;
/// The most bytes of a page.
const MAX_PAGE: usize = 256 << 20;
/// The most values of all columns that are held for a file, in bytes.
const MAX_COLUMN: usize = 512 << 20;

/// The values of a column; `None` for null.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Column {
    Integers(Vec<Option<i64>>),
    Bytes(Vec<Option<Bytes>>),
}

/// The columns of a file that have one of these names, in their order; `None` for one that the file lacks.
///
/// # Errors
/// A sentence that says what is wrong, or not supported.
pub(super) fn read_columns(file: &[u8], names: &[&str]) -> Result<Vec<Option<Column>>, String> {
    let end =
        file.len().checked_sub(8).filter(|_| file.starts_with(MAGIC) && file.ends_with(MAGIC));
    let end = end.ok_or("it is not a Parquet file")?;
    let length = u32::from_le_bytes([file[end], file[end + 1], file[end + 2], file[end + 3]]);
    let start = end.checked_sub(length as usize).ok_or("its metadata begin before the file")?;
    let metadata = Reader::new(&file[start..end]).structure()?;
    let rows = metadata.integer(3).and_then(|rows| usize::try_from(rows).ok());
    let rows = rows.ok_or("it does not say how many rows it has")?;
    if rows > MAX_ROWS {
        return Err(format!("it has {rows} rows, more than the limit of {MAX_ROWS}"));
    }
    let schema = metadata.list(2).unwrap_or_default();
    let mut columns = Vec::new();
    for name in names {
        let element = schema.iter().skip(1).find_map(|element| match element {
            Value::Structure(element) if element.text(4) == Some(*name) => Some(element),
            _ => None,
        });
        let repetition = match element.and_then(|element| element.integer(3)) {
            None => {
                columns.push(None);
                continue;
            }
            Some(repetition @ (0 | 1)) => repetition,
            Some(_) => return Err(format!("column `{name}` has lists")),
        };
        let mut values = Vec::new();
        let mut size = 0usize;
        for group in metadata.list(4).unwrap_or_default() {
            let Value::Structure(group) = group else {
                return Err("a row group is not a structure".into());
            };
            let chunk = group.list(1).unwrap_or_default().iter().find_map(|chunk| match chunk {
                Value::Structure(chunk) => chunk.structure(3).filter(|meta| is_column(meta, name)),
                _ => None,
            });
            let chunk =
                chunk.ok_or_else(|| format!("column `{name}` is missing in a row group"))?;
            read_chunk(file, chunk, repetition == 1, rows, &mut values, &mut size)
                .map_err(|why| format!("column `{name}`: {why}"))?;
        }
        if values.len() != rows {
            return Err(format!("column `{name}` has {} values, expected {rows}", values.len()));
        }
        columns.push(Some(typed(values)?));
    }
    Ok(columns)
}

fn is_column(metadata: &Fields<'_>, name: &str) -> bool {
    matches!(metadata.list(3), Some([Value::Bytes(path)]) if *path == name.as_bytes())
}

/// A value of a column.
#[derive(Clone, Debug)]
enum Cell {
    Null,
    Integer(i64),
    Bytes(Bytes),
}

fn typed(cells: Vec<Cell>) -> Result<Column, String> {
    if cells.iter().any(|cell| matches!(cell, Cell::Bytes(_))) {
        let bytes = cells.into_iter().map(|cell| match cell {
            Cell::Null => Ok(None),
            Cell::Bytes(bytes) => Ok(Some(bytes)),
            Cell::Integer(_) => Err("a column of numbers and of bytes".to_owned()),
        });
        return Ok(Column::Bytes(bytes.collect::<Result<_, _>>()?));
    }
    let integers = cells.into_iter().map(|cell| match cell {
        Cell::Integer(number) => Some(number),
        _ => None,
    });
    Ok(Column::Integers(integers.collect()))
}

/// Appends the values of a column in a row group.
fn read_chunk(
    file: &[u8],
    metadata: &Fields<'_>,
    is_optional: bool,
    rows: usize,
    cells: &mut Vec<Cell>,
    size: &mut usize,
) -> Result<(), String> {
    let (Some(kind), Some(codec), Some(count), Some(length), Some(data)) = (
        metadata.integer(1),
        metadata.integer(4),
        size_in(metadata, 5),
        size_in(metadata, 7),
        size_in(metadata, 9),
    ) else {
        return Err("its metadata are incomplete".into());
    };
    if cells.len().saturating_add(count) > rows {
        return Err(format!("more values than the {rows} rows"));
    }
    let start = size_in(metadata, 11).filter(|at| *at > 0 && *at < data).unwrap_or(data);
    let pages = start.checked_add(length).and_then(|end| file.get(start..end));
    let mut pages = pages.ok_or("its pages are outside the file")?;
    let mut dictionary: Vec<Cell> = Vec::new();
    let end = cells.len() + count;
    while cells.len() < end {
        let mut reader = Reader::new(pages);
        let header = reader.structure()?;
        let (Some(decoded), Some(encoded)) = (size_in(&header, 2), size_in(&header, 3)) else {
            return Err("a page does not say its size".into());
        };
        let body = reader.at.checked_add(encoded).and_then(|end| pages.get(reader.at..end));
        let body = body.ok_or("a page is truncated")?;
        pages = &pages[reader.at + encoded..];
        match (header.integer(1), header.structure(5), header.structure(7), header.structure(8)) {
            (Some(2), _, Some(page), _) => {
                let body = decompress(codec, body, decoded)?;
                let count = page.integer(1).and_then(|n| usize::try_from(n).ok());
                let count =
                    count.filter(|count| *count <= rows).ok_or("a dictionary has no size")?;
                dictionary = plain(kind, &body, count, size)?;
            }
            (Some(0), Some(page), _, _) => {
                let body = decompress(codec, body, decoded)?;
                let mut rest = &body[..];
                let count = page_count(page, end - cells.len())?;
                let present = if is_optional {
                    let length = take_u32(&mut rest)? as usize;
                    let levels = rest.split_at_checked(length).ok_or("levels are truncated")?;
                    rest = levels.1;
                    levels_of(levels.0, count)?
                } else {
                    vec![true; count]
                };
                append(kind, page.integer(2), rest, &present, &dictionary, cells, size)?;
            }
            (Some(3), _, _, Some(page)) => {
                let count = page_count(page, end - cells.len())?;
                let levels =
                    size_in(page, 5).unwrap_or(0).saturating_add(size_in(page, 6).unwrap_or(0));
                let (levels, values) =
                    body.split_at_checked(levels).ok_or("levels are truncated")?;
                let present = if is_optional {
                    // Columns without lists have no levels of repetition.
                    levels_of(levels, count)?
                } else {
                    vec![true; count]
                };
                let values = if page.boolean(7) == Some(false) {
                    values.to_vec()
                } else {
                    let decoded = decoded.checked_sub(levels.len()).ok_or("a page has no size")?;
                    decompress(codec, values, decoded)?
                };
                append(kind, page.integer(4), &values, &present, &dictionary, cells, size)?;
            }
            (kind, ..) => return Err(format!("a page of kind {kind:?}")),
        }
    }
    Ok(())
}

/// A field that is a size, or a place in the file.
fn size_in(fields: &Fields<'_>, field: i16) -> Option<usize> {
    fields.integer(field).and_then(|number| usize::try_from(number).ok())
}

fn page_count(page: &Fields<'_>, left: usize) -> Result<usize, String> {
    let count = page.integer(1).and_then(|n| usize::try_from(n).ok());
    count
        .filter(|count| (1..=left).contains(count))
        .ok_or_else(|| "a page has too many values, or none".into())
}

fn take_u32(rest: &mut &[u8]) -> Result<u32, String> {
    let (number, behind) = rest.split_first_chunk().ok_or("a length is truncated")?;
    *rest = behind;
    Ok(u32::from_le_bytes(*number))
}

/// Which of `count` values are there, as the levels of definition say: 1, or 0 for null.
fn levels_of(levels: &[u8], count: usize) -> Result<Vec<bool>, String> {
    Ok(runs(levels, 1, count)?.into_iter().map(|level| level == 1).collect())
}

/// Numbers of `width` bits, in runs of one number or packed (Parquet's RLE).
fn runs(mut bytes: &[u8], width: u32, count: usize) -> Result<Vec<u32>, String> {
    let cut_off = "runs are truncated";
    let mut numbers = Vec::new();
    while numbers.len() < count {
        let mut head = 0u64;
        for shift in (0..).step_by(7) {
            let (&byte, rest) = bytes.split_first().ok_or(cut_off)?;
            bytes = rest;
            if shift > 56 {
                return Err("the head of a run is too long".into());
            }
            head |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let left = count - numbers.len();
        if head & 1 == 0 {
            let length = usize::try_from(head >> 1).unwrap_or(usize::MAX).min(left);
            if length == 0 {
                return Err("a run of no numbers".into());
            }
            let (number, rest) =
                bytes.split_at_checked(width.div_ceil(8) as usize).ok_or(cut_off)?;
            bytes = rest;
            let number = number.iter().rev().fold(0u32, |all, byte| (all << 8) | u32::from(*byte));
            numbers.resize(numbers.len() + length, number);
            continue;
        }
        let groups = usize::try_from(head >> 1).unwrap_or(usize::MAX);
        if groups == 0 {
            return Err("a run of no numbers".into());
        }
        let length = groups.saturating_mul(width as usize).min(bytes.len());
        let (packed, rest) = bytes.split_at(length);
        bytes = rest;
        let (mut pending, mut bits, mut packed) = (0u64, 0, packed.iter());
        for _ in 0..groups.saturating_mul(8).min(left) {
            while bits < width {
                pending |= u64::from(*packed.next().ok_or(cut_off)?) << bits;
                bits += 8;
            }
            numbers.push((pending & ((1 << width) - 1)) as u32);
            pending >>= width;
            bits -= width;
        }
    }
    Ok(numbers)
}

/// Appends the values of a page, with nulls where none is present.
fn append(
    kind: i64,
    encoding: Option<i64>,
    values: &[u8],
    present: &[bool],
    dictionary: &[Cell],
    cells: &mut Vec<Cell>,
    size: &mut usize,
) -> Result<(), String> {
    let count = present.iter().filter(|is_present| **is_present).count();
    let values = match encoding {
        Some(0) => plain(kind, values, count, size)?,
        Some(2 | 8) if count == 0 => Vec::new(),
        Some(2 | 8) => {
            let (&width, indices) = values.split_first().ok_or("indices are truncated")?;
            if width > 32 {
                return Err(format!("indices of {width} bits"));
            }
            let indices =
                if width == 0 { vec![0; count] } else { runs(indices, width.into(), count)? };
            indices
                .into_iter()
                .map(|index: u32| {
                    let found = dictionary.get(index as usize).cloned();
                    found.ok_or_else(|| {
                        format!("entry {index} of a dictionary of {}", dictionary.len())
                    })
                })
                .collect::<Result<_, _>>()?
        }
        other => return Err(format!("encoding {other:?}")),
    };
    let mut values = values.into_iter();
    cells.extend(present.iter().map(|is_present| {
        if *is_present { values.next().unwrap_or(Cell::Null) } else { Cell::Null }
    }));
    Ok(())
}

/// Values one after the other.
fn plain(kind: i64, bytes: &[u8], count: usize, size: &mut usize) -> Result<Vec<Cell>, String> {
    let cut_off = "values are truncated";
    let mut rest = bytes;
    let mut values = Vec::new();
    match kind {
        1 => {
            let (numbers, _) = rest.as_chunks::<4>();
            let numbers = numbers.get(..count).ok_or(cut_off)?;
            values.extend(numbers.iter().map(|n| Cell::Integer(i32::from_le_bytes(*n).into())));
        }
        2 => {
            let (numbers, _) = rest.as_chunks::<8>();
            let numbers = numbers.get(..count).ok_or(cut_off)?;
            values.extend(numbers.iter().map(|n| Cell::Integer(i64::from_le_bytes(*n))));
        }
        6 => {
            *size = size.saturating_add(bytes.len());
            if *size > MAX_COLUMN {
                return Err(format!("its values have more than {MAX_COLUMN} bytes"));
            }
            let shared = Bytes::copy_from_slice(bytes);
            for _ in 0..count {
                let length = take_u32(&mut rest)? as usize;
                let (value, behind) = rest.split_at_checked(length).ok_or(cut_off)?;
                let at = bytes.len() - rest.len();
                values.push(Cell::Bytes(shared.slice(at..at + value.len())));
                rest = behind;
            }
        }
        other => return Err(format!("values of type {other}")),
    }
    Ok(values)
}

fn decompress(codec: i64, body: &[u8], size: usize) -> Result<Vec<u8>, String> {
    if size > MAX_PAGE {
        return Err(format!("a page of {size} bytes, more than the limit of {MAX_PAGE}"));
    }
    let decoded = match codec {
        0 => body.to_vec(),
        1 => {
            let length = snap::raw::decompress_len(body).map_err(|e| e.to_string())?;
            if length != size {
                return Err(format!("a page of {length} bytes, expected {size}"));
            }
            snap::raw::Decoder::new().decompress_vec(body).map_err(|e| e.to_string())?
        }
        6 => {
            let decoder =
                zstd::stream::read::Decoder::with_buffer(body).map_err(|e| format!("zstd: {e}"))?;
            let mut decoded = Vec::new();
            decoder
                .take(size as u64 + 1)
                .read_to_end(&mut decoded)
                .map_err(|e| format!("zstd: {e}"))?;
            decoded
        }
        other => {
            return Err(format!("compression {other} is not supported, but zstd and Snappy are"));
        }
    };
    if decoded.len() != size {
        return Err(format!("a page of {} bytes, expected {size}", decoded.len()));
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_packed_numbers_follow_each_other() {
        // The example of Parquet's specification: 0 to 7 in 3 bits; then a run of four 5.
        let bytes = [0x03, 0b1000_1000, 0b1100_0110, 0b1111_1010, 0x08, 5];
        assert_eq!(runs(&bytes, 3, 12).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7, 5, 5, 5, 5]);
        assert!(runs(&bytes, 3, 13).is_err());
        assert!(runs(&[0], 3, 1).is_err() && runs(&[1], 3, 1).is_err());
    }
}

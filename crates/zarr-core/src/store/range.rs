//! Describes a range of the bytes of a value.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;

use crate::error::StoreError;
use crate::store::StoreKey;

/// Some bytes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteRange {
    /// From `start`, `len` bytes.
    Bounded {
        /// The first byte.
        start: u64,
        /// How many bytes.
        len: u64,
    },
    /// From this byte to the end.
    From(u64),
    /// The last `n` bytes; the whole value if it has fewer (F-111).
    Suffix(u64),
}

impl ByteRange {
    /// The whole value.
    pub const ALL: ByteRange = ByteRange::From(0);

    /// The bytes of the range in a value of `size` bytes.
    ///
    /// # Errors
    /// [`StoreError::Range`] when they do not all lie inside (F-111).
    pub fn resolve(self, key: &StoreKey, size: u64) -> Result<Range<u64>, StoreError> {
        self.within(size).ok_or_else(|| StoreError::Range {
            key: key.to_string(),
            range: self.to_string(),
            size,
        })
    }

    /// The bytes of the range in `size` bytes; `None` unless all are inside.
    pub fn within(self, size: u64) -> Option<Range<u64>> {
        let range = match self {
            ByteRange::Bounded { start, len } => start.checked_add(len).map(|end| start..end),
            ByteRange::From(start) => (start <= size).then_some(start..size),
            ByteRange::Suffix(len) => Some(size.saturating_sub(len)..size),
        };
        range.filter(|range| range.end <= size)
    }
}

impl From<Range<u64>> for ByteRange {
    fn from(range: Range<u64>) -> Self {
        ByteRange::Bounded { start: range.start, len: range.end.saturating_sub(range.start) }
    }
}

/// Ranges in order, those as one that overlap or have at most `gap` bytes between them.
pub fn coalesce(mut ranges: Vec<Range<u64>>, gap: u64) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(gap) => {
                last.end = last.end.max(range.end);
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// Bytes of a value, out of pieces that were read, each with its offset and in order; `None` if they are in none.
pub fn slice(pieces: &[(u64, Bytes)], range: &Range<u64>) -> Option<Bytes> {
    let (bytes, part) = piece_with(pieces, range)?;
    Some(bytes.slice(part))
}

/// As [`slice()`], borrowed.
pub(crate) fn find<'a>(pieces: &'a [(u64, Bytes)], range: &Range<u64>) -> Option<&'a [u8]> {
    let (bytes, part) = piece_with(pieces, range)?;
    Some(&bytes[part])
}

fn piece_with<'a>(
    pieces: &'a [(u64, Bytes)],
    range: &Range<u64>,
) -> Option<(&'a Bytes, Range<usize>)> {
    let after = pieces.partition_point(|(offset, _)| *offset <= range.start);
    let (offset, bytes) = &pieces[after.checked_sub(1)?];
    let from = usize::try_from(range.start - offset).ok()?;
    let to = usize::try_from(range.end.checked_sub(*offset)?).ok()?;
    (from <= to && to <= bytes.len()).then_some((bytes, from..to))
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ByteRange::Bounded { start, len } => write!(f, "{len} bytes from {start}"),
            ByteRange::From(start) => write!(f, "from {start} to the end"),
            ByteRange::Suffix(len) => write!(f, "the last {len} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_merged_and_cut_out_again() {
        let ranges = || vec![8..10, 0..4, 2..5, 5..6, 20..20];
        assert_eq!(coalesce(ranges(), 0), [0..6, 8..10, 20..20]);
        assert_eq!(coalesce(ranges(), 2), [0..10, 20..20]);
        assert_eq!(coalesce(vec![0..u64::MAX, 5..6], u64::MAX), vec![0..u64::MAX]);
        let pieces = [(0, Bytes::from_static(b"abcdef")), (8, Bytes::from_static(b"ij"))];
        assert_eq!(slice(&pieces, &(1..3)).unwrap(), "bc");
        assert_eq!(slice(&pieces, &(8..10)).unwrap(), "ij");
        assert_eq!(slice(&pieces, &(10..10)).unwrap(), "");
        for outside in [5..8, 6..7, 9..11, 7..9] {
            assert_eq!(slice(&pieces, &outside), None, "{outside:?}");
        }
        assert_eq!(slice(&pieces[1..], &(0..1)), None);
    }

    /// F-111.
    #[test]
    fn ranges_stay_inside_the_value() {
        let key = StoreKey::new("k").unwrap();
        assert_eq!(ByteRange::Suffix(9).resolve(&key, 4).unwrap(), 0..4);
        assert_eq!(ByteRange::Suffix(1).resolve(&key, 4).unwrap(), 3..4);
        assert_eq!(ByteRange::From(4).resolve(&key, 4).unwrap(), 4..4);
        assert!(ByteRange::From(5).resolve(&key, 4).is_err());
        assert!(ByteRange::Bounded { start: 3, len: 2 }.resolve(&key, 4).is_err());
        assert!(ByteRange::Bounded { start: u64::MAX, len: 2 }.resolve(&key, 4).is_err());
    }
}

//! Describes a range of the bytes of a value.

use std::fmt;
use std::ops::Range;

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
    /// The last so many bytes; the whole value if it has fewer (F-111).
    Suffix(u64),
}

impl ByteRange {
    /// The whole value.
    pub const ALL: ByteRange = ByteRange::From(0);

    /// The bytes meant in a value of `size` bytes.
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

    /// The bytes meant in `size` bytes; `None` when they do not all lie inside.
    pub fn within(self, size: u64) -> Option<Range<u64>> {
        let range = match self {
            ByteRange::Bounded { start, len } => start.checked_add(len).map(|end| start..end),
            ByteRange::From(start) => (start <= size).then_some(start..size),
            ByteRange::Suffix(len) => Some(size.saturating_sub(len)..size),
        };
        range.filter(|range| range.end <= size)
    }
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

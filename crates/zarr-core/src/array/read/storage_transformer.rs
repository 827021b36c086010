//! Finds a chunk in the object of a draft's storage transformer, which it shares with others (draft-v3.md 3.4, Q27).
//!
//! In the sharding storage transformer of zarr-python 2.13 to 2.18 an object has the chunks of a block, in any order, then
//! their offsets and lengths.

use bytes::Bytes;

use crate::error::CodecError;

/// The place of a chunk in its object.
#[derive(Debug)]
pub(crate) struct Shard {
    /// The object's index along each axis, as its key names it.
    pub indices: Vec<i64>,
    /// The chunk's entry of the footer.
    slot: u64,
    /// How many entries the footer has.
    slots: u64,
}

/// Bytes of one entry: an offset and a length, little-endian.
const ENTRY: u64 = 16;

impl Shard {
    /// The object of a chunk; `per_shard` chunks along each axis share one.
    pub fn new(chunk: &[i64], per_shard: &[u64]) -> Shard {
        let mut shard = Shard { indices: Vec::new(), slot: 0, slots: 1 };
        for (&index, &count) in chunk.iter().zip(per_shard) {
            let (index, count) = (index.max(0) as u64, count.max(1));
            shard.indices.push((index / count) as i64);
            shard.slot = shard.slot.wrapping_mul(count).wrapping_add(index % count);
            shard.slots = shard.slots.saturating_mul(count);
        }
        shard
    }

    /// The bytes of the chunk in its object; `None` if it is not stored.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] if the footer is cut short or points out of the object.
    pub fn chunk(&self, object: &Bytes) -> Result<Option<Bytes>, CodecError> {
        let size = object.len() as u64;
        let footer = self.slots.checked_mul(ENTRY).and_then(|footer| size.checked_sub(footer));
        let Some(footer) = footer else {
            let due = self.slots.saturating_mul(ENTRY);
            let why = format!("{size} bytes are too few for a footer of {due}");
            return Err(CodecError::corrupt("sharding", why));
        };
        let entry = (footer + self.slot * ENTRY) as usize;
        let [offset, length] = [entry, entry + 8].map(|at| {
            let bytes = object[at..at + 8].try_into().expect("eight bytes of the footer");
            u64::from_le_bytes(bytes)
        });
        if (offset, length) == (u64::MAX, u64::MAX) {
            return Ok(None);
        }
        match offset.checked_add(length).filter(|&end| end <= footer) {
            Some(end) => Ok(Some(object.slice(offset as usize..end as usize))),
            None => {
                let why = format!(
                    "its footer has {length} bytes at {offset}, which leave the {footer} before it"
                );
                Err(CodecError::corrupt("sharding", why))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of draft-v3.md 3.4, and damaged ones.
    #[test]
    fn chunks_come_out_of_their_objects() {
        let entry =
            |offset: u64, length: u64| [offset.to_le_bytes(), length.to_le_bytes()].concat();
        let object = |parts: &[&[u8]]| Bytes::from(parts.concat());
        let first = object(&[&[2, 0, 1, 0], &entry(2, 2), &entry(0, 2)]);
        assert_eq!(Shard::new(&[0], &[2]).indices, [0]);
        assert_eq!(Shard::new(&[0], &[2]).chunk(&first).unwrap().as_deref(), Some(&[1u8, 0][..]));
        assert_eq!(Shard::new(&[1], &[2]).chunk(&first).unwrap().as_deref(), Some(&[2u8, 0][..]));
        let second = object(&[&[3, 0], &entry(0, 2), &entry(u64::MAX, u64::MAX)]);
        assert_eq!(Shard::new(&[3], &[2]).indices, [1]);
        assert_eq!(Shard::new(&[3], &[2]).chunk(&second).unwrap(), None);
        assert!(Shard::new(&[0], &[2]).chunk(&first.slice(5..)).is_err());
        assert!(Shard::new(&[0], &[u64::MAX]).chunk(&first).is_err());
        for (offset, length) in [(3, 2), (u64::MAX, 2), (0, u64::MAX), (36, 2)] {
            let damaged = object(&[&[2, 0, 1, 0], &entry(offset, length), &entry(0, 2)]);
            assert!(Shard::new(&[0], &[2]).chunk(&damaged).is_err(), "{offset} {length}");
        }
    }
}

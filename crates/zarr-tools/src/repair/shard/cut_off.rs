//! Finds the inner chunks of a shard whose end is lost, by the lengths that they say themselves.

use std::ops::Range;

use zarr_core::StoreError;
use zarr_core::codec::most_encoded;
use zarr_core::region::element_count;
use zarr_core::store::{ByteRange, SyncSnapshot};

use super::{ABSENT, Entry, ShardForm};

impl ShardForm {
    /// The entries of a shard whose last bytes are lost, and with them a part of its index, if the inner chunks say how long they are, and the
    /// entries that are left leave no doubt whose each is.
    pub(super) fn of_cut_index(
        &self,
        shard: &dyn SyncSnapshot,
    ) -> Result<Option<Vec<Entry>>, StoreError> {
        if self.index_is_first
            || self.checksum.is_none()
            || self.lengths.is_none() && self.nested.is_none() && self.fixed().is_none()
        {
            return Ok(None);
        }
        let size = shard.size();
        let count = self.counts.iter().product::<u64>();
        let (mut end, mut pieces) = (0, Vec::new());
        while (pieces.len() as u64) < count
            && let Some(length) = self.length_at(end, size, shard)?
            && end.checked_add(length).is_some_and(|end| end <= size)
            && self.decodes(&(end..end + length), shard)?
        {
            pieces.push([end, length]);
            end += length;
        }
        let rest = size - end;
        if pieces.is_empty() || rest >= self.index_size {
            return Ok(None);
        }
        let bytes = shard.read(&[ByteRange::from(end..size)])?.pop().unwrap_or_default();
        let numbers: Vec<u64> =
            bytes.as_chunks::<8>().0.iter().map(|n| u64::from_le_bytes(*n)).collect();
        let whole = numbers.as_chunks::<2>().0.iter().take(count as usize);
        let mut entries: Vec<Entry> = whole.copied().collect();
        if !entries.iter().all(|entry| *entry == ABSENT || pieces.contains(entry)) {
            return Ok(None);
        }
        pieces.retain(|piece| !entries.contains(piece));
        // Of the entry that was cut, the offset may be left.
        let is_missing = (entries.len() as u64) < count;
        if let Some(offset) = numbers.get(2 * entries.len()).filter(|_| is_missing) {
            let owned = pieces.iter().position(|piece| piece[0] == *offset);
            match owned {
                Some(at) => entries.push(pieces.remove(at)),
                None if *offset == u64::MAX => entries.push(ABSENT),
                None => return Ok(None),
            }
        }
        // A piece that is left may be what a writer put there before, and be of no entry.
        entries.resize(count as usize, ABSENT);
        Ok(pieces.is_empty().then_some(entries))
    }

    /// Whether these bytes are an inner chunk, and nothing more, as far as it says so.
    pub(super) fn is_inner_chunk(
        &self,
        range: &Range<u64>,
        shard: &dyn SyncSnapshot,
    ) -> Result<bool, StoreError> {
        if !self.decodes(range, shard)? {
            return Ok(false);
        }
        let said = self.length_at(range.start, range.end, shard)?;
        Ok(said.is_none_or(|length| length == range.end - range.start))
    }

    /// The bytes of every inner chunk, if they are equally many.
    fn fixed(&self) -> Option<u64> {
        self.inner.encoded_size(&self.inner_shape).filter(|&size| size > 0)
    }

    /// How long the inner chunk is that begins at `start`, as it says itself, if it ends before `end`.
    pub(super) fn length_at(
        &self,
        start: u64,
        end: u64,
        shard: &dyn SyncSnapshot,
    ) -> Result<Option<u64>, StoreError> {
        if let Some(size) = self.fixed() {
            return Ok(Some(size).filter(|size| end.saturating_sub(start) >= *size));
        }
        if let Some(nested) = self.nested.as_ref().filter(|nested| nested.index_is_first) {
            let index = start..start.saturating_add(nested.index_size);
            if index.end > end {
                return Ok(None);
            }
            let bytes = shard.read(&[ByteRange::from(index)])?.pop().unwrap_or_default();
            let Ok(entries) = nested.decode_index(&bytes) else { return Ok(None) };
            let ends = entries.iter().filter(|entry| **entry != ABSENT);
            let ends = ends.map(|[offset, length]| offset.saturating_add(*length));
            return Ok(ends.max().or(Some(nested.index_size)));
        }
        let Some(lengths) = self.lengths.filter(|_| start < end) else { return Ok(None) };
        let size =
            element_count(&self.inner_shape).and_then(|count| count.checked_mul(self.cell as u64));
        let most = most_encoded(size.filter(|_| !self.is_variable));
        let range = start..end.min(start.saturating_add(most));
        let bytes = shard.read(&[ByteRange::from(range)])?.pop().unwrap_or_default();
        Ok(lengths.at(&bytes))
    }
}

//! Mends inner chunks that are shards themselves.

use std::ops::Range;
use std::sync::Arc;

use zarr_core::StoreError;
use zarr_core::codec::most_encoded;
use zarr_core::store::{ByteRange, InMemorySnapshot, StoreKey, SyncSnapshot};

use super::{CODEC, Entry, Mended, ShardForm, Verdict, range_of};

impl ShardForm {
    /// The inner chunks of bad entries that are shards themselves, as far as they can be mended.
    pub(super) fn mended(
        &self,
        entries: &[Entry],
        bad: &[usize],
        area: &Range<u64>,
        shard: &dyn SyncSnapshot,
    ) -> Result<Mended, StoreError> {
        let mut mended = Mended::new();
        let Some(nested) = &self.nested else { return Ok(mended) };
        for &number in bad {
            let Some(range) = range_of(&entries[number], area) else { continue };
            if range.end - range.start > most_encoded(None) {
                continue;
            }
            let shares_bytes = entries.iter().enumerate().any(|(other, entry)| {
                let other_range = range_of(entry, area).filter(|_| other != number);
                other_range.is_some_and(|it| it.start < range.end && range.start < it.end)
            });
            if shares_bytes {
                continue;
            }
            let bytes = shard.read(&[ByteRange::from(range)])?.pop().unwrap_or_default();
            let part: Arc<dyn SyncSnapshot> =
                Arc::new(InMemorySnapshot::new(&StoreKey::new(CODEC)?, bytes));
            let payload = match nested.examine(&*part)? {
                Verdict::NewIndex(entries) => nested.assemble(&part, &entries, &Mended::new()),
                Verdict::Without(_, entries, inner) => nested.assemble(&part, &entries, &inner),
                Verdict::Sound | Verdict::Lost => continue,
            };
            let mut bytes = Vec::new();
            let Ok(payload) = payload else { continue };
            for piece in payload.parts() {
                bytes.extend_from_slice(&piece?);
            }
            mended.insert(number, bytes);
        }
        Ok(mended)
    }
}

//! Reads parts of one version of a value.
//!
//! The first request brings bytes along with the size and the version; later ones demand that version
//! (docs/internals/design/reading.md). Ranges that lie close together are fetched with one request
//! (docs/internals/design/remote-stores.md).

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::try_join_all;
use object_store::{GetOptions, GetRange};
use zarr_core::StoreError;
use zarr_core::store::{self, ByteRange, Result, Snapshot, StoreKey, Version, coalesce};

use super::answer::Wrong;
use super::read::{FetchedRange, ObjectMeta};
use super::{ObjectStore, Session, failure};

/// Bytes at the beginning that are fetched first where the end cannot be asked for.
const HEAD: u64 = 64 << 10;

pub(super) struct ObjectSnapshot {
    store: ObjectStore,
    key: StoreKey,
    /// The version that it must have.
    version: Option<Version>,
    /// Known once a server answered.
    meta: OnceLock<ObjectMeta>,
    /// The bytes that came with the first request, and where they begin.
    first: Option<(u64, Bytes)>,
}

impl ObjectSnapshot {
    /// The value as it is now, with the bytes that will be read first; `None` if it is absent.
    pub async fn open(
        store: &ObjectStore,
        key: &StoreKey,
        first: &[ByteRange],
    ) -> Result<Option<ObjectSnapshot>> {
        let (owned, first) = (key.clone(), first.to_vec());
        let begun = store
            .spawn_request(|session: Session| async move { session.begin(&owned, &first).await })
            .await?;
        let Some((meta, first)) = begun else { return Ok(None) };
        Ok(Some(ObjectSnapshot {
            store: store.clone(),
            key: key.clone(),
            version: meta.version(),
            meta: OnceLock::from(meta),
            first,
        }))
    }

    /// The value of this version, which the first reading checks.
    pub fn expected(store: &ObjectStore, key: &StoreKey, version: &Version) -> ObjectSnapshot {
        ObjectSnapshot {
            store: store.clone(),
            key: key.clone(),
            version: Some(version.clone()),
            meta: OnceLock::new(),
            first: None,
        }
    }

    fn changed(&self) -> StoreError {
        StoreError::Changed { key: self.key.to_string() }
    }

    /// Checks that the server reports the value that was opened.
    fn check(&self, meta: ObjectMeta) -> Result<()> {
        let same = match (&self.version, self.meta.get()) {
            (Some(version), _) => meta.version().as_ref() == Some(version),
            (None, Some(before)) => meta.size == before.size,
            (None, None) => true,
        };
        if !same {
            return Err(self.changed());
        }
        let _ = self.meta.set(meta);
        Ok(())
    }

    fn condition(&self) -> Option<String> {
        match self.meta.get() {
            Some(meta) => meta.condition(),
            None => tag_of(self.version.as_ref()?).0.filter(|etag| !etag.starts_with("W/")),
        }
    }

    /// Requests only the size and the version.
    async fn look(&self) -> Result<()> {
        let (key, condition) = (self.key.clone(), self.condition());
        let meta = self
            .store
            .spawn_request(|session: Session| async move {
                let path = session.path(key.as_str())?;
                let head = session.head(&path, condition).await;
                head.map_err(|e| session.changed_or_failed(&key, &e))
            })
            .await?;
        self.check(meta)
    }

    /// Fetches one range; more, if the server sends more.
    async fn fetch(&self, range: &Range<u64>) -> Result<(u64, Bytes)> {
        let (key, range, condition) = (self.key.clone(), range.clone(), self.condition());
        let FetchedRange { bytes, range, meta, .. } = self
            .store
            .spawn_request(
                |session: Session| async move { session.part(&key, range, condition).await },
            )
            .await?;
        self.check(meta)?;
        Ok((range.start, bytes))
    }
}

#[async_trait]
impl Snapshot for ObjectSnapshot {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let are_bounded = ranges.iter().all(|range| matches!(range, ByteRange::Bounded { .. }));
        if self.meta.get().is_none() && (ranges.is_empty() || !are_bounded) {
            self.look().await?;
        }
        let size = self.meta.get().map_or(u64::MAX, |meta| meta.size);
        let resolved = ranges
            .iter()
            .map(|range| range.resolve(&self.key, size))
            .collect::<Result<Vec<_>, _>>()?;
        let mut fetched: Vec<(u64, Bytes)> = self.first.iter().cloned().collect();
        let missing = resolved.iter().filter(|range| slice(&fetched, range).is_none());
        let gap = self.store.session()?.limiter.gap();
        let mut coalesced = merged(missing.cloned(), gap);
        if self.store.0.without_ranges.load(Ordering::Relaxed) {
            // One request brings all of the value.
            coalesced.truncate(1);
        }
        let wasted: u64 = coalesced.iter().map(|(_, wasted)| wasted).sum();
        self.store.0.counts.wasted.fetch_add(wasted, Ordering::Relaxed);
        fetched.extend(try_join_all(coalesced.iter().map(|(range, _)| self.fetch(range))).await?);
        resolved
            .iter()
            .zip(ranges)
            .map(|(range, requested)| match slice(&fetched, range) {
                Some(bytes) => Ok(bytes),
                // The size is known only now.
                None => {
                    requested.resolve(&self.key, self.size())?;
                    Err(self.changed())
                }
            })
            .collect()
    }

    fn size(&self) -> u64 {
        self.meta.get().map_or(0, |meta| meta.size)
    }

    fn version(&self) -> Option<Version> {
        self.version.clone()
    }

    fn modified(&self) -> Option<SystemTime> {
        let nanos = u64::try_from(self.meta.get()?.modified).ok().filter(|&nanos| nanos > 0)?;
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(nanos))
    }
}

impl Session {
    /// Makes the first request for a value: what the server reports of it, and the bytes that came with that.
    async fn begin(
        &self,
        key: &StoreKey,
        first: &[ByteRange],
    ) -> Result<Option<(ObjectMeta, Option<(u64, Bytes)>)>> {
        let path = self.path(key.as_str())?;
        let range = if self.without_ranges.load(Ordering::Relaxed) {
            Some(None)
        } else {
            self.first_range(first)
        };
        if let Some(range) = range {
            let ranged = range.is_some();
            let options = GetOptions { range, ..GetOptions::default() };
            match self.fetch(&path, &options).await {
                Ok(FetchedRange { bytes, range, meta, .. }) => {
                    return Ok(Some((meta, Some((range.start, bytes)))));
                }
                Err(e) if self.is_absence(&e) => return Ok(None),
                Err(e) if self.came_whole(&e) => {
                    let whole = self.whole(key, u64::MAX).await?;
                    return Ok(whole.map(|whole| (whole.meta, Some((0, whole.bytes)))));
                }
                // The range may leave the value (416; s3s-fs 0.14 answers 500, or closes the connection), whose size the
                // next request tells.
                Err(e @ object_store::Error::Generic { .. })
                    if ranged && failure::is_servers_own(&e) => {}
                Err(e) => return Err(self.failure("get", key.as_str(), &e)),
            }
        }
        match self.head(&path, None).await {
            Ok(meta) => Ok(Some((meta, None))),
            Err(e) if self.is_absence(&e) => Ok(None),
            Err(e) => Err(self.failure("get", key.as_str(), &e)),
        }
    }

    /// What the first request is for: `None` for no bytes, `Some(None)` for all of them.
    fn first_range(&self, first: &[ByteRange]) -> Option<Option<GetRange>> {
        let bounded = first.iter().map(|range| match range {
            ByteRange::Bounded { start, len } => start.checked_add(*len).map(|end| *start..end),
            _ => None,
        });
        if let Some(bounded) = bounded.collect::<Option<Vec<_>>>() {
            let (range, wasted) =
                merged(bounded.into_iter(), self.limiter.gap()).into_iter().next()?;
            self.counts.wasted.fetch_add(wasted, Ordering::Relaxed);
            return Some(Some(GetRange::Bounded(range)));
        }
        match first {
            [ByteRange::Suffix(0)] => None,
            [ByteRange::Suffix(len)] if self.location.service.suffixes => {
                Some(Some(GetRange::Suffix(*len)))
            }
            [ByteRange::Suffix(_)] => Some(Some(GetRange::Bounded(0..HEAD))),
            first if first.contains(&ByteRange::ALL) => Some(None),
            _ => None,
        }
    }

    /// Whether the server sent all of a value where a part was requested. From a server that ignores ranges whole values
    /// are requested from now on.
    fn came_whole(&self, error: &object_store::Error) -> bool {
        let Some(Wrong::Whole { ignored }) = failure::wrong(error) else { return false };
        if ignored {
            self.without_ranges.store(true, Ordering::Relaxed);
        }
        true
    }

    /// A range of the value that has this tag.
    async fn part(
        &self,
        key: &StoreKey,
        range: Range<u64>,
        condition: Option<String>,
    ) -> Result<FetchedRange> {
        let path = self.path(key.as_str())?;
        let mut options = GetOptions { if_match: condition, ..GetOptions::default() };
        if !self.without_ranges.load(Ordering::Relaxed) {
            options.range = Some(GetRange::Bounded(range));
        }
        let mut fetched = self.fetch(&path, &options).await;
        if fetched.as_ref().is_err_and(|e| self.came_whole(e)) {
            options.range = None;
            fetched = self.fetch(&path, &options).await;
        }
        fetched.map_err(|e| self.changed_or_failed(key, &e))
    }

    /// The error of reading a value that was opened: it was replaced, is absent, or is shorter; or the request failed.
    fn changed_or_failed(&self, key: &StoreKey, error: &object_store::Error) -> StoreError {
        let is_out_of_range = failure::status() == Some(416);
        if failure::is_refusal(error) || failure::is_absence(error) || is_out_of_range {
            return StoreError::Changed { key: key.to_string() };
        }
        self.failure("get", key.as_str(), error)
    }
}

/// The ETag and the generation in a version.
pub(super) fn tag_of(version: &Version) -> (Option<String>, Option<String>) {
    let text = version.token().map(|token| String::from_utf8_lossy(token).into_owned());
    let text = text.unwrap_or_default();
    let mut lines = text.split('\n').map(|line| (!line.is_empty()).then(|| line.to_owned()));
    (lines.next().flatten(), lines.next().flatten())
}

/// Coalesces ranges with at most `gap` bytes between them; each with the number of its bytes that were not requested.
fn merged(ranges: impl Iterator<Item = Range<u64>>, gap: u64) -> Vec<(Range<u64>, u64)> {
    let ranges: Vec<_> = ranges.filter(|range| !range.is_empty()).collect();
    let needed = coalesce(ranges.clone(), 0);
    coalesce(ranges, gap)
        .into_iter()
        .map(|range| {
            let inside = needed.iter().filter(|needed| range.contains(&needed.start));
            let size: u64 = inside.map(|needed| needed.end - needed.start).sum();
            (range.clone(), range.end - range.start - size)
        })
        .collect()
}

/// The bytes of a range out of pieces that were fetched, which may overlap.
fn slice(fetched: &[(u64, Bytes)], range: &Range<u64>) -> Option<Bytes> {
    if range.is_empty() {
        return Some(Bytes::new());
    }
    fetched.chunks(1).find_map(|piece| store::slice(piece, range))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: u64 = 100;

    /// Adjacent ranges always, gaps of up to a number of bytes, and what is fetched for nothing is told.
    #[test]
    fn ranges_that_lie_close_are_fetched_with_one_request() {
        let coalesced = |ranges: &[Range<u64>]| merged(ranges.iter().cloned(), GAP);
        assert_eq!(coalesced(&[10..20, 0..10, 5..5]), [(0..20, 0)]);
        assert_eq!(coalesced(&[0..10, 10 + GAP..20 + GAP]), [(0..20 + GAP, GAP)]);
        assert_eq!(coalesced(&[0..10, 11 + GAP..20 + GAP]), [(0..10, 0), (11 + GAP..20 + GAP, 0)]);
        assert_eq!(coalesced(&[0..100, 10..20, 50..120]), [(0..120, 0)]);
        assert_eq!(coalesced(&[]), []);
    }
}

//! Reads parts of one version of a value.
//!
//! The first request brings bytes along with the size and the version; later ones demand that version
//! (decision 0108). Ranges that lie close together are fetched with one request (decision 0131).

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::try_join_all;
use object_store::{GetOptions, GetRange};
use zarr_core::StoreError;
use zarr_core::store::{self, ByteRange, Snapshot, StoreKey, Version, coalesce};

use super::answer::Wrong;
use super::read::{Fetched, Stated};
use super::{Backend, ObjectStore, Shared, failure};

/// Bytes between two ranges that are fetched along with them: as many as pass while a request is answered.
const GAP: u64 = 64 << 10;
/// Bytes at the beginning that are fetched first where the end cannot be asked for.
const HEAD: u64 = 64 << 10;

pub(super) struct ObjectSnapshot {
    store: ObjectStore,
    key: StoreKey,
    /// Which one it has to be.
    version: Option<Version>,
    stated: OnceLock<Stated>,
    /// What came with the first request, and where it begins.
    held: Option<(u64, Bytes)>,
}

impl ObjectSnapshot {
    /// The value as it is, along with bytes that will be read first; `None` if it is absent.
    pub async fn open(
        store: &ObjectStore,
        key: &StoreKey,
        first: &[ByteRange],
    ) -> Result<Option<ObjectSnapshot>, StoreError> {
        let (asked, first) = (key.clone(), first.to_vec());
        let begin = |shared: Arc<Shared>, backend| async move {
            shared.begin(&backend, &asked, &first).await
        };
        let Some((stated, held)) = store.ask(begin).await? else { return Ok(None) };
        Ok(Some(ObjectSnapshot {
            store: store.clone(),
            key: key.clone(),
            version: stated.version(),
            stated: OnceLock::from(stated),
            held,
        }))
    }

    /// The value that had this version; the first reading will tell whether it still has.
    pub fn expected(store: &ObjectStore, key: &StoreKey, version: &Version) -> ObjectSnapshot {
        ObjectSnapshot {
            store: store.clone(),
            key: key.clone(),
            version: Some(version.clone()),
            stated: OnceLock::new(),
            held: None,
        }
    }

    fn changed(&self) -> StoreError {
        StoreError::Changed { key: self.key.to_string() }
    }

    /// What the server says of the value, if it is the one that was opened.
    fn check(&self, stated: Stated) -> Result<(), StoreError> {
        let same = match (&self.version, self.stated.get()) {
            (Some(version), _) => stated.version().as_ref() == Some(version),
            (None, Some(before)) => stated.size == before.size,
            (None, None) => true,
        };
        if !same {
            return Err(self.changed());
        }
        let _ = self.stated.set(stated);
        Ok(())
    }

    fn condition(&self) -> Option<String> {
        match self.stated.get() {
            Some(stated) => stated.condition(),
            None => tag_of(self.version.as_ref()?).0.filter(|etag| !etag.starts_with("W/")),
        }
    }

    /// Requests only the size and the version.
    async fn look(&self) -> Result<(), StoreError> {
        let (key, condition) = (self.key.clone(), self.condition());
        let head = |shared: Arc<Shared>, backend: Backend| async move {
            let path = shared.path(key.as_str())?;
            shared.head(&backend, &path, condition).await.map_err(|e| {
                if gone(&e) {
                    StoreError::Changed { key: key.to_string() }
                } else {
                    shared.failure("get", key.as_str(), &e)
                }
            })
        };
        self.check(self.store.ask(head).await?)
    }

    /// Fetches one range; more, if the server gives no less.
    async fn fetch(&self, range: &Range<u64>) -> Result<(u64, Bytes), StoreError> {
        let (key, range, condition) = (self.key.clone(), range.clone(), self.condition());
        let fetch = |shared: Arc<Shared>, backend: Backend| async move {
            shared.part(&backend, &key, range, condition).await
        };
        let Fetched { bytes, range, stated } = self.store.ask(fetch).await?;
        self.check(stated)?;
        Ok((range.start, bytes))
    }
}

#[async_trait]
impl Snapshot for ObjectSnapshot {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        let is_bounded = |range: &ByteRange| matches!(range, ByteRange::Bounded { .. });
        if self.stated.get().is_none() && (ranges.is_empty() || !ranges.iter().all(is_bounded)) {
            self.look().await?;
        }
        let size = self.stated.get().map_or(u64::MAX, |stated| stated.size);
        let resolve = |range: &ByteRange| range.resolve(&self.key, size);
        let due = ranges.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
        let mut fetched: Vec<(u64, Bytes)> = self.held.iter().cloned().collect();
        let missing = due.iter().filter(|range| slice(&fetched, range).is_none());
        let mut spans = merged(missing.cloned());
        if self.store.0.without_ranges.load(Ordering::Relaxed) {
            // One request brings all of the value.
            spans.truncate(1);
        }
        let wasted: u64 = spans.iter().map(|span| span.wasted).sum();
        self.store.0.counts.wasted.fetch_add(wasted, Ordering::Relaxed);
        fetched.extend(try_join_all(spans.iter().map(|span| self.fetch(&span.range))).await?);
        let take = |(range, asked): (&Range<u64>, &ByteRange)| match slice(&fetched, range) {
            Some(bytes) => Ok(bytes),
            // Only now is it known how long the value is.
            None => {
                let size = self.stated.get().map_or(0, |stated| stated.size);
                asked.resolve(&self.key, size)?;
                Err(self.changed())
            }
        };
        due.iter().zip(ranges).map(take).collect()
    }

    fn size(&self) -> u64 {
        self.stated.get().map_or(0, |stated| stated.size)
    }

    fn version(&self) -> Option<Version> {
        self.version.clone()
    }
}

impl Shared {
    /// The first request for a value: what is known of it, and those bytes of it that came along.
    async fn begin(
        &self,
        backend: &Backend,
        key: &StoreKey,
        first: &[ByteRange],
    ) -> Result<Option<(Stated, Option<(u64, Bytes)>)>, StoreError> {
        let path = self.path(key.as_str())?;
        let range = if self.without_ranges.load(Ordering::Relaxed) {
            Some(None)
        } else {
            self.first_range(first)
        };
        if let Some(range) = range {
            let ranged = range.is_some();
            let options = GetOptions { range, ..GetOptions::default() };
            match self.fetch(backend, &path, &options).await {
                Ok(Fetched { bytes, range, stated }) => {
                    return Ok(Some((stated, Some((range.start, bytes)))));
                }
                Err(e) if self.is_absence(&e) => return Ok(None),
                Err(e) if self.came_whole(&e) => {
                    let whole = self.whole(backend, key, u64::MAX).await?;
                    return Ok(whole.map(|whole| (whole.stated, Some((0, whole.bytes)))));
                }
                // The range may leave the value (416; s3s-fs 0.14 answers 500, or closes the connection), whose size the
                // next request tells.
                Err(e @ object_store::Error::Generic { .. })
                    if ranged && failure::is_servers_own(&e) => {}
                Err(e) => return Err(self.failure("get", key.as_str(), &e)),
            }
        }
        match self.head(backend, &path, None).await {
            Ok(stated) => Ok(Some((stated, None))),
            Err(e) if self.is_absence(&e) => Ok(None),
            Err(e) => Err(self.failure("get", key.as_str(), &e)),
        }
    }

    /// What to ask for first: `None` for no bytes at all, `Some(None)` for all of them.
    fn first_range(&self, first: &[ByteRange]) -> Option<Option<GetRange>> {
        let bounded = first.iter().map(|range| match range {
            ByteRange::Bounded { start, len } => start.checked_add(*len).map(|end| *start..end),
            _ => None,
        });
        if let Some(bounded) = bounded.collect::<Option<Vec<_>>>() {
            let span = merged(bounded.into_iter()).into_iter().next()?;
            self.counts.wasted.fetch_add(span.wasted, Ordering::Relaxed);
            return Some(Some(GetRange::Bounded(span.range)));
        }
        match first {
            [ByteRange::Suffix(0)] => None,
            [ByteRange::Suffix(len)] if self.place.service.suffixes => {
                Some(Some(GetRange::Suffix(*len)))
            }
            [ByteRange::Suffix(_)] => Some(Some(GetRange::Bounded(0..HEAD))),
            first if first.contains(&ByteRange::ALL) => Some(None),
            _ => None,
        }
    }

    /// Whether the server sent all of a value where a part was asked for. One that ignores ranges is asked for whole
    /// values from now on.
    fn came_whole(&self, error: &object_store::Error) -> bool {
        let Some(Wrong::Whole { ignored }) = failure::wrong(error) else { return false };
        if ignored {
            self.without_ranges.store(true, Ordering::Relaxed);
        }
        true
    }

    /// A range of a value that has to be a certain one.
    async fn part(
        &self,
        backend: &Backend,
        key: &StoreKey,
        range: Range<u64>,
        condition: Option<String>,
    ) -> Result<Fetched, StoreError> {
        let path = self.path(key.as_str())?;
        let mut options = GetOptions { if_match: condition, ..GetOptions::default() };
        if !self.without_ranges.load(Ordering::Relaxed) {
            options.range = Some(GetRange::Bounded(range));
        }
        let mut fetched = self.fetch(backend, &path, &options).await;
        if fetched.as_ref().is_err_and(|e| self.came_whole(e)) {
            options.range = None;
            fetched = self.fetch(backend, &path, &options).await;
        }
        fetched.map_err(|e| {
            if gone(&e) {
                StoreError::Changed { key: key.to_string() }
            } else {
                self.failure("get", key.as_str(), &e)
            }
        })
    }
}

/// Whether the value that was opened is to be had no more: it is another one, absent, or shorter.
fn gone(error: &object_store::Error) -> bool {
    failure::is_refusal(error) || failure::is_absence(error) || failure::status() == Some(416)
}

/// The ETag and the generation in a version.
pub(super) fn tag_of(version: &Version) -> (Option<String>, Option<String>) {
    let text = version.token().map(|token| String::from_utf8_lossy(token).into_owned());
    let text = text.unwrap_or_default();
    let mut words = text.split('\n').map(|word| (!word.is_empty()).then(|| word.to_owned()));
    (words.next().flatten(), words.next().flatten())
}

/// Some ranges, fetched with one request.
struct CoalescedRange {
    range: Range<u64>,
    /// Bytes of it that are in none of them.
    wasted: u64,
}

/// Ranges put together where what is between them costs less than a request.
fn merged(ranges: impl Iterator<Item = Range<u64>>) -> Vec<CoalescedRange> {
    let ranges: Vec<_> = ranges.filter(|range| !range.is_empty()).collect();
    let needed = coalesce(ranges.clone(), 0);
    let span = |range: Range<u64>| {
        let inside = needed.iter().filter(|needed| range.contains(&needed.start));
        let size: u64 = inside.map(|needed| needed.end - needed.start).sum();
        CoalescedRange { wasted: range.end - range.start - size, range }
    };
    coalesce(ranges, GAP).into_iter().map(span).collect()
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

    /// Decision 0131: adjacent ranges always, gaps of up to 64 KiB, and what is fetched for nothing is told.
    #[test]
    fn ranges_that_lie_close_are_fetched_with_one_request() {
        let spans = |ranges: &[Range<u64>]| {
            let spans = merged(ranges.iter().cloned()).into_iter();
            spans.map(|span| (span.range, span.wasted)).collect::<Vec<_>>()
        };
        assert_eq!(spans(&[10..20, 0..10, 5..5]), [(0..20, 0)]);
        assert_eq!(spans(&[0..10, 10 + GAP..20 + GAP]), [(0..20 + GAP, GAP)]);
        assert_eq!(spans(&[0..10, 11 + GAP..20 + GAP]), [(0..10, 0), (11 + GAP..20 + GAP, 0)]);
        assert_eq!(spans(&[0..100, 10..20, 50..120]), [(0..120, 0)]);
        assert_eq!(spans(&[]), []);
    }
}

//! Reads ranges of a value of another store, always of the same version.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::UNIX_EPOCH;

use futures::future::{FutureExt, try_join_all};
use zarr_core::store::{
    ByteRange, Bytes, Result, Snapshot, SnapshotOptions, Store, StoreKey, Version, slice,
};
use zarr_core::{StoreError, split_query, sync};

use crate::gather::{Gathering, Pieces, Share};
use crate::location::{encoded, is_encoded};
use crate::shared_error::repeated;

/// A value of another store, which references lead to. Clones share the version that the first reading found: when
/// another value takes its place, reading fails with [`StoreError::Changed`].
///
/// Of a store that is not local, ranges that lie close together and are read at the same time through clones are one request: at
/// most 64 KiB are between them, and one request brings at most 16 MiB, unless a single range is longer.
#[derive(Clone)]
pub struct Target(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    key: StoreKey,
    /// What the value must be, where a reference says so.
    etag: Option<String>,
    /// The latest second since 1970 in which it may have been set, where a reference says so.
    last_modified: Option<u32>,
    version: Mutex<Option<Version>>,
    gathering: Gathering,
}

/// Ranges of a value.
enum Parts {
    All(Vec<Bytes>),
    /// The value, of this size, ends before one of them does.
    TooShort {
        size: u64,
    },
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.name())
    }
}

impl Target {
    /// The value of `key`. Nothing is read yet.
    pub fn new(store: Arc<dyn Store>, key: StoreKey) -> Target {
        let (etag, last_modified, version, gathering) = Default::default();
        Target(Arc::new(Inner { store, key, etag, last_modified, version, gathering }))
    }

    /// The same value, which must have this ETag, and must not have been set after this second since 1970, as far as its store
    /// tells.
    #[must_use]
    pub fn with_check(&self, etag: Option<String>, last_modified: Option<u32>) -> Target {
        let (store, key) = (self.0.store.clone(), self.0.key.clone());
        let (version, gathering) = Default::default();
        Target(Arc::new(Inner { store, key, etag, last_modified, version, gathering }))
    }

    /// The store that it is in.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Its key there.
    pub fn key(&self) -> &StoreKey {
        &self.0.key
    }

    /// Its URL: that of its store, and its key.
    pub fn name(&self) -> String {
        let store = self.0.store.name();
        let (place, query) = split_query(&store);
        let slash = if place.ends_with('/') { "" } else { "/" };
        let key = self.0.key.as_str();
        let key = if is_encoded(place) { encoded(key) } else { key.to_owned() };
        format!("{place}{slash}{key}{query}")
    }

    /// The version that a reading found, if one did and the store tells versions.
    pub fn version(&self) -> Option<Version> {
        sync::lock(&self.0.version).clone()
    }

    /// The number of bytes it has, which takes a request.
    ///
    /// # Errors
    /// [`StoreError::Io`] if it is absent; the store's own.
    pub async fn size(&self) -> Result<u64> {
        let pinned = self.version();
        let how = SnapshotOptions { expect: pinned.as_ref(), ..SnapshotOptions::default() };
        let value = self.0.store.open(&self.0.key, how).await?;
        let value = value.ok_or_else(|| self.absent(pinned.is_some()))?;
        // The size may be known only after the first reading, be it of no ranges.
        value.read(&[]).await?;
        self.check(&*value)?;
        self.pin(value.version())?;
        Ok(value.size())
    }

    /// Some ranges of its bytes, each as long as was asked for.
    ///
    /// # Errors
    /// [`StoreError::Io`] if it is absent, or ends before a range does; [`StoreError::Changed`] if it is not what was read
    /// before; the store's own.
    pub async fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        // Each thread reads local files by itself: to wait for another takes longer than to read some KiB.
        if self.0.store.capabilities().local || ranges.is_empty() {
            return self.read_alone(ranges).await;
        }
        let share = self.0.gathering.join(ranges, |ranges| {
            let target = self.clone();
            async move { target.read_block(&ranges).await.map_err(Arc::new) }.boxed()
        });
        let Share::Blocks(blocks) = share.await else { return self.read_alone(ranges).await };
        let blocks: Vec<Arc<Pieces>> = match try_join_all(blocks).await {
            Ok(blocks) => blocks.into_iter().flatten().collect(),
            // A store that demands a version may say so, too, where a range of another reader is beyond the end.
            Err(error) if matches!(*error, StoreError::Changed { .. }) => Vec::new(),
            Err(error) => return Err(repeated(&error)),
        };
        let found = ranges
            .iter()
            .map(|range| blocks.iter().find_map(|pieces| slice(pieces, range)))
            .collect::<Option<Vec<Bytes>>>();
        match found {
            Some(parts) => Ok(parts),
            // One of the ranges is wrong: who has a right one gets its bytes, the other reader its error.
            None => self.read_alone(ranges).await,
        }
    }

    /// Neighbouring ranges, each with its offset; `None` if the value ends before one of them does.
    async fn read_block(&self, ranges: &[Range<u64>]) -> Result<Option<Arc<Pieces>>> {
        match self.read_parts(ranges).await? {
            Parts::All(parts) => {
                Ok(Some(Arc::new(ranges.iter().map(|range| range.start).zip(parts).collect())))
            }
            Parts::TooShort { .. } => Ok(None),
        }
    }

    /// Reads ranges without those of other readers.
    async fn read_alone(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        match self.read_parts(ranges).await? {
            Parts::All(parts) => Ok(parts),
            Parts::TooShort { size } => Err(self.too_short(ranges, size)),
        }
    }

    async fn read_parts(&self, ranges: &[Range<u64>]) -> Result<Parts> {
        let asked: Vec<ByteRange> = ranges.iter().cloned().map(ByteRange::from).collect();
        let pinned = self.version();
        let how = SnapshotOptions {
            first: &asked,
            expect: pinned.as_ref(),
            ..SnapshotOptions::default()
        };
        let value = self.0.store.open(&self.0.key, how).await?;
        let value = value.ok_or_else(|| self.absent(pinned.is_some()))?;
        let parts = match value.read(&asked).await {
            Err(StoreError::Range { size, .. }) => return Ok(Parts::TooShort { size }),
            other => other?,
        };
        self.check(&*value)?;
        self.pin(value.version())?;
        let are_complete = ranges
            .iter()
            .zip(&parts)
            .all(|(range, part)| part.len() as u64 == range.end.saturating_sub(range.start));
        if parts.len() != ranges.len() || !are_complete {
            return Ok(Parts::TooShort { size: value.size() });
        }
        Ok(Parts::All(parts))
    }

    /// The first bytes, at most `limit`: all of them if it has fewer.
    ///
    /// # Errors
    /// As [`Target::read`].
    pub async fn head(&self, limit: u64) -> Result<Bytes> {
        let asked = [ByteRange::Bounded { start: 0, len: limit }];
        let pinned = self.version();
        let how = SnapshotOptions {
            first: &asked,
            expect: pinned.as_ref(),
            ..SnapshotOptions::default()
        };
        let value = self.0.store.open(&self.0.key, how).await?;
        let value = value.ok_or_else(|| self.absent(pinned.is_some()))?;
        let parts = match value.read(&asked).await {
            // It is shorter, by now it is known how long it is.
            Err(StoreError::Range { .. }) => value.read(&[ByteRange::ALL]).await?,
            other => other?,
        };
        self.check(&*value)?;
        self.pin(value.version())?;
        Ok(parts.into_iter().next().unwrap_or_default())
    }

    /// Whether the value is the one that the reference is to.
    fn check(&self, value: &dyn Snapshot) -> Result<()> {
        let changed = || StoreError::Changed { key: self.name() };
        if let Some(last) = self.0.last_modified
            && let Some(modified) = value.modified()
            && modified.duration_since(UNIX_EPOCH).is_ok_and(|at| at.as_secs() > last.into())
        {
            return Err(changed());
        }
        // Of a remote store the first line of a version is the ETag.
        let version = value.version();
        let token =
            version.as_ref().and_then(Version::token).map(|token| String::from_utf8_lossy(token));
        if let Some(etag) = &self.0.etag
            && let Some(found) = token.as_deref().and_then(|token| token.lines().next())
            && found.trim_matches('"') != etag.trim_matches('"')
        {
            return Err(changed());
        }
        Ok(())
    }

    /// Makes every later reading demand this version. Of readings that began before one was known, all must have found the
    /// same.
    fn pin(&self, version: Option<Version>) -> Result<()> {
        let mut pinned = sync::lock(&self.0.version);
        match (&*pinned, &version) {
            (Some(first), Some(found)) if first != found => {
                Err(StoreError::Changed { key: self.name() })
            }
            (Some(_), _) => Ok(()),
            (None, _) => {
                *pinned = version;
                Ok(())
            }
        }
    }

    pub(crate) fn absent(&self, was_read: bool) -> StoreError {
        if was_read {
            return StoreError::Changed { key: self.name() };
        }
        let why = "not found, but references point to it";
        StoreError::io("get", self.name())(io::Error::new(io::ErrorKind::NotFound, why))
    }

    fn too_short(&self, ranges: &[Range<u64>], size: u64) -> StoreError {
        let last = ranges.iter().max_by_key(|range| range.end).cloned().unwrap_or_default();
        let why = format!(
            "it has {size} bytes, but a reference to {} bytes at offset {} needs {}",
            last.end.saturating_sub(last.start),
            last.start,
            last.end
        );
        StoreError::io("get", self.name())(io::Error::new(io::ErrorKind::UnexpectedEof, why))
    }
}

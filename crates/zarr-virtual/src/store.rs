//! The one store for data in other files: reads what a [`Source`] refers to.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use futures::future::try_join_all;
use zarr_core::StoreError;
use zarr_core::runtime::block_on;
use zarr_core::store::{
    ByteRange, Bytes, Capabilities, GetOptions, Got, InMemorySnapshot, ListOptions, Listing,
    Result, Snapshot, SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore,
    Version, async_trait, check_size, from_sync,
};

use crate::source::{Made, Reference, Source};
use crate::target::Target;

/// The most keys that listing a whole prefix gives.
const MAX_LISTED_KEYS: usize = 10_000_000;

/// A read-only store over a [`Source`]: each key is absent, bytes that the source has, a range of a value of another store,
/// such a value, or made of ranges.
///
/// A range of a value becomes a range of its target, so that parts of chunks are read as in any other store.
///
/// ```
/// use zarr_core::store::{
///     Bytes, Capabilities, Listing, Result, StoreKey, StorePrefix, async_trait,
/// };
/// use zarr_virtual::{Reference, ReferenceStore, Source};
///
/// /// One group without members.
/// #[derive(Debug)]
/// struct Empty;
///
/// #[async_trait]
/// impl Source for Empty {
///     fn name(&self) -> String {
///         "empty::".into()
///     }
///     fn capabilities(&self) -> Capabilities {
///         Capabilities { local: true, ..Capabilities::READ_ONLY }
///     }
///     async fn find(&self, key: &StoreKey) -> Result<Option<Reference>> {
///         let document = Bytes::from_static(br#"{"zarr_format":3,"node_type":"group"}"#);
///         Ok((key.as_str() == "zarr.json").then_some(Reference::Inline(document)))
///     }
///     async fn list_dir(&self, _: &StorePrefix) -> Result<Listing> {
///         Ok(Listing::default())
///     }
/// }
///
/// # fn main() -> zarr_core::Result<()> {
/// let hierarchy = zarr_core::Hierarchy::open(ReferenceStore::over(Empty), &Default::default())?;
/// assert_eq!(hierarchy.root()?.members()?.len(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ReferenceStore {
    source: Arc<dyn Source>,
}

impl fmt::Debug for ReferenceStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReferenceStore").field(&self.source).finish()
    }
}

impl ReferenceStore {
    /// The store of what `source` refers to. If all its targets are local, its calls never wait for a network, and readers
    /// use threads in place of requests.
    pub fn over(source: impl Source) -> Arc<dyn Store> {
        ReferenceStore::over_shared(Arc::new(source))
    }

    /// The same for a source that is used elsewhere, too.
    pub fn over_shared(source: Arc<dyn Source>) -> Arc<dyn Store> {
        let is_local = source.capabilities().local;
        let store = ReferenceStore { source };
        if is_local { from_sync(Local(store)) } else { Arc::new(store) }
    }

    /// The bytes of all parts of a made value.
    async fn make(&self, key: &StoreKey, made: &Made, limit: u64) -> Result<Bytes> {
        let lengths = made.parts.iter().map(|(_, range)| range.end.saturating_sub(range.start));
        let size = lengths.fold(0u64, u64::saturating_add);
        check_size(key, size, limit)?;
        let reads = made.parts.iter().map(|(target, range)| {
            let (target, range) = (target.clone(), range.clone());
            async move { target.read(&[range]).await }
        });
        let parts = try_join_all(reads).await?;
        let value = (made.make)(parts.into_iter().flatten().collect())?;
        check_size(key, value.len() as u64, limit)?;
        Ok(value)
    }
}

/// The range of a target that a reference names; refused if its end cannot be counted.
fn target_range(key: &StoreKey, offset: u64, length: u64) -> Result<Range<u64>> {
    match offset.checked_add(length) {
        Some(end) => Ok(offset..end),
        None => {
            let why = format!("`{key}`: offset {offset} and length {length} are beyond 2^64");
            Err(StoreError::Backend(why.into()))
        }
    }
}

#[async_trait]
impl Store for ReferenceStore {
    fn name(&self) -> String {
        self.source.name()
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.source.public_options()
    }

    fn warnings(&self) -> Vec<String> {
        self.source.warnings()
    }

    async fn places(&self) -> Result<Vec<String>> {
        self.source.places().await
    }

    async fn refused_targets(&self) -> Result<Vec<StoreError>> {
        self.source.refused_targets().await
    }

    fn capabilities(&self) -> Capabilities {
        self.source.capabilities().read_only()
    }

    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        match self.source.find(key).await? {
            None => Ok(None),
            Some(Reference::Inline(bytes)) => {
                let version = how.version.then(|| Version::of_content(bytes.clone()));
                how.answer(key, bytes, version)
            }
            Some(Reference::Part { target, offset, length }) => {
                check_size(key, length, how.limit)?;
                let range = target_range(key, offset, length)?;
                let bytes = target.read(std::slice::from_ref(&range)).await?.pop();
                let version = part_version(&target, &range).filter(|_| how.version);
                how.answer(key, bytes.unwrap_or_default(), version)
            }
            Some(Reference::Whole { target, may_be_absent }) => {
                match target.store().get(target.key(), how).await? {
                    None if !may_be_absent => Err(target.absent(false)),
                    got => Ok(got),
                }
            }
            Some(Reference::Made(made)) => {
                let value = self.make(key, &made, how.limit).await?;
                let version = how.version.then(|| Version::of_content(value.clone()));
                how.answer(key, value, version)
            }
        }
    }

    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>> {
        match self.source.find(key).await? {
            None => Ok(None),
            Some(Reference::Whole { target, may_be_absent }) => {
                match target.store().open(target.key(), how).await? {
                    None if !may_be_absent && how.expect.is_none() => Err(target.absent(false)),
                    value => Ok(value),
                }
            }
            Some(Reference::Part { target, offset, length }) => {
                let range = target_range(key, offset, length)?;
                let is_local = target.store().capabilities().local;
                if target.version().is_none() && (is_local || how.expect.is_some()) {
                    target.size().await?;
                }
                let part = PartSnapshot { key: key.clone(), target, range };
                let is_expected = how.accepts(part.version().as_ref());
                Ok(is_expected.then(|| Box::new(part) as _))
            }
            Some(Reference::Inline(bytes)) => Ok(snapshot_of(key, bytes, &how)),
            Some(Reference::Made(made)) => {
                let value = self.make(key, &made, how.limit).await?;
                Ok(snapshot_of(key, value, &how))
            }
        }
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        let mut all = Listing::default();
        let mut folders = vec![prefix.clone()];
        while let Some(folder) = folders.pop() {
            let found = self.source.list_dir(&folder).await?;
            all.keys.extend(found.keys);
            all.left_out.extend(found.left_out);
            folders.extend(found.prefixes);
            if all.keys.len().saturating_add(folders.len()) > MAX_LISTED_KEYS {
                let why = format!("`{prefix}` holds more than {MAX_LISTED_KEYS} keys");
                return Err(StoreError::Backend(why.into()));
            }
        }
        all.keys.sort();
        Ok(all)
    }

    async fn list_dir(&self, prefix: &StorePrefix, _: ListOptions) -> Result<Listing> {
        self.source.list_dir(prefix).await
    }
}

/// A snapshot of a value that is in memory; `None` if it is not the expected version.
fn snapshot_of(
    key: &StoreKey,
    value: Bytes,
    how: &SnapshotOptions<'_>,
) -> Option<Box<dyn Snapshot>> {
    let version = Version::of_content(value.clone());
    let is_expected = how.accepts(Some(&version));
    is_expected.then(|| InMemorySnapshot::new(key, value).with_version(version).into())
}

/// The version of a range of a target: that of the target and the range.
fn part_version(target: &Target, range: &Range<u64>) -> Option<Version> {
    target.version()?.of_part(range)
}

/// A range of a target as a value.
struct PartSnapshot {
    key: StoreKey,
    target: Target,
    range: Range<u64>,
}

#[async_trait]
impl Snapshot for PartSnapshot {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let ranges = ranges
            .iter()
            .map(|range| {
                let inside = range.resolve(&self.key, self.size())?;
                // Neither sum passes the end of `self.range`.
                Ok(self.range.start + inside.start..self.range.start + inside.end)
            })
            .collect::<Result<Vec<_>>>()?;
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        self.target.read(&ranges).await
    }

    fn size(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn version(&self) -> Option<Version> {
        part_version(&self.target, &self.range)
    }
}

/// The same store where all targets are local: the futures of local stores are ready when they are polled by a thread that
/// may block.
#[derive(Debug)]
struct Local(ReferenceStore);

impl SyncStore for Local {
    fn name(&self) -> String {
        self.0.name()
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.0.public_options()
    }

    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    fn places(&self) -> Result<Vec<String>> {
        block_on(self.0.places())
    }

    fn refused_targets(&self) -> Result<Vec<StoreError>> {
        block_on(self.0.refused_targets())
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        block_on(self.0.get(key, how))
    }

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>> {
        let value = block_on(self.0.open(key, how))?;
        Ok(value.map(|value| Box::new(LocalSnapshot(value)) as _))
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        block_on(self.0.list_prefix(prefix))
    }

    fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing> {
        block_on(self.0.list_dir(prefix, how))
    }
}

/// A value of a store whose targets are all local.
struct LocalSnapshot(Box<dyn Snapshot>);

impl SyncSnapshot for LocalSnapshot {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        block_on(self.0.read(ranges))
    }

    fn size(&self) -> u64 {
        self.0.size()
    }

    fn version(&self) -> Option<Version> {
        self.0.version()
    }
}

//! Reads an archive that is a value of another store, without fetching all of it.
//!
//! Reading an archive is written once, for what has a size and gives bytes at a place. Here that is some pieces of the
//! archive: a read beyond them is stopped, the next piece is fetched, and the reading begins anew.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use bytes::{Buf, Bytes};
use zarr_core::runtime::block_on;
use zarr_core::store::{
    ByteRange, Capabilities, GetOptions, Got, InMemorySnapshot, ListOptions, Listing, Result,
    Snapshot, SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, Version, check_size,
};
use zarr_core::{Access, Registry, StoreError, split_query, sync};

use super::archive::{Directory, Value, damaged};
use super::positioned::Source;

/// Bytes at the end that are fetched first: the end's record, its comment, and in a small archive the directory.
const TAIL: u64 = 1 << 16;
/// Bytes that are fetched where it is unknown how many are needed.
const PIECE: u64 = 1 << 16;
/// A directory larger than this is refused.
const LARGEST_DIRECTORY: u64 = 1 << 30;
/// How often a reading may be stopped because a piece is missing.
const MOST_PIECES: usize = 64;

/// A zip archive that is a value of another store, for reading.
///
/// Opening it fetches the archive's directory; a value then takes one request, and parts of values that are stored as
/// they are take no more than their bytes. All is of one version of the archive: when another takes its place,
/// reading fails, and says so. Keys are found as in a [`ZipStore`](crate::ZipStore). It cannot be written to.
///
/// ```
/// use std::sync::Arc;
/// use zarr_core::runtime::block_on;
/// use zarr_core::store::StoreKey;
/// use zarr_stores::RemoteZipStore;
/// # fn of(store: Arc<dyn zarr_core::store::Store>) -> Result<(), zarr_core::StoreError> {
/// let key = StoreKey::new("data/example.zip")?;
/// let archive = block_on(RemoteZipStore::open(store, &key, ""))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RemoteZipStore(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    key: StoreKey,
    value: Box<dyn Snapshot>,
    size: u64,
    directory: Directory,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("store", &self.store).field("key", &self.key).finish()
    }
}

/// The parts of an archive that were fetched.
struct FetchedPieces {
    size: u64,
    /// Where each begins, and what it holds.
    pieces: Vec<(u64, Bytes)>,
    /// The range that a reader needs and that is in none of them.
    missing: Mutex<Option<Range<u64>>>,
}

impl Source for FetchedPieces {
    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        if at >= self.size || buf.is_empty() {
            return Ok(0);
        }
        for (start, piece) in &self.pieces {
            let skipped = at.checked_sub(*start).and_then(|n| usize::try_from(n).ok());
            if let Some(rest) = skipped.and_then(|n| piece.get(n..)).filter(|rest| !rest.is_empty())
            {
                let len = rest.len().min(buf.len());
                buf[..len].copy_from_slice(&rest[..len]);
                return Ok(len);
            }
        }
        let end = at.saturating_add((buf.len() as u64).max(PIECE)).min(self.size);
        *sync::lock(&self.missing) = Some(at..end);
        Err(ErrorKind::WouldBlock.into())
    }
}

impl FetchedPieces {
    fn of(size: u64, pieces: Vec<(u64, Bytes)>) -> Arc<FetchedPieces> {
        Arc::new(FetchedPieces { size, pieces, missing: Mutex::new(None) })
    }
}

/// One range of a value.
async fn fetch(value: &dyn Snapshot, range: &Range<u64>) -> Result<(u64, Bytes)> {
    let fetched = value.read(&[ByteRange::from(range.clone())]).await?.pop();
    Ok((range.start, fetched.unwrap_or_default()))
}

/// What `read` finds, which is called again with one more piece as long as it is stopped because one is missing.
async fn reading<T>(
    value: &dyn Snapshot,
    size: u64,
    mut pieces: Vec<(u64, Bytes)>,
    read: impl Fn(&Arc<FetchedPieces>) -> io::Result<T>,
) -> Result<io::Result<T>> {
    for _ in 0..MOST_PIECES {
        let source = FetchedPieces::of(size, pieces);
        let found = read(&source);
        let missing = sync::lock(&source.missing).take();
        let (Err(_), Some(missing)) = (&found, missing) else { return Ok(found) };
        pieces = source.pieces.clone();
        pieces.push(fetch(value, &missing).await?);
    }
    Ok(Err(damaged("zip: it is scattered all over the archive")))
}

/// Where the directory begins, as the end's record in the archive's `tail` says, which begins at `start`. A guess:
/// the reader of the directory will see.
fn directory_start(tail: &[u8], start: u64) -> Option<u64> {
    let end = last_signature(tail, b"PK\x05\x06")?;
    let size = u64::from(tail.get(end + 12..)?.try_get_u32_le().ok()?);
    if size != u64::from(u32::MAX) {
        return (start + end as u64).checked_sub(size);
    }
    let wide = last_signature(tail.get(..end)?, b"PK\x06\x06")?;
    let size = tail.get(wide + 40..)?.try_get_u64_le().ok()?;
    (start + wide as u64).checked_sub(size)
}

/// Where a record begins with this signature, the last one.
fn last_signature(bytes: &[u8], signature: &[u8]) -> Option<usize> {
    bytes.windows(4).rposition(|window| window == signature)
}

impl RemoteZipStore {
    /// The archive that is the value of `key`, of keys below `folder`, which is empty or ends in `/`.
    ///
    /// # Errors
    /// [`StoreError::Io`] if there is no such value, or it is no archive; the store's own.
    pub async fn open(
        store: Arc<dyn Store>,
        key: &StoreKey,
        folder: &str,
    ) -> Result<RemoteZipStore> {
        let suffix = [ByteRange::Suffix(TAIL)];
        let Some(value) = store.open(key, SnapshotOptions::first(&suffix)).await? else {
            let absent = io::Error::new(ErrorKind::NotFound, "there is no such archive");
            return Err(StoreError::io("open", key)(absent));
        };
        let tail = value.read(&suffix).await?.pop().unwrap_or_default();
        let size = value.size();
        let start = size.saturating_sub(tail.len() as u64);
        let mut pieces = vec![(start, tail.clone())];
        if let Some(directory) = directory_start(&tail, start).filter(|at| *at < start) {
            if start - directory > LARGEST_DIRECTORY {
                let why = damaged("zip: its directory is larger than 1 GiB");
                return Err(StoreError::io("open", key)(why));
            }
            pieces.push(fetch(&*value, &(directory..start)).await?);
        }
        let directory = reading(&*value, size, pieces, |source: &Arc<FetchedPieces>| {
            Directory::read(source, folder)
        });
        let directory = directory.await?.map_err(StoreError::io("open", key))?;
        Ok(RemoteZipStore(Arc::new(Inner { store, key: key.clone(), value, size, directory })))
    }

    /// The error of a reader, who did not name the archive and does not open it again.
    fn broken(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Changed { .. } => {
                let why = damaged("the archive was replaced while it was read; open it again");
                StoreError::io("read", &self.0.key)(why)
            }
            other => other,
        }
    }

    fn find(&self, key: &StoreKey) -> Option<Value<FetchedPieces>> {
        self.0.directory.find(&FetchedPieces::of(self.0.size, Vec::new()), key)
    }

    /// What `read` finds of a value, some of whose bytes are there.
    async fn reading<T>(
        &self,
        key: &StoreKey,
        piece: (u64, Bytes),
        read: impl Fn(Value<FetchedPieces>) -> io::Result<T>,
    ) -> Result<T> {
        let archive = &*self.0;
        let pieces = vec![piece];
        let found =
            reading(&*archive.value, archive.size, pieces, |source: &Arc<FetchedPieces>| {
                let value = archive.directory.find(source, key);
                read(value.ok_or_else(|| io::Error::from(ErrorKind::NotFound))?)
            });
        found.await.map_err(|e| self.broken(e))?.map_err(StoreError::io("get", key))
    }
}

#[async_trait]
impl Store for RemoteZipStore {
    /// `zip::s3://bucket/example.zip/group`.
    fn name(&self) -> String {
        let folder = self.0.directory.folder.trim_end_matches('/');
        let (store, key) = (self.0.store.name(), &self.0.key);
        let slash = if store.ends_with('/') { "" } else { "/" };
        format!("zip::{store}{slash}{key}/{folder}").trim_end_matches('/').to_owned()
    }

    fn warnings(&self) -> Vec<String> {
        self.0.directory.warnings(&self.name())
    }

    async fn places(&self) -> Result<Vec<String>> {
        let (store, key) = (self.0.store.name(), &self.0.key);
        Ok(vec![format!("{}/{key}", store.trim_end_matches('/'))])
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.0.store.public_options()
    }

    fn capabilities(&self) -> Capabilities {
        let Capabilities { local, in_flight, .. } = self.0.store.capabilities();
        Capabilities { local, in_flight, ..Capabilities::READ_ONLY }
    }

    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        let Some(value) = self.find(key) else { return Ok(None) };
        check_size(key, value.size().map_err(StoreError::io("get", key))?, how.limit)?;
        let span = value.span().map_err(StoreError::io("get", key))?;
        let version = how.version.then(|| value.version());
        let piece = fetch(&*self.0.value, &span).await.map_err(|e| self.broken(e))?;
        let value = self.reading(key, piece, |value| value.read()).await?;
        how.answer(key, value, version)
    }

    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>> {
        let Some(value) = self.find(key) else { return Ok(None) };
        let (version, is_plain) = (value.version(), value.is_plain());
        if !how.accepts(Some(&version)) {
            return Ok(None);
        }
        let is_plain = is_plain.map_err(StoreError::io("get", key))?;
        let size = value.size().map_err(StoreError::io("get", key))?;
        // What is stored as it is is read in parts.
        check_size(key, size, if is_plain { u64::MAX } else { how.limit })?;
        let (header, likely) = value.header().map_err(StoreError::io("get", key))?;
        let archive = self.clone();
        let (key, start, whole) = (key.clone(), OnceLock::new(), OnceLock::new());
        Ok(Some(Box::new(RemoteZipSnapshot {
            archive,
            key,
            size,
            version,
            is_plain,
            whole,
            header,
            likely,
            start,
        })))
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        Ok(self.0.directory.listing(prefix, usize::MAX))
    }

    async fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing> {
        Ok(self.0.directory.folder_listing(prefix, how.limit))
    }
}

/// A value, read in parts if the archive stores it as it is.
#[derive(Clone)]
struct RemoteZipSnapshot {
    archive: RemoteZipStore,
    key: StoreKey,
    size: u64,
    version: Version,
    is_plain: bool,
    /// What was inflated.
    whole: OnceLock<InMemorySnapshot>,
    /// Where its header lies, and where it begins, as the directory lets expect.
    header: Range<u64>,
    likely: u64,
    /// Where it begins, once its header was read.
    start: OnceLock<u64>,
}

#[async_trait]
impl Snapshot for RemoteZipSnapshot {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        if !self.is_plain && !ranges.is_empty() {
            if self.whole.get().is_none() {
                let whole = self.archive.get(&self.key, GetOptions::default()).await?;
                let whole = whole.and_then(|got| got.bytes).unwrap_or_default();
                let _ = self.whole.set(InMemorySnapshot::new(&self.key, whole));
            }
            let whole = self.whole.get().expect("it was set");
            return SyncSnapshot::read(whole, ranges);
        }
        let ranges = ranges
            .iter()
            .map(|range| range.resolve(&self.key, self.size))
            .collect::<Result<Vec<_>, _>>()?;
        let archive = &self.archive.0;
        let from = |start: u64| {
            ranges.iter().map(move |range| ByteRange::from(start + range.start..start + range.end))
        };
        let read = async |asked: Vec<ByteRange>| {
            archive.value.read(&asked).await.map_err(|e| self.archive.broken(e))
        };
        if let Some(start) = self.start.get() {
            return read(from(*start).collect()).await;
        }
        // Most headers are as long as the directory lets expect.
        let (header, likely) = (self.header.clone(), self.likely);
        let mut parts =
            read(from(likely).chain([ByteRange::from(header.clone())]).collect()).await?;
        let piece = (header.start, parts.pop().unwrap_or_default());
        let place = self
            .archive
            .reading(&self.key, piece, |value: Value<FetchedPieces>| value.plain())
            .await?;
        let start = *self.start.get_or_init(|| place.unwrap_or_default().start);
        if start == likely { Ok(parts) } else { read(from(start).collect()).await }
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn version(&self) -> Option<Version> {
        Some(self.version.clone())
    }
}

/// Opens `zip::URL`, an archive in another store, or `zip://FOLDER::URL`. What follows the archive's name in the URL is a
/// folder in it, too. An archive on a disk is opened as any other there.
pub(crate) fn open_chain(
    link: &str,
    url: &str,
    access: Access,
    registry: &Registry,
) -> Result<Arc<dyn Store>> {
    let invalid = |why: &str| StoreError::invalid_url(&format!("{link}::{url}"), why);
    let folder = link.split_once("://").map_or("", |(_, folder)| folder).trim_matches('/');
    let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let is_local = match url.split_once("://") {
        Some((scheme, _)) => scheme.eq_ignore_ascii_case("file"),
        None => true,
    };
    if is_local {
        return super::open_folder(url, &folder, access);
    }
    let (place, query) = split_query(url);
    let (above, name, inside) =
        archive_in(place).ok_or_else(|| invalid("it names no archive in a store"))?;
    if access == Access::ReadWrite {
        return Err(invalid(
            "an archive in another store can only be read; copy it to a disk, write there, and put it back",
        ));
    }
    let store = registry.open_store(&format!("{above}{query}"), Access::ReadOnly)?;
    // Web addresses write keys with `%20` and the like; buckets' do not.
    let decoded = if url.starts_with("http") {
        crate::percent::decoded_text(name)
            .ok_or_else(|| invalid("`%` must be followed by two hexadecimal digits"))?
    } else {
        name.to_owned()
    };
    let key = StoreKey::new(decoded)?;
    Ok(Arc::new(block_on(RemoteZipStore::open(store, &key, &format!("{inside}{folder}")))?))
}

/// What contains an archive, its name, and the folder in it: empty, or with a `/` at its end. The archive is what is named
/// like one first, or else the last name of all.
fn archive_in(url: &str) -> Option<(&str, &str, String)> {
    let path = url.find("://")? + 3;
    let path = path + url[path..].find('/')? + 1;
    let url = Some(url.trim_end_matches('/')).filter(|url| url.len() > path)?;
    let mut ends = url.match_indices('/').map(|(at, _)| at).chain([url.len()]);
    let end = ends
        .find(|end| {
            let name = url.get(path..*end).map(str::to_ascii_lowercase);
            name.is_some_and(|name| [".zip", ".ozx"].iter().any(|end| name.ends_with(end)))
        })
        .unwrap_or(url.len());
    let (above, name) = url[..end].rsplit_once('/').filter(|(_, name)| !name.is_empty())?;
    let inside = url[end..].trim_start_matches('/');
    let slash = if inside.is_empty() { "" } else { "/" };
    Some((above, name, format!("{inside}{slash}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_what_is_named_like_one_first() {
        let split =
            |url| archive_in(url).map(|(above, name, inside)| [above, name, &inside].join(" "));
        for (url, expected) in [
            ("s3://b/x.zip", "s3://b x.zip "),
            ("s3://b/a/x.zip", "s3://b/a x.zip "),
            ("s3://b/a/x.ZIP/g/y.zip/", "s3://b/a x.ZIP g/y.zip/"),
            ("s3://b/a/x.ozx/g", "s3://b/a x.ozx g/"),
            ("s3://b.zip/a/x", "s3://b.zip/a x "),
            ("memory://m/x.zip", "memory://m x.zip "),
        ] {
            assert_eq!(split(url).as_deref(), Some(expected), "{url}");
        }
        assert_eq!(split("s3://b"), None);
        assert_eq!(split("s3://b/"), None);
    }
}

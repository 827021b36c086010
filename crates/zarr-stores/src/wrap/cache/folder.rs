//! Keeps values in a folder, for this process and later ones, up to a number of bytes.
//!
//! An entry is a file with its id, its length and its checksum; a damaged one counts as absent. Files are renamed into place.
//! Locks on files keep a process from caching what another process has just replaced.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{Buf, BufMut, Bytes};
use crc_fast::{CrcAlgorithm, Digest, checksum};
use zarr_core::store::{Payload, Result, Store, StoreKey, StorePrefix, Version};
use zarr_core::{StoreError, split_query};

use super::{CacheBackend, CacheEntry, CacheStore, EntryState};
use crate::filesystem::Staged;
use crate::system::{no_follow, not_a_link};

/// Begins every entry; another form would have another one.
const MAGIC: &[u8; 8] = b"zarrkpt1";
/// The magic, the size of the id, the size of the value, the checksum of both.
const HEAD: usize = 32;
const LOCKS: u64 = 64;
/// When the folder is full, it is emptied to this number of eighths.
const LEFT: u64 = 7;
/// How many stores with a query this process has put into such folders.
static WITH_QUERY: AtomicU64 = AtomicU64::new(0);

/// A folder for values of remote stores, up to a number of bytes in all, which outlast the process.
///
/// Several processes may use one folder at a time. What is written through a store of it is kept, too. When it is full,
/// what was not asked for in a long time makes room; each process counts what it kept itself, so that the limit is exceeded
/// by at most an eighth for every further one. A value of more than an eighth of the limit is not kept. A damaged
/// file is noticed, removed, and its value fetched anew.
///
/// Entries belong to a store's name, usually its URL: a name must mean the same store to all who share a folder. A web address with a query has
/// entries of its own each time that it is opened, since its name leaves out the query. Parts of
/// values are kept where the store tells versions that hold beyond the process, such as ETags; of others, only whole
/// values.
///
/// A process that dies in the middle of a write may leave the value of before in the folder, if another reads it in that
/// moment.
///
/// ```
/// use std::sync::Arc;
/// use zarr_stores::CacheFolder;
/// # fn of(store: Arc<dyn zarr_core::store::Store>) -> Result<(), zarr_core::StoreError> {
/// # let folder = tempfile::tempdir().expect("a folder for the example");
/// # let folder = folder.path();
/// let cache = CacheFolder::open(folder, 10 << 30)?;
/// let store = cache.store(store);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CacheFolder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    limit: u64,
    /// How many bytes there are, as far as this process knows.
    used: AtomicU64,
}

impl CacheFolder {
    /// A folder for `limit` bytes, made if it is not there.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the folder cannot be made or read.
    pub fn open(folder: impl Into<PathBuf>, limit: u64) -> Result<Self> {
        let root = folder.into();
        let root = std::path::absolute(&root).unwrap_or(root);
        fs::create_dir_all(root.join("locks")).map_err(StoreError::io("open", root.display()))?;
        let entries = entries(&root).map_err(StoreError::io("open", root.display()))?;
        let used = entries.iter().map(|entry| entry.size).sum();
        Ok(CacheFolder(Arc::new(Inner { root, limit, used: AtomicU64::new(used) })))
    }

    /// `store`, of whose values some are kept here.
    pub fn store(&self, store: Arc<dyn Store>) -> CacheStore {
        let mut name = store.name();
        if !split_query(&name).1.is_empty() {
            // It leaves out the query of a web address, which may say which data it is: such a store shares with no other.
            let number = WITH_QUERY.fetch_add(1, Ordering::Relaxed);
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            name.push_str(&format!(" {} {} {number}", now.as_nanos(), std::process::id()));
        }
        let home = self.0.root.join(hashed(name.as_bytes()));
        CacheStore::new(store, Arc::new(FolderBackend { folder: self.0.clone(), name, home }))
    }
}

/// A file that is an entry.
struct Found {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

/// Every entry in a folder: two levels down, in the folders of stores.
fn entries(root: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for home in folders(root)? {
        for group in folders(&home)? {
            for file in present(fs::read_dir(group))?.into_iter().flatten() {
                let file = file?;
                // Another process may have removed it.
                let Ok(metadata) = file.metadata() else { continue };
                let used = metadata.modified().unwrap_or(UNIX_EPOCH);
                found.push(Found { path: file.path(), size: metadata.len(), used });
            }
        }
    }
    Ok(found)
}

fn folders(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in present(fs::read_dir(root))?.into_iter().flatten() {
        let entry = entry?;
        if entry.file_type()?.is_dir() && entry.file_name() != "locks" {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// What was found; `None` if nothing is there.
fn present<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// A file name for these bytes, almost certainly unique; an entry repeats what it is of.
fn hashed(id: &[u8]) -> String {
    format!(
        "{:016x}{:016x}",
        checksum_with_length(CrcAlgorithm::Crc64Nvme, id),
        checksum_with_length(CrcAlgorithm::Crc64Xz, id)
    )
}

/// A checksum of a length and the bytes.
fn checksum_with_length(algorithm: CrcAlgorithm, id: &[u8]) -> u64 {
    let mut digest = Digest::new(algorithm);
    digest.update(&(id.len() as u64).to_le_bytes());
    digest.update(id);
    digest.finalize()
}

impl Inner {
    /// Removes the least recently used entries, if there are too many bytes. One process at a time does so.
    fn evict(&self) -> io::Result<()> {
        if self.used.load(Ordering::Relaxed) <= self.limit {
            return Ok(());
        }
        let lock = open_lock(&self.root.join("locks/room"))?;
        if lock.try_lock().is_err() {
            return Ok(());
        }
        let mut entries = entries(&self.root)?;
        entries.sort_by_key(|entry| entry.used);
        let mut used: u64 = entries.iter().map(|entry| entry.size).sum();
        for entry in entries {
            if used <= self.limit / 8 * LEFT {
                break;
            }
            present(fs::remove_file(&entry.path))?;
            used -= entry.size;
        }
        self.used.store(used, Ordering::Relaxed);
        Ok(())
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    // A generation is written into it: never into what a link leads to.
    no_follow(&mut options);
    options.open(path).map_err(|e| not_a_link(path, e))
}

/// The entries of one store.
#[derive(Debug)]
struct FolderBackend {
    folder: Arc<Inner>,
    name: String,
    home: PathBuf,
}

fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.put_u64_le(text.len() as u64);
    bytes.put_slice(text);
}

fn take_text(bytes: &mut Bytes) -> Option<Bytes> {
    let len = usize::try_from(bytes.try_get_u64_le().ok()?).ok()?;
    (len <= bytes.len()).then(|| bytes.split_to(len))
}

impl FolderBackend {
    /// Identifies an entry: it is of a key, or of a part of the value of a version.
    fn id(&self, key: &StoreKey, part: Option<(&Version, u64, u64)>) -> Vec<u8> {
        let mut id = Vec::new();
        put_text(&mut id, self.name.as_bytes());
        put_text(&mut id, key.as_str().as_bytes());
        if let Some((version, start, len)) = part {
            put_text(&mut id, version.token().map_or(&[], |token| &token[..]));
            id.put_u64_le(start);
            id.put_u64_le(len);
        }
        id
    }

    fn path(&self, id: &[u8]) -> PathBuf {
        let name = hashed(id);
        self.home.join(&name[..2]).join(&name[2..])
    }

    /// The file whose lock guards a key, and in which its generation stands.
    fn lock(&self, key: &StoreKey) -> io::Result<File> {
        let number = checksum(CrcAlgorithm::Crc64Nvme, key.as_str().as_bytes()) % LOCKS;
        open_lock(&self.folder.root.join(format!("locks/{number:02x}")))
    }

    /// The value of an entry; `None` if there is none, or a damaged one, which is removed.
    fn read(&self, id: &[u8]) -> Option<Bytes> {
        let path = self.path(id);
        let mut file = File::open(&path).ok()?;
        let value = checked(&mut file, id);
        match value {
            Some(_) => {
                // What was used lately stays; where that is unknown, what was kept lately.
                let _ = file.set_modified(SystemTime::now());
            }
            None => {
                let _ = fs::remove_file(&path);
            }
        }
        value
    }

    /// Writes an entry to a temporary file. `None` if it is too large, or cannot be written.
    fn stage(&self, id: &[u8], value: &[&[u8]]) -> Option<(Staged, PathBuf, u64)> {
        let size: usize = value.iter().map(|part| part.len()).sum();
        let all = (HEAD + id.len() + size) as u64;
        if all > self.folder.limit / 8 {
            return None;
        }
        let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
        digest.update(id);
        value.iter().for_each(|part| digest.update(part));
        let mut head = Vec::with_capacity(HEAD);
        head.put_slice(MAGIC);
        head.put_u64_le(id.len() as u64);
        head.put_u64_le(size as u64);
        head.put_u64_le(digest.finalize());
        let entry = value.iter().fold(Payload::new(head).and(id), |entry, part| entry.and(*part));
        let path = self.path(id);
        let folder = path.parent()?;
        fs::create_dir_all(folder).ok()?;
        let staged = Staged::write(folder, &entry, false).ok()?;
        Some((staged, path, all))
    }

    fn publish(&self, (staged, path, size): (Staged, PathBuf, u64)) -> Option<()> {
        let was = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        staged.move_to(&path).ok()?;
        self.folder.used.fetch_add(size.saturating_sub(was), Ordering::Relaxed);
        self.folder.evict().ok()
    }

    /// As [`publish`](Self::publish), if the generation of the key is still this one; with `written`, the next begins.
    fn publish_in(
        &self,
        key: &StoreKey,
        generation: u64,
        written: bool,
        staged: (Staged, PathBuf, u64),
    ) -> Option<()> {
        let lock = self.lock(key).ok()?;
        lock.lock().ok()?;
        if read_generation(&lock).ok()? != generation {
            return None;
        }
        if written {
            next_generation(&lock).ok()?;
        }
        self.publish(staged)
    }
}

/// The value of an entry, if the entry is whole and has this id.
fn checked(file: &mut File, id: &[u8]) -> Option<Bytes> {
    let mut entry = Vec::new();
    file.read_to_end(&mut entry).ok()?;
    let mut entry = Bytes::from(entry);
    if entry.len() < HEAD || entry.split_to(MAGIC.len()) != MAGIC[..] {
        return None;
    }
    let (id_len, value_len, sum) = (entry.get_u64_le(), entry.get_u64_le(), entry.get_u64_le());
    let expected = id_len.checked_add(value_len)?;
    if expected != entry.len() as u64 || checksum(CrcAlgorithm::Crc64Nvme, &entry) != sum {
        return None;
    }
    let is_of = entry.split_to(usize::try_from(id_len).ok()?);
    (is_of == id).then_some(entry)
}

/// Increments the generation in the file of a lock that the caller holds, and returns it.
fn next_generation(mut file: &File) -> io::Result<u64> {
    let generation = read_generation(file)?.wrapping_add(1);
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&generation.to_le_bytes())?;
    Ok(generation)
}

/// The generation in a lock's file.
fn read_generation(mut file: &File) -> io::Result<u64> {
    let mut generation = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(8).read_to_end(&mut generation)?;
    Ok((&generation[..]).try_get_u64_le().unwrap_or(0))
}

const ABSENT: u8 = 0;
const WHOLE: u8 = 1;
const SIZE: u8 = 2;

/// The part of an entry before the value.
fn known(entry: &CacheEntry) -> Vec<u8> {
    let mut known = Vec::new();
    let since = entry.since.duration_since(UNIX_EPOCH).unwrap_or_default();
    known.put_u64_le(since.as_secs());
    put_text(&mut known, entry.version.token().map_or(&[], |token| &token[..]));
    match &entry.state {
        EntryState::Absent => known.put_u8(ABSENT),
        EntryState::Whole(_) => known.put_u8(WHOLE),
        EntryState::Size(size) => {
            known.put_u8(SIZE);
            known.put_u64_le(*size);
        }
    }
    known
}

fn parse(mut entry: Bytes) -> Option<CacheEntry> {
    let since = UNIX_EPOCH.checked_add(Duration::from_secs(entry.try_get_u64_le().ok()?))?;
    let version = Version::new(take_text(&mut entry)?);
    let state = match entry.try_get_u8().ok()? {
        ABSENT => EntryState::Absent,
        WHOLE => EntryState::Whole(entry),
        SIZE => EntryState::Size(entry.try_get_u64_le().ok()?),
        _ => return None,
    };
    Some(CacheEntry { since, version, state })
}

impl CacheBackend for FolderBackend {
    fn generation(&self, key: &StoreKey) -> io::Result<u64> {
        let lock = self.lock(key)?;
        lock.lock_shared()?;
        read_generation(&lock)
    }

    fn get(&self, key: &StoreKey) -> Option<CacheEntry> {
        parse(self.read(&self.id(key, None))?)
    }

    fn put(&self, key: &StoreKey, generation: u64, entry: CacheEntry, written: bool) -> bool {
        let value: &[u8] = if let EntryState::Whole(value) = &entry.state { value } else { &[] };
        let id = self.id(key, None);
        let staged = self.stage(&id, &[&known(&entry), value]);
        staged.and_then(|staged| self.publish_in(key, generation, written, staged)).is_some()
    }

    fn part(&self, key: &StoreKey, version: &Version, start: u64, len: u64) -> Option<Bytes> {
        let id = self.id(key, Some((version, start, len)));
        self.read(&id).filter(|part| part.len() as u64 == len)
    }

    fn put_part(&self, key: &StoreKey, version: &Version, start: u64, part: Bytes) {
        let len = part.len() as u64;
        let id = self.id(key, Some((version, start, len)));
        // What cannot be kept is fetched again.
        let _ = self.stage(&id, &[&part]).and_then(|staged| self.publish(staged));
    }

    fn forget(&self, key: &StoreKey) -> io::Result<u64> {
        let lock = self.lock(key)?;
        lock.lock()?;
        let generation = next_generation(&lock)?;
        present(fs::remove_file(self.path(&self.id(key, None))))?;
        Ok(generation)
    }

    /// Forgets the store's every key: only the entries themselves say of which key they are.
    fn forget_below(&self, _: &StorePrefix) -> io::Result<()> {
        for number in 0..LOCKS {
            let lock = open_lock(&self.folder.root.join(format!("locks/{number:02x}")))?;
            lock.lock()?;
            next_generation(&lock)?;
        }
        for group in folders(&self.home)? {
            for file in present(fs::read_dir(group))?.into_iter().flatten() {
                present(fs::remove_file(file?.path()))?;
            }
        }
        Ok(())
    }

    fn takes_parts_of(&self, version: &Version) -> bool {
        // What is but a mark may come again in another process.
        version.token().is_some()
    }

    fn is_on_disk(&self) -> bool {
        true
    }
}

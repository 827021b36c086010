//! Stores keys and values in one zip archive.

mod archive;
mod output;
mod positioned;
mod remote;
mod single_file;
mod staging;

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, RwLock};

use bytes::Bytes;
use zarr_core::store::{
    Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition, Result,
    SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore, Target, Version,
    check_size, from_sync,
};
use zarr_core::sync::{self, RwLockReadGuard, RwLockWriteGuard};
use zarr_core::{Access, StoreError};

use self::archive::{Archive, Value};
pub use self::remote::RemoteZipStore;
pub(crate) use self::remote::open_chain;
use self::single_file::SingleFile;
use self::staging::Staging;
use crate::local::LocalOptions;
use crate::opened::check_links;
use crate::url;

/// A zip archive; its keys are the names of its entries, and its values what they hold.
///
/// **Reading.** Entries may be stored or deflated, in zip64 too, and with the feature `zip-methods` compressed
/// with bzip2, xz or Zstandard. Of entries with one name the last counts. A hierarchy may be at the archive's top
/// or in its only folder, as netCDF writes it. Parts of a stored value are read without the rest.
/// The archive is read as it was when the store was opened, or last flushed.
///
/// **Writing.** The first write copies the archive to `NAME.zip.zarr-part` beside it, and writes there. [`flush`]
/// puts the copy in the archive's place, at one moment, without what was replaced or erased; so does the end
/// of the last handle, which cannot report that it failed. Concurrent readers, and readers after a crash, find the archive as it was before.
/// New values are stored as they are: chunks are compressed already. An archive whose name ends in `.ozx` is a single-file
/// OME-Zarr (RFC-9) once it has a `zarr.json` at its top: with all documents before all chunks, and a comment that says so.
///
/// **Failures.** When a write or a flush fails, the archive stays as it was at the last flush and the copy goes. Every
/// further call on the handle, reading too, is an error that says so: open the archive anew.
///
/// **Other writers.** A process that was forked off cannot write through its parent's handle. From the first write to the flush other writers get an error that says so.
/// Compare-and-swap holds among the threads of the process, and, since a writer takes the archive as it is when it
/// begins to write, among processes.
///
/// [`flush`]: SyncStore::flush
///
/// ```
/// use zarr_core::store::{Payload, StoreKey, SyncStore};
/// use zarr_stores::ZipStore;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let store = ZipStore::open(folder.join("example.zip"))?;
/// let key = StoreKey::new("zarr.json")?;
/// store.set(&key, Payload::from(b"{}".as_slice()))?;
/// store.flush()?;
/// assert_eq!(store.value(&key)?.as_deref(), Some(b"{}".as_slice()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ZipStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// Which folder of the hierarchy has the keys: empty, or ending in `/`.
    folder: Box<str>,
    access: Access,
    /// The process that opened it, the only one that may write through it.
    process: u32,
    /// Whether the archive was one that is not written to, when it was opened.
    is_read_only: bool,
    state: RwLock<ArchiveState>,
}

/// Why an archive is not written to whose entries have `\` in their names.
const BACKSLASHES: &str = "the archive has entries with `\\` in their names, and is read-only: copy it with `zarr copy`, and write to the copy";

#[derive(Debug, Default)]
struct ArchiveState {
    /// `None` if there is no file yet.
    archive: Option<Archive>,
    /// Where it is written to, since the last flush.
    staging: Option<Staging>,
    /// Why writing failed. Then there is no archive to read and nothing to write to any more.
    failed: Option<(ErrorKind, String)>,
}

impl ArchiveState {
    /// The archive to be read.
    fn archive(&self) -> io::Result<Option<&Archive>> {
        match &self.failed {
            None => Ok(self.archive.as_ref()),
            Some((kind, why)) => Err(io::Error::new(*kind, why.clone())),
        }
    }

    /// Throws away what was written since the last flush; every later call gets the reason.
    fn give_up(&mut self, why: &io::Error) {
        let why = format!(
            "an earlier write to this archive failed ({why}); it stays as it was at the last flush, without what was written \
             since: open it again"
        );
        *self = ArchiveState { failed: Some((ErrorKind::Other, why)), ..ArchiveState::default() };
    }
}

impl ZipStore {
    /// The archive at `path`, which need not be there yet, to be read and written.
    ///
    /// # Errors
    /// [`StoreError::Io`] for a file that is no archive, or cannot be read.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::open_inside(path, "", Access::ReadWrite)
    }

    /// As [`ZipStore::open`], of keys below `folder`, which ends in `/`, and allowed only so much.
    ///
    /// # Errors
    /// As [`ZipStore::open`].
    pub fn open_inside(path: impl Into<PathBuf>, folder: &str, access: Access) -> Result<Self> {
        let path = path.into();
        let path = std::path::absolute(&path).unwrap_or(path);
        // A link stays one, and what it leads to is replaced.
        let path = path.canonicalize().unwrap_or(path);
        let archive = match File::open(&path) {
            Ok(file) => Some(Archive::read(file, folder)),
            Err(e) if e.kind() == ErrorKind::NotFound => check_links(&path, &path).err().map(Err),
            Err(e) => Some(Err(e)),
        };
        let archive = archive.transpose().map_err(StoreError::io("open", path.display()))?;
        let is_read_only = archive.as_ref().is_some_and(|it| it.directory.is_read_only());
        let state = RwLock::new(ArchiveState { archive, ..ArchiveState::default() });
        let (folder, process) = (folder.into(), process::id());
        Ok(ZipStore(Arc::new(Inner { path, folder, access, process, is_read_only, state })))
    }

    /// The archive's file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

/// `zip:///path/to/x.zip`, or a path into an archive; what follows the file's name is a folder in it.
pub(crate) fn open(
    url: &str,
    access: Access,
    options: &[(String, String)],
) -> Result<Arc<dyn Store>> {
    // A flush syncs in any case.
    LocalOptions::parse(url, options)?;
    let Some(("zip", path)) = url.split_once("://") else { return open_folder(url, "", access) };
    let url = format!("file://{path}");
    let path = url::to_path(&url)?;
    // Who asks for an archive means one, whether it is there yet or not.
    match url::new_archive(&path).filter(|_| url::store_on_the_way(&path).is_none()) {
        Some((path, folder)) => Ok(from_sync(ZipStore::open_inside(path, &folder, access)?)),
        None => open_folder(&url, "", access),
    }
}

/// The archive that a `file://` URL or a path names, and a folder in what that names.
fn open_folder(url: &str, folder: &str, access: Access) -> Result<Arc<dyn Store>> {
    let path = url::to_path(url)?;
    let (path, inside) = match url::store_on_the_way(&path) {
        Some((_, path, inside)) => (path, inside),
        None => (path, String::new()),
    };
    Ok(from_sync(ZipStore::open_inside(path, &format!("{inside}{folder}"), access)?))
}

impl Inner {
    // A poisoned lock is taken all the same: a step that was left half done is one that failed.
    fn state(&self) -> RwLockReadGuard<'_, ArchiveState> {
        sync::read(&self.state)
    }

    fn find(&self, key: &StoreKey) -> Result<Option<Value<File>>> {
        let state = self.state();
        let archive = state.archive().map_err(StoreError::io("get", key))?;
        Ok(archive.and_then(|archive| archive.find(key)))
    }

    /// Lets `change` write, without other writers; the first time since the last flush, to a copy of the archive of now.
    ///
    /// A failed write ends the handle. A write that could not begin does not: nothing is lost by it.
    fn write<T>(
        &self,
        operation: &'static str,
        key: &str,
        change: impl FnOnce(&mut Staging, &mut Archive) -> io::Result<T>,
    ) -> Result<T> {
        if self.access == Access::ReadOnly {
            return Err(StoreError::ReadOnly);
        }
        self.write_staged(change).map_err(StoreError::io(operation, key))
    }

    /// As [`write`](Self::write), with the errors of the operating system.
    fn write_staged<T>(
        &self,
        change: impl FnOnce(&mut Staging, &mut Archive) -> io::Result<T>,
    ) -> io::Result<T> {
        self.check_process()?;
        let mut state = self.to_write()?;
        if state.staging.is_none() {
            let (staging, archive) = Staging::begin(&self.path, &self.folder)?;
            if archive.directory.is_read_only() {
                return Err(io::Error::new(ErrorKind::Unsupported, BACKSLASHES));
            }
            *state = ArchiveState { archive: Some(archive), staging: Some(staging), failed: None };
        }
        let ArchiveState { archive: Some(archive), staging: Some(staging), .. } = &mut *state
        else {
            unreachable!("both were put there")
        };
        let done = change(staging, archive);
        if let (Err(why), true) = (&done, staging.is_damaged()) {
            state.give_up(why);
        }
        done
    }

    /// The state, locked. A write that a panic cut short counts as one that failed.
    fn to_write(&self) -> io::Result<RwLockWriteGuard<'_, ArchiveState>> {
        let mut state = sync::write(&self.state);
        if state.staging.as_ref().is_some_and(Staging::is_damaged) {
            state.give_up(&io::Error::other("a panic cut it short"));
        }
        state.archive()?;
        Ok(state)
    }

    /// A process that was forked off shares its parent's open files, and would write into them.
    fn check_process(&self) -> io::Result<()> {
        if self.process == process::id() {
            Ok(())
        } else {
            Err(io::Error::other(
                "another process opened this handle, and this one was forked from it: open the archive again",
            ))
        }
    }

    fn flush(&self) -> Result<()> {
        self.finish().map_err(StoreError::io("finish", self.path.display()))
    }

    /// As [`flush`](Self::flush), with the errors of the operating system.
    fn finish(&self) -> io::Result<()> {
        let mut state = self.to_write()?;
        if state.staging.is_none() {
            return Ok(());
        }
        self.check_process()?;
        let single_file = match &state.archive {
            Some(archive) => SingleFile::of(&self.path, archive)?,
            None => SingleFile::No,
        };
        let Some(staging) = state.staging.take() else { return Ok(()) };
        let finished = staging
            .finish(&single_file)
            .and_then(|()| Archive::read(File::open(&self.path)?, &self.folder));
        match finished {
            Ok(archive) => {
                state.archive = Some(archive);
                Ok(())
            }
            Err(why) => {
                state.give_up(&why);
                Err(why)
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A caller that needs to know whether it failed calls `flush`, as with the files of the standard library.
        let _ = self.flush();
    }
}

impl SyncStore for ZipStore {
    fn name(&self) -> String {
        let inside = &self.0.folder;
        let path = url::from_path(&self.0.path);
        let path = path.strip_prefix("file").unwrap_or(&path);
        format!("zip{path}/{inside}").trim_end_matches('/').to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        let all = Capabilities { create: true, local: true, ..Capabilities::FULL };
        if self.0.is_read_only { all.read_only() } else { all }
    }

    fn warnings(&self) -> Vec<String> {
        let state = self.0.state();
        let warnings = state.archive.as_ref().map(|it| it.directory.warnings(&self.name()));
        warnings.unwrap_or_default()
    }

    /// A version is the content.
    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        let Some(value) = self.0.find(key)? else { return Ok(None) };
        let size = value.size().map_err(StoreError::io("get", key))?;
        check_size(key, size, how.limit)?;
        if let GetOptions { into: Target::Exact(out), version: false, .. } = how {
            if size == out.len() as u64 {
                value.read_into(out).map_err(StoreError::io("get", key))?;
            }
            return Ok(Some(Got { size, bytes: None, version: None }));
        }
        let bytes = Bytes::from(value.read().map_err(StoreError::io("get", key))?);
        let version = how.version.then(|| Version::of_content(bytes.clone()));
        how.answer(key, bytes, version)
    }

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>> {
        if how.for_update {
            return Ok(how.in_memory(key, self.get(key, how.to_get())?));
        }
        let Some(value) = self.0.find(key)? else { return Ok(None) };
        // What is stored as it is is read in parts.
        let limit = if value.is_plain().unwrap_or(false) { u64::MAX } else { how.limit };
        check_size(key, value.size().map_err(StoreError::io("get", key))?, limit)?;
        let value = value.open(key).map_err(StoreError::io("get", key))?;
        Ok(Some(value).filter(|value| how.accepts(value.version().as_ref())))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool> {
        let value = value.map(Payload::made).transpose()?;
        let operation = if value.is_some() || only_if.compares() { "set" } else { "erase" };
        self.0.write(operation, key.as_str(), |staging, archive| {
            if only_if.compares() {
                let is = archive.find(key).map(|value| value.read()).transpose()?;
                if !only_if.holds(is.map(|is| Version::of_content(is.into())).as_ref()) {
                    return Ok(false);
                }
            }
            staging.put(archive, key, value.as_ref())?;
            Ok(true)
        })
    }

    /// No other writer is active, and the archive is the newest one.
    fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>> {
        let value = value.made()?;
        self.0.write("set", key.as_str(), |staging, archive| {
            let mut keys = [key].into_iter().chain(absent);
            if let Some(there) = keys.find(|key| archive.directory.has(key)) {
                return Ok(Some(there.clone()));
            }
            for key in leftovers {
                staging.put(archive, key, None)?;
            }
            staging.put(archive, key, Some(&value))?;
            Ok(None)
        })
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        self.0.write("erase", prefix.as_str(), |staging, archive| {
            let Listing { keys, .. } = archive.directory.listing(prefix, usize::MAX);
            keys.iter().try_for_each(|key| staging.put(archive, key, None))
        })
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        let state = self.0.state();
        let archive = state.archive().map_err(StoreError::io("list", prefix))?;
        Ok(archive.map(|archive| archive.directory.listing(prefix, usize::MAX)).unwrap_or_default())
    }

    fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing> {
        let state = self.0.state();
        let archive = state.archive().map_err(StoreError::io("list", prefix))?;
        let listed = archive.map(|archive| archive.directory.folder_listing(prefix, how.limit));
        Ok(listed.unwrap_or_default())
    }

    fn flush(&self) -> Result<()> {
        self.0.flush()
    }
}

//! Stores each value in a file below a folder.

mod erase;
mod file;
mod list;
mod lock;
mod path;
mod staged;
mod tidy;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zarr_core::store::{
    Capabilities, GetOptions, Got, ListOptions, Listing, NotSet, Payload, Precondition, Result,
    SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore, Version, check_size,
    from_sync,
};
use zarr_core::{Access, StoreError};

use self::file::KeyPath;
use self::lock::{Held, Mode};
#[cfg(feature = "cache")]
pub(crate) use self::staged::Staged;
use self::tidy::Written;
use crate::local::LocalOptions;
use crate::opened::{is_absence, sync_folder};
use crate::url;

/// A folder; its keys are the paths of the files below it, and its values what they hold.
///
/// **Whole values.** A value is written beside its place and renamed into it, so that readers, and
/// readers after a crash, find the old value or the new one. Only [`sync`](Self::sync) makes it
/// outlast a power failure.
///
/// **Other writers.** Setting and erasing hold the lock of the key's folder shared, compare-and-swap holds it
/// only; so compare-and-swap holds among threads and processes, on one machine or, where the file
/// system carries locks, on several. See [`locking`](Self::locking). The files that are locked, `.zarr-lock`, go when the
/// store is flushed and when its last clone is dropped.
///
/// **Keys.** Besides what is no [`StoreKey`], the store refuses keys with a `\`, with a segment like
/// `C:`, with a segment of more than 255 bytes, with a segment that is a reserved name
/// (`.zarr-lock`, `.zarr-tmp-...`), and keys whose path would be longer than the system takes.
///
/// **Links.** A key cannot lead out of the folder, but a symbolic link in it can: the users who may place
/// links there decide where they lead. Reading, listing and setting below a link to a folder follow
/// it; a link that leads back to a folder above it is not listed. Setting and erasing a link's own key
/// replace and remove the link, `erase_prefix` removes the links it meets, and `link` the one that a prefix or
/// the root is: what is behind them stays. A link that leads to nothing is a key whose reading is an error. The folders of
/// tools (`.zarr-copy`, `.zarr-quarantine`, `.zarrkit-run`) and the store's own files are never reached through a link.
///
/// **Permissions.** A file that replaces another has its permissions; a new one has those that the system gives (`umask`).
///
/// **Case.** On a disk that does not tell `foo` from `FOO` two such keys are one value. Ask
/// [`folds_case`](Self::folds_case) before relying on both.
///
/// ```
/// use zarr_core::store::{Payload, StoreKey, SyncStore};
/// use zarr_stores::FilesystemStore;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let store = FilesystemStore::new(folder.join("example.zarr"));
/// let key = StoreKey::new("zarr.json")?;
/// store.set(&key, Payload::from(b"{}".as_slice()))?;
/// assert_eq!(store.value(&key)?.as_deref(), Some(b"{}".as_slice()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FilesystemStore {
    root: PathBuf,
    options: LocalOptions,
    access: Access,
    written: Arc<Written>,
}

impl FilesystemStore {
    /// The store in the folder `root`, to be read and written.
    ///
    /// Nothing is touched yet: the folder is made when the first key is set. A relative path counts
    /// from the working folder of now, whatever that is later.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        FilesystemStore {
            root: std::path::absolute(&root).unwrap_or(root),
            options: LocalOptions::default(),
            access: Access::ReadWrite,
            written: Arc::default(),
        }
    }

    /// The store at a `file://` URL, percent-encoded, or at a path as it is (F-112).
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] for a URL that names no folder of this machine.
    pub fn from_url(location: &str) -> Result<Self> {
        url::to_path(location).map(Self::new)
    }

    /// Whether writers take the system's locks; they do unless told otherwise.
    ///
    /// Without, compare-and-swap stands among the threads of this process only, and among stores that
    /// name the folder by the same path. For file systems that refuse locks, when no other process
    /// writes there.
    pub fn locking(mut self, locking: bool) -> Self {
        self.options.locking = locking;
        self
    }

    /// Whether each change waits until the disk has it; none does unless this is set. Then a change that has returned outlasts a
    /// power failure, with the folders that were made for it, and none leaves a value torn.
    pub fn sync(mut self, sync: bool) -> Self {
        self.options.sync = sync;
        self
    }

    /// What may be done; [`Access::ReadOnly`] answers every write with [`StoreError::ReadOnly`].
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// The folder, as an absolute path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether this disk takes `foo` and `FOO` for one name, so that two such keys are one value.
    ///
    /// Tries it out with a separate file in the folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`], or whatever kept the file from being made.
    pub fn folds_case(&self) -> Result<bool> {
        self.writable()?;
        self.probe_case().map_err(StoreError::io("probe", self.root.display()))
    }

    /// Whether a file is found by the upper case of its name.
    fn probe_case(&self) -> io::Result<bool> {
        fs::create_dir_all(&self.root)?;
        let (path, _) = staged::create(&self.root)?;
        let name = path.file_name().unwrap_or_default().to_ascii_uppercase();
        let folds = self.root.join(name).try_exists();
        fs::remove_file(&path)?;
        folds
    }

    fn folder(&self, operation: &'static str, prefix: &StorePrefix) -> Result<PathBuf> {
        match prefix.as_str().strip_suffix('/') {
            None => Ok(self.root.clone()),
            Some(key) => {
                path::check_tools(&self.root, key).map_err(StoreError::io(operation, prefix))?;
                path::below(&self.root, key)
            }
        }
    }

    /// With `sync`, makes the names in a folder outlast a power failure.
    fn sync_folder(&self, folder: Option<&Path>) -> io::Result<()> {
        folder.filter(|_| self.options.sync).map_or(Ok(()), sync_folder)
    }

    fn writable(&self) -> Result<()> {
        match self.access {
            Access::ReadOnly => Err(StoreError::ReadOnly),
            Access::ReadWrite => Ok(()),
        }
    }

    /// Waits for the lock of `folder`, if the caller needs one; `None` if the folder does not exist.
    fn lock(&self, folder: &Path, mode: Option<Mode>) -> io::Result<Option<Held>> {
        let Some(mode) = mode else { return Ok(Some(Held::Nothing)) };
        if !self.options.locking {
            return Ok(Some(lock::lock_in_process(folder, mode)));
        }
        let held = lock::lock(folder, mode)?;
        // Only now, while it is held: a flush on another thread would forget the folder before it has a lock file.
        self.written.note(folder);
        Ok(held)
    }
}

pub(crate) use self::open_file as open;

/// The store that a `file://` URL or a path names: a folder, or an archive or LMDB file if a file on the way is named like one.
/// The options are `sync`, `true` for [`FilesystemStore::sync`] or `LmdbStore::sync`, and `locking`, `false` for a folder without
/// locks.
///
/// # Errors
/// [`StoreError::InvalidUrl`] for a URL that names nothing of this machine, or a store that was left out of this
/// build; the store's own.
pub fn open_file(
    url: &str,
    access: Access,
    options: &[(String, String)],
) -> Result<Arc<dyn Store>> {
    let path = url::to_path(url)?;
    match url::store_on_the_way(&path).map(|(kind, ..)| kind) {
        None => {
            let options = LocalOptions::parse(url, options)?;
            Ok(from_sync(FilesystemStore { options, ..FilesystemStore::new(path).access(access) }))
        }
        #[cfg(feature = "zip")]
        Some(url::Kind::Zip) => crate::zip::open(url, access, options),
        #[cfg(not(feature = "zip"))]
        Some(url::Kind::Zip) => Err(crate::left_out(url, "zip")),
        #[cfg(feature = "lmdb")]
        Some(url::Kind::Lmdb) => crate::lmdb::open(url, access, options),
        #[cfg(not(feature = "lmdb"))]
        Some(url::Kind::Lmdb) => Err(crate::left_out(url, "lmdb")),
    }
}

impl SyncStore for FilesystemStore {
    fn name(&self) -> String {
        url::from_path(&self.root)
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.options.public()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            create: true,
            local: true,
            cheap_ranges: true,
            streams: true,
            set_all: true,
            ..Capabilities::FULL
        }
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        KeyPath::new(self, "get", key)?.get(how)
    }

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>> {
        if how.for_update && !cfg!(unix) {
            // Without a mark of the file the version is its content.
            return Ok(how.in_memory(key, self.get(key, how.to_get())?));
        }
        let file = KeyPath::new(self, "get", key)?.open(how.for_update)?;
        let Some(file) = file else { return Ok(None) };
        check_size(key, file.size(), how.limit)?;
        Ok(how.accepts(file.version().as_ref()).then(|| Box::new(file) as _))
    }

    fn is_unchanged(&self, key: &StoreKey, version: &Version) -> Result<bool> {
        KeyPath::new(self, "get", key)?.is_unchanged(version)
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool> {
        self.writable()?;
        let operation = if value.is_some() || only_if.compares() { "set" } else { "erase" };
        let place = KeyPath::new(self, operation, key)?;
        let mode = match only_if {
            Precondition::Always => Some(Mode::Shared),
            Precondition::Unchecked => None,
            Precondition::Absent => return place.set_if(value.as_ref(), None),
            Precondition::Version(was) => return place.set_if(value.as_ref(), Some(was)),
        };
        match value {
            Some(value) => place.set(&value, mode)?,
            None => place.erase(mode)?,
        }
        Ok(true)
    }

    /// Neighbours in a folder are written beside their places first, and then moved there under one lock.
    fn set_all(&self, values: &[(StoreKey, &[u8])], guarded: bool) -> Result<(), NotSet> {
        self.writable().map_err(|error| NotSet { at: 0, error })?;
        let mut places = Vec::with_capacity(values.len());
        for (at, (key, value)) in values.iter().enumerate() {
            let place = KeyPath::new(self, "set", key).map_err(|error| NotSet { at, error })?;
            places.push((place, Payload::new(*value)));
        }
        let mode = guarded.then_some(Mode::Shared);
        let mut first = 0;
        for folder in places.chunk_by(|(a, _), (b, _)| a.is_beside(b)) {
            let set = KeyPath::set_all(folder, mode);
            set.map_err(|e| NotSet { at: first + e.at, ..e })?;
            first += folder.len();
        }
        Ok(())
    }

    /// The folder of `key` is locked while the others, which are there, too, are looked for.
    fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>> {
        self.writable()?;
        let place = |key| KeyPath::new(self, "create", key);
        let absent = absent.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let leftovers = leftovers.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        place(key)?.create(&value, &absent, &leftovers)
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        self.writable()?;
        erase::erase_prefix(self, prefix)
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        self.list_below(prefix)
    }

    /// Reads one folder; and of the folders in it, until the first value, unless candidates are enough.
    fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing> {
        self.list_folder(prefix, how.limit, |folder: &Path| {
            Ok(how.candidates || self.holds_any(folder)?)
        })
    }

    fn link(&self, prefix: &StorePrefix, erase: bool) -> Result<bool> {
        if !erase {
            return Ok(erase::link(self, prefix)?.is_some());
        }
        self.writable()?;
        erase::erase_link(self, prefix)
    }

    /// Removes the lock files of the folders that were written to, and unfinished files of dead writers.
    fn flush(&self) -> Result<()> {
        self.written.tidy();
        Ok(())
    }
}

/// The error of a lock that could not be had: refused, or not even to be asked for.
fn not_locked(key: impl ToString, source: io::Error) -> StoreError {
    match source.kind() {
        ErrorKind::PermissionDenied
        // A link is in the place of the lock file.
        | ErrorKind::InvalidInput
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::StorageFull
        | ErrorKind::QuotaExceeded => StoreError::io("lock", key)(source),
        _ => StoreError::LockRefused { key: key.to_string(), source },
    }
}

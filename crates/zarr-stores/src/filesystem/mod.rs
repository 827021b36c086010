//! A store in a folder: which operation of the system is behind each of a store's?

mod erase;
mod list;
mod lock;
mod path;
mod staged;
mod url;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use zarr_core::store::{
    ByteRange, ConditionalStore, ListableStore, Payload, ReadableStore, Store, StoreKey,
    StorePrefix, Version, WriteableStore,
};
use zarr_core::{Access, StoreError};

use self::lock::{Held, Mode};
use self::staged::Staged;

/// How often a writer begins anew because someone erased its folder under it.
const ATTEMPTS: u32 = 1000;

/// A folder; its keys are the paths of the files below it, and its values what they hold.
///
/// **Whole values.** A value is written beside its place and renamed into it, so that readers, and
/// whoever comes after a crash, find the old value or the new one. Only [`sync`](Self::sync) makes it
/// outlast a power failure.
///
/// **Other writers.** `set` and `erase` hold the lock of the key's folder shared, `set_if` holds it
/// alone; so compare-and-swap stands among threads and processes, on one machine or, where the file
/// system carries locks, on several. See [`locking`](Self::locking).
///
/// **Keys.** Besides what is no [`StoreKey`], the store refuses keys with a `\`, with a segment like
/// `C:`, with a segment of more than 255 bytes, with a segment that is one of its own names
/// (`.zarr-lock`, `.zarr-tmp-...`), and keys whose path would be longer than the system takes.
///
/// **Links.** A key cannot lead out of the folder, but a symbolic link in it can: whoever may place
/// links there decides where they lead. Reading, listing and setting below a link to a folder follow
/// it; a link that leads back to a folder above it is not listed. `set` and `erase` of a link's own key
/// replace and remove the link, and `erase_prefix` removes the links it meets: what is behind them stays.
///
/// **Case.** On a disk that does not tell `foo` from `FOO` two such keys are one value. Ask
/// [`folds_case`](Self::folds_case) before relying on both.
///
/// ```
/// use zarr_core::store::{Payload, ReadableStore, StoreKey, WriteableStore};
/// use zarr_stores::FilesystemStore;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let store = FilesystemStore::new(folder.join("example.zarr"));
/// let key = StoreKey::new("zarr.json")?;
/// store.set(&key, Payload::from(b"{}".as_slice()))?;
/// assert_eq!(store.get(&key)?.as_deref(), Some(b"{}".as_slice()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FilesystemStore {
    root: PathBuf,
    locking: bool,
    sync: bool,
    access: Access,
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
            locking: true,
            sync: false,
            access: Access::ReadWrite,
        }
    }

    /// The store at a `file://` URL, percent-encoded, or at a path as it is (F-112).
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] for a URL that names no folder of this machine.
    pub fn from_url(location: &str) -> Result<Self, StoreError> {
        url::to_path(location).map(Self::new)
    }

    /// Whether writers take locks; they do unless told otherwise.
    ///
    /// Without, the store has no compare-and-swap to offer. Only for file systems that refuse locks,
    /// and only when no other process writes there.
    pub fn locking(mut self, locking: bool) -> Self {
        self.locking = locking;
        self
    }

    /// Whether each write waits until the disk has it; none does unless told to.
    pub fn sync(mut self, sync: bool) -> Self {
        self.sync = sync;
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
    /// Tries it out with a file of its own in the folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`], or whatever kept the file from being made.
    pub fn folds_case(&self) -> Result<bool, StoreError> {
        self.writable()?;
        let probe = || {
            fs::create_dir_all(&self.root)?;
            let (path, _) = staged::create(&self.root)?;
            let name = path.file_name().unwrap_or_default().to_ascii_uppercase();
            let folds = self.root.join(name).try_exists();
            fs::remove_file(&path)?;
            folds
        };
        probe().map_err(failed("probe", self.root.display()))
    }

    fn path(&self, key: &StoreKey) -> Result<PathBuf, StoreError> {
        path::below(&self.root, key.as_str())
    }

    fn folder(&self, prefix: &StorePrefix) -> Result<PathBuf, StoreError> {
        match prefix.as_str().strip_suffix('/') {
            None => Ok(self.root.clone()),
            Some(key) => path::below(&self.root, key),
        }
    }

    fn writable(&self) -> Result<(), StoreError> {
        match self.access {
            Access::ReadOnly => Err(StoreError::ReadOnly),
            Access::ReadWrite => Ok(()),
        }
    }

    fn put(
        &self,
        operation: &'static str,
        key: &StoreKey,
        value: &Payload<'_>,
        mode: Option<Mode>,
    ) -> Result<(), StoreError> {
        self.writable()?;
        let place = Place::new(self, operation, key)?;
        place.again(|| {
            let Some(staged) = place.stage(value)? else {
                return Ok(None);
            };
            let Some(_held) = place.hold(mode)? else {
                return Ok(None);
            };
            place.move_in(staged)
        })
    }

    fn remove(
        &self,
        operation: &'static str,
        key: &StoreKey,
        mode: Option<Mode>,
    ) -> Result<(), StoreError> {
        self.writable()?;
        let place = Place::new(self, operation, key)?;
        if !place.holds_value()? {
            return Ok(());
        }
        match place.hold(mode)? {
            Some(_held) => place.unlink(),
            None => Ok(()),
        }
    }

    /// How `set` and `erase` lock; `None`: not at all.
    fn shared(&self) -> Option<Mode> {
        self.locking.then_some(Mode::Shared)
    }
}

/// Opens a `file://` URL or a path.
pub(crate) fn open(url: &str, access: Access) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(FilesystemStore::from_url(url)?.access(access)))
}

/// Where one key's value is, or will be.
struct Place<'a> {
    store: &'a FilesystemStore,
    operation: &'static str,
    key: &'a StoreKey,
    path: PathBuf,
}

impl<'a> Place<'a> {
    fn new(
        store: &'a FilesystemStore,
        operation: &'static str,
        key: &'a StoreKey,
    ) -> Result<Self, StoreError> {
        Ok(Place {
            store,
            operation,
            key,
            path: store.path(key)?,
        })
    }

    fn folder(&self) -> &Path {
        self.path
            .parent()
            .expect("a key's path lies below the root")
    }

    fn failed(&self, source: io::Error) -> StoreError {
        failed(self.operation, self.key)(source)
    }

    /// Tries until an attempt is not cut short by the folder's vanishing, which is said by `None`.
    fn again<T>(
        &self,
        mut attempt: impl FnMut() -> Result<Option<T>, StoreError>,
    ) -> Result<T, StoreError> {
        for _ in 0..ATTEMPTS {
            if let Some(done) = attempt()? {
                return Ok(done);
            }
        }
        let why = "its folder was erased again and again while it was written";
        Err(self.failed(io::Error::other(why)))
    }

    /// Writes `value` beside its place. `None`: the folder had to be made first, or vanished.
    fn stage(&self, value: &Payload<'_>) -> Result<Option<Staged>, StoreError> {
        match Staged::write(self.folder(), value, self.store.sync) {
            Ok(staged) => return Ok(Some(staged)),
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(self.failed(e)),
            Err(_) => {}
        }
        match self.make_folder() {
            // Both can be what is left of a folder that another thread made or erased meanwhile.
            Err(e) if !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) => {
                Err(self.failed(e))
            }
            _ => Ok(None),
        }
    }

    fn make_folder(&self) -> io::Result<()> {
        fs::create_dir_all(self.folder())?;
        if self.store.sync {
            let within = |folder: &&Path| folder.starts_with(&self.store.root);
            for folder in self.folder().ancestors().take_while(within) {
                staged::sync_folder(folder)?;
            }
            self.store
                .root
                .parent()
                .map_or(Ok(()), staged::sync_folder)?;
        }
        Ok(())
    }

    /// Waits for the folder's lock, if one is to be taken. `None`: the folder vanished.
    fn hold(&self, mode: Option<Mode>) -> Result<Option<Option<Held>>, StoreError> {
        let Some(mode) = mode else {
            return Ok(Some(None));
        };
        match lock::lock(self.folder(), mode) {
            Ok(held) => Ok(held.map(Some)),
            Err(source) => Err(StoreError::LockRefused {
                key: self.key.to_string(),
                source,
            }),
        }
    }

    fn move_in(&self, staged: Staged) -> Result<Option<()>, StoreError> {
        match staged.move_to(&self.path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(self.failed(e)),
            Ok(()) => self.sync_folder().map(Some),
        }
    }

    fn unlink(&self) -> Result<(), StoreError> {
        match fs::remove_file(&self.path) {
            Err(e) if is_absence(&e) => Ok(()),
            Err(e) => Err(self.failed(e)),
            Ok(()) => self.sync_folder(),
        }
    }

    fn sync_folder(&self) -> Result<(), StoreError> {
        match self.store.sync {
            true => staged::sync_folder(self.folder()).map_err(|e| self.failed(e)),
            false => Ok(()),
        }
    }

    /// Whether there is something to erase: a folder, or a link to one, is not.
    fn holds_value(&self) -> Result<bool, StoreError> {
        match fs::symlink_metadata(&self.path) {
            Err(e) if is_absence(&e) => Ok(false),
            Err(e) => Err(self.failed(e)),
            Ok(metadata) if metadata.is_symlink() => Ok(!self.path.is_dir()),
            Ok(metadata) => Ok(!metadata.is_dir()),
        }
    }

    fn read(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let read = || match open_value(&self.path)? {
            Some((file, size)) => read_from(&file, size).map(Some),
            None => Ok(None),
        };
        read().map_err(|e| self.failed(e))
    }
}

impl Store for FilesystemStore {
    fn name(&self) -> String {
        url::from_path(&self.root)
    }

    fn readable(&self) -> Option<&dyn ReadableStore> {
        Some(self)
    }

    fn writeable(&self) -> Option<&dyn WriteableStore> {
        Some(self)
    }

    fn listable(&self) -> Option<&dyn ListableStore> {
        Some(self)
    }

    fn conditional(&self) -> Option<&dyn ConditionalStore> {
        self.locking.then_some(self)
    }
}

impl ReadableStore for FilesystemStore {
    fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        let value = Place::new(self, "get", key)?.read()?;
        Ok(value.map(Bytes::from))
    }

    fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        let place = Place::new(self, "get", key)?;
        let Some((mut file, size)) = open_value(&place.path).map_err(|e| place.failed(e))? else {
            return Ok(None);
        };
        let mut read = |range: &ByteRange| {
            let range = range.resolve(key, size)?;
            let read = file.seek(SeekFrom::Start(range.start));
            let read = read.and_then(|_| read_from(&file, range.end - range.start));
            read.map(Bytes::from).map_err(|e| place.failed(e))
        };
        ranges
            .iter()
            .map(&mut read)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn get_into(&self, key: &StoreKey, buf: &mut Vec<u8>) -> Result<bool, StoreError> {
        let place = Place::new(self, "get", key)?;
        let mut read = || match open_value(&place.path)? {
            None => {
                buf.clear();
                Ok(false)
            }
            Some((mut file, size)) => {
                let size = usize::try_from(size).map_err(|_| ErrorKind::OutOfMemory)?;
                buf.try_reserve_exact(size.saturating_sub(buf.len()))?;
                // What the last value left in the buffer is read over, not cleared first.
                buf.resize(size, 0);
                file.read_exact(buf)?;
                Ok(true)
            }
        };
        read().map_err(|e| place.failed(e))
    }
}

impl WriteableStore for FilesystemStore {
    fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        self.put("set", key, &value, self.shared())
    }

    fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        self.remove("erase", key, self.shared())
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.writable()?;
        erase::erase_prefix(self, prefix)
    }

    fn set_unguarded(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        self.put("set", key, &value, None)
    }

    fn erase_unguarded(&self, key: &StoreKey) -> Result<(), StoreError> {
        self.remove("erase", key, None)
    }
}

impl ConditionalStore for FilesystemStore {
    fn get_versioned(&self, key: &StoreKey) -> Result<Option<(Bytes, Version)>, StoreError> {
        let value = self.get(key)?;
        Ok(value.map(|value| {
            let version = Version::of_content(&value);
            (value, version)
        }))
    }

    fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        self.writable()?;
        if !self.locking {
            return Err(StoreError::NotCapable {
                operation: "set_if",
                capability: "conditional",
            });
        }
        let place = Place::new(self, "set_if", key)?;
        place.again(|| {
            let staged = match &value {
                None => None,
                Some(value) => match place.stage(value)? {
                    None => return Ok(None),
                    staged => staged,
                },
            };
            let Some(_held) = place.hold(Some(Mode::Exclusive))? else {
                // Nothing is in a folder that is not there.
                return Ok(value.is_none().then_some(was.is_none()));
            };
            let is = place.read()?.map(|value| Version::of_content(&value));
            if is.as_ref() != was {
                return Ok(Some(false));
            }
            match staged {
                Some(staged) => Ok(place.move_in(staged)?.map(|()| true)),
                None if is.is_some() => place.unlink().map(|()| Some(true)),
                None => Ok(Some(true)),
            }
        })
    }
}

/// Puts the place into an error of the system.
fn failed(operation: &'static str, key: impl ToString) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io {
        operation,
        key: key.to_string(),
        source,
    }
}

/// Whether the system says that there is nothing: no such name, or a file where a folder would be.
fn is_absence(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The opened file at `path` and its size; `None` if there is none, or a folder.
fn open_value(path: &Path) -> io::Result<Option<(File, u64)>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if is_absence(&e) => return Ok(None),
        // Some systems do not open folders.
        Err(e) if e.kind() == ErrorKind::PermissionDenied && path.is_dir() => return Ok(None),
        Err(e) => return Err(e),
    };
    let metadata = file.metadata()?;
    match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => Ok(Some((file, metadata.len()))),
        (_, true) => Ok(None),
        // A device can be without an end.
        _ => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it is neither a file nor a folder",
        )),
    }
}

/// The next `size` bytes of `file`.
fn read_from(file: &File, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let room = usize::try_from(size).map_err(|_| ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(room)?;
    // Into room that is not zeroed first; past the last byte the system is not asked again.
    file.take(size).read_to_end(&mut bytes)?;
    match bytes.len() == room {
        true => Ok(bytes),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}

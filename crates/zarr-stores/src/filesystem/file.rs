//! Reads and changes the one file that holds a key's value.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IoSliceMut, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;
use zarr_core::StoreError;
use zarr_core::store::{
    ByteRange, GetOptions, Got, NotSet, Payload, Result, StoreKey, SyncSnapshot, Target, Version,
    check_size,
};

use super::lock::{Held, Mode};
use super::staged::Staged;
use super::{FilesystemStore, not_locked, path};
use crate::opened::{check_links, is_absence, make_folder};

/// How often a writer begins anew because someone erased its folder under it.
const MAX_ATTEMPTS: u32 = 1000;

/// Where one key's value is, or will be.
pub(super) struct KeyPath<'a> {
    store: &'a FilesystemStore,
    operation: &'static str,
    key: &'a StoreKey,
    path: PathBuf,
}

impl<'a> KeyPath<'a> {
    /// The place of `key`, in which `operation` is to happen.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] for a key that can have no place here.
    pub(super) fn new(
        store: &'a FilesystemStore,
        operation: &'static str,
        key: &'a StoreKey,
    ) -> Result<Self> {
        path::check_tools(&store.root, key.as_str()).map_err(StoreError::io(operation, key))?;
        let path = path::below(&store.root, key.as_str())?;
        Ok(KeyPath { store, operation, key, path })
    }

    fn folder(&self) -> &Path {
        let folder = self.path.parent();
        folder.expect("a key's path lies below the root")
    }

    /// Whether both are in the same folder.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        self.folder().as_os_str() == other.folder().as_os_str()
    }

    fn failed(&self, source: io::Error) -> StoreError {
        StoreError::io(self.operation, self.key)(source)
    }
}

/// A value that stays what it is, whatever others set.
pub(super) struct OpenFile {
    file: File,
    size: u64,
    key: StoreKey,
    mark: [u64; 4],
    /// Whether the mark is a version: no later file of this name can bear it, or none while this one is open, and that is
    /// enough.
    has_version: bool,
}

impl SyncSnapshot for OpenFile {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let mut values = Vec::with_capacity(ranges.len());
        for range in ranges {
            let mut bytes = Vec::new();
            self.read_into(*range, &mut bytes)?;
            values.push(Bytes::from(bytes));
        }
        Ok(values)
    }

    fn read_into(&self, range: ByteRange, buf: &mut Vec<u8>) -> Result<()> {
        let range = range.resolve(&self.key, self.size)?;
        let read = replace_at(buf, &self.file, range.start, range.end - range.start);
        read.map_err(StoreError::io("get", &self.key))
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn file(&self) -> Option<&File> {
        Some(&self.file)
    }

    fn version(&self) -> Option<Version> {
        self.has_version.then(|| Version::of_mark(self.mark))
    }

    fn modified(&self) -> Option<SystemTime> {
        self.file.metadata().and_then(|metadata| metadata.modified()).ok()
    }
}

/// Reading.
impl KeyPath<'_> {
    pub(super) fn get(&self, how: GetOptions<'_>) -> Result<Option<Got>> {
        let GetOptions { limit, into, version } = how;
        let size = match into {
            Target::Exact(out) if !version && out.len() as u64 <= limit => {
                self.read_exactly(out)?
            }
            Target::Vec(buf) if !version => self.read_into(buf, limit)?,
            into => {
                let Some((bytes, version)) = self.read(limit, version)? else { return Ok(None) };
                let got = Got { size: bytes.len() as u64, bytes: Some(bytes), version };
                return Ok(Some(into.take(got)));
            }
        };
        let Some(size) = size else { return Ok(None) };
        check_size(self.key, size, limit)?;
        Ok(Some(Got { size, bytes: None, version: None }))
    }

    /// The value and, if it is wanted, its version: its content, and which file it is, so that a value that was replaced
    /// by an equal one differs from one that was not.
    fn read(&self, limit: u64, version: bool) -> Result<Option<(Bytes, Option<Version>)>> {
        let found = self.opened().map_err(|e| self.failed(e))?;
        let Some((file, metadata)) = found else { return Ok(None) };
        check_size(self.key, metadata.len(), limit)?;
        let mut value = Vec::new();
        replace_at(&mut value, &file, 0, metadata.len()).map_err(|e| self.failed(e))?;
        let value = Bytes::from(value);
        let version = version.then(|| Version::of_content(value.clone()).marked(mark(&metadata)));
        Ok(Some((value, version)))
    }

    /// The file that holds the value now: another writer's is another file. For an update its mark is a version in any
    /// case: no other file bears it while this one is open.
    pub(super) fn open(&self, for_update: bool) -> Result<Option<OpenFile>> {
        let opened = self.opened().map_err(|e| self.failed(e))?;
        let Some((file, metadata)) = opened else { return Ok(None) };
        let size = metadata.len();
        let (mark, has_version) = (mark(&metadata), for_update || is_settled(&metadata));
        let key = self.key.clone();
        Ok(Some(OpenFile { file, size, key, mark, has_version }))
    }

    /// Whether the file has this mark, which is a version. The file is not opened.
    pub(super) fn is_unchanged(&self, version: &Version) -> Result<bool> {
        let found = self.look()?.filter(is_settled);
        Ok(found.is_some_and(|found| Version::of_mark(mark(&found)) == *version))
    }

    /// What the system reports of the file; `None` if there is none.
    fn look(&self) -> Result<Option<fs::Metadata>> {
        match fs::metadata(&self.path) {
            Ok(found) if found.is_dir() => Ok(None),
            Ok(found) if found.is_file() => Ok(Some(found)),
            Ok(_) => Err(self.failed(no_file())),
            Err(e) if is_absence(&e) => self.check_links().map(|()| None),
            Err(e) => Err(self.failed(e)),
        }
    }

    /// The opened file; `None` if there is none, and no link in its place that leads to nothing.
    fn opened(&self) -> io::Result<Option<(File, fs::Metadata)>> {
        match open(&self.path)? {
            None => check_links(&self.store.root, &self.path).map(|()| None),
            opened => Ok(opened),
        }
    }

    /// An error if the value is absent only since a link leads to nothing.
    fn check_links(&self) -> Result<()> {
        check_links(&self.store.root, &self.path).map_err(|e| self.failed(e))
    }

    /// The version of the value that is there, of the same kind as `was`.
    fn version_like(&self, was: Option<&Version>) -> Result<Option<Version>> {
        if !was.is_some_and(Version::is_mark) {
            return Ok(self.read(u64::MAX, true)?.and_then(|(_, version)| version));
        }
        Ok(self.look()?.map(|found| Version::of_mark(mark(&found))))
    }

    /// Puts the value straight into `out`, if it has that size; returns its size.
    fn read_exactly(&self, out: &mut [u8]) -> Result<Option<u64>> {
        match self.read_at_once(out) {
            Ok(read) if read == out.len() => return Ok(Some(read as u64)),
            Err(e) if is_absence(&e) => return self.check_links().map(|()| None),
            // Other errors show in the next.
            _ => {}
        }
        let expected = out.len() as u64;
        self.read_by(|mut file, size| if size == expected { file.read_exact(out) } else { Ok(()) })
    }

    /// Reads with one call, and returns how many bytes came. One more than `out` has room for is asked for: if it does not come,
    /// that was all, and the size need not be asked for.
    fn read_at_once(&self, out: &mut [u8]) -> io::Result<usize> {
        let mut more = [0];
        let mut parts = [IoSliceMut::new(out), IoSliceMut::new(&mut more)];
        open_to_read(&self.path)?.read_vectored(&mut parts)
    }

    /// Puts a value of at most `limit` bytes into `buf`, in place of what was there; returns its size.
    fn read_into(&self, buf: &mut Vec<u8>, limit: u64) -> Result<Option<u64>> {
        self.read_by(
            |file, size| {
                if size > limit { Ok(()) } else { replace_at(buf, &file, 0, size) }
            },
        )
    }

    /// The size of the value, which `read` may read.
    fn read_by(&self, read: impl FnOnce(File, u64) -> io::Result<()>) -> Result<Option<u64>> {
        let opened = self.opened().map_err(|e| self.failed(e))?;
        let Some((file, metadata)) = opened else { return Ok(None) };
        read(file, metadata.len()).map_err(|e| self.failed(e))?;
        Ok(Some(metadata.len()))
    }
}

/// Writing; a `mode` of `None` takes no lock.
impl KeyPath<'_> {
    pub(super) fn set(&self, value: &Payload<'_>, mode: Option<Mode>) -> Result<()> {
        self.retry(|| {
            let Some(staged) = self.stage(value)? else {
                return Ok(None);
            };
            let Some(_held) = self.lock(mode)? else {
                return Ok(None);
            };
            self.rename_into(staged)
        })
    }

    /// Sets values in one folder, which is locked once for all.
    pub(super) fn set_all(
        values: &[(Self, Payload<'_>)],
        mode: Option<Mode>,
    ) -> Result<(), NotSet> {
        let Some((first, _)) = values.first() else { return Ok(()) };
        let mut at = 0;
        // A value that was set is not set again: another writer may have changed it since.
        let mut left = values;
        let set = first.retry(|| {
            let mut staged = Vec::with_capacity(left.len());
            for (place, value) in left {
                at = values.len() - left.len() + staged.len();
                let Some(value) = place.stage(value)? else { return Ok(None) };
                staged.push(value);
            }
            let Some(_held) = first.lock(mode)? else { return Ok(None) };
            for value in staged {
                at = values.len() - left.len();
                let Some(()) = values[at].0.rename_into(value)? else { return Ok(None) };
                left = &left[1..];
            }
            Ok(Some(()))
        });
        set.map_err(|error| NotSet { at, error })
    }

    pub(super) fn erase(&self, mode: Option<Mode>) -> Result<()> {
        if !self.holds_value()? {
            return Ok(());
        }
        match self.lock(mode)? {
            Some(_held) => self.unlink(),
            None => Ok(()),
        }
    }

    pub(super) fn set_if(
        &self,
        value: Option<&Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool> {
        self.retry(|| {
            // Written before the lock is taken, so that others wait only for the comparison.
            let staged = match value {
                None => None,
                Some(value) => match self.stage(value)? {
                    None => return Ok(None),
                    staged => staged,
                },
            };
            let Some(_held) = self.lock(Some(Mode::Exclusive))? else {
                // Nothing is in a folder that is not there.
                return Ok(value.is_none().then_some(was.is_none()));
            };
            let is = self.version_like(was)?;
            if is.as_ref() != was {
                return Ok(Some(false));
            }
            match staged {
                Some(staged) => Ok(self.rename_into(staged)?.map(|()| true)),
                None if is.is_some() => self.unlink().map(|()| Some(true)),
                None => Ok(Some(true)),
            }
        })
    }

    /// Sets the value if neither it nor one of `absent` is there, and erases `leftovers`; else returns which is there.
    pub(super) fn create(
        &self,
        value: &Payload<'_>,
        absent: &[KeyPath<'_>],
        leftovers: &[KeyPath<'_>],
    ) -> Result<Option<StoreKey>> {
        self.retry(|| {
            let Some(staged) = self.stage(value)? else { return Ok(None) };
            let Some(_held) = self.lock(Some(Mode::Exclusive))? else { return Ok(None) };
            for place in [self].into_iter().chain(absent) {
                if place.opened().map_err(|e| place.failed(e))?.is_some() {
                    return Ok(Some(Some(place.key.clone())));
                }
            }
            // No array is here, so that no writer compares and swaps its chunks: their locks are not needed, and a thread that
            // holds one must not wait for another.
            for place in leftovers {
                match place.link_below(self.folder()) {
                    None => place.erase(None)?,
                    Some(link) if link == self.folder() => {
                        let why = "it leads through a symbolic link, and erasing follows none: remove the link, or \
                                   create the array without purging";
                        return Err(place.failed(io::Error::other(why)));
                    }
                    Some(link) => {
                        let removed = match fs::remove_file(link) {
                            Err(e) if !is_absence(&e) => Err(e),
                            _ => self.store.sync_folder(link.parent()),
                        };
                        removed.map_err(|e| place.failed(e))?;
                    }
                }
            }
            Ok(self.rename_into(staged)?.map(|()| None))
        })
    }

    /// The first link on the way to the value, but for those that lead to `folder`, which the caller named
    /// (docs/internals/design/stores.md).
    fn link_below(&self, folder: &Path) -> Option<&Path> {
        let above = self.path.ancestors().skip(1).take_while(|above| *above != self.store.root);
        above
            .filter(|above| above.is_symlink() && (*above == folder || !folder.starts_with(above)))
            .last()
    }

    /// Tries until an attempt is not cut short because the folder vanished, for which it gives `None`.
    fn retry<T>(&self, mut attempt: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        for _ in 0..MAX_ATTEMPTS {
            if let Some(done) = attempt()? {
                return Ok(done);
            }
        }
        let why = "its folder was erased again and again while it was written";
        Err(self.failed(io::Error::other(why)))
    }

    /// Writes `value` beside its place. `None`: the folder had to be made first, or vanished.
    fn stage(&self, value: &Payload<'_>) -> Result<Option<Staged>> {
        self.store.written.note(self.folder());
        let sync = self.store.options.sync;
        if !sync || self.store.written.is_durable(self.folder()) {
            match Staged::write(self.folder(), value, sync) {
                Ok(staged) => return Ok(Some(staged)),
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(self.failed(e)),
                Err(_) => {}
            }
        }
        match self.make_folder() {
            // Both can be what is left of a folder that another thread made or erased concurrently.
            Err(e) if !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) => {
                Err(self.failed(e))
            }
            // So can a link that leads to nothing, in which no folder will ever be.
            Err(_) => check_links(&self.store.root, self.folder())
                .map(|()| None)
                .map_err(|e| self.failed(e)),
            Ok(()) => Ok(None),
        }
    }

    /// With `sync`, the names of all folders from the root's down outlast a power failure, whichever writer made them.
    fn make_folder(&self) -> io::Result<()> {
        make_folder(self.folder(), self.store.options.sync)?;
        if self.store.options.sync {
            let folders = self.folder().ancestors();
            for folder in folders.take_while(|folder| folder.starts_with(&self.store.root)) {
                self.store.sync_folder(folder.parent())?;
            }
            self.store.written.note_durable(self.folder());
        }
        Ok(())
    }

    /// Waits for the folder's lock, if the caller needs one. `None`: the folder vanished.
    fn lock(&self, mode: Option<Mode>) -> Result<Option<Held>> {
        self.store.lock(self.folder(), mode).map_err(|e| not_locked(self.key, e))
    }

    /// Moves a staged value to its place. `None`: it vanished, with its folder.
    fn rename_into(&self, staged: Staged) -> Result<Option<()>> {
        match staged.move_to(&self.path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(self.failed(e)),
            Ok(()) => self.sync_folder().map(Some),
        }
    }

    fn unlink(&self) -> Result<()> {
        match fs::remove_file(&self.path) {
            Err(e) if is_absence(&e) => Ok(()),
            Err(e) => Err(self.failed(e)),
            Ok(()) => self.sync_folder(),
        }
    }

    fn sync_folder(&self) -> Result<()> {
        self.store.sync_folder(Some(self.folder())).map_err(|e| self.failed(e))
    }

    /// Whether there is something to erase: a folder, or a link to one, is not.
    fn holds_value(&self) -> Result<bool> {
        match fs::symlink_metadata(&self.path) {
            Err(e) if is_absence(&e) => Ok(false),
            Err(e) => Err(self.failed(e)),
            Ok(metadata) if metadata.is_symlink() => Ok(!self.path.is_dir()),
            Ok(metadata) => Ok(!metadata.is_dir()),
        }
    }
}

/// Opens a file. A pipe is opened at once, too, to be refused as no file: perhaps no program ever writes to it.
#[cfg(target_os = "linux")]
fn open_to_read(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    match File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        // Another program holds a lease of the file, which it gives up when it is asked.
        Err(e) if e.kind() == ErrorKind::WouldBlock => File::open(path),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_to_read(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// The opened file at `path` and what the system says of it; `None` if there is none, or a folder.
fn open(path: &Path) -> io::Result<Option<(File, fs::Metadata)>> {
    let file = match open_to_read(path) {
        Ok(file) => file,
        Err(e) if is_absence(&e) => return Ok(None),
        // Some systems do not open folders.
        Err(e) if e.kind() == ErrorKind::PermissionDenied && path.is_dir() => return Ok(None),
        Err(e) => return Err(e),
    };
    let metadata = file.metadata()?;
    match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => Ok(Some((file, metadata))),
        (_, true) => Ok(None),
        _ => Err(no_file()),
    }
}

/// A pipe, a socket or a device, which can be without an end.
fn no_file() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "it is neither a file nor a folder")
}

/// Which file it is, and when it was last changed.
#[cfg(unix)]
fn mark(metadata: &std::fs::Metadata) -> [u64; 4] {
    use std::os::unix::fs::MetadataExt;
    [metadata.dev(), metadata.ino(), metadata.ctime() as u64, metadata.ctime_nsec() as u64]
}

/// Whether the file was last changed so long ago that whatever replaces it bears another mark, even if it is
/// given the same number: clocks of files tick every few milliseconds, those without fractions every second
/// or two.
#[cfg(unix)]
fn is_settled(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};
    let (Ok(seconds), Ok(nanos)) =
        (u64::try_from(metadata.ctime()), u32::try_from(metadata.ctime_nsec()))
    else {
        return false;
    };
    let tick = Duration::from_millis(if nanos == 0 { 3000 } else { 100 });
    let changed = UNIX_EPOCH + Duration::new(seconds, nanos);
    SystemTime::now().duration_since(changed).is_ok_and(|age| age > tick)
}

/// Files have no number here, so that none is distinguished from all others.
#[cfg(not(unix))]
fn is_settled(_: &std::fs::Metadata) -> bool {
    false
}

/// When the file was last changed.
#[cfg(not(unix))]
fn mark(metadata: &std::fs::Metadata) -> [u64; 4] {
    let changed =
        metadata.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    let changed = changed.unwrap_or_default();
    [0, metadata.len(), changed.as_secs(), u64::from(changed.subsec_nanos())]
}

/// Puts the `size` bytes of the file from `offset` on in place of what `buf` holds, whatever other threads read of the file
/// concurrently. After an error it holds anything.
fn replace_at(buf: &mut Vec<u8>, file: &File, offset: u64, size: u64) -> io::Result<()> {
    let size = usize::try_from(size).map_err(|_| ErrorKind::OutOfMemory)?;
    if size <= buf.capacity() {
        // A caller who reads again and again lends the same buffer: of that only what became longer is cleared.
        buf.resize(size, 0);
        return read_exact_at(file, buf, offset);
    }
    *buf = Vec::new();
    buf.try_reserve_exact(size)?;
    read_to_capacity_at(file, buf, offset, size)
}

/// Reads `size` bytes into the spare capacity of `buf`, which is empty and has just that much, so that nothing is cleared
/// first.
#[cfg(unix)]
fn read_to_capacity_at(file: &File, buf: &mut Vec<u8>, offset: u64, size: usize) -> io::Result<()> {
    while buf.len() < size {
        let at = offset + buf.len() as u64;
        match rustix::io::pread(file, rustix::buffer::spare_capacity(buf), at) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(e) if e == rustix::io::Errno::INTR => {}
            Err(e) => return Err(e.into()),
        }
    }
    // An allocator may have given more than was asked for.
    buf.truncate(size);
    Ok(())
}

#[cfg(windows)]
fn read_to_capacity_at(file: &File, buf: &mut Vec<u8>, offset: u64, size: usize) -> io::Result<()> {
    buf.resize(size, 0);
    read_exact_at(file, buf, offset)
}

/// Fills `buf` with the bytes from `offset` on, whatever other threads read of the file concurrently.
#[cfg(unix)]
fn read_exact_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buf, offset)
}

/// Fills `buf` with the bytes from `offset` on, whatever other threads read of the file concurrently.
#[cfg(windows)]
fn read_exact_at(file: &File, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !buf.is_empty() {
        match file.seek_read(buf, offset) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                buf = &mut std::mem::take(&mut buf)[read..];
                offset += read as u64;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

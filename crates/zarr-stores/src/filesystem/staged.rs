//! Replaces a value as a whole.
//!
//! It is written to a separate file beside its place and then renamed into it: a reader finds the old
//! value or the new one, and so does a reader after a crash.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use zarr_core::store::Payload;

use super::path::TEMP;

/// Parts are gathered up to this number of bytes before they are written.
const GATHERED: usize = 1 << 16;

/// The system copies this number of bytes in one call, after which a signal is heard.
const MAX_COPIED_AT_ONCE: usize = 1 << 26;

/// A value written beside its place. Dropped before it is moved there, it is removed.
#[derive(Debug)]
pub(crate) struct Staged {
    path: Option<PathBuf>,
}

impl Staged {
    /// Writes `value` into a new file in `folder`; with `sync`, through to the disk.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if the folder is not there.
    pub(crate) fn write(folder: &Path, value: &Payload<'_>, sync: bool) -> io::Result<Self> {
        let (path, file) = create(folder)?;
        let staged = Staged { path: Some(path) };
        let begin = copied_by_system(&file, value);
        if value.size() != Some(begin) {
            // A copy that the system has begun is continued at its end.
            write_parts(&file, value, begin)?;
        }
        if sync {
            file.sync_all()?;
        }
        Ok(staged)
    }

    /// Moves the value to its place, over whatever is there. A file that is there hands its permissions on.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if the folder was erased concurrently.
    pub(crate) fn move_to(mut self, place: &Path) -> io::Result<()> {
        if let Some(path) = &self.path {
            #[cfg(unix)]
            hand_on_permissions(place, path)?;
            fs::rename(path, place)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // What cannot be removed is never listed, and goes with its folder.
            let _ = fs::remove_file(path);
        }
    }
}

/// Gives a file the permissions of one that it is about to replace. What a link leads to stays, and so do its permissions.
#[cfg(unix)]
fn hand_on_permissions(from: &Path, to: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let Some(kept) = mode(from) else { return Ok(()) };
    if mode(to).is_none_or(|new| new == kept) {
        return Ok(());
    }
    match fs::set_permissions(to, fs::Permissions::from_mode(kept)) {
        // Some file systems have no permissions of their own.
        Err(e) if e.kind() == ErrorKind::Unsupported => Ok(()),
        set => set,
    }
}

/// Who may read, write and execute a file; a link is none.
#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    const READ_WRITE_EXECUTE: u32 = 0o777;
    let found = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(found.permissions().mode() & READ_WRITE_EXECUTE)
}

/// A new, empty file of our own in `folder`.
pub(super) fn create(folder: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        // Each state of a thread differs from the one before. The process is hashed because one that was forked off begins with the same state.
        let random = RandomState::new().hash_one(std::process::id());
        let path = folder.join(format!("{TEMP}{random:016x}"));
        match File::options().write(true).create_new(true).open(&path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
            Ok(file) => return Ok((path, file)),
        }
    }
}

/// Lets the system copy a value that is in another file, without a detour through the memory of this process; returns how many
/// bytes it has copied. Not every file system can, nor between any two, and then it copies none or a part.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn copied_by_system(to: &File, value: &Payload<'_>) -> u64 {
    let Some((kept, range)) = value.kept_whole() else { return 0 };
    let Some(from) = kept.file() else { return 0 };
    let (mut at, mut copied) = (range.start, 0);
    while at < range.end {
        let most = usize::try_from(range.end - at).unwrap_or(usize::MAX).min(MAX_COPIED_AT_ONCE);
        match rustix::fs::copy_file_range(from, Some(&mut at), to, Some(&mut copied), most) {
            Ok(0) => break,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
    }
    copied
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn copied_by_system(_to: &File, _value: &Payload<'_>) -> u64 {
    0
}

/// Writes all parts from the byte `begin` on, small ones together.
fn write_parts(mut file: &File, value: &Payload<'_>, begin: u64) -> io::Result<()> {
    if begin > 0 {
        file.seek(SeekFrom::Start(begin))?;
    }
    let mut left_out = begin;
    // A value of one part, which fills the buffer, is not copied to it.
    let most = value.size().map_or(GATHERED, |size| GATHERED.min(size as usize));
    let mut file = BufWriter::with_capacity(most, file);
    for part in value.parts() {
        let part = part.map_err(io::Error::other)?;
        let skipped = left_out.min(part.len() as u64);
        left_out -= skipped;
        file.write_all(&part[skipped as usize..])?;
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that another file holds, and parts of it, whether or not the system copies them by itself.
    #[test]
    fn values_of_other_files_are_copied_whole() {
        use std::sync::Arc;

        use zarr_core::store::{SnapshotOptions, StoreKey, SyncSnapshot, SyncStore};

        let folder = tempfile::tempdir().unwrap();
        let store = crate::FilesystemStore::new(folder.path());
        let key = StoreKey::new("k").unwrap();
        let bytes: Vec<u8> = (0..300_000u32).map(|i| (i % 251) as u8).collect();
        store.set(&key, Payload::new(&bytes[..])).unwrap();
        let opened = store.open(&key, SnapshotOptions::default()).unwrap().unwrap();
        let value: Arc<dyn SyncSnapshot> = Arc::from(opened);
        for range in [0..300_000usize, 5..299_998, 7..7] {
            let kept = Payload::default().and_kept(&value, range.start as u64..range.end as u64);
            for value in [kept.clone(), kept.and(&b"end"[..])] {
                let expected: Vec<u8> =
                    value.parts().flat_map(|part| part.unwrap().into_owned()).collect();
                assert!(expected.starts_with(&bytes[range.clone()]));
                let staged = Staged::write(folder.path(), &value, false).unwrap();
                staged.move_to(&folder.path().join("copy")).unwrap();
                assert_eq!(fs::read(folder.path().join("copy")).unwrap(), expected);
            }
        }
        // What the system has copied a part of is continued behind it.
        let whole = Payload::default().and_kept(&value, 0..300_000);
        for begin in [1, 100_000, 262_144, 299_999] {
            let (path, file) = create(folder.path()).unwrap();
            (&file).write_all(&bytes[..begin]).unwrap();
            write_parts(&file, &whole, begin as u64).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes, "{begin}");
        }
        // The value is pinned: another one that takes its place is not copied.
        store.set(&key, Payload::new(&b"new"[..])).unwrap();
        let staged = Staged::write(folder.path(), &whole, false).unwrap();
        staged.move_to(&folder.path().join("copy")).unwrap();
        assert_eq!(fs::read(folder.path().join("copy")).unwrap(), bytes);
    }

    #[test]
    fn parts_follow_each_other_and_failures_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("k");
        let many: Vec<[u8; 3]> = (0..3000u32).map(|i| [i as u8, (i >> 8) as u8, 7]).collect();
        let value = many.iter().fold(Payload::default(), |value, part| value.and(&part[..]));
        let staged = Staged::write(folder.path(), &value.and(&b""[..]), true).unwrap();
        staged.move_to(&place).unwrap();
        assert_eq!(fs::read(&place).unwrap(), many.concat());

        let staged = Staged::write(folder.path(), &Payload::new(b"x"), false).unwrap();
        assert!(staged.move_to(&folder.path().join("no/such")).is_err());
        let names = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["k"]);
        let gone = Staged::write(&folder.path().join("gone"), &Payload::default(), false);
        assert_eq!(gone.unwrap_err().kind(), ErrorKind::NotFound);
    }
}

//! Replaces a value as a whole.
//!
//! It is written to a separate file beside its place and then renamed into it: a reader finds the old
//! value or the new one, and so does a reader after a crash.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use zarr_core::store::Payload;

use super::path::TEMP;

/// Parts are gathered up to this number of bytes before they are written.
const GATHERED: usize = 1 << 16;

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
        write_parts(&file, value)?;
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
    const READ_WRITE_EXECUTE: u32 = 0o777;
    let mode = |path: &Path| {
        let found = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(found.permissions().mode() & READ_WRITE_EXECUTE)
    };
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

/// Writes all parts, small ones together.
fn write_parts(file: &File, value: &Payload<'_>) -> io::Result<()> {
    // A value of one part, which fills the buffer, is not copied to it.
    let most = value.size().map_or(GATHERED, |size| GATHERED.min(size as usize));
    let mut file = BufWriter::with_capacity(most, file);
    for part in value.parts() {
        file.write_all(&part.map_err(io::Error::other)?)?;
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

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

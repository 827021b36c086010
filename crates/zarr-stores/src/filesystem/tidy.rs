//! Removes lock files, and what killed writers left, from the folders that a handle wrote to.
//!
//! A lock file stays while a handle may need it again, and goes when the handle is flushed or dropped, under the
//! rules in docs/internals/design/concurrency.md. A handle that cannot have the lock at once leaves the file to the handle that holds it.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::mem;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use zarr_core::sync;

use super::lock;
use super::path::{LOCK, TEMP, begins_like};
use crate::opened::{is_absence, is_still_at};
use crate::system::fs::{self, File, TryLockError};

/// Folders that are remembered at most; one more, and all are tidied at once.
const MAX_FOLDERS: usize = 4096;

/// An unfinished file that was not written to for this long is a dead writer's.
const DEAD: Duration = Duration::from_secs(3600);

/// The folders that a handle and its clones wrote to since they were last tidied.
#[derive(Debug, Default)]
pub(super) struct Written(Mutex<Folders>);

/// By their paths as text, which is looked up for each value that is written: the hash of a `Path` takes each of its components apart.
#[derive(Debug, Default)]
struct Folders {
    written: HashSet<OsString>,
    /// In these, this handle has looked for files of dead writers. It does so once.
    searched: HashSet<OsString>,
    /// The names of these, and of the folders above them, outlast a power failure.
    durable: HashSet<OsString>,
}

impl Written {
    fn folders(&self) -> sync::MutexGuard<'_, Folders> {
        sync::lock(&self.0)
    }

    /// Notes that something is written in `folder`.
    pub fn note(&self, folder: &Path) {
        let mut folders = self.folders();
        if folders.written.contains(folder.as_os_str()) {
            return;
        }
        let is_full = folders.written.len() >= MAX_FOLDERS;
        folders.written.insert(folder.as_os_str().to_owned());
        drop(folders);
        if is_full {
            self.tidy();
        }
    }

    /// Whether this handle made the names of `folder` and of those above it outlast a power failure, since it was last tidied.
    pub fn is_durable(&self, folder: &Path) -> bool {
        self.folders().durable.contains(folder.as_os_str())
    }

    /// Notes that it did.
    pub fn note_durable(&self, folder: &Path) {
        let mut folders = self.folders();
        if folders.durable.len() >= MAX_FOLDERS {
            folders.durable.clear();
        }
        folders.durable.insert(folder.as_os_str().to_owned());
    }

    /// Removes from all folders that were noted the lock files, as far as no other handle holds them, and the files of dead writers.
    pub fn tidy(&self) {
        let mut folders = self.folders();
        folders.durable.clear();
        let written = mem::take(&mut folders.written);
        drop(folders);
        for folder in written {
            let stays = remove_lock(Path::new(&folder));
            let mut folders = self.folders();
            if stays {
                // Another thread that writes through this handle may hold it.
                folders.written.insert(folder.clone());
            }
            if folders.searched.len() >= MAX_FOLDERS {
                folders.searched.clear();
            }
            let is_new = !folders.searched.contains(&folder);
            drop(folders);
            if is_new {
                remove_dead(Path::new(&folder));
                self.folders().searched.insert(folder);
            }
        }
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        self.tidy();
    }
}

/// Removes the lock file of `folder`, if there is one and no other handle holds it. A handle that waits for it finds it gone
/// and takes the next one; one that holds it removes it later. Returns whether it may be removed later.
fn remove_lock(folder: &Path) -> bool {
    match lock::open(&folder.join(LOCK), false) {
        Ok(file) => remove_opened(folder, &file),
        // It is looked for again later; another user's stays.
        Err(e) => !is_absence(&e) && e.kind() != ErrorKind::PermissionDenied,
    }
}

/// As [`remove_lock`], once the lock file is opened.
fn remove_opened(folder: &Path, file: &File) -> bool {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return true,
        Err(TryLockError::Error(_)) => return false,
    }
    // Another file may be there since, which another handle holds.
    if is_still_at(&folder.join(LOCK), file).unwrap_or(false) {
        // One that cannot be removed, another user's perhaps, does no harm.
        let _ = lock::unlink(folder);
    }
    // Not left to the closing of the file: a process that was forked while it was held still has it open.
    let _ = file.unlock();
    false
}

/// Removes unfinished files of writers that must be dead.
fn remove_dead(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(|name| begins_like(name, TEMP)) {
            continue;
        }
        let Some(found) = entry.metadata().ok().filter(|found| found.is_file()) else {
            continue;
        };
        let age = found.modified().ok().and_then(|changed| changed.elapsed().ok());
        if age.is_some_and(|age| age > DEAD) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::filesystem::lock::Mode;

    /// One that could not be opened once was forgotten.
    #[test]
    fn a_lock_file_that_cannot_be_opened_is_removed_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        let written = Written::default();
        written.note(folder.path());
        // A link to itself cannot be opened.
        std::os::unix::fs::symlink(&path, &path).unwrap();
        written.tidy();
        fs::remove_file(&path).unwrap();
        File::create(&path).unwrap();
        written.tidy();
        assert!(!path.exists());
    }

    #[test]
    fn the_lock_file_that_came_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        let old = File::create(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let _held = lock::lock(folder.path(), Mode::Exclusive).unwrap();
        assert!(!remove_opened(folder.path(), &old));
        assert!(path.exists());
    }
}

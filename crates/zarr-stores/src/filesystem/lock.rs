//! Locks the keys of a folder.
//!
//! A lock is the kernel's, taken on the file `.zarr-lock` in the folder that holds the key, and gone
//! with the process that held it (docs/internals/design/concurrency.md). It belongs to the opened file, and every lock
//! opens its own, so threads of one process keep each other out just as processes do.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::RwLock;

use zarr_core::sync;

use super::path::LOCK;
use crate::opened::{is_absence, is_still_at};
use crate::system::fs::{self, File};
use crate::system::{no_follow, not_a_link};

/// What others may do while it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Set and erase as well, but not compare and swap.
    Shared,
    /// Nothing.
    Exclusive,
}

/// A held lock; released when it is dropped.
#[derive(Debug)]
pub(super) enum Held {
    /// No lock: the caller needs none.
    Nothing,
    /// The kernel's.
    File(File),
    /// This process's own, shared.
    Shared { _lock: sync::RwLockReadGuard<'static, ()> },
    /// This process's own.
    Exclusive { _lock: sync::RwLockWriteGuard<'static, ()> },
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Held::File(file) = self {
            // Not left to the closing of the file: a process that was forked while it was held still has it open.
            let _ = file.unlock();
        }
    }
}

/// Waits for the lock that `folder` has in this process only, where the kernel's are not used.
///
/// Folders share a few locks, so a thread that holds one must not wait for another.
pub(super) fn lock_in_process(folder: &Path, mode: Mode) -> Held {
    static LOCKS: [RwLock<()>; 64] = [const { RwLock::new(()) }; 64];
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(folder);
    let lock = &LOCKS[hash as usize % LOCKS.len()];
    match mode {
        Mode::Shared => Held::Shared { _lock: sync::read(lock) },
        Mode::Exclusive => Held::Exclusive { _lock: sync::write(lock) },
    }
}

/// Waits for the lock of `folder`; `None` if the folder is not there.
///
/// # Errors
/// Whatever the system said in refusing the lock.
pub(super) fn lock(folder: &Path, mode: Mode) -> io::Result<Option<Held>> {
    let path = folder.join(LOCK);
    loop {
        let file = match open(&path, true) {
            Ok(file) => file,
            Err(e) if is_absence(&e) => return Ok(None),
            Err(e) => return Err(e),
        };
        loop {
            let locked = match mode {
                Mode::Shared => file.lock_shared(),
                Mode::Exclusive => file.lock(),
            };
            match locked {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
                Ok(()) => break,
            }
        }
        // The writer that erased the folder removed the lock's file with it; then this lock guards nothing.
        let guards = is_still_at(&path, &file);
        let held = Held::File(file);
        if guards? {
            return Ok(Some(held));
        }
    }
}

/// The lock file at `path`; created, if `create`. A link in its place is refused: whoever may place one here would have us
/// create a file where it leads.
pub(super) fn open(path: &Path, create: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(create).truncate(false);
    no_follow(&mut options);
    let opened = match options.open(path) {
        // Another user's file: reading suffices to lock it on most file systems.
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            let mut options = File::options();
            options.read(true);
            no_follow(&mut options);
            options.open(path).map_err(|_| e)
        }
        opened => opened,
    };
    opened.map_err(|e| not_a_link(path, e))
}

/// Unlinks the lock file of `folder`, which its caller holds exclusively, so that the folder can go.
///
/// Only where a waiting locker can tell that the file has gone.
pub(super) fn unlink(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match fs::remove_file(folder.join(LOCK)) {
        Err(e) if !is_absence(&e) => Err(e),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn threads_keep_each_other_out_and_shared_locks_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let shared = lock(folder.path(), Mode::Shared).unwrap();
        let also = lock(folder.path(), Mode::Shared).unwrap();
        let (done, waits) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _held = lock(folder.path(), Mode::Exclusive).unwrap();
                done.send(()).unwrap();
            });
            assert!(waits.recv_timeout(Duration::from_millis(50)).is_err());
            drop((shared, also));
            waits.recv_timeout(Duration::from_secs(10)).unwrap();
        });
    }

    #[cfg(unix)]
    #[test]
    fn whoever_waited_for_a_vanished_lock_waits_for_the_one_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let first = lock(folder.path(), Mode::Exclusive).unwrap();
        let (done, waits) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _held = lock(folder.path(), Mode::Exclusive).unwrap();
                done.send(()).unwrap();
            });
            thread::sleep(Duration::from_millis(30));
            unlink(folder.path()).unwrap();
            let second = lock(folder.path(), Mode::Exclusive).unwrap();
            drop(first);
            assert!(waits.recv_timeout(Duration::from_millis(50)).is_err());
            drop(second);
            waits.recv_timeout(Duration::from_secs(10)).unwrap();
        });
        let gone = lock(&folder.path().join("gone"), Mode::Shared).unwrap();
        assert!(gone.is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_place_of_the_lock_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("elsewhere", folder.path().join(LOCK)).unwrap();
        let error = lock(folder.path(), Mode::Shared).unwrap_err();
        assert!(error.to_string().contains("is a symbolic link"), "{error}");
        assert!(!folder.path().join("elsewhere").exists(), "nothing is made where it leads");
    }
}

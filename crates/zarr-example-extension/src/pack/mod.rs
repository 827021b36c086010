//! A store: keeps all keys in one file.
//!
//! `pack://PATH`. What is set and what is erased is appended to the file as a record; a map in memory,
//! built when the file is opened, tells where each value lies. One process writes at a time, as a lock on
//! the file makes sure; others may read what was there when they opened it. What was overwritten stays in
//! the file: copy the hierarchy to be rid of it.

mod log;
mod record;
mod store;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use zarr_core::store::{Store, SyncStore, from_sync};
use zarr_core::{Access, StoreError};

use self::log::Log;

/// One file that holds all keys. Clones, and stores of one path in one process, share it.
#[derive(Clone)]
pub struct PackStore {
    path: PathBuf,
    read_only: bool,
    log: Arc<Mutex<Log>>,
}

/// Opens the store that a URL `pack://PATH` names.
///
/// # Errors
/// [`StoreError::InvalidUrl`] without a path; otherwise as [`PackStore::open`].
pub fn open(url: &str, access: Access) -> Result<Arc<dyn Store>, StoreError> {
    match url.strip_prefix("pack://") {
        Some(path) if !path.is_empty() => Ok(from_sync(PackStore::open(path, access)?)),
        _ => Err(StoreError::InvalidUrl { url: url.into(), why: "write `pack://PATH`".into() }),
    }
}

impl PackStore {
    /// The store in the file at `path`, which is made when something is set in it.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the file cannot be read, or is damaged before its end.
    pub fn open(path: impl Into<PathBuf>, access: Access) -> Result<PackStore, StoreError> {
        // Two logs of one file would overwrite each other: handles of one process share theirs.
        static OPEN: Mutex<BTreeMap<PathBuf, Weak<Mutex<Log>>>> = Mutex::new(BTreeMap::new());
        let path = path.into();
        let path = path.canonicalize().or_else(|_| std::path::absolute(&path));
        let path = path.map_err(StoreError::io("open", ""))?;
        let mut logs = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        logs.retain(|_, log| log.strong_count() > 0);
        let log = match logs.get(&path).and_then(Weak::upgrade) {
            Some(log) => log,
            None => {
                let log = Log::open(&path).map_err(StoreError::io("open", ""))?;
                let log = Arc::new(Mutex::new(log));
                logs.insert(path.clone(), Arc::downgrade(&log));
                log
            }
        };
        Ok(PackStore { path, read_only: access == Access::ReadOnly, log })
    }

    // A poisoned lock is taken all the same: no step on the log can be left half done.
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log_to_write(&self) -> Result<MutexGuard<'_, Log>, StoreError> {
        if self.read_only {
            return Err(StoreError::ReadOnly);
        }
        let mut log = self.log();
        match log.begin_writing(&self.path) {
            Ok(()) => Ok(log),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                Err(StoreError::LockRefused { key: self.name(), source: e })
            }
            Err(e) => Err(StoreError::io("write", "")(e)),
        }
    }
}

impl fmt::Debug for PackStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(test)]
mod tests;

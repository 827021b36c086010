//! Lets one committer at a time change a repository in a folder.
//!
//! A commit replaces the file `repo`, or the file of a branch. Object stores do that under a condition; Icechunk's folders do not: of two
//! committers at the same time one would be lost.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use zarr_core::{Error, StoreError, sync};

/// The file that is locked. Icechunk and its garbage collection look only at names of their own.
const LOCK_FILE: &str = ".zarr-icechunk.lock";

/// The lock of one folder.
#[derive(Clone, Debug)]
pub struct FolderLock {
    folder: PathBuf,
}

/// A lock that is held until this is dropped.
pub struct Held {
    // The file is unlocked first.
    _file: File,
    _turn: OwnedMutexGuard<()>,
}

impl FolderLock {
    pub fn new(folder: PathBuf) -> Self {
        FolderLock { folder }
    }

    /// Waits until no other committer holds the lock, of this process or of another.
    ///
    /// # Errors
    /// [`StoreError::LockRefused`] on a file system without locks; if the file cannot be made.
    pub async fn acquire(&self) -> Result<Held, Error> {
        // Committers of this process wait here. In `File::lock` each would keep a thread of the pool that the holder's own files need.
        let turn = self.turn()?.lock_owned().await;
        let path = self.folder.join(LOCK_FILE);
        let locked = tokio::task::spawn_blocking(move || {
            let key = path.display().to_string();
            // Its contents do not matter; the file stays, since another process may be about to lock it.
            let file = File::options().create(true).truncate(false).write(true).open(&path);
            let file = file.map_err(StoreError::io("lock", &key))?;
            file.lock().map_err(|source| StoreError::LockRefused { key, source })?;
            Ok(file)
        });
        let locked = locked.await.map_err(|e| StoreError::Backend(Box::new(e)))?;
        let file = locked.map_err(|error: StoreError| match error {
            StoreError::LockRefused { .. } => Error::from(error).with_hint(
                "this file system does not support locks, without which two commits could lose one; keep the repository in an object \
                 store or on a local disk",
            ),
            error => error.into(),
        })?;
        Ok(Held { _file: file, _turn: turn })
    }

    /// The lock of this folder within this process.
    fn turn(&self) -> Result<Arc<AsyncMutex<()>>, StoreError> {
        /// By the process, too: in a forked one no thread would release what the other's had locked.
        type Turns = HashMap<(u32, PathBuf), Arc<AsyncMutex<()>>>;
        static TURNS: Mutex<Option<Turns>> = Mutex::new(None);
        let folder = self.folder.canonicalize();
        let folder = folder.map_err(StoreError::io("lock", self.folder.display()))?;
        let mut turns = sync::lock(&TURNS);
        let turns = turns.get_or_insert_default();
        Ok(turns.entry((std::process::id(), folder)).or_default().clone())
    }
}

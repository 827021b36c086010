//! Erases everything below a prefix.
//!
//! Folder by folder, from the innermost out; each holds its lock exclusively while its keys are erased, so that no
//! compare-and-swap falls between. The folder's lock file goes last, and then the folder (why that is
//! safe: docs/internals/design/concurrency.md).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use zarr_core::StoreError;
use zarr_core::store::{Result, StorePrefix};

use super::lock::{self, Held, Mode};
use super::path::{LOCK, flaw, is_own};
use super::{FilesystemStore, not_locked};
use crate::opened::is_absence;

/// What went wrong on the way.
enum Failure {
    Lock(io::Error),
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        Failure::Io(e)
    }
}

pub(super) fn erase_prefix(store: &FilesystemStore, prefix: &StorePrefix) -> Result<()> {
    let folder = store.folder("erase", prefix)?;
    erase_below(store, &folder).map_err(|failure| match failure {
        Failure::Io(source) => StoreError::io("erase", prefix)(source),
        Failure::Lock(source) => not_locked(prefix, source),
    })
}

/// Removes the link to a folder that `prefix` is, the root's among them; whether it was one.
pub(super) fn erase_link(store: &FilesystemStore, prefix: &StorePrefix) -> Result<bool> {
    let link = link(store, prefix)?;
    if let Some(link) = &link {
        let unlinked = unlink(link).and_then(|()| store.sync_folder(link.parent()));
        unlinked.map_err(StoreError::io("erase", prefix))?;
    }
    Ok(link.is_some())
}

/// The link to a folder that `prefix` is, if it is one.
pub(super) fn link(store: &FilesystemStore, prefix: &StorePrefix) -> Result<Option<PathBuf>> {
    let folder = store.folder("list", prefix)?;
    Ok((folder.is_symlink() && folder.is_dir()).then_some(folder))
}

fn erase_below(store: &FilesystemStore, folder: &Path) -> Result<(), Failure> {
    if folder == store.root {
        return erase_folder(store, folder);
    }
    match fs::symlink_metadata(folder) {
        Err(e) if is_absence(&e) => return Ok(()),
        Err(e) => return Err(e.into()),
        Ok(metadata) if metadata.is_dir() => erase_folder(store, folder)?,
        // Of a link to a folder the link goes. A file there is a key, and not below the prefix.
        Ok(metadata) if metadata.is_symlink() && folder.is_dir() => {
            unlink(folder)?;
            store.sync_folder(folder.parent())?;
        }
        Ok(_) => return Ok(()),
    }
    for above in folder.ancestors().skip(1) {
        if above == store.root || !remove_if_empty(store, above)? {
            break;
        }
    }
    Ok(())
}

/// What a folder holds, sorted by what erasing does with it.
#[derive(Default)]
struct Contents {
    folders: Vec<PathBuf>,
    /// Files and links with the names of keys, and unfinished values.
    files: Vec<PathBuf>,
    lock: bool,
    /// Other programs' files, whose names no key has: they stay, and so does the folder.
    foreign: bool,
}

impl Contents {
    fn of(folder: &Path) -> io::Result<Self> {
        let mut contents = Contents::default();
        let entries = match fs::read_dir(folder) {
            Err(e) if is_absence(&e) => return Ok(contents),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let is_folder = match entry.file_type() {
                Err(e) if is_absence(&e) => continue,
                kind => kind?.is_dir(),
            };
            let name = entry.file_name();
            match name.to_str() {
                Some(LOCK) => contents.lock = true,
                Some(name) if flaw(name).is_none() && is_folder => {
                    contents.folders.push(entry.path());
                }
                Some(name) if (flaw(name).is_none() || is_own(name)) && !is_folder => {
                    contents.files.push(entry.path());
                }
                _ => contents.foreign = true,
            }
        }
        Ok(contents)
    }
}

fn erase_folder(store: &FilesystemStore, folder: &Path) -> Result<(), Failure> {
    let before = Contents::of(folder)?;
    for inner in &before.folders {
        erase_folder(store, inner)?;
    }
    let mut needed = before.lock || !before.files.is_empty();
    let (held, now) = loop {
        let mode = needed.then_some(Mode::Exclusive);
        let Some(held) = store.lock(folder, mode).map_err(Failure::Lock)? else {
            return Ok(());
        };
        // Until the lock was ours, others could set and erase here; if they began to, it is needed.
        let now = Contents::of(folder)?;
        if needed || !now.lock && now.files.is_empty() {
            break (held, now);
        }
        needed = true;
    };
    for file in &now.files {
        unlink(file)?;
    }
    store.sync_folder(Some(folder))?;
    if folder != store.root && now.folders.is_empty() && !now.foreign {
        match held {
            // Never another's lock file: one that was made concurrently keeps the folder.
            Held::Nothing => drop(fs::remove_dir(folder)),
            _held => drop(remove(folder)?),
        }
    }
    Ok(())
}

/// Removes `folder` if nothing is in it but its lock file; whether it is gone.
fn remove_if_empty(store: &FilesystemStore, folder: &Path) -> Result<bool, Failure> {
    if fs::remove_dir(folder).is_ok() {
        return Ok(true);
    }
    if !has_only_lock(&Contents::of(folder)?) {
        return Ok(false);
    }
    match store.lock(folder, Some(Mode::Exclusive)).map_err(Failure::Lock)? {
        None => Ok(true),
        Some(_held) if has_only_lock(&Contents::of(folder)?) => Ok(remove(folder)?),
        Some(_) => Ok(false),
    }
}

/// Whether a folder has no other file than the lock.
fn has_only_lock(contents: &Contents) -> bool {
    contents.lock && !contents.foreign && contents.files.is_empty() && contents.folders.is_empty()
}

/// Removes the lock file of `folder`, held by the caller, and the folder; whether it is gone.
///
/// It stays where another writer set a key concurrently, and where the system keeps it: no key was to go with
/// it any more.
fn remove(folder: &Path) -> io::Result<bool> {
    lock::unlink(folder)?;
    Ok(fs::remove_dir(folder).is_ok())
}

/// Removes a file, or a link but not what is behind it.
fn unlink(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if is_absence(&e) => Ok(()),
        // Windows removes a link to a folder the way it removes folders.
        Err(_) if cfg!(windows) && path.is_symlink() => fs::remove_dir(path),
        done => done,
    }
}

//! Finds the files that dead writers left beside the values of a folder or of an archive. No store lists them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use zarr_core::NodePath;

use super::problem::{Problem, ProblemKind};
use crate::local_path::local_path;

/// An unfinished file that was not written to for this long is a dead writer's.
const DEAD: Duration = Duration::from_secs(3600);

/// The file of a lock. Writers remove it when they close the store.
const LOCK: &str = ".zarr-lock";

/// What writers left in the store of this name, below a prefix.
pub(crate) fn find(store: &str, prefix: &str, path: &NodePath) -> Vec<Problem> {
    let mut found = Vec::new();
    if let Some(root) = local_path(store, "file://") {
        walk(&root.join(prefix), prefix, &mut found);
    } else if let Some(inside) = local_path(store, "zip://") {
        let archive = inside.ancestors().find(|at| at.is_file());
        for end in [".zarr-part", ".zarr-compact"] {
            let beside = archive.map(|archive| {
                let mut name = archive.as_os_str().to_owned();
                name.push(end);
                PathBuf::from(name)
            });
            // The file with the other ending is written under the lock of this one.
            let locked = archive.map(|archive| {
                let mut name = archive.as_os_str().to_owned();
                name.push(".zarr-part");
                PathBuf::from(name)
            });
            if let (Some(file), Some(locked)) = (beside, locked)
                && file.is_file()
                && (!locked.is_file() || is_unlocked(&locked))
            {
                found.push(file.file_name().unwrap_or_default().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found.into_iter().map(|key| leftover(path, key)).collect()
}

/// The problem of a file that a writer left.
fn leftover(path: &NodePath, key: String) -> Problem {
    let message = if key.ends_with(LOCK) {
        "no writer holds this lock; the one that made it is gone, or still has the store open"
    } else {
        "a writer that is gone left it"
    };
    Problem::new(path, ProblemKind::Leftover, message).at(key)
}

/// Adds what is left in a folder and in those below it. Links are not followed.
fn walk(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let full = format!("{prefix}{name}");
        if kind.is_dir() {
            walk(&entry.path(), &format!("{full}/"), found);
        } else if kind.is_file() && is_left(name, &entry.path()) {
            found.push(full);
        }
    }
}

/// Whether a writer that is gone left a file: a lock that no process holds, or an unfinished file of a folder that no writer has locked, or an
/// old one.
fn is_left(name: &str, path: &Path) -> bool {
    if name == LOCK {
        // Elsewhere lock files stay.
        return cfg!(unix) && is_unlocked(path);
    }
    if !name.starts_with(".zarr-tmp-") {
        return false;
    }
    let changed = fs::metadata(path).and_then(|metadata| metadata.modified());
    if changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > DEAD)) {
        return true;
    }
    let lock = path.with_file_name(LOCK);
    let is_locked = !lock.is_symlink() && lock.is_file() && !is_unlocked(&lock);
    !is_locked
}

/// Whether no process holds the lock on a file. It is held for a moment here, for which others wait.
fn is_unlocked(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let is_free = file.try_lock().is_ok();
    let _ = file.unlock();
    is_free
}

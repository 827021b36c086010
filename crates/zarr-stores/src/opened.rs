//! Asks the system, for the folder and the archive, whether an opened file is still the one under its name, and makes names
//! durable on the disk.

use std::io;
#[cfg(any(feature = "filesystem", feature = "zip"))]
use std::io::ErrorKind;
use std::path::Path;

use crate::system::fs::{self, File};

/// Whether `path` still is the opened `file`.
#[cfg(all(unix, any(feature = "filesystem", feature = "zip")))]
pub(crate) fn is_still_at(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let at_path = match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(io::Error::other(format!("{} is not a file", path.display())));
        }
        Ok(metadata) => metadata,
        Err(e) if is_absence(&e) => return Ok(false),
        Err(e) => return Err(e),
    };
    let opened = file.metadata()?;
    Ok((at_path.dev(), at_path.ino()) == (opened.dev(), opened.ino()))
}

/// Elsewhere lock files are never unlinked, see there.
#[cfg(all(not(unix), any(feature = "filesystem", feature = "zip")))]
pub(crate) fn is_still_at(_: &Path, _: &File) -> io::Result<bool> {
    Ok(true)
}

/// Whether the system says that there is nothing: no such name, or a file where a folder would be.
#[cfg(any(feature = "filesystem", feature = "zip"))]
pub(crate) fn is_absence(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Makes a folder, and those above it that are not there; with `sync`, so that they outlast a power failure.
pub(crate) fn make_folder(folder: &Path, sync: bool) -> io::Result<()> {
    let absent: Vec<&Path> =
        folder.ancestors().take_while(|above| sync && !above.exists()).collect();
    fs::create_dir_all(folder)?;
    absent.iter().filter_map(|made| made.parent()).try_for_each(sync_folder)
}

/// Makes the names in `folder` outlast a power failure; on systems where folders cannot be synchronised, does nothing.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

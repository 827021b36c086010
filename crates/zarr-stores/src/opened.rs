//! Asks the system, for the folder and the archive, whether an opened file is still the one under its name, and makes names
//! durable on the disk.

use std::io::{self, ErrorKind};
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
pub(crate) fn is_absence(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// An error if nothing is at `place` only since a link on the way to it, from the root on, leads to nothing: what cannot be read is
/// not absent (a file of a clone that git-annex or DataLad has not fetched, a disk that is not mounted).
pub(crate) fn check_links(root: &Path, place: &Path) -> io::Result<()> {
    for at in place.ancestors() {
        match at.symlink_metadata() {
            Ok(found) if !found.is_symlink() => return Ok(()),
            // A file where a folder would be.
            Ok(_) if at.metadata().is_ok() => return Ok(()),
            Ok(_) => {
                let to = at.read_link().unwrap_or_default();
                let is_of_annex = to.components().any(|part| part.as_os_str() == "annex");
                let hint = if is_of_annex {
                    "; git-annex keeps what it leads to: fetch it with `datalad get` or `git annex get`"
                } else {
                    ""
                };
                let link = at.strip_prefix(root).unwrap_or(at);
                let link = if link.as_os_str().is_empty() { at } else { link };
                let (link, to) = (link.display(), to.display());
                let why =
                    format!("`{link}` is a symbolic link to `{to}`, and nothing is there{hint}");
                return Err(io::Error::other(why));
            }
            Err(e) if is_absence(&e) => {}
            Err(e) => return Err(e),
        }
        if at == root {
            break;
        }
    }
    Ok(())
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

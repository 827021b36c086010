//! Lists the keys in a folder.

use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::path::Path;

use zarr_core::StoreError;
use zarr_core::format::TOOL_FOLDERS;
use zarr_core::store::{Listing, Result, StoreKey, StorePrefix};

use super::path::{flaw, is_own};
use super::{FilesystemStore, is_absence};
use crate::opened::check_links;

/// What an entry of a folder is to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It holds a value.
    File,
    /// It holds entries.
    Folder,
    /// A device, or a link that leads back or that a tool's folder is.
    Neither,
}

impl FilesystemStore {
    /// Every key below a prefix.
    pub(super) fn list_below(&self, prefix: &StorePrefix) -> Result<Listing> {
        let mut listing = Listing::default();
        let folder = self.folder("list", prefix)?;
        self.walk(&folder, prefix.as_str(), &mut listing)?;
        listing.keys.sort_unstable();
        listing.left_out.sort_unstable();
        Ok(listing)
    }

    /// The files and the folders that are `wanted`.
    pub(super) fn list_folder(
        &self,
        prefix: &StorePrefix,
        limit: Option<usize>,
        wanted: impl Fn(&Path) -> io::Result<bool>,
    ) -> Result<Listing> {
        let mut listing = Listing::default();
        let Listing { keys, prefixes, left_out, .. } = &mut listing;
        let folder = self.folder("list", prefix)?;
        self.for_each(&folder, prefix.as_str(), left_out, |name, entry| {
            let full = || format!("{prefix}{name}");
            let failed = |e| StoreError::io("list", full())(e);
            match self.kind(&folder, entry).map_err(failed)? {
                Kind::File => keys.extend(StoreKey::new(full())),
                Kind::Folder => {
                    // One that may not be read is there, whatever it holds.
                    let is_wanted = match wanted(&folder.join(name)) {
                        Err(e) if e.kind() == ErrorKind::PermissionDenied => true,
                        wanted => wanted.map_err(failed)?,
                    };
                    if is_wanted {
                        prefixes.extend(StorePrefix::new(full() + "/"));
                    }
                }
                Kind::Neither => {}
            }
            Ok(limit.is_none_or(|limit| keys.len() + prefixes.len() < limit))
        })?;
        listing.left_out.sort_unstable();
        listing.keys.sort_unstable();
        listing.prefixes.sort_unstable();
        Ok(listing)
    }

    fn walk(&self, folder: &Path, prefix: &str, listing: &mut Listing) -> Result<()> {
        let mut left_out = Vec::new();
        self.for_each(folder, prefix, &mut left_out, |name, entry| {
            let full = format!("{prefix}{name}");
            match self.kind(folder, entry).map_err(|e| StoreError::io("list", &full)(e))? {
                Kind::File => listing.keys.extend(StoreKey::new(full)),
                Kind::Folder => self.walk(&folder.join(name), &(full + "/"), listing)?,
                Kind::Neither => {}
            }
            Ok(true)
        })?;
        listing.left_out.append(&mut left_out);
        Ok(())
    }

    /// Whether any key is below `folder`: an empty folder is no prefix (D-136).
    pub(super) fn holds_any(&self, folder: &Path) -> io::Result<bool> {
        for entry in entries(folder)? {
            let Some(entry) = present(entry)? else { continue };
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| flaw(name).is_none()) else { continue };
            let holds = match self.kind(folder, &entry)? {
                Kind::File => true,
                Kind::Folder => self.holds_any(&folder.join(name))?,
                Kind::Neither => false,
            };
            if holds {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Calls `each` with the entries of `folder` whose names could be in keys, until it returns `false`.
    ///
    /// Names of other programs that no key has are added to `left_out`, with `prefix`; files of our own are skipped. A folder
    /// that does not exist, or vanishes, has no entries; one behind a link that leads to nothing is an error.
    fn for_each(
        &self,
        folder: &Path,
        prefix: &str,
        left_out: &mut Vec<String>,
        mut each: impl FnMut(&str, &DirEntry) -> Result<bool>,
    ) -> Result<()> {
        let failed = |e| StoreError::io("list", prefix)(e);
        let entries = match fs::read_dir(folder) {
            Err(e) if is_absence(&e) => {
                return check_links(&self.root, folder).map_err(failed);
            }
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let Some(entry) = present(entry).map_err(failed)? else { continue };
            let name = entry.file_name();
            let Some(usable) = name.to_str().filter(|name| flaw(name).is_none()) else {
                if !name.to_str().is_some_and(is_own) {
                    left_out.push(format!("{prefix}{}", name.to_string_lossy()));
                }
                continue;
            };
            if !each(usable, &entry)? {
                break;
            }
        }
        Ok(())
    }

    fn kind(&self, folder: &Path, entry: &DirEntry) -> io::Result<Kind> {
        let own = match entry.file_type() {
            Err(e) if is_absence(&e) => return Ok(Kind::Neither),
            own => own?,
        };
        if !own.is_symlink() {
            return Ok(kind_of(own));
        }
        // Tools' folders are ours from their own names on, and nothing in them is reached through a link.
        let link = entry.path();
        let names = link.strip_prefix(&self.root).unwrap_or(&link).iter();
        if names.filter_map(|name| name.to_str()).any(|name| TOOL_FOLDERS.contains(&name)) {
            return Ok(Kind::Neither);
        }
        // One that leads nowhere, or in circles, or where we may not go, is a value that cannot be read: it is not absent.
        let Ok(target) = fs::metadata(entry.path()) else {
            return Ok(Kind::File);
        };
        match kind_of(target.file_type()) {
            Kind::Folder if self.leads_back(folder, &entry.path())? => Ok(Kind::Neither),
            kind => Ok(kind),
        }
    }

    /// Whether a link in `folder` leads to a folder on the way to it: following it would never end.
    fn leads_back(&self, folder: &Path, link: &Path) -> io::Result<bool> {
        let target = fs::canonicalize(link)?;
        for above in folder.ancestors().take_while(|above| above.starts_with(&self.root)) {
            if fs::canonicalize(above)?.starts_with(&target) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A pipe, a socket or a device is listed as a value, so that whoever reads it learns that it is none: if it were passed over,
/// a chunk in whose place it lies would count as never written.
fn kind_of(file_type: fs::FileType) -> Kind {
    if file_type.is_dir() { Kind::Folder } else { Kind::File }
}

/// What a folder holds; nothing, if it does not exist.
fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<DirEntry>>> {
    match fs::read_dir(folder) {
        Err(e) if is_absence(&e) => Ok(None.into_iter().flatten()),
        entries => Ok(Some(entries?).into_iter().flatten()),
    }
}

/// An entry; `None` if it vanished.
fn present(entry: io::Result<DirEntry>) -> io::Result<Option<DirEntry>> {
    match entry {
        Err(e) if is_absence(&e) => Ok(None),
        entry => entry.map(Some),
    }
}

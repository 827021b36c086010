//! Lists the keys in a folder.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

use zarr_core::StoreError;
use zarr_core::store::{Listing, Result, StoreKey, StorePrefix};

use super::path::{flaw, is_own};
use super::{FilesystemStore, is_absence};

/// What an entry of a folder is to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It holds a value.
    File,
    /// It holds entries.
    Folder,
    /// A device, or a link that leads nowhere or back.
    Neither,
}

impl FilesystemStore {
    /// Every key below a prefix.
    pub(super) fn list_below(&self, prefix: &StorePrefix) -> Result<Listing> {
        let mut listing = Listing::default();
        let folder = self.folder(prefix)?;
        let walked = self.walk(&folder, prefix.as_str(), &mut listing);
        walked.map_err(StoreError::io("list", prefix))?;
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
        let folder = self.folder(prefix)?;
        let listed = for_each(&folder, prefix.as_str(), left_out, |name, entry| {
            let full = || format!("{prefix}{name}");
            match self.kind(&folder, entry)? {
                Kind::File => keys.extend(StoreKey::new(full())),
                Kind::Folder if wanted(&folder.join(name))? => {
                    prefixes.extend(StorePrefix::new(full() + "/"));
                }
                _ => {}
            }
            Ok(limit.is_none_or(|limit| keys.len() + prefixes.len() < limit))
        });
        listed.map_err(StoreError::io("list", prefix))?;
        listing.left_out.sort_unstable();
        listing.keys.sort_unstable();
        listing.prefixes.sort_unstable();
        Ok(listing)
    }

    fn walk(&self, folder: &Path, prefix: &str, listing: &mut Listing) -> io::Result<()> {
        let mut left_out = Vec::new();
        for_each(folder, prefix, &mut left_out, |name, entry| {
            let full = format!("{prefix}{name}");
            match self.kind(folder, entry)? {
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
        let mut holds = false;
        for_each(folder, "", &mut Vec::new(), |name, entry| {
            holds = match self.kind(folder, entry)? {
                Kind::File => true,
                Kind::Folder => self.holds_any(&folder.join(name))?,
                Kind::Neither => false,
            };
            Ok(!holds)
        })?;
        Ok(holds)
    }

    fn kind(&self, folder: &Path, entry: &DirEntry) -> io::Result<Kind> {
        let of = |kind: fs::FileType| match (kind.is_file(), kind.is_dir()) {
            (true, _) => Kind::File,
            (_, true) => Kind::Folder,
            _ => Kind::Neither,
        };
        let own = match entry.file_type() {
            Err(e) if is_absence(&e) => return Ok(Kind::Neither),
            own => own?,
        };
        if !own.is_symlink() {
            return Ok(of(own));
        }
        // A link that leads nowhere, or in circles, or where we may not go, holds nothing for us.
        let Ok(target) = fs::metadata(entry.path()) else {
            return Ok(Kind::Neither);
        };
        match of(target.file_type()) {
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

/// Calls `each` with the entries of `folder` whose names could be in keys, until it returns `false`.
///
/// Names of other programs that no key has are added to `left_out`, with `prefix`; files of our own are skipped. A folder
/// that does not exist, or vanishes, has no entries.
fn for_each(
    folder: &Path,
    prefix: &str,
    left_out: &mut Vec<String>,
    mut each: impl FnMut(&str, &DirEntry) -> io::Result<bool>,
) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(e) if is_absence(&e) => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = match entry {
            Err(e) if is_absence(&e) => continue,
            entry => entry?,
        };
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

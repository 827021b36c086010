//! Keeps the keys of a folder inside it: symbolic links that lead out are refused.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zarr::StoreError;
use zarr::store::{
    Capabilities, GetOptions, Got, ListOptions, Listing, Result, SnapshotOptions, Store, StoreKey,
    StorePrefix, SyncSnapshot, SyncStore, Version, from_sync,
};
use zarr::stores::FilesystemStore;

/// The folder of a store that is one.
pub(crate) fn folder_of(store: &dyn Store) -> Option<PathBuf> {
    let name = store.name();
    let path = FilesystemStore::from_url(&name).ok()?.root().to_owned();
    (name.starts_with("file://") && path.is_dir() && !path.join("data.mdb").exists())
        .then_some(path)
}

/// The store at the path `at`, which refuses keys whose value lies outside `root`. What is on this machine is read by calls that block.
pub(crate) fn guarded(store: &Arc<dyn Store>, at: &Path, root: &Path) -> Arc<dyn Store> {
    from_sync(Inside(store.to_sync(), Walls { at: at.to_owned(), root: root.to_owned() }))
}

/// A store of this machine, and what nothing may lead out of.
#[derive(Debug)]
struct Inside(Arc<dyn SyncStore>, Walls);

#[derive(Debug)]
struct Walls {
    /// The folder, archive or database of the store.
    at: PathBuf,
    root: PathBuf,
}

impl Walls {
    /// Refuses a key or a prefix that leads out of the root. What is not there leads nowhere.
    fn check(&self, operation: &'static str, key: &str) -> Result<()> {
        let failed = |e| StoreError::io(operation, key)(e);
        let root = self.root.canonicalize().map_err(failed)?;
        for path in [self.at.clone(), self.at.join("data.mdb"), self.at.join(key)] {
            match path.canonicalize() {
                Ok(path) if path.starts_with(&root) => {}
                Ok(_) => {
                    let why =
                        "a symbolic link leads out of what is served; `--follow-links` allows that";
                    return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, why)));
                }
                Err(e) if is_absence(&e) => {}
                // A folder that may not be entered, for example.
                Err(e) => return Err(failed(e)),
            }
        }
        Ok(())
    }

    /// A listing without what is behind links that lead out.
    fn kept(&self, mut listing: Listing) -> Listing {
        let mut known: HashMap<String, bool> = HashMap::new();
        listing.keys.retain(|key| {
            let folder = key.parent().as_str().to_owned();
            *known.entry(folder).or_insert_with_key(|folder| self.check("list", folder).is_ok())
        });
        listing.prefixes.retain(|prefix| self.check("list", prefix.as_str()).is_ok());
        listing
    }
}

fn is_absence(e: &io::Error) -> bool {
    // No value has a name that the system does not take.
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    matches!(e.kind(), NotFound | NotADirectory | InvalidFilename)
}

impl SyncStore for Inside {
    fn name(&self) -> String {
        self.0.name()
    }

    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    fn places(&self) -> Result<Vec<String>> {
        self.0.places()
    }

    fn refused_targets(&self) -> Result<Vec<StoreError>> {
        self.0.refused_targets()
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.0.public_options()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities().read_only()
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        self.1.check("get", key.as_str())?;
        self.0.get(key, how)
    }

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>> {
        self.1.check("get", key.as_str())?;
        self.0.open(key, how)
    }

    fn is_unchanged(&self, key: &StoreKey, version: &Version) -> Result<bool> {
        self.1.check("get", key.as_str())?;
        self.0.is_unchanged(key, version)
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        self.1.check("list", prefix.as_str())?;
        Ok(self.1.kept(self.0.list_prefix(prefix)?))
    }

    fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing> {
        self.1.check("list", prefix.as_str())?;
        Ok(self.1.kept(self.0.list_dir(prefix, how)?))
    }
}

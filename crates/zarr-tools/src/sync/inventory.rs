//! Lists what is stored at a place, with sizes and times.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use zarr_core::format::{is_zarr_key, system_part};
use zarr_core::store::{Bytes, GetOptions, StoreKey, StorePrefix, SyncStore};
use zarr_core::{Dialect, Error, Hierarchy, NodePath, Result};

use crate::copy::Local;
use crate::other_files::Links;
use crate::transfer::size_and_time;

/// A stored object. Its name is its key without the prefix of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub name: String,
    pub size: Option<u64>,
    /// When it was changed last: of the source the latest time that it can be, of the target the earliest.
    pub time: Option<SystemTime>,
    /// What tells its value from others, in listings that have it.
    pub version: Option<String>,
}

/// What is stored at a place.
pub(super) struct Inventory {
    pub store: Arc<dyn SyncStore>,
    pub prefix: StorePrefix,
    pub dialect: Dialect,
    /// Sorted by name.
    pub objects: Vec<Object>,
    /// What cannot be copied, each with its place.
    pub not_kept: Vec<String>,
    pub notes: Vec<String>,
    is_source: bool,
    folder: Option<std::path::PathBuf>,
}

/// The latest time that a value may have been set at: whole seconds may have gone on to their end.
fn latest(time: SystemTime) -> Option<SystemTime> {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(age) if age.subsec_nanos() == 0 => time.checked_add(SECOND),
        _ => Some(time),
    }
}

/// How exact the times of a store are that has whole seconds only.
const SECOND: Duration = Duration::from_secs(1);

impl Inventory {
    /// Lists the objects of a node and of all below it. What belongs to version control, desktops and tools of Zarr is left out:
    /// journals, locks, unfinished values.
    ///
    /// # Errors
    /// What listing meets.
    pub fn new(hierarchy: &Hierarchy, path: &NodePath, is_source: bool) -> Result<Inventory> {
        let store = hierarchy.store().to_sync();
        let prefix = match hierarchy.dialect() {
            Dialect::Draft => StorePrefix::root(),
            _ => hierarchy.format().children_prefix(path)?,
        };
        let name = store.name();
        let folder = Local::of(&name).filter(|local| local.scheme == "file");
        let mut inventory = Inventory {
            store,
            prefix,
            dialect: hierarchy.dialect(),
            objects: Vec::new(),
            not_kept: Vec::new(),
            notes: Vec::new(),
            is_source,
            folder: folder.map(|local| local.path),
        };
        inventory.list()?;
        Ok(inventory)
    }

    /// The objects that are there now.
    ///
    /// # Errors
    /// What listing meets.
    pub fn again(&self) -> Result<Vec<Object>> {
        let mut now = Inventory {
            store: self.store.clone(),
            prefix: self.prefix.clone(),
            dialect: self.dialect,
            objects: Vec::new(),
            not_kept: Vec::new(),
            notes: Vec::new(),
            is_source: self.is_source,
            folder: self.folder.clone(),
        };
        now.list()?;
        Ok(now.objects)
    }

    fn list(&mut self) -> Result<()> {
        let listing = self.store.list_prefix(&self.prefix);
        let listing = listing.map_err(|e| Error::from(e).at_store(self.store.name()))?;
        // Links of a source that lead out of it are followed for what is Zarr's alone, as copies do.
        let mut links = Links::of(&self.store.name()).filter(|_| self.is_source);
        let mut told = std::collections::BTreeSet::new();
        for (n, key) in listing.keys.iter().enumerate() {
            let Some(name) = self.prefix.strip(key) else { continue };
            if let Some(part) = system_part(name) {
                if self.is_source && told.insert(part.to_owned()) {
                    self.notes.push(format!("left out: `{part}` is not part of the data"));
                }
                continue;
            }
            if let Some(links) = &mut links
                && !is_zarr_key(key)
                && let Some(unkept) = links.unkept(key.as_str())
            {
                if told.insert(unkept.key) {
                    self.not_kept.push(unkept.message);
                }
                continue;
            }
            let mut object = Object {
                name: name.to_owned(),
                size: listing.sizes.get(n).copied(),
                time: listing.times.get(n).copied(),
                version: listing.versions.get(n).cloned(),
            };
            if let Some(found) = self.look(key) {
                object.size = Some(found.len());
                object.time = self.time_of(&found);
            }
            if self.is_source {
                object.time = object.time.and_then(latest);
            }
            self.objects.push(object);
        }
        for name in listing.left_out {
            if self.is_source && system_part(&name).is_none() {
                self.not_kept.push(format!("`{name}`: no key can have this name"));
            }
        }
        self.objects.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }

    /// Whether the store may hide objects: a web server lists by the indices that it gives for people.
    pub fn may_hide(&self) -> bool {
        !self.store.capabilities().list
    }

    /// What the store tells of an object that its listing tells no size of; `None` if it is not there.
    ///
    /// # Errors
    /// What the store reports.
    pub fn ask(&self, name: &str) -> Result<Option<Object>> {
        let key = self.prefix.key(name)?;
        let Some((size, time)) = size_and_time((&*self.store, &key))? else { return Ok(None) };
        let time = if self.is_source { time.and_then(latest) } else { time };
        Ok(Some(Object { name: name.to_owned(), size: Some(size), time, version: None }))
    }

    /// What the system tells of the file of a key, in a folder.
    fn look(&self, key: &StoreKey) -> Option<std::fs::Metadata> {
        std::fs::metadata(self.folder.as_ref()?.join(key.as_str())).ok()
    }

    /// When a file was changed. A file that came from elsewhere may bring an old time of its content along; when it came, the time
    /// of its inode tells.
    fn time_of(&self, found: &std::fs::Metadata) -> Option<SystemTime> {
        let modified = found.modified().ok()?;
        if !self.is_source {
            return Some(modified);
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let seconds = u64::try_from(found.ctime()).ok()?;
            let nanos = u32::try_from(found.ctime_nsec()).ok()?;
            let changed = SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))?;
            Some(modified.max(changed))
        }
        #[cfg(not(unix))]
        Some(modified)
    }

    /// Whether a link is on the way to an object. The object may be one itself.
    pub fn is_behind_link(&self, name: &str) -> bool {
        let Some(folder) = &self.folder else { return false };
        let key = format!("{}{name}", self.prefix);
        let mut above = key.match_indices('/').map(|(end, _)| &key[..end]);
        above.any(|above| folder.join(above).is_symlink())
    }

    /// The value of a document.
    ///
    /// # Errors
    /// What the store reports; one of more than `limit` bytes is too large.
    pub fn get(&self, name: &str, limit: u64) -> Result<Option<Bytes>> {
        let key = self.prefix.key(name)?;
        let got = self.store.get(&key, GetOptions::at_most(limit));
        let got = got.map_err(|e| Error::from(e).at_store(self.store.name()).at_key(&key))?;
        Ok(got.map(|got| got.bytes.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store that tells whole seconds has cut off what was more of them.
    #[test]
    fn a_time_of_whole_seconds_may_be_up_to_a_second_later() {
        let at = |seconds, nanos| SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
        assert_eq!(latest(at(7, 0)), Some(at(8, 0)));
        assert_eq!(latest(at(7, 1)), Some(at(7, 1)));
    }
}

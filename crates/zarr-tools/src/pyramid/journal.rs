//! Keeps the journal of a pyramid under way in the image's store: its plan, which parts are done, and what they hand on.
//!
//! It is in `.zarr-copy/pyramid-<id>/`, beside the journals of copies. `pyramid.json` is put first. `cleared-<begun>` says that what
//! others had left at the places of the levels is erased; before it no chunk is written. `<image>/done/<part>-<objects>` says that a part is
//! stored, in so many objects, with all it hands on, which is in `<image>/sums/<tile>`. In a store that cannot list, where nobody can count
//! objects, it is `<image>/done/<part>`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use zarr_core::format::copy_journal;
use zarr_core::store::{Bytes, GetOptions, StoreKey, StorePrefix, SyncStore};
use zarr_core::sync::lock;
use zarr_core::{Error, Hierarchy, Json, MetadataError, NodePath, Result};

use crate::copy::put_new;
use crate::errors::at_key;

/// How the names of journals of pyramids begin.
pub(crate) const PYRAMID: &str = "pyramid-";
/// The plan's name.
pub(crate) const PLAN: &str = "pyramid.json";

/// A part that was done when it was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DonePart {
    pub part: u64,
    /// How many stored objects it has; 0 if that is not known.
    pub objects: u64,
}

/// The journal of a pyramid of one image.
pub(super) struct Journal {
    store: Arc<dyn SyncStore>,
    prefix: StorePrefix,
    max_document: u64,
}

impl Journal {
    pub fn new(hierarchy: &Hierarchy, image: &NodePath) -> Result<Journal> {
        let copy = copy_journal(image);
        let id = copy.as_str().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let prefix = StorePrefix::new(format!(".zarr-copy/{PYRAMID}{id}/"))?;
        let max_document = hierarchy.options().limits.document;
        Ok(Journal { store: hierarchy.store().to_sync(), prefix, max_document })
    }

    fn key(&self, name: &str) -> Result<StoreKey> {
        Ok(self.prefix.key(name)?)
    }

    fn get(&self, name: &str, most: u64) -> Result<Option<Bytes>> {
        let key = self.key(name)?;
        let got = self.store.get(&key, GetOptions::at_most(most));
        let got = got.map_err(|e| Error::from(e).at_store(self.store.name()).at_key(&key))?;
        Ok(got.map(|got| got.bytes.unwrap_or_default()))
    }

    fn set(&self, name: &str, value: &[u8]) -> Result<()> {
        let key = self.key(name)?;
        let set = self.store.set(&key, value.into());
        set.map_err(|e| Error::from(e).at_store(self.store.name()).at_key(&key))
    }

    /// The plan of the pyramid that is under way, if one is.
    pub fn plan(&self) -> Result<Option<Json>> {
        if !self.store.capabilities().read {
            return Ok(None);
        }
        let Some(bytes) = self.get(PLAN, self.max_document)? else { return Ok(None) };
        let plan = Json::parse(&bytes).map_err(|why| self.broken(&why))?;
        Ok(Some(plan))
    }

    /// The error of a plan that cannot be read.
    pub fn broken(&self, why: &str) -> Error {
        let error = Error::from(MetadataError::invalid("plan", why)).at_store(self.store.name());
        let error = match self.key(PLAN) {
            Ok(key) => error.at_key(&key),
            Err(_) => error,
        };
        error.with_hint("this version cannot continue from this journal; start over with `--restart` (library: `PyramidOptions::restart`)")
    }

    /// Puts the plan of a new pyramid; `false` if there is one.
    pub fn put_plan(&self, plan: &Json) -> Result<bool> {
        put_new(&*self.store, &self.key(PLAN)?, plan.to_string().as_bytes())
    }

    /// Whether the places of the levels are known to have nothing of others.
    pub fn is_cleared(&self, begun: &str) -> Result<bool> {
        Ok(self.get(&format!("cleared-{begun}"), self.max_document)?.is_some())
    }

    pub fn set_cleared(&self, begun: &str) -> Result<()> {
        self.set(&format!("cleared-{begun}"), b"{}")
    }

    /// The parts of an image that were done, of so many.
    pub fn parts_done(&self, image: usize, parts: u64) -> Result<Vec<DonePart>> {
        let done = StorePrefix::new(format!("{}{image}/done/", self.prefix.as_str()))?;
        if !self.can_list() {
            let mut found = Vec::new();
            for part in 0..parts {
                if self.get(&format!("{image}/done/{part}"), self.max_document)?.is_some() {
                    found.push(DonePart { part, objects: 0 });
                }
            }
            return Ok(found);
        }
        let listing = self.store.list_prefix(&done)?;
        let parts = listing.keys.iter().filter_map(|key| {
            let (part, objects) = done.strip(key)?.split_once('-')?;
            Some(DonePart { part: part.parse().ok()?, objects: objects.parse().ok()? })
        });
        Ok(parts.collect())
    }

    fn can_list(&self) -> bool {
        self.store.capabilities().list
    }

    fn done_name(&self, image: usize, done: DonePart) -> String {
        let DonePart { part, objects } = done;
        if self.can_list() {
            format!("{image}/done/{part}-{objects}")
        } else {
            format!("{image}/done/{part}")
        }
    }

    pub fn set_done(&self, image: usize, done: DonePart) -> Result<()> {
        self.set(&self.done_name(image, done), b"{}")
    }

    /// Forgets that a part was done.
    pub fn unset_done(&self, image: usize, done: DonePart) -> Result<()> {
        let key = self.key(&self.done_name(image, done))?;
        self.store.erase(&key).map_err(|e| at_key(e, &*self.store, &key))
    }

    /// Erases the journal: the plan first, without which the rest has no meaning.
    pub fn erase(&self) -> Result<()> {
        let key = self.key(PLAN)?;
        self.store.erase(&key).map_err(|e| at_key(e, &*self.store, &key))?;
        self.store.erase_prefix(&self.prefix).map_err(|e| at_key(e, &*self.store, &key))
    }
}

/// What the tiles of one level hand on to those who make the levels above it, by the numbers of the tiles.
pub(super) enum Handover<'a> {
    /// Within this process.
    Memory(Mutex<HashMap<u64, Vec<u8>>>),
    /// In the journal, for other processes and later ones: the image's number.
    Journal(&'a Journal, usize),
}

impl Handover<'_> {
    pub fn put(&self, tile: u64, bytes: Vec<u8>) -> Result<()> {
        match self {
            Handover::Memory(tiles) => drop(lock(tiles).insert(tile, bytes)),
            Handover::Journal(journal, image) => {
                journal.set(&format!("{image}/sums/{tile}"), &bytes)?;
            }
        }
        Ok(())
    }

    /// What a tile has handed on, of at most so many bytes.
    pub fn get(&self, tile: u64, most: u64) -> Result<Option<Vec<u8>>> {
        match self {
            Handover::Memory(tiles) => Ok(lock(tiles).get(&tile).cloned()),
            Handover::Journal(journal, image) => {
                let bytes = journal.get(&format!("{image}/sums/{tile}"), most)?;
                Ok(bytes.map(|bytes| bytes.to_vec()))
            }
        }
    }
}

//! Runs a sync: copies chunks and other files, then documents, then deletes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use zarr_core::store::Precondition;
use zarr_core::{Error, Result};

use super::inventory::Object;
use super::{Document, SyncOptions, SyncPlan, SyncProgress, Synced, order};
use crate::copy::default_memory;
use crate::transfer::{Room, Transfer};

impl SyncPlan {
    /// Does what is planned. A sync that ended early goes on when it is planned and run again.
    ///
    /// # Errors
    /// What either store meets; [`zarr_core::AccessError::Cancelled`]; [`zarr_core::CodecError::Corrupt`] if
    /// [`SyncOptions::verify`] finds other bytes than in the source.
    pub fn run(&self, options: &SyncOptions<'_>) -> Result<Synced> {
        let mut synced = Synced::default();
        if self.objects() > 0 || !self.deleted.is_empty() {
            self.journal.put()?;
        }
        let transfer = Transfer {
            from: self.source.store.clone(),
            to: self.target.store.clone(),
            cancel: options.cancel.clone(),
            verify: options.verify,
            guarded: true,
            again: "run the same command again",
            room: Room::of_memory(options.memory.unwrap_or_else(default_memory)),
        };
        let total = self.bytes();
        let done = AtomicU64::new(0);
        let tell = |bytes: u64| {
            let bytes_done = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
            if let Some(progress) = options.progress {
                progress(&SyncProgress { bytes_done, bytes_total: total.max(bytes_done) });
            }
        };
        let mut gone = BTreeSet::new();
        transfer.copy_all(
            &self.data,
            |planned| self.place(&planned.name),
            &mut |index, size| {
                match size {
                    Some(size) => {
                        synced.copied += 1;
                        synced.bytes += size;
                        tell(size);
                    }
                    None => drop(gone.insert(self.data[index].name.clone())),
                }
                Ok(())
            },
        )?;
        // Those of one depth do not wait for each other; deeper ones are there before.
        for same_depth in self.documents.chunk_by(|a, b| order(&a.name) == order(&b.name)) {
            self.write(same_depth, &transfer, &mut |bytes| {
                synced.copied += 1;
                synced.bytes += bytes;
                tell(bytes);
            })?;
        }
        for together in self.deleted.chunk_by(|a, b| order(&a.name) == order(&b.name)) {
            transfer.for_each(
                together.len(),
                |index, tell| {
                    let key = self.target.prefix.key(&together[index].name)?;
                    let erased = self.target.store.put(&key, None, Precondition::Always);
                    erased.map_err(|e| {
                        Error::from(e).at_store(self.target.store.name()).at_key(&key)
                    })?;
                    tell(())
                },
                &mut |()| {
                    synced.deleted += 1;
                    Ok(())
                },
            )?;
        }
        // That of a sync that was killed before this one, too.
        self.journal.erase()?;
        let flushed = self.target.store.flush();
        flushed.map_err(|e| Error::from(e).at_store(self.target.store.name()))?;
        gone.extend(self.changed_names()?);
        synced.changed = gone.into_iter().collect();
        Ok(synced)
    }

    /// Writes documents as they were read when the sync was planned: before, their chunks were listed.
    fn write(
        &self,
        documents: &[Document],
        transfer: &Transfer,
        done: &mut dyn FnMut(u64),
    ) -> Result<()> {
        transfer.for_each(
            documents.len(),
            |index, tell| {
                let Document { name, bytes, .. } = &documents[index];
                let key = self.target.prefix.key(name)?;
                let set = self.target.store.set(&key, bytes.clone().into());
                set.map_err(|e| Error::from(e).at_store(self.target.store.name()).at_key(&key))?;
                tell(bytes.len() as u64)
            },
            &mut |&bytes| {
                done(bytes);
                Ok(())
            },
        )
    }

    /// The names of what others have changed in the source since it was listed.
    fn changed_names(&self) -> Result<BTreeSet<String>> {
        let now = self.source.again()?;
        let mut changed = BTreeSet::new();
        let before: HashMap<&str, &Object> =
            self.source.objects.iter().map(|object| (&*object.name, object)).collect();
        let mut found = 0;
        for object in &now {
            match before.get(&*object.name) {
                Some(was) => {
                    found += 1;
                    if *was != object {
                        changed.insert(object.name.clone());
                    }
                }
                None if self.left_out.contains(&object.name) => {}
                None => drop(changed.insert(object.name.clone())),
            }
        }
        if found < before.len() {
            let there: HashSet<&str> = now.iter().map(|object| &*object.name).collect();
            let gone = before.keys().filter(|name| !there.contains(**name));
            changed.extend(gone.map(|name| (*name).to_owned()));
        }
        Ok(changed)
    }
}

//! Moves values into the folder `.zarr-quarantine`, and back to their keys.
//!
//! A value is copied, the copy is read back and compared, a record is written, and only then the key is erased, if it still has the version
//! that was copied. So each byte is at its key or in the quarantine at every moment. A move that was cut off is finished by the next one of the
//! same value, which finds the copy.

use std::collections::BTreeSet;
use std::sync::Arc;

use zarr_core::store::{
    ByteRange, GetOptions, Payload, Precondition, SnapshotOptions, StoreKey, StorePrefix,
    SyncSnapshot, SyncStore, Version,
};
use zarr_core::{Guard, Json, Object, StoreError};

use super::time;

/// The folder of what was moved away.
pub(super) const FOLDER: &str = ".zarr-quarantine";

/// The folder in it with a record of each move.
const RECORDS: &str = ".records";

/// How many bytes of two values are compared at a time.
const COPY_STEP_BYTES: u64 = 1 << 20;

/// A value and its version.
pub(super) struct Held {
    pub value: Arc<dyn SyncSnapshot>,
    version: Option<Version>,
}

/// Why a value is moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Why<'a> {
    /// The node.
    pub path: &'a str,
    /// The name of the problem's kind.
    pub kind: &'a str,
    /// The problem.
    pub message: &'a str,
}

/// How a change of a key ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The change was made; the old value is in the quarantine at this key.
    Done(StoreKey),
    /// Another writer was faster, and its value stays.
    Lost,
}

/// How the return of a value ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Return {
    /// It is at its key again.
    Done,
    /// Its key has another value, which stays; so does this one in the quarantine.
    Occupied,
    /// The quarantine does not have it any more.
    Gone,
}

/// A value in the quarantine, as its record describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The record's own key.
    at: StoreKey,
    /// The key that the value had.
    pub key: StoreKey,
    /// Its key in the quarantine.
    pub moved_to: StoreKey,
}

/// The quarantine of a store.
pub(super) struct Quarantine {
    store: Arc<dyn SyncStore>,
    guard: Guard,
    /// The keys in it.
    taken: BTreeSet<String>,
}

impl Quarantine {
    /// The quarantine of a store, after a listing of it.
    pub fn open(store: Arc<dyn SyncStore>, guard: Guard) -> Result<Quarantine, StoreError> {
        let prefix = StorePrefix::new(format!("{FOLDER}/"))?;
        let listing = store.list_prefix(&prefix)?;
        let taken = listing.keys.iter().map(ToString::to_string).collect();
        Ok(Quarantine { store, guard, taken })
    }

    /// The value of a key as it is now, for as long as the answer lives.
    pub fn hold(&self, key: &StoreKey) -> Result<Option<Held>, StoreError> {
        let value = self.store.open(key, SnapshotOptions::for_update())?;
        value
            .map(|value| {
                let value: Arc<dyn SyncSnapshot> = Arc::from(value);
                // A remote value may be opened without a request.
                value.read(&[])?;
                Ok(Held { version: value.version(), value })
            })
            .transpose()
    }

    /// Whether values can be erased here without the loss of one that another program writes at that moment.
    pub fn can_erase(&self) -> bool {
        self.guard == Guard::Off || self.store.capabilities().swap_erase
    }

    /// Moves a value away from its key.
    pub fn move_away(
        &mut self,
        key: &StoreKey,
        held: &Held,
        why: Why<'_>,
    ) -> Result<Change, StoreError> {
        let kept = self.keep(key, held, why)?;
        self.change(key, None, held)
            .map(|done| if done { Change::Done(kept) } else { Change::Lost })
    }

    /// Puts another value in place of one, which is kept in the quarantine.
    pub fn replace(
        &mut self,
        key: &StoreKey,
        held: &Held,
        by: Payload<'_>,
        why: Why<'_>,
    ) -> Result<Change, StoreError> {
        let kept = self.keep(key, held, why)?;
        let done = self.change(key, Some(by), held)?;
        Ok(if done { Change::Done(kept) } else { Change::Lost })
    }

    /// Copies a value into the quarantine, and returns the key that it has there.
    pub fn keep(
        &mut self,
        key: &StoreKey,
        held: &Held,
        why: Why<'_>,
    ) -> Result<StoreKey, StoreError> {
        let size = held.value.size();
        let mut attempt = 0;
        let kept = loop {
            let name = self.name(key, attempt)?;
            attempt += 1;
            if !self.taken.contains(name.as_str()) {
                let payload = Payload::default().and_kept(&held.value, 0..size);
                self.taken.insert(name.to_string());
                if self.put_new(&name, payload)? {
                    if !self.is_equal(&name, &held.value)? {
                        let what =
                            format!("`{name}` is not what was just written; nothing was erased");
                        return Err(StoreError::Backend(what.into()));
                    }
                    break name;
                }
            }
            // A copy without a record is that of a move which was cut off. One with a record may be given back at this moment.
            let is_recorded = self.taken.contains(record_of(&name)?.as_str());
            if !is_recorded && self.is_equal(&name, &held.value)? {
                break name;
            }
        };
        let record = record_of(&kept)?;
        let text = Object::new()
            .with("key", key.as_str())
            .with("moved_to", kept.as_str())
            .with("path", why.path)
            .with("kind", why.kind)
            .with("message", why.message)
            .with("size", size)
            .with("time", time::now());
        let text = format!("{}\n", Json::from(text));
        self.taken.insert(record.to_string());
        self.put_new(&record, Payload::new(text.into_bytes()))?;
        Ok(kept)
    }

    /// A key in the quarantine for a value; the `attempt` tells those that are in use from each other.
    fn name(&self, key: &StoreKey, attempt: usize) -> Result<StoreKey, StoreError> {
        let segments: Vec<&str> = key.as_str().split('/').collect();
        let mut name = FOLDER.to_owned();
        for (at, segment) in segments.iter().enumerate() {
            let is_last = at + 1 == segments.len();
            // Readers that look for documents in a whole store must not find these.
            let is_reserved = (is_last && is_document(segment)) || (at == 0 && *segment == RECORDS);
            let mut suffix = usize::from(is_reserved) + if is_last { attempt } else { 0 };
            loop {
                let mut full = format!("{name}/{segment}");
                if suffix > 0 {
                    full.push_str(&format!(".{suffix}"));
                }
                // A folder cannot have a file and a folder of one name.
                let is_in_the_way =
                    if is_last { self.is_folder(&full) } else { self.taken.contains(&full) };
                if !is_in_the_way {
                    name = full;
                    break;
                }
                suffix += 1;
            }
        }
        StoreKey::new(name)
    }

    fn is_folder(&self, name: &str) -> bool {
        let prefix = format!("{name}/");
        let mut below = self.taken.range(prefix.clone()..);
        below.next().is_some_and(|key| key.starts_with(&prefix))
    }

    /// Sets a key that must be absent; `false` if it is not.
    fn put_new(&self, key: &StoreKey, value: Payload<'_>) -> Result<bool, StoreError> {
        if self.store.capabilities().swap {
            return self.store.put(key, Some(value), Precondition::Absent);
        }
        if self.guard == Guard::On {
            return Err(StoreError::not_capable("guard a repair", "conditional"));
        }
        if self.store.get(key, GetOptions::default())?.is_some() {
            return Ok(false);
        }
        self.store.put(key, Some(value), Precondition::Unchecked)
    }

    /// Sets or erases a key that must have the value that is held; `false` if it has not.
    fn change(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        held: &Held,
    ) -> Result<bool, StoreError> {
        let can = self.store.capabilities();
        let is_guarded = if value.is_some() { can.swap } else { can.swap_erase };
        match &held.version {
            Some(version) if is_guarded => {
                self.store.put(key, value, Precondition::Version(version))
            }
            _ if self.guard == Guard::On => {
                Err(StoreError::not_capable("erase a value only if it is unchanged", "conditional"))
            }
            _ if self.is_equal(key, &held.value)? => {
                self.store.put(key, value, Precondition::Unchecked)
            }
            _ => Ok(false),
        }
    }

    /// Whether a key has exactly these bytes.
    fn is_equal(&self, key: &StoreKey, value: &Arc<dyn SyncSnapshot>) -> Result<bool, StoreError> {
        let Some(there) = self.store.open(key, SnapshotOptions::default())? else {
            return Ok(false);
        };
        there.read(&[])?;
        let size = value.size();
        if there.size() != size {
            return Ok(false);
        }
        for start in (0..size).step_by(COPY_STEP_BYTES as usize) {
            let part = ByteRange::Bounded { start, len: COPY_STEP_BYTES.min(size - start) };
            if there.read(&[part])? != value.read(&[part])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What is in the quarantine, sorted by key.
    pub fn records(&self) -> Result<Vec<Record>, StoreError> {
        let begin = format!("{FOLDER}/{RECORDS}/");
        let of_records = self.taken.range(begin.clone()..);
        let mut records = Vec::new();
        for at in of_records.take_while(|key| key.starts_with(&begin)) {
            let at = StoreKey::new(at.as_str())?;
            let Some(bytes) = self.store.value(&at)? else { continue };
            let record = Json::parse(&bytes).ok();
            let text = |name: &str| {
                let text = record.as_ref()?.as_object()?.get(name)?.as_str()?;
                StoreKey::new(text).ok()
            };
            if let (Some(key), Some(moved_to)) = (text("key"), text("moved_to"))
                && moved_to.as_str().starts_with(&format!("{FOLDER}/"))
            {
                records.push(Record { at, key, moved_to });
            }
        }
        records.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(records)
    }

    /// Moves a value back to its key, if that is absent.
    pub fn give_back(&mut self, record: &Record) -> Result<Return, StoreError> {
        let Some(held) = self.hold(&record.moved_to)? else { return Ok(Return::Gone) };
        let payload = Payload::default().and_kept(&held.value, 0..held.value.size());
        self.put_new(&record.key, payload)?;
        if !self.is_equal(&record.key, &held.value)? {
            return Ok(Return::Occupied);
        }
        // No other program writes here.
        for key in [&record.moved_to, &record.at] {
            self.store.erase(key)?;
            self.taken.remove(key.as_str());
        }
        Ok(Return::Done)
    }
}

/// The key of the record of a value in the quarantine.
fn record_of(moved_to: &StoreKey) -> Result<StoreKey, StoreError> {
    let name = moved_to.as_str().strip_prefix(FOLDER).unwrap_or_default();
    StoreKey::new(format!("{FOLDER}/{RECORDS}{name}.json"))
}

/// Whether some reader takes a key of this name for a document.
fn is_document(name: &str) -> bool {
    let ends = [".array", ".group", ".array.json", ".group.json"];
    name == "zarr.json"
        || name.starts_with(".z")
        || name.starts_with(".ncz")
        || ends.iter().any(|end| name.ends_with(end))
}

//! Makes the steps of a repair, each under the version of the value that was judged.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use zarr_core::format::Format;
use zarr_core::store::{
    ByteRange, Payload, Precondition, SnapshotOptions, Store, StoreKey, SyncSnapshot, SyncStore,
};
use zarr_core::{
    Array, Consolidated, Dialect, Error, ErrorKind, Hierarchy, Json, NodePath, OpenOptions, Result,
};

use super::documents::{self, Copy};
use super::fill_chunk::fill_chunk;
use super::judge;
use super::plan::{READS_AS_FILL, Task, behind_link, mending};
use super::quarantine::{Change, Held, Quarantine, Why};
use super::shard::{Mended, ShardForm, Verdict};
use super::step::{RepairAction, RepairStep, StepState};
use crate::links::link_on_the_way;
use crate::validate::Problem;

/// What the steps of one repair share.
pub(super) struct Repair<'a> {
    pub store: Arc<dyn Store>,
    pub sync: Arc<dyn SyncStore>,
    pub format: Arc<dyn Format>,
    pub open: &'a OpenOptions,
    pub quarantine: Quarantine,
    /// Whether the hierarchy could be opened, so that its format is known.
    pub is_open: bool,
    /// Whether chunks without an array are moved away.
    pub orphans: bool,
    /// Documents in consolidated metadata, by their keys.
    pub copies: BTreeMap<String, Copy>,
    /// Whether keys are looked at, so that chunks without a document are known.
    pub knows_keys: bool,
}

const OVERTAKEN: &str = "another program changed it first; nothing was done";
const MENDED: &str = "it no longer has this problem; nothing was done";

impl Repair<'_> {
    /// Whether a value has a problem.
    pub fn has_problem(
        &self,
        problem: &Problem,
        key: &StoreKey,
        value: &Arc<dyn SyncSnapshot>,
    ) -> Result<bool> {
        judge::has_problem(&self.sync, &*self.format, self.open, problem, key, value)
    }

    /// Whether a node can be opened, or cannot only since this build does not know something of it.
    pub fn is_readable(&self, path: &NodePath) -> bool {
        let node = Hierarchy::open(self.store.clone(), self.open).and_then(|it| it.node(path));
        match node {
            Ok(_) => true,
            Err(e) => matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::Limit),
        }
    }

    /// How the shard at a key is built; `None` if it is none, or none that can be taken apart.
    pub fn shard_form(&self, path: &NodePath, key: &StoreKey) -> Option<ShardForm> {
        if self.format.dialect() != Dialect::V3 {
            return None;
        }
        let document = self.format.document_keys(path).ok()?.into_iter().next()?;
        let document = self.sync.value(&document).ok()??;
        let array = Array::from_document(self.store.clone(), path, &document, self.open).ok()?;
        let metadata = array.metadata();
        let prefix = self.format.chunk_prefix(path).ok()?;
        let indices = metadata.chunk_keys.parse(prefix.strip(key)?, metadata.rank())?;
        let grid = metadata.grid.as_ref()?;
        let shape: Vec<u64> = indices
            .iter()
            .enumerate()
            .map(|(axis, &index)| {
                let span = grid.span(axis, u64::try_from(index).ok()?);
                (span.index == index).then_some(span.stored)
            })
            .collect::<Option<_>>()?;
        ShardForm::new(&metadata, &shape, &self.open.registry)
    }

    /// The groups at a path and above it that have consolidated metadata.
    pub fn holders_above(&self, path: &NodePath) -> Result<Vec<NodePath>> {
        self.known_holders_above(path, &mut HashMap::new())
    }

    /// The same, for many paths while nothing is changed: `known` tells of the groups that were looked at.
    pub fn known_holders_above(
        &self,
        path: &NodePath,
        known: &mut HashMap<StoreKey, bool>,
    ) -> Result<Vec<NodePath>> {
        let mut holders = Vec::new();
        let mut at = Some(path.clone());
        while let Some(path) = at {
            at = path.parent();
            let Some(key) = documents::holder(&*self.format, &path) else { continue };
            let has_copies = match known.get(&key) {
                Some(&has_copies) => has_copies,
                None => self.has_copies(&key)?,
            };
            known.insert(key, has_copies);
            if has_copies {
                holders.push(path);
            }
        }
        Ok(holders)
    }

    fn has_copies(&self, key: &StoreKey) -> Result<bool> {
        if self.format.dialect() != Dialect::V3 {
            return Ok(self.sync.open(key, SnapshotOptions::default())?.is_some());
        }
        let document = self.sync.value(key)?.and_then(|bytes| Json::parse_tolerant(&bytes).ok());
        let inline = document.as_ref().and_then(|(json, _)| json.as_object());
        let inline = inline.and_then(|document| document.get("consolidated_metadata"));
        Ok(inline.is_some_and(|inline| *inline != Json::Null))
    }

    /// Whether a problem's key is a value of the store.
    pub fn is_value(&self, problem: &Problem) -> bool {
        let key = problem.key.as_deref().and_then(|key| StoreKey::new(key).ok());
        match key {
            // A folder refuses keys with the names of its lock files.
            Some(key) => matches!(self.sync.open(&key, SnapshotOptions::default()), Ok(Some(_))),
            None => false,
        }
    }

    /// The symbolic link through which the step would reach what it changes.
    pub fn link_of(&self, task: &Task) -> Option<String> {
        let holder = match task.step.action {
            RepairAction::ByHand => return None,
            RepairAction::Consolidate => documents::holder(&*self.format, &task.step.path),
            _ => None,
        };
        // What writers left has names that no key has.
        let name = holder.as_ref().map(StoreKey::as_str);
        let name = name.or(task.key.as_ref().map(StoreKey::as_str)).or(task.problem.key.as_deref());
        link_on_the_way(&self.sync.name(), name?)
    }

    /// Makes a step. What goes wrong with it is its end, not that of the repair.
    pub fn make(&mut self, task: &Task) -> RepairStep {
        let step = task.step.clone();
        // It may be there since the steps were planned.
        if let Some(link) = self.link_of(task) {
            return step.ended(StepState::ByHand, behind_link(&link));
        }
        let made = match (step.action, &task.key) {
            (RepairAction::ByHand | RepairAction::RemoveLeftover, _) => {
                return step;
            }
            (RepairAction::Consolidate, _) => self.consolidate(&step.path, &task.problem),
            (_, None) => Ok((StepState::Failed, "it has no valid key".into())),
            (RepairAction::RestoreDocument, Some(key)) => self.restore_document(task, key),
            (RepairAction::CorrectDocument, Some(key)) => self.correct_document(task, key),
            (RepairAction::Rewrite, Some(key)) => self.rewrite(task, key),
            (RepairAction::Quarantine, Some(key)) => self.move_away(task, key),
            (RepairAction::MendShard, Some(key)) => self.mend(task, key),
        };
        match made {
            Ok((state, what)) => step.ended(state, what),
            Err(e) => step.ended(StepState::Failed, format!("{e}; nothing was lost")),
        }
    }

    fn why<'p>(problem: &'p Problem) -> Why<'p> {
        Why { path: problem.path.as_str(), kind: problem.kind.name(), message: &problem.message }
    }

    /// The value of a key, if it still has the problem.
    fn judged(&self, problem: &Problem, key: &StoreKey) -> Result<Option<Held>> {
        let Some(held) = self.quarantine.hold(key)? else { return Ok(None) };
        Ok(self.has_problem(problem, key, &held.value)?.then_some(held))
    }

    fn move_away(&mut self, task: &Task, key: &StoreKey) -> Result<(StepState, String)> {
        if !self.quarantine.can_erase() {
            if let Some(filled) = self.replace_by_fill(task, key)? {
                return Ok(filled);
            }
            let what = "this store cannot erase a value only if it is unchanged; if no other program writes \
                        here, turn the guard off (`--guard off`)";
            return Ok((StepState::Failed, what.into()));
        }
        let Some(held) = self.judged(&task.problem, key)? else {
            return Ok((StepState::Overtaken, MENDED.into()));
        };
        let moved = self.quarantine.move_away(key, &held, Self::why(&task.problem))?;
        Ok(ended(moved, |kept| {
            let reads = if task.step.what.ends_with(READS_AS_FILL) {
                "; its elements now read as the fill value"
            } else {
                ""
            };
            format!("moved to `{kept}`{reads}")
        }))
    }

    /// Puts a chunk of fill in place of one that would read as fill; `None` if the value is no such chunk.
    fn replace_by_fill(
        &mut self,
        task: &Task,
        key: &StoreKey,
    ) -> Result<Option<(StepState, String)>> {
        if !task.step.what.ends_with(READS_AS_FILL) || !self.is_open {
            return Ok(None);
        }
        let open = self.open.clone().consolidated(Consolidated::Ignore);
        let hierarchy = Hierarchy::open(self.store.clone(), &open)?;
        let Some(fill) = fill_chunk(&hierarchy, &task.problem.path, key, &open) else {
            return Ok(None);
        };
        let Some(held) = self.judged(&task.problem, key)? else {
            return Ok(Some((StepState::Overtaken, MENDED.into())));
        };
        let why = Self::why(&task.problem);
        let replaced = self.quarantine.replace(key, &held, Payload::new(fill), why)?;
        Ok(Some(ended(replaced, |kept| {
            format!(
                "moved to `{kept}`; a chunk of fill values replaces it, because this store cannot erase a value conditionally"
            )
        })))
    }

    fn mend(&mut self, task: &Task, key: &StoreKey) -> Result<(StepState, String)> {
        let Some(held) = self.judged(&task.problem, key)? else {
            return Ok((StepState::Overtaken, MENDED.into()));
        };
        let Some(form) = self.shard_form(&task.problem.path, key) else {
            return Ok((StepState::Overtaken, MENDED.into()));
        };
        let verdict = form.examine(&*held.value)?;
        let none = Mended::new();
        let (entries, mended, what) = match (&verdict, mending(&verdict, "rewrote")) {
            (Verdict::NewIndex(entries), Some(what)) => (entries, &none, what),
            (Verdict::Without(_, entries, mended), Some(what)) => (entries, mended, what),
            _ => return self.move_away(task, key),
        };
        let new = form.assemble(&held.value, entries, mended);
        let new = new.map_err(|e| Error::from(e).at_key(key))?;
        let replaced = self.quarantine.replace(key, &held, new, Self::why(&task.problem))?;
        if let Change::Done(_) = replaced
            && let Some(now) = self.quarantine.hold(key)?
            && self.has_problem(&task.problem, key, &now.value)?
        {
            return self.move_away(task, key);
        }
        Ok(ended(replaced, |kept| format!("{what}; the old one is at `{kept}`")))
    }

    fn restore_document(&mut self, task: &Task, key: &StoreKey) -> Result<(StepState, String)> {
        let document = task.document.clone().unwrap_or_default();
        let payload = Payload::new(document);
        let is_new_group = task.problem.correction.is_some();
        let from =
            if is_new_group { "as that of a group" } else { "from the consolidated metadata" };
        match self.quarantine.hold(key)? {
            None => {
                let is_set = self.sync.put(key, Some(payload), Precondition::Absent)?;
                let written = (StepState::Done, format!("`{key}` was written {from}"));
                Ok(if is_set { written } else { (StepState::Overtaken, OVERTAKEN.into()) })
            }
            Some(held) if self.has_problem(&task.problem, key, &held.value)? => {
                let why = Self::why(&task.problem);
                let replaced = self.quarantine.replace(key, &held, payload, why)?;
                Ok(ended(replaced, |kept| {
                    format!("`{key}` was written {from}; the old one is at `{kept}`")
                }))
            }
            Some(_) => Ok((StepState::Overtaken, MENDED.into())),
        }
    }

    /// Puts a document in the place of the one from which it was worked out, and of no other.
    fn correct_document(&mut self, task: &Task, key: &StoreKey) -> Result<(StepState, String)> {
        let wrong = task.problem.correction.as_ref().and_then(|it| it.wrong.as_ref());
        let Some(held) = self.quarantine.hold(key)? else {
            return Ok((StepState::Overtaken, OVERTAKEN.into()));
        };
        let found = held.value.read(&[ByteRange::ALL])?.pop().unwrap_or_default();
        if wrong.is_none_or(|wrong| found != *wrong) {
            return Ok((StepState::Overtaken, OVERTAKEN.into()));
        }
        let payload = Payload::new(task.document.clone().unwrap_or_default());
        let replaced = self.quarantine.replace(key, &held, payload, Self::why(&task.problem))?;
        Ok(ended(replaced, |kept| format!("`{key}` was corrected; the old one is at `{kept}`")))
    }

    fn rewrite(&mut self, task: &Task, key: &StoreKey) -> Result<(StepState, String)> {
        let Some(held) = self.quarantine.hold(key)? else {
            return Ok((StepState::Overtaken, MENDED.into()));
        };
        let Some(new) = self.without_padding(&task.problem, key, &held)? else {
            return Ok((StepState::Overtaken, MENDED.into()));
        };
        let why = Self::why(&task.problem);
        let replaced = self.quarantine.replace(key, &held, Payload::new(&new[..]), why)?;
        Ok(ended(replaced, |kept| {
            format!("rewrote it without the zeros; the old one is at `{kept}`")
        }))
    }

    fn consolidate(&mut self, path: &NodePath, problem: &Problem) -> Result<(StepState, String)> {
        let mut kept = String::new();
        if let Some(key) = documents::holder(&*self.format, path)
            && let Some(held) = self.quarantine.hold(&key)?
        {
            let at = self.quarantine.keep(&key, &held, Self::why(problem))?;
            kept = format!("; the old ones are at `{at}`");
        }
        let open = self.open.clone().consolidated(Consolidated::Ignore);
        let hierarchy = Hierarchy::open(self.store.clone(), &open)?;
        let nodes = if path.is_root() {
            hierarchy.consolidate()?
        } else {
            hierarchy.group(path)?.consolidate()?
        };
        Ok((StepState::Done, format!("rebuilt, of {nodes} nodes{kept}")))
    }

    /// Lets the store remove what dead writers left in the folders of these names, as it does at the end of each handle that wrote there: a
    /// file that a writer holds, or that is not old enough, stays.
    pub fn sweep<'k>(&self, names: impl Iterator<Item = &'k str>) -> Result<()> {
        let folders: BTreeSet<&str> =
            names.map(|name| name.rfind('/').map_or("", |at| &name[..=at])).collect();
        for folder in folders {
            let Ok(key) = StoreKey::new(format!("{folder}.zarr-repair")) else { continue };
            // Nothing is there, and nothing is written; but the store takes its lock in the folder.
            self.sync.put(&key, None, Precondition::Absent)?;
        }
        Ok(self.sync.flush()?)
    }
}

fn ended(change: Change, what: impl FnOnce(&StoreKey) -> String) -> (StepState, String) {
    match change {
        Change::Done(kept) => (StepState::Done, what(&kept)),
        Change::Lost => (StepState::Overtaken, OVERTAKEN.into()),
    }
}

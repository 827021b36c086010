//! Repairs what `validate` finds, and never destroys the only copy of a byte.
//!
//! [`repair`] validates, maps each problem to a step (`plan`), and makes the steps (`apply`): each one looks at the value again (`judge`), copies it
//! to `.zarr-quarantine` (`quarantine`), and changes the key only if it still has the version that was judged. Shards are taken apart in `shard`.
//! [`restore`] moves values back.

mod apply;
mod documents;
mod fill_chunk;
mod judge;
mod lengths;
mod orders;
mod plan;
mod quarantine;
mod rewrite;
mod shard;
mod step;
mod time;
mod under_way;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use zarr_core::format::Format;
use zarr_core::store::{Store, StorePrefix};
use zarr_core::{AccessError, Consolidated, Hierarchy, NodePath, OpenOptions, Result, Strictness};

use self::apply::Repair;
use self::plan::{Task, plan};
use self::quarantine::{Quarantine, Return};
pub use self::step::{RepairAction, RepairOptions, RepairReport, RepairStep, StepState};
use crate::links::link_on_the_way;
use crate::validate::leftovers;
use crate::validate::{
    Level, Problem, ProblemKind, ValidateOptions, guessed_format, validate_store,
};

/// How often damage is looked for: documents that were restored show more.
const ROUNDS: usize = 3;

/// Looks for damage at the node at `path` and below it, in what a path or URL names, and repairs it if the options say so. Calls `told` with each
/// step, once it has ended.
///
/// # Errors
/// As [`validate`](crate::validate::validate); what goes wrong with one step is the end of that step.
pub fn repair(
    url: &str,
    path: impl AsRef<str>,
    open: &OpenOptions,
    options: &RepairOptions<'_>,
    told: &mut dyn FnMut(&RepairStep),
) -> Result<RepairReport> {
    let open = &as_stored(open);
    let mut report = RepairReport::default();
    // What is behind a broken document is found once that is whole.
    for round in 0..ROUNDS {
        let found = find(url, path.as_ref(), open)?;
        let only_documents = options.apply && round + 1 < ROUNDS;
        let is_done = repair_found(
            &found,
            open,
            options,
            only_documents,
            &mut report,
            &mut |report: &mut RepairReport, step: &RepairStep| {
                report.count(step);
                told(step);
            },
        )?;
        if is_done {
            break;
        }
    }
    Ok(report)
}

/// What a URL and a path name.
struct Found {
    store: Arc<dyn Store>,
    path: NodePath,
    format: Arc<dyn Format>,
    /// Whether the hierarchy could be opened; else the format is a guess.
    is_open: bool,
}

/// The store, the node and the format that a URL and a path in it name, whether or not documents are broken.
fn find(url: &str, path: &str, open: &OpenOptions) -> Result<Found> {
    let below = path.trim_matches('/');
    let open = &as_stored(open);
    match Hierarchy::locate(url, open) {
        Ok((hierarchy, base)) => {
            let path = if below.is_empty() { base } else { base.join(below)? };
            let (store, format) = (hierarchy.store().clone(), hierarchy.format().clone());
            Ok(Found { store, path, format, is_open: true })
        }
        Err(error) => {
            let Ok(store) = open.store(url) else { return Err(error) };
            let Ok(listing) = store.to_sync().list_prefix(&StorePrefix::root()) else {
                return Err(error);
            };
            let (path, format) = (NodePath::new(below)?, guessed_format(&listing.keys));
            Ok(Found { store, path, format, is_open: false })
        }
    }
}

/// Documents are read where they are stored.
fn as_stored(open: &OpenOptions) -> OpenOptions {
    let mut open = open.clone().consolidated(Consolidated::Ignore);
    open.options.strictness = Strictness::Tolerant;
    open
}

/// Takes a step that has ended.
type StepCallback<'a> = dyn FnMut(&mut RepairReport, &RepairStep) + 'a;

/// Looks for damage and repairs it. Returns `false` after only documents were restored, as `only_documents` lets it.
fn repair_found(
    found: &Found,
    open: &OpenOptions,
    options: &RepairOptions<'_>,
    only_documents: bool,
    report: &mut RepairReport,
    tell: &mut StepCallback<'_>,
) -> Result<bool> {
    let Found { store, format, is_open, .. } = found;
    let sync = store.to_sync();
    let problems = look(found, open, options, options.level)?;
    if problems.is_empty() {
        return Ok(true);
    }
    let quarantine = Quarantine::open(sync.clone(), open.options.guard)?;
    let groups = groups_above(&problems);
    let copies = documents::copies(&*sync, &**format, &groups, open.options.limits.document);
    let mut repair = Repair {
        store: store.clone(),
        sync,
        format: format.clone(),
        open,
        quarantine,
        is_open: *is_open,
        orphans: options.orphans,
        copies,
        knows_keys: options.level >= Level::Keys,
    };
    let mut tasks = plan(&repair, &problems)?;
    if !options.apply {
        tasks.iter().for_each(|task| tell(report, &task.step));
        return Ok(true);
    }
    if only_documents {
        let of_documents = [RepairAction::RestoreDocument, RepairAction::CorrectDocument];
        let restoring: Vec<Task> =
            tasks.extract_if(.., |task| of_documents.contains(&task.step.action)).collect();
        let mut is_any_changed = false;
        for task in &restoring {
            check_cancelled(options)?;
            let step = repair.make(task);
            // What another program put there shows more, too.
            is_any_changed |= matches!(step.state, StepState::Done | StepState::Overtaken);
            tell(report, &step);
        }
        if is_any_changed {
            repair.sync.flush()?;
            return Ok(false);
        }
    }
    let leftovers: Vec<Task> =
        tasks.extract_if(.., |task| task.step.action == RepairAction::RemoveLeftover).collect();
    let mut changed = BTreeSet::new();
    let mut consolidated = BTreeSet::new();
    for task in &tasks {
        check_cancelled(options)?;
        let step = repair.make(task);
        if step.state == StepState::Done && is_of_document(&step) {
            changed.insert((task.problem.path.clone(), task.problem.kind));
        }
        if step.action == RepairAction::Consolidate {
            consolidated.insert(step.path.clone());
        }
        tell(report, &step);
    }
    // A document that was moved away must not stay in the copies of all documents.
    let mut of_path = HashMap::new();
    for problem in &problems {
        of_path.entry(&problem.path).or_insert(problem);
    }
    for (path, _) in changed {
        for holder in repair.holders_above(&path)? {
            if consolidated.insert(holder.clone())
                && let Some(&problem) = of_path.get(&path)
            {
                let step = repair.make(&plan::consolidation(&holder, problem));
                tell(report, &step);
            }
        }
    }
    let names = leftovers.iter().filter_map(|task| task.problem.key.as_deref());
    let swept = if leftovers.is_empty() { Ok(()) } else { repair.sweep(names) };
    repair.sync.flush()?;
    let after = look(found, open, options, options.level.min(Level::Keys))?;
    let keys_after: HashSet<_> = after.iter().map(|problem| &problem.key).collect();
    for task in leftovers {
        let is_there = keys_after.contains(&task.problem.key);
        let step = match (&swept, is_there) {
            (_, false) => task.step.ended(StepState::Done, "its store removed it"),
            (Ok(()), true) => task.step.ended(
                StepState::Failed,
                "it stays: a writer holds it, or may hold it, because it is less than an hour old",
            ),
            (Err(e), true) => task.step.ended(StepState::Failed, e.to_string()),
        };
        tell(report, &step);
    }
    let known: HashSet<_> =
        problems.iter().map(|known| (&known.path, &known.key, known.kind)).collect();
    let new: Vec<Problem> = after
        .iter()
        .filter(|problem| !known.contains(&(&problem.path, &problem.key, problem.kind)))
        .cloned()
        .collect();
    report.found_after = new.len() as u64;
    // They are reported, and not counted as steps.
    let counted = *report;
    for task in plan(&repair, &new)? {
        tell(report, &task.step);
    }
    *report = counted;
    Ok(true)
}

fn check_cancelled(options: &RepairOptions<'_>) -> Result<()> {
    match &options.cancel {
        Some(cancel) if cancel.is_cancelled() => Err(AccessError::Cancelled.into()),
        _ => Ok(()),
    }
}

/// The problems at a node and below it, without notes.
fn look(
    found: &Found,
    open: &OpenOptions,
    options: &RepairOptions<'_>,
    level: Level,
) -> Result<Vec<Problem>> {
    let Found { store, path, format, .. } = found;
    let mut problems = Vec::new();
    let mut validation = ValidateOptions::new(level).without_leftovers();
    validation.progress = options.progress;
    validation.cancel.clone_from(&options.cancel);
    validate_store(store, path, open, &validation, &mut |problem| {
        if !problem.kind.is_note() {
            problems.push(problem.clone());
        }
    })?;
    let copies = under_way::find(&*store.to_sync(), open.options.limits.document)?;
    if !copies.is_empty() {
        problems.retain(|problem| !copies.iter().any(|copy| copy.has(&**format, problem)));
        problems.extend(copies.into_iter().map(|copy| copy.problem));
    }
    if level >= Level::Keys {
        let prefix = format.children_prefix(path)?;
        let prefix = if format.tree_prefix().is_some() { "" } else { prefix.as_str() };
        problems.extend(leftovers::find(&store.name(), prefix, path));
    }
    problems.retain(|problem| !options.skip.contains(&problem.kind));
    Ok(problems)
}

/// The groups that may have copies of the documents that are lost or broken, or that have copies of which something is wrong.
fn groups_above(problems: &[Problem]) -> BTreeSet<NodePath> {
    let paths = problems
        .iter()
        .filter(|problem| {
            matches!(
                problem.kind,
                ProblemKind::UnreadableDocument
                    | ProblemKind::InvalidDocument
                    | ProblemKind::MissingDocument
                    | ProblemKind::ConsolidatedExtra
                    | ProblemKind::ConsolidatedInvalid
            )
        })
        .map(|problem| &problem.path);
    let mut groups: BTreeSet<NodePath> = paths.cloned().collect();
    let above: Vec<NodePath> = groups.iter().flat_map(NodePath::ancestors).collect();
    groups.extend(above);
    groups
}

/// Whether a step took a document away.
fn is_of_document(step: &RepairStep) -> bool {
    let is_broken = matches!(
        step.problem,
        ProblemKind::UnreadableDocument
            | ProblemKind::InvalidDocument
            | ProblemKind::OrphanedDocument
            // The marks of an erase go, too, once nothing is left of its node.
            | ProblemKind::InterruptedErase
    );
    step.action == RepairAction::Quarantine && is_broken
}

/// A value of the quarantine, and whether it could be moved back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// Its key.
    pub key: String,
    /// Its key in the quarantine.
    pub moved_to: String,
    /// Whether it is at its key again.
    pub is_back: bool,
    /// What happened, in a sentence.
    pub what: String,
}

/// Moves what is in the quarantine of what a path or URL names back to its keys, those of the node at `path` and below it. A key that has a value
/// keeps it. Calls `told` with each value; without `apply` nothing is moved.
///
/// # Errors
/// Whatever kept the store from being opened, read or written.
pub fn restore(
    url: &str,
    path: impl AsRef<str>,
    open: &OpenOptions,
    apply: bool,
    told: &mut dyn FnMut(&Restored),
) -> Result<u64> {
    let Found { store, path, format, .. } = find(url, path.as_ref(), open)?;
    let sync = store.to_sync();
    let mut quarantine = Quarantine::open(sync.clone(), open.options.guard)?;
    let documents = format.document_keys(&path)?;
    let (_, prefixes) = format.erasure(&path)?;
    let mut left = 0;
    for record in quarantine.records()? {
        let is_below = prefixes.iter().any(|prefix| prefix.strip(&record.key).is_some());
        if !is_below && !documents.contains(&record.key) && !path.is_root() {
            continue;
        }
        let link = link_on_the_way(&store.name(), record.key.as_str());
        let (is_back, what) = if let Some(link) = link {
            let what = format!(
                "stays in the quarantine: its key is reached through the symbolic link `{link}`, and a repair writes nothing through a link"
            );
            (false, what)
        } else if apply {
            match quarantine.give_back(&record) {
                Ok(Return::Done) => (true, "is back at its key".to_owned()),
                Ok(Return::Occupied) => {
                    let what =
                        "stays in the quarantine: its key has another value, which would be lost";
                    (false, what.into())
                }
                Ok(Return::Gone) => (false, "is no longer in the quarantine".into()),
                Err(e) => (false, format!("stays in the quarantine: {e}")),
            }
        } else {
            (false, "can be moved back, if its key has no other value".to_owned())
        };
        left += u64::from(!is_back);
        told(&Restored {
            key: record.key.to_string(),
            moved_to: record.moved_to.to_string(),
            is_back,
            what,
        });
    }
    sync.flush()?;
    Ok(left)
}

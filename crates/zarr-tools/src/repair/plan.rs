//! Maps each problem to what is done about it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;

use zarr_core::store::{GetOptions, InMemorySnapshot, SnapshotOptions, StoreKey};
use zarr_core::{Json, NodePath, Result};

use super::apply::Repair;
use super::shard::Verdict;
use super::step::{RepairAction, RepairStep};
use crate::validate::{Problem, ProblemKind};

/// A step, and what it needs to be made.
pub(super) struct Task {
    pub step: RepairStep,
    pub problem: Problem,
    /// The key that is changed, if it is one.
    pub key: Option<StoreKey>,
    /// The document that takes the place of one that is lost or broken.
    pub document: Option<Vec<u8>>,
}

impl Task {
    fn new(problem: &Problem, action: RepairAction, what: impl Into<String>) -> Task {
        let key = problem.key.as_deref().and_then(|key| StoreKey::new(key).ok());
        let step = RepairStep::of(problem, action, what);
        Task { step, problem: problem.clone(), key, document: None }
    }
}

/// How the description of a step ends that takes a chunk away; the step may then put a chunk of fill values in its place.
pub(super) const READS_AS_FILL: &str = "its elements then read as the fill value";

/// How many sentences about one key a step has.
const MOST_SENTENCES: usize = 3;

/// The steps for these problems, in the order in which they are made.
pub(super) fn plan(repair: &Repair<'_>, problems: &[Problem]) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    let mut holders: BTreeMap<NodePath, Problem> = BTreeMap::new();
    let restored = restored(repair, problems)?;
    let orphans: BTreeSet<&str> = orphans(problems).collect();
    let is_of_orphans = |document: &str| {
        let Some(folder) = chunk_folder(repair, document) else { return false };
        let from = (Bound::Included(folder.as_str()), Bound::Unbounded);
        let from = orphans.range::<str, _>(from);
        from.take_while(|orphan| orphan.starts_with(&folder)).any(|orphan| *orphan != document)
    };
    let restored_folders = Folders::new(repair, restored.keys());
    let problems_restored: HashSet<_> =
        restored.values().map(|(of, _)| (of.path.clone(), of.key.clone(), of.kind)).collect();
    let mut known_holders = HashMap::new();
    // A value is changed once, however many problems it has.
    let mut of_key: BTreeMap<&str, Vec<&Problem>> = BTreeMap::new();
    let mut corrected: BTreeMap<&str, Vec<&Problem>> = BTreeMap::new();
    for problem in problems {
        match problem.kind {
            ProblemKind::ConsolidatedExtra if is_copied(repair, problem) => {}
            ProblemKind::ConsolidatedInvalid => {
                holders.entry(problem.path.clone()).or_insert_with(|| problem.clone());
            }
            ProblemKind::ConsolidatedMissing
            | ProblemKind::ConsolidatedExtra
            | ProblemKind::ConsolidatedDiffers => {
                for path in repair.known_holders_above(&problem.path, &mut known_holders)? {
                    holders.entry(path).or_insert_with(|| problem.clone());
                }
            }
            // What the store lists is a value like others: an archive may have it from a folder.
            ProblemKind::Leftover if !repair.is_value(problem) => {
                let what = "let the store remove it, unless a writer holds it or may hold it: an unfinished file stays for an hour";
                tasks.push(Task::new(problem, RepairAction::RemoveLeftover, what));
            }
            // What is wrong with one document is put right at once; what else is wrong with it, in the next round.
            _ if problem.correction.is_some() && problem.kind != ProblemKind::MissingDocument => {
                if let Some(key) = problem.key.as_deref() {
                    corrected.entry(key).or_default().push(problem);
                }
            }
            ProblemKind::PaddedChunk => {
                let what = "rewrite it without the zeros; its elements stay the same";
                tasks.push(Task::new(problem, RepairAction::Rewrite, what));
            }
            // Without them nothing tells what is a chunk, and what a stray. The root itself can only be a group, as nodes are below.
            ProblemKind::MissingDocument
                if !repair.is_open
                    && problem.path.is_root()
                    && problem.correction.is_some()
                    && !was_array(problems, problem) =>
            {
                tasks.push(missing_group(problem));
            }
            kind if !repair.is_open && !is_broken_document(kind) => {
                let what = "repair the documents of the root first, then run the repair again";
                tasks.push(Task::new(problem, RepairAction::ByHand, what));
            }
            ProblemKind::InvalidDocument if repair.is_readable(&problem.path) => {
                let what = "correct the member that is named; the document stays, because this library accepts it as it is";
                tasks.push(Task::new(problem, RepairAction::ByHand, what));
            }
            // Readers of other programs may take what none here takes.
            kind if is_broken_document(kind)
                && !problem.key.as_ref().is_some_and(|key| restored.contains_key(key))
                && is_json(repair, problem) =>
            {
                let what = "correct what is named; the document stays, because other programs may accept it as it is";
                tasks.push(Task::new(problem, RepairAction::ByHand, what));
            }
            ProblemKind::InterruptedErase if !is_chunk(repair, problem) => {
                tasks.push(by_hand(problem))
            }
            kind if is_moved(kind) => match problem.key.as_deref() {
                Some(key) if restored_folders.have(repair, key, restored.contains_key(key)) => {}
                Some(_) if is_orphan(kind) && !repair.orphans => {
                    let what = "restore the document of its node, or move everything without one to the quarantine with `--orphans` \
                                (library: `RepairOptions::orphans`)";
                    tasks.push(Task::new(problem, RepairAction::ByHand, what));
                }
                Some(key) => of_key.entry(key).or_default().push(problem),
                None => tasks.push(by_hand(problem)),
            },
            ProblemKind::MissingDocument
                if problem.key.as_ref().is_some_and(|key| restored.contains_key(key))
                    || problems_restored.contains(&(
                        problem.path.clone(),
                        problem.key.clone(),
                        problem.kind,
                    )) => {}
            // Chunks beside the nodes below it would be those of an array.
            ProblemKind::MissingDocument
                if repair.knows_keys
                    && problem.correction.is_some()
                    && !problem.key.as_deref().is_some_and(is_of_orphans) =>
            {
                tasks.push(missing_group(problem));
            }
            // Its chunks are moved.
            ProblemKind::MissingDocument
                if repair.orphans && problem.key.as_deref().is_some_and(is_of_orphans) => {}
            _ => tasks.push(by_hand(problem)),
        }
    }
    for found in corrected.values() {
        let problem = merged(found);
        let what =
            "correct it, so that it describes the same node; move the old one to the quarantine";
        let mut task = Task::new(&problem, RepairAction::CorrectDocument, what);
        task.document = problem.correction.as_ref().map(|it| it.right.to_vec());
        tasks.push(task);
    }
    for (key, found) in of_key {
        let problem = merged(&found);
        if restored.contains_key(key) {
            continue;
        }
        tasks.push(of_value(repair, &problem)?);
    }
    for (key, (problem, document)) in restored {
        let what = format!("write `{key}` from its copy in the consolidated metadata");
        let mut task = Task::new(&problem, RepairAction::RestoreDocument, what);
        task.key = StoreKey::new(key).ok();
        task.document = Some(document);
        tasks.push(task);
    }
    // Consolidated metadata that are made anew do not say any more which erase was interrupted.
    let interrupted: Vec<&NodePath> = problems
        .iter()
        .filter(|it| it.kind == ProblemKind::InterruptedErase && !is_chunk(repair, it))
        .map(|problem| &problem.path)
        .collect();
    for (path, problem) in holders {
        if let Some(erased) = interrupted.iter().find(|erased| erased.is_within(&path)) {
            let what = format!(
                "finish erasing {erased} with `zarr rm`, or create it again; then run the repair again"
            );
            tasks.push(Task::new(&problem, RepairAction::ByHand, what));
            continue;
        }
        tasks.push(consolidation(&path, &problem));
    }
    for task in &mut tasks {
        if let Some(link) = repair.link_of(task) {
            let step = RepairStep::of(&task.problem, RepairAction::ByHand, behind_link(&link));
            task.step = RepairStep { path: task.step.path.clone(), ..step };
        }
    }
    tasks.sort_by_key(|task| order(&task.step));
    Ok(tasks)
}

/// What is to be done about something that is reached through a link.
pub(super) fn behind_link(link: &str) -> String {
    format!(
        "it is reached through the symbolic link `{link}`, and a repair does not follow links: repair the target of the link where it is, \
         or remove the link"
    )
}

/// The step that makes the consolidated metadata of a group anew.
pub(super) fn consolidation(path: &NodePath, problem: &Problem) -> Task {
    let what = "rebuild them from the documents; keep the old ones in the quarantine";
    let mut task = Task::new(problem, RepairAction::Consolidate, what);
    task.step.path = path.clone();
    task
}

/// Documents come first, since chunks depend on them; consolidated metadata come after all documents.
fn order(step: &RepairStep) -> (RepairAction, bool) {
    let is_document = matches!(
        step.problem,
        ProblemKind::UnreadableDocument
            | ProblemKind::InvalidDocument
            | ProblemKind::OrphanedDocument
    );
    (step.action, is_document)
}

/// Whether a value with such a problem is moved to the quarantine, or mended.
fn is_moved(kind: ProblemKind) -> bool {
    matches!(
        kind,
        ProblemKind::UnreadableDocument
            | ProblemKind::InvalidDocument
            | ProblemKind::OrphanedDocument
            | ProblemKind::StrayKey
            | ProblemKind::Leftover
            | ProblemKind::OrphanedChunk
            | ProblemKind::InterruptedErase
            | ProblemKind::OutsideGrid
            | ProblemKind::StoredTwice
            | ProblemKind::EmptyValue
            | ProblemKind::WrongSize
            | ProblemKind::ShardIndex
            | ProblemKind::ShardOverlap
            | ProblemKind::Undecodable
    )
}

fn by_hand(problem: &Problem) -> Task {
    Task::new(problem, RepairAction::ByHand, problem.remedy())
}

/// One problem for all of a key: that of the deepest level, with what the others say.
fn merged(found: &[&Problem]) -> Problem {
    let deepest = found.iter().max_by_key(|problem| problem.kind.level());
    let mut problem = deepest.map_or_else(|| found[0].clone(), |problem| (*problem).clone());
    let mut sentences: Vec<&str> =
        found.iter().take(MOST_SENTENCES).map(|problem| &problem.message[..]).collect();
    let more = format!("{} more", found.len() - sentences.len());
    if found.len() > sentences.len() {
        sentences.push(&more);
    }
    problem.message = sentences.join("; ");
    problem
}

/// The step for a value that is moved or mended.
fn of_value(repair: &Repair<'_>, problem: &Problem) -> Result<Task> {
    let may_be_shard = matches!(
        problem.kind,
        ProblemKind::WrongSize
            | ProblemKind::ShardIndex
            | ProblemKind::ShardOverlap
            | ProblemKind::Undecodable
    );
    let task = Task::new(problem, RepairAction::Quarantine, fate(problem.kind));
    let Some(key) = task.key.as_ref().filter(|_| may_be_shard) else { return Ok(task) };
    let Some(form) = repair.shard_form(&problem.path, key) else { return Ok(task) };
    let Some(held) = repair.quarantine.hold(key)? else { return Ok(task) };
    Ok(match form.examine(&*held.value)? {
        Verdict::Sound => task,
        verdict => match mending(&verdict, "rewrite") {
            Some(what) => Task::new(problem, RepairAction::MendShard, what),
            None => Task::new(
                problem,
                RepairAction::Quarantine,
                format!(
                    "move it to the quarantine, because it is not certain where its inner chunks are; {READS_AS_FILL}"
                ),
            ),
        },
    })
}

/// What mending a shard does, or did, as `verb` says; `None` if it cannot be mended.
pub(super) fn mending(verdict: &Verdict, verb: &str) -> Option<String> {
    match verdict {
        Verdict::NewIndex(entries) => {
            Some(format!("{verb} its index of {} inner chunks", entries.len()))
        }
        Verdict::Without(lost, _, mended) => {
            let mended = match mended.len() {
                0 => format!("{verb} it"),
                1 => format!("{verb} it, with repairs in one inner chunk that is itself a shard"),
                count => format!(
                    "{verb} it, with repairs in {count} inner chunks that are themselves shards"
                ),
            };
            if lost.is_empty() {
                return Some(mended);
            }
            let mut numbers: Vec<String> = lost.iter().take(8).map(ToString::to_string).collect();
            if lost.len() > numbers.len() {
                numbers.push(format!("{} more", lost.len() - numbers.len()));
            }
            let entries = if lost.len() == 1 { "entry" } else { "entries" };
            let numbers = numbers.join(", ");
            Some(format!(
                "{mended}, without the inner chunks of {entries} {numbers}, which then read as the fill value"
            ))
        }
        Verdict::Sound | Verdict::Lost => None,
    }
}

/// What becomes of a value that moves to the quarantine.
fn fate(kind: ProblemKind) -> String {
    match kind {
        ProblemKind::UnreadableDocument | ProblemKind::InvalidDocument => {
            "move it to the quarantine; readers do not find its node until a document is put there, and the node's chunks stay".into()
        }
        ProblemKind::EmptyValue
        | ProblemKind::WrongSize
        | ProblemKind::Undecodable
        | ProblemKind::ShardIndex
        | ProblemKind::ShardOverlap => format!("move it to the quarantine; {READS_AS_FILL}"),
        _ => "move it to the quarantine".into(),
    }
}

/// The documents that consolidated metadata can give back, by their keys: broken ones, and lost ones whose chunks are there.
fn restored(
    repair: &Repair<'_>,
    problems: &[Problem],
) -> Result<BTreeMap<String, (Problem, Vec<u8>)>> {
    let mut restored = BTreeMap::new();
    if repair.copies.is_empty() {
        return Ok(restored);
    }
    for problem in problems {
        let keys: Vec<String> = match (&problem.key, problem.kind) {
            _ if problem.kind != ProblemKind::MissingDocument && problem.correction.is_some() => {
                continue;
            }
            (Some(_), ProblemKind::InvalidDocument) if repair.is_readable(&problem.path) => {
                continue;
            }
            (Some(key), ProblemKind::UnreadableDocument | ProblemKind::InvalidDocument) => {
                vec![key.clone()]
            }
            (Some(key), ProblemKind::ConsolidatedExtra) => {
                if is_copied(repair, problem) {
                    let document = repair.copies[key].document.clone();
                    restored.entry(key.clone()).or_insert_with(|| (problem.clone(), document));
                }
                continue;
            }
            // Readers pass these over; what they describe and nothing else does is written first.
            (Some(holder), ProblemKind::ConsolidatedInvalid) => {
                for (name, copy) in &repair.copies {
                    if copy.holder != *holder {
                        continue;
                    }
                    let Ok(key) = StoreKey::new(name.as_str()) else { continue };
                    let is_there = repair.sync.open(&key, SnapshotOptions::default())?.is_some();
                    if !is_there && makes_sense(repair, name) {
                        let entry = restored.entry(name.clone());
                        entry.or_insert_with(|| (problem.clone(), copy.document.clone()));
                    }
                }
                continue;
            }
            (key, ProblemKind::MissingDocument) => {
                let of_node = repair.format.document_keys(&problem.path).unwrap_or_default();
                key.iter().cloned().chain(of_node.iter().map(ToString::to_string)).collect()
            }
            _ => continue,
        };
        for name in keys {
            let Some(copy) = repair.copies.get(&name) else { continue };
            let Ok(key) = StoreKey::new(name.as_str()) else { continue };
            let value = InMemorySnapshot::new(&key, copy.document.clone().into());
            if !repair.has_problem(problem, &key, &(std::sync::Arc::new(value) as _))? {
                let document = copy.document.clone();
                restored.entry(name).or_insert_with(|| (problem.clone(), document));
                break;
            }
        }
    }
    Ok(restored)
}

/// Whether the document of a copy that has none can be written.
fn is_copied(repair: &Repair<'_>, problem: &Problem) -> bool {
    problem.key.as_ref().is_some_and(|key| makes_sense(repair, key))
}

/// Whether a copy can be a document: whatever it says, it is the only one.
fn makes_sense(repair: &Repair<'_>, key: &str) -> bool {
    let Some(copy) = repair.copies.get(key) else { return false };
    let is_document = is_zarr_document(key) && StoreKey::new(key).is_ok();
    is_document && matches!(Json::parse_tolerant(&copy.document), Ok((Json::Object(_), _)))
}

/// Whether a key is called like a document of a node.
fn is_zarr_document(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or_default();
    [".zarray", ".zgroup", ".zattrs", "zarr.json"].contains(&name) || key.starts_with("meta/")
}

/// Whether a document that cannot be used is JSON all the same.
fn is_json(repair: &Repair<'_>, problem: &Problem) -> bool {
    let key = problem.key.as_deref().and_then(|key| StoreKey::new(key).ok());
    let limit = repair.open.options.limits.document;
    let got = key.and_then(|key| repair.sync.get(&key, GetOptions::at_most(limit)).ok().flatten());
    let Some(bytes) = got.and_then(|got| got.bytes) else { return false };
    match repair.format.encoding().decode(&bytes) {
        Ok((json, _)) => json.as_object().is_some(),
        // That is more than readers here take, and no damage.
        Err(why) => why.contains("nests deeper"),
    }
}

/// Whether the key of a problem is that of a chunk or of attributes, not of the document of a node.
fn is_chunk(repair: &Repair<'_>, problem: &Problem) -> bool {
    let documents = repair.format.document_keys(&problem.path).unwrap_or_default();
    let key = problem.key.as_deref().unwrap_or_default();
    key.ends_with(".zattrs") || !documents.iter().any(|document| document.as_str() == key)
}

/// The chunks without an array.
fn orphans(problems: &[Problem]) -> impl Iterator<Item = &str> {
    let orphans = problems.iter().filter(|problem| problem.kind == ProblemKind::OrphanedChunk);
    orphans.filter_map(|problem| problem.key.as_deref())
}

/// Whether chunks say that the missing document was one of an array.
fn was_array(problems: &[Problem], group: &Problem) -> bool {
    problems.iter().any(|other| {
        other.kind == ProblemKind::MissingDocument
            && other.key == group.key
            && other.correction.is_none()
    })
}

/// The task for a group whose document is missing.
fn missing_group(problem: &Problem) -> Task {
    let what = "write the document of a group, because there are nodes below";
    let mut task = Task::new(problem, RepairAction::RestoreDocument, what);
    task.document = problem.correction.as_ref().map(|it| it.right.to_vec());
    task
}

/// Whether a value belongs to a node that has lost its document.
fn is_orphan(kind: ProblemKind) -> bool {
    matches!(kind, ProblemKind::OrphanedChunk | ProblemKind::OrphanedDocument)
}

/// Whether a document cannot be used.
pub(super) fn is_broken_document(kind: ProblemKind) -> bool {
    matches!(kind, ProblemKind::UnreadableDocument | ProblemKind::InvalidDocument)
}

/// The folders of the chunks of arrays, and how many documents of each array there are.
struct Folders(HashMap<String, usize>);

impl Folders {
    /// Those of the arrays with these documents.
    fn new<'a>(repair: &Repair<'_>, documents: impl Iterator<Item = &'a String>) -> Folders {
        let mut folders = HashMap::new();
        for folder in documents.filter_map(|document| chunk_folder(repair, document)) {
            *folders.entry(folder).or_default() += 1;
        }
        Folders(folders)
    }

    /// Whether a key is among the chunks of one of the arrays; `is_counted` if it is one of the documents itself, which is not
    /// among the chunks of its own array.
    fn have(&self, repair: &Repair<'_>, key: &str, is_counted: bool) -> bool {
        let own = if is_counted { chunk_folder(repair, key) } else { None };
        let ends = key.match_indices('/').map(|(at, _)| at + 1);
        std::iter::once(0).chain(ends).any(|end| {
            let is_own = own.as_deref() == Some(&key[..end]);
            self.0.get(&key[..end]).is_some_and(|&count| count > usize::from(is_own))
        })
    }
}

/// The beginning of the keys of the chunks of the array with this document; empty or with a `/` at its end.
fn chunk_folder(repair: &Repair<'_>, document: &str) -> Option<String> {
    let path = match repair.format.tree_prefix() {
        Some(_) => {
            let name = document.strip_prefix("meta/root/").or(document.strip_prefix("meta/"));
            name.and_then(|name| name.rsplit_once(".array")).map(|(name, _)| name)
        }
        None => document.rsplit_once('/').map(|(folder, _)| folder),
    };
    let path = NodePath::new(path?).ok()?;
    Some(repair.format.chunk_prefix(&path).ok()?.as_str().to_owned())
}

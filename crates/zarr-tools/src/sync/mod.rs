//! Makes an existing copy equal to its source by stored bytes: only what differs is copied.
//!
//! Both places are listed (`inventory`), and what the source has is compared by size and time, or by content (`compare`). A
//! target that is no copy of the source is refused (`is_copy`). Then chunks and other files are copied, then the documents,
//! those of deeper nodes first, and at last what the source lacks is deleted (`run`; docs/internals/design/copies.md): whenever a sync ends,
//! each document that is there is a whole one, and the chunks that it describes are those of before or those of now.

mod compare;
mod inventory;
mod is_copy;
mod journal;
mod run;

use std::collections::HashSet;

use zarr_core::format::is_document_name;
use zarr_core::store::{Bytes, StoreKey, StorePrefix};
use zarr_core::{
    AccessError, CancelToken, Dialect, Error, ErrorKind, Hierarchy, Node, NodePath, Result,
};

use self::compare::{Pair, Verdict};
use self::inventory::{Inventory, Object};
use self::journal::Journal;
use crate::copy::{Plan, default_memory, places_meet};
use crate::other_files::{self, Wanted};
use crate::transfer::{Place, Room, Transfer, are_equal};
use crate::tree_progress::nodes_and_broken;

/// What to do where a source cannot be listed.
const WITHOUT_LISTING: &str =
    "copy with `zarr copy`, which needs no listing; `--overwrite` replaces an older copy";

/// About what a key takes in a listing.
const KEY: u64 = 160;

/// By what a stored object of the target is taken for that of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncCompare {
    /// Its size is the same, and it was set later than the source's was changed, or both have the same ETag or checksum in
    /// their listings. Where a store tells no times, its bytes are compared. What was changed in the target later on is not
    /// seen if the size stayed the same.
    #[default]
    Times,
    /// Its size is the same.
    Sizes,
    /// Its bytes are the same: both places are read.
    Content,
}

/// How a copy is made equal to its source.
#[derive(Clone, Default)]
pub struct SyncOptions<'a> {
    /// By what objects are compared.
    pub compare: SyncCompare,
    /// Deletes what the source lacks.
    pub delete: bool,
    /// Leaves out files that are not Zarr's, which [`SyncPlan::notes`] name.
    pub no_extra_files: bool,
    /// Reads each copied object back and compares it with the source's.
    pub verify: bool,
    /// Bytes that large objects may take on their way into a store that does not stream; `None` for an eighth of the
    /// machine's memory.
    pub memory: Option<u64>,
    /// Cancels the work; what was copied stays.
    pub cancel: Option<CancelToken>,
    /// Is called after each object.
    pub progress: Option<&'a (dyn Fn(&SyncProgress) + Sync)>,
}

/// How far a sync has come.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SyncProgress {
    /// Bytes that are copied.
    pub bytes_done: u64,
    /// Bytes to copy in all.
    pub bytes_total: u64,
}

/// What a sync has done.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Synced {
    /// Objects that were copied, documents among them.
    pub copied: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects of the target that were deleted.
    pub deleted: u64,
    /// Objects of the source that others have set or erased while it ran. They may be missing in the target, or be those of
    /// before; another sync copies them.
    pub changed: Vec<String>,
}

/// An object that is to be copied.
#[derive(Debug)]
struct Planned {
    name: String,
    /// `None` if the source tells it only when the object is read.
    size: Option<u64>,
    is_new: bool,
}

/// A document that is to be written, as it was in the source when the sync was planned.
#[derive(Debug)]
struct Document {
    name: String,
    bytes: Bytes,
    is_new: bool,
}

/// What a sync is going to do.
pub struct SyncPlan {
    source: Inventory,
    target: Inventory,
    journal: Journal,
    /// Chunks and files that are not Zarr's.
    data: Vec<Planned>,
    /// In the order of writing.
    documents: Vec<Document>,
    /// In the order of deleting.
    deleted: Vec<Object>,
    /// What only the target has, and keeps.
    left: Vec<Object>,
    unchanged: u64,
    /// The names of the source's files that are not Zarr's, if they are left out.
    left_out: HashSet<String>,
    not_kept: Vec<String>,
    notes: Vec<String>,
}

impl std::fmt::Debug for SyncPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SyncPlan")
            .field("data", &self.data)
            .field("documents", &self.documents)
            .field("deleted", &self.deleted)
            .finish_non_exhaustive()
    }
}

/// Plans to make the node at `at` of the target equal to a node of the source. Nothing is written. Where nothing is at the
/// place, all is copied; the target is then a handle of [`Hierarchy::of_format`].
///
/// # Errors
/// [`AccessError::Argument`] if the target has another dialect, is no copy of the source, is in it or has it in it, or if one of
/// the stores cannot list; if another copy or sync to the place is under way; what the stores report.
pub fn plan_sync(
    source: &Node,
    target: &Hierarchy,
    at: &NodePath,
    options: &SyncOptions<'_>,
) -> Result<SyncPlan> {
    let (from, path) = (source.hierarchy(), source.path());
    check_places(from, path, target, at)?;
    let journal = Journal::new((from, path), (target, at));
    let is_resumed = journal.check()?;
    let mut notes = Vec::new();
    if Journal::is_target(from, path)? {
        let what = "a sync to it is unfinished, so it may be incomplete";
        notes.push(format!("{path} of {}: {what}", from.store().name()));
    }
    let mut there = Inventory::new(from, path, true).map_err(|e| match e.kind() {
        ErrorKind::NotCapable => {
            let why = "its server gives no index of its folders, so what differs is not known";
            refusal(from, path, why, WITHOUT_LISTING)
        }
        _ => e,
    })?;
    let mut here = Inventory::new(target, at, false)?;
    let mut not_kept = std::mem::take(&mut there.not_kept);
    notes.append(&mut there.notes);
    if there.objects.is_empty() {
        return Err(refusal(from, path, "the source is empty", "check the path of the source"));
    }
    let mut left_out = HashSet::new();
    if options.no_extra_files {
        left_out = extra_files(source, &there.prefix, options)?;
        let mut names: Vec<&String> = left_out.iter().collect();
        names.sort();
        notes.extend(names.iter().map(|name| format!("left out: `{name}` is not Zarr's")));
        there.objects.retain(|object| !left_out.contains(&object.name));
        if let Ok(node) = target.node(at) {
            let extra = extra_files(&node, &here.prefix, options)?;
            // What a sync that was killed has copied of an array without its document is the source's.
            here.objects.retain(|object| {
                let name = &object.name;
                !extra.contains(name)
                    || there.objects.binary_search_by(|object| object.name.cmp(name)).is_ok()
            });
        }
    }
    let mut cancel = options.cancel.clone();
    cancel = cancel.or_else(|| from.options().cancel.clone());
    let transfer = Transfer {
        from: there.store.clone(),
        to: here.store.clone(),
        cancel,
        verify: options.verify,
        // Others may read and write the target meanwhile.
        guarded: true,
        again: "run the same command again",
        room: Room::of_memory(options.memory.unwrap_or_else(default_memory)),
    };
    let Compared { mut pairs, mut only_here } = compare::compare(&there, &here, options.compare);
    if there.may_hide() {
        add_hidden(&there, &mut pairs, &mut only_here, &transfer)?;
    }
    let mut plan = SyncPlan {
        source: there,
        target: here,
        journal,
        data: Vec::new(),
        documents: Vec::new(),
        deleted: Vec::new(),
        left: Vec::new(),
        unchanged: 0,
        left_out,
        not_kept: Vec::new(),
        notes,
    };
    plan.sort_out(pairs, &transfer, (options.compare, from.options().limits.document))?;
    is_copy::check(&plan, target, at, (is_resumed, options.delete))?;
    plan.add_deletions(only_here, options.delete, &mut not_kept);
    if !at.is_root() && !plan.documents.is_empty() && target.is_consolidated().unwrap_or(false) {
        let what = "the consolidated metadata of the groups above are not updated; `zarr consolidate` does";
        plan.notes.push(format!("{at} of {}: {what}", target.store().name()));
    }
    plan.not_kept = not_kept;
    Ok(plan)
}

/// The pairs of what both places have, and what only the target has.
struct Compared {
    pairs: Vec<Pair>,
    only_here: Vec<Object>,
}

/// Asks the source for what only the target seems to have: an index of a web server may hide it.
fn add_hidden(
    source: &Inventory,
    pairs: &mut Vec<Pair>,
    only_here: &mut Vec<Object>,
    transfer: &Transfer,
) -> Result<()> {
    let mut hidden = HashSet::new();
    transfer.for_each(
        only_here.len(),
        |index, tell| match source.ask(&only_here[index].name)? {
            Some(object) => tell((index, object.size)),
            None => Ok(()),
        },
        &mut |&(index, size): &(usize, Option<u64>)| {
            let here = only_here[index].clone();
            let (name, verdict) = (here.name.clone(), Verdict::Unknown);
            hidden.insert(name.clone());
            pairs.push(Pair { name, size, verdict, here: Some(here) });
            Ok(())
        },
    )?;
    only_here.retain(|object| !hidden.contains(&object.name));
    Ok(())
}

fn refusal(hierarchy: &Hierarchy, path: &NodePath, why: &str, hint: &str) -> Error {
    let error = Error::from(AccessError::Argument(why.to_owned()));
    error.at_store(hierarchy.store().name()).at_path(path).with_hint(hint)
}

/// Refuses places that no sync can be between.
fn check_places(
    from: &Hierarchy,
    path: &NodePath,
    target: &Hierarchy,
    at: &NodePath,
) -> Result<()> {
    let refuse = |why: &str, hint: &str| Err(refusal(target, at, why, hint));
    if from.dialect() != target.dialect() {
        let why = format!(
            "TARGET is in {} but SOURCE is in {}: stored bytes of one format are not valid in the other",
            target.format_name(),
            from.format_name()
        );
        return refuse(&why, "`zarr copy` converts");
    }
    if from.dialect() == Dialect::Draft && !(path.is_root() && at.is_root()) {
        let why = "a node of a draft is not in one folder";
        return refuse(why, "sync the whole hierarchy, or copy the node with `zarr copy`");
    }
    let capabilities = from.store().capabilities();
    if !capabilities.list && !capabilities.lists_some {
        let why = "its store cannot list its keys, so what differs is not known";
        return Err(refusal(from, path, why, WITHOUT_LISTING));
    }
    if !target.store().capabilities().list {
        let why = "its store cannot list its keys, so what differs is not known";
        return refuse(why, WITHOUT_LISTING);
    }
    if places_meet((from, path), (target, at))? {
        let why = "SOURCE and TARGET are the same, or one is inside the other";
        return refuse(why, "sync to another place");
    }
    if Plan::under_way(target, at)?.is_some() {
        return refuse(
            "a copy to this place is under way",
            "finish it with `zarr copy SRC DST --resume`",
        );
    }
    if let Some(parent) = at.parent() {
        match target.node(&parent) {
            Ok(Node::Group(_)) => {}
            Ok(Node::Array(_)) => {
                return refuse("an array is above it", "sync to another place");
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return refuse(
                    "the group above is missing",
                    "create it, or copy with `zarr copy`, which writes it",
                );
            }
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The names of the files of a node, and of those below it, that are not Zarr's.
fn extra_files(
    base: &Node,
    prefix: &StorePrefix,
    options: &SyncOptions<'_>,
) -> Result<HashSet<String>> {
    let (known, broken) = match base {
        Node::Array(_) => (vec![base.clone()], Vec::new()),
        Node::Group(_) => nodes_and_broken(base)?,
    };
    let broken: Vec<NodePath> = broken.into_iter().map(|(path, _)| path).collect();
    let nodes = known.iter().map(|node| node.path().clone()).chain(broken.clone()).collect();
    let max_chunks = options.memory.unwrap_or_else(default_memory) / 4 / KEY;
    let wanted = Wanted { base, known: &known, broken: &broken, nodes: &nodes, max_chunks };
    let files = other_files::find(&wanted)?.files;
    let mut keys: Vec<StoreKey> = files.into_iter().map(|file| file.key).collect();
    // Those that have names of chunks, but are no array's.
    match base.hierarchy().foreign_keys(base.path()) {
        Err(e) if e.kind() == ErrorKind::NotCapable => {}
        foreign => keys.extend(foreign?),
    }
    Ok(keys.iter().filter_map(|key| Some(prefix.strip(key)?.to_owned())).collect())
}

/// Whether an object is a document, by its name.
fn is_document(dialect: Dialect, name: &str) -> bool {
    match dialect {
        Dialect::Draft => name.starts_with("meta/") || name == "zarr.json",
        _ => is_document_name(name.rsplit('/').next().unwrap_or_default()),
    }
}

/// The place of a document in the order of writing: deeper ones first; of one node what makes it a node after what it has
/// besides, and copies of others last.
fn order(name: &str) -> (std::cmp::Reverse<usize>, u8) {
    let rank = match name.rsplit('/').next().unwrap_or_default() {
        ".zmetadata" => 2,
        ".zarray" | ".zgroup" | "zarr.json" => 1,
        _ => 0,
    };
    (std::cmp::Reverse(name.matches('/').count()), rank)
}

impl SyncPlan {
    /// Reads the documents that may differ, and compares what only its bytes can tell.
    fn sort_out(
        &mut self,
        pairs: Vec<Pair>,
        transfer: &Transfer,
        (by, limit): (SyncCompare, u64),
    ) -> Result<()> {
        let dialect = self.source.dialect;
        let (same, open): (Vec<Pair>, Vec<Pair>) =
            pairs.into_iter().partition(|pair| pair.verdict == Verdict::Same);
        self.unchanged = same.len() as u64;
        let (documents, mut data): (Vec<Pair>, Vec<Pair>) =
            open.into_iter().partition(|pair| is_document(dialect, &pair.name));
        let mut found = Vec::new();
        transfer.for_each(
            documents.len(),
            |index, tell| {
                let pair = &documents[index];
                let there = self.source.get(&pair.name, limit)?;
                let is_same = match (&there, pair.verdict) {
                    (Some(bytes), verdict) if verdict != Verdict::New => {
                        // One that is too large to be a document is no obstacle: it is replaced.
                        let here = self.target.get(&pair.name, limit);
                        here.ok().flatten().is_some_and(|here| here == *bytes)
                    }
                    _ => false,
                };
                tell((index, there, is_same))
            },
            &mut |(index, there, is_same): &(usize, Option<Bytes>, bool)| {
                found.push((*index, there.clone(), *is_same));
                Ok(())
            },
        )?;
        for (index, bytes, is_same) in found {
            // What is gone since is found once more at the end.
            let Some(bytes) = bytes else { continue };
            if is_same {
                self.unchanged += 1;
                continue;
            }
            let pair = &documents[index];
            let (name, is_new) = (pair.name.clone(), pair.verdict == Verdict::New);
            self.documents.push(Document { name, bytes, is_new });
        }
        self.documents.sort_by(|a, b| (order(&a.name), &a.name).cmp(&(order(&b.name), &b.name)));
        let unknown: Vec<usize> =
            (0..data.len()).filter(|&n| data[n].verdict == Verdict::Unknown).collect();
        let mut looked_at = Vec::new();
        transfer.for_each(
            unknown.len(),
            |n, tell| tell((unknown[n], self.look(&data[unknown[n]], transfer, by)?)),
            &mut |&found| {
                looked_at.push(found);
                Ok(())
            },
        )?;
        for (index, (verdict, size)) in looked_at {
            (data[index].verdict, data[index].size) = (verdict, size);
        }
        for pair in data {
            if pair.verdict == Verdict::Same {
                self.unchanged += 1;
                continue;
            }
            let is_new = pair.verdict == Verdict::New;
            self.data.push(Planned { name: pair.name, size: pair.size, is_new });
        }
        Ok(())
    }

    /// Whether an object of which the listings do not tell it is the same in both places, and its size in the source.
    fn look(
        &self,
        pair: &Pair,
        transfer: &Transfer,
        by: SyncCompare,
    ) -> Result<(Verdict, Option<u64>)> {
        let mut size = pair.size;
        // One request tells the size and the time of what a listing did not.
        if let (None, Some(here), true) = (size, &pair.here, by != SyncCompare::Content) {
            // What is gone since is found once more at the end.
            let Some(there) = self.source.ask(&pair.name)? else {
                return Ok((Verdict::Same, None));
            };
            size = there.size;
            let verdict = compare::verdict_on(&there, here, by, false);
            if verdict != Verdict::Unknown {
                return Ok((verdict, size));
            }
        }
        let place = self.place(&pair.name)?;
        let (from, to) = ((&*transfer.from, &place.from[0]), (&*transfer.to, &place.to));
        let verdict = if are_equal(from, to)? { Verdict::Same } else { Verdict::Differs };
        Ok((verdict, size))
    }

    /// Where an object is, and where it goes.
    fn place(&self, name: &str) -> Result<Place> {
        Ok(Place { from: vec![self.source.prefix.key(name)?], to: self.target.prefix.key(name)? })
    }

    /// Adds what only the target has.
    fn add_deletions(&mut self, only_here: Vec<Object>, delete: bool, not_kept: &mut Vec<String>) {
        if !delete {
            self.left = only_here;
            return;
        }
        let dialect = self.target.dialect;
        let mut kept = 0u64;
        let mut example = None;
        for object in only_here {
            // What is behind a link is not the target's own.
            if self.target.is_behind_link(&object.name) {
                kept += 1;
                example.get_or_insert(object.name.clone());
                self.left.push(object);
            } else {
                self.deleted.push(object);
            }
        }
        if let Some(example) = example {
            not_kept.push(format!(
                "{kept} objects that the source lacks, such as `{example}`, are behind a link of the target and stay"
            ));
        }
        self.deleted.sort_by_cached_key(|object| {
            let is_data = !is_document(dialect, &object.name);
            let (depth, rank) = order(&object.name);
            (is_data, depth, std::cmp::Reverse(rank), object.name.clone())
        });
    }

    /// How many objects are copied, documents among them.
    pub fn objects(&self) -> u64 {
        (self.data.len() + self.documents.len()) as u64
    }

    /// How many of them the target does not have at all.
    pub fn new_objects(&self) -> u64 {
        let documents = self.documents.iter().filter(|document| document.is_new).count();
        (self.data.iter().filter(|planned| planned.is_new).count() + documents) as u64
    }

    /// How many documents are among them.
    pub fn documents(&self) -> u64 {
        self.documents.len() as u64
    }

    /// How many bytes are copied, as far as their sizes are known.
    pub fn bytes(&self) -> u64 {
        let documents = self.documents.iter().map(|document| document.bytes.len() as u64);
        self.data.iter().filter_map(|planned| planned.size).chain(documents).sum()
    }

    /// Of how many objects the sizes are known only when they are copied: indices of web servers do not tell them.
    pub fn unknown_sizes(&self) -> u64 {
        self.data.iter().filter(|planned| planned.size.is_none()).count() as u64
    }

    /// How many objects are the same in both places.
    pub fn unchanged(&self) -> u64 {
        self.unchanged
    }

    /// The names of the objects that are copied, from the node on, in no order.
    pub fn copied_names(&self) -> impl Iterator<Item = &str> {
        let documents = self.documents.iter().map(|document| &*document.name);
        self.data.iter().map(|planned| &*planned.name).chain(documents)
    }

    /// The names of the target's objects that are deleted, from the node on, in the order of deleting.
    pub fn deleted_names(&self) -> impl Iterator<Item = &str> {
        self.deleted.iter().map(|object| &*object.name)
    }

    /// How many bytes are deleted, as far as the target's listing tells.
    pub fn deleted_bytes(&self) -> u64 {
        self.deleted.iter().filter_map(|object| object.size).sum()
    }

    /// The names of what only the target has, and keeps, from the node on.
    pub fn left_names(&self) -> impl Iterator<Item = &str> {
        self.left.iter().map(|object| &*object.name)
    }

    /// What of the source no sync can copy, each with its place.
    pub fn not_kept(&self) -> &[String] {
        &self.not_kept
    }

    /// What else is worth to be known.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

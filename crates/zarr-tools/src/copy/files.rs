//! Copies the files among the nodes that are not Zarr's (docs/internals/design/copies.md).
//!
//! The plan names each with its place in the copy. Each belongs to a part, and is copied before the part counts as done.

use std::collections::HashSet;
use std::ops::Range;

use zarr_core::format::{is_document_name, system_part};
use zarr_core::store::{StoreKey, StorePrefix, SyncStore};
use zarr_core::{AccessError, Array, Cause, Error, Hierarchy, Node, NodePath, Result, StoreError};

use super::as_stored::AGAIN;
use super::choose::{check_excluded, is_file_chosen};
use super::memory::default_memory;
use super::plan::{Plan, Told};
use super::{CopyOptions, Verify};
use crate::other_files::{self, OtherFiles, Wanted, key_in};
use crate::transfer::{Place, Room, Transfer, are_equal, is_stored};

/// About what a key takes in a listing.
const KEY: u64 = 160;
/// More files than this are looked for in the target by one listing.
const MAX_ASKED: usize = 64;

/// A file that is copied as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedFile {
    pub from: StoreKey,
    pub to: StoreKey,
    /// Whether it belongs to an array of which this build cannot tell which keys its chunks have.
    pub is_of_array: bool,
}

/// The nodes of a source.
pub(super) struct Nodes<'a> {
    /// The copied node.
    pub base: &'a Node,
    /// All that can be opened.
    pub all: &'a [Node],
    pub broken: &'a [NodePath],
    /// Those that are copied.
    pub copied: HashSet<NodePath>,
}

/// Plans which files are copied, and tells of what is not. `stored` is the plan of the copy under way, if one is.
pub(super) fn planned_files(
    nodes: Nodes<'_>,
    (target, at): (&Hierarchy, &NodePath),
    options: &CopyOptions<'_>,
    stored: Option<&Plan>,
    told: &mut Told,
) -> Result<Vec<PlannedFile>> {
    let Nodes { base, all, broken, copied } = nodes;
    let max_chunks = options.memory.unwrap_or_else(default_memory) / 4 / KEY;
    // Arrays that are chosen by their names bring what is in their own folders.
    let wanted: HashSet<NodePath> = if options.select.is_empty() {
        copied
    } else {
        let arrays = all.iter().filter_map(Node::as_array).map(Array::path);
        arrays.filter(|path| copied.contains(path)).cloned().collect()
    };
    let wanted = Wanted { base, known: all, broken, nodes: &wanted, max_chunks };
    let OtherFiles { mut files, hidden, lost, left_out, second, is_unknown, is_partial } =
        other_files::find(&wanted)?;
    told.not_kept.extend(hidden.into_iter().map(|(path, why)| format!("{path}: {why}")));
    told.not_kept.extend(second);
    told.not_kept.extend(lost);
    told.notes.extend(left_out.into_iter().map(|what| format!("left out: {what}")));
    if is_unknown {
        let what =
            "the store cannot list its keys, so any files that are not Zarr's are not copied";
        told.notes.push(format!("{}: {what}", base.path()));
    }
    if is_partial && !options.no_extra_files {
        let what = "files that are not Zarr's are those that the web server's indices name; it may hide others";
        told.notes.push(format!("{}: {what}", base.path()));
    }
    let names: Vec<&str> = files.iter().map(|file| &*file.name).collect();
    let paths: Vec<&NodePath> = all.iter().map(Node::path).chain(broken).collect();
    check_excluded(base.path(), &paths, &names, options)
        .map_err(|e| e.at_store(base.hierarchy().store().name()).at_path(base.path()))?;
    files.retain(|file| is_file_chosen(base.path(), &file.owner, &file.name, options));
    if options.no_extra_files {
        told.notes.extend(
            files.iter().map(|file| format!("left out: `{}`, which is not Zarr's", file.key)),
        );
        files.clear();
    }
    let mut planned = Vec::new();
    for file in files {
        match key_in(&**target.format(), at, &file.name) {
            Ok(to) => planned.push(PlannedFile { from: file.key, to, is_of_array: false }),
            Err(e) => told.not_kept.push(format!("`{}`: {}", file.key, e.cause())),
        }
    }
    let there = Target::new(target, at, &planned)?;
    let source = base.hierarchy().store().to_sync();
    let ours: HashSet<&StoreKey> =
        stored.iter().flat_map(|plan| &plan.files).map(|file| &file.to).collect();
    let mut kept = Vec::new();
    for file in planned {
        match there.has(&file.to) {
            Err(e) if matches!(e.cause(), Cause::Store(StoreError::InvalidKey { .. })) => {
                told.not_kept.push(format!("`{}`: {}", file.from, e.cause()));
                continue;
            }
            Ok(false) => {}
            Ok(true) if ours.contains(&file.to) || options.overwrite => {}
            Ok(true) => {
                if are_equal((&*source, &file.from), (&*there.store, &file.to))? {
                    continue;
                }
                let error = Error::from(AccessError::Exists("another file"));
                let hint = "move it elsewhere, or leave out the source's file with `--exclude`";
                let error = error.at_store(there.store.name()).at_key(&file.to).with_hint(hint);
                return Err(error);
            }
            Err(e) => return Err(e),
        }
        kept.push(file);
    }
    Ok(kept)
}

/// All that is stored of an array of which this build cannot tell which keys its chunks have, but for its documents.
///
/// # Errors
/// [`AccessError::Exists`] if the target has something there that its reader would take for chunks, unless a copy is gone on
/// with or overwrites; what listing meets.
pub(super) fn files_of_array(
    array: &Array,
    (target, to): (&Hierarchy, &NodePath),
    options: &CopyOptions<'_>,
    stored: Option<&Plan>,
) -> Result<Vec<PlannedFile>> {
    let source = array.hierarchy();
    let (old, new) =
        (source.format().chunk_prefix(array.path())?, target.format().chunk_prefix(to)?);
    if stored.is_none() && !options.overwrite {
        let there = listed(&*target.store().to_sync(), &new)?;
        if let Some(key) = there.first() {
            let error = Error::from(AccessError::Exists("another object"));
            let hint = "copy to another place, or pass `--overwrite`";
            return Err(error.at_store(target.store().name()).at_key(key).with_hint(hint));
        }
    }
    let keys = listed(&*source.store().to_sync(), &old)?;
    keys.into_iter()
        .map(|key| {
            let name = old.strip(&key).unwrap_or_default();
            Ok(PlannedFile { to: new.key(name)?, from: key, is_of_array: true })
        })
        .collect()
}

/// The keys below a prefix that are no documents, and belong to no tool.
fn listed(store: &dyn SyncStore, prefix: &StorePrefix) -> Result<Vec<StoreKey>> {
    let listing = store.list_prefix(prefix);
    let mut keys = listing.map_err(|e| Error::from(e).at_store(store.name()))?.keys;
    keys.retain(|key| {
        let name = key.as_str().rsplit('/').next().unwrap_or_default();
        !is_document_name(name) && system_part(key.as_str()).is_none()
    });
    Ok(keys)
}

/// Which files the target has.
struct Target {
    store: std::sync::Arc<dyn SyncStore>,
    /// All keys at the place of the copy, if they were listed.
    listed: Option<HashSet<StoreKey>>,
}

impl Target {
    fn new(target: &Hierarchy, at: &NodePath, files: &[PlannedFile]) -> Result<Target> {
        let store = target.store().to_sync();
        let capabilities = store.capabilities();
        // A folder tells at once, and whether it can have such a key.
        let is_asked = capabilities.local || files.len() <= MAX_ASKED || !capabilities.list;
        let listed = if is_asked {
            None
        } else {
            let mut keys = HashSet::new();
            for prefix in [target.format().children_prefix(at)?, target.format().chunk_prefix(at)?]
            {
                let listing = store.list_prefix(&prefix);
                keys.extend(listing.map_err(|e| Error::from(e).at_store(store.name()))?.keys);
            }
            Some(keys)
        };
        Ok(Target { store, listed })
    }

    fn has(&self, key: &StoreKey) -> Result<bool> {
        match &self.listed {
            Some(listed) => Ok(listed.contains(key)),
            None => is_stored(&*self.store, key),
        }
    }
}

impl Plan {
    /// The files of a part, by their numbers: about as many as of any other.
    fn files_of(&self, part: usize) -> Range<usize> {
        let (files, parts) = (self.files.len(), self.parts.len().max(1));
        part * files / parts..(part + 1) * files / parts
    }

    /// Copies the files of some parts that are not in the target, and compares them there, if that is asked for. A mark that a
    /// part is done says nothing of its files: each is compared.
    pub(super) fn copy_files(
        &self,
        (parts, is_new): (&[usize], bool),
        source: &Hierarchy,
        target: &Hierarchy,
        options: &CopyOptions<'_>,
    ) -> Result<()> {
        let cancel = options.cancel.clone().or(source.options().cancel.clone());
        let transfer = Transfer {
            from: source.store().to_sync(),
            to: target.store().to_sync(),
            cancel,
            verify: options.verify != Verify::No,
            guarded: true,
            again: AGAIN,
            room: Room::of_memory(options.memory.unwrap_or_else(default_memory)),
        };
        let mut files: Vec<&PlannedFile> =
            parts.iter().flat_map(|&part| &self.files[self.files_of(part)]).collect();
        if !is_new {
            let mut missing = Vec::new();
            for file in files {
                let pair = ((&*transfer.from, &file.from), (&*transfer.to, &file.to));
                if !are_equal(pair.0, pair.1)? {
                    missing.push(file);
                }
            }
            files = missing;
        }
        transfer.copy_all(
            &files,
            |file: &&PlannedFile| Ok(Place { from: vec![file.from.clone()], to: file.to.clone() }),
            &mut |index, size| {
                if size.is_some() {
                    return Ok(());
                }
                let looked_for = "a file that was there when the copy began".into();
                let error = Error::from(AccessError::NotFound { looked_for });
                Err(error.at_store(transfer.from.name()).at_key(&files[index].from))
            },
        )
    }
}

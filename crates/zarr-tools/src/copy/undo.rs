//! Undoes copies that were cut off: erases what they wrote, and nothing else.
//!
//! What a copy has written is known: chunks below the keys of its arrays, since the place was cleared before the first of
//! them; documents that are as the plan says; its journal. All of that is in the source, too, which has to be there.

use zarr_core::store::{Bytes, GetOptions, StoreKey, StorePrefix, SyncStore};
use zarr_core::{
    AccessError, Dialect, Error, ErrorKind, Hierarchy, Json, Node, NodePath, OpenOptions, Result,
};

use super::Progress;
use super::finish::consolidate;
use super::journal::Journal;
use super::netcdf;
use super::plan::{Plan, PlannedArray, PlannedDocument, Role};
use super::under_way::Plans;
use crate::errors::at_key;
use crate::links::link_on_the_way;
use crate::transfer::{are_equal, is_stored};

/// A copy that was cut off, and what was done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoneCopy {
    /// Where it was to be.
    pub path: NodePath,
    /// Where it was made from.
    pub source: String,
    /// How many documents it has written.
    pub documents: u64,
    /// How many chunks, or shards, it has written.
    pub chunks: u64,
    /// How many files that are not Zarr's it has copied.
    pub files: u64,
    /// Whether all of that, and its journal, is erased.
    pub is_undone: bool,
    /// What happened, or would happen, in a sentence.
    pub what: String,
}

/// Undoes the copies under way to the node at `path`, and to nodes below it, in what a path or URL names. No process may be
/// at work on them. Calls `told` with each; without `apply` nothing is erased. Returns how many are left.
///
/// A copy whose source cannot be opened is left, as what it has written may be the only copy then; so is one in which a
/// document was changed by another program.
///
/// # Errors
/// Whatever kept the store from being opened, listed or written.
pub fn undo_copies(
    url: &str,
    path: impl AsRef<str>,
    open: &OpenOptions,
    apply: bool,
    told: &mut dyn FnMut(&UndoneCopy),
) -> Result<u64> {
    let below = path.as_ref().trim_matches('/');
    let (store, base) = match Hierarchy::locate(url, open) {
        Ok((hierarchy, base)) => (hierarchy.store().clone(), base),
        Err(e) => match (e.hint_id(), e.store(), e.path()) {
            (Some("resume_copy"), Some(store), Some(path)) => (open.store(store)?, path.clone()),
            _ => return Err(e),
        },
    };
    let path = if below.is_empty() { base } else { base.join(below)? };
    let sync = store.to_sync();
    let mut left = 0;
    for (key, bytes) in Plans::of(&*sync, open.options.limits.document)?.plans {
        let plan = Json::parse(&bytes).and_then(|json| Plan::from_value(&json));
        let plan = plan.map_err(|why| {
            let error = Error::from(zarr_core::MetadataError::invalid("plan", why));
            error.at_store(store.name()).at_key(&key)
        })?;
        if !plan.at.is_within(&path) {
            continue;
        }
        let dialects = [Dialect::V3, Dialect::V2, Dialect::Draft];
        let hierarchies =
            dialects.map(|dialect| Hierarchy::of_format(store.clone(), open.format(dialect), open));
        let target = hierarchies.into_iter().find(|it| it.format_name() == plan.format);
        let target = match netcdf::target(&plan, &store, open)? {
            Some(target) => target,
            None => target.ok_or_else(|| {
                let why = format!("the format {} of a copy is not known", plan.format);
                Error::from(AccessError::Argument(why)).at_store(store.name()).at_key(&key)
            })?,
        };
        let undone = plan.undo(&target, open, apply)?;
        left += u64::from(!undone.is_undone);
        told(&undone);
    }
    sync.flush()?;
    Ok(left)
}

fn value(store: &dyn SyncStore, key: &StoreKey, open: &OpenOptions) -> Result<Option<Bytes>> {
    let got = store.get(key, GetOptions::at_most(open.options.limits.document));
    let got = got.map_err(|e| Error::from(e).at_store(store.name()).at_key(key))?;
    Ok(got.map(|got| got.bytes.unwrap_or_default()))
}

impl Plan {
    fn undo(&self, target: &Hierarchy, open: &OpenOptions, apply: bool) -> Result<UndoneCopy> {
        let store = target.store().to_sync();
        let journal = Journal::new(target, &self.at);
        let mut undone = UndoneCopy {
            path: self.at.clone(),
            source: format!("{}{}", self.store, self.from.as_str().trim_end_matches('/')),
            documents: 0,
            chunks: 0,
            files: 0,
            is_undone: false,
            what: String::new(),
        };
        let mut chunks = Vec::new();
        if journal.is_cleared(self)? {
            for array in &self.arrays {
                chunks.extend(target.chunk_keys(&array.to, &self.metadata(target, array)?)?);
            }
        }
        // The outermost were written last.
        let mut documents = Vec::new();
        for document in self.documents.iter().rev().filter(|it| it.role == Role::Node) {
            match value(&*store, &document.key, open)? {
                None => {}
                Some(found) if is_as_planned(&found, &document.value) => documents.push(document),
                Some(_) => {
                    let key = &document.key;
                    undone.what = format!("was kept: another program has changed `{key}`");
                    return Ok(undone);
                }
            }
        }
        undone.documents = documents.len() as u64;
        undone.chunks = chunks.len() as u64;
        let files = self.check_source(target, open).and_then(|source| {
            let source = source.store().to_sync();
            let mut copied = Vec::new();
            for file in &self.files {
                if is_stored(&*store, &file.to)? {
                    let is_equal = are_equal((&*source, &file.from), (&*store, &file.to))?;
                    copied.push((&file.to, is_equal));
                }
            }
            Ok(copied)
        });
        let files = match files {
            Ok(files) => files,
            Err(e) => {
                undone.what = format!(
                    "stays: its source cannot be read, so this may be the only copy ({e}); `zarr rm` erases it anyway"
                );
                return Ok(undone);
            }
        };
        if let Some((key, _)) = files.iter().find(|(_, is_equal)| !is_equal) {
            undone.what = format!("was kept: another program has changed `{key}`");
            return Ok(undone);
        }
        undone.files = files.len() as u64;
        let keys = chunks.iter().chain(documents.iter().map(|document| &document.key));
        let keys = keys.chain(files.iter().map(|(key, _)| *key));
        if let Some(link) =
            keys.into_iter().find_map(|key| link_on_the_way(&store.name(), key.as_str()))
        {
            undone.what = format!(
                "stays: part of it is reached through the symbolic link `{link}`, which erasing does not follow; remove the link"
            );
            return Ok(undone);
        }
        if !apply {
            undone.what = "would be undone".into();
            return Ok(undone);
        }
        // Documents go first, so that no reader finds a node without its chunks; then the marks of parts, so that a copy
        // that is resumed after a kill in here does not trust them.
        self.erase_copies_of_documents(target, !documents.is_empty())?;
        // Consolidated metadata that still described the nodes would pass for the only copies of their documents.
        let above =
            if documents.is_empty() { Vec::new() } else { self.consolidated_above(target)? };
        for path in &above {
            match target.node(path)? {
                Node::Group(group) if !path.is_root() => drop(group.remove_consolidated()?),
                _ => drop(target.remove_consolidated()?),
            }
        }
        documents.iter().try_for_each(|document| erase(&*store, &document.key))?;
        journal.forget_parts()?;
        chunks.iter().try_for_each(|key| erase(&*store, key))?;
        files.iter().try_for_each(|(key, _)| erase(&*store, key))?;
        self.erase_folders(target)?;
        for document in self.documents.iter().filter(|it| it.role == Role::Above) {
            if is_bare(&*store, target, document, open)? {
                erase(&*store, &document.key)?;
            }
        }
        for path in &above {
            match target.node(path) {
                // It was a group of the copy's own.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                _ => consolidate(target, path, &mut Progress::default())?,
            }
        }
        journal.erase()?;
        undone.is_undone = true;
        undone.what = "is undone".into();
        Ok(undone)
    }

    /// Erases the folders of nodes of the copy in which nothing is left, the innermost first.
    fn erase_folders(&self, target: &Hierarchy) -> Result<()> {
        let store = target.store().to_sync();
        let base = target.format().children_prefix(&self.at)?;
        let mut paths = self.paths();
        paths.sort_by_key(|path| std::cmp::Reverse(path.names().count()));
        let mut folders: Vec<StorePrefix> = Vec::new();
        for file in &self.files {
            let mut folder = file.to.parent();
            while !folder.as_str().is_empty() && folder.as_str() != base.as_str() {
                let above = folder.as_str().trim_end_matches('/').rfind('/');
                let above = above.map_or("", |at| &folder.as_str()[..=at]).to_owned();
                folders.push(std::mem::replace(&mut folder, StorePrefix::new(above)?));
            }
        }
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.as_str().len()));
        folders.dedup();
        for folder in folders {
            if store.list_prefix(&folder)?.keys.is_empty() {
                store.erase_prefix(&folder)?;
            }
        }
        for path in paths.iter().filter(|path| !path.is_root()) {
            let format = target.format();
            for prefix in [format.chunk_prefix(path)?, format.children_prefix(path)?] {
                if store.list_prefix(&prefix)?.keys.is_empty() {
                    store.erase_prefix(&prefix)?;
                }
            }
        }
        Ok(())
    }

    /// The source; refuses one that is not there, or that has other arrays than it had.
    fn check_source(&self, target: &Hierarchy, open: &OpenOptions) -> Result<Hierarchy> {
        let mut open = OpenOptions::new(open.registry.clone());
        for (name, value) in &self.store_options {
            open = open.store_option(name, value);
        }
        let (hierarchy, base) = zarr_core::Hierarchy::locate(&self.store, &open)?;
        for array @ PlannedArray { from, region, .. } in &self.arrays {
            let from = if base.is_root() { from.clone() } else { base.join(from.relative())? };
            let source = hierarchy.array(&from)?;
            let copy = self.metadata(target, array)?;
            let is_whole = region.is_none() && self.asked.get(super::json::DATASET).is_none();
            if is_whole && source.shape() != copy.shape {
                let why = format!("{from} has another shape than when it was copied");
                return Err(AccessError::Argument(why).into());
            }
        }
        Ok(hierarchy)
    }

    /// Erases the consolidated metadata that the copy has in documents besides those of its nodes.
    fn erase_copies_of_documents(&self, target: &Hierarchy, has_documents: bool) -> Result<()> {
        if !has_documents {
            return Ok(());
        }
        for path in &self.consolidated {
            match target.dialect() {
                Dialect::V2 => {
                    let key = target.format().children_prefix(path)?.key(".zmetadata")?;
                    target.store().to_sync().erase(&key)?;
                }
                Dialect::Draft if path.is_root() && target.is_consolidated()? => {
                    target.remove_consolidated()?;
                }
                // Those of v3 are in the group's document.
                _ => {}
            }
        }
        Ok(())
    }
}

/// Erases a key of the target.
fn erase(store: &dyn SyncStore, key: &StoreKey) -> Result<()> {
    store.erase(key).map_err(|e| at_key(e, store, key))
}

/// Whether a document is what the plan says, but for consolidated metadata, which are made after it.
pub(crate) fn is_as_planned(found: &[u8], planned: &[u8]) -> bool {
    found == planned
        || without_consolidated(found)
            .is_some_and(|json| Some(json) == without_consolidated(planned))
}

/// A document without the consolidated metadata, which other writers renew.
fn without_consolidated(bytes: &[u8]) -> Option<Json> {
    // Copies of attributes may have bare NaN.
    let (mut json, _) = Json::parse_tolerant(bytes).ok()?;
    if let Json::Object(object) = &mut json {
        object.remove("consolidated_metadata");
    }
    Some(json)
}

/// Whether a document of a group above the copy, or of the hierarchy, is as the copy would write it, and nothing else is below.
fn is_bare(
    store: &dyn SyncStore,
    target: &Hierarchy,
    document: &PlannedDocument,
    open: &OpenOptions,
) -> Result<bool> {
    let Some(found) = value(store, &document.key, open)? else { return Ok(false) };
    let prefix = match target.dialect() {
        Dialect::Draft => StorePrefix::root(),
        _ => target.format().children_prefix(&document.path)?,
    };
    let listing = store.list_prefix(&prefix)?;
    let has_others = listing
        .keys
        .iter()
        .any(|key| *key != document.key && !key.as_str().starts_with(".zarr-copy/"));
    Ok(found[..] == document.value[..] && !has_others)
}

//! Finishes a copy: writes the documents after all chunks, then consolidated metadata, and erases the journal.

use zarr_core::format::Documents;
use zarr_core::store::GetOptions;
use zarr_core::{
    AccessError, Dialect, ErrorKind, Hierarchy, Node, NodeMetadata, NodePath, Reading, Result,
};

use super::Progress;
use super::journal::{Journal, put_new};
use super::plan::{Plan, PlannedDocument, Role};
use crate::errors::at_node;

impl Plan {
    /// Writes the documents of the copy, those of deeper nodes first, and the copied node's and the hierarchy's last; then
    /// consolidated metadata; then erases the journal, and flushes the target. It may be called again after a failure.
    ///
    /// # Errors
    /// [`AccessError::Argument`] naming the parts that are not done; [`AccessError::Exists`] if another writer has created
    /// a node at the place of the copy; what the store reports.
    pub fn finish(&self, target: &Hierarchy) -> Result<Progress> {
        let journal = Journal::new(target, &self.at);
        if journal.plan()?.is_none() {
            let looked_for = "the journal of a copy".into();
            return Err(at_node(AccessError::NotFound { looked_for }, target, &self.at));
        }
        let missing = self.missing(target)?;
        if !missing.is_empty() {
            let count = self.parts.len();
            let names = missing.iter().take(MOST_NAMED).map(|part| format!("{}/{count}", part + 1));
            let names = names.collect::<Vec<_>>().join(", ");
            let more = missing.len().saturating_sub(MOST_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let why = format!("not all parts are done: {names}{more}");
            let error = at_node(AccessError::Argument(why), target, &self.at);
            return Err(error.with_hint("run them with `--part`, or all with `--resume`"));
        }
        let mut progress = Progress::default();
        self.erase_bare_root(target)?;
        for document in &self.documents {
            self.write(document, target)?;
        }
        // Inner groups come first: the copies of a group's document hold what that document holds.
        for to in self.consolidated.iter().rev() {
            consolidate(target, to, &mut progress)?;
        }
        self.consolidate_above(target, &mut progress)?;
        journal.erase()?;
        target.flush()?;
        progress.nodes_total = self.nodes();
        progress.nodes_done = progress.nodes_total;
        progress.bytes_total = self.bytes();
        progress.bytes_done = progress.bytes_total;
        Ok(progress)
    }

    /// Writes one document. One that is there is the same, from an earlier call, or another writer's.
    fn write(&self, document: &PlannedDocument, target: &Hierarchy) -> Result<()> {
        let PlannedDocument { path, key, value, role } = document;
        if *role == Role::Merged {
            return merge(document, target).map_err(|e| at_node(e, target, path));
        }
        let store = target.store().to_sync();
        if put_new(&*store, key, value).map_err(|e| at_node(e, target, path))?
            || *role == Role::Above
        {
            return Ok(());
        }
        let limit = target.options().limits.document;
        let found =
            store.get(key, GetOptions::at_most(limit)).map_err(|e| at_node(e, target, path))?;
        if found.is_some_and(|found| found.bytes.unwrap_or_default() == value[..]) {
            return Ok(());
        }
        let hint = "another program created it during the copy, and chunks of the copy may be of that program; \
                    start over with `--overwrite`";
        let error = at_node(AccessError::Exists("a node"), target, path);
        Err(error.at_key(key).with_hint(hint))
    }

    /// Erases the bare root group that a draft's hierarchy begins with, for an array in its place.
    fn erase_bare_root(&self, target: &Hierarchy) -> Result<()> {
        let has_root_array = self.arrays.iter().any(|array| array.to.is_root());
        if target.dialect() != Dialect::Draft || !has_root_array {
            return Ok(());
        }
        let format = target.format();
        let group = format.attributes_member(&NodePath::root(), zarr_core::NodeKind::Group)?;
        Ok(target.store().to_sync().erase(&group.key)?)
    }

    /// Makes the consolidated metadata of groups above the copy again, where there are any.
    pub(super) fn consolidate_above(
        &self,
        target: &Hierarchy,
        progress: &mut Progress,
    ) -> Result<()> {
        for path in self.consolidated_above(target)? {
            if target.options().drop_consolidated && path.is_root() {
                target.remove_consolidated()?;
            } else {
                consolidate(target, &path, progress)?;
            }
        }
        Ok(())
    }

    /// The groups above the copy, and the one that nodes were copied into, that have consolidated metadata; the innermost first.
    pub(super) fn consolidated_above(&self, target: &Hierarchy) -> Result<Vec<NodePath>> {
        // A group that was there before, and that nodes were copied into.
        let is_new = self
            .documents
            .iter()
            .any(|document| document.path == self.at && document.role != Role::Merged);
        let is_kept = !is_new && !self.consolidated.contains(&self.at);
        let itself = is_kept.then(|| self.at.clone());
        let mut found = Vec::new();
        for path in itself.into_iter().chain(self.at.ancestors()) {
            // A draft has them at the root only, where its groups need no documents.
            if target.dialect() == Dialect::Draft && !path.is_root() {
                continue;
            }
            let is_consolidated = match target.node(&path) {
                // A copy that is undone has erased it.
                Err(e) if e.kind() == ErrorKind::NotFound => false,
                Ok(Node::Group(group)) if !path.is_root() => group.is_consolidated()?,
                _ => target.is_consolidated()?,
            };
            if is_consolidated {
                found.push(path);
            }
        }
        Ok(found)
    }
}

/// The most parts that a message names.
const MOST_NAMED: usize = 20;

/// Adds the attributes of a copied group to those of the group that is there.
fn merge(document: &PlannedDocument, target: &Hierarchy) -> Result<()> {
    let found = Documents::from([(document.key.clone(), document.value.clone().into())]);
    let mut reading = Reading::new(target.registry(), target.options().strictness);
    let is_attributes = document.key.as_str().ends_with(".zattrs");
    let attributes = if is_attributes {
        let (json, _) = target
            .format()
            .encoding()
            .decode(&document.value)
            .map_err(zarr_core::MetadataError::Json)?;
        json.as_object().cloned().unwrap_or_default()
    } else {
        match target.format().parse(&document.path, &found, &mut reading)? {
            Some(NodeMetadata::Group(group)) => group.attributes,
            _ => return Ok(()),
        }
    };
    if attributes.is_empty() {
        return Ok(());
    }
    target.group(&document.path)?.update_attributes(|old| {
        for (name, value) in attributes.iter() {
            old.insert(name, value.clone());
        }
    })?;
    Ok(())
}

/// Consolidates the metadata of a copied group, if the target has a place for them.
pub(super) fn consolidate(
    target: &Hierarchy,
    at: &NodePath,
    progress: &mut Progress,
) -> Result<()> {
    let done = match target.node(at) {
        // In v3 an array at the root has no place for copies; it needs none.
        Ok(Node::Array(_)) if !at.is_root() || target.dialect() == Dialect::V3 => return Ok(()),
        Ok(Node::Group(group)) if !at.is_root() => group.consolidate(),
        Err(e) if !at.is_root() => return Err(e),
        _ => target.consolidate(),
    };
    match done {
        Err(e) if matches!(e.kind(), ErrorKind::Argument | ErrorKind::NotCapable) => {
            let hint = e.hint().map_or_else(String::new, |hint| format!("; {hint}"));
            progress.not_kept.push(format!("{at}: consolidated metadata: {}{hint}", e.cause()));
        }
        other => drop(other?),
    }
    Ok(())
}

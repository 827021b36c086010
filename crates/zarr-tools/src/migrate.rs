//! Migrates a hierarchy between v2 and v3 by its documents alone: no chunk is read, written or moved.
//!
//! The new documents are written beside the old ones, those of deeper nodes first and the root's last. Until the root's is
//! there, every reader finds the old hierarchy; from then on readers that know both dialects find the new one. The old
//! documents stay until [`Migration::remove_old`], which erases the root's first, so that no reader finds half of a
//! hierarchy. A migration that was killed goes on when it is planned and written again. Nodes behind symbolic links are left as they are.

use std::collections::BTreeSet;

use zarr_core::format::Documents;
use zarr_core::store::{Bytes, GetOptions, Store, StoreKey};
use zarr_core::{
    AccessError, Consolidated, Dialect, Error, ErrorKind, Hierarchy, Json, MetadataError, Node,
    NodePath, Object, OpenOptions, Result,
};

use crate::copy::{
    CopyOptions, InPlace, Neighbours, Plan, in_place, is_as_planned, plan_copy, put_new,
};
use crate::errors::at_key;
use crate::links::link_on_the_way;
use crate::ome::OmeReport;
use crate::other_files::{Links, hidden_nodes};
use crate::target::{absolute_url, hierarchy_above};
use crate::transfer::is_stored;
use crate::tree_progress::nodes_and_broken;

/// How a hierarchy is migrated.
#[derive(Clone, Debug, Default)]
pub struct MigrateOptions {
    /// Keeps the fill value of arrays whose missing values could only be kept by writing chunks. Without it such an array is
    /// refused.
    pub keep_fill: bool,
    /// Leaves the metadata of OME-Zarr images as they are, as [`CopyOptions::keep_attributes`].
    pub keep_attributes: bool,
    /// Lets [`Migration::remove_old`] erase the old documents although new ones were changed since they were written: what is in the
    /// new ones stays.
    pub keep_changes: bool,
}

/// What a migration is going to do.
#[derive(Debug)]
pub struct Migration {
    source: Hierarchy,
    target: Hierarchy,
    /// In the order of writing.
    new: Vec<(StoreKey, Bytes)>,
    /// In the order of erasing.
    old: Vec<StoreKey>,
    /// The groups that have consolidated metadata.
    consolidated: Vec<NodePath>,
    nodes: u64,
    keep_changes: bool,
    not_kept: Vec<String>,
    notes: Vec<String>,
    /// What becomes of OME-Zarr metadata; told in the notes once all nodes are planned.
    ome: OmeReport,
}

/// The most obstacles that an error names.
const MAX_NAMED: usize = 20;

/// Opens the hierarchy that a path or URL names, to be migrated to a dialect. Where documents of both are there, since a
/// migration was begun, it is opened by the old ones. Consolidated metadata are not believed.
///
/// # Errors
/// [`AccessError::Argument`] if the path is that of a node inside a hierarchy; as [`Hierarchy::open`].
pub fn open_for_migration(url: &str, to: Dialect, options: &OpenOptions) -> Result<Hierarchy> {
    let old = if to == Dialect::V3 { Dialect::V2 } else { Dialect::V3 };
    let url = absolute_url(url);
    let (detected, mut options) = (options, options.clone());
    options.dialect = Some(old);
    let (opened, path) = match Hierarchy::locate(&url, &options) {
        // One of the new dialect, or of a draft, which the plan refuses by name.
        Err(e) if e.kind() == ErrorKind::NotFound => {
            options = detected.clone();
            Hierarchy::locate(&url, &options)?
        }
        opened => opened?,
    };
    if !path.is_root() {
        return Err(inside(opened.store().name(), &path));
    }
    if let Some((above, path)) = hierarchy_above(&opened.store().name(), &options)
        && above.dialect() == opened.dialect()
        && above.node(&path).is_ok()
    {
        return Err(inside(above.store().name(), &path));
    }
    options.consolidated = Consolidated::Ignore;
    Hierarchy::open(opened.store().clone(), &options)
}

/// The error of a node inside a hierarchy: with documents of another format it would not be found there.
fn inside(store: String, path: &NodePath) -> Error {
    let why = "this is a node inside a hierarchy, whose nodes all have one format".into();
    let error = Error::from(AccessError::Argument(why)).at_store(store).at_path(path);
    error.with_hint("migrate the hierarchy, or copy the node with `zarr copy`")
}

/// Plans to give all nodes of a hierarchy documents of another dialect. Nothing is written.
///
/// # Errors
/// [`MetadataError::CannotRepresent`] naming each array whose chunks would have to be encoded again or would need other keys,
/// and each node that the dialect cannot represent; [`AccessError::Argument`] for a dialect other than v2 and v3, and for
/// nodes that are described in consolidated metadata only; what the store reports.
pub fn plan_migration(
    hierarchy: &Hierarchy,
    to: Dialect,
    options: &MigrateOptions,
) -> Result<Migration> {
    let store = hierarchy.store();
    let from = hierarchy.dialect();
    if from == to {
        return Err(is_migrated(hierarchy));
    }
    if from == Dialect::Draft || to == Dialect::Draft {
        let why = "a draft stores its chunks under other keys than v2 and v3";
        let hint = "copy it with `zarr copy --to v3` (library: `copy`)";
        return Err(argument(&**store, why).with_hint(hint));
    }
    let root = hierarchy.node(NodePath::root())?;
    let mut open = OpenOptions::new(hierarchy.registry().clone()).read_write();
    open.options = hierarchy.options().clone();
    refuse_netcdf(&root, to)?;
    let target = Hierarchy::of_format(store.clone(), zarr_core::format::of_dialect(to), &open);
    let only_copied = hierarchy.only_copied_nodes("/")?;
    if let Some(first) = only_copied.first() {
        let others = only_copied.len() - 1;
        let why = format!(
            "only consolidated metadata describe {first} and {others} other nodes; their documents are missing"
        );
        let hint = "`zarr repair --apply` writes the documents from their copies";
        return Err(argument(&**store, &why).at_path(first).with_hint(hint));
    }
    let (nodes, broken) = nodes_and_broken(&root)?;
    let mut links = BTreeSet::new();
    let mut is_own = |path: &NodePath| match link_to(&**store, path) {
        Some(link) => {
            links.insert(link);
            false
        }
        None => true,
    };
    let nodes: Vec<Node> = nodes.into_iter().filter(|node| is_own(node.path())).collect();
    if let Some((_, error)) = broken.into_iter().find(|(path, _)| is_own(path)) {
        let hint = "`zarr validate` names what is broken, and `zarr repair` may repair it";
        return Err(error.with_hint(hint));
    }
    let mut migration = Migration {
        source: hierarchy.clone(),
        target,
        new: Vec::new(),
        old: Vec::new(),
        consolidated: Vec::new(),
        nodes: nodes.len() as u64,
        keep_changes: options.keep_changes,
        not_kept: Vec::new(),
        notes: Vec::new(),
        ome: OmeReport::default(),
    };
    // Readers of the old dialect pass over these, and so would those of the new one.
    for hidden in hidden_nodes(&root)? {
        migration.not_kept.push(format!("{}: {}", hidden.place, hidden.what));
    }
    if let Some(mut found) = Links::of(&store.name()) {
        // What is in the hierarchy is migrated at its own place.
        links.retain(|link| found.unkept(link).is_some());
    }
    for link in links {
        let what = "it is a symbolic link out of the hierarchy, which is not followed; migrate the hierarchy that it leads to";
        migration.not_kept.push(format!("/{link}: {what}"));
    }
    let mut obstacles = Vec::new();
    let mut documents: Vec<(NodePath, Documents)> = Vec::new();
    let copy = CopyOptions {
        keep_keys: true,
        keep_attributes: options.keep_attributes,
        ..CopyOptions::default()
    };
    let neighbours = Neighbours::of(&nodes, &[], from, &copy);
    for node in &nodes {
        match migration.plan_node(node, &neighbours, options.keep_fill, &copy) {
            Ok(new) => documents.push((node.path().clone(), new)),
            Err(Obstacle::Refused(why)) => obstacles.push(format!("{}: {why}", node.path())),
            Err(Obstacle::Failed(error)) => return Err(error),
        }
    }
    if !obstacles.is_empty() {
        return Err(Error::from(MetadataError::CannotRepresent {
            format: to.name(),
            what: format!("these nodes without writing chunks: {}", named(obstacles)),
            hint: format!("`zarr copy --to {}` makes a copy instead", to.name()),
        })
        .at_store(store.name()));
    }
    migration.notes.extend(std::mem::take(&mut migration.ome).notes(to));
    // The deepest first; of one node the document that makes it a node last.
    documents.sort_by_key(|(path, _)| std::cmp::Reverse(path.names().count()));
    for (_, of_node) in documents {
        migration.new.extend(of_node.into_iter().rev());
    }
    Ok(migration)
}

/// The error of a hierarchy that is not migrated.
fn argument(store: &dyn Store, why: &str) -> Error {
    Error::from(AccessError::Argument(why.into())).at_store(store.name())
}

/// Plans to erase what is left of the old documents after [`Migration::remove_old`] was interrupted: the root's are gone, so that the
/// hierarchy opens in its new dialect `to` alone. Nothing else is left to do.
///
/// # Errors
/// [`AccessError::Argument`] if there are none; what the store reports.
pub fn plan_rest_of_removal(hierarchy: &Hierarchy) -> Result<Migration> {
    let store = hierarchy.store();
    let old = match hierarchy.dialect() {
        Dialect::V3 => Dialect::V2,
        _ => Dialect::V3,
    };
    let mut open = OpenOptions::new(hierarchy.registry().clone()).read_write();
    open.options = hierarchy.options().clone();
    let source = Hierarchy::of_format(store.clone(), zarr_core::format::of_dialect(old), &open);
    let mut nodes = hierarchy.nodes("/")?;
    nodes.retain(|node| link_to(&**store, node.path()).is_none());
    let mut migration = Migration {
        source,
        target: hierarchy.clone(),
        new: Vec::new(),
        old: Vec::new(),
        consolidated: Vec::new(),
        nodes: nodes.len() as u64,
        keep_changes: false,
        not_kept: Vec::new(),
        notes: Vec::new(),
        ome: OmeReport::default(),
    };
    for node in &nodes {
        migration.find_old(node.path())?;
    }
    if migration.old.is_empty() {
        return Err(is_migrated(hierarchy));
    }
    Ok(migration)
}

/// The symbolic link that a node is or is behind. Through a link, the documents of another hierarchy would be written and erased.
fn link_to(store: &dyn Store, path: &NodePath) -> Option<String> {
    link_on_the_way(&store.name(), path.relative())
}

/// The error of a hierarchy that has the dialect already.
fn is_migrated(hierarchy: &Hierarchy) -> Error {
    let why = format!("this hierarchy is already in {}", hierarchy.format_name());
    Error::from(AccessError::Argument(why)).at_store(hierarchy.store().name())
}

/// Plans to write a hierarchy in another dialect to another place, in any store, with its chunks copied as they are stored. The plan is
/// that of a copy, which is run, resumed and undone as any other.
///
/// Chunks that were never stored, and whose missing values can only be kept by writing them, are written, as copies do;
/// `MigrateOptions::keep_fill` is of no use.
///
/// # Errors
/// [`MetadataError::CannotRepresent`] naming each array whose chunks would have to be encoded again; [`AccessError::Argument`] for a
/// netCDF dataset; as [`plan_copy`].
pub fn plan_migration_into(
    source: &Node,
    target: &Hierarchy,
    at: &NodePath,
    options: &MigrateOptions,
    copy: &CopyOptions<'_>,
) -> Result<Plan> {
    let store = source.hierarchy().store().name();
    refuse_netcdf(source, target.dialect())?;
    let copy = CopyOptions { keep_attributes: options.keep_attributes, ..copy.clone() };
    let plan = plan_copy(source, target, at, &copy)?;
    let recoded: Vec<String> = plan.recoded().map(|(path, why)| format!("{path}: {why}")).collect();
    if recoded.is_empty() {
        return Ok(plan);
    }
    Err(Error::from(MetadataError::CannotRepresent {
        format: target.dialect().name(),
        what: format!("these arrays without encoding their chunks again: {}", named(recoded)),
        hint: format!("`zarr copy --to {}` encodes them again", target.dialect().name()),
    })
    .at_store(store))
}

/// Obstacles in one line, of which an error names some.
fn named(mut obstacles: Vec<String>) -> String {
    let more = obstacles.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    obstacles.truncate(MAX_NAMED);
    format!("{}{more}", obstacles.join("; "))
}

/// Refuses an NCZarr dataset.
fn refuse_netcdf(root: &Node, to: Dialect) -> Result<()> {
    if !is_netcdf(root)? {
        return Ok(());
    }
    let why = "this is a netCDF dataset; its dimensions and types would be lost".to_owned();
    let hint = format!("copy it with `zarr copy --to nczarr-{}`", to.name());
    let error = Error::from(AccessError::Argument(why)).at_store(root.hierarchy().store().name());
    Err(error.with_hint(hint))
}

/// Whether this is an NCZarr dataset: netCDF's library marks the root in its attributes, in members of its document or, in
/// version 4.8, by a document of its own.
fn is_netcdf(root: &Node) -> Result<bool> {
    if root.attributes().iter().any(|(name, _)| is_mark(name)) {
        return Ok(true);
    }
    if let Node::Group(group) = root
        && group.metadata().unknown.iter().any(|(name, _)| is_mark(name))
    {
        return Ok(true);
    }
    let store = root.hierarchy().store().to_sync();
    is_stored(&*store, &StoreKey::new(".nczarr")?)
}

/// Whether the name is one of the marks that NCZarr leaves.
fn is_mark(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with("_nczarr")
}

enum Obstacle {
    /// The node cannot be migrated.
    Refused(String),
    Failed(Error),
}

impl From<Error> for Obstacle {
    fn from(error: Error) -> Self {
        match error.cause() {
            zarr_core::Cause::Metadata(MetadataError::CannotRepresent { .. }) => {
                Obstacle::Refused(error.cause().to_string())
            }
            zarr_core::Cause::Metadata(MetadataError::Unsupported(_)) => {
                Obstacle::Refused(error.cause().to_string())
            }
            _ => Obstacle::Failed(error),
        }
    }
}

impl Migration {
    /// How many nodes it migrates.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The documents that it writes, in that order.
    pub fn new_documents(&self) -> impl Iterator<Item = &StoreKey> {
        self.new.iter().map(|(key, _)| key)
    }

    /// The documents of the old dialect, in the order in which [`Migration::remove_old`] erases them.
    pub fn old_documents(&self) -> &[StoreKey] {
        &self.old
    }

    /// What the new documents do not keep, each with its place.
    pub fn not_kept(&self) -> &[String] {
        &self.not_kept
    }

    /// What the new documents say otherwise, with nothing lost.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Plans one node: returns its new documents.
    fn plan_node(
        &mut self,
        node: &Node,
        neighbours: &Neighbours,
        keep_fill: bool,
        copy: &CopyOptions<'_>,
    ) -> Result<Documents, Obstacle> {
        let path = node.path();
        self.find_old(path)?;
        if let Node::Group(group) = node
            && group.is_consolidated()?
        {
            self.consolidated.push(path.clone());
        }
        let InPlace { documents, told, obstacle } =
            in_place(node, neighbours, &self.target, keep_fill, copy)?;
        if let Some(why) = obstacle {
            return Err(Obstacle::Refused(why));
        }
        self.not_kept.extend(told.not_kept);
        self.notes.extend(told.notes);
        self.ome.extend(told.ome);
        Ok(documents)
    }

    /// Notes the old documents of a node.
    fn find_old(&mut self, path: &NodePath) -> Result<()> {
        let mut keys = self.source.format().document_keys(path)?;
        if self.source.dialect() == Dialect::V2 {
            // The copies go before what they are copies of.
            let prefix = self.source.format().children_prefix(path)?;
            keys.insert(0, prefix.key(".zmetadata")?);
        }
        for key in keys {
            if self.stored(&key)?.is_some() {
                self.old.push(key);
            }
        }
        Ok(())
    }

    /// A stored document.
    fn stored(&self, key: &StoreKey) -> Result<Option<Bytes>> {
        let store = self.target.store().to_sync();
        let got = store.get(key, GetOptions::at_most(self.target.options().limits.document));
        let got = got.map_err(|e| Error::from(e).at_store(store.name()).at_key(key))?;
        Ok(got.map(|got| got.bytes.unwrap_or_default()))
    }

    /// Writes the new documents, and consolidated metadata where the old hierarchy has them. Documents that are there
    /// already, from a migration that was interrupted, are left as they are.
    ///
    /// Returns how many documents it wrote.
    ///
    /// # Errors
    /// [`AccessError::Exists`] for a document that is there and says something else; what the store reports.
    pub fn write(&self) -> Result<u64> {
        let store = self.target.store().to_sync();
        let (old, new) = (self.source.format_name(), self.target.format_name());
        let mut written = 0;
        for (key, value) in &self.new {
            if put_new(&*store, key, value)? {
                written += 1;
                continue;
            }
            let found = self.stored(key)?.unwrap_or_default();
            if !is_as_planned(&found, value) {
                let hint = format!(
                    "it was not written by this migration, or it or the {old} document was changed since ({}); if the {old} document \
                     is right, delete the one in {new}, only this file, and migrate again; if the one in {new} is right, go on with \
                     `--finish --keep-changes`",
                    difference(&found, value)
                );
                let error = Error::from(AccessError::Exists("a different document")).at_key(key);
                return Err(error.at_store(store.name()).with_hint(hint));
            }
        }
        for path in self.consolidated.iter().rev() {
            match self.target.node(path)? {
                Node::Group(group) if !path.is_root() => drop(group.consolidate()?),
                _ => drop(self.target.consolidate()?),
            }
        }
        self.target.flush()?;
        Ok(written)
    }

    /// Erases the old documents, the root's first. The new ones have to be there.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if a new document is missing, and [`AccessError::Exists`] if some differ from what the old ones
    /// become ([`MigrateOptions::keep_changes`] allows it), before anything is erased; what the store reports.
    pub fn remove_old(&self) -> Result<()> {
        let store = self.target.store().to_sync();
        let mut changed = Vec::new();
        for (key, value) in &self.new {
            let Some(found) = self.stored(key)? else {
                let why = "the migration is not complete: this document is missing".into();
                let hint = "run it again without `--finish` first";
                return Err(at_key(AccessError::Argument(why), &*store, key).with_hint(hint));
            };
            if !is_as_planned(&found, value) {
                changed.push(format!("`{key}` ({})", difference(&found, value)));
            }
        }
        if self.keep_changes {
            // Once the old documents are gone, the changed ones are all that describes the chunks.
            for node in self.source.nodes("/")? {
                if link_to(&**self.target.store(), node.path()).is_none() {
                    self.target.node(node.path())?;
                }
            }
        } else if !changed.is_empty() {
            let error = AccessError::Exists("a different document");
            let (old, new) = (self.source.format_name(), self.target.format_name());
            let hint = format!(
                "documents in {old} or {new} were changed since the migration: {}; if those in {new} are right, pass \
                 `--keep-changes`; if those in {old} are right, delete these files, not the nodes, and migrate again; if the migration had \
                 options, pass them to `--finish`, too",
                named(changed)
            );
            return Err(Error::from(error).at_store(store.name()).with_hint(hint));
        }
        for key in &self.old {
            store.erase(key).map_err(|e| Error::from(e).at_store(store.name()).at_key(key))?;
        }
        self.target.flush()
    }
}

/// The members in which a document differs from another one, attributes by their names.
fn difference(found: &[u8], planned: &[u8]) -> String {
    let (Ok((Json::Object(found), _)), Ok((Json::Object(planned), _))) =
        (Json::parse_tolerant(found), Json::parse_tolerant(planned))
    else {
        return "it is not a JSON object".into();
    };
    let mut names = Vec::new();
    for member in differing(&found, &planned) {
        let both = [&found, &planned].map(|document| document.get(&member)?.as_object());
        match both {
            [Some(found), Some(planned)] if member == "attributes" => {
                let attributes = differing(found, planned);
                names.extend(attributes.iter().map(|name| format!("attribute `{name}`")));
            }
            // It is made after the other documents.
            _ if member == "consolidated_metadata" => {}
            _ => names.push(format!("`{member}`")),
        }
    }
    named(names)
}

/// The names of the members that two objects do not have alike.
fn differing(one: &Object, other: &Object) -> Vec<String> {
    let mut names: Vec<String> = one
        .iter()
        .filter(|(name, value)| other.get(name) != Some(*value))
        .map(|(name, _)| name.to_owned())
        .collect();
    let missing = other.iter().filter(|(name, _)| one.get(name).is_none());
    names.extend(missing.map(|(name, _)| name.to_owned()));
    names
}

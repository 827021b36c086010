//! Plans a copy: which nodes it has, what their documents say, and the parts in which the chunks are copied.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::time::SystemTime;

use zarr_core::format::{Child, Documents};
use zarr_core::metadata::ArrayMetadata;
use zarr_core::store::StoreKey;
use zarr_core::{
    AccessError, Error, ErrorKind, GroupMetadata, Hierarchy, Json, MetadataError, Node, NodeKind,
    NodeMetadata, NodePath, Object, Reading, Result,
};

use super::as_stored::has_unknown_keys;
use super::by_name::Layouts;
use super::check::{Neighbours, check_ranks, groups_above, may_skip, place, planned};
use super::choose::{below, chosen};
use super::content::content;
use super::describe::{Described, size};
use super::file_dimensions::{self, unused_dimensions};
use super::files::{Nodes, PlannedFile, files_of_array, planned_files};
use super::journal::Journal;
use super::json::{KEEP_ATTRIBUTES, MANIFEST, RECODE};
use super::node_copy::{self, Cut};
use super::same_place::SourceStore;
use super::split::{Part, countable_chunks, parts, unit};
use super::{CopyOptions, LayoutChange, Steps, as_stored, attributes_for};
use crate::errors::at_node;
use crate::ome::{self, OmeReport};
use crate::tree_progress::nodes_and_broken;

/// What a copy is going to do: the arrays and their chunks in parts, and the documents that are written at the end.
///
/// [`plan_copy`] makes it. It can be given to other processes as JSON, which run its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The store of the source: its URL, and the options that are no secret.
    pub(super) store: String,
    pub(super) store_options: Vec<(String, String)>,
    pub(super) reader: SourceStore,
    pub(super) from: NodePath,
    pub(super) at: NodePath,
    pub(super) format: String,
    /// What was asked for.
    pub(super) asked: Object,
    /// Of the metadata of the source.
    pub(super) fingerprint: String,
    /// Of the stored chunks of the source, where that is known.
    pub(super) content: Option<String>,
    /// When the copy was begun, and by which process: no two copies have the same.
    pub(super) begun: String,
    pub(super) arrays: Vec<PlannedArray>,
    /// Files that are not Zarr's, which are copied as they are.
    pub(super) files: Vec<PlannedFile>,
    /// In the order in which they are written.
    pub(super) documents: Vec<PlannedDocument>,
    /// The groups that get consolidated metadata.
    pub(super) consolidated: Vec<NodePath>,
    pub(super) parts: Vec<Part>,
    pub(super) told: Told,
}

/// What a plan tells a person.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Told {
    pub not_kept: Vec<String>,
    pub skipped: Vec<String>,
    pub notes: Vec<String>,
    /// What becomes of OME-Zarr metadata.
    pub ome: OmeReport,
    /// Bytes of the largest temporary file.
    pub spool: u64,
    /// The arrays whose chunks or shards become others.
    pub layout_changes: Vec<LayoutChange>,
}

impl Told {
    /// Notes what a person should know of a node.
    pub(super) fn add(
        &mut self,
        node: &Node,
        target: &Hierarchy,
        described: Option<&Described>,
        keep_attributes: bool,
    ) {
        let (path, dialect) = (node.path(), node.hierarchy().dialect());
        if let Node::Group(group) = node
            && !keep_attributes
        {
            let dialects = (dialect, target.dialect());
            let (_, outcome) = ome::converted(group.attributes().clone(), path, dialects);
            self.ome.add_group(path, outcome);
        }
        if let Some(naming) = described.and_then(|described| described.naming) {
            self.ome.add_array(path, naming);
        }
        let at = |what: &String| format!("{path}: {what}");
        if let Some(described) = described {
            self.not_kept.extend(described.not_kept.iter().map(at));
            self.notes.extend(described.note.iter().map(at));
            self.spool = self.spool.max(described.spool);
        }
        let stored = node.attributes();
        if attributes_for(stored.clone(), dialect, target) != stored {
            let what = "bare `NaN` and `Infinity` among its attributes become strings";
            self.not_kept.push(format!("{path}: {what}"));
        } else if dialect != target.dialect() && Json::from(stored).has_bare_floats() {
            let what = "bare `NaN` and `Infinity` among its attributes stay as zarr-python writes them; readers that take \
                        nothing but JSON refuse the document";
            self.notes.push(format!("{path}: {what}"));
        }
        let (unknown, kept) = match (node, described) {
            (Node::Group(group), _) => {
                (group.metadata().unknown.clone(), node_copy::kept_unknown(group, target))
            }
            (Node::Array(array), Some(described)) => {
                (array.metadata().unknown.clone(), described.metadata.unknown.clone())
            }
            (Node::Array(_), None) => (Object::new(), Object::new()),
        };
        // What is unknown to a draft was ignored there already, with a warning.
        let lost = unknown
            .iter()
            .filter(|(name, _)| !kept.contains(name) && !node_copy::is_netcdf_member(name));
        let lost: Vec<String> = lost.map(|(name, _)| format!("`{name}`")).collect();
        if !lost.is_empty() && dialect != zarr_core::Dialect::Draft {
            let lost = lost.join(", ");
            self.not_kept.push(format!("{path}: members of its document: {lost}"));
        }
        if let Node::Array(array) = node {
            let metadata = array.metadata();
            let dropped = zarr_core::codec::dropped_in_v3(&metadata.codecs);
            let names: Vec<String> = dropped.map(|codec| format!("`{}`", codec.name)).collect();
            if target.dialect() == zarr_core::Dialect::V3 && !names.is_empty() {
                let names = names.join(" and ");
                let what = format!("stored without {names}, which no other reader of v3 has");
                self.notes.push(format!("{path}: {what}"));
            }
            if target.dialect() == zarr_core::Dialect::V3
                && dialect != zarr_core::Dialect::V3
                && let zarr_core::DataType::Raw { .. } = metadata.data_type
            {
                let name = &metadata.data_type;
                let what = format!(
                    "its elements become the v3 type `{name}`, which neither zarr-python 3 nor tensorstore reads"
                );
                self.notes.push(format!("{path}: {what}"));
            }
        }
        if let Some(described) = described
            && described.metadata.grid.is_some()
            && described.metadata.chunk_shape().is_none()
        {
            let what = "its chunks have different lengths (a rectilinear grid), which zarr-python reads only if asked to, and few others at \
                        all; `--chunks` gives them one length";
            self.notes.push(format!("{path}: {what}"));
        }
        // In the drafts a group needs no document (D-008).
        if let Node::Group(group) = node
            && group.metadata().implicit
            && dialect != zarr_core::Dialect::Draft
        {
            self.notes.push(format!("{path}: the group has no document; the copy has one"));
        }
    }
}

/// An array that is copied.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedArray {
    pub from: NodePath,
    pub to: NodePath,
    /// The selected elements of the source, axis by axis; all, if there are none.
    pub region: Option<Vec<Steps>>,
    /// Whether chunks of nothing but the source's fill value stay unstored, though the copy's is undefined.
    pub leaves_holes: bool,
    /// How many objects its chunks, or shards, are.
    pub chunks: u64,
    /// How many bytes its elements have.
    pub bytes: u64,
    /// The least number of objects, in C order, of whose multiples each shares no chunk of the source with the next; 1 if there is none.
    pub unit: u64,
    /// Why its chunks are encoded again; `None` if they are copied as they are stored.
    pub recoded: Option<String>,
}

impl PlannedArray {
    /// An array with chunks of this shape, whose copy has this metadata and is encoded again for this reason. Refuses one whose
    /// chunks cannot be counted.
    pub fn new(
        (from, to): (NodePath, NodePath),
        source_chunk: Option<&[u64]>,
        region: Option<Vec<Steps>>,
        leaves_holes: bool,
        recoded: Option<String>,
        metadata: &ArrayMetadata,
    ) -> Result<PlannedArray> {
        let (chunks, bytes) = (countable_chunks(metadata)?, size(metadata));
        let unit = match (source_chunk, metadata.chunk_shape(), &region) {
            (Some(source), Some(copy), None) => unit(source, &copy, &metadata.shape),
            _ => 1,
        };
        Ok(PlannedArray { from, to, region, leaves_holes, chunks, bytes, unit, recoded })
    }
}

/// A document that is written after all chunks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedDocument {
    pub path: NodePath,
    pub key: StoreKey,
    pub value: Vec<u8>,
    pub role: Role,
}

/// What a document is in the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Of a copied node.
    Node,
    /// Of a group that is there: the copy adds attributes.
    Merged,
    /// Of a group above the copy, or of the hierarchy itself, which another writer may create, too.
    Above,
}

/// Plans to copy a node with all below it to `at` in another hierarchy, as [`copy`](super::copy) does. Nothing is written.
///
/// The target may be a hierarchy that does not exist yet: one from [`Hierarchy::of_format`]. Its documents are then the last
/// that are written.
///
/// # Errors
/// As [`copy`](super::copy), before it writes anything.
pub fn plan_copy(
    source: &Node,
    target: &Hierarchy,
    at: impl AsRef<str>,
    options: &CopyOptions<'_>,
) -> Result<Plan> {
    let at =
        &NodePath::new(at.as_ref()).map_err(|e| Error::from(e).at_store(target.store().name()))?;
    refuse_part_of_dataset(source, options)?;
    planned_or_resumed(target, at, options, &|options, stored| {
        planned_anew(source, (target, at), options, stored, true)
    })
}

/// Refuses to cut the arrays of an NCZarr dataset: its metadata have the lengths of the dimensions (N-030), which those of the copy would
/// not have.
#[cfg(feature = "nczarr")]
fn refuse_part_of_dataset(source: &Node, options: &CopyOptions<'_>) -> Result<()> {
    let is_group = matches!(source, Node::Group(_));
    if !is_group
        || options.regions.is_empty()
        || !zarr_nczarr::Dataset::is_nczarr(source.hierarchy())
    {
        return Ok(());
    }
    let why = "this is an NCZarr dataset, whose metadata have the lengths of its dimensions, so that its arrays cannot be cut";
    Err(at_node(AccessError::Argument(why.into()), source.hierarchy(), source.path()).with_hint(
        "first copy it to plain Zarr, as with `zarr copy SRC DST --to zarr-v3`, and cut that copy",
    ))
}

#[cfg(not(feature = "nczarr"))]
#[expect(clippy::unnecessary_wraps, reason = "as with the feature")]
fn refuse_part_of_dataset(_: &Node, _: &CopyOptions<'_>) -> Result<()> {
    Ok(())
}

/// Makes a plan with these options, which may be those of an unfinished copy, whose plan is stored.
pub(super) type Planner<'a> = &'a dyn Fn(&CopyOptions<'_>, Option<&Plan>) -> Result<Plan>;

/// The plan of a copy to `at`: that of the copy that is under way, or a new one.
pub(super) fn planned_or_resumed(
    target: &Hierarchy,
    at: &NodePath,
    options: &CopyOptions<'_>,
    planner: Planner<'_>,
) -> Result<Plan> {
    target.check_writeable()?;
    let stored = Journal::new(target, at).plan()?;
    match stored {
        Some(stored) if !options.overwrite => resumed(target, at, options, stored, planner),
        _ => {
            let plan = planner(options, None)?;
            if options.overwrite {
                plan.check_source_stays(target)?;
            }
            Ok(plan)
        }
    }
}

/// The plan of a copy that is under way, if the same is asked for.
fn resumed(
    target: &Hierarchy,
    at: &NodePath,
    options: &CopyOptions<'_>,
    stored: Plan,
    planner: Planner<'_>,
) -> Result<Plan> {
    if !options.resume && options.parts.is_none() {
        let what = "an unfinished copy";
        return Err(at_node(AccessError::Exists(what), target, at).with_hint(
            "continue with `--resume` (library: `CopyOptions::resume`), or start over with `--overwrite`",
        ));
    }
    let asked = options.completed_by(&stored.asked);
    let mut plan = planner(&asked, Some(&stored))?;
    plan.begun.clone_from(&stored.begun);
    if let Some(what) = stored.difference(&plan) {
        let why = format!("the unfinished copy here is a different one: {what}");
        return Err(at_node(AccessError::Argument(why), target, at).with_hint(
            "repeat the command of that copy to continue it, or start over with `--overwrite`",
        ));
    }
    Ok(plan)
}

/// What to do about a document that is broken.
pub(super) const BROKEN: &str = "`zarr validate` names what is broken, and `zarr repair` may repair it; or leave out such nodes, \
    each named, with `--skip-unsupported` (library: `CopyOptions::skip_unsupported`)";

/// A plan for what the options ask for; with the files that are not Zarr's, or without.
pub(super) fn planned_anew(
    source: &Node,
    (target, at): (&Hierarchy, &NodePath),
    options: &CopyOptions<'_>,
    stored: Option<&Plan>,
    with_files: bool,
) -> Result<Plan> {
    let from = source.hierarchy();
    let base = source.path();
    let (all, broken) = nodes_and_broken(source)?;
    let mut listed: Vec<Child> = all.iter().map(child_of).collect();
    let broken: Vec<NodePath> = broken.into_iter().map(|(path, _)| path).collect();
    let unlisted = broken.iter();
    listed.extend(unlisted.map(|path| Child { path: path.clone(), kind: None, implicit: false }));
    listed.sort_by(|a, b| a.path.cmp(&b.path));
    let listed =
        chosen(listed, base, options).map_err(|e| e.at_store(from.store().name()).at_path(base))?;
    let (mut told, mut nodes, mut left_out) = (Told::default(), Vec::new(), HashSet::new());
    let opened: HashMap<&NodePath, &Node> = all.iter().map(|node| (node.path(), node)).collect();
    for child in listed {
        let node = opened.get(&child.path).map(|&node| Ok(node.clone()));
        match node.unwrap_or_else(|| from.node(&child.path)) {
            Err(e) if e.kind() == ErrorKind::InvalidMetadata && child.path != *base => {
                if !options.skip_unsupported {
                    return Err(e.with_hint(BROKEN));
                }
                told.skipped.push(format!("{}: {}", child.path, e.cause()));
                left_out.insert(child.path);
            }
            node => nodes.push(node?),
        }
    }
    let layouts = Layouts::of_nodes(base, &nodes, target.dialect(), options);
    let layouts = layouts.map_err(|e| e.at_store(from.store().name()).at_path(base))?;
    check_ranks(&nodes, options, &layouts, &mut told.notes)?;
    told.notes.extend_from_slice(&layouts.notes);
    let is_part = options.only.is_some() || options.filters();
    let of_all = if is_part { &all } else { &nodes };
    let above = groups_above(source);
    let neighbours = Neighbours::of(of_all, &above, from.dialect(), options);
    let mut plan = Plan::new((source, &nodes), target, at, (options, options.to_json()));
    plan.told = told;
    let groups = || nodes.iter().filter(|node| matches!(node, Node::Group(_)));
    let images: HashSet<&NodePath> =
        groups().filter(|node| ome::has_image(&node.attributes())).map(Node::path).collect();
    let placed: HashSet<NodePath> = if options.keep_attributes {
        HashSet::new()
    } else {
        let levels = |node: &Node| ome::placed(node.attributes(), node.path(), &options.regions).1;
        groups().flat_map(levels).collect()
    };
    let copied = is_part.then(|| nodes.iter().map(|node| node.path().clone()).collect());
    let cut = Cut { regions: &options.regions, copied };
    let (mut documents, mut of_arrays) = (Vec::new(), Vec::new());
    for node in &nodes {
        let path = node.path().clone();
        let below = below(base, &path);
        let to = if below.is_empty() { at.clone() } else { at.join(below)? };
        if path.parent().is_some_and(|above| left_out.contains(&above)) {
            left_out.insert(path);
            continue;
        }
        let of_node = layouts.options_of(&path, options);
        let described = planned(node, target, &to, &neighbours, &of_node).and_then(|described| {
            let role = match stored {
                Some(stored) => stored.role(&to),
                None if options.overwrite && to.is_within(at) => Role::Node,
                None => place(target, &to, described.is_some())?,
            };
            Ok((described, role))
        });
        let (described, role) = match described {
            Err(e) if options.skip_unsupported && may_skip(&e) && path != *base => {
                let hint = e.hint().map_or_else(String::new, |hint| format!("; {hint}"));
                plan.told.skipped.push(format!("{path}: {}{hint}", e.cause()));
                left_out.insert(path);
                continue;
            }
            described => described?,
        };
        plan.told.add(node, target, described.as_ref(), options.keep_attributes);
        let begins_later = options
            .regions
            .get(&path)
            .is_some_and(|region| region.iter().any(|steps| steps.start > 0 || steps.step != 1));
        if begins_later
            && !placed.contains(&path)
            && let Some(image) = path.ancestors().find(|above| images.contains(above))
        {
            plan.told.not_kept.push(format!(
                "{path}: the position and scale of the part: the coordinate transformations of {image} stay those of the whole image"
            ));
        }
        if let (Node::Array(array), true) = (node, with_files)
            && described.as_ref().is_some_and(|it| it.verbatim.is_some())
            && has_unknown_keys(&array.metadata())
        {
            let files = files_of_array(array, (target, &to), options, stored);
            of_arrays.extend(files.map_err(|e| e.at_path(array.path()))?);
        }
        let has_copies = match node {
            Node::Group(group) => group.is_consolidated()?,
            Node::Array(array) => array.path().is_root() && from.is_consolidated()?,
        };
        if has_copies {
            plan.consolidated.push(to.clone());
        }
        documents.push(plan.add(node, target, to, described, role, &cut)?);
    }
    if with_files {
        let unused = unused_dimensions(from, nodes.iter(), &all)?;
        plan.told.not_kept.extend(unused.iter().map(|name| file_dimensions::not_kept(name)));
        let copied = nodes.iter().map(|node| node.path().clone());
        let copied = copied.filter(|path| !left_out.contains(path)).collect();
        let nodes = Nodes { base: source, all: &all, broken: &broken, copied };
        plan.files = planned_files(nodes, (target, at), options, stored, &mut plan.told)?;
        plan.files.extend(of_arrays);
    }
    plan.complete(documents, target, options, stored)
}

fn child_of(node: &Node) -> Child {
    let implicit = node.as_group().is_some_and(|group| group.metadata().implicit);
    Child { path: node.path().clone(), kind: Some(node.kind()), implicit }
}

impl Plan {
    /// A plan without arrays and documents yet, of a copy of these nodes.
    pub(super) fn new(
        (source, nodes): (&Node, &[Node]),
        target: &Hierarchy,
        at: &NodePath,
        (options, asked): (&CopyOptions<'_>, Object),
    ) -> Plan {
        let store = source.hierarchy().store();
        Plan {
            store: store.name(),
            store_options: store.public_options(),
            reader: SourceStore(Some(store.clone())),
            from: source.path().clone(),
            at: at.clone(),
            format: target.format_name().to_owned(),
            asked,
            fingerprint: fingerprint(nodes),
            content: content(nodes, target, options.memory),
            begun: begun(),
            arrays: Vec::new(),
            files: Vec::new(),
            documents: Vec::new(),
            consolidated: Vec::new(),
            parts: Vec::new(),
            told: Told::default(),
        }
    }

    /// Adds the documents, those of each node together, and the parts. Refuses a strict copy that loses something.
    pub(super) fn complete(
        mut self,
        mut documents: Vec<Vec<PlannedDocument>>,
        target: &Hierarchy,
        options: &CopyOptions<'_>,
        stored: Option<&Plan>,
    ) -> Result<Plan> {
        let of_images = std::mem::take(&mut self.told.ome).notes(target.dialect());
        self.told.notes.extend(of_images);
        if let (true, Some(what)) = (options.strict, self.told.not_kept.first()) {
            let hint =
                "copy without `--strict` (library: `CopyOptions::strict`) to leave it behind";
            let what = format!("all of it: {what}");
            return Err(MetadataError::CannotRepresent {
                format: "the copy",
                what,
                hint: hint.into(),
            }
            .into());
        }
        // The deepest first, and of equally deep ones in the order of their paths.
        documents.sort_by_key(|of_node: &Vec<PlannedDocument>| {
            std::cmp::Reverse(of_node.first().map_or(0, |document| document.path.names().count()))
        });
        self.documents = documents.into_iter().flatten().collect();
        self.documents.extend(match stored {
            Some(stored) => {
                stored.documents.iter().filter(|it| it.role == Role::Above).cloned().collect()
            }
            None => {
                let is_root = self.arrays.iter().any(|array| array.to.is_root());
                above(target, &self.at, is_root, options)?
            }
        });
        let wanted = options.parts.or(stored.map(|stored| stored.parts.len() as u64));
        let arrays: Vec<_> =
            self.arrays.iter().map(|array| (array.chunks, array.bytes, array.unit)).collect();
        self.parts = parts(&arrays, wanted);
        Ok(self)
    }

    /// The plan of the copy to `at` that is under way, if one is.
    ///
    /// # Errors
    /// For a journal of another version; what the store reports.
    pub fn under_way(target: &Hierarchy, at: &NodePath) -> Result<Option<Plan>> {
        Journal::new(target, at).plan()
    }

    /// The parts, each of which can be run by another process.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The format of the copy: `v2`, `v3`, `draft-2020`.
    pub fn format_name(&self) -> &str {
        &self.format
    }

    /// How many nodes are copied.
    pub fn nodes(&self) -> u64 {
        let nodes = self.documents.iter().filter(|it| it.role != Role::Above);
        nodes.map(|document| &document.path).collect::<BTreeSet<_>>().len() as u64
    }

    /// The paths of the nodes in the target, sorted.
    pub fn paths(&self) -> Vec<NodePath> {
        let nodes = self.documents.iter().filter(|it| it.role != Role::Above);
        let paths: BTreeSet<_> = nodes.map(|document| document.path.clone()).collect();
        paths.into_iter().collect()
    }

    /// How many files that are not Zarr's are copied as they are.
    pub fn files(&self) -> u64 {
        self.files.iter().filter(|file| !file.is_of_array).count() as u64
    }

    /// How many chunks, or shards, are written at most: those of nothing but the fill value are not.
    pub fn chunks(&self) -> u64 {
        self.arrays.iter().fold(0, |sum, array| sum.saturating_add(array.chunks))
    }

    /// How many bytes the elements have in memory.
    pub fn bytes(&self) -> u64 {
        self.arrays.iter().fold(0, |sum, array| sum.saturating_add(array.bytes))
    }

    /// The arrays whose chunks are encoded again, by their paths in the target, each with the reason. Those of all others are
    /// copied as they are stored.
    pub fn recoded(&self) -> impl Iterator<Item = (&NodePath, &str)> {
        self.arrays.iter().filter_map(|array| Some((&array.to, array.recoded.as_deref()?)))
    }

    /// The file of digests that the source was checked against when the copy was begun, as [`CopyOptions::manifest`] named it.
    pub fn manifest(&self) -> Option<&str> {
        self.asked.get(MANIFEST).and_then(Json::as_str)
    }

    /// How many arrays are copied.
    pub fn array_count(&self) -> usize {
        self.arrays.len()
    }

    /// What the copy does not keep, each with its place. A plan that was read from JSON does not tell.
    pub fn not_kept(&self) -> &[String] {
        &self.told.not_kept
    }

    /// The nodes that the copy leaves out, each with the reason. A plan that was read from JSON does not tell.
    pub fn skipped(&self) -> &[String] {
        &self.told.skipped
    }

    /// What the copy says otherwise than the source, with nothing lost. A plan that was read from JSON does not tell.
    pub fn notes(&self) -> &[String] {
        &self.told.notes
    }

    /// The arrays whose chunks or shards have other shapes in the copy. A plan that was read from JSON does not tell.
    pub fn layout_changes(&self) -> &[LayoutChange] {
        &self.told.layout_changes
    }

    /// Bytes that the largest temporary file of the copy has at most; 0 if it needs none. A plan that was read from JSON does
    /// not tell. See [`CopyOptions::memory`].
    pub fn spool(&self) -> u64 {
        self.told.spool
    }

    /// The copy's metadata of an array.
    pub(super) fn metadata(
        &self,
        target: &Hierarchy,
        array: &PlannedArray,
    ) -> Result<ArrayMetadata> {
        let of_node = self.documents.iter().filter(|document| document.path == array.to);
        parsed(target, &array.to, of_node)
    }

    fn role(&self, path: &NodePath) -> Role {
        let is_merged = self.documents.iter().any(|it| it.path == *path && it.role == Role::Merged);
        if is_merged { Role::Merged } else { Role::Node }
    }

    /// Adds a node; returns its documents.
    fn add(
        &mut self,
        node: &Node,
        target: &Hierarchy,
        to: NodePath,
        described: Option<Described>,
        role: Role,
        cut: &Cut<'_>,
    ) -> Result<Vec<PlannedDocument>> {
        let of_array = described.as_ref().map(|it| (it.leaves_holes, it.region.clone()));
        let is_verbatim = described.as_ref().is_some_and(|it| it.verbatim.is_some());
        let keep = self.asked.contains(KEEP_ATTRIBUTES);
        let documents = node_copy::documents(node, target, &to, described, keep, cut)?;
        let documents = in_order(&to, documents, role);
        let (Node::Array(array), Some((leaves_holes, region))) = (node, of_array) else {
            return Ok(documents);
        };
        if is_verbatim && has_unknown_keys(&array.metadata()) {
            // All that is stored of it is copied as files are.
            return Ok(documents);
        }
        // As a reader finds it: the format may have another grid.
        let metadata = parsed(target, &to, documents.iter())?;
        let change = LayoutChange::between(&to, &array.metadata(), &metadata);
        self.told.layout_changes.extend(change);
        let from = array.path().clone();
        let chunk = array.chunk_shape();
        let recoded = if self.asked.contains(RECODE) {
            Some("it was requested")
        } else {
            as_stored::obstacle(array, &metadata, target, region.as_deref())
        };
        let recoded = recoded.map(str::to_owned);
        let planned = PlannedArray::new(
            (from, to),
            chunk.as_deref(),
            region,
            leaves_holes,
            recoded,
            &metadata,
        )
        .map_err(|e| e.at_store(array.hierarchy().store().name()).at_path(array.path()))?;
        self.arrays.push(planned);
        Ok(documents)
    }
}

/// The documents of a new node, the one that makes it a node last.
fn in_order(path: &NodePath, documents: Documents, role: Role) -> Vec<PlannedDocument> {
    let new = documents.into_iter().rev();
    new.map(|(key, value)| PlannedDocument { path: path.clone(), key, value: value.to_vec(), role })
        .collect()
}

/// The metadata that the documents of an array have.
pub(super) fn parsed<'a>(
    target: &Hierarchy,
    path: &NodePath,
    documents: impl Iterator<Item = &'a PlannedDocument>,
) -> Result<ArrayMetadata> {
    parsed_documents(
        target,
        path,
        &documents.map(|it| (it.key.clone(), it.value.clone().into())).collect(),
    )
}

/// As [`parsed`], of documents that are in no plan.
pub(crate) fn parsed_documents(
    target: &Hierarchy,
    path: &NodePath,
    documents: &Documents,
) -> Result<ArrayMetadata> {
    let mut reading = Reading::new(target.registry(), target.options().strictness);
    reading.limits = target.options().limits;
    reading.ignore_hidden_filters = target.options().ignore_hidden_filters;
    let parsed = target.format().parse(path, documents, &mut reading);
    match parsed.map_err(|e| at_node(e, target, path))? {
        Some(NodeMetadata::Array(metadata)) => Ok(*metadata),
        _ => {
            let error = MetadataError::invalid("documents", "there is none for this array");
            Err(at_node(error, target, path))
        }
    }
}

/// The documents of missing groups above the copy, the nearest first, and of a new hierarchy.
fn above(
    target: &Hierarchy,
    at: &NodePath,
    root_is_array: bool,
    options: &CopyOptions<'_>,
) -> Result<Vec<PlannedDocument>> {
    let mut above = Vec::new();
    if target.format().groups_are_explicit() {
        for path in at.ancestors() {
            match target.node(&path) {
                Ok(Node::Group(group)) if !group.metadata().implicit => continue,
                Ok(Node::Array(_)) => {
                    let why = format!("{path} is an array; nothing can be created below it");
                    let error = Error::from(AccessError::Argument(why));
                    return Err(error.at_store(target.store().name()).at_path(at));
                }
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
                _ => {}
            }
            let group = NodeMetadata::Group(GroupMetadata::default());
            let group = target.format().create(&path, &group);
            let group =
                group.map_err(|e| Error::from(e).at_store(target.store().name()).at_path(&path))?;
            above.extend(in_order(&path, group, Role::Above));
        }
    }
    let store = target.store().to_sync();
    let root_group = target.format().attributes_member(&NodePath::root(), NodeKind::Group)?.key;
    for (key, value) in target.format().entry_point()? {
        // A draft's hierarchy begins with an empty root group.
        if root_is_array && key == root_group {
            continue;
        }
        let is_erased = options.overwrite && at.is_root();
        if is_erased || store.get(&key, Default::default())?.is_none() {
            let (path, value) = (NodePath::root(), value.to_vec());
            above.push(PlannedDocument { path, key, value, role: Role::Above });
        }
    }
    Ok(above)
}

/// What no other copy has: a time and a process.
fn begun() -> String {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", time.as_nanos(), std::process::id())
}

/// A hash of what the nodes' documents say, in whatever form they say it.
fn fingerprint(nodes: &[Node]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |text: &str| {
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for node in nodes {
        add(node.path().as_str());
        add(&Json::from(node.attributes()).to_string());
        let Node::Array(array) = node else { continue };
        let metadata = array.metadata();
        add(&format!("{:?} {:?}", metadata.shape, metadata.dimension_names));
        add(&format!("{} {}", metadata.declared_type, metadata.declared_fill));
        let grid: Vec<_> = (0..metadata.rank())
            .map(|axis: usize| -> Option<Vec<Range<u64>>> {
                let (grid, len) = (metadata.grid.as_ref()?, metadata.shape[axis]);
                let last = grid.count(axis, len).checked_sub(1)?;
                let extent = |ordinal| {
                    let extent = grid.span(axis, ordinal);
                    extent.start..extent.start.saturating_add(extent.len)
                };
                Some(vec![extent(0), extent(last)])
            })
            .collect();
        add(&format!("{:?} {:?} {grid:?}", metadata.chunk_shape(), metadata.chunk_keys));
        metadata.codecs.iter().for_each(|codec| add(&codec.to_string()));
    }
    format!("{hash:016x}")
}

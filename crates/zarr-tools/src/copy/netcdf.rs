//! Plans copies to netCDF datasets: what they define becomes the documents of a plan, which are written last.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use zarr_core::codec::CodecSpec;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::missing_value::{self, FILL_VALUE};
use zarr_core::store::Store;
use zarr_core::{
    AccessError, Dialect, Error, ErrorKind, Hierarchy, Json, MetadataError, Node, NodePath,
    OpenOptions, Region, Result,
};
pub(super) use zarr_nczarr::Conversion;
use zarr_nczarr::{CopyTarget, Dataset, DatasetOptions, Draft, NewDataset, Other, Profile};

use super::by_name::{Layouts, Subject};
use super::choose::below;
use super::file_dimensions::{self, unused_dimensions};
use super::files::{Nodes, planned_files};
use super::json::DATASET;
use super::plan::{
    Plan, PlannedArray, PlannedDocument, Role, parsed, planned_anew, planned_or_resumed,
};
use super::rechunk::check_memory;
use super::{CodecRule, CopyOptions, LayoutChange, Progress, ShapeRule, as_stored};
use crate::checksum::logical::Logical;
use crate::errors::at_node;
use crate::tree_progress::{nodes_and_broken, tree_and_broken};

/// Copies a netCDF dataset, or plain Zarr as one, to the place and in the form of `target`, as [`copy`](super::copy()) does.
///
/// Nodes that netCDF cannot represent are copied as they are into plain Zarr. Into NCZarr they are refused, or left out with
/// [`CopyOptions::skip_unsupported`].
///
/// # Errors
/// As [`copy`](super::copy()); [`AccessError::Argument`] for shards, and for options that choose nodes.
pub fn copy_dataset(
    source: &Dataset,
    target: &CopyTarget,
    options: &CopyOptions<'_>,
) -> Result<Progress> {
    let plan = plan_dataset(source, target, options)?;
    plan.copy(&source.hierarchy(), target.hierarchy(), options)
}

/// Plans what [`copy_dataset`] does, as [`plan_copy`](super::plan_copy()). Nothing is written.
///
/// # Errors
/// As [`copy_dataset`], before it writes anything.
pub fn plan_dataset(
    source: &Dataset,
    target: &CopyTarget,
    options: &CopyOptions<'_>,
) -> Result<Plan> {
    let set = [options.only.is_some(), options.filters(), !options.regions.is_empty()];
    if set.contains(&true) {
        let why =
            "a netCDF dataset is copied as a whole; copy to v2 or v3 to choose among its nodes";
        return Err(AccessError::Argument(why.into()).into());
    }
    if options.shards.is_some() || !options.shard_rules.is_empty() {
        let why = "a netCDF dataset has no shards; copy to v3";
        return Err(AccessError::Argument(why.into()).into());
    }
    planned_or_resumed(target.hierarchy(), &NodePath::root(), options, &|options, stored| {
        planned_dataset(source, target, options, stored)
    })
}

impl Plan {
    /// What the copy is to be, if it is a netCDF dataset.
    pub fn new_dataset(&self) -> Option<NewDataset> {
        let asked = self.asked.get(DATASET)?.as_object()?;
        let text = |name| asked.get(name).and_then(zarr_core::Json::as_str);
        let dialects = [Dialect::V2, Dialect::V3, Dialect::Draft];
        let dialect = dialects.into_iter().find(|it| Some(it.name()) == text("dialect"))?;
        let profiles = [Profile::Nczarr, Profile::Pure];
        let profile = profiles.into_iter().find(|it| Some(it.name()) == text("profile"))?;
        let fixed_strings = asked.get("fixed_strings").and_then(zarr_core::Json::as_bool)?;
        Some(NewDataset { dialect, profile, fixed_strings })
    }
}

/// The hierarchy that a copy under way is going to be, if it is a netCDF dataset.
pub(super) fn target(
    plan: &Plan,
    store: &Arc<dyn Store>,
    open: &OpenOptions,
) -> Result<Option<Hierarchy>> {
    let Some(new) = plan.new_dataset() else { return Ok(None) };
    let target = CopyTarget::new(store.clone(), &new, &DatasetOptions::of(open.clone()))?;
    Ok(Some(target.hierarchy().clone()))
}

fn planned_dataset(
    source: &Dataset,
    target: &CopyTarget,
    options: &CopyOptions<'_>,
    stored: Option<&Plan>,
) -> Result<Plan> {
    let (hierarchy, new) = (target.hierarchy(), target.new_dataset());
    if stored.is_none() {
        check_free(hierarchy, options)?;
    }
    let mut planned = source.plan_copy(new)?;
    let (arrays, mut skipped) = others(source, std::mem::take(&mut planned.others), new);
    let base = source.hierarchy().node(source.root_path())?;
    let known: HashSet<NodePath> = skipped.iter().map(|(path, _)| path.clone()).collect();
    for (path, error) in tree_and_broken(&base)?.broken {
        if !known.contains(&path) {
            skipped.push((path, error.cause().to_string()));
        }
    }
    if let (false, Some((path, why))) = (options.skip_unsupported, skipped.first()) {
        return Err(left_behind(source, path, why, skipped.len() - 1, new));
    }
    let layouts = give_layouts(source, (&base, &arrays), &mut planned, new, options)?;
    let draft = source.draft_copy(&planned, target)?;
    let nodes = nodes(source, &base, &draft, &arrays)?;
    let asked = target.to_json().as_object().cloned().unwrap_or_default();
    let asked = asked.with("source", source.profile().name());
    let asked = options.to_json().with(DATASET, asked);
    let mut plan = Plan::new((&base, &nodes), hierarchy, &NodePath::root(), (options, asked));
    plan.told.not_kept = planned.lost;
    plan.told.notes.extend_from_slice(&layouts.notes);
    plan.told.skipped = skipped.iter().map(|(path, why)| format!("{path}: {why}")).collect();
    if source.hierarchy().is_consolidated()? || target.is_consolidated {
        plan.consolidated.push(NodePath::root());
    }
    let mut documents: Vec<Vec<PlannedDocument>> = Vec::new();
    for (path, key, value) in draft.documents {
        let role = Role::Node;
        let document = PlannedDocument { path, key, value: value.to_vec(), role };
        match documents.last_mut().filter(|last| last[0].path == document.path) {
            Some(of_node) => of_node.push(document),
            None => documents.push(vec![document]),
        }
    }
    let mut of_nodes: HashMap<NodePath, Vec<PlannedDocument>> = HashMap::new();
    for document in documents.iter().flatten() {
        of_nodes.entry(document.path.clone()).or_default().push(document.clone());
    }
    // Nodes of which something is told already.
    let told = plan.told.not_kept.iter().filter_map(|what| Some(what.split_once(": ")?.0));
    let told: HashSet<String> = told.map(str::to_owned).collect();
    let mut texts = Vec::new();
    for variable in draft.variables {
        let (from, to) = (variable.from, variable.to);
        let of_node = of_nodes.get(&to).into_iter().flatten();
        let metadata = parsed(hierarchy, &to, of_node)?;
        let array = source.hierarchy().array(&from)?;
        let change = LayoutChange::between(&to, &array.metadata(), &metadata);
        plan.told.layout_changes.extend(change);
        if source.profile() == Profile::Pure {
            let lost = lost_of_document(&array.metadata(), &metadata);
            let is_told = told.contains(to.as_str());
            let lost = lost.into_iter().filter(|what| !is_told || !what.contains(FILL_VALUE));
            plan.told.not_kept.extend(lost.map(|what| format!("{to}: {what}")));
        }
        if new.profile == Profile::Nczarr && Logical::of(&array, false).has_fixed_text() {
            texts.push(to.to_string());
        }
        // Elements that this build cannot read are refused before anything is written.
        let _ = array.chunks(Region::new(array.shape().iter().map(|_| 0..0)))?;
        let start = match Conversion::between(&array.metadata(), &metadata) {
            None => Some(vec![0; metadata.rank()]),
            Some(_) => None,
        };
        let recoded = match start {
            Some(_) if !options.recode => as_stored::obstacle(&array, &metadata, hierarchy, None),
            Some(_) => Some("it was requested"),
            None => Some("its elements are converted"),
        };
        let spool = check_memory(&array, &metadata, hierarchy, start.as_deref(), options.memory)
            .map_err(|e| e.at_store(hierarchy.store().name()).at_path(&to))?;
        plan.told.spool = plan.told.spool.max(spool);
        let (chunk, leaves_holes) = (array.chunk_shape(), variable.leaves_holes);
        let planned = PlannedArray::new(
            (from, to),
            chunk.as_deref(),
            None,
            leaves_holes,
            recoded.map(str::to_owned),
            &metadata,
        )
        .map_err(|e| e.at_store(array.hierarchy().store().name()).at_path(array.path()))?;
        plan.arrays.push(planned);
    }
    if !texts.is_empty() {
        let (all, names) = (texts.len(), named(texts));
        let are = if all == 1 { "is" } else { "are" };
        plan.told.notes.push(format!(
            "{names}: text of a fixed length {are} of the type `string` for programs of netCDF"
        ));
    }
    if !arrays.is_empty() {
        let options = exact(&layouts, &base, &arrays, options);
        add_others(&mut plan, &mut documents, (&base, hierarchy), arrays, &options)?;
    }
    let (all, broken) = nodes_and_broken(&base)?;
    if new.profile == Profile::Pure {
        // Those that the dataset knows of are told already.
        for name in unused_dimensions(&source.hierarchy(), all.iter(), &all)? {
            let what = file_dimensions::not_kept(&name);
            if !plan.told.not_kept.contains(&what) {
                plan.told.not_kept.push(what);
            }
        }
    }
    let broken: Vec<NodePath> = broken.into_iter().map(|(path, _)| path).collect();
    let copied = nodes.iter().map(|node| node.path().clone()).collect();
    let nodes = Nodes { base: &base, all: &all, broken: &broken, copied };
    let at = (hierarchy, &NodePath::root());
    plan.files = planned_files(nodes, at, options, stored, &mut plan.told)?;
    plan.complete(documents, hierarchy, options, stored)
}

/// Gives the variables of the copy the chunks and codecs that the options say. What all arrays get is told: those that netCDF
/// cannot represent, too.
fn give_layouts(
    source: &Dataset,
    (base, others): (&Node, &[NodePath]),
    planned: &mut zarr_nczarr::Plan,
    new: &NewDataset,
    options: &CopyOptions<'_>,
) -> Result<Layouts> {
    let is_asked = options.chunks.is_some()
        || options.codecs.is_some()
        || !options.chunk_rules.is_empty()
        || !options.codec_rules.is_empty();
    if !is_asked {
        return Ok(Layouts::default());
    }
    let mut names = Vec::new();
    variables_of(&planned.schema, "/", &mut names);
    let (mut subjects, mut variables) = (Vec::new(), Vec::new());
    for name in names {
        let variable = source.variable(&name)?;
        let array = variable.array()?;
        let dimensions = variable.dimensions()?;
        let most: Vec<u64> = dimensions
            .iter()
            .map(|it| {
                if it.unlimited || new.profile == Profile::Pure { u64::MAX } else { it.len.max(1) }
            })
            .collect();
        let dimensions = dimensions.into_iter().map(|dimension| Some(dimension.name)).collect();
        // The copy has no shards.
        let metadata = (*array.metadata()).clone().unsharded();
        subjects.push(Subject::new(base.path(), array.path(), &metadata, dimensions));
        variables.push((name, array.path().clone(), most));
    }
    for path in others {
        let metadata = source.hierarchy().array(path)?.metadata();
        let dimensions = metadata.dimension_names.clone().unwrap_or_default();
        subjects.push(Subject::new(base.path(), path, &metadata, dimensions));
    }
    let mut asked = options.clone();
    // As a rule it is refused if no array has the rank.
    asked.chunk_rules.extend(asked.chunks.take().map(ShapeRule::Shape));
    let store = source.hierarchy().store().name();
    let mut layouts = Layouts::new(base.path(), &subjects, new.dialect, &asked)
        .map_err(|e| e.at_store(&store).at_path(base.path()))?;
    for (name, path, most) in variables {
        let Some(layout) = layouts.get(&path).cloned() else { continue };
        if let Some(chunks) = layout.chunks {
            let ends = chunks.iter().zip(&most).map(|(len, most)| *len.min(most));
            let ends: Vec<u64> = ends.collect();
            if ends != chunks {
                let why =
                    "netCDF has no chunks beyond the end of a dimension that is not unlimited";
                layouts
                    .notes
                    .push(format!("{name}: chunks become {ends:?}, not {chunks:?}; {why}"));
            }
            planned.set_chunks(&name, ends);
        }
        if let Some(codecs) = layout.codecs {
            let specs: Vec<CodecSpec> =
                codecs.iter().map(|text| crate::codec(text)).collect::<Result<_>>()?;
            planned
                .set_codecs(&name, &specs, new)
                .map_err(|e| e.at_store(&store).at_path(&path))?;
        }
    }
    Ok(layouts)
}

/// Some of the names, and how many there are more.
fn named(mut names: Vec<String>) -> String {
    const MAX_NAMED: usize = 5;
    let more = names.len().saturating_sub(MAX_NAMED);
    names.truncate(MAX_NAMED);
    let names = names.join(", ");
    if more > 0 { format!("{names} and {more} more") } else { names }
}

/// The full names of the variables in a group and below.
fn variables_of(group: &zarr_nczarr::schema::Group, path: &str, names: &mut Vec<String>) {
    let path = path.trim_end_matches('/');
    names.extend(group.variables.iter().map(|variable| format!("{path}/{}", variable.name)));
    for below in &group.groups {
        variables_of(below, &format!("{path}/{}", below.name), names);
    }
}

/// The options in which what these arrays get is given for each of them.
fn exact<'a>(
    layouts: &Layouts,
    base: &Node,
    arrays: &[NodePath],
    options: &CopyOptions<'a>,
) -> CopyOptions<'a> {
    let mut exact = CopyOptions {
        chunks: None,
        codecs: None,
        chunk_rules: Vec::new(),
        codec_rules: Vec::new(),
        ..options.clone()
    };
    for path in arrays {
        let array = format!("/{}", below(base.path(), path));
        let Some(layout) = layouts.get(path).cloned() else { continue };
        if let Some(shape) = layout.chunks {
            exact.chunk_rules.push(ShapeRule::Array { array: array.clone(), shape });
        }
        if let Some(codecs) = layout.codecs {
            exact.codec_rules.push(CodecRule { array, codecs });
        }
    }
    exact
}

/// What of a document's attributes for netCDF and xarray the copy has not, since they do not mean there what they should: they
/// are no part of the model that is copied.
fn lost_of_document(source: &ArrayMetadata, copy: &ArrayMetadata) -> Vec<String> {
    let mut lost = Vec::new();
    if let Some(declared) = source.attributes.get(FILL_VALUE) {
        let is_kept = copy.attributes.contains(FILL_VALUE)
            || copy.declared_fill == *declared
            || missing_value::from_json(&source.data_type, declared)
                .is_some_and(|said| said.as_bytes() == copy.fill_bytes());
        if !is_kept {
            let ty = &source.data_type;
            let what = format!("the attribute `{FILL_VALUE}` {}", declared.brief());
            lost.push(format!(
                "{what}; the copy cannot represent a missing value like that of type `{ty}`"
            ));
        }
    }
    if let Some(declared) = source.attributes.get(ARRAY_DIMENSIONS) {
        let names = copy.dimension_names.as_deref().unwrap_or_default();
        let said = declared.as_array();
        let is_kept = said.is_some_and(|said| {
            said.is_empty() || said.iter().map(Json::as_str).eq(names.iter().map(Option::as_deref))
        });
        if !is_kept && copy.attributes.get(ARRAY_DIMENSIONS) != Some(declared) {
            let what = format!("the attribute `{ARRAY_DIMENSIONS}` {}", declared.brief());
            lost.push(format!("{what}; the dimensions of the copy have other names"));
        }
    }
    lost
}

/// The attribute with the names of the axes in v2 and the drafts.
const ARRAY_DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

/// Refuses a place where something of Zarr is, but for what is going to be erased.
fn check_free(target: &Hierarchy, options: &CopyOptions<'_>) -> Result<()> {
    let any = OpenOptions::new(target.registry().clone()).any_dialect();
    match Hierarchy::open(target.store().clone(), &any) {
        Ok(there) if options.overwrite && there.dialect() != target.dialect() => {
            let why = format!("a hierarchy in {} is there", there.format_name());
            let hint = "erase it with `zarr rm --all`, then copy";
            let error = Error::from(AccessError::Argument(why));
            Err(error.at_store(target.store().name()).with_hint(hint))
        }
        Ok(_) if !options.overwrite => {
            Err(at_node(AccessError::Exists("a hierarchy"), target, &NodePath::root()))
        }
        _ => Ok(()),
    }
}

/// The nodes that are copied.
fn nodes(source: &Dataset, base: &Node, draft: &Draft, arrays: &[NodePath]) -> Result<Vec<Node>> {
    if let Node::Array(_) = base {
        return Ok(vec![base.clone()]);
    }
    let variables = draft.variables.iter().map(|variable| &variable.from);
    let paths = draft.groups.iter().chain(variables).chain(arrays);
    let below = paths.map(|path| source.hierarchy().node(path));
    std::iter::once(Ok(base.clone())).chain(below).collect()
}

/// Adds the nodes that netCDF cannot represent, as the arrays and groups that they are.
fn add_others(
    plan: &mut Plan,
    documents: &mut Vec<Vec<PlannedDocument>>,
    (base, target): (&Node, &Hierarchy),
    arrays: Vec<NodePath>,
    options: &CopyOptions<'_>,
) -> Result<()> {
    let mut options = CopyOptions { parts: None, ..options.clone() };
    let at = match (base, &arrays[..]) {
        // An array that the dataset takes for the one variable of a group.
        (Node::Array(_), [variable]) => variable.clone(),
        _ => {
            options.only = Some(arrays.into_iter().collect());
            NodePath::root()
        }
    };
    // Their documents are compared with the stored ones as a part of this plan.
    options.overwrite = true;
    let others = planned_anew(base, (target, &at), &options, None, false)?;
    plan.arrays.extend(others.arrays);
    plan.consolidated.extend(others.consolidated);
    plan.told.not_kept.extend(others.told.not_kept);
    plan.told.skipped.extend(others.told.skipped);
    plan.told.notes.extend(others.told.notes);
    plan.told.layout_changes.extend(others.told.layout_changes);
    plan.told.spool = plan.told.spool.max(others.told.spool);
    for document in others.documents.into_iter().filter(|document| document.role == Role::Node) {
        match documents.last_mut().filter(|last| last[0].path == document.path) {
            Some(of_node) => of_node.push(document),
            None => documents.push(vec![document]),
        }
    }
    Ok(())
}

/// Of the nodes that no copy by netCDF has, those that plain Zarr can have, and the others, each with the reason.
fn others(
    from: &Dataset,
    all: Vec<Other>,
    new: &NewDataset,
) -> (Vec<NodePath>, Vec<(NodePath, String)>) {
    let (mut arrays, mut skipped) = (Vec::new(), Vec::new());
    for Other { path, why } in all {
        match from.hierarchy().node(&path) {
            Err(e) if e.kind() == ErrorKind::InvalidMetadata => skipped.push((path, why)),
            _ if new.profile == Profile::Pure => arrays.push(path),
            _ => skipped.push((path, why)),
        }
    }
    (arrays, skipped)
}

/// Refuses a copy that would lose a node.
fn left_behind(from: &Dataset, path: &NodePath, why: &str, more: usize, new: &NewDataset) -> Error {
    let more = match more {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let hint = match new.profile {
        Profile::Pure => "leave such nodes out, each named, with `--skip-unsupported`",
        _ => {
            "copy to `zarr-v2` or `zarr-v3`, or leave such nodes out, each named, with `--skip-unsupported`"
        }
    };
    let what = format!("the whole of it: {why}{more}");
    let error = MetadataError::CannotRepresent { format: "the copy", what, hint: hint.into() };
    Error::from(error).at_store(from.hierarchy().store().name()).at_path(path)
}

//! Reads the documents of every node, and holds them to their dialect.

use std::collections::BTreeSet;

use zarr_core::format::{Documents, Format};
use zarr_core::metadata::ArrayMetadata;
use zarr_core::store::{GetOptions, StoreKey};
use zarr_core::{
    Dialect, GroupMetadata, Json, MetadataError, NodeKind, NodeMetadata, NodePath, Object, Reading,
    Result, StoreError, Strictness, missing_value,
};

use super::consolidated::Erased;
use super::inventory::Inventory;
use super::problem::{Correction, Problem, ProblemKind};
use super::tools::Tools;
use super::tree::{FoundArray, FoundNode, Tree};
use super::{Context, Sink, clauses, correct, geo, parallel};
use crate::ome::{MEMBERS, OME};

/// What the documents of one node told.
struct Checked {
    path: NodePath,
    documents: Vec<StoreKey>,
    is_node: bool,
    kind: Option<NodeKind>,
    array: Option<FoundArray>,
    /// Those of a group.
    attributes: Option<Object>,
    problems: Vec<Problem>,
}

/// Reads and checks all documents; returns the nodes.
pub(super) fn check(
    context: &Context<'_>,
    inventory: &Inventory,
    sink: &mut Sink<'_>,
) -> Result<Tree> {
    let mut odd_names = Vec::new();
    let candidates = candidates(context, inventory, &mut odd_names);
    for name in odd_names {
        sink.add(name);
    }
    let mut tree = Tree::default();
    let candidates: Vec<(NodePath, Vec<StoreKey>)> = candidates
        .into_iter()
        .filter_map(|path| {
            let keys = context.format.document_keys(&path).ok()?;
            let documents: Vec<StoreKey> =
                keys.into_iter().filter(|key| inventory.keys.binary_search(key).is_ok()).collect();
            (!documents.is_empty()).then_some((path, documents))
        })
        .collect();
    parallel::run(
        context,
        candidates.len(),
        |at: usize| {
            let (path, documents) = &candidates[at];
            check_node(context, path, documents)
        },
        |_, checked| {
            checked.problems.into_iter().for_each(|problem| sink.add(problem));
            if !checked.is_node {
                // Attributes of v2 make no node.
                tree.attributes_only.extend(checked.documents);
                return;
            }
            let kind = checked.kind;
            let has_levels = checked.attributes.as_ref().is_some_and(has_levels);
            let ome = checked.attributes.as_ref().filter(|it| may_be_ome(it)).cloned();
            let conventions = checked.attributes.as_ref().filter(|it| geo::concerns(it)).cloned();
            if checked.path.is_root() {
                tree.root_attributes = checked.attributes;
            }
            // One that cannot be read may be an array's.
            if kind != Some(NodeKind::Group)
                && let Ok(prefix) = context.format.chunk_prefix(&checked.path)
            {
                let at = checked.array.is_some().then_some(tree.arrays.len());
                tree.prefixes.insert(prefix.as_str().to_owned(), at);
            }
            let array = checked.array.map(|array| {
                tree.arrays.push(array);
                tree.arrays.len() - 1
            });
            let node = FoundNode {
                kind,
                documents: checked.documents,
                array,
                has_levels,
                ome,
                conventions,
            };
            tree.nodes.insert(checked.path, node);
        },
    )?;
    sink.report.nodes = tree.nodes.len() as u64;
    Ok(tree)
}

/// Whether attributes are those of a multiscale image (OME-Zarr, GeoZarr).
fn has_levels(attributes: &Object) -> bool {
    let ome = attributes.get("ome").and_then(Json::as_object);
    attributes.contains("multiscales") || ome.is_some_and(|ome| ome.contains("multiscales"))
}

/// Whether attributes have members of the names of OME-Zarr's.
fn may_be_ome(attributes: &Object) -> bool {
    attributes.contains(OME) || MEMBERS.iter().any(|name| attributes.contains(name))
}

/// The places where documents are.
fn candidates(
    context: &Context<'_>,
    inventory: &Inventory,
    odd: &mut Vec<Problem>,
) -> BTreeSet<NodePath> {
    let format = &*context.format;
    let mut paths = BTreeSet::new();
    if let Some(prefix) = format.tree_prefix() {
        let keys: Vec<StoreKey> =
            inventory.keys.iter().filter(|key| prefix.strip(key).is_some()).cloned().collect();
        let mut warnings = Vec::new();
        let nodes = format.tree(&NodePath::root(), &keys, &mut warnings);
        paths.extend(nodes.into_iter().map(|child| child.path));
        for what in warnings {
            let problem = Problem::new(&context.path, ProblemKind::InvalidName, what.clone());
            let key = what.split('`').nth(1).unwrap_or_default();
            odd.push(problem.at(key).by("D-015"));
        }
        return paths;
    }
    let names = document_names(format);
    for key in &inventory.keys {
        let (folder, name) = key.as_str().rsplit_once('/').unwrap_or(("", key.as_str()));
        if !names.iter().any(|document| document == name) {
            continue;
        }
        match NodePath::new(folder) {
            Ok(path) => drop(paths.insert(path)),
            Err(e) => {
                let problem = Problem::new(&context.path, ProblemKind::InvalidName, e.to_string());
                odd.push(problem.at(key));
            }
        }
    }
    paths
}

/// The last segments of the keys of documents, where those are at their nodes.
pub(super) fn document_names(format: &dyn Format) -> Vec<String> {
    let keys = format.document_keys(&NodePath::root()).unwrap_or_default();
    keys.iter().map(|key| key.as_str().to_owned()).collect()
}

/// Reads and checks the documents of one node.
fn check_node(context: &Context<'_>, path: &NodePath, documents: &[StoreKey]) -> Checked {
    let mut checked = Checked {
        path: path.clone(),
        documents: documents.to_vec(),
        is_node: true,
        kind: None,
        array: None,
        attributes: None,
        problems: Vec::new(),
    };
    let mut found = Documents::new();
    let mut is_whole = true;
    for key in documents {
        match read_document(context, path, key) {
            Ok(bytes) => found.push((key.clone(), bytes)),
            Err(problem) => {
                is_whole = false;
                checked.problems.push(problem);
            }
        }
    }
    // In v3 only the document tells; elsewhere its key.
    if context.format.dialect() == Dialect::V3 {
        checked.kind = context.format.kind(path, &found).ok().flatten();
    } else {
        let names = documents.iter().map(|key| (key.clone(), Default::default()));
        checked.kind = context.format.kind(path, &names.collect()).ok().flatten();
        checked.is_node = checked.kind.is_some();
    }
    without_conflict(context, &mut checked, &mut found);
    // Attributes of v2 that cannot be read hide nothing of the node itself.
    let is_first_there = found.first().map(|(key, _)| key) == documents.first();
    if !checked.is_node || found.is_empty() || !(is_whole || is_first_there) {
        return checked;
    }
    match parse(context, &mut checked, &found) {
        Some(NodeMetadata::Array(metadata)) => {
            checked.array = array(context, &mut checked, *metadata);
        }
        Some(NodeMetadata::Group(group)) => checked.attributes = Some(group.attributes),
        None => {}
    }
    checked
}

/// The bytes of a document, which are a value of its encoding.
fn read_document(
    context: &Context<'_>,
    path: &NodePath,
    key: &StoreKey,
) -> Result<zarr_core::store::Bytes, Problem> {
    let problem = |kind, what: String| Problem::new(path, kind, what).at(key);
    let limit = context.open.options.limits.document;
    let bytes = match context.store.get(key, GetOptions::at_most(limit)) {
        Ok(Some(got)) => got.bytes.unwrap_or_default(),
        Ok(None) => {
            let what = "it was listed, but no longer exists: another writer is at work";
            return Err(problem(ProblemKind::Unreadable, what.into()));
        }
        Err(e @ StoreError::TooLarge { .. }) => {
            let what = format!("{e}; raise `Limits::document` to check it");
            return Err(problem(ProblemKind::NotChecked, what));
        }
        Err(e) => return Err(problem(ProblemKind::Unreadable, e.to_string())),
    };
    match context.format.encoding().decode(&bytes) {
        Ok(_) => Ok(bytes),
        Err(why) => {
            let clause = clauses::not_json(context.format.dialect());
            Err(problem(ProblemKind::UnreadableDocument, why).by(clause))
        }
    }
}

/// Reports documents of both kinds at one node, and leaves the array's.
fn without_conflict(context: &Context<'_>, checked: &mut Checked, found: &mut Documents) {
    let kind_of = |key: &StoreKey| {
        let only = Documents::from([(key.clone(), Default::default())]);
        context.format.kind(&checked.path, &only).ok().flatten()
    };
    if context.format.dialect() == Dialect::V3 {
        return;
    }
    let groups = checked.documents.clone();
    let is_array = groups.iter().any(|key| kind_of(key) == Some(NodeKind::Array));
    let group = groups.iter().find(|key| kind_of(key) == Some(NodeKind::Group)).cloned();
    let Some(group) = group.filter(|_| is_array) else { return };
    let clause = if context.format.dialect() == Dialect::V2 { "Z2-001" } else { "D-165" };
    let what = "an array's document and a group's are here; readers take the array's";
    let problem = Problem::new(&checked.path, ProblemKind::ConflictingDocuments, what);
    found.retain(|(key, _)| *key != group);
    checked.problems.push(problem.at(group).by(clause));
}

/// The node, if a tolerant reader can read it; what a strict one refuses is a problem.
fn parse(context: &Context<'_>, checked: &mut Checked, found: &Documents) -> Option<NodeMetadata> {
    let dialect = context.format.dialect();
    let correct = |key: &str| {
        let key = StoreKey::new(key).ok()?;
        correct::corrected(context, &checked.path, found, &key)
    };
    match read(context, checked, found, Strictness::Strict) {
        (Ok(node), _) => node,
        (Err(refusal), _) => match read(context, checked, found, Strictness::Tolerant) {
            (Err(error), _) => {
                let mut problem = invalid_document(context, &checked.path, found, &error);
                if problem.kind != ProblemKind::NotChecked {
                    let corrected = correct(&document_of(&error, found));
                    problem = problem.corrected(corrected.map(|it| it.correction));
                }
                checked.problems.push(problem);
                None
            }
            // A bare NaN of an attribute, say, is in no document of the file.
            (Ok(node), _) if context.is_made => node,
            (Ok(node), warnings) => {
                let key = document_of(&refusal, found);
                let corrected = correct(&key);
                let mends = |what: Option<&String>| {
                    let corrected = corrected.as_ref()?;
                    let is_mended = what.is_none_or(|what| !corrected.left.contains(what));
                    is_mended.then(|| corrected.correction.clone())
                };
                let mut problems = Vec::new();
                if warnings.is_empty() {
                    let mut problem = invalid_document(context, &checked.path, found, &refusal);
                    problem.kind = ProblemKind::DeviatingDocument;
                    problems.push(problem.corrected(mends(None)));
                }
                for what in warnings {
                    let clause = clauses::of_text(dialect, &what);
                    let correction = mends(Some(&what));
                    let problem = Problem::new(&checked.path, ProblemKind::DeviatingDocument, what);
                    problems.push(problem.at(&key).by(clause).corrected(correction));
                }
                checked.problems.extend(problems);
                node
            }
        },
    }
}

/// Parses the documents; the warnings are of what only the tolerant reading accepts.
fn read(
    context: &Context<'_>,
    checked: &Checked,
    found: &Documents,
    strictness: Strictness,
) -> (Result<Option<NodeMetadata>, MetadataError>, Vec<String>) {
    let mut reading = Reading::new(&context.open.registry, strictness);
    reading.limits = context.open.options.limits;
    reading.ignore_hidden_filters = context.open.options.ignore_hidden_filters;
    let parsed = context.format.parse(&checked.path, found, &mut reading);
    (parsed, reading.warnings)
}

/// The problem of documents that cannot be read.
fn invalid_document(
    context: &Context<'_>,
    path: &NodePath,
    found: &Documents,
    error: &MetadataError,
) -> Problem {
    let kind = match error {
        MetadataError::Unsupported(_) | MetadataError::Limit { .. } => ProblemKind::NotChecked,
        MetadataError::Json(_) => ProblemKind::UnreadableDocument,
        _ => ProblemKind::InvalidDocument,
    };
    let key = document_of(error, found);
    let problem = Problem::new(path, kind, error.to_string());
    problem.at(key).by(clauses::of_error(context.format.dialect(), error))
}

/// The document that an error is about: of several, the one that it names.
fn document_of(error: &MetadataError, found: &Documents) -> String {
    let text = error.to_string();
    let named = found.iter().find(|(key, _)| {
        let name = key.as_str().rsplit('/').next().unwrap_or_default();
        text.contains(&format!("`{name}`"))
    });
    named.or(found.first()).map_or(String::new(), |(key, _)| key.to_string())
}

/// An array with its codecs, and what is wrong with those.
fn array(
    context: &Context<'_>,
    checked: &mut Checked,
    metadata: ArrayMetadata,
) -> Option<FoundArray> {
    let prefix = context.format.chunk_prefix(&checked.path).ok()?;
    let dialect = context.format.dialect();
    let at = checked.documents.first().map_or(String::new(), ToString::to_string);
    let chain = match metadata.chain(&context.open.registry, dialect) {
        // The specifications know no other bytes than 0 and 1 for a bool.
        Ok(chain) => Some(chain.accept_nonzero_bools(false)),
        Err(e @ (MetadataError::Unsupported(_) | MetadataError::Limit { .. })) => {
            let what = format!("its chunks are not decoded: {e}");
            let problem = Problem::new(&checked.path, ProblemKind::NotChecked, what);
            checked.problems.push(problem.at(at));
            None
        }
        Err(e) => {
            let problem = Problem::new(&checked.path, ProblemKind::InvalidDocument, e.to_string());
            checked.problems.push(problem.at(at).by(clauses::of_error(dialect, &e)));
            None
        }
    };
    dimension_names(checked, &metadata);
    fill_attribute(dialect, checked, &metadata);
    Some(FoundArray { path: checked.path.clone(), prefix, metadata, chain })
}

/// Reports an attribute `_FillValue` that xarray does not take for a missing value, and does not open the array with. netCDF's own
/// datasets have theirs in the form of fill values.
fn fill_attribute(dialect: Dialect, checked: &mut Checked, metadata: &ArrayMetadata) {
    let Some(json) = metadata.attributes.get(missing_value::FILL_VALUE) else { return };
    let is_netcdf = metadata.attributes.iter().any(|(name, _)| name.starts_with("_nczarr"));
    if dialect != Dialect::V3 || is_netcdf {
        return;
    }
    let what = match missing_value::form_of_v3(&metadata.data_type, json) {
        Ok(None) => return,
        Ok(Some(right)) => format!("`_FillValue` is {}, expected {}", json.brief(), right.brief()),
        Err(why) => format!("`_FillValue`: {why}"),
    };
    let problem = Problem::new(&checked.path, ProblemKind::FillAttribute, what);
    let attributes = checked.documents.last().map_or(String::new(), ToString::to_string);
    checked.problems.push(problem.at(attributes));
}

/// Reports names of dimensions among the attributes that are not as many as the axes (xarray's convention).
fn dimension_names(checked: &mut Checked, metadata: &ArrayMetadata) {
    const NAMES: &str = "_ARRAY_DIMENSIONS";
    let Some(names) = metadata.attributes.get(NAMES).and_then(Json::as_array) else { return };
    // NCZarr's scalars are arrays of one element whose dimensions have no names (N-020).
    let is_scalar = names.is_empty() && metadata.shape == [1];
    if names.len() == metadata.rank() || is_scalar {
        return;
    }
    let what = format!("`{NAMES}` has {} names for {} axes", names.len(), metadata.rank());
    let problem = Problem::new(&checked.path, ProblemKind::DimensionNames, what);
    let attributes = checked.documents.last().map_or(String::new(), ToString::to_string);
    checked.problems.push(problem.at(attributes));
}

/// Reports nodes below arrays, nodes below folders without a document, and attributes without a node.
pub(super) fn relations(
    context: &Context<'_>,
    tools: &Tools,
    erased: &Erased,
    tree: &mut Tree,
    sink: &mut Sink<'_>,
) {
    let dialect = context.format.dialect();
    let clause = match dialect {
        Dialect::V2 => "Z2-003",
        Dialect::Draft => "D-001",
        _ => "F-007",
    };
    let mut missing = BTreeSet::new();
    for (path, node) in &tree.nodes {
        for ancestor in path.ancestors() {
            if !ancestor.is_within(&context.path) {
                continue;
            }
            match tree.nodes.get(&ancestor) {
                Some(above) if above.kind == Some(NodeKind::Array) => {
                    let what = format!("is below the array {ancestor}; arrays have no members");
                    let problem = Problem::new(path, ProblemKind::ArrayInsideArray, what);
                    let key = node.documents.first().map_or(String::new(), ToString::to_string);
                    sink.add(problem.at(key).by(clause));
                    break;
                }
                // A copy puts documents last.
                None if tools.is_target(&ancestor) => {}
                None if context.format.groups_are_explicit() => drop(missing.insert(ancestor)),
                _ => {}
            }
        }
    }
    for path in missing {
        let key = context.format.document_keys(&path).unwrap_or_default();
        let key =
            key.get(usize::from(dialect == Dialect::V2)).map_or(String::new(), |k| k.to_string());
        if erased.documents.contains(&key) {
            let what =
                "its erase was interrupted: its document is gone, and nodes are left below it";
            sink.add(Problem::new(&path, ProblemKind::InterruptedErase, what).at(key).by(clause));
        } else {
            let what =
                "there is no document here, though nodes are below: some readers do not find them";
            let problem = Problem::new(&path, ProblemKind::MissingDocument, what).at(&key);
            let group = NodeMetadata::Group(GroupMetadata::default());
            let right = context.format.create(&path, &group).ok();
            let right = right
                .and_then(|documents| documents.into_iter().find(|(at, _)| at.as_str() == key));
            let correction = right.map(|(_, right)| Correction { wrong: None, right });
            sink.add(problem.by(clause).corrected(correction));
        }
        tree.implied.insert(path);
    }
    for key in &tree.attributes_only {
        let folder = key.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = NodePath::new(folder).unwrap_or_else(|_| context.path.clone());
        if tree.implied.contains(&path) {
            continue;
        }
        if erased.node_of(key).is_some() {
            let what = "the attributes of a node that was being erased when that was interrupted";
            let problem = Problem::new(&path, ProblemKind::InterruptedErase, what);
            sink.add(problem.at(key).by("Z2-001"));
            continue;
        }
        let what = "attributes, and no document of a node beside them";
        let problem = Problem::new(&path, ProblemKind::OrphanedDocument, what);
        sink.add(problem.at(key).by("Z2-001"));
    }
}

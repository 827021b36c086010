//! Compares consolidated metadata with the documents.

use std::collections::{BTreeMap, BTreeSet};

use zarr_core::store::{GetOptions, StoreKey};
use zarr_core::{
    ArrayMetadata, Dialect, Json, NodeMetadata, NodePath, Object, Reading, Result, Strictness,
};

use super::inventory::Inventory;
use super::problem::{Correction, Problem, ProblemKind};
use super::tree::Tree;
use super::{Context, Sink};

/// The member of a v3 group's document.
const INLINE: &str = "consolidated_metadata";
/// The document of v2.
const V2: &str = ".zmetadata";
/// Where zarr-python 2.18 puts those of a draft.
const DRAFT: &str = "meta/root/consolidated/.zmetadata";

/// The member with the names of copies that may be out of date, since a change of their documents has begun.
const STALE: &str = "stale";

/// Copies of documents.
#[derive(Default)]
struct Copies {
    /// By the keys of the documents.
    entries: BTreeMap<String, Json>,
    /// Keys of documents of which a change has begun.
    stale: BTreeSet<String>,
}

/// Consolidated metadata.
pub(super) struct Consolidated {
    /// The document that they are in.
    holder: StoreKey,
    /// The folder below which the documents are.
    folder: String,
    /// The group.
    path: NodePath,
    /// The copies, or what is wrong with them.
    copies: Result<Copies, Problem>,
    /// Copies that are spelled as other writers are known to spell them.
    deviations: Vec<Problem>,
}

/// Nodes of which an erase was interrupted: it removes consolidated copies first, and marks them.
#[derive(Default)]
pub(super) struct Erased {
    /// The nodes, by the prefixes of their chunks and documents.
    prefixes: BTreeMap<String, NodePath>,
    /// The keys of their documents.
    pub documents: BTreeSet<String>,
}

impl Erased {
    /// The node below which a key is, if its erase was interrupted.
    pub fn node_of(&self, key: &StoreKey) -> Option<&NodePath> {
        let ends = key.as_str().match_indices('/').map(|(at, _)| at + 1).collect::<Vec<_>>();
        let folders = ends.into_iter().rev().map(|end| &key.as_str()[..end]).chain([""]);
        folders.into_iter().find_map(|folder| self.prefixes.get(folder))
    }
}

/// The keys of the documents that the copies at the root name.
pub(super) fn named_documents(context: &Context<'_>) -> Vec<StoreKey> {
    let dialect = context.format.dialect();
    let holder = match dialect {
        Dialect::V3 => "zarr.json",
        Dialect::V2 => V2,
        _ => DRAFT,
    };
    let Some((key, bytes)) = StoreKey::new(holder).ok().and_then(|key| {
        let limit = context.open.options.limits.document;
        let got = context.store.get(&key, GetOptions::at_most(limit)).ok()??;
        Some((key, got.bytes.unwrap_or_default()))
    }) else {
        return Vec::new();
    };
    let copies = copies(dialect, "", &bytes).ok().flatten().unwrap_or_default().entries;
    let named = copies.into_keys().filter_map(|key| StoreKey::new(key).ok());
    named
        .chain([key])
        .filter(|key| {
            let folder = key.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
            context.path.is_root()
                || NodePath::new(folder).is_ok_and(|path| path.is_within(&context.path))
        })
        .collect()
}

/// Reads all consolidated metadata that are there.
pub(super) fn read(
    context: &Context<'_>,
    inventory: &Inventory,
    tree: &Tree,
) -> Result<Vec<Consolidated>> {
    let dialect = context.format.dialect();
    let mut all = Vec::new();
    for holder in holders(dialect, inventory, tree) {
        context.check_cancelled()?;
        let folder = match dialect {
            Dialect::Draft => "",
            _ => holder.as_str().rfind('/').map_or("", |at| &holder.as_str()[..=at]),
        };
        let folder = folder.to_owned();
        let path = NodePath::new(folder.trim_end_matches('/')).unwrap_or_else(|_| NodePath::root());
        let limit = context.open.options.limits.document;
        let mut deviations = Vec::new();
        let found = match context.store.get(&holder, GetOptions::at_most(limit)) {
            Ok(Some(got)) => {
                let bytes = got.bytes.unwrap_or_default();
                let registry = &context.open.registry;
                if let Some(correct) = context.format.corrected(&holder, &bytes, registry) {
                    let right = correct.document;
                    let correction = Correction { wrong: Some(bytes.clone()), right };
                    deviations.extend(correct.in_copies.into_iter().map(|what| {
                        let problem = Problem::new(&path, ProblemKind::DeviatingDocument, what);
                        let problem = problem.at(&holder).by(clause(dialect));
                        problem.corrected(Some(correction.clone()))
                    }));
                }
                copies(dialect, &folder, &bytes).map_err(|why| {
                    let problem = Problem::new(&path, ProblemKind::ConsolidatedInvalid, why);
                    problem.advise(consolidate(&path)).by(clause(dialect))
                })
            }
            // A document of a node was read before.
            Err(e) if dialect != Dialect::V3 => {
                Err(Problem::new(&path, ProblemKind::Unreadable, e.to_string()))
            }
            _ => continue,
        };
        let copies = match found {
            Ok(None) => continue,
            Ok(Some(mut copies)) => {
                // What could not be listed is not absent.
                copies.entries.retain(|name, _| !inventory.may_have(name));
                copies.stale.retain(|name| !inventory.may_have(name));
                Ok(copies)
            }
            Err(problem) => Err(problem.at(&holder)),
        };
        all.push(Consolidated { holder, folder, path, copies, deviations });
    }
    Ok(all)
}

/// The command that makes the consolidated metadata of a group anew.
fn consolidate(path: &NodePath) -> String {
    if path.is_root() {
        "run `zarr consolidate`".into()
    } else {
        format!("run `zarr consolidate` with `--path {}`", path.relative())
    }
}

/// The nodes whose copies are gone and marked, and whose documents are gone, too.
pub(super) fn erased(context: &Context<'_>, inventory: &Inventory, all: &[Consolidated]) -> Erased {
    let format = &*context.format;
    let mut erased = Erased::default();
    for copies in all.iter().filter_map(|it| it.copies.as_ref().ok()) {
        for name in copies.stale.iter().filter(|name| !copies.entries.contains_key(*name)) {
            let Ok(key) = StoreKey::new(name.as_str()) else { continue };
            if name.ends_with(".zattrs") || inventory.keys.binary_search(&key).is_ok() {
                continue;
            }
            let path = match format.tree_prefix() {
                Some(_) => {
                    let keys = std::slice::from_ref(&key);
                    let tree = format.tree(&NodePath::root(), keys, &mut Vec::new());
                    tree.into_iter().map(|child| child.path).max_by_key(|it| it.names().count())
                }
                None => NodePath::new(name.rsplit_once('/').map_or("", |(folder, _)| folder)).ok(),
            };
            let Some(path) = path else { continue };
            // Of two documents that a node may have, the other may be there.
            let documents = format.document_keys(&path).unwrap_or_default();
            let mut make_node = documents.iter().filter(|key| !key.as_str().ends_with(".zattrs"));
            let is_described = make_node.any(|key| {
                inventory.keys.binary_search(key).is_ok()
                    || copies.entries.contains_key(key.as_str())
            });
            if is_described {
                continue;
            }
            let (_, prefixes) = format.erasure(&path).unwrap_or_default();
            for prefix in prefixes {
                erased.prefixes.insert(prefix.as_str().to_owned(), path.clone());
            }
            erased.documents.insert(name.clone());
        }
    }
    erased
}

/// Compares all consolidated metadata with the documents.
pub(super) fn check(
    context: &Context<'_>,
    tree: &Tree,
    all: Vec<Consolidated>,
    sink: &mut Sink<'_>,
) -> Result<BTreeSet<String>> {
    let mut extra = BTreeSet::new();
    for Consolidated { holder, folder, path, copies, deviations } in all {
        context.check_cancelled()?;
        deviations.into_iter().for_each(|problem| sink.add(problem));
        match copies {
            Ok(copies) => {
                let found =
                    compare(context, tree, (&holder, &folder, &path), &copies.entries, sink)?;
                extra.extend(found);
            }
            Err(problem) => sink.add(problem),
        }
    }
    Ok(extra)
}

/// The documents that may have copies.
fn holders(dialect: Dialect, inventory: &Inventory, tree: &Tree) -> Vec<StoreKey> {
    match dialect {
        Dialect::V3 => {
            let nodes = tree.nodes.values().filter(|node| node.array.is_none());
            nodes.flat_map(|node| node.documents.clone()).collect()
        }
        _ => inventory
            .keys
            .iter()
            .filter(|key| match dialect {
                Dialect::V2 => key.as_str().rsplit('/').next() == Some(V2),
                _ => key.as_str() == DRAFT,
            })
            .cloned()
            .collect(),
    }
}

fn clause(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::V3 => "F-014",
        Dialect::V2 => "Z2-070",
        _ => "D-162",
    }
}

/// The copies in a document.
fn copies(dialect: Dialect, folder: &str, bytes: &[u8]) -> Result<Option<Copies>, String> {
    let parsed = Json::parse_tolerant(bytes);
    let (json, _) = match parsed {
        // A node's own document was checked before.
        Err(_) if dialect == Dialect::V3 => return Ok(None),
        parsed => parsed?,
    };
    let Json::Object(whole) = json else { return Err("it is not an object".into()) };
    let held = match dialect {
        Dialect::V3 => match whole.get(INLINE) {
            None | Some(Json::Null) => return Ok(None),
            Some(inline) => inline.as_object(),
        },
        _ => {
            if whole.get("zarr_consolidated_format").and_then(Json::as_u64) != Some(1) {
                return Err("`zarr_consolidated_format` is not 1".into());
            }
            Some(&whole)
        }
    };
    let entries = held.and_then(|held| held.get("metadata")).and_then(Json::as_object);
    let entries = entries.ok_or("`metadata`, which has the copies, is not an object")?;
    let mut found = Copies::default();
    flatten(dialect, folder, entries, &mut found.entries);
    let stale = held.and_then(|held| held.get(STALE)).and_then(Json::as_array).unwrap_or_default();
    found.stale.extend(stale.iter().filter_map(Json::as_str).map(|name| match dialect {
        Dialect::V3 => format!("{folder}{name}/zarr.json"),
        _ => format!("{folder}{name}"),
    }));
    Ok(Some(found))
}

/// Copies in the copies of groups count, too: some writers nest them.
fn flatten(dialect: Dialect, folder: &str, entries: &Object, found: &mut BTreeMap<String, Json>) {
    for (name, copy) in entries.iter() {
        if dialect != Dialect::V3 {
            found.insert(format!("{folder}{name}"), copy.clone());
            continue;
        }
        let inner = copy.as_object().and_then(|copy| copy.get(INLINE)).and_then(Json::as_object);
        let inner = inner.and_then(|inner| inner.get("metadata")).and_then(Json::as_object);
        if let Some(inner) = inner {
            flatten(dialect, &format!("{folder}{name}/"), inner, found);
        }
        found.insert(format!("{folder}{name}/zarr.json"), copy.clone());
    }
}

/// Compares the copies below `folder` with the documents; returns the keys of the documents that only the copies have.
fn compare(
    context: &Context<'_>,
    tree: &Tree,
    (holder, folder, group): (&StoreKey, &str, &NodePath),
    copies: &BTreeMap<String, Json>,
    sink: &mut Sink<'_>,
) -> Result<Vec<String>> {
    let dialect = context.format.dialect();
    let mut seen = BTreeSet::new();
    for (path, node) in &tree.nodes {
        for key in &node.documents {
            context.check_cancelled()?;
            let is_below = match dialect {
                Dialect::V3 => key.as_str().starts_with(folder) && key != holder,
                Dialect::V2 => key.as_str().starts_with(folder),
                // The group that holds them was created after they were made.
                _ => !key.as_str().starts_with("meta/root/consolidated."),
            };
            if !is_below {
                continue;
            }
            let problem = |kind, what: String| {
                let problem = Problem::new(path, kind, what).at(key).by(clause(dialect));
                problem.advise(consolidate(group))
            };
            seen.insert(key.as_str());
            let Some(copy) = copies.get(key.as_str()) else {
                let what = format!("the consolidated metadata in `{holder}` do not have it");
                sink.add(problem(ProblemKind::ConsolidatedMissing, what));
                continue;
            };
            let limit = context.open.options.limits.document;
            let stored = context.store.get(key, GetOptions::at_most(limit)).ok().flatten();
            let stored = stored.and_then(|got| {
                context.format.encoding().decode(&got.bytes.unwrap_or_default()).ok()
            });
            // One that cannot be read was reported.
            let Some((stored, _)) = stored else { continue };
            let (stored, copy) = (normal(stored), normal(copy.clone()));
            if copy.has_bare_floats() && !stored.has_bare_floats() {
                let what = format!(
                    "the copy in `{holder}` has a bare NaN or Infinity, the document has none"
                );
                sink.add(problem(ProblemKind::ConsolidatedDiffers, what));
                continue;
            }
            if let Some(member) = difference(&stored, &copy)
                && !is_as_good(context, path, key, [stored, copy])
            {
                let what = format!("the copy in `{holder}` has another {member}");
                sink.add(problem(ProblemKind::ConsolidatedDiffers, what));
            }
        }
    }
    let mut extra = Vec::new();
    for name in copies.keys().filter(|name| !seen.contains(name.as_str())) {
        // The entry point of a draft is no node; the group of the copies was passed over.
        let is_of_draft = name == "zarr.json" || name.starts_with("meta/root/consolidated.");
        if dialect == Dialect::Draft && is_of_draft || tree.has_attributes_at(name) {
            continue;
        }
        // So says the document that is not there.
        if name.ends_with("/.zattrs") && copies[name].as_object().is_some_and(Object::is_empty) {
            continue;
        }
        let what = format!(
            "the document is missing; only its copy in the consolidated metadata of `{holder}` is left"
        );
        let path = tree.nearest(&*context.format, holder);
        let problem = Problem::new(&path, ProblemKind::ConsolidatedExtra, what);
        let problem = problem.at(name).by(clause(dialect));
        extra.push(name.clone());
        sink.add(if name.ends_with(".zattrs") {
            problem.advise("`zarr repair --apply` writes the document")
        } else {
            problem
        });
    }
    Ok(extra)
}

/// Whether a document and its copy describe the same node, however they are written, and the copy breaks no rule that the document keeps.
fn is_as_good(
    context: &Context<'_>,
    path: &NodePath,
    key: &StoreKey,
    [stored, copy]: [Json; 2],
) -> bool {
    let both =
        [&stored, &copy].map(|document| parse(context, path, key, document, Strictness::Tolerant));
    let [Some(one), Some(other)] = both else { return false };
    let is_strict = |document| parse(context, path, key, document, Strictness::Strict).is_some();
    is_same_node(&one, &other) && (is_strict(&copy) || !is_strict(&stored))
}

/// A node's metadata by one document alone, none if it is invalid.
fn parse(
    context: &Context<'_>,
    path: &NodePath,
    key: &StoreKey,
    document: &Json,
    strictness: Strictness,
) -> Option<NodeMetadata> {
    let mut reading = Reading::new(&context.open.registry, strictness);
    reading.limits = context.open.options.limits;
    let encoded = context.format.encoding().encode(document).ok()?;
    let found = vec![(key.clone(), encoded.into())];
    context.format.parse(path, &found, &mut reading).ok()?
}

/// Whether two describe the same node.
pub(super) fn is_same_node(one: &NodeMetadata, other: &NodeMetadata) -> bool {
    match (one, other) {
        (NodeMetadata::Array(one), NodeMetadata::Array(other)) => {
            one.shape == other.shape
                && one.attributes == other.attributes
                && one.dimension_names == other.dimension_names
                && one.codecs == other.codecs
                && one.chunk_keys == other.chunk_keys
                && one.fill_value == other.fill_value
                && one.shards == other.shards
                && grid_and_type(one) == grid_and_type(other)
        }
        (NodeMetadata::Group(one), NodeMetadata::Group(other)) => {
            one.attributes == other.attributes
        }
        _ => false,
    }
}

/// The grid and the data type as text: they have no equality.
fn grid_and_type(array: &ArrayMetadata) -> String {
    format!("{:?}", (&array.grid, &array.data_type))
}

/// A document as it is compared: without copies of others, and without members that say nothing.
fn normal(mut document: Json) -> Json {
    if let Json::Object(members) = &mut document {
        members.remove(INLINE);
        for name in ["attributes", "dimension_names", "storage_transformers"] {
            let is_empty = members.get(name).is_some_and(|json| match json {
                Json::Object(object) => object.is_empty(),
                json => *json == Json::Null,
            });
            if is_empty {
                members.remove(name);
            }
        }
    }
    document
}

/// The first member, or the whole, in which two documents differ. The order of members does not count.
fn difference(stored: &Json, copy: &Json) -> Option<String> {
    let (Json::Object(stored), Json::Object(copy)) = (stored, copy) else {
        return (!same(stored, copy)).then(|| "value".into());
    };
    let names: BTreeSet<&str> = stored.iter().chain(copy.iter()).map(|(name, _)| name).collect();
    names
        .into_iter()
        .find(|name| match (stored.get(name), copy.get(name)) {
            (Some(stored), Some(copy)) => !same(stored, copy),
            _ => true,
        })
        .map(|name| format!("`{name}`"))
}

/// Whether two values are the same; numbers by their value, bare `NaN` like the text.
fn same(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Object(one), Json::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (one, other) => {
            let is_same_number = match (number(one), number(other)) {
                (Some(one), Some(other)) => one == other || one.is_nan() && other.is_nan(),
                _ => false,
            };
            one == other
                || is_same_number
                || one.clone().into_standard() == other.clone().into_standard()
        }
    }
}

/// The value of a number in JSON.
fn number(json: &Json) -> Option<f64> {
    json.as_number().and_then(|number| number.parse().ok())
}

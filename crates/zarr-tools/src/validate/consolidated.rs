//! Compares consolidated metadata with the documents.

use std::collections::{BTreeMap, BTreeSet};

use zarr_core::store::{GetOptions, StoreKey};
use zarr_core::{
    ArrayMetadata, Dialect, Json, NodeMetadata, NodePath, Object, Reading, Result, Strictness,
};

use super::inventory::Inventory;
use super::problem::{Problem, ProblemKind};
use super::tree::Tree;
use super::{Context, Sink};

/// The member of a v3 group's document.
const INLINE: &str = "consolidated_metadata";
/// The document of v2.
const V2: &str = ".zmetadata";
/// Where zarr-python 2.18 puts those of a draft.
const DRAFT: &str = "meta/root/consolidated/.zmetadata";

/// Copies of documents, by the keys of these; `None` for a document without any.
type Copies = Option<BTreeMap<String, Json>>;

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
    let copies = copies(dialect, "", &bytes).ok().flatten().unwrap_or_default();
    let below = |key: &StoreKey| {
        let folder = key.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
        context.path.is_root()
            || NodePath::new(folder).is_ok_and(|path| path.is_within(&context.path))
    };
    let named = copies.into_keys().filter_map(|key| StoreKey::new(key).ok());
    named.chain([key]).filter(below).collect()
}

/// Compares all consolidated metadata that are there.
pub(super) fn check(
    context: &Context<'_>,
    inventory: &Inventory,
    tree: &Tree,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let dialect = context.format.dialect();
    for holder in holders(dialect, inventory, tree) {
        context.check_cancelled()?;
        let folder = match dialect {
            Dialect::Draft => "",
            _ => holder.as_str().rfind('/').map_or("", |at| &holder.as_str()[..=at]),
        };
        let path = NodePath::new(folder.trim_end_matches('/')).unwrap_or_else(|_| NodePath::root());
        let limit = context.open.options.limits.document;
        let bytes = match context.store.get(&holder, GetOptions::at_most(limit)) {
            Ok(Some(got)) => got.bytes.unwrap_or_default(),
            // A document of a node was read before.
            Err(e) if dialect != Dialect::V3 => {
                let problem = Problem::new(&path, ProblemKind::Unreadable, e.to_string());
                sink.add(problem.at(&holder));
                continue;
            }
            _ => continue,
        };
        match copies(dialect, folder, &bytes) {
            Ok(None) => {}
            Ok(Some(mut copies)) => {
                // What could not be listed is not absent.
                copies.retain(|name, _| !inventory.may_have(name));
                compare(context, tree, (&holder, folder), &copies, sink)?;
            }
            Err(why) => {
                let problem = Problem::new(&path, ProblemKind::ConsolidatedInvalid, why);
                sink.add(problem.at(&holder).by(clause(dialect)));
            }
        }
    }
    Ok(())
}

/// The documents that may have copies.
fn holders(dialect: Dialect, inventory: &Inventory, tree: &Tree) -> Vec<StoreKey> {
    match dialect {
        Dialect::V3 => {
            let nodes = tree.nodes.values().filter(|node| node.array.is_none());
            nodes.flat_map(|node| node.documents.clone()).collect()
        }
        _ => {
            let is_holder = |key: &&StoreKey| match dialect {
                Dialect::V2 => key.as_str().rsplit('/').next() == Some(V2),
                _ => key.as_str() == DRAFT,
            };
            inventory.keys.iter().filter(is_holder).cloned().collect()
        }
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
fn copies(dialect: Dialect, folder: &str, bytes: &[u8]) -> Result<Copies, String> {
    let parsed = Json::parse_tolerant(bytes);
    let (json, _) = match parsed {
        // A node's own document was checked before.
        Err(_) if dialect == Dialect::V3 => return Ok(None),
        parsed => parsed?,
    };
    let Json::Object(whole) = json else { return Err("it is no object".into()) };
    let entries = match dialect {
        Dialect::V3 => match whole.get(INLINE) {
            None | Some(Json::Null) => return Ok(None),
            Some(inline) => inline.as_object().and_then(|inline| inline.get("metadata")),
        },
        _ => {
            if whole.get("zarr_consolidated_format").and_then(Json::as_u64) != Some(1) {
                return Err("`zarr_consolidated_format` is not 1".into());
            }
            whole.get("metadata")
        }
    };
    let entries = entries.and_then(Json::as_object);
    let entries = entries.ok_or("`metadata`, which has the copies, is no object")?;
    let mut found = BTreeMap::new();
    flatten(dialect, folder, entries, &mut found);
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

/// Compares the copies below `folder` with the documents.
fn compare(
    context: &Context<'_>,
    tree: &Tree,
    (holder, folder): (&StoreKey, &str),
    copies: &BTreeMap<String, Json>,
    sink: &mut Sink<'_>,
) -> Result<()> {
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
            let problem =
                |kind, what: String| Problem::new(path, kind, what).at(key).by(clause(dialect));
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
            if let Some(member) = difference(&stored, &copy)
                && !describe_the_same(context, path, key, [stored, copy])
            {
                let what = format!("the copy in `{holder}` has another {member}");
                sink.add(problem(ProblemKind::ConsolidatedDiffers, what));
            }
        }
    }
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
        let what = format!("the consolidated metadata in `{holder}` have it, and it is not there");
        let path = tree.nearest(&*context.format, holder);
        let problem = Problem::new(&path, ProblemKind::ConsolidatedExtra, what);
        sink.add(problem.at(name).by(clause(dialect)));
    }
    Ok(())
}

/// Whether two documents describe the same node, however they are written.
fn describe_the_same(
    context: &Context<'_>,
    path: &NodePath,
    key: &StoreKey,
    documents: [Json; 2],
) -> bool {
    let parse = |document: Json| {
        let mut reading = Reading::new(&context.open.registry, Strictness::Tolerant);
        reading.limits = context.open.options.limits;
        let encoded = context.format.encoding().encode(&document).ok()?;
        let found = vec![(key.clone(), encoded.into())];
        context.format.parse(path, &found, &mut reading).ok()?
    };
    match documents.map(parse) {
        [Some(NodeMetadata::Array(one)), Some(NodeMetadata::Array(other))] => {
            let text = |array: &ArrayMetadata| format!("{:?}", (&array.grid, &array.data_type));
            one.shape == other.shape
                && one.attributes == other.attributes
                && one.dimension_names == other.dimension_names
                && one.codecs == other.codecs
                && one.chunk_keys == other.chunk_keys
                && one.fill_value == other.fill_value
                && one.shards == other.shards
                && text(&one) == text(&other)
        }
        [Some(NodeMetadata::Group(one)), Some(NodeMetadata::Group(other))] => {
            one.attributes == other.attributes
        }
        _ => false,
    }
}

/// A document as it is compared: without copies of others, and without members that say nothing.
fn normal(mut document: Json) -> Json {
    if let Json::Object(members) = &mut document {
        members.remove(INLINE);
        let is_empty = |json: &Json| match json {
            Json::Object(object) => object.is_empty(),
            json => *json == Json::Null,
        };
        for name in ["attributes", "dimension_names", "storage_transformers"] {
            if members.get(name).is_some_and(is_empty) {
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
    let differs = |name: &&str| match (stored.get(name), copy.get(name)) {
        (Some(stored), Some(copy)) => !same(stored, copy),
        _ => true,
    };
    names.into_iter().find(differs).map(|name| format!("`{name}`"))
}

/// Whether two values are the same; numbers by their value, bare `NaN` like the text.
fn same(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Object(one), Json::Object(other)) => {
            let found = |(name, value)| other.get(name).is_some_and(|other| same(value, other));
            one.len() == other.len() && one.iter().all(found)
        }
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (one, other) => {
            let number = |json: &Json| json.as_number().and_then(|n| n.parse::<f64>().ok());
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

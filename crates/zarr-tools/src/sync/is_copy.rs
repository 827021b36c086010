//! Refuses a target that is no copy of the source: a sync would replace what is there.
//!
//! An array that is in both places must store its elements the same way, and of the nodes below the root both places must
//! have one in common. Shapes, attributes and fill values may differ: they are what changes over time. But arrays grow, they
//! seldom shrink: where the target has more elements than the source, source and target may have been swapped.

use std::collections::HashSet;

use zarr_core::store::StoreKey;
use zarr_core::{Dialect, Hierarchy, Json, NodePath, Object, Result};

use super::{SyncPlan, refusal};
use crate::copy::{parsed_documents, stored_difference};

/// The most arrays that an error names.
const MAX_NAMED: usize = 10;

/// Members of an array's document that say how its elements are stored.
const MEMBERS_OF_V3: [&str; 6] = [
    "node_type",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "codecs",
    "storage_transformers",
];
const MEMBERS_OF_V2: [&str; 6] =
    ["dtype", "chunks", "compressor", "filters", "order", "dimension_separator"];

/// Of an array that has more elements in the target.
const LONGER: &str = "longer than in the source";

const HINT: &str = "sync to another place, or replace what is there with `zarr copy --overwrite`";

/// Refuses a target that is no copy, unless it is empty, or a sync from the same source has begun it. `may_shrink` says that the
/// caller deletes what the source lacks, so that arrays may get shorter.
///
/// # Errors
/// [`zarr_core::AccessError::Argument`]; what the stores report.
pub(super) fn check(
    plan: &SyncPlan,
    target: &Hierarchy,
    at: &NodePath,
    (is_resumed, may_shrink): (bool, bool),
) -> Result<()> {
    if plan.target.objects.is_empty() || is_resumed {
        return Ok(());
    }
    let (there, here) = (
        node_documents(&plan.source.objects, target),
        node_documents(&plan.target.objects, target),
    );
    if here.is_empty() {
        let why = "there are files but no node, so it is not a copy of the source";
        return Err(refusal(target, at, why, HINT));
    }
    let has_others = here.iter().any(|name| name.contains('/'));
    let has_common = here.intersection(&there).any(|name| name.contains('/'));
    if has_others && !has_common {
        let why = "none of its nodes has the path of a node of the source, so it is not a copy";
        return Err(refusal(target, at, why, HINT));
    }
    let mut obstacles = Vec::new();
    if target.dialect() == Dialect::V2 {
        for name in there.iter().filter(|name| !here.contains(*name)) {
            let other = match name.strip_suffix(".zarray") {
                Some(folder) => format!("{folder}.zgroup"),
                None => name.replace(".zgroup", ".zarray"),
            };
            if here.contains(&other) && !there.contains(&other) {
                obstacles.push(format!("{}: an array in one, a group in the other", path_of(name)));
            }
        }
    }
    for document in plan.documents.iter().filter(|document| !document.is_new) {
        if makes_node(target.dialect(), &document.name)
            && let Some(why) =
                difference(plan, target, (&document.name, &document.bytes), may_shrink)?
        {
            obstacles.push(format!("{}: {why}", path_of(&document.name)));
        }
    }
    obstacles.sort();
    if obstacles.is_empty() {
        return Ok(());
    }
    let more = obstacles.len().saturating_sub(MAX_NAMED);
    obstacles.truncate(MAX_NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let why = format!("it is not a copy of the source: {}{more}", obstacles.join("; "));
    if obstacles.iter().any(|obstacle| obstacle.contains(LONGER)) {
        let hint = "were SOURCE and TARGET swapped? If the source has become shorter, `--delete` makes the target so";
        return Err(refusal(target, at, &why, hint));
    }
    let hint = "erase what differs with `zarr rm`, or replace it with `zarr copy --overwrite`, and sync again";
    Err(refusal(target, at, &why, hint))
}

/// The names of the documents that make nodes.
fn node_documents(objects: &[super::Object], target: &Hierarchy) -> HashSet<String> {
    let names = objects.iter().map(|object| &*object.name);
    names.filter(|name| makes_node(target.dialect(), name)).map(str::to_owned).collect()
}

/// Whether a document makes a node.
fn makes_node(dialect: Dialect, name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or_default();
    match dialect {
        Dialect::V2 => [".zarray", ".zgroup"].contains(&last),
        Dialect::Draft => name.starts_with("meta/"),
        _ => last == "zarr.json",
    }
}

/// The node of a document, as an error names it.
fn path_of(document: &str) -> String {
    format!("/{}", document.rsplit_once('/').map_or("", |(folder, _)| folder))
}

/// What is different between the stored elements of an array in both places; `None` for groups.
fn difference(
    plan: &SyncPlan,
    target: &Hierarchy,
    (name, there): (&str, &[u8]),
    may_shrink: bool,
) -> Result<Option<String>> {
    let limit = target.options().limits.document;
    // A document that is damaged in the target is mended.
    let Ok(Some(here)) = plan.target.get(name, limit) else { return Ok(None) };
    let Some(old) = object(&here) else { return Ok(None) };
    let Some(new) = object(there) else {
        let key = plan.source.prefix.key(name)?;
        return Ok(Some(format!("`{key}` of the source is not a document")));
    };
    let kind =
        |document: &Object| document.get("node_type").and_then(Json::as_str).map(str::to_owned);
    if kind(&old) != kind(&new) {
        return Ok(Some("an array in one, a group in the other".into()));
    }
    let is_array = name.ends_with(".zarray")
        || name.contains(".array")
        || kind(&new).as_deref() == Some("array");
    if !is_array {
        return Ok(None);
    }
    if !may_shrink
        && let (Some(old), Some(new)) = (shape(&old), shape(&new))
        && old.len() == new.len()
        && old.iter().zip(&new).any(|(old, new)| old > new)
    {
        return Ok(Some(format!("{LONGER}: its shape is {old:?}, the source's {new:?}")));
    }
    let members =
        MEMBERS_OF_V3.iter().chain(&MEMBERS_OF_V2).chain(&["chunk_memory_layout", "compressor"]);
    let are_same = members.clone().all(|member| old.get(member) == new.get(member));
    if are_same && rank(&old) == rank(&new) {
        return Ok(None);
    }
    // The same may be said in other words.
    let parsed = |bytes: &[u8]| {
        let key = StoreKey::new(name)?;
        let folder = match target.dialect() {
            Dialect::Draft => return Err(zarr_core::AccessError::Argument(name.into()).into()),
            _ => path_of(name),
        };
        let path = NodePath::new(&folder)?;
        parsed_documents(target, &path, &vec![(key, bytes.to_vec().into())])
    };
    let (Ok(old), Ok(new)) = (parsed(&here), parsed(there)) else {
        return Ok(Some("its elements are stored in another way".into()));
    };
    if old.rank() != new.rank() {
        return Ok(Some("another number of axes".into()));
    }
    if old.chunk_keys != new.chunk_keys {
        return Ok(Some("other chunk keys".into()));
    }
    let dialects = (target.dialect(), target.dialect());
    Ok(stored_difference(&new, &old, dialects, target.registry()).map(str::to_owned))
}

fn object(bytes: &[u8]) -> Option<Object> {
    Json::parse(bytes).ok()?.as_object().cloned()
}

fn shape(document: &Object) -> Option<Vec<u64>> {
    document.get("shape").and_then(Json::as_array)?.iter().map(Json::as_u64).collect()
}

fn rank(document: &Object) -> Option<usize> {
    document.get("shape").and_then(Json::as_array).map(<[Json]>::len)
}

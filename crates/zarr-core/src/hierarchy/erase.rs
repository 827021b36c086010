//! Erases nodes, and finds what an erase would take along or has left.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::consolidated::refresh::{self, AffectedNodes, Change};
use super::context::HierarchyContext;
use super::list;
use crate::context::StoreContext;
use crate::error::{AccessError, Error, ErrorKind, Result};
use crate::format::consolidated::is_document;
use crate::format::{
    Child, copy_journal, folders_of_another_format, has_chunk_name, is_zarr_key, may_be_chunk_of,
};
use crate::metadata::{ArrayMetadata, NodeMetadata};
use crate::path::NodePath;
use crate::store::{StoreKey, StorePrefix};

/// Erases a node with everything below it, its documents first (D-174), and their consolidated copies before them. Without a
/// document, erases what an interrupted erase left (docs/internals/design/crash-safety.md), and copies without a
/// document.
pub async fn erase(hierarchy: &HierarchyContext, path: &NodePath) -> Result<()> {
    let erased = erase_or_clean_up(hierarchy, path).await;
    erased.map_err(|e| hierarchy.context.with_context(path, e))
}

async fn erase_or_clean_up(hierarchy: &HierarchyContext, path: &NodePath) -> Result<()> {
    let context = &hierarchy.context;
    context.writeable()?;
    refuse_behind_link(context, path).await?;
    let affected = AffectedNodes { path, above: &[], change: Change::Erase };
    let not_found = match list::read_node(hierarchy, path).await {
        Ok(_) => {
            refresh::with_invalidation(hierarchy, affected, erase_all(hierarchy, path)).await?;
            return Ok(());
        }
        Err(e) if e.kind() == ErrorKind::NotFound => e,
        Err(e) => return Err(e),
    };
    refuse_below_array(hierarchy, path).await?;
    let had_copies = refresh::are_copied(hierarchy, &affected).await?;
    let clean_up = erase_interrupted(context, path);
    let found_any = refresh::with_invalidation(hierarchy, affected, clean_up).await?;
    if found_any || had_copies { Ok(()) } else { Err(not_found) }
}

/// Refuses a path below an array: what is there are the array's chunks, and nothing that an interrupted erase left. So it is below
/// what cannot be read, which may be an array.
async fn refuse_below_array(hierarchy: &HierarchyContext, path: &NodePath) -> Result<()> {
    for above in path.ancestors().filter(|above| above != path) {
        match list::read_node(hierarchy, &above).await {
            Ok(NodeMetadata::Array(_)) => {
                let why = format!(
                    "{above} is an array: only its chunks are below it, and they are not erased one by one"
                );
                return Err(AccessError::Argument(why).into());
            }
            Ok(NodeMetadata::Group(_)) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Erases a node with everything below it, but for files that are not Zarr's; `true` if it was the whole hierarchy behind a
/// link.
pub async fn erase_all(hierarchy: &HierarchyContext, path: &NodePath) -> Result<bool> {
    let context = &hierarchy.context;
    let writeable = context.writeable()?;
    refuse_behind_link(context, path).await?;
    // Links are erased first, or the documents behind them would be erased (docs/internals/design/stores.md). The
    // whole hierarchy may be one.
    if path.is_root() && writeable.link(&StorePrefix::root(), true).await? {
        return Ok(true);
    }
    let (keys, prefixes) = context.format.erasure(path)?;
    for prefix in &prefixes {
        writeable.link(prefix, true).await?;
    }
    // While the documents are there, which tell what chunks are called.
    let foreign = match find_foreign_keys(hierarchy, path).await {
        // What cannot be listed cannot be told apart.
        Err(e) if e.kind() == ErrorKind::NotCapable => Vec::new(),
        found => found?,
    };
    // If the nodes cannot be found, everything is erased in the order of the store.
    let below = list::tree(hierarchy, path).await.unwrap_or_default();
    for key in &keys {
        writeable.erase(key).await?;
    }
    erase_documents(context, path, &below).await?;
    // A name below a prefix that no key can represent is an error; the other prefixes are erased all the same.
    let mut erased = Ok(());
    for prefix in &prefixes {
        erased = erased.and(if foreign.iter().any(|key| prefix.strip(key).is_some()) {
            erase_around(context, prefix, &foreign).await
        } else {
            writeable.erase_prefix(prefix).await.map_err(Error::from)
        });
    }
    erased?;
    Ok(false)
}

/// Erases what is below a prefix, but for some sorted keys.
async fn erase_around(
    context: &StoreContext,
    prefix: &StorePrefix,
    kept: &[StoreKey],
) -> Result<()> {
    // The folders on the way to what stays; all others below them go as they are.
    let mut around: HashSet<&str> = HashSet::from([prefix.as_str()]);
    for key in kept {
        let ends = key.as_str().match_indices('/').map(|(at, _)| &key.as_str()[..=at]);
        around.extend(ends.filter(|folder| folder.len() > prefix.as_str().len()));
    }
    let mut folders = BTreeSet::new();
    let mut keys = Vec::new();
    for key in context.list_prefix(prefix).await? {
        let ends = key.as_str().match_indices('/').map(|(at, _)| &key.as_str()[..=at]);
        let mut below = ends.filter(|folder| folder.len() > prefix.as_str().len());
        match below.find(|folder| !around.contains(folder)) {
            Some(folder) => drop(folders.insert(folder.to_owned())),
            None if kept.binary_search(&key).is_err() => keys.push(key),
            None => {}
        }
    }
    let writeable = context.writeable()?;
    for folder in folders {
        writeable.erase_prefix(&StorePrefix::new(folder)?).await?;
    }
    erase_keys(context, keys, std::slice::from_ref(prefix)).await
}

/// Erases the documents of the nodes below `path`, so that an interrupted erase leaves no array that has lost chunks
/// (D-174). A link is erased, and nothing behind it (docs/internals/design/stores.md).
async fn erase_documents(context: &StoreContext, path: &NodePath, below: &[Child]) -> Result<()> {
    let writeable = context.writeable()?;
    let mut links: Vec<&NodePath> = Vec::new();
    // Outer nodes sort before inner ones.
    for Child { path: child, .. } in below {
        if child == path || links.iter().any(|link| child.is_within(link)) {
            continue;
        }
        let (keys, prefixes) = context.format.erasure(child)?;
        for prefix in &prefixes {
            if writeable.link(prefix, true).await? {
                links.push(child);
            }
        }
        if links.last() != Some(&child) {
            for key in &keys {
                writeable.erase(key).await?;
            }
        }
    }
    Ok(())
}

/// The keys that an interrupted erase left at `path`: all that a dialect may have written; none if there is a node.
pub async fn interrupted_keys(
    hierarchy: &HierarchyContext,
    path: &NodePath,
) -> Result<Vec<StoreKey>> {
    match list::read_node(hierarchy, path).await {
        Ok(_) => Ok(Vec::new()),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let context = &hierarchy.context;
            if refuse_below_array(hierarchy, path).await.is_err() {
                return Ok(Vec::new());
            }
            zarr_keys(context, path).await.map_err(|e| context.with_context(path, e))
        }
        Err(e) => Err(e),
    }
}

/// The keys at `path` and below it that a dialect may have written; none if the store cannot list.
async fn zarr_keys(context: &StoreContext, path: &NodePath) -> Result<Vec<StoreKey>> {
    let (_, prefixes) = context.format.erasure(path)?;
    if !context.store.capabilities().list {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    // What a copy under way has written goes with its journal.
    let journal = (!path.is_root()).then(|| copy_journal(path));
    for prefix in journal.iter().chain(&prefixes) {
        found.extend(context.list_prefix(prefix).await?.into_iter().filter(is_zarr_key));
    }
    Ok(found)
}

/// Erases what an interrupted erase left; `false` if there is nothing.
async fn erase_interrupted(context: &StoreContext, path: &NodePath) -> Result<bool> {
    let left = zarr_keys(context, path).await?;
    let (_, prefixes) = context.format.erasure(path)?;
    let is_any = !left.is_empty();
    erase_keys(context, left, &prefixes).await?;
    Ok(is_any)
}

/// Erases keys that a listing of these prefixes found.
async fn erase_keys(
    context: &StoreContext,
    mut left: Vec<StoreKey>,
    prefixes: &[StorePrefix],
) -> Result<()> {
    let writeable = context.writeable()?;
    // A link is erased, and none of the keys that the listing found behind it (docs/internals/design/stores.md). Outer
    // folders sort before inner ones.
    let mut folders = BTreeSet::new();
    for key in &left {
        let begins = prefixes.iter().find_map(|p| p.strip(key).map(|_| p.as_str().len()));
        let ends = key.as_str().match_indices('/').map(|(end, _)| end + 1);
        let ends = ends.filter(|end| begins.is_some_and(|begins| *end >= begins));
        folders.extend(ends.map(|end| &key.as_str()[..end]));
    }
    for folder in folders {
        writeable.link(&StorePrefix::new(folder)?, true).await?;
    }
    // Documents first (D-174).
    left.sort_by_key(|key| !is_document(context.format.dialect(), key));
    for key in &left {
        writeable.erase(key).await.map_err(|e| Error::from(e).at_key(key))?;
    }
    Ok(())
}

/// The keys at the node at `path` and below it that are no documents and no chunks of an array, sorted: files of the user,
/// which stay where the node is erased. Keys behind a link are not among them.
///
/// Names such as `7` are no chunks where no array has them. Without a document at `path`, they may be what an
/// interrupted erase left, and count as chunks (docs/internals/design/crash-safety.md).
pub async fn foreign_keys(hierarchy: &HierarchyContext, path: &NodePath) -> Result<Vec<StoreKey>> {
    find_foreign_keys(hierarchy, path).await.map_err(|e| hierarchy.context.with_context(path, e))
}

async fn find_foreign_keys(hierarchy: &HierarchyContext, path: &NodePath) -> Result<Vec<StoreKey>> {
    let context = &hierarchy.context;
    let (_, prefixes) = context.format.erasure(path)?;
    if path.is_root() && is_link(context, &StorePrefix::root()).await? {
        return Ok(Vec::new());
    }
    let mut candidates = BTreeSet::new();
    let mut documents = Vec::new();
    for prefix in &prefixes {
        // Only the link is erased (docs/internals/design/stores.md).
        if is_link(context, prefix).await? {
            continue;
        }
        for key in context.list_prefix(prefix).await? {
            if !is_zarr_key(&key) || has_chunk_name(&key) {
                candidates.insert(key);
            } else {
                documents.push(key);
            }
        }
    }
    let mut inner = folders_of_another_format(context.format.dialect(), &documents);
    inner.retain(|folder| !prefixes.iter().any(|prefix| prefix.as_str() == format!("{folder}/")));
    if candidates.is_empty() && inner.is_empty() {
        return Ok(Vec::new());
    }
    let is_inner = |key: &StoreKey| {
        let mut ends = key.as_str().match_indices('/').map(|(at, _)| &key.as_str()[..at]);
        ends.any(|folder| inner.contains(folder))
    };
    let (nodes, is_described) = match list::read_nodes(hierarchy, path).await {
        Ok(nodes) => {
            let is_described = nodes.iter().any(|(at, node)| at == path && !is_implicit(node));
            (nodes, is_described)
        }
        Err(e) if e.kind() == ErrorKind::NotFound => (Vec::new(), false),
        // A broken document is one.
        Err(_) => (Vec::new(), true),
    };
    let mut groups = HashSet::new();
    // Chunks may have names that only their array's document explains.
    let mut arrays = HashMap::new();
    for (at, node) in nodes {
        let prefix = context.format.chunk_prefix(&at)?.as_str().to_owned();
        match node {
            NodeMetadata::Array(metadata) => drop(arrays.insert(prefix, metadata)),
            NodeMetadata::Group(group) if group.implicit => {}
            NodeMetadata::Group(_) => drop(groups.insert(prefix)),
        }
    }
    let mut array_prefixes: HashSet<String> = arrays.keys().cloned().collect();
    // Those whose documents are broken, or of another dialect.
    for document in &documents {
        let Some(prefix) = prefix_of_array(document) else { continue };
        // The document of v3 may be a group's.
        if !(document.as_str().ends_with("zarr.json") && groups.contains(&prefix)) {
            array_prefixes.insert(prefix);
        }
    }
    let mut foreign = Vec::new();
    candidates.extend(documents.iter().filter(|key| is_inner(key)).cloned());
    for key in candidates {
        let is_zarrs = if is_inner(&key) {
            false
        } else if has_chunk_name(&key) {
            !is_described || may_be_chunk_of(&array_prefixes, &key)
        } else {
            is_chunk(&arrays, &key)
        };
        if is_zarrs {
            continue;
        }
        let mut is_behind = false;
        for prefix in prefixes.iter().filter(|prefix| prefix.strip(&key).is_some()) {
            is_behind |= is_behind_link(context, prefix, &key).await?;
        }
        if !is_behind {
            foreign.push(key);
        }
    }
    Ok(foreign)
}

fn is_implicit(node: &NodeMetadata) -> bool {
    matches!(node, NodeMetadata::Group(group) if group.implicit)
}

/// The prefix of the chunks of the array that a document may describe, by its key.
fn prefix_of_array(document: &StoreKey) -> Option<String> {
    let (folder, name) = document.as_str().rsplit_once('/').unwrap_or(("", document.as_str()));
    if matches!(name, "zarr.json" | ".zarray") {
        return Some(if folder.is_empty() { String::new() } else { format!("{folder}/") });
    }
    let path = document.as_str().strip_prefix("meta/root")?;
    let path = path.strip_suffix(".array.json").or_else(|| path.strip_suffix(".array"))?;
    Some(format!("data/root{path}/"))
}

/// Whether a key may be that of a chunk, by the arrays with the prefixes of their chunks.
fn is_chunk(arrays: &HashMap<String, Box<ArrayMetadata>>, key: &StoreKey) -> bool {
    let ends = key.as_str().rmatch_indices('/').map(|(at, _)| at + 1).chain([0]);
    for end in ends {
        let (prefix, name) = key.as_str().split_at(end);
        if let Some(metadata) = arrays.get(prefix) {
            return metadata.may_have_chunk(name);
        }
    }
    false
}

/// An error for a node that is reached through a link: erasing follows none (docs/internals/design/stores.md).
async fn refuse_behind_link(context: &StoreContext, path: &NodePath) -> Result<()> {
    for prefix in context.format.erasure(path)?.1 {
        let below = prefix.as_str().trim_end_matches('/');
        for (at, _) in below.match_indices('/') {
            let folder = &below[..at];
            if is_link(context, &StorePrefix::new(format!("{folder}/"))?).await? {
                let why = format!(
                    "{path} is reached through the symbolic link `{folder}`, which erasing does not follow; open the target of \
                     the link, and erase the node there"
                );
                return Err(AccessError::Argument(why).into());
            }
        }
    }
    Ok(())
}

/// Whether a folder between `prefix` and `key` is a link.
async fn is_behind_link(
    context: &StoreContext,
    prefix: &StorePrefix,
    key: &StoreKey,
) -> Result<bool> {
    let below = prefix.strip(key).unwrap_or_default();
    for (at, _) in below.match_indices('/') {
        let folder = [prefix.as_str(), &below[..=at]].concat();
        if is_link(context, &StorePrefix::new(folder)?).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn is_link(context: &StoreContext, prefix: &StorePrefix) -> Result<bool> {
    Ok(context.store.capabilities().write && context.store.link(prefix, false).await?)
}

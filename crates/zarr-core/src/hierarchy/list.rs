//! Reads nodes, and finds those below a node.

use futures::future::BoxFuture;

use super::consolidated::compare;
use super::consolidated::copies::RESTORE_HINT;
use super::context::HierarchyContext;
use super::under_way::copy_under_way;
use crate::context::{StoreContext, is_forbidden};
use crate::dialect::Dialect;
use crate::error::{AccessError, Error, ErrorKind, Result, StoreError};
use crate::format::consolidated::{DRAFT, DRAFT_GROUP, is_document};
use crate::format::{Child, Documents, PROBES, documents_of_other_dialects};
use crate::metadata::{GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::store::{ListOptions, StorePrefix};

/// The node at `path` (D-163, F-113).
pub fn read_node<'a>(
    hierarchy: &'a HierarchyContext,
    path: &'a NodePath,
) -> BoxFuture<'a, Result<NodeMetadata>> {
    Box::pin(async move {
        let context = &hierarchy.context;
        let found = context.documents(path).await.map_err(|e| context.with_context(path, e))?;
        parse_node(hierarchy, path, found).await
    })
}

/// The node at `path`, where probing has found these documents. If they are those of the node, no other request is
/// needed (docs/internals/design/remote-stores.md).
pub async fn probed_node(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    probed: Documents,
) -> Result<NodeMetadata> {
    let context = &hierarchy.context;
    let keys = context.format.document_keys(path);
    let keys = keys.map_err(|e| context.with_context(path, e))?;
    let is_probed = keys.iter().all(|key| PROBES.contains(&key.as_str()));
    if keys.is_empty() || !is_probed || hierarchy.copied.is_some() {
        return read_node(hierarchy, path).await;
    }
    let found = probed.into_iter().filter(|(key, _)| keys.contains(key)).collect();
    parse_node(hierarchy, path, found).await
}

async fn parse_node(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    found: Documents,
) -> Result<NodeMetadata> {
    let context = &hierarchy.context;
    let parsed = context.parse(path, &found).map_err(|e| context.with_context(path, e))?;
    if let Some(node) = parsed {
        let compared = compare::compare_with_copies(hierarchy, path, &node).await;
        compared.map_err(|e| context.with_context(path, e))?;
        let warned = compare::warn_if_only_copied(hierarchy, path, &found).await;
        warned.map_err(|e| context.with_context(path, e))?;
        return Ok(node);
    }
    let is_implicit = !context.format.groups_are_explicit()
        && (path.is_root()
            || context.store.maybe_listable().is_ok() && has_children(hierarchy, path).await?);
    // The root of a draft needs no document.
    if !(is_implicit && path.is_root())
        && let Some(e) = copy_under_way(&*hierarchy.live, path, &context.options.limits).await
    {
        return Err(e);
    }
    if is_implicit {
        return Ok(implicit_group());
    }
    // If the store cannot list here, there may be no group.
    if let Ok(Some(group)) = implied_group(hierarchy, path, &found).await {
        return Ok(NodeMetadata::Group(group));
    }
    let keys = context.format.document_keys(path);
    let keys = keys.map_err(|e| context.with_context(path, e))?;
    let looked_for = if keys.is_empty() {
        "a node in a document of May 2019, which describes one alone: `/`".into()
    } else {
        keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
    };
    let attributes = found.first().filter(|(key, _)| key.as_str().ends_with(".zattrs"));
    let error = match attributes {
        Some((key, _)) => AccessError::AttributesAlone { key: key.to_string() },
        None => AccessError::NotFound { looked_for },
    };
    let error = context.with_context(path, error);
    let has_copy = compare::has_watched_copy(hierarchy, path);
    if has_copy.map_err(|e| context.with_context(path, e))? {
        let hint = format!("only consolidated metadata describe it: {RESTORE_HINT}");
        return Err(error.with_hint(hint));
    }
    if attributes.is_some() {
        let hint = "if they belong to a group, `zarr create TARGET --group --format v2` creates it and keeps them";
        return Err(error.with_hint(hint));
    }
    Err(error)
}

/// Whether there are nodes below `path`. None are known of where the store turns out not to list.
async fn has_children(hierarchy: &HierarchyContext, path: &NodePath) -> Result<bool> {
    match list_children(hierarchy, path).await {
        Ok(children) => Ok(!children.is_empty()),
        Err(e) if e.kind() == ErrorKind::NotCapable => Ok(false),
        Err(e) => Err(e),
    }
}

/// The children of the node at `path`: an array has none (D-165 lets those of a draft have some, which are reached by
/// their own paths).
pub async fn children_of(hierarchy: &HierarchyContext, path: &NodePath) -> Result<Vec<Child>> {
    if !hierarchy.context.format.groups_are_explicit() {
        // One listing has all children (D-160). Only if it is empty, the node is looked up.
        let children = list_children(hierarchy, path).await?;
        if children.is_empty() {
            read_node(hierarchy, path).await?;
        }
        return Ok(children);
    }
    match read_node(hierarchy, path).await? {
        NodeMetadata::Array(_) => Ok(Vec::new()),
        NodeMetadata::Group(_) => list_children(hierarchy, path).await,
    }
}

/// The children of a group, sorted. Broken ones give a warning, and are left out (T-35).
pub async fn list_children(hierarchy: &HierarchyContext, path: &NodePath) -> Result<Vec<Child>> {
    let context = &hierarchy.context;
    let candidates = list_candidates(hierarchy, path).await?;
    let looked_up = candidates.into_iter().map(|child| with_kind(hierarchy, child));
    let known = context.join_bounded(looked_up).await;
    Ok(known.map_err(|e| context.with_context(path, e))?.into_iter().flatten().collect())
}

/// The same, and those that the store could not read, each with its error. What would fail for the others, too, such as a connection
/// that breaks, ends the call.
pub async fn children_and_unreadable(
    hierarchy: &HierarchyContext,
    path: &NodePath,
) -> Result<(Vec<Child>, Vec<(NodePath, Error)>)> {
    let context = &hierarchy.context;
    let candidates = list_candidates(hierarchy, path).await?;
    let looked_up = candidates.into_iter().map(async |child| {
        let path = child.path.clone();
        match with_kind(hierarchy, child).await {
            Err(e) if is_of_one_node(context, &e) => {
                Ok(Err((path.clone(), context.with_context(&path, e))))
            }
            known => known.map(Ok),
        }
    });
    let looked_up = context.join_bounded(looked_up).await;
    let mut known = Vec::new();
    let mut unreadable = Vec::new();
    for child in looked_up.map_err(|e| context.with_context(path, e))? {
        match child {
            Ok(child) => known.extend(child),
            Err(failed) => unreadable.push(failed),
        }
    }
    Ok((known, unreadable))
}

/// Whether the store failed on one node, and may read the others.
fn is_of_one_node(context: &StoreContext, error: &Error) -> bool {
    error.kind() == ErrorKind::Store && (context.store.as_sync().is_some() || is_forbidden(error))
}

/// The children of a group in one listing, which may not tell their kinds.
async fn list_candidates(hierarchy: &HierarchyContext, path: &NodePath) -> Result<Vec<Child>> {
    let candidates = list_candidates_unplaced(hierarchy, path).await;
    candidates.map_err(|e| hierarchy.context.with_context(path, e))
}

/// As [`list_candidates`]; its errors do not say where.
async fn list_candidates_unplaced(
    hierarchy: &HierarchyContext,
    path: &NodePath,
) -> Result<Vec<Child>> {
    let context = &hierarchy.context;
    let prefix = context.format.children_prefix(path)?;
    let listable = context.maybe_listable().map_err(unlisted)?;
    // Where groups are explicit, the documents of every candidate are looked up anyway.
    let options = if context.format.groups_are_explicit() {
        ListOptions::CANDIDATES
    } else {
        ListOptions::default()
    };
    let listing = listable.list_dir(&prefix, options).await.map_err(unlisted)?;
    context.warn_of_left_out(path.as_str(), &listing);
    let mut warnings = Vec::new();
    let children = context.format.children(path, &listing, &mut warnings);
    context.warn(path.as_str(), warnings);
    without_copies_group(hierarchy, children).await
}

/// The nodes without the group that writers of a draft create for consolidated metadata, if nothing else is in it.
async fn without_copies_group(
    hierarchy: &HierarchyContext,
    mut nodes: Vec<Child>,
) -> Result<Vec<Child>> {
    if hierarchy.context.format.dialect() != Dialect::Draft {
        return Ok(nodes);
    }
    let copies = nodes.iter().position(|node| node.path.as_str() == DRAFT_GROUP);
    if let (Some(at), Ok(listable)) = (copies, hierarchy.live.maybe_listable()) {
        let prefix = StorePrefix::new(format!("meta/root{DRAFT_GROUP}/"))?;
        let listing = listable.list_dir(&prefix, ListOptions::default()).await?;
        let holds_copies = listing.keys.iter().map(|key| key.as_str()).eq([DRAFT]);
        if holds_copies && listing.prefixes.is_empty() {
            nodes.remove(at);
        }
    }
    Ok(nodes)
}

/// The group that a folder without a document is, if there are nodes below it (docs/internals/design/strictness.md).
/// Only where groups are explicit; `found` may be the attributes of v2, which make no node.
pub async fn implied_group(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    found: &Documents,
) -> Result<Option<GroupMetadata>> {
    let context = &hierarchy.context;
    if !context.format.groups_are_explicit() {
        return Ok(None);
    }
    let Ok(listable) = context.store.maybe_listable() else { return Ok(None) };
    let dialect = context.format.dialect();
    let mut folders = vec![path.clone()];
    let mut foreign_document = None;
    while let Some(folder) = folders.pop() {
        let prefix = context.format.children_prefix(&folder)?;
        let listing = listable.list_dir(&prefix, ListOptions::CANDIDATES).await?;
        let mut has_node = false;
        for key in &listing.keys {
            if !is_document(dialect, key) || key.as_str().ends_with(".zattrs") {
                continue;
            }
            // Copies that are marked as invalid are listed, too, and their documents may be gone.
            has_node = hierarchy.copied.is_none() || context.document(key).await?.is_some();
            if has_node {
                break;
            }
        }
        if has_node {
            let what = "has no document; treated as a group, because there are nodes below it";
            context.warn(path.as_str(), vec![what.into()]);
            let attributes = found.first().and_then(|(_, bytes)| {
                let (json, _) = context.format.encoding().decode(bytes).ok()?;
                json.as_object().cloned()
            });
            let attributes = attributes.unwrap_or_default();
            let group = GroupMetadata { attributes, implicit: true, ..Default::default() };
            return Ok(Some(group));
        }
        // In v2 and v3, a document of the other makes a node of the folder for other readers
        // (docs/internals/design/strictness.md).
        if foreign_document.is_none() {
            foreign_document = listing
                .keys
                .iter()
                .find(|key| {
                    let name = key.as_str().rsplit('/').next().unwrap_or_default();
                    documents_of_other_dialects(dialect, key).contains(&name)
                })
                .cloned();
        }
        let below = context.format.children(&folder, &listing, &mut Vec::new());
        folders.extend(below.into_iter().map(|child| child.path));
    }
    if let Some(key) = foreign_document {
        let (here, other) = match dialect {
            Dialect::V3 => ("v3", "v2"),
            _ => ("v2", "v3"),
        };
        let what = format!(
            "skipped: readers of {here} ignore it, because `{key}` is a document of {other}"
        );
        context.warn(path.as_str(), vec![what]);
    }
    Ok(None)
}

/// The child with its kind looked up; `None` if it is no node.
async fn with_kind(hierarchy: &HierarchyContext, child: Child) -> Result<Option<Child>> {
    if child.kind.is_some() {
        return Ok(Some(child));
    }
    let context = &hierarchy.context;
    let found = context.documents(&child.path).await?;
    let kind = context.format.kind(&child.path, &found);
    match unless_broken(context, &child.path, kind) {
        None => Ok(None),
        Some(Some(kind)) => {
            // A key may tell a group whose document is broken; nodes below it are found all the same.
            if kind == NodeKind::Group && context.parse(&child.path, &found).is_err() {
                context.warn(child.path.as_str(), vec!["its document is broken".into()]);
            }
            Ok(Some(Child { kind: Some(kind), ..child }))
        }
        Some(None) => {
            let folder = implied_group(hierarchy, &child.path, &found).await?;
            Ok(folder.map(|_| Child { kind: Some(NodeKind::Group), implicit: true, ..child }))
        }
    }
}

/// The node of some documents; a warning if they are broken.
pub fn unless_broken<T, E>(
    context: &StoreContext,
    path: &NodePath,
    node: Result<T, E>,
) -> Option<T> {
    if node.is_err() {
        context.warn(path.as_str(), vec!["its document is broken, so this node is left out; `zarr validate` tells what is wrong with it".into()]);
    }
    node.ok()
}

/// The node of a child's documents; `None` if there is none.
async fn parse_child(
    hierarchy: &HierarchyContext,
    child: Child,
) -> Result<Option<(NodePath, NodeMetadata)>> {
    let context = &hierarchy.context;
    let found = context.documents(&child.path).await;
    let found = found.map_err(|e| context.with_context(&child.path, e))?;
    let parsed = context.parse(&child.path, &found);
    let node = match unless_broken(context, &child.path, parsed) {
        Some(None) if child.implicit => Some(implicit_group()),
        Some(None) => implied_group(hierarchy, &child.path, &found).await?.map(NodeMetadata::Group),
        node => {
            compare::warn_if_only_copied(hierarchy, &child.path, &found).await?;
            node.flatten()
        }
    };
    Ok(node.map(|node| (child.path, node)))
}

/// The node and all below it, sorted by path. Each document is read once. Broken ones give a warning, and are left out.
pub fn read_nodes<'a>(
    hierarchy: &'a HierarchyContext,
    path: &'a NodePath,
) -> BoxFuture<'a, Result<Vec<(NodePath, NodeMetadata)>>> {
    let context = &hierarchy.context;
    Box::pin(async move {
        if context.format.tree_prefix().is_some() {
            let listed = tree(hierarchy, path).await?;
            let parsed = listed.into_iter().map(|child| parse_child(hierarchy, child));
            return Ok(hierarchy
                .context
                .join_bounded(parsed)
                .await?
                .into_iter()
                .flatten()
                .collect());
        }
        let mut nodes = vec![(path.clone(), read_node(hierarchy, path).await?)];
        let mut done = 0;
        while done < nodes.len() {
            let groups = nodes[done..].iter().filter(|(_, node)| node.kind() == NodeKind::Group);
            let groups: Vec<NodePath> = groups.map(|(path, _)| path.clone()).collect();
            let level =
                groups.into_iter().map(async |group| list_candidates(hierarchy, &group).await);
            let level = context.join_bounded(level).await?;
            done = nodes.len();
            let parsed = level.into_iter().flatten().map(|child| parse_child(hierarchy, child));
            nodes.extend(context.join_bounded(parsed).await?.into_iter().flatten());
        }
        nodes.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(nodes)
    })
}

/// The children of a group, sorted by path, with their metadata.
pub async fn read_members(
    hierarchy: &HierarchyContext,
    path: &NodePath,
) -> Result<Vec<(NodePath, NodeMetadata)>> {
    let children = list_candidates(hierarchy, path).await?;
    let parsed = children.into_iter().map(|child| parse_child(hierarchy, child));
    let mut members: Vec<_> =
        hierarchy.context.join_bounded(parsed).await?.into_iter().flatten().collect();
    members.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(members)
}

/// The node and all below it, sorted by path (D-162).
pub async fn tree(hierarchy: &HierarchyContext, path: &NodePath) -> Result<Vec<Child>> {
    Ok(walk(hierarchy, path, false).await?.0)
}

/// The same, and those below it that the store could not read, each with its error, as [`children_and_unreadable`]
/// has it.
pub async fn tree_and_unreadable(
    hierarchy: &HierarchyContext,
    path: &NodePath,
) -> Result<(Vec<Child>, Vec<(NodePath, Error)>)> {
    walk(hierarchy, path, true).await
}

/// The node and all below it. With `goes_on` the walk does not end at a node that cannot be read.
async fn walk(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    goes_on: bool,
) -> Result<(Vec<Child>, Vec<(NodePath, Error)>)> {
    let context = &hierarchy.context;
    if let Some(prefix) = context.format.tree_prefix() {
        let listed = list_tree(hierarchy, path, &prefix).await;
        let mut nodes = listed.map_err(|e| context.with_context(path, e))?;
        if nodes.is_empty() {
            nodes.push(read_child(hierarchy, path).await?);
        }
        return Ok((nodes, Vec::new()));
    }
    let mut nodes = vec![read_child(hierarchy, path).await?];
    let mut unreadable = Vec::new();
    let mut done = 0;
    while done < nodes.len() {
        let groups = nodes[done..].iter().filter(|node| node.kind == Some(NodeKind::Group));
        let groups: Vec<NodePath> = groups.map(|group| group.path.clone()).collect();
        let level = groups.into_iter().map(async |group| {
            if !goes_on {
                return Ok((list_children(hierarchy, &group).await?, Vec::new()));
            }
            match children_and_unreadable(hierarchy, &group).await {
                // A group whose folder may not be listed is there, with what is below it.
                Err(e) if is_of_one_node(context, &e) && group != *path => {
                    Ok((Vec::new(), vec![(group, e)]))
                }
                children => children,
            }
        });
        let level = context.join_bounded(level).await?;
        done = nodes.len();
        for (children, failed) in level {
            nodes.extend(children);
            unreadable.extend(failed);
        }
    }
    nodes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((nodes, unreadable))
}

/// The node at `path`, as a listing has one.
async fn read_child(hierarchy: &HierarchyContext, path: &NodePath) -> Result<Child> {
    let node = read_node(hierarchy, path).await?;
    let implicit = matches!(&node, NodeMetadata::Group(group) if group.implicit);
    Ok(Child { path: path.clone(), kind: Some(node.kind()), implicit })
}

/// The node and all below it, from one listing of all documents, which are below `prefix`.
async fn list_tree(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    prefix: &StorePrefix,
) -> Result<Vec<Child>> {
    let context = &hierarchy.context;
    let listable = context.maybe_listable().map_err(unlisted)?;
    let listing = listable.list_prefix(prefix).await.map_err(unlisted)?;
    context.warn_of_left_out(path.as_str(), &listing);
    let mut warnings = Vec::new();
    let nodes = context.format.tree(path, &listing.keys, &mut warnings);
    context.warn(path.as_str(), warnings);
    without_copies_group(hierarchy, nodes).await
}

fn implicit_group() -> NodeMetadata {
    NodeMetadata::Group(GroupMetadata { implicit: true, ..GroupMetadata::default() })
}

/// The error of a store that cannot list, with a hint.
fn unlisted(error: StoreError) -> Error {
    if !matches!(error, StoreError::NotCapable { .. }) {
        return error.into();
    }
    Error::from(error).with_hint(
        "this web server has no folder indices, so nodes cannot be listed; run `zarr consolidate` where the data are written",
    )
}

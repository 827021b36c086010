//! Says whether there are consolidated copies, where they differ from documents, and which nodes exist as copies only.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::copies;
use super::view::{ConsolidatedView, agree};
use crate::context::is_too_large;
use crate::dialect::{Dialect, Era};
use crate::error::{Error, Result};
use crate::format::consolidated::{ConsolidatedDocument, documents_with_copies, is_optional};
use crate::format::{Child, Documents, Format};
use crate::hierarchy::context::HierarchyContext;
use crate::hierarchy::list;
use crate::hierarchy::options::OpenOptions;
use crate::metadata::NodeKind;
use crate::path::NodePath;
use crate::store::StoreKey;
use crate::sync::lock;

/// Whether there are copies of all documents from `path` on.
pub async fn is_consolidated(hierarchy: &HierarchyContext, path: &NodePath) -> Result<bool> {
    let context = &hierarchy.context;
    if path.is_root() && (hierarchy.copied.is_some() || lock(&hierarchy.watched).is_some()) {
        return Ok(true);
    }
    let dialect = context.format.dialect();
    if context.format.era().is_some_and(|era| era <= Era::E1)
        || dialect == Dialect::Draft && !path.is_root()
    {
        return Ok(false);
    }
    let holder = ConsolidatedDocument::at(dialect, path)?;
    let bytes = match copies::live_document(hierarchy, &holder.key).await {
        Err(e) if is_too_large(&e) && is_optional(&holder.key) => None,
        other => other?,
    };
    // Copies that cannot be used count as none.
    Ok(copies::parse_view(&*context.format, &holder, bytes).is_ok_and(|view| view.is_some()))
}

/// The nodes from `path` on whose copies there differ from their documents, sorted.
pub async fn check_consolidated(
    hierarchy: &HierarchyContext,
    path: &NodePath,
) -> Result<Vec<NodePath>> {
    let context = &hierarchy.context;
    let holder = holder_of_checked(context.format.dialect(), path)?;
    let view = read_view(hierarchy, &holder).await;
    let view = view.map_err(|e| context.with_context(path, e))?;
    // Both are read anew, whatever this hierarchy is read from.
    let live = reopened(hierarchy);
    let copied = reopened(hierarchy).read_from(Arc::new(view), holder.key);
    let mut paths = BTreeSet::new();
    for side in [&live, &copied] {
        let tree = list::tree(side, path).await?;
        paths.extend(tree.into_iter().map(|child| child.path));
    }
    let mut differing = Vec::new();
    for path in paths {
        let live = list::read_node(&live, &path).await;
        let copied = list::read_node(&copied, &path).await;
        let same = match (live, copied) {
            (Ok(live), Ok(copied)) => agree(&live, &copied),
            (Err(live), Err(copied)) => live.kind() == copied.kind(),
            _ => false,
        };
        if !same {
            differing.push(path);
        }
    }
    Ok(differing)
}

/// The consolidated document whose copies of the nodes from `path` on are compared.
fn holder_of_checked(dialect: Dialect, path: &NodePath) -> Result<ConsolidatedDocument> {
    if dialect == Dialect::Draft || path.is_root() {
        Ok(ConsolidatedDocument::usual(dialect)?)
    } else {
        Ok(ConsolidatedDocument::at(dialect, path)?)
    }
}

/// The copies in a consolidated document, which must be there.
async fn read_view(
    hierarchy: &HierarchyContext,
    holder: &ConsolidatedDocument,
) -> Result<ConsolidatedView> {
    let bytes = copies::live_document(hierarchy, &holder.key).await?;
    let view = copies::parse_view(&*hierarchy.context.format, holder, bytes);
    let view = view.map_err(|e| Error::from(e).at_key(&holder.key))?;
    view.ok_or_else(|| copies::no_copies(holder))
}

/// The same hierarchy, read from its documents.
fn reopened(hierarchy: &HierarchyContext) -> HierarchyContext {
    let context = &hierarchy.context;
    let mut options = OpenOptions::new(context.registry.clone());
    options.options = context.options.clone();
    HierarchyContext::new(hierarchy.live.clone(), context.format.clone(), &options, Vec::new())
}

/// The nodes at `path` and below it that consolidated metadata describe, and that have no document there, sorted.
pub async fn only_copied_nodes(
    hierarchy: &HierarchyContext,
    path: &NodePath,
) -> Result<Vec<NodePath>> {
    find_only_copied(hierarchy, path).await.map_err(|e| hierarchy.context.with_context(path, e))
}

async fn find_only_copied(hierarchy: &HierarchyContext, path: &NodePath) -> Result<Vec<NodePath>> {
    let context = &hierarchy.context;
    let dialect = context.format.dialect();
    let mut holders = documents_with_copies(dialect, path)?;
    if dialect != Dialect::Draft {
        // Of a node that cannot be opened only the copies above can have something.
        let below = list::tree(hierarchy, path).await.unwrap_or_default();
        let groups = below.iter().filter(|child| child.kind == Some(NodeKind::Group));
        for Child { path, .. } in groups {
            holders.push(ConsolidatedDocument::at(dialect, path)?);
        }
    }
    let (documents, prefixes) =
        (context.format.document_keys(path)?, context.format.erasure(path)?.1);
    let mut nodes = BTreeSet::new();
    for holder in holders {
        let bytes = copies::live_document(hierarchy, &holder.key).await?;
        let only =
            copies::only_copied(hierarchy, &holder, bytes.as_ref(), &Documents::new()).await?;
        for key in only {
            let is_within = documents.contains(&key)
                || prefixes.iter().any(|prefix| prefix.strip(&key).is_some());
            if is_within && !key.as_str().ends_with(".zattrs") {
                nodes.extend(node_of(&*context.format, &key));
            }
        }
    }
    Ok(nodes.into_iter().collect())
}

/// The node of a document.
fn node_of(format: &dyn Format, key: &StoreKey) -> Option<NodePath> {
    match format.tree_prefix() {
        Some(_) => {
            let keys = std::slice::from_ref(key);
            let tree = format.tree(&NodePath::root(), keys, &mut Vec::new());
            tree.into_iter().map(|child| child.path).max_by_key(|path| path.names().count())
        }
        None => NodePath::new(key.as_str().rsplit_once('/').map_or("", |(at, _)| at)).ok(),
    }
}

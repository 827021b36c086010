//! Creates nodes.

use std::sync::Arc;

use futures::future::{BoxFuture, try_join_all};

use super::consolidated::refresh::{self, AffectedNodes, Change};
use super::context::HierarchyContext;
use super::leftovers::{self, CreateMode};
use super::new_document::{self, NewDocument, below_array};
use super::node::{GroupCore, NodeCore};
use super::{check, edit, erase, list};
use crate::array::{ArrayCore, wrong_kind};
use crate::context::StoreContext;
use crate::error::{AccessError, Error, ErrorKind, MetadataError, Result};
use crate::format::{DocumentMember, Documents};
use crate::json::{Json, Object};
use crate::metadata::{ArrayMetadata, GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::store::StoreKey;

/// Creates a group.
pub async fn create_group(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    attributes: Object,
) -> Result<GroupCore> {
    let metadata = GroupMetadata { attributes, ..GroupMetadata::default() };
    let node = NodeMetadata::Group(metadata.clone());
    create_node(hierarchy, path, &node, CreateMode::default()).await?;
    Ok(GroupCore::new(path, metadata))
}

/// Creates an array.
pub async fn create_array(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    metadata: ArrayMetadata,
    mode: CreateMode,
) -> Result<Arc<ArrayCore>> {
    let node = NodeMetadata::Array(Box::new(metadata));
    let created = create_node(hierarchy, path, &node, mode).await?;
    match NodeCore::new(&hierarchy.context, path, created)? {
        NodeCore::Array(core) => Ok(core),
        NodeCore::Group(_) => {
            Err(hierarchy.context.with_context(path, wrong_kind(NodeKind::Group)))
        }
    }
}

/// Creates a node, and where groups are explicit the missing groups above it. In the drafts that is one `create`
/// (D-151, D-152), and a listing for the leftovers of an array. Returns the node as its documents describe it.
pub async fn create_node(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    node: &NodeMetadata,
    mode: CreateMode,
) -> Result<NodeMetadata> {
    let created = create_with_groups(hierarchy, path, node, mode).await;
    created.map_err(|e| hierarchy.context.with_context(path, e))
}

fn create_with_groups<'a>(
    hierarchy: &'a HierarchyContext,
    path: &'a NodePath,
    node: &'a NodeMetadata,
    mode: CreateMode,
) -> BoxFuture<'a, Result<NodeMetadata>> {
    Box::pin(async move {
        let context = &*hierarchy.context;
        context.writeable()?;
        let documents = check::new_documents(context, path, node)?;
        let mut above = Vec::new();
        if context.format.groups_are_explicit() {
            let found = context.documents(path).await?;
            // Attributes alone are no node. A group may take them; an array that was erased may have left them.
            let is_free = node.kind() == NodeKind::Group
                && matches!(context.format.kind(path, &found), Ok(None));
            if let (Some((key, _)), false) = (found.first(), mode.overwrite || is_free) {
                return Err(Error::from(AccessError::Exists("a node")).at_key(key));
            }
            // All are looked up before any is created.
            let ancestors: Vec<NodePath> = path.ancestors().collect();
            let are_absent = ancestors.iter().map(|ancestor| is_absent(context, ancestor));
            let are_absent = try_join_all(are_absent).await?;
            for (ancestor, is_absent) in ancestors.into_iter().zip(are_absent) {
                if is_absent {
                    above.push(ancestor);
                }
            }
        }
        let change = if mode.overwrite { Change::Overwrite } else { Change::Create };
        let affected = AffectedNodes { path, above: &above, change };
        let create = create_now(hierarchy, path, node, documents, &above, mode);
        refresh::with_invalidation(hierarchy, affected, create).await
    })
}

fn create_now<'a>(
    hierarchy: &'a HierarchyContext,
    path: &'a NodePath,
    node: &'a NodeMetadata,
    documents: Documents,
    above: &'a [NodePath],
    mode: CreateMode,
) -> BoxFuture<'a, Result<NodeMetadata>> {
    Box::pin(async move {
        let context = &*hierarchy.context;
        let whole_was_link = mode.overwrite && erase::erase_all(hierarchy, path).await?;
        if whole_was_link {
            new_document::create_entry_point(context).await?;
        }
        // What refuses the node comes before what changes anything.
        let leftovers = match node {
            NodeMetadata::Array(array) => {
                leftovers::leftovers_to_erase(context, path, array, mode).await?
            }
            NodeMetadata::Group(_) => Vec::new(),
        };
        if (whole_was_link || !mode.overwrite)
            && !context.format.groups_are_explicit()
            && path.is_root()
            && node.kind() == NodeKind::Array
        {
            erase_empty_root(hierarchy).await?;
        }
        for ancestor in above.iter().rev() {
            create_implied_group(context, ancestor).await?;
        }
        let mut documents = documents.into_iter();
        let mut written = Documents::new();
        if let Some((key, bytes)) = documents.next() {
            let must_be_absent = new_document::other_documents(context, path, &key)?;
            let arrays_above = arrays_above(context, path, mode)?;
            let new = NewDocument { key: &key, must_be_absent, arrays_above, leftovers };
            new_document::create_document(context, new, bytes.clone(), node.kind().phrase())
                .await?;
            written.push((key, bytes));
        }
        for (key, bytes) in documents {
            // Further documents are objects. Members that another writer has set replace these.
            let ours = Json::parse_tolerant(&bytes).ok();
            let ours = ours.and_then(|(json, _)| json.as_object().cloned()).unwrap_or_default();
            let place = DocumentMember { key: key.clone(), member: None, may_be_absent: true };
            let merged = edit::edit_document(context, path, &place, &mut |theirs| {
                let theirs = theirs.as_object().cloned().unwrap_or_default();
                Ok(ours.clone().into_iter().chain(theirs).collect::<Object>().into())
            })
            .await?;
            let merged = context.format.encoding().encode(&merged).map_err(MetadataError::Json)?;
            written.push((key, merged.into()));
        }
        match context.parse(path, &written)? {
            Some(created) => Ok(created),
            None => Err(MetadataError::Json("what was written is not a node".into()).into()),
        }
    })
}

/// Erases the root group that a draft's hierarchy begins with, if it is empty, for an array in its place.
async fn erase_empty_root(hierarchy: &HierarchyContext) -> Result<()> {
    let root = NodePath::root();
    if let NodeMetadata::Group(group) = list::read_node(hierarchy, &root).await?
        && (!group.attributes.is_empty()
            || !list::list_children(hierarchy, &root).await?.is_empty())
    {
        return Err(AccessError::Exists("a group").into());
    }
    let place = hierarchy.context.format.attributes_member(&root, NodeKind::Group)?;
    Ok(hierarchy.context.writeable()?.erase(&place.key).await?)
}

/// The documents that would make arrays of the groups above a new node, where nothing else looks for those (D-001). A
/// store that creates a document in one step looks at them in the same; elsewhere that takes requests, which a
/// caller may save.
fn arrays_above(
    context: &StoreContext,
    path: &NodePath,
    mode: CreateMode,
) -> Result<Vec<(StoreKey, NodePath)>> {
    let is_saved = !context.store.capabilities().create && mode.purge == Some(false);
    if context.format.groups_are_explicit() || is_saved {
        return Ok(Vec::new());
    }
    let mut arrays = Vec::new();
    for above in path.ancestors() {
        // The array's document is the first.
        let keys = context.format.document_keys(&above)?;
        arrays.extend(keys.into_iter().next().map(|key| (key, above)));
    }
    Ok(arrays)
}

/// Whether there is no node; an error if there is an array, since nothing can be below it.
async fn is_absent(context: &StoreContext, path: &NodePath) -> Result<bool> {
    let found = context.documents(path).await?;
    match context.parse(path, &found)? {
        Some(NodeMetadata::Array(_)) => Err(below_array(path).into()),
        Some(NodeMetadata::Group(_)) => Ok(false),
        None => Ok(true),
    }
}

/// Creates a group above a new node (F-007, Z2-003).
pub fn create_implied_group<'a>(
    context: &'a StoreContext,
    path: &'a NodePath,
) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        let group = NodeMetadata::Group(GroupMetadata::default());
        for (key, bytes) in context.format.create(path, &group)? {
            let must_be_absent = new_document::other_documents(context, path, &key)?;
            let new = NewDocument { must_be_absent, ..NewDocument::new(&key) };
            match new_document::create_document(context, new, bytes, "a group").await {
                // Another writer created a node concurrently. It must be a group of this dialect.
                Err(e) if e.kind() == ErrorKind::Exists => {
                    if is_absent(context, path).await? {
                        return Err(e);
                    }
                }
                other => other?,
            }
        }
        Ok(())
    })
}

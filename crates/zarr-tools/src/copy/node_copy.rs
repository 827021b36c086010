//! Describes the copy of a node without copying it: for a view of a hierarchy in another dialect.

use std::collections::{BTreeMap, HashSet};

use zarr_core::format::Documents;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{
    Dialect, Error, Group, GroupMetadata, Hierarchy, Json, Node, NodeMetadata, NodePath, Object,
    Result,
};

use super::check::{Neighbours, groups_above, planned};
use super::describe::Described;
use super::plan::parsed_documents;
use super::{CopyOptions, Steps, attributes_for, standard};
use crate::ome;

/// What a node becomes in another hierarchy, as [`copy`](super::copy()) writes it.
#[derive(Clone, Debug)]
pub struct NodeCopy {
    /// Its documents, the one that makes it a node first.
    pub documents: Documents,
    /// An array's metadata, as a reader of the documents finds it; nothing for a group.
    pub metadata: Option<ArrayMetadata>,
    /// Whether chunks that were never stored stay so, though they read as another value in the copy. Without it, and where the
    /// fill values differ, a copy stores the source's.
    pub leaves_holes: bool,
    /// What is lost.
    pub not_kept: Option<String>,
}

/// What `node` becomes at the same path in `target`, of which nothing is read or written. `others` are all nodes of its group:
/// of a scalar of v3 only they tell whether it is a variable.
/// The groups above are looked at for the image that an array belongs to.
///
/// # Errors
/// [`MetadataError::CannotRepresent`](zarr_core::MetadataError::CannotRepresent) for what the target's dialect cannot represent;
/// [`AccessError::Argument`](zarr_core::AccessError::Argument) for a name that it does not allow.
pub fn node_copy(
    node: &Node,
    others: &[Node],
    target: &Hierarchy,
    options: &CopyOptions<'_>,
) -> Result<NodeCopy> {
    // Opening them takes requests: only where they may name the axes.
    let dialects = (node.hierarchy().dialect(), target.dialect());
    let may_be_level = dialects == (Dialect::V2, Dialect::V3)
        && node.as_array().is_some_and(|array| array.metadata().dimension_names.is_none());
    let above = if may_be_level { groups_above(node) } else { Vec::new() };
    let neighbours = Neighbours::of(others, &above, node.hierarchy().dialect(), options);
    let mut described = planned(node, target, node.path(), &neighbours, options)?;
    let mut attributes = group_attributes(node, target, options.keep_attributes);
    // The documents go to readers in browsers, too, which read nothing at all of a document that is not JSON.
    if node.hierarchy().dialect() != target.dialect() {
        attributes = standard(attributes);
        if let Some(described) = &mut described {
            let of_copy = std::mem::take(&mut described.metadata.attributes);
            described.metadata.attributes = standard(of_copy);
        }
    }
    let (not_kept, leaves_holes) = match &described {
        Some(described) => (described.not_kept.clone(), described.leaves_holes),
        None => (None, false),
    };
    let documents = documents_of(node, attributes, target, node.path(), described)?;
    let metadata = match node {
        Node::Group(_) => None,
        Node::Array(_) => Some(parsed_documents(target, node.path(), &documents)?),
    };
    Ok(NodeCopy { documents, metadata, leaves_holes, not_kept })
}

/// What of a hierarchy is copied, where that is not all of it.
pub(super) struct Cut<'a> {
    /// What is copied of the arrays that are not copied whole.
    pub regions: &'a BTreeMap<NodePath, Vec<Steps>>,
    /// The nodes that are copied; `None`: all.
    pub copied: Option<HashSet<NodePath>>,
}

static WHOLE_ARRAYS: BTreeMap<NodePath, Vec<Steps>> = BTreeMap::new();

/// All of a hierarchy is copied.
pub(super) static WHOLE: Cut<'static> = Cut { regions: &WHOLE_ARRAYS, copied: None };

/// The documents of the copy of a node, the one that makes it a node first. None for an array that is not described.
pub(super) fn documents(
    node: &Node,
    target: &Hierarchy,
    to: &NodePath,
    described: Option<Described>,
    keep_attributes: bool,
    cut: &Cut<'_>,
) -> Result<Documents> {
    let mut attributes = group_attributes(node, target, keep_attributes);
    if !keep_attributes && matches!(node, Node::Group(_)) {
        attributes = ome::placed(attributes, node.path(), cut.regions).0;
    }
    if let (Node::Group(_), Some(copied)) = (node, &cut.copied) {
        attributes = without_unlisted(attributes, node.path(), copied);
        if !keep_attributes {
            attributes =
                ome::listing_copied(attributes, node.path(), &|node| copied.contains(node));
        }
    }
    let attributes = attributes_for(attributes, node.hierarchy().dialect(), target);
    documents_of(node, attributes, target, to, described)
}

/// The attributes of a group of a netCDF dataset whose list of arrays and groups names only those that are copied: netcdf-c opens no
/// dataset that lists an array that does not exist (N-032).
fn without_unlisted(mut attributes: Object, path: &NodePath, copied: &HashSet<NodePath>) -> Object {
    let Some(Json::Object(mut lists)) = attributes.get(NETCDF_GROUP).cloned() else {
        return attributes;
    };
    for member in NETCDF_LISTS {
        let Some(Json::Array(names)) = lists.get(member).cloned() else { continue };
        let is_copied = |name: &Json| {
            let node = name.as_str().and_then(|name| path.join(name).ok());
            // What is no name stays as it is.
            node.is_none_or(|node| copied.contains(&node))
        };
        let names: Vec<Json> = names.into_iter().filter(is_copied).collect();
        lists.insert(member, names);
    }
    attributes.insert(NETCDF_GROUP, lists);
    attributes
}

/// What a group of a netCDF dataset declares, and its lists of nodes, as newer and older writers call them.
pub(crate) const NETCDF_GROUP: &str = "_nczarr_group";
pub(crate) const NETCDF_LISTS: [&str; 4] = ["arrays", "vars", "groups", "subgroups"];

/// The attributes of a node, those of OME-Zarr in the version that the target's dialect has unless they are kept.
fn group_attributes(node: &Node, target: &Hierarchy, keep_attributes: bool) -> Object {
    match node {
        Node::Group(group) if !keep_attributes => {
            let dialects = (group.hierarchy().dialect(), target.dialect());
            ome::converted(group.attributes().clone(), group.path(), dialects).0
        }
        node => node.attributes(),
    }
}

/// The members of a group's document that no specification has and that the copy has, too: those of final v3, which say that
/// they may be ignored, and those of v2, whose readers pass over them.
pub(super) fn kept_unknown(group: &Group, target: &Hierarchy) -> Object {
    match (group.hierarchy().dialect(), target.dialect()) {
        (Dialect::V3, Dialect::V3) => group.metadata().unknown.clone(),
        (Dialect::V2, Dialect::V2) => without_netcdf(&group.metadata().unknown),
        _ => Object::new(),
    }
}

/// The members of a document of v2 that netCDF's library did not write for itself: a copy that is no NCZarr dataset has no use
/// for those, and one that is gets its own.
pub(super) fn without_netcdf(members: &Object) -> Object {
    let kept = members.iter().filter(|(name, _)| !is_netcdf_member(name));
    kept.map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// Whether netCDF's library writes a member of this name.
pub(super) fn is_netcdf_member(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with("_nczarr")
}

/// As [`documents`], of a group with these attributes.
fn documents_of(
    node: &Node,
    attributes: Object,
    target: &Hierarchy,
    to: &NodePath,
    described: Option<Described>,
) -> Result<Documents> {
    let metadata = match (node, described) {
        (Node::Group(group), _) => {
            let unknown = kept_unknown(group, target);
            NodeMetadata::Group(GroupMetadata { attributes, unknown, implicit: false })
        }
        (Node::Array(_), Some(Described { verbatim: Some(documents), .. })) => {
            return Ok(documents);
        }
        (Node::Array(_), Some(described)) => NodeMetadata::Array(Box::new(described.metadata)),
        (Node::Array(_), None) => return Ok(Documents::new()),
    };
    target
        .format()
        .create(to, &metadata)
        .map_err(|e| Error::from(e).at_store(target.store().name()).at_path(to))
}

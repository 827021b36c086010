//! Opens all nodes of a tree, and tells how far work on them has come.

use std::collections::{BTreeSet, HashSet};

use zarr_core::format::Child;
use zarr_core::{AccessError, Dialect, Error, ErrorKind, Node, NodeKind, NodePath, Result};

/// How far work on the nodes of a tree has come.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TreeProgress {
    /// The node that is being worked on.
    pub path: Option<NodePath>,
    /// Nodes that are done.
    pub nodes_done: u64,
    /// Nodes in all.
    pub nodes_total: u64,
    /// Bytes of elements that are done.
    pub bytes_done: u64,
    /// Bytes of elements in all. One of variable length counts as 64.
    pub bytes_total: u64,
}

/// The node and all below it, sorted by path. A node that cannot be opened is an error: nothing is left out.
pub(crate) fn open_all(node: &Node) -> Result<Vec<Node>> {
    if let Node::Array(_) = node {
        return Ok(vec![node.clone()]);
    }
    let (mut nodes, broken) = nodes_and_broken(node)?;
    if let Some((_, error)) = broken.into_iter().next() {
        return Err(error);
    }
    nodes.sort_by(|a, b| a.path().as_str().split('/').cmp(b.path().as_str().split('/')));
    Ok(nodes)
}

/// Nodes whose documents are broken, each with the error of opening it.
type Broken = Vec<(NodePath, Error)>;

/// The node and all below it, sorted by path, and those with broken documents. Each document is read once.
pub(crate) fn nodes_and_broken(node: &Node) -> Result<(Vec<Node>, Broken)> {
    let nodes = node.hierarchy().nodes(node.path())?;
    let broken = broken_below(node, nodes.iter().map(Node::path).collect());
    Ok((nodes, broken))
}

/// The nodes of a tree, and those that listings leave out with a warning.
#[derive(Debug)]
#[non_exhaustive]
pub struct Listed {
    /// Nodes sorted by path; an array among them may be broken, too.
    pub nodes: Vec<Child>,
    /// Groups whose documents are broken, nodes whose documents do not tell their kind, and nodes that the store could not read, each
    /// with the error of opening it.
    pub broken: Vec<(NodePath, Error)>,
}

/// The node and all below it, those with broken documents too.
///
/// # Errors
/// If the store cannot list or fails.
pub fn tree_and_broken(node: &Node) -> Result<Listed> {
    let (tree, unreadable) = node.hierarchy().tree_and_unreadable(node.path())?;
    Ok(with_broken(node, tree, unreadable))
}

/// The children of a group, those with broken documents too.
///
/// # Errors
/// If the store cannot list or fails.
pub fn children_and_broken(node: &Node) -> Result<Listed> {
    let (children, unreadable) = node.hierarchy().children_and_unreadable(node.path())?;
    Ok(with_broken(node, children, unreadable))
}

/// What a listing at the node, or below it, has found, and the nodes that it left out since their documents are broken, or cannot be
/// read.
fn with_broken(node: &Node, listed: Vec<Child>, unreadable: Broken) -> Listed {
    let hierarchy = node.hierarchy();
    // A listing of a draft reads no documents, and one of v2 warns of groups that it can name all the same.
    let reads_none = hierarchy.dialect() == Dialect::Draft;
    let warnings = hierarchy.warnings();
    let warned: HashSet<&str> = warnings.iter().map(|warning| warning.place.as_str()).collect();
    let groups = listed
        .iter()
        .filter(|child| {
            let is_group = child.kind == Some(NodeKind::Group) && !child.implicit;
            is_group
                && child.path != *node.path()
                && (reads_none || warned.contains(child.path.as_str()))
        })
        .map(|child| child.path.clone());
    let mut broken: Broken =
        groups.filter_map(|path| Some((path.clone(), hierarchy.node(&path).err()?))).collect();
    broken.extend(unreadable);
    let told: HashSet<NodePath> = broken.iter().map(|(path, _)| path.clone()).collect();
    let known = listed.iter().map(|child| &child.path).chain(&told).collect();
    broken.extend(broken_below(node, known));
    let nodes = listed.into_iter().filter(|child| !told.contains(&child.path)).collect();
    Listed { nodes, broken }
}

/// Nodes below a node that a listing left out with a warning, since their documents are broken.
fn broken_below(node: &Node, listed: HashSet<&NodePath>) -> Broken {
    let hierarchy = node.hierarchy();
    let top = node.path().as_str().trim_end_matches('/');
    let warnings = hierarchy.warnings();
    let places: BTreeSet<&str> = warnings.iter().map(|warning| warning.place.as_str()).collect();
    let mut broken = Vec::new();
    for place in places {
        if !place.strip_prefix(top).is_some_and(|rest| rest.starts_with('/')) {
            continue;
        }
        let Ok(path) = NodePath::new(place) else { continue };
        if listed.contains(&path) {
            continue;
        }
        match hierarchy.node(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => broken.push((path, error)),
            _ => {}
        }
    }
    broken
}

/// The most bytes of elements that are read, if a caller gives no limit.
const MAX_SIZE: u64 = 16 << 40;

/// Refuses to read elements of more than `max` bytes, 0 standing for the usual limit: a document can claim elements that
/// take years to read, although nothing is stored.
pub(crate) fn check_size(size: u64, max: u64) -> Result<()> {
    if size <= (if max == 0 { MAX_SIZE } else { max }) {
        return Ok(());
    }
    let hint = "raise `max_size` (--max-size, by default 16 TiB), or name a smaller node";
    Err(AccessError::TooLarge { what: "reading all elements", size, hint }.into())
}

/// The path of `node` from `base`, which is `/` there.
pub(crate) fn relative(base: &NodePath, node: &NodePath) -> String {
    let rest = node.as_str().strip_prefix(base.as_str()).unwrap_or(node.as_str());
    format!("/{}", rest.trim_start_matches('/'))
}

//! Opens all nodes of a tree, and tells how far work on them has come.

use zarr_core::{AccessError, ErrorKind, Node, NodePath, Result};

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
    let hierarchy = node.hierarchy();
    let mut tree = hierarchy.tree(node.path())?;
    // Listings leave out nodes whose documents are broken, with a warning.
    for warning in hierarchy.warnings() {
        let Ok(place) = NodePath::new(&warning.place) else { continue };
        let top = node.path().as_str().trim_end_matches('/');
        let is_below = place.as_str().strip_prefix(top).is_some_and(|rest| rest.starts_with('/'));
        if is_below && tree.iter().all(|child| child.path != place) {
            match hierarchy.node(&place) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
    }
    tree.sort_by(|a, b| a.path.as_str().split('/').cmp(b.path.as_str().split('/')));
    tree.iter().map(|child| hierarchy.node(&child.path)).collect()
}

/// The most bytes of elements that are read, if a caller gives no limit.
const MAX_SIZE: u64 = 16 << 40;

/// Refuses to read elements of more than `max` bytes, 0 standing for the usual limit: a document can claim elements that
/// take years to read, although nothing is stored.
pub(crate) fn check_size(size: u64, max: u64) -> Result<()> {
    if size <= (if max == 0 { MAX_SIZE } else { max }) {
        return Ok(());
    }
    let hint = "raise `max_size` (--max-size; 16 TiB if not given), or name a smaller node";
    Err(AccessError::TooLarge { what: "reading all elements", size, hint }.into())
}

/// The path of `node` from `base`, which is `/` there.
pub(crate) fn relative(base: &NodePath, node: &NodePath) -> String {
    let rest = node.as_str().strip_prefix(base.as_str()).unwrap_or(node.as_str());
    format!("/{}", rest.trim_start_matches('/'))
}

//! How handles and trees of nodes are shown.

use std::fmt;

use crate::error::without_secrets;
use crate::hierarchy::NodeCore;
use crate::metadata::ArrayMetadata;
use crate::path::NodePath;
use crate::printable::printable;
use crate::store::Store;

/// A node and all below it as a tree: a line for each, of arrays with data type, shape and the names of their dimensions.
pub(super) fn draw_nodes(top: &NodePath, nodes: &[NodeCore]) -> String {
    let mut lines = Vec::with_capacity(nodes.len());
    for node in nodes {
        lines.push(match node {
            NodeCore::Array(array) => {
                (path_from(top, &array.path), array_detail(&array.state().metadata))
            }
            NodeCore::Group(group) => (path_from(top, &group.path), String::new()),
        });
    }
    // `/a-b` comes before `/a/b` as text; as paths the children of `/a` come first.
    lines.sort_by(|(a, _), (b, _)| a.split('/').cmp(b.split('/')));
    draw_tree(&lines)
}

/// Nodes as the lines of a tree. Each is a path and what stands behind its name; they are sorted by the names in their paths, and
/// the first is the tree's root.
fn draw_tree(nodes: &[(String, String)]) -> String {
    let paths: Vec<&str> = nodes.iter().map(|(path, _)| path.as_str()).collect();
    let mut text = String::new();
    for (name, (_, detail)) in tree_names(&paths).iter().zip(nodes) {
        text.push_str(&format!("{name}{detail}\n"));
    }
    text
}

/// The names of nodes, each behind the branches of a tree that lead to it. The paths are sorted by the names in them, and the first
/// is the tree's root.
#[doc(hidden)]
pub fn tree_names(paths: &[&str]) -> Vec<String> {
    let mut found = Vec::with_capacity(paths.len());
    for (path, branches) in paths.iter().zip(branches(paths)) {
        let own = branches.len();
        let mut text = String::new();
        for (level, goes_on) in (1..).zip(branches) {
            text.push_str(match (level == own, goes_on) {
                (true, true) => "├── ",
                (true, false) => "└── ",
                (false, true) => "│   ",
                (false, false) => "    ",
            });
        }
        let name = path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("/");
        text.push_str(&printable(name));
        found.push(text);
    }
    found
}

/// For each node and each level above it, and its own, whether the branch there goes on: whether a later node hangs on it before
/// one hangs higher up. One walk from the last node on finds all.
fn branches(paths: &[&str]) -> Vec<Vec<bool>> {
    let mut found = Vec::with_capacity(paths.len());
    let mut open = Vec::new();
    for path in paths.iter().rev() {
        let own = path.split('/').filter(|name| !name.is_empty()).count();
        open.resize(own, false);
        found.push(open.clone());
        if let Some(level) = open.last_mut() {
            *level = true;
        }
    }
    found.reverse();
    found
}

/// What a tree says of an array behind its name: the data type, the shape, the names of its dimensions.
fn array_detail(metadata: &ArrayMetadata) -> String {
    let data_type = metadata.data_type.to_string();
    let mut detail = format!("  {} {:?}", printable(&data_type), metadata.shape);
    if let Some(names) = &metadata.dimension_names {
        let names: Vec<&str> = names.iter().map(|name| name.as_deref().unwrap_or("_")).collect();
        detail.push_str(&format!(" ({})", printable(&names.join(", "))));
    }
    detail
}

/// The path of a node as a tree has it that begins at `top`.
fn path_from(top: &NodePath, path: &NodePath) -> String {
    match path.as_str().strip_prefix(top.as_str()) {
        Some(rest) if !top.is_root() => rest.to_owned(),
        _ => path.to_string(),
    }
}

/// A node in one line, for `Debug`.
pub(super) fn debug_node(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    store: &dyn Store,
    path: &NodePath,
    metadata: Option<&ArrayMetadata>,
) -> fmt::Result {
    let store = without_secrets(&store.name());
    write!(f, "{name}({}{}", printable(&store), if path.is_root() { "" } else { " " })?;
    if !path.is_root() {
        write!(f, "{}", printable(path.as_str()))?;
    }
    if let Some(metadata) = metadata {
        let data_type = metadata.data_type.to_string();
        write!(f, ", {}, shape {:?}", printable(&data_type), metadata.shape)?;
        if let Some(chunks) = metadata.inner_chunk_shape() {
            write!(f, ", chunks {chunks:?}")?;
        }
        if let Some(shards) = metadata.shard_shape() {
            write!(f, ", shards {shards:?}")?;
        }
    }
    f.write_str(")")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(paths: &[&str]) -> String {
        let nodes: Vec<_> = paths.iter().map(|&path| (path.to_owned(), String::new())).collect();
        draw_tree(&nodes)
    }

    #[test]
    fn branches_lead_to_every_node() {
        let expected = "\
/
├── a
│   ├── x
│   │   └── y
│   └── z
└── b
    └── c
";
        assert_eq!(drawn(&["/", "/a", "/a/x", "/a/x/y", "/a/z", "/b", "/b/c"]), expected);
    }

    /// Once the time grew with the fourth power of the depth: minutes for this one.
    #[test]
    fn a_deep_tree_is_drawn_soon() {
        let nodes: Vec<_> = (1..=600).map(|depth| ("/a".repeat(depth), String::new())).collect();
        let begun = std::time::Instant::now();
        assert_eq!(draw_tree(&nodes).lines().count(), 600);
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}

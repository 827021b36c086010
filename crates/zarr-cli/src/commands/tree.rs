//! Lists nodes.

use std::collections::{HashMap, HashSet};

use clap::Args;
use zarr::{Array, CopyUnderWay, Json, Node, NodeKind, NodePath, Object, Warning};

use super::{Out, netcdf};
use crate::failure::Failure;
use crate::human;
use crate::session::{self, Session, Target};

/// Draw the groups and arrays below a node
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zarr tree data.zarr
  zarr tree data.zarr --path ocean
  zarr tree s3://bucket/data.zarr --json

With --json: {\"nodes\": [{\"path\", \"node_type\", …}]}.

Paths begin at TARGET's node, so that --path takes them as they are. A node whose document is broken
is told on standard error; the others are shown, and the exit code is that of the first failure.")]
pub(crate) struct Tree {
    #[command(flatten)]
    target: Target,
}

/// A node as it is shown.
struct Shown {
    path: String,
    /// `None` if its document is broken and does not tell.
    kind: Option<NodeKind>,
    implicit: bool,
    array: Option<Array>,
    trouble: Option<zarr::Error>,
    /// The names of its dimensions, if they have any.
    axes: Option<String>,
}

impl Tree {
    /// The tree of a node and all below it, drawn.
    pub fn new(target: &Target) -> Tree {
        Tree { target: target.clone() }
    }

    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        session.show_calls();
        let node = session.open(&self.target)?;
        let mut nodes = nodes(&node)?;
        let options = zarr::nczarr::DatasetOptions::of(session.options()?);
        if let Some(dataset) = netcdf::dataset_of(node.hierarchy(), options) {
            for shown in &mut nodes {
                let path = zarr::path_below(node.path(), &shown.path)?;
                if let Some(axes) = netcdf::axes(&dataset, path.as_str()) {
                    shown.axes = Some(axes);
                }
            }
        }
        let copies = session.copies_under_way(&node)?;
        if session.is_json() {
            let list: Json = nodes.iter().map(members).collect();
            let mut object = Object::new().with("nodes", list);
            if !copies.is_empty() {
                object.insert("copies_under_way", session::copies(&copies));
            }
            writeln!(out, "{:#}", Json::from(object))?;
        } else {
            write!(out, "{}", draw(&nodes))?;
            let told = |copy: &CopyUnderWay| Warning {
                place: copy.path.to_string(),
                what: format!(
                    "copy under way, {} % done; resume with `{}`",
                    copy.percent, copy.resume
                ),
            };
            session.warn_of(&copies.iter().map(told).collect::<Vec<_>>());
        }
        let mut warnings = node.hierarchy().warnings();
        let hidden = zarr::hidden_nodes(&node)?;
        let told: HashSet<String> = warnings.iter().map(|told| told.place.clone()).collect();
        warnings.extend(hidden.into_iter().filter(|it| !told.contains(&it.place)));
        let troubles = nodes.into_iter().filter_map(|node| node.trouble);
        session.end(warnings, troubles.map(Failure::from))
    }
}

fn nodes(top: &Node) -> Result<Vec<Shown>, Failure> {
    let hierarchy = top.hierarchy();
    let zarr::Listed { nodes: children, broken, .. } = zarr::tree_and_broken(top)?;
    let mut nodes: Vec<Shown> = Vec::with_capacity(children.len());
    for (path, error) in broken {
        let path = session::from(top.path(), &path);
        let shown =
            Shown { path, kind: None, implicit: false, array: None, trouble: None, axes: None };
        nodes.push(Shown { trouble: Some(error), ..shown });
    }
    for child in children {
        let mut shown = Shown {
            path: session::from(top.path(), &child.path),
            kind: Some(child.kind.unwrap_or(NodeKind::Group)),
            implicit: child.implicit,
            array: None,
            trouble: None,
            axes: None,
        };
        if shown.kind == Some(NodeKind::Array) {
            match hierarchy.array(&child.path) {
                Ok(array) => {
                    shown.axes = axes(&array);
                    shown.array = Some(array);
                }
                Err(e) => shown.trouble = Some(e),
            }
        }
        nodes.push(shown);
    }
    // `/a-b` comes before `/a/b` as text; as paths the children of `/a` come first.
    nodes.sort_by(|a, b| a.path.split('/').cmp(b.path.split('/')));
    Ok(nodes)
}

fn members(node: &Shown) -> Json {
    let kind = node.kind.map_or(Json::Null, |kind| kind.name().into());
    let mut object = Object::new().with("path", node.path.as_str()).with("node_type", kind);
    if node.implicit {
        object.insert("implicit", true);
    }
    if let Some(array) = &node.array {
        let metadata = array.metadata();
        object.insert("shape", &metadata.shape[..]);
        object.insert("data_type", metadata.declared_type.clone());
        if let Some(names) = &metadata.dimension_names {
            let name = |name: &Option<String>| name.as_deref().map_or(Json::Null, Json::from);
            object.insert("dimension_names", names.iter().map(name).collect::<Json>());
        }
        object.insert("chunk_shape", array.chunk_shape().as_deref().map_or(Json::Null, Json::from));
        if let Some(shards) = metadata.shard_shape() {
            object.insert("shard_shape", &shards[..]);
        }
    }
    if let Some(trouble) = &node.trouble {
        object.insert("error", trouble.to_string());
    }
    object.into()
}

/// For each node and each level above it, and its own, whether the branch there goes on: whether a later node hangs on it before
/// one hangs higher up. One walk from the last node on finds all.
fn branches(nodes: &[Shown]) -> Vec<Vec<bool>> {
    let depth = |node: &Shown| node.path.split('/').filter(|name| !name.is_empty()).count();
    let (mut found, mut open) = (Vec::with_capacity(nodes.len()), Vec::new());
    for own in nodes.iter().rev().map(depth) {
        open.resize(own, false);
        found.push(open.clone());
        if let Some(level) = open.last_mut() {
            *level = true;
        }
    }
    found.reverse();
    found
}

/// The names of an array's dimensions, if any has one.
fn axes(array: &Array) -> Option<String> {
    let names = array.metadata().dimension_names.clone()?;
    let is_named = names.iter().any(Option::is_some);
    let names: Vec<&str> = names.iter().map(|name| name.as_deref().unwrap_or("-")).collect();
    is_named.then(|| format!("({})", names.join(", ")))
}

/// The nodes as lines; each begins with the branches that lead to it. Types and shapes of the arrays of a group are in columns.
fn draw(nodes: &[Shown]) -> String {
    let mut lines: Vec<Line> = Vec::with_capacity(nodes.len());
    for (node, branches) in nodes.iter().zip(branches(nodes)) {
        let own = branches.len();
        let mut name = String::new();
        for (level, goes_on) in (1..).zip(branches) {
            name.push_str(match (level == own, goes_on) {
                (true, true) => "├── ",
                (true, false) => "└── ",
                (false, true) => "│   ",
                (false, false) => "    ",
            });
        }
        let path = NodePath::new(&node.path);
        name.push_str(&human::printable(
            path.as_ref().ok().and_then(NodePath::name).unwrap_or("/"),
        ));
        let parent = path.ok().and_then(|path| path.parent());
        let mut line = Line { parent, name, ..Line::default() };
        if let Some(array) = &node.array {
            let metadata = array.metadata();
            line.data_type = human::printable(&metadata.data_type.to_string());
            line.shape = human::shape(&metadata.shape);
        }
        line.rest = node.axes.as_deref().map(human::printable).unwrap_or_default();
        if node.trouble.is_some() {
            line.rest.push_str("(broken)");
        }
        lines.push(line);
    }
    let mut columns: HashMap<Option<NodePath>, [Vec<&String>; 3]> = HashMap::new();
    for line in lines.iter().filter(|line| !line.shape.is_empty()) {
        let [names, types, shapes] = columns.entry(line.parent.clone()).or_default();
        names.push(&line.name);
        types.push(&line.data_type);
        shapes.push(&line.shape);
    }
    let widths: HashMap<Option<NodePath>, [usize; 3]> = columns
        .into_iter()
        .map(|(parent, cells)| (parent, cells.map(|cells| human::column_width(cells.into_iter()))))
        .collect();
    let mut text = String::new();
    for line in &lines {
        let [name, data_type, shape] = widths.get(&line.parent).copied().unwrap_or_default();
        let row = if line.shape.is_empty() {
            format!("{}  {}", line.name, line.rest)
        } else {
            format!(
                "{}  {} {} {}",
                human::left(&line.name, name),
                human::left(&line.data_type, data_type),
                human::left(&line.shape, shape),
                line.rest
            )
        };
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

/// A node as it is drawn.
#[derive(Debug, Default)]
struct Line {
    parent: Option<NodePath>,
    /// Behind the branches that lead to it.
    name: String,
    /// Of an array.
    data_type: String,
    shape: String,
    /// The names of dimensions, or what is wrong.
    rest: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_lead_to_every_node() {
        let node = |path: &str| Shown {
            path: path.into(),
            kind: Some(NodeKind::Group),
            implicit: false,
            array: None,
            trouble: None,
            axes: None,
        };
        let nodes = ["/", "/a", "/a/x", "/a/x/y", "/a/z", "/b", "/b/c"].map(node);
        let expected = "\
/
├── a
│   ├── x
│   │   └── y
│   └── z
└── b
    └── c
";
        assert_eq!(draw(&nodes), expected);
    }

    /// Once the time grew with the fourth power of the depth: minutes for this one.
    #[test]
    fn a_deep_tree_is_drawn_soon() {
        let node = |depth: usize| Shown {
            path: "/a".repeat(depth),
            kind: Some(NodeKind::Group),
            implicit: false,
            array: None,
            trouble: None,
            axes: None,
        };
        let nodes: Vec<Shown> = (1..=600).map(node).collect();
        let begun = std::time::Instant::now();
        assert_eq!(draw(&nodes).lines().count(), 600);
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}

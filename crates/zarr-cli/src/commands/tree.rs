//! Lists nodes.

use std::collections::{HashMap, HashSet};

use clap::Args;
use zarr::{Array, Json, Node, NodeKind, NodePath, Object, Warning};

use super::{Out, netcdf};
use crate::failure::Failure;
use crate::human;
use crate::session::{self, Session, Target};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr tree data.zarr
  zarr tree data.zarr --path ocean
  zarr tree s3://bucket/data.zarr --json",
    after_long_help = crate::details("\
With --json: {\"nodes\": [{\"path\", \"node_type\", …}]}.

Paths are relative to TARGET's node, so that you can pass them to --path. Nodes whose document is broken
are reported on standard error; the others are shown, and the exit code is that of the first failure."))]
pub(crate) struct Tree {
    #[command(flatten)]
    target: Target,
}

/// A node as it is shown.
struct ListedNode {
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
                let path = zarr::tools::path_below(node.path(), &shown.path)?;
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
            let warnings = copies.iter().map(|copy| Warning {
                place: copy.path.to_string(),
                what: format!(
                    "copy under way, {} % done; resume with `{}`",
                    copy.percent, copy.resume
                ),
            });
            session.warn_of(&warnings.collect::<Vec<_>>());
        }
        let mut warnings = node.hierarchy().warnings();
        let hidden = zarr::tools::hidden_nodes(&node)?;
        let told: HashSet<String> = warnings.iter().map(|told| told.place.clone()).collect();
        warnings.extend(hidden.into_iter().filter(|it| !told.contains(&it.place)));
        let troubles = nodes.into_iter().filter_map(|node| node.trouble);
        session.end(warnings, troubles.map(Failure::from))
    }
}

fn nodes(top: &Node) -> Result<Vec<ListedNode>, Failure> {
    let hierarchy = top.hierarchy();
    let zarr::tools::Listed { nodes: children, broken, .. } = zarr::tools::tree_and_broken(top)?;
    let mut nodes: Vec<ListedNode> = Vec::with_capacity(children.len());
    for (path, error) in broken {
        let path = session::from(top.path(), &path);
        let shown = ListedNode {
            path,
            kind: None,
            implicit: false,
            array: None,
            trouble: None,
            axes: None,
        };
        nodes.push(ListedNode { trouble: Some(error), ..shown });
    }
    for child in children {
        let mut shown = ListedNode {
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

fn members(node: &ListedNode) -> Json {
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
            let names = names.iter().map(|name| name.as_deref().map_or(Json::Null, Json::from));
            object.insert("dimension_names", names.collect::<Json>());
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

/// The names of an array's dimensions, if any has one.
fn axes(array: &Array) -> Option<String> {
    let names = array.metadata().dimension_names.clone()?;
    let is_named = names.iter().any(Option::is_some);
    let names: Vec<&str> = names.iter().map(|name| name.as_deref().unwrap_or("-")).collect();
    is_named.then(|| format!("({})", names.join(", ")))
}

/// The nodes as lines; each begins with the branches that lead to it. Types and shapes of the arrays of a group are in columns.
fn draw(nodes: &[ListedNode]) -> String {
    let mut lines: Vec<Line> = Vec::with_capacity(nodes.len());
    let paths: Vec<&str> = nodes.iter().map(|node| node.path.as_str()).collect();
    for (node, name) in nodes.iter().zip(zarr::tree_names(&paths)) {
        let parent = NodePath::new(&node.path).ok().and_then(|path| path.parent());
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

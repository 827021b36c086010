//! Lists what is served: hierarchies, children, nodes of a name.

use std::collections::BTreeMap;

use zarr::tools::Listed;
use zarr::{Error, ErrorKind, Group, Json, Node, NodeKind, NodePath, Object};

use super::{Answered, Refusal, parameters};
use crate::{Answer, Question, Targets};

/// The most children in an answer.
const MOST_CHILDREN: usize = 2000;
/// Documents of up to this number of children are read, for their shapes.
const MOST_READ: usize = 300;

/// `{"targets": [{"name", "kind", "format"}], "version"}`: the hierarchies that are served.
pub(crate) fn targets(_: &Question, targets: &Targets) -> Answered {
    let all = targets.list()?;
    let list: Json = all
        .iter()
        .map(|served| {
            let object = Object::new().with("name", served.name());
            let Ok(hierarchy) = served.hierarchy() else {
                return Json::from(object.with("kind", "group").with("format", ""));
            };
            let kind = hierarchy.node("/").map_or(NodeKind::Group, |node| node.kind());
            Json::from(object.with("kind", kind.name()).with("format", hierarchy.format_name()))
        })
        .collect();
    Ok(Answer::json(Object::new().with("targets", list).with("version", env!("CARGO_PKG_VERSION"))))
}

/// `{"names": […]}`: the hierarchies that are served.
pub(crate) fn names(_: &Question, targets: &Targets) -> Answered {
    let names: Json = targets.list()?.iter().map(|served| Json::from(served.name())).collect();
    Ok(Answer::json(Object::new().with("names", names)))
}

/// `{"children": [{"name", "kind", "shape", "type", "title", "error"}], "more", "note"}`; the `kind` is `null` if a broken document
/// does not tell it.
///
/// Parameter: `path`.
pub(crate) fn children(question: &Question, targets: &Targets) -> Answered {
    let (node, _) = parameters::node(question, targets)?;
    let group = node.into_group()?;
    Ok(Answer::json(of_group(&group)?))
}

/// The children of a group as members of an object.
pub(crate) fn of_group(group: &Group) -> Result<Object, Refusal> {
    let listed = match zarr::tools::children_and_broken(&Node::Group(group.clone())) {
        Ok(listed) => listed,
        Err(e) if e.kind() == ErrorKind::NotCapable => {
            return Ok(Object::new()
                .with("children", Vec::<Json>::new())
                .with("more", 0u64)
                .with("note", "the store cannot list; open a node by its path"));
        }
        Err(e) => return Err(e.into()),
    };
    let mut known: BTreeMap<NodePath, Node> = BTreeMap::new();
    let Listed { nodes: listed, broken, .. } = listed;
    if listed.len() <= MOST_READ
        // Broken ones are left out here; if one cannot be read, they are opened one by one.
        && let Ok(members) = group.members()
    {
        known = members.into_iter().map(|node| (node.path().clone(), node)).collect();
    }
    let is_read = listed.len() <= MOST_READ;
    let readable = listed.iter().map(|child| -> Json {
        let node = known.get(&child.path);
        let kind = child.kind.or_else(|| node.map(Node::kind)).unwrap_or(NodeKind::Group);
        let object = named(&child.path, Json::from(kind.name()));
        match node {
            Some(node) => details(node, object).into(),
            None if is_read => match group.hierarchy().node(&child.path) {
                Err(error) => object.with("error", reason(&error)).into(),
                Ok(node) => details(&node, object).into(),
            },
            None => object.into(),
        }
    });
    let broken: Vec<Json> = broken
        .iter()
        .filter(|(path, _)| path.parent().as_ref() == Some(group.path()))
        .map(|(path, error)| named(path, Json::Null).with("error", reason(error)).into())
        .collect();
    let more = (listed.len() + broken.len()).saturating_sub(MOST_CHILDREN) as u64;
    let children: Json = broken.into_iter().chain(readable).take(MOST_CHILDREN).collect();
    Ok(Object::new().with("children", children).with("more", more))
}

fn named(path: &NodePath, kind: Json) -> Object {
    Object::new().with("name", path.name().unwrap_or_default()).with("kind", kind)
}

fn details(node: &Node, object: Object) -> Object {
    let object = match node {
        Node::Array(array) => {
            object.with("shape", &array.shape()[..]).with("type", array.data_type().to_string())
        }
        Node::Group(_) => object,
    };
    match title(&node.attributes()) {
        Some(title) => object.with("title", title),
        None => object,
    }
}

/// What a node is called in words: its attribute `long_name`, `title` or `standard_name`.
pub(crate) fn title(attributes: &Object) -> Option<String> {
    ["long_name", "title", "standard_name"]
        .iter()
        .find_map(|name| {
            attributes
                .get(name)?
                .as_str()
                .map(str::trim)
                .filter(|text| !text.is_empty() && text.len() < 300)
        })
        .map(str::to_owned)
}

/// Why a node cannot be read, for people.
pub(crate) fn reason(error: &Error) -> String {
    // Without the store, which is a path.
    error.cause().to_string()
}

//! Finds the attributes of other nodes that name a node: after a rename or an erase they name what is no longer there.

use zarr_core::{Hierarchy, Json, Node, NodePath, Object};

use crate::ome::OME;
use crate::validate::referenced_variables;

/// The member of a group with the layout of bioformats2raw, and the group that lists its images.
const LAYOUT: &str = "bioformats2raw.layout";
pub(crate) const OME_GROUP: &str = "OME";

/// How many arrays of a group are asked for the variables that their attributes name.
const MAX_ASKED: usize = 1000;

/// An attribute of another node that names a node, or a node below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The node that has the attribute.
    pub by: NodePath,
    /// The attribute; of OME-Zarr's metadata the way to the text, as in `ome.multiscales.0.datasets.1.path`.
    pub attribute: String,
    /// Whether the name is a path from the node on, and nothing else stands there.
    pub is_path: bool,
    /// What stands there.
    pub name: String,
}

/// The attributes that name a node or nodes below it: OME-Zarr's metadata of the groups above (levels of images, labels, wells of a
/// plate and the images in them, the series of bioformats2raw), and, in stores of this machine, the CF attributes of the arrays in the same group (`coordinates`,
/// `bounds`, `grid_mapping`, …). Nodes that cannot be read name nothing.
pub fn mentions(hierarchy: &Hierarchy, path: &NodePath) -> Vec<Mention> {
    let mut found = Vec::new();
    for above in path.ancestors() {
        let Ok(group) = hierarchy.group(&above) else { continue };
        for (attribute, name) in ome_names(group.attributes()) {
            if above.join(&name).is_ok_and(|named| named.is_within(path)) {
                found.push(Mention { by: above.clone(), attribute, is_path: true, name });
            }
        }
        found.extend(series(hierarchy, &above, group.attributes(), path));
    }
    // In a store far away each document is a request.
    if !hierarchy.store().capabilities().local {
        return found;
    }
    let parent = path.parent().and_then(|parent| hierarchy.group(&parent).ok());
    let siblings = parent.and_then(|parent| parent.members().ok()).unwrap_or_default();
    for sibling in siblings.iter().take(MAX_ASKED).filter(|sibling| sibling.path() != path) {
        let Node::Array(array) = sibling else { continue };
        for (attribute, name) in referenced_variables(&array.attributes()) {
            let named = match name.strip_prefix('/') {
                Some(absolute) => NodePath::new(absolute),
                None => array.path().parent().unwrap_or_else(NodePath::root).join(&name),
            };
            if named.is_ok_and(|named| named.is_within(path)) {
                let by = array.path().clone();
                found.push(Mention { by, attribute: attribute.to_owned(), is_path: false, name });
            }
        }
    }
    found
}

/// The series that the group `OME` beside them lists, if bioformats2raw laid out a group, and that are `path` or below it.
fn series(
    hierarchy: &Hierarchy,
    group: &NodePath,
    attributes: &Object,
    path: &NodePath,
) -> Vec<Mention> {
    let holder = attributes.get(OME).and_then(Json::as_object).unwrap_or(attributes);
    if !holder.contains(LAYOUT) {
        return Vec::new();
    }
    let listing = group.join(OME_GROUP).ok().and_then(|place| hierarchy.group(place).ok());
    let Some(listing) = listing else { return Vec::new() };
    let (holder, prefix) = match listing.attributes().get(OME).and_then(Json::as_object) {
        Some(ome) => (ome, format!("{OME}.")),
        None => (listing.attributes(), String::new()),
    };
    let names = holder.get("series").and_then(Json::as_array).unwrap_or_default().iter();
    let named = names.enumerate().filter_map(|(at, name)| {
        let name = name.as_str()?;
        let is_meant = group.join(name).is_ok_and(|named| named.is_within(path));
        is_meant.then(|| Mention {
            by: listing.path().clone(),
            attribute: format!("{prefix}series.{at}"),
            is_path: false,
            name: name.to_owned(),
        })
    });
    named.collect()
}

/// The paths below a group that its OME-Zarr metadata name, each with the way to it (0.4 and 0.5: "multiscales", "labels", "plate",
/// "well").
fn ome_names(attributes: &Object) -> Vec<(String, String)> {
    let (holder, prefix) = match attributes.get(OME).and_then(Json::as_object) {
        Some(ome) => (ome, format!("{OME}.")),
        None => (attributes, String::new()),
    };
    let mut names = Vec::new();
    let images = holder.get("multiscales").and_then(Json::as_array).unwrap_or_default();
    for (at, image) in images.iter().enumerate() {
        let way = format!("{prefix}multiscales.{at}.datasets");
        names.extend(paths_in(image.as_object(), "datasets", &way));
    }
    let labels = holder.get("labels").and_then(Json::as_array).unwrap_or_default();
    for (at, label) in labels.iter().enumerate() {
        names.extend(label.as_str().map(|name| (format!("{prefix}labels.{at}"), name.to_owned())));
    }
    for (member, list) in [("plate", "wells"), ("well", "images")] {
        let object = holder.get(member).and_then(Json::as_object);
        names.extend(paths_in(object, list, &format!("{prefix}{member}.{list}")));
    }
    names
}

/// The `path` of each object in a list that an object has.
fn paths_in(object: Option<&Object>, list: &str, way: &str) -> Vec<(String, String)> {
    let items = object.and_then(|object| object.get(list)).and_then(Json::as_array);
    let items = items.unwrap_or_default().iter().enumerate();
    let paths = items.filter_map(|(at, item)| {
        let path = item.as_object()?.get("path")?.as_str()?;
        Some((format!("{way}.{at}.path"), path.to_owned()))
    });
    paths.collect()
}

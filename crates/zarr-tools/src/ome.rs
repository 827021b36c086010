//! Converts the metadata of OME-Zarr images between 0.4, the version for Zarr v2, and 0.5, the version for Zarr v3.
//!
//! Both versions say the same in the same words. In 0.4 these are attributes of a group, some with a `version`. In 0.5 they
//! are members of the attribute `ome`, which has the version itself, and the arrays of an image have its axes as
//! `dimension_names`. Readers of one version find nothing in the place of the other.

use crate::mentions::OME_GROUP;
use std::collections::{BTreeMap, HashMap, HashSet};

use zarr_core::metadata::ArrayMetadata;
use zarr_core::{Array, Dialect, Json, Node, NodePath, Object, OpenOptions};

use crate::copy::Steps;
use crate::target::hierarchy_above;

/// What is converted.
const OLD: &str = "0.4";
const NEW: &str = "0.5";

/// The attribute that has all of it in 0.5.
pub(crate) const OME: &str = "ome";
/// The attributes of 0.4, which are the members of `ome` in 0.5.
pub(crate) const MEMBERS: [&str; 8] = [
    "multiscales",
    "omero",
    "labels",
    "image-label",
    "plate",
    "well",
    "bioformats2raw.layout",
    "series",
];
/// The members that may have a version of their own in both. Where one has none it gets none, so that a conversion there and
/// back changes nothing.
const WITH_VERSION: [&str; 4] = ["omero", "image-label", "plate", "well"];

/// The most characters of a version that are looked at.
const MAX_VERSION: usize = 20;
/// The most paths, or reasons, that are told.
const MAX_NAMED: usize = 5;

/// What became of the OME-Zarr metadata of a group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// There are none, or they need not be converted.
    Unconcerned,
    /// They are converted, between the two versions.
    Converted,
    /// They stay as they are: the reason.
    Kept(String),
}

/// The attributes of the group at `path` as a copy in another dialect has them.
pub(crate) fn converted(
    attributes: Object,
    path: &NodePath,
    (from, to): (Dialect, Dialect),
) -> (Object, Outcome) {
    let result = match (from, to) {
        (Dialect::V2, Dialect::V3) => nested(&attributes, path),
        (Dialect::V3, Dialect::V2) => taken_out(&attributes),
        _ => Ok(None),
    };
    match result {
        Ok(Some(converted)) => (converted, Outcome::Converted),
        Ok(None) => (attributes, Outcome::Unconcerned),
        Err(why) => (attributes, Outcome::Kept(why)),
    }
}

/// Attributes of 0.4 as those of 0.5. Nothing if there are none of 0.4, else the reason why they stay.
fn nested(attributes: &Object, path: &NodePath) -> Result<Option<Object>, String> {
    let found: Vec<&str> = MEMBERS
        .into_iter()
        .filter(|name| attributes.get(name).is_some_and(|it| is_ome(name, it, path)))
        .collect();
    // Channels alone describe no image.
    if found.iter().all(|name| *name == "omero") {
        return Ok(None);
    }
    for name in &found {
        let stated = match attributes.get(name) {
            Some(Json::Array(items)) if *name == "multiscales" => {
                items.iter().filter_map(version).find(|version| version != OLD)
            }
            Some(value) if *name != "omero" => version(value).filter(|version| version != OLD),
            _ => None,
        };
        if let Some(version) = stated {
            return Err(format!(
                "OME-Zarr {version} metadata stay as they are, since only {OLD} has the same form as {NEW}"
            ));
        }
    }
    if let Some(Json::Array(items)) = attributes.get("multiscales")
        && found.contains(&"multiscales")
        && items.iter().any(|item| axes(item).is_none())
    {
        return Err(format!(
            "OME-Zarr metadata stay as they are, since axes without names are older than {OLD}"
        ));
    }
    if attributes.contains(OME) {
        return Err(format!(
            "OME-Zarr {OLD} metadata stay as they are, since there is an attribute `{OME}` already"
        ));
    }
    let (mut others, mut ome) = (Object::new(), Object::new().with("version", NEW));
    for (name, value) in attributes.iter() {
        if found.contains(&name) {
            ome.insert(name, member(name, value, (OLD, NEW)));
        } else {
            others.insert(name, value.clone());
        }
    }
    // Only a plate has to have one (OME-Zarr 0.5, "plate").
    if let Some(Json::Object(plate)) = ome.get("plate").filter(|plate| version(plate).is_none()) {
        ome.insert("plate", plate.clone().with("version", NEW));
    }
    Ok(Some(others.with(OME, ome)))
}

/// Attributes of 0.5 as those of 0.4.
fn taken_out(attributes: &Object) -> Result<Option<Object>, String> {
    let Some(ome) = attributes.get(OME).and_then(Json::as_object) else { return Ok(None) };
    if !MEMBERS.iter().any(|name| ome.contains(name)) {
        return Ok(None);
    }
    // Without a version it has the form of 0.5, the first with this attribute.
    let stated = ome.get("version").map(|_| version(&Json::from(ome.clone())));
    if let Some(stated) = stated
        && stated.as_deref() != Some(NEW)
    {
        let stated = stated.unwrap_or_else(|| "of an unknown version".into());
        return Err(format!(
            "OME-Zarr {stated} metadata stay as they are, since only {NEW} has the same form as {OLD}"
        ));
    }
    if let Some((name, _)) = ome.iter().find(|(name, _)| attributes.contains(name)) {
        return Err(format!(
            "OME-Zarr {NEW} metadata stay as they are, since there is an attribute `{name}` already"
        ));
    }
    let others = attributes.iter().filter(|(name, _)| *name != OME);
    let mut flat: Object = others.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    for (name, value) in ome.iter().filter(|(name, _)| *name != "version") {
        flat.insert(name, member(name, value, (NEW, OLD)));
    }
    Ok(Some(flat))
}

/// A member with its versions changed from one to another. Those of `multiscales` are there in 0.4 only.
fn member(name: &str, value: &Json, (from, to): (&str, &str)) -> Json {
    match value {
        Json::Array(items) if name == "multiscales" => items
            .iter()
            .map(|item| match item.as_object() {
                Some(image) => {
                    let mut image = image.clone();
                    if to == OLD {
                        image.insert("version", OLD);
                    } else {
                        image.remove("version");
                    }
                    image.into()
                }
                None => item.clone(),
            })
            .collect(),
        Json::Object(object)
            if WITH_VERSION.contains(&name) && version(value).as_deref() == Some(from) =>
        {
            object.clone().with("version", to).into()
        }
        _ => value.clone(),
    }
}

/// The `version` of an object; some writers make it a number.
fn version(json: &Json) -> Option<String> {
    let version = json.as_object()?.get("version")?;
    let text = version.as_str().or_else(|| version.as_number())?;
    Some(text.chars().take(MAX_VERSION).collect())
}

/// Whether an attribute of 0.4 is what OME-Zarr has under this name, and not another program's.
pub(crate) fn is_ome(name: &str, value: &Json, path: &NodePath) -> bool {
    let is_in = |group: &str| path.names().last() == Some(group);
    match name {
        "multiscales" => {
            value.as_array().is_some_and(|images| !images.is_empty() && images.iter().all(is_image))
        }
        // These two are for the group of that name.
        "labels" => is_in("labels") && is_list_of_texts(value),
        "series" => is_in("OME") && is_list_of_texts(value),
        "plate" => {
            has_list(value, "wells") || has_list(value, "columns") && has_list(value, "rows")
        }
        "well" => has_list(value, "images"),
        "bioformats2raw.layout" => true,
        _ => value.as_object().is_some(),
    }
}

/// Whether the value is a list of texts.
fn is_list_of_texts(value: &Json) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(|item| item.as_str().is_some()))
}

/// Whether a member of the object is a list.
fn has_list(value: &Json, name: &str) -> bool {
    value.get(name).is_some_and(|member| member.as_array().is_some())
}

/// Whether an item of `multiscales` is OME-Zarr's: other conventions have one of the name, with neither version nor axes.
fn is_image(json: &Json) -> bool {
    let Some(image) = json.as_object() else { return false };
    let has_datasets = image.get("datasets").is_some_and(|it| it.as_array().is_some());
    has_datasets && (version(json).is_some() || image.contains("axes"))
}

/// Whether the attributes of a group describe an image of several levels, in any version.
pub(crate) fn has_image(attributes: &Object) -> bool {
    let of_ome =
        attributes.get(OME).and_then(Json::as_object).and_then(|ome| ome.get("multiscales"));
    let images = of_ome.or_else(|| attributes.get("multiscales")).and_then(Json::as_array);
    images.is_some_and(|images| {
        images.iter().any(|image| {
            image.as_object().and_then(|image| image.get("datasets")?.as_array()).is_some()
        })
    })
}

/// The attributes of the group at `path` as a copy has them that cuts these parts out of its levels, and the levels whose
/// transformations now place the part: those with a scale, and a translation or none (0.4 and 0.5, "multiscales").
pub(crate) fn placed(
    mut attributes: Object,
    path: &NodePath,
    parts: &BTreeMap<NodePath, Vec<Steps>>,
) -> (Object, Vec<NodePath>) {
    let mut levels = Vec::new();
    let is_nested = attributes
        .get(OME)
        .and_then(Json::as_object)
        .is_some_and(|ome| ome.contains("multiscales"));
    let holder = if is_nested {
        attributes.get(OME).and_then(Json::as_object).cloned()
    } else {
        Some(attributes.clone())
    };
    let Some(mut holder) = holder else { return (attributes, levels) };
    let Some(images) = holder.get("multiscales").and_then(Json::as_array) else {
        return (attributes, levels);
    };
    let images: Json = images
        .iter()
        .map(|image| placed_image(image, path, parts, &mut levels).unwrap_or_else(|| image.clone()))
        .collect();
    if levels.is_empty() {
        return (attributes, levels);
    }
    if let Some(omero) = cut_channels(&holder, &images, path, parts) {
        holder.insert("omero", omero);
    }
    holder.insert("multiscales", images);
    if is_nested {
        attributes.insert(OME, holder);
    } else {
        attributes = holder;
    }
    (attributes, levels)
}

/// The attributes of the group at `path` as a copy has them that has only some of the nodes: without the levels, labels, wells and images
/// of wells that it does not have, so that readers do not look for them (0.4 and 0.5, "multiscales", "labels", "plate", "well"). An
/// image without any level is no image.
pub(crate) fn listing_copied(
    mut attributes: Object,
    path: &NodePath,
    is_copied: &dyn Fn(&NodePath) -> bool,
) -> Object {
    let nested = attributes.get(OME).and_then(Json::as_object).cloned();
    let is_nested = nested.is_some();
    let mut holder = nested.unwrap_or_else(|| attributes.clone());
    let is_listed = |name: &str| path.join(name).map_or(true, |node| is_copied(&node));
    let is_path_listed = |item: &Json| {
        let name = item.as_object().and_then(|item| item.get("path")?.as_str());
        name.is_none_or(is_listed)
    };
    if let Some(images) = holder.get("multiscales").and_then(Json::as_array)
        && images.iter().any(|image| is_nested || is_image(image))
    {
        let images: Vec<Json> = images
            .iter()
            .filter_map(|image| {
                let Some(Json::Array(levels)) = image.as_object().and_then(|it| it.get("datasets"))
                else {
                    return Some(image.clone());
                };
                let levels: Vec<Json> =
                    levels.iter().filter(|level| is_path_listed(level)).cloned().collect();
                let is_empty = levels.is_empty();
                let image = image.as_object()?.clone().with("datasets", levels);
                (!is_empty).then(|| image.into())
            })
            .collect();
        if images.is_empty() {
            holder.remove("multiscales");
            holder.remove("omero");
        } else {
            holder.insert("multiscales", images);
        }
    }
    if let Some(labels) = holder.get("labels").filter(|labels| is_list_of_texts(labels)) {
        let labels = labels.as_array().unwrap_or_default().iter();
        let labels: Vec<Json> =
            labels.filter(|name| name.as_str().is_none_or(is_listed)).cloned().collect();
        holder.insert("labels", labels);
    }
    // The images that bioformats2raw wrote are listed in a group beside them.
    if path.name() == Some(OME_GROUP)
        && let Some(above) = path.parent()
        && let Some(series) = holder.get("series").filter(|series| is_list_of_texts(series))
    {
        let is_there = |name: &str| above.join(name).map_or(true, |node| is_copied(&node));
        let series = series.as_array().unwrap_or_default().iter();
        let series: Vec<Json> =
            series.filter(|name| name.as_str().is_none_or(is_there)).cloned().collect();
        holder.insert("series", series);
    }
    for (member, list) in [("plate", "wells"), ("well", "images")] {
        let Some(object) = holder.get(member).and_then(Json::as_object) else { continue };
        let Some(items) = object.get(list).and_then(Json::as_array) else { continue };
        let items: Vec<Json> = items.iter().filter(|item| is_path_listed(item)).cloned().collect();
        let object = object.clone().with(list, items);
        holder.insert(member, object);
    }
    if is_nested {
        attributes.insert(OME, holder);
        attributes
    } else {
        holder
    }
}

/// The attribute `omero` with the channels of the part alone; `None` if it has all of them, or none are listed.
fn cut_channels(
    holder: &Object,
    images: &Json,
    path: &NodePath,
    parts: &BTreeMap<NodePath, Vec<Steps>>,
) -> Option<Object> {
    let omero = holder.get("omero")?.as_object()?;
    let channels = omero.get("channels")?.as_array()?;
    let image = images.as_array()?.first()?.as_object()?;
    let axis = channel_axis(image)?;
    let first = image.get("datasets")?.as_array()?.first()?.as_object()?;
    let level = path.join(first.get("path")?.as_str()?).ok()?;
    let steps = parts.get(&level)?.get(axis)?;
    let kept: Option<Vec<Json>> = (0..steps.len)
        .map(|at| channels.get(usize::try_from(steps.at(at)?).ok()?).cloned())
        .collect();
    let kept = kept.filter(|kept| kept.len() < channels.len())?;
    Some(omero.clone().with("channels", kept))
}

/// The axis of an image along which its channels are.
fn channel_axis(image: &Object) -> Option<usize> {
    image.get("axes")?.as_array()?.iter().position(|axis| {
        let kind = axis.as_object().and_then(|axis| axis.get("type")?.as_str());
        kind == Some("channel")
    })
}

/// An image as [`placed`] returns it; `None` if it has no list of levels.
fn placed_image(
    image: &Json,
    group: &NodePath,
    parts: &BTreeMap<NodePath, Vec<Steps>>,
    levels: &mut Vec<NodePath>,
) -> Option<Json> {
    let mut image = image.as_object()?.clone();
    let channels = channel_axis(&image);
    let datasets: Json = image
        .get("datasets")?
        .as_array()?
        .iter()
        .map(|dataset| {
            let Some((level, placed)) = placed_level(dataset, group, parts, channels) else {
                return dataset.clone();
            };
            levels.push(level);
            placed
        })
        .collect();
    image.insert("datasets", datasets);
    Some(image.into())
}

/// A level whose transformations place the part that is cut out of it, and the path of its array.
fn placed_level(
    dataset: &Json,
    group: &NodePath,
    parts: &BTreeMap<NodePath, Vec<Steps>>,
    channels: Option<usize>,
) -> Option<(NodePath, Json)> {
    let mut dataset = dataset.as_object()?.clone();
    let level = group.join(dataset.get("path")?.as_str()?).ok()?;
    let mut part = parts.get(&level)?.clone();
    // Channels have no position; the list of them is cut instead.
    if let Some(channels) = channels.and_then(|axis| part.get_mut(axis)) {
        (channels.start, channels.step) = (0, 1);
    }
    let transformations = dataset.get("coordinateTransformations")?.as_array()?;
    let (scale, translation) = match transformations {
        [scale] => (vector(scale, "scale")?, vec![0.0; part.len()]),
        [scale, translation] => (vector(scale, "scale")?, vector(translation, "translation")?),
        _ => return None,
    };
    // A scale is positive.
    let is_backwards = part.iter().any(|steps| steps.step < 0);
    if scale.len() != part.len() || translation.len() != part.len() || is_backwards {
        return None;
    }
    let transformation = |kind: &str, numbers: Vec<f64>| {
        let numbers: Json = numbers.into_iter().map(number).collect();
        Json::from(Object::new().with("type", kind).with(kind, numbers))
    };
    let steps = || part.iter().zip(&scale);
    let moved = steps().zip(&translation);
    let moved = moved.map(|((steps, scale), moved)| moved + scale * steps.start as f64).collect();
    let scale = steps().map(|(steps, scale)| scale * steps.step as f64).collect();
    let transformations =
        vec![transformation("scale", scale), transformation("translation", moved)];
    dataset.insert("coordinateTransformations", transformations);
    Some((level, dataset.into()))
}

/// The numbers of a transformation of this type.
fn vector(transformation: &Json, kind: &str) -> Option<Vec<f64>> {
    let transformation = transformation.as_object()?;
    if transformation.get("type")?.as_str()? != kind {
        return None;
    }
    transformation.get(kind)?.as_array()?.iter().map(Json::as_f64).collect()
}

/// A number as people write it: whole ones without a fraction.
fn number(value: f64) -> Json {
    let is_whole = value.fract() == 0.0 && value.abs() < 1e15;
    if is_whole { Json::from(value as i64) } else { Json::from(value) }
}

/// The names of an image's axes.
fn axes(image: &Json) -> Option<Vec<String>> {
    let axes = image.as_object()?.get("axes")?.as_array()?;
    axes.iter().map(|axis| Some(axis.as_object()?.get("name")?.as_str()?.to_owned())).collect()
}

/// The arrays that are levels of images of 0.4 in a hierarchy of v2, with the names of their axes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels(HashMap<NodePath, Vec<String>>);

impl Levels {
    /// Those of the images in these groups.
    pub fn of<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Levels {
        let mut levels = Levels::default();
        for node in nodes {
            let Node::Group(group) = node else { continue };
            if group.hierarchy().dialect() != Dialect::V2 {
                continue;
            }
            let (path, attributes) = (group.path(), group.attributes());
            if let Ok(Some(_)) = nested(attributes, path)
                && let Some(Json::Array(images)) = attributes.get("multiscales")
            {
                images.iter().for_each(|image| levels.add(path, image));
            }
        }
        levels
    }

    fn add(&mut self, group: &NodePath, image: &Json) {
        let Some(names) = axes(image) else { return };
        let datasets = image.as_object().and_then(|image| image.get("datasets")?.as_array());
        for dataset in datasets.unwrap_or_default() {
            let path = dataset.as_object().and_then(|dataset| dataset.get("path")?.as_str());
            // The first image that has an array names its axes.
            if let Some(Ok(path)) = path.map(|path| group.join(path)) {
                self.0.entry(path).or_insert_with(|| names.clone());
            }
        }
    }

    /// The names of the axes of an array, if it is a level of an image and has as many axes.
    pub fn axes(&self, path: &NodePath, rank: usize) -> Option<&[String]> {
        self.0.get(path).map(Vec::as_slice).filter(|names| names.len() == rank)
    }

    /// Names the axes of an array that goes to v3, where OME-Zarr wants them (0.5, "multiscales"). Returns what there is to
    /// say of it.
    pub fn name_axes(&self, path: &NodePath, metadata: &mut ArrayMetadata) -> Option<Naming> {
        let axes = self.axes(path, metadata.rank())?;
        match &metadata.dimension_names {
            None => {
                metadata.dimension_names = Some(axes.iter().cloned().map(Some).collect());
                Some(Naming::Named)
            }
            Some(names)
                if names
                    .iter()
                    .map(Option::as_deref)
                    .eq(axes.iter().map(|it| Some(it.as_str()))) =>
            {
                None
            }
            Some(_) => Some(Naming::Differs),
        }
    }
}

/// The arrays that are levels of the images, or labels, in groups among these nodes.
pub(crate) fn image_levels<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> HashSet<NodePath> {
    let mut levels = HashSet::new();
    for node in nodes {
        let Node::Group(group) = node else { continue };
        let attributes = group.attributes();
        let inner = attributes.get(OME).and_then(Json::as_object).unwrap_or(attributes);
        let images = inner.get("multiscales").and_then(Json::as_array).unwrap_or_default();
        for image in images {
            let datasets = image.as_object().and_then(|image| image.get("datasets")?.as_array());
            let paths = datasets.unwrap_or_default().iter().filter_map(|dataset| {
                group.path().join(dataset.as_object()?.get("path")?.as_str()?).ok()
            });
            levels.extend(paths);
        }
    }
    levels
}

/// The levels among the nodes of a tree, the topmost of which is first. Reads the documents of the groups above that one, which may
/// describe it.
pub(crate) fn levels_among(nodes: &[Node]) -> HashSet<NodePath> {
    let first = nodes.first();
    if let Some(Node::Array(array)) = first
        && array.path().is_root()
        && array.hierarchy().dialect() != Dialect::V3
    {
        // It was opened by its own path, as the root of its hierarchy.
        let hierarchy = array.hierarchy();
        let mut options = OpenOptions::new(hierarchy.registry().clone());
        options.options = hierarchy.options().clone();
        let above = hierarchy_above(&hierarchy.store().name(), &options);
        let array = above.and_then(|(hierarchy, path)| hierarchy.array(&path).ok());
        let is_level = array.is_some_and(|array| {
            levels_among(&[Node::Array(array.clone())]).contains(array.path())
        });
        return is_level.then(NodePath::root).into_iter().collect();
    }
    let above = first.into_iter().flat_map(|node| {
        node.path().ancestors().filter_map(|path| node.hierarchy().node(&path).ok())
    });
    image_levels(nodes.iter().chain(&above.collect::<Vec<_>>()))
}

/// The names of the axes of a level of an OME-Zarr image in v2, where the image and not the array names them; `None` for any other
/// array. Reads the documents of the groups above the array.
pub fn image_axes(array: &Array) -> Option<Vec<String>> {
    let mut path = array.path().clone();
    while let Some(parent) = path.parent() {
        if let Ok(group) = array.hierarchy().group(&parent) {
            let levels = Levels::of([&Node::Group(group)]);
            if let Some(axes) = levels.axes(array.path(), array.rank()) {
                return Some(axes.to_vec());
            }
        }
        path = parent;
    }
    None
}

/// What was done about the names of the axes of an image's level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// It had none, and got those of the image.
    Named,
    /// It has others, and keeps them.
    Differs,
}

/// What a person is told of a conversion of many nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OmeReport {
    converted: Vec<NodePath>,
    kept: Vec<(NodePath, String)>,
    named: Vec<NodePath>,
    differing: Vec<NodePath>,
}

impl OmeReport {
    /// Notes what became of a group.
    pub fn add_group(&mut self, path: &NodePath, outcome: Outcome) {
        match outcome {
            Outcome::Unconcerned => {}
            Outcome::Converted => self.converted.push(path.clone()),
            Outcome::Kept(why) => self.kept.push((path.clone(), why)),
        }
    }

    /// Notes what became of an array.
    pub fn add_array(&mut self, path: &NodePath, naming: Naming) {
        match naming {
            Naming::Named => self.named.push(path.clone()),
            Naming::Differs => self.differing.push(path.clone()),
        }
    }

    /// Adds what another part of the work did.
    pub fn extend(&mut self, other: OmeReport) {
        self.converted.extend(other.converted);
        self.kept.extend(other.kept);
        self.named.extend(other.named);
        self.differing.extend(other.differing);
    }

    /// All of it in a few lines, however many nodes there are, in a hierarchy that goes to this dialect.
    pub fn notes(&self, to: Dialect) -> Vec<String> {
        let mut notes = Vec::new();
        let kept = "`--keep-attributes` leaves them as they are";
        if self.converted.is_empty() {
            if !self.named.is_empty() {
                let arrays = places("array", &self.named);
                notes.push(format!("OME-Zarr metadata name the dimensions of {arrays}; {kept}"));
            }
        } else {
            let (from, to) = if to == Dialect::V3 { (OLD, NEW) } else { (NEW, OLD) };
            let groups = places("group", &self.converted);
            let named = match self.named.len() {
                0 => String::new(),
                1 => ", and name the dimensions of 1 array".to_owned(),
                count => format!(", and name the dimensions of {count} arrays"),
            };
            notes.push(format!(
                "OME-Zarr metadata are converted from {from} to {to} in {groups}{named}; {kept}"
            ));
        }
        if !self.differing.is_empty() {
            let arrays = places("array", &self.differing);
            notes.push(format!(
                "dimension names that are not the axes of the image, which OME-Zarr {NEW} requires, stay in {arrays}"
            ));
        }
        let mut kept: BTreeMap<&str, Vec<NodePath>> = BTreeMap::new();
        for (path, why) in &self.kept {
            kept.entry(why).or_default().push(path.clone());
        }
        // A version may be any text: there may be as many reasons as groups.
        let others: usize = kept.values().skip(MAX_NAMED).map(Vec::len).sum();
        let kept = kept.into_iter().take(MAX_NAMED);
        notes.extend(kept.map(|(why, paths)| format!("{why}: {}", places("group", &paths))));
        if others > 0 {
            notes.push(format!("{others} more groups keep theirs for other reasons"));
        }
        notes
    }
}

/// How many nodes, and the first of them: `3 groups (/a, /b, /c)`.
fn places(kind: &str, paths: &[NodePath]) -> String {
    let plural = if paths.len() == 1 { "" } else { "s" };
    let named: Vec<&str> = paths.iter().take(MAX_NAMED).map(NodePath::as_str).collect();
    let more = if paths.len() > MAX_NAMED { ", …" } else { "" };
    format!("{} {kind}{plural} ({}{more})", paths.len(), named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: &str = r#""axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}], "datasets": [{"path": "0"}]"#;

    fn object(text: &str) -> Object {
        match Json::parse(text.as_bytes()) {
            Ok(Json::Object(object)) => object,
            other => panic!("{other:?} of {text}"),
        }
    }

    fn at(path: &str, text: &str, dialects: (Dialect, Dialect)) -> (Object, Outcome) {
        converted(object(text), &NodePath::new(path).unwrap(), dialects)
    }

    const UP: (Dialect, Dialect) = (Dialect::V2, Dialect::V3);
    const DOWN: (Dialect, Dialect) = (Dialect::V3, Dialect::V2);

    #[test]
    fn every_member_goes_there_and_back() {
        let image = format!(r#"{{"name": "a", {AXES}, "metadata": {{"version": "0.4"}}"#);
        for (path, old, new) in [
            (
                "/",
                format!(
                    r#"{{"multiscales": [{image}, "version": "0.4"}}], "omero": {{"version": "0.4", "channels": []}}, "units": {{"version": "0.4"}}}}"#
                ),
                format!(
                    r#"{{"units": {{"version": "0.4"}}, "ome": {{"version": "0.5", "multiscales": [{image}}}], "omero": {{"version": "0.5", "channels": []}}}}}}"#
                ),
            ),
            (
                "/labels",
                r#"{"labels": ["cells"]}"#.into(),
                r#"{"ome": {"version": "0.5", "labels": ["cells"]}}"#.into(),
            ),
            (
                "/labels/cells",
                format!(
                    r#"{{"image-label": {{"colors": []}}, "multiscales": [{{{AXES}, "version": "0.4"}}]}}"#
                ),
                format!(
                    r#"{{"ome": {{"version": "0.5", "image-label": {{"colors": []}}, "multiscales": [{{{AXES}}}]}}}}"#
                ),
            ),
            (
                "/",
                r#"{"plate": {"wells": [], "version": "0.4"}, "bioformats2raw.layout": 3}"#.into(),
                r#"{"ome": {"version": "0.5", "plate": {"wells": [], "version": "0.5"}, "bioformats2raw.layout": 3}}"#.into(),
            ),
            (
                "/A/1",
                r#"{"well": {"images": [{"path": "0"}], "version": "0.4"}}"#.into(),
                r#"{"ome": {"version": "0.5", "well": {"images": [{"path": "0"}], "version": "0.5"}}}"#.into(),
            ),
            (
                "/x/OME",
                r#"{"series": ["0", "1"]}"#.into(),
                r#"{"ome": {"version": "0.5", "series": ["0", "1"]}}"#.into(),
            ),
        ] {
            assert_eq!(at(path, &old, UP), (object(&new), Outcome::Converted), "{old}");
            assert_eq!(at(path, &new, DOWN), (object(&old), Outcome::Converted), "{new}");
        }
        // A plate of 0.5 has a version.
        let (plate, _) = at("/", r#"{"plate": {"wells": []}}"#, UP);
        let expected = r#"{"ome": {"version": "0.5", "plate": {"wells": [], "version": "0.5"}}}"#;
        assert_eq!(plate, object(expected));
    }

    #[test]
    fn what_is_no_ome_zarr_metadata_is_left_alone() {
        for text in [
            "{}",
            r#"{"labels": ["cat", "dog"]}"#,
            r#"{"series": ["a"], "plate": "AB 12", "well": {"depth": 3}}"#,
            // ndpyramid's.
            r#"{"multiscales": [{"datasets": [{"path": "0", "pixels_per_tile": 128}], "type": "reduce"}]}"#,
            // GeoZarr's.
            r#"{"multiscales": {"layout": [{"asset": "0"}]}}"#,
            r#"{"multiscales": []}"#,
            r#"{"multiscales": [7]}"#,
            r#"{"omero": {"channels": []}}"#,
            r#"{"ome": {"multiscales": [], "version": "0.5"}}"#,
        ] {
            assert_eq!(at("/g", text, UP), (object(text), Outcome::Unconcerned), "{text}");
        }
        for text in
            [r#"{"ome": "me"}"#, r#"{"ome": {"version": "0.5", "x": 1}}"#, r#"{"plate": 1}"#]
        {
            assert_eq!(at("/g", text, DOWN), (object(text), Outcome::Unconcerned), "{text}");
        }
        let image = format!(r#"{{"multiscales": [{{{AXES}}}]}}"#);
        for dialects in [(Dialect::V2, Dialect::V2), (Dialect::Draft, Dialect::V3), DOWN] {
            assert_eq!(at("/", &image, dialects), (object(&image), Outcome::Unconcerned));
        }
    }

    #[test]
    fn other_versions_and_names_that_are_taken_stay_with_the_reason() {
        let image = |version: &str| format!(r#"{{{AXES}, "version": {version}}}"#);
        let old = image(r#""0.4""#);
        for (dialects, text, why) in [
            (UP, format!(r#"{{"multiscales": [{}]}}"#, image(r#""0.3""#)), "0.3 metadata"),
            (UP, format!(r#"{{"multiscales": [{}]}}"#, image("0.2")), "0.2 metadata"),
            (UP, r#"{"multiscales": [{"axes": ["y"], "datasets": []}]}"#.into(), "without names"),
            (UP, r#"{"well": {"images": [], "version": "0.1"}}"#.into(), "0.1 metadata"),
            (UP, format!(r#"{{"multiscales": [{old}], "ome": {{}}}}"#), "`ome` already"),
            (DOWN, r#"{"ome": {"multiscales": [], "version": "0.6"}}"#.into(), "0.6 metadata"),
            (DOWN, r#"{"ome": {"multiscales": [], "version": []}}"#.into(), "an unknown version"),
            (DOWN, r#"{"ome": {"labels": []}, "labels": 1}"#.into(), "`labels` already"),
        ] {
            let (attributes, outcome) = at("/", &text, dialects);
            assert_eq!(attributes, object(&text));
            let Outcome::Kept(reason) = outcome else { panic!("{outcome:?} of {text}") };
            assert!(reason.contains(why), "{reason}");
        }
    }

    #[test]
    fn a_report_is_short_however_many_groups_there_are() {
        let mut report = OmeReport::default();
        let path = |n: usize| NodePath::new(&format!("/g{n}")).unwrap();
        (0..1000).for_each(|n| report.add_group(&path(n), Outcome::Converted));
        (0..1000).for_each(|n| report.add_group(&path(n), Outcome::Kept(format!("reason {n}"))));
        let notes = report.notes(Dialect::V3);
        assert!(
            notes[0].contains("0.4 to 0.5 in 1000 groups (/g0, /g1, /g2, /g3, /g4, …)"),
            "{}",
            notes[0]
        );
        assert_eq!(notes.len(), 2 + MAX_NAMED);
        assert_eq!(notes[notes.len() - 1], "995 more groups keep theirs for other reasons");
    }
}

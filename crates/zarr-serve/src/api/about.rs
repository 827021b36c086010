//! Describes a node: metadata, attributes, documents, axes, and how it is shown.

use zarr::runtime::block_on;
use zarr::store::GetOptions;
use zarr::{Array, ArrayMetadata, Json, Node, NodePath, Object};
use zarr_plot::meaning::{Axis, AxisKind, Image, Meaning, MissingRule, label_images};
use zarr_plot::picture::{PictureError, Subject, narrowing_at};

use super::{Answered, Refusal, nodes, parameters, plate, shown};
use crate::{Answer, Question, Targets};

/// Larger documents are not in an answer.
const LARGEST_DOCUMENT: u64 = 1 << 20;

/// A node: `{"path", "target", "kind", "format", "dialect", "title", "attributes", "documents", "array" or "children", …}`; of an image,
/// a plate or a well also `image`, `plate` or `fields`.
///
/// Parameter: `path`.
pub(crate) fn node(question: &Question, targets: &Targets) -> Answered {
    let (node, served) = parameters::node(question, targets)?;
    let target = served.name().to_owned();
    let inside = node.path().as_str().trim_start_matches('/');
    let path = if inside.is_empty() { target.clone() } else { format!("{target}/{inside}") };
    let hierarchy = node.hierarchy();
    let format = hierarchy.era().map_or_else(
        || hierarchy.format_name().to_owned(),
        |era| format!("{} ({})", hierarchy.format_name(), era.name()),
    );
    let attributes = Json::from(node.attributes()).into_standard();
    let mut object = Object::new()
        .with("path", path)
        .with("target", target.clone())
        .with("kind", node.kind().name())
        .with("format", format)
        .with("dialect", hierarchy.dialect().name())
        .with("title", nodes::title(&node.attributes()).map_or(Json::Null, Json::from))
        .with("attributes", attributes)
        .with("documents", documents(&node));
    match &node {
        Node::Array(array) => {
            let (members, mut notes) = of_array(array, &target)?;
            object.insert("array", members);
            notes.extend(hierarchy.warnings().iter().map(ToString::to_string).take(20));
            object.insert("notes", notes.into_iter().map(Json::from).collect::<Json>());
        }
        Node::Group(group) => {
            for (name, value) in nodes::of_group(group)?.iter() {
                let name = if name == "note" { "children_note" } else { name };
                object.insert(name, value.clone());
            }
            for (name, value) in plate::members(group).iter() {
                object.insert(name, value.clone());
            }
            let images = Image::of_group(group);
            if let Some(level) = images.first().and_then(|image| image.levels.first())
                && let Ok(place) = group.path().join(&level.path)
            {
                object.insert("image", format!("{target}{place}"));
            }
            object.insert(
                "notes",
                hierarchy
                    .warnings()
                    .iter()
                    .take(20)
                    .map(|warning| Json::from(warning.to_string()))
                    .collect::<Json>(),
            );
        }
    }
    Ok(Answer::json(object))
}

/// The documents of a node as they are stored, by their keys.
fn documents(node: &Node) -> Json {
    let hierarchy = node.hierarchy();
    let mut found = Object::new();
    for key in hierarchy.format().document_keys(node.path()).unwrap_or_default() {
        let got = block_on(hierarchy.store().get(&key, GetOptions::at_most(LARGEST_DOCUMENT)));
        let bytes = match got {
            Ok(got) => got.and_then(|got| got.bytes),
            Err(e) => {
                found.insert(key.as_str(), format!("the document is not shown: {e}"));
                continue;
            }
        };
        let Some(bytes) = bytes else { continue };
        let json = match Json::parse_tolerant(&bytes) {
            Ok((json, _)) => json.into_standard(),
            Err(why) => Json::from(format!("the document is not JSON: {why}")),
        };
        found.insert(key.as_str(), json);
    }
    found.into()
}

/// What is known of an array, and what a reader should know besides.
fn of_array(array: &Array, target: &str) -> Result<(Object, Vec<String>), Refusal> {
    let metadata = array.metadata();
    let mut notes = Vec::new();
    let subject = Subject::of(array.clone(), false).unwrap_or_else(|e| {
        // Without coordinates the array can be seen all the same.
        if let PictureError::Read(e) = e {
            notes.push(format!("the coordinates cannot be read: {}", nodes::reason(&e)));
        }
        let axes = array.shape().into_iter().map(Axis::plain).collect();
        let meaning = Meaning::of(array, MissingRule::Declared);
        Subject { array: array.clone(), meaning, axes, image: None }
    });
    let Subject { meaning, axes, image: found, .. } = &subject;
    notes.extend(meaning.warnings.iter().cloned());
    let image = found.as_ref().map(|(image, _)| image);
    let unreadable = metadata.unsupported.first().map(ToString::to_string).or_else(|| {
        let hierarchy = array.hierarchy();
        metadata.chain(hierarchy.registry(), hierarchy.dialect()).err().map(|e| e.to_string())
    });
    let inner = ArrayMetadata::clone(&metadata).unsharded();
    let size = metadata
        .data_type
        .repr()
        .filter(|_| !metadata.data_type.is_variable())
        .map(|repr| repr.size() as u64);
    let codecs = metadata.codecs.iter().map(|spec| {
        Json::from(
            Object::new()
                .with("name", spec.name.as_str())
                .with("configuration", spec.configuration.clone()),
        )
    });
    let units = meaning.units.clone().filter(|_| meaning.time.is_none());
    let mut object = Object::new()
        .with("shape", &metadata.shape[..])
        .with(
            "axes",
            metadata
                .shape
                .iter()
                .enumerate()
                .map(|(n, &len)| axis(axes.get(n), n, len, image.is_some()))
                .collect::<Json>(),
        )
        .with("type", metadata.data_type.to_string())
        .with("item_size", size.map_or(Json::Null, Json::from))
        .with("chunk_shape", inner.chunk_shape().as_deref().map_or(Json::Null, Json::from))
        .with("shard_shape", metadata.shard_shape().as_deref().map_or(Json::Null, Json::from))
        .with("codecs", codecs.collect::<Json>())
        .with("fill_value", metadata.declared_fill.clone().into_standard())
        .with("units", units.map_or(Json::Null, Json::from))
        .with(
            "limits",
            Object::new()
                .with("elements", parameters::MOST_ELEMENTS)
                .with("decoded", parameters::MOST_DECODED),
        )
        .with("view", shown::members(&subject));
    if let Some(why) = unreadable {
        object.insert("unreadable", why);
    }
    if let Some((image, level)) = found {
        let along = axes.iter().find(|axis| axis.kind == AxisKind::Channel);
        let channels = along.map(|axis| image.channels_along(axis.len)).unwrap_or_default();
        object.insert("channels", channels.into_iter().map(channel).collect::<Json>());
        // Levels, and labels over them, are of use to the first of them, which is the largest.
        if *level == 0 {
            object.insert("levels", levels(array, image, target));
            object.insert("overlays", overlays(array, image, target, &mut notes));
        }
    }
    Ok((object, notes))
}

/// A channel: `{"color", "window", "active", "inverted", "label"}`.
fn channel(channel: zarr_plot::meaning::Channel) -> Json {
    let [red, green, blue] = channel.color;
    let window = channel
        .window
        .map_or(Json::Null, |(low, high)| Json::from(vec![Json::from(low), Json::from(high)]));
    let object = Object::new()
        .with("color", format!("{red:02x}{green:02x}{blue:02x}"))
        .with("window", window)
        .with("active", channel.active)
        .with("inverted", channel.inverted);
    Json::from(match &channel.label {
        Some(label) => object.with("label", label.as_str()),
        None => object,
    })
}

/// The path of an image's group: that of its largest level, the array, without the level's own path.
fn group_of(array: &Array, image: &Image) -> Option<NodePath> {
    let above = image.levels.first()?;
    let depth = above.path.split('/').filter(|part| !part.is_empty() && *part != ".").count();
    array.path().ancestors().filter(|path| path != array.path()).nth(depth.max(1) - 1)
}

/// The images of labels of an image: `[{"name", "axes", "levels", "label_colors"}]`, where `axes` are the image's axes that its
/// labels have, by their numbers.
fn overlays(array: &Array, image: &Image, target: &str, notes: &mut Vec<String>) -> Json {
    let mut found = Vec::new();
    let group = group_of(array, image).and_then(|path| array.hierarchy().group(&path).ok());
    let images = group.map(|group| label_images(&group));
    let images = images.transpose().unwrap_or_else(|e| {
        notes.push(format!("the labels cannot be read: {}", nodes::reason(&e)));
        None
    });
    for (name, group) in images.unwrap_or_default() {
        let Some(labels) = Image::of_group(&group).into_iter().next() else { continue };
        let first = labels.levels.first().and_then(|level| group.path().join(&level.path).ok());
        let Some(first) = first.and_then(|path| array.hierarchy().array(&path).ok()) else {
            continue;
        };
        let axes: Option<Vec<usize>> = labels
            .axes
            .iter()
            .map(|(own, ..)| image.axes.iter().position(|(name, ..)| name == own))
            .collect();
        let Some(axes) = axes.filter(|axes| axes.len() == first.rank()) else {
            notes.push(format!("the labels {name} have other axes than the image"));
            continue;
        };
        let Ok(subject) = Subject::of(first.clone(), false) else { continue };
        let axes: Json = axes.iter().map(|&axis| Json::from(axis as u64)).collect();
        let object = Object::new()
            .with("name", name)
            .with("axes", axes)
            .with("levels", levels(&first, &labels, target))
            .with("label_colors", shown::label_colors(&subject));
        found.push(Json::from(object));
    }
    found.into()
}

/// The levels of an image, the array itself first, that can be opened and are of its rank.
fn levels(array: &Array, image: &Image, target: &str) -> Json {
    let mut found = Vec::new();
    let Some(group) = group_of(array, image) else { return found.into() };
    for level in &image.levels {
        let Ok(place) = group.join(&level.path) else { continue };
        let Ok(other) = array.hierarchy().array(&place) else { continue };
        let shape = other.shape();
        if shape.len() == array.rank()
            && !shape.contains(&0)
            && shape.iter().zip(array.shape()).all(|(&a, b)| a <= b)
        {
            let object =
                Object::new().with("path", format!("{target}{place}")).with("shape", &shape[..]);
            found.push(Json::from(object));
        }
    }
    found.into()
}

/// An axis: `{"name", "size", "units", "kind", "title", "has_coordinates", "upwards", "step", "metres", "narrowing"}`, where `step` is from
/// one element to the next in its units, if that is always the same, `metres` what its unit is, if it is one of length, and `narrowing`, of
/// latitudes, how long a degree of longitude is in their middle beside one of latitude.
fn axis(axis: Option<&Axis>, number: usize, len: u64, is_image: bool) -> Json {
    let unnamed = format!("axis {number}");
    let Some(axis) = axis else {
        return Object::new()
            .with("name", unnamed)
            .with("size", len)
            .with("has_coordinates", false)
            .into();
    };
    let units = axis.units.clone().unwrap_or_default();
    let is_angle = units.to_ascii_lowercase().starts_with("degree");
    let kind = match axis.kind {
        AxisKind::X if is_angle => "lon",
        AxisKind::Y if is_angle => "lat",
        AxisKind::X => "x",
        AxisKind::Y => "y",
        AxisKind::Z => "z",
        AxisKind::Time => "time",
        AxisKind::Channel => "channel",
        AxisKind::Other => "other",
    };
    let is_upwards = len > 1 && !is_image && axis.is_upwards(0, len - 1);
    // Steps tell how far elements are from each other, which matters in space only.
    let even = if axis.kind.is_space() { axis.even() } else { None };
    let step = even.map(|even| even.scale);
    let narrowing = even
        .filter(|_| kind == "lat" && len > 0)
        .map(|even| narrowing_at(even.apply((len - 1) as f64 / 2.0)));
    let length = axis.unit_of_length();
    Object::new()
        .with("name", axis.name.clone().unwrap_or(unnamed))
        .with("size", len)
        .with("units", axis.units.clone().map_or(Json::Null, Json::from))
        .with("kind", kind)
        .with("title", axis.title.clone().map_or(Json::Null, Json::from))
        .with("has_coordinates", axis.has_coordinates())
        .with("upwards", is_upwards)
        .with("step", step.map_or(Json::Null, Json::from))
        .with("metres", length.map_or(Json::Null, Json::from))
        .with("narrowing", narrowing.map_or(Json::Null, Json::from))
        .into()
}

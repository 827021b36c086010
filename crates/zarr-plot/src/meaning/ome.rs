//! Reads what OME-Zarr 0.4, 0.5 and 0.6 say of an image: axes, levels, channels.
//!
//! In 0.4 a group has the attributes `multiscales` and `omero`, in 0.5 both are in the attribute `ome`. Earlier versions have axes
//! as names only, or none. In 0.6 the axes are those of a coordinate system, into which each level has one transformation: a scale,
//! the identity, or a sequence of a scale and a translation.

use std::collections::HashMap;
use std::sync::Arc;

use zarr_core::{Array, ArrayMetadata, ErrorKind, Group, Json, NodePath, Object, Result};

use super::axes::AxisKind;
use super::missing::items;
use super::text;

/// A picture in several sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Name, kind and unit of each axis.
    pub axes: Vec<(String, AxisKind, Option<String>)>,
    /// Its levels, mostly the largest first.
    pub levels: Vec<Level>,
    /// Its channels, in their order along the axis of channels; none, if it does not describe them.
    pub channels: Arc<[Channel]>,
    /// The position along the axis of time that is shown first: `omero.rdefs.defaultT`.
    pub default_t: Option<u64>,
    /// The position along z that is shown first: `omero.rdefs.defaultZ`.
    pub default_z: Option<u64>,
    /// Whether its elements are labels: numbers of objects, and 0 for none.
    pub is_label: bool,
    /// Labels and their colours: red, green, blue and opacity. Other labels have none of their own.
    pub label_colors: Arc<[(f64, [u8; 4])]>,
}

/// One size of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The array's path from the image's group.
    pub path: String,
    /// Along each axis, how far from one element to the next, in the axis' unit.
    pub scale: Vec<f64>,
    /// Along each axis, the coordinate of the first element.
    pub translation: Vec<f64>,
}

/// How a channel is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// Its name.
    pub label: Option<String>,
    /// Red, green, blue of its brightest elements.
    pub color: [u8; 3],
    /// The values that are black and of full colour.
    pub window: Option<(f64, f64)>,
    /// Whether it is shown at first.
    pub active: bool,
    /// Whether low values are bright.
    pub inverted: bool,
}

/// The most channels that are shown at first where an image does not describe them.
const MAX_ACTIVE_CHANNELS: usize = 6;

impl Channel {
    /// Channel `n` of `count` of which nothing is known: the colours are those of vizarr (`getDefaultColors` in its `utils.ts`).
    fn undescribed(n: usize, count: usize) -> Channel {
        Channel {
            label: None,
            color: default_color(n, count),
            window: None,
            active: n < MAX_ACTIVE_CHANNELS,
            inverted: false,
        }
    }
}

/// White alone; magenta and green; red, green and blue; else cyan, yellow, magenta, red, green, blue, and white for the others.
fn default_color(n: usize, count: usize) -> [u8; 3] {
    const MAGENTA: [u8; 3] = [255, 0, 255];
    const RED: [u8; 3] = [255, 0, 0];
    const GREEN: [u8; 3] = [0, 255, 0];
    const BLUE: [u8; 3] = [0, 0, 255];
    let colors: &[[u8; 3]] = match count {
        1 => &[],
        2 => &[MAGENTA, GREEN],
        3 => &[RED, GREEN, BLUE],
        _ => &[[0, 255, 255], [255, 255, 0], MAGENTA, RED, GREEN, BLUE],
    };
    colors.get(n).copied().unwrap_or([255; 3])
}

/// An image with more axes is left out: OME-Zarr has up to five, and each level has numbers for each axis.
const MAX_AXES: usize = 64;

/// Of more channels only these are described.
const MAX_CHANNELS: usize = 1 << 10;

/// Of more labels with colours only these are read.
const MAX_LABEL_COLORS: usize = 1 << 16;

/// Of more images of labels only these are found.
const MAX_LABEL_IMAGES: usize = 64;

/// How many groups above an array are looked at for the image that it is a level of.
const ABOVE: usize = 3;

/// The images of the groups that were looked at, so that the document of a group is read once for all arrays below it.
#[derive(Debug, Default)]
pub struct Images(HashMap<NodePath, Levels>);

/// The images and the places in them, by the arrays that are their levels.
type Levels = HashMap<NodePath, Vec<(Arc<Image>, usize)>>;

impl Images {
    /// As [`Image::of_array`], for several arrays of one hierarchy.
    ///
    /// # Errors
    /// What the store reports.
    pub fn of_array(&mut self, array: &Array) -> Result<Option<(Image, usize)>> {
        for path in array.path().ancestors().filter(|path| path != array.path()).take(ABOVE) {
            if !self.0.contains_key(&path) {
                let levels = match array.hierarchy().group(&path) {
                    Ok(group) => levels(&group),
                    Err(e) if matches!(e.kind(), ErrorKind::Store) => return Err(e),
                    Err(_) => HashMap::new(),
                };
                self.0.insert(path.clone(), levels);
            }
            let here = self.0.get(&path).and_then(|levels| levels.get(array.path()));
            let found =
                here.into_iter().flatten().find(|(image, _)| image.axes.len() == array.rank());
            if let Some((image, level)) = found {
                return Ok(Some((Image::clone(image), *level)));
            }
        }
        Ok(None)
    }
}

/// What OME says in the attributes of a group: in 0.5 it is below `ome`.
pub(super) fn inner(attributes: &Object) -> &Object {
    attributes.get("ome").and_then(Json::as_object).unwrap_or(attributes)
}

/// Whether an array may be a level of an image: those have two axes at least, and no units, scale or name of the CF conventions.
pub(super) fn may_be_level(metadata: &ArrayMetadata) -> bool {
    const OF_VARIABLES: [&str; 5] =
        ["units", "scale_factor", "long_name", "standard_name", "coordinates"];
    metadata.rank() > 1 && !OF_VARIABLES.iter().any(|name| metadata.attributes.contains(name))
}

/// Whether a group above an array lists it as a level of an image.
pub(super) fn is_level(array: &Array) -> bool {
    array.path().ancestors().any(|path| {
        let Ok(group) = array.hierarchy().group(&path) else { return false };
        let images = inner(group.attributes()).get("multiscales").and_then(Json::as_array);
        images.unwrap_or_default().iter().any(|image| {
            let datasets = image.as_object().and_then(|image| image.get("datasets")?.as_array());
            datasets.unwrap_or_default().iter().any(|dataset| {
                let level = dataset.as_object().and_then(|it| it.get("path")?.as_str());
                level.is_some_and(|level| path.join(level).is_ok_and(|it| it == *array.path()))
            })
        })
    })
}

/// The images of labels of an image's group: the names that its group `labels` lists, and their groups.
///
/// # Errors
/// What the store reports. A group that is not there is left out.
pub fn label_images(group: &Group) -> Result<Vec<(String, Group)>> {
    let Ok(place) = group.path().child("labels") else { return Ok(Vec::new()) };
    let Some(labels) = open_group(group, &place)? else { return Ok(Vec::new()) };
    let names = inner(labels.attributes()).get("labels").map(items).unwrap_or_default();
    let mut found = Vec::new();
    for name in names.iter().filter_map(Json::as_str).take(MAX_LABEL_IMAGES) {
        let Ok(path) = place.join(name) else { continue };
        if let Some(image) = open_group(group, &path)? {
            found.push((name.to_owned(), image));
        }
    }
    Ok(found)
}

/// Opens a group of the same hierarchy; one that cannot be read as a group is none.
fn open_group(group: &Group, path: &NodePath) -> Result<Option<Group>> {
    match group.hierarchy().group(path) {
        Ok(found) => Ok(Some(found)),
        Err(e) if matches!(e.kind(), ErrorKind::Store) => Err(e),
        Err(_) => Ok(None),
    }
}

/// The images of a group by the arrays that are their levels, each array once in an image.
fn levels(group: &Group) -> Levels {
    let mut levels = Levels::new();
    for image in Image::of_group(group) {
        let image = Arc::new(image);
        for (n, level) in image.levels.iter().enumerate() {
            let Ok(place) = group.path().join(&level.path) else { continue };
            let here = levels.entry(place).or_default();
            if here.last().is_none_or(|(last, _)| !Arc::ptr_eq(last, &image)) {
                here.push((image.clone(), n));
            }
        }
    }
    levels
}

impl Image {
    /// The images that a group's attributes describe: mostly one, or none. What is broken is left out.
    pub fn of_group(group: &Group) -> Vec<Image> {
        Image::of_attributes(group.attributes())
    }

    /// The image that an array is a level of, and the level's place among its levels. The groups above it are opened.
    ///
    /// # Errors
    /// What the store reports.
    pub fn of_array(array: &Array) -> Result<Option<(Image, usize)>> {
        Images::default().of_array(array)
    }

    /// Its channels along an axis of `count` positions: those that it describes, or if these are others, in usual colours.
    pub fn channels_along(&self, count: u64) -> Vec<Channel> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if self.channels.len() == count {
            self.channels.to_vec()
        } else {
            (0..count.min(MAX_CHANNELS)).map(|n| Channel::undescribed(n, count)).collect()
        }
    }

    fn of_attributes(attributes: &Object) -> Vec<Image> {
        let inner = inner(attributes);
        let Some(Json::Array(found)) = inner.get("multiscales") else { return Vec::new() };
        let omero = inner.get("omero").and_then(Json::as_object);
        let channels: Arc<[Channel]> =
            channels(omero.and_then(|omero| omero.get("channels"))).into();
        let rdefs = omero.and_then(|omero| omero.get("rdefs")).and_then(Json::as_object);
        let default = |name: &str| rdefs?.get(name)?.as_number()?.parse::<u64>().ok();
        let is_label = inner.contains("image-label");
        let label_colors: Arc<[_]> =
            label_colors(inner.get("image-label").and_then(Json::as_object)).into();
        found
            .iter()
            .filter_map(|json| {
                let json = json.as_object()?;
                let datasets = json.get("datasets")?.as_array()?;
                let axes = axes(json.get("axes").or_else(|| axes_of_system(json)));
                if axes.len() > MAX_AXES {
                    return None;
                }
                let whole = steps(json.get("coordinateTransformations"), axes.len());
                let levels: Vec<Level> = datasets
                    .iter()
                    .filter_map(|json| {
                        let json = json.as_object()?;
                        let path = text(json, "path")?;
                        let mut own = steps(json.get("coordinateTransformations"), axes.len());
                        for n in 0..axes.len() {
                            own.0[n] *= whole.0[n];
                            own.1[n] = own.1[n] * whole.0[n] + whole.1[n];
                        }
                        Some(Level { path, scale: own.0, translation: own.1 })
                    })
                    .collect();
                let name = text(json, "name");
                (!levels.is_empty()).then(|| Image {
                    name,
                    axes,
                    levels,
                    channels: channels.clone(),
                    default_t: default("defaultT"),
                    default_z: default("defaultZ"),
                    is_label,
                    label_colors: label_colors.clone(),
                })
            })
            .collect()
    }
}

/// The axes of the coordinate system in which an image of 0.6 has its levels: the one into which its first level is transformed,
/// else the first.
fn axes_of_system(image: &Object) -> Option<&Json> {
    let systems = image.get("coordinateSystems")?.as_array()?;
    let systems: Vec<&Object> = systems.iter().filter_map(Json::as_object).collect();
    let first_level = image.get("datasets")?.as_array()?.first()?.as_object()?;
    let transformation = first_level
        .get("coordinateTransformations")
        .and_then(Json::as_array)
        .and_then(|list| list.first())
        .and_then(Json::as_object);
    let output = transformation.and_then(|it| it.get("output")).and_then(|output| match output {
        Json::Object(output) => output.get("name")?.as_str(),
        output => output.as_str(),
    });
    let named = systems
        .iter()
        .find(|system| output.is_some() && system.get("name").and_then(Json::as_str) == output);
    named.or_else(|| systems.first())?.get("axes")
}

/// Axes: objects with a name, a type and a unit; in 0.3 names only; before five of a fixed order.
fn axes(json: Option<&Json>) -> Vec<(String, AxisKind, Option<String>)> {
    let Some(Json::Array(axes)) = json else {
        return ["t", "c", "z", "y", "x"].map(plain_axis).into();
    };
    axes.iter()
        .map(|json| match json {
            Json::String(name) => plain_axis(name),
            Json::Object(axis) => {
                let name = text(axis, "name").unwrap_or_default();
                let kind = kind(&name, text(axis, "type").as_deref());
                (name, kind, text(axis, "unit"))
            }
            _ => plain_axis(""),
        })
        .collect()
}

/// An axis of which only the name is known.
fn plain_axis(name: &str) -> (String, AxisKind, Option<String>) {
    (name.to_owned(), kind(name, None), None)
}

fn kind(name: &str, declared: Option<&str>) -> AxisKind {
    match (declared, name.to_ascii_lowercase().as_str()) {
        (Some("time"), _) | (None, "t") => AxisKind::Time,
        (Some("channel"), _) | (None, "c") => AxisKind::Channel,
        (Some("space") | None, "x") => AxisKind::X,
        (Some("space") | None, "y") => AxisKind::Y,
        (Some("space") | None, "z") => AxisKind::Z,
        _ => AxisKind::Other,
    }
}

/// The scale and the translation that a list of transformations makes: each is applied after the one before. What is of another
/// kind or length is left out.
fn steps(json: Option<&Json>, rank: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut scale, mut translation) = (vec![1.0; rank], vec![0.0; rank]);
    let listed =
        json.and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_object);
    // A sequence of 0.6 is its parts, none of which is a sequence again.
    let steps = listed.flat_map(|step| match step.get("type").and_then(Json::as_str) {
        Some("sequence") => {
            let parts = step.get("transformations").and_then(Json::as_array).unwrap_or_default();
            parts.iter().filter_map(Json::as_object).collect()
        }
        _ => vec![step],
    });
    for step in steps {
        match step.get("type").and_then(Json::as_str) {
            Some("scale") => {
                for (n, by) in
                    numbers(step, rank, "scale").unwrap_or_default().into_iter().enumerate()
                {
                    scale[n] *= by;
                    translation[n] *= by;
                }
            }
            Some("translation") => {
                for (n, by) in
                    numbers(step, rank, "translation").unwrap_or_default().into_iter().enumerate()
                {
                    translation[n] += by;
                }
            }
            _ => {}
        }
    }
    (scale, translation)
}

/// A finite number for each axis, of a member of a transformation.
fn numbers(step: &Object, rank: usize, name: &str) -> Option<Vec<f64>> {
    let numbers = step.get(name)?.as_array()?.iter();
    let list: Option<Vec<f64>> =
        numbers.map(|json| json.as_number()?.parse::<f64>().ok()).collect();
    list.filter(|list| list.len() == rank && list.iter().all(|n| n.is_finite()))
}

/// The channels of `omero`.
fn channels(json: Option<&Json>) -> Vec<Channel> {
    let Some(list) = json else { return Vec::new() };
    let list = items(list);
    list.iter()
        .take(MAX_CHANNELS)
        .enumerate()
        .filter_map(|(n, json): (usize, &Json)| {
            let json = json.as_object()?;
            let window = json.get("window").and_then(Json::as_object);
            Some(Channel {
                label: text(json, "label"),
                color: text(json, "color")
                    .and_then(|text| color(&text))
                    .unwrap_or_else(|| default_color(n, list.len())),
                window: ends(window, "start", "end").or(ends(window, "min", "max")),
                active: flag(json, "active").unwrap_or(true),
                inverted: flag(json, "inverted").unwrap_or(false),
            })
        })
        .collect()
}

/// The two ends of a channel's window, the lower one first.
fn ends(window: Option<&Object>, low: &str, high: &str) -> Option<(f64, f64)> {
    let low: f64 = window?.get(low)?.as_number()?.parse().ok()?;
    let high: f64 = window?.get(high)?.as_number()?.parse().ok()?;
    (low < high).then_some((low, high))
}

/// A member that is true or false.
fn flag(json: &Object, name: &str) -> Option<bool> {
    json.get(name).and_then(Json::as_bool)
}

/// The `colors` of `image-label`, each label once, in ascending order.
fn label_colors(json: Option<&Object>) -> Vec<(f64, [u8; 4])> {
    let list = json.and_then(|json| json.get("colors")).map(items).unwrap_or_default();
    let mut found: Vec<_> = list
        .iter()
        .take(MAX_LABEL_COLORS)
        .filter_map(|json| {
            let json = json.as_object()?;
            let label = json.get("label-value")?.as_number()?.parse::<f64>().ok()?;
            let rgba = json.get("rgba")?.as_array()?;
            Some((
                label,
                [byte(rgba, 0)?, byte(rgba, 1)?, byte(rgba, 2)?, byte(rgba, 3).unwrap_or(255)],
            ))
        })
        .collect();
    found.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    found.dedup_by(|(a, _), (b, _)| a == b);
    found
}

/// An item of a list that is a number of one byte.
fn byte(list: &[Json], position: usize) -> Option<u8> {
    list.get(position)?.as_number()?.parse().ok()
}

/// `0000FF`, `#0000ff`; a fourth pair of digits is left out.
pub(crate) fn color(text: &str) -> Option<[u8; 3]> {
    let digits = text.trim_start_matches('#');
    if !digits.is_ascii() || !matches!(digits.len(), 6 | 8) {
        return None;
    }
    Some([hex_byte(digits, 0)?, hex_byte(digits, 1)?, hex_byte(digits, 2)?])
}

/// The byte of two hexadecimal digits.
fn hex_byte(digits: &str, position: usize) -> Option<u8> {
    u8::from_str_radix(&digits[2 * position..2 * position + 2], 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(text: &str) -> Vec<Image> {
        let Json::Object(attributes) = Json::parse(text.as_bytes()).unwrap() else { panic!() };
        Image::of_attributes(&attributes)
    }

    const IMAGE: &str = r#""multiscales": [{"axes": [{"name": "c", "type": "channel"},
        {"name": "y", "type": "space", "unit": "micrometer"}, {"name": "x", "type": "space", "unit": "micrometer"}],
        "datasets": [
            {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 0.5, 0.5]}]},
            {"path": "1", "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 1]},
                {"type": "translation", "translation": [0, 0.25, 0.25]}]}],
        "coordinateTransformations": [{"type": "scale", "scale": [1, 2, 2]}]}],
        "omero": {"channels": [{"label": "DAPI", "color": "0000FF", "active": true,
            "window": {"start": 5, "end": 900.5, "min": 0, "max": 65535}}, {"color": "zz"}]}"#;

    #[test]
    fn images_of_both_versions_are_the_same() {
        let old = images(&format!("{{{IMAGE}}}"));
        assert_eq!(old, images(&format!("{{\"ome\": {{\"version\": \"0.5\", {IMAGE}}}}}")));
        let [image] = &old[..] else { panic!("{old:?}") };
        assert_eq!(image.axes[1], ("y".into(), AxisKind::Y, Some("micrometer".into())));
        assert_eq!(image.levels[0].scale, [1.0, 1.0, 1.0]);
        assert_eq!(image.levels[1].scale, [1.0, 2.0, 2.0]);
        assert_eq!(image.levels[1].translation, [0.0, 0.5, 0.5]);
        let [dapi, other] = &image.channels[..] else { panic!() };
        assert_eq!((dapi.color, dapi.window), ([0, 0, 255], Some((5.0, 900.5))));
        assert_eq!((other.color, other.window, other.active), ([0, 255, 0], None, true));
        assert_eq!((image.default_t, image.default_z), (None, None));
    }

    #[test]
    fn channels_that_are_not_described_have_vizarrs_colours() {
        let [image] = &images(r#"{"multiscales": [{"datasets": [{"path": "0"}]}]}"#)[..] else {
            panic!()
        };
        let colors = |count| {
            image.channels_along(count).iter().map(|channel| channel.color).collect::<Vec<_>>()
        };
        assert_eq!(colors(1), [[255; 3]]);
        assert_eq!(colors(2), [[255, 0, 255], [0, 255, 0]]);
        assert_eq!(colors(3), [[255, 0, 0], [0, 255, 0], [0, 0, 255]]);
        assert_eq!(colors(8)[..2], [[0, 255, 255], [255, 255, 0]]);
        assert_eq!(colors(8)[6..], [[255; 3], [255; 3]]);
        assert_eq!(image.channels_along(8).iter().filter(|channel| channel.active).count(), 6);
    }

    #[test]
    fn the_first_position_and_the_colours_of_labels_are_read() {
        let [image] = &images(
            r#"{"multiscales": [{"datasets": [{"path": "0"}]}],
            "omero": {"rdefs": {"defaultT": 3, "defaultZ": 118, "model": "color"}, "channels": [
                {"window": {"start": 4, "end": 4, "min": 0, "max": 9}}]},
            "image-label": {"colors": [{"label-value": 7, "rgba": [1, 2, 3, 4]}, {"label-value": 2, "rgba": [9, 9, 9]},
                {"label-value": 2, "rgba": [0, 0, 0, 0]}, {"label-value": 3, "rgba": [300, 0, 0, 0]}, 5]}}"#,
        )[..] else {
            panic!()
        };
        assert_eq!((image.default_t, image.default_z, image.is_label), (Some(3), Some(118), true));
        assert_eq!(image.channels[0].window, Some((0.0, 9.0)));
        assert_eq!(image.label_colors[..], [(2.0, [9, 9, 9, 255]), (7.0, [1, 2, 3, 4])]);
    }

    #[test]
    fn an_image_of_version_0_6_has_the_axes_of_its_coordinate_system() {
        let [image] = &images(
            r#"{"ome": {"version": "0.6", "multiscales": [{
            "coordinateSystems": [
                {"name": "stage", "axes": [{"name": "y"}]},
                {"name": "physical", "axes": [{"name": "y", "type": "space", "unit": "micrometer"},
                    {"name": "x", "type": "space", "unit": "micrometer"}]}],
            "datasets": [
                {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [0.5, 0.25],
                    "input": {"path": "0"}, "output": {"name": "physical"}}]},
                {"path": "1", "coordinateTransformations": [{"type": "sequence", "input": {"path": "1"},
                    "output": {"name": "physical"}, "transformations": [
                        {"type": "scale", "scale": [1, 0.5]},
                        {"type": "translation", "translation": [0.25, 0.125]}]}]}]}]}}"#,
        )[..] else {
            panic!()
        };
        let micrometer = || Some("micrometer".to_owned());
        let axes =
            [("y".into(), AxisKind::Y, micrometer()), ("x".into(), AxisKind::X, micrometer())];
        assert_eq!(image.axes, axes);
        assert_eq!(image.levels[0].scale, [0.5, 0.25]);
        assert_eq!(image.levels[1].scale, [1.0, 0.5]);
        assert_eq!(image.levels[1].translation, [0.25, 0.125]);
    }

    #[test]
    fn broken_images_are_left_out() {
        for text in [
            "{}",
            r#"{"multiscales": 1}"#,
            r#"{"multiscales": [1, {}, {"datasets": []}, {"datasets": [{"path": 1}]}]}"#,
            r#"{"ome": {"multiscales": [{"datasets": 7}]}}"#,
        ] {
            assert_eq!(images(text), [], "{text}");
        }
        let [image] = &images(
            r#"{"multiscales": [{"axes": ["y", 1], "datasets": [{"path": "0",
            "coordinateTransformations": [{"type": "scale", "scale": [1]}, 5]}]}]}"#,
        )[..] else {
            panic!()
        };
        assert_eq!(image.levels[0].scale, [1.0, 1.0]);
    }
}

//! The levels of an image in OME-Zarr's metadata, 0.4 and 0.5: found, and more of them added. Variables on maps are images, too.

use zarr_core::{AccessError, Error, Group, Json, Object, Result};

use super::PyramidMethod;
use super::geo::OnMap;
use crate::ome::OME;

/// The metadata of an image, or of one made of labels.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub axes: Vec<Axis>,
    /// The levels that it has, the finest first.
    pub datasets: Vec<Dataset>,
    /// How its levels were made, if it says so.
    pub method: Option<PyramidMethod>,
    /// What is known of it if it is a variable on a map, and not an image of OME-Zarr.
    pub map: Option<OnMap>,
}

#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub name: String,
    pub is_space: bool,
    pub is_channel: bool,
    pub unit: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Dataset {
    /// The array, from the group on.
    pub path: String,
    /// The distance of elements along each axis, and where the first one is.
    pub scale: Vec<f64>,
    pub translation: Vec<f64>,
}

/// What is added to an image's metadata.
pub(super) struct NewLevels {
    pub method: PyramidMethod,
    /// How integers were rounded, of a method that rounds.
    pub rounding: Option<&'static str>,
    /// The path of each level, and how many elements of the base one of it covers along each axis.
    pub levels: Vec<(String, Vec<u64>)>,
}

/// The part of a group's attributes in which OME-Zarr's members are: the attribute `ome` from 0.5 on.
fn place(attributes: &Object) -> &Object {
    match attributes.get(OME).and_then(Json::as_object) {
        Some(ome) if ome.contains("multiscales") => ome,
        _ => attributes,
    }
}

/// Whether the attributes are those of an image of labels.
pub(super) fn is_label(attributes: &Object) -> bool {
    let ome = attributes.get(OME).and_then(Json::as_object);
    ome.is_some_and(|ome| ome.contains("image-label")) || attributes.contains("image-label")
}

fn argument(group: &Group, why: impl Into<String>) -> Error {
    let error = Error::from(AccessError::Argument(why.into()));
    error.at_store(group.hierarchy().store().name()).at_path(group.path())
}

impl Image {
    /// The image that a group is; `None` if it is none.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for another version, and for metadata that lack what levels are computed from.
    pub fn of(group: &Group) -> Result<Option<Image>> {
        let place = place(group.attributes());
        let Some(image) = place.get("multiscales").and_then(|it| it.as_array()?.first()) else {
            return Ok(None);
        };
        if image.get("datasets").and_then(Json::as_array).is_none() {
            // GeoZarr's, or another convention's.
            return Ok(None);
        }
        let version = place.get("version").or_else(|| image.get("version"));
        if let Some(version) = version {
            let text = version.as_str().unwrap_or_default();
            if !["0.4", "0.5"].iter().any(|known| text.starts_with(known)) {
                let why =
                    format!("OME-Zarr {} is not supported here, only 0.4 and 0.5", version.brief());
                return Err(argument(group, why));
            }
        }
        let axes = image.get("axes").and_then(Json::as_array).unwrap_or_default();
        let axes: Option<Vec<Axis>> = axes.iter().map(axis).collect();
        let axes = axes.filter(|axes| !axes.is_empty());
        let axes = axes.ok_or_else(|| argument(group, "`multiscales[0].axes` names no axes"))?;
        let datasets = image.get("datasets").and_then(Json::as_array).unwrap_or_default();
        let datasets: Option<Vec<Dataset>> =
            datasets.iter().map(|dataset| read_dataset(dataset, axes.len())).collect();
        let datasets = datasets.filter(|datasets| !datasets.is_empty()).ok_or_else(|| {
            let why = "`multiscales[0].datasets` must have paths, and transformations of one `scale` and at most \
                       one `translation`, with a number for each axis";
            argument(group, why)
        })?;
        let method = image.get("type").and_then(|it| it.as_str()?.parse().ok());
        let method = method.filter(|_| datasets.len() > 1);
        Ok(Some(Image { axes, datasets, method, map: None }))
    }

    /// The paths of the labels that a group `labels` lists.
    pub fn labels(attributes: &Object) -> Vec<String> {
        let ome = attributes.get(OME).and_then(Json::as_object);
        let list = ome.and_then(|ome| ome.get("labels")).or_else(|| attributes.get("labels"));
        let list = list.and_then(Json::as_array).unwrap_or_default();
        list.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect()
    }
}

fn axis(json: &Json) -> Option<Axis> {
    let text = |member| json.get(member).and_then(Json::as_str);
    let name = text("name")?.to_owned();
    let is_space = match text("type") {
        Some(kind) => kind == "space",
        None => ["x", "y", "z"].contains(&&*name),
    };
    let is_channel = text("type") == Some("channel");
    Some(Axis { name, is_space, is_channel, unit: text("unit").map(str::to_owned) })
}

fn read_dataset(json: &Json, rank: usize) -> Option<Dataset> {
    let path = json.get("path")?.as_str()?.to_owned();
    let mut dataset = Dataset { path, scale: vec![1.0; rank], translation: vec![0.0; rank] };
    let transformations = json.get("coordinateTransformations").and_then(Json::as_array);
    for transformation in transformations.unwrap_or_default() {
        match transformation.get("type")?.as_str()? {
            "scale" => dataset.scale = numbers(transformation, rank, "scale")?,
            "translation" => dataset.translation = numbers(transformation, rank, "translation")?,
            "identity" => {}
            _ => return None,
        }
    }
    Some(dataset)
}

/// A number for each axis, of a member of a transformation.
fn numbers(transformation: &Json, rank: usize, name: &str) -> Option<Vec<f64>> {
    let numbers = transformation.get(name)?.as_array()?.iter().map(Json::as_f64);
    numbers.collect::<Option<Vec<f64>>>().filter(|numbers| numbers.len() == rank)
}

impl NewLevels {
    /// Adds the levels to the attributes of the image's group; those that it has already are left out.
    ///
    /// An element of a level lies in the middle of its block, or on the block's first element if it is that one. The scale is
    /// exactly that of the base times the factor, also where the last block is not whole.
    pub fn add(&self, attributes: &mut Object) {
        let is_nested = !std::ptr::eq(place(attributes), attributes);
        let mut ome = match attributes.get(OME) {
            Some(Json::Object(ome)) if is_nested => ome.clone(),
            _ => attributes.clone(),
        };
        let mut images =
            ome.get("multiscales").and_then(Json::as_array).unwrap_or_default().to_vec();
        let Some(Json::Object(image)) = images.first_mut() else { return };
        let old = image.get("datasets").and_then(Json::as_array).unwrap_or_default();
        let mut datasets = old.to_vec();
        let Some(base) = datasets.first().and_then(|base| {
            let rank = self.levels.first()?.1.len();
            read_dataset(base, rank)
        }) else {
            return;
        };
        let only_base = datasets.len() == 1;
        for (path, factors) in &self.levels {
            if datasets.iter().any(|dataset| dataset["path"] == **path) {
                continue;
            }
            let axes = base.scale.iter().zip(factors);
            let scale: Vec<f64> = axes.clone().map(|(scale, &by)| scale * by as f64).collect();
            let shift = axes.map(|(scale, &by)| match self.method {
                PyramidMethod::Nearest => 0.0,
                _ => scale * (by as f64 - 1.0) / 2.0,
            });
            let translation: Vec<f64> =
                base.translation.iter().zip(shift).map(|(first, shift)| first + shift).collect();
            let scale = Object::new().with("type", "scale").with("scale", &scale[..]);
            let mut transformations = vec![Json::from(scale)];
            if translation.iter().any(|&shift| shift != 0.0) {
                let translation =
                    Object::new().with("type", "translation").with("translation", &translation[..]);
                transformations.push(translation.into());
            }
            let dataset = Object::new()
                .with("path", &**path)
                .with("coordinateTransformations", transformations);
            datasets.push(dataset.into());
        }
        image.insert("datasets", datasets);
        if only_base {
            // What it says of levels is said of these ones only.
            image.insert("type", self.method.name());
            let metadata = image.get("metadata").and_then(Json::as_object).cloned();
            let mut metadata = metadata.unwrap_or_default();
            metadata.insert("method", "zarr pyramid");
            metadata.insert("version", env!("CARGO_PKG_VERSION"));
            match self.rounding {
                Some(rounding) => drop(metadata.insert("rounding", rounding)),
                None => drop(metadata.remove("rounding")),
            }
            image.insert("metadata", metadata);
        }
        ome.insert("multiscales", images);
        if is_nested {
            attributes.insert(OME, ome);
        } else {
            *attributes = ome;
        }
    }
}

/// The path of the level after `last`: with the last number in it one higher, else with a number behind it.
pub(super) fn next_path(last: &str) -> String {
    let end = last.rfind(|c: char| c.is_ascii_digit());
    let Some(end) = end else { return format!("{last}_1") };
    let start = last[..end]
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + last[at..].chars().next().map_or(1, char::len_utf8));
    match last[start..=end].parse::<u64>() {
        Ok(number) => format!("{}{}{}", &last[..start], number.saturating_add(1), &last[end + 1..]),
        Err(_) => format!("{last}_1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_counted_up() {
        for (last, next) in [
            ("0", "1"),
            ("s9", "s10"),
            ("scale0/image", "scale1/image"),
            ("a2/b3", "a2/b4"),
            ("é7", "é8"),
            ("full", "full_1"),
        ] {
            assert_eq!(next_path(last), next);
        }
    }
}

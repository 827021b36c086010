//! Makes metadata of OME-Zarr 0.5 of what viewers of N5 note about the levels of an image.
//!
//! A group whose members are datasets `s0`, `s1`, … is an image of several levels, as n5-viewer, BigDataViewer and Neuroglancer have
//! it. `pixelResolution`, or `resolution` and `units`, is that of `s0`, `downsamplingFactors` how many elements of `s0` one element of
//! a level is along each axis: in each dataset, or for all levels in the group (`scales`) or the one above. `transform`, of COSEM,
//! has all of it for one level.

use zarr_core::{Json, Object};

use super::Axes;
use super::document::{dimension_names, lengths};

/// The most levels that are looked for.
pub(super) const MAX_LEVELS: usize = 32;

/// Members of a group's attributes that say that it is an image of several levels.
const HINTS: [&str; 6] =
    ["multiScale", "scales", "downsamplingFactors", "pixelResolution", "resolution", "multiscales"];

/// Whether attributes are of a group that has levels.
pub(super) fn has_hint(attributes: &Object) -> bool {
    HINTS.iter().any(|name| attributes.contains(name))
}

/// The names of the axes of a level: those of its attribute `axes` or of its group's, else x, y and z.
pub(super) fn axes_of_level(
    level: &Object,
    group: Option<&Object>,
    axes: Axes,
) -> Option<Vec<String>> {
    let rank = lengths(level, "dimensions").ok()?.len();
    let given = [Some(level), group].into_iter().flatten();
    given.filter_map(|attributes| dimension_names(attributes, rank, axes)).next().or_else(|| {
        let names = ["x", "y", "z"].get(..rank).filter(|_| rank > 1)?;
        Some(in_order(names.iter().map(|&name| name.to_owned()).collect(), axes))
    })
}

fn in_order<T>(mut values: Vec<T>, axes: Axes) -> Vec<T> {
    if axes == Axes::Reversed {
        values.reverse();
    }
    values
}

/// The attribute `ome` of a group whose levels have these attributes, from `s0` on. `above` are the attributes of the group and of
/// the one above it. `None` where there is no image of two or three axes in space, after those of time and channels.
pub(super) fn ome(levels: &[Object], above: [Option<&Object>; 2], axes: Axes) -> Option<Object> {
    let names = axes_of_level(levels.first()?, above[0], axes)?;
    let spatial = names.iter().filter(|name| kind(name) == "space").count();
    let is_twice = (1..names.len()).any(|at| names[..at].contains(&names[at]));
    let is_in_order = names.is_sorted_by_key(|name| place_of(kind(name)));
    if !(2..=3).contains(&spatial) || is_twice || !is_in_order {
        return None;
    }
    let mut units = vec![None; names.len()];
    let mut datasets = Vec::new();
    for (n, level) in levels.iter().enumerate() {
        if axes_of_level(level, above[0], axes).as_ref() != Some(&names) {
            break;
        }
        let place = Place::of_level(n, levels, above, axes, &names);
        if n == 0 {
            units = place.units;
        }
        let scale = Object::new().with("type", "scale").with("scale", place.scale);
        let mut transformations = vec![Json::from(scale)];
        if place.translation.iter().any(|&along| along != 0.0) {
            let translation =
                Object::new().with("type", "translation").with("translation", place.translation);
            transformations.push(translation.into());
        }
        let dataset = Object::new()
            .with("path", format!("s{n}"))
            .with("coordinateTransformations", transformations);
        datasets.push(Json::from(dataset));
    }
    let axes = names.iter().zip(units).map(|(name, unit)| {
        let mut axis = Object::new().with("name", name.as_str()).with("type", kind(name));
        if let Some(unit) = unit.and_then(|unit| unit_of(kind(name), &unit)) {
            axis.insert("unit", unit);
        }
        Json::from(axis)
    });
    let mut image = Object::new().with("axes", axes.collect::<Json>()).with("datasets", datasets);
    let name = above.iter().flatten().find_map(|attributes| attributes.get("name")?.as_str());
    if let Some(name) = name {
        image.insert("name", name);
    }
    Some(Object::new().with("version", "0.5").with("multiscales", vec![Json::from(image)]))
}

/// The type of an axis of OME-Zarr.
fn kind(name: &str) -> &'static str {
    match name {
        "t" | "time" => "time",
        "c" | "channel" => "channel",
        _ => "space",
    }
}

/// The place of a kind of axes in the order that OME-Zarr wants (0.5, "axes" metadata).
fn place_of(kind: &str) -> usize {
    match kind {
        "time" => 0,
        "channel" => 1,
        _ => 2,
    }
}

/// Where the elements of a level are.
struct Place {
    scale: Vec<f64>,
    translation: Vec<f64>,
    units: Vec<Option<String>>,
}

impl Place {
    fn of_level(
        n: usize,
        levels: &[Object],
        above: [Option<&Object>; 2],
        axes: Axes,
        names: &[String],
    ) -> Place {
        if let Some(place) = Place::of_cosem(&levels[n], names) {
            return place;
        }
        let factors = factors(n, levels, above);
        let sources = [Some(&levels[n]), levels.first(), above[0], above[1]];
        let (resolution, units) = sources
            .into_iter()
            .flatten()
            .find_map(|attributes| resolution(attributes, names.len()))
            .unwrap_or_else(|| (vec![1.0; names.len()], vec![None; names.len()]));
        let along = resolution.iter().zip(&factors);
        let scale = along.clone().map(|(step, factor)| step * factor).collect();
        // An element of a level lies in the middle of the elements that it was made of.
        let translation = along.map(|(step, factor)| step * (factor - 1.0) / 2.0).collect();
        Place {
            scale: in_order(scale, axes),
            translation: in_order(translation, axes),
            units: in_order(units, axes),
        }
    }

    /// What COSEM's `transform` says, which names its axes.
    fn of_cosem(level: &Object, names: &[String]) -> Option<Place> {
        let transform = level.get("transform")?.as_object()?;
        let own = transform.get("axes")?.as_array()?;
        let scales = numbers(transform, "scale", own.len())?;
        let translations = numbers(transform, "translate", own.len())?;
        let units = transform.get("units").and_then(Json::as_array);
        let mut place = Place { scale: Vec::new(), translation: Vec::new(), units: Vec::new() };
        for name in names {
            let at = own.iter().position(|own| own.as_str() == Some(name))?;
            place.scale.push(scales[at]);
            place.translation.push(translations[at]);
            place.units.push(units.and_then(|units| Some(units.get(at)?.as_str()?.to_owned())));
        }
        Some(place)
    }
}

/// How many elements of `s0` one element of level `n` is along each of N5's axes.
fn factors(n: usize, levels: &[Object], above: [Option<&Object>; 2]) -> Vec<f64> {
    let rank = lengths(&levels[0], "dimensions").map_or(0, |shape| shape.len());
    if let Some(own) = numbers(&levels[n], "downsamplingFactors", rank) {
        return own;
    }
    for attributes in above.into_iter().flatten() {
        let of_levels = ["scales", "downsamplingFactors"]
            .iter()
            .find_map(|name| attributes.get(name)?.as_array()?.get(n));
        if let Some(factors) = of_levels.and_then(|list| positive(list, rank)) {
            return factors;
        }
    }
    let shapes = (lengths(&levels[0], "dimensions"), lengths(&levels[n], "dimensions"));
    let (Ok(base), Ok(shape)) = shapes else { return vec![1.0; rank] };
    let ratios = base.iter().zip(&shape);
    ratios.map(|(&base, &own)| (base as f64 / own.max(1) as f64).round().max(1.0)).collect()
}

/// The size of an element of `s0` along each axis, and its units.
fn resolution(attributes: &Object, rank: usize) -> Option<(Vec<f64>, Vec<Option<String>>)> {
    if let Some(object) = attributes.get("pixelResolution").and_then(Json::as_object) {
        let sizes = numbers(object, "dimensions", rank)?;
        let unit = object.get("unit").and_then(Json::as_str).map(str::to_owned);
        return Some((sizes, vec![unit; rank]));
    }
    let sizes = ["pixelResolution", "resolution"]
        .iter()
        .find_map(|name| numbers(attributes, name, rank))?;
    let units = match attributes.get("units") {
        Some(Json::String(text)) => vec![Some(text.clone()); rank],
        Some(Json::Array(texts)) if texts.len() == rank => {
            texts.iter().map(|text| text.as_str().map(str::to_owned)).collect()
        }
        _ => vec![None; rank],
    };
    Some((sizes, units))
}

/// Numbers above zero, one for each axis; of a translation any numbers.
fn numbers(attributes: &Object, name: &str, rank: usize) -> Option<Vec<f64>> {
    let list = attributes.get(name)?;
    if name == "translate" {
        return all_numbers(list, rank);
    }
    positive(list, rank)
}

fn positive(list: &Json, rank: usize) -> Option<Vec<f64>> {
    all_numbers(list, rank).filter(|numbers| numbers.iter().all(|&number| number > 0.0))
}

fn all_numbers(list: &Json, rank: usize) -> Option<Vec<f64>> {
    let numbers: Option<Vec<f64>> = list.as_array()?.iter().map(Json::as_f64).collect();
    numbers.filter(|numbers| numbers.len() == rank && numbers.iter().all(|n| n.is_finite()))
}

/// The name that OME-Zarr has for a unit of an axis of this kind; `None` for one that it does not know.
fn unit_of(kind: &str, text: &str) -> Option<&'static str> {
    Some(match (kind, text.trim()) {
        ("space", "pm" | "picometer" | "picometre") => "picometer",
        ("space", "A" | "\u{c5}" | "\u{212b}" | "angstrom") => "angstrom",
        ("space", "nm" | "nanometer" | "nanometers" | "nanometre") => "nanometer",
        (
            "space",
            "um" | "\u{b5}m" | "\u{3bc}m" | "micron" | "microns" | "micrometer" | "micrometers"
            | "micrometre",
        ) => "micrometer",
        ("space", "mm" | "millimeter" | "millimeters" | "millimetre") => "millimeter",
        ("space", "cm" | "centimeter" | "centimetre") => "centimeter",
        ("space", "m" | "meter" | "metre") => "meter",
        ("time", "ms" | "millisecond" | "milliseconds") => "millisecond",
        ("time", "s" | "sec" | "second" | "seconds") => "second",
        ("time", "min" | "minute" | "minutes") => "minute",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        Json::parse(text.as_bytes()).unwrap().as_object().unwrap().clone()
    }

    fn level(shape: &str, more: &str) -> Object {
        object(&format!(r#"{{"dimensions":{shape},"blockSize":[2,2,2],"dataType":"uint8"{more}}}"#))
    }

    fn image(levels: &[Object], group: &str, above: &str, axes: Axes) -> Json {
        let (group, above) = (object(group), object(above));
        let ome = ome(levels, [Some(&group), Some(&above)], axes).unwrap();
        assert_eq!(ome.get("version").and_then(Json::as_str), Some("0.5"));
        ome.get("multiscales").unwrap()[0].clone()
    }

    #[test]
    fn levels_of_n5_viewer_are_an_image() {
        let levels = [level("[8,6,4]", ""), level("[4,3,4]", r#","downsamplingFactors":[2,2,1]"#)];
        let group = r#"{"pixelResolution":{"unit":"um","dimensions":[0.5,0.5,2]},"name":"brain"}"#;
        let found = image(&levels, group, "{}", Axes::AsStored);
        assert_eq!(found["name"].as_str(), Some("brain"));
        assert_eq!(
            found["axes"].to_string(),
            r#"[{"name":"x","type":"space","unit":"micrometer"},{"name":"y","type":"space","unit":"micrometer"},{"name":"z","type":"space","unit":"micrometer"}]"#
        );
        assert_eq!(
            found["datasets"].to_string(),
            r#"[{"path":"s0","coordinateTransformations":[{"type":"scale","scale":[0.5,0.5,2.0]}]},{"path":"s1","coordinateTransformations":[{"type":"scale","scale":[1.0,1.0,2.0]},{"type":"translation","translation":[0.25,0.25,0.0]}]}]"#
        );
        let reversed = image(&levels, group, "{}", Axes::Reversed);
        assert_eq!(reversed["axes"][0]["name"].as_str(), Some("z"));
        let transformations = &reversed["datasets"][1]["coordinateTransformations"];
        assert_eq!(transformations[0]["scale"].to_string(), "[2.0,1.0,1.0]");
        assert_eq!(transformations[1]["translation"].to_string(), "[0.0,0.25,0.25]");
    }

    #[test]
    fn factors_are_in_the_group_or_above_it_or_follow_from_the_shapes() {
        let levels = [level("[9,6,4]", ""), level("[3,3,4]", "")];
        let lists = r#"[[1,1,1],[3,2,1]]"#;
        let scales = format!(r#"{{"scales":{lists}}}"#);
        let above = format!(r#"{{"downsamplingFactors":{lists}}}"#);
        let resolution =
            r#"{"resolution":[2,2,2],"units":["nm","nm","furlong"],"multiScale":true}"#;
        for (group, above) in [(&*scales, "{}"), ("{}", &*above), ("{}", "{}"), (resolution, "{}")]
        {
            let found = image(&levels, group, above, Axes::AsStored);
            let scale = &found["datasets"][1]["coordinateTransformations"][0]["scale"];
            let expected = if group == resolution { "[6.0,4.0,2.0]" } else { "[3.0,2.0,1.0]" };
            assert_eq!(scale.to_string(), expected, "{group} {above}");
        }
        let found = image(&levels, resolution, "{}", Axes::AsStored);
        assert_eq!(found["axes"][0]["unit"].as_str(), Some("nanometer"));
        assert!(found["axes"][2].get("unit").is_none(), "{found}");
    }

    /// Metadata as in Neuroglancer's tests: the group's are the defaults of its levels. A length in seconds is none.
    #[test]
    fn axes_and_units_of_the_group_count_for_its_levels() {
        let levels = [level("[10,20]", ""), level("[5,10]", r#","downsamplingFactors":[2,2]"#)];
        let group = r#"{"axes":["y","x"],"units":["nm","s"],"resolution":[10,20]}"#;
        let found = image(&levels, group, "{}", Axes::AsStored);
        assert_eq!(
            found["axes"].to_string(),
            r#"[{"name":"y","type":"space","unit":"nanometer"},{"name":"x","type":"space"}]"#
        );
        let scale = &found["datasets"][1]["coordinateTransformations"][0]["scale"];
        assert_eq!(scale.to_string(), "[20.0,40.0]");
        let time = r#"{"axes":["x","y","t"],"units":["um","um","s"],"resolution":[1,1,5]}"#;
        let found = image(&[level("[8,6,4]", "")], time, "{}", Axes::Reversed);
        assert_eq!(found["axes"][0].to_string(), r#"{"name":"t","type":"time","unit":"second"}"#);
    }

    #[test]
    fn a_transform_names_its_axes() {
        let transform = r#","transform":{"axes":["z","y","x"],"scale":[4,3,2],"translate":[-2,1.5,1],"units":["nm","nm","nm"]}"#;
        let found = image(&[level("[8,6,4]", transform)], "{}", "{}", Axes::AsStored);
        let transformations = &found["datasets"][0]["coordinateTransformations"];
        assert_eq!(transformations[0]["scale"].to_string(), "[2.0,3.0,4.0]");
        assert_eq!(transformations[1]["translation"].to_string(), "[1.0,1.5,-2.0]");
    }

    #[test]
    fn what_is_no_image_has_none() {
        let none = [None, None];
        assert!(ome(&[], none, Axes::AsStored).is_none());
        assert!(ome(&[level("[8]", "")], none, Axes::AsStored).is_none());
        assert!(ome(&[level("[8,6,4,2]", "")], none, Axes::AsStored).is_none());
        // OME-Zarr has time first, and no two axes of one name.
        for axes in [r#"["x","y","t"]"#, r#"["x","y","x"]"#] {
            let axes = format!(r#","axes":{axes}"#);
            assert!(ome(&[level("[8,6,4]", &axes)], none, Axes::AsStored).is_none());
        }
        // A level of another rank, or with wrong factors, is none of the image.
        let levels = [level("[8,6,4]", ""), level("[4,3]", "")];
        let found = image(&levels, "{}", "{}", Axes::AsStored);
        assert_eq!(found["datasets"].as_array().map(<[Json]>::len), Some(1));
        let levels = [level("[8,6,4]", ""), level("[4,3,2]", r#","downsamplingFactors":[0,2,2]"#)];
        let found = image(&levels, "{}", "{}", Axes::AsStored);
        let scale = &found["datasets"][1]["coordinateTransformations"][0]["scale"];
        assert_eq!(scale.to_string(), "[2.0,2.0,2.0]");
    }
}

//! Where the elements of maps and of their levels are, in the words of the conventions `spatial` and `proj`, of CF and of GDAL.

use zarr_core::{AccessError, Array, Element, Error, Json, Object, Result};

use super::sample::Sample;

/// `[a, b, c, d, e, f]`: `x = a · column + b · row + c` and `y = d · column + e · row + f`. Column 0, row 0 is the outer corner of the
/// first element, or its middle if that is declared.
pub(super) type Affine = [f64; 6];

/// How far a coordinate may be from its place on an even line, in steps.
const EVENNESS: f64 = 1e-3;

/// Six finite numbers.
pub(super) fn affine(json: &Json) -> Option<Affine> {
    let numbers: Option<Vec<f64>> = json.as_array()?.iter().map(Json::as_f64).collect();
    let numbers: Affine = numbers?.try_into().ok()?;
    numbers.iter().all(|number| number.is_finite()).then_some(numbers)
}

/// What `spatial:transform` or `spatial:bbox` say of so many rows and columns.
pub(super) fn declared(attributes: &Object, lengths: [u64; 2], is_node: bool) -> Option<Affine> {
    let kind = attributes.get("spatial:transform_type").and_then(Json::as_str);
    if kind.is_some_and(|kind| kind != "affine") {
        return None;
    }
    // They may be those of another array of the group.
    if let Some(shape) = attributes.get("spatial:shape").and_then(Json::as_array) {
        let [.., rows, columns] = shape else { return None };
        if [rows.as_u64(), columns.as_u64()] != lengths.map(Some) {
            return None;
        }
    }
    if let Some(transform) = attributes.get("spatial:transform") {
        return affine(transform);
    }
    let bbox = attributes.get("spatial:bbox")?.as_array()?;
    let bbox: Option<Vec<f64>> = bbox.iter().map(Json::as_f64).collect();
    let [west, south, east, north] = bbox?[..] else { return None };
    let [rows, columns] = steps(lengths, is_node);
    let is_box = west < east && south < north && rows > 0.0 && columns > 0.0;
    is_box.then(|| [(east - west) / columns, 0.0, west, 0.0, (south - north) / rows, north])
}

/// How many steps there are between the ends of a box along y and x.
fn steps(lengths: [u64; 2], is_node: bool) -> [f64; 2] {
    lengths.map(|len| len.saturating_sub(u64::from(is_node)) as f64)
}

/// GDAL's `GeoTransform` of a grid mapping variable: six numbers in a text or a list, `c a b f d e`.
pub(super) fn geo_transform(attributes: &Object) -> Option<Affine> {
    let [c, a, b, f, d, e] = match attributes.get("GeoTransform")? {
        Json::String(text) => {
            let numbers: Option<Vec<f64>> =
                text.split_whitespace().take(7).map(|word| word.parse().ok()).collect();
            let numbers: Affine = numbers?.try_into().ok()?;
            numbers.iter().all(|number| number.is_finite()).then_some(numbers)?
        }
        json => affine(json)?,
    };
    Some([a, b, c, d, e, f])
}

/// The first of evenly spaced coordinates, and how far it is to the next.
pub(super) fn even(coordinates: &[f64]) -> Option<(f64, f64)> {
    let [first, .., last] = *coordinates else { return None };
    let step = (last - first) / (coordinates.len() - 1) as f64;
    let is_even = coordinates.iter().enumerate().all(|(n, coordinate)| {
        (coordinate - (first + n as f64 * step)).abs() <= EVENNESS * step.abs()
    });
    (is_even && step != 0.0 && step.is_finite()).then_some((first, step))
}

/// How the places of a level follow from those of its base.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coarser {
    /// How many elements of the base there are along y and x.
    pub lengths: [u64; 2],
    /// How many of them one of the level covers along y and x.
    pub factors: [u64; 2],
    /// As [`super::geo::Map::is_node`].
    pub is_node: bool,
    /// Whether an element stands for the first of its block, not for all of it.
    pub is_first: bool,
}

impl Coarser {
    /// How many elements the level has along y and x.
    pub fn lengths(&self) -> [u64; 2] {
        [0, 1].map(|at| self.lengths[at].div_ceil(self.factors[at]))
    }

    /// The transform of the level. Outer corners stay where they are; the middle of the first block is between the middles of its
    /// elements. The step is exactly that of the base times the factor, also where the last block is not whole.
    pub fn transform(&self, [a, b, c, d, e, f]: Affine) -> Affine {
        let [by_y, by_x] = self.factors.map(|factor| factor as f64);
        let [down, right] = if self.is_node && !self.is_first {
            [(by_y - 1.0) / 2.0, (by_x - 1.0) / 2.0]
        } else {
            [0.0, 0.0]
        };
        let corner = (c + a * right + b * down, f + d * right + e * down);
        [a * by_x, b * by_y, corner.0, d * by_x, e * by_y, corner.1]
    }

    /// Changes the attributes of the convention `spatial` that depend on the shape, and GDAL's `GeoTransform`, into those of the level.
    pub fn change(&self, attributes: &mut Object) {
        let lengths = self.lengths();
        let place = declared(attributes, self.lengths, self.is_node).map(|it| self.transform(it));
        if let Some(shape) = attributes.get("spatial:shape").and_then(Json::as_array)
            && let [others @ .., _, _] = shape
        {
            let shape: Json = others.iter().cloned().chain(lengths.map(Json::from)).collect();
            attributes.insert("spatial:shape", shape);
        }
        if let Some(place) = place {
            if attributes.contains("spatial:transform") {
                attributes.insert("spatial:transform", place);
            }
            if attributes.contains("spatial:bbox") {
                attributes.insert("spatial:bbox", extent(place, lengths, self.is_node));
            }
        }
        if let Some(place) = geo_transform(attributes) {
            let [a, b, c, d, e, f] = self.transform(place);
            let numbers = [c, a, b, f, d, e];
            let is_text = attributes.get("GeoTransform").is_some_and(|it| it.as_str().is_some());
            let json = if is_text {
                Json::from(numbers.map(|number| number.to_string()).join(" "))
            } else {
                Json::from(numbers)
            };
            attributes.insert("GeoTransform", json);
        }
    }
}

/// The least x and y and the greatest, of so many rows and columns.
pub(super) fn extent([a, b, c, d, e, f]: Affine, lengths: [u64; 2], is_node: bool) -> [f64; 4] {
    let [rows, columns] = steps(lengths, is_node);
    let mut found = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    for (column, row) in [(0.0, 0.0), (columns, 0.0), (0.0, rows), (columns, rows)] {
        let (x, y) = (a * column + b * row + c, d * column + e * row + f);
        found = [found[0].min(x), found[1].min(y), found[2].max(x), found[3].max(y)];
    }
    found
}

/// The attribute by which a node says its reference system in the convention `proj`.
pub(super) fn projection(attributes: &Object) -> Option<(String, Json)> {
    ["proj:code", "proj:wkt2", "proj:projjson"].iter().find_map(|name| {
        let value = attributes.get(name).filter(|value| !value.is_null())?;
        Some(((*name).to_owned(), value.clone()))
    })
}

/// A reference system in WKT as an attribute of the convention `proj`: by its code if it has one of EPSG, else as it is if it is WKT 2.
pub(super) fn projection_of_wkt(text: &str) -> Option<(String, Json)> {
    if let Some(code) = epsg_code(text) {
        return Some(("proj:code".to_owned(), format!("EPSG:{code}").into()));
    }
    let kinds = ["PROJCRS[", "GEOGCRS[", "GEODCRS[", "BOUNDCRS[", "COMPOUNDCRS["];
    let is_wkt2 = kinds.iter().any(|kind| text.trim_start().starts_with(kind));
    is_wkt2.then(|| ("proj:wkt2".to_owned(), text.into()))
}

/// The code of `ID["EPSG",32632]` or `AUTHORITY["EPSG","32632"]`, where that is the last member of the whole.
fn epsg_code(wkt: &str) -> Option<u32> {
    // A third bracket would close a unit or a datum, whose code it would be.
    let inside = wkt.trim_end().strip_suffix(']')?.trim_end().strip_suffix(']')?;
    let (before, members) = inside.rsplit_once('[')?;
    if !(before.ends_with("ID") || before.ends_with("AUTHORITY")) {
        return None;
    }
    let (authority, code) = members.split_once(',')?;
    if authority.trim() != "\"EPSG\"" {
        return None;
    }
    code.trim().trim_matches('"').parse().ok()
}

/// The elements of an array of numbers, in C order.
pub(super) fn numbers(array: &Array) -> Result<Vec<f64>> {
    macro_rules! by_type {
        ($($element:ty)*) => {$(
            if <$element as Element>::is(&array.data_type()) {
                return Ok(array.read::<$element>(..)?.into_iter().map(Sample::to_f64).collect());
            }
        )*};
    }
    by_type!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);
    Err(not_numbers(array))
}

/// Writes all elements of an array of numbers.
pub(super) fn write_numbers(array: &Array, numbers: &[f64]) -> Result<()> {
    macro_rules! by_type {
        ($($element:ty)*) => {$(
            if <$element as Element>::is(&array.data_type()) {
                let elements: Vec<$element> =
                    numbers.iter().map(|&number| <$element>::from_f64(number)).collect();
                return array.write(.., &elements);
            }
        )*};
    }
    by_type!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);
    Err(not_numbers(array))
}

fn not_numbers(array: &Array) -> Error {
    let why = format!("coordinates of type `{}` are not supported", array.data_type());
    Error::from(AccessError::Argument(why)).at_path(array.path())
}

/// The coordinates of a level: of each block the mean, or the first one.
///
/// The last block may have fewer elements: its mean is then nearer than a step, and never beyond a pole.
pub(super) fn coarser_coordinates(coordinates: &[f64], factor: usize, is_first: bool) -> Vec<f64> {
    coordinates
        .chunks(factor)
        .map(|block| if is_first { block[0] } else { mean_on_circle(block, coordinates) })
        .collect()
}

/// The mean of coordinates that are next to each other. Where longitudes jump by a turn between two of them, the mean of the two
/// would be on the other side of the Earth.
fn mean_on_circle(block: &[f64], all: &[f64]) -> f64 {
    const TURN: f64 = 360.0;
    let has_jump = block.windows(2).any(|pair| (pair[1] - pair[0]).abs() > TURN / 2.0)
        && all.iter().all(|it| it.abs() <= TURN);
    if !has_jump {
        return block.iter().sum::<f64>() / block.len() as f64;
    }
    let turned = block.iter().map(|it| it - TURN * ((it - block[0]) / TURN).round());
    let mean = turned.sum::<f64>() / block.len() as f64;
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if mean < least {
        mean + TURN
    } else if mean > greatest {
        mean - TURN
    } else {
        mean
    }
}

/// The edges of the elements of a level, two for each: those around all that an element covers.
pub(super) fn coarser_bounds(bounds: &[f64], factor: usize) -> Vec<f64> {
    let mut coarser = Vec::new();
    for block in bounds.chunks(2 * factor) {
        let least = block.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = block.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let rises = block[0] <= block[1];
        coarser.extend(if rises { [least, greatest] } else { [greatest, least] });
    }
    coarser
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        match Json::parse(text.as_bytes()).unwrap() {
            Json::Object(object) => object,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn corners_stay_and_middles_move() {
        let base = [10.0, 0.0, 500.0, 0.0, -10.0, 900.0];
        let mut coarser =
            Coarser { lengths: [9, 8], factors: [2, 4], is_node: false, is_first: false };
        assert_eq!(coarser.lengths(), [5, 2]);
        assert_eq!(coarser.transform(base), [40.0, 0.0, 500.0, 0.0, -20.0, 900.0]);
        coarser.is_node = true;
        assert_eq!(coarser.transform(base), [40.0, 0.0, 515.0, 0.0, -20.0, 895.0]);
        coarser.is_first = true;
        assert_eq!(coarser.transform(base), [40.0, 0.0, 500.0, 0.0, -20.0, 900.0]);
    }

    #[test]
    fn attributes_are_those_of_the_level() {
        let coarser = Coarser { lengths: [9, 8], factors: [2, 2], is_node: false, is_first: false };
        let mut attributes = object(
            r#"{"spatial:shape": [9, 8], "spatial:transform": [10, 0, 500, 0, -10, 900], "spatial:bbox": [500, 810, 580, 900],
                "GeoTransform": "500 10 0 900 0 -10"}"#,
        );
        coarser.change(&mut attributes);
        let expected = r#"{"spatial:shape":[5,4],"spatial:transform":[20.0,0.0,500.0,0.0,-20.0,900.0],"spatial:bbox":[500.0,800.0,580.0,900.0],"GeoTransform":"500 20 0 900 0 -20"}"#;
        assert_eq!(Json::from(attributes).to_string(), expected);
        // Those of another array stay.
        let mut other = object(r#"{"spatial:transform": [1, 2, 3], "units": "m"}"#);
        coarser.change(&mut other);
        assert_eq!(Json::from(other).to_string(), r#"{"spatial:transform":[1,2,3],"units":"m"}"#);
    }

    #[test]
    fn a_box_is_a_transform() {
        let boxed = object(r#"{"spatial:bbox": [0, 0, 4, 2]}"#);
        assert_eq!(declared(&boxed, [2, 4], false), Some([1.0, 0.0, 0.0, 0.0, -1.0, 2.0]));
        assert_eq!(declared(&boxed, [3, 5], true), Some([1.0, 0.0, 0.0, 0.0, -1.0, 2.0]));
        let other = object(r#"{"spatial:bbox": [0, 0, 4, 2], "spatial:shape": [7, 7]}"#);
        assert_eq!(declared(&other, [2, 4], false), None);
    }

    #[test]
    fn codes_are_those_of_the_whole_system() {
        let code =
            |text: &str| projection_of_wkt(text).map(|(name, json)| format!("{name} {json}"));
        let utm = r#"PROJCS["UTM 32N",UNIT["metre",1],AUTHORITY["EPSG","32632"]]"#;
        assert_eq!(code(utm).as_deref(), Some(r#"proj:code "EPSG:32632""#));
        let utm = r#"PROJCRS["UTM 32N",ID["EPSG",32632]]"#;
        assert_eq!(code(utm).as_deref(), Some(r#"proj:code "EPSG:32632""#));
        let without = r#"PROJCS["local",UNIT["metre",1,AUTHORITY["EPSG","9001"]]]"#;
        assert_eq!(code(without), None);
        let wkt2 = r#"PROJCRS["local",LENGTHUNIT["metre",1,ID["EPSG",9001]]]"#;
        assert!(code(wkt2).unwrap().starts_with("proj:wkt2"));
    }

    #[test]
    fn coordinates_are_means_and_bounds_are_around_them() {
        assert_eq!(coarser_coordinates(&[0.0, 1.0, 2.0, 3.0, 4.0], 2, false), [0.5, 2.5, 4.0]);
        assert_eq!(coarser_coordinates(&[0.0, 1.0, 2.0, 3.0, 4.0], 2, true), [0.0, 2.0, 4.0]);
        assert_eq!(coarser_coordinates(&[178.0, 179.0, 180.0, -179.0], 2, false), [178.5, -179.5]);
        assert_eq!(coarser_bounds(&[0.0, 1.0, 1.0, 2.0, 2.0, 3.0], 2), [0.0, 2.0, 2.0, 3.0]);
        assert_eq!(coarser_bounds(&[3.0, 2.0, 2.0, 1.0], 2), [3.0, 1.0]);
        assert_eq!(coarser_bounds(&[2.0, 3.0, 1.0, 2.0], 2), [1.0, 3.0]);
    }
}

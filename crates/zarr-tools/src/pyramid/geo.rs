//! Finds maps: groups of variables on one plane of y and x, and the levels of them that GeoZarr's `multiscales` lists.

use zarr_core::data_type::{DataType, Scalar};
use zarr_core::{AccessError, Array, Error, ErrorKind, Group, Json, Node, Object, Result};

use super::PyramidMethod;
use super::geo_place::{self, Affine};
use super::image::{Axis, Dataset, Image, next_path};

/// The child that is the base where the group has no variables itself.
const BASE: &str = "0";
/// More levels of a layout are not looked at.
const MAX_LEVELS: usize = 64;
/// Bytes of a variable that is the same at all levels: a larger one is left out.
const MAX_SAME: u64 = 64 << 20;

/// A group of variables on one plane.
#[derive(Clone, Debug)]
pub(super) struct Map {
    /// The names of the dimensions of y and of x.
    pub dimensions: [String; 2],
    /// How many elements there are along y and x.
    pub lengths: [u64; 2],
    /// The levels that there are, the base first.
    pub levels: Vec<MapLevel>,
    /// How they were made, if it is said.
    pub method: Option<PyramidMethod>,
    /// The group whose variables are the base.
    pub base: Group,
    /// The arrays in it, by name.
    pub arrays: Vec<Array>,
    /// Whether `spatial:transform` and `spatial:bbox` are of the middles of elements, not of their edges.
    pub is_node: bool,
}

/// A level that a layout lists.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MapLevel {
    /// The path of its group from the group of the map on; empty for that group itself.
    pub asset: String,
    /// How many times as far apart its elements are as those of the base, along y and x, if that is said.
    pub scale: Option<[f64; 2]>,
}

/// What a variable on a map has that an image has not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OnMap {
    /// The axes of y and x, if it has both.
    pub plane: Option<(usize, usize)>,
    /// As [`Map::is_node`].
    pub is_node: bool,
}

impl OnMap {
    pub fn to_json(self) -> Json {
        let object = Object::new().with("is_node", self.is_node);
        match self.plane {
            Some((y, x)) => object.with("plane", [y, x]).into(),
            None => object.into(),
        }
    }

    pub fn from_json(json: &Json) -> Option<OnMap> {
        let plane = match json.get("plane") {
            None => None,
            Some(plane) => match plane.as_array()? {
                [y, x] => {
                    Some((usize::try_from(y.as_u64()?).ok()?, usize::try_from(x.as_u64()?).ok()?))
                }
                _ => return None,
            },
        };
        Some(OnMap { plane, is_node: json.get("is_node")?.as_bool()? })
    }
}

/// What becomes of an array of the base in a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Role {
    /// It has elements along y or x, and its levels are made like those of an image.
    Variable,
    /// The coordinates along y (0) or x (1).
    Coordinates(usize),
    /// The edges of those elements, two for each.
    Bounds(usize),
    /// It is the same at all levels.
    Same,
}

/// The path of an array in a level, from the group of the map on.
pub(super) fn path_in(asset: &str, name: &str) -> String {
    if asset.is_empty() { name.to_owned() } else { format!("{asset}/{name}") }
}

/// The name of an array in its group.
pub(super) fn name_of(array: &Array) -> &str {
    array.path().name().unwrap_or_default()
}

/// The names of the dimensions of an array, if each has one.
fn names_of(array: &Array) -> Option<Vec<String>> {
    array.dimension_names()?.into_iter().collect()
}

/// Whether levels can be computed of elements of this type.
pub(super) fn is_number(data_type: &DataType) -> bool {
    match (data_type, data_type.scalar()) {
        (DataType::Core(_), Some(Scalar::Int(bits) | Scalar::Uint(bits))) => bits >= 8,
        (DataType::Core(_), Some(Scalar::Float(format))) => [4, 8].contains(&format.size()),
        _ => false,
    }
}

/// Whether the elements of an array stand for kinds of things, of which there is no mean: bools, and CF's flags.
pub(super) fn is_categorical(array: &Array) -> bool {
    let attributes = array.attributes();
    matches!(array.data_type().scalar(), Some(Scalar::Bool))
        || ["flag_values", "flag_masks", "flag_meanings"]
            .iter()
            .any(|name| attributes.contains(name))
}

impl Map {
    /// The map that a group is: by the layout that it lists, else by its own variables, else by those of its child `0`. `None` if
    /// no variables there are on a plane of y and x.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for a layout of arrays; what the store reports.
    pub fn of(group: &Group) -> Result<Option<Map>> {
        let multiscales = multiscales(group.attributes());
        let listed = multiscales.map(levels_of).unwrap_or_default();
        let method = multiscales.and_then(|it| it.get("resampling_method")?.as_str());
        let method = method.and_then(method_of_resampling);
        let bases = match listed.first() {
            Some(base) => vec![base.asset.clone()],
            None => vec![String::new(), BASE.to_owned()],
        };
        for asset in bases {
            let base = match group.node(&asset) {
                Ok(Node::Group(base)) => base,
                Ok(Node::Array(array)) if !listed.is_empty() => {
                    let why = "the layout lists arrays; levels are added to a layout that lists groups only";
                    let error = Error::from(AccessError::Argument(why.into()));
                    return Err(error
                        .at_store(group.hierarchy().store().name())
                        .at_path(array.path()));
                }
                Ok(Node::Array(_)) => continue,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let members = base.members()?.into_iter();
            let arrays: Vec<Array> = members.filter_map(|node| node.into_array().ok()).collect();
            let Some(dimensions) = dimensions([group.attributes(), base.attributes()], &arrays)
            else {
                continue;
            };
            let Some(lengths) = arrays.iter().find_map(|array| lengths(array, &dimensions)) else {
                continue;
            };
            let mut levels = listed;
            if levels.is_empty() {
                levels.push(MapLevel { asset, scale: Some([1.0, 1.0]) });
            }
            let attributes = arrays.iter().map(Array::attributes);
            let is_node = [base.attributes().clone(), group.attributes().clone()]
                .into_iter()
                .chain(attributes)
                .find_map(|it| Some(it.get("spatial:registration")?.as_str()? == "node"));
            return Ok(Some(Map {
                dimensions,
                lengths,
                levels,
                method,
                base,
                arrays,
                is_node: is_node.unwrap_or(false),
            }));
        }
        Ok(None)
    }

    /// Whether the attributes of a group list levels as GeoZarr does.
    pub fn is_listed(attributes: &Object) -> bool {
        multiscales(attributes).is_some()
    }

    /// The axes of y and x of an array.
    fn axes(&self, names: &[String]) -> [Option<usize>; 2] {
        [0, 1].map(|at| names.iter().position(|name| *name == self.dimensions[at]))
    }

    /// What becomes of an array of the base in a level.
    pub fn role(&self, array: &Array) -> Role {
        let names = names_of(array).unwrap_or_default();
        let along: Vec<usize> = (0..2).filter(|&at| names.contains(&self.dimensions[at])).collect();
        match (&along[..], &names[..]) {
            ([], _) => Role::Same,
            ([at], [name]) if name == name_of(array) => Role::Coordinates(*at),
            ([at], [name, _]) if self.is_bounds(array, name) => Role::Bounds(*at),
            _ => Role::Variable,
        }
    }

    /// Whether an array has two edges for each of the coordinates of this name.
    fn is_bounds(&self, array: &Array, coordinates: &str) -> bool {
        let found = self.array(coordinates).map(|found| found.attributes());
        let named = found.as_ref().and_then(|it| it.get("bounds")?.as_str());
        named == Some(name_of(array)) && array.shape().get(1) == Some(&2)
    }

    /// The array of this name in the base.
    pub fn array(&self, name: &str) -> Option<&Array> {
        self.arrays.iter().find(|array| name_of(array) == name)
    }

    /// Why the levels have no such array, which has this role and is not a variable.
    pub fn obstacle(&self, array: &Array, role: Role) -> Option<String> {
        let metadata = array.metadata();
        if role != Role::Same {
            let is_number = is_number(&metadata.data_type);
            return (!is_number).then(|| {
                format!("coordinates of type `{}` are not supported", metadata.data_type)
            });
        }
        if let Some(lack) = metadata.unsupported.first() {
            return Some(format!("unknown {} `{}`", lack.what, lack.name));
        }
        let element = metadata.data_type.repr().map_or(1, |repr| repr.size() as u64);
        let (y, x) = (&self.dimensions[0], &self.dimensions[1]);
        (array.len().saturating_mul(element) > MAX_SAME)
            .then(|| format!("it has neither {y} nor {x}, and more than {} MiB", MAX_SAME >> 20))
    }

    /// A variable as an image whose levels are to be made.
    pub fn image(&self, array: &Array) -> Image {
        let names = names_of(array).unwrap_or_default();
        let along = self.axes(&names);
        let axes = names.iter().map(|name| Axis {
            name: name.clone(),
            is_channel: false,
            is_space: self.dimensions.contains(name),
            unit: None,
        });
        let datasets = self.levels.iter().map(|level| {
            let scale = names.iter().map(|name| {
                let at = self.dimensions.iter().position(|dimension| dimension == name);
                at.zip(level.scale).map_or(1.0, |(at, scale)| scale[at])
            });
            Dataset {
                path: path_in(&level.asset, name_of(array)),
                scale: scale.collect(),
                translation: vec![0.0; names.len()],
            }
        });
        let plane = match along {
            [Some(y), Some(x)] => Some((y, x)),
            _ => None,
        };
        Image {
            axes: axes.collect(),
            datasets: datasets.collect(),
            method: self.method.filter(|_| self.levels.len() > 1),
            map: Some(OnMap { plane, is_node: self.is_node }),
        }
    }

    /// Whether another variable names an array as its coordinates, of which there are means and first ones only.
    pub fn is_auxiliary(&self, array: &Array) -> bool {
        let name = name_of(array);
        self.arrays.iter().any(|other| {
            let attributes = other.attributes();
            let named = attributes.get("coordinates").and_then(Json::as_str).unwrap_or_default();
            named.split_whitespace().any(|word| word == name)
        })
    }

    /// The name of the level after the last: counted up where that ends with a number, else as GDAL calls it.
    pub fn next_asset(last: &str, factors: [u64; 2]) -> String {
        if last.ends_with(|c: char| c.is_ascii_digit()) {
            return next_path(last);
        }
        match factors {
            [y, x] if y == x => format!("ovr_{y}x"),
            [y, x] => format!("ovr_{y}x{x}"),
        }
    }

    /// Where the base is: by the layout, else by the attributes of its group, of the group of the map and of the variables, else by
    /// a `GeoTransform` or by evenly spaced coordinates.
    pub fn place(&self, group: &Group) -> Result<Option<Affine>> {
        let layout = multiscales(group.attributes()).and_then(|it| it.get("layout")?.as_array());
        let first = layout.and_then(|items| items.first()?.get("spatial:transform"));
        if let Some(place) = first.and_then(geo_place::affine) {
            return Ok(Some(place));
        }
        let of_arrays = self.arrays.iter().filter(|array| self.role(array) == Role::Variable);
        let declared = [self.base.attributes().clone(), group.attributes().clone()]
            .into_iter()
            .chain(of_arrays.map(Array::attributes))
            .find_map(|attributes| geo_place::declared(&attributes, self.lengths, self.is_node));
        if declared.is_some() {
            return Ok(declared);
        }
        let named = self.grid_mapping().map(|array| array.attributes());
        if let Some(place) = named.as_ref().and_then(geo_place::geo_transform) {
            return Ok(Some(place));
        }
        let mut lines = Vec::new();
        for name in &self.dimensions {
            let Some(array) = self.array(name).filter(|array| is_number(&array.data_type())) else {
                return Ok(None);
            };
            if !matches!(self.role(array), Role::Coordinates(_)) {
                return Ok(None);
            }
            match geo_place::even(&geo_place::numbers(array)?) {
                Some(line) => lines.push(line),
                None => return Ok(None),
            }
        }
        let half = if self.is_node { 0.0 } else { 0.5 };
        let [(first_y, e), (first_x, a)] = lines[..] else { return Ok(None) };
        Ok(Some([a, 0.0, first_x - half * a, 0.0, e, first_y - half * e]))
    }

    /// The one grid mapping variable of CF that the variables name, or that xarray calls `spatial_ref`.
    fn grid_mapping(&self) -> Option<&Array> {
        let mut named: Option<String> = None;
        for array in self.arrays.iter().filter(|array| self.role(array) == Role::Variable) {
            let attributes = array.attributes();
            let Some(text) = attributes.get("grid_mapping").and_then(Json::as_str) else {
                continue;
            };
            // Or `crs: lat lon`, with the coordinates that it is of.
            let name = text.split_whitespace().next().unwrap_or_default().trim_end_matches(':');
            if named.as_ref().is_some_and(|other| other != name) {
                return None;
            }
            named = Some(name.to_owned());
        }
        self.array(named.as_deref().unwrap_or("spatial_ref"))
    }

    /// The reference system as an attribute of the convention `proj`: that of the base's group, else the one that all variables
    /// have, else that of the grid mapping, else that of CF's longitudes and latitudes.
    pub fn projection(&self) -> Option<(String, Json)> {
        if let Some(found) = geo_place::projection(self.base.attributes()) {
            return Some(found);
        }
        let of_plane =
            self.arrays.iter().filter(|array| lengths(array, &self.dimensions).is_some());
        let mut of_variables =
            of_plane.map(|array| geo_place::projection(&array.attributes())).collect::<Vec<_>>();
        of_variables.dedup();
        if let [Some(one)] = &of_variables[..] {
            return Some(one.clone());
        }
        if let Some(mapping) = self.grid_mapping() {
            let attributes = mapping.attributes();
            return ["crs_wkt", "spatial_ref"].iter().find_map(|name| {
                let text = attributes.get(name)?.as_str()?;
                geo_place::projection_of_wkt(text)
            });
        }
        if self.arrays.iter().any(|array| array.attributes().contains("grid_mapping")) {
            // It is missing, or there are several.
            return None;
        }
        let are_degrees = self.has_units(0, "degrees_north") && self.has_units(1, "degrees_east");
        are_degrees.then(|| ("proj:code".to_owned(), "OGC:CRS84".into()))
    }

    /// Whether the coordinates along y (0) or x (1) have these units.
    fn has_units(&self, at: usize, units: &str) -> bool {
        let found = self.array(&self.dimensions[at]).map(|array| array.attributes());
        found
            .is_some_and(|attributes| attributes.get("units").and_then(Json::as_str) == Some(units))
    }
}

/// A variable as an image of which only the names of the axes are known.
pub(super) fn variable(array: &Array, map: OnMap) -> Image {
    let names = names_of(array).unwrap_or_default().into_iter();
    let axes = names.map(|name| Axis { name, is_space: false, is_channel: false, unit: None });
    Image { axes: axes.collect(), datasets: Vec::new(), method: None, map: Some(map) }
}

/// The attribute `multiscales` of GeoZarr; that of OME-Zarr is a list.
fn multiscales(attributes: &Object) -> Option<&Object> {
    let multiscales = attributes.get("multiscales")?.as_object()?;
    multiscales.contains("layout").then_some(multiscales)
}

/// The levels that a layout lists. Scales are relative to the level that an item is derived from.
fn levels_of(multiscales: &Object) -> Vec<MapLevel> {
    let layout = multiscales.get("layout").and_then(Json::as_array).unwrap_or_default();
    let mut levels: Vec<MapLevel> = Vec::new();
    for item in layout.iter().take(MAX_LEVELS) {
        let Some(asset) = item.get("asset").and_then(Json::as_str).map(normal) else { continue };
        let own = item.get("transform").and_then(|it| it.get("scale")).and_then(scale);
        let base = item.get("derived_from").and_then(Json::as_str).map(normal);
        let scale = match base {
            None => own.or(Some([1.0, 1.0])),
            Some(name) => {
                let base = levels.iter().find(|level| level.asset == name);
                base.and_then(|base| base.scale)
                    .zip(own)
                    .map(|(base, own)| [base[0] * own[0], base[1] * own[1]])
            }
        };
        levels.push(MapLevel { asset: asset.to_owned(), scale });
    }
    levels
}

/// An asset without a slash at its end; that of the group itself is empty.
fn normal(asset: &str) -> &str {
    let asset = asset.trim_end_matches('/');
    if asset == "." { "" } else { asset }
}

/// The last two numbers, of y and x: GDAL has one for each axis of an array.
fn scale(json: &Json) -> Option<[f64; 2]> {
    let [.., y, x] = json.as_array()? else { return None };
    let scale = [y.as_f64()?, x.as_f64()?];
    scale.iter().all(|it| it.is_finite() && *it > 0.0).then_some(scale)
}

/// How many elements an array has along y and x, if it has both.
fn lengths(array: &Array, dimensions: &[String; 2]) -> Option<[u64; 2]> {
    let (names, shape) = (names_of(array)?, array.shape());
    let y = names.iter().position(|name| *name == dimensions[0])?;
    let x = names.iter().position(|name| *name == dimensions[1])?;
    Some([shape[y], shape[x]])
}

/// The names of the dimensions of y and x: those that `spatial:dimensions` of the groups or of an array names, else those of the
/// first array that has both kinds.
fn dimensions(groups: [&Object; 2], arrays: &[Array]) -> Option<[String; 2]> {
    let of_arrays = arrays.iter().map(Array::attributes);
    for attributes in groups.into_iter().cloned().chain(of_arrays) {
        let Some([y, x]) = attributes.get("spatial:dimensions").and_then(Json::as_array) else {
            continue;
        };
        if let (Some(y), Some(x)) = (y.as_str(), x.as_str())
            && y != x
        {
            let found = [y.to_owned(), x.to_owned()];
            if arrays.iter().any(|array| lengths(array, &found).is_some()) {
                return Some(found);
            }
        }
    }
    arrays.iter().filter(|array| array.rank() > 1).find_map(|array| {
        let names = names_of(array)?;
        let y = names.iter().rposition(|name| kind_of(name, arrays) == Some(Kind::Y))?;
        let x = names.iter().rposition(|name| kind_of(name, arrays) == Some(Kind::X))?;
        Some([names[y].clone(), names[x].clone()])
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Y,
    X,
}

/// What is along a dimension, by the attributes of its coordinates (CF 4), else by its name. Never by the size of numbers.
fn kind_of(dimension: &str, arrays: &[Array]) -> Option<Kind> {
    if let Some(array) = arrays.iter().find(|array| name_of(array) == dimension) {
        let attributes = array.attributes();
        for name in ["axis", "standard_name", "units"] {
            let Some(text) = attributes.get(name).and_then(Json::as_str) else { continue };
            match text.to_ascii_lowercase().replace('_', "").as_str() {
                "x"
                | "longitude"
                | "projectionxcoordinate"
                | "gridlongitude"
                | "degreeseast"
                | "degreeeast"
                | "degreee"
                | "degreese" => return Some(Kind::X),
                "y"
                | "latitude"
                | "projectionycoordinate"
                | "gridlatitude"
                | "degreesnorth"
                | "degreenorth"
                | "degreen"
                | "degreesn" => return Some(Kind::Y),
                "z" | "t" if name == "axis" => return None,
                _ => {}
            }
        }
    }
    match dimension.to_ascii_lowercase().as_str() {
        "x" | "lon" | "longitude" | "easting" => Some(Kind::X),
        "y" | "lat" | "latitude" | "northing" => Some(Kind::Y),
        _ => None,
    }
}

/// The method that a `resampling_method` of the convention means.
fn method_of_resampling(name: &str) -> Option<PyramidMethod> {
    match name {
        "average" => Some(PyramidMethod::Mean),
        "med" => Some(PyramidMethod::Median),
        "gauss" => Some(PyramidMethod::Gaussian),
        other => other.parse().ok(),
    }
}

/// What the convention calls a method.
pub(super) fn resampling(method: PyramidMethod) -> &'static str {
    match method {
        PyramidMethod::Mean => "average",
        PyramidMethod::Median => "med",
        PyramidMethod::Gaussian => "gauss",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_scales_relative_to_the_base() {
        let text = br#"{"layout": [{"asset": "."}, {"asset": "ovr_2x/", "derived_from": ".", "transform": {"scale": [1, 2, 3]}},
            {"asset": "b", "derived_from": "ovr_2x", "transform": {"scale": [2, 2]}}, {"asset": "c", "derived_from": "x"}]}"#;
        let Json::Object(multiscales) = Json::parse(text).unwrap() else { panic!() };
        let found = levels_of(&multiscales);
        let expected = [
            ("", Some([1.0, 1.0])),
            ("ovr_2x", Some([2.0, 3.0])),
            ("b", Some([4.0, 6.0])),
            ("c", None),
        ];
        let expected = expected.map(|(asset, scale)| MapLevel { asset: asset.into(), scale });
        assert_eq!(found, expected);
    }

    #[test]
    fn levels_are_counted_up_or_called_as_gdal_calls_them() {
        assert_eq!(Map::next_asset("0", [2, 2]), "1");
        assert_eq!(Map::next_asset("", [2, 2]), "ovr_2x");
        assert_eq!(Map::next_asset("ovr_2x", [4, 4]), "ovr_4x");
        assert_eq!(Map::next_asset("", [2, 3]), "ovr_2x3");
    }
}

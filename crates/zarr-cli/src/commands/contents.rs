//! Describes what a group holds, as xarray describes a dataset: dimensions, coordinates, variables; and as napari an image.

use std::collections::{BTreeMap, HashSet};

use zarr::format::Child;
use zarr::{Array, Group, Json, NodeKind, Object};
#[cfg(feature = "plot")]
use zarr_plot::meaning::{Field, Plate, fields_of_well};

use crate::digits::Digits;
use crate::human;
use crate::json::or_null;

/// Groups with more arrays are described by their names only: each array has a document to read.
const MAX_ARRAYS: usize = 1000;
/// Of plates with more wells the fields are not counted, for which each well is opened.
#[cfg(feature = "plot")]
const MAX_WELLS_OPENED: usize = 2000;

/// The arrays of a group that make a dataset, and the sizes of their dimensions.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// In the order in which variables have them. `None` where arrays disagree about the length.
    dimensions: Vec<(String, Option<u64>)>,
    coordinates: Vec<Variable>,
    variables: Vec<Variable>,
    /// Names of arrays whose documents are broken.
    broken: Vec<String>,
}

#[derive(Debug)]
struct Variable {
    name: String,
    array: Array,
    names: Vec<String>,
}

impl Variable {
    /// An attribute, if it is a text that says something.
    fn text(&self, name: &str) -> Option<String> {
        let attributes = self.array.attributes();
        let text = attributes.get(name)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn long_name(&self) -> Option<String> {
        self.text("long_name").or_else(|| self.text("standard_name"))
    }

    /// Whether it has the coordinates of the dimension of its name.
    fn is_index(&self) -> bool {
        self.names.len() == 1 && self.names[0] == self.name
    }
}

impl Contents {
    /// What the children of a group are together; `None` if no array of them has named dimensions, or there are too many.
    pub fn of(group: &Group, children: &[Child]) -> Option<Contents> {
        let arrays = children.iter().filter(|child| child.kind == Some(NodeKind::Array));
        let arrays: Vec<&Child> = arrays.collect();
        if arrays.len() > MAX_ARRAYS {
            return None;
        }
        let (mut found, mut broken) = (Vec::new(), Vec::new());
        for child in arrays {
            let name = child.path.name().unwrap_or_default().to_owned();
            let Ok(array) = group.hierarchy().array(&child.path) else {
                broken.push(name);
                continue;
            };
            let metadata = array.metadata();
            let names = metadata.dimension_names.iter().flatten();
            let names = names.map(|name| name.clone().unwrap_or_else(|| "-".into())).collect();
            found.push(Variable { name, names, array });
        }
        if !found.iter().any(|variable| variable.names.iter().any(|name| name != "-")) {
            return None;
        }
        let mut contents = Contents { broken, ..Contents::default() };
        // The variables of most dimensions have these in the order that people expect.
        let mut by_rank: Vec<&Variable> = found.iter().collect();
        by_rank.sort_by_key(|variable| std::cmp::Reverse(variable.names.len()));
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for variable in by_rank {
            for (name, len) in variable.names.iter().zip(variable.array.shape()) {
                match places.get(name) {
                    _ if name == "-" => {}
                    Some(&at) if contents.dimensions[at].1 != Some(len) => {
                        contents.dimensions[at].1 = None;
                    }
                    Some(_) => {}
                    None => {
                        places.insert(name.clone(), contents.dimensions.len());
                        contents.dimensions.push((name.clone(), Some(len)));
                    }
                }
            }
        }
        let mut named: HashSet<String> = HashSet::new();
        let of_group = group.attributes().get("coordinates").and_then(Json::as_str);
        named.extend(of_group.into_iter().flat_map(str::split_whitespace).map(str::to_owned));
        for variable in &found {
            let text = variable.text("coordinates").unwrap_or_default();
            named.extend(text.split_whitespace().map(str::to_owned));
        }
        (contents.coordinates, contents.variables) = found
            .into_iter()
            .partition(|variable| variable.is_index() || named.contains(&variable.name));
        // Those of dimensions come first, in the order of these.
        contents.coordinates.sort_by_key(|variable| {
            let index = places.get(&variable.name).filter(|_| variable.is_index());
            index.copied().unwrap_or(usize::MAX)
        });
        Some(contents)
    }

    /// Lines of people: a label, and a text.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        let dimensions: Vec<String> = self
            .dimensions
            .iter()
            .map(|(name, len)| {
                let len = len.map_or("several lengths".to_owned(), |len| len.to_string());
                format!("{name}: {len}")
            })
            .collect();
        lines.push(("dimensions", dimensions.join(", ")));
        let all = || self.coordinates.iter().chain(&self.variables);
        let names: Vec<String> = all().map(|variable| human::printable(&variable.name)).collect();
        let axes: Vec<String> = all().map(|variable| tuple(&variable.names)).collect();
        let types: Vec<String> =
            all().map(|variable| variable.array.data_type().to_string()).collect();
        let widths = [
            human::column_width(names.iter()),
            human::column_width(axes.iter()),
            human::column_width(types.iter()),
        ];
        for (n, variable) in all().enumerate() {
            let (label, first) = match n.checked_sub(self.coordinates.len()) {
                None => ("coordinates", n == 0),
                Some(n) => ("variables", n == 0),
            };
            let cells = [
                human::left(&names[n], widths[0]),
                human::left(&axes[n], widths[1]),
                human::left(&types[n], widths[2]),
            ];
            let said = variable.long_name().into_iter().chain(variable.text("units"));
            let ends = if variable.is_index() { ends(&variable.array) } else { None };
            let said: Vec<String> = said.chain(ends).collect();
            let text = format!("{}  {}", cells.join("  "), said.join(", "));
            lines.push((if first { label } else { "" }, text.trim_end().to_owned()));
        }
        if !self.broken.is_empty() {
            lines.push(("broken", self.broken.join("  ")));
        }
        lines
    }

    /// Members of JSON: `dimensions`, `coordinates` and `variables`.
    pub fn members(&self, mut object: Object) -> Object {
        let dimensions = self
            .dimensions
            .iter()
            .map(|(name, found)| (name.clone(), found.map_or(Json::Null, Json::from)));
        object.insert("dimensions", Json::from(dimensions.collect::<Object>()));
        object
            .with("coordinates", self.coordinates.iter().map(variable_json).collect::<Json>())
            .with("variables", self.variables.iter().map(variable_json).collect::<Json>())
    }
}

/// A variable, without its elements.
fn variable_json(variable: &Variable) -> Json {
    let names: Json = variable.names.iter().map(|name| Json::from(name.as_str())).collect();
    let object = Object::new()
        .with("name", variable.name.as_str())
        .with("dimensions", names)
        .with("shape", &variable.array.shape()[..])
        .with("data_type_name", variable.array.data_type().to_string())
        .with("units", or_null(variable.text("units")))
        .with("long_name", or_null(variable.long_name()));
    Json::from(object)
}

/// `(time, lat)`; nothing of a scalar.
fn tuple(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| human::printable(name)).collect();
    if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) }
}

/// The first and the last coordinate, where reading them costs little.
#[cfg(feature = "plot")]
fn ends(array: &Array) -> Option<String> {
    let len = *array.shape().first().filter(|&&len| len > 0)?;
    if !array.hierarchy().store().capabilities().local {
        return None;
    }
    let axes = zarr_plot::meaning::axes_of(array).ok()?;
    let axis = axes.first()?;
    let digits = Digits::Short;
    let first = human::printable(&digits.of_text(&coordinate(axis, 0)?));
    let last = human::printable(&digits.of_text(&coordinate(axis, len - 1)?));
    Some(if len == 1 { first } else { format!("{first} … {last}") })
}

/// The coordinate at a position. What cannot be read is for other commands to say.
#[cfg(feature = "plot")]
fn coordinate(axis: &zarr_plot::meaning::Axis, position: u64) -> Option<String> {
    Some(axis.read(position..position + 1).ok()??.text(0))
}

#[cfg(not(feature = "plot"))]
fn ends(_: &Array) -> Option<String> {
    None
}

/// Lines of people about the OME images of a group, and whether there are any.
#[cfg(feature = "plot")]
pub(super) fn image_lines(group: &Group) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    for image in zarr_plot::meaning::Image::of_group(group) {
        let what = if image.is_label { "labels" } else { "image" };
        let name = image.name.as_deref().unwrap_or("without a name");
        let version = version(group).map_or(String::new(), |version| format!(" {version}"));
        lines.push((what, format!("{name}, OME-Zarr{version}")));
        let axes: Vec<String> = image
            .axes
            .iter()
            .map(|(name, _, unit)| match unit {
                Some(unit) => format!("{name} ({unit})"),
                None => name.clone(),
            })
            .collect();
        lines.push(("axes", axes.join(", ")));
        for (n, channel) in image.channels.iter().enumerate() {
            let label = channel.label.clone().unwrap_or_else(|| n.to_string());
            let [red, green, blue] = channel.color;
            let window = channel.window.map_or(String::new(), |(low, high)| {
                let digits = Digits::Short;
                format!("  {} … {}", digits.of_float(low), digits.of_float(high))
            });
            let off = if channel.active { "" } else { "  hidden" };
            let text = format!("{label}  #{red:02X}{green:02X}{blue:02X}{window}{off}");
            lines.push((if n == 0 { "channels" } else { "" }, text));
        }
        let levels: Vec<[String; 3]> = image.levels.iter().map(|level| row(group, level)).collect();
        let width = |n: usize| human::column_width(levels.iter().map(|level| &level[n]));
        let widths = [width(0), width(1)];
        for (n, [path, shape, scale]) in levels.iter().enumerate() {
            let (path, shape) = (human::left(path, widths[0]), human::left(shape, widths[1]));
            lines.push((if n == 0 { "levels" } else { "" }, format!("{path}  {shape}  {scale}")));
        }
    }
    if !lines.is_empty()
        && let Ok(labels) = zarr_plot::meaning::label_images(group)
        && !labels.is_empty()
    {
        let names: Vec<String> = labels.into_iter().map(|(name, _)| name).collect();
        lines.push(("labels", names.join("  ")));
    }
    lines
}

/// The path of a level, its type and shape, and its pixel size.
#[cfg(feature = "plot")]
fn row(group: &Group, level: &zarr_plot::meaning::Level) -> [String; 3] {
    let place = group.path().join(&level.path);
    let array = place.map_err(zarr::Error::from).and_then(|path| group.hierarchy().array(&path));
    let what = match array {
        Ok(array) => format!("{} {}", array.data_type(), human::shape(&array.shape())),
        Err(e) if e.kind() == zarr::ErrorKind::NotFound => "missing".into(),
        Err(_) => "broken".into(),
    };
    let scale: Vec<String> =
        level.scale.iter().map(|&scale| Digits::Short.of_float(scale)).collect();
    [level.path.clone(), what, format!("pixel {}", scale.join(" × "))]
}

#[cfg(feature = "plot")]
fn version(group: &Group) -> Option<String> {
    let attributes = group.attributes();
    if let Some(ome) = attributes.get("ome").and_then(Json::as_object) {
        return ome.get("version")?.as_str().map(str::to_owned);
    }
    let image = attributes.get("multiscales").and_then(Json::as_array).and_then(|all| all.first());
    let found = image.or(attributes.get("plate")).or(attributes.get("well"));
    found?.as_object()?.get("version")?.as_str().map(str::to_owned)
}

/// Lines of people about the plate or the well that a group is; none if it is neither.
#[cfg(feature = "plot")]
pub(super) fn plate_lines(group: &Group) -> Vec<(&'static str, String)> {
    let version = version(group).map_or(String::new(), |version| format!(" {version}"));
    let mut lines = Vec::new();
    if let Some(plate) = Plate::of_group(group) {
        let name = plate.name.as_deref().unwrap_or("without a name");
        lines.push(("plate", human::printable(&format!("{name}, OME-Zarr{version}"))));
        let [rows, columns] = [&plate.rows, &plate.columns].map(|names| ends_of(names));
        let wells = human::count(plate.wells.len() as u64);
        let places = human::count((plate.rows.len() * plate.columns.len()) as u64);
        let text = format!("{wells} of {places}: rows {rows}, columns {columns}");
        lines.push(("wells", human::printable(&text)));
        let counted = field_counts(group, &plate);
        let fields = match (&counted, plate.field_count) {
            (Some(counts), _) => {
                let (least, most) = (counts.iter().min(), counts.iter().max());
                let (least, most) = (least.copied().unwrap_or(0), most.copied().unwrap_or(0));
                let each =
                    if least == most { most.to_string() } else { format!("{least} to {most}") };
                Some(format!("{}, {each} a well", human::count(counts.iter().sum())))
            }
            (None, Some(most)) => Some(format!("up to {} a well", human::count(most))),
            (None, None) => None,
        };
        lines.extend(fields.map(|fields| ("fields", fields)));
        let acquisitions = plate.acquisitions.iter().map(|acquisition| match &acquisition.name {
            Some(name) => format!("{} ({name})", acquisition.id),
            None => acquisition.id.to_string(),
        });
        let acquisitions: Vec<String> = acquisitions.collect();
        if !acquisitions.is_empty() {
            lines.push(("acquisitions", human::printable(&acquisitions.join(", "))));
        }
    }
    if let Some(fields) = fields_of_well(group) {
        lines.push((
            "well",
            format!("{}, OME-Zarr{version}", human::plural(fields.len() as u64, "field")),
        ));
        let names = fields.iter().map(|field| match field.acquisition {
            Some(id) => format!("{} (acquisition {id})", field.path),
            None => field.path.clone(),
        });
        lines.push(("fields", human::printable(&names.collect::<Vec<_>>().join(", "))));
    }
    lines
}

/// The first and the last name of rows or columns.
#[cfg(feature = "plot")]
fn ends_of(names: &[String]) -> String {
    match names {
        [] => "none".into(),
        [one] => one.clone(),
        [first, .., last] => format!("{first} … {last}"),
    }
}

/// How many fields each well has: of a store that is near, and if there are not too many wells to open each.
#[cfg(feature = "plot")]
fn field_counts(group: &Group, plate: &Plate) -> Option<Vec<u64>> {
    if !group.hierarchy().store().capabilities().local || plate.wells.len() > MAX_WELLS_OPENED {
        return None;
    }
    let fields = plate.fields(group, None).ok()?;
    Some(fields.iter().map(|fields| fields.len() as u64).collect())
}

/// The plate or the well that a group is, for JSON: members `plate` and `well`.
#[cfg(feature = "plot")]
pub(super) fn plate_members(group: &Group) -> Object {
    let mut object = Object::new();
    if let Some(plate) = Plate::of_group(group) {
        let counts = field_counts(group, &plate);
        let fields = counts.map_or(Json::Null, |counts| counts.iter().sum::<u64>().into());
        let wells = plate.wells.iter().map(|well| Json::from(well.members()));
        let plate = plate
            .members()
            .with("version", or_null(version(group)))
            .with("wells", wells.collect::<Json>())
            .with("fields", fields);
        object.insert("plate", plate);
    }
    if let Some(fields) = fields_of_well(group) {
        let well = Object::new()
            .with("version", or_null(version(group)))
            .with("fields", fields.iter().map(Field::to_json).collect::<Json>());
        object.insert("well", well);
    }
    object
}

/// The OME images of a group for JSON.
#[cfg(feature = "plot")]
pub(super) fn images(group: &Group) -> Vec<Json> {
    let images = zarr_plot::meaning::Image::of_group(group).into_iter();
    images.map(|image| image_json(group, &image)).collect()
}

#[cfg(feature = "plot")]
fn image_json(group: &Group, image: &zarr_plot::meaning::Image) -> Json {
    let axes = image.axes.iter().map(|(name, _, unit)| {
        let unit = unit.as_deref().map_or(Json::Null, Json::from);
        Json::from(Object::new().with("name", name.as_str()).with("unit", unit))
    });
    let object = Object::new()
        .with("name", or_null(image.name.clone()))
        .with("version", or_null(version(group)))
        .with("is_label", image.is_label)
        .with("axes", axes.collect::<Json>())
        .with("channels", image.channels.iter().map(channel_json).collect::<Json>())
        .with(
            "levels",
            image.levels.iter().map(|level| level_json(group, level)).collect::<Json>(),
        );
    Json::from(object)
}

#[cfg(feature = "plot")]
fn channel_json(channel: &zarr_plot::meaning::Channel) -> Json {
    let [red, green, blue] = channel.color;
    let label = channel.label.as_deref().map_or(Json::Null, Json::from);
    let window = channel.window.map_or(Json::Null, |(low, high)| {
        [number_json(&low), number_json(&high)].into_iter().collect()
    });
    let object = Object::new()
        .with("label", label)
        .with("color", format!("{red:02X}{green:02X}{blue:02X}"))
        .with("window", window)
        .with("active", channel.active);
    Json::from(object)
}

#[cfg(feature = "plot")]
fn level_json(group: &Group, level: &zarr_plot::meaning::Level) -> Json {
    let place = group.path().join(&level.path).ok();
    let array = place.and_then(|path| group.hierarchy().array(&path).ok());
    let shape = array.as_ref().map_or(Json::Null, |array| Json::from(&array.shape()[..]));
    let data_type = array.map_or(Json::Null, |array| array.data_type().to_string().into());
    let object = Object::new()
        .with("path", level.path.as_str())
        .with("shape", shape)
        .with("data_type_name", data_type)
        .with("scale", level.scale.iter().map(number_json).collect::<Json>())
        .with("translation", level.translation.iter().map(number_json).collect::<Json>());
    Json::from(object)
}

#[cfg(feature = "plot")]
fn number_json(value: &f64) -> Json {
    Json::Number(zarr::Number::from(format!("{value:?}")))
}

#[cfg(not(feature = "plot"))]
pub(super) fn image_lines(_: &Group) -> Vec<(&'static str, String)> {
    Vec::new()
}

#[cfg(not(feature = "plot"))]
pub(super) fn plate_lines(_: &Group) -> Vec<(&'static str, String)> {
    Vec::new()
}

#[cfg(not(feature = "plot"))]
pub(super) fn plate_members(_: &Group) -> Object {
    Object::new()
}

#[cfg(not(feature = "plot"))]
pub(super) fn images(_: &Group) -> Vec<Json> {
    Vec::new()
}

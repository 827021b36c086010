//! Finds the axes of an array: names, kinds, units, and where their coordinates are.
//!
//! Names are those of the document, or of xarray's and NCZarr's attributes, which `zarr-core` reads. Coordinates are in the array
//! of one axis that has the same name in the same group or one above it (CF 5, netCDF-4's scope). Of a level of an OME image they
//! follow from its transformations, and of a map without such arrays from where its attributes say that it is.

use std::collections::HashSet;
use std::ops::Range;

use zarr_core::data_type::{DataType, Endian, ScalarValue, TimeUnit, utf32_chars};
use zarr_core::{Array, ErrorKind, NodePath, Object, Result};

use super::ome::Image;
use super::{Affine, Meaning, MissingRule, TimeUnits, geo, text, units_of_numpy};

/// An axis of an array.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// What is along it.
    pub kind: AxisKind,
    /// The unit of its coordinates, as the attribute says it.
    pub units: Option<String>,
    /// What to write beside it: `long_name`, `standard_name` or the name.
    pub title: Option<String>,
    /// How many elements are along it.
    pub len: u64,
    /// Which way its coordinates rise, if it is a vertical one.
    pub positive: Option<Positive>,
    values: Values,
    /// The labels of an image's channels, if this is their axis and each has one of its own.
    pub(super) labels: Vec<String>,
    /// The array of its name, if that has another shape than its coordinates would have.
    pub(super) unfit: Option<(NodePath, Vec<u64>)>,
}

/// Where the greater coordinates of a vertical axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positive {
    /// Above: heights.
    Up,
    /// Below: depths and pressures.
    Down,
}

/// How far steps may differ from each other, in steps, on an even axis.
const EVEN: f64 = 1e-3;
/// The most coordinates that are compared to find out whether they are even.
const MAX_COMPARED_COORDINATES: u64 = 1 << 14;

impl Axis {
    /// An axis of which only the length is known.
    pub fn plain(len: u64) -> Axis {
        let (name, units, title) = (None, None, None);
        let (kind, positive, values) = (AxisKind::Other, None, Values::None);
        let labels = Vec::new();
        Axis { name, kind, units, title, len, positive, values, labels, unfit: None }
    }
}

/// What is along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisKind {
    /// Longitude or x.
    X,
    /// Latitude or y.
    Y,
    /// Height, depth, pressure or z.
    Z,
    /// Time.
    Time,
    /// Channels or bands.
    Channel,
    /// Something else, or not known.
    Other,
}

impl AxisKind {
    /// Whether it is an axis of space.
    pub fn is_space(self) -> bool {
        matches!(self, AxisKind::X | AxisKind::Y | AxisKind::Z)
    }
}

#[derive(Clone, Debug)]
enum Values {
    /// Elements have positions only.
    None,
    /// Positions, scaled.
    Affine(Affine),
    /// As [`Values::Affine`], on a map: they rise to the east and to the north.
    OnMap(Affine),
    /// An array of as many elements.
    Stored(Box<Array>),
}

/// Coordinates along an axis, decoded.
#[derive(Clone, Debug, Default)]
pub struct Coordinates {
    /// One for each position; NaN where it is missing or no number.
    pub numbers: Vec<f64>,
    /// How the numbers are times.
    pub time: Option<TimeUnits>,
    /// Their texts, if they are no numbers.
    pub texts: Option<Vec<String>>,
}

impl Coordinates {
    /// How the coordinate at a position is shown: a date, a text, or the shortest number.
    pub fn text(&self, at: usize) -> String {
        if let Some(texts) = &self.texts {
            return texts.get(at).cloned().unwrap_or_default();
        }
        let number = self.numbers.get(at).copied().unwrap_or(f64::NAN);
        match self.time.and_then(|time| time.date(number)) {
            Some(date) => date.to_string(),
            None => format!("{number}"),
        }
    }
}

impl Axis {
    /// Whether its elements have coordinates other than their positions.
    pub fn has_coordinates(&self) -> bool {
        !matches!(self.values, Values::None)
    }

    /// Whether its elements can be selected by their coordinates or labels.
    pub fn is_selectable(&self) -> bool {
        self.has_coordinates() || !self.labels.is_empty()
    }

    /// The array of its coordinates, if there is one.
    pub fn array(&self) -> Option<&Array> {
        match &self.values {
            Values::Stored(array) => Some(array),
            _ => None,
        }
    }

    /// Coordinates `first + n · step` along the axis, if these follow from its document only.
    pub fn affine(&self) -> Option<Affine> {
        match &self.values {
            Values::Affine(affine) | Values::OnMap(affine) => Some(*affine),
            _ => None,
        }
    }

    /// The first coordinate and how far it is to the next, in [`Axis::units`], if all are numbers as far from each other.
    /// Coordinates that are stored are read.
    pub fn even(&self) -> Option<Affine> {
        if let Some(affine) = self.affine() {
            return Some(affine);
        }
        if !(2..=MAX_COMPARED_COORDINATES).contains(&self.len) {
            return None;
        }
        let found = self.read(0..self.len).ok()??;
        if found.time.is_some() || found.texts.is_some() {
            return None;
        }
        let (first, last) = (*found.numbers.first()?, *found.numbers.last()?);
        let scale = (last - first) / (self.len - 1) as f64;
        let is_known = scale.is_finite() && scale != 0.0;
        let is_even =
            is_known
                && found.numbers.iter().enumerate().all(|(n, value)| {
                    (first + n as f64 * scale - value).abs() <= EVEN * scale.abs()
                });
        is_even.then_some(Affine { scale, offset: first })
    }

    /// Its units in metres, if they are of length.
    pub fn unit_of_length(&self) -> Option<f64> {
        let units = self.units.as_deref()?;
        Some(match units {
            "angstrom" | "Å" => 1e-10,
            "picometer" | "pm" => 1e-12,
            "nanometer" | "nm" => 1e-9,
            "micrometer" | "micron" | "um" | "µm" | "μm" => 1e-6,
            "millimeter" | "mm" => 1e-3,
            "centimeter" | "cm" => 1e-2,
            "meter" | "metre" | "meters" | "metres" | "m" => 1.0,
            "kilometer" | "kilometers" | "km" => 1e3,
            _ => return None,
        })
    }

    /// Whether its coordinates are degrees of longitude or latitude.
    pub fn is_angle(&self) -> bool {
        let units = self.units.as_deref().unwrap_or_default().to_ascii_lowercase();
        matches!(self.kind, AxisKind::X | AxisKind::Y) && units.starts_with("degree")
    }

    /// Whether it goes up from one position to another, both within the axis: to the north, or along a vertical axis to what CF
    /// calls up. Without coordinates and on images it goes down. The two coordinates are read.
    pub fn is_upwards(&self, from: u64, to: u64) -> bool {
        let rises = match (self.kind, self.positive) {
            (AxisKind::Y, _) | (AxisKind::Z, Some(Positive::Up)) => true,
            (AxisKind::Z, Some(Positive::Down)) => false,
            _ => return false,
        };
        if matches!(self.values, Values::None | Values::Affine(_)) || from == to {
            return false;
        }
        let (Some(first), Some(last)) = (self.number_at(from), self.number_at(to)) else {
            return false;
        };
        if rises { first < last } else { first > last }
    }

    /// Gives it the coordinates of a map: the first one, and how far it is to the next.
    pub(super) fn set_on_map(&mut self, kind: AxisKind, affine: Affine, units: Option<&str>) {
        self.kind = kind;
        self.units = units.map(str::to_owned);
        self.values = Values::OnMap(affine);
    }

    /// The coordinate at one position.
    fn number_at(&self, position: u64) -> Option<f64> {
        self.read(position..position + 1).ok()??.numbers.first().copied()
    }

    /// Reads the coordinates at `positions`, which must be within the axis; `None` if it has none but the positions.
    ///
    /// # Errors
    /// What reading the array of coordinates fails with.
    pub fn read(&self, positions: Range<u64>) -> Result<Option<Coordinates>> {
        match &self.values {
            Values::None => Ok(None),
            Values::Affine(affine) | Values::OnMap(affine) => {
                let numbers = positions.map(|at| affine.apply(at as f64)).collect();
                Ok(Some(Coordinates { numbers, ..Coordinates::default() }))
            }
            Values::Stored(array) => read(array, positions).map(Some),
        }
    }
}

fn read(array: &Array, positions: Range<u64>) -> Result<Coordinates> {
    let data_type = array.data_type();
    match data_type.resolved() {
        Some(DataType::String) => {
            let texts: Vec<String> = array.read(positions)?;
            return Ok(Coordinates { texts: Some(texts), ..Coordinates::default() });
        }
        Some(DataType::FixedUtf32 { len }) => {
            let bytes = array.read_le_bytes(positions)?;
            let texts = bytes
                .chunks_exact(4 * len.max(1))
                .map(|element| {
                    utf32_chars(element, Endian::Little)
                        .take_while(|&letter| letter != '\0')
                        .collect()
                })
                .collect();
            return Ok(Coordinates { texts: Some(texts), ..Coordinates::default() });
        }
        _ => {}
    }
    let meaning = Meaning::of(array, MissingRule::Declared);
    let Some(scalar) = meaning.scalar(&data_type) else {
        let len = positions.end.saturating_sub(positions.start) as usize;
        return Ok(Coordinates { numbers: vec![f64::NAN; len], ..Coordinates::default() });
    };
    let bytes = array.read_bytes(positions)?;
    let values = bytes.chunks_exact(scalar.size()).map(|element| scalar.load(element));
    if let DataType::Time(time) = data_type
        && let Some(units) = units_of_numpy(time)
    {
        // Counts of nanoseconds are more than f64 holds: they become microseconds.
        let (units, by) = match time.unit {
            TimeUnit::Nanosecond if time.scale_factor == 1 => {
                (TimeUnits::of_nanoseconds(1_000), 1_000)
            }
            _ => (units, 1),
        };
        return Ok(Coordinates {
            numbers: values
                .map(|value| match value {
                    ScalarValue::Integer(count) => count.div_euclid(by) as f64,
                    ScalarValue::Float(nat) => nat,
                })
                .collect(),
            time: Some(units),
            texts: None,
        });
    }
    let numbers = values.map(|value| meaning.decode(value).unwrap_or(f64::NAN)).collect();
    Ok(Coordinates { numbers, time: meaning.time, texts: None })
}

/// The axes of an array. Variables with their coordinates are opened, and the groups above it, which may be OME images.
///
/// # Errors
/// What the store reports. A coordinate variable that is not there or cannot be read leaves an axis without coordinates.
pub fn axes_of(array: &Array) -> Result<Vec<Axis>> {
    axes_of_image(array, Image::of_array(array)?.as_ref())
}

/// The axes of an array that is a level of this image, if it is one of any.
pub(crate) fn axes_of_image(array: &Array, image: Option<&(Image, usize)>) -> Result<Vec<Axis>> {
    let metadata = array.metadata();
    let shape = &metadata.shape;
    let names = metadata.dimension_names.clone().unwrap_or_else(|| vec![None; shape.len()]);
    let mut axes = Vec::with_capacity(shape.len());
    for (n, (&len, name)) in shape.iter().zip(names).enumerate() {
        let of_image = image.and_then(|(image, level)| image.axis(*level, n, len));
        if let Some(axis) = of_image {
            axes.push(axis);
            continue;
        }
        let mut axis = Axis {
            kind: name.as_deref().map_or(AxisKind::Other, |name| kind_of(name, &Object::new())),
            title: name.clone(),
            name,
            units: None,
            len,
            positive: None,
            values: Values::None,
            labels: Vec::new(),
            unfit: None,
        };
        let variable = match &axis.name {
            Some(name) => variable(array, name)?,
            None => None,
        };
        if let Some(variable) = variable.as_ref().filter(|variable| variable.shape() != [len]) {
            axis.unfit = Some((variable.path().clone(), variable.shape()));
        } else if let Some((variable, name)) = variable.zip(axis.name.clone()) {
            let attributes = variable.attributes();
            let meaning = Meaning::of(&variable, MissingRule::Declared);
            axis.kind = match (&variable.data_type(), meaning.time) {
                (DataType::Time(_), _) | (_, Some(_)) => AxisKind::Time,
                _ => kind_of(&name, &attributes),
            };
            axis.positive = positive(&attributes, meaning.units.as_deref());
            axis.units = meaning.units;
            axis.title = meaning.title.or(axis.title);
            axis.values = Values::Stored(Box::new(variable));
        }
        axes.push(axis);
    }
    let has_coordinates = |axis: &Axis| axis.kind.is_space() && axis.has_coordinates();
    if image.is_none() && axes.len() >= 2 && !axes.iter().any(has_coordinates) {
        geo::place_axes(array, &mut axes)?;
    }
    Ok(axes)
}

/// The array that a name in the scope of an array stands for: in its group, or in one above.
fn variable(array: &Array, name: &str) -> Result<Option<Array>> {
    if array.path().name() == Some(name) {
        return Ok(Some(array.clone()));
    }
    let mut group = array.path().parent();
    while let Some(path) = group {
        let Ok(place) = path.child(name) else { return Ok(None) };
        match array.hierarchy().array(&place) {
            Ok(found) => return Ok(Some(found)),
            Err(e) if matches!(e.kind(), ErrorKind::Store) => return Err(e),
            Err(_) => group = path.parent(),
        }
    }
    Ok(None)
}

/// What the attribute `positive` says; without it, what units of pressure and names say (CF 4.3).
fn positive(attributes: &Object, units: Option<&str>) -> Option<Positive> {
    match text(attributes, "positive").map(|text| text.to_ascii_lowercase()).as_deref() {
        Some("up") => return Some(Positive::Up),
        Some("down") => return Some(Positive::Down),
        _ => {}
    }
    match text(attributes, "standard_name").as_deref() {
        Some(
            "air_pressure"
            | "sea_water_pressure"
            | "depth"
            | "depth_below_geoid"
            | "depth_below_sea_floor",
        ) => Some(Positive::Down),
        Some(
            "height"
            | "altitude"
            | "height_above_mean_sea_level"
            | "height_above_reference_ellipsoid",
        ) => Some(Positive::Up),
        _ => units.is_some_and(is_pressure).then_some(Positive::Down),
    }
}

/// Whether units are of pressure, by which CF knows a vertical axis.
fn is_pressure(units: &str) -> bool {
    const PRESSURES: [&str; 11] = [
        "pa",
        "hpa",
        "kpa",
        "pascal",
        "hectopascal",
        "bar",
        "mbar",
        "millibar",
        "mb",
        "dbar",
        "decibar",
    ];
    let units = units.to_ascii_lowercase();
    PRESSURES.contains(&units.strip_suffix('s').unwrap_or(&units))
}

/// What CF's attributes `axis`, `standard_name`, `units` and then the name say is along an axis.
fn kind_of(name: &str, attributes: &Object) -> AxisKind {
    text(attributes, "axis")
        .and_then(|axis| kind_of_axis_attribute(&axis))
        .or_else(|| kind_of_standard_name(&text(attributes, "standard_name")?))
        // Only a vertical axis has this attribute.
        .or_else(|| text(attributes, "positive").map(|_| AxisKind::Z))
        .or_else(|| kind_of_units(&text(attributes, "units")?))
        .unwrap_or_else(|| kind_of_name(name))
}

/// What the attribute `axis` of CF says.
fn kind_of_axis_attribute(text: &str) -> Option<AxisKind> {
    match text.to_ascii_uppercase().as_str() {
        "X" => Some(AxisKind::X),
        "Y" => Some(AxisKind::Y),
        "Z" => Some(AxisKind::Z),
        "T" => Some(AxisKind::Time),
        _ => None,
    }
}

/// What the attribute `standard_name` of CF says.
fn kind_of_standard_name(text: &str) -> Option<AxisKind> {
    match text {
        "longitude" | "projection_x_coordinate" | "grid_longitude" => Some(AxisKind::X),
        "latitude" | "projection_y_coordinate" | "grid_latitude" => Some(AxisKind::Y),
        "time" => Some(AxisKind::Time),
        "height" | "altitude" | "depth" | "air_pressure" | "sea_water_pressure" => {
            Some(AxisKind::Z)
        }
        _ => None,
    }
}

/// What units say that only one kind of axis has.
fn kind_of_units(text: &str) -> Option<AxisKind> {
    let text = text.to_ascii_lowercase().replace('_', "");
    match text.as_str() {
        "degreeseast" | "degreeeast" | "degreee" | "degreese" => Some(AxisKind::X),
        "degreesnorth" | "degreenorth" | "degreen" | "degreesn" => Some(AxisKind::Y),
        units if is_pressure(units) => Some(AxisKind::Z),
        _ => None,
    }
}

/// What the name of an axis says, where no attribute does.
fn kind_of_name(name: &str) -> AxisKind {
    match name.to_ascii_lowercase().as_str() {
        "x" | "lon" | "longitude" | "easting" => AxisKind::X,
        "y" | "lat" | "latitude" | "northing" => AxisKind::Y,
        "z" | "lev" | "level" | "plev" | "depth" | "height" | "altitude" => AxisKind::Z,
        "t" | "time" => AxisKind::Time,
        "c" | "channel" | "band" | "bands" | "rgb" | "rgba" => AxisKind::Channel,
        _ => AxisKind::Other,
    }
}

impl Image {
    /// The labels of the channels along an axis of `len` positions; none if one has no label, or that of another.
    fn labels_along(&self, len: u64) -> Vec<String> {
        if self.channels.len() as u64 != len {
            return Vec::new();
        }
        let labels = self.channels.iter().map(|channel| channel.label.clone());
        let labels = labels.collect::<Option<Vec<String>>>().unwrap_or_default();
        let distinct: HashSet<&String> = labels.iter().collect();
        if distinct.len() == labels.len() { labels } else { Vec::new() }
    }

    /// An axis of a level.
    fn axis(&self, level: usize, n: usize, len: u64) -> Option<Axis> {
        let axis = self.axes.get(n)?;
        let level = self.levels.get(level)?;
        let (scale, offset) = (*level.scale.get(n)?, *level.translation.get(n)?);
        let affine = Affine { scale, offset };
        let has_coordinates =
            axis.1 != AxisKind::Channel && (axis.2.is_some() || !affine.is_identity());
        Some(Axis {
            name: Some(axis.0.clone()),
            kind: axis.1,
            units: axis.2.clone(),
            title: Some(axis.0.clone()),
            len,
            positive: None,
            values: if has_coordinates { Values::Affine(affine) } else { Values::None },
            labels: if axis.1 == AxisKind::Channel { self.labels_along(len) } else { Vec::new() },
            unfit: None,
        })
    }
}

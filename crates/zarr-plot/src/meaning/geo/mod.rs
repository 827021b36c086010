//! Finds where on Earth the elements of an array are: its coordinate reference system, and its place in that.
//!
//! Attributes are believed in a fixed order, and nothing is guessed from the size of numbers: values between -180 and 180
//! may be anything.

mod attributes;
mod crs;
mod degrees;
mod levels;
mod place;
mod projection;
mod weights;
mod wkt;

use zarr_core::{Array, ErrorKind, Object, Result};

pub use self::crs::Crs;
pub(crate) use self::degrees::{is_latitude, is_longitude};
pub use self::levels::{MapLevel, MapLevels};
pub use self::place::{Line, Place, Transform};
pub use self::projection::{Ellipsoid, MERCATOR_LATITUDE, Projection, TransverseMercator};
pub(crate) use self::projection::{mercator_latitude, mercator_longitude, mercator_x, mercator_y};
pub use self::weights::{AreaWeights, area_weights};
use super::axes::{Axis, AxisKind};
use super::{Affine, text};

/// Attributes by which an array itself says that it is a map. In stores that are far, what the groups above it say is not looked for, as it
/// takes further requests.
const OWN: [&str; 6] = [
    "spatial:transform",
    "spatial:bbox",
    "proj:transform",
    "proj:bbox",
    "proj:code",
    "grid_mapping",
];

/// Of longer axes the coordinates are not read.
const MAX_COORDINATES: u64 = 1 << 20;

/// Where the elements of an array are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Georeference {
    /// The coordinate reference system, if one is named.
    pub crs: Option<Crs>,
    /// The axes along which x and y change, x first, and where the elements are along these.
    pub place: Option<(usize, usize, Place)>,
    /// What was found that a person should know.
    pub notes: Vec<String>,
}

impl Georeference {
    /// Looks for the coordinate reference system and the place of an array: at its own attributes, at those of the groups
    /// above it, and at the variables that these name. Coordinates along x and y are read.
    ///
    /// `axes` are those of [`super::axes_of`].
    ///
    /// # Errors
    /// What the store reports. Variables that are not there are passed over.
    pub fn of(array: &Array, axes: &[Axis]) -> Result<Georeference> {
        let mut found = Georeference::default();
        let own = array.attributes();
        let name = array.path().as_str();
        let parent = match array.path().parent() {
            Some(path) => levels::attributes_of(array, &path)?.map(|attributes| (path, attributes)),
            None => None,
        };
        let levels = MapLevels::of_array(array)?;
        let mut mapping = named_mapping(array, &own, axes, &mut found.notes)?;
        found.crs = attributes::proj(&own, name);
        if found.crs.is_none()
            && let Some((path, attributes)) = &parent
        {
            found.crs = attributes::proj(attributes, path.as_str());
        }
        // The conventions compose: the group of a layout may say the system of all its levels.
        if found.crs.is_none()
            && let Some(levels) = &levels
        {
            found.crs = attributes::proj(&levels.attributes, levels.group.as_str());
        }
        if found.crs.is_none()
            && let Some((path, attributes)) = &mapping
        {
            found.crs = attributes::grid_mapping(attributes, path);
        }
        if found.crs.is_none() && !own.contains("grid_mapping") {
            mapping = mapping_beside(array, &mut found.notes)?;
            if let Some((path, attributes)) = &mapping {
                found.crs = attributes::grid_mapping(attributes, path);
            }
        }
        if found.crs.is_none() {
            found.crs = attributes::gdal(&own, name);
        }
        if found.crs.is_none() {
            let root = levels::attributes_of(array, &zarr_core::NodePath::root())?;
            found.crs = root.as_ref().and_then(attributes::eopf);
        }
        if found.crs.is_none()
            && let (Some(x), Some(y)) = (
                axes.iter().find(|axis| is_longitude(axis)),
                axes.iter().find(|axis| is_latitude(axis)),
            )
        {
            let x = x.name.as_deref().unwrap_or_default();
            let y = y.name.as_deref().unwrap_or_default();
            found.crs = Some(Crs::of_degrees(format!("longitude {x}, latitude {y}")));
        }
        let parent = parent.as_ref().map(|(_, attributes)| attributes);
        let mapping = mapping.as_ref().map(|(_, attributes)| attributes);
        found.find_place(array, axes, &[Some(&own), parent], mapping, levels.as_ref())?;
        Ok(found)
    }

    /// Whether coordinates are degrees of longitude and latitude.
    pub fn is_geographic(&self) -> bool {
        self.crs.as_ref().is_some_and(|crs| crs.projection == Projection::Geographic)
    }

    fn find_place(
        &mut self,
        array: &Array,
        axes: &[Axis],
        nodes: &[Option<&Object>; 2],
        mapping: Option<&Object>,
        levels: Option<&MapLevels>,
    ) -> Result<()> {
        let nodes: Vec<&Object> = nodes.iter().copied().flatten().collect();
        let Some((x, y)) = plane(axes, nodes.iter().copied()) else { return Ok(()) };
        let size = (axes[x].len, axes[y].len);
        let declared =
            nodes.iter().find_map(|attributes| attributes::spatial(attributes, (size.1, size.0)));
        let transform = declared
            .or_else(|| {
                let level = levels?.levels.iter().find(|level| &level.path == array.path())?;
                level.transform
            })
            .or_else(|| mapping.and_then(attributes::geo_transform));
        if let Some(place) = transform.and_then(|transform| Place::of_transform(transform, size)) {
            self.place = Some((x, y, place));
            return Ok(());
        }
        let is_projected = self.crs.is_some() && !self.is_geographic();
        let lines = (line(&axes[x], is_projected)?, line(&axes[y], is_projected)?);
        if let (Some(x_line), Some(y_line)) = lines {
            self.place = Some((x, y, Place::Lines { x: x_line, y: y_line }));
        }
        Ok(())
    }
}

/// Gives the axes of x and y, which have no coordinates, those that attributes such as `spatial:transform` say: of the middles of
/// elements. Without them nothing changes.
///
/// # Errors
/// As [`Georeference::of`].
pub(super) fn place_axes(array: &Array, axes: &mut [Axis]) -> Result<()> {
    let attributes = array.attributes();
    let is_near = array.hierarchy().store().capabilities().local;
    if !is_near && !OWN.iter().any(|name| attributes.contains(name)) {
        return Ok(());
    }
    let found = Georeference::of(array, axes)?;
    let Some((x, y, place)) = &found.place else { return Ok(()) };
    let Some(transform) = place.transform().filter(|it| it.b == 0.0 && it.d == 0.0) else {
        return Ok(());
    };
    let (across, down) = match found.crs.as_ref().map(|crs| &crs.projection) {
        Some(Projection::Geographic) => (Some("degrees_east"), Some("degrees_north")),
        Some(Projection::WebMercator | Projection::TransverseMercator(_)) => (Some("m"), Some("m")),
        _ => (None, None),
    };
    let (left, top) = transform.apply(0.5, 0.5);
    axes[*x].set_on_map(AxisKind::X, Affine { scale: transform.a, offset: left }, across);
    axes[*y].set_on_map(AxisKind::Y, Affine { scale: transform.e, offset: top }, down);
    Ok(())
}

/// The axes of x and y: those that `spatial:dimensions` names, else those of the coordinates x and y; of an array with a
/// transform, whose axes have no such names, the last two.
fn plane<'a>(axes: &[Axis], nodes: impl Iterator<Item = &'a Object>) -> Option<(usize, usize)> {
    let mut has_transform = false;
    for attributes in nodes {
        has_transform |=
            attributes.contains("spatial:transform") || attributes.contains("spatial:bbox");
        let dimensions = attributes.get("spatial:dimensions").and_then(|it| it.as_array());
        let dimensions =
            dimensions.or_else(|| attributes.get("proj:spatial_dimensions")?.as_array());
        if let Some([.., y, x]) = dimensions
            && let (Some(y), Some(x)) = (
                y.as_str().and_then(|name| axis_named(axes, name)),
                x.as_str().and_then(|name| axis_named(axes, name)),
            )
            && x != y
        {
            return Some((x, y));
        }
    }
    match (last_of_kind(axes, AxisKind::X), last_of_kind(axes, AxisKind::Y)) {
        (Some(x), Some(y)) => Some((x, y)),
        _ if has_transform && axes.len() >= 2 => Some((axes.len() - 1, axes.len() - 2)),
        _ => None,
    }
}

/// The axis of this name.
fn axis_named(axes: &[Axis], name: &str) -> Option<usize> {
    axes.iter().position(|axis| axis.name.as_deref() == Some(name))
}

/// The last axis of this kind.
fn last_of_kind(axes: &[Axis], kind: AxisKind) -> Option<usize> {
    axes.iter().rposition(|axis| axis.kind == kind)
}

/// Where the elements along an axis are by its coordinates, in metres if they are kilometres of a projection.
fn line(axis: &Axis, is_projected: bool) -> Result<Option<Line>> {
    if axis.len > MAX_COORDINATES {
        return Ok(None);
    }
    let Some(mut found) = axis.read(0..axis.len)? else { return Ok(None) };
    if is_projected
        && matches!(axis.units.as_deref(), Some("km" | "kilometer" | "kilometre" | "kilometers"))
    {
        found.numbers.iter_mut().for_each(|number| *number *= 1_000.0);
    }
    Ok(Line::of_centres(&found.numbers))
}

/// The grid mapping variable that an array names, and its attributes.
fn named_mapping(
    array: &Array,
    own: &Object,
    axes: &[Axis],
    notes: &mut Vec<String>,
) -> Result<Option<(String, Object)>> {
    let Some(text) = text(own, "grid_mapping") else { return Ok(None) };
    let mappings = attributes::mappings(&text);
    // Of several, the one whose coordinates are axes of the array.
    let of_axes = mappings.iter().find(|(_, names)| {
        names.iter().any(|name| axes.iter().any(|axis| axis.name.as_deref() == Some(*name)))
    });
    let Some((name, _)) = of_axes.or(mappings.first()) else { return Ok(None) };
    let found = variable(array, name, usize::MAX)?;
    if found.is_none() {
        notes.push(format!("the grid mapping `{name}` is missing"));
    }
    Ok(found)
}

/// A scalar `spatial_ref` or `crs` beside an array that names no grid mapping: links to it get lost (xarray#6288).
fn mapping_beside(array: &Array, notes: &mut Vec<String>) -> Result<Option<(String, Object)>> {
    for name in ["spatial_ref", "crs"] {
        if let Some((path, attributes)) = variable(array, name, 1)?
            && attributes::grid_mapping(&attributes, &path).is_some()
        {
            notes.push(format!("nothing refers to the grid mapping {path}; it is taken as that of all arrays beside it"));
            return Ok(Some((path, attributes)));
        }
    }
    Ok(None)
}

/// The path and the attributes of a variable of this name in the group of an array, or in up to `above` groups from there.
fn variable(array: &Array, name: &str, above: usize) -> Result<Option<(String, Object)>> {
    let groups = array.path().ancestors().filter(|path| path != array.path());
    for group in groups.take(above) {
        let Ok(place) = group.child(name) else { return Ok(None) };
        if &place == array.path() {
            continue;
        }
        match array.hierarchy().array(&place) {
            Ok(found) => return Ok(Some((place.as_str().to_owned(), found.attributes()))),
            Err(error) if error.kind() == ErrorKind::Store => return Err(error),
            Err(_) => {}
        }
    }
    Ok(None)
}

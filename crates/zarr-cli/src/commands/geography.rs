//! Describes where on Earth an array is, for `zarr info`.

use zarr::{Array, Group, Json, Object};
use zarr_plot::meaning::axes_of;
use zarr_plot::meaning::geo::{Georeference, MapLevels, Projection};

use crate::digits::Digits;
use crate::failure::Failure;
use crate::human;
use crate::json::or_null;
use crate::session::{Session, Target};

/// Attributes by which an array says itself where it is.
const OWN: [&str; 4] = ["grid_mapping", "_CRS", "proj:code", "spatial:transform"];

/// The same array in the hierarchy that TARGET is inside of, where the variables and groups are that say where it is. In stores
/// that are far it stays where it is, as looking above takes further requests.
pub(super) fn located(session: &Session, target: &Target, array: &Array) -> Result<Array, Failure> {
    if !array.hierarchy().store().capabilities().local {
        return Ok(array.clone());
    }
    session.in_its_hierarchy(target, array, &session.options()?)
}

/// Where an array is; nothing if no coordinate reference system is named. In stores that are far this is looked for only if the
/// array's own attributes say that there is something to find, as it takes further requests.
fn georeference(array: &Array) -> Option<Georeference> {
    let attributes = array.attributes();
    let is_near = array.hierarchy().store().capabilities().local;
    if array.rank() < 2 || !(is_near || OWN.iter().any(|name| attributes.contains(name))) {
        return None;
    }
    // What cannot be read is for other commands to say.
    let axes = axes_of(array).ok()?;
    Georeference::of(array, &axes).ok().filter(|found| found.crs.is_some())
}

/// Lines of people.
pub(super) fn lines(array: &Array) -> Vec<(&'static str, String)> {
    let Some(found) = georeference(array) else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(crs) = &found.crs {
        lines.push(("crs", human::printable(&format!("{}  from {}", crs.title(), crs.source))));
    }
    let digits = Digits::Short;
    if let Some((_, _, place)) = &found.place {
        let unit = if found.is_geographic() { " degrees" } else { "" };
        let up = if place.is_north_up() { ", north up" } else { "" };
        let steps = match place.transform() {
            Some(transform) if transform.b == 0.0 && transform.d == 0.0 => {
                format!(
                    "steps of {} and {}{unit}{up}",
                    digits.of_float(transform.a),
                    digits.of_float(transform.e)
                )
            }
            Some(_) => "at an angle to the coordinates".to_owned(),
            None => format!("steps that differ{up}"),
        };
        lines.push(("grid", steps));
        let [west, south, east, north] = place.bounds().map(|bound| digits.of_float(bound));
        lines.push(("bounds", format!("{west} … {east}, {south} … {north}")));
    }
    lines.extend(found.notes.iter().map(|note| ("note", human::printable(note))));
    lines
}

/// The same as a member of JSON: `{"crs", "axes", "transform", "step", "bounds", "north_up", "notes"}`.
pub(super) fn members(array: &Array) -> Option<Object> {
    let found = georeference(array)?;
    let crs = found.crs.as_ref()?;
    let projection = match &crs.projection {
        Projection::Geographic => "geographic",
        Projection::WebMercator => "web_mercator",
        Projection::TransverseMercator(_) => "transverse_mercator",
        Projection::Other(_) => "other",
    };
    let of_crs = Object::new()
        .with("code", or_null(crs.code.as_deref()))
        .with("name", or_null(crs.name.as_deref()))
        .with("projection", projection)
        .with("source", crs.source.as_str());
    let mut object = Object::new().with("crs", of_crs);
    let numbers =
        |numbers: &[f64]| -> Json { numbers.iter().map(|&number| Json::float(number)).collect() };
    if let Some((x, y, place)) = &found.place {
        let transform = place.transform();
        let step = transform.filter(|it| it.b == 0.0 && it.d == 0.0).map(|it| [it.a, it.e]);
        object = object
            .with("axes", &[*x as u64, *y as u64][..])
            .with("transform", transform.map_or(Json::Null, |it| numbers(&it.numbers())))
            .with("step", step.map_or(Json::Null, |step| numbers(&step)))
            .with("bounds", numbers(&place.bounds()))
            .with("north_up", place.is_north_up());
    }
    let notes: Json = found.notes.iter().map(|note| Json::from(note.as_str())).collect();
    Some(object.with("notes", notes))
}

/// The levels that a group of GeoZarr lists.
pub(super) fn level_line(group: &Group) -> Option<(&'static str, String)> {
    let levels = MapLevels::of_group(group.attributes());
    let names: Vec<String> = levels
        .iter()
        .map(|asset| if asset.is_empty() { ".".to_owned() } else { asset.clone() })
        .collect();
    (!names.is_empty())
        .then(|| ("levels", human::printable(&format!("{}  GeoZarr", names.join("  ")))))
}

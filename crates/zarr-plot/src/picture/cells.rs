//! How wide the elements of a map are for their height.

use zarr_core::Result;

use super::{Along, View};
use crate::meaning::Axis;
use crate::meaning::geo::{is_latitude, is_longitude};

/// Beyond this latitude maps are drawn as at it: at a pole the width of an element is 0.
const MAX_LATITUDE: f64 = 80.0;
/// How far the shape of an element may be from a square that is drawn as one.
const SQUARE: f64 = 1e-3;

/// How many times as wide as high an element of a view is on a map of longitude and latitude: the steps along both, and
/// the cosine of the latitude in the middle. Nothing if the axes across and down are others.
///
/// # Errors
/// What reading the coordinates fails with.
pub(crate) fn shape_of_cells(axes: &[Axis], view: &View) -> Result<Option<f64>> {
    let (Some(x), Some(y)) = (view.x, view.y) else { return Ok(None) };
    if !is_longitude(&axes[x]) || !is_latitude(&axes[y]) {
        return Ok(None);
    }
    let (Some(across), Some(down)) =
        (ends(&axes[x], &view.along[x])?, ends(&axes[y], &view.along[y])?)
    else {
        return Ok(None);
    };
    let (wide, high) = (mean_step(across, view.along[x].len), mean_step(down, view.along[y].len));
    let shape = wide * narrowing_at(f64::midpoint(down.0, down.1)) / high;
    // Rounding makes no other shape of a square.
    let shape = if (shape - 1.0).abs() < SQUARE { 1.0 } else { shape };
    Ok((shape.is_finite() && shape > 0.0).then_some(shape))
}

/// The first and the last coordinate that are shown of an axis.
fn ends(axis: &Axis, along: &Along) -> Result<Option<(f64, f64)>> {
    if along.len < 2 {
        return Ok(None);
    }
    Ok(coordinate(axis, along.at(0))?.zip(coordinate(axis, along.at(along.len - 1))?))
}

/// The coordinate at a position, if it is finite.
fn coordinate(axis: &Axis, position: u64) -> Result<Option<f64>> {
    let found = axis.read(position..position + 1)?;
    Ok(found.and_then(|found| found.numbers.first().copied()).filter(|it| it.is_finite()))
}

/// The mean distance of coordinates.
fn mean_step((first, last): (f64, f64), len: u64) -> f64 {
    ((last - first) / (len - 1) as f64).abs()
}

/// How long a degree of longitude is at a latitude, in degrees, beside one of latitude.
pub fn narrowing_at(latitude: f64) -> f64 {
    latitude.clamp(-MAX_LATITUDE, MAX_LATITUDE).to_radians().cos()
}

//! Means and standard deviations in which each element counts as much as the area of its cell on Earth.

use zarr_core::{Array, Json, NodePath, Object, Result};

use super::json::float;
use super::{Request, statistics_along};
use crate::meaning::Axis;
use crate::meaning::geo::area_weights;

/// What is known of an array's elements by the areas of their cells.
#[derive(Clone, Debug, PartialEq)]
pub struct ByArea {
    /// The axis of latitude.
    pub axis: usize,
    /// The variable whose bounds of latitude the areas are of; nothing if they follow from the cosine of the latitude.
    pub bounds: Option<NodePath>,
    /// The mean; NaN of nothing.
    pub mean: f64,
    /// The standard deviation: the root of the mean of the squares of what elements are off the mean; NaN of nothing.
    pub std: f64,
}

/// Computes mean and standard deviation of the valid elements of an array of cells between meridians and parallels, each
/// weighted by its area: by the bounds of its latitude where there are any, else by the cosine of the latitude. `axes` are those of
/// the array. What [`Request`] asks for beyond elements and their meaning does not count.
///
/// As in xarray's `weighted`, missing elements and NaN have no weight.
///
/// # Errors
/// [`zarr_core::AccessError::Argument`] if no axis of the array is latitude; as [`statistics_along`].
pub fn statistics_by_area(array: &Array, request: &Request<'_>, axes: &[Axis]) -> Result<ByArea> {
    let found = area_weights(axes)?;
    let rows = Request {
        percentiles: Vec::new(),
        histogram: None,
        share: None,
        // Of each row, the standard deviation that squares add up to.
        ddof: 0,
        ..request.clone()
    };
    let along = statistics_along(array, &rows, &[found.axis])?;
    let selected = request.axes.as_ref().and_then(|axes| axes.get(found.axis));
    let mut rows = Vec::with_capacity(along.cells.len());
    for (n, cell) in along.cells.iter().enumerate() {
        let position = selected.map_or(n as u64, |along| along.at(n as u64));
        let position = usize::try_from(position).ok();
        let weight = position.and_then(|at| found.weights.get(at)).copied().unwrap_or(0.0);
        let by = weight * cell.count as f64;
        if by > 0.0 {
            rows.push((by, cell));
        }
    }
    let all: f64 = rows.iter().map(|(by, _)| by).sum();
    let mean = rows.iter().map(|(by, cell)| by * cell.mean).sum::<f64>() / all;
    let squares = rows.iter().map(|(by, cell)| {
        let away = cell.mean - mean;
        by * (cell.std * cell.std + away * away)
    });
    let std = (squares.sum::<f64>() / all).sqrt();
    Ok(ByArea { axis: found.axis, bounds: found.bounds, mean, std })
}

impl ByArea {
    /// `{"by": "area", "axis", "bounds", "mean", "std"}`.
    pub fn to_json(&self) -> Json {
        let bounds = self.bounds.as_ref().map_or(Json::Null, |path| Json::from(path.as_str()));
        Object::new()
            .with("by", "area")
            .with("axis", self.axis as u64)
            .with("bounds", bounds)
            .with("mean", number(self.mean))
            .with("std", number(self.std))
            .into()
    }
}

/// A number in JSON, null for NaN.
fn number(value: f64) -> Json {
    if value.is_nan() { Json::Null } else { float(value) }
}

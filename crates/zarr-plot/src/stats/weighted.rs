//! Means and standard deviations in which each element counts as much as the area of its cell on Earth.

use zarr_core::{Array, Json, NodePath, Object, Result};

use super::along::{AlongAxes, Cell, Tallies, statistics_along, tallies_along};
use super::json::float;
use super::tally::Tally;
use super::{Request, argument};
use crate::meaning::Axis;
use crate::meaning::geo::{AreaWeights, area_weights};

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
/// [`zarr_core::AccessError::Argument`] if no axis of the array is latitude, or elements are at a latitude that is missing; as
/// [`statistics_along`].
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
    let cells = along.cells.iter().enumerate();
    let cells = cells.map(|(n, cell)| Ok((found.weight(request, n, cell)?, cell)));
    let (mean, std) = weighted(&cells.collect::<Result<Vec<_>>>()?);
    Ok(ByArea { axis: found.axis, bounds: found.bounds, mean, std })
}

/// As [`statistics_along`], with the mean and the standard deviation of each cell weighted as those of [`statistics_by_area`]: the mean
/// over the Earth for each time, if `axes` is that of time. `of` are all axes of the array.
///
/// # Errors
/// [`zarr_core::AccessError::Argument`] if no axis of the array is latitude, if it is one of `axes`, or elements are at a
/// latitude that is missing; as [`statistics_along`].
pub fn statistics_along_by_area(
    array: &Array,
    request: &Request<'_>,
    axes: &[usize],
    of: &[Axis],
) -> Result<AlongAxes> {
    let found = area_weights(of)?;
    if axes.contains(&found.axis) {
        let why = "all elements at a latitude have the same weight: name other axes, such as time";
        return Err(argument(why.into()));
    }
    let fine: Vec<usize> = axes.iter().copied().chain([found.axis]).collect();
    let Tallies { axes: fine, shape, mut tallies } = tallies_along(array, request, &fine)?;
    let at = fine.iter().position(|&axis| axis == found.axis).unwrap_or_default();
    // In C order, a cell at a latitude is `inner` behind that at the latitude before.
    let inner: usize = shape[at + 1..].iter().product::<u64>() as usize;
    let rows = shape[at] as usize;
    let others = shape.iter().enumerate().filter(|(axis, _)| *axis != at);
    let count = others.map(|(_, &len)| len as usize).product();
    let meaning = &request.meaning;
    let mut cells = Vec::with_capacity(count);
    for n in 0..count {
        let first = n / inner.max(1) * inner * rows + n % inner.max(1);
        let places = (0..rows).map(|row| first + row * inner);
        let of_rows: Vec<Cell> =
            places.clone().map(|place| Cell::of(&tallies[place], meaning, 0)).collect();
        let (mean, std) = weighted(
            &of_rows
                .iter()
                .enumerate()
                .map(|(row, cell)| Ok((found.weight(request, row, cell)?, cell)))
                .collect::<Result<Vec<_>>>()?,
        );
        let mut whole: Option<Tally> = None;
        for place in places {
            let row = std::mem::replace(&mut tallies[place], Tally::empty::<u8>());
            match &mut whole {
                Some(whole) => whole.merge(row),
                None => whole = Some(row),
            }
        }
        let whole = whole.unwrap_or_else(Tally::empty::<u8>);
        cells.push(Cell { mean, std, ..Cell::of(&whole, meaning, request.ddof) });
    }
    let (mut axes, mut shape) = (fine, shape);
    axes.remove(at);
    shape.remove(at);
    Ok(AlongAxes { axes, shape, cells, by_area: true })
}

impl AreaWeights {
    /// The weight of the `n`th selected position along the latitude, whose elements are in `cell`. A row of unknown area
    /// has to be without elements: a mean that left them out would look like one of all of them.
    fn weight(&self, request: &Request<'_>, n: usize, cell: &Cell) -> Result<f64> {
        if cell.count == 0 {
            return Ok(0.0);
        }
        let selected = request.axes.as_ref().and_then(|axes| axes.get(self.axis));
        let position = selected.map_or(n as u64, |along| along.at(n as u64));
        let index = usize::try_from(position).ok();
        let weight = index.and_then(|at| self.weights.get(at)).copied().unwrap_or(f64::NAN);
        if weight.is_nan() {
            return Err(argument(format!(
                "the latitude at position {position} of axis {} is missing or beyond a pole: the area of its elements is unknown; \
                 select the others, or correct the coordinate",
                self.axis
            )));
        }
        Ok(weight)
    }
}

/// Mean and standard deviation of the elements of some rows, each of which has a weight for every element. NaN of nothing.
fn weighted(rows: &[(f64, &Cell)]) -> (f64, f64) {
    let rows: Vec<(f64, &Cell)> = rows
        .iter()
        .map(|&(weight, cell)| (weight * cell.count as f64, cell))
        .filter(|(by, _)| *by > 0.0)
        .collect();
    let all: f64 = rows.iter().map(|(by, _)| by).sum();
    let mean = rows.iter().map(|(by, cell)| by * cell.mean).sum::<f64>() / all;
    let squares = rows.iter().map(|(by, cell)| {
        let away = cell.mean - mean;
        by * (cell.std * cell.std + away * away)
    });
    (mean, (squares.sum::<f64>() / all).sqrt())
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

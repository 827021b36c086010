//! Computes statistics for each coordinate of some axes.

use zarr_core::data_type::{Scalar, ScalarValue};
use zarr_core::{Array, Json, Object, Region, Result};

use super::column::{Column, Job, columns, dispatch};
use super::json::float;
use super::plan::Plan;
use super::scan::{Number, Rule};
use super::tally::Tally;
use super::{Numerical, Part, Request, argument, unpacked};
use crate::meaning::{Affine, Meaning};

/// About the bytes of what is known of one coordinate.
pub(crate) const CELL: u64 = 256;

/// Statistics for each coordinate of some axes, over all coordinates of the others.
#[derive(Clone, Debug)]
pub struct AlongAxes {
    /// The axes, in the order of the array.
    pub axes: Vec<usize>,
    /// How many coordinates each of them has.
    pub shape: Vec<u64>,
    /// One for each combination of coordinates, in C order.
    pub cells: Vec<Cell>,
    /// Whether means and standard deviations are weighted by the areas of cells on Earth.
    pub by_area: bool,
}

/// What is known of the elements at one coordinate. See [`super::Numbers`].
#[derive(Clone, Debug)]
pub struct Cell {
    /// Valid elements.
    pub count: u64,
    /// Missing elements.
    pub missing: u64,
    /// Other elements that are NaN.
    pub nan: u64,
    /// The least valid element.
    pub min: Option<ScalarValue>,
    /// The greatest.
    pub max: Option<ScalarValue>,
    /// The mean; NaN of nothing.
    pub mean: f64,
    /// The standard deviation; NaN if there are too few.
    pub std: f64,
}

/// Computes the statistics of an array for each coordinate of `axes`.
///
/// # Errors
/// [`zarr_core::AccessError::Argument`] for axes that the array does not have, for elements that are no real numbers, and where the
/// results take more than [`Request::memory`]; as [`super::statistics`].
pub fn statistics_along(array: &Array, request: &Request<'_>, axes: &[usize]) -> Result<AlongAxes> {
    let Tallies { axes, shape, tallies } = tallies_along(array, request, axes)?;
    let cells = tallies.iter().map(|tally| Cell::of(tally, &request.meaning, request.ddof));
    Ok(AlongAxes { axes, shape, cells: cells.collect(), by_area: false })
}

/// What is known of the elements for each coordinate of some axes, in C order.
pub(super) struct Tallies {
    /// In the order of the array.
    pub axes: Vec<usize>,
    pub shape: Vec<u64>,
    pub tallies: Vec<Tally>,
}

/// Counts the elements of an array for each coordinate of `axes`.
pub(super) fn tallies_along(
    array: &Array,
    request: &Request<'_>,
    axes: &[usize],
) -> Result<Tallies> {
    let plan = Plan::new(array, request.axes.clone())?;
    plan.check_chunks()?;
    let mut axes = axes.to_vec();
    axes.sort_unstable();
    axes.dedup();
    if let Some(axis) = axes.iter().find(|&&axis| axis >= plan.axes.len()) {
        return Err(argument(format!("there is no axis {axis}")));
    }
    if !request.percentiles.is_empty() || request.histogram.is_some() {
        return Err(argument(
            "percentiles and histograms are computed over all elements, not along axes".into(),
        ));
    }
    let shape: Vec<u64> = axes.iter().map(|&axis| plan.axes[axis].len()).collect();
    let cells = zarr_core::region::element_count(&shape).unwrap_or(u64::MAX);
    if cells.saturating_mul(CELL) > request.memory {
        let why = format!(
            "statistics of {cells} coordinates take more than {} bytes of memory",
            request.memory
        );
        return Err(argument(why));
    }
    let (column, scalar) = only_column(&plan, request)?;
    let job =
        AlongJob { plan: &plan, column: &column, request, axes: &axes, cells: cells as usize };
    let tallies = dispatch(scalar, job).ok_or_else(|| no_numbers(&plan))??;
    Ok(Tallies { axes, shape, tallies })
}

/// The column of elements that are numbers.
pub(crate) fn only_column(plan: &Plan, request: &Request<'_>) -> Result<(Column, Scalar)> {
    let mut columns = columns(&plan.data_type, request.meaning.unsigned);
    let column = columns.pop().filter(|one| columns.is_empty() && one.name.is_empty());
    let scalar = column.as_ref().and_then(Column::scalar);
    column.zip(scalar).ok_or_else(|| no_numbers(plan))
}

pub(crate) fn no_numbers(plan: &Plan) -> zarr_core::Error {
    argument(format!(
        "elements of type {} have no statistics along axes or by chunk",
        plan.data_type
    ))
}

struct AlongJob<'a, 'r> {
    plan: &'a Plan,
    column: &'a Column,
    request: &'a Request<'r>,
    axes: &'a [usize],
    cells: usize,
}

impl Job for AlongJob<'_, '_> {
    type Output = Result<Vec<Tally>>;

    fn run<T: Number>(self) -> Result<Vec<Tally>> {
        let meaning: &Meaning = &self.request.meaning;
        let rule = Rule::<T>::new(&meaning.missing, &self.plan.cancel);
        let numerical = Numerical {
            plan: self.plan,
            column: self.column,
            request: self.request,
            meaning,
            tally: None,
        };
        let fill = numerical.fill::<T>();
        let mut all: Vec<Tally> = (0..self.cells).map(|_| Tally::empty::<T>()).collect();
        numerical.pass(
            || (),
            |(): &mut (), place: &Region, part: Part<'_>| {
                let shape = place.shape();
                let (kept, reduced): (Vec<usize>, Vec<usize>) =
                    (0..shape.len()).partition(|axis| self.axes.contains(axis));
                let (outer, inner) = (offsets(&shape, &kept), offsets(&shape, &reduced));
                let mut bytes = Vec::with_capacity(inner.len() * T::SIZE);
                let mut found = Vec::with_capacity(outer.len());
                for (n, at) in outer.iter().enumerate() {
                    let tally = match part {
                        Part::Numbers(numbers, present) => {
                            bytes.clear();
                            for step in &inner {
                                let begin = (at + step) * T::SIZE;
                                bytes.extend_from_slice(&numbers[begin..begin + T::SIZE]);
                            }
                            let present: Option<Vec<bool>> = present.map(|present| {
                                inner.iter().map(|step| present[at + step]).collect()
                            });
                            Tally::of(&bytes, present.as_deref(), &rule, |_| Vec::new())
                        }
                        Part::Fill(0) => Tally::empty::<T>(),
                        Part::Fill(_) => match fill {
                            Some(fill) => {
                                Tally::of_fill(fill, inner.len() as u64, &rule, Vec::new())
                            }
                            None => Tally { missing: inner.len() as u64, ..Tally::empty::<T>() },
                        },
                    };
                    found.push((self.cell(place, &kept, n), tally));
                }
                found
            },
            |found: Vec<(usize, Tally)>| {
                for (cell, tally) in found {
                    all[cell].merge(tally);
                }
            },
        )?;
        Ok(all)
    }
}

impl Cell {
    /// What a tally says of values that are unpacked.
    pub(crate) fn of(tally: &Tally, meaning: &Meaning, ddof: u64) -> Cell {
        let affine = meaning.affine;
        let (mut min, mut max) =
            (unpacked_end(affine, &tally.least), unpacked_end(affine, &tally.most));
        if affine.scale < 0.0 {
            std::mem::swap(&mut min, &mut max);
        }
        let mean = tally.moments.mean();
        Cell {
            count: tally.moments.count(),
            missing: tally.missing,
            nan: tally.nan,
            min,
            max,
            mean: if affine.is_identity() { mean } else { affine.apply(mean) },
            std: tally.moments.std(ddof) * affine.scale.abs(),
        }
    }

    /// A number that an empty cell does not have.
    pub(crate) fn number(&self, number: f64) -> Json {
        if self.count > 0 { float(number) } else { Json::Null }
    }
}

/// An end of a tally in units.
fn unpacked_end(affine: Affine, end: &Option<(ScalarValue, Vec<u64>)>) -> Option<ScalarValue> {
    end.as_ref().map(|(value, _)| unpacked(affine, *value))
}

impl AlongJob<'_, '_> {
    /// The number of the cell that the `n`th of a part's is.
    fn cell(&self, place: &Region, kept: &[usize], mut n: usize) -> usize {
        let (mut cell, mut stride) = (0, 1);
        for &axis in kept.iter().rev() {
            let range = &place.intervals()[axis];
            let len = (range.end - range.start).max(1) as usize;
            cell += (range.start as usize + n % len) * stride;
            stride *= self.plan.axes[axis].len() as usize;
            n /= len;
        }
        cell
    }
}

/// The positions, in C order in memory of this shape, of all coordinates of some axes, the others being 0.
fn offsets(shape: &[u64], axes: &[usize]) -> Vec<usize> {
    let mut all = vec![0];
    for &axis in axes {
        let stride = shape[axis + 1..].iter().product::<u64>() as usize;
        let len = shape[axis] as usize;
        all = all.iter().flat_map(|&at| (0..len).map(move |n| at + n * stride)).collect();
    }
    all
}

impl AlongAxes {
    /// `{"axes", "shape", "weights", "count", "missing", "nan", "min", "max", "mean", "std"}`: lists in C order of the axes; null where
    /// nothing is valid. `weights` is `"area"`, or null where all elements count alike.
    pub fn to_json(&self) -> Json {
        let axes: Vec<u64> = self.axes.iter().map(|&axis| axis as u64).collect();
        Object::new()
            .with("axes", &axes[..])
            .with("shape", &self.shape[..])
            .with("weights", if self.by_area { Json::from("area") } else { Json::Null })
            .with("count", self.list(|cell| cell.count.into()))
            .with("missing", self.list(|cell| cell.missing.into()))
            .with("nan", self.list(|cell| cell.nan.into()))
            .with("min", self.list(|cell| cell.min.map_or(Json::Null, super::json::scalar)))
            .with("max", self.list(|cell| cell.max.map_or(Json::Null, super::json::scalar)))
            .with("mean", self.list(|cell| cell.number(cell.mean)))
            .with("std", self.list(|cell| cell.number(cell.std)))
            .into()
    }

    /// What each of the cells has, as a list.
    fn list(&self, of: fn(&Cell) -> Json) -> Json {
        self.cells.iter().map(of).collect()
    }
}

//! Makes the pixels of a tile of elements: the nearest, the four around, or the mean of those inside.

use std::ops::Range;

use super::places::{Places, Separate};
use super::read::Source;
use super::{MapError, Resampling, Wanted};
use crate::meaning::geo::{Place, Projection};
use crate::picture::{Along, Plane, Reduce, View, slice_in_blocks};

/// A place so little before an element is in it: rounding must not choose between two tiles' pixels.
const ROUNDING: f64 = 1e-6;
/// Weights that are less do not make a pixel of missing elements.
const MIN_WEIGHT: f64 = 1e-5;

/// The pixels of a tile; nothing if all of them are outside.
pub(super) fn resample(
    source: &Source<'_>,
    places: &Places,
    wanted: &Wanted,
    place: &Place,
    projection: &Projection,
) -> Result<Option<Plane>, MapError> {
    match (wanted.resampling, Separate::of(wanted.tile.set(), projection, place)) {
        (Resampling::Nearest, _) => nearest(source, places),
        // Where elements are smaller than pixels and not in their rows, the four around each pixel are of as many columns and
        // rows as there are pixels, and no better than the nearest.
        (Resampling::Bilinear, None) if is_coarser(places) => nearest(source, places),
        (Resampling::Bilinear, _) => bilinear(source, places),
        (Resampling::Mean, Some(to)) => means(source, places, wanted, &to),
        (Resampling::Mean, None) => means_of_blocks(source, places),
    }
}

/// Whether pixels are twice as large as elements, or larger.
fn is_coarser(places: &Places) -> bool {
    places.elements_per_pixel().is_some_and(|(across, down)| across.max(down) >= 2.0)
}

/// The element that a place is in.
fn element(place: f64, len: u64) -> u64 {
    ((place + ROUNDING).floor().max(0.0) as u64).min(len.saturating_sub(1))
}

/// Columns and rows, each once and rising.
#[derive(Default)]
struct Lists {
    columns: Vec<u64>,
    rows: Vec<u64>,
}

impl Lists {
    fn sorted(mut self) -> Lists {
        for list in [&mut self.columns, &mut self.rows] {
            list.sort_unstable();
            list.dedup();
        }
        self
    }

    /// Where an element is among those that were read.
    fn at(&self, column: u64, row: u64) -> Option<usize> {
        let (column, row) = (self.columns.binary_search(&column), self.rows.binary_search(&row));
        Some(row.ok()? * self.columns.len() + column.ok()?)
    }
}

fn nearest(source: &Source<'_>, places: &Places) -> Result<Option<Plane>, MapError> {
    let (columns, rows) = source.size();
    // Where neither columns nor rows of pixels are those of elements, one of each block is read, that in its middle: each
    // pixel for itself would need as many columns as there are pixels in the tile.
    let block = match places {
        Places::Separable { .. } => (1, 1),
        Places::Each { .. } => {
            let (across, down) = places.elements_per_pixel().unwrap_or((1.0, 1.0));
            ((across.floor() as u64).max(1), (down.floor() as u64).max(1))
        }
    };
    let at = |column: usize, row: usize| {
        let place = places.at(column, row)?;
        Some((middle_of_block(place.0, columns, block.0), middle_of_block(place.1, rows, block.1)))
    };
    let Some(lists) = listed(places, |column, row| at(column, row).into_iter().collect::<Vec<_>>())
    else {
        return Ok(None);
    };
    let values = source.read(&lists.columns, &lists.rows)?;
    let found = plane(places.size(), |column, row| {
        let (column, row) = at(column, row)?;
        values.get(lists.at(column, row)?).copied()
    });
    Ok(Some(found))
}

/// The element in the middle of the block that a place is in.
fn middle_of_block(place: f64, len: u64, block: u64) -> u64 {
    let element = element(place, len);
    (element / block * block + block / 2).min(len - 1)
}

/// All columns and rows that pixels need; nothing if they need none. Of separable places only the pixels of one row and of
/// one column are asked.
fn listed(places: &Places, needed: impl Fn(usize, usize) -> Vec<(u64, u64)>) -> Option<Lists> {
    let (width, height) = places.size();
    let mut lists = Lists::default();
    let mut add = |column: usize, row: usize| {
        for (column, row) in needed(column, row) {
            lists.columns.push(column);
            lists.rows.push(row);
        }
    };
    match places {
        Places::Separable { columns, rows, .. } => {
            let column = columns.iter().position(|place| !place.is_nan())?;
            let row = rows.iter().position(|place| !place.is_nan())?;
            (0..width).for_each(|column| add(column, row));
            (0..height).for_each(|row| add(column, row));
        }
        Places::Each { .. } => {
            for row in 0..height {
                (0..width).for_each(|column| add(column, row));
            }
        }
    }
    let lists = lists.sorted();
    (!lists.columns.is_empty()).then_some(lists)
}

fn plane((width, height): (usize, usize), value: impl Fn(usize, usize) -> Option<f64>) -> Plane {
    let pixels = (0..height).flat_map(|row| (0..width).map(move |column| (column, row)));
    let values = pixels.map(|(column, row)| value(column, row).unwrap_or(f64::NAN)).collect();
    Plane::of(width, values)
}

/// Two neighbours along an axis, and how much the second one counts.
fn neighbours(place: f64, len: u64, goes_around: bool) -> ([u64; 2], f64) {
    let at = place - 0.5;
    let first = at.floor();
    ([element_at(first, len, goes_around), element_at(first + 1.0, len, goes_around)], at - first)
}

/// The element of a number, around the axis or at its end.
fn element_at(n: f64, len: u64, goes_around: bool) -> u64 {
    if goes_around {
        n.rem_euclid(len as f64) as u64
    } else {
        n.clamp(0.0, (len - 1) as f64) as u64
    }
}

fn bilinear(source: &Source<'_>, places: &Places) -> Result<Option<Plane>, MapError> {
    let (columns, rows) = source.size();
    let turns = matches!(places, Places::Separable { goes_around: true, .. });
    let around = |column: usize, row: usize| {
        let place = places.at(column, row)?;
        Some((neighbours(place.0, columns, turns), neighbours(place.1, rows, false)))
    };
    let lists = listed(places, |column, row| {
        let Some((([left, right], _), ([top, bottom], _))) = around(column, row) else {
            return Vec::new();
        };
        vec![(left, top), (right, bottom)]
    });
    let Some(lists) = lists else { return Ok(None) };
    let values = source.read(&lists.columns, &lists.rows)?;
    let found = plane(places.size(), |column, row| {
        let ((across, u), (down, v)) = around(column, row)?;
        let (mut sum, mut weights) = (0.0, 0.0);
        for (column, of_column) in across.into_iter().zip([1.0 - u, u]) {
            for (row, of_row) in down.into_iter().zip([1.0 - v, v]) {
                let value = *values.get(lists.at(column, row)?)?;
                if !value.is_nan() {
                    sum += value * of_column * of_row;
                    weights += of_column * of_row;
                }
            }
        }
        (weights > MIN_WEIGHT).then(|| sum / weights)
    });
    Ok(Some(found))
}

/// Elements from one to another; those over the seam of a map that goes around are in two ranges.
type Ranges = [Range<u64>; 2];

/// The means of the elements whose middles are in the pixels.
fn means(
    source: &Source<'_>,
    places: &Places,
    wanted: &Wanted,
    to: &Separate<'_>,
) -> Result<Option<Plane>, MapError> {
    let Places::Separable { columns: across, rows: down, goes_around } = places else {
        return means_of_blocks(source, places);
    };
    let (columns, rows) = source.size();
    let edges: Vec<f64> =
        wanted.tile.edges_across(wanted.width).into_iter().map(|x| to.column(x)).collect();
    let across = ranges(across, &edges, columns, *goes_around);
    let edges: Vec<f64> =
        wanted.tile.edges_down(wanted.height).into_iter().map(|y| to.row(y)).collect();
    let down = ranges(down, &edges, rows, false);
    let bytes = element_count(&across)
        .saturating_mul(element_count(&down))
        .saturating_mul(size_of::<f64>() as u64);
    if bytes == 0 {
        return Ok(None);
    }
    source.check_bytes(bytes)?;
    let lists = Lists { columns: all_elements(&across), rows: all_elements(&down) }.sorted();
    let values = source.read(&lists.columns, &lists.rows)?;
    let found = plane(places.size(), |column, row| {
        let (mut sum, mut count) = (0.0, 0_u64);
        for row in down[row].iter().flat_map(Clone::clone) {
            for range in across[column].iter().filter(|range| !range.is_empty()) {
                // The elements of a range are next to each other among those that were read.
                let first = lists.at(range.start, row)?;
                let len = (range.end - range.start) as usize;
                for value in
                    values.get(first..first + len)?.iter().filter(|value| value.is_finite())
                {
                    sum += value;
                    count += 1;
                }
            }
        }
        (count > 0).then(|| sum / count as f64)
    });
    Ok(Some(found))
}

/// How many elements are in all ranges.
fn element_count(ranges: &[Ranges]) -> u64 {
    ranges.iter().flatten().map(|range| range.end - range.start).sum()
}

/// The elements of all ranges.
fn all_elements(ranges: &[Ranges]) -> Vec<u64> {
    ranges.iter().flatten().flat_map(Clone::clone).collect()
}

/// The elements of each pixel along one axis, by the places of the pixels' middles and edges: those whose middles are
/// between the edges, or else the one that the pixel's middle is in.
fn ranges(middles: &[f64], edges: &[f64], len: u64, goes_around: bool) -> Vec<Ranges> {
    (0..middles.len())
        .map(|n| {
            let (middle, first, last) = (middles[n], edges[n], edges[n + 1]);
            if middle.is_nan() {
                return [0..0, 0..0];
            }
            // At the edge of the array one edge of a pixel is outside: it is as far from the middle as the other.
            let (first, last) = match (first.is_nan(), last.is_nan()) {
                (false, false) => (first, last),
                (false, true) => (first, 2.0 * middle - first),
                (true, false) => (2.0 * middle - last, last),
                (true, true) => (middle, middle),
            };
            let (low, high) = (first.min(last), first.max(last));
            let found = if goes_around && high - low > len as f64 / 2.0 {
                [first_after(high, len)..len, 0..first_after(low, len)]
            } else {
                [first_after(low, len)..first_after(high, len), 0..0]
            };
            if found.iter().all(Range::is_empty) {
                let element = element(middle, len);
                return [element..element + 1, 0..0];
            }
            found
        })
        .collect()
}

/// The first element whose middle is not before a place.
fn first_after(place: f64, len: u64) -> u64 {
    ((place - 0.5 - ROUNDING).ceil().max(0.0) as u64).min(len)
}

/// The means of square blocks of elements, of which each pixel has the one that its middle is in.
fn means_of_blocks(source: &Source<'_>, places: &Places) -> Result<Option<Plane>, MapError> {
    let (columns, rows) = source.size();
    let (width, height) = places.size();
    let Some((across, down)) = places.elements_per_pixel() else { return Ok(None) };
    let block = ((across.floor() as u64).max(1), (down.floor() as u64).max(1));
    let (mut left, mut right, mut top, mut bottom) = (u64::MAX, 0, u64::MAX, 0);
    let at = |column: usize, row: usize| {
        let place = places.at(column, row)?;
        Some((element(place.0, columns), element(place.1, rows)))
    };
    for row in 0..height {
        for (column, row) in (0..width).filter_map(|column| at(column, row)) {
            (left, right) = (left.min(column), right.max(column));
            (top, bottom) = (top.min(row), bottom.max(row));
        }
    }
    if left > right {
        return Ok(None);
    }
    // Blocks begin at the same elements in all tiles.
    let (left, top) = (left / block.0 * block.0, top / block.1 * block.1);
    let (len, rows_len) = (right + 1 - left, bottom + 1 - top);
    let bytes = len.saturating_mul(rows_len).saturating_mul(size_of::<f64>() as u64);
    source.check_bytes(bytes)?;
    let mut along: Vec<Along> = source.positions.iter().map(|&at| Along::one(at)).collect();
    along.resize(source.array.rank(), Along::one(0));
    along[source.axes.x] = Along { start: left, step: 1, len };
    along[source.axes.y] = Along { start: top, step: 1, len: rows_len };
    let view = View { along, x: Some(source.axes.x), y: Some(source.axes.y) };
    let found = slice_in_blocks(source.array, source.meaning, &view, block, Some(Reduce::Mean))?;
    let found = plane((width, height), |column, row| {
        let (column, row) = at(column, row)?;
        let (column, row) = ((column - left) / block.0, (row - top) / block.1);
        found.values.get(row as usize * found.width + column as usize).copied()
    });
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_the_elements_whose_middles_are_inside() {
        let found = ranges(&[1.0, 3.0], &[0.0, 2.0, 4.0], 4, false);
        assert_eq!(found, [[0..2, 0..0], [2..4, 0..0]]);
        // Fewer elements than pixels: the one that a pixel is in.
        let found = ranges(&[0.25, 0.75, f64::NAN], &[0.0, 0.5, 1.0, f64::NAN], 1, false);
        assert_eq!(found, [[0..1, 0..0], [0..1, 0..0], [0..0, 0..0]]);
        // Over the seam, and at the edge of the array.
        assert_eq!(ranges(&[0.0], &[98.0, 2.0], 100, true), [[98..100, 0..2]]);
        assert_eq!(ranges(&[9.0], &[8.0, f64::NAN], 10, false), [[8..10, 0..0]]);
    }

    #[test]
    fn neighbours_are_clamped_or_go_around() {
        assert_eq!(neighbours(0.25, 10, false), ([0, 0], 0.75));
        assert_eq!(neighbours(0.25, 10, true), ([9, 0], 0.75));
        assert_eq!(neighbours(9.75, 10, true), ([9, 0], 0.25));
        assert_eq!(neighbours(5.5, 10, false), ([5, 6], 0.0));
    }
}

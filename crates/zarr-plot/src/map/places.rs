//! Which elements the pixels of a tile are at.

use super::{TileMatrixSet, Wanted};
use crate::meaning::geo::{
    Place, Projection, Transform, mercator_latitude, mercator_longitude, mercator_x, mercator_y,
};

/// Pixels between two points whose places are computed; those between are interpolated where that is exact enough.
const CONTROL_STEP: usize = 16;
/// How far an interpolated place may be off, in pixels of the tile or elements, whichever is larger.
const MAX_ERROR: f64 = 0.125;
/// The width of the world on Web Mercator, in metres.
const MERCATOR_WIDTH: f64 = 40_075_016.685_578_49;

/// The places of the middles of pixels among the elements: 0 at the outer edge of the first one, NaN outside.
pub(super) enum Places {
    /// Columns depend on the pixel across, rows on the pixel down.
    Separable {
        columns: Vec<f64>,
        rows: Vec<f64>,
        /// Whether the columns go all around the Earth.
        goes_around: bool,
    },
    /// Column and row of each pixel, row after row.
    Each { width: usize, places: Vec<(f64, f64)> },
}

impl Places {
    pub fn of(wanted: &Wanted, projection: &Projection, place: &Place) -> Places {
        let xs = wanted.tile.across(wanted.width);
        let ys = wanted.tile.down(wanted.height);
        let set = wanted.tile.set();
        if let Some(to) = Separate::of(set, projection, place) {
            let columns = xs.iter().map(|&x| to.column(x)).collect();
            let rows = ys.iter().map(|&y| to.row(y)).collect();
            let goes_around = *projection == Projection::Geographic && to.x.goes_around();
            return Places::Separable { columns, rows, goes_around };
        }
        let places = interpolated(xs.len(), ys.len(), |column, row| {
            let (longitude, latitude) = set.degrees((xs[column], ys[row]));
            located(projection, place, longitude, latitude).unwrap_or((f64::NAN, f64::NAN))
        });
        Places::Each { width: xs.len(), places }
    }

    /// How many pixels across and down.
    pub fn size(&self) -> (usize, usize) {
        match self {
            Places::Separable { columns, rows, .. } => (columns.len(), rows.len()),
            Places::Each { width, places } => (*width, places.len() / (*width).max(1)),
        }
    }

    /// The column and the row of a pixel; nothing outside of the array.
    pub fn at(&self, column: usize, row: usize) -> Option<(f64, f64)> {
        let place = match self {
            Places::Separable { columns, rows, .. } => (columns[column], rows[row]),
            Places::Each { width, places } => places[row * width + column],
        };
        (!place.0.is_nan() && !place.1.is_nan()).then_some(place)
    }

    /// How many columns and rows a pixel is apart from the next; nothing if all are outside.
    pub fn elements_per_pixel(&self) -> Option<(f64, f64)> {
        match self {
            Places::Separable { columns, rows, goes_around } => {
                Some((typical_step(columns, *goes_around)?, typical_step(rows, false)?))
            }
            Places::Each { width, places } => {
                // Along a row and along a column of pixels, whichever changes a place more.
                let (mut across, mut down) = (Vec::new(), Vec::new());
                let height = places.len() / (*width).max(1);
                for row in (0..height.saturating_sub(1)).step_by(CONTROL_STEP) {
                    for column in (0..width.saturating_sub(1)).step_by(CONTROL_STEP) {
                        let here = places[row * width + column];
                        let right = places[row * width + column + 1];
                        let below = places[(row + 1) * width + column];
                        across.push((right.0 - here.0).abs().max((below.0 - here.0).abs()));
                        down.push((right.1 - here.1).abs().max((below.1 - here.1).abs()));
                    }
                }
                if places.iter().all(|place| place.0.is_nan()) {
                    return None;
                }
                Some((median(across).unwrap_or(1.0), median(down).unwrap_or(1.0)))
            }
        }
    }
}

/// The middle of the steps between neighbours; 1 where only one is inside. Nothing if none is.
fn typical_step(places: &[f64], goes_around: bool) -> Option<f64> {
    if places.iter().all(|place| place.is_nan()) {
        return None;
    }
    let steps = places.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let mut steps: Vec<f64> = steps.filter(|step| step.is_finite()).collect();
    if goes_around {
        // The step over the seam is not that of the others.
        steps.sort_by(f64::total_cmp);
        steps.truncate(steps.len().saturating_sub(1).max(1));
    }
    Some(median(steps).unwrap_or(1.0))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// From coordinates of a tile matrix set to columns and to rows, where each depends on one of the two only.
pub(super) struct Separate<'a> {
    set: TileMatrixSet,
    is_geographic: bool,
    pub x: &'a crate::meaning::geo::Line,
    pub y: &'a crate::meaning::geo::Line,
}

impl<'a> Separate<'a> {
    pub fn of(
        set: TileMatrixSet,
        projection: &Projection,
        place: &'a Place,
    ) -> Option<Separate<'a>> {
        let Place::Lines { x, y } = place else { return None };
        let is_geographic = match projection {
            Projection::Geographic => true,
            Projection::WebMercator => false,
            _ => return None,
        };
        Some(Separate { set, is_geographic, x, y })
    }

    /// The column at an x of the set; NaN outside.
    pub fn column(&self, x: f64) -> f64 {
        use TileMatrixSet::{WebMercatorQuad, WorldCrs84Quad};
        let found = match (self.set, self.is_geographic) {
            (WorldCrs84Quad, true) => self.x.place_of_longitude(x),
            (WebMercatorQuad, true) => self.x.place_of_longitude(mercator_longitude(x)),
            (WebMercatorQuad, false) => self.metres_around(x),
            (WorldCrs84Quad, false) => self.metres_around(mercator_x(x)),
        };
        found.unwrap_or(f64::NAN)
    }

    /// The row at a y of the set; NaN outside.
    pub fn row(&self, y: f64) -> f64 {
        use TileMatrixSet::{WebMercatorQuad, WorldCrs84Quad};
        let y = match (self.set, self.is_geographic) {
            (WorldCrs84Quad, true) | (WebMercatorQuad, false) => Some(y),
            (WebMercatorQuad, true) => Some(mercator_latitude(y)),
            (WorldCrs84Quad, false) => mercator_y(y),
        };
        y.and_then(|y| self.y.place(y)).unwrap_or(f64::NAN)
    }

    /// Data that cross 180° go on beyond the square.
    fn metres_around(&self, x: f64) -> Option<f64> {
        let turns = [x, x + MERCATOR_WIDTH, x - MERCATOR_WIDTH];
        turns.into_iter().find_map(|x| self.x.place(x))
    }
}

/// The column and the row of a longitude and a latitude.
fn located(
    projection: &Projection,
    place: &Place,
    longitude: f64,
    latitude: f64,
) -> Option<(f64, f64)> {
    let (x, y) = projection.forward(longitude, latitude)?;
    match place {
        Place::Lines { x: columns, y: rows } => Some((columns.place(x)?, rows.place(y)?)),
        Place::Rotated { transform, size } => {
            let turns: &[f64] = match projection {
                Projection::Geographic => &[0.0, 360.0, -360.0],
                _ => &[0.0],
            };
            turns.iter().find_map(|turn| inside(transform, *size, x + turn, y))
        }
    }
}

fn inside(
    transform: &Transform,
    (columns, rows): (u64, u64),
    x: f64,
    y: f64,
) -> Option<(f64, f64)> {
    let (column, row) = transform.invert(x, y)?;
    let is_in = (0.0..=columns as f64).contains(&column) && (0.0..=rows as f64).contains(&row);
    is_in.then_some((column, row))
}

/// The places of all pixels. Of a block of pixels only those of its corners are computed, if the place of its middle and
/// those of the middles of its sides are as near as [`MAX_ERROR`] to what follows from the corners.
fn interpolated(
    width: usize,
    height: usize,
    exact: impl Fn(usize, usize) -> (f64, f64),
) -> Vec<(f64, f64)> {
    let mut places = vec![(f64::NAN, f64::NAN); width * height];
    for top in (0..height).step_by(CONTROL_STEP) {
        let bottom = (top + CONTROL_STEP).min(height) - 1;
        for left in (0..width).step_by(CONTROL_STEP) {
            let right = (left + CONTROL_STEP).min(width) - 1;
            let corners =
                [exact(left, top), exact(right, top), exact(left, bottom), exact(right, bottom)];
            let block = Block { left, right, top, bottom, corners };
            let (middle, centre) = (usize::midpoint(left, right), usize::midpoint(top, bottom));
            let limits = block.limits();
            let is_smooth = [
                (middle, centre),
                (middle, top),
                (middle, bottom),
                (left, centre),
                (right, centre),
            ]
            .into_iter()
            .all(|(column, row)| {
                let (found, guess) = (exact(column, row), block.between(column, row));
                // NaN is not near.
                (found.0 - guess.0).abs() <= limits.0 && (found.1 - guess.1).abs() <= limits.1
            });
            for row in top..=bottom {
                for column in left..=right {
                    let place =
                        if is_smooth { block.between(column, row) } else { exact(column, row) };
                    places[row * width + column] = place;
                }
            }
        }
    }
    places
}

/// A block of pixels of which the places of the corners are known.
struct Block {
    left: usize,
    right: usize,
    top: usize,
    bottom: usize,
    /// The places of the pixels at the top left, the top right, the bottom left and the bottom right.
    corners: [(f64, f64); 4],
}

impl Block {
    /// The place of a pixel as it follows from the corners.
    fn between(&self, column: usize, row: usize) -> (f64, f64) {
        let u = part(column, self.left, self.right);
        let v = part(row, self.top, self.bottom);
        let [a, b, c, d] = self.corners;
        (mix([a.0, b.0, c.0, d.0], u, v), mix([a.1, b.1, c.1, d.1], u, v))
    }

    /// How far a place may be from the exact one along each axis, in elements.
    fn limits(&self) -> (f64, f64) {
        let across = (self.right - self.left).max(1) as f64;
        let down = (self.bottom - self.top).max(1) as f64;
        let [a, b, c, _] = self.corners;
        let columns = ((b.0 - a.0).abs() / across).max((c.0 - a.0).abs() / down).max(1.0);
        let rows = ((b.1 - a.1).abs() / across).max((c.1 - a.1).abs() / down).max(1.0);
        (MAX_ERROR * columns, MAX_ERROR * rows)
    }
}

/// How far a position is on the way from the first to the last one.
fn part(at: usize, first: usize, last: usize) -> f64 {
    if last == first { 0.0 } else { (at - first) as f64 / (last - first) as f64 }
}

/// Interpolates between the values at four corners.
fn mix([a, b, c, d]: [f64; 4], u: f64, v: f64) -> f64 {
    (a * (1.0 - u) + b * u) * (1.0 - v) + (c * (1.0 - u) + d * u) * v
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolated_places_are_near_the_computed_ones() {
        let curved = |column: usize, row: usize| {
            let (x, y) = (column as f64, row as f64);
            if x > 90.0 && y > 90.0 {
                return (f64::NAN, f64::NAN);
            }
            (x * 1.5 + y * y / 400.0, y * 1.5 + (x / 20.0).sin() * 3.0)
        };
        let found = interpolated(100, 100, curved);
        for row in 0..100 {
            for column in 0..100 {
                let (expected, place) = (curved(column, row), found[row * 100 + column]);
                let is_same = expected.0.is_nan() == place.0.is_nan();
                let apart = (expected.0 - place.0).abs().max((expected.1 - place.1).abs());
                let is_near = apart.is_nan() || apart <= 2.0 * MAX_ERROR * 1.5;
                assert!(is_same && is_near, "{column} {row}: {apart}");
            }
        }
        assert_eq!(interpolated(1, 1, |_, _| (3.0, 4.0)), [(3.0, 4.0)]);
    }
}

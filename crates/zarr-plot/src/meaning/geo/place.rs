//! Where the elements of a plane are in a coordinate reference system: on a regular grid, or on lines at given coordinates.

/// How far a coordinate may be from its place on a regular line, in steps.
const EVENNESS: f64 = 1e-3;
/// Degrees after which a longitude is the same again.
pub(crate) const TURN: f64 = 360.0;

/// An affine transform from columns and rows to coordinates: `x = a · column + b · row + c`, `y = d · column + e · row + f`.
/// Column 0, row 0 is the outer corner of the first element, whose middle is at 0.5, 0.5.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the formula says what each letter is")]
pub struct Transform {
    pub a: f64,
    pub b: f64,
    pub c: f64,
    pub d: f64,
    pub e: f64,
    pub f: f64,
}

impl Transform {
    pub(super) fn of_corner([a, b, c, d, e, f]: [f64; 6]) -> Transform {
        Transform { a, b, c, d, e, f }
    }

    /// The coordinates of a place.
    pub fn apply(&self, column: f64, row: f64) -> (f64, f64) {
        (self.a * column + self.b * row + self.c, self.d * column + self.e * row + self.f)
    }

    /// The place of coordinates; nothing if all elements are on a line.
    pub fn invert(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let determinant = self.a * self.e - self.b * self.d;
        let (x, y) = (x - self.c, y - self.f);
        let place =
            ((self.e * x - self.b * y) / determinant, (self.a * y - self.d * x) / determinant);
        (place.0.is_finite() && place.1.is_finite()).then_some(place)
    }

    /// The transform whose first place is here at these columns and rows.
    pub(super) fn moved(&self, columns: f64, rows: f64) -> Transform {
        let (c, f) = self.apply(columns, rows);
        Transform { c, f, ..*self }
    }

    /// The transform of a level whose elements are so many times as wide and as high, from the same corner.
    pub(crate) fn scaled(&self, across: f64, down: f64) -> Transform {
        Transform {
            a: self.a * across,
            d: self.d * across,
            b: self.b * down,
            e: self.e * down,
            ..*self
        }
    }

    /// The six numbers as `spatial:transform` has them.
    pub fn numbers(&self) -> [f64; 6] {
        [self.a, self.b, self.c, self.d, self.e, self.f]
    }
}

/// Where the elements along one axis are.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// Each `step` further than the one before, below 0 backwards.
    Even {
        /// The outer edge of the first element.
        first: f64,
        /// From one to the next.
        step: f64,
        /// How many there are.
        len: u64,
    },
    /// Between these edges, one more than there are elements, which rise or fall.
    Edges(Vec<f64>),
}

impl Line {
    /// Of the middles of elements: even where they are so to a thousandth of a step, else with edges half way between.
    /// Nothing of fewer than two, and of such that neither rise nor fall throughout.
    pub fn of_centres(centres: &[f64]) -> Option<Line> {
        let [first, .., last] = *centres else { return None };
        let step = (last - first) / (centres.len() - 1) as f64;
        if !step.is_finite() || step == 0.0 {
            return None;
        }
        let is_even = centres
            .iter()
            .enumerate()
            .all(|(n, centre)| (centre - (first + n as f64 * step)).abs() <= EVENNESS * step.abs());
        if is_even {
            return Some(Line::Even { first: first - step / 2.0, step, len: centres.len() as u64 });
        }
        if !centres.windows(2).all(|pair| (pair[1] - pair[0]) * step > 0.0) {
            return None;
        }
        let mut edges = Vec::with_capacity(centres.len() + 1);
        edges.push(first - (centres[1] - first) / 2.0);
        edges.extend(centres.windows(2).map(|pair| pair[0] + (pair[1] - pair[0]) / 2.0));
        edges.push(last + (last - centres[centres.len() - 2]) / 2.0);
        Some(Line::Edges(edges))
    }

    /// How many elements there are.
    pub fn len(&self) -> u64 {
        match self {
            Line::Even { len, .. } => *len,
            Line::Edges(edges) => edges.len().saturating_sub(1) as u64,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The outer edges of the first element and of the last.
    pub fn ends(&self) -> (f64, f64) {
        match self {
            Line::Even { first, step, len } => (*first, first + step * *len as f64),
            Line::Edges(edges) => (
                edges.first().copied().unwrap_or(f64::NAN),
                edges.last().copied().unwrap_or(f64::NAN),
            ),
        }
    }

    /// From one element to the next, where it is the same for all.
    pub fn step(&self) -> Option<f64> {
        match self {
            Line::Even { step, .. } => Some(*step),
            Line::Edges(_) => None,
        }
    }

    /// From one element to the next, on average.
    pub(crate) fn mean_step(&self) -> f64 {
        let (first, last) = self.ends();
        (last - first) / self.len().max(1) as f64
    }

    /// The place of a coordinate, from 0 at the outer edge of the first element to the number of elements; nothing outside.
    pub fn place(&self, coordinate: f64) -> Option<f64> {
        let len = self.len() as f64;
        let place = match self {
            Line::Even { first, step, .. } => (coordinate - first) / step,
            Line::Edges(edges) => {
                let falls = edges.first() > edges.last();
                let after = edges.partition_point(|edge| {
                    if falls { *edge > coordinate } else { *edge < coordinate }
                });
                match (after.checked_sub(1), edges.get(after)) {
                    (Some(before), Some(end)) => {
                        let begin = edges[before];
                        before as f64 + (coordinate - begin) / (end - begin)
                    }
                    // Only the first edge itself is at place 0.
                    (None, Some(&first)) if first == coordinate => 0.0,
                    _ => return None,
                }
            }
        };
        // Rounding must not push a coordinate over the edge that it is at.
        let slack = 1e-9 * len.max(1.0);
        (-slack..=len + slack).contains(&place).then(|| place.clamp(0.0, len))
    }

    /// Whether longitudes go all around: what is left open is at most half a step.
    pub(crate) fn goes_around(&self) -> bool {
        let (first, last) = self.ends();
        (last - first).abs() >= TURN - self.mean_step().abs() / 2.0
    }

    /// As [`Line::place`], of a longitude: those that differ by whole turns are the same, and where the line goes all
    /// around, what is left open between its ends belongs to the nearer one.
    pub(crate) fn place_of_longitude(&self, longitude: f64) -> Option<f64> {
        let (first, last) = self.ends();
        let (west, east) = (first.min(last), first.max(last));
        // The first such longitude at or after the western end, but for rounding.
        let slack = 1e-9 * self.mean_step().abs();
        let eastward = west + (longitude - west).rem_euclid(TURN);
        let at = if eastward - west >= TURN - slack { west } else { eastward };
        if at <= east + slack {
            return self.place(at.min(east));
        }
        if !self.goes_around() {
            return None;
        }
        let nearer = if at - east <= west + TURN - at { east } else { west };
        self.place(nearer)
    }
}

/// Where the elements of a plane are.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// Columns and rows each have coordinates of their own.
    Lines {
        /// Of the columns.
        x: Line,
        /// Of the rows.
        y: Line,
    },
    /// Columns and rows are at an angle to the coordinates.
    Rotated {
        /// From columns and rows to coordinates.
        transform: Transform,
        /// Columns and rows.
        size: (u64, u64),
    },
}

impl Place {
    /// Of a transform for so many columns and rows; nothing if all elements are on a line.
    pub(crate) fn of_transform(transform: Transform, (columns, rows): (u64, u64)) -> Option<Place> {
        transform.invert(transform.c, transform.f)?;
        Some(if transform.b == 0.0 && transform.d == 0.0 {
            let x = Line::Even { first: transform.c, step: transform.a, len: columns };
            Place::Lines { x, y: Line::Even { first: transform.f, step: transform.e, len: rows } }
        } else {
            Place::Rotated { transform, size: (columns, rows) }
        })
    }

    /// The transform, where the grid is regular.
    pub fn transform(&self) -> Option<Transform> {
        match self {
            Place::Lines {
                x: Line::Even { first: c, step: a, .. },
                y: Line::Even { first: f, step: e, .. },
            } => Some(Transform { a: *a, b: 0.0, c: *c, d: 0.0, e: *e, f: *f }),
            Place::Lines { .. } => None,
            Place::Rotated { transform, .. } => Some(*transform),
        }
    }

    /// How wide and how high an element is, on average.
    pub(crate) fn size_of_element(&self) -> (f64, f64) {
        match self {
            Place::Lines { x, y } => (x.mean_step().abs(), y.mean_step().abs()),
            Place::Rotated { transform, .. } => {
                (transform.a.hypot(transform.d), transform.b.hypot(transform.e))
            }
        }
    }

    /// West, south, east and north: the outer edges.
    pub fn bounds(&self) -> [f64; 4] {
        let corners = match self {
            Place::Lines { x, y } => [(x.ends().0, y.ends().0), (x.ends().1, y.ends().1)].to_vec(),
            Place::Rotated { transform, size: (columns, rows) } => {
                let (columns, rows) = (*columns as f64, *rows as f64);
                [(0.0, 0.0), (columns, 0.0), (0.0, rows), (columns, rows)]
                    .map(|(column, row)| transform.apply(column, row))
                    .to_vec()
            }
        };
        let least =
            |of: fn(&(f64, f64)) -> f64| corners.iter().map(of).fold(f64::INFINITY, f64::min);
        let most =
            |of: fn(&(f64, f64)) -> f64| corners.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        [least(|it| it.0), least(|it| it.1), most(|it| it.0), most(|it| it.1)]
    }

    /// Whether rows go from north to south, and columns from west to east.
    pub fn is_north_up(&self) -> bool {
        match self {
            Place::Lines { x, y } => x.ends().0 < x.ends().1 && y.ends().0 > y.ends().1,
            Place::Rotated { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn centres(first: f64, step: f64, len: usize) -> Vec<f64> {
        (0..len).map(|n| first + n as f64 * step).collect()
    }

    #[test]
    fn even_centres_have_a_step_and_others_edges() {
        let even = Line::of_centres(&centres(0.5, 1.0, 360)).unwrap();
        assert_eq!(even, Line::Even { first: 0.0, step: 1.0, len: 360 });
        let single: Vec<f64> = (0..100).map(|n| f64::from(n as f32 * 0.1_f32)).collect();
        assert!(Line::of_centres(&single).unwrap().step().is_some());
        let gaussian = Line::of_centres(&[85.76, 80.27, 74.74, 69.0]).unwrap();
        let Line::Edges(edges) = &gaussian else { panic!("{gaussian:?}") };
        assert_eq!(edges.len(), 5);
        assert!((edges[1] - 83.015).abs() < 1e-12 && edges[0] > 85.76);
        for bad in [&[][..], &[1.0], &[1.0, 1.0], &[0.0, 5.0, 3.0, 9.0], &[0.0, f64::NAN, 2.0]] {
            assert_eq!(Line::of_centres(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn places_are_the_same_of_steps_and_of_edges() {
        for line in [
            Line::Even { first: 90.0, step: -0.5, len: 360 },
            Line::Edges((0..=360).map(|n| 90.0 - 0.5 * f64::from(n)).collect()),
        ] {
            assert_eq!(line.place(90.0), Some(0.0));
            assert_eq!(line.place(89.75), Some(0.5));
            assert_eq!(line.place(-90.0), Some(360.0));
            assert_eq!(
                (line.place(90.1), line.place(-90.1), line.place(f64::NAN)),
                (None, None, None)
            );
        }
    }

    #[test]
    fn longitudes_are_found_after_whole_turns() {
        // -180..180, 0..360, 90..450, backwards, and across 180°.
        for (first, step, len) in [
            (-180.0, 1.0, 360),
            (0.0, 1.0, 360),
            (90.0, 1.0, 360),
            (180.0, -1.0, 360),
            (170.0, 1.0, 20),
        ] {
            let line = Line::Even { first, step, len };
            for n in 0..len {
                let middle = first + (n as f64 + 0.5) * step;
                for turn in [-360.0, 0.0, 360.0] {
                    let found = line.place_of_longitude(middle + turn).unwrap();
                    assert!(
                        (found - n as f64 - 0.5).abs() < 1e-9,
                        "{first} {middle} {turn} {found}"
                    );
                }
            }
        }
        let part = Line::Even { first: 170.0, step: 1.0, len: 20 };
        assert_eq!((part.place_of_longitude(0.0), part.place_of_longitude(169.0)), (None, None));
        assert_eq!(part.place_of_longitude(-175.0), Some(15.0));
    }

    #[test]
    fn the_gap_of_the_seam_belongs_to_both_ends() {
        // 359.8 degrees in steps of 1.028: less than half a step is open.
        let line = Line::Even { first: 0.0, step: 359.8 / 350.0, len: 350 };
        assert!(line.goes_around());
        assert_eq!(line.place_of_longitude(359.85), Some(350.0));
        assert_eq!(line.place_of_longitude(359.95), Some(0.0));
        let open = Line::Even { first: 0.0, step: 1.0, len: 359 };
        assert!(!open.goes_around());
        assert_eq!(open.place_of_longitude(359.5), None);
    }

    #[test]
    fn transforms_are_inverted() {
        let rotated = Transform { a: 2.0, b: 1.0, c: 10.0, d: -0.5, e: -3.0, f: 20.0 };
        let (x, y) = rotated.apply(3.25, 7.5);
        let (column, row) = rotated.invert(x, y).unwrap();
        assert!((column - 3.25).abs() < 1e-12 && (row - 7.5).abs() < 1e-12);
        let flat = Transform { a: 1.0, b: 1.0, c: 0.0, d: 1.0, e: 1.0, f: 0.0 };
        assert_eq!((flat.invert(0.0, 0.0), Place::of_transform(flat, (2, 2))), (None, None));
        let place = Place::of_transform(rotated, (4, 2)).unwrap();
        assert!(!place.is_north_up());
        assert_eq!(place.bounds(), [10.0, 12.0, 20.0, 20.0]);
    }
}

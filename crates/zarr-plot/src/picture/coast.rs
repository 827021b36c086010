//! Has the coasts of the world, and draws them and a graticule on maps.
//!
//! Natural Earth 4.1.0 at 1:110 million, which is in the public domain, as `scripts/coast.mjs` makes it of the npm package
//! world-atlas 2.0.2 (ISC).

use super::figure::Area;
use super::scene::{Color, Item, Scene};
use crate::meaning::Coordinates;

/// The coasts as varints: [`coast`] reads them, and the page of `zarr serve`.
pub static COAST_BYTES: &[u8] = include_bytes!("coast.bin");

/// Degrees of a unit.
const UNIT: f64 = 0.05;
const DARK: Color = [20, 20, 20];
const LIGHT: Color = [255, 255, 255];

/// The coasts as lines of longitudes from -180 to 180 and latitudes, in degrees.
pub fn coast() -> Vec<Vec<(f64, f64)>> {
    let mut bytes = COAST_BYTES.iter().copied();
    let mut lines = Vec::new();
    while let Some(count) = varint(&mut bytes) {
        let (mut longitude, mut latitude) = (0, 0);
        let mut line = Vec::new();
        for _ in 0..count {
            let (Some(east), Some(north)) = (varint(&mut bytes), varint(&mut bytes)) else { break };
            longitude += zigzag(east);
            latitude += zigzag(north);
            line.push((longitude as f64 * UNIT, latitude as f64 * UNIT));
        }
        lines.push(line);
    }
    lines
}

fn varint(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes.next()?;
        value |= i64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(value);
        }
        shift += 7;
    }
}

fn zigzag(value: i64) -> i64 {
    (value >> 1) ^ -(value & 1)
}

/// Places degrees on an area of a figure.
pub(crate) struct Placer<'a> {
    pub area: Area,
    /// The coordinates that are shown across and down, and where places among them are in pixels.
    pub across: (&'a Coordinates, &'a dyn Fn(f64) -> f64),
    pub down: (&'a Coordinates, &'a dyn Fn(f64) -> f64),
    /// Whether longitudes go down and latitudes across.
    pub is_swapped: bool,
}

impl Placer<'_> {
    /// Draws the coasts, dark on light, so that they are seen on any colours.
    pub fn draw(&self, scene: &mut Scene) {
        let (east, north) =
            if self.is_swapped { (&self.down, &self.across) } else { (&self.across, &self.down) };
        let mut pieces = Vec::new();
        for line in coast() {
            // Longitudes may go from 0 to 360, or anywhere.
            for turn in [-360.0, 0.0, 360.0] {
                let mut piece = Vec::new();
                for &(longitude, latitude) in &line {
                    let point = place(&east.0.numbers, longitude + turn)
                        .zip(place(&north.0.numbers, latitude))
                        .map(|(x, y)| ((east.1)(x), (north.1)(y)));
                    match point {
                        Some((a, b)) if self.is_swapped => piece.push((b, a)),
                        Some(point) => piece.push(point),
                        None => pieces.push(std::mem::take(&mut piece)),
                    }
                }
                pieces.push(piece);
            }
        }
        pieces.retain(|piece| piece.len() > 1);
        for (color, width) in [(LIGHT, 2.4), (DARK, 1.0)] {
            for points in &pieces {
                let points = points.iter().map(|&(x, y)| self.within(x, y)).collect();
                scene.add(Item::Line { points, color, width });
            }
        }
    }

    fn within(&self, x: f64, y: f64) -> (f64, f64) {
        let Area { x: left, y: top, width, height } = self.area;
        (x.clamp(left, left + width), y.clamp(top, top + height))
    }
}

/// Where a number is among coordinates that rise or fall: between two of them in proportion, up to half a step outside.
fn place(numbers: &[f64], value: f64) -> Option<f64> {
    let (first, last) = (*numbers.first()?, *numbers.last()?);
    if numbers.len() < 2 || !first.is_finite() || !last.is_finite() {
        return None;
    }
    let rises = last > first;
    let after =
        numbers.partition_point(|&number| if rises { number <= value } else { number >= value });
    let below = after.saturating_sub(1).min(numbers.len() - 2);
    let step = numbers[below + 1] - numbers[below];
    let at = below as f64 + (value - numbers[below]) / step;
    (at >= -0.5 && at <= numbers.len() as f64 - 0.5).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coasts_are_those_of_the_world() {
        let lines = coast();
        assert_eq!(lines.iter().map(Vec::len).sum::<usize>(), 5118);
        let points = || lines.iter().flatten();
        assert!(
            points().all(|(east, north)| east.abs() <= 180.0 && (-85.61..84.0).contains(north))
        );
        // Cape Agulhas and the North Cape.
        let near = |east: f64, north: f64| {
            points().any(|point| (point.0 - east).hypot(point.1 - north) < 1.5)
        };
        assert!(near(20.0, -34.8) && near(25.8, 71.2) && !near(-30.0, 30.0));
        // No edge along the sides of the map.
        let at_side = |point: &(f64, f64)| point.0.abs() >= 180.0;
        assert!(!lines.iter().any(|line| line.windows(2).any(|pair| pair.iter().all(at_side))));
    }

    #[test]
    fn numbers_are_placed_among_coordinates() {
        let rising = [0.0, 10.0, 20.0, 40.0];
        assert_eq!(
            [5.0, 30.0, -4.0].map(|value| place(&rising, value)),
            [Some(0.5), Some(2.5), Some(-0.4)]
        );
        assert_eq!([-6.0, 51.0, f64::NAN].map(|value| place(&rising, value)), [None; 3]);
        let falling = [90.0, 0.0, -90.0];
        assert_eq!(place(&falling, 45.0), Some(0.5));
        assert_eq!(place(&[1.0], 1.0), None);
    }
}

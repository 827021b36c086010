//! Levels by a Gaussian: each element is a weighted sum over a window of the level before, which reaches beyond its block.
//!
//! The window of a factor k is a discrete Gaussian of variance (k² - 1) / (8 ln 2), cut off where 99 % of it are within, and sampled in
//! the middle of the block: what ITK's smoothing before shrinking is, as ngff-zarr uses it. Levels are computed from those before them
//! as numbers of 64 bits, and rounded only where they are written. Beyond the end of the image its last element goes on.
//!
//! The elements around a tile are computed again for its neighbours, a few rows of them, and chunks of the base at the borders of tiles
//! are read again for them.

use zarr_core::{Error, MetadataError, Region, Result};

use super::build::{Image, Make, Objects, common, copy_box};
use super::reduce::Missing;
use super::sample::Sample;
use super::tiles::{lengths, places};

/// The largest factor from level to level. A wider window would read much of the image again for each tile.
pub(super) const MAX_FACTOR: u64 = 16;

/// The weights of a window of which all is there add up to one, but for so much.
const MAX_ROUNDING: f64 = 1e-9;

/// How much of the weight of a kernel is outside of it.
const MAX_ERROR: f64 = 0.01;

/// The weights of the elements around a block of the level before.
struct Window {
    /// How many elements before the block's first one the window begins.
    before: u64,
    weights: Vec<f64>,
}

impl Window {
    fn new(factor: u64) -> Window {
        if factor == 1 {
            return Window { before: 0, weights: vec![1.0] };
        }
        let kernel = kernel((factor * factor - 1) as f64 / (8.0 * std::f64::consts::LN_2));
        let radius = kernel.len() - 1;
        // The middle of a block is an element, or lies between two.
        let middle =
            if factor.is_multiple_of(2) { [factor / 2 - 1, factor / 2] } else { [factor / 2; 2] };
        let before = (radius as u64).saturating_sub(middle[0]);
        let mut weights = vec![0.0; (before + middle[1]) as usize + radius + 1];
        for centre in middle {
            let centre = (before + centre) as usize;
            for (distance, weight) in kernel.iter().enumerate() {
                weights[centre + distance] += weight / 2.0;
                if distance > 0 {
                    weights[centre - distance] += weight / 2.0;
                }
            }
        }
        Window { before, weights }
    }

    /// The elements of the level before that those of a range need, of an axis of this length.
    fn reach(&self, range: &std::ops::Range<u64>, step: u64, len: u64) -> std::ops::Range<u64> {
        let start = (range.start * step).saturating_sub(self.before);
        let last = (range.end - 1) * step + self.weights.len() as u64;
        start..last.saturating_sub(self.before).clamp(start + 1, len)
    }
}

/// Half of a discrete Gaussian of a variance, from its middle on; the whole has the sum 1.
fn kernel(variance: f64) -> Vec<f64> {
    let mut kernel: Vec<f64> = Vec::new();
    let mut sum = 0.0;
    while kernel.len() < 2 || sum < 1.0 - MAX_ERROR {
        let weight = (-variance).exp() * bessel(kernel.len() as u32, variance);
        sum += if kernel.is_empty() { weight } else { 2.0 * weight };
        kernel.push(weight);
    }
    kernel.iter_mut().for_each(|weight| *weight /= sum);
    kernel
}

/// The modified Bessel function of the first kind, by its series.
fn bessel(order: u32, x: f64) -> f64 {
    let half = x / 2.0;
    let mut term = (1..=order).fold(1.0, |term, n| term * half / f64::from(n));
    let mut sum = term;
    for n in 1.. {
        term *= half * half / (f64::from(n) * f64::from(n + order));
        if term < sum * f64::EPSILON / 4.0 {
            break;
        }
        sum += term;
    }
    sum
}

/// The levels of an image, by a Gaussian.
pub(super) struct Gaussian<'a, T> {
    pub image: Image<'a>,
    pub missing: Option<Missing<T>>,
    pub fill: T,
    /// Where a smaller share of the window's weight is there, an element is missing.
    pub min_valid: f64,
    windows: Vec<Vec<Window>>,
}

impl<'a, T: Sample> Gaussian<'a, T> {
    pub fn new(image: Image<'a>, missing: Option<Missing<T>>, fill: T, min_valid: f64) -> Self {
        let levels = image.tiles.levels.iter();
        let windows = levels
            .map(|level| level.steps.iter().map(|&step| Window::new(step)).collect())
            .collect();
        Gaussian { image, missing, fill, min_valid, windows }
    }

    /// Makes the elements of a tile, and those of all tiles below it.
    fn make(
        &self,
        level: usize,
        tile: &[u64],
        from: usize,
        objects: &mut Objects<T>,
    ) -> Result<Vec<f64>> {
        let region = self.image.tiles.region(level, tile);
        self.values(level, &region, from, Some((tile, objects)))
    }

    /// The elements of a region of a level, computed from those of the level `from`. Those of a tile of the image's own part are
    /// written, with those of the tiles below it.
    fn values(
        &self,
        level: usize,
        region: &Region,
        from: usize,
        mut own: Option<(&[u64], &mut Objects<T>)>,
    ) -> Result<Vec<f64>> {
        if level == from {
            return if level == 0 { self.read_base(region) } else { self.handed_over(region) };
        }
        let tiles = self.image.tiles;
        let (windows, steps) = (&self.windows[level - 1], &tiles.levels[level - 1].steps);
        let lens = tiles.shape(level - 1);
        let reached = region.intervals().iter().zip(windows).zip(steps.iter().zip(lens));
        let below = reached.map(|((range, window), (&step, &len))| window.reach(range, step, len));
        let below = Region::new(below);
        let mut values = vec![0.0; lengths(&below).iter().product()];
        if level == 1 {
            values = self.values(0, &below, from, None)?;
        } else {
            let children = own.as_ref().map(|(tile, _)| tiles.children(level, tile));
            let ranges = below.intervals().iter().zip(&tiles.tile);
            let cut =
                places(ranges.map(|(range, len)| range.start / len..range.end.div_ceil(*len)));
            for child in cut {
                let all = tiles.region(level - 1, &child);
                let piece = common(&below, &all);
                let is_own = children.as_ref().is_some_and(|children| children.contains(&child));
                let own = own.as_mut().filter(|_| is_own);
                let own = own.map(|(_, objects)| (&child[..], &mut **objects));
                let of_piece = self.values(level - 1, &piece, from, own)?;
                copy_box((&of_piece, &piece), (&mut values, &below), &piece);
            }
        }
        let values = self.weighted(values, &below, region, windows, steps, lens);
        if let Some((_, objects)) = own
            && let Some(array) = &self.image.levels[level - 1]
        {
            let elements: Vec<T> = values.iter().map(|&value| self.element(value)).collect();
            objects.write((level, array), region, Some(&elements), self.fill)?;
        }
        Ok(values)
    }

    /// The base's elements as numbers; what is missing is NaN.
    fn read_base(&self, region: &Region) -> Result<Vec<f64>> {
        let elements: Vec<T> = self.image.base.read(region)?;
        (self.image.read)(elements.len() as u64);
        Ok(elements
            .iter()
            .map(|&element| match &self.missing {
                Some(missing) if missing.has(element) => f64::NAN,
                _ => element.to_f64(),
            })
            .collect())
    }

    /// An element of a level.
    fn element(&self, value: f64) -> T {
        match &self.missing {
            Some(missing) if value.is_nan() => missing.written,
            _ => T::from_f64(value),
        }
    }

    /// The elements of a region, from those around its blocks: along one axis after the other.
    fn weighted(
        &self,
        mut values: Vec<f64>,
        below: &Region,
        region: &Region,
        windows: &[Window],
        steps: &[u64],
        lens: &[u64],
    ) -> Vec<f64> {
        // How much weight is there.
        let mut there = self.missing.as_ref().map(|_| {
            values.iter().map(|value| if value.is_nan() { 0.0 } else { 1.0 }).collect::<Vec<f64>>()
        });
        if there.is_some() {
            values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
        }
        let mut shape = lengths(below);
        for axis in (0..shape.len()).filter(|&axis| steps[axis] > 1) {
            let taps = taps(
                &windows[axis],
                &region.intervals()[axis],
                &below.intervals()[axis],
                steps[axis],
                lens[axis],
            );
            values = along(axis, &values, &shape, &taps);
            there = there.map(|there| along(axis, &there, &shape, &taps));
            shape[axis] = taps.len();
        }
        if let Some(there) = there {
            for (value, weight) in values.iter_mut().zip(there) {
                let is_enough = weight > 0.0 && weight >= self.min_valid - MAX_ROUNDING;
                *value = if is_enough { *value / weight } else { f64::NAN };
            }
        }
        values
    }

    /// The elements of a region of the part level, from the tiles that were handed over.
    fn handed_over(&self, region: &Region) -> Result<Vec<f64>> {
        let (tiles, level) = (self.image.tiles, self.image.part_level);
        let mut values = vec![0.0; lengths(region).iter().product()];
        let ranges = region.intervals().iter().zip(&tiles.tile);
        for tile in places(ranges.map(|(range, len)| range.start / len..range.end.div_ceil(*len))) {
            let all = tiles.region(level, &tile);
            let len = lengths(&all).iter().product::<usize>();
            let number = tiles.number_of_tile(level, &tile);
            let bytes = self.image.handover.get(number, 8 * len as u64)?;
            let bytes = bytes.filter(|bytes| bytes.len() == 8 * len).ok_or_else(|| {
                let why = format!("tile {number} of level {level} is not in the journal");
                Error::from(MetadataError::invalid("pyramid", why))
            })?;
            let of_tile: Vec<f64> = bytes
                .chunks_exact(8)
                .map(|bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("eight bytes")))
                .collect();
            copy_box((&of_tile, &all), (&mut values, region), &common(&all, region));
        }
        Ok(values)
    }
}

/// For each element of a range, where its window begins in a part of the axis below, and its weights. Those of elements beyond the ends
/// of the axis are those of the last ones.
fn taps(
    window: &Window,
    range: &std::ops::Range<u64>,
    below: &std::ops::Range<u64>,
    step: u64,
    len: u64,
) -> Vec<(usize, Vec<f64>)> {
    range
        .clone()
        .map(|at| {
            let place = |tap: usize| {
                let place = (at * step + tap as u64).saturating_sub(window.before).min(len - 1);
                (place - below.start) as usize
            };
            let first = place(0);
            let mut weights = vec![0.0; place(window.weights.len() - 1) - first + 1];
            for (tap, weight) in window.weights.iter().enumerate() {
                weights[place(tap) - first] += weight;
            }
            (first, weights)
        })
        .collect()
}

/// Weights elements along one axis.
fn along(axis: usize, values: &[f64], shape: &[usize], taps: &[(usize, Vec<f64>)]) -> Vec<f64> {
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    let mut out = vec![0.0; outer * taps.len() * inner];
    for (n, row) in out.chunks_exact_mut(inner).enumerate() {
        let (outer, (first, weights)) = (n / taps.len(), &taps[n % taps.len()]);
        for (tap, weight) in weights.iter().enumerate() {
            let from = (outer * shape[axis] + first + tap) * inner;
            row.iter_mut()
                .zip(&values[from..from + inner])
                .for_each(|(sum, value)| *sum += weight * value);
        }
    }
    out
}

impl<T: Sample> Make for Gaussian<'_, T> {
    fn make_part(&self, root: u64) -> Result<u64> {
        let level = self.image.part_level;
        let mut objects = Objects::default();
        for tile in self.image.tiles.tiles_of_root(level, root) {
            let values = self.make(level, &tile, 0, &mut objects)?;
            if level < self.image.tiles.top() {
                let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                self.image.handover.put(self.image.tiles.number_of_tile(level, &tile), bytes)?;
            }
        }
        Ok(objects.stored)
    }

    fn make_top(&self, root: u64) -> Result<()> {
        let top = self.image.tiles.top();
        let mut objects = Objects::default();
        for tile in self.image.tiles.tiles_of_root(top, root) {
            self.make(top, &tile, self.image.part_level, &mut objects)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_have_the_sum_one_and_are_symmetric_about_the_middle_of_the_block() {
        for factor in 1..=MAX_FACTOR {
            let window = Window::new(factor);
            let sum: f64 = window.weights.iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{factor}: {sum}");
            let mirrored: Vec<f64> = window.weights.iter().rev().copied().collect();
            for (a, b) in window.weights.iter().zip(&mirrored) {
                assert!((a - b).abs() < 1e-12, "{factor}");
            }
            let after = window.weights.len() as u64 - window.before - factor;
            assert_eq!(window.before, after, "{factor}");
        }
    }

    /// Beside the integral that defines the Bessel functions.
    #[test]
    fn kernels_are_discrete_gaussians() {
        for factor in [2, 3, 4, 16] {
            let variance = f64::from(factor * factor - 1) / (8.0 * std::f64::consts::LN_2);
            let kernel = kernel(variance);
            let integral = |order: usize| {
                let points = 10_000;
                let sum: f64 = (0..points)
                    .map(|n| {
                        let angle = std::f64::consts::PI * (f64::from(n) + 0.5) / f64::from(points);
                        (variance * (angle.cos() - 1.0)).exp() * (order as f64 * angle).cos()
                    })
                    .sum();
                sum / f64::from(points)
            };
            let all: Vec<f64> = (0..kernel.len()).map(integral).collect();
            let sum = all[0] + 2.0 * all[1..].iter().sum::<f64>();
            assert!(sum >= 0.99, "{factor}: {sum}");
            for (found, expected) in kernel.iter().zip(&all) {
                assert!((found - expected / sum).abs() < 1e-9, "{factor}: {found}");
            }
        }
        let kernel = kernel(3.0 / (8.0 * std::f64::consts::LN_2));
        assert_eq!(kernel.len(), 3);
    }
}

//! Draws how many of the elements that are shown have which values.

use super::figure::{chart, chart_height, draw_axes, heading, no_values, positions, with_units};
use super::line::value_ticks;
use super::plane::{Reduce, slice};
use super::scene::Scene;
use super::show::Style;
use super::ticks::{self, Tick};
use super::{Ends, PictureError, Stretch, Subject, View};

/// The most elements that are all counted.
const MAX_COUNTED_ELEMENTS: u64 = 1 << 24;
/// Of more, this many across and down.
const SOME: u64 = 1024;
const BARS: usize = 64;

/// Counts of elements in bars of the same width.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// How many are in each bar. The last has its upper end, too.
    pub counts: Vec<u64>,
    /// The lower end of the first bar, and the upper one of the last; with `is_log` the bars are as wide in logarithms.
    pub stretch: Stretch,
}

/// Counts values between the ends of a stretch; those beyond and NaN are not counted.
pub fn histogram(values: &[f64], stretch: Stretch, bars: usize) -> Histogram {
    let mut counts = vec![0; bars];
    for place in values.iter().filter_map(|&value| stretch.place(value)) {
        if (0.0..=1.0).contains(&place)
            && let Some(last) = bars.checked_sub(1)
        {
            counts[((place * bars as f64) as usize).min(last)] += 1;
        }
    }
    Histogram { counts, stretch }
}

impl Subject {
    /// The histogram of a view. Of more than 16 million elements, one of each block is counted: a million.
    ///
    /// # Errors
    /// As [`slice()`], and limits that have no logarithm.
    pub fn histogram(&self, view: &View, style: &Style) -> Result<Option<Histogram>, PictureError> {
        let (across, down) = view.size();
        let is_some = across.saturating_mul(down) > MAX_COUNTED_ELEMENTS;
        let at_most =
            is_some.then_some(if view.is_line() { (SOME * SOME, 1) } else { (SOME, SOME) });
        let plane = slice(&self.array, &self.meaning, view, at_most, Some(Reduce::Nearest))?;
        let ends = style.ends.unwrap_or(Ends::Full);
        let Some(mut stretch) = Stretch::of(&plane, ends, style.is_log, style.center)? else {
            return Ok(None);
        };
        if stretch.low == stretch.high {
            (stretch.low, stretch.high, stretch.is_log) =
                (stretch.low - 0.5, stretch.high + 0.5, false);
        }
        let is_whole = !stretch.is_log
            && plane.values.iter().all(|value| value.fract() == 0.0 || !value.is_finite());
        let width = stretch.high - stretch.low;
        // A bar for each whole number, around it.
        if is_whole && width < 256.0 && style.ends.is_none() && width >= 1.0 {
            (stretch.low, stretch.high) =
                ((stretch.low - 0.5).floor() + 0.5, (stretch.high + 0.5).ceil() - 0.5);
            let bars = (stretch.high - stretch.low) as usize;
            return Ok(Some(histogram(
                &plane.values,
                Stretch::between(stretch.low, stretch.high),
                bars,
            )));
        }
        Ok(Some(histogram(&plane.values, stretch, BARS)))
    }

    /// The figure of a histogram, on `size` pixels.
    ///
    /// # Errors
    /// As [`Subject::histogram`].
    pub fn histogram_figure(
        &self,
        view: &View,
        style: &Style,
        size: (u32, u32),
    ) -> Result<Scene, PictureError> {
        let mut scene = Scene::new(size.0, size.1);
        let below = positions(self, view, false).join("  ·  ");
        let top = heading(&mut scene, &self.title(), &below);
        let found = self.histogram(view, style)?;
        let has_values = found.is_some();
        let found = found.unwrap_or_else(|| histogram(&[], Stretch::between(0.0, 1.0), BARS));
        let most = found.counts.iter().copied().max().unwrap_or(0).max(1);
        let up = Stretch::between(0.0, most as f64 * 1.05);
        let count = (chart_height(&scene, top) / 45.0).max(2.0) as usize;
        let values = ticks::round_numbers(0.0, up.high, count);
        let values: Vec<f64> = values.into_iter().filter(|value| value.fract() == 0.0).collect();
        let texts = ticks::texts(&values);
        let counts: Vec<Tick> = values
            .iter()
            .zip(texts)
            .filter_map(|(&value, text)| Some(Tick { at: up.place(value)?, text }))
            .collect();
        let area = chart(&mut scene, top, &counts, "elements");
        let each = area.width / found.counts.len().max(1) as f64;
        for (n, &count) in found.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let up = (count as f64 / up.high * area.height).max(1.0);
            let gap = if each >= 4.0 { 1.0 } else { 0.0 };
            scene.rectangle(
                (area.x + n as f64 * each, area.y + area.height - up),
                (each - gap, up),
                [31, 97, 158],
            );
        }
        let most = if self.meaning.time.is_some() { 4.0 } else { 10.0 };
        let count = (area.width / 90.0).clamp(1.0, most) as usize;
        let mut below = value_ticks(&found.stretch, count, self);
        if !has_values {
            below.clear();
            no_values(&mut scene, area);
        }
        let label = with_units("", self.meaning.units.as_deref());
        let label = label.trim().trim_start_matches('(').trim_end_matches(')');
        draw_axes(
            &mut scene,
            area,
            (&below, &|place: f64| area.x + place * area.width, label),
            (&counts, &|place: f64| area.y + (1.0 - place) * area.height, "elements"),
        );
        Ok(scene)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `np.histogram([0, 1, 1, 4, 5, nan], 5, (0, 5))`.
    #[test]
    fn counts_are_numpys() {
        let values = [0.0, 1.0, 1.0, 4.0, 5.0, f64::NAN, 6.0, -1.0];
        assert_eq!(histogram(&values, Stretch::between(0.0, 5.0), 5).counts, [1, 2, 0, 0, 2]);
        assert!(histogram(&values, Stretch::between(0.0, 5.0), 0).counts.is_empty());
    }
}

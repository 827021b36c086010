//! Draws an array of one axis as a line: of very many elements the lowest and the highest in each column of pixels.

use super::figure::{
    Area, Scale, chart, chart_height, draw_axes, heading, no_values, positions, with_units,
};
use super::plane::{MOST_AVERAGED, Reduce, slice};
use super::scene::{Color, Item, PAPER, Scene};
use super::show::Style;
use super::ticks::{self, Tick};
use super::{Ends, PictureError, Plane, Stretch, Subject, View};

const BLUE: Color = [31, 97, 158];
const PALE: Color = [190, 212, 232];
/// How many elements are read at once.
const SLAB: u64 = 1 << 22;

/// The lowest and highest of each block of elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The lowest; NaN where all are missing.
    pub low: Vec<f64>,
    /// The highest.
    pub high: Vec<f64>,
    /// How many elements a block has.
    pub block: u64,
}

impl Subject {
    /// Reads a line in at most `most` blocks. Of more elements than some seconds read, not all are looked at.
    ///
    /// # Errors
    /// As [`slice()`].
    pub fn line(&self, view: &View, most: u64) -> Result<Line, PictureError> {
        let (len, _) = view.size();
        let block = len.div_ceil(most.max(1)).max(1);
        let (mut low, mut high) = (Vec::new(), Vec::new());
        let (Some(x), true) = (view.x, len <= MOST_AVERAGED) else {
            let plane =
                slice(&self.array, &self.meaning, view, Some((most, 1)), Some(Reduce::Nearest))?;
            return Ok(Line { low: plane.values.clone(), high: plane.values, block });
        };
        let slab = (SLAB / block).max(1) * block;
        for from in (0..len).step_by(slab as usize) {
            let mut part = view.clone();
            part.along[x] = view.along[x].part(from, slab.min(len - from));
            let plane = slice(&self.array, &self.meaning, &part, None, None)?;
            for block in plane.values.chunks(block as usize) {
                low.push(block.iter().copied().fold(f64::NAN, f64::min));
                high.push(block.iter().copied().fold(f64::NAN, f64::max));
            }
        }
        Ok(Line { low, high, block })
    }

    /// The figure of a line, on `size` pixels.
    ///
    /// # Errors
    /// As [`Subject::line`], and limits that have no logarithm.
    pub fn line_figure(
        &self,
        view: &View,
        style: &Style,
        size: (u32, u32),
    ) -> Result<Scene, PictureError> {
        let mut scene = Scene::new(size.0, size.1);
        let below = positions(self, view, false).join("  ·  ");
        let top = heading(&mut scene, &self.title(), &below);
        let line = self.line(view, u64::from(size.0.saturating_sub(120).max(16)))?;
        let all: Vec<f64> = line.low.iter().chain(&line.high).copied().collect();
        let ends = style.ends.unwrap_or(Ends::Full);
        let stretch = Stretch::of(&Plane::of(all.len(), all), ends, style.is_log, style.center)?;
        let has_values = stretch.is_some();
        let stretch = wider(stretch, style.ends.is_none());
        let label =
            with_units(self.meaning.title.as_deref().unwrap_or(""), self.meaning.units.as_deref());
        let count = (chart_height(&scene, top) / 45.0).max(2.0) as usize;
        let mut values = value_ticks(&stretch, count, self);
        values.retain(|_| has_values);
        let area = chart(&mut scene, top, &values, &label);
        if !has_values {
            no_values(&mut scene, area);
        }
        let across = Scale::of(self, view, view.x);
        let elements = (line.low.len() as u64 * line.block).max(1) as f64;
        let x = |at: f64| area.x + (at + 0.5) / elements * area.width;
        draw(&mut scene, area, &line, &stretch);
        let below = across.ticks_across(area.width, &x);
        draw_axes(
            &mut scene,
            area,
            (&below, &x, &across.label),
            (&values, &|place: f64| area.y + (1.0 - place) * area.height, &label),
        );
        Ok(scene)
    }
}

impl Subject {
    /// The points of a line in a box of this size in pixels, from its upper left corner; gaps are left out.
    pub(crate) fn small_line(
        &self,
        view: &View,
        (width, height): (f64, f64),
    ) -> Result<Vec<(f64, f64)>, PictureError> {
        let line = self.line(view, width as u64)?;
        let all: Vec<f64> = line.low.iter().chain(&line.high).copied().collect();
        let stretch =
            wider(Stretch::of(&Plane::of(all.len(), all), Ends::Full, false, None)?, true);
        let count = line.low.len().max(1) as f64;
        Ok((0..line.low.len())
            .filter_map(|n| {
                let place = stretch.place((line.low[n] + line.high[n]) / 2.0)?;
                Some(((n as f64 + 0.5) / count * width, (1.0 - place.clamp(0.0, 1.0)) * height))
            })
            .collect())
    }
}

/// Room above and below what is shown, and around a constant.
fn wider(stretch: Option<Stretch>, is_free: bool) -> Stretch {
    let mut stretch = stretch.unwrap_or(Stretch::between(0.0, 1.0));
    if stretch.low == stretch.high {
        let by = if stretch.low == 0.0 { 1.0 } else { stretch.low.abs() * 0.1 };
        (stretch.low, stretch.high) = (stretch.low - by, stretch.high + by);
        stretch.is_log &= stretch.low > 0.0;
    } else if is_free && !stretch.is_log {
        let by = (stretch.high - stretch.low) * 0.04;
        if by.is_finite() {
            (stretch.low, stretch.high) = (stretch.low - by, stretch.high + by);
        }
    }
    stretch
}

/// Ticks of values, at places from 0 to 1.
pub(crate) fn value_ticks(stretch: &Stretch, count: usize, subject: &Subject) -> Vec<Tick> {
    if let Some(time) = subject.meaning.time.filter(|_| !stretch.is_log) {
        let dates = ticks::round_dates(stretch.low, stretch.high, time, count);
        let found: Vec<Tick> = dates
            .into_iter()
            .filter_map(|(value, text)| stretch.place(value).map(|at| Tick { at, text }))
            .collect();
        if found.len() > 1 {
            return found;
        }
    }
    let (values, texts) = numbers_and_texts(stretch, count, count);
    values
        .into_iter()
        .zip(texts)
        .filter_map(|(value, text)| {
            let at = stretch.place(value).filter(|at| (0.0..=1.0).contains(at))?;
            let date = subject.meaning.time.and_then(|time| time.date(value));
            Some(Tick { at, text: date.map_or(text, |date| date.to_string()) })
        })
        .collect()
}

/// Round numbers in a stretch, about `count` of them, of powers of ten at most about `powers`; and their texts.
pub(crate) fn numbers_and_texts(
    stretch: &Stretch,
    count: usize,
    powers: usize,
) -> (Vec<f64>, Vec<String>) {
    if !stretch.is_log {
        let values = ticks::round_numbers(stretch.low, stretch.high, count);
        let texts = ticks::texts(&values);
        return (values, texts);
    }
    let all = stretch.low.log10().ceil() as i32..=stretch.high.log10().floor() as i32;
    let all: Vec<f64> = all.map(|power| 10_f64.powi(power)).collect();
    let every = all.len().div_ceil(powers.max(1)).max(1);
    all.into_iter().step_by(every).map(|value| (value, ticks::number(value))).unzip()
}

fn draw(scene: &mut Scene, area: Area, line: &Line, stretch: &Stretch) {
    let count = line.low.len().max(1) as f64;
    let x = |n: usize| area.x + (n as f64 + 0.5) / count * area.width;
    if line.block > 1 {
        for n in 0..line.low.len() {
            if let Some((top, bottom)) = height_range(area, line, stretch, n) {
                scene.rectangle((x(n) - 0.5, top - 0.5), (1.0, bottom - top + 1.0), PALE);
            }
        }
    }
    let mut points: Vec<(f64, f64)> = Vec::new();
    for n in 0..=line.low.len() {
        let at = (n < line.low.len())
            .then(|| height_range(area, line, stretch, n))
            .flatten()
            .map(|(top, bottom)| (x(n), (top + bottom) / 2.0));
        match at {
            Some(at) => points.push(at),
            // A gap ends a piece of the line.
            None if points.len() == 1 => {
                let (x, y) = points.remove(0);
                scene.rectangle((x - 2.5, y - 2.5), (5.0, 5.0), PAPER);
                scene.rectangle((x - 2.0, y - 2.0), (4.0, 4.0), BLUE);
            }
            None if points.is_empty() => {}
            None => scene.add(Item::Line {
                points: std::mem::take(&mut points),
                color: BLUE,
                width: 1.6,
            }),
        }
    }
    if line.block == 1 && line.low.len() <= 60 {
        for n in 0..line.low.len() {
            if let Some((top, _)) = height_range(area, line, stretch, n) {
                scene.rectangle((x(n) - 2.0, top - 2.0), (4.0, 4.0), BLUE);
            }
        }
    }
}

/// The top and the bottom of one of the line's places, none where a value is missing.
fn height_range(area: Area, line: &Line, stretch: &Stretch, n: usize) -> Option<(f64, f64)> {
    Some((height_of(area, stretch, line.high[n])?, height_of(area, stretch, line.low[n])?))
}

/// Where a value is in the area; beyond the ends, at the edge.
fn height_of(area: Area, stretch: &Stretch, value: f64) -> Option<f64> {
    let place = stretch.place(value)?;
    Some(area.y + (1.0 - place.clamp(0.0, 1.0)) * area.height)
}

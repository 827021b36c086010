//! Lays a picture out: title, axes with their coordinates, colour bar.

use super::coast::Placer;
use super::line::numbers_and_texts;
use super::scene::{Anchor, FAINT, INK, Item, MISSING, Scene, Text};
use super::show::{Legend, Rendering, Style};
use super::ticks::{self, Tick};
use super::{ColorMap, PictureError, Raster, Stretch, Subject, View, text};
use crate::meaning::{Axis, AxisKind, Coordinates};

/// Pixels of a figure, if not asked for.
pub const USUAL_SIZE: (u32, u32) = (1000, 720);
/// The fewest pixels of a figure, across and down: fewer have no room for axes and their numbers.
pub const LEAST_SIZE: (u32, u32) = (300, 200);
/// The most pixels of a side.
pub const MOST_SIDE: u32 = 8192;

pub(crate) const TITLE: f64 = 18.0;
pub(crate) const LABEL: f64 = 14.0;
pub(crate) const SMALL_TEXT: f64 = 12.5;
const MARGIN: f64 = 18.0;
/// A picture of which one side is more times as long as the other fills its room, and is not to scale: of elements that are taken for
/// squares, and of elements of known size.
const MAX_RATIO: f64 = 5.0;
const MAX_KNOWN_RATIO: f64 = 16.0;
/// The most coordinates that are read for ticks.
const MOST_COORDINATES: u64 = 1 << 20;

/// The coordinates along an axis of a view.
pub(crate) struct Scale {
    coordinates: Option<Coordinates>,
    first: f64,
    step: f64,
    len: u64,
    pub label: String,
}

impl Scale {
    /// Those along an axis; positions, where there are no coordinates or they cannot be read.
    pub fn of(subject: &Subject, view: &View, axis: Option<usize>) -> Scale {
        let Some(n) = axis else {
            return Scale {
                coordinates: None,
                first: 0.0,
                step: 1.0,
                len: 1,
                label: String::new(),
            };
        };
        let (axis, along) = (&subject.axes[n], &view.along[n]);
        let mut scale = Scale {
            coordinates: None,
            first: along.start as f64,
            step: along.step as f64,
            len: along.len,
            label: label(axis, n),
        };
        let bounds = along.bounds();
        if let Some(affine) = axis.affine() {
            (scale.first, scale.step) = (affine.apply(scale.first), affine.scale * scale.step);
        } else if bounds.end - bounds.start <= MOST_COORDINATES
            && let Ok(Some(found)) = axis.read(bounds.clone())
        {
            let places: Vec<usize> =
                (0..along.len).map(|n| (along.at(n) - bounds.start) as usize).collect();
            let texts = found
                .texts
                .as_ref()
                .map(|texts| places.iter().filter_map(|&n| texts.get(n).cloned()).collect());
            let numbers = places.iter().filter_map(|&n| found.numbers.get(n).copied()).collect();
            if found.time.is_some() {
                scale.label = axis.title.clone().unwrap_or_else(|| format!("axis {n}"));
            }
            scale.coordinates = Some(Coordinates { numbers, time: found.time, texts });
        }
        scale
    }

    /// At most about `count` ticks.
    pub fn ticks(&self, count: usize) -> Vec<Tick> {
        match &self.coordinates {
            Some(found) => ticks::of_coordinates(found, self.len as usize, count),
            None => ticks::of_positions(self.first, self.step, self.len, count),
        }
    }

    /// As many ticks as have room beside each other, on `size` pixels, at places given by `place`.
    pub fn ticks_across(&self, width: f64, place: &dyn Fn(f64) -> f64) -> Vec<Tick> {
        for count in (1..=(width / 60.0).clamp(1.0, 12.0) as usize).rev() {
            let mut found = self.ticks(count);
            for tick in &mut found {
                tick.text = text::cut(&tick.text, SMALL_TEXT, 160.0);
            }
            let have_room = found.windows(2).all(|pair| {
                let half = (text::width(&pair[0].text, SMALL_TEXT)
                    + text::width(&pair[1].text, SMALL_TEXT))
                    / 2.0;
                (place(pair[1].at) - place(pair[0].at)).abs() >= half + 10.0
            });
            if have_room {
                return found;
            }
        }
        let mut first = self.ticks(1);
        first.truncate(1);
        first
    }

    /// Ticks that fit below each other.
    pub fn ticks_down(&self, height: f64, place: &dyn Fn(f64) -> f64) -> Vec<Tick> {
        for count in (1..=(height / 34.0).clamp(1.0, 12.0) as usize).rev() {
            let mut found = self.ticks(count);
            if found.windows(2).all(|pair| (place(pair[1].at) - place(pair[0].at)).abs() >= 15.0) {
                for tick in &mut found {
                    tick.text = text::cut(&tick.text, SMALL_TEXT, 130.0);
                }
                return found;
            }
        }
        Vec::new()
    }
}

/// `Longitude (degrees_east)`.
fn label(axis: &Axis, n: usize) -> String {
    let title = axis.title.clone().or(axis.name.clone()).unwrap_or_else(|| format!("axis {n}"));
    with_units(&title, axis.units.as_deref())
}

/// The units, in brackets behind a title.
pub(crate) fn with_units(title: &str, units: Option<&str>) -> String {
    match units.filter(|units| *units != "1") {
        Some(units) => format!("{title} ({})", pretty(units)),
        None => title.to_owned(),
    }
}

/// Units as people write them.
fn pretty(units: &str) -> String {
    match units {
        "degrees_east" | "degree_east" => "°E".into(),
        "degrees_north" | "degree_north" => "°N".into(),
        "degC" | "degree_Celsius" | "degrees_Celsius" | "celsius" | "Celsius" => "°C".into(),
        "micrometer" => "µm".into(),
        "nanometer" => "nm".into(),
        "millimeter" => "mm".into(),
        other => other.to_owned(),
    }
}

/// `time 2000-01-16 (0 of 1,200)` for each axis of which one position is shown.
pub fn positions(subject: &Subject, view: &View, is_channels: bool) -> Vec<String> {
    let channels = if is_channels { subject.channel_axis(view) } else { None };
    (0..subject.axes.len())
        .filter(|&n| {
            let is_shown = Some(n) == view.x
                || Some(n) == view.y
                || Some(n) == channels
                || view.along[n].len == 0;
            !is_shown && subject.axes[n].len != 1
        })
        .map(|n| {
            let (axis, at) = (&subject.axes[n], view.along[n].start);
            let name = axis.name.clone().unwrap_or_else(|| format!("axis {n}"));
            let found = axis.read(at..at + 1).ok().flatten().map(|found| found.text(0));
            match found {
                Some(found)
                    if axis.units.is_some() && axis.kind != crate::meaning::AxisKind::Time =>
                {
                    format!(
                        "{name} {found} {}{}",
                        pretty(axis.units.as_deref().unwrap_or_default()),
                        position_of(at, axis.len)
                    )
                }
                Some(found) => format!("{name} {found}{}", position_of(at, axis.len)),
                None => format!("{name} {at} of {}", axis.len),
            }
        })
        .collect()
}

/// A position among so many; nothing if there is only one.
fn position_of(at: u64, len: u64) -> String {
    if len == 1 { String::new() } else { format!(" ({at} of {len})") }
}

/// Where the data of a figure are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// Draws title and subtitle; returns where the space below begins.
pub(crate) fn heading(scene: &mut Scene, title: &str, below: &str) -> f64 {
    let room = f64::from(scene.width) - 2.0 * MARGIN;
    scene.text((MARGIN, MARGIN + 14.0), &text::cut(title, TITLE, room), TITLE, Anchor::Start, INK);
    if below.is_empty() {
        return MARGIN + 32.0;
    }
    scene.text(
        (MARGIN, MARGIN + 34.0),
        &text::cut(below, SMALL_TEXT, room),
        SMALL_TEXT,
        Anchor::Start,
        FAINT,
    );
    MARGIN + 50.0
}

/// Draws ticks and labels below and left of an area.
pub(crate) fn draw_axes(
    scene: &mut Scene,
    area: Area,
    across: (&[Tick], &dyn Fn(f64) -> f64, &str),
    down: (&[Tick], &dyn Fn(f64) -> f64, &str),
) {
    scene.frame((area.x, area.y), (area.width, area.height), FAINT);
    let bottom = area.y + area.height + 1.0;
    for tick in across.0 {
        let x = (across.1)(tick.at);
        scene.rectangle((x.floor(), bottom), (1.0, 5.0), FAINT);
        scene.text((x, bottom + 19.0), &tick.text, SMALL_TEXT, Anchor::Middle, INK);
    }
    let label = text::cut(across.2, LABEL, area.width.max(120.0));
    scene.text((area.x + area.width / 2.0, bottom + 41.0), &label, LABEL, Anchor::Middle, INK);
    let mut widest = 0.0_f64;
    for tick in down.0 {
        let y = (down.1)(tick.at);
        scene.rectangle((area.x - 6.0, y.floor()), (5.0, 1.0), FAINT);
        scene.text((area.x - 10.0, y + 4.5), &tick.text, SMALL_TEXT, Anchor::End, INK);
        widest = widest.max(text::width(&tick.text, SMALL_TEXT));
    }
    let text = text::cut(down.2, LABEL, area.height.max(120.0));
    scene.add(Item::Text(Text {
        x: area.x - 10.0 - widest - 12.0,
        y: area.y + area.height / 2.0,
        text,
        size: LABEL,
        anchor: Anchor::Middle,
        color: INK,
        is_upright: true,
    }));
}

/// How wide the space left of an area is, for the ticks and the label there.
fn left_of(ticks: &[Tick], label: &str) -> f64 {
    let widest = ticks.iter().map(|tick| text::width(&tick.text, SMALL_TEXT)).fold(0.0, f64::max);
    MARGIN + if label.is_empty() { 0.0 } else { LABEL + 12.0 } + widest + 12.0
}

/// Pixels of a legend across and down.
const LEGEND_SIZE: (u32, u32) = (120, 300);
/// Space around a legend.
const LEGEND_MARGIN: f64 = 8.0;

/// The space below an area, for the ticks and the label there.
const BELOW: f64 = 48.0 + MARGIN;

/// How high the data of a chart are, whose heading ends at `top`.
pub(crate) fn chart_height(scene: &Scene, top: f64) -> f64 {
    (f64::from(scene.height) - top - BELOW).max(16.0).floor()
}

/// Where the data of a chart are, with faint lines at these places of the axis that goes up.
pub(crate) fn chart(scene: &mut Scene, top: f64, up: &[Tick], label: &str) -> Area {
    let width = f64::from(scene.width);
    let left = left_of(up, label).min(width / 3.0).round();
    let height = chart_height(scene, top);
    let area =
        Area { x: left, y: top.round(), width: (width - left - 30.0).max(16.0).floor(), height };
    for tick in up {
        let y = (area.y + (1.0 - tick.at) * area.height).floor();
        scene.rectangle((area.x, y), (area.width, 1.0), [235, 235, 235]);
    }
    area
}

/// Says in the middle of a chart that it shows nothing.
pub(crate) fn no_values(scene: &mut Scene, area: Area) {
    let middle = (area.x + area.width / 2.0, area.y + area.height / 2.0);
    scene.text(middle, "no values", SMALL_TEXT, Anchor::Middle, INK);
}

impl Subject {
    /// The figure of a view: its picture with title, axes and colour bar, on `size` pixels; if that is not given, on at most
    /// [`USUAL_SIZE`], and lower where the picture is.
    ///
    /// # Errors
    /// As [`Subject::show`].
    pub fn figure(
        &self,
        view: &View,
        style: &Style,
        is_upwards: bool,
        size: Option<(u32, u32)>,
    ) -> Result<Scene, PictureError> {
        let most = size.unwrap_or(USUAL_SIZE);
        let (width, height) = (f64::from(most.0), f64::from(most.1));
        let mut scene = Scene::new(most.0, most.1);
        let below = positions(self, view, self.shows_channels(view, style)).join("  ·  ");
        let title = with_units(
            &self.title(),
            self.meaning.units.as_deref().filter(|_| self.meaning.time.is_none()),
        );
        let top = heading(&mut scene, &title, &below);
        let (across, down) = (Scale::of(self, view, view.x), Scale::of(self, view, view.y));
        let right = 110.0 + MARGIN;
        let guess = down.ticks((height / 50.0) as usize);
        let left = left_of(&guess, &down.label).min(width / 3.0);
        let room = ((width - left - right).max(16.0), (height - top - BELOW).max(16.0));
        let drawn = drawn_size(view.size(), self.aspect(view), room);
        let at_most = (drawn.0 as u64, drawn.1 as u64);
        let smaller = self.smaller(view, at_most)?;
        let shown = match &smaller {
            Some((level, view)) => level.show(view, style, Some(at_most))?,
            None => self.show(view, style, Some(at_most))?,
        };
        // Between the margins, from the left and the top.
        let area = Area { x: left.round(), y: top.round(), width: drawn.0, height: drawn.1 };
        if size.is_none() {
            let bottom = area.y + area.height.max(80.0) + BELOW;
            scene.height = scene.height.min(bottom as u32);
        }
        let raster =
            if is_upwards { shown.raster.clone().upside_down() } else { shown.raster.clone() };
        if shown.has_missing || matches!(shown.legend, Legend::None | Legend::NoValues) {
            scene.rectangle((area.x, area.y), (area.width, area.height), MISSING);
        }
        if raster.width > 0 && raster.height > 0 {
            scene.add(Item::Picture {
                x: area.x,
                y: area.y,
                width: area.width,
                height: area.height,
                raster,
            });
        }
        // The last pixel may stand for fewer elements than the others.
        let covered = match smaller {
            Some(_) => view.size(),
            None => (
                shown.raster.width as u64 * shown.block.0,
                shown.raster.height as u64 * shown.block.1,
            ),
        };
        let x = |at: f64| area.x + place_along(at, covered.0) * area.width;
        let y = |at: f64| {
            let part = place_along(at, covered.1) * area.height;
            area.y + if is_upwards { area.height - part } else { part }
        };
        if style.has_coast {
            self.draw_coast(&mut scene, area, view, (&across, &x), (&down, &y))?;
        }
        let (below, beside) =
            (across.ticks_across(area.width, &x), down.ticks_down(area.height, &y));
        draw_axes(&mut scene, area, (&below, &x, &across.label), (&beside, &y, &down.label));
        self.draw_legend(&mut scene, area, &shown);
        Ok(scene)
    }

    /// The colour bar of a range alone, with its numbers and the units.
    pub fn legend(&self, stretch: &Stretch, map: ColorMap) -> Scene {
        let mut scene = Scene::new(LEGEND_SIZE.0, LEGEND_SIZE.1);
        let width = f64::from(LEGEND_SIZE.0) - 2.0 * LEGEND_MARGIN;
        let units = self.meaning.units.as_deref().filter(|_| self.meaning.time.is_none());
        let title = text::cut(units.map(pretty).as_deref().unwrap_or_default(), SMALL_TEXT, width);
        scene.text((LEGEND_MARGIN, LEGEND_MARGIN + 8.0), &title, SMALL_TEXT, Anchor::Start, INK);
        let top = LEGEND_MARGIN + 20.0;
        let height = f64::from(LEGEND_SIZE.1) - top - 2.0 * LEGEND_MARGIN;
        let is_time = self.meaning.time.is_some();
        color_bar(
            &mut scene,
            (LEGEND_MARGIN, top),
            height,
            width,
            (stretch, map),
            &|value: f64| self.text(value),
            is_time,
        );
        scene
    }

    /// Draws coasts over a picture of longitudes and latitudes.
    fn draw_coast(
        &self,
        scene: &mut Scene,
        area: Area,
        view: &View,
        (across, x): (&Scale, &dyn Fn(f64) -> f64),
        (down, y): (&Scale, &dyn Fn(f64) -> f64),
    ) -> Result<(), PictureError> {
        let angle =
            |axis: Option<usize>| axis.map(|n| &self.axes[n]).filter(|axis| axis.is_angle());
        let kinds = angle(view.x).zip(angle(view.y)).map(|(x, y)| (x.kind, y.kind));
        let is_swapped = match kinds {
            Some((AxisKind::X, AxisKind::Y)) => false,
            Some((AxisKind::Y, AxisKind::X)) => true,
            _ => {
                return Err(PictureError::Refused(
                    "--coast needs longitude across and latitude down".into(),
                ));
            }
        };
        if let (Some(east), Some(north)) = (&across.coordinates, &down.coordinates) {
            Placer { area, across: (east, x), down: (north, y), is_swapped }.draw(scene);
        }
        Ok(())
    }

    fn draw_legend(&self, scene: &mut Scene, area: Area, shown: &Rendering) {
        let x = area.x + area.width + 22.0;
        let mut y = area.y;
        let room = f64::from(scene.width) - x - 8.0;
        match &shown.legend {
            Legend::None => {}
            Legend::NoValues => {
                scene.text((x, y + 10.5), "no values", SMALL_TEXT, Anchor::Start, INK);
                y += 20.0;
            }
            Legend::Values(stretch, map) => {
                let height = area.height.max(60.0).min(f64::from(scene.height) - area.y - 40.0);
                // The hours of ends that are days apart have no room.
                let width = stretch.high - stretch.low;
                let is_wide = self.meaning.time.is_some_and(|t| width * t.seconds() > 259_200.0);
                color_bar(
                    scene,
                    (x, y),
                    height,
                    room,
                    (stretch, *map),
                    &|value: f64| {
                        let text = self.text(value);
                        let day = text.split('T').next().filter(|_| is_wide).map(str::to_owned);
                        day.unwrap_or(text)
                    },
                    self.meaning.time.is_some(),
                );
                y += height + 22.0;
            }
            Legend::Channels(channels) => {
                for (name, color) in channels.iter().take((area.height / 20.0).max(1.0) as usize) {
                    scene.rectangle((x, y), (12.0, 12.0), *color);
                    scene.frame((x, y), (12.0, 12.0), FAINT);
                    scene.text(
                        (x + 20.0, y + 10.5),
                        &text::cut(name, SMALL_TEXT, room - 20.0),
                        SMALL_TEXT,
                        Anchor::Start,
                        INK,
                    );
                    y += 20.0;
                }
            }
        }
        if shown.has_missing {
            scene.rectangle((x, y), (12.0, 12.0), MISSING);
            scene.frame((x, y), (12.0, 12.0), FAINT);
            scene.text((x + 20.0, y + 10.5), "missing", SMALL_TEXT, Anchor::Start, INK);
        }
    }
}

/// Where the middle of an element is along an axis, from 0 to 1.
fn place_along(at: f64, len: u64) -> f64 {
    (at + 0.5) / len.max(1) as f64
}

/// How large a picture of this many elements is drawn in a room: `aspect` times as high as wide each, or if that is not known squares,
/// unless that makes a strip of it; several pixels each where there are few.
fn drawn_size(
    (across, down): (u64, u64),
    aspect: Option<f64>,
    (width, height): (f64, f64),
) -> (f64, f64) {
    let most = if aspect.is_some() { MAX_KNOWN_RATIO } else { MAX_RATIO };
    let (across, down) = (across.max(1) as f64, down.max(1) as f64 * aspect.unwrap_or(1.0));
    if !(1.0 / most..=most).contains(&(across / down)) {
        return (width.floor(), height.floor());
    }
    let by = (width / across).min(height / down);
    let by = if by >= 3.0 && aspect.is_none_or(|aspect| aspect == 1.0) { by.floor() } else { by };
    ((across * by).round().max(1.0), (down * by).round().max(1.0))
}

/// A colour bar with round numbers, and its ends: with `≤` or `≥` where values are beyond.
fn color_bar(
    scene: &mut Scene,
    (x, y): (f64, f64),
    height: f64,
    room: f64,
    (stretch, map): (&Stretch, ColorMap),
    number: &dyn Fn(f64) -> String,
    is_time: bool,
) {
    let colors = (0..=255).rev().flat_map(|index| {
        let [r, g, b] = map.color(index);
        [r, g, b, 255]
    });
    let raster = Raster { width: 1, height: 256, rgba: colors.collect() };
    scene.add(Item::Picture { x, y, width: 18.0, height, raster });
    scene.frame((x, y), (18.0, height), FAINT);
    let mut mark = |place: f64, text: &str| {
        let y = y + (1.0 - place) * height;
        scene.rectangle((x + 19.0, y.min(y.floor())), (4.0, 1.0), FAINT);
        scene.text(
            (x + 27.0, y + 4.5),
            &text::cut(text, SMALL_TEXT, room - 27.0),
            SMALL_TEXT,
            Anchor::Start,
            INK,
        );
    };
    if stretch.low == stretch.high {
        return mark(0.5, &number(stretch.low));
    }
    mark(0.0, &format!("{}{}", sign_of_cut(stretch.is_cut_below, "≤"), number(stretch.low)));
    mark(1.0, &format!("{}{}", sign_of_cut(stretch.is_cut_above, "≥"), number(stretch.high)));
    if is_time {
        return;
    }
    let count = (height / 45.0).clamp(1.0, 8.0) as usize;
    let (values, texts) = numbers_and_texts(stretch, count, usize::MAX);
    let mut last = 0.0;
    for (value, text) in values.into_iter().zip(texts) {
        let place = stretch.place(value).unwrap_or(0.0);
        let apart = 17.0 / height;
        if place - last >= apart && 1.0 - place >= apart {
            mark(place, &text);
            last = place;
        }
    }
}

/// The sign at an end of the bar beyond which there are values.
fn sign_of_cut(is_cut: bool, sign: &str) -> String {
    if is_cut { format!("{sign} ") } else { String::new() }
}

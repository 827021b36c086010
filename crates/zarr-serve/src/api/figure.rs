//! Draws a figure of a plane or a line, as `zarr plot` does.

use zarr_plot::picture::{
    Along, ChannelChoice, ChannelName, ColorMap, Ends, Overlay, PictureError, Style, Subject,
    USUAL_OPACITY, View,
};

use super::parameters::{self, Stepped};
use super::{Answered, Refusal};
use crate::{Answer, Question, Targets};

/// Bytes that a pixel takes while a figure is made: its value, the values in order, its colour, in the figure, encoded.
const PER_PIXEL: u64 = 32;
/// More bytes are not held of the elements that pixels are made of.
const SLAB: u64 = 64 << 20;
/// Pixels of a figure, if nothing else is asked for, and the most of each side.
const USUAL: (u32, u32) = (1000, 720);
const MAX_SIDE_PIXELS: u32 = 4000;
/// The most planes of channels that are there at once.
const MAX_PLANES: u64 = 32;
/// The most windows and the most colours of channels.
const MAX_CHOICES: usize = 64;

/// A PNG with title, axes and colour bar; with `bare=1` one pixel for an element, the first row at the top.
///
/// Parameters: `path`; `x`, `y`, `at`, `across`, `down` as for a slice, a line with no `y` if `line=1`; `map`, `range`, `log=1`, `labels=1`, `window`,
/// `channels`, `coast=1` as the options of `zarr plot`, `window` once for each channel; `color`: `0=ff00ff`, once for each channel; `overlay`: the
/// node of labels, and their `opacity`; `size`: `1000x720`.
pub(crate) fn plot(question: &Question, targets: &Targets) -> Answered {
    let (array, kept) = parameters::elements(question, targets)?;
    let at = parameters::at(question, &array)?;
    let shape = array.shape();
    let subject = Subject::of(array.clone(), false).map_err(Refusal::picture)?;
    let subject = Subject { array: kept, ..subject };
    let x = parameters::axis(question, "x", &array)?;
    let y = parameters::axis(question, "y", &array)?;
    let all = at.iter().map(|&index| Along::one(index)).collect();
    let mut view =
        View::of(&subject.axes, all, (x, y), !is_on(question, "line")).map_err(Refusal::picture)?;
    if is_on(question, "line") {
        view.y = None;
    }
    let style = style(question, targets)?;
    let size = size(question)?;
    // Of long axes no more elements are read than there are pixels.
    let mut cost = Vec::new();
    for (axis, part) in [
        Stepped::along(question, "across", view.x, &shape)?,
        Stepped::along(question, "down", view.y, &shape)?,
    ]
    .into_iter()
    .flatten()
    {
        view.along[axis] =
            Along { start: part.range.start, step: part.step as i64, len: part.len() };
        let step = if is_on(question, "bare") || view.y.is_none() {
            part.step
        } else {
            part.step.saturating_mul((part.len() / u64::from(size.0)).max(1))
        };
        cost.push((axis, Stepped { step, ..part }));
    }
    if let Some(axis) =
        subject.channel_axis(&view).filter(|_| subject.shows_channels(&view, &style))
    {
        view.along[axis] = Along::all(shape[axis]);
    }
    let cost: Vec<(usize, &Stepped)> = cost.iter().map(|(axis, part)| (*axis, part)).collect();
    parameters::check_cost(&array, &cost)?;
    let planes = match &style.overlay {
        Some(overlay) => {
            check_overlay(overlay, &subject, &view, (!is_on(question, "bare")).then_some(size))?;
            1
        }
        None => 0,
    };
    question.reserve(memory(&view, size, is_on(question, "bare"), planes))?;
    let is_upwards = subject.is_upwards(&view);
    let png = if is_on(question, "bare") {
        let shown = subject.show(&view, &style, None).map_err(Refusal::picture)?;
        shown.raster.to_png()
    } else if view.is_line() {
        let figure = subject.line_figure(&view, &style, size).map_err(Refusal::picture)?;
        figure.to_png()
    } else {
        let size = question.get("size").map(|_| size);
        let figure = subject.figure(&view, &style, is_upwards, size).map_err(Refusal::picture)?;
        figure.to_png()
    };
    Ok(Answer::new("image/png", png.map_err(Refusal::picture)?))
}

/// Refuses labels over a view that are in too many bytes of chunks. `size` is that of the figure.
fn check_overlay(
    Overlay { labels, .. }: &Overlay,
    subject: &Subject,
    view: &View,
    size: Option<(u32, u32)>,
) -> Result<(), Refusal> {
    let over = labels.view_over(subject, view).map_err(Refusal::picture)?;
    let smaller = size.map(|(width, height)| labels.smaller(&over, (width.into(), height.into())));
    let smaller = smaller.transpose().map_err(Refusal::picture)?.flatten();
    let (labels, over) =
        smaller.as_ref().map_or((&**labels, &over), |(labels, over)| (labels, over));
    let shown = [over.x, over.y].into_iter().flatten();
    let along = shown.map(|axis| {
        let Along { start, step, len } = over.along[axis];
        let step = step.unsigned_abs().max(1);
        let end = start.saturating_add(step.saturating_mul(len.saturating_sub(1)));
        let thinned = size.map_or(1, |(width, _)| (len / u64::from(width)).max(1));
        (axis, Stepped { range: start..end.saturating_add(1), step: step.saturating_mul(thinned) })
    });
    let along: Vec<(usize, Stepped)> = along.collect();
    let along: Vec<(usize, &Stepped)> = along.iter().map(|(axis, part)| (*axis, part)).collect();
    parameters::check_decoded(&labels.array, &along)
}

/// Bytes that a figure takes while it is made, with this many planes besides. Of colours all planes are there at once.
pub(super) fn memory(view: &View, size: (u32, u32), is_bare: bool, more: u64) -> u64 {
    let shown = shown_along(view, view.x).saturating_mul(shown_along(view, view.y));
    let others = view.along.iter().map(|along| along.len).fold(1, u64::saturating_mul);
    let planes = (others / shown.max(1)).clamp(1, MAX_PLANES) + more;
    let pixels = u64::from(size.0) * u64::from(size.1);
    let pixels = if is_bare { shown } else { pixels };
    let read = shown.saturating_mul(16).min(SLAB);
    pixels.saturating_mul(PER_PIXEL + 8 * (planes - 1)).saturating_add(read)
}

/// How many elements are shown along an axis, 1 without the axis.
fn shown_along(view: &View, axis: Option<usize>) -> u64 {
    axis.map_or(1, |axis| view.along[axis].len)
}

fn style(question: &Question, targets: &Targets) -> Result<Style, Refusal> {
    let all = |name: &'static str| {
        let pairs = question.query.iter().filter(move |(known, _)| known == name);
        pairs.map(|(_, value)| value.as_str()).take(MAX_CHOICES)
    };
    let windows = all("window").map(ChannelChoice::window);
    let choices: Result<Vec<ChannelChoice>, PictureError> =
        windows.chain(all("color").map(ChannelChoice::color)).collect();
    let channels: Option<Result<Vec<ChannelName>, PictureError>> =
        text(question, "channels").map(|text| text.split(',').map(str::parse).collect());
    let channels = channels.transpose().map_err(Refusal::picture)?;
    let overlay =
        text(question, "overlay").map(|path| overlay(question, targets, path)).transpose()?;
    let ends: Option<Ends> =
        text(question, "range").map(str::parse).transpose().map_err(Refusal::picture)?;
    let map: Option<ColorMap> =
        text(question, "map").map(str::parse).transpose().map_err(Refusal::picture)?;
    Ok(Style {
        ends,
        map,
        is_log: is_on(question, "log"),
        is_labels: is_on(question, "labels"),
        channels,
        choices: choices.map_err(Refusal::picture)?,
        overlay,
        has_coast: is_on(question, "coast"),
        ..Style::default()
    })
}

/// Whether a choice of the question is on.
fn is_on(question: &Question, name: &str) -> bool {
    question.get(name) == Some("1")
}

/// A text of the question that is not empty.
fn text<'a>(question: &'a Question, name: &str) -> Option<&'a str> {
    question.get(name).filter(|text| !text.is_empty())
}

/// The labels at a path, over a picture.
fn overlay(question: &Question, targets: &Targets, path: &str) -> Result<Overlay, Refusal> {
    let labels = parameters::array_at(question, targets, path)?;
    let labels = Box::new(Subject::of(labels, false).map_err(Refusal::picture)?);
    let opacity = match question.get("opacity").filter(|text| !text.is_empty()) {
        None => USUAL_OPACITY,
        Some(text) => {
            text.parse().ok().filter(|opacity| (0.0..=1.0).contains(opacity)).ok_or_else(|| {
                Refusal::wrong(format!("`opacity` is `{text}`, and must be from 0 to 1"))
            })?
        }
    };
    Ok(Overlay { labels, opacity })
}

fn size(question: &Question) -> Result<(u32, u32), Refusal> {
    let Some(text) = question.get("size").filter(|text| !text.is_empty()) else { return Ok(USUAL) };
    let sides = text
        .split_once('x')
        .and_then(|(width, height)| width.parse().ok().zip(height.parse().ok()));
    sides
        .filter(|&(width, height)| {
            [width, height].iter().all(|side| (100..=MAX_SIDE_PIXELS).contains(side))
        })
        .ok_or_else(|| {
            Refusal::wrong(format!(
                "`size` is `{text}`, and must be like 1000x720, each from 100 to {MAX_SIDE_PIXELS}"
            ))
        })
}

//! Puts the arrays of a group side by side on one sheet.

use super::figure::{LABEL, SMALL_TEXT, heading};
use super::scene::{Anchor, FAINT, INK, Item, MISSING, PAPER, Scene};
use super::show::Style;
use super::{PictureError, Subject, View, text};

/// The most arrays on a sheet.
pub const MOST_ON_SHEET: usize = 48;

/// The least pixels of an array, across and down.
const CELL: (f64, f64) = (100.0, 100.0);

/// A sheet with a picture or line of each array's usual view, on `size` pixels. What cannot be shown has its reason in its place; also
/// returns what reading failed with.
///
/// # Errors
/// A sheet of nothing.
pub fn sheet(
    title: &str,
    subjects: &[Subject],
    style: &Style,
    size: (u32, u32),
) -> Result<(Scene, Vec<zarr_core::Error>), PictureError> {
    if subjects.is_empty() {
        return Err(PictureError::Refused("there is no array of numbers to show".into()));
    }
    let (width, height) = (f64::from(size.0), f64::from(size.1));
    // As many as have room for a picture and its texts.
    let fits = (width / CELL.0).floor() * ((height - 76.0) / CELL.1).floor();
    let shown = &subjects[..subjects.len().min(MOST_ON_SHEET).min(fits.max(1.0) as usize)];
    let mut scene = Scene::new(size.0, size.1);
    let left_out = subjects.len() - shown.len();
    let count = match left_out {
        0 if shown.len() == 1 => "1 array".to_owned(),
        0 => format!("{} arrays", shown.len()),
        more => format!("{} arrays, {more} more are not shown", shown.len()),
    };
    let top = heading(&mut scene, title, &count);
    // As many columns as make the cells most like squares.
    let room = height - top - 8.0;
    let most = |columns: &usize| {
        let rows = shown.len().div_ceil(*columns);
        let (cell, high) = (width / *columns as f64, room / rows as f64);
        // A cell is a little wider than high.
        -(cell / high / 1.25).ln().abs()
    };
    let columns = (1..=shown.len()).max_by(|a, b| most(a).total_cmp(&most(b))).unwrap_or(1);
    let rows = shown.len().div_ceil(columns);
    let (cell, high) = (width / columns as f64, room / rows as f64);
    let mut failed = Vec::new();
    for (n, subject) in shown.iter().enumerate() {
        let (x, y) =
            (((n % columns) as f64 * cell).round(), (top + (n / columns) as f64 * high).round());
        let place = (x + 18.0, y + 4.0);
        let inner = ((cell - 36.0).floor().max(8.0), (high - 52.0).floor().max(8.0));
        let drawn = thumbnail(&mut scene, subject, style, place, inner);
        let drawn = drawn.unwrap_or_else(|why| {
            scene.frame(place, inner, FAINT);
            let text = text::cut(&why.to_string(), SMALL_TEXT, inner.0 - 16.0);
            scene.text((place.0 + 8.0, place.1 + 20.0), &text, SMALL_TEXT, Anchor::Start, FAINT);
            if let PictureError::Read(error) = why {
                failed.push(error);
            }
            inner.1
        });
        let below = place.1 + drawn + 19.0;
        scene.text(
            (place.0, below),
            &text::cut(&subject.title(), LABEL, inner.0),
            LABEL,
            Anchor::Start,
            INK,
        );
        let shape: Vec<String> = subject
            .axes
            .iter()
            .map(|axis| match &axis.name {
                Some(name) => format!("{name} {}", axis.len),
                None => axis.len.to_string(),
            })
            .collect();
        let about =
            format!("{} · {} · {}", subject.name(), subject.array.data_type(), shape.join(" × "));
        scene.text(
            (place.0, below + 17.0),
            &text::cut(&about, SMALL_TEXT, inner.0),
            SMALL_TEXT,
            Anchor::Start,
            FAINT,
        );
    }
    Ok((scene, failed))
}

/// Returns how high it is.
fn thumbnail(
    scene: &mut Scene,
    subject: &Subject,
    style: &Style,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
) -> Result<f64, PictureError> {
    let view = View::of(&subject.axes, subject.all(), (None, None), false)?;
    let view = subject.at_usual_positions(view);
    if view.is_line() {
        let figure = subject.small_line(&view, (width, height))?;
        scene.rectangle((x, y), (width, height), PAPER);
        scene.frame((x, y), (width, height), FAINT);
        scene.add(Item::Line {
            points: figure.into_iter().map(|(across, down)| (x + across, y + down)).collect(),
            color: [31, 97, 158],
            width: 1.4,
        });
        return Ok(height);
    }
    let (across, down) = view.size();
    let by = (width / across.max(1) as f64).min(height / down.max(1) as f64);
    let is_strip = !(0.2..=5.0).contains(&(across.max(1) as f64 / down.max(1) as f64));
    let size = if is_strip {
        (width, height)
    } else {
        ((across as f64 * by).round().max(1.0), (down as f64 * by).round().max(1.0))
    };
    let at_most = (size.0 as u64, size.1 as u64);
    let shown = match subject.smaller(&view, at_most)? {
        Some((level, view)) => level.show(&view, style, Some(at_most))?,
        None => subject.show(&view, style, Some(at_most))?,
    };
    let raster = if subject.is_upwards(&view) { shown.raster.upside_down() } else { shown.raster };
    scene.rectangle((x, y), size, MISSING);
    if raster.width > 0 && raster.height > 0 {
        scene.add(Item::Picture { x, y, width: size.0, height: size.1, raster });
    }
    scene.frame((x, y), size, FAINT);
    Ok(size.1)
}

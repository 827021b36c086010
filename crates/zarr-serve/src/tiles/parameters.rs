//! Reads the parameters of tiles, in the words of titiler and of xpublish.

use zarr_plot::map::{Layer, Resampling, TILE_SIZE};
use zarr_plot::meaning::Reach;
use zarr_plot::picture::ColorMap;

use super::Refusal;
use crate::Question;

/// Pixels of a tile's side.
const SIDES: std::ops::RangeInclusive<u32> = 16..=1_024;

/// Parameters that are no names of axes.
const RESERVED: [&str; 14] = [
    "variable",
    "variables",
    "sel",
    "rescale",
    "colorscalerange",
    "colormap_name",
    "style",
    "styles",
    "tilesize",
    "width",
    "height",
    "resampling",
    "f",
    "crs",
];

/// A parameter that says something.
fn text<'a>(question: &'a Question, name: &str) -> Option<&'a str> {
    question.get(name).map(str::trim).filter(|text| !text.is_empty())
}

/// A position on each axis: by `sel=time=nearest::2020-01-01` (titiler), or `time=nearest::2020-01-01` (xpublish); else the first.
pub(super) fn positions(question: &Question, layer: &Layer) -> Result<Vec<u64>, Refusal> {
    let subject = layer.subject();
    let (x, y) = layer.plane();
    let mut positions = vec![0; subject.axes.len()];
    if let Some(axis) = subject.axes.iter().position(|axis| axis.len == 0) {
        return Err(Refusal::wrong(format!("the array has no elements: axis {axis} has length 0")));
    }
    let names = || subject.axes.iter().map(|axis| axis.name.as_deref());
    for (name, value) in &question.query {
        let (name, value) = match (name.as_str(), value.split_once('=')) {
            ("sel", Some((name, value))) => (name, value),
            ("sel", None) => {
                let why = format!("`sel` is `{value}`, and must be like `time=2020-01-01`");
                return Err(Refusal::Wrong(why));
            }
            (name, _) if RESERVED.contains(&name) || !names().any(|it| it == Some(name)) => {
                continue;
            }
            (name, _) => (name, value.as_str()),
        };
        let Some(axis) = names().position(|it| it == Some(name)) else {
            let known: Vec<&str> = names().flatten().collect();
            let why = format!("`sel` names the axis `{name}`; the array has {}", known.join(", "));
            return Err(Refusal::Wrong(why));
        };
        if axis == x || axis == y {
            let why = format!("`{name}` is an axis of the map, and cannot be selected");
            return Err(Refusal::Wrong(why));
        }
        positions[axis] = position(subject, axis, name, value)?;
    }
    Ok(positions)
}

fn position(
    subject: &zarr_plot::picture::Subject,
    axis: usize,
    name: &str,
    value: &str,
) -> Result<u64, Refusal> {
    let (method, value) = value.split_once("::").unwrap_or(("exact", value));
    let axis = &subject.axes[axis];
    if !axis.has_coordinates() {
        let index = value.trim().parse::<u64>().ok().filter(|&index| index < axis.len);
        return index.ok_or_else(|| {
            Refusal::wrong(format!(
                "`{name}` has no coordinates: select a position from 0 to {}, not `{value}`",
                axis.len.saturating_sub(1)
            ))
        });
    }
    let reach = match method {
        "nearest" => Reach::Any,
        "exact" => Reach::HalfStep,
        other => {
            let why = format!(
                "`{name}` has the unknown method `{other}`; expected `nearest::` or `exact::`"
            );
            return Err(Refusal::Wrong(why));
        }
    };
    let (found, other) = axis.select(value, reach)?;
    if let Some(other) = other.filter(|_| method == "exact") {
        let why = format!("no coordinate of `{name}` is {value}; `nearest::{value}` takes {other}");
        return Err(Refusal::Wrong(why));
    }
    if found.is_empty() {
        return Err(Refusal::wrong(format!("no coordinate of `{name}` is {value}")));
    }
    Ok(found.at(0))
}

/// Pixels across and down: `tilesize`, or `width` and `height`.
pub(super) fn size(question: &Question) -> Result<(u32, u32), Refusal> {
    let both = side(question, "tilesize")?;
    let (width, height) = (side(question, "width")?.or(both), side(question, "height")?.or(both));
    let (width, height) = (width.or(height), height.or(width));
    Ok((width.unwrap_or(TILE_SIZE), height.unwrap_or(TILE_SIZE)))
}

/// The length of a side, if it is given.
fn side(question: &Question, name: &str) -> Result<Option<u32>, Refusal> {
    let Some(text) = text(question, name) else { return Ok(None) };
    let found = text.parse().ok().filter(|side| SIDES.contains(side));
    found.map(Some).ok_or_else(|| {
        Refusal::wrong(format!(
            "`{name}` is `{text}`, and must be from {} to {}",
            SIDES.start(),
            SIDES.end()
        ))
    })
}

/// How elements become pixels: `nearest`, `bilinear`, or `mean`, which titiler calls `average`.
pub(super) fn resampling(question: &Question) -> Result<Resampling, Refusal> {
    match text(question, "resampling") {
        None | Some("nearest") => Ok(Resampling::Nearest),
        Some("bilinear") => Ok(Resampling::Bilinear),
        Some("mean" | "average") => Ok(Resampling::Mean),
        Some(other) => Err(Refusal::wrong(format!(
            "`resampling` is `{other}`, and must be nearest, bilinear or mean"
        ))),
    }
}

/// The values of the first and the last colour: `rescale=0,300` (titiler), `colorscalerange=0,300` (xpublish); `auto` for none.
pub(super) fn range(question: &Question) -> Result<Option<(f64, f64)>, Refusal> {
    let named = ["rescale", "colorscalerange"]
        .into_iter()
        .find_map(|name| text(question, name).map(|text| (name, text)));
    let Some((name, text)) = named.filter(|(_, text)| *text != "auto") else { return Ok(None) };
    let ends = text.split_once(',').and_then(|(low, high)| number(low).zip(number(high)));
    let ends = ends.filter(|(low, high)| low <= high);
    ends.map(Some).ok_or_else(|| {
        Refusal::wrong(format!(
            "`{name}` is `{text}`, and must be two numbers, the lower one first: `0,300`"
        ))
    })
}

/// A finite number.
fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// The colours: `colormap_name=viridis` (titiler), `style=raster/viridis` (xpublish).
pub(super) fn color_map(question: &Question) -> Result<Option<ColorMap>, Refusal> {
    let of_style = ["style", "styles"].into_iter().find_map(|name| text(question, name));
    let of_style = match of_style.map(|style| style.split_once('/').unwrap_or(("raster", style))) {
        None | Some((_, "default")) => None,
        Some(("raster", name)) => Some(name),
        Some((kind, _)) => {
            return Err(Refusal::wrong(format!(
                "there is no style `{kind}`; the only one is `raster`"
            )));
        }
    };
    let name = text(question, "colormap_name").or(of_style);
    let map = name.map(str::parse).transpose();
    map.map_err(|error: zarr_plot::picture::PictureError| Refusal::Wrong(error.to_string()))
}

/// Refuses other formats than PNG.
pub(super) fn check_format(question: &Question) -> Result<(), Refusal> {
    match text(question, "f") {
        None | Some("png" | "image/png" | "image") => Ok(()),
        Some(other) => Err(Refusal::wrong(format!("tiles are PNG (`f=png`), and not `{other}`"))),
    }
}

/// The query that a document hands on to tiles: what was asked for, with the range in the place of what it may be told by.
pub(super) fn handed_on(question: &Question, range: Option<(f64, f64)>) -> String {
    let kept = question.query.iter().filter(|(name, value)| {
        !["f", "rescale", "colorscalerange"].contains(&name.as_str()) && !value.is_empty()
    });
    let kept = kept.map(|(name, value)| (name.clone(), value.clone()));
    let range = range.map(|(low, high)| ("rescale".to_owned(), format!("{low},{high}")));
    let pairs: Vec<String> = kept
        .chain(range)
        .map(|(name, value)| format!("{}={}", encoded(&name), encoded(&value)))
        .collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

fn encoded(text: &str) -> String {
    // What may stand for itself in a query is left readable.
    crate::encoded(text).replace("%3A", ":").replace("%2C", ",").replace("%2F", "/")
}

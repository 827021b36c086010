//! Describes plates, their wells and fields, and makes small pictures of images.

use zarr::{Array, Group, Json, Node, Object};
use zarr_plot::meaning::{Field, Image, Plate, fields_of_well};
use zarr_plot::picture::{Along, ChannelChoice, ChannelName, Ends, Style, Subject, View};

use super::parameters::{self, Stepped};
use super::{Answered, Refusal, figure};
use crate::{Answer, Question, Targets};

/// Pixels along the longer side of a small picture: if nothing else is asked for, at least, and at most.
const USUAL_SIDE: u64 = 96;
const SIDES: std::ops::RangeInclusive<u64> = 16..=512;

/// What a group's own metadata say of a plate or a well, as members of `node`: `plate`, `{"rows", "columns", "wells", "fields",
/// "acquisitions"}`, how many there are; `fields`, those of a well.
pub(super) fn members(group: &Group) -> Object {
    let mut object = Object::new();
    if let Some(plate) = Plate::of_group(group) {
        let counts = Object::new()
            .with("rows", plate.rows.len() as u64)
            .with("columns", plate.columns.len() as u64)
            .with("wells", plate.wells.len() as u64)
            .with("fields", plate.field_count.map_or(Json::Null, Json::from))
            .with("acquisitions", plate.acquisitions.len() as u64);
        object.insert("plate", counts);
    }
    if let Some(found) = fields_of_well(group) {
        object.insert("fields", fields(&found));
    }
    object
}

fn fields(fields: &[Field]) -> Json {
    fields.iter().map(Field::to_json).collect()
}

/// A plate: `{"name", "rows", "columns", "acquisitions": [{"id", "name"}], "wells": [{"path", "row", "column", "fields": [{"path",
/// "acquisition"}]}], "windows"}`. `windows` are those of the first field that can be shown, as [`thumbnail`] takes them, so that
/// equal values look the same in all wells.
///
/// Parameter: `path`.
pub(crate) fn plate(question: &Question, targets: &Targets) -> Answered {
    let group = parameters::node(question, targets)?.0.into_group()?;
    let Some(plate) = Plate::of_group(&group) else {
        return Err(Refusal::wrong(format!("{} is not an OME-Zarr plate", group.path())));
    };
    let all = plate.fields(&group, Some(&question.cancel))?;
    let wells = plate.wells.iter().zip(&all);
    let wells = wells.map(|(well, found)| Json::from(well.members().with("fields", fields(found))));
    let wells: Json = wells.collect();
    let first = plate
        .wells
        .iter()
        .zip(&all)
        .find_map(|(well, found)| Some(format!("{}/{}", well.path, found.first()?.path)));
    let windows = first.and_then(|path| windows(question, &group, &path));
    let windows = windows.map_or(Json::Null, Json::from);
    let object = plate.members().with("wells", wells).with("windows", windows);
    Ok(Answer::json(object))
}

/// The windows of a field, `0:100:900,1:5:80`; nothing if it cannot be shown.
fn windows(question: &Question, plate: &Group, path: &str) -> Option<String> {
    let group = plate.hierarchy().group(&plate.path().join(path).ok()?).ok()?;
    let (subject, view) = small(question, Node::Group(group), USUAL_SIDE).ok()?;
    let found = subject.windows(&view, Some((USUAL_SIDE, USUAL_SIDE))).ok()?;
    let texts = found.iter().map(|(n, low, high)| format!("{n}:{low}:{high}"));
    Some(texts.collect::<Vec<_>>().join(",")).filter(|text| !text.is_empty())
}

/// A PNG of an image, at most `size` pixels along each side, of the level that fits: channels in their colours, at the first position
/// along the other axes that the image is shown at.
///
/// Parameters: `path` of an image's group, or of an array; `size`; `windows`: `0:100:900,1:5:80`, the ends of channels, or of an image
/// without channels with the number 0.
pub(crate) fn thumbnail(question: &Question, targets: &Targets) -> Answered {
    let side = parameters::number(question, "size")?.unwrap_or(USUAL_SIDE);
    if !SIDES.contains(&side) {
        return Err(Refusal::wrong(format!(
            "`size` is {side}, and must be from {} to {}",
            SIDES.start(),
            SIDES.end()
        )));
    }
    let (subject, view) = small(question, parameters::node(question, targets)?.0, side)?;
    let windows = chosen_windows(question)?;
    let mut style = Style::default();
    if subject.channel_axis(&view).is_some_and(|_| subject.shows_channels(&view, &style)) {
        style.choices = windows
            .into_iter()
            .map(|(n, ends)| ChannelChoice {
                name: ChannelName(n.to_string()),
                window: Some(ends),
                color: None,
            })
            .collect();
    } else {
        style.ends = windows.first().map(|(_, ends)| *ends);
    }
    let shown = subject.show(&view, &style, Some((side, side))).map_err(Refusal::picture)?;
    Ok(Answer::new("image/png", shown.raster.to_png().map_err(Refusal::picture)?))
}

fn chosen_windows(question: &Question) -> Result<Vec<(usize, Ends)>, Refusal> {
    let Some(text) = question.get("windows").filter(|text| !text.is_empty()) else {
        return Ok(Vec::new());
    };
    let parsed = text.split(',').map(|part| {
        let mut numbers = part.splitn(3, ':');
        let n = numbers.next()?.parse().ok()?;
        let low: f64 = numbers.next()?.parse().ok()?;
        let high: f64 = numbers.next()?.parse().ok()?;
        (low < high).then_some((n, Ends::Limits(low, high)))
    });
    parsed.collect::<Option<Vec<_>>>().ok_or_else(|| {
        Refusal::wrong(format!(
            "`windows` is `{text}`, and must be like `0:100:900,1:5:80`, the lower end first"
        ))
    })
}

/// An image at its smallest level that has `side` elements along each side, as it is shown at first.
fn small(question: &Question, node: Node, side: u64) -> Result<(Subject, View), Refusal> {
    let array =
        image_of(node)?.with_options(|options| options.cancel = Some(question.cancel.clone()));
    let subject = Subject::of(array, false).map_err(Refusal::picture)?;
    let view = subject.first().filter(|view| view.y.is_some()).ok_or_else(|| {
        Refusal::wrong(format!("{} is not shown as a picture", subject.array.path()))
    })?;
    let mixed =
        subject.channel_axis(&view).filter(|_| subject.shows_channels(&view, &Style::default()));
    let mut view = view;
    for n in 0..view.along.len() {
        if ![view.x, view.y, mixed].contains(&Some(n)) {
            view.along[n] = Along::one(view.along[n].start);
        }
    }
    let smaller = subject.smaller(&view, (side, side)).map_err(Refusal::picture)?;
    let (subject, view) = match smaller {
        Some((level, view)) => {
            let array =
                level.array.with_options(|options| options.cancel = Some(question.cancel.clone()));
            (Subject { array, ..level }, view)
        }
        None => (subject, view),
    };
    let mut cost = Vec::new();
    for axis in [view.x, view.y].into_iter().flatten() {
        let len = view.along[axis].len;
        cost.push((axis, Stepped { range: 0..len, step: (len / side).max(1) }));
    }
    let cost: Vec<(usize, &Stepped)> = cost.iter().map(|(axis, part)| (*axis, part)).collect();
    parameters::check_cost(&subject.array, &cost)?;
    let side = u32::try_from(side).unwrap_or(u32::MAX);
    question.reserve(figure::memory(&view, (side, side), false, 0))?;
    Ok((subject, view))
}

/// The array of a node: itself, or the largest level of the image that a group is.
fn image_of(node: Node) -> Result<Array, Refusal> {
    let group = match node {
        Node::Array(array) => return Ok(array),
        Node::Group(group) => group,
    };
    let images = Image::of_group(&group);
    let Some(level) = images.first().and_then(|image| image.levels.first()) else {
        return Err(Refusal::wrong(format!("{} is not an OME-Zarr image", group.path())));
    };
    Ok(group.hierarchy().array(&group.path().join(&level.path)?)?)
}

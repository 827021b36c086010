//! Gives lines of an array, single elements, and tables of their texts.

use zarr::{Json, Object};
use zarr_plot::meaning::{Meaning, MissingRule, axes_of};
use zarr_plot::picture::{Along, Subject, View};

use super::parameters::{self, Stepped};
use super::plane::PER_ELEMENT;
use super::{Answered, Refusal, text};
use crate::{Answer, Question, Targets};

/// The most points of a line; of longer ones each is the lowest and the highest of several elements.
const POINTS: u64 = 2000;
/// The most texts of a table.
const CELLS: u64 = 10_000;
/// Bytes that a cell takes: the element, its text, in the answer.
const PER_CELL: u64 = 1 << 10;
/// More bytes are not held of a line.
const SLAB: u64 = 64 << 20;

/// A number in JSON; `null` for NaN.
pub(crate) fn json(value: f64) -> Json {
    if value.is_nan() { Json::Null } else { Json::from(value) }
}

/// The values along an axis, decoded: `{"from", "step", "low", "high"}`; `null` where they are missing. Of times `dates` has the
/// dates of `low`.
///
/// Parameters: `path`, `axis`, `at`: an index for each axis, the axis' own has no effect; `from`, `to`.
pub(crate) fn line(question: &Question, targets: &Targets) -> Answered {
    let (array, kept) = parameters::elements(question, targets)?;
    let at = parameters::at(question, &array)?;
    let axis = parameters::axis(question, "axis", &array)?
        .ok_or_else(|| Refusal::wrong("the parameter `axis` is missing"))?;
    let len = array.shape()[axis];
    let from = parameters::number(question, "from")?.unwrap_or(0);
    let to = parameters::number(question, "to")?.unwrap_or(len);
    if from >= to || to > len {
        return Err(Refusal::wrong(format!(
            "{from} to {to} is out of range for an axis of length {len}"
        )));
    }
    let along = Stepped { range: from..to, step: 1 };
    parameters::check_decoded(&array, &[(axis, &along)])?;
    question.reserve((to - from).saturating_mul(PER_ELEMENT).min(SLAB))?;
    let subject = Subject { array: kept, ..Subject::of(array, false).map_err(Refusal::picture)? };
    let mut view =
        View { along: at.iter().map(|&index| Along::one(index)).collect(), x: Some(axis), y: None };
    view.along[axis] = Along { start: from, step: 1, len: to - from };
    let found = subject.line(&view, POINTS).map_err(Refusal::picture)?;
    let mut object = Object::new()
        .with("from", from)
        .with("step", found.block)
        .with("low", numbers(&found.low))
        .with("high", numbers(&found.high));
    if let Some(units) = subject.meaning.time {
        let dates = found.low.iter().map(|&value| {
            units.date(value).map_or(Json::Null, |date| Json::from(date.to_string()))
        });
        object.insert("dates", dates.collect::<Json>());
    }
    Ok(Answer::json(object))
}

/// Numbers as a list.
fn numbers(values: &[f64]) -> Json {
    values.iter().map(|&value| json(value)).collect()
}

/// One element: `{"text", "stored", "missing", "coordinates"}`, and `name` if the value has one.
///
/// Parameters: `path`, `at`: an index for each axis.
pub(crate) fn value(question: &Question, targets: &Targets) -> Answered {
    let (array, kept) = parameters::elements(question, targets)?;
    let at = parameters::at(question, &array)?;
    let data_type = array.data_type();
    let meaning = Meaning::of(&array, MissingRule::Declared);
    let bytes = kept.read_bytes(parameters::selection(&array, &at, &[])?)?;
    let elements = text::split(&data_type, &bytes);
    let element = elements.first().copied().unwrap_or_default();
    let shown = text::shown(&data_type, &meaning, element);
    let mut coordinates = Vec::new();
    for (axis, &index) in axes_of(&array)?.iter().zip(&at) {
        let found = axis.read(index..index + 1)?;
        coordinates.push(found.map_or(Json::Null, |found| Json::from(found.text(0))));
    }
    let number = meaning.scalar(&data_type).filter(|scalar| element.len() == scalar.size());
    let name = number.and_then(|scalar| {
        let value = match scalar.load(element) {
            zarr::data_type::ScalarValue::Integer(value) => value as f64,
            zarr::data_type::ScalarValue::Float(value) => value,
        };
        meaning.flags.name(value)
    });
    let mut object = Object::new()
        .with("text", shown.as_deref().unwrap_or("missing"))
        .with("stored", text::stored(&data_type, element))
        .with("missing", shown.is_none())
        .with("coordinates", coordinates);
    if let Some(name) = name {
        object.insert("name", name);
    }
    Ok(Answer::json(object))
}

/// Texts of elements of any type: `{"texts": [[…]]}`, rows along the last axis but one, columns along the last; `null` where they
/// are missing.
///
/// Parameters: `path`, `at`; `down`, `across`: `from:to` along these two axes; an array of one axis has only `down`.
pub(crate) fn table(question: &Question, targets: &Targets) -> Answered {
    let (array, kept) = parameters::elements(question, targets)?;
    let at = parameters::at(question, &array)?;
    let shape = array.shape();
    let (down, across) = match shape.len() {
        0 => (None, None),
        1 => (Some(0), None),
        rank => (Some(rank - 2), Some(rank - 1)),
    };
    let (down, across) = (
        Stepped::along(question, "down", down, &shape)?,
        Stepped::along(question, "across", across, &shape)?,
    );
    let along: Vec<(usize, &Stepped)> =
        [&down, &across].into_iter().flatten().map(|(axis, part)| (*axis, part)).collect();
    let cells = along.iter().map(|(_, part)| part.len()).fold(1, u64::saturating_mul);
    if cells > CELLS {
        return Err(Refusal::TooLarge(format!(
            "a table has at most {CELLS} elements; request fewer rows or columns"
        )));
    }
    let selection = parameters::selection(&array, &at, &along)?;
    question.reserve(cells.saturating_mul(PER_CELL))?;
    let data_type = array.data_type();
    let meaning = Meaning::of(&array, MissingRule::Declared);
    let bytes = kept.read_bytes(selection)?;
    let text =
        |element: &&[u8]| text::shown(&data_type, &meaning, element).map_or(Json::Null, Json::from);
    let texts: Vec<Json> = text::split(&data_type, &bytes).iter().map(text).collect();
    let width = across.as_ref().map_or(1, |(_, part)| part.len() as usize).max(1);
    let rows: Json = texts.chunks(width).map(|row| Json::from(row.to_vec())).collect();
    Ok(Answer::json(Object::new().with("texts", rows)))
}

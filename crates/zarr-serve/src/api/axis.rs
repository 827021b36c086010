//! Gives the coordinates along an axis.

use zarr::{Json, Object};
use zarr_plot::meaning::axes_of;

use super::elements::json;
use super::{Answered, Refusal, parameters};
use crate::{Answer, Question, Targets};

/// The most coordinates of an answer.
const MAX_COORDINATES: u64 = 10_000;

/// Coordinates as texts, decoded, and as numbers where they are some: `{"texts": […], "values": […]}`; `{"texts": null}` if the
/// axis has none.
///
/// Parameters: `path`, `axis`, `from`, `count`.
pub(crate) fn coordinates(question: &Question, targets: &Targets) -> Answered {
    let array = parameters::array(question, targets)?;
    let number = parameters::axis(question, "axis", &array)?
        .ok_or_else(|| Refusal::wrong("the parameter `axis` is missing"))?;
    let len = array.shape()[number];
    let from = parameters::number(question, "from")?.unwrap_or(0).min(len);
    let count = parameters::number(question, "count")?
        .unwrap_or(MAX_COORDINATES)
        .min(MAX_COORDINATES)
        .min(len - from);
    let axes = axes_of(&array)?;
    let found = match axes.get(number) {
        Some(axis) if count > 0 => axis.read(from..from + count)?,
        _ => None,
    };
    let Some(found) = found else {
        return Ok(Answer::json(Object::new().with("texts", Json::Null)));
    };
    let texts: Json = (0..count as usize).map(|at| Json::from(found.text(at))).collect();
    let values = found
        .texts
        .is_none()
        .then(|| found.numbers.iter().map(|&value| json(value)).collect::<Json>());
    Ok(Answer::json(
        Object::new().with("texts", texts).with("values", values.unwrap_or(Json::Null)),
    ))
}

//! Reads the parameters of questions, and bounds what they ask for.

use std::ops::Range;
use std::sync::Arc;

use zarr::{AccessError, Array, Error, Node, steps};
use zarr::{AxisSelection, Selection};

use super::Refusal;
use crate::{Question, Served, Targets};

/// The most elements in an answer.
pub(crate) const MOST_ELEMENTS: u64 = 16 << 20;
/// The most bytes of chunks that are decoded for an answer.
pub(crate) const MOST_DECODED: u64 = 1 << 30;

/// The node that the parameter `path` names, and its hierarchy.
pub(crate) fn node(question: &Question, targets: &Targets) -> Result<(Node, Arc<Served>), Refusal> {
    let path =
        question.get("path").ok_or_else(|| Refusal::wrong("the parameter `path` is missing"))?;
    node_at(targets, path)
}

/// The node of a name and path, and its hierarchy.
fn node_at(targets: &Targets, path: &str) -> Result<(Node, Arc<Served>), Refusal> {
    let path = path.trim_matches('/');
    let (served, inside) = targets.find(path)?.ok_or_else(|| {
        Error::from(AccessError::NotFound {
            looked_for: format!("`{path}`; /-/targets lists what is served"),
        })
    })?;
    Ok((served.node(format!("/{inside}"))?, served))
}

/// The array that the parameter `path` names, whose reads end when the question is cancelled.
pub(crate) fn array(question: &Question, targets: &Targets) -> Result<Array, Refusal> {
    let (node, _) = node(question, targets)?;
    Ok(cancelled(question, &node.into_array()?))
}

/// As [`array`], for a name and path.
pub(crate) fn array_at(
    question: &Question,
    targets: &Targets,
    path: &str,
) -> Result<Array, Refusal> {
    let (node, _) = node_at(targets, path)?;
    Ok(cancelled(question, &node.into_array()?))
}

/// As [`array`]; and the same array, for reading elements: its decoded chunks are kept for the next answers.
pub(crate) fn elements(question: &Question, targets: &Targets) -> Result<(Array, Array), Refusal> {
    let (node, served) = node(question, targets)?;
    let array = node.into_array()?;
    let kept = targets.warm.array(&served, &array);
    Ok((cancelled(question, &array), cancelled(question, &kept)))
}

/// An array whose reads end when the question is cancelled.
fn cancelled(question: &Question, array: &Array) -> Array {
    array.with_options(|options| options.cancel = Some(question.cancel.clone()))
}

/// A whole number.
pub(crate) fn number(question: &Question, name: &str) -> Result<Option<u64>, Refusal> {
    let Some(text) = question.get(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let found = text
        .parse()
        .map_err(|_| Refusal::wrong(format!("`{name}` is not an integer: `{text}`")))?;
    Ok(Some(found))
}

/// The number of an axis.
pub(crate) fn axis(
    question: &Question,
    name: &str,
    array: &Array,
) -> Result<Option<usize>, Refusal> {
    let Some(axis) = number(question, name)? else { return Ok(None) };
    let rank = array.rank();
    match usize::try_from(axis) {
        Ok(axis) if axis < rank => Ok(Some(axis)),
        _ => Err(Refusal::wrong(format!("`{name}` is {axis}, and the array has {rank} axes"))),
    }
}

/// The indices `at`, one for each axis, which are within the array; 0 where nothing is given.
pub(crate) fn at(question: &Question, array: &Array) -> Result<Vec<u64>, Refusal> {
    let shape = array.shape();
    if let Some(axis) = shape.iter().position(|&len| len == 0) {
        return Err(Refusal::wrong(format!("the array has no elements: axis {axis} has length 0")));
    }
    let Some(text) = question.get("at").filter(|text| !text.is_empty()) else {
        return Ok(vec![0; shape.len()]);
    };
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() != shape.len() {
        let why =
            format!("`at` has {} indices, and the array has {} axes", parts.len(), shape.len());
        return Err(Refusal::wrong(why));
    }
    parts
        .iter()
        .enumerate()
        .map(|(n, part): (usize, &&str)| match part.parse::<u64>() {
            Ok(index) if index < shape[n] => Ok(index),
            Ok(index) => Err(Refusal::wrong(format!(
                "`at` is {index} on axis {n}, which has length {}",
                shape[n]
            ))),
            Err(_) if part.is_empty() => Ok(0),
            Err(_) => Err(Refusal::wrong(format!("`at` has `{part}`, which is not an index"))),
        })
        .collect()
}

/// Every `step`th index of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stepped {
    pub range: Range<u64>,
    pub step: u64,
}

impl Stepped {
    /// `from:to` or `from:to:step` along an axis; the whole axis if nothing is given.
    pub fn of(question: &Question, name: &str, len: u64) -> Result<Stepped, Refusal> {
        let Some(text) = question.get(name).filter(|text| !text.is_empty()) else {
            return Ok(Stepped { range: 0..len, step: 1 });
        };
        let parts: Option<Vec<u64>> = text.split(':').map(|part| part.parse().ok()).collect();
        let (range, step) = match parts.ok_or_else(|| Stepped::refusal(name, text, len))?[..] {
            [from, to] => (from..to, 1),
            [from, to, step] => (from..to, step),
            _ => return Err(Stepped::refusal(name, text, len)),
        };
        let is_good =
            range.start < range.end && range.end <= len && 0 < step && i64::try_from(step).is_ok();
        if is_good { Ok(Stepped { range, step }) } else { Err(Stepped::refusal(name, text, len)) }
    }

    fn refusal(name: &str, text: &str, len: u64) -> Refusal {
        Refusal::wrong(format!("`{name}` is `{text}`, and must be like `0:{len}` or `0:{len}:1`"))
    }

    /// As [`Self::of`], along an axis if there is one.
    pub fn along(
        question: &Question,
        name: &str,
        axis: Option<usize>,
        shape: &[u64],
    ) -> Result<Option<(usize, Stepped)>, Refusal> {
        let Some(axis) = axis else { return Ok(None) };
        Ok(Some((axis, Stepped::of(question, name, shape[axis])?)))
    }

    /// How many indices there are.
    pub fn len(&self) -> u64 {
        (self.range.end - self.range.start).div_ceil(self.step)
    }

    fn selection(&self) -> AxisSelection {
        steps(self.range.clone(), self.step as i64)
    }
}

/// The elements at `at`, but for some axes, along which more is read.
pub(crate) fn selection(
    array: &Array,
    at: &[u64],
    along: &[(usize, &Stepped)],
) -> Result<Selection, Refusal> {
    check_cost(array, along)?;
    Ok(Selection::outer(at.iter().enumerate().map(|(n, &index)| {
        let found = along.iter().find(|(axis, _)| *axis == n);
        found.map_or(AxisSelection::Index(index), |(_, stepped)| stepped.selection())
    })))
}

/// Refuses what has too many elements, or is in too many bytes of chunks.
pub(crate) fn check_cost(array: &Array, along: &[(usize, &Stepped)]) -> Result<(), Refusal> {
    let count = along.iter().map(|(_, stepped)| stepped.len()).fold(1, u64::saturating_mul);
    if count > MOST_ELEMENTS {
        let why = format!(
            "{count} elements are more than the {MOST_ELEMENTS} of one response; request a part, or fewer with a larger step"
        );
        return Err(Refusal::TooLarge(why));
    }
    check_decoded(array, along)
}

/// Refuses what is in too many bytes of chunks.
pub(crate) fn check_decoded(array: &Array, along: &[(usize, &Stepped)]) -> Result<(), Refusal> {
    let metadata = array.metadata();
    let inner = zarr::ArrayMetadata::clone(&metadata).unsharded();
    let Some(chunk) = inner.chunk_shape() else { return Ok(()) };
    let elements = chunk
        .iter()
        .enumerate()
        .map(|(n, &chunk)| {
            let chunk = chunk.max(1);
            let stepped = along.iter().find(|(axis, _)| *axis == n).map(|(_, stepped)| stepped);
            let chunks = stepped.map_or(1, |stepped| {
                let (first, last) = (stepped.range.start / chunk, (stepped.range.end - 1) / chunk);
                (last - first + 1).min(stepped.len())
            });
            // Edge chunks have elements that are no array's.
            chunks.saturating_mul(chunk)
        })
        .fold(1, u64::saturating_mul);
    let size = metadata.data_type.repr().map_or(1, |repr| repr.size().max(1) as u64);
    if elements.saturating_mul(size) > MOST_DECODED {
        let why = format!(
            "the chunks that this touches have {} MiB, more than the {} MiB that are decoded for one response; request a smaller part",
            elements.saturating_mul(size) >> 20,
            MOST_DECODED >> 20
        );
        return Err(Refusal::TooLarge(why));
    }
    Ok(())
}

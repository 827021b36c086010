//! Gives planes of an array as values, for `/-/slice`.

use zarr::Array;
use zarr_plot::meaning::{Meaning, MissingRule};
use zarr_plot::picture::{self, Along, Plane, Reduce, View};

use super::parameters::{self, Stepped};
use super::{Answered, Refusal};
use crate::{Answer, Question, Targets};

/// Bytes that an element takes while an answer is made: as it is stored, decoded, in the answer.
pub(crate) const PER_ELEMENT: u64 = 24;

/// The decoded values of a plane, little-endian: unpacked, NaN where they are missing; 64-bit integers are rounded to f64. Its rows
/// are along the axis `y`, its columns along `x`.
///
/// Parameters: `path`; `x`, `y`: numbers of axes, by default the last two; `at`: an index for each axis; `across`, `down`:
/// `from:to:step` along `x` and `y`; `reduce`: with `nearest` or `mean` each block of `step` elements is its middle element or its mean, with
/// `auto` its mean where that reads no more chunks; else its first element. The header `Zarr-Reduce` is `mean`, `nearest`, or `none` if all elements are
/// there. The header `Zarr-Shape` has the plane's rows and columns, `Zarr-Type` is `float32` where that holds all values,
/// else `float64`.
pub(crate) fn slice(question: &Question, targets: &Targets) -> Answered {
    let (_, array) = parameters::elements(question, targets)?;
    let at = parameters::at(question, &array)?;
    let shape = array.shape();
    let rank = shape.len();
    let x = parameters::axis(question, "x", &array)?.or(rank.checked_sub(1));
    let Some(x) = x else {
        return Err(Refusal::wrong("a scalar has no planes; ask /-/value for it"));
    };
    let y = match parameters::axis(question, "y", &array)? {
        Some(y) if y == x => return Err(Refusal::wrong("`x` and `y` are the same axis")),
        None => (0..rank).rev().find(|&axis| axis != x),
        y => y,
    };
    let across = Stepped::of(question, "across", shape[x])?;
    let down =
        y.map(|y| Stepped::of(question, "down", shape[y]).map(|down| (y, down))).transpose()?;
    let count = down.as_ref().map_or(1, |(_, down)| down.len()).saturating_mul(across.len());
    question.reserve(count.saturating_mul(PER_ELEMENT))?;
    let reduce = reduce(question)?;
    let plane =
        plane(&array, &at, (x, &across), down.as_ref().map(|(y, down)| (*y, down)), reduce)?;
    let reduced = match plane.is_mean {
        true => "mean",
        false if across.step == 1 && down.is_none_or(|(_, down)| down.step == 1) => "none",
        false => "nearest",
    };
    let (name, bytes): (&str, Vec<u8>) = if plane.is_single {
        ("float32", plane.values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect())
    } else {
        ("float64", plane.values.iter().flat_map(|value| value.to_le_bytes()).collect())
    };
    let mut answer = Answer::new("application/octet-stream", bytes);
    answer.headers.push(("zarr-shape", format!("{},{}", plane.height, plane.width)));
    answer.headers.push(("zarr-reduce", reduced.to_owned()));
    answer.headers.push(("zarr-type", name.to_owned()));
    Ok(answer)
}

/// How a block of elements becomes one.
enum Block {
    First,
    Reduced(Option<Reduce>),
}

fn reduce(question: &Question) -> Result<Block, Refusal> {
    match question.get("reduce") {
        None | Some("") => Ok(Block::First),
        Some("auto") => Ok(Block::Reduced(None)),
        Some("mean") => Ok(Block::Reduced(Some(Reduce::Mean))),
        Some("nearest") => Ok(Block::Reduced(Some(Reduce::Nearest))),
        Some(other) => {
            Err(Refusal::wrong(format!("`reduce` is `{other}`, and must be auto, mean or nearest")))
        }
    }
}

/// The values along one axis or two, decoded, at `at` along the others.
fn plane(
    array: &Array,
    at: &[u64],
    across: (usize, &Stepped),
    down: Option<(usize, &Stepped)>,
    reduce: Block,
) -> Result<Plane, Refusal> {
    let mut along: Vec<Along> = at.iter().map(|&index| Along::one(index)).collect();
    let axes: Vec<(usize, &Stepped)> = [Some(across), down].into_iter().flatten().collect();
    parameters::check_cost(array, &axes)?;
    let meaning = Meaning::of(array, MissingRule::Declared);
    let (x, y) = (Some(across.0), down.map(|(axis, _)| axis));
    let Block::Reduced(reduce) = reduce else {
        for (axis, part) in &axes {
            let len = part.len();
            along[*axis] = Along { start: part.range.start, step: part.step as i64, len };
        }
        let view = View { along, x, y };
        return picture::slice(array, &meaning, &view, None, None).map_err(Refusal::picture);
    };
    for (axis, part) in &axes {
        along[*axis] =
            Along { start: part.range.start, step: 1, len: part.range.end - part.range.start };
    }
    if reduce == Some(Reduce::Mean) {
        let whole: Vec<_> = axes
            .iter()
            .map(|(axis, part)| (*axis, Stepped { range: part.range.clone(), step: 1 }))
            .collect();
        let whole: Vec<_> = whole.iter().map(|(axis, part)| (*axis, part)).collect();
        parameters::check_decoded(array, &whole)?;
    }
    let block = (across.1.step, down.map_or(1, |(_, down)| down.step));
    let view = View { along, x, y };
    picture::slice_in_blocks(array, &meaning, &view, block, reduce).map_err(Refusal::picture)
}

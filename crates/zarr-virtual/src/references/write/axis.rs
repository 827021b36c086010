//! The dimension along which files are joined.

use std::collections::{BTreeMap, BTreeSet};

use zarr_core::data_type::{Endian, ScalarValue};
use zarr_core::{ArrayMetadata, Result};

use super::compare;
use super::input::Input;
use super::{refused, why_unreadable};

/// The dimension along which files are joined: the named one, or the only one whose lengths or coordinates differ. `None` for a
/// single file.
pub(super) fn choose(inputs: &[Input], named: Option<&str>) -> Result<Option<String>> {
    let [first, others @ ..] = inputs else { return Ok(None) };
    if others.is_empty() {
        return Ok(None);
    }
    let dimensions = dimensions(first);
    if let Some(named) = named {
        if !dimensions.contains(named) {
            return Err(refused(format!(
                "no array of {} has a dimension `{named}`; its dimensions are {}",
                first.name,
                quoted(&dimensions)
            )));
        }
        return Ok(Some(named.to_owned()));
    }
    let mut differing = BTreeSet::new();
    for dimension in &dimensions {
        for other in others {
            if differs(first, other, dimension)? {
                differing.insert(dimension.clone());
                break;
            }
        }
    }
    match differing.len() {
        1 => Ok(differing.pop_first()),
        0 => Err(refused(format!(
            "cannot determine the dimension to join the files along: all lengths and coordinates are equal; choose one of {} \
             with `--axis`",
            quoted(&dimensions)
        ))),
        _ => Err(refused(format!(
            "the files differ along {}; name the dimension to join them along with `--axis`",
            quoted(&differing)
        ))),
    }
}

/// The axis of an array that has the dimension; `None` if it does not.
pub(super) fn position(
    metadata: &ArrayMetadata,
    dimension: &str,
    path: &str,
) -> Result<Option<usize>> {
    let names = metadata.dimension_names.as_deref().unwrap_or_default();
    let mut axes = names
        .iter()
        .enumerate()
        .filter(|(_, name)| name.as_deref() == Some(dimension))
        .map(|(axis, _)| axis);
    match (axes.next(), axes.next()) {
        (_, Some(_)) => Err(refused(format!(
            "{path}: two axes have the dimension `{dimension}`; leave it out with `--exclude {path}`"
        ))),
        (axis, None) => Ok(axis),
    }
}

/// The names of all dimensions.
fn dimensions(input: &Input) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for array in input.arrays.values() {
        names.extend(array.dimension_names().into_iter().flatten().flatten());
    }
    names
}

/// Whether an array has other lengths, or a coordinate other elements or units, along a dimension.
fn differs(first: &Input, other: &Input, dimension: &str) -> Result<bool> {
    let mut coordinates = BTreeMap::new();
    for (path, array) in &first.arrays {
        let Some(same) = other.arrays.get(path) else { continue };
        let metadata = array.metadata();
        let Some(axis) = position(&metadata, dimension, path)? else { continue };
        if same.shape().get(axis) != metadata.shape.get(axis) {
            return Ok(true);
        }
        if is_coordinate(path, &metadata, dimension) {
            coordinates.insert(path, (array, same));
        }
    }
    for (array, same) in coordinates.into_values() {
        // Equal numbers in other units are other coordinates.
        if compare::have_other_meanings(&array.metadata(), &same.metadata()) {
            return Ok(true);
        }
        match (array.read_le_bytes(..), same.read_le_bytes(..)) {
            (Ok(elements), Ok(others)) if elements != others => return Ok(true),
            (Ok(_), Ok(_)) => {}
            // It is left out later.
            (Err(error), _) | (_, Err(error)) if why_unreadable(&error).is_some() => {}
            (Err(error), _) | (_, Err(error)) => return Err(error),
        }
    }
    Ok(false)
}

/// Whether an array has the coordinates of a dimension: it has its name, and no other dimension.
pub(super) fn is_coordinate(path: &str, metadata: &ArrayMetadata, dimension: &str) -> bool {
    metadata.rank() == 1 && path.rsplit('/').next() == Some(dimension)
}

/// The number of the first file whose coordinates do not continue those before it, in the direction that the first two have.
/// `parts` are the coordinates of each file, little-endian.
pub(super) fn goes_back(metadata: &ArrayMetadata, parts: &[Vec<u8>]) -> Option<usize> {
    let scalar = metadata.data_type.scalar()?;
    let mut last: Option<f64> = None;
    let mut rises: Option<bool> = None;
    for (file, part) in parts.iter().enumerate() {
        for element in part.chunks_exact(scalar.size()) {
            let value = match scalar.load(&scalar.to_native(element, Endian::Little)) {
                ScalarValue::Integer(value) => value as f64,
                ScalarValue::Float(value) => value,
            };
            if let Some(last) = last {
                let up = value > last;
                if *rises.get_or_insert(up) != up || value == last {
                    return Some(file);
                }
            }
            last = Some(value);
        }
    }
    None
}

fn quoted(names: &BTreeSet<String>) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

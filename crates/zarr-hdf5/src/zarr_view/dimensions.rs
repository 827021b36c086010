//! The names of axes, from dimension scales.

use std::collections::HashSet;

use crate::value::Value;
use crate::{Attribute, Blocks, File, Result, Storage};

/// What netCDF puts before the name of a variable that has the name of a dimension which is not its own.
pub const NOT_A_COORDINATE: &str = "_nc4_non_coord_";

/// What a scale without values is called.
const NOT_A_VARIABLE: &[u8] = b"This is a netCDF dimension but not a netCDF variable";

/// The values of the attribute of this name.
pub fn values(
    file: &File,
    blocks: &Blocks,
    attributes: &[Attribute],
    name: &str,
) -> Result<Option<Vec<Value>>> {
    let Some(attribute) = attributes.iter().find(|attribute| attribute.name == name) else {
        return Ok(None);
    };
    file.values(blocks, &attribute.datatype, &attribute.raw).map(Some)
}

/// Whether a dataset is a dimension scale.
pub fn is_scale(file: &File, blocks: &Blocks, attributes: &[Attribute]) -> Result<bool> {
    let class = values(file, blocks, attributes, "CLASS")?;
    Ok(matches!(class.as_deref(), Some([Value::Text(text)]) if text == b"DIMENSION_SCALE"))
}

/// Whether a dataset stands for a dimension alone, and is no variable.
pub fn is_bare_dimension(file: &File, blocks: &Blocks, attributes: &[Attribute]) -> Result<bool> {
    let name = values(file, blocks, attributes, "NAME")?;
    Ok(matches!(name.as_deref(), Some([Value::Text(text)]) if text.starts_with(NOT_A_VARIABLE)))
}

/// The address of the first scale of each axis, from `DIMENSION_LIST`; `None` for an axis without one.
pub fn scales(
    file: &File,
    blocks: &Blocks,
    attributes: &[Attribute],
) -> Result<Option<Vec<Option<u64>>>> {
    let Some(lists) = values(file, blocks, attributes, "DIMENSION_LIST")? else { return Ok(None) };
    let first = lists.iter().map(|list| match list {
        Value::List(references) => match references.first() {
            Some(Value::Object(address)) => *address,
            _ => None,
        },
        Value::Object(address) => *address,
        _ => None,
    });
    Ok(Some(first.collect()))
}

/// The numbers of a variable's dimensions, from `_Netcdf4Coordinates`.
pub fn coordinates(
    file: &File,
    blocks: &Blocks,
    attributes: &[Attribute],
) -> Result<Option<Vec<i128>>> {
    let Some(values) = values(file, blocks, attributes, "_Netcdf4Coordinates")? else {
        return Ok(None);
    };
    Ok(Some(values.iter().filter_map(integer).collect()))
}

/// The number of the dimension that a scale stands for.
pub fn dimension_number(
    file: &File,
    blocks: &Blocks,
    attributes: &[Attribute],
) -> Result<Option<i128>> {
    let values = values(file, blocks, attributes, "_Netcdf4Dimid")?;
    Ok(values.and_then(|values| values.first().and_then(integer)))
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Integer(value) => Some(*value),
        _ => None,
    }
}

/// How long the dimension of a netCDF scale is: as long as the longest variable along it, of those that `REFERENCE_LIST` names.
/// `None` if the scale is not netCDF's, or its dimension is not unlimited.
pub fn unlimited_length(file: &File, blocks: &Blocks, scale: u64) -> Result<Option<u64>> {
    let object = file.object(blocks, scale)?;
    let attributes = readable(file, blocks, &object)?;
    if !attributes.iter().any(|attribute| attribute.name == "_Netcdf4Dimid") {
        return Ok(None);
    }
    let dataset = file.dataset(blocks, &object)?;
    let crate::Dataspace::Simple { shape, max_shape } = &dataset.dataspace else {
        return Ok(None);
    };
    let (Some(length), Some(None)) = (shape.first(), max_shape.first()) else { return Ok(None) };
    let mut longest = *length;
    let references = values(file, blocks, &attributes, "REFERENCE_LIST")?.unwrap_or_default();
    let (mut visited, mut read_bytes) = (HashSet::new(), 0);
    for reference in references {
        let Value::Record(fields) = reference else { continue };
        let [(_, Value::Object(Some(address))), (_, Value::Integer(axis))] = fields.as_slice()
        else {
            continue;
        };
        // Each is listed once for each axis; and objects do not overlap, else reading them would be quadratic work.
        if !visited.insert((*address, *axis)) || read_bytes > blocks.file_length() {
            continue;
        }
        let user = file.object(blocks, *address)?;
        read_bytes += user.header_bytes();
        let user = file.dataset(blocks, &user)?;
        let axis = usize::try_from(*axis).unwrap_or(usize::MAX);
        let length = user.dataspace.shape().and_then(|shape| shape.get(axis));
        longest = longest.max(length.copied().unwrap_or(0));
    }
    Ok(Some(longest))
}

/// The attributes of an object that can be read.
pub fn readable(file: &File, blocks: &Blocks, object: &crate::Object) -> Result<Vec<Attribute>> {
    Ok(file.attributes(blocks, object)?.into_iter().flatten().collect())
}

/// The shape of a dataset, with unlimited axes as long as their dimensions.
pub fn full_shape(
    file: &File,
    blocks: &Blocks,
    dataset: &crate::Dataset,
    scales: &[Option<u64>],
) -> Result<Vec<u64>> {
    let crate::Dataspace::Simple { shape, max_shape } = &dataset.dataspace else {
        return Ok(Vec::new());
    };
    let mut full = shape.clone();
    if !matches!(dataset.storage, Storage::Chunked(_)) {
        return Ok(full);
    }
    for (axis, length) in full.iter_mut().enumerate() {
        let is_unlimited = max_shape[axis].is_none();
        if let (true, Some(Some(scale))) = (is_unlimited, scales.get(axis))
            && let Some(longest) = unlimited_length(file, blocks, *scale)?
        {
            *length = longest.max(*length);
        }
    }
    Ok(full)
}

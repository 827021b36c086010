//! Attributes as JSON.

use super::json;
use crate::datatype::{Class, Datatype, Reference};
use crate::value::Value;
use crate::{Attribute, Blocks, Dataspace, File, Result};

/// What HDF5's dimension scales and netCDF keep for themselves.
const HIDDEN: [&str; 9] = [
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "DIMENSION_LABELS",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
    "_NCProperties",
];

/// Whether an attribute is not shown.
pub fn is_hidden(name: &str) -> bool {
    HIDDEN.contains(&name)
}

/// Whether a type has references to objects in it, whose paths must be found.
pub fn has_references(datatype: &Datatype) -> bool {
    match &datatype.class {
        Class::Reference(kind) => *kind != Reference::Tagged,
        Class::Sequence(base) | Class::Array { base, .. } => has_references(base),
        Class::Compound(fields) => fields.iter().any(|field| has_references(&field.datatype)),
        _ => false,
    }
}

/// An attribute's value as JSON text. One of length 1 along its only axis is not in a list: netCDF writes numbers that way.
pub fn to_json(
    file: &File,
    blocks: &Blocks,
    attribute: &Attribute,
    path: &impl Fn(u64) -> Option<String>,
) -> Result<String> {
    let shape = match &attribute.dataspace {
        Dataspace::Null => return Ok(empty(&attribute.datatype)),
        Dataspace::Simple { shape, .. } if shape.as_slice() == [1] => &[],
        Dataspace::Simple { shape, .. } => shape.as_slice(),
    };
    let values = file.values(blocks, &attribute.datatype, &attribute.raw)?;
    // xarray wants it so in final v3: floats as base64 of eight bytes.
    if attribute.name == "_FillValue"
        && let [value @ (Value::Float32(_) | Value::Float64(_))] = values.as_slice()
    {
        let number = match value {
            Value::Float32(value) => f64::from(*value),
            Value::Float64(value) => *value,
            _ => 0.0,
        };
        return Ok(json::text(&json::base64(&number.to_le_bytes())));
    }
    let items: Vec<String> = values.iter().map(|value| json::value(value, path)).collect();
    Ok(json::nested(&items, shape))
}

/// The type of netCDF that an attribute has, by the name that Zarr gives it; `char` for text. `None` for a type or a shape that
/// netCDF's attributes do not have, and for the missing value, whose type is that of its variable.
pub fn netcdf_type(attribute: &Attribute) -> Option<String> {
    let Dataspace::Simple { shape, .. } = &attribute.dataspace else { return None };
    let is_one = shape.iter().product::<u64>() == 1;
    if shape.len() > 1 || attribute.name == "_FillValue" {
        return None;
    }
    let datatype = &attribute.datatype;
    Some(match &datatype.class {
        Class::Integer { signed, .. } if matches!(datatype.size, 1 | 2 | 4 | 8) => {
            format!("{}int{}", if *signed { "" } else { "u" }, 8 * datatype.size)
        }
        Class::Float(_) => match datatype.ieee_float() {
            Some((4 | 8, _)) => format!("float{}", 8 * datatype.size),
            _ => return None,
        },
        Class::String(_) if is_one => "char".to_owned(),
        Class::VariableString(_) => "string".to_owned(),
        _ => return None,
    })
}

fn empty(datatype: &Datatype) -> String {
    match datatype.class {
        Class::String(_) | Class::VariableString(_) => json::text(""),
        _ => "null".to_owned(),
    }
}

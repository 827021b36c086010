//! Checks that files can be joined: all but the joined dimension is the same.

use zarr_core::codec::CodecSpec;
use zarr_core::{Array, ArrayMetadata, Json, Result};

use super::axis;
use super::input::Input;
use super::refused;

/// Attributes that say what elements mean. All elements of an array have the same.
const MEANING: [&str; 8] = [
    "units",
    "calendar",
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "_Unsigned",
    "enum_members",
];

/// Members of codecs that only say how well chunks were compressed.
const EFFORT: [&str; 2] = ["level", "clevel"];

/// The most bytes of an array that are compared at a time.
const MAX_COMPARED_BYTES: u64 = 64 << 20;

/// Checks that `other` has the arrays of `first`, the same but along `dimension`. Arrays without that dimension have the
/// same elements, which is only checked with `verify`.
pub(super) fn check(
    first: &Input,
    other: &Input,
    dimension: Option<&str>,
    verify: bool,
) -> Result<()> {
    check_nodes(first, other)?;
    check_nodes(other, first)?;
    for (path, array) in &first.arrays {
        let same = other.array(path)?;
        let axis = match dimension {
            Some(dimension) => axis::position(&array.metadata(), dimension, path)?,
            None => None,
        };
        if let Some(what) = difference(&array.metadata(), &same.metadata(), axis) {
            let instead = match dimension {
                Some(name) if axis.is_some() => format!(
                    ", or copy the first file with `zarr copy`, and append the others with `zarr append --axis {name}`, which converts \
                     times and codecs"
                ),
                _ => String::new(),
            };
            return Err(refused(format!(
                "{path} differs between {} and {}: {what}; leave it out with `--exclude {path}`{instead}",
                first.name, other.name
            )));
        }
        if axis.is_none() && verify && !are_equal(array, same)? {
            let along = dimension.map_or(String::new(), |name| format!(" without `{name}`"));
            return Err(refused(format!(
                "{path} differs between {} and {}: an array{along} must have the same elements in all files; take those of the \
                 first file with `--no-verify`, or leave it out with `--exclude {path}`",
                first.name, other.name
            )));
        }
    }
    Ok(())
}

/// Checks that `other` has the nodes of `first`.
fn check_nodes(first: &Input, other: &Input) -> Result<()> {
    let missing = first.arrays.keys().find(|path| !other.arrays.contains_key(*path));
    let missing =
        missing.or_else(|| first.groups.iter().find(|path| !other.groups.contains(*path)));
    match missing {
        None => Ok(()),
        Some(path) => Err(refused(format!(
            "{path} is in {}, and not in {}; leave it out with `--exclude {path}`",
            first.name, other.name
        ))),
    }
}

/// What differs between two arrays, apart from their chunks and the length of an axis.
fn difference(a: &ArrayMetadata, b: &ArrayMetadata, axis: Option<usize>) -> Option<String> {
    let lengths = |metadata: &ArrayMetadata| {
        let mut shape = metadata.shape.clone();
        if let Some(length) = axis.and_then(|axis| shape.get_mut(axis)) {
            *length = 0;
        }
        shape
    };
    if lengths(a) != lengths(b) {
        return Some(format!("shape {:?} and {:?}", a.shape, b.shape));
    }
    if a.dimension_names != b.dimension_names {
        return Some("the names of its dimensions".to_owned());
    }
    // By their text, since records are equal however their fields are stored.
    let types = [a, b].map(|metadata| format!("{:?}", metadata.data_type));
    if types[0] != types[1] {
        return Some(format!("data type {} and {}", a.data_type, b.data_type));
    }
    if !a.codecs.iter().map(without_effort).eq(b.codecs.iter().map(without_effort)) {
        let codecs = [a, b].map(|metadata| {
            metadata.codecs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        });
        return Some(format!("codecs {} and {}", codecs[0], codecs[1]));
    }
    if a.fill_value != b.fill_value {
        return Some(format!(
            "fill value {} and {}",
            a.declared_fill.brief(),
            b.declared_fill.brief()
        ));
    }
    if a.chunk_keys != b.chunk_keys || a.shards != b.shards {
        return Some("the keys of its chunks".to_owned());
    }
    for name in MEANING {
        let values = [a, b].map(|metadata| metadata.attributes.get(name));
        if values[0] != values[1] {
            let [a, b] = values.map(|value| value.map_or("none".to_owned(), Json::brief));
            return Some(format!("attribute `{name}` is {a} and {b}"));
        }
    }
    None
}

/// A codec without what readers do not need.
fn without_effort(codec: &CodecSpec) -> CodecSpec {
    let mut codec = codec.clone();
    for member in EFFORT {
        codec.configuration.remove(member);
    }
    codec
}

/// Whether two arrays of one shape have the same elements.
fn are_equal(a: &Array, b: &Array) -> Result<bool> {
    for piece in a.pieces(.., MAX_COMPARED_BYTES)? {
        if a.read_le_bytes(&piece.selection)? != b.read_le_bytes(&piece.selection)? {
            return Ok(false);
        }
    }
    Ok(true)
}

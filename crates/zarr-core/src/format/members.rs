//! Reads and writes the members of documents that several dialects share.

use bytes::Bytes;

use super::encoding::{JsonEncoding, MetadataEncoding};
use super::reading::Reading;
use crate::codec::{CodecSpec, stored_endian};
use crate::data_type::{DataType, FillValue, fill_value};
use crate::dialect::{Dialect, Strictness};
use crate::error::MetadataError;
use crate::json::{Json, Object, Oddities};
use crate::limits::Limits;
use crate::metadata::ArrayMetadata;

/// The member of a group's document that holds consolidated metadata in v3.
pub(super) const INLINE: &str = "consolidated_metadata";

/// The member with the names of the axes in v3.
pub(crate) const DIMENSION_NAMES: &str = "dimension_names";

/// The attribute with the names of the axes in v2 and the drafts.
pub(crate) const XARRAY_DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

/// The document's object. Final v3 refuses duplicate members, and bare `NaN` beside attributes; other dialects note them
/// (docs/internals/design/strictness.md, docs/internals/design/documents.md).
pub(super) fn parse_object(
    bytes: &[u8],
    encoding: &dyn MetadataEncoding,
    strict_members: bool,
    reading: &mut Reading<'_>,
) -> Result<Object, MetadataError> {
    let (json, odd) = encoding.decode(bytes).map_err(MetadataError::Json)?;
    object_of(json, odd, strict_members, reading)
}

/// The object of a `zarr.json`; a group's without its consolidated metadata, which are a cache (F-013).
pub(super) fn parse_node_object(
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Object, MetadataError> {
    let parsed = Json::parse_but(bytes, INLINE).map_err(MetadataError::Json)?;
    let (json, has_copies, odd) = parsed;
    let object = object_of(json, odd, true, reading)?;
    if has_copies && object.get("node_type").and_then(Json::as_str) != Some("group") {
        parse_object(bytes, &JsonEncoding, true, reading)
    } else {
        Ok(object)
    }
}

pub(super) fn object_of(
    json: Json,
    odd: Oddities,
    strict_members: bool,
    reading: &mut Reading<'_>,
) -> Result<Object, MetadataError> {
    let refuse = MetadataError::Json;
    if let Some(name) = odd.duplicates.first() {
        let what = format!("duplicate member `{name}`");
        if strict_members {
            return Err(refuse(what));
        }
        reading.tolerate(what).map_err(refuse)?;
    }
    if odd.bare_floats {
        if strict_members && has_bare_floats_besides(&json, &["attributes", "fill_value"]) {
            return Err(refuse(
                "bare `NaN` or `Infinity` is not JSON; write it as a string".into(),
            ));
        }
        // That of a fill value is corrected, with a warning of its own.
        if has_bare_floats_besides(&json, &["fill_value"]) {
            let what = "bare `NaN` or `Infinity` is not JSON; it is kept as it is, except in copies to drafts, which write it as \
                        a string";
            reading.tolerate(what).map_err(refuse)?;
        } else if !json.has_bare_floats() {
            let what =
                "bare `NaN` or `Infinity` is not JSON; it is in the copies of other documents";
            reading.tolerate(what).map_err(refuse)?;
        }
    }
    if odd.lone_surrogates {
        let what =
            "half of a surrogate pair is not a character; it is taken as the text of its escape";
        reading.tolerate(what).map_err(refuse)?;
    }
    if odd.byte_order_mark {
        reading.tolerate("the document begins with a byte order mark").map_err(refuse)?;
    }
    match json {
        Json::Object(object) => Ok(object),
        other => Err(MetadataError::Json(format!("expected an object, found {}", other.kind()))),
    }
}

/// Whether a value has bare `NaN` or `Infinity`, these members of an object aside. One that is no object is taken to have it.
fn has_bare_floats_besides(json: &Json, members: &[&str]) -> bool {
    json.as_object().is_none_or(|object| {
        object.iter().any(|(name, value)| !members.contains(&name) && value.has_bare_floats())
    })
}

pub(super) fn document(
    object: Object,
    encoding: &dyn MetadataEncoding,
) -> Result<Bytes, MetadataError> {
    encoding.encode(&Json::from(object)).map(Bytes::from).map_err(MetadataError::Json)
}

/// A list of whole numbers at least 0, of as many axes as an array may have: a shape.
pub(super) fn lengths(
    member: &'static str,
    json: Option<&Json>,
    limits: &Limits,
) -> Result<Vec<u64>, MetadataError> {
    let json = json.ok_or(MetadataError::Missing(member))?;
    limits.check_rank(json.as_array().map_or(0, <[Json]>::len))?;
    let items = json.as_array().and_then(|items| items.iter().map(Json::as_u64).collect());
    items.ok_or_else(|| {
        MetadataError::invalid(
            member,
            format!("{} is not a list of integers of at least 0", json.brief()),
        )
    })
}

pub(super) fn attributes(json: Option<&Json>, member: &str) -> Result<Object, MetadataError> {
    match json {
        None => Ok(Object::new()),
        Some(Json::Object(object)) => Ok(object.clone()),
        Some(other) => Err(MetadataError::invalid(
            member,
            format!("expected an object, found {}", other.kind()),
        )),
    }
}

/// The axes' names as xarray writes them into v2 and the drafts (docs/internals/design/documents.md); ignored if they do
/// not fit.
pub(super) fn xarray_dimensions(attributes: &Object, rank: usize) -> Option<Vec<Option<String>>> {
    let names = attributes.get(XARRAY_DIMENSIONS)?.as_array()?;
    let names: Option<Vec<_>> =
        names.iter().map(|n| n.as_str().map(|n| Some(n.to_owned()))).collect();
    names.filter(|names| names.len() == rank)
}

/// The attributes with the axes' names among them, for dialects that keep them there.
pub(super) fn attributes_with_dimensions(
    array: &ArrayMetadata,
    format: &'static str,
) -> Result<Object, MetadataError> {
    let mut attributes = array.attributes.clone();
    let Some(names) = &array.dimension_names else { return Ok(attributes) };
    // An empty list of names is written, too: xarray requires it.
    if !names.is_empty() && names.iter().all(Option::is_none) {
        return Ok(attributes);
    }
    let hint = "name all axes or none, with the names in `_ARRAY_DIMENSIONS`";
    let names: Option<Vec<Json>> =
        names.iter().map(|name| name.as_deref().map(Json::from)).collect();
    let names = names.map(Json::Array);
    match (names, attributes.get(XARRAY_DIMENSIONS)) {
        (None, _) => return Err(cannot(format, "names for some axes and not for others", hint)),
        (Some(names), Some(there)) if *there != names => {
            return Err(cannot(format, "axes with other names than `_ARRAY_DIMENSIONS` has", hint));
        }
        (Some(names), _) => attributes.insert(XARRAY_DIMENSIONS, names),
    };
    Ok(attributes)
}

/// The fill value of a document; what is unusual becomes a warning. That of a record may have the form in which it is
/// stored.
pub(super) fn parse_fill(
    data_type: &DataType,
    json: &Json,
    dialect: Dialect,
    codecs: &[CodecSpec],
    reading: &mut Reading<'_>,
) -> Result<Option<FillValue>, MetadataError> {
    let data_type = data_type.stored_in(Some(stored_endian(codecs)));
    fill_value::parse(&data_type, json, dialect, reading.strictness, &mut reading.warnings)
}

/// The error for what a dialect cannot represent.
pub(super) fn cannot(
    format: &'static str,
    what: impl Into<String>,
    hint: impl Into<String>,
) -> MetadataError {
    MetadataError::CannotRepresent { format, what: what.into(), hint: hint.into() }
}

/// The type as a dialect's metadata, or the error that it cannot be represented.
pub(super) fn type_to_metadata(
    array: &ArrayMetadata,
    dialect: Dialect,
    format: &'static str,
) -> Result<Json, MetadataError> {
    let data_type = &array.data_type;
    let endian = array.endian();
    data_type.to_metadata(dialect, endian).ok_or_else(|| {
        let mut hint = String::from("choose another type");
        for other in [Dialect::V3, Dialect::V2, Dialect::Draft] {
            if data_type.to_metadata(other, endian).is_some() {
                hint.push_str(&format!(", or {other}"));
            }
        }
        cannot(format, format!("the data type `{data_type}`"), hint)
    })
}

/// The fill value as a dialect's metadata.
pub(super) fn fill_to_metadata(
    array: &ArrayMetadata,
    dialect: Dialect,
) -> Result<Json, MetadataError> {
    let data_type = array.data_type.stored_in(Some(array.endian()));
    let json = fill_value::to_json(&data_type, array.fill_value.as_ref(), dialect)?;
    // Only v2 writes a NaN without its bits (Z2-051).
    if dialect == Dialect::V2 {
        let strictness = Strictness::Strict;
        let back = fill_value::parse(&data_type, &json, dialect, strictness, &mut Vec::new());
        if back.is_ok_and(|back| back != array.fill_value) {
            return Err(cannot(
                "v2",
                "a NaN with these bits as fill value",
                "choose v3, or a plain NaN",
            ));
        }
    }
    Ok(json)
}

/// The chunk shape, which v2 and the drafts must have.
pub(super) fn regular_chunk_shape(
    array: &ArrayMetadata,
    format: &'static str,
) -> Result<Vec<u64>, MetadataError> {
    array.chunk_shape().ok_or_else(|| {
        cannot(format, "chunks of different shapes", "choose chunks of one shape, or v3")
    })
}

/// Refuses a `zarr_format` other than this integer (Z2-004, Z2-011).
pub(super) fn check_version(object: &Object, version: &str) -> Result<(), MetadataError> {
    match object.get("zarr_format") {
        None => Err(MetadataError::Missing("zarr_format")),
        Some(json) if json.as_number() == Some(version) => Ok(()),
        Some(json) => {
            Err(invalid("zarr_format", format!("{} is not the integer {version}", json.brief())))
        }
    }
}

/// A member that breaks its rules.
pub(super) fn invalid(member: &str, why: impl Into<String>) -> MetadataError {
    MetadataError::invalid(member, why)
}

//! Reads and writes variable-length types as metadata of each dialect.
//!
//! Final v3 has `string` and `variable_length_bytes` (F-045, F-046). v2 has `|O`, whose first filter says
//! what the objects are (Z2-040 … Z2-044); zarr-python 2.18 wrote that into the draft as an extension
//! (draft-v3.md 3.3).

use super::fill_value::{base64_decode, base64_encode};
use super::{DataType, Endian, Repr};
use crate::codec::CodecSpec;
use crate::dialect::Dialect;
use crate::error::{CodecError, MetadataError, Unsupported};
use crate::json::{Json, Object};

/// The URI that zarr-python 2.18 gives objects in the draft.
const OBJECT: &str = "TODO: object array protocol URL";

/// A type of any length as a dialect's metadata.
pub(super) fn to_metadata(data_type: &DataType, dialect: Dialect) -> Option<Json> {
    let object = Object::new().with("extension", OBJECT).with("type", "|O");
    Some(match (dialect, data_type) {
        (Dialect::V2, _) => "|O".into(),
        (Dialect::Draft, _) => object.with("fallback", Json::Null).into(),
        (Dialect::V3, DataType::String) => "string".into(),
        (Dialect::V3, DataType::Bytes) => "variable_length_bytes".into(),
        (Dialect::V3, _) => return None,
    })
}

/// The codec that makes bytes of elements of any length; `None` for other types.
pub(super) fn serializer(data_type: &DataType) -> Option<CodecSpec> {
    Some(match data_type {
        DataType::String => CodecSpec::v3("vlen-utf8", Object::new()),
        DataType::Bytes => CodecSpec::v3("vlen-bytes", Object::new()),
        DataType::Json => CodecSpec::new(Dialect::V2, "json2", Object::new()),
        DataType::List(items) => {
            let dtype = items.to_metadata(Dialect::V2, Endian::Little).unwrap_or(Json::Null);
            CodecSpec::new(Dialect::V2, "vlen-array", Object::new().with("dtype", dtype))
        }
        _ => return None,
    })
}

/// The fill value of elements of any length.
pub(super) fn from_json(
    data_type: &DataType,
    json: &Json,
    dialect: Dialect,
) -> Result<Vec<u8>, String> {
    Ok(match (data_type, json) {
        // Z2-044: zarr-python writes 0 for the empty object.
        (_, json) if dialect != Dialect::V3 && json.as_i64() == Some(0) => Vec::new(),
        (DataType::String, Json::String(text)) => text.clone().into_bytes(),
        (DataType::String, _) => return Err("text is expected".into()),
        (DataType::Json, Json::String(text)) if text.is_empty() => Vec::new(),
        (DataType::Json, json) => json.to_string().into_bytes(),
        (_, Json::String(text)) => base64_decode(text).ok_or("it is not base64")?,
        (_, Json::Array(list)) => {
            let bytes = list.iter().map(|item| item.as_u64().and_then(|n| u8::try_from(n).ok()));
            bytes.collect::<Option<_>>().ok_or("a list of bytes is expected")?
        }
        _ => return Err("base64 or a list of bytes is expected".into()),
    })
}

/// The fill value of elements of any length as a dialect's metadata.
pub(super) fn to_json(
    data_type: &DataType,
    element: &[u8],
    dialect: Dialect,
) -> Result<Json, MetadataError> {
    let invalid = |why: String| MetadataError::invalid("fill_value", why);
    match data_type {
        // What zarr-python 2.18 writes; it takes text there for base64.
        _ if dialect == Dialect::Draft && element.is_empty() => Ok(Json::from(0u64)),
        _ if element.is_empty() => Ok(Json::from("")),
        DataType::Json => Json::parse(element).map_err(invalid),
        DataType::String => {
            let text = String::from_utf8(element.to_vec());
            text.map(Json::from).map_err(|_| invalid("it is no UTF-8".into()))
        }
        _ => Ok(Json::from(base64_encode(element))),
    }
}

/// Refuses bytes that are no element of this type of any length.
pub(super) fn check(data_type: &DataType, element: &[u8]) -> Result<(), CodecError> {
    let is_good = match data_type {
        DataType::String => std::str::from_utf8(element).is_ok(),
        // One that was never written is empty, which is no JSON.
        DataType::Json => element.is_empty() || Json::parse(element).is_ok(),
        DataType::List(items) => {
            items.repr().is_some_and(|repr| element.len().is_multiple_of(repr.size()))
        }
        _ => true,
    };
    if is_good {
        return Ok(());
    }
    Err(CodecError::corrupt("bytes", format!("an element is no {data_type}")))
}

/// `string`, `variable_length_bytes`, `bytes` of final v3; `None` for other names.
pub(crate) fn from_v3(name: &str) -> Option<DataType> {
    match name {
        "string" => Some(DataType::String),
        "variable_length_bytes" | "bytes" => Some(DataType::Bytes),
        _ => None,
    }
}

/// The type of objects that this filter, the first one of v2 and the draft's, makes bytes of; `None` if it
/// makes none (Z2-040).
///
/// # Errors
/// [`MetadataError::Invalid`] for arrays of nothing, [`MetadataError::Unsupported`] for arrays of items that
/// are not known here.
pub(crate) fn from_filter(
    filter: &CodecSpec,
    registry: &crate::Registry,
) -> Result<Option<DataType>, MetadataError> {
    let data_type = match filter.name.as_str() {
        "vlen-utf8" => DataType::String,
        "vlen-bytes" => DataType::Bytes,
        "json2" | "json" | "msgpack2" | "msgpack" => DataType::Json,
        "categorize" if filter.configuration.get("dtype").and_then(Json::as_str) == Some("|O") => {
            DataType::String
        }
        "vlen-array" => DataType::List(Box::new(items(filter, registry)?)),
        _ => return Ok(None),
    };
    Ok(Some(data_type))
}

/// What the arrays that `vlen-array` stores are of.
fn items(filter: &CodecSpec, registry: &crate::Registry) -> Result<DataType, MetadataError> {
    let member = "filters: vlen-array: dtype";
    let words = filter.configuration.get("dtype");
    let words = words.ok_or_else(|| MetadataError::invalid(member, "is missing"))?;
    let parsed = registry.parse_data_type(words, Dialect::V2)?;
    let repr = parsed.data_type.repr();
    if parsed.endian == Some(Endian::Big) || repr.is_none_or(|repr| repr == Repr::Variable) {
        let hint = "items are little-endian ones of a fixed size that is known here".into();
        let name = format!("arrays of {}", words.brief());
        return Err(Unsupported { what: "data type", name, hint }.into());
    }
    Ok(parsed.data_type)
}

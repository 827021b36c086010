//! Reads and writes variable-length types as metadata of each dialect.
//!
//! Final v3 has `string` and `variable_length_bytes` (F-045, F-046). v2 has `|O`, whose first filter says
//! what the objects are (Z2-040 … Z2-044); zarr-python 2.18 wrote that into the draft as an extension
//! (draft-v3.md 3.3).

use super::DataType;
use super::fill_value::{base64_decode, base64_encode};
use crate::dialect::Dialect;
use crate::error::MetadataError;
use crate::json::{Json, Object};

/// The URI that zarr-python 2.18 gives objects in the draft.
const OBJECT: &str = "TODO: object array protocol URL";

/// A variable-length type as a dialect's metadata.
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

/// The fill value of variable-length elements.
pub(super) fn from_json(
    data_type: &DataType,
    json: &Json,
    dialect: Dialect,
) -> Result<Vec<u8>, String> {
    Ok(match (data_type, json) {
        // Z2-044: zarr-python writes 0 for the empty object.
        (_, json) if dialect != Dialect::V3 && json.as_i64() == Some(0) => Vec::new(),
        (DataType::String, Json::String(text)) => text.clone().into_bytes(),
        (DataType::String, _) => return Err("expected text".into()),
        (DataType::Json, Json::String(text)) if text.is_empty() => Vec::new(),
        (DataType::Json, json) => json.to_string().into_bytes(),
        (_, Json::String(text)) => base64_decode(text).ok_or("it is not base64")?,
        (_, Json::Array(list)) => {
            let bytes = list.iter().map(|item| item.as_u64().and_then(|n| u8::try_from(n).ok()));
            bytes.collect::<Option<_>>().ok_or("expected a list of bytes")?
        }
        _ => return Err("expected base64 text or a list of bytes".into()),
    })
}

/// The fill value of variable-length elements as a dialect's metadata.
pub(super) fn to_json(
    data_type: &DataType,
    element: &[u8],
    dialect: Dialect,
) -> Result<Json, MetadataError> {
    match data_type {
        // What zarr-python 2.18 writes; it takes text there for base64.
        _ if dialect == Dialect::Draft && element.is_empty() => Ok(Json::from(0u64)),
        _ if element.is_empty() => Ok(Json::from("")),
        DataType::Json => Json::parse_element(element)
            .map(Json::into_standard)
            .map_err(|why| MetadataError::invalid("fill_value", why)),
        DataType::String => match String::from_utf8(element.to_vec()) {
            Ok(text) => Ok(Json::from(text)),
            Err(_) => Err(MetadataError::invalid("fill_value", "it is not UTF-8")),
        },
        _ => Ok(Json::from(base64_encode(element))),
    }
}

//! Reads and writes variable-length types as metadata of each dialect.
//!
//! Final v3 has `string` and `variable_length_bytes` (F-045, F-046). v2 has `|O`, whose first filter says
//! what the objects are (Z2-040 … Z2-044); zarr-python 2.18 wrote that into the draft as an extension
//! (draft-v3.md 3.3).

use std::fmt;
use std::sync::Arc;

use super::fill_value::{base64_decode, base64_encode};
use super::{DataType, Endian, ExtensionType, FillValue, ParsedType, Repr};
use crate::codec::CodecSpec;
use crate::dialect::Dialect;
use crate::error::{CodecError, MetadataError, Unsupported};
use crate::json::{Json, Object};

/// Elements of any length.
#[derive(Clone, Debug)]
pub enum Variable {
    /// Text in UTF-8: `string`.
    Text,
    /// Bytes: `variable_length_bytes`.
    Bytes,
    /// A JSON value, told as compact JSON; v2 alone has them.
    Json,
    /// Any number of items of a type of fixed size, little-endian; v2 alone has them.
    Array(Box<DataType>),
}

/// The URI that zarr-python 2.18 gives objects in the draft.
const OBJECT: &str = "TODO: object array protocol URL";

impl Variable {
    fn parsed(self) -> ParsedType {
        ParsedType { data_type: DataType::Extension(Arc::new(self)), endian: None }
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variable::Text => f.write_str("string"),
            Variable::Bytes => f.write_str("variable_length_bytes"),
            Variable::Json => f.write_str("json"),
            Variable::Array(items) => write!(f, "array of {items}"),
        }
    }
}

impl ExtensionType for Variable {
    fn spelling(&self, dialect: Dialect, _: Endian) -> Option<Json> {
        let object = Object::new().with("extension", OBJECT).with("type", "|O");
        match (dialect, self) {
            (Dialect::V2, _) => Some("|O".into()),
            (Dialect::Draft, _) => Some(object.with("fallback", Json::Null).into()),
            (Dialect::V3, Variable::Array(_) | Variable::Json) => None,
            (Dialect::V3, named) => Some(named.to_string().into()),
        }
    }

    fn repr(&self) -> Repr {
        Repr::Variable
    }

    fn serializer(&self) -> Option<CodecSpec> {
        Some(match self {
            Variable::Text => CodecSpec::v3("vlen-utf8", Object::new()),
            Variable::Bytes => CodecSpec::v3("vlen-bytes", Object::new()),
            Variable::Json => CodecSpec::new(Dialect::V2, "json2", Object::new()),
            Variable::Array(items) => {
                let dtype = items.spelling(Dialect::V2, Endian::Little).unwrap_or(Json::Null);
                CodecSpec::new(Dialect::V2, "vlen-array", Object::new().with("dtype", dtype))
            }
        })
    }

    fn fill_value_from_json(
        &self,
        json: &Json,
        dialect: Dialect,
    ) -> Result<FillValue, MetadataError> {
        let wrong = |due: &str| {
            let why = format!("{due} is due, not {}", json.brief());
            MetadataError::invalid("fill_value", why)
        };
        let bytes = match (self, json) {
            // Z2-044: zarr-python writes 0 for the empty object.
            (_, json) if dialect != Dialect::V3 && json.as_i64() == Some(0) => Vec::new(),
            (Variable::Text, Json::String(text)) => text.clone().into_bytes(),
            (Variable::Text, _) => return Err(wrong("text")),
            (Variable::Json, Json::String(text)) if text.is_empty() => Vec::new(),
            (Variable::Json, json) => json.to_string().into_bytes(),
            (_, Json::String(text)) => base64_decode(text).ok_or_else(|| wrong("base64"))?,
            (_, Json::Array(list)) => {
                let bytes =
                    list.iter().map(|item| item.as_u64().and_then(|n| u8::try_from(n).ok()));
                bytes.collect::<Option<_>>().ok_or_else(|| wrong("a list of bytes"))?
            }
            _ => return Err(wrong("base64 or a list of bytes")),
        };
        Ok(FillValue::new(bytes))
    }

    fn fill_value_to_json(
        &self,
        value: &FillValue,
        dialect: Dialect,
    ) -> Result<Json, MetadataError> {
        let bytes = value.as_bytes();
        match self {
            // What zarr-python 2.18 writes; it takes text there for base64.
            _ if dialect == Dialect::Draft && bytes.is_empty() => Ok(Json::from(0u64)),
            _ if bytes.is_empty() => Ok(Json::from("")),
            Variable::Json => {
                Json::parse(bytes).map_err(|why| MetadataError::invalid("fill_value", why))
            }
            Variable::Text => String::from_utf8(bytes.to_vec())
                .map(Json::from)
                .map_err(|_| MetadataError::invalid("fill_value", "it is no UTF-8")),
            _ => Ok(Json::from(base64_encode(bytes))),
        }
    }

    fn check_element(&self, element: &[u8]) -> Result<(), CodecError> {
        let is_good = match self {
            Variable::Text => std::str::from_utf8(element).is_ok(),
            Variable::Bytes => true,
            // One that nobody wrote is empty, and no JSON.
            Variable::Json => element.is_empty() || Json::parse(element).is_ok(),
            Variable::Array(items) => {
                items.repr().is_some_and(|repr| element.len().is_multiple_of(repr.size()))
            }
        };
        match is_good {
            true => Ok(()),
            false => Err(CodecError::corrupt("bytes", format!("an element is no {self}"))),
        }
    }
}

/// `string`, `variable_length_bytes`, `bytes` of final v3; `None` for other names.
pub(crate) fn from_v3(name: &str) -> Option<DataType> {
    match name {
        "string" => Some(Variable::Text.parsed().data_type),
        "variable_length_bytes" | "bytes" => Some(Variable::Bytes.parsed().data_type),
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
    let variable = match filter.name.as_str() {
        "vlen-utf8" => Variable::Text,
        "vlen-bytes" => Variable::Bytes,
        "json2" | "json" | "msgpack2" | "msgpack" => Variable::Json,
        "categorize" if filter.configuration.get("dtype").and_then(Json::as_str) == Some("|O") => {
            Variable::Text
        }
        "vlen-array" => Variable::Array(Box::new(items(filter, registry)?)),
        _ => return Ok(None),
    };
    Ok(Some(variable.parsed().data_type))
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

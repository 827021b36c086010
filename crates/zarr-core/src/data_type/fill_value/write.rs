//! Writes a fill value as JSON of a dialect.

use super::base64_encode;
use super::numbers::{hex, native};
use super::records::record_to_json;
use super::{DataType, FillValue, FloatFormat, Repr, Scalar, says_itself, strings, variable};
use crate::data_type::load_bits;
use crate::dialect::Dialect;
use crate::error::MetadataError;
use crate::json::Json;

/// The fill value in a dialect's words.
pub(crate) fn to_json(
    data_type: &DataType,
    value: Option<&FillValue>,
    dialect: Dialect,
) -> std::result::Result<Json, MetadataError> {
    let Some(value) = value else {
        return match dialect {
            Dialect::V3 => Err(MetadataError::CannotSpell {
                format: "v3",
                what: "an undefined fill value".into(),
                hint: "give one, such as 0".into(),
            }),
            _ => Ok(Json::Null),
        };
    };
    let bytes = value.as_bytes();
    match data_type {
        DataType::FixedBytes { .. } => Ok(strings::bytes_to_json(bytes)),
        DataType::FixedUtf32 { .. } => strings::decode_utf32(bytes)
            .map(Json::from)
            .ok_or_else(|| MetadataError::invalid("fill_value", "it is no UTF-32")),
        DataType::String | DataType::Bytes | DataType::Json | DataType::List(_) => {
            variable::to_json(data_type, bytes, dialect)
        }
        DataType::Record(record) => record_to_json(record, bytes, dialect),
        DataType::Optional(optional) => optional.fill_to_json(bytes, dialect),
        DataType::Extension(extension) => extension.fill_value_to_json(value, dialect),
        DataType::Unknown { fallback: Some(fallback), .. } => {
            to_json(fallback, Some(value), dialect)
        }
        DataType::Unknown { .. } => Ok(Json::Null),
        known => match known.repr() {
            Some(repr) => repr_to_json(repr, bytes, dialect),
            None => Ok(Json::Null),
        },
    }
}

/// An element that is nothing but this representation, in a dialect's words.
pub(crate) fn repr_to_json(
    repr: Repr,
    bytes: &[u8],
    dialect: Dialect,
) -> std::result::Result<Json, MetadataError> {
    Ok(match repr {
        Repr::Scalar(scalar) if scalar.is_computable() => scalar_to_json(scalar, bytes, dialect),
        Repr::Opaque(_) => match dialect {
            Dialect::V3 => bytes.iter().map(|&b| Json::from(u64::from(b))).collect(),
            Dialect::V2 => Json::from(base64_encode(bytes)),
            Dialect::Draft => Json::from(format!("0x{}", hex(bytes))),
        },
        other => return Err(MetadataError::invalid("fill_value", says_itself(other))),
    })
}

/// A number as a dialect's metadata. A time is its count, also NaT: zarr-python reads nothing else in v2 and
/// the drafts.
fn scalar_to_json(scalar: Scalar, element: &[u8], dialect: Dialect) -> Json {
    match scalar {
        Scalar::Bool => Json::Bool(element[0] != 0),
        Scalar::Float(format) => float_to_json(format, element, dialect),
        Scalar::Complex(format) => {
            let parts = element.chunks(format.size());
            parts.map(|part| float_to_json(format, part, dialect)).collect()
        }
        Scalar::Time(_) => scalar_to_json(Scalar::Int(64), element, dialect),
        Scalar::Int(_) | Scalar::Uint(_) => Json::Number(scalar.to_text(element).into()),
    }
}

/// The shortest words that read back to the same bits (F-036, F-037, Z2-051, D-117).
fn float_to_json(format: FloatFormat, bytes: &[u8], dialect: Dialect) -> Json {
    let bits = load_bits(bytes);
    let value = format.to_f64(bits);
    if value.is_nan() {
        return match dialect {
            Dialect::V2 => Json::from("NaN"),
            _ if Some(bits) == format.nan() => Json::from("NaN"),
            _ => Json::from(format!("0x{}", hex(&native(bytes)))),
        };
    }
    if value.is_infinite() {
        return Json::from(match (value > 0.0, dialect) {
            (false, _) => "-Infinity",
            (true, Dialect::Draft) => "+Infinity",
            (true, _) => "Infinity",
        });
    }
    // The f64's digits, so that readers that go through f64 round to the same bits.
    Json::Number(serde_json::to_string(&value).expect("finite").into())
}

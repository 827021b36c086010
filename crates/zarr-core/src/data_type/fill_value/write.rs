//! Writes a fill value as JSON of a dialect.

use super::base64_encode;
use super::numbers::{hex, native};
use super::records::record_to_json;
use super::{DataType, FillValue, FloatFormat, Repr};
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
        DataType::Core(core) => repr_to_json(core.repr(), bytes, dialect),
        DataType::Raw { size } => repr_to_json(Repr::Opaque(*size), bytes, dialect),
        DataType::Record(record) => record_to_json(record, bytes, dialect),
        DataType::Optional(optional) => optional.fill_to_json(bytes, dialect),
        DataType::Extension(extension) => extension.fill_value_to_json(value, dialect),
        DataType::Unknown { fallback: Some(fallback), .. } => {
            to_json(fallback, Some(value), dialect)
        }
        DataType::Unknown { .. } => Ok(Json::Null),
    }
}

/// An element that is nothing but this representation, in a dialect's words.
pub(crate) fn repr_to_json(
    repr: Repr,
    bytes: &[u8],
    dialect: Dialect,
) -> std::result::Result<Json, MetadataError> {
    let big = native(bytes); // an involution: now most significant first
    let wide = |sign: bool| {
        let mut all = [if sign && big[0] >= 0x80 { 0xff } else { 0 }; 16];
        all[16 - big.len()..].copy_from_slice(&big);
        Json::Number(i128::from_be_bytes(all).to_string().into())
    };
    let complex = |format: FloatFormat| {
        bytes.chunks(format.size()).map(|part| float_to_json(format, part, dialect)).collect()
    };
    Ok(match repr {
        Repr::Bool => Json::Bool(bytes[0] != 0),
        Repr::Int(1..=8) | Repr::IntBits(_) => wide(true),
        Repr::Uint(1..=8) | Repr::UintBits(_) => wide(false),
        Repr::Float(size @ (2 | 4 | 8)) => float_to_json(FloatFormat::ieee(size), bytes, dialect),
        Repr::FloatOf(format) => float_to_json(format, bytes, dialect),
        Repr::Complex(size @ (4 | 8 | 16)) => complex(FloatFormat::ieee(size / 2)),
        Repr::ComplexOf(format) => complex(format),
        Repr::Opaque(_) => match dialect {
            Dialect::V3 => bytes.iter().map(|&b| Json::from(u64::from(b))).collect(),
            Dialect::V2 => Json::from(base64_encode(bytes)),
            Dialect::Draft => Json::from(format!("0x{}", hex(bytes))),
        },
        other => {
            let why =
                format!("a type that rests on {other:?} says itself what its fill values are");
            return Err(MetadataError::invalid("fill_value", why));
        }
    })
}

/// The shortest words that read back to the same bits (F-036, F-037, Z2-051, D-117).
fn float_to_json(format: FloatFormat, bytes: &[u8], dialect: Dialect) -> Json {
    let bits = format.load(bytes);
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

//! How is a fill value said in a dialect's words?

use half::f16;

use super::base64_encode;
use super::numbers::{canonical_nan, hex, native};
use super::records::record_to_json;
use super::{CoreType, DataType, FillValue, Repr};
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
        DataType::Core(core) => Ok(core_to_json(*core, bytes, dialect)),
        DataType::Raw { .. } => Ok(match dialect {
            Dialect::V3 => bytes.iter().map(|&b| Json::from(u64::from(b))).collect(),
            Dialect::V2 => Json::from(base64_encode(bytes)),
            Dialect::Draft => Json::from(format!("0x{}", hex(bytes))),
        }),
        DataType::Record(record) => record_to_json(record, bytes, dialect),
        DataType::Extension(extension) => extension.fill_value_to_json(value, dialect),
        DataType::Unknown { fallback: Some(fallback), .. } => {
            to_json(fallback, Some(value), dialect)
        }
        DataType::Unknown { .. } => Ok(Json::Null),
    }
}

fn core_to_json(core: CoreType, bytes: &[u8], dialect: Dialect) -> Json {
    let big = native(bytes); // an involution: now most significant first
    let wide = |sign: bool| {
        let mut all = [if sign && big[0] >= 0x80 { 0xff } else { 0 }; 16];
        all[16 - big.len()..].copy_from_slice(&big);
        i128::from_be_bytes(all)
    };
    match core.repr() {
        Repr::Bool => Json::Bool(bytes[0] != 0),
        Repr::Int(_) => Json::Number(wide(true).to_string().into()),
        Repr::Uint(_) => Json::Number(wide(false).to_string().into()),
        Repr::Float(_) => float_to_json(bytes, dialect),
        Repr::Complex(n) => [&bytes[..n / 2], &bytes[n / 2..]]
            .into_iter()
            .map(|p| float_to_json(p, dialect))
            .collect(),
        _ => unreachable!("no core type is opaque, text or a record"),
    }
}

/// The shortest words that read back to the same bits (F-036, F-037, Z2-051, D-117).
fn float_to_json(bytes: &[u8], dialect: Dialect) -> Json {
    let big = native(bytes);
    let value = match *bytes {
        [a, b] => f16::from_ne_bytes([a, b]).to_f64(),
        [a, b, c, d] => f64::from(f32::from_ne_bytes([a, b, c, d])),
        _ => f64::from_ne_bytes(bytes.try_into().expect("a float has 2, 4 or 8 bytes")),
    };
    if value.is_nan() {
        return match dialect {
            Dialect::V2 => Json::from("NaN"),
            _ if big == canonical_nan(big.len()) => Json::from("NaN"),
            _ => Json::from(format!("0x{}", hex(&big))),
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

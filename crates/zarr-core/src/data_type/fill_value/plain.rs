//! Reads and writes the fill values of numbers and raw bytes, exact to the bit.

use super::FillValue;
use super::base64::{base64_decode, base64_encode};
use super::numbers::{Result, bit_string, bits_of_size, float_of_text, hex, is_decimal, native};
use crate::data_type::{
    FloatFormat, Repr, Rounding, Scalar, ScalarValue, integer_from_text, load_bits,
};
use crate::dialect::{Dialect, Strictness};
use crate::error::MetadataError;
use crate::json::Json;

/// The fill value that `json` means for elements that are nothing but this representation.
pub(crate) fn parse_repr(
    repr: Repr,
    json: &Json,
    dialect: Dialect,
) -> std::result::Result<FillValue, String> {
    let mut parser =
        FillParser { dialect, strictness: Strictness::Strict, warnings: &mut Vec::new() };
    parser.element(repr, json).map(FillValue::new)
}

/// Parses the JSON of elements in one dialect.
pub(super) struct FillParser<'a> {
    pub dialect: Dialect,
    pub strictness: Strictness,
    pub warnings: &'a mut Vec<String>,
}

impl FillParser<'_> {
    fn tolerate(&mut self, what: &str) -> Result<()> {
        match self.strictness {
            Strictness::Strict => Err(what.to_owned()),
            Strictness::Tolerant => {
                self.warnings.push(format!("`fill_value`: {what}"));
                Ok(())
            }
        }
    }

    fn element(&mut self, repr: Repr, json: &Json) -> Result<Vec<u8>> {
        match repr {
            Repr::Scalar(scalar) if scalar.is_computable() => self.scalar(scalar, json),
            Repr::Opaque(size) => self.raw(size, json),
            other => Err(says_itself(other)),
        }
    }

    pub fn scalar(&mut self, scalar: Scalar, json: &Json) -> Result<Vec<u8>> {
        // D-114: the drafts write the bits of any core type; final v3 those of floats.
        if let (Dialect::Draft, Some(bits)) = (self.dialect, json.as_str().and_then(bit_string)) {
            let bytes = bits.and_then(|bits| bits_of_size(bits, scalar.size()))?;
            if scalar == Scalar::Bool && bytes[0] > 1 {
                return Err("a bool has bits 00 or 01".into());
            }
            return Ok(bytes.chunks(scalar.part().size()).flat_map(native).collect());
        }
        match scalar {
            Scalar::Bool => match (json.as_bool(), json.as_u64()) {
                (Some(value), _) => Ok(vec![value as u8]),
                // Others write numbers (docs/internals/design/documents.md).
                (None, Some(value @ 0..=1)) => {
                    self.tolerate("a bool is `true` or `false`, not a number")?;
                    Ok(vec![value as u8])
                }
                _ => Err("a bool is `true` or `false`".into()),
            },
            Scalar::Int(_) | Scalar::Uint(_) => {
                let value = ScalarValue::Integer(self.integer(json)?);
                let bits = scalar.cast(value, Rounding::NearestEven, None).ok_or_else(|| {
                    let (least, most) = scalar.range();
                    format!("out of range; expected {least} to {most}")
                })?;
                Ok(scalar.element(bits))
            }
            Scalar::Float(format) => self.float(format, json),
            Scalar::Complex(format) => self.complex(format, json),
            // NaT, or the count as an `int64` (F-047, Z2-030).
            Scalar::Time(_) => {
                let bits = match json {
                    Json::String(text) if text == "NaT" => scalar.from_text(text),
                    Json::Number(text) => text.parse().ok().map(|count: i64| count as u64),
                    _ => None,
                };
                let bits = bits.ok_or("it is neither a 64-bit integer nor \"NaT\"")?;
                Ok(scalar.element(bits))
            }
        }
    }

    fn complex(&mut self, format: FloatFormat, json: &Json) -> Result<Vec<u8>> {
        match json.as_array() {
            Some([re, im]) => Ok([self.float(format, re)?, self.float(format, im)?].concat()),
            // So GDAL 3.6 writes those on the real axis.
            None if self.dialect != Dialect::V3
                && (json.as_number().is_some()
                    || self.dialect == Dialect::V2 && json.as_str().is_some_and(is_decimal)) =>
            {
                self.tolerate("a complex number has no imaginary part; taken as zero")?;
                Ok([self.float(format, json)?, vec![0; format.size()]].concat())
            }
            _ => Err("a complex number is `[real, imaginary]`".into()),
        }
    }

    /// Exact, however large; integral floats such as `7.0` and `1e3` are tolerated (F-033, D-112).
    fn integer(&mut self, json: &Json) -> Result<i128> {
        // In v2 any number may be decimal text (docs/internals/design/documents.md); in drafts GDAL 3.6 writes so those
        // that no double holds.
        let quoted =
            json.as_str().filter(|text| is_decimal(text)).filter(|text| match self.dialect {
                Dialect::V2 => true,
                Dialect::Draft => text.parse().is_ok_and(|n: u64| n > 1 << 53),
                Dialect::V3 => false,
            });
        if quoted.is_some() {
            self.tolerate("an integer is written as a string")?;
        }
        let text = quoted.or(json.as_number());
        let text = text.ok_or_else(|| format!("expected an integer, found {}", json.kind()))?;
        let value = integer_from_text(text).ok_or("it is not an integer, or too large")?;
        if text.parse::<i128>().is_err() {
            self.tolerate("an integer is written with a fraction or an exponent")?;
        }
        Ok(value)
    }

    fn float(&mut self, format: FloatFormat, json: &Json) -> Result<Vec<u8>> {
        let bits = match json {
            Json::Number(text) => float_of_text(format, text, self.dialect)?,
            Json::String(text) => self.float_word(format, text)?,
            _ => return Err(format!("expected a float, found {}", json.kind())),
        };
        Ok(Scalar::Float(format).element(bits))
    }

    fn float_word(&mut self, format: FloatFormat, text: &str) -> Result<u64> {
        match (text, self.dialect) {
            ("NaN", _) => return special_float(format, f64::NAN),
            ("-Infinity", _) => return special_float(format, f64::NEG_INFINITY),
            ("Infinity", Dialect::V3 | Dialect::V2) | ("+Infinity", Dialect::Draft) => {
                return special_float(format, f64::INFINITY);
            }
            ("Infinity" | "+Infinity", _) => {
                self.tolerate("infinity is spelled as in another dialect")?;
                return special_float(format, f64::INFINITY);
            }
            _ => {}
        }
        if self.dialect != Dialect::V2
            && let Some(bits) = bit_string(text)
        {
            if self.dialect == Dialect::V3 && !text.starts_with("0x") {
                return Err("the bits of a float are written `0x…`".into());
            }
            let bytes = bits.and_then(|bits| bits_of_size(bits, format.size()))?;
            let bits = bytes.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
            return match bits & !format.mask() {
                0 => Ok(bits),
                _ => Err(format!("a {} has {} bits", format.name(), format.bits())),
            };
        }
        // Z2-050, row 17 of the drafts: other forms that writers used.
        let other = match (self.dialect, text) {
            (Dialect::V3, _) => None,
            (_, "nan") => Some(f64::NAN),
            (_, "inf") => Some(f64::INFINITY),
            (_, "-inf") => Some(f64::NEG_INFINITY),
            _ if is_decimal(text) => {
                return self
                    .tolerate("a number is written as a string")
                    .and_then(|()| float_of_text(format, text, self.dialect));
            }
            _ => None,
        };
        let value = other.ok_or("not a float")?;
        self.tolerate("a float is spelled in another library's way")?;
        special_float(format, value)
    }

    pub fn raw(&mut self, size: usize, json: &Json) -> Result<Vec<u8>> {
        match (self.dialect, json) {
            // D-115: digits in storage order.
            (Dialect::Draft, Json::String(text)) => match bit_string(text) {
                Some(bits) => bits.and_then(|bits| bits_of_size(bits, size)),
                None => match base64_decode(text).filter(|bytes| bytes.len() == size) {
                    Some(bytes) => {
                        self.tolerate("raw bytes are written in base64, not as `0x…`")?;
                        Ok(bytes)
                    }
                    None => Err("raw bytes are written `0x…` or `0b…`".into()),
                },
            },
            // F-039: a list of bytes; F-049: base64 of `raw_bytes`.
            (Dialect::V3, Json::Array(items)) if items.len() == size => items
                .iter()
                .map(|i| i.as_u64().and_then(|b| u8::try_from(b).ok()))
                .collect::<Option<_>>()
                .ok_or_else(|| "a byte is an integer from 0 to 255".into()),
            (Dialect::V3 | Dialect::V2, Json::String(text)) => {
                let bytes = base64_decode(text).ok_or("not base64")?;
                match bytes.len() {
                    n if n == size => Ok(bytes),
                    0 if self.dialect == Dialect::V2 => Ok(vec![0; size]),
                    n => Err(format!("base64 of {n} bytes for elements of {size}")),
                }
            }
            (Dialect::V2, json) if json.as_i64() == Some(0) => {
                self.tolerate("0 is read as zero bytes")?;
                Ok(vec![0; size])
            }
            _ => Err(format!("expected an element of {size} bytes, found {}", json.kind())),
        }
    }
}

fn says_itself(repr: Repr) -> String {
    format!("a type that rests on {repr:?} says itself what its fill values are")
}

/// An element of this representation as a dialect's metadata.
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

/// The shortest JSON that reads back to the same bits (F-036, F-037, Z2-051, D-117).
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

/// The bits of infinity or NaN.
fn special_float(format: FloatFormat, value: f64) -> Result<u64> {
    format
        .from_f64(value, Rounding::NearestEven)
        .ok_or_else(|| format!("a {} has no {value:?}", format.name()))
}

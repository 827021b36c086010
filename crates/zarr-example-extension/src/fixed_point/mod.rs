//! A data type: fixed-point numbers, which readers that do not know them read as integers.
//!
//! An element is a number times 2 to the power of `fraction_bits`, stored as an integer of four bytes.
//! Final v3: `{"name": URI, "configuration": {"fraction_bits": 8}}`. The drafts: `{"extension": URI,
//! "type": "fixed-point:8", "fallback": "<i4"}`; who does not know the type reads those integers. A fill
//! value is decimal text or a number, such as `"-1.5"`. In the drafts it is written as the integer's bits,
//! `"0xfffffe80"`, which mean the same to readers of the fallback.

mod decimal;

use std::fmt;

use zarr_core::data_type::{DataType, Endian, ExtensionType, FillValue, ParsedType, Repr, Scalar};
use zarr_core::{Dialect, Json, MetadataError, Object};

/// The type's name.
pub const URI: &str = "https://example.org/zarr/data-type/fixed-point/1.0";

/// A number of 32 bits, some of them behind the binary point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPoint {
    fraction_bits: u32,
}

impl FixedPoint {
    /// The type with `fraction_bits` bits behind the point; `None` for more than 31.
    pub fn new(fraction_bits: u64) -> Option<FixedPoint> {
        u32::try_from(fraction_bits)
            .ok()
            .filter(|&n| n < 32)
            .map(|n| FixedPoint { fraction_bits: n })
    }
}

/// Makes the type from its metadata; `None` if they are another type's.
pub fn build(json: &Json, dialect: Dialect) -> Option<Result<ParsedType, MetadataError>> {
    let (fraction_bits, endian) = match dialect {
        Dialect::V3 if json.as_str().or(text(json, "name")) == Some(URI) => {
            let configuration = member(json, "configuration").and_then(Json::as_object);
            (configuration.and_then(|c| c.get("fraction_bits")).and_then(Json::as_u64), None)
        }
        Dialect::Draft if text(json, "extension") == Some(URI) => {
            let digits = text(json, "type").and_then(|text| text.strip_prefix("fixed-point:"));
            let endian = match text(json, "fallback") {
                Some(">i4") => Endian::Big,
                _ => Endian::Little,
            };
            (digits.and_then(|digits| digits.parse().ok()), Some(endian))
        }
        _ => return None,
    };
    let why = "fixed point has 0 to 31 fraction bits";
    let known = fraction_bits.and_then(FixedPoint::new).map(DataType::from);
    let known = known.ok_or_else(|| MetadataError::invalid("data_type", why));
    Some(known.map(|data_type| ParsedType { data_type, endian }))
}

/// A member of the metadata, if they are an object.
fn member<'a>(json: &'a Json, name: &str) -> Option<&'a Json> {
    json.as_object().and_then(|object| object.get(name))
}

/// A member of the metadata that is a text.
fn text<'a>(json: &'a Json, name: &str) -> Option<&'a str> {
    member(json, name).and_then(Json::as_str)
}

impl From<FixedPoint> for DataType {
    fn from(fixed_point: FixedPoint) -> DataType {
        DataType::extension(fixed_point)
    }
}

impl fmt::Display for FixedPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fixed-point:{}", self.fraction_bits)
    }
}

impl ExtensionType for FixedPoint {
    fn to_metadata(&self, dialect: Dialect, endian: Endian) -> Option<Json> {
        let words = match dialect {
            Dialect::V3 => {
                let bits = Object::new().with("fraction_bits", u64::from(self.fraction_bits));
                Object::new().with("name", URI).with("configuration", bits)
            }
            Dialect::Draft => {
                let words = Object::new().with("extension", URI).with("type", self.to_string());
                words.with("fallback", format!("{}i4", endian.mark()))
            }
            _ => return None,
        };
        Some(words.into())
    }

    fn repr(&self) -> Repr {
        Scalar::Int(32).into()
    }

    fn fill_value_from_json(
        &self,
        json: &Json,
        dialect: Dialect,
    ) -> Result<FillValue, MetadataError> {
        let text = json.as_str().or(json.as_number()).unwrap_or_default();
        let bits =
            text.strip_prefix("0x").filter(|bits| dialect == Dialect::Draft && bits.len() == 8);
        let element = match bits {
            Some(bits) => u32::from_str_radix(bits, 16).ok().map(u32::cast_signed),
            None => self.element(text),
        };
        let element = element.ok_or_else(|| {
            let why = format!("{} is not a value of {self}", json.brief());
            MetadataError::invalid("fill_value", why)
        })?;
        Ok(FillValue::new(element.to_ne_bytes()))
    }

    fn fill_value_to_json(
        &self,
        value: &FillValue,
        dialect: Dialect,
    ) -> Result<Json, MetadataError> {
        let bytes = value.as_bytes().try_into();
        let bytes = bytes.map_err(|_| MetadataError::invalid("fill_value", "it has four bytes"))?;
        let element = i32::from_ne_bytes(bytes);
        Ok(Json::from(match dialect {
            Dialect::Draft => format!("0x{element:08x}"),
            _ => self.text(element),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    fn made(text: &str, dialect: Dialect) -> Option<Result<ParsedType, MetadataError>> {
        build(&parse(text), dialect)
    }

    #[test]
    fn words_are_read_and_said_again() {
        let v3 = format!(r#"{{"name":"{URI}","configuration":{{"fraction_bits":8}}}}"#);
        let found = made(&v3, Dialect::V3).unwrap().unwrap();
        assert_eq!((found.data_type.to_string().as_str(), found.endian), ("fixed-point:8", None));
        assert_eq!(found.data_type.to_metadata(Dialect::V3, Endian::Little), Some(parse(&v3)));
        for (mark, endian) in [('<', Endian::Little), ('>', Endian::Big)] {
            let words = format!(r#""type":"fixed-point:8","fallback":"{mark}i4""#);
            let draft = format!(r#"{{"extension":"{URI}",{words}}}"#);
            let found = made(&draft, Dialect::Draft).unwrap().unwrap();
            assert_eq!(found.endian, Some(endian));
            assert_eq!(found.data_type.to_metadata(Dialect::Draft, endian), Some(parse(&draft)));
        }
        assert!(FixedPoint::new(8).unwrap().to_metadata(Dialect::V2, Endian::Little).is_none());
        for other in [r#""int32""#, r#"{"name":"zork"}"#, &v3.replace("name", "extension")] {
            assert!(made(other, Dialect::V3).is_none(), "{other}");
        }
        assert!(made(&v3.replace('8', "32"), Dialect::V3).unwrap().is_err());
        assert!(made(&v3.replace("fraction", "other"), Dialect::V3).unwrap().is_err());
        assert!(build(&Json::from(URI), Dialect::V3).unwrap().is_err());
        let draft = format!(r#"{{"extension":"{URI}","type":"fixed-point"}}"#);
        assert!(made(&draft, Dialect::Draft).unwrap().is_err());
    }

    #[test]
    fn fill_values_are_exact() {
        let eight = FixedPoint::new(8).unwrap();
        let fill = |text: &str, dialect| eight.fill_value_from_json(&parse(text), dialect);
        let expected = FillValue::new((-384i32).to_ne_bytes());
        for text in [r#""-1.5""#, "-1.5", "-1.50"] {
            assert_eq!(fill(text, Dialect::V3).unwrap(), expected);
        }
        assert_eq!(fill(r#""0xfffffe80""#, Dialect::Draft).unwrap(), expected);
        assert!(fill(r#""0xfffffe80""#, Dialect::V3).is_err());
        for wrong in ["0.1", "null", "true", r#""0xfe80""#, "[]", "1e1"] {
            assert!(fill(wrong, Dialect::Draft).is_err(), "{wrong}");
        }
        let said = |dialect| eight.fill_value_to_json(&expected, dialect).unwrap().to_string();
        assert_eq!(said(Dialect::V3), r#""-1.5""#);
        assert_eq!(said(Dialect::Draft), r#""0xfffffe80""#);
        assert!(eight.fill_value_to_json(&FillValue::zero(3), Dialect::V3).is_err());
    }
}

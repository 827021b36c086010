//! Reads and writes the fill value of each data type.
//!
//! Records in v2 and the drafts are the stored bytes in base64: there the byte order of each field counts, and
//! a field without one is little-endian. Final v3 has an object with the value of every field, and
//! base64 where zarr-python 3.1 wrote it (Z2-052, F-050, F-051).

use super::numbers::Result;
use super::plain::{FillParser, repr_to_json};
use super::{FillValue, base64_decode, base64_encode};
use crate::data_type::{ByteSwap, DataType, Endian, Optional, Origin, Record, strings, variable};
use crate::dialect::{Dialect, Strictness};
use crate::error::MetadataError;
use crate::json::{Json, Object};

/// What [`DataType::element_from_json`] does.
pub(crate) fn parse_element(
    data_type: &DataType,
    json: &Json,
    dialect: Dialect,
) -> std::result::Result<FillValue, MetadataError> {
    let mut warnings = Vec::new();
    let found = parse(data_type, json, dialect, Strictness::Tolerant, &mut warnings)?;
    found.ok_or_else(|| {
        let why = format!("{} is not a value of {data_type}", json.brief());
        MetadataError::invalid("fill_value", why)
    })
}

/// The fill value that `json` means for `data_type`; `None` where the dialect lets it be undefined.
///
/// What only a tolerant reader takes is noted in `warnings`.
pub(crate) fn parse(
    data_type: &DataType,
    json: &Json,
    dialect: Dialect,
    strictness: Strictness,
    warnings: &mut Vec<String>,
) -> std::result::Result<Option<FillValue>, MetadataError> {
    if *json == Json::Null && dialect != Dialect::V3 {
        return Ok(None);
    }
    // Their reader has been warned of bare ones (docs/internals/design/documents.md).
    let standard;
    let json = if json.has_bare_floats() {
        standard = json.clone().into_standard();
        &standard
    } else {
        json
    };
    let mut parser = FillParser { dialect, strictness, warnings };
    let parsed = match data_type {
        DataType::Raw { size } => parser.raw(*size, json),
        DataType::FixedBytes { len } => strings::bytes_from_json(*len, json, dialect),
        DataType::FixedUtf32 { len } => strings::utf32_from_json(*len, json, dialect),
        DataType::String | DataType::Bytes | DataType::Json | DataType::List(_) => {
            variable::from_json(data_type, json, dialect)
        }
        DataType::Record(record) => parser.record(record, json),
        DataType::Optional(optional) => parser.optional(optional, json),
        DataType::Extension(extension) => {
            return extension.fill_value_from_json(json, dialect).map(Some);
        }
        DataType::Unknown { fallback: Some(fallback), .. } => {
            // D-116: as the fallback's, if it can be; else undefined.
            return Ok(parse(fallback, json, dialect, strictness, warnings).unwrap_or_else(|_| {
                warnings.push(format!(
                    "`fill_value` {} is not a value of the fallback type",
                    json.brief()
                ));
                None
            }));
        }
        DataType::Unknown { .. } => return Ok(None),
        _ => match data_type.scalar() {
            Some(scalar) => parser.scalar(scalar, json),
            None => Err("it is not a number".into()),
        },
    };
    match parsed {
        Ok(bytes) => Ok(Some(FillValue::new(bytes))),
        Err(why) => {
            let why = format!("{} is not a value of {data_type}: {why}", json.brief());
            Err(MetadataError::invalid("fill_value", why))
        }
    }
}

/// The fill value as a dialect's metadata.
pub(crate) fn to_json(
    data_type: &DataType,
    value: Option<&FillValue>,
    dialect: Dialect,
) -> std::result::Result<Json, MetadataError> {
    let Some(value) = value else {
        return match dialect {
            Dialect::V3 => Err(MetadataError::CannotRepresent {
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
            .ok_or_else(|| MetadataError::invalid("fill_value", "it is not UTF-32")),
        DataType::String | DataType::Bytes | DataType::Json | DataType::List(_) => {
            variable::to_json(data_type, bytes, dialect)
        }
        DataType::Record(record) => record_to_json(record, bytes, dialect),
        DataType::Optional(optional) => {
            let Some((1, inner)) = bytes.split_first() else { return Ok(Json::Null) };
            let inner = to_json(optional.inner(), Some(&FillValue::new(inner)), dialect)?;
            Ok(Json::Array(vec![inner]))
        }
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

impl FillParser<'_> {
    /// An element of a type that is inside another.
    fn inside(&mut self, data_type: &DataType, json: &Json) -> Result<FillValue> {
        let value = parse(data_type, json, self.dialect, self.strictness, self.warnings);
        value.map_err(MetadataError::into_why)?.ok_or_else(|| "it is undefined".into())
    }

    /// `null`, or a list of the one value inside.
    fn optional(&mut self, optional: &Optional, json: &Json) -> Result<Vec<u8>> {
        match json {
            Json::Null => Ok(vec![0; optional.size()]),
            Json::Array(items) if items.len() == 1 => {
                let inner = self.inside(optional.inner(), &items[0])?;
                Ok([&[1], inner.as_bytes()].concat())
            }
            _ => Err("expected null, or a list of one value".into()),
        }
    }

    fn record(&mut self, record: &Record, json: &Json) -> Result<Vec<u8>> {
        match (self.dialect, json) {
            (Dialect::V3, Json::Object(values)) => {
                let mut bytes = Vec::with_capacity(record.size());
                for field in record.fields() {
                    let name = field.name();
                    let value =
                        values.get(name).ok_or_else(|| format!("field `{name}` is missing"))?;
                    self.field(field.data_type(), field.shape(), value, &mut bytes)
                        .map_err(|why| format!("field `{name}`: {why}"))?;
                }
                if values.len() == record.fields().len() {
                    Ok(bytes)
                } else {
                    Err("it has a field that the type does not have".into())
                }
            }
            (_, Json::String(text)) => {
                let mut bytes = base64_decode(text).ok_or("it is not base64")?;
                match bytes.len() {
                    0 if self.dialect != Dialect::V3 => bytes.resize(record.size(), 0),
                    n if n == record.size() => {}
                    n => return Err(format!("base64 of {n} bytes for {}", record.size())),
                }
                let data_type = DataType::from(record.clone());
                ByteSwap::between(&data_type, Endian::Little, Endian::NATIVE).apply(&mut bytes);
                data_type.check(&mut bytes, Origin::LenientStore).map_err(|e| e.to_string())?;
                Ok(bytes)
            }
            (Dialect::V2 | Dialect::Draft, json) if json.as_i64() == Some(0) => {
                Ok(vec![0; record.size()])
            }
            (Dialect::V3, _) => Err("a record is an object with the value of every field".into()),
            _ => Err("a record is written in base64".into()),
        }
    }

    /// One value, or lists of them where the field has a shape.
    fn field(
        &mut self,
        data_type: &DataType,
        shape: &[u64],
        json: &Json,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let Some((&len, inner)) = shape.split_first() else {
            bytes.extend(self.inside(data_type, json)?.as_bytes());
            return Ok(());
        };
        let items = json.as_array().filter(|items| items.len() as u64 == len);
        let items = items.ok_or_else(|| format!("expected a list of {len}"))?;
        items.iter().try_for_each(|item| self.field(data_type, inner, item, bytes))
    }
}

/// The fill value of a record as a dialect's metadata.
fn record_to_json(
    record: &Record,
    bytes: &[u8],
    dialect: Dialect,
) -> std::result::Result<Json, MetadataError> {
    if dialect != Dialect::V3 {
        let mut bytes = bytes.to_vec();
        let data_type = DataType::from(record.clone());
        ByteSwap::between(&data_type, Endian::Little, Endian::NATIVE).apply(&mut bytes);
        return Ok(Json::from(base64_encode(&bytes)));
    }
    let mut object = Object::new();
    for field in record.fields() {
        let element = &bytes[field.offset()..field.offset() + field.size()];
        object.insert(field.name(), field_to_json(field.data_type(), field.shape(), element)?);
    }
    Ok(object.into())
}

fn field_to_json(
    data_type: &DataType,
    shape: &[u64],
    bytes: &[u8],
) -> std::result::Result<Json, MetadataError> {
    match shape.split_first() {
        None => to_json(data_type, Some(&FillValue::new(bytes)), Dialect::V3),
        Some((&len, inner)) => {
            let items = bytes.chunks_exact(bytes.len() / len as usize);
            let items = items.map(|item| field_to_json(data_type, inner, item));
            Ok(Json::Array(items.collect::<std::result::Result<_, _>>()?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;
    use crate::dialect::Strictness;

    fn bytes(words: &str, dialect: Dialect, fill: &str) -> Option<Vec<u8>> {
        let json = |text: &str| Json::parse(text.as_bytes()).unwrap();
        let parsed = Registry::new().parse_data_type(&json(words), dialect).unwrap();
        let data_type = parsed.data_type.stored_in(Some(parsed.endian.unwrap_or(Endian::Little)));
        let strict = Strictness::Strict;
        let value = parse(&data_type, &json(fill), dialect, strict, &mut Vec::new()).ok()??;
        let back = to_json(&data_type, Some(&value), dialect).unwrap();
        let again = parse(&data_type, &back, dialect, strict, &mut Vec::new()).unwrap();
        assert_eq!(again, Some(value.clone()), "{back}");
        let mut element = value.as_bytes().to_vec();
        if Endian::NATIVE == Endian::Big {
            ByteSwap::of_all(&data_type).apply(&mut element);
        }
        Some(element)
    }

    fn point(a: i32, b: f64) -> Option<Vec<u8>> {
        Some([&a.to_le_bytes()[..], &b.to_le_bytes()].concat())
    }

    /// Z2-052, draft-v3.md 3.3: the specifications' vectors.
    #[test]
    fn base64_is_what_is_stored() {
        let mixed = r#"[["x","<i4"],["y",">f8"]]"#;
        assert_eq!(bytes(mixed, Dialect::V2, "\"BwAAAD/wAAAAAAAA\""), point(7, 1.0));
        let big = r#"[["x",">i4"],["y",">f8"]]"#;
        assert_eq!(bytes(big, Dialect::V2, "\"AAAABz/wAAAAAAAA\""), point(7, 1.0));
        let draft = r#"{"extension":"TODO: structured array protocol URL","type":[["a","<i4"],["b","<f8"]],"fallback":null}"#;
        assert_eq!(bytes(draft, Dialect::Draft, "\"AQAAAAAAAAAAAABA\""), point(1, 2.0));
        for zero in ["\"\"", "0"] {
            assert_eq!(bytes(mixed, Dialect::V2, zero), point(0, 0.0));
            assert_eq!(bytes(draft, Dialect::Draft, zero), point(0, 0.0));
        }
        for bad in ["\"BwAAAD/wAAAAAA==\"", "\"BwAAAD/wAAAAAAAAAA==\"", "1", "{}", "\"?\"", "false"]
        {
            assert_eq!(bytes(mixed, Dialect::V2, bad), None, "{bad}");
        }
    }

    /// F-050, F-051.
    #[test]
    fn final_v3_says_every_field() {
        let words = r#"{"name":"struct","configuration":{"fields":[
            {"name":"a","data_type":"int32"},{"name":"b","data_type":"float64"}]}}"#;
        assert_eq!(bytes(words, Dialect::V3, r#"{"b":2.0,"a":1}"#), point(1, 2.0));
        for bad in
            [r#"{"a":1}"#, r#"{"a":1,"b":2.0,"c":3}"#, "0", "null", r#"{"a":1,"b":null}"#, "[1,2]"]
        {
            assert_eq!(bytes(words, Dialect::V3, bad), None, "{bad}");
        }
        let legacy =
            r#"{"name":"structured","configuration":{"fields":[["x","float32"],["y","float64"]]}}"#;
        let expected = [&1f32.to_le_bytes()[..], &2f64.to_le_bytes()].concat();
        assert_eq!(bytes(legacy, Dialect::V3, "\"AACAPwAAAAAAAABA\""), Some(expected));
        assert_eq!(bytes(legacy, Dialect::V3, "\"\""), None);
    }
}

//! Reads and writes fixed-length text types as metadata of each dialect.
//!
//! v2 has `|S7` (bytes) and `<U5` (UTF-32); final v3 calls them `null_terminated_bytes` and
//! `fixed_length_utf32`; zarr-python 2.18 wrote them into the draft as extensions
//! (Z2-034, F-048, F-049, draft-v3.md 3.3). Both are padded with NULs.

use std::fmt;
use std::sync::Arc;

use super::fill_value::{base64_decode, base64_encode};
use super::{DataType, Endian, ExtensionType, FillValue, ParsedType, Repr};
use crate::dialect::Dialect;
use crate::error::{CodecError, MetadataError};
use crate::json::{Json, Object};

/// Bytes padded with NULs to a fixed length: `|S7`, `null_terminated_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedBytes {
    /// Bytes in an element.
    pub len: usize,
}

/// UTF-32 padded with NULs to a fixed length: `<U5`, `fixed_length_utf32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedUnicode {
    /// Code points in an element.
    pub len: usize,
}

fn v3_object(name: &str, length_bytes: usize) -> Json {
    let configuration = Object::new().with("length_bytes", length_bytes as u64);
    Object::new().with("name", name).with("configuration", configuration).into()
}

fn draft_object(what: &str, typestr: String) -> Json {
    let extension = format!("TODO: {what} array protocol URL");
    Object::new()
        .with("extension", extension)
        .with("type", typestr)
        .with("fallback", Json::Null)
        .into()
}

impl fmt::Display for FixedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "|S{}", self.len)
    }
}

impl ExtensionType for FixedBytes {
    fn spelling(&self, dialect: Dialect, _: Endian) -> Option<Json> {
        Some(match dialect {
            Dialect::V2 => Json::from(self.to_string()),
            Dialect::V3 => v3_object("null_terminated_bytes", self.len),
            Dialect::Draft => draft_object("bytestring", self.to_string()),
        })
    }

    fn repr(&self) -> Repr {
        Repr::Opaque(self.len)
    }

    fn fill_value_from_json(
        &self,
        json: &Json,
        dialect: Dialect,
    ) -> Result<FillValue, MetadataError> {
        let mut bytes = match json {
            Json::String(text) => base64_decode(text).ok_or_else(|| {
                MetadataError::invalid("fill_value", format!("{} is not base64", json.brief()))
            })?,
            // Z2-052: zero bytes.
            json if json.as_i64() == Some(0) && dialect != Dialect::V3 => vec![],
            _ => {
                let why = format!("base64 text is due, not {}", json.kind());
                return Err(MetadataError::invalid("fill_value", why));
            }
        };
        if bytes.len() > self.len {
            let why = format!("{} bytes do not fit elements of {}", bytes.len(), self.len);
            return Err(MetadataError::invalid("fill_value", why));
        }
        bytes.resize(self.len, 0);
        Ok(FillValue::new(bytes))
    }

    fn fill_value_to_json(&self, value: &FillValue, _: Dialect) -> Result<Json, MetadataError> {
        let bytes = value.as_bytes();
        Ok(Json::from(if bytes.iter().all(|&b| b == 0) {
            String::new()
        } else {
            base64_encode(bytes)
        }))
    }
}

impl fmt::Display for FixedUnicode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "U{}", self.len)
    }
}

impl ExtensionType for FixedUnicode {
    fn spelling(&self, dialect: Dialect, endian: Endian) -> Option<Json> {
        let typestr = format!("{}U{}", endian.mark(), self.len);
        Some(match dialect {
            Dialect::V2 => Json::from(typestr),
            Dialect::V3 => v3_object("fixed_length_utf32", self.len * 4),
            Dialect::Draft => draft_object("unicode", typestr),
        })
    }

    fn repr(&self) -> Repr {
        Repr::Utf32(self.len)
    }

    fn fill_value_from_json(
        &self,
        json: &Json,
        dialect: Dialect,
    ) -> Result<FillValue, MetadataError> {
        let text = match json {
            Json::String(text) => text.as_str(),
            json if json.as_i64() == Some(0) && dialect != Dialect::V3 => "",
            _ => {
                let why = format!("text is due, not {}", json.kind());
                return Err(MetadataError::invalid("fill_value", why));
            }
        };
        let mut bytes: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_ne_bytes()).collect();
        if bytes.len() > self.len * 4 {
            let why = format!("{} does not fit {} code points", json.brief(), self.len);
            return Err(MetadataError::invalid("fill_value", why));
        }
        bytes.resize(self.len * 4, 0);
        Ok(FillValue::new(bytes))
    }

    fn fill_value_to_json(&self, value: &FillValue, _: Dialect) -> Result<Json, MetadataError> {
        let text = decode_utf32(value.as_bytes())
            .ok_or_else(|| MetadataError::invalid("fill_value", "it is no UTF-32"))?;
        Ok(Json::from(text))
    }

    fn needs_check(&self) -> bool {
        true
    }

    fn check(&self, elements: &[u8]) -> Result<(), CodecError> {
        let (units, _) = elements.as_chunks::<4>();
        match units.iter().map(|u| u32::from_ne_bytes(*u)).find(|&u| char::from_u32(u).is_none()) {
            Some(unit) => {
                Err(CodecError::corrupt("bytes", format!("{unit:#x} is not a code point")))
            }
            None => Ok(()),
        }
    }
}

/// The text of native UTF-32, without its trailing NULs; `None` if a unit is no code point.
pub(crate) fn decode_utf32(element: &[u8]) -> Option<String> {
    let (units, _) = element.as_chunks::<4>();
    let text: String =
        units.iter().map(|u| char::from_u32(u32::from_ne_bytes(*u))).collect::<Option<_>>()?;
    Some(text.trim_end_matches('\0').to_owned())
}

/// `|S7`, `<U5`, `|V6`, with any byte order mark; `None` for other words.
///
/// A length of zero, or one that no memory holds, is an error (Z2-031).
pub(crate) fn from_typestr(text: &str) -> Option<Result<ParsedType, String>> {
    let unmarked = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
    let kind = unmarked.chars().next().filter(|c| "SUV".contains(*c))?;
    let digits = &unmarked[1..];
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let len = digits.parse::<usize>().ok().filter(|&n| (1..=MAX_ELEMENT / 4).contains(&n));
    let Some(len) = len else {
        return Some(Err(format!(
            "elements of {digits} units: a type has 1 to {} of them",
            MAX_ELEMENT / 4
        )));
    };
    let endian = if text.starts_with('>') { Endian::Big } else { Endian::Little };
    Some(Ok(match kind {
        'S' => ParsedType {
            data_type: DataType::Extension(Arc::new(FixedBytes { len })),
            endian: None,
        },
        'U' => ParsedType {
            data_type: DataType::Extension(Arc::new(FixedUnicode { len })),
            endian: Some(endian),
        },
        _ => ParsedType { data_type: DataType::Raw { size: len }, endian: None },
    }))
}

/// The largest element this library handles, in bytes: what a document claims is no reason to allocate.
pub(crate) const MAX_ELEMENT: usize = 1 << 24;

/// `fixed_length_utf32`, `null_terminated_bytes`, `raw_bytes` of final v3; `None` for other names.
pub(crate) fn from_v3(
    name: &str,
    configuration: Option<&Object>,
) -> Option<Result<DataType, String>> {
    if !["fixed_length_utf32", "null_terminated_bytes", "raw_bytes"].contains(&name) {
        return None;
    }
    let len = configuration
        .and_then(|c| c.get("length_bytes"))
        .and_then(Json::as_u64)
        .and_then(|n| usize::try_from(n).ok())
        .filter(|n| (1..=MAX_ELEMENT).contains(n));
    Some(match (name, len) {
        (_, None) => Err(format!("`{name}` needs a `length_bytes` from 1 to {MAX_ELEMENT}")),
        ("fixed_length_utf32", Some(len)) if len % 4 != 0 => {
            Err("`length_bytes` is a multiple of 4".into())
        }
        ("fixed_length_utf32", Some(len)) => {
            Ok(DataType::Extension(Arc::new(FixedUnicode { len: len / 4 })))
        }
        ("raw_bytes", Some(size)) => Ok(DataType::Raw { size }),
        (_, Some(len)) => Ok(DataType::Extension(Arc::new(FixedBytes { len }))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Z2-031, Z2-034, F-048.
    #[test]
    fn lengths_are_sane() {
        for bad in ["|S0", "<U0", "|V0", "<U99999999999999999999", "|V2305843009213693952"] {
            assert!(from_typestr(bad).unwrap().is_err(), "{bad}");
        }
        for other in ["<i4", "|S", "S1x", "|O", ""] {
            assert!(from_typestr(other).is_none(), "{other}");
        }
        let config = |n: u64| Object::new().with("length_bytes", n);
        assert!(from_v3("fixed_length_utf32", Some(&config(6))).unwrap().is_err());
        assert!(from_v3("fixed_length_utf32", Some(&config(0))).unwrap().is_err());
        assert!(from_v3("fixed_length_utf32", None).unwrap().is_err());
        assert!(from_v3("fixed_length_utf32", Some(&config(8))).unwrap().is_ok());
    }

    /// Z2-034, Z2-052, F-048: too long is an error, too short is padded.
    #[test]
    fn fill_values_fit_the_element() {
        let s = FixedBytes { len: 3 };
        assert_eq!(
            s.fill_value_from_json(&"YQ==".into(), Dialect::V2).unwrap().as_bytes(),
            b"a\0\0"
        );
        assert!(s.fill_value_from_json(&"YWFhYQ==".into(), Dialect::V2).is_err());
        let u = FixedUnicode { len: 2 };
        assert!(u.fill_value_from_json(&"abc".into(), Dialect::V3).is_err());
        let fill = u.fill_value_from_json(&"é".into(), Dialect::V3).unwrap();
        assert_eq!(u.fill_value_to_json(&fill, Dialect::V3).unwrap(), Json::from("é"));
        assert!(u.check(&0xD800u32.to_ne_bytes()).is_err());
    }
}

//! Reads and writes fixed-length text types as metadata of each dialect.
//!
//! v2 has `|S7` (bytes) and `<U5` (UTF-32); final v3 calls them `null_terminated_bytes` and
//! `fixed_length_utf32`; zarr-python 2.18 wrote them into the draft as extensions
//! (Z2-034, F-048, F-049, draft-v3.md 3.3). Both are padded with NULs.

use super::fill_value::{base64_decode, base64_encode};
use super::{DataType, Endian, MAX_ELEMENT, ParsedType};
use crate::dialect::Dialect;
use crate::json::{Json, Object};

fn v3_object(name: &str, length_bytes: usize) -> Json {
    let configuration = Object::new().with("length_bytes", length_bytes as u64);
    Object::extension(name, configuration).into()
}

fn draft_object(what: &str, typestr: String) -> Json {
    let extension = format!("TODO: {what} array protocol URL");
    Object::new()
        .with("extension", extension)
        .with("type", typestr)
        .with("fallback", Json::Null)
        .into()
}

/// Bytes of fixed length as a dialect's metadata.
pub(super) fn bytes_to_metadata(len: usize, dialect: Dialect) -> Json {
    let typestr = format!("|S{len}");
    match dialect {
        Dialect::V2 => Json::from(typestr),
        Dialect::V3 => v3_object("null_terminated_bytes", len),
        Dialect::Draft => draft_object("bytestring", typestr),
    }
}

/// UTF-32 of fixed length as a dialect's metadata.
pub(super) fn utf32_to_metadata(len: usize, dialect: Dialect, endian: Endian) -> Json {
    let typestr = format!("{}U{len}", endian.mark());
    match dialect {
        Dialect::V2 => Json::from(typestr),
        Dialect::V3 => v3_object("fixed_length_utf32", len * 4),
        Dialect::Draft => draft_object("unicode", typestr),
    }
}

/// The fill value of bytes of fixed length.
pub(super) fn bytes_from_json(
    len: usize,
    json: &Json,
    dialect: Dialect,
) -> Result<Vec<u8>, String> {
    let mut bytes = match json {
        Json::String(text) => base64_decode(text).ok_or("it is not base64")?,
        // Z2-052: zero bytes.
        json if json.as_i64() == Some(0) && dialect != Dialect::V3 => vec![],
        _ => return Err(format!("expected base64 text, found {}", json.kind())),
    };
    if bytes.len() > len {
        return Err(format!("{} bytes do not fit elements of {len}", bytes.len()));
    }
    bytes.resize(len, 0);
    Ok(bytes)
}

pub(super) fn bytes_to_json(element: &[u8]) -> Json {
    let is_empty = element.iter().all(|&byte| byte == 0);
    Json::from(if is_empty { String::new() } else { base64_encode(element) })
}

/// The fill value of UTF-32 of fixed length.
pub(super) fn utf32_from_json(
    len: usize,
    json: &Json,
    dialect: Dialect,
) -> Result<Vec<u8>, String> {
    let text = match json {
        Json::String(text) => text.as_str(),
        json if json.as_i64() == Some(0) && dialect != Dialect::V3 => "",
        _ => return Err(format!("expected text, found {}", json.kind())),
    };
    let mut bytes: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_ne_bytes()).collect();
    if bytes.len() > len * 4 {
        return Err(format!("it has more than {len} code points"));
    }
    bytes.resize(len * 4, 0);
    Ok(bytes)
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
        'S' => ParsedType { data_type: DataType::FixedBytes { len }, endian: None },
        'U' => ParsedType { data_type: DataType::FixedUtf32 { len }, endian: Some(endian) },
        _ => ParsedType { data_type: DataType::Raw { size: len }, endian: None },
    }))
}

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
        ("fixed_length_utf32", Some(len)) => Ok(DataType::FixedUtf32 { len: len / 4 }),
        ("raw_bytes", Some(size)) => Ok(DataType::Raw { size }),
        (_, Some(len)) => Ok(DataType::FixedBytes { len }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::Origin;

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
        let s = DataType::FixedBytes { len: 3 };
        assert_eq!(s.element_from_json(&"YQ==".into(), Dialect::V2).unwrap().as_bytes(), b"a\0\0");
        assert!(s.element_from_json(&"YWFhYQ==".into(), Dialect::V2).is_err());
        let u = DataType::FixedUtf32 { len: 2 };
        assert!(u.element_from_json(&"abc".into(), Dialect::V3).is_err());
        let fill = u.element_from_json(&"é".into(), Dialect::V3).unwrap();
        assert_eq!(u.element_to_json(&fill, Dialect::V3).unwrap(), Json::from("é"));
        assert!(u.check(&mut 0xD800u32.to_ne_bytes(), Origin::Store).is_err());
    }
}

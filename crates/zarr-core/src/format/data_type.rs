//! Parses the data type in the metadata of each dialect.

use crate::data_type::{
    BuildDataType, CoreType, DataType, MAX_ELEMENT, ParseType, ParsedType, datetime, from_typestr,
    minifloat, optional, record_json, strings,
};
use crate::dialect::Dialect;
use crate::error::MetadataError;
use crate::json::Json;

/// The type that a dialect's metadata name, and the byte order if they have it; see
/// [`Registry::parse_data_type`](crate::Registry::parse_data_type). Types of third parties are tried first.
pub(crate) fn parse_data_type(
    json: &Json,
    dialect: Dialect,
    extensions: &[BuildDataType],
) -> Result<ParsedType, MetadataError> {
    if let Some(parsed) = extensions.iter().find_map(|build| build(json, dialect)) {
        return parsed;
    }
    let inside = |json: &Json, dialect| parse_data_type(json, dialect, extensions);
    let (member, parsed) = match dialect {
        Dialect::V3 => ("data_type", parse_v3(json, &inside)),
        Dialect::V2 => ("dtype", parse_v2(json, &inside)),
        Dialect::Draft => ("data_type", parse_draft(json, &inside)),
    };
    parsed.map_err(|why| MetadataError::invalid(member, why))
}

type Parsed = Result<ParsedType, String>;

fn plain(data_type: DataType) -> Parsed {
    Ok(ParsedType { data_type, endian: None })
}

fn unknown(declared: &Json) -> Parsed {
    plain(DataType::Unknown { declared: declared.clone(), fallback: None })
}

/// `r24` (F-039, D-032); `None` for other words.
fn raw_bits(name: &str) -> Option<Parsed> {
    let digits = name.strip_prefix('r').filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
    let bits = digits
        .parse::<usize>()
        .ok()
        .filter(|bits| bits.is_multiple_of(8) && !digits.starts_with('0'));
    Some(match bits.map(|bits| bits / 8) {
        Some(size @ 1..=MAX_ELEMENT) => plain(DataType::Raw { size }),
        _ => Err(format!("`{name}`: raw bits are a multiple of 8, from 8 to {}", MAX_ELEMENT * 8)),
    })
}

fn parse_v3(json: &Json, parse: ParseType<'_>) -> Parsed {
    let (name, configuration) = match json {
        Json::String(name) => (name.as_str(), None),
        Json::Object(object) => match object.get("name") {
            Some(Json::String(name)) => {
                (name.as_str(), object.get("configuration").and_then(Json::as_object))
            }
            _ => return Err("an extension object needs a string `name`".into()),
        },
        _ => return Err(format!("expected a name, found {}", json.kind())),
    };
    // A configuration that is not understood makes another type of it (docs/internals/design/strictness.md).
    let known: Option<&[&str]> = match name {
        "fixed_length_utf32" | "null_terminated_bytes" | "raw_bytes" => Some(&["length_bytes"]),
        "numpy.datetime64" | "numpy.timedelta64" => Some(&["unit", "scale_factor"]),
        "struct" | "structured" => Some(&["fields"]),
        name if CoreType::from_name(name).is_some() || variable(name).is_some() => Some(&[]),
        _ => None,
    };
    if let (Some(known), Some(configuration)) = (known, configuration)
        && configuration.iter().any(|(name, _)| !known.contains(&name))
    {
        return unknown(json);
    }
    if let Some(core) = CoreType::from_name(name) {
        return plain(core.into());
    }
    if let Some(parsed) = json.as_str().and_then(raw_bits) {
        return parsed;
    }
    if let Some(known) = variable(name).or_else(|| minifloat::from_v3(name)) {
        return plain(known);
    }
    if let Some(record) = record_json::from_v3(json, parse) {
        return record?.map_or_else(|| unknown(json), plain);
    }
    if let Some(optional) = optional::from_v3(json, parse) {
        return optional?.map_or_else(|| unknown(json), plain);
    }
    if let Some(text) = strings::from_v3(name, configuration) {
        return plain(text?);
    }
    match datetime::from_v3(name, configuration) {
        Some(time) => plain(time?.into()),
        None => unknown(json),
    }
}

fn parse_v2(json: &Json, parse: ParseType<'_>) -> Parsed {
    match json {
        Json::String(text) => {
            if let Some(parsed) = from_typestr(text) {
                return parsed;
            }
            let unmarked = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
            let kind = unmarked.chars().next();
            let known_kind = kind.is_some_and(|c| "biufcOSUV".contains(c));
            if known_kind && unmarked.is_ascii() {
                unknown(json)
            } else {
                Err(format!("`{text}` is not a NumPy type"))
            }
        }
        Json::Array(fields) => {
            record_json::from_descr(fields, parse)?.map_or_else(|| unknown(json), Ok)
        }
        _ => Err(format!("expected a type, found {}", json.kind())),
    }
}

fn parse_draft(json: &Json, parse: ParseType<'_>) -> Parsed {
    match json {
        Json::String(text) => draft_simple(text),
        Json::Object(object) => {
            // D-101; a type is recognised by `type`, the URI is a hint (draft-v3.md 3.3).
            if !object.contains("extension") || !object.contains("type") {
                return Err("an extension type needs `extension` and `type`".into());
            }
            let fallback = match object.get("fallback") {
                None | Some(Json::Null) => None,
                Some(Json::String(text)) => {
                    let parsed = draft_simple(text)?;
                    match parsed.data_type {
                        DataType::Unknown { .. } => {
                            return Err(format!("`fallback`: `{text}` is not a core type"));
                        }
                        _ => Some(parsed),
                    }
                }
                Some(other) => {
                    return Err(format!(
                        "`fallback`: expected a core type, found {}",
                        other.kind()
                    ));
                }
            };
            let known = match object.get("type") {
                Some(Json::String(text)) => draft_typestr(text),
                Some(Json::Array(fields)) => match draft_void(fields) {
                    Some(void) => Some(void),
                    None => record_json::from_descr(fields, parse).ok().flatten(),
                },
                _ => None,
            };
            Ok(known.unwrap_or_else(|| ParsedType {
                endian: fallback.as_ref().and_then(|f| f.endian),
                data_type: DataType::Unknown {
                    declared: json.clone(),
                    fallback: fallback.map(|f| Box::new(f.data_type)),
                },
            }))
        }
        _ => Err(format!("expected a type, found {}", json.kind())),
    }
}

/// The type of a draft's extension that is named as in v2.
fn draft_typestr(text: &str) -> Option<ParsedType> {
    if !text.starts_with(['<', '>', '|']) {
        return None;
    }
    let parsed = from_typestr(text)?.ok()?;
    // The byte order of a time is mandatory.
    let is_time = matches!(parsed.data_type, DataType::Time(_));
    (!is_time || !text.starts_with('|')).then_some(parsed)
}

/// Raw bytes, which zarr-python 2.18 wrote as a record with one nameless field.
fn draft_void(fields: &[Json]) -> Option<ParsedType> {
    let [Json::Array(field)] = fields else { return None };
    let [Json::String(name), Json::String(text)] = &field[..] else { return None };
    if !name.is_empty() || !text.starts_with("|V") {
        return None;
    }
    from_typestr(text)?.ok()
}

/// D-030 … D-033, and the complex types of E1 (row 13); the format handles lenient forms.
fn draft_simple(text: &str) -> Parsed {
    if text == "bool" {
        return plain(CoreType::Bool.into());
    }
    if let Some(parsed) = raw_bits(text) {
        return parsed;
    }
    let marked = text.starts_with(['<', '>']);
    let core = CoreType::from_typestr(text).filter(|(core, _)| {
        if core.repr().size() == 1 {
            ["i1", "u1", "|i1", "|u1", "|b1"].contains(&text)
        } else {
            marked
        }
    });
    match core {
        Some((core, endian)) => Ok(ParsedType { data_type: core.into(), endian }),
        None => unknown(&Json::from(text)),
    }
}

/// What people call the variable-length types.
pub(crate) const VARIABLE_TYPES: [&str; 2] = ["string", "bytes"];

/// `string`, `variable_length_bytes`, `bytes` of final v3; `None` for other names.
fn variable(name: &str) -> Option<DataType> {
    match name {
        "string" => Some(DataType::String),
        "variable_length_bytes" | "bytes" => Some(DataType::Bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, dialect: Dialect) -> Result<ParsedType, MetadataError> {
        parse_data_type(&Json::parse(text.as_bytes()).unwrap(), dialect, &[])
    }

    /// D-030, D-032, D-033, D-101, D-102.
    #[test]
    fn draft_types() {
        for good in ["\"bool\"", "\"u1\"", "\"<i2\"", "\">f8\"", "\"r24\"", "\"|b1\""] {
            assert!(parse(good, Dialect::Draft).unwrap().data_type.repr().is_some(), "{good}");
        }
        for unsupported in ["\"int32\"", "\"<i1\"", "\"<f16\"", "\"i4\""] {
            assert!(
                parse(unsupported, Dialect::Draft).unwrap().data_type.repr().is_none(),
                "{unsupported}"
            );
        }
        for bad in ["\"r0\"", "\"r7\"", "\"r12\"", "\"r\"", "\"r08\"", "3", "{\"type\":\"<c8\"}"] {
            assert!(parse(bad, Dialect::Draft).is_err(), "{bad}");
        }
        let zork = r#"{"extension":"http://e/x","type":"zork","fallback":"r64"}"#;
        assert_eq!(parse(zork, Dialect::Draft).unwrap().data_type.repr().unwrap().size(), 8);
        let swapped = r#"{"extension":"http://e/x","type":"zork","fallback":">i8"}"#;
        assert_eq!(
            parse(swapped, Dialect::Draft).unwrap().endian,
            Some(crate::data_type::Endian::Big)
        );
    }

    /// F-030, F-039, Z2-031, Z2-035.
    #[test]
    fn sizes_that_no_memory_holds_are_refused() {
        assert!(parse("\"r18446744073709551608\"", Dialect::V3).is_err());
        assert!(parse(r#"[["a","<f8",[4294967296,4294967296,4294967296]]]"#, Dialect::V2).is_err());
        assert!(parse(r#"[["a","<f8"],["a","<f8"]]"#, Dialect::V2).is_err());
        assert!(parse("\"M8\"", Dialect::V2).is_err());
        assert!(parse("\"<M8[parsec]\"", Dialect::V2).is_err());
        assert!(parse("\"q4\"", Dialect::V2).is_err());
        assert!(parse("\"é\"", Dialect::V2).is_err());
    }
}

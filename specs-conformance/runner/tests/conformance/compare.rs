//! Compares values, documents and bytes.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use zarr::{Json, Object};

use crate::Check;

/// Fails with a message unless `found` is `expected`.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Check {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: found {found:?}, expected {expected:?}"))
    }
}

/// Fails with a message unless the two are the same JSON.
pub fn same_json(what: &str, found: &Json, expected: &Json) -> Check {
    if equal(found, expected) {
        Ok(())
    } else {
        Err(format!("{what}: found {found}, expected {expected}"))
    }
}

/// Whether two JSON values are the same, numbers by value: `1e300` is `1e+300`.
pub fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => equal_numbers(a, b),
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            let within =
                |(name, value): (&str, &Json)| b.get(name).is_some_and(|b| equal(value, b));
            a.len() == b.len() && a.iter().all(within)
        }
        _ => a == b,
    }
}

fn equal_numbers(a: &str, b: &str) -> bool {
    let whole = |text: &str| text.parse::<i128>().ok();
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b || a.parse::<f64>().ok().is_some_and(|a| b.parse() == Ok(a)),
    }
}

/// The bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes that hexadecimal digits mean; blanks between them count for nothing.
pub fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digits: String = text.split_whitespace().collect();
    if !digits.is_ascii() || digits.len() % 2 == 1 {
        return Err(format!("`{text}` is not hexadecimal"));
    }
    let pair = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16);
    (0..digits.len())
        .step_by(2)
        .map(pair)
        .collect::<Result<_, _>>()
        .map_err(|e| format!("`{text}`: {e}"))
}

/// The digest as the families' `sha256` spells it.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Reads JSON, which the cases are written in.
pub fn parse(text: &[u8], place: &str) -> Result<Json, String> {
    Json::parse(text).map_err(|e| format!("{place}: {e}"))
}

/// A member that is text.
pub fn text<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Json::as_str)
}

/// A member that is a list of whole numbers.
pub fn numbers(object: &Object, name: &str) -> Option<Vec<u64>> {
    whole_numbers(object.get(name)?)
}

/// A list of whole numbers.
pub fn whole_numbers(json: &Json) -> Option<Vec<u64>> {
    json.as_array()?.iter().map(Json::as_u64).collect()
}

/// A member that is a list of objects; empty if it is not there.
pub fn objects<'a>(object: &'a Object, name: &str) -> Vec<&'a Object> {
    let items = object.get(name).and_then(Json::as_array).unwrap_or_default();
    items.iter().filter_map(Json::as_object).collect()
}

/// Names on axes, as `["x", null]` says them.
pub fn names(json: &Json) -> Option<Vec<Option<String>>> {
    Some(json.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect())
}

//! Writes JSON in its one canonical form: what is equal as a value is equal as text.

use std::fmt::Write;

use zarr_core::{Json, Object};

/// Appends the canonical form: members sorted by name, no blanks, numbers by their value.
pub(crate) fn write(json: &Json, out: &mut String) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(text) if text.is_bare_float() => write_text(text, out),
        Json::Number(text) => write_number(text, out),
        Json::String(text) => write_text(text, out),
        Json::Array(items) => write_list(items.iter(), out, write),
        Json::Object(object) => write_object(object, out),
    }
}

/// The canonical form.
pub(crate) fn text_of(json: &Json) -> String {
    let mut text = String::new();
    write(json, &mut text);
    text
}

fn write_object(object: &Object, out: &mut String) {
    let mut members: Vec<_> = object.iter().collect();
    members.sort_by_key(|(name, _)| *name);
    out.push('{');
    for (n, (name, value)) in members.into_iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        write_text(name, out);
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

/// Appends a list, whose items `write` appends.
fn write_list<T>(items: impl Iterator<Item = T>, out: &mut String, write: fn(T, &mut String)) {
    out.push('[');
    for (n, item) in items.enumerate() {
        if n > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

/// Appends a string. Only `"`, `\` and control characters below U+0020 are escaped: `\b`, `\t`, `\n`, `\f`, `\r` in two
/// characters, the others as `\u` and four hexadecimal digits.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Appends a number by its value: an integer of 64 bits, signed or unsigned, by its digits; every other number as the
/// nearest double. A double that is such an integer is written as one.
fn write_number(text: &str, out: &mut String) {
    let value = match text.parse::<i128>() {
        Ok(value) if is_json_integer(value) => {
            let _ = write!(out, "{value}");
            return;
        }
        _ => text.parse::<f64>().unwrap_or(f64::NAN),
    };
    if !value.is_finite() {
        // A number that no double can hold.
        let word = if value > 0.0 { "Infinity" } else { "-Infinity" };
        write_text(if value.is_nan() { "NaN" } else { word }, out);
    } else if value.fract() == 0.0 && is_json_integer(value as i128) {
        let _ = write!(out, "{}", value as i128);
    } else {
        write_double(value, out);
    }
}

/// Whether canonical JSON writes the number as an integer: its readers have 64 bits.
fn is_json_integer(value: i128) -> bool {
    (i64::MIN.into()..=u64::MAX.into()).contains(&value)
}

/// Appends the shortest digits that read back as the same double, as Python's `repr` does: in plain notation for
/// 10⁻⁴ ≤ |value| < 10¹⁶, else with an exponent of at least two digits.
fn write_double(value: f64, out: &mut String) {
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let _ = if (-4..16).contains(&exponent) {
        write!(out, "{value:?}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{digits}e{sign}{:02}", exponent.unsigned_abs())
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        text_of(&Json::parse_tolerant(text.as_bytes()).unwrap().0)
    }

    /// The texts on the right are those of Python's `json.dumps` with sorted names, after its integral floats became
    /// integers.
    #[test]
    fn equal_values_have_equal_texts() {
        for (text, expected) in [
            ("1.0", "1"),
            ("1e0", "1"),
            ("-0.0", "0"),
            ("-0", "0"),
            ("100000000000000000000", "1e+20"),
            ("1e20", "1e+20"),
            ("12345678901234567890123", "1.2345678901234568e+22"),
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", "1.8446744073709552e+19"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9007199254740993", "9007199254740993"),
            ("9007199254740993.0", "9007199254740992"),
            ("0.1", "0.1"),
            ("1.5e3", "1500"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1.25e-7", "1.25e-07"),
            ("-1.5e300", "-1.5e+300"),
            ("123456789.125", "123456789.125"),
            ("5e-324", "5e-324"),
            ("1e400", "\"Infinity\""),
            ("NaN", "\"NaN\""),
            ("[ -Infinity, true , null ]", "[\"-Infinity\",true,null]"),
            (
                "{\"b\": 1, \"a\": {\"d\": [], \"c\": \"x\"}}",
                "{\"a\":{\"c\":\"x\",\"d\":[]},\"b\":1}",
            ),
            ("\"\\u00e9\\/\\u0001\\n\\u007f\"", "\"é/\\u0001\\n\u{7f}\""),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    #[test]
    fn different_values_have_different_texts() {
        for (one, other) in [("1", "\"1\""), ("[5]", "5"), ("null", "\"null\""), ("0.1", "0.2")] {
            assert_ne!(canonical(one), canonical(other));
        }
    }
}

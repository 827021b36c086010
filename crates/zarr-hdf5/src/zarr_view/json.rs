//! Writes values as JSON text, with every integer exact.

use std::fmt::Write;

use crate::value::{Value, lossy_text};

/// A text in quotes.
pub fn text(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for letter in text.chars() {
        match letter {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(json, "\\u{:04x}", u32::from(control));
            }
            other => json.push(other),
        }
    }
    json.push('"');
    json
}

/// A list.
pub fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
}

/// An object.
pub fn object(members: impl IntoIterator<Item = (String, String)>) -> String {
    let members = members.into_iter().map(|(name, value)| format!("{}:{value}", text(&name)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// A name with a configuration.
pub fn named(name: &str, configuration: String) -> String {
    object([("name".to_owned(), text(name)), ("configuration".to_owned(), configuration)])
}

/// A number, or the tokens that Python's readers and writers of JSON use where JSON has none.
pub fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() }
    } else {
        // `{:?}` is the shortest that reads back, with a point or an exponent.
        format!("{value:?}")
    }
}

/// Bytes in base64.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut bits = 0_u32;
        for position in 0..3 {
            bits = bits << 8 | u32::from(group.get(position).copied().unwrap_or(0));
        }
        for digit in 0..4 {
            let is_used = digit <= group.len();
            let number = (bits >> (18 - 6 * digit)) as usize & 0x3f;
            text.push(if is_used { char::from(DIGITS[number]) } else { '=' });
        }
    }
    text
}

/// An element as an attribute has it. Paths of referenced objects come from `path`.
pub fn value(value: &Value, path: &impl Fn(u64) -> Option<String>) -> String {
    match value {
        Value::Integer(value) => value.to_string(),
        Value::Float32(value) => number(f64::from(*value)),
        Value::Float64(value) => number(*value),
        Value::Enumeration(0, Some(name)) if name == "FALSE" => "false".to_owned(),
        Value::Enumeration(1, Some(name)) if name == "TRUE" => "true".to_owned(),
        Value::Enumeration(value, _) => value.to_string(),
        Value::Text(bytes) => text(&lossy_text(bytes)),
        Value::Bytes(bytes) => list(bytes.iter().map(u8::to_string)),
        Value::Complex(parts) => list([self::value(&parts.0, path), self::value(&parts.1, path)]),
        Value::Record(fields) => {
            object(fields.iter().map(|(name, field)| (name.clone(), self::value(field, path))))
        }
        Value::List(values) => list(values.iter().map(|item| self::value(item, path))),
        Value::Object(address) | Value::Region(address) => {
            let path = address.and_then(path);
            path.map_or_else(|| "null".to_owned(), |path| text(&path))
        }
    }
}

/// Elements in C order as nested lists; an element without axes is not in a list.
pub fn nested(items: &[String], shape: &[u64]) -> String {
    let Some((length, inner)) = shape.split_first() else {
        return items.first().cloned().unwrap_or_else(|| "null".to_owned());
    };
    if inner.is_empty() || *length == 0 {
        return list(items.iter().cloned());
    }
    let each = items.len() / *length as usize;
    list((0..*length as usize).map(|row| nested(&items[row * each..(row + 1) * each], inner)))
}

#[cfg(test)]
mod tests {
    use super::{base64, nested, number, text};

    #[test]
    fn base64_is_padded() {
        assert_eq!(
            ["", "f", "fo", "foo"].map(|t| base64(t.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v"]
        );
    }

    #[test]
    fn lists_are_nested() {
        let items: Vec<String> = (0..6).map(|n| n.to_string()).collect();
        assert_eq!(nested(&items, &[2, 3]), "[[0,1,2],[3,4,5]]");
        assert_eq!(nested(&items[..1], &[]), "0");
        assert_eq!(nested(&[], &[0, 3]), "[]");
    }

    #[test]
    fn numbers_and_texts_read_back() {
        assert_eq!(number(9.969209968386869e36), "9.969209968386869e36");
        assert_eq!(number(1.0), "1.0");
        assert_eq!(text("a\"\u{1}\n"), "\"a\\\"\\u0001\\n\"");
    }
}

//! Writes names and texts with backslashes, and reads them again.

use std::fmt::Write;

use crate::Type;
use crate::model::name::{composed, is_virtual};

/// A name as CDL writes it.
pub(super) fn name(name: &str) -> String {
    let mut written = String::with_capacity(name.len());
    // A name begins with a letter, `_`, or what is not ASCII; a `%` behind a `\\` would be another character.
    let (first, name) = match name.strip_prefix('%') {
        Some(rest) => ("\\%25", rest),
        None => ("", name),
    };
    written.push_str(first);
    if first.is_empty()
        && name.starts_with(|first: char| first.is_ascii_digit() || "+-.@".contains(first))
    {
        written.push('\\');
    }
    for char in name.chars() {
        match char {
            ' ' | '!' | '/' | '"' | '#' | '$' | '&' | '\'' | '(' | ')' | '*' | ',' | ':' | ';'
            | '<' | '=' | '>' | '?' | '[' | ']' | '\\' | '^' | '`' | '{' | '|' | '}' | '~' => {
                written.push('\\');
                written.push(char);
            }
            char if char.is_ascii_control() => {
                let _ = write!(written, "\\%{:02x}", u32::from(char));
            }
            char => written.push(char),
        }
    }
    written
}

/// The name of an attribute that a dataset has. One that CDL would take for a special attribute begins with a `\\`.
pub(super) fn attribute_name(plain: &str) -> String {
    if is_virtual(plain) { format!("\\{plain}") } else { name(plain) }
}

/// Whether a name of an attribute is written so that it means no special attribute.
pub(super) fn is_plain_attribute(written: &str) -> bool {
    written.starts_with('\\')
}

/// The name that CDL writes so, as datasets keep it (N-001).
pub(super) fn unescape_name(written: &str) -> String {
    let mut name = String::with_capacity(written.len());
    let mut rest = written;
    while let Some((before, escaped)) = rest.split_once('\\') {
        name.push_str(before);
        let control = escaped.strip_prefix('%').and_then(|code| code.get(..2));
        let control = control.and_then(|code| u8::from_str_radix(code, 16).ok());
        if let Some(control) = control.filter(|code| code.is_ascii_control() || *code == b'%') {
            name.push(char::from(control));
            rest = &escaped[3..];
            continue;
        }
        let mut chars = escaped.chars();
        name.extend(chars.next());
        rest = chars.as_str();
    }
    name.push_str(rest);
    composed(&name).into_owned()
}

/// Which texts are written. What is not UTF-8 is always written by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// An attribute's, or an element of type `string`.
    Unicode,
    /// A row of elements of type `char`: all that is not ASCII by numbers.
    Ascii,
}

/// Appends `text` as CDL writes it between quotes.
pub(super) fn push_text(written: &mut String, text: &[u8], script: Script) {
    for chunk in text.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\u{8}' => written.push_str("\\b"),
                '\u{c}' => written.push_str("\\f"),
                '\n' => written.push_str("\\n"),
                '\r' => written.push_str("\\r"),
                '\t' => written.push_str("\\t"),
                '\u{b}' => written.push_str("\\v"),
                '\\' | '\'' | '"' => written.extend(['\\', char]),
                char if char.is_ascii_control()
                    || (script == Script::Ascii && !char.is_ascii()) =>
                {
                    octal(written, char.encode_utf8(&mut [0; 4]).as_bytes());
                }
                char => written.push(char),
            }
        }
        octal(written, chunk.invalid());
    }
}

fn octal(written: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(written, "\\{byte:03o}");
    }
}

/// The bytes that CDL writes so between quotes.
///
/// # Errors
/// Where in `written` the backslash stands that means nothing, and why.
pub(super) fn unescape_text(written: &str) -> Result<Vec<u8>, (usize, String)> {
    let mut text = Vec::with_capacity(written.len());
    let bytes = written.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte != b'\\' {
            text.push(byte);
            at += 1;
            continue;
        }
        let escaped = bytes.get(at + 1).copied().unwrap_or(b'\\');
        let (value, len) = match escaped {
            b'a' => (7, 2),
            b'b' => (8, 2),
            b'f' => (12, 2),
            b'n' => (b'\n', 2),
            b'r' => (b'\r', 2),
            b't' => (b'\t', 2),
            b'v' => (11, 2),
            b'?' => (127, 2),
            b'x' | b'X' => match number(written, at + 2, 2, 16) {
                Some(value) => (value, 4),
                None => {
                    return Err((at, "`\\x` needs two hexadecimal digits, as in `\\x0a`".into()));
                }
            },
            b'0'..=b'7' => match number(written, at + 1, 3, 8) {
                Some(value) => (value, 4),
                None if bytes.len() == 2 && escaped == b'0' => (0, 2),
                None => {
                    let why =
                        "`\\` before a digit needs three octal digits up to `\\377`, as in `\\012`";
                    return Err((at, why.into()));
                }
            },
            other => (other, 2),
        };
        text.push(value);
        at += len;
    }
    Ok(text)
}

/// A byte that is written as so many digits.
fn number(written: &str, start: usize, len: usize, radix: u32) -> Option<u8> {
    let digits = written.get(start..)?.get(..len)?;
    u8::from_str_radix(digits.strip_prefix('+').map_or(digits, |_| "?"), radix).ok()
}

/// Behind a number in a list of attributes, so that its type is known.
pub(super) fn suffix(ty: Type) -> &'static str {
    match ty {
        Type::Byte => "b",
        Type::Ubyte => "UB",
        Type::Short => "s",
        Type::Ushort => "US",
        Type::Uint => "U",
        Type::Int64 => "LL",
        Type::Uint64 => "ULL",
        Type::Float => "f",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for (plain, written) in [
            ("a b", "a\\ b"),
            ("7d", "\\7d"),
            ("x.y@z+1-2%", "x.y@z+1-2%"),
            ("é{}", "é\\{\\}"),
            ("a\\b", "a\\\\b"),
            ("tab\t", "tab\\%09"),
            ("%41", "\\%2541"),
            ("%09", "\\%2509"),
            ("@id", "\\@id"),
            ("a/b", "a\\/b"),
            ("", ""),
        ] {
            assert_eq!(name(plain), written);
            assert_eq!(unescape_name(written), plain);
        }
    }

    #[test]
    fn texts_come_back() {
        let every: Vec<u8> = (0..=255).chain("é漢\u{85}".bytes()).collect();
        for script in [Script::Unicode, Script::Ascii] {
            let mut written = String::new();
            push_text(&mut written, &every, script);
            assert_eq!(unescape_text(&written).unwrap(), every);
            assert_eq!(written.is_ascii(), script == Script::Ascii);
        }
        assert_eq!(unescape_text("\\x41\\101\\0\\q\\?é").unwrap_err().0, 8);
        assert_eq!(unescape_text("\\x41\\101\\q\\?é").unwrap(), "AAq\x7fé".as_bytes());
        assert_eq!(unescape_text("\\0").unwrap(), [0]);
        for wrong in ["\\400", "\\08", "\\xg0", "\\x+1", "\\+12\\0+1"] {
            assert!(unescape_text(wrong).is_err(), "{wrong}");
        }
    }
}

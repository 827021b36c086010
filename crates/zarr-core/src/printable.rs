//! Makes names and values of strangers' data fit for a message: on one line, and without characters that a terminal obeys or that nobody sees.

use std::borrow::Cow;
use std::fmt::Write;

/// The text on one line, with control characters, those that change the direction of writing, and those that cannot be seen, escaped
/// as in Rust: `\n`, `\u{202e}`. A name may have any of them, and with one look like another name, or move a terminal's cursor.
///
/// ```
/// assert_eq!(zarr_core::printable("größe/温度"), "größe/温度");
/// assert_eq!(zarr_core::printable("a\u{1b}[2J\nb\u{202e}c"), r"a\u{1b}[2J\nb\u{202e}c");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_printable) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_printable(letter) {
            escaped.push(letter);
        } else {
            // Writing into a string does not fail.
            let _ = match letter {
                '\n' | '\r' | '\t' | '\0' => write!(escaped, "{}", letter.escape_debug()),
                _ => write!(escaped, "{}", letter.escape_unicode()),
            };
        }
    }
    escaped.into()
}

/// Whether a character is seen where it is written, and obeyed by no terminal. Blanks are; combining marks are.
pub fn is_printable(letter: char) -> bool {
    if letter.is_ascii() {
        return !letter.is_ascii_control();
    }
    // Separators of lines, marks of direction, and what Unicode calls default ignorable: joiners, selectors, fillers, tags.
    !letter.is_control()
        && !matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_obeyed_or_unseen_is_escaped() {
        for plain in ["", "a b", "é", "नमस्ते", "e\u{301}", "数据", "🌍", "\\n"] {
            assert!(matches!(printable(plain), Cow::Borrowed(_)), "{plain}");
        }
        for (text, shown) in [
            ("a\u{1b}[31mb\u{7}", "a\\u{1b}[31mb\\u{7}"),
            ("a\r\n\tb\0", "a\\r\\n\\tb\\0"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("a\u{200b}b\u{ad}", "a\\u{200b}b\\u{ad}"),
            ("gpj.\u{202e}exe\u{2066}", "gpj.\\u{202e}exe\\u{2066}"),
            ("\u{feff}x\u{e0041}\u{2028}", "\\u{feff}x\\u{e0041}\\u{2028}"),
            ("🏳\u{fe0f}", "🏳\\u{fe0f}"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }
}

//! Keeps control characters of data away from terminals, which would obey them.

use std::borrow::Cow;
use std::io::{self, Write};

/// The text with control characters escaped, but for line ends and tabs.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let obeyed = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    if !text.contains(obeyed) {
        return text.into();
    }
    let letter = |letter: char| {
        if obeyed(letter) { letter.escape_unicode().to_string() } else { letter.into() }
    };
    text.chars().map(letter).collect::<String>().into()
}

/// Writes what comes as text of [`plain`], or as it is.
#[derive(Debug)]
pub(crate) struct Plain<W> {
    pub is_plain: bool,
    pub out: W,
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_plain {
            self.out.write_all(plain(&String::from_utf8_lossy(bytes)).as_bytes())?;
        } else {
            self.out.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_characters() {
        let hostile = "a\u{1b}[31mb\u{7}\r\n\tc\u{9b}2Jé";
        let shown = "a\\u{1b}[31mb\\u{7}\\u{d}\n\tc\\u{9b}2Jé";
        assert_eq!(plain(hostile), shown);
        assert!(matches!(plain("é\n"), Cow::Borrowed(_)));
        for (is_plain, written) in [(true, shown), (false, hostile)] {
            let mut out = Plain { is_plain, out: Vec::new() };
            out.write_all(hostile.as_bytes()).unwrap();
            assert_eq!(out.out, written.as_bytes());
        }
    }
}

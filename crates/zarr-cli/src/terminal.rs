//! Keeps control characters of data away from terminals, which would obey them, and says whether there are colours.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On terminals, unless `NO_COLOR` is set or the terminal has none
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Whether a stream that is a terminal, or is none, has colours.
    pub fn shows(self, is_terminal: bool) -> bool {
        let is_set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let is_dumb = is_set("TERM").as_deref() == Some(OsStr::new("dumb"));
                is_terminal && is_set("NO_COLOR").is_none() && !is_dumb
            }
        }
    }

    /// The choice of a command line that was not parsed yet.
    pub fn of_args(args: &[std::ffi::OsString]) -> Color {
        let mut words = args.iter().take_while(|arg| *arg != "--").filter_map(|arg| arg.to_str());
        let mut color = Color::Auto;
        while let Some(word) = words.next() {
            let value = match word.split_once('=') {
                Some(("--color", value)) => Some(value),
                None if word == "--color" => words.next(),
                _ => None,
            };
            color = value.and_then(|value| Color::from_str(value, false).ok()).unwrap_or(color);
        }
        color
    }

    /// The same choice for the texts of `clap`.
    pub fn of_clap(self) -> clap::ColorChoice {
        match self {
            Color::Auto => clap::ColorChoice::Auto,
            Color::Always => clap::ColorChoice::Always,
            Color::Never => clap::ColorChoice::Never,
        }
    }
}

/// Bold red and yellow, as terminals number them.
pub(crate) const RED: u8 = 31;
pub(crate) const YELLOW: u8 = 33;

/// A label on standard error, in a colour if there are colours.
pub(crate) fn label(text: &str, color: u8, when: Color) -> String {
    if when.shows(io::stderr().is_terminal()) {
        format!("\u{1b}[1;{color}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

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

/// Standard output, after something is done that must come first: on a terminal, the bar goes away.
#[derive(Debug)]
pub(crate) struct After<W, F> {
    pub first: F,
    pub out: W,
}

impl<W: Write, F: FnMut()> Write for After<W, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.first)();
        self.out.write(bytes)
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

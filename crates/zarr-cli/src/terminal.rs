//! Keeps characters of data away from terminals that they would obey, or that nobody sees, and says whether there are colours.

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
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let is_dumb = variable("TERM").as_deref() == Some(OsStr::new("dumb"));
                is_terminal && variable("NO_COLOR").is_none() && !is_dumb
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

/// A variable of the environment that is not empty.
fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
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

/// Whether a terminal may get a character: line ends and tabs, too.
fn is_plain(letter: char) -> bool {
    matches!(letter, '\n' | '\t') || zarr::is_printable(letter)
}

/// The text with characters escaped that a terminal obeys or that nobody sees, but for line ends and tabs.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| letter.escape_unicode().to_string())
}

/// The same of JSON, which stays JSON.
pub(crate) fn plain_json(text: &str) -> Cow<'_, str> {
    escaped(text, |letter: char| {
        let mut units = [0; 2];
        let units = letter.encode_utf16(&mut units);
        units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
    })
}

fn escaped(text: &str, escape: impl Fn(char) -> String) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return text.into();
    }
    text.chars()
        .map(|letter: char| if is_plain(letter) { letter.into() } else { escape(letter) })
        .collect::<String>()
        .into()
}

/// What becomes of text on its way to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escaping {
    /// It stays as it is: no terminal reads it.
    None,
    /// As [`plain`] has it.
    Text,
    /// As [`plain_json`] has it.
    Json,
}

/// Writes what comes, escaped.
#[derive(Debug)]
pub(crate) struct Plain<W> {
    pub escaping: Escaping,
    pub out: W,
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = || String::from_utf8_lossy(bytes);
        match self.escaping {
            Escaping::None => self.out.write_all(bytes)?,
            Escaping::Text => self.out.write_all(plain(&text()).as_bytes())?,
            Escaping::Json => self.out.write_all(plain_json(&text()).as_bytes())?,
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
        let json = hostile.replace('\u{1b}', "\\u001b").replace('\u{7}', "\\u0007");
        let json = json.replace('\r', "\\u000d").replace('\u{9b}', "\\u009b");
        for (escaping, written) in
            [(Escaping::Text, shown), (Escaping::None, hostile), (Escaping::Json, &*json)]
        {
            let mut out = Plain { escaping, out: Vec::new() };
            out.write_all(hostile.as_bytes()).unwrap();
            assert_eq!(out.out, written.as_bytes());
        }
        let name = "{\"gpj.\u{202e}exe\u{e0041}\": 1}";
        assert_eq!(plain_json(name), "{\"gpj.\\u202eexe\\udb40\\udc41\": 1}");
        assert!(zarr::Json::parse(plain_json(name).as_bytes()).is_ok());
    }
}

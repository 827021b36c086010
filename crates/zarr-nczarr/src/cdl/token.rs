//! Splits a CDL text into tokens.

use super::error::CdlError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name, a keyword, or a number written as a word, such as `NaN`. Escapes are as written.
    Word(&'a str),
    /// A name behind the names of groups, each behind a `/`. Escapes are as written.
    Path(&'a str),
    /// A number with its suffix.
    Number(&'a str),
    /// What stands between double quotes, escapes as written.
    Text(&'a str),
    /// What stands between single quotes, escapes as written.
    Char(&'a str),
    /// Any other character.
    Mark(char),
    End,
}

/// A token and where it stands, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme<'a> {
    pub token: Token<'a>,
    pub start: usize,
    pub end: usize,
}

/// Takes a text apart, from some byte on. Cheap to copy, so that a part can be read again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str, at: usize) -> Self {
        Lexer { text, at }
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The byte that comes next.
    pub fn at(&self) -> usize {
        self.at
    }

    pub fn error(&self, at: usize, why: impl Into<String>) -> CdlError {
        CdlError::at(self.text, at, why)
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    fn peek(&self, offset: usize) -> u8 {
        self.bytes().get(self.at + offset).copied().unwrap_or(0)
    }

    /// Everything up to a `{`, which stands for a name behind `netcdf`, and its first byte.
    pub fn title(&mut self) -> Result<(&'a str, usize), CdlError> {
        let start = self.at;
        while self.at < self.text.len() {
            match self.peek(0) {
                b'{' => return Ok((&self.text[start..self.at], start)),
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        Err(self.error(start, "expected `{` after the dataset's name; begin with `netcdf NAME {`"))
    }

    /// The next token.
    pub fn next(&mut self) -> Result<Lexeme<'a>, CdlError> {
        self.skip()?;
        let start = self.at;
        let token = match self.peek(0) {
            _ if start >= self.text.len() => Token::End,
            b'"' => Token::Text(self.quoted(b'"')?),
            b'\'' => Token::Char(self.quoted(b'\'')?),
            b'0'..=b'9' | b'+' | b'-' | b'.' => Token::Number(self.number()),
            b'/' => {
                while self.peek(0) == b'/' && begins_name(self.peek(1), self.peek(2)) {
                    self.at += 1;
                    self.word();
                }
                // A single `/` is the root.
                self.at = self.at.max(start + 1);
                Token::Path(&self.text[start..self.at])
            }
            first if begins_name(first, self.peek(1)) => {
                self.word();
                Token::Word(&self.text[start..self.at])
            }
            _ => {
                let mark = self.text[start..].chars().next().unwrap_or(' ');
                self.at += mark.len_utf8();
                Token::Mark(mark)
            }
        };
        Ok(Lexeme { token, start, end: self.at })
    }

    /// Goes over white space and comments.
    fn skip(&mut self) -> Result<(), CdlError> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b' ' | b'\t' | b'\r' | b'\n' | b'\x0c', _) => self.at += 1,
                (b'/', b'/') => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                (b'/', b'*') => {
                    let rest = &self.text[self.at + 2..];
                    let Some(len) = rest.find("*/") else {
                        let why = "unterminated comment; close it with `*/`";
                        return Err(self.error(self.at, why));
                    };
                    self.at += len + 4;
                }
                _ => return Ok(()),
            }
        }
    }

    fn word(&mut self) {
        loop {
            match self.peek(0) {
                b'\\' if self.peek(1) >= b' ' => {
                    let escaped = self.text[self.at + 1..].chars().next();
                    self.at += 1 + escaped.map_or(0, char::len_utf8);
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => self.at += 1,
                b'_' | b'.' | b'@' | b'+' | b'-' | b'%' | 0x80.. => self.at += 1,
                _ => return,
            }
        }
    }

    fn number(&mut self) -> &'a str {
        let start = self.at;
        let hex = self.peek(0) == b'0' && self.peek(1).eq_ignore_ascii_case(&b'x');
        loop {
            let last = self.peek(0);
            self.at += 1;
            match self.peek(0) {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' => {}
                b'+' | b'-' if !hex && last.eq_ignore_ascii_case(&b'e') => {}
                _ => return &self.text[start..self.at],
            }
        }
    }

    fn quoted(&mut self, quote: u8) -> Result<&'a str, CdlError> {
        let start = self.at;
        self.at += 1;
        while self.at < self.text.len() {
            match self.peek(0) {
                b'\\' => self.at += 2,
                end if end == quote => {
                    self.at += 1;
                    return Ok(&self.text[start + 1..self.at - 1]);
                }
                _ => self.at += 1,
            }
        }
        let quote = char::from(quote);
        Err(self.error(start, format!("unterminated quote; close it with `{quote}`")))
    }
}

/// Whether a name can begin with this byte and the next.
fn begins_name(byte: u8, next: u8) -> bool {
    match byte {
        b'\\' => next >= b' ',
        byte => matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80..),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text, 0);
        let mut tokens = Vec::new();
        loop {
            match lexer.next().unwrap().token {
                Token::End => return tokens,
                token => tokens.push(token),
            }
        }
    }

    #[test]
    fn words_numbers_and_quotes_are_told_apart() {
        use Token::*;
        assert_eq!(
            tokens("a\\ b = -1.5e+3f, NaN ; // no\n /* no */ /g/x \"q\\\"\n\" 'c' {é\\7}"),
            [
                Word("a\\ b"),
                Mark('='),
                Number("-1.5e+3f"),
                Mark(','),
                Word("NaN"),
                Mark(';'),
                Path("/g/x"),
                Text("q\\\"\n"),
                Char("c"),
                Mark('{'),
                Word("é\\7"),
                Mark('}'),
            ]
        );
        assert_eq!(
            tokens("1e-5 0x1e-5 /"),
            [Number("1e-5"), Number("0x1e"), Number("-5"), Path("/")]
        );
    }

    #[test]
    fn what_is_never_closed_is_told_where_it_begins() {
        for (text, column) in [("a \"b", 3), ("a 'b\\'", 3), ("a /* b", 3)] {
            let mut lexer = Lexer::new(text, 1);
            assert_eq!(lexer.next().unwrap_err().column, column, "{text}");
        }
        assert_eq!(Lexer::new("a b\\{ c", 0).title().unwrap_err().column, 1);
    }
}

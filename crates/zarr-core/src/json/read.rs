//! Parses JSON in one pass, and keeps its numbers as text.
//!
//! A strict reader refuses all that is not JSON. The other one is for texts that were checked before, but for bare
//! `NaN` and `Infinity`, which it reads as numbers.

use serde_json::value::RawValue;

use super::object::Object;
use super::value::Json;

/// The deepest nesting a document may have; deeper ones are refused (T-26).
pub const MAX_DEPTH: usize = 128;

/// What a tolerant reader overlooked in a JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Names of members that an object gave twice; the last one holds.
    pub duplicates: Vec<String>,
    /// Whether the text has bare `NaN`, `Infinity` or `-Infinity`; they are kept as numbers of that text.
    pub bare_floats: bool,
    /// Whether the text began with a byte order mark.
    pub byte_order_mark: bool,
    /// Whether a string has half of a surrogate pair, as Python writes names of files that are not UTF-8. It is read as
    /// the text of its escape: `\udce9`.
    pub lone_surrogates: bool,
}

pub(crate) struct Reader<'a, 'o> {
    text: &'a str,
    at: usize,
    oddities: &'o mut Oddities,
    /// The text was not checked before.
    is_strict: bool,
    /// Items and members of lists and objects that are not at their end: each gets memory of its exact size there.
    items: Vec<Json>,
    open: Vec<(String, Json)>,
}

impl<'a, 'o> Reader<'a, 'o> {
    pub(super) fn new(text: &'a str, oddities: &'o mut Oddities) -> Self {
        Reader { text, at: 0, oddities, is_strict: false, items: Vec::new(), open: Vec::new() }
    }

    /// Reads a text that may not be JSON.
    pub(super) fn strict(text: &'a str, oddities: &'o mut Oddities) -> Self {
        Reader { is_strict: true, ..Reader::new(text, oddities) }
    }

    /// Hands each member of the object that comes next to `visit`, which reads its value or passes over it, in the
    /// text's order and without a look for names that stand twice; `false`, and nothing read, if it is no object.
    ///
    /// # Errors
    /// Those of `visit`, and of strings that are no text.
    pub(crate) fn members(
        &mut self,
        mut visit: impl FnMut(&mut Self, String) -> Result<(), String>,
    ) -> Result<bool, String> {
        if self.peek() != Some(b'{') {
            return Ok(false);
        }
        self.at += 1;
        let mut is_first = true;
        while self.next_of(b'}', std::mem::take(&mut is_first))? {
            let name = self.string()?;
            self.expect(b':')?;
            visit(self, name)?;
        }
        Ok(true)
    }

    /// The text of the value that comes next, however deep it nests.
    ///
    /// # Errors
    /// For a text that ends within it.
    pub(crate) fn pass(&mut self) -> Result<&'a str, String> {
        self.peek();
        if self.is_strict {
            let rest = &self.text[self.at..];
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
            let value = values.next().and_then(Result::ok).ok_or_else(|| self.broken())?;
            self.at += values.byte_offset();
            return Ok(value.get());
        }
        let begin = self.at;
        let bytes = self.text.as_bytes();
        let mut depth = 0usize;
        loop {
            match bytes.get(self.at) {
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => depth = depth.saturating_sub(1),
                Some(b'"') => drop(self.pass_string()?),
                Some(_) if depth > 0 => {}
                Some(_) => {
                    self.word()?;
                    break;
                }
                None => return Err(self.broken()),
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
        self.text.get(begin..self.at).ok_or_else(|| self.broken())
    }

    /// The value that comes next.
    ///
    /// # Errors
    /// For values in values beyond [`MAX_DEPTH`], and strings that are no text.
    pub(crate) fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > MAX_DEPTH {
            return Err(format!("nests deeper than {MAX_DEPTH} levels"));
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(_) => self.word(),
            None => Err(self.broken()),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        let first = self.open.len();
        self.members(|reader, name| {
            let value = reader.value(depth + 1)?;
            reader.open.push((name, value));
            Ok(())
        })?;
        Ok(self.object_from(first))
    }

    /// The object of the open members from the `first` on.
    fn object_from(&mut self, first: usize) -> Json {
        let (object, duplicates) = Object::of(ended(&mut self.open, first));
        self.oddities.duplicates.extend(duplicates);
        Json::Object(object)
    }

    /// The object that comes next but for its member `aside`; whether it has that one.
    ///
    /// # Errors
    /// As [`Reader::value`].
    pub(super) fn object_but(&mut self, aside: &str) -> Result<(Json, bool), String> {
        let mut found = false;
        let is_object = self.members(|reader, name| {
            if name == aside {
                if std::mem::replace(&mut found, true) {
                    reader.oddities.duplicates.push(name);
                }
                return reader.pass().map(drop);
            }
            let value = reader.value(1)?;
            reader.open.push((name, value));
            Ok(())
        })?;
        if is_object { Ok((self.object_from(0), found)) } else { Ok((self.value(0)?, false)) }
    }

    fn array(&mut self, depth: usize) -> Result<Json, String> {
        self.at += 1;
        let first = self.items.len();
        let mut is_first = true;
        while self.next_of(b']', std::mem::take(&mut is_first))? {
            let item = self.value(depth + 1)?;
            self.items.push(item);
        }
        Ok(Json::Array(ended(&mut self.items, first)))
    }

    /// Goes to the next member or item, past a comma if it is not the first; `false` behind the `end` of them.
    fn next_of(&mut self, end: u8, is_first: bool) -> Result<bool, String> {
        match self.peek() {
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') if !is_first => {
                self.at += 1;
                Ok(true)
            }
            Some(_) if is_first => Ok(true),
            _ => Err(self.broken()),
        }
    }

    /// Goes to the end of a string, from its beginning; whether anything in it is escaped.
    fn pass_string(&mut self) -> Result<bool, String> {
        let bytes = self.text.as_bytes();
        let mut escaped = false;
        self.at += 1;
        loop {
            match bytes.get(self.at) {
                Some(b'"') => return Ok(escaped),
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                None | Some(..0x20) => return Err(self.broken()),
                Some(_) => self.at += 1,
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        if self.peek() != Some(b'"') {
            return Err(self.broken());
        }
        let begin = self.at + 1;
        let escaped = self.pass_string()?;
        self.at += 1;
        let inside = self.text.get(begin..self.at - 1).ok_or_else(|| self.broken())?;
        if !escaped {
            return Ok(inside.to_owned());
        }
        match serde_json::from_str(&self.text[begin - 1..self.at]) {
            Ok(text) => Ok(text),
            Err(e) if self.is_strict => Err(format!("not JSON: {e}")),
            Err(e) => {
                let spelled_out = with_surrogates_spelled_out(inside);
                let text = serde_json::from_str(&format!("\"{spelled_out}\""));
                self.oddities.lone_surrogates = true;
                text.map_err(|_| format!("not JSON: {e}"))
            }
        }
    }

    /// `true`, `false`, `null`, or a number.
    fn word(&mut self) -> Result<Json, String> {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| matches!(c, ',' | ']' | '}') || c.is_ascii_whitespace())
            .unwrap_or(rest.len());
        let word = &rest[..end];
        self.at += word.len();
        match word {
            "" => Err(self.broken()),
            "true" => Ok(Json::Bool(true)),
            "false" => Ok(Json::Bool(false)),
            "null" => Ok(Json::Null),
            word if self.is_strict && !is_number(word) => Err(self.broken()),
            number => Ok(Json::Number(number.into())),
        }
    }

    /// The first byte that is no blank.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        if self.peek() != Some(byte) {
            return Err(self.broken());
        }
        self.at += 1;
        Ok(())
    }

    fn broken(&self) -> String {
        format!("not JSON at byte {}", self.at)
    }
}

/// The inside of a JSON string with the backslash of each half of a surrogate pair escaped, so that it stands for the
/// text of that escape, as Python's `backslashreplace` has it. Nothing else changes.
fn with_surrogates_spelled_out(inside: &str) -> String {
    let mut out = String::with_capacity(inside.len() + 8);
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let first = unit_of_escape(escape);
        let second = escape.get(6..).and_then(unit_of_escape);
        let len = match (first, second) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push('\\');
                6
            }
            // The character behind the backslash may have several bytes in a text that is not JSON.
            _ => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        let (escape, after) = escape.split_at(len);
        out.push_str(escape);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The UTF-16 unit of the escape at the beginning of a text: of `\u00e9…`.
fn unit_of_escape(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    are_digits.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

/// Whether a word is a number of JSON: `-1.5e+3`.
fn is_number(word: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(word).is_ok()
}

/// The items of a stack from `first` on, in memory of exactly their size.
fn ended<T>(stack: &mut Vec<T>, first: usize) -> Vec<T> {
    match first {
        0 => {
            let mut all = std::mem::take(stack);
            all.shrink_to_fit();
            all
        }
        _ => stack.split_off(first),
    }
}

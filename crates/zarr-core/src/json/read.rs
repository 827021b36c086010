//! How does a text that is known to be JSON become a value, its numbers as they are spelled?
//!
//! One pass over the text. That it is JSON has been checked before; should it not be, there is an error at the
//! place where that shows.

use super::{Json, MAX_DEPTH, Members, Object, Oddities};

pub(super) struct Reader<'a, 'o> {
    text: &'a str,
    at: usize,
    oddities: &'o mut Oddities,
}

impl<'a, 'o> Reader<'a, 'o> {
    pub(super) fn new(text: &'a str, oddities: &'o mut Oddities) -> Self {
        Reader { text, at: 0, oddities }
    }

    /// The value that comes next.
    ///
    /// # Errors
    /// For values in values beyond [`MAX_DEPTH`], and strings that are no text.
    pub(super) fn value(&mut self, depth: usize) -> Result<Json, String> {
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
        self.at += 1;
        let mut members = Members::default();
        while self.next_of(b'}')? {
            let name = self.string()?;
            self.expect(b':')?;
            let value = self.value(depth + 1)?;
            self.oddities.duplicates.extend(members.put(name, value));
        }
        Ok(Json::Object(Object(members.members)))
    }

    fn array(&mut self, depth: usize) -> Result<Json, String> {
        self.at += 1;
        let mut items = Vec::new();
        while self.next_of(b']')? {
            items.push(self.value(depth + 1)?);
        }
        Ok(Json::Array(items))
    }

    /// Goes to the next member or item; `false` behind the `end` of them.
    fn next_of(&mut self, end: u8) -> Result<bool, String> {
        let next = self.peek();
        if next == Some(end) || next == Some(b',') {
            self.at += 1;
        }
        match next {
            Some(_) => Ok(next != Some(end)),
            None => Err(self.broken()),
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect(b'"')?;
        let begin = self.at;
        let bytes = self.text.as_bytes();
        let mut escaped = false;
        loop {
            match bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                Some(_) => self.at += 1,
                None => return Err(self.broken()),
            }
        }
        self.at += 1;
        let inside = self.text.get(begin..self.at - 1).ok_or_else(|| self.broken())?;
        match escaped {
            false => Ok(inside.to_owned()),
            true => serde_json::from_str(&self.text[begin - 1..self.at])
                .map_err(|e| format!("not JSON: {e}")),
        }
    }

    /// `true`, `false`, `null`, or a number.
    fn word(&mut self) -> Result<Json, String> {
        let rest = &self.text[self.at..];
        let ends = |c: char| matches!(c, ',' | ']' | '}') || c.is_ascii_whitespace();
        let word = rest.split(ends).next().unwrap_or_default();
        self.at += word.len();
        match word {
            "" => Err(self.broken()),
            "true" => Ok(Json::Bool(true)),
            "false" => Ok(Json::Bool(false)),
            "null" => Ok(Json::Null),
            number => Ok(Json::Number(number.into())),
        }
    }

    /// The first byte that is no blank.
    fn peek(&mut self) -> Option<u8> {
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

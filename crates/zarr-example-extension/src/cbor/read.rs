//! Reads a CBOR data item as JSON (RFC 8949, sections 3 and 6.1).

use std::collections::HashSet;

use zarr_core::{Json, Oddities};

use super::{MAX_DEPTH, float};

/// The document that `bytes` hold, and nothing else.
pub(super) fn document(bytes: &[u8]) -> Result<(Json, Oddities), String> {
    let mut reader = Reader { rest: bytes, oddities: Oddities::default() };
    let json = reader.value(0)?;
    match reader.rest.len() {
        0 => Ok((json, reader.oddities)),
        n => Err(format!("{n} bytes follow it")),
    }
}

/// What is still to be read. No length is trusted: memory is taken as bytes are found.
struct Reader<'a> {
    rest: &'a [u8],
    oddities: Oddities,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: u64) -> Result<&'a [u8], String> {
        let split = usize::try_from(len).ok().and_then(|len| self.rest.split_at_checked(len));
        let Some((taken, rest)) = split else {
            return Err(format!("expected {len} bytes, {} are left", self.rest.len()));
        };
        self.rest = rest;
        Ok(taken)
    }

    /// An item's major type, its additional information, and its argument: `None` for an indefinite length.
    fn head(&mut self) -> Result<(u8, u8, Option<u64>), String> {
        let first = self.take(1)?[0];
        let (major, info) = (first >> 5, first & 31);
        let argument = match info {
            0..24 => Some(u64::from(info)),
            24..28 => {
                let bytes = self.take(1 << (info - 24))?;
                Some(bytes.iter().fold(0, |n, &byte| n << 8 | u64::from(byte)))
            }
            31 if (2..6).contains(&major) => None,
            _ => return Err(format!("no item begins with {first:#04x}")),
        };
        Ok((major, info, argument))
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > MAX_DEPTH {
            return Err(format!("it nests deeper than {MAX_DEPTH} levels"));
        }
        let (major, info, argument) = self.head()?;
        match (major, argument) {
            (0, Some(n)) => Ok(Json::from(n)),
            (1, Some(n)) => Ok(Json::Number((-1 - i128::from(n)).to_string().into())),
            (3, len) => self.text(len).map(Json::String),
            (4, len) => {
                let mut items = Vec::new();
                while self.has_more(len, items.len())? {
                    items.push(self.value(depth + 1)?);
                }
                Ok(Json::Array(items))
            }
            (5, len) => self.object(len, depth),
            (7, Some(bits)) => self.simple(info, bits),
            (6, tag) => Err(format!("JSON cannot represent tag {}", tag.unwrap_or_default())),
            _ => Err("JSON cannot represent byte strings".into()),
        }
    }

    /// Whether another item follows: as many as the head said, or up to the break.
    fn has_more(&mut self, len: Option<u64>, done: usize) -> Result<bool, String> {
        match (len, self.rest.split_first()) {
            (Some(len), _) => Ok((done as u64) < len),
            (None, Some((0xff, rest))) => {
                self.rest = rest;
                Ok(false)
            }
            (None, _) => Ok(true),
        }
    }

    /// A text of `len` bytes, or one in pieces, each a separate text.
    fn text(&mut self, len: Option<u64>) -> Result<String, String> {
        let Some(len) = len else {
            let mut text = String::new();
            while self.has_more(None, 0)? {
                match self.head()? {
                    (3, _, Some(len)) => text.push_str(&utf8(self.take(len)?)?),
                    _ => return Err("a text in pieces has pieces of another kind".into()),
                }
            }
            return Ok(text);
        };
        utf8(self.take(len)?)
    }

    /// The members of an object; of those with one name the last holds.
    fn object(&mut self, len: Option<u64>, depth: usize) -> Result<Json, String> {
        let (mut members, mut names) = (Vec::new(), HashSet::new());
        while self.has_more(len, members.len())? {
            let (3, _, len) = self.head()? else {
                return Err("the name of a member is a text".into());
            };
            let name = self.text(len)?;
            if !names.insert(name.clone()) {
                self.oddities.duplicates.push(name.clone());
            }
            members.push((name, self.value(depth + 1)?));
        }
        Ok(Json::Object(members.into_iter().collect()))
    }

    fn simple(&mut self, info: u8, bits: u64) -> Result<Json, String> {
        let value = match info {
            20 | 21 => return Ok(Json::Bool(info == 21)),
            22 => return Ok(Json::Null),
            25..28 => float::read(info, bits),
            _ => return Err(format!("JSON cannot represent simple value {bits}")),
        };
        // As a bare `NaN` in JSON: a strict reader refuses it.
        self.oddities.bare_floats |= !value.is_finite();
        Ok(match value {
            f64::INFINITY => Json::from("Infinity"),
            f64::NEG_INFINITY => Json::from("-Infinity"),
            value if value.is_nan() => Json::from("NaN"),
            value => Json::Number(format!("{value:?}").into()),
        })
    }
}

/// The text of these bytes.
fn utf8(bytes: &[u8]) -> Result<String, String> {
    match str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(e) => Err(format!("a text is not UTF-8: {e}")),
    }
}

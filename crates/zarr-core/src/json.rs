//! Holds JSON without losing any of it.
//!
//! Attributes and fill values must survive a rewrite to the letter: integers beyond 2^53, the text of
//! a number, the order of members (D-107, F-009, Z2-006). [`Json`] therefore keeps the
//! text of numbers and the order of members, and reports what a tolerant reader had to overlook.

mod number;
mod object;
mod read;
mod value;
mod write;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

pub use self::number::Number;
pub use self::object::Object;
pub(crate) use self::read::Reader;
pub use self::read::{MAX_DEPTH, Oddities};
pub use self::value::Json;

impl Json {
    /// How many levels a value may nest.
    pub const MAX_DEPTH: usize = MAX_DEPTH;

    /// Reads one JSON text (RFC 8259, UTF-8).
    ///
    /// # Errors
    /// A sentence saying what is wrong and where, when the text is not JSON or nests deeper than
    /// 128 levels.
    pub fn parse(text: &[u8]) -> Result<Json, String> {
        match in_one_pass(text, |reader| reader.value(0)) {
            Some((json, _)) => Ok(json),
            None => Json::parse_in_two_passes(text),
        }
    }

    fn parse_in_two_passes(text: &[u8]) -> Result<Json, String> {
        let text = std::str::from_utf8(text).map_err(|e| format!("not UTF-8: {e}"))?;
        if text.trim().is_empty() {
            return Err("empty; expected a JSON document".into());
        }
        let raw: &RawValue = serde_json::from_str(text).map_err(|e| format!("not JSON: {e}"))?;
        let mut oddities = Oddities::default();
        let json = Reader::new(raw.get(), &mut oddities).value(0)?;
        if oddities.lone_surrogates {
            return Err("not JSON: half of a surrogate pair in a string".into());
        }
        Ok(json)
    }

    /// Reads one JSON text as other implementations wrote them: a byte order mark, duplicate members
    /// (the last holds), halves of surrogate pairs and bare `NaN`, `Infinity`, `-Infinity` are noted, not refused.
    ///
    /// # Errors
    /// As [`Json::parse`].
    pub fn parse_tolerant(text: &[u8]) -> Result<(Json, Oddities), String> {
        if let Some(read) = in_one_pass(text, |reader| reader.value(0)) {
            return Ok(read);
        }
        let mut oddities = Oddities::default();
        let text = checked(text, &mut oddities)?;
        let json = Reader::new(text, &mut oddities).value(0)?;
        Ok((json, oddities))
    }

    /// Reads an element of an array of JSON values (Z2-042): JSON, or such with the bare `NaN`, `Infinity` and `-Infinity` that
    /// Python writes.
    ///
    /// # Errors
    /// As [`Json::parse`].
    pub fn parse_element(text: &[u8]) -> Result<Json, String> {
        let (json, odd) = Json::parse_tolerant(text)?;
        match odd {
            Oddities { byte_order_mark: true, .. } => {
                Err("not JSON: it begins with a byte order mark".into())
            }
            Oddities { lone_surrogates: true, .. } => {
                Err("not JSON: half of a surrogate pair in a string".into())
            }
            _ => Ok(json),
        }
    }

    /// As [`Json::parse_tolerant`], without the member `aside` if it is an object; whether it has that one.
    pub(crate) fn parse_but(text: &[u8], aside: &str) -> Result<(Json, bool, Oddities), String> {
        if let Some(((json, found), oddities)) = in_one_pass(text, |r| r.object_but(aside)) {
            return Ok((json, found, oddities));
        }
        let mut oddities = Oddities::default();
        let text = checked(text, &mut oddities)?;
        let (json, found) = Reader::new(text, &mut oddities).object_but(aside)?;
        Ok((json, found, oddities))
    }

    /// A value that is a member of a document, without the rest of that; `None` if it is not JSON, or odd.
    pub(crate) fn parse_member(text: &[u8]) -> Option<Json> {
        let (json, odd) = in_one_pass(text, |reader| reader.value(1))?;
        (odd == Oddities::default()).then_some(json)
    }

    /// The text of an object before and after the value of a member; the object is JSON, and has the member once.
    pub(crate) fn around<'t>(text: &'t [u8], member: &str) -> Option<(&'t [u8], &'t [u8])> {
        let text = std::str::from_utf8(text).ok()?;
        let bytes = text.as_bytes();
        let mut found = None;
        Reader::new(text, &mut Oddities::default())
            .members(|reader, name| {
                let value = reader.pass()?;
                let start = value.as_ptr() as usize - bytes.as_ptr() as usize;
                if name == member {
                    found = Some((&bytes[..start], &bytes[start + value.len()..]));
                }
                Ok(())
            })
            .ok()?;
        found
    }

    /// The text with an indent of two spaces a level, as documents are written, and a line end. `{:#}` writes the same
    /// without the line end, and without holding the text.
    pub fn to_pretty(&self) -> String {
        format!("{self:#}\n")
    }

    /// The text, cut to at most 80 characters, for messages.
    pub fn brief(&self) -> String {
        write::brief(self)
    }

    /// The value as a type that `serde` can read. Bare `NaN` and `Infinity` are strings there.
    ///
    /// # Errors
    /// `serde_json`'s, when the value does not fit the type.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.clone().into_standard().to_string())
    }
}

/// Reads a text in one pass; `None` if it is not JSON. A second reading then finds why, or what a tolerant reader
/// accepts all the same.
fn in_one_pass<T>(
    text: &[u8],
    read: impl FnOnce(&mut Reader<'_, '_>) -> Result<T, String>,
) -> Option<(T, Oddities)> {
    let text = std::str::from_utf8(text).ok()?;
    let mut oddities = Oddities::default();
    let mut reader = Reader::strict(text, &mut oddities);
    let value = read(&mut reader).ok()?;
    reader.peek().is_none().then_some((value, oddities))
}

/// One JSON text as other implementations wrote them, see [`Json::parse_tolerant`]; a text that is JSON but for bare
/// `NaN` and `Infinity`.
fn checked<'t>(text: &'t [u8], oddities: &mut Oddities) -> Result<&'t str, String> {
    let text = std::str::from_utf8(text).map_err(|e| format!("not UTF-8: {e}"))?;
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => {
            oddities.byte_order_mark = true;
            rest
        }
        None => text,
    };
    if text.trim().is_empty() {
        return Err("empty; expected a JSON document".into());
    }
    fn check(text: &str) -> Result<&RawValue, serde_json::Error> {
        serde_json::from_str(text)
    }
    let error = match check(text) {
        Ok(_) => return Ok(text),
        Err(error) => error,
    };
    match quote_bare_floats(text).filter(|quoted| check(quoted).is_ok()) {
        Some(_) => {
            oddities.bare_floats = true;
            Ok(text)
        }
        None => Err(format!("not JSON: {error}")),
    }
}

/// A text that is JSON, of which parts can be had as they stand.
#[derive(Debug)]
pub(crate) struct Text(Bytes);

impl Text {
    /// As [`Json::parse_tolerant`] reads them.
    ///
    /// # Errors
    /// Those of [`Json::parse_tolerant`].
    pub fn of(text: &Bytes) -> Result<Text, String> {
        let checked = checked(text, &mut Oddities::default())?;
        Ok(Text(text.slice_ref(checked.as_bytes())))
    }

    /// Reads it from its beginning.
    pub fn reader<'a, 'o>(&'a self, oddities: &'o mut Oddities) -> Reader<'a, 'o> {
        Reader::new(std::str::from_utf8(&self.0).unwrap_or_default(), oddities)
    }

    /// A part of it, as its reader passed over it.
    pub fn part(&self, part: &str) -> Bytes {
        self.0.slice_ref(part.as_bytes())
    }
}

/// Puts quotes around `NaN`, `Infinity` and `-Infinity` outside strings; `None` if there are none.
fn quote_bare_floats(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut in_string = false;
    let mut found = false;
    while let Some(c) = rest.chars().next() {
        if in_string {
            let step = if c == '\\' {
                1 + rest[1..].chars().next().map_or(0, char::len_utf8)
            } else {
                c.len_utf8()
            };
            in_string = c != '"';
            out.push_str(&rest[..step]);
            rest = &rest[step..];
            continue;
        }
        match ["NaN", "-Infinity", "Infinity"].iter().find(|token| rest.starts_with(**token)) {
            Some(token) => {
                out.extend(["\"", token, "\""]);
                rest = &rest[token.len()..];
                found = true;
            }
            None => {
                in_string = c == '"';
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_text_and_member_order_survive() {
        let text = r#"{"z":18446744073709551617,"a":[1.0,1e2,-0.0,{"q":null}],"m":"é\n"}"#;
        assert_eq!(Json::parse(text.as_bytes()).unwrap().to_string(), text);
    }

    #[test]
    fn tolerant_reading_notes_what_it_overlooked() {
        let (json, odd) =
            Json::parse_tolerant(b"\xef\xbb\xbf{\"a\":NaN,\"b\":\"NaN \\\"\",\"a\":[-Infinity]}")
                .unwrap();
        assert_eq!(json.to_string(), r#"{"a":[-Infinity],"b":"NaN \""}"#);
        assert_eq!(json.into_standard().to_string(), r#"{"a":["-Infinity"],"b":"NaN \""}"#);
        assert!(odd.bare_floats && odd.byte_order_mark);
        assert_eq!(odd.duplicates, ["a"]);
    }

    /// As Python's `backslashreplace` has it.
    #[test]
    fn half_of_a_surrogate_pair_is_read_as_the_text_of_its_escape() {
        let text = |inside: &str| {
            let document = format!("[\"{inside}\"]");
            assert!(Json::parse(document.as_bytes()).is_err(), "{inside}");
            let (json, odd) = Json::parse_tolerant(document.as_bytes()).unwrap();
            assert!(odd.lone_surrogates, "{inside}");
            json.as_array().unwrap()[0].as_str().unwrap().to_owned()
        };
        assert_eq!(text(r"caf\udce9.nc"), r"caf\udce9.nc");
        assert_eq!(text(r"\ud83d\ude00\ud83d\u0041\n\\"), "😀\\ud83dA\n\\");
        assert_eq!(text(r"\\udce9\uDCE9é"), r"\udce9\uDCE9é");
        assert_eq!(text(r"\udce9\ud83d"), r"\udce9\ud83d");
        // It is JSON that a whole pair is in, and no escape.
        for sound in [r#"["\ud83d\ude00"]"#, r#"["\\udce9"]"#] {
            let (_, odd) = Json::parse_tolerant(sound.as_bytes()).unwrap();
            assert_eq!(odd, Oddities::default());
        }
        for broken in [r#"["\udce9\x"]"#, r#"["\udce9\u12"]"#, "[\"\\udce9\\é\"]"] {
            assert!(Json::parse_tolerant(broken.as_bytes()).is_err(), "{broken}");
        }
    }

    /// What is left out may not stand there twice, either.
    #[test]
    fn what_is_left_out_is_missed_if_it_stands_twice() {
        let parse = |text: &str| Json::parse_but(text.as_bytes(), "c").unwrap();
        let (json, found, odd) = parse(r#"{"a":1,"c":{"a":[2],"a":"}"},"b":3}"#);
        assert_eq!((json.to_string().as_str(), found), (r#"{"a":1,"b":3}"#, true));
        assert!(odd.duplicates.is_empty());
        assert_eq!(parse(r#"{"c":1,"a":1,"c":null}"#).2.duplicates, ["c"]);
        assert_eq!(parse("[1]"), (Json::parse(b"[1]").unwrap(), false, Oddities::default()));
    }

    #[test]
    fn hostile_text_is_refused() {
        for text in ["", "  ", "{", "{\"a\":1}}", "[1,]", "nul", "\u{feff}{}", "01", "\"a"] {
            assert!(Json::parse(text.as_bytes()).is_err(), "{text}");
        }
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(Json::parse(deep.as_bytes()).is_err());
        assert!(Json::parse_tolerant(deep.as_bytes()).is_err());
        assert!(Json::parse(b"\xff").is_err());
    }

    /// Members with one name are found among few and among many.
    #[test]
    fn the_last_of_a_name_holds_at_the_place_of_the_first() {
        for count in [2, 15, 16, 17, 100] {
            let members: Vec<String> = (0..count).map(|n| format!("\"m{n}\":{n}")).collect();
            let text = format!("{{{},\"m1\":\"again\",\"m{}\":0}}", members.join(","), count - 1);
            let (json, odd) = Json::parse_tolerant(text.as_bytes()).unwrap();
            let object = json.as_object().unwrap();
            assert_eq!(object.len(), count, "{text}");
            assert_eq!(odd.duplicates, ["m1".to_owned(), format!("m{}", count - 1)]);
            let names: Vec<String> = object.iter().map(|(name, _)| name.to_owned()).collect();
            assert_eq!(names, (0..count).map(|n| format!("m{n}")).collect::<Vec<_>>());
        }
    }

    /// A text with some of its bytes replaced, removed or repeated.
    fn damaged(text: &str, changes: &[(usize, usize)]) -> String {
        const BYTES: &[&str] = &[
            "",
            "\"",
            "\\",
            ",",
            ":",
            "[",
            "]",
            "{",
            "}",
            "0",
            "-",
            ".",
            "e",
            "+",
            " ",
            "\n",
            "\u{c}",
            "\u{1}",
            "NaN",
            "-Infinity",
            "true",
            "nul",
            "\\u12",
            "\\ud800",
            "\u{e9}",
            "\u{feff}",
            "1",
            "\"a\":",
        ];
        let mut text: Vec<char> = text.chars().collect();
        for &(at, kind) in changes {
            let at = at % (text.len() + 1);
            let end = (at + kind % 2).min(text.len());
            text.splice(at..end, BYTES[kind / 2 % BYTES.len()].chars());
        }
        text.into_iter().collect()
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(4096))]

        /// One pass accepts the texts that two accept, but for bare NaN and infinity, and reads the same values.
        #[test]
        fn one_pass_reads_what_two_read(
            changes in proptest::collection::vec((0..200usize, 0..1000usize), 0..4),
        ) {
            let text = r#" {"a": [1, -0.5e+3, true, {"b": null, "b": []}], "c": {"d": "x\u00e9\n", "": [[], {}]}} "#;
            let text = damaged(text, &changes);
            let bytes = text.as_bytes();
            let once = in_one_pass(bytes, |reader| reader.value(0));
            let twice = Json::parse_in_two_passes(bytes);
            proptest::prop_assert_eq!(once.as_ref().map(|(json, _)| json), twice.as_ref().ok(), "{}", text);
            for name in ["a", "c", "x"] {
                let once = in_one_pass(bytes, |reader| reader.object_but(name));
                let mut oddities = Oddities::default();
                let twice = serde_json::from_str::<&RawValue>(&text)
                    .ok()
                    .and_then(|raw| Reader::new(raw.get(), &mut oddities).object_but(name).ok())
                    .filter(|_| !oddities.lone_surrogates);
                proptest::prop_assert_eq!(&once, &twice.map(|read| (read, oddities)), "{}", text);
            }
        }
    }

    proptest::proptest! {
            /// Whatever `serde_json` writes is read as what it was.
            #[test]
            fn texts_are_read_as_serde_json_wrote_them(
                strings in proptest::collection::vec(".*", 0..20),
                numbers in proptest::collection::vec(proptest::num::f64::NORMAL, 0..5),
                pretty: bool,
            ) {
                let members: serde_json::Map<String, serde_json::Value> = strings
                    .iter()
                    .enumerate()
                    .map(|(n, text)| (text.clone(), serde_json::json!([text, n, {}, [], {text: [null, true]}, numbers])))
                    .collect();
                let value = serde_json::Value::Object(members);
                let text = if pretty {
    serde_json::to_string_pretty(&value).unwrap()
    } else {
    value.to_string()
    };
                let read = Json::parse(text.as_bytes()).unwrap();
                proptest::prop_assert_eq!(read.to_string(), value.to_string());

                // Each member is passed over to its end, and left out where that is asked for.
                let text = Text::of(&Bytes::from(text)).unwrap();
                let (mut oddities, mut members) = (Oddities::default(), Vec::new());
                text.reader(&mut oddities).members(|reader, name| {
                    members.push((name, Json::parse(&text.part(reader.pass()?))?));
                    Ok(())
                }).unwrap();
                let mut whole = members.into_iter().collect::<Object>();
                proptest::prop_assert_eq!(&Json::from(whole.clone()), &read);
                let name = strings.first().cloned().unwrap_or_default();
                let whole_text = text.reader(&mut oddities).pass().unwrap();
                let (rest, found, _) = Json::parse_but(whole_text.as_bytes(), &name).unwrap();
                proptest::prop_assert_eq!(found, whole.remove(&name).is_some());
                proptest::prop_assert_eq!(rest, Json::from(whole));
            }
        }
}

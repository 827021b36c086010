//! Reads kerchunk's references in JSON (V-020 … V-025).

use std::collections::HashMap;
use std::fmt;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use zarr_core::Json;

use super::generate::{MAX_GENERATED_KEYS, generate};
use super::template::Templates;

/// The references of a file, sorted by their keys.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub entries: Vec<(Box<str>, Entry)>,
    /// The targets, each once, as the file names them.
    pub urls: Vec<Box<str>>,
}

/// What a key refers to. There may be millions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Inline(Box<[u8]>),
    /// An index of [`Table::urls`], an offset and a length.
    Part(u32, u64, u64),
    /// An index of [`Table::urls`].
    Whole(u32),
}

/// The references in `text`; `null_url` is the target of those that name none.
///
/// # Errors
/// A sentence that says what is wrong, with the key.
pub(super) fn parse(text: &[u8], null_url: Option<&str>) -> Result<Table, String> {
    match std::str::from_utf8(text).map_err(|e| format!("not UTF-8: {e}")).and_then(|text| {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let members = top(text)?;
        Builder::new(null_url).build(text, &members)
    }) {
        Err(error) if is_syntax(&error) => {
            // Python writes bare `NaN` in documents that are objects.
            let (json, _) = Json::parse_tolerant(text)?;
            let text = json.into_standard().to_string();
            let members = top(&text)?;
            Builder::new(null_url).build(&text, &members)
        }
        other => other,
    }
}

/// What marks the errors of JSON itself.
const NOT_JSON: &str = "not JSON: ";

fn is_syntax(error: &str) -> bool {
    error.starts_with(NOT_JSON)
}

/// The members of version 1, as text.
#[derive(Default)]
struct TopMembers<'t> {
    version: Option<&'t str>,
    templates: Option<&'t str>,
    generators: Option<&'t str>,
    refs: Option<&'t str>,
}

fn top(text: &str) -> Result<TopMembers<'_>, String> {
    let mut members = TopMembers::default();
    for_each_member(text, |name, value| {
        match name.as_str() {
            "version" => members.version = Some(value),
            "templates" => members.templates = Some(value),
            "gen" => members.generators = Some(value),
            "refs" => members.refs = Some(value),
            _ => {}
        }
        Ok(())
    })?;
    Ok(members)
}

struct Builder<'a> {
    table: Table,
    indices: HashMap<String, u32>,
    templates: Templates,
    null_url: Option<&'a str>,
}

impl<'a> Builder<'a> {
    fn new(null_url: Option<&'a str>) -> Self {
        let (table, indices, templates) = Default::default();
        Builder { table, indices, templates, null_url }
    }

    fn build(mut self, text: &str, members: &TopMembers<'_>) -> Result<Table, String> {
        match members.version {
            // Version 0 is the references alone.
            None => for_each_member(text, |key, value| self.add(key, value))?,
            Some("1") => self.add_version_1(members)?,
            Some(other) => {
                return Err(format!("version {other} of kerchunk's references, expected 0 or 1"));
            }
        }
        let Table { entries, urls } = &mut self.table;
        // The sort is stable: of equal keys the last is the one that counts.
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.reverse();
        entries.dedup_by(|(a, _), (b, _)| a == b);
        entries.reverse();
        entries.shrink_to_fit();
        urls.shrink_to_fit();
        Ok(self.table)
    }

    fn add_version_1(&mut self, members: &TopMembers<'_>) -> Result<(), String> {
        if let Some(templates) = members.templates {
            for_each_member(templates, |name, value| {
                let text = Json::parse(value.as_bytes())?;
                let text = text.as_str().ok_or_else(|| {
                    format!("template `{name}`: expected a text, found {}", text.kind())
                })?;
                self.templates.insert(name, text.to_owned());
                Ok(())
            })?;
        }
        if let Some(refs) = members.refs {
            for_each_member(refs, |key, value| self.add(key, value))?;
        }
        let Some(generators) = members.generators else { return Ok(()) };
        let generators = Json::parse(generators.as_bytes())?;
        let generators = generators.as_array().ok_or("`gen`: expected a list")?;
        let templates = std::mem::take(&mut self.templates);
        let mut left = MAX_GENERATED_KEYS;
        for generator in generators {
            generate(generator, &templates, &mut left, |made| {
                let url = self.index(&made.url)?;
                let entry = match made.range {
                    Some((offset, length)) => Entry::Part(url, offset, length),
                    None => Entry::Whole(url),
                };
                self.table.entries.push((made.key.into(), entry));
                Ok(())
            })
            .map_err(|e| format!("`gen`: {e}"))?;
        }
        Ok(())
    }

    fn add(&mut self, key: String, value: &str) -> Result<(), String> {
        let entry = self.entry(value).map_err(|e| format!("`{}`: {e}", key.escape_debug()))?;
        self.table.entries.push((key.into(), entry));
        Ok(())
    }

    fn entry(&mut self, value: &str) -> Result<Entry, String> {
        match value.as_bytes().first() {
            Some(b'"') => {
                let text: String = serde_json::from_str(value).map_err(|e| e.to_string())?;
                match text.strip_prefix("base64:") {
                    Some(encoded) => Ok(Entry::Inline(decode_base64(encoded)?.into())),
                    None => Ok(Entry::Inline(text.into_bytes().into())),
                }
            }
            // A document that is not a text, but JSON.
            Some(b'{') => Ok(Entry::Inline(value.as_bytes().into())),
            Some(b'[') => {
                let written: Written = serde_json::from_str(value).map_err(|e| e.to_string())?;
                let url = match (&written.url, self.null_url) {
                    (Some(url), _) => self.rendered(url)?,
                    (None, Some(url)) => self.index(url)?,
                    (None, None) => {
                        return Err("it names no target; give one with the option `target`".into());
                    }
                };
                Ok(match written.range {
                    Some((offset, length)) => Entry::Part(url, offset, length),
                    None => Entry::Whole(url),
                })
            }
            _ => Err("expected a text, an object, `[url]` or `[url, offset, length]`".into()),
        }
    }

    /// The index of a URL with templates.
    fn rendered(&mut self, url: &str) -> Result<u32, String> {
        if !url.contains("{{") && !url.contains("{%") {
            return self.index(url);
        }
        let rendered = self.templates.render(url, &[])?;
        self.index(&rendered)
    }

    fn index(&mut self, url: &str) -> Result<u32, String> {
        if let Some(index) = self.indices.get(url) {
            return Ok(*index);
        }
        let index = u32::try_from(self.table.urls.len()).map_err(|_| "too many targets")?;
        self.table.urls.push(url.into());
        self.indices.insert(url.to_owned(), index);
        Ok(index)
    }
}

/// `[url]` or `[url, offset, length]`.
struct Written {
    url: Option<String>,
    range: Option<(u64, u64)>,
}

impl<'de> de::Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WrittenVisitor;
        impl<'de> Visitor<'de> for WrittenVisitor {
            type Value = Written;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`[url]` or `[url, offset, length]`")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Written, A::Error> {
                let Some(url) = list.next_element()? else {
                    return Err(de::Error::invalid_length(0, &self));
                };
                let Some(offset) = list.next_element::<u64>()? else {
                    return Ok(Written { url, range: None });
                };
                let Some(length) = list.next_element::<u64>()? else {
                    return Err(de::Error::invalid_length(2, &self));
                };
                if list.next_element::<de::IgnoredAny>()?.is_some() {
                    return Err(de::Error::invalid_length(4, &self));
                }
                Ok(Written { url, range: Some((offset, length)) })
            }
        }
        deserializer.deserialize_seq(WrittenVisitor)
    }
}

/// Calls `visit` with each member of a JSON object, its value as text.
fn for_each_member<'t>(
    text: &'t str,
    visit: impl FnMut(String, &'t str) -> Result<(), String>,
) -> Result<(), String> {
    struct Members<F>(F, Option<String>);
    impl<'t, F: FnMut(String, &'t str) -> Result<(), String>> Visitor<'t> for &mut Members<F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(name) = map.next_key::<String>()? {
                let value: &'t RawValue = map.next_value()?;
                if let Err(why) = (self.0)(name, value.get()) {
                    self.1 = Some(why);
                    return Err(de::Error::custom("stopped"));
                }
            }
            Ok(())
        }
    }
    let mut members = Members(visit, None);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let visited = deserializer.deserialize_map(&mut members);
    match (visited.and_then(|()| deserializer.end()), members.1) {
        (_, Some(why)) => Err(why),
        (Err(e), None) => Err(format!("{NOT_JSON}{e}")),
        (Ok(()), None) => Ok(()),
    }
}

fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&STANDARD, config);
    engine.decode(text.trim_end()).map_err(|e| format!("invalid base64: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(table: &Table, key: &str) -> Option<String> {
        let (_, entry) = table.entries.iter().find(|(known, _)| **known == *key)?;
        Some(match entry {
            Entry::Inline(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Entry::Part(url, offset, length) => {
                format!("{} {offset} {length}", table.urls[*url as usize])
            }
            Entry::Whole(url) => table.urls[*url as usize].to_string(),
        })
    }

    /// The example of kerchunk's specification.
    #[test]
    fn version_1_has_templates_and_generators() {
        let text = br#"{
            "version": 1,
            "refs": {
              "key0": "data",
              "key1": ["http://target_url", 10000, 100],
              "key2": ["http://{{u}}", 10000, 100],
              "key3": ["http://{{f(c='text')}}", 10000, 100],
              "key4": ["http://target_url"]
            },
            "templates": {"u": "server.domain/path", "f": "{{c}}"},
            "gen": [{
                "key": "gen_key{{i}}", "url": "http://{{u}}_{{i}}",
                "offset": "{{(i + 1) * 1000}}", "length": "1000",
                "dimensions": {"i": {"stop":  5}}
            }]
        }"#;
        let table = parse(text, None).unwrap();
        for (key, expected) in [
            ("key0", "data"),
            ("key1", "http://target_url 10000 100"),
            ("key2", "http://server.domain/path 10000 100"),
            ("key3", "http://text 10000 100"),
            ("key4", "http://target_url"),
            ("gen_key4", "http://server.domain/path_4 5000 1000"),
        ] {
            assert_eq!(found(&table, key).as_deref(), Some(expected), "{key}");
        }
        assert_eq!((table.entries.len(), table.urls.len()), (10, 8));
        assert!(table.entries.is_sorted_by(|(a, _), (b, _)| a < b));
    }

    #[test]
    fn version_0_has_texts_objects_and_ranges() {
        let text = br#"{".zgroup": {"zarr_format": 2}, "a/0": "base64:AAEC", "a/1": ["x", 1, 2],
            "a/2": "old", "a/2": "new", "a/3": "base64:/w", "a/4": [null, 5, 6]}"#;
        let table = parse(text, Some("given")).unwrap();
        assert_eq!(found(&table, ".zgroup").unwrap(), r#"{"zarr_format": 2}"#);
        assert_eq!(found(&table, "a/0").unwrap(), "\0\u{1}\u{2}");
        assert_eq!(found(&table, "a/2").unwrap(), "new");
        assert_eq!(found(&table, "a/4").unwrap(), "given 5 6");
        assert_eq!(table.entries.len(), 6);
        assert!(parse(text, None).unwrap_err().contains("`a/4`"));
        let bare = parse(br#"{"a/.zarray": {"fill_value": NaN}, "a/0": ["x"]}"#, None).unwrap();
        assert!(found(&bare, "a/.zarray").unwrap().contains("NaN"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, why) in [
            (&b"{"[..], "not JSON"),
            (b"[]", "not JSON"),
            (b"{} x", "not JSON"),
            (br#"{"version": 2, "refs": {}}"#, "version 2"),
            (br#"{"a": ["x", -1, 2]}"#, "`a`"),
            (br#"{"a": ["x", 1]}"#, "`a`"),
            (br#"{"a": ["x", 1, 2, 3]}"#, "`a`"),
            (br#"{"a": []}"#, "`a`"),
            (br#"{"a": 5}"#, "`a`"),
            (br#"{"a": "base64:*"}"#, "base64"),
            (br#"{"version": 1, "refs": {"a": ["{{x}}", 1, 2]}}"#, "{{x}}"),
            (br#"{"version": 1, "gen": [{"key": "k", "url": "u", "dimensions": {"i": {"stop": 1000000000000}}}]}"#, "more than"),
        ] {
            let error = parse(text, None).unwrap_err();
            assert!(error.contains(why), "{}: {error}", String::from_utf8_lossy(text));
        }
    }
}

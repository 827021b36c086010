//! Defines a codec as a document names it: its name and its parameters in each dialect.

use std::fmt;

use crate::dialect::Dialect;
use crate::error::{MetadataError, Unsupported};
use crate::json::{Json, Object};

/// A codec as a document names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecSpec {
    /// Whose words these are.
    pub dialect: Dialect,
    /// Its name: a v3 name, a v2 `id`, a draft's URI.
    pub name: String,
    /// Its parameters. In v2 they are members beside the `id`.
    pub configuration: Object,
}

impl CodecSpec {
    /// A codec as a dialect's metadata name it.
    pub fn new(dialect: Dialect, name: impl Into<String>, configuration: Object) -> Self {
        CodecSpec { dialect, name: name.into(), configuration }
    }

    /// A codec as in final v3, which is the form of the model.
    pub fn v3(name: impl Into<String>, configuration: Object) -> Self {
        CodecSpec::new(Dialect::V3, name, configuration)
    }
}

impl CodecSpec {
    /// A codec as final v3 writes one: a name, or an object with one; `None` for anything else.
    pub fn from_v3(json: &Json) -> Option<Self> {
        if let Json::String(name) = json {
            return Some(CodecSpec::v3(name.clone(), Object::new()));
        }
        let object = json.as_object()?;
        let configuration = match object.get("configuration") {
            None => Object::new(),
            Some(configuration) => configuration.as_object()?.clone(),
        };
        Some(CodecSpec::v3(object.get("name")?.as_str()?, configuration))
    }
}

impl fmt::Display for CodecSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.configuration.is_empty() {
            write!(f, "{}", self.name)
        } else {
            write!(f, "{} {}", self.name, Json::from(self.configuration.clone()))
        }
    }
}

/// The names of one codec in every dialect.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Names in final v3; the first is written.
    pub v3: &'static [&'static str],
    /// The `id` in v2.
    pub v2: &'static [&'static str],
    /// The last part of the URI in the drafts: `gzip` of `https://purl.org/zarr/spec/codec/gzip/1.0`.
    /// A name with a `:` is a whole URI.
    pub draft: &'static [&'static str],
}

impl Names {
    /// The codec as a dialect's metadata: under the first of its names there, with this configuration; `None` if it has
    /// no name there. Most codecs need no more for their `to_metadata`.
    ///
    /// ```
    /// use zarr_core::codec::Names;
    /// use zarr_core::{Dialect, Object};
    ///
    /// const NAMES: Names = Names { v3: &["numcodecs.lzf", "lzf"], v2: &[], draft: &["lzf"] };
    /// let name = |dialect| Some(NAMES.to_metadata(dialect, Object::new())?.name);
    /// assert_eq!(name(Dialect::V3).as_deref(), Some("numcodecs.lzf"));
    /// assert_eq!(name(Dialect::V2), None);
    /// assert_eq!(name(Dialect::Draft).as_deref(), Some("https://purl.org/zarr/spec/codec/lzf/1.0"));
    /// ```
    pub fn to_metadata(&self, dialect: Dialect, configuration: Object) -> Option<CodecSpec> {
        let name = match dialect {
            Dialect::V3 => (*self.v3.first()?).to_owned(),
            Dialect::V2 => (*self.v2.first()?).to_owned(),
            Dialect::Draft => match *self.draft.first()? {
                uri if uri.contains(':') => uri.to_owned(),
                name => format!("https://purl.org/zarr/spec/codec/{name}/1.0"),
            },
        };
        Some(CodecSpec::new(dialect, name, configuration))
    }
}

/// Reads a codec's parameters, each once; what is left over is unknown.
///
/// Unknown parameters are an error in final v3 (F-017) and ignored in v2 and the drafts (Z2-061, D-063).
#[derive(Debug)]
pub struct Parameters<'a> {
    spec: &'a CodecSpec,
    read: Vec<&'static str>,
}

impl<'a> Parameters<'a> {
    /// The parameters of `spec`.
    pub fn new(spec: &'a CodecSpec) -> Self {
        Parameters { spec, read: Vec::new() }
    }

    /// The parameter as it stands, if it is there and not null.
    pub fn get(&mut self, name: &'static str) -> Option<&'a Json> {
        self.read.push(name);
        self.spec.configuration.get(name).filter(|v| **v != Json::Null)
    }

    /// An error about parameter `name`.
    pub fn invalid(&self, name: &str, why: impl Into<String>) -> MetadataError {
        MetadataError::invalid(format!("codecs: {}: {name}", self.spec.name), why)
    }

    /// An integer in `range`; `default` if it is not there, an error if there is none.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`].
    pub fn integer(
        &mut self,
        name: &'static str,
        range: std::ops::RangeInclusive<i64>,
        default: Option<i64>,
    ) -> Result<i64, MetadataError> {
        match (self.get(name), default) {
            (Some(json), _) => json.as_i64().filter(|v| range.contains(v)).ok_or_else(|| {
                self.invalid(
                    name,
                    format!(
                        "expected an integer from {} to {}, found {}",
                        range.start(),
                        range.end(),
                        json.brief()
                    ),
                )
            }),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(self.invalid(name, "is missing")),
        }
    }

    /// A boolean; `default` if it is not there.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`].
    pub fn boolean(&mut self, name: &'static str, default: bool) -> Result<bool, MetadataError> {
        match self.get(name) {
            None => Ok(default),
            Some(json) => {
                json.as_bool().ok_or_else(|| self.invalid(name, "expected `true` or `false`"))
            }
        }
    }

    /// A string; `None` if it is not there.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`].
    pub fn string(&mut self, name: &'static str) -> Result<Option<&'a str>, MetadataError> {
        match self.get(name) {
            None => Ok(None),
            Some(json) => {
                json.as_str().map(Some).ok_or_else(|| self.invalid(name, "expected a string"))
            }
        }
    }

    /// What one of some words stands for; `None` if it is not there.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`], which names the words.
    pub fn choice<T: Clone>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, MetadataError> {
        let Some(word) = self.string(name)? else { return Ok(None) };
        match words.iter().find(|(known, _)| *known == word) {
            Some((_, meaning)) => Ok(Some(meaning.clone())),
            None => {
                let known: Vec<String> =
                    words.iter().map(|(word, _)| format!("`{word}`")).collect();
                Err(self.invalid(
                    name,
                    format!("unknown value `{word}`; expected one of {}", known.join(", ")),
                ))
            }
        }
    }

    /// A list of codecs, as final v3 writes them, for a codec that others are part of.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`], also if it is not there.
    pub fn codecs(&mut self, name: &'static str) -> Result<Vec<CodecSpec>, MetadataError> {
        let list = self.get(name).and_then(Json::as_array);
        let list = list.ok_or_else(|| self.invalid(name, "expected a list of codecs"))?;
        let codecs: Option<Vec<CodecSpec>> = list.iter().map(CodecSpec::from_v3).collect();
        codecs.ok_or_else(|| {
            self.invalid(name, "each codec must be a name, or an object with a name")
        })
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`MetadataError::Unsupported`] in final v3, naming a parameter that the codec did not read: what it means is not
    /// known here (docs/internals/design/strictness.md).
    pub fn finish(self) -> Result<(), MetadataError> {
        let unknown = self.spec.configuration.iter().find(|(name, _)| !self.read.contains(name));
        match unknown {
            // zarr-python writes a stray `id` for `numcodecs.*` (F-104).
            Some((name, _)) if self.spec.dialect == Dialect::V3 && name != "id" => {
                let hint = "unknown parameter of this codec".into();
                let name = format!("codecs: {}: {name}", self.spec.name);
                Err(Unsupported { what: "parameter", name, hint }.into())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_one_of_its_words_and_an_error_names_them() {
        let spec =
            |word: Json| CodecSpec::new(Dialect::V3, "test", Object::new().with("location", word));
        let choice = |spec: &CodecSpec| {
            Parameters::new(spec).choice("location", &[("start", 1), ("end", 2)])
        };
        assert_eq!(choice(&spec("end".into())).unwrap(), Some(2));
        assert_eq!(choice(&spec(Json::Null)).unwrap(), None);
        let why = choice(&spec("middle".into())).unwrap_err().to_string();
        assert!(
            why.ends_with("location`: unknown value `middle`; expected one of `start`, `end`"),
            "{why}"
        );
        assert!(choice(&spec(3u64.into())).is_err());
    }
}

//! The dialects of Zarr, and how strictly they are read.

use std::fmt;
use std::str::FromStr;

use crate::printable::printable;

/// A dialect of Zarr: the vocabulary of its documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// The drafts of the v3 core protocol, 2019 to 2020.
    Draft,
    /// Final v3.
    V3,
    /// v2.
    V2,
}

impl Dialect {
    /// Returns the name: `v2`, `v3` or `draft-2020`.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Draft => "draft-2020",
            Dialect::V3 => "v3",
            Dialect::V2 => "v2",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = String;

    /// The dialect of this name: `v2`, `v3`, `draft-2020`.
    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Dialect::V2, Dialect::V3, Dialect::Draft];
        let found = all.into_iter().find(|dialect| dialect.name() == name);
        found.ok_or_else(|| format!("unknown format `{name}`; expected v2, v3 or draft-2020"))
    }
}

/// Which of the drafts a hierarchy follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Era {
    /// The first draft, 14 May 2019: the document of an array, no keys.
    E0,
    /// The later draft of May 2019: complex types, `chunk_codecs`, attributes in the document; no keys.
    E1,
    /// June 2019 to August 2020: `zarr.json`, `"application/json"`, documents below `meta/root/`,
    /// chunks below `data/` without a prefix.
    E2,
    /// September 2020: a URI as `metadata_encoding`, chunks `c…` below `data/root/`, no key suffix.
    E3,
    /// October 2020 on: `metadata_key_suffix`. The text that is written.
    E4,
}

impl Era {
    /// `E0` … `E4`.
    pub fn name(self) -> &'static str {
        ["E0", "E1", "E2", "E3", "E4"][self as usize]
    }

    /// `draft-2019` or `draft-2020`.
    pub fn format_name(self) -> &'static str {
        if self <= Era::E2 { "draft-2019" } else { "draft-2020" }
    }
}

impl FromStr for Era {
    type Err = String;

    /// The era of this name: `E0` … `E4`; `draft-2019` is E2, `draft-2020` is E4.
    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "E0" => Ok(Era::E0),
            "E1" => Ok(Era::E1),
            "E2" | "draft-2019" => Ok(Era::E2),
            "E3" => Ok(Era::E3),
            "E4" | "draft-2020" => Ok(Era::E4),
            _ => Err(format!("unknown draft `{name}`; expected E0, E1, E2, E3 or E4")),
        }
    }
}

/// How closely a reader holds to the specification. Writers are always strict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// What the specification forbids is an error.
    Strict,
    /// What others wrote and is unambiguous is read, with a warning.
    #[default]
    Tolerant,
}

/// Something a tolerant reader overlooked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Warning {
    /// Where: the node's path, or a key.
    pub place: String,
    /// What.
    pub what: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", printable(&self.place), printable(&self.what))
    }
}

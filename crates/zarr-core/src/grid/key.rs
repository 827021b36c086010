//! Encodes chunk indices as keys, and parses keys (D-044 … D-047, F-065 … F-067, Z2-020).

use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::dialect::Dialect;
use crate::error::{MetadataError, Unsupported};
use crate::json::{Json, Object};
use crate::registry::Registry;

/// A third party's way of naming chunks, which [`Registry::key_encoding`](crate::Registry::key_encoding) adds.
pub trait ChunkKeyEncoding: Debug + Send + Sync {
    /// The key of a chunk, below its array's chunk prefix. No two chunks have one key, and none is `zarr.json`.
    fn key(&self, indices: &[i64]) -> String;

    /// The indices of the chunk with this key; `None` if it is no chunk's, which includes any form of a chunk's key that
    /// [`ChunkKeyEncoding::key`] does not give. The key may come from anywhere.
    fn parse(&self, key: &str, rank: usize) -> Option<Vec<i64>>;

    /// The encoding as a dialect's metadata, `{"name": …, "configuration": …}` in final v3; `None` if the dialect cannot
    /// represent it, as v2 and the drafts cannot.
    fn to_metadata(&self, dialect: Dialect) -> Option<Json>;
}

/// A third party's encoding. Two are equal if they are the same metadata.
#[derive(Clone, Debug)]
pub struct RegisteredKeys(pub Arc<dyn ChunkKeyEncoding>);

impl PartialEq for RegisteredKeys {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.0.to_metadata(Dialect::V3) == other.0.to_metadata(Dialect::V3)
    }
}

impl Eq for RegisteredKeys {}

impl Hash for RegisteredKeys {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key(&[0]).hash(state);
    }
}

/// How chunk indices become the end of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ChunkKeys {
    /// Final v3's `default`: `c/1/23`; `c` for a scalar.
    Default {
        /// `/` or `.`
        separator: char,
    },
    /// v2, also in final v3: `1.23`; `0` for a scalar.
    V2 {
        /// `/` or `.`
        separator: char,
    },
    /// The drafts since September 2020: `c1/23`; `c` for a scalar, or `c0` as zarr-python 2.18 writes it.
    Draft {
        /// `/` or `.`; a tolerant reader takes `-` and `_`, too.
        separator: char,
        /// Whether a scalar is written at `c0`, if it is not stored yet.
        scalar_at_c0: bool,
    },
    /// The drafts of 2019: `1.23`.
    Draft2019 {
        /// `/` or `.`; where the document says none, `.` is tried before `/`.
        separator: Option<char>,
    },
    /// A third party's.
    Registered(RegisteredKeys),
    /// One that is not known here. No key is a chunk's, and none can be made.
    Unknown,
}

/// Adds final v3's own encodings, as a third party adds its own.
pub(crate) fn register_key_encodings(registry: &mut Registry) {
    registry.key_encoding("default", |configuration| {
        Ok(ChunkKeys::Default { separator: separator_of(configuration, '/')? })
    });
    registry.key_encoding("v2", |configuration| {
        Ok(ChunkKeys::V2 { separator: separator_of(configuration, '.')? })
    });
}

/// The one member that the configuration of final v3's own encodings has.
fn separator_of(configuration: &Object, default: char) -> Result<char, MetadataError> {
    let names = configuration.iter().map(|(name, _)| name);
    let unknown: Vec<&str> = names.filter(|name| *name != "separator").collect();
    if !unknown.is_empty() {
        // A member that is not understood may change what the others mean.
        let name = format!("chunk_key_encoding: {}", unknown.join(", "));
        let hint = "it is unknown, and readers must understand it".into();
        return Err(Unsupported { what: "member", name, hint }.into());
    }
    match configuration.get("separator") {
        None => Ok(default),
        Some(Json::String(text)) => ChunkKeys::check_separator("chunk_key_encoding", text),
        Some(other) => {
            let why = format!("expected a separator, found {}", other.brief());
            Err(MetadataError::invalid("chunk_key_encoding", why))
        }
    }
}

impl ChunkKeys {
    /// The keys of a third party's encoding.
    pub fn registered(encoding: impl ChunkKeyEncoding + 'static) -> ChunkKeys {
        ChunkKeys::Registered(RegisteredKeys(Arc::new(encoding)))
    }

    /// The key of a chunk, below its array's chunk prefix.
    pub fn key(&self, indices: &[i64]) -> String {
        self.key_after("", indices)
    }

    /// The same after a prefix.
    pub(crate) fn key_after(&self, prefix: &str, indices: &[i64]) -> String {
        let mut key = String::with_capacity(prefix.len() + 2 + indices.len() * 8);
        key.push_str(prefix);
        if let ChunkKeys::Registered(RegisteredKeys(encoding)) = self {
            key.push_str(&encoding.key(indices));
            return key;
        }
        let (start, separated) = match self {
            // The drafts of 2019 give a scalar's chunk no name at all, which is no key.
            ChunkKeys::V2 { .. } | ChunkKeys::Draft2019 { .. } if indices.is_empty() => {
                ("0", false)
            }
            ChunkKeys::Default { .. } => ("c", true),
            ChunkKeys::Draft { .. } => ("c", false),
            _ => ("", false),
        };
        key.push_str(start);
        for (axis, index) in indices.iter().enumerate() {
            if axis > 0 || separated {
                key.push(self.separator());
            }
            key.push_str(itoa::Buffer::new().format(*index));
        }
        key
    }

    /// Where else a chunk may lie: a draft's scalar at `c0` (D-046, row 9), a chunk of 2019 behind `/`
    /// (draft-v3.md 2.2).
    pub fn other_key(&self, indices: &[i64]) -> Option<String> {
        match self {
            ChunkKeys::Draft { .. } if indices.is_empty() => Some("c0".into()),
            ChunkKeys::Draft2019 { separator: None } if indices.len() > 1 => {
                Some(ChunkKeys::Draft2019 { separator: Some('/') }.key(indices))
            }
            _ => None,
        }
    }

    /// The indices of the chunk with this key; `None` if it is no chunk's: leading zeros and signs,
    /// another rank, a missing `c` (D-047, F-067).
    pub fn parse(&self, key: &str, rank: usize) -> Option<Vec<i64>> {
        let (rest, separator) = match self {
            ChunkKeys::Registered(RegisteredKeys(encoding)) => {
                let indices = encoding.parse(key, rank)?;
                return (indices.len() == rank).then_some(indices);
            }
            ChunkKeys::Unknown => return None,
            ChunkKeys::Default { .. } | ChunkKeys::Draft { .. } if rank == 0 => {
                let scalar = key == "c" || self.other_key(&[]).is_some_and(|other| other == key);
                return scalar.then(Vec::new);
            }
            ChunkKeys::V2 { .. } | ChunkKeys::Draft2019 { .. } if rank == 0 => {
                return (key == "0").then(Vec::new);
            }
            ChunkKeys::Default { separator } => {
                (key.strip_prefix('c')?.strip_prefix(*separator)?, separator)
            }
            ChunkKeys::Draft { separator, .. } => (key.strip_prefix('c')?, separator),
            ChunkKeys::V2 { separator } => (key, separator),
            ChunkKeys::Draft2019 { separator: Some(separator) } => (key, separator),
            ChunkKeys::Draft2019 { separator: None } if key.contains('/') => (key, &'/'),
            ChunkKeys::Draft2019 { separator: None } => (key, &'.'),
        };
        let indices: Vec<i64> = rest.split(*separator).map(index_of).collect::<Option<_>>()?;
        (indices.len() == rank).then_some(indices)
    }

    /// Whether keys can be made and parsed.
    pub fn is_known(&self) -> bool {
        *self != ChunkKeys::Unknown
    }

    /// The separator of indices; `/` where an encoding has none that is known.
    pub fn separator(&self) -> char {
        match self {
            ChunkKeys::Default { separator }
            | ChunkKeys::V2 { separator }
            | ChunkKeys::Draft { separator, .. } => *separator,
            ChunkKeys::Draft2019 { separator } => separator.unwrap_or('.'),
            ChunkKeys::Registered(_) | ChunkKeys::Unknown => '/',
        }
    }

    /// The same keys with another separator.
    #[must_use]
    pub fn with_separator(mut self, by: char) -> Self {
        match &mut self {
            ChunkKeys::Default { separator }
            | ChunkKeys::V2 { separator }
            | ChunkKeys::Draft { separator, .. } => *separator = by,
            ChunkKeys::Draft2019 { separator } => *separator = Some(by),
            ChunkKeys::Registered(_) | ChunkKeys::Unknown => {}
        }
        self
    }

    /// `/` or `.` out of a document's text.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] for any other.
    pub fn check_separator(member: &str, text: &str) -> Result<char, MetadataError> {
        match text {
            "/" => Ok('/'),
            "." => Ok('.'),
            _ => Err(MetadataError::invalid(
                member,
                format!("separator `{text}` is neither `/` nor `.`"),
            )),
        }
    }
}

/// The index of a chunk along an axis, as keys write it. A grid that reaches before the origin has chunks of negative index.
fn index_of(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_canonical = text == "0" || digits.starts_with(|c: char| ('1'..='9').contains(&c));
    if is_canonical { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-044, D-046, D-047, F-065 … F-067, Z2-020, T-55, T-56, T-57.
    #[test]
    fn keys_are_exactly_those_of_the_specifications() {
        let cases = [
            (ChunkKeys::Default { separator: '/' }, "c/1/23/45", "c"),
            (ChunkKeys::Default { separator: '.' }, "c.1.23.45", "c"),
            (ChunkKeys::V2 { separator: '.' }, "1.23.45", "0"),
            (ChunkKeys::V2 { separator: '/' }, "1/23/45", "0"),
            (ChunkKeys::Draft { separator: '/', scalar_at_c0: true }, "c1/23/45", "c"),
            (ChunkKeys::Draft { separator: '.', scalar_at_c0: true }, "c1.23.45", "c"),
            (ChunkKeys::Draft2019 { separator: None }, "1.23.45", "0"),
            (ChunkKeys::Draft2019 { separator: Some('/') }, "1/23/45", "0"),
        ];
        for (keys, three, none) in cases {
            assert_eq!(keys.key(&[1, 23, 45]), three);
            assert_eq!(keys.key(&[]), none);
            assert_eq!(keys.parse(three, 3), Some(vec![1, 23, 45]));
            assert_eq!(keys.parse(none, 0), Some(vec![]));
            assert_eq!(keys.parse(three, 2), None);
        }
        let draft = ChunkKeys::Draft { separator: '/', scalar_at_c0: true };
        assert_eq!(draft.key(&[5]), "c5");
        assert_eq!(draft.parse("c0", 0), Some(vec![]));
        assert_eq!(draft.parse("c-1/20", 2), Some(vec![-1, 20]));
        let guess = ChunkKeys::Draft2019 { separator: None };
        assert_eq!(guess.other_key(&[1, 2]).as_deref(), Some("1/2"));
        assert_eq!(guess.parse("1/2", 2), Some(vec![1, 2]));
        assert_eq!(guess.other_key(&[1]), None);
        // What is no chunk's key of rank 2 is none in any words.
        let spoiled = [
            "01/2", "1/02", "00/2", "+1/2", "1/+2", "-0/2", "--1/2", "1", "1/", "/2", "1/2/3",
            "1//2", "1/x", "",
        ];
        for (keys, good) in [
            (ChunkKeys::Default { separator: '/' }, "c/1/2"),
            (ChunkKeys::Default { separator: '.' }, "c.1.2"),
            (ChunkKeys::V2 { separator: '.' }, "1.2"),
            (ChunkKeys::V2 { separator: '/' }, "1/2"),
            (ChunkKeys::Draft { separator: '.', scalar_at_c0: false }, "c1.2"),
            (ChunkKeys::Draft2019 { separator: Some('/') }, "1/2"),
            (ChunkKeys::Draft2019 { separator: None }, "1.2"),
        ] {
            assert_eq!(keys.parse(good, 2), Some(vec![1, 2]));
            let start = good.split('1').next().unwrap_or_default();
            for bad in spoiled {
                let bad = format!("{start}{}", bad.replace('/', &keys.separator().to_string()));
                assert_eq!(keys.parse(&bad, 2), None, "{keys:?}: {bad}");
            }
            for bad in
                ["zarr.json", ".zarray", "x/zarr.json", "c", "0", "1-2", "c1-2", "1.2/zarr.json"]
            {
                assert_eq!(keys.parse(bad, 2), None, "{keys:?}: {bad}");
            }
            // Without its `c`, with one too many, and with another separator.
            let other = if keys.separator() == '/' { '.' } else { '/' };
            let (bare, doubled) = (good.trim_start_matches(['c', '/', '.']), format!("c{good}"));
            assert!(start.is_empty() || keys.parse(bare, 2).is_none(), "{keys:?}: {bare}");
            assert_eq!(keys.parse(&doubled, 2), None, "{keys:?}: {doubled}");
            let guesses = keys == ChunkKeys::Draft2019 { separator: None };
            let swapped = good.replace(keys.separator(), &other.to_string());
            assert!(guesses || keys.parse(&swapped, 2).is_none(), "{keys:?}: {swapped}");
        }
        for bad in [
            "c01/2",
            "c+1/2",
            "1/2",
            "c1",
            "c1/",
            "c-0/1",
            "c-01/1",
            "c--1/1",
            "zarr.json",
            "c1/99999999999999999999",
        ] {
            assert_eq!(draft.parse(bad, 2), None, "{bad}");
        }
    }
}

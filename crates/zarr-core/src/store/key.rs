//! Checks keys and prefixes.
//!
//! Keys are UTF-8 and cannot lead out of a store (D-130, D-132, F-110; docs/internals/design/stores.md).

use std::fmt;

use crate::error::StoreError;

/// The key of one value: segments joined by `/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreKey(String);

impl StoreKey {
    /// A key: not empty, no leading or trailing `/`, no empty, `.` or `..` segment, no NUL.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] naming the rule that is broken.
    pub fn new(key: impl Into<String>) -> Result<Self, StoreError> {
        let key = key.into();
        match flaw(&key) {
            Some(why) => Err(StoreError::InvalidKey { key, why: why.into() }),
            None => Ok(StoreKey(key)),
        }
    }

    /// A key that is one by the way it was made.
    pub(crate) fn known(key: String) -> Self {
        debug_assert_eq!(flaw(&key), None, "{key}");
        StoreKey(key)
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The prefix that holds this key: everything up to its last `/`.
    pub fn parent(&self) -> StorePrefix {
        let at = self.0.rfind('/').map_or(0, |at| at + 1);
        StorePrefix(self.0[..at].into())
    }
}

impl fmt::Display for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The common beginning of keys: empty (the root), or ending in `/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorePrefix(Box<str>);

impl StorePrefix {
    /// The prefix of every key.
    pub fn root() -> Self {
        StorePrefix("".into())
    }

    /// A prefix: empty, or a key followed by `/`.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] naming the rule that is broken (D-132).
    pub fn new(prefix: impl Into<String>) -> Result<Self, StoreError> {
        let prefix = prefix.into();
        if prefix.is_empty() {
            return Ok(Self::root());
        }
        let why = match prefix.strip_suffix('/') {
            None => Some("a prefix ends in `/`"),
            Some(key) => flaw(key),
        };
        match why {
            Some(why) => Err(StoreError::InvalidKey { key: prefix, why: why.into() }),
            None => Ok(StorePrefix(prefix.into())),
        }
    }

    /// The prefix as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its last segment, without the `/`; empty for the root.
    pub(crate) fn name(&self) -> &str {
        let inner = self.0.strip_suffix('/').unwrap_or(&self.0);
        inner.rsplit('/').next().unwrap_or(inner)
    }

    /// The key `rest` below this prefix.
    ///
    /// # Errors
    /// As [`StoreKey::new`].
    pub fn key(&self, rest: &str) -> Result<StoreKey, StoreError> {
        StoreKey::new([&*self.0, rest].concat())
    }

    /// What of `key` follows this prefix; `None` if it does not begin with it.
    pub fn strip<'k>(&self, key: &'k StoreKey) -> Option<&'k str> {
        key.as_str().strip_prefix(&*self.0)
    }
}

impl fmt::Display for StorePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn flaw(key: &str) -> Option<&'static str> {
    if key.is_empty() {
        return Some("it is empty");
    }
    if key.contains('\0') {
        return Some("it has a NUL");
    }
    key.as_bytes().split(|&byte| byte == b'/').find_map(|segment| match segment {
        b"" => Some("it begins or ends with `/` or has an empty segment"),
        b"." | b".." => Some("a segment is `.` or `..`"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-130, D-132.
    #[test]
    fn keys_cannot_leave_the_store() {
        for bad in ["", "/a", "a/", "a//b", "../x", "a/../../x", "a/./b", ".", "..", "\0", "a\0b"] {
            assert!(StoreKey::new(bad).is_err(), "{bad:?}");
        }
        for good in
            ["zarr.json", "meta/root/foo.array.json", ".zarray", "a b/é", "...", "C:\\x", "a\n"]
        {
            assert!(StoreKey::new(good).is_ok(), "{good:?}");
        }
        assert!(StorePrefix::new("a").is_err());
        assert!(StorePrefix::new("/").is_err());
        assert_eq!(StorePrefix::new("a/").unwrap().key("b").unwrap().as_str(), "a/b");
        assert_eq!(StoreKey::new("a/b").unwrap().parent().as_str(), "a/");
        assert_eq!(StoreKey::new("a").unwrap().parent(), StorePrefix::root());
    }
}

//! The path of a node in a hierarchy.
//!
//! A path is `/` and names joined by `/` (D-003 … D-006). Which names may be *created* is each format's
//! rule (D-010 … D-013, F-020, Z2-002); what may be *opened* is only what every format shares.

use std::fmt;
use std::str::FromStr;

use crate::error::{AccessError, StoreError};
use crate::store::{StoreKey, StorePrefix};

/// The path of a node: `/`, or names each preceded by `/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodePath(String);

impl NodePath {
    /// The path of the root, `/`.
    pub fn root() -> Self {
        NodePath("/".into())
    }

    /// The path that `text` means: a missing leading `/` and trailing ones are forgiven, since people
    /// type them; empty text is the root.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for an empty, `.` or `..` segment and for a NUL (D-006, Z2-002). Other control characters
    /// are those of ordinary names, which others write.
    pub fn new(text: &str) -> Result<Self, AccessError> {
        let inner = text.strip_prefix('/').unwrap_or(text);
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        if inner.is_empty() {
            return if text.len() > 1 { Err(bad(text, EMPTY)) } else { Ok(Self::root()) };
        }
        for name in inner.split('/') {
            match name {
                "" => return Err(bad(text, EMPTY)),
                "." | ".." => {
                    let why = format!("`{name}` is not a node name; paths begin at the root");
                    return Err(bad(text, &why));
                }
                _ if name.contains('\0') => return Err(bad(text, "it has a NUL")),
                _ => {}
            }
        }
        Ok(NodePath(format!("/{inner}")))
    }

    /// The path as text, beginning with `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path without its leading `/`; empty for the root.
    pub fn relative(&self) -> &str {
        &self.0[1..]
    }

    /// The prefix of the keys below it, in formats that store a node under its path.
    pub(crate) fn prefix(&self) -> Result<StorePrefix, StoreError> {
        if self.is_root() {
            Ok(StorePrefix::root())
        } else {
            StorePrefix::new(format!("{}/", self.relative()))
        }
    }

    /// The key `rest` below its prefix.
    pub(crate) fn key_below(&self, rest: &str) -> Result<StoreKey, StoreError> {
        if self.is_root() {
            StoreKey::new(rest)
        } else {
            StoreKey::new(format!("{}/{rest}", self.relative()))
        }
    }

    /// Whether it is the root.
    pub fn is_root(&self) -> bool {
        self.0.len() == 1
    }

    /// The last name; `None` for the root.
    pub fn name(&self) -> Option<&str> {
        self.relative().rsplit('/').next().filter(|n| !n.is_empty())
    }

    /// The names from the root down.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.relative().split('/').filter(|n| !n.is_empty())
    }

    /// The node above; `None` for the root.
    pub fn parent(&self) -> Option<NodePath> {
        let (above, _) = self.relative().rsplit_once('/').unwrap_or(("", ""));
        (!self.is_root()).then(|| NodePath(format!("/{above}")))
    }

    /// All nodes above, the nearest first, the root last.
    pub fn ancestors(&self) -> impl Iterator<Item = NodePath> {
        std::iter::successors(self.parent(), NodePath::parent)
    }

    /// The path of a child.
    ///
    /// # Errors
    /// As [`NodePath::new`]; also for an empty name (D-010) and one with `/`.
    pub fn child(&self, name: &str) -> Result<NodePath, AccessError> {
        if name.is_empty() {
            return Err(bad(name, "a name cannot be empty"));
        }
        if name.contains('/') {
            return Err(bad(name, "a name cannot contain `/`"));
        }
        NodePath::new(&format!("{}/{name}", self.0.trim_end_matches('/')))
    }

    /// The node that `path`, relative to this one or absolute if it begins with `/`, means.
    ///
    /// # Errors
    /// As [`NodePath::new`].
    pub fn join(&self, path: &str) -> Result<NodePath, AccessError> {
        match path.starts_with('/') || self.is_root() {
            true => NodePath::new(path),
            false if path.is_empty() => Ok(self.clone()),
            false => NodePath::new(&format!("{}/{path}", self.0)),
        }
    }

    /// Whether `self` is `other` or below it.
    pub fn is_within(&self, other: &NodePath) -> bool {
        other.is_root()
            || self
                .0
                .strip_prefix(&other.0)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Why a path with two `/` in a row is none.
const EMPTY: &str = "a name between two `/` is empty; write one `/`";

fn bad(text: &str, why: &str) -> AccessError {
    AccessError::Argument(format!("`{}` is not a path: {why}", text.escape_debug()))
}

impl AsRef<str> for NodePath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for NodePath {
    type Err = AccessError;
    fn from_str(text: &str) -> Result<Self, AccessError> {
        NodePath::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-003 … D-006, D-010, D-012, Q9, Z2-002.
    #[test]
    fn paths_are_made_of_names() {
        let path = NodePath::new("/foo/bar").unwrap();
        assert_eq!(path.name(), Some("bar"));
        let above: Vec<String> = path.ancestors().map(|p| p.to_string()).collect();
        assert_eq!(above, ["/foo", "/"]);
        assert_eq!(NodePath::new("foo/").unwrap().as_str(), "/foo");
        assert_eq!(NodePath::root().name(), None);
        assert_eq!(path.join("x/y").unwrap().as_str(), "/foo/bar/x/y");
        // A `/` at the end is what people type; no path has one.
        assert_eq!(NodePath::new("/foo/").unwrap().as_str(), "/foo");
        assert_eq!(
            (NodePath::new("").unwrap(), NodePath::new("/").unwrap()),
            (NodePath::root(), NodePath::root())
        );
        // A backslash separates nothing.
        assert_eq!(NodePath::new("\\foo").unwrap().names().collect::<Vec<_>>(), ["\\foo"]);
        for bad in ["//", "/a//b", "//a", "a//", "/../x", "/foo/./bar", "a/..", ".", "a\0b"] {
            assert!(NodePath::new(bad).is_err(), "{bad}");
        }
        for name in ["x:y", "T:1", "a\nb", "\u{7f}"] {
            assert_eq!(path.child(name).unwrap().name(), Some(name));
        }
        for bad in ["", ".", "..", "a/b"] {
            assert!(path.child(bad).is_err() && NodePath::root().child(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn within_respects_name_borders() {
        let x = NodePath::new("/x").unwrap();
        assert!(NodePath::new("/x/y").unwrap().is_within(&x));
        assert!(!NodePath::new("/xy").unwrap().is_within(&x));
    }
}

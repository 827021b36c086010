//! Tells one value of a key from every other.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;

/// The most bytes of a token that are copied into the version of a part.
const MAX_TOKEN_OF_PART: usize = 4096;

/// What a value was when it was read: equal versions mean equal values, nowise changed since.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Version {
    token: Option<Bytes>,
    /// What tells a value from an equal one that was set later, where the store knows.
    mark: Option<[u64; 4]>,
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.token.as_ref().map(Bytes::len);
        write!(f, "Version of {size:?} bytes, {:?}", self.mark)
    }
}

impl Version {
    /// A version from whatever the store tells states apart by: an ETag, a count.
    pub fn new(token: impl Into<Bytes>) -> Self {
        Version { token: Some(token.into()), mark: None }
    }

    /// The version of a value by its content: the value itself, shared, not copied. Comparing two is
    /// exact.
    pub fn of_content(value: Bytes) -> Self {
        Version { token: Some(value), mark: None }
    }

    /// The version of a value that only its mark tells from others.
    pub fn of_mark(mark: [u64; 4]) -> Self {
        Version { token: None, mark: Some(mark) }
    }

    /// The store's token, or the value itself, without the mark.
    pub fn token(&self) -> Option<&Bytes> {
        self.token.as_ref()
    }

    /// Whether nothing but a mark is known.
    pub fn is_mark(&self) -> bool {
        self.token.is_none()
    }

    /// The version of some bytes of the value that has this version; `None` if that is known by its content, and long.
    pub fn of_part(&self, range: &Range<u64>) -> Option<Version> {
        let whole = self.token.as_deref().unwrap_or_default();
        if whole.len() > MAX_TOKEN_OF_PART {
            return None;
        }
        let token = [&range.start.to_le_bytes()[..], &range.end.to_le_bytes(), whole].concat();
        Some(Version { token: Some(token.into()), mark: self.mark })
    }

    /// The same version of a value that bears this mark, such as a file's number and time of change.
    #[must_use]
    pub fn marked(mut self, mark: [u64; 4]) -> Self {
        self.mark = Some(mark);
        self
    }
}

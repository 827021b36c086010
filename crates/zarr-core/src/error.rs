//! Errors: what went wrong, and where.
//!
//! Each layer has an enum of what a caller can act on; [`Error`] adds the place once, where it is known:
//! store, path, chunk and key. Sources are kept. [`ErrorKind`] is the coarse answer for programs.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::io;

use thiserror::Error as ThisError;

use crate::path::NodePath;
use crate::store::StoreKey;

/// An error of another crate's store or codec, kept as it came.
pub type Backend = Box<dyn StdError + Send + Sync>;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of thing went wrong; one table maps kinds to the program's exit codes (decision 0125).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller asked for something that cannot be.
    Argument,
    /// The store lacks a capability.
    NotCapable,
    /// The handle or the store was opened read-only.
    ReadOnly,
    /// Something is there already.
    Exists,
    /// Nothing is there.
    NotFound,
    /// Valid, but this build does not know it.
    Unsupported,
    /// A document breaks its specification.
    InvalidMetadata,
    /// Stored bytes do not decode.
    CorruptData,
    /// The store failed.
    Store,
    /// A limit was reached.
    Limit,
    /// Another writer was faster, again and again.
    Conflict,
}

impl ErrorKind {
    /// The kind's name for programs: `not_found`.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Argument => "argument",
            ErrorKind::NotCapable => "not_capable",
            ErrorKind::ReadOnly => "read_only",
            ErrorKind::Exists => "exists",
            ErrorKind::NotFound => "not_found",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::InvalidMetadata => "invalid_metadata",
            ErrorKind::CorruptData => "corrupt_data",
            ErrorKind::Store => "store",
            ErrorKind::Limit => "limit",
            ErrorKind::Conflict => "conflict",
        }
    }

    /// The program's exit code for this kind.
    pub fn exit_code(self) -> u8 {
        match self {
            ErrorKind::Argument
            | ErrorKind::NotCapable
            | ErrorKind::ReadOnly
            | ErrorKind::Exists => 2,
            ErrorKind::NotFound => 3,
            ErrorKind::Unsupported => 4,
            _ => 5,
        }
    }
}

/// What a store could not do.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum StoreError {
    /// The key breaks the rules for keys, or this store's own.
    #[error("key `{}` is not usable: {why}", .key.escape_debug())]
    InvalidKey {
        /// The key as given.
        key: String,
        /// The rule it breaks.
        why: String,
    },
    /// A URL that names no store.
    #[error("`{}` names no store: {why}", .url.escape_debug())]
    InvalidUrl {
        /// The URL as given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The store lacks a capability.
    #[error("cannot {}: the store is not {capability}", plain_verb(.operation))]
    NotCapable {
        /// What was asked for.
        operation: &'static str,
        /// `readable`, `writeable`, `listable` or `conditional`.
        capability: &'static str,
    },
    /// The store was opened for reading only.
    #[error("cannot write: opened read-only")]
    ReadOnly,
    /// Input or output failed.
    #[error("cannot {} `{key}`: {source}", plain_verb(.operation))]
    Io {
        /// `get`, `set`, `erase`, `list`, `lock` ...
        operation: &'static str,
        /// The key or prefix.
        key: String,
        /// What the system said.
        source: io::Error,
    },
    /// The lock behind the conditional set was refused.
    #[error("cannot lock `{key}`: {source}")]
    LockRefused {
        /// The key that was to be locked.
        key: String,
        /// What the system said.
        source: io::Error,
    },
    /// A range begins past the end of the value.
    #[error("range {range} lies outside `{key}`, which has {size} bytes")]
    Range {
        /// The key.
        key: String,
        /// The range asked for.
        range: String,
        /// The value's size in bytes.
        size: u64,
    },
    /// Somebody replaced a value while it was read in several calls.
    #[error("`{key}` was replaced while it was read")]
    Changed {
        /// The key.
        key: String,
    },
    /// A value has more bytes than its reader takes.
    #[error("`{key}` has {} bytes, more than the limit of {limit}", .size.map_or("too many".into(), |size| size.to_string()))]
    TooLarge {
        /// The key.
        key: String,
        /// How many bytes it has, where that is known.
        size: Option<u64>,
        /// How many the reader takes.
        limit: u64,
    },
    /// A third party's store failed.
    #[error("{0}")]
    Backend(#[source] Backend),
}

impl StoreError {
    /// The error of an `operation` on a store that is not `capability`.
    pub fn not_capable(operation: &'static str, capability: &'static str) -> StoreError {
        StoreError::NotCapable { operation, capability }
    }

    /// Makes the error of an `operation` on a key or a prefix from what the system reported, for `map_err`.
    pub fn io(
        operation: &'static str,
        key: impl ToString,
    ) -> impl FnOnce(std::io::Error) -> StoreError {
        move |source| StoreError::Io { operation, key: key.to_string(), source }
    }
}

/// Something valid that this build does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// `data type`, `codec`, `chunk grid`, `chunk key encoding`, `storage transformer`, `extension` ...
    pub what: &'static str,
    /// Its name, as the document spells it.
    pub name: String,
    /// What would bring it: a feature to enable, an extension to register; or why it is refused.
    pub hint: String,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}` is not supported", self.what, self.name)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl StdError for Unsupported {}

/// What is wrong with a document, or with what a caller wants written into one.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum MetadataError {
    /// The document is not JSON, or not an object.
    #[error("{0}")]
    Json(String),
    /// A member that must be there is not.
    #[error("member `{0}` is missing")]
    Missing(&'static str),
    /// A member breaks its rules.
    #[error("`{member}`: {why}")]
    Invalid {
        /// The member.
        member: String,
        /// The rule it breaks, and what stood there.
        why: String,
    },
    /// A document demands more than [`crate::Limits`] allow.
    #[error(
        "{what} is {found}, above the limit of {limit}; raise `Limits::{name}` if you trust this data"
    )]
    Limit {
        /// What is too large: `the rank` ...
        what: &'static str,
        /// How large it is.
        found: u64,
        /// How large it may be.
        limit: u64,
        /// The field of [`crate::Limits`].
        name: &'static str,
    },
    /// Something valid that this build does not know.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The model holds something that the format cannot spell.
    #[error("{format} cannot say {what}; {hint}")]
    CannotSpell {
        /// The format that was to be written.
        format: &'static str,
        /// What it has no words for.
        what: String,
        /// A format that can, or another way out.
        hint: String,
    },
}

impl MetadataError {
    /// A member that breaks its rules.
    pub fn invalid(member: impl Into<String>, why: impl Into<String>) -> Self {
        MetadataError::Invalid { member: member.into(), why: why.into() }
    }
}

/// What a codec could not do with bytes it was given.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum CodecError {
    /// The encoded bytes are damaged.
    #[error("{codec}: {why}")]
    Corrupt {
        /// The codec.
        codec: &'static str,
        /// What is wrong with the bytes.
        why: String,
    },
    /// The decoded bytes are not as many as the chunk needs.
    #[error("{codec}: decoded to {found} bytes where {expected} are due")]
    Length {
        /// The codec.
        codec: &'static str,
        /// How many bytes are due.
        expected: u64,
        /// How many there are; at least so many, if decoding stopped there.
        found: u64,
    },
    /// The decoded bytes would pass a limit.
    #[error("{codec}: decodes to more than the limit of {limit} bytes")]
    Limit {
        /// The codec.
        codec: &'static str,
        /// The limit, in bytes.
        limit: u64,
    },
    /// A value cannot be encoded without loss that was not asked for.
    #[error("{codec}: {why}")]
    Value {
        /// The codec.
        codec: &'static str,
        /// The value and the rule it breaks.
        why: String,
    },
    /// A third party's codec failed.
    #[error("{codec}: {source}")]
    Backend {
        /// The codec.
        codec: String,
        /// What it said.
        source: Backend,
    },
}

impl CodecError {
    /// Damaged bytes.
    pub fn corrupt(codec: &'static str, why: impl fmt::Display) -> Self {
        CodecError::Corrupt { codec, why: why.to_string() }
    }
}

/// The ordinary word for an operation of a store.
fn plain_verb(operation: &str) -> &str {
    match operation {
        "get" | "open" => "read",
        "set" | "put" | "put_if" | "put_unchecked" => "write",
        "erase_unchecked" => "erase",
        other => other,
    }
}

/// What was wrong with a request to a hierarchy, a group or an array.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum AccessError {
    /// A region's rank is not the array's.
    #[error("region has {found} axes, the array has {expected}")]
    Rank {
        /// The array's rank.
        expected: usize,
        /// The region's rank.
        found: usize,
    },
    /// A region leaves the array.
    #[error("region {start}..{end} exceeds axis {axis}, which has length {len}")]
    OutOfBounds {
        /// The axis.
        axis: usize,
        /// The region's first coordinate.
        start: u64,
        /// One past the region's last coordinate.
        end: u64,
        /// The axis' length.
        len: u64,
    },
    /// A coordinate leaves the array.
    #[error("index {index} is out of bounds for axis {axis}, which has length {len}")]
    Index {
        /// The axis.
        axis: usize,
        /// The coordinate.
        index: u64,
        /// The axis' length.
        len: u64,
    },
    /// The data given are not as many as the region needs.
    #[error("region of {expected} elements, but {found} given")]
    Count {
        /// Elements of the region.
        expected: u64,
        /// Elements given, or room for them.
        found: u64,
    },
    /// The array's elements are of another type.
    #[error("elements are `{array}`, not `{asked}`")]
    ElementType {
        /// The array's data type.
        array: String,
        /// The type asked for.
        asked: &'static str,
    },
    /// Nothing is there.
    #[error("nothing is there; looked for {looked_for}")]
    NotFound {
        /// What was looked for.
        looked_for: String,
    },
    /// Something is there already.
    #[error("{0} is there already")]
    Exists(&'static str),
    /// A node of the other kind is there.
    #[error("is {is}, not {wanted}")]
    NodeKind {
        /// `an array` or `a group`.
        is: &'static str,
        /// `an array` or `a group`.
        wanted: &'static str,
    },
    /// The handle was opened for reading only.
    #[error("cannot write: opened read-only")]
    ReadOnly,
    /// What lies here is read, and not written by this library.
    #[error("cannot write: {0}")]
    Frozen(String),
    /// Another array was created in the place of the one that a handle knows.
    #[error("another array was created here since this one was opened; open it again")]
    Replaced,
    /// In each attempt another writer changed the key between the read and the write.
    #[error("gave up after {attempts} rounds in which other writers were faster; try again")]
    Conflict {
        /// How many attempts the call made.
        attempts: u32,
    },
    /// More memory than there is room for.
    #[error("{what} would need {size} bytes; {hint}")]
    TooLarge {
        /// What would need them.
        what: &'static str,
        /// How many bytes; `u64::MAX` stands for more than can be counted.
        size: u64,
        /// What to do instead.
        hint: &'static str,
    },
    /// Any other request that cannot be met.
    #[error("{0}")]
    Argument(String),
}

/// What failed; see the layers' enums.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Cause {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A document.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// A codec.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The request.
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// What failed, and where: store, path, chunk, key; with a hint where one helps.
pub struct Error(Box<Inner>);

struct Inner {
    cause: Cause,
    store: Option<String>,
    path: Option<NodePath>,
    chunk: Option<Vec<i64>>,
    key: Option<StoreKey>,
    hint: Option<String>,
}

impl Error {
    /// What failed.
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// The store, as its URL or a description.
    pub fn store(&self) -> Option<&str> {
        self.0.store.as_deref()
    }

    /// The node.
    pub fn path(&self) -> Option<&NodePath> {
        self.0.path.as_ref()
    }

    /// The chunk's indices.
    pub fn chunk(&self) -> Option<&[i64]> {
        self.0.chunk.as_deref()
    }

    /// The key.
    pub fn key(&self) -> Option<&StoreKey> {
        self.0.key.as_ref()
    }

    /// What to do.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The coarse answer.
    pub fn kind(&self) -> ErrorKind {
        match &self.0.cause {
            Cause::Store(e) => match e {
                StoreError::InvalidKey { .. } | StoreError::InvalidUrl { .. } => {
                    ErrorKind::Argument
                }
                StoreError::NotCapable { .. } => ErrorKind::NotCapable,
                StoreError::ReadOnly => ErrorKind::ReadOnly,
                StoreError::TooLarge { .. } => ErrorKind::Limit,
                _ => ErrorKind::Store,
            },
            Cause::Metadata(e) => match e {
                MetadataError::Unsupported(_) => ErrorKind::Unsupported,
                MetadataError::CannotSpell { .. } => ErrorKind::Unsupported,
                MetadataError::Limit { .. } => ErrorKind::Limit,
                _ => ErrorKind::InvalidMetadata,
            },
            Cause::Codec(e) => match e {
                CodecError::Limit { .. } => ErrorKind::Limit,
                CodecError::Value { .. } => ErrorKind::Argument,
                _ => ErrorKind::CorruptData,
            },
            Cause::Access(e) => match e {
                AccessError::NotFound { .. } => ErrorKind::NotFound,
                AccessError::Exists(_) => ErrorKind::Exists,
                AccessError::ReadOnly | AccessError::Frozen(_) => ErrorKind::ReadOnly,
                AccessError::Conflict { .. } | AccessError::Replaced => ErrorKind::Conflict,
                AccessError::TooLarge { .. } => ErrorKind::Limit,
                _ => ErrorKind::Argument,
            },
        }
    }

    /// The same error, at this store.
    pub fn at_store(mut self, store: impl Into<String>) -> Self {
        self.0.store.get_or_insert_with(|| store.into());
        self
    }

    /// The same error, at this node.
    pub fn at_path(mut self, path: &NodePath) -> Self {
        self.0.path.get_or_insert_with(|| path.clone());
        self
    }

    /// The same error, at this chunk.
    pub fn at_chunk(mut self, chunk: &[i64]) -> Self {
        self.0.chunk.get_or_insert_with(|| chunk.to_vec());
        self
    }

    /// The same error, at this key.
    pub fn at_key(mut self, key: &StoreKey) -> Self {
        self.0.key.get_or_insert_with(|| key.clone());
        self
    }

    /// The same error with a hint what to do.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }
}

impl<C: Into<Cause>> From<C> for Error {
    fn from(cause: C) -> Self {
        let cause = cause.into();
        let hint = match &cause {
            Cause::Store(StoreError::ReadOnly) | Cause::Access(AccessError::ReadOnly) => {
                Some("open it with `zarr::open_rw` or `OpenOptions::read_write`")
            }
            Cause::Access(AccessError::Exists(_)) => {
                Some("erase it first, or create with `overwrite(true)`")
            }
            Cause::Codec(CodecError::Limit { codec: "codecs", .. }) => {
                Some("raise `Limits::decoded` if you trust this data")
            }
            Cause::Store(StoreError::LockRefused { .. }) => Some(
                "this file system does not lock; if no other process writes here, open the store with \
                 `locking(false)`",
            ),
            _ => None,
        };
        Error(Box::new(Inner {
            cause,
            store: None,
            path: None,
            chunk: None,
            key: None,
            hint: hint.map(str::to_owned),
        }))
    }
}

/// So many indices of a chunk are told.
const MOST_INDICES: usize = 16;
/// So many characters of a path or a key are told.
const MOST_KEY: usize = 400;
/// So many characters of what went wrong are told; names and values out of documents are in it.
const MOST_TEXT: usize = 1000;

/// A text of at most `most` characters, what is left out of its middle told by three dots.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || text.char_indices().nth(most).is_none() {
        return text.into();
    }
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    let tail = text.char_indices().rev().nth(most / 4).map_or(0, |(at, _)| at);
    format!("{}...{}", &text[..at(most - most / 4 - 3)], &text[tail..]).into()
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        let mut place = Vec::new();
        // The path of a root says nothing where the store is named.
        if let Some(path) = inner.path.as_ref().filter(|p| !p.is_root() || inner.store.is_none()) {
            place.push(shortened(path.as_str(), MOST_KEY).into_owned());
        }
        if let Some(chunk) = &inner.chunk {
            let list: Vec<String> = chunk.iter().take(MOST_INDICES).map(i64::to_string).collect();
            let more = chunk.len().checked_sub(MOST_INDICES + 1).map(|more| more + 1);
            let more = more.map_or_else(String::new, |more| format!(", and {more} more"));
            place.push(format!("chunk ({}{more})", list.join(", ")));
        }
        let mut place = place.join(", ");
        if let (Some(store), false) = (&inner.store, place.is_empty()) {
            place = format!("store {store}: {place}");
        } else if let Some(store) = &inner.store {
            place = format!("store {store}");
        }
        // What cannot be read or written names its key itself.
        let named = match &inner.cause {
            Cause::Store(StoreError::Io { key, .. }) => Some(key.as_str()),
            _ => None,
        };
        if let Some(key) = inner.key.as_ref().filter(|key| named != Some(key.as_str())) {
            place.push_str(&format!(" at `{}`", shortened(key.as_str(), MOST_KEY)));
        }
        match place.trim_start() {
            "" => {}
            place => write!(f, "{place}: ")?,
        }
        write!(f, "{}", shortened(&inner.cause.to_string(), MOST_TEXT))?;
        match &inner.hint {
            Some(hint) => write!(f, "; {}", shortened(hint, MOST_TEXT)),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} [{:?}: {:?}]", self.kind(), self.0.cause)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.cause.source()
    }
}

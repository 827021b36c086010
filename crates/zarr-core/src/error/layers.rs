//! Says what a store, a document, a codec or a request could not do: one enum for each layer.

use std::error::Error as StdError;
use std::{fmt, io};

use thiserror::Error as ThisError;

/// An error of another crate's store or codec, kept as it came.
pub type Backend = Box<dyn StdError + Send + Sync>;

/// What a store could not do.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum StoreError {
    /// The key breaks the rules for keys, or this store's own.
    #[error("invalid key `{}`: {why}", .key.escape_debug())]
    InvalidKey {
        /// The key as given.
        key: String,
        /// The rule it breaks.
        why: String,
    },
    /// A URL that names no store.
    #[error("{}", invalid_url(.url, .why))]
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
    /// Another writer replaced a value while it was read in several calls.
    #[error("`{key}` was replaced while it was read")]
    Changed {
        /// The key.
        key: String,
    },
    /// What was to be published, such as a commit, was begun before others published; nothing was.
    #[error("{0}")]
    Conflict(String),
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
    /// A reference to another file may not be followed.
    #[error("`{key}` refers to `{target}`, which is not read: {why}")]
    TargetRefused {
        /// The key whose reference it is.
        key: String,
        /// The target, without secrets.
        target: String,
        /// Why it is refused, and what allows it.
        why: String,
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
    /// Its name, as in the document.
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

/// What is wrong with a document, or with what a caller asks to write into one.
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
        /// The rule it breaks, and what the document has.
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
    /// The format cannot represent something that the model holds.
    #[error("{format} cannot represent {what}; {hint}")]
    CannotRepresent {
        /// The format that was to be written.
        format: &'static str,
        /// What it cannot represent.
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

    /// The rule that was broken, without the member: for an error about a part of the member.
    pub(crate) fn into_why(self) -> String {
        match self {
            MetadataError::Invalid { why, .. } => why,
            other => other.to_string(),
        }
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
    #[error("{codec}: decoded {found} bytes, expected {expected}")]
    Length {
        /// The codec.
        codec: &'static str,
        /// The expected number of bytes.
        expected: u64,
        /// The number of decoded bytes; decoding may have stopped there.
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
    /// A chunk is not stored, and the reader asked for an error in that case
    /// ([`MissingChunks::Error`](crate::MissingChunks::Error)).
    #[error("{}", missing_chunk(.inner_chunks, .other_key.as_deref()))]
    MissingChunk {
        /// The indices of the inner chunk in its shard, if that is what is not stored. Where shards are nested, the
        /// outermost come first.
        inner_chunks: Vec<Vec<i64>>,
        /// Another key at which the chunk is not stored either.
        other_key: Option<String>,
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

    /// An inner chunk of a shard that is not stored.
    pub(crate) fn missing_inner_chunk(indices: &[i64]) -> Self {
        CodecError::MissingChunk { inner_chunks: vec![indices.to_vec()], other_key: None }
    }

    /// The same error, met inside the inner chunk of these indices, which is a shard itself.
    #[must_use]
    pub fn in_inner_chunk(mut self, indices: &[i64]) -> Self {
        if let CodecError::MissingChunk { inner_chunks, .. } = &mut self {
            inner_chunks.insert(0, indices.to_vec());
        }
        self
    }
}

/// The message of [`CodecError::MissingChunk`].
fn missing_chunk(inner_chunks: &[Vec<i64>], other_key: Option<&str>) -> String {
    // The innermost is the one that is not stored.
    let inner = inner_chunks.iter().rev().map(|indices| {
        let indices: Vec<String> = indices.iter().map(i64::to_string).collect();
        format!("inner chunk ({})", indices.join(", "))
    });
    let inner: Vec<String> = inner.collect();
    match (inner.is_empty(), other_key) {
        (false, _) => format!("{} is not stored", inner.join(" of ")),
        (true, Some(other)) => format!("the chunk is not stored, neither there nor at `{other}`"),
        (true, None) => "the chunk is not stored".into(),
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

/// That a URL names no store.
fn invalid_url(url: &str, why: &str) -> String {
    match url {
        "" => "the path or URL is empty; name a folder, a file, or a URL".to_owned(),
        url => format!("invalid store URL `{}`: {why}", url.escape_debug()),
    }
}

/// What was wrong with a request to a hierarchy, a group or an array.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum AccessError {
    /// A region's rank is not the array's.
    #[error(
        "the selection has {found} {}, but the array has {expected} {}; give one entry for each axis, `..` for a whole axis",
        if *found == 1 { "entry" } else { "entries" },
        if *expected == 1 { "axis" } else { "axes" }
    )]
    Rank {
        /// The array's rank.
        expected: usize,
        /// The region's rank.
        found: usize,
    },
    /// A region leaves the array.
    #[error(
        "region {start}..{end} {}",
        if start > end { format!("of axis {axis} ends before it begins") } else { format!("exceeds axis {axis}, which has length {len}") }
    )]
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
    #[error("the region has {expected} elements, but {found} were given")]
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
    #[error("not found; looked for {looked_for}")]
    NotFound {
        /// What was looked for, and what is there instead, if that is known.
        looked_for: String,
    },
    /// A document of attributes is there, and none that makes a node.
    #[error("found only attributes, in `{key}`, without a `.zarray` or `.zgroup`")]
    AttributesAlone {
        /// The document of attributes.
        key: String,
    },
    /// No document is there yet, since a copy is under way.
    #[error("copy under way, {percent} % done")]
    CopyUnderWay {
        /// How many percent of its parts are done.
        percent: u8,
        /// The command that finishes it.
        resume: String,
    },
    /// Something already exists there.
    #[error("{0} already exists")]
    Exists(&'static str),
    /// Keys that would be read as chunks of a new array are there, and no array has them: one that lost its document,
    /// or files of the user.
    #[error("found {count} {} that {} to no array, such as `{key}`",
        if *count == 1 { "chunk" } else { "chunks" }, if *count == 1 { "belongs" } else { "belong" })]
    ChunksWithoutArray {
        /// One of the keys.
        key: String,
        /// How many there are.
        count: usize,
    },
    /// A node of the other kind is there.
    #[error("this is {is}, not {wanted}")]
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
    /// Data of another format are here, which are read in place.
    #[error("cannot write: this is {what}, which is read-only")]
    OtherFormat {
        /// What it is: `a netCDF-3 file`.
        what: &'static str,
        /// The command that makes a copy that can be written.
        copy: String,
    },
    /// Another array was created in the place of the one that a handle knows.
    #[error("the array was replaced after it was opened; open it again")]
    Replaced,
    /// In each attempt another writer changed the key between the read and the write.
    #[error("gave up after {attempts} attempts: another writer was faster each time; try again")]
    Conflict {
        /// How many attempts the call made.
        attempts: u32,
    },
    /// The caller cancelled the call, with [`crate::Options::cancel`].
    #[error("cancelled; each chunk has its old or its new value; call again with a new token")]
    Cancelled,
    /// More memory than there is room for.
    #[error("{what} would need {} bytes; {hint}", if *size == u64::MAX { "more than 2^64".into() } else { size.to_string() })]
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

impl From<std::convert::Infallible> for Cause {
    fn from(never: std::convert::Infallible) -> Cause {
        match never {}
    }
}

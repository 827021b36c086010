//! Errors: what went wrong, and where.
//!
//! Each layer has an enum of what a caller can act on; [`Error`] adds the place once, where it is known:
//! store, path, chunk and key. Sources are kept. [`ErrorKind`] is the coarse answer for programs.

mod layers;
mod secrets;

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

pub use self::layers::{
    AccessError, Backend, Cause, CodecError, MetadataError, StoreError, Unsupported,
};
pub use self::secrets::without_secrets;
use crate::path::NodePath;
use crate::printable::printable;
use crate::store::StoreKey;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of thing went wrong; one table maps kinds to the program's exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The argument or request is invalid.
    Argument,
    /// The store lacks a capability.
    NotCapable,
    /// The handle or the store was opened read-only.
    ReadOnly,
    /// Something already exists there.
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
    /// The caller cancelled the call.
    Cancelled,
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
            ErrorKind::Cancelled => "cancelled",
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

/// What failed, and where: store, path, chunk, key; with a hint where one helps.
pub struct Error(Box<Inner>);

struct Inner {
    cause: Cause,
    store: Option<String>,
    path: Option<NodePath>,
    chunk: Option<Vec<i64>>,
    key: Option<StoreKey>,
    hint: Option<String>,
    hint_id: Option<&'static str>,
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

    /// Identifies the hint of [`Error::hint`], so that bindings can show their own text:
    /// `read_write` (open for writing), `overwrite` (erase, or create anew), `chunks_without_array` (restore the document,
    /// move the files away, or create with `overwrite`), `decoded_limit` (raise the limit of decoded
    /// bytes), `locking` (open the store without locks), `resume_copy` (finish the copy that is under way), `copy_first` (copy data of another format, and write there), `missing_chunk` (copy the
    /// array again, or take the fill value), `is_group` and `is_array` (open it as that), `element_type` (the Rust type to read as). `None` for a hint that only this error has.
    ///
    /// ```
    /// let error = zarr_core::Error::from(zarr_core::StoreError::ReadOnly);
    /// assert_eq!((error.hint_id(), &error.message()[..]), (Some("read_write"), "cannot write: opened read-only"));
    /// ```
    pub fn hint_id(&self) -> Option<&'static str> {
        self.0.hint_id
    }

    /// Where and what, without the hint.
    pub fn message(&self) -> String {
        // Names and values of documents may have any character; a message has one line.
        let message = fmt::from_fn(|f| self.fmt_message(f)).to_string();
        match printable(&message) {
            Cow::Borrowed(_) => message,
            Cow::Owned(escaped) => escaped,
        }
    }

    /// The coarse answer.
    pub fn kind(&self) -> ErrorKind {
        match &self.0.cause {
            Cause::Store(e) => match e {
                StoreError::InvalidKey { .. }
                | StoreError::InvalidUrl { .. }
                | StoreError::TargetRefused { .. } => ErrorKind::Argument,
                StoreError::NotCapable { .. } => ErrorKind::NotCapable,
                StoreError::ReadOnly => ErrorKind::ReadOnly,
                StoreError::TooLarge { .. } => ErrorKind::Limit,
                StoreError::Conflict(_) => ErrorKind::Conflict,
                _ => ErrorKind::Store,
            },
            Cause::Metadata(e) => match e {
                MetadataError::Unsupported(_) => ErrorKind::Unsupported,
                MetadataError::CannotRepresent { .. } => ErrorKind::Unsupported,
                MetadataError::Limit { .. } => ErrorKind::Limit,
                _ => ErrorKind::InvalidMetadata,
            },
            Cause::Codec(e) => match e {
                CodecError::Limit { .. } => ErrorKind::Limit,
                CodecError::Value { .. } => ErrorKind::Argument,
                _ => ErrorKind::CorruptData,
            },
            Cause::Access(e) => match e {
                AccessError::NotFound { .. }
                | AccessError::AttributesAlone { .. }
                | AccessError::CopyUnderWay { .. } => ErrorKind::NotFound,
                AccessError::Exists(_) | AccessError::ChunksWithoutArray { .. } => {
                    ErrorKind::Exists
                }
                AccessError::ReadOnly
                | AccessError::Frozen(_)
                | AccessError::OtherFormat { .. } => ErrorKind::ReadOnly,
                AccessError::Conflict { .. } | AccessError::Replaced => ErrorKind::Conflict,
                AccessError::TooLarge { .. } => ErrorKind::Limit,
                AccessError::Cancelled => ErrorKind::Cancelled,
                _ => ErrorKind::Argument,
            },
        }
    }

    /// The same error, at this store, whose URL is shown without secrets.
    pub fn at_store(mut self, store: impl AsRef<str>) -> Self {
        self.0.store.get_or_insert_with(|| without_secrets(store.as_ref()));
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

    /// The same error, met inside the inner chunk of these indices.
    pub(crate) fn in_inner_chunk(mut self, indices: &[i64]) -> Self {
        if let Cause::Codec(error) = self.0.cause {
            self.0.cause = Cause::Codec(error.in_inner_chunk(indices));
        }
        self
    }

    /// Whether a chunk is not stored, for a reader that asked for an error in that case.
    pub(crate) fn is_missing_chunk(&self) -> bool {
        matches!(self.0.cause, Cause::Codec(CodecError::MissingChunk { .. }))
    }

    /// The same error with a hint what to do.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        (self.0.hint, self.0.hint_id) = (Some(hint.into()), None);
        self
    }
}

impl<C: Into<Cause>> From<C> for Error {
    fn from(cause: C) -> Self {
        let cause = cause.into();
        let (resume, copy_hint, element_hint);
        let hint = match &cause {
            Cause::Access(AccessError::CopyUnderWay { resume: command, .. }) => {
                resume = format!("resume with `{command}`");
                Some(("resume_copy", resume.as_str()))
            }
            Cause::Access(AccessError::OtherFormat { copy, .. }) => {
                copy_hint = format!("copy it with `{copy}`, and write to the copy");
                Some(("copy_first", copy_hint.as_str()))
            }
            Cause::Store(StoreError::ReadOnly) | Cause::Access(AccessError::ReadOnly) => {
                Some(("read_write", "open it with `zarr::open_rw` or `OpenOptions::read_write`"))
            }
            Cause::Access(AccessError::Exists(_)) => {
                Some(("overwrite", "erase it first, or create with `overwrite(true)`"))
            }
            Cause::Access(AccessError::ChunksWithoutArray { .. }) => Some((
                "chunks_without_array",
                "restore the document of the array, move the files away, or choose another path; `overwrite(true)` erases them \
                 first, with `purge(false)` they become elements of the new array",
            )),
            Cause::Access(AccessError::NodeKind { is, .. }) => Some(match *is {
                "a group" => {
                    ("is_group", "give the path of one of its arrays, or open it as a group")
                }
                _ => ("is_array", "open it as an array"),
            }),
            Cause::Access(AccessError::ElementType { array, .. }) => {
                element_hint = match rust_type_of(array) {
                    Some(rust) => Some(format!("read and write them as `{rust}`")),
                    None => how_fixed_text_is_read(array),
                };
                element_hint.as_deref().map(|hint| ("element_type", hint))
            }
            Cause::Codec(CodecError::Limit { codec: "codecs", .. }) => {
                Some(("decoded_limit", "raise `Limits::decoded` if you trust this data"))
            }
            Cause::Codec(CodecError::MissingChunk { .. }) => Some((
                "missing_chunk",
                "copy the array again from its source, or read with `MissingChunks::Fill` to take the fill value for chunks \
                 that are not stored",
            )),
            Cause::Store(StoreError::NotCapable { operation: "guard a change", .. }) => Some((
                "guard",
                "a store needs `Capabilities::swap` for that; if no other process writes here, write with `Guard::Off`",
            )),
            Cause::Store(StoreError::LockRefused { .. }) => Some((
                "locking",
                "this file system does not support locks; if no other process writes here, open the store with \
                 `locking(false)`",
            )),
            _ => None,
        };
        Error(Box::new(Inner {
            cause,
            store: None,
            path: None,
            chunk: None,
            key: None,
            hint: hint.map(|(_, text)| text.to_owned()),
            hint_id: hint.map(|(id, _)| id),
        }))
    }
}

/// How elements of a text type of fixed length, `U5` or `|S4`, are read.
fn how_fixed_text_is_read(data_type: &str) -> Option<String> {
    let (kind, length) = data_type.trim_start_matches('|').split_at_checked(1)?;
    let length: usize = length.parse().ok()?;
    match kind {
        "U" => Some("read and write them as `String`".to_owned()),
        "S" => Some(format!("read and write them as `String` or `[u8; {length}]`")),
        _ => None,
    }
}

/// The Rust type of the elements of a data type of this name, if it is a plain one.
fn rust_type_of(data_type: &str) -> Option<&'static str> {
    Some(match data_type {
        "bool" => "bool",
        "int8" => "i8",
        "int16" => "i16",
        "int32" => "i32",
        "int64" => "i64",
        "uint8" => "u8",
        "uint16" => "u16",
        "uint32" => "u32",
        "uint64" => "u64",
        "float16" => "half::f16",
        "float32" => "f32",
        "float64" => "f64",
        "complex64" => "num_complex::Complex<f32>",
        "complex128" => "num_complex::Complex<f64>",
        "string" => "String",
        _ => return None,
    })
}

/// The most indices of a chunk in a message.
const MAX_SHOWN_INDICES: usize = 16;
/// The most characters of a path or a key in a message.
const MAX_SHOWN_KEY_LENGTH: usize = 400;
/// The most characters of the cause in a message: it may contain names and values from documents.
const MAX_SHOWN_TEXT_LENGTH: usize = 1000;

/// A text of at most `most` characters, what is left out of its middle told by three dots.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || text.char_indices().nth(most).is_none() {
        return text.into();
    }
    let head_length = most - most / 4 - 3;
    let head = text.char_indices().nth(head_length).map_or(text.len(), |(at, _)| at);
    let tail = text.char_indices().rev().nth(most / 4).map_or(0, |(at, _)| at);
    format!("{}...{}", &text[..head], &text[tail..]).into()
}

impl Error {
    fn fmt_message(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        let mut place = Vec::new();
        // The path of a root says nothing where the store is named.
        if let Some(path) = inner.path.as_ref().filter(|p| !p.is_root() || inner.store.is_none()) {
            place.push(shortened(path.as_str(), MAX_SHOWN_KEY_LENGTH).into_owned());
        }
        if let Some(chunk) = &inner.chunk {
            let list: Vec<String> =
                chunk.iter().take(MAX_SHOWN_INDICES).map(i64::to_string).collect();
            let more = chunk.len().checked_sub(MAX_SHOWN_INDICES + 1).map(|more| more + 1);
            let more = more.map_or_else(String::new, |more| format!(", and {more} more"));
            place.push(format!("chunk ({}{more})", list.join(", ")));
        }
        let mut place = place.join(", ");
        let store = inner.store.as_ref().filter(|store| !store.is_empty());
        if let (Some(store), false) = (store, place.is_empty()) {
            place = format!("store {store}: {place}");
        } else if let Some(store) = store {
            place = format!("store {store}");
        }
        // What cannot be read or written names its key itself.
        let named = match &inner.cause {
            Cause::Store(StoreError::Io { key, .. }) => Some(key.as_str()),
            _ => None,
        };
        if let Some(key) = inner.key.as_ref().filter(|key| named != Some(key.as_str())) {
            place.push_str(&format!(" at `{}`", shortened(key.as_str(), MAX_SHOWN_KEY_LENGTH)));
        }
        match place.trim_start() {
            "" => {}
            place => write!(f, "{place}: ")?,
        }
        write!(f, "{}", shortened(&inner.cause.to_string(), MAX_SHOWN_TEXT_LENGTH))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())?;
        match &self.0.hint {
            Some(hint) => write!(f, "; {}", printable(&shortened(hint, MAX_SHOWN_TEXT_LENGTH))),
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

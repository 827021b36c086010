//! The errors of the program: their messages and exit codes.

use std::io;

use zarr::{AccessError, Cause, CodecError, Error, ErrorKind, Json, Object, StoreError};

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The answer is no.
    No(String),
    /// The answer is no, and what was asked for was probably meant otherwise.
    NoSuch(String),
    /// The answer is no, as far as it goes: something could not be read.
    Unread(String),
    /// The request cannot be: the command line or the input is wrong.
    Usage(String),
    /// A library call failed.
    Zarr(Error),
    /// No Zarr data was found, and this is there instead.
    Absent { error: Box<Error>, why: String, kind: ErrorKind },
    /// It was all told already, and this is the code.
    AlreadyReported(u8),
    /// Standard input or a file of the program's own failed.
    Stream(&'static str, io::Error),
    /// The reader of standard output went away.
    Closed,
}

impl Failure {
    pub fn usage(why: impl Into<String>) -> Failure {
        Failure::Usage(why.into())
    }

    pub fn input(error: io::Error) -> Failure {
        Failure::Stream("cannot read standard input", error)
    }

    /// 0 fine, 1 no, 2 usage, 3 not found, 4 unsupported, 5 corrupt or input/output.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Closed => 0,
            Failure::No(_) | Failure::NoSuch(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Zarr(error) => error.kind().exit_code(),
            Failure::Absent { kind, .. } => kind.exit_code(),
            Failure::AlreadyReported(code) => *code,
            Failure::Stream(..) | Failure::Unread(_) => 5,
        }
    }

    /// What to say, if anything.
    pub fn message(&self) -> Option<String> {
        Some(match self {
            Failure::Closed | Failure::AlreadyReported(_) => return None,
            Failure::No(why)
            | Failure::NoSuch(why)
            | Failure::Unread(why)
            | Failure::Usage(why) => why.clone(),
            Failure::Zarr(error) => error.to_string(),
            Failure::Absent { error, why, .. } => match error.store() {
                Some(store) => format!("store {store}: {why}"),
                None => why.clone(),
            },
            Failure::Stream(what, error) => format!("{what}: {error}"),
        })
    }

    /// What to say to a person, if anything.
    pub fn line(&self) -> Option<String> {
        match self {
            Failure::No(why) | Failure::Unread(why) => Some(why.clone()),
            _ => self.message().map(|message| format!("error: {message}")),
        }
    }

    /// What to say to a program, if anything: `{"error": {"kind", "exit_code", "message", …}}` on one line.
    pub fn json(&self) -> Option<Json> {
        let (kind, error) = match self {
            Failure::Closed | Failure::AlreadyReported(_) => return None,
            Failure::No(_) | Failure::NoSuch(_) => ("no", None),
            Failure::Usage(_) => (ErrorKind::Argument.name(), None),
            Failure::Zarr(error) => (error.kind().name(), Some(error)),
            Failure::Absent { error, kind, .. } => (kind.name(), Some(&**error)),
            Failure::Stream(..) | Failure::Unread(_) => (ErrorKind::Store.name(), None),
        };
        let message = self.message().unwrap_or_default();
        Some(error_json(kind, self.exit_code(), &message, error))
    }
}

/// An error for programs.
pub(crate) fn error_json(kind: &str, exit_code: u8, message: &str, error: Option<&Error>) -> Json {
    let mut members = Object::new()
        .with("kind", kind)
        .with("exit_code", u64::from(exit_code))
        .with("message", message);
    let places = [
        ("store", error.and_then(Error::store).map(Json::from)),
        ("path", error.and_then(Error::path).map(|path| Json::from(path.as_str()))),
        ("key", error.and_then(Error::key).map(|key| Json::from(key.as_str()))),
        ("hint", error.and_then(Error::hint).map(Json::from)),
    ];
    for (name, place) in places {
        if let Some(place) = place {
            members.insert(name, place);
        }
    }
    if let Some(chunk) = error.and_then(Error::chunk) {
        let indices = chunk.iter().map(|index| Json::Number(index.to_string().into()));
        members.insert("chunk", indices.collect::<Json>());
    }
    Json::from(Object::new().with("error", members))
}

/// Hints that name functions of the library become those that name options of the program.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hint = match error.cause() {
            // A hint that only this error has stays.
            Cause::Access(AccessError::Exists(_))
                if error.hint().is_none() || error.hint_id().is_some() =>
            {
                "choose another path, or replace it with --overwrite"
            }
            Cause::Access(AccessError::ChunksWithoutArray { .. }) if error.hint_id().is_some() => {
                "restore the document of the array, move the files away, or choose another --path; --overwrite erases them \
                 first, with --no-purge they become elements of the new array"
            }
            Cause::Access(AccessError::NodeKind { is: "a group", .. }) => {
                "name one of its arrays with --path; `zarr tree` lists them"
            }
            Cause::Access(AccessError::ReadOnly) | Cause::Store(StoreError::ReadOnly) => {
                "this store is read-only; choose another TARGET"
            }
            Cause::Store(StoreError::LockRefused { .. }) => {
                "this file system does not support locks; if no other process writes here, give --no-lock"
            }
            Cause::Store(StoreError::TooLarge { .. }) => {
                "give a larger --max-document, or for `zarr serve` --memory, if you trust this data"
            }
            Cause::Codec(CodecError::Limit { codec: "codecs", .. }) => {
                "give a larger --max-decoded if you trust this data"
            }
            Cause::Codec(CodecError::MissingChunk { .. }) => {
                "copy the array again from its source, or leave out --no-missing to take the fill value for chunks that are \
                 not stored"
            }
            _ => return Failure::Zarr(error),
        };
        Failure::Zarr(error.with_hint(hint))
    }
}

impl From<AccessError> for Failure {
    fn from(error: AccessError) -> Self {
        Error::from(error).into()
    }
}

/// Only standard output is written with `?`.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Stream("cannot write standard output", error),
        }
    }
}

//! What stops the parser: bytes that are not there yet, or an error.

use std::fmt;
use std::ops::Range;

/// Why a step of the parser did not finish.
#[derive(Clone, Debug)]
pub enum Fault {
    /// These bytes of the file are needed and not cached. Fetch them, insert them into the [`Blocks`](crate::Blocks), and call again.
    Missing(Range<u64>),
    /// The file is damaged, or has what this reader does not support.
    Error(Error),
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What the caller can do about it.
    pub kind: ErrorKind,
    /// The structure of the file in which it was found: `object header`, `fractal heap`.
    pub structure: &'static str,
    /// Where that structure begins, in bytes from the file's beginning.
    pub address: u64,
    /// The path of the object that was being opened, if the caller named one.
    pub path: Option<String>,
    /// What was expected and what was found.
    pub what: String,
}

/// The kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The bytes contradict HDF5's specification.
    Damaged,
    /// The bytes are valid, and this reader cannot read them.
    Unsupported,
    /// Reading on would take more memory or time than is allowed.
    Limit,
}

/// The result of a step.
pub type Result<T> = std::result::Result<T, Fault>;

impl Error {
    /// The same error, of the object at `path`. A path that is already there stays.
    #[must_use]
    pub fn at_path(mut self, path: &str) -> Error {
        self.path.get_or_insert_with(|| path.to_owned());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{path}: ")?;
        }
        write!(f, "{} at {:#x}: {}", self.structure, self.address, self.what)
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Missing(range) => {
                write!(f, "bytes {}..{} are not cached yet", range.start, range.end)
            }
            Fault::Error(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Error(error)
    }
}

impl Fault {
    /// The same fault, of the object at `path`.
    #[must_use]
    pub fn at_path(self, path: &str) -> Fault {
        match self {
            Fault::Error(error) => Fault::Error(error.at_path(path)),
            Fault::Missing(range) => Fault::Missing(range),
        }
    }
}

/// A structure and its address: what an error says of where it was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub structure: &'static str,
    pub address: u64,
}

impl Place {
    pub fn new(structure: &'static str, address: u64) -> Place {
        Place { structure, address }
    }

    pub fn damaged(self, what: impl Into<String>) -> Fault {
        self.error(ErrorKind::Damaged, what)
    }

    pub fn unsupported(self, what: impl Into<String>) -> Fault {
        self.error(ErrorKind::Unsupported, what)
    }

    pub fn limit(self, what: impl Into<String>) -> Fault {
        self.error(ErrorKind::Limit, what)
    }

    fn error(self, kind: ErrorKind, what: impl Into<String>) -> Fault {
        Fault::Error(Error {
            kind,
            structure: self.structure,
            address: self.address,
            path: None,
            what: what.into(),
        })
    }
}

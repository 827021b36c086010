//! What does the program say, and with which code does it end, when something went wrong?

use std::io;

use zarr::{AccessError, Error};

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The answer is no.
    No(String),
    /// The request cannot be: the command line or the input is wrong.
    Usage(String),
    /// A library call failed.
    Zarr(Error),
    /// It was all told already, and this is the code.
    Told(u8),
    /// Standard input or a file of the program's own failed.
    Stream(&'static str, io::Error),
    /// Whoever read standard output went away.
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
            Failure::No(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Zarr(error) => error.kind().exit_code(),
            Failure::Told(code) => *code,
            Failure::Stream(..) => 5,
        }
    }

    /// What to say, if anything.
    pub fn message(&self) -> Option<String> {
        Some(match self {
            Failure::Closed | Failure::Told(_) => return None,
            Failure::No(why) => why.clone(),
            Failure::Usage(why) => format!("error: {why}"),
            Failure::Zarr(error) => format!("error: {error}"),
            Failure::Stream(what, error) => format!("error: {what}: {error}"),
        })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Zarr(error)
    }
}

impl From<AccessError> for Failure {
    fn from(error: AccessError) -> Self {
        Failure::Zarr(error.into())
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

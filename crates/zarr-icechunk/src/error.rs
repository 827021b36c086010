//! Turns errors of the crate `icechunk` into this library's.

use std::error::Error as StdError;
use std::fmt;

use icechunk::error::ICError;
use icechunk::format::IcechunkFormatErrorKind as FormatKind;
use icechunk::refs::RefErrorKind;
use icechunk::repository::{RepositoryError, RepositoryErrorKind};
use zarr_core::{AccessError, Error, StoreError};

/// An error of the crate `icechunk`. Its own text ends in a trace of spans, over many lines; this one's is what went wrong, with the reasons.
#[derive(Debug)]
struct Failure<K>(K);

impl<K: StdError> fmt::Display for Failure<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = self.0.to_string();
        f.write_str(&last)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            let text = error.to_string();
            // Many kinds only pass on what the one inside says.
            if !last.contains(&text) {
                write!(f, ": {text}")?;
            }
            (last, source) = (text, error.source());
        }
        Ok(())
    }
}

impl<K: StdError + 'static> StdError for Failure<K> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

/// An error that the caller of a store cannot tell from others.
pub fn failed<K: StdError + Send + Sync + 'static>(error: ICError<K>) -> StoreError {
    StoreError::Backend(Box::new(Failure(error.kind)))
}

/// What was looked for in a repository and is not there, if that is the error.
fn missing(kind: &RepositoryErrorKind) -> Option<String> {
    match kind {
        RepositoryErrorKind::Ref(RefErrorKind::RefNotFound(name)) => {
            Some(format!("a branch or tag `{name}`"))
        }
        RepositoryErrorKind::FormatError(FormatKind::BranchNotFound { branch }) => {
            Some(format!("the branch `{branch}`"))
        }
        RepositoryErrorKind::FormatError(FormatKind::TagNotFound { tag }) => {
            Some(format!("the tag `{tag}`"))
        }
        RepositoryErrorKind::SnapshotNotFound { id } => Some(format!("the snapshot `{id}`")),
        RepositoryErrorKind::FormatError(FormatKind::SnapshotIdNotFound { snapshot_id }) => {
            Some(format!("the snapshot `{snapshot_id}`"))
        }
        _ => None,
    }
}

/// An error of a repository.
pub fn of_repository(error: RepositoryError) -> Error {
    if let Some(looked_for) = missing(&error.kind) {
        return AccessError::NotFound { looked_for }.into();
    }
    match &error.kind {
        RepositoryErrorKind::RepositoryDoesntExist => {
            let looked_for = "an Icechunk repository".to_owned();
            Error::from(AccessError::NotFound { looked_for })
                .with_hint("create one with `Repository::create`")
        }
        RepositoryErrorKind::Ref(RefErrorKind::TagAlreadyExists(_))
        | RepositoryErrorKind::FormatError(FormatKind::TagAlreadyExists { .. }) => {
            Error::from(AccessError::Exists("a tag of this name"))
                .with_hint("tags cannot be moved, and a deleted tag keeps its name; choose another")
        }
        // The second is how version 1 of the specification says it.
        RepositoryErrorKind::FormatError(FormatKind::BranchAlreadyExists { .. })
        | RepositoryErrorKind::Conflict { .. } => {
            Error::from(AccessError::Exists("a branch of this name"))
                .with_hint("commit to it, or choose another name")
        }
        _ => failed(error).into(),
    }
}

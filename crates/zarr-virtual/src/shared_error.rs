//! Gives the error of one request to each of the readers that waited for it.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use zarr_core::StoreError;

/// The same error once more: of the same kind, with the same text and the same sources.
pub(crate) fn repeated(error: &Arc<StoreError>) -> StoreError {
    match &**error {
        StoreError::Io { operation, key, source } => StoreError::Io {
            operation,
            key: key.clone(),
            source: io::Error::new(source.kind(), OfSystem(error.clone())),
        },
        StoreError::Changed { key } => StoreError::Changed { key: key.clone() },
        StoreError::Range { key, range, size } => {
            StoreError::Range { key: key.clone(), range: range.clone(), size: *size }
        }
        StoreError::TooLarge { key, size, limit } => {
            StoreError::TooLarge { key: key.clone(), size: *size, limit: *limit }
        }
        StoreError::NotCapable { operation, capability } => {
            StoreError::NotCapable { operation, capability }
        }
        _ => StoreError::Backend(Box::new(OfStore(error.clone()))),
    }
}

/// An error of a store, which other readers have, too.
#[derive(Debug)]
struct OfStore(Arc<StoreError>);

impl fmt::Display for OfStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for OfStore {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// What the system said in such an error.
#[derive(Debug)]
struct OfSystem(Arc<StoreError>);

impl OfSystem {
    fn said(&self) -> Option<&io::Error> {
        match &*self.0 {
            StoreError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for OfSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.said().map_or(Ok(()), |said| said.fmt(f))
    }
}

impl Error for OfSystem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.said()?.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_error_has_the_kind_and_the_text_of_the_first() {
        let refused = io::Error::new(io::ErrorKind::PermissionDenied, "403 Forbidden");
        let errors = [
            StoreError::io("get", "s3://b/x.nc")(refused),
            StoreError::Changed { key: "x.nc".into() },
            StoreError::Backend("it is damaged".into()),
            StoreError::ReadOnly,
        ];
        for error in errors.map(Arc::new) {
            assert_eq!(repeated(&error).to_string(), error.to_string());
        }
        let refused = Arc::new(StoreError::io("get", "x")(io::ErrorKind::NotFound.into()));
        let StoreError::Io { source, .. } = repeated(&refused) else {
            panic!("an error of a system")
        };
        assert_eq!(source.kind(), io::ErrorKind::NotFound);
    }
}

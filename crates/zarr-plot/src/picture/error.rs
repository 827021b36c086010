//! Says why there is no picture.

use std::fmt;

/// Why there is no picture.
#[derive(Debug)]
pub enum PictureError {
    /// Reading the data failed.
    Read(zarr_core::Error),
    /// What was asked for cannot be shown: what, and what to do.
    Refused(String),
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PictureError::Read(error) => error.fmt(f),
            PictureError::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for PictureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PictureError::Read(error) => Some(error),
            PictureError::Refused(_) => None,
        }
    }
}

impl From<zarr_core::Error> for PictureError {
    fn from(error: zarr_core::Error) -> PictureError {
        PictureError::Read(error)
    }
}

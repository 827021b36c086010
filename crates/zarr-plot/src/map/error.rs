//! Says why there is no tile.

use std::fmt;

use crate::picture::PictureError;

/// Why there is no tile.
#[derive(Debug)]
pub enum MapError {
    /// Reading the data failed.
    Read(zarr_core::Error),
    /// The array is no map, or no such one as tiles are made of: why, and what to do.
    Refused(String),
    /// The tile needs more decoded chunks than are read for one: how many, and what to do.
    TooLarge(String),
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MapError::Read(error) => error.fmt(f),
            MapError::Refused(why) | MapError::TooLarge(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for MapError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            MapError::Read(error) => Some(error),
            MapError::Refused(_) | MapError::TooLarge(_) => None,
        }
    }
}

impl From<zarr_core::Error> for MapError {
    fn from(error: zarr_core::Error) -> MapError {
        MapError::Read(error)
    }
}

impl From<PictureError> for MapError {
    fn from(error: PictureError) -> MapError {
        match error {
            PictureError::Read(error) => MapError::Read(error),
            PictureError::Refused(why) => MapError::Refused(why),
        }
    }
}

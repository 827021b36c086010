//! What a build without netCDF has of its copies: nothing is converted.

use zarr_core::metadata::ArrayMetadata;
use zarr_core::{Array, Region, Result};

/// A conversion of elements, of which there are none.
pub(super) enum Conversion {}

impl Conversion {
    pub fn between(_: &ArrayMetadata, _: &ArrayMetadata) -> Option<Conversion> {
        None
    }

    pub fn read(&self, _: &Array, _: &Region) -> Result<Vec<u8>> {
        match *self {}
    }
}

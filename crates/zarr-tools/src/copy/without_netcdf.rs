//! What a build without netCDF has of its copies: nothing is converted.

use std::sync::Arc;

use zarr_core::metadata::ArrayMetadata;
use zarr_core::store::Store;
use zarr_core::{Array, Hierarchy, OpenOptions, Region, Result};

use super::plan::Plan;

/// The hierarchy of a copy to a netCDF dataset, which this build has none of.
pub(super) fn target(_: &Plan, _: &Arc<dyn Store>, _: &OpenOptions) -> Result<Option<Hierarchy>> {
    Ok(None)
}

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

//! Stores elements in fewer bits.
//!
//! Two codecs have the word. numcodecs' packs bools, the first in the highest bit; final v3's own packs the
//! bits of any number, the first in the lowest (F-098). In final v3 the former is `numcodecs.packbits`.

mod numcodecs;
mod registered;

use zarr_core::codec::{ChunkContext, Codec, CodecSpec};
use zarr_core::{Dialect, MetadataError};

/// Makes the codec that the name means in its dialect.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    if spec.dialect == Dialect::V3 && spec.name == "packbits" {
        registered::build(spec, context)
    } else {
        numcodecs::build(spec, context)
    }
}

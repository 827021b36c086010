//! Holds what gzip and zlib share: the level, and encoding and decoding in one call.

use zarr_core::codec::{CodecSpec, Parameters};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::util::bounded_read;
use crate::util::metadata::in_every_dialect;

/// How hard to look for repetitions, 0 to 9.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level(pub u32);

impl Level {
    /// The `level` of `spec`. Final v3 requires it for `gzip` (F-082); numcodecs takes 1 where it is
    /// absent, and -1 for zlib's own choice, which is 6.
    pub(crate) fn read(spec: &CodecSpec) -> Result<Level, MetadataError> {
        let mut parameters = Parameters::new(spec);
        let level = if spec.dialect == Dialect::V3 && spec.name == "gzip" {
            parameters.integer("level", 0..=9, None)?
        } else {
            parameters.integer("level", -1..=9, Some(1))?
        };
        parameters.finish()?;
        Ok(Level(u32::try_from(level).unwrap_or(6)))
    }

    pub(crate) fn to_metadata(self, dialect: Dialect, v3: &str, v2: &str) -> Option<CodecSpec> {
        let configuration = Object::new().with("level", u64::from(self.0));
        in_every_dialect(dialect, v3, v2, configuration)
    }
}

/// Scratch for `size` decoded bytes: no deflate stream holds more than 1032 in one, since the longest
/// match, of 258 bytes, takes two bits.
pub(crate) fn scratch_for(
    codec: &'static str,
    size: u64,
    encoded: &[u8],
) -> Result<Vec<u8>, CodecError> {
    bounded_read::scratch_for(codec, size, encoded.len(), 1032)
}

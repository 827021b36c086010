//! Holds what gzip and zlib share: the level, and encoding and decoding in one call.

use zarr_core::codec::{CodecSpec, Parameters};
use zarr_core::{Dialect, MetadataError, Object};

use crate::util::metadata::in_every_dialect;

/// How hard to look for repetitions, 0 to 9.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level(pub u32);

impl Level {
    /// The `level` of `spec`. Final v3 requires it for `gzip` (F-082); numcodecs takes 1 where it is
    /// absent, and -1 for zlib's own choice, which is 6.
    pub(crate) fn read(spec: &CodecSpec) -> Result<Level, MetadataError> {
        let mut parameters = Parameters::new(spec);
        let is_v3s = spec.dialect == Dialect::V3 && spec.name == "gzip";
        let (least, default) = if is_v3s { (0, None) } else { (-1, Some(1)) };
        let level = parameters.integer("level", least..=9, default)?;
        parameters.finish()?;
        Ok(Level(u32::try_from(level).unwrap_or(6)))
    }

    pub(crate) fn to_metadata(self, dialect: Dialect, v3: &str, v2: &str) -> Option<CodecSpec> {
        let configuration = Object::new().with("level", u64::from(self.0));
        in_every_dialect(dialect, v3, v2, configuration)
    }
}

/// The most decoded bytes that one byte of a deflate stream holds: the longest match, of 258 bytes, takes two bits.
pub(crate) const BEST_RATIO: u64 = 1032;

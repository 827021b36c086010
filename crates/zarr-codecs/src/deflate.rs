//! What do gzip and zlib share? The level, and the ways to decode.

use std::borrow::Cow;
use std::io::Read;

use zarr_core::codec::{CodecSpec, DecodedSize, Parameters};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::spelling::spelled;
use crate::stream::{no_rest, read_all, read_into, room};

/// No deflate stream holds more than so many bytes in one: matches of 258 bytes take two bits.
const BEST_RATIO: u64 = 1032;

/// How hard to look for repetitions, 0 to 9.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level(u32);

impl Level {
    /// The `level` of `spec`. Final v3 requires it for `gzip` (F-082); numcodecs takes 1 where it is
    /// absent, and -1 for zlib's own choice, which is 6.
    pub(crate) fn read(spec: &CodecSpec) -> Result<Level, MetadataError> {
        let own = spec.dialect == Dialect::V3 && spec.name == "gzip";
        let mut parameters = Parameters::new(spec);
        let level = match own {
            true => parameters.integer("level", 0..=9, None)?,
            false => parameters.integer("level", -1..=9, Some(1))?,
        };
        parameters.finish()?;
        Ok(Level(u32::try_from(level).unwrap_or(6)))
    }

    pub(crate) fn compression(self) -> flate2::Compression {
        flate2::Compression::new(self.0)
    }

    pub(crate) fn spelling(self, dialect: Dialect, v3: &str, v2: &str) -> Option<CodecSpec> {
        let configuration = Object::new().with("level", u64::from(self.0));
        spelled(dialect, v3, v2, configuration)
    }
}

/// A way to open deflated bytes: a reader of the decoded ones, which gives back what it left unread.
pub(crate) trait Inflate<'a>: Read {
    const CODEC: &'static str;

    fn open(encoded: &'a [u8]) -> Self;

    /// What follows the end of the stream.
    fn rest(self) -> &'a [u8];

    /// Fills `out` from a single stream in one go; `false` where that did not work out for any reason.
    #[cfg(feature = "libdeflate")]
    fn at_once(encoded: &[u8], out: &mut [u8]) -> bool;
}

/// Decodes `encoded`, whatever is due.
pub(crate) fn decode<'a, I: for<'e> Opens<'e>>(
    encoded: &[u8],
    size: DecodedSize,
) -> Result<Cow<'a, [u8]>, CodecError> {
    let codec = <I::Reader<'_>>::CODEC;
    match size {
        DecodedSize::Exactly(n) => {
            let mut out = room(codec, n, encoded.len(), BEST_RATIO)?;
            decode_into::<I>(encoded, &mut out)?;
            Ok(Cow::Owned(out))
        }
        DecodedSize::AtMost(_) => todo!(),
    }
}

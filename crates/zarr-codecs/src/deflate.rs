//! What do gzip and zlib share? The level, and encoding and decoding in one go.

use zarr_core::codec::{CodecSpec, Parameters};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::spelling::spelled;
use crate::stream;

/// How hard to look for repetitions, 0 to 9.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level(u32);

impl Level {
    /// The `level` of `spec`. Final v3 requires it for `gzip` (F-082); numcodecs takes 1 where it is
    /// absent, and -1 for zlib's own choice, which is 6.
    pub(crate) fn read(spec: &CodecSpec) -> Result<Level, MetadataError> {
        let mut parameters = Parameters::new(spec);
        let level = match spec.dialect == Dialect::V3 && spec.name == "gzip" {
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

/// Room for `size` decoded bytes: no deflate stream holds more than 1032 in one, since the longest
/// match, of 258 bytes, takes two bits.
pub(crate) fn room(codec: &'static str, size: u64, encoded: &[u8]) -> Result<Vec<u8>, CodecError> {
    stream::room(codec, size, encoded.len(), 1032)
}

/// Fills `out` from a single gzip member; `false` if `encoded` is anything else.
#[cfg(feature = "gzip")]
pub(crate) fn gzip_at_once(encoded: &[u8], out: &mut [u8]) -> bool {
    at_once::gzip(encoded, out)
}

/// Fills `out` from a zlib stream; `false` if `encoded` is anything else.
#[cfg(feature = "zlib")]
pub(crate) fn zlib_at_once(encoded: &[u8], out: &mut [u8]) -> bool {
    at_once::zlib(encoded, out)
}

/// `decoded` as a single gzip member without a time; `None` where that is not done at once.
#[cfg(feature = "gzip")]
pub(crate) fn to_gzip_at_once(decoded: &[u8], level: Level) -> Option<Vec<u8>> {
    at_once::to_gzip(decoded, level)
}

/// `decoded` as a zlib stream; `None` where that is not done at once.
#[cfg(feature = "zlib")]
pub(crate) fn to_zlib_at_once(decoded: &[u8], level: Level) -> Option<Vec<u8>> {
    at_once::to_zlib(decoded, level)
}

/// libdeflate decodes one stream fast, but does not say where it ended. A checksum of the decoded bytes
/// at the very end of the encoded ones shows that nothing follows but, at worst, that checksum again.
/// Of no bytes at all the checksum is nearly all zeros, which proves nothing.
#[cfg(feature = "libdeflate")]
mod at_once {
    use std::cell::RefCell;

    use libdeflater::{CompressionLvl, Compressor, Decompressor};
    use zarr_core::codec::scratch;

    use super::Level;

    thread_local! {
        /// Of the level that it was last used with.
        static ENCODER: RefCell<Option<(u32, Compressor)>> = const { RefCell::new(None) };
        static DECODER: RefCell<Decompressor> = RefCell::new(Decompressor::new());
    }

    /// Of fewer bytes libdeflate makes more than it could.
    const WORTH: usize = 1 << 10;

    /// What `encode` makes of memory of the size that `bound` tells, with the encoder of this level.
    fn to(
        decoded: &[u8],
        level: Level,
        bound: impl Fn(&mut Compressor) -> usize,
        encode: impl Fn(&mut Compressor, &mut [u8]) -> Option<usize>,
    ) -> Option<Vec<u8>> {
        if decoded.len() < WORTH {
            return None;
        }
        ENCODER.with_borrow_mut(|kept| {
            let Level(level) = level;
            let (_, encoder) = match kept {
                Some(kept) if kept.0 == level => kept,
                _ => {
                    let compression = CompressionLvl::new(i32::try_from(level).ok()?).ok()?;
                    kept.insert((level, Compressor::new(compression)))
                }
            };
            let mut out = scratch::take(bound(encoder))?;
            let len = encode(encoder, &mut out)?;
            out.truncate(len);
            Some(out)
        })
    }

    #[cfg(feature = "gzip")]
    pub(super) fn to_gzip(decoded: &[u8], level: Level) -> Option<Vec<u8>> {
        let bound = |encoder: &mut Compressor| encoder.gzip_compress_bound(decoded.len());
        to(decoded, level, bound, |encoder, out| encoder.gzip_compress(decoded, out).ok())
    }

    #[cfg(feature = "zlib")]
    pub(super) fn to_zlib(decoded: &[u8], level: Level) -> Option<Vec<u8>> {
        let bound = |encoder: &mut Compressor| encoder.zlib_compress_bound(decoded.len());
        to(decoded, level, bound, |encoder, out| encoder.zlib_compress(decoded, out).ok())
    }

    #[cfg(feature = "gzip")]
    pub(super) fn gzip(encoded: &[u8], out: &mut [u8]) -> bool {
        let decoded = DECODER.with_borrow_mut(|decoder| decoder.gzip_decompress(encoded, out));
        let trailer = [libdeflater::crc32(out), out.len() as u32].map(u32::to_le_bytes);
        !out.is_empty() && decoded == Ok(out.len()) && encoded.ends_with(trailer.as_flattened())
    }

    #[cfg(feature = "zlib")]
    pub(super) fn zlib(encoded: &[u8], out: &mut [u8]) -> bool {
        let decoded = DECODER.with_borrow_mut(|decoder| decoder.zlib_decompress(encoded, out));
        let trailer = libdeflater::adler32(out).to_be_bytes();
        !out.is_empty() && decoded == Ok(out.len()) && encoded.ends_with(&trailer)
    }
}

#[cfg(not(feature = "libdeflate"))]
mod at_once {
    use super::Level;

    #[cfg(feature = "gzip")]
    pub(super) fn to_gzip(_: &[u8], _: Level) -> Option<Vec<u8>> {
        None
    }

    #[cfg(feature = "zlib")]
    pub(super) fn to_zlib(_: &[u8], _: Level) -> Option<Vec<u8>> {
        None
    }

    #[cfg(feature = "gzip")]
    pub(super) fn gzip(_: &[u8], _: &mut [u8]) -> bool {
        false
    }

    #[cfg(feature = "zlib")]
    pub(super) fn zlib(_: &[u8], _: &mut [u8]) -> bool {
        false
    }
}

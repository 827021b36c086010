//! What do gzip and zlib share? The level, and decoding in one go.

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

/// libdeflate decodes one stream fast, but does not say where it ended. A checksum of the decoded bytes
/// at the very end of the encoded ones shows that nothing follows but, at worst, that checksum again.
/// Of no bytes at all the checksum is nearly all zeros, which proves nothing.
#[cfg(feature = "libdeflate")]
mod at_once {
    use std::cell::RefCell;

    use libdeflater::Decompressor;

    thread_local! {
        static DECODER: RefCell<Decompressor> = RefCell::new(Decompressor::new());
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
    #[cfg(feature = "gzip")]
    pub(super) fn gzip(_: &[u8], _: &mut [u8]) -> bool {
        false
    }

    #[cfg(feature = "zlib")]
    pub(super) fn zlib(_: &[u8], _: &mut [u8]) -> bool {
        false
    }
}

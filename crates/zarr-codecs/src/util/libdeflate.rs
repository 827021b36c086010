//! Encodes and decodes deflate in one call where the sizes are known, by libdeflate.
//!
//! libdeflate decodes one stream fast, but does not say where it ended. A checksum of the decoded bytes
//! at the very end of the encoded ones shows that nothing follows but, at worst, that checksum again.
//! Of no bytes at all the checksum is nearly all zeros, which proves nothing. Without its feature nothing is done at
//! once.

pub(crate) use self::calls::*;

#[cfg(feature = "libdeflate")]
mod calls {
    use std::cell::RefCell;

    use libdeflater::{CompressionLvl, Compressor, Decompressor};
    use zarr_core::codec::buffer_pool;

    thread_local! {
        static DECODER: RefCell<Decompressor> = RefCell::new(Decompressor::new());
        /// Of the level that it was last used with.
        static ENCODER: RefCell<Option<(u32, Compressor)>> = const { RefCell::new(None) };
    }

    /// Of fewer bytes libdeflate makes more than it could.
    const MIN_BYTES_AT_ONCE: usize = 1 << 10;

    /// What `encode` makes of memory of the size that `bound` tells, with the encoder of this level.
    fn to(
        decoded: &[u8],
        level: u32,
        bound: impl Fn(&mut Compressor) -> usize,
        encode: impl Fn(&mut Compressor, &mut [u8]) -> Option<usize>,
    ) -> Option<Vec<u8>> {
        if decoded.len() < MIN_BYTES_AT_ONCE {
            return None;
        }
        ENCODER.with_borrow_mut(|kept| {
            let (_, encoder) = match kept {
                Some(kept) if kept.0 == level => kept,
                _ => {
                    let compression = CompressionLvl::new(i32::try_from(level).ok()?).ok()?;
                    kept.insert((level, Compressor::new(compression)))
                }
            };
            let mut out = buffer_pool::acquire(bound(encoder))?;
            let len = encode(encoder, &mut out)?;
            out.truncate(len);
            Some(out)
        })
    }

    /// `decoded` as a single gzip member without a time; `None` where that is not done at once.
    pub(crate) fn to_gzip(decoded: &[u8], level: u32) -> Option<Vec<u8>> {
        to(
            decoded,
            level,
            |encoder: &mut Compressor| encoder.gzip_compress_bound(decoded.len()),
            |encoder, out| encoder.gzip_compress(decoded, out).ok(),
        )
    }

    /// `decoded` as a zlib stream; `None` where that is not done at once.
    pub(crate) fn to_zlib(decoded: &[u8], level: u32) -> Option<Vec<u8>> {
        to(
            decoded,
            level,
            |encoder: &mut Compressor| encoder.zlib_compress_bound(decoded.len()),
            |encoder, out| encoder.zlib_compress(decoded, out).ok(),
        )
    }

    /// Fills `out` from a single gzip member; `false` if `encoded` is anything else.
    pub(crate) fn gzip(encoded: &[u8], out: &mut [u8]) -> bool {
        let decoded = DECODER.with_borrow_mut(|decoder| decoder.gzip_decompress(encoded, out));
        let trailer = [libdeflater::crc32(out), out.len() as u32].map(u32::to_le_bytes);
        !out.is_empty() && decoded == Ok(out.len()) && encoded.ends_with(trailer.as_flattened())
    }

    /// Fills `out` from a zlib stream; `false` if `encoded` is anything else.
    pub(crate) fn zlib(encoded: &[u8], out: &mut [u8]) -> bool {
        let decoded = DECODER.with_borrow_mut(|decoder| decoder.zlib_decompress(encoded, out));
        let trailer = libdeflater::adler32(out).to_be_bytes();
        !out.is_empty() && decoded == Ok(out.len()) && encoded.ends_with(&trailer)
    }
}

#[cfg(not(feature = "libdeflate"))]
mod calls {
    //! As above, and nothing is done.

    pub(crate) use self::{
        no_bytes as to_gzip, no_bytes as to_zlib, no_stream as gzip, no_stream as zlib,
    };

    pub(crate) fn no_bytes(_: &[u8], _: u32) -> Option<Vec<u8>> {
        None
    }

    pub(crate) fn no_stream(_: &[u8], _: &mut [u8]) -> bool {
        false
    }
}

//! How are bytes compressed as a gzip file (RFC 1952)?
//!
//! Decoding takes any number of members one after another, as RFC 1952 allows, and nothing else after
//! them. Encoding writes one member without a time, so that equal bytes give equal files.

use std::borrow::Cow;
use std::io::Write;

use flate2::GzBuilder;
use flate2::bufread::MultiGzDecoder;
use zarr_core::codec::{BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize};
use zarr_core::{CodecError, Dialect, MetadataError};

use crate::deflate::{self, Level};
use crate::stream::{read_all, read_into};

const CODEC: &str = "gzip";

/// The gzip codec.
#[derive(Clone, Copy, Debug)]
struct Gzip {
    level: Level,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    let level = Level::read(spec)?;
    Ok(Codec::bytes_to_bytes(Gzip { level }))
}

impl BytesToBytes for Gzip {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, CodecError> {
        let mut writer = GzBuilder::new()
            .mtime(0)
            .write(Vec::new(), self.level.compression());
        let written = writer.write_all(&decoded).and_then(|()| writer.finish());
        written
            .map(Cow::Owned)
            .map_err(|e| CodecError::corrupt(CODEC, e))
    }

    fn decode<'a>(
        &self,
        encoded: Cow<'a, [u8]>,
        size: DecodedSize,
    ) -> Result<Cow<'a, [u8]>, CodecError> {
        let DecodedSize::Exactly(n) = size else {
            return read_all(CODEC, MultiGzDecoder::new(&encoded[..]), size).map(Cow::Owned);
        };
        let mut out = deflate::room(CODEC, n, &encoded)?;
        self.decode_into(encoded, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        match deflate::gzip_at_once(&encoded, out) {
            true => Ok(()),
            false => read_into(CODEC, MultiGzDecoder::new(&encoded[..]), out),
        }
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        self.level.spelling(dialect, "gzip", "gzip")
    }
}

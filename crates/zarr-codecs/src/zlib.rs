//! How are bytes compressed as a zlib stream (RFC 1950)?
//!
//! Nothing may follow the stream.

use std::borrow::Cow;
use std::io::Write;

use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use zarr_core::codec::{BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize};
use zarr_core::{CodecError, Dialect, MetadataError};

use crate::deflate::{self, Level};
use crate::stream::{no_rest, read_all, read_into};

const CODEC: &str = "zlib";

/// The zlib codec.
#[derive(Clone, Copy, Debug)]
struct Zlib {
    level: Level,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    let level = Level::read(spec)?;
    Ok(Codec::bytes_to_bytes(Zlib { level }))
}

impl BytesToBytes for Zlib {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, CodecError> {
        let mut writer = ZlibEncoder::new(Vec::new(), self.level.compression());
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
            let mut reader = ZlibDecoder::new(&encoded[..]);
            let out = read_all(CODEC, &mut reader, size)?;
            no_rest(CODEC, reader.into_inner())?;
            return Ok(Cow::Owned(out));
        };
        let mut out = deflate::room(CODEC, n, &encoded)?;
        self.decode_into(encoded, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        if deflate::zlib_at_once(&encoded, out) {
            return Ok(());
        }
        let mut reader = ZlibDecoder::new(&encoded[..]);
        read_into(CODEC, &mut reader, out)?;
        no_rest(CODEC, reader.into_inner())
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        self.level.spelling(dialect, "numcodecs.zlib", "zlib")
    }
}

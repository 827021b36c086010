//! Compresses bytes as a zlib stream (RFC 1950).
//!
//! Nothing may follow the stream.

use std::borrow::Cow;
use std::io::Write;

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, buffer_pool,
};
use zarr_core::{CodecError, Dialect, MetadataError};

use crate::util::bounded_read::{no_rest, read_all, read_into, scratch_for};
use crate::util::deflate::{BEST_RATIO, Level};
use crate::util::libdeflate;

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
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        if let Some(encoded) = libdeflate::to_zlib(&decoded, self.level.0) {
            buffer_pool::release(decoded);
            return Ok(Cow::Owned(encoded));
        }
        let mut writer = ZlibEncoder::new(Vec::new(), Compression::new(self.level.0));
        let written = writer.write_all(&decoded).and_then(|()| writer.finish());
        written.map(Cow::Owned).map_err(|e| CodecError::corrupt(CODEC, e))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let DecodedSize::Exactly(n) = size else {
            let mut reader = ZlibDecoder::new(&encoded[..]);
            let out = read_all(CODEC, &mut reader, size)?;
            no_rest(CODEC, reader.into_inner())?;
            return Ok(Cow::Owned(out));
        };
        let mut out = scratch_for(CODEC, n, encoded.len(), BEST_RATIO)?;
        self.decode_into(encoded, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        if libdeflate::zlib(&encoded, out) {
            return Ok(());
        }
        let mut reader = ZlibDecoder::new(&encoded[..]);
        read_into(CODEC, &mut reader, out)?;
        no_rest(CODEC, reader.into_inner())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        self.level.to_metadata(dialect, "numcodecs.zlib", "zlib")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{behaves, build, decode, digest, encode, hex, metadata, refusal};

    fn zlib(level: i32) -> std::sync::Arc<dyn BytesToBytes> {
        build(Dialect::V2, "zlib", &format!("{{\"level\":{level}}}"))
    }

    #[test]
    fn it_behaves() {
        for level in [-1, 0, 1, 9] {
            behaves(&*zlib(level));
        }
    }

    /// Chunks that others wrote.
    #[test]
    fn it_reads_what_others_wrote() {
        let cases = [
            // zarr-python 2.18, draft-v3.md 3.1; numcodecs, Z2-063 (differences, gathered).
            ("7801636460626066606100000030000b", "0100020003000400"),
            ("78016360646464400200003a0004", "00010101 00000000 00000000 00000000"),
            // zarr-python 2.18.7, arrays of bytes; zarr-python 3.4.2; tensorstore 0.1.86.
            ("7801abff8b0000473a0b5f", "7ffdfdfdfdfdfdfdfdfdfdfd"),
            ("7801fbcf8900000e520163", "ff0909090909090909090909"),
            ("785e636440000000180002", "010000000000000000000000"),
        ];
        for (encoded, decoded) in cases {
            let decoded = hex(decoded);
            assert_eq!(decode(&*zlib(1), &hex(encoded), decoded.len() as u64), decoded);
        }
        // z5py, in the data of zarr_implementations: 10,000 bytes of an image.
        let z5 =
            hex("785eedcaa10100000803a0f9ffd39eb0a20d32090000000000000000afa605002e2c2c7f0002");
        assert_eq!(digest(&decode(&*zlib(1), &z5, 10_000)), 0xe8d4_73ef_cd9a_ffaa);
    }

    #[test]
    fn damage_is_told() {
        let mut encoded = encode(&*zlib(1), &[7; 100]);
        *encoded.last_mut().unwrap() ^= 1;
        for size in [DecodedSize::Exactly(100), DecodedSize::AtMost(100)] {
            let result = zlib(1).decode(Cow::Borrowed(&encoded), size);
            assert!(matches!(result, Err(CodecError::Corrupt { .. })), "{result:?}");
        }
        let bomb = encode(&*zlib(9), &vec![0; 1 << 24]);
        for size in [DecodedSize::Exactly(64), DecodedSize::AtMost(64)] {
            assert!(zlib(1).decode(Cow::Borrowed(&bomb), size).is_err());
        }
    }

    /// Z2-061, F-104.
    #[test]
    fn words_are_checked_and_spelled() {
        refusal(Dialect::V2, "zlib", r#"{"level":10}"#);
        refusal(Dialect::V3, "numcodecs.zlib", r#"{"level":1,"x":1}"#);
        build(Dialect::V3, "zlib", "{}");
        assert_eq!(
            metadata(&*zlib(-1)).map(Option::unwrap),
            [
                r#"numcodecs.zlib {"level":6}"#,
                r#"zlib {"level":6}"#,
                r#"https://purl.org/zarr/spec/codec/zlib/1.0 {"level":6}"#
            ]
        );
    }
}

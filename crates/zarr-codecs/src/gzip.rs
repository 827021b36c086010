//! Compresses bytes as a gzip file (RFC 1952).
//!
//! Decoding takes any number of members one after another, as RFC 1952 allows, and zeros after them, as gzip itself does
//! (docs/internals/design/strictness.md); nothing else. Encoding writes one member without a time, so that equal bytes
//! give equal files.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use flate2::bufread::GzDecoder;
use flate2::{Compression, GzBuilder};
use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, buffer_pool,
};
use zarr_core::{CodecError, Dialect, MetadataError};

use crate::util::bounded_read::{read_all, read_into, scratch_for};
use crate::util::deflate::{BEST_RATIO, Level};
use crate::util::libdeflate;

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
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        if let Some(encoded) = libdeflate::to_gzip(&decoded, self.level.0) {
            buffer_pool::release(decoded);
            return Ok(Cow::Owned(encoded));
        }
        let mut writer =
            GzBuilder::new().mtime(0).write(Vec::new(), Compression::new(self.level.0));
        let written = writer.write_all(&decoded).and_then(|()| writer.finish());
        written.map(Cow::Owned).map_err(|e| CodecError::corrupt(CODEC, e))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let DecodedSize::Exactly(n) = size else {
            return read_all(CODEC, Members::of(&encoded), size).map(Cow::Owned);
        };
        let mut out = scratch_for(CODEC, n, encoded.len(), BEST_RATIO)?;
        self.decode_into(encoded, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        if libdeflate::gzip(&encoded, out) {
            Ok(())
        } else {
            read_into(CODEC, Members::of(&encoded), out)
        }
    }

    fn padding(&self, encoded: &[u8], decoded: Option<u64>) -> usize {
        // The end of a single member is its size, modulo 2³².
        let size = encoded.last_chunk().map(|size| u32::from_le_bytes(*size));
        let is_end = decoded.is_some_and(|decoded| size == Some(decoded as u32) && size != Some(0));
        if is_end || encoded.last() != Some(&0) {
            return 0;
        }
        let mut members = Members::of(encoded);
        match io::copy(&mut members, &mut io::sink()) {
            Ok(_) => members.rest().len(),
            Err(_) => 0,
        }
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        self.level.to_metadata(dialect, "gzip", "gzip")
    }
}

/// The content of all members, up to the end or to zeros behind the last one.
struct Members<'a>(GzDecoder<&'a [u8]>);

impl<'a> Members<'a> {
    fn of(encoded: &'a [u8]) -> Self {
        Members(GzDecoder::new(encoded))
    }

    /// What follows the present member, once that is read.
    fn rest(&self) -> &'a [u8] {
        self.0.get_ref()
    }
}

impl Read for Members<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.0.read(out)?;
            if read > 0 || out.is_empty() || self.rest().iter().all(|&byte| byte == 0) {
                return Ok(read);
            }
            self.0 = GzDecoder::new(self.rest());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{behaves, build, decode, digest, encode, hex, metadata, noise, refusal};

    fn gzip(level: u32) -> std::sync::Arc<dyn BytesToBytes> {
        build(Dialect::V3, "gzip", &format!("{{\"level\":{level}}}"))
    }

    #[test]
    fn it_behaves() {
        behaves(&*gzip(5));
    }

    /// T-06: no level lengthens noise beyond a bound that somebody believed in.
    #[test]
    fn noise_survives_every_level() {
        for level in 0..=9 {
            for len in [1, 15, 16_383, 16_384, 16_385] {
                let encoded = encode(&*gzip(level), &noise(len));
                assert_eq!(decode(&*gzip(1), &encoded, len as u64), noise(len));
            }
        }
    }

    /// F-082: `01010101` at level 1 is one member of 24 bytes, without a time.
    #[test]
    fn a_member_is_as_the_format_says() {
        let encoded = encode(&*gzip(1), &[1; 4]);
        assert_eq!(encoded.len(), 24);
        assert_eq!(encoded[..8], hex("1f8b080000000000"));
        assert_eq!(encoded[10..], hex("636464640400 99d326f6 04000000"));
    }

    /// Chunks that others wrote.
    #[test]
    fn it_reads_what_others_wrote() {
        let cases = [
            // zarr-python 2.18, draft-v3.md 3.1.
            ("1f8b080031f6006b04ff636460626066606100001614999208000000", hex("0100020003000400")),
            // zarr-python 2.18.7, an array of bytes.
            ("1f8b080088fe006b04ffabff8b0000642a363e0c000000", hex("7ffdfdfdfdfdfdfdfdfdfdfd")),
            // zarr-python 3.4.2.
            (
                "1f8b08009cfe006b04ff9b2dc1c0f0bf9e81680000cc76c0c330000000",
                [hex("9b180000ff7f"), vec![0; 42]].concat(),
            ),
            // zarrs 0.2.3.
            (
                "1f8b08000000000004ff8dc00101000000c1b0f71152154da96011d4dc065f860cdd30000000",
                [hex("a02b0000ff7f"), vec![0; 42]].concat(),
            ),
        ];
        for (encoded, decoded) in cases {
            assert_eq!(decode(&*gzip(1), &hex(encoded), decoded.len() as u64), decoded);
        }
        // GDAL 3.6.2, in a draft; tensorstore 0.1.86.
        let gdal = "1f8b08000000000002ffedcdc10a01011485e16f88268544114526330b8c4c140b2b4b2befff3436e731
            dcfa76e7ef42813e4a4c308f35aa38e08c363a3cd316e8618811c65860832df6a8d1e0182d2e18a49961957d95
            6d835376d7b8c53dff4b4c63895dd4693b3cf08a373ef1f5bf1f24438b8900020000";
        let tensorstore = "1f8b0800000000000203edcecd0a01011480d1f34e7656528cf293300ba2f11329246950ca467676
            5ed8e64ee6217c7576f7de6e07030c31c2144bacb00b7b1c71c60557bfea682209ddb837468605b63820c71dcfd2
            7e05d5921a1aa18d7edc9b608e4d286aa18734666658c7df27dcf0082fbcf1f1afe80bb7ab35e500020000";
        assert_eq!(digest(&decode(&*gzip(1), &hex(gdal), 512)), 0xdc84_e09e_878a_da2f);
        assert_eq!(digest(&decode(&*gzip(1), &hex(tensorstore), 512)), 0xa4d8_0e82_d23f_2aa7);
    }

    /// F-082: several members are one file.
    #[test]
    fn members_follow_each_other() {
        let codec = gzip(6);
        let empty = encode(&*codec, b"");
        let two = [encode(&*codec, b"abc"), encode(&*codec, b"defgh")].concat();
        assert_eq!(decode(&*codec, &two, 8), b"abcdefgh");
        let padded = [&empty[..], &two, &empty].concat();
        assert_eq!(decode(&*codec, &padded, 8), b"abcdefgh");
        for cut in 1..two.len() {
            let size = DecodedSize::Exactly(8);
            assert!(codec.decode(Cow::Borrowed(&two[..cut]), size).is_err());
        }
    }

    /// As gzip and Python read them.
    #[test]
    fn zeros_may_follow_the_last_member() {
        let codec = gzip(6);
        for members in [vec![&b"abc"[..]], vec![b"abc", b"", b"defgh"]] {
            let content = members.concat();
            let encoded = members.iter().map(|member| encode(&*codec, member));
            let encoded = encoded.collect::<Vec<_>>().concat();
            for zeros in [0, 1, 7, 8, 512] {
                let padded = [&encoded[..], &vec![0; zeros]].concat();
                assert_eq!(decode(&*codec, &padded, content.len() as u64), content);
                for size in [None, Some(content.len() as u64)] {
                    assert_eq!(codec.padding(&padded, size), zeros, "{zeros}");
                }
                for other in [[&padded[..], b"x"].concat(), [&padded[..], &[0, 0x1f]].concat()] {
                    let size = DecodedSize::Exactly(content.len() as u64);
                    assert!(codec.decode(Cow::Borrowed(&other), size).is_err());
                }
            }
        }
        // The content may end in zeros, and be as long as no size can say.
        let zeros = encode(&*codec, &[0; 1 << 16]);
        assert_eq!(codec.padding(&zeros, Some(1 << 16)), 0);
        assert_eq!(codec.padding(&zeros, None), 0);
    }

    /// A checksum that is wrong, and a member that ends early.
    #[test]
    fn damage_is_told() {
        let why = |encoded: &str, expected| {
            let size = DecodedSize::Exactly(expected);
            gzip(1).decode(hex(encoded).into(), size).unwrap_err().to_string()
        };
        let wrong = "1f8b080000000000020373666060b003e22820360662000102030410000000";
        assert_eq!(why(wrong, 16), "gzip: corrupt gzip stream does not have a matching checksum");
        let cut = "1f8b080000000000020373666060b003e22820360662000654";
        assert_eq!(why(cut, 16), "gzip: stream ends after 16 of 16 bytes");
        assert_eq!(why("", 16), "gzip: decoded 0 bytes, expected 16");
        assert_eq!(why("", 0), "gzip: stream ends after 0 of 0 bytes");
    }

    /// A small file of many zeros is stopped at what is due.
    #[test]
    fn a_bomb_does_not_go_off() {
        let bomb = encode(&*gzip(9), &vec![0; 1 << 24]);
        assert!(bomb.len() < 20_000);
        for size in [DecodedSize::Exactly(64), DecodedSize::AtMost(64)] {
            assert!(gzip(1).decode(Cow::Borrowed(&bomb), size).is_err());
        }
    }

    /// F-082, Z2-061: levels are 0 to 9; final v3 needs one.
    #[test]
    fn words_are_checked() {
        assert_eq!(
            refusal(Dialect::V3, "gzip", r#"{"level":10}"#),
            "`codecs: gzip: level`: expected an integer from 0 to 9, found 10"
        );
        for configuration in ["{}", r#"{"level":-1}"#, r#"{"level":"1"}"#, r#"{"level":1,"x":2}"#] {
            refusal(Dialect::V3, "gzip", configuration);
        }
        refusal(Dialect::V2, "gzip", r#"{"level":10}"#);
        build(Dialect::V2, "gzip", r#"{"x":1}"#);
        build(Dialect::V3, "numcodecs.gzip", r#"{"id":"gzip","level":1}"#);
        build(Dialect::Draft, "http://purl.org/zarr/spec/codecs/gzip", r#"{"level":1}"#);
    }

    #[test]
    fn it_is_spelled_in_every_dialect() {
        assert_eq!(
            metadata(&*gzip(3)).map(Option::unwrap),
            [
                r#"gzip {"level":3}"#,
                r#"gzip {"level":3}"#,
                r#"https://purl.org/zarr/spec/codec/gzip/1.0 {"level":3}"#
            ]
        );
    }
}

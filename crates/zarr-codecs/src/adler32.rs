//! Checks a chunk with an Adler-32 (RFC 1950).
//!
//! numcodecs' `adler32`: in four bytes before the chunk's, or after them where `location` is `end`
//! (v2.md 7).

use zarr_core::MetadataError;
use zarr_core::codec::{ChunkContext, Codec, CodecSpec};

use crate::util::checksum::{Checksum, ChecksumLocation, guard_at};

/// The adler32 codec.
#[derive(Clone, Copy, Debug)]
struct Adler32;

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    guard_at(Adler32, spec)
}

impl Checksum for Adler32 {
    const CODEC: &'static str = "adler32";
    const USUAL: ChecksumLocation = ChecksumLocation::Start;

    fn sum(&self, bytes: &[u8]) -> u32 {
        simd_adler32::adler32(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::Dialect;

    use super::*;
    use crate::testing::{build, metadata, noise, refusal};
    use crate::util::checksum::tests::guards;

    /// numcodecs 0.15.2 and 0.16.6.
    #[test]
    fn checksums_are_zlibs() {
        let long: Vec<u8> = (0..1536).map(|i| i as u8).chain([b'x']).collect();
        let sums: [(&[u8], &str); 7] = [
            (b"", "01000000"),
            (b"a", "62006200"),
            (b"abc", "27014d02"),
            (b"abcd", "8b01d803"),
            (b"123456789", "de011e09"),
            (&long, "97fdbd01"),
            (&[0xff; 100_001], "2b31c545"),
        ];
        guards("adler32", "{}", ChecksumLocation::Start, &sums);
        guards("adler32", r#"{"location":"end"}"#, ChecksumLocation::End, &sums);
    }

    /// Byte by byte, as RFC 1950 says it.
    #[test]
    fn runs_and_blocks_change_nothing() {
        for len in [0, 1, 31, 32, 33, 5551, 5552, 5553, 3 * 5552 + 77] {
            for bytes in [noise(len), vec![0xff; len]] {
                let (a, b) = bytes.iter().fold((1u64, 0u64), |(a, b), &byte| {
                    let a = (a + u64::from(byte)) % 65521;
                    (a, (b + a) % 65521)
                });
                assert_eq!(u64::from(Adler32.sum(&bytes)), b << 16 | a, "{len}");
            }
        }
    }

    #[test]
    fn words_are_checked_and_spelled() {
        refusal(Dialect::V2, "adler32", r#"{"location":"middle"}"#);
        refusal(Dialect::V3, "numcodecs.adler32", r#"{"x":1}"#);
        assert_eq!(
            metadata(&*build(Dialect::V3, "numcodecs.adler32", "{}")),
            [Some("numcodecs.adler32".into()), Some("adler32".into()), None]
        );
    }
}

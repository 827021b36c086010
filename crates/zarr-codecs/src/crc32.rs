//! Checks a chunk with a CRC-32.
//!
//! numcodecs' `crc32`: zlib's checksum, in four bytes before the chunk's, or after them where `location` is
//! `end` (v2.md 7). It is not `crc32c` (T-01).

use crc_fast::crc32_iso_hdlc;
use zarr_core::MetadataError;
use zarr_core::codec::{ChunkContext, Codec, CodecSpec};

use crate::util::checksum::{Checksum, ChecksumLocation, guard_at};

/// The crc32 codec.
#[derive(Clone, Copy, Debug)]
struct Crc32;

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    guard_at(Crc32, spec)
}

impl Checksum for Crc32 {
    const CODEC: &'static str = "crc32";
    const USUAL: ChecksumLocation = ChecksumLocation::Start;

    fn sum(&self, bytes: &[u8]) -> u32 {
        crc32_iso_hdlc(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{build, metadata, refusal};
    use crate::util::checksum::tests::guards;
    use zarr_core::Dialect;

    /// numcodecs 0.15.2 and 0.16.6.
    #[test]
    fn checksums_are_zlibs() {
        let long: Vec<u8> = (0..1536).map(|i| i as u8).chain([b'x']).collect();
        let sums: [(&[u8], &str); 7] = [
            (b"", "00000000"),
            (b"a", "43beb7e8"),
            (b"abc", "c2412435"),
            (b"abcd", "11cd82ed"),
            (b"123456789", "2639f4cb"),
            (&long, "f373173a"),
            (&[0xff; 100_001], "67c06163"),
        ];
        guards("crc32", "{}", ChecksumLocation::Start, &sums);
        guards("crc32", r#"{"location":"end"}"#, ChecksumLocation::End, &sums);
    }

    #[test]
    fn words_are_checked_and_spelled() {
        refusal(Dialect::V2, "crc32", r#"{"location":"middle"}"#);
        refusal(Dialect::V2, "crc32", r#"{"location":1}"#);
        refusal(Dialect::V3, "numcodecs.crc32", r#"{"x":1}"#);
        let metadata = |configuration: &str| metadata(&*build(Dialect::V2, "crc32", configuration));
        let name = |v3: &str, v2: &str| [Some(v3.to_owned()), Some(v2.to_owned()), None];
        assert_eq!(metadata("{}"), name("numcodecs.crc32", "crc32"));
        assert_eq!(metadata(r#"{"location":"start"}"#), name("numcodecs.crc32", "crc32"));
        let end = r#"{"location":"end"}"#;
        let (v3, v2) = (format!("numcodecs.crc32 {end}"), format!("crc32 {end}"));
        assert_eq!(metadata(end), name(&v3, &v2));
    }
}

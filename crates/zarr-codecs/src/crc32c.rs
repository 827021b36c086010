//! Checks a chunk with a CRC-32C (F-084, T-01).
//!
//! The checksum, Castagnoli's, is stored in four bytes, least significant first, after the bytes; where
//! numcodecs' `location` is `start`, before them. The drafts cannot represent it.

use crc_fast::crc32_iscsi;
use zarr_core::codec::{ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::{Dialect, MetadataError, Object};

use crate::util::checksum::{Checksum, ChecksumLocation, guard, guard_at};

const CODEC: &str = "crc32c";

/// The crc32c codec.
#[derive(Clone, Copy, Debug)]
struct Crc32c;

/// Makes the codec. Final v3's own `crc32c` has no `location`.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    if spec.dialect == Dialect::V3 && spec.name == CODEC {
        Parameters::new(spec).finish()?;
        return Ok(guard(Crc32c, ChecksumLocation::End));
    }
    guard_at(Crc32c, spec)
}

impl Checksum for Crc32c {
    const CODEC: &'static str = CODEC;
    const USUAL: ChecksumLocation = ChecksumLocation::End;

    fn sum(&self, bytes: &[u8]) -> u32 {
        crc32_iscsi(bytes)
    }

    /// The place is always said in v2: releases of numcodecs differ in the usual one.
    fn to_metadata(&self, location: ChecksumLocation, dialect: Dialect) -> Option<CodecSpec> {
        match (dialect, location) {
            (Dialect::V3, ChecksumLocation::Start) => {
                Some(CodecSpec::v3("numcodecs.crc32c", location.written()))
            }
            (Dialect::V3, ChecksumLocation::End) => Some(CodecSpec::v3(CODEC, Object::new())),
            (Dialect::V2, _) => Some(CodecSpec::new(dialect, CODEC, location.written())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::codec::{BytesToBytes, DecodedSize};

    use super::*;
    use crate::testing::{build, encode, hex, metadata, refusal};
    use crate::util::checksum::tests::guards;

    fn at_end() -> std::sync::Arc<dyn BytesToBytes> {
        build(Dialect::V3, "crc32c", "{}")
    }

    fn at_start() -> std::sync::Arc<dyn BytesToBytes> {
        build(Dialect::V2, "crc32c", r#"{"location":"start"}"#)
    }

    #[test]
    fn it_guards() {
        guards(CODEC, "{}", ChecksumLocation::End, &[(b"123456789", "839206e3")]);
        guards(
            CODEC,
            r#"{"location":"start"}"#,
            ChecksumLocation::Start,
            &[(b"123456789", "839206e3")],
        );
    }

    /// F-084, T-01: Castagnoli's polynomial, at the end.
    #[test]
    fn the_checksum_is_castagnolis() {
        let encoded = encode(&*at_end(), b"123456789");
        assert_eq!(encoded[..9], *b"123456789");
        assert_eq!(encoded[9..], hex("839206e3"));
        let start = encode(&*at_start(), b"123456789");
        assert_eq!(start[..4], hex("839206e3"));
        assert_eq!(start[4..], *b"123456789");
    }

    /// F-084: a wrong or truncated checksum. T-01: zlib's CRC-32 is another.
    #[test]
    fn a_wrong_checksum_is_an_error() {
        let wrong = |encoded: &str| {
            let size = DecodedSize::Exactly(hex(encoded).len().saturating_sub(4) as u64);
            at_end().decode(hex(encoded).into(), size).unwrap_err().to_string()
        };
        assert_eq!(
            wrong("430000003e0000005a000000330000009d0f7a19"),
            "crc32c: checksum is 197a0f9c, but 197a0f9d is stored"
        );
        assert_eq!(wrong("430000"), "crc32c: the checksum is truncated");
        wrong("313233343536373839 2639f4cb");
    }

    #[test]
    fn words_are_checked_and_spelled() {
        refusal(Dialect::V3, "crc32c", r#"{"location":"start"}"#);
        refusal(Dialect::V2, "crc32c", r#"{"location":"middle"}"#);
        build(Dialect::V3, "numcodecs.crc32c", r#"{"location":"end"}"#);
        assert_eq!(
            metadata(&*at_end()),
            [Some("crc32c".into()), Some(r#"crc32c {"location":"end"}"#.into()), None]
        );
        assert_eq!(
            metadata(&*at_start()),
            [
                Some(r#"numcodecs.crc32c {"location":"start"}"#.into()),
                Some(r#"crc32c {"location":"start"}"#.into()),
                None
            ]
        );
    }
}

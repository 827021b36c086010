//! How is a chunk guarded by a CRC-32C? (F-084, T-01)
//!
//! The checksum, Castagnoli's, stands in four bytes, least significant first, after the bytes; where
//! numcodecs' `location` is `start`, before them. The drafts have no words for it.

use std::borrow::Cow;

use crc_fast::{CrcAlgorithm, checksum};
use zarr_core::codec::{BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize, Parameters};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

const CODEC: &str = "crc32c";

/// The crc32c codec.
#[derive(Clone, Copy, Debug)]
struct Crc32c {
    /// Whether the checksum stands before the bytes.
    at_start: bool,
}

/// Makes the codec. Final v3's own `crc32c` has no `location`.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    let own = spec.dialect == Dialect::V3 && spec.name == "crc32c";
    let mut parameters = Parameters::new(spec);
    let location = if own { None } else { parameters.string("location")? };
    let at_start = match location {
        None | Some("end") => false,
        Some("start") => true,
        Some(other) => {
            let why = format!("`{other}` is neither `start` nor `end`");
            return Err(parameters.wrong("location", why));
        }
    };
    parameters.finish()?;
    Ok(Codec::bytes_to_bytes(Crc32c { at_start }))
}

fn crc32c(bytes: &[u8]) -> [u8; 4] {
    (checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32).to_le_bytes()
}

impl Crc32c {
    /// The bytes, if their checksum is right.
    fn checked<'a>(&self, encoded: &'a [u8]) -> Result<&'a [u8], CodecError> {
        let split = match self.at_start {
            true => encoded.split_first_chunk().map(|(sum, bytes)| (bytes, sum)),
            false => encoded.split_last_chunk(),
        };
        match split {
            None => Err(CodecError::corrupt(CODEC, "the checksum is cut off")),
            Some((bytes, sum)) if *sum == crc32c(bytes) => Ok(bytes),
            Some((bytes, sum)) => Err(CodecError::corrupt(
                CODEC,
                format!(
                    "checksum is {:08x}, but {:08x} is stored",
                    u32::from_le_bytes(crc32c(bytes)),
                    u32::from_le_bytes(*sum)
                ),
            )),
        }
    }
}

impl BytesToBytes for Crc32c {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, CodecError> {
        let sum = crc32c(&decoded);
        let mut out = decoded.into_owned();
        match self.at_start {
            true => drop(out.splice(..0, sum)),
            false => out.extend_from_slice(&sum),
        }
        Ok(Cow::Owned(out))
    }

    fn decode<'a>(
        &self,
        encoded: Cow<'a, [u8]>,
        size: DecodedSize,
    ) -> Result<Cow<'a, [u8]>, CodecError> {
        let len = self.checked(&encoded)?.len();
        size.check(CODEC, len as u64)?;
        let from = if self.at_start { 4 } else { 0 };
        Ok(match encoded {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[from..from + len]),
            Cow::Owned(mut bytes) => {
                bytes.drain(..from);
                bytes.truncate(len);
                Cow::Owned(bytes)
            }
        })
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        let bytes = self.checked(&encoded)?;
        DecodedSize::Exactly(out.len() as u64).check(CODEC, bytes.len() as u64)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn encoded_size(&self, decoded: u64) -> Result<Option<u64>, CodecError> {
        Ok(decoded.checked_add(4))
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        let location = if self.at_start { "start" } else { "end" };
        let located = Object::new().with("location", location);
        match dialect {
            Dialect::V3 if self.at_start => Some(CodecSpec::v3("numcodecs.crc32c", located)),
            Dialect::V3 => Some(CodecSpec::v3("crc32c", Object::new())),
            Dialect::V2 => Some(CodecSpec::new(dialect, "crc32c", located)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{build, decode, encode, heeds_sizes, hex, noise, refusal, speaks, words};

    fn at_end() -> std::sync::Arc<dyn BytesToBytes> {
        build(Dialect::V3, "crc32c", "{}")
    }

    fn at_start() -> std::sync::Arc<dyn BytesToBytes> {
        build(Dialect::V2, "crc32c", r#"{"location":"start"}"#)
    }

    #[test]
    fn it_behaves() {
        crate::testing::behaves(&*at_end());
        for len in [0, 1, 4, 65_537] {
            let decoded = noise(len);
            let encoded = encode(&*at_start(), &decoded);
            assert_eq!(decode(&*at_start(), &encoded, len as u64), decoded);
            heeds_sizes(&*at_start(), &decoded);
        }
        crate::testing::survives_damage(&*at_start(), &noise(50));
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

    /// F-084: a checksum that is wrong or cut off. T-01: zlib's CRC-32 is another.
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
        assert_eq!(wrong("430000"), "crc32c: the checksum is cut off");
        wrong("313233343536373839 2639f4cb");
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let encoded = encode(&*at_end(), &noise(50));
        for bit in 0..encoded.len() * 8 {
            let mut damaged = encoded.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(at_end().decode(damaged.into(), DecodedSize::Exactly(50)).is_err());
        }
    }

    #[test]
    fn words_are_checked_and_spelled() {
        refusal(Dialect::V3, "crc32c", r#"{"location":"start"}"#);
        refusal(Dialect::V2, "crc32c", r#"{"location":"middle"}"#);
        build(Dialect::V3, "numcodecs.crc32c", r#"{"location":"end"}"#);
        assert_eq!(
            words(&*at_end()),
            [Some("crc32c".into()), Some(r#"crc32c {"location":"end"}"#.into()), None]
        );
        assert_eq!(
            words(&*at_start()),
            [
                Some(r#"numcodecs.crc32c {"location":"start"}"#.into()),
                Some(r#"crc32c {"location":"start"}"#.into()),
                None
            ]
        );
        speaks(&*at_start(), b"abc");
    }
}

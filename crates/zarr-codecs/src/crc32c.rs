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
    let location = if own {
        None
    } else {
        parameters.string("location")?
    };
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

//! Adds a checksum to a chunk, and checks it.
//!
//! It is stored in four bytes before the chunk's or after them. One [`Guard`] serves every kind of checksum.

use std::borrow::Cow;
use std::fmt::Debug;

use zarr_core::codec::{BytesToBytes, Codec, CodecResult, CodecSpec, DecodedSize, Parameters};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::util::metadata::numcodecs;

/// Bytes that a checksum takes.
const SIZE: usize = 4;

/// Where the checksum stands: numcodecs' `location`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChecksumLocation {
    Start,
    End,
}

impl ChecksumLocation {
    /// The parameter `location`.
    pub(crate) fn written(self) -> Object {
        let location = match self {
            ChecksumLocation::Start => "start",
            ChecksumLocation::End => "end",
        };
        Object::new().with("location", location)
    }
}

/// A kind of checksum.
pub(crate) trait Checksum: Debug + Send + Sync + 'static {
    const CODEC: &'static str;

    /// Where numcodecs puts it by default.
    const USUAL: ChecksumLocation;

    /// The checksum of these bytes.
    fn sum(&self, bytes: &[u8]) -> u32;

    /// Whether `found` may stand for the checksum `due`.
    fn is(&self, expected: u32, found: u32) -> bool {
        expected == found
    }

    /// The codec's metadata.
    fn to_metadata(&self, location: ChecksumLocation, dialect: Dialect) -> Option<CodecSpec> {
        // Older releases of numcodecs do not know the parameter.
        let usual = location == Self::USUAL;
        numcodecs(dialect, Self::CODEC, if usual { Object::new() } else { location.written() })
    }
}

/// A chunk and its checksum.
#[derive(Debug)]
struct Guard<C> {
    checksum: C,
    location: ChecksumLocation,
}

/// A codec that puts a checksum there, least significant byte first.
pub(crate) fn guard(checksum: impl Checksum, location: ChecksumLocation) -> Codec {
    Codec::bytes_to_bytes(Guard { checksum, location })
}

/// The same for metadata whose only parameter is `location`.
pub(crate) fn guard_at<C: Checksum>(checksum: C, spec: &CodecSpec) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let words = [("start", ChecksumLocation::Start), ("end", ChecksumLocation::End)];
    let location = parameters.choice("location", &words)?;
    parameters.finish()?;
    Ok(guard(checksum, location.unwrap_or(C::USUAL)))
}

impl<C: Checksum> Guard<C> {
    /// The bytes, if their checksum is right.
    fn checked<'a>(&self, encoded: &'a [u8]) -> Result<&'a [u8], CodecError> {
        let split = match self.location {
            ChecksumLocation::Start => encoded.split_first_chunk().map(|(sum, bytes)| (bytes, sum)),
            ChecksumLocation::End => encoded.split_last_chunk(),
        };
        let Some((bytes, found)) = split else {
            return Err(CodecError::corrupt(C::CODEC, "the checksum is truncated"));
        };
        let (expected, found) = (self.checksum.sum(bytes), u32::from_le_bytes(*found));
        if self.checksum.is(expected, found) {
            Ok(bytes)
        } else {
            Err(CodecError::corrupt(
                C::CODEC,
                format!("checksum is {expected:08x}, but {found:08x} is stored"),
            ))
        }
    }
}

impl<C: Checksum> BytesToBytes for Guard<C> {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        let sum = self.checksum.sum(&decoded).to_le_bytes();
        let (before, after) = match self.location {
            ChecksumLocation::Start => (&sum[..], &[][..]),
            ChecksumLocation::End => (&[][..], &sum[..]),
        };
        match decoded {
            Cow::Borrowed(bytes) => Ok(Cow::Owned([before, bytes, after].concat())),
            Cow::Owned(mut bytes) => {
                bytes.splice(..0, before.iter().copied());
                bytes.extend_from_slice(after);
                Ok(Cow::Owned(bytes))
            }
        }
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let len = self.checked(&encoded)?.len();
        size.check(C::CODEC, len as u64)?;
        let from = match self.location {
            ChecksumLocation::Start => SIZE,
            ChecksumLocation::End => 0,
        };
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
        DecodedSize::Exactly(out.len() as u64).check(C::CODEC, bytes.len() as u64)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn encoded_size(&self, decoded: u64) -> Result<Option<u64>, CodecError> {
        Ok(decoded.checked_add(SIZE as u64))
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        self.checksum.to_metadata(self.location, dialect)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::{behaves, build, decode, encode, hex, noise};

    /// What must hold of every checksum, with the checksums of another implementation: of bytes that
    /// stand there as text, and each in hexadecimal digits.
    pub(crate) fn guards(
        id: &str,
        configuration: &str,
        location: ChecksumLocation,
        sums: &[(&[u8], &str)],
    ) {
        let codec = build(Dialect::V2, id, configuration);
        behaves(&*codec);
        for &(bytes, sum) in sums {
            let encoded = match location {
                ChecksumLocation::Start => [&hex(sum)[..], bytes].concat(),
                ChecksumLocation::End => [bytes, &hex(sum)[..]].concat(),
            };
            assert_eq!(encode(&*codec, bytes), encoded, "{id} of {} bytes", bytes.len());
            assert_eq!(decode(&*codec, &encoded, bytes.len() as u64), bytes);
        }
        let refused = |encoded: Vec<u8>, len: usize| {
            let result = codec.decode(encoded.into(), DecodedSize::Exactly(len as u64));
            assert!(matches!(result, Err(CodecError::Corrupt { .. })), "{result:?}");
        };
        let encoded = encode(&*codec, &noise(50));
        for bit in 0..encoded.len() * 8 {
            let mut damaged = encoded.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            refused(damaged, 50);
        }
        (0..SIZE).for_each(|len| refused(encoded[..len].to_vec(), 0));
    }
}

//! How are the bytes of elements gathered, so that they compress better?
//!
//! numcodecs' `shuffle`: all first bytes, all second bytes, and so on; bytes after the last whole
//! element stay behind. An `elementsize` of 0, which netcdf-c writes, or none at all means the size of
//! the array's elements (spec v2, section 7).

use std::borrow::Cow;

use zarr_core::codec::{BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize, Parameters};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::planes::{gather, scatter};
use crate::stream::zeroed;

const CODEC: &str = "shuffle";

/// The shuffle codec.
#[derive(Clone, Copy, Debug)]
struct Shuffle {
    element: usize,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let element = match parameters.integer("elementsize", 0..=i32::MAX.into(), Some(0))? {
        0 => context.element_size()?,
        size => size as usize,
    };
    parameters.finish()?;
    Ok(Codec::bytes_to_bytes(Shuffle { element }))
}

impl BytesToBytes for Shuffle {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, CodecError> {
        if self.element <= 1 {
            return Ok(decoded);
        }
        let mut out = zeroed(CODEC, decoded.len() as u64)?;
        gather(self.element, &decoded, &mut out);
        Ok(Cow::Owned(out))
    }

    fn decode<'a>(
        &self,
        encoded: Cow<'a, [u8]>,
        size: DecodedSize,
    ) -> Result<Cow<'a, [u8]>, CodecError> {
        size.check(CODEC, encoded.len() as u64)?;
        if self.element <= 1 {
            return Ok(encoded);
        }
        let mut out = zeroed(CODEC, encoded.len() as u64)?;
        scatter(self.element, &encoded, &mut out);
        Ok(Cow::Owned(out))
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        DecodedSize::Exactly(out.len() as u64).check(CODEC, encoded.len() as u64)?;
        scatter(self.element.max(1), &encoded, out);
        Ok(())
    }

    fn encoded_size(&self, decoded: u64) -> Result<Option<u64>, CodecError> {
        Ok(Some(decoded))
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        let configuration = Object::new().with("elementsize", self.element as u64);
        match dialect {
            Dialect::V3 => Some(CodecSpec::v3("numcodecs.shuffle", configuration)),
            Dialect::V2 => Some(CodecSpec::new(dialect, "shuffle", configuration)),
            _ => None,
        }
    }
}

//! How are bytes compressed as bzip2 streams?
//!
//! Decoding takes any number of streams one after another, as `bzip2` does, and nothing else after
//! them.

use std::borrow::Cow;
use std::io::Write;

use bzip2::Compression;
use bzip2::bufread::MultiBzDecoder;
use bzip2::write::BzEncoder;
use zarr_core::codec::{BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize, Parameters};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::spelling::spelled;
use crate::stream::{read_all, read_into};

const CODEC: &str = "bz2";

/// The bz2 codec.
#[derive(Clone, Copy, Debug)]
struct Bz2 {
    level: u32,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let level = parameters.integer("level", 1..=9, Some(1))? as u32;
    parameters.finish()?;
    Ok(Codec::bytes_to_bytes(Bz2 { level }))
}

impl BytesToBytes for Bz2 {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, CodecError> {
        let mut writer = BzEncoder::new(Vec::new(), Compression::new(self.level));
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
        read_all(CODEC, MultiBzDecoder::new(&encoded[..]), size).map(Cow::Owned)
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        read_into(CODEC, MultiBzDecoder::new(&encoded[..]), out)
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        let configuration = Object::new().with("level", u64::from(self.level));
        spelled(dialect, "numcodecs.bz2", "bz2", configuration)
    }
}

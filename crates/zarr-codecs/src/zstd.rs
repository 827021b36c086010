//! How are bytes compressed as Zstandard frames (RFC 8878)?
//!
//! Decoding takes any number of frames one after another, skippable ones among them, with or without
//! their size, and checks every checksum whatever the configuration says (F-083, T-42). Nothing else
//! may follow; frames of formats older than Zstandard 0.8 are refused.

use std::borrow::Cow;

use zarr_core::codec::{BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize, Parameters};
use zarr_core::{CodecError, Dialect, MetadataError, Object};
use zstd::bulk::Compressor;
use zstd::stream::read::Decoder;
use zstd::zstd_safe::{self, CParameter, DCtx, get_error_name};

use crate::spelling::spelled;
use crate::stream::{read_all, room};

const CODEC: &str = "zstd";

/// No frame holds more than so many bytes in one: a block of 128 KiB takes four.
const BEST_RATIO: u64 = 1 << 15;

/// The zstd codec.
#[derive(Clone, Copy, Debug)]
struct Zstd {
    level: i32,
    checksum: bool,
}

/// Makes the codec. Where numcodecs does not say a level it is 0, which means 3.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    let default = (spec.dialect != Dialect::V3 || spec.name != "zstd").then_some(0);
    let mut parameters = Parameters::new(spec);
    let level = parameters.integer("level", -131_072..=22, default)? as i32;
    let checksum = parameters.boolean("checksum", false)?;
    parameters.finish()?;
    Ok(Codec::bytes_to_bytes(Zstd { level, checksum }))
}

impl BytesToBytes for Zstd {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, CodecError> {
        let encode = || {
            let mut compressor = Compressor::new(self.level)?;
            compressor.set_parameter(CParameter::ChecksumFlag(self.checksum))?;
            compressor.compress(&decoded)
        };
        encode()
            .map(Cow::Owned)
            .map_err(|e| CodecError::corrupt(CODEC, e))
    }

    fn decode<'a>(
        &self,
        encoded: Cow<'a, [u8]>,
        size: DecodedSize,
    ) -> Result<Cow<'a, [u8]>, CodecError> {
        let due = match (declared_size(&encoded)?, size) {
            (Some(declared), _) => {
                size.check(CODEC, declared)?;
                declared
            }
            (None, DecodedSize::Exactly(n)) => n,
            (None, DecodedSize::AtMost(_)) => {
                let reader = Decoder::with_buffer(&encoded[..]);
                let reader = reader.map_err(|e| CodecError::corrupt(CODEC, e))?;
                return read_all(CODEC, reader, size).map(Cow::Owned);
            }
        };
        let mut out = room(CODEC, due, encoded.len(), BEST_RATIO)?;
        decode_frames(&encoded, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        if let Some(declared) = declared_size(&encoded)? {
            DecodedSize::Exactly(out.len() as u64).check(CODEC, declared)?;
        }
        decode_frames(&encoded, out)
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        // F-083: always both, since some readers miss `checksum`.
        let configuration = Object::new()
            .with("level", i64::from(self.level))
            .with("checksum", self.checksum);
        spelled(dialect, "zstd", "zstd", configuration)
    }
}

fn corrupt(code: usize) -> CodecError {
    CodecError::corrupt(CODEC, get_error_name(code))
}

/// Fills `out` from all frames.
fn decode_frames(encoded: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
    let due = DecodedSize::Exactly(out.len() as u64);
    match DCtx::create().decompress(out, encoded) {
        Ok(found) => due.check(CODEC, found as u64),
        Err(code) if get_error_name(code).contains("too small") => {
            due.check(CODEC, out.len() as u64 + 1)
        }
        Err(code) => Err(corrupt(code)),
    }
}

/// How many bytes the frames together say they hold; `None` if one does not say it. Every frame is
/// complete and a Zstandard frame, or this is an error.
fn declared_size(encoded: &[u8]) -> Result<Option<u64>, CodecError> {
    let mut total = Some(0u64);
    let mut rest = encoded;
    if rest.is_empty() {
        return Err(CodecError::corrupt(CODEC, "there is no frame"));
    }
    while !rest.is_empty() {
        let magic = rest.first_chunk().map_or(0, |m| u32::from_le_bytes(*m));
        let skippable = magic & !0xF == zstd_safe::MAGIC_SKIPPABLE_START;
        if magic != zstd_safe::MAGICNUMBER && !skippable {
            let why = format!("no frame begins at byte {}", encoded.len() - rest.len());
            return Err(CodecError::corrupt(CODEC, why));
        }
        let len = zstd_safe::find_frame_compressed_size(rest).map_err(corrupt)?;
        if !skippable {
            let here = zstd_safe::get_frame_content_size(rest)
                .map_err(|_| CodecError::corrupt(CODEC, "the frame header is damaged"))?;
            total = total
                .zip(here)
                .map(|(total, here)| total.saturating_add(here));
        }
        rest = rest.get(len.max(1)..).unwrap_or_default();
    }
    Ok(total)
}

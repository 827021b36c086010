//! Compresses bytes as Zstandard frames (RFC 8878).
//!
//! Decoding takes any number of frames one after another, skippable ones among them, with or without
//! their size, and checks every checksum whatever the configuration says (F-083, T-42). Nothing else
//! may follow; frames of formats older than Zstandard 0.8 are refused.

use std::borrow::Cow;
use std::cell::RefCell;

use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Parameters, buffer_pool,
};
use zarr_core::{CodecError, Dialect, MetadataError, Object};
use zstd::bulk::Compressor;
use zstd::stream::read::Decoder;
use zstd::zstd_safe::{self, CParameter, DParameter, ResetDirective, WriteBuf};

use crate::util::bounded_read::{read_all, room_for};
use crate::util::metadata::in_every_dialect;
use crate::zstd_decoder::{DECODER, decompress};

const CODEC: &str = "zstd";

/// The most decoded bytes that one byte of a frame holds: a block of 128 KiB takes four.
const BEST_RATIO: u64 = 1 << 15;

/// The bytes of a frame that tell how long its header is.
const FRAME_HEADER_BYTES: usize = 5;

/// The most decoded bytes of a block.
const MAX_BLOCK_BYTES: u64 = 128 << 10;

thread_local! {
    // Making one costs as much as a small chunk; each call begins it anew.
    static ENCODER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

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
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        let encoded = ENCODER.with_borrow_mut(|encoder: &mut Option<Compressor<'static>>| {
            let compressor = match encoder {
                Some(compressor) => compressor,
                None => encoder.insert(Compressor::new(self.level)?),
            };
            compressor.set_compression_level(self.level)?;
            compressor.set_parameter(CParameter::ChecksumFlag(self.checksum))?;
            let mut out = buffer_pool::room(zstd_safe::compress_bound(decoded.len()))
                .ok_or(std::io::ErrorKind::OutOfMemory)?;
            compressor.compress_to_buffer(&decoded, &mut out)?;
            Ok::<_, std::io::Error>(out)
        });
        buffer_pool::release(decoded);
        encoded.map(Cow::Owned).map_err(|e| CodecError::corrupt(CODEC, e))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let expected = match (declared_size(&encoded)?, size) {
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
        let mut out = room_for(CODEC, expected, encoded.len(), BEST_RATIO)?;
        decode_frames(&encoded, &mut out, expected)?;
        Ok(Cow::Owned(out))
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        if let Some(declared) = declared_size(&encoded)? {
            DecodedSize::Exactly(out.len() as u64).check(CODEC, declared)?;
        }
        let expected = out.len() as u64;
        decode_frames(&encoded, out, expected)
    }

    fn decode_start(&self, encoded: &[u8], size: DecodedSize, needed: usize) -> Option<Vec<u8>> {
        let all = declared_size(encoded).ok()?.filter(|&all| size == DecodedSize::Exactly(all))?;
        let is_one = zstd_safe::find_frame_compressed_size(encoded) == Ok(encoded.len());
        let is_checked = encoded.get(4)? & 4 != 0;
        if !is_one
            || is_checked
            || (needed as u64).div_ceil(MAX_BLOCK_BYTES) >= all.div_ceil(MAX_BLOCK_BYTES)
        {
            return None;
        }
        let mut out = room_for(CODEC, all, encoded.len(), BEST_RATIO).ok()?;
        decompress_start(encoded, &mut out, needed).map(|()| out)
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let mut configuration = Object::new().with("level", i64::from(self.level));
        // F-083: final v3 always says both, since some readers miss `checksum`; v2 says it only where
        // it is on, since tensorstore 0.1.86 refuses the member there (T-36).
        if self.checksum || dialect != Dialect::V2 {
            configuration.insert("checksum", self.checksum);
        }
        in_every_dialect(dialect, "zstd", "zstd", configuration)
    }
}

fn corrupt(code: usize) -> CodecError {
    CodecError::corrupt(CODEC, zstd_safe::get_error_name(code))
}

/// Decodes blocks of one frame until `out`, which has room for all of them, has `needed` bytes. `None` if these are damaged.
fn decompress_start(mut encoded: &[u8], out: &mut Vec<u8>, needed: usize) -> Option<()> {
    let mut out = zstd_safe::OutBuffer::around(out);
    let mut next = FRAME_HEADER_BYTES;
    DECODER.with_borrow_mut(|decoder| {
        decoder.reset(ResetDirective::SessionAndParameters).ok()?;
        decoder.set_parameter(DParameter::StableOutBuffer(true)).ok()?;
        while out.pos() < needed {
            // A step takes what the one before asked for: a block, and the header of the next. What is more, it would copy.
            let mut input = zstd_safe::InBuffer::around(encoded.get(..next)?);
            next = decoder.decompress_stream(&mut out, &mut input).ok().filter(|&next| next > 0)?;
            encoded = &encoded[input.pos..];
        }
        Some(())
    })
}

/// Fills `out`, which has room for the `expected` bytes, from all frames.
fn decode_frames(
    encoded: &[u8],
    out: &mut (impl WriteBuf + ?Sized),
    expected: u64,
) -> Result<(), CodecError> {
    let expected = DecodedSize::Exactly(expected);
    match decompress(encoded, out) {
        Ok(found) => expected.check(CODEC, found as u64),
        Err(code) if zstd_safe::get_error_name(code).contains("too small") => {
            expected.check(CODEC, out.capacity() as u64 + 1)
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
        return Err(CodecError::corrupt(CODEC, "it holds no frame"));
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
            total = total.zip(here).map(|(total, here)| total.saturating_add(here));
        }
        rest = rest.get(len.max(1)..).unwrap_or_default();
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        behaves, build, decode, digest, encode, hex, metadata, noise, ramp, refusal,
    };

    fn codec(configuration: &str) -> std::sync::Arc<dyn BytesToBytes> {
        build(Dialect::V3, "zstd", configuration)
    }

    fn plain() -> std::sync::Arc<dyn BytesToBytes> {
        codec(r#"{"level":0,"checksum":false}"#)
    }

    #[test]
    fn it_behaves() {
        behaves(&*plain());
        behaves(&*codec(r#"{"level":-5,"checksum":true}"#));
    }

    /// F-083.
    #[test]
    fn frames_are_as_the_format_says() {
        let frame = hex("28b52ffd200421000001010101");
        let checked = hex("28b52ffd240421000001010101fca4e86b");
        assert_eq!(encode(&*plain(), &[1; 4]), frame);
        assert_eq!(encode(&*codec(r#"{"level":0,"checksum":true}"#), &[1; 4]), checked);
        // The checksum is verified though the configuration does not speak of one.
        assert_eq!(decode(&*plain(), &checked, 4), [1; 4]);
        let mut wrong = checked.clone();
        *wrong.last_mut().unwrap() ^= 1;
        let result = plain().decode(wrong.into(), DecodedSize::Exactly(4));
        assert!(matches!(result, Err(CodecError::Corrupt { .. })), "{result:?}");
    }

    /// Chunks that others wrote: zarr-python 2.18 (draft-v3.md 3.1) without and with a checksum,
    /// zarr-python 3.4.2, zarrita.js, GDAL 3.6.2, z5py 2.
    #[test]
    fn it_reads_what_others_wrote() {
        let cases = [
            ("28b52ffd20084100000100020003000400", "0100020003000400"),
            ("28b52ffd240841000001000200030004005480f3d6", "0100020003000400"),
            ("28b52ffd200c45000010ff0901001bc002", "ff0909090909090909090909"),
            (
                "28b52ffd2010810000 00000000 01000000 02000000 03000000",
                "00000000 01000000 02000000 03000000",
            ),
        ];
        for (encoded, decoded) in cases {
            let decoded = hex(decoded);
            assert_eq!(decode(&*plain(), &hex(encoded), decoded.len() as u64), decoded);
        }
        let zarrita = "28b52ffd2046dd000090d44d00c57c00a15200adeb0013ee00ffff0006500300d339e7dc";
        assert_eq!(digest(&decode(&*plain(), &hex(zarrita), 70)), 0x4922_8176_20a6_1213);
        let gdal = "28b52ffd6000015d0300e20a14197039960340f3122ea6abe8192a9a0539451493fdffffff25a4dfdf3be7
            5cf3cb2d97fc71c7d9d7ffcc2bee90b7b327aed211e0e79e6f8ea1dcbd7d71c50f57171c9d3cf2c6195f47dcf054
            207cf0400a20b0761e3e28553e50c5314e75ac50857b1a7a77b9eb08";
        assert_eq!(digest(&decode(&*plain(), &hex(gdal), 512)), 0x891e_7687_41b5_26fb);
        let z5 = "28b52ffd600001a5030042470f1400adcd0190b4e1030e0bf4e8a2d9ada1913532a494f38e2700d9c42caeb8
            e1840bb45fafa237578edcb83be2f0c2070f7c3b76ebd2a13f7f5f9edc051500fd9cc2c6086c9177351b57989b22
            79612cbb273d188923e403c9bbb581250f616d609277b33fd8706b5e43c82790479db93d";
        assert_eq!(digest(&decode(&*plain(), &hex(z5), 512)), 0x9354_9f7d_b319_3006);
    }

    /// T-42: a frame need not say its size; its end is no question of ours.
    #[test]
    fn frames_without_a_size_decode() {
        let hello = hex("28b52ffd 00 58 610000 48656c6c6f20576f726c6421");
        assert_eq!(decode(&*plain(), &hello, 12), b"Hello World!");
        for (size, wanted) in [(11, "Length"), (13, "Length"), (1 << 42, "Length")] {
            let result = plain().decode(Cow::Borrowed(&hello), DecodedSize::Exactly(size));
            assert!(format!("{result:?}").contains(wanted), "{result:?}");
        }
        let result = plain().decode(Cow::Borrowed(&hello), DecodedSize::AtMost(11));
        assert!(matches!(result, Err(CodecError::Limit { .. })));
    }

    /// F-083: several frames, sized or not, and skippable ones between them.
    #[test]
    fn frames_follow_each_other() {
        let skippable = hex("502a4d18 03000000 aabbcc");
        let unsized_frame = hex("28b52ffd 00 58 610000 48656c6c6f20576f726c6421");
        let sized = encode(&*plain(), b"abc");
        let all = [&skippable[..], &sized, &skippable, &unsized_frame, &sized].concat();
        assert_eq!(decode(&*plain(), &all, 18), b"abcHello World!abc");
        assert_eq!(decode(&*plain(), &[&sized[..], &sized].concat(), 6), b"abcabc");
        assert_eq!(decode(&*plain(), &skippable, 0), b"");
        for cut in 1..all.len() {
            let frames = declared_size(&all[..cut]);
            let exactly = plain().decode(Cow::Borrowed(&all[..cut]), DecodedSize::Exactly(18));
            assert!(exactly.is_err(), "{cut} {frames:?}");
        }
    }

    /// Sizes in the header are not believed: this frame of 16 bytes claims 2^40.
    #[test]
    fn absurd_sizes_are_not_believed() {
        let huge = hex("28b52ffde00000000000000010010000");
        for size in [16, 0x10_0000_0000_0000, u64::MAX] {
            assert!(plain().decode(huge.clone().into(), DecodedSize::Exactly(size)).is_err());
            assert!(plain().decode(huge.clone().into(), DecodedSize::AtMost(size)).is_err());
        }
        let bomb = encode(&*codec(r#"{"level":19}"#), &vec![0; 1 << 26]);
        assert!(bomb.len() < 10_000);
        assert!(plain().decode(Cow::Borrowed(&bomb), DecodedSize::Exactly(64)).is_err());
        assert!(plain().decode(Cow::Borrowed(&bomb), DecodedSize::AtMost(64)).is_err());
        // Yet a true ratio this high is no obstacle.
        assert_eq!(decode(&*plain(), &bomb, 1 << 26).len(), 1 << 26);
    }

    #[test]
    fn every_level_decodes_alike() {
        for level in [-131_072, -1, 1, 3, 22] {
            let codec = codec(&format!("{{\"level\":{level}}}"));
            for decoded in [noise(5000), ramp(5000)] {
                assert_eq!(decode(&*codec, &encode(&*codec, &decoded), 5000), decoded);
            }
        }
    }

    /// F-083, T-36.
    #[test]
    fn words_are_checked_and_spelled() {
        refusal(Dialect::V3, "zstd", r#"{"level":23}"#);
        refusal(Dialect::V3, "zstd", r#"{"level":-131073}"#);
        refusal(Dialect::V3, "zstd", "{}");
        refusal(Dialect::V3, "zstd", r#"{"level":1,"checksum":0}"#);
        refusal(Dialect::V3, "zstd", r#"{"level":1,"nthreads":1}"#);
        build(Dialect::V2, "zstd", r#"{"checksum":true,"typesize":4}"#);
        assert_eq!(
            metadata(&*codec(r#"{"level":3}"#)).map(Option::unwrap),
            [
                r#"zstd {"level":3,"checksum":false}"#,
                r#"zstd {"level":3}"#,
                r#"https://purl.org/zarr/spec/codec/zstd/1.0 {"level":3,"checksum":false}"#
            ]
        );
    }
}

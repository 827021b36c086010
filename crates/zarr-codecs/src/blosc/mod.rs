//! Compresses bytes as a Blosc 1 buffer.
//!
//! A buffer says itself how it was made, so decoding asks nothing of the configuration. Sizes in its
//! header are compared with what is expected before anything is allocated (F-085). Nothing may follow the
//! buffer. Snappy inside is decoded, not encoded: C-Blosc's is C++. Zstandard and zlib inside are
//! decoded here, faster.

mod container;
mod ffi;

use std::borrow::Cow;
use std::ffi::CStr;

use zarr_core::codec::{
    Blocks, BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Parameters,
    buffer_pool,
};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object};

use crate::util::bounded_read::scratch_for;
use crate::util::libdeflate;
use crate::util::metadata::in_every_dialect;
use crate::zstd_decoder::decompress;

const CODEC: &str = "blosc";
const HEADER: usize = 16;

/// Bits of a header's flags.
const BYTE_SHUFFLED: u8 = 1;
const STORED: u8 = 2;
const BIT_SHUFFLED: u8 = 4;
const UNSPLIT: u8 = 0x10;

/// The most decoded bytes that one byte of a buffer holds: at best its blocks are Zstandard.
const BEST_RATIO: u64 = 1 << 15;

/// The compressors, and their names as C takes them.
const COMPRESSORS: [&CStr; 6] = [c"blosclz", c"lz4", c"lz4hc", c"snappy", c"zlib", c"zstd"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shuffle {
    /// Bits of elements of one byte, bytes of others.
    Auto = -1,
    None = 0,
    Bytes = 1,
    Bits = 2,
}

/// The blosc codec.
#[derive(Clone, Copy, Debug)]
struct Blosc {
    compressor: &'static CStr,
    level: u8,
    shuffle: Shuffle,
    type_size: usize,
    block_size: usize,
}

/// Makes the codec. numcodecs' words have defaults and a number for `shuffle`; final v3's own have a
/// word for it, and a `typesize`, without which the size of the array's elements is taken (T-43).
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let own = spec.dialect == Dialect::V3 && spec.name == "blosc";
    let mut parameters = Parameters::new(spec);
    let name = match parameters.string("cname")? {
        None if own => return Err(parameters.invalid("cname", "is missing")),
        name => name.unwrap_or("lz4"),
    };
    let compressor = COMPRESSORS.into_iter().find(|c| c.to_str() == Ok(name));
    let Some(compressor) = compressor else {
        let why = format!(
            "unknown compressor `{name}`; expected one of blosclz, lz4, lz4hc, snappy, zlib, zstd"
        );
        return Err(parameters.invalid("cname", why));
    };
    let level = parameters.integer("clevel", 0..=9, (!own).then_some(5))? as u8;
    let shuffle = match parameters.get("shuffle") {
        None if own => return Err(parameters.invalid("shuffle", "is missing")),
        None => Some(Shuffle::Bytes),
        Some(Json::String(word)) => match word.as_str() {
            "noshuffle" => Some(Shuffle::None),
            "shuffle" => Some(Shuffle::Bytes),
            "bitshuffle" => Some(Shuffle::Bits),
            // GDAL 3.6 writes its own option into drafts.
            "NONE" if !own => Some(Shuffle::None),
            "BYTE" if !own => Some(Shuffle::Bytes),
            "BIT" if !own => Some(Shuffle::Bits),
            _ => None,
        },
        Some(json) if !own => match json.as_i64() {
            Some(-1) => Some(Shuffle::Auto),
            Some(0) => Some(Shuffle::None),
            Some(1) => Some(Shuffle::Bytes),
            Some(2) => Some(Shuffle::Bits),
            _ => None,
        },
        Some(_) => None,
    };
    let Some(shuffle) = shuffle else {
        let expected =
            if own { "is `noshuffle`, `shuffle` or `bitshuffle`" } else { "is -1, 0, 1 or 2" };
        return Err(parameters.invalid("shuffle", expected));
    };
    let least = i64::from(shuffle != Shuffle::None);
    let type_size = match parameters.get("typesize") {
        None => context.element_size()?,
        Some(_) => match parameters.integer("typesize", least..=i32::MAX.into(), None)? {
            0 => context.element_size()?,
            size => size as usize,
        },
    };
    let block_size = parameters.integer("blocksize", 0..=i32::MAX.into(), Some(0))? as usize;
    parameters.finish()?;
    Ok(Codec::bytes_to_bytes(Blosc { compressor, level, shuffle, type_size, block_size }))
}

impl Blosc {
    /// The mode that -1 means for these elements.
    fn shuffle(&self) -> Shuffle {
        match (self.shuffle, self.type_size) {
            (Shuffle::Auto, 1) => Shuffle::Bits,
            (Shuffle::Auto, _) => Shuffle::Bytes,
            (mode, _) => mode,
        }
    }
}

impl BytesToBytes for Blosc {
    fn most_decoded(&self) -> Option<u64> {
        Some(ffi::MAX_SIZE as u64)
    }

    fn check_encodes(&self) -> Result<(), CodecError> {
        let why = "snappy is decoded, not encoded; choose another `cname`";
        if self.compressor == c"snappy" {
            Err(CodecError::Value { codec: CODEC, why: why.into() })
        } else {
            Ok(())
        }
    }

    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        self.check_encodes()?;
        if decoded.len() > ffi::MAX_SIZE {
            let why = format!("{} bytes are more than a buffer holds", decoded.len());
            return Err(refuse(why));
        }
        let recipe = ffi::Recipe {
            level: self.level,
            shuffle: self.shuffle() as u8,
            type_size: self.type_size,
            block_size: self.block_size,
            compressor: self.compressor,
        };
        let out = buffer_pool::room(decoded.len() + ffi::OVERHEAD);
        let mut out = out.ok_or_else(|| refuse("memory does not hold them twice".into()))?;
        if !ffi::compress(&recipe, &decoded, &mut out) {
            return Err(refuse("C-Blosc refuses these bytes".into()));
        }
        buffer_pool::release(decoded);
        Ok(Cow::Owned(out))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let header = Header::read(&encoded)?;
        size.check(CODEC, header.size as u64)?;
        let mut out = scratch_for(CODEC, header.size as u64, encoded.len(), BEST_RATIO)?;
        header.decode(&encoded, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        let header = Header::read(&encoded)?;
        DecodedSize::Exactly(out.len() as u64).check(CODEC, header.size as u64)?;
        header.decode(&encoded, out)
    }

    fn blocks<'a>(&'a self, encoded: &'a [u8], size: DecodedSize) -> Option<Blocks<'a>> {
        let header = Header::read(encoded).and_then(|header| header.check_blocks()).ok()?;
        size.check(CODEC, header.size as u64).ok()?;
        let decompress = header.decompressor()?;
        Some((
            header.block_size,
            Box::new(move |n, out: &mut [u8]| {
                container::decode_block(&header, encoded, n, out, decompress)
            }),
        ))
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let shuffle = match (dialect, self.shuffle()) {
            (Dialect::V3, Shuffle::None) => Json::from("noshuffle"),
            (Dialect::V3, Shuffle::Bits) => Json::from("bitshuffle"),
            (Dialect::V3, _) => Json::from("shuffle"),
            _ => Json::from(self.shuffle as i64),
        };
        let mut configuration = Object::new()
            .with("cname", self.compressor.to_str().ok()?)
            .with("clevel", u64::from(self.level))
            .with("shuffle", shuffle);
        if dialect == Dialect::V3 {
            configuration.insert("typesize", self.type_size as u64);
        }
        configuration.insert("blocksize", self.block_size as u64);
        in_every_dialect(dialect, "blosc", "blosc", configuration)
    }
}

/// The error of bytes that cannot be compressed.
fn refuse(why: String) -> CodecError {
    CodecError::Value { codec: CODEC, why }
}

/// The header of a buffer.
#[derive(Clone, Copy, Debug)]
struct Header {
    flags: u8,
    type_size: usize,
    /// Bytes of the decoded buffer.
    size: usize,
    block_size: usize,
}

/// The compressors' numbers in the flags' upper bits.
const LZ4: u8 = 1;
const SNAPPY: u8 = 2;
const ZLIB: u8 = 3;
const ZSTD: u8 = 4;

impl Header {
    /// The header, if it can be this buffer's.
    fn read(encoded: &[u8]) -> Result<Header, CodecError> {
        let Some(header) = encoded.first_chunk::<HEADER>() else {
            return Err(CodecError::corrupt(CODEC, "the header is truncated"));
        };
        if header[0] != 2 {
            return Err(CodecError::corrupt(CODEC, "this is not a Blosc 1 buffer"));
        }
        if word(header, 12) != encoded.len() {
            let (says, is) = (word(header, 12), encoded.len());
            let why = format!("the header promises {says} encoded bytes, found {is}");
            return Err(CodecError::corrupt(CODEC, why));
        }
        let size = ffi::declared_size(encoded);
        Ok(Header {
            flags: header[2],
            type_size: header[3].into(),
            size: size.ok_or_else(|| CodecError::corrupt(CODEC, "the header is damaged"))?,
            block_size: word(header, 8),
        })
    }

    fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Refuses sizes of elements and blocks that cannot be.
    fn check_blocks(self) -> Result<Header, CodecError> {
        let can_be = self.type_size > 0 && (1..=self.size).contains(&self.block_size);
        let why = "invalid element or block size in the header";
        (can_be || self.size == 0).then_some(self).ok_or_else(|| CodecError::corrupt(CODEC, why))
    }

    /// What decodes the streams of the blocks, if C-Blosc does not, which is slower but for bits.
    fn decompressor(&self) -> Option<container::Decompress> {
        match self.flags >> 5 {
            _ if self.is(STORED) => None,
            SNAPPY => Some(|stream, out| {
                snap::raw::decompress_len(stream).is_ok_and(|len| len == out.len())
                    && snap::raw::Decoder::new().decompress(stream, out).is_ok()
            }),
            _ if self.is(BIT_SHUFFLED) => None,
            LZ4 => Some(ffi::lz4),
            ZSTD => Some(|stream, out| decompress(stream, out) == Ok(out.len())),
            ZLIB => Some(libdeflate::zlib),
            _ => None,
        }
    }

    /// Decodes the buffer into `out`, which is as long as the header says.
    fn decode(&self, encoded: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        match self
            .decompressor()
            .map(|decompress| container::decode(self, encoded, out, decompress))
        {
            // Where libdeflate is not there or refuses a stream, C-Blosc decides.
            Some(Err(_)) if self.flags >> 5 == ZLIB => {}
            Some(decoded) => return decoded,
            None => {}
        }
        match ffi::decompress(encoded, out) {
            Some(found) => DecodedSize::Exactly(out.len() as u64).check(CODEC, found as u64),
            None => Err(CodecError::corrupt(CODEC, "the blocks are damaged")),
        }
    }
}

/// A number of four bytes in the header.
fn word(header: &[u8; HEADER], at: usize) -> usize {
    let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
    u32::from_le_bytes(bytes) as usize
}

#[cfg(test)]
mod tests {
    use zarr_core::data_type::CoreType;

    use super::*;
    use crate::testing::{
        behaves, build, build_on, bytes_to_bytes, context, decode, digest, encode, hex, metadata,
        noise, ramp, refusal,
    };

    fn codec(
        name: &str,
        level: u8,
        shuffle: &str,
        type_size: usize,
    ) -> std::sync::Arc<dyn BytesToBytes> {
        let configuration = format!(
            r#"{{"cname":"{name}","clevel":{level},"shuffle":"{shuffle}","typesize":{type_size},"blocksize":0}}"#
        );
        build(Dialect::V3, "blosc", &configuration)
    }

    fn plain() -> std::sync::Arc<dyn BytesToBytes> {
        codec("lz4", 5, "shuffle", 4)
    }

    #[test]
    fn it_behaves() {
        behaves(&*plain());
        behaves(&*codec("zstd", 0, "bitshuffle", 4));
    }

    /// T-44: every compressor and mode, element sizes that divide the length and that do not.
    #[test]
    fn every_compressor_and_mode_decodes() {
        for name in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"] {
            for shuffle in ["noshuffle", "shuffle", "bitshuffle"] {
                for type_size in [1, 2, 3, 4, 8, 16, 17, 255, 256, 300] {
                    let codec = codec(name, 5, shuffle, type_size);
                    for decoded in [ramp(5000), noise(1001)] {
                        let len = decoded.len() as u64;
                        assert_eq!(decode(&*codec, &encode(&*codec, &decoded), len), decoded);
                    }
                }
            }
        }
    }

    /// F-085: a small buffer is stored; 64 numbers with lz4 and shuffle.
    #[test]
    fn buffers_are_as_the_format_says() {
        let numbers = |n: i32| (0..n).flat_map(i32::to_le_bytes).collect::<Vec<u8>>();
        let stored = hex("0201930410000000100000002000000000000000010000000200000003000000");
        assert_eq!(encode(&*codec("zstd", 5, "shuffle", 4), &numbers(4)), stored);
        assert_eq!(decode(&*plain(), &stored, 16), numbers(4));
        let encoded = encode(&*codec("lz4", 1, "shuffle", 4), &numbers(64));
        assert_eq!(encoded[..12], hex("02013104 00010000 00010000"));
        assert_eq!(decode(&*plain(), &encoded, 256), numbers(64));
        // zarr-python 2.18 and draft-v3.md 3.1.
        let draft = "020131040001000000010000680000001400000050000000ff36000102030405060708090a0b0c0d0e0f
            101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d
            3e3f00000000000500a3500000000000";
        assert_eq!(decode(&*plain(), &hex(draft), 256), numbers(64));
        let four = hex("020133020800000008000000180000000100020003000400");
        assert_eq!(decode(&*plain(), &four, 8), hex("0100020003000400"));
    }

    /// One chunk, written by tensorstore 0.1.86 with each compressor, Snappy in each mode.
    #[test]
    fn it_reads_every_compressor_of_another_writer() {
        for encoded in [
            "0201010400020000000200008c00000014000000470000003f4c5253545c62636b6b6c6f737677000042
             4647474d52595f61686d757b8300001e333a3a3a4045454b50525a6066660000484e555a5d656b71787e
             7e858c9300e036000100000b0000002300000000e071030100000b0000002300000000e071030100000b
             0000002300000000e07103010000",
            "0201210400020000000200008f000000140000004a000000ff304c5253545c62636b6b6c6f7376770000
             424647474d52595f61686d757b830000333a3a3a4045454b50525a6066660000484e555a5d656b71787e
             7e858c93000100295000000000000b0000001f000100675000000000000b0000001f0001006750000000
             00000b0000001f00010067500000000000",
            "020161040002000000020000910000001400000049000000785ef3090a0e89494acececec92f2e2b6760
             70727377f70d8a8c4fccc82dad6e666030b6b2b2727075f50e088a4a484b6360f0f00b8d8a4dcd2eaca8
             ab6bed99cc40310000c96414a70c000000785e636018580000008000010c000000785e63601858000000
             8000010c000000785e63601858000000800001",
            "02019104000200000002000069000000140000005100000028b52ffd6000013d0200f4034c5253545c62
             636b6b6c6f7376770000424647474d52595f61686d757b830000333a3a3a4045454b50525a6066660000
             484e555a5d656b71787e7e858c93000100efab0228",
            "0201410400020000000200008a00000014000000480000008001f0404c5253545c62636b6b6c6f737677
             0000424647474d52595f61686d757b830000333a3a3a4045454b50525a6066660000484e555a5d656b71
             787e7e858c93000000fa02000a00000080010000fe0100fa01000a00000080010000fe0100fa01000a00
             000080010000fe0100fa0100",
            "0201400400020000000200001201000014000000730000008001704c0000005200000053000000540000
             005c00000062000000630000006b0d04446c0000006f0000007300000076000000770019012042000000
             46000000470d040c4d00000001509c590000005f00000061000000680000006d000000750000007b0000
             0083000000000000000000000067000000800114330000003a0019041040000000450d04504b00000050
             000000520000005a00000060000000660d04110124480000004e00000055000924505d00000065000000
             6b00000071000000780000007e0d044c850000008c0000009300000000000000000000000a0000008001
             0000fe0100fa01000a00000080010000fe0100fa0100",
            "020144040002000000020000a30000001400000061000000800120c42ddc3de100f428000d011ce63daf
             308f364a260d0f200019369e0c6030361e11101c9107d0168e045b1711101c1e38e0180f079c2711101c
             e03f001f0f38e007111018ff3fff1ff03fff15103c000000200000003800000000000000000a00000080
             010000fe0100fa01000a00000080010000fe0100fa01000a00000080010000fe0100fa0100",
        ] {
            let encoded = hex(encoded);
            assert_eq!(
                digest(&decode(&*plain(), &encoded, 512)),
                0xa4d8_0e82_d23f_2aa7,
                "{:02x?}",
                &encoded[..16]
            );
            // Every cut, and every changed byte, is an error or other bytes.
            for at in 0..encoded.len() {
                let cut = Cow::Borrowed(&encoded[..at]);
                assert!(plain().decode(cut, DecodedSize::Exactly(512)).is_err());
                for flip in [0x01, 0x80, 0xFF] {
                    let mut damaged = encoded.clone();
                    damaged[at] ^= flip;
                    let _ = plain().decode(damaged.into(), DecodedSize::Exactly(512));
                }
            }
        }
    }

    /// Numbers that C-Blosc 1.21 wrote for zarr-java, zarrs (bits), zarrita.js and GDAL 3.6.2 (bits).
    #[test]
    fn it_reads_what_others_wrote() {
        let cases = [
            (
                "0201130440000000400000005000000000010101010101010101010101010101010101010101010101010101
                 010101010101010101010101010101010101010101010101010101010101010101010101",
                64,
                0x7a50_96ed_c3e0_bee4,
            ),
            (
                "02013104000100000001000054000000140000003c000000ff11000102030405060710111213141516172021
                 222324252627303132333435363720000e0f01000c1f0101000c0f3e000b0f02004a500000000000",
                256,
                0x323d_ba82_5155_8b45,
            ),
            (
                "02013204460000004400000056000000eb120000000000000000f1dd000000000000000022940000000000000
                 000d2be000000000000000027f60000000000000000ffff000000000000000000000000000000000000",
                70,
                0xd93b_54e3_3b69_f97b,
            ),
            (
                "0201940400020000000200006a000000140000005200000028b52ffd6000014502004403d5d98204602aa007
                 00c101ef6c836b6fb745fc63b3714c2f3a666e74c4ba8fb023787078f83cf0c0c3807f80ffc0ff00fc008000
                 07009a3835c0e3e071f038787ce6e32e3802",
                512,
                0x14a2_91ce_abad_8ae6,
            ),
        ];
        for (encoded, size, expected) in cases {
            assert_eq!(digest(&decode(&*plain(), &hex(encoded), size)), expected);
        }
    }

    /// F-085: what the header says is compared with what is there and what is due.
    #[test]
    fn headers_are_not_believed() {
        let why = |encoded: &str, expected| {
            let size = DecodedSize::Exactly(expected);
            plain().decode(hex(encoded).into(), size).unwrap_err().to_string()
        };
        let zeros = "00".repeat(16);
        let huge = format!("02012104ffffff7f0000020020000000{zeros}");
        assert_eq!(why(&huge, 16), "blosc: the header is damaged");
        let large = format!("02012104ffff007f0000020020000000{zeros}");
        assert_eq!(why(&large, 16), "blosc: decoded 2130771967 bytes, expected 16");
        assert!(why(&large, 2_130_771_967).contains("decoded 1048576 bytes"));
        let beyond = format!("02012104100000001000000010270000{zeros}");
        assert_eq!(why(&beyond, 16), "blosc: the header promises 10000 encoded bytes, found 32");
        assert_eq!(
            why("071c0c0c40874299a9d259b02b13318f80de5e5bb306e6a4", 16),
            "blosc: this is not a Blosc 1 buffer"
        );
        // An element size of 0, Snappy and not.
        for flags in ["21", "41", "44"] {
            let zero = format!("0201{flags}00100000001000000020000000{zeros}");
            assert!(plain().decode(hex(&zero).into(), DecodedSize::Exactly(16)).is_err());
        }
        let bomb = encode(&*codec("zstd", 9, "shuffle", 4), &vec![0; 1 << 26]);
        assert!(plain().decode(Cow::Borrowed(&bomb), DecodedSize::AtMost(64)).is_err());
        assert_eq!(decode(&*plain(), &bomb, 1 << 26).len(), 1 << 26);
    }

    #[test]
    fn snappy_is_not_encoded() {
        let error = codec("snappy", 5, "shuffle", 4).encode(Cow::Borrowed(b"abc"));
        assert_eq!(
            error.unwrap_err().to_string(),
            "blosc: snappy is decoded, not encoded; choose another `cname`"
        );
    }

    /// F-085, T-37, T-43.
    #[test]
    fn words_are_checked() {
        let v3 = |change: (&str, &str)| {
            let configuration =
                r#"{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}"#;
            refusal(Dialect::V3, "blosc", &configuration.replace(change.0, change.1))
        };
        assert_eq!(
            v3(("\"blocksize\":0", "\"blocksize\":0,\"nthreads\":1")),
            "parameter `codecs: blosc: nthreads` is not supported; unknown parameter of this codec"
        );
        v3(("lz4", "lz5"));
        v3(("5", "10"));
        v3(("\"shuffle\":\"shuffle\"", "\"shuffle\":1"));
        v3(("\"shuffle\":\"shuffle\"", "\"shuffle\":\"BYTE\""));
        v3(("\"typesize\":4", "\"typesize\":0"));
        v3(("\"typesize\":4", "\"typesize\":-1"));
        v3(("\"blocksize\":0", "\"blocksize\":-1"));
        v3(("\"cname\":\"lz4\",", ""));
        for shuffle in ["-2", "3", "true", "\"byte\""] {
            refusal(Dialect::V2, "blosc", &format!("{{\"shuffle\":{shuffle}}}"));
        }
        build(Dialect::V2, "blosc", r#"{"nthreads":8,"typesize":2}"#);
        let none = r#"{"cname":"lz4","clevel":5,"shuffle":"noshuffle","typesize":0}"#;
        build(Dialect::V3, "blosc", none);
        build(Dialect::V3, "numcodecs.blosc", r#"{"id":"blosc","shuffle":2}"#);
    }

    /// T-43: final v3 always gets a word for the shuffle and an element size.
    #[test]
    fn it_is_spelled_in_every_dialect() {
        let names = |core, shuffle: i32| {
            let configuration =
                format!("{{\"cname\":\"zstd\",\"clevel\":3,\"shuffle\":{shuffle}}}");
            let built = build_on(Dialect::V2, "blosc", &configuration, &context(core, &[4]));
            metadata(&*bytes_to_bytes(built)).map(Option::unwrap)
        };
        let [v3, v2, draft] = names(CoreType::Int16, -1);
        let own = r#"{"cname":"zstd","clevel":3,"shuffle":"shuffle","typesize":2,"blocksize":0}"#;
        let old = r#"{"cname":"zstd","clevel":3,"shuffle":-1,"blocksize":0}"#;
        assert_eq!(v3, format!("blosc {own}"));
        assert_eq!(v2, format!("blosc {old}"));
        assert_eq!(draft, format!("https://purl.org/zarr/spec/codec/blosc/1.0 {old}"));
        assert!(names(CoreType::Int8, -1)[0].contains(r#""shuffle":"bitshuffle","typesize":1"#));
        assert!(names(CoreType::Int8, 0)[0].contains(r#""shuffle":"noshuffle""#));
        assert!(names(CoreType::Float64, 2)[0].contains(r#""shuffle":"bitshuffle","typesize":8"#));
    }

    /// T-43: without `typesize` the elements' own size is taken.
    #[test]
    fn the_element_size_has_a_default() {
        let configuration = r#"{"cname":"lz4","clevel":5,"shuffle":"shuffle"}"#;
        let context = context(CoreType::Float64, &[4]);
        let built = build_on(Dialect::V3, "blosc", configuration, &context);
        let encoded = encode(&*bytes_to_bytes(built), &ramp(1000));
        assert_eq!(encoded[3], 8);
    }
}

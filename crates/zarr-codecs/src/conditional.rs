//! Records in each chunk which codecs were applied to it (F-103).
//!
//! Final v3's `conditional`: a header of bits precedes the bytes. Bit `i`, from the least significant of
//! the first byte, says whether codec `i` was applied.

use std::borrow::Cow;
use std::sync::Arc;

use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Parameters,
};
use zarr_core::{CodecError, Dialect, MetadataError, Object, Registry};

use zarr_core::codec::buffer_pool::zeroed;

const CODEC: &str = "conditional";

/// The conditional codec.
#[derive(Clone, Debug)]
struct Conditional {
    codecs: Vec<Arc<dyn BytesToBytes>>,
    /// Bytes of the header.
    header: u64,
    configuration: Object,
}

/// Makes the codec.
pub(crate) fn build(
    spec: &CodecSpec,
    context: &ChunkContext,
    registry: &Registry,
) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let specs = parameters.codecs("codecs")?;
    let least = specs.len().div_ceil(8) as i64 * 8;
    let bits = parameters.integer("header_bits", least..=i64::MAX, Some(least))?;
    if bits % 8 != 0 {
        return Err(parameters.invalid("header_bits", format!("{bits} is not a multiple of 8")));
    }
    let mut codecs = Vec::with_capacity(specs.len());
    for inner in &specs {
        match registry.build_codec(inner, context)? {
            Codec::BytesToBytes(codec) => codecs.push(codec),
            _ => {
                let why = format!("`{}` is not a codec from bytes to bytes", inner.name);
                return Err(parameters.invalid("codecs", why));
            }
        }
    }
    parameters.finish()?;
    let configuration = spec.configuration.clone();
    Ok(Codec::bytes_to_bytes(Conditional { codecs, header: bits as u64 / 8, configuration }))
}

/// Whether codec `bit` was applied.
fn is_set(header: &[u8], bit: usize) -> bool {
    header[bit / 8] >> (bit % 8) & 1 == 1
}

impl Conditional {
    /// The header before `encoded` bytes.
    fn header<'a>(&self, encoded: &'a [u8]) -> Result<&'a [u8], CodecError> {
        let header = usize::try_from(self.header).ok().and_then(|len| encoded.get(..len));
        let header = header.ok_or_else(|| {
            let why =
                format!("{} bytes are too short for a header of {}", encoded.len(), self.header);
            CodecError::corrupt(CODEC, why)
        })?;
        match (self.codecs.len()..header.len() * 8).find(|&bit| is_set(header, bit)) {
            None => Ok(header),
            Some(bit) => {
                let why = format!("bit {bit} is set, but there are {} codecs", self.codecs.len());
                Err(CodecError::corrupt(CODEC, why))
            }
        }
    }
}

impl BytesToBytes for Conditional {
    fn check_encodes(&self) -> Result<(), CodecError> {
        self.codecs.iter().try_for_each(|codec| codec.check_encodes())
    }

    /// A codec that makes as many bytes whatever they are, such as a filter or a checksum, is applied; another
    /// one, if it makes fewer.
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        let mut header = zeroed(CODEC, self.header)?;
        let mut bytes = decoded;
        for (bit, codec) in self.codecs.iter().enumerate() {
            let always = codec.encoded_size(bytes.len() as u64)?.is_some();
            let encoded = codec.encode(Cow::Borrowed(&bytes))?;
            if always || encoded.len() < bytes.len() {
                bytes = Cow::Owned(encoded.into_owned());
                header[bit / 8] |= 1 << (bit % 8);
            }
        }
        header.extend_from_slice(&bytes);
        Ok(Cow::Owned(header))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let header = self.header(&encoded)?;
        // Each with how many bytes it is to give, if that is known.
        let (mut applied, mut expected) = (Vec::new(), Some(size));
        for (_, codec) in self.codecs.iter().enumerate().filter(|(bit, _)| is_set(header, *bit)) {
            applied.push((codec, expected));
            expected = match expected {
                Some(DecodedSize::Exactly(size)) => {
                    codec.encoded_size(size)?.map(DecodedSize::Exactly)
                }
                _ => None,
            };
        }
        let header = header.len();
        let mut bytes = match encoded {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[header..]),
            Cow::Owned(mut bytes) => {
                bytes.drain(..header);
                Cow::Owned(bytes)
            }
        };
        for (codec, expected) in applied.into_iter().rev() {
            let expected = expected.unwrap_or_else(|| DecodedSize::unknown(bytes.len()));
            bytes = codec.decode(bytes, expected)?;
        }
        size.check(CODEC, bytes.len() as u64)?;
        Ok(bytes)
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        (dialect == Dialect::V3).then(|| CodecSpec::v3(CODEC, self.configuration.clone()))
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::{Arc, BytesToBytes, CODEC, CodecError, Cow, DecodedSize, Dialect};
    use crate::testing::{behaves, build, decode, encode, hex, metadata, noise, ramp, refusal};

    const ZSTD: &str = r#"{"name":"zstd","configuration":{"level":0,"checksum":false}}"#;
    const SHUFFLE: &str = r#"{"name":"shuffle","configuration":{"elementsize":4}}"#;
    const CRC32C: &str = r#"{"name":"crc32c"}"#;

    fn conditional(codecs: &[&str], more: &str) -> Arc<dyn BytesToBytes> {
        let configuration = format!(r#"{{"codecs":[{}]{more}}}"#, codecs.join(","));
        build(Dialect::V3, CODEC, &configuration)
    }

    fn damage(codec: &dyn BytesToBytes, encoded: &str, size: u64) -> String {
        let result = codec.decode(hex(encoded).into(), DecodedSize::Exactly(size));
        match result {
            Err(CodecError::Corrupt { codec: CODEC, why }) => why,
            other => panic!("{encoded} gives {other:?}"),
        }
    }

    #[test]
    fn it_behaves() {
        for codecs in [&[ZSTD][..], &[SHUFFLE, ZSTD], &[CRC32C], &[SHUFFLE, ZSTD, CRC32C], &[]] {
            behaves(&*conditional(codecs, ""));
            behaves(&*conditional(codecs, r#","header_bits":24"#));
        }
        let inner = format!(r#"{{"name":"conditional","configuration":{{"codecs":[{ZSTD}]}}}}"#);
        behaves(&*conditional(&[SHUFFLE, &inner], ""));
    }

    /// F-103: bit `i`, from the least significant, says whether codec `i` was applied. The frame and the checksum
    /// are other implementations'.
    #[test]
    fn the_header_says_what_was_applied() {
        const FRAME: &str = "28b52ffd200421000001010101";
        let codec = conditional(&[CRC32C, ZSTD], "");
        assert_eq!(decode(&*codec, &hex("00 01010101"), 4), [1; 4]);
        assert_eq!(decode(&*codec, &hex(&format!("02 {FRAME}")), 4), [1; 4]);
        assert_eq!(decode(&*codec, &hex("01 313233343536373839 839206e3"), 9), b"123456789");
        let wide = conditional(&[CRC32C, ZSTD], r#","header_bits":16"#);
        assert_eq!(decode(&*wide, &hex(&format!("0200 {FRAME}")), 4), [1; 4]);
        let nine = conditional(&[[CRC32C; 8].as_slice(), &[ZSTD]].concat(), "");
        assert_eq!(decode(&*nine, &hex(&format!("0001 {FRAME}")), 4), [1; 4]);
        assert_eq!(decode(&*nine, &hex("8000 313233343536373839 839206e3"), 9), b"123456789");
        assert_eq!(decode(&*conditional(&[], ""), &[1, 2], 2), [1, 2]);
    }

    /// F-103: a chunk that a codec would make longer does without it; what makes as many bytes whatever they
    /// are is always applied.
    #[test]
    fn what_makes_bytes_more_is_left_out() {
        let codec = conditional(&[SHUFFLE, ZSTD, CRC32C], "");
        let (noise, ramp) = (noise(1000), ramp(4000));
        let encoded = encode(&*codec, &noise);
        assert_eq!((encoded[0], encoded.len()), (0b101, 1 + 1000 + 4));
        let encoded = encode(&*codec, &ramp);
        assert_eq!(encoded[0], 0b111);
        assert!(encoded.len() < 4000);
        assert_eq!(encode(&*conditional(&[ZSTD], ""), b"1"), b"\x001");
    }

    /// F-103: bits that no codec has are 0, and the header is whole.
    #[test]
    fn headers_are_checked() {
        let codec = conditional(&[CRC32C, ZSTD], r#","header_bits":16"#);
        for (encoded, bit) in [("0400 01", 2), ("8000 01", 7), ("0001 01", 8), ("0080 01", 15)] {
            let expected = format!("bit {bit} is set, but there are 2 codecs");
            assert_eq!(damage(&*codec, encoded, 1), expected);
        }
        for encoded in ["", "00"] {
            let expected = format!("{} bytes are too short for a header of 2", encoded.len() / 2);
            assert_eq!(damage(&*codec, encoded, 0), expected);
        }
    }

    /// Neither a header as long as memory nor a small frame of many zeros takes memory.
    #[test]
    fn sizes_are_not_believed() {
        let huge = conditional(&[ZSTD], r#","header_bits":9223372036854775800"#);
        assert!(damage(&*huge, "0000", 1).starts_with("2 bytes are too short for a header of"));
        assert!(matches!(huge.encode(b"1"[..].into()), Err(CodecError::Limit { .. })));
        let codec = conditional(&[ZSTD], "");
        let bomb = encode(&*codec, &vec![0; 1 << 24]);
        assert!(bomb.len() < 20_000);
        for size in [DecodedSize::Exactly(64), DecodedSize::AtMost(64)] {
            assert!(codec.decode(Cow::Borrowed(&bomb), size).is_err());
        }
    }

    /// F-103: the header has whole bytes and a bit for each codec; the codecs make bytes of bytes.
    #[test]
    fn words_are_checked() {
        let refused = |configuration: &str| refusal(Dialect::V3, CODEC, configuration);
        let with = |more: &str| refused(&format!(r#"{{"codecs":[{ZSTD}]{more}}}"#));
        assert!(with(r#","header_bits":12"#).ends_with("12 is not a multiple of 8"));
        assert!(with(r#","header_bits":0"#).contains("expected an integer from 8 to "));
        for more in [r#","header_bits":-8"#, r#","header_bits":"8""#, r#","mask":1"#] {
            with(more);
        }
        let bytes = r#"{"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#;
        assert!(refused(bytes).ends_with("`bytes` is not a codec from bytes to bytes"));
        assert!(refused(r#"{"codecs":["zork"]}"#).contains("codec `zork` is not supported"));
        for configuration in
            ["{}", r#"{"codecs":{}}"#, r#"{"codecs":[1]}"#, r#"{"codecs":["gzip"]}"#]
        {
            refused(configuration);
        }
    }

    #[test]
    fn it_is_spelled_in_final_v3_alone() {
        let codec = conditional(&[CRC32C], r#","header_bits":8"#);
        let v3 = r#"conditional {"codecs":[{"name":"crc32c"}],"header_bits":8}"#;
        assert_eq!(metadata(&*codec), [Some(v3.into()), None, None]);
    }
}

//! Holds what the tests of codecs share, and what must hold for every codec.
#![cfg_attr(
    not(feature = "full"),
    allow(dead_code, reason = "a build with few codecs needs few of these")
)]

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use zarr_core::codec::{ArrayToBytes, BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize};
use zarr_core::data_type::{CoreType, DataType};
use zarr_core::var_buffer::{VAR_REF_SIZE, VarBuffer};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Region, Registry};

pub(crate) const DIALECTS: [Dialect; 3] = [Dialect::V3, Dialect::V2, Dialect::Draft];

/// Bytes from hexadecimal digits; blanks are skipped.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2).map(|d| std::str::from_utf8(d).unwrap());
    pairs.map(|d| u8::from_str_radix(d, 16).unwrap()).collect()
}

pub(crate) fn context(core: CoreType, shape: &[u64]) -> ChunkContext {
    ChunkContext::new(core, shape.to_vec())
}

pub(crate) fn spec(dialect: Dialect, name: &str, configuration: &str) -> CodecSpec {
    match Json::parse(configuration.as_bytes()) {
        Ok(Json::Object(object)) => CodecSpec::new(dialect, name, object),
        other => panic!("{configuration}: {other:?}"),
    }
}

pub(crate) fn build_on(
    dialect: Dialect,
    name: &str,
    configuration: &str,
    context: &ChunkContext,
) -> Result<Codec, MetadataError> {
    let registry = Registry::new().with(crate::register);
    registry.build_codec(&spec(dialect, name, configuration), context)
}

/// A codec on bytes, for a chunk of 32-bit integers.
pub(crate) fn build(dialect: Dialect, name: &str, configuration: &str) -> Arc<dyn BytesToBytes> {
    bytes_to_bytes(build_on(dialect, name, configuration, &context(CoreType::Int32, &[4])))
}

pub(crate) fn bytes_to_bytes(codec: Result<Codec, MetadataError>) -> Arc<dyn BytesToBytes> {
    match codec {
        Ok(Codec::BytesToBytes(codec)) => codec,
        other => panic!("not a codec on bytes: {other:?}"),
    }
}

/// Why these words make no codec.
pub(crate) fn refusal(dialect: Dialect, name: &str, configuration: &str) -> String {
    let context = context(CoreType::Int32, &[4]);
    match build_on(dialect, name, configuration, &context) {
        Ok(codec) => panic!("{name} {configuration} makes {codec:?}"),
        Err(error) => error.to_string(),
    }
}

/// Decodes in every way there is, and makes sure that all agree.
pub(crate) fn decode(codec: &dyn BytesToBytes, encoded: &[u8], size: u64) -> Vec<u8> {
    let exactly = codec.decode(Cow::Borrowed(encoded), DecodedSize::Exactly(size));
    let exactly = exactly.unwrap().into_owned();
    let at_most = codec.decode(Cow::Owned(encoded.to_vec()), DecodedSize::AtMost(size));
    assert_eq!(at_most.unwrap()[..], exactly);
    let mut out = vec![0xA5; size as usize];
    codec.decode_into(Cow::Borrowed(encoded), &mut out).unwrap();
    assert_eq!(out, exactly);
    exactly
}

pub(crate) fn encode(codec: &dyn BytesToBytes, decoded: &[u8]) -> Vec<u8> {
    codec.encode(Cow::Borrowed(decoded)).unwrap().into_owned()
}

/// FNV-1a, to tell longer bytes that another implementation decoded.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |digest, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3)
    })
}

/// Bytes without repetitions.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64 ^ len as u64;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

/// 32-bit integers that grow slowly, cut to `len` bytes.
pub(crate) fn ramp(len: usize) -> Vec<u8> {
    let numbers = (0..len.div_ceil(4) as i32).map(|i| 1000 + i / 3);
    let mut bytes: Vec<u8> = numbers.flat_map(i32::to_le_bytes).collect();
    bytes.truncate(len);
    bytes
}

/// Everything that must hold of a codec on bytes that takes any bytes.
pub(crate) fn behaves(codec: &dyn BytesToBytes) {
    for len in [0, 1, 2, 3, 4, 127, 128, 1001, 65_535, 65_536, 65_537] {
        for decoded in [noise(len), ramp(len), vec![0; len]] {
            let encoded = encode(codec, &decoded);
            assert_eq!(self::decode(codec, &encoded, len as u64), decoded);
            if let Some(size) = codec.encoded_size(len as u64).unwrap() {
                assert_eq!(size, encoded.len() as u64);
            }
        }
    }
    for decoded in [noise(96), ramp(400), vec![]] {
        heeds_sizes(codec, &decoded);
        survives_damage(codec, &decoded);
        speaks(codec, &decoded);
    }
}

/// Sizes that are not those of the bytes are errors, however absurd.
pub(crate) fn heeds_sizes(codec: &dyn BytesToBytes, decoded: &[u8]) {
    let encoded = encode(codec, decoded);
    let len = decoded.len() as u64;
    for wrong in [0, 1, len / 2, len.wrapping_sub(1), len + 1, len + 4, 1 << 42, u64::MAX] {
        if wrong == len {
            continue;
        }
        let result = codec.decode(Cow::Borrowed(&encoded), DecodedSize::Exactly(wrong));
        assert!(matches!(result, Err(CodecError::Length { .. })), "{wrong}: {result:?}");
        if wrong < len + 5 {
            let mut out = vec![0; wrong as usize];
            let result = codec.decode_into(Cow::Borrowed(&encoded), &mut out);
            assert!(matches!(result, Err(CodecError::Length { .. })), "{wrong}: {result:?}");
        }
        let result = codec.decode(Cow::Borrowed(&encoded), DecodedSize::AtMost(wrong));
        if wrong > len {
            assert_eq!(result.unwrap()[..], *decoded)
        } else {
            assert!(matches!(result, Err(CodecError::Limit { .. })), "{result:?}")
        }
    }
}

/// Damaged bytes give an error, or other bytes of the right length.
pub(crate) fn survives_damage(codec: &dyn BytesToBytes, decoded: &[u8]) {
    let encoded = encode(codec, decoded);
    let len = decoded.len() as u64;
    let attempt = |damaged: &[u8]| {
        let mut out = vec![0; decoded.len()];
        let exactly = codec.decode(Cow::Borrowed(damaged), DecodedSize::Exactly(len));
        let into = codec.decode_into(Cow::Borrowed(damaged), &mut out);
        let limit = DecodedSize::AtMost(len.saturating_mul(2));
        if let Ok(bytes) = codec.decode(Cow::Borrowed(damaged), limit) {
            assert!(bytes.len() as u64 <= limit.limit());
        }
        assert_eq!(exactly.is_ok(), into.is_ok());
        exactly.map(Cow::into_owned)
    };
    for len in 0..encoded.len() {
        assert!(attempt(&encoded[..len]).is_err(), "cut to {len} of {}", encoded.len());
    }
    let mut longer = encoded.clone();
    for extra in [0, 1, 0x1F] {
        longer.push(extra);
        // A codec may pass over zeros, if it says how many.
        let is_passed_over = codec.padding(&longer, Some(len)) > 0;
        assert_eq!(attempt(&longer).is_ok(), is_passed_over, "{extra:#x} follows");
    }
    for at in 0..encoded.len() {
        for flip in [0x01, 0x10, 0x80, 0xFF] {
            let mut damaged = encoded.clone();
            damaged[at] ^= flip;
            if let Ok(bytes) = attempt(&damaged) {
                assert_eq!(bytes.len(), decoded.len());
            }
        }
    }
}

/// In each dialect that has words for it, the codec can be built from them again.
pub(crate) fn speaks(codec: &dyn BytesToBytes, decoded: &[u8]) {
    let encoded = encode(codec, decoded);
    let registry = Registry::new().with(crate::register);
    for dialect in DIALECTS {
        let Some(spec) = codec.to_metadata(dialect) else {
            continue;
        };
        assert_eq!(spec.dialect, dialect);
        let built = registry.build_codec(&spec, &context(CoreType::Int32, &[4]));
        let again = bytes_to_bytes(built);
        assert_eq!(self::decode(&*again, &encoded, decoded.len() as u64), decoded);
        assert_eq!(encode(&*again, decoded), encoded, "{spec}");
        assert_eq!(again.to_metadata(dialect), Some(spec));
    }
}

/// The codec's words in each dialect, as text.
pub(crate) fn metadata(codec: &dyn BytesToBytes) -> [Option<String>; 3] {
    DIALECTS.map(|dialect| codec.to_metadata(dialect).map(|spec| spec.to_string()))
}

/// A codec that makes bytes of elements of any length, and the shape of its chunks.
pub(crate) struct Long {
    codec: Arc<dyn ArrayToBytes>,
    shape: Vec<u64>,
}

impl Long {
    /// In v2's words.
    pub fn new(data_type: DataType, name: &str, configuration: &str, shape: &[u64]) -> Long {
        let context = ChunkContext::new(data_type, shape.to_vec());
        match build_on(Dialect::V2, name, configuration, &context) {
            Ok(Codec::ArrayToBytes(codec)) => Long { codec, shape: shape.to_vec() },
            other => panic!("no codec from arrays to bytes: {other:?}"),
        }
    }

    pub fn encode<T: AsRef<[u8]>>(&self, elements: &[T]) -> Result<Vec<u8>, CodecError> {
        let var_buffer = VarBuffer::default();
        let mut references = Vec::new();
        for element in elements {
            let element = Bytes::copy_from_slice(element.as_ref());
            let len = element.len() as u64;
            references.extend_from_slice(var_buffer.add(element)?.reference(0, len)?.as_bytes());
        }
        let view =
            View::new(&references, &self.shape, VAR_REF_SIZE).with_var_buffer(Some(&var_buffer));
        self.codec.encode(view).map(Cow::into_owned)
    }

    pub fn decode(&self, encoded: &[u8]) -> Result<Vec<Vec<u8>>, CodecError> {
        self.decode_part(encoded, &Region::all(&self.shape))
    }

    pub fn decode_part(&self, encoded: &[u8], within: &Region) -> Result<Vec<Vec<u8>>, CodecError> {
        let var_buffer = VarBuffer::default();
        let count = within.element_count().unwrap_or_default() as usize;
        let mut references = vec![0xa5; count * VAR_REF_SIZE];
        let out = ViewMut::new(&mut references, &within.shape(), VAR_REF_SIZE)
            .with_var_buffer(Some(&var_buffer));
        self.codec.decode_into(encoded, &self.shape, within, out)?;
        let elements = var_buffer.elements();
        Ok(references
            .chunks_exact(VAR_REF_SIZE)
            .map(|reference| elements.get(reference).to_vec())
            .collect())
    }

    /// What is wrong with these bytes.
    pub fn damage(&self, encoded: &[u8]) -> String {
        match self.decode(encoded) {
            Err(CodecError::Corrupt { why, .. }) => why,
            other => panic!("{encoded:02x?} gives {other:?}"),
        }
    }

    /// Bytes that are cut short, longer or flipped give an error or as many elements, never a panic.
    pub fn survives_damage(&self, encoded: &[u8]) {
        for at in 0..encoded.len() {
            assert!(self.decode(&encoded[..at]).is_err(), "{at} of {encoded:02x?}");
            for flip in [0x01, 0x10, 0x80, 0xff] {
                let mut flipped = encoded.to_vec();
                flipped[at] ^= flip;
                let _ = self.decode(&flipped);
            }
        }
        let longer = [encoded, b"\x00"].concat();
        assert!(self.decode(&longer).is_err(), "{longer:02x?}");
    }
}

//! Stores bytes as Base64 text.
//!
//! numcodecs' `base64`: the standard alphabet, padded, on one line (v2.md 7).

use std::borrow::Cow;

use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Parameters,
};
use zarr_core::data_type::{base64_decode, base64_encode};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::util::metadata::numcodecs;

const CODEC: &str = "base64";

/// The base64 codec.
#[derive(Clone, Copy, Debug)]
struct Base64;

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    Parameters::new(spec).finish()?;
    Ok(Codec::bytes_to_bytes(Base64))
}

impl BytesToBytes for Base64 {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        Ok(Cow::Owned(base64_encode(&decoded).into_bytes()))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let text = std::str::from_utf8(&encoded).ok();
        let padding = encoded.iter().rev().take_while(|&&c| c == b'=').count().min(2);
        size.check(CODEC, (encoded.len() / 4 * 3).saturating_sub(padding) as u64)?;
        let decoded = text.and_then(base64_decode);
        let why = "the bytes are not padded base64 in the standard alphabet";
        decoded.map(Cow::Owned).ok_or_else(|| CodecError::corrupt(CODEC, why))
    }

    fn encoded_size(&self, decoded: u64) -> Result<Option<u64>, CodecError> {
        Ok(decoded.div_ceil(3).checked_mul(4))
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        numcodecs(dialect, CODEC, Object::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{behaves, build, decode, encode, metadata, refusal};

    fn base64() -> std::sync::Arc<dyn BytesToBytes> {
        build(Dialect::V2, CODEC, "{}")
    }

    #[test]
    fn it_behaves() {
        behaves(&*base64());
    }

    /// numcodecs 0.15.2 and 0.16.6.
    #[test]
    fn text_is_the_standard_one() {
        for (bytes, text) in [
            (&b""[..], &b""[..]),
            (b"a", b"YQ=="),
            (b"abc", b"YWJj"),
            (b"abcd", b"YWJjZA=="),
            (b"123456789", b"MTIzNDU2Nzg5"),
            (b"\xff\xff\xff\xff\xff", b"//////8="),
        ] {
            assert_eq!(encode(&*base64(), bytes), text);
            assert_eq!(decode(&*base64(), text, bytes.len() as u64), bytes);
        }
    }

    /// numcodecs passes over what is no digit, and over bits that no byte has.
    #[test]
    fn other_text_is_damage() {
        for text in ["YW Jj", "YWI", "YWJ=", "*WJj", "Y===", "====", "YQ==YQ==", "YW\u{e9}"] {
            for size in 0..4 {
                let size = DecodedSize::Exactly(size);
                assert!(base64().decode(text.as_bytes().into(), size).is_err(), "{text}");
            }
        }
        let result = base64().decode(b"*WJj"[..].into(), DecodedSize::Exactly(3));
        assert!(matches!(result, Err(CodecError::Corrupt { .. })), "{result:?}");
    }

    #[test]
    fn words_are_checked_and_spelled() {
        refusal(Dialect::V3, "numcodecs.base64", r#"{"level":1}"#);
        assert_eq!(
            metadata(&*base64()),
            [Some("numcodecs.base64".into()), Some("base64".into()), None]
        );
    }
}

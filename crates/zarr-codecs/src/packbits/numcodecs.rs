//! Stores eight bools in a byte, as numcodecs does.
//!
//! The first byte says how many bits at the end stand for nothing; then eight elements a byte, the first in
//! the highest bit.

use std::borrow::Cow;

use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Parameters,
};
use zarr_core::data_type::CoreType;
use zarr_core::region::element_count;
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::util::metadata;
use crate::util::v3_adapter::{Flat, in_dialect};
use zarr_core::codec::buffer_pool::zeroed;

/// numcodecs' packbits codec.
#[derive(Clone, Copy, Debug)]
struct PackBits;

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let parameters = Parameters::new(spec);
    let is_flat = spec.dialect != Dialect::V3;
    let good = match context.data_type.repr() {
        Some(repr) if is_flat => repr.size() == 1,
        repr => repr == Some(CoreType::Bool.repr()),
    };
    if !good {
        let why = format!("`{}` is packed otherwise: only bools are", context.data_type);
        return Err(parameters.invalid("data type", why));
    }
    parameters.finish()?;
    Ok(in_dialect(PackBits, spec.dialect))
}

impl Flat for PackBits {
    const CODEC: &'static str = "packbits";
}

impl BytesToBytes for PackBits {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        if let Some(other) = decoded.iter().find(|&&bool| bool > 1) {
            let why = format!("{other:#04x} is neither false nor true");
            return Err(CodecError::corrupt(Self::CODEC, why));
        }
        let (whole, rest) = decoded.as_chunks::<8>();
        let padding = (8 - rest.len()) % 8;
        let mut out = Vec::with_capacity(2 + whole.len());
        out.push(padding as u8);
        out.extend(whole.iter().map(|bools| pack(bools)));
        if !rest.is_empty() {
            out.push(pack(rest) << padding);
        }
        Ok(Cow::Owned(out))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let (&padding, packed) = encoded
            .split_first()
            .ok_or_else(|| CodecError::corrupt(Self::CODEC, "the padding count is missing"))?;
        let bits = packed.len() as u64 * 8;
        if padding > 7 || u64::from(padding) > bits {
            return Err(CodecError::corrupt(
                Self::CODEC,
                format!("{padding} of {bits} bits cannot be padding"),
            ));
        }
        let len = bits - u64::from(padding);
        size.check(Self::CODEC, len)?;
        let mut out = zeroed(Self::CODEC, len)?;
        for (bools, byte) in out.chunks_mut(8).zip(packed) {
            for (i, bool) in bools.iter_mut().enumerate() {
                *bool = byte >> (7 - i) & 1;
            }
        }
        Ok(Cow::Owned(out))
    }

    fn encoded_size(&self, decoded: u64) -> Result<Option<u64>, CodecError> {
        Ok(Some(1 + decoded.div_ceil(8)))
    }

    fn encoded(&self, decoded: &ChunkContext) -> ChunkContext {
        let count = element_count(&decoded.shape).unwrap_or(u64::MAX);
        ChunkContext::new(CoreType::Uint8, vec![1 + count.div_ceil(8)])
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        metadata::numcodecs(dialect, Self::CODEC, Object::new())
    }
}

/// The bits of at most eight bools, the first the highest.
fn pack(bools: &[u8]) -> u8 {
    bools.iter().fold(0, |bits, bool| bits << 1 | bool)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zarr_core::view::{View, ViewMut};

    use super::*;
    use crate::testing::{
        build_on, bytes_to_bytes, context, decode, encode, heeds_sizes, hex, metadata, refusal,
        survives_damage,
    };

    fn flat() -> Arc<dyn BytesToBytes> {
        bytes_to_bytes(build_on(Dialect::V2, "packbits", "{}", &context(CoreType::Bool, &[4])))
    }

    /// Z2's T, F, T, and numcodecs 0.15.2 and 0.16.6.
    #[test]
    fn the_first_bool_is_the_highest_bit() {
        for (bools, packed) in [
            ("010001", "05a0"),
            ("", "00"),
            ("01", "0780"),
            ("0100000100000100", "0092"),
            ("010000010000010000", "079200"),
            ("01000001000001000001000001000001", "009249"),
        ] {
            assert_eq!(encode(&*flat(), &hex(bools)), hex(packed));
            assert_eq!(decode(&*flat(), &hex(packed), hex(bools).len() as u64), hex(bools));
        }
        // What stands in padding means nothing.
        assert_eq!(decode(&*flat(), &hex("05ff"), 3), [1, 1, 1]);
    }

    #[test]
    fn it_behaves() {
        for len in [0, 1, 7, 8, 9, 64, 1001] {
            let bools: Vec<u8> = (0..len).map(|i| (i * i % 7 % 2) as u8).collect();
            let packed = encode(&*flat(), &bools);
            assert_eq!(decode(&*flat(), &packed, len), bools);
            assert_eq!(flat().encoded_size(len).unwrap(), Some(packed.len() as u64));
            heeds_sizes(&*flat(), &bools);
            survives_damage(&*flat(), &bools);
        }
    }

    #[test]
    fn padding_that_cannot_be_is_damage() {
        for packed in ["", "05", "01", "09ff", "ffffffff"] {
            for size in 0..9 {
                let result = flat().decode(hex(packed).into(), DecodedSize::Exactly(size));
                assert!(matches!(result, Err(CodecError::Corrupt { .. })), "{packed} {result:?}");
            }
        }
        assert!(flat().encode((&[0, 1, 2][..]).into()).is_err());
    }

    /// zarr-python 3.4.2: 25 bools of two axes become 5 bytes of one.
    #[test]
    fn arrays_lose_their_shape() {
        let here = context(CoreType::Bool, &[5, 5]);
        let built = build_on(Dialect::V3, "numcodecs.packbits", "{}", &here);
        let Ok(Codec::ArrayToArray(codec)) = built else { panic!("{built:?}") };
        let next = codec.encoded(&here).unwrap();
        assert_eq!((next.data_type.to_string(), next.shape), ("uint8".into(), vec![5]));
        let mut bools = vec![0; 25];
        codec.decode(&hex("077c169380"), ViewMut::new(&mut bools, &[5, 5], 1)).unwrap();
        assert_eq!(bools, hex("00010101010100000000000100010100010000010000010101"));
        assert_eq!(codec.encode(View::new(&bools, &[5, 5], 1)).unwrap(), hex("077c169380"));
        let result = codec.decode(&hex("077c1693"), ViewMut::new(&mut bools, &[5, 5], 1));
        assert!(matches!(result, Err(CodecError::Length { .. })), "{result:?}");
    }

    #[test]
    fn words_are_checked_and_spelled() {
        refusal(Dialect::V2, "packbits", "{}");
        refusal(Dialect::V3, "numcodecs.packbits", "{}");
        let bools = context(CoreType::Bool, &[1]);
        let built = build_on(Dialect::V3, "numcodecs.packbits", r#"{"first_bit":0}"#, &bools);
        assert!(built.is_err());
        assert_eq!(
            metadata(&*flat()),
            [Some("numcodecs.packbits".into()), Some("packbits".into()), None]
        );
    }
}

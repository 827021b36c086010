//! Rounds numbers to a given number of bits.
//!
//! `bitround` (F-099), to even where two are as near: of floats the mantissa, which may carry into the
//! exponent; of integers, only in final v3, the digits from the highest set bit, which for negative ones is
//! the sign. What would not fit is cut off instead. Decoding changes nothing.

use zarr_core::codec::{ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::data_type::Scalar;
use zarr_core::{Dialect, MetadataError, Object};

use crate::util::arithmetic::{self, Kernel, Types};
use crate::util::number::each;

/// The bitround codec.
#[derive(Clone, Copy, Debug)]
struct BitRound {
    keepbits: u32,
    /// Whether the words are the registered ones of final v3, not numcodecs'.
    registered: bool,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    arithmetic::build::<BitRound>(spec, context)
}

/// Defines how numbers of one width are rounded, as unsigned integers of their bits.
macro_rules! rounds {
    ($($T:ident $round:ident;)*) => {$(
        /// A NaN keeps its bits, an integer its sign.
        fn $round(bytes: &mut [u8], scalar: Scalar, keepbits: u32) {
            if let Scalar::Float(format) = scalar {
                let mantissa = format.mantissa_bits();
                let Some(drop @ 1..) = mantissa.checked_sub(keepbits) else { return };
                let below_half: $T = (1 << (drop - 1)) - 1;
                let exponent = $T::MAX >> 1 & !((1 << mantissa) - 1);
                return each::<$T>(bytes, |x| {
                    if x & exponent == exponent {
                        return x;
                    }
                    x.wrapping_add((x >> drop & 1) + below_half) >> drop << drop
                });
            }
            let signed = matches!(scalar, Scalar::Int(_));
            each::<$T>(bytes, |x| {
                let used = $T::BITS - x.leading_zeros();
                let Some(drop @ 1..) = used.checked_sub(keepbits) else { return x };
                let below_half: $T = (1 << (drop - 1)) - 1;
                let rounded = x.checked_add((x >> drop & 1) + below_half);
                let fitting = rounded.filter(|y| !signed || (x ^ *y) >> ($T::BITS - 1) == 0);
                fitting.unwrap_or(x) >> drop << drop
            });
        }
    )*};
}

rounds! { u8 round8; u16 round16; u32 round32; u64 round64; }

impl Kernel for BitRound {
    const CODEC: &'static str = "bitround";
    const TYPES: Option<[&'static str; 2]> = None;

    fn read(spec: &CodecSpec, parameters: &mut Parameters<'_>) -> Result<Self, MetadataError> {
        let registered = spec.dialect == Dialect::V3 && spec.name == Self::CODEC;
        let least = if registered { 1 } else { 0 };
        let keepbits = parameters.integer("keepbits", least..=i32::MAX.into(), None)? as u32;
        Ok(BitRound { keepbits, registered })
    }

    fn refuses(&self, types: Types) -> Option<&'static str> {
        let why = "only floats are rounded, except by final v3's own `bitround`";
        (!self.is_in_v2(types) && !self.registered).then_some(why)
    }

    fn is_in_v2(&self, types: Types) -> bool {
        matches!(types.decoded.core.scalar(), Scalar::Float(_))
    }

    /// zarr-python knows no other name than numcodecs'.
    fn v3(&self) -> String {
        if self.registered { "bitround".into() } else { "numcodecs.bitround".into() }
    }

    fn configuration(&self) -> Object {
        Object::new().with("keepbits", u64::from(self.keepbits))
    }

    fn encode(&self, types: Types, mut numbers: Vec<u8>) -> Vec<u8> {
        let scalar = types.decoded.core.scalar();
        let round = match scalar.size() {
            1 => round8,
            2 => round16,
            4 => round32,
            _ => round64,
        };
        round(&mut numbers, scalar, self.keepbits);
        numbers
    }

    fn decode(&self, _: Types, numbers: Vec<u8>) -> Vec<u8> {
        numbers
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zarr_core::codec::ArrayToArray;
    use zarr_core::view::{View, ViewMut};

    use zarr_core::data_type::CoreType;

    use super::*;
    use crate::testing::{
        build_on, bytes_to_bytes, context, decode, encode, hex, metadata, refusal,
    };

    fn typed(core: CoreType, name: &str, keepbits: i32) -> Arc<dyn ArrayToArray> {
        let configuration = format!(r#"{{"keepbits":{keepbits}}}"#);
        match build_on(Dialect::V3, name, &configuration, &context(core, &[4])) {
            Ok(Codec::ArrayToArray(codec)) => codec,
            other => panic!("{other:?}"),
        }
    }

    /// numcodecs 0.15.2 and 0.16.6, which with no bits kept make -0 of NaN.
    #[test]
    fn floats_are_rounded_as_numcodecs_does() {
        let halves = "0000662ecd3c264ab657d264007e007c00fc00000080007c";
        let singles =
            "00000000cdcccc3d9a99993fcdcc4441cdccf64200509a440000c07f0000807f000080ffc2160100
            000000809ec97f7f";
        let doubles =
            "00000000000000009a9999999999b93f333333333333f33f9a999999999928409a99999999d95e40
            00000000004a9340000000000000f87f000000000000f07f000000000000f0ff9c577727266ca137
            0000000000000080addf8cc733f9ef47";
        let cases = [
            (CoreType::Float16, 1, halves, "0000002e003c004a00580064007e007c00fc00000080007c"),
            (CoreType::Float16, 3, halves, "0000802e003d004a80570065007e007c00fc00000080007c"),
            (CoreType::Float16, 10, halves, halves),
            (
                CoreType::Float32,
                0,
                singles,
                "000000000000003e0000803f0000804100000043000080440000c07f0000807f000080ff00000000
                 000000800000807f",
            ),
            (
                CoreType::Float32,
                3,
                singles,
                "000000000000d03d0000a03f000040410000f0420000a0440000c07f0000807f000080ff00000000
                 000000800000807f",
            ),
            (
                CoreType::Float32,
                10,
                singles,
                "0000000000c0cc3d00a0993f00c0444100c0f64200409a440000c07f0000807f000080ff00200100
                 0000008000c07f7f",
            ),
            (
                CoreType::Float64,
                7,
                doubles,
                "00000000000000000000000000a0b93f000000000040f33f0000000000a028400000000000e05e40
                 0000000000409340000000000000f87f000000000000f07f000000000000f0ff000000000060a137
                 0000000000000080000000000000f047",
            ),
        ];
        for (core, keepbits, numbers, rounded) in cases {
            let configuration = format!(r#"{{"keepbits":{keepbits}}}"#);
            let built = build_on(Dialect::V2, "bitround", &configuration, &context(core, &[12]));
            let (codec, numbers, rounded) = (bytes_to_bytes(built), hex(numbers), hex(rounded));
            assert_eq!(encode(&*codec, &numbers), rounded, "{core:?} {keepbits}");
            assert_eq!(decode(&*codec, &rounded, rounded.len() as u64), rounded);
        }
    }

    /// F-099, the registry's sample data: [0, .1, 1.2, 12.3, 123.4, 1234.5, NaN, inf, -inf], and integers. T-51: what
    /// is stored is not rounded once more.
    #[test]
    fn the_registered_codec_takes_integers_too() {
        let numbers: Vec<u8> =
            [0.0f32, 0.1, 1.2, 12.3, 123.4, 1234.5, f32::NAN, f32::INFINITY, f32::NEG_INFINITY]
                .iter()
                .flat_map(|x| x.to_le_bytes())
                .collect();
        let rounded =
            hex("000000000000d03d0000a03f000040410000f0420000a0440000c07f0000807f000080ff");
        for name in ["bitround", "numcodecs.bitround"] {
            let codec = typed(CoreType::Float32, name, 3);
            assert_eq!(codec.encode(View::new(&numbers, &[9], 4)).unwrap(), rounded);
            let mut back = vec![0; 36];
            codec.decode(&rounded, ViewMut::new(&mut back, &[9], 4)).unwrap();
            assert_eq!(back, rounded);
            codec.decode(&numbers, ViewMut::new(&mut back, &[9], 4)).unwrap();
            assert_eq!(back, numbers);
        }
        let codec = typed(CoreType::Uint8, "bitround", 3);
        let bytes = [0, 1, 10, 11, 100, 123, 200, 208, 209, 255];
        let rounded = codec.encode(View::new(&bytes, &[10], 1)).unwrap();
        assert_eq!(rounded, hex("00010a0c6080c0c0e0e0"));
    }

    /// T-51: a sign never changes.
    #[test]
    fn integers_do_not_wrap() {
        let codec = typed(CoreType::Int8, "bitround", 3);
        let bytes: Vec<u8> = (0..=255).collect();
        let rounded = codec.encode(View::new(&bytes, &[256], 1)).unwrap();
        for (x, y) in bytes.iter().zip(&rounded) {
            assert_eq!(x >> 7, y >> 7, "{x:#x} {y:#x}");
        }
        assert_eq!(rounded[127], 0x70);
        assert_eq!(codec.encode(View::new(&rounded, &[256], 1)).unwrap(), rounded);
    }

    /// In v2 the type is the array's, and numcodecs knows floats in little-endian order alone.
    #[test]
    fn flat_floats_are_little_endian() {
        refusal(Dialect::V2, "bitround", r#"{"keepbits":3}"#);
        let raw = ChunkContext::new(zarr_core::data_type::DataType::Raw { size: 4 }, vec![4]);
        let refused = build_on(Dialect::V2, "bitround", r#"{"keepbits":3}"#, &raw).unwrap_err();
        assert!(refused.to_string().ends_with("not in little-endian order"), "{refused}");
    }

    #[test]
    fn words_are_checked_and_spelled() {
        let float = context(CoreType::Float32, &[1]);
        for (dialect, name, bad) in [
            (Dialect::V3, "bitround", r#"{"keepbits":0}"#),
            (Dialect::V3, "bitround", "{}"),
            (Dialect::V3, "bitround", r#"{"keepbits":3,"dtype":"<f4"}"#),
            (Dialect::V3, "numcodecs.bitround", r#"{"keepbits":-1}"#),
            (Dialect::V2, "bitround", r#"{"keepbits":-1}"#),
            (Dialect::V2, "bitround", r#"{"keepbits":2.5}"#),
        ] {
            assert!(build_on(dialect, name, bad, &float).is_err(), "{name} {bad}");
        }
        refusal(Dialect::V3, "numcodecs.bitround", r#"{"keepbits":3}"#);
        let in_v3 = |codec: &dyn ArrayToArray| {
            codec.to_metadata(Dialect::V3).map(|spec| spec.to_string()).unwrap_or_default()
        };
        // T-39: a name is kept.
        for name in ["bitround", "numcodecs.bitround"] {
            let codec = typed(CoreType::Float32, name, 3);
            assert_eq!(in_v3(&*codec), format!(r#"{name} {{"keepbits":3}}"#));
        }
        let flat = build_on(Dialect::V2, "bitround", r#"{"keepbits":0}"#, &float);
        assert_eq!(
            metadata(&*bytes_to_bytes(flat)),
            [
                Some(r#"numcodecs.bitround {"keepbits":0}"#.into()),
                Some(r#"bitround {"keepbits":0}"#.into()),
                None
            ]
        );
    }
}

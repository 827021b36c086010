//! Rounds floats to a given number of decimal digits.
//!
//! numcodecs' `quantize`: to the nearest multiple of a power of two that keeps `digits` digits after the
//! point, ties to even, so that trailing bits are zero; then cast to `astype`. Decoding casts back.

use zarr_core::codec::{ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::data_type::{CoreType, Scalar, ScalarValue};
use zarr_core::{MetadataError, Object};

use crate::util::arithmetic::{self, Kernel, Types};
use crate::util::number::{Native, cast, each, with_scalar};

/// The quantize codec.
#[derive(Clone, Copy, Debug)]
struct Quantize {
    digits: i32,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    arithmetic::build::<Quantize>(spec, context)
}

impl Quantize {
    /// Steps in 1: the power of two that numcodecs computes, in its words.
    fn scale(self) -> f64 {
        let precision = 10f64.powf(-f64::from(self.digits));
        let exponent = match precision.log10() {
            exponent if exponent < 0.0 => exponent.floor(),
            exponent => exponent.ceil(),
        };
        10f64.powf(-exponent).log2().ceil().exp2()
    }
}

impl Kernel for Quantize {
    const CODEC: &'static str = "quantize";

    fn read(_: &CodecSpec, parameters: &mut Parameters<'_>) -> Result<Self, MetadataError> {
        // With more digits than that the power of two is no float.
        let digits = parameters.integer("digits", -308..=307, None)? as i32;
        Ok(Quantize { digits })
    }

    fn refuses(&self, types: Types) -> Option<&'static str> {
        let good = is_float(types.decoded.core) && is_float(types.encoded.core);
        (!good).then_some("only floats are rounded")
    }

    fn configuration(&self) -> Object {
        Object::new().with("digits", i64::from(self.digits))
    }

    fn encode(&self, types: Types, mut decoded: Vec<u8>) -> Vec<u8> {
        let scale = self.scale();
        with_scalar!(types.decoded.core, T => each::<T>(&mut decoded, |x| match x.number() {
            ScalarValue::Float(x) => {
                // Wide enough for all but the largest 64-bit floats, which have no digits to lose.
                let scaled = x * scale;
                let rounded =
                    if scaled.is_finite() { scaled.round_ties_even() / scale } else { x };
                T::of(ScalarValue::Float(rounded))
            }
            ScalarValue::Integer(_) => x,
        }));
        cast(types.decoded.core, types.encoded.core, decoded)
    }

    fn decode(&self, types: Types, encoded: Vec<u8>) -> Vec<u8> {
        cast(types.encoded.core, types.decoded.core, encoded)
    }
}

/// Whether the numbers are floats.
fn is_float(core: CoreType) -> bool {
    matches!(core.scalar(), Scalar::Float(_))
}

#[cfg(test)]
mod tests {
    use zarr_core::Dialect;
    use zarr_core::codec::BytesToBytes;
    use zarr_core::data_type::CoreType;

    use super::*;
    use crate::testing::{build, build_on, context, decode, encode, hex, metadata, refusal};

    fn flat(dtype: &str, astype: &str, digits: i32) -> std::sync::Arc<dyn BytesToBytes> {
        let configuration =
            format!(r#"{{"dtype":"{dtype}","astype":"{astype}","digits":{digits}}}"#);
        build(Dialect::V2, "quantize", &configuration)
    }

    const DOUBLES: &str = "295c8fc2f528f43f 0000000000000080 9a9999999999b93f 555555555555d53f
        adfa5c6d454a9340 cdccccccccfc58c0 000000000000f87f 000000000000f07f 0000000000000440";
    const SINGLES: &str = "ae47a13f 00000080 cdcccc3d abaaaa3e 2b529a44 66e6c7c2 0000c07f 0000807f
        00002040";

    /// numcodecs 0.15.2 and 0.16.6: types, digits, numbers, rounded ones, and those again.
    #[test]
    fn rounding_is_numcodecs() {
        let cases = [
            (
                ("<f8", "<f8", 1),
                DOUBLES,
                "000000000000f43f 0000000000000080 000000000000c03f 000000000000d43f 00000000404a9340
                 0000000000fc58c0 000000000000f87f 000000000000f07f 0000000000000440",
                "",
            ),
            (
                ("<f4", "<f4", 2),
                SINGLES,
                "0000a13f 00000080 0000d03d 0000ac3e 40529a44 00e8c7c2 0000c07f 0000807f 00002040",
                "",
            ),
            (
                ("<f4", "<f2", 3),
                SINGLES,
                "0a3d0080602e5435d3643fd6007e007c0041",
                "0040a13f 00000080 0000cc3d 0080aa3e 00609a44 00e0c7c2 0000c07f 0000807f 00002040",
            ),
            (
                ("<f8", "<f8", -2),
                DOUBLES,
                "0000000000000000 0000000000000080 0000000000000000 0000000000000000 0000000000009340
                 00000000000060c0 000000000000f87f 000000000000f07f 0000000000000000",
                "",
            ),
            (
                (">f4", ">f4", 2),
                "3fa147ae800000003dcccccd3eaaaaab449a522bc2c7e6667fc000007f80000040200000",
                "3fa10000800000003dd000003eac0000449a5240c2c7e8007fc000007f80000040200000",
                "",
            ),
            (
                ("<f2", "<f2", 1),
                "0a3d0080662e5535d3643fd6007e007c0041",
                "003d008000300035d3643fd6007e007c0041",
                "",
            ),
            (
                ("<f8", ">f4", 5),
                DOUBLES,
                "3fa147c0800000003dcccc003eaaab00449a522bc2c7e6667fc000007f80000040200000",
                "00000000f828f43f 0000000000000080 000000008099b93f 000000006055d53f 00000060454a9340
                 000000c0ccfc58c0 000000000000f87f 000000000000f07f 0000000000000440",
            ),
        ];
        for ((dtype, astype, digits), numbers, rounded, again) in cases {
            let codec = flat(dtype, astype, digits);
            let (numbers, rounded) = (hex(numbers), hex(rounded));
            assert_eq!(encode(&*codec, &numbers), rounded, "{dtype} {astype} {digits}");
            let again = if again.is_empty() { rounded.clone() } else { hex(again) };
            assert_eq!(decode(&*codec, &rounded, numbers.len() as u64), again);
        }
    }

    /// The exponents that Python computes, for some digits.
    #[test]
    fn steps_are_numcodecs() {
        let bits = |digits| Quantize { digits }.scale().log2();
        let found: Vec<f64> = (-3..8).map(bits).collect();
        assert_eq!(found, [-9., -6., -3., 0., 4., 7., 10., 14., 17., 20., 24.]);
        let ends: Vec<f64> = [-308, -307, -306, 305, 306, 307].map(bits).into();
        assert_eq!(ends, [-1023., -1019., -1016., 1014., 1017., 1020.]);
    }

    /// NumPy 2 makes NaN of every 16-bit float here, NumPy 1 does not; both make infinity of large ones.
    #[test]
    fn what_the_type_cannot_scale_stays() {
        let halves = hex("0a3d0080662e5535d3643fd6007e007c0041");
        assert_eq!(encode(&*flat("<f2", "<f2", 6), &halves), halves);
        assert_eq!(encode(&*flat("<f2", "<f2", 3), &hex("ff7b")), hex("ff7b"));
        let most = f64::MAX.to_le_bytes();
        assert_eq!(encode(&*flat("<f8", "<f8", 300), &most), most);
    }

    /// The law: what is off is at most half a unit of the last digit, and rounding again changes nothing.
    #[test]
    fn digits_are_kept() {
        let numbers: Vec<f64> = (0..1000).map(|i| f64::from(i) * 0.377 - 170.0).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        for digits in -1..6 {
            let codec = flat("<f8", "<f8", digits);
            let rounded = encode(&*codec, &bytes);
            let most = 10f64.powi(-digits) / 2.0;
            for (x, bytes) in numbers.iter().zip(rounded.as_chunks::<8>().0) {
                assert!((x - f64::from_le_bytes(*bytes)).abs() <= most, "{x} {digits}");
            }
            assert_eq!(encode(&*codec, &rounded), rounded);
        }
    }

    #[test]
    fn words_are_checked_and_spelled() {
        for bad in [
            r#"{"dtype":"<f4"}"#,
            r#"{"digits":1}"#,
            r#"{"digits":1,"dtype":"<i4"}"#,
            r#"{"digits":1,"dtype":"<f4","astype":"<i4"}"#,
            r#"{"digits":1.5,"dtype":"<f4"}"#,
            r#"{"digits":308,"dtype":"<f4"}"#,
            r#"{"digits":-309,"dtype":"<f4"}"#,
        ] {
            refusal(Dialect::V2, "quantize", bad);
        }
        let float = context(CoreType::Float32, &[2]);
        for bad in [r#"{"digits":1,"dtype":"<f8"}"#, r#"{"digits":1,"x":1}"#] {
            assert!(build_on(Dialect::V3, "numcodecs.quantize", bad, &float).is_err());
        }
        let built = build_on(Dialect::V3, "numcodecs.quantize", r#"{"digits":1}"#, &float);
        let Ok(Codec::ArrayToArray(codec)) = built else { panic!("{built:?}") };
        let in_v2 = codec.to_metadata(Dialect::V2).unwrap().to_string();
        assert_eq!(in_v2, r#"quantize {"digits":1,"dtype":"<f4","astype":"<f4"}"#);
        assert_eq!(
            metadata(&*flat(">f8", "<f4", -2)),
            [
                Some(r#"numcodecs.quantize {"digits":-2,"dtype":"<f8","astype":"<f4"}"#.into()),
                Some(r#"quantize {"digits":-2,"dtype":">f8","astype":"<f4"}"#.into()),
                None
            ]
        );
    }
}

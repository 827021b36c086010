//! Stores numbers as whole steps from an offset.
//!
//! numcodecs' `fixedscaleoffset`: `(x - offset) * scale`, rounded to the nearest integer (ties to even)
//! and cast to `astype`; decoding gives `e / scale + offset`, cast to `dtype`. Each step is done in the
//! type that NumPy does it in: a Python number takes an array's float type; with integers, a whole
//! number takes their type and anything else makes them 64-bit floats.

use zarr_core::codec::{ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::data_type::{CoreType, Scalar, ScalarValue};
use zarr_core::{Json, MetadataError, Object};

use crate::util::arithmetic::{self, Kernel, Types};
use crate::util::number::{Native, cast, each, with_scalar};

/// A number as Python reads it: without fraction and exponent it is an integer.
#[derive(Clone, Debug)]
struct Parameter {
    value: ScalarValue,
    /// As the document has it.
    text: Json,
}

/// The fixedscaleoffset codec.
#[derive(Clone, Debug)]
struct FixedScaleOffset {
    scale: Parameter,
    offset: Parameter,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    arithmetic::build::<FixedScaleOffset>(spec, context)
}

impl Parameter {
    fn read(parameters: &mut Parameters<'_>, name: &'static str) -> Result<Self, MetadataError> {
        let Some(json) = parameters.get(name) else {
            return Err(parameters.invalid(name, "is missing"));
        };
        let text = json.as_number().unwrap_or_default();
        let value = match (text.parse(), text.parse::<f64>()) {
            (Ok(integer), _) => ScalarValue::Integer(integer),
            (_, Ok(float)) if float.is_finite() => ScalarValue::Float(float),
            _ => return Err(parameters.invalid(name, format!("{} is not a number", json.brief()))),
        };
        let text = json.clone();
        Ok(Parameter { value, text })
    }

    /// In integers of type `core`, if it and they are.
    fn in_integers(&self, core: CoreType) -> Option<ScalarValue> {
        let ScalarValue::Integer(value) = self.value else {
            return None;
        };
        let fits = with_scalar!(core, T => match <T as Native>::of(self.value).number() {
            ScalarValue::Integer(narrowed) => narrowed == value,
            ScalarValue::Float(_) => false,
        });
        fits.then_some(self.value)
    }
}

/// The float type in which numbers of type `core` are scaled.
fn float_of(core: CoreType) -> CoreType {
    match core.scalar() {
        Scalar::Float(_) => core,
        _ => CoreType::Float64,
    }
}

impl Kernel for FixedScaleOffset {
    const CODEC: &'static str = "fixedscaleoffset";

    fn read(_: &CodecSpec, parameters: &mut Parameters<'_>) -> Result<Self, MetadataError> {
        let scale = Parameter::read(parameters, "scale")?;
        let offset = Parameter::read(parameters, "offset")?;
        match scale.value {
            ScalarValue::Integer(0) => Err(parameters.invalid("scale", "is 0")),
            ScalarValue::Float(0.0) => Err(parameters.invalid("scale", "is 0")),
            _ => Ok(FixedScaleOffset { scale, offset }),
        }
    }

    fn configuration(&self) -> Object {
        Object::new()
            .with("scale", self.scale.text.clone())
            .with("offset", self.offset.text.clone())
    }

    fn encode(&self, types: Types, mut decoded: Vec<u8>) -> Vec<u8> {
        let (from, to) = (types.decoded.core, types.encoded.core);
        let whole_offset = self.offset.in_integers(from);
        if let Some(offset) = whole_offset {
            with_scalar!(from, T => each::<T>(&mut decoded, |x| x.minus(T::of(offset))));
            if let Some(scale) = self.scale.in_integers(from) {
                with_scalar!(from, T => each::<T>(&mut decoded, |x| x.times(T::of(scale))));
                return cast(from, to, decoded);
            }
        }
        let float = float_of(from);
        let mut out = cast(from, float, decoded);
        with_scalar!(float, T => {
            let (offset, scale) = (T::of(self.offset.value), T::of(self.scale.value));
            match whole_offset {
                Some(_) => each::<T>(&mut out, |x| x.times(scale).rounded()),
                None => each::<T>(&mut out, |x| x.minus(offset).times(scale).rounded()),
            }
        });
        cast(float, to, out)
    }

    fn decode(&self, types: Types, encoded: Vec<u8>) -> Vec<u8> {
        let (from, to) = (types.encoded.core, types.decoded.core);
        let float = float_of(from);
        let mut out = cast(from, float, encoded);
        with_scalar!(float, T => {
            let (offset, scale) = (T::of(self.offset.value), T::of(self.scale.value));
            each::<T>(&mut out, |e| e.over(scale).plus(offset));
        });
        cast(float, to, out)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zarr_core::Dialect;
    use zarr_core::codec::BytesToBytes;
    use zarr_core::data_type::DataType;
    use zarr_core::view::{View, ViewMut};

    use super::*;
    use crate::testing::{build, build_on, context, decode, encode, hex, metadata, refusal};

    fn flat(dtype: &str, astype: &str, offset: &str, scale: &str) -> Arc<dyn BytesToBytes> {
        let configuration = format!(
            r#"{{"dtype":"{dtype}","astype":"{astype}","offset":{offset},"scale":{scale}}}"#
        );
        build(Dialect::V2, "fixedscaleoffset", &configuration)
    }

    /// v2.md 7: 1000 and 1000.5 with scale 10 and offset 1000, in a byte.
    #[test]
    fn steps_are_counted_from_the_offset() {
        let codec = flat("<f8", "|u1", "1000", "10");
        let numbers: Vec<u8> = [1000.0f64, 1000.5].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(encode(&*codec, &numbers), hex("0005"));
        assert_eq!(decode(&*codec, &hex("0005"), 16), numbers);
        assert_eq!(codec.encoded_size(16).unwrap(), Some(2));
    }

    /// numcodecs 0.15.1 on NumPy 2.4: types, offset, scale, numbers, steps, numbers again.
    #[test]
    fn arithmetic_is_numpys() {
        let cases = [
            (
                ["<f4", "<i2", "1000", "10"],
                "00007a4433037a449a097a4400107a449af97944ec519a44",
                "0000000002000200ffff2a09",
                "00007a4400007a44cd0c7a44cd0c7a449af9794433539a44",
            ),
            (
                ["<f4", "<i2", "1000.0", "10.5"],
                "00007a4433037a449a097a4400107a449af97944ec519a44",
                "0000010002000300ffff9f09",
                "00007a4418067a44310c7a4449127a44e8f9794449529a44",
            ),
            (
                ["<f4", "<f4", "-3", "0.1"],
                "000000000000803f0000c841f90215d0000060406f12833a",
                "000000000000000000004040286b6ece0000803f00000000",
                "000040c0000040c00000d841f90215d00000e040000040c0",
            ),
            (
                ["<f2", "|i1", "1", "4"],
                "003c003e803c803d00c04d47",
                "00020002f419",
                "003c003e003c003e00c04047",
            ),
            (
                ["<f8", "|u1", "1000", "10"],
                "0000000000408f400000000000448f406666666666408f403333333333418f400000000000428f40
                 0000000000069040",
                "0005000102ff",
                "0000000000408f400000000000448f400000000000408f40cdcccccccc408f409a99999999418f40
                 0000000000069040",
            ),
            (
                ["<f8", "|u1", "0", "1"],
                "000000000000f0bf000000000000f8bf0000000000d06f400000000000f06f400000000000000440
                 0000000000000c40",
                "fffefe000204",
                "0000000000e06f400000000000c06f400000000000c06f4000000000000000000000000000000040
                 0000000000001040",
            ),
            // Integers wrap in their own type while offset and scale are whole.
            (["|u1", "|u1", "10", "2"], "050ac8ff008a", "f6007ceaec00", "850a487f800a"),
            (
                ["<i2", "<i2", "100", "0.5"],
                "05000a00c900ff000080ff7f",
                "d0ffd3ff32004e00ce3fce3f",
                "04000a00c800000100800080",
            ),
            (
                ["<u2", "|u1", "1000", "1"],
                "e803e903e704e804e7030000",
                "0001ff00ff18",
                "e803e903e704e803e7040004",
            ),
            (
                ["<i4", "<i2", "0.5", "10"],
                "000000000100000002000000ffffffffb80b0000a00f0000",
                "fbff05000f00f1ff2b753b9c",
                "000000000100000002000000ffffffffb80b000007f6ffff",
            ),
            (
                [">f4", ">i4", "0.5", "1000"],
                "3dcccccd3e4ccccd3e99999abdcccccd447a000040e00000",
                "fffffe70fffffed4ffffff38fffffda8000f404c00001964",
                "3dcccccd3e4ccccd3e99999abdcccccd447a000040e00000",
            ),
            (
                ["<i8", "<i8", "9007199254740993", "1"],
                "0100000000002000030000000000200000000000000000000100000000000000ffffffffffffffff
                 0500000000000000",
                "00000000000000000200000000000000ffffffffffffdfff000000000000e0fffeffffffffffdfff
                 040000000000e0ff",
                "0000000000002000020000000000200000000000000000000000000000000000feffffffffffffff
                 0400000000000000",
            ),
        ];
        for ([dtype, astype, offset, scale], numbers, steps, again) in cases {
            let codec = flat(dtype, astype, offset, scale);
            assert_eq!(encode(&*codec, &hex(numbers)), hex(steps), "{dtype} {astype}");
            let size = hex(numbers).len() as u64;
            assert_eq!(decode(&*codec, &hex(steps), size), hex(again), "{dtype} {astype}");
        }
    }

    /// zarrita.js' data, written by zarr-python 2; zarr-python 3.4.2 in final v3.
    #[test]
    fn it_reads_what_others_wrote() {
        let codec = flat("<f4", "<i2", "1000", "10");
        let numbers = hex("00007a44 66067a44 cd0c7a44 33137a44");
        assert_eq!(decode(&*codec, &hex("0000010002000300"), 16), numbers);
        let configuration = r#"{"offset":1000,"scale":100,"dtype":"<f8","astype":"<u2"}"#;
        let name = "numcodecs.fixedscaleoffset";
        let here = context(CoreType::Float64, &[25]);
        let Ok(Codec::ArrayToArray(codec)) = build_on(Dialect::V3, name, configuration, &here)
        else {
            panic!("not a codec on arrays");
        };
        let next = codec.encoded(&here).unwrap();
        assert_eq!(next.data_type, DataType::Core(CoreType::Uint16));
        let steps = "41014e02ad01c3028500aa00fd02ad014200de03607960796079607960796079607960796079
            607960796079607960796079";
        let steps: Vec<u8> = hex(steps)
            .chunks(2)
            .flat_map(|b| u16::from_le_bytes([b[0], b[1]]).to_ne_bytes())
            .collect();
        let mut out = vec![0; 200];
        codec.decode(&steps, ViewMut::new(&mut out, &[25], 8)).unwrap();
        let first = f64::from_ne_bytes(*out.first_chunk().unwrap());
        let last = f64::from_ne_bytes(*out.last_chunk().unwrap());
        assert_eq!((first, last), (1003.21, 1310.72));
        assert_eq!(codec.encode(View::new(&out, &[25], 8)).unwrap(), steps);
    }

    /// Whole numbers too large for the array's integers make 64-bit floats of them.
    #[test]
    fn an_offset_beyond_the_type_is_a_float() {
        let codec = flat("|u1", "<i2", "1000", "1");
        assert_eq!(encode(&*codec, &[0, 255]), hex("18fc17fd"));
        assert_eq!(decode(&*codec, &hex("18fc17fd"), 2), [0, 255]);
        let codec = flat("|u1", "<i4", "-5", "1");
        assert_eq!(encode(&*codec, &[255]), hex("04010000"));
    }

    #[test]
    fn words_are_checked_and_spelled() {
        let refused = |configuration: &str| refusal(Dialect::V2, "fixedscaleoffset", configuration);
        refused(r#"{"dtype":"<f8","offset":0}"#);
        refused(r#"{"dtype":"<f8","scale":1}"#);
        refused(r#"{"dtype":"<f8","offset":0,"scale":0}"#);
        refused(r#"{"dtype":"<f8","offset":0,"scale":0.0}"#);
        refused(r#"{"dtype":"<f8","offset":"1","scale":1}"#);
        refused(r#"{"dtype":"<f8","offset":1e999,"scale":1}"#);
        refused(r#"{"dtype":"<c8","offset":0,"scale":1}"#);
        let old = r#"{"scale":10,"offset":1000.0,"dtype":"<f8","astype":"|u1"}"#;
        assert_eq!(
            metadata(&*flat("<f8", "|u1", "1000.0", "10")),
            [
                Some(format!("numcodecs.fixedscaleoffset {old}")),
                Some(format!("fixedscaleoffset {old}")),
                None
            ]
        );
    }
}

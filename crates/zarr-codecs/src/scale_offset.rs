//! Stores numbers after subtracting an offset and multiplying by a scale (F-096).
//!
//! Final v3's `scale_offset`: `(x - offset) * scale`, and `x / scale + offset` to decode, each step in the
//! array's own type. A step whose result that type does not have is an error.

use half::f16;
use zarr_core::codec::{ArrayToArray, ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::data_type::{
    CoreType, FillValue, FloatFormat, Rounding, Scalar, ScalarValue, store_bits,
};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::util::elementwise::{decode_each, element, encode_each, for_each, real};
use crate::util::number::{Native, with_scalar};

const CODEC: &str = "scale_offset";

/// The scale_offset codec.
#[derive(Clone, Debug)]
struct ScaleOffset {
    numbers: Scalar,
    offset: Option<ScalarValue>,
    scale: Option<ScalarValue>,
    /// The type of the numbers.
    name: String,
    configuration: Object,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    scale_offset(spec, context).map(Codec::array_to_array)
}

fn scale_offset(spec: &CodecSpec, context: &ChunkContext) -> Result<ScaleOffset, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let data_type = &context.data_type;
    let Some(numbers) = real(data_type).filter(|numbers| !matches!(numbers, Scalar::Time(_)))
    else {
        let why = format!("`{data_type}` is not a type of integers or floats");
        return Err(parameters.invalid("data type", why));
    };
    let mut read = |name| {
        let json = parameters.get(name);
        let number = json.map(|json| element(data_type, json, name, &parameters)).transpose()?;
        Ok::<_, MetadataError>(number.map(|number| numbers.load(number.as_bytes())))
    };
    let (offset, scale) = (read("offset")?, read("scale")?);
    if let Some(ScalarValue::Integer(0) | ScalarValue::Float(0.0)) = scale {
        return Err(parameters.invalid("scale", "is 0"));
    }
    parameters.finish()?;
    Ok(ScaleOffset {
        numbers,
        offset,
        scale,
        name: data_type.to_string(),
        configuration: spec.configuration.clone(),
    })
}

/// What is done with two numbers.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Minus,
    Times,
    Over,
    Plus,
}

impl Operation {
    /// Two numbers of a format, rounded to it once: 64 bits are more than twice as many as the others have.
    /// `None` if that overflows.
    fn of_floats(self, format: FloatFormat, a: f64, b: f64) -> Option<f64> {
        let result = match self {
            Operation::Minus => a - b,
            Operation::Times => a * b,
            Operation::Over => a / b,
            Operation::Plus => a + b,
        };
        if result.is_infinite() && a.is_finite() && b.is_finite() {
            return None;
        }
        format.from_f64(result, Rounding::NearestEven).map(|bits| format.to_f64(bits))
    }
}

/// The operations on a number of Rust.
trait Checked: Copy {
    /// The result, rounded once; `None` if it is no number of this type, or no finite one.
    fn checked(self, operation: Operation, other: Self) -> Option<Self>;
}

macro_rules! checked {
    ($($T:ident)*, |$operation:ident, $a:ident, $b:ident| $result:expr) => {$(
        impl Checked for $T {
            #[inline]
            fn checked(self, $operation: Operation, $b: Self) -> Option<Self> {
                let $a = self;
                $result
            }
        }
    )*};
}

checked!(i8 i16 i32 i64 i128 u8 u16 u32 u64, |operation, a, b| match operation {
    Operation::Minus => a.checked_sub(b),
    Operation::Times => a.checked_mul(b),
    Operation::Over => (a.checked_rem(b)? == 0).then(|| a / b),
    Operation::Plus => a.checked_add(b),
});
checked!(f16 f32 f64, |operation, a, b| {
    let result = match operation {
        Operation::Minus => a - b,
        Operation::Times => a * b,
        Operation::Over => a / b,
        Operation::Plus => a + b,
    };
    result.is_finite().then_some(result)
});

/// The two operations of one direction, each with its second number if that is given.
type Operations = [(Operation, Option<ScalarValue>); 2];

impl ScaleOffset {
    fn encoding(&self) -> Operations {
        [(Operation::Minus, self.offset), (Operation::Times, self.scale)]
    }

    fn decoding(&self) -> Operations {
        [(Operation::Over, self.scale), (Operation::Plus, self.offset)]
    }

    /// Does the operations on each element.
    fn all(&self, operations: Operations, from: &[u8], to: &mut [u8]) -> Result<(), String> {
        match CoreType::of_scalar(self.numbers) {
            Some(core) => with_scalar!(core, T => self.all_native::<T>(operations, from, to)),
            None => {
                let size = self.numbers.size();
                for_each((from, size), (to, size), |from, to| self.step(operations, from, to))
            }
        }
    }

    /// As [`ScaleOffset::all`] for a type of Rust: [`ScaleOffset::step`] decides only about the numbers for which one of the
    /// checked operations fails.
    fn all_native<T: Native + Checked>(
        &self,
        operations: Operations,
        from: &[u8],
        to: &mut [u8],
    ) -> Result<(), String> {
        let [first, second] =
            operations.map(|(operation, other)| other.map(|other| (operation, T::of(other))));
        let apply = |value: T, operation: Option<(Operation, T)>| match operation {
            Some((operation, other)) => value.checked(operation, other),
            None => Some(value),
        };
        for_each((from, T::SIZE), (to, T::SIZE), |from, to| {
            match apply(T::load(from), first).and_then(|value| apply(value, second)) {
                Some(value) => {
                    value.store(to);
                    Ok(())
                }
                None => self.step(operations, from, to),
            }
        })
    }

    /// Does the operations on one element.
    fn step(&self, operations: Operations, from: &[u8], to: &mut [u8]) -> Result<(), String> {
        let start = self.numbers.load(from);
        let mut value = start;
        for (operation, other) in operations {
            let Some(other) = other else { continue };
            value = self.one(operation, value, other).ok_or_else(|| {
                let how = format!("{operation:?}").to_lowercase();
                format!(
                    "{start} gives {value} {how} {other}, which is not a value of type {}",
                    self.name
                )
            })?;
        }
        // The payload of a NaN stays.
        if value.is_nan() && start.is_nan() {
            to.copy_from_slice(from);
        } else {
            let bits = self.numbers.cast(value, Rounding::NearestEven, None);
            store_bits(bits.expect("each step has given one of these numbers"), to);
        }
        Ok(())
    }

    fn one(&self, operation: Operation, a: ScalarValue, b: ScalarValue) -> Option<ScalarValue> {
        let result = match (self.numbers, a, b) {
            (_, ScalarValue::Integer(a), ScalarValue::Integer(b)) => {
                ScalarValue::Integer(a.checked(operation, b)?)
            }
            (Scalar::Float(format), ScalarValue::Float(a), ScalarValue::Float(b)) => {
                return operation.of_floats(format, a, b).map(ScalarValue::Float);
            }
            _ => return None,
        };
        self.numbers.cast(result, Rounding::NearestEven, None).map(|_| result)
    }
}

impl ArrayToArray for ScaleOffset {
    fn encoded(&self, decoded: &ChunkContext) -> Result<ChunkContext, MetadataError> {
        let fill = decoded.fill.as_ref().map(|fill| {
            let mut out = vec![0; self.numbers.size()];
            let done = if fill.as_bytes().len() == out.len() {
                self.step(self.encoding(), fill.as_bytes(), &mut out)
            } else {
                Err("it has another type".into())
            };
            done.map_err(|why| {
                MetadataError::invalid("codecs: scale_offset", format!("of the fill value: {why}"))
            })?;
            Ok::<_, MetadataError>(FillValue::new(out))
        });
        let context = ChunkContext::new(decoded.data_type.clone(), decoded.shape.clone());
        Ok(context.with_fill(fill.transpose()?))
    }

    fn encode(&self, chunk: View<'_>) -> Result<Vec<u8>, CodecError> {
        encode_each(CODEC, &chunk, self.numbers.size(), &|from: &[u8], to: &mut [u8]| {
            self.all(self.encoding(), from, to)
        })
    }

    fn decode(&self, encoded: &[u8], out: ViewMut<'_>) -> Result<(), CodecError> {
        decode_each(CODEC, encoded, self.numbers.size(), out, &|from: &[u8], to: &mut [u8]| {
            self.all(self.decoding(), from, to)
        })
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        (dialect == Dialect::V3).then(|| CodecSpec::v3(CODEC, self.configuration.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zarr_core::codec::CodecChain;
    use zarr_core::data_type::CoreType::*;
    use zarr_core::data_type::DataType;
    use zarr_core::{Region, Registry};

    use super::*;
    use crate::testing::{build_on, hex, noise, spec};

    fn made(
        from: impl Into<DataType>,
        configuration: &str,
    ) -> Result<Arc<dyn ArrayToArray>, String> {
        match build_on(Dialect::V3, CODEC, configuration, &ChunkContext::new(from, [1])) {
            Ok(Codec::ArrayToArray(codec)) => Ok(codec),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    /// One number there, and what comes of it back.
    fn there(
        from: impl Into<DataType>,
        configuration: &str,
        number: &[u8],
    ) -> Result<Vec<u8>, String> {
        let codec = made(from, configuration).unwrap();
        codec.encode(View::new(number, &[1], number.len())).map_err(|e| e.to_string())
    }

    fn back(
        from: impl Into<DataType>,
        configuration: &str,
        number: &[u8],
    ) -> Result<Vec<u8>, String> {
        let mut out = vec![0xa5; number.len()];
        let view = ViewMut::new(&mut out, &[1], number.len());
        let decoded = made(from, configuration).unwrap().decode(number, view);
        decoded.map(|()| out).map_err(|e| e.to_string())
    }

    /// F-096: the vector that zarr-python 3.4.2 wrote.
    #[test]
    #[cfg(all(feature = "cast_value", feature = "bytes"))]
    fn a_narrow_range_fits_a_byte_with_cast_value_behind() {
        let registry = Registry::new().with(crate::register);
        let specs = [
            spec(Dialect::V3, CODEC, r#"{"offset":1000}"#),
            spec(Dialect::V3, "cast_value", r#"{"data_type":"uint8"}"#),
            spec(Dialect::V3, "bytes", "{}"),
        ];
        let fill = |fill: u16| {
            let context = ChunkContext::new(Uint16, [2]);
            let context = context.with_fill(Some(FillValue::new(fill.to_ne_bytes())));
            CodecChain::build(&specs, &context, &registry)
        };
        let chain = fill(1000).unwrap();
        let numbers = [1000u16, 1255].map(u16::to_ne_bytes).concat();
        assert_eq!(*chain.encode(View::new(&numbers, &[2], 2)).unwrap(), hex("00ff"));
        let mut out = [0; 4];
        let view = ViewMut::new(&mut out, &[2], 2);
        chain.decode_into(hex("00ff").into(), &[2], &Region::all(&[2]).into(), view).unwrap();
        assert_eq!(out[..], numbers);
        // F-071, F-097: the fill value goes through all of it, or the array is not opened.
        assert!(fill(1256).is_err() && fill(0).is_err());
    }

    #[test]
    fn integers_are_exact_or_refused() {
        let configuration = r#"{"offset":10,"scale":3}"#;
        assert_eq!(there(Int8, configuration, &[20]), Ok(vec![30]));
        assert_eq!(back(Int8, configuration, &[30]), Ok(vec![20]));
        assert_eq!(there(Int8, configuration, &[0]), Ok(vec![0xe2]));
        let error = there(Uint8, configuration, &[0]).unwrap_err();
        assert_eq!(error, "scale_offset: 0 gives 0 minus 10, which is not a value of type uint8");
        assert!(there(Int8, configuration, &[100]).unwrap_err().contains("90 times 3"));
        assert!(back(Int8, configuration, &[31]).unwrap_err().contains("31 over 3"));
        let wide = r#"{"scale":18446744073709551615}"#;
        assert!(there(Uint64, wide, &u64::MAX.to_ne_bytes()).is_err());
        let four = DataType::IntBits(4);
        assert_eq!(there(four.clone(), r#"{"offset":-8}"#, &[0xff]), Ok(vec![7]));
        assert!(there(four, r#"{"offset":-8}"#, &[0]).is_err());
    }

    /// F-096: each step is rounded to the array's type, not to a wider one.
    #[test]
    fn floats_are_rounded_at_each_step_and_never_overflow() {
        let configuration = r#"{"offset":5,"scale":0.1}"#;
        for value in [0.0f32, 7.25, -1e10, 1e-40, 16_777_217.0, f32::INFINITY, f32::MIN_POSITIVE] {
            let expected = (value - 5.0) * 0.1;
            let stored = there(Float32, configuration, &value.to_ne_bytes()).unwrap();
            assert_eq!(stored, expected.to_ne_bytes(), "{value}");
            let again = expected / 0.1 + 5.0;
            assert_eq!(
                back(Float32, configuration, &stored).unwrap(),
                again.to_ne_bytes(),
                "{value}"
            );
        }
        for value in [0.3f64, 1e308, -5e-324] {
            let expected = (value - 5.0) * 0.1;
            assert_eq!(
                there(Float64, configuration, &value.to_ne_bytes()).unwrap(),
                expected.to_ne_bytes()
            );
        }
        assert!(there(Float32, r#"{"scale":1e30}"#, &1e30f32.to_ne_bytes()).is_err());
        assert!(there(Float64, r#"{"scale":1e300}"#, &1e300f64.to_ne_bytes()).is_err());
        let nan = f32::from_bits(0xffc0_1234).to_ne_bytes();
        assert_eq!(there(Float32, configuration, &nan).unwrap(), nan);
        // Numbers without zero, offset and scale left away.
        let format = FloatFormat::from_name("float8_e8m0fnu").unwrap();
        let scales = DataType::Minifloat(format);
        assert_eq!(there(scales.clone(), "{}", &[0x80]), Ok(vec![0x80]));
        assert_eq!(there(scales.clone(), r#"{"scale":4}"#, &[0x80]), Ok(vec![0x82]));
        assert!(there(scales, r#"{"offset":1}"#, &[0x7f]).is_err());
    }

    /// F-096: the loops over numbers of Rust give what [`ScaleOffset::step`] gives of each.
    #[test]
    fn loops_agree_with_single_steps() {
        let cases = ["{}", r#"{"offset":3}"#, r#"{"scale":7}"#, r#"{"offset":5,"scale":2}"#];
        let floats = [
            r#"{"offset":-0.0,"scale":1e-5}"#,
            r#"{"offset":"Infinity","scale":3e4}"#,
            r#"{"offset":0.1,"scale":"NaN"}"#,
            r#"{"scale":"-Infinity"}"#,
        ];
        for core in CoreType::ALL {
            let Some(numbers) = real(&core.into()) else { continue };
            let is_float = matches!(numbers, Scalar::Float(_));
            let floats = floats.iter().filter(|_| is_float);
            for configuration in cases.iter().chain(floats) {
                let parsed = spec(Dialect::V3, CODEC, configuration);
                let codec = scale_offset(&parsed, &ChunkContext::new(core, [1])).unwrap();
                let mut elements = noise(1 << 11);
                // Each number of two bytes is one of many bytes, too, or its high half.
                for high in (0..=u16::MAX).step_by(61) {
                    let mut element = [0; 8];
                    let at = numbers.size().saturating_sub(2);
                    element[at..at + 2].copy_from_slice(&high.to_le_bytes());
                    elements.extend_from_slice(&element[..numbers.size()]);
                }
                for operations in [codec.encoding(), codec.decoding()] {
                    for from in elements.chunks_exact(numbers.size()) {
                        let (mut one, mut other) = ([0; 8], [0; 8]);
                        let (one, other) =
                            (&mut one[..numbers.size()], &mut other[..numbers.size()]);
                        let done = codec.all(operations, from, one);
                        assert_eq!(done, codec.step(operations, from, other));
                        assert_eq!(one, other, "{core:?} {configuration} {from:02x?}");
                    }
                }
            }
        }
    }

    #[test]
    fn words_and_sizes_are_checked() {
        for (data_type, bad) in [
            (Uint8, r#"{"scale":0}"#),
            (Float32, r#"{"scale":0.0}"#),
            (Float32, r#"{"scale":-0.0}"#),
            (Float32, r#"{"scale":"0x00000000"}"#),
            (Uint8, r#"{"scale":0.1}"#),
            (Uint8, r#"{"offset":256}"#),
            (Float32, r#"{"offset":"1"}"#),
            (Float32, r#"{"offset":1,"dtype":"<f4"}"#),
            (Bool, "{}"),
            (Complex64, "{}"),
        ] {
            assert!(made(data_type, bad).is_err(), "{data_type:?} {bad}");
        }
        let configuration = r#"{"offset":"NaN","scale":0.5}"#;
        let codec = made(Float64, configuration).unwrap();
        let metadata = codec.to_metadata(Dialect::V3).unwrap().to_string();
        assert_eq!(metadata, format!("scale_offset {configuration}"));
        assert!(codec.to_metadata(Dialect::V2).is_none());
        let mut out = [0; 16];
        for stored in [0, 8, 15, 17] {
            let view = ViewMut::new(&mut out, &[2], 8);
            let error = codec.decode(&vec![0; stored], view).unwrap_err();
            assert!(matches!(error, CodecError::Length { expected: 16, .. }), "{error}");
        }
    }
}

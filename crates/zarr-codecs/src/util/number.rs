//! Computes with numbers and casts them as NumPy does, for numcodecs' arithmetic codecs.
//!
//! Integers wrap, floats lose their fraction, rounding happens once. Loops over elements are compiled for each Rust
//! type: [`with_scalar!`] selects it.

use std::ops::{Add, Mul, Sub};

use half::f16;
use zarr_core::codec::{ChunkContext, CodecSpec, Parameters};
use zarr_core::data_type::{CoreType, DataType, Endian, NumpyTime, Scalar, ScalarValue};
use zarr_core::{CodecError, Dialect, MetadataError, Unsupported};

/// A type of numbers as numcodecs names it: `<i4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberType {
    /// An integer or a float.
    pub(crate) core: CoreType,
    /// Their order in flat bytes.
    pub(crate) endian: Endian,
}

impl NumberType {
    /// A core type in this machine's order; `None` if its elements are no integers or floats.
    pub(crate) fn native(core: CoreType) -> Option<NumberType> {
        let is_real = !matches!(core.scalar(), Scalar::Bool | Scalar::Complex(_));
        is_real.then_some(NumberType { core, endian: Endian::NATIVE })
    }

    /// The type of the elements that a codec is built for; `None` if they are no integers or floats.
    pub(crate) fn of(spec: &CodecSpec, context: &ChunkContext) -> Option<NumberType> {
        let native = match context.data_type.scalar()? {
            // A time's counts are computed with as integers (F-047).
            Scalar::Time(_) => NumberType::native(CoreType::Int64)?,
            scalar => NumberType::native(CoreType::of_scalar(scalar)?)?,
        };
        match spec.dialect {
            Dialect::V3 => Some(native),
            _ => Some(NumberType { endian: Endian::Little, ..native }),
        }
    }

    /// Parameter `name`; `None` if it is not there.
    pub(crate) fn read(
        parameters: &mut Parameters<'_>,
        name: &'static str,
    ) -> Result<Option<NumberType>, MetadataError> {
        let Some(text) = parameters.string(name)? else {
            return Ok(None);
        };
        let named = CoreType::ALL.into_iter().find(|core| text == core.name());
        let core = named.map(|core| (core, None)).or_else(|| CoreType::from_typestr(text));
        if let Some((found, endian)) = core
            && let Some(number) = NumberType::native(found)
        {
            return Ok(Some(NumberType { endian: endian.unwrap_or(number.endian), ..number }));
        }
        if core.is_some() || NumpyTime::from_typestr(text).is_some() {
            let hint = parameters.invalid(name, "numbers are integers or floats").to_string();
            return Err(Unsupported { what: "data type", name: text.to_owned(), hint }.into());
        }
        Err(parameters.invalid(name, format!("`{text}` is not a type of integers or floats")))
    }

    /// Bytes in a number.
    pub(crate) fn size(self) -> usize {
        self.core.scalar().size()
    }

    /// How many numbers `bytes` bytes are.
    pub(crate) fn count(self, codec: &'static str, bytes: u64) -> Result<u64, CodecError> {
        let size = self.size() as u64;
        if !bytes.is_multiple_of(size) {
            let why = format!("{bytes} bytes are not numbers of {size}");
            return Err(CodecError::corrupt(codec, why));
        }
        Ok(bytes / size)
    }

    /// Swaps the bytes of numbers between their own order and the native one.
    pub(crate) fn byteswap(self, bytes: &mut [u8]) {
        fn fixed<const N: usize>(bytes: &mut [u8]) {
            bytes.as_chunks_mut::<N>().0.iter_mut().for_each(|number| number.reverse());
        }
        if self.endian != Endian::NATIVE {
            match self.size() {
                2 => fixed::<2>(bytes),
                4 => fixed::<4>(bytes),
                8 => fixed::<8>(bytes),
                _ => {}
            }
        }
    }

    /// The data type that the next codec sees, which expects native numbers on arrays and little-endian ones
    /// on bytes.
    pub(crate) fn data_type(self) -> DataType {
        let here: DataType = self.core.into();
        match self.endian {
            Endian::Little => here,
            _ if self.endian == Endian::NATIVE => here,
            _ => here.in_other_order(),
        }
    }
}

/// A number of a Rust type, in native byte order.
pub(crate) trait Native: Copy {
    const SIZE: usize;
    fn load(bytes: &[u8]) -> Self;
    fn store(self, bytes: &mut [u8]);
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// Divided; integers are never, since NumPy divides them as floats.
    fn over(self, other: Self) -> Self;
    /// The nearest integer, ties to even.
    fn rounded(self) -> Self;
    fn number(self) -> ScalarValue;
    /// Cast as C does.
    fn of(number: ScalarValue) -> Self;
}

/// For each kind of numbers: its types, the methods that add, subtract and multiply, and the functions that divide,
/// round, widen, and cast from an integer and from a float.
macro_rules! natives {
    ($($($T:ident)* => $plus:ident $minus:ident $times:ident, $over:expr, $rounded:expr, $number:expr, $of_integer:expr,
        $of_float:expr;)*) => {$($(
        impl Native for $T {
            const SIZE: usize = size_of::<$T>();
            fn load(bytes: &[u8]) -> Self {
                <$T>::from_ne_bytes(*bytes.first_chunk().expect("the slice is one number long"))
            }
            fn store(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
            fn plus(self, other: Self) -> Self {
                self.$plus(other)
            }
            fn minus(self, other: Self) -> Self {
                self.$minus(other)
            }
            fn times(self, other: Self) -> Self {
                self.$times(other)
            }
            fn over(self, other: Self) -> Self {
                let over: fn($T, $T) -> $T = $over;
                over(self, other)
            }
            fn rounded(self) -> Self {
                let rounded: fn($T) -> $T = $rounded;
                rounded(self)
            }
            fn number(self) -> ScalarValue {
                $number(self.into())
            }
            fn of(number: ScalarValue) -> Self {
                let (of_integer, of_float): (fn(i128) -> $T, fn(f64) -> $T) = ($of_integer, $of_float);
                match number {
                    ScalarValue::Integer(value) => of_integer(value),
                    ScalarValue::Float(value) => of_float(value),
                }
            }
        }
    )*)*};
}

natives! {
    i8 i16 i32 i64 u8 u16 u32 u64 => wrapping_add wrapping_sub wrapping_mul,
        |a, b| a.checked_div(b).unwrap_or(0), |x| x, ScalarValue::Integer, |v| v as _,
        // A cast in C goes through a wide integer here, so that -1.0 becomes 255 in a byte.
        |v| if v < 0.0 { v as i64 as _ } else { v as u64 as _ };
    f32 f64 => add sub mul, |a, b| a / b, |x| x.round_ties_even(), ScalarValue::Float, |v| v as _, |v| v as _;
    f16 => add sub mul, |a, b| a / b, |x| f16::from_f32(x.to_f32().round_ties_even()), ScalarValue::Float,
        |v| half_of(v as f64), half_of;
}

/// Rounds once. [`f16::from_f64`] rounds to 32 bits first on some processors.
///
/// Where 32 bits do not hold the number, the neighbour whose last bit is 1 is taken: it is no tie of fewer bits.
fn half_of(value: f64) -> f16 {
    let near = value as f32;
    let (wide, bits) = (f64::from(near), near.to_bits());
    if wide == value || value.is_nan() || bits & 1 == 1 {
        return f16::from_f32(near);
    }
    let odd = if wide.abs() > value.abs() { bits - 1 } else { bits + 1 };
    f16::from_f32(f32::from_bits(odd))
}

/// Runs `$body` with `$T` standing for the Rust type of a core type's integers or floats.
macro_rules! with_scalar {
    ($core:expr, $T:ident => $body:expr) => {
        $crate::util::number::with_scalar!(@ $core, $T => $body; Int8 i8, Int16 i16, Int32 i32, Int64 i64, Uint8 u8,
            Uint16 u16, Uint32 u32, Uint64 u64, Float16 half::f16, Float32 f32, Float64 f64)
    };
    (@ $core:expr, $T:ident => $body:expr; $($kind:ident $native:ty),*) => {
        match $core {
            $(zarr_core::data_type::CoreType::$kind => {
                type $T = $native;
                $body
            })*
            _ => unreachable!("a number type is an integer or a float"),
        }
    };
}
pub(crate) use with_scalar;

/// Replaces each number by the result of `f`.
pub(crate) fn each<T: Native>(numbers: &mut [u8], mut f: impl FnMut(T) -> T) {
    for bytes in numbers.chunks_exact_mut(T::SIZE) {
        f(T::load(bytes)).store(bytes);
    }
}

/// The same numbers in another type.
pub(crate) fn cast(from: CoreType, to: CoreType, numbers: Vec<u8>) -> Vec<u8> {
    fn cast_each<A: Native, B: Native>(numbers: &[u8]) -> Vec<u8> {
        let mut out = vec![0; numbers.len() / A::SIZE * B::SIZE];
        let pairs = numbers.chunks_exact(A::SIZE).zip(out.chunks_exact_mut(B::SIZE));
        pairs.for_each(|(a, b)| B::of(A::load(a).number()).store(b));
        out
    }
    if from == to {
        return numbers;
    }
    with_scalar!(from, A => with_scalar!(to, B => cast_each::<A, B>(&numbers)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NumPy 2.4.6: by way of 32 bits, the first two would be rounded twice.
    #[test]
    fn doubles_are_rounded_to_half_precision_once() {
        for (double, half) in [
            (0x3ff0_0200_0000_1000u64, 0x3c01),
            (0xbff0_0200_0000_1000, 0xbc01),
            (0x3ff0_0200_0000_0000, 0x3c00),
            (0x40ef_fdff_ffff_ffff, 0x7bff),
            (0x40ef_fe00_0000_0000, 0x7c00),
            (0x3e70_0000_0000_0000, 0x0001),
            (0x3e60_0000_0000_0001, 0x0001),
            (0x3e60_0000_0000_0000, 0x0000),
            (1, 0),
            (0x7ff0_0000_0000_0000, 0x7c00),
            (0x7fef_ffff_ffff_ffff, 0x7c00),
        ] {
            let found = f16::of(ScalarValue::Float(f64::from_bits(double)));
            assert_eq!(found.to_bits(), half, "{double:#x}");
        }
        assert!(f16::of(ScalarValue::Float(f64::NAN)).is_nan());
    }
}

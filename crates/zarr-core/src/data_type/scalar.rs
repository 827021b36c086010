//! Classifies numbers, and loads, casts, stores, parses and prints one.
//!
//! An element of a [`Scalar`] type is a bool, an integer, a float, a complex number or a count of time. Its value
//! is a [`ScalarValue`]. The JSON form of each dialect is in `fill_value`.

use std::borrow::Cow;
use std::fmt::{self, Write};

use super::{Endian, FloatFormat, NumpyTime, Rounding};

/// The kind of number that an element holds.
///
/// ```
/// use zarr_core::data_type::{ScalarValue, Rounding, Scalar};
///
/// let scalar = Scalar::Int(16);
/// let element = (-7i16).to_ne_bytes();
/// assert_eq!(scalar.load(&element), ScalarValue::Integer(-7));
/// assert_eq!(scalar.to_text(&element), "-7");
/// let bits = Scalar::Uint(8).cast(ScalarValue::Float(2.5), Rounding::NearestEven, None);
/// assert_eq!(bits, Some(2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// One byte, 0 or 1.
    Bool,
    /// A two's complement integer of `n` bits. One of fewer than eight fills its byte with its sign.
    Int(u32),
    /// An unsigned integer of `n` bits.
    Uint(u32),
    /// A float.
    Float(FloatFormat),
    /// Two floats, the real part first.
    Complex(FloatFormat),
    /// A count of units of time in 64 bits; the least of them is NaT, which counts as a NaN.
    Time(NumpyTime),
}

/// The value of a real number: an integer, which is exact, or a float, which may be NaN or infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ScalarValue {
    Integer(i128),
    Float(f64),
}

/// What a cast makes of a number out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfRange {
    /// The number at the end of the range; infinity, if the format has one.
    Clamp,
    /// The integer that differs by a multiple of two to the power of the bits.
    Wrap,
}

impl ScalarValue {
    /// What tells it from the other numbers of a type: NaN equals NaN, and minus zero equals zero.
    #[inline]
    pub fn key(self) -> (bool, u64) {
        match self {
            ScalarValue::Integer(value) => (false, value as u64),
            ScalarValue::Float(value) if value.is_nan() => (true, f64::NAN.to_bits()),
            ScalarValue::Float(value) => (true, (value + 0.0).to_bits()),
        }
    }

    /// Whether it is NaN.
    pub fn is_nan(self) -> bool {
        matches!(self, ScalarValue::Float(value) if value.is_nan())
    }
}

impl fmt::Display for ScalarValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScalarValue::Integer(value) => write!(f, "{value}"),
            ScalarValue::Float(value) => write!(f, "{value:?}"),
        }
    }
}

impl Scalar {
    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Scalar::Bool => 1,
            Scalar::Int(bits) | Scalar::Uint(bits) => bits.div_ceil(8) as usize,
            Scalar::Float(format) => format.size(),
            Scalar::Complex(format) => 2 * format.size(),
            Scalar::Time(_) => 8,
        }
    }

    /// The kind of each part of a complex number; any other is its own only part.
    pub fn part(self) -> Scalar {
        match self {
            Scalar::Complex(format) => Scalar::Float(format),
            real => real,
        }
    }

    /// Bits of a number, of each part of a complex one.
    pub fn bits(self) -> u32 {
        match self {
            Scalar::Bool => 1,
            Scalar::Int(bits) | Scalar::Uint(bits) => bits,
            Scalar::Float(format) | Scalar::Complex(format) => format.bits(),
            Scalar::Time(_) => 64,
        }
    }

    /// The bits of each byte that are stored; see [`super::Repr::stored_mask`].
    pub(super) fn stored_mask(self) -> u8 {
        match self {
            Scalar::Int(bits @ 1..8) | Scalar::Uint(bits @ 1..8) => 0xff >> (8 - bits),
            Scalar::Float(format) | Scalar::Complex(format) if format.size() == 1 => {
                format.mask() as u8
            }
            _ => 0xff,
        }
    }

    /// Whether [`Scalar::load`] and [`Scalar::cast`] can compute with it: integers have at most 64 bits.
    pub(super) fn is_computable(self) -> bool {
        match self {
            Scalar::Int(bits) | Scalar::Uint(bits) => (1..=64).contains(&bits),
            _ => true,
        }
    }

    /// The least and the greatest integer; what is less in 64 bits is NaT.
    #[inline]
    pub(super) fn range(self) -> (i128, i128) {
        match self {
            Scalar::Bool => (0, 1),
            Scalar::Int(bits) => (i128::MIN >> (128 - bits), i128::MAX >> (128 - bits)),
            Scalar::Uint(bits) => (0, (1 << bits) - 1),
            _ => (i128::from(i64::MIN) + 1, i64::MAX.into()),
        }
    }

    /// Whether integers out of range can wrap.
    pub fn wraps(self) -> bool {
        matches!(self, Scalar::Int(_) | Scalar::Uint(_))
    }

    /// The native bytes of an element in this byte order.
    pub fn to_native(self, element: &[u8], endian: Endian) -> Cow<'_, [u8]> {
        let mut native = Cow::Borrowed(element);
        if endian != Endian::NATIVE {
            native.to_mut().chunks_mut(self.part().size()).for_each(<[u8]>::reverse);
        }
        native
    }

    /// The value of a native element, of the real part of a complex one. Bits above the number's are ignored.
    ///
    /// # Panics
    /// For an element of another size, and for integers of more than 64 bits.
    #[inline]
    pub fn load(self, element: &[u8]) -> ScalarValue {
        let all = match self {
            Scalar::Complex(format) => load_bits(&element[..format.size()]),
            _ => load_bits(element),
        };
        match self {
            Scalar::Bool => ScalarValue::Integer((all != 0).into()),
            Scalar::Uint(bits) => ScalarValue::Integer((all & (u64::MAX >> (64 - bits))).into()),
            Scalar::Int(bits) => {
                ScalarValue::Integer(((all << (64 - bits)) as i64 >> (64 - bits)).into())
            }
            Scalar::Float(format) | Scalar::Complex(format) => {
                ScalarValue::Float(format.to_f64(all))
            }
            Scalar::Time(_) => match all as i64 {
                NumpyTime::NAT => ScalarValue::Float(f64::NAN),
                count => ScalarValue::Integer(count.into()),
            },
        }
    }

    /// The bits of `value` in an element, rounded once and then brought into range; `None` if no element has that
    /// value (F-097). Of a complex number, the bits of a part.
    #[inline]
    pub fn cast(
        self,
        value: ScalarValue,
        rounding: Rounding,
        out_of_range: Option<OutOfRange>,
    ) -> Option<u64> {
        match (self, value) {
            (Scalar::Float(format) | Scalar::Complex(format), ScalarValue::Integer(value)) => {
                format
                    .from_integer(value, rounding)
                    .or_else(|| out_of_range.map(|_| format.limit(value as f64)))
            }
            (Scalar::Float(format) | Scalar::Complex(format), ScalarValue::Float(value)) => {
                let bits = format.from_f64(value, rounding);
                // Infinity and NaN are no numbers out of range.
                if bits.is_none() && value.is_finite() && out_of_range.is_some() {
                    return Some(format.limit(value));
                }
                bits
            }
            (Scalar::Time(_), ScalarValue::Float(value)) if value.is_nan() => {
                Some(NumpyTime::NAT as u64)
            }
            (_, ScalarValue::Float(value)) if !value.is_finite() => None,
            (_, ScalarValue::Float(value)) => {
                self.cast_integer(rounded_integer(value, rounding), out_of_range)
            }
            (_, ScalarValue::Integer(value)) => self.cast_integer(value, out_of_range),
        }
    }

    #[inline]
    fn cast_integer(self, value: i128, out_of_range: Option<OutOfRange>) -> Option<u64> {
        let (least, most) = self.range();
        if (least..=most).contains(&value) {
            return Some(value as u64);
        }
        match out_of_range? {
            OutOfRange::Clamp => Some(value.clamp(least, most) as u64),
            OutOfRange::Wrap => match self {
                Scalar::Int(bits) => Some((value << (128 - bits) >> (128 - bits)) as u64),
                _ => Some((value & most) as u64),
            },
        }
    }

    /// Stores bits as a native element, or as a part of a complex one.
    pub fn store(self, bits: u64, element: &mut [u8]) {
        store_bits(bits, element);
    }

    /// A native element of these bits, of a complex number a part.
    pub(crate) fn element(self, bits: u64) -> Vec<u8> {
        let mut element = vec![0; self.part().size()];
        store_bits(bits, &mut element);
        element
    }

    /// Prints a native element: integers in full, floats in the fewest digits that read back as the same bits, `NaN`,
    /// `Infinity`, `NaT`, complex numbers as `1.0+2.0j`.
    pub fn to_text(self, element: &[u8]) -> String {
        let mut text = String::new();
        self.write_text(element, &mut text);
        text
    }

    /// As [`Scalar::to_text`], behind the text that `out` has.
    pub fn write_text(self, element: &[u8], out: &mut String) {
        // Writing into a string does not fail.
        let _ = match (self, element) {
            (Scalar::Bool, _) => write!(out, "{}", element.iter().any(|&byte| byte != 0)),
            (Scalar::Float(format), _) => format.write_text(load_bits(element), out),
            (Scalar::Complex(format), _) => {
                let (real, imaginary) = element.split_at(format.size());
                let _ = format.write_text(load_bits(real), out);
                let before = out.len();
                let _ = format.write_text(load_bits(imaginary), out);
                if !out[before..].starts_with('-') {
                    out.insert(before, '+');
                }
                out.write_char('j')
            }
            _ => match self.load(element) {
                ScalarValue::Float(_) => out.write_str("NaT"),
                // Wide integers are slow to print.
                ScalarValue::Integer(value) => match i64::try_from(value) {
                    Ok(value) => write!(out, "{value}"),
                    Err(_) => write!(out, "{value}"),
                },
            },
        };
    }

    /// The bits of the number that text stands for, rounded once; `None` for other text and for what is out of range.
    ///
    /// Integers may have a fraction of zeros or an exponent, up to 2⁵³: `3.0`, `1e3`. Of a complex number, the text
    /// and the bits of a part.
    pub fn from_text(self, text: &str) -> Option<u64> {
        match (self, text) {
            (Scalar::Float(format) | Scalar::Complex(format), "NaN" | "Infinity" | "-Infinity") => {
                format.from_f64(text.parse().ok()?, Rounding::NearestEven)
            }
            (Scalar::Float(format) | Scalar::Complex(format), _) => format.from_text(text),
            (Scalar::Bool, "true") => Some(1),
            (Scalar::Bool, "false") => Some(0),
            (Scalar::Bool, _) => None,
            (Scalar::Time(_), "NaT") => Some(NumpyTime::NAT as u64),
            (Scalar::Time(_), _) => Scalar::Int(64).from_text(text),
            (Scalar::Int(_) | Scalar::Uint(_), _) => {
                self.cast_integer(integer_from_text(text)?, None)
            }
        }
    }
}

/// The integer that decimal text stands for: exact for digits, below 2⁵³ with a fraction of zeros or an exponent.
pub(crate) fn integer_from_text(text: &str) -> Option<i128> {
    text.parse().ok().or_else(|| {
        let value: f64 = text.parse().ok()?;
        let exact = value.fract() == 0.0 && value.abs() < (1u64 << 53) as f64;
        exact.then_some(value as i128)
    })
}

/// The integer that a finite number is rounded to. Numbers so large that they are multiples of 2¹⁰⁰ stay
/// such.
fn rounded_integer(value: f64, rounding: Rounding) -> i128 {
    let whole = match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
        Rounding::TowardsZero => value.trunc(),
        Rounding::TowardsPositive => value.ceil(),
        Rounding::TowardsNegative => value.floor(),
    };
    let far = 1 << 126;
    if whole.abs() < far as f64 {
        whole as i128
    } else if whole < 0.0 {
        -far
    } else {
        far
    }
}

/// The bits of a native element of at most eight bytes, zeros above them.
#[inline]
pub fn load_bits(element: &[u8]) -> u64 {
    match *element {
        [a] => a.into(),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        _ => match element.try_into() {
            Ok(all) => u64::from_ne_bytes(all),
            Err(_) => {
                let mut all = [0; 8];
                let len = element.len();
                let at = if cfg!(target_endian = "big") { 8 - len } else { 0 };
                all[at..at + len].copy_from_slice(element);
                u64::from_ne_bytes(all)
            }
        },
    }
}

/// Stores the low bits as a native element of at most eight bytes.
#[inline]
pub fn store_bits(bits: u64, element: &mut [u8]) {
    match element.len() {
        1 => element[0] = bits as u8,
        2 => element.copy_from_slice(&(bits as u16).to_ne_bytes()),
        4 => element.copy_from_slice(&(bits as u32).to_ne_bytes()),
        8 => element.copy_from_slice(&bits.to_ne_bytes()),
        len => {
            let at = if cfg!(target_endian = "big") { 8 - len } else { 0 };
            element.copy_from_slice(&bits.to_ne_bytes()[at..at + len]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::CoreType;

    const NEAR: Rounding = Rounding::NearestEven;

    fn small(name: &str) -> Scalar {
        Scalar::Float(FloatFormat::from_name(name).unwrap())
    }

    /// NumPy 2.4.6 with ml_dtypes 0.6.0: 0.1, -2.5, 3.3 and 0.001 cast from `float64`.
    #[test]
    fn floats_are_cast_as_ml_dtypes_casts_them() {
        for (name, due) in [
            ("bfloat16", [0x3dcd, 0xc020, 0x4053, 0x3a83]),
            ("float8_e5m2", [0x2e, 0xc1, 0x43, 0x14]),
            ("float8_e4m3fn", [0x1d, 0xc2, 0x45, 0x01]),
            ("float6_e2m3fn", [0x01, 0x32, 0x15, 0x00]),
            ("float4_e2m1fn", [0x00, 0x0c, 0x05, 0x00]),
        ] {
            let found = [0.1, -2.5, 3.3, 1e-3].map(|value| {
                small(name).cast(ScalarValue::Float(value), NEAR, None).expect("it is in range")
            });
            assert_eq!(found, due, "{name}");
        }
    }

    /// F-097: what is out of range, what wraps, what is clamped.
    #[test]
    fn casts_tell_what_is_out_of_range() {
        use OutOfRange::{Clamp, Wrap};
        use ScalarValue::{Float, Integer};
        let time = Scalar::Time(NumpyTime::from_typestr("<M8[s]").unwrap());
        for (scalar, value, out_of_range, due) in [
            (Scalar::Int(8), Integer(-129), None, None),
            (Scalar::Int(8), Integer(-129), Some(Wrap), Some(127u64)),
            (Scalar::Int(8), Integer(-129), Some(Clamp), Some(-128i64 as u64)),
            (Scalar::Int(4), Integer(9), Some(Wrap), Some(-7i64 as u64)),
            (Scalar::Uint(64), Integer(1 << 64), Some(Wrap), Some(0)),
            (Scalar::Uint(64), Integer(u64::MAX.into()), None, Some(u64::MAX)),
            (Scalar::Bool, Integer(2), None, None),
            (Scalar::Bool, Integer(1), None, Some(1)),
            (Scalar::Int(32), Float(2.5), None, Some(2)),
            (Scalar::Int(32), Float(f64::NAN), Some(Clamp), None),
            (Scalar::Int(32), Float(1e300), Some(Clamp), Some(i32::MAX as u64)),
            (time, Float(f64::NAN), None, Some(i64::MIN as u64)),
            (time, Integer(i64::MIN.into()), None, None),
            (Scalar::Float(FloatFormat::FLOAT32), Float(1e39), None, None),
            (Scalar::Float(FloatFormat::FLOAT32), Float(1e39), Some(Clamp), Some(0x7f80_0000)),
        ] {
            let found = scalar.cast(value, NEAR, out_of_range);
            assert_eq!(found, due, "{value} as {scalar:?}, {out_of_range:?}");
        }
        let towards_zero = Scalar::Int(8).cast(Float(-1.9), Rounding::TowardsZero, None);
        assert_eq!(towards_zero, Some(-1i64 as u64));
    }

    #[test]
    fn the_text_of_a_number_reads_back_as_its_bits() {
        let scalars = CoreType::ALL.map(CoreType::scalar).into_iter();
        let scalars = scalars.chain([Scalar::Int(4), Scalar::Uint(2), Scalar::Int(24)]);
        for scalar in scalars.chain(FloatFormat::ALL.map(Scalar::Float)) {
            if matches!(scalar, Scalar::Complex(_)) {
                continue;
            }
            for value in [0, 1, 2, 3, -1, -2, 6] {
                let Some(bits) = scalar.cast(ScalarValue::Integer(value), NEAR, None) else {
                    continue;
                };
                let mut element = vec![0; scalar.size()];
                scalar.store(bits, &mut element);
                let text = scalar.to_text(&element);
                let mut back = vec![0; scalar.size()];
                scalar.store(scalar.from_text(&text).expect("it is a number"), &mut back);
                assert_eq!(back, element, "{scalar:?} {text}");
                let same = scalar.cast(scalar.load(&element), NEAR, None);
                assert_eq!(same, Some(bits), "{scalar:?} {text}");
            }
        }
        let complex = CoreType::Complex64.scalar();
        let parts = [1f32.to_ne_bytes(), (-0.1f32).to_ne_bytes()].concat();
        assert_eq!(complex.to_text(&parts), "1.0-0.1j");
        assert_eq!(complex.load(&parts), ScalarValue::Float(1.0));
        let time = Scalar::Time(NumpyTime::from_typestr("<m8[s]").unwrap());
        assert_eq!(time.to_text(&i64::MIN.to_ne_bytes()), "NaT");
        assert_eq!(time.from_text("NaT"), Some(i64::MIN as u64));
        assert_eq!(Scalar::Uint(64).to_text(&u64::MAX.to_ne_bytes()), u64::MAX.to_string());
        for (scalar, text) in [
            (Scalar::Int(8), "128"),
            (Scalar::Int(8), "1.5"),
            (Scalar::Uint(8), "-1"),
            (Scalar::Bool, "1"),
            (Scalar::Float(FloatFormat::FLOAT32), "1e39"),
            (small("float4_e2m1fn"), "NaN"),
            (small("float8_e5m2"), "x"),
        ] {
            assert_eq!(scalar.from_text(text), None, "{scalar:?} {text}");
        }
        assert_eq!(Scalar::Int(16).from_text("1e3"), Some(1000));
    }
}

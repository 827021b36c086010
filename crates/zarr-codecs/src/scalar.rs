//! Loads elements as real numbers, and stores real numbers as elements of another data type.
//!
//! Final v3's `cast_value` and `scale_offset` compute with values, not with bits: exactly, then rounded once.
#![cfg_attr(
    not(feature = "full"),
    allow(dead_code, reason = "a build with few codecs needs few of these")
)]

use std::fmt;

use zarr_core::codec::{DecodedSize, Parameters};
use zarr_core::data_type::{DataType, Endian, FillValue, FloatFormat, Repr, Rounding};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Json, MetadataError};

use crate::stream::zeroed;

/// A number: an integer, which is exact, or a float, which may be NaN or infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    Integer(i128),
    Float(f64),
}

impl Scalar {
    /// What tells it from the other numbers of a type; NaN is NaN, and minus zero is zero.
    pub(crate) fn key(self) -> (bool, u64) {
        match self {
            Scalar::Integer(value) => (false, value as u64),
            Scalar::Float(value) if value.is_nan() => (true, f64::NAN.to_bits()),
            Scalar::Float(value) => (true, (value + 0.0).to_bits()),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Integer(value) => write!(f, "{value}"),
            Scalar::Float(value) => write!(f, "{value:?}"),
        }
    }
}

/// The numbers that elements of a type are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalars {
    /// Two's complement integers of so many bits.
    Int(u32),
    /// Unsigned integers of so many bits.
    Uint(u32),
    Float(FloatFormat),
    /// Counts of time in 64 bits, the lowest of them NaT, which is a NaN.
    Time,
}

/// What becomes of a number out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutOfRange {
    /// The one at the end of the range; infinity, where there is one.
    Clamp,
    /// The one that differs by a multiple of two to the power of the bits.
    Wrap,
}

impl Scalars {
    /// The numbers of a type; `None` if its elements are no real numbers.
    pub(crate) fn of(data_type: &DataType) -> Option<Scalars> {
        let words = data_type.spelling(Dialect::V3, Endian::Little);
        let name = words.as_ref().and_then(Json::as_object).and_then(|words| words.get("name"));
        let is_time = name.and_then(Json::as_str).is_some_and(|name| name.starts_with("numpy."));
        Some(match data_type.repr()? {
            Repr::Int(8) if is_time => Scalars::Time,
            Repr::Int(size @ (1 | 2 | 4 | 8)) => Scalars::Int(8 * size as u32),
            Repr::Uint(size @ (1 | 2 | 4 | 8)) => Scalars::Uint(8 * size as u32),
            Repr::IntBits(bits) => Scalars::Int(bits),
            Repr::UintBits(bits) => Scalars::Uint(bits),
            Repr::Float(2) => Scalars::Float(FloatFormat::FLOAT16),
            Repr::Float(4) => Scalars::Float(FloatFormat::FLOAT32),
            Repr::Float(8) => Scalars::Float(FloatFormat::FLOAT64),
            Repr::FloatOf(format) => Scalars::Float(format),
            _ => return None,
        })
    }

    /// Bytes of an element.
    pub(crate) fn size(self) -> usize {
        match self {
            Scalars::Int(bits) | Scalars::Uint(bits) => bits.div_ceil(8) as usize,
            Scalars::Float(format) => format.size(),
            Scalars::Time => 8,
        }
    }

    /// The least and the greatest integer; what is less in 64 bits is NaT.
    fn range(self) -> (i128, i128) {
        match self {
            Scalars::Int(bits) => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
            Scalars::Uint(bits) => (0, (1 << bits) - 1),
            Scalars::Time | Scalars::Float(_) => (i128::from(i64::MIN) + 1, i64::MAX.into()),
        }
    }

    /// The number that a native element is.
    ///
    /// It has one, two, four or eight bytes; bits that are none of the number's count for nothing.
    pub(crate) fn load(self, element: &[u8]) -> Scalar {
        let all = Scalars::load_bits(element);
        match self {
            Scalars::Uint(bits) => Scalar::Integer((all & (u64::MAX >> (64 - bits))).into()),
            Scalars::Float(format) => Scalar::Float(format.to_f64(all)),
            Scalars::Int(bits) => {
                Scalar::Integer(((all << (64 - bits)) as i64 >> (64 - bits)).into())
            }
            Scalars::Time => match all as i64 {
                i64::MIN => Scalar::Float(f64::NAN),
                count => Scalar::Integer(count.into()),
            },
        }
    }

    /// The bits of a native element.
    pub(crate) fn load_bits(element: &[u8]) -> u64 {
        FloatFormat::FLOAT64.load(element)
    }

    /// The bits of `value` as a native element has them, rounded once and then brought into range; `None` if
    /// no such element is (F-097).
    pub(crate) fn bits(
        self,
        value: Scalar,
        rounding: Rounding,
        beyond: Option<OutOfRange>,
    ) -> Option<u64> {
        match (self, value) {
            (Scalars::Float(format), Scalar::Integer(value)) => {
                let clamped = || beyond.map(|_| format.limit(value as f64));
                format.from_integer(value, rounding).or_else(clamped)
            }
            (Scalars::Float(format), Scalar::Float(value)) => {
                // Infinity and NaN are no numbers out of range.
                let clamped = || beyond.filter(|_| value.is_finite()).map(|_| format.limit(value));
                format.from_f64(value, rounding).or_else(clamped)
            }
            (Scalars::Time, Scalar::Float(value)) if value.is_nan() => Some(i64::MIN as u64),
            (_, Scalar::Float(value)) if !value.is_finite() => None,
            (_, Scalar::Float(value)) => self.integer(rounded(value, rounding), beyond),
            (_, Scalar::Integer(value)) => self.integer(value, beyond),
        }
    }

    fn integer(self, value: i128, beyond: Option<OutOfRange>) -> Option<u64> {
        let (least, most) = self.range();
        if (least..=most).contains(&value) {
            return Some(value as u64);
        }
        match beyond? {
            OutOfRange::Clamp => Some(value.clamp(least, most) as u64),
            OutOfRange::Wrap => match self {
                Scalars::Int(bits) => Some((value << (128 - bits) >> (128 - bits)) as u64),
                _ => Some((value & most) as u64),
            },
        }
    }

    /// Makes these bits a native element.
    pub(crate) fn store(self, bits: u64, element: &mut [u8]) {
        FloatFormat::FLOAT64.store(bits, element);
    }

    /// Whether integers out of range can wrap.
    pub(crate) fn wraps(self) -> bool {
        matches!(self, Scalars::Int(_) | Scalars::Uint(_))
    }
}

/// The element of type `data_type` that stands in a document as a fill value would.
pub(crate) fn element(
    data_type: &DataType,
    json: &Json,
    name: &str,
    parameters: &Parameters<'_>,
) -> Result<FillValue, MetadataError> {
    data_type.element_from_json(json, Dialect::V3).map_err(|error| match error {
        MetadataError::Invalid { why, .. } => parameters.wrong(name, why),
        other => other,
    })
}

/// What becomes of one native element, laid into another; why not, if it cannot be.
pub(crate) type Step<'a> = &'a dyn Fn(&[u8], &mut [u8]) -> Result<(), String>;

/// Does `step` to each element of a chunk, which gives elements of `size` bytes.
pub(crate) fn encode_each(
    codec: &'static str,
    chunk: &View<'_>,
    size: usize,
    step: Step<'_>,
) -> Result<Vec<u8>, CodecError> {
    let mut out = zeroed(codec, (chunk.len() as u64).saturating_mul(size as u64))?;
    let pairs = chunk.to_bytes();
    let mut pairs = pairs.chunks_exact(chunk.cell()).zip(out.chunks_exact_mut(size));
    let done = pairs.try_for_each(|(from, to)| step(from, to));
    done.map_err(|why| CodecError::Value { codec, why })?;
    Ok(out)
}

/// Does `step` to each encoded element, of `size` bytes, which gives those of `out`.
pub(crate) fn decode_each(
    codec: &'static str,
    encoded: &[u8],
    size: usize,
    mut out: ViewMut<'_>,
    step: Step<'_>,
) -> Result<(), CodecError> {
    let cell = out.cell();
    let due = (out.len() as u64).saturating_mul(size as u64);
    DecodedSize::Exactly(due).check(codec, encoded.len() as u64)?;
    let all = |memory: &mut [u8]| {
        let mut pairs = encoded.chunks_exact(size).zip(memory.chunks_exact_mut(cell));
        let done = pairs.try_for_each(|(from, to)| step(from, to));
        done.map_err(|why| CodecError::corrupt(codec, why))
    };
    if let Some(memory) = out.as_bytes_mut() {
        return all(memory);
    }
    let mut decoded = zeroed(codec, (out.len() * cell) as u64)?;
    all(&mut decoded)?;
    out.copy_from(&View::new(&decoded, &out.shape(), cell));
    Ok(())
}

/// The integer that a finite number is rounded to. Numbers so large that they are multiples of 2¹⁰⁰ stay
/// such.
fn rounded(value: f64, rounding: Rounding) -> i128 {
    let whole = match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
        Rounding::TowardsZero => value.trunc(),
        Rounding::TowardsPositive => value.ceil(),
        Rounding::TowardsNegative => value.floor(),
    };
    let far = 1 << 126;
    match whole.abs() < far as f64 {
        true => whole as i128,
        false if whole < 0.0 => -far,
        false => far,
    }
}

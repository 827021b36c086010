//! The types of elements that levels can be made of, and how their means are rounded.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::AddAssign;

use zarr_core::Element;
use zarr_core::data_type::DataType;

use super::PyramidRounding;

/// An element of an array of numbers.
pub(super) trait Sample: Element + Copy + PartialEq {
    /// What elements are added up in: without an error for integers.
    type Sum: Sum;

    fn to_sum(self) -> Self::Sum;

    /// The sum of `count` elements that are equal to this one.
    fn times(self, count: u32) -> Self::Sum;

    /// The mean of `count` elements; `count` is not 0.
    fn mean(sum: Self::Sum, count: u32, rounding: PyramidRounding) -> Self;

    fn to_f64(self) -> f64;

    /// The nearest element; a half goes to the even one.
    fn from_f64(value: f64) -> Self;

    fn is_nan(self) -> bool;

    /// A NaN, if the type has one.
    fn nan() -> Option<Self>;

    /// Whether sums of elements equal to this one are exact, so that [`Sample::times`] is what adding one by one gives.
    fn is_exact(self) -> bool;

    /// A total order, in which each value is equal to itself only.
    fn order(&self, other: &Self) -> Ordering;

    /// Whether it is the lesser number of the two; NaN is not.
    fn is_less(self, other: Self) -> bool;

    /// The element that a whole number in an attribute stands for; nothing for other types than integers.
    fn from_integer(number: i128) -> Option<Self>;

    /// The next integer above, or below; nothing at the end of the type, and for other types than integers.
    fn neighbour(self, is_above: bool) -> Option<Self>;
}

/// A sum of elements.
pub(super) trait Sum: Copy + Default + AddAssign + Send + Sync + 'static {
    const SIZE: usize;

    fn put(self, bytes: &mut Vec<u8>);

    /// The sum that [`Sum::put`] has put; `bytes` has its size.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! sums {
    ($($sum:ty)*) => {$(
        impl Sum for $sum {
            const SIZE: usize = size_of::<$sum>();

            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Self {
                <$sum>::from_le_bytes(bytes.try_into().expect("the bytes of one sum"))
            }
        }
    )*};
}

sums!(i64 i128 f64);

/// Divides, `$n` being positive, and rounds once.
macro_rules! rounded_quotient {
    ($sum:expr, $n:expr, $rounding:expr) => {{
        let (sum, n) = ($sum, $n);
        let (floor, rest) = (sum.div_euclid(n), sum.rem_euclid(n));
        let is_up = match $rounding {
            PyramidRounding::HalfEven => 2 * rest > n || 2 * rest == n && floor & 1 == 1,
            PyramidRounding::HalfAway => 2 * rest > n || 2 * rest == n && sum > 0,
            PyramidRounding::TowardZero => rest != 0 && sum < 0,
        };
        if is_up { floor + 1 } else { floor }
    }};
}

/// As [`rounded_quotient`], for a divisor that is mostly a power of two.
#[inline]
fn quotient(sum: i64, count: u32, rounding: PyramidRounding) -> i64 {
    let n = i64::from(count);
    if !count.is_power_of_two() || rounding != PyramidRounding::HalfEven {
        return rounded_quotient!(sum, n, rounding);
    }
    let floor = sum >> count.trailing_zeros();
    let twice = 2 * (sum & (n - 1));
    floor + i64::from(twice > n || twice == n && floor & 1 == 1)
}

macro_rules! integers {
    ($($int:ty: $sum:ty, $quotient:expr;)*) => {$(
        impl Sample for $int {
            type Sum = $sum;

            #[inline]
            fn to_sum(self) -> $sum {
                <$sum>::from(self)
            }

            fn times(self, count: u32) -> $sum {
                <$sum>::from(self) * <$sum>::from(count)
            }

            #[inline]
            fn mean(sum: $sum, count: u32, rounding: PyramidRounding) -> Self {
                let quotient: fn($sum, u32, PyramidRounding) -> $sum = $quotient;
                // A mean lies between the least and the greatest element.
                quotient(sum, count, rounding) as $int
            }

            fn to_f64(self) -> f64 {
                self as f64
            }

            fn from_f64(value: f64) -> Self {
                value.round_ties_even() as $int
            }

            fn is_nan(self) -> bool {
                false
            }

            fn nan() -> Option<Self> {
                None
            }

            fn is_exact(self) -> bool {
                true
            }

            #[inline]
            fn order(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }

            #[inline]
            fn is_less(self, other: Self) -> bool {
                self < other
            }

            fn from_integer(number: i128) -> Option<Self> {
                number.try_into().ok()
            }

            fn neighbour(self, is_above: bool) -> Option<Self> {
                if is_above { self.checked_add(1) } else { self.checked_sub(1) }
            }
        }
    )*};
}

/// Of 64-bit integers.
fn wide_quotient(sum: i128, count: u32, rounding: PyramidRounding) -> i128 {
    rounded_quotient!(sum, i128::from(count), rounding)
}

integers! {
    i8: i64, quotient;
    i16: i64, quotient;
    i32: i64, quotient;
    i64: i128, wide_quotient;
    u8: i64, quotient;
    u16: i64, quotient;
    u32: i64, quotient;
    u64: i128, wide_quotient;
}

macro_rules! floats {
    ($($float:ty)*) => {$(
        impl Sample for $float {
            type Sum = f64;

            #[inline]
            fn to_sum(self) -> f64 {
                f64::from(self)
            }

            fn times(self, count: u32) -> f64 {
                f64::from(self) * f64::from(count)
            }

            #[inline]
            fn mean(sum: f64, count: u32, _: PyramidRounding) -> Self {
                (sum / f64::from(count)) as $float
            }

            fn to_f64(self) -> f64 {
                self.into()
            }

            fn from_f64(value: f64) -> Self {
                value as $float
            }

            #[inline]
            fn is_nan(self) -> bool {
                <$float>::is_nan(self)
            }

            fn nan() -> Option<Self> {
                Some(<$float>::NAN)
            }

            fn is_exact(self) -> bool {
                // Any 2³¹ of them have a sum of at most 53 bits.
                let value = f64::from(self);
                value.is_nan() || value.fract() == 0.0 && value.abs() < f64::from(1 << 22)
            }

            #[inline]
            fn order(&self, other: &Self) -> Ordering {
                self.total_cmp(other)
            }

            #[inline]
            fn is_less(self, other: Self) -> bool {
                self < other
            }

            fn from_integer(_: i128) -> Option<Self> {
                None
            }

            fn neighbour(self, _: bool) -> Option<Self> {
                None
            }
        }
    )*};
}

floats!(f32 f64);

impl Sample for bool {
    type Sum = i64;

    fn to_sum(self) -> i64 {
        self.into()
    }

    fn times(self, count: u32) -> i64 {
        i64::from(self) * i64::from(count)
    }

    fn mean(sum: i64, count: u32, _: PyramidRounding) -> Self {
        2 * sum > i64::from(count)
    }

    fn to_f64(self) -> f64 {
        u8::from(self).into()
    }

    fn from_f64(value: f64) -> Self {
        value > 0.5
    }

    fn is_nan(self) -> bool {
        false
    }

    fn nan() -> Option<Self> {
        None
    }

    fn is_exact(self) -> bool {
        true
    }

    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn is_less(self, other: Self) -> bool {
        !self & other
    }

    fn from_integer(_: i128) -> Option<Self> {
        None
    }

    fn neighbour(self, _: bool) -> Option<Self> {
        None
    }
}

/// A signed integer that stands for the unsigned one of the same bits, as netCDF's attribute `_Unsigned` says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Unsigned<T>(T);

macro_rules! unsigned {
    ($($signed:ty: $own:ty;)*) => {$(
        impl Element for Unsigned<$signed> {
            const NAME: &'static str = <$signed as Element>::NAME;

            fn is(data_type: &DataType) -> bool {
                <$signed as Element>::is(data_type)
            }

            fn as_memory(elements: &[Self]) -> Option<Cow<'_, [u8]>> {
                let bytes = elements.iter().flat_map(|element| element.0.to_ne_bytes());
                Some(Cow::Owned(bytes.collect()))
            }

            fn from_bytes(bytes: &[u8]) -> Self {
                Unsigned(<$signed as Element>::from_bytes(bytes))
            }
        }

        impl Unsigned<$signed> {
            #[inline]
            fn own(self) -> $own {
                self.0.cast_unsigned()
            }

            fn of(own: $own) -> Self {
                Unsigned(own.cast_signed())
            }
        }

        impl Sample for Unsigned<$signed> {
            type Sum = <$own as Sample>::Sum;

            #[inline]
            fn to_sum(self) -> Self::Sum {
                self.own().to_sum()
            }

            fn times(self, count: u32) -> Self::Sum {
                self.own().times(count)
            }

            fn mean(sum: Self::Sum, count: u32, rounding: PyramidRounding) -> Self {
                Self::of(<$own>::mean(sum, count, rounding))
            }

            fn to_f64(self) -> f64 {
                self.own().to_f64()
            }

            fn from_f64(value: f64) -> Self {
                Self::of(<$own>::from_f64(value))
            }

            fn is_nan(self) -> bool {
                false
            }

            fn nan() -> Option<Self> {
                None
            }

            fn is_exact(self) -> bool {
                true
            }

            fn order(&self, other: &Self) -> Ordering {
                self.own().cmp(&other.own())
            }

            #[inline]
            fn is_less(self, other: Self) -> bool {
                self.own() < other.own()
            }

            fn from_integer(number: i128) -> Option<Self> {
                // Attributes have it in either form: 255 or -1.
                let signed = <$signed>::try_from(number).ok().map(Unsigned);
                signed.or_else(|| number.try_into().ok().map(Self::of))
            }

            fn neighbour(self, is_above: bool) -> Option<Self> {
                self.own().neighbour(is_above).map(Self::of)
            }
        }
    )*};
}

unsigned! {
    i8: u8;
    i16: u16;
    i32: u32;
    i64: u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_rounded_once() {
        use PyramidRounding::{HalfAway, HalfEven, TowardZero};
        for (sum, count, even, away, zero) in [
            (5, 2, 2, 3, 2),
            (7, 2, 4, 4, 3),
            (-5, 2, -2, -3, -2),
            (-7, 2, -4, -4, -3),
            (-1, 4, 0, 0, 0),
            (-3, 4, -1, -1, 0),
            (6, 4, 2, 2, 1),
            (10, 4, 2, 3, 2),
            (9, 6, 2, 2, 1),
            (15, 6, 2, 3, 2),
            (-15, 6, -2, -3, -2),
            (16, 6, 3, 3, 2),
            (0, 3, 0, 0, 0),
        ] {
            for (rounding, expected) in [(HalfEven, even), (HalfAway, away), (TowardZero, zero)] {
                let mean = i16::mean(sum, count, rounding);
                assert_eq!(mean, expected, "{sum}/{count}, {rounding:?}");
                let wide = i64::mean(sum.into(), count, rounding);
                assert_eq!(wide, i64::from(expected), "{sum}/{count}, {rounding:?}");
            }
        }
        let all = u64::MAX.times(1 << 31);
        assert_eq!(u64::mean(all, 1 << 31, HalfEven), u64::MAX);
        assert_eq!(u32::mean(u32::MAX.times(1 << 31), 1 << 31, HalfEven), u32::MAX);
        assert_eq!(i32::mean(i32::MIN.times(1 << 31), 1 << 31, HalfEven), i32::MIN);
        assert_eq!(u8::mean(255 * 3 + 254, 4, HalfEven), 255);
        assert_eq!(f32::mean(1.0, 3, HalfEven), 1.0 / 3.0);
    }

    #[test]
    fn signed_integers_stand_for_unsigned_ones() {
        let of = |number| Unsigned::<i8>::from_integer(number).unwrap();
        assert_eq!((of(255), of(200)), (of(-1), of(-56)));
        assert_eq!(Unsigned::<i8>::from_integer(256), None);
        let mean =
            Unsigned::<i8>::mean(of(250).to_sum() + of(100).to_sum(), 2, PyramidRounding::HalfEven);
        assert_eq!(mean, of(175));
        assert!(of(100).is_less(of(200)) && of(200).order(&of(100)) == Ordering::Greater);
        assert_eq!((of(127).neighbour(true), of(255).neighbour(true)), (Some(of(128)), None));
        assert_eq!(Unsigned::<i8>::as_memory(&[of(255), of(1)]).unwrap()[..], [255, 1]);
    }
}

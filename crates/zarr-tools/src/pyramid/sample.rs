//! The types of elements that levels can be made of, and how their means are rounded.

use std::cmp::Ordering;
use std::ops::AddAssign;

use zarr_core::Element;

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
}

//! Goes through the numbers of a chunk in small blocks, and leaves out what is missing or NaN.

use std::collections::HashSet;

use zarr_core::CancelToken;
use zarr_core::data_type::{NumpyTime, ScalarValue};

use super::moments::{Moments, Twofold};
use crate::meaning::{MAX_COMPARED, Missing};

/// Numbers that are looked at together: they fit the fastest cache.
pub(crate) const BLOCK: usize = 2_048;

/// A number as the processor has it.
pub(crate) trait Number: Copy + PartialOrd + Send + Sync + 'static {
    /// Bytes of one.
    const SIZE: usize;
    /// Zero.
    const ZERO: Self;
    /// The number in native bytes.
    fn load(bytes: &[u8]) -> Self;
    fn is_nan(self) -> bool;
    fn value(self) -> ScalarValue;
    /// The same number; NaN or what does not fit is none.
    fn of(value: ScalarValue) -> Option<Self>;
    /// Bits in the order of the numbers.
    fn key(self) -> u64;
    /// The number of these bits.
    fn of_key(key: u64) -> Self;
    /// Moments, least and greatest of at least one number and at most [`BLOCK`], of which none is NaN.
    fn tally(values: &[Self]) -> (Moments, Self, Self);
    /// The moments of the same number again and again.
    fn repeated(self, count: u64) -> Moments;
}

/// Which numbers are missing.
#[derive(Clone, Debug)]
pub(crate) struct Rule<T> {
    /// The numbers that are missing, if they are few.
    equal: Vec<T>,
    /// Their keys, if they are many.
    keys: HashSet<(bool, u64)>,
    is_nan_missing: bool,
    /// Ends a scan early; its caller looks at the token and throws the result away.
    cancel: CancelToken,
    least: Option<T>,
    most: Option<T>,
    /// No number is valid: one limit is beyond the type.
    none_valid: bool,
}

impl<T: Number> Rule<T> {
    pub fn new(missing: &Missing, cancel: &CancelToken) -> Rule<T> {
        let values = missing.values();
        let is_nan_missing = missing.is_listed(ScalarValue::Float(f64::NAN));
        let mut equal: Vec<T> = values.iter().filter_map(|&value| T::of(value)).collect();
        // Not a time is the least of the counts.
        if is_nan_missing && matches!(T::ZERO.value(), ScalarValue::Integer(_)) {
            equal.extend(T::of(ScalarValue::Integer(NumpyTime::NAT.into())));
        }
        let mut keys = HashSet::new();
        if equal.len() > MAX_COMPARED {
            keys.extend(equal.drain(..).map(|number| number.value().key()));
        }
        let (least, most) = (missing.valid_min, missing.valid_max);
        let (low, high) = (least.and_then(T::of), most.and_then(T::of));
        Rule {
            equal,
            keys,
            is_nan_missing,
            cancel: cancel.clone(),
            none_valid: low.is_none() != least.is_none() || high.is_none() != most.is_none(),
            least: low,
            most: high,
        }
    }

    /// Marks the numbers that are missing, but for NaN, and says whether there are any: a loop for each condition, so that the
    /// compiler takes many numbers at a time.
    fn mark(&self, values: &[T], excluded: &mut [bool]) -> bool {
        fn add<T: Copy>(values: &[T], excluded: &mut [bool], is: impl Fn(T) -> bool) {
            for (excluded, &value) in excluded.iter_mut().zip(values) {
                *excluded |= is(value);
            }
        }
        for (excluded, value) in excluded.iter_mut().zip(values) {
            *excluded = self.none_valid & !value.is_nan();
        }
        for &missing in &self.equal {
            add(values, excluded, |value| value == missing);
        }
        if !self.keys.is_empty() {
            add(values, excluded, |value| self.keys.contains(&value.value().key()));
        }
        if let Some(least) = self.least {
            add(values, excluded, |value| value < least);
        }
        if let Some(most) = self.most {
            add(values, excluded, |value| value > most);
        }
        excluded.iter().fold(false, |found, &excluded| found | excluded)
    }

    /// What a number counts as.
    pub fn class(&self, value: T) -> Class {
        if value.is_nan() {
            return if self.is_nan_missing { Class::Missing } else { Class::Nan };
        }
        if self.mark(&[value], &mut [false]) { Class::Missing } else { Class::Valid }
    }
}

/// What an element counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Valid,
    Nan,
    Missing,
}

/// Some of the numbers of a chunk.
pub(crate) struct Block<'a, T> {
    /// Those that are valid.
    pub valid: &'a [T],
    /// All, the first of which has the position `at`.
    pub all: &'a [T],
    pub at: usize,
    pub nan: u64,
    pub missing: u64,
}

impl<T: PartialEq> Block<'_, T> {
    /// How many of the valid numbers are this one.
    pub(crate) fn count(&self, number: T) -> u64 {
        self.valid.iter().filter(|&value| *value == number).count() as u64
    }
}

/// Calls `each` for one block after the other. With `present`, elements for which it is false are missing.
pub(crate) fn scan<T: Number>(
    bytes: &[u8],
    present: Option<&[bool]>,
    rule: &Rule<T>,
    mut each: impl FnMut(Block<'_, T>),
) {
    let mut all = [T::ZERO; BLOCK];
    let mut kept = [T::ZERO; BLOCK];
    let mut excluded = [false; BLOCK];
    for (n, bytes) in bytes.chunks(BLOCK * T::SIZE).enumerate() {
        if rule.cancel.is_cancelled() {
            return;
        }
        let (at, len) = (n * BLOCK, bytes.len() / T::SIZE);
        for (value, bytes) in all.iter_mut().zip(bytes.chunks_exact(T::SIZE)) {
            *value = T::load(bytes);
        }
        let (all, excluded) = (&all[..len], &mut excluded[..len]);
        let has_nan = all.iter().fold(false, |found, value| found | value.is_nan());
        if !rule.mark(all, excluded) && !has_nan && present.is_none() {
            each(Block { valid: all, all, at, nan: 0, missing: 0 });
            continue;
        }
        if let Some(present) = present {
            for (excluded, present) in excluded.iter_mut().zip(&present[at..]) {
                *excluded |= !present;
            }
        }
        let (mut count, mut nan, mut missing) = (0, 0, 0);
        // No branches: which elements are missing cannot be predicted.
        for (&value, &excluded) in all.iter().zip(&*excluded) {
            let is_nan = value.is_nan();
            let is_missing = excluded | (is_nan & rule.is_nan_missing);
            kept[count] = value;
            count += usize::from(!is_nan & !is_missing);
            nan += u64::from(is_nan & !is_missing);
            missing += u64::from(is_missing);
        }
        each(Block { valid: &kept[..count], all, at, nan, missing });
    }
}

macro_rules! ends {
    ($values:expr) => {{
        let (mut least, mut most) = ($values[0], $values[0]);
        for &value in $values {
            least = if value < least { value } else { least };
            most = if value > most { value } else { most };
        }
        (least, most)
    }};
}

macro_rules! integers {
    ($($T:ty, $flip:expr, $U:ty);*) => {$(
        impl Number for $T {
            const SIZE: usize = size_of::<$T>();
            const ZERO: $T = 0;
            #[inline(always)]
            fn load(bytes: &[u8]) -> $T {
                <$T>::from_ne_bytes(bytes.try_into().expect("a number has as many bytes"))
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
            fn value(self) -> ScalarValue {
                ScalarValue::Integer(self.into())
            }
            fn of(value: ScalarValue) -> Option<$T> {
                match value {
                    ScalarValue::Integer(value) => value.try_into().ok(),
                    ScalarValue::Float(_) => None,
                }
            }
            #[inline(always)]
            fn key(self) -> u64 {
                u64::from(self as $U ^ $flip)
            }
            fn of_key(key: u64) -> $T {
                (key as $U ^ $flip) as $T
            }
            fn tally(values: &[$T]) -> (Moments, $T, $T) {
                let (least, most) = ends!(values);
                (integers::<$T>(values, |value| i64::try_from(value).ok()), least, most)
            }
            fn repeated(self, count: u64) -> Moments {
                let (value, n) = (i128::from(self), i128::from(count));
                match Self::SIZE {
                    8 => Moments::Long { count, sum: value * n, m2: 0.0 },
                    _ => Moments::Exact { count, sum: value * n, squares: (value * value * n) as u128 },
                }
            }
        }
    )*};
}

integers! {
    u8, 0, u8; i8, 1 << 7, u8; u16, 0, u16; i16, 1 << 15, u16; u32, 0, u32; i32, 1 << 31, u32; u64, 0, u64; i64, 1 << 63, u64
}

#[inline(always)]
fn integers<T: Number + Into<i128>>(values: &[T], narrow: impl Fn(T) -> Option<i64>) -> Moments {
    let count = values.len() as u64;
    if T::SIZE == 8 {
        let sum: i128 = values.iter().map(|&value| value.into()).sum();
        let mean = sum.div_euclid(i128::from(count));
        let rest = (sum.rem_euclid(i128::from(count))) as f64 / count as f64;
        let squares = values.iter().map(|&value| {
            let away = (value.into() - mean) as f64 - rest;
            away * away
        });
        return Moments::Long { count, sum, m2: squares.sum() };
    }
    // At most 2^11 numbers of 32 bits. Squares are added in two halves, which 64 bits hold.
    let (mut sum, mut low, mut high) = (0i64, 0u64, 0u64);
    for &value in values {
        let value = narrow(value).unwrap_or(0);
        let square = (value.unsigned_abs()).wrapping_mul(value.unsigned_abs());
        sum += value;
        low += square & 0xffff_ffff;
        high += square >> 32;
    }
    Moments::Exact { count, sum: sum.into(), squares: (u128::from(high) << 32) + u128::from(low) }
}

macro_rules! floats {
    ($($T:ty, $U:ty, $top:expr);*) => {$(
        impl Number for $T {
            const SIZE: usize = size_of::<$T>();
            const ZERO: $T = 0.0;
            #[inline(always)]
            fn load(bytes: &[u8]) -> $T {
                <$T>::from_ne_bytes(bytes.try_into().expect("a number has as many bytes"))
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
            fn value(self) -> ScalarValue {
                ScalarValue::Float(self.into())
            }
            fn of(value: ScalarValue) -> Option<$T> {
                match value {
                    ScalarValue::Float(value) if !value.is_nan() => Some(value as $T),
                    ScalarValue::Integer(value) => Some(value as $T),
                    ScalarValue::Float(_) => None,
                }
            }
            #[inline(always)]
            fn key(self) -> u64 {
                let bits = self.to_bits();
                u64::from(if bits & $top == 0 { bits | $top } else { !bits })
            }
            fn of_key(key: u64) -> $T {
                let key = key as $U;
                <$T>::from_bits(if key & $top == 0 { !key } else { key & !$top })
            }
            fn tally(values: &[$T]) -> (Moments, $T, $T) {
                const LANES: usize = 8;
                let mut least = [values[0]; LANES];
                let mut most = [values[0]; LANES];
                let mut sums = [0f64; LANES];
                let (groups, rest) = values.as_chunks::<LANES>();
                for group in groups {
                    for n in 0..LANES {
                        least[n] = if group[n] < least[n] { group[n] } else { least[n] };
                        most[n] = if group[n] > most[n] { group[n] } else { most[n] };
                        sums[n] += f64::from(group[n]);
                    }
                }
                let mut sum = Twofold::default();
                sums.iter().for_each(|&part| sum = sum.plus(Twofold::of(part)));
                rest.iter().for_each(|&value| sum = sum.plus(Twofold::of(value.into())));
                let mean = sum.value() / values.len() as f64;
                let mut squares = [0f64; LANES];
                let mut drifts = [0f64; LANES];
                for group in groups {
                    for n in 0..LANES {
                        let away = f64::from(group[n]) - mean;
                        squares[n] += away * away;
                        drifts[n] += away;
                    }
                }
                let mut m2: f64 = squares.iter().sum();
                let mut drift: f64 = drifts.iter().sum();
                for &value in rest {
                    let away = f64::from(value) - mean;
                    m2 += away * away;
                    drift += away;
                }
                // The sums above were rounded, and with them the mean: what numbers are off it on average corrects both.
                let count = values.len() as f64;
                if drift.is_finite() {
                    sum = Twofold::product(mean, count).plus(Twofold::of(drift));
                    m2 -= drift * (drift / count);
                }
                let (low, _) = ends!(&least[..]);
                let (_, high) = ends!(&most[..]);
                let (rest_low, rest_high) = match rest {
                    [] => (low, high),
                    rest => ends!(rest),
                };
                let low = if rest_low < low { rest_low } else { low };
                let high = if rest_high > high { rest_high } else { high };
                (Moments::Float { count: values.len() as u64, sum, m2 }, low, high)
            }
            fn repeated(self, count: u64) -> Moments {
                let sum = Twofold::product(f64::from(self), count as f64);
                Moments::Float { count, sum, m2: 0.0 }
            }
        }
    )*};
}

floats! { f32, u32, 1u32 << 31; f64, u64, 1u64 << 63 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_the_numbers() {
        fn check<T: Number + std::fmt::Debug>(sorted: &[T]) {
            for pair in sorted.windows(2) {
                assert!(pair[0].key() < pair[1].key(), "{pair:?}");
            }
            for &value in sorted {
                assert_eq!(T::of_key(value.key()).key(), value.key());
                assert!(T::of_key(value.key()) == value);
            }
        }
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check(&[0, 1, u64::MAX]);
        check(&[f32::NEG_INFINITY, -1.5, -f32::MIN_POSITIVE, 0.0, 1e-40, 2.0, f32::INFINITY]);
        check(&[f64::NEG_INFINITY, -1.5, 0.0, 1e-310, 2.0, f64::INFINITY]);
    }

    #[test]
    fn missing_and_nan_are_counted_apart() {
        let values = [1.0f32, f32::NAN, -9.0, 3.0, 99.0];
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let mut missing = Missing::default();
        missing.add(ScalarValue::Float(-9.0));
        missing.valid_max = Some(ScalarValue::Float(50.0));
        let count = |missing: &Missing, present: Option<&[bool]>| {
            let mut found = (Vec::new(), 0, 0);
            scan(&bytes, present, &Rule::<f32>::new(missing, &CancelToken::new()), |block| {
                found.0.extend(block.valid);
                found.1 += block.nan;
                found.2 += block.missing;
            });
            found
        };
        assert_eq!(count(&missing, None), (vec![1.0, 3.0], 1, 2));
        missing.add(ScalarValue::Float(f64::NAN));
        assert_eq!(count(&missing, None), (vec![1.0, 3.0], 0, 3));
        let present = [true, true, true, false, true];
        assert_eq!(count(&Missing::default(), Some(&present)), (vec![1.0, -9.0, 99.0], 1, 1));
        // A limit that no number reaches leaves nothing valid.
        let mut beyond = Missing::default();
        beyond.valid_min = Some(ScalarValue::Float(f64::NAN));
        assert_eq!(count(&beyond, None), (vec![], 1, 4));
        for missing in [missing, beyond] {
            let rule = Rule::<f32>::new(&missing, &CancelToken::new());
            let of_class =
                |class| values.iter().filter(|&&value| rule.class(value) == class).count();
            let (valid, nan, excluded) = count(&missing, None);
            let classes = [Class::Valid, Class::Nan, Class::Missing].map(of_class);
            assert_eq!(classes, [valid.len(), nan as usize, excluded as usize]);
        }
    }

    /// Few missing values are compared with each number, many are looked up.
    #[test]
    fn as_many_numbers_are_missing_as_are_listed() {
        fn count<T: Number>(elements: &[u8], listed: impl Iterator<Item = ScalarValue>) -> u64 {
            let mut missing = Missing::default();
            listed.for_each(|value| missing.add(value));
            let mut found = 0;
            scan(elements, None, &Rule::<T>::new(&missing, &CancelToken::new()), |block| {
                found += block.missing
            });
            found
        }
        let floats: Vec<u8> = (0..5_000).flat_map(|n| (n as f64 / 2.0).to_ne_bytes()).collect();
        let integers: Vec<u8> = (0..5_000u64).flat_map(|n| (n << 48).to_ne_bytes()).collect();
        for listed in [0, 1, 16, 17, 1_000] {
            let values = (0..listed).map(|n| ScalarValue::Float(-f64::from(n) * -1.0));
            assert_eq!(count::<f64>(&floats, values), listed as u64);
            let values = (0..listed).map(|n| ScalarValue::Integer(i128::from(n) << 48));
            assert_eq!(count::<u64>(&integers, values), listed as u64);
        }
        let zeros = [0.0f32, -0.0].map(f32::to_ne_bytes).concat();
        let values = || (0..100).map(|n| ScalarValue::Float(-f64::from(n)));
        assert_eq!(count::<f32>(&zeros, values()), 2, "minus zero is zero");
        assert_eq!(count::<f32>(&zeros, values().take(1)), 2);
    }

    #[test]
    fn the_moments_of_extreme_integers_are_exact() {
        let (moments, least, most) = u32::tally(&[u32::MAX; BLOCK]);
        let max = u128::from(u32::MAX);
        let squares = max * max * BLOCK as u128;
        assert_eq!(moments, Moments::Exact { count: 2_048, sum: (max * 2_048) as i128, squares });
        assert_eq!((least, most, moments.std(0)), (u32::MAX, u32::MAX, 0.0));
        let (moments, ..) = i64::tally(&[i64::MAX, i64::MAX - 2]);
        assert_eq!((moments.sum(), moments.std(0)), (Ok(i128::from(i64::MAX) * 2 - 2), 1.0));
        let (moments, ..) = i32::tally(&[i32::MIN; 3]);
        assert_eq!(moments.sum(), Ok(3 * i128::from(i32::MIN)));
    }
}

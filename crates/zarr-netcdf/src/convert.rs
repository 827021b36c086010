//! Converts numbers to another type as netCDF-4's library does: all of them, and then it tells whether each was in range.
//!
//! A number that is out of range becomes some number of the new type. A fraction is truncated. NaN, which no integer is, is no
//! error to netCDF, and becomes 0.

use zarr::nczarr::Type;

/// A number that others are made of.
trait Target: Copy {
    fn from_signed(value: i64) -> (Self, bool);
    fn from_unsigned(value: u64) -> (Self, bool);
    fn from_float(value: f64) -> (Self, bool);
    /// Puts its bytes there.
    fn store(self, bytes: &mut [u8]);
}

/// A number as it is in memory.
trait Source: Copy {
    /// The same number as `T`, and whether it is in the range of `T`.
    fn convert<T: Target>(self) -> (T, bool);
    /// The number of these bytes.
    fn load(bytes: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($rust:ty, $wide:ty, $from:ident);* $(;)?) => {$(
        impl Source for $rust {
            fn convert<T: Target>(self) -> (T, bool) {
                T::$from(<$wide>::from(self))
            }
            fn load(bytes: &[u8]) -> Self {
                <$rust>::from_ne_bytes(bytes.try_into().expect("one element has the size of its type"))
            }
        }
    )*};
}

numbers! {
    i8, i64, from_signed; i16, i64, from_signed; i32, i64, from_signed; i64, i64, from_signed;
    u8, u64, from_unsigned; u16, u64, from_unsigned; u32, u64, from_unsigned; u64, u64, from_unsigned;
    f32, f64, from_float; f64, f64, from_float;
}

macro_rules! integers {
    ($($rust:ty)*) => {$(
        impl Target for $rust {
            fn from_signed(value: i64) -> (Self, bool) {
                (value as $rust, <$rust>::try_from(value).is_ok())
            }
            fn from_unsigned(value: u64) -> (Self, bool) {
                (value as $rust, <$rust>::try_from(value).is_ok())
            }
            fn from_float(value: f64) -> (Self, bool) {
                // 2^63 is not less than the largest `i64` as a float, which is rounded up; hence the second condition.
                let is_outside = value > <$rust>::MAX as f64 || value < <$rust>::MIN as f64;
                (value as $rust, !is_outside && <$rust>::try_from(value as i128).is_ok())
            }
            fn store(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

impl Target for f32 {
    fn from_signed(value: i64) -> (f32, bool) {
        (value as f32, true)
    }
    fn from_unsigned(value: u64) -> (f32, bool) {
        (value as f32, true)
    }
    fn from_float(value: f64) -> (f32, bool) {
        // As netCDF has it, an infinite double is out of the range of float.
        (value as f32, value.is_nan() || value.abs() <= f64::from(f32::MAX))
    }
    fn store(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.to_ne_bytes());
    }
}

impl Target for f64 {
    fn from_signed(value: i64) -> (f64, bool) {
        (value as f64, true)
    }
    fn from_unsigned(value: u64) -> (f64, bool) {
        (value as f64, true)
    }
    fn from_float(value: f64) -> (f64, bool) {
        (value, true)
    }
    fn store(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.to_ne_bytes());
    }
}

fn each<S: Source, T: Target>(source: &[u8], target: &mut [u8]) -> bool {
    let places = target.chunks_exact_mut(size_of::<T>());
    let mut is_in_range = true;
    for (bytes, place) in source.chunks_exact(size_of::<S>()).zip(places) {
        let (number, is_kept) = S::load(bytes).convert::<T>();
        number.store(place);
        is_in_range &= is_kept;
    }
    is_in_range
}

/// Runs `$do` with `$T` standing for the Rust type of a type of numbers; `None` for another type.
macro_rules! with_number {
    ($ty:expr, $T:ident => $do:expr) => {
        with_number!(@ $ty, $T => $do; Byte i8, Ubyte u8, Short i16, Ushort u16, Int i32, Uint u32, Int64 i64, Uint64 u64,
            Float f32, Double f64, Bool u8)
    };
    (@ $ty:expr, $T:ident => $do:expr; $($name:ident $rust:ty),*) => {
        match $ty {
            $(Type::$name => {
                type $T = $rust;
                Some($do)
            })*
            _ => None,
        }
    };
}

fn all_to<T: Target>(from: Type, source: &[u8], target: &mut [u8]) -> Option<bool> {
    with_number!(from, S => each::<S, T>(source, target))
}

/// Converts native numbers in a row to as many of another type. Tells whether all are in its range; `None` if one of the
/// types is not one of numbers.
pub fn convert(from: Type, source: &[u8], to: Type, target: &mut [u8]) -> Option<bool> {
    with_number!(to, T => all_to::<T>(from, source, target)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zarr::nczarr::Values;

    fn converted(values: Values, to: Type) -> (Vec<u8>, Option<bool>) {
        let mut target = vec![0; values.len() * to.size().unwrap()];
        let is_in_range = convert(values.ty(), &values.to_ne_bytes(), to, &mut target);
        (target, is_in_range)
    }

    #[track_caller]
    fn check(values: Values, expected: Values, is_in_range: bool) {
        let found = converted(values, expected.ty());
        assert_eq!(found, (expected.to_ne_bytes(), Some(is_in_range)));
    }

    /// As `nc4_convert_type` of netCDF 4.10.1.
    #[test]
    fn numbers_are_converted_and_checked() {
        check(vec![1i8, -1].into(), vec![1u8, 255].into(), false);
        check(vec![200u8, 0].into(), vec![200i32, 0].into(), true);
        check(vec![300i16, 5].into(), vec![44u8, 5].into(), false);
        check(vec![1.9f32, -1.9].into(), vec![1i16, -1].into(), true);
        check(vec![127.5f64].into(), vec![127i8].into(), false);
        check(vec![f64::NAN, 3.0].into(), vec![0i32, 3].into(), true);
        check(vec![9.3e18f64].into(), vec![i64::MAX].into(), false);
        check(vec![9_223_372_036_854_775_808.0f64].into(), vec![i64::MAX].into(), false);
        check(vec![1e300f64, 0.5].into(), vec![f32::INFINITY, 0.5].into(), false);
        check(vec![f64::NEG_INFINITY].into(), vec![f32::NEG_INFINITY].into(), false);
        check(vec![u64::MAX].into(), vec![1.8446744073709552e19f64].into(), true);
        check(vec![u64::MAX].into(), vec![-1i64].into(), false);
        check(vec![true, false].into(), vec![1i64, 0].into(), true);
    }

    #[test]
    fn only_numbers_are_converted() {
        assert_eq!(converted(Values::text("a"), Type::Int).1, None);
        assert_eq!(converted(vec![1i32].into(), Type::Char).1, None);
        assert_eq!(converted(vec![[1f32, 2.0]].into(), Type::Double).1, None);
    }
}

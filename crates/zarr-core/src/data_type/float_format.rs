//! Describes the bit layouts of floats, and rounds numbers to them.
//!
//! One table tells every binary format by the widths of its exponent and mantissa, its bias, and what it
//! has beside finite numbers (F-034, F-052, F-054). Bits stand right-aligned in one, two, four or eight
//! bytes, zeros above them.

use std::cmp::Ordering;
use std::fmt::{self, Write};

/// A binary floating-point format of up to 64 bits.
///
/// ```
/// use zarr_core::data_type::{FloatFormat, Rounding};
///
/// let small = FloatFormat::from_name("float8_e5m2").ok_or("no such format")?;
/// assert_eq!(small.from_f64(-2.0, Rounding::NearestEven), Some(0xc0));
/// assert_eq!(small.to_f64(0x3c), 1.0);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FloatFormat {
    name: &'static str,
    exponent: u32,
    mantissa: u32,
    bias: i32,
    beside: Beside,
}

/// What a format has beside finite numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Beside {
    /// As IEEE 754: the largest exponent is for infinities and NaNs.
    Ieee,
    /// Nothing.
    Nothing,
    /// All bits set but the sign, NaN; no infinity.
    Nan,
    /// What would be minus zero is NaN; no infinity.
    NanForMinusZero,
    /// No sign, no zero, no subnormal number, no infinity; all bits set is NaN.
    Unsigned,
}

/// How a number between two others is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest; halfway, to the one whose last bit is 0.
    #[default]
    NearestEven,
    /// To the nearest; halfway, away from zero.
    NearestAway,
    /// Towards zero.
    TowardsZero,
    /// Up.
    TowardsPositive,
    /// Down.
    TowardsNegative,
}

impl Rounding {
    /// `mantissa` over two to the power of `shift`, of a number of this sign, as an integer.
    pub fn shifted(self, negative: bool, mantissa: u128, shift: u32) -> u128 {
        if shift == 0 {
            return mantissa;
        }
        let whole = mantissa.checked_shr(shift).unwrap_or(0);
        // The fraction, compared with one half.
        let half = 1u128.checked_shl(shift - 1);
        let rest = mantissa - whole.checked_shl(shift).unwrap_or(0);
        let to_half = half.map_or(Ordering::Less, |half| rest.cmp(&half));
        let up = match self {
            Rounding::NearestEven => to_half.is_gt() || to_half.is_eq() && whole & 1 == 1,
            Rounding::NearestAway => to_half.is_ge(),
            Rounding::TowardsZero => false,
            Rounding::TowardsPositive => rest > 0 && !negative,
            Rounding::TowardsNegative => rest > 0 && negative,
        };
        whole + u128::from(up)
    }
}

const fn format(
    name: &'static str,
    exponent: u32,
    mantissa: u32,
    bias: i32,
    beside: Beside,
) -> FloatFormat {
    FloatFormat { name, exponent, mantissa, bias, beside }
}

impl FloatFormat {
    /// IEEE 754's binary16.
    pub const FLOAT16: FloatFormat = format("float16", 5, 10, 15, Beside::Ieee);
    /// IEEE 754's binary32.
    pub const FLOAT32: FloatFormat = format("float32", 8, 23, 127, Beside::Ieee);
    /// IEEE 754's binary64.
    pub const FLOAT64: FloatFormat = format("float64", 11, 52, 1023, Beside::Ieee);
    /// The upper half of binary32.
    pub const BFLOAT16: FloatFormat = format("bfloat16", 8, 7, 127, Beside::Ieee);

    /// Those that are not the core's. All but `float8_e4m3fn`, which is tensorstore's, are in the registry of final v3.
    pub const ALL: [FloatFormat; 12] = [
        FloatFormat::BFLOAT16,
        format("float4_e2m1fn", 2, 1, 1, Beside::Nothing),
        format("float6_e2m3fn", 2, 3, 1, Beside::Nothing),
        format("float6_e3m2fn", 3, 2, 3, Beside::Nothing),
        format("float8_e3m4", 3, 4, 3, Beside::Ieee),
        format("float8_e4m3", 4, 3, 7, Beside::Ieee),
        format("float8_e4m3fn", 4, 3, 7, Beside::Nan),
        format("float8_e4m3b11fnuz", 4, 3, 11, Beside::NanForMinusZero),
        format("float8_e4m3fnuz", 4, 3, 8, Beside::NanForMinusZero),
        format("float8_e5m2", 5, 2, 15, Beside::Ieee),
        format("float8_e5m2fnuz", 5, 2, 16, Beside::NanForMinusZero),
        format("float8_e8m0fnu", 8, 0, 127, Beside::Unsigned),
    ];

    /// The format of this name in [`FloatFormat::ALL`].
    pub fn from_name(name: &str) -> Option<FloatFormat> {
        FloatFormat::ALL.into_iter().find(|format| format.name == name)
    }

    /// Its name in final v3.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Bits of a number.
    pub fn bits(self) -> u32 {
        self.magnitude_bits() + u32::from(self.is_signed())
    }

    /// Bytes of a number.
    pub fn size(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// Bits of the mantissa that are written.
    pub fn mantissa_bits(self) -> u32 {
        self.mantissa
    }

    fn magnitude_bits(self) -> u32 {
        self.exponent + self.mantissa
    }

    fn is_signed(self) -> bool {
        self.beside != Beside::Unsigned
    }

    fn sign(self) -> u64 {
        u64::from(self.is_signed()) << self.magnitude_bits()
    }

    /// The bits that a number has; others are zero.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// NaN as `"NaN"` means it, if there is one.
    pub fn nan(self) -> Option<u64> {
        let exponents = ((1 << self.exponent) - 1) << self.mantissa;
        match self.beside {
            Beside::Ieee => Some(exponents | 1 << (self.mantissa - 1)),
            Beside::Nothing => None,
            Beside::Nan => Some(self.sign() - 1),
            Beside::NanForMinusZero => Some(self.sign()),
            Beside::Unsigned => Some(self.mask()),
        }
    }

    /// Infinity, if there is one.
    pub fn infinity(self) -> Option<u64> {
        (self.beside == Beside::Ieee).then_some(((1 << self.exponent) - 1) << self.mantissa)
    }

    /// The largest finite number.
    pub fn largest(self) -> u64 {
        let all = u64::MAX >> (64 - self.magnitude_bits());
        match self.beside {
            Beside::Ieee => (((1 << self.exponent) - 1) << self.mantissa) - 1,
            Beside::Nothing | Beside::NanForMinusZero => all,
            Beside::Nan | Beside::Unsigned => all - 1,
        }
    }

    /// What a number out of range is clamped to: infinity of its sign, where there is one, else the finite
    /// number nearest to it.
    pub fn limit(self, value: f64) -> u64 {
        let negative = value.is_sign_negative();
        match self.infinity().unwrap_or(self.largest()) {
            // It is below the smallest number.
            _ if !self.is_signed() && value < 1.0 => 0,
            most => most | if negative { self.sign() } else { 0 },
        }
    }

    /// Minus infinity or plus infinity, by the sign of `value`, where there is one.
    pub(crate) fn infinity_like(self, value: f64) -> Option<u64> {
        let sign = if value.is_sign_negative() { self.sign() } else { 0 };
        self.infinity().map(|infinity| infinity | sign)
    }

    /// The number that these bits mean. Only of binary64 some NaNs come out as others.
    pub fn to_f64(self, bits: u64) -> f64 {
        let magnitude = bits & (u64::MAX >> (64 - self.magnitude_bits()));
        let negative = bits & self.sign() != 0;
        let one = 1 << self.mantissa;
        let (exponent, rest) = ((magnitude >> self.mantissa) as i32, magnitude & (one - 1));
        let size = match self.beside {
            Beside::NanForMinusZero if magnitude == 0 && negative => f64::NAN,
            _ if Some(magnitude) == self.infinity() => f64::INFINITY,
            _ if magnitude > self.largest() => f64::NAN,
            Beside::Unsigned => scaled(1, exponent - self.bias),
            _ if exponent == 0 => scaled(rest, 1 - self.bias - self.mantissa as i32),
            _ => scaled(rest | one, exponent - self.bias - self.mantissa as i32),
        };
        if negative { -size } else { size }
    }

    /// The bits of `value`, rounded once; `None` if it lies out of range, or if the format has no such
    /// infinity or NaN. A zero loses its sign where there is none.
    pub fn from_f64(self, value: f64, rounding: Rounding) -> Option<u64> {
        if value.is_nan() {
            return self.nan();
        }
        if value.is_infinite() {
            return self.infinity_like(value);
        }
        let (mantissa, exponent) = parts(value);
        self.rounded(value.is_sign_negative(), mantissa.into(), exponent, rounding)
    }

    /// The bits of the number nearest to decimal text, rounded once; `None` for other text, and for what lies
    /// out of range (F-034, T-25).
    ///
    /// Rounding through 64 bits errs only where that came to lie exactly between two numbers of the format;
    /// there the text itself decides, compared digit by digit with the exact midpoint.
    pub fn from_text(self, text: &str) -> Option<u64> {
        let wide: f64 = text.parse().ok().filter(|wide: &f64| wide.is_finite())?;
        let near = self.from_f64(wide, Rounding::NearestEven);
        if self == FloatFormat::FLOAT64 || near.is_some_and(|bits| self.to_f64(bits) == wide) {
            return near;
        }
        // If a step of f64 to either side rounds alike, so does everything between.
        let below = self.from_f64(wide.next_down(), Rounding::NearestEven);
        let above = self.from_f64(wide.next_up(), Rounding::NearestEven);
        if below == above {
            return near;
        }
        let (smaller, larger) = if wide > 0.0 { (below, above) } else { (above, below) };
        let exact = format!("{:.1074}", wide.abs());
        match compare_decimal(text.trim_start_matches(['-', '+']), &exact) {
            Ordering::Less => smaller,
            Ordering::Greater => larger,
            Ordering::Equal => near,
        }
    }

    /// The bits of an integer, rounded once; `None` if it lies out of range.
    pub fn from_integer(self, value: i128, rounding: Rounding) -> Option<u64> {
        self.rounded(value < 0, value.unsigned_abs(), 0, rounding)
    }

    /// The bits of `mantissa` times two to the power of `exponent`.
    fn rounded(
        self,
        negative: bool,
        mantissa: u128,
        exponent: i32,
        rounding: Rounding,
    ) -> Option<u64> {
        let sign = if negative { self.sign() } else { 0 };
        if mantissa == 0 {
            return match self.beside {
                Beside::Unsigned => None,
                Beside::NanForMinusZero => Some(0),
                _ => Some(sign),
            };
        }
        let width = self.mantissa as i32;
        let top = exponent + mantissa.ilog2() as i32;
        // Below this exponent, numbers are subnormal.
        let least = i32::from(self.is_signed()) - self.bias;
        if !self.is_signed() && (negative || top < least) {
            return None;
        }
        let mut last = top.max(least) - width;
        let mut units = match u32::try_from(last - exponent) {
            Ok(shift) => rounding.shifted(negative, mantissa, shift),
            Err(_) => mantissa << (exponent - last),
        } as u64;
        if units >> (width + 1) == 1 {
            units >>= 1;
            last += 1;
        }
        let one = 1 << self.mantissa;
        let magnitude = if units < one {
            units
        } else {
            let exponent = u64::try_from(last + width + self.bias).ok()?;
            if exponent >> self.exponent != 0 {
                return None;
            }
            exponent << self.mantissa | (units - one)
        };
        match magnitude {
            0 if self.beside == Beside::NanForMinusZero => Some(0),
            _ => (magnitude <= self.largest()).then_some(magnitude | sign),
        }
    }

    /// Prints the number of these bits in the fewest digits that read back as the same bits.
    pub(super) fn write_text(self, bits: u64, out: &mut String) -> fmt::Result {
        match self.to_f64(bits) {
            value if value.is_nan() => out.write_str("NaN"),
            f64::INFINITY => out.write_str("Infinity"),
            f64::NEG_INFINITY => out.write_str("-Infinity"),
            value if self == FloatFormat::FLOAT64 => write!(out, "{value:?}"),
            value if self == FloatFormat::FLOAT32 => write!(out, "{:?}", value as f32),
            value => {
                // The value of the fewest digits that reads back as the same bits.
                let shortest = (0..9)
                    .filter_map(|digits| format!("{value:.digits$e}").parse::<f64>().ok())
                    .find(|&short| self.from_f64(short, Rounding::NearestEven) == Some(bits));
                write!(out, "{:?}", shortest.unwrap_or(value))
            }
        }
    }
}

/// Compares two decimal texts without sign as numbers.
fn compare_decimal(a: &str, b: &str) -> Ordering {
    // (digits without leading or trailing zeros, position of the decimal point)
    fn parts(text: &str) -> (String, i64) {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let leading = digits.len() - digits.trim_start_matches('0').len();
        let point = whole.len() as i64 - leading as i64 + exponent.parse::<i64>().unwrap_or(0);
        (digits[leading..].trim_end_matches('0').to_owned(), point)
    }
    let ((a, a_point), (b, b_point)) = (parts(a), parts(b));
    a_point.cmp(&b_point).then_with(|| a.cmp(&b))
}

/// A finite number without its sign, as an integer times a power of two.
fn parts(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let (exponent, rest) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    match exponent {
        0 => (rest, -1074),
        _ => (rest | 1 << 52, exponent - 1075),
    }
}

/// `units` of up to 53 bits times two to the power of `exponent`, which is exact.
fn scaled(units: u64, exponent: i32) -> f64 {
    if exponent < -1022 {
        // Only binary64 reaches so far down.
        units as f64 * power_of_two(exponent + 52) * power_of_two(-52)
    } else {
        units as f64 * power_of_two(exponent)
    }
}

/// Two to the power of an exponent that a normal number has.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IEEE: [FloatFormat; 3] =
        [FloatFormat::FLOAT16, FloatFormat::FLOAT32, FloatFormat::FLOAT64];

    fn small() -> impl Iterator<Item = FloatFormat> {
        FloatFormat::ALL.into_iter().chain([FloatFormat::FLOAT16])
    }

    fn named(name: &str) -> FloatFormat {
        FloatFormat::from_name(name).unwrap()
    }

    /// F-052, F-054: what ml_dtypes 0.6.0 says of 1.0, NaN, infinity, the largest and the smallest number.
    #[test]
    fn the_table_is_that_of_the_registry() {
        let cases = [
            (
                "bfloat16",
                0x3f80,
                Some(0x7fc0),
                Some(0x7f80),
                3.3895313892515355e38,
                9.183549615799121e-41,
            ),
            ("float4_e2m1fn", 0x02, None, None, 6.0, 0.5),
            ("float6_e2m3fn", 0x08, None, None, 7.5, 0.125),
            ("float6_e3m2fn", 0x0c, None, None, 28.0, 0.0625),
            ("float8_e3m4", 0x30, Some(0x78), Some(0x70), 15.5, 0.015625),
            ("float8_e4m3", 0x38, Some(0x7c), Some(0x78), 240.0, 0.001953125),
            ("float8_e4m3fn", 0x38, Some(0x7f), None, 448.0, 0.001953125),
            ("float8_e4m3b11fnuz", 0x58, Some(0x80), None, 30.0, 0.0001220703125),
            ("float8_e4m3fnuz", 0x40, Some(0x80), None, 240.0, 0.0009765625),
            ("float8_e5m2", 0x3c, Some(0x7e), Some(0x7c), 57344.0, 1.52587890625e-05),
            ("float8_e5m2fnuz", 0x40, Some(0x80), None, 57344.0, 7.62939453125e-06),
            (
                "float8_e8m0fnu",
                0x7f,
                Some(0xff),
                None,
                1.7014118346046923e38,
                5.877471754111438e-39,
            ),
        ];
        assert_eq!(cases.len(), FloatFormat::ALL.len());
        for (name, one, nan, infinity, largest, smallest) in cases {
            let format = named(name);
            assert_eq!(format.from_f64(1.0, Rounding::NearestEven), Some(one), "{name}");
            assert_eq!((format.nan(), format.infinity()), (nan, infinity), "{name}");
            assert_eq!(format.to_f64(format.largest()), largest, "{name}");
            let first = u64::from(name != "float8_e8m0fnu");
            assert_eq!(format.to_f64(first), smallest, "{name}");
        }
    }

    /// ml_dtypes 0.6.0 on the bits of every number, in 64 bits: FNV-1a of their bytes.
    #[test]
    fn every_number_means_what_it_does_elsewhere() {
        let cases = [
            ("bfloat16", 0x5e93c8468f9404d5),
            ("float4_e2m1fn", 0xb7a536e39150e235),
            ("float6_e2m3fn", 0xec0cc051702db885),
            ("float6_e3m2fn", 0xa1716230c365c5f5),
            ("float8_e3m4", 0x2a81af47984dcd75),
            ("float8_e4m3", 0xb7664143e13247d5),
            ("float8_e4m3fn", 0x4d4ded90c4f5d9b5),
            ("float8_e4m3b11fnuz", 0xc834859f7070cbf0),
            ("float8_e4m3fnuz", 0x33a06c4d119992b0),
            ("float8_e5m2", 0x61a099e723174195),
            ("float8_e5m2fnuz", 0x08d9906cc5ea2650),
            ("float8_e8m0fnu", 0x04b7d9d85633d505),
        ];
        for (name, digest) in cases {
            let format = named(name);
            let values = (0..=format.mask()).map(|bits| format.to_f64(bits));
            let bytes = values.flat_map(|value| {
                if value.is_nan() {
                    0x7ff8_0000_0000_0000u64.to_le_bytes()
                } else {
                    value.to_le_bytes()
                }
            });
            let found = bytes.fold(0xcbf2_9ce4_8422_2325u64, |digest, byte| {
                (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            });
            assert_eq!(found, digest, "{name}");
        }
    }

    /// T-25: halfway in 64 bits, but not in the text.
    #[test]
    fn text_is_rounded_once() {
        let single = |text: &str| FloatFormat::FLOAT32.from_text(text).unwrap() as u32;
        assert_eq!(single("1.00000017881393432617187499"), 0x3f80_0001);
        assert_eq!(single("1.00000017881393432617187500"), 0x3f80_0002);
        assert_eq!(single("1.00000017881393432617187501"), 0x3f80_0002);
        let tiny = format!("{:.200}", f64::from_bits(0x3690_0000_0000_0000 - 1));
        for text in [tiny.as_str(), "0.7006492321624085e-45", "7.006492321624086e-46"] {
            let due = text.parse::<f32>().unwrap().to_bits();
            assert_eq!((single(text), single(&format!("-{text}"))), (due, due | 1 << 31), "{text}");
        }
        let brain = |text: &str| FloatFormat::BFLOAT16.from_text(text);
        assert_eq!(brain("1.00390625"), Some(0x3f80));
        assert_eq!(brain("1.00390625000000000000000000001"), Some(0x3f81));
        assert_eq!((brain("1e39"), brain("1e400"), brain("one")), (None, None, None));
    }

    #[test]
    fn every_number_is_nearest_to_itself() {
        for format in small() {
            for bits in 0..=format.mask() {
                let value = format.to_f64(bits);
                for rounding in [Rounding::NearestEven, Rounding::TowardsZero] {
                    let again = format.from_f64(value, rounding);
                    if value.is_nan() {
                        assert_eq!(again, format.nan(), "{format:?} {bits:#x}")
                    } else {
                        assert_eq!(again, Some(bits), "{format:?} {bits:#x}")
                    }
                }
            }
        }
    }

    /// Between two neighbours: a little more than one, halfway, a little less than the other.
    #[test]
    fn numbers_between_two_others_are_rounded_as_told() {
        use Rounding::*;
        for format in small().filter(|format| format.bits() > 4) {
            let bits = |value, rounding| format.from_f64(value, rounding).unwrap();
            for low in 0..format.largest() {
                let (a, b) = (format.to_f64(low), format.to_f64(low + 1));
                let halfway = a + (b - a) / 2.0;
                for (value, nearest) in
                    [(a.next_up(), low), (halfway.next_up(), low + 1), (b.next_down(), low + 1)]
                {
                    assert_eq!(bits(value, NearestEven), nearest);
                    assert_eq!(bits(value, NearestAway), nearest);
                    assert_eq!(bits(value, TowardsZero), low);
                    assert_eq!(bits(value, TowardsNegative), low);
                    assert_eq!(bits(value, TowardsPositive), low + 1);
                    if format.from_f64(-1.0, NearestEven).is_some() && low > 0 {
                        let minus = |rounding| bits(-value, rounding) & !format.sign();
                        assert_eq!(minus(TowardsPositive), low);
                        assert_eq!(minus(TowardsNegative), low + 1);
                    }
                }
                let even = if format.mantissa == 0 { low + 1 } else { low + (low & 1) };
                assert_eq!(bits(halfway, NearestEven), even, "{format:?} {low:#x}");
                assert_eq!(bits(halfway, NearestAway), low + 1);
            }
        }
    }

    /// The processor's own rounding is the oracle.
    #[test]
    fn the_core_formats_round_as_the_machine_does() {
        let mut state = 1u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let value = f64::from_bits(state ^ state >> 32);
            let [half, single, double] = IEEE.map(|f| f.from_f64(value, Rounding::NearestEven));
            if value.is_nan() {
                continue;
            }
            assert_eq!(double, Some(value.to_bits()));
            let infinite = (value as f32).is_infinite() && value.is_finite();
            assert_eq!(single, (!infinite).then_some(u64::from((value as f32).to_bits())));
            // Sums of few bits reach the halves.
            let near = (state >> 40) as f64 * 0.0078125 - 60_000.0;
            let near_half = half::f16::from_f64(near);
            let due = near_half.is_finite().then_some(u64::from(near_half.to_bits()));
            assert_eq!(FloatFormat::FLOAT16.from_f64(near, Rounding::NearestEven), due, "{near}");
            let _ = half;
            let whole = i128::from(state as i64);
            let cast = (state as i64) as f64;
            let found = FloatFormat::FLOAT64.from_integer(whole, Rounding::NearestEven);
            assert_eq!(found, Some(cast.to_bits()));
        }
        let double = FloatFormat::FLOAT64;
        for bits in [0, 1, 1 << 63, 0x000f_ffff_ffff_ffff, 0x7fef_ffff_ffff_ffff, 0x7ff0 << 48] {
            assert_eq!(double.to_f64(bits).to_bits(), bits);
            assert_eq!(double.from_f64(f64::from_bits(bits), Rounding::NearestEven), Some(bits));
        }
    }

    #[test]
    fn what_is_out_of_range_has_no_bits() {
        let even = Rounding::NearestEven;
        let halves = FloatFormat::FLOAT16;
        assert_eq!(halves.from_f64(65519.99, even), Some(0x7bff));
        assert_eq!(halves.from_f64(65520.0, even), None);
        assert_eq!(halves.from_f64(65535.0, Rounding::TowardsZero), Some(0x7bff));
        assert_eq!(halves.limit(1e9), 0x7c00);
        assert_eq!(halves.limit(-1e9), 0xfc00);
        let four = named("float4_e2m1fn");
        assert_eq!((four.limit(9.0), four.limit(-9.0)), (0x07, 0x0f));
        assert_eq!(four.from_f64(f64::NAN, even), None);
        assert_eq!(four.from_f64(f64::INFINITY, even), None);
        let scale = named("float8_e8m0fnu");
        for below in [0.0, -1.0, 1e-40] {
            assert_eq!((scale.from_f64(below, even), scale.limit(below)), (None, 0), "{below}");
        }
        assert_eq!(
            (scale.from_f64(2e38, Rounding::TowardsZero), scale.limit(1e300)),
            (Some(0xfe), 0xfe)
        );
        let uz = named("float8_e5m2fnuz");
        assert_eq!((uz.from_f64(-0.0, even), uz.from_f64(-1e-30, even)), (Some(0), Some(0)));
    }
}

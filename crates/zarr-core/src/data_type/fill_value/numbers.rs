//! How do numbers come from text and bits, rounded once and to the bit?

use half::f16;

use super::Result;
use crate::dialect::Dialect;

/// Bytes written most significant first, as this machine keeps them.
pub(super) fn native(big_endian: &[u8]) -> Vec<u8> {
    let mut bytes = big_endian.to_vec();
    if cfg!(target_endian = "little") {
        bytes.reverse();
    }
    bytes
}

/// The bits of `0x…` or `0b…`, or what is wrong with them; `None` for other text.
pub(super) fn bit_string(text: &str) -> Option<Result<Vec<u8>>> {
    let (digits, radix, per_byte) = match (text.strip_prefix("0x"), text.strip_prefix("0b")) {
        (Some(digits), _) => (digits, 16, 2),
        (_, Some(digits)) => (digits, 2, 8),
        _ => return None,
    };
    let digit = |c: char| c.is_digit(radix);
    if digits.is_empty() || digits.len() % per_byte != 0 || !digits.chars().all(digit) {
        return Some(Err("bits are written with all their digits".into()));
    }
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + per_byte], radix);
    Some(Ok((0..digits.len())
        .step_by(per_byte)
        .map(byte)
        .collect::<std::result::Result<_, _>>()
        .expect("digits")))
}

pub(super) fn bits_of_size(bits: Vec<u8>, size: usize) -> Result<Vec<u8>> {
    match bits.len() == size {
        true => Ok(bits),
        false => Err(format!("{} bytes of bits for a type of {size}", bits.len())),
    }
}

pub(super) fn canonical_nan(size: usize) -> Vec<u8> {
    match size {
        2 => 0x7e00u16.to_be_bytes().to_vec(),
        4 => 0x7fc0_0000u32.to_be_bytes().to_vec(),
        _ => 0x7ff8_0000_0000_0000u64.to_be_bytes().to_vec(),
    }
}

pub(super) fn float_of(size: usize, value: f64) -> Vec<u8> {
    match size {
        2 => half_of(value).to_ne_bytes().to_vec(),
        4 => (value as f32).to_ne_bytes().to_vec(),
        _ => value.to_ne_bytes().to_vec(),
    }
}

pub(super) fn is_decimal(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The float nearest to decimal text, rounded once (F-034, T-25).
pub(super) fn float_of_text(size: usize, text: &str, dialect: Dialect) -> Result<Vec<u8>> {
    let wide: f64 = text.parse().map_err(|_| "not a number")?;
    if wide.is_infinite() {
        return Err("it is too large for 64 bits".into());
    }
    let (bytes, infinite) = match size {
        2 => {
            let value = f16_of_text(text, wide);
            (value.to_ne_bytes().to_vec(), value.is_infinite())
        }
        4 => {
            let value: f32 = text.parse().map_err(|_| "not a number")?;
            (value.to_ne_bytes().to_vec(), value.is_infinite())
        }
        _ => (wide.to_ne_bytes().to_vec(), false),
    };
    // D-113 refuses what overflows; F-034 rounds it to infinity.
    match infinite && dialect == Dialect::Draft {
        true => Err(format!("it is too large for {} bits", 8 * size)),
        false => Ok(bytes),
    }
}

/// Rounding through f64 errs only where that came to lie exactly between two halves; there the text
/// itself decides, compared digit by digit with the exact midpoint.
pub(super) fn f16_of_text(text: &str, wide: f64) -> f16 {
    let near = half_of(wide);
    let (below, above) = (half_of(wide.next_down()), half_of(wide.next_up()));
    // If a step of f64 to either side rounds alike, so does everything between.
    if below == above || near.to_f64() == wide {
        return near;
    }
    // `wide` is a midpoint of halves, hence short in decimal; is the text's size above or below it?
    let (smaller, larger) = if wide > 0.0 { (below, above) } else { (above, below) };
    match compare_decimal(text.trim_start_matches('-'), &format!("{}", wide.abs())) {
        std::cmp::Ordering::Less => smaller,
        std::cmp::Ordering::Greater => larger,
        std::cmp::Ordering::Equal => near,
    }
}

/// The half nearest to `wide`, rounded once: through an f32 whose last bit notes that more follows.
pub(super) fn half_of(wide: f64) -> f16 {
    let near = wide as f32;
    let back = f64::from(near);
    if back == wide || !near.is_finite() {
        return f16::from_f32(near);
    }
    let towards_zero = if back.abs() > wide.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f16::from_f32(f32::from_bits(towards_zero | 1))
}

/// Compares two decimal texts without sign as numbers.
pub(super) fn compare_decimal(a: &str, b: &str) -> std::cmp::Ordering {
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

/// Bytes in lower-case hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

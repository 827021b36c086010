//! Parses numbers from text and bits, rounded once and exact to the bit.

use crate::data_type::FloatFormat;
use crate::dialect::Dialect;

/// A result whose error says what is wrong with the JSON.
pub(super) type Result<T> = std::result::Result<T, String>;

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
    let all_digits = digits.chars().all(|c| c.is_digit(radix));
    if digits.is_empty() || digits.len() % per_byte != 0 || !all_digits {
        return Some(Err("bits are written with all their digits".into()));
    }
    let bytes: std::result::Result<_, _> = (0..digits.len())
        .step_by(per_byte)
        .map(|at| u8::from_str_radix(&digits[at..at + per_byte], radix))
        .collect();
    Some(Ok(bytes.expect("digits")))
}

pub(super) fn bits_of_size(bits: Vec<u8>, size: usize) -> Result<Vec<u8>> {
    if bits.len() == size {
        Ok(bits)
    } else {
        Err(format!("{} bytes of bits for a type of {size}", bits.len()))
    }
}

pub(super) fn is_decimal(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The float nearest to decimal text, rounded once (F-034, T-25).
pub(super) fn float_of_text(format: FloatFormat, text: &str, dialect: Dialect) -> Result<u64> {
    let wide: f64 = text.parse().map_err(|_| "not a number")?;
    if wide.is_infinite() {
        return Err("it is too large for 64 bits".into());
    }
    if let Some(bits) = format.from_text(text) {
        return Ok(bits);
    }
    // D-113 refuses what overflows; F-034 rounds it to infinity.
    if dialect != Dialect::Draft
        && let Some(infinity) = format.infinity_like(wide)
    {
        return Ok(infinity);
    }
    // Where there is no zero, the least number is the nearest to it; tensorstore writes such zeros (F-054).
    if (0.0..1.0).contains(&wide) {
        return Ok(format.limit(wide));
    }
    Err(format!("it is out of range of a {}", format.name()))
}

/// Bytes in lower-case hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

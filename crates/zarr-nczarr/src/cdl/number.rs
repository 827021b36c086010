//! Reads the numbers of CDL: their digits, and the types of their suffixes.

use crate::Type;

/// A number, read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number<'a> {
    /// The value, and the type of its suffix, or the smallest that holds it.
    Integer(i128, Type),
    /// With the digits as written, without sign of its type.
    Float(&'a str),
    Double(&'a str),
    NotFinite(f64, Type),
}

/// The value and type of a number that is written as a word.
pub(super) fn number_of(word: &str) -> Option<(f64, Type)> {
    let (negative, name) = match word.strip_prefix('-') {
        Some(name) => (true, name),
        None => (false, word),
    };
    let (value, ty) = match name {
        "NaN" | "nan" if !negative => (f64::NAN, Type::Double),
        "NaNf" | "nanf" if !negative => (f64::NAN, Type::Float),
        "Infinity" => (f64::INFINITY, Type::Double),
        "Infinityf" | "Inff" => (f64::INFINITY, Type::Float),
        "DoubleInf" if !negative => (f64::INFINITY, Type::Double),
        "FloatInf" if !negative => (f64::INFINITY, Type::Float),
        _ => return None,
    };
    Some((if negative { -value } else { value }, ty))
}

/// The largest double, if the digits are its own, rounded up: with 15 digits they are beyond it.
pub(super) fn largest(digits: &str) -> Option<f64> {
    let unsigned = digits.trim_start_matches(['+', '-']);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() != 1 || fraction.len() > 16 || exponent.trim_start_matches('+') != "308" {
        return None;
    }
    let rounded = format!("{:.*e}", fraction.len(), f64::MAX);
    let is = rounded
        .split_once('e')
        .is_some_and(|(mantissa, _)| mantissa.split_once('.') == Some((whole, fraction)));
    is.then_some(if digits.starts_with('-') { f64::MIN } else { f64::MAX })
}

impl<'a> Number<'a> {
    pub fn read(written: &'a str) -> Result<Number<'a>, String> {
        if let Some((value, ty)) = number_of(written) {
            return Ok(Number::NotFinite(value, ty));
        }
        let unsigned = written.trim_start_matches(['+', '-']);
        let wrong = || format!("invalid number `{written}`");
        if written.len() > unsigned.len() + 1 {
            return Err(wrong());
        }
        if let Some(hex) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
            let digits = hex.trim_end_matches(['u', 'U', 's', 'S', 'l', 'L']);
            let value = u64::from_str_radix(digits, 16).map_err(|_| wrong())?;
            let suffix = integer_suffix(&hex[digits.len()..]).ok_or_else(wrong)?;
            if unsigned.len() < written.len() {
                return Err(format!("`{written}`: a hexadecimal number has no sign"));
            }
            return integer(written, value.into(), suffix.map(|(size, _)| (size, true)));
        }
        let float = unsigned.contains(['.', 'e', 'E']);
        if float {
            let (digits, float) = match written.strip_suffix(['f', 'F']) {
                Some(digits) => (digits, true),
                None => (written.trim_end_matches(['d', 'D', 'l', 'L']), false),
            };
            let known = digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
            if !known || digits.len() + 1 < written.len() || digits.parse::<f64>().is_err() {
                return Err(wrong());
            }
            return Ok(if float { Number::Float(digits) } else { Number::Double(digits) });
        }
        let digits = unsigned.trim_end_matches(|char: char| char.is_ascii_alphabetic());
        let radix = if digits.len() > 1 && digits.starts_with('0') { 8 } else { 10 };
        let Some(suffix) = integer_suffix(&unsigned[digits.len()..]) else {
            let why = format!(
                "`{written}` has no suffix of a number; integers take b, s, l or LL with or without U, and numbers \
                 with a point or an exponent f or d"
            );
            return Err(why);
        };
        let value = match u64::from_str_radix(digits, radix) {
            Ok(value) => i128::from(value),
            Err(_) if radix == 8 => {
                return Err(format!(
                    "invalid octal number `{written}`: a leading 0 makes it octal"
                ));
            }
            Err(_) if digits.is_empty() => return Err(wrong()),
            Err(_) => {
                return Err(format!(
                    "{written} does not fit into 64 bits; write it with a point for a double"
                ));
            }
        };
        let negative = written.starts_with('-');
        if negative && suffix.is_some_and(|(_, unsigned)| unsigned) {
            return Err(format!("`{written}` is negative, and its suffix is of an unsigned type"));
        }
        integer(written, if negative { -value } else { value }, suffix)
    }

    pub fn ty(&self) -> Type {
        match self {
            Number::Integer(_, ty) | Number::NotFinite(_, ty) => *ty,
            Number::Float(_) => Type::Float,
            Number::Double(_) => Type::Double,
        }
    }
}

/// Bytes and whether it is unsigned, of the type that a suffix tells; `Some(None)` for no suffix.
#[allow(clippy::option_option, reason = "no suffix is a good one")]
fn integer_suffix(suffix: &str) -> Option<Option<(usize, bool)>> {
    if suffix.is_empty() {
        return Some(None);
    }
    let lower = suffix.to_ascii_lowercase();
    let size = lower.strip_prefix('u').or_else(|| lower.strip_suffix('u'));
    let unsigned = size.is_some();
    let size = match size.unwrap_or(&lower) {
        "b" => 1,
        "s" => 2,
        "" | "l" => 4,
        "ll" => 8,
        _ => return None,
    };
    Some(Some((size, unsigned)))
}

/// An integer of a suffix's type, or of the type that netCDF's own reader gives it without one.
fn integer<'a>(
    written: &str,
    value: i128,
    suffix: Option<(usize, bool)>,
) -> Result<Number<'a>, String> {
    let Some((size, unsigned)) = suffix else {
        let ty = match value {
            value if i32::try_from(value).is_ok() => Type::Int,
            value if u32::try_from(value).is_ok() => Type::Uint,
            value if value >= 0 => Type::Uint64,
            value if i64::try_from(value).is_ok() => Type::Int64,
            _ => {
                return Err(format!(
                    "{written} does not fit into 64 bits; write it with a point for a double"
                ));
            }
        };
        return Ok(Number::Integer(value, ty));
    };
    let in_32_bits = (i128::from(i32::MIN)..1 << 32).contains(&value);
    // A `long` was once as long as it needed to be.
    let long = size == 4 && written.ends_with(['l', 'L']) && !in_32_bits;
    let size = if long { 8 } else { size };
    let bits = 8 * size as u32;
    let ty = match (size, unsigned) {
        (1, false) => Type::Byte,
        (1, true) => Type::Ubyte,
        (2, false) => Type::Short,
        (2, true) => Type::Ushort,
        (4, false) => Type::Int,
        (4, true) => Type::Uint,
        (_, false) => Type::Int64,
        (_, true) => Type::Uint64,
    };
    if !(-(1_i128 << (bits - 1))..1 << bits).contains(&value) {
        return Err(format!(
            "{written} does not fit into its type, {ty}; use the suffix of a wider one"
        ));
    }
    // Old files write the negative numbers of signed types as unsigned ones, 255b for -1b.
    let wraps = !unsigned && value >= 1 << (bits - 1);
    Ok(Number::Integer(if wraps { value - (1 << bits) } else { value }, ty))
}

//! Writes floating-point numbers with the digits that `ncdump` writes.

use std::fmt::Write;

/// How many significant digits numbers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// Of a float; 7 by default, 9 to read back the same.
    pub float: usize,
    /// Of a double; 15 by default, 17 to read back the same.
    pub double: usize,
}

impl Default for Precision {
    fn default() -> Self {
        Precision { float: 7, double: 15 }
    }
}

/// Appends `value` with up to `digits` significant digits, as C's `%.*g` does.
///
/// With `point` the number has a point, so that it is seen to be no integer, as in `1.` and `1.e+10`.
pub(super) fn push_number(written: &mut String, value: f64, digits: usize, point: bool) {
    if !value.is_finite() {
        written.push_str(match value {
            value if value.is_nan() => "NaN",
            value if value > 0.0 => "Infinity",
            _ => "-Infinity",
        });
        return;
    }
    let digits = digits.max(1);
    let scientific = format!("{:.*e}", digits - 1, value);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let plain = (-4..digits as i32).contains(&exponent);
    let fixed = format!("{:.*}", (digits as i32 - 1 - exponent).max(0) as usize, value);
    let number = if plain { &fixed } else { mantissa };
    let whole = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    written.push_str(whole);
    if point && !whole.contains('.') {
        written.push('.');
    }
    if !plain {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(written, "e{sign}{:02}", exponent.abs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `printf` writes them.
    #[test]
    fn numbers_are_those_of_c() {
        let number = |value, digits, point| {
            let mut written = String::new();
            push_number(&mut written, value, digits, point);
            written
        };
        for (value, digits, plain, pointed) in [
            (0.0, 7, "0", "0."),
            (-0.0, 7, "-0", "-0."),
            (1.0, 15, "1", "1."),
            (100000.0, 7, "100000", "100000."),
            (1e10, 7, "1e+10", "1.e+10"),
            (9999999.6, 7, "1e+07", "1.e+07"),
            (0.00012345, 7, "0.00012345", "0.00012345"),
            (1e-5, 7, "1e-05", "1.e-05"),
            (f64::from(f32::MIN_POSITIVE / 2.0), 7, "5.877472e-39", "5.877472e-39"),
            (1e300, 15, "1e+300", "1.e+300"),
            (std::f64::consts::PI, 15, "3.14159265358979", "3.14159265358979"),
            (0.1, 17, "0.10000000000000001", "0.10000000000000001"),
            (2.5, 1, "2", "2."),
            (f64::NAN, 7, "NaN", "NaN"),
            (f64::NEG_INFINITY, 7, "-Infinity", "-Infinity"),
        ] {
            assert_eq!(number(value, digits, false), plain);
            assert_eq!(number(value, digits, true), pointed);
        }
    }
}

//! How many digits of floating-point numbers people are shown: as many as the data have, and no more than NumPy prints.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

use zarr::{Json, Object};

/// The most significant digits that are shown, as NumPy's default; digits before the decimal point are never dropped.
const MAX_DIGITS: i32 = 8;

/// The most decimals that are taken from a scale factor. A longer one is the result of a computation, such as 1/65534 of a range, and says
/// nothing about the digits of the data.
const MAX_DECIMALS: usize = 7;

/// How many digits are written of a number that is not whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Digits {
    /// All that tell it from its neighbours: for programs.
    #[default]
    All,
    /// At most [`MAX_DIGITS`] that count.
    Short,
    /// Those of packed numbers: this many decimals.
    Decimals(usize),
}

impl Digits {
    /// Short on a terminal, all in a pipe or a file.
    pub fn of_output() -> Digits {
        if io::stdout().is_terminal() { Digits::Short } else { Digits::All }
    }

    /// As these, but of numbers unpacked by `scale_factor` and `add_offset` their decimals; `None` of others.
    pub fn unpacked(self, packed: Option<(f64, f64)>) -> Digits {
        let (Digits::Short, Some((scale, offset))) = (self, packed) else { return self };
        let decimals = decimals(scale).max(decimals(offset));
        if decimals <= MAX_DECIMALS { Digits::Decimals(decimals) } else { self }
    }

    /// A number's text in full, or a shorter one of about the same number. Texts that are no number stay as they are.
    pub fn of_text(self, text: &str) -> Cow<'_, str> {
        // Integers have the digits that they have.
        let is_whole = !text.contains(['.', 'e', 'E']);
        let value = text.parse().ok().filter(|value: &f64| value.is_finite() && !is_whole);
        let (Some(value), true) = (value, self != Digits::All) else { return text.into() };
        let size = value.abs();
        // Beyond these, zeros would hide the digits or stand for some that a double does not have.
        let has_exponent = size != 0.0 && !(1e-5..1e16).contains(&size);
        let short = match self {
            Digits::Decimals(decimals) if !has_exponent => format!("{value:.decimals$}"),
            _ if has_exponent => {
                let rounded = format!("{value:.*e}", MAX_DIGITS as usize - 1);
                let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
                format!("{}e{exponent}", trimmed(mantissa))
            }
            _ if size == 0.0 => return text.into(),
            _ => {
                let decimals = (MAX_DIGITS - 1 - size.log10().floor() as i32).max(0) as usize;
                format!("{value:.decimals$}")
            }
        };
        if has_exponent {
            return if short.len() < text.len() { short.into() } else { text.into() };
        }
        let short = match trimmed(&short) {
            "-0" => "0",
            short => short,
        };
        // What was a float still looks like one.
        if short.contains('.') { short.to_owned().into() } else { format!("{short}.0").into() }
    }

    /// JSON with the numbers in it shortened.
    pub fn of_json(self, json: &Json) -> Json {
        match json {
            Json::Number(number) => Json::Number(self.of_text(number).into_owned().into()),
            Json::Array(items) => items.iter().map(|item| self.of_json(item)).collect(),
            Json::Object(members) => {
                let members = members.iter();
                let shown = members.map(|(name, value)| (name.to_owned(), self.of_json(value)));
                Json::from(shown.collect::<Object>())
            }
            other => other.clone(),
        }
    }

    /// A number for people: `273.15`, `1013`, `NaN`.
    pub fn of_float(self, value: f64) -> String {
        // Above 10¹⁶ zeros would stand for digits that a double does not have; of very small numbers they hide the others.
        let is_usual = value == 0.0 || (1e-5..1e16).contains(&value.abs()) || !value.is_finite();
        let text = if is_usual { format!("{value}") } else { format!("{value:e}") };
        let short = self.of_text(&text);
        short.strip_suffix(".0").unwrap_or(&short).to_owned()
    }
}

/// A number with a decimal point, without the zeros at its end.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// The decimals of the shortest text of a number. One that was stored with 32 bits has those of its shortest text.
fn decimals(value: f64) -> usize {
    let narrow = value as f32;
    let text = if f64::from(narrow) == value { format!("{narrow}") } else { format!("{value}") };
    text.split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_eight_digits_count() {
        for (text, short) in [
            ("273.14999999999998", "273.15"),
            ("0.10000000149011612", "0.1"),
            ("-0.1234567891", "-0.12345679"),
            ("0.00012345678912", "0.00012345679"),
            ("123456789.75", "123456790.0"),
            ("99999.9999999", "100000.0"),
            ("7.0", "7.0"),
            ("-0.0", "-0.0"),
            ("0.5", "0.5"),
            ("1.2345678912e-30", "1.2345679e-30"),
            ("1e300", "1e300"),
            ("1.5000000000001e300", "1.5e300"),
            ("12345678901", "12345678901"),
            ("NaN", "NaN"),
            ("Infinity", "Infinity"),
            ("2020-01-01", "2020-01-01"),
        ] {
            assert_eq!(Digits::Short.of_text(text), short);
            assert_eq!(Digits::All.of_text(text), text);
        }
    }

    #[test]
    fn packed_numbers_have_the_decimals_of_their_scale() {
        let digits = |scale, offset| Digits::Short.unpacked(Some((scale, offset)));
        assert_eq!(digits(0.01, 273.15), Digits::Decimals(2));
        assert_eq!(digits(f64::from(0.01f32), 0.0), Digits::Decimals(2));
        assert_eq!(digits(0.5, 1.25), Digits::Decimals(2));
        assert_eq!(digits(10.0, 0.0), Digits::Decimals(0));
        assert_eq!(digits(0.001_714_355_12, 280.0), Digits::Short);
        assert_eq!(Digits::All.unpacked(Some((0.01, 0.0))), Digits::All);
        assert_eq!(Digits::Short.unpacked(None), Digits::Short);
        let two = Digits::Decimals(2);
        assert_eq!(two.of_text("12345678.910000001"), "12345678.91");
        assert_eq!(two.of_text("279.99999999999994"), "280.0");
        assert_eq!(two.of_text("-0.0000001"), "-1e-7");
        assert_eq!(two.of_text("-0.0001"), "0.0");
    }

    #[test]
    fn numbers_of_people_need_no_zero_behind_the_point() {
        for (value, all, short) in [
            (280.0, "280", "280"),
            (0.1 + 0.2, "0.30000000000000004", "0.3"),
            (1.0 / 3.0, "0.3333333333333333", "0.33333333"),
            (2e20, "2e20", "2e20"),
            (1e-300, "1e-300", "1e-300"),
            (-2.5e-6, "-2.5e-6", "-2.5e-6"),
            (0.00025, "0.00025", "0.00025"),
            (1e15, "1000000000000000", "1000000000000000"),
            (-0.0, "-0", "-0"),
            (f64::NAN, "NaN", "NaN"),
            (f64::INFINITY, "inf", "inf"),
        ] {
            assert_eq!(Digits::All.of_float(value), all);
            assert_eq!(Digits::Short.of_float(value), short);
        }
    }
}

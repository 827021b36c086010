//! What do netCDF's libraries write that is not quite JSON? (N-053)

/// What a bare `NaN` is among attributes, where a string is text: a number that nobody writes.
pub(crate) const BARE_NAN: &str = "0e-999999999";
/// What a bare `Infinity` is there: a number that no double holds.
pub(crate) const BARE_INFINITY: &str = "1e999999999";
/// What a bare `-Infinity` is there.
pub(crate) const BARE_MINUS_INFINITY: &str = "-1e999999999";

/// What bare `NaN`, `Infinity` and `-Infinity` become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bare {
    /// Strings of these words: fill values are said so.
    Strings,
    /// Numbers, told from strings.
    Numbers,
}

/// The text with bare `NaN`, `Infinity` and `-Infinity` replaced, `True` and `False` in small letters, digits on both
/// sides of every decimal point, and control characters in strings escaped, as netcdf-c 4.10 does not; `None` if it
/// has other words that JSON has not.
pub(crate) fn to_json(text: &str, bare: Bare) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.trim_end_matches('\0');
    while let Some(c) = rest.chars().next() {
        let len = match c {
            '"' => {
                let len = string(rest)?;
                escape(&rest[..len], &mut out);
                rest = &rest[len..];
                continue;
            }
            c if c.is_ascii_alphanumeric() || ['+', '-', '.'].contains(&c) => {
                let is_word = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
                let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                out.push_str(&word(&rest[..len], bare)?);
                rest = &rest[len..];
                continue;
            }
            c => c.len_utf8(),
        };
        out.push_str(&rest[..len]);
        rest = &rest[len..];
    }
    Some(out)
}

/// How long the string is that the text begins with.
fn string(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match (escaped, c) {
            (true, _) => escaped = false,
            (false, '\\') => escaped = true,
            (false, '"') => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Appends a string, no control character in it bare.
fn escape(string: &str, out: &mut String) {
    for c in string.chars() {
        match c < ' ' {
            true => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
    }
}

fn word(word: &str, bare: Bare) -> Option<String> {
    Some(match word {
        "true" | "false" | "null" => word.to_owned(),
        "True" => "true".to_owned(),
        "False" => "false".to_owned(),
        "NaN" | "Infinity" | "-Infinity" if bare == Bare::Strings => format!("\"{word}\""),
        "NaN" => BARE_NAN.to_owned(),
        "Infinity" => BARE_INFINITY.to_owned(),
        "-Infinity" => BARE_MINUS_INFINITY.to_owned(),
        number => {
            let (sign, digits) = match number.strip_prefix('-') {
                Some(digits) => ("-", digits),
                None => ("", number),
            };
            let at = digits.find(['e', 'E']).unwrap_or(digits.len());
            let (mantissa, exponent) = digits.split_at(at);
            let mantissa = match mantissa.split_once('.') {
                None => mantissa.to_owned(),
                Some(("", "")) => return None,
                Some((whole, "")) => format!("{whole}.0"),
                Some(("", fraction)) => format!("0.{fraction}"),
                Some(_) => mantissa.to_owned(),
            };
            format!("{sign}{mantissa}{exponent}")
        }
    })
}

#[cfg(test)]
mod tests {
    use zarr_core::Json;

    use super::*;

    /// N-053: these and no others.
    #[test]
    fn a_few_words_are_forgiven() {
        let text =
            r#"{"a": [0., .5, -.5e3, 1e5, -Infinity], "NaN. True": NaN, "b\"": False, "c": True} "#;
        let json = Json::parse(to_json(text, Bare::Strings).unwrap().as_bytes()).unwrap();
        let due =
            r#"{"a":[0.0,0.5,-0.5e3,1e5,"-Infinity"],"NaN. True":"NaN","b\"":false,"c":true}"#;
        assert_eq!(json.to_string(), due);
        // As netcdf-c 4.10.1 wrote an attribute of the characters 7 and 1.
        let text = to_json("{\"a\": \"x\u{7}\u{1}y\\n\"}", Bare::Numbers).unwrap();
        assert_eq!(text, "{\"a\": \"x\\u0007\\u0001y\\n\"}");
        for bad in ["{'a': 1}", "[.]", "[nan]", "[None]", "[0x1]", "\"open", "[1 2]", "[--1]"] {
            let forgiven =
                to_json(bad, Bare::Numbers).map(|text| Json::parse(text.as_bytes()).is_ok());
            assert!(forgiven != Some(true), "{bad}");
        }
    }
}

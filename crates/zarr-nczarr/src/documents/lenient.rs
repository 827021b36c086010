//! Turns what netCDF's libraries write as almost JSON into JSON (N-053).

/// The text with `True` and `False` in small letters, digits on both sides of every decimal point, and control
/// characters in strings escaped, as netcdf-c 4.10 does not; `None` if it has other words that JSON has not, but for
/// bare `NaN`, `Infinity` and `-Infinity`, which stay.
pub(crate) fn to_json(text: &str) -> Option<String> {
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
                let len = rest
                    .find(|c: char| !(c.is_ascii_alphanumeric() || "+-._".contains(c)))
                    .unwrap_or(rest.len());
                out.push_str(&word(&rest[..len])?);
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
        if c < ' ' { out.push_str(&format!("\\u{:04x}", u32::from(c))) } else { out.push(c) }
    }
}

fn word(word: &str) -> Option<String> {
    Some(match word {
        "true" | "false" | "null" | "NaN" | "Infinity" | "-Infinity" => word.to_owned(),
        "True" => "true".to_owned(),
        "False" => "false".to_owned(),
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
        let (json, _) = Json::parse_tolerant(to_json(text).unwrap().as_bytes()).unwrap();
        let due = r#"{"a":[0.0,0.5,-0.5e3,1e5,-Infinity],"NaN. True":NaN,"b\"":false,"c":true}"#;
        assert_eq!(json.to_string(), due);
        // As netcdf-c 4.10.1 wrote an attribute of the characters 7 and 1.
        let text = to_json("{\"a\": \"x\u{7}\u{1}y\\n\"}").unwrap();
        assert_eq!(text, "{\"a\": \"x\\u0007\\u0001y\\n\"}");
        for bad in ["{'a': 1}", "[.]", "[nan]", "[None]", "[0x1]", "\"open", "[1 2]", "[--1]"] {
            let forgiven = to_json(bad).map(|text| Json::parse_tolerant(text.as_bytes()).is_ok());
            assert!(forgiven != Some(true), "{bad}");
        }
    }
}

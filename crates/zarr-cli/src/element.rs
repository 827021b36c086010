//! Writes one element in JSON and CSV, and reads it back.
//!
//! Integers are exact. Floats are the shortest text that reads back as the same number; what JSON has
//! no number for is `"NaN"`, `"Infinity"`, `"-Infinity"`. Complex numbers are `[real, imaginary]`.
//! Bytes of fixed length are text without the NULs that pad them, or `{"base64": "…"}` where they are
//! no UTF-8; those of any length, too. Bytes without meaning are base64. Lists of any length are lists. Moments are dates in ISO 8601 as fine as their unit, spans
//! of time are whole numbers of their steps; no time is `"NaT"`.

use std::fmt::Write;

use zarr::data_type::{DataType, Endian, FloatFormat, NumpyTime, Repr, Rounding, TimeKind};
use zarr::data_type::{base64_decode, base64_encode};
use zarr::{Dialect, Json, Object};

use crate::calendar;

/// What the bytes of an element mean. All of them are little-endian here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    /// So many bits, in as few bytes as hold them; what is above them counts for nothing.
    Int(u32),
    Uint(u32),
    Float(FloatFormat),
    Complex(FloatFormat),
    /// Bytes padded with NULs.
    Bytes(usize),
    /// Code points of four bytes, padded with NULs.
    Text(usize),
    Raw(usize),
    /// Counts of a unit of time.
    Time(NumpyTime),
    /// Any number of bytes, each element after its length.
    Long(Long),
}

/// What an element of any length is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Long {
    Text,
    Bytes,
    Json,
    Items(Item),
}

/// What a list of any length is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Bool,
    Int(u32),
    Uint(u32),
    Float(FloatFormat),
}

impl Item {
    fn kind(self) -> Kind {
        match self {
            Item::Bool => Kind::Bool,
            Item::Int(n) => Kind::Int(n),
            Item::Uint(n) => Kind::Uint(n),
            Item::Float(n) => Kind::Float(n),
        }
    }

    /// The items of a type called `array of …`.
    fn of(name: &str) -> Option<Item> {
        Some(match name.strip_prefix("array of ")? {
            "bool" => Item::Bool,
            "float16" => Item::Float(FloatFormat::FLOAT16),
            "float32" => Item::Float(FloatFormat::FLOAT32),
            "float64" => Item::Float(FloatFormat::FLOAT64),
            name if name.starts_with("int") => Item::Int(name[3..].parse().ok()?),
            name if name.starts_with("uint") => Item::Uint(name[4..].parse().ok()?),
            _ => return None,
        })
    }
}

/// Bytes before an element of any length: how many it has.
pub(crate) const LENGTH: usize = 4;

/// How an element is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Json,
    Csv,
}

impl Kind {
    /// The kind of elements that a type has; `None` if nobody here knows the type.
    pub fn of(data_type: &DataType) -> Option<Kind> {
        let repr = data_type.repr()?;
        let words = data_type.spelling(Dialect::V2, Endian::Little);
        let words = words.as_ref().and_then(Json::as_str);
        let fixed_bytes = words.is_some_and(|words| words.starts_with("|S"));
        if let (Repr::Int(8), Some(time)) = (repr, words.and_then(NumpyTime::from_typestr)) {
            return Some(Kind::Time(time));
        }
        if repr == Repr::Variable {
            let name = data_type.to_string();
            return Some(Kind::Long(match name.as_str() {
                "string" => Long::Text,
                "json" => Long::Json,
                name => Item::of(name).map_or(Long::Bytes, Long::Items),
            }));
        }
        Some(match repr {
            Repr::Bool => Kind::Bool,
            Repr::Int(n @ (1 | 2 | 4 | 8)) => Kind::Int(8 * n as u32),
            Repr::Uint(n @ (1 | 2 | 4 | 8)) => Kind::Uint(8 * n as u32),
            Repr::IntBits(bits) => Kind::Int(bits),
            Repr::UintBits(bits) => Kind::Uint(bits),
            Repr::Float(2) => Kind::Float(FloatFormat::FLOAT16),
            Repr::Float(4) => Kind::Float(FloatFormat::FLOAT32),
            Repr::Float(8) => Kind::Float(FloatFormat::FLOAT64),
            Repr::FloatOf(format) => Kind::Float(format),
            Repr::Complex(4) => Kind::Complex(FloatFormat::FLOAT16),
            Repr::Complex(8) => Kind::Complex(FloatFormat::FLOAT32),
            Repr::Complex(16) => Kind::Complex(FloatFormat::FLOAT64),
            Repr::ComplexOf(format) => Kind::Complex(format),
            Repr::Opaque(n) if fixed_bytes => Kind::Bytes(n),
            Repr::Utf32(n) => Kind::Text(n),
            other => Kind::Raw(other.size()),
        })
    }

    /// Bytes in an element; about as many, if it has any length.
    pub fn size(self) -> usize {
        match self {
            Kind::Long(_) => 256,
            Kind::Bool => 1,
            Kind::Text(n) => 4 * n,
            Kind::Time(_) => 8,
            Kind::Int(bits) | Kind::Uint(bits) => bits.div_ceil(8) as usize,
            Kind::Float(format) => format.size(),
            Kind::Complex(format) => 2 * format.size(),
            Kind::Bytes(n) | Kind::Raw(n) => n,
        }
    }

    /// Appends an element, as [`crate::record::Item::split`] gives it, to `out`.
    pub fn say(self, element: &[u8], style: Style, out: &mut String) {
        // Writing into a string does not fail.
        let _ = match self {
            Kind::Bool => write!(out, "{}", element.first().is_some_and(|&b| b != 0)),
            Kind::Int(bits) => write!(out, "{}", signed(element, bits)),
            Kind::Uint(_) => write!(out, "{}", unsigned(element)),
            Kind::Float(format) => {
                say_float(format, element, style, out);
                Ok(())
            }
            Kind::Complex(format) => {
                say_complex(format, element, style, out);
                Ok(())
            }
            Kind::Bytes(_) => {
                let end = element.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
                match std::str::from_utf8(&element[..end]) {
                    Ok(text) => say_text(text, style, out),
                    Err(_) => say_base64(element, style, out),
                }
                Ok(())
            }
            Kind::Long(long) => {
                say_long(long, element.get(LENGTH..).unwrap_or_default(), style, out);
                Ok(())
            }
            Kind::Text(_) => {
                let (units, _) = element.as_chunks::<4>();
                let text: String = units
                    .iter()
                    .map(|u| char::from_u32(u32::from_le_bytes(*u)).unwrap_or('\u{fffd}'))
                    .collect();
                say_text(text.trim_end_matches('\0'), style, out);
                Ok(())
            }
            Kind::Raw(_) => {
                say_text(&base64_encode(element), style, out);
                Ok(())
            }
            Kind::Time(time) => {
                let text = calendar::text(time, signed(element, 64));
                match time.kind {
                    TimeKind::Timedelta if text != "NaT" => out.push_str(&text),
                    _ => say_text(&text, style, out),
                }
                Ok(())
            }
        };
    }

    /// Appends the bytes of the element that `json` means to `out`, or says why it means none.
    pub fn read(self, json: &Json, out: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Kind::Bool => match json.as_bool() {
                Some(value) => out.push(u8::from(value)),
                None => return Err(wrong(json, "true or false")),
            },
            Kind::Int(bits) => {
                let value = whole(json).ok_or_else(|| wrong(json, "a whole number"))?;
                let half = 1i128 << (bits - 1);
                if !(-half..half).contains(&value) {
                    return Err(format!("{} does not fit an int{bits}", json.brief()));
                }
                out.extend_from_slice(&value.to_le_bytes()[..self.size()]);
            }
            Kind::Uint(bits) => {
                let value = whole(json).ok_or_else(|| wrong(json, "a whole number"))?;
                if !(0..1i128 << bits).contains(&value) {
                    return Err(format!("{} does not fit a uint{bits}", json.brief()));
                }
                out.extend_from_slice(&value.to_le_bytes()[..self.size()]);
            }
            Kind::Float(format) => read_float(json, format, out)?,
            Kind::Complex(format) => match json.as_array() {
                Some([real, imaginary]) => {
                    read_float(real, format, out)?;
                    read_float(imaginary, format, out)?;
                }
                _ => return Err(wrong(json, "[real, imaginary]")),
            },
            Kind::Bytes(n) => {
                pad(&read_bytes(json)?, n, json, out)?;
            }
            Kind::Long(long) => {
                let element = match long {
                    Long::Text => match json.as_str() {
                        Some(text) => text.as_bytes().to_vec(),
                        None => return Err(wrong(json, "text")),
                    },
                    Long::Bytes => read_bytes(json)?,
                    Long::Json => json.to_string().into_bytes(),
                    Long::Items(item) => {
                        let items = json.as_array().ok_or_else(|| wrong(json, "a list"))?;
                        let mut bytes = Vec::new();
                        items.iter().try_for_each(|json| item.kind().read(json, &mut bytes))?;
                        bytes
                    }
                };
                let length = u32::try_from(element.len());
                let length = length.map_err(|_| format!("{} is too long", json.brief()))?;
                out.extend_from_slice(&length.to_le_bytes());
                out.extend_from_slice(&element);
            }
            Kind::Text(n) => {
                let text = json.as_str().ok_or_else(|| wrong(json, "text"))?;
                let bytes: Vec<u8> =
                    text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
                pad(&bytes, 4 * n, json, out)?;
            }
            Kind::Raw(n) => {
                let bytes = json.as_str().and_then(base64_decode);
                match bytes {
                    Some(bytes) if bytes.len() == n => out.extend_from_slice(&bytes),
                    _ => return Err(wrong(json, &format!("the base64 text of {n} bytes"))),
                }
            }
            Kind::Time(time) => {
                let count = match (json.as_str(), whole(json)) {
                    (Some(text), _) => calendar::count(time, text)?,
                    (None, Some(count)) => i64::try_from(count)
                        .map_err(|_| format!("{} does not fit a {time}", json.brief()))?,
                    _ if time.kind == TimeKind::Timedelta => {
                        return Err(wrong(json, "a whole number or \"NaT\""));
                    }
                    _ => return Err(wrong(json, "a date, \"NaT\" or a whole number")),
                };
                out.extend_from_slice(&count.to_le_bytes());
            }
        }
        Ok(())
    }
}

fn read_bytes(json: &Json) -> Result<Vec<u8>, String> {
    let encoded = json.as_object().and_then(|o| o.get("base64")).and_then(Json::as_str);
    match (json.as_str(), encoded.map(base64_decode)) {
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (None, Some(Some(bytes))) => Ok(bytes),
        _ => Err(wrong(json, "text or {\"base64\": text}")),
    }
}

fn say_base64(bytes: &[u8], style: Style, out: &mut String) {
    match style {
        Style::Csv => out.push_str(&base64_encode(bytes)),
        Style::Json => {
            let object = Object::new().with("base64", base64_encode(bytes));
            out.push_str(&Json::from(object).to_string());
        }
    }
}

fn say_long(long: Long, element: &[u8], style: Style, out: &mut String) {
    let text = std::str::from_utf8(element);
    match (long, text, style) {
        (Long::Text | Long::Bytes, Ok(text), _) => say_text(text, style, out),
        (Long::Json, Ok(""), _) => out.push_str("null"),
        (Long::Json, Ok(text), Style::Json) => out.push_str(text),
        (Long::Json, Ok(text), Style::Csv) => say_text(text, style, out),
        (Long::Items(item), ..) => {
            let mut list = String::from("[");
            for (n, one) in element.chunks_exact(item.kind().size()).enumerate() {
                list.push_str(if n == 0 { "" } else { "," });
                item.kind().say(one, Style::Json, &mut list);
            }
            list.push(']');
            match style {
                Style::Json => out.push_str(&list),
                Style::Csv => say_text(&list, style, out),
            }
        }
        (_, Err(_), _) => say_base64(element, style, out),
    }
}

fn wrong(json: &Json, due: &str) -> String {
    format!("{} stands where {due} is due", json.brief())
}

fn pad(bytes: &[u8], size: usize, json: &Json, out: &mut Vec<u8>) -> Result<(), String> {
    if bytes.len() > size {
        return Err(format!("{} is longer than an element", json.brief()));
    }
    out.extend_from_slice(bytes);
    out.resize(out.len() + size - bytes.len(), 0);
    Ok(())
}

fn unsigned(element: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..element.len()].copy_from_slice(element);
    u64::from_le_bytes(bytes)
}

fn signed(element: &[u8], bits: u32) -> i64 {
    let unused = 64 - bits;
    (unsigned(element) << unused) as i64 >> unused
}

/// A whole number, also one written as `3.0` or `1e3` as long as a float holds it exactly.
fn whole(json: &Json) -> Option<i128> {
    let text = json.as_number()?;
    text.parse().ok().or_else(|| {
        let value: f64 = text.parse().ok()?;
        (value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0).then_some(value as i128)
    })
}

/// The shortest text that reads back as the same number, `NaN`, `Infinity` or `-Infinity`.
fn float_text(format: FloatFormat, element: &[u8]) -> String {
    let bits = unsigned(element);
    match format.to_f64(bits) {
        value if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        value => match format {
            FloatFormat::FLOAT64 => format!("{value:?}"),
            FloatFormat::FLOAT32 => format!("{:?}", value as f32),
            _ => format!("{:?}", shortest(format, bits, value)),
        },
    }
}

/// What the fewest digits say that mean the same bits.
fn shortest(format: FloatFormat, bits: u64, value: f64) -> f64 {
    let digits = (0..9).map(|n| format!("{value:.n$e}"));
    let mut short = digits.filter_map(|text| text.parse::<f64>().ok());
    let same = |short: &f64| format.from_f64(*short, Rounding::NearestEven) == Some(bits);
    short.find(same).unwrap_or(value)
}

fn say_float(format: FloatFormat, element: &[u8], style: Style, out: &mut String) {
    let text = float_text(format, element);
    let is_number = !text.ends_with(['N', 'y']);
    match (is_number, style) {
        (true, _) | (_, Style::Csv) => out.push_str(&text),
        (false, Style::Json) => {
            let _ = write!(out, "\"{text}\"");
        }
    }
}

fn say_complex(format: FloatFormat, element: &[u8], style: Style, out: &mut String) {
    let (real, imaginary) = element.split_at(format.size());
    match style {
        Style::Json => {
            out.push('[');
            say_float(format, real, style, out);
            out.push(',');
            say_float(format, imaginary, style, out);
            out.push(']');
        }
        Style::Csv => {
            let imaginary = float_text(format, imaginary);
            let sign = if imaginary.starts_with('-') { "" } else { "+" };
            let _ = write!(out, "{}{sign}{imaginary}j", float_text(format, real));
        }
    }
}

pub(crate) fn say_text(text: &str, style: Style, out: &mut String) {
    match style {
        Style::Json => out.push_str(&Json::from(text).to_string()),
        Style::Csv if text.contains([',', '"', '\n', '\r']) => {
            let _ = write!(out, "\"{}\"", text.replace('"', "\"\""));
        }
        Style::Csv => out.push_str(text),
    }
}

fn read_float(json: &Json, format: FloatFormat, out: &mut Vec<u8>) -> Result<(), String> {
    let due = "a number, \"NaN\", \"Infinity\" or \"-Infinity\"";
    let bits = match json {
        // Text is rounded once: to 64 bits and then to fewer is not the same.
        Json::Number(text) => format.from_text(text),
        Json::String(text) if ["NaN", "Infinity", "-Infinity"].contains(&&**text) => {
            let value = text.parse().map_err(|_| wrong(json, due))?;
            format.from_f64(value, Rounding::NearestEven)
        }
        _ => return Err(wrong(json, due)),
    };
    let why = || format!("{} does not fit a {}", json.brief(), format.name());
    out.extend_from_slice(&bits.ok_or_else(why)?.to_le_bytes()[..format.size()]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(kind: Kind, element: &[u8], style: Style) -> String {
        let mut out = String::new();
        kind.say(element, style, &mut out);
        out
    }

    fn json(kind: Kind, element: &[u8]) -> String {
        let text = said(kind, element, Style::Json);
        let mut back = Vec::new();
        kind.read(&Json::parse(text.as_bytes()).unwrap(), &mut back).unwrap();
        assert_eq!(back, element, "{text}");
        text
    }

    #[test]
    fn elements_are_said_in_json_and_read_back() {
        assert_eq!(json(Kind::Bool, &[1]), "true");
        assert_eq!(json(Kind::Int(8), &[0x80]), "-128");
        assert_eq!(json(Kind::Int(64), &i64::MIN.to_le_bytes()), "-9223372036854775808");
        assert_eq!(json(Kind::Uint(64), &u64::MAX.to_le_bytes()), "18446744073709551615");
        assert_eq!(json(Kind::Float(FloatFormat::FLOAT64), &0.1f64.to_le_bytes()), "0.1");
        assert_eq!(json(Kind::Float(FloatFormat::FLOAT64), &1e300f64.to_le_bytes()), "1e300");
        assert_eq!(json(Kind::Float(FloatFormat::FLOAT32), &0.1f32.to_le_bytes()), "0.1");
        assert_eq!(json(Kind::Float(FloatFormat::FLOAT16), &[0x66, 0x2e]), "0.1");
        assert_eq!(json(Kind::Float(FloatFormat::FLOAT16), &[0xff, 0x7b]), "65500.0");
        assert_eq!(json(Kind::Float(FloatFormat::FLOAT32), &(-0.0f32).to_le_bytes()), "-0.0");
        assert_eq!(
            json(Kind::Float(FloatFormat::FLOAT32), &f32::NEG_INFINITY.to_le_bytes()),
            "\"-Infinity\""
        );
        assert_eq!(json(Kind::Float(FloatFormat::FLOAT64), &f64::NAN.to_le_bytes()), "\"NaN\"");
        let mut complex = 1.5f32.to_le_bytes().to_vec();
        complex.extend(f32::INFINITY.to_le_bytes());
        assert_eq!(json(Kind::Complex(FloatFormat::FLOAT32), &complex), "[1.5,\"Infinity\"]");
        assert_eq!(json(Kind::Bytes(4), b"ab\0\0"), "\"ab\"");
        assert_eq!(json(Kind::Bytes(2), b"\xff\0"), "{\"base64\":\"/wA=\"}");
        // Z2-034: zeros at the end are padding, zeros within are not.
        assert_eq!(json(Kind::Bytes(4), b"a\0b\0"), "\"a\\u0000b\"");
        assert_eq!(json(Kind::Text(2), b"\xe9\0\0\0\0\0\0\0"), "\"é\"");
        assert_eq!(json(Kind::Text(2), b"\0\0\0\0\xe9\0\0\0"), "\"\\u0000é\"");
        assert_eq!(json(Kind::Raw(3), &[1, 2, 3]), "\"AQID\"");
        let time = |typestr| Kind::Time(NumpyTime::from_typestr(typestr).unwrap());
        assert_eq!(json(time("M8[D]"), &18262i64.to_le_bytes()), "\"2020-01-01\"");
        assert_eq!(json(time("M8[D]"), &i64::MIN.to_le_bytes()), "\"NaT\"");
        assert_eq!(json(time("m8[D]"), &(-7i64).to_le_bytes()), "-7");
        assert_eq!(json(time("m8[D]"), &i64::MIN.to_le_bytes()), "\"NaT\"");
    }

    /// F-053, F-054: narrow numbers.
    #[test]
    fn narrow_numbers_are_said_by_their_value() {
        assert_eq!(said(Kind::Int(4), &[0x0b], Style::Json), "-5");
        assert_eq!(json(Kind::Int(4), &[0xfb]), "-5");
        assert_eq!(json(Kind::Uint(2), &[3]), "3");
        let format = |name| FloatFormat::from_name(name).unwrap();
        assert_eq!(json(Kind::Float(format("bfloat16")), &[0xcd, 0x3d]), "0.1");
        assert_eq!(json(Kind::Float(format("float8_e4m3fn")), &[0x7e]), "450.0");
        assert_eq!(json(Kind::Float(format("float8_e4m3fnuz")), &[0x80]), "\"NaN\"");
        assert_eq!(json(Kind::Complex(format("float4_e2m1fn")), &[0x08, 0x07]), "[-0.0,6.0]");
    }

    #[test]
    fn every_short_float_reads_back_from_its_text() {
        for format in FloatFormat::ALL.into_iter().chain([FloatFormat::FLOAT16]) {
            for bits in 0..1u64 << format.bits() {
                let element = &bits.to_le_bytes()[..format.size()];
                let value = format.to_f64(bits);
                if value.is_finite() {
                    let text = float_text(format, element);
                    assert_eq!(format.from_text(&text), Some(bits), "{format:?} {text}");
                }
            }
        }
    }

    #[test]
    fn elements_are_said_in_csv() {
        assert_eq!(
            said(Kind::Float(FloatFormat::FLOAT64), &f64::NAN.to_le_bytes(), Style::Csv),
            "NaN"
        );
        assert_eq!(said(Kind::Bytes(5), b"a,\"b\0", Style::Csv), "\"a,\"\"b\"");
        let mut complex = 1f32.to_le_bytes().to_vec();
        complex.extend((-2f32).to_le_bytes());
        assert_eq!(said(Kind::Complex(FloatFormat::FLOAT32), &complex, Style::Csv), "1.0-2.0j");
    }

    /// Z2-034 and others.
    #[test]
    fn what_is_no_element_says_why() {
        let why = |kind: Kind, text: &str| {
            let json = Json::parse(text.as_bytes()).unwrap();
            kind.read(&json, &mut Vec::new()).unwrap_err()
        };
        assert_eq!(why(Kind::Int(8), "128"), "128 does not fit an int8");
        assert_eq!(why(Kind::Uint(64), "-1"), "-1 does not fit a uint64");
        assert!(why(Kind::Int(32), "1.5").contains("a whole number is due"));
        assert_eq!(why(Kind::Int(4), "8"), "8 does not fit an int4");
        let four = Kind::Float(FloatFormat::from_name("float4_e2m1fn").unwrap());
        assert_eq!(why(four, "\"NaN\""), "\"NaN\" does not fit a float4_e2m1fn");
        assert!(why(Kind::Bool, "1").contains("true or false is due"));
        assert!(why(Kind::Float(FloatFormat::FLOAT32), "1e39").contains("does not fit a float32"));
        assert!(why(Kind::Float(FloatFormat::FLOAT32), "\"nan\"").contains("is due"));
        assert!(why(Kind::Complex(FloatFormat::FLOAT32), "[1]").contains("[real, imaginary]"));
        assert!(why(Kind::Bytes(1), "\"ab\"").contains("longer than an element"));
        assert!(why(Kind::Text(2), "\"abc\"").contains("longer than an element"));
        assert!(why(Kind::Raw(2), "\"AQID\"").contains("base64 text of 2 bytes"));
        let time = |typestr| Kind::Time(NumpyTime::from_typestr(typestr).unwrap());
        assert!(why(time("M8[s]"), "9223372036854775808").contains("does not fit a datetime64[s]"));
        assert!(why(time("M8[s]"), "1.5").contains("a date, \"NaT\" or a whole number is due"));
        assert!(why(time("m8[s]"), "[]").contains("a whole number or \"NaT\" is due"));
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        let mut out = Vec::new();
        Kind::Int(16).read(&Json::Number("3.0".into()), &mut out).unwrap();
        Kind::Int(16).read(&Json::Number("1e3".into()), &mut out).unwrap();
        assert_eq!(out, [3, 0, 0xe8, 3]);
    }
}

//! Writes one element in JSON and CSV, and reads it back.
//!
//! Integers are exact. Floats are the shortest text that reads back as the same number; what JSON has
//! no number for is `"NaN"`, `"Infinity"`, `"-Infinity"`. Complex numbers are `[real, imaginary]`.
//! Bytes of fixed length are text without the NULs that pad them, or `{"base64": "…"}` where they are
//! not UTF-8; variable-length bytes, too. In CSV such bytes are the text of that object, and so are bytes that are such a
//! text themselves. Raw bytes are base64. Variable-length lists are lists. Moments
//! are dates in ISO 8601 as fine as their unit, spans of time are whole numbers of their steps; no time
//! is `"NaT"`.

use std::borrow::Cow;
use std::fmt::Write;

use zarr::data_type::{
    DataType, ElementText, Endian, Repr, Scalar, ScalarValue, TimeKind, base64_decode,
    base64_encode,
};
use zarr::var_buffer::VarStream;
use zarr::{Json, Object};

use crate::digits::Digits;

/// The notation of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Json,
    Csv,
    /// As JSON, for people: floats with no more digits than these.
    Shown(Digits),
}

impl Style {
    /// Whether it is one line of values, and not JSON.
    pub fn is_csv(self) -> bool {
        self == Style::Csv
    }
}

/// Bytes in an element of a type of the library; about as many, if it has any length. All elements are little-endian
/// here.
pub(crate) fn size(data_type: &DataType) -> usize {
    match data_type.repr() {
        Some(Repr::Variable) => 256,
        repr => repr.map_or(1, Repr::size),
    }
}

/// Appends a little-endian element, as [`crate::record::TextForm::split`] gives it, to `out`.
pub(crate) fn write(data_type: &DataType, element: &[u8], style: Style, out: &mut String) {
    let after_length = || element.get(VarStream::LENGTH_BYTES..).unwrap_or_default();
    match data_type {
        DataType::Time(time) => {
            let scalar = Scalar::Time(*time);
            match scalar.load(&scalar.to_native(element, Endian::Little)) {
                ScalarValue::Integer(count) if time.kind == TimeKind::Timedelta => {
                    out.push_str(&count.to_string());
                }
                ScalarValue::Integer(count) => say_text(&time.text_of(count as i64), style, out),
                ScalarValue::Float(_) => say_text("NaT", style, out),
            }
        }
        DataType::List(items) if items.scalar().is_some() => {
            let mut list = String::from("[");
            let inner = if style.is_csv() { Style::Json } else { style };
            for (n, one) in after_length().chunks_exact(size(items)).enumerate() {
                list.push_str(if n == 0 { "" } else { "," });
                write(items, one, inner, &mut list);
            }
            list.push(']');
            match style {
                Style::Json | Style::Shown(_) => out.push_str(&list),
                Style::Csv => say_text(&list, style, out),
            }
        }
        DataType::List(_) => write(&DataType::Bytes, element, style, out),
        DataType::Extension(_) | DataType::Unknown { .. } => {
            let plain = data_type.resolved();
            write(&plain.unwrap_or(DataType::Raw { size: 1 }), element, style, out);
        }
        DataType::String | DataType::Bytes | DataType::Json => {
            write_plain(data_type, after_length(), style, out);
        }
        _ => write_plain(data_type, element, style, out),
    }
}

/// Appends what an element says; without its length, if it is of variable length.
fn write_plain(data_type: &DataType, element: &[u8], style: Style, out: &mut String) {
    let is_bytes = matches!(data_type, DataType::FixedBytes { .. } | DataType::Bytes);
    // Bytes are a text wherever they can be one.
    let read_as = if matches!(data_type, DataType::Bytes) { &DataType::String } else { data_type };
    match read_as.element_text(element, Endian::Little) {
        ElementText::Number(scalar, native) => write_number(scalar, &native, style, out),
        ElementText::Text(text) if matches!(data_type, DataType::Json) => {
            write_json(&text, style, out);
        }
        ElementText::Text(text) if is_bytes && is_taken_for_base64(&text, style) => {
            say_base64(element, style, out);
        }
        ElementText::Text(text) => say_text(&text, style, out),
        ElementText::Bytes(bytes) if is_bytes || data_type.is_variable() => {
            say_base64(bytes, style, out);
        }
        ElementText::Bytes(bytes) => say_text(&base64_encode(bytes), style, out),
    }
}

/// Appends an element that is JSON. The empty one is null.
fn write_json(text: &str, style: Style, out: &mut String) {
    if text.is_empty() {
        out.push_str("null");
        return;
    }
    if style.is_csv() {
        return say_text(text, style, out);
    }
    match Json::parse_element(text.as_bytes()) {
        Ok(value) if value.has_bare_floats() => {
            let _ = write!(out, "{}", value.into_standard());
        }
        _ => out.push_str(text),
    }
}

fn write_number(scalar: Scalar, element: &[u8], style: Style, out: &mut String) {
    match (scalar, style) {
        (Scalar::Complex(format), Style::Json | Style::Shown(_)) => {
            let (real, imaginary) = element.split_at(format.size());
            out.push('[');
            write_number(Scalar::Float(format), real, style, out);
            out.push(',');
            write_number(Scalar::Float(format), imaginary, style, out);
            out.push(']');
        }
        (Scalar::Float(_), Style::Json | Style::Shown(_)) => {
            let start = out.len();
            scalar.write_text(element, out);
            if let Style::Shown(digits) = style {
                let all = out.split_off(start);
                out.push_str(&digits.of_text(&all));
            }
            // NaN and Infinity.
            if out.ends_with(['N', 'y']) {
                out.insert(start, '"');
                out.push('"');
            }
        }
        _ => scalar.write_text(element, out),
    }
}

/// Appends the little-endian bytes of the element that `json` stands for to `out`, or says why it stands for none.
pub(crate) fn read(data_type: &DataType, json: &Json, out: &mut Vec<u8>) -> Result<(), String> {
    match data_type {
        DataType::Time(time) => {
            let count = match (json.as_str(), json.as_number()) {
                (Some(text), _) => time.count_of(text)?,
                (None, Some(_)) => number(data_type, Scalar::Int(64), json)? as i64,
                _ => return Err(wrong(json, due(Scalar::Time(*time)))),
            };
            out.extend_from_slice(&count.to_le_bytes());
        }
        DataType::FixedBytes { len } => pad(&read_bytes(json)?, *len, json, out)?,
        DataType::FixedUtf32 { len } => {
            let text = json.as_str().ok_or_else(|| wrong(json, "text"))?;
            let bytes: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
            pad(&bytes, 4 * len, json, out)?;
        }
        DataType::String | DataType::Bytes | DataType::Json | DataType::List(_) => {
            let element = match data_type {
                DataType::String => {
                    json.as_str().ok_or_else(|| wrong(json, "text"))?.as_bytes().to_vec()
                }
                DataType::Json => json.to_string().into_bytes(),
                DataType::List(items) if items.scalar().is_some() => {
                    let list = json.as_array().ok_or_else(|| wrong(json, "a list"))?;
                    let mut bytes = Vec::new();
                    list.iter().try_for_each(|json| read(items, json, &mut bytes))?;
                    bytes
                }
                _ => read_bytes(json)?,
            };
            let length = u32::try_from(element.len());
            let length = length.map_err(|_| format!("{} is too long", json.brief()))?;
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(&element);
        }
        DataType::Extension(_) | DataType::Unknown { .. } => {
            return read(&data_type.resolved().ok_or("its type is unknown")?, json, out);
        }
        _ => match data_type.scalar() {
            Some(Scalar::Complex(format)) => match json.as_array() {
                Some([real, imaginary]) => {
                    read(&DataType::Minifloat(format), real, out)?;
                    read(&DataType::Minifloat(format), imaginary, out)?;
                }
                _ => return Err(wrong(json, "[real, imaginary]")),
            },
            Some(scalar) => {
                let bits = number(data_type, scalar, json)?;
                out.extend_from_slice(&bits.to_le_bytes()[..scalar.size()]);
            }
            None => match json.as_str().and_then(base64_decode) {
                Some(bytes) if bytes.len() == size(data_type) => out.extend_from_slice(&bytes),
                _ => {
                    let due = format!("the base64 text of {} bytes", size(data_type));
                    return Err(wrong(json, &due));
                }
            },
        },
    }
    Ok(())
}

/// What JSON must be to stand for a number.
fn due(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "true or false",
        Scalar::Int(_) | Scalar::Uint(_) => "an integer",
        Scalar::Time(time) if time.kind == TimeKind::Timedelta => "an integer or \"NaT\"",
        Scalar::Time(_) => "a date, \"NaT\" or an integer",
        _ => "a number, \"NaN\", \"Infinity\" or \"-Infinity\"",
    }
}

/// The bits of the number that `json` stands for.
fn number(data_type: &DataType, scalar: Scalar, json: &Json) -> Result<u64, String> {
    let shown = data_type.scalar().unwrap_or(scalar);
    let is_float = matches!(scalar, Scalar::Float(_));
    let text = match json {
        Json::Bool(value) if scalar == Scalar::Bool => return Ok((*value).into()),
        Json::Number(text) if scalar != Scalar::Bool => &**text,
        Json::String(text) if is_float && ["NaN", "Infinity", "-Infinity"].contains(&&**text) => {
            text
        }
        _ => return Err(wrong(json, due(shown))),
    };
    let bits = match scalar {
        // The library's reader rounds a fraction or an exponent to a double.
        Scalar::Int(_) | Scalar::Uint(_) => {
            let whole = whole_number(text).ok_or_else(|| wrong(json, due(shown)))?;
            scalar.from_text(&whole)
        }
        _ => scalar.from_text(text),
    };
    bits.ok_or_else(|| {
        let article = if matches!(scalar, Scalar::Int(_)) && shown == scalar { "an" } else { "a" };
        format!("{} does not fit {article} {data_type}", json.brief())
    })
}

/// The most digits that are written out: more than the largest integer of any type has.
const MOST_DIGITS: usize = 40;

/// The digits, behind a sign, of the whole number that a JSON number is, exactly: `-12e2` is `-1200`, `1.50e1` is `15`. `None`
/// if it is none. One of more than [`MOST_DIGITS`] digits is some other number as large as that, which fits no type either.
fn whole_number(text: &str) -> Option<Cow<'_, str>> {
    let (sign, number) = match text.strip_prefix('-') {
        Some(number) => ("-", number),
        None => ("", text),
    };
    if is_digits(number) {
        return Some(text.into());
    }
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (is_negative, power) = match exponent.strip_prefix('-') {
        Some(power) => (true, power),
        None => (false, exponent.strip_prefix('+').unwrap_or(exponent)),
    };
    if !(is_digits(whole) && is_digits(fraction) && is_digits(power)) {
        return None;
    }
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0').trim_end_matches('0');
    if digits.is_empty() {
        return Some("0".into());
    }
    // No text is as long as an exponent that 64 bits cannot hold.
    let power = power.parse::<i64>().unwrap_or(i64::MAX);
    let power = if is_negative { -power } else { power };
    let ends = (all.len() - all.trim_end_matches('0').len()) as i64 - fraction.len() as i64;
    let zeros = usize::try_from(power.saturating_add(ends)).ok()?;
    if digits.len().saturating_add(zeros) > MOST_DIGITS {
        return Some(format!("{sign}{}", "9".repeat(MOST_DIGITS)).into());
    }
    Some(format!("{sign}{digits}{}", "0".repeat(zeros)).into())
}

/// Whether the text has no other characters than digits.
fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn read_bytes(json: &Json) -> Result<Vec<u8>, String> {
    let encoded = json.as_object().and_then(|o| o.get("base64")).and_then(Json::as_str);
    match (json.as_str(), encoded.map(base64_decode)) {
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (None, Some(Some(bytes))) => Ok(bytes),
        _ => Err(wrong(json, "text or {\"base64\": text}")),
    }
}

/// `{"base64":"…"}`, which in CSV is a text with these letters.
fn say_base64(bytes: &[u8], style: Style, out: &mut String) {
    let object = base64_object(base64_encode(bytes)).to_string();
    match style {
        Style::Csv => say_text(&object, style, out),
        Style::Json | Style::Shown(_) => out.push_str(&object),
    }
}

fn base64_object(text: impl Into<Json>) -> Json {
    Object::new().with("base64", text).into()
}

/// The object of which a value of CSV has exactly the text, `{"base64":"…"}` without spaces; `None` of bytes that are a text.
pub(crate) fn base64_of_csv(text: &str) -> Option<Json> {
    let encoded = text.strip_prefix("{\"base64\":\"")?.strip_suffix("\"}")?;
    base64_decode(encoded).map(|_| base64_object(encoded))
}

/// Whether bytes that are this text must be written in base64, since they would be read back as others.
fn is_taken_for_base64(text: &str, style: Style) -> bool {
    style == Style::Csv && base64_of_csv(text).is_some()
}

fn wrong(json: &Json, due: &str) -> String {
    format!("expected {due}, found {}", json.brief())
}

fn pad(bytes: &[u8], size: usize, json: &Json, out: &mut Vec<u8>) -> Result<(), String> {
    if bytes.len() > size {
        return Err(format!("{} is longer than an element", json.brief()));
    }
    out.extend_from_slice(bytes);
    out.resize(out.len() + size - bytes.len(), 0);
    Ok(())
}

pub(crate) fn say_text(text: &str, style: Style, out: &mut String) {
    match style {
        Style::Json | Style::Shown(_) => out.push_str(&Json::from(text).to_string()),
        // A byte order mark at the beginning of a file is none of its text.
        Style::Csv if text.contains([',', '"', '\n', '\r', '\u{feff}']) => {
            let _ = write!(out, "\"{}\"", text.replace('"', "\"\""));
        }
        Style::Csv => out.push_str(text),
    }
}

#[cfg(test)]
mod tests {
    use zarr::data_type::{CoreType, FloatFormat, NumpyTime};

    use super::*;

    fn text_of(data_type: impl Into<DataType>, element: &[u8], style: Style) -> String {
        let mut out = String::new();
        write(&data_type.into(), element, style, &mut out);
        out
    }

    fn json(data_type: impl Into<DataType>, element: &[u8]) -> String {
        let data_type = data_type.into();
        let text = text_of(data_type.clone(), element, Style::Json);
        let mut back = Vec::new();
        read(&data_type, &Json::parse(text.as_bytes()).unwrap(), &mut back).unwrap();
        assert_eq!(back, element, "{text}");
        text
    }

    #[test]
    fn elements_are_said_in_json_and_read_back() {
        assert_eq!(json(CoreType::Bool, &[1]), "true");
        assert_eq!(json(CoreType::Int8, &[0x80]), "-128");
        assert_eq!(json(CoreType::Int64, &i64::MIN.to_le_bytes()), "-9223372036854775808");
        assert_eq!(json(CoreType::Uint64, &u64::MAX.to_le_bytes()), "18446744073709551615");
        assert_eq!(json(CoreType::Float64, &0.1f64.to_le_bytes()), "0.1");
        assert_eq!(json(CoreType::Float64, &1e300f64.to_le_bytes()), "1e300");
        assert_eq!(json(CoreType::Float32, &0.1f32.to_le_bytes()), "0.1");
        assert_eq!(json(CoreType::Float16, &[0x66, 0x2e]), "0.1");
        assert_eq!(json(CoreType::Float16, &[0xff, 0x7b]), "65500.0");
        assert_eq!(json(CoreType::Float32, &(-0.0f32).to_le_bytes()), "-0.0");
        assert_eq!(json(CoreType::Float32, &f32::NEG_INFINITY.to_le_bytes()), "\"-Infinity\"");
        assert_eq!(json(CoreType::Float64, &f64::NAN.to_le_bytes()), "\"NaN\"");
        let mut complex = 1.5f32.to_le_bytes().to_vec();
        complex.extend(f32::INFINITY.to_le_bytes());
        assert_eq!(json(CoreType::Complex64, &complex), "[1.5,\"Infinity\"]");
        assert_eq!(json(DataType::FixedBytes { len: 4 }, b"ab\0\0"), "\"ab\"");
        assert_eq!(json(DataType::FixedBytes { len: 2 }, b"\xff\0"), "{\"base64\":\"/wA=\"}");
        // Z2-034: zeros at the end are padding, zeros within are not.
        assert_eq!(json(DataType::FixedBytes { len: 4 }, b"a\0b\0"), "\"a\\u0000b\"");
        assert_eq!(json(DataType::FixedUtf32 { len: 2 }, b"\xe9\0\0\0\0\0\0\0"), "\"é\"");
        assert_eq!(json(DataType::FixedUtf32 { len: 2 }, b"\0\0\0\0\xe9\0\0\0"), "\"\\u0000é\"");
        assert_eq!(json(DataType::Raw { size: 3 }, &[1, 2, 3]), "\"AQID\"");
        let time = |typestr| DataType::Time(NumpyTime::from_typestr(typestr).unwrap());
        assert_eq!(json(time("M8[D]"), &18262i64.to_le_bytes()), "\"2020-01-01\"");
        assert_eq!(json(time("M8[D]"), &i64::MIN.to_le_bytes()), "\"NaT\"");
        assert_eq!(json(time("m8[D]"), &(-7i64).to_le_bytes()), "-7");
        assert_eq!(json(time("m8[D]"), &i64::MIN.to_le_bytes()), "\"NaT\"");
    }

    /// F-053, F-054: narrow numbers.
    #[test]
    fn narrow_numbers_are_said_by_their_value() {
        assert_eq!(text_of(DataType::IntBits(4), &[0x0b], Style::Json), "-5");
        assert_eq!(json(DataType::IntBits(4), &[0xfb]), "-5");
        assert_eq!(json(DataType::UintBits(2), &[3]), "3");
        let format = |name| FloatFormat::from_name(name).unwrap();
        assert_eq!(json(DataType::Minifloat(format("bfloat16")), &[0xcd, 0x3d]), "0.1");
        assert_eq!(json(DataType::Minifloat(format("float8_e4m3fn")), &[0x7e]), "450.0");
        assert_eq!(json(DataType::Minifloat(format("float8_e4m3fnuz")), &[0x80]), "\"NaN\"");
        assert_eq!(
            json(DataType::ComplexMinifloat(format("float4_e2m1fn")), &[0x08, 0x07]),
            "[-0.0,6.0]"
        );
    }

    #[test]
    fn every_short_float_reads_back_from_its_text() {
        for format in FloatFormat::ALL.into_iter().chain([FloatFormat::FLOAT16]) {
            for bits in 0..1u64 << format.bits() {
                let element = &bits.to_le_bytes()[..format.size()];
                let value = format.to_f64(bits);
                if value.is_finite() {
                    let text = text_of(DataType::Minifloat(format), element, Style::Csv);
                    assert_eq!(format.from_text(&text), Some(bits), "{format:?} {text}");
                }
            }
        }
    }

    #[test]
    fn elements_are_said_in_csv() {
        assert_eq!(text_of(CoreType::Float64, &f64::NAN.to_le_bytes(), Style::Csv), "NaN");
        assert_eq!(text_of(DataType::FixedBytes { len: 5 }, b"a,\"b\0", Style::Csv), "\"a,\"\"b\"");
        let mut complex = 1f32.to_le_bytes().to_vec();
        complex.extend((-2f32).to_le_bytes());
        assert_eq!(text_of(CoreType::Complex64, &complex, Style::Csv), "1.0-2.0j");
    }

    /// Z2-034 and others.
    #[test]
    fn what_is_no_element_says_why() {
        fn why(data_type: impl Into<DataType>, text: &str) -> String {
            let json = Json::parse(text.as_bytes()).unwrap();
            read(&data_type.into(), &json, &mut Vec::new()).unwrap_err()
        }
        assert_eq!(why(CoreType::Int8, "128"), "128 does not fit an int8");
        assert_eq!(why(CoreType::Uint64, "-1"), "-1 does not fit a uint64");
        assert!(why(CoreType::Int32, "1.5").contains("expected an integer"));
        assert_eq!(why(DataType::IntBits(4), "8"), "8 does not fit an int4");
        let four = DataType::Minifloat(FloatFormat::from_name("float4_e2m1fn").unwrap());
        assert_eq!(why(four, "\"NaN\""), "\"NaN\" does not fit a float4_e2m1fn");
        assert!(why(CoreType::Bool, "1").contains("expected true or false"));
        assert!(why(CoreType::Float32, "1e39").contains("does not fit a float32"));
        assert!(why(CoreType::Float32, "\"nan\"").contains("expected"));
        assert!(why(CoreType::Complex64, "[1]").contains("[real, imaginary]"));
        assert!(why(DataType::FixedBytes { len: 1 }, "\"ab\"").contains("longer than an element"));
        assert!(why(DataType::FixedUtf32 { len: 2 }, "\"abc\"").contains("longer than an element"));
        assert!(why(DataType::Raw { size: 2 }, "\"AQID\"").contains("base64 text of 2 bytes"));
        let time = |typestr| DataType::Time(NumpyTime::from_typestr(typestr).unwrap());
        assert!(why(time("M8[s]"), "9223372036854775808").contains("does not fit a datetime64[s]"));
        assert!(why(time("M8[s]"), "1.5").contains("expected a date, \"NaT\" or an integer"));
        assert!(why(time("m8[s]"), "[]").contains("expected an integer or \"NaT\""));
    }

    #[test]
    fn whole_numbers_are_exact_however_they_are_written() {
        for (text, whole) in [
            ("7", Some("7")),
            ("-0.0", Some("0")),
            ("0e99", Some("0")),
            ("9007199254740993.0", Some("9007199254740993")),
            ("-9.223372036854775808e18", Some("-9223372036854775808")),
            ("1E+3", Some("1000")),
            ("-1200e-2", Some("-12")),
            ("1.50e1", Some("15")),
            ("0.5", None),
            ("15e-2", None),
            ("1e-99999999999999999999", None),
            ("NaN", None),
        ] {
            assert_eq!(whole_number(text).as_deref(), whole, "{text}");
        }
        let read = |text: &str, kind: CoreType| {
            let mut out = Vec::new();
            super::read(&kind.into(), &Json::Number(text.into()), &mut out).map(|()| out)
        };
        for (text, value) in [
            ("9007199254740993.0", 9_007_199_254_740_993i64),
            ("1e18", 1_000_000_000_000_000_000),
            ("-9.223372036854775808e18", i64::MIN),
        ] {
            assert_eq!(read(text, CoreType::Int64).unwrap(), value.to_le_bytes(), "{text}");
        }
        let most = read("1844674407370955161.5e1", CoreType::Uint64).unwrap();
        assert_eq!(most, u64::MAX.to_le_bytes());
        for text in ["1e19", "9223372036854775808.0", "1e99999999999999999999", "-1e400"] {
            let why = read(text, CoreType::Int64).unwrap_err();
            assert_eq!(why, format!("{text} does not fit an int64"));
        }
        let why = read("9007199254740993.5", CoreType::Int64).unwrap_err();
        assert!(why.contains("expected an integer"), "{why}");
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        let mut out = Vec::new();
        read(&CoreType::Int16.into(), &Json::Number("3.0".into()), &mut out).unwrap();
        read(&CoreType::Int16.into(), &Json::Number("1e3".into()), &mut out).unwrap();
        assert_eq!(out, [3, 0, 0xe8, 3]);
    }
}

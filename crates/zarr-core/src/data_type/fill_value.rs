//! What do elements hold that nobody wrote?
//!
//! One parser reads the spellings of all three dialects, each dialect allowing its own; values are
//! exact to the bit (D-110 … D-117, F-031 … F-039, Z2-050 … Z2-054).

use half::f16;

use super::{CoreType, DataType, Repr};
use crate::dialect::{Dialect, Strictness};
use crate::error::MetadataError;
use crate::json::Json;

/// One element in native byte order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FillValue(Box<[u8]>);

impl FillValue {
    /// From the bytes of one element in native byte order.
    pub fn new(element: impl Into<Box<[u8]>>) -> Self {
        FillValue(element.into())
    }

    /// An element of zero bytes.
    pub fn zero(size: usize) -> Self {
        FillValue(vec![0; size].into())
    }

    /// The bytes of the element, in native byte order.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

type Result<T> = std::result::Result<T, String>;

/// The fill value that `json` means for `data_type`; `None` where the dialect lets it be undefined.
///
/// What only a tolerant reader takes is noted in `warnings`.
pub(crate) fn parse(
    data_type: &DataType,
    json: &Json,
    dialect: Dialect,
    strictness: Strictness,
    warnings: &mut Vec<String>,
) -> std::result::Result<Option<FillValue>, MetadataError> {
    if *json == Json::Null && dialect != Dialect::V3 {
        return Ok(None);
    }
    let mut words = Words {
        dialect,
        strictness,
        warnings,
    };
    let invalid = |why: String| {
        MetadataError::invalid(
            "fill_value",
            format!("{} is not a value of {data_type}: {why}", json.brief()),
        )
    };
    let parsed = match data_type {
        DataType::Core(core) => words.core(*core, json),
        DataType::Raw { size } => words.raw(*size, json),
        DataType::Extension(extension) => {
            return extension.fill_value_from_json(json, dialect).map(Some);
        }
        DataType::Unknown {
            fallback: Some(fallback),
            ..
        } => {
            // D-116: as the fallback's, if it can be; else undefined.
            return Ok(
                parse(fallback, json, dialect, strictness, warnings).unwrap_or_else(|_| {
                    warnings.push(format!(
                        "`fill_value` {} means nothing to the fallback",
                        json.brief()
                    ));
                    None
                }),
            );
        }
        DataType::Unknown { .. } => return Ok(None),
    };
    parsed
        .map(|bytes| Some(FillValue::new(bytes)))
        .map_err(invalid)
}

struct Words<'a> {
    dialect: Dialect,
    strictness: Strictness,
    warnings: &'a mut Vec<String>,
}

impl Words<'_> {
    fn tolerate(&mut self, what: &str) -> Result<()> {
        match self.strictness {
            Strictness::Strict => Err(what.to_owned()),
            Strictness::Tolerant => {
                self.warnings.push(format!("`fill_value`: {what}"));
                Ok(())
            }
        }
    }

    fn core(&mut self, core: CoreType, json: &Json) -> Result<Vec<u8>> {
        let size = core.repr().size();
        // D-114: the drafts spell the bits of any core type; final v3 those of floats.
        if let (Dialect::Draft, Some(bits)) = (self.dialect, json.as_str().and_then(bit_string)) {
            let bytes = bits.and_then(|bits| bits_of_size(bits, size))?;
            if core == CoreType::Bool && bytes[0] > 1 {
                return Err("a bool has bits 00 or 01".into());
            }
            return Ok(match core.repr() {
                Repr::Complex(n) => [native(&bytes[..n / 2]), native(&bytes[n / 2..])].concat(),
                _ => native(&bytes),
            });
        }
        match core.repr() {
            Repr::Bool => match (json.as_bool(), json.as_u64()) {
                (Some(value), _) => Ok(vec![value as u8]),
                (None, Some(value @ 0..=1)) if self.dialect != Dialect::V3 => {
                    self.tolerate("a bool is `true` or `false`, not a number")?;
                    Ok(vec![value as u8])
                }
                _ => Err("a bool is `true` or `false`".into()),
            },
            Repr::Int(size) => {
                let value = self.integer(json)?;
                let (low, high) = (i128::MIN >> (128 - 8 * size), i128::MAX >> (128 - 8 * size));
                in_range(value, low, high)?;
                Ok(native(&value.to_be_bytes()[16 - size..]))
            }
            Repr::Uint(size) => {
                let value = self.integer(json)?;
                in_range(value, 0, (1i128 << (8 * size)) - 1)?;
                Ok(native(&value.to_be_bytes()[16 - size..]))
            }
            Repr::Float(size) => self.float(size, json),
            Repr::Complex(size) => match json.as_array() {
                Some([re, im]) => {
                    Ok([self.float(size / 2, re)?, self.float(size / 2, im)?].concat())
                }
                _ => Err("a complex number is `[real, imaginary]`".into()),
            },
            Repr::Opaque(_) | Repr::Utf32(_) => unreachable!("no core type is opaque or text"),
        }
    }

    /// Exact, however large; integral floats such as `7.0` and `1e3` are tolerated (F-033, D-112).
    fn integer(&mut self, json: &Json) -> Result<i128> {
        let text = json
            .as_number()
            .ok_or_else(|| format!("{} stands for an integer", json.kind()))?;
        if let Ok(value) = text.parse() {
            return Ok(value);
        }
        let value = text
            .parse::<f64>()
            .ok()
            .filter(|v| v.fract() == 0.0 && v.abs() <= (1u64 << 53) as f64);
        let value = value.ok_or("it is no integer, or too large")?;
        self.tolerate("an integer is written with a fraction or an exponent")?;
        Ok(value as i128)
    }

    fn float(&mut self, size: usize, json: &Json) -> Result<Vec<u8>> {
        match json {
            Json::Number(text) => float_of_text(size, text, self.dialect),
            Json::String(text) => self.float_word(size, text),
            _ => Err(format!("{} stands for a float", json.kind())),
        }
    }

    fn float_word(&mut self, size: usize, text: &str) -> Result<Vec<u8>> {
        let special = |value: f64| float_of(size, value);
        match (text, self.dialect) {
            ("NaN", _) => return Ok(native(&canonical_nan(size))),
            ("-Infinity", _) => return Ok(special(f64::NEG_INFINITY)),
            ("Infinity", Dialect::V3 | Dialect::V2) | ("+Infinity", Dialect::Draft) => {
                return Ok(special(f64::INFINITY));
            }
            ("Infinity" | "+Infinity", _) => {
                self.tolerate("infinity is spelled as in another dialect")?;
                return Ok(special(f64::INFINITY));
            }
            _ => {}
        }
        if self.dialect != Dialect::V2
            && let Some(bits) = bit_string(text)
        {
            if self.dialect == Dialect::V3 && !text.starts_with("0x") {
                return Err("the bits of a float are written `0x…`".into());
            }
            return bits
                .and_then(|bits| bits_of_size(bits, size))
                .map(|bits| native(&bits));
        }
        // Z2-050, row 17 of the drafts: other spellings in the wild.
        let other = match (self.dialect, text) {
            (Dialect::V3, _) => None,
            (_, "nan") => Some(f64::NAN),
            (_, "inf") => Some(f64::INFINITY),
            (_, "-inf") => Some(f64::NEG_INFINITY),
            _ if is_decimal(text) => {
                return self
                    .tolerate("a number is written as a string")
                    .and_then(|()| float_of_text(size, text, self.dialect));
            }
            _ => None,
        };
        let value = other.ok_or("no such word for a float")?;
        self.tolerate("a float is spelled in another library's way")?;
        Ok(if value.is_nan() {
            native(&canonical_nan(size))
        } else {
            special(value)
        })
    }

    fn raw(&mut self, size: usize, json: &Json) -> Result<Vec<u8>> {
        match (self.dialect, json) {
            // D-115: digits in storage order.
            (Dialect::Draft, Json::String(text)) => match bit_string(text) {
                Some(bits) => bits.and_then(|bits| bits_of_size(bits, size)),
                None => Err("raw bytes are written `0x…` or `0b…`".into()),
            },
            // F-039: a list of bytes; F-049: base64 of `raw_bytes`.
            (Dialect::V3, Json::Array(items)) if items.len() == size => items
                .iter()
                .map(|i| i.as_u64().and_then(|b| u8::try_from(b).ok()))
                .collect::<Option<_>>()
                .ok_or_else(|| "a byte is an integer from 0 to 255".into()),
            (Dialect::V3 | Dialect::V2, Json::String(text)) => {
                let bytes = base64_decode(text).ok_or("not base64")?;
                match bytes.len() {
                    n if n == size => Ok(bytes),
                    0 if self.dialect == Dialect::V2 => Ok(vec![0; size]),
                    n => Err(format!("base64 of {n} bytes for elements of {size}")),
                }
            }
            (Dialect::V2, json) if json.as_i64() == Some(0) => {
                self.tolerate("0 stands for zero bytes")?;
                Ok(vec![0; size])
            }
            _ => Err(format!("{} elements of {size} bytes are due", json.kind())),
        }
    }
}

fn in_range(value: i128, low: i128, high: i128) -> Result<()> {
    (low..=high)
        .contains(&value)
        .then_some(())
        .ok_or_else(|| format!("it lies outside {low}..={high}"))
}

/// Bytes written most significant first, as this machine keeps them.
fn native(big_endian: &[u8]) -> Vec<u8> {
    let mut bytes = big_endian.to_vec();
    if cfg!(target_endian = "little") {
        bytes.reverse();
    }
    bytes
}

/// The bits of `0x…` or `0b…`, or what is wrong with them; `None` for other text.
fn bit_string(text: &str) -> Option<Result<Vec<u8>>> {
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

fn bits_of_size(bits: Vec<u8>, size: usize) -> Result<Vec<u8>> {
    match bits.len() == size {
        true => Ok(bits),
        false => Err(format!("{} bytes of bits for a type of {size}", bits.len())),
    }
}

fn canonical_nan(size: usize) -> Vec<u8> {
    match size {
        2 => 0x7e00u16.to_be_bytes().to_vec(),
        4 => 0x7fc0_0000u32.to_be_bytes().to_vec(),
        _ => 0x7ff8_0000_0000_0000u64.to_be_bytes().to_vec(),
    }
}

fn float_of(size: usize, value: f64) -> Vec<u8> {
    match size {
        2 => half_of(value).to_ne_bytes().to_vec(),
        4 => (value as f32).to_ne_bytes().to_vec(),
        _ => value.to_ne_bytes().to_vec(),
    }
}

fn is_decimal(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The float nearest to decimal text, rounded once (F-034, T-25).
fn float_of_text(size: usize, text: &str, dialect: Dialect) -> Result<Vec<u8>> {
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
fn f16_of_text(text: &str, wide: f64) -> f16 {
    let near = half_of(wide);
    let (below, above) = (half_of(wide.next_down()), half_of(wide.next_up()));
    // If a step of f64 to either side rounds alike, so does everything between.
    if below == above || near.to_f64() == wide {
        return near;
    }
    // `wide` is a midpoint of halves, hence short in decimal; is the text's size above or below it?
    let (smaller, larger) = if wide > 0.0 {
        (below, above)
    } else {
        (above, below)
    };
    match compare_decimal(text.trim_start_matches('-'), &format!("{}", wide.abs())) {
        std::cmp::Ordering::Less => smaller,
        std::cmp::Ordering::Greater => larger,
        std::cmp::Ordering::Equal => near,
    }
}

/// The half nearest to `wide`, rounded once: through an f32 whose last bit notes that more follows.
fn half_of(wide: f64) -> f16 {
    let near = wide as f32;
    let back = f64::from(near);
    if back == wide || !near.is_finite() {
        return f16::from_f32(near);
    }
    let towards_zero = if back.abs() > wide.abs() {
        near.to_bits() - 1
    } else {
        near.to_bits()
    };
    f16::from_f32(f32::from_bits(towards_zero | 1))
}

/// Compares two decimal texts without sign as numbers.
fn compare_decimal(a: &str, b: &str) -> std::cmp::Ordering {
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

/// The fill value in a dialect's words.
pub(crate) fn to_json(
    data_type: &DataType,
    value: Option<&FillValue>,
    dialect: Dialect,
) -> std::result::Result<Json, MetadataError> {
    let Some(value) = value else {
        return match dialect {
            Dialect::V3 => Err(MetadataError::CannotSpell {
                format: "v3",
                what: "an undefined fill value".into(),
                hint: "give one, such as 0".into(),
            }),
            _ => Ok(Json::Null),
        };
    };
    let bytes = value.as_bytes();
    match data_type {
        DataType::Core(core) => Ok(core_to_json(*core, bytes, dialect)),
        DataType::Raw { .. } => Ok(match dialect {
            Dialect::V3 => bytes.iter().map(|&b| Json::from(u64::from(b))).collect(),
            Dialect::V2 => Json::from(base64_encode(bytes)),
            Dialect::Draft => Json::from(format!("0x{}", hex(bytes))),
        }),
        DataType::Extension(extension) => extension.fill_value_to_json(value, dialect),
        DataType::Unknown {
            fallback: Some(fallback),
            ..
        } => to_json(fallback, Some(value), dialect),
        DataType::Unknown { .. } => Ok(Json::Null),
    }
}

fn core_to_json(core: CoreType, bytes: &[u8], dialect: Dialect) -> Json {
    let big = native(bytes); // an involution: now most significant first
    let wide = |sign: bool| {
        let mut all = [if sign && big[0] >= 0x80 { 0xff } else { 0 }; 16];
        all[16 - big.len()..].copy_from_slice(&big);
        i128::from_be_bytes(all)
    };
    match core.repr() {
        Repr::Bool => Json::Bool(bytes[0] != 0),
        Repr::Int(_) => Json::Number(wide(true).to_string().into()),
        Repr::Uint(_) => Json::Number(wide(false).to_string().into()),
        Repr::Float(_) => float_to_json(bytes, dialect),
        Repr::Complex(n) => [&bytes[..n / 2], &bytes[n / 2..]]
            .into_iter()
            .map(|p| float_to_json(p, dialect))
            .collect(),
        Repr::Opaque(_) | Repr::Utf32(_) => unreachable!("no core type is opaque or text"),
    }
}

/// The shortest words that read back to the same bits (F-036, F-037, Z2-051, D-117).
fn float_to_json(bytes: &[u8], dialect: Dialect) -> Json {
    let big = native(bytes);
    let value = match *bytes {
        [a, b] => f16::from_ne_bytes([a, b]).to_f64(),
        [a, b, c, d] => f64::from(f32::from_ne_bytes([a, b, c, d])),
        _ => f64::from_ne_bytes(bytes.try_into().expect("a float has 2, 4 or 8 bytes")),
    };
    if value.is_nan() {
        return match dialect {
            Dialect::V2 => Json::from("NaN"),
            _ if big == canonical_nan(big.len()) => Json::from("NaN"),
            _ => Json::from(format!("0x{}", hex(&big))),
        };
    }
    if value.is_infinite() {
        return Json::from(match (value > 0.0, dialect) {
            (false, _) => "-Infinity",
            (true, Dialect::Draft) => "+Infinity",
            (true, _) => "Infinity",
        });
    }
    // The f64's digits, so that readers that go through f64 round to the same bits.
    Json::Number(serde_json::to_string(&value).expect("finite").into())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Standard base64 with padding.
pub(crate) fn base64_encode(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0u32, |bits, &b| bits << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let six = (bits >> (18 - 6 * i) & 63) as usize;
            out.push(if i <= chunk.len() {
                BASE64[six] as char
            } else {
                '='
            });
        }
    }
    out
}

/// The bytes of standard base64 with padding; `None` if it is not.
pub(crate) fn base64_decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let inner = text
        .strip_suffix("==")
        .or(text.strip_suffix('='))
        .unwrap_or(text);
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for c in inner.bytes() {
        bits = bits << 6 | BASE64.iter().position(|&b| b == c)? as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    (bits == 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        core: CoreType,
        text: &str,
        dialect: Dialect,
        strictness: Strictness,
    ) -> Option<String> {
        let json = Json::parse(text.as_bytes()).unwrap();
        let value = parse(&core.into(), &json, dialect, strictness, &mut Vec::new()).ok()?;
        Some(hex(&native(value?.as_bytes())))
    }

    fn check(core: CoreType, dialect: Dialect, cases: &[(&str, Option<&str>)]) {
        for (text, bits) in cases {
            let got = read(core, text, dialect, Strictness::Strict);
            assert_eq!(got.as_deref(), *bits, "{core:?} {text} in {dialect}");
        }
    }

    /// F-032 … F-037.
    #[test]
    fn final_v3_spellings() {
        use CoreType::*;
        check(
            Bool,
            Dialect::V3,
            &[("true", Some("01")), ("1", None), ("\"true\"", None)],
        );
        check(
            Uint8,
            Dialect::V3,
            &[
                ("255", Some("ff")),
                ("256", None),
                ("-1", None),
                ("7.0", None),
                ("\"7\"", None),
                ("true", None),
            ],
        );
        check(
            Int64,
            Dialect::V3,
            &[
                ("9007199254740993", Some("0020000000000001")),
                ("-9223372036854775808", Some("8000000000000000")),
                ("9223372036854775808", None),
            ],
        );
        check(
            Uint64,
            Dialect::V3,
            &[("18446744073709551615", Some("ffffffffffffffff"))],
        );
        check(
            Float32,
            Dialect::V3,
            &[
                ("16777217", Some("4b800000")),
                ("0.1", Some("3dcccccd")),
                ("1e39", Some("7f800000")),
                ("1e400", None),
                ("-0.0", Some("80000000")),
                ("\"0x7fc00001\"", Some("7fc00001")),
                ("\"0x1\"", None),
                ("\"0x000000007fc00000\"", None),
                ("\"NaN\"", Some("7fc00000")),
                ("\"nan\"", None),
                ("\"inf\"", None),
                ("\"1.5\"", None),
                ("\"+Infinity\"", None),
                ("\"Infinity\"", Some("7f800000")),
                ("null", None),
                ("1.401298464324817e-45", Some("00000001")),
                // T-25: rounded once.
                ("1.00000017881393432617187499", Some("3f800001")),
            ],
        );
        check(
            Float64,
            Dialect::V3,
            &[("5e-324", Some("0000000000000001"))],
        );
        check(
            Complex64,
            Dialect::V3,
            &[
                ("[\"-Infinity\",\"NaN\"]", Some("7fc00000ff800000")),
                ("1", None),
                ("[1]", None),
            ],
        );
        assert_eq!(
            read(Uint8, "7.0", Dialect::V3, Strictness::Tolerant).as_deref(),
            Some("07")
        );
    }

    /// D-111 … D-117.
    #[test]
    fn draft_spellings() {
        use CoreType::*;
        check(
            Float32,
            Dialect::Draft,
            &[
                ("\"0x3f800000\"", Some("3f800000")),
                ("\"0b00111111100000000000000000000000\"", Some("3f800000")),
                ("\"+Infinity\"", Some("7f800000")),
                ("\"Infinity\"", None),
                ("1e39", None),
                ("\"0X3f800000\"", None),
                ("\"0x1\"", None),
            ],
        );
        check(
            Float16,
            Dialect::Draft,
            &[("\"0x3c00\"", Some("3c00")), ("65520", None)],
        );
        check(
            Int32,
            Dialect::Draft,
            &[
                ("\"0xffffffff\"", Some("ffffffff")),
                ("\"NaN\"", None),
                ("1e2", None),
            ],
        );
        check(
            Bool,
            Dialect::Draft,
            &[("\"0x01\"", Some("01")), ("\"0x02\"", None), ("0", None)],
        );
        assert_eq!(
            read(
                Float32,
                "\"Infinity\"",
                Dialect::Draft,
                Strictness::Tolerant
            )
            .as_deref(),
            Some("7f800000")
        );
    }

    /// Z2-050, Z2-054.
    #[test]
    fn v2_spellings() {
        use CoreType::*;
        let lenient = |core, text| read(core, text, Dialect::V2, Strictness::Tolerant);
        assert_eq!(
            lenient(Float64, "\"1.5\"").as_deref(),
            Some("3ff8000000000000")
        );
        assert_eq!(
            lenient(Float64, "\"nan\"").as_deref(),
            Some("7ff8000000000000")
        );
        assert_eq!(lenient(Int32, "7.0").as_deref(), Some("00000007"));
        assert_eq!(lenient(Int32, "1.5"), None);
        assert_eq!(lenient(Complex64, "1"), None);
        assert_eq!(lenient(Float64, "\"foo\""), None);
    }

    /// Round trips to the bit, in each dialect that can say them (F-036, T-16, T-19).
    #[test]
    fn what_is_written_reads_back_to_the_bit() {
        let floats = [
            0x0000_0000u32,
            0x8000_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x7fc0_0001,
            0xffc0_0000,
            1,
            0x3dcc_cccd,
        ];
        for dialect in [Dialect::V3, Dialect::Draft, Dialect::V2] {
            for bits in floats {
                let value = FillValue::new(f32::from_bits(bits).to_ne_bytes());
                let json = to_json(&CoreType::Float32.into(), Some(&value), dialect).unwrap();
                let back = parse(
                    &CoreType::Float32.into(),
                    &json,
                    dialect,
                    Strictness::Strict,
                    &mut vec![],
                );
                let lossy = dialect == Dialect::V2 && f32::from_bits(bits).is_nan();
                if !lossy {
                    assert_eq!(
                        back.unwrap(),
                        Some(value),
                        "{bits:08x} as {json} in {dialect}"
                    );
                }
            }
        }
        // T-18: `-0.0`, not `-0`.
        let negative_zero = FillValue::new((-0.0f64).to_ne_bytes());
        assert_eq!(
            to_json(&CoreType::Float64.into(), Some(&negative_zero), Dialect::V3)
                .unwrap()
                .to_string(),
            "-0.0"
        );
    }

    #[test]
    fn halves_are_rounded_once() {
        // Just above the midpoint of 1 and the next half, by less than f64 can tell.
        let above = "1.00048828125000000000000000000001";
        let below = "1.00048828124999999999999999999999";
        assert_eq!(
            read(CoreType::Float16, above, Dialect::V3, Strictness::Strict).as_deref(),
            Some("3c01")
        );
        assert_eq!(
            read(CoreType::Float16, below, Dialect::V3, Strictness::Strict).as_deref(),
            Some("3c00")
        );
        assert_eq!(
            read(
                CoreType::Float16,
                "1.00048828125",
                Dialect::V3,
                Strictness::Strict
            )
            .as_deref(),
            Some("3c00")
        );
    }

    /// Z2-052.
    #[test]
    fn base64_is_the_standard_one() {
        for (bytes, text) in [
            (&b"xyz"[..], "eHl6"),
            (b"a", "YQ=="),
            (b"ab", "YWI="),
            (b"", ""),
        ] {
            assert_eq!(base64_encode(bytes), text);
            assert_eq!(base64_decode(text).as_deref(), Some(bytes));
        }
        for bad in ["a", "####", "YQ=", "YR==", "=AAA"] {
            assert_eq!(base64_decode(bad), None, "{bad}");
        }
    }
}

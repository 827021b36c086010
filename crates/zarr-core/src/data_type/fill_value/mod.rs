//! Reads the fill value: what elements hold that were never written.
//!
//! One parser reads the spellings of all three dialects, each dialect allowing its own; values are
//! exact to the bit (D-110 … D-117, F-031 … F-039, Z2-050 … Z2-054).

mod base64;
mod numbers;
mod records;
mod write;

pub use self::base64::{base64_decode, base64_encode};
use self::numbers::{bit_string, bits_of_size, float_of_text, is_decimal, native};
pub(crate) use self::write::{repr_to_json, to_json};
use super::{
    DataType, FloatFormat, Repr, Rounding, Scalar, ScalarValue, integer_from_text, strings,
    variable,
};
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

    /// An element of zero bytes of this representation; an empty one if it has any number, and one of ones
    /// where numbers have no zero (F-054).
    pub fn zero_of(repr: Repr) -> Self {
        match repr {
            Repr::Variable => FillValue::zero(0),
            Repr::Scalar(scalar @ (Scalar::Float(_) | Scalar::Complex(_))) => {
                let number =
                    |value| scalar.cast(ScalarValue::Integer(value), Rounding::NearestEven, None);
                let bits = number(0).or_else(|| number(1)).unwrap_or_default();
                FillValue::new(scalar.element(bits).repeat(scalar.size() / scalar.part().size()))
            }
            _ => FillValue::zero(repr.size()),
        }
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
    // Their reader has been warned of bare ones (decision 0138).
    let standard;
    let json = if json.has_bare_floats() {
        standard = json.clone().into_standard();
        &standard
    } else {
        json
    };
    let mut words = Words { dialect, strictness, warnings };
    let invalid = |why: String| {
        MetadataError::invalid(
            "fill_value",
            format!("{} is not a value of {data_type}: {why}", json.brief()),
        )
    };
    let parsed = match data_type {
        DataType::Raw { size } => words.raw(*size, json),
        DataType::FixedBytes { len } => strings::bytes_from_json(*len, json, dialect),
        DataType::FixedUtf32 { len } => strings::utf32_from_json(*len, json, dialect),
        DataType::String | DataType::Bytes | DataType::Json | DataType::List(_) => {
            variable::from_json(data_type, json, dialect)
        }
        DataType::Record(record) => words.record(record, json),
        DataType::Optional(optional) => optional.element_of(json, |inner, json| {
            parse(inner, json, dialect, strictness, words.warnings)
        }),
        DataType::Extension(extension) => {
            return extension.fill_value_from_json(json, dialect).map(Some);
        }
        DataType::Unknown { fallback: Some(fallback), .. } => {
            // D-116: as the fallback's, if it can be; else undefined.
            return Ok(parse(fallback, json, dialect, strictness, warnings).unwrap_or_else(|_| {
                warnings
                    .push(format!("`fill_value` {} means nothing to the fallback", json.brief()));
                None
            }));
        }
        DataType::Unknown { .. } => return Ok(None),
        _ => {
            let scalar = data_type.scalar().ok_or_else(|| invalid("it is no number".into()))?;
            words.scalar(scalar, json)
        }
    };
    parsed.map(|bytes| Some(FillValue::new(bytes))).map_err(invalid)
}

/// The fill value that `json` means for elements that are nothing but this representation.
pub(crate) fn parse_repr(
    repr: Repr,
    json: &Json,
    dialect: Dialect,
) -> std::result::Result<FillValue, String> {
    let mut words = Words { dialect, strictness: Strictness::Strict, warnings: &mut Vec::new() };
    words.element(repr, json).map(FillValue::new)
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

    fn element(&mut self, repr: Repr, json: &Json) -> Result<Vec<u8>> {
        match repr {
            Repr::Scalar(scalar) if scalar.is_computable() => self.scalar(scalar, json),
            Repr::Opaque(size) => self.raw(size, json),
            other => Err(says_itself(other)),
        }
    }

    fn scalar(&mut self, scalar: Scalar, json: &Json) -> Result<Vec<u8>> {
        // D-114: the drafts write the bits of any core type; final v3 those of floats.
        if let (Dialect::Draft, Some(bits)) = (self.dialect, json.as_str().and_then(bit_string)) {
            let bytes = bits.and_then(|bits| bits_of_size(bits, scalar.size()))?;
            if scalar == Scalar::Bool && bytes[0] > 1 {
                return Err("a bool has bits 00 or 01".into());
            }
            return Ok(bytes.chunks(scalar.part().size()).flat_map(native).collect());
        }
        match scalar {
            Scalar::Bool => match (json.as_bool(), json.as_u64()) {
                (Some(value), _) => Ok(vec![value as u8]),
                // Others write numbers (decision 0138).
                (None, Some(value @ 0..=1)) => {
                    self.tolerate("a bool is `true` or `false`, not a number")?;
                    Ok(vec![value as u8])
                }
                _ => Err("a bool is `true` or `false`".into()),
            },
            Scalar::Int(_) | Scalar::Uint(_) => {
                let value = ScalarValue::Integer(self.integer(json)?);
                let bits = scalar.cast(value, Rounding::NearestEven, None).ok_or_else(|| {
                    let (least, most) = scalar.range();
                    format!("it lies outside {least}..={most}")
                })?;
                Ok(scalar.element(bits))
            }
            Scalar::Float(format) => self.float(format, json),
            Scalar::Complex(format) => self.complex(format, json),
            // NaT, or the count as an `int64` (F-047, Z2-030).
            Scalar::Time(_) => {
                let bits = match json {
                    Json::String(text) if text == "NaT" => scalar.from_text(text),
                    Json::Number(text) => text.parse().ok().map(|count: i64| count as u64),
                    _ => None,
                };
                let bits = bits.ok_or("it is neither a 64-bit integer nor \"NaT\"")?;
                Ok(scalar.element(bits))
            }
        }
    }

    fn complex(&mut self, format: FloatFormat, json: &Json) -> Result<Vec<u8>> {
        match json.as_array() {
            Some([re, im]) => Ok([self.float(format, re)?, self.float(format, im)?].concat()),
            // So GDAL 3.6 writes those on the real axis.
            None if self.dialect != Dialect::V3
                && (json.as_number().is_some()
                    || self.dialect == Dialect::V2 && json.as_str().is_some_and(is_decimal)) =>
            {
                self.tolerate("a complex number has no imaginary part; taken as zero")?;
                Ok([self.float(format, json)?, vec![0; format.size()]].concat())
            }
            _ => Err("a complex number is `[real, imaginary]`".into()),
        }
    }

    /// Exact, however large; integral floats such as `7.0` and `1e3` are tolerated (F-033, D-112).
    fn integer(&mut self, json: &Json) -> Result<i128> {
        // In v2 any number may be decimal text (decision 0138); in drafts GDAL 3.6 writes so those that no double holds.
        let is_wide = |text: &str| text.parse().is_ok_and(|n: u64| n > 1 << 53);
        let quoted =
            json.as_str().filter(|text| is_decimal(text)).filter(|text| match self.dialect {
                Dialect::V2 => true,
                Dialect::Draft => is_wide(text),
                Dialect::V3 => false,
            });
        if quoted.is_some() {
            self.tolerate("an integer is written as a string")?;
        }
        let text = quoted.or(json.as_number());
        let text = text.ok_or_else(|| format!("{} stands for an integer", json.kind()))?;
        let value = integer_from_text(text).ok_or("it is no integer, or too large")?;
        if text.parse::<i128>().is_err() {
            self.tolerate("an integer is written with a fraction or an exponent")?;
        }
        Ok(value)
    }

    fn float(&mut self, format: FloatFormat, json: &Json) -> Result<Vec<u8>> {
        let bits = match json {
            Json::Number(text) => float_of_text(format, text, self.dialect)?,
            Json::String(text) => self.float_word(format, text)?,
            _ => return Err(format!("{} stands for a float", json.kind())),
        };
        Ok(Scalar::Float(format).element(bits))
    }

    fn float_word(&mut self, format: FloatFormat, text: &str) -> Result<u64> {
        let special = |value: f64| {
            let none = || format!("a {} has no {value:?}", format.name());
            format.from_f64(value, Rounding::NearestEven).ok_or_else(none)
        };
        match (text, self.dialect) {
            ("NaN", _) => return special(f64::NAN),
            ("-Infinity", _) => return special(f64::NEG_INFINITY),
            ("Infinity", Dialect::V3 | Dialect::V2) | ("+Infinity", Dialect::Draft) => {
                return special(f64::INFINITY);
            }
            ("Infinity" | "+Infinity", _) => {
                self.tolerate("infinity is spelled as in another dialect")?;
                return special(f64::INFINITY);
            }
            _ => {}
        }
        if self.dialect != Dialect::V2
            && let Some(bits) = bit_string(text)
        {
            if self.dialect == Dialect::V3 && !text.starts_with("0x") {
                return Err("the bits of a float are written `0x…`".into());
            }
            let bytes = bits.and_then(|bits| bits_of_size(bits, format.size()))?;
            let bits = bytes.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
            return match bits & !format.mask() {
                0 => Ok(bits),
                _ => Err(format!("a {} has {} bits", format.name(), format.bits())),
            };
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
                    .and_then(|()| float_of_text(format, text, self.dialect));
            }
            _ => None,
        };
        let value = other.ok_or("no such word for a float")?;
        self.tolerate("a float is spelled in another library's way")?;
        special(value)
    }

    fn raw(&mut self, size: usize, json: &Json) -> Result<Vec<u8>> {
        match (self.dialect, json) {
            // D-115: digits in storage order.
            (Dialect::Draft, Json::String(text)) => match bit_string(text) {
                Some(bits) => bits.and_then(|bits| bits_of_size(bits, size)),
                None => match base64_decode(text).filter(|bytes| bytes.len() == size) {
                    Some(bytes) => {
                        self.tolerate("raw bytes are written in base64, not as `0x…`")?;
                        Ok(bytes)
                    }
                    None => Err("raw bytes are written `0x…` or `0b…`".into()),
                },
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

fn says_itself(repr: Repr) -> String {
    format!("a type that rests on {repr:?} says itself what its fill values are")
}

#[cfg(test)]
mod tests {
    use super::numbers::hex;
    use super::*;
    use crate::data_type::CoreType;

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
        check(Bool, Dialect::V3, &[("true", Some("01")), ("1", None), ("\"true\"", None)]);
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
        check(Uint64, Dialect::V3, &[("18446744073709551615", Some("ffffffffffffffff"))]);
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
        check(Float64, Dialect::V3, &[("5e-324", Some("0000000000000001"))]);
        check(
            Complex64,
            Dialect::V3,
            &[("[\"-Infinity\",\"NaN\"]", Some("7fc00000ff800000")), ("1", None), ("[1]", None)],
        );
        assert_eq!(read(Uint8, "7.0", Dialect::V3, Strictness::Tolerant).as_deref(), Some("07"));
        for (text, bits) in [("0", Some("00")), ("1", Some("01")), ("2", None), ("\"1\"", None)] {
            assert_eq!(read(Bool, text, Dialect::V3, Strictness::Tolerant).as_deref(), bits);
        }
    }

    /// D-111 … D-114, Q3.
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
        check(Float16, Dialect::Draft, &[("\"0x3c00\"", Some("3c00")), ("65520", None)]);
        check(
            Int32,
            Dialect::Draft,
            &[("\"0xffffffff\"", Some("ffffffff")), ("\"NaN\"", None), ("1e2", None)],
        );
        check(Bool, Dialect::Draft, &[("\"0x01\"", Some("01")), ("\"0x02\"", None), ("0", None)]);
        assert_eq!(
            read(Float32, "\"Infinity\"", Dialect::Draft, Strictness::Tolerant).as_deref(),
            Some("7f800000")
        );
    }

    /// Z2-050, Z2-054.
    #[test]
    fn v2_spellings() {
        use CoreType::*;
        let lenient = |core, text| read(core, text, Dialect::V2, Strictness::Tolerant);
        assert_eq!(lenient(Float64, "\"1.5\"").as_deref(), Some("3ff8000000000000"));
        assert_eq!(lenient(Float64, "\"nan\"").as_deref(), Some("7ff8000000000000"));
        assert_eq!(lenient(Int32, "7.0").as_deref(), Some("00000007"));
        assert_eq!(lenient(Int32, "1.5"), None);
        assert_eq!(lenient(Complex64, "1").as_deref(), Some("000000003f800000"));
        assert_eq!(
            lenient(Uint64, "\"18446744073709551615\"").as_deref(),
            Some("ffffffffffffffff")
        );
        // Decision 0138: decimal text for any type of numbers.
        assert_eq!(lenient(Uint64, "\"7\"").as_deref(), Some("0000000000000007"));
        assert_eq!(lenient(Int16, "\"-1\"").as_deref(), Some("ffff"));
        assert_eq!(lenient(Int16, "\"7.0\"").as_deref(), Some("0007"));
        assert_eq!(lenient(Complex64, "\"1\"").as_deref(), Some("000000003f800000"));
        for (core, text) in [(Int8, "\"128\""), (Int8, "\"\""), (Int8, "\"x\""), (Int8, "\"1.5\"")]
        {
            assert_eq!(lenient(core, text), None, "{text}");
        }
        assert_eq!(read(Uint64, "\"7\"", Dialect::V2, Strictness::Strict), None);
        assert_eq!(lenient(Float64, "\"foo\""), None);
    }

    /// Round trips to the bit, in each dialect that can say them (F-036, D-117, T-16, T-19).
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
                    assert_eq!(back.unwrap(), Some(value), "{bits:08x} as {json} in {dialect}");
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
            read(CoreType::Float16, "1.00048828125", Dialect::V3, Strictness::Strict).as_deref(),
            Some("3c00")
        );
    }

    /// Z2-052.
    #[test]
    fn base64_is_the_standard_one() {
        for (bytes, text) in [(&b"xyz"[..], "eHl6"), (b"a", "YQ=="), (b"ab", "YWI="), (b"", "")] {
            assert_eq!(base64_encode(bytes), text);
            assert_eq!(base64_decode(text).as_deref(), Some(bytes));
        }
        for bad in ["a", "####", "YQ=", "YR==", "=AAA"] {
            assert_eq!(base64_decode(bad), None, "{bad}");
        }
    }
}

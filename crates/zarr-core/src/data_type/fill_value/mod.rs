//! Reads the fill value: what elements hold that were never written.
//!
//! One parser reads the forms of all three dialects; values are exact to the bit (D-110 … D-117, F-031 … F-039, Z2-050 …
//! Z2-054).

mod base64;
mod numbers;
mod plain;
mod typed;
mod value;

pub use self::base64::{base64_decode, base64_encode};
pub(crate) use self::plain::{parse_repr, repr_to_json};
pub(crate) use self::typed::{parse, parse_element, to_json};
pub use self::value::FillValue;

#[cfg(test)]
mod tests {
    use super::numbers::{hex, native};
    use super::*;
    use crate::data_type::CoreType;
    use crate::dialect::{Dialect, Strictness};
    use crate::json::Json;

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
        // Decimal text for any type of numbers.
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

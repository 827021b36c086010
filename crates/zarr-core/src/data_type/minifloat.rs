//! Names the numbers of final v3's registry that are smaller than the core's, and checks their bytes.
//!
//! Integers of two and four bits, and floats of other formats than IEEE 754's, each in a byte or two;
//! two floats make a complex number (F-052 … F-055). No other dialect can represent them.
//!
//! In memory an integer fills its byte, so that elements are `i8` and `u8`; a float is in the low bits. A
//! store may hold anything above the bits of a number; writers put zeros there.

use super::{CoreType, DataType, FloatFormat};

/// The type of this name; `None` for other names. `complex_float32` and `complex_float64` are the core's
/// own under another name.
pub(crate) fn from_v3(name: &str) -> Option<DataType> {
    Some(match name {
        "int2" => DataType::IntBits(2),
        "int4" => DataType::IntBits(4),
        "uint2" => DataType::UintBits(2),
        "uint4" => DataType::UintBits(4),
        "complex_float16" => DataType::ComplexMinifloat(FloatFormat::FLOAT16),
        "complex_float32" => CoreType::Complex64.into(),
        "complex_float64" => CoreType::Complex128.into(),
        name => match name.strip_prefix("complex_") {
            Some(part) => DataType::ComplexMinifloat(FloatFormat::from_name(part)?),
            None => DataType::Minifloat(FloatFormat::from_name(name)?),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;
    use crate::data_type::{Endian, FillValue, Origin, Repr, Scalar};
    use crate::dialect::Dialect;
    use crate::json::Json;

    fn parse(name: &str) -> DataType {
        Registry::new().parse_data_type(&name.into(), Dialect::V3).unwrap().data_type
    }

    fn fill(data_type: &DataType, text: &str) -> Option<Vec<u8>> {
        let json = Json::parse(text.as_bytes()).unwrap();
        let fill = data_type.element_from_json(&json, Dialect::V3).ok()?;
        let said = data_type.element_to_json(&fill, Dialect::V3).unwrap();
        assert_eq!(data_type.element_from_json(&said, Dialect::V3).unwrap(), fill, "{said}");
        Some(fill.as_bytes().to_vec())
    }

    /// F-052 … F-055: what stands in the registry, and tensorstore's own.
    #[test]
    fn every_name_of_the_registry_is_known_in_final_v3_alone() {
        let floats = FloatFormat::ALL.map(FloatFormat::name);
        let complex = floats.iter().map(|name| format!("complex_{name}"));
        let integers = ["int2", "int4", "uint2", "uint4", "complex_float16"].map(String::from);
        for name in floats.map(String::from).into_iter().chain(complex).chain(integers) {
            let data_type = parse(&name);
            assert_eq!(data_type.to_string(), name);
            assert_eq!(data_type.to_metadata(Dialect::V3, Endian::Big), Some(Json::from(name)));
            for other in [Dialect::V2, Dialect::Draft] {
                assert_eq!(data_type.to_metadata(other, Endian::Little), None);
            }
        }
        assert_eq!(parse("complex_float32"), CoreType::Complex64.into());
        assert_eq!(parse("complex_float64"), CoreType::Complex128.into());
        assert_eq!(
            parse("complex_float16").repr(),
            Some(Repr::Scalar(Scalar::Complex(FloatFormat::FLOAT16)))
        );
        for unknown in ["int3", "float8", "float8_e4m3FN", "complex_int4", "complex_", "Bfloat16"] {
            assert_eq!(parse(unknown).repr(), None, "{unknown}");
        }
    }

    /// F-053: the ends of each range.
    #[test]
    fn fill_values_of_integers_are_in_range() {
        for (name, low, high) in
            [("int2", -2, 1), ("int4", -8, 7), ("uint2", 0, 3), ("uint4", 0, 15)]
        {
            let data_type = parse(name);
            for value in [low, high] {
                let due = vec![value as i8 as u8];
                assert_eq!(fill(&data_type, &value.to_string()), Some(due), "{name} {value}");
            }
            for bad in
                [(low - 1).to_string(), (high + 1).to_string(), "0.5".into(), "\"0x1\"".into()]
            {
                assert_eq!(fill(&data_type, &bad), None, "{name} {bad}");
            }
        }
    }

    /// F-035, F-036, F-052, F-054, F-055.
    #[test]
    fn fill_values_of_floats_are_exact_to_the_bit() {
        let bytes = |name: &str, text: &str| fill(&parse(name), text);
        let brain = |bits: u16| Some(bits.to_ne_bytes().to_vec());
        assert_eq!(bytes("bfloat16", "\"NaN\""), brain(0x7fc0));
        assert_eq!(bytes("bfloat16", "\"0xffc1\""), brain(0xffc1));
        assert_eq!(bytes("bfloat16", "\"-Infinity\""), brain(0xff80));
        assert_eq!(bytes("bfloat16", "-0.0"), brain(0x8000));
        assert_eq!(bytes("bfloat16", "0.1"), brain(0x3dcd));
        assert_eq!(bytes("bfloat16", "1e39"), brain(0x7f80));
        assert_eq!(bytes("bfloat16", "\"0xc0\""), None);
        let pair =
            [brain(0x3f80), brain(0x7fc0)].into_iter().flatten().collect::<Vec<_>>().concat();
        assert_eq!(bytes("complex_bfloat16", "[1,\"NaN\"]"), Some(pair));
        assert_eq!(bytes("complex_bfloat16", "1"), None);
        for (name, text, due) in [
            ("float8_e3m4", "\"NaN\"", Some(0x78)),
            ("float8_e4m3", "\"NaN\"", Some(0x7c)),
            ("float8_e4m3", "1e9", Some(0x78)),
            ("float8_e4m3", "\"0xFD\"", Some(0xfd)),
            ("float8_e4m3fn", "448", Some(0x7e)),
            ("float8_e4m3fn", "\"Infinity\"", None),
            ("float8_e4m3fn", "465", None),
            ("float8_e4m3fnuz", "\"NaN\"", Some(0x80)),
            ("float8_e4m3fnuz", "-0.0", Some(0)),
            ("float8_e4m3b11fnuz", "\"NaN\"", Some(0x80)),
            ("float8_e5m2", "-2", Some(0xc0)),
            ("float8_e5m2", "\"Infinity\"", Some(0x7c)),
            ("float8_e5m2fnuz", "\"NaN\"", Some(0x80)),
            ("float8_e8m0fnu", "\"NaN\"", Some(0xff)),
            ("float8_e8m0fnu", "1", Some(0x7f)),
            ("float8_e8m0fnu", "0", Some(0)),
            ("float8_e8m0fnu", "1e-300", Some(0)),
            ("float8_e8m0fnu", "-1", None),
            ("float4_e2m1fn", "\"NaN\"", None),
            ("float4_e2m1fn", "\"Infinity\"", None),
            ("float4_e2m1fn", "-6", Some(0x0f)),
            ("float4_e2m1fn", "\"0x0f\"", Some(0x0f)),
            ("float4_e2m1fn", "\"0x1f\"", None),
            ("float4_e2m1fn", "\"0xf\"", None),
            ("float6_e2m3fn", "7.5", Some(0x1f)),
            ("float6_e3m2fn", "\"0x3f\"", Some(0x3f)),
            ("float6_e3m2fn", "29", Some(0x1f)),
            ("float6_e3m2fn", "31", None),
        ] {
            assert_eq!(bytes(name, text), due.map(|byte| vec![byte]), "{name} {text}");
        }
        // F-054: there is no zero.
        let one = FillValue::zero_of(parse("float8_e8m0fnu").repr().unwrap());
        assert_eq!(one.as_bytes(), [0x7f]);
    }

    /// F-053: a store may hold anything above the bits; a caller may not.
    #[test]
    fn stored_elements_are_brought_into_the_form_of_memory() {
        for (name, stored, memory) in [
            ("int4", [0x0b, 0xfb, 0x8b, 0x37], [0xfb, 0xfb, 0xfb, 0x07]),
            ("int2", [0x03, 0xff, 0x02, 0xfd], [0xff, 0xff, 0xfe, 0x01]),
            ("uint4", [0x0b, 0xfb, 0x8b, 0x37], [0x0b, 0x0b, 0x0b, 0x07]),
            ("float6_e2m3fn", [0x3f, 0xff, 0x40, 0x80], [0x3f, 0x3f, 0, 0]),
            ("complex_float4_e2m1fn", [0x3f, 0xff, 0x40, 0x80], [0x0f, 0x0f, 0, 0]),
            ("float8_e5m2", [0x3f, 0xff, 0x40, 0x80], [0x3f, 0xff, 0x40, 0x80]),
        ] {
            let data_type = parse(name);
            let mut elements = stored;
            data_type.check(&mut elements, Origin::Store).unwrap();
            assert_eq!(elements, memory, "{name}");
            data_type.check(&mut elements, Origin::Caller).unwrap();
            let mut given = stored;
            let refused = data_type.check(&mut given, Origin::Caller).is_err();
            assert_eq!(refused, stored != memory, "{name}");
        }
    }
}

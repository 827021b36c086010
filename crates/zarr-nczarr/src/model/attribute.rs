//! Converts typed values to JSON and back (N-040 … N-053).

use std::fmt;

use zarr_core::data_type::{CoreType, FillValue, Rounding, Scalar, ScalarValue, store_bits};
use zarr_core::{AccessError, Dialect, Json, missing_value};

use crate::model::elements::decode;
use crate::model::types::Type;
use crate::model::types::is_default_float;
use crate::model::values::{Values, each_number};

/// The type that an attribute's type note means: a type, or text that is JSON. `legacy` notes write `char` as
/// strings of one byte.
pub(crate) fn noted_type(note: &str, legacy: bool) -> Option<Type> {
    let plain = note.trim_start_matches(['<', '>', '|', '=']);
    Some(match plain {
        "char" | "U1" | "J0" | "json" => Type::Char,
        "S1" if note.starts_with('>') || legacy => Type::Char,
        "string" => Type::String,
        _ => match plain.strip_prefix('S') {
            Some(digits) => digits.bytes().all(|b| b.is_ascii_digit()).then_some(Type::String)?,
            None => {
                let core = CoreType::ALL.into_iter();
                let core = core.filter(|core| [core.name(), core.kind_and_size()].contains(&plain));
                core.filter_map(Type::of_core).find(|ty| ty.is_atomic())?
            }
        },
    })
}

/// The type note of an attribute, as a dialect writes it (N-003).
pub(crate) fn note(ty: Type, dialect: Dialect) -> String {
    match (ty, ty.core(), dialect) {
        (_, Some(core), Dialect::V3) => core.name().into(),
        (_, Some(core), _) => format!("<{}", core.kind_and_size()),
        (Type::Char, _, Dialect::V3) => "char".into(),
        (Type::Char, ..) => ">S1".into(),
        (_, _, Dialect::V3) => "string".into(),
        _ => "|S128".into(),
    }
}

/// The note of a JSON value that is an attribute.
pub(crate) fn json_note(dialect: Dialect) -> &'static str {
    if dialect == Dialect::V3 { "json" } else { "|J0" }
}

/// An attribute's JSON, and its type note.
///
/// # Errors
/// [`AccessError::Argument`] for what no attribute can hold: no values at all, bytes that are no text, bools,
/// complex numbers.
pub(crate) fn to_json(values: &Values, dialect: Dialect) -> Result<(Json, String), AccessError> {
    let list: Vec<Json> = each_number!(values, list => list.iter().map(number_to_json).collect(),
        Values::Char(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|_| refuse("text that is not UTF-8"))?;
            // N-043: `42`, `true` and `"hi"` stay text. netcdf-c refuses a dataset of v2 in which the note of a user's
            // attribute is `|J0`.
            // An object that names a member twice would lose one.
            let json =
                Json::parse_tolerant(bytes).ok().filter(|(_, odd)| *odd == Default::default());
            let json = json.map(|(json, _)| json);
            return Ok(match (json, dialect) {
                (Some(json @ (Json::Object(_) | Json::Array(_))), Dialect::V3) => {
                    (json, json_note(dialect).into())
                }
                (Some(json @ (Json::Object(_) | Json::Array(_))), _) => {
                    (json, note(Type::Char, dialect))
                }
                _ => (text.into(), note(Type::Char, dialect)),
            });
        }
        Values::String(list) => list.iter().map(|text| text.as_str().into()).collect(),
        Values::Bool(_) => return Err(refuse("bools; make them ubytes")),
        Values::Complex64(_) | Values::Complex128(_) => return Err(refuse("complex numbers")),
    );
    let note = note(values.ty(), dialect);
    match <[Json; 1]>::try_from(list) {
        Ok([one]) => Ok((one, note)),
        Err(list) if list.is_empty() => Err(refuse("no values at all")),
        Err(list) => Ok((list.into(), note)),
    }
}

/// The error of what an attribute cannot hold.
fn refuse(what: &str) -> AccessError {
    AccessError::Argument(format!("an attribute cannot hold {what}"))
}

/// The attribute `_FillValue` of a variable: as any other, but in v3 as xarray needs it, which takes floats for base64 of
/// a little-endian double there, complex numbers for two of those, and characters for numbers.
///
/// # Errors
/// As [`to_json`].
pub(crate) fn fill_to_json(
    values: &Values,
    dialect: Dialect,
) -> Result<(Json, String), AccessError> {
    let found = match (values, dialect) {
        (Values::Float(list), Dialect::V3) => {
            list.first().map(|value| (CoreType::Float32, value.to_ne_bytes().to_vec()))
        }
        (Values::Double(list), Dialect::V3) => {
            list.first().map(|value| (CoreType::Float64, value.to_ne_bytes().to_vec()))
        }
        // The same words as of doubles.
        (Values::Complex64(list), Dialect::V3) => {
            list.first().map(|pair| (CoreType::Complex128, complex_bytes(pair.map(f64::from))))
        }
        (Values::Complex128(list), Dialect::V3) => {
            list.first().map(|pair| (CoreType::Complex128, complex_bytes(*pair)))
        }
        (Values::Complex64(list), _) => {
            return Ok((to_json(&list.concat().into(), dialect)?.0, note(values.ty(), dialect)));
        }
        (Values::Complex128(list), _) => {
            return Ok((to_json(&list.concat().into(), dialect)?.0, note(values.ty(), dialect)));
        }
        (Values::Char(bytes), Dialect::V3) if bytes.len() == 1 => {
            return Ok((u64::from(bytes[0]).into(), note(Type::Ubyte, dialect)));
        }
        _ => None,
    };
    let spelled = found
        .and_then(|(core, bytes)| missing_value::to_json(&core.into(), &FillValue::new(bytes)));
    match spelled {
        Some(json) => Ok((json, note(values.ty(), dialect))),
        None => to_json(values, dialect),
    }
}

/// The native bytes of a complex number.
fn complex_bytes(number: [f64; 2]) -> Vec<u8> {
    number.map(f64::to_ne_bytes).concat()
}

/// The fill value that JSON means for a variable of this type: one value (N-054).
///
/// # Errors
/// A sentence, when it means none.
pub(crate) fn fill_from_json(json: &Json, ty: Type) -> Result<Values, String> {
    if let (Type::Char, Some(byte)) = (ty, json.as_u64().and_then(|n| u8::try_from(n).ok())) {
        return Ok(Values::Char(vec![byte]));
    }
    let value = typed(json, ty).or_else(|why| numbers_from_json(json, ty).ok_or(why))?;
    match (value.len(), ty) {
        (1, _) => Ok(value),
        // The other library says a NUL as no text.
        (0, Type::Char) => Ok(Type::Char.default_fill()),
        (count, _) => Err(format!("expected one value, found {count}")),
    }
}

/// The number, or the complex number, that JSON means in the words of a fill value, such as `"NaN"`.
fn numbers_from_json(json: &Json, ty: Type) -> Option<Values> {
    let value = |core: CoreType| missing_value::from_json(&core.into(), json);
    macro_rules! number {
        ($core:ident, $rust:ty) => {{
            let fill = value(CoreType::$core);
            let bytes = fill.and_then(|fill| fill.as_bytes().try_into().ok());
            bytes.map(|bytes| vec![<$rust>::from_ne_bytes(bytes)].into())
        }};
    }
    macro_rules! pair {
        ($core:ident, $rust:ty) => {{
            let bytes = value(CoreType::$core)?.as_bytes().to_vec();
            let (parts, _) = bytes.as_chunks::<{ size_of::<$rust>() }>();
            let part = |at: usize| parts.get(at).map(|part| <$rust>::from_ne_bytes(*part));
            Some(vec![[part(0)?, part(1)?]].into())
        }};
    }
    match ty {
        Type::Float => number!(Float32, f32),
        Type::Double => number!(Float64, f64),
        Type::Complex64 => pair!(Complex64, f32),
        Type::Complex128 => pair!(Complex128, f64),
        _ => None,
    }
}

/// A number with all its digits, or the word for it (N-045).
fn number_to_json(number: &impl fmt::Debug) -> Json {
    let text = format!("{number:?}");
    match text.as_str() {
        "NaN" => "NaN".into(),
        "inf" => "Infinity".into(),
        "-inf" => "-Infinity".into(),
        _ => Json::Number(text.into()),
    }
}

/// The values that JSON means for an attribute of this type (N-050).
///
/// # Errors
/// A sentence, when it means none.
pub(crate) fn typed(json: &Json, ty: Type) -> Result<Values, String> {
    let items = match json {
        Json::Array(items) => &items[..],
        one => std::slice::from_ref(one),
    };
    match (ty, ty.core()) {
        (Type::Char, _) => Ok(Values::text(&text(json))),
        (Type::String, _) => Ok(Values::String(items.iter().map(text).collect())),
        (_, Some(core)) if ty.is_atomic() => {
            let scalar = core.scalar();
            let mut bytes = vec![0; items.len() * scalar.size()];
            for (item, element) in items.iter().zip(bytes.chunks_exact_mut(scalar.size())) {
                store_bits(number(item, scalar)?, element);
            }
            Ok(decode(ty, scalar.into(), &bytes))
        }
        _ => Err(format!("attributes of type {ty} are not known")),
    }
}

/// The values that JSON means for an attribute whose type is not recorded (N-051, N-052).
pub(crate) fn untyped(json: &Json) -> Values {
    let items = match json {
        Json::Array(items) if !items.is_empty() => &items[..],
        Json::Array(_) | Json::Object(_) | Json::Null => return Values::text(&text(json)),
        Json::String(text) => return Values::text(text),
        one => std::slice::from_ref(one),
    };
    let all = |is: fn(&Json) -> bool| items.iter().all(is);
    if all(|json| json.as_bool().is_some()) {
        return Values::Ubyte(
            items.iter().map(|json| u8::from(json.as_bool() == Some(true))).collect(),
        );
    }
    if all(|json| json.as_str().is_some()) {
        return Values::String(items.iter().map(text).collect());
    }
    let numbers = items.iter().any(|json| json.as_number().is_some());
    if !numbers || !all(|json| number(json, CoreType::Float64.scalar()).is_ok()) {
        return Values::text(&text(json));
    }
    let whole: Option<Vec<i128>> =
        items.iter().map(|json| json.as_number()?.parse().ok()).collect();
    let range = whole.as_ref().and_then(|all| Some((*all.iter().min()?, *all.iter().max()?)));
    let ty = match range {
        Some((min, max)) if min >= i32::MIN.into() && max <= i32::MAX.into() => Type::Int,
        Some((min, max)) if min >= 0 && max <= u32::MAX.into() => Type::Uint,
        Some((min, max)) if min >= i64::MIN.into() && max <= i64::MAX.into() => Type::Int64,
        Some((min, max)) if min >= 0 && max <= u64::MAX.into() => Type::Uint64,
        _ => Type::Double,
    };
    typed(json, ty).unwrap_or_else(|_| Values::text(&text(json)))
}

/// What a text attribute is whose JSON is no text: that JSON (N-044, N-052).
fn text(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        other => {
            let mut out = String::new();
            write(other, &mut out);
            out
        }
    }
}

/// As netCDF's library writes JSON: `{"a": [1,2], "b": null}`.
fn write(json: &Json, out: &mut String) {
    match json {
        Json::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                write(item, out);
            }
            out.push(']');
        }
        Json::Object(object) => {
            out.push('{');
            for (n, (name, value)) in object.iter().enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                out.push_str(&Json::from(name).to_string());
                out.push_str(": ");
                write(value, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// The bits of the number that JSON stands for, rounded once. Integers may have a fraction of zeros.
fn number(json: &Json, scalar: Scalar) -> Result<u64, String> {
    let is_float = matches!(scalar, Scalar::Float(_));
    let float = |value| scalar.cast(ScalarValue::Float(value), Rounding::NearestEven, None);
    let bits = match json {
        Json::Bool(value) => scalar.from_text(if *value { "1" } else { "0" }),
        Json::Number(text) if text.is_bare_float() => special(text).and_then(float),
        Json::Number(text) if is_float && is_default_float(text) => float(DEFAULT_FLOAT),
        Json::Number(text) => match (scalar.from_text(text), text.parse::<f64>()) {
            (None, Ok(value)) if is_float || value.fract() == 0.0 => {
                return Err(format!("{} is out of range", json.brief()));
            }
            (bits, _) => bits,
        },
        Json::String(text) if is_float => special(text).and_then(float),
        _ => None,
    };
    let what = if is_float { "number" } else { "integer" };
    bits.ok_or_else(|| format!("{} is not of type {what}", json.brief()))
}

/// 15 × 2^119, which netCDF's library prints in six digits.
const DEFAULT_FLOAT: f64 = 9.969_209_968_386_869e36;

/// N-045, and as others write them.
fn special(text: &str) -> Option<f64> {
    Some(match text {
        "NaN" | "nan" => f64::NAN,
        "Infinity" | "inf" => f64::INFINITY,
        "-Infinity" | "-inf" => f64::NEG_INFINITY,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    /// N-040 … N-046: values come back as they were, to the last digit.
    #[test]
    fn values_survive_json() {
        let all = [
            Values::Byte(vec![-128, 127]),
            Values::Ubyte(vec![255]),
            Values::Short(vec![-5, 7]),
            Values::Ushort(vec![65535]),
            Values::Int(vec![i32::MIN, i32::MAX]),
            Values::Uint(vec![u32::MAX]),
            Values::Int64(vec![i64::MIN, i64::MAX]),
            Values::Uint64(vec![u64::MAX, 0]),
            Values::Float(vec![0.1, std::f32::consts::PI, f32::MAX, f32::MIN_POSITIVE, 1e16]),
            Values::Double(vec![std::f64::consts::PI, 1e300, -0.0, 9.969209968386869e36]),
            Values::Double(vec![f64::INFINITY, f64::NEG_INFINITY]),
            Values::text("42"),
            Values::text(""),
            Values::text("true"),
            Values::text("\"hi\""),
            Values::text("NaN"),
            Values::text("[0.,1.]"),
            Values::text("[1,2"),
            Values::text("{\"a\":1,\"a\":2}"),
            Values::text("[NaN]"),
            Values::String(vec!["a".into(), "ü".into()]),
            Values::String(vec!["one".into()]),
        ];
        for values in all {
            for dialect in [Dialect::V2, Dialect::V3] {
                let (json, note) = to_json(&values, dialect).unwrap();
                assert!(values.ty() != Type::Char || json.as_str().is_some(), "{json}");
                let ty = noted_type(&note, false).unwrap();
                assert_eq!(typed(&json, ty).unwrap(), values, "{json} {note}");
            }
        }
        let (nan, _) = to_json(&Values::Float(vec![f32::NAN]), Dialect::V2).unwrap();
        assert_eq!(nan, Json::from("NaN"));
        for refused in [
            Values::Int(vec![]),
            Values::String(vec![]),
            Values::Char(vec![0xff]),
            Values::Bool(vec![true]),
            Values::Complex64(vec![[0.0; 2]]),
        ] {
            assert!(to_json(&refused, Dialect::V2).is_err(), "{refused:?}");
        }
    }

    /// N-043, N-052.
    #[test]
    fn json_texts_are_kept_as_json() {
        let (stored, note) = to_json(&"{\"step\":[1, 2]}".into(), Dialect::V2).unwrap();
        assert_eq!((stored.to_string().as_str(), note.as_str()), ("{\"step\":[1,2]}", ">S1"));
        assert_eq!(to_json(&"[1]".into(), Dialect::V3).unwrap().1, "json");
        assert_eq!(typed(&stored, Type::Char).unwrap().as_text(), Some("{\"step\": [1,2]}"));
    }

    /// N-050: with a type; what a typed attribute of netcdf-c holds instead of text is that text (N-044).
    #[test]
    fn types_are_obeyed() {
        assert_eq!(typed(&json("42"), Type::Char).unwrap().as_text(), Some("42"));
        assert_eq!(typed(&json("true"), Type::Char).unwrap().as_text(), Some("true"));
        assert_eq!(typed(&json("7"), Type::Float).unwrap(), Values::Float(vec![7.0]));
        assert_eq!(typed(&json("7.0"), Type::Short).unwrap(), Values::Short(vec![7]));
        let snapped = typed(&json("9.96921e+36"), Type::Double).unwrap();
        assert_eq!(snapped, Type::Double.default_fill());
        assert_eq!(typed(&json("9.96921e+36"), Type::Float).unwrap(), Type::Float.default_fill());
        for (text, ty) in [
            ("256", Type::Ubyte),
            ("-1", Type::Uint64),
            ("\"NaN\"", Type::Int),
            ("1.5", Type::Int),
            ("1e39", Type::Float),
            ("-1e400", Type::Double),
            ("null", Type::Double),
            ("[1,\"a\"]", Type::Int),
        ] {
            assert!(typed(&json(text), ty).is_err(), "{text} {ty}");
        }
        for (note, ty) in [(">S1", Type::Char), ("<U1", Type::Char), ("|S128", Type::String)] {
            assert_eq!(noted_type(note, false), Some(ty));
        }
        assert_eq!(noted_type("|S1", true), Some(Type::Char));
        assert_eq!(noted_type("|S1", false), Some(Type::String));
        assert_eq!(noted_type("what", false), None);
    }

    /// N-054: one value, of which xarray has words of its own.
    #[test]
    fn fill_values_are_of_the_variables_type() {
        for value in [
            Values::Float(vec![0.1]),
            Values::Double(vec![f64::INFINITY]),
            Values::Char(vec![b'-']),
            Values::Char(vec![0xff]),
            Values::Int(vec![-7]),
            Values::Uint64(vec![u64::MAX]),
            Values::String(vec!["none".into()]),
            Values::Complex64(vec![[0.1, f32::INFINITY]]),
            Values::Complex128(vec![[0.0, -2.5]]),
        ] {
            for dialect in [Dialect::V2, Dialect::V3] {
                let Ok((json, _)) = fill_to_json(&value, dialect) else {
                    assert_eq!((&value, dialect), (&Values::Char(vec![0xff]), Dialect::V2));
                    continue;
                };
                assert_eq!(fill_from_json(&json, value.ty()).unwrap(), value, "{json}");
            }
        }
        let (json, _) = fill_to_json(&Values::Float(vec![-9.0]), Dialect::V3).unwrap();
        assert_eq!(json, Json::from("AAAAAAAAIsA="));
        let nan = fill_from_json(&Json::from("AAAAAAAA+H8="), Type::Float).unwrap();
        assert!(matches!(&nan, Values::Float(list) if list[0].is_nan()), "{nan:?}");
        for (text, ty) in [("\"NaN\"", Type::Int), ("[1,2]", Type::Int), ("\"ab\"", Type::Char)] {
            assert!(fill_from_json(&self::json(text), ty).is_err(), "{text}");
        }
    }

    /// N-051, N-052.
    #[test]
    fn types_are_inferred() {
        for (text, due) in [
            ("7", Values::Int(vec![7])),
            ("-7", Values::Int(vec![-7])),
            ("4294967295", Values::Uint(vec![u32::MAX])),
            ("4294967296", Values::Int64(vec![1 << 32])),
            ("-2147483649", Values::Int64(vec![-2147483649])),
            ("9223372036854775808", Values::Uint64(vec![1 << 63])),
            ("1.5", Values::Double(vec![1.5])),
            ("1e3", Values::Double(vec![1000.0])),
            ("true", Values::Ubyte(vec![1])),
            ("[true,false]", Values::Ubyte(vec![1, 0])),
            ("[1,2.5]", Values::Double(vec![1.0, 2.5])),
            ("[1,\"Infinity\"]", Values::Double(vec![1.0, f64::INFINITY])),
            ("\"x\"", "x".into()),
            ("\"NaN\"", "NaN".into()),
            ("[\"x\",\"y\"]", Values::String(vec!["x".into(), "y".into()])),
            ("{\"a\":[1, 2]}", "{\"a\": [1,2]}".into()),
            ("null", "null".into()),
            ("[]", "[]".into()),
            ("[1,\"a\"]", "[1,\"a\"]".into()),
            ("[1,null]", "[1,null]".into()),
            ("[[1],2]", "[[1],2]".into()),
        ] {
            assert_eq!(untyped(&json(text)), due, "{text}");
        }
    }
}

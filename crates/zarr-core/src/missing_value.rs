//! Tells which value of an array stands for a missing one, and keeps it in conversions
//! (docs/internals/design/missing-data.md).
//!
//! netCDF and xarray mask a missing value. In v2 and in the drafts they take `fill_value` for it, and the attribute
//! `_FillValue` only where `fill_value` is null. In final v3 they take only the attribute `_FillValue`, in the form of
//! xarray: a number for integers, base64 of a little-endian double for floats, two of those for complex numbers.
//! xarray opens no dataset with such an attribute on an array of another type, and bools never get one.
//!
//! This module is the one place for the rule. [`crate::ArrayMetadata`] is converted by [`convert`], which `zarr::copy`
//! calls; `zarr-nczarr` writes and reads the attribute with [`to_json`] and [`from_json`].

use crate::data_type::{
    DataType, FillValue, FloatFormat, Repr, Rounding, Scalar, base64_decode, base64_encode,
    load_bits,
};
use crate::dialect::Dialect;
use crate::json::Json;
use crate::metadata::ArrayMetadata;

/// The attribute that says the missing value.
pub const FILL_VALUE: &str = "_FillValue";

/// Whether readers of this dialect mask the fill value itself.
pub fn is_fill_value(dialect: Dialect) -> bool {
    dialect != Dialect::V3
}

/// The missing value as the attribute `_FillValue` in final v3; `None` for a type that the attribute cannot represent.
pub fn to_json(data_type: &DataType, value: &FillValue) -> Option<Json> {
    let DataType::Core(core) = data_type else { return None };
    let bytes = value.as_bytes();
    match core.scalar() {
        Scalar::Int(_) | Scalar::Uint(_) => {
            crate::data_type::fill_value::to_json(data_type, Some(value), Dialect::V3).ok()
        }
        Scalar::Float(format) => Some(float_to_json(format, bytes)),
        Scalar::Complex(format) => {
            Some(bytes.chunks(format.size()).map(|part| float_to_json(format, part)).collect())
        }
        _ => None,
    }
}

/// The form in which readers of final v3 take the attribute `_FillValue`, where it is written in another one, such as a number
/// for floats: xarray does not open an array with that.
///
/// # Errors
/// If it is no value of the type.
pub fn form_of_v3(data_type: &DataType, json: &Json) -> Result<Option<Json>, String> {
    let DataType::Core(_) = data_type else { return Ok(None) };
    let right = match from_json(data_type, json) {
        Some(value) => to_json(data_type, &value),
        None => {
            return Err(format!("{} is not a valid value of the type `{data_type}`", json.brief()));
        }
    };
    Ok(right.filter(|right| right != json))
}

fn float_to_json(format: FloatFormat, bytes: &[u8]) -> Json {
    let value = format.to_f64(load_bits(bytes));
    base64_encode(&value.to_le_bytes()).into()
}

/// The missing value in the attribute `_FillValue` of an array of this type: in the form of xarray, or in that of fill
/// values, which netcdf-c uses; `None` if it is neither.
pub fn from_json(data_type: &DataType, json: &Json) -> Option<FillValue> {
    let of_base64 = match (data_type.scalar(), json) {
        (Some(Scalar::Float(format)), one) => float_from_json(format, one),
        (Some(Scalar::Complex(format)), Json::Array(parts)) => {
            let parts: Option<Vec<_>> = match &parts[..] {
                [_, _] => parts.iter().map(|part| float_from_json(format, part)).collect(),
                _ => None,
            };
            parts.map(|parts| parts.concat())
        }
        _ => None,
    };
    if let Some(bytes) = of_base64 {
        return Some(FillValue::new(bytes));
    }
    // A list of one is what netCDF's attributes are.
    let json = match json {
        Json::Array(items) if items.len() == 1 => &items[0],
        other => other,
    };
    [Dialect::V3, Dialect::V2]
        .into_iter()
        .find_map(|dialect| data_type.element_from_json(json, dialect).ok())
}

fn float_from_json(format: FloatFormat, json: &Json) -> Option<Vec<u8>> {
    let bytes = base64_decode(json.as_str()?)?;
    let value = f64::from_le_bytes(bytes.try_into().ok()?);
    let bits = format.from_f64(value, Rounding::NearestEven)?;
    Some(Scalar::Float(format).element(bits))
}

/// Whether an array's document gives every axis a name, so that netCDF and xarray take the array for a variable. A
/// scalar has no axes; in final v3 its document mostly says nothing.
pub fn has_names(metadata: &ArrayMetadata) -> bool {
    metadata.dimension_names.as_ref().is_some_and(|names| names.iter().all(Option::is_some))
}

/// The missing value that readers see in an array whose document is of this dialect.
pub fn of(metadata: &ArrayMetadata, dialect: Dialect) -> Option<FillValue> {
    let data_type = &metadata.data_type;
    match &metadata.fill_value {
        Some(fill) if is_fill_value(dialect) => Some(fill.clone()),
        fill => {
            let missing = from_json(data_type, metadata.attributes.get(FILL_VALUE)?)?;
            match fill {
                // The attribute has one NaN, which masks every other: the bits of the fill value stay.
                Some(fill) if is_nan(data_type, fill) && is_nan(data_type, &missing) => {
                    Some(fill.clone())
                }
                _ => Some(missing),
            }
        }
    }
}

/// Whether an element is a float that is NaN.
fn is_nan(data_type: &DataType, value: &FillValue) -> bool {
    let float = data_type.scalar().filter(|scalar| matches!(scalar, Scalar::Float(_)));
    float.is_some_and(|float| float.load(value.as_bytes()).is_nan())
}

/// Gives an array of dialect `from`, a variable, the fill value and the attribute `_FillValue` with which readers of
/// dialect `to` see the same missing value. The rest of the metadata stays in the words of `from`.
///
/// Elements that no chunk holds change with the fill value: the caller compares it, and writes them.
/// Returns what is lost, if anything.
pub fn convert(metadata: &mut ArrayMetadata, from: Dialect, to: Dialect) -> Option<String> {
    if is_fill_value(from) == is_fill_value(to) {
        return None;
    }
    let missing = of(metadata, from);
    if is_fill_value(to) {
        // An attribute that means nothing stays as it is.
        if missing.is_some() {
            metadata.attributes.remove(FILL_VALUE);
        }
        metadata.fill_value = missing;
        return None;
    }
    let declared = metadata.attributes.remove(FILL_VALUE);
    let Some(missing) = missing else {
        let declared = declared?;
        // xarray takes any number there for integers, and masks what is equal to it: nothing, if the type has no such value.
        if is_integer(&metadata.data_type)
            && matches!(&declared, Json::Number(n) if !n.is_bare_float())
        {
            metadata.attributes.insert(FILL_VALUE, declared);
            return None;
        }
        return Some(lost_attribute(&metadata.data_type, &declared));
    };
    // Readers of v2 pass over an attribute that says another value than `fill_value`.
    let said = declared.as_ref().and_then(|json| from_json(&metadata.data_type, json));
    let is_said = said.as_ref() == Some(&missing)
        || said.as_ref().is_some_and(|said| is_nan(&metadata.data_type, said))
            && is_nan(&metadata.data_type, &missing);
    let other = if is_said { None } else { declared.as_ref() };
    match to_json(&metadata.data_type, &missing) {
        Some(json) => {
            let lost = other.map(|declared| {
                let what = format!("the attribute `{FILL_VALUE}` {}", declared.brief());
                format!("{what}; readers of {from} take the fill value in its place, and v3 has it there")
            });
            metadata.attributes.insert(FILL_VALUE, json);
            lost
        }
        // xarray masks texts and bytes; it masks no times but NaT, and bools are not to be masked.
        None if is_text(&metadata.data_type) => {
            let json = match (&metadata.fill_value, declared) {
                (None, Some(declared)) => declared,
                _ => metadata.declared_fill.clone(),
            };
            let what = format!("the missing value {}", json.brief());
            Some(format!("{what}; v3 cannot represent one of type `{}`", metadata.data_type))
        }
        // A fill value stays what it is; the attribute is not kept.
        None => other
            .or(declared.as_ref().filter(|_| metadata.fill_value.is_none()))
            .map(|declared| lost_attribute(&metadata.data_type, declared)),
    }
}

/// What is lost of an attribute that xarray cannot read in final v3, where it opens no dataset with it.
fn lost_attribute(data_type: &DataType, declared: &Json) -> String {
    let what = format!("the attribute `{FILL_VALUE}` {}", declared.brief());
    format!("{what}; v3 cannot represent a missing value like that of type `{data_type}`")
}

fn is_integer(data_type: &DataType) -> bool {
    matches!(data_type.scalar(), Some(Scalar::Int(_) | Scalar::Uint(_)))
        && matches!(data_type, DataType::Core(_))
}

/// Whether elements are texts or bytes, of one length or of any.
fn is_text(data_type: &DataType) -> bool {
    let has_bytes =
        matches!(data_type.repr(), Some(Repr::Opaque(_) | Repr::Utf32(_) | Repr::Variable));
    has_bytes && !matches!(data_type, DataType::Raw { .. } | DataType::Unknown { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::CoreType;

    fn fill(core: CoreType, text: &str) -> FillValue {
        let json = Json::parse(text.as_bytes()).unwrap();
        DataType::from(core).element_from_json(&json, Dialect::V3).unwrap()
    }

    /// The texts are those that xarray 2026.9 wrote; the last ones it reads.
    #[test]
    fn missing_values_are_spelled_as_xarray_spells_them() {
        use CoreType::*;
        for (core, value, spelled) in [
            (Int16, "-99", Some("-99")),
            (Uint64, "18446744073709551615", Some("18446744073709551615")),
            (Float32, "\"NaN\"", Some("\"AAAAAAAA+H8=\"")),
            (Float32, "-999.9", Some("\"AAAAQDM/j8A=\"")),
            (Float64, "-999.9", Some("\"MzMzMzM/j8A=\"")),
            (Float16, "1.5", Some("\"AAAAAAAA+D8=\"")),
            (Complex64, "[0.0, 1.5]", Some("[\"AAAAAAAAAAA=\",\"AAAAAAAA+D8=\"]")),
            (Bool, "false", None),
        ] {
            let value = fill(core, value);
            let json = to_json(&core.into(), &value);
            assert_eq!(json.as_ref().map(Json::to_string).as_deref(), spelled, "{core:?}");
            if let Some(json) = json {
                assert_eq!(from_json(&core.into(), &json), Some(value), "{core:?}");
            }
        }
    }

    /// netcdf-c writes numbers for floats; others wrote words, or a list of one.
    #[test]
    fn missing_values_in_other_words_are_understood() {
        for (core, text, value) in [
            (CoreType::Float32, "-9", "-9.0"),
            (CoreType::Float64, "\"NaN\"", "\"NaN\""),
            (CoreType::Float64, "[9.5]", "9.5"),
            (CoreType::Int32, "[0]", "0"),
        ] {
            let json = Json::parse(text.as_bytes()).unwrap();
            assert_eq!(from_json(&core.into(), &json), Some(fill(core, value)), "{text}");
        }
        for (core, text) in [(CoreType::Int8, "300"), (CoreType::Float32, "\"none\"")] {
            let json = Json::parse(text.as_bytes()).unwrap();
            assert_eq!(from_json(&core.into(), &json), None, "{text}");
        }
    }

    fn array(core: CoreType, value: Option<&str>, attribute: Option<&str>) -> ArrayMetadata {
        let mut array = ArrayMetadata::new(&[4], core.into(), &[2]).unwrap();
        array.fill_value = value.map(|value| fill(core, value));
        if let Some(text) = attribute {
            array.attributes.insert(FILL_VALUE, Json::parse(text.as_bytes()).unwrap());
        }
        array
    }

    /// The attribute has one NaN, `fill_value` any.
    #[test]
    fn a_nan_keeps_its_bits_from_v2_to_v3_and_back() {
        let mut array = array(CoreType::Float16, None, None);
        array.fill_value = Some(FillValue::new(vec![0x01, 0x7e]));
        for (from, to) in [(Dialect::V2, Dialect::V3), (Dialect::V3, Dialect::V2)] {
            assert_eq!(convert(&mut array, from, to), None);
            assert_eq!(array.fill_value, Some(FillValue::new(vec![0x01, 0x7e])), "{to}");
            assert_eq!(of(&array, to), array.fill_value, "{to}");
        }
    }

    /// xarray 2026.9 reads any integer as the missing value of integers in v3, and opens no dataset with another attribute
    /// that is no value of the type.
    #[test]
    fn an_attribute_that_is_no_value_of_the_type_is_kept_or_told() {
        use CoreType::*;
        for (core, attribute, is_kept) in [
            (Uint8, "-1", true),
            (Uint8, "300", true),
            (Uint8, "\"none\"", false),
            (Float32, "\"none\"", false),
            (Float64, "{}", false),
            (Bool, "3", false),
        ] {
            let mut array = array(core, None, Some(attribute));
            let lost = convert(&mut array, Dialect::V2, Dialect::V3);
            assert_eq!(lost.is_none(), is_kept, "{core:?} {attribute}: {lost:?}");
            assert!(lost.is_none_or(|lost| lost.contains(attribute)), "{core:?} {attribute}");
            let said = array.attributes.get(FILL_VALUE).map(Json::to_string);
            assert_eq!(said.as_deref(), is_kept.then_some(attribute), "{core:?}");
        }
    }

    /// From v2 the fill value becomes the attribute; from v3 the attribute becomes the fill value, or null.
    #[test]
    fn a_conversion_keeps_what_readers_mask() {
        use CoreType::*;
        let (v2, v3) = (Dialect::V2, Dialect::V3);
        for (from, to, core, value, attribute, becomes, said) in [
            (v2, v3, Int32, Some("0"), None, Some("0"), Some("0")),
            (v2, v3, Int32, None, None, None, None),
            (v2, v3, Float32, None, Some("-9.0"), None, Some("\"AAAAAAAAIsA=\"")),
            (
                v2,
                v3,
                Float64,
                Some("\"NaN\""),
                Some("3.0"),
                Some("\"NaN\""),
                Some("\"AAAAAAAA+H8=\""),
            ),
            (v2, v3, Bool, Some("false"), None, Some("false"), None),
            (v2, Dialect::Draft, Int32, Some("7"), None, Some("7"), None),
            (v3, v3, Int32, Some("7"), Some("8"), Some("7"), Some("8")),
            (v3, v2, Int32, Some("0"), None, None, None),
            (v3, v2, Int32, Some("0"), Some("-9"), Some("-9"), None),
            (v3, v2, Bool, Some("false"), None, None, None),
            (
                v3,
                Dialect::Draft,
                Float32,
                Some("0.0"),
                Some("\"AAAAAAAAIsA=\""),
                Some("-9.0"),
                None,
            ),
            (v3, v2, Int32, Some("0"), Some("\"none\""), None, Some("\"none\"")),
        ] {
            let mut array = array(core, value, attribute);
            let case = format!("{from} to {to}: {core:?} {value:?} {attribute:?}");
            // An attribute beside a fill value that is another one.
            let lost = convert(&mut array, from, to);
            assert_eq!(lost.is_some(), attribute == Some("3.0"), "{case}: {lost:?}");
            assert_eq!(array.fill_value, becomes.map(|text| fill(core, text)), "{case}");
            let found = array.attributes.get(FILL_VALUE).map(Json::to_string);
            assert_eq!(found.as_deref(), said, "{case}");
        }
    }
}

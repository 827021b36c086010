//! The data type of nullable elements, in memory and in metadata.
//!
//! In memory it is one byte, 1 if the element is there and 0 if it is missing, and the bytes of the element
//! inside, zeros if it is missing. A chunk has another form: a codec stores the elements that are there, and a mask. Only
//! final v3 can represent the type, as zarrs writes it.

use std::fmt;

use super::record::MAX_DEPTH;
use super::{DataType, Endian, Optional, ParseType, Repr};
use crate::dialect::Dialect;
use crate::error::MetadataError;
use crate::json::{Json, Object};

/// The names of the type and of the codec that stores it; the first is written.
pub(crate) const NAMES: [&str; 2] = ["zarrs.optional", "optional"];

impl Optional {
    /// Elements of this type, each of which may be missing. They may be optional themselves.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] for variable-length elements, for elements of an unknown type, and for types that are
    /// nested more than 16 deep.
    pub fn new(inner: DataType) -> Result<Optional, MetadataError> {
        let Some(repr) = inner.repr().filter(|repr| *repr != Repr::Variable) else {
            let why =
                format!("`{inner}` has no fixed size; only elements that have may be missing");
            return Err(MetadataError::invalid("data_type", why));
        };
        if depth(&inner) >= MAX_DEPTH {
            let why = format!("optional types nest deeper than {MAX_DEPTH} levels");
            return Err(MetadataError::invalid("data_type", why));
        }
        Ok(Optional { inner, size: 1 + repr.size() })
    }

    /// The type of what is there.
    pub fn inner(&self) -> &DataType {
        &self.inner
    }

    /// How many bytes an element has in memory: one more than the element inside.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The type as metadata of final v3. The type inside always has a configuration, which zarrs requires.
    pub(super) fn to_metadata(&self, dialect: Dialect) -> Option<Json> {
        if dialect != Dialect::V3 {
            return None;
        }
        let inner = match self.inner.to_metadata(dialect, Endian::Little)? {
            Json::Object(metadata) => metadata,
            name => Object::new().with("name", name).with("configuration", Object::new()),
        };
        Some(Object::extension(NAMES[0], inner).into())
    }
}

fn depth(data_type: &DataType) -> usize {
    match data_type {
        DataType::Optional(optional) => 1 + depth(&optional.inner),
        _ => 0,
    }
}

/// The metadata of the type inside an optional type of final v3; `None` for other types.
pub(crate) fn inner_metadata(json: &Json) -> Option<Result<Json, String>> {
    let object = json.as_object();
    let name = json.as_str().or_else(|| object?.get("name")?.as_str())?;
    if !NAMES.contains(&name) {
        return None;
    }
    let inner = object.and_then(|object| object.get("configuration")).and_then(Json::as_object);
    let Some((inner, label)) = inner.and_then(|inner| Some((inner, inner.get("name")?))) else {
        return Some(Err(format!(
            "the configuration of `{name}` is the type inside: its `name`, its `configuration`"
        )));
    };
    // Most types have a name and no configuration.
    Some(Ok(match inner.get("configuration").and_then(Json::as_object) {
        Some(configuration) if !configuration.is_empty() => Json::from(inner.clone()),
        _ => label.clone(),
    }))
}

/// An optional type of final v3. The outer `None` stands for other names, the inner one for a type inside that has no
/// fixed size or is unknown.
pub(crate) fn from_v3(
    json: &Json,
    parse: ParseType<'_>,
) -> Option<Result<Option<DataType>, String>> {
    let inner = inner_metadata(json)?;
    Some(inner.and_then(|inner| of_known(&inner, parse).map_err(MetadataError::into_why)))
}

/// The nullable type of a type inside; `None` if that is unknown or has no fixed size.
fn of_known(inner: &Json, parse: ParseType<'_>) -> Result<Option<DataType>, MetadataError> {
    let inner = parse(inner, Dialect::V3)?.data_type;
    match inner.repr() {
        None | Some(Repr::Variable) => Ok(None),
        Some(_) => Ok(Some(Optional::new(inner)?.into())),
    }
}

impl fmt::Display for Optional {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "optional({})", self.inner)
    }
}

impl From<Optional> for DataType {
    fn from(optional: Optional) -> Self {
        DataType::Optional(std::sync::Arc::new(optional))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;
    use crate::data_type::CoreType::*;
    use crate::data_type::{Origin, fill_value};
    use crate::dialect::Strictness;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    fn parse(words: &str) -> DataType {
        Registry::new().parse_data_type(&json(words), Dialect::V3).unwrap().data_type
    }

    fn of(inner: DataType) -> DataType {
        Optional::new(inner).unwrap().into()
    }

    #[test]
    fn both_names_are_read_and_zarrs_own_is_written() {
        for name in NAMES {
            for (inner, due) in [
                (r#""name":"int16","configuration":{}"#, of(Int16.into())),
                (r#""name":"int16""#, of(Int16.into())),
                (r#""name":"r24","configuration":{}"#, of(DataType::Raw { size: 3 })),
                (
                    r#""name":"optional","configuration":{"name":"bool","configuration":{}}"#,
                    of(of(Bool.into())),
                ),
            ] {
                let found = parse(&format!(r#"{{"name":"{name}","configuration":{{{inner}}}}}"#));
                assert_eq!(found, due);
                let said = found.to_metadata(Dialect::V3, Endian::Little).unwrap();
                assert_eq!(parse(&said.to_string()), due);
                assert_eq!(said.as_object().unwrap().get("name").unwrap().as_str(), Some(NAMES[0]));
                assert_eq!(found.to_metadata(Dialect::V2, Endian::Little), None);
                assert_eq!(found.to_metadata(Dialect::Draft, Endian::Little), None);
            }
        }
        let time = r#"{"name":"zarrs.optional","configuration":{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}}"#;
        assert_eq!(parse(time).to_metadata(Dialect::V3, Endian::Little).unwrap(), json(time));
    }

    /// Such an array opens, lists and shows its metadata; its elements are not read.
    #[test]
    fn what_is_inside_has_a_fixed_size_and_is_known() {
        for inner in ["string", "zork"] {
            let words = format!(r#"{{"name":"optional","configuration":{{"name":"{inner}"}}}}"#);
            assert_eq!(parse(&words).repr(), None, "{inner}");
        }
        for wrong in [
            r#""optional""#,
            r#"{"name":"optional"}"#,
            r#"{"name":"optional","configuration":{}}"#,
            r#"{"name":"optional","configuration":{"name":7}}"#,
            r#"{"name":"optional","configuration":"int8"}"#,
        ] {
            assert!(Registry::new().parse_data_type(&json(wrong), Dialect::V3).is_err(), "{wrong}");
        }
        let mut deep = DataType::from(Int8);
        for _ in 0..MAX_DEPTH {
            deep = of(deep);
        }
        assert!(Optional::new(deep).unwrap_err().to_string().contains("deeper than 16"));
    }

    #[test]
    fn a_fill_value_is_null_or_a_list_of_one() {
        let (plain, nested) = (of(Uint16.into()), of(of(Uint8.into())));
        let big = [&[1][..], &300u16.to_ne_bytes()].concat();
        for (data_type, words, bytes) in [
            (&plain, "null", &[0, 0, 0][..]),
            (&plain, "[300]", &big),
            (&nested, "null", &[0, 0, 0]),
            (&nested, "[null]", &[1, 0, 0]),
            (&nested, "[[7]]", &[1, 1, 7]),
        ] {
            let mut warnings = Vec::new();
            let read = |json: &Json, warnings: &mut Vec<String>| {
                fill_value::parse(data_type, json, Dialect::V3, Strictness::Strict, warnings)
            };
            let fill = read(&json(words), &mut warnings).unwrap().unwrap();
            assert_eq!(fill.as_bytes(), bytes, "{words}");
            let said = fill_value::to_json(data_type, Some(&fill), Dialect::V3).unwrap();
            assert_eq!(said.to_string(), words);
            for wrong in ["7", "[]", "[1,2]", "[65536]", "[\"x\"]", "{}"] {
                assert!(read(&json(wrong), &mut warnings).is_err(), "{wrong}");
            }
        }
    }

    #[test]
    fn elements_are_checked_and_missing_ones_are_zeros() {
        let bools = of(Bool.into());
        let mut elements = [0, 9, 1, 1, 1, 0];
        bools.check(&mut elements, Origin::Store).unwrap();
        assert_eq!(elements, [0, 0, 1, 1, 1, 0]);
        for wrong in [[2, 0], [255, 1], [1, 2]] {
            assert!(bools.check(&mut wrong.clone(), Origin::Caller).is_err(), "{wrong:?}");
        }
        let nested = of(of(Bool.into()));
        assert!(nested.check(&mut [1, 2, 0], Origin::Store).is_err());
        let mut missing = [0, 7, 7];
        nested.check(&mut missing, Origin::Store).unwrap();
        assert_eq!(missing, [0; 3]);
    }
}

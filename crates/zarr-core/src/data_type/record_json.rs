//! Reads and writes record types as metadata of each dialect.
//!
//! v2 has NumPy's list of fields, `[["a","<i4"],["b",">f8",[2]]]`; zarr-python 2.18 wrote the same list
//! into the drafts, as an extension. Final v3 calls a record `struct`; zarr-python 3.1 called it
//! `structured`, which is read and not written (Z2-035, F-050, F-051, draft-v3.md 3.3).

use super::record::MAX_DEPTH;
use super::{DataType, Endian, Field, ParseType, ParsedType, Record};
use crate::dialect::Dialect;
use crate::error::MetadataError;
use crate::json::{Json, Object};

/// The URI that zarr-python 2.18 has for records, and for raw bytes as a record of one nameless field.
pub(crate) const DRAFT_RECORD: &str = "TODO: structured array protocol URL";

/// A record as a dialect's metadata; `endian` is the byte order of fields without one. `None` if the dialect cannot
/// represent a field.
pub(super) fn to_metadata(record: &Record, dialect: Dialect, endian: Endian) -> Option<Json> {
    let mut fields = Vec::with_capacity(record.fields().len());
    for field in record.fields() {
        fields.push(match dialect {
            Dialect::V3 => named_field(field, endian)?,
            Dialect::V2 | Dialect::Draft => numpy_field(field, endian)?,
        });
    }
    Some(match dialect {
        Dialect::V2 => Json::Array(fields),
        Dialect::Draft => Object::new()
            .with("extension", DRAFT_RECORD)
            .with("type", fields)
            .with("fallback", Json::Null)
            .into(),
        Dialect::V3 => Object::extension("struct", Object::new().with("fields", fields)).into(),
    })
}

/// A field of v2's and the drafts' list.
fn numpy_field(field: &Field, endian: Endian) -> Option<Json> {
    let order = field.endian().unwrap_or(endian);
    Some(named(field, field.data_type().to_metadata(Dialect::V2, order)?))
}

/// A field as NumPy lists it: its name, its type and, if it has one, its shape.
pub(super) fn named(field: &Field, data_type: Json) -> Json {
    let mut items = vec![Json::from(field.name()), data_type];
    if !field.shape().is_empty() {
        items.push(Json::from(field.shape()));
    }
    Json::Array(items)
}

/// A field as final v3 has it, without a shape.
fn named_field(field: &Field, endian: Endian) -> Option<Json> {
    if !field.shape().is_empty() {
        return None;
    }
    let metadata = field.data_type().to_metadata(Dialect::V3, endian)?;
    Some(Object::new().with("name", field.name()).with("data_type", metadata).into())
}

/// Reads all fields even if the type of one is unknown: the others may be invalid.
struct Parser<'a> {
    parse: ParseType<'a>,
    all_known: bool,
}

impl Parser<'_> {
    fn leaf(&mut self, json: &Json, dialect: Dialect) -> Result<ParsedType, String> {
        let parsed = (self.parse)(json, dialect).map_err(MetadataError::into_why)?;
        match parsed.data_type {
            DataType::Unknown { .. } | DataType::Optional(_) => {
                self.all_known = false;
                Ok(ParsedType { data_type: DataType::Raw { size: 8 }, endian: None })
            }
            _ => Ok(parsed),
        }
    }

    /// The `fields` of a `struct`, objects of `name` and `data_type`, or of a `structured`, pairs of them
    /// (F-050, F-051).
    fn v3(&mut self, name: &str, configuration: &Object, depth: usize) -> Result<Record, String> {
        check_depth(depth)?;
        // A member that is not understood may change what the others mean (docs/internals/design/strictness.md).
        self.all_known &= configuration.len() == 1;
        let fields = configuration.get("fields").and_then(Json::as_array);
        let fields = fields.ok_or_else(|| format!("`{name}` has `fields`, a list"))?;
        let fields: Result<Vec<Field>, String> =
            fields.iter().map(|json| self.v3_field(name, json, depth)).collect();
        Record::new(fields?).map_err(MetadataError::into_why)
    }

    /// A field of the type `name`, `struct` or `structured`.
    fn v3_field(&mut self, name: &str, json: &Json, depth: usize) -> Result<Field, String> {
        let (label, kind) = match (name, json) {
            ("structured", Json::Array(pair)) if pair.len() == 2 => (&pair[0], &pair[1]),
            ("structured", _) => {
                return Err("a field of `structured` is `[name, data_type]`".into());
            }
            (_, json) => match (json.get("name"), json.get("data_type"), json.as_object()) {
                (Some(label), Some(kind), Some(field)) if field.len() == 2 => (label, kind),
                _ => return Err("a field of `struct` has `name` and `data_type`".into()),
            },
        };
        let label = label.as_str().ok_or("the name of a field is a string")?;
        let data_type = match record_of(kind) {
            Some((name, configuration)) => self.v3(name, configuration, depth + 1)?.into(),
            None => self.leaf(kind, Dialect::V3)?.data_type,
        };
        Ok(Field::new(label, data_type))
    }
}

/// What makes a type of the metadata of a field.
pub(super) type Leaf<'a> = &'a mut dyn FnMut(&Json) -> Result<ParsedType, String>;

/// NumPy's list of fields, each `[name, type]` or `[name, type, shape]` (Z2-035).
pub(super) fn of_descr(fields: &[Json], leaf: Leaf<'_>, depth: usize) -> Result<Record, String> {
    check_depth(depth)?;
    let mut read = Vec::with_capacity(fields.len());
    for json in fields {
        read.push(field_of_descr(json, leaf, depth)?);
    }
    Record::new(read).map_err(MetadataError::into_why)
}

/// One field of NumPy's list.
fn field_of_descr(json: &Json, leaf: Leaf<'_>, depth: usize) -> Result<Field, String> {
    let items = json.as_array().unwrap_or_default();
    let (Some(Json::String(name)), Some(kind), 2..=3) = (items.first(), items.get(1), items.len())
    else {
        return Err("a field is `[name, type]` or `[name, type, shape]`".into());
    };
    let mut endian = None;
    let data_type = match kind {
        Json::Array(inner) => of_descr(inner, leaf, depth + 1)?.into(),
        Json::String(_) => {
            let parsed = leaf(kind)?;
            endian = parsed.endian;
            parsed.data_type
        }
        other => {
            return Err(format!("field `{name}`: expected a type, found {}", other.kind()));
        }
    };
    // A number is a shape of one axis.
    let lengths = match items.get(2) {
        None => Some(Vec::new()),
        Some(Json::Array(lengths)) => lengths.iter().map(Json::as_u64).collect(),
        Some(length) => length.as_u64().map(|length| vec![length]),
    };
    let shape = lengths.ok_or_else(|| format!("field `{name}` has an invalid shape"))?;
    let field = Field::new(name.as_str(), data_type).with_shape(&shape);
    Ok(endian.into_iter().fold(field, Field::with_endian))
}

/// A byte order that all fields share is the array's, as it is of every other type.
pub(super) fn with_shared_order(record: Record) -> ParsedType {
    let mut orders = Vec::new();
    note_orders(&record, &mut orders);
    match orders[..] {
        [endian] => {
            ParsedType { data_type: record.reordered(&|_| None).into(), endian: Some(endian) }
        }
        _ => ParsedType { data_type: record.into(), endian: None },
    }
}

/// Called before the fields are parsed, so that deep nesting cannot exhaust the stack.
fn check_depth(depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        Err(format!("records nest deeper than {MAX_DEPTH} levels"))
    } else {
        Ok(())
    }
}

/// The name and the configuration of a record of final v3.
fn record_of(json: &Json) -> Option<(&str, &Object)> {
    let object = json.as_object()?;
    let name = object.get("name").and_then(Json::as_str)?;
    let configuration = object.get("configuration").and_then(Json::as_object)?;
    ["struct", "structured"].contains(&name).then_some((name, configuration))
}

/// NumPy's list of fields, in v2 and in the drafts; `None` if it has a type that the registry does not know.
pub(crate) fn from_descr(
    fields: &[Json],
    parse: ParseType<'_>,
) -> Result<Option<ParsedType>, String> {
    let mut parser = Parser { parse, all_known: true };
    let record = of_descr(fields, &mut |kind| parser.leaf(kind, Dialect::V2), 1)?;
    Ok(parser.all_known.then(|| with_shared_order(record)))
}

/// The byte orders of fields, each once.
fn note_orders(record: &Record, orders: &mut Vec<Endian>) {
    for field in record.fields() {
        match field.data_type() {
            DataType::Record(inner) => note_orders(inner, orders),
            _ => orders.extend(field.endian().filter(|endian| !orders.contains(endian))),
        }
    }
}

/// `struct` and `structured` of final v3. The outer `None` stands for other names, the inner one for a field of an
/// unknown type.
pub(crate) fn from_v3(
    json: &Json,
    parse: ParseType<'_>,
) -> Option<Result<Option<DataType>, String>> {
    let (name, configuration) = match (json.as_str(), json.as_object()) {
        (Some(name), _) => (name, None),
        (_, Some(object)) => (object.get("name")?.as_str()?, object.get("configuration")),
        _ => return None,
    };
    if !["struct", "structured"].contains(&name) {
        return None;
    }
    let nothing = Object::new();
    let configuration = configuration.and_then(Json::as_object).unwrap_or(&nothing);
    let mut parser = Parser { parse, all_known: true };
    let record = parser.v3(name, configuration, 1);
    Some(record.map(|record| parser.all_known.then(|| record.into())))
}

/// Whether zarr-python 3.1 wrote this metadata, which left out the byte order and wrote fill values in
/// base64 (F-051).
pub(crate) fn is_legacy(declared: &Json) -> bool {
    record_of(declared).is_some_and(|(name, _)| name == "structured")
}

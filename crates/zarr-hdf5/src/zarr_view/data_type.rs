//! HDF5's types as Zarr's.

use super::json;
use crate::datatype::{Class, Datatype, Field, Order};
use crate::value::Value;

/// The longest opaque element: its fill value is written byte by byte.
const MAX_RAW_BYTES: u32 = 1 << 16;

/// A data type of Zarr.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataType {
    /// True or false, a byte each.
    Bool,
    /// `int8` to `uint64`: whether it has a sign, and its length in bytes.
    Integer {
        /// Whether it has a sign.
        signed: bool,
        /// Its length in bytes.
        size: u32,
    },
    /// `float16`, `float32` or `float64`, by the length in bytes.
    Float(u32),
    /// `bfloat16`.
    BFloat16,
    /// `complex64` or `complex128`, by the length in bytes.
    Complex(u32),
    /// Text of at most so many bytes, padded with zeros.
    FixedText(u32),
    /// So many bytes without a meaning.
    Raw(u32),
    /// Text of any length.
    Text,
    /// Fields without gaps.
    Record(Vec<(String, DataType)>),
    /// What cannot be read as Zarr: the type as HDF5 has it, and why.
    Unsupported(String),
}

/// A type, the order of its bytes if they have one, and the axes that each element adds.
#[derive(Clone, Debug)]
pub(super) struct Mapped {
    pub data_type: DataType,
    pub order: Option<Order>,
    pub inner_shape: Vec<u64>,
    /// The names of an enumeration's values.
    pub members: Vec<(String, Value)>,
}

impl DataType {
    /// The member `data_type` of a document of final v3.
    pub fn to_json(&self) -> String {
        match self {
            DataType::Bool => json::text("bool"),
            DataType::Integer { signed, size } => {
                json::text(&format!("{}int{}", if *signed { "" } else { "u" }, 8 * size))
            }
            DataType::Float(size) => json::text(&format!("float{}", 8 * size)),
            DataType::BFloat16 => json::text("bfloat16"),
            DataType::Complex(size) => json::text(&format!("complex{}", 8 * size)),
            DataType::FixedText(length) => {
                let length = [("length_bytes".to_owned(), length.to_string())];
                json::named("null_terminated_bytes", json::object(length))
            }
            DataType::Raw(size) => json::text(&format!("r{}", 8 * u64::from(*size))),
            DataType::Text => json::text("string"),
            DataType::Record(fields) => {
                let fields = fields.iter().map(|(name, data_type)| {
                    json::object([
                        ("name".to_owned(), json::text(name)),
                        ("data_type".to_owned(), data_type.to_json()),
                    ])
                });
                let fields = [("fields".to_owned(), json::list(fields))];
                json::named("struct", json::object(fields))
            }
            // A name that no reader knows: the array opens, and its elements are refused by this name.
            DataType::Unsupported(name) => json::text(&format!("hdf5.{name}")),
        }
    }

    /// The member `fill_value`, of one element's bytes in little-endian order, or of zeros.
    pub(super) fn fill_to_json(&self, value: Option<&Value>) -> String {
        match (self, value) {
            (DataType::Bool, Some(Value::Enumeration(value, _))) => (*value != 0).to_string(),
            (DataType::Bool, _) => "false".to_owned(),
            (
                DataType::Integer { .. },
                Some(Value::Integer(value) | Value::Enumeration(value, _)),
            ) => value.to_string(),
            (DataType::Integer { .. }, _) => "0".to_owned(),
            (DataType::Float(_) | DataType::BFloat16, value) => fill_float(value),
            (DataType::Complex(_), Some(Value::Complex(parts))) => {
                json::list([fill_float(Some(&parts.0)), fill_float(Some(&parts.1))])
            }
            (DataType::Complex(_), Some(Value::Record(fields))) => {
                json::list(fields.iter().map(|(_, value)| fill_float(Some(value))))
            }
            (DataType::Complex(_), _) => json::list([fill_float(None), fill_float(None)]),
            (DataType::FixedText(_), Some(Value::Text(bytes))) => json::text(&json::base64(bytes)),
            (DataType::FixedText(_), _) => json::text(""),
            (DataType::Raw(_), Some(Value::Bytes(bytes))) => {
                json::list(bytes.iter().map(u8::to_string))
            }
            (DataType::Raw(size), _) => json::list((0..*size).map(|_| "0".to_owned())),
            (DataType::Text, Some(Value::Text(bytes))) => {
                json::text(&crate::value::lossy_text(bytes))
            }
            (DataType::Text, _) => json::text(""),
            (DataType::Record(types), value) => {
                let fields = match value {
                    Some(Value::Record(fields)) => fields.as_slice(),
                    _ => &[],
                };
                json::object(types.iter().enumerate().map(|(number, (name, data_type))| {
                    let field = fields.get(number).map(|(_, value)| value);
                    (name.clone(), data_type.fill_to_json(field))
                }))
            }
            (DataType::Unsupported(_), _) => "null".to_owned(),
        }
    }
}

/// A float as a fill value, 0 for anything else.
fn fill_float(value: Option<&Value>) -> String {
    match value {
        Some(Value::Float32(value)) => fill_number(f64::from(*value)),
        Some(Value::Float64(value)) => fill_number(*value),
        _ => "0.0".to_owned(),
    }
}

/// What fill values have in place of numbers that JSON does not have.
fn fill_number(value: f64) -> String {
    if value.is_finite() { json::number(value) } else { json::text(&json::number(value)) }
}

/// The type of Zarr that elements have.
pub(super) fn map(datatype: &Datatype) -> Mapped {
    let (data_type, order) = match &datatype.class {
        Class::Array { shape, base } => {
            let mut mapped = map(base);
            let outer: Vec<u64> = shape.iter().map(|length| u64::from(*length)).collect();
            mapped.inner_shape.splice(0..0, outer);
            return mapped;
        }
        Class::Enumeration { base, members } if is_bool(base, members) => (DataType::Bool, None),
        Class::Enumeration { base, members } => {
            let (data_type, order) = map_flat(base);
            let members = members.iter().filter_map(|(name, value)| {
                Some((name.clone(), Value::Integer(member_value(base, value)?)))
            });
            let members = members.collect();
            return Mapped { data_type, order, inner_shape: Vec::new(), members };
        }
        _ => map_flat(datatype),
    };
    Mapped { data_type, order, inner_shape: Vec::new(), members: Vec::new() }
}

/// h5py's type of booleans.
fn is_bool(base: &Datatype, members: &[(String, Vec<u8>)]) -> bool {
    let has = |name: &str, value: u8| {
        members.iter().any(|(member, bytes)| member == name && *bytes == [value])
    };
    base.size == 1 && members.len() == 2 && has("FALSE", 0) && has("TRUE", 1)
}

/// The value of an enumeration's member.
fn member_value(base: &Datatype, bytes: &[u8]) -> Option<i128> {
    let Class::Integer { order, signed, .. } = base.class else { return None };
    crate::value::integer(base, bytes, order, signed)
}

/// A type that adds no axes.
fn map_flat(datatype: &Datatype) -> (DataType, Option<Order>) {
    let unsupported = || (DataType::Unsupported(datatype.to_string()), None);
    let size = datatype.size;
    match &datatype.class {
        Class::Integer { order, signed, .. } => {
            let fits = matches!(size, 1 | 2 | 4 | 8) && datatype.uses_all_bits();
            if !fits || *order == Order::Vax {
                return unsupported();
            }
            (DataType::Integer { signed: *signed, size }, (size > 1).then_some(*order))
        }
        Class::Float(float) if datatype.is_bfloat16() => (DataType::BFloat16, Some(float.order)),
        Class::Float(_) => match datatype.ieee_float() {
            Some((_, order)) => (DataType::Float(size), Some(order)),
            None => unsupported(),
        },
        Class::Complex(base) => match base.ieee_float() {
            Some((4 | 8, order)) => (DataType::Complex(size), Some(order)),
            _ => unsupported(),
        },
        Class::String(_) if size > 0 => (DataType::FixedText(size), None),
        Class::VariableString(_) => (DataType::Text, None),
        Class::Opaque { .. } if size <= MAX_RAW_BYTES => (DataType::Raw(size), None),
        Class::Enumeration { base, members } if is_bool(base, members) => (DataType::Bool, None),
        Class::Enumeration { base, .. } => map_flat(base),
        Class::Compound(fields) => match complex(datatype, fields) {
            Some((data_type, order)) => (data_type, Some(order)),
            None => record(datatype, fields),
        },
        _ => unsupported(),
    }
}

/// A complex number as h5py writes it: two equal floats, `r` and `i`.
fn complex(datatype: &Datatype, fields: &[Field]) -> Option<(DataType, Order)> {
    let [real, imaginary] = fields else { return None };
    let has_names = real.name == "r" && imaginary.name == "i";
    let (part, order) = real.datatype.ieee_float()?;
    let is_packed = real.offset == 0 && imaginary.offset == real.datatype.size;
    let is_complex = has_names
        && is_packed
        && matches!(part, 4 | 8)
        && real.datatype == imaginary.datatype
        && datatype.size == 2 * real.datatype.size;
    is_complex.then_some((DataType::Complex(datatype.size), order))
}

/// A record. Its fields follow each other, and have one order of bytes: a chunk has only one.
fn record(datatype: &Datatype, fields: &[Field]) -> (DataType, Option<Order>) {
    let refuse = |why: &str| (DataType::Unsupported(format!("{datatype} ({why})")), None);
    let mut members = Vec::new();
    let mut common = None;
    let mut end = 0;
    for field in fields {
        if field.offset != end {
            return refuse("gaps between fields");
        }
        end += field.datatype.size;
        if matches!(field.datatype.class, Class::Array { .. } | Class::VariableString(_)) {
            return refuse("a field is an array or of variable length");
        }
        let (data_type, order) = map_flat(&field.datatype);
        if matches!(data_type, DataType::Unsupported(_)) {
            return refuse("a field's type");
        }
        if let Some(order) = order {
            if common.is_some_and(|common| common != order) {
                return refuse("fields differ in byte order");
            }
            common = Some(order);
        }
        members.push((field.name.clone(), data_type));
    }
    if end != datatype.size {
        return refuse("gaps between fields");
    }
    (DataType::Record(members), common)
}

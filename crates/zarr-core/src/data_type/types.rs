//! Defines the type of an array's elements, and the types that contain others: records and nullable elements.

use std::fmt;
use std::sync::Arc;

use super::{
    CoreType, ElementText, Endian, ExtensionType, FillValue, FloatFormat, Leaf, NumpyTime, Origin,
    Repr, Scalar, check, element_text, fill_value, leaves, record_json, strings, variable,
};
use crate::dialect::Dialect;
use crate::error::{CodecError, MetadataError};
use crate::json::Json;

/// The type of an array's elements.
///
/// Types of this library are variants, which callers can match on; a type of a third party is an
/// [`Extension`](DataType::Extension).
///
/// ```
/// use zarr_core::data_type::{CoreType, DataType};
///
/// fn describe(data_type: &DataType) -> &'static str {
///     match data_type {
///         DataType::Core(CoreType::Bool) => "truth values",
///         DataType::Core(_) => "numbers",
///         DataType::Time(_) => "times",
///         DataType::String | DataType::FixedUtf32 { .. } => "text",
///         _ => "something else",
///     }
/// }
/// assert_eq!(describe(&DataType::String), "text");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DataType {
    /// A type that every dialect's core knows (complex numbers by extension in the drafts).
    Core(CoreType),
    /// A two's complement integer of 2 or 4 bits, which fills a byte: `int4`.
    IntBits(u32),
    /// An unsigned integer of 2 or 4 bits, in a byte: `uint4`.
    UintBits(u32),
    /// A float that is not the core's: `bfloat16`, `float8_e5m2`.
    Minifloat(FloatFormat),
    /// Two floats that are not the core's, real and imaginary: `complex_bfloat16`, `complex_float16`.
    ComplexMinifloat(FloatFormat),
    /// A moment or a span of time: `numpy.datetime64`, `<m8[ns]`.
    Time(NumpyTime),
    /// Bytes padded with NULs: `|S7`, `null_terminated_bytes`.
    FixedBytes {
        /// Bytes in an element.
        len: usize,
    },
    /// UTF-32 padded with NULs: `<U5`, `fixed_length_utf32`.
    FixedUtf32 {
        /// Code points in an element.
        len: usize,
    },
    /// Bytes without meaning: `r24`, `|V3`, `raw_bytes`.
    Raw {
        /// Bytes in an element.
        size: usize,
    },
    /// Variable-length text in UTF-8: `string`.
    String,
    /// Variable-length bytes: `variable_length_bytes`.
    Bytes,
    /// A JSON value, in memory compact JSON; only v2 has the type.
    Json,
    /// Any number of items of a type of fixed size, little-endian; only v2 has the type.
    List(Box<DataType>),
    /// Several named fields.
    Record(Arc<Record>),
    /// A type of nullable elements.
    Optional(Arc<Optional>),
    /// A type of a third party.
    Extension(Arc<dyn ExtensionType>),
    /// A type that the registry does not know. With a fallback, elements are read as that (D-102).
    Unknown {
        /// The type as the document declares it.
        declared: Json,
        /// What to read it as.
        fallback: Option<Box<DataType>>,
    },
}

/// A data type of several named fields.
///
/// ```
/// use zarr_core::data_type::{CoreType, DataType, Field, Record};
///
/// let point = Record::new([
///     Field::new("n", CoreType::Int32.into()),
///     Field::new("x", CoreType::Float64.into()).with_shape(&[3]),
/// ])?;
/// assert_eq!(point.size(), 28);
/// assert_eq!(point.field("x").map(|x| x.offset()), Some(4));
/// assert_eq!(DataType::from(point).to_string(), "{n: int32, x: float64[3]}");
/// # Ok::<(), zarr_core::MetadataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Record {
    pub(super) fields: Vec<Field>,
    pub(super) size: usize,
    pub(super) depth: usize,
}

/// A field of a [`Record`].
#[derive(Clone, Debug)]
pub struct Field {
    pub(super) name: String,
    pub(super) data_type: DataType,
    pub(super) shape: Vec<u64>,
    pub(super) endian: Option<Endian>,
    pub(super) offset: usize,
    pub(super) size: usize,
}

/// A data type of nullable elements.
///
/// ```
/// use zarr_core::data_type::{CoreType, DataType, Optional};
///
/// let maybe: DataType = Optional::new(CoreType::Float32.into())?.into();
/// assert_eq!(maybe.to_string(), "optional(float32)");
/// assert_eq!(maybe.repr().map(|repr| repr.size()), Some(5));
/// # Ok::<(), zarr_core::MetadataError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Optional {
    pub(super) inner: DataType,
    /// Bytes in an element, with the one that says whether it is there.
    pub(super) size: usize,
}

/// A type as a document declares it.
#[derive(Clone, Debug)]
pub struct ParsedType {
    /// The type.
    pub data_type: DataType,
    /// The byte order, if the declaration has one.
    pub endian: Option<Endian>,
}

/// Builds a third party's data type from a dialect's metadata; `None` if the metadata name another type.
pub type BuildDataType = fn(&Json, Dialect) -> Option<Result<ParsedType, MetadataError>>;

/// Parses the type of a field, or of an element inside another.
pub(crate) type ParseType<'a> = &'a dyn Fn(&Json, Dialect) -> Result<ParsedType, MetadataError>;

impl DataType {
    /// A type of a third party.
    pub fn extension(extension: impl ExtensionType) -> DataType {
        DataType::Extension(Arc::new(extension))
    }

    /// The representation of an element; `None` if the type is unknown and has no fallback.
    pub fn repr(&self) -> Option<Repr> {
        Some(match self {
            DataType::Core(core) => core.repr(),
            DataType::IntBits(bits) => Scalar::Int(*bits).into(),
            DataType::UintBits(bits) => Scalar::Uint(*bits).into(),
            DataType::Minifloat(format) => Scalar::Float(*format).into(),
            DataType::ComplexMinifloat(format) => Scalar::Complex(*format).into(),
            DataType::Time(time) => Scalar::Time(*time).into(),
            DataType::FixedBytes { len: size } | DataType::Raw { size } => Repr::Opaque(*size),
            DataType::FixedUtf32 { len } => Repr::Utf32(*len),
            DataType::String | DataType::Bytes | DataType::Json | DataType::List(_) => {
                Repr::Variable
            }
            DataType::Record(record) => Repr::Record(record.size),
            DataType::Optional(optional) => Repr::Optional(optional.size),
            DataType::Extension(extension) => extension.repr(),
            DataType::Unknown { fallback, .. } => return fallback.as_ref().and_then(|f| f.repr()),
        })
    }

    /// The type of this library that elements can be handled as: the type itself, the fallback of an unknown type, or
    /// for a third party's the plainest type of its representation. `None` if the type is unknown and has no fallback.
    pub fn resolved(&self) -> Option<DataType> {
        let repr = match self {
            DataType::Extension(extension) => extension.repr(),
            DataType::Unknown { fallback, .. } => return fallback.as_ref()?.resolved(),
            known => return Some(known.clone()),
        };
        Some(match repr {
            Repr::Scalar(scalar) => match (CoreType::of_scalar(scalar), scalar) {
                (Some(core), _) => core.into(),
                (_, Scalar::Int(bits @ 1..8)) => DataType::IntBits(bits),
                (_, Scalar::Uint(bits @ 1..8)) => DataType::UintBits(bits),
                (_, Scalar::Float(format)) => DataType::Minifloat(format),
                (_, Scalar::Complex(format)) => DataType::ComplexMinifloat(format),
                (_, Scalar::Time(time)) => DataType::Time(time),
                _ => DataType::Raw { size: scalar.size() },
            },
            Repr::Utf32(len) => DataType::FixedUtf32 { len },
            Repr::Variable => DataType::Bytes,
            Repr::Opaque(size) | Repr::Record(size) | Repr::Optional(size) => {
                DataType::Raw { size }
            }
        })
    }

    /// The kind of number that an element is; `None` for elements that are no numbers, and for integers of more
    /// than 64 bits.
    pub fn scalar(&self) -> Option<Scalar> {
        match self.repr() {
            Some(Repr::Scalar(scalar)) => Some(scalar).filter(|scalar| scalar.is_computable()),
            _ => None,
        }
    }

    /// The leaves of an element, in the order of the fields. There are as many as fields are declared, however large their
    /// shapes are. A type that is no record is one leaf without a name.
    ///
    /// A nullable element is one leaf; so is one of a third party's type.
    pub fn leaves(&self) -> Vec<Leaf<'_>> {
        leaves::leaves(self)
    }

    /// The value of an element; its numbers and UTF-32 are in this byte order. For a variable-length element, `element` is the
    /// bytes without their length.
    ///
    /// With a third party's type, the value is a number if the type is one, otherwise bytes; [`DataType::resolved`] may give more.
    pub fn element_text<'a>(&self, element: &'a [u8], endian: Endian) -> ElementText<'a> {
        element_text::element_text(self, element, endian)
    }

    /// The bits of each byte that are stored: see [`Repr::stored_mask`]. The byte that says that an element is
    /// there is not masked.
    pub(crate) fn stored_mask(&self) -> u8 {
        match self {
            DataType::Optional(optional) => optional.inner.stored_mask(),
            other => other.repr().map_or(0xff, Repr::stored_mask),
        }
    }

    /// Whether stored elements, or some of their fields, have a byte order. The byte order of nullable elements belongs
    /// to their codec.
    pub fn has_byte_order(&self) -> bool {
        match self {
            DataType::Record(record) => {
                record.fields().iter().any(|field| field.data_type().has_byte_order())
            }
            _ => self.repr().is_some_and(|repr| repr.swap_unit() > 1),
        }
    }

    /// The same type, the fields of a record being stored in `endian` if they have no byte order of their
    /// own; with `None`, none of them has one.
    pub(crate) fn stored_in(&self, endian: Option<Endian>) -> DataType {
        match self {
            DataType::Record(record) => record.reordered(&|own| endian.and(own.or(endian))).into(),
            other => other.clone(),
        }
    }

    /// The type that a codec sees which expects another byte order: raw bytes, if there is an order at all.
    pub fn in_other_order(&self) -> DataType {
        match self.repr() {
            Some(repr) if repr.swap_unit() > 1 => DataType::Raw { size: repr.size() },
            _ => self.clone(),
        }
    }

    /// Whether its elements have any number of bytes.
    pub fn is_variable(&self) -> bool {
        self.repr() == Some(Repr::Variable)
    }

    /// Whether elements have one size in an encoded chunk: neither variable-length nor nullable.
    pub fn is_stored_whole(&self) -> bool {
        !matches!(self.repr(), Some(Repr::Variable | Repr::Optional(_)))
    }

    /// Makes sure that native elements, C order, are ones of this type, and brings stored ones into the
    /// form that memory has (D-031, F-040, F-053, Z2-030).
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for invalid elements.
    pub fn check(&self, elements: &mut [u8], from: Origin) -> Result<(), CodecError> {
        check::check(self, elements, from)
    }

    /// Makes sure that these bytes are an element of this variable-length type.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] if they are not.
    pub fn check_element(&self, element: &[u8]) -> Result<(), CodecError> {
        check::check_element(self, element)
    }

    /// Whether [`DataType::check`] looks at elements at all.
    pub fn needs_check(&self) -> bool {
        check::needs_check(self)
    }

    /// The type as a dialect's metadata; `endian` is the stored byte order, where the metadata holds it.
    /// `None` if the dialect cannot represent the type.
    pub fn to_metadata(&self, dialect: Dialect, endian: Endian) -> Option<Json> {
        match self {
            DataType::Core(core) => core.to_metadata(dialect, endian),
            DataType::IntBits(_)
            | DataType::UintBits(_)
            | DataType::Minifloat(_)
            | DataType::ComplexMinifloat(_) => {
                (dialect == Dialect::V3).then(|| Json::from(self.to_string()))
            }
            DataType::Time(time) => time.to_metadata(dialect, endian),
            DataType::FixedBytes { len } => Some(strings::bytes_to_metadata(*len, dialect)),
            DataType::FixedUtf32 { len } => Some(strings::utf32_to_metadata(*len, dialect, endian)),
            DataType::Raw { size } => Some(match dialect {
                Dialect::V2 => Json::from(format!("|V{size}")),
                _ => Json::from(format!("r{}", size.checked_mul(8)?)),
            }),
            DataType::String | DataType::Bytes | DataType::Json | DataType::List(_) => {
                variable::to_metadata(self, dialect)
            }
            DataType::Record(record) => record_json::to_metadata(record, dialect, endian),
            DataType::Optional(optional) => optional.to_metadata(dialect),
            DataType::Extension(extension) => extension.to_metadata(dialect, endian),
            DataType::Unknown { .. } => None,
        }
    }

    /// The element, in native byte order, that this JSON is as the fill value of a document. What a tolerant
    /// reader accepts is accepted.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] with member `fill_value`, for JSON that is no element of the type.
    pub fn element_from_json(
        &self,
        json: &Json,
        dialect: Dialect,
    ) -> Result<FillValue, MetadataError> {
        fill_value::parse_element(self, json, dialect)
    }

    /// The JSON of an element as the fill value of a document.
    ///
    /// # Errors
    /// [`MetadataError`] if the dialect cannot represent the element.
    pub fn element_to_json(
        &self,
        element: &FillValue,
        dialect: Dialect,
    ) -> Result<Json, MetadataError> {
        fill_value::to_json(self, Some(element), dialect)
    }
}

/// The core's types under their names, so that `DataType::Float32` is one as `DataType::String` is.
#[allow(
    non_upper_case_globals,
    missing_docs,
    reason = "they are named as the variants of `CoreType`"
)]
impl DataType {
    pub const Bool: DataType = DataType::Core(CoreType::Bool);
    pub const Int8: DataType = DataType::Core(CoreType::Int8);
    pub const Int16: DataType = DataType::Core(CoreType::Int16);
    pub const Int32: DataType = DataType::Core(CoreType::Int32);
    pub const Int64: DataType = DataType::Core(CoreType::Int64);
    pub const Uint8: DataType = DataType::Core(CoreType::Uint8);
    pub const Uint16: DataType = DataType::Core(CoreType::Uint16);
    pub const Uint32: DataType = DataType::Core(CoreType::Uint32);
    pub const Uint64: DataType = DataType::Core(CoreType::Uint64);
    pub const Float16: DataType = DataType::Core(CoreType::Float16);
    pub const Float32: DataType = DataType::Core(CoreType::Float32);
    pub const Float64: DataType = DataType::Core(CoreType::Float64);
    pub const Complex64: DataType = DataType::Core(CoreType::Complex64);
    pub const Complex128: DataType = DataType::Core(CoreType::Complex128);
}

/// What callers write for a data type: [`DataType::Float32`], a [`Record`], or a name of any dialect, such as `"float32"`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a data type",
    note = "a data type is a value of `DataType`, the text of a name such as `float32`, or that of a Rust type, which `data_type_of` sets"
)]
pub trait ToDataType {
    /// The type; names are looked up with `named`.
    #[doc(hidden)]
    fn parse_with(
        self,
        named: &dyn Fn(&str) -> Result<ParsedType, String>,
    ) -> Result<ParsedType, String>;
}

impl<T: Into<DataType>> ToDataType for T {
    fn parse_with(
        self,
        _named: &dyn Fn(&str) -> Result<ParsedType, String>,
    ) -> Result<ParsedType, String> {
        Ok(ParsedType { data_type: self.into(), endian: None })
    }
}

impl ToDataType for &str {
    fn parse_with(
        self,
        named: &dyn Fn(&str) -> Result<ParsedType, String>,
    ) -> Result<ParsedType, String> {
        named(self)
    }
}

impl ToDataType for &String {
    fn parse_with(
        self,
        named: &dyn Fn(&str) -> Result<ParsedType, String>,
    ) -> Result<ParsedType, String> {
        named(self)
    }
}

impl From<&DataType> for DataType {
    fn from(data_type: &DataType) -> DataType {
        data_type.clone()
    }
}

impl From<CoreType> for DataType {
    fn from(core: CoreType) -> Self {
        DataType::Core(core)
    }
}

impl From<NumpyTime> for DataType {
    fn from(time: NumpyTime) -> Self {
        DataType::Time(time)
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataType::Core(core) => f.write_str(core.name()),
            DataType::IntBits(bits) => write!(f, "int{bits}"),
            DataType::UintBits(bits) => write!(f, "uint{bits}"),
            DataType::Minifloat(format) => f.write_str(format.name()),
            DataType::ComplexMinifloat(format) => write!(f, "complex_{}", format.name()),
            DataType::Time(time) => write!(f, "{time}"),
            DataType::FixedBytes { len } => write!(f, "|S{len}"),
            DataType::FixedUtf32 { len } => write!(f, "U{len}"),
            DataType::String => f.write_str("string"),
            DataType::Bytes => f.write_str("variable_length_bytes"),
            DataType::Json => f.write_str("json"),
            DataType::List(items) => write!(f, "array of {items}"),
            DataType::Raw { size } => write!(f, "r{}", *size as u128 * 8),
            DataType::Record(record) => write!(f, "{record}"),
            DataType::Optional(optional) => write!(f, "{optional}"),
            DataType::Extension(extension) => write!(f, "{extension}"),
            DataType::Unknown { declared: Json::String(name), .. } => f.write_str(name),
            DataType::Unknown { declared, .. } => f.write_str(&declared.brief()),
        }
    }
}

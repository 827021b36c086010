//! Defines data types: what an element is.
//!
//! A data type says how many bytes an element has and what they mean, *without* byte order: that
//! belongs to the chain (`bytes`), since two of the three dialects could not agree otherwise.

mod byte_swap;
mod core_type;
pub(crate) mod datetime;
mod extension;
pub(crate) mod fill_value;
mod float_format;
#[cfg(feature = "jiff")]
mod jiff;
pub(crate) mod minifloat;
mod numpy;
pub(crate) mod optional;
mod record;
pub(crate) mod record_json;
mod scalar;
pub(crate) mod strings;
pub(crate) mod variable;

pub use self::byte_swap::ByteSwap;
pub use self::core_type::CoreType;
pub use self::datetime::{NumpyTime, TimeKind, TimeUnit};
pub use self::extension::{ExtensionType, ParsedType};
pub use self::fill_value::{FillValue, base64_decode, base64_encode};
pub use self::float_format::{FloatFormat, Rounding};
pub use self::optional::Optional;
pub use self::record::{Field, Record};
pub(crate) use self::scalar::integer_from_text;
pub use self::scalar::{OutOfRange, Scalar, ScalarValue, load_bits, store_bits};

use std::fmt;
use std::sync::Arc;

use crate::codec::CodecSpec;
use crate::dialect::{Dialect, Strictness};
use crate::error::{CodecError, MetadataError};
use crate::json::Json;

/// The byte order of stored elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// The byte order of this machine.
    pub const NATIVE: Endian =
        if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

    /// `little` or `big`.
    pub fn name(self) -> &'static str {
        match self {
            Endian::Little => "little",
            Endian::Big => "big",
        }
    }

    /// `<` or `>`.
    pub fn mark(self) -> char {
        match self {
            Endian::Little => '<',
            Endian::Big => '>',
        }
    }
}

/// Where elements come from that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From the caller, who gives them as memory has them.
    Caller,
    /// From a store: bits that a store may hold in several forms become those of memory.
    Store,
    /// From a store whose dialect lets a bool be any byte: what is not 0 becomes 1.
    LenientStore,
}

/// How a data type's elements are represented in memory: all that most codecs need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Repr {
    /// One number.
    Scalar(Scalar),
    /// `n` bytes without byte order.
    Opaque(usize),
    /// UTF-32: `n` units of four bytes.
    Utf32(usize),
    /// Any number of bytes. In memory a view has references to them; see [`crate::var_buffer`].
    Variable,
    /// `n` bytes of several fields, which the data type knows.
    Record(usize),
    /// `n` bytes, of which the first says whether there are others: see [`Optional`].
    Optional(usize),
}

impl From<Scalar> for Repr {
    fn from(scalar: Scalar) -> Self {
        Repr::Scalar(scalar)
    }
}

impl Repr {
    /// How many bytes an element has in a view.
    pub fn size(self) -> usize {
        match self {
            Repr::Scalar(scalar) => scalar.size(),
            Repr::Utf32(n) => 4 * n,
            Repr::Variable => crate::var_buffer::VAR_REF_SIZE,
            Repr::Opaque(n) | Repr::Record(n) | Repr::Optional(n) => n,
        }
    }

    /// The bits of each byte that are stored: what fills a byte above a narrower number is not (F-053).
    pub fn stored_mask(self) -> u8 {
        match self {
            Repr::Scalar(scalar) => scalar.stored_mask(),
            _ => 0xff,
        }
    }

    /// The number of bytes that a change of byte order reverses together; 1 if there is no byte order. Only
    /// [`ByteSwap`] knows the units of a record's fields, and of an element that may be missing.
    pub fn swap_unit(self) -> usize {
        match self {
            Repr::Scalar(scalar) => scalar.part().size(),
            Repr::Utf32(_) => 4,
            Repr::Opaque(_) | Repr::Record(_) | Repr::Variable | Repr::Optional(_) => 1,
        }
    }
}

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
    /// Text of any length in UTF-8: `string`.
    String,
    /// Bytes of any length: `variable_length_bytes`.
    Bytes,
    /// A JSON value, in memory compact JSON; only v2 has the type.
    Json,
    /// Any number of items of a type of fixed size, little-endian; only v2 has the type.
    List(Box<DataType>),
    /// Several named fields.
    Record(Arc<Record>),
    /// A type whose elements may be missing.
    Optional(Arc<Optional>),
    /// A type of a third party.
    Extension(Arc<dyn ExtensionType>),
    /// A type that the registry does not know. With a fallback, elements are read as that (D-102).
    Unknown {
        /// As the document spells it.
        declared: Json,
        /// What to read it as.
        fallback: Option<Box<DataType>>,
    },
}

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
            DataType::Record(record) => Repr::Record(record.size()),
            DataType::Optional(optional) => Repr::Optional(optional.size()),
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

    /// The bits of each byte that are stored: see [`Repr::stored_mask`]. The byte that says that an element is
    /// there is not masked.
    pub(crate) fn stored_mask(&self) -> u8 {
        match self {
            DataType::Optional(optional) => optional.inner().stored_mask(),
            other => other.repr().map_or(0xff, Repr::stored_mask),
        }
    }

    /// Whether stored elements, or some of their fields, have a byte order. That of elements that may be missing
    /// belongs to their codec.
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
            DataType::FixedBytes { len } => Some(strings::bytes_spelling(*len, dialect)),
            DataType::FixedUtf32 { len } => Some(strings::utf32_spelling(*len, dialect, endian)),
            DataType::Raw { size } => Some(match dialect {
                Dialect::V2 => Json::from(format!("|V{size}")),
                _ => Json::from(format!("r{}", size.checked_mul(8)?)),
            }),
            DataType::String | DataType::Bytes | DataType::Json | DataType::List(_) => {
                variable::to_metadata(self, dialect)
            }
            DataType::Record(record) => record.to_metadata(dialect, endian),
            DataType::Optional(optional) => optional.to_metadata(dialect),
            DataType::Extension(extension) => extension.to_metadata(dialect, endian),
            DataType::Unknown { .. } => None,
        }
    }

    /// The codec that makes bytes of elements, where `bytes` cannot.
    pub(crate) fn serializer(&self) -> Option<CodecSpec> {
        match self {
            DataType::Extension(extension) => extension.serializer(),
            _ => variable::serializer(self),
        }
    }

    /// The element that JSON stands for where a document has a fill value, in native byte order. What a tolerant
    /// reader accepts is accepted.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] with member `fill_value`, for JSON that is no element.
    pub fn element_from_json(
        &self,
        json: &Json,
        dialect: Dialect,
    ) -> Result<FillValue, MetadataError> {
        let mut warnings = Vec::new();
        let found = fill_value::parse(self, json, dialect, Strictness::Tolerant, &mut warnings)?;
        found.ok_or_else(|| {
            let why = format!("{} is not a value of {self}", json.brief());
            MetadataError::invalid("fill_value", why)
        })
    }

    /// The JSON of an element where a document has a fill value.
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

    /// Makes sure that native elements, C order, are ones of this type, and brings stored ones into the
    /// form that memory has (D-031, F-040, F-053, Z2-030).
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for elements that cannot be.
    pub fn check(&self, elements: &mut [u8], from: Origin) -> Result<(), CodecError> {
        match self {
            DataType::Core(CoreType::Bool) => {
                for element in elements.iter_mut().filter(|e| **e > 1) {
                    if from != Origin::LenientStore {
                        let why = format!("a bool is stored as {element}, not 0 or 1");
                        return Err(CodecError::corrupt("bytes", why));
                    }
                    *element = 1;
                }
                Ok(())
            }
            DataType::Record(record) if self.needs_check() => record.check(elements, from),
            DataType::Optional(optional) => optional.check(elements, from),
            DataType::FixedUtf32 { .. } => strings::check_utf32(elements),
            DataType::Extension(extension) => {
                if from != Origin::Caller {
                    extension.settle(elements);
                }
                extension.check(elements)
            }
            _ => match self.padded() {
                Some(scalar) if from == Origin::Caller => minifloat::check(self, scalar, elements),
                Some(scalar) => {
                    minifloat::settle(scalar, elements);
                    Ok(())
                }
                None => Ok(()),
            },
        }
    }

    /// The numbers of this type, if they have fewer bits than their bytes.
    fn padded(&self) -> Option<Scalar> {
        match self {
            DataType::Extension(_) | DataType::Unknown { .. } => None,
            _ => self.scalar().filter(|scalar| scalar.is_padded()),
        }
    }

    /// Makes sure that these bytes are an element of this type, one of any length.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] if they cannot be.
    pub fn check_element(&self, element: &[u8]) -> Result<(), CodecError> {
        match self {
            DataType::Extension(extension) => extension.check_element(element),
            _ => variable::check(self, element),
        }
    }

    /// Whether its elements have any number of bytes.
    pub fn is_variable(&self) -> bool {
        self.repr() == Some(Repr::Variable)
    }

    /// Whether an encoded chunk is elements of one size, as many as it has: neither of any length, nor missing.
    pub fn is_stored_whole(&self) -> bool {
        !matches!(self.repr(), Some(Repr::Variable | Repr::Optional(_)))
    }

    /// Whether [`DataType::check`] looks at elements at all.
    pub fn needs_check(&self) -> bool {
        match self {
            DataType::Core(core) => *core == CoreType::Bool,
            DataType::Record(record) => {
                record.fields().iter().any(|field| field.data_type().needs_check())
            }
            DataType::Optional(_) | DataType::FixedUtf32 { .. } => true,
            DataType::Extension(extension) => extension.needs_check(),
            _ => self.padded().is_some(),
        }
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

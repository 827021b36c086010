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
pub(crate) mod narrow;
pub(crate) mod optional;
mod record;
pub(crate) mod record_words;
pub(crate) mod strings;
pub(crate) mod variable;

pub use self::byte_swap::ByteSwap;
pub use self::core_type::CoreType;
pub use self::datetime::{NumpyTime, TimeKind, TimeUnit};
pub use self::extension::{ExtensionType, ParsedType};
pub use self::fill_value::{FillValue, base64_decode, base64_encode};
pub use self::float_format::{FloatFormat, Rounding};
pub use self::narrow::Narrow;
pub use self::optional::Optional;
pub use self::record::{Field, Record};
pub use self::strings::{FixedBytes, FixedUnicode};
pub use self::variable::Variable;

use std::fmt;
use std::sync::Arc;

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
    /// From a store: what stored elements leave open is filled in.
    Store,
    /// From a store whose dialect lets a bool be any byte: what is not 0 becomes 1.
    LenientStore,
}

/// The representation that a data type rests on: all that codecs ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Repr {
    /// One byte, 0 or 1.
    Bool,
    /// A two's complement integer of so many bytes.
    Int(usize),
    /// An unsigned integer of so many bytes.
    Uint(usize),
    /// An IEEE 754 number of so many bytes.
    Float(usize),
    /// Two IEEE 754 numbers, real and imaginary, of so many bytes together.
    Complex(usize),
    /// A two's complement integer of so many bits, fewer than eight, in a byte that it fills with its sign.
    IntBits(u32),
    /// An unsigned integer of so many bits, fewer than eight, in a byte.
    UintBits(u32),
    /// A float of a format that is not the core's.
    FloatOf(FloatFormat),
    /// Two such floats, real and imaginary.
    ComplexOf(FloatFormat),
    /// So many bytes without byte order.
    Opaque(usize),
    /// UTF-32: so many units of four bytes.
    Utf32(usize),
    /// Any number of bytes. In memory a view shows their cells; see [`crate::heap`].
    Variable,
    /// So many bytes of several fields, which the data type knows.
    Record(usize),
    /// So many bytes, of which the first says whether there are others: see [`Optional`].
    Optional(usize),
}

impl Repr {
    /// How many bytes an element has in a view.
    pub fn size(self) -> usize {
        match self {
            Repr::Bool => 1,
            Repr::Int(n) | Repr::Uint(n) | Repr::Float(n) | Repr::Complex(n) | Repr::Opaque(n) => n,
            Repr::IntBits(_) | Repr::UintBits(_) => 1,
            Repr::FloatOf(format) => format.size(),
            Repr::ComplexOf(format) => 2 * format.size(),
            Repr::Utf32(n) => 4 * n,
            Repr::Variable => crate::heap::CELL,
            Repr::Record(n) | Repr::Optional(n) => n,
        }
    }

    /// The bits of each byte that are stored: what fills a byte above a narrower integer is not (F-053).
    pub fn stored_mask(self) -> u8 {
        match self {
            Repr::IntBits(bits) | Repr::UintBits(bits) => 0xff >> (8 - bits),
            Repr::FloatOf(format) | Repr::ComplexOf(format) if format.size() == 1 => {
                format.mask() as u8
            }
            _ => 0xff,
        }
    }

    /// The unit in which byte order turns bytes round; 1 if there is none. Those of a record's fields, and
    /// that of an element that may be missing, are told by [`ByteSwap`] alone.
    pub fn swap_unit(self) -> usize {
        match self {
            Repr::Bool | Repr::Opaque(_) | Repr::Record(_) | Repr::Variable => 1,
            Repr::IntBits(_) | Repr::UintBits(_) | Repr::Optional(_) => 1,
            Repr::FloatOf(format) | Repr::ComplexOf(format) => format.size(),
            Repr::Int(n) | Repr::Uint(n) | Repr::Float(n) => n,
            Repr::Complex(n) => n / 2,
            Repr::Utf32(_) => 4,
        }
    }
}

/// The type of an array's elements.
#[derive(Clone, Debug)]
pub enum DataType {
    /// One that every dialect's core knows (complex numbers by extension in the drafts).
    Core(CoreType),
    /// So many bytes without meaning: `r24`, `|V3`, `raw_bytes`.
    Raw {
        /// Bytes in an element.
        size: usize,
    },
    /// Several named fields.
    Record(Arc<Record>),
    /// One whose elements may be missing.
    Optional(Arc<Optional>),
    /// One that an extension brought.
    Extension(Arc<dyn ExtensionType>),
    /// One that nobody here knows. With a fallback, elements are read as that (D-102).
    Unknown {
        /// As the document spells it.
        declared: Json,
        /// What to read it as.
        fallback: Option<Box<DataType>>,
    },
}

impl DataType {
    /// One that an extension brought.
    pub fn extension(extension: impl ExtensionType + 'static) -> DataType {
        DataType::Extension(Arc::new(extension))
    }

    /// The representation of an element; `None` if the type is unknown and has no fallback.
    pub fn repr(&self) -> Option<Repr> {
        match self {
            DataType::Core(core) => Some(core.repr()),
            DataType::Raw { size } => Some(Repr::Opaque(*size)),
            DataType::Record(record) => Some(Repr::Record(record.size())),
            DataType::Optional(optional) => Some(Repr::Optional(optional.size())),
            DataType::Extension(extension) => Some(extension.repr()),
            DataType::Unknown { fallback, .. } => fallback.as_ref().and_then(|f| f.repr()),
        }
    }

    /// The bits of each byte that are stored: see [`Repr::stored_mask`]. What says that an element is there is
    /// among them.
    pub(crate) fn stored_mask(&self) -> u8 {
        match self {
            DataType::Optional(optional) => optional.inner().stored_mask(),
            other => other.repr().map_or(0xff, Repr::stored_mask),
        }
    }

    /// Whether stored elements, or some of their fields, have a byte order. That of elements that may be missing
    /// is their codec's own.
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

    /// What its elements are to who expects another byte order: raw bytes, if there is an order at all.
    pub fn in_other_order(&self) -> DataType {
        match self.repr() {
            Some(repr) if repr.swap_unit() > 1 => DataType::Raw { size: repr.size() },
            _ => self.clone(),
        }
    }

    /// The type in a dialect's words, and whether they say the byte order, too: there `endian` is used.
    /// `None` if the dialect has no words for it.
    pub fn spelling(&self, dialect: Dialect, endian: Endian) -> Option<Json> {
        match self {
            DataType::Core(core) => core.spelling(dialect, endian),
            DataType::Raw { size } => Some(match dialect {
                Dialect::V2 => Json::from(format!("|V{size}")),
                _ => Json::from(format!("r{}", size.checked_mul(8)?)),
            }),
            DataType::Record(record) => record.spelling(dialect, endian),
            DataType::Optional(optional) => optional.spelling(dialect),
            DataType::Extension(extension) => extension.spelling(dialect, endian),
            DataType::Unknown { .. } => None,
        }
    }

    /// The element that a document means where it says one as a fill value, in native byte order. A tolerant
    /// reader's liberties are taken.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] with member `fill_value`, when it means none.
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
            DataType::Extension(extension) => {
                if from != Origin::Caller {
                    extension.settle(elements);
                }
                extension.check(elements)
            }
            _ => Ok(()),
        }
    }

    /// Makes sure that these bytes are an element of this type, one of any length.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] if they cannot be.
    pub fn check_element(&self, element: &[u8]) -> Result<(), CodecError> {
        match self {
            DataType::Extension(extension) => extension.check_element(element),
            _ => Ok(()),
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
            DataType::Optional(_) => true,
            DataType::Extension(extension) => extension.needs_check(),
            _ => false,
        }
    }
}

impl PartialEq for DataType {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (DataType::Core(a), DataType::Core(b)) => a == b,
            (DataType::Raw { size: a }, DataType::Raw { size: b }) => a == b,
            (DataType::Record(a), DataType::Record(b)) => a == b,
            (DataType::Optional(a), DataType::Optional(b)) => a == b,
            (DataType::Extension(a), DataType::Extension(b)) => a.to_string() == b.to_string(),
            (
                DataType::Unknown { declared: a, fallback: f },
                DataType::Unknown { declared: b, fallback: g },
            ) => a == b && f == g,
            _ => false,
        }
    }
}

impl From<CoreType> for DataType {
    fn from(core: CoreType) -> Self {
        DataType::Core(core)
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataType::Core(core) => f.write_str(core.name()),
            DataType::Raw { size } => write!(f, "r{}", *size as u128 * 8),
            DataType::Record(record) => write!(f, "{record}"),
            DataType::Optional(optional) => write!(f, "{optional}"),
            DataType::Extension(extension) => write!(f, "{extension}"),
            DataType::Unknown { declared: Json::String(name), .. } => f.write_str(name),
            DataType::Unknown { declared, .. } => f.write_str(&declared.brief()),
        }
    }
}

//! Defines data types: what an element is.
//!
//! A data type says how many bytes an element has and what they mean, *without* byte order: that
//! belongs to the chain (`bytes`), since two of the three dialects could not agree otherwise.

mod byte_swap;
mod calendar;
mod check;
mod core_type;
pub(crate) mod datetime;
mod element_text;
mod endian;
mod extension;
pub(crate) mod fill_value;
mod fixed_text;
mod float_format;
#[cfg(feature = "jiff")]
mod jiff;
mod leaves;
pub(crate) mod minifloat;
mod numpy;
pub(crate) mod optional;
mod record;
pub(crate) mod record_json;
mod repr;
mod scalar;
pub(crate) mod strings;
mod types;
pub(crate) mod variable;

pub use self::byte_swap::ByteSwap;
pub use self::calendar::{gregorian_date, gregorian_days};
pub use self::check::Origin;
pub use self::core_type::CoreType;
pub use self::datetime::{NumpyTime, TimeKind, TimeUnit};
pub use self::element_text::{ElementText, unpadded, utf32_chars};
pub use self::endian::Endian;
pub use self::extension::ExtensionType;
pub use self::fill_value::{FillValue, base64_decode, base64_encode};
pub use self::float_format::{FloatFormat, Rounding};
pub use self::leaves::{Leaf, LeafValue};
pub(crate) use self::numpy::from_typestr;
pub(crate) use self::record::MAX_DEPTH as MAX_RECORD_DEPTH;
pub(crate) use self::repr::MAX_ELEMENT;
pub use self::repr::Repr;
pub(crate) use self::scalar::integer_from_text;
pub use self::scalar::{OutOfRange, Scalar, ScalarValue, load_bits, store_bits};
pub(crate) use self::types::ParseType;
pub use self::types::{BuildDataType, DataType, Field, Optional, ParsedType, Record, ToDataType};

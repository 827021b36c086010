//! Writes data types as metadata of each dialect.

use super::{DataType, Endian, strings, variable};
use crate::dialect::Dialect;
use crate::json::Json;

impl DataType {
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
            DataType::Record(record) => record.to_metadata(dialect, endian),
            DataType::Optional(optional) => optional.to_metadata(dialect),
            DataType::Extension(extension) => extension.to_metadata(dialect, endian),
            DataType::Unknown { .. } => None,
        }
    }
}

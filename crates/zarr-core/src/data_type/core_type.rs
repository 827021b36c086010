//! The data types that every dialect knows, and their names in each.

use super::{Endian, FloatFormat, Repr, Scalar};
use crate::dialect::Dialect;
use crate::json::{Json, Object};

/// A data type of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub enum CoreType {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Float16,
    Float32,
    Float64,
    Complex64,
    Complex128,
}

/// Where zarr-python 2.18 says that a draft's complex types come from (draft-v3.md 3.3).
const DRAFT_COMPLEX: &str = "https://zarr-specs.readthedocs.io/en/core-protocol-v3.0-dev/protocol/extensions/complex-dtypes/v1.0.html";

/// Each type with its name in final v3 (F-030), its kind and size in v2 and the drafts, and its numbers, in the order of
/// the variants.
const TABLE: [(CoreType, &str, &str, Scalar); 14] = [
    (CoreType::Bool, "bool", "b1", Scalar::Bool),
    (CoreType::Int8, "int8", "i1", Scalar::Int(8)),
    (CoreType::Int16, "int16", "i2", Scalar::Int(16)),
    (CoreType::Int32, "int32", "i4", Scalar::Int(32)),
    (CoreType::Int64, "int64", "i8", Scalar::Int(64)),
    (CoreType::Uint8, "uint8", "u1", Scalar::Uint(8)),
    (CoreType::Uint16, "uint16", "u2", Scalar::Uint(16)),
    (CoreType::Uint32, "uint32", "u4", Scalar::Uint(32)),
    (CoreType::Uint64, "uint64", "u8", Scalar::Uint(64)),
    (CoreType::Float16, "float16", "f2", Scalar::Float(FloatFormat::FLOAT16)),
    (CoreType::Float32, "float32", "f4", Scalar::Float(FloatFormat::FLOAT32)),
    (CoreType::Float64, "float64", "f8", Scalar::Float(FloatFormat::FLOAT64)),
    (CoreType::Complex64, "complex64", "c8", Scalar::Complex(FloatFormat::FLOAT32)),
    (CoreType::Complex128, "complex128", "c16", Scalar::Complex(FloatFormat::FLOAT64)),
];

impl CoreType {
    /// Every core type.
    pub const ALL: [CoreType; 14] = {
        let mut all = [CoreType::Bool; 14];
        let mut n = 0;
        while n < all.len() {
            all[n] = TABLE[n].0;
            n += 1;
        }
        all
    };

    /// Its name in final v3 (F-030).
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Its kind and size as v2 and the drafts write it, without byte order: `i4`.
    pub const fn kind_and_size(self) -> &'static str {
        TABLE[self as usize].2
    }

    /// The kind of number that an element is.
    pub const fn scalar(self) -> Scalar {
        TABLE[self as usize].3
    }

    /// The representation of an element.
    pub const fn repr(self) -> Repr {
        Repr::Scalar(self.scalar())
    }

    /// The core's type of such numbers; `None` if it has none.
    pub fn of_scalar(scalar: Scalar) -> Option<CoreType> {
        CoreType::ALL.into_iter().find(|core| core.scalar() == scalar)
    }

    /// The type of this name in final v3.
    pub fn from_name(name: &str) -> Option<CoreType> {
        CoreType::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The type that `text` such as `<i4` or `|u1` means, and its byte order (Z2-030, Z2-031, D-030).
    ///
    /// One-byte types carry no order; `=` and no mark at all mean little-endian.
    pub fn from_typestr(text: &str) -> Option<(CoreType, Option<Endian>)> {
        let (mark, rest) = match text.chars().next()? {
            mark @ ('<' | '>' | '|' | '=') => (Some(mark), &text[1..]),
            _ => (None, text),
        };
        let core = CoreType::ALL.into_iter().find(|t| t.kind_and_size() == rest)?;
        let endian = match mark {
            _ if core.repr().swap_unit() == 1 => None,
            Some('>') => Some(Endian::Big),
            _ => Some(Endian::Little),
        };
        Some((core, endian))
    }

    /// `<i4`, `|u1`, `>c16`: the type as v2 writes it (Z2-030).
    pub fn typestr(self, endian: Endian) -> String {
        let mark = if self.repr().swap_unit() == 1 { '|' } else { endian.mark() };
        format!("{mark}{}", self.kind_and_size())
    }

    /// The type as a dialect's metadata; `endian` is the stored byte order, where the metadata hold it.
    pub fn to_metadata(self, dialect: Dialect, endian: Endian) -> Option<Json> {
        Some(match (dialect, self.scalar()) {
            (Dialect::V3, _) => Json::from(self.name()),
            (Dialect::V2, _) => Json::from(self.typestr(endian)),
            (Dialect::Draft, Scalar::Bool) => Json::from("bool"),
            (Dialect::Draft, Scalar::Complex(_)) => Json::from(
                Object::new()
                    .with("extension", DRAFT_COMPLEX)
                    .with("type", self.typestr(endian))
                    .with("fallback", Json::Null),
            ),
            (Dialect::Draft, scalar) if scalar.size() == 1 => Json::from(self.kind_and_size()),
            (Dialect::Draft, _) => Json::from(self.typestr(endian)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Z2-030, Z2-031, D-030, F-030.
    #[test]
    fn every_type_reads_back_from_its_own_words() {
        for (n, core) in CoreType::ALL.into_iter().enumerate() {
            assert_eq!(core as usize, n, "the table has the order of the variants");
            assert_eq!(CoreType::from_name(core.name()), Some(core));
            for endian in [Endian::Little, Endian::Big] {
                let parsed = CoreType::from_typestr(&core.typestr(endian)).unwrap();
                let order = (core.repr().swap_unit() > 1).then_some(endian);
                assert_eq!(parsed, (core, order));
            }
        }
        for odd in ["<i1", ">u1", "|b1", "|i4", "i4", "=i4"] {
            assert!(CoreType::from_typestr(odd).is_some(), "{odd}");
        }
        for bad in ["", "<", "i3", "<f16", "<c32", "q4", "int32", "<i44"] {
            assert!(CoreType::from_typestr(bad).is_none(), "{bad}");
        }
    }
}

//! The types of netCDF.

use std::fmt;

use zarr_core::CoreType;

use crate::model::values::Values;

/// The core's data types of netCDF's numbers.
const CORE: [(Type, CoreType); 13] = [
    (Type::Byte, CoreType::Int8),
    (Type::Ubyte, CoreType::Uint8),
    (Type::Short, CoreType::Int16),
    (Type::Ushort, CoreType::Uint16),
    (Type::Int, CoreType::Int32),
    (Type::Uint, CoreType::Uint32),
    (Type::Int64, CoreType::Int64),
    (Type::Uint64, CoreType::Uint64),
    (Type::Float, CoreType::Float32),
    (Type::Double, CoreType::Float64),
    (Type::Bool, CoreType::Bool),
    (Type::Complex64, CoreType::Complex64),
    (Type::Complex128, CoreType::Complex128),
];

/// A type of a netCDF variable or attribute (N-002, N-003).
///
/// The last three can be read and not created: netCDF calls them an enumeration and compounds (N-006).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Type {
    Byte,
    Ubyte,
    Char,
    Short,
    Ushort,
    Int,
    Uint,
    Int64,
    Uint64,
    Float,
    Double,
    String,
    Bool,
    Complex64,
    Complex128,
}

impl Type {
    /// The atomic types, which variables and attributes can be created of.
    pub const ATOMIC: [Type; 12] = [
        Type::Byte,
        Type::Ubyte,
        Type::Char,
        Type::Short,
        Type::Ushort,
        Type::Int,
        Type::Uint,
        Type::Int64,
        Type::Uint64,
        Type::Float,
        Type::Double,
        Type::String,
    ];

    /// What netCDF and CDL call it.
    pub fn name(self) -> &'static str {
        match self {
            Type::Byte => "byte",
            Type::Ubyte => "ubyte",
            Type::Char => "char",
            Type::Short => "short",
            Type::Ushort => "ushort",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Int64 => "int64",
            Type::Uint64 => "uint64",
            Type::Float => "float",
            Type::Double => "double",
            Type::String => "string",
            Type::Bool => "_bool_t",
            Type::Complex64 => "_Complex64_t",
            Type::Complex128 => "_Complex128_t",
        }
    }

    /// The atomic type of this name.
    pub fn from_name(name: &str) -> Option<Type> {
        Type::ATOMIC.into_iter().find(|ty| ty.name() == name)
    }

    /// Bytes of one element; `None` for strings, whose width is the variable's.
    pub fn size(self) -> Option<usize> {
        match self {
            Type::Char => Some(1),
            number => number.core().map(|core| core.scalar().size()),
        }
    }

    /// The core's data type of its elements; `None` for `char` and strings.
    pub(crate) fn core(self) -> Option<CoreType> {
        CORE.iter().find(|(ty, _)| *ty == self).map(|(_, core)| *core)
    }

    /// The type whose elements are of this data type.
    pub(crate) fn of_core(core: CoreType) -> Option<Type> {
        CORE.iter().find(|(_, other)| *other == core).map(|(ty, _)| *ty)
    }

    /// Whether it is one of the types that can be created.
    pub fn is_atomic(self) -> bool {
        Type::ATOMIC.contains(&self)
    }

    /// The fill value of a variable that declares none, as one value (N-003).
    pub fn default_fill(self) -> Values {
        match self {
            Type::Byte => Values::Byte(vec![-127]),
            Type::Ubyte => Values::Ubyte(vec![255]),
            Type::Char => Values::Char(vec![0]),
            Type::Short => Values::Short(vec![-32767]),
            Type::Ushort => Values::Ushort(vec![65535]),
            Type::Int => Values::Int(vec![-2147483647]),
            Type::Uint => Values::Uint(vec![4294967295]),
            Type::Int64 => Values::Int64(vec![-9223372036854775806]),
            Type::Uint64 => Values::Uint64(vec![18446744073709551614]),
            Type::Float => Values::Float(vec![DEFAULT_FLOAT as f32]),
            Type::Double => Values::Double(vec![DEFAULT_FLOAT]),
            Type::String => Values::String(vec![String::new()]),
            Type::Bool => Values::Bool(vec![false]),
            Type::Complex64 => Values::Complex64(vec![[0.0; 2]]),
            Type::Complex128 => Values::Complex128(vec![[0.0; 2]]),
        }
    }
}

/// The default fill value of float and double, 15 × 2^119.
const DEFAULT_FLOAT: f64 = 9.969_209_968_386_869e36;

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a number is what netCDF's library prints of that in six digits (N-045).
pub(crate) fn is_default_float(text: &str) -> bool {
    text.parse::<f64>() == Ok(9.96921e36)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N-003: the float's fill is exact, and the same number as the double's.
    #[test]
    fn fills_are_those_of_netcdf() {
        assert_eq!(DEFAULT_FLOAT.to_bits(), 0x479e_0000_0000_0000);
        assert_eq!(f64::from(DEFAULT_FLOAT as f32), DEFAULT_FLOAT);
        for ty in Type::ATOMIC {
            assert_eq!(ty.default_fill().ty(), ty);
            assert_eq!(ty.default_fill().len(), 1);
            assert_eq!(Type::from_name(ty.name()), Some(ty));
        }
        assert_eq!(Type::from_name("_bool_t"), None);
    }
}

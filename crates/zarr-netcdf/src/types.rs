//! netCDF's numbers for types, and what stands for the types of Zarr that it does not have.
//!
//! Files that are opened declare no types of their own. netCDF-4 has enumerations and compounds, which bools and complex numbers could be, but
//! `nc_reclaim_data` of netcdf-c 4.9.3 to 4.10.1, which ncdump calls for each row of such a type, looks it up in a structure
//! that only its own formats have, and ends the program by a segmentation fault. So bools are ubytes with xarray's attribute
//! `dtype`, and complex numbers have a dimension more, which nc-complex and netCDF4-python's `auto_complex` know. A program may
//! define such types itself, to write them: `own_types`.

use std::ffi::{c_char, c_int};

use zarr::nczarr::{Type, Values};

pub const NC_CHAR: c_int = 2;
pub const NC_STRING: c_int = 12;

const ATOMIC: [(Type, c_int); 12] = [
    (Type::Byte, 1),
    (Type::Char, NC_CHAR),
    (Type::Short, 3),
    (Type::Int, 4),
    (Type::Float, 5),
    (Type::Double, 6),
    (Type::Ubyte, 7),
    (Type::Ushort, 8),
    (Type::Uint, 9),
    (Type::Int64, 10),
    (Type::Uint64, 11),
    (Type::String, NC_STRING),
];

/// The atomic type of this number.
pub fn atomic(id: c_int) -> Option<Type> {
    ATOMIC.iter().find(|(_, other)| *other == id).map(|(ty, _)| *ty)
}

/// The number of a type; 0 for one that is not atomic, of which the index has none.
pub fn id(ty: Type) -> c_int {
    ATOMIC.iter().find(|(other, _)| *other == ty).map_or(0, |(_, id)| *id)
}

/// Bytes of one element in a program's memory; a string is a pointer there.
pub fn size_in_memory(ty: Type) -> usize {
    ty.size().unwrap_or(size_of::<*mut c_char>())
}

/// Whether values of the type convert to other numbers.
pub fn is_number(ty: Type) -> bool {
    ty.is_atomic() && !matches!(ty, Type::Char | Type::String)
}

/// Native elements of a type as values; `None` for strings, which have no fixed size.
pub fn values(ty: Type, bytes: &[u8]) -> Option<Values> {
    fn numbers<const N: usize, T>(bytes: &[u8], number: impl Fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks::<N>().0.iter().map(|bytes| number(*bytes)).collect()
    }
    Some(match ty {
        Type::Byte => Values::Byte(numbers(bytes, i8::from_ne_bytes)),
        Type::Ubyte => Values::Ubyte(bytes.to_vec()),
        Type::Char => Values::Char(bytes.to_vec()),
        Type::Short => Values::Short(numbers(bytes, i16::from_ne_bytes)),
        Type::Ushort => Values::Ushort(numbers(bytes, u16::from_ne_bytes)),
        Type::Int => Values::Int(numbers(bytes, i32::from_ne_bytes)),
        Type::Uint => Values::Uint(numbers(bytes, u32::from_ne_bytes)),
        Type::Int64 => Values::Int64(numbers(bytes, i64::from_ne_bytes)),
        Type::Uint64 => Values::Uint64(numbers(bytes, u64::from_ne_bytes)),
        Type::Float => Values::Float(numbers(bytes, f32::from_ne_bytes)),
        Type::Double => Values::Double(numbers(bytes, f64::from_ne_bytes)),
        Type::Bool => Values::Bool(bytes.iter().map(|&byte| byte != 0).collect()),
        Type::Complex64 => {
            Values::Complex64(numbers(bytes, f32::from_ne_bytes).as_chunks().0.to_vec())
        }
        Type::Complex128 => {
            Values::Complex128(numbers(bytes, f64::from_ne_bytes).as_chunks().0.to_vec())
        }
        Type::String => return None,
    })
}

/// The type that stands for another one, and whether each of its elements has two of it: the parts of a complex number.
pub fn told(ty: Type) -> (Type, bool) {
    match ty {
        Type::Bool => (Type::Ubyte, false),
        Type::Complex64 => (Type::Float, true),
        Type::Complex128 => (Type::Double, true),
        atomic => (atomic, false),
    }
}

/// The dimension along which the parts of complex numbers are.
pub const COMPLEX_DIMENSION: &str = "_pfnc_complex";

/// The attribute by which xarray makes bools of numbers, and its value.
pub const BOOL_ATTRIBUTE: (&str, &str) = ("dtype", "bool");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomic_types_have_numbers() {
        for ty in Type::ATOMIC {
            assert_eq!((atomic(id(ty)), told(ty)), (Some(ty), (ty, false)));
        }
        assert_eq!((atomic(0), atomic(13), id(Type::Bool)), (None, None, 0));
    }

    #[test]
    fn bytes_are_values() {
        let more = [Type::Bool, Type::Complex64, Type::Complex128];
        for ty in Type::ATOMIC.into_iter().chain(more).filter(|ty| *ty != Type::String) {
            let value = ty.default_fill();
            assert_eq!(values(ty, &value.to_ne_bytes()), Some(value));
        }
        assert_eq!(values(Type::String, &[0; 8]), None);
    }
}

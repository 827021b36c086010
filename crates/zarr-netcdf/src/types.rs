//! netCDF's numbers for types, and the types that are declared: those of bools and complex numbers.

use std::ffi::{c_char, c_int};

use zarr::nczarr::Type;

pub const NC_CHAR: c_int = 2;
pub const NC_FLOAT: c_int = 5;
pub const NC_DOUBLE: c_int = 6;
pub const NC_UBYTE: c_int = 7;
pub const NC_STRING: c_int = 12;
pub const NC_ENUM: c_int = 15;
pub const NC_COMPOUND: c_int = 16;
/// The number of the first type that a file declares. Of the others ncdump demands that they follow without a gap.
pub const FIRST_USER_TYPE: c_int = 32;

const ATOMIC: [(Type, c_int); 12] = [
    (Type::Byte, 1),
    (Type::Char, NC_CHAR),
    (Type::Short, 3),
    (Type::Int, 4),
    (Type::Float, NC_FLOAT),
    (Type::Double, NC_DOUBLE),
    (Type::Ubyte, NC_UBYTE),
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

/// Bytes of one element in a program's memory; a string is a pointer there.
pub fn size_in_memory(ty: Type) -> usize {
    ty.size().unwrap_or(size_of::<*mut c_char>())
}

/// Whether values of the type convert to other numbers. A bool converts as the ubyte that it is.
pub fn is_number(ty: Type) -> bool {
    !matches!(ty, Type::Char | Type::String | Type::Complex64 | Type::Complex128)
}

/// The members of the enumeration that bools are (N-006).
pub const BOOL_MEMBERS: [(&str, u8); 2] = [("FALSE", 0), ("TRUE", 1)];

/// The fields of the compound that a complex number is.
pub const COMPLEX_FIELDS: [&str; 2] = ["r", "i"];

/// The number of a type of a part of a complex number.
pub fn part_of_complex(ty: Type) -> Option<Type> {
    match ty {
        Type::Complex64 => Some(Type::Float),
        Type::Complex128 => Some(Type::Double),
        _ => None,
    }
}

/// The types that a file declares, all in its root group: those of the three that it uses.
#[derive(Debug, Default)]
pub struct UserTypes(Vec<Type>);

impl UserTypes {
    /// Those that are not atomic, each once, in one order in all files.
    pub fn new(used: impl Iterator<Item = Type>) -> UserTypes {
        let used: Vec<Type> = used.collect();
        let all = [Type::Bool, Type::Complex64, Type::Complex128];
        UserTypes(all.into_iter().filter(|ty| used.contains(ty)).collect())
    }

    /// Their numbers.
    pub fn ids(&self) -> impl Iterator<Item = c_int> {
        (FIRST_USER_TYPE..).take(self.0.len())
    }

    /// The declared type of this number.
    pub fn get(&self, id: c_int) -> Option<Type> {
        let at = usize::try_from(id.checked_sub(FIRST_USER_TYPE)?).ok()?;
        self.0.get(at).copied()
    }

    /// The number of a type. Each type that the file uses has one.
    pub fn id(&self, ty: Type) -> c_int {
        let declared = || self.ids().find(|&id| self.get(id) == Some(ty));
        let atomic = ATOMIC.iter().find(|(other, _)| *other == ty).map(|(_, id)| *id);
        atomic.or_else(declared).unwrap_or(0)
    }

    /// The declared type of this name.
    pub fn named(&self, name: &str) -> Option<Type> {
        self.0.iter().copied().find(|ty| ty.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_numbered_without_gaps() {
        let types = UserTypes::new([Type::Complex128, Type::Int, Type::Bool].into_iter());
        assert_eq!(types.ids().collect::<Vec<_>>(), [32, 33]);
        assert_eq!(
            (types.id(Type::Bool), types.id(Type::Complex128), types.id(Type::Int)),
            (32, 33, 4)
        );
        assert_eq!(
            (types.get(33), types.get(34), types.get(-1)),
            (Some(Type::Complex128), None, None)
        );
        assert_eq!(types.get(c_int::MIN), None);
        for ty in Type::ATOMIC {
            assert_eq!(atomic(types.id(ty)), Some(ty));
        }
        assert_eq!((atomic(0), atomic(13)), (None, None));
    }
}

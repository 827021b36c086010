//! The values that attributes hold and variables read to.

use zarr_core::{Dialect, Json};

use crate::model::attribute;
use crate::model::types::Type;

/// Values of one type, in a row: what an attribute holds, and a variable's elements in C order.
///
/// Texts of type `char` are bytes, in attributes UTF-8; a `string` is whole.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Values {
    Byte(Vec<i8>),
    Ubyte(Vec<u8>),
    Char(Vec<u8>),
    Short(Vec<i16>),
    Ushort(Vec<u16>),
    Int(Vec<i32>),
    Uint(Vec<u32>),
    Int64(Vec<i64>),
    Uint64(Vec<u64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    String(Vec<String>),
    Bool(Vec<bool>),
    /// Real and imaginary part.
    Complex64(Vec<[f32; 2]>),
    /// Real and imaginary part.
    Complex128(Vec<[f64; 2]>),
}

/// What an attribute holds.
pub type AttributeValue = Values;

/// Calls a macro of this module with what it was called with and the name of every type.
macro_rules! with_types {
    ($macro:ident, $($given:tt)*) => {
        $macro! { @ [$($given)*] Byte Ubyte Char Short Ushort Int Uint Int64 Uint64 Float Double String Bool Complex64
            Complex128 }
    };
}

/// The same expression for values of every type.
macro_rules! each {
    (@ [$values:expr, $of:pat => $do:expr] $($ty:ident)*) => {
        match $values {
            $(Values::$ty($of) => $do,)*
        }
    };
    ($($given:tt)*) => { with_types! { each, $($given)* } };
}

/// The type of values.
macro_rules! type_of {
    (@ [$values:expr] $($ty:ident)*) => {
        match $values {
            $(Values::$ty(_) => Type::$ty,)*
        }
    };
}

/// Values of the same type.
macro_rules! same {
    (@ [$values:expr, $of:ident => $do:expr] $($ty:ident)*) => {
        match $values {
            $(Values::$ty($of) => Values::$ty($do),)*
        }
    };
    ($($given:tt)*) => { with_types! { same, $($given)* } };
}

/// The same expression for the numbers of netCDF's atomic types; the arms behind it for other values.
macro_rules! each_number {
    ($values:expr, $of:pat => $do:expr, $($rest:tt)*) => {
        match $values {
            Values::Byte($of) => $do,
            Values::Ubyte($of) => $do,
            Values::Short($of) => $do,
            Values::Ushort($of) => $do,
            Values::Int($of) => $do,
            Values::Uint($of) => $do,
            Values::Int64($of) => $do,
            Values::Uint64($of) => $do,
            Values::Float($of) => $do,
            Values::Double($of) => $do,
            $($rest)*
        }
    };
}
pub(crate) use each_number;

/// Runs `$do` with `$T` standing for the Rust type of one of netCDF's atomic numbers; the arms behind it for other types.
macro_rules! with_number {
    ($ty:expr, $T:ident => $do:expr, $($rest:tt)*) => {
        $crate::model::values::with_number!(@ $ty, $T => $do; Byte i8, Ubyte u8, Short i16, Ushort u16, Int i32, Uint u32,
            Int64 i64, Uint64 u64, Float f32, Double f64; $($rest)*)
    };
    (@ $ty:expr, $T:ident => $do:expr; $($name:ident $rust:ty),*; $($rest:tt)*) => {
        match $ty {
            $(Type::$name => {
                type $T = $rust;
                $do
            })*
            $($rest)*
        }
    };
}
pub(crate) use with_number;

/// Lays `part` of shape `there` over the first corner of `all` of shape `count`, row by row.
fn overlay<T>(all: &mut [T], count: &[u64], part: Vec<T>, there: &[u64]) {
    let (Some(&row), Some(&width)) = (there.last(), count.last()) else { return };
    let mut at = vec![0u64; there.len() - 1];
    let mut part = part.into_iter();
    loop {
        let line = at.iter().zip(count).fold(0, |line, (&at, &len)| line * len + at);
        let start = (line * width) as usize;
        for (place, value) in all[start..start + row as usize].iter_mut().zip(&mut part) {
            *place = value;
        }
        let Some(axis) = (0..at.len()).rev().find(|&axis| at[axis] + 1 < there[axis]) else {
            return;
        };
        at[axis] += 1;
        at[axis + 1..].fill(0);
    }
}

/// The same expression for two of one type; nothing for two of different ones.
macro_rules! both {
    (@ [$one:expr, $other:expr, $a:ident, $b:ident => $do:expr] $($ty:ident)*) => {
        match ($one, $other) {
            $((Values::$ty($a), Values::$ty($b)) => $do,)*
            _ => {}
        }
    };
    ($($given:tt)*) => { with_types! { both, $($given)* } };
}

impl Values {
    /// A text of type `char`.
    pub fn text(text: &str) -> Values {
        Values::Char(text.as_bytes().to_vec())
    }

    /// The text, if it is of type `char` and UTF-8.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Values::Char(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The values as an attribute of final v3 has them: one alone, several as a list. `None` if no attribute can hold them.
    pub fn to_json(&self) -> Option<Json> {
        attribute::to_json(self, Dialect::V3).ok().map(|(json, _)| json)
    }

    /// The type of each value.
    pub fn ty(&self) -> Type {
        with_types!(type_of, self)
    }

    /// How many there are; of type `char`, how many bytes.
    pub fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// The values in memory, one after the other: of complex numbers two each, of bools one byte each, 0 or 1. Strings
    /// have no fixed size: of them there are no bytes.
    pub fn to_ne_bytes(&self) -> Vec<u8> {
        each_number!(self, list => list.iter().flat_map(|number| number.to_ne_bytes()).collect(),
            Values::Char(bytes) => bytes.clone(),
            Values::Bool(list) => list.iter().map(|&value| u8::from(value)).collect(),
            Values::Complex64(list) => {
                list.as_flattened().iter().flat_map(|number| number.to_ne_bytes()).collect()
            }
            Values::Complex128(list) => {
                list.as_flattened().iter().flat_map(|number| number.to_ne_bytes()).collect()
            }
            Values::String(_) => Vec::new(),
        )
    }

    /// The first value, `count` times; `None` if there is no room for that, or no value.
    pub(crate) fn repeated(&self, count: usize) -> Option<Values> {
        fn repeat<T: Clone>(values: &[T], count: usize) -> Option<Vec<T>> {
            let mut all = Vec::new();
            all.try_reserve_exact(count).ok()?;
            all.resize(count, values.first()?.clone());
            Some(all)
        }
        Some(same!(self, values => repeat(values, count)?))
    }

    /// The values of a box of shape `count` in C order, `part` of shape `there` merged into its first corner.
    pub(crate) fn overlaid(mut self, count: &[u64], part: Values, there: &[u64]) -> Values {
        // Both are read of one variable.
        both!(&mut self, part, all, part => overlay(all, count, part, there));
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Gathers values one after the other, as the reader of CDL does.
#[cfg(feature = "cdl")]
impl Values {
    /// No values, of this type.
    pub(crate) fn none(ty: Type) -> Values {
        ty.default_fill().split_off(1)
    }

    /// Takes away what begins at `at`, which is not beyond the end.
    pub(crate) fn split_off(&mut self, at: usize) -> Values {
        same!(self, values => values.split_off(at))
    }

    /// Adds values of the same type behind these.
    pub(crate) fn append(&mut self, other: Values) {
        both!(self, other, values, other => values.extend(other));
    }
}

/// Values out of a vector of Rust's own, and back.
macro_rules! vectors {
    ($($variant:ident $rust:ty),* $(,)?) => {$(
        impl From<Vec<$rust>> for Values {
            fn from(values: Vec<$rust>) -> Values {
                Values::$variant(values)
            }
        }
        impl TryFrom<Values> for Vec<$rust> {
            type Error = Values;
            /// The values as they were come back, if they are of another type.
            fn try_from(values: Values) -> Result<Self, Values> {
                match values {
                    Values::$variant(values) => Ok(values),
                    other => Err(other),
                }
            }
        }
    )*};
}

vectors! {
    Byte i8, Ubyte u8, Short i16, Ushort u16, Int i32, Uint u32, Int64 i64, Uint64 u64, Float f32, Double f64,
    String String, Bool bool, Complex64 [f32; 2], Complex128 [f64; 2],
}

impl From<&str> for Values {
    /// A text of type `char`.
    fn from(text: &str) -> Values {
        Values::text(text)
    }
}

/// Whether two values are one, to the bit.
pub(crate) fn is_identical(a: &Values, b: &Values) -> bool {
    match (a, b) {
        (Values::Float(a), Values::Float(b)) => {
            a.iter().map(|n| n.to_bits()).eq(b.iter().map(|n| n.to_bits()))
        }
        (Values::Double(a), Values::Double(b)) => {
            a.iter().map(|n| n.to_bits()).eq(b.iter().map(|n| n.to_bits()))
        }
        (Values::Complex64(a), Values::Complex64(b)) => {
            let (a, b) = (a.as_flattened(), b.as_flattened());
            a.iter().map(|n| n.to_bits()).eq(b.iter().map(|n| n.to_bits()))
        }
        (Values::Complex128(a), Values::Complex128(b)) => {
            let (a, b) = (a.as_flattened(), b.as_flattened());
            a.iter().map(|n| n.to_bits()).eq(b.iter().map(|n| n.to_bits()))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_laid_over_the_first_corner() {
        let all = Values::Int(vec![-1]).repeated(12).unwrap();
        let part = Values::Int(vec![1, 2, 3, 4]);
        let due = Values::Int(vec![1, 2, -1, -1, -1, -1, 3, 4, -1, -1, -1, -1]);
        assert_eq!(all.overlaid(&[2, 2, 3], part, &[2, 1, 2]), due);
        let all = Values::String(vec!["".into()]).repeated(3).unwrap();
        let due = Values::String(vec!["a".into(), "".into(), "".into()]);
        assert_eq!(all.overlaid(&[3], Values::String(vec!["a".into()]), &[1]), due);
        assert_eq!(Values::Double(vec![0.0]).repeated(usize::MAX), None);
    }
}

//! The values that attributes hold and variables read to.

use crate::types::Type;

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

/// The same words for whichever type the values are of.
macro_rules! each {
    ($values:expr, $of:ident => $do:expr) => {
        match $values {
            Values::Byte($of) => $do,
            Values::Ubyte($of) => $do,
            Values::Char($of) => $do,
            Values::Short($of) => $do,
            Values::Ushort($of) => $do,
            Values::Int($of) => $do,
            Values::Uint($of) => $do,
            Values::Int64($of) => $do,
            Values::Uint64($of) => $do,
            Values::Float($of) => $do,
            Values::Double($of) => $do,
            Values::String($of) => $do,
            Values::Bool($of) => $do,
            Values::Complex64($of) => $do,
            Values::Complex128($of) => $do,
        }
    };
}

/// Values of the same type, whichever it is.
macro_rules! same {
    ($values:expr, $of:ident => $do:expr) => {
        match $values {
            Values::Byte($of) => Values::Byte($do),
            Values::Ubyte($of) => Values::Ubyte($do),
            Values::Char($of) => Values::Char($do),
            Values::Short($of) => Values::Short($do),
            Values::Ushort($of) => Values::Ushort($do),
            Values::Int($of) => Values::Int($do),
            Values::Uint($of) => Values::Uint($do),
            Values::Int64($of) => Values::Int64($do),
            Values::Uint64($of) => Values::Uint64($do),
            Values::Float($of) => Values::Float($do),
            Values::Double($of) => Values::Double($do),
            Values::String($of) => Values::String($do),
            Values::Bool($of) => Values::Bool($do),
            Values::Complex64($of) => Values::Complex64($do),
            Values::Complex128($of) => Values::Complex128($do),
        }
    };
}

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

/// The same words for two of one type; nothing for two of different ones.
macro_rules! both {
    ($one:expr, $other:expr, $a:ident, $b:ident => $do:expr) => {
        match ($one, $other) {
            (Values::Byte($a), Values::Byte($b)) => $do,
            (Values::Ubyte($a), Values::Ubyte($b)) => $do,
            (Values::Char($a), Values::Char($b)) => $do,
            (Values::Short($a), Values::Short($b)) => $do,
            (Values::Ushort($a), Values::Ushort($b)) => $do,
            (Values::Int($a), Values::Int($b)) => $do,
            (Values::Uint($a), Values::Uint($b)) => $do,
            (Values::Int64($a), Values::Int64($b)) => $do,
            (Values::Uint64($a), Values::Uint64($b)) => $do,
            (Values::Float($a), Values::Float($b)) => $do,
            (Values::Double($a), Values::Double($b)) => $do,
            (Values::String($a), Values::String($b)) => $do,
            (Values::Bool($a), Values::Bool($b)) => $do,
            (Values::Complex64($a), Values::Complex64($b)) => $do,
            (Values::Complex128($a), Values::Complex128($b)) => $do,
            _ => {}
        }
    };
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

    /// The type of each value.
    pub fn ty(&self) -> Type {
        match self {
            Values::Byte(_) => Type::Byte,
            Values::Ubyte(_) => Type::Ubyte,
            Values::Char(_) => Type::Char,
            Values::Short(_) => Type::Short,
            Values::Ushort(_) => Type::Ushort,
            Values::Int(_) => Type::Int,
            Values::Uint(_) => Type::Uint,
            Values::Int64(_) => Type::Int64,
            Values::Uint64(_) => Type::Uint64,
            Values::Float(_) => Type::Float,
            Values::Double(_) => Type::Double,
            Values::String(_) => Type::String,
            Values::Bool(_) => Type::Bool,
            Values::Complex64(_) => Type::Complex64,
            Values::Complex128(_) => Type::Complex128,
        }
    }

    /// How many there are; of type `char`, how many bytes.
    pub fn len(&self) -> usize {
        each!(self, values => values.len())
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

//! What do attributes hold, and what do variables read to?

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

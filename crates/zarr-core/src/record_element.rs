//! Maps Rust structs to records.

use std::borrow::Cow;

use bytemuck::Pod;

use crate::data_type::{DataType, Record, Repr, Scalar};
use crate::element::{Element, memory_of_any_bits};

/// A Rust struct that is an element of an array of records, bit for bit. The macro [`crate::record!`]
/// makes one of a struct; arrays are then read and written as those of plain types are.
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use zarr_core::Element;
/// use zarr_core::data_type::{CoreType, DataType, Field, Record};
///
/// #[derive(Clone, Copy, Default, Pod, Zeroable)]
/// #[repr(C, packed)]
/// struct Station {
///     id: i32,
///     name: [u8; 5],
///     height: f64,
/// }
/// zarr_core::record!(Station { id: i32, name: [u8; 5], height: f64 });
///
/// let data_type: DataType = Record::new([
///     Field::new("id", CoreType::Int32.into()),
///     Field::new("name", DataType::FixedBytes { len: 5 }),
///     Field::new("height", CoreType::Float64.into()),
/// ])?
/// .into();
/// assert!(Station::is(&data_type));
/// # Ok::<(), zarr_core::MetadataError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element of an array",
    note = "elements are `bool`, integers from `i8` to `u64`, `f32`, `f64`, `String`, `Vec<u8>`, `Option` of them, `[u8; N]` for raw bytes, and structs that `record!` makes; \
            with features also `f16` and `Complex`",
    note = "`usize` and `&str` are none: convert them to `u64` and `String`; an `ndarray` is written by `write_ndarray`"
)]
pub trait RecordElement: Pod + Default + Send + Sync {
    /// Its name in messages.
    const NAME: &'static str;

    /// Its fields, in their order. They must be all of it: padding is none of a record's.
    fn fields() -> Vec<StructField>;
}

/// A field of a Rust struct.
#[derive(Clone, Copy, Debug)]
pub struct StructField {
    name: &'static str,
    offset: usize,
    size: usize,
    is: fn(&DataType, &[u64]) -> bool,
}

impl StructField {
    /// A field of type `T` at this offset in bytes.
    pub fn new<T: FieldElement>(name: &'static str, offset: usize) -> StructField {
        StructField { name, offset, size: size_of::<T>(), is: T::is_field }
    }
}

/// A Rust type that a struct may have for a field of a record.
///
/// Besides the type itself and other such structs, `u8` stands for a bool, `[u8; N]` for N bytes, `[u32; N]`
/// for a text of N code points, and `[T; N]` for the N elements of a field with a shape.
pub trait FieldElement: Copy {
    /// Whether a field of this type and shape has such values.
    fn is_field(data_type: &DataType, shape: &[u64]) -> bool;

    /// Whether `count` of these are one element.
    fn are_one(count: usize, data_type: &DataType) -> bool {
        let _ = (count, data_type);
        false
    }
}

macro_rules! field_elements {
    ($($rust:ty)*) => {$(
        impl FieldElement for $rust {
            fn is_field(data_type: &DataType, shape: &[u64]) -> bool {
                shape.is_empty() && <$rust as Element>::is(data_type)
            }
        }
    )*};
}

field_elements! { i8 i16 i32 i64 u16 u64 f32 f64 }

#[cfg(feature = "half")]
field_elements! { half::f16 half::bf16 }

#[cfg(feature = "num-complex")]
field_elements! { num_complex::Complex<f32> num_complex::Complex<f64> }

impl FieldElement for u8 {
    fn is_field(data_type: &DataType, shape: &[u64]) -> bool {
        let is_bool = data_type.repr() == Some(Scalar::Bool.into());
        shape.is_empty() && (is_bool || <u8 as Element>::is(data_type))
    }

    fn are_one(count: usize, data_type: &DataType) -> bool {
        data_type.repr() == Some(Repr::Opaque(count))
    }
}

impl FieldElement for u32 {
    fn is_field(data_type: &DataType, shape: &[u64]) -> bool {
        shape.is_empty() && <u32 as Element>::is(data_type)
    }

    fn are_one(count: usize, data_type: &DataType) -> bool {
        data_type.repr() == Some(Repr::Utf32(count))
    }
}

impl<T: RecordElement> FieldElement for T {
    fn is_field(data_type: &DataType, shape: &[u64]) -> bool {
        shape.is_empty() && <T as Element>::is(data_type)
    }
}

impl<T: FieldElement, const N: usize> FieldElement for [T; N] {
    fn is_field(data_type: &DataType, shape: &[u64]) -> bool {
        match shape.split_first() {
            Some((&len, inner)) => len == N as u64 && T::is_field(data_type, inner),
            None => T::are_one(N, data_type),
        }
    }
}

impl<T: RecordElement> Element for T {
    const NAME: &'static str = <T as RecordElement>::NAME;

    fn is(data_type: &DataType) -> bool {
        match data_type {
            DataType::Record(record) => agree::<T>(record),
            _ => false,
        }
    }

    memory_of_any_bits!();
}

/// Whether names, places and types of a struct's fields are those of the record.
fn agree<T: RecordElement>(record: &Record) -> bool {
    let (ours, theirs) = (T::fields(), record.fields());
    size_of::<T>() == record.size()
        && ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(our, their)| {
            our.name == their.name()
                && (our.offset, our.size) == (their.offset(), their.size())
                && (our.is)(their.data_type(), their.shape())
        })
}

/// Makes a [`RecordElement`] of a struct, whose fields are repeated; the compiler checks that they are its fields. The
/// struct is `#[repr(C, packed)]` and derives `Clone, Copy, Default`, and `Pod` and
/// `Zeroable` of `bytemuck`.
#[macro_export]
macro_rules! record {
    ($name:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        impl $crate::RecordElement for $name {
            const NAME: &'static str = stringify!($name);

            fn fields() -> Vec<$crate::StructField> {
                $(const _: fn(&$name) -> $type = |record| record.$field;)+
                vec![$($crate::StructField::new::<$type>(
                    stringify!($field),
                    std::mem::offset_of!($name, $field),
                )),+]
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;
    use crate::{Dialect, Json, Registry};

    #[derive(Clone, Copy, Default, Pod, Zeroable)]
    #[repr(C, packed)]
    struct Pair {
        x: i16,
        y: i16,
    }
    crate::record!(Pair { x: i16, y: i16 });

    #[derive(Clone, Copy, Default, Pod, Zeroable)]
    #[repr(C, packed)]
    struct All {
        a: i32,
        b: f64,
        c: [u32; 3],
        d: [[u8; 2]; 2],
        e: Pair,
        f: u8,
        g: i64,
        h: [[f32; 3]; 2],
    }
    crate::record!(All {
        a: i32,
        b: f64,
        c: [u32; 3],
        d: [[u8; 2]; 2],
        e: Pair,
        f: u8,
        g: i64,
        h: [[f32; 3]; 2],
    });

    fn is<T: Element>(words: &str) -> bool {
        let json = Json::parse(words.as_bytes()).unwrap();
        T::is(&Registry::new().parse_data_type(&json, Dialect::V2).unwrap().data_type)
    }

    #[test]
    fn a_struct_is_a_record_whose_names_places_and_types_agree() {
        let fields = r#"["a","<i4"],["b",">f8"],["c","<U3"],["d","|S2",2],["e",[["x","<i2"],["y","<i2"]]],["f","|b1"],["g","<M8[s]"],["h","<f4",[2,3]]"#;
        let with = |from: &str, to: &str| {
            assert!(fields.contains(from));
            format!("[{}]", fields.replace(from, to))
        };
        assert!(is::<All>(&with("<i4", ">i4")));
        for (from, to) in [
            ("\"a\"", "\"A\""),
            ("<i4", "<u4"),
            ("<i4", "<i8"),
            ("<U3", "|S12"),
            (",2],", "],"),
            ("[2,3]", "[3,2]"),
            ("[2,3]", "[6]"),
            ("|b1", "|i1"),
            ("\"y\"", "\"z\""),
            (",[\"f\",\"|b1\"]", ""),
        ] {
            assert!(!is::<All>(&with(from, to)), "{from} {to}");
        }
        assert!(is::<Pair>(r#"[["x","<i2"],["y",">i2"]]"#));
        assert!(!is::<Pair>("\"<i4\""));
        assert!(!is::<i32>(r#"[["x","<i2"],["y",">i2"]]"#));
        assert!(!is::<[u8; 4]>(r#"[["x","<i2"],["y",">i2"]]"#));
    }
}

//! Which Rust types are which data types?

use bytemuck::{NoUninit, Zeroable};
use half::f16;
use num_complex::Complex;

use crate::data_type::{CoreType, DataType, Repr};

/// A Rust type that is an array's element, bit for bit.
///
/// Fixed-size raw types are `[u8; N]`. An extension that rests on signed integers has those for
/// elements: `i64` for [`NumpyTime`](crate::data_type::NumpyTime). Bools are checked when they are
/// read, so that no other byte becomes one.
pub trait Element: Copy + Send + Sync + NoUninit + Zeroable + Default + 'static {
    /// Its name in messages.
    const NAME: &'static str;

    /// Whether an array of this type holds such elements.
    fn is(data_type: &DataType) -> bool;

    /// The memory of elements, to be filled with elements that are checked already; `None` if only
    /// [`Element::from_bytes`] may make them.
    fn memory(elements: &mut [Self]) -> Option<&mut [u8]>;

    /// One element from its native bytes.
    fn from_bytes(bytes: &[u8]) -> Self;
}

fn is_core(data_type: &DataType, core: CoreType) -> bool {
    match data_type {
        DataType::Core(found) => *found == core,
        // Such as the counts of a time.
        DataType::Extension(extension) => {
            matches!(core.repr(), Repr::Int(_)) && extension.repr() == core.repr()
        }
        DataType::Unknown { fallback: Some(fallback), .. } => is_core(fallback, core),
        _ => false,
    }
}

macro_rules! elements {
    ($($rust:ty => $core:ident),* $(,)?) => {$(
        impl Element for $rust {
            const NAME: &'static str = stringify!($rust);
            fn is(data_type: &DataType) -> bool {
                is_core(data_type, CoreType::$core)
            }
            fn memory(elements: &mut [Self]) -> Option<&mut [u8]> {
                Some(bytemuck::cast_slice_mut(elements))
            }
            fn from_bytes(bytes: &[u8]) -> Self {
                bytemuck::pod_read_unaligned(bytes)
            }
        }
    )*};
}

elements! {
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    u8 => Uint8, u16 => Uint16, u32 => Uint32, u64 => Uint64,
    f16 => Float16, f32 => Float32, f64 => Float64,
    Complex<f32> => Complex64, Complex<f64> => Complex128,
}

impl Element for bool {
    const NAME: &'static str = "bool";
    fn is(data_type: &DataType) -> bool {
        is_core(data_type, CoreType::Bool)
    }
    fn memory(_: &mut [Self]) -> Option<&mut [u8]> {
        None
    }
    fn from_bytes(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }
}

macro_rules! raw_elements {
    ($($n:literal)*) => {$(
        impl Element for [u8; $n] {
            const NAME: &'static str = concat!("[u8; ", $n, "]");
            fn is(data_type: &DataType) -> bool {
                matches!(data_type.repr(), Some(Repr::Opaque($n)))
            }
            fn memory(elements: &mut [Self]) -> Option<&mut [u8]> {
                Some(bytemuck::cast_slice_mut(elements))
            }
            fn from_bytes(bytes: &[u8]) -> Self {
                bytemuck::pod_read_unaligned(bytes)
            }
        }
    )*};
}

raw_elements! { 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 24 32 }

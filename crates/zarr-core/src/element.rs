//! Maps Rust types to data types.

use std::borrow::Cow;

#[cfg(feature = "half")]
use half::{bf16, f16};
#[cfg(feature = "num-complex")]
use num_complex::Complex;

use crate::data_type::{CoreType, DataType, FloatFormat, Optional, Repr, Scalar};
use crate::memory::AllocateElements;

/// A Rust type that is an array's element.
///
/// A type for elements of fixed size has the same bits as the elements; fixed-size raw types are `[u8; N]`. Elements of
/// other types are those of the representation it rests on: `i64` for
/// [`NumpyTime`](crate::data_type::NumpyTime), `i8` for `int4`. The bits of floats of eight bits and fewer
/// are `[u8; 1]`; [`Scalar::load`] gives their values.
/// `half`'s `f16` and `bf16` and `num-complex`' `Complex` come with the features of those names.
/// Bools are checked when they are read, so that no other byte becomes one. Texts are `String`: those of variable length, and
/// those of fixed length, `U5` and `S4`, without the NULs that pad them. Bytes of variable length are
/// `Vec<u8>`, nullable elements `Option<T>`, records the structs of [`record!`](crate::record!).
pub trait Element: Clone + Default + Send + Sync + 'static {
    /// Its name in messages.
    const NAME: &'static str;

    /// Bytes in memory of a fixed-size element; unused for a variable-length one.
    const SIZE: usize = size_of::<Self>();

    /// Takes memory for elements that a read writes, if any bytes are elements.
    const NEW_ELEMENTS: Option<AllocateElements<Self>> = None;

    /// Whether an array of this type holds such elements.
    fn is(data_type: &DataType) -> bool;

    /// The data type of a new array of such elements, if there is one that suits best: `float32` for `f32`.
    fn data_type() -> Option<DataType> {
        None
    }

    /// Allocates `count` elements, all of which the caller overwrites; `None` if there is no memory.
    fn alloc(count: usize) -> Option<Vec<Self>> {
        let mut elements = Vec::new();
        elements.try_reserve_exact(count).ok()?;
        elements.resize(count, Self::default());
        Some(elements)
    }

    /// The memory of elements, to be filled with elements that are checked already; `None` if only
    /// [`Element::from_bytes`] may make them.
    fn memory(elements: &mut [Self]) -> Option<&mut [u8]> {
        let _ = elements;
        None
    }

    /// The memory of elements, made if Rust has them otherwise; `None` if they have any length.
    fn as_memory(elements: &[Self]) -> Option<Cow<'_, [u8]>> {
        let _ = elements;
        None
    }

    /// One element from its bytes, native ones if it is of fixed size.
    fn from_bytes(bytes: &[u8]) -> Self;

    /// The bytes of a variable-length element; unused for a fixed-size one.
    fn as_bytes(&self) -> &[u8] {
        &[]
    }
}

/// Whether elements of the type are such numbers in memory; an integer of fewer bits fills a byte, a time is its count.
fn rests_on(data_type: &DataType, scalar: Scalar) -> bool {
    let Some(Repr::Scalar(found)) = data_type.repr() else { return false };
    scalar
        == match found {
            Scalar::Int(1..8) => Scalar::Int(8),
            Scalar::Uint(1..8) => Scalar::Uint(8),
            Scalar::Time(_) => Scalar::Int(64),
            found => found,
        }
}

/// The data type of such numbers.
fn type_of(scalar: Scalar) -> Option<DataType> {
    let core = CoreType::ALL.into_iter().find(|core| core.scalar() == scalar);
    match (core, scalar) {
        (Some(core), _) => Some(core.into()),
        (None, Scalar::Float(format)) => Some(DataType::Minifloat(format)),
        (None, Scalar::Complex(format)) => Some(DataType::ComplexMinifloat(format)),
        _ => None,
    }
}

/// The memory of a type of which every bit pattern is an element.
macro_rules! memory_of_any_bits {
    () => {
        const NEW_ELEMENTS: Option<crate::memory::AllocateElements<Self>> =
            Some(crate::memory::NewElements::new);
        fn alloc(count: usize) -> Option<Vec<Self>> {
            crate::memory::for_overwrite(count)
        }
        fn memory(elements: &mut [Self]) -> Option<&mut [u8]> {
            Some(bytemuck::cast_slice_mut(elements))
        }
        fn as_memory(elements: &[Self]) -> Option<Cow<'_, [u8]>> {
            Some(Cow::Borrowed(bytemuck::cast_slice(elements)))
        }
        fn from_bytes(bytes: &[u8]) -> Self {
            bytemuck::pod_read_unaligned(bytes)
        }
    };
}
pub(crate) use memory_of_any_bits;

macro_rules! elements {
    ($($rust:ty => $scalar:expr),* $(,)?) => {$(
        impl Element for $rust {
            const NAME: &'static str = stringify!($rust);
            fn is(data_type: &DataType) -> bool {
                rests_on(data_type, $scalar)
            }
            fn data_type() -> Option<DataType> {
                type_of($scalar)
            }
            memory_of_any_bits!();
        }
    )*};
}

elements! {
    i8 => Scalar::Int(8), i16 => Scalar::Int(16), i32 => Scalar::Int(32), i64 => Scalar::Int(64),
    u8 => Scalar::Uint(8), u16 => Scalar::Uint(16), u32 => Scalar::Uint(32), u64 => Scalar::Uint(64),
    f32 => Scalar::Float(FloatFormat::FLOAT32), f64 => Scalar::Float(FloatFormat::FLOAT64),
}

#[cfg(feature = "half")]
elements! {
    f16 => Scalar::Float(FloatFormat::FLOAT16), bf16 => Scalar::Float(FloatFormat::BFLOAT16),
}

#[cfg(feature = "num-complex")]
elements! {
    Complex<f32> => Scalar::Complex(FloatFormat::FLOAT32),
    Complex<f64> => Scalar::Complex(FloatFormat::FLOAT64),
}

#[cfg(all(feature = "half", feature = "num-complex"))]
elements! {
    Complex<f16> => Scalar::Complex(FloatFormat::FLOAT16),
    Complex<bf16> => Scalar::Complex(FloatFormat::BFLOAT16),
}

impl Element for bool {
    const NAME: &'static str = "bool";
    fn is(data_type: &DataType) -> bool {
        rests_on(data_type, Scalar::Bool)
    }
    fn data_type() -> Option<DataType> {
        type_of(Scalar::Bool)
    }
    fn alloc(count: usize) -> Option<Vec<Self>> {
        crate::memory::zeroed(count)
    }
    fn as_memory(elements: &[Self]) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(bytemuck::cast_slice(elements)))
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
                match data_type.repr() {
                    Some(Repr::Opaque($n)) => true,
                    // The bits of a small float have no better type.
                    Some(Repr::Scalar(Scalar::Float(format))) => $n == 1 && format.size() == 1,
                    _ => false,
                }
            }
            fn data_type() -> Option<DataType> {
                Some(DataType::Raw { size: $n })
            }
            memory_of_any_bits!();
        }
    )*};
}

raw_elements! { 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 24 32 }

impl Element for String {
    const NAME: &'static str = "String";
    fn is(data_type: &DataType) -> bool {
        *data_type == DataType::String || data_type.is_fixed_text()
    }
    fn data_type() -> Option<DataType> {
        Some(DataType::String)
    }
    fn from_bytes(bytes: &[u8]) -> Self {
        String::from_utf8_lossy(bytes).into_owned()
    }
    fn as_bytes(&self) -> &[u8] {
        str::as_bytes(self)
    }
}

impl Element for Vec<u8> {
    const NAME: &'static str = "Vec<u8>";
    fn is(data_type: &DataType) -> bool {
        data_type.repr() == Some(Repr::Variable)
    }
    fn data_type() -> Option<DataType> {
        Some(DataType::Bytes)
    }
    fn from_bytes(bytes: &[u8]) -> Self {
        bytes.to_vec()
    }
    fn as_bytes(&self) -> &[u8] {
        self
    }
}

impl<T: Element> Element for Option<T> {
    const NAME: &'static str = "Option";
    const SIZE: usize = 1 + T::SIZE;
    fn is(data_type: &DataType) -> bool {
        matches!(data_type, DataType::Optional(optional) if T::is(optional.inner()))
    }
    fn data_type() -> Option<DataType> {
        Some(Optional::new(T::data_type()?).ok()?.into())
    }
    fn as_memory(elements: &[Self]) -> Option<Cow<'_, [u8]>> {
        let mut memory = Vec::with_capacity(elements.len().checked_mul(Self::SIZE)?);
        for element in elements {
            let end = memory.len() + Self::SIZE;
            if let Some(inner) = element {
                memory.push(1);
                memory.extend_from_slice(&T::as_memory(std::slice::from_ref(inner))?);
            }
            memory.resize(end, 0);
        }
        Some(Cow::Owned(memory))
    }
    fn from_bytes(bytes: &[u8]) -> Self {
        (bytes[0] != 0).then(|| T::from_bytes(&bytes[1..]))
    }
}

//! Lists the number types of numcodecs' arithmetic codecs, and casts one to another.
//!
//! As NumPy does: integers wrap, floats lose their fraction, rounding happens once.
#![cfg_attr(
    not(feature = "full"),
    allow(dead_code, unused_imports, reason = "a build with few codecs needs few of these")
)]

use half::f16;
use zarr_core::codec::{ChunkContext, CodecSpec, Parameters};
use zarr_core::data_type::{CoreType, DataType, Endian};
use zarr_core::{CodecError, Dialect, MetadataError};

/// A type of numbers as numcodecs names it: `<i4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberType {
    /// An integer or a float.
    pub(crate) core: CoreType,
    /// How they lie in flat bytes.
    pub(crate) endian: Endian,
}

impl NumberType {
    /// A core type in this machine's order; `None` if its elements are no integers or floats.
    pub(crate) fn native(core: CoreType) -> Option<NumberType> {
        let number = !matches!(core, CoreType::Bool | CoreType::Complex64 | CoreType::Complex128);
        let endian = Endian::NATIVE;
        number.then_some(NumberType { core, endian })
    }

    /// The type of the elements that a codec is built for; `None` if they are no integers or floats.
    pub(crate) fn of(spec: &CodecSpec, context: &ChunkContext) -> Option<NumberType> {
        let native = match &context.data_type {
            DataType::Core(core) => NumberType::native(*core)?,
            // A time's counts are computed with as integers (F-047).
            DataType::Extension(extension) if extension.repr() == CoreType::Int64.repr() => {
                NumberType::native(CoreType::Int64)?
            }
            _ => return None,
        };
        match spec.dialect {
            Dialect::V3 => Some(native),
            _ => Some(NumberType { endian: Endian::Little, ..native }),
        }
    }

    /// Parameter `name`; `None` if it is not there.
    pub(crate) fn read(
        parameters: &mut Parameters<'_>,
        name: &'static str,
    ) -> Result<Option<NumberType>, MetadataError> {
        let Some(text) = parameters.string(name)? else {
            return Ok(None);
        };
        let parsed = CoreType::ALL.into_iter().find_map(|core| {
            if text == core.name() {
                return NumberType::native(core);
            }
            let found = CoreType::from_typestr(text).filter(|p| p.data_type == core.into())?;
            let number = NumberType::native(core)?;
            let endian = found.endian.unwrap_or(number.endian);
            Some(NumberType { endian, ..number })
        });
        let why = || format!("`{text}` is not a type of integers or floats");
        parsed.map(Some).ok_or_else(|| parameters.wrong(name, why()))
    }

    /// Bytes in a number.
    pub(crate) fn size(self) -> usize {
        self.core.repr().size()
    }

    /// How many numbers `bytes` bytes are.
    pub(crate) fn count(self, codec: &'static str, bytes: u64) -> Result<u64, CodecError> {
        let size = self.size() as u64;
        let why = || format!("{bytes} bytes are not numbers of {size}");
        match bytes % size {
            0 => Ok(bytes / size),
            _ => Err(CodecError::corrupt(codec, why())),
        }
    }

    /// Turns numbers from their own byte order to the native one, or back.
    pub(crate) fn turn(self, bytes: &mut [u8]) {
        fn fixed<const N: usize>(bytes: &mut [u8]) {
            bytes.as_chunks_mut::<N>().0.iter_mut().for_each(|number| number.reverse());
        }
        if self.endian != Endian::NATIVE {
            match self.size() {
                2 => fixed::<2>(bytes),
                4 => fixed::<4>(bytes),
                8 => fixed::<8>(bytes),
                _ => {}
            }
        }
    }

    /// What these numbers are to the next codec, which expects native ones on arrays and little-endian ones
    /// on bytes.
    pub(crate) fn data_type(self) -> DataType {
        let here: DataType = self.core.into();
        match self.endian {
            Endian::Little => here,
            _ if self.endian == Endian::NATIVE => here,
            _ => here.in_other_order(),
        }
    }
}

/// A number that can stand for any other: integers and floats each in their widest type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wide {
    Integer(i128),
    Float(f64),
}

/// A number in native byte order.
pub(crate) trait Number: Copy {
    const SIZE: usize;
    fn load(bytes: &[u8]) -> Self;
    fn store(self, bytes: &mut [u8]);
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// Divided; integers are never, since NumPy divides them as floats.
    fn over(self, other: Self) -> Self;
    /// The nearest integer, ties to even.
    fn rounded(self) -> Self;
    fn wide(self) -> Wide;
    fn narrow(wide: Wide) -> Self;
}

macro_rules! bytes_of {
    ($T:ty) => {
        const SIZE: usize = size_of::<$T>();
        fn load(bytes: &[u8]) -> Self {
            <$T>::from_ne_bytes(*bytes.first_chunk().expect("the slice is one number long"))
        }
        fn store(self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.to_ne_bytes());
        }
    };
}

macro_rules! integers {
    ($($T:ident)*) => {$(
        impl Number for $T {
            bytes_of!($T);
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn over(self, other: Self) -> Self {
                self.checked_div(other).unwrap_or(0)
            }
            fn rounded(self) -> Self {
                self
            }
            fn wide(self) -> Wide {
                Wide::Integer(self.into())
            }
            fn narrow(wide: Wide) -> Self {
                match wide {
                    Wide::Integer(v) => v as $T,
                    // A cast in C goes through a wide integer here, so that -1.0 becomes 255 in a byte.
                    Wide::Float(v) if v < 0.0 => v as i64 as $T,
                    Wide::Float(v) => v as u64 as $T,
                }
            }
        }
    )*};
}

macro_rules! floats {
    ($($T:ident: $from:expr, $from_int:expr, $round:expr;)*) => {$(
        impl Number for $T {
            bytes_of!($T);
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn minus(self, other: Self) -> Self {
                self - other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn over(self, other: Self) -> Self {
                self / other
            }
            fn rounded(self) -> Self {
                $round(self)
            }
            fn wide(self) -> Wide {
                Wide::Float(self.into())
            }
            fn narrow(wide: Wide) -> Self {
                match wide {
                    Wide::Integer(v) => $from_int(v),
                    Wide::Float(v) => $from(v),
                }
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }
floats! {
    f16: f16::from_f64, |v| f16::from_f64(v as f64), |v: f16| f16::from_f32(v.to_f32().round_ties_even());
    f32: |v| v as f32, |v| v as f32, f32::round_ties_even;
    f64: |v| v, |v| v as f64, f64::round_ties_even;
}

/// Runs `$body` with `$T` standing for the Rust type of a [`NumberType`]'s core type.
macro_rules! with_number {
    ($core:expr, $T:ident => $body:expr) => {{
        use zarr_core::data_type::CoreType;
        match $core {
            CoreType::Int8 => {
                type $T = i8;
                $body
            }
            CoreType::Int16 => {
                type $T = i16;
                $body
            }
            CoreType::Int32 => {
                type $T = i32;
                $body
            }
            CoreType::Int64 => {
                type $T = i64;
                $body
            }
            CoreType::Uint8 => {
                type $T = u8;
                $body
            }
            CoreType::Uint16 => {
                type $T = u16;
                $body
            }
            CoreType::Uint32 => {
                type $T = u32;
                $body
            }
            CoreType::Uint64 => {
                type $T = u64;
                $body
            }
            CoreType::Float16 => {
                type $T = half::f16;
                $body
            }
            CoreType::Float32 => {
                type $T = f32;
                $body
            }
            CoreType::Float64 => {
                type $T = f64;
                $body
            }
            _ => unreachable!("a number type is an integer or a float"),
        }
    }};
}
pub(crate) use with_number;

/// Replaces each number by what `f` makes of it.
pub(crate) fn each<T: Number>(numbers: &mut [u8], mut f: impl FnMut(T) -> T) {
    for bytes in numbers.chunks_exact_mut(T::SIZE) {
        f(T::load(bytes)).store(bytes);
    }
}

/// The same numbers in another type.
pub(crate) fn cast(from: CoreType, to: CoreType, numbers: Vec<u8>) -> Vec<u8> {
    fn cast_each<A: Number, B: Number>(numbers: &[u8]) -> Vec<u8> {
        let mut out = vec![0; numbers.len() / A::SIZE * B::SIZE];
        let pairs = numbers.chunks_exact(A::SIZE).zip(out.chunks_exact_mut(B::SIZE));
        pairs.for_each(|(a, b)| B::narrow(A::load(a).wide()).store(b));
        out
    }
    if from == to {
        return numbers;
    }
    with_number!(from, A => with_number!(to, B => cast_each::<A, B>(&numbers)))
}

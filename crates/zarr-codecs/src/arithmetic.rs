//! How does a codec that computes with numbers stand in a chain?
//!
//! In v2 it is a filter on flat bytes, with a type and byte order of its own. In final v3 it works on
//! arrays: the codec after it sees another data type (DECISIONS 14). One [`Kernel`] serves both.

use std::borrow::Cow;
use std::fmt::Debug;

use zarr_core::codec::{
    ArrayToArray, BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize, Parameters,
};
use zarr_core::data_type::{CoreType, DataType, Endian};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::number::NumberType;

/// Arithmetic on native numbers.
pub(crate) trait Kernel: Debug + Send + Sync + Sized + 'static {
    /// The codec's `id` in v2; in final v3 `numcodecs.` stands before it.
    const CODEC: &'static str;
    const V3: &'static str;

    /// Reads the parameters that are not types.
    fn read(parameters: &mut Parameters<'_>) -> Result<Self, MetadataError>;

    /// The parameters that are not types.
    fn configuration(&self) -> Object;

    /// From numbers of `types.decoded` to as many of `types.encoded`.
    fn encode(&self, types: Types, decoded: Vec<u8>) -> Vec<u8>;

    /// From numbers of `types.encoded` to as many of `types.decoded`.
    fn decode(&self, types: Types, encoded: Vec<u8>) -> Vec<u8>;
}

/// What numcodecs calls `dtype` and `astype`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Types {
    pub(crate) decoded: NumberType,
    pub(crate) encoded: NumberType,
}

/// Makes the codec: on flat bytes in v2 and the drafts, on arrays in final v3.
pub(crate) fn build<K: Kernel>(
    spec: &CodecSpec,
    context: &ChunkContext,
) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let kernel = K::read(&mut parameters)?;
    let elements = match &context.data_type {
        DataType::Core(core) => NumberType::native(*core),
        // A time's counts are computed with as integers (F-047).
        DataType::Extension(extension) if extension.repr() == CoreType::Int64.repr() => {
            NumberType::native(CoreType::Int64)
        }
        _ => None,
    };
    let decoded = NumberType::read(&mut parameters, "dtype")?.or(elements);
    let Some(decoded) = decoded else {
        let why = format!("is missing, and `{}` is no number", context.data_type);
        return Err(parameters.wrong("dtype", why));
    };
    let encoded = NumberType::read(&mut parameters, "astype")?.unwrap_or(decoded);
    let types = Types { decoded, encoded };
    if spec.dialect != Dialect::V3 {
        parameters.finish()?;
        return Ok(Codec::bytes_to_bytes(Flat { kernel, types }));
    }
    if context.element_size()? != decoded.size() {
        let why = format!("does not have the size of `{}`", context.data_type);
        return Err(parameters.wrong("dtype", why));
    }
    parameters.finish()?;
    Ok(Codec::array_to_array(Typed { kernel, types }))
}

/// The codec's words. In final v3 elements are native when it sees them, so the types' byte order
/// means nothing there; zarr-python writes `<`.
fn spelling<K: Kernel>(kernel: &K, types: Types, dialect: Dialect) -> Option<CodecSpec> {
    let words = |t: NumberType| match dialect {
        Dialect::V3 => t.core.typestr(Endian::Little),
        _ => t.core.typestr(t.endian),
    };
    let configuration = kernel
        .configuration()
        .with("dtype", words(types.decoded))
        .with("astype", words(types.encoded));
    match dialect {
        Dialect::V3 => Some(CodecSpec::v3(K::V3, configuration)),
        Dialect::V2 => Some(CodecSpec::new(dialect, K::CODEC, configuration)),
        _ => None,
    }
}

/// On flat bytes.
#[derive(Debug)]
struct Flat<K> {
    kernel: K,
    types: Types,
}

/// Turns numbers from their own byte order to the native one, or back.
fn turn(kind: NumberType, bytes: &mut [u8]) {
    if kind.endian != Endian::NATIVE && kind.size() > 1 {
        bytes.chunks_exact_mut(kind.size()).for_each(<[u8]>::reverse);
    }
}

/// How many numbers `bytes` bytes are.
fn count(codec: &'static str, kind: NumberType, bytes: u64) -> Result<u64, CodecError> {
    let size = kind.size() as u64;
    match bytes % size {
        0 => Ok(bytes / size),
        _ => Err(CodecError::corrupt(codec, format!("{bytes} bytes are not numbers of {size}"))),
    }
}

impl<K: Kernel> BytesToBytes for Flat<K> {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, CodecError> {
        count(K::CODEC, self.types.decoded, decoded.len() as u64)?;
        let mut numbers = decoded.into_owned();
        turn(self.types.decoded, &mut numbers);
        let mut out = self.kernel.encode(self.types, numbers);
        turn(self.types.encoded, &mut out);
        Ok(Cow::Owned(out))
    }

    fn decode<'a>(
        &self,
        encoded: Cow<'a, [u8]>,
        size: DecodedSize,
    ) -> Result<Cow<'a, [u8]>, CodecError> {
        let count = count(K::CODEC, self.types.encoded, encoded.len() as u64)?;
        size.check(K::CODEC, count * self.types.decoded.size() as u64)?;
        let mut numbers = encoded.into_owned();
        turn(self.types.encoded, &mut numbers);
        let mut out = self.kernel.decode(self.types, numbers);
        turn(self.types.decoded, &mut out);
        Ok(Cow::Owned(out))
    }

    fn encoded_size(&self, decoded: u64) -> Result<Option<u64>, CodecError> {
        let size = self.types.decoded.size() as u64;
        let whole = decoded / size;
        match decoded % size {
            0 => Ok(whole.checked_mul(self.types.encoded.size() as u64)),
            _ => {
                Err(CodecError::Length { codec: K::CODEC, expected: whole * size, found: decoded })
            }
        }
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        spelling(&self.kernel, self.types, dialect)
    }
}

/// On arrays of native numbers.
#[derive(Debug)]
struct Typed<K> {
    kernel: K,
    types: Types,
}

impl<K: Kernel> ArrayToArray for Typed<K> {
    fn encoded(&self, decoded: &ChunkContext) -> Result<ChunkContext, MetadataError> {
        Ok(ChunkContext::new(self.types.encoded.core, decoded.shape.clone()))
    }

    fn encode(&self, chunk: View<'_>) -> Result<Vec<u8>, CodecError> {
        let numbers = chunk.to_bytes().into_owned();
        count(K::CODEC, self.types.decoded, numbers.len() as u64)?;
        Ok(self.kernel.encode(self.types, numbers))
    }

    fn decode(&self, encoded: &[u8], mut out: ViewMut<'_>) -> Result<(), CodecError> {
        let due = (out.len() * self.types.encoded.size()) as u64;
        DecodedSize::Exactly(due).check(K::CODEC, encoded.len() as u64)?;
        let decoded = self.kernel.decode(self.types, encoded.to_vec());
        out.copy_from(&View::new(&decoded, &out.shape(), out.cell()));
        Ok(())
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        spelling(&self.kernel, self.types, dialect)
    }
}

//! Makes a codec in a chain of a computation with numbers.
//!
//! In v2 it is a filter on flat bytes, with its own type and byte order. In final v3 it works on
//! arrays: the codec after it sees another data type (docs/internals/design/codecs.md). One [`Kernel`] serves both.

use std::borrow::Cow;
use std::fmt::Debug;

use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Parameters,
};
use zarr_core::data_type::Endian;
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::util::number::NumberType;
use crate::util::v3_adapter::{Flat, in_dialect};

/// Arithmetic on native numbers.
pub(crate) trait Kernel: Debug + Send + Sync + Sized + 'static {
    /// The codec's `id` in v2.
    const CODEC: &'static str;

    /// The parameters that say the types of decoded and of encoded numbers. Without such, numbers are of the
    /// elements' own type and stay so.
    const TYPES: Option<[&'static str; 2]> = Some(["dtype", "astype"]);

    /// Reads the parameters that are not types.
    fn read(spec: &CodecSpec, parameters: &mut Parameters<'_>) -> Result<Self, MetadataError>;

    /// Why numbers of these types cannot be computed with.
    fn refuses(&self, types: Types) -> Option<&'static str> {
        let _ = types;
        None
    }

    /// Whether v2 has words for what is done to numbers of these types.
    fn is_in_v2(&self, types: Types) -> bool {
        let _ = types;
        true
    }

    /// The name in final v3.
    fn v3(&self) -> String {
        format!("numcodecs.{}", Self::CODEC)
    }

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
    let kernel = K::read(spec, &mut parameters)?;
    let [first, second] = K::TYPES.unwrap_or(["data type", "data type"]);
    let mut read = |name| match K::TYPES {
        Some(_) => NumberType::read(&mut parameters, name),
        None => Ok(None),
    };
    let (decoded, encoded) = (read(first)?, read(second)?);
    let Some(decoded) = decoded.or_else(|| NumberType::of(spec, context)) else {
        let why = match K::TYPES {
            Some(_) => format!("is missing, and `{}` is not a number", context.data_type),
            None => {
                format!("`{}` is not a number, or not in little-endian order", context.data_type)
            }
        };
        return Err(parameters.invalid(first, why));
    };
    // Elements of arrays are native, whatever order the words say.
    let in_order = |number: NumberType| match spec.dialect {
        Dialect::V3 => NumberType { endian: Endian::NATIVE, ..number },
        _ => number,
    };
    let types = Types { decoded: in_order(decoded), encoded: in_order(encoded.unwrap_or(decoded)) };
    if let Some(why) = kernel.refuses(types) {
        return Err(parameters.invalid(first, why));
    }
    if spec.dialect == Dialect::V3 && context.element_size()? != decoded.size() {
        let why = format!("does not have the size of `{}`", context.data_type);
        return Err(parameters.invalid(first, why));
    }
    parameters.finish()?;
    Ok(in_dialect(Numbers { kernel, types }, spec.dialect))
}

/// A kernel on numbers of these types.
#[derive(Debug)]
struct Numbers<K> {
    kernel: K,
    types: Types,
}

impl<K: Kernel> Flat for Numbers<K> {
    const CODEC: &'static str = K::CODEC;
}

impl<K: Kernel> BytesToBytes for Numbers<K> {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        self.types.decoded.count(K::CODEC, decoded.len() as u64)?;
        let mut numbers = decoded.into_owned();
        self.types.decoded.byteswap(&mut numbers);
        let mut out = self.kernel.encode(self.types, numbers);
        self.types.encoded.byteswap(&mut out);
        Ok(Cow::Owned(out))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let count = self.types.encoded.count(K::CODEC, encoded.len() as u64)?;
        size.check(K::CODEC, count * self.types.decoded.size() as u64)?;
        let mut numbers = encoded.into_owned();
        self.types.encoded.byteswap(&mut numbers);
        let mut out = self.kernel.decode(self.types, numbers);
        self.types.decoded.byteswap(&mut out);
        Ok(Cow::Owned(out))
    }

    fn encoded_size(&self, decoded: u64) -> Result<Option<u64>, CodecError> {
        let size = self.types.decoded.size() as u64;
        let expected = decoded / size * size;
        if expected != decoded {
            return Err(CodecError::Length { codec: K::CODEC, expected, found: decoded });
        }
        Ok((decoded / size).checked_mul(self.types.encoded.size() as u64))
    }

    fn encoded(&self, decoded: &ChunkContext) -> ChunkContext {
        ChunkContext::new(self.types.encoded.data_type(), decoded.shape.clone())
    }

    /// In final v3 elements are native when the codec sees them, so the types' byte order means nothing
    /// there; zarr-python writes `<`.
    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let typestr = |t: NumberType| match dialect {
            Dialect::V3 => t.core.typestr(Endian::Little),
            _ => t.core.typestr(t.endian),
        };
        let mut configuration = self.kernel.configuration();
        if let Some([decoded, encoded]) = K::TYPES {
            configuration.insert(decoded, typestr(self.types.decoded));
            configuration.insert(encoded, typestr(self.types.encoded));
        }
        match dialect {
            Dialect::V3 => Some(CodecSpec::v3(self.kernel.v3(), configuration)),
            Dialect::V2 if self.kernel.is_in_v2(self.types) => {
                Some(CodecSpec::new(dialect, K::CODEC, configuration))
            }
            _ => None,
        }
    }
}

//! Provides the codec `bytes` (F-080) to registries that lack it.

use std::borrow::Cow;

use zarr_core::codec::{
    ArrayToBytes, ChunkContext, Codec, CodecResult, CodecSpec, Names, Parameters,
};
use zarr_core::data_type::Endian;
use zarr_core::region::element_count;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError, Object, Region, Registry};

/// Elements in C order, in a byte order. It is not optimised.
#[derive(Debug)]
pub(super) struct Bytes {
    cell: usize,
    unit: usize,
    endian: Endian,
}

/// Registers `bytes` unless the registry has it.
pub(super) fn register_bytes(registry: &mut Registry) {
    if !registry.knows_codec(&CodecSpec::v3("bytes", Object::new())) {
        registry.codec(&Names { v3: &["bytes"], v2: &[], draft: &[] }, build);
    }
}

fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    Bytes::new(spec, context).map(Codec::array_to_bytes)
}

impl Bytes {
    pub fn new(spec: &CodecSpec, context: &ChunkContext) -> Result<Bytes, MetadataError> {
        let mut parameters = Parameters::new(spec);
        let endian = match parameters.string("endian")? {
            Some("big") => Endian::Big,
            None | Some("little") => Endian::Little,
            Some(_) => return Err(parameters.invalid("endian", "is `little` or `big`")),
        };
        parameters.finish()?;
        if context.data_type.is_variable() {
            return Err(MetadataError::invalid("codecs: bytes", "elements have no fixed size"));
        }
        let unit = context.data_type.repr().map_or(1, |repr| repr.swap_unit());
        Ok(Bytes { cell: context.element_size()?, unit, endian })
    }

    fn swap(&self) -> usize {
        if self.endian == Endian::NATIVE { 1 } else { self.unit }
    }
}

impl ArrayToBytes for Bytes {
    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        let mut out = vec![0; chunk.len() * self.cell];
        ViewMut::new(&mut out, &chunk.shape(), self.cell).copy_swapped(&chunk, self.swap());
        Ok(Cow::Owned(out))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let (found, expected) = (encoded.len() as u64, self.encoded_size(shape));
        if expected != Some(found) {
            let expected = expected.unwrap_or(u64::MAX);
            return Err(CodecError::Length { codec: "bytes", expected, found });
        }
        out.copy_swapped(&View::new(encoded, shape, self.cell).part(within), self.swap());
        Ok(())
    }

    fn encoded_size(&self, shape: &[u64]) -> Option<u64> {
        element_count(shape)?.checked_mul(self.cell as u64)
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let configuration = match self.unit {
            1 => Object::new(),
            _ => Object::new().with("endian", self.endian.name()),
        };
        (dialect == Dialect::V3).then(|| CodecSpec::v3("bytes", configuration))
    }
}

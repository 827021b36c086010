//! Gives a chunk another shape while its elements stay in C order.

use std::fmt::Debug;

use zarr_core::codec::{ArrayToArray, ChunkContext, Codec, CodecSpec, DecodedSize};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

/// A way to give a chunk another shape.
pub(crate) trait Reshaping: Debug + Send + Sync + 'static {
    const CODEC: &'static str;

    /// The new shape of a chunk of shape `from`.
    fn shape(&self, from: &[u64]) -> Result<Vec<u64>, MetadataError>;

    /// The codec's configuration.
    fn configuration(&self) -> Object {
        Object::new()
    }
}

/// The codec that does it.
pub(crate) fn reshape(reshaping: impl Reshaping) -> Codec {
    Codec::array_to_array(Reshaped(reshaping))
}

#[derive(Debug)]
struct Reshaped<R>(R);

impl<R: Reshaping> ArrayToArray for Reshaped<R> {
    fn encoded(&self, decoded: &ChunkContext) -> Result<ChunkContext, MetadataError> {
        let shape = self.0.shape(&decoded.shape)?;
        Ok(ChunkContext::new(decoded.data_type.clone(), shape).with_fill(decoded.fill.clone()))
    }

    fn encode(&self, chunk: View<'_>) -> Result<Vec<u8>, CodecError> {
        Ok(chunk.to_bytes().into_owned())
    }

    fn decode(&self, encoded: &[u8], mut out: ViewMut<'_>) -> Result<(), CodecError> {
        let expected = (out.len() * out.element_size()) as u64;
        DecodedSize::Exactly(expected).check(R::CODEC, encoded.len() as u64)?;
        out.copy_from(&View::new(encoded, &out.shape(), out.element_size()));
        Ok(())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        (dialect == Dialect::V3).then(|| CodecSpec::v3(R::CODEC, self.0.configuration()))
    }
}
